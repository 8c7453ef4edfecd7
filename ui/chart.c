/* SPDX-License-Identifier: MIT */
/* Charts in cells; see chart.h. */
#include "ui/chart.h"

#include <math.h>

/* A cell of a bar that is `eighths` full, 1 to 8. ASCII has three heights. */
static uint32_t bar_code(const struct ui_grid *grid, int eighths)
{
	static const char ascii[] = "...::::#";

	return grid->ascii ? (uint32_t)ascii[eighths - 1] : 0x2580u + (uint32_t)eighths;
}

static void draw_bar(struct ui_grid *grid, struct ui_rect column, int eighths, enum ui_role role)
{
	for (int y = column.h - 1; y >= 0 && eighths > 0; y--, eighths -= 8)
		ui_grid_put(grid, column.x, column.y + y,
			    (struct ui_cell){ bar_code(grid, eighths > 8 ? 8 : eighths), role, 0 });
}

void ui_chart_bars(struct ui_grid *grid, struct ui_rect rect, const struct ui_bars *bars)
{
	for (int x = 0; x < rect.w; x++) {
		double part = (bars->values[x] - bars->low) / (bars->high - bars->low);
		int eighths;

		if (!(part > 0))
			continue;
		eighths = (int)lround(fmin(part, 1) * rect.h * 8);
		draw_bar(grid, (struct ui_rect){ rect.x + x, rect.y, 1, rect.h }, eighths ? eighths : 1,
			 bars->role);
	}
}

/* Cells of a gauge fill from the left in eighths; 0x258f is one eighth, 0x2589 seven. */
static uint32_t gauge_code(const struct ui_grid *grid, int eighths)
{
	if (grid->ascii)
		return eighths >= 4 ? '#' : ' ';
	return eighths ? 0x2590u - (uint32_t)eighths : ' ';
}

void ui_chart_gauge(struct ui_grid *grid, struct ui_rect rect, const struct ui_gauge *gauge)
{
	int inner = rect.w - 2;
	int eighths = (int)lround(fmin(fmax(gauge->part, 0), 1) * inner * 8);
	int mark = gauge->mark < 0 ? -1 : (int)lround(fmin(gauge->mark, 1) * (inner - 1));

	if (inner < 1)
		return;
	ui_grid_put(grid, rect.x, rect.y,
		    (struct ui_cell){ ui_glyph(grid, UI_GLYPH_LEFT_END), UI_ROLE_DIM, 0 });
	ui_grid_put(grid, rect.x + rect.w - 1, rect.y,
		    (struct ui_cell){ ui_glyph(grid, UI_GLYPH_RIGHT_END), UI_ROLE_DIM, 0 });
	for (int x = 0; x < inner; x++) {
		int here = eighths - 8 * x;
		uint32_t code = gauge_code(grid, here < 0 ? 0 : here > 8 ? 8 : here);

		ui_grid_put(grid, rect.x + 1 + x, rect.y, (struct ui_cell){ code, gauge->role, 0 });
		if (x == mark)
			ui_grid_put(grid, rect.x + 1 + x, rect.y,
				    (struct ui_cell){ ui_glyph(grid, UI_GLYPH_TICK), UI_ROLE_BOLD,
						      here > 4 ? gauge->role : 0 });
	}
}

double ui_chart_round_up(double value)
{
	static const double steps[] = { 1, 1.2, 1.5, 2, 3, 5, 8, 10 };
	double scale = pow(10, floor(log10(value)));
	int i = 0;

	if (!(value > 0) || !isfinite(scale))
		return 1;
	while (steps[i] * scale < value * (1 - 1e-12))
		i++;
	return steps[i] * scale;
}
