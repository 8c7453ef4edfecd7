/* SPDX-License-Identifier: MIT */
/*
 * Replays of traces in a database: the figures stored are those that a model fed by hand gives, and partial runs
 * say so. (race_test.c compares races with replays.)
 */
#include "replayer/test_events.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "replayer/swapio.h"

enum { SLOTS = 1024, EVENTS = 5000 };

struct trace {
	char dir[64], path[96], results[96], target[96];
	struct db *db;
	struct zr_arena arena;
	struct db_event events[EVENTS + 1];
	uint32_t n;
};

static void write_tables(struct db *db)
{
	assert_int_equal(db_env_set(db, 1, DB_ENV_PAGE_SIZE, "4096"), ZR_OK);
	assert_int_equal(db_env_set(db, 1, DB_ENV_MEM_PAGES, "1000"), ZR_OK);
	assert_int_equal(db_env_set(db, 1, DB_ENV_ZSWAP_PREFIX "max_pool_percent", "5"), ZR_OK);
	assert_int_equal(db_env_set(db, 1, DB_ENV_ZSWAP_PREFIX "accept_threshold_percent", "80"),
			 ZR_OK);
	assert_int_equal(db_put_memcg(db, &(struct db_memcg){ .host = 1, .id = 1, .path = "/job" }),
			 ZR_OK);
	assert_int_equal(
		db_put_area(db, &(struct db_area){ .host = 1, .path = "/dev/swap", .slots = SLOTS }),
		ZR_OK);
}

static struct db_event workload_event(uint64_t *random, uint32_t i)
{
	uint32_t which = random_below(random, 100);
	struct db_event event;

	if (which < 55)
		event = event_out(i % SLOTS, 1, (uint16_t)(100 + random_below(random, 3000)));
	else if (which < 80)
		event = event_in(random_below(random, SLOTS), DB_IN_ZSWAP);
	else if (which < 90)
		event = event_free(random_below(random, SLOTS - 4), 3);
	else if (which < 95)
		event = event_scan(1, random_below(random, 64));
	else
		event = (struct db_event){ .kind = DB_IO, .len = 8, .slot = 1 };
	return event;
}

static void write_events(struct trace *trace)
{
	struct db_writer_options options = { .host = 1, .flush_every_ns = 1000 };
	struct db_writer *writer;
	uint64_t random = 11;

	assert_int_equal(db_writer_new(trace->db, &options, &writer), ZR_OK);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct db_event event = workload_event(&random, i);

		/* One gap of 17 events in the middle. */
		if (i == EVENTS / 2)
			event = (struct db_event){ .kind = DB_GAP, .slot = 17 };
		event.time_ns = 1000 + i;
		trace->events[trace->n++] = event;
		assert_int_equal(db_writer_add(writer, &event), ZR_OK);
	}
	assert_int_equal(db_writer_free(writer), ZR_OK);
}

static struct trace *new_trace(bool with_events)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	assert_non_null(trace);
	strcpy(trace->dir, "/tmp/zreel-replay-XXXXXX");
	assert_non_null(mkdtemp(trace->dir));
	snprintf(trace->path, sizeof(trace->path), "%s/t.zr", trace->dir);
	snprintf(trace->results, sizeof(trace->results), "%s/r.zr", trace->dir);
	snprintf(trace->target, sizeof(trace->target), "%s/target", trace->dir);
	assert_int_equal(db_open(trace->path, DB_CREATE, &trace->db), ZR_OK);
	write_tables(trace->db);
	if (with_events)
		write_events(trace);
	assert_int_equal(db_set_complete(trace->db), ZR_OK);
	assert_int_equal(db_close(trace->db), ZR_OK);
	assert_int_equal(db_open(trace->path, DB_RESULTS, &trace->db), ZR_OK);
	return trace;
}

static void free_trace(struct trace *trace)
{
	zr_arena_fini(&trace->arena);
	assert_int_equal(db_close(trace->db), ZR_OK);
	unlink(trace->path);
	unlink(trace->results);
	unlink(trace->target);
	rmdir(trace->dir);
	free(trace);
}

/* ----------------------------------------------------------------------------------------- replaying */

struct runs {
	struct db_run *runs;
	size_t n;
};

static struct runs read_runs(struct trace *trace)
{
	struct runs runs;

	assert_int_equal(db_runs(trace->db, &trace->arena, &runs.runs, &runs.n), ZR_OK);
	return runs;
}

/* NULL when the run does not have it. */
static const struct db_metric *metric(struct trace *trace, const struct db_run *run, const char *name,
				      int32_t rep)
{
	struct db_metric *metrics;
	size_t n;

	assert_int_equal(db_metrics(trace->db, run->id, &trace->arena, &metrics, &n), ZR_OK);
	for (size_t i = 0; i < n; i++)
		if (strcmp(metrics[i].name, name) == 0 && metrics[i].rep == rep)
			return &metrics[i];
	return NULL;
}

static double value(struct trace *trace, const struct db_run *run, const char *name)
{
	const struct db_metric *found = metric(trace, run, name, 0);

	if (!found)
		fail_msg("run of %s has no %s", run->policy, name);
	return found->value;
}

static const char *const policies[] = { "unbatched", "plugged", "shrink-off" };

static struct play_options options_null(void)
{
	return (struct play_options){ .policies = policies, .n_policies = 3, .target = PLAY_NULL };
}

static void stored_figures_are_those_of_a_model_fed_by_hand(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct runs runs;

	(void)state;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 3);
	for (size_t i = 0; i < 3; i++) {
		struct sim_policy policy = policy_of(policies[i]);
		struct sim_machine machine;
		struct swapio *swapio = calloc(1, sizeof(*swapio));
		struct sim *sim;

		assert_int_equal(sim_machine_load(trace->db, 1, &machine), ZR_OK);
		swapio_init(swapio, &policy, 4096, NULL);
		assert_int_equal(sim_new(&policy, &machine, &swapio->sink, &sim), ZR_OK);
		for (uint32_t e = 0; e < trace->n; e++)
			feed_event(sim, &machine, &trace->events[e]);
		sim_flush(sim);
#define X(name) assert_true(value(trace, &runs.runs[i], #name) == (double)sim_counters(sim)->name);
		SIM_COUNTERS(X)
#undef X
#define X(name) assert_true(value(trace, &runs.runs[i], #name) == (double)swapio->io.name);
		PLAY_IO_COUNTERS(X)
#undef X
		assert_true(sim_counters(sim)->written_back_pages > 100);
		assert_string_equal(runs.runs[i].policy, policies[i]);
		assert_string_equal(runs.runs[i].target, "null");
		assert_string_equal(runs.runs[i].drive, "demand");
		assert_string_equal(runs.runs[i].trace_id, db_trace_id(trace->db));
		assert_false(runs.runs[i].partial);
		assert_non_null(strstr(runs.runs[i].note, "1 gaps in the trace, 17 events lost"));
		sim_free(sim);
		free(swapio);
	}
	free_trace(trace);
}

static void ratios_are_those_of_their_counts(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct db_run *run;

	(void)state;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	run = &read_runs(trace).runs[1];
	assert_float_equal(value(trace, run, "store_reject_rate"),
			   value(trace, run, "store_rejected") / value(trace, run, "zswap_store_calls"),
			   1e-9);
	assert_float_equal(value(trace, run, "pages_per_write_bio"),
			   value(trace, run, "pswpout") / value(trace, run, "write_bios"), 1e-9);
	assert_float_equal(value(trace, run, "pages_per_write_request"),
			   value(trace, run, "pswpout") / value(trace, run, "write_requests"), 1e-9);
	assert_int_equal(metric(trace, run, "write_requests", 0)->figure, DB_PLANNED);
	assert_int_equal(metric(trace, run, "zswpout", 0)->figure, DB_MODELLED);
	free_trace(trace);
}

static void what_has_no_meaning_on_the_null_target_is_absent(void **state)
{
	static const char *const absent[] = {
		"makespan_us",	       "store_kb_per_s",	 "disk_refault_p50_us",
		"disk_refault_p99_us", "write_requests_planned", "iocost_debt_us"
	};
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();

	(void)state;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_null(metric(trace, &read_runs(trace).runs[0], absent[i], 0));
	free_trace(trace);
}

static void a_second_replay_gives_the_same_figures(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct db_metric *first, *second;
	struct runs runs;
	size_t n_first, n_second;

	(void)state;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	/* Alone and last instead of among others. */
	options.policies = &policies[1];
	options.n_policies = 1;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 4);
	assert_int_equal(db_metrics(trace->db, runs.runs[1].id, &trace->arena, &first, &n_first),
			 ZR_OK);
	assert_int_equal(db_metrics(trace->db, runs.runs[3].id, &trace->arena, &second, &n_second),
			 ZR_OK);
	assert_int_equal(n_first, n_second);
	for (size_t i = 0; i < n_first; i++) {
		assert_string_equal(first[i].name, second[i].name);
		assert_true(first[i].value == second[i].value);
	}
	free_trace(trace);
}

static void series_cover_the_trace(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct db_point *points;
	size_t n;

	(void)state;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	assert_int_equal(db_points(trace->db, read_runs(trace).runs[0].id, "pool_pages", &trace->arena,
				   &points, &n),
			 ZR_OK);
	assert_in_range(n, 10, 400);
	for (size_t i = 1; i < n; i++)
		assert_true(points[i].time_ns > points[i - 1].time_ns);
	assert_true(points[n - 1].time_ns > 1000 + EVENTS * 9 / 10);
	assert_int_equal(db_points(trace->db, read_runs(trace).runs[0].id, "pages_per_write_request",
				   &trace->arena, &points, &n),
			 ZR_OK);
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++)
		assert_true(points[i].value >= 1);
	free_trace(trace);
}

static bool stop_at_once(void *arg, double done)
{
	++*(int *)arg;
	assert_true(done >= 0 && done <= 1);
	return false;
}

static void a_stopped_replay_is_stored_as_partial(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	int calls = 0;
	struct runs runs;

	(void)state;
	options.progress = stop_at_once;
	options.progress_arg = &calls;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	assert_int_equal(calls, 1);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 3);
	assert_true(runs.runs[0].partial);
	assert_non_null(strstr(runs.runs[0].note, "stopped by the user"));
	free_trace(trace);
}

static void a_trace_without_events_is_refused(void **state)
{
	struct trace *trace = new_trace(false);
	struct play_options options = options_null();
	struct play_race_options racing = { .policies = policies, .n_policies = 3 };
	struct play_race *race;

	(void)state;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_NO_DATA);
	zr_error_clear();
	assert_int_equal(play_race_new(trace->db, &racing, &race), ZR_NO_DATA);
	zr_error_clear();
	assert_int_equal(read_runs(trace).n, 0);
	free_trace(trace);
}

static void a_bad_policy_stores_nothing(void **state)
{
	static const char *const bad[] = { "unbatched", "nosuch" };
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();

	(void)state;
	options.policies = bad;
	options.n_policies = 2;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_BAD_POLICY);
	zr_error_clear();
	options.n_policies = 0;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_USAGE);
	zr_error_clear();
	assert_int_equal(read_runs(trace).n, 0);
	free_trace(trace);
}

static void events_beyond_the_swap_area_are_refused(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct db_area small = { .host = 1, .path = "/dev/swap", .slots = SLOTS / 2 };

	(void)state;
	assert_int_equal(db_close(trace->db), ZR_OK);
	unlink(trace->path);
	assert_int_equal(db_open(trace->path, DB_CREATE, &trace->db), ZR_OK);
	write_tables(trace->db);
	trace->n = 0;
	write_events(trace);
	assert_int_equal(db_put_area(trace->db, &small), ZR_OK);
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_CORRUPT);
	zr_error_clear();
	free_trace(trace);
}

/* ------------------------------------------------------------------------------------------ device */

static void replay_or_skip(struct trace *trace, const struct play_options *options)
{
	enum zr_err err = play_replay(trace->db, trace->db, options);

	if (err == ZR_UNSUPPORTED) {
		print_message("skipped: %s\n", zr_error_text());
		zr_error_clear();
		free_trace(trace);
		skip();
	}
	assert_int_equal(err, ZR_OK);
}

static void a_device_replay_measures_and_repeats(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct runs runs;

	(void)state;
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.reps = 2;
	replay_or_skip(trace, &options);
	assert_true(access(trace->target, F_OK) != 0);
	options.target = PLAY_NULL;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 6);
	for (int i = 0; i < 3; i++) {
		const struct db_run *device = &runs.runs[i], *null = &runs.runs[i + 3];

		assert_string_equal(device->target, "device");
		assert_memory_equal(device->target_detail, trace->target, strlen(trace->target));
		assert_memory_equal(device->target_detail + strlen(trace->target), "; kernel=", 9);
		assert_int_equal(device->reps, 2);
		assert_int_equal(null->reps, 1);
		assert_false(device->partial);
		/* The plan does not depend on the target, and a file has no statistics of its own. */
		assert_true(value(trace, device, "write_requests") ==
			    value(trace, null, "write_requests"));
		assert_true(value(trace, device, "pswpin") == value(trace, null, "pswpin"));
		assert_int_equal(metric(trace, device, "write_requests", 1)->figure, DB_PLANNED);
		assert_true(value(trace, device, "makespan_us") > 0);
		assert_true(value(trace, device, "store_kb_per_s") > 0);
		assert_true(value(trace, device, "disk_refault_p99_us") >=
			    value(trace, device, "disk_refault_p50_us"));
		assert_int_equal(metric(trace, device, "makespan_us", 1)->figure, DB_MEASURED);
	}
	free_trace(trace);
}

/* What the ends of passes said, in the order in which they came. */
struct passes {
	uint32_t n, policy[6], rep[6];
	uint64_t requests[6], pswpin[6], reads[6], last_ns[6];
};

static void note_live(void *arg, const struct play_live *live)
{
	struct passes *passes = arg;

	assert_in_range(passes->n, 0, 5);
	assert_true(live->done >= 0 && live->done <= 1);
	assert_int_equal(live->reps, 2);
	assert_false(live->counted);
	if (!live->ended)
		return;
	assert_true(live->done == 1);
	assert_true(live->elapsed_ns > 0);
	passes->policy[passes->n] = live->policy;
	passes->rep[passes->n] = live->rep;
	passes->requests[passes->n] = live->io->write_requests;
	passes->pswpin[passes->n] = live->counters->pswpin;
	passes->reads[passes->n] = live->read_ns->count;
	passes->last_ns[passes->n++] = live->state.time_ns;
}

static void a_device_replay_tells_how_each_pass_ended(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct passes passes = { 0 };
	struct runs runs;

	(void)state;
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.reps = 2;
	options.live = note_live;
	options.live_arg = &passes;
	replay_or_skip(trace, &options);
	assert_int_equal(passes.n, 6);
	runs = read_runs(trace);
	for (uint32_t i = 0; i < passes.n; i++) {
		const struct db_run *run = &runs.runs[i % 3];
		int32_t rep = (int32_t)i / 3;

		assert_int_equal(passes.policy[i], i % 3);
		assert_int_equal(passes.rep[i], rep);
		assert_true(passes.requests[i] == metric(trace, run, "write_requests", rep)->value);
		assert_true(passes.pswpin[i] == metric(trace, run, "pswpin", rep)->value);
		assert_true(passes.reads[i] == metric(trace, run, "read_requests", rep)->value);
		assert_true(passes.last_ns[i] > 1000 + EVENTS * 9 / 10);
	}
	free_trace(trace);
}

/* The trace spans 5 us. */
static void a_device_replay_keeps_to_the_schedule_and_tells_its_drift(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct runs runs;

	(void)state;
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.pace = PLAY_SCALED;
	options.speed = 1e-4;
	replay_or_skip(trace, &options);
	options.target = PLAY_NULL;
	options.pace = PLAY_ASAP;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 6);
	for (int i = 0; i < 3; i++) {
		const struct db_run *device = &runs.runs[i], *null = &runs.runs[i + 3];

		assert_string_equal(device->pace, "scaled:0.0001");
		assert_true(value(trace, device, "makespan_us") >= 5e4 - 100);
		assert_int_equal(metric(trace, device, "drift_us", 0)->figure, DB_MEASURED);
		assert_true(value(trace, device, "drift_p99_us") >= value(trace, device, "drift_p50_us"));
		assert_true(value(trace, device, "disk_refaults") > 0);
		assert_true(value(trace, device, "disk_refault_p50_us") > 0);
		assert_true(value(trace, device, "write_latency_p50_us") > 0);
		/* The pace changes no decision. */
		assert_true(value(trace, device, "write_requests") ==
			    value(trace, null, "write_requests"));
		assert_true(value(trace, device, "disk_refaults") ==
			    value(trace, null, "disk_refaults"));
	}
	free_trace(trace);
}

/* The first time that half is done may be the end of the warm-up. */
static bool stop_behind_the_warm_up(void *arg, double done)
{
	int *calls = arg;

	*calls += done >= 0.5;
	assert_true(done < 0.51);
	return *calls < 2;
}

/* Three policies, a round to warm up and one that would take days: the user ends it in the first pass that counts,
 * while it waits for its second event. */
static void a_warm_up_is_not_kept_and_a_wait_can_be_ended(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct runs runs;
	int calls = 0;

	(void)state;
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.pace = PLAY_SCALED;
	options.speed = 1e-14;
	options.warm_up = true;
	options.progress = stop_behind_the_warm_up;
	options.progress_arg = &calls;
	replay_or_skip(trace, &options);
	assert_int_equal(calls, 2);
	assert_true(access(trace->target, F_OK) != 0);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 1);
	assert_true(runs.runs[0].partial);
	assert_int_equal(runs.runs[0].reps, 1);
	assert_non_null(strstr(runs.runs[0].note, "stopped by the user"));
	assert_true(value(trace, &runs.runs[0], "zswap_store_calls") <= 1);
	free_trace(trace);
}

struct stop_in_second_round {
	uint32_t ended;
};

static void count_ended(void *arg, const struct play_live *live)
{
	((struct stop_in_second_round *)arg)->ended += live->ended;
}

static bool stop_after_four(void *arg, double done)
{
	(void)done;
	return ((struct stop_in_second_round *)arg)->ended < 4;
}

/* Three policies; the second one is cut short in its second pass, which takes a quarter of a second. */
static void a_repetition_that_was_cut_short_is_not_averaged_with_whole_ones(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct stop_in_second_round stop = { 0 };
	struct runs runs;

	(void)state;
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.pace = PLAY_SCALED;
	options.speed = 2e-5;
	options.reps = 3;
	options.live = count_ended;
	options.live_arg = &stop;
	options.progress = stop_after_four;
	options.progress_arg = &stop;
	replay_or_skip(trace, &options);
	assert_int_equal(stop.ended, 4);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(runs.runs[i].reps, i == 0 ? 2 : 1);
		assert_true(runs.runs[i].partial);
		for (int rep = 0; rep < runs.runs[i].reps; rep++)
			assert_true(metric(trace, &runs.runs[i], "zswap_store_calls", rep)->value ==
				    metric(trace, &runs.runs[0], "zswap_store_calls", 0)->value);
	}
	free_trace(trace);
}

static void ignore_signal(int number)
{
	(void)number;
}

/* Every system call is interrupted again and again, at whatever moment. */
static void signals_that_stop_nothing_change_nothing(void **state)
{
	static const struct itimerval storm = { { 0, 100 }, { 0, 100 } }, calm;
	struct sigaction action = { .sa_handler = ignore_signal }, before;
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	struct runs runs;
	enum zr_err err;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &storm, NULL), 0);
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.pace = PLAY_SCALED;
	options.speed = 1e-4;
	options.warm_up = true;
	err = play_replay(trace->db, trace->db, &options);
	assert_int_equal(setitimer(ITIMER_REAL, &calm, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	if (err == ZR_UNSUPPORTED) {
		print_message("skipped: %s\n", zr_error_text());
		zr_error_clear();
		free_trace(trace);
		skip();
	}
	if (err)
		fail_msg("%s", zr_error_text());
	options = options_null();
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_OK);
	runs = read_runs(trace);
	assert_int_equal(runs.n, 6);
	for (int i = 0; i < 3; i++) {
		assert_false(runs.runs[i].partial);
		assert_true(value(trace, &runs.runs[i], "write_requests") ==
			    value(trace, &runs.runs[i + 3], "write_requests"));
		assert_true(value(trace, &runs.runs[i], "disk_refaults") ==
			    value(trace, &runs.runs[i + 3], "disk_refaults"));
	}
	free_trace(trace);
}

static void null_has_no_time_and_a_device_no_closed_tasks(void **state)
{
	struct trace *trace = new_trace(false);
	struct play_options options = options_null();

	(void)state;
	options.pace = PLAY_RECORDED;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), "--pace asap"));
	zr_error_clear();
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.pace = PLAY_CLOSED;
	assert_int_equal(play_replay(trace->db, trace->db, &options), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), "closed"));
	zr_error_clear();
	assert_true(access(trace->target, F_OK) != 0);
	free_trace(trace);
}

static void a_device_that_is_too_small_stores_nothing(void **state)
{
	struct trace *trace = new_trace(true);
	struct play_options options = options_null();
	enum zr_err err;

	(void)state;
	options.target = PLAY_DEVICE;
	options.device = trace->target;
	options.device_bytes = 4096;
	err = play_replay(trace->db, trace->db, &options);
	assert_true(err == ZR_FULL || err == ZR_UNSUPPORTED);
	zr_error_clear();
	assert_int_equal(read_runs(trace).n, 0);
	free_trace(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_figures_are_those_of_a_model_fed_by_hand),
		cmocka_unit_test(ratios_are_those_of_their_counts),
		cmocka_unit_test(what_has_no_meaning_on_the_null_target_is_absent),
		cmocka_unit_test(a_second_replay_gives_the_same_figures),
		cmocka_unit_test(series_cover_the_trace),
		cmocka_unit_test(a_stopped_replay_is_stored_as_partial),
		cmocka_unit_test(a_trace_without_events_is_refused),
		cmocka_unit_test(a_bad_policy_stores_nothing),
		cmocka_unit_test(events_beyond_the_swap_area_are_refused),
		cmocka_unit_test(a_device_replay_measures_and_repeats),
		cmocka_unit_test(a_device_replay_tells_how_each_pass_ended),
		cmocka_unit_test(a_device_replay_keeps_to_the_schedule_and_tells_its_drift),
		cmocka_unit_test(a_warm_up_is_not_kept_and_a_wait_can_be_ended),
		cmocka_unit_test(a_repetition_that_was_cut_short_is_not_averaged_with_whole_ones),
		cmocka_unit_test(signals_that_stop_nothing_change_nothing),
		cmocka_unit_test(null_has_no_time_and_a_device_no_closed_tasks),
		cmocka_unit_test(a_device_that_is_too_small_stores_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
