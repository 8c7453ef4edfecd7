/* SPDX-License-Identifier: MIT */
/* A grid as text with escape sequences, and the choice of a format; see grid.h. */
#include <string.h>

#include "ui/looks.h"
#include "ui/text.h"

static const struct {
	const char *word, *suffix;
} formats[] = {
#define X(name, word, suffix) { word, suffix },
	UI_GRID_FORMATS(X)
#undef X
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

bool ui_grid_format_parse(const char *word, enum ui_grid_format *out)
{
	for (int i = 0; i < FORMATS; i++)
		if (!word[0] || strcmp(word, formats[i].word) == 0) {
			*out = (enum ui_grid_format)i;
			return true;
		}
	return false;
}

enum ui_grid_format ui_grid_format_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (int i = 0; dot && i < FORMATS; i++)
		if (strcmp(dot, formats[i].suffix) == 0)
			return (enum ui_grid_format)i;
	return UI_GRID_TEXT;
}

void ui_grid_print_as(const struct ui_grid *grid, enum ui_grid_format format, FILE *out)
{
	if (format == UI_GRID_ANSI)
		ui_grid_print_ansi(grid, out);
	else if (format == UI_GRID_SVG)
		ui_grid_print_svg(grid, out);
	else
		ui_grid_print(grid, false, out);
}

static void put_look(const struct ui_grid *grid, const struct ui_cell *cell, FILE *out)
{
	const struct ui_look *look = &ui_looks[cell->role];
	unsigned how = grid->mono ? look->mono : look->how;

	fputs("\x1b[0", out);
	if (how & UI_LOOK_BOLD)
		fputs(";1", out);
	if (how & UI_LOOK_DIM)
		fputs(";2", out);
	if (how & UI_LOOK_REVERSE)
		fputs(";7", out);
	if (!grid->mono && look->colour)
		fprintf(out, ";3%u", look->colour);
	if (!grid->mono && ui_looks[cell->back].colour)
		fprintf(out, ";4%u", ui_looks[cell->back].colour);
	fputc('m', out);
}

void ui_grid_print_ansi(const struct ui_grid *grid, FILE *out)
{
	for (int y = 0; y < grid->h; y++) {
		const struct ui_cell *row = grid->cells + (size_t)y * (size_t)grid->w,
				     *before = NULL;

		for (int x = 0; x < grid->w; x++) {
			char bytes[4];

			if (!row[x].code)
				continue;
			if (!before || before->role != row[x].role || before->back != row[x].back)
				put_look(grid, &row[x], out);
			before = &row[x];
			fwrite(bytes, 1, ui_utf8_put(row[x].code, bytes), out);
		}
		fputs("\x1b[0m\n", out);
	}
}
