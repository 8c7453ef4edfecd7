/* SPDX-License-Identifier: MIT */
/*
 * The LRU lists of zswap entries, one a memcg, oldest first; and the record of a slot that they refer to.
 *
 * Idea: a list is a queue of (slot, sequence number). Appending writes at its tail, the walk reads at its
 * head, and taking an entry out of the middle (refault, free: most of what happens) touches the queue not
 * at all: the slot's record changes and the reference has become stale, to be skipped when it is met. So
 * a store or a refault costs one random access, the slot's own record, instead of three with linked
 * entries.
 *
 *   list  head ─> [slot seq | slot seq | ... 512] ─> [ ... ] <─ tail      chunks from one shared store
 *   slot  data 53 bits: zspage or zbud handle (in zswap) or time of the write, ns since the start (on disk)
 *         state and flags 11 bits · seq 32 · len 16 · memcg 16   = 16 bytes a slot
 *
 * A reference is live when its slot is in zswap, in this memcg, with this sequence number. Numbers rise
 * by one an append, so a list is always sorted by them and `seq` also tells which of two pages of a memcg
 * went out first (compared modulo 2^32: right as long as they lie less than 2^31 swap-outs apart).
 *
 * Invariant: length <= 2 * live + LRU_SLACK after every operation, kept by compacting in place when it
 * would break. A reference is therefore dropped long before its number comes round again, and the chunks
 * of all lists together are bounded by the slots and memcgs there are: all memory is reserved at the
 * start, none is allocated while events run. Cost: appends and pops are sequential; a compaction reads
 * each reference's slot once and is paid for by the removals that made it necessary.
 */
#ifndef REPLAYER_LRU_H
#define REPLAYER_LRU_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/snapshot.h"

struct slot {
	uint64_t data : 53;
	uint64_t state : 4; /* enum sim_slot */
	uint64_t referenced : 1;
	uint64_t fresh : 1;	   /* on disk and not read since it was written */
	uint64_t written_back : 1; /* fresh, and it was zswap that wrote it */
	uint64_t in_zswap : 1;	   /* zero-filled, and known to zswap (zero=zswap) */
	uint64_t in_memory : 1;	   /* in zswap, and loaded since (load=keep) */
	uint32_t seq;
	uint16_t len; /* last known compressed length, 0 = none */
	uint16_t memcg;
};

struct lru_ref {
	uint32_t slot, seq;
};

enum { LRU_CHUNK = 512, LRU_SLACK = 2 * LRU_CHUNK };

struct lru_list {
	uint32_t head_chunk, tail_chunk; /* 0 = none */
	uint32_t head_at, tail_at;	 /* first reference; one past the last */
	uint32_t length;		 /* references, stale ones too */
	uint32_t live;
	uint32_t next_seq;
};

struct lru {
	struct lru_list *lists; /* by memcg */
	struct lru_ref *refs;	/* chunk c: refs[c * LRU_CHUNK ...] */
	uint32_t *next;		/* chunk -> chunk */
	struct slot *slots;
	uint32_t free, used, chunks, n_lists;
};

/* `slots` stay the caller's. */
enum zr_err lru_init(struct lru *lru, struct slot *slots, uint32_t n_slots, uint32_t n_lists);
void lru_fini(struct lru *lru);

/* Makes the slot the newest entry of the memcg; it must be SIM_SLOT_ZSWAP and on no list. */
void lru_append(struct lru *lru, uint16_t memcg, uint32_t slot);

/* The oldest entry stays / leaves. False when the list is empty. */
bool lru_peek(struct lru *lru, uint16_t memcg, struct lru_ref *out);
bool lru_pop(struct lru *lru, uint16_t memcg, uint32_t *slot);

/* Call when the slot has ceased to be SIM_SLOT_ZSWAP without having been popped. */
void lru_dropped(struct lru *lru, uint16_t memcg);

/* What the lists' state is in, but for the slots. */
void lru_regions(const struct lru *lru, struct regions *regions);

/* For tests: the live entries, oldest first; at most `room`; returns their number. */
uint32_t lru_read(const struct lru *lru, uint16_t memcg, uint32_t *slots, uint32_t room);

#endif
