/* SPDX-License-Identifier: MIT */
/*
 * The model against the kernel that made the shipped recordings: from what was asked of it (stores,
 * refaults, frees, reclaim passes) it must come to the counts that the kernel came to, which
 * traces/README.md gives and the recordings hold.
 */
#include "replayer/test_events.h"

#include "replayer/fidelity.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_pool_comes_out_as_on_the_kernel),
		cmocka_unit_test(a_shrinking_pool_comes_out_as_on_the_kernel),
		cmocka_unit_test(computed_scans_are_those_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
