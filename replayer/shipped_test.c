/* SPDX-License-Identifier: MIT */
/*
 * The model against the kernel that made the shipped recordings: from what was asked of it (stores,
 * refaults, frees, reclaim passes) it must come to the counts that the kernel came to, which
 * traces/README.md gives and the recordings hold.
 */
#include "replayer/test_events.h"

#include <string.h>

#include "replayer/fidelity.h"
#include "replayer/survey.h"

static struct fidelity compared(const char *path, const char *policy)
{
	struct fidelity fidelity;
	struct db *db;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(fidelity_compare(db, policy, &fidelity), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
	return fidelity;
}

static void assert_within_percent(uint64_t model, uint64_t kernel, uint64_t percent)
{
	uint64_t off = model > kernel ? model - kernel : kernel - model;

	if (off * 100 > kernel * percent)
		fail_msg("model %llu, kernel %llu", (unsigned long long)model,
			 (unsigned long long)kernel);
}

static void assert_same_order(const struct fidelity *fidelity)
{
	uint32_t same;

	assert_int_equal(fidelity_same_in_order(&fidelity->model, &fidelity->kernel, &same), ZR_OK);
	assert_true(100 * (uint64_t)same >= 95 * (uint64_t)fidelity->kernel.n);
}

static void assert_agreement(const struct fidelity *kernel)
{
	const struct sim_counters *model = &kernel->counters;

	assert_within_percent(model->zswpwb, kernel->kernel.n, 2);
	assert_within_percent(model->zswpout, kernel->stored, 2);
	assert_within_percent(model->store_rejected, kernel->rejected, 2);
	assert_within_percent(model->zswpin, kernel->in_zswap, 2);
	assert_within_percent(model->pswpin, kernel->in_disk, 2);
	assert_within_percent(model->pswpout, kernel->rejected + kernel->kernel.n, 2);
	assert_within_percent(model->shrink_worker_wakeups, kernel->wakeups, 2);
	assert_same_order(kernel);
}

static void a_full_pool_comes_out_as_on_the_kernel(void **state)
{
	struct fidelity fidelity = compared("traces/touch.zr", "memcg-1");

	(void)state;
	assert_int_equal(fidelity.kernel.n, 37243);
	assert_agreement(&fidelity);
	fidelity_fini(&fidelity);
}

static void a_shrinking_pool_comes_out_as_on_the_kernel(void **state)
{
	struct fidelity fidelity = compared("traces/compile.zr", "memcg-1");

	(void)state;
	assert_int_equal(fidelity.kernel.n, 34927);
	assert_agreement(&fidelity);
	fidelity_fini(&fidelity);
}

/* The scans themselves are computed, from the reclaim passes alone. */
static void computed_scans_are_those_of_the_kernel(void **state)
{
	struct fidelity fidelity = compared("traces/compile.zr", "memcg-1+shrinker=on");

	(void)state;
	assert_within_percent(fidelity.counters.shrinker_scans, fidelity.scans, 2);
	assert_within_percent(fidelity.counters.zswpwb, fidelity.kernel.n, 2);
	assert_same_order(&fidelity);
	fidelity_fini(&fidelity);
}

/* ------------------------------------------------------------------------------------- pool pages */

static size_t pool_samples(struct db *db, struct zr_arena *arena, struct db_sample **out)
{
	struct db_counter *counters;
	size_t n_counters, n = 0;

	assert_int_equal(db_counters(db, 0, arena, &counters, &n_counters), ZR_OK);
	for (size_t i = 0; i < n_counters; i++)
		if (strcmp(counters[i].source, "zswap") == 0 &&
		    strcmp(counters[i].name, "pool_total_size") == 0)
			assert_int_equal(db_samples(db, &counters[i], arena, out, &n), ZR_OK);
	assert_true(n > 40);
	return n;
}

struct gauge {
	const struct db_sample *samples;
	size_t n, at;
	uint64_t off, kernel; /* sums over samples, in pages */
};

/* Compares at each sample that lies before the row. Small pools are left out: a sample is read a little after its
 * time, in which they change by more than they hold. */
static void gauge_until(struct gauge *gauge, const struct sim *sim, uint64_t time_ns)
{
	for (; gauge->at < gauge->n && gauge->samples[gauge->at].time_ns <= time_ns; gauge->at++) {
		uint64_t kernel = (uint64_t)gauge->samples[gauge->at].value / 4096;
		uint64_t model = sim_state(sim).pool_pages;

		if (kernel < 500)
			continue;
		gauge->off += model > kernel ? model - kernel : kernel - model;
		gauge->kernel += kernel;
	}
}

/* With the recorded decisions the objects are the kernel's, so only the zspages can differ. Returns the mean error in
 * tenths of a percent. */
static uint64_t pool_error(const char *path)
{
	struct sim_policy policy = policy_of("unbatched");
	struct zr_arena arena = { 0 };
	struct gauge gauge = { 0 };
	const struct db_batch *batch;
	struct survey_host *hosts;
	struct db_sample *samples;
	struct db_reader *reader;
	struct sim *sim;
	struct db *db;
	size_t n;

	policy.drive = SIM_DRIVE_WRITEBACKS;
	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(survey_trace(db, &arena, &hosts, &n), ZR_OK);
	gauge.n = pool_samples(db, &arena, &samples);
	gauge.samples = samples;
	assert_int_equal(sim_new(&policy, &hosts[0].machine, NULL, &sim), ZR_OK);
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	while (db_reader_next(reader, &batch) == ZR_OK && batch) {
		for (uint32_t row = 0; row < batch->n; row++) {
			gauge_until(&gauge, sim, batch->time_ns[row]);
			sim_feed(sim, batch, row, row + 1);
		}
	}
	db_reader_free(reader);
	sim_free(sim);
	zr_arena_fini(&arena);
	assert_int_equal(db_close(db), ZR_OK);
	return gauge.off * 1000 / gauge.kernel;
}

static void pool_pages_are_within_a_percent_of_the_kernels(void **state)
{
	(void)state;
	assert_true(pool_error("traces/touch.zr") < 10);
	assert_true(pool_error("traces/compile.zr") < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_pool_comes_out_as_on_the_kernel),
		cmocka_unit_test(a_shrinking_pool_comes_out_as_on_the_kernel),
		cmocka_unit_test(pool_pages_are_within_a_percent_of_the_kernels),
		cmocka_unit_test(computed_scans_are_those_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
