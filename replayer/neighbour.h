/* SPDX-License-Identifier: MIT */
/*
 * A neighbour: somebody else who keeps the drive busy while a replay runs, as in the published studies, which ran
 * next to a random writer of ten times the I/O weight.
 *
 *   this process ──fork──> neighbour: io_uring, O_DIRECT, iodepth requests always under way
 *        │                     │
 *        └── shared page: counts and what it failed with, and the word to stop
 *
 * It is a process, since the io controller knows nothing smaller, and dies with the one that made it, however that
 * ends. It waits at its start until it has been put into its control group. It never leaves its range, which holds
 * nothing of the replay.
 */
#ifndef REPLAYER_NEIGHBOUR_H
#define REPLAYER_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"
#include "replayer/cgroup.h"

/* "randwrite bs=4k iodepth=32 weight=10x rate=20m" */
struct neighbour_words {
	bool write, sequential;
	uint32_t block_bytes, depth;
	uint32_t weight; /* of the control group, when ours has NEIGHBOUR_OUR_WEIGHT */
	uint64_t rate;	 /* bytes a second at most; 0 = as many as it can */
};

enum { NEIGHBOUR_OUR_WEIGHT = 100, NEIGHBOUR_RANGE_LEAST = 16 * 1024 * 1024 };

/* First the pattern (randwrite, write, randread, read), then words in any order: bs=4k, iodepth=32, weight=1x and no
 * rate by default. ZR_USAGE names the word that does not do. */
enum zr_err neighbour_parse(const char *text, struct neighbour_words *out);

struct neighbour_options {
	const struct neighbour_words *words;
	const char *path;     /* for messages */
	int fd;		      /* O_DIRECT; must stay open */
	uint64_t from, bytes; /* its range, of at least NEIGHBOUR_RANGE_LEAST; from: a multiple of 1 MiB */
	struct cgroup *group; /* it is put there; NULL = it stays where this process is */
};

/* What it has done so far. */
struct neighbour_counts {
	uint64_t time_ns, ios, bytes, latency_ns; /* time: of the monotonic clock; latency: sum */
};

struct neighbour;

enum zr_err neighbour_start(const struct neighbour_options *options, struct neighbour **out);
struct neighbour_counts neighbour_look(const struct neighbour *neighbour);

/* The error that it ended with, if it ended: it is not supposed to. */
enum zr_err neighbour_check(const struct neighbour *neighbour);

/* Ends it and waits for its end; NULL is fine. */
void neighbour_stop(struct neighbour *neighbour);

#endif
