/* SPDX-License-Identifier: MIT */
/* Escapes and charts; see html.h. Sizes are in the chart's own units; the page scales it. */
#include "ui/html.h"

#include <math.h>
#include <string.h>

#include "ui/format.h"
#include "ui/text.h"

/* Room around the plot, and the least width of a band. */
enum { LEFT = 62, RIGHT = 12, TOP = 8, BOTTOM = 38, BAND_MIN = 3, LABEL_UP = 4 };

void ui_html_text(FILE *out, const char *text)
{
	uint32_t code;
	char bytes[4];

	while ((code = ui_utf8_next(&text))) {
		/* Not by ui_char_next(), whose answer depends on the locale: a page is always UTF-8. */
		if (ui_is_control(code) || code == 0xfffe || code == 0xffff)
			code = UI_REPLACEMENT;
		switch (code) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fwrite(bytes, 1, ui_utf8_put(code, bytes), out);
		}
	}
}

/* -------------------------------------------------------------------------------------------- ticks */

/* The next of 1, 2 and 5 times a power of ten at or above a value; 1 for 0. */
static double round_up(double value)
{
	static const double steps[] = { 1, 2, 5, 10 };
	double power;

	if (!(value > 0))
		return 1;
	power = pow(10, floor(log10(value)));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i] * power >= value * (1 - 1e-12))
			return steps[i] * power;
	return 10 * power;
}

double ui_svg_top(double largest)
{
	double step = round_up(largest / 5);

	return largest > 0 ? step * ceil(largest / step * (1 - 1e-12)) : 1;
}

/* Clocks are not decimal: from a second on, the steps that people know. */
static double time_step(double least_ns)
{
	static const double seconds[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
					  43200, 86400 };

	if (least_ns <= 0.5e9)
		return round_up(least_ns);
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
		if (seconds[i] * 1e9 >= least_ns)
			return seconds[i] * 1e9;
	return round_up(least_ns / 86400e9) * 86400e9;
}

static double byte_step(double least)
{
	return exp2(ceil(log2(least)));
}

static double linear_step(const struct ui_svg_axis *axis, uint32_t wanted)
{
	double least = (axis->high - axis->low) / wanted;

	switch (axis->unit) {
	case UI_SVG_TIME:
		return time_step(least);
	case UI_SVG_BYTES:
		return byte_step(least);
	default:
		return round_up(least);
	}
}

static uint32_t log_ticks(const struct ui_svg_axis *axis, uint32_t wanted, double ticks[UI_SVG_TICKS])
{
	double base = axis->unit == UI_SVG_BYTES ? 2 : 10;
	double low = log(axis->low) / log(base), high = log(axis->high) / log(base);
	double step = fmax(1, ceil((high - low) / wanted));
	uint32_t n = 0;

	for (double e = ceil(low - 1e-9); e <= high + 1e-9 && n < UI_SVG_TICKS; e += step)
		ticks[n++] = pow(base, e);
	return n;
}

uint32_t ui_svg_ticks(const struct ui_svg_axis *axis, uint32_t wanted, double ticks[UI_SVG_TICKS])
{
	double step, first;
	uint32_t n = 0;

	if (axis->log)
		return log_ticks(axis, wanted, ticks);
	step = linear_step(axis, wanted);
	first = ceil(axis->low / step - 1e-9) * step;
	for (uint32_t i = 0; first + i * step <= axis->high + step * 1e-9 && n < UI_SVG_TICKS; i++)
		ticks[n++] = first + i * step;
	return n;
}

static struct ui_small clock_text(double ns)
{
	uint64_t s = (uint64_t)(ns / 1e9 + 0.5);
	struct ui_small out;

	if (s >= 3600)
		snprintf(out.text, sizeof(out.text), "%u:%02u:%02u", (unsigned)(s / 3600),
			 (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	else
		snprintf(out.text, sizeof(out.text), "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
	return out;
}

static struct ui_small tick_text(const struct ui_svg_axis *axis, double value)
{
	struct ui_small out;

	switch (axis->unit) {
	case UI_SVG_TIME:
		if (!axis->log && axis->high >= 10e9)
			return clock_text(value);
		if (value == 0)
			return ui_number(0, 0);
		return ui_span((uint64_t)(value + 0.5));
	case UI_SVG_BYTES:
		return ui_bytes((uint64_t)(value + 0.5));
	case UI_SVG_PERCENT:
		snprintf(out.text, sizeof(out.text), "%g%%", value);
		return out;
	default:
		return ui_number(value, axis->high < 2 ? 2 : axis->high < 20 ? 1 : 0);
	}
}

/* --------------------------------------------------------------------------------------------- plot */

static double part_of(const struct ui_svg_axis *axis, double value)
{
	double low = axis->low, high = axis->high;

	if (axis->log) {
		low = log(low);
		high = log(high);
		value = log(fmax(value, axis->low));
	}
	return fmin(fmax((value - low) / (high - low), 0), 1);
}

static double x_of(const struct ui_svg_chart *chart, double value)
{
	return LEFT + part_of(&chart->x, value) * (chart->w - LEFT - RIGHT);
}

static double y_of(const struct ui_svg_chart *chart, double value)
{
	return TOP + (1 - part_of(&chart->y, value)) * (chart->h - TOP - BOTTOM);
}

static void put_axes(FILE *out, const struct ui_svg_chart *chart)
{
	double ticks[UI_SVG_TICKS];
	int bottom = chart->h - BOTTOM, right = chart->w - RIGHT;
	uint32_t n = ui_svg_ticks(&chart->y, (uint32_t)(bottom - TOP) / 30 + 1, ticks);

	for (uint32_t i = 0; i < n; i++) {
		double y = y_of(chart, ticks[i]);

		fprintf(out,
			"<path class=\"grid\" d=\"M%d,%.1fH%d\"/>"
			"<text class=\"y\" x=\"%d\" y=\"%.1f\">%s</text>\n",
			LEFT, y, right, LEFT - 6, y + LABEL_UP, tick_text(&chart->y, ticks[i]).text);
	}
	n = ui_svg_ticks(&chart->x, (uint32_t)(right - LEFT) / 80 + 1, ticks);
	for (uint32_t i = 0; i < n; i++) {
		double x = x_of(chart, ticks[i]);

		fprintf(out,
			"<path class=\"axis\" d=\"M%.1f,%dv4\"/>"
			"<text class=\"x\" x=\"%.1f\" y=\"%d\">%s</text>\n",
			x, bottom, x, bottom + 17, tick_text(&chart->x, ticks[i]).text);
	}
	fprintf(out, "<path class=\"axis\" d=\"M%d,%dH%d\"/><text class=\"x\" x=\"%d\" y=\"%d\">", LEFT, bottom,
		right, (LEFT + right) / 2, chart->h - 5);
	ui_html_text(out, chart->x.label);
	fputs("</text>\n", out);
}

static void put_bands(FILE *out, const struct ui_svg_chart *chart)
{
	if (!chart->n_bands)
		return;
	fprintf(out,
		"<pattern id=\"%s-h\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
		"patternTransform=\"rotate(45)\"><rect class=\"gap\" width=\"3\" height=\"6\"/></pattern>\n",
		chart->id);
	for (uint32_t i = 0; i < chart->n_bands; i++) {
		double from = x_of(chart, chart->bands[i].from), to = x_of(chart, chart->bands[i].to);
		double wide = fmax(to - from, BAND_MIN);

		fprintf(out,
			"<rect class=\"gapline\" fill=\"url(#%s-h)\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			"height=\"%d\"/>\n",
			chart->id, from, TOP, wide, chart->h - TOP - BOTTOM);
	}
}

/* One stretch of a line without a hole, [from, to). */
static void put_stretch(FILE *out, const struct ui_svg_chart *chart, const struct ui_svg_line *line,
			uint32_t from, uint32_t to)
{
	int bottom = chart->h - BOTTOM;

	if (chart->filled) {
		fprintf(out, "<path class=\"f s%u\" d=\"M%.1f,%d", line->style, x_of(chart, line->x[from]),
			bottom);
		for (uint32_t i = from; i < to; i++)
			fprintf(out, "L%.1f,%.1f", x_of(chart, line->x[i]), y_of(chart, line->y[i]));
		fprintf(out, "V%dZ\"/>\n", bottom);
	}
	fprintf(out, "<path class=\"l s%u\" d=\"", line->style);
	for (uint32_t i = from; i < to; i++)
		fprintf(out, "%c%.1f,%.1f", i == from ? 'M' : 'L', x_of(chart, line->x[i]),
			y_of(chart, line->y[i]));
	/* A single point shows as a dot: round line ends. */
	fputs(to - from == 1 ? "h0\"/>\n" : "\"/>\n", out);
}

static void put_line(FILE *out, const struct ui_svg_chart *chart, const struct ui_svg_line *line)
{
	for (uint32_t from = 0, to; from < line->n; from = to + 1) {
		for (to = from; to < line->n && !isnan(line->y[to]);)
			to++;
		if (to > from)
			put_stretch(out, chart, line, from, to);
	}
}

void ui_svg_chart(FILE *out, const struct ui_svg_chart *chart)
{
	fprintf(out,
		"<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">"
		"<title id=\"%s-t\">",
		chart->w, chart->h, chart->id, chart->id, chart->id);
	ui_html_text(out, chart->title);
	fprintf(out, "</title><desc id=\"%s-d\">", chart->id);
	ui_html_text(out, chart->desc);
	fputs("</desc>\n", out);
	put_axes(out, chart);
	for (uint32_t i = 0; i < chart->n_lines; i++)
		put_line(out, chart, &chart->lines[i]);
	put_bands(out, chart);
	fputs("</svg>\n", out);
}

/* -------------------------------------------------------------------------------------- small pieces */

void ui_svg_bar(FILE *out, double from, double to, uint32_t style)
{
	double wide = 100 * (fmin(to, 1) - fmax(from, 0));

	/* What is there is seen, however little it is. */
	if (to > from && wide < 0.6)
		wide = 0.6;
	fprintf(out,
		"<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
		"<rect class=\"b s%u\" x=\"%.2f\" width=\"%.2f\" height=\"10\"/></svg>",
		style, 100 * fmax(from, 0), fmax(wide, 0));
}

void ui_svg_key(FILE *out, uint32_t style)
{
	fprintf(out,
		"<svg class=\"key\" viewBox=\"0 0 30 10\" aria-hidden=\"true\"><path class=\"l s%u\" "
		"d=\"M1,5H29\"/></svg> ",
		style);
}
