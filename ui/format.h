/* SPDX-License-Identifier: MIT */
/*
 * Numbers for people, and the numbers that people write.
 *
 * The formatters return a small text by value, so that a call can stand in a printf argument:
 * printf("%s events\n", ui_count(n).text).
 */
#ifndef UI_FORMAT_H
#define UI_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct ui_small {
	char text[48];
};

/* 1234567 -> "1,234,567" */
struct ui_small ui_count(uint64_t n);

/* The same for a figure with `decimals` places: 1234.5, 1 -> "1,234.5". Not a number gives "-". */
struct ui_small ui_number(double value, int decimals);

/* "17 B", "1.5 KiB", "12 MiB": three significant digits. */
struct ui_small ui_bytes(uint64_t bytes);

/* "850 ns", "12.3 us", "1.20 s", "3 min 20 s", "2 h 05 min" */
struct ui_small ui_span(uint64_t ns);

/* A point in time for a clock on the screen: "0:12.345", "1:02:03.400". */
struct ui_small ui_clock(uint64_t ns);

/* Change from `from` to `to`: "-20.4%"; from a thousand percent on "x33.7"; "-" when there is none to tell. */
struct ui_small ui_change(double from, double to);

/* A decimal from 1 to `most`. */
bool ui_parse_count(const char *text, uint32_t most, uint32_t *out);

#endif
