/* SPDX-License-Identifier: MIT */
/* Drawing into a grid of cells; see grid.h. */
#include "ui/grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text.h"

static const struct {
	uint32_t unicode;
	char ascii;
} glyphs[UI_GLYPH_COUNT] = {
	[UI_GLYPH_FULL] = { 0x2588, '#' },     [UI_GLYPH_UPPER] = { 0x2580, '"' },
	[UI_GLYPH_LOWER] = { 0x2584, ',' },    [UI_GLYPH_SHADE] = { 0x2592, 'z' },
	[UI_GLYPH_DOT] = { 0x00b7, '.' },      [UI_GLYPH_LINE] = { 0x2500, '-' },
	[UI_GLYPH_HEAVY] = { 0x2501, '=' },    [UI_GLYPH_TICK] = { 0x2502, '|' },
	[UI_GLYPH_LEFT_END] = { 0x2595, '[' }, [UI_GLYPH_RIGHT_END] = { 0x258f, ']' },
	[UI_GLYPH_KNOB] = { 0x25cf, 'O' },     [UI_GLYPH_PLAY] = { 0x25b6, '>' },
	[UI_GLYPH_PAUSE] = { 0x2016, '"' },    [UI_GLYPH_DIAMOND] = { 0x25c6, '*' },
	[UI_GLYPH_ELLIPSIS] = { 0x2026, '~' }, [UI_GLYPH_RUN] = { 0x2550, '=' },
	[UI_GLYPH_RUN_END] = { 0x2561, ']' },  [UI_GLYPH_ALONE] = { 0x25aa, '#' },
	[UI_GLYPH_BOOKMARK] = { 0x25bc, 'v' },
};

uint32_t ui_glyph(const struct ui_grid *grid, enum ui_glyph glyph)
{
	return grid->ascii ? (uint32_t)glyphs[glyph].ascii : glyphs[glyph].unicode;
}

static int within(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

bool ui_grid_resize(struct ui_grid *grid, int w, int h)
{
	struct ui_cell *cells;

	w = within(w, 1, UI_GRID_MAX);
	h = within(h, 1, UI_GRID_MAX);
	cells = calloc((size_t)w * (size_t)h, sizeof(*cells));
	if (!cells)
		return false;
	free(grid->cells);
	grid->cells = cells;
	grid->w = w;
	grid->h = h;
	ui_grid_clear(grid);
	return true;
}

void ui_grid_fini(struct ui_grid *grid)
{
	free(grid->cells);
	grid->cells = NULL;
}

struct ui_rect ui_grid_rect(const struct ui_grid *grid)
{
	return (struct ui_rect){ 0, 0, grid->w, grid->h };
}

void ui_grid_clear(struct ui_grid *grid)
{
	ui_grid_fill(grid, ui_grid_rect(grid), (struct ui_cell){ ' ', UI_ROLE_NORMAL, 0 });
}

static struct ui_cell *cell_at(const struct ui_grid *grid, int x, int y)
{
	return &grid->cells[(size_t)y * (size_t)grid->w + (size_t)x];
}

/* Blanks the other half of a wide character of which (x, y) is about to be overwritten. */
static void part_wide(struct ui_grid *grid, int x, int y)
{
	if (cell_at(grid, x, y)->code == 0 && x > 0)
		cell_at(grid, x - 1, y)->code = ' ';
	if (x + 1 < grid->w && cell_at(grid, x + 1, y)->code == 0)
		cell_at(grid, x + 1, y)->code = ' ';
}

void ui_grid_put(struct ui_grid *grid, int x, int y, struct ui_cell cell)
{
	if (x < 0 || y < 0 || x >= grid->w || y >= grid->h)
		return;
	part_wide(grid, x, y);
	*cell_at(grid, x, y) = cell;
}

void ui_grid_fill(struct ui_grid *grid, struct ui_rect rect, struct ui_cell cell)
{
	for (int y = rect.y; y < rect.y + rect.h; y++)
		for (int x = rect.x; x < rect.x + rect.w; x++)
			ui_grid_put(grid, x, y, cell);
}

struct ui_pen ui_pen_at(struct ui_grid *grid, struct ui_rect rect, int row)
{
	/* A row outside the rectangle is a pen that cannot write. */
	int end = row >= 0 && row < rect.h ? rect.x + rect.w : rect.x;

	return (struct ui_pen){ grid, rect.x, rect.y + row, end < grid->w ? end : grid->w, 0 };
}

static void put_char(struct ui_pen *pen, enum ui_role role, struct ui_char c)
{
	ui_grid_put(pen->grid, pen->x, pen->y, (struct ui_cell){ c.code, role, pen->back });
	if (c.width == 2) {
		ui_grid_put(pen->grid, pen->x + 1, pen->y, (struct ui_cell){ ' ', role, pen->back });
		cell_at(pen->grid, pen->x + 1, pen->y)->code = 0;
	}
	pen->x += c.width;
}

void ui_pen_text(struct ui_pen *pen, enum ui_role role, const char *text)
{
	bool ascii = pen->grid->ascii;
	int left = ui_text_width(text, ascii);
	struct ui_char c;

	if (pen->y < 0 || pen->y >= pen->grid->h || pen->x < 0)
		return;
	while ((c = ui_char_next(&text, ascii)).code) {
		int room = pen->end - pen->x;

		/* Everything left fits, or this character and the ellipsis do. */
		if (left > room && c.width >= room) {
			if (room > 0)
				put_char(pen, role,
					 (struct ui_char){ ui_glyph(pen->grid, UI_GLYPH_ELLIPSIS), 1 });
			return;
		}
		left -= c.width;
		put_char(pen, role, c);
	}
}

void ui_pen_printf(struct ui_pen *pen, enum ui_role role, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ui_pen_text(pen, role, text);
}

void ui_pen_right(struct ui_pen *pen, enum ui_role role, const char *text)
{
	int at = pen->end - ui_text_width(text, pen->grid->ascii);

	if (at < pen->x)
		return;
	pen->x = at;
	ui_pen_text(pen, role, text);
}
