/* SPDX-License-Identifier: MIT */
/*
 * Where the next slot is, in chunk version 2; inline, since it is a third of the codec's work.
 *
 * A slot is said in one of two ways.
 *
 * Next: each kind and task (modulo 64) expects the slot after the last one that was said in this
 * way, for slots are handed out in sequence, but for each CPU from a cluster of its own; the task
 * stands for the CPU, which a trace does not have. The difference to it is 0 or small, or as large
 * as it takes.
 *
 * Listed: the slots of OUTs, of INs and of issued IOs are kept in three lists, in the order of the
 * events. Pages leave in about the order in which they came in (and a page that comes back and
 * leaves again unchanged keeps its slot), and come back in about that in which they left: the LRU
 * is a queue. So a kind remembers, for each list, the place after the one that it named last. The
 * slot that is expected next stays the same: these events come between those of a sequence.
 *
 * Bytes an event for slots on the shipped compile trace (codes by their entropy, and bits): 1.74
 * with one expected slot for each kind and task and nothing else, 1.33 with the distance to an
 * earlier event of the same slot besides, 1.15 with lists instead.
 *
 * Each step of the decoder waits for the one before only by an addition, so that many events are on
 * their way in the processor at once.
 */
#ifndef DB_CHUNK_SLOTS_H
#define DB_CHUNK_SLOTS_H

#include <string.h>

#include "db/base/bytes.h"
#include "db/chunk_codes.h"
#include "db/chunk_format.h"
#include "db/types.h"

enum {
	DB_SEQUENCES = DB_KIND_COUNT + 1, /* an IO that was not issued is one more */
	DB_CELLS = 128, /* 64 tasks, 3 lists and a spare one; a power of 2 is found faster */
	DB_LIST_ROOM = DB_BATCH_EVENTS,
	DB_PAGE_SHIFT = 3, /* sectors of 512 bytes to pages of 4096 */
};

/* The rules of a type, for an event at slot s whose length gives q = len >> shift. */
struct db_slot_rule {
	uint8_t kind, flags;
	uint8_t sequence; /* row of `cell` */
	uint8_t list;	  /* where s is added, DB_LISTS if nowhere */
	uint8_t shift;
	uint8_t first;	/* it covers s to s + max(q, least) - first */
	uint16_t grows; /* 1 if s is added, else 0 */
	uint32_t least; /* s + max(q, least) is expected next, unless it was listed */
	uint32_t none;	/* all ones if it covers no slots at all, else 0 */
};

struct db_slots {
	/* The slot that each task expects, and the place in each list: an event moves on one. */
	uint32_t cell[DB_SEQUENCES][DB_CELLS];
	/* The last of these is for what is in no list: no place is behind its end, and what is
	 * written there is never looked at. */
	uint64_t length[DB_LISTS + 1];
	uint32_t list[DB_LISTS + 1][DB_LIST_ROOM];
	/* Encoding: rows by the hash of a slot. For each list a row has the upper half of the slot,
	 * which with the hash tells it from all others, and its last place there; and the epoch in
	 * which this was noted, each chunk being one. So one line of memory says all of a slot; with
	 * places alone, which had to be looked at in the lists, it was four. */
	uint32_t found[1 << 16][DB_LISTS + 1];
	uint32_t epoch;
	uint32_t spare; /* what is in no list is noted here */
};

/* What is said of a slot. */
struct db_slot_code {
	uint32_t number;
	unsigned code, bits;
};

static inline void db_slots_reset(struct db_slots *slots)
{
	memset(slots->cell, 0, sizeof(slots->cell));
	memset(slots->length, 0, sizeof(slots->length));
	slots->length[DB_LISTS] = (uint64_t)UINT32_MAX + 1;
	if (++slots->epoch == 0)
		memset(slots->found, 0, sizeof(slots->found));
}

static inline uint32_t db_slot_hash(uint32_t slot)
{
	return (slot ^ slot >> 16) & 0xffff;
}

static inline uint32_t db_slots_ahead(const struct db_slot_rule *rule, uint32_t len)
{
	uint32_t q = len >> rule->shift;

	return q > rule->least ? q : rule->least;
}

/* The slots that events cover: from `min` to `max`, at most UINT32_MAX; min > max if none. */
struct db_range {
	uint64_t min, max;
};

/* `ahead` is that of db_slots_ahead. */
static inline void db_range_widen(struct db_range *range, const struct db_slot_rule *rule,
				  uint32_t slot, uint32_t ahead)
{
	uint32_t least = slot | rule->none;
	uint64_t last = ((uint64_t)slot + ahead - rule->first) & ~(uint64_t)rule->none;

	range->min = least < range->min ? least : range->min;
	range->max = last > range->max ? last : range->max;
}

/* ------------------------------------------------------------------------------------ decoding */

/* All ones if a way to say slots is a list, 0 if it is DB_LISTS, the next one. With masks where a
 * compiler might make a branch of a condition: which way comes next is a matter of chance. */
static inline uint32_t db_slots_is_listed(unsigned way)
{
	return (uint32_t)((int32_t)(way - DB_LISTS) >> 31);
}

/* What a way counts from. */
static inline uint32_t *db_slots_cell(struct db_slots *slots, const struct db_slot_rule *rule,
				      unsigned way, uint32_t task)
{
	uint32_t listed = db_slots_is_listed(way);

	return &slots->cell[rule->sequence]
			   [(task % DB_CHUNK_TASKS & ~listed) | ((DB_CHUNK_TASKS + way) & listed)];
}

/* The slot at a difference from a cell; *bad if a list is shorter. */
static inline uint32_t db_slots_get(struct db_slots *slots, unsigned way, uint32_t *cell,
				    uint32_t difference, uint32_t ahead, uint32_t *bad)
{
	uint32_t listed = db_slots_is_listed(way), at = *cell + difference;
	/* What is in no list must not fetch memory all over the last one. */
	uint32_t slot = slots->list[way][(at & listed) % DB_LIST_ROOM];

	*cell = at + (ahead ^ ((ahead ^ 1) & listed));
	*bad |= at >= slots->length[way];
	return at ^ ((at ^ slot) & listed);
}

static inline void db_slots_add(struct db_slots *slots, const struct db_slot_rule *rule,
				uint32_t slot)
{
	slots->list[rule->list][slots->length[rule->list] % DB_LIST_ROOM] = slot;
	slots->length[rule->list] += rule->grows;
}

/* ------------------------------------------------------------------------------------ encoding */

/* A way to say a slot, a list or `next`, after the number that it takes: the least is best, and a
 * list wins a tie. */
static inline uint64_t db_slots_way(uint32_t number, unsigned way)
{
	return (uint64_t)number << 2 | way;
}

static inline void db_slots_prefetch(const struct db_slots *slots, uint32_t slot)
{
	__builtin_prefetch(slots->found[db_slot_hash(slot)], 1);
}

/* The row of a slot; what is left there of other chunks becomes all ones, which says the last
 * place of a full list: the last event of a chunk, which none looks for. */
static inline uint32_t *db_slots_row(struct db_slots *slots, uint32_t slot)
{
	uint32_t *row = slots->found[db_slot_hash(slot)];
	uint32_t stale = -(uint32_t)(row[DB_LISTS] != slots->epoch);

#pragma GCC unroll 3
	for (unsigned list = 0; list < DB_LISTS; list++)
		row[list] |= stale;
	row[DB_LISTS] = slots->epoch;
	return row;
}

/* With a mask, as above. */
static inline uint64_t db_least(uint64_t a, uint64_t b)
{
	return a ^ ((a ^ b) & -(uint64_t)(b < a));
}

/* How a slot is best said that is not the one expected. Without branches, since what is best is a
 * matter of chance. `cells` are those of its sequence. */
static inline struct db_slot_code db_slots_search(const uint32_t row[], uint32_t cells[],
						  uint32_t slot, uint32_t next)
{
	uint64_t best = db_slots_way(zr_zigzag32((int32_t)(slot - next)), DB_LISTS);
	uint32_t *place = cells + DB_CHUNK_TASKS, number;
	unsigned way, bits;

#pragma GCC unroll 3
	for (unsigned list = 0; list < DB_LISTS; list++) {
		uint32_t at = row[list] ^ (slot & 0xffff0000);

		number = zr_zigzag32((int32_t)(at - place[list]));
		best = db_least(best,
				db_slots_way(number, list) | -(uint64_t)(at >= DB_LIST_ROOM - 1));
	}
	way = best & 3;
	number = (uint32_t)(best >> 2);
	bits = db_code_bits(number, DB_SLOT_MANTISSA);
	place[way] += (uint32_t)zr_unzigzag32(number) + 1;
	return (struct db_slot_code){
		number, way * DB_CODES_OF_LIST + db_code_of(number, DB_SLOT_MANTISSA, bits), bits
	};
}

/* Says the slot, and notes its place in the list that it is added to. */
static inline struct db_slot_code db_slots_put(struct db_slots *slots,
					       const struct db_slot_rule *rule, uint32_t slot,
					       uint32_t task, uint32_t ahead)
{
	uint32_t *cells = slots->cell[rule->sequence], *next = &cells[task % DB_CHUNK_TASKS];
	uint32_t *row = db_slots_row(slots, slot);
	uint32_t *note = rule->grows ? &row[rule->list] : &slots->spare;
	struct db_slot_code code = { .code = DB_CODE_NEXT };

	if (slot != *next)
		code = db_slots_search(row, cells, slot, *next);
	*next ^= (*next ^ (slot + ahead)) & -(uint32_t)(code.code >= DB_CODE_NEXT);
	*note = (slot & 0xffff0000) | (uint32_t)slots->length[rule->list];
	slots->length[rule->list] += rule->grows;
	return code;
}

#endif
