/* SPDX-License-Identifier: MIT */
/* The rectangles of layout.h. */
#include "ui/layout.h"

enum {
	PLACE_W = 78, /* a second column of panels needs twice as much */
	PLACE_H = 11,
	CURVE_MAX = 8,
};

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static void place_panels(struct ui_layout *layout, struct ui_rect rect, enum ui_panel chosen)
{
	int columns = rect.w >= 2 * PLACE_W ? 2 : 1, rows = rect.h >= 2 * PLACE_H ? 2 : 1;

	for (int i = 0; i < columns * rows; i++) {
		int column = i % columns, row = i / columns;
		int left = (rect.w + 1) * column / columns,
		    right = (rect.w + 1) * (column + 1) / columns;
		int top = rect.h * row / rows, bottom = rect.h * (row + 1) / rows;

		layout->places[i].panel = (chosen + (unsigned)i) % UI_PANEL_COUNT;
		layout->places[i].rect = (struct ui_rect){ rect.x + left, rect.y + top,
							   right - left - 1, bottom - top };
	}
	layout->n_places = columns * rows;
}

struct ui_layout ui_layout_of(int w, int h, enum ui_panel chosen)
{
	int free_rows = h - 3;
	int curve = smaller(larger(free_rows - UI_LANE_ROWS - PLACE_H - 1, 0) / 3, CURVE_MAX);
	int lanes = UI_LANE_ROWS + (curve >= 3 ? curve : 0);
	struct ui_layout layout = { .too_small = w < UI_MIN_W || h < UI_MIN_H };

	if (layout.too_small)
		return layout;
	/* In a low screen the lanes give way: their last rows are cut. */
	lanes = smaller(lanes, free_rows - 6);
	layout.header = (struct ui_rect){ 0, 0, w, 1 };
	layout.lanes = (struct ui_rect){ 0, 1, w, lanes };
	layout.timeline = (struct ui_rect){ 0, h - 2, w, 1 };
	layout.footer = (struct ui_rect){ 0, h - 1, w, 1 };
	place_panels(&layout, (struct ui_rect){ 0, 1 + lanes, w, free_rows - lanes }, chosen);
	return layout;
}

bool ui_layout_find(const struct ui_layout *layout, enum ui_panel panel, struct ui_rect *out)
{
	for (int i = 0; i < layout->n_places; i++)
		if (layout->places[i].panel == panel) {
			*out = layout->places[i].rect;
			return true;
		}
	return false;
}

void ui_layout_lanes(const struct ui_layout *layout, int n, int selected, int *first, int *shown)
{
	int fit = larger(1, (layout->lanes.w + 1) / (UI_LANE_MIN_W + 1));

	*shown = smaller(n, fit);
	*first = larger(0, smaller(selected - *shown / 2, n - *shown));
}

struct ui_rect ui_layout_lane(const struct ui_layout *layout, int i, int shown)
{
	struct ui_rect rect = layout->lanes;
	int left = (rect.w + 1) * i / shown, right = (rect.w + 1) * (i + 1) / shown;

	return (struct ui_rect){ rect.x + left, rect.y, right - left - 1, rect.h };
}

/* A title above, the slot under the cursor and the legend below. */
struct ui_rect ui_layout_spots(struct ui_rect map)
{
	return (struct ui_rect){ map.x, map.y + 1, map.w, larger(map.h - 3, 0) };
}

bool ui_rect_has(struct ui_rect rect, int x, int y)
{
	return x >= rect.x && x < rect.x + rect.w && y >= rect.y && y < rect.y + rect.h;
}
