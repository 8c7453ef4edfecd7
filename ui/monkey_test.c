/* SPDX-License-Identifier: MIT */
/*
 * A monkey at the dashboard: random keys, clicks and sizes, the same ones every time. Whatever it
 * does, every screen can be drawn, holds nothing but characters that may be shown, and the
 * dashboard goes on. ZREEL_MONKEY=N lets it do N steps instead of the few thousand of every day;
 * build with SAN=1 to see more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/dash.h"
#include "ui/script.h"
#include "ui/test_trace.h"

enum { STEPS = 10000 };

static uint32_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545f4914f6cdd1d >> 32);
}

static int random_below(uint64_t *state, int end)
{
	return (int)(random_next(state) % (uint32_t)end);
}

/* A key of the table more often than any other. It must not quit; and what it types into a prompt
 * for a file must stay in this folder, so no slash and nothing that clears the name. */
static int random_key(uint64_t *seed, const struct ui_dash *dash)
{
	static const int others[] = { UI_KEY_ENTER, UI_KEY_ESCAPE, UI_KEY_BACKSPACE,
				      UI_KEY_UP,    UI_KEY_DOWN,   0x80,
				      0xff,	    UI_KEY_NONE,   '\b',
				      999 };
	const struct ui_key_row *rows = ui_dash_keys();
	int n = 0, key;

	while (rows[n].shown)
		n++;
	if (random_below(seed, 4) == 0)
		key = others[random_below(seed, (int)(sizeof(others) / sizeof(others[0])))];
	else if (random_below(seed, 5) == 0)
		key = ' ' + random_below(seed, 95);
	else
		key = rows[random_below(seed, n)].keys[random_below(seed, 3)];
	if (key == 'q' || (dash->mode == UI_MODE_PROMPT && (key == '/' || key == UI_KEY_CLEAR)))
		return UI_KEY_ESCAPE;
	return key;
}

static void resize(uint64_t *seed, struct ui_dash *dash, struct ui_grid *grid)
{
	static const int sizes[][2] = { { 80, 24 }, { 20, 5 },	{ 200, 60 },
					{ 1, 1 },   { 60, 18 }, { 120, 40 } };
	int i = random_below(seed, 12);
	int w = i < 6 ? sizes[i][0] : 1 + random_below(seed, 220),
	    h = i < 6 ? sizes[i][1] : 1 + random_below(seed, 70);

	assert_true(ui_grid_resize(grid, w, h));
	ui_dash_resize(dash, w, h);
}

static void act(uint64_t *seed, struct ui_dash *dash, struct ui_grid *grid)
{
	int what = random_below(seed, 20);

	if (what == 0) {
		resize(seed, dash, grid);
	} else if (what == 1) {
		const struct ui_mouse mouse = { .kind = (enum ui_mouse_kind)random_below(seed, 3),
						.x = random_below(seed, grid->w + 3) - 1,
						.y = random_below(seed, grid->h + 3) - 1 };

		ui_dash_mouse(dash, &mouse);
	} else if (what == 2) {
		grid->ascii = dash->ascii = random_below(seed, 2);
		grid->mono = dash->mono = random_below(seed, 2);
	} else {
		ui_dash_key(dash, random_key(seed, dash));
	}
	/* Some keys come before the worker has done anything. */
	if (random_below(seed, 3) == 0)
		return;
	ui_dash_frame(dash, (uint64_t)random_below(seed, 300) * 1'000'000);
	ui_script_settle(dash);
}

static void check_screen(const struct ui_dash *dash, struct ui_grid *grid)
{
	ui_dash_draw(dash, grid);
	for (int i = 0; i < grid->w * grid->h; i++) {
		uint32_t code = grid->cells[i].code;

		if (code && (code < ' ' || code == 127 || (grid->ascii && code > 126)))
			fail_msg("U+%04x is on the screen", code);
	}
}

static void remove_all(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(path);
}

static void whatever_is_pressed_the_dashboard_goes_on(void **state)
{
	static const char *const policies[] = { "unbatched", "batched", "plugged" };
	const struct ui_pilot_setting setting = {
		.path = "t.zr", .runs = "runs.zr", .policies = policies, .n_policies = 3
	};
	const char *wanted = getenv("ZREEL_MONKEY");
	long steps = wanted ? strtol(wanted, NULL, 10) : STEPS;
	char dir[] = "/tmp/zreel-monkey-XXXXXX", home[4096];
	struct ui_dash *dash = calloc(1, sizeof(*dash));
	struct ui_grid grid = { 0 };
	uint64_t seed = 20261130;

	(void)state;
	assert_non_null(getcwd(home, sizeof(home)));
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(test_trace_make("t.zr", "6.12", 2000), 0);
	assert_int_equal(ui_dash_init(dash, &setting), 0);
	assert_true(ui_grid_resize(&grid, 80, 24));
	for (long i = 0; i < steps; i++) {
		act(&seed, dash, &grid);
		check_screen(dash, &grid);
		assert_false(dash->quit);
	}
	ui_dash_fini(dash);
	ui_grid_fini(&grid);
	free(dash);
	assert_int_equal(chdir(home), 0);
	remove_all(dir);
}

/* The same through the thread: orders come while it works, and it ends in the middle of it. */
static void the_worker_can_be_interrupted_at_any_time(void **state)
{
	static const char *const policies[] = { "unbatched", "batched" };
	struct ui_pilot_setting setting = { .runs = "/nowhere",
					    .policies = policies,
					    .n_policies = 2 };
	char path[] = "/tmp/zreel-monkey-XXXXXX", file[64];
	struct ui_grid grid = { 0 };
	uint64_t seed = 7;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/t.zr", path);
	assert_int_equal(test_trace_make(file, "6.12", TEST_EVENTS), 0);
	setting.path = file;
	assert_true(ui_grid_resize(&grid, 80, 24));
	for (int round = 0; round < 20; round++) {
		struct ui_dash *dash = calloc(1, sizeof(*dash));

		assert_int_equal(ui_dash_init(dash, &setting), 0);
		assert_int_equal(ui_pilot_start(dash->pilot), 0);
		for (int i = random_below(&seed, 60); i > 0; i--) {
			static const char keys[] = " .wg*rkbcx23v";

			ui_dash_key(dash, keys[random_below(&seed, sizeof(keys) - 1)]);
			ui_dash_frame(dash, UI_FRAME_NS);
			check_screen(dash, &grid);
		}
		ui_dash_fini(dash);
		free(dash);
	}
	ui_grid_fini(&grid);
	remove_all(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_pressed_the_dashboard_goes_on),
		cmocka_unit_test(the_worker_can_be_interrupted_at_any_time),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
