/* SPDX-License-Identifier: MIT */
/* Rates of the trace over time, and the timeline with its cursor, gaps and bookmarks. */
#include <math.h>
#include <stdio.h>

#include "ui/panels.h"

/* The column of a rectangle of this width that a time falls into. */
static int time_column(const struct ui_view *view, uint64_t time_ns, int w)
{
	uint64_t span = view->end_ns - view->first_ns;
	uint64_t since = time_ns > view->first_ns ? time_ns - view->first_ns : 0;
	double part = span ? fmin((double)since / (double)span, 1) : 1;

	return (int)lround(part * (w - 1));
}

/* Steps of the history that the span has; the last one of a followed trace is not complete. */
static uint32_t steps_of(const struct ui_view *view)
{
	const struct play_history *h = &view->history;
	uint64_t span = view->end_ns - view->first_ns;
	uint64_t steps = h->step_ns ? (span + h->step_ns - 1) / h->step_ns : 0;

	return steps < 1 ? 1 : steps < PLAY_RACE_STEPS ? (uint32_t)steps : PLAY_RACE_STEPS;
}

static double value_between(const struct ui_view *view, enum ui_curve curve, enum ui_figure figure,
			    uint32_t lane, uint32_t from, uint32_t to)
{
	const struct play_totals *a = &view->history.at[from], *b = &view->history.at[to];
	uint64_t span_ns = (to - from) * view->history.step_ns;
	uint64_t n = curve == UI_CURVE_OUTS  ? b->outs - a->outs
		     : curve == UI_CURVE_INS ? b->ins - a->ins
					     : b->writebacks - a->writebacks;

	if (curve == UI_CURVE_LANE)
		return ui_figure_between(&a->lane[lane], &b->lane[lane], span_ns, figure);
	return span_ns ? (double)n * 1e9 / (double)span_ns : NAN;
}

void ui_curve_values(const struct ui_view *view, enum ui_curve curve, enum ui_figure figure,
		     uint32_t lane, double *values, int n)
{
	uint32_t steps = steps_of(view);
	uint32_t known =
		curve == UI_CURVE_LANE ? view->history.lane_known[lane] : view->history.known;

	for (int x = 0; x < n; x++) {
		uint32_t from = steps * (uint32_t)x / (uint32_t)n;
		uint32_t to = steps * (uint32_t)(x + 1) / (uint32_t)n;

		/* Wider than the steps: neighbouring columns show the same step. */
		if (to == from)
			to++;
		if (to >= known)
			to = known ? known - 1 : 0;
		values[x] = to > from ? value_between(view, curve, figure, lane, from, to) : NAN;
	}
}

void ui_draw_curve(struct ui_grid *grid, struct ui_rect rect, const struct ui_view *view,
		   struct ui_bars bars)
{
	uint64_t span = view->end_ns - view->first_ns;
	double done = span ? (double)(view->clock_ns - view->first_ns) / (double)span : 1;
	int cursor = ui_min((int)ceil(done * rect.w), rect.w);

	ui_chart_bars(grid, (struct ui_rect){ rect.x, rect.y, cursor, rect.h }, &bars);
	bars.values += cursor;
	bars.role = UI_ROLE_DIM;
	ui_chart_bars(grid, (struct ui_rect){ rect.x + cursor, rect.y, rect.w - cursor, rect.h },
		      &bars);
}

/* A gap is a column of its own colour in every chart over time, since rates next to it are too low.
 */
static void draw_gaps(struct ui_grid *grid, struct ui_rect rect, const struct ui_view *view)
{
	uint32_t steps = steps_of(view);

	for (uint32_t i = 0; i < steps; i++)
		if (view->history.gap[i])
			for (int y = 0; y < rect.h; y++)
				ui_grid_put(grid, rect.x + (int)(i * (uint32_t)rect.w / steps),
					    rect.y + y, (struct ui_cell){ '!', UI_ROLE_BAD, 0 });
}

static void draw_rate(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		      enum ui_curve curve)
{
	static const struct {
		const char *name;
		enum ui_role role;
	} rates[] = { [UI_CURVE_OUTS] = { "swap-outs/s", UI_ROLE_CHART },
		      [UI_CURVE_INS] = { "refaults/s", UI_ROLE_CHART2 },
		      [UI_CURVE_WRITEBACKS] = { "recorded writebacks/s", UI_ROLE_DISK } };
	struct ui_rect chart = { rect.x, rect.y + 1, rect.w, rect.h - 1 };
	double values[UI_GRID_MAX], top = 0;
	struct ui_pen pen = ui_panel_title(grid, rect, 0, rates[curve].name);
	int now = time_column(dash->view, dash->view->clock_ns, rect.w);
	char label[80];

	ui_curve_values(dash->view, curve, UI_FIGURE_COUNT, 0, values, rect.w);
	for (int x = 0; x < rect.w; x++)
		if (values[x] > top)
			top = values[x];
	if (now > 0 && !isnan(values[now - 1]))
		ui_pen_printf(&pen, UI_ROLE_BOLD, "%s ", ui_number(values[now - 1], 0).text);
	snprintf(label, sizeof(label), " top %s", ui_number(top, 0).text);
	if (top > 0)
		ui_pen_right(&pen, UI_ROLE_DIM, label);
	if (chart.h < 1)
		return;
	ui_draw_curve(grid, chart, dash->view,
		      (struct ui_bars){ values, 0, ui_chart_round_up(top), rates[curve].role });
	draw_gaps(grid, chart, dash->view);
}

void ui_panel_time(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	for (int i = 0; i < UI_CURVE_LANE; i++) {
		int top = rect.h * i / UI_CURVE_LANE, bottom = rect.h * (i + 1) / UI_CURVE_LANE;

		draw_rate(grid, (struct ui_rect){ rect.x, rect.y + top, rect.w, bottom - top },
			  dash, (enum ui_curve)i);
	}
}

/* ------------------------------------------------------------------------------------- timeline */

void ui_panel_timeline(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	const struct ui_view *view = dash->view;
	struct ui_rect inner = { rect.x + 1, rect.y, rect.w - 2, 1 };
	int cursor = time_column(view, view->clock_ns, inner.w);
	int goal = time_column(view, view->goal_ns, inner.w);

	ui_grid_put(grid, rect.x, rect.y, ui_glyph_cell(grid, UI_GLYPH_LEFT_END, UI_ROLE_DIM));
	ui_grid_put(grid, rect.x + rect.w - 1, rect.y,
		    ui_glyph_cell(grid, UI_GLYPH_RIGHT_END, UI_ROLE_DIM));
	for (int x = 0; x < inner.w; x++)
		ui_grid_put(grid, inner.x + x, rect.y,
			    x < cursor ? ui_glyph_cell(grid, UI_GLYPH_HEAVY, UI_ROLE_CURSOR)
				       : ui_glyph_cell(grid, UI_GLYPH_LINE,
						       x < goal ? UI_ROLE_CURSOR : UI_ROLE_DIM));
	draw_gaps(grid, inner, view);
	for (uint32_t i = 0; i < dash->n_bookmarks; i++)
		ui_grid_put(grid, inner.x + time_column(view, dash->bookmarks[i], inner.w),
			    rect.y, ui_glyph_cell(grid, UI_GLYPH_BOOKMARK, UI_ROLE_KEY));
	ui_grid_put(grid, inner.x + cursor, rect.y,
		    ui_glyph_cell(grid, UI_GLYPH_KNOB, UI_ROLE_CURSOR));
}
