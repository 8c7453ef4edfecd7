/* SPDX-License-Identifier: MIT */
/*
 * The virtual clock. Small traces have makespans that can be worked out by hand; random ones are
 * held against a clock that knows nothing of queues and heaps: it asks every task for its next time
 * and takes the least.
 */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/timing.h"

enum { SLOTS = 4096, READ_NS = 100'000, WRITE_NS = 20'000, START_NS = 1'000'000'000 };

/* Every read takes 100 us, every write 20 us, one at a time; no iocost unless asked for. */
static const char device_text[] = "ssd+read_page_ns=0+read_seq_ns=100000+read_rand_ns=100000+write_"
				  "page_ns=0+write_seq_ns=20000+"
				  "write_rand_ns=20000+iocost=0";

struct run {
	struct timing_plan plan;
	struct timing_task_span tasks[16];
	struct sim_machine machine;
	struct timing_report report;
};

static void prepare(struct run *run, const char *knobs, enum play_pace pace)
{
	char text[512];

	*run = (struct run){ .machine = small_machine(SLOTS),
			     .plan = { .pace = pace, .speed = 2, .cpus = 1, .n_tasks = 16 } };
	snprintf(text, sizeof(text), "%s%s", device_text, knobs);
	assert_int_equal(time_params_parse(text, &run->plan.params), ZR_OK);
	run->plan.tasks = run->tasks;
}

static void play(struct run *run, const char *policy_text, const struct db_event *events,
		 uint32_t n)
{
	struct sim_policy policy = policy_of(policy_text);
	struct timing *timing;
	struct sim *sim;

	sim_policy_settle(&policy, &run->machine);
	for (uint32_t i = 0; i < n; i++)
		run->tasks[events[i].task].events++;
	assert_int_equal(timing_new(&run->plan, &run->machine, &policy, &timing), ZR_OK);
	assert_int_equal(sim_new(&policy, &run->machine, timing_sink(timing), &sim), ZR_OK);
	for (uint32_t i = 0; i < n; i++) {
		timing_before(timing, &events[i]);
		feed_event(sim, &run->machine, &events[i]);
		timing_after(timing);
		timing_play(timing);
	}
	sim_flush(sim);
	assert_int_equal(timing_finish(timing, &run->report), ZR_OK);
	sim_free(sim);
	timing_free(timing);
}

/* zswap is off for it: straight to the disk. */
static struct db_event out_at(uint64_t us, uint32_t task, uint32_t slot)
{
	struct db_event event = event_rejected(slot, 1, DB_REASON_OFF);

	event.time_ns = START_NS + us * 1000;
	event.task = task;
	return event;
}

static struct db_event in_at(uint64_t us, uint32_t task, uint32_t slot, enum db_in from)
{
	struct db_event event = event_in(slot, from);

	event.time_ns = START_NS + us * 1000;
	event.task = task;
	event.memcg = 1;
	return event;
}

/* The clock begins one idle read before the first event. */
static uint64_t span_us(const struct run *run)
{
	return (run->report.makespan_ns - READ_NS) / 1000;
}

static void an_idle_device_repeats_the_recorded_time(void **state)
{
	struct db_event events[] = { out_at(0, 1, 7), out_at(10, 1, 9),
				     in_at(5000, 1, 7, DB_IN_DISK), in_at(9000, 1, 9, DB_IN_DISK) };
	struct run run;

	(void)state;
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 4);
	assert_int_equal(span_us(&run), 9000);
	assert_int_equal(run.report.stall_ns, 2 * READ_NS);
	assert_int_equal(run.report.read_ns.count, 2);
	/* The only task waits, on the only processor. */
	assert_int_equal(run.report.io_full_ns, 2 * READ_NS);
	assert_int_equal(run.report.io_some_ns, 2 * READ_NS);
}

static void a_wait_that_was_not_recorded_shifts_the_task(void **state)
{
	struct db_event events[] = { out_at(0, 1, 7), out_at(10, 2, 9),
				     in_at(5000, 1, 7, DB_IN_ZSWAP), in_at(9000, 1, 9, DB_IN_DISK),
				     out_at(9500, 2, 11) };
	struct run run;

	(void)state;
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 5);
	/* Task 2, whose last event is at 9500, is not concerned. */
	assert_int_equal(span_us(&run), 9500);
	events[4].time_ns = START_NS + 9'050'000;
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 5);
	assert_int_equal(span_us(&run), 9100);
}

static void a_wait_that_is_spared_shifts_it_back(void **state)
{
	struct db_event stored = event_out(7, 1, 100);
	struct db_event events[] = { stored, in_at(5000, 1, 7, DB_IN_DISK), out_at(6000, 1, 8) };
	struct run run;

	(void)state;
	events[0].time_ns = START_NS;
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched+pool=1M", events, 3);
	assert_int_equal(span_us(&run), 5900);
	assert_int_equal(run.report.stall_ns, 0);
}

static void reads_queue_behind_writes(void **state)
{
	struct db_event events[6];
	struct run run;

	(void)state;
	/* Five writes at once, scattered, and a read of another task just behind. */
	for (uint32_t i = 0; i < 5; i++)
		events[i] = out_at(0, 1, 10 + 2 * i);
	events[5] = in_at(1, 2, 10, DB_IN_ZSWAP);
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 6);
	assert_int_equal(run.report.read_ns.max, 5 * WRITE_NS + READ_NS - 1000);
	prepare(&run, "+channels=8", PLAY_CLOSED);
	play(&run, "unbatched", events, 6);
	assert_int_equal(run.report.read_ns.max, READ_NS);
}

static void nobody_waits_for_what_is_read_ahead(void **state)
{
	struct db_event events[] = { out_at(0, 1, 7), out_at(0, 1, 9),
				     in_at(5000, 1, 7, DB_IN_DISK), in_at(5000, 1, 9, DB_IN_DISK),
				     out_at(5010, 1, 11) };
	struct run run;

	(void)state;
	events[3].flags |= DB_F_READAHEAD;
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 5);
	assert_int_equal(span_us(&run), 5010);
	assert_int_equal(run.report.stall_ns, READ_NS);
	assert_int_equal(run.report.read_ns.count, 1);
}

static void paces_are_what_they_say(void **state)
{
	struct db_event events[] = { out_at(0, 1, 7),
				     out_at(0, 1, 9),
				     out_at(0, 1, 11),
				     in_at(10'000, 1, 7, DB_IN_ZSWAP),
				     in_at(10'010, 1, 9, DB_IN_ZSWAP),
				     in_at(10'020, 1, 11, DB_IN_ZSWAP) };
	struct run run;

	(void)state;
	/* Three reads asked for 10 us apart, of which each takes 100. */
	prepare(&run, "", PLAY_RECORDED);
	play(&run, "unbatched", events, 6);
	assert_int_equal(span_us(&run), 10'300);
	assert_int_equal(run.report.drift_ns, 280'000);
	assert_int_equal(run.report.read_ns.max, 280'000);
	prepare(&run, "", PLAY_SCALED);
	play(&run, "unbatched", events, 6);
	/* Half the time from the clock's begin, 100 us before the first event. */
	assert_int_equal(run.report.makespan_ns, (10'000 + 100) / 2 * 1000 + 300'000);
	/* Closed: each begins 10 us after the one before came back. */
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 6);
	assert_int_equal(span_us(&run), 10'320);
	/* No work at all: the writes, and three reads behind them. */
	prepare(&run, "", PLAY_ASAP);
	play(&run, "unbatched", events, 6);
	assert_int_equal(run.report.makespan_ns, 3 * WRITE_NS + 3 * READ_NS);
}

/* A page that joins a request pays for no request. */
static void batching_spares_the_device(void **state)
{
	struct db_event events[33];
	uint64_t before;
	struct run run;

	(void)state;
	for (uint32_t i = 0; i < 32; i++) {
		events[i] = event_out(100 + i, 1, 3000);
		events[i].time_ns = START_NS + i;
	}
	events[32] = event_scan(1, 64);
	events[32].time_ns = START_NS + 100;
	events[32].task = 1;
	prepare(&run, "+iocost=1", PLAY_CLOSED);
	play(&run, "unbatched+pool=1M+second_chance=off+shrinker=on", events, 33);
	before = run.report.iocost_usage_ns;
	/* The list begins with a base of its own and goes on beside it. */
	assert_int_equal(before, 32 * (25200 + 9570));
	prepare(&run, "+iocost=1", PLAY_CLOSED);
	play(&run, "batched+pool=1M+second_chance=off+shrinker=on", events, 33);
	assert_int_equal(run.report.iocost_usage_ns, 25200 + 32 * 9570);
	/* One by one into a plug: merged, which costs the same. */
	prepare(&run, "+iocost=1", PLAY_CLOSED);
	play(&run, "plug-only+pool=1M+second_chance=off+shrinker=on", events, 33);
	assert_int_equal(run.report.iocost_usage_ns, 25200 + 32 * 9570);
}

/* Two tasks swap out in turn, each in slots of its own that follow each other: each has one
 * request, at the time of its own last page. */
static void tasks_that_take_turns_do_not_break_each_others_writes(void **state)
{
	struct db_event events[40];
	struct run run;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		events[i] = out_at(i, 1 + i % 2, 100 + 1000 * (i % 2) + i / 2);
	prepare(&run, "+iocost=1", PLAY_CLOSED);
	play(&run, "unbatched+direct_batch=on", events, 40);
	assert_int_equal(run.report.iocost_usage_ns, 2 * 25200 + 40 * 9570);
	assert_int_equal(run.report.late, 0);
	assert_int_equal(span_us(&run), 39);
	prepare(&run, "+iocost=1", PLAY_CLOSED);
	play(&run, "unbatched+direct_batch=off", events, 40);
	/* In one plug they merge all the same. */
	assert_int_equal(run.report.iocost_usage_ns, 2 * 25200 + 40 * 9570);
}

static void debt_of_writes_makes_refaults_wait(void **state)
{
	struct db_event events[1002];
	struct run run;

	(void)state;
	/* 1000 scattered writes cost iocost 34.77 us each and have a budget of 25 ms. */
	for (uint32_t i = 0; i < 1000; i++)
		events[i] = out_at(0, 1, 10 + 2 * i);
	events[1000] = in_at(30'000, 2, 10, DB_IN_DISK);
	events[1001] = in_at(400'000, 2, 12, DB_IN_DISK);
	prepare(&run, "+iocost=1+depth=2000+vrate_min=100+vrate_max=100", PLAY_CLOSED);
	play(&run, "unbatched", events, 1002);
	assert_true(run.report.iocost_debt_ns > 1'000'000 &&
		    run.report.iocost_debt_ns < 50'100'000);
	/* Debt of 9.8 ms is paid when the first reader comes. */
	assert_int_equal(run.report.iocost_wait_ns, 0);
	events[1000] = in_at(2'000, 2, 10, DB_IN_DISK);
	prepare(&run, "+iocost=1+depth=2000+vrate_min=100+vrate_max=100", PLAY_CLOSED);
	play(&run, "unbatched", events, 1002);
	/* It came 1.9 ms after the writes, so 7.9 ms of debt are left, and its own cost. */
	assert_true(run.report.iocost_wait_ns > 7'700'000 && run.report.iocost_wait_ns < 8'100'000);
	assert_true(run.report.stall_ns > 2 * READ_NS + 7'500'000);
	prepare(&run, "", PLAY_CLOSED);
	play(&run, "unbatched", events, 1002);
	assert_int_equal(run.report.iocost_debt_ns + run.report.iocost_wait_ns, 0);
}

static void a_rival_takes_its_share(void **state)
{
	struct db_event events[200];
	struct run alone, beside;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		events[i] = out_at(i * 5, 1, 10 + 2 * i);
	for (uint32_t i = 0; i < 100; i++)
		events[100 + i] = in_at(10'000 + 1000 * i, 1, 10 + 2 * i, DB_IN_DISK);
	prepare(&alone, "+iocost=1", PLAY_CLOSED);
	play(&alone, "unbatched", events, 200);
	prepare(&beside, "+iocost=1+rival=1000", PLAY_CLOSED);
	play(&beside, "unbatched", events, 200);
	assert_true(beside.report.makespan_ns > alone.report.makespan_ns);
	assert_true(beside.report.stall_ns > 2 * alone.report.stall_ns);
	/* Its own I/O is not in the accounts of the recorded cgroups. */
	assert_int_equal(beside.report.iocost_usage_ns, alone.report.iocost_usage_ns);
}

/* --------------------------------------------------------------------------------- any trace */

enum { TASKS = 6, EVENTS = 3000 };

struct naive_task {
	uint32_t next;
	int64_t lag;
	uint64_t clock;
};

/* The events' own I/O: an OUT writes a page, an IN reads it. */
static void naive_clock(const struct db_event *events, uint64_t *makespan, uint64_t *stall)
{
	struct naive_task tasks[TASKS + 1] = { 0 };
	uint64_t device = 0, last = 0;

	*stall = 0;
	for (;;) {
		uint32_t best = 0;
		uint64_t best_at = UINT64_MAX;

		for (uint32_t t = 1; t <= TASKS; t++) {
			struct naive_task *task = &tasks[t];
			uint64_t at;

			while (task->next < EVENTS && events[task->next].task != t)
				task->next++;
			if (task->next == EVENTS)
				continue;
			at = (uint64_t)((int64_t)events[task->next].time_ns + task->lag);
			if (events[task->next].kind == DB_IN &&
			    events[task->next].flags == DB_IN_DISK)
				at -= READ_NS;
			if (at < task->clock)
				at = task->clock;
			if (at < best_at) {
				best_at = at;
				best = t;
			}
		}
		if (!best)
			break;
		if (events[tasks[best].next].kind == DB_IN) {
			uint64_t begin = best_at > device ? best_at : device,
				 done = begin + READ_NS;

			*stall += done - best_at;
			tasks[best].lag +=
				(int64_t)(done - best_at) -
				(events[tasks[best].next].flags == DB_IN_DISK ? READ_NS : 0);
			tasks[best].clock = device = done;
		} else {
			device = (best_at > device ? best_at : device) + WRITE_NS;
			tasks[best].clock = best_at;
		}
		tasks[best].next++;
		if (tasks[best].clock > last)
			last = tasks[best].clock;
	}
	*makespan = last - (events[0].time_ns - READ_NS);
}

static void random_traces_take_what_the_naive_clock_says(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct db_event *events = calloc(EVENTS, sizeof(*events));
		uint64_t random = seed, us = 0, makespan, stall;
		uint32_t n = 0;
		struct run run;

		/* All tasks begin before any of them can have been shifted. */
		for (uint32_t t = 1; t <= TASKS; t++)
			events[n++] = out_at(t, t, 2 * t);
		us = 1000;
		for (; n < EVENTS; n++) {
			uint32_t task = 1 + random_below(&random, TASKS),
				 slot = 2 * (1 + random_below(&random, TASKS));

			/* Times that differ by odd amounts, so that ties are rare. */
			us += random_below(&random, 120);
			if (random_below(&random, 3) == 0)
				events[n] = out_at(us, task, 20 + 2 * n % 3000);
			else
				events[n] =
					in_at(us, task, slot,
					      random_below(&random, 2) ? DB_IN_DISK : DB_IN_ZSWAP);
			events[n].time_ns += random_below(&random, 1000);
			if (events[n].time_ns < events[n - 1].time_ns)
				events[n].time_ns = events[n - 1].time_ns;
		}
		prepare(&run, "", PLAY_CLOSED);
		play(&run, "unbatched", events, EVENTS);
		naive_clock(events, &makespan, &stall);
		assert_int_equal(run.report.late, 0);
		assert_int_equal(run.report.makespan_ns, makespan);
		assert_int_equal(run.report.stall_ns, stall);
		free(events);
	}
}

static void paces_are_read_and_written(void **state)
{
	enum play_pace pace;
	double speed;
	char text[32];

	(void)state;
	assert_int_equal(play_pace_parse("scaled:2.5", &pace, &speed), ZR_OK);
	assert_true(pace == PLAY_SCALED && speed == 2.5);
	play_pace_to_text(pace, speed, text, sizeof(text));
	assert_string_equal(text, "scaled:2.5");
	assert_int_equal(play_pace_parse("closed", &pace, &speed), ZR_OK);
	assert_int_equal(pace, PLAY_CLOSED);
	for (const char *const *bad =
		     (const char *const[]){ "", "fast", "scaled", "scaled:", "scaled:0",
					    "scaled:-1", "scaled:1x", "closed:2", "asap:", NULL };
	     *bad; bad++) {
		zr_error_clear();
		assert_int_equal(play_pace_parse(*bad, &pace, &speed), ZR_USAGE);
	}
	zr_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_device_repeats_the_recorded_time),
		cmocka_unit_test(a_wait_that_was_not_recorded_shifts_the_task),
		cmocka_unit_test(a_wait_that_is_spared_shifts_it_back),
		cmocka_unit_test(reads_queue_behind_writes),
		cmocka_unit_test(nobody_waits_for_what_is_read_ahead),
		cmocka_unit_test(paces_are_what_they_say),
		cmocka_unit_test(batching_spares_the_device),
		cmocka_unit_test(tasks_that_take_turns_do_not_break_each_others_writes),
		cmocka_unit_test(debt_of_writes_makes_refaults_wait),
		cmocka_unit_test(a_rival_takes_its_share),
		cmocka_unit_test(random_traces_take_what_the_naive_clock_says),
		cmocka_unit_test(paces_are_read_and_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
