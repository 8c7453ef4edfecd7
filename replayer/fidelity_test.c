/* SPDX-License-Identifier: MIT */
/* The order of writes is compared as the definition of a longest common subsequence has it. */
#include "replayer/test_events.h"

#include <stdlib.h>

#include "replayer/fidelity.h"

enum { WRITES_MAX = 60 };

struct list {
	struct fidelity_writes writes; /* first */
	uint64_t pages[WRITES_MAX];
};

static void fill(struct list *list, uint64_t *random, uint32_t n, uint32_t pages)
{
	list->writes = (struct fidelity_writes){ .pages = list->pages, .n = n };
	for (uint32_t i = 0; i < n; i++)
		list->pages[i] = (uint64_t)random_below(random, 2) << 32 |
				 random_below(random, pages);
}

/* Row by row, from the definition. */
static uint32_t naive(const struct list *a, const struct list *b)
{
	uint32_t rows[WRITES_MAX + 1][WRITES_MAX + 1] = { 0 };

	for (uint32_t i = 1; i <= a->writes.n; i++)
		for (uint32_t j = 1; j <= b->writes.n; j++) {
			uint32_t above = rows[i - 1][j], left = rows[i][j - 1];

			if (a->pages[i - 1] == b->pages[j - 1])
				rows[i][j] = rows[i - 1][j - 1] + 1;
			else
				rows[i][j] = above > left ? above : left;
		}
	return rows[a->writes.n][b->writes.n];
}

static void order_is_compared_as_the_definition_has_it(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t pages = 1 + random_below(&random, 80), same;
		struct list a, b;

		fill(&a, &random, random_below(&random, WRITES_MAX + 1), pages);
		fill(&b, &random, random_below(&random, WRITES_MAX + 1), pages);
		assert_int_equal(fidelity_same_in_order(&a.writes, &b.writes, &same), ZR_OK);
		assert_int_equal(same, naive(&a, &b));
	}
}

static void policy_that_is_none_is_refused(void **state)
{
	struct fidelity fidelity;
	struct db *db;

	(void)state;
	assert_int_equal(db_open("traces/touch.zr", DB_READ, &db), ZR_OK);
	assert_int_equal(fidelity_compare(db, "nonesuch", &fidelity), ZR_BAD_POLICY);
	fidelity_fini(&fidelity);
	zr_error_clear();
	assert_int_equal(db_close(db), ZR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_compared_as_the_definition_has_it),
		cmocka_unit_test(policy_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
