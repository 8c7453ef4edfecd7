/* SPDX-License-Identifier: MIT */
/*
 * Where raw records come from: one table of functions for each way to get at the kernel's events.
 *
 *   ftrace   an instance of our own in tracefs, its per-CPU buffers read raw (needs to write tracefs)
 *   perf     the same events through perf_event_open and mapped rings (needs CAP_PERFMON; tracefs is
 *            written only to define probes, and only read if they are there already)
 *
 * What is recorded is the caller's choice: the probes, and the block requests that a filter selects. A
 * source without probes records the requests and what vmscan says of reclaim (block.h makes swap-outs, refaults
 * and passes of reclaim of them).
 */
#ifndef RECORDER_SOURCE_H
#define RECORDER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"
#include "recorder/files.h"
#include "recorder/probes.h"
#include "recorder/raw.h"

/* What a recording shall say of itself, collected until there is a file to say it in: "key\tvalue\n". */
struct rec_notes {
	char text[65536];
	size_t n;
};

/* A note that does not fit any more is left out. */
void rec_note(struct rec_notes *notes, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct rec_source_setup {
	const struct rec_paths *paths;
	const struct rec_probes *probes;
	const char *events;	  /* a group of events that exist already; NULL = define our own */
	const char *block_filter; /* in the kernel's words: "dev == 1 || ..." */
	const char *clock;	  /* of those that count nanoseconds */
	uint64_t ring_bytes;	  /* a CPU, in the kernel */
	bool reclaim;		  /* also vmscan's mm_shrink_slab_start, if the kernel has it */
	const int *cgroup_fds;	  /* perf: only what tasks of these cgroups do; n_cgroups 0 = all tasks */
	uint32_t n_cgroups;
	struct rec_notes *notes;
	void *arg; /* of the machine, for a source that belongs to it (session.h) */
};

struct rec_source_stats {
	uint64_t events;  /* read, ours or not */
	uint64_t lost;	  /* overrun in the kernel, as far as it told */
	uint64_t damaged; /* buffers that made no sense */
	uint64_t skipped; /* events that were not decoded */
	uint64_t bytes;
};

struct rec_source;

struct rec_source_ops {
	const char *name;
	/* Everything in place, nothing recorded yet. Undoes what it did if it fails. */
	enum zr_err (*open)(const struct rec_source_setup *setup, struct rec_source **out);
	enum zr_err (*filter_block)(struct rec_source *source, const char *filter);
	/* Once a second: CPUs may have come. */
	enum zr_err (*follow)(struct rec_source *source);
	enum zr_err (*on)(struct rec_source *source);
	void (*off)(struct rec_source *source);
	/* The time of the source's clock. */
	uint64_t (*now_ns)(struct rec_source *source);
	/* Reads what there is up to `mark_ns`, but not more than fits; *bytes is how much that was. What does
	 * not fit comes when next() has nothing more and it is called with the same mark again. */
	enum zr_err (*drain)(struct rec_source *source, uint64_t mark_ns, uint64_t *bytes);
	bool (*next)(struct rec_source *source, uint64_t until_ns, struct rec_raw *raw);
	/* Up to which time, at most `until_ns`, all records have come out. */
	uint64_t (*reached)(const struct rec_source *source, uint64_t until_ns);
	struct rec_source_stats (*stats)(const struct rec_source *source);
	uint32_t (*cpus)(const struct rec_source *source);
	/* Hits that the kernel could not run so far; -1 where it does not count them. */
	int64_t (*missed)(const struct rec_source *source);
	/* What the kernel says it lost in all, after off(); notes what it says of each CPU. */
	uint64_t (*total_lost)(struct rec_source *source, struct rec_notes *notes);
	/* Puts back everything that was changed; NULL is fine. */
	void (*close)(struct rec_source *source);
};

extern const struct rec_source_ops rec_source_ftrace, rec_source_perf;

/* The clock_gettime() clock of a trace clock's name, or -1 if user space cannot read it. */
int rec_clock_id(const char *name);

/* ZR_USAGE, with the list, for a name that is not a trace clock in nanoseconds. */
enum zr_err rec_clock_check(const char *name);

/* The block events that are recorded, and how many. */
extern const enum rec_type rec_block_types[];
enum { REC_BLOCK_TYPES = 5 };

/* The group that users of plain tracefs, trace-cmd and perf define the canonical events in. */
#define REC_CANONICAL_GROUP "zreel"

/* The probes' types among the events that a group has already: those are used instead of our own. */
uint32_t rec_group_types(const char *tracefs_dir, const char *group);

#endif
