/* SPDX-License-Identifier: MIT */
/* Grids, their Pareto front, and that a sweep by any number of threads is so many replays of their own. */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 512, EVENTS = 9000 };

static struct zr_arena arena;

static void expect_grid(const char *base, const char *grid, const char *const *policies, uint32_t n)
{
	const char **got;
	uint32_t n_got;

	assert_int_equal(play_grid(base, grid, &arena, &got, &n_got), ZR_OK);
	assert_int_equal(n_got, n);
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(got[i], policies[i]);
	zr_arena_fini(&arena);
}

static void a_grid_is_all_combinations_in_order(void **state)
{
	static const char *const two_by_three[] = {
		"batched+plug=off+pool=5%",  "batched+plug=off+pool=10%", "batched+plug=off+pool=1G",
		"batched+plug=on+pool=5%",   "batched+plug=on+pool=10%",  "batched+plug=on+pool=1G",
	};
	static const char *const one[] = { "unbatched+walk=7" };

	(void)state;
	expect_grid("batched", "plug=off,on;pool=5%,10%,1G", two_by_three, 6);
	expect_grid("batched", "plug=off,on;pool=5%,10%,1G;", two_by_three, 6);
	expect_grid("unbatched", "walk=7", one, 1);
}

static void a_bad_grid_is_refused_with_what_is_wrong(void **state)
{
	static const struct {
		const char *grid, *says;
		enum zr_err err;
	} bad[] = {
		{ "", "empty", ZR_USAGE },
		{ ";", "KNOB=VALUE", ZR_USAGE },
		{ "pool", "KNOB=VALUE", ZR_USAGE },
		{ "=5", "KNOB=VALUE", ZR_USAGE },
		{ "pool=", "KNOB=VALUE", ZR_USAGE },
		{ "pool=5%,,6%", "takes PCT", ZR_BAD_POLICY },
		{ "pool=5%;nosuch=1", "'nosuch' is not a knob", ZR_BAD_POLICY },
		{ "plug=on,perhaps", "off|on", ZR_BAD_POLICY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char **got;
		uint32_t n;

		assert_int_equal(play_grid("batched", bad[i].grid, &arena, &got, &n), bad[i].err);
		if (!strstr(zr_error_text(), bad[i].says))
			fail_msg("grid '%s' gives: %s", bad[i].grid, zr_error_text());
		zr_error_clear();
		zr_arena_fini(&arena);
	}
}

static void a_grid_has_a_limit(void **state)
{
	char grid[12 * 200] = "";
	const char **got;
	uint32_t n;

	(void)state;
	for (int knob = 0; knob < 2; knob++) {
		strcat(grid, knob ? ";walk=1" : "store_walk=1");
		for (int i = 2; i <= 33; i++)
			sprintf(grid + strlen(grid), ",%d", i);
	}
	assert_int_equal(play_grid("batched", grid, &arena, &got, &n), ZR_LIMIT); /* 33 x 33 */
	zr_error_clear();
	zr_arena_fini(&arena);
}

/* ------------------------------------------------------------------------------------ Pareto front */

static void the_front_is_what_nothing_beats(void **state)
{
	enum { ROWS = 60 };
	struct play_sweep_row rows[ROWS] = { 0 };
	uint64_t random = 5;
	int front = 0;

	(void)state;
	for (int i = 0; i < ROWS; i++) {
		rows[i].figures.host = (uint32_t)i % 2;
		rows[i].figures.counters.pool_pages_max = random_below(&random, 20);
		rows[i].figures.io.write_requests = random_below(&random, 10);
		rows[i].figures.io.read_requests = random_below(&random, 10);
	}
	play_mark_pareto(rows, ROWS);
	for (int i = 0; i < ROWS; i++) {
		/* Naively: the least I/O among those of at most this memory, and nobody with it has less. */
		const struct play_figures *a = &rows[i].figures;
		uint64_t io = a->io.write_requests + a->io.read_requests;
		bool beaten = false;

		for (int k = 0; k < ROWS; k++) {
			const struct play_figures *b = &rows[k].figures;
			uint64_t io_b = b->io.write_requests + b->io.read_requests;

			if (k % 2 != i % 2)
				continue;
			if (b->counters.pool_pages_max < a->counters.pool_pages_max && io_b <= io)
				beaten = true;
			if (b->counters.pool_pages_max == a->counters.pool_pages_max && io_b < io)
				beaten = true;
		}
		assert_int_equal(rows[i].pareto, !beaten);
		front += rows[i].pareto;
	}
	assert_in_range(front, 2, ROWS / 2);
}

/* ------------------------------------------------------------------------------------------ replays */

static struct db *make_trace(char path[64])
{
	struct db_writer *writer;
	uint64_t random = 8;
	struct db *db;

	strcpy(path, "/tmp/zreel-sweep-XXXXXX");
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(db_open(path, DB_CREATE, &db), ZR_OK);
	assert_int_equal(db_put_memcg(db, &(struct db_memcg){ .id = 1, .path = "/job" }), ZR_OK);
	assert_int_equal(db_put_area(db, &(struct db_area){ .path = "/s", .slots = SLOTS }), ZR_OK);
	assert_int_equal(
		db_writer_new(db, &(struct db_writer_options){ .flush_every_ns = 1000 }, &writer), ZR_OK);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct db_event event = i % 16 == 0 ? event_scan(1, 20) :
					i % 3	    ? event_out(random_below(&random, SLOTS), 1, 2000) :
						      event_in(random_below(&random, SLOTS), DB_IN_ZSWAP);

		event.time_ns = i;
		assert_int_equal(db_writer_add(writer, &event), ZR_OK);
	}
	assert_int_equal(db_writer_free(writer), ZR_OK);
	assert_int_equal(db_set_complete(db), ZR_OK);
	return db;
}

struct taken {
	struct play_figures figures[32];
	uint32_t n;
};

static void take(void *arg, const struct play_figures *figures)
{
	struct taken *taken = arg;

	taken->figures[taken->n++] = *figures;
}

static void replay(struct db *trace, const char *const *policies, uint32_t n, uint32_t jobs,
		   struct taken *out)
{
	struct play_options options = { .policies = policies, .n_policies = n, .jobs = jobs,
					.figures = take, .figures_arg = out };

	memset(out, 0, sizeof(*out));
	assert_int_equal(play_replay(trace, NULL, &options), ZR_OK);
	assert_int_equal(out->n, n);
}

static void a_sweep_is_so_many_replays_on_any_number_of_threads(void **state)
{
	static const uint32_t jobs[] = { 0, 1, 2, 3, 5, 64 };
	struct taken *alone = calloc(1, sizeof(*alone)), *swept = calloc(1, sizeof(*swept));
	const char **policies;
	char path[64];
	struct db *trace = make_trace(path);
	uint32_t n;

	(void)state;
	assert_true(alone && swept);
	assert_int_equal(play_grid("unbatched",
				   "pool=100K,300K,600K;batch=off,on;slots=recorded,vswap;shrinker=on,off",
				   &arena, &policies, &n),
			 ZR_OK);
	assert_int_equal(n, 24);
	for (size_t j = 0; j < sizeof(jobs) / sizeof(jobs[0]); j++) {
		replay(trace, policies, n, jobs[j], swept);
		for (uint32_t i = 0; i < n; i++) {
			replay(trace, &policies[i], 1, 1, alone);
			alone->figures[0].policy = i;
			assert_memory_equal(&swept->figures[i], &alone->figures[0],
					    sizeof(alone->figures[0]));
			assert_true(swept->figures[i].counters.zswpout > 0);
		}
	}
	zr_arena_fini(&arena);
	assert_int_equal(db_close(trace), ZR_OK);
	unlink(path);
	free(alone);
	free(swept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grid_is_all_combinations_in_order),
		cmocka_unit_test(a_bad_grid_is_refused_with_what_is_wrong),
		cmocka_unit_test(a_grid_has_a_limit),
		cmocka_unit_test(the_front_is_what_nothing_beats),
		cmocka_unit_test(a_sweep_is_so_many_replays_on_any_number_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
