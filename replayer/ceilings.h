/* SPDX-License-Identifier: MIT */
/*
 * What-if counts over the stream of written-back pages: how many requests they would take if each walk, or
 * every so many pages, were sorted by slot before they are written.
 *
 * A request is a run of slots side by side in one area, of one memcg, of at most `batch` pages. A window holds
 * pages of any walks, one after the other; the last one may be short. Cost: a sort a window.
 */
#ifndef REPLAYER_CEILINGS_H
#define REPLAYER_CEILINGS_H

#include "replayer/replayer.h"
#include "replayer/snapshot.h"

enum { CEILING_WINDOWS = 5 }; /* the walk, 32, 64, 128, 256 */

struct ceiling_window {
	uint32_t pages; /* at most; of the walk, as many as there are slots */
	uint32_t n;
	uint64_t *keys; /* memcg, area, slot */
	uint64_t requests;
};

struct ceilings {
	uint32_t batch;
	struct ceiling_window windows[CEILING_WINDOWS];
};

/* `n_slots`: no walk writes more pages. */
enum zr_err ceilings_init(struct ceilings *ceilings, uint32_t batch, uint32_t n_slots);
void ceilings_fini(struct ceilings *ceilings);

void ceilings_write(struct ceilings *ceilings, const struct sim_write *write);
void ceilings_walk_end(struct ceilings *ceilings);

/* Counts what is left in the windows, and fills the sorted_* members of `requests`. */
void ceilings_finish(struct ceilings *ceilings, uint64_t requests[PLAY_CEILING_COUNT]);

/* The same as of now, for whoever goes on: what is left in a window is not counted. */
void ceilings_now(const struct ceilings *ceilings, uint64_t requests[PLAY_CEILING_COUNT]);

/* What is in the windows; the struct itself is the caller's. */
void ceilings_regions(const struct ceilings *ceilings, struct regions *regions);

#endif
