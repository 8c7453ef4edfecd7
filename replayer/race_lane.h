/* SPDX-License-Identifier: MIT */
/*
 * A lane of the race: a model with its plan, and what the dashboard wants to know beside the counts.
 *
 *   rows ──> model ──> lane's sink ──> plan (swapio.h)
 *       └──> breaks.h <──┤  ceilings.h
 *                        └─ runs: by slot, the number of what wrote it last: a swap I/O context at first; the request,
 *                                 with all that was merged into it, once that has left. (Not under slots=vswap, where
 *                                 a request's slots are not those that the trace knows pages by.)
 *
 * All of a lane's state is in the regions that lane_regions() names, so an image of them is the lane at that
 * instant. Cost: 36 bytes a slot beside the model's; rows are fed one by one, since breaks.h looks at the model
 * before and after each.
 */
#ifndef REPLAYER_RACE_LANE_H
#define REPLAYER_RACE_LANE_H

#include "replayer/breaks.h"
#include "replayer/ceilings.h"
#include "replayer/swapio.h"

struct lane {
	struct sim_sink sink; /* first */
	struct sim_policy policy;
	struct sim *sim;
	struct swapio swapio;
	struct zr_hist request_pages;
	struct breaks breaks;
	struct ceilings ceilings;
	uint32_t *runs;			 /* by slot index */
	uint32_t run;			 /* the last */
	uint32_t first_run, writing_run; /* of the walk that is open, or was last; of the last that wrote */
	bool in_walk;			 /* not a direct run */
	struct play_io before;		 /* the walk */
	uint64_t contexts, requests;	 /* of walks */
};

struct lane_setting {
	const struct sim_machine *machine;
	const uint64_t *top_slots; /* as in sim_regions() */
	uint32_t n_tasks;
};

enum zr_err lane_new(const char *policy, const struct lane_setting *setting, struct lane **out);
void lane_free(struct lane *lane); /* NULL is fine */

/* Feeds one row of a checked batch. */
void lane_feed(struct lane *lane, const struct db_batch *batch, uint32_t row);

void lane_regions(struct lane *lane, const uint64_t *top_slots, struct regions *regions);

/* What the dashboard sees; `joined` and `caught_up` are the caller's. */
struct play_lane lane_look(const struct lane *lane);

/* `gap_ns`: the last gap, 0 = none. */
struct play_slot lane_slot(const struct lane *lane, uint32_t index, uint64_t gap_ns);

struct play_lane_totals lane_totals(const struct lane *lane);

#endif
