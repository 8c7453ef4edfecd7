/* SPDX-License-Identifier: MIT */
/* The LRU lists against arrays that are shifted, long enough that every chunk is reused many times. */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/lru.h"

enum { SLOTS = 300, LISTS = 3 };

struct rig {
	struct lru lru;
	struct slot slots[SLOTS];
	uint32_t list[LISTS][SLOTS], n[LISTS];
};

static struct rig *new_rig(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(lru_init(&rig->lru, rig->slots, SLOTS, LISTS), ZR_OK);
	return rig;
}

static void free_rig(struct rig *rig)
{
	lru_fini(&rig->lru);
	free(rig);
}

static void append(struct rig *rig, uint16_t m, uint32_t slot)
{
	rig->slots[slot].state = SIM_SLOT_ZSWAP;
	rig->slots[slot].memcg = m;
	lru_append(&rig->lru, m, slot);
	rig->list[m][rig->n[m]++] = slot;
}

static void unlist(struct rig *rig, uint16_t m, uint32_t slot)
{
	uint32_t i = 0;

	while (rig->list[m][i] != slot)
		i++;
	memmove(&rig->list[m][i], &rig->list[m][i + 1], sizeof(uint32_t) * (rig->n[m] - i - 1));
	rig->n[m]--;
}

static void drop(struct rig *rig, uint32_t slot)
{
	uint16_t m = rig->slots[slot].memcg;

	rig->slots[slot].state = SIM_SLOT_FREE;
	lru_dropped(&rig->lru, m);
	unlist(rig, m, slot);
}

static void pop(struct rig *rig, uint16_t m)
{
	struct lru_ref oldest;
	uint32_t slot;

	assert_int_equal(lru_peek(&rig->lru, m, &oldest), rig->n[m] > 0);
	assert_int_equal(lru_pop(&rig->lru, m, &slot), rig->n[m] > 0);
	if (!rig->n[m])
		return;
	assert_int_equal(slot, rig->list[m][0]);
	assert_int_equal(oldest.slot, slot);
	rig->slots[slot].state = SIM_SLOT_DISK;
	unlist(rig, m, slot);
}

static void compare(const struct rig *rig)
{
	for (uint16_t m = 0; m < LISTS; m++) {
		const struct lru_list *list = &rig->lru.lists[m];
		uint32_t read[SLOTS];

		assert_int_equal(list->live, rig->n[m]);
		assert_true(list->length <= 2 * list->live + LRU_SLACK);
		assert_int_equal(lru_read(&rig->lru, m, read, SLOTS), rig->n[m]);
		assert_memory_equal(read, rig->list[m], rig->n[m] * sizeof(uint32_t));
	}
}

/* `pops` of 100 removals come from the head; the others leave stale references behind. */
static void race_arrays(uint32_t pops, uint64_t seed)
{
	struct rig *rig = new_rig();
	uint64_t random = seed;

	for (int i = 0; i < 60000; i++) {
		uint32_t slot = random_below(&random, SLOTS);
		uint16_t m = (uint16_t)random_below(&random, LISTS);

		if (rig->slots[slot].state != SIM_SLOT_ZSWAP)
			append(rig, m, slot);
		else if (random_below(&random, 100) < pops)
			pop(rig, m);
		else
			drop(rig, slot);
		if (i % 7 == 0)
			compare(rig);
	}
	/* A chunk that was lost would have been replaced by a fresh one. */
	assert_true(rig->lru.used <= LISTS * 5 + 1);
	free_rig(rig);
}

static void lists_agree_with_arrays(void **state)
{
	(void)state;
	race_arrays(0, 1);
	race_arrays(3, 2);
	race_arrays(50, 3);
	race_arrays(100, 4);
}

static void append_and_drop(struct rig *rig, int times)
{
	while (times--) {
		append(rig, 0, 1);
		drop(rig, 1);
	}
}

/* The tail's link to chunks that a compaction gave back must not be followed when the list ends there. */
static void a_list_that_ends_at_the_end_of_a_compacted_chunk_gives_back_its_own(void **state)
{
	struct rig *rig = new_rig();

	(void)state;
	append(rig, 0, 0);
	append_and_drop(rig, LRU_SLACK + 2); /* the last one compacts: entry 0 is left */
	assert_int_equal(rig->lru.lists[0].length, 1);
	append_and_drop(rig, LRU_CHUNK - 2);
	append(rig, 0, 2);
	pop(rig, 0);
	pop(rig, 0); /* the chunk's last reference */
	compare(rig);
	/* Takes what was given back, and one chunk more. */
	append(rig, 0, 0);
	append_and_drop(rig, LRU_SLACK);
	for (uint32_t slot = 10; slot < 20; slot++)
		append(rig, 1, slot);
	compare(rig);
	free_rig(rig);
}

static void numbers_go_round_without_harm(void **state)
{
	struct rig *rig = new_rig();

	(void)state;
	rig->lru.lists[1].next_seq = UINT32_MAX - 5;
	for (uint32_t slot = 0; slot < 20; slot++)
		append(rig, 1, slot);
	drop(rig, 3);
	compare(rig);
	for (int i = 0; i < 25; i++)
		pop(rig, 1);
	compare(rig);
	free_rig(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_agree_with_arrays),
		cmocka_unit_test(a_list_that_ends_at_the_end_of_a_compacted_chunk_gives_back_its_own),
		cmocka_unit_test(numbers_go_round_without_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
