/* SPDX-License-Identifier: MIT */
/*
 * Tests of writer, reader and sums. The oracle is the list of events that was written, filtered and
 * counted by plain loops.
 */
#include "db/test_help.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "db/sql.h"

enum { HOSTS = 3 };

/* What was written: events of several hosts, each by time. */
struct oracle {
	struct db_event *events[HOSTS];
	uint32_t n[HOSTS];
};

static void oracle_free(struct oracle *oracle)
{
	for (int host = 0; host < HOSTS; host++)
		free(oracle->events[host]);
}

/* A file with `n` random events a host, times up to about n * 33 us; hosts 0, 1 and 2. */
static struct oracle make_random(const char *path, uint32_t n)
{
	struct test_random random = { 20 };
	struct oracle oracle = { 0 };
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	for (uint32_t host = 0; host < HOSTS; host++) {
		struct db_writer_options options = { .host = host,
						     .flush_every_ns = (host + 1) * 30000000 };
		uint64_t now_ns = host * 1000;

		oracle.events[host] = calloc(n, sizeof(struct db_event));
		oracle.n[host] = n;
		assert_ok(db_writer_new(db, &options, &writer));
		for (uint32_t i = 0; i < n; i++) {
			oracle.events[host][i] = test_draw_event(&random, &now_ns);
			assert_ok(db_writer_add(writer, &oracle.events[host][i]));
		}
		assert_int_equal(db_writer_stats(writer).clamped_times, 0);
		assert_ok(db_writer_free(writer));
	}
	assert_ok(db_close(db));
	return oracle;
}

static bool wanted(const struct db_filter *filter, uint32_t host, const struct db_event *e)
{
	return (filter->host < 0 || filter->host == host) && e->time_ns >= filter->from_ns &&
	       (!filter->to_ns || e->time_ns < filter->to_ns) &&
	       (!filter->kinds || filter->kinds >> e->kind & 1);
}

/* Reads with a filter and holds each row against the next wanted one of the list. */
static uint64_t assert_reads_as(struct db *db, const struct oracle *oracle,
				const struct db_filter *filter)
{
	static const struct db_filter all = { .host = -1 };
	const struct db_filter *f = filter ? filter : &all;
	const struct db_batch *batch;
	struct db_reader *reader;
	uint64_t count = 0;
	uint32_t row = 0;

	assert_ok(db_reader_new(db, filter, &reader));
	assert_ok(db_reader_next(reader, &batch));
	for (uint32_t host = 0; host < HOSTS; host++) {
		for (uint32_t i = 0; i < oracle->n[host]; i++) {
			if (!wanted(f, host, &oracle->events[host][i]))
				continue;
			assert_non_null(batch);
			assert_int_equal(batch->host, host);
			assert_same_event(db_batch_event(batch, row), oracle->events[host][i]);
			count++;
			if (++row < batch->n)
				continue;
			row = 0;
			assert_ok(db_reader_next(reader, &batch));
		}
	}
	assert_null(batch);
	assert_ok(db_reader_next(reader, &batch));
	assert_null(batch);
	db_reader_free(reader);
	return count;
}

/* ------------------------------------------------------------------------------ write and read */

static void what_was_written_is_read(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct oracle oracle = make_random(path, 150000);
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_int_equal(assert_reads_as(db, &oracle, NULL), HOSTS * 150000);
	assert_ok(db_close(db));
	oracle_free(&oracle);
}

static void a_reader_filters_as_a_loop_does(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct oracle oracle = make_random(path, 20000);
	struct test_random random = { 6 };
	uint64_t rows = 0, last_ns = oracle.events[0][19999].time_ns;
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	for (int i = 0; i < 150; i++) {
		struct db_filter filter = {
			.from_ns = test_draw(&random, 2) ? test_draw(&random, last_ns) : 0,
			.to_ns = test_draw(&random, 2) ? test_draw(&random, last_ns) : 0,
			.kinds = (uint32_t)(test_draw(&random, 2)
						    ? test_draw(&random, 1 << DB_KIND_COUNT)
						    : 0),
			.host = (int64_t)test_draw(&random, HOSTS + 2) - 1,
		};

		rows += assert_reads_as(db, &oracle, &filter);
	}
	assert_true(rows > 100000);
	assert_ok(db_close(db));
	oracle_free(&oracle);
}

static void a_filter_is_half_open(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct oracle oracle = make_random(path, 1000);
	struct db_filter filter = { .from_ns = oracle.events[0][500].time_ns, .host = -1 };
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	filter.to_ns = filter.from_ns;
	assert_int_equal(assert_reads_as(db, &oracle, &filter), 0);
	filter.to_ns = filter.from_ns + 1;
	assert_true(assert_reads_as(db, &oracle, &filter) >= 1);
	filter.to_ns = UINT64_MAX;
	assert_true(assert_reads_as(db, &oracle, &filter) >= 1);
	filter.from_ns = UINT64_MAX;
	assert_int_equal(assert_reads_as(db, &oracle, &filter), 0);
	assert_ok(db_close(db));
	oracle_free(&oracle);
}

static void chunks_outside_the_filter_are_not_decoded(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct oracle oracle = make_random(path, 20000);
	struct db_filter filter = { .host = 1 };
	struct db_summary sum;
	struct db *db;
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "UPDATE chunk SET data = x'00' WHERE host <> 1", NULL,
				      NULL, NULL),
			 0);
	sqlite3_close(sql);
	assert_ok(db_open(path, DB_READ, &db));
	assert_int_equal(assert_reads_as(db, &oracle, &filter), 20000);
	assert_fails(db_summarise(db, &sum), ZR_CORRUPT, "t.zr: chunk 1: ");
	assert_ok(db_close(db));
	oracle_free(&oracle);
}

static void two_readers_at_once_do_not_disturb_each_other(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct oracle oracle = make_random(path, 5000);
	const struct db_batch *a, *b;
	struct db_reader *one, *two;
	uint64_t rows = 0;
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_reader_new(db, NULL, &one));
	assert_ok(db_reader_new(db, NULL, &two));
	do {
		assert_ok(db_reader_next(one, &a));
		assert_ok(db_reader_next(two, &b));
		assert_int_equal(!a, !b);
		if (a)
			assert_same_batch(a, b);
		rows += a ? a->n : 0;
	} while (a);
	assert_int_equal(rows, HOSTS * 5000);
	db_reader_free(one);
	db_reader_free(two);
	assert_ok(db_close(db));
	oracle_free(&oracle);
}

/* -------------------------------------------------------------------------------------- writer */

struct recording {
	struct db *db;
	struct db_writer *writer;
};

static struct recording start(const char *path)
{
	struct recording rec;

	assert_ok(db_open(path, DB_CREATE, &rec.db));
	assert_ok(db_writer_new(rec.db, &(struct db_writer_options){ 0 }, &rec.writer));
	return rec;
}

static void finish(struct recording rec)
{
	assert_ok(db_writer_free(rec.writer));
	assert_ok(db_close(rec.db));
}

static void add(struct recording rec, uint64_t time_ns, uint32_t slot)
{
	assert_ok(
		db_writer_add(rec.writer, &(struct db_event){ .time_ns = time_ns, .slot = slot }));
}

static uint64_t count_at(const char *path)
{
	struct db_summary sum;
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_summarise(db, &sum));
	assert_ok(db_close(db));
	return sum.events[DB_OUT];
}

static void chunks_are_cut_when_full_and_when_a_second_has_passed(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);

	for (uint32_t i = 0; i <= DB_BATCH_EVENTS; i++)
		add(rec, i, i);
	assert_int_equal(db_writer_stats(rec.writer).chunks, 1);
	assert_int_equal(count_at(path), DB_BATCH_EVENTS);
	add(rec, DB_BATCH_EVENTS + 999999999, 1);
	assert_int_equal(db_writer_stats(rec.writer).chunks, 1);
	add(rec, DB_BATCH_EVENTS + 1000000000, 2);
	assert_int_equal(db_writer_stats(rec.writer).chunks, 2);
	assert_int_equal(count_at(path), DB_BATCH_EVENTS + 2);
	assert_ok(db_writer_flush(rec.writer));
	assert_ok(db_writer_flush(rec.writer));
	assert_int_equal(db_writer_stats(rec.writer).chunks, 3);
	assert_int_equal(db_writer_stats(rec.writer).events, DB_BATCH_EVENTS + 3);
	assert_int_equal(count_at(path), DB_BATCH_EVENTS + 3);
	finish(rec);
}

static void times_that_go_back_are_held_and_counted(void **state)
{
	static const uint64_t times[] = { 20, 1000001, 1, 2, 1000002 },
			      held[] = { 20, 1000001, 1000001, 1000001, 1000002 };
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	struct oracle oracle = { .n = { 7 } };
	struct db_event events[7] = { 0 };

	for (uint32_t i = 0; i < 5; i++) {
		add(rec, times[i], i);
		events[i].time_ns = held[i];
		events[i].slot = i;
	}
	assert_int_equal(db_writer_stats(rec.writer).clamped_times, 2);
	/* Over a flush, and for a second writer of the same host. */
	assert_ok(db_writer_free(rec.writer));
	assert_ok(db_writer_new(rec.db, &(struct db_writer_options){ 0 }, &rec.writer));
	add(rec, 5, 5);
	assert_int_equal(db_writer_stats(rec.writer).clamped_times, 1);
	/* A hole of thirty days is a hole. */
	add(rec, 30 * 86400 * UINT64_C(1000000000), 6);
	events[5] = (struct db_event){ .time_ns = 1000002, .slot = 5 };
	events[6] = (struct db_event){ .time_ns = 30 * 86400 * UINT64_C(1000000000), .slot = 6 };
	finish(rec);
	oracle.events[0] = events;
	assert_ok(db_open(path, DB_READ, &rec.db));
	assert_int_equal(assert_reads_as(rec.db, &oracle, NULL), 7);
	assert_ok(db_close(rec.db));
}

static uint64_t times_of(const char *path, uint64_t *times)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	uint64_t n = 0;
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_reader_new(db, NULL, &reader));
	while (!db_reader_next(reader, &batch) && batch)
		for (uint32_t i = 0; i < batch->n; i++)
			times[n++] = batch->time_ns[i];
	db_reader_free(reader);
	assert_ok(db_close(db));
	return n;
}

static void times_are_rounded_to_the_unit_that_the_trace_keeps(void **state)
{
	static const uint64_t units[] = { 1000, 0, 1, 1000000, 1000 };
	const uint64_t wanted[] = { 1000, 1001000, 2001000, 3000000, 4000000 };
	const char *path = in_folder(state, "t.zr");
	uint64_t times[5];
	struct recording rec;

	assert_ok(db_open(path, DB_CREATE, &rec.db));
	for (uint32_t i = 0; i < 5; i++) {
		assert_ok(db_writer_new(rec.db,
					&(struct db_writer_options){ .time_unit_ns = (uint32_t)units[i] },
					&rec.writer));
		add(rec, i * 1000000 + 1999, i);
		assert_ok(db_writer_free(rec.writer));
		assert_int_equal(db_env_int(rec.db, 0, DB_ENV_TIME_UNIT, 1), i < 3 ? 1000 : 1000000);
	}
	assert_ok(db_close(rec.db));
	assert_int_equal(times_of(path, times), 5);
	assert_memory_equal(times, wanted, sizeof(wanted));
}

static void a_trace_in_nanoseconds_says_nothing_of_a_unit(void **state)
{
	struct recording rec = start(in_folder(state, "t.zr"));

	assert_int_equal(db_env_int(rec.db, 0, DB_ENV_TIME_UNIT, -1), -1);
	finish(rec);
}

/* It is divided by, and may come from a stranger. */
static void an_impossible_unit_is_none(void **state)
{
	static const char *const units[] = { "0", "-1000", "9223372036854775807", "us" };
	const char *path = in_folder(state, "t.zr");
	uint64_t times[4];
	struct recording rec;

	assert_ok(db_open(path, DB_CREATE, &rec.db));
	for (uint32_t i = 0; i < 4; i++) {
		assert_ok(db_env_set(rec.db, 0, DB_ENV_TIME_UNIT, units[i]));
		assert_ok(db_writer_new(rec.db, &(struct db_writer_options){ 0 }, &rec.writer));
		add(rec, 77777 + i, i);
		assert_ok(db_writer_free(rec.writer));
	}
	assert_ok(db_close(rec.db));
	assert_int_equal(times_of(path, times), 4);
	assert_int_equal(times[3], 77780);
}

static void the_writer_names_an_event_that_is_not_allowed(void **state)
{
	struct recording rec = start(in_folder(state, "t.zr"));

	add(rec, 1, 1);
	assert_ok(db_writer_add(rec.writer, &(struct db_event){ .time_ns = 2, .kind = 99 }));
	assert_fails(db_writer_flush(rec.writer), ZR_CORRUPT,
		     "event 1 is none that is known: kind 99");
	assert_fails(db_writer_free(rec.writer), ZR_CORRUPT, "event 1");
	assert_ok(db_close(rec.db));
}

static void a_time_beyond_the_format_is_refused(void **state)
{
	struct recording rec = start(in_folder(state, "t.zr"));

	add(rec, INT64_MAX, 1);
	assert_fails(db_writer_free(rec.writer), ZR_LIMIT, "9223372036854775807 ns");
	assert_ok(db_close(rec.db));
}

static void a_chunk_and_its_dictionary_rows_commit_together(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	struct zr_arena arena = { 0 };
	struct db_memcg *memcgs;
	struct db *reader;
	size_t n;

	add(rec, 1, 1);
	assert_ok(db_put_memcg(rec.db, &(struct db_memcg){ .id = 1, .path = "/a" }));
	assert_ok(db_open(path, DB_READ, &reader));
	assert_ok(db_memcgs(reader, 0, &arena, &memcgs, &n));
	assert_int_equal(n, 0);
	assert_ok(db_writer_flush(rec.writer));
	assert_ok(db_memcgs(reader, 0, &arena, &memcgs, &n));
	assert_int_equal(n, 1);
	assert_int_equal(count_at(path), 1);
	assert_ok(db_close(reader));
	finish(rec);
	zr_arena_fini(&arena);
}

static void gaps_survive(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	struct db_event gaps[] = {
		{ .time_ns = 5, .kind = DB_GAP, .slot = 17, .len = 3, .flags = DB_GAP_RING },
		{ .time_ns = 5,
		  .kind = DB_GAP,
		  .slot = UINT32_MAX,
		  .len = 0xffff,
		  .flags = DB_GAP_READER },
		{ .time_ns = 9, .kind = DB_GAP, .slot = 1, .len = 0, .flags = DB_GAP_PROBE },
	};
	struct db_filter only = { .from_ns = 4, .to_ns = 6, .kinds = 1 << DB_GAP, .host = 0 };
	struct oracle oracle = { { gaps }, { 3 } };
	struct db_summary sum;

	for (int i = 0; i < 3; i++)
		assert_ok(db_writer_add(rec.writer, &gaps[i]));
	finish(rec);
	assert_ok(db_open(path, DB_READ, &rec.db));
	assert_int_equal(assert_reads_as(rec.db, &oracle, NULL), 3);
	assert_int_equal(assert_reads_as(rec.db, &oracle, &only), 2);
	assert_ok(db_summarise(rec.db, &sum));
	assert_int_equal(sum.gaps, 3);
	assert_true(sum.lost_events == 17 + (uint64_t)UINT32_MAX + 1);
	assert_ok(db_close(rec.db));
}

/* --------------------------------------------------------------------- others use the file too */

static void a_live_recording_can_be_read_and_does_not_wait(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	const struct db_batch *batch;
	struct db_reader *reader;
	struct db *db;

	add(rec, 1, 1);
	assert_ok(db_writer_flush(rec.writer));
	assert_ok(db_open(path, DB_READ, &db));
	assert_false(db_is_complete(db));
	assert_ok(db_reader_new(db, NULL, &reader));
	for (uint32_t i = 0; i < 200; i++) {
		assert_ok(db_reader_next(reader, &batch));
		assert_int_equal(batch->slot[0], i + 1);
		/* In mid-read: the writer flushes, the reader then sees it. */
		add(rec, i + 2, i + 2);
		assert_ok(db_writer_flush(rec.writer));
	}
	assert_ok(db_set_complete(rec.db));
	/* The recorder ends before the reader does. */
	finish(rec);
	assert_ok(db_reader_next(reader, &batch));
	assert_int_equal(batch->slot[0], 201);
	assert_ok(db_reader_next(reader, &batch));
	assert_null(batch);
	db_reader_free(reader);
	assert_ok(db_close(db));
	assert_int_equal(count_at(path), 201);
}

static void a_reader_in_mid_file_blocks_no_rollback_journal(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	const struct db_batch *batch;
	struct db_reader *reader;
	struct db *db;

	add(rec, 1, 1);
	assert_ok(db_writer_flush(rec.writer));
	assert_int_equal(
		sqlite3_exec(rec.db->sql, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL),
		SQLITE_OK);
	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_reader_new(db, NULL, &reader));
	assert_ok(db_reader_next(reader, &batch));
	sqlite3_busy_timeout(rec.db->sql, 0);
	add(rec, 2, 2);
	assert_ok(db_writer_flush(rec.writer));
	db_reader_free(reader);
	assert_ok(db_close(db));
	finish(rec);
}

static void a_busy_file_is_told_and_nothing_is_lost_or_stored_twice(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	sqlite3 *other;

	add(rec, 1, 1);
	assert_ok(db_writer_flush(rec.writer));
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_busy_timeout(rec.db->sql, 0);
	add(rec, 2, 2);
	assert_fails(db_writer_flush(rec.writer), ZR_BUSY, "another process is writing to it");
	assert_fails(db_writer_flush(rec.writer), ZR_BUSY, "SQLITE_BUSY");
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	assert_ok(db_writer_flush(rec.writer));
	assert_int_equal(count_at(path), 2);
	finish(rec);
	assert_int_equal(count_at(path), 2);
}

/* The same where the commit is what has to wait: a rollback journal and a reader that holds its
 * lock. */
static void a_commit_that_was_busy_can_be_tried_again(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	sqlite3 *other;

	add(rec, 1, 1);
	assert_ok(db_writer_flush(rec.writer));
	assert_int_equal(
		sqlite3_exec(rec.db->sql, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN; SELECT * FROM chunk", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_busy_timeout(rec.db->sql, 0);
	add(rec, 2, 2);
	assert_fails(db_writer_flush(rec.writer), ZR_BUSY, "cannot commit");
	sqlite3_close(other);
	assert_ok(db_writer_flush(rec.writer));
	assert_int_equal(count_at(path), 2);
	finish(rec);
	assert_int_equal(count_at(path), 2);
}

/* ----------------------------------------------------------------------------------- disk full */

/* In a child with a limit on the size of files: writes until that hits; exits 0 if it was told as
 * it should. */
static void write_until_full(const char *path, const char *pragma, const char *words)
{
	struct test_random random = { 4 };
	struct rlimit limit = { 300000, 300000 };
	struct db_writer *writer;
	uint64_t flushed = 0;
	enum zr_err err = ZR_OK;
	struct db *db;
	FILE *told;

	signal(SIGXFSZ, SIG_IGN);
	if (db_open(path, DB_CREATE, &db) || sqlite3_exec(db->sql, pragma, NULL, NULL, NULL) ||
	    db_writer_new(db, &(struct db_writer_options){ 0 }, &writer) ||
	    setrlimit(RLIMIT_FSIZE, &limit))
		_exit(1);
	for (uint64_t i = 0; i < 500000 && !err; i++) {
		struct db_event e = { .time_ns = i, .slot = (uint32_t)test_draw(&random, 1 << 24) };

		err = db_writer_add(writer, &e);
		if (!err && i % 1000 == 999)
			err = db_writer_flush(writer);
		if (!err && i % 1000 == 999)
			flushed = i + 1;
	}
	if (err != ZR_FULL || !strstr(zr_error_text(), path) || !strstr(zr_error_text(), words) ||
	    !strstr(zr_error_text(), "free some space")) {
		fprintf(stderr, "%s: %s\n", zr_err_name(err), zr_error_text());
		_exit(2);
	}
	zr_error_clear();
	/* From now on nothing is taken, and it is said why. */
	if (db_env_set(db, 0, "a", "b") != ZR_FULL ||
	    !strstr(zr_error_text(), "takes no more data"))
		_exit(3);
	if (!db_writer_free(writer) || !db_close(db))
		_exit(4);
	told = fopen(in_folder((void *[]){ (char[]){ "." } }, "flushed"), "w");
	if (!told || fprintf(told, "%llu", (unsigned long long)flushed) < 0 || fclose(told))
		_exit(5);
	_exit(0);
}

static void assert_full_disk_keeps_what_was_flushed(void **state, const char *pragma,
						    const char *words)
{
	const char *path = in_folder(state, "t.zr");
	unsigned long long flushed;
	FILE *told;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir(*state))
			_exit(6);
		write_until_full(path, pragma, words);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	told = fopen(in_folder(state, "flushed"), "r");
	assert_non_null(told);
	assert_int_equal(fscanf(told, "%llu", &flushed), 1);
	fclose(told);
	assert_true(flushed > 5000);
	assert_int_equal(count_at(path), flushed);
}

static void a_full_disk_is_told_and_keeps_what_was_flushed(void **state)
{
	assert_full_disk_keeps_what_was_flushed(state, "PRAGMA wal_autocheckpoint = 1000",
						"File too large");
}

static void a_full_disk_with_a_rollback_journal_keeps_what_was_flushed(void **state)
{
	assert_full_disk_keeps_what_was_flushed(state, "PRAGMA journal_mode = DELETE",
						"File too large");
}

static void a_full_database_keeps_what_was_flushed(void **state)
{
	assert_full_disk_keeps_what_was_flushed(
		state, "PRAGMA wal_autocheckpoint = 10; PRAGMA max_page_count = 45", "SQLITE_FULL");
}

/* ------------------------------------------------------------------------------- rows that lie */

static void rows_that_lie_about_their_chunk_are_found(void **state)
{
	static const char *const lies[] = {
		"first_ns = first_ns - 1",
		"last_ns = last_ns + 1",
		"events = 1",
		"kinds = kinds | 1024",
		"slot_min = 0",
		"slot_max = 9",
		"memcgs = 2",
		"data = 7",
		"data = substr(data, 1, length(data) - 1)",
		"data = 'text'",
		"data = x''",
	};
	struct db_summary sum;
	char statement[200];
	struct db *db;
	sqlite3 *sql;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		const char *path = in_folder(state, "t.zr");
		struct recording rec = start(path);

		add(rec, 5, 5);
		add(rec, 6, 6);
		finish(rec);
		snprintf(statement, sizeof(statement), "UPDATE chunk SET %s", lies[i]);
		assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
		assert_int_equal(sqlite3_exec(sql, statement, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(sql);
		assert_ok(db_open(path, DB_READ, &db));
		assert_fails(db_summarise(db, &sum), ZR_CORRUPT, "t.zr: chunk 1: ");
		assert_ok(db_close(db));
		unlink(path);
	}
}

static void chunks_that_overlap_are_found(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	struct db_summary sum;
	struct db *db;
	sqlite3 *sql;

	add(rec, 5, 5);
	add(rec, 6, 6);
	finish(rec);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql,
				      "INSERT INTO chunk (host, first_ns, last_ns, events, kinds, "
				      "slot_min, slot_max, memcgs, data) "
				      "SELECT host, first_ns, last_ns, events, kinds, slot_min, "
				      "slot_max, memcgs, data FROM chunk",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(sql);
	assert_ok(db_open(path, DB_READ, &db));
	assert_fails(db_summarise(db, &sum), ZR_CORRUPT, "chunk 2: begins at 5 ns, before the end");
	assert_ok(db_close(db));
}

/* ---------------------------------------------------------------------------------------- sums */

static void the_sums_agree_with_a_loop(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct oracle oracle = make_random(path, 30000);
	struct db_summary sum, want = { .hosts = HOSTS, .first_ns = UINT64_MAX };
	uint64_t chunks = 0;
	struct db *db;

	for (int host = 0; host < HOSTS; host++) {
		const struct db_event *events = oracle.events[host];

		want.span_ns += events[29999].time_ns - events[0].time_ns;
		want.first_ns =
			events[0].time_ns < want.first_ns ? events[0].time_ns : want.first_ns;
		want.last_ns =
			events[29999].time_ns > want.last_ns ? events[29999].time_ns : want.last_ns;
		for (int i = 0; i < 30000; i++) {
			struct db_event e = events[i];
			int outcome = e.flags & 7;
			bool part = e.flags & DB_F_PART;
			uint64_t pages = e.kind == DB_OUT && !part ? UINT64_C(1) << e.order : 1;

			want.events[e.kind] += !(e.kind == DB_OUT && part);
			want.stored += e.kind == DB_OUT && outcome == DB_OUT_STORED;
			want.rejected += e.kind == DB_OUT && outcome == DB_OUT_REJECTED ? pages : 0;
			want.zero += e.kind == DB_OUT && outcome == DB_OUT_ZERO ? pages : 0;
			want.kept += e.kind == DB_OUT && outcome == DB_OUT_KEPT ? pages : 0;
			want.in_zswap += e.kind == DB_IN && outcome == DB_IN_ZSWAP;
			want.in_disk += e.kind == DB_IN && outcome == DB_IN_DISK;
			want.in_zero += e.kind == DB_IN && outcome == DB_IN_ZERO;
			want.in_error += e.kind == DB_IN && outcome == DB_IN_ERROR;
			want.written_back += e.kind == DB_WB && outcome == DB_WB_WRITTEN;
			want.gaps += e.kind == DB_GAP;
			want.lost_events += e.kind == DB_GAP ? e.slot : 0;
		}
	}
	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_summarise(db, &sum));
	assert_ok(db_close(db));
	chunks = sum.chunks;
	assert_true(chunks >= 3 * HOSTS && sum.chunk_bytes > chunks * 64);
	want.chunks = sum.chunks;
	want.chunk_bytes = sum.chunk_bytes;
	assert_memory_equal(&sum, &want, sizeof(sum));
	oracle_free(&oracle);
}

static void a_large_folio_stored_by_page_counts_once_as_folio_and_each_page(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct recording rec = start(path);
	struct db_event e = { .time_ns = 1, .kind = DB_OUT, .slot = 16, .order = 2, .len = 100 };
	struct db_summary sum;

	assert_ok(db_writer_add(rec.writer, &e));
	e.flags |= DB_F_PART;
	for (e.slot = 17; e.slot < 20; e.slot++)
		assert_ok(db_writer_add(rec.writer, &e));
	e = (struct db_event){
		.time_ns = 2, .kind = DB_OUT, .slot = 32, .order = 4, .flags = DB_OUT_REJECTED
	};
	assert_ok(db_writer_add(rec.writer, &e));
	finish(rec);
	assert_ok(db_open(path, DB_READ, &rec.db));
	assert_ok(db_summarise(rec.db, &sum));
	assert_int_equal(sum.events[DB_OUT], 2);
	assert_int_equal(sum.stored, 4);
	assert_int_equal(sum.rejected, 16);
	assert_ok(db_close(rec.db));
}

static void kinds_have_the_names_of_the_design(void **state)
{
	static const char *const names[] = { "OUT",	"IN",	  "FREE",   "WB",
					     "RECLAIM", "SCAN",	  "WORKER", "SHRINK",
					     "IO",	"SAMPLE", "GAP" };

	(void)state;
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		assert_string_equal(db_kind_name(kind), names[kind]);
	assert_string_equal(db_kind_name(DB_KIND_COUNT), "?");
	assert_string_equal(db_kind_name(UINT32_MAX), "?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read),
		TEST(a_reader_filters_as_a_loop_does),
		TEST(a_filter_is_half_open),
		TEST(chunks_outside_the_filter_are_not_decoded),
		TEST(two_readers_at_once_do_not_disturb_each_other),
		TEST(chunks_are_cut_when_full_and_when_a_second_has_passed),
		TEST(times_that_go_back_are_held_and_counted),
		TEST(times_are_rounded_to_the_unit_that_the_trace_keeps),
		TEST(a_trace_in_nanoseconds_says_nothing_of_a_unit),
		TEST(an_impossible_unit_is_none),
		TEST(the_writer_names_an_event_that_is_not_allowed),
		TEST(a_time_beyond_the_format_is_refused),
		TEST(a_chunk_and_its_dictionary_rows_commit_together),
		TEST(gaps_survive),
		TEST(a_live_recording_can_be_read_and_does_not_wait),
		TEST(a_reader_in_mid_file_blocks_no_rollback_journal),
		TEST(a_busy_file_is_told_and_nothing_is_lost_or_stored_twice),
		TEST(a_commit_that_was_busy_can_be_tried_again),
		TEST(a_full_disk_is_told_and_keeps_what_was_flushed),
		TEST(a_full_disk_with_a_rollback_journal_keeps_what_was_flushed),
		TEST(a_full_database_keeps_what_was_flushed),
		TEST(rows_that_lie_about_their_chunk_are_found),
		TEST(chunks_that_overlap_are_found),
		TEST(the_sums_agree_with_a_loop),
		TEST(a_large_folio_stored_by_page_counts_once_as_folio_and_each_page),
		TEST(kinds_have_the_names_of_the_design),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
