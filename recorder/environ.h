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
#include "recorder/extents.h"
#include "recorder/files.h"
#include "recorder/fold.h"

/* Kernel, memory, zswap, THP, MGLRU. */
enum zr_err rec_environ_put(struct db *db, const struct rec_paths *paths);

/* A swap area as the recorder needs it and as the trace stores it. */
struct rec_swap {
	struct rec_area area;
	struct db_area row;
	char path[512];
	struct rec_extent *extents; /* of a file or a mapped device, once found out; area points to them */
	uint64_t used_kib;
	char unmapped[256];	    /* why its requests cannot be told; "" = they can */
};

enum { REC_SWAPS_MAX = REC_SWP_TYPES };

/* The areas of /proc/swaps, in its order, which is that of the type numbers (areas that were switched off
 * in between leave no trace there). */
enum zr_err rec_swaps_read(const struct rec_paths *paths, struct rec_swap *swaps, uint32_t *n);

/* The type numbers of the areas in a list, when `seen` has a bit for each type that records named: the areas in
 * use, or else all, have them in their order if they are as many. False, and nothing said, if not. */
bool rec_swaps_match(const struct rec_swap *swaps, uint32_t n, uint32_t seen,
		     uint32_t types[REC_SWAPS_MAX]);

/* Finds out where a file, or a device of device mapper, lies on its disk; a partition needs no finding out. What
 * cannot be mapped stays without requests, and says so in the trace. */
void rec_swap_map(const struct rec_paths *paths, struct rec_swap *swap);
void rec_swap_unmap(struct rec_swap *swap);

/* Is zswap switched on? Also true where nobody can tell. */
bool rec_zswap_is_on(const struct rec_paths *paths);

/* The settings of the disk that holds it, as queue.ID.*, and a file's place there, as area.ID.extents. */
enum zr_err rec_swap_put_queue(struct db *db, const struct rec_paths *paths,
			       const struct rec_swap *swap, uint32_t id);

/* One sample of all counters, value by value. */
struct rec_sample_sink {
	enum zr_err (*put)(void *arg, uint64_t time_ns, const char *source, const char *name,
			   double value);
	void *arg;
};

enum zr_err rec_sample_take(const struct rec_sample_sink *sink, const struct rec_paths *paths,
			    const struct rec_cgroups *cgroups, uint64_t time_ns);

/* Into a trace. */
enum zr_err rec_sample_put(struct db *db, const struct rec_paths *paths,
			   const struct rec_cgroups *cgroups, uint64_t time_ns);

/* Memory that zones manage, in pages: the basis of zswap's limit. 0 if it cannot be read. */
uint64_t rec_managed_pages(const char *proc);

#endif
