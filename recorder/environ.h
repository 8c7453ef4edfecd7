/* SPDX-License-Identifier: MIT */
/*
 * The machine that a recording is of: settings, once, and counters, every second. Numbers of a trace mean
 * nothing without these. What this kernel does not have is left out.
 */
#ifndef RECORDER_ENVIRON_H
#define RECORDER_ENVIRON_H

#include <stdint.h>

#include "db/db.h"
#include "recorder/cgroups.h"
#include "recorder/files.h"
#include "recorder/fold.h"

/* Kernel, memory, zswap, THP, MGLRU. */
enum zr_err rec_environ_put(struct db *db, const struct rec_paths *paths);

/* A swap area as the recorder needs it and as the trace stores it. */
struct rec_swap {
	struct rec_area area;
	struct db_area row;
	char path[512];
};

enum { REC_SWAPS_MAX = REC_SWP_TYPES };

/* The areas of /proc/swaps, in its order, which is that of the type numbers (areas that were switched off
 * in between leave no trace there). */
enum zr_err rec_swaps_read(const struct rec_paths *paths, struct rec_swap *swaps, uint32_t *n);

/* The settings of the disk that holds it, as queue.ID.*. */
enum zr_err rec_swap_put_queue(struct db *db, const struct rec_paths *paths,
			       const struct rec_swap *swap, uint32_t id);

/* One sample of all counters. */
enum zr_err rec_sample_put(struct db *db, const struct rec_paths *paths,
			   const struct rec_cgroups *cgroups, uint64_t time_ns);

/* Memory that zones manage, in pages: the basis of zswap's limit. 0 if it cannot be read. */
uint64_t rec_managed_pages(const char *proc);

#endif
