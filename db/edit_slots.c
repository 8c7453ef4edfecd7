/* SPDX-License-Identifier: MIT */
/* Items by swap slot; see edit_slots.h. */
#include "db/edit_slots.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_SLOTS = 4096, FIRST_BLOCKS = 64, PAGE_SECTORS = 8 };

void db_slot_map_fini(struct db_slot_map *map)
{
	for (unsigned area = 0; area <= DB_AREA_MAX; area++) {
		for (uint32_t i = 0; i < map->areas[area].n; i++)
			free(map->areas[area].blocks[i]);
		free(map->areas[area].blocks);
	}
	*map = (struct db_slot_map){ .item_bytes = map->item_bytes };
}

static void *block_of(const struct db_slot_map *map, uint8_t area, uint32_t slot)
{
	const struct db_slot_area *in = &map->areas[area];
	uint32_t at = slot / BLOCK_SLOTS;

	return at < in->n ? in->blocks[at] : NULL;
}

/* The item, NULL if its block was never made. */
static void *peek(const struct db_slot_map *map, uint8_t area, uint32_t slot)
{
	char *block = block_of(map, area, slot);

	return block ? block + slot % BLOCK_SLOTS * map->item_bytes : NULL;
}

static bool make_room(struct db_slot_map *map, struct db_slot_area *in, uint32_t at)
{
	uint32_t n = in->n ? in->n : FIRST_BLOCKS;
	size_t more;
	void **blocks;

	while (n <= at)
		n *= 2;
	more = (n - in->n) * sizeof(*blocks);
	if (map->bytes + more > DB_SLOT_MAP_BYTES)
		return false;
	blocks = realloc(in->blocks, n * sizeof(*blocks));
	if (!blocks)
		return false;
	memset(blocks + in->n, 0, more);
	map->bytes += more;
	in->blocks = blocks;
	in->n = n;
	return true;
}

static void *make_block(struct db_slot_map *map, uint8_t area, uint32_t slot)
{
	struct db_slot_area *in = &map->areas[area];
	uint32_t at = slot / BLOCK_SLOTS;
	size_t bytes = BLOCK_SLOTS * map->item_bytes;

	if ((at >= in->n && !make_room(map, in, at)) || map->bytes + bytes > DB_SLOT_MAP_BYTES)
		return NULL;
	in->blocks[at] = calloc(1, bytes);
	if (in->blocks[at])
		map->bytes += bytes;
	return in->blocks[at];
}

void *db_slot_map_need(struct db_slot_map *map, uint8_t area, uint32_t slot)
{
	char *block = block_of(map, area, slot);

	if (!block)
		block = make_block(map, area, slot);
	return block ? block + slot % BLOCK_SLOTS * map->item_bytes : NULL;
}

static uint32_t slots_of(const struct db_event *event, uint32_t slot_sectors)
{
	switch (event->kind) {
	case DB_OUT:
		return event->flags & DB_F_PART ? 1 : (uint32_t)1 << event->order;
	case DB_FREE:
		return db_free_slots(event->len);
	case DB_IO:
		return event->len ? (event->len + slot_sectors - 1) / slot_sectors : 1;
	case DB_IN:
	case DB_WB:
		return 1;
	default:
		return 0;
	}
}

struct db_slot_range db_event_slots(const struct db_event *event, uint32_t slot_sectors)
{
	struct db_slot_range range = { event->area, event->slot,
				       slots_of(event,
						slot_sectors ? slot_sectors : PAGE_SECTORS) };

	if (range.n && range.first > UINT32_MAX - (range.n - 1))
		range.n = UINT32_MAX - range.first + 1;
	return range;
}

/* How many slots of the range lie in the block of its first one. */
static uint32_t in_first_block(struct db_slot_range range)
{
	uint32_t left = BLOCK_SLOTS - range.first % BLOCK_SLOTS;

	return range.n < left ? range.n : left;
}

bool db_slot_flags_change(struct db_slot_map *map, struct db_slot_range range, uint8_t clear,
			  uint8_t set)
{
	bool all = true;

	while (range.n) {
		uint32_t n = in_first_block(range);
		uint8_t *flags = set ? db_slot_map_need(map, range.area, range.first)
				     : peek(map, range.area, range.first);

		for (uint32_t i = 0; flags && i < n; i++)
			flags[i] = (uint8_t)((flags[i] & ~clear) | set);
		all &= flags || !set;
		range.first += n;
		range.n -= n;
	}
	return all;
}

uint8_t db_slot_flags_any(const struct db_slot_map *map, struct db_slot_range range)
{
	uint8_t any = 0;

	while (range.n) {
		uint32_t n = in_first_block(range);
		const uint8_t *flags = peek(map, range.area, range.first);

		for (uint32_t i = 0; flags && i < n; i++)
			any |= flags[i];
		range.first += n;
		range.n -= n;
	}
	return any;
}

void db_unknowns_gap(struct db_unknowns *unknowns)
{
	db_slot_map_fini(&unknowns->met);
	unknowns->met.item_bytes = 1;
	unknowns->any_gap = true;
}

void db_unknowns_mark(struct db_unknowns *unknowns, struct db_event *event)
{
	struct db_slot_range range = db_event_slots(event, 0);
	uint8_t kind = event->kind;

	if (!unknowns->any_gap || !range.n || kind == DB_IO)
		return;
	if (kind != DB_OUT && !db_slot_flags_any(&unknowns->met, range))
		event->flags |= DB_F_UNKNOWN;
	/* Out of memory leaves more unknown than is, which is the safe side. */
	if (!db_slot_flags_change(&unknowns->met, range, 0, 1))
		return;
}

void db_unknowns_fini(struct db_unknowns *unknowns)
{
	db_slot_map_fini(&unknowns->met);
}
