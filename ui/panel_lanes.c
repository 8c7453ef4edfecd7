/* SPDX-License-Identifier: MIT */
/*
 * The lanes of the dashboard: one column a policy.
 *
 *   1 batched ───────────      number, policy; what it is catching up on
 *   ▕██████████│   ▏           pool, with the accept threshold
 *   1.05 of 1.17 MiB  90%      or REFUSING
 *                all  last 1s
 *   pages/request  1.51  1.66+ a figure of the whole run so far, and of the last steps; + better, -
 * worse
 *   ...                        than lane 1 beyond noise (verdict.h)
 *   curve of pages a request and, above it, what a race cannot tell, where there is room
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/panels.h"

enum {
	HEAD_ROWS = 4, /* title, gauge, fill, heads of the columns */
	AXIS_W = 4,    /* of the scale beside a curve */
	LABEL_W = 14,
	VALUE_W = 6, /* at least */
	VALUE_MAX_W = 12,
};

/* A little below one page a request, so that a request of one page shows. */
static const double RATIO_LOW = 0.9;

static double part_of(uint64_t n, uint64_t whole)
{
	return whole ? (double)n / (double)whole : 0;
}

/* "1.05 of 1.17 MiB": the unit once if both have the same, so that it fits a narrow lane. */
static void put_fill(struct ui_pen *pen, uint64_t bytes, uint64_t limit_bytes)
{
	struct ui_small fill = ui_bytes(bytes), limit = ui_bytes(limit_bytes);
	char *unit = strchr(fill.text, ' ');

	if (strcmp(unit, strchr(limit.text, ' ')) == 0)
		*unit = '\0';
	ui_pen_text(pen, UI_ROLE_NORMAL, fill.text);
	ui_pen_printf(pen, UI_ROLE_DIM, " of %s", limit.text);
}

void ui_panel_pool(struct ui_grid *grid, struct ui_rect rect, const struct sim_state *state,
		   uint64_t page_size)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 2);
	double part = part_of(state->pool_pages, state->pool_limit_pages);
	struct ui_gauge gauge = {
		.part = part,
		.mark = state->pool_limit_pages
				? part_of(state->accept_pages, state->pool_limit_pages)
				: -1,
		.role = state->refusing ? UI_ROLE_BAD
			: part > 0.9	? UI_ROLE_WARN
					: UI_ROLE_CHART,
	};
	char label[16] = " REFUSING";

	if (!state->refusing)
		snprintf(label, sizeof(label), " %.0f%%", 100 * part);
	ui_chart_gauge(grid, (struct ui_rect){ rect.x, rect.y + 1, rect.w, 1 }, &gauge);
	/* In a narrow lane the bytes give way. */
	pen.end -= (int)strlen(label);
	put_fill(&pen, state->pool_pages * page_size, state->pool_limit_pages * page_size);
	pen.end += (int)strlen(label);
	ui_pen_right(&pen, state->refusing ? UI_ROLE_BAD : UI_ROLE_DIM, label);
}

/* Totals at the start of the window that ends at the clock. */
static uint32_t window_start(const struct ui_view *view)
{
	uint32_t done = ui_steps_done(view);

	return done > UI_WINDOW_STEPS ? done - UI_WINDOW_STEPS : 0;
}

static uint64_t window_ns(const struct ui_view *view)
{
	uint64_t from = view->history.first_ns + window_start(view) * view->history.step_ns;

	return view->clock_ns > from ? view->clock_ns - from : 0;
}

int ui_panel_value_width(int w)
{
	return ui_min(ui_max(VALUE_W, (w - LABEL_W) / 2), VALUE_MAX_W);
}

void ui_panel_value(struct ui_grid *grid, struct ui_rect cell, double value, int decimals,
		    enum ui_verdict verdict)
{
	struct ui_pen pen = ui_pen_at(grid, cell, 0);
	enum ui_role role = verdict == UI_BETTER  ? UI_ROLE_GOOD
			    : verdict == UI_WORSE ? UI_ROLE_WARN
						  : UI_ROLE_NORMAL;
	struct ui_small text = ui_number(value, decimals);

	if ((int)strlen(text.text) > cell.w - 1)
		text = ui_number(value, 0);
	if ((int)strlen(text.text) > cell.w - 1)
		snprintf(text.text, sizeof(text.text), "%.0fk", value / 1000);
	pen.end--;
	ui_pen_right(&pen, role, text.text);
	if (verdict != UI_NO_VERDICT)
		ui_grid_put(grid, cell.x + cell.w - 1, cell.y,
			    (struct ui_cell){ verdict == UI_BETTER ? '+' : '-', (uint8_t)role, 0 });
}

static void draw_figure(struct ui_grid *grid, struct ui_rect row, const struct ui_view *view,
			uint32_t lane, enum ui_figure figure)
{
	static const struct play_lane_totals zero;
	const struct play_lane_totals *now = &view->now.lane[lane];
	const struct play_lane_totals *then = &view->history.at[window_start(view)].lane[lane];
	int value_w = ui_panel_value_width(row.w);
	struct ui_rect all = { row.x + row.w - 2 * value_w, row.y, value_w, 1 };
	struct ui_rect last = { row.x + row.w - value_w, row.y, value_w, 1 };
	struct ui_pen pen = ui_pen_at(grid, (struct ui_rect){ row.x, row.y, all.x - row.x, 1 }, 0);
	int decimals = ui_figure_decimals(figure);

	ui_pen_text(&pen, UI_ROLE_DIM, ui_figure_label(figure));
	ui_panel_value(grid, all,
		       ui_figure_between(&zero, now, view->clock_ns - view->first_ns, figure), decimals,
		       ui_verdict_of(view, figure, lane, 0));
	ui_panel_value(grid, last, ui_figure_between(then, now, window_ns(view), figure), decimals,
		       ui_verdict_of(view, figure, lane, UI_WINDOW_STEPS));
}

static void draw_heads(struct ui_grid *grid, struct ui_rect row, const struct ui_view *view)
{
	int value_w = ui_panel_value_width(row.w);
	struct ui_pen pen =
		ui_pen_at(grid, (struct ui_rect){ row.x, row.y, row.w - value_w - 1, 1 }, 0);
	char text[64];

	ui_pen_right(&pen, UI_ROLE_DIM, "all");
	pen = ui_pen_at(grid, (struct ui_rect){ row.x + row.w - value_w, row.y, value_w, 1 }, 0);
	snprintf(text, sizeof(text), "%s", ui_span(window_ns(view)).text);
	ui_pen_right(&pen, UI_ROLE_DIM, text);
}

/* The top of the pages-per-request scale: one for all lanes, so that they can be compared by eye.
 */
static double ratio_top(const struct ui_view *view, int columns)
{
	double values[UI_GRID_MAX], most = 0;

	for (uint32_t lane = 0; lane < view->n_lanes; lane++) {
		ui_curve_values(view, UI_CURVE_LANE, UI_FIGURE_PAGES_PER_REQUEST, lane, values,
				columns);
		for (int x = 0; x < columns; x++)
			if (values[x] > most)
				most = values[x];
	}
	return 1 + ui_chart_round_up(ui_max(1, (int)ceil((most - 1) * 10)) / 10.0);
}

/* The scale of the curve, in the columns to its right. */
static void draw_axis(struct ui_grid *grid, struct ui_rect chart, double top)
{
	struct ui_rect axis = { chart.x + chart.w, chart.y, AXIS_W, chart.h };
	struct ui_pen pen = ui_pen_at(grid, axis, 0);
	char label[16];

	snprintf(label, sizeof(label), "%.2g", top);
	ui_pen_right(&pen, UI_ROLE_DIM, label);
	pen = ui_pen_at(grid, axis, chart.h - 1);
	ui_pen_right(&pen, UI_ROLE_DIM, "1");
}

static void draw_ratio(struct ui_grid *grid, struct ui_rect rect, const struct ui_view *view,
		       uint32_t lane)
{
	struct ui_rect chart = { rect.x, rect.y, rect.w - AXIS_W, rect.h };
	double values[UI_GRID_MAX], top;

	if (chart.h < 2 || chart.w < 1)
		return;
	top = ratio_top(view, chart.w);
	ui_curve_values(view, UI_CURVE_LANE, UI_FIGURE_PAGES_PER_REQUEST, lane, values, chart.w);
	ui_draw_curve(grid, chart, view, (struct ui_bars){ values, RATIO_LOW, top, UI_ROLE_CHART });
	draw_axis(grid, chart, top);
}

void ui_panel_lane_title(struct ui_grid *grid, struct ui_rect rect, uint32_t lane, const char *policy,
			 bool selected)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 0);

	ui_grid_fill(grid, (struct ui_rect){ rect.x, rect.y, rect.w, 1 },
		     selected ? (struct ui_cell){ ' ', UI_ROLE_SELECTED, 0 }
			      : ui_glyph_cell(grid, UI_GLYPH_LINE, UI_ROLE_DIM));
	ui_pen_printf(&pen, selected ? UI_ROLE_SELECTED : UI_ROLE_BOLD, "%u %s ", lane + 1, policy);
}

/* A lane that is not at the clock has no figures that could be compared. */
static void draw_catching_up(struct ui_grid *grid, struct ui_rect rect,
			     const struct ui_lane_view *lane)
{
	struct ui_gauge gauge = { .part = lane->caught_up, .mark = -1, .role = UI_ROLE_DIM };
	struct ui_pen pen = ui_pen_at(grid, rect, 2);

	ui_chart_gauge(grid, (struct ui_rect){ rect.x, rect.y + 1, rect.w, 1 }, &gauge);
	ui_pen_printf(&pen, UI_ROLE_DIM, "catching up %.0f%%", 100 * lane->caught_up);
}

/* A race has no times, so there are none of refaults; panel_live.c has them. The help says so too. */
static void draw_no_latency(struct ui_grid *grid, struct ui_rect row)
{
	int value_w = ui_panel_value_width(row.w);
	struct ui_rect all = { row.x + row.w - 2 * value_w, row.y, value_w, 1 };
	struct ui_rect last = { row.x + row.w - value_w, row.y, value_w, 1 };
	struct ui_pen pen = ui_pen_at(grid, row, 0);

	ui_pen_text(&pen, UI_ROLE_DIM, "refault p99");
	ui_panel_value(grid, all, NAN, 0, UI_NO_VERDICT);
	ui_panel_value(grid, last, NAN, 0, UI_NO_VERDICT);
}

static void draw_lane(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		      uint32_t lane)
{
	const struct ui_view *view = dash->view;
	int rows = ui_min(UI_LANE_ROWS - HEAD_ROWS, rect.h - HEAD_ROWS);
	int top = UI_LANE_ROWS + (rect.h > UI_LANE_ROWS);

	ui_panel_lane_title(grid, rect, lane, view->lanes[lane].policy.text,
			    lane == dash->selected);
	if (!view->lanes[lane].joined) {
		draw_catching_up(grid, rect, &view->lanes[lane]);
		return;
	}
	ui_panel_pool(grid, rect, &view->lanes[lane].state, view->page_size);
	if (rect.h > HEAD_ROWS)
		draw_heads(grid, (struct ui_rect){ rect.x, rect.y + 3, rect.w, 1 }, view);
	for (int i = 0; i < rows; i++)
		draw_figure(grid, (struct ui_rect){ rect.x, rect.y + HEAD_ROWS + i, rect.w, 1 },
			    view, lane, (enum ui_figure)i);
	if (top > UI_LANE_ROWS)
		draw_no_latency(grid, (struct ui_rect){ rect.x, rect.y + UI_LANE_ROWS, rect.w, 1 });
	draw_ratio(grid, (struct ui_rect){ rect.x, rect.y + top, rect.w, rect.h - top }, view, lane);
}

void ui_panel_lanes(struct ui_grid *grid, const struct ui_layout *layout,
		    const struct ui_dash *dash)
{
	int first, shown;

	ui_layout_lanes(layout, (int)dash->view->n_lanes, (int)dash->selected, &first, &shown);
	for (int i = 0; i < shown; i++)
		draw_lane(grid, ui_layout_lane(layout, i, shown), dash, (uint32_t)(first + i));
}
