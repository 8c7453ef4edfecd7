/* SPDX-License-Identifier: MIT */
/* A grid as text: what `--dump` prints and golden screens hold; see grid.h. */
#include "ui/grid.h"

#include "ui/text.h"

static const char role_letters[UI_ROLE_COUNT] = {
#define X(name, letter) [UI_ROLE_##name] = letter,
	UI_ROLES(X)
#undef X
};

static const struct ui_cell *row_of(const struct ui_grid *grid, int y)
{
	return grid->cells + (size_t)y * (size_t)grid->w;
}

static void print_codes(const struct ui_grid *grid, int y, FILE *out)
{
	const struct ui_cell *row = row_of(grid, y);
	int end = grid->w;

	while (end > 0 && row[end - 1].code == ' ')
		end--;
	for (int x = 0; x < end; x++) {
		char bytes[4];

		if (row[x].code)
			fwrite(bytes, 1, ui_utf8_put(row[x].code, bytes), out);
	}
	fputc('\n', out);
}

/* Two letters where foreground and background both mean something would break the columns; the
 * background wins where there is one, since it colours the whole cell. */
static void print_roles(const struct ui_grid *grid, int y, FILE *out)
{
	const struct ui_cell *row = row_of(grid, y);

	for (int x = 0; x < grid->w; x++)
		fputc(role_letters[row[x].back ? row[x].back : row[x].role], out);
	fputc('\n', out);
}

void ui_grid_print(const struct ui_grid *grid, bool roles, FILE *out)
{
	for (int y = 0; y < grid->h; y++)
		print_codes(grid, y, out);
	for (int y = 0; roles && y < grid->h; y++)
		print_roles(grid, y, out);
}
