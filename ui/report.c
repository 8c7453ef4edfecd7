/* SPDX-License-Identifier: MIT */
/* The page of a report: its head, what is in a few words, tables, and how sure one can be; see report.h. */
#include "ui/report.h"

#include <inttypes.h>
#include <string.h>

#include "ui/conditions.h"
#include "ui/explain_text.h"
#include "ui/format.h"
#include "ui/html.h"

static const char style_sheet[] =
#include "ui/report.css.h"
	;

/* --------------------------------------------------------------------------------------------- head */

static const char *env_value(const struct ui_report *report, const char *key)
{
	for (size_t i = 0; i < report->n_env; i++)
		if (report->env[i].host == report->timeline->host && strcmp(report->env[i].key, key) == 0)
			return report->env[i].value;
	return NULL;
}

static void put_head(const struct ui_report *report, FILE *out)
{
	const char *kernel = env_value(report, DB_ENV_KERNEL);
	uint64_t events = 0;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		events += report->sum.events[kind];
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta name=\"generator\" content=\"zreel\"/>\n<title>", out);
	ui_html_text(out, report->name);
	fprintf(out, " - zreel report</title>\n<style>\n%s</style></head>\n<body><header><h1>", style_sheet);
	ui_html_text(out, report->name);
	fputs("</h1>\n<p class=\"facts\">Swap traffic of a Linux ", out);
	ui_html_text(out, kernel ? kernel : "host of unknown kernel");
	fprintf(out, ": %s events in %s, %s.</p></header>\n<main>\n", ui_count(events).text,
		ui_span(report->sum.span_ns).text,
		report->sum.gaps ? "with gaps" : "without a gap");
	if (!report->complete)
		fputs("<p class=\"warn\">The recording is not complete: it was still in progress, or it ended "
		      "abruptly.</p>\n", out);
}

static void put_why(const struct play_explain *explain, FILE *out)
{
	struct ui_sentences sentences;

	ui_explain_say(explain, &sentences);
	for (uint32_t i = 0; i < sentences.n && i < 2; i++) {
		fputs("<li>", out);
		ui_html_text(out, explain->policy.text);
		fputs(": ", out);
		ui_html_text(out, sentences.text[i]);
		fputs("</li>\n", out);
	}
}

/* The second policy is what somebody wants to know something about, the first what it is held against. */
static void put_summary(const struct ui_report *report, FILE *out)
{
	const struct play_timeline_lane *lanes = report->timeline->lanes, *base = &lanes[0];

	fputs("<section><h2>In short</h2>\n<ul class=\"key-points\">\n", out);
	for (uint32_t i = 1; i < report->timeline->n_lanes; i++) {
		fputs("<li>", out);
		ui_html_text(out, lanes[i].policy.text);
		fprintf(out, ": %s write requests against %s of ", ui_count(lanes[i].io.write_requests).text,
			ui_count(base->io.write_requests).text);
		ui_html_text(out, base->policy.text);
		fprintf(out, " (%s, planned), %s refaults from disk against %s (%s, computed).</li>\n",
			ui_change((double)base->io.write_requests, (double)lanes[i].io.write_requests).text,
			ui_count(lanes[i].counters.disk_refaults).text,
			ui_count(base->counters.disk_refaults).text,
			ui_change((double)base->counters.disk_refaults,
				  (double)lanes[i].counters.disk_refaults).text);
	}
	put_why(report->explains[report->timeline->n_lanes > 1], out);
	if (report->sum.gaps)
		fprintf(out, "<li>%s events were lost in %s gaps: see <a href=\"#sure\">how sure one can be</a>."
			     "</li>\n",
			ui_count(report->sum.lost_events).text, ui_count(report->sum.gaps).text);
	else
		fputs("<li>No event was lost while recording.</li>\n", out);
	fputs("</ul></section>\n", out);
}

/* -------------------------------------------------------------------------------------- environment */

static const struct {
	const char *key, *label;
} facts[] = {
	{ DB_ENV_KERNEL, "kernel" },
	{ DB_ENV_ARCH, "architecture" },
	{ DB_ENV_CPUS, "CPUs" },
	{ DB_ENV_PAGE_SIZE, "page size, bytes" },
	{ DB_ENV_ZSWAP_PREFIX "enabled", "zswap enabled" },
	{ DB_ENV_ZSWAP_PREFIX "compressor", "compressor" },
	{ DB_ENV_ZSWAP_PREFIX "zpool", "zpool" },
	{ DB_ENV_ZSWAP_PREFIX "max_pool_percent", "max_pool_percent" },
	{ DB_ENV_ZSWAP_PREFIX "accept_threshold_percent", "accept_threshold_percent" },
	{ DB_ENV_ZSWAP_PREFIX "shrinker_enabled", "shrinker_enabled" },
	{ DB_ENV_THP, "transparent huge pages" },
	{ DB_ENV_MGLRU, "MGLRU" },
	{ DB_ENV_SOURCE, "recorded through" },
	{ DB_ENV_CLOCK, "trace clock" },
	{ DB_ENV_COMMAND, "command" },
};

static void put_row(FILE *out, const char *label, const char *value)
{
	fputs("<tr><th scope=\"row\">", out);
	ui_html_text(out, label);
	fputs("</th><td class=\"wrap\">", out);
	ui_html_text(out, value);
	fputs("</td></tr>\n", out);
}

static void put_memory(const struct ui_report *report, FILE *out)
{
	const char *pages = env_value(report, DB_ENV_MEM_PAGES), *size = env_value(report, DB_ENV_PAGE_SIZE);
	uint64_t n_pages, page_size;

	if (pages && size && sscanf(pages, "%" SCNu64, &n_pages) == 1 &&
	    sscanf(size, "%" SCNu64, &page_size) == 1)
		put_row(out, "memory", ui_bytes(n_pages * page_size).text);
}

enum { CGROUPS_SHOWN = 20 };

static void put_places(const struct ui_report *report, FILE *out)
{
	for (size_t i = 0; i < report->n_areas; i++) {
		const struct db_area *area = &report->areas[i];

		fprintf(out, "<tr><th scope=\"row\">swap area %" PRIu32 "</th><td class=\"wrap\">", area->id);
		ui_html_text(out, area->path[0] ? area->path : "(unknown)");
		fprintf(out, ", %s slots, priority %" PRId32 "</td></tr>\n", ui_count(area->slots).text,
			area->priority);
	}
	fputs("<tr><th scope=\"row\">cgroups</th><td class=\"wrap\">", out);
	for (size_t i = 0; i < report->n_memcgs && i < CGROUPS_SHOWN; i++) {
		fputs(i ? ", " : "", out);
		ui_html_text(out, report->memcgs[i].path[0] ? report->memcgs[i].path : "(unknown)");
	}
	if (report->n_memcgs > CGROUPS_SHOWN)
		fprintf(out, ", and %zu more", report->n_memcgs - CGROUPS_SHOWN);
	fputs("</td></tr>\n", out);
}

static void put_environment(const struct ui_report *report, FILE *out)
{
	fputs("<section><h2>Where it was recorded</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
	      "aria-label=\"Environment\"><table><tbody>\n", out);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const char *value = env_value(report, facts[i].key);

		if (value && value[0])
			put_row(out, facts[i].label, value);
	}
	put_memory(report, out);
	put_places(report, out);
	put_row(out, "trace", report->trace_id);
	fputs("</tbody></table></div>\n<details><summary>All that is known of the environment</summary>"
	      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Whole environment\"><table><tbody>\n",
	      out);
	for (size_t i = 0; i < report->n_env; i++)
		if (report->env[i].host == report->timeline->host)
			put_row(out, report->env[i].key, report->env[i].value);
	fputs("</tbody></table></div></details></section>\n", out);
}

/* ---------------------------------------------------------------------------------------- comparison */

/* A cell of the terminal's table; its plus-minus hangs on the locale, a page does not. */
static void put_cell_text(FILE *out, const char *text)
{
	const char *plus_minus = strstr(text, " +- ");

	if (!plus_minus) {
		ui_html_text(out, text);
		return;
	}
	fprintf(out, "%.*s \u00b1 %s", (int)(plus_minus - text), text, plus_minus + 4);
}

static void put_value(const struct ui_figure *figure, const char *text, FILE *out)
{
	fputs("<td class=\"value\">", out);
	if (figure)
		fprintf(out, "<data value=\"%.15g\">", figure->sample.mean);
	put_cell_text(out, text ? text : "");
	fputs(figure ? "</data></td>" : "</td>", out);
}

/* No change recedes, so that the others are seen. */
static void put_change(const char *text, FILE *out)
{
	bool same = strcmp(text, "-") == 0 || strcmp(text, "+0.0%") == 0;

	fprintf(out, "<td class=\"change%s\">%s</td>", same ? " same" : "", text);
}

static void put_verdict(const struct ui_figure *base, const struct ui_figure *figure, const char *text,
			FILE *out)
{
	static const char *const classes[] = {
		[UI_NO_VERDICT] = "", [UI_BETTER] = " better", [UI_WORSE] = " worse",
		[UI_HIGHER] = "", [UI_LOWER] = "", [UI_WITHIN_NOISE] = " noise",
	};
	enum ui_verdict verdict = base && figure ? ui_figure_verdict(base, figure) : UI_NO_VERDICT;

	fprintf(out, "<td class=\"verdict%s\">%s</td>", classes[verdict], text ? text : "");
}

static void put_metric(const struct ui_results_sheet *sheet, uint32_t row, FILE *out)
{
	const char **cells = sheet->table.cells + (size_t)row * sheet->table.n_columns;
	const struct ui_figure *base = ui_run_figure(sheet->runs[0], sheet->names[row]);

	fputs("<tr><th scope=\"row\">", out);
	ui_html_text(out, *cells++);
	fprintf(out, "</th><td><span class=\"how\">%s</span></td>", *cells++);
	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const struct ui_figure *figure = ui_run_figure(sheet->runs[i], sheet->names[row]);

		put_value(figure, *cells++, out);
		if (!i)
			continue;
		put_change(*cells++, out);
		if (sheet->verdicts)
			put_verdict(base, figure, *cells++, out);
	}
	fputs("</tr>\n", out);
}

static void put_group_head(const struct ui_results_sheet *sheet, FILE *out)
{
	const struct db_run *run = &sheet->runs[0]->run;
	char target[UI_CONDITION_BYTES];

	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Comparison\"><table class=\"compare\">"
	      "<caption>Target ", out);
	ui_html_text(out, run->target);
	ui_target_name(run, target);
	if (target[0]) {
		fputc(' ', out);
		ui_html_text(out, target);
	}
	fputs(", drive ", out);
	ui_html_text(out, run->drive);
	fputs(", pace ", out);
	ui_html_text(out, run->pace && run->pace[0] ? run->pace : "asap");
	if (run->host)
		fprintf(out, ", host %u", run->host);
	fprintf(out, ", n = %d</caption>\n<thead><tr><td></td><td></td>", run->reps);
	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		fprintf(out, "<th scope=\"col\" colspan=\"%d\">", i ? 2 + sheet->verdicts : 1);
		ui_html_text(out, sheet->table.heads[i + 1]);
		fputs("</th>", out);
	}
	fputs("</tr></thead><tbody>\n", out);
}

static void put_group_foot(const struct ui_results_sheet *sheet, FILE *out)
{
	const char *before = "";

	fputs("</tbody></table></div>\n<p class=\"note\">", out);
	if (sheet->verdicts)
		fprintf(out, "Verdicts: Welch's t test against the first policy, two-sided, at the %.0f%% level; "
			     "noise: the difference is within noise. ", 100 * UI_LEVEL);
	else if (sheet->n_runs > 1)
		fputs("No verdicts: they need at least two repetitions of both. ", out);
	if (sheet->partial)
		fputs("*: ended early; its figures are of the part that was done. ", out);
	if (sheet->n_zero)
		fprintf(out, "%u metrics that are 0 everywhere are left out. ", sheet->n_zero);
	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const char *note = sheet->runs[i]->run.note ? sheet->runs[i]->run.note : "";

		if (note[0] && strcmp(note, before) != 0) {
			fputs("Note: ", out);
			ui_html_text(out, note);
			fputc(' ', out);
		}
		before = note;
	}
	fputs("</p>\n", out);
}

static enum zr_err put_group(const struct ui_report *report, uint32_t group, struct zr_arena *arena, FILE *out)
{
	struct ui_results_sheet sheet;
	enum zr_err err = ui_results_sheet(&report->results, group, arena, &sheet);

	if (err || !sheet.n_runs)
		return err;
	put_group_head(&sheet, out);
	for (uint32_t row = 0; row < sheet.table.n_rows; row++)
		put_metric(&sheet, row, out);
	put_group_foot(&sheet, out);
	return ZR_OK;
}

static enum zr_err put_comparison(const struct ui_report *report, struct zr_arena *arena, FILE *out)
{
	enum zr_err err = ZR_OK;

	fputs("<section><h2>The policies side by side</h2>\n", out);
	if (report->results.n_groups > 1)
		fprintf(out, "<p class=\"warn\">%u tables: their runs differ in target, drive, pace or host and are not "
			     "comparable across tables.</p>\n",
			report->results.n_groups);
	for (uint32_t group = 0; group < report->results.n_groups && !err; group++)
		err = put_group(report, group, arena, out);
	fputs("<ul class=\"legend\"><li><span class=\"how\">m</span> measured on the target</li>"
	      "<li><span class=\"how\">p</span> planned: the I/O that the model decided on, counted without the block "
	      "layer</li><li><span class=\"how\">c</span> computed by the model, of the pool or of the device</li></ul>\n", out);
	if (report->other_runs)
		fprintf(out, "<p class=\"note\">%u runs of other traces are left out.</p>\n", report->other_runs);
	if (report->uncharted)
		fprintf(out, "<p class=\"note\">%u policies have no charts below: at most %d do.</p>\n",
			report->uncharted, PLAY_RACE_LANES);
	fputs("</section>\n", out);
	return err;
}

/* --------------------------------------------------------------------------------------------- doubt */

static void put_losses(const struct ui_report *report, FILE *out)
{
	const struct db_summary *sum = &report->sum;
	uint64_t events = 0;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		events += kind == DB_GAP ? 0 : sum->events[kind];
	if (!sum->gaps) {
		fputs("<li>No event was lost while recording, as far as the kernel's own counters tell.</li>\n", out);
		return;
	}
	fprintf(out, "<li>%s events were lost in %s gaps, %.2f%% of all. A slot whose history crosses a gap is "
		     "unknown, not guessed.</li>\n",
		ui_count(sum->lost_events).text, ui_count(sum->gaps).text,
		ui_percent(sum->lost_events, events + sum->lost_events));
}

static void put_guesses(const struct ui_report *report, FILE *out)
{
	const struct sim_counters *counters = &report->timeline->lanes[0].counters;

	fprintf(out, "<li>%s refaults were of slots whose swap-out the trace does not have; %s stores had a compressed "
		     "length that the trace does not have, so the model took the cgroup's last one. (Policy ",
		ui_count(counters->unknown_refaults).text, ui_count(counters->guessed_lengths).text);
	ui_html_text(out, report->timeline->lanes[0].policy.text);
	fputs(".)</li>\n", out);
}

static void put_check_row(const struct ui_report *report, const char *label, uint64_t recorded,
			  size_t counter, FILE *out)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%s</td>", label, ui_count(recorded).text);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		const struct sim_counters *counters = &report->timeline->lanes[i].counters;
		uint64_t n;

		memcpy(&n, (const char *)counters + counter, sizeof(n));
		fprintf(out, "<td>%s</td>", ui_count(n).text);
		put_change(ui_change((double)recorded, (double)n).text, out);
	}
	fputs("</tr>\n", out);
}

/* What the kernel did beside what the model makes of the same demand: the model's error, where the policy is
 * the kernel's own. */
static void put_check(const struct ui_report *report, FILE *out)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Recorded and computed\"><table><caption>"
	      "Recorded from the kernel, and computed for each policy</caption><thead><tr><td></td>"
	      "<th scope=\"col\">recorded</th>", out);
	for (uint32_t i = 0; i < report->timeline->n_lanes; i++) {
		fputs("<th scope=\"col\" colspan=\"2\">", out);
		ui_html_text(out, report->timeline->lanes[i].policy.text);
		fputs("</th>", out);
	}
	fputs("</tr></thead><tbody>\n", out);
	put_check_row(report, "pages written back", report->sum.written_back,
		      offsetof(struct sim_counters, written_back_pages), out);
	put_check_row(report, "stores rejected", report->sum.rejected,
		      offsetof(struct sim_counters, store_rejected), out);
	put_check_row(report, "refaults from disk", report->sum.in_disk,
		      offsetof(struct sim_counters, disk_refaults), out);
	fputs("</tbody></table></div>\n<p class=\"note\">For the policy that the kernel itself ran the difference is the "
	      "model's error; for another one it is that and what the policy changes.</p>\n", out);
}

static void put_doubt(const struct ui_report *report, FILE *out)
{
	fputs("<section id=\"sure\"><h2>How sure one can be</h2>\n<ul>\n", out);
	put_losses(report, out);
	put_guesses(report, out);
	fputs("<li>The model has no chance in it: the same trace and policy give the same figures, so a difference "
	      "between two computed columns is not noise, but it is only as good as the model.</li>\n"
	      "<li>Planned requests are what the block layer would be given; what it makes of them is known only from "
	      "rows marked m.</li>\n</ul>\n", out);
	if (report->sum.hosts == 1)
		put_check(report, out);
	else
		fprintf(out, "<p>The trace has %u hosts; the charts are of host %u, which has the most events.</p>\n",
			report->sum.hosts, report->timeline->host);
	fputs("</section>\n", out);
}

enum zr_err ui_report_write(const struct ui_report *report, struct zr_arena *arena, FILE *out)
{
	enum zr_err err;

	put_head(report, out);
	put_summary(report, out);
	err = put_comparison(report, arena, out);
	ui_report_requests(report, out);
	ui_report_causes(report, out);
	ui_report_course(report, out);
	ui_report_pool(report, out);
	ui_report_map(report, out);
	put_environment(report, out);
	put_doubt(report, out);
	fputs("</main>\n<footer><p class=\"note\">Written by zreel report.</p></footer></body></html>\n", out);
	return err;
}
