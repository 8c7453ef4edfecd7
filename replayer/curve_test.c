/* SPDX-License-Identifier: MIT */
/*
 * The pool-size curve against pools: for each of its points a pool of that many bytes, an array of pages
 * oldest first, is run over the same events and its disk reads are counted.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/curve.h"

enum { SLOTS = 400, EVENTS = 20000, MEMCGS = 2 };

enum place { NOWHERE, POOL, MEMORY, DISK };

struct pool {
	uint64_t room, bytes, reads, refaults;
	uint32_t list[SLOTS], n;
	enum place place[SLOTS];
	uint16_t len[SLOTS], memcg_len[MEMCGS];
};

static void take_out(struct pool *pool, uint32_t slot, enum place to)
{
	uint32_t at = 0;

	if (pool->place[slot] == POOL) {
		while (pool->list[at] != slot)
			at++;
		memmove(&pool->list[at], &pool->list[at + 1], (pool->n - at - 1) * sizeof(pool->list[0]));
		pool->n--;
		pool->bytes -= pool->len[slot];
	}
	pool->place[slot] = to;
}

static void store(struct pool *pool, const struct db_event *event, uint32_t slot, bool first)
{
	uint16_t *last = &pool->memcg_len[event->memcg];

	if (first && event->len)
		*last = pool->len[slot] = event->len;
	else if (!pool->len[slot])
		pool->len[slot] = *last ? *last : 2048;
	pool->list[pool->n++] = slot;
	pool->place[slot] = POOL;
	pool->bytes += pool->len[slot];
	while (pool->bytes > pool->room)
		take_out(pool, pool->list[0], DISK);
}

static void swap_out(struct pool *pool, const struct db_event *event)
{
	unsigned outcome = event->flags & 7, reason = event->flags >> 3 & 7;
	uint32_t pages = outcome == DB_OUT_STORED ? 1 : 1u << event->order;
	bool tried = outcome == DB_OUT_STORED || (outcome == DB_OUT_REJECTED && reason == DB_REASON_LIMIT);

	for (uint32_t i = 0; i < pages; i++) {
		take_out(pool, event->slot + i, outcome == DB_OUT_REJECTED ? DISK : NOWHERE);
		if (tried)
			store(pool, event, event->slot + i, i == 0);
	}
}

static void feed_pool(struct pool *pool, const struct db_event *event)
{
	if (event->kind == DB_OUT) {
		swap_out(pool, event);
	} else if (event->kind == DB_FREE) {
		for (uint32_t i = 0; i < event->len; i++)
			take_out(pool, event->slot + i, NOWHERE);
	} else if (pool->place[event->slot] != NOWHERE) {
		pool->refaults++;
		pool->reads += pool->place[event->slot] == DISK;
		if (pool->place[event->slot] == POOL)
			take_out(pool, event->slot, MEMORY);
	}
}

static struct db_event random_row(uint64_t *random)
{
	uint32_t which = random_below(random, 100);
	uint32_t slot = random_below(random, random_below(random, 3) ? SLOTS / 4 : SLOTS - 8);
	uint16_t memcg = (uint16_t)random_below(random, MEMCGS);

	if (which < 45)
		return event_out(slot, memcg, (uint16_t)(50 + random_below(random, 4000)));
	if (which < 50) {
		struct db_event event = event_rejected(slot, memcg,
						       which < 48 ? DB_REASON_LIMIT : DB_REASON_COMPRESS);

		event.order = (uint8_t)random_below(random, 3);
		return event;
	}
	if (which < 51)
		return (struct db_event){ .kind = DB_OUT, .slot = slot, .flags = DB_OUT_ZERO };
	if (which < 55)
		return event_free(slot, (uint16_t)(1 + random_below(random, 6)));
	return event_in(slot, DB_IN_ZSWAP);
}

static struct db_event *random_rows(uint64_t seed)
{
	struct db_event *events = calloc(EVENTS, sizeof(*events));

	assert_non_null(events);
	for (uint32_t i = 0; i < EVENTS; i++)
		events[i] = random_row(&seed);
	return events;
}

static void measure(const struct db_event *events, struct play_explain *out)
{
	struct sim_machine machine = small_machine(SLOTS);
	struct curve curve;

	assert_int_equal(curve_init(&curve, &machine), ZR_OK);
	for (uint32_t i = 0; i < EVENTS; i++)
		curve_feed(&curve, &events[i]);
	assert_int_equal(curve_finish(&curve, out), ZR_OK);
	curve_fini(&curve);
}

static void run_pool(const struct db_event *events, uint64_t bytes, struct pool *pool)
{
	*pool = (struct pool){ .room = bytes };
	for (uint32_t i = 0; i < EVENTS; i++)
		feed_pool(pool, &events[i]);
}

static void every_point_is_what_a_pool_of_that_size_reads(void **state)
{
	struct play_explain *out = calloc(1, sizeof(*out));
	struct pool *pool = calloc(1, sizeof(*pool));

	(void)state;
	assert_true(out && pool);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct db_event *events = random_rows(seed);

		measure(events, out);
		assert_true(out->n_curve > 40);
		for (uint32_t i = 0; i < out->n_curve; i++) {
			run_pool(events, out->curve[i].bytes, pool);
			assert_int_equal(out->curve_refaults, pool->refaults);
			assert_int_equal(out->curve[i].disk_refaults, pool->reads);
		}
		free(events);
	}
	free(out);
	free(pool);
}

static void the_curve_falls_from_all_refaults_to_those_no_pool_saves(void **state)
{
	struct play_explain *out = calloc(1, sizeof(*out));
	struct db_event *events = random_rows(5);
	struct pool *pool = calloc(1, sizeof(*pool));

	(void)state;
	assert_true(out && pool);
	measure(events, out);
	assert_int_equal(out->curve[0].bytes, 0);
	assert_int_equal(out->curve[0].disk_refaults, out->curve_refaults);
	for (uint32_t i = 1; i < out->n_curve; i++) {
		assert_true(out->curve[i].bytes > out->curve[i - 1].bytes);
		assert_true(out->curve[i].disk_refaults < out->curve[i - 1].disk_refaults);
	}
	run_pool(events, UINT64_MAX, pool);
	assert_int_equal(out->curve[out->n_curve - 1].disk_refaults, pool->reads);
	assert_true(pool->reads > 0);
	free(out);
	free(pool);
	free(events);
}

/* Against the model itself: one cgroup, no second chance, a pool that shrinks at once. It counts pool pages,
 * drains a little further, and refuses the page that met the limit, so its reads lie near those of the curve,
 * not on it. */
static void the_model_reads_about_as_much_as_the_curve_says(void **state)
{
	enum { PAGES = 256, MODEL_SLOTS = 4000, MODEL_EVENTS = 100000 };
	struct sim_machine machine = small_machine(MODEL_SLOTS);
	struct sim_policy policy = policy_of("batched+second_chance=off+accept=99+walk=1+pool=1M");
	struct play_explain *out = calloc(1, sizeof(*out));
	uint64_t random = 77, expected = 0;
	struct curve curve;
	struct sim *sim;
	double factor;

	(void)state;
	assert_non_null(out);
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_OK);
	assert_int_equal(curve_init(&curve, &machine), ZR_OK);
	for (uint32_t i = 0; i < MODEL_EVENTS; i++) {
		uint32_t hot = random_below(&random, 3) ? MODEL_SLOTS / 4 : MODEL_SLOTS;
		uint32_t slot = random_below(&random, hot);
		struct db_event event = i % 2 ? event_in(slot, DB_IN_ZSWAP) : event_out(slot, 0, 1000);

		feed_event(sim, &machine, &event);
		curve_feed(&curve, &event);
	}
	assert_int_equal(curve_finish(&curve, out), ZR_OK);
	factor = (double)(sim_state(sim).pool_pages * 4096) / (double)sim_state(sim).compressed_bytes;
	for (uint32_t i = 0; i < out->n_curve && (double)out->curve[i].bytes * factor <= PAGES * 4096; i++)
		expected = out->curve[i].disk_refaults;
	assert_in_range(expected, out->curve_refaults / 20, out->curve_refaults * 9 / 10);
	assert_in_range(sim_counters(sim)->disk_refaults, expected * 85 / 100, expected * 115 / 100);
	curve_fini(&curve);
	sim_free(sim);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_point_is_what_a_pool_of_that_size_reads),
		cmocka_unit_test(the_curve_falls_from_all_refaults_to_those_no_pool_saves),
		cmocka_unit_test(the_model_reads_about_as_much_as_the_curve_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
