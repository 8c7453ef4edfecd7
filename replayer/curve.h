/* SPDX-License-Identifier: MIT */
/*
 * Pool size against disk refaults: the whole curve from one pass (a miss-ratio curve by reuse distances).
 *
 * Idea: an idealised pool of C compressed bytes holds the youngest stored pages whose lengths sum up to at
 * most C. All such pools are slices of one stack, ordered by the time of the store; a page's depth is its own
 * length and those of all younger pages in the stack. A page leaves the stack when it is loaded or freed,
 * whatever C is, so depths fall too; a page that was pushed out does not come back. Hence it must be read
 * from disk in a pool of C bytes exactly if the greatest depth that it ever had is above C: that is its
 * distance. For this pool the curve is exact (at the points that are reported).
 *
 * What is idealised: compressed bytes instead of pool pages; one list instead of one a cgroup; oldest first
 * without a second chance; writeback down to the limit at once, no hysteresis; nothing is refused, so pages
 * that a limit rejected in the recording are stored here, with a guessed length. As in the model, the
 * recorded swap-outs are taken as demand. A page whose read is repeated without a swap-out between counts each
 * time for the pools in which it is on disk.
 *
 * A tree over the stack's positions, oldest first, holds at each leaf the page's depth and its greatest depth
 * so far; a store or removal adds its length to all older leaves, lazily:
 *
 *   node { add, high }: what is still to be added to all leaves below, and the highest that this sum was
 *
 * When the positions are used up those in use are renumbered, into twice as many if more than half are. Cost:
 * O(log n) an event; 20 bytes a slot, 36 a position.
 */
#ifndef REPLAYER_CURVE_H
#define REPLAYER_CURVE_H

#include "replayer/replayer.h"

struct curve_slot {
	uint64_t distance; /* LEFT: which pools have it on disk */
	uint32_t position; /* STACK */
	uint16_t len;	   /* last known, 0 = none */
	uint8_t state;
};

struct curve_node {
	int64_t add, high;
};

struct curve {
	struct sim_machine machine;
	uint32_t area_base[DB_AREA_MAX + 1];
	uint32_t n_slots;
	struct curve_slot *slots;
	uint16_t *memcg_len;

	struct curve_node *nodes; /* 1 is the root, `positions` the first leaf */
	uint32_t *owners;	  /* by position: slot index + 1 */
	uint32_t positions, next, live;
	bool no_memory;

	struct zr_hist distances;
	uint64_t always; /* refaults that no pool could save */
};

/* The machine's slots sum up to less than 2^31 (sim_new() has seen to it). */
enum zr_err curve_init(struct curve *curve, const struct sim_machine *machine);
void curve_fini(struct curve *curve);

/* A row of a checked batch. */
void curve_feed(struct curve *curve, const struct db_event *event);

/* ZR_NOMEM if the tree could not grow; else the points and the number of refaults. */
enum zr_err curve_finish(const struct curve *curve, struct play_explain *out);

#endif
