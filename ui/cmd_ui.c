/* SPDX-License-Identifier: MIT */
/*
 * zreel ui: the dashboard on a terminal, or, with --dump, one screen of it as text after scripted keys.
 *
 * The loop draws, waits for a key until the next frame is due, and lets the time that really passed pass in
 * the dashboard. When nothing moves it waits without a timeout and takes no CPU.
 */
#include <stdlib.h>
#include <string.h>

#include "ui/commands.h"
#include "ui/dash.h"
#include "ui/script.h"
#include "ui/stop.h"
#include "ui/term.h"
#include "ui/text.h"

struct values {
	struct ui_list policies;
	bool ascii, dump;
	const char *script, *size;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "policy", 'p', UI_LIST, MEMBER(policies), "POLICY",
	  "a lane for this policy, up to six (as in replay)" },
	{ "ascii", 0, UI_FLAG, MEMBER(ascii), NULL,
	  "draw with ASCII only; the rule in locales without UTF-8" },
	{ "dump", 0, UI_FLAG, MEMBER(dump), NULL,
	  "needs no terminal: print the screen after the script" },
	{ "script", 0, UI_TEXT, MEMBER(script), "KEYS",
	  "with --dump: keys to play first, as in 'w<right><frame 10>'" },
	{ "size", 0, UI_TEXT, MEMBER(size), "WxH", "with --dump: columns and rows (80x24)" },
	{ 0 },
};

static const char *const default_policies[] = { "unbatched", "batched", "plugged" };

static enum zr_err dump_screen(struct ui_dash *dash, const struct values *values)
{
	struct ui_grid grid = { .ascii = values->ascii || ui_locale_is_ascii() };
	int w = 80, h = 24;
	enum zr_err err = ZR_OK;

	if (values->size)
		ui_parse_size(values->size, &w, &h); /* was checked */
	if (!ui_grid_resize(&grid, w, h))
		return zr_fail(ZR_NOMEM, "making a screen of %dx%d: out of memory", w, h);
	if (values->script)
		err = ui_script_play(values->script, dash, &grid);
	if (!err) {
		ui_dash_draw(dash, &grid);
		ui_grid_print(&grid, false, stdout);
	}
	ui_grid_fini(&grid);
	return err;
}

/* The grid follows the terminal's size. */
static enum zr_err fit(struct ui_grid *grid, const struct ui_term *term)
{
	int w, h;

	ui_term_size(term, &w, &h);
	if (!ui_grid_resize(grid, w, h))
		return zr_fail(ZR_NOMEM, "resizing the screen to %dx%d: out of memory", w, h);
	return ZR_OK;
}

/* Waits until a frame is due, or for a key that comes before it. */
static enum ui_event wait_frame(struct ui_term *term, const struct ui_dash *dash, uint64_t due_ns,
				int *key)
{
	uint64_t now_ns = ui_monotonic_ns();

	if (!ui_dash_is_busy(dash))
		return ui_term_wait(term, -1, key);
	return ui_term_wait(term, due_ns > now_ns ? (int64_t)(due_ns - now_ns) : 0, key);
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static enum zr_err loop(struct ui_dash *dash, struct ui_term *term, struct ui_grid *grid)
{
	enum zr_err err = fit(grid, term);
	uint64_t last_ns = ui_monotonic_ns();

	while (!err && !dash->quit) {
		bool was_busy = ui_dash_is_busy(dash);
		enum ui_event event;
		uint64_t now_ns;
		int key = UI_KEY_NONE;

		ui_dash_draw(dash, grid);
		ui_term_show(term, grid);
		event = wait_frame(term, dash, last_ns + UI_FRAME_NS, &key);
		now_ns = ui_monotonic_ns();
		if (event == UI_EVENT_CLOSED)
			return ZR_OK;
		if (event == UI_EVENT_RESIZE)
			err = fit(grid, term);
		if (event == UI_EVENT_KEY)
			ui_dash_key(dash, key);
		/* The time of a pause has not passed for the race, nor that of a stopped program. */
		ui_dash_frame(dash, was_busy ? shorter(now_ns - last_ns, 5 * UI_FRAME_NS) : 0);
		last_ns = now_ns;
	}
	return err ? err : dash->err;
}

static enum zr_err run_on_terminal(struct ui_dash *dash, struct ui_term *term,
				   const struct values *values)
{
	struct ui_grid grid = {
		.ascii = values->ascii || ui_locale_is_ascii(),
		.mono = ui_term_is_mono(term),
	};
	enum zr_err err = loop(dash, term, &grid);

	ui_grid_fini(&grid);
	return err;
}

static enum zr_err show(struct ui_dash *dash, const struct values *values)
{
	struct ui_term *term;
	enum zr_err err;

	if (values->dump)
		return dump_screen(dash, values);
	err = ui_term_open(&term);
	if (err)
		return err;
	err = run_on_terminal(dash, term, values);
	ui_term_close(term);
	return err;
}

static enum zr_err check(const struct values *values)
{
	int w, h;

	for (uint32_t i = 0; i < values->policies.n; i++) {
		struct sim_policy policy;
		enum zr_err err = sim_policy_parse(values->policies.items[i], &policy);

		if (err)
			return err;
	}
	if (values->policies.n > PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "%u policies were given; the dashboard has %d lanes",
			       values->policies.n, PLAY_RACE_LANES);
	if (!values->dump && (values->script || values->size))
		return zr_fail(ZR_USAGE, "--script and --size go with --dump");
	if (values->size && !ui_parse_size(values->size, &w, &h))
		return zr_fail(ZR_USAGE, "--size got '%s'; it takes columns and rows, as in 80x24",
			       values->size);
	return values->dump ? ZR_OK : ui_term_check();
}

static enum zr_err race(struct db *trace, const struct ui_call *call)
{
	const struct values *values = call->values;
	struct ui_list policies = values->policies;
	struct ui_dash *dash = zr_arena_alloc(call->arena, sizeof(*dash));
	enum zr_err err;

	if (!dash)
		return zr_fail(ZR_NOMEM, "starting the dashboard: out of memory");
	if (policies.n == 0) {
		policies.items = (const char **)default_policies;
		policies.n = sizeof(default_policies) / sizeof(default_policies[0]);
	}
	err = ui_dash_init(dash, trace, policies.items, policies.n, call->arena);
	if (!err)
		err = show(dash, values);
	ui_dash_fini(dash);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	struct db *trace;
	enum zr_err err = check(call->values), closed;

	if (err)
		return err;
	err = db_open(call->operands[0], DB_READ, &trace);
	if (err)
		return err;
	err = race(trace, call);
	closed = db_close(trace);
	return err ? err : closed;
}

const struct ui_command ui_cmd_ui = {
	.name = "ui",
	.summary = "watch policies race side by side on the terminal",
	.operands = "FILE",
	.about =
		"Plays a replay of the trace under two or more policies in lock step: pool fill, pages per\n"
		"write request, refaults, and a map of the swap slots. `?` lists the keys.\n"
		"Without -p: unbatched, batched, plugged.",
	.example = "  zreel ui compile.zr\n"
		   "  zreel ui compile.zr -p batched -p batched+pool=10%\n"
		   "  zreel ui compile.zr --dump --size 120x40 --script '<frame 50>'",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
