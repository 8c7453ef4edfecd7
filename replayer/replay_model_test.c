/* SPDX-License-Identifier: MIT */
/* Replays on the target model: the pool decides as on null, threads change nothing, and times move
 * with the policy. */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLICIES = 4 };

static const char *const policies[POLICIES] = { "unbatched", "batched", "plugged", "vswap" };

struct files {
	char dir[64], path[96];
	struct db *trace;
	struct zr_arena arena;
};

static int make_files(void **state)
{
	static const char *const settings[] = { "pages=9000", "memory=2500", "touches=60000",
						"len=2500",   "tasks=3",     "host_memory=40000",
						"pool=10" };
	static struct files files;
	struct play_gen_options options = { .workload = "kernel-build",
					    .settings = settings,
					    .n_settings = sizeof(settings) / sizeof(settings[0]),
					    .scale = 0.01 };
	uint64_t events;

	strcpy(files.dir, "/tmp/zreel-model-XXXXXX");
	assert_non_null(mkdtemp(files.dir));
	snprintf(files.path, sizeof(files.path), "%s/t.zr", files.dir);
	assert_int_equal(db_open(files.path, DB_CREATE, &files.trace), ZR_OK);
	assert_int_equal(play_gen(files.trace, &options, &events), ZR_OK);
	assert_int_equal(db_close(files.trace), ZR_OK);
	assert_int_equal(db_open(files.path, DB_RESULTS, &files.trace), ZR_OK);
	*state = &files;
	return 0;
}

static int drop_files(void **state)
{
	struct files *files = *state;

	zr_arena_fini(&files->arena);
	assert_int_equal(db_close(files->trace), ZR_OK);
	unlink(files->path);
	return rmdir(files->dir);
}

/* Replays, and gives the runs that this added. */
static struct db_run *replay(struct files *files, const struct play_options *options)
{
	struct db_run *runs;
	size_t before, n;

	assert_int_equal(db_runs(files->trace, &files->arena, &runs, &before), ZR_OK);
	assert_int_equal(play_replay(files->trace, files->trace, options), ZR_OK);
	assert_int_equal(db_runs(files->trace, &files->arena, &runs, &n), ZR_OK);
	assert_int_equal(n, before + options->n_policies);
	return runs + before;
}

/* -1: there is no such figure. */
static double figure(struct files *files, const struct db_run *run, const char *name)
{
	struct db_metric *metrics;
	size_t n;

	assert_int_equal(db_metrics(files->trace, run->id, &files->arena, &metrics, &n), ZR_OK);
	for (size_t i = 0; i < n; i++)
		if (strcmp(metrics[i].name, name) == 0)
			return metrics[i].value;
	return -1;
}

static struct play_options on_model(enum play_pace pace, const char *model)
{
	return (struct play_options){ .policies = policies,
				      .n_policies = POLICIES,
				      .target = PLAY_MODEL,
				      .pace = pace,
				      .speed = 4,
				      .time_model = model };
}

static void the_pool_decides_as_on_null(void **state)
{
	struct play_options on_null = { .policies = policies, .n_policies = POLICIES };
	struct files *files = *state;
	struct db_run *plain = replay(files, &on_null);

	for (enum play_pace pace = PLAY_ASAP; pace <= PLAY_CLOSED; pace++) {
		struct play_options options = on_model(pace, NULL);
		struct db_run *timed = replay(files, &options);

		for (uint32_t i = 0; i < POLICIES; i++) {
			struct db_metric *metrics;
			size_t n;

			assert_int_equal(
				db_metrics(files->trace, plain[i].id, &files->arena, &metrics, &n),
				ZR_OK);
			assert_true(n > 20);
			for (size_t m = 0; m < n; m++)
				assert_true(figure(files, &timed[i], metrics[m].name) ==
					    metrics[m].value);
			assert_true(figure(files, &timed[i], "written_back_pages") > 100);
		}
	}
}

static void figures_of_the_clock_are_modelled(void **state)
{
	static const char *const names[] = { "makespan_us",	    "stall_us",
					     "iocost_debt_us",	    "iocost_wait_us",
					     "iocost_usage_us",	    "io_full_us",
					     "io_some_us",	    "disk_refault_p50_us",
					     "disk_refault_p99_us", "store_kb_per_s" };
	struct files *files = *state;
	struct play_options options = on_model(PLAY_CLOSED, "ssd+channels=2");
	struct db_run *runs = replay(files, &options);
	struct db_metric *metrics;
	size_t n, found = 0;

	assert_string_equal(runs[0].target, "model");
	assert_string_equal(runs[0].target_detail, "ssd+channels=2");
	assert_string_equal(runs[0].pace, "closed");
	assert_non_null(strstr(runs[0].note, "built-in drive ssd (an ordinary SSD, as iocost takes a device for that nobody "
					      "has measured), not measured: read_page_ns=8380 "));
	assert_non_null(strstr(runs[0].note, " channels=2 "));
	assert_int_equal(db_metrics(files->trace, runs[0].id, &files->arena, &metrics, &n), ZR_OK);
	for (size_t i = 0; i < n; i++) {
		assert_int_not_equal(metrics[i].figure, DB_MEASURED);
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			if (strcmp(metrics[i].name, names[j]) != 0)
				continue;
			assert_int_equal(metrics[i].figure, DB_MODELLED);
			found++;
		}
	}
	assert_int_equal(found, sizeof(names) / sizeof(names[0]));
	assert_true(figure(files, &runs[0], "drift_us") == -1);
}

static void threads_change_no_figure(void **state)
{
	struct files *files = *state;
	struct play_options options = on_model(PLAY_CLOSED, "ssd+rival=500");
	struct db_run *one = replay(files, &options), *many;

	options.jobs = 3;
	many = replay(files, &options);
	for (uint32_t i = 0; i < POLICIES; i++) {
		struct db_metric *metrics;
		size_t n;

		assert_int_equal(db_metrics(files->trace, one[i].id, &files->arena, &metrics, &n),
				 ZR_OK);
		for (size_t m = 0; m < n; m++)
			assert_true(figure(files, &many[i], metrics[m].name) == metrics[m].value);
	}
}

/* Fewer requests of the same pages are less device time, and less waiting behind them. */
static void batching_spares_time(void **state)
{
	struct files *files = *state;
	struct play_options options = on_model(PLAY_CLOSED, NULL);
	struct db_run *runs = replay(files, &options);

	assert_true(figure(files, &runs[1], "write_requests") <
		    figure(files, &runs[0], "write_requests"));
	assert_true(figure(files, &runs[1], "iocost_usage_us") <
		    figure(files, &runs[0], "iocost_usage_us"));
	assert_true(figure(files, &runs[1], "stall_us") < figure(files, &runs[0], "stall_us"));
	/* Unlike the recording, time does not move when the device is as good as none. */
	options.time_model =
		"ssd-fast+read_page_ns=0+read_seq_ns=0+read_rand_ns=0+write_page_ns=0+iocost=0";
	runs = replay(files, &options);
	for (uint32_t i = 0; i < POLICIES; i++) {
		assert_true(figure(files, &runs[i], "stall_us") == 0);
		assert_true(figure(files, &runs[i], "makespan_us") ==
			    figure(files, &runs[0], "makespan_us"));
	}
}

static void paces_and_models_are_for_the_model_only(void **state)
{
	struct files *files = *state;
	struct play_options options = on_model(PLAY_CLOSED, NULL);

	options.target = PLAY_NULL;
	assert_int_equal(play_replay(files->trace, NULL, &options), ZR_UNSUPPORTED);
	zr_error_clear();
	options.pace = PLAY_ASAP;
	options.time_model = "ssd";
	assert_int_equal(play_replay(files->trace, NULL, &options), ZR_USAGE);
	zr_error_clear();
	options.target = PLAY_MODEL;
	options.time_model = "nosuch";
	assert_int_equal(play_replay(files->trace, NULL, &options), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "begins with ssd"));
	zr_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pool_decides_as_on_null),
		cmocka_unit_test(figures_of_the_clock_are_modelled),
		cmocka_unit_test(threads_change_no_figure),
		cmocka_unit_test(batching_spares_time),
		cmocka_unit_test(paces_and_models_are_for_the_model_only),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
