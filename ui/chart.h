/* SPDX-License-Identifier: MIT */
/* Bars over time and gauges, drawn into a grid with eighths of a block, or in ASCII. */
#ifndef UI_CHART_H
#define UI_CHART_H

#include "ui/grid.h"

/* One bar a column of the rectangle, as high as (value - low) / (high - low) of it. NaN draws nothing; a
 * value above `low` shows at least an eighth. */
struct ui_bars {
	const double *values; /* rect.w of them */
	double low, high;
	enum ui_role role;
};

void ui_chart_bars(struct ui_grid *grid, struct ui_rect rect, const struct ui_bars *bars);

/* A horizontal gauge, one row high, with ends. `part` and `mark` are 0..1; a mark below 0 is not drawn. */
struct ui_gauge {
	double part, mark;
	enum ui_role role;
};

void ui_chart_gauge(struct ui_grid *grid, struct ui_rect rect, const struct ui_gauge *gauge);

/* The next of 1, 1.2, 1.5, 2, 3, 5, 8 x 10^n that is at least `value`: a calm end of a scale. */
double ui_chart_round_up(double value);

#endif
