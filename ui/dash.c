/* SPDX-License-Identifier: MIT */
/* The state of the dashboard and its time; see dash.h. */
#include "ui/dash.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double speeds[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,  0.5,	  1,  2,
				 5,	10,    20,    50,   100,  200,	500, 1000, 10000, 1e9 };

enum { N_SPEEDS = sizeof(speeds) / sizeof(speeds[0]), MESSAGE_FRAMES = 40 };

double ui_dash_speed(const struct ui_dash *dash)
{
	return speeds[dash->speed];
}

bool ui_dash_is_fastest(const struct ui_dash *dash)
{
	return dash->speed == N_SPEEDS - 1;
}

/* The nearest that there is. */
void ui_dash_set_speed(struct ui_dash *dash, double speed)
{
	dash->speed = 0;
	while (dash->speed + 1 < N_SPEEDS && speeds[dash->speed] < speed)
		dash->speed++;
}

/* --------------------------------------------------------------------------------------- saying */

void ui_dash_say(struct ui_dash *dash, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(dash->message, sizeof(dash->message), fmt, ap);
	va_end(ap);
	dash->is_error = false;
	dash->message_frames = MESSAGE_FRAMES;
}

void ui_dash_tell(struct ui_dash *dash)
{
	ui_dash_say(dash, "%s", zr_error_text());
	dash->is_error = true;
	zr_error_clear();
}

/* --------------------------------------------------------------------------------------- set-up */

/* The slowest speed at which the whole trace takes no more than a minute. */
static double fitting_speed(uint64_t span_ns)
{
	uint32_t i = 0;

	while (i + 2 < N_SPEEDS && speeds[i] * 60e9 < (double)span_ns)
		i++;
	return speeds[i];
}

enum zr_err ui_dash_init(struct ui_dash *dash, const struct ui_pilot_setting *setting)
{
	enum zr_err err;

	*dash = (struct ui_dash){
		.title = setting->path, .mode = UI_MODE_RACE, .playing = true, .w = 80, .h = 24
	};
	err = ui_pilot_new(setting, &dash->pilot);
	if (err)
		return err;
	dash->view = ui_pilot_view(dash->pilot);
	dash->target_ns = dash->view->clock_ns;
	ui_dash_set_speed(
		dash,
		setting->follow ? 1 : fitting_speed(dash->view->last_ns - dash->view->first_ns));
	/* What is followed is shown as it is now; the way there is the worker's. */
	if (setting->follow)
		ui_dash_order(dash,
			      &(struct ui_order){ .kind = UI_ORDER_GO, .time_ns = UINT64_MAX });
	return ZR_OK;
}

enum zr_err ui_dash_init_live(struct ui_dash *dash, const struct ui_live_setting *setting)
{
	*dash = (struct ui_dash){ .title = setting->path, .mode = UI_MODE_LIVE, .w = 80, .h = 24 };
	return ui_live_new(setting, &dash->live);
}

void ui_dash_fini(struct ui_dash *dash)
{
	ui_pilot_free(dash->pilot);
	dash->pilot = NULL;
}

enum zr_err ui_dash_end_live(struct ui_dash *dash, bool *stopped)
{
	enum zr_err err = ui_live_free(dash->live, stopped);

	dash->live = NULL;
	return err;
}

enum zr_err ui_dash_start(struct ui_dash *dash)
{
	return dash->live ? ui_live_start(dash->live) : ui_pilot_start(dash->pilot);
}

enum ui_mode ui_dash_home(const struct ui_dash *dash)
{
	return dash->live ? UI_MODE_LIVE : UI_MODE_RACE;
}

uint32_t ui_dash_lanes(const struct ui_dash *dash)
{
	return dash->live ? dash->live_view.n_lanes : dash->view->n_lanes;
}

void ui_dash_resize(struct ui_dash *dash, int w, int h)
{
	dash->w = w;
	dash->h = h;
}

/* ------------------------------------------------------------------------------------------ map */

/* With a slot a cell, a cell can show more of it; else two spots a cell, where colours tell them
 * apart. */
struct ui_map_window ui_dash_map_window(const struct ui_dash *dash)
{
	struct ui_layout layout = ui_layout_of(dash->w, dash->h, dash->panel);
	struct ui_map_window out = { 0 };
	uint64_t all = dash->view->map_all, cells;
	struct ui_rect map, spots;

	if (layout.too_small || !ui_layout_find(&layout, UI_PANEL_MAP, &map) || !all)
		return out;
	spots = ui_layout_spots(map);
	cells = (uint64_t)spots.w * (uint64_t)spots.h;
	if (!cells)
		return out;
	out.slots = all >> dash->zoom;
	if (out.slots < cells)
		out.slots = cells < all ? cells : all;
	out.singles = out.slots <= cells;
	out.halves = !out.singles && !dash->ascii && !dash->mono;
	out.spots = (uint32_t)(out.singles ? out.slots : out.halves ? 2 * cells : cells);
	if (out.spots > out.slots)
		out.spots = (uint32_t)out.slots;
	if (dash->map_cursor > out.slots / 2)
		out.at = dash->map_cursor - out.slots / 2;
	if (out.at > all - out.slots)
		out.at = all - out.slots;
	return out;
}

static bool shows_ages(const struct ui_dash *dash)
{
	struct ui_layout layout = ui_layout_of(dash->w, dash->h, dash->panel);
	struct ui_rect rect;

	return ui_layout_find(&layout, UI_PANEL_SIZES, &rect);
}

static void ask(struct ui_dash *dash)
{
	struct ui_map_window map = ui_dash_map_window(dash);
	struct ui_ask wanted = { .lane = dash->selected,
				 .map_at = map.at,
				 .map_slots = map.slots,
				 .spots = map.spots,
				 .map_cursor = dash->map_cursor,
				 .ages = shows_ages(dash) };

	if (wanted.lane == dash->view->ask.lane && wanted.map_at == dash->view->ask.map_at &&
	    wanted.map_slots == dash->view->ask.map_slots &&
	    wanted.spots == dash->view->ask.spots &&
	    wanted.map_cursor == dash->view->ask.map_cursor && wanted.ages == dash->view->ask.ages)
		return;
	ui_dash_order(dash, &(struct ui_order){ .kind = UI_ORDER_ASK, .ask = wanted });
}

/* ----------------------------------------------------------------------------------------- time */

void ui_dash_order(struct ui_dash *dash, const struct ui_order *order)
{
	dash->ordered = ui_pilot_order(dash->pilot, order);
}

void ui_dash_go(struct ui_dash *dash, uint64_t time_ns)
{
	dash->target_ns = time_ns;
	ui_dash_order(dash, &(struct ui_order){ .kind = UI_ORDER_GO, .time_ns = time_ns });
}

bool ui_dash_is_behind(const struct ui_dash *dash)
{
	return dash->view->busy || dash->view->executed != dash->ordered;
}

bool ui_dash_is_busy(const struct ui_dash *dash)
{
	if (dash->live)
		return !dash->live_view.over || dash->message_frames;
	return dash->playing || dash->view->follow || dash->message_frames ||
	       ui_dash_is_behind(dash);
}

static void take_live_view(struct ui_dash *dash)
{
	ui_live_look(dash->live, &dash->live_view);
	if (dash->live_view.said == dash->said)
		return;
	ui_dash_say(dash, "%s", dash->live_view.message);
	dash->is_error = dash->live_view.err != ZR_OK;
	dash->said = dash->live_view.said;
}

static void take_view(struct ui_dash *dash)
{
	const struct ui_view *view = ui_pilot_view(dash->pilot);

	dash->view = view;
	if (view->said != dash->said) {
		ui_dash_say(dash, "%s", view->message);
		dash->is_error = view->is_error;
		dash->said = view->said;
	}
	if (view->moved != dash->moved) {
		dash->map_cursor = view->map_cursor;
		dash->moved = view->moved;
	}
	if (view->ready && dash->selected >= view->n_lanes)
		dash->selected = view->n_lanes - 1;
	if (!ui_dash_is_behind(dash))
		dash->target_ns = view->clock_ns;
	if (view->err && !dash->err) {
		dash->err = zr_fail(view->err, "%s", view->message);
		dash->quit = true;
	}
}

static void play(struct ui_dash *dash, uint64_t elapsed_ns)
{
	double step_ns = fmin((double)elapsed_ns * ui_dash_speed(dash), 1e18);

	ui_dash_order(dash,
		      &(struct ui_order){ .kind = UI_ORDER_TICK, .time_ns = (uint64_t)step_ns });
}

void ui_dash_look(struct ui_dash *dash)
{
	if (dash->live) {
		take_live_view(dash);
		return;
	}
	take_view(dash);
	ask(dash);
}

void ui_dash_frame(struct ui_dash *dash, uint64_t elapsed_ns)
{
	if (dash->message_frames > 0)
		dash->message_frames--;
	if (dash->live) {
		take_live_view(dash);
		return;
	}
	take_view(dash);
	if (dash->view->ready && dash->view->clock_ns >= dash->view->end_ns &&
	    !dash->view->follow && dash->view->executed == dash->ordered)
		dash->playing = false;
	if (dash->playing && dash->view->ready)
		play(dash, elapsed_ns);
	if (dash->view->follow)
		ui_dash_order(dash,
			      &(struct ui_order){ .kind = UI_ORDER_POLL, .time_ns = elapsed_ns });
	ask(dash);
}

/* -------------------------------------------------------------------------------------- writing */

static enum zr_err write_grid(const struct ui_grid *grid, const char *path)
{
	FILE *out = fopen(path, "w");
	bool failed;

	if (!out)
		return zr_fail_errno(errno, "writing the screen to '%s'", path);
	ui_grid_print_as(grid, ui_grid_format_of(path), out);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return zr_fail(ZR_IO, "writing the screen to '%s': the file could not be written",
			       path);
	return ZR_OK;
}

enum zr_err ui_dash_write(const struct ui_dash *dash, const char *path)
{
	struct ui_grid grid = { .ascii = dash->ascii, .mono = dash->mono };
	enum zr_err err;

	if (!ui_grid_resize(&grid, dash->w, dash->h))
		return zr_fail(ZR_NOMEM, "writing the screen: out of memory");
	ui_dash_draw(dash, &grid);
	err = write_grid(&grid, path);
	ui_grid_fini(&grid);
	return err;
}
