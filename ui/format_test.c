/* SPDX-License-Identifier: MIT */
/* Numbers for people and from people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "db/base/quantity.h"
#include "ui/format.h"

static void counts_have_a_comma_every_three_digits(void **state)
{
	(void)state;
	assert_string_equal(ui_count(0).text, "0");
	assert_string_equal(ui_count(999).text, "999");
	assert_string_equal(ui_count(1000).text, "1,000");
	assert_string_equal(ui_count(11373201).text, "11,373,201");
	assert_string_equal(ui_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void numbers_keep_sign_and_places(void **state)
{
	(void)state;
	assert_string_equal(ui_number(1234.5, 1).text, "1,234.5");
	assert_string_equal(ui_number(-1234.56, 1).text, "-1,234.6");
	assert_string_equal(ui_number(-0.001, 2).text, "0.00");
	assert_string_equal(ui_number(1.3, 2).text, "1.30");
	assert_string_equal(ui_number(NAN, 2).text, "-");
	assert_string_equal(ui_number(INFINITY, 2).text, "-");
	assert_string_equal(ui_number(1e300, 2).text, "1e+300");
}

static void bytes_and_spans_choose_their_unit(void **state)
{
	(void)state;
	assert_string_equal(ui_bytes(17).text, "17 B");
	assert_string_equal(ui_bytes(1024).text, "1.00 KiB");
	assert_string_equal(ui_bytes(1 << 20).text, "1.00 MiB");
	assert_string_equal(ui_bytes(UINT64_MAX).text, "16.0 EiB");
	assert_string_equal(ui_span(850).text, "850 ns");
	assert_string_equal(ui_span(12300).text, "12.3 us");
	assert_string_equal(ui_span(1200000000).text, "1.20 s");
	assert_string_equal(ui_span(200ull * 1000000000).text, "3 min 20 s");
	assert_string_equal(ui_span(7500ull * 1000000000).text, "2 h 05 min");
	assert_string_equal(ui_clock(12345000000).text, "0:12.345");
	assert_string_equal(ui_clock(3723400000000).text, "1:02:03.400");
}

static void changes_are_signed_percentages(void **state)
{
	(void)state;
	assert_string_equal(ui_change(748, 596).text, "-20.3%");
	assert_string_equal(ui_change(1.07, 1.30).text, "+21.5%");
	assert_string_equal(ui_change(5, 5).text, "+0.0%");
	assert_string_equal(ui_change(2, 504).text, "x252");
	assert_string_equal(ui_change(0, 5).text, "-");
	assert_string_equal(ui_change(0, 0).text, "-");
}

static void sizes_are_read_with_units(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_true(zr_parse_bytes("64K", &n));
	assert_int_equal(n, 65536);
	assert_true(zr_parse_bytes("1.5GiB", &n));
	assert_int_equal(n, 1610612736);
	assert_true(zr_parse_bytes("0", &n));
	assert_int_equal(n, 0);
}

static void times_are_read_with_units(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_true(zr_parse_span("90", &n));
	assert_int_equal(n, 90000000000);
	assert_true(zr_parse_span("200ms", &n));
	assert_int_equal(n, 200000000);
	assert_true(zr_parse_span("2m", &n));
	assert_int_equal(n, 120000000000);
}

static void nonsense_is_not_a_number(void **state)
{
	static const char *const wrong[] = { "",    "-1",  "x",	    "1x",	    "1 K", "0x10",
					     "nan", "inf", "1e400", "99999999999T", " 1",  "1K1" };
	uint64_t n;
	uint32_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(zr_parse_bytes(wrong[i], &n));
		assert_false(ui_parse_count(wrong[i], 100, &count));
	}
	assert_false(zr_parse_span("99999999999h", &n));
	assert_false(ui_parse_count("0", 100, &count));
	assert_false(ui_parse_count("101", 100, &count));
	assert_true(ui_parse_count("100", 100, &count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_have_a_comma_every_three_digits),
		cmocka_unit_test(numbers_keep_sign_and_places),
		cmocka_unit_test(bytes_and_spans_choose_their_unit),
		cmocka_unit_test(changes_are_signed_percentages),
		cmocka_unit_test(sizes_are_read_with_units),
		cmocka_unit_test(times_are_read_with_units),
		cmocka_unit_test(nonsense_is_not_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
