/* SPDX-License-Identifier: MIT */
/* The panels of the dashboard, each a function that draws into its rectangle, and what they share. */
#ifndef UI_PANELS_H
#define UI_PANELS_H

#include "ui/chart.h"
#include "ui/dash.h"
#include "ui/format.h"
#include "ui/verdict.h"

void ui_panel_lanes(struct ui_grid *grid, const struct ui_layout *layout, const struct ui_dash *dash);
void ui_panel_live(struct ui_grid *grid, const struct ui_layout *layout, const struct ui_dash *dash);
void ui_panel_map(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash);
void ui_panel_why(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash);
void ui_panel_sizes(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash);
void ui_panel_time(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash);
void ui_panel_timeline(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash);

static inline int ui_min(int a, int b)
{
	return a < b ? a : b;
}

static inline int ui_max(int a, int b)
{
	return a > b ? a : b;
}

static inline struct ui_cell ui_glyph_cell(const struct ui_grid *grid, enum ui_glyph glyph, enum ui_role role)
{
	return (struct ui_cell){ ui_glyph(grid, glyph), (uint8_t)role, 0 };
}

/* A title and a line to the end of the row; returns the pen behind the title. */
struct ui_pen ui_panel_title(struct ui_grid *grid, struct ui_rect rect, int row, const char *title);

/* Parts of a lane's column: its title; rows 1 and 2, the pool; a figure, marked if it is better or worse. */
void ui_panel_lane_title(struct ui_grid *grid, struct ui_rect rect, uint32_t lane, const char *policy,
			 bool selected);
void ui_panel_pool(struct ui_grid *grid, struct ui_rect rect, const struct sim_state *state,
		   uint64_t page_size);
int ui_panel_value_width(int lane_width);
void ui_panel_value(struct ui_grid *grid, struct ui_rect cell, double value, int decimals,
		    enum ui_verdict verdict);

/* A curve over the whole span in `n` columns; NaN where nothing is known. `lane` for those of a lane. */
enum ui_curve { UI_CURVE_OUTS, UI_CURVE_INS, UI_CURVE_WRITEBACKS, UI_CURVE_LANE };

void ui_curve_values(const struct ui_view *view, enum ui_curve curve, enum ui_figure figure, uint32_t lane,
		     double *values, int n);

/* Bars up to the clock, and dim ones for what is known from before going back. */
void ui_draw_curve(struct ui_grid *grid, struct ui_rect rect, const struct ui_view *view, struct ui_bars bars);

#endif
