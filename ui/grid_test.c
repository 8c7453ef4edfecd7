/* SPDX-License-Identifier: MIT */
/* The grid keeps its invariants whatever is drawn, and dumps what was drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ui/chart.h"
#include "ui/grid.h"
#include "ui/text.h"

static char *dump(const struct ui_grid *grid, bool roles)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ui_grid_print(grid, roles, out);
	fclose(out);
	return text;
}

static void assert_shows(const struct ui_grid *grid, const char *wanted)
{
	char *text = dump(grid, false);

	assert_string_equal(text, wanted);
	free(text);
}

static void text_is_cut_with_an_ellipsis(void **state)
{
	struct ui_grid grid = { 0 };
	struct ui_pen pen;

	(void)state;
	assert_true(ui_grid_resize(&grid, 6, 1));
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	ui_pen_text(&pen, UI_ROLE_NORMAL, "abcdef");
	assert_shows(&grid, "abcdef\n");
	ui_grid_clear(&grid);
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	ui_pen_text(&pen, UI_ROLE_NORMAL, "abcdefg");
	assert_shows(&grid, "abcde\u2026\n");
	ui_grid_clear(&grid);
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	/* Five wide characters in six cells: two and an ellipsis. */
	ui_pen_text(&pen, UI_ROLE_NORMAL, "\u4e16\u84ee\u4e16\u84ee\u4e16");
	assert_shows(&grid, "\u4e16\u84ee\u2026\n");
	ui_grid_fini(&grid);
}

static void right_text_ends_at_the_edge_or_is_left_out(void **state)
{
	struct ui_grid grid = { 0 };
	struct ui_pen pen;

	(void)state;
	assert_true(ui_grid_resize(&grid, 8, 1));
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	ui_pen_text(&pen, UI_ROLE_NORMAL, "ab");
	ui_pen_right(&pen, UI_ROLE_NORMAL, "1234567");
	assert_shows(&grid, "ab\n");
	ui_pen_right(&pen, UI_ROLE_NORMAL, "123");
	assert_shows(&grid, "ab   123\n");
	ui_grid_fini(&grid);
}

static void half_a_wide_character_is_never_left(void **state)
{
	struct ui_grid grid = { 0 };
	struct ui_pen pen;

	(void)state;
	assert_true(ui_grid_resize(&grid, 6, 1));
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	ui_pen_text(&pen, UI_ROLE_NORMAL, "\u4e16\u84ee\u4e16");
	ui_grid_put(&grid, 1, 0, (struct ui_cell){ 'x', UI_ROLE_NORMAL, 0 });
	assert_shows(&grid, " x\u84ee\u4e16\n");
	ui_grid_put(&grid, 2, 0, (struct ui_cell){ 'y', UI_ROLE_NORMAL, 0 });
	assert_shows(&grid, " xy \u4e16\n");
	ui_grid_fini(&grid);
}

static void drawing_outside_does_nothing(void **state)
{
	struct ui_grid grid = { 0 };
	const double values[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	(void)state;
	assert_true(ui_grid_resize(&grid, 3, 2));
	ui_grid_put(&grid, -1, 0, (struct ui_cell){ 'x', UI_ROLE_NORMAL, 0 });
	ui_grid_put(&grid, 3, 1, (struct ui_cell){ 'x', UI_ROLE_NORMAL, 0 });
	ui_grid_put(&grid, 0, 2, (struct ui_cell){ 'x', UI_ROLE_NORMAL, 0 });
	ui_grid_fill(&grid, (struct ui_rect){ 5, 5, 9, 9 }, (struct ui_cell){ 'x', UI_ROLE_NORMAL, 0 });
	for (int y = -3; y < 6; y++)
		for (int x = -3; x < 6; x++) {
			struct ui_rect rect = { x, y, 8, 3 };
			struct ui_pen pen = ui_pen_at(&grid, rect, 0);

			ui_pen_text(&pen, UI_ROLE_NORMAL, "a\u4e16b\u84ee");
			ui_chart_bars(&grid, rect, &(struct ui_bars){ values, 0, 8, UI_ROLE_CHART });
			ui_chart_gauge(&grid, rect, &(struct ui_gauge){ 0.5, 0.9, UI_ROLE_GOOD });
		}
	ui_grid_clear(&grid);
	assert_shows(&grid, "\n\n");
	ui_grid_fini(&grid);
}

/* Names that attack the screen: whatever they hold, cells hold nothing that a terminal would obey. */
static void hostile_names_stay_inside_their_cells(void **state)
{
	static const char *const names[] = {
		"\u4e16\u84ee.slice", "\x1b[31mred\x1b[0m",  "'); DROP TABLE run;--",
		"a\tb\r\nc",	      "\xff\xfe\xc2",	     "\u202egnp.exe",
		"\xc2\x9b[31m",	      "a\u0301\u0301\u0301",
	};
	struct ui_grid grid = { 0 };

	(void)state;
	assert_true(ui_grid_resize(&grid, 12, 1));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct ui_pen pen = ui_pen_at(&grid, (struct ui_rect){ 0, 0, 10, 1 }, 0);

		ui_pen_text(&pen, UI_ROLE_NORMAL, names[i]);
		for (int x = 0; x < 12; x++) {
			uint32_t code = grid.cells[x].code;

			assert_false(code && (code < 0x20 || (code >= 0x7f && code < 0xa0)));
			assert_false(code >= 0x200e && code <= 0x202e && code != 0x2026);
		}
		assert_int_equal(grid.cells[10].code, ' ');
		assert_int_equal(grid.cells[11].code, ' ');
	}
	ui_grid_fini(&grid);
}

static void a_long_name_is_cut(void **state)
{
	char name[301];
	struct ui_grid grid = { .ascii = true };
	struct ui_pen pen;

	(void)state;
	memset(name, 'n', 300);
	name[300] = '\0';
	assert_true(ui_grid_resize(&grid, 10, 1));
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	ui_pen_printf(&pen, UI_ROLE_NORMAL, "%s", name);
	assert_shows(&grid, "nnnnnnnnn~\n");
	ui_grid_fini(&grid);
}

static void roles_are_dumped_as_letters(void **state)
{
	struct ui_grid grid = { 0 };
	struct ui_pen pen;
	char *text;

	(void)state;
	assert_true(ui_grid_resize(&grid, 4, 1));
	pen = ui_pen_at(&grid, ui_grid_rect(&grid), 0);
	ui_pen_text(&pen, UI_ROLE_BAD, "ab");
	ui_grid_put(&grid, 3, 0, (struct ui_cell){ 'c', UI_ROLE_ZSWAP, UI_ROLE_DISK });
	text = dump(&grid, true);
	assert_string_equal(text, "ab c\n!!.D\n");
	free(text);
	ui_grid_fini(&grid);
}

static void bars_are_as_high_as_their_values(void **state)
{
	const double values[] = { 0, 1, 4, 8, 12, 16, 99, 0.0 / 0.0 };
	struct ui_grid grid = { 0 };

	(void)state;
	assert_true(ui_grid_resize(&grid, 8, 2));
	ui_chart_bars(&grid, ui_grid_rect(&grid), &(struct ui_bars){ values, 0, 16, UI_ROLE_CHART });
	assert_shows(&grid, "    \u2584\u2588\u2588\n \u2581\u2584\u2588\u2588\u2588\u2588\n");
	ui_grid_fini(&grid);
}

static void a_gauge_shows_part_and_mark(void **state)
{
	struct ui_grid grid = { .ascii = true };

	(void)state;
	assert_true(ui_grid_resize(&grid, 12, 1));
	ui_chart_gauge(&grid, ui_grid_rect(&grid), &(struct ui_gauge){ 0.5, 1, UI_ROLE_GOOD });
	assert_shows(&grid, "[#####    |]\n");
	ui_chart_gauge(&grid, ui_grid_rect(&grid), &(struct ui_gauge){ 7, -1, UI_ROLE_GOOD });
	assert_shows(&grid, "[##########]\n");
	ui_grid_fini(&grid);
}

static void scales_end_at_round_numbers(void **state)
{
	(void)state;
	assert_true(ui_chart_round_up(1) == 1);
	assert_true(ui_chart_round_up(1.01) == 1.2);
	assert_true(ui_chart_round_up(999) == 1000);
	assert_true(ui_chart_round_up(0.021) == 0.03);
	assert_true(ui_chart_round_up(0) == 1);
	assert_true(ui_chart_round_up(0.0 / 0.0) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_with_an_ellipsis),
		cmocka_unit_test(right_text_ends_at_the_edge_or_is_left_out),
		cmocka_unit_test(half_a_wide_character_is_never_left),
		cmocka_unit_test(drawing_outside_does_nothing),
		cmocka_unit_test(hostile_names_stay_inside_their_cells),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(roles_are_dumped_as_letters),
		cmocka_unit_test(bars_are_as_high_as_their_values),
		cmocka_unit_test(a_gauge_shows_part_and_mark),
		cmocka_unit_test(scales_end_at_round_numbers),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
