/* SPDX-License-Identifier: MIT */
/*
 * Where things are on a screen of a certain size: one answer for drawing, for the mouse and for what the worker is
 * asked to look at.
 *
 *   header
 *   lanes           one column a policy, as many as fit
 *   place | place   panels: one in 80x24, up to four where there is room, from the chosen one on
 *   timeline
 *   footer
 */
#ifndef UI_LAYOUT_H
#define UI_LAYOUT_H

#include "ui/grid.h"

enum {
	UI_MIN_W = 60,
	UI_MIN_H = 18,
	UI_WIDE_W = 110, /* from here on the header also has what never changes */
	UI_LANE_MIN_W = 25,
	UI_LANE_ROWS = 10, /* of a lane, all but its curve */
	UI_PLACES = 4,
};

#define UI_PANELS(X)                                                                               \
	X(MAP, "map of the slots")                                                                 \
	X(WHY, "why requests are short")                                                           \
	X(SIZES, "request sizes, ages in the pool")                                                \
	X(TIME, "rates over time")

enum ui_panel {
#define X(name, text) UI_PANEL_##name,
	UI_PANELS(X)
#undef X
	UI_PANEL_COUNT,
};

struct ui_layout {
	bool too_small;
	struct ui_rect header, lanes, timeline, footer;
	struct {
		enum ui_panel panel;
		struct ui_rect rect;
	} places[UI_PLACES];
	int n_places;
};

struct ui_layout ui_layout_of(int w, int h, enum ui_panel chosen);

/* The rectangle of the panel, false if it is not on the screen. */
bool ui_layout_find(const struct ui_layout *layout, enum ui_panel panel, struct ui_rect *out);

/* Of `n` lanes, the first that is shown and how many are; the selected one is among them. */
void ui_layout_lanes(const struct ui_layout *layout, int n, int selected, int *first, int *shown);
struct ui_rect ui_layout_lane(const struct ui_layout *layout, int i, int shown);

/* The part of a map's rectangle that has the spots. */
struct ui_rect ui_layout_spots(struct ui_rect map);

bool ui_rect_has(struct ui_rect rect, int x, int y);

#endif
