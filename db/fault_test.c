/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: writer, dictionaries, reader, results and queries, with the Nth call of the file
 * system or the Nth allocation (ours, SQLite's, zstd's) failing, for each N until all goes well.
 * Each time the failure is told in a sentence, nothing leaks, and what was flushed can be read
 * afterwards.
 */
#include "db/test_vfs.h"

#include <dlfcn.h>

enum { FLUSHES = 3, EVENTS_A_FLUSH = 200 };

#if defined(__SANITIZE_ADDRESS__)
enum { ALLOCATION_IS_OURS = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { ALLOCATION_IS_OURS = 0 };
#else
enum { ALLOCATION_IS_OURS = 1 };
#endif
#else
enum { ALLOCATION_IS_OURS = 1 };
#endif

/* ---------------------------------------------------------------------------------- allocations */

/* The one global of these tests: malloc has no other place to keep it. */
static struct {
	bool on;
	int64_t calls, fail_at, live; /* while on */
} memory;

#if !defined(__SANITIZE_ADDRESS__)

static bool allocation_fails(void)
{
	if (!memory.on)
		return false;
	memory.calls++;
	return memory.fail_at && memory.calls == memory.fail_at;
}

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static void *count(void *block)
{
	memory.live += memory.on && block;
	return block;
}

void *malloc(size_t bytes)
{
	static void *(*next)(size_t);

	if (!next)
		*(void **)&next = real("malloc");
	return allocation_fails() ? NULL : count(next(bytes));
}

void *realloc(void *old, size_t bytes)
{
	static void *(*next)(void *, size_t);
	void *block;

	if (!next)
		*(void **)&next = real("realloc");
	if (allocation_fails())
		return NULL;
	block = next(old, bytes);
	return old ? block : count(block);
}

void *calloc(size_t n, size_t bytes)
{
	static void *(*next)(size_t, size_t);

	if (!next)
		*(void **)&next = real("calloc");
	return allocation_fails() ? NULL : count(next(n, bytes));
}

void free(void *block)
{
	static void (*next)(void *);

	if (!next)
		*(void **)&next = real("free");
	memory.live -= memory.on && block;
	next(block);
}

#endif

/* ------------------------------------------------------------------------------------ scenarios */

struct scenario {
	const char *path;
	uint64_t flushed; /* events whose flush was told to be done */
};

static struct db_event nth_event(uint64_t i)
{
	return (struct db_event){
		.time_ns = i * 1000, .slot = (uint32_t)i * 3, .memcg = 1, .task = 1
	};
}

static enum zr_err put_names(struct db *db)
{
	const struct db_area area = { .path = "/dev/vda2", .slots = 1000 };
	const struct db_memcg memcg = { .id = 1, .path = "/a", .cgroup_id = 1 };
	const struct db_task task = { .id = 1, .tid = 1, .comm = "cc1" };
	enum zr_err err = db_env_setf(db, 0, DB_ENV_CPUS, "%d", 2);

	if (!err)
		err = db_put_area(db, &area);
	if (!err)
		err = db_put_memcg(db, &memcg);
	if (!err)
		err = db_put_task(db, &task);
	if (!err)
		err = db_put_sample(db, 0, 5, "vmstat", "pswpout", 1);
	return err;
}

static enum zr_err write_some(struct scenario *s, struct db_writer *writer, uint64_t *n)
{
	enum zr_err err = ZR_OK;

	for (int i = 0; i < EVENTS_A_FLUSH && !err; i++) {
		struct db_event e = nth_event((*n)++);

		err = db_writer_add(writer, &e);
	}
	if (!err)
		err = db_writer_flush(writer);
	if (!err)
		s->flushed = *n;
	return err;
}

static enum zr_err record(struct scenario *s)
{
	struct db_writer *writer = NULL;
	enum zr_err err, closing;
	struct db *db = NULL;
	uint64_t n = 0;

	s->flushed = 0;
	err = db_open(s->path, DB_CREATE, &db);
	if (!err)
		err = put_names(db);
	if (!err)
		err = db_writer_new(db, &(struct db_writer_options){ 0 }, &writer);
	for (int flush = 0; flush < FLUSHES && !err; flush++)
		err = write_some(s, writer, &n);
	closing = db_writer_free(writer);
	err = err ? err : closing;
	if (!err)
		err = db_set_complete(db);
	closing = db_close(db);
	return err ? err : closing;
}

static enum zr_err read_tables(struct db *db, struct zr_arena *arena)
{
	struct db_counter *counters;
	struct db_sample *samples;
	struct db_memcg *memcgs;
	struct db_task *tasks;
	struct db_area *areas;
	struct db_env *env;
	uint32_t *hosts;
	size_t n;
	enum zr_err err = db_hosts(db, arena, &hosts, &n);

	if (!err)
		err = db_env_all(db, arena, &env, &n);
	if (!err)
		err = db_memcgs(db, 0, arena, &memcgs, &n);
	if (!err)
		err = db_tasks(db, 0, arena, &tasks, &n);
	if (!err)
		err = db_areas(db, 0, arena, &areas, &n);
	if (!err)
		err = db_counters(db, 0, arena, &counters, &n);
	if (!err && n)
		err = db_samples(db, &counters[0], arena, &samples, &n);
	return err;
}

static enum zr_err read_all(struct scenario *s)
{
	struct zr_arena arena = { 0 };
	struct db_summary sum = { 0 };
	struct db *db = NULL;
	enum zr_err closing, err = db_open(s->path, DB_READ, &db);

	if (!err)
		err = read_tables(db, &arena);
	if (!err)
		err = db_summarise(db, &sum);
	if (!err)
		assert_int_equal(sum.events[DB_OUT], FLUSHES * EVENTS_A_FLUSH);
	closing = db_close(db);
	zr_arena_fini(&arena);
	return err ? err : closing;
}

static enum zr_err count_row(void *arg, const struct db_sql_row *row)
{
	*(int64_t *)arg = row->values[0].integer;
	return ZR_OK;
}

static enum zr_err query(struct scenario *s)
{
	struct db_sql_result result;
	struct db *db = NULL;
	int64_t n = 0;
	const struct db_sql_sink sink = { .row = count_row, .arg = &n };
	enum zr_err closing, err = db_open(s->path, DB_READ, &db);

	if (!err)
		err = db_sql_query(
			db, "SELECT count(*) FROM events WHERE kind = 'OUT' AND cgroup = '/a'",
			&sink, &result);
	if (!err)
		assert_int_equal(n, FLUSHES * EVENTS_A_FLUSH);
	closing = db_close(db);
	return err ? err : closing;
}

static enum zr_err add_results(struct scenario *s)
{
	struct db_run run = { .policy = "batched", .target = "null" };
	struct db_metric metrics[] = { { .name = "a", .value = 1 }, { .name = "b", .value = 2 } };
	struct db_point points[] = { { "pool", 1, 2 }, { "pool", 2, 3 } };
	struct zr_arena arena = { 0 };
	struct db_point *read_points;
	struct db_metric *read;
	struct db_run *runs;
	struct db *db = NULL;
	size_t n;
	enum zr_err closing, err = db_open(s->path, DB_RESULTS, &db);

	if (!err)
		err = db_run_add(db, &run, metrics, 2, points, 2);
	if (!err)
		err = db_runs(db, &arena, &runs, &n);
	if (!err)
		err = db_metrics(db, run.id, &arena, &read, &n);
	if (!err)
		err = db_points(db, run.id, "pool", &arena, &read_points, &n);
	closing = db_close(db);
	zr_arena_fini(&arena);
	return err ? err : closing;
}

/* ------------------------------------------------------------------------------------- failing */

/* Everything of a trace's files away. */
static void clean(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	char name[4200];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static void prepare(struct scenario *s)
{
	clean(s->path);
	assert_ok(record(s));
}

/* Runs are whole or not there, events are those that were there. */
static void assert_intact(struct scenario *s)
{
	struct zr_arena arena = { 0 };
	struct db_metric *metrics;
	struct db_run *runs;
	struct db *db;
	size_t n_runs, n;

	assert_ok(read_all(s));
	assert_ok(db_open(s->path, DB_READ, &db));
	assert_ok(db_runs(db, &arena, &runs, &n_runs));
	for (size_t i = 0; i < n_runs; i++) {
		assert_ok(db_metrics(db, runs[i].id, &arena, &metrics, &n));
		assert_int_equal(n, 2);
	}
	assert_ok(db_close(db));
	zr_arena_fini(&arena);
}

static void assert_flushed_is_there(struct scenario *s)
{
	struct db_summary sum;
	struct db *db;

	if (access(s->path, F_OK)) {
		assert_int_equal(s->flushed, 0);
		return;
	}
	assert_ok(db_open(s->path, DB_READ, &db));
	assert_ok(db_summarise(db, &sum));
	assert_true(sum.events[DB_OUT] >= s->flushed);
	assert_ok(db_close(db));
}

static void assert_told(enum zr_err err)
{
	if (!zr_error_text()[0])
		fail_msg("%s without a sentence", zr_err_name(err));
	zr_error_clear();
}

typedef enum zr_err scenario_fn(struct scenario *s);

/* Calls of the file system. */
static void fail_each_call(void **state, scenario_fn *run, bool fails_on)
{
	struct scenario s = { .path = in_folder(state, "t.zr") };
	struct test_vfs *vfs = test_vfs_start();
	int64_t n = 0, calls = INT64_MAX;

	vfs->fails_on = fails_on;
	vfs->fail_rc = fails_on ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	prepare(&s);
	while (n < calls) {
		enum zr_err err;

		n++;
		if (run == record)
			clean(s.path);
		vfs->calls = 0;
		vfs->fail_at = n;
		err = run(&s);
		vfs->fail_at = 0;
		/* SQLite gets over some failures; what it says is done must be done. */
		calls = err ? INT64_MAX : vfs->calls;
		if (err)
			assert_told(err);
		zr_error_clear();
		if (run == record)
			assert_flushed_is_there(&s);
		else
			assert_intact(&s);
	}
	assert_true(n > 5);
	test_vfs_stop(vfs);
	test_vfs_free(vfs);
}

static void fail_each_allocation(void **state, scenario_fn *run)
{
	struct scenario s = { .path = in_folder(state, "t.zr") };
	int64_t n = 0, calls = INT64_MAX, failed = 0;

	if (!ALLOCATION_IS_OURS) {
		print_message("skipped: the sanitizer has malloc for itself\n");
		skip();
	}
	prepare(&s);
	/* What libraries allocate once for all must not look like a leak. */
	(void)!run(&s);
	zr_error_clear();
	while (n < calls) {
		enum zr_err err;

		/* Every one of the first, where the variety is, then some. */
		n += n < 100 ? 1 : 11;
		if (run == record)
			clean(s.path);
		memset(&memory, 0, sizeof(memory));
		memory.fail_at = n;
		memory.on = true;
		err = run(&s);
		memory.on = false;
		calls = err ? INT64_MAX : memory.calls;
		failed += err != ZR_OK;
		if (memory.live)
			fail_msg("allocation %lld failing leaks %lld blocks", (long long)n,
				 (long long)memory.live);
		if (err)
			assert_told(err);
		zr_error_clear();
		if (run == record)
			assert_flushed_is_there(&s);
		else
			assert_intact(&s);
	}
	assert_true(failed > 10);
}

/* ---------------------------------------------------------------------------------------- tests */

static void recording_survives_any_call_that_fails(void **state)
{
	fail_each_call(state, record, false);
}

static void recording_survives_a_disk_that_fails_for_good(void **state)
{
	fail_each_call(state, record, true);
}

static void reading_survives_any_call_that_fails(void **state)
{
	fail_each_call(state, read_all, false);
}

static void queries_survive_any_call_that_fails(void **state)
{
	fail_each_call(state, query, false);
}

static void results_survive_any_call_that_fails(void **state)
{
	fail_each_call(state, add_results, false);
	fail_each_call(state, add_results, true);
}

static void recording_survives_any_allocation_that_fails(void **state)
{
	fail_each_allocation(state, record);
}

static void reading_survives_any_allocation_that_fails(void **state)
{
	fail_each_allocation(state, read_all);
}

static void queries_survive_any_allocation_that_fails(void **state)
{
	fail_each_allocation(state, query);
}

static void results_survive_any_allocation_that_fails(void **state)
{
	fail_each_allocation(state, add_results);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recording_survives_any_call_that_fails),
		TEST(recording_survives_a_disk_that_fails_for_good),
		TEST(reading_survives_any_call_that_fails),
		TEST(queries_survive_any_call_that_fails),
		TEST(results_survive_any_call_that_fails),
		TEST(recording_survives_any_allocation_that_fails),
		TEST(reading_survives_any_allocation_that_fails),
		TEST(queries_survive_any_allocation_that_fails),
		TEST(results_survive_any_allocation_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
