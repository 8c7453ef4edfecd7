/* SPDX-License-Identifier: MIT */
/*
 * The race: going to a time by way of images is compared with a straight run there, lanes that were
 * added on the way with lanes that were there from the start, and the end of it all with a replay.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/snapshot.h"
#include "replayer/test_events.h"

enum { SLOTS = 2048, EVENTS = 12000, STEP_NS = 1000, FIRST_NS = 7000 };

static const char *const policies[] = { "unbatched+pool=300K",
					"plugged+pool=250K+second_chance=on",
					"batched+pool=300K+slots=vswap",
					"batched+pool=200K+order=sorted",
					"batched+pool=200K+order=cluster",
					"shrink-off+pool=250K" };

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

struct fixture {
	char dir[64], path[96];
	struct db *db;
};

/* Some events share their time, as after a coarse clock; two gaps. */
static struct db_event event_at(uint32_t i, uint64_t *seed)
{
	uint32_t any =
		random_below(seed, 4) ? random_below(seed, 300) : random_below(seed, SLOTS - 20);
	uint32_t slot = i % 64 < 40 ? 500 + i % 1024 : any;
	struct db_event e = event_out(slot, (uint16_t)random_below(seed, 2),
				      (uint16_t)(200 + random_below(seed, 3000)));
	uint32_t kind = random_below(seed, 100);

	if (i == 3000 || i == 9000)
		e = (struct db_event){ .kind = DB_GAP, .slot = 5 };
	else if (kind < 2)
		e = event_scan((uint16_t)(kind % 2), 40);
	else if (kind < 30)
		e = event_in(slot, DB_IN_ZSWAP);
	else if (kind < 45)
		e = event_free(slot, (uint16_t)(1 + random_below(seed, 9)));
	e.time_ns = FIRST_NS + (uint64_t)(i - i % 3) * STEP_NS;
	return e;
}

static enum zr_err describe(struct db *db)
{
	struct db_area area = { .id = 0, .path = "/dev/vda", .slots = SLOTS };
	struct db_memcg memcg = { .id = 1, .cgroup_id = 7, .path = "/job" };
	struct db_task task = { .id = 2, .tid = 100, .tgid = 100, .comm = "" };
	enum zr_err err = db_env_set(db, 0, DB_ENV_PAGE_SIZE, "4096");

	if (!err)
		err = db_env_set(db, 0, DB_ENV_MEM_PAGES, "100000");
	if (!err)
		err = db_env_set(db, 0, DB_ENV_ZSWAP_PREFIX "max_pool_percent", "20");
	if (!err)
		err = db_env_set(db, 0, DB_ENV_ZSWAP_PREFIX "accept_threshold_percent", "90");
	if (!err)
		err = db_put_area(db, &area);
	if (!err)
		err = db_put_memcg(db, &memcg);
	return err ? err : db_put_task(db, &task);
}

static void write_events(struct db *db, uint32_t from, uint32_t to, uint64_t *seed)
{
	struct db_writer_options options = { .flush_every_ns = 500 * STEP_NS };
	struct db_writer *writer;

	assert_int_equal(db_writer_new(db, &options, &writer), ZR_OK);
	for (uint32_t i = from; i < to; i++) {
		struct db_event event = event_at(i, seed);

		assert_int_equal(db_writer_add(writer, &event), ZR_OK);
	}
	assert_int_equal(db_writer_free(writer), ZR_OK);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint64_t seed = 42;
	struct db *db;

	*state = f;
	zr_error_clear();
	snprintf(f->dir, sizeof(f->dir), "/tmp/zreel-race-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/t.zr", f->dir);
	assert_int_equal(db_open(f->path, DB_CREATE, &db), ZR_OK);
	assert_int_equal(describe(db), ZR_OK);
	write_events(db, 0, EVENTS, &seed);
	assert_int_equal(db_set_complete(db), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
	return db_open(f->path, DB_READ, &f->db) ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	enum zr_err err = db_close(f->db);

	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return err ? -1 : 0;
}

static struct play_race *start(const struct fixture *f, uint32_t n, uint64_t image_events)
{
	struct play_race_options options = { .policies = policies,
					     .n_policies = n,
					     .image_events = image_events };
	struct play_race *race;

	if (play_race_new(f->db, &options, &race))
		fail_msg("%s", zr_error_text());
	return race;
}

static void advance(struct play_race *race, uint64_t until_ns)
{
	bool there = false;

	while (!there)
		assert_int_equal(play_race_advance(race, until_ns, 700, &there), ZR_OK);
}

static void go(struct play_race *race, uint64_t time_ns)
{
	play_race_seek(race, time_ns);
	advance(race, time_ns);
}

static void catch_up(struct play_race *race)
{
	bool all = false;

	while (!all)
		assert_int_equal(play_race_catch_up(race, 333, &all), ZR_OK);
}

static void assert_same_lane(const struct play_race *a, uint32_t i, const struct play_race *b,
			     uint32_t j)
{
	struct play_lane x = play_race_lane(a, i), y = play_race_lane(b, j);

	assert_true(x.joined && y.joined);
	assert_memory_equal(x.counters, y.counters, sizeof(*x.counters));
	assert_memory_equal(x.io, y.io, sizeof(*x.io));
	assert_memory_equal(x.request_pages, y.request_pages, sizeof(*x.request_pages));
	assert_memory_equal(x.breaks, y.breaks, PLAY_BREAK_COUNT * sizeof(*x.breaks));
	assert_memory_equal(x.ceiling_requests, y.ceiling_requests, sizeof(x.ceiling_requests));
	assert_int_equal(x.state.pool_pages, y.state.pool_pages);
	assert_int_equal(x.state.compressed_bytes, y.state.compressed_bytes);
	assert_int_equal(x.state.refusing, y.state.refusing);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		struct play_slot s = play_race_slot(a, i, 0, slot),
				 t = play_race_slot(b, j, 0, slot);

		assert_int_equal(s.state, t.state);
		assert_int_equal(s.run, t.run);
		assert_int_equal(s.since_ns, t.since_ns);
		assert_int_equal(s.unknown, t.unknown);
	}
}

static void assert_same(const struct play_race *a, const struct play_race *b)
{
	assert_int_equal(play_race_cursor(a), play_race_cursor(b));
	for (uint32_t i = 0; i < play_race_lanes(a); i++)
		assert_same_lane(a, i, b, i);
}

/* ----------------------------------------------------------------------------------------- time */

static void seeking_is_the_same_as_a_straight_run(void **state)
{
	struct play_race *race = start(*state, POLICIES, 150);
	uint64_t seed = 9;

	go(race, UINT64_MAX);
	for (int i = 0; i < 40; i++) {
		/* Times between two events, at events and before all of them. */
		uint64_t time_ns = FIRST_NS - 10 + random_below(&seed, EVENTS * STEP_NS);
		struct play_race *straight = start(*state, POLICIES, UINT64_MAX / 2);

		go(race, time_ns);
		advance(straight, time_ns);
		assert_int_equal(play_race_clock_ns(race), play_race_clock_ns(straight));
		assert_same(race, straight);
		/* And on from there. */
		go(race, time_ns + 400 * STEP_NS);
		advance(straight, time_ns + 400 * STEP_NS);
		assert_same(race, straight);
		play_race_free(straight);
	}
	play_race_free(race);
}

static void images_that_do_not_fit_are_thinned_out(void **state)
{
	struct fixture *f = *state;
	struct play_race_options options = {
		.policies = policies, .n_policies = 2, .image_events = 50, .image_bytes = 2000000
	};
	struct play_race *race, *straight = start(f, 2, UINT64_MAX / 2);

	assert_int_equal(play_race_new(f->db, &options, &race), ZR_OK);
	go(race, UINT64_MAX);
	for (uint64_t part = 9; part > 0; part--) {
		uint64_t time_ns = FIRST_NS + EVENTS * STEP_NS * part / 10;

		go(race, time_ns);
		go(straight, time_ns);
		assert_same(race, straight);
	}
	play_race_free(straight);
	play_race_free(race);
}

static void keep_figures(void *arg, const struct play_figures *figures)
{
	((struct play_figures *)arg)[figures->policy] = *figures;
}

static void the_end_is_that_of_a_replay(void **state)
{
	struct fixture *f = *state;
	struct play_figures figures[POLICIES];
	struct play_options options = { .policies = policies,
					.n_policies = POLICIES,
					.target = PLAY_NULL,
					.figures = keep_figures,
					.figures_arg = figures };
	struct play_race *race = start(f, POLICIES, 500);

	assert_int_equal(play_replay(f->db, NULL, &options), ZR_OK);
	go(race, play_race_end_ns(race));
	assert_int_equal(play_race_cursor(race), EVENTS);
	for (uint32_t i = 0; i < POLICIES; i++) {
		struct play_lane lane = play_race_lane(race, i);

		assert_true(lane.counters->written_back_pages > 0 || strstr(policies[i], "off"));
		assert_memory_equal(lane.counters, &figures[i].counters, sizeof(*lane.counters));
		assert_memory_equal(lane.io, &figures[i].io, sizeof(*lane.io));
	}
	play_race_free(race);
}

static void the_breaks_and_the_sizes_add_up(void **state)
{
	struct play_race *race = start(*state, POLICIES, 500);

	for (uint64_t part = 1; part <= 10; part++) {
		go(race, FIRST_NS + EVENTS * STEP_NS * part / 10 + 5);
		for (uint32_t i = 0; i < POLICIES; i++) {
			struct play_lane lane = play_race_lane(race, i);
			uint64_t breaks = 0;

			for (int cause = 0; cause < PLAY_BREAK_COUNT; cause++)
				breaks += lane.breaks[cause];
			assert_int_equal(breaks, lane.contexts);
			/* Some requests of a direct run may not have left yet. */
			assert_in_range(lane.request_pages->count, lane.io->write_requests - 64,
					lane.io->write_requests);
		}
	}
	play_race_free(race);
}

/* ---------------------------------------------------------------------------------------- lanes */

static void an_added_lane_joins_as_if_it_had_been_there(void **state)
{
	struct play_race *race = start(*state, 2, 200), *whole = start(*state, 3, 200);
	uint64_t middle = FIRST_NS + EVENTS / 2 * STEP_NS;
	bool all;

	go(race, middle);
	assert_int_equal(play_race_add(race, policies[2]), ZR_OK);
	assert_false(play_race_lane(race, 2).joined);
	assert_int_equal(play_race_catch_up(race, 1000, &all), ZR_OK);
	assert_false(all);
	assert_true(play_race_lane(race, 2).caught_up > 0);
	/* The race goes on, back and on again meanwhile. */
	go(race, middle + 1000 * STEP_NS);
	go(race, FIRST_NS + 500 * STEP_NS);
	catch_up(race);
	go(whole, FIRST_NS + 500 * STEP_NS);
	assert_same(race, whole);
	go(race, UINT64_MAX);
	go(race, middle);
	go(whole, middle);
	assert_same(race, whole);
	play_race_free(race);
	play_race_free(whole);
}

static void a_lane_added_at_the_end_is_flushed_too(void **state)
{
	struct play_race *race = start(*state, 1, 200), *whole = start(*state, 2, 200);

	go(race, UINT64_MAX);
	assert_int_equal(play_race_add(race, policies[1]), ZR_OK);
	catch_up(race);
	go(whole, UINT64_MAX);
	assert_same(race, whole);
	assert_memory_equal(play_race_history(race), play_race_history(whole),
			    sizeof(struct play_history));
	play_race_free(race);
	play_race_free(whole);
}

static void lanes_can_be_replaced_and_removed(void **state)
{
	struct play_race *race = start(*state, 3, 200), *other = start(*state, 3, 200);
	uint64_t middle = FIRST_NS + EVENTS / 2 * STEP_NS;

	go(race, middle);
	assert_int_equal(play_race_replace(race, 0, policies[2]), ZR_OK);
	catch_up(race);
	play_race_remove(race, 1);
	go(other, middle);
	assert_int_equal(play_race_lanes(race), 2);
	assert_same_lane(race, 0, other, 2);
	assert_same_lane(race, 1, other, 2);
	go(race, FIRST_NS + 900 * STEP_NS);
	go(other, FIRST_NS + 900 * STEP_NS);
	assert_same_lane(race, 0, other, 2);
	assert_same_lane(race, 1, other, 2);
	play_race_free(race);
	play_race_free(other);
}

static void a_bad_policy_changes_nothing(void **state)
{
	struct play_race *race = start(*state, 2, 200);

	assert_int_equal(play_race_add(race, "batched+nosuch=1"), ZR_BAD_POLICY);
	zr_error_clear();
	assert_int_equal(play_race_replace(race, 0, "nosuch"), ZR_BAD_POLICY);
	zr_error_clear();
	assert_int_equal(play_race_lanes(race), 2);
	assert_string_equal(play_race_lane(race, 0).policy->text, policies[0]);
	play_race_free(race);
}

/* ---------------------------------------------------------------------------------------- jumps */

static void jump(struct play_race *race, enum play_jump to, uint32_t lane)
{
	bool there = false;

	play_race_jump(race, to, lane);
	while (!there)
		assert_int_equal(play_race_jump_on(race, 100, &there), ZR_OK);
}

static void jumps_stop_right_behind_what_they_look_for(void **state)
{
	struct play_race *race = start(*state, POLICIES, 500);
	uint64_t before;

	jump(race, PLAY_TO_EVENT, 0);
	assert_int_equal(play_race_cursor(race), 1);
	before = play_race_lane(race, 1).counters->written_back_pages;
	jump(race, PLAY_TO_WALK, 1);
	assert_true(play_race_lane(race, 1).counters->written_back_pages > before);
	jump(race, PLAY_TO_WAKEUP, 0);
	assert_int_equal(play_race_lane(race, 0).counters->shrink_worker_wakeups, 1);
	jump(race, PLAY_TO_STORM, 5);
	before = play_race_lane(race, 5).counters->store_rejected;
	assert_true(before >= PLAY_STORM);
	play_race_free(race);
}

static void a_jump_to_what_never_comes_ends_at_the_end(void **state)
{
	struct play_race *race = start(*state, POLICIES, 500);

	/* Swap-outs come evenly here. */
	jump(race, PLAY_TO_BURST, 0);
	assert_int_equal(play_race_cursor(race), EVENTS);
	assert_int_equal(play_race_clock_ns(race), play_race_end_ns(race));
	play_race_free(race);
}

static void gaps_are_found_one_by_one(void **state)
{
	struct play_race *race = start(*state, 1, 500);
	uint64_t gap_ns;

	assert_true(play_race_next_gap(race, &gap_ns));
	assert_int_equal(gap_ns, FIRST_NS + 3000 * STEP_NS);
	go(race, gap_ns + 1);
	assert_true(play_race_next_gap(race, &gap_ns));
	assert_int_equal(gap_ns, FIRST_NS + 9000 * STEP_NS);
	go(race, gap_ns + 1);
	assert_false(play_race_next_gap(race, &gap_ns));
	play_race_free(race);
}

/* ---------------------------------------------------------------------------------------- slots */

static void what_a_gap_may_have_changed_is_unknown(void **state)
{
	struct play_race *race = start(*state, 1, 500);
	uint32_t known = 0, unknown = 0;

	go(race, FIRST_NS + 2999 * STEP_NS);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		assert_false(play_race_slot(race, 0, 0, slot).unknown);
	go(race, FIRST_NS + 3060 * STEP_NS);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		struct play_slot it = play_race_slot(race, 0, 0, slot);

		known += it.since_ns && !it.unknown;
		unknown += it.unknown;
		assert_true(!it.unknown || it.since_ns < FIRST_NS + 3000 * STEP_NS);
	}
	assert_true(known > 0 && unknown > 0);
	play_race_free(race);
}

static void runs_are_neighbours_that_went_together(void **state)
{
	struct play_race *race = start(*state, 2, 500);
	uint32_t pairs = 0;

	go(race, UINT64_MAX);
	for (uint32_t slot = 0; slot + 1 < SLOTS; slot++) {
		struct play_slot a = play_race_slot(race, 0, 0, slot);
		struct play_slot b = play_race_slot(race, 1, 0, slot);
		struct play_slot next = play_race_slot(race, 1, 0, slot + 1);

		/* Unbatched walks write one page at a time; here all stores are accepted in time.
		 */
		assert_true(!a.run || a.state == SIM_SLOT_DISK);
		pairs += b.run && b.run == next.run;
	}
	assert_true(pairs > 0);
	play_race_free(race);
}

/* The lane alone under a policy, to the end; neighbours that share a run. */
static uint32_t joined_neighbours(struct fixture *f, const char *policy, struct play_io *io)
{
	const struct play_race_options options = { .policies = &policy, .n_policies = 1 };
	struct play_race *race;
	uint32_t joined = 0;

	assert_int_equal(play_race_new(f->db, &options, &race), ZR_OK);
	go(race, UINT64_MAX);
	for (uint32_t slot = 0; slot + 1 < SLOTS; slot++) {
		struct play_slot it = play_race_slot(race, 0, 0, slot);

		joined += it.run && it.run == play_race_slot(race, 0, 0, slot + 1).run;
	}
	*io = *play_race_lane(race, 0).io;
	play_race_free(race);
	return joined;
}

/* Contexts of one page each: only the plug can join any. */
static void a_plugs_merges_make_one_run(void **state)
{
	struct play_io single, plugged;

	assert_int_equal(joined_neighbours(*state, "unbatched+pool=250K+direct_batch=off", &single), 0);
	assert_int_equal(single.write_merges, 0);
	assert_true(joined_neighbours(*state, "plug-only+pool=250K+direct_batch=off", &plugged) > 0);
	assert_true(plugged.write_merges > 0);
}

static void clusters_are_those_that_are_touched(void **state)
{
	struct play_race *race = start(*state, 1, 500);
	struct play_cluster clusters[8];

	assert_int_equal(play_race_clusters(race), SLOTS / PLAY_CLUSTER);
	assert_int_equal(play_race_read_clusters(race, clusters, 8), SLOTS / PLAY_CLUSTER);
	assert_int_equal(clusters[2].first, 2 * PLAY_CLUSTER);
	assert_int_equal(clusters[3].slots, PLAY_CLUSTER);
	play_race_free(race);
}

/* -------------------------------------------------------------------------------------- results */

static void a_lane_is_stored_as_a_run_with_its_name(void **state)
{
	struct fixture *f = *state;
	struct play_race *race = start(f, 2, 500);
	struct zr_arena arena = { 0 };
	char path[128];
	struct db_run *runs;
	struct db *db;
	size_t n;

	snprintf(path, sizeof(path), "%s/runs.zr", f->dir);
	go(race, FIRST_NS + 4000 * STEP_NS);
	assert_int_equal(db_open(path, DB_RESULTS, &db), ZR_OK);
	assert_int_equal(play_race_store(race, 1, "my run", db), ZR_OK);
	go(race, UINT64_MAX);
	assert_int_equal(play_race_store(race, 0, "whole", db), ZR_OK);
	assert_int_equal(db_runs(db, &arena, &runs, &n), ZR_OK);
	assert_int_equal(n, 2);
	assert_string_equal(runs[0].policy, policies[1]);
	assert_true(runs[0].partial && strncmp(runs[0].note, "my run", 6) == 0);
	assert_false(runs[1].partial);
	zr_arena_fini(&arena);
	assert_int_equal(db_close(db), ZR_OK);
	unlink(path);
	play_race_free(race);
}

/* ------------------------------------------------------------------------------------ following */

static void a_growing_trace_is_followed(void **state)
{
	struct fixture *f = *state;
	struct play_race_options options = {
		.policies = policies, .n_policies = 3, .follow = true, .image_events = 300
	};
	struct play_race *race, *whole = start(f, 3, 500);
	uint64_t seed = 42;
	char path[128];
	struct db *db, *reading;
	bool outgrown;

	snprintf(path, sizeof(path), "%s/grows.zr", f->dir);
	assert_int_equal(db_open(path, DB_CREATE, &db), ZR_OK);
	assert_int_equal(describe(db), ZR_OK);
	write_events(db, 0, 600, &seed);
	assert_int_equal(db_open(path, DB_READ, &reading), ZR_OK);
	assert_int_equal(play_race_new(reading, &options, &race), ZR_OK);
	for (uint32_t n = 600; n < EVENTS; n += 600) {
		assert_int_equal(play_race_events(race), n);
		advance(race, play_race_end_ns(race));
		assert_int_equal(play_race_cursor(race), n);
		write_events(db, n, n + 600, &seed);
		assert_int_equal(play_race_poll(race, &outgrown), ZR_OK);
		assert_false(outgrown);
	}
	go(race, FIRST_NS + 2000 * STEP_NS);
	go(whole, FIRST_NS + 2000 * STEP_NS);
	assert_same(race, whole);
	go(race, play_race_end_ns(race));
	advance(whole, play_race_end_ns(whole) - 1);
	assert_int_equal(play_race_history(race)->known > PLAY_RACE_STEPS / 2, true);
	play_race_free(race);
	play_race_free(whole);
	assert_int_equal(db_close(reading), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
	unlink(path);
}

/* --------------------------------------------------------------------------------------- images */

static void an_image_puts_back_what_was_there_and_zero_behind(void **state)
{
	static char memory[20000], before[20000];
	struct regions regions = { 0 }, grown = { 0 };
	struct snapshot *first, *second;

	(void)state;
	memset(memory, 0, sizeof(memory));
	for (size_t i = 5000; i < 9000; i++)
		memory[i] = (char)i;
	regions_add(&regions, memory, 10000);
	regions_add(&grown, memory, sizeof(memory));
	assert_int_equal(snapshot_take(&regions, (struct snapshot_kin){ 0 }, &first), ZR_OK);
	memcpy(before, memory, sizeof(memory));
	memory[5001]++;
	memset(memory + 9990, 7, 5000);
	assert_int_equal(snapshot_take(&grown, (struct snapshot_kin){ .before = first }, &second), ZR_OK);
	snapshot_restore(first, &grown);
	assert_memory_equal(memory, before, sizeof(memory));
	/* What the first one alone has goes with it; the second stays whole. */
	snapshot_free(first);
	snapshot_restore(second, &grown);
	before[5001]++;
	memset(before + 9990, 7, 5000);
	assert_memory_equal(memory, before, sizeof(memory));
	snapshot_free(second);
	regions_fini(&regions);
	regions_fini(&grown);
}

static void an_image_of_little_change_costs_little(void **state)
{
	static char memory[100 * 4096];
	struct regions regions = { 0 };
	struct snapshot *first, *second;

	(void)state;
	memset(memory, 1, sizeof(memory));
	regions_add(&regions, memory, sizeof(memory));
	assert_int_equal(snapshot_take(&regions, (struct snapshot_kin){ 0 }, &first), ZR_OK);
	assert_true(snapshot_bytes(first) >= sizeof(memory));
	memory[17 * 4096] = 2;
	assert_int_equal(snapshot_take(&regions, (struct snapshot_kin){ .before = first }, &second), ZR_OK);
	assert_in_range(snapshot_bytes(second), 4096, 3 * 4096);
	assert_in_range(snapshot_bytes(first), 4096, 3 * 4096);
	snapshot_free(first);
	assert_true(snapshot_bytes(second) >= sizeof(memory));
	snapshot_free(second);
	regions_fini(&regions);
}

static void twins_that_fare_alike_cost_one(void **state)
{
	static char memory[100 * 4096], other[100 * 4096], wanted[100 * 4096];
	struct regions regions = { 0 }, others = { 0 };
	struct snapshot *first, *second;

	(void)state;
	memset(memory, 1, sizeof(memory));
	memcpy(other, memory, sizeof(other));
	other[17 * 4096] = 2;
	memcpy(wanted, other, sizeof(other));
	regions_add(&regions, memory, sizeof(memory));
	regions_add(&others, other, sizeof(other));
	assert_int_equal(snapshot_take(&regions, (struct snapshot_kin){ 0 }, &first), ZR_OK);
	assert_int_equal(snapshot_take(&others, (struct snapshot_kin){ .twin = first }, &second), ZR_OK);
	assert_in_range(snapshot_bytes(second), 4096, 3 * 4096);
	snapshot_free(first);
	assert_true(snapshot_bytes(second) >= sizeof(memory));
	memset(other, 3, sizeof(other));
	snapshot_restore(second, &others);
	assert_memory_equal(other, wanted, sizeof(other));
	assert_int_equal(memory[17 * 4096], 1);
	snapshot_free(second);
	regions_fini(&regions);
	regions_fini(&others);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(seeking_is_the_same_as_a_straight_run),
		TEST(images_that_do_not_fit_are_thinned_out),
		TEST(the_end_is_that_of_a_replay),
		TEST(the_breaks_and_the_sizes_add_up),
		TEST(an_added_lane_joins_as_if_it_had_been_there),
		TEST(a_lane_added_at_the_end_is_flushed_too),
		TEST(lanes_can_be_replaced_and_removed),
		TEST(a_bad_policy_changes_nothing),
		TEST(jumps_stop_right_behind_what_they_look_for),
		TEST(a_jump_to_what_never_comes_ends_at_the_end),
		TEST(gaps_are_found_one_by_one),
		TEST(what_a_gap_may_have_changed_is_unknown),
		TEST(runs_are_neighbours_that_went_together),
		TEST(a_plugs_merges_make_one_run),
		TEST(clusters_are_those_that_are_touched),
		TEST(a_lane_is_stored_as_a_run_with_its_name),
		TEST(a_growing_trace_is_followed),
		cmocka_unit_test(an_image_puts_back_what_was_there_and_zero_behind),
		cmocka_unit_test(an_image_of_little_change_costs_little),
		cmocka_unit_test(twins_that_fare_alike_cost_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
