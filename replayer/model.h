/* SPDX-License-Identifier: MIT */
/*
 * The model's inside: what model.c (events, refaults), store.c (swap-outs), shrink.c (walks), shrinker.c,
 * worker.c, evict.c, memcg.c and drive.c (recorded writebacks) share. See model.c for what it does.
 */
#ifndef REPLAYER_MODEL_H
#define REPLAYER_MODEL_H

#include "replayer/lru.h"
#include "replayer/replayer.h"
#include "replayer/vswap.h"
#include "replayer/zbud.h"
#include "replayer/zsmalloc.h"

/* The large folio whose PART events are being read. */
struct sim_folio {
	uint32_t first, next,
		left;	     /* slot index of its first page and the next part; parts to come */
	bool stored;	     /* page by page; else the whole folio has been dealt with */
};

enum { SIM_DIRECT_TASKS = 8 };

/* The open run of direct swap-outs; and the tasks whose runs are not over, if the sink wants to know. */
struct sim_direct {
	bool open;
	uint32_t task;
	uint32_t n, tasks[SIM_DIRECT_TASKS];
};

/* A walk of recorded writebacks that has not ended: slot index + 1 of its first and last page, 0 = none. */
struct sim_open_walk {
	uint32_t task, head, tail;
	enum sim_walk kind;
};

enum { SIM_OPEN_WALKS = 16 };

struct sim_drive_state {
	uint32_t *next; /* by slot; NULL under demand */
	uint32_t n, worker; /* open walks, oldest first; the last WORKER's task */
	struct sim_open_walk walks[SIM_OPEN_WALKS];
};

enum { SIM_NO_PARENT = UINT32_MAX };

struct sim_memcg {
	uint64_t bytes;	      /* compressed, in the pool */
	uint64_t tree_bytes; /* the same with all below it; only where the policy has a zswap_max */
	uint64_t max_pages;  /* memory.zswap.max; UINT64_MAX = none */
	uint32_t parent;     /* SIM_NO_PARENT: the root, or not known */
	bool no_writeback;   /* memory.zswap.writeback is off, here or above */
	uint64_t deferred;    /* what its shrinker has put off; see shrinker.c */
	uint64_t disk_swapins; /* since the shrinker last counted */
	uint16_t len;	      /* last length seen of its pages */
};

/* The background worker: see worker.c. */
struct sim_worker {
	uint32_t paced; /* of the learnt ones: the first that is not over */
	uint32_t lag;	/* the first that was queued later */
	bool queued;  /* by a refused store; runs (again) when it can */
	bool running;
	bool drained; /* a visit of this run brought the pool down to the threshold */
	uint64_t due_ns; /* its next visit; UINT64_MAX = none */
	uint32_t next_memcg; /* where it goes on, this run or the next */
	uint32_t failures, candidates; /* of this run; of this round */
};

struct sim {
	struct sim_policy policy;
	struct sim_machine machine;
	struct sim_sink *sink;
	struct sim_counters counters;

	struct slot *slots; /* of all areas, one after the other */
	uint32_t n_slots;
	uint32_t area_base[DB_AREA_MAX + 1];
	struct lru lru;
	struct zs_pool pool; /* of the two only one is in use: see sim_pool_pages() */
	struct zbud zbud;
	uint32_t unseen; /* pages that were freed, but count until the next store or free */
	uint32_t len_max; /* the longest object that the pool takes */
	uint16_t *lengths; /* compressor=: by the recorded one; NULL = that is it */
	uint64_t compressed_bytes;
	struct sim_memcg *memcgs;

	uint64_t limit_pages, accept_pages;
	uint64_t full_at, accept_below; /* the same as the tests have it: >= and < */
	bool pool_evicts; /* evict=pool */
	uint8_t in_flags; /* a refault with any of these is not a plain one */
	bool limits_recorded; /* are these the recorded ones? */
	bool own_scans; /* the shrinker's scans are computed from RECLAIM, not taken from SCAN */
	uint32_t
		plain_below; /* a stored page whose length - 1 is below needs no look at the policy; 0: all do */
	bool limits_memcgs; /* the policy has a zswap_max */
	bool full; /* the limit was reached and the pool has not drained since */
	struct sim_worker worker;
	uint32_t refusal; /* of the recorded ones: the first that is not over */

	uint64_t origin_ns, now_ns;
	bool started;
	struct sim_folio folio;
	struct sim_direct direct;

	struct vswap vswap;	 /* slots=vswap */
	uint32_t *sorted;	 /* order=sorted: indices of what the open walk has written; else NULL */
	uint32_t n_sorted;
	uint64_t ins;	   /* rows of kind IN so far (where load=keep wants to know) */
	uint32_t walk_seq; /* the list's next sequence number when the last walk began */
	struct sim_drive_state drive; /* drive writebacks */
};

/* A slot by its index in `slots`, and back. */
static inline uint32_t sim_index(const struct sim *sim, uint8_t area, uint32_t slot)
{
	return sim->area_base[area] + slot;
}

uint8_t sim_index_area(const struct sim *sim, uint32_t index);

static inline uint64_t sim_pool_pages(const struct sim *sim)
{
	return sim->pool.pages + sim->zbud.pages;
}

/* As the tests of the limit see it. */
static inline uint64_t sim_pool_counted(const struct sim *sim)
{
	return sim_pool_pages(sim) + sim->unseen;
}

/* The page's slot on the disk, given to it now if it has none. */
uint32_t sim_disk_slot(struct sim *sim, uint8_t area, uint32_t index);

/* Compressed bytes have come into the pool, or left it. */
static inline void sim_charge(struct sim *sim, uint16_t memcg, int64_t bytes)
{
	sim->compressed_bytes += (uint64_t)bytes;
	sim->memcgs[memcg].bytes += (uint64_t)bytes;
	if (!sim->limits_memcgs)
		return;
	for (uint32_t id = memcg; id != SIM_NO_PARENT; id = sim->memcgs[id].parent)
		sim->memcgs[id].tree_bytes += (uint64_t)bytes;
}

/* The slot's object leaves the pool. */
static inline void sim_pool_free(struct sim *sim, const struct slot *slot)
{
	sim->unseen = 0;
	if (sim->zbud.records)
		zbud_free(&sim->zbud, slot->data);
	else
		zs_free(&sim->pool, (uint32_t)slot->data);
}

/* The slot holds nothing that was written, or something that was. */
void sim_set_state(struct sim *sim, uint32_t index, enum sim_slot state);
void sim_set_on_disk(struct sim *sim, uint32_t index, bool written_back);

void sim_end_direct(struct sim *sim);

/* The task has swapped out past zswap. */
void sim_task_writes(struct sim *sim, uint32_t task);

/* store.c: a row of kind OUT; may the disk not have what zswap refuses of it? */
void sim_out(struct sim *sim, const struct db_event *event);
bool sim_is_kept(const struct sim *sim, const struct db_event *event);

/* store.c: a page that a pool which is not full takes. */
void sim_take_plain(struct sim *sim, uint32_t index, uint16_t memcg, uint16_t len);

/* shrink.c: the page is on disk from now on, whatever it was; its write is told by sim_walk_write(). */
void sim_write_back(struct sim *sim, uint32_t index);

/* shrink.c: what the sink is told of a walk; sorted there if the policy says so. */
void sim_walk_begin(struct sim *sim, enum sim_walk kind);
void sim_walk_write(struct sim *sim, uint32_t index);
void sim_walk_end(struct sim *sim);

/* drive.c: a row of kind SCAN, SHRINK, WORKER or RECLAIM; a row of kind WB; what precedes a row of kind OUT, IN
 * or FREE on these slots; the end of all walks. */
void sim_drive_begin(struct sim *sim, const struct db_event *event);
void sim_drive_wb(struct sim *sim, const struct db_event *event);
void sim_drive_touch(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t slots);
void sim_drive_flush(struct sim *sim);

/* shrink.c: one walk over a memcg's list; returns pages written. */
uint32_t sim_walk(struct sim *sim, uint16_t memcg, uint32_t budget, enum sim_walk kind);

/* shrink.c: one call of the kernel's shrink_memcg; `SHRINK` outcomes as recorded ones. */
enum db_shrink sim_shrink_memcg(struct sim *sim, uint16_t memcg, uint32_t budget, enum sim_walk kind);

/* evict.c: a page of the pool, with what is in it, if that can be. */
void sim_evict_page(struct sim *sim);

/* memcg.c: the policy's rules put into the table of memcgs; is the memcg, and all above it, below zswap_max? */
enum zr_err sim_memcgs_init(struct sim *sim);
bool sim_memcg_may_store(const struct sim *sim, uint16_t memcg);

/* shrinker.c: are its scans to be computed; a row of kind RECLAIM or SCAN. */
bool sim_shrinker_is_own(const struct sim *sim);
void sim_shrinker_reclaim(struct sim *sim, const struct db_event *event);
void sim_shrinker_scan(struct sim *sim, const struct db_event *event);

/* worker.c: it begins idle; a refused store has queued it; what it has done by `now_ns`, which never falls. */
void sim_worker_init(struct sim *sim);
void sim_worker_queue(struct sim *sim);
void sim_worker_advance(struct sim *sim, uint64_t now_ns);

/* model.c: all that the model's state is in between two rows. `top_slots`: by area, one past the highest slot that
 * the events name; what lies behind was never touched. */
void sim_regions(struct sim *sim, const uint64_t *top_slots, struct regions *regions);

/* The part of a table by slot index that events touch, area by area. */
void sim_slot_regions(const struct sim *sim, const uint64_t *top_slots, const struct region *row,
		      struct regions *regions);

#endif
