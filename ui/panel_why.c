/* SPDX-License-Identifier: MIT */
/*
 * Why requests are short: of the selected lane, a bar for each cause of a break between two
 * written-back pages (they add up to all breaks), and what would help; and, side by side, the sizes
 * of all lanes' requests and the ages of the selected lane's entries.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/panels.h"

static double share(uint64_t n, uint64_t all)
{
	return all ? (double)n / (double)all : 0;
}

/* A bar of eighths to the right, in the cells left of the row. */
static void put_bar(struct ui_pen *pen, double part, enum ui_role role)
{
	int w = pen->end - pen->x, eighths = (int)lround(part * 8 * w);

	for (int x = 0; x < w && eighths > 0; x++, eighths -= 8) {
		uint32_t code = eighths >= 8	   ? ui_glyph(pen->grid, UI_GLYPH_FULL)
				: pen->grid->ascii ? '#'
						   : 0x2590u - (uint32_t)eighths;

		ui_grid_put(pen->grid, pen->x + x, pen->y,
			    (struct ui_cell){ code, (uint8_t)role, 0 });
	}
}

/* Causes, the commonest first. */
static int sort_causes(const struct ui_lane_view *lane, int causes[PLAY_BREAK_COUNT])
{
	int n = 0;

	for (int cause = 0; cause < PLAY_BREAK_COUNT; cause++) {
		int at = n;

		if (!lane->breaks[cause])
			continue;
		for (; at > 0 && lane->breaks[causes[at - 1]] < lane->breaks[cause]; at--)
			causes[at] = causes[at - 1];
		causes[at] = cause;
		n++;
	}
	return n;
}

static void draw_cause(struct ui_grid *grid, struct ui_rect rect, int row, const char *name,
		       uint64_t n, uint64_t all)
{
	struct ui_pen pen = ui_pen_at(grid, rect, row);

	ui_pen_printf(&pen, UI_ROLE_NORMAL, "%-14s", name);
	ui_pen_printf(&pen, UI_ROLE_DIM, " %10s ", ui_count(n).text);
	ui_pen_printf(&pen, UI_ROLE_BOLD, "%5.1f%% ", 100 * share(n, all));
	put_bar(&pen, share(n, all), UI_ROLE_CHART);
}

/* Where not all causes fit, the rest is one row, so that the bars add up all the same. */
static void draw_causes(struct ui_grid *grid, struct ui_rect rect, const struct ui_lane_view *lane)
{
	int causes[PLAY_BREAK_COUNT], n = sort_causes(lane, causes);
	int whole = n <= rect.h ? n : rect.h - 1;
	uint64_t rest = lane->contexts;

	for (int i = 0; i < whole; i++) {
		uint64_t breaks = lane->breaks[causes[i]];

		draw_cause(grid, rect, i, play_break_name((enum play_break)causes[i]), breaks,
			   lane->contexts);
		rest -= breaks < rest ? breaks : rest;
	}
	if (whole < n && whole >= 0)
		draw_cause(grid, rect, whole, "others", rest, lane->contexts);
}

static void draw_ceiling(struct ui_grid *grid, struct ui_rect rect, int row, const char *name,
			 double ratio)
{
	struct ui_pen pen = ui_pen_at(grid, rect, row);

	ui_pen_printf(&pen, UI_ROLE_NORMAL, "%-12s", name);
	ui_pen_printf(&pen, UI_ROLE_BOLD, "%8s", ui_number(ratio, 2).text);
}

static void draw_ceilings(struct ui_grid *grid, struct ui_rect rect,
			  const struct ui_lane_view *lane)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 0);

	ui_pen_text(&pen, UI_ROLE_DIM, "pages a request if");
	for (int i = 0; i < PLAY_CEILING_vswap; i++) {
		uint64_t requests = lane->ceiling_requests[i];

		draw_ceiling(grid, rect, i + 1, play_ceiling_name((enum play_ceiling)i),
			     requests ? (double)lane->pages / (double)requests : NAN);
	}
	/* Slots that are chosen at writeback change what is where: that is a lane of its own. */
	pen = ui_pen_at(grid, rect, PLAY_CEILING_vswap + 1);
	ui_pen_text(&pen, UI_ROLE_DIM, "vswap: a lane +slots=vswap");
}

void ui_panel_why(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	enum { CEILINGS_W = 26 };
	const struct ui_lane_view *lane = &dash->view->lanes[dash->selected];
	struct ui_rect inner = { rect.x, rect.y + 1, rect.w, rect.h - 1 };
	bool both = rect.w >= CEILINGS_W + 44;
	struct ui_pen pen;
	char title[80];

	snprintf(title, sizeof(title), "why requests of %u are short", dash->selected + 1);
	pen = ui_panel_title(grid, rect, 0, title);
	if (!lane->contexts) {
		ui_pen_text(&pen, UI_ROLE_DIM, "no page was written back yet ");
		return;
	}
	ui_pen_printf(&pen, UI_ROLE_DIM, "%s breaks, %s pages a swap I/O ",
		      ui_count(lane->contexts).text,
		      ui_number((double)lane->pages / (double)lane->contexts, 2).text);
	if (both)
		inner.w -= CEILINGS_W + 1;
	draw_causes(grid, inner, lane);
	if (both)
		draw_ceilings(
			grid,
			(struct ui_rect){ inner.x + inner.w + 1, inner.y, CEILINGS_W, inner.h },
			lane);
}

/* ---------------------------------------------------------------------------------------- sizes */

static const char *size_name(int size)
{
	static const char *const names[UI_SIZES] = { "1",     "2",     "3-4",	 "5-8", "9-16",
						     "17-32", "33-64", "65-128", "more" };

	return names[size];
}

static uint64_t requests_of(const struct ui_lane_view *lane)
{
	uint64_t all = 0;

	for (int i = 0; i < UI_SIZES; i++)
		all += lane->sizes[i];
	return all;
}

static void draw_size(struct ui_grid *grid, struct ui_rect cell, const struct ui_lane_view *lane,
		      int size)
{
	struct ui_pen pen = ui_pen_at(grid, cell, 0);
	double part = share(lane->sizes[size], requests_of(lane));

	if (!lane->joined)
		return;
	if (lane->sizes[size])
		ui_pen_printf(&pen, UI_ROLE_NORMAL, "%3.0f%% ", 100 * part);
	else
		ui_pen_text(&pen, UI_ROLE_DIM, "   - ");
	put_bar(&pen, part, UI_ROLE_CHART);
}

/* One column a lane: which part of its requests has how many pages. */
static void draw_sizes(struct ui_grid *grid, struct ui_rect rect, const struct ui_view *view)
{
	enum { NAME_W = 7, LEAST_W = 6 };
	int shown = ui_min((int)view->n_lanes, (rect.w - NAME_W) / LEAST_W);
	struct ui_pen pen = ui_pen_at(grid, rect, 0);
	int w = shown > 0 ? (rect.w - NAME_W) / shown : 0;

	ui_pen_text(&pen, UI_ROLE_DIM, "pages");
	for (int i = 0; i < shown; i++) {
		struct ui_rect column = { rect.x + NAME_W + i * w, rect.y, w - 1, 1 };

		pen = ui_pen_at(grid, column, 0);
		ui_pen_printf(&pen, UI_ROLE_DIM, "%d %s", i + 1, view->lanes[i].policy.text);
	}
	for (int size = 0; size < UI_SIZES && size + 1 < rect.h; size++) {
		pen = ui_pen_at(grid, rect, size + 1);
		ui_pen_printf(&pen, UI_ROLE_DIM, "%6s", size_name(size));
		for (int i = 0; i < shown; i++)
			draw_size(grid,
				  (struct ui_rect){ rect.x + NAME_W + i * w, rect.y + size + 1,
						    w - 1, 1 },
				  &view->lanes[i], size);
	}
}

static void draw_ages(struct ui_grid *grid, struct ui_rect rect, const struct ui_view *view)
{
	const struct ui_ages *ages = &view->ages;
	struct ui_pen pen = ui_pen_at(grid, rect, 0);
	int skip = ui_max(0, UI_AGES + 1 -
				     rect.h); /* the youngest share a row where there are too few */
	uint64_t sum = 0;

	ui_pen_printf(&pen, UI_ROLE_DIM, "ages in the pool of %u%s", view->ask.lane + 1,
		      ages->stride > 1 ? ", sampled" : "");
	for (int i = 0; i < UI_AGES; i++) {
		sum += ages->counts[i];
		if (i < skip)
			continue;
		pen = ui_pen_at(grid, rect, i - skip + 1);
		ui_pen_printf(&pen, UI_ROLE_DIM, "%-9s", ui_age_name((uint32_t)i));
		ui_pen_printf(&pen, UI_ROLE_BOLD, "%4.0f%% ", 100 * share(sum, ages->entries));
		put_bar(&pen, share(sum, ages->entries), UI_ROLE_CHART2);
		sum = 0;
	}
}

void ui_panel_sizes(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	int left = rect.w * 3 / 5;
	struct ui_rect sizes = { rect.x, rect.y + 1, left - 1, rect.h - 1 };
	struct ui_rect ages = { rect.x + left, rect.y + 1, rect.w - left, rect.h - 1 };

	ui_panel_title(grid, rect, 0, "write requests by size, entries by age");
	draw_sizes(grid, sizes, dash->view);
	if (dash->view->ask.ages)
		draw_ages(grid, ages, dash->view);
}
