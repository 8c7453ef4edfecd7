/* SPDX-License-Identifier: MIT */
/* Grouping, judging and printing of stored runs, through a real results file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/conditions.h"
#include "ui/metric.h"
#include "ui/results.h"
#include "ui/table.h"

struct fixture {
	char dir[64], path[96];
	struct db *db;
	struct zr_arena arena;
	struct ui_results results;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	zr_error_clear();
	snprintf(f->dir, sizeof(f->dir), "/tmp/zreel-results-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/runs.zr", f->dir);
	*state = f;
	return db_open(f->path, DB_RESULTS, &f->db) ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	enum zr_err err = db_close(f->db);

	unlink(f->path);
	rmdir(f->dir);
	zr_arena_fini(&f->arena);
	free(f);
	return err ? -1 : 0;
}

struct run_of {
	const char *policy, *target, *trace;
	int64_t created;
	double values[3]; /* write_requests of three repetitions */
};

static void add_run_in(struct fixture *f, const struct run_of *of, const char *detail)
{
	struct db_metric metrics[9];
	struct db_run run = {
		.policy = of->policy,
		.knobs = "batch=1",
		.target = of->target,
		.target_detail = detail,
		.drive = "demand",
		.pace = "asap",
		.trace_id = of->trace,
		.trace_path = "a.zr",
		.created_realtime_ns = of->created,
		.reps = 3,
		.note = "",
	};
	enum db_figure how = strcmp(of->target, "device") == 0 ? DB_MEASURED : DB_PLANNED;

	for (int rep = 0; rep < 3; rep++) {
		metrics[3 * rep] = (struct db_metric){ 0, rep, "write_requests", of->values[rep], how };
		metrics[3 * rep + 1] = (struct db_metric){ 0, rep, "pages_per_write_request",
							   1000 / of->values[rep], how };
		metrics[3 * rep + 2] = (struct db_metric){ 0, rep, "pool_limit_hit", 0, DB_PLANNED };
	}
	assert_int_equal(db_run_add(f->db, &run, metrics, 9, NULL, 0), 0);
}

static void add_run(struct fixture *f, const struct run_of *of)
{
	add_run_in(f, of, "");
}

static void load(struct fixture *f, bool all, const char *baseline)
{
	assert_int_equal(ui_results_load(&f->results, f->db, 0, &f->arena), 0);
	ui_results_group(&f->results, &(struct ui_grouping){ .all = all, .baseline = baseline });
}

static void add_study(struct fixture *f)
{
	add_run(f, &(struct run_of){ "unbatched", "null", "aaaa", 1, { 748, 700, 790 } });
	add_run(f, &(struct run_of){ "batched", "null", "aaaa", 2, { 596, 570, 620 } });
	add_run(f, &(struct run_of){ "plugged", "null", "aaaa", 3, { 740, 710, 780 } });
}

static void repetitions_become_mean_and_spread(void **state)
{
	struct fixture *f = *state;
	const struct ui_figure *figure;

	add_run(f, &(struct run_of){ "unbatched", "null", "aaaa", 1, { 10, 20, 30 } });
	load(f, false, NULL);
	assert_int_equal(f->results.n, 1);
	figure = ui_run_figure(&f->results.runs[0], "write_requests");
	assert_non_null(figure);
	assert_true(figure->sample.mean == 20 && figure->sample.stddev == 10 && figure->sample.n == 3);
	assert_true(figure->whole);
	assert_null(ui_run_figure(&f->results.runs[0], "no_such_metric"));
}

static void the_verdict_knows_which_way_is_better(void **state)
{
	struct fixture *f = *state;
	const struct ui_run *runs;

	add_study(f);
	load(f, false, NULL);
	runs = f->results.runs;
	assert_int_equal(ui_figure_verdict(ui_run_figure(&runs[0], "write_requests"),
					   ui_run_figure(&runs[1], "write_requests")),
			 UI_BETTER);
	assert_int_equal(ui_figure_verdict(ui_run_figure(&runs[1], "write_requests"),
					   ui_run_figure(&runs[0], "write_requests")),
			 UI_WORSE);
	assert_int_equal(ui_figure_verdict(ui_run_figure(&runs[0], "pages_per_write_request"),
					   ui_run_figure(&runs[1], "pages_per_write_request")),
			 UI_BETTER);
	assert_int_equal(ui_figure_verdict(ui_run_figure(&runs[0], "write_requests"),
					   ui_run_figure(&runs[2], "write_requests")),
			 UI_WITHIN_NOISE);
}

static void unlike_runs_are_not_in_one_group(void **state)
{
	struct fixture *f = *state;

	add_study(f);
	add_run(f, &(struct run_of){ "unbatched", "device", "aaaa", 4, { 700, 700, 700 } });
	add_run(f, &(struct run_of){ "batched", "null", "bbbb", 5, { 1, 2, 3 } });
	load(f, false, NULL);
	assert_int_equal(f->results.n_groups, 3);
	for (uint32_t i = 0; i < f->results.n; i++)
		assert_true(f->results.runs[i].shown);
	assert_ptr_equal(ui_results_baseline(&f->results, &f->results.runs[2]), &f->results.runs[0]);
	assert_ptr_equal(ui_results_baseline(&f->results, &f->results.runs[4]), &f->results.runs[4]);
}

static void add_kernels(struct fixture *f)
{
	add_run_in(f, &(struct run_of){ "batched", "device", "aaaa", 1, { 700, 710, 720 } },
		   "/dev/x; kernel=6.12; scheduler=none; nomerges=0");
	add_run_in(f, &(struct run_of){ "batched", "device", "aaaa", 2, { 500, 510, 520 } },
		   "/dev/x; kernel=7.3; scheduler=none; wbt_us=5");
}

static void runs_on_another_kernel_get_another_table_and_no_verdict(void **state)
{
	struct fixture *f = *state;

	add_kernels(f);
	load(f, false, NULL);
	assert_int_equal(f->results.n_groups, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_ptr_equal(ui_results_baseline(&f->results, &f->results.runs[i]), &f->results.runs[i]);
}

static void unlike_runs_come_together_when_asked_for(void **state)
{
	struct fixture *f = *state;

	add_kernels(f);
	add_run_in(f, &(struct run_of){ "batched", "model", "aaaa", 3, { 1, 2, 3 } }, "ssd");
	add_run_in(f, &(struct run_of){ "batched", "device", "bbbb", 4, { 1, 2, 3 } }, "/dev/x; kernel=7.3");
	assert_int_equal(ui_results_load(&f->results, f->db, 0, &f->arena), 0);
	ui_results_group(&f->results, &(struct ui_grouping){ .unlike = true });
	assert_int_equal(f->results.n_groups, 2);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(f->results.runs[i].shown);
	assert_ptr_equal(ui_results_baseline(&f->results, &f->results.runs[1]), &f->results.runs[0]);
	assert_int_equal(ui_figure_verdict(ui_run_figure(&f->results.runs[0], "write_requests"),
					   ui_run_figure(&f->results.runs[1], "write_requests")),
			 UI_BETTER);
}

static void what_differs_is_named_in_one_line(void **state)
{
	struct fixture *f = *state;
	const struct db_run *runs[4], *unlike[4];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add_kernels(f);
	add_kernels(f);
	load(f, true, NULL);
	for (uint32_t i = 0; i < 4; i++)
		runs[i] = &f->results.runs[i].run;
	assert_int_equal(ui_unlike_runs(runs, 4, unlike), 2);
	assert_int_equal(ui_put_differences(out, unlike, 2), 3);
	fclose(out);
	assert_string_equal(text, "kernel (6.12 | 7.3), nomerges (0 | not known), wbt_us (not known | 5)");
	free(text);
}

static void a_model_lacks_no_settings_of_a_device(void **state)
{
	struct fixture *f = *state;
	const struct db_run *runs[3];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add_run_in(f, &(struct run_of){ "batched", "model", "aaaa", 1, { 1, 2, 3 } }, "ssd");
	add_kernels(f);
	load(f, true, NULL);
	for (uint32_t i = 0; i < 3; i++)
		runs[i] = &f->results.runs[i].run;
	assert_int_equal(ui_put_differences(out, runs, 2), 1);
	fputs(", then ", out);
	assert_int_equal(ui_put_differences(out, runs, 3), 4);
	fclose(out);
	assert_string_equal(text, "target (model | device), then target (model | device), kernel (6.12 | 7.3), "
				  "nomerges (0 | not known), wbt_us (not known | 5)");
	free(text);
}

static void a_setting_cannot_attack_the_screen(void **state)
{
	struct db_run run = { .target = "device", .target_detail = "/dev/x; a\x1b[31m=b\x1b[0m; alone; =; ; x=y=z" };
	struct ui_condition condition;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint32_t n = 0;

	(void)state;
	ui_put_settings(out, &run);
	fclose(out);
	assert_null(strchr(text, 0x1b));
	assert_non_null(strstr(text, "x y=z"));
	free(text);
	while (ui_condition_at(&run, n, &condition))
		n++;
	assert_int_equal(n, 6 + 5);
}

static void the_latest_run_of_a_policy_counts(void **state)
{
	struct fixture *f = *state;
	uint32_t shown = 0;

	add_study(f);
	add_run(f, &(struct run_of){ "unbatched", "null", "aaaa", 9, { 1, 2, 3 } });
	load(f, false, NULL);
	for (uint32_t i = 0; i < f->results.n; i++) {
		const struct ui_run *run = &f->results.runs[i];

		shown += run->shown;
		if (strcmp(run->run.policy, "unbatched") == 0)
			assert_int_equal(run->shown, run->run.created_realtime_ns == 9);
	}
	assert_int_equal(shown, 3);
	f->results = (struct ui_results){ 0 };
	load(f, true, NULL);
	for (uint32_t i = 0; i < f->results.n; i++)
		assert_true(f->results.runs[i].shown);
}

static void the_baseline_can_be_chosen(void **state)
{
	struct fixture *f = *state;

	add_study(f);
	load(f, false, "plugged");
	assert_string_equal(f->results.runs[0].run.policy, "plugged");
	assert_string_equal(f->results.runs[1].run.policy, "unbatched");
	assert_string_equal(f->results.runs[2].run.policy, "batched");
}

static void json_has_the_contract_shape(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add_study(f);
	load(f, false, NULL);
	ui_results_print_json(&f->results, out);
	fclose(out);
	assert_non_null(strstr(text, "\"runs\": ["));
	assert_true(strstr(text, "\"unbatched\"") < strstr(text, "\"batched\""));
	assert_non_null(strstr(text, "\"write_requests\": {"));
	assert_non_null(strstr(text, "\"verdict\": \"better\""));
	assert_non_null(strstr(text, "\"verdict\": \"within noise\""));
	assert_non_null(strstr(text, "\"verdict\": null"));
	assert_non_null(strstr(text, "\"figure\": \"planned\""));
	assert_non_null(strstr(text, "\"trace_id\": \"aaaa\""));
	free(text);
}

/* A table of one fixed and three other groups in a width that two of them fill. */
static void a_wide_table_wraps_by_groups(void **state)
{
	struct fixture *f = *state;
	struct ui_table table;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(ui_table_init(&table, &f->arena, 1, 6, 4), 0);
	for (uint32_t c = 0; c < 6; c++)
		table.cells[c] = c == 5 ? "12%" : c == 1 ? "p" : "1,000";
	table.cells[0] = "label";
	memcpy(table.group, (uint32_t[]){ 0, 0, 1, 2, 3, 3 }, 6 * sizeof(uint32_t));
	table.heads[1] = "a";
	table.heads[2] = "long head";
	table.heads[3] = "c";
	assert_int_equal(ui_table_print(&table, &f->arena, 30, out), 0);
	fclose(out);
	assert_string_equal(text, "              a   long head\n"
				  "-------   -----   ---------\n"
				  "label p   1,000       1,000\n"
				  "\n"
				  "                  c\n"
				  "-------   ---------\n"
				  "label p   1,000 12%\n");
	free(text);
}

static void units_of_a_row_follow_its_largest_value(void **state)
{
	struct ui_metric_scale scale = ui_metric_scale("makespan_us", 1066e6, true);

	(void)state;
	assert_string_equal(scale.label, "makespan (s)");
	assert_string_equal(ui_number(1066e6 / scale.divisor, scale.decimals).text, "1,066.0");
	scale = ui_metric_scale("store_reject_rate", 0.36, false);
	assert_string_equal(scale.label, "store reject rate (%)");
	assert_string_equal(ui_number(0.362 / scale.divisor, scale.decimals).text, "36.2");
	scale = ui_metric_scale("pages_per_write_request", 1, true);
	assert_string_equal(ui_number(1, scale.decimals).text, "1.00");
	scale = ui_metric_scale("write_requests", 748000, true);
	assert_string_equal(ui_number(748000, scale.decimals).text, "748,000");
	assert_true(ui_metric_rank("write_requests") < ui_metric_rank("pswpin"));
	assert_true(ui_metric_rank("pswpin") < ui_metric_rank("unheard_of"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(repetitions_become_mean_and_spread), TEST(the_verdict_knows_which_way_is_better),
		TEST(unlike_runs_are_not_in_one_group),
		TEST(runs_on_another_kernel_get_another_table_and_no_verdict),
		TEST(unlike_runs_come_together_when_asked_for), TEST(what_differs_is_named_in_one_line),
		TEST(a_model_lacks_no_settings_of_a_device),
		TEST(a_setting_cannot_attack_the_screen), TEST(the_latest_run_of_a_policy_counts),
		TEST(the_baseline_can_be_chosen),	  TEST(json_has_the_contract_shape),
		TEST(a_wide_table_wraps_by_groups),	  TEST(units_of_a_row_follow_its_largest_value),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
