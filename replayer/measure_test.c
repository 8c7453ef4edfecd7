/* SPDX-License-Identifier: MIT */
/* The readers of measure.h over texts as kernels write them. */
#include "replayer/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t value_of(const struct measure *measure, const char *name)
{
	uint64_t value;

	if (!measure_get(measure, name, &value))
		fail_msg("%s is not there", name);
	return value;
}

static bool has(const struct measure *measure, const char *name)
{
	uint64_t value;

	return measure_get(measure, name, &value);
}

static void pairs_are_read_whole_lines_at_a_time(void **state)
{
	struct measure m = { 0 };

	(void)state;
	measure_pairs(&m, "vm.", "pswpin 12\npswpout 18446744073709551615\nnot_a_number x\nlonely\n"
				 "too_large 18446744073709551616\nnr_swap -1\nlast 7");
	assert_int_equal(value_of(&m, "vm.pswpin"), 12);
	assert_int_equal(value_of(&m, "vm.pswpout"), UINT64_MAX);
	assert_int_equal(value_of(&m, "vm.last"), 7);
	assert_int_equal(m.n, 3);
	measure_fini(&m);
}

/* 5.5 and later have 17 columns, those before 15, those before 4.18 11. */
static void a_disk_has_as_many_columns_as_its_kernel_knows(void **state)
{
	struct measure m = { 0 };

	(void)state;
	measure_block(&m, "new.",
		      "     101      102     103      104      105      106     107      108        9      "
		      "110      111      112        113        114        115      116        117\n");
	measure_block(&m, "old.", "1 2 3 4 5 6 7 8 9 10 11\n");
	measure_block(&m, "none.", NULL);
	measure_block(&m, "bad.", "1 2 three 4\n");
	assert_int_equal(value_of(&m, "new.read_requests"), 101);
	assert_int_equal(value_of(&m, "new.read_sectors"), 103);
	assert_int_equal(value_of(&m, "new.write_requests"), 105);
	assert_int_equal(value_of(&m, "new.write_merges"), 106);
	assert_int_equal(value_of(&m, "new.write_sectors"), 107);
	assert_int_equal(value_of(&m, "new.in_flight"), 9);
	assert_int_equal(value_of(&m, "new.flush_requests"), 116);
	assert_int_equal(value_of(&m, "new.flush_ms"), 117);
	assert_int_equal(value_of(&m, "old.queue_ms"), 11);
	assert_false(has(&m, "old.discard_requests"));
	assert_int_equal(value_of(&m, "bad.read_merges"), 2);
	assert_false(has(&m, "bad.read_sectors"));
	assert_int_equal(m.n, 17 + 11 + 2);
	measure_fini(&m);
}

static const char io_stat[] =
	"8:16 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n"
	"259:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0 cost.vrate=100.00 "
	"cost.usage=1234 cost.wait=5 cost.indebt=6 cost.indelay=7\n"
	"259:10 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"
	"7:0 \n";

static void io_stat_is_of_one_device(void **state)
{
	struct measure m = { 0 };

	(void)state;
	measure_io_stat(&m, "", io_stat, 259, 0);
	assert_int_equal(value_of(&m, "wbytes"), 314773504);
	assert_int_equal(value_of(&m, "wios"), 353);
	assert_int_equal(value_of(&m, "rios"), 192);
	assert_int_equal(value_of(&m, "cost.usage"), 1234);
	assert_int_equal(value_of(&m, "cost.wait"), 5);
	assert_int_equal(value_of(&m, "cost.indebt"), 6);
	assert_int_equal(value_of(&m, "cost.indelay"), 7);
	assert_false(has(&m, "cost.vrate")); /* not a count */
	measure_fini(&m);
}

static void a_group_without_io_has_done_none(void **state)
{
	struct measure m = { 0 };

	(void)state;
	measure_io_stat(&m, "silent.", io_stat, 7, 0);
	measure_io_stat(&m, "absent.", io_stat, 259, 1);
	measure_io_stat(&m, "empty.", "", 259, 1);
	measure_io_stat(&m, "unread.", NULL, 259, 1);
	assert_int_equal(value_of(&m, "silent.wios"), 0);
	assert_int_equal(value_of(&m, "absent.wios"), 0);
	assert_int_equal(value_of(&m, "empty.dios"), 0);
	assert_false(has(&m, "absent.cost.usage"));
	assert_false(has(&m, "unread.wios"));
	measure_fini(&m);
}

static void pressure_is_its_totals(void **state)
{
	struct measure m = { 0 };

	(void)state;
	measure_pressure(&m, "io_", "some avg10=0.00 avg60=1.50 avg300=0.22 total=456789\n"
				    "full avg10=0.00 avg60=0.75 avg300=0.11 total=123456\n");
	measure_pressure(&m, "off_", "");
	measure_pressure(&m, "off_", NULL);
	assert_int_equal(value_of(&m, "io_some_us"), 456789);
	assert_int_equal(value_of(&m, "io_full_us"), 123456);
	assert_int_equal(m.n, 2);
	measure_fini(&m);
}

static void difference_knows_what_was_not_there(void **state)
{
	struct measure before = { 0 }, after = { 0 };
	uint64_t difference = 42;

	(void)state;
	measure_pairs(&before, "", "both 10\nfell 10\ngone 1\n");
	measure_pairs(&after, "", "both 25\nfell 9\ncame 1\n");
	assert_true(measure_difference(&before, &after, "both", &difference));
	assert_int_equal(difference, 15);
	assert_false(measure_difference(&before, &after, "fell", &difference));
	assert_false(measure_difference(&before, &after, "gone", &difference));
	assert_false(measure_difference(&before, &after, "came", &difference));
	assert_false(measure_difference(&before, &after, "neither", &difference));
	assert_int_equal(difference, 15);
	measure_fini(&before);
	measure_fini(&after);
}

static void more_names_than_fit_at_once_are_kept(void **state)
{
	struct measure m = { 0 };

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		char line[32];

		snprintf(line, sizeof(line), "name%u %u\n", i, i * 3);
		measure_pairs(&m, "", line);
	}
	assert_int_equal(measure_done(&m), ZR_OK);
	assert_int_equal(m.n, 1000);
	assert_int_equal(value_of(&m, "name0"), 0);
	assert_int_equal(value_of(&m, "name999"), 2997);
	measure_fini(&m);
}

static void a_name_too_long_is_left_out(void **state)
{
	char line[MEASURE_NAME_BYTES + 16];
	struct measure m = { 0 };

	(void)state;
	memset(line, 'n', sizeof(line));
	strcpy(line + MEASURE_NAME_BYTES, " 1\n");
	measure_pairs(&m, "", line);
	assert_int_equal(m.n, 0);
	measure_pairs(&m, "", line + 1);
	assert_int_equal(m.n, 1);
	measure_fini(&m);
}

static void put_file(const char *directory, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *directory, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(unlink(path), 0);
}

static void a_directory_is_its_numbers(void **state)
{
	char directory[] = "/tmp/zreel-measure.XXXXXX";
	struct measure m = { 0 };

	(void)state;
	assert_non_null(mkdtemp(directory));
	put_file(directory, "pool_limit_hit", "17\n");
	put_file(directory, "text", "hello\n");
	put_file(directory, ".hidden", "1\n");
	measure_directory(&m, "zswap.", directory);
	measure_directory(&m, "zswap.", "/nonexistent");
	measure_pairs_file(&m, "", "/nonexistent");
	measure_pressure_file(&m, "", "/nonexistent");
	measure_block_file(&m, "", 4095, 1048575);
	assert_int_equal(value_of(&m, "zswap.pool_limit_hit"), 17);
	assert_int_equal(m.n, 1);
	measure_fini(&m);
	remove_file(directory, "pool_limit_hit");
	remove_file(directory, "text");
	remove_file(directory, ".hidden");
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_read_whole_lines_at_a_time),
		cmocka_unit_test(a_disk_has_as_many_columns_as_its_kernel_knows),
		cmocka_unit_test(io_stat_is_of_one_device),
		cmocka_unit_test(a_group_without_io_has_done_none),
		cmocka_unit_test(pressure_is_its_totals),
		cmocka_unit_test(difference_knows_what_was_not_there),
		cmocka_unit_test(more_names_than_fit_at_once_are_kept),
		cmocka_unit_test(a_name_too_long_is_left_out),
		cmocka_unit_test(a_directory_is_its_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
