/* SPDX-License-Identifier: MIT */
/* The threads of a replay on the kernel, with acts that only write down what is asked of them. */
#include "replayer/kernel_crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "replayer/test_events.h"

enum { PAGES = 64, LOG_MAX = 8192 };

static const uint64_t long_ns = 60'000'000'000;

struct fixture {
	pthread_mutex_t lock;
	struct {
		enum kernel_verb verb;
		uint64_t page;
	} log[LOG_MAX];
	uint32_t n;
	_Atomic bool gate; /* outs wait until it is open */
	bool failing;
	struct kernel_crew *crew;
};

static void note(struct fixture *f, enum kernel_verb verb, uint64_t page)
{
	pthread_mutex_lock(&f->lock);
	if (f->n < LOG_MAX) {
		f->log[f->n].verb = verb;
		f->log[f->n++].page = page;
	}
	pthread_mutex_unlock(&f->lock);
}

static enum zr_err out(void *arg, const struct kernel_page *pages, uint32_t n)
{
	struct fixture *f = arg;

	while (!atomic_load(&f->gate))
		sched_yield();
	for (uint32_t i = 0; i < n; i++)
		note(f, KERNEL_OUT, pages[i].page);
	return ZR_OK;
}

static enum zr_err touch(void *arg, uint64_t page, struct kernel_touch *met)
{
	struct fixture *f = arg;

	if (f->failing)
		return zr_fail(ZR_IO, "touching page 5");
	note(f, KERNEL_IN, page);
	*met = (struct kernel_touch){ .from = page % 3, .ns = 1000 + page };
	return ZR_OK;
}

static enum zr_err ahead(void *arg, uint64_t page)
{
	note(arg, KERNEL_AHEAD, page);
	return ZR_OK;
}

static enum zr_err give_back(void *arg, const struct kernel_page *pages, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		note(arg, KERNEL_FREE, pages[i].page);
	return ZR_OK;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct kernel_acts acts = {
		.out = out, .touch = touch, .ahead = ahead, .give_back = give_back, .arg = f
	};

	assert_non_null(f);
	pthread_mutex_init(&f->lock, NULL);
	atomic_store(&f->gate, true);
	assert_int_equal(kernel_crew_new(PAGES, &acts, &f->crew), ZR_OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->gate, true);
	kernel_crew_free(f->crew);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return 0;
}

static struct kernel_op op_of(uint16_t worker, enum kernel_verb verb, uint64_t page, uint32_t turn)
{
	return (struct kernel_op){ .worker = worker,
				   .verb = (uint8_t)verb,
				   .n = 1,
				   .pages = { { .page = page, .turn = turn } } };
}

static void put(struct fixture *f, struct kernel_op op)
{
	assert_int_equal(kernel_crew_put(f->crew, &op), ZR_OK);
}

static void what_is_done_to_a_page_keeps_its_order_across_tasks(void **state)
{
	struct fixture *f = *state;
	uint32_t seen = 0;

	for (uint32_t turn = 0; turn < 500; turn++)
		put(f, op_of((uint16_t)(turn * 7 % KERNEL_WORKERS), (enum kernel_verb)(turn % 4), 9,
			     turn));
	assert_true(kernel_crew_wait(f->crew, 0, long_ns));
	assert_int_equal(f->n, 500);
	for (; seen < f->n; seen++)
		assert_int_equal(f->log[seen].verb, seen % 4);
}

static void a_task_waits_for_another_ones_page_and_not_for_others(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->gate, false);
	put(f, op_of(0, KERNEL_OUT, 1, 0));
	put(f, op_of(1, KERNEL_IN, 2, 0)); /* nothing to wait for */
	assert_true(kernel_crew_wait(f->crew, 1, long_ns));
	assert_int_equal(f->n, 1);
	assert_int_equal(f->log[0].page, 2);
	put(f, op_of(1, KERNEL_IN, 1, 1));
	assert_int_equal(kernel_crew_queued(f->crew), 2);
	atomic_store(&f->gate, true);
	assert_true(kernel_crew_wait(f->crew, 0, long_ns));
	assert_int_equal(f->log[1].verb, KERNEL_OUT);
	assert_int_equal(f->log[2].verb, KERNEL_IN);
}

static void touches_are_told_apart_by_what_they_met(void **state)
{
	struct fixture *f = *state;
	struct kernel_crew_report report;

	for (uint32_t page = 0; page < 10; page++)
		put(f, op_of((uint16_t)page, KERNEL_IN, page, 0));
	assert_true(kernel_crew_wait(f->crew, 0, long_ns));
	kernel_crew_finish(f->crew, &report);
	assert_int_equal(report.memory_ns.count, 4);
	assert_int_equal(report.zswap_ns.count, 3);
	assert_int_equal(report.disk_ns.count, 3);
	assert_int_equal(report.disk_ns.max, 1008);
}

static void the_first_failure_ends_it_and_is_told(void **state)
{
	struct fixture *f = *state;

	f->failing = true;
	put(f, op_of(0, KERNEL_IN, 5, 0));
	put(f, op_of(1, KERNEL_IN, 5, 1));
	put(f, op_of(2, KERNEL_OUT, 5, 2));
	assert_true(kernel_crew_wait(f->crew, 0, long_ns));
	assert_int_equal(f->n, 0);
	assert_int_equal(kernel_crew_error(f->crew), ZR_IO);
	assert_string_equal(zr_error_text(), "touching page 5");
	zr_error_clear();
}

static void a_stop_ends_waits_for_times_and_for_turns(void **state)
{
	struct fixture *f = *state;
	struct pacer pacer;
	struct kernel_op op = op_of(0, KERNEL_OUT, 1, 0);

	pacer_init(&pacer, PLAY_RECORDED, 0, NULL);
	pacer_start(&pacer, 0);
	kernel_crew_pace(f->crew, &pacer);
	op.time_ns = UINT64_MAX / 4; /* due in centuries */
	put(f, op);
	put(f, op_of(1, KERNEL_IN, 1, 1)); /* never gets its turn */
	assert_false(kernel_crew_wait(f->crew, 1, 1));
	kernel_crew_stop(f->crew);
	assert_true(kernel_crew_wait(f->crew, 0, long_ns));
	assert_int_equal(f->n, 0);
}

static void lateness_is_told(void **state)
{
	struct fixture *f = *state;
	struct kernel_crew_report report;
	struct pacer pacer;

	pacer_init(&pacer, PLAY_RECORDED, 0, NULL);
	pacer_start(&pacer, 1'000'000'000);
	pacer.start_ns -= 5'000'000'000; /* five seconds behind, whatever the machine does */
	kernel_crew_pace(f->crew, &pacer);
	for (uint32_t page = 0; page < 4; page++) {
		struct kernel_op op = op_of(0, KERNEL_IN, page, 0);

		op.time_ns = 1'000'000'000;
		put(f, op);
	}
	assert_true(kernel_crew_wait(f->crew, 0, long_ns));
	kernel_crew_finish(f->crew, &report);
	assert_int_equal(report.late_ns.count, 4);
	assert_true(report.late_ns.min >= 5'000'000'000);
	assert_true(report.drift_ns >= 5'000'000'000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_done_to_a_page_keeps_its_order_across_tasks),
		TEST(a_task_waits_for_another_ones_page_and_not_for_others),
		TEST(touches_are_told_apart_by_what_they_met),
		TEST(the_first_failure_ends_it_and_is_told),
		TEST(a_stop_ends_waits_for_times_and_for_turns),
		TEST(lateness_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
