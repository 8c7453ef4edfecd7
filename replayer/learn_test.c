/* SPDX-License-Identifier: MIT */
/* What is learnt of a recorded kernel, from events whose times were chosen so that the means are
 * plain. */
#include "replayer/test_events.h"

#include <string.h>

#include "replayer/learn.h"

enum { WORKER = 7, OTHER = 8 };

struct lesson {
	struct zr_arena arena;
	struct db_batch batch;
};

static struct lesson new_lesson(void)
{
	struct lesson lesson = { 0 };

	assert_int_equal(db_batch_init(&lesson.batch, &lesson.arena), ZR_OK);
	return lesson;
}

static void at(struct lesson *lesson, uint64_t us, struct db_event event)
{
	event.time_ns = us * 1000;
	db_batch_add(&lesson->batch, &event);
}

static struct db_event of_task(uint8_t kind, uint32_t task)
{
	return (struct db_event){ .kind = kind, .task = task };
}

/* The result's tables are in the lesson's arena. */
static struct sim_learnt learn_with(struct lesson *lesson, struct learn state)
{
	struct sim_learnt learnt;

	for (uint32_t row = 0; row < lesson->batch.n; row++)
		assert_int_equal(learn_row(&state, &lesson->batch, row, &lesson->arena), ZR_OK);
	assert_int_equal(learn_finish(&state, &lesson->arena, &learnt), ZR_OK);
	return learnt;
}

static struct sim_learnt learn(struct lesson *lesson)
{
	return learn_with(lesson, (struct learn){ 0 });
}

static void refused(struct lesson *lesson, uint64_t us)
{
	at(lesson, us, event_rejected((uint32_t)us, 1, DB_REASON_LIMIT));
}

static void stored(struct lesson *lesson, uint64_t us)
{
	at(lesson, us, event_out((uint32_t)us, 1, 1000));
}

static void the_pace_is_the_mean_of_visits_writes_and_lags(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	refused(&l, 1000);
	at(&l, 1030, of_task(DB_WORKER, WORKER)); /* lag 30 */
	at(&l, 1040, of_task(DB_SHRINK, WORKER)); /* visit 10 */
	at(&l, 1050, of_task(DB_SHRINK, WORKER)); /* three writes in 60 */
	at(&l, 1060, of_task(DB_WB, WORKER));
	at(&l, 1070, of_task(DB_WB, WORKER));
	at(&l, 1075, of_task(DB_WB, OTHER)); /* of somebody else */
	at(&l, 1080, of_task(DB_WB, WORKER));
	at(&l, 1100, of_task(DB_SHRINK, OTHER));
	at(&l, 1110, of_task(DB_SHRINK, WORKER)); /* visit 20 */
	at(&l, 1130, of_task(DB_SHRINK, WORKER)); /* the last: nobody sees its end */
	refused(&l, 1140);
	at(&l, 1150, of_task(DB_WORKER, WORKER)); /* lag 10, since the refusal */
	learnt = learn(&l);
	assert_int_equal(learnt.pace.visit_ns, 15000);
	assert_int_equal(learnt.pace.write_ns, 20000);
	assert_int_equal(learnt.pace.lag_ns, 20000);
	assert_int_equal(learnt.n_lags, 2);
	assert_true(learnt.lags[0].queued_ns == 1000'000 && learnt.lags[0].lag_ns == 30'000);
	assert_true(learnt.lags[1].queued_ns == 1140'000 && learnt.lags[1].lag_ns == 10'000);
	assert_int_equal(learnt.worker_visits, 2);
	assert_int_equal(learnt.written_pages, 3);
	zr_arena_fini(&l.arena);
}

static void a_refusal_that_is_seen_after_the_worker_started_shortens_the_mean(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	refused(&l, 1000);
	at(&l, 1050, of_task(DB_WORKER, WORKER)); /* 50 */
	at(&l, 1060, of_task(DB_SHRINK, WORKER));
	at(&l, 1100,
	   of_task(DB_WORKER, WORKER)); /* queued by the store that returns at 1120: -20 */
	refused(&l, 1120);
	learnt = learn(&l);
	assert_int_equal(learnt.pace.lag_ns, 15000);
	assert_true(learnt.lags[1].queued_ns == 1120'000 && learnt.lags[1].lag_ns == 0);
	zr_arena_fini(&l.arena);
}

/* What queued it need not have been the first refusal. */
static void a_pool_that_evicts_has_one_lag_the_median_since_the_last_refusal(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	refused(&l, 1000);
	refused(&l, 1010);
	at(&l, 1030, of_task(DB_WORKER, WORKER)); /* 20 */
	refused(&l, 2000);
	at(&l, 2005, of_task(DB_WORKER, WORKER)); /* 5 */
	refused(&l, 3000);
	at(&l, 3400, of_task(DB_WORKER, WORKER)); /* 400 */
	learnt = learn_with(&l, (struct learn){ .pool_evicts = true });
	assert_int_equal(learnt.pace.lag_ns, 20'000);
	assert_int_equal(learnt.n_lags, 0);
	zr_arena_fini(&l.arena);
}

static bool is_dropped(const struct sim_learnt *learnt, uint32_t in)
{
	assert_true(in < learnt->n_dropped);
	return learnt->dropped[in / 8] >> in % 8 & 1;
}

static void a_slot_that_comes_back_twice_was_dropped_in_between(void **state)
{
	uint32_t slots[300] = { 0 }, *areas[DB_AREA_MAX + 1] = { slots };
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	at(&l, 1, event_in(1, DB_IN_ZSWAP)); /* 0: dropped */
	at(&l, 2, event_in(1, DB_IN_DISK));
	at(&l, 3, event_in(2, DB_IN_ZSWAP)); /* 2: went out */
	at(&l, 4, event_out(2, 1, 100));
	at(&l, 5, event_in(2, DB_IN_ZSWAP)); /* 3: dropped after that */
	at(&l, 6, event_in(3, DB_IN_ZSWAP)); /* 4: freed */
	at(&l, 7, event_free(3, 2));
	at(&l, 8, event_in(3, DB_IN_ZSWAP)); /* 5: never seen again */
	at(&l, 9, event_in(2, DB_IN_ZSWAP));
	for (uint32_t slot = 20; slot < 300; slot++) /* 7 to 286 */
		at(&l, 10, event_in(slot, DB_IN_ZSWAP));
	at(&l, 11, event_in(299, DB_IN_ZSWAP));
	learnt = learn_with(&l, (struct learn){ .last_in = areas });
	for (uint32_t in = 0; in < learnt.n_dropped; in++)
		assert_int_equal(is_dropped(&learnt, in), in == 0 || in == 3 || in == 286);
	assert_int_equal(learnt.n_dropped, 288);
	assert_null(learn(&l).dropped);
	zr_arena_fini(&l.arena);
}

static void a_busy_time_has_its_own_pace(void **state)
{
	const uint64_t window_us = SIM_PACED_NS / 1000;
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	for (uint64_t w = 0; w < 2; w++) {
		at(&l, w * 3 * window_us + 1000, of_task(DB_WORKER, WORKER));
		for (uint64_t i = 0; i < 5; i++)
			at(&l, w * 3 * window_us + 1000 + i * (w ? 40 : 20),
			   of_task(DB_SHRINK, WORKER));
	}
	learnt = learn(&l);
	assert_int_equal(learnt.pace.visit_ns, 30000);
	assert_int_equal(learnt.n_paced, 2);
	assert_int_equal(learnt.paced[0].from_ns, 0);
	assert_int_equal(learnt.paced[0].pace.visit_ns, 20000);
	assert_int_equal(learnt.paced[1].from_ns, 3 * SIM_PACED_NS);
	assert_int_equal(learnt.paced[1].pace.visit_ns, 40000);
	assert_int_equal(learnt.paced[1].pace.write_ns, learnt.pace.write_ns);
	zr_arena_fini(&l.arena);
}

static void a_call_longer_than_a_window_gives_its_pace_to_all_of_its_time(void **state)
{
	const uint64_t window_us = SIM_PACED_NS / 1000;
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	at(&l, 10, of_task(DB_WORKER, WORKER));
	at(&l, 20, of_task(DB_SHRINK, WORKER));
	at(&l, 5 * window_us + 7, of_task(DB_SHRINK, WORKER));
	at(&l, 5 * window_us + 9, of_task(DB_SHRINK, WORKER));
	learnt = learn(&l);
	assert_int_equal(learnt.n_paced, 2);
	assert_int_equal(learnt.paced[0].from_ns, 20000);
	assert_int_equal(learnt.paced[0].to_ns, 5 * SIM_PACED_NS + 7000);
	assert_int_equal(learnt.paced[0].pace.visit_ns, 5 * SIM_PACED_NS - 13000);
	assert_int_equal(learnt.paced[1].from_ns, 5 * SIM_PACED_NS + 7000);
	assert_int_equal(learnt.paced[1].to_ns, 6 * SIM_PACED_NS);
	assert_int_equal(learnt.paced[1].pace.visit_ns, 2000);
	zr_arena_fini(&l.arena);
}

static void refusals_in_a_row_around_the_worker_are_the_pools(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	refused(&l, 1); /* a page that did not compress, and another */
	stored(&l, 2);
	for (uint64_t us = 10; us < 14; us++)
		refused(&l, us); /* four, but no worker: neither */
	stored(&l, 20);
	for (uint64_t us = 30; us < 34; us++) {
		refused(&l, us);
		if (us == 31)
			at(&l, us, of_task(DB_WORKER, WORKER));
	}
	stored(&l, 40);
	for (uint64_t us = 50; us < 53; us++)
		refused(&l, us);			      /* three at the end */
	at(&l, 60, event_rejected(0, 1, DB_REASON_COMPRESS)); /* says so itself */
	learnt = learn(&l);
	assert_true(learnt.knows_refusals);
	assert_int_equal(learnt.n_refusals, 1);
	assert_int_equal(learnt.refusals[0].from_ns, 30000);
	assert_int_equal(learnt.refusals[0].to_ns, 33000);
	zr_arena_fini(&l.arena);
}

static void without_any_worker_refusals_in_a_row_are_enough(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	for (uint64_t us = 10; us < 14; us++)
		refused(&l, us);
	learnt = learn(&l);
	assert_int_equal(learnt.n_refusals, 1);
	assert_int_equal(learnt.refusals[0].from_ns, 10000);
	assert_int_equal(learnt.refusals[0].to_ns, 13000);
	zr_arena_fini(&l.arena);
}

static void many_stretches_of_refusals_outgrow_the_first_table(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		for (uint64_t us = 0; us < 5; us++)
			refused(&l, i * 10 + us);
		stored(&l, i * 10 + 6);
	}
	learnt = learn(&l);
	assert_int_equal(learnt.n_refusals, 100);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(learnt.refusals[i].from_ns, i * 10000);
		assert_int_equal(learnt.refusals[i].to_ns, i * 10000 + 4000);
	}
	zr_arena_fini(&l.arena);
}

static void an_empty_recording_teaches_nothing(void **state)
{
	struct lesson l = new_lesson();
	struct sim_learnt learnt = learn(&l);

	(void)state;
	assert_int_equal(learnt.pace.lag_ns + learnt.pace.visit_ns + learnt.pace.write_ns, 0);
	assert_int_equal(learnt.n_refusals + learnt.n_paced, 0);
	assert_false(learnt.has_reclaims || learnt.has_scans);
	zr_arena_fini(&l.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pace_is_the_mean_of_visits_writes_and_lags),
		cmocka_unit_test(a_refusal_that_is_seen_after_the_worker_started_shortens_the_mean),
		cmocka_unit_test(a_pool_that_evicts_has_one_lag_the_median_since_the_last_refusal),
		cmocka_unit_test(a_slot_that_comes_back_twice_was_dropped_in_between),
		cmocka_unit_test(a_busy_time_has_its_own_pace),
		cmocka_unit_test(a_call_longer_than_a_window_gives_its_pace_to_all_of_its_time),
		cmocka_unit_test(refusals_in_a_row_around_the_worker_are_the_pools),
		cmocka_unit_test(without_any_worker_refusals_in_a_row_are_enough),
		cmocka_unit_test(many_stretches_of_refusals_outgrow_the_first_table),
		cmocka_unit_test(an_empty_recording_teaches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
