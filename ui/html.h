/* SPDX-License-Identifier: MIT */
/*
 * Text on its way into a page, and charts as inline SVG.
 *
 * A page is written so that an XML parser takes it too: every tag is closed, every attribute quoted, and no
 * entities but the five of XML and numbers. Whatever was not written in this program's source passes through
 * ui_html_text(): control characters and those that turn the direction of writing become U+FFFD.
 */
#ifndef UI_HTML_H
#define UI_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Escaped for text and for quoted attributes. */
void ui_html_text(FILE *out, const char *text);

enum { UI_SVG_STYLES = 6, UI_SVG_TICKS = 10 };

enum ui_svg_unit { UI_SVG_NUMBER, UI_SVG_PERCENT, UI_SVG_TIME, UI_SVG_BYTES }; /* TIME: nanoseconds */

struct ui_svg_axis {
	double low, high; /* low < high; both above 0 on a logarithmic axis */
	bool log;
	enum ui_svg_unit unit;
	const char *label;
};

/* Points with ascending x; the line is interrupted where y is not a number. */
struct ui_svg_line {
	const double *x, *y;
	uint32_t n;
	uint32_t style; /* below UI_SVG_STYLES: a colour and a dash, classes s0 ... of the style sheet */
};

/* A stretch of the x axis of which nothing is known, drawn at least three units wide. */
struct ui_svg_band {
	double from, to;
};

struct ui_svg_chart {
	const char *id;		 /* unique on the page, letters and digits */
	const char *title, *desc; /* for those who do not see it */
	int w, h;
	struct ui_svg_axis x, y;
	const struct ui_svg_line *lines;
	uint32_t n_lines;
	const struct ui_svg_band *bands;
	uint32_t n_bands;
	bool filled; /* down to the axis */
};

void ui_svg_chart(FILE *out, const struct ui_svg_chart *chart);

/* Round values within the axis, at most UI_SVG_TICKS and about `wanted` of them; returns how many. */
uint32_t ui_svg_ticks(const struct ui_svg_axis *axis, uint32_t wanted, double ticks[UI_SVG_TICKS]);

/* Where an axis from 0 ends that shows values up to `largest`: a few round steps; 1 for 0. */
double ui_svg_top(double largest);

/* A bar for a table's cell: from `from` to `to` of 0..1, in a style. Decoration: the cell has the figure. */
void ui_svg_bar(FILE *out, double from, double to, uint32_t style);

/* A short piece of a line, for legends. */
void ui_svg_key(FILE *out, uint32_t style);

#endif
