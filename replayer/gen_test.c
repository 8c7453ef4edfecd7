/* SPDX-License-Identifier: MIT */
/*
 * Generated traces. The oracle reads a trace alone: a table of slots says where each page is, and
 * from that it reckons what the shrinker was bound to be asked; every IN, WB and SCAN must agree.
 * Slots are held against a plain set of those in use.
 */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/gen_slots.h"

enum { SLOTS_MAX = 1 << 17 };

enum place { NOWHERE, IN_POOL, ON_DISK, IS_ZERO };

struct oracle {
	uint8_t place[SLOTS_MAX];
	uint16_t len[SLOTS_MAX];
	uint64_t entries, bytes, reads, deferred;
	uint64_t count, delta, nr, total, scanned; /* of the reclaim pass that goes on */
	bool stopped;
	uint64_t kinds[DB_KIND_COUNT], last_ns, hash;
};

/* -------------------------------------------------------------------------------- the oracle */

static void leave_pool(struct oracle *o, uint32_t slot)
{
	o->entries--;
	o->bytes -= o->len[slot];
}

static bool wants_more(const struct oracle *o)
{
	return !o->stopped && (o->total >= 128 || (o->total && o->total >= o->count));
}

static void check_reclaim(struct oracle *o, const struct db_event *e, bool shrinker)
{
	uint64_t reads = o->reads < o->entries ? o->reads : o->entries;

	assert_false(wants_more(o));
	/* A pass without anything to count leaves the deferred work alone. */
	if (o->count)
		o->deferred = o->nr + o->delta > o->scanned ? o->nr + o->delta - o->scanned : 0;
	if (o->count && o->deferred > 2 * o->count)
		o->deferred = 2 * o->count;
	o->reads -= shrinker ? reads : 0;
	o->count =
		shrinker && o->entries ? (o->entries - reads) * (o->bytes / 4096) / o->entries : 0;
	assert_int_equal(e->slot, o->count);
	assert_in_range(e->order, 0, 12);
	o->stopped = !o->count;
	o->scanned = 0;
	o->nr = o->deferred;
	o->delta = o->count ? 2 * (o->count >> e->order) : 0;
	o->total = (o->nr >> e->order) + o->delta;
	if (o->total > 2 * o->count)
		o->total = 2 * o->count;
}

static void check_scan(struct oracle *o, const struct db_event *e)
{
	assert_true(wants_more(o));
	assert_int_equal(e->slot, o->total < 128 ? o->total : 128);
	o->stopped = !e->len;
	if (o->stopped)
		return;
	o->scanned += e->slot;
	o->total -= e->slot;
}

static void check_out(struct oracle *o, const struct db_event *e)
{
	static const uint8_t places[] = {
		[DB_OUT_STORED] = IN_POOL, [DB_OUT_REJECTED] = ON_DISK, [DB_OUT_ZERO] = IS_ZERO
	};

	assert_int_not_equal(o->place[e->slot], IN_POOL);
	o->place[e->slot] = places[db_flags_outcome(e->flags)];
	o->len[e->slot] = e->len;
	if (o->place[e->slot] != IN_POOL)
		return;
	o->entries++;
	o->bytes += e->len;
}

static void check_in(struct oracle *o, const struct db_event *e)
{
	static const uint8_t places[] = {
		[DB_IN_ZSWAP] = IN_POOL, [DB_IN_DISK] = ON_DISK, [DB_IN_ZERO] = IS_ZERO
	};
	unsigned from = db_flags_outcome(e->flags);

	assert_int_equal(o->place[e->slot], places[from]);
	o->reads += from == DB_IN_DISK;
	if (from != DB_IN_ZSWAP)
		return;
	leave_pool(o, e->slot);
	o->place[e->slot] = NOWHERE;
}

static void check_event(struct oracle *o, const struct db_event *e, bool shrinker)
{
	assert_true(e->time_ns >= o->last_ns);
	assert_true(e->slot < SLOTS_MAX || e->kind == DB_RECLAIM);
	o->last_ns = e->time_ns;
	o->kinds[e->kind]++;
	switch (e->kind) {
	case DB_OUT:
		check_out(o, e);
		break;
	case DB_IN:
		check_in(o, e);
		break;
	case DB_FREE:
		if (o->place[e->slot] == IN_POOL)
			leave_pool(o, e->slot);
		o->place[e->slot] = NOWHERE;
		break;
	case DB_WB:
		assert_int_equal(o->place[e->slot], IN_POOL);
		assert_int_equal(o->len[e->slot], e->len);
		leave_pool(o, e->slot);
		o->place[e->slot] = ON_DISK;
		break;
	case DB_RECLAIM:
		check_reclaim(o, e, shrinker);
		break;
	case DB_SCAN:
		check_scan(o, e);
		break;
	case DB_WORKER:
	case DB_SHRINK:
		assert_int_equal(e->task, 1);
		break;
	default:
		fail_msg("a kind that no workload makes: %s", db_kind_name(e->kind));
	}
}

/* ------------------------------------------------------------------------------------ traces */

struct generated {
	char dir[64], path[96];
	struct db *db;
	uint64_t events;
};

static enum zr_err generate(struct generated *g, const char *workload, const char *const *settings,
			    uint32_t n)
{
	strcpy(g->dir, "/tmp/zreel-gen-XXXXXX");
	assert_non_null(mkdtemp(g->dir));
	snprintf(g->path, sizeof(g->path), "%s/t.zr", g->dir);
	assert_int_equal(db_open(g->path, DB_CREATE, &g->db), ZR_OK);
	return play_gen(g->db,
			&(struct play_gen_options){ .workload = workload,
						    .settings = settings,
						    .n_settings = n,
						    .scale = 0.01 },
			&g->events);
}

static void drop(struct generated *g)
{
	assert_int_equal(db_close(g->db), ZR_OK);
	unlink(g->path);
	rmdir(g->dir);
}

static uint64_t hash_event(uint64_t hash, const struct db_event *e)
{
	const uint64_t words[] = { e->time_ns, e->slot, e->task,  e->memcg,
				   e->len,     e->kind, e->flags, e->order };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ words[i]) * 0x100000001b3;
	return hash;
}

static struct oracle *check_trace(struct db *db, bool shrinker)
{
	struct oracle *oracle = calloc(1, sizeof(*oracle));
	const struct db_batch *batch;
	struct db_reader *reader;

	assert_non_null(oracle);
	oracle->stopped = true;
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	while (!db_reader_next(reader, &batch) && batch) {
		for (uint32_t row = 0; row < batch->n; row++) {
			struct db_event event = db_batch_event(batch, row);

			check_event(oracle, &event, shrinker);
			oracle->hash = hash_event(oracle->hash, &event);
		}
	}
	db_reader_free(reader);
	return oracle;
}

static const char *const pressing[] = {
	"pages=9000",	     "memory=2500", "touches=60000", "len=2500",
	"host_memory=40000", "pool=10",	    "seed=3",	     "tasks=3"
};

enum { N_PRESSING = sizeof(pressing) / sizeof(pressing[0]) };

static void the_shrinker_is_asked_what_the_trace_implies(void **state)
{
	static const char *const workloads[] = { "uniform", "kernel-build" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct generated g = { 0 };
		struct oracle *oracle;

		assert_int_equal(generate(&g, workloads[i], pressing, N_PRESSING), ZR_OK);
		oracle = check_trace(g.db, true);
		assert_true(oracle->kinds[DB_SCAN] > 40 && oracle->kinds[DB_WB] > 500);
		assert_true(oracle->kinds[DB_IN] > 1000 && oracle->kinds[DB_FREE] > 1000);
		assert_int_equal(oracle->entries, 0);
		free(oracle);
		drop(&g);
	}
}

static void a_full_pool_sets_the_worker_to_work(void **state)
{
	static const char *const workloads[] = { "july-1", "july-2", "usemem" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct generated g = { 0 };
		struct oracle *oracle;

		assert_int_equal(generate(&g, workloads[i], NULL, 0), ZR_OK);
		oracle = check_trace(g.db, false);
		assert_true(oracle->kinds[DB_RECLAIM] > 100 && oracle->kinds[DB_WORKER] > 2);
		assert_true(oracle->kinds[DB_SHRINK] >= oracle->kinds[DB_WORKER]);
		assert_int_equal(oracle->kinds[DB_SCAN], 0);
		free(oracle);
		drop(&g);
	}
}

static void traces_are_sound(void **state)
{
	const struct play_word *workload;

	(void)state;
	for (uint32_t i = 0; (workload = play_gen_workload(i)); i++) {
		struct db_verify_options options = { 0 };
		struct db_verify_result result;
		struct generated g = { 0 };

		assert_int_equal(generate(&g, workload->name, NULL, 0), ZR_OK);
		assert_int_equal(db_verify(g.db, &options, &result), ZR_OK);
		assert_int_equal(result.damages, 0);
		assert_int_equal(result.events, g.events);
		assert_int_equal(
			result.frees_of_nothing + result.ins_of_nothing + result.wbs_of_nothing, 0);
		assert_true(result.complete);
		drop(&g);
	}
}

static uint64_t hash_of(const char *const *settings, uint32_t n)
{
	struct generated g = { 0 };
	struct oracle *oracle;
	uint64_t hash;

	assert_int_equal(generate(&g, "kernel-build", settings, n), ZR_OK);
	oracle = check_trace(g.db, true);
	hash = oracle->hash;
	free(oracle);
	drop(&g);
	return hash;
}

static void the_seed_decides(void **state)
{
	static const char *const other[] = { "seed=4" };
	uint64_t first = hash_of(NULL, 0);

	(void)state;
	assert_true(first == hash_of(NULL, 0));
	assert_true(first != hash_of(other, 1));
}

static void the_environment_says_how_to_make_it_again(void **state)
{
	static const char *const settings[] = { "len=777", "pool=13" };
	struct generated g = { 0 };
	struct zr_arena arena = { 0 };
	const char *text;

	(void)state;
	assert_int_equal(generate(&g, "uniform", settings, 2), ZR_OK);
	assert_int_equal(db_env_int(g.db, 0, "gen.len", 0), 777);
	assert_int_equal(db_env_int(g.db, 0, DB_ENV_ZSWAP_PREFIX "max_pool_percent", 0), 13);
	assert_int_equal(db_env_int(g.db, 0, "gen.pages", 0), 1000);
	assert_int_equal(db_env_get(g.db, 0, "gen.workload", &arena, &text), ZR_OK);
	assert_string_equal(text, "uniform");
	assert_int_equal(db_env_get(g.db, 0, DB_ENV_SOURCE, &arena, &text), ZR_OK);
	assert_string_equal(text, "gen");
	zr_arena_fini(&arena);
	drop(&g);
}

/* Every page of july-1 goes out once; nothing comes back. */
static void july_1_stores_every_page_once(void **state)
{
	static const char *const settings[] = { "pages=5000", "memory=6000", "new_pages=300" };
	struct generated g = { 0 };
	struct oracle *oracle;

	(void)state;
	assert_int_equal(generate(&g, "july-1", settings, 3), ZR_OK);
	oracle = check_trace(g.db, false);
	assert_int_equal(oracle->kinds[DB_OUT], 5300);
	assert_int_equal(oracle->kinds[DB_IN], 0);
	free(oracle);
	drop(&g);
}

static void bad_parameters_are_named(void **state)
{
	static const struct {
		const char *workload, *setting, *text;
	} cases[] = {
		{ "nosuch", "seed=1",
		  "'nosuch' is not a workload; there are: kernel-build, july-1" },
		{ "uniform", "nosuch=1", "'nosuch' is not a parameter" },
		{ "uniform", "pages", "is not KEY=VALUE" },
		{ "uniform", "pages=12x", "parameter pages got '12x'; it takes a number from 64" },
		{ "uniform", "pool=101", "from 1 to 100" },
		{ "uniform", "tasks=4000", "a task needs 4 pages" },
		{ "uniform", "policy=nosuch", "is not a preset" },
		{ "uniform", "zero_percent=-1", "zero_percent got '-1'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct generated g = { 0 };

		zr_error_clear();
		assert_int_not_equal(generate(&g, cases[i].workload, &cases[i].setting, 1), ZR_OK);
		assert_non_null(strstr(zr_error_text(), cases[i].text));
		drop(&g);
	}
	zr_error_clear();
}

/* ------------------------------------------------------------------------------------- slots */

static void slots_are_given_out_once(void **state)
{
	enum { N = 2000, CPUS = 3, STEPS = 100000 };
	struct zr_arena arena = { 0 };
	struct gen_slots slots;
	uint32_t held[N], n = 0;
	uint8_t used[2 * N + 2 * GEN_CLUSTER] = { 1 };
	uint64_t random = 5;

	(void)state;
	assert_int_equal(gen_slots_init(&slots, &arena, N, CPUS), ZR_OK);
	assert_true(slots.n_slots > N);
	for (uint32_t step = 0; step < STEPS; step++) {
		/* Grows to the brim, and down again. */
		if (n < N && random_below(&random, 100) < (step / 10000 % 2 ? 30 : 70)) {
			held[n] = gen_slots_take(&slots, random_below(&random, CPUS));
			assert_true(held[n] < slots.n_slots && !used[held[n]]);
			used[held[n++]] = 1;
		} else if (n) {
			uint32_t at = random_below(&random, n);

			gen_slots_give(&slots, held[at]);
			used[held[at]] = 0;
			held[at] = held[--n];
		}
	}
	zr_arena_fini(&arena);
}

static void a_processor_takes_ascending_slots_and_fills_holes_first(void **state)
{
	struct zr_arena arena = { 0 };
	struct gen_slots slots;

	(void)state;
	assert_int_equal(gen_slots_init(&slots, &arena, 3 * GEN_CLUSTER, 2), ZR_OK);
	for (uint32_t i = 1; i < GEN_CLUSTER; i++)
		assert_int_equal(gen_slots_take(&slots, 0), i);
	assert_int_equal(gen_slots_take(&slots, 1), GEN_CLUSTER);
	assert_int_equal(gen_slots_take(&slots, 0), 2 * GEN_CLUSTER);
	assert_int_equal(gen_slots_take(&slots, 0), 2 * GEN_CLUSTER + 1);
	/* A hole in the first cluster waits for a processor that has come to the end of its own. */
	gen_slots_give(&slots, 17);
	assert_int_equal(gen_slots_take(&slots, 0), 2 * GEN_CLUSTER + 2);
	for (uint32_t i = 1; i < GEN_CLUSTER; i++)
		assert_int_equal(gen_slots_take(&slots, 1), GEN_CLUSTER + i);
	assert_int_equal(gen_slots_take(&slots, 1), 17);
	assert_int_equal(gen_slots_take(&slots, 1), 3 * GEN_CLUSTER);
	zr_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shrinker_is_asked_what_the_trace_implies),
		cmocka_unit_test(a_full_pool_sets_the_worker_to_work),
		cmocka_unit_test(traces_are_sound),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(the_environment_says_how_to_make_it_again),
		cmocka_unit_test(july_1_stores_every_page_once),
		cmocka_unit_test(bad_parameters_are_named),
		cmocka_unit_test(slots_are_given_out_once),
		cmocka_unit_test(a_processor_takes_ascending_slots_and_fills_holes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
