/* SPDX-License-Identifier: MIT */
/*
 * A study's own table, with the published figures at the left and this trace's at the right; see
 * study.h.
 *
 *                            published                       here
 *                            unbatched  batched              unbatched  batched
 *   write requests (k)   %       748 ±47  596 ±26  -20.4%  better    4.18     3.36  -19.6%
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "ui/conditions.h"
#include "ui/format.h"
#include "ui/metric.h"
#include "ui/study.h"
#include "ui/table.h"
#include "ui/text.h"

/* The runs of one case in one group of results. */
struct found {
	const struct study *study;
	const struct study_case *it;
	const struct ui_run *runs[STUDY_POLICIES_MAX];
	uint32_t n;
};

static bool has_note(const struct ui_run *run, const char *note)
{
	const char *text = run->run.note ? run->run.note : "";
	size_t bytes = strlen(note);

	return strncmp(text, note, bytes) == 0 && (!text[bytes] || text[bytes] == ';');
}

/* True when the group holds a run of each policy of the case. */
static bool find_runs(const struct ui_results *results, uint32_t group, struct found *found)
{
	char note[96];

	ui_study_note(found->study, found->it, note, sizeof(note));
	found->n = ui_study_policies(found->study);
	for (uint32_t p = 0; p < found->n; p++) {
		found->runs[p] = NULL;
		for (uint32_t i = 0; i < results->n; i++) {
			const struct ui_run *run = &results->runs[i];

			if (run->group == group && run->shown && has_note(run, note) &&
			    strcmp(run->run.policy, found->study->policies[p]) == 0)
				found->runs[p] = run;
		}
		if (!found->runs[p])
			return false;
	}
	return true;
}

typedef enum zr_err on_found(void *arg, const struct found *found);

static enum zr_err for_each(const struct ui_results *results, on_found *fn, void *arg)
{
	enum zr_err err = ZR_OK;
	struct found found;

	for (uint32_t group = 0; group < results->n_groups; group++)
		for (uint32_t i = 0; (found.study = ui_study(i)); i++)
			for (found.it = found.study->cases; found.it->name && !err; found.it++)
				if (find_runs(results, group, &found))
					err = fn(arg, &found);
	return err;
}

/* ------------------------------------------------------------------------- published figures */

static bool is_published(const struct study_row *row, uint32_t policy)
{
	return row->published[policy].mean >= 0;
}

/* As if it were a run of ours, in the metric's own unit, so that one judge serves both. */
static struct ui_figure published_figure(const struct found *found, const struct study_row *row,
					 uint32_t policy)
{
	return (struct ui_figure){ .name = row->metric,
				   .sample = { .mean = row->published[policy].mean * row->per,
					       .stddev = row->published[policy].stddev * row->per,
					       .n = found->study->reps ? found->study->reps : 1 } };
}

static const char *published_verdict(const struct found *found, const struct study_row *row,
				     uint32_t policy)
{
	struct ui_figure base = published_figure(found, row, 0);
	struct ui_figure figure = published_figure(found, row, policy);

	if (!is_published(row, 0) || !is_published(row, policy))
		return NULL;
	return ui_verdict_text(ui_figure_verdict(&base, &figure));
}

static const char *here_verdict(const struct ui_figure *base, const struct ui_figure *figure)
{
	return base && figure ? ui_verdict_text(ui_figure_verdict(base, figure)) : NULL;
}

/* ------------------------------------------------------------------------------------- table */

struct sheet {
	struct zr_arena *arena;
	int width;
	bool printed;
};

static int decimals_of(double largest)
{
	return largest >= 100 ? 0 : largest >= 10 ? 1 : 2;
}

static const char *value_text(const struct sheet *sheet, const struct ui_sample *sample, double per)
{
	double mean = sample->mean / per, spread = sample->stddev / per;
	char text[120];

	if (sample->n < 2)
		return zr_arena_text(sheet->arena, ui_number(mean, decimals_of(mean)).text);
	snprintf(text, sizeof(text), "%s %s %s", ui_number(mean, decimals_of(mean)).text,
		 ui_locale_is_ascii() ? "+-" : "\u00b1", ui_number(spread, decimals_of(mean)).text);
	return zr_arena_text(sheet->arena, text);
}

/* Value, and from the second policy on change and verdict. */
static const char **add_cells(const struct sheet *sheet, const char **cells,
			      const struct ui_figure *base, const struct ui_figure *figure,
			      double per, bool first, const char *verdict)
{
	*cells++ = figure ? value_text(sheet, &figure->sample, per) : "-";
	if (first)
		return cells;
	*cells++ = base && figure
			   ? zr_arena_text(sheet->arena,
					   ui_change(base->sample.mean, figure->sample.mean).text)
			   : "-";
	*cells++ = verdict ? verdict : "";
	return cells;
}

static void fill_row(const struct sheet *sheet, const struct found *found,
		     const struct study_row *row, const char **cells)
{
	const struct ui_figure *base = ui_run_figure(found->runs[0], row->metric);

	*cells++ = row->label;
	*cells++ = row->compare == STUDY_VALUE ? "=" : "%";
	for (uint32_t p = 0; p < found->n; p++) {
		struct ui_figure first = published_figure(found, row, 0);
		struct ui_figure figure = published_figure(found, row, p);

		cells = add_cells(sheet, cells, is_published(row, 0) ? &first : NULL,
				  is_published(row, p) ? &figure : NULL, row->per, p == 0,
				  published_verdict(found, row, p));
	}
	for (uint32_t p = 0; p < found->n; p++) {
		const struct ui_figure *figure = ui_run_figure(found->runs[p], row->metric);

		cells = add_cells(sheet, cells, base, figure, row->per, p == 0,
				  here_verdict(base, figure));
	}
}

static const char *head(const struct sheet *sheet, const char *where, const char *policy)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", where, policy);
	return zr_arena_text(sheet->arena, text);
}

/* Groups: label; published, by policy; here, by policy. */
static void fill_heads(const struct sheet *sheet, const struct found *found, struct ui_table *table)
{
	uint32_t column = 2;

	for (uint32_t half = 0; half < 2; half++) {
		for (uint32_t p = 0; p < found->n; p++) {
			uint32_t group = 1 + half * found->n + p;

			table->heads[group] =
				half ? head(sheet, "here", found->study->policies[p])
				     : head(sheet, "published", found->study->labels[p]);
			for (uint32_t c = 0; c < (p ? 3 : 1); c++)
				table->group[column++] = group;
		}
	}
}

static void print_legend(const struct found *found)
{
	const struct db_run *run = &found->runs[0]->run;
	char target[UI_CONDITION_BYTES];

	puts("\n=: a ratio, comparable as it stands\n"
	     "%: counts and seconds of another machine and another length of run: compare the "
	     "change only");
	if (found->study->reps)
		printf("Published verdicts: Welch's t test at the %.0f%% level, with n taken as "
		       "%u.\n",
		       100 * UI_LEVEL, found->study->reps);
	else
		puts("The published figures are of single runs, so nothing can be said of their "
		     "noise.");
	printf("Here: trace ");
	ui_put_clean(stdout, run->trace_path && run->trace_path[0] ? run->trace_path : "?");
	ui_target_name(run, target);
	printf(", target %s ", run->target);
	ui_put_clean(stdout, target);
	printf(", pace %s", run->pace ? run->pace : "asap");
	puts(strcmp(run->target, "device") == 0 ? "." : "; planned and modelled, not measured.");
}

static uint32_t rows_of(const struct study_case *it)
{
	uint32_t n = 0;

	while (it->rows[n].label)
		n++;
	return n;
}

static enum zr_err print_found(void *arg, const struct found *found)
{
	struct sheet *sheet = arg;
	uint32_t n_rows = rows_of(found->it), n_columns = 2 + 2 * (1 + 3 * (found->n - 1));
	struct ui_table table;
	enum zr_err err = ui_table_init(&table, sheet->arena, n_rows, n_columns, 1 + 2 * found->n);

	if (err)
		return err;
	printf("\nStudy %s: %s; %s\n\n", found->study->name, found->study->text, found->it->text);
	fill_heads(sheet, found, &table);
	for (uint32_t row = 0; row < n_rows; row++)
		fill_row(sheet, found, &found->it->rows[row],
			 table.cells + (size_t)row * n_columns);
	err = ui_table_print(&table, sheet->arena, sheet->width, stdout);
	if (!err)
		print_legend(found);
	return err;
}

enum zr_err ui_studies_print(const struct ui_results *results, struct zr_arena *arena, int width)
{
	struct sheet sheet = { .arena = arena, .width = width };

	return for_each(results, print_found, &sheet);
}

/* -------------------------------------------------------------------------------------- JSON */

static void json_change(struct ui_json *json, const struct ui_figure *base,
			const struct ui_figure *figure, const char *verdict)
{
	ui_json_number(json, "change",
		       base && figure ? figure->sample.mean / base->sample.mean - 1 : NAN);
	ui_json_text(json, "verdict", verdict);
}

static void json_figure(struct ui_json *json, const char *policy, const struct ui_figure *figure,
			double per)
{
	ui_json_object(json, NULL);
	ui_json_text(json, "policy", policy);
	ui_json_number(json, "mean", figure ? figure->sample.mean / per : NAN);
	ui_json_number(json, "stddev",
		       figure && figure->sample.n > 1 ? figure->sample.stddev / per : NAN);
}

static void json_published(struct ui_json *json, const struct found *found,
			   const struct study_row *row)
{
	struct ui_figure base = published_figure(found, row, 0);

	ui_json_array(json, "published");
	for (uint32_t p = 0; p < found->n; p++) {
		struct ui_figure figure = published_figure(found, row, p);
		const struct ui_figure *it = is_published(row, p) ? &figure : NULL;

		json_figure(json, found->study->policies[p], it, row->per);
		if (p)
			json_change(json, is_published(row, 0) ? &base : NULL, it,
				    published_verdict(found, row, p));
		ui_json_end_object(json);
	}
	ui_json_end_array(json);
}

static void json_here(struct ui_json *json, const struct found *found, const struct study_row *row)
{
	const struct ui_figure *base = ui_run_figure(found->runs[0], row->metric);

	ui_json_array(json, "here");
	for (uint32_t p = 0; p < found->n; p++) {
		const struct ui_figure *figure = ui_run_figure(found->runs[p], row->metric);

		json_figure(json, found->study->policies[p], figure, row->per);
		ui_json_text(json, "figure", figure ? ui_figure_how_text(figure->how) : NULL);
		if (p)
			json_change(json, base, figure, here_verdict(base, figure));
		ui_json_end_object(json);
	}
	ui_json_end_array(json);
}

static enum zr_err json_found(void *arg, const struct found *found)
{
	struct ui_json *json = arg;

	ui_json_object(json, NULL);
	ui_json_text(json, "study", found->study->name);
	ui_json_text(json, "case", found->it->name);
	ui_json_array(json, "rows");
	for (const struct study_row *row = found->it->rows; row->label; row++) {
		ui_json_object(json, NULL);
		ui_json_text(json, "label", row->label);
		ui_json_text(json, "metric", row->metric);
		ui_json_text(json, "comparable", row->compare == STUDY_VALUE ? "value" : "change");
		json_published(json, found, row);
		json_here(json, found, row);
		ui_json_end_object(json);
	}
	ui_json_end_array(json);
	ui_json_end_object(json);
	return ZR_OK;
}

void ui_studies_json(const struct ui_results *results, struct ui_json *json)
{
	ui_json_array(json, "studies");
	if (for_each(results, json_found, json))
		zr_error_clear(); /* json_found never fails */
	ui_json_end_array(json);
}
