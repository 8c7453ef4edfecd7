/* SPDX-License-Identifier: MIT */
/* Tests of the base: arena, histogram, checksum, zigzag, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>
#include <pthread.h>

#include "db/base/arena.h"
#include "db/base/bytes.h"
/* The source itself, so that both ways to compute can be called whatever this CPU is. */
#include "db/base/crc32c.c"
#include "db/base/err.h"
#include "db/base/hist.h"

#include <cmocka.h>

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* --------------------------------------------------------------------------------------- arena */

static void arena_gives_zeroed_aligned_pieces_that_do_not_overlap(void **state)
{
	struct zr_arena arena = { 0 };
	uint64_t random = 1;
	uint8_t *pieces[2000];
	size_t bytes[2000];

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		bytes[i] = draw(&random) % (i % 100 ? 300 : 300000);
		pieces[i] = zr_arena_alloc(&arena, bytes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		for (size_t j = 0; j < bytes[i]; j++)
			assert_int_equal(pieces[i][j], 0);
		memset(pieces[i], (int)(i % 251 + 1), bytes[i]);
	}
	for (size_t i = 0; i < 2000; i++)
		for (size_t j = 0; j < bytes[i]; j++)
			assert_int_equal(pieces[i][j], i % 251 + 1);
	zr_arena_fini(&arena);
	assert_null(arena.blocks);
}

static void arena_refuses_sizes_that_overflow(void **state)
{
	struct zr_arena arena;

	(void)state;
	zr_arena_init(&arena);
	assert_null(zr_arena_alloc(&arena, SIZE_MAX));
	assert_null(zr_arena_alloc(&arena, SIZE_MAX - 8));
	assert_null(zr_arena_array(&arena, SIZE_MAX / 4, 8));
	zr_arena_fini(&arena);
}

static void arena_text_is_a_copy(void **state)
{
	struct zr_arena arena = { 0 };
	char text[] = "slot";
	char *copy = zr_arena_text(&arena, text);

	(void)state;
	text[0] = 'p';
	assert_string_equal(copy, "slot");
	assert_null(zr_arena_text(&arena, NULL));
	zr_arena_fini(&arena);
}

/* ----------------------------------------------------------------------------------- histogram */

static void hist_bucket_of_a_value_holds_it_and_is_narrow(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t value = draw(&random) >> (i % 64), low, high;

		zr_hist_bounds(zr_hist_bucket(value), &low, &high);
		assert_true(low <= value && value <= high);
		assert_true(high - low <= value / 16);
	}
}

static void hist_buckets_cover_all_values_without_a_hole(void **state)
{
	uint64_t low, high, next = 0;

	(void)state;
	for (uint32_t bucket = 0; bucket < ZR_HIST_BUCKETS; bucket++) {
		zr_hist_bounds(bucket, &low, &high);
		assert_true(low == next);
		assert_int_equal(zr_hist_bucket(low), bucket);
		assert_int_equal(zr_hist_bucket(high), bucket);
		next = high + 1;
	}
	assert_true(high == UINT64_MAX);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void hist_quantiles_agree_with_a_sorted_array(void **state)
{
	static const double parts[] = { 0.01, 0.25, 0.5, 0.9, 0.99, 0.999 };
	enum { COUNT = 20000 };
	static uint64_t values[COUNT];
	struct zr_hist hist = { 0 }, halves[2] = { 0 };
	uint64_t random = 99;
	double sum = 0;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		values[i] = 50 + draw(&random) % 1000 * (draw(&random) % 1000);
		sum += (double)values[i];
		zr_hist_add(&hist, values[i]);
		zr_hist_add(&halves[i % 2], values[i]);
	}
	qsort(values, COUNT, sizeof(values[0]), by_value);
	zr_hist_merge(&halves[0], &halves[1]);
	assert_memory_equal(&halves[0].bucket, &hist.bucket, sizeof(hist.bucket));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double exact = (double)values[(int)(parts[i] * COUNT) - 1];
		double got = (double)zr_hist_quantile(&hist, parts[i]);

		assert_true(got >= exact * (1 - 0.033) - 1 && got <= exact * (1 + 0.033) + 1);
	}
	assert_true(hist.min == values[0] && hist.max == values[COUNT - 1]);
	assert_true(hist.count == COUNT && zr_hist_mean(&hist) == sum / COUNT);
}

static void hist_of_nothing_is_zero(void **state)
{
	struct zr_hist hist, other = { 0 };

	(void)state;
	zr_hist_init(&hist);
	zr_hist_merge(&hist, &other);
	assert_true(zr_hist_quantile(&hist, 0.5) == 0);
	assert_true(zr_hist_mean(&hist) == 0);
}

/* ------------------------------------------------------------------------------------ checksum */

/* Bit by bit, straight from the definition of a reflected CRC. */
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *p, size_t bytes)
{
	while (bytes--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static void crc32c_gives_the_published_values(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(zr_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(zr_crc32c(0, "", 0), 0);
	/* RFC 3720, appendix B.4 */
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(zr_crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(zr_crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (uint8_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	assert_int_equal(zr_crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
}

static void crc32c_is_the_same_by_table_by_cpu_and_by_bits(void **state)
{
	uint8_t bytes[300];
	uint64_t random = 3;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)draw(&random);
	for (size_t n = 0; n <= sizeof(bytes) - 7; n++) {
		const uint8_t *from = bytes + n % 7;
		uint32_t bits = crc_by_bits(~0u, from, n);

		assert_int_equal(crc_by_table(~0u, from, n), bits);
		assert_int_equal(zr_crc32c(0, from, n), ~bits);
#ifdef __x86_64__
		if (__builtin_cpu_supports("sse4.2"))
			assert_int_equal(crc_by_cpu(~0u, from, n), bits);
#endif
	}
}

static void crc32c_chains(void **state)
{
	static const char digits[] = "123456789";

	(void)state;
	for (size_t cut = 0; cut <= 9; cut++)
		assert_int_equal(zr_crc32c(zr_crc32c(0, digits, cut), digits + cut, 9 - cut),
				 0xe3069283);
}

static void zigzag_maps_small_magnitudes_to_small_numbers_and_back(void **state)
{
	static const int32_t edges[] = { 0, -1, 1, -2, 2, INT32_MAX, INT32_MIN };

	(void)state;
	assert_int_equal(zr_zigzag32(0), 0);
	assert_int_equal(zr_zigzag32(-1), 1);
	assert_int_equal(zr_zigzag32(1), 2);
	assert_int_equal(zr_zigzag32(-2), 3);
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		assert_int_equal(zr_unzigzag32(zr_zigzag32(edges[i])), edges[i]);
		assert_true(zr_unzigzag64(zr_zigzag64(edges[i])) == edges[i]);
	}
	assert_true(zr_unzigzag64(zr_zigzag64(INT64_MIN)) == INT64_MIN);
}

/* -------------------------------------------------------------------------------------- errors */

static void the_first_error_wins_until_it_is_cleared(void **state)
{
	(void)state;
	zr_error_clear();
	assert_int_equal(zr_fail(ZR_CORRUPT, "chunk %d is damaged", 7), ZR_CORRUPT);
	assert_int_equal(zr_fail(ZR_IO, "could not read"), ZR_IO);
	assert_int_equal(zr_fail_errno(ENOSPC, "could not write"), ZR_FULL);
	assert_string_equal(zr_error_text(), "chunk 7 is damaged");
	zr_error_clear();
	assert_string_equal(zr_error_text(), "");
	assert_int_equal(zr_fail_errno(ENOENT, "cannot open %s", "x"), ZR_NOT_FOUND);
	assert_string_equal(zr_error_text(), "cannot open x: No such file or directory");
	zr_error_clear();
}

static void a_long_message_is_cut_and_terminated(void **state)
{
	char text[4096];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(zr_fail_errno(EIO, "%s", text), ZR_IO);
	assert_true(strlen(zr_error_text()) > 500 && strlen(zr_error_text()) < sizeof(text) - 1);
	zr_error_clear();
}

static void *fail_elsewhere(void *arg)
{
	*(enum zr_err *)arg = zr_fail(ZR_BUSY, "other");
	return NULL;
}

static void each_thread_holds_its_own_error(void **state)
{
	enum zr_err err = ZR_OK;
	pthread_t thread;

	(void)state;
	zr_error_clear();
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(err, ZR_BUSY);
	assert_string_equal(zr_error_text(), "");
}

static void every_error_has_a_name_and_a_class(void **state)
{
	(void)state;
	assert_string_equal(zr_err_name(ZR_OK), "OK");
	assert_int_equal(zr_err_class(ZR_OK), 0);
	assert_int_equal(zr_err_class(ZR_FULL), 1);
	assert_int_equal(zr_err_class(ZR_BAD_POLICY), 2);
	assert_int_equal(zr_err_class(ZR_CORRUPT), 3);
	assert_int_equal(zr_err_class(ZR_PERM), 4);
	assert_string_equal(zr_err_name((enum zr_err)9999), "UNKNOWN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_gives_zeroed_aligned_pieces_that_do_not_overlap),
		cmocka_unit_test(arena_refuses_sizes_that_overflow),
		cmocka_unit_test(arena_text_is_a_copy),
		cmocka_unit_test(hist_bucket_of_a_value_holds_it_and_is_narrow),
		cmocka_unit_test(hist_buckets_cover_all_values_without_a_hole),
		cmocka_unit_test(hist_quantiles_agree_with_a_sorted_array),
		cmocka_unit_test(hist_of_nothing_is_zero),
		cmocka_unit_test(crc32c_gives_the_published_values),
		cmocka_unit_test(crc32c_is_the_same_by_table_by_cpu_and_by_bits),
		cmocka_unit_test(crc32c_chains),
		cmocka_unit_test(zigzag_maps_small_magnitudes_to_small_numbers_and_back),
		cmocka_unit_test(the_first_error_wins_until_it_is_cleared),
		cmocka_unit_test(a_long_message_is_cut_and_terminated),
		cmocka_unit_test(each_thread_holds_its_own_error),
		cmocka_unit_test(every_error_has_a_name_and_a_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
