/* SPDX-License-Identifier: MIT */
/* The translation of lengths: what must hold of any such table. */
#include "replayer/test_events.h"

#include <string.h>

#include "replayer/lengths.h"

enum { COMPRESSORS = 5 };

static void compressors_are_known_by_the_kernels_names_and_by_level(void **state)
{
	(void)state;
	assert_int_equal(lengths_compressor("zstd"), lengths_compressor("zstd:3"));
	assert_int_equal(lengths_compressor("lzo"), lengths_compressor("lzo-rle"));
	assert_true(lengths_compressor("zstd") >= 0 && lengths_compressor("lzo") >= 0);
	assert_int_equal(lengths_compressor("zstd:2"), -1);
	assert_int_equal(lengths_compressor("deflate"), -1);
	assert_int_equal(lengths_compressor(""), -1);
	for (int c = 0; c < COMPRESSORS; c++)
		assert_int_equal(lengths_compressor(lengths_name(c)), c);
	assert_null(lengths_name(COMPRESSORS));
}

static void a_longer_page_stays_longer(void **state)
{
	uint16_t map[LENGTHS_PAGE + 1];

	(void)state;
	for (int pair = 0; pair < COMPRESSORS * COMPRESSORS; pair++) {
		lengths_map(pair / COMPRESSORS, pair % COMPRESSORS, map);
		assert_int_equal(map[0], 0);
		for (int n = 1; n <= LENGTHS_PAGE; n++)
			assert_true(map[n] >= 1 && map[n] >= map[n - 1] && map[n] <= LENGTHS_PAGE);
	}
}

/* But for the ends, where many lengths of the one are one of the other. */
static void there_and_back_is_the_same_length(void **state)
{
	uint16_t there[LENGTHS_PAGE + 1], back[LENGTHS_PAGE + 1];

	(void)state;
	for (int pair = 0; pair < COMPRESSORS * COMPRESSORS; pair++) {
		lengths_map(pair / COMPRESSORS, pair % COMPRESSORS, there);
		lengths_map(pair % COMPRESSORS, pair / COMPRESSORS, back);
		for (int n = 100; n <= 2000; n++)
			assert_in_range(back[there[n]] + 8, n, n + 16);
	}
}

static void a_fast_compressor_makes_longer_pages(void **state)
{
	uint16_t map[LENGTHS_PAGE + 1];

	(void)state;
	lengths_map(lengths_compressor("zstd"), lengths_compressor("lz4"), map);
	for (int n = 100; n <= LENGTHS_PAGE; n++)
		assert_true(map[n] >= n);
	assert_int_equal(map[LENGTHS_PAGE], LENGTHS_PAGE);
	lengths_map(lengths_compressor("zstd"), lengths_compressor("zstd:9"), map);
	for (int n = 1; n < LENGTHS_PAGE; n++)
		assert_true(map[n] <= n + 1); /* by one byte at one place, as measured */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compressors_are_known_by_the_kernels_names_and_by_level),
		cmocka_unit_test(a_longer_page_stays_longer),
		cmocka_unit_test(there_and_back_is_the_same_length),
		cmocka_unit_test(a_fast_compressor_makes_longer_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
