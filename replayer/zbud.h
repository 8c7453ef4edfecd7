/* SPDX-License-Identifier: MIT */
/*
 * Pool pages as zbud would use them: at most two objects a page, and which page is evicted next.
 *
 * zbud was zswap's allocator by default up to Linux 6.6, and up to 6.4 it was the allocator that chose what to evict:
 * not an entry but one of its pages, with whatever two entries share it. Only the accounting is here, no memory.
 *
 * Rules (Linux 6.1): a page is 64 chunks, one of them its header. An object takes whole chunks, the first of a page
 * from its front, the second from its back; one that leaves no chunk free beside it is refused. A new object goes to
 * a page with one object and room for it, the one with the least room, of several the one that became so last; else
 * to a new page. That page becomes the youngest, whatever its other object's age. The page that lost its last object
 * is freed. Eviction takes the oldest page off all lists, tries its objects in turn, the first failure ends it; if
 * one is left the page comes back as the youngest.
 *
 *   record  next prev (age) | next prev (of the pages with so much room) | slot slot | chunks chunks    28 bytes
 *   age     a ring through record 0: its next is the youngest, its prev the oldest
 *   room    a list head for each number of free chunks
 *   handle  page * 2 + (0 = its first object, 1 = its last)
 *
 * Invariant: a page is in a list of `room` if it has one object and is not being evicted. Cost: O(1) a free, a look at
 * up to 63 list heads (a bit each, in one word) a store; two or three random accesses each.
 */
#ifndef REPLAYER_ZBUD_H
#define REPLAYER_ZBUD_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/snapshot.h"

enum { ZBUD_CHUNKS = 63 }; /* of a page that objects can take */

struct zbud_page {
	uint32_t next, prev;
	uint32_t next_room, prev_room;
	uint32_t slot[2];
	uint8_t chunks[2]; /* 0: there is no such object */
	bool evicted;	   /* is being so */
};

struct zbud {
	uint64_t pages, objects;
	uint32_t chunk_bytes, header_bytes;
	uint32_t free, used, capacity; /* chain of free records; records ever used (0 is the ring's); room */
	uint64_t with_room;	       /* bit 1 << free chunks: there is such a page */
	uint32_t room[ZBUD_CHUNKS + 1];
	struct zbud_page *records;
};

/* Each object has `header_bytes` before its payload (the swap entry, where the allocator evicts). */
enum zr_err zbud_init(struct zbud *zbud, uint32_t page_size, uint32_t header_bytes,
		      uint32_t objects_max);
void zbud_fini(struct zbud *zbud);

/* The longest payload that it takes. */
uint32_t zbud_len_max(const struct zbud *zbud);

/* The handle of an object of `len` payload bytes, 1 to zbud_len_max(); `slot` is told on eviction. */
uint64_t zbud_alloc(struct zbud *zbud, uint32_t len, uint32_t slot);
void zbud_free(struct zbud *zbud, uint64_t handle);

/* The oldest page leaves all lists; objects of it that are freed from now on leave it as it is. 0 = there is none. */
uint32_t zbud_take_oldest(struct zbud *zbud);

/* True when both its objects are gone and with them the page; else it is the youngest from now on. */
bool zbud_put_back(struct zbud *zbud, uint32_t page);

/* Does the page have that object (0 or 1), and of which slot? */
bool zbud_object(const struct zbud *zbud, uint32_t page, int which, uint32_t *slot);

/* What the pages' state is in, but for the pool itself. */
void zbud_regions(const struct zbud *zbud, struct regions *regions);

#endif
