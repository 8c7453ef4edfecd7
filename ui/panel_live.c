/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a replay on a real target (live.h): one column a policy.
 *
 *   1 batched ───────────     number, policy
 *   ▕██████████│   ▏          pool, with the accept threshold
 *   1.05 of 1.17 MiB  90%
 *   ▕█████         ▏          the pass
 *   runs 43%, 2 of 3          or waits, or done
 *                  now   mean of the pass that runs (else the last); of the complete ones
 *   p pages/write 1.51  1.50+ + better, - worse than lane 1 beyond noise; m measured, p planned
 *   ...
 *   refault latency           of the pass, where there is room
 */
#include <stdio.h>
#include <string.h>

#include "ui/panels.h"

enum { HEAD_ROWS = 6, HIST_ROW = HEAD_ROWS + UI_LIVE_FIGURE_COUNT, NAME_W = 8 };

static void draw_phase(struct ui_pen *pen, const struct ui_live_view *view,
		       const struct ui_live_lane *lane)
{
	if (lane->phase == UI_LIVE_RUNS)
		ui_pen_printf(pen, UI_ROLE_BOLD, "runs %.0f%%, %u of %u", 100 * lane->done,
			      lane->passes + 1, view->reps);
	else if (lane->phase == UI_LIVE_DONE)
		ui_pen_printf(pen, UI_ROLE_NORMAL, "done, %u of %u", lane->passes, view->reps);
	else
		ui_pen_printf(pen, UI_ROLE_DIM, "%s, %u of %u done", view->over ? "ended" : "waits",
			      lane->passes, view->reps);
}

static void draw_pass(struct ui_grid *grid, struct ui_rect rect, const struct ui_live_view *view,
		      const struct ui_live_lane *lane)
{
	struct ui_gauge gauge = { .part = lane->done,
				  .mark = -1,
				  .role = lane->phase == UI_LIVE_RUNS ? UI_ROLE_CHART2
								      : UI_ROLE_DIM };
	struct ui_pen pen = ui_pen_at(grid, rect, 4);

	ui_chart_gauge(grid, (struct ui_rect){ rect.x, rect.y + 3, rect.w, 1 }, &gauge);
	draw_phase(&pen, view, lane);
}

static void draw_heads(struct ui_grid *grid, struct ui_rect row)
{
	int value_w = ui_panel_value_width(row.w);
	struct ui_pen pen = ui_pen_at(grid, row, 0);

	pen.end -= value_w + 1;
	ui_pen_right(&pen, UI_ROLE_DIM, "now");
	pen.x = pen.end;
	pen.end = row.x + row.w - 1;
	ui_pen_right(&pen, UI_ROLE_DIM, "mean");
}

static void draw_figure(struct ui_grid *grid, struct ui_rect row, const struct ui_live_view *view,
			uint32_t lane, enum ui_live_figure figure)
{
	const struct ui_live_lane *it = &view->lanes[lane];
	struct ui_sample whole = ui_live_sample(it, figure);
	int value_w = ui_panel_value_width(row.w), decimals = ui_live_decimals(figure);
	struct ui_rect now = { row.x + row.w - 2 * value_w, row.y, value_w, 1 };
	struct ui_rect mean = { row.x + row.w - value_w, row.y, value_w, 1 };
	struct ui_pen pen = ui_pen_at(grid, (struct ui_rect){ row.x, row.y, now.x - row.x, 1 }, 0);

	ui_pen_printf(&pen, UI_ROLE_DIM, "%c %s", ui_live_source(it, figure), ui_live_label(figure));
	ui_panel_value(grid, now, it->now[figure], decimals, UI_NO_VERDICT);
	ui_panel_value(grid, mean, whole.mean, decimals, ui_live_verdict(view, figure, lane));
}

static void latency_name(uint32_t i, char *text, size_t bytes)
{
	uint64_t us = (uint64_t)2 << i;

	if (i == UI_LATENCIES - 1)
		snprintf(text, bytes, "more");
	else if (us < 1000)
		snprintf(text, bytes, "< %uus", (unsigned)us);
	else
		snprintf(text, bytes, "< %ums", (unsigned)(us / 1000));
}

static void draw_latency(struct ui_grid *grid, struct ui_rect row, const struct ui_live_lane *lane,
			 uint32_t i)
{
	struct ui_pen pen = ui_pen_at(grid, row, 0);
	uint64_t most = 1;
	char name[16];

	for (uint32_t k = 0; k < UI_LATENCIES; k++)
		if (lane->latencies[k] > most)
			most = lane->latencies[k];
	latency_name(i, name, sizeof(name));
	ui_pen_text(&pen, UI_ROLE_DIM, name);
	ui_pen_right(&pen, UI_ROLE_NORMAL, ui_count(lane->latencies[i]).text);
	ui_chart_gauge(grid,
		       (struct ui_rect){ row.x + NAME_W, row.y, ui_max(row.w - 2 * NAME_W, 0), 1 },
		       &(struct ui_gauge){ (double)lane->latencies[i] / (double)most, -1,
					   UI_ROLE_CHART });
}

/* From the fastest reads on, as many rows as there is room for. */
static void draw_latencies(struct ui_grid *grid, struct ui_rect rect, const struct ui_live_lane *lane)
{
	uint32_t first = 0, last = UI_LATENCIES - 1;

	if (rect.h < 3)
		return;
	while (first < last && !lane->latencies[first])
		first++;
	while (last > first && !lane->latencies[last])
		last--;
	if (!lane->latencies[last])
		return;
	ui_panel_title(grid, rect, 0, "refault latency");
	for (uint32_t i = first; i <= last && (int)(i - first) < rect.h - 1; i++)
		draw_latency(grid,
			     (struct ui_rect){ rect.x, rect.y + 1 + (int)(i - first), rect.w, 1 },
			     lane, i);
}

static void draw_lane(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		      uint32_t lane)
{
	const struct ui_live_view *view = &dash->live_view;
	const struct ui_live_lane *it = &view->lanes[lane];
	int rows = ui_min(UI_LIVE_FIGURE_COUNT, rect.h - HEAD_ROWS);

	ui_panel_lane_title(grid, rect, lane, it->policy, lane == dash->selected);
	draw_pass(grid, rect, view, it);
	if (!it->any)
		return;
	ui_panel_pool(grid, rect, &it->state, view->page_size);
	draw_heads(grid, (struct ui_rect){ rect.x, rect.y + 5, rect.w, 1 });
	for (int i = 0; i < rows; i++)
		draw_figure(grid, (struct ui_rect){ rect.x, rect.y + HEAD_ROWS + i, rect.w, 1 }, view,
			    lane, (enum ui_live_figure)i);
	draw_latencies(grid,
		       (struct ui_rect){ rect.x, rect.y + HIST_ROW, rect.w, rect.h - HIST_ROW }, it);
}

void ui_panel_live(struct ui_grid *grid, const struct ui_layout *layout, const struct ui_dash *dash)
{
	struct ui_layout whole = *layout;
	int first, shown;

	/* What only a race has leaves its room to the lanes. */
	whole.lanes.h = grid->h - 2;
	ui_layout_lanes(&whole, (int)dash->live_view.n_lanes, (int)dash->selected, &first, &shown);
	for (int i = 0; i < shown; i++)
		draw_lane(grid, ui_layout_lane(&whole, i, shown), dash, (uint32_t)(first + i));
}
