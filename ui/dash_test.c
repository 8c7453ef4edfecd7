/* SPDX-License-Identifier: MIT */
/*
 * The dashboard without a terminal: time, keys, sizes, hostile names, and golden screens.
 *
 * Golden screens are texts in ui/screens/: the cells, then a plane of role letters. Make them anew with
 * ZREEL_UPDATE_GOLDEN=1 and review the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/dash.h"
#include "ui/script.h"
#include "ui/test_trace.h"

struct fixture {
	char dir[64], path[128];
	struct db *db;
	struct zr_arena arena;
	struct ui_dash dash;
	struct ui_grid grid;
};

static const char *const policies[] = { "unbatched",  "batched",    "plugged",
					"shrink-off", "hysteresis", "batched+pool=10%" };

static int open_fixture(void **state, const char *file, const char *kernel, uint32_t n)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	zr_error_clear();
	snprintf(f->dir, sizeof(f->dir), "/tmp/zreel-dash-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, file);
	if (test_trace_make(f->path, kernel, TEST_EVENTS) || db_open(f->path, DB_READ, &f->db) ||
	    ui_dash_init(&f->dash, f->db, policies, n, &f->arena)) {
		fprintf(stderr, "%s\n", zr_error_text());
		return -1;
	}
	return ui_grid_resize(&f->grid, 80, 24) ? 0 : -1;
}

static int set_up(void **state)
{
	return open_fixture(state, "test.zr", "6.12.0-test", 3);
}

static int set_up_six(void **state)
{
	return open_fixture(state, "test.zr", "6.12.0-test", 6);
}

static int set_up_hostile(void **state)
{
	return open_fixture(state, "\x1b[31m\u4e16\u84ee\x07\xff.zr", "6.12\x1b]0;x\x07\r\n\u202e-evil",
			    3);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	enum zr_err err;

	ui_dash_fini(&f->dash);
	err = db_close(f->db);
	unlink(f->path);
	rmdir(f->dir);
	ui_grid_fini(&f->grid);
	zr_arena_fini(&f->arena);
	free(f);
	return err ? -1 : 0;
}

static void play(struct fixture *f, const char *script)
{
	assert_int_equal(ui_script_play(script, &f->dash, &f->grid), 0);
}

static char *screen(struct fixture *f, bool roles)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ui_dash_draw(&f->dash, &f->grid);
	ui_grid_print(&f->grid, roles, out);
	fclose(out);
	return text;
}

static void assert_on_screen(struct fixture *f, const char *wanted)
{
	char *text = screen(f, false);
	bool found = strstr(text, wanted) != NULL;

	if (!found)
		fail_msg("'%s' is not on the screen:\n%s", wanted, text);
	free(text);
}

/* ---------------------------------------------------------------------------------------------- time */

static uint64_t trace_ns(const struct fixture *f)
{
	return f->dash.clock_ns - f->dash.history.first_ns;
}

static void playing_follows_the_clock(void **state)
{
	struct fixture *f = *state;

	/* The whole trace takes 20 s, so it plays in real time or slower: 10 frames are a second of it. */
	while (ui_dash_speed(&f->dash) < 1)
		ui_dash_key(&f->dash, '+');
	ui_dash_frame(&f->dash, UI_FRAME_NS);
	assert_int_equal(trace_ns(f), UI_FRAME_NS);
	play(f, "<frame 9>");
	assert_int_equal(trace_ns(f), 10ull * UI_FRAME_NS);
	/* An event every millisecond, the first at 0. */
	assert_int_equal(play_race_cursor(f->dash.race), 1000);
}

static void a_pause_stops_the_clock_and_idles(void **state)
{
	struct fixture *f = *state;
	uint64_t at;

	assert_true(ui_dash_is_busy(&f->dash));
	play(f, "<frame 5> ");
	at = trace_ns(f);
	assert_false(ui_dash_is_busy(&f->dash));
	play(f, "<frame 50>");
	assert_int_equal(trace_ns(f), at);
	play(f, " <frame>");
	assert_true(trace_ns(f) > at);
}

static void a_frame_feeds_no_more_than_its_budget(void **state)
{
	struct fixture *f = *state;
	uint64_t before = 0;

	ui_dash_key(&f->dash, ' ');
	ui_dash_key(&f->dash, UI_KEY_END);
	/* 20,000 events x 3 lanes are within one frame's budget; going there leaves nothing behind. */
	ui_dash_frame(&f->dash, 0);
	assert_int_equal(play_race_cursor(f->dash.race) - before, TEST_EVENTS);
	assert_false(ui_dash_is_behind(&f->dash));
}

static void the_end_stops_and_space_starts_over(void **state)
{
	struct fixture *f = *state;

	play(f, "<end>");
	assert_int_equal(play_race_cursor(f->dash.race), play_race_events(f->dash.race));
	assert_false(f->dash.playing);
	play(f, " ");
	assert_true(f->dash.playing);
	assert_true(play_race_cursor(f->dash.race) < 1000);
}

/* ---------------------------------------------------------------------------------------------- keys */

static void a_step_is_one_event(void **state)
{
	struct fixture *f = *state;

	play(f, " ....");
	assert_int_equal(play_race_cursor(f->dash.race) % 1000, 4);
	assert_false(f->dash.playing);
	play(f, "<end>.");
	assert_int_equal(play_race_cursor(f->dash.race), TEST_EVENTS);
}

static void a_walk_step_ends_behind_a_write(void **state)
{
	struct fixture *f = *state;
	uint64_t before = play_race_lane(f->dash.race, 0).io->write_pages;

	play(f, "w");
	assert_true(play_race_lane(f->dash.race, 0).io->write_pages > before);
}

static void seeking_there_and_back_is_where_it_was(void **state)
{
	struct fixture *f = *state;
	uint64_t cursor, written;

	play(f, " <s-right><s-right><s-right>");
	cursor = play_race_cursor(f->dash.race);
	written = play_race_lane(f->dash.race, 1).io->write_requests;
	assert_in_range(cursor, TEST_EVENTS * 29 / 100, TEST_EVENTS * 31 / 100);
	play(f, "<s-right><left><right><s-left>");
	assert_int_equal(play_race_cursor(f->dash.race), cursor);
	assert_int_equal(play_race_lane(f->dash.race, 1).io->write_requests, written);
	play(f, "<home>");
	assert_int_equal(trace_ns(f), 0);
	assert_int_equal(play_race_lane(f->dash.race, 1).io->write_requests, 0);
}

static void the_curve_does_not_depend_on_the_way(void **state)
{
	struct fixture *f = *state;
	static struct ui_history straight;

	play(f, "<end>");
	straight = f->dash.history;
	play(f, "<home><s-right><right><right><s-left><end><home><s-right><end>");
	assert_int_equal(straight.known, UI_HISTORY_STEPS + 1);
	assert_memory_equal(&straight, &f->dash.history, sizeof(straight));
}

static void g_goes_from_gap_to_gap(void **state)
{
	struct fixture *f = *state;

	play(f, "g");
	assert_int_equal(play_race_cursor(f->dash.race), 8001);
	play(f, "g");
	assert_int_equal(play_race_cursor(f->dash.race), 15001);
	play(f, "g");
	assert_int_equal(play_race_cursor(f->dash.race), 15001);
	assert_on_screen(f, "!");
}

static void lanes_are_picked_by_tab_and_number(void **state)
{
	struct fixture *f = *state;

	play(f, "<tab>");
	assert_int_equal(f->dash.selected, 1);
	play(f, "3<tab>");
	assert_int_equal(f->dash.selected, 0);
	play(f, "6");
	assert_int_equal(f->dash.selected, 0);
}

static void speed_has_ends(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 100; i++)
		ui_dash_key(&f->dash, '-');
	assert_true(ui_dash_speed(&f->dash) > 0);
	for (int i = 0; i < 100; i++)
		ui_dash_key(&f->dash, '+');
	assert_true(ui_dash_speed(&f->dash) >= 1000);
	play(f, "<frame 3>");
	assert_int_equal(play_race_cursor(f->dash.race), TEST_EVENTS);
}

static void help_lists_every_key_and_any_key_closes_it(void **state)
{
	struct fixture *f = *state;

	play(f, " ?");
	for (const struct ui_key_row *row = ui_dash_keys(); row->shown; row++)
		assert_on_screen(f, row->help);
	play(f, ".");
	assert_false(f->dash.help);
	play(f, "?q");
	assert_true(f->dash.quit);
}

static void wrong_scripts_are_refused(void **state)
{
	static const char *const wrong[] = { "<",
					     "<nokey>",
					     "<frame x>",
					     "<frame 0>",
					     "<resize 80>",
					     "<resize 0x5>",
					     "<resize 99999x5>",
					     "<a word that is far too long to be a key of any kind>" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		zr_error_clear();
		assert_int_equal(ui_script_play(wrong[i], &f->dash, &f->grid), ZR_USAGE);
	}
	zr_error_clear();
}

/* The smallest traces: every key and a few frames; what they do is right if nothing breaks. */
static void a_trace_of_one_event_plays(void **state)
{
	struct fixture *f = *state;
	char path[160];
	struct db *db;
	struct ui_dash *dash = calloc(1, sizeof(*dash));

	for (uint32_t events = 1; events <= 3; events++) {
		snprintf(path, sizeof(path), "%s/%u.zr", f->dir, events);
		assert_int_equal(test_trace_make(path, "6.12", events), 0);
		assert_int_equal(db_open(path, DB_READ, &db), 0);
		assert_int_equal(ui_dash_init(dash, db, policies, 2, &f->arena), 0);
		assert_int_equal(
			ui_script_play("<frame 3> .w<left><right><s-left><s-right><home><end>g<tab>6+-",
				       dash, &f->grid),
			0);
		ui_dash_draw(dash, &f->grid);
		assert_int_equal(play_race_cursor(dash->race), events);
		ui_dash_fini(dash);
		assert_int_equal(db_close(db), 0);
		unlink(path);
	}
	free(dash);
}

static void a_trace_without_events_is_refused_or_plays(void **state)
{
	struct fixture *f = *state;
	char path[160];
	struct db *db;
	struct ui_dash *dash = calloc(1, sizeof(*dash));
	enum zr_err err;

	snprintf(path, sizeof(path), "%s/none.zr", f->dir);
	assert_int_equal(test_trace_make(path, "6.12", 0), 0);
	assert_int_equal(db_open(path, DB_READ, &db), 0);
	err = ui_dash_init(dash, db, policies, 2, &f->arena);
	assert_true(err == ZR_NO_DATA || err == ZR_OK);
	if (!err)
		assert_int_equal(ui_script_play("<frame 3>.w<end><home>", dash, &f->grid), 0);
	zr_error_clear();
	ui_dash_fini(dash);
	assert_int_equal(db_close(db), 0);
	unlink(path);
	free(dash);
}

/* -------------------------------------------------------------------------------------------- screens */

static void every_size_draws(void **state)
{
	struct fixture *f = *state;

	play(f, " <s-right><s-right>");
	for (int w = 1; w <= 210; w += 7)
		for (int h = 1; h <= 70; h += 3) {
			assert_true(ui_grid_resize(&f->grid, w, h));
			ui_dash_draw(&f->dash, &f->grid);
		}
	f->dash.help = true;
	for (int h = 1; h <= 40; h++) {
		assert_true(ui_grid_resize(&f->grid, 62, h));
		ui_dash_draw(&f->dash, &f->grid);
	}
}

static void a_tiny_screen_says_what_it_needs(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 20x5>");
	assert_on_screen(f, "20x5 is too small");
	assert_on_screen(f, "q quits");
}

static void the_selected_lane_is_always_in_sight(void **state)
{
	struct fixture *f = *state;

	for (char key = '1'; key <= '6'; key++) {
		char title[16];

		ui_dash_key(&f->dash, key);
		snprintf(title, sizeof(title), "%c %.10s", key, policies[key - '1']);
		assert_on_screen(f, title);
	}
}

static void hostile_names_do_not_reach_the_screen_raw(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_true(ui_grid_resize(&f->grid, 140, 40));
	text = screen(f, false);
	for (const char *c = text; *c; c++)
		assert_false((unsigned char)*c < 0x20 && *c != '\n');
	assert_null(strstr(text, "\u202e"));
	assert_non_null(strstr(text, "\u4e16\u84ee"));
	assert_non_null(strstr(text, "-evil"));
	free(text);
}

static char *read_golden(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!in)
		return NULL;
	/* Screens hold no NUL, so this reads the whole file. */
	if (getdelim(&text, &size, '\0', in) < 0) {
		free(text);
		text = NULL;
	}
	fclose(in);
	return text;
}

static void write_golden(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void assert_golden(struct fixture *f, const char *name)
{
	char path[96], *wanted, *got = screen(f, true);

	snprintf(path, sizeof(path), "ui/screens/%s.golden", name);
	if (getenv("ZREEL_UPDATE_GOLDEN"))
		write_golden(path, got);
	wanted = read_golden(path);
	if (!wanted)
		fail_msg("%s is missing; ZREEL_UPDATE_GOLDEN=1 makes it", path);
	if (strcmp(wanted, got) != 0)
		fail_msg("the screen is not as in %s:\n%s", path, got);
	free(wanted);
	free(got);
}

static void golden_80x24(void **state)
{
	struct fixture *f = *state;

	play(f, " <s-right><s-right><s-right><s-right><s-right><s-right>w");
	assert_golden(f, "80x24");
}

static void golden_120x40(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 120x40> <end><s-left><s-left>2w");
	assert_golden(f, "120x40");
}

static void golden_80x24_ascii(void **state)
{
	struct fixture *f = *state;

	f->grid.ascii = true;
	play(f, " <s-right><s-right><s-right><s-right><s-right><s-right>w");
	assert_golden(f, "80x24-ascii");
}

static void golden_120x40_ascii(void **state)
{
	struct fixture *f = *state;

	f->grid.ascii = true;
	play(f, "<resize 120x40> <end><s-left><s-left>2w");
	assert_golden(f, "120x40-ascii");
}

static void golden_80x24_without_colours(void **state)
{
	struct fixture *f = *state;

	f->grid.mono = true;
	play(f, " <s-right><s-right><s-right><s-right><s-right><s-right>w");
	assert_golden(f, "80x24-mono");
}

static void golden_help(void **state)
{
	struct fixture *f = *state;

	play(f, " ?");
	assert_golden(f, "80x24-help");
}

static void golden_six_lanes(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 200x50> <s-right><s-right><s-right><s-right><s-right>4");
	assert_golden(f, "200x50-six");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(playing_follows_the_clock),
		TEST(a_pause_stops_the_clock_and_idles),
		TEST(a_frame_feeds_no_more_than_its_budget),
		TEST(the_end_stops_and_space_starts_over),
		TEST(a_step_is_one_event),
		TEST(a_walk_step_ends_behind_a_write),
		TEST(seeking_there_and_back_is_where_it_was),
		TEST(the_curve_does_not_depend_on_the_way),
		TEST(g_goes_from_gap_to_gap),
		TEST(lanes_are_picked_by_tab_and_number),
		TEST(speed_has_ends),
		TEST(help_lists_every_key_and_any_key_closes_it),
		TEST(wrong_scripts_are_refused),
		TEST(a_trace_of_one_event_plays),
		TEST(a_trace_without_events_is_refused_or_plays),
		TEST(every_size_draws),
		TEST(a_tiny_screen_says_what_it_needs),
		cmocka_unit_test_setup_teardown(the_selected_lane_is_always_in_sight, set_up_six,
						tear_down),
		cmocka_unit_test_setup_teardown(hostile_names_do_not_reach_the_screen_raw, set_up_hostile,
						tear_down),
		TEST(golden_80x24),
		TEST(golden_120x40),
		TEST(golden_80x24_ascii),
		TEST(golden_120x40_ascii),
		TEST(golden_80x24_without_colours),
		TEST(golden_help),
		cmocka_unit_test_setup_teardown(golden_six_lanes, set_up_six, tear_down),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
