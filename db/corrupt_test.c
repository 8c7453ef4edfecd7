/* SPDX-License-Identifier: MIT */
/*
 * Every file of traces/corrupt: opened, all of its tables and events read, and asked in SQL, in a
 * process with little memory and time. The error has to be the one that is listed here.
 */
#include "db/test_help.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MEMORY_MAX = 1 << 30, CPU_SECONDS_MAX = 60 };

/* The first step of reading that fails, if one does. */
static const struct corrupt {
	const char *name;
	enum zr_err err;
	const char *words;
} files[] = {
	{ "empty.zr", ZR_NOT_A_TRACE, "not a zreel trace" },
	{ "text.zr", ZR_NOT_A_TRACE, "not a zreel trace" },
	{ "random.zr", ZR_NOT_A_TRACE, "not a zreel trace" },
	{ "header-only.zr", ZR_CORRUPT, "the file is damaged" },
	{ "truncated.zr", ZR_CORRUPT, "the file is damaged" },
	{ "cut-in-page.zr", ZR_OK, "" },
	{ "random-inside.zr", ZR_CORRUPT, "the file is damaged" },
	{ "other-program.zr", ZR_NOT_A_TRACE, "application id 0x0f055112" },
	{ "newer.zr", ZR_NEWER_VERSION, "format version 7" },
	{ "version-0.zr", ZR_CORRUPT, "impossible format version 0" },
	{ "sound.zr", ZR_OK, "" },
	{ "trigger.zr", ZR_OK, "" },
	{ "view.zr", ZR_CORRUPT, "its table env is missing" },
	{ "generated.zr", ZR_CORRUPT, "its table env is not declared as zreel does" },
	{ "no-index.zr", ZR_CORRUPT, "its index chunk_by_time is missing" },
	{ "events-table.zr", ZR_CORRUPT, "a table `events` of its own" },
	{ "types.zr", ZR_CORRUPT, "the id -1" },
	{ "big-id.zr", ZR_CORRUPT, "the id 70000" },
	{ "bad-host.zr", ZR_CORRUPT, "-5 is no host" },
	{ "flipped-bit.zr", ZR_CORRUPT, "the checksum of its 112 bytes does not match" },
	{ "short-chunk.zr", ZR_CORRUPT, "the checksum of its 90 bytes does not match" },
	{ "newer-chunk.zr", ZR_NEWER_VERSION, "chunk format 3" },
	{ "huge-count.zr", ZR_CORRUPT, "claims 2147483647 events" },
	{ "wrong-kind.zr", ZR_CORRUPT, "kind 11" },
	{ "wrong-type.zr", ZR_CORRUPT, "type 182" },
	{ "no-place.zr", ZR_CORRUPT, "in no list" },
	{ "sound-1.zr", ZR_OK, "" },
	{ "bomb.zr", ZR_CORRUPT, "does not decompress" },
	{ "bomb-1.zr", ZR_CORRUPT, "does not decompress" },
	{ "lying-row.zr", ZR_CORRUPT, "its row does not describe its events" },
	{ "overlap.zr", ZR_CORRUPT, "before the end of the chunk before it" },
	{ "endless-hosts.zr", ZR_CORRUPT, "its hosts are out of order" },
	{ "endless-chunks.zr", ZR_CORRUPT, "more rows than fit into it" },
	{ "endless-samples.zr", ZR_CORRUPT, "more rows than fit into it" },
};

enum { FILES = sizeof(files) / sizeof(files[0]) };

static enum zr_err read_host(struct db *db, uint32_t host, struct zr_arena *arena)
{
	struct db_counter counter = { host, "vmstat", "pswpout" };
	struct db_sample *samples;
	struct db_memcg *memcgs;
	struct db_task *tasks;
	struct db_area *areas;
	size_t n;
	enum zr_err err = db_memcgs(db, host, arena, &memcgs, &n);

	if (!err)
		err = db_tasks(db, host, arena, &tasks, &n);
	if (!err)
		err = db_areas(db, host, arena, &areas, &n);
	if (!err)
		err = db_samples(db, &counter, arena, &samples, &n);
	return err;
}

static enum zr_err take_row(void *arg, const struct db_sql_row *row)
{
	*(int64_t *)arg = row->values[0].integer;
	return ZR_OK;
}

static enum zr_err read_open(struct db *db, struct zr_arena *arena)
{
	struct db_sql_result result;
	struct db_summary sum = { 0 };
	struct db_run *runs;
	struct db_env *env;
	uint32_t *hosts;
	int64_t events = 0;
	size_t n_hosts, n;
	const struct db_sql_sink sink = { .row = take_row, .arg = &events };
	enum zr_err err = db_env_all(db, arena, &env, &n);

	if (!err)
		err = db_hosts(db, arena, &hosts, &n_hosts);
	for (size_t i = 0; !err && i < n_hosts; i++)
		err = read_host(db, hosts[i], arena);
	if (!err)
		err = db_runs(db, arena, &runs, &n);
	if (!err)
		err = db_summarise(db, &sum);
	if (!err)
		err = db_sql_query(db, "SELECT count(*) FROM events", &sink, &result);
	if (!err && (events != 5 || sum.events[DB_OUT] != 3))
		err = zr_fail(ZR_IO, "read %lld events", (long long)events);
	return err;
}

static enum zr_err read_file(const char *path)
{
	struct zr_arena arena = { 0 };
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db);

	if (err)
		return err;
	err = read_open(db, &arena);
	zr_arena_fini(&arena);
	(void)!db_close(db);
	return err;
}

static void limit(int what, rlim_t most)
{
	struct rlimit l = { most, most };

	if (setrlimit(what, &l))
		_exit(90);
}

/* In a child. */
static void try_file(const struct corrupt *file, const char *path)
{
	enum zr_err err = read_file(path);

	if (err == file->err && (!err || strstr(zr_error_text(), file->words)))
		_exit(0);
	fprintf(stderr, "%s: %s: %s\n", path, zr_err_name(err), zr_error_text());
	_exit(1);
}

/* What is sound of it, which may be nothing, saved and read again; in a child too. */
static void try_to_save([[maybe_unused]] const struct corrupt *file, const char *path)
{
	const struct db_verify_options options = { 0 };
	struct db_verify_result found, again;
	struct db_edit_result saved;
	char to[100];
	struct db *db;

	snprintf(to, sizeof(to), "/tmp/zreel-corrupt-%d.zr", (int)getpid());
	if (db_open(path, DB_SALVAGE, &db))
		_exit(zr_error_text()[0] ? 0 : 2);
	if (db_repair(db, to, &options, &found, &saved))
		_exit(zr_error_text()[0] && access(to, F_OK) ? 0 : 3);
	(void)!db_close(db);
	if (db_open(to, DB_READ, &db) || db_verify(db, &options, &again)) {
		fprintf(stderr, "%s: saved, but: %s\n", path, zr_error_text());
		_exit(4);
	}
	(void)!db_close(db);
	unlink(to);
	_exit(again.damages ? 5 : 0);
}

/* In a child with little memory and time. The sanitizers need address space of their own. */
static int run_limited(void (*try)(const struct corrupt *file, const char *path), const struct corrupt *file)
{
	char path[300];
	pid_t pid = fork();
	int status;

	if (pid == 0) {
#if !defined(__SANITIZE_ADDRESS__)
		limit(RLIMIT_AS, MEMORY_MAX);
#endif
		limit(RLIMIT_CPU, CPU_SECONDS_MAX);
		snprintf(path, sizeof(path), "traces/corrupt/%s", file->name);
		try(file, path);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void what_is_sound_of_any_file_is_saved(void **state)
{
	unsigned bad = 0;

	(void)state;
	for (size_t i = 0; i < FILES; i++) {
		int status = run_limited(try_to_save, &files[i]);

		if (status)
			fprintf(stderr, "%s: status 0x%x\n", files[i].name, (unsigned)status);
		bad += status != 0;
	}
	assert_int_equal(bad, 0);
}

static void every_file_is_refused_as_it_should_be(void **state)
{
	unsigned bad = 0;

	(void)state;
	for (size_t i = 0; i < FILES; i++) {
		int status = run_limited(try_file, &files[i]);

		if (status)
			fprintf(stderr, "%s: status 0x%x\n", files[i].name, (unsigned)status);
		bad += status != 0;
	}
	assert_int_equal(bad, 0);
}

/* A file that nobody tries, or of which the README says nothing, is of no use. */
static void every_file_is_tried_and_described(void **state)
{
	static char readme[10000];
	FILE *file = fopen("traces/corrupt/README.md", "r");
	DIR *folder = opendir("traces/corrupt");
	const struct dirent *entry;
	size_t n = 0;

	(void)state;
	assert_true(file && folder && fread(readme, 1, sizeof(readme) - 1, file) > 0);
	fclose(file);
	while ((entry = readdir(folder))) {
		char quoted[300];
		size_t i = 0;

		if (!strstr(entry->d_name, ".zr"))
			continue;
		while (i < FILES && strcmp(files[i].name, entry->d_name))
			i++;
		snprintf(quoted, sizeof(quoted), "`%s`", entry->d_name);
		if (i == FILES || !strstr(readme, quoted))
			fail_msg("%s is not tried or not described", entry->d_name);
		n++;
	}
	closedir(folder);
	assert_int_equal(n, FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_refused_as_it_should_be),
		cmocka_unit_test(what_is_sound_of_any_file_is_saved),
		cmocka_unit_test(every_file_is_tried_and_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
