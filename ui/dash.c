/* SPDX-License-Identifier: MIT */
/* The state of the dashboard, its keys and its time; see dash.h. */
#include "ui/dash.h"

#include <math.h>

static const double speeds[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,	1,
				 2,	5,     10,    20,   50,	  100,	200, 500, 1000, 10000 };

enum { N_SPEEDS = sizeof(speeds) / sizeof(speeds[0]) };

double ui_dash_speed(const struct ui_dash *dash)
{
	return speeds[dash->speed];
}

/* One past the last event's time, so that "up to the end" includes that event. */
static uint64_t end_ns(const struct ui_dash *dash)
{
	return dash->history.last_ns + (dash->history.last_ns < UINT64_MAX);
}

/* -------------------------------------------------------------------------------------------- set-up */

static uint32_t step_of(const struct ui_dash *dash, uint64_t time_ns)
{
	const struct ui_history *h = &dash->history;
	uint64_t step_ns = (h->last_ns - h->first_ns) / UI_HISTORY_STEPS;
	uint64_t since_ns = time_ns > h->first_ns ? time_ns - h->first_ns : 0;
	uint64_t step = step_ns ? since_ns / step_ns : 0;

	return step < UI_HISTORY_STEPS ? (uint32_t)step : UI_HISTORY_STEPS - 1;
}

static enum zr_err find_gaps(struct ui_dash *dash, struct db *trace)
{
	struct db_filter filter = { .kinds = 1u << DB_GAP, .host = -1 };
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = db_reader_new(trace, &filter, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch)
		for (uint32_t row = 0; row < batch->n; row++)
			dash->gap_at[step_of(dash, batch->time_ns[row])] = true;
	db_reader_free(reader);
	return err;
}

/* The slowest speed at which the whole trace takes no more than a minute. */
static uint32_t fitting_speed(uint64_t span_ns)
{
	uint32_t i = 0;

	while (i + 1 < N_SPEEDS && speeds[i] * 60e9 < (double)span_ns)
		i++;
	return i;
}

enum zr_err ui_dash_init(struct ui_dash *dash, struct db *trace, const char *const *policies, uint32_t n,
			 struct zr_arena *arena)
{
	enum zr_err err;

	*dash = (struct ui_dash){ .title = db_path(trace), .playing = true };
	dash->page_size = (uint64_t)db_env_int(trace, 0, DB_ENV_PAGE_SIZE, 4096);
	err = db_env_get(trace, 0, DB_ENV_KERNEL, arena, &dash->kernel);
	if (!err)
		err = play_race_new(trace, policies, n, &dash->race);
	if (err)
		return err;
	ui_history_init(&dash->history, play_race_first_ns(dash->race), play_race_last_ns(dash->race));
	dash->clock_ns = dash->goal_ns = dash->history.first_ns;
	dash->next_border = 1;
	dash->speed = fitting_speed(dash->history.last_ns - dash->history.first_ns);
	return find_gaps(dash, trace);
}

void ui_dash_fini(struct ui_dash *dash)
{
	play_race_free(dash->race);
	dash->race = NULL;
}

/* ---------------------------------------------------------------------------------------------- time */

static void pass_borders(struct ui_dash *dash)
{
	while (dash->next_border <= UI_HISTORY_STEPS &&
	       ui_history_border_ns(&dash->history, dash->next_border) <= dash->clock_ns) {
		uint64_t border_ns = ui_history_border_ns(&dash->history, dash->next_border);
		struct ui_totals totals = ui_totals_now(dash->race, border_ns);

		ui_history_keep(&dash->history, dash->next_border++, &totals);
	}
}

/* One leg of the way to the goal: up to the next border of the history. True if the race got there. */
static bool advance_leg(struct ui_dash *dash, uint64_t budget)
{
	uint64_t until_ns = dash->goal_ns;

	if (dash->next_border <= UI_HISTORY_STEPS) {
		uint64_t border_ns = ui_history_border_ns(&dash->history, dash->next_border);

		if (border_ns < until_ns)
			until_ns = border_ns;
	}
	if (!play_race_advance(dash->race, until_ns, budget)) {
		if (play_race_now_ns(dash->race) > dash->clock_ns)
			dash->clock_ns = play_race_now_ns(dash->race);
		return false;
	}
	dash->clock_ns = until_ns;
	pass_borders(dash);
	return true;
}

static void advance(struct ui_dash *dash)
{
	uint64_t budget = UI_FRAME_EVENTS / play_race_lanes(dash->race);
	uint64_t end = play_race_cursor(dash->race) + budget;

	while (dash->clock_ns < dash->goal_ns && play_race_cursor(dash->race) < end)
		if (!advance_leg(dash, end - play_race_cursor(dash->race)))
			return;
}

bool ui_dash_is_behind(const struct ui_dash *dash)
{
	return dash->clock_ns < dash->goal_ns;
}

bool ui_dash_is_busy(const struct ui_dash *dash)
{
	return dash->playing || ui_dash_is_behind(dash);
}

void ui_dash_frame(struct ui_dash *dash, uint64_t elapsed_ns)
{
	if (dash->playing && !ui_dash_is_behind(dash)) {
		double step_ns = fmin((double)elapsed_ns * ui_dash_speed(dash), 1e18);
		uint64_t left_ns = end_ns(dash) - dash->clock_ns;

		dash->goal_ns += step_ns < (double)left_ns ? (uint64_t)step_ns : left_ns;
	}
	advance(dash);
	if (dash->clock_ns >= end_ns(dash))
		dash->playing = false;
}

static void go_to(struct ui_dash *dash, uint64_t time_ns)
{
	if (time_ns < dash->clock_ns) {
		dash->err = play_race_seek(dash->race, dash->history.first_ns);
		dash->quit = dash->quit || dash->err;
		dash->clock_ns = dash->history.first_ns;
		dash->next_border = 1;
	}
	dash->goal_ns = time_ns;
}

/* Where a seek starts from: the goal, so that several quick seeks add up. */
static void seek_by(struct ui_dash *dash, int percent)
{
	uint64_t first = dash->history.first_ns, span = end_ns(dash) - first;
	uint64_t step = span / 100 * (uint64_t)(percent < 0 ? -percent : percent) + 1;
	uint64_t at = dash->goal_ns - first;

	if (percent < 0)
		at = at > step ? at - step : 0;
	else
		at = span - at > step ? at + step : span;
	go_to(dash, first + at);
}

/* ---------------------------------------------------------------------------------------------- keys */

static void toggle_play(struct ui_dash *dash, int key)
{
	(void)key;
	dash->playing = !dash->playing;
	if (dash->playing && dash->clock_ns >= end_ns(dash))
		go_to(dash, dash->history.first_ns);
}

/* After a step the race stands at an event, and the clock with it. */
static void stepped(struct ui_dash *dash, bool moved)
{
	dash->playing = false;
	if (play_race_now_ns(dash->race) > dash->clock_ns)
		dash->clock_ns = play_race_now_ns(dash->race);
	if (!moved)
		dash->clock_ns = end_ns(dash);
	dash->goal_ns = dash->clock_ns;
	pass_borders(dash);
}

static void step_event(struct ui_dash *dash, int key)
{
	(void)key;
	stepped(dash, play_race_step(dash->race));
}

static void step_walk(struct ui_dash *dash, int key)
{
	(void)key;
	stepped(dash, play_race_step_walk(dash->race));
}

static void change_speed(struct ui_dash *dash, int key)
{
	bool faster = key == '+' || key == '=';

	if (faster && dash->speed + 1 < N_SPEEDS)
		dash->speed++;
	else if (!faster && dash->speed > 0)
		dash->speed--;
}

static void seek_little(struct ui_dash *dash, int key)
{
	seek_by(dash, key == UI_KEY_LEFT || key == 'h' ? -1 : 1);
}

static void seek_far(struct ui_dash *dash, int key)
{
	seek_by(dash, key == UI_KEY_SHIFT_LEFT || key == 'H' ? -10 : 10);
}

static void seek_end(struct ui_dash *dash, int key)
{
	go_to(dash, key == UI_KEY_HOME ? dash->history.first_ns : end_ns(dash));
}

static void next_gap(struct ui_dash *dash, int key)
{
	uint64_t gap_ns;

	(void)key;
	dash->playing = false;
	/* One nanosecond on, so that the gap is behind the cursor and the next `g` finds the next. */
	if (play_race_next_gap(dash->race, &gap_ns) && gap_ns + 1 > dash->clock_ns)
		go_to(dash, gap_ns + 1);
}

static void next_lane(struct ui_dash *dash, int key)
{
	(void)key;
	dash->selected = (dash->selected + 1) % play_race_lanes(dash->race);
}

static void pick_lane(struct ui_dash *dash, int key)
{
	uint32_t lane = (uint32_t)(key - '1');

	if (lane < play_race_lanes(dash->race))
		dash->selected = lane;
}

static void toggle_help(struct ui_dash *dash, int key)
{
	(void)key;
	dash->help = !dash->help;
}

static void quit(struct ui_dash *dash, int key)
{
	(void)key;
	dash->quit = true;
}

static const struct ui_key_row key_rows[] = {
	{ { ' ' }, "space", "play, pause", toggle_play },
	{ { '.' }, ".", "one event on", step_event },
	{ { 'w' }, "w", "to the end of the next walk that writes", step_walk },
	{ { '+', '=', '-' }, "+ -", "faster, slower", change_speed },
	{ { UI_KEY_LEFT, UI_KEY_RIGHT, 'h', 'l' }, "left right", "1% back, on (also h l)", seek_little },
	{ { UI_KEY_SHIFT_LEFT, UI_KEY_SHIFT_RIGHT, 'H', 'L' },
	  "shift left right",
	  "10% back, on (also H L)",
	  seek_far },
	{ { UI_KEY_HOME, UI_KEY_END }, "home end", "to the start, to the end", seek_end },
	{ { 'g' }, "g", "to the next gap (lost events)", next_gap },
	{ { UI_KEY_TAB }, "tab", "next lane", next_lane },
	{ { '1', '2', '3' }, "1 2 3", "pick a lane", pick_lane },
	{ { '4', '5', '6' }, "4 5 6", "pick a lane", pick_lane },
	{ { '?' }, "?", "this help", toggle_help },
	{ { 'q' }, "q", "quit", quit },
	{ .shown = NULL },
};

const struct ui_key_row *ui_dash_keys(void)
{
	return key_rows;
}

static bool row_has(const struct ui_key_row *row, int key)
{
	for (int i = 0; i < 4 && row->keys[i]; i++)
		if (row->keys[i] == key)
			return true;
	return false;
}

void ui_dash_key(struct ui_dash *dash, int key)
{
	/* Any key but q closes the help, and does nothing else. */
	if (dash->help && key != 'q') {
		dash->help = false;
		return;
	}
	for (const struct ui_key_row *row = key_rows; row->shown; row++)
		if (row_has(row, key)) {
			row->act(dash, key);
			return;
		}
}
