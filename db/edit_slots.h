/* SPDX-License-Identifier: MIT */
/*
 * What a tool remembers of each swap slot: an item of a fixed size for (area, slot), zero until it is set.
 * Private to db/.
 *
 * Blocks of 4096 items, made when one of them is first set; an area is an array of pointers to blocks. So
 * the memory follows the slots in use, not the size of the swap area, and it is bounded whatever slots a
 * file claims: past DB_SLOT_MAP_BYTES nothing more is taken in, and the caller is told.
 */
#ifndef DB_EDIT_SLOTS_H
#define DB_EDIT_SLOTS_H

#include "db/db.h"

#define DB_SLOT_MAP_BYTES ((size_t)1 << 28)

struct db_slot_map {
	size_t item_bytes; /* set by the user; all else is zero at the start */
	size_t bytes;	   /* held */
	struct db_slot_area {
		void **blocks;
		uint32_t n;
	} areas[DB_AREA_MAX + 1];
};

void db_slot_map_fini(struct db_slot_map *map);

/* The item, made if need be; NULL when there is no more memory for it. */
void *db_slot_map_need(struct db_slot_map *map, uint8_t area, uint32_t slot);

/* Slots of an area, clipped at the last one there can be. */
struct db_slot_range {
	uint8_t area;
	uint32_t first, n;
};

/* The slots that an event is about; n is 0 for a kind that is about none. A request's sectors are counted
 * in slots of `slot_sectors`. */
struct db_slot_range db_event_slots(const struct db_event *event, uint32_t slot_sectors);

/* For maps whose item is one byte of flags: clears and then sets bits in all slots of the range (false: no
 * memory for some), and which bits any of them has. */
[[nodiscard]] bool db_slot_flags_change(struct db_slot_map *map, struct db_slot_range range,
					uint8_t clear, uint8_t set);
uint8_t db_slot_flags_any(const struct db_slot_map *map, struct db_slot_range range);

/* Which slots have a history since the last gap that a tool has put into a trace. All-zero is "no gap". */
struct db_unknowns {
	struct db_slot_map met;
	bool any_gap;
};

/* A gap is written here. */
void db_unknowns_gap(struct db_unknowns *unknowns);

/* Marks the event as DB_F_UNKNOWN if its slot's history crosses a gap, as the recorder does: the first IN,
 * FREE or WB of a slot that was not met since. */
void db_unknowns_mark(struct db_unknowns *unknowns, struct db_event *event);

void db_unknowns_fini(struct db_unknowns *unknowns);

#endif
