/* SPDX-License-Identifier: MIT */
/*
 * What the dashboard looks like.
 *
 *   +--------------------------------------------------+
 *   | header: file, kernel, state, speed, time         |
 *   | lanes: one column a policy                       |
 *   |   gauge, pages per request, curve, counts        |
 *   | map of slots            | rates over time        |
 *   | timeline with cursor and gaps                    |
 *   | footer: keys                                     |
 *   +--------------------------------------------------+
 *
 * The panels are a table; place_panels() gives each its rectangle for the size of the grid, and draws read
 * the state and write nothing but cells. All sizes follow from the grid, so a resize is just the next draw.
 * Columns of curves, gauges and the map follow from the width; whatever does not fit is cut, never wrapped.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/chart.h"
#include "ui/dash.h"
#include "ui/format.h"
#include "ui/text.h"

enum {
	MIN_W = 60,
	MIN_H = 18,
	WIDE_W = 110, /* from here on the header also has what never changes */
	LANE_MIN_W = 25,
	LANE_FIXED_ROWS = 8, /* of a lane, all but its curve */
	MAP_PROBES = 64,     /* slots looked at for one spot of the map */
	WINDOW_STEPS = 12,   /* of the history: what "last" means */
	AXIS_W = 4,	     /* of the scale beside a curve */
};

/* A little below one page a request, so that a request of one page shows. */
static const double RATIO_LOW = 0.9;

enum panel { HEADER, LANES, MAP, RATES, TIMELINE, FOOTER, PANELS };

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static struct ui_cell glyph_cell(const struct ui_grid *grid, enum ui_glyph glyph, enum ui_role role)
{
	return (struct ui_cell){ ui_glyph(grid, glyph), role, 0 };
}

/* A label at the left and a value at the right of a row. */
static void draw_pair(struct ui_grid *grid, struct ui_rect rect, int row, const char *label,
		      const char *value)
{
	struct ui_pen pen = ui_pen_at(grid, rect, row);

	ui_pen_text(&pen, UI_ROLE_DIM, label);
	ui_pen_right(&pen, UI_ROLE_BOLD, value);
}

/* A title and a line to the end of the row; returns the pen behind the title. */
static struct ui_pen draw_title(struct ui_grid *grid, struct ui_rect rect, int row, const char *title)
{
	struct ui_pen pen = ui_pen_at(grid, rect, row);

	ui_grid_fill(grid, (struct ui_rect){ rect.x, rect.y + row, rect.w, 1 },
		     glyph_cell(grid, UI_GLYPH_LINE, UI_ROLE_DIM));
	ui_pen_text(&pen, UI_ROLE_BOLD, title);
	ui_pen_text(&pen, UI_ROLE_NORMAL, " ");
	return pen;
}

/* Totals at the start of the window that ends at the clock. */
static const struct ui_totals *window_start(const struct ui_dash *dash)
{
	uint32_t now = dash->next_border - 1;

	return &dash->history.at[now > WINDOW_STEPS ? now - WINDOW_STEPS : 0];
}

static double window_value(const struct ui_dash *dash, enum ui_curve curve, uint32_t lane)
{
	struct ui_totals now = ui_totals_now(dash->race, dash->clock_ns);

	return ui_totals_between(window_start(dash), &now, curve, lane);
}

static uint64_t window_ns(const struct ui_dash *dash)
{
	return dash->clock_ns - window_start(dash)->time_ns;
}

/* -------------------------------------------------------------------------------------------- header */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void draw_header(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 0);
	uint64_t first = dash->history.first_ns;
	bool behind = ui_dash_is_behind(dash) && !dash->playing;
	char state[160];

	ui_grid_fill(grid, rect, (struct ui_cell){ ' ', UI_ROLE_BAR, 0 });
	snprintf(state, sizeof(state), "%s x%g  %s / %s ",
		 behind		 ? "seeking"
		 : dash->playing ? "playing"
				 : "paused",
		 ui_dash_speed(dash),
		 ui_clock(dash->clock_ns > dash->history.last_ns ? dash->history.last_ns - first
								 : dash->clock_ns - first)
			 .text,
		 ui_clock(dash->history.last_ns - first).text);
	pen.end -= (int)strlen(state) + 3;
	ui_pen_text(&pen, UI_ROLE_BAR, " zreel  ");
	ui_pen_text(&pen, UI_ROLE_BAR, base_name(dash->title));
	ui_pen_printf(&pen, UI_ROLE_BAR, "  event %s", ui_count(play_race_cursor(dash->race)).text);
	if (rect.w >= WIDE_W)
		ui_pen_printf(&pen, UI_ROLE_BAR, " of %s", ui_count(play_race_events(dash->race)).text);
	if (rect.w >= WIDE_W && dash->kernel) {
		ui_pen_text(&pen, UI_ROLE_BAR, "  ");
		ui_pen_text(&pen, UI_ROLE_BAR, dash->kernel);
	}
	pen.end = rect.x + rect.w;
	ui_grid_put(grid, pen.end - (int)strlen(state) - 2, rect.y,
		    glyph_cell(grid, dash->playing ? UI_GLYPH_PLAY : UI_GLYPH_PAUSE, UI_ROLE_BAR));
	ui_pen_right(&pen, UI_ROLE_BAR, state);
}

/* --------------------------------------------------------------------------------------------- lanes */

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

static void draw_pool(struct ui_grid *grid, struct ui_rect rect, const struct sim_state *state,
		      uint64_t page_size)
{
	struct ui_pen pen = ui_pen_at(grid, rect, 2);
	double part = part_of(state->pool_pages, state->pool_limit_pages);
	struct ui_gauge gauge = {
		.part = part,
		.mark = state->pool_limit_pages ? part_of(state->accept_pages, state->pool_limit_pages)
						: -1,
		.role = state->refusing ? UI_ROLE_BAD
			: part > 0.9	? UI_ROLE_WARN
					: UI_ROLE_GOOD,
	};
	char percent[16];

	snprintf(percent, sizeof(percent), " %.0f%%", 100 * part);
	ui_chart_gauge(grid, (struct ui_rect){ rect.x, rect.y + 1, rect.w, 1 }, &gauge);
	put_fill(&pen, state->pool_pages * page_size, state->pool_limit_pages * page_size);
	if (state->refusing)
		ui_pen_right(&pen, UI_ROLE_BAD, " REFUSING");
	else
		ui_pen_right(&pen, UI_ROLE_DIM, percent);
}

/* The top of the pages-per-request scale: one for all lanes, so that they can be compared by eye. */
static double ratio_top(const struct ui_dash *dash, int columns)
{
	double values[UI_GRID_MAX], most = 0;

	for (uint32_t lane = 0; lane < play_race_lanes(dash->race); lane++) {
		ui_history_curve(&dash->history, UI_CURVE_PAGES_PER_REQUEST, lane, values, columns);
		for (int x = 0; x < columns; x++)
			if (values[x] > most)
				most = values[x];
	}
	return 1 + ui_chart_round_up(larger(1, (int)ceil((most - 1) * 10)) / 10.0);
}

/* The part of a curve ahead of the cursor is known only after going back: it is drawn dim. */
static void draw_curve(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		       struct ui_bars bars)
{
	uint64_t span = dash->history.last_ns - dash->history.first_ns;
	double done = span ? (double)(dash->clock_ns - dash->history.first_ns) / (double)span : 1;
	int cursor = smaller((int)ceil(done * rect.w), rect.w);

	ui_chart_bars(grid, (struct ui_rect){ rect.x, rect.y, cursor, rect.h }, &bars);
	bars.values += cursor;
	bars.role = UI_ROLE_DIM;
	ui_chart_bars(grid, (struct ui_rect){ rect.x + cursor, rect.y, rect.w - cursor, rect.h }, &bars);
}

/* The scale of the curve, in the columns to its right. */
static void draw_axis(struct ui_grid *grid, struct ui_rect chart, double top)
{
	struct ui_rect axis = { chart.x + chart.w, chart.y, AXIS_W, chart.h };
	struct ui_pen pen = ui_pen_at(grid, axis, 0);
	char label[16];

	snprintf(label, sizeof(label), "%.2g", top);
	if (chart.h > 1)
		ui_pen_right(&pen, UI_ROLE_DIM, label);
	pen = ui_pen_at(grid, axis, chart.h - 1);
	ui_pen_right(&pen, UI_ROLE_DIM, "1");
}

static void draw_ratio(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		       uint32_t lane)
{
	struct play_lane now = play_race_lane(dash->race, lane);
	struct ui_rect chart = { rect.x, rect.y + 5, rect.w - AXIS_W, rect.h - LANE_FIXED_ROWS };
	double values[UI_GRID_MAX], top = ratio_top(dash, chart.w);
	double all = now.io->write_requests ? part_of(now.io->write_pages, now.io->write_requests) : NAN;
	char label[64];

	draw_pair(grid, rect, 3, "pages per request", ui_number(all, 2).text);
	snprintf(label, sizeof(label), " in the last %s", ui_span(window_ns(dash)).text);
	draw_pair(grid, rect, 4, label,
		  ui_number(window_value(dash, UI_CURVE_PAGES_PER_REQUEST, lane), 2).text);
	ui_history_curve(&dash->history, UI_CURVE_PAGES_PER_REQUEST, lane, values, chart.w);
	draw_curve(grid, chart, dash, (struct ui_bars){ values, RATIO_LOW, top, UI_ROLE_CHART });
	draw_axis(grid, chart, top);
}

static void draw_lane(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		      uint32_t lane)
{
	struct play_lane now = play_race_lane(dash->race, lane);
	bool selected = lane == dash->selected;
	struct ui_pen pen = ui_pen_at(grid, rect, 0);

	ui_grid_fill(grid, (struct ui_rect){ rect.x, rect.y, rect.w, 1 },
		     selected ? (struct ui_cell){ ' ', UI_ROLE_SELECTED, 0 }
			      : glyph_cell(grid, UI_GLYPH_LINE, UI_ROLE_DIM));
	ui_pen_printf(&pen, selected ? UI_ROLE_SELECTED : UI_ROLE_BOLD, "%u %s ", lane + 1,
		      now.policy->text);
	draw_pool(grid, rect, &now.state, dash->page_size);
	draw_ratio(grid, rect, dash, lane);
	draw_pair(grid, rect, rect.h - 3, "write requests", ui_count(now.io->write_requests).text);
	draw_pair(grid, rect, rect.h - 2, "written back",
		  ui_count(now.counters->written_back_pages).text);
	draw_pair(grid, rect, rect.h - 1, "disk refaults", ui_count(now.counters->disk_refaults).text);
}

/* As many lanes as fit, the selected one among them. */
static void draw_lanes(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	int n = (int)play_race_lanes(dash->race), fit = larger(1, (rect.w + 1) / (LANE_MIN_W + 1));
	int shown = smaller(n, fit);
	int first = larger(0, smaller((int)dash->selected - shown / 2, n - shown));

	for (int i = 0; i < shown; i++) {
		int left = (rect.w + 1) * i / shown, right = (rect.w + 1) * (i + 1) / shown;

		draw_lane(grid, (struct ui_rect){ rect.x + left, rect.y, right - left - 1, rect.h }, dash,
			  (uint32_t)(first + i));
	}
}

/* ----------------------------------------------------------------------------------------------- map */

/* What a spot of the map shows, in the order in which one beats the other where counts are equal. */
enum spot { SPOT_FREE, SPOT_ZSWAP, SPOT_DISK, SPOT_WRITING, SPOT_UNKNOWN, SPOT_ZERO, SPOT_CACHED, SPOTS };

static const struct {
	const char *name;
	enum ui_role role;
	enum ui_glyph glyph; /* where colours cannot tell */
	char ascii;
} spots[SPOTS] = {
	[SPOT_FREE] = { "free", UI_ROLE_DIM, UI_GLYPH_DOT, '.' },
	[SPOT_ZSWAP] = { "zswap", UI_ROLE_ZSWAP, UI_GLYPH_SHADE, 'z' },
	[SPOT_DISK] = { "disk", UI_ROLE_DISK, UI_GLYPH_FULL, '#' },
	[SPOT_WRITING] = { "writing", UI_ROLE_WRITING, UI_GLYPH_DIAMOND, '*' },
	[SPOT_UNKNOWN] = { "unknown", UI_ROLE_UNKNOWN, UI_GLYPH_COUNT, '?' },
	[SPOT_ZERO] = { "zero", UI_ROLE_ZERO, UI_GLYPH_LOWER, '0' },
	[SPOT_CACHED] = { "mem", UI_ROLE_CACHED, UI_GLYPH_UPPER, 'm' },
};

static const enum spot spot_of_slot[] = {
	[SIM_SLOT_FREE] = SPOT_FREE, [SIM_SLOT_ZSWAP] = SPOT_ZSWAP,   [SIM_SLOT_DISK] = SPOT_DISK,
	[SIM_SLOT_ZERO] = SPOT_ZERO, [SIM_SLOT_CACHED] = SPOT_CACHED, [SIM_SLOT_UNKNOWN] = SPOT_UNKNOWN,
};

struct map {
	const struct ui_dash *dash;
	struct ui_rect rect; /* of the spots alone */
	uint8_t area;
	uint32_t low;
	uint64_t slots;
	bool halves; /* two spots a cell, told apart by colour */
};

/* What the slots of [from, to) hold most. One that is being written beats all; free ones count only when
 * hardly any other is there, or a sparsely used area would look empty. Looks at MAP_PROBES slots at most,
 * evenly spread. */
static enum spot spot_at(const struct map *map, uint64_t from, uint64_t to)
{
	uint64_t stride = (to - from + MAP_PROBES - 1) / MAP_PROBES;
	int counts[SPOTS] = { 0 };
	enum spot best = SPOT_ZSWAP;
	int probes = 0;

	for (uint64_t at = from; at < to; at += stride ? stride : 1) {
		bool writing = false;
		enum sim_slot slot = play_race_slot(map->dash->race, map->dash->selected, map->area,
						    map->low + (uint32_t)at, &writing);

		if (writing)
			return SPOT_WRITING;
		counts[spot_of_slot[slot]]++;
		probes++;
	}
	for (int i = SPOT_ZSWAP; i < SPOTS; i++)
		if (counts[i] > counts[best])
			best = (enum spot)i;
	return probes - counts[SPOT_FREE] > probes / 8 ? best : SPOT_FREE;
}

static enum spot spot_of(const struct map *map, int index, int all)
{
	uint64_t from = map->slots * (uint64_t)index / (uint64_t)all;
	uint64_t to = map->slots * (uint64_t)(index + 1) / (uint64_t)all;

	/* More spots than slots: neighbours show the same slot. */
	return spot_at(map, from, to > from ? to : from + 1);
}

static struct ui_cell whole_cell(const struct ui_grid *grid, enum spot spot)
{
	uint32_t code = grid->ascii || spots[spot].glyph == UI_GLYPH_COUNT
				? (uint32_t)spots[spot].ascii
				: ui_glyph(grid, spots[spot].glyph);

	return (struct ui_cell){ code, spots[spot].role, 0 };
}

static struct ui_cell half_cell(const struct ui_grid *grid, enum spot upper, enum spot lower)
{
	if (upper == lower)
		return glyph_cell(grid, upper == SPOT_FREE ? UI_GLYPH_DOT : UI_GLYPH_FULL,
				  spots[upper].role);
	if (upper == SPOT_FREE)
		return glyph_cell(grid, UI_GLYPH_LOWER, spots[lower].role);
	return (struct ui_cell){ ui_glyph(grid, UI_GLYPH_UPPER), spots[upper].role,
				 lower == SPOT_FREE ? 0 : spots[lower].role };
}

/* The map reads like a page: slots ascend to the right, then down. */
static void draw_spots(struct ui_grid *grid, const struct map *map)
{
	int w = map->rect.w, rows = map->rect.h * (map->halves ? 2 : 1), all = w * rows;

	for (int y = 0; y < map->rect.h; y++)
		for (int x = 0; x < w; x++) {
			struct ui_cell cell;

			if (map->halves)
				cell = half_cell(grid, spot_of(map, 2 * y * w + x, all),
						 spot_of(map, (2 * y + 1) * w + x, all));
			else
				cell = whole_cell(grid, spot_of(map, y * w + x, all));
			ui_grid_put(grid, map->rect.x + x, map->rect.y + y, cell);
		}
}

static void draw_legend(struct ui_grid *grid, struct ui_rect rect, bool halves)
{
	struct ui_pen pen = ui_pen_at(grid, rect, rect.h - 1);

	for (int i = 0; i < SPOTS; i++) {
		struct ui_cell cell = whole_cell(grid, (enum spot)i);

		if (pen.x + 2 + (int)strlen(spots[i].name) > pen.end)
			return;
		if (halves && i != SPOT_FREE)
			cell.code = ui_glyph(grid, UI_GLYPH_FULL);
		ui_grid_put(grid, pen.x, pen.y, cell);
		pen.x++;
		ui_pen_printf(&pen, UI_ROLE_DIM, "%s ", spots[i].name);
	}
}

static void draw_map(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	struct map map = { .dash = dash, .halves = !grid->ascii && !grid->mono };
	struct ui_pen pen;
	uint32_t high;
	char title[64];

	play_race_slot_span(dash->race, &map.area, &map.low, &high);
	map.slots = (uint64_t)high - map.low + 1;
	map.rect = (struct ui_rect){ rect.x, rect.y + 1, rect.w, larger(rect.h - 2, 0) };
	snprintf(title, sizeof(title), "slots of %u", dash->selected + 1);
	pen = draw_title(grid, rect, 0, title);
	ui_pen_printf(&pen, UI_ROLE_DIM, "%s - %s ", ui_count(map.low).text, ui_count(high).text);
	draw_spots(grid, &map);
	draw_legend(grid, rect, map.halves);
}

/* --------------------------------------------------------------------------------------------- rates */

static void draw_rate(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		      enum ui_curve curve)
{
	bool out = curve == UI_CURVE_OUT_RATE;
	double values[UI_GRID_MAX], top = 0;
	struct ui_pen pen = draw_title(grid, rect, 0, out ? "swap-outs/s" : "refaults/s");
	struct ui_small now = ui_number(window_value(dash, curve, 0), 0);
	char label[80];

	ui_history_curve(&dash->history, curve, 0, values, rect.w);
	for (int x = 0; x < rect.w; x++)
		if (values[x] > top)
			top = values[x];
	ui_pen_printf(&pen, UI_ROLE_BOLD, "%s ", now.text);
	snprintf(label, sizeof(label), " top %s", ui_number(top, 0).text);
	if (top > 0)
		ui_pen_right(&pen, UI_ROLE_DIM, label);
	draw_curve(grid, (struct ui_rect){ rect.x, rect.y + 1, rect.w, rect.h - 1 }, dash,
		   (struct ui_bars){ values, 0, ui_chart_round_up(top),
				     out ? UI_ROLE_CHART : UI_ROLE_CHART2 });
}

static void draw_rates(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	int upper = (rect.h + 1) / 2;

	draw_rate(grid, (struct ui_rect){ rect.x, rect.y, rect.w, upper }, dash, UI_CURVE_OUT_RATE);
	draw_rate(grid, (struct ui_rect){ rect.x, rect.y + upper, rect.w, rect.h - upper }, dash,
		  UI_CURVE_IN_RATE);
}

/* ------------------------------------------------------------------------------------------ timeline */

static void draw_timeline(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	uint64_t span = dash->history.last_ns - dash->history.first_ns;
	double done =
		span ? fmin((double)(dash->clock_ns - dash->history.first_ns) / (double)span, 1) : 1;
	int w = rect.w - 2, cursor = (int)lround(done * (w - 1));

	ui_grid_put(grid, rect.x, rect.y, glyph_cell(grid, UI_GLYPH_LEFT_END, UI_ROLE_DIM));
	ui_grid_put(grid, rect.x + rect.w - 1, rect.y, glyph_cell(grid, UI_GLYPH_RIGHT_END, UI_ROLE_DIM));
	for (int x = 0; x < w; x++)
		ui_grid_put(grid, rect.x + 1 + x, rect.y,
			    x < cursor ? glyph_cell(grid, UI_GLYPH_HEAVY, UI_ROLE_CURSOR)
				       : glyph_cell(grid, UI_GLYPH_LINE, UI_ROLE_DIM));
	for (int i = 0; i < UI_HISTORY_STEPS; i++)
		if (dash->gap_at[i])
			ui_grid_put(grid, rect.x + 1 + i * w / UI_HISTORY_STEPS, rect.y,
				    (struct ui_cell){ '!', UI_ROLE_BAD, 0 });
	ui_grid_put(grid, rect.x + 1 + cursor, rect.y, glyph_cell(grid, UI_GLYPH_KNOB, UI_ROLE_CURSOR));
}

/* ------------------------------------------------------------------------------------ footer and help */

static void draw_footer(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	static const char *const hints[][2] = {
		{ "space", "play" }, { ".", "event" }, { "w", "walk" },
		{ "+-", "speed" },   { NULL, "seek" }, { "g", "gap" },
		{ "tab", "lane" },   { "?", "help" },  { "q", "quit" },
	};
	const char *arrows = grid->ascii ? "<>" : "\u2190\u2192";
	struct ui_pen pen = ui_pen_at(grid, rect, 0);

	(void)dash;
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		ui_pen_text(&pen, UI_ROLE_NORMAL, " ");
		ui_pen_text(&pen, UI_ROLE_KEY, hints[i][0] ? hints[i][0] : arrows);
		ui_pen_printf(&pen, UI_ROLE_DIM, " %s", hints[i][1]);
	}
}

static int help_rows(void)
{
	int n = 0;

	while (ui_dash_keys()[n].shown)
		n++;
	return n;
}

static void draw_help(struct ui_grid *grid)
{
	int w = 62, h = help_rows() + 4;
	struct ui_rect box = { (grid->w - w) / 2, (grid->h - h) / 2, w, h };
	struct ui_rect inner;
	struct ui_pen pen;

	box.x = larger(box.x, 0);
	box.y = larger(box.y, 0);
	box.w = smaller(w, grid->w);
	box.h = smaller(h, grid->h);
	ui_grid_fill(grid, box, (struct ui_cell){ ' ', UI_ROLE_SELECTED, 0 });
	inner = (struct ui_rect){ box.x + 2, box.y + 1, box.w - 4, box.h - 2 };
	pen = ui_pen_at(grid, inner, 0);
	ui_pen_text(&pen, UI_ROLE_SELECTED, "Keys");
	for (int row = 0; ui_dash_keys()[row].shown; row++) {
		pen = ui_pen_at(grid, inner, row + 2);
		ui_pen_printf(&pen, UI_ROLE_SELECTED, "%-17s %s", ui_dash_keys()[row].shown,
			      ui_dash_keys()[row].help);
	}
}

static void draw_too_small(struct ui_grid *grid)
{
	struct ui_pen pen = ui_pen_at(grid, ui_grid_rect(grid), grid->h / 2 - (grid->h > 1));

	ui_pen_printf(&pen, UI_ROLE_BOLD, "%dx%d is too small", grid->w, grid->h);
	pen = ui_pen_at(grid, ui_grid_rect(grid), grid->h / 2 + (grid->h == 1));
	ui_pen_printf(&pen, UI_ROLE_DIM, "need %dx%d, q quits", MIN_W, MIN_H);
}

/* --------------------------------------------------------------------------------------------- layout */

static void (*const draw[PANELS])(struct ui_grid *, struct ui_rect, const struct ui_dash *) = {
	[HEADER] = draw_header, [LANES] = draw_lanes,	    [MAP] = draw_map,
	[RATES] = draw_rates,	[TIMELINE] = draw_timeline, [FOOTER] = draw_footer,
};

/* Lanes get half of the height between header and timeline, the map and the rates the other half. */
static void place_panels(const struct ui_grid *grid, struct ui_rect rects[PANELS])
{
	int w = grid->w, h = grid->h, free_rows = h - 3;
	int lanes = larger(LANE_FIXED_ROWS + 1, smaller(free_rows / 2, LANE_FIXED_ROWS + 12));
	int lower = free_rows - lanes, map_w = larger((w - 1) * 3 / 5, smaller(49, w - 24));

	rects[HEADER] = (struct ui_rect){ 0, 0, w, 1 };
	rects[LANES] = (struct ui_rect){ 0, 1, w, lanes };
	rects[MAP] = (struct ui_rect){ 0, 1 + lanes, map_w, lower };
	rects[RATES] = (struct ui_rect){ map_w + 1, 1 + lanes, w - map_w - 1, lower };
	rects[TIMELINE] = (struct ui_rect){ 0, h - 2, w, 1 };
	rects[FOOTER] = (struct ui_rect){ 0, h - 1, w, 1 };
}

void ui_dash_draw(const struct ui_dash *dash, struct ui_grid *grid)
{
	struct ui_rect rects[PANELS];

	ui_grid_clear(grid);
	if (grid->w < MIN_W || grid->h < MIN_H) {
		draw_too_small(grid);
		return;
	}
	place_panels(grid, rects);
	for (int i = 0; i < PANELS; i++)
		draw[i](grid, rects[i], dash);
	if (dash->help)
		draw_help(grid);
}
