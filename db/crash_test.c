/* SPDX-License-Identifier: MIT */
/*
 * Tests that a recording survives: loss of power at any moment, SIGKILL at any moment, a file
 * system that is full. What was flushed is there, in order, and it is marked as ended abruptly.
 */
#include "db/test_vfs.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "db/sql.h"

enum { FLUSHES = 25, EVENTS_A_FLUSH = 700 };

static struct db_event nth_event(uint64_t i)
{
	return (struct db_event){ .time_ns = i * 1000,
				  .slot = (uint32_t)(i * 2654435761u),
				  .task = 1 };
}

/* Events in the file, which must be the first ones, in order. */
static uint64_t count_prefix(struct db *db)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	uint64_t n = 0;

	assert_ok(db_reader_new(db, NULL, &reader));
	for (;;) {
		assert_ok(db_reader_next(reader, &batch));
		if (!batch)
			break;
		for (uint32_t i = 0; i < batch->n; i++)
			assert_same_event(db_batch_event(batch, i), nth_event(n++));
	}
	db_reader_free(reader);
	return n;
}

/* ----------------------------------------------------------------------------------- power loss */

/* Records under the test's VFS; marks in its log how many events were flushed, and the end. */
static void record(struct test_vfs *vfs, const char *path, const char *pragma)
{
	struct db_writer *writer;
	uint64_t n = 0;
	struct db *db;

	vfs->logs = true;
	assert_ok(db_open(path, DB_CREATE, &db));
	assert_int_equal(sqlite3_exec(db->sql, pragma, NULL, NULL, NULL), SQLITE_OK);
	assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
	for (int flush = 0; flush < FLUSHES; flush++) {
		for (int i = 0; i < EVENTS_A_FLUSH; i++, n++) {
			struct db_event e = nth_event(n);

			assert_ok(db_writer_add(writer, &e));
		}
		assert_ok(db_put_task(db, &(struct db_task){ .id = (uint32_t)flush, .comm = "x" }));
		assert_ok(db_writer_flush(writer));
		vfs_log(vfs, (struct vfs_op){ .action = VFS_MARK, .offset = (int64_t)n }, NULL);
	}
	assert_ok(db_writer_free(writer));
	assert_ok(db_set_complete(db));
	assert_ok(db_close(db));
	vfs->logs = false;
}

/* Events that had been flushed when `ops` of the log were done; false before the first. */
static bool flushed_by(const struct test_vfs *vfs, size_t ops, uint64_t *n)
{
	bool any = false;

	for (size_t i = 0; i < ops; i++) {
		if (vfs->ops[i].action == VFS_MARK) {
			*n = (uint64_t)vfs->ops[i].offset;
			any = true;
		}
	}
	return any;
}

static void assert_survives(struct test_vfs *vfs, size_t ops, const char *path)
{
	uint64_t flushed = 0, found;
	struct db *db;

	if (!flushed_by(vfs, ops, &flushed))
		return;
	assert_ok(db_open(path, DB_READ, &db));
	found = count_prefix(db);
	if (found < flushed || found > FLUSHES * EVENTS_A_FLUSH)
		fail_msg("after %zu of %zu operations: %llu events, %llu were flushed", ops, vfs->n,
			 (unsigned long long)found, (unsigned long long)flushed);
	/* Complete only if it had come that far. */
	assert_true(!db_is_complete(db) || flushed == FLUSHES * EVENTS_A_FLUSH);
	assert_ok(db_close(db));
}

static bool has_log(const struct test_vfs *vfs)
{
	for (int i = 0; i < vfs->n_names; i++)
		if (strstr(vfs->names[i], "-wal"))
			return true;
	return false;
}

static void lose_power_everywhere(void **state, struct test_vfs *vfs, const char *pragma)
{
	struct test_random random = { 99 };
	char folder[4000], path[4096];
	unsigned syncs = 0, tries = 0;

	record(vfs, in_folder(state, "t.zr"), pragma);
	test_vfs_stop(vfs);
	snprintf(folder, sizeof(folder), "%s/after", (const char *)*state);
	snprintf(path, sizeof(path), "%s/t.zr", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	for (size_t ops = 1; ops <= vfs->n; ops++) {
		/* Around every sync, and now and then in between. */
		bool sync = ops < vfs->n && vfs->ops[ops].action == VFS_SYNC;
		bool synced = vfs->ops[ops - 1].action == VFS_SYNC;

		syncs += sync;
		if (!sync && !synced && ops < vfs->n && test_draw(&random, 20))
			continue;
		test_vfs_lose_power(vfs, ops, folder, &random);
		assert_survives(vfs, ops, path);
		tries++;
	}
	assert_true(has_log(vfs) != vfs->no_shared_memory);
	/* Each flush has one sync at least, or this tries nothing. */
	assert_true(syncs > FLUSHES && tries > 2 * FLUSHES);
	test_vfs_free(vfs);
}

static void power_may_be_lost_at_any_moment(void **state)
{
	lose_power_everywhere(state, test_vfs_start(), "PRAGMA wal_autocheckpoint = 20");
}

static void power_may_be_lost_at_any_moment_with_a_rollback_journal(void **state)
{
	struct test_vfs *vfs = test_vfs_start();

	vfs->no_shared_memory = true;
	lose_power_everywhere(state, vfs, "");
}

/* The model of the disk itself: a promise that was not synced is broken. */
static void the_disk_of_these_tests_does_lose_what_was_not_synced(void **state)
{
	struct test_vfs *vfs = test_vfs_start();
	struct test_random random = { 3 };
	unsigned lost = 0;
	char folder[4000], path[4096];

	record(vfs, in_folder(state, "t.zr"), "PRAGMA synchronous = OFF");
	test_vfs_stop(vfs);
	snprintf(folder, sizeof(folder), "%s/after", (const char *)*state);
	snprintf(path, sizeof(path), "%s/t.zr", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	for (int i = 0; i < 20; i++) {
		size_t ops = vfs->n / 2 + test_draw(&random, vfs->n / 4);
		uint64_t flushed = 0;
		struct db_summary sum;
		struct db *db;

		test_vfs_lose_power(vfs, ops, folder, &random);
		if (db_open(path, DB_READ, &db)) {
			zr_error_clear();
			lost++;
			continue;
		}
		flushed_by(vfs, ops, &flushed);
		lost += db_summarise(db, &sum) || sum.events[DB_OUT] < flushed;
		zr_error_clear();
		assert_ok(db_close(db));
	}
	assert_true(lost > 10);
	test_vfs_free(vfs);
}

/* -------------------------------------------------------------------------------------- SIGKILL */

/* Records for ever; tells in shared memory how many events are flushed. */
static void record_for_ever(const char *path, volatile uint64_t *flushed, bool wal)
{
	struct db_writer *writer;
	struct db *db;

	if (db_open(path, DB_CREATE, &db))
		_exit(1);
	/* Speed; a killed process needs no sync. */
	sqlite3_exec(db->sql, "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 10", NULL,
		     NULL, NULL);
	if (!wal)
		sqlite3_exec(db->sql, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	if (db_writer_new(db, &(struct db_writer_options){ 0 }, &writer))
		_exit(2);
	for (uint64_t n = 0;; n++) {
		struct db_event e = nth_event(n);

		if (db_writer_add(writer, &e))
			_exit(3);
		if (n % 97 != 96)
			continue;
		if (db_writer_flush(writer))
			_exit(4);
		*flushed = n + 1;
	}
}

static void kill_when(pid_t pid, volatile uint64_t *flushed, uint64_t n)
{
	int status;

	/* Then it is somewhere in the next flush: where exactly is for the scheduler to say. */
	while (*flushed < n && waitpid(pid, &status, WNOHANG) == 0)
		;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void kill_often(void **state, bool wal)
{
	volatile uint64_t *flushed =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct test_random random = { wal ? 5 : 6 };

	assert_true(flushed != MAP_FAILED);
	for (int i = 0; i < 15; i++) {
		const char *path = in_folder(state, "t.zr");
		struct db *db;
		uint64_t found;
		pid_t pid;

		*flushed = 0;
		pid = fork();
		if (pid == 0)
			record_for_ever(path, flushed, wal);
		kill_when(pid, flushed, 1 + test_draw(&random, 6000));
		assert_ok(db_open(path, DB_READ, &db));
		assert_false(db_is_complete(db));
		found = count_prefix(db);
		assert_true(found >= *flushed && found % 97 == 0);
		assert_ok(db_close(db));
		assert_int_equal(unlink(path), 0);
		unlink(in_folder(state, "t.zr-wal"));
		unlink(in_folder(state, "t.zr-shm"));
		unlink(in_folder(state, "t.zr-journal"));
	}
	munmap((void *)flushed, 4096);
}

static void a_recorder_may_be_killed_at_any_moment(void **state)
{
	kill_often(state, true);
}

static void a_recorder_with_a_rollback_journal_may_be_killed_at_any_moment(void **state)
{
	kill_often(state, false);
}

/* ------------------------------------------------------------------------------------ full disk */

/* In a child whose files may have `bytes`; exits with 0 when all went as it should. */
static void fill_up(const char *path, rlim_t bytes, volatile uint64_t *flushed)
{
	struct rlimit limit = { bytes, bytes };
	struct db_writer *writer = NULL;
	enum zr_err err;
	struct db *db;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		_exit(1);
	err = db_open(path, DB_CREATE, &db);
	if (err)
		_exit(err == ZR_FULL && access(path, F_OK) ? 0 : 2);
	err = db_writer_new(db, &(struct db_writer_options){ 0 }, &writer);
	for (uint64_t n = 0; !err && n < 1000000; n++) {
		struct db_event e = nth_event(n);

		err = db_writer_add(writer, &e);
		if (!err && n % 500 == 499)
			err = db_writer_flush(writer);
		if (!err && n % 500 == 499)
			*flushed = n + 1;
	}
	if (err != ZR_FULL)
		_exit(3);
	(void)!db_writer_free(writer);
	(void)!db_close(db);
	_exit(0);
}

static void any_size_of_disk_leaves_a_file_that_can_be_read(void **state)
{
	volatile uint64_t *flushed =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned some = 0;

	assert_true(flushed != MAP_FAILED);
	for (rlim_t bytes = 4096; bytes < 400000; bytes += bytes / 4) {
		const char *path = in_folder(state, "t.zr");
		struct db *db;
		int status;
		pid_t pid;

		*flushed = 0;
		pid = fork();
		if (pid == 0)
			fill_up(path, bytes, flushed);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		if (access(path, F_OK))
			continue;
		assert_ok(db_open(path, DB_READ, &db));
		assert_false(db_is_complete(db));
		assert_true(count_prefix(db) >= *flushed);
		assert_ok(db_close(db));
		some += *flushed > 0;
		unlink(path);
		unlink(in_folder(state, "t.zr-wal"));
		unlink(in_folder(state, "t.zr-shm"));
		unlink(in_folder(state, "t.zr-journal"));
	}
	assert_true(some >= 3);
	munmap((void *)flushed, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(power_may_be_lost_at_any_moment),
		TEST(power_may_be_lost_at_any_moment_with_a_rollback_journal),
		TEST(the_disk_of_these_tests_does_lose_what_was_not_synced),
		TEST(a_recorder_may_be_killed_at_any_moment),
		TEST(a_recorder_with_a_rollback_journal_may_be_killed_at_any_moment),
		TEST(any_size_of_disk_leaves_a_file_that_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
