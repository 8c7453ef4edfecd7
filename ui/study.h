/* SPDX-License-Identifier: MIT */
/*
 * The published studies: which policies each compared, what it measured, and how a replay's figures
 * stand beside it.
 *
 * A study has one case or more: a table of its own with a row for each figure. A case is redone by
 * replaying its policies on a trace; the runs carry the name of the case in their note, and by that
 * compare finds them again.
 *
 * What may be compared. A ratio that does not depend on how long or how large the run was (pages
 * per request, reject rate) stands beside the published one as it is. Seconds and counts are those
 * of another machine and of a run of another length: only their change from policy to policy can be
 * held against the published change. Each row says which it is.
 */
#ifndef UI_STUDY_H
#define UI_STUDY_H

#include "ui/json.h"
#include "ui/results.h"

enum { STUDY_POLICIES_MAX = 3, STUDY_ROWS_MAX = 12, STUDY_CASES_MAX = 2 };

enum study_compare { STUDY_VALUE, STUDY_CHANGE };

/* One figure of a case: mean and standard deviation by policy; a mean below 0 was not published. */
struct study_row {
	const char *label, *metric; /* metric: of zreel, in `per` of which the row counts */
	double per;
	enum study_compare compare;
	struct {
		double mean, stddev;
	} published[STUDY_POLICIES_MAX];
};

struct study_case {
	const char *name, *text;
	const char *model;    /* knobs added to the device model; "" = none */
	const char *workload; /* of `zreel gen`; the case is redone on traces of it only; NULL = on
				 any */
	struct study_row rows[STUDY_ROWS_MAX + 1]; /* ended by a NULL label */
};

struct study {
	const char *name, *text;
	const char *policies[STUDY_POLICIES_MAX + 1]; /* ended by NULL */
	const char *labels[STUDY_POLICIES_MAX];	      /* what the authors call them */
	uint32_t reps; /* of the published figures; 0 = single runs */
	struct study_case cases[STUDY_CASES_MAX + 1]; /* ended by a NULL name */
};

/* NULL behind the last. */
const struct study *ui_study(uint32_t i);

/* ZR_USAGE lists the names. */
enum zr_err ui_study_find(const char *name, const struct study **out);

uint32_t ui_study_policies(const struct study *study);

/* Is the case to be redone on a trace of this workload (NULL: not a generated one)? */
bool ui_study_wants(const struct study *study, const struct study_case *it, const char *workload);

/* The note by which runs of a case are found again. */
void ui_study_note(const struct study *study, const struct study_case *it, char *text,
		   size_t bytes);

/* The studies that are among shown runs, a table each; and as the member "studies" of an open
 * object. */
enum zr_err ui_studies_print(const struct ui_results *results, struct zr_arena *arena, int width);
void ui_studies_json(const struct ui_results *results, struct ui_json *json);

#endif
