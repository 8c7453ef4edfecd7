/* SPDX-License-Identifier: MIT */
/*
 * Golden files: traces of each version that must stay readable for ever, db/golden/vN-*.zr; N is
 * that of the tables. Their events are known by a checksum that was noted when they were made.
 * `golden_test --write FOLDER` makes the last one; each was the last one once, and is not to be
 * made again.
 *
 * And the way forward from an older version, with a version 2 that is made up here.
 */
#include "db/test_help.h"

#include <sqlite3.h>

#include "db/base/bytes.h"
#include "db/versions.h"

enum { GOLDEN_HOSTS = 2 };

static const struct golden {
	const char *name;
	uint32_t events, seed; /* of each host */
	uint32_t crc;	       /* of all events, as text */
} goldens[] = {
	{ "v1-two-hosts.zr", 400, 5, 0x144d8d1e },   /* chunk version 1 */
	{ "v1-chunks-of-2.zr", 400, 5, 0x144d8d1e }, /* the same events, chunk version 2 */
};

enum { GOLDENS = sizeof(goldens) / sizeof(goldens[0]) };

/* -------------------------------------------------------------------------------------- writing */

/* The second host's times are in microseconds. */
static void write_host(struct db *db, const struct golden *golden, uint32_t host)
{
	struct test_random random = { golden->seed + host };
	struct db_writer_options options = { .host = host,
					     .flush_every_ns = 10000000,
					     .time_unit_ns = host ? 1000 : 1 };
	uint64_t now_ns = 12345678901 * (host + 1);
	struct db_writer *writer;

	assert_ok(db_env_set(db, host, DB_ENV_HOSTNAME, host ? "second" : "first"));
	assert_ok(db_put_memcg(db, &(struct db_memcg){ host, 1, 4711, "/system.slice/世蓮" }));
	assert_ok(db_put_task(db, &(struct db_task){ host, 1, 17, 16, "a b[1]: x" }));
	assert_ok(db_put_area(db, &(struct db_area){ .host = host,
						     .path = "/dev/nvme0n1p3",
						     .major = 259,
						     .minor = 3,
						     .start_sector = 2048,
						     .slots = 1 << 20,
						     .priority = -2 }));
	assert_ok(db_put_sample(db, host, now_ns, "vmstat", "pswpout", 42));
	assert_ok(db_writer_new(db, &options, &writer));
	for (uint32_t i = 0; i < golden->events; i++) {
		struct db_event e = test_draw_event(&random, &now_ns);

		assert_ok(db_writer_add(writer, &e));
	}
	assert_ok(db_writer_free(writer));
}

static void write_golden(const struct golden *golden, const char *folder)
{
	struct db_run run = { .policy = "batched", .target = "null", .note = "golden", .reps = 1 };
	struct db_metric metric = { .name = "write_requests", .value = 1.5, .figure = DB_PLANNED };
	char path[4096];
	struct db *db;

	snprintf(path, sizeof(path), "%s/%s", folder, golden->name);
	assert_ok(db_open(path, DB_CREATE, &db));
	for (uint32_t host = 0; host < GOLDEN_HOSTS; host++)
		write_host(db, golden, host);
	assert_ok(db_run_add(db, &run, &metric, 1, NULL, 0));
	assert_ok(db_set_complete(db));
	assert_ok(db_close(db));
}

/* -------------------------------------------------------------------------------------- reading */

static uint32_t crc_of_event(uint32_t crc, uint32_t host, struct db_event e)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "%u %llu %u %u %u %u %u %u %u %u\n", host,
			 (unsigned long long)e.time_ns, e.kind, e.area, e.slot, e.order, e.memcg,
			 e.task, e.len, e.flags);

	return zr_crc32c(crc, line, (size_t)n);
}

static uint32_t crc_of_events(struct db *db, uint64_t *n)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	uint32_t crc = 0;

	*n = 0;
	assert_ok(db_reader_new(db, NULL, &reader));
	for (;;) {
		assert_ok(db_reader_next(reader, &batch));
		if (!batch)
			break;
		for (uint32_t i = 0; i < batch->n; i++)
			crc = crc_of_event(crc, batch->host, db_batch_event(batch, i));
		*n += batch->n;
	}
	db_reader_free(reader);
	return crc;
}

static void assert_tables(struct db *db)
{
	struct zr_arena arena = { 0 };
	struct db_memcg *memcgs;
	struct db_sample *samples;
	struct db_task *tasks;
	struct db_area *areas;
	struct db_run *runs;
	size_t n;

	assert_ok(db_memcgs(db, 1, &arena, &memcgs, &n));
	assert_true(n == 1 && memcgs[0].cgroup_id == 4711);
	assert_string_equal(memcgs[0].path, "/system.slice/世蓮");
	assert_ok(db_tasks(db, 0, &arena, &tasks, &n));
	assert_true(n == 1 && tasks[0].tid == 17);
	assert_ok(db_areas(db, 0, &arena, &areas, &n));
	assert_true(n == 1 && areas[0].priority == -2 && areas[0].start_sector == 2048);
	assert_ok(db_samples(db, &(struct db_counter){ 0, "vmstat", "pswpout" }, &arena, &samples,
			     &n));
	assert_true(n == 1 && samples[0].value == 42);
	assert_ok(db_runs(db, &arena, &runs, &n));
	assert_int_equal(n, 1);
	assert_string_equal(runs[0].note, "golden");
	zr_arena_fini(&arena);
}

static const char *golden_path(const struct golden *golden)
{
	static char path[200];

	snprintf(path, sizeof(path), "db/golden/%s", golden->name);
	return path;
}

static void golden_files_read_as_when_they_were_made(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOLDENS; i++) {
		struct db *db;
		uint64_t n;

		assert_ok(db_open(golden_path(&goldens[i]), DB_READ, &db));
		assert_true(db_is_complete(db));
		assert_int_equal(crc_of_events(db, &n), goldens[i].crc);
		assert_int_equal(n, GOLDEN_HOSTS * goldens[i].events);
		assert_tables(db);
		assert_ok(db_close(db));
	}
}

/* --------------------------------------------------------------------------- an older version */

/* A version 2 whose env has one column more, and where each value is marked on its way from 1. */
static const char env_1[] = "CREATE TABLE env (\n"
			    "	host INTEGER NOT NULL,\n"
			    "	key TEXT NOT NULL,\n"
			    "	value TEXT NOT NULL,\n"
			    "	PRIMARY KEY (host, key)\n"
			    ") WITHOUT ROWID;\n";
static const char env_2[] =
	"CREATE TABLE env (host INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
	"source TEXT NOT NULL DEFAULT '', PRIMARY KEY (host, key)) WITHOUT ROWID;\n";
static const char change_1[] =
	"ALTER TABLE env RENAME TO env_1;"
	"CREATE TABLE env (host INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
	"source TEXT NOT NULL DEFAULT '', PRIMARY KEY (host, key)) WITHOUT ROWID;"
	"INSERT INTO env SELECT host, key, value || ' from 1', '' FROM env_1;"
	"DROP TABLE env_1;";
static const char views_1[] =
	"CREATE TEMP VIEW env AS SELECT host, key, value || ' from 1' AS value, "
	"'' AS source FROM main.env;";

struct future {
	void *folder;
	char path[300];
	char *schema_2;
	struct db_version list[2];
	struct db_versions versions;
};

/* The newest schema's text with another env and another number. */
static char *make_schema_2(void)
{
	const char *old = db_versions.list[0].schema, *env = strstr(old, env_1);
	const char *number = strstr(old, "PRAGMA user_version = 1;");
	char *text = NULL;

	if (env && number && number < env)
		(void)!asprintf(&text, "%.*sPRAGMA user_version = 2;%.*s%s%s", (int)(number - old),
				old, (int)(env - number - 24), number + 24, env_2,
				env + strlen(env_1));
	return text;
}

static void copy_golden(const char *to)
{
	FILE *in = fopen(golden_path(&goldens[0]), "r"), *out = fopen(to, "w");
	char piece[4096];
	size_t n;

	assert_true(in && out);
	while ((n = fread(piece, 1, sizeof(piece), in)))
		assert_int_equal(fwrite(piece, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

static int set_up(void **state)
{
	struct future *f = calloc(1, sizeof(*f));

	if (!f || test_folder(&f->folder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/t.zr", (const char *)f->folder);
	f->schema_2 = make_schema_2();
	f->list[0] = (struct db_version){ db_versions.list[0].schema, change_1, views_1 };
	f->list[1] = (struct db_version){ .schema = f->schema_2 };
	f->versions = (struct db_versions){ f->list, 2 };
	*state = f;
	return !f->schema_2;
}

static int tear_down(void **state)
{
	struct future *f = *state;
	void *folder = f->folder;

	free(f->schema_2);
	free(f);
	return test_remove_folder(&folder);
}

static void assert_env(struct db *db, const char *wanted)
{
	struct zr_arena arena = { 0 };
	const char *value;

	assert_ok(db_env_get(db, 0, DB_ENV_HOSTNAME, &arena, &value));
	assert_string_equal(value, wanted);
	zr_arena_fini(&arena);
}

static int version_of(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *sql;
	int version;

	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sql, "PRAGMA user_version", -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	version = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
	return version;
}

static void an_older_file_is_read_without_being_changed(void **state)
{
	struct future *f = *state;
	struct db *db;
	uint64_t n;

	copy_golden(f->path);
	assert_ok(db_open_as(&f->versions, f->path, DB_READ, &db));
	assert_env(db, "first from 1");
	assert_int_equal(crc_of_events(db, &n), goldens[0].crc);
	assert_tables(db);
	assert_ok(db_close(db));
	assert_int_equal(version_of(f->path), 1);
	assert_ok(db_open(f->path, DB_READ, &db));
	assert_env(db, "first");
	assert_ok(db_close(db));
}

static void an_older_file_is_brought_forward_once_when_it_is_written_to(void **state)
{
	struct future *f = *state;
	struct db *db;
	uint64_t n;

	copy_golden(f->path);
	for (int i = 0; i < 2; i++) {
		assert_ok(db_open_as(&f->versions, f->path, DB_RESULTS, &db));
		assert_env(db, "first from 1");
		assert_int_equal(crc_of_events(db, &n), goldens[0].crc);
		assert_tables(db);
		assert_ok(db_close(db));
		assert_int_equal(version_of(f->path), 2);
	}
	/* There is no way back, and the older program says so. */
	assert_fails(db_open(f->path, DB_READ, &db), ZR_NEWER_VERSION, "format version 2");
	assert_ok(db_open_as(&f->versions, f->path, DB_READ, &db));
	assert_env(db, "first from 1");
	assert_ok(db_close(db));
}

static void a_step_that_fails_leaves_the_file_as_it_was(void **state)
{
	static const char *const changes[] = {
		"DROP TABLE env; CREATE TABLE env (a); INSERT INTO nowhere VALUES (1);",
		/* Done, but not what version 2 is. */
		"DROP TABLE env; CREATE TABLE env (a);",
	};
	struct future *f = *state;
	struct db *db;
	uint64_t n;

	for (int i = 0; i < 2; i++) {
		copy_golden(f->path);
		f->list[0].change = changes[i];
		assert_fails(db_open_as(&f->versions, f->path, DB_RESULTS, &db),
			     i ? ZR_CORRUPT : ZR_DB,
			     i ? "its table env" : "bring its version forward");
		assert_int_equal(version_of(f->path), 1);
		assert_ok(db_open(f->path, DB_READ, &db));
		assert_env(db, "first");
		assert_int_equal(crc_of_events(db, &n), goldens[0].crc);
		assert_ok(db_close(db));
	}
}

static void an_older_file_with_strange_tables_is_not_brought_forward(void **state)
{
	struct future *f = *state;
	struct db *db;
	sqlite3 *sql;

	copy_golden(f->path);
	assert_int_equal(sqlite3_open(f->path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "ALTER TABLE env ADD COLUMN mine", NULL, NULL, NULL), 0);
	sqlite3_close(sql);
	assert_fails(db_open_as(&f->versions, f->path, DB_RESULTS, &db), ZR_CORRUPT,
		     "its table env");
	assert_fails(db_open_as(&f->versions, f->path, DB_READ, &db), ZR_CORRUPT, "its table env");
	assert_int_equal(version_of(f->path), 1);
}

static void a_new_file_is_of_the_newest_version(void **state)
{
	struct future *f = *state;
	struct db *db;

	assert_ok(db_open_as(&f->versions, f->path, DB_CREATE, &db));
	assert_ok(db_close(db));
	assert_int_equal(version_of(f->path), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_files_read_as_when_they_were_made),
		TEST(an_older_file_is_read_without_being_changed),
		TEST(an_older_file_is_brought_forward_once_when_it_is_written_to),
		TEST(a_step_that_fails_leaves_the_file_as_it_was),
		TEST(an_older_file_with_strange_tables_is_not_brought_forward),
		TEST(a_new_file_is_of_the_newest_version),
	};

	if (argc == 3 && !strcmp(argv[1], "--write")) {
		write_golden(&goldens[GOLDENS - 1], argv[2]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
