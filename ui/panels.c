/* SPDX-License-Identifier: MIT */
/*
 * What the dashboard looks like: the frame around the panels (layout.h says where things are).
 *
 * Panels read the dashboard and its view and write nothing but cells. All sizes follow from the
 * grid, so a resize is just the next draw; whatever does not fit is cut, never wrapped.
 */
#include "ui/panels.h"

#include <stdio.h>
#include <string.h>

#include "ui/text.h"

struct ui_pen ui_panel_title(struct ui_grid *grid, struct ui_rect rect, int row, const char *title)
{
	struct ui_pen pen = ui_pen_at(grid, rect, row);

	if (row < rect.h)
		ui_grid_fill(grid, (struct ui_rect){ rect.x, rect.y + row, rect.w, 1 },
			     ui_glyph_cell(grid, UI_GLYPH_LINE, UI_ROLE_DIM));
	ui_pen_text(&pen, UI_ROLE_BOLD, title);
	ui_pen_text(&pen, UI_ROLE_NORMAL, " ");
	return pen;
}

/* --------------------------------------------------------------------------------------- header */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *state_name(const struct ui_dash *dash)
{
	const struct ui_view *view = dash->view;

	if (view->searching)
		return "searching";
	if (dash->playing)
		return view->follow && view->clock_ns >= view->end_ns ? "live" : "playing";
	return view->clock_ns < view->goal_ns ? "seeking" : "paused";
}

static void put_state(struct ui_grid *grid, struct ui_pen *pen, const struct ui_dash *dash)
{
	const struct ui_view *view = dash->view;
	uint64_t clock_ns = view->clock_ns < view->last_ns ? view->clock_ns : view->last_ns;
	char state[160], speed[24] = "max";

	if (!ui_dash_is_fastest(dash))
		snprintf(speed, sizeof(speed), "x%g", ui_dash_speed(dash));
	snprintf(state, sizeof(state), "%s %s  %s / %s ", state_name(dash), speed,
		 ui_clock(clock_ns - view->first_ns).text,
		 ui_clock(view->last_ns - view->first_ns).text);
	pen->end = grid->w;
	ui_grid_put(
		grid, pen->end - (int)strlen(state) - 2, pen->y,
		ui_glyph_cell(grid, dash->playing ? UI_GLYPH_PLAY : UI_GLYPH_PAUSE, UI_ROLE_BAR));
	ui_pen_right(pen, UI_ROLE_BAR, state);
}

static void draw_live_header(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	const struct ui_live_view *view = &dash->live_view;
	struct ui_pen pen = ui_pen_at(grid, rect, 0);
	char state[32];

	snprintf(state, sizeof(state), "%s %.0f%% ", ui_live_state(view), 100 * ui_live_done(view));
	ui_grid_fill(grid, rect, (struct ui_cell){ ' ', UI_ROLE_BAR, 0 });
	pen.end -= (int)sizeof(state) / 2;
	ui_pen_printf(&pen, UI_ROLE_BAR, " zreel  %s  live on %s", base_name(dash->title),
		      view->target);
	pen.end = grid->w;
	ui_pen_right(&pen, UI_ROLE_BAR, state);
}

static void draw_header(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	enum { STATE_W = 44 };
	const struct ui_view *view = dash->view;
	struct ui_pen pen = ui_pen_at(grid, rect, 0);

	ui_grid_fill(grid, rect, (struct ui_cell){ ' ', UI_ROLE_BAR, 0 });
	pen.end -= view->ready ? STATE_W : 0;
	ui_pen_text(&pen, UI_ROLE_BAR, " zreel  ");
	ui_pen_text(&pen, UI_ROLE_BAR, base_name(dash->title));
	if (!view->ready)
		return;
	ui_pen_printf(&pen, UI_ROLE_BAR, "  event %s", ui_count(view->cursor).text);
	if (rect.w >= UI_WIDE_W) {
		ui_pen_printf(&pen, UI_ROLE_BAR, " of %s", ui_count(view->events).text);
		ui_pen_text(&pen, UI_ROLE_BAR, "  ");
		ui_pen_text(&pen, UI_ROLE_BAR, view->kernel);
	}
	put_state(grid, &pen, dash);
}

/* ------------------------------------------------------------------------------ footer and help */

static void draw_prompt(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 0);
	const char *typed = dash->typed;
	int room;

	ui_pen_printf(&pen, UI_ROLE_KEY, " %s: ", ui_prompt_title(dash->prompt));
	/* The end of what is typed is what matters. */
	room = pen.end - pen.x - 2;
	while (*typed && ui_text_width(typed, grid->ascii) > room)
		ui_utf8_next(&typed);
	ui_pen_text(&pen, UI_ROLE_NORMAL, typed);
	ui_pen_text(&pen, UI_ROLE_SELECTED, " ");
	if (dash->message_frames)
		ui_pen_printf(&pen, dash->is_error ? UI_ROLE_BAD : UI_ROLE_DIM, "  %s",
			      dash->message);
}

/* A key as the footer shows it: without the mode that it belongs to. */
static const char *hint_key(const struct ui_key_row *row)
{
	const char *colon = strstr(row->shown, ": ");

	return colon ? colon + 2 : row->shown;
}

static int hint_width(const struct ui_key_row *row)
{
	return 2 + (int)strlen(hint_key(row)) + (int)strlen(row->hint);
}

static void put_hint(struct ui_pen *pen, const struct ui_key_row *row)
{
	ui_pen_text(pen, UI_ROLE_NORMAL, " ");
	ui_pen_text(pen, UI_ROLE_KEY, hint_key(row));
	ui_pen_printf(pen, UI_ROLE_DIM, " %s", row->hint);
}

/* Which come first: what only this mode has, then the others; help and quit keep their place at the
 * end. */
static int hint_rank(const struct ui_key_row *row, enum ui_mode mode)
{
	if (row->keys[0] == '?' || row->keys[0] == 'q')
		return 2;
	return mode != UI_MODE_RACE && row->modes == (unsigned)mode ? 0 : 1;
}

static void draw_hints(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	enum { LAST_W = 14 };
	struct ui_pen pen = ui_pen_at(grid, rect, 0);
	int end = pen.end;

	for (int rank = 0; rank < 3; rank++) {
		pen.end = rank < 2 ? end - LAST_W : end;
		for (const struct ui_key_row *row = ui_dash_keys(); row->shown; row++)
			if (row->hint && row->modes & dash->mode &&
			    hint_rank(row, dash->mode) == rank &&
			    pen.x + hint_width(row) <= pen.end)
				put_hint(&pen, row);
	}
}

static void draw_footer(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 0);

	if (dash->mode == UI_MODE_PROMPT) {
		draw_prompt(grid, rect, dash);
	} else if (dash->message_frames) {
		ui_pen_text(&pen, UI_ROLE_NORMAL, " ");
		ui_pen_text(&pen, dash->is_error ? UI_ROLE_BAD : UI_ROLE_BOLD, dash->message);
	} else {
		draw_hints(grid, rect, dash);
	}
}

/* In a race all rows of the table, else those that act. */
static int help_rows(const struct ui_dash *dash, const struct ui_key_row **rows)
{
	int n = 0;

	for (const struct ui_key_row *row = ui_dash_keys(); row->shown; row++)
		if (!dash->live || row->modes & UI_MODE_LIVE)
			rows[n++] = row;
	return n;
}

static const char *const race_notes[] = {
	"A figure with + or - is better or worse than lane 1's beyond noise: Welch's",
	"test at 5%, over equal steps of the trace. Refault p99: only with --on device.",
};

static const char *const live_notes[] = {
	"m: measured, p: planned, else the model's. A mean with + or - is better or",
	"worse than lane 1's beyond noise: Welch's test at 5%, over the repetitions.",
};

static void draw_help(struct ui_grid *grid, const struct ui_dash *dash)
{
	enum { COLUMN_W = 39, KEY_W = 13, ROWS_MAX = 64 };
	const struct ui_key_row *keys[ROWS_MAX];
	const char *const *notes = dash->live ? live_notes : race_notes;
	int n = help_rows(dash, keys), rows = (n + 1) / 2, w = 2 * COLUMN_W + 2, h = rows + 4;
	struct ui_rect box = { ui_max((grid->w - w) / 2, 0), ui_max((grid->h - h) / 2, 0),
			       ui_min(w, grid->w), ui_min(h, grid->h) };
	struct ui_pen pen;

	ui_grid_fill(grid, box, (struct ui_cell){ ' ', UI_ROLE_SELECTED, 0 });
	pen = ui_pen_at(grid, (struct ui_rect){ box.x + 2, box.y, box.w - 2, box.h }, 0);
	ui_pen_text(&pen, UI_ROLE_SELECTED,
		    dash->live ? "Keys; the mouse picks lanes" :
				 "Keys; the mouse picks lanes, times and slots, its wheel seeks and zooms");
	for (int i = 0; i < n; i++) {
		struct ui_rect column = { box.x + 2 + (i >= rows) * COLUMN_W, box.y + 1, COLUMN_W,
					  box.h - 3 };

		pen = ui_pen_at(grid, column, i % rows);
		ui_pen_printf(&pen, UI_ROLE_SELECTED, "%-*s %s", KEY_W, keys[i]->shown, keys[i]->help);
	}
	for (int i = 0; i < 2; i++) {
		pen = ui_pen_at(grid, (struct ui_rect){ box.x + 2, box.y + box.h - 2 + i, box.w - 4, 1 },
				0);
		ui_pen_text(&pen, UI_ROLE_SELECTED, notes[i]);
	}
}

static void draw_centred(struct ui_grid *grid, const char *first, const char *second)
{
	struct ui_pen pen = ui_pen_at(grid, ui_grid_rect(grid), grid->h / 2 - (grid->h > 1));

	ui_pen_text(&pen, UI_ROLE_BOLD, first);
	pen = ui_pen_at(grid, ui_grid_rect(grid), grid->h / 2 + (grid->h == 1));
	ui_pen_text(&pen, UI_ROLE_DIM, second);
}

static void draw_too_small(struct ui_grid *grid)
{
	char first[48], second[48];

	snprintf(first, sizeof(first), "%dx%d is too small", grid->w, grid->h);
	snprintf(second, sizeof(second), "need %dx%d, q quits", UI_MIN_W, UI_MIN_H);
	draw_centred(grid, first, second);
}

/* --------------------------------------------------------------------------------------- screen */

void ui_dash_draw(const struct ui_dash *dash, struct ui_grid *grid)
{
	static void (*const draw[])(struct ui_grid *, struct ui_rect, const struct ui_dash *) = {
		[UI_PANEL_MAP] = ui_panel_map,
		[UI_PANEL_WHY] = ui_panel_why,
		[UI_PANEL_SIZES] = ui_panel_sizes,
		[UI_PANEL_TIME] = ui_panel_time,
	};
	struct ui_layout layout = ui_layout_of(grid->w, grid->h, dash->panel);

	ui_grid_clear(grid);
	if (layout.too_small) {
		draw_too_small(grid);
		return;
	}
	if (dash->live)
		draw_live_header(grid, layout.header, dash);
	else
		draw_header(grid, layout.header, dash);
	if (dash->live) {
		ui_panel_live(grid, &layout, dash);
	} else if (dash->view->ready) {
		ui_panel_lanes(grid, &layout, dash);
		for (int i = 0; i < layout.n_places; i++)
			draw[layout.places[i].panel](grid, layout.places[i].rect, dash);
		ui_panel_timeline(grid, layout.timeline, dash);
	} else {
		draw_centred(grid, "waiting for the first events", "q quits");
	}
	draw_footer(grid, layout.footer, dash);
	if (dash->mode == UI_MODE_HELP)
		draw_help(grid, dash);
}
