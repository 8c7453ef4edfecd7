/* SPDX-License-Identifier: MIT */
/* What of block_count.h needs no rights; the counting itself is replay_test.sh's. */
#include "recorder/block_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_filter_names_the_disk_as_the_kernel_does(void **state)
{
	char text[96];

	(void)state;
	rec_block_count_filter(259, 3, text, sizeof(text));
	assert_string_equal(text, "dev == 271581187 && nr_sector > 0 && rwbs ~ \"W*\"");
	rec_block_count_filter(4095, 1048575, text, sizeof(text));
	assert_string_equal(text, "dev == 4294967295 && nr_sector > 0 && rwbs ~ \"W*\"");
}

static void what_is_no_block_device_is_refused(void **state)
{
	struct rec_block_count *count;
	enum zr_err err = rec_block_count_open("/proc/self/exe", &count);

	(void)state;
	/* Without tracefs that is said first. */
	assert_true(err == ZR_USAGE || err == ZR_UNSUPPORTED);
	assert_null(count);
	assert_string_not_equal(zr_error_text(), "");
	zr_error_clear();
}

static void closing_nothing_is_fine(void **state)
{
	(void)state;
	rec_block_count_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_names_the_disk_as_the_kernel_does),
		cmocka_unit_test(what_is_no_block_device_is_refused),
		cmocka_unit_test(closing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
