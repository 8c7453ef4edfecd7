/* SPDX-License-Identifier: MIT */
/*
 * Live lanes: what they make of what a replay tells, against figures told by hand, and a real replay to a scratch
 * file. Golden screens are made and compared as in dash_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/dash.h"
#include "ui/script.h"
#include "ui/test_golden.h"
#include "ui/test_trace.h"

static const char *const policies[] = { "unbatched", "batched", "plugged" };

struct fixture {
	char dir[64], path[96], runs[96], target[96];
	struct ui_live_setting setting;
	struct ui_dash dash;
	struct ui_grid grid;
};

/* What a replay would tell. */
struct told {
	struct sim_counters counters;
	struct play_io io;
	struct zr_hist reads;
	struct play_live live;
};

static struct told *tell(uint32_t policy, uint32_t rep, uint64_t requests)
{
	struct told *told = calloc(1, sizeof(*told));

	told->counters.disk_refaults = 40;
	told->counters.store_rejected = 3;
	told->io.write_pages = 1200;
	told->io.write_requests = requests;
	for (uint64_t i = 1; i <= 40; i++)
		zr_hist_add(&told->reads, i * 10'000);
	told->live = (struct play_live){ .policy = policy,
					 .host = 1,
					 .rep = rep,
					 .reps = 2,
					 .done = 1,
					 .ended = true,
					 .elapsed_ns = 2'000'000'000 + 1'000'000ull * rep,
					 .state = { .pool_pages = 200,
						    .pool_limit_pages = 300,
						    .accept_pages = 270 },
					 .counters = &told->counters,
					 .io = &told->io,
					 .read_ns = &told->reads };
	return told;
}

static void note(struct ui_live_view *view, struct told *told)
{
	ui_live_note(view, &told->live);
	free(told);
}

static void init_view(struct ui_live_view *view)
{
	const struct play_options how = {
		.policies = policies, .n_policies = 3, .reps = 2, .device = "/scratch/swap.img"
	};

	ui_live_view_init(view, &how);
}

static void lanes_wait_run_and_are_done(void **state)
{
	struct ui_live_view view;
	struct told *told = tell(0, 0, 1000);

	(void)state;
	init_view(&view);
	assert_int_equal(view.lanes[0].phase, UI_LIVE_WAITS);
	told->live.ended = false;
	told->live.done = 0.5;
	note(&view, told);
	assert_int_equal(view.lanes[0].phase, UI_LIVE_RUNS);
	assert_float_equal(ui_live_done(&view), 0.5 / 6, 1e-9);
	assert_int_equal(ui_live_sample(&view.lanes[0], UI_LIVE_REQUESTS).n, 0);
	note(&view, tell(0, 0, 1000));
	assert_int_equal(view.lanes[0].phase, UI_LIVE_WAITS);
	note(&view, tell(0, 1, 1000));
	assert_int_equal(view.lanes[0].phase, UI_LIVE_DONE);
	assert_int_equal(view.lanes[1].phase, UI_LIVE_WAITS);
	assert_float_equal(ui_live_done(&view), 2.0 / 6, 1e-9);
}

static void figures_are_those_that_were_told(void **state)
{
	struct ui_live_view view;
	const struct ui_live_lane *lane = &view.lanes[1];

	(void)state;
	init_view(&view);
	note(&view, tell(1, 0, 800));
	assert_float_equal(lane->now[UI_LIVE_PAGES_PER_REQUEST], 1.5, 1e-9);
	assert_float_equal(lane->now[UI_LIVE_RATE], 400, 1e-9);
	assert_float_equal(lane->now[UI_LIVE_REFAULTS], 40, 1e-9);
	/* 10 to 400 us; buckets are 1/16 of their value wide. */
	assert_float_equal(lane->now[UI_LIVE_P50], 200, 200.0 / 16);
	assert_float_equal(lane->now[UI_LIVE_P99], 400, 400.0 / 16);
	note(&view, tell(1, 1, 1000));
	assert_float_equal(ui_live_sample(lane, UI_LIVE_REQUESTS).mean, 900, 1e-9);
	/* Two values, d apart: d / sqrt(2). */
	assert_float_equal(ui_live_sample(lane, UI_LIVE_REQUESTS).stddev, 200 / sqrt(2), 1e-9);
}

static void every_read_is_in_the_histogram_once(void **state)
{
	struct ui_live_view view;
	uint64_t sum = 0;

	(void)state;
	init_view(&view);
	note(&view, tell(0, 0, 1000));
	for (int i = 0; i < UI_LATENCIES; i++)
		sum += view.lanes[0].latencies[i];
	assert_int_equal(sum, 40);
	/* 10 us alone lies in [8, 16); none below. */
	assert_int_equal(view.lanes[0].latencies[2], 0);
	assert_int_equal(view.lanes[0].latencies[3], 1);
}

static void a_pass_without_reads_has_no_latency(void **state)
{
	struct ui_live_view view;
	struct told *told = tell(0, 0, 1000);

	(void)state;
	init_view(&view);
	zr_hist_init(&told->reads);
	note(&view, told);
	assert_true(isnan(view.lanes[0].now[UI_LIVE_P99]));
	assert_int_equal(ui_live_sample(&view.lanes[0], UI_LIVE_P99).n, 0);
	assert_true(isnan(ui_live_sample(&view.lanes[0], UI_LIVE_P99).mean));
}

static void the_kernels_count_goes_before_the_plans_and_says_so(void **state)
{
	struct ui_live_view view;
	struct told *told = tell(0, 0, 1000);

	(void)state;
	init_view(&view);
	told->live.counted = true;
	told->live.write_requests = 600;
	note(&view, told);
	assert_float_equal(view.lanes[0].now[UI_LIVE_REQUESTS], 600, 1e-9);
	assert_float_equal(view.lanes[0].now[UI_LIVE_PAGES_PER_REQUEST], 2, 1e-9);
	assert_int_equal(ui_live_source(&view.lanes[0], UI_LIVE_REQUESTS), 'm');
	note(&view, tell(1, 0, 1000));
	assert_int_equal(ui_live_source(&view.lanes[1], UI_LIVE_REQUESTS), 'p');
	assert_int_equal(ui_live_source(&view.lanes[1], UI_LIVE_P99), 'm');
	assert_int_equal(ui_live_source(&view.lanes[1], UI_LIVE_REJECTS), ' ');
}

static void only_what_is_beyond_noise_has_a_verdict(void **state)
{
	struct ui_live_view view;

	(void)state;
	init_view(&view);
	note(&view, tell(0, 0, 1000));
	note(&view, tell(1, 0, 500));
	/* One repetition has no spread. */
	assert_int_equal(ui_live_verdict(&view, UI_LIVE_REQUESTS, 1), UI_NO_VERDICT);
	note(&view, tell(0, 1, 1010));
	note(&view, tell(1, 1, 505));
	assert_int_equal(ui_live_verdict(&view, UI_LIVE_REQUESTS, 1), UI_BETTER);
	assert_int_equal(ui_live_verdict(&view, UI_LIVE_PAGES_PER_REQUEST, 1), UI_BETTER);
	assert_int_equal(ui_live_verdict(&view, UI_LIVE_REQUESTS, 0), UI_NO_VERDICT);
	/* The same means, or a spread that is wider than the difference. */
	assert_int_equal(ui_live_verdict(&view, UI_LIVE_REFAULTS, 1), UI_NO_VERDICT);
	note(&view, tell(2, 0, 500));
	note(&view, tell(2, 1, 1500));
	assert_int_equal(ui_live_verdict(&view, UI_LIVE_REQUESTS, 2), UI_NO_VERDICT);
}

static void the_state_says_what_goes_on(void **state)
{
	struct ui_live_view view;

	(void)state;
	init_view(&view);
	assert_string_equal(ui_live_state(&view), "replaying");
	view.warm_up = true;
	assert_string_equal(ui_live_state(&view), "warming up");
	note(&view, tell(1, 0, 1000));
	assert_string_equal(ui_live_state(&view), "replaying");
	view.over = true;
	assert_string_equal(ui_live_state(&view), "done");
	view.stopped = true;
	assert_string_equal(ui_live_state(&view), "stopped");
	view.err = ZR_IO;
	assert_string_equal(ui_live_state(&view), "failed");
}

static void another_host_takes_the_lanes(void **state)
{
	struct ui_live_view view;
	struct told *told = tell(0, 0, 1000);

	(void)state;
	init_view(&view);
	note(&view, tell(1, 0, 1000));
	told->live.host = 2;
	note(&view, told);
	assert_false(view.lanes[1].any);
	assert_int_equal(view.lanes[1].passes, 0);
	assert_string_equal(view.lanes[1].policy, "batched");
	assert_int_equal(view.lanes[0].passes, 1);
}

/* ------------------------------------------------------------------------------------- a real one */

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	zr_error_clear();
	snprintf(f->dir, sizeof(f->dir), "/tmp/zreel-live-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/t.zr", f->dir);
	snprintf(f->runs, sizeof(f->runs), "%s/runs.zr", f->dir);
	snprintf(f->target, sizeof(f->target), "%s/target", f->dir);
	f->setting = (struct ui_live_setting){ .path = f->path,
					       .runs = f->runs,
					       .how = { .policies = policies,
							.n_policies = 3,
							.target = PLAY_DEVICE,
							.device = f->target,
							.no_cpu = true,
							.reps = 2 } };
	if (test_trace_make(f->path, "6.12.0-test", TEST_EVENTS))
		return -1;
	if (ui_dash_init_live(&f->dash, &f->setting))
		return -1;
	return ui_grid_resize(&f->grid, 80, 24) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->dash.live && ui_dash_end_live(&f->dash, NULL))
		zr_error_clear();
	unlink(f->target);
	unlink(f->runs);
	unlink(f->path);
	rmdir(f->dir);
	ui_grid_fini(&f->grid);
	free(f);
	return 0;
}

/* Skips the test where there is no io_uring. */
static void skip_if_unsupported(struct fixture *f)
{
	if (f->dash.live_view.err != ZR_UNSUPPORTED)
		return;
	print_message("skipped: %s\n", f->dash.live_view.message);
	skip();
}

static void assert_on_screen(struct fixture *f, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool found;

	ui_dash_draw(&f->dash, &f->grid);
	ui_grid_print(&f->grid, false, out);
	fclose(out);
	found = strstr(text, wanted) != NULL;
	if (!found)
		fail_msg("'%s' is not on the screen:\n%s", wanted, text);
	free(text);
}

/* The run of each lane as it was stored. */
static void read_runs(struct fixture *f, struct db **db, struct zr_arena *arena, struct db_run **runs,
		      size_t *n)
{
	assert_int_equal(db_open(f->runs, DB_READ, db), ZR_OK);
	assert_int_equal(db_runs(*db, arena, runs, n), ZR_OK);
}

static double stored(struct db *db, int64_t run, struct zr_arena *arena, const char *name)
{
	struct db_metric *metrics;
	double sum = 0;
	size_t n, found = 0;

	assert_int_equal(db_metrics(db, run, arena, &metrics, &n), ZR_OK);
	for (size_t i = 0; i < n; i++)
		if (strcmp(metrics[i].name, name) == 0) {
			sum += metrics[i].value;
			found++;
		}
	assert_true(found > 0);
	return sum / (double)found;
}

static void lanes_end_with_what_is_stored(void **state)
{
	struct fixture *f = *state;
	struct zr_arena arena = { 0 };
	struct db_run *runs;
	struct db *db;
	bool stopped = true;
	struct ui_live_view *view = &f->dash.live_view;
	size_t n;

	ui_live_run(f->dash.live);
	ui_dash_look(&f->dash);
	skip_if_unsupported(f);
	assert_true(view->over);
	assert_false(ui_dash_is_busy(&f->dash) && !f->dash.message_frames);
	assert_on_screen(f, "done, 2 of 2");
	assert_int_equal(ui_dash_end_live(&f->dash, &stopped), ZR_OK);
	assert_false(stopped);
	read_runs(f, &db, &arena, &runs, &n);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		struct ui_live_lane *lane = &view->lanes[i];

		assert_int_equal(lane->phase, UI_LIVE_DONE);
		assert_false(runs[i].partial);
		assert_float_equal(ui_live_sample(lane, UI_LIVE_REQUESTS).mean,
				   stored(db, runs[i].id, &arena, "write_requests"), 1e-6);
		assert_float_equal(ui_live_sample(lane, UI_LIVE_P99).mean,
				   stored(db, runs[i].id, &arena, "disk_refault_p99_us"), 1e-3);
	}
	assert_int_equal(db_close(db), ZR_OK);
	zr_arena_fini(&arena);
}

/* Enough repetitions that it is still on when it has begun to tell. */
static void a_stop_ends_it_with_partial_runs(void **state)
{
	struct fixture *f = *state;
	struct ui_live_view *view = &f->dash.live_view;
	struct zr_arena arena = { 0 };
	struct db_run *runs;
	struct db *db;
	bool stopped = false;
	size_t n;

	assert_int_equal(ui_dash_end_live(&f->dash, NULL), ZR_OK);
	f->setting.how.reps = 1'000'000;
	assert_int_equal(ui_dash_init_live(&f->dash, &f->setting), ZR_OK);
	assert_int_equal(ui_dash_start(&f->dash), ZR_OK);
	do
		ui_dash_look(&f->dash);
	while (!view->lanes[0].any && !view->over);
	skip_if_unsupported(f);
	assert_int_equal(ui_dash_end_live(&f->dash, &stopped), ZR_OK);
	assert_true(stopped);
	assert_true(access(f->target, F_OK) != 0);
	read_runs(f, &db, &arena, &runs, &n);
	assert_in_range(n, 1, 3);
	for (size_t i = 0; i < n; i++)
		assert_true(runs[i].partial);
	assert_int_equal(db_close(db), ZR_OK);
	zr_arena_fini(&arena);
}

static void a_stop_before_the_start_does_nothing(void **state)
{
	struct fixture *f = *state;
	bool stopped = false;

	ui_live_stop(f->dash.live);
	ui_live_run(f->dash.live);
	ui_dash_look(&f->dash);
	skip_if_unsupported(f);
	assert_on_screen(f, "stopped");
	assert_int_equal(ui_dash_end_live(&f->dash, &stopped), ZR_OK);
	assert_true(stopped);
}

static void the_thread_can_be_watched_and_left(void **state)
{
	struct fixture *f = *state;
	bool stopped;

	assert_int_equal(ui_dash_start(&f->dash), ZR_OK);
	for (int i = 0; i < 50; i++) {
		ui_dash_frame(&f->dash, UI_FRAME_NS);
		ui_dash_draw(&f->dash, &f->grid);
	}
	if (ui_dash_end_live(&f->dash, &stopped) == ZR_UNSUPPORTED)
		zr_error_clear();
	assert_true(access(f->target, F_OK) != 0);
}

static void what_cannot_be_done_is_told_and_the_failure_of_a_device(void **state)
{
	struct fixture *f = *state;

	assert_true(ui_dash_end_live(&f->dash, NULL) == ZR_OK);
	f->setting.how.device_bytes = 4096;
	assert_int_equal(ui_dash_init_live(&f->dash, &f->setting), ZR_OK);
	ui_dash_look(&f->dash);
	assert_int_equal(ui_script_play("w", &f->dash, &f->grid), 0);
	assert_on_screen(f, "not while it is being done on");
	ui_live_run(f->dash.live);
	ui_dash_look(&f->dash);
	skip_if_unsupported(f);
	assert_on_screen(f, "failed");
	assert_on_screen(f, "is 4096 bytes large");
	assert_int_equal(ui_dash_end_live(&f->dash, NULL), ZR_FULL);
	assert_non_null(strstr(zr_error_text(), "is 4096 bytes large"));
	zr_error_clear();
}

/* ----------------------------------------------------------------------------------------- screens */

static void golden(struct fixture *f, const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ui_dash_draw(&f->dash, &f->grid);
	ui_grid_print(&f->grid, true, out);
	fclose(out);
	assert_golden(name, text);
	free(text);
}

/* Lane 1 is done, 2 runs its second pass, 3 has not begun. */
static void show_a_moment(struct fixture *f, int w, int h)
{
	struct told *running = tell(1, 1, 300);

	f->dash.title = "t.zr";
	init_view(&f->dash.live_view);
	note(&f->dash.live_view, tell(0, 0, 1000));
	note(&f->dash.live_view, tell(0, 1, 1010));
	note(&f->dash.live_view, tell(1, 0, 500));
	running->live.ended = false;
	running->live.done = 0.4;
	running->live.counted = true;
	running->live.write_requests = 250;
	note(&f->dash.live_view, running);
	f->dash.message_frames = 0;
	ui_dash_resize(&f->dash, w, h);
	assert_true(ui_grid_resize(&f->grid, w, h));
}

static void a_moment_of_a_live_replay_at_80x24(void **state)
{
	struct fixture *f = *state;

	show_a_moment(f, 80, 24);
	golden(f, "80x24-live");
	ui_dash_key(&f->dash, '?');
	golden(f, "80x24-live-help");
}

static void a_moment_of_a_live_replay_at_120x40_in_ascii(void **state)
{
	struct fixture *f = *state;

	show_a_moment(f, 120, 40);
	f->grid.ascii = f->dash.ascii = true;
	golden(f, "120x40-live-ascii");
}

static void a_moment_of_a_live_replay_at_200x60(void **state)
{
	struct fixture *f = *state;

	show_a_moment(f, 200, 60);
	golden(f, "200x60-live");
}

static void a_click_picks_a_live_lane_and_any_size_draws(void **state)
{
	struct fixture *f = *state;

	show_a_moment(f, 80, 24);
	ui_dash_mouse(&f->dash, &(struct ui_mouse){ .kind = UI_MOUSE_PRESS, .x = 30, .y = 20 });
	assert_int_equal(f->dash.selected, 1);
	for (int w = 1; w < 130; w += 3)
		for (int h = 1; h < 45; h += 2) {
			show_a_moment(f, w, h);
			ui_dash_draw(&f->dash, &f->grid);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_wait_run_and_are_done),
		cmocka_unit_test(figures_are_those_that_were_told),
		cmocka_unit_test(every_read_is_in_the_histogram_once),
		cmocka_unit_test(a_pass_without_reads_has_no_latency),
		cmocka_unit_test(the_kernels_count_goes_before_the_plans_and_says_so),
		cmocka_unit_test(only_what_is_beyond_noise_has_a_verdict),
		cmocka_unit_test(the_state_says_what_goes_on),
		cmocka_unit_test(another_host_takes_the_lanes),
#define REAL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
		REAL(lanes_end_with_what_is_stored),
		REAL(a_stop_ends_it_with_partial_runs),
		REAL(a_stop_before_the_start_does_nothing),
		REAL(the_thread_can_be_watched_and_left),
		REAL(what_cannot_be_done_is_told_and_the_failure_of_a_device),
		REAL(a_moment_of_a_live_replay_at_80x24),
		REAL(a_moment_of_a_live_replay_at_120x40_in_ascii),
		REAL(a_moment_of_a_live_replay_at_200x60),
		REAL(a_click_picks_a_live_lane_and_any_size_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
