/* SPDX-License-Identifier: MIT */
/* Escapes, axes, and what a chart shows of its points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/html.h"

struct text {
	FILE *out;
	char *bytes;
	size_t n;
};

static void begin(struct text *text)
{
	text->out = open_memstream(&text->bytes, &text->n);
	assert_non_null(text->out);
}

static void end(struct text *text)
{
	assert_int_equal(fclose(text->out), 0);
}

static void expect_escaped(const char *given, const char *wanted)
{
	struct text text;

	begin(&text);
	ui_html_text(text.out, given);
	end(&text);
	assert_string_equal(text.bytes, wanted);
	free(text.bytes);
}

static void nothing_that_means_something_passes(void **state)
{
	(void)state;
	expect_escaped("</title><script>alert('1')&\"", "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&amp;&quot;");
	expect_escaped("a\x1b[31mb\nc", "a\ufffd[31mb\ufffdc");
	expect_escaped("\u202eabc\u2066", "\ufffdabc\ufffd");
	expect_escaped("\xff\xfe x", "\ufffd\ufffd x");
	expect_escaped("\xef\xbf\xbe\xef\xbf\xbf", "\ufffd\ufffd");
}

/* Whatever the locale, which here is C. */
static void other_scripts_are_kept(void **state)
{
	(void)state;
	expect_escaped("\u4e16\u84ee.slice \u00b1", "\u4e16\u84ee.slice \u00b1");
}

static void ticks_lie_on_the_axis_in_equal_steps(void **state)
{
	static const double highs[] = { 1e-6, 0.3, 1, 7, 99, 100, 12345, 4e6, 1e12, 3e17 };

	(void)state;
	for (int unit = UI_SVG_NUMBER; unit <= UI_SVG_BYTES; unit++)
		for (size_t i = 0; i < sizeof(highs) / sizeof(highs[0]); i++) {
			struct ui_svg_axis axis = { .high = highs[i], .unit = (enum ui_svg_unit)unit };
			double ticks[UI_SVG_TICKS];
			uint32_t n = ui_svg_ticks(&axis, 6, ticks);

			assert_in_range(n, 2, 7);
			assert_true(ticks[0] == 0);
			for (uint32_t k = 1; k < n; k++) {
				assert_true(fabs(ticks[k] - k * ticks[1]) < 1e-9 * ticks[k]);
				assert_true(ticks[k] <= highs[i] * (1 + 1e-9));
			}
		}
}

static void ticks_of_time_are_those_of_a_clock(void **state)
{
	struct ui_svg_axis axis = { .high = 269e9, .unit = UI_SVG_TIME };
	double ticks[UI_SVG_TICKS];

	(void)state;
	assert_int_equal(ui_svg_ticks(&axis, 5, ticks), 5);
	assert_true(ticks[1] == 60e9);
}

static void a_logarithmic_axis_has_ticks_at_powers(void **state)
{
	struct ui_svg_axis axis = { .low = 3, .high = 20000, .log = true };
	double ticks[UI_SVG_TICKS];

	(void)state;
	assert_int_equal(ui_svg_ticks(&axis, 6, ticks), 4);
	assert_true(fabs(ticks[0] - 10) < 1e-9 && fabs(ticks[3] - 10000) < 1e-6);
	axis.unit = UI_SVG_BYTES;
	axis.high = 1e30;
	assert_in_range(ui_svg_ticks(&axis, 6, ticks), 2, UI_SVG_TICKS);
}

static void the_top_of_an_axis_is_round_and_not_far_away(void **state)
{
	(void)state;
	assert_true(ui_svg_top(0) == 1);
	assert_true(ui_svg_top(NAN) == 1);
	assert_true(fabs(ui_svg_top(2.6) - 3) < 1e-9);
	assert_true(fabs(ui_svg_top(680) - 800) < 1e-9);
	assert_true(fabs(ui_svg_top(1000) - 1000) < 1e-9);
	for (double v = 1e-5; v < 1e15; v *= 1.37)
		assert_true(ui_svg_top(v) >= v * (1 - 1e-9) && ui_svg_top(v) <= 1.5 * v);
}

static uint32_t count(const char *text, const char *what)
{
	uint32_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static char *chart_of(const struct ui_svg_chart *chart)
{
	struct text text;

	begin(&text);
	ui_svg_chart(text.out, chart);
	end(&text);
	return text.bytes;
}

static void a_line_is_interrupted_where_nothing_is_known(void **state)
{
	const double x[] = { 0, 1, 2, 3, 4, 5 }, y[] = { 1, 2, NAN, 4, NAN, 3 };
	const struct ui_svg_line line = { .x = x, .y = y, .n = 6 };
	const struct ui_svg_chart chart = { .id = "c", .title = "T", .desc = "D", .w = 400, .h = 200,
					    .x = { .high = 5, .label = "x" }, .y = { .high = 5 },
					    .lines = &line, .n_lines = 1 };
	char *text = chart_of(&chart);

	(void)state;
	assert_int_equal(count(text, "class=\"l s0\""), 3);
	assert_null(strstr(text, "nan"));
	free(text);
}

static void a_gap_is_seen_however_short(void **state)
{
	const struct ui_svg_band band = { .from = 50, .to = 50.001 };
	const struct ui_svg_chart chart = { .id = "c", .title = "T", .desc = "D", .w = 400, .h = 200,
					    .x = { .high = 100, .label = "x" }, .y = { .high = 5 },
					    .bands = &band, .n_bands = 1 };
	char *text = chart_of(&chart);

	(void)state;
	assert_int_equal(count(text, "class=\"gapline\""), 1);
	assert_non_null(strstr(text, "width=\"3.0\""));
	free(text);
}

static void a_chart_says_what_it_shows(void **state)
{
	const struct ui_svg_chart chart = { .id = "c", .title = "a < b", .desc = "D", .w = 400, .h = 200,
					    .x = { .high = 100, .label = "x & y" }, .y = { .high = 5 } };
	char *text = chart_of(&chart);

	(void)state;
	assert_non_null(strstr(text, "role=\"img\" aria-labelledby=\"c-t c-d\""));
	assert_non_null(strstr(text, "<title id=\"c-t\">a &lt; b</title>"));
	assert_non_null(strstr(text, "x &amp; y"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_means_something_passes),
		cmocka_unit_test(other_scripts_are_kept),
		cmocka_unit_test(ticks_lie_on_the_axis_in_equal_steps),
		cmocka_unit_test(ticks_of_time_are_those_of_a_clock),
		cmocka_unit_test(a_logarithmic_axis_has_ticks_at_powers),
		cmocka_unit_test(the_top_of_an_axis_is_round_and_not_far_away),
		cmocka_unit_test(a_line_is_interrupted_where_nothing_is_known),
		cmocka_unit_test(a_gap_is_seen_however_short),
		cmocka_unit_test(a_chart_says_what_it_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
