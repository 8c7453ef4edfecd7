/* SPDX-License-Identifier: MIT */
/* The accounting of zbud.h. */
#include "replayer/zbud.h"

#include <assert.h>
#include <string.h>

#include "replayer/pages.h"

static_assert(sizeof(struct zbud_page) == 28, "a zbud page is 28 bytes");

enum zr_err zbud_init(struct zbud *zbud, uint32_t page_size, uint32_t header_bytes,
		      uint32_t objects_max)
{
	void *records;
	enum zr_err err;

	*zbud = (struct zbud){ .chunk_bytes = page_size / (ZBUD_CHUNKS + 1),
			       .header_bytes = header_bytes,
			       .used = 1,
			       .capacity = objects_max + 1 };
	err = pages_new(zbud->capacity, sizeof(*zbud->records), "the pool's pages", &records);
	zbud->records = records;
	return err;
}

void zbud_fini(struct zbud *zbud)
{
	pages_free(zbud->records, zbud->capacity, sizeof(*zbud->records));
	zbud->records = NULL;
}

uint32_t zbud_len_max(const struct zbud *zbud)
{
	return (ZBUD_CHUNKS - 1) * zbud->chunk_bytes - zbud->header_bytes;
}

/* ------------------------------------------------------------------------------------------- lists */

static uint32_t free_chunks(const struct zbud_page *page)
{
	return (uint32_t)(ZBUD_CHUNKS - page->chunks[0] - page->chunks[1]);
}

static bool has_one_object(const struct zbud_page *page)
{
	return !page->chunks[0] != !page->chunks[1];
}

static void link_room(struct zbud *zbud, uint32_t id)
{
	struct zbud_page *page = &zbud->records[id];
	uint32_t room = free_chunks(page);

	page->prev_room = 0;
	page->next_room = zbud->room[room];
	if (page->next_room)
		zbud->records[page->next_room].prev_room = id;
	zbud->room[room] = id;
	zbud->with_room |= (uint64_t)1 << room;
}

/* Before its chunks change. */
static void unlink_room(struct zbud *zbud, uint32_t id)
{
	struct zbud_page *page = &zbud->records[id];
	uint32_t room = free_chunks(page);

	if (!has_one_object(page))
		return;
	if (page->prev_room)
		zbud->records[page->prev_room].next_room = page->next_room;
	else
		zbud->room[room] = page->next_room;
	if (page->next_room)
		zbud->records[page->next_room].prev_room = page->prev_room;
	if (!zbud->room[room])
		zbud->with_room &= ~((uint64_t)1 << room);
}

static void unlink_age(struct zbud *zbud, uint32_t id)
{
	struct zbud_page *page = &zbud->records[id];

	zbud->records[page->prev].next = page->next;
	zbud->records[page->next].prev = page->prev;
}

static void make_youngest(struct zbud *zbud, uint32_t id)
{
	struct zbud_page *page = &zbud->records[id], *ring = &zbud->records[0];

	page->prev = 0;
	page->next = ring->next;
	zbud->records[ring->next].prev = id;
	ring->next = id;
}

/* ----------------------------------------------------------------------------------------- objects */

static uint32_t new_page(struct zbud *zbud)
{
	uint32_t id = zbud->free;

	if (id) {
		zbud->free = zbud->records[id].next;
	} else {
		assert(zbud->used < zbud->capacity);
		id = zbud->used++;
	}
	zbud->records[id] = (struct zbud_page){ 0 };
	zbud->pages++;
	return id;
}

static void free_page(struct zbud *zbud, uint32_t id)
{
	zbud->pages--;
	zbud->records[id].next = zbud->free;
	zbud->free = id;
}

/* A page with room for so many chunks, off its lists. */
static uint32_t page_for(struct zbud *zbud, uint32_t chunks)
{
	uint64_t fitting = zbud->with_room >> chunks;
	uint32_t id;

	if (!fitting)
		return new_page(zbud);
	id = zbud->room[chunks + (uint32_t)__builtin_ctzll(fitting)];
	unlink_room(zbud, id);
	unlink_age(zbud, id);
	return id;
}

uint64_t zbud_alloc(struct zbud *zbud, uint32_t len, uint32_t slot)
{
	uint32_t bytes = len + zbud->header_bytes;
	uint32_t chunks = (bytes + zbud->chunk_bytes - 1) / zbud->chunk_bytes;
	uint32_t id = page_for(zbud, chunks);
	struct zbud_page *page = &zbud->records[id];
	uint32_t which = page->chunks[0] != 0;

	page->chunks[which] = (uint8_t)chunks;
	page->slot[which] = slot;
	if (has_one_object(page))
		link_room(zbud, id);
	make_youngest(zbud, id);
	zbud->objects++;
	return (uint64_t)id << 1 | which;
}

void zbud_free(struct zbud *zbud, uint64_t handle)
{
	uint32_t id = (uint32_t)(handle >> 1);
	struct zbud_page *page = &zbud->records[id];

	zbud->objects--;
	if (page->evicted) {
		page->chunks[handle & 1] = 0;
		return;
	}
	unlink_room(zbud, id);
	page->chunks[handle & 1] = 0;
	if (has_one_object(page)) {
		link_room(zbud, id);
		return;
	}
	unlink_age(zbud, id);
	free_page(zbud, id);
}

bool zbud_object(const struct zbud *zbud, uint32_t page, int which, uint32_t *slot)
{
	*slot = zbud->records[page].slot[which];
	return zbud->records[page].chunks[which];
}

/* ---------------------------------------------------------------------------------------- eviction */

uint32_t zbud_take_oldest(struct zbud *zbud)
{
	uint32_t id = zbud->records[0].prev;

	if (!id)
		return 0;
	unlink_room(zbud, id);
	unlink_age(zbud, id);
	zbud->records[id].evicted = true;
	return id;
}

bool zbud_put_back(struct zbud *zbud, uint32_t id)
{
	struct zbud_page *page = &zbud->records[id];

	page->evicted = false;
	if (!page->chunks[0] && !page->chunks[1]) {
		free_page(zbud, id);
		return true;
	}
	if (has_one_object(page))
		link_room(zbud, id);
	make_youngest(zbud, id);
	return false;
}

void zbud_regions(const struct zbud *zbud, struct regions *regions)
{
	if (zbud->records)
		regions_add(regions, zbud->records, zbud->used * sizeof(*zbud->records));
}
