/* SPDX-License-Identifier: MIT */
/*
 * The pictures of a report; see report.h.
 *
 * Curves are line charts with the same figures in a table that can be opened; whatever is a list of parts is a
 * table whose cells have bars. A policy keeps its colour and dash all over the page. Steps in which events were
 * lost are hatched in every chart over time.
 */
#include <math.h>
#include <string.h>

#include "ui/explain_text.h"
#include "ui/format.h"
#include "ui/html.h"
#include "ui/report.h"

enum {
	STRIP_W = 940, /* charts over the page's width, and half of it */
	HALF_W = 460,
	STEPS = 80,    /* of policies' curves over time */
	TABLE_STEPS = 10,
	MAP_COLUMNS = 80,
	MAP_CELL = 10,
};

static_assert(PLAY_BINS % STEPS == 0, "a step is a whole number of bins");
static_assert((int)PLAY_RACE_LANES <= (int)UI_SVG_STYLES, "every lane has a style of its own");

static double ns_from_start(const struct play_timeline *timeline, uint32_t bin)
{
	return (double)(play_timeline_border_ns(timeline, bin) - timeline->first_ns);
}

static double span_s(const struct play_timeline *timeline)
{
	return (double)(timeline->last_ns - timeline->first_ns) / 1e9;
}

static void put_legend(const struct ui_report *report, FILE *out)
{
	fputs("<ul class=\"legend\">", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		fputs("<li>", out);
		ui_svg_key(out, i);
		ui_html_text(out, report->timeline->lanes[i].policy.text);
		fputs("</li>", out);
	}
	fputs("</ul>\n", out);
}

static void put_policy_heads(const struct ui_report *report, FILE *out, int columns)
{
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		fprintf(out, "<th scope=\"col\" colspan=\"%d\">", columns);
		ui_html_text(out, report->timeline->lanes[i].policy.text);
		fputs("</th>", out);
	}
	fputs("</tr></thead><tbody>\n", out);
}

/* ------------------------------------------------------------------------------------- charts over time */

struct bands {
	struct ui_svg_band at[PLAY_BINS];
	uint32_t n;
};

static struct bands gap_bands(const struct play_timeline *timeline)
{
	struct bands bands = { .n = 0 };

	for (uint32_t bin = 0; bin < PLAY_BINS; bin++)
		if (timeline->bins[bin].gaps)
			bands.at[bands.n++] = (struct ui_svg_band){ ns_from_start(timeline, bin),
								    ns_from_start(timeline, bin + 1) };
	return bands;
}

static double largest_of(const double *values, uint32_t n)
{
	double largest = 0;

	for (uint32_t i = 0; i < n; i++)
		if (values[i] > largest)
			largest = values[i];
	return largest;
}

/* A trace of a single instant has an axis all the same. */
static struct ui_svg_axis time_axis(const struct play_timeline *timeline)
{
	return (struct ui_svg_axis){ .high = fmax((double)(timeline->last_ns - timeline->first_ns), 1),
				     .unit = UI_SVG_TIME,
				     .label = "time since the start of the trace" };
}

static void put_strip(const struct ui_report *report, FILE *out, const struct ui_svg_chart *base,
		      const double *rates)
{
	double x[PLAY_BINS];
	struct bands bands = gap_bands(report->timeline);
	struct ui_svg_line line = { .x = x, .y = rates, .n = PLAY_BINS, .style = 0 };
	struct ui_svg_chart chart = *base;

	for (uint32_t bin = 0; bin < PLAY_BINS; bin++)
		x[bin] = ns_from_start(report->timeline, bin);
	chart.w = STRIP_W;
	chart.h = 150;
	chart.x = time_axis(report->timeline);
	chart.y = (struct ui_svg_axis){ .high = ui_svg_top(largest_of(rates, PLAY_BINS)) };
	chart.lines = &line;
	chart.n_lines = 1;
	chart.filled = true;
	chart.bands = bands.at;
	chart.n_bands = bands.n;
	fprintf(out, "<figure class=\"filled\"><figcaption><b>%s</b>, pages/s</figcaption>"
		     "<div class=\"scroll wide\" tabindex=\"0\" role=\"group\" aria-label=\"%s over time\">\n",
		chart.title, chart.title);
	ui_svg_chart(out, &chart);
	fputs("</div></figure>\n", out);
}

enum recorded { RECORDED_OUT, RECORDED_IN, RECORDED_WB, N_RECORDED };

static uint64_t recorded_pages(const struct play_bin *bin, enum recorded what)
{
	return what == RECORDED_OUT ? bin->out_pages : what == RECORDED_IN ? bin->in_pages : bin->wb_pages;
}

static void put_course_table(const struct play_timeline *timeline, FILE *out)
{
	fputs("<details><summary>The same as a table</summary><div class=\"scroll\" tabindex=\"0\" "
	      "role=\"group\" aria-label=\"Course of the recording\"><table><thead><tr>"
	      "<th scope=\"col\">from</th><th scope=\"col\">swap-outs</th><th scope=\"col\">refaults</th>"
	      "<th scope=\"col\">writebacks</th><th scope=\"col\">gaps</th><th scope=\"col\">events lost</th>"
	      "</tr></thead><tbody>\n", out);
	for (uint32_t step = 0; step < TABLE_STEPS; step++) {
		struct play_bin sum = { 0 };
		uint32_t first = step * (PLAY_BINS / TABLE_STEPS);

		for (uint32_t i = first; i < first + PLAY_BINS / TABLE_STEPS; i++) {
			sum.out_pages += timeline->bins[i].out_pages;
			sum.in_pages += timeline->bins[i].in_pages;
			sum.wb_pages += timeline->bins[i].wb_pages;
			sum.gaps += timeline->bins[i].gaps;
			sum.lost_events += timeline->bins[i].lost_events;
		}
		fprintf(out,
			"<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			ui_clock((uint64_t)ns_from_start(timeline, first)).text,
			ui_count(sum.out_pages).text, ui_count(sum.in_pages).text,
			ui_count(sum.wb_pages).text, ui_count(sum.gaps).text,
			ui_count(sum.lost_events).text);
	}
	fputs("</tbody></table></div></details>\n", out);
}

static void put_recorded(const struct ui_report *report, FILE *out)
{
	static const struct {
		const char *id, *title, *desc;
	} strips[N_RECORDED] = {
		[RECORDED_OUT] = { "out", "Swap-outs", "Pages that left memory for swap, a second." },
		[RECORDED_IN] = { "in", "Refaults", "Pages that came back from swap, a second." },
		[RECORDED_WB] = { "wb", "Writebacks", "Pages that the kernel wrote from zswap to disk, a second." },
	};
	const struct play_timeline *timeline = report->timeline;
	double step_s = span_s(timeline) / PLAY_BINS, rates[PLAY_BINS];

	for (int what = 0; what < N_RECORDED; what++) {
		for (uint32_t bin = 0; bin < PLAY_BINS; bin++)
			rates[bin] = step_s > 0 ? (double)recorded_pages(&timeline->bins[bin],
									  (enum recorded)what) / step_s : 0;
		put_strip(report, out,
			  &(struct ui_svg_chart){ .id = strips[what].id,
						  .title = strips[what].title,
						  .desc = strips[what].desc },
			  rates);
	}
	if (report->sum.gaps)
		fprintf(out, "<p class=\"note\">Hatched: here %s events were lost, in %s gaps; the curves are too "
			     "low there.</p>\n",
			ui_count(report->sum.lost_events).text, ui_count(report->sum.gaps).text);
	else
		fputs("<p class=\"note\">Nothing is hatched: no event was lost.</p>\n", out);
	put_course_table(timeline, out);
}

enum curve { CURVE_PAGES, CURVE_REQUESTS, CURVE_REFAULTS, CURVE_POOL, N_CURVES };

static double curve_value(const struct play_timeline *timeline, uint32_t lane, enum curve curve, uint32_t step)
{
	const uint32_t bins = PLAY_BINS / STEPS;
	const struct play_lane_bin *bin = &timeline->lanes[lane].bins[step * bins];
	double s = span_s(timeline) / STEPS;
	uint64_t pages = 0, requests = 0, refaults = 0;

	for (uint32_t i = 0; i < bins; i++) {
		pages += bin[i].write_pages;
		requests += bin[i].write_requests;
		refaults += bin[i].disk_refaults;
	}
	switch (curve) {
	case CURVE_PAGES:
		return requests ? (double)pages / (double)requests : NAN;
	case CURVE_REQUESTS:
		return s > 0 ? (double)requests / s : 0;
	case CURVE_REFAULTS:
		return s > 0 ? (double)refaults / s : 0;
	default:
		return (double)bin[bins - 1].pool_pages;
	}
}

static void put_curve(const struct ui_report *report, FILE *out, enum curve curve, struct ui_svg_chart chart)
{
	const struct play_timeline *timeline = report->timeline;
	double x[STEPS], y[PLAY_RACE_LANES][STEPS], largest = 0;
	struct ui_svg_line lines[PLAY_RACE_LANES];
	struct bands bands = gap_bands(timeline);

	for (uint32_t step = 0; step < STEPS; step++)
		x[step] = ns_from_start(timeline, step * (PLAY_BINS / STEPS));
	for (uint32_t lane = 0; lane < timeline->n_lanes; lane++) {
		for (uint32_t step = 0; step < STEPS; step++)
			y[lane][step] = curve_value(timeline, lane, curve, step);
		largest = fmax(largest, largest_of(y[lane], STEPS));
		lines[lane] = (struct ui_svg_line){ .x = x, .y = y[lane], .n = STEPS, .style = lane };
	}
	chart.w = HALF_W;
	chart.h = 220;
	chart.x = time_axis(timeline);
	chart.y.high = ui_svg_top(largest);
	chart.lines = lines;
	chart.n_lines = timeline->n_lanes;
	chart.bands = bands.at;
	chart.n_bands = bands.n;
	fprintf(out, "<figure class=\"card\"><figcaption><b>%s</b></figcaption>\n", chart.title);
	ui_svg_chart(out, &chart);
	fputs("</figure>\n", out);
}

static void put_lane_totals(const struct ui_report *report, FILE *out)
{
	fputs("<details><summary>The sums as a table</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
	      "aria-label=\"Sums of the policies\"><table><thead><tr><th scope=\"col\">policy</th>"
	      "<th scope=\"col\">pages written</th><th scope=\"col\">write requests</th>"
	      "<th scope=\"col\">disk refaults</th><th scope=\"col\">stores rejected</th>"
	      "<th scope=\"col\">largest pool, pages</th></tr></thead><tbody>\n", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		const struct play_timeline_lane *lane = &report->timeline->lanes[i];

		fputs("<tr><th scope=\"row\">", out);
		ui_html_text(out, lane->policy.text);
		fprintf(out, "</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			ui_count(lane->io.write_pages).text, ui_count(lane->io.write_requests).text,
			ui_count(lane->counters.disk_refaults).text,
			ui_count(lane->counters.store_rejected).text,
			ui_count(lane->counters.pool_pages_max).text);
	}
	fputs("</tbody></table></div></details>\n", out);
}

void ui_report_course(const struct ui_report *report, FILE *out)
{
	static const struct ui_svg_chart curves[N_CURVES] = {
		[CURVE_PAGES] = { .id = "pages", .title = "Pages per write request",
				  .desc = "How long the write requests of each policy are, over time." },
		[CURVE_REQUESTS] = { .id = "requests", .title = "Write requests/s",
				     .desc = "How many write requests each policy makes, over time." },
		[CURVE_REFAULTS] = { .id = "refaults", .title = "Refaults from disk/s",
				     .desc = "How many refaults each policy has to read from disk, over time." },
		[CURVE_POOL] = { .id = "pool", .title = "Pool, pages",
				 .desc = "How large the zswap pool is under each policy, over time." },
	};

	fputs("<section><h2>What was recorded</h2>\n", out);
	put_recorded(report, out);
	fputs("</section>\n<section><h2>What each policy made of it</h2>\n"
	      "<p class=\"dim\">Computed by the model of the pool; requests are planned, not measured. Lines that coincide "
	      "lie on each other.</p>\n", out);
	put_legend(report, out);
	fputs("<div class=\"cards\">\n", out);
	for (int i = 0; i < N_CURVES; i++)
		put_curve(report, out, (enum curve)i, curves[i]);
	fputs("</div>\n", out);
	put_lane_totals(report, out);
	fputs("</section>\n", out);
}

/* ------------------------------------------------------------------------------------------- requests */

static double pages_per_request(const struct play_timeline_lane *lane)
{
	return lane->io.write_requests ? (double)lane->io.write_pages / (double)lane->io.write_requests : NAN;
}

static void put_lengths(const struct ui_report *report, FILE *out)
{
	double longest = 0;

	for (uint32_t i = 0; i < report->timeline->n_lanes; i++)
		longest = fmax(longest, pages_per_request(&report->timeline->lanes[i]));
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Pages per write request\"><table>"
	      "<caption>Pages per write request, over the whole trace (planned)</caption><thead><tr>"
	      "<th scope=\"col\">policy</th><td></td><th scope=\"col\">pages</th><th scope=\"col\">requests</th>"
	      "</tr></thead><tbody>\n", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		const struct play_timeline_lane *lane = &report->timeline->lanes[i];
		double pages = pages_per_request(lane);

		fputs("<tr><th scope=\"row\">", out);
		ui_html_text(out, lane->policy.text);
		fputs("</th><td class=\"bar\">", out);
		ui_svg_bar(out, 0, isnan(pages) ? 0 : pages / longest, i);
		fprintf(out, "</td><td>%s</td><td>%s</td></tr>\n", ui_number(pages, 2).text,
			ui_count(lane->io.write_requests).text);
	}
	fputs("</tbody></table></div>\n", out);
}

/* Sizes of requests are shown in classes that double: 1, 2, 3-4, 5-8 ... */
enum { SIZE_CLASSES = 9 };

static uint32_t size_class(uint64_t pages)
{
	uint32_t class = 0;

	while (class < SIZE_CLASSES - 1 && pages > (uint64_t)1 << class)
		class++;
	return class;
}

static void count_sizes(const struct zr_hist *hist, uint64_t counts[SIZE_CLASSES])
{
	memset(counts, 0, SIZE_CLASSES * sizeof(*counts));
	for (uint32_t bucket = 0; bucket < ZR_HIST_BUCKETS; bucket++) {
		uint64_t low, high;

		if (!hist->bucket[bucket])
			continue;
		zr_hist_bounds(bucket, &low, &high);
		counts[size_class(low)] += hist->bucket[bucket];
	}
}

static void put_size_name(FILE *out, uint32_t class)
{
	uint32_t low = class < 2 ? class + 1 : (1u << (class - 1)) + 1, high = 1u << class;

	if (class == SIZE_CLASSES - 1)
		fprintf(out, "%u and more", low);
	else if (low == high)
		fprintf(out, "%u", low);
	else
		fprintf(out, "%u-%u", low, high);
}

static void put_sizes(const struct ui_report *report, FILE *out)
{
	uint64_t counts[PLAY_RACE_LANES][SIZE_CLASSES];
	uint32_t n = report->timeline->n_lanes, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		count_sizes(&report->timeline->lanes[i].request_pages, counts[i]);
		for (uint32_t class = 0; class < SIZE_CLASSES; class++)
			if (counts[i][class] && class > last)
				last = class;
	}
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Sizes of write requests\"><table class=\"nowrap\">"
	      "<caption>Write requests by their size in pages: how many, and the part of all (planned)</caption>"
	      "<thead><tr><th scope=\"col\">pages</th>", out);
	put_policy_heads(report, out, 3);
	for (uint32_t class = 0; class <= last; class++) {
		fputs("<tr><th scope=\"row\">", out);
		put_size_name(out, class);
		fputs("</th>", out);
		for (uint32_t i = 0; i < n; i++) {
			double part = ui_percent(counts[i][class], report->timeline->lanes[i].request_pages.count);

			fputs("<td class=\"bar\">", out);
			ui_svg_bar(out, 0, part / 100, i);
			fprintf(out, "</td><td>%.1f%%</td><td>%s</td>", part, ui_count(counts[i][class]).text);
		}
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

void ui_report_requests(const struct ui_report *report, FILE *out)
{
	fputs("<section><h2>Write requests</h2>\n", out);
	put_lengths(report, out);
	put_sizes(report, out);
	fputs("</section>\n", out);
}

/* --------------------------------------------------------------------------------------------- causes */

/* Each bar begins where the one above it ends, so that all of them together make the whole. */
static void put_breaks(const struct play_explain *explain, uint32_t style, FILE *out)
{
	enum play_break causes[PLAY_BREAK_COUNT];
	double from = 0;

	ui_explain_order(explain, causes);
	fprintf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Causes of breaks\"><table>"
		     "<caption>Why each of %s swap I/Os ended, by the page in the slot behind its last one"
		     "</caption><thead><tr><th scope=\"col\">cause</th><td></td><th scope=\"col\">part</th>"
		     "<th scope=\"col\">breaks</th><th scope=\"col\" class=\"text\">that page</th></tr></thead>"
		     "<tbody>\n",
		ui_count(explain->contexts).text);
	for (int i = 0; i < PLAY_BREAK_COUNT && explain->breaks[causes[i]]; i++) {
		double part = ui_percent(explain->breaks[causes[i]], explain->contexts) / 100;

		fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"bar\">", play_break_name(causes[i]));
		ui_svg_bar(out, from, from + part, style);
		fprintf(out, "</td><td>%.1f%%</td><td>%s</td><td class=\"wrap\">", 100 * part,
			ui_count(explain->breaks[causes[i]]).text);
		ui_html_text(out, play_break_text(causes[i]));
		fputs("</td></tr>\n", out);
		from += part;
	}
	fprintf(out, "</tbody><tfoot><tr class=\"sum\"><th scope=\"row\">all</th><td></td><td>100.0%%</td><td>%s</td>"
		     "<td></td></tr></tfoot></table></div>\n",
		ui_count(explain->contexts).text);
}

static void put_ceilings(const struct play_explain *explain, uint32_t style, FILE *out)
{
	double longest = 0;

	for (int i = 0; i < PLAY_CEILING_COUNT; i++)
		longest = fmax(longest, play_explain_pages_per_request(explain, (enum play_ceiling)i));
	fprintf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Ceilings\"><table><caption>"
		     "Pages a write request could have (I/Os of up to %u pages)</caption><thead><tr>"
		     "<th scope=\"col\">if</th><td></td><th scope=\"col\">pages</th>"
		     "<th scope=\"col\" class=\"text\">what is asked</th></tr></thead><tbody>\n",
		explain->batch);
	for (int i = 0; i < PLAY_CEILING_COUNT; i++) {
		double pages = play_explain_pages_per_request(explain, (enum play_ceiling)i);

		fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"bar\">",
			play_ceiling_name((enum play_ceiling)i));
		ui_svg_bar(out, 0, pages / longest, style);
		fprintf(out, "</td><td>%.2f</td><td class=\"wrap\">", pages);
		ui_html_text(out, play_ceiling_text((enum play_ceiling)i));
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

void ui_report_causes(const struct ui_report *report, FILE *out)
{
	struct ui_sentences sentences;

	fputs("<section><h2>Why requests are short, and what would help</h2>\n", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		const struct play_explain *explain = report->explains[i];

		fputs("<div class=\"policy\"><h3>", out);
		ui_svg_key(out, i);
		ui_html_text(out, explain->policy.text);
		fputs("</h3>\n", out);
		ui_explain_say(explain, &sentences);
		for (uint32_t s = 0; s < sentences.n; s++) {
			fputs("<p>", out);
			ui_html_text(out, sentences.text[s]);
			fputs("</p>\n", out);
		}
		if (explain->pages) {
			put_breaks(explain, i, out);
			put_ceilings(explain, i, out);
		}
		fputs("</div>\n", out);
	}
	fputs("</section>\n", out);
}

/* ------------------------------------------------------------------------------------- the pool's size */

static void put_curve_table(const struct play_explain *explain, FILE *out)
{
	static const double rates[] = { 75, 50, 25, 10, 5, 2, 1, 0 };

	fputs("<details><summary>The same as a table</summary><table><thead><tr><th scope=\"col\">from disk, at most"
	      "</th><th scope=\"col\">compressed</th><th scope=\"col\">pool, about</th></tr></thead><tbody>\n", out);
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint32_t i = 0;

		while (i < explain->n_curve &&
		       ui_percent(explain->curve[i].disk_refaults, explain->curve_refaults) > rates[r])
			i++;
		if (i == explain->n_curve)
			break;
		fprintf(out, "<tr><td>%.0f%%</td><td>%s</td><td>%s</td></tr>\n", rates[r],
			ui_bytes(explain->curve[i].bytes).text,
			ui_bytes((uint64_t)((double)explain->curve[i].bytes * explain->pool_bytes_per_byte)).text);
	}
	fputs("</tbody></table></details>\n", out);
}

/* The curve does not hang on a policy but for the pool's overhead: the first policy's is taken. */
static void put_miss_curve(const struct ui_report *report, FILE *out)
{
	const struct play_explain *explain = report->explains[0];
	double x[PLAY_CURVE_POINTS], y[PLAY_CURVE_POINTS];
	struct ui_svg_line line = { .x = x, .y = y };
	struct ui_svg_chart chart = {
		.id = "misses", .title = "Refaults from disk by pool size", .w = HALF_W, .h = 240,
		.desc = "The part of all refaults that an idealised pool of this size would read from disk.",
		.x = { .unit = UI_SVG_BYTES, .label = "size of the pool" },
		.y = { .high = 100, .unit = UI_SVG_PERCENT }, .lines = &line, .n_lines = 1, .filled = true,
	};

	for (uint32_t i = 0; i < explain->n_curve; i++) {
		if (!explain->curve[i].bytes)
			continue;
		/* A pool that saves next to nothing is not worth its place on the axis. */
		if (i + 1 < explain->n_curve && ui_percent(explain->curve[i + 1].disk_refaults,
							   explain->curve_refaults) > 99.5)
			continue;
		x[line.n] = (double)explain->curve[i].bytes * explain->pool_bytes_per_byte;
		y[line.n++] = ui_percent(explain->curve[i].disk_refaults, explain->curve_refaults);
	}
	fputs("<figure class=\"card filled\"><figcaption><b>Refaults from disk by pool size</b>, part of all (an "
	      "idealised LRU, see zreel(1))</figcaption>\n", out);
	if (line.n < 2) {
		fputs("<p class=\"note\">Too few refaults for a curve.</p></figure>\n", out);
		return;
	}
	chart.x.high = x[line.n - 1];
	chart.x.log = chart.x.high > 8 * x[0];
	chart.x.low = chart.x.log ? x[0] : 0;
	ui_svg_chart(out, &chart);
	put_curve_table(explain, out);
	fputs("</figure>\n", out);
}

/* The part of the entries that were at most as old as each bucket's end. */
static uint32_t age_line(const struct zr_hist *hist, double *x, double *y)
{
	uint64_t sum = 0, low, high;
	uint32_t n = 0;

	for (uint32_t bucket = 0; bucket < ZR_HIST_BUCKETS; bucket++) {
		if (!hist->bucket[bucket])
			continue;
		zr_hist_bounds(bucket, &low, &high);
		sum += hist->bucket[bucket];
		x[n] = fmax((double)high, 1);
		y[n++] = ui_percent(sum, hist->count);
	}
	return n;
}

static void put_age_table(const struct ui_report *report, FILE *out)
{
	static const double parts[] = { 0.1, 0.5, 0.9, 0.99 };

	fputs("<details><summary>The same as a table</summary><table><thead><tr><th scope=\"col\">policy</th>"
	      "<th scope=\"col\">p10</th><th scope=\"col\">p50</th><th scope=\"col\">p90</th>"
	      "<th scope=\"col\">p99</th></tr></thead><tbody>\n", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		fputs("<tr><th scope=\"row\">", out);
		ui_html_text(out, report->explains[i]->policy.text);
		fputs("</th>", out);
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++)
			fprintf(out, "<td>%s</td>",
				ui_span(zr_hist_quantile(&report->explains[i]->age_ns, parts[p])).text);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></details>\n", out);
}

static void put_ages(const struct ui_report *report, FILE *out)
{
	static const struct ui_svg_chart base = {
		.id = "ages", .title = "Age of entries when they were written back", .w = HALF_W, .h = 240,
		.desc = "The part of the written-back entries that were in the pool for at most this time.",
		.x = { .unit = UI_SVG_TIME, .label = "time since the store" },
		.y = { .high = 100, .unit = UI_SVG_PERCENT },
	};
	/* A histogram of 64-bit values has at most this many buckets, so the curves are small. */
	double x[PLAY_RACE_LANES][ZR_HIST_BUCKETS], y[PLAY_RACE_LANES][ZR_HIST_BUCKETS];
	double low = INFINITY, high = 0;
	struct ui_svg_line lines[PLAY_RACE_LANES];
	struct ui_svg_chart chart = base;

	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		uint32_t n = age_line(&report->explains[i]->age_ns, x[i], y[i]);

		if (!n)
			continue;
		low = fmin(low, x[i][0]);
		high = fmax(high, x[i][n - 1]);
		lines[chart.n_lines++] = (struct ui_svg_line){ .x = x[i], .y = y[i], .n = n, .style = i };
	}
	fputs("<figure class=\"card\"><figcaption><b>Age of entries when they were written back</b>, part of them "
	      "that was at most so old</figcaption>\n", out);
	if (!chart.n_lines) {
		fputs("<p class=\"note\">Nothing was written back.</p></figure>\n", out);
		return;
	}
	chart.lines = lines;
	chart.x.log = high > 100 * low;
	chart.x.low = chart.x.log ? low : 0;
	chart.x.high = high;
	ui_svg_chart(out, &chart);
	put_age_table(report, out);
	fputs("</figure>\n", out);
}

static void put_choices(const struct ui_report *report, FILE *out)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"The pool's choices\"><table><caption>"
	      "What the pool's choices cost (computed by the model)</caption><thead><tr>"
	      "<th scope=\"col\">policy</th><th scope=\"col\">disk refaults</th>"
	      "<th scope=\"col\">LRU inversions</th><th scope=\"col\">read within 1 s</th>"
	      "<th scope=\"col\">10 s</th><th scope=\"col\">60 s</th><th scope=\"col\">stores refused</th>"
	      "<th scope=\"col\">time refusing</th></tr></thead><tbody>\n", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		const struct play_explain *explain = report->explains[i];
		const struct sim_counters *counters = &explain->counters;

		fputs("<tr><th scope=\"row\">", out);
		ui_html_text(out, explain->policy.text);
		fprintf(out, "</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			ui_count(counters->disk_refaults).text, ui_count(counters->lru_inversions).text,
			ui_count(counters->early_refaults_1s).text,
			ui_count(counters->early_refaults_10s).text,
			ui_count(counters->early_refaults_60s).text,
			ui_count(counters->store_rejected).text, ui_span(explain->refusing_ns).text);
	}
	fputs("</tbody></table></div>\n", out);
}

void ui_report_pool(const struct ui_report *report, FILE *out)
{
	fputs("<section><h2>The pool</h2>\n<div class=\"cards\">\n", out);
	put_miss_curve(report, out);
	put_ages(report, out);
	fputs("</div>\n", out);
	put_legend(report, out);
	put_choices(report, out);
	fputs("</section>\n", out);
}

/* ------------------------------------------------------------------------------------------------ map */

/* In the order of the classes m0 ... m5. */
static const char *const state_names[PLAY_SLOT_STATES] = {
	[SIM_SLOT_FREE] = "free",	  [SIM_SLOT_ZSWAP] = "in zswap",
	[SIM_SLOT_DISK] = "on disk",	  [SIM_SLOT_ZERO] = "zero-filled",
	[SIM_SLOT_CACHED] = "in memory only", [SIM_SLOT_UNKNOWN] = "unknown",
};

/* What most slots of a cell are; what is unknown always shows, and what is free only if all is. */
static enum sim_slot cell_state(const uint32_t slots[PLAY_SLOT_STATES])
{
	enum sim_slot best = SIM_SLOT_FREE;

	if (slots[SIM_SLOT_UNKNOWN])
		return SIM_SLOT_UNKNOWN;
	for (int s = SIM_SLOT_FREE + 1; s < PLAY_SLOT_STATES; s++)
		if (slots[s] && (best == SIM_SLOT_FREE || slots[s] > slots[best]))
			best = (enum sim_slot)s;
	return best;
}

static void put_map_row(const struct play_timeline_lane *lane, uint32_t row, FILE *out)
{
	const uint32_t first = row * MAP_COLUMNS;

	for (uint32_t from = 0, to; from < MAP_COLUMNS; from = to) {
		enum sim_slot state = cell_state(lane->map[first + from]);

		for (to = from + 1; to < MAP_COLUMNS && cell_state(lane->map[first + to]) == state;)
			to++;
		if (state != SIM_SLOT_FREE)
			fprintf(out, "<rect class=\"m%d\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\"/>",
				(int)state, from * MAP_CELL, row * MAP_CELL, (to - from) * MAP_CELL,
				MAP_CELL - 1);
	}
}

static void put_map(const struct ui_report *report, uint32_t i, FILE *out)
{
	const struct play_timeline_lane *lane = &report->timeline->lanes[i];
	const int rows = PLAY_MAP_CELLS / MAP_COLUMNS;

	fputs("<figure class=\"card\"><figcaption>", out);
	ui_html_text(out, lane->policy.text);
	fprintf(out, "</figcaption>\n<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" "
		     "aria-labelledby=\"map%u-t\"><title id=\"map%u-t\">Slots under ",
		MAP_COLUMNS * MAP_CELL, rows * MAP_CELL, i, i);
	ui_html_text(out, lane->policy.text);
	fprintf(out, "</title><rect class=\"m0\" width=\"%d\" height=\"%d\"/>\n", MAP_COLUMNS * MAP_CELL,
		rows * MAP_CELL);
	for (int row = 0; row < rows; row++)
		put_map_row(lane, (uint32_t)row, out);
	fputs("</svg></figure>\n", out);
}

static void put_map_table(const struct ui_report *report, FILE *out)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Slots by what they hold\"><table><caption>Slots "
	      "by what they hold</caption><thead><tr><th scope=\"col\">state</th>", out);
	put_policy_heads(report, out, 1);
	for (int state = 0; state < PLAY_SLOT_STATES; state++) {
		fprintf(out, "<tr><th scope=\"row\"><svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\">"
			     "<rect class=\"m%d\" width=\"10\" height=\"10\"/></svg> %s</th>",
			state, state_names[state]);
		for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
			uint64_t slots = 0;

			for (uint32_t cell = 0; cell < PLAY_MAP_CELLS; cell++)
				slots += report->timeline->lanes[i].map[cell][state];
			fprintf(out, "<td>%s</td>", ui_count(slots).text);
		}
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

void ui_report_map(const struct ui_report *report, FILE *out)
{
	const struct play_timeline *timeline = report->timeline;

	if (!timeline->map_slots)
		return;
	fprintf(out, "<section><h2>The swap area at %s</h2>\n<p class=\"dim\">About when the pool of the first policy "
		     "was fullest. Slots 0 to %s of area %u, left to right and down; a spot stands for about %s slots "
		     "and shows what most of those in use hold.</p>\n<div class=\"cards\">\n",
		ui_clock(timeline->map_ns - timeline->first_ns).text, ui_count(timeline->map_slots - 1).text,
		timeline->map_area, ui_count((timeline->map_slots + PLAY_MAP_CELLS - 1) / PLAY_MAP_CELLS).text);
	for (uint32_t i = 0; i < timeline->n_lanes; i++)
		put_map(report, i, out);
	fputs("</div>\n", out);
	put_map_table(report, out);
	fputs("</section>\n", out);
}
