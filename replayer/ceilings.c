/* SPDX-License-Identifier: MIT */
/* The windows of ceilings.h. */
#include "replayer/ceilings.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	enum play_ceiling ceiling;
	uint32_t pages;
} rows[CEILING_WINDOWS] = {
	{ PLAY_CEILING_sorted_walk, 0 },   { PLAY_CEILING_sorted_32, 32 },
	{ PLAY_CEILING_sorted_64, 64 },	   { PLAY_CEILING_sorted_128, 128 },
	{ PLAY_CEILING_sorted_256, 256 },
};

enum { FIRST_ROOM = 256 };

enum zr_err ceilings_init(struct ceilings *ceilings, uint32_t batch)
{
	memset(ceilings, 0, sizeof(*ceilings));
	ceilings->batch = batch;
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++) {
		struct ceiling_window *window = &ceilings->windows[i];

		window->pages = rows[i].pages;
		window->room = FIRST_ROOM;
		window->keys = calloc(window->room, sizeof(*window->keys));
		if (!window->keys)
			return zr_fail(ZR_NOMEM, "making room for sorted writes: no memory");
	}
	return ZR_OK;
}

void ceilings_fini(struct ceilings *ceilings)
{
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++)
		free(ceilings->windows[i].keys);
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

static bool grow(struct ceiling_window *window)
{
	uint32_t room = 2 * window->room;
	uint64_t *keys = realloc(window->keys, room * sizeof(*keys));

	if (!keys)
		return false;
	window->keys = keys;
	window->room = room;
	return true;
}

void ceilings_write(struct ceilings *ceilings, const struct sim_write *write)
{
	/* One apart from the next area's and memcg's, so that no run reaches across. */
	uint64_t key = (uint64_t)write->memcg << 48 | (uint64_t)write->area << 36 | write->recorded_slot;

	for (uint32_t i = 0; i < CEILING_WINDOWS; i++) {
		struct ceiling_window *window = &ceilings->windows[i];

		if (window->n == window->room && !grow(window)) {
			ceilings->no_memory = true;
			return;
		}
		window->keys[window->n++] = key;
		if (window->n == window->pages)
			count_window(ceilings, window);
	}
}

void ceilings_walk_end(struct ceilings *ceilings)
{
	count_window(ceilings, &ceilings->windows[0]);
}

enum zr_err ceilings_finish(struct ceilings *ceilings, uint64_t requests[PLAY_CEILING_COUNT])
{
	if (ceilings->no_memory)
		return zr_fail(ZR_NOMEM, "sorting the pages of a walk: no memory");
	for (uint32_t i = 0; i < CEILING_WINDOWS; i++) {
		count_window(ceilings, &ceilings->windows[i]);
		requests[rows[i].ceiling] = ceilings->windows[i].requests;
	}
	return ZR_OK;
}
