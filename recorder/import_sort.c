/* SPDX-License-Identifier: MIT */
/* Records in order of time; see import_sort.h. */
#include "recorder/import_sort.h"

#include <stdlib.h>

static bool before(const struct rec_sort_item *a, const struct rec_sort_item *b)
{
	if (a->raw.time_ns != b->raw.time_ns)
		return a->raw.time_ns < b->raw.time_ns;
	return a->number < b->number;
}

static void sift_up(struct rec_sort_item *items, uint32_t at)
{
	struct rec_sort_item item = items[at];

	while (at && before(&item, &items[(at - 1) / 2])) {
		items[at] = items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	items[at] = item;
}

static void sift_down(struct rec_sort_item *items, uint32_t n)
{
	struct rec_sort_item item = items[0];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && before(&items[child + 1], &items[child]))
			child++;
		if (!before(&items[child], &item))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = item;
}

static enum zr_err pop(struct rec_sort *sort)
{
	struct rec_raw first = sort->items[0].raw;

	sort->items[0] = sort->items[--sort->n];
	if (sort->n)
		sift_down(sort->items, sort->n);
	return sort->fn(sort->arg, &first);
}

static enum zr_err make_room(struct rec_sort *sort)
{
	uint32_t room = sort->room ? sort->room * 2 : 1024;
	struct rec_sort_item *items;

	if (sort->n < sort->room)
		return ZR_OK;
	if (room > REC_SORT_MAX)
		return pop(sort);
	items = realloc(sort->items, room * sizeof(*items));
	if (!items)
		return zr_fail(ZR_NOMEM, "no memory to sort records by time");
	sort->items = items;
	sort->room = room;
	return ZR_OK;
}

void rec_sort_fini(struct rec_sort *sort)
{
	free(sort->items);
	sort->items = NULL;
}

enum zr_err rec_sort_add(struct rec_sort *sort, const struct rec_raw *raw)
{
	enum zr_err err = make_room(sort);

	if (err)
		return err;
	sort->items[sort->n] = (struct rec_sort_item){ *raw, sort->number++ };
	sift_up(sort->items, sort->n++);
	if (raw->time_ns > sort->latest_ns)
		sort->latest_ns = raw->time_ns;
	return ZR_OK;
}

enum zr_err rec_sort_round(struct rec_sort *sort)
{
	enum zr_err err = ZR_OK;

	while (!err && sort->n && sort->items[0].raw.time_ns <= sort->final_ns)
		err = pop(sort);
	sort->final_ns = sort->latest_ns;
	return err;
}

enum zr_err rec_sort_finish(struct rec_sort *sort)
{
	enum zr_err err = ZR_OK;

	while (!err && sort->n)
		err = pop(sort);
	return err;
}
