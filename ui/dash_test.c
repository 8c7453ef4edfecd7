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
#include "ui/session.h"
#include "ui/test_golden.h"
#include "ui/test_trace.h"
#include "ui/verdict.h"

struct fixture {
	char dir[64], path[128];
	struct ui_dash dash;
	struct ui_grid grid;
};

static const char *const policies[] = { "unbatched",  "batched",    "plugged",
					"shrink-off", "hysteresis", "batched+pool=10%" };

static enum zr_err start(struct ui_dash *dash, const char *path, uint32_t n)
{
	const struct ui_pilot_setting setting = {
		.path = path, .runs = "/nowhere/runs.zr", .policies = policies, .n_policies = n
	};
	enum zr_err err = ui_dash_init(dash, &setting);

	if (!err)
		ui_script_settle(dash);
	return err;
}

static int open_fixture(void **state, const char *file, const char *kernel, uint32_t n)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	zr_error_clear();
	snprintf(f->dir, sizeof(f->dir), "/tmp/zreel-dash-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, file);
	if (test_trace_make(f->path, kernel, TEST_EVENTS) || start(&f->dash, f->path, n)) {
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

	ui_dash_fini(&f->dash);
	unlink(f->path);
	rmdir(f->dir);
	ui_grid_fini(&f->grid);
	free(f);
	return 0;
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
	return f->dash.view->clock_ns - f->dash.view->first_ns;
}

static void playing_follows_the_clock(void **state)
{
	struct fixture *f = *state;

	/* The whole trace takes 20 s, so it plays in real time or slower: 10 frames are a second of it. */
	while (ui_dash_speed(&f->dash) < 1)
		ui_dash_key(&f->dash, '+');
	play(f, "<frame>");
	assert_int_equal(trace_ns(f), UI_FRAME_NS);
	play(f, "<frame 9>");
	assert_int_equal(trace_ns(f), 10ull * UI_FRAME_NS);
	/* An event every millisecond, the first at 0. */
	assert_int_equal(f->dash.view->cursor, 1000);
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

static void the_end_stops_and_space_starts_over(void **state)
{
	struct fixture *f = *state;

	play(f, "<end>");
	assert_int_equal(f->dash.view->cursor, f->dash.view->events);
	assert_false(f->dash.playing);
	play(f, " ");
	assert_true(f->dash.playing);
	assert_true(f->dash.view->cursor < 1000);
}

/* ---------------------------------------------------------------------------------------------- keys */

static void a_step_is_one_event(void **state)
{
	struct fixture *f = *state;

	play(f, " ....");
	assert_int_equal(f->dash.view->cursor % 1000, 4);
	assert_false(f->dash.playing);
	play(f, "<end>.");
	assert_int_equal(f->dash.view->cursor, TEST_EVENTS);
}

static void a_walk_step_ends_behind_a_write(void **state)
{
	struct fixture *f = *state;
	uint64_t before = f->dash.view->lanes[0].io.write_pages;

	play(f, "w");
	assert_true(f->dash.view->lanes[0].io.write_pages > before);
}

static void seeking_there_and_back_is_where_it_was(void **state)
{
	struct fixture *f = *state;
	uint64_t cursor, written;

	play(f, " <s-right><s-right><s-right>");
	cursor = f->dash.view->cursor;
	written = f->dash.view->lanes[1].io.write_requests;
	assert_in_range(cursor, TEST_EVENTS * 29 / 100, TEST_EVENTS * 31 / 100);
	play(f, "<s-right><left><right><s-left>");
	assert_int_equal(f->dash.view->cursor, cursor);
	assert_int_equal(f->dash.view->lanes[1].io.write_requests, written);
	play(f, "<home>");
	assert_int_equal(trace_ns(f), 0);
	assert_int_equal(f->dash.view->lanes[1].io.write_requests, 0);
}

static void the_curve_does_not_depend_on_the_way(void **state)
{
	struct fixture *f = *state;
	static struct play_history straight;

	play(f, "<end>");
	straight = f->dash.view->history;
	play(f, "<home><s-right><right><right><s-left><end><home><s-right><end>");
	assert_int_equal(straight.known, PLAY_RACE_STEPS + 1);
	assert_memory_equal(&straight, &f->dash.view->history, sizeof(straight));
}

static void g_goes_from_gap_to_gap(void **state)
{
	struct fixture *f = *state;

	play(f, "g");
	assert_int_equal(f->dash.view->cursor, 8001);
	play(f, "g");
	assert_int_equal(f->dash.view->cursor, 15001);
	play(f, "g");
	assert_int_equal(f->dash.view->cursor, 15001);
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
	assert_int_equal(f->dash.view->cursor, TEST_EVENTS);
}

static void help_lists_every_key_and_any_key_closes_it(void **state)
{
	struct fixture *f = *state;

	play(f, " ?");
	for (const struct ui_key_row *row = ui_dash_keys(); row->shown; row++)
		assert_on_screen(f, row->help);
	play(f, ".");
	assert_int_equal(f->dash.mode, UI_MODE_RACE);
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
	struct ui_dash *dash = calloc(1, sizeof(*dash));

	for (uint32_t events = 1; events <= 3; events++) {
		snprintf(path, sizeof(path), "%s/%u.zr", f->dir, events);
		assert_int_equal(test_trace_make(path, "6.12", events), 0);
		assert_int_equal(start(dash, path, 2), 0);
		assert_int_equal(ui_script_play("<frame 3> .w,krb<left><right><s-left><s-right><home>g<tab>6+-"
						"fv<up><down>+-<enter><esc><esc><home><end>",
						dash, &f->grid),
				 0);
		ui_dash_draw(dash, &f->grid);
		assert_int_equal(dash->view->cursor, events);
		ui_dash_fini(dash);
		unlink(path);
	}
	free(dash);
}

static void a_trace_without_events_is_refused(void **state)
{
	struct fixture *f = *state;
	char path[160];
	struct ui_dash *dash = calloc(1, sizeof(*dash));

	snprintf(path, sizeof(path), "%s/none.zr", f->dir);
	assert_int_equal(test_trace_make(path, "6.12", 0), 0);
	assert_int_equal(start(dash, path, 2), ZR_NO_DATA);
	zr_error_clear();
	ui_dash_fini(dash);
	unlink(path);
	free(dash);
}

/* --------------------------------------------------------------------------------------------- lanes */

static const char *policy(const struct fixture *f, uint32_t lane)
{
	return f->dash.view->lanes[lane].policy.text;
}

static void lanes_are_edited_added_cloned_and_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t requests;

	play(f, " <s-right><s-right><s-right>2e+pool=1M<enter>");
	assert_string_equal(policy(f, 1), "batched+pool=1M");
	assert_true(f->dash.view->lanes[1].joined);
	requests = f->dash.view->lanes[2].io.write_requests;
	play(f, "aplugged<enter>");
	assert_int_equal(f->dash.view->n_lanes, 4);
	assert_int_equal(f->dash.view->lanes[3].io.write_requests, requests);
	play(f, "4c");
	assert_int_equal(f->dash.view->n_lanes, 5);
	assert_string_equal(policy(f, 4), "plugged");
	play(f, "1xxxxx");
	assert_int_equal(f->dash.view->n_lanes, 1);
	assert_on_screen(f, "the last lane stays");
}

static void a_policy_that_is_not_one_can_be_mended(void **state)
{
	struct fixture *f = *state;

	play(f, " anosuch<enter>");
	assert_int_equal(f->dash.mode, UI_MODE_PROMPT);
	assert_on_screen(f, "nosuch");
	play(f, "<clear>batched<enter>");
	assert_int_equal(f->dash.view->n_lanes, 4);
	play(f, "ax<esc>");
	assert_int_equal(f->dash.view->n_lanes, 4);
	assert_int_equal(f->dash.mode, UI_MODE_RACE);
}

static void there_are_six_lanes_at_most(void **state)
{
	struct fixture *f = *state;

	play(f, " cccc");
	assert_int_equal(f->dash.view->n_lanes, PLAY_RACE_LANES);
	assert_true(f->dash.is_error);
}

static void equal_lanes_are_never_told_apart(void **state)
{
	struct fixture *f = *state;

	play(f, " <end>c");
	for (int figure = 0; figure < UI_FIGURE_COUNT; figure++) {
		assert_int_equal(ui_verdict_of(f->dash.view, (enum ui_figure)figure, 3, 0), UI_NO_VERDICT);
		assert_int_equal(ui_verdict_of(f->dash.view, (enum ui_figure)figure, 3, UI_WINDOW_STEPS),
				 UI_NO_VERDICT);
	}
	/* Batching makes longer requests throughout; it does not change who is read back. */
	assert_int_equal(ui_verdict_of(f->dash.view, UI_FIGURE_PAGES_PER_REQUEST, 1, 0), UI_BETTER);
	assert_int_equal(ui_verdict_of(f->dash.view, UI_FIGURE_WRITES, 1, 0), UI_BETTER);
	assert_int_equal(ui_verdict_of(f->dash.view, UI_FIGURE_REFAULTS, 1, 0), UI_NO_VERDICT);
	play(f, "<home>");
	assert_int_equal(ui_verdict_of(f->dash.view, UI_FIGURE_WRITES, 1, 0), UI_NO_VERDICT);
}

/* ----------------------------------------------------------------------------------- places and lists */

static void bookmarks_are_set_visited_and_dropped(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	play(f, " <home><s-right>m<s-right><s-right>m<home>]");
	first = f->dash.bookmarks[0];
	assert_int_equal(f->dash.view->clock_ns, first);
	play(f, "]");
	assert_int_equal(f->dash.view->clock_ns, f->dash.bookmarks[1]);
	play(f, "]");
	assert_int_equal(f->dash.view->clock_ns, f->dash.bookmarks[1]);
	play(f, "[m");
	assert_int_equal(f->dash.n_bookmarks, 1);
	assert_true(f->dash.bookmarks[0] != first);
}

static void a_search_goes_behind_the_next_event_of_the_slot(void **state)
{
	struct fixture *f = *state;
	static uint8_t held[TEST_SLOTS];
	uint64_t at = 0;

	play(f, " <home><s-right><s-right>/77<enter>");
	memset(held, 0, sizeof(held));
	for (uint32_t i = 0; i < TEST_EVENTS && !at; i++) {
		struct db_event event = test_trace_event(i, held);

		if (i >= TEST_EVENTS / 5 && event.slot == 77 && event.kind != DB_SCAN && event.kind != DB_GAP)
			at = event.time_ns;
	}
	assert_int_equal(f->dash.view->clock_ns, at + 1);
	assert_int_equal(f->dash.map_cursor, 77);
	play(f, "/<clear>pid 100<enter>");
	assert_true(f->dash.view->clock_ns > at + 1);
	play(f, "/<clear>cgroup /job<enter>");
	assert_false(f->dash.is_error);
	play(f, "/<clear>nonsense<enter>");
	assert_true(f->dash.is_error);
	play(f, "/<clear>slot 999999<enter>");
	assert_true(f->dash.is_error);
}

static void the_list_of_a_slot_has_its_events(void **state)
{
	struct fixture *f = *state;
	static uint8_t held[TEST_SLOTS];
	uint32_t n = 0;

	play(f, " <home>/77<enter>f<enter>");
	memset(held, 0, sizeof(held));
	for (uint32_t i = 0; i < TEST_EVENTS; i++) {
		struct db_event event = test_trace_event(i, held);

		n += event.slot == 77 && event.kind != DB_SCAN && event.kind != DB_GAP;
	}
	assert_int_equal(f->dash.mode, UI_MODE_LIST);
	assert_true(f->dash.view->list.complete);
	assert_int_equal(f->dash.view->list.n, n);
	play(f, "<enter>");
	assert_int_equal(f->dash.view->clock_ns, f->dash.view->list.rows[0].time_ns + 1);
	play(f, "<esc>");
	assert_int_equal(f->dash.mode, UI_MODE_MAP);
}

static void the_map_zooms_in_to_single_slots_and_back(void **state)
{
	struct fixture *f = *state;
	struct ui_map_window window;

	play(f, " <end>f<down><down><right>");
	window = ui_dash_map_window(&f->dash);
	assert_int_equal(window.at, 0);
	assert_int_equal(window.slots, f->dash.view->map_all);
	play(f, "++++++++++++++++");
	window = ui_dash_map_window(&f->dash);
	assert_true(window.singles && window.slots == window.spots);
	assert_in_range(f->dash.map_cursor, window.at, window.at + window.slots - 1);
	assert_int_equal(f->dash.view->ask.map_at, window.at);
	play(f, "0<esc>");
	assert_int_equal(ui_dash_map_window(&f->dash).slots, f->dash.view->map_all);
}

static void the_mouse_seeks_picks_and_points(void **state)
{
	struct fixture *f = *state;

	play(f, " <click 40,22>");
	assert_in_range(trace_ns(f), 9900000000, 10400000000);
	play(f, "<click 60,3>");
	assert_int_equal(f->dash.selected, 2);
	play(f, "<click 10,14>");
	assert_int_equal(f->dash.mode, UI_MODE_MAP);
	assert_true(f->dash.map_cursor > 0);
	play(f, "<wheel-up 10,14>");
	assert_int_equal(f->dash.zoom, 1);
	play(f, "<wheel-down 10,14>");
	assert_int_equal(f->dash.zoom, 0);
}

static void a_session_comes_back(void **state)
{
	struct fixture *f = *state;
	char path[160], script[256];
	uint64_t clock_ns;

	snprintf(path, sizeof(path), "%s/s.session", f->dir);
	snprintf(script, sizeof(script), " <s-right><s-right>mcW<clear>%s<enter>", path);
	play(f, script);
	clock_ns = f->dash.view->clock_ns;
	play(f, "xxx1e+pool=2M<enter><end>m");
	snprintf(script, sizeof(script), "O<clear>%s<enter>", path);
	play(f, script);
	assert_false(f->dash.is_error);
	assert_int_equal(f->dash.view->n_lanes, 4);
	assert_string_equal(policy(f, 0), "unbatched");
	assert_string_equal(policy(f, 3), "unbatched");
	assert_int_equal(f->dash.view->clock_ns, clock_ns);
	assert_int_equal(f->dash.n_bookmarks, 1);
	unlink(path);
}

static void what_is_no_session_is_refused_and_kept(void **state)
{
	static const char *const wrong[] = {
		"",
		"something\n",
		"zreel session 1\n",
		"zreel session 1\nlane nosuch\n",
		"zreel session 1\nlane batched\nclock -1\n",
		"zreel session 1\nlane batched\nspeed nan\n",
		"zreel session 1\nlane batched\nselected 0\n",
		"zreel session 1\nlane batched\nbookmark 5\nbookmark 4\n",
		"zreel session 1\nlane batched\nnonsense 5\n",
	};
	struct fixture *f = *state;
	struct ui_session session;
	char path[160];

	snprintf(path, sizeof(path), "%s/s.session", f->dir);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		FILE *out = fopen(path, "w");

		fputs(wrong[i], out);
		fclose(out);
		zr_error_clear();
		assert_int_equal(ui_session_read(path, &session), ZR_BAD_TEXT);
		if (i < 2)
			assert_true(i == 0 || ui_session_save(&f->dash, path) == ZR_EXISTS);
	}
	zr_error_clear();
	unlink(path);
}

static void a_lane_is_stored_in_the_file_of_runs(void **state)
{
	struct fixture *f = *state;

	/* A folder that is not there: told, and the race goes on. */
	play(f, " <s-right>nmine<enter>");
	assert_true(f->dash.is_error);
	assert_false(f->dash.quit);
}

static void screens_are_written_in_three_formats(void **state)
{
	static const char *const wanted[][2] = {
		{ "a.txt", "why requests of" }, { "a.ans", "\x1b[0" }, { "a.svg", "</svg>" }
	};
	struct fixture *f = *state;

	play(f, " <end>v");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char path[160], script[256], *text;

		snprintf(path, sizeof(path), "%s/%s", f->dir, wanted[i][0]);
		snprintf(script, sizeof(script), "s<clear>%s<enter>", path);
		play(f, script);
		assert_false(f->dash.is_error);
		text = read_whole(path);
		assert_non_null(text);
		assert_non_null(strstr(text, wanted[i][1]));
		free(text);
		unlink(path);
	}
	play(f, "s<clear>/nowhere/at/all.svg<enter>");
	assert_true(f->dash.is_error);
}

/* ------------------------------------------------------------------------------------------- following */

static void a_recording_is_followed_from_before_its_first_event(void **state)
{
	struct fixture *f = *state;
	struct ui_dash *dash = calloc(1, sizeof(*dash));
	static uint8_t held[TEST_SLOTS];
	struct db_writer_options options = { .flush_every_ns = 100000000 };
	struct db_writer *writer;
	struct ui_pilot_setting setting = { .policies = policies, .n_policies = 2, .follow = true };
	char path[160];
	struct db *db;

	snprintf(path, sizeof(path), "%s/follow.zr", f->dir);
	setting.path = path;
	assert_int_equal(ui_dash_init(dash, &setting), 0);
	assert_int_equal(ui_script_play("<frame 7>", dash, &f->grid), 0);
	ui_dash_draw(dash, &f->grid);
	assert_false(dash->view->ready);
	assert_int_equal(db_open(path, DB_CREATE, &db), 0);
	assert_int_equal(test_trace_describe(db, "6.12"), 0);
	assert_int_equal(ui_script_play("<frame 7>", dash, &f->grid), 0);
	assert_false(dash->view->ready);
	assert_int_equal(db_writer_new(db, &options, &writer), 0);
	memset(held, 0, sizeof(held));
	for (uint32_t i = 0; i < TEST_EVENTS; i++) {
		struct db_event event = test_trace_event(i, held);

		assert_int_equal(db_writer_add(writer, &event), 0);
		if (i % 4000 != 3999)
			continue;
		assert_int_equal(db_writer_flush(writer), 0);
		assert_int_equal(ui_script_play("<frame 12>", dash, &f->grid), 0);
		assert_true(dash->view->ready);
		assert_int_equal(dash->view->events, i + 1);
		/* Live: it keeps up by itself. */
		assert_int_equal(dash->view->cursor, i + 1);
	}
	assert_int_equal(db_writer_free(writer), 0);
	play(f, "<end>");
	for (uint32_t lane = 0; lane < 2; lane++)
		assert_int_equal(dash->view->lanes[lane].counters.written_back_pages,
				 f->dash.view->lanes[lane].counters.written_back_pages);
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
	f->dash.mode = UI_MODE_HELP;
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

static void assert_golden_screen(struct fixture *f, const char *name)
{
	char *got = screen(f, true);

	assert_golden(name, got);
	free(got);
}

static void golden_80x24(void **state)
{
	struct fixture *f = *state;

	play(f, " <s-right><s-right><s-right><s-right><s-right><s-right>w");
	assert_golden_screen(f, "80x24");
}

static void golden_120x40(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 120x40> <end><s-left><s-left>2w");
	assert_golden_screen(f, "120x40");
}

static void golden_80x24_ascii(void **state)
{
	struct fixture *f = *state;

	f->grid.ascii = f->dash.ascii = true;
	play(f, " <s-right><s-right><s-right><s-right><s-right><s-right>w");
	assert_golden_screen(f, "80x24-ascii");
}

static void golden_120x40_ascii(void **state)
{
	struct fixture *f = *state;

	f->grid.ascii = f->dash.ascii = true;
	play(f, "<resize 120x40> <end><s-left><s-left>2w");
	assert_golden_screen(f, "120x40-ascii");
}

static void golden_80x24_without_colours(void **state)
{
	struct fixture *f = *state;

	f->grid.mono = f->dash.mono = true;
	play(f, " <s-right><s-right><s-right><s-right><s-right><s-right>w");
	assert_golden_screen(f, "80x24-mono");
}

static void golden_help(void **state)
{
	struct fixture *f = *state;

	play(f, " ?");
	assert_golden_screen(f, "80x24-help");
}

static void golden_six_lanes(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 200x60> <s-right><s-right><s-right><s-right><s-right>4m<s-right>");
	assert_golden_screen(f, "200x60-six");
}

static void golden_panels_of_80x24(void **state)
{
	struct fixture *f = *state;

	play(f, " <end><s-left><s-left>2v");
	assert_golden_screen(f, "80x24-why");
	play(f, "v");
	assert_golden_screen(f, "80x24-sizes");
	play(f, "v");
	assert_golden_screen(f, "80x24-time");
	play(f, "vf<down><down><right>+++++++++++");
	assert_golden_screen(f, "80x24-singles");
	play(f, "<enter>");
	assert_golden_screen(f, "80x24-list");
	play(f, "<esc><esc>e");
	assert_golden_screen(f, "80x24-prompt");
}

static void golden_panels_of_80x24_ascii(void **state)
{
	struct fixture *f = *state;

	f->grid.ascii = f->dash.ascii = true;
	play(f, " <end><s-left><s-left>2v");
	assert_golden_screen(f, "80x24-why-ascii");
	play(f, "v");
	assert_golden_screen(f, "80x24-sizes-ascii");
	play(f, "v");
	assert_golden_screen(f, "80x24-time-ascii");
	play(f, "vf<down><down><right>+++++++++++");
	assert_golden_screen(f, "80x24-singles-ascii");
}

/* There the map has gone up to make room for two panels; these are the others. */
static void golden_other_panels_of_120x40(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 120x40> <end><s-left><s-left>2vv");
	assert_golden_screen(f, "120x40-sizes-time");
	f->grid.ascii = f->dash.ascii = true;
	play(f, ".");
	assert_golden_screen(f, "120x40-sizes-time-ascii");
}

static void golden_200x60(void **state)
{
	struct fixture *f = *state;

	play(f, "<resize 200x60> <end><s-left><s-left>2w");
	assert_golden_screen(f, "200x60");
	f->grid.ascii = f->dash.ascii = true;
	play(f, ".");
	assert_golden_screen(f, "200x60-ascii");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(playing_follows_the_clock),
		TEST(a_pause_stops_the_clock_and_idles),
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
		TEST(a_trace_without_events_is_refused),
		TEST(lanes_are_edited_added_cloned_and_removed),
		TEST(a_policy_that_is_not_one_can_be_mended),
		TEST(there_are_six_lanes_at_most),
		TEST(equal_lanes_are_never_told_apart),
		TEST(bookmarks_are_set_visited_and_dropped),
		TEST(a_search_goes_behind_the_next_event_of_the_slot),
		TEST(the_list_of_a_slot_has_its_events),
		TEST(the_map_zooms_in_to_single_slots_and_back),
		TEST(the_mouse_seeks_picks_and_points),
		TEST(a_session_comes_back),
		TEST(what_is_no_session_is_refused_and_kept),
		TEST(a_lane_is_stored_in_the_file_of_runs),
		TEST(screens_are_written_in_three_formats),
		TEST(a_recording_is_followed_from_before_its_first_event),
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
		TEST(golden_panels_of_80x24),
		TEST(golden_panels_of_80x24_ascii),
		TEST(golden_other_panels_of_120x40),
		TEST(golden_200x60),
		cmocka_unit_test_setup_teardown(golden_six_lanes, set_up_six, tear_down),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
