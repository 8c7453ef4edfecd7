/* SPDX-License-Identifier: MIT */
/*
 * The comparison as a table and as JSON; see results.h.
 *
 * A group is a table: rows are metrics in the order of metric.c, columns are policies. The baseline has
 * its value; every other policy has value, change and, where there is one, the verdict. A letter beside
 * the row's label says how the figure came to be (m measured, p planned, c computed by the model).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/conditions.h"
#include "ui/json.h"
#include "ui/metric.h"
#include "ui/results.h"
#include "ui/study.h"
#include "ui/table.h"
#include "ui/text.h"

/* One shown run of each condition, of a group or (group -1) of all; free it. NULL: none, or no memory. */
static const struct db_run **unlike_runs(const struct ui_results *results, int64_t group, uint32_t *n)
{
	const struct db_run **runs = calloc(2 * (size_t)results->n + 1, sizeof(*runs));
	uint32_t all = 0;

	*n = 0;
	if (!runs)
		return NULL;
	for (uint32_t i = 0; i < results->n; i++)
		if (results->runs[i].shown && (group < 0 || results->runs[i].group == group))
			runs[results->n + all++] = &results->runs[i].run;
	*n = ui_unlike_runs(runs + results->n, all, runs);
	return runs;
}

/* --------------------------------------------------------------------------------------------- JSON */

static void json_differences(const struct ui_results *results, struct ui_json *json)
{
	uint32_t n;
	const struct db_run **runs = unlike_runs(results, -1, &n);

	ui_json_differences(json, "differences", runs, n);
	free(runs);
}

static void json_figure(struct ui_json *json, const struct ui_run *base, const struct ui_run *run,
			const struct ui_figure *figure)
{
	const struct ui_figure *first = base == run ? NULL : ui_run_figure(base, figure->name);

	ui_json_object(json, figure->name);
	ui_json_number(json, "mean", figure->sample.mean);
	ui_json_number(json, "stddev", figure->sample.stddev);
	ui_json_count(json, "n", figure->sample.n);
	ui_json_text(json, "verdict", first ? ui_verdict_text(ui_figure_verdict(first, figure)) : NULL);
	ui_json_text(json, "figure", ui_figure_how_text(figure->how));
	ui_json_end_object(json);
}

static void json_run(struct ui_json *json, const struct ui_results *results, const struct ui_run *run)
{
	const struct ui_run *base = ui_results_baseline(results, run);

	ui_json_object(json, NULL);
	ui_json_text(json, "policy", run->run.policy);
	ui_json_text(json, "knobs", run->run.knobs);
	ui_json_text(json, "target", run->run.target);
	ui_json_text(json, "target_detail", run->run.target_detail);
	ui_json_settings(json, "settings", &run->run);
	ui_json_text(json, "drive", run->run.drive);
	ui_json_text(json, "pace", run->run.pace);
	ui_json_text(json, "trace_id", run->run.trace_id);
	ui_json_text(json, "trace", run->run.trace_path);
	ui_json_count(json, "host", run->run.host);
	ui_json_text(json, "file", run->file);
	ui_json_number(json, "run", (double)run->run.id);
	ui_json_number(json, "reps", run->run.reps);
	ui_json_bool(json, "partial", run->run.partial);
	ui_json_text(json, "note", run->run.note);
	ui_json_count(json, "group", run->group);
	ui_json_bool(json, "baseline", base == run);
	ui_json_object(json, "metrics");
	for (uint32_t i = 0; i < run->n_figures; i++)
		json_figure(json, base, run, &run->figures[i]);
	ui_json_end_object(json);
	ui_json_end_object(json);
}

void ui_results_print_json(const struct ui_results *results, FILE *out)
{
	struct ui_json json;

	ui_json_init(&json, out);
	ui_json_object(&json, NULL);
	ui_json_number(&json, "level", UI_LEVEL);
	json_differences(results, &json);
	ui_json_array(&json, "runs");
	for (uint32_t i = 0; i < results->n; i++)
		if (results->runs[i].shown)
			json_run(&json, results, &results->runs[i]);
	ui_json_end_array(&json);
	ui_studies_json(results, &json);
	ui_json_end_object(&json);
}

/* -------------------------------------------------------------------------------------------- table */

/* One group on its way to paper. */
struct sheet {
	struct zr_arena *arena;
	const struct ui_run **runs;
	const char **names; /* of the metrics that get a row */
	uint32_t n_runs, n_names, n_zero;
	bool verdicts, how_used[3], partial, same_reps, unlike;
};

static int by_rank(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	uint32_t rx = ui_metric_rank(*x), ry = ui_metric_rank(*y);

	if (rx != ry)
		return rx < ry ? -1 : 1;
	return strcmp(*x, *y);
}

static bool in_sheet(const struct sheet *sheet, const char *name)
{
	for (uint32_t i = 0; i < sheet->n_names; i++)
		if (strcmp(sheet->names[i], name) == 0)
			return true;
	return false;
}

static bool zero_everywhere(const struct sheet *sheet, const char *name)
{
	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const struct ui_figure *figure = ui_run_figure(sheet->runs[i], name);

		if (figure && (figure->sample.mean != 0 || figure->sample.stddev != 0))
			return false;
	}
	return true;
}

static void drop_zeros(struct sheet *sheet)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < sheet->n_names; i++)
		if (!zero_everywhere(sheet, sheet->names[i]))
			sheet->names[kept++] = sheet->names[i];
	sheet->n_zero = sheet->n_names - kept;
	sheet->n_names = kept;
}

static enum zr_err collect_names(struct sheet *sheet, bool zeros)
{
	size_t room = 1;

	for (uint32_t i = 0; i < sheet->n_runs; i++)
		room += sheet->runs[i]->n_figures;
	sheet->names = zr_arena_array(sheet->arena, room, sizeof(*sheet->names));
	if (!sheet->names)
		return zr_fail(ZR_NOMEM, "comparing %u runs: out of memory", sheet->n_runs);
	for (uint32_t i = 0; i < sheet->n_runs; i++)
		for (uint32_t j = 0; j < sheet->runs[i]->n_figures; j++)
			if (!in_sheet(sheet, sheet->runs[i]->figures[j].name))
				sheet->names[sheet->n_names++] = sheet->runs[i]->figures[j].name;
	if (!zeros)
		drop_zeros(sheet);
	qsort(sheet->names, sheet->n_names, sizeof(*sheet->names), by_rank);
	return ZR_OK;
}

static enum zr_err collect(struct sheet *sheet, const struct ui_results *results, uint32_t group,
			   bool zeros)
{
	sheet->runs = zr_arena_array(sheet->arena, results->n + 1, sizeof(*sheet->runs));
	if (!sheet->runs)
		return zr_fail(ZR_NOMEM, "comparing %u runs: out of memory", results->n);
	for (uint32_t i = 0; i < results->n; i++) {
		const struct ui_run *run = &results->runs[i];

		if (run->group != group || !run->shown)
			continue;
		sheet->runs[sheet->n_runs++] = run;
		sheet->partial = sheet->partial || run->run.partial;
	}
	sheet->same_reps = true;
	for (uint32_t i = 1; i < sheet->n_runs; i++) {
		int32_t base = sheet->runs[0]->run.reps, reps = sheet->runs[i]->run.reps;

		sheet->verdicts = sheet->verdicts || (base > 1 && reps > 1);
		sheet->same_reps = sheet->same_reps && reps == base;
		sheet->unlike = sheet->unlike ||
				!ui_runs_alike(&sheet->runs[0]->run, &sheet->runs[i]->run);
	}
	return collect_names(sheet, zeros);
}

static struct ui_metric_scale scale_of(const struct sheet *sheet, const char *name)
{
	double largest = 0;
	bool whole = true;

	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const struct ui_figure *figure = ui_run_figure(sheet->runs[i], name);

		if (!figure)
			continue;
		largest = fmax(largest, fabs(figure->sample.mean));
		whole = whole && figure->whole;
	}
	/* The mean of counts that spread has no need of decimals unless it is small. */
	return ui_metric_scale(name, largest, whole || largest >= 1000);
}

static const char *value_text(const struct sheet *sheet, const struct ui_figure *figure,
			      const struct ui_metric_scale *scale)
{
	char text[120];
	const char *plus_minus = ui_locale_is_ascii() ? "+-" : "\u00b1";

	if (!figure)
		return "-";
	if (figure->sample.n < 2)
		return zr_arena_text(
			sheet->arena,
			ui_number(figure->sample.mean / scale->divisor, scale->decimals).text);
	snprintf(text, sizeof(text), "%s %s %s",
		 ui_number(figure->sample.mean / scale->divisor, scale->decimals).text, plus_minus,
		 ui_number(figure->sample.stddev / scale->divisor, scale->decimals).text);
	return zr_arena_text(sheet->arena, text);
}

/* The letters of all the ways in which the row's figures came to be: one, in honest tables. */
static const char *how_letters(struct sheet *sheet, const char *name)
{
	static const char letters[] = { [DB_MEASURED] = 'm', [DB_PLANNED] = 'p', [DB_MODELLED] = 'c' };
	char text[4] = "", *end = text;
	bool seen[3] = { false };

	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const struct ui_figure *figure = ui_run_figure(sheet->runs[i], name);

		if (figure && (unsigned)figure->how < 3)
			seen[figure->how] = sheet->how_used[figure->how] = true;
	}
	for (unsigned how = 0; how < 3; how++)
		if (seen[how])
			*end++ = letters[how];
	return zr_arena_text(sheet->arena, text);
}

/* Figures of the model repeat to the last digit; that is not noise. */
static const char *short_verdict(const struct ui_figure *base, const struct ui_figure *figure)
{
	enum ui_verdict verdict = ui_figure_verdict(base, figure);

	if (verdict != UI_WITHIN_NOISE)
		return ui_verdict_text(verdict);
	return base->sample.stddev + figure->sample.stddev == 0 ? "same" : "noise";
}

/* Columns: label, how | value | value, change[, verdict] | ... */
static void fill_row(struct sheet *sheet, struct ui_table *table, uint32_t row)
{
	const char *name = sheet->names[row], **cells = table->cells + (size_t)row * table->n_columns;
	struct ui_metric_scale scale = scale_of(sheet, name);
	const struct ui_figure *base = ui_run_figure(sheet->runs[0], name);

	*cells++ = zr_arena_text(sheet->arena, scale.label);
	*cells++ = how_letters(sheet, name);
	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const struct ui_figure *figure = ui_run_figure(sheet->runs[i], name);

		*cells++ = value_text(sheet, figure, &scale);
		if (i == 0)
			continue;
		*cells++ = base && figure
				   ? zr_arena_text(sheet->arena,
						   ui_change(base->sample.mean, figure->sample.mean).text)
				   : "-";
		if (sheet->verdicts)
			*cells++ = base && figure ? short_verdict(base, figure) : NULL;
	}
}

/* What tells a run from another of its policy in a table of unlike ones: the target if they differ in that, else the
 * file, else its number. */
static void add_distinction(const struct sheet *sheet, const struct ui_run *run, char *text, size_t bytes)
{
	const char *slash = strrchr(run->file, '/');
	size_t used = strlen(text);

	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		const struct ui_run *other = sheet->runs[i];

		if (other == run || strcmp(other->run.policy, run->run.policy) != 0)
			continue;
		if (strcmp(other->run.target, run->run.target) != 0)
			snprintf(text + used, bytes - used, " (%s)", run->run.target);
		else if (strcmp(other->file, run->file) != 0)
			snprintf(text + used, bytes - used, " (%s)", slash ? slash + 1 : run->file);
		else
			snprintf(text + used, bytes - used, " (run %lld)", (long long)run->run.id);
		return;
	}
}

static const char *head_text(const struct sheet *sheet, const struct ui_run *run)
{
	char text[200];
	size_t used;

	snprintf(text, sizeof(text), "%s%s", run->run.policy, run->run.partial ? "*" : "");
	if (sheet->unlike)
		add_distinction(sheet, run, text, sizeof(text));
	used = strlen(text);
	if (!sheet->same_reps)
		snprintf(text + used, sizeof(text) - used, " (n=%d)", run->run.reps);
	return zr_arena_text(sheet->arena, text);
}

static enum zr_err fill_table(struct sheet *sheet, struct ui_table *table)
{
	uint32_t wide = sheet->verdicts ? 3 : 2, column = 2;
	enum zr_err err = ui_table_init(table, sheet->arena, sheet->n_names,
					3 + wide * (sheet->n_runs - 1), sheet->n_runs + 1);

	if (err)
		return err;
	for (uint32_t i = 0; i < sheet->n_runs; i++) {
		table->heads[i + 1] = head_text(sheet, sheet->runs[i]);
		for (uint32_t c = 0; c < (i ? wide : 1); c++)
			table->group[column++] = i + 1;
	}
	for (uint32_t row = 0; row < sheet->n_names; row++)
		fill_row(sheet, table, row);
	return ZR_OK;
}

static enum zr_err print_table(struct sheet *sheet, int width)
{
	struct ui_table table;
	enum zr_err err = fill_table(sheet, &table);

	return err ? err : ui_table_print(&table, sheet->arena, width, stdout);
}

enum zr_err ui_results_sheet(const struct ui_results *results, uint32_t group, struct zr_arena *arena,
			     struct ui_results_sheet *out)
{
	struct sheet sheet = { .arena = arena };
	enum zr_err err = collect(&sheet, results, group, false);

	if (!err)
		err = fill_table(&sheet, &out->table);
	out->runs = sheet.runs;
	out->names = sheet.names;
	out->n_runs = sheet.n_runs;
	out->n_zero = sheet.n_zero;
	out->verdicts = sheet.verdicts;
	out->partial = sheet.partial;
	return err;
}

/* All that is the same for runs that are alike. */
static void print_conditions(const struct sheet *sheet)
{
	const struct db_run *run = &sheet->runs[0]->run;
	char target[UI_CONDITION_BYTES];

	printf(", target ");
	ui_put_clean(stdout, run->target);
	ui_target_name(run, target);
	if (target[0])
		putchar(' ');
	ui_put_clean(stdout, target);
	printf(", drive ");
	ui_put_clean(stdout, run->drive);
	printf(", pace ");
	ui_put_clean(stdout, run->pace && run->pace[0] ? run->pace : "asap");
	if (run->host)
		printf(", host %u", run->host);
	if (sheet->same_reps)
		printf(", n = %d", run->reps);
	putchar('\n');
	if (strstr(run->target_detail ? run->target_detail : "", "; ")) {
		printf("  ");
		ui_put_settings(stdout, run);
		putchar('\n');
	}
}

static void print_unlike(const struct ui_results *results, uint32_t group)
{
	uint32_t n;
	const struct db_run **runs = unlike_runs(results, group, &n);

	printf("\nUnlike runs, in one table since --unlike asks for it; they differ in ");
	ui_put_differences(stdout, runs, n);
	puts(".");
	free(runs);
}

static void print_heading(const struct sheet *sheet, const struct ui_results *results, uint32_t group)
{
	const struct db_run *run = &sheet->runs[0]->run;

	printf("trace ");
	ui_put_clean(stdout, run->trace_path && run->trace_path[0] ? run->trace_path : "?");
	printf(" (%.8s)", run->trace_id);
	if (sheet->unlike)
		print_unlike(results, group);
	else
		print_conditions(sheet);
	putchar('\n');
}

/* The same note of several runs in a row is printed once. */
static void print_note(const struct db_run *run, const struct db_run *before)
{
	const char *note = run->note ? run->note : "";

	if (!note[0] || (before && before->note && strcmp(before->note, note) == 0))
		return;
	printf("Note: ");
	ui_put_clean(stdout, note);
	putchar('\n');
}

static void print_footer(const struct sheet *sheet)
{
	static const char *const legend[] = {
		[DB_MEASURED] = "m: measured on the target",
		[DB_PLANNED] =
			"p: planned, the I/O that the model decided on, counted without the block layer",
		[DB_MODELLED] = "c: computed by the model, of the pool or of the device",
	};

	putchar('\n');
	for (unsigned how = 0; how < 3; how++)
		if (sheet->how_used[how])
			puts(legend[how]);
	if (sheet->verdicts)
		printf("Verdicts: Welch's t test against the first policy, two-sided, at the %.0f%% level;\n"
		       "noise: the difference is within noise.\n",
		       100 * UI_LEVEL);
	else if (sheet->n_runs > 1)
		puts("No verdicts: they need at least two repetitions of both (--reps).");
	if (sheet->partial)
		puts("*: ended early; its figures are of the part that was done.");
	for (uint32_t i = 0; i < sheet->n_runs; i++)
		print_note(&sheet->runs[i]->run, i ? &sheet->runs[i - 1]->run : NULL);
	if (sheet->n_zero)
		printf("%u metrics that are 0 everywhere are left out (--zeros shows them).\n",
		       sheet->n_zero);
}

/* What differs between the groups, so that nobody holds one table against the other unawares. */
static void print_differences(const struct ui_results *results)
{
	uint32_t n;
	const struct db_run **runs = unlike_runs(results, -1, &n);

	printf("%u tables: the runs differ in ", results->n_groups);
	ui_put_differences(stdout, runs, n);
	printf(" and are not comparable across tables%s.\n\n",
	       n && ui_runs_same_input(runs[0], runs[n - 1]) ? " (--unlike puts them into one)" : "");
	free(runs);
}

enum zr_err ui_results_print_text(const struct ui_results *results, struct zr_arena *arena, int width,
				  bool zeros)
{
	enum zr_err err = ZR_OK;

	if (results->n_groups > 1)
		print_differences(results);
	for (uint32_t group = 0; group < results->n_groups && !err; group++) {
		struct sheet sheet = { .arena = arena };

		err = collect(&sheet, results, group, zeros);
		if (err)
			return err;
		if (group)
			putchar('\n');
		print_heading(&sheet, results, group);
		err = print_table(&sheet, width);
		if (!err)
			print_footer(&sheet);
	}
	return err ? err : ui_studies_print(results, arena, width);
}
