/* SPDX-License-Identifier: MIT */
/*
 * A grid as an SVG picture; see grid.h.
 *
 * Text is set in runs of one look, stretched to their cells, so that columns stay columns in any
 * monospaced font. Blocks and lines are drawn as rectangles, since fonts leave seams between them.
 * A cell is CELL_W x CELL_H units; the attributes are resolved here: reverse swaps the colours, dim
 * mixes with the background.
 */
#include "ui/looks.h"
#include "ui/text.h"

enum { CELL_W = 8, CELL_H = 16, BASELINE = 12, FONT = 13, MARGIN = 8 };

static const char paper[] = "#16181d", ink[] = "#d6d9e0", dim_ink[] = "#7d828d",
		  bright_ink[] = "#ffffff";

static const char *const colours[] = { ink,	  "#f2777a", "#99cc99", "#e5b95c",
				       "#6699e5", "#cc99cc", "#5fc7d4", ink };
static const char *const bright[] = { bright_ink, "#ff8f92", "#b5e5b5", "#ffd679",
				      "#8fb8ff",  "#e5b3e5", "#8ff0fb", bright_ink };

struct paint {
	const char *fore, *back;
	bool bold;
};

static struct paint paint_of(const struct ui_grid *grid, const struct ui_cell *cell)
{
	const struct ui_look *look = &ui_looks[cell->role];
	unsigned how = grid->mono ? look->mono : look->how;
	unsigned colour = grid->mono ? 0 : look->colour;
	struct paint out = { .fore = colours[colour], .back = paper, .bold = how & UI_LOOK_BOLD };

	if (out.bold)
		out.fore = bright[colour];
	else if (how & UI_LOOK_DIM)
		out.fore = dim_ink;
	if (cell->back)
		out.back = grid->mono ? paper : colours[ui_looks[cell->back].colour];
	if (how & UI_LOOK_REVERSE) {
		out.back = out.fore;
		out.fore = paper;
	}
	return out;
}

static bool same_paint(struct paint a, struct paint b)
{
	return a.fore == b.fore && a.back == b.back && a.bold == b.bold;
}

/* The part of a cell that a block or line covers, in cell units; w = 0: it is text. */
struct part {
	int x, y, w, h;
	bool shade;
};

static struct part part_of(uint32_t code)
{
	if (code == 0x2588)
		return (struct part){ 0, 0, CELL_W, CELL_H, false };
	if (code == 0x2580)
		return (struct part){ 0, 0, CELL_W, CELL_H / 2, false };
	if (code > 0x2580 && code < 0x2588) { /* lower eighths */
		int h = (int)(code - 0x2580) * CELL_H / 8;

		return (struct part){ 0, CELL_H - h, CELL_W, h, false };
	}
	if (code > 0x2588 && code < 0x2590) /* left eighths, from seven down */
		return (struct part){ 0, 0, (int)(0x2590 - code) * CELL_W / 8, CELL_H, false };
	if (code == 0x2592)
		return (struct part){ 0, 0, CELL_W, CELL_H, true };
	if (code == 0x2595)
		return (struct part){ CELL_W - 1, 0, 1, CELL_H, false };
	if (code == 0x2500 || code == 0x2501)
		return (struct part){ 0, CELL_H / 2, CELL_W, code == 0x2501 ? 2 : 1, false };
	return (struct part){ 0 };
}

static void put_char(uint32_t code, FILE *out)
{
	char bytes[4];

	if (code == '<')
		fputs("&lt;", out);
	else if (code == '>')
		fputs("&gt;", out);
	else if (code == '&')
		fputs("&amp;", out);
	else if (code == ' ')
		fputs("\u00a0", out);
	else
		fwrite(bytes, 1, ui_utf8_put(code, bytes), out);
}

static void put_rect(int x, int y, const struct part *part, const char *colour, FILE *out)
{
	fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"%s/>\n",
		MARGIN + x + part->x, MARGIN + y + part->y, part->w, part->h, colour,
		part->shade ? " fill-opacity=\".55\"" : "");
}

static void put_text(const struct ui_cell *row, int x, int end, FILE *out)
{
	for (int i = x; i < end; i++)
		if (row[i].code)
			put_char(row[i].code, out);
}

static bool is_blank(const struct ui_cell *row, int x, int end)
{
	for (; x < end; x++)
		if (row[x].code != ' ' && row[x].code)
			return false;
	return true;
}

/* The cells [x, end) are of one paint; all are text, or all the same block. */
static void put_run(const struct ui_cell *row, int x, int end, int y, struct paint paint, FILE *out)
{
	struct part part = part_of(row[x].code),
		    whole = { 0, 0, (end - x) * CELL_W, CELL_H, false };
	int last = end;

	if (paint.back != paper)
		put_rect(x * CELL_W, y * CELL_H, &whole, paint.back, out);
	if (part.w) {
		if (part.w == CELL_W)
			part.w = whole.w;
		put_rect(x * CELL_W, y * CELL_H, &part, paint.fore, out);
		return;
	}
	if (is_blank(row, x, end))
		return;
	while (row[last - 1].code == ' ')
		last--;
	fprintf(out, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"%s\"%s>",
		MARGIN + x * CELL_W, MARGIN + y * CELL_H + BASELINE, (last - x) * CELL_W,
		paint.fore, paint.bold ? " font-weight=\"bold\"" : "");
	put_text(row, x, last, out);
	fputs("</text>\n", out);
}

static bool goes_on(const struct ui_grid *grid, const struct ui_cell *first,
		    const struct ui_cell *next)
{
	struct part a = part_of(first->code);

	if (!next->code)
		return true;
	if (!same_paint(paint_of(grid, first), paint_of(grid, next)))
		return false;
	return a.w ? a.w == CELL_W && next->code == first->code : part_of(next->code).w == 0;
}

void ui_grid_print_svg(const struct ui_grid *grid, FILE *out)
{
	int w = grid->w * CELL_W + 2 * MARGIN, h = grid->h * CELL_H + 2 * MARGIN;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" "
		"font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"%d\" "
		"shape-rendering=\"crispEdges\">\n"
		"<rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\"/>\n",
		w, h, w, h, FONT, w, h, paper);
	for (int y = 0; y < grid->h; y++) {
		const struct ui_cell *row = grid->cells + (size_t)y * (size_t)grid->w;

		for (int x = 0, end; x < grid->w; x = end) {
			for (end = x + 1; end < grid->w && goes_on(grid, &row[x], &row[end]); end++)
				;
			put_run(row, x, end, y, paint_of(grid, &row[x]), out);
		}
	}
	fputs("</svg>\n", out);
}
