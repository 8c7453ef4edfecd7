/* SPDX-License-Identifier: MIT */
/* The studies' tables: what is found again by its note, what is said of the published noise, and
 * what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replayer/replayer.h"
#include "ui/study.h"

enum { RUNS = 4 };

struct bench {
	struct ui_results results;
	struct ui_run runs[RUNS];
	struct ui_figure figures[RUNS][2];
	char notes[RUNS][96];
};

static const struct study *study_of(const char *name)
{
	const struct study *study;

	assert_int_equal(ui_study_find(name, &study), ZR_OK);
	return study;
}

/* Two runs of the case in one group. */
static void set_up(struct bench *bench, const struct study *study, const struct study_case *it)
{
	*bench = (struct bench){ .results = { .runs = bench->runs, .n = 2, .n_groups = 1 } };
	for (uint32_t i = 0; i < 2; i++) {
		bench->figures[i][0] =
			(struct ui_figure){ .name = "write_requests",
					    .sample = { .mean = 5000 - 1000 * i, .n = 1 },
					    .how = DB_PLANNED };
		bench->figures[i][1] = (struct ui_figure){ .name = "iocost_wait_us",
							   .sample = { .mean = 2e6, .n = 1 },
							   .how = DB_MODELLED };
		ui_study_note(study, it, bench->notes[i], sizeof(bench->notes[i]));
		bench->runs[i] = (struct ui_run){ .run = { .policy = study->policies[i],
							   .target = "model",
							   .note = bench->notes[i] },
						  .figures = bench->figures[i],
						  .n_figures = 2,
						  .shown = true };
	}
}

static char *json_of(const struct ui_results *results)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct ui_json json;

	assert_non_null(out);
	ui_json_init(&json, out);
	ui_json_object(&json, NULL);
	ui_studies_json(results, &json);
	ui_json_end_object(&json);
	fclose(out);
	return text;
}

/* The part of the JSON that is about a row of a published study. */
static char *row_of(char *json, const char *label)
{
	char *row = strstr(json, label), *end;

	assert_non_null(row);
	end = strstr(row, "\"label\"");
	if (end)
		*end = '\0';
	return row;
}

static void every_study_names_policies_that_there_are(void **state)
{
	const struct study *study;

	(void)state;
	for (uint32_t i = 0; (study = ui_study(i)); i++) {
		assert_true(ui_study_policies(study) >= 2);
		for (uint32_t p = 0; study->policies[p]; p++) {
			struct sim_policy policy;

			assert_int_equal(sim_policy_parse(study->policies[p], &policy), ZR_OK);
			assert_non_null(study->labels[p]);
		}
		for (const struct study_case *it = study->cases; it->name; it++)
			for (const struct study_row *row = it->rows; row->label; row++)
				assert_true(row->metric && row->per > 0);
	}
}

/* CASES: 624 +- 23 to 633 +- 29 is printed as +1.5%, and is nothing. */
static void the_plug_studys_wait_is_within_noise(void **state)
{
	const struct study *study = study_of("plug");
	struct bench bench;
	char *json, *row;

	(void)state;
	set_up(&bench, study, &study->cases[1]);
	json = json_of(&bench.results);
	row = row_of(json, "iocost wait (s)");
	assert_non_null(strstr(row, "\"mean\": 633"));
	assert_non_null(strstr(row, "\"change\": 0.0144"));
	assert_non_null(strstr(row, "\"verdict\": \"within noise\""));
	free(json);
}

static void the_batch_studys_requests_are_no_noise(void **state)
{
	const struct study *study = study_of("batch");
	struct bench bench;
	char *json, *row;

	(void)state;
	set_up(&bench, study, &study->cases[0]);
	json = json_of(&bench.results);
	row = row_of(json, "write requests (k)");
	assert_non_null(strstr(row, "\"verdict\": \"better\""));
	/* Ours, in the row's unit; one run of each has no verdict. */
	assert_non_null(strstr(row, "\"mean\": 4,"));
	assert_non_null(strstr(row, "\"change\": -0.2"));
	assert_non_null(strstr(row, "\"figure\": \"planned\""));
	assert_non_null(strstr(row, "\"verdict\": null"));
	assert_non_null(strstr(row, "\"comparable\": \"change\""));
	free(json);
}

static void a_case_needs_all_its_policies_in_one_group(void **state)
{
	const struct study *study = study_of("batch");
	struct bench bench;
	char *json;

	(void)state;
	set_up(&bench, study, &study->cases[0]);
	bench.runs[1].group = 1;
	bench.results.n_groups = 2;
	json = json_of(&bench.results);
	assert_null(strstr(json, "\"study\""));
	free(json);
	/* A note goes on behind a semicolon, and is another one if it goes on otherwise. */
	set_up(&bench, study, &study->cases[0]);
	strcat(bench.notes[0], "; stopped");
	json = json_of(&bench.results);
	assert_non_null(strstr(json, "\"case\": \"alone\""));
	free(json);
	strcat(bench.notes[1], "ly");
	json = json_of(&bench.results);
	assert_null(strstr(json, "\"study\""));
	free(json);
}

static void a_generated_workload_is_held_against_its_own_case(void **state)
{
	const struct study *study = study_of("memcg-batch");

	(void)state;
	assert_true(ui_study_wants(study, &study->cases[0], "july-1"));
	assert_false(ui_study_wants(study, &study->cases[1], "july-1"));
	assert_true(ui_study_wants(study, &study->cases[1], "july-2"));
	assert_true(ui_study_wants(study, &study->cases[0], NULL));
	assert_false(ui_study_wants(study, &study->cases[1], "uniform"));
	study = study_of("batch");
	assert_true(ui_study_wants(study, &study->cases[1], "july-1"));
}

static void unknown_studies_are_refused_with_a_list(void **state)
{
	const struct study *study;

	(void)state;
	assert_int_equal(ui_study_find("nosuch", &study), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "batch, plug, memcg-batch, shrink-enabled"));
	zr_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_study_names_policies_that_there_are),
		cmocka_unit_test(the_plug_studys_wait_is_within_noise),
		cmocka_unit_test(the_batch_studys_requests_are_no_noise),
		cmocka_unit_test(a_case_needs_all_its_policies_in_one_group),
		cmocka_unit_test(a_generated_workload_is_held_against_its_own_case),
		cmocka_unit_test(unknown_studies_are_refused_with_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
