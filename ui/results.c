/* SPDX-License-Identifier: MIT */
/* Loading, grouping and judging stored runs; see results.h. Printing them is results_print.c. */
#include "ui/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/conditions.h"
#include "ui/metric.h"

/* One figure out of the repetitions metrics[0..n), which share a name. */
static enum zr_err fill_figure(struct ui_figure *figure, const struct db_metric *metrics, uint32_t n,
			       struct zr_arena *arena)
{
	double *values = zr_arena_array(arena, n, sizeof(*values));

	if (!values)
		return zr_fail(ZR_NOMEM, "reading %u values of %s: out of memory", n, metrics->name);
	*figure = (struct ui_figure){ .name = metrics->name, .how = metrics->figure, .whole = true };
	for (uint32_t i = 0; i < n; i++) {
		values[i] = metrics[i].value;
		figure->whole = figure->whole && values[i] == floor(values[i]);
	}
	figure->sample = ui_sample_of(values, n);
	return ZR_OK;
}

static uint32_t same_name(const struct db_metric *metrics, size_t n)
{
	uint32_t same = 1;

	while (same < n && strcmp(metrics[same].name, metrics->name) == 0)
		same++;
	return same;
}

static enum zr_err load_figures(struct ui_run *run, struct db *db, struct zr_arena *arena)
{
	struct db_metric *metrics;
	size_t n;
	enum zr_err err = db_metrics(db, run->run.id, arena, &metrics, &n);

	if (err)
		return err;
	run->figures = zr_arena_array(arena, n ? n : 1, sizeof(*run->figures));
	if (!run->figures)
		return zr_fail(ZR_NOMEM, "reading the metrics of a run: out of memory");
	for (size_t i = 0; i < n && !err;) {
		uint32_t same = same_name(metrics + i, n - i);

		err = fill_figure(&run->figures[run->n_figures++], metrics + i, same, arena);
		i += same;
	}
	return err;
}

enum zr_err ui_results_load(struct ui_results *results, struct db *db, int64_t after,
			    struct zr_arena *arena)
{
	struct db_run *runs;
	struct ui_run *grown;
	size_t n;
	enum zr_err err = db_runs(db, arena, &runs, &n);

	if (err)
		return err;
	grown = zr_arena_array(arena, results->n + n + 1, sizeof(*grown));
	if (!grown)
		return zr_fail(ZR_NOMEM, "reading %zu runs of %s: out of memory", n, db_path(db));
	if (results->n)
		memcpy(grown, results->runs, results->n * sizeof(*grown));
	results->runs = grown;
	for (size_t i = 0; i < n && !err; i++) {
		/* A measured drive is kept like a run, but is nothing to compare with one. */
		if (runs[i].id <= after || strcmp(runs[i].target, "calibrate") == 0)
			continue;
		grown[results->n] =
			(struct ui_run){ .run = runs[i], .file = zr_arena_text(arena, db_path(db)) };
		err = load_figures(&grown[results->n++], db, arena);
	}
	return err;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static void assign_groups(struct ui_results *results, bool unlike)
{
	for (uint32_t i = 0; i < results->n; i++) {
		struct ui_run *run = &results->runs[i];
		uint32_t j = 0;

		while (j < i && !(unlike ? ui_runs_same_input : ui_runs_alike)(&results->runs[j].run,
									       &run->run))
			j++;
		run->group = j < i ? results->runs[j].group : results->n_groups++;
	}
}

/* Stable, since runs of a group keep their order: insertion by (group, not the baseline). */
static void sort_runs(struct ui_results *results, const char *baseline)
{
	struct ui_run *runs = results->runs;

	for (uint32_t i = 1; i < results->n; i++) {
		struct ui_run run = runs[i];
		bool first = baseline && same_text(run.run.policy, baseline);
		uint32_t j = i;

		while (j > 0 && (runs[j - 1].group > run.group ||
				 (first && runs[j - 1].group == run.group &&
				  !same_text(runs[j - 1].run.policy, baseline)))) {
			runs[j] = runs[j - 1];
			j--;
		}
		runs[j] = run;
	}
}

/* Latest of its policy: no later run with the same policy among those that are alike. */
static bool is_latest(const struct ui_results *results, uint32_t i)
{
	const struct ui_run *run = &results->runs[i];

	for (uint32_t j = 0; j < results->n; j++) {
		const struct ui_run *other = &results->runs[j];

		if (j == i || other->group != run->group ||
		    !same_text(other->run.policy, run->run.policy) ||
		    !ui_runs_alike(&other->run, &run->run))
			continue;
		if (other->run.created_realtime_ns > run->run.created_realtime_ns ||
		    (other->run.created_realtime_ns == run->run.created_realtime_ns && j > i))
			return false;
	}
	return true;
}

void ui_results_group(struct ui_results *results, const struct ui_grouping *grouping)
{
	assign_groups(results, grouping->unlike);
	sort_runs(results, grouping->baseline);
	for (uint32_t i = 0; i < results->n; i++)
		results->runs[i].shown = grouping->all || is_latest(results, i);
}

const struct ui_figure *ui_run_figure(const struct ui_run *run, const char *name)
{
	for (uint32_t i = 0; i < run->n_figures; i++)
		if (strcmp(run->figures[i].name, name) == 0)
			return &run->figures[i];
	return NULL;
}

const struct ui_run *ui_results_baseline(const struct ui_results *results, const struct ui_run *run)
{
	const struct ui_run *base = results->runs;

	while (base != run && (base->group != run->group || !base->shown))
		base++;
	return base;
}

enum ui_verdict ui_figure_verdict(const struct ui_figure *base, const struct ui_figure *figure)
{
	double p = ui_welch_p(&base->sample, &figure->sample);
	enum ui_better better = ui_metric_better(figure->name);
	bool more = figure->sample.mean > base->sample.mean;

	if (isnan(p))
		return UI_NO_VERDICT;
	if (p >= UI_LEVEL)
		return UI_WITHIN_NOISE;
	if (better == UI_NEITHER)
		return more ? UI_HIGHER : UI_LOWER;
	return more == (better == UI_MORE_IS_BETTER) ? UI_BETTER : UI_WORSE;
}

const char *ui_verdict_text(enum ui_verdict verdict)
{
	static const char *const texts[] = {
		[UI_NO_VERDICT] = NULL, [UI_BETTER] = "better", [UI_WORSE] = "worse",
		[UI_HIGHER] = "higher", [UI_LOWER] = "lower",	[UI_WITHIN_NOISE] = "within noise",
	};

	return texts[verdict];
}

const char *ui_figure_how_text(enum db_figure how)
{
	static const char *const texts[] = {
		[DB_MEASURED] = "measured",
		[DB_PLANNED] = "planned",
		[DB_MODELLED] = "modelled",
	};

	return (unsigned)how < 3 ? texts[how] : "unknown";
}
