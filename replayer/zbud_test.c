/* SPDX-License-Identifier: MIT */
/* zbud accounting against the naive one of test_zbud.h, and its rules one by one. */
#include "replayer/test_events.h"

#include <stdlib.h>

#include "replayer/test_zbud.h"
#include "replayer/zbud.h"

enum { OBJECTS = 2000, HEADER = 8 };

static struct zbud new_zbud(uint32_t header)
{
	struct zbud zbud;

	assert_int_equal(zbud_init(&zbud, 4096, header, OBJECTS), ZR_OK);
	return zbud;
}

static void the_longest_payload_leaves_a_chunk_beside_the_page_head(void **state)
{
	struct zbud with = new_zbud(HEADER), without = new_zbud(0), large;

	(void)state;
	assert_int_equal(zbud_len_max(&with), 4096 - 64 - 64 - 8);
	assert_int_equal(zbud_len_max(&without), 4096 - 64 - 64);
	assert_int_equal(zbud_init(&large, 65536, HEADER, 1), ZR_OK);
	assert_int_equal(zbud_len_max(&large), 65536 - 1024 - 1024 - 8);
	zbud_fini(&with);
	zbud_fini(&without);
	zbud_fini(&large);
}

static void two_halves_share_a_page_and_three_thirds_do_not(void **state)
{
	struct zbud zbud = new_zbud(HEADER);

	(void)state;
	zbud_alloc(&zbud, 31 * 64 - 8, 1);
	zbud_alloc(&zbud, 32 * 64 - 8, 2); /* 63 chunks: full */
	assert_int_equal(zbud.pages, 1);
	zbud_alloc(&zbud, 1200, 3);
	zbud_alloc(&zbud, 1200, 4);
	zbud_alloc(&zbud, 1200, 5);
	assert_int_equal(zbud.pages, 3);
	assert_int_equal(zbud.objects, 5);
	zbud_fini(&zbud);
}

static void a_new_object_makes_its_old_neighbours_page_the_youngest(void **state)
{
	struct zbud zbud = new_zbud(HEADER);
	uint32_t slot, page;

	(void)state;
	zbud_alloc(&zbud, 1000, 1);
	zbud_alloc(&zbud, 3900, 2);
	zbud_alloc(&zbud, 1000, 3); /* beside 1 */
	page = zbud_take_oldest(&zbud);
	assert_true(zbud_object(&zbud, page, 0, &slot) && slot == 2);
	assert_false(zbud_object(&zbud, page, 1, &slot));
	zbud_fini(&zbud);
}

static void an_empty_pool_has_no_oldest_page(void **state)
{
	struct zbud zbud = new_zbud(HEADER);
	uint64_t handle;

	(void)state;
	assert_int_equal(zbud_take_oldest(&zbud), 0);
	handle = zbud_alloc(&zbud, 100, 1);
	zbud_free(&zbud, handle);
	assert_int_equal(zbud_take_oldest(&zbud), 0);
	assert_int_equal(zbud.pages, 0);
	zbud_fini(&zbud);
}

struct object {
	uint64_t real;
	int naive;
	uint32_t slot;
};

struct race {
	struct zbud zbud;
	struct naive_zbud *naive;
	struct object live[OBJECTS];
	uint32_t n, next_slot;
};

static void remove_at(struct race *race, uint32_t i)
{
	zbud_free(&race->zbud, race->live[i].real);
	naive_zbud_free(race->naive, race->live[i].naive);
	race->live[i] = race->live[--race->n];
}

static void remove_slot(struct race *race, uint32_t slot)
{
	uint32_t i = 0;

	while (race->live[i].slot != slot)
		i++;
	remove_at(race, i);
}

/* The pages must be the same ones; how many of the objects then go is a matter of chance. */
static void evict(struct race *race, uint64_t *random)
{
	uint32_t page = zbud_take_oldest(&race->zbud), slot;
	int oldest = naive_zbud_oldest(race->naive);
	uint64_t before = naive_zbud_pages(race->naive);

	assert_true(page && oldest >= 0);
	for (int which = 0; which < 2; which++) {
		bool there = race->naive->pages[oldest].chunks[which] != 0;

		assert_int_equal(zbud_object(&race->zbud, page, which, &slot), there);
		if (!there)
			continue;
		assert_int_equal(slot, race->naive->pages[oldest].slot[which]);
		if (random_below(random, 4) == 0)
			break;
		remove_slot(race, slot);
		assert_int_equal(race->zbud.pages, before);
	}
	naive_zbud_put_back(race->naive, oldest);
	assert_int_equal(zbud_put_back(&race->zbud, page), naive_is_free(race->naive, oldest));
}

static void step(struct race *race, uint64_t *random, uint32_t fill)
{
	uint32_t slot = race->next_slot++;
	unsigned len = 1 + random_below(random, zbud_len_max(&race->zbud));

	if (race->n < OBJECTS && (!race->n || random_below(random, 100) < fill)) {
		race->live[race->n++] = (struct object){ zbud_alloc(&race->zbud, len, slot),
							 naive_zbud_alloc(race->naive, len, slot), slot };
	} else if (random_below(random, 4) == 0) {
		evict(race, random);
	} else {
		remove_at(race, random_below(random, race->n));
	}
	assert_int_equal(race->zbud.pages, naive_zbud_pages(race->naive));
	assert_int_equal(race->zbud.objects, race->n);
}

static void pages_and_evictions_agree_with_the_naive_model(void **state)
{
	struct race *race = calloc(1, sizeof(*race));
	uint64_t random = 4711;

	(void)state;
	assert_non_null(race);
	race->naive = calloc(1, sizeof(*race->naive));
	assert_non_null(race->naive);
	race->zbud = new_zbud(HEADER);
	race->naive->header = HEADER;
	for (int i = 0; i < 6000; i++)
		step(race, &random, i / 1000 % 2 ? 35 : 65);
	while (race->n)
		remove_at(race, 0);
	assert_int_equal(race->zbud.pages, 0);
	zbud_fini(&race->zbud);
	free(race->naive);
	free(race);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_payload_leaves_a_chunk_beside_the_page_head),
		cmocka_unit_test(two_halves_share_a_page_and_three_thirds_do_not),
		cmocka_unit_test(a_new_object_makes_its_old_neighbours_page_the_youngest),
		cmocka_unit_test(an_empty_pool_has_no_oldest_page),
		cmocka_unit_test(pages_and_evictions_agree_with_the_naive_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
