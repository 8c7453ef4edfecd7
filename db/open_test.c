/* SPDX-License-Identifier: MIT */
/* Tests of opening and closing: what is a trace, what is refused and how, hostile files, read-only
 * places, crashes. */
#include "db/test_vfs.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "db/base/bytes.h"
#include "db/sql.h"

/* A complete trace with `events` swap-outs at random slots, 1 us apart from 1 us on. */
static void make_trace(const char *path, uint32_t events)
{
	struct test_random random = { 1 };
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
	for (uint32_t i = 0; i < events; i++)
		assert_ok(db_writer_add(writer, &(struct db_event){ .time_ns = (i + 1) * 1000,
								    .slot = (uint32_t)test_draw(
									    &random, 1 << 24) }));
	assert_ok(db_writer_free(writer));
	assert_ok(db_set_complete(db));
	assert_ok(db_close(db));
}

static void run_sql(const char *path, const char *statements)
{
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	if (sqlite3_exec(sql, statements, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", statements, sqlite3_errmsg(sql));
	sqlite3_close(sql);
}

static int64_t query_number(const char *path, const char *statement)
{
	sqlite3_stmt *stmt;
	sqlite3 *sql;
	int64_t number;

	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sql, statement, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
	return number;
}

static uint64_t count_events(struct db *db)
{
	struct db_summary sum;

	assert_ok(db_summarise(db, &sum));
	return sum.events[DB_OUT];
}

static uint64_t count_events_of(const char *path)
{
	struct db *db;
	uint64_t events;

	assert_ok(db_open(path, DB_READ, &db));
	events = count_events(db);
	assert_ok(db_close(db));
	return events;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* -------------------------------------------------------------------------------- ordinary use */

static void a_new_trace_is_private_named_and_one_file(void **state)
{
	const char *path = in_folder(state, "t.zr"), *other = in_folder(state, "u.zr");
	struct stat st;
	struct db *a, *b;

	assert_ok(db_open(path, DB_CREATE, &a));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_string_equal(db_path(a), path);
	assert_int_equal(strlen(db_trace_id(a)), 32);
	assert_false(db_is_complete(a));
	assert_ok(db_open(other, DB_CREATE, &b));
	assert_string_not_equal(db_trace_id(a), db_trace_id(b));
	assert_ok(db_env_set(a, 0, DB_ENV_ARCH, "x86_64"));
	assert_ok(db_close(a));
	assert_ok(db_close(b));
	assert_ok(db_close(NULL));
	assert_false(is_there(in_folder(state, "t.zr-wal")));
	assert_false(is_there(in_folder(state, "t.zr-shm")));
	assert_false(is_there(in_folder(state, "t.zr-journal")));
}

static void the_header_says_zrel_and_version_1(void **state)
{
	const char *path = in_folder(state, "t.zr");

	make_trace(path, 1);
	assert_int_equal(query_number(path, "PRAGMA application_id"), 0x7a72656c);
	assert_int_equal(query_number(path, "PRAGMA user_version"), 1);
	assert_int_equal(
		query_number(
			path,
			"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
		1);
}

/* The files that are out there have these statements: whoever changes one makes a new version of the format. */
static void the_tables_of_version_1_are_as_they_were(void **state)
{
	const char *path = in_folder(state, "t.zr");
	sqlite3_stmt *stmt;
	uint32_t crc = 0;
	sqlite3 *sql;

	make_trace(path, 1);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sql,
					    "SELECT sql FROM sqlite_schema WHERE sql NOT NULL "
					    "ORDER BY name",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		crc = zr_crc32c(crc, sqlite3_column_text(stmt, 0),
				(size_t)sqlite3_column_bytes(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
	assert_int_equal(crc, 0xb97cf2b4);
}

static void complete_is_kept_with_the_trace(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db *db;
	char id[33];

	assert_ok(db_open(path, DB_CREATE, &db));
	strcpy(id, db_trace_id(db));
	assert_ok(db_close(db));
	assert_ok(db_open(path, DB_READ, &db));
	assert_false(db_is_complete(db));
	assert_ok(db_close(db));
	assert_ok(db_open(path, DB_RESULTS, &db));
	assert_ok(db_set_complete(db));
	assert_true(db_is_complete(db));
	assert_ok(db_close(db));
	assert_ok(db_open(path, DB_READ, &db));
	assert_true(db_is_complete(db));
	assert_string_equal(db_trace_id(db), id);
	assert_ok(db_close(db));
}

static void create_refuses_a_file_that_is_there(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db *db;

	make_trace(path, 10);
	assert_fails(db_open(path, DB_CREATE, &db), ZR_EXISTS, "there already");
	assert_int_equal(count_events_of(path), 10);
}

static void create_where_nothing_can_be_made_leaves_nothing(void **state)
{
	const char *path = in_folder(state, "no/such/t.zr");
	struct db *db;

	assert_fails(db_open(path, DB_CREATE, &db), ZR_NOT_FOUND, path);
	assert_fails(db_open(path, DB_RESULTS, &db), ZR_NOT_FOUND, path);
	assert_fails(db_open("", DB_CREATE, &db), ZR_NOT_FOUND, "cannot create");
}

static void a_missing_file_is_not_found_and_not_made(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db *db;

	assert_fails(db_open(path, DB_READ, &db), ZR_NOT_FOUND, path);
	assert_false(is_there(path));
	assert_fails(db_open("", DB_READ, &db), ZR_NOT_FOUND, "cannot open");
}

static void results_make_a_file_that_is_complete(void **state)
{
	const char *path = in_folder(state, "runs.zr");
	struct db *db;

	assert_ok(db_open(path, DB_RESULTS, &db));
	assert_ok(db_close(db));
	assert_ok(db_open(path, DB_READ, &db));
	assert_true(db_is_complete(db));
	assert_int_equal(count_events(db), 0);
	assert_ok(db_close(db));
}

static void nothing_can_be_stored_in_a_file_opened_for_reading(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db_writer *writer;
	struct db *db;

	make_trace(path, 1);
	assert_ok(db_open(path, DB_READ, &db));
	assert_fails(db_env_set(db, 0, "a", "b"), ZR_PERM, "opened for reading");
	assert_fails(db_set_complete(db), ZR_PERM, "opened for reading");
	assert_fails(db_run_add(db, &(struct db_run){ 0 }, NULL, 0, NULL, 0), ZR_PERM,
		     "opened for reading");
	assert_fails(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer), ZR_PERM,
		     "opened for reading");
	assert_ok(db_close(db));
}

static void any_characters_can_stand_in_a_path(void **state)
{
	static const char *const names[] = { ":memory:", "a?mode=memory", "b%41#c", "file:x",
					     "\xff\xfe", "世蓮 &.zr",	  "-" };
	char home[4096];

	assert_non_null(getcwd(home, sizeof(home)));
	assert_int_equal(chdir(*state), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		make_trace(names[i], 3);
		assert_true(is_there(names[i]));
		assert_int_equal(count_events_of(names[i]), 3);
		assert_int_equal(count_events_of(in_folder(state, names[i])), 3);
	}
	assert_int_equal(chdir(home), 0);
}

/* ---------------------------------------------------------------------------- what is no trace */

static void other_files_are_not_traces(void **state)
{
	const char *path = in_folder(state, "t.zr"), *dir = in_folder(state, "dir"),
		   *fifo = in_folder(state, "fifo");
	struct db *db;

	write_file(path, "# tracer: nop\n# entries-in-buffer/entries-written: 1/1   #P:2\n"
			 "and some more text of a "
			 "length that is above that of the header of a database\n");
	assert_fails(db_open(path, DB_READ, &db), ZR_NOT_A_TRACE, path);
	assert_fails(db_open(path, DB_RESULTS, &db), ZR_NOT_A_TRACE, path);
	write_file(path, "");
	assert_fails(db_open(path, DB_READ, &db), ZR_NOT_A_TRACE, "not a zreel trace");
	write_file(path, "SQLite format 3");
	assert_fails(db_open(path, DB_READ, &db), ZR_NOT_A_TRACE, "not a zreel trace");
	assert_int_equal(unlink(path), 0);
	run_sql(path, "CREATE TABLE chunk (id INTEGER PRIMARY KEY)");
	assert_fails(db_open(path, DB_READ, &db), ZR_NOT_A_TRACE, "application id 0x00000000");
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_fails(db_open(dir, DB_READ, &db), ZR_NOT_A_TRACE, "is a folder");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_fails(db_open(fifo, DB_READ, &db), ZR_NOT_A_TRACE, "special file");
}

static void results_are_not_put_into_a_file_that_is_no_trace(void **state)
{
	const char *path = in_folder(state, "mine.db");
	struct db *db;

	run_sql(path, "CREATE TABLE mine (a); INSERT INTO mine VALUES (1)");
	assert_fails(db_open(path, DB_RESULTS, &db), ZR_NOT_A_TRACE, path);
	assert_int_equal(query_number(path, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void a_newer_version_is_refused_by_name(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db *db;

	make_trace(path, 1);
	run_sql(path, "PRAGMA user_version = 2");
	assert_fails(db_open(path, DB_READ, &db), ZR_NEWER_VERSION,
		     "format version 2, this zreel knows up to 1");
	run_sql(path, "PRAGMA user_version = -1");
	assert_fails(db_open(path, DB_READ, &db), ZR_CORRUPT, "impossible format version -1");
}

/* Each byte of the first page, which has header and tables: an error or a file that can be read,
 * nothing else. */
static void no_damage_of_the_first_page_is_fatal(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db_summary sum;
	unsigned errors = 0;
	struct db *db;
	FILE *file;
	int byte;

	make_trace(path, 100);
	file = fopen(path, "r+");
	setvbuf(file, NULL, _IONBF, 0);
	for (long at = 0; at < 4096; at += at < 100 ? 1 : 7) {
		fseek(file, at, SEEK_SET);
		byte = fgetc(file);
		fseek(file, at, SEEK_SET);
		fputc(byte ^ 0x41, file);
		if (db_open(path, DB_READ, &db)) {
			errors++;
		} else {
			errors += db_summarise(db, &sum) != ZR_OK;
			(void)!db_close(db);
		}
		zr_error_clear();
		fseek(file, at, SEEK_SET);
		fputc(byte, file);
	}
	fclose(file);
	assert_true(errors > 50);
	assert_int_equal(count_events_of(path), 100);
}

static void a_cut_file_is_an_error_or_has_all_events(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db_summary sum;
	unsigned errors = 0;
	struct db *db;
	struct stat st;

	make_trace(path, 20000);
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size - 512; size > 0; size -= 4096 + 512) {
		assert_int_equal(truncate(path, size), 0);
		if (db_open(path, DB_READ, &db)) {
			errors++;
		} else {
			if (db_summarise(db, &sum))
				errors++;
			else
				assert_int_equal(sum.events[DB_OUT], 20000);
			assert_ok(db_close(db));
		}
		zr_error_clear();
	}
	assert_true(errors > 10);
}

/* ----------------------------------------------------------------------------- hostile schemas */

static void tables_that_are_not_ours_are_refused(void **state)
{
	static const char *const changes[] = {
		"ALTER TABLE run ADD COLUMN mine",
		"DROP INDEX chunk_by_time",
		"DROP TABLE env",
		"DROP TABLE env; CREATE VIEW env AS SELECT 0 AS host, 'cpus' AS key, "
		"randomblob(100000000) AS value",
		"DROP TABLE env; CREATE TABLE env (host, key, value AS (zeroblob(1000000000)))",
		"DROP TABLE env; CREATE VIRTUAL TABLE env USING fts5(host, key, value)",
		"DROP INDEX chunk_by_time; CREATE INDEX chunk_by_time ON chunk (host, first_ns) "
		"WHERE abs(id) < 0",
	};
	struct db *db;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *path = in_folder(state, "t.zr");

		make_trace(path, 1);
		run_sql(path, changes[i]);
		assert_fails(db_open(path, DB_READ, &db), ZR_CORRUPT,
			     "altered by another program?");
		assert_fails(db_open(path, DB_RESULTS, &db), ZR_CORRUPT,
			     "altered by another program?");
		unlink(path);
	}
}

static void triggers_in_a_file_do_not_run(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db_run run = { .policy = "batched" };
	struct db *db;

	make_trace(path, 1);
	run_sql(path, "CREATE TABLE victim (a); CREATE TRIGGER evil AFTER INSERT ON run BEGIN "
		      "INSERT INTO victim VALUES (1); DELETE FROM chunk; END");
	assert_ok(db_open(path, DB_RESULTS, &db));
	assert_ok(db_run_add(db, &run, NULL, 0, NULL, 0));
	assert_ok(db_close(db));
	assert_int_equal(query_number(path, "SELECT count(*) FROM run"), 1);
	assert_int_equal(query_number(path, "SELECT count(*) FROM victim"), 0);
	assert_int_equal(count_events_of(path), 1);
}

static void tables_of_the_user_do_no_harm(void **state)
{
	const char *path = in_folder(state, "t.zr");

	make_trace(path, 5);
	run_sql(path, "CREATE TABLE notes (text); CREATE VIEW v AS SELECT * FROM run; CREATE INDEX "
		      "mine ON run (policy)");
	assert_int_equal(count_events_of(path), 5);
}

static void a_value_above_the_limit_is_not_loaded(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct zr_arena arena = { 0 };
	const char *value;
	struct db *db;

	make_trace(path, 1);
	run_sql(path, "INSERT INTO env VALUES (0, 'cpus', zeroblob(50000000))");
	assert_ok(db_open(path, DB_READ, &db));
	assert_fails(db_env_get(db, 0, "cpus", &arena, &value), ZR_LIMIT, "SQLITE_TOOBIG");
	assert_int_equal(db_env_int(db, 0, "cpus", 7), 7);
	assert_ok(db_close(db));
	zr_arena_fini(&arena);
}

static void a_trace_without_its_name_is_damaged(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db *db;

	make_trace(path, 1);
	run_sql(path, "UPDATE trace SET name = '../../../../etc/passwd; rm -rf x'");
	assert_fails(db_open(path, DB_READ, &db), ZR_CORRUPT, "has no name");
	run_sql(path, "DELETE FROM trace");
	assert_fails(db_open(path, DB_READ, &db), ZR_CORRUPT, "has no name");
}

/* ------------------------------------------------------------- file systems without shared memory */

/* A recording that goes on, in a log. */
static void a_log_that_cannot_be_shared_here_is_told(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db *recorder, *db;
	struct test_vfs *vfs;

	assert_ok(db_open(path, DB_CREATE, &recorder));
	assert_ok(db_env_set(recorder, 0, "cpus", "2"));
	assert_ok(db_set_complete(recorder));
	vfs = test_vfs_start();
	vfs->no_shared_memory = true;
	assert_fails(db_open(path, DB_READ, &db), ZR_PERM, "of a local disk: copy both files");
	assert_fails(db_open(path, DB_RESULTS, &db), ZR_UNSUPPORTED, "copy the file and its -wal");
	test_vfs_stop(vfs);
	assert_ok(db_close(recorder));
	test_vfs_free(vfs);
}

static void a_file_that_expects_a_log_but_has_none_is_read_without_shared_memory(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct test_vfs *vfs;

	make_trace(path, 5);
	run_sql(path, "PRAGMA journal_mode = WAL");
	vfs = test_vfs_start();
	vfs->no_shared_memory = true;
	assert_int_equal(count_events_of(path), 5);
	test_vfs_stop(vfs);
	test_vfs_free(vfs);
}

/* The probe must leave nothing, and so must the recording. */
static void a_recording_without_shared_memory_is_read_while_it_goes_on(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct test_vfs *vfs = test_vfs_start();
	struct db_writer *writer;
	char name[4200];
	struct db *db;

	vfs->no_shared_memory = true;
	assert_ok(db_open(path, DB_CREATE, &db));
	assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
	for (uint32_t i = 0; i < 7; i++) {
		assert_ok(db_writer_add(writer, &(struct db_event){ .time_ns = i, .slot = i }));
		assert_ok(db_writer_flush(writer));
		assert_int_equal(count_events_of(path), i + 1);
	}
	assert_ok(db_writer_free(writer));
	assert_ok(db_close(db));
	test_vfs_stop(vfs);
	test_vfs_free(vfs);
	for (int i = 0; i < 3; i++) {
		static const char *const endings[] = { "-wal", "-shm", "-journal" };

		snprintf(name, sizeof(name), "%s%s", path, endings[i]);
		assert_int_not_equal(access(name, F_OK), 0);
	}
}

/* ---------------------------------------------------------------------------- read-only places */

/* Runs `body` in a child that is not root, so that permissions mean something; its exit status. */
static int as_nobody(void **state, void (*body)(void **state))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(99);
		body(state);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* In the child: a failure is told by the exit status, cmocka's jumps belong to the parent. */
static void expect(bool good, int status)
{
	if (!good) {
		fprintf(stderr, "step %d: %s\n", status, zr_error_text());
		_exit(status);
	}
	zr_error_clear();
}

static void read_but_not_write(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db_summary sum;
	struct db *db;

	expect(db_open(path, DB_READ, &db) == ZR_OK, 1);
	expect(db_summarise(db, &sum) == ZR_OK && sum.events[DB_OUT] == 30, 2);
	expect(db_close(db) == ZR_OK, 3);
	expect(db_open(path, DB_RESULTS, &db) == ZR_PERM && strstr(zr_error_text(), "--runs FILE"),
	       4);
	expect(db_open(in_folder(state, "new.zr"), DB_CREATE, &db) == ZR_PERM, 5);
	expect(!is_there(in_folder(state, "t.zr-shm")), 6);
}

static void make_read_only(void **state, bool yes)
{
	chmod(in_folder(state, "t.zr"), yes ? 0444 : 0600);
	chmod(*state, yes ? 0555 : 0700);
}

static void a_trace_in_a_read_only_folder_can_be_read(void **state)
{
	int status;

	make_trace(in_folder(state, "t.zr"), 30);
	make_read_only(state, true);
	status = as_nobody(state, read_but_not_write);
	make_read_only(state, false);
	assert_int_equal(status, 0);
}

/* As a copy of the file of a recording that was killed, without its log. */
static void a_trace_that_expects_a_log_can_be_read_without_it_in_a_read_only_folder(void **state)
{
	int status;

	make_trace(in_folder(state, "t.zr"), 30);
	run_sql(in_folder(state, "t.zr"), "PRAGMA journal_mode = WAL");
	assert_false(is_there(in_folder(state, "t.zr-wal")));
	make_read_only(state, true);
	status = as_nobody(state, read_but_not_write);
	make_read_only(state, false);
	assert_int_equal(status, 0);
}

static void read_forbidden(void **state)
{
	struct db *db;

	expect(db_open(in_folder(state, "t.zr"), DB_READ, &db) == ZR_PERM, 1);
}

static void a_file_that_may_not_be_read_is_a_matter_of_permission(void **state)
{
	int status;

	make_trace(in_folder(state, "t.zr"), 1);
	chmod(in_folder(state, "t.zr"), 0);
	chmod(*state, 0755);
	status = as_nobody(state, read_forbidden);
	assert_int_equal(status, 0);
}

/* ------------------------------------------------------------------------------------- crashes */

/* Writes three chunks and half of a fourth, then dies without a word. */
static void record_and_die(const char *path, const char *pragma)
{
	struct db_writer *writer;
	struct db *db;

	expect(db_open(path, DB_CREATE, &db) == ZR_OK, 1);
	if (pragma)
		expect(sqlite3_exec(db->sql, pragma, NULL, NULL, NULL) == SQLITE_OK, 2);
	expect(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer) == ZR_OK, 3);
	for (uint32_t i = 0; i < 3500; i++) {
		expect(db_writer_add(writer, &(struct db_event){ .time_ns = i, .slot = i }) ==
			       ZR_OK,
		       4);
		if (i % 1000 == 999)
			expect(db_writer_flush(writer) == ZR_OK, 5);
	}
	/* A transaction that has begun to reach the disk. */
	for (uint32_t i = 0; i < 20000; i++)
		expect(db_put_task(db, &(struct db_task){ .id = i, .comm = "never committed" }) ==
			       ZR_OK,
		       6);
	kill(getpid(), SIGKILL);
}

static void assert_killed_recording_is_readable(void **state, const char *pragma)
{
	const char *path = in_folder(state, "t.zr");
	struct zr_arena arena = { 0 };
	struct db_task *tasks;
	struct db *db;
	size_t n;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		record_and_die(path, pragma);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_ok(db_open(path, DB_READ, &db));
	assert_false(db_is_complete(db));
	assert_int_equal(count_events(db), 3000);
	assert_ok(db_tasks(db, 0, &arena, &tasks, &n));
	assert_int_equal(n, 0);
	assert_ok(db_close(db));
	zr_arena_fini(&arena);
}

static void what_a_killed_recorder_flushed_is_there(void **state)
{
	assert_killed_recording_is_readable(state, NULL);
}

static void what_a_recorder_killed_with_a_rollback_journal_flushed_is_there(void **state)
{
	assert_killed_recording_is_readable(state,
					    "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 5");
}

static void a_killed_recording_takes_results(void **state)
{
	const char *path = in_folder(state, "t.zr");
	struct db_run run = { .policy = "plugged" };
	struct db *db;

	assert_killed_recording_is_readable(state, NULL);
	assert_ok(db_open(path, DB_RESULTS, &db));
	assert_ok(db_run_add(db, &run, NULL, 0, NULL, 0));
	assert_ok(db_close(db));
	assert_int_equal(count_events_of(path), 3000);
}

static void read_killed(void **state)
{
	struct db_summary sum;
	struct db *db;

	expect(db_open(in_folder(state, "t.zr"), DB_READ, &db) == ZR_OK, 1);
	expect(db_summarise(db, &sum) == ZR_OK && sum.events[DB_OUT] == 3000, 2);
	expect(db_close(db) == ZR_OK, 3);
}

static void read_killed_without_index(void **state)
{
	struct db_summary sum;
	struct db *db;

	/* Whether SQLite can read a log without its index in a read-only folder is its affair: but
	 * never half. */
	if (db_open(in_folder(state, "t.zr"), DB_READ, &db) == ZR_OK)
		expect(db_summarise(db, &sum) == ZR_OK && sum.events[DB_OUT] == 3000, 2);
	else
		expect(strstr(zr_error_text(), "-wal") != NULL, 3);
}

static void a_killed_recording_in_a_read_only_folder_is_read_with_its_log(void **state)
{
	int status, without_index;
	pid_t pid = fork();

	if (pid == 0)
		record_and_die(in_folder(state, "t.zr"), NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(is_there(in_folder(state, "t.zr-wal")));
	chmod(in_folder(state, "t.zr-wal"), 0444);
	chmod(in_folder(state, "t.zr-shm"), 0444);
	make_read_only(state, true);
	status = as_nobody(state, read_killed);
	unlink(in_folder(state, "t.zr-shm"));
	without_index = as_nobody(state, read_killed_without_index);
	make_read_only(state, false);
	assert_int_equal(status, 0);
	assert_int_equal(without_index, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_trace_is_private_named_and_one_file),
		TEST(the_header_says_zrel_and_version_1),
		TEST(the_tables_of_version_1_are_as_they_were),
		TEST(complete_is_kept_with_the_trace),
		TEST(create_refuses_a_file_that_is_there),
		TEST(create_where_nothing_can_be_made_leaves_nothing),
		TEST(a_missing_file_is_not_found_and_not_made),
		TEST(results_make_a_file_that_is_complete),
		TEST(nothing_can_be_stored_in_a_file_opened_for_reading),
		TEST(any_characters_can_stand_in_a_path),
		TEST(other_files_are_not_traces),
		TEST(results_are_not_put_into_a_file_that_is_no_trace),
		TEST(a_newer_version_is_refused_by_name),
		TEST(no_damage_of_the_first_page_is_fatal),
		TEST(a_cut_file_is_an_error_or_has_all_events),
		TEST(tables_that_are_not_ours_are_refused),
		TEST(triggers_in_a_file_do_not_run),
		TEST(tables_of_the_user_do_no_harm),
		TEST(a_value_above_the_limit_is_not_loaded),
		TEST(a_trace_without_its_name_is_damaged),
		TEST(a_log_that_cannot_be_shared_here_is_told),
		TEST(a_file_that_expects_a_log_but_has_none_is_read_without_shared_memory),
		TEST(a_recording_without_shared_memory_is_read_while_it_goes_on),
		TEST(a_trace_in_a_read_only_folder_can_be_read),
		TEST(a_trace_that_expects_a_log_can_be_read_without_it_in_a_read_only_folder),
		TEST(a_file_that_may_not_be_read_is_a_matter_of_permission),
		TEST(what_a_killed_recorder_flushed_is_there),
		TEST(what_a_recorder_killed_with_a_rollback_journal_flushed_is_there),
		TEST(a_killed_recording_takes_results),
		TEST(a_killed_recording_in_a_read_only_folder_is_read_with_its_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
