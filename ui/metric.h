/* SPDX-License-Identifier: MIT */
/*
 * What is known of a metric beyond its value: where its row stands in a table, whether more or less of it
 * is better, and its unit. Metrics that nobody listed come last, in the order of their names, and are
 * neither better nor worse.
 */
#ifndef UI_METRIC_H
#define UI_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/format.h"

enum ui_better { UI_LESS_IS_BETTER = -1, UI_NEITHER = 0, UI_MORE_IS_BETTER = 1 };

enum ui_better ui_metric_better(const char *name);

/* Place in a table: smaller first; metrics that are not listed share the last place. */
uint32_t ui_metric_rank(const char *name);

/* The metric of a place, NULL behind the last. */
const char *ui_metric_name(uint32_t rank);

/* How a row is printed: its label, and what a value is divided by and how many places it gets, so that
 * all values of the row share one unit. */
struct ui_metric_scale {
	char label[64];
	double divisor;
	int decimals;
};

/* `largest` is the largest value of the row; `whole` says that all values are whole numbers. */
struct ui_metric_scale ui_metric_scale(const char *name, double largest, bool whole);

#endif
