/* SPDX-License-Identifier: MIT */
/*
 * Stored replay runs, brought into the shape of a comparison.
 *
 * Runs are alike when they were made on the same trace and host, towards the same target in the same condition (the
 * settings of a device, the kernel), with the same drive and pace; such runs form a group, and a group is a table. On
 * request a group takes all runs of one trace, host and drive, however unlike they are, and the table says in what
 * they differ. Of alike runs the latest of a policy counts (all of them on request). The first run of a group is the
 * baseline.
 */
#ifndef UI_RESULTS_H
#define UI_RESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/db.h"
#include "ui/stats.h"
#include "ui/table.h"

struct ui_figure {
	const char *name;
	struct ui_sample sample;
	enum db_figure how; /* of the first repetition */
	bool whole;	    /* every value is a whole number */
};

struct ui_run {
	struct db_run run;
	const char *file; /* where it is stored */
	struct ui_figure *figures;
	uint32_t n_figures;
	uint32_t group;
	bool shown; /* not replaced by a later run of its policy */
};

struct ui_results {
	struct ui_run *runs; /* those of a group follow each other after ui_results_group() */
	uint32_t n, n_groups;
};

/* Adds the runs of an open file whose id is above `after`. All texts live in the arena. */
enum zr_err ui_results_load(struct ui_results *results, struct db *db, int64_t after,
			    struct zr_arena *arena);

struct ui_grouping {
	bool all;    /* show runs that a later one of their policy has replaced */
	bool unlike; /* unlike runs of one trace, host and drive go into one table */
	const char *baseline; /* the policy that goes first; NULL: none */
};

void ui_results_group(struct ui_results *results, const struct ui_grouping *grouping);

/* NULL if the run has no such metric. */
const struct ui_figure *ui_run_figure(const struct ui_run *run, const char *name);

/* The first shown run of the same group. */
const struct ui_run *ui_results_baseline(const struct ui_results *results, const struct ui_run *run);

enum ui_verdict { UI_NO_VERDICT, UI_BETTER, UI_WORSE, UI_HIGHER, UI_LOWER, UI_WITHIN_NOISE };

/* Welch's test at UI_LEVEL; no verdict when either has fewer than two repetitions. */
enum ui_verdict ui_figure_verdict(const struct ui_figure *base, const struct ui_figure *figure);

/* NULL for no verdict. */
const char *ui_verdict_text(enum ui_verdict verdict);
const char *ui_figure_how_text(enum db_figure how);

/* Both print the shown runs. `zeros`: also rows that are 0 everywhere. */
void ui_results_print_json(const struct ui_results *results, FILE *out);
enum zr_err ui_results_print_text(const struct ui_results *results, struct zr_arena *arena, int width,
				  bool zeros);

/* One group as text: the cells that ui_results_print_text() prints, for other writers of tables. Column 0 is
 * the label, 1 the letters of how; then the value of the first run, and of each further run value, change
 * and, with `verdicts`, the verdict. */
struct ui_results_sheet {
	struct ui_table table;
	const struct ui_run **runs;
	const char **names; /* the metric of a row */
	uint32_t n_runs, n_zero; /* n_zero: rows left out, 0 everywhere */
	bool verdicts, partial;
};

enum zr_err ui_results_sheet(const struct ui_results *results, uint32_t group, struct zr_arena *arena,
			     struct ui_results_sheet *out);

#endif
