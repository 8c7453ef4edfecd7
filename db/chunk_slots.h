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
	DB_LIST_ROOM = DB_BATCH_EVENTS,
	DB_PAGE_SHIFT = 3, /* sectors of 512 bytes to pages of 4096 */
};

/* The rules of a type, for an event at slot s whose length gives q = len >> shift. */
struct db_slot_rule {
	uint8_t kind, flags;
	uint8_t sequence; /* row of `next` and `place` */
	uint8_t list;	  /* where s is added, DB_LISTS if nowhere */
	uint8_t shift;
	uint8_t first;	/* it covers s to s + q - first, or s alone */
	uint16_t grows; /* 1 if s is added, else 0 */
	uint32_t least; /* s + max(q, least) is expected next, unless it was listed */
	uint32_t none;	/* all ones if it covers no slots at all, else 0 */
};

struct db_slots {
	uint32_t next[DB_SEQUENCES][DB_CHUNK_TASKS];
	/* The last column of these is for what is in no list, and never looked at. */
	uint32_t place[DB_SEQUENCES][DB_LISTS + 1];
	uint32_t length[DB_LISTS + 1];
	uint32_t list[DB_LISTS + 1][DB_LIST_ROOM];
	/* Encoding: the last place of a slot in each list, by its hash. It is not cleared: what is
	 * stale points at another slot, or behind the list's end. */
	uint16_t found[1 << 16][DB_LISTS + 1];
};

/* What is said of a slot. */
struct db_slot_code {
	uint32_t number;
	unsigned code, bits;
};

static inline void db_slots_reset(struct db_slots *slots)
{
	memset(slots->next, 0, sizeof(slots->next));
	memset(slots->place, 0, sizeof(slots->place));
	memset(slots->length, 0, sizeof(slots->length));
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

static inline void db_slots_add(struct db_slots *slots, const struct db_slot_rule *rule,
				uint32_t slot)
{
	slots->list[rule->list][slots->length[rule->list] % DB_LIST_ROOM] = slot;
	slots->length[rule->list] += rule->grows;
}

/* The slots that events cover: from `min` to `max`, at most UINT32_MAX; min > max if none. */
struct db_range {
	uint64_t min, max;
};

static inline void db_range_widen(struct db_range *range, const struct db_slot_rule *rule,
				  uint32_t slot, uint32_t len)
{
	uint32_t q = len >> rule->shift, least = slot | rule->none;
	uint64_t last =
		((uint64_t)slot + (q > rule->first ? q - rule->first : 0)) & ~(uint64_t)rule->none;

	range->min = least < range->min ? least : range->min;
	range->max = last > range->max ? last : range->max;
}

/* ------------------------------------------------------------------------------------ decoding */

/* The slot at a difference from the place in a list of `rule`; *bad if the list is shorter. */
static inline uint32_t db_slots_listed(struct db_slots *slots, const struct db_slot_rule *rule,
				       const struct db_code *code, uint32_t difference,
				       uint32_t *bad)
{
	uint32_t *place = &slots->place[rule->sequence][code->list], at = *place + difference;

	*place = at + 1;
	*bad |= code->listed & -(uint32_t)(at >= slots->length[code->list]);
	/* What is in no list must not fetch memory all over the last one. */
	return slots->list[code->list][(at & code->listed) % DB_LIST_ROOM];
}

/* ------------------------------------------------------------------------------------ encoding */

/* Ways to say a slot, the lists and `next`, as 8 * the bits that it takes + the way: the least is
 * best, and a list wins a tie. All ones: the list does not have the slot. */
static inline uint32_t db_slots_way(uint32_t number, unsigned way)
{
	return db_code_bits(number, DB_SLOT_MANTISSA) << 3 | way;
}

static inline uint32_t db_slots_way_listed(const struct db_slots *slots, unsigned list,
					   uint32_t slot, uint32_t at, uint32_t number)
{
	uint32_t differs = slots->list[list][at] ^ slot;

	differs |= at >= slots->length[list];
	return db_slots_way(number, list) | -(uint32_t)(differs != 0);
}

static inline uint32_t db_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* How a slot is best said that is not the one expected. Without branches, since what is best is a
 * matter of chance. */
static inline struct db_slot_code db_slots_search(struct db_slots *slots, uint32_t place[],
						  uint32_t slot, uint32_t next)
{
	const uint16_t *found = slots->found[db_slot_hash(slot)];
	uint32_t numbers[DB_LISTS + 1], best, way;

	numbers[DB_LISTS] = zr_zigzag32((int32_t)(slot - next));
	best = db_slots_way(numbers[DB_LISTS], DB_LISTS);
#pragma GCC unroll 3
	for (unsigned list = 0; list < DB_LISTS; list++) {
		numbers[list] = zr_zigzag32((int32_t)(found[list] - place[list]));
		best = db_least(best,
				db_slots_way_listed(slots, list, slot, found[list], numbers[list]));
	}
	way = best & 7;
	place[way] += (uint32_t)zr_unzigzag32(numbers[way]) + 1;
	return (struct db_slot_code){ numbers[way],
				      way * DB_CODES_OF_LIST +
					      db_code_of(numbers[way], DB_SLOT_MANTISSA, best >> 3),
				      best >> 3 };
}

static inline struct db_slot_code
db_slots_put(struct db_slots *slots, const struct db_slot_rule *rule, uint32_t slot, uint32_t next)
{
	if (slot == next)
		return (struct db_slot_code){ .code = DB_CODE_NEXT };
	return db_slots_search(slots, slots->place[rule->sequence], slot, next);
}

/* Adds the slot so that it is found. */
static inline void db_slots_note(struct db_slots *slots, const struct db_slot_rule *rule,
				 uint32_t slot)
{
	slots->found[db_slot_hash(slot)][rule->list] = (uint16_t)slots->length[rule->list];
	db_slots_add(slots, rule, slot);
}

#endif
