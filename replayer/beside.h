/* SPDX-License-Identifier: MIT */
/*
 * What goes on beside a replay on a device: a neighbour (neighbour.h) in a control group of its own, and iocost that
 * shares the drive out between the two by weight.
 *
 *   cgroup  top ├── replay      io.weight 100: this process
 *               └── neighbour   io.weight 100 x its weight=
 *
 * On a block device the neighbour has the range behind the swap slots, at most BESIDE_MOST of it; beside a file it has
 * a scratch file of its own, PATH.neighbour, which is written once before and removed in the end.
 *
 * Without control groups or without iocost the neighbour runs all the same, and `note` says that its weight is none.
 */
#ifndef REPLAYER_BESIDE_H
#define REPLAYER_BESIDE_H

#include "replayer/cgroup.h"
#include "replayer/device_guard.h"
#include "replayer/iocost_setup.h"
#include "replayer/measure.h"
#include "replayer/neighbour.h"

enum { BESIDE_MOST = 1024 * 1024 * 1024, BESIDE_FILE = 128 * 1024 * 1024 };

struct beside_options {
	const char *words;		   /* of the neighbour */
	const char *path;		   /* of the target */
	const struct device_file *file;	   /* the target, open */
	uint64_t taken_bytes;		   /* of the target, from its start */
	uint32_t disk_major, disk_minor;   /* the whole disk below it */
	const struct play_iocost *iocost;  /* NULL = the kernel's own idea of the disk */
	struct cgroup *top, *own;	   /* as of account.h; NULL = none */
};

/* Of a pass. */
struct beside_figures {
	bool there; /* a neighbour was */
	double iops, latency_us;
	uint64_t bytes;
	bool has_usage; /* iocost charged */
	uint64_t usage_us;
};

struct beside {
	struct neighbour *neighbour; /* NULL = nothing goes on */
	struct iocost_setup iocost;
	struct cgroup *group;
	struct device_file scratch;
	char scratch_path[512];
	uint32_t disk_major, disk_minor;
	struct neighbour_counts before;
	struct measure stat_before;
	char note[640]; /* what could not be had; "" */
};

enum zr_err beside_begin(const struct beside_options *options, struct beside *out);

void beside_pass_begin(struct beside *beside);
/* ZR_... of a neighbour that failed. */
enum zr_err beside_pass_end(struct beside *beside, struct beside_figures *out);

/* Takes all down, whatever is there; also what a failed beside_begin() left, and a zeroed one. */
enum zr_err beside_end(struct beside *beside);

#endif
