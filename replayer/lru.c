/* SPDX-License-Identifier: MIT */
/* The lists of lru.h. */
#include "replayer/lru.h"

#include <assert.h>
#include <string.h>

#include "replayer/pages.h"
#include "replayer/replayer.h"

static_assert(sizeof(struct slot) == 16, "a slot is 16 bytes");

enum { PREFETCH = 12 }; /* references ahead, in a compaction */

/* A place in a list, on the way from head to tail. */
struct cursor {
	uint32_t chunk, at;
};

enum zr_err lru_init(struct lru *lru, struct slot *slots, uint32_t n_slots, uint32_t n_lists)
{
	void *lists, *refs, *next;
	enum zr_err err;

	/* All lengths sum up to at most 2 * slots + SLACK * lists; a list wastes less than a chunk at
	 * either end. */
	uint64_t chunks =
		2 * (uint64_t)n_slots / LRU_CHUNK + (LRU_SLACK / LRU_CHUNK + 2) * (uint64_t)n_lists + 2;

	memset(lru, 0, sizeof(*lru));
	lru->slots = slots;
	lru->n_lists = n_lists;
	lru->chunks = (uint32_t)chunks;
	lru->used = 1;
	err = pages_new(n_lists, sizeof(*lru->lists), "the LRU lists", &lists);
	lru->lists = lists;
	if (!err) {
		err = pages_new(chunks, LRU_CHUNK * sizeof(*lru->refs), "the LRU entries", &refs);
		lru->refs = refs;
	}
	if (!err) {
		err = pages_new(chunks, sizeof(*lru->next), "the LRU chunks", &next);
		lru->next = next;
	}
	return err;
}

void lru_fini(struct lru *lru)
{
	pages_free(lru->lists, lru->n_lists, sizeof(*lru->lists));
	pages_free(lru->refs, lru->chunks, LRU_CHUNK * sizeof(*lru->refs));
	pages_free(lru->next, lru->chunks, sizeof(*lru->next));
	memset(lru, 0, sizeof(*lru));
}

static struct lru_ref *ref_at(const struct lru *lru, uint32_t chunk, uint32_t at)
{
	return &lru->refs[(size_t)chunk * LRU_CHUNK + at];
}

static bool is_live(const struct lru *lru, uint16_t memcg, const struct lru_ref *ref)
{
	const struct slot *slot = &lru->slots[ref->slot];

	return slot->state == SIM_SLOT_ZSWAP && slot->seq == ref->seq && slot->memcg == memcg;
}

static uint32_t take_chunk(struct lru *lru)
{
	uint32_t chunk = lru->free;

	if (chunk) {
		lru->free = lru->next[chunk];
	} else {
		assert(lru->used < lru->chunks);
		chunk = lru->used++;
	}
	lru->next[chunk] = 0;
	return chunk;
}

/* Gives back the chunks from `chunk` to the end of its chain. */
static void give_chunks(struct lru *lru, uint32_t chunk)
{
	while (chunk) {
		uint32_t next = lru->next[chunk];

		lru->next[chunk] = lru->free;
		lru->free = chunk;
		chunk = next;
	}
}

static void make_empty(struct lru *lru, struct lru_list *list)
{
	give_chunks(lru, list->head_chunk);
	list->head_chunk = list->tail_chunk = 0;
	list->head_at = list->tail_at = 0;
	list->length = 0;
}

/* The cursor's reference; moves on. A chunk's end is crossed only when there is something behind it. */
static struct lru_ref *step(const struct lru *lru, struct cursor *cursor)
{
	if (cursor->at == LRU_CHUNK) {
		cursor->chunk = lru->next[cursor->chunk];
		cursor->at = 0;
	}
	return ref_at(lru, cursor->chunk, cursor->at++);
}

/* Those of `n` references that are live. Without a branch on what cannot be foreseen: half of them are stale. */
static uint32_t gather_live(const struct lru *lru, uint16_t memcg, const struct lru_ref *refs,
			    uint32_t n, struct lru_ref out[LRU_CHUNK])
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct slot *slot = &lru->slots[refs[i].slot];

		if (i + PREFETCH < n)
			__builtin_prefetch(&lru->slots[refs[i + PREFETCH].slot]);
		out[kept] = refs[i];
		kept += (slot->state == SIM_SLOT_ZSWAP) & (slot->seq == refs[i].seq) &
			(slot->memcg == memcg);
	}
	return kept;
}

static void write_refs(struct lru *lru, struct cursor *to, const struct lru_ref *refs, uint32_t n)
{
	while (n) {
		struct lru_ref *at = step(lru, to);
		uint32_t run = LRU_CHUNK - to->at + 1;

		run = run < n ? run : n;
		memcpy(at, refs, run * sizeof(*refs));
		to->at += run - 1;
		refs += run;
		n -= run;
	}
}

static void compact(struct lru *lru, uint16_t memcg)
{
	struct lru_list *list = &lru->lists[memcg];
	struct cursor from = { list->head_chunk, list->head_at };
	struct cursor to = from;
	struct lru_ref live[LRU_CHUNK];
	uint32_t kept = 0;

	if (!list->live) {
		make_empty(lru, list);
		return;
	}
	for (uint32_t left = list->length, n; left; left -= n) {
		const struct lru_ref *refs = step(lru, &from);
		uint32_t found;

		n = LRU_CHUNK - from.at + 1;
		n = n < left ? n : left;
		from.at += n - 1;
		found = gather_live(lru, memcg, refs, n, live);
		write_refs(lru, &to, live, found); /* never beyond what has been read */
		kept += found;
	}
	assert(kept == list->live);
	give_chunks(lru, lru->next[to.chunk]);
	lru->next[to.chunk] = 0;
	list->tail_chunk = to.chunk;
	list->tail_at = to.at;
	list->length = kept;
}

static void keep_short(struct lru *lru, uint16_t memcg)
{
	const struct lru_list *list = &lru->lists[memcg];

	if (list->length > 2 * (uint64_t)list->live + LRU_SLACK)
		compact(lru, memcg);
}

static void add_chunk(struct lru *lru, struct lru_list *list)
{
	uint32_t chunk = take_chunk(lru);

	if (list->tail_chunk)
		lru->next[list->tail_chunk] = chunk;
	else
		list->head_chunk = chunk;
	list->tail_chunk = chunk;
	list->tail_at = 0;
}

void lru_append(struct lru *lru, uint16_t memcg, uint32_t slot)
{
	struct lru_list *list = &lru->lists[memcg];

	if (!list->tail_chunk || list->tail_at == LRU_CHUNK)
		add_chunk(lru, list);
	lru->slots[slot].seq = list->next_seq++;
	*ref_at(lru, list->tail_chunk, list->tail_at++) =
		(struct lru_ref){ .slot = slot, .seq = lru->slots[slot].seq };
	list->length++;
	list->live++;
}

/* Drops the first reference, live or stale. */
static void drop_head(struct lru *lru, struct lru_list *list)
{
	uint32_t chunk = list->head_chunk;

	list->length--;
	if (++list->head_at < LRU_CHUNK)
		return;
	if (chunk == list->tail_chunk) {
		make_empty(lru, list);
		return;
	}
	list->head_chunk = lru->next[chunk];
	list->head_at = 0;
	lru->next[chunk] = 0;
	give_chunks(lru, chunk);
}

bool lru_peek(struct lru *lru, uint16_t memcg, struct lru_ref *out)
{
	struct lru_list *list = &lru->lists[memcg];

	if (!list->live)
		return false;
	for (;;) {
		*out = *ref_at(lru, list->head_chunk, list->head_at);
		if (is_live(lru, memcg, out))
			return true;
		drop_head(lru, list);
	}
}

bool lru_pop(struct lru *lru, uint16_t memcg, uint32_t *slot)
{
	struct lru_list *list = &lru->lists[memcg];
	struct lru_ref ref;

	if (!lru_peek(lru, memcg, &ref))
		return false;
	drop_head(lru, list);
	list->live--;
	*slot = ref.slot;
	keep_short(lru, memcg);
	return true;
}

void lru_dropped(struct lru *lru, uint16_t memcg)
{
	lru->lists[memcg].live--;
	keep_short(lru, memcg);
}

uint32_t lru_read(const struct lru *lru, uint16_t memcg, uint32_t *slots, uint32_t room)
{
	const struct lru_list *list = &lru->lists[memcg];
	struct cursor cursor = { list->head_chunk, list->head_at };
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->length && n < room; i++) {
		const struct lru_ref *ref = step(lru, &cursor);

		if (is_live(lru, memcg, ref))
			slots[n++] = ref->slot;
	}
	return n;
}

/* Chunks that were never used hold nothing, and `next` of one that is taken is set then. */
void lru_regions(const struct lru *lru, struct regions *regions)
{
	regions_add(regions, lru->lists, lru->n_lists * sizeof(*lru->lists));
	regions_add(regions, lru->refs, (size_t)lru->used * LRU_CHUNK * sizeof(*lru->refs));
	regions_add(regions, lru->next, lru->used * sizeof(*lru->next));
}
