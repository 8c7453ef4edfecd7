/* SPDX-License-Identifier: MIT */
/*
 * For tests: zbud as an array of pages that is searched from one end to the other. When a page was last given an
 * object, and when it last came to have one object, are numbers; the lists of zbud.h follow from them.
 */
#ifndef REPLAYER_TEST_ZBUD_H
#define REPLAYER_TEST_ZBUD_H

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_PAGES = 2048 };

struct naive_zbud {
	uint64_t clock;
	unsigned header;
	struct {
		unsigned chunks[2], slot[2];
		uint64_t used, single; /* larger = later */
	} pages[NAIVE_PAGES];
};

static inline bool naive_is_free(const struct naive_zbud *z, int page)
{
	return !z->pages[page].chunks[0] && !z->pages[page].chunks[1];
}

static inline uint64_t naive_zbud_pages(const struct naive_zbud *z)
{
	uint64_t n = 0;

	for (int i = 0; i < NAIVE_PAGES; i++)
		n += !naive_is_free(z, i);
	return n;
}

/* Of 64 chunks of 64 bytes the page's head has one. */
static inline unsigned naive_room(const struct naive_zbud *z, int page)
{
	return 63 - z->pages[page].chunks[0] - z->pages[page].chunks[1];
}

static inline int naive_zbud_alloc(struct naive_zbud *z, unsigned len, unsigned slot)
{
	unsigned chunks = (len + z->header + 63) / 64;
	int best = -1, which;

	for (int i = 0; i < NAIVE_PAGES; i++) {
		bool single = !z->pages[i].chunks[0] != !z->pages[i].chunks[1];

		if (!single || naive_room(z, i) < chunks)
			continue;
		if (best < 0 || naive_room(z, i) < naive_room(z, best) ||
		    (naive_room(z, i) == naive_room(z, best) &&
		     z->pages[i].single > z->pages[best].single))
			best = i;
	}
	for (int i = 0; best < 0; i++)
		if (naive_is_free(z, i))
			best = i;
	which = z->pages[best].chunks[0] != 0;
	z->pages[best].chunks[which] = chunks;
	z->pages[best].slot[which] = slot;
	z->pages[best].used = z->pages[best].single = ++z->clock;
	return 2 * best + which;
}

static inline void naive_zbud_free(struct naive_zbud *z, int handle)
{
	z->pages[handle / 2].chunks[handle % 2] = 0;
	z->pages[handle / 2].single = ++z->clock;
}

/* -1: there is none. */
static inline int naive_zbud_oldest(const struct naive_zbud *z)
{
	int oldest = -1;

	for (int i = 0; i < NAIVE_PAGES; i++)
		if (!naive_is_free(z, i) && (oldest < 0 || z->pages[i].used < z->pages[oldest].used))
			oldest = i;
	return oldest;
}

static inline void naive_zbud_put_back(struct naive_zbud *z, int page)
{
	z->pages[page].used = z->pages[page].single = ++z->clock;
}

#endif
