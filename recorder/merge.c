/* SPDX-License-Identifier: MIT */
/* Records of many CPUs into one order of time; see merge.h. */
#include "recorder/merge.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = REC_MERGE_MOST };

struct queue {
	struct rec_raw *records;
	uint32_t head, n, room; /* records [head, n) wait */
	uint64_t last_ns;
};

struct rec_merge {
	struct queue *queues;
	uint32_t *heap; /* queues with waiting records, the earliest first */
	uint32_t n_queues, n_heap, most;
	uint64_t behind_ns; /* later records have to wait */
};

struct rec_merge *rec_merge_new(uint32_t cpus, uint32_t most)
{
	struct rec_merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return NULL;
	merge->queues = calloc(cpus, sizeof(*merge->queues));
	merge->heap = calloc(cpus, sizeof(*merge->heap));
	merge->n_queues = cpus;
	merge->most = most ? most : UINT32_MAX;
	merge->behind_ns = UINT64_MAX;
	if (merge->queues && merge->heap)
		return merge;
	rec_merge_free(merge);
	return NULL;
}

void rec_merge_free(struct rec_merge *merge)
{
	if (!merge)
		return;
	for (uint32_t i = 0; merge->queues && i < merge->n_queues; i++)
		free(merge->queues[i].records);
	free(merge->queues);
	free(merge->heap);
	free(merge);
}

/* So that a queue grows with what waits, not with what passed. */
static void close_up(struct queue *queue)
{
	queue->n -= queue->head;
	if (queue->n && queue->head)
		memmove(queue->records, queue->records + queue->head,
			queue->n * sizeof(*queue->records));
	queue->head = 0;
}

void rec_merge_begin(struct rec_merge *merge)
{
	for (uint32_t i = 0; i < merge->n_queues; i++)
		close_up(&merge->queues[i]);
	merge->behind_ns = UINT64_MAX;
}

uint64_t rec_merge_time(struct rec_merge *merge, uint32_t cpu, uint64_t time_ns)
{
	struct queue *queue = &merge->queues[cpu];

	if (time_ns > queue->last_ns)
		queue->last_ns = time_ns;
	return queue->last_ns;
}

bool rec_merge_full(const struct rec_merge *merge, uint32_t cpu)
{
	return merge->queues[cpu].n >= merge->most;
}

void rec_merge_behind(struct rec_merge *merge, uint32_t cpu)
{
	uint64_t last_ns = merge->queues[cpu].last_ns;

	if (last_ns < merge->behind_ns)
		merge->behind_ns = last_ns;
}

static bool make_room(struct queue *queue)
{
	uint32_t room = queue->room ? queue->room * 2 : FIRST_ROOM;
	struct rec_raw *records;

	if (queue->n < queue->room)
		return true;
	records = realloc(queue->records, room * sizeof(*records));
	if (!records)
		return false;
	queue->records = records;
	queue->room = room;
	return true;
}

bool rec_merge_push(struct rec_merge *merge, uint32_t cpu, struct rec_raw *raw)
{
	struct queue *queue = &merge->queues[cpu];

	if (!make_room(queue))
		return false;
	raw->time_ns = queue->last_ns;
	queue->records[queue->n++] = *raw;
	return true;
}

/* ---------------------------------------------------------------------------------------- order */

static uint64_t head_ns(const struct rec_merge *merge, uint32_t at)
{
	const struct queue *queue = &merge->queues[merge->heap[at]];

	return queue->records[queue->head].time_ns;
}

static void sift_down(struct rec_merge *merge, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1, queue = merge->heap[at];

		if (child >= merge->n_heap)
			return;
		if (child + 1 < merge->n_heap && head_ns(merge, child + 1) < head_ns(merge, child))
			child++;
		if (head_ns(merge, at) <= head_ns(merge, child))
			return;
		merge->heap[at] = merge->heap[child];
		merge->heap[child] = queue;
		at = child;
	}
}

void rec_merge_end(struct rec_merge *merge)
{
	merge->n_heap = 0;
	for (uint32_t i = 0; i < merge->n_queues; i++)
		if (merge->queues[i].head < merge->queues[i].n)
			merge->heap[merge->n_heap++] = i;
	for (uint32_t i = merge->n_heap / 2; i-- > 0;)
		sift_down(merge, i);
}

bool rec_merge_next(struct rec_merge *merge, uint64_t until_ns, struct rec_raw *raw)
{
	struct queue *queue;
	uint64_t time_ns;

	if (!merge->n_heap)
		return false;
	time_ns = head_ns(merge, 0);
	if (time_ns >= until_ns || time_ns > merge->behind_ns)
		return false;
	queue = &merge->queues[merge->heap[0]];
	*raw = queue->records[queue->head++];
	if (queue->head == queue->n)
		merge->heap[0] = merge->heap[--merge->n_heap];
	sift_down(merge, 0);
	return true;
}

uint64_t rec_merge_reached(const struct rec_merge *merge, uint64_t until_ns)
{
	return until_ns < merge->behind_ns ? until_ns : merge->behind_ns;
}
