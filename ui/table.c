/* SPDX-License-Identifier: MIT */
/* Layout and printing of text tables; see table.h. */
#include "ui/table.h"

#include <stdbool.h>

#include "ui/text.h"

enum { COLUMN_GAP = 1, GROUP_GAP = 3 };

/* The table with its column widths, as one part after the other is printed. */
struct layout {
	const struct ui_table *table;
	int *widths;
	bool ascii;
	FILE *out;
};

enum zr_err ui_table_init(struct ui_table *table, struct zr_arena *arena, uint32_t rows, uint32_t columns,
			  uint32_t groups)
{
	*table = (struct ui_table){ .n_columns = columns, .n_rows = rows, .n_groups = groups };
	table->cells = zr_arena_array(arena, (size_t)rows * columns, sizeof(*table->cells));
	table->group = zr_arena_array(arena, columns, sizeof(*table->group));
	table->heads = zr_arena_array(arena, groups, sizeof(*table->heads));
	if (!table->cells || !table->group || !table->heads)
		return zr_fail(ZR_NOMEM, "laying out a table of %u rows: out of memory", rows);
	return ZR_OK;
}

static const char *cell(const struct ui_table *table, uint32_t row, uint32_t column)
{
	const char *text = table->cells[(size_t)row * table->n_columns + column];

	return text ? text : "";
}

static const char *head(const struct ui_table *table, uint32_t group)
{
	return table->heads[group] ? table->heads[group] : "";
}

static int group_width(const struct layout *layout, uint32_t group)
{
	const struct ui_table *table = layout->table;
	int width = 0;

	for (uint32_t c = 0; c < table->n_columns; c++)
		if (table->group[c] == group)
			width += (width ? COLUMN_GAP : 0) + layout->widths[c];
	return width;
}

static uint32_t first_column(const struct ui_table *table, uint32_t group)
{
	uint32_t c = 0;

	while (c < table->n_columns && table->group[c] != group)
		c++;
	return c;
}

static void measure(struct layout *layout)
{
	const struct ui_table *table = layout->table;

	for (uint32_t c = 0; c < table->n_columns; c++)
		for (uint32_t r = 0; r < table->n_rows; r++) {
			int width = ui_text_width(cell(table, r, c), layout->ascii);

			if (width > layout->widths[c])
				layout->widths[c] = width;
		}
	for (uint32_t g = 0; g < table->n_groups; g++) {
		int missing = ui_text_width(head(table, g), layout->ascii) - group_width(layout, g);

		if (missing > 0)
			layout->widths[first_column(table, g)] += missing;
	}
}

static void pad(FILE *out, int n)
{
	fprintf(out, "%*s", n > 0 ? n : 0, "");
}

static void put_right(const struct layout *layout, const char *text, int width)
{
	pad(layout->out, width - ui_text_width(text, layout->ascii));
	ui_put_clean(layout->out, text);
}

static void put_left(const struct layout *layout, const char *text, int width)
{
	ui_put_clean(layout->out, text);
	pad(layout->out, width - ui_text_width(text, layout->ascii));
}

static void print_heads(const struct layout *layout, uint32_t from, uint32_t to)
{
	put_left(layout, head(layout->table, 0), group_width(layout, 0));
	for (uint32_t g = from; g < to; g++) {
		pad(layout->out, GROUP_GAP);
		put_right(layout, head(layout->table, g), group_width(layout, g));
	}
	fputc('\n', layout->out);
}

static void print_rule(const struct layout *layout, uint32_t from, uint32_t to)
{
	for (uint32_t g = 0; g < to; g = g ? g + 1 : from) {
		if (g)
			pad(layout->out, GROUP_GAP);
		for (int i = group_width(layout, g); i > 0; i--)
			fputc('-', layout->out);
	}
	fputc('\n', layout->out);
}

static void print_row(const struct layout *layout, uint32_t row, uint32_t from, uint32_t to)
{
	const struct ui_table *table = layout->table;

	for (uint32_t c = 0; c < table->n_columns; c++) {
		uint32_t g = table->group[c];
		bool opens = c == 0 || table->group[c - 1] != g;

		if (g && (g < from || g >= to))
			continue;
		if (c)
			pad(layout->out, opens ? GROUP_GAP : COLUMN_GAP);
		(c ? put_right : put_left)(layout, cell(table, row, c), layout->widths[c]);
	}
	fputc('\n', layout->out);
}

/* The end of the run of groups from `from` that fits; at least one group. */
static uint32_t fitting(const struct layout *layout, uint32_t from, int width)
{
	int used = group_width(layout, 0);
	uint32_t to = from;

	while (to < layout->table->n_groups) {
		used += GROUP_GAP + group_width(layout, to);
		if (used > width && to > from)
			break;
		to++;
	}
	return to;
}

enum zr_err ui_table_print(const struct ui_table *table, struct zr_arena *arena, int width, FILE *out)
{
	struct layout layout = { .table = table, .ascii = ui_locale_is_ascii(), .out = out };
	uint32_t from = 1;

	layout.widths = zr_arena_array(arena, table->n_columns, sizeof(*layout.widths));
	if (!layout.widths)
		return zr_fail(ZR_NOMEM, "printing a table: out of memory");
	measure(&layout);
	do {
		uint32_t to = fitting(&layout, from, width);

		if (from > 1)
			fputc('\n', out);
		print_heads(&layout, from, to);
		print_rule(&layout, from, to);
		for (uint32_t r = 0; r < table->n_rows; r++)
			print_row(&layout, r, from, to);
		from = to;
	} while (from < table->n_groups);
	return ZR_OK;
}
