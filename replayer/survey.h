/* SPDX-License-Identifier: MIT */
/*
 * The first pass over a trace: are all ids in range, how many events of what time are there, what was
 * lost, how far do the slots reach, and what can be learnt of the recorded kernel. Everything that comes after may rely on it.
 */
#ifndef REPLAYER_SURVEY_H
#define REPLAYER_SURVEY_H

#include "replayer/learn.h"

/* The kinds that a model acts on when it is driven by demand, and by any drive. */
enum {
	SURVEY_DEMAND_KINDS = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE | 1 << DB_SCAN | 1 << DB_RECLAIM,
	SURVEY_MODEL_KINDS = SURVEY_DEMAND_KINDS | 1 << DB_WB | 1 << DB_WORKER | 1 << DB_SHRINK,
};

enum { SURVEY_CLUSTERS = (uint32_t)1 << 23 }; /* of PLAY_CLUSTER slots, in an area of 2^32 */

struct survey_host {
	uint32_t host;
	struct sim_machine machine;
	uint64_t events;	/* of the demand kinds */
	uint64_t other_events;	/* of the other model kinds */
	uint64_t gaps, lost;	/* events lost, where the source says how many */
	uint64_t first_ns, last_ns;
	uint64_t outs; /* swap-outs, folios */
	uint64_t top_slots[DB_AREA_MAX + 1]; /* highest slot named + 1 */
	struct learn learn; /* until the pass is over; what came out is in the machine */
	uint8_t *clusters[DB_AREA_MAX + 1];  /* a bit for each cluster that is touched; NULL = none is */
};

/* Takes the events of a batch into account. In the arena. */
enum zr_err survey_note(struct survey_host *host, const struct db_batch *batch, struct zr_arena *arena);

/* In the arena. ZR_NO_DATA if nothing in the trace can drive a model. */
enum zr_err survey_trace(struct db *trace, struct zr_arena *arena, struct survey_host **out, size_t *n);

/* The highest task id of a host + 1, at least 1. */
enum zr_err survey_count_tasks(struct db *trace, uint32_t host, uint32_t *n_tasks);

#endif
