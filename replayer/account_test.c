/* SPDX-License-Identifier: MIT */
/* The cross-check of account.h over counters that are put there by hand; the reading itself is replay_test.sh's. */
#include "replayer/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *check(const char *counted, uint64_t writes, uint64_t bytes)
{
	static char text[256];
	struct account account = { .is_block = true };
	const struct account_submitted submitted = { .writes = writes, .bytes = bytes };

	measure_pairs(&account.counted, "", counted);
	account_check(&account, &submitted, text, sizeof(text));
	account_fini(&account);
	return text;
}

static void a_run_alone_is_as_submitted(void **state)
{
	(void)state;
	assert_string_equal(check("block.write_sectors 80\nblock.write_requests 3\nblock.write_merges 7\n", 10, 40960),
			    "");
}

static void foreign_requests_are_numbered(void **state)
{
	const char *text;

	(void)state;
	text = check("block.write_sectors 96\nblock.write_requests 5\nblock.write_merges 7\n", 10, 40960);
	assert_non_null(strstr(text, "somebody else"));
	assert_non_null(strstr(text, " 2 requests and 8192 bytes more"));
}

/* Ten writes that became twelve bios, and two foreign requests. */
static void a_write_that_was_split_is_ours(void **state)
{
	(void)state;
	assert_non_null(strstr(check("block.write_sectors 96\nblock.write_requests 7\nblock.write_merges 7\nio.wios 12\n",
				     10, 40960),
			       " 2 requests "));
	assert_string_equal(
		check("block.write_sectors 80\nblock.write_requests 5\nblock.write_merges 7\nio.wios 12\n", 10, 40960),
		"");
}

static void writes_that_did_not_arrive_are_told(void **state)
{
	(void)state;
	assert_non_null(strstr(check("block.write_sectors 72\nblock.write_requests 2\nblock.write_merges 7\n", 10, 40960),
			       "4096 bytes of writes less"));
}

static void without_statistics_nothing_is_said(void **state)
{
	(void)state;
	assert_string_equal(check("io.wios 12\n", 10, 40960), "");
	assert_string_equal(check("block.write_sectors 96\nblock.write_requests 7\n", 10, 40960), "");
}

/* A group asked for nothing stays out of the hierarchy. */
static void no_group_is_made_unasked(void **state)
{
	struct account_group group;

	(void)state;
	assert_int_equal(account_group_open(PLAY_CGROUP_OFF, true, &group), ZR_OK);
	assert_null(group.top);
	assert_string_equal(group.why_not, "");
	assert_int_equal(account_group_close(&group), ZR_OK);
	assert_int_equal(account_group_open(PLAY_CGROUP_AUTO, false, &group), ZR_OK);
	assert_null(group.top);
	assert_int_equal(account_group_close(&group), ZR_OK);
}

static void what_is_not_a_device_has_no_statistics(void **state)
{
	struct account account;

	(void)state;
	account_init(&account, true, 4095, 1048575);
	assert_int_equal(account.disk_major, 4095);
	account_begin(&account);
	account_end(&account);
	assert_int_equal(account.counted.n, 0);
	account_fini(&account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_alone_is_as_submitted),
		cmocka_unit_test(foreign_requests_are_numbered),
		cmocka_unit_test(a_write_that_was_split_is_ours),
		cmocka_unit_test(writes_that_did_not_arrive_are_told),
		cmocka_unit_test(without_statistics_nothing_is_said),
		cmocka_unit_test(no_group_is_made_unasked),
		cmocka_unit_test(what_is_not_a_device_has_no_statistics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
