/* SPDX-License-Identifier: MIT */
/*
 * zreel ui: the dashboard (a race, or a replay on a device as it goes) on a terminal, or, with --dump, one screen of it
 * as text after scripted keys.
 *
 * The loop draws, waits for a key until the next frame is due, and lets the time that really passed
 * pass in the dashboard. When nothing moves it waits without a timeout and takes no CPU.
 */
#include <stdlib.h>
#include <string.h>

#include "ui/commands.h"
#include "ui/dash_loop.h"
#include "ui/script.h"
#include "ui/session.h"
#include "ui/stop.h"
#include "ui/term.h"
#include "ui/text.h"

struct values {
	struct ui_list policies;
	struct ui_target target;
	bool ascii, follow, no_cpu, no_warm_up;
	uint32_t reps;
	const char *dump, *script, *size, *runs, *session, *yes_destroy, *pace;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "policy", 'p', UI_LIST, MEMBER(policies), "POLICY",
	  "a lane for this policy, up to six (as in replay)" },
	{ "follow", 'f', UI_FLAG, MEMBER(follow), NULL,
	  "FILE is still being recorded: keep up with it" },
	{ "on", 0, UI_TARGET, MEMBER(target), "null|device PATH",
	  "race in step without I/O (null), or watch a replay that is really done, as in replay" },
	{ "reps", 0, UI_COUNT, MEMBER(reps), "N", "repetitions on a device, for verdicts (1)" },
	{ "no-warm-up", 0, UI_FLAG, MEMBER(no_warm_up), NULL,
	  "with --reps, leave out the round that comes before them and is not kept" },
	{ "pace", 0, UI_TEXT, MEMBER(pace), "PACE", "on a device, as in replay (asap)" },
	{ "yes-destroy", 0, UI_TEXT, MEMBER(yes_destroy), "DEV",
	  "name the block device again: what it holds is lost" },
	{ "no-cpu", 0, UI_FLAG, MEMBER(no_cpu), NULL,
	  "on a device: do the I/O without the decompression work" },
	{ "runs", 0, UI_TEXT, MEMBER(runs), "FILE",
	  "where key n and replays on a device store (the trace's name + .runs)" },
	{ "session", 0, UI_TEXT, MEMBER(session), "FILE",
	  "lanes, place and bookmarks as stored by key W; FILE operand: another trace" },
	{ "ascii", 0, UI_FLAG, MEMBER(ascii), NULL,
	  "draw with ASCII only; the rule in locales without UTF-8" },
	{ "dump", 0, UI_MAYBE, MEMBER(dump), "[=text|ansi|svg]",
	  "needs no terminal: print the screen after the script" },
	{ "script", 0, UI_TEXT, MEMBER(script), "KEYS",
	  "with --dump: keys to play first, as in 'w<right><frame 10>'" },
	{ "size", 0, UI_TEXT, MEMBER(size), "WxH", "with --dump: columns and rows (80x24)" },
	{ 0 },
};

static const char *const default_policies[] = { "unbatched", "batched", "plugged" };

static enum zr_err play_and_print(struct ui_dash *dash, struct ui_grid *grid,
				  const struct values *values)
{
	enum ui_grid_format format = UI_GRID_TEXT;
	enum zr_err err = ZR_OK;

	ui_grid_format_parse(values->dump, &format); /* was checked */
	ui_script_settle(dash);
	if (values->script)
		err = ui_script_play(values->script, dash, grid);
	if (err)
		return err;
	ui_dash_draw(dash, grid);
	ui_grid_print_as(grid, format, stdout);
	return dash->err;
}

static enum zr_err dump_screen(struct ui_dash *dash, const struct values *values)
{
	const char *no_colour = getenv("NO_COLOR");
	struct ui_grid grid = { .ascii = dash->ascii, .mono = no_colour && no_colour[0] };
	int w = 80, h = 24;
	enum zr_err err;

	if (values->size)
		ui_parse_size(values->size, &w, &h); /* was checked */
	if (!ui_grid_resize(&grid, w, h))
		return zr_fail(ZR_NOMEM, "making a screen of %dx%d: out of memory", w, h);
	dash->mono = grid.mono;
	ui_dash_resize(dash, w, h);
	err = play_and_print(dash, &grid, values);
	ui_grid_fini(&grid);
	return err;
}

static enum zr_err check_policies(const struct values *values)
{
	for (uint32_t i = 0; i < values->policies.n; i++) {
		struct sim_policy policy;
		enum zr_err err = sim_policy_parse(values->policies.items[i], &policy);

		if (err)
			return err;
	}
	if (values->policies.n > PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "%u policies were given; the dashboard has %d lanes",
			       values->policies.n, PLAY_RACE_LANES);
	return ZR_OK;
}

static bool is_live(const struct values *values)
{
	return values->target.kind && strcmp(values->target.kind, "null") != 0;
}

static enum zr_err check_target(const struct values *values)
{
	if (is_live(values) && !values->target.device)
		return zr_fail(ZR_USAGE,
			       "--on %s: the dashboard races on null or shows a replay on a device",
			       values->target.kind);
	if (is_live(values) && (values->follow || values->session))
		return zr_fail(ZR_USAGE, "--follow and --session are for races, not for --on %s",
			       values->target.kind);
	if (!is_live(values) &&
	    (values->reps || values->no_warm_up || values->pace || values->yes_destroy || values->no_cpu))
		return zr_fail(ZR_USAGE,
			       "--reps, --no-warm-up, --pace, --yes-destroy and --no-cpu go with --on device");
	return ZR_OK;
}

static enum zr_err check(const struct ui_call *call)
{
	const struct values *values = call->values;
	enum zr_err err = check_policies(values);
	enum ui_grid_format format;
	int w, h;

	if (!err)
		err = check_target(values);
	if (err)
		return err;
	if (!values->dump && (values->script || values->size))
		return zr_fail(ZR_USAGE, "--script and --size go with --dump");
	if (values->dump && !ui_grid_format_parse(values->dump, &format))
		return zr_fail(ZR_USAGE, "--dump got '%s'; it takes text, ansi or svg",
			       values->dump);
	if (values->size && !ui_parse_size(values->size, &w, &h))
		return zr_fail(ZR_USAGE, "--size got '%s'; it takes columns and rows, as in 80x24",
			       values->size);
	if (!call->n_operands && !values->session)
		return zr_fail(ZR_USAGE, "FILE is missing; usage: zreel ui [OPTION]... FILE");
	if (values->session && values->policies.n)
		return zr_fail(ZR_USAGE, "--session brings its own lanes; leave out -p");
	return values->dump ? ZR_OK : ui_term_check();
}

/* "build.zr" -> "build.runs.zr". */
static const char *runs_path(const struct ui_call *call, const char *trace)
{
	size_t n = strlen(trace);
	char *path = zr_arena_alloc(call->arena, n + 16);

	if (n > 3 && strcmp(trace + n - 3, ".zr") == 0)
		n -= 3;
	if (path)
		snprintf(path, n + 16, "%.*s.runs.zr", (int)n, trace);
	return path;
}

static enum zr_err show(struct ui_dash *dash, const struct ui_pilot_setting *setting,
			const struct ui_session *session, const struct ui_call *call)
{
	const struct values *values = call->values;
	enum zr_err err = ui_dash_init(dash, setting);

	dash->ascii = values->ascii || ui_locale_is_ascii();
	if (!err && session)
		err = ui_session_apply(dash, session);
	if (!err)
		err = values->dump ? dump_screen(dash, values) : ui_dash_loop(dash);
	ui_dash_fini(dash);
	return err;
}

static void say_end(const char *runs, bool stopped)
{
	fputs(stopped ? "zreel ui: stopped early; what was done is marked as partial: zreel compare " :
			"zreel ui: done; see the runs side by side: zreel compare ",
	      stderr);
	ui_put_clean(stderr, runs);
	fputc('\n', stderr);
}

static enum zr_err show_live(struct ui_dash *dash, const struct ui_pilot_setting *race,
			     const struct values *values)
{
	struct ui_live_setting setting = {
		.path = race->path,
		.runs = race->runs,
		.how = { .policies = race->policies,
			 .n_policies = race->n_policies,
			 .target = PLAY_DEVICE,
			 .device = values->target.device,
			 .yes_destroy = values->yes_destroy,
			 .no_cpu = values->no_cpu,
			 .reps = values->reps,
			 .warm_up = values->reps > 1 && !values->no_warm_up },
	};
	bool stopped = false;
	enum zr_err err = values->pace ? play_pace_parse(values->pace, &setting.how.pace,
							 &setting.how.speed)
				       : ZR_OK, ended;

	if (!err)
		err = ui_dash_init_live(dash, &setting);
	if (err)
		return err;
	dash->ascii = values->ascii || ui_locale_is_ascii();
	/* Without a terminal there is nobody to watch. */
	if (values->dump)
		ui_live_run(dash->live);
	err = values->dump ? dump_screen(dash, values) : ui_dash_loop(dash);
	ended = ui_dash_end_live(dash, &stopped);
	if (!err && !ended && !values->dump)
		say_end(setting.runs, stopped);
	return err ? err : ended;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct ui_dash *dash = zr_arena_alloc(call->arena, sizeof(*dash));
	struct ui_session *session = NULL;
	const char *policies[PLAY_RACE_LANES];
	struct ui_pilot_setting setting = { .policies = default_policies,
					    .n_policies = sizeof(default_policies) /
							  sizeof(default_policies[0]),
					    .follow = values->follow };
	enum zr_err err = check(call);

	if (!err && values->session) {
		session = zr_arena_alloc(call->arena, sizeof(*session));
		err = session ? ui_session_read(values->session, session)
			      : zr_fail(ZR_NOMEM, "reading the session: out of memory");
	}
	if (err)
		return err;
	if (values->policies.n) {
		setting.policies = values->policies.items;
		setting.n_policies = values->policies.n;
	}
	for (uint32_t i = 0; session && i < session->n_lanes; i++)
		policies[i] = session->lanes[i];
	if (session) {
		setting.policies = policies;
		setting.n_policies = session->n_lanes;
	}
	setting.path = call->n_operands ? call->operands[0] : session->trace;
	setting.runs = values->runs ? values->runs : runs_path(call, setting.path);
	if (!dash || !setting.runs)
		return zr_fail(ZR_NOMEM, "starting the dashboard: out of memory");
	return is_live(values) ? show_live(dash, &setting, values) :
				 show(dash, &setting, session, call);
}

const struct ui_command ui_cmd_ui = {
	.name = "ui",
	.summary = "watch policies race side by side on the terminal",
	.operands = "FILE",
	.about = "Plays a replay of the trace under two or more policies in lock step: pool fill, "
		 "pages per\n"
		 "write request, refaults, why requests are short, and a map of the swap slots. "
		 "`?` lists the\n"
		 "keys. Without -p: unbatched, batched, plugged.",
	.example = "  zreel ui compile.zr\n"
		   "  zreel ui compile.zr -p batched -p batched+pool=10%\n"
		   "  zreel ui --follow running.zr\n"
		   "  zreel ui compile.zr -p unbatched -p batched --on device /tmp/swap.img --reps 5\n"
		   "  zreel ui compile.zr --dump=svg --size 120x40 --script '<frame 50>'",
	.options = options,
	.values_bytes = sizeof(struct values),
	.max_operands = 1,
	.run = run,
};
