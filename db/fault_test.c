/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: writer, dictionaries, reader, results, queries, cut, merge, verify and repair, with the Nth
 * call of SQLite's file system, the Nth system call (ours and SQLite's) or the Nth allocation (ours,
 * SQLite's, zstd's) failing, for each N until all goes well. Each time the failure is told in a
 * sentence, nothing leaks, what was flushed can be read afterwards, and a trace that was being made
 * of others is gone. And SIGKILL at each call of the file system.
 *
 * All of these N only at thoroughness 2; otherwise the first ones, where the variety is, and then samples.
 */
#include "db/test_vfs.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

/* These two are the globals of these tests: malloc and open have no other place to keep them. */
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

/* --------------------------------------------------------------------------------- system calls */

static struct {
	bool on;
	int64_t calls, fail_at;
	bool unlink_fails;
} kernel;

static bool kernel_refuses(int errnum)
{
	if (!kernel.on || ++kernel.calls != kernel.fail_at)
		return false;
	errno = errnum;
	return true;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	int mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	return kernel_refuses(EMFILE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	return kernel_refuses(EIO) ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

int statfs(const char *path, struct statfs *fs)
{
	return kernel_refuses(ENOSYS) ? -1 : (int)syscall(SYS_statfs, path, fs);
}

int access(const char *path, int mode)
{
	return kernel_refuses(EIO) ? -1 : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int unlink(const char *path)
{
	if (kernel.unlink_fails) {
		errno = EPERM;
		return -1;
	}
	return kernel_refuses(EIO) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* ------------------------------------------------------------------------------------ scenarios */

struct scenario {
	char path[4096], other[4096]; /* recorded; `other` by another recorder */
	char to[4096];		      /* made of them */
	uint64_t flushed;	      /* events whose flush was told to be done */
};

static struct db_event nth_event(uint64_t i)
{
	return (struct db_event){
		.time_ns = i * 1000, .slot = (uint32_t)i * 3, .memcg = 1, .task = 1
	};
}

static enum zr_err put_names(struct db *db)
{
	const struct db_area area = { .path = "/dev/vda2", .slots = 10000 };
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

/* ---------------------------------------------------------------------------- traces of traces */

static enum zr_err cut(struct scenario *s)
{
	static const char *const cgroups[] = { "/a" };
	const struct db_cut_options options = {
		.selection = { .cgroups = cgroups, .n_cgroups = 1 }, .output = s->to, .time_unit_ns = 1000
	};
	struct db_edit_result result;
	struct db *db = NULL;
	enum zr_err closing, err = db_open(s->path, DB_READ, &db);

	if (!err)
		err = db_cut(db, &options, &result);
	closing = db_close(db);
	return err ? err : closing;
}

static enum zr_err merge_how(struct scenario *s, bool same_host)
{
	const char *inputs[] = { s->path, s->other };
	const struct db_merge_options options = { .inputs = inputs,
						  .n_inputs = 2,
						  .output = s->to,
						  .same_host = same_host,
						  .force = true };
	struct db_edit_result result;

	return db_merge(&options, &result);
}

static enum zr_err merge(struct scenario *s)
{
	return merge_how(s, false);
}

static enum zr_err weave(struct scenario *s)
{
	return merge_how(s, true);
}

static enum zr_err repair(struct scenario *s)
{
	const struct db_verify_options options = { 0 };
	struct db_verify_result found;
	struct db_edit_result saved;
	struct db *db = NULL;
	enum zr_err closing, err = db_open(s->path, DB_SALVAGE, &db);

	if (!err)
		err = db_repair(db, s->to, &options, &found, &saved);
	/* A read that failed is damage, to repair, and what it met is counted. */
	if (!err && found.damages)
		err = zr_fail(ZR_CORRUPT, "found damaged");
	closing = db_close(db);
	return err ? err : closing;
}

/* ------------------------------------------------------------------------------------- failing */

typedef enum zr_err scenario_fn(struct scenario *s);

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

static void prepare(struct scenario *s, void **state)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/t.zr", (const char *)*state);
	snprintf(s->path, sizeof(s->path), "%s/u.zr", (const char *)*state);
	snprintf(s->to, sizeof(s->to), "%s/to.zr", (const char *)*state);
	assert_ok(record(s));
	strcpy(s->other, s->path);
	strcpy(s->path, path);
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

static bool is_sound(const char *path, bool *complete)
{
	const struct db_verify_options options = { 0 };
	struct db_verify_result found = { .damages = 1 };
	struct db *db;

	if (db_open(path, DB_READ, &db))
		return false;
	assert_ok(db_verify(db, &options, &found));
	assert_ok(db_close(db));
	*complete = found.complete;
	for (unsigned i = 0; i < DB_CHECK_COUNT; i++)
		if (found.findings[i])
			print_message("%s: %s\n", path, db_check_name((enum db_check)i));
	return !found.damages;
}

/* A trace of traces is there whole or not at all; one that met damage was made of what could be read. */
static void assert_whole_or_gone(struct scenario *s, enum zr_err err)
{
	bool complete = false;

	if (access(s->to, F_OK)) {
		assert_true(err);
		return;
	}
	assert_true(!err || err == ZR_CORRUPT);
	if (!is_sound(s->to, &complete))
		fail_msg("made, but not sound: %s", zr_error_text());
	assert_true(complete);
}

static bool makes(scenario_fn *run)
{
	return run == cut || run == merge || run == weave || run == repair;
}

static void judge(struct scenario *s, scenario_fn *run, enum zr_err err)
{
	if (err)
		assert_told(err);
	zr_error_clear();
	if (makes(run))
		assert_whole_or_gone(s, err);
	if (run == record)
		assert_flushed_is_there(s);
	else
		assert_intact(s);
}

/* What fails: made to fail at the nth call, and set right again, which gives the number of calls. */
struct fault {
	void (*arm)(void *arg, int64_t n);
	int64_t (*disarm)(void *arg);
	void *arg;
	int64_t all_of_the_first, step; /* every one of the first, then some; at thoroughness 1 */
};

enum { SAMPLE_FIRST = 12, SAMPLE_STEPS = 7 };

/* How far it is from call n to the next one that is to fail. */
static int64_t stride(int64_t n, int64_t all_of_the_first, int64_t step)
{
	int level = test_thoroughness();

	if (level == 0)
		return n < all_of_the_first && n < SAMPLE_FIRST ? 1 : step * SAMPLE_STEPS;
	return level > 1 || n < all_of_the_first ? 1 : step;
}

/* Returns how many runs failed. */
static int64_t fail_each(struct scenario *s, scenario_fn *run, const struct fault *fault)
{
	int64_t n = 0, calls = INT64_MAX, failed = 0;

	while (n < calls) {
		enum zr_err err;

		n += stride(n, fault->all_of_the_first, fault->step);
		clean(s->to);
		if (run == record)
			clean(s->path);
		fault->arm(fault->arg, n);
		err = run(s);
		calls = fault->disarm(fault->arg);
		/* SQLite gets over some failures; what it says is done must be done. */
		if (err)
			calls = INT64_MAX;
		failed += err != ZR_OK;
		judge(s, run, err);
	}
	return failed;
}

/* Calls of SQLite's file system. */
static void arm_vfs(void *arg, int64_t n)
{
	struct test_vfs *vfs = arg;

	vfs->calls = 0;
	vfs->fail_at = n;
}

static int64_t disarm_vfs(void *arg)
{
	struct test_vfs *vfs = arg;

	vfs->fail_at = 0;
	return vfs->calls;
}

static void fail_each_call(void **state, scenario_fn *run, bool fails_on)
{
	struct scenario s;
	struct test_vfs *vfs = test_vfs_start();
	const struct fault fault = { arm_vfs, disarm_vfs, vfs, makes(run) ? 30 : 1000, 23 };

	vfs->fails_on = fails_on;
	vfs->fail_rc = fails_on ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	prepare(&s, state);
	assert_true(fail_each(&s, run, &fault) > 5);
	test_vfs_stop(vfs);
	test_vfs_free(vfs);
}

/* System calls. */
static void arm_kernel(void *arg, int64_t n)
{
	(void)arg;
	kernel.calls = 0;
	kernel.fail_at = n;
	kernel.on = true;
}

static int64_t disarm_kernel(void *arg)
{
	(void)arg;
	kernel.on = false;
	return kernel.calls;
}

static void fail_each_system_call(void **state, scenario_fn *run)
{
	static const struct fault fault = { arm_kernel, disarm_kernel, NULL, 30, 3 };
	struct scenario s;

	prepare(&s, state);
	assert_true(fail_each(&s, run, &fault) > 0);
}

/* Allocations. */
static void arm_memory(void *arg, int64_t n)
{
	(void)arg;
	memset(&memory, 0, sizeof(memory));
	memory.fail_at = n;
	memory.on = true;
}

static int64_t disarm_memory(void *arg)
{
	(void)arg;
	memory.on = false;
	if (memory.live)
		fail_msg("allocation %lld failing leaks %lld blocks", (long long)memory.fail_at,
			 (long long)memory.live);
	return memory.calls;
}

static void fail_each_allocation(void **state, scenario_fn *run)
{
	const struct fault fault = { arm_memory, disarm_memory, NULL, makes(run) ? 30 : 100,
				     makes(run) ? 151 : 11 };
	struct scenario s;

	if (!ALLOCATION_IS_OURS) {
		print_message("skipped: the sanitizer has malloc for itself\n");
		skip();
	}
	prepare(&s, state);
	/* What libraries allocate once for all must not look like a leak. */
	if (run == record)
		clean(s.path);
	assert_ok(run(&s));
	assert_true(fail_each(&s, run, &fault) > 10);
}

/* ------------------------------------------------------------------------------------------ SIGKILL */

/* False if the child came to its end. */
static bool is_killed(struct scenario *s, scenario_fn *run, int64_t at)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct test_vfs *vfs = test_vfs_start();

		vfs->kills = true;
		vfs->fail_at = at;
		_exit(run(s) != ZR_OK);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	return status != 0;
}

/* What is left is no trace yet, or a sound one that is not complete. */
static void kill_at_each_call(void **state, scenario_fn *run)
{
	unsigned kills = 0, sound = 0;
	struct scenario s;

	prepare(&s, state);
	for (int64_t at = 1; is_killed(&s, run, at); at += stride(at, 0, 29)) {
		bool complete = false;

		kills++;
		assert_intact(&s);
		sound += is_sound(s.to, &complete);
		/* The last calls fold the log of what is complete. */
		zr_error_clear();
		clean(s.to);
	}
	assert_true(kills > 1 && sound > 0);
}

/* ---------------------------------------------------------------------------------------- tests */

#define EACH_SCENARIO(X) X(record) X(read_all) X(query) X(add_results) X(cut) X(merge) X(weave) X(repair)

#define X(name)                                                                                    \
	static void name##_survives_any_call_that_fails(void **state)                              \
	{                                                                                          \
		fail_each_call(state, name, false);                                                \
	}                                                                                          \
	static void name##_survives_any_system_call_that_fails(void **state)                       \
	{                                                                                          \
		fail_each_system_call(state, name);                                                \
	}                                                                                          \
	static void name##_survives_any_allocation_that_fails(void **state)                        \
	{                                                                                          \
		fail_each_allocation(state, name);                                                 \
	}
EACH_SCENARIO(X)
#undef X

#define WRITING_SCENARIO(X) X(record) X(add_results) X(cut) X(merge) X(weave) X(repair)

#define X(name)                                                                                    \
	static void name##_survives_a_disk_that_fails_for_good(void **state)                       \
	{                                                                                          \
		fail_each_call(state, name, true);                                                 \
	}
WRITING_SCENARIO(X)
#undef X

#define MAKING_SCENARIO(X) X(cut) X(merge) X(weave) X(repair)

#define X(name)                                                                                    \
	static void name##_may_be_killed_at_any_moment(void **state)                               \
	{                                                                                          \
		kill_at_each_call(state, name);                                                    \
	}
MAKING_SCENARIO(X)
#undef X

static bool go_no_further(void *arg, double done)
{
	(void)arg, (void)done;
	/* Not earlier: SQLite removes journals of its own. */
	kernel.unlink_fails = true;
	return false;
}

/* The one case of a file that stays: it says so. */
static void what_cannot_be_removed_is_told(void **state)
{
	struct db_cut_options options = { .watch = { .fn = go_no_further } };
	struct db_edit_result result;
	struct scenario s;
	struct db *db;

	prepare(&s, state);
	options.output = s.to;
	assert_ok(db_open(s.path, DB_READ, &db));
	assert_fails(db_cut(db, &options, &result), ZR_INTERRUPTED, "could not be removed");
	kernel.unlink_fails = false;
	assert_int_equal(access(s.to, F_OK), 0);
	assert_ok(db_close(db));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_folder, test_remove_folder),

int main(void)
{
	const struct CMUnitTest tests[] = {
#define X(name)                                                                                    \
	TEST(name##_survives_any_call_that_fails)                                                  \
	TEST(name##_survives_any_system_call_that_fails)                                           \
	TEST(name##_survives_any_allocation_that_fails)
		EACH_SCENARIO(X)
#undef X
#define X(name) TEST(name##_survives_a_disk_that_fails_for_good)
		WRITING_SCENARIO(X)
#undef X
#define X(name) TEST(name##_may_be_killed_at_any_moment)
		MAKING_SCENARIO(X)
#undef X
		TEST(what_cannot_be_removed_is_told)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
