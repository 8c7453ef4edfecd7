/* SPDX-License-Identifier: MIT */
/*
 * The model against the kernel that made the shipped recordings: from what was asked of it (stores,
 * refaults, frees, reclaim passes) it must come to the counts that the kernel came to, which
 * traces/README.md gives and the recordings hold.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/survey.h"

enum { WRITES_MAX = 1 << 16 };

struct writes {
	uint32_t n;
	uint32_t slots[WRITES_MAX];
};

struct kernel {
	struct writes writes; /* back, in order */
	uint64_t stored, rejected, in_zswap, in_disk, wakeups, scans;
};

struct listener {
	struct sim_sink sink; /* first */
	bool direct;
	struct writes writes;
};

static void note_write(struct writes *writes, uint32_t slot)
{
	assert_true(writes->n < WRITES_MAX);
	writes->slots[writes->n++] = slot;
}

static void on_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	(void)time_ns;
	((struct listener *)sink)->direct = kind == SIM_WALK_DIRECT;
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct listener *listener = (struct listener *)sink;

	if (!listener->direct)
		note_write(&listener->writes, write->recorded_slot);
}

static void on_end(struct sim_sink *sink)
{
	((struct listener *)sink)->direct = true;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	(void)sink, (void)time_ns, (void)area, (void)slot, (void)memcg;
}

static void note_row(struct kernel *kernel, const struct db_batch *batch, uint32_t row)
{
	unsigned outcome = db_flags_outcome(batch->flags[row]);

	kernel->stored += batch->kind[row] == DB_OUT && outcome == DB_OUT_STORED;
	kernel->rejected += batch->kind[row] == DB_OUT && outcome == DB_OUT_REJECTED;
	kernel->in_zswap += batch->kind[row] == DB_IN && outcome == DB_IN_ZSWAP;
	kernel->in_disk += batch->kind[row] == DB_IN && outcome == DB_IN_DISK;
	kernel->wakeups += batch->kind[row] == DB_WORKER;
	kernel->scans += batch->kind[row] == DB_SCAN;
	if (batch->kind[row] == DB_WB && outcome == DB_WB_WRITTEN)
		note_write(&kernel->writes, batch->slot[row]);
}

struct duel {
	struct kernel kernel;
	struct listener model;
	struct sim_counters counters;
};

static void replay(struct db *db, const struct sim_machine *machine, const char *policy_text,
		   struct duel *duel)
{
	struct sim_policy policy = policy_of(policy_text);
	const struct db_batch *batch;
	struct db_reader *reader;
	struct sim *sim;

	assert_int_equal(sim_new(&policy, machine, &duel->model.sink, &sim), ZR_OK);
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	while (db_reader_next(reader, &batch) == ZR_OK && batch) {
		for (uint32_t row = 0; row < batch->n; row++)
			note_row(&duel->kernel, batch, row);
		sim_feed(sim, batch, 0, batch->n);
	}
	sim_flush(sim);
	duel->counters = *sim_counters(sim);
	db_reader_free(reader);
	sim_free(sim);
}

static struct duel *new_duel(const char *path, const char *policy)
{
	struct duel *duel = calloc(1, sizeof(*duel));
	struct zr_arena arena = { 0 };
	struct survey_host *hosts;
	struct db *db;
	size_t n;

	assert_non_null(duel);
	duel->model.direct = true;
	duel->model.sink = (struct sim_sink){
		.walk_begin = on_begin, .write = on_write, .walk_end = on_end, .read = on_read
	};
	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(survey_trace(db, &arena, &hosts, &n), ZR_OK);
	replay(db, &hosts[0].machine, policy, duel);
	zr_arena_fini(&arena);
	assert_int_equal(db_close(db), ZR_OK);
	return duel;
}

/* Longest common subsequence of the writes, in slots; by rows, from the definition. */
static uint32_t same_in_order(const struct writes *a, const struct writes *b)
{
	uint32_t *row = calloc(b->n + 1, sizeof(*row)), same;

	assert_non_null(row);
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t corner = 0;

		for (uint32_t j = 1; j <= b->n; j++) {
			uint32_t above = row[j];

			if (a->slots[i] == b->slots[j - 1])
				row[j] = corner + 1;
			else if (row[j - 1] > above)
				row[j] = row[j - 1];
			corner = above;
		}
	}
	same = row[b->n];
	free(row);
	return same;
}

static void assert_within_percent(uint64_t model, uint64_t kernel, uint64_t percent)
{
	uint64_t off = model > kernel ? model - kernel : kernel - model;

	if (off * 100 > kernel * percent)
		fail_msg("model %llu, kernel %llu", (unsigned long long)model,
			 (unsigned long long)kernel);
}

static void assert_agreement(const struct duel *duel)
{
	const struct sim_counters *model = &duel->counters;
	const struct kernel *kernel = &duel->kernel;

	assert_within_percent(model->zswpwb, kernel->writes.n, 2);
	assert_within_percent(model->zswpout, kernel->stored, 2);
	assert_within_percent(model->store_rejected, kernel->rejected, 2);
	assert_within_percent(model->zswpin, kernel->in_zswap, 2);
	assert_within_percent(model->pswpin, kernel->in_disk, 2);
	assert_within_percent(model->pswpout, kernel->rejected + kernel->writes.n, 2);
	assert_within_percent(model->shrink_worker_wakeups, kernel->wakeups, 2);
	assert_true(100 * (uint64_t)same_in_order(&duel->model.writes, &kernel->writes) >=
		    95 * (uint64_t)kernel->writes.n);
}

static void a_full_pool_comes_out_as_on_the_kernel(void **state)
{
	struct duel *duel = new_duel("traces/touch.zr", "memcg-1");

	(void)state;
	assert_int_equal(duel->kernel.writes.n, 37243);
	assert_agreement(duel);
	free(duel);
}

static void a_shrinking_pool_comes_out_as_on_the_kernel(void **state)
{
	struct duel *duel = new_duel("traces/compile.zr", "memcg-1");

	(void)state;
	assert_int_equal(duel->kernel.writes.n, 34927);
	assert_agreement(duel);
	free(duel);
}

/* The scans themselves are computed, from the reclaim passes alone. */
static void computed_scans_are_those_of_the_kernel(void **state)
{
	struct duel *duel = new_duel("traces/compile.zr", "memcg-1+shrinker=on");

	(void)state;
	assert_within_percent(duel->counters.shrinker_scans, duel->kernel.scans, 2);
	assert_within_percent(duel->counters.zswpwb, duel->kernel.writes.n, 2);
	assert_true(100 * (uint64_t)same_in_order(&duel->model.writes, &duel->kernel.writes) >=
		    95 * (uint64_t)duel->kernel.writes.n);
	free(duel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_pool_comes_out_as_on_the_kernel),
		cmocka_unit_test(a_shrinking_pool_comes_out_as_on_the_kernel),
		cmocka_unit_test(computed_scans_are_those_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
