/* SPDX-License-Identifier: MIT */
/*
 * Pool pages as zsmalloc would use them: size classes, and which zspage each live object is in.
 *
 * Only the accounting is here, no memory: an object is the number of the zspage that holds it. That is
 * enough, because the page count depends on how many objects each zspage holds and on which zspage the
 * next object goes to, not on the place inside.
 *
 * Rules (Linux 6.12 to 7.3, chain of 8 pages): an object takes its payload and an 8-byte handle. Class
 * sizes rise from 32 bytes in steps of 1/256 page up to a page; a payload that does not fit with its
 * handle even there shares the last class. A zspage has one page if the class size is a power of two,
 * else the k of 1..8 that leaves the smallest (k pages modulo class size), the smallest such k. Classes
 * with the same pages and objects a zspage are one: the largest. An object goes to the fullest zspage
 * with room: twelve groups by percent in use (0, below 10, ... below 100, full), newest first inside a
 * group; a zspage joins the front of a group when it enters it. The last object to leave frees it.
 *
 * Linux 6.1 (chain of 4 pages): the k of 1..4 with the most percent in use, whole ones, the smallest such k; also for
 * powers of two. Three groups below full: empty, up to three quarters in use, above; and a zspage that joins a group whose
 * first one has more objects goes behind that.
 *
 * Layout: one 12-byte record a zspage, doubly linked by index inside its group, free records chained;
 * 12 list heads a class. Invariant: pool pages = sum over zspages of their class's pages.
 * What a group is found by is worked out beforehand: the group of each number of objects in use (no division an
 * event), and a bit for each group that is not empty.
 * Cost: O(1); an allocation touches the class and one zspage (and a neighbour when the group changes),
 * a free one zspage and at most two neighbours. At a compression ratio of 3 there are about ten times
 * fewer zspages than pages, so their records stay in the cache long after the slots have left it.
 */
#ifndef REPLAYER_ZSMALLOC_H
#define REPLAYER_ZSMALLOC_H

#include <stdint.h>

#include "replayer/snapshot.h"

enum { ZS_CLASSES = 255, ZS_GROUPS = 12, ZS_GROUP_FULL = ZS_GROUPS - 1 };

/* Linux up to 6.2, and since. */
enum zs_chain { ZS_CHAIN_4 = 4, ZS_CHAIN_8 = 8 };

struct zs_class {
	uint32_t head[ZS_GROUPS]; /* first zspage of each group; 0 = none */
	uint32_t with_room;	  /* bit 1 << group: there is one, in the groups that have room */
	uint32_t first_group; /* where its groups by objects in use begin, in the pool's table */
	uint32_t size;
	uint16_t objects; /* a zspage */
	uint16_t pages;
};

struct zs_page {
	uint32_t next, prev;
	uint16_t in_use;
	uint8_t class;
	uint8_t group;
};

struct zs_pool {
	uint64_t pages;	  /* allocated */
	uint64_t objects; /* live */
	uint32_t page_size, class_shift; /* classes are 1 << class_shift bytes apart */
	enum zs_chain chain;
	uint32_t free, used; /* chain of free records; records ever used (record 0 is "none") */
	uint32_t capacity;
	struct zs_page *zspages;
	uint8_t *groups; /* of a zspage, by its class and how many objects are in use */
	uint32_t n_groups;
	uint8_t merged[ZS_CLASSES]; /* class index -> the class that serves it */
	struct zs_class classes[ZS_CLASSES];
};

/* Room for `objects_max` live objects. A store over an old entry has both for a moment. */
enum zr_err zs_pool_init(struct zs_pool *pool, uint32_t page_size, enum zs_chain chain,
			 uint32_t objects_max);
void zs_pool_fini(struct zs_pool *pool);

/* The zspage that took an object of `len` payload bytes (1..page size). */
uint32_t zs_alloc(struct zs_pool *pool, uint32_t len);
void zs_free(struct zs_pool *pool, uint32_t zspage);

/* What the zspages' state is in, but for the pool itself. */
void zs_pool_regions(const struct zs_pool *pool, struct regions *regions);

/* The class that serves a payload. */
const struct zs_class *zs_class_of(const struct zs_pool *pool, uint32_t len);

#endif
