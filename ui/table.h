/* SPDX-License-Identifier: MIT */
/*
 * Tables of text, fitted to the width of a terminal.
 *
 * Columns belong to groups. Group 0 stands at the left of every part; of the others as many as fit stand
 * side by side, the rest wraps into further parts below. A group is never split. Columns are right-aligned
 * but for column 0.
 *
 *              head 1         head 2          <- a head spans its group
 *   label  p    1,234    998  -19.1%  better
 */
#ifndef UI_TABLE_H
#define UI_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "db/base/arena.h"
#include "db/base/err.h"

struct ui_table {
	uint32_t n_columns, n_rows, n_groups;
	const char **cells; /* [row * n_columns + column], NULL is empty */
	uint32_t *group;    /* of a column, ascending from 0 */
	const char **heads; /* of a group */
};

/* All arrays in the arena, empty. */
enum zr_err ui_table_init(struct ui_table *table, struct zr_arena *arena, uint32_t rows, uint32_t columns,
			  uint32_t groups);

enum zr_err ui_table_print(const struct ui_table *table, struct zr_arena *arena, int width, FILE *out);

#endif
