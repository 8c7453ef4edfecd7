/* SPDX-License-Identifier: MIT */
/*
 * Why a swap I/O context of a walk ended: one cause for each, so that the causes add up to the contexts (and
 * pages / breaks is the mean length of a context).
 *
 * A is the last page of the context that ended, N the slot behind it: the one page that could have gone on
 * with it. It is looked at when the page after A is written, or when the walk is over (what became of N later
 * does not matter). The first line that holds is the cause:
 *
 *   boundary       A lies at the end of its swap area
 *   batch_limit    N was the next page written, but the context held its `batch` pages
 *   other_memcg    N is in the pool, of another cgroup: on another list
 *   second_chance  N is in the pool; it was met after A in this walk and passed over, or it is the next on the
 *                  list when the walk is over, but referenced
 *   scan_budget    N is the next on the list, and the walk is over
 *   restored       N is in the pool, but what its slot had there when A was stored has left since: it was
 *                  loaded back, freed or written, and stored anew
 *   interleaved    N is in the pool, stored after A but not right behind it, and no later than the next page
 *                  that A's task stored: what lies between is other tasks' work
 *   order          N is in the pool, or was written before A in this walk
 *   hole_written   N is on disk, written back by an earlier walk
 *   hole_rejected  N's page went to disk past zswap, or was kept in memory since it might not
 *   hole_refault   N's page was loaded back and has not been stored since
 *   hole_zero      N's page is zero-filled
 *   hole_free      N's page was freed, and the slot is empty
 *   hole_unused    no page was seen in N
 *
 * The states of N exclude each other, so only the lines of one state compete. Under order=sorted all of a walk
 * is written when it is over; then "met after A" is "met in this walk" and "the walk is over" always holds.
 * Under order=cluster N would be taken wherever it is on the list, so what is left in the pool is scan_budget.
 * Under slots=vswap slots are disk slots: N either holds a written page (hole_written), or was where the next
 * page would have gone (scan_budget), or the allocator moved on to another cluster (boundary).
 *
 * A slot has 32 bytes here beside the model's 16: ordinals of stores (modulo 2^32), as told below.
 */
#ifndef REPLAYER_BREAKS_H
#define REPLAYER_BREAKS_H

#include "replayer/model.h"

struct break_page {
	uint64_t stored_ns;
	uint32_t stored;   /* ordinal of its store, from 1; 0 = never seen in the pool */
	uint32_t span_end; /* ordinal of its task's next store in the memcg; of the last store of all before the
			    * task went on in another memcg; its own as long as neither has been */
	uint32_t left;	   /* last ordinal when its page last left the pool; 0 = none did */
	uint32_t walk;	   /* number of the walk that wrote it last */
	uint8_t seen;	   /* enum break_seen */
};

/* How a slot's page was last seen to go out. */
enum break_seen { BREAK_SEEN_NOT, BREAK_SEEN_STORED, BREAK_SEEN_DIRECT, BREAK_SEEN_KEPT, BREAK_SEEN_ZERO };

struct break_task {
	uint32_t index, stored; /* its last store: slot index, ordinal; 0 = none */
	uint16_t memcg;
};

struct breaks {
	const struct sim *sim;
	struct break_page *pages; /* by slot index */
	struct break_task *tasks;
	uint32_t n_tasks, batch;
	uint32_t ordinal; /* of the last store */
	uint32_t walk;

	bool open;		/* a walk is, and has written */
	struct sim_write last;	/* A */
	uint32_t context_pages; /* of the context that A is in */
	uint32_t mark;		/* the list's next sequence number when A was written */
	uint16_t memcg;

	uint64_t written, contexts, counts[PLAY_BREAK_COUNT];
	struct zr_hist age_ns;
};

/* `n_tasks`: highest task id + 1; a task beyond it is taken as task 0. */
enum zr_err breaks_init(struct breaks *breaks, const struct sim *sim, uint32_t n_tasks);
void breaks_fini(struct breaks *breaks);

/* Call with a row of a checked batch before the model is fed with it, and after. */
void breaks_will_feed(struct breaks *breaks, const struct db_event *event);
void breaks_fed(struct breaks *breaks, const struct db_event *event);

/* From the model's sink, for all walks but direct ones. */
void breaks_walk_begin(struct breaks *breaks);
void breaks_write(struct breaks *breaks, const struct sim_write *write);
void breaks_walk_end(struct breaks *breaks);

/* What the history is in, but for the struct itself; `top_slots` as in sim_regions(). */
void breaks_regions(const struct breaks *breaks, const uint64_t *top_slots, struct regions *regions);

#endif
