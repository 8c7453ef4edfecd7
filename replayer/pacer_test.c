/* SPDX-License-Identifier: MIT */
/* The schedule, on a clock that only moves when it is told to. */
#include "replayer/test_events.h"

#include "replayer/pacer.h"

enum { START = 7'000'000, FIRST = 123'456, GAP_NS = 100'000 };

/* A machine: sleeping moves its clock, and wakes up `oversleep_ns` late; `serve_ns` makes waits end early. */
struct machine {
	uint64_t now_ns, oversleep_ns, serve_ns, stop_at_ns;
	uint64_t waits, longest_wait_ns;
};

static uint64_t machine_now(void *arg)
{
	return ((const struct machine *)arg)->now_ns;
}

static void machine_wait(void *arg, uint64_t until_ns)
{
	struct machine *machine = arg;
	uint64_t span = until_ns - machine->now_ns;

	assert_true(until_ns > machine->now_ns);
	machine->waits++;
	if (span > machine->longest_wait_ns)
		machine->longest_wait_ns = span;
	if (machine->serve_ns && machine->serve_ns < span)
		machine->now_ns += machine->serve_ns;
	else
		machine->now_ns = until_ns + machine->oversleep_ns;
}

static bool machine_stopped(void *arg)
{
	const struct machine *machine = arg;

	return machine->stop_at_ns && machine->now_ns >= machine->stop_at_ns;
}

static struct pacer pacer_on(struct machine *machine, enum play_pace pace, double speed)
{
	const struct pacer_hooks hooks = {
		.now_ns = machine_now, .wait = machine_wait, .stopped = machine_stopped, .arg = machine
	};
	struct pacer pacer;

	machine->now_ns = START;
	pacer_init(&pacer, pace, speed, &hooks);
	return pacer;
}

/* `events` GAP_NS apart; the first `slow` take `slow_ns` each, the others `fast_ns`. */
static void play(struct pacer *pacer, struct machine *machine, int events, int slow, uint64_t slow_ns,
		 uint64_t fast_ns)
{
	for (int i = 0; i < events; i++) {
		assert_true(pacer_wait(pacer, FIRST + (uint64_t)i * GAP_NS));
		machine->now_ns += i < slow ? slow_ns : fast_ns;
	}
	pacer_end(pacer);
}

static void a_slow_stretch_is_caught_up_and_the_end_is_on_time(void **state)
{
	struct machine machine = { 0 };
	struct pacer pacer = pacer_on(&machine, PLAY_RECORDED, 0);

	(void)state;
	play(&pacer, &machine, 10'000, 200, 150'000, 10'000);
	assert_int_equal(machine.now_ns, START + 9'999ULL * GAP_NS + 10'000);
	assert_int_equal(pacer.drift_ns, 10'000); /* the last one's own time */
	assert_int_equal(pacer.late_ns.count, 10'000);
	/* Event i < 200 begins i * 50 us late. Then 90 us are gained with each. */
	assert_int_equal(pacer.late_ns.max, 200 * 50'000);
	assert_int_equal(zr_hist_quantile(&pacer.late_ns, 0.5), 0);
	assert_true(zr_hist_quantile(&pacer.late_ns, 0.99) > 6'500'000 &&
		    zr_hist_quantile(&pacer.late_ns, 0.99) < 8'500'000);
}

static void what_cannot_be_caught_up_is_stated(void **state)
{
	struct machine machine = { 0 };
	struct pacer pacer = pacer_on(&machine, PLAY_RECORDED, 0);

	(void)state;
	play(&pacer, &machine, 10'000, 10'000, 150'000, 0);
	assert_int_equal(machine.waits, 0);
	assert_int_equal(pacer.drift_ns, 9'999 * 50'000 + 150'000);
	assert_int_equal(pacer.late_ns.max, 9'999 * 50'000);
}

static void sleeping_too_long_does_not_add_up(void **state)
{
	struct machine machine = { .oversleep_ns = 60'000 };
	struct pacer pacer = pacer_on(&machine, PLAY_RECORDED, 0);

	(void)state;
	play(&pacer, &machine, 10'000, 0, 0, 1'000);
	assert_int_equal(machine.now_ns, START + 9'999ULL * GAP_NS + 60'000 + 1'000);
	assert_int_equal(pacer.late_ns.max, 60'000);
}

static void a_scaled_replay_takes_the_span_by_the_speed(void **state)
{
	static const double speeds[] = { 0.25, 1, 2.5, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		struct machine machine = { 0 };
		struct pacer pacer = pacer_on(&machine, PLAY_SCALED, speeds[i]);

		play(&pacer, &machine, 1001, 0, 0, 0);
		assert_int_equal(machine.now_ns - START, (uint64_t)(1000.0 * GAP_NS / speeds[i]));
	}
}

static void asap_waits_for_nothing_and_measures_nothing(void **state)
{
	static const enum play_pace paces[] = { PLAY_ASAP, PLAY_CLOSED };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct machine machine = { 0 };
		struct pacer pacer = pacer_on(&machine, paces[i], 3);

		assert_false(pacer_is_timed(&pacer));
		play(&pacer, &machine, 1000, 0, 0, 10);
		assert_int_equal(machine.now_ns, START + 1000 * 10);
		assert_int_equal(pacer.late_ns.count, 0);
		assert_int_equal(pacer.drift_ns, 0);
	}
}

static void a_stop_is_seen_within_a_tenth_of_a_second(void **state)
{
	struct machine machine = { .stop_at_ns = START + 5'000'000'000 };
	struct pacer pacer = pacer_on(&machine, PLAY_RECORDED, 0);

	(void)state;
	assert_true(pacer_wait(&pacer, FIRST));
	assert_false(pacer_wait(&pacer, FIRST + 30ULL * 86'400 * 1'000'000'000)); /* a hole of 30 days */
	assert_true(machine.now_ns - machine.stop_at_ns <= 100'000'000);
	assert_true(machine.longest_wait_ns <= 100'000'000);
	assert_int_equal(pacer.late_ns.count, 1);
}

static void a_wait_that_ends_early_to_serve_something_goes_on(void **state)
{
	struct machine machine = { .serve_ns = 7'000 };
	struct pacer pacer = pacer_on(&machine, PLAY_RECORDED, 0);

	(void)state;
	play(&pacer, &machine, 100, 0, 0, 0);
	assert_int_equal(machine.now_ns, START + 99 * GAP_NS);
	assert_int_equal(pacer.late_ns.max, 0);
	assert_true(machine.waits >= 99 * (GAP_NS / 7'000));
}

static void times_before_the_first_and_beyond_the_clock_are_bounded(void **state)
{
	struct machine machine = { 0 };
	struct pacer pacer = pacer_on(&machine, PLAY_SCALED, 1e-9);

	(void)state;
	pacer_start(&pacer, FIRST);
	assert_int_equal(pacer_due_ns(&pacer, 20), START);
	assert_true(pacer_due_ns(&pacer, UINT64_MAX) > START);
	assert_true(pacer_wait(&pacer, 20));
	assert_int_equal(machine.now_ns, START);
}

/* Tasks side by side: copies of one that was started keep to one schedule. */
static void copies_share_the_schedule(void **state)
{
	struct machine machine = { 0 }, other;
	struct pacer pacer = pacer_on(&machine, PLAY_RECORDED, 0), copy;

	(void)state;
	pacer_start(&pacer, FIRST);
	other = machine;
	copy = pacer;
	copy.hooks.arg = &other;
	other.now_ns += 3 * GAP_NS;
	assert_true(pacer_wait(&copy, FIRST + 2 * GAP_NS));
	assert_int_equal(copy.late_ns.max, GAP_NS);
	assert_true(pacer_wait(&pacer, FIRST + 2 * GAP_NS));
	assert_int_equal(machine.now_ns, START + 2 * GAP_NS);
	assert_int_equal(pacer.late_ns.max, 0);
}

static void the_clock_of_the_machine_is_the_default(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, PLAY_RECORDED, 0, NULL);
	assert_true(pacer_wait(&pacer, 5));
	assert_true(pacer_wait(&pacer, 1'000'005));
	pacer_end(&pacer);
	assert_true(pacer.hooks.now_ns(NULL) >= pacer.start_ns + 1'000'000);
	assert_int_equal(pacer.late_ns.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_stretch_is_caught_up_and_the_end_is_on_time),
		cmocka_unit_test(what_cannot_be_caught_up_is_stated),
		cmocka_unit_test(sleeping_too_long_does_not_add_up),
		cmocka_unit_test(a_scaled_replay_takes_the_span_by_the_speed),
		cmocka_unit_test(asap_waits_for_nothing_and_measures_nothing),
		cmocka_unit_test(a_stop_is_seen_within_a_tenth_of_a_second),
		cmocka_unit_test(a_wait_that_ends_early_to_serve_something_goes_on),
		cmocka_unit_test(times_before_the_first_and_beyond_the_clock_are_bounded),
		cmocka_unit_test(copies_share_the_schedule),
		cmocka_unit_test(the_clock_of_the_machine_is_the_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
