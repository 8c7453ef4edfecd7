/* SPDX-License-Identifier: MIT */
/*
 * A trace, its runs and its explanations as one page of HTML that needs nothing else: no network, no script,
 * no font. The same input gives the same bytes: the page has no date and no path but the names that were given.
 *
 *   cmd_report.c gathers ──> struct ui_report ──> report.c (words, tables) and report_charts.c (pictures)
 *
 * Nothing is computed here that another command does not print too.
 */
#ifndef UI_REPORT_H
#define UI_REPORT_H

#include <stdio.h>

#include "replayer/replayer.h"
#include "ui/results.h"

struct ui_report {
	const char *name; /* of the trace, without folders */
	const char *trace_id;
	bool complete;
	struct db_summary sum;
	struct db_env *env;
	struct db_area *areas;
	struct db_memcg *memcgs;
	size_t n_env, n_areas, n_memcgs; /* areas and cgroups of the charts' host */
	struct ui_results results;	 /* grouped; all on this trace */
	uint32_t other_runs;		 /* of other traces, left out */
	uint32_t uncharted;		 /* policies of runs that have no chart */
	const struct play_timeline *timeline;
	const struct play_explain *const *explains; /* one a lane of the timeline */
};

enum zr_err ui_report_write(const struct ui_report *report, struct zr_arena *arena, FILE *out);

/* The sections with charts, for report.c. */
void ui_report_course(const struct ui_report *report, FILE *out);
void ui_report_requests(const struct ui_report *report, FILE *out);
void ui_report_causes(const struct ui_report *report, FILE *out);
void ui_report_pool(const struct ui_report *report, FILE *out);
void ui_report_map(const struct ui_report *report, FILE *out);

#endif
