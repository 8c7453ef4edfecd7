/* SPDX-License-Identifier: MIT */
/* The windows of ceilings.h. */
#include "replayer/ceilings.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/pages.h"

static const struct {
	enum play_ceiling ceiling;
	uint32_t pages;
} rows[CEILING_WINDOWS] = {
	{ PLAY_CEILING_sorted_walk, 0 },   { PLAY_CEILING_sorted_32, 32 },
	{ PLAY_CEILING_sorted_64, 64 },	   { PLAY_CEILING_sorted_128, 128 },
	{ PLAY_CEILING_sorted_256, 256 },
};

enum zr_err ceilings_init(struct ceilings *ceilings, uint32_t batch, uint32_t n_slots)
{
	memset(ceilings, 0, sizeof(*ceilings));
	ceilings->batch = batch;
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++) {
		struct ceiling_window *window = &ceilings->windows[i];
		uint32_t pages = rows[i].pages ? rows[i].pages : n_slots;
		void *keys;
		enum zr_err err = pages_new(pages, sizeof(*window->keys), "sorted writes", &keys);

		if (err)
			return err;
		window->keys = keys;
		window->pages = pages;
	}
	return ZR_OK;
}

void ceilings_fini(struct ceilings *ceilings)
{
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++)
		pages_free(ceilings->windows[i].keys, ceilings->windows[i].pages, sizeof(uint64_t));
	memset(ceilings, 0, sizeof(*ceilings));
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void count_window(const struct ceilings *ceilings, struct ceiling_window *window)
{
	uint32_t run = 0;

	if (window->n)
		qsort(window->keys, window->n, sizeof(*window->keys), compare_keys);
	for (uint32_t i = 0; i < window->n; i++) {
		bool joins = i && window->keys[i] == window->keys[i - 1] + 1 && run < ceilings->batch;

		run = joins ? run + 1 : 1;
		window->requests += !joins;
	}
	window->n = 0;
}

void ceilings_write(struct ceilings *ceilings, const struct sim_write *write)
{
	/* One apart from the next area's and memcg's, so that no run reaches across. */
	uint64_t key = (uint64_t)write->memcg << 48 | (uint64_t)write->area << 36 | write->recorded_slot;

	for (uint32_t i = 0; i < CEILING_WINDOWS; i++) {
		struct ceiling_window *window = &ceilings->windows[i];

		window->keys[window->n++] = key;
		if (window->n == window->pages)
			count_window(ceilings, window);
	}
}

void ceilings_walk_end(struct ceilings *ceilings)
{
	count_window(ceilings, &ceilings->windows[0]);
}

void ceilings_now(const struct ceilings *ceilings, uint64_t requests[PLAY_CEILING_COUNT])
{
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++)
		requests[rows[i].ceiling] = ceilings->windows[i].requests;
}

void ceilings_finish(struct ceilings *ceilings, uint64_t requests[PLAY_CEILING_COUNT])
{
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++)
		count_window(ceilings, &ceilings->windows[i]);
	ceilings_now(ceilings, requests);
}

void ceilings_regions(const struct ceilings *ceilings, struct regions *regions)
{
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++)
		regions_add(regions, ceilings->windows[i].keys,
			    ceilings->windows[i].n * sizeof(uint64_t));
}
