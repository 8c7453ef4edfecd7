/* SPDX-License-Identifier: MIT */
/*
 * iocost. The oracle is a bucket, played microsecond by microsecond for one cgroup alone: budget
 * drips in, an I/O takes its cost out, what a write lacks is debt, what a read lacks is time. The
 * other claims are numbers worked out by hand.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/iocost.h"

enum { US = 1000, PERIOD_US = 50'000, HALF_US = PERIOD_US / 2 };

struct bench {
	struct iocost ioc;
	struct zr_arena arena;
	struct iocost_waiter *gone[64];
	uint64_t gone_ns[64];
	uint32_t n_gone;
};

static void on_go(void *arg, struct iocost_waiter *waiter)
{
	struct bench *bench = arg;

	assert_true(bench->n_gone < 64);
	bench->gone_ns[bench->n_gone] = bench->ioc.now_ns;
	bench->gone[bench->n_gone++] = waiter;
}

/* A write of a page costs 10 us, a read 100 us. */
static void set_up(struct bench *bench, const char *knobs, uint32_t groups)
{
	struct time_params params;
	char text[256];

	memset(bench, 0, sizeof(*bench));
	snprintf(text, sizeof(text),
		 "ssd+cost_read_page_ns=100000+cost_read_seq_ns=0+cost_read_rand_ns=0+cost_write_"
		 "page_ns=10000+"
		 "cost_write_seq_ns=0+cost_write_rand_ns=0%s",
		 knobs);
	assert_int_equal(time_params_parse(text, &params), ZR_OK);
	assert_int_equal(iocost_init(&bench->ioc, &params, &bench->arena, groups), ZR_OK);
	bench->ioc.go = on_go;
	bench->ioc.arg = bench;
	iocost_advance(&bench->ioc, 1'000'000);
}

/* Everything that happens by itself until then. */
static void advance(struct bench *bench, uint64_t now_ns)
{
	uint64_t next;

	while ((next = iocost_next_ns(&bench->ioc)) <= now_ns)
		iocost_advance(&bench->ioc, next);
	iocost_advance(&bench->ioc, now_ns);
}

static enum iocost_verdict write_pages(struct bench *bench, uint32_t group, uint32_t pages)
{
	return iocost_submit(&bench->ioc, group,
			     &(struct timed_io){ .pages = pages, .write = true }, NULL);
}

static enum iocost_verdict read_page(struct bench *bench, uint32_t group,
				     struct iocost_waiter *waiter)
{
	return iocost_submit(&bench->ioc, group, &(struct timed_io){ .pages = 1 }, waiter);
}

static const char fixed[] = "+vrate_min=100+vrate_max=100";

static void a_cgroup_begins_with_half_a_period(void **state)
{
	struct bench bench;
	uint32_t n = 0;

	(void)state;
	set_up(&bench, fixed, 1);
	while (write_pages(&bench, 0, 1) == IOCOST_ISSUE)
		n++;
	assert_int_equal(n, HALF_US / 10);
	assert_int_equal(bench.ioc.groups[0].debt, 10 * US);
	assert_int_equal(bench.ioc.groups[0].usage_ns, (n + 1) * 10 * US);
	zr_arena_fini(&bench.arena);
}

static void debt_makes_reads_wait_until_it_is_paid(void **state)
{
	struct iocost_waiter waiter;
	struct bench bench;
	uint64_t start;

	(void)state;
	set_up(&bench, fixed, 1);
	start = bench.ioc.now_ns;
	/* The budget to the last, then 20 ms of debt. */
	assert_int_equal(write_pages(&bench, 0, HALF_US / 10), IOCOST_ISSUE);
	assert_int_equal(write_pages(&bench, 0, 2000), IOCOST_DEBT);
	assert_int_equal(read_page(&bench, 0, &waiter), IOCOST_WAIT);
	advance(&bench, start + 1'000'000'000);
	assert_int_equal(bench.n_gone, 1);
	assert_ptr_equal(bench.gone[0], &waiter);
	/* 20 ms for the debt and 0.1 for the read itself. */
	assert_int_equal(bench.gone_ns[0] - start, 20'100 * US);
	iocost_finish(&bench.ioc);
	assert_int_equal(bench.ioc.groups[0].wait.total_ns, 20'100 * US);
	assert_in_range(bench.ioc.groups[0].indebt.total_ns, 20'000 * US, 20'100 * US);
	zr_arena_fini(&bench.arena);
}

static void waiters_go_in_their_order(void **state)
{
	struct iocost_waiter waiters[3];
	struct bench bench;
	uint64_t start;

	(void)state;
	set_up(&bench, fixed, 1);
	start = bench.ioc.now_ns;
	assert_int_equal(write_pages(&bench, 0, HALF_US / 10), IOCOST_ISSUE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_page(&bench, 0, &waiters[i]), IOCOST_WAIT);
	/* A write behind them does not overtake: it is debt, and they wait for that too. */
	assert_int_equal(write_pages(&bench, 0, 5), IOCOST_DEBT);
	advance(&bench, start + 1'000'000'000);
	assert_int_equal(bench.n_gone, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_ptr_equal(bench.gone[i], &waiters[i]);
		assert_int_equal(bench.gone_ns[i] - start, (50 + (i + 1) * 100) * US);
	}
	zr_arena_fini(&bench.arena);
}

/* Alone a cgroup has all of the device; beside an active one its weight counts. */
static void weights_share_the_device(void **state)
{
	struct bench bench;
	uint32_t n = 0;

	(void)state;
	set_up(&bench, "+vrate_min=100+vrate_max=100+rival=300", 2);
	assert_int_equal(write_pages(&bench, 1, 1), IOCOST_ISSUE);
	while (write_pages(&bench, 0, 1) == IOCOST_ISSUE)
		n++;
	/* 100 of 400. */
	assert_int_equal(n, HALF_US / 10 / 4);
	assert_int_equal(write_pages(&bench, 1, 1), IOCOST_ISSUE);
	zr_arena_fini(&bench.arena);
}

static void a_debtor_lends_its_share(void **state)
{
	struct bench bench;
	uint32_t n = 0;

	(void)state;
	set_up(&bench, "+vrate_min=100+vrate_max=100+rival=100", 2);
	assert_int_equal(write_pages(&bench, 1, 1), IOCOST_ISSUE);
	while (write_pages(&bench, 0, 1) == IOCOST_ISSUE)
		n++;
	assert_int_equal(n, HALF_US / 10 / 2);
	assert_int_equal(bench.ioc.groups[0].inuse, 1);
	/* 100 of 101 now, of a budget that began with 25 ms and lost a write when nobody else was
	 * there. */
	for (n = 0; write_pages(&bench, 1, 1) == IOCOST_ISSUE;)
		n++;
	assert_int_equal(n, (HALF_US - 10) * 100 / 101 / 10);
	zr_arena_fini(&bench.arena);
}

/* 5 periods of debt are free, 250 cost 250 ms, and between it is a straight line; each second
 * halves it. */
static void delay_grows_with_debt(void **state)
{
	struct bench bench;

	(void)state;
	set_up(&bench, fixed, 1);
	assert_int_equal(write_pages(&bench, 0, HALF_US / 10), IOCOST_ISSUE);
	assert_int_equal(write_pages(&bench, 0, 5 * PERIOD_US / 10), IOCOST_DEBT);
	assert_int_equal(iocost_delay_ns(&bench.ioc, 0), 0);
	assert_int_equal(write_pages(&bench, 0, 122 * PERIOD_US / 10 + PERIOD_US / 20),
			 IOCOST_DEBT);
	assert_int_equal(iocost_delay_ns(&bench.ioc, 0), 250'000 + (250'000'000 - 250'000) / 2);
	assert_int_equal(write_pages(&bench, 0, 200 * PERIOD_US / 10), IOCOST_DEBT);
	assert_int_equal(iocost_delay_ns(&bench.ioc, 0), 250'000'000);
	bench.ioc.now_ns += 2'000'000'000;
	assert_int_equal(iocost_delay_ns(&bench.ioc, 0), 250'000'000 / 4);
	zr_arena_fini(&bench.arena);
}

/* With the device idle debts are halved every 100 ms, besides what is paid. */
static void an_idle_device_forgives(void **state)
{
	struct bench bench;
	uint64_t start, debt;

	(void)state;
	set_up(&bench, fixed, 1);
	start = bench.ioc.now_ns;
	assert_int_equal(write_pages(&bench, 0, HALF_US / 10), IOCOST_ISSUE);
	assert_int_equal(write_pages(&bench, 0, 100 * PERIOD_US / 10), IOCOST_DEBT);
	/* The first 100 ms count the writes themselves, which kept the device busy. */
	advance(&bench, start + 101'000'000);
	assert_int_equal(bench.ioc.groups[0].debt, (100 * PERIOD_US - 100'000) * (uint64_t)US);
	debt = bench.ioc.groups[0].debt;
	advance(&bench, start + 201'000'000);
	assert_int_equal(bench.ioc.groups[0].debt, (debt - 100'000'000) / 2);
	zr_arena_fini(&bench.arena);
}

static void vrate_follows_the_latencies(void **state)
{
	struct bench bench;
	uint64_t last;

	(void)state;
	set_up(&bench, "", 1);
	/* Short of budget, all well: after some periods it rises, to its end. */
	for (int i = 0; i < 8; i++) {
		write_pages(&bench, 0, 100 * PERIOD_US / 10);
		advance(&bench, bench.ioc.now_ns + PERIOD_US * US);
	}
	assert_true(bench.ioc.vrate > 1'000'000);
	for (int i = 0; i < 300; i++) {
		write_pages(&bench, 0, 10'000'000);
		advance(&bench, bench.ioc.now_ns + PERIOD_US * US);
	}
	assert_int_equal(bench.ioc.vrate, 100'000'000);
	/* One of ten reads is too slow: it falls. */
	last = bench.ioc.vrate;
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < 10; j++)
			iocost_done(&bench.ioc, false, j ? 1000 : 26'000'000);
		write_pages(&bench, 0, 1);
		advance(&bench, bench.ioc.now_ns + PERIOD_US * US);
		assert_true(bench.ioc.vrate <= last);
		last = bench.ioc.vrate;
	}
	assert_true(last < 10'000'000);
	zr_arena_fini(&bench.arena);
}

/* -------------------------------------------------------------------------------- the bucket */

struct bucket {
	int64_t budget_us, debt_us, waiting_us[64];
	uint32_t first, n;
	uint64_t wait_us, indebt_us, period_at;
	bool used;
};

static void pay(struct bucket *bucket)
{
	if (bucket->debt_us && bucket->budget_us > 0) {
		int64_t paid =
			bucket->debt_us < bucket->budget_us ? bucket->debt_us : bucket->budget_us;

		bucket->debt_us -= paid;
		bucket->budget_us -= paid;
	}
}

static void serve(struct bucket *bucket, uint64_t now, uint64_t *gone, uint32_t *n_gone)
{
	pay(bucket);
	while (bucket->first < bucket->n && !bucket->debt_us &&
	       bucket->waiting_us[bucket->first] <= bucket->budget_us) {
		bucket->budget_us -= bucket->waiting_us[bucket->first++];
		gone[(*n_gone)++] = now;
	}
}

/* When a waiter may go is looked at each microsecond; debt alone is paid at the ends of periods. */
static void tick(struct bucket *bucket, uint64_t now, uint64_t *gone, uint32_t *n_gone)
{
	bool period = (now - bucket->period_at) % PERIOD_US == 0;
	bool waits = bucket->first < bucket->n;

	bucket->wait_us += waits;
	bucket->indebt_us += bucket->debt_us > 0;
	bucket->budget_us++;
	if (period ||
	    (waits && bucket->budget_us >= bucket->debt_us + bucket->waiting_us[bucket->first]))
		serve(bucket, now, gone, n_gone);
	if (period && bucket->budget_us > HALF_US)
		bucket->budget_us = HALF_US;
}

static void one_cgroup_is_a_bucket(void **state)
{
	enum { STEPS = 400'000 };
	uint64_t all_gone = 0, all_indebt_us = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct bucket bucket = { .budget_us = HALF_US, .period_at = 1000 };
		struct iocost_waiter waiters[64];
		struct bench bench;
		uint64_t random = seed, gone[64];
		uint32_t n_gone = 0;

		set_up(&bench, fixed, 1);
		for (uint64_t now = 1000; now < 1000 + STEPS; now++) {
			uint32_t dice = random_below(&random, now / 40'000 % 2 ? 20'000 : 2'500);
			enum iocost_verdict verdict;
			bool is_read = dice % 5 == 0 && bucket.n < 64;
			int64_t cost = is_read ? 100 : 10 * (int64_t)(1 + dice);

			if (now > 1000)
				tick(&bucket, now, gone, &n_gone);
			/* Often enough to be active, seldom enough that debts are paid. */
			if (dice > 30 && now > 1000)
				continue;
			advance(&bench, now * US);
			verdict = is_read ? read_page(&bench, 0, &waiters[bucket.n])
					  : write_pages(&bench, 0, 1 + dice);
			if (is_read && bucket.first == bucket.n)
				pay(&bucket);
			if (!bucket.debt_us && bucket.first == bucket.n &&
			    cost <= bucket.budget_us) {
				assert_int_equal(verdict, IOCOST_ISSUE);
				bucket.budget_us -= cost;
			} else if (is_read) {
				assert_int_equal(verdict, IOCOST_WAIT);
				bucket.waiting_us[bucket.n++] = cost;
			} else {
				assert_int_equal(verdict, IOCOST_DEBT);
				bucket.debt_us += cost;
			}
		}
		advance(&bench, (1000 + STEPS - 1) * (uint64_t)US);
		iocost_finish(&bench.ioc);
		assert_int_equal(bench.n_gone, n_gone);
		for (uint32_t i = 0; i < n_gone; i++)
			assert_int_equal(bench.gone_ns[i], gone[i] * US);
		assert_int_equal(bench.ioc.groups[0].debt, bucket.debt_us * US);
		assert_int_equal(bench.ioc.groups[0].indebt.total_ns, bucket.indebt_us * US);
		assert_int_equal(bench.ioc.groups[0].wait.total_ns, bucket.wait_us * US);
		all_gone += n_gone;
		all_indebt_us += bucket.indebt_us;
		zr_arena_fini(&bench.arena);
	}
	assert_true(all_gone > 30 && all_indebt_us > 100'000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_begins_with_half_a_period),
		cmocka_unit_test(debt_makes_reads_wait_until_it_is_paid),
		cmocka_unit_test(waiters_go_in_their_order),
		cmocka_unit_test(weights_share_the_device),
		cmocka_unit_test(a_debtor_lends_its_share),
		cmocka_unit_test(delay_grows_with_debt),
		cmocka_unit_test(an_idle_device_forgives),
		cmocka_unit_test(vrate_follows_the_latencies),
		cmocka_unit_test(one_cgroup_is_a_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
