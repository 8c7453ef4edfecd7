/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a whole file: opened, all of its tables and events read, asked in SQL.
 * traces/corrupt is a good seed. A file system in memory saves the disk; SQLite wants a path.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/db.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void write_file(const char *path, const uint8_t *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || close(fd))
		abort();
}

static void read_host(struct db *db, uint32_t host, struct zr_arena *arena)
{
	struct db_counter *counters;
	struct db_sample *samples;
	struct db_memcg *memcgs;
	struct db_task *tasks;
	struct db_area *areas;
	size_t n;

	(void)!db_memcgs(db, host, arena, &memcgs, &n);
	(void)!db_tasks(db, host, arena, &tasks, &n);
	(void)!db_areas(db, host, arena, &areas, &n);
	if (!db_counters(db, host, arena, &counters, &n) && n)
		(void)!db_samples(db, &counters[0], arena, &samples, &n);
}

static void read_runs(struct db *db, struct zr_arena *arena)
{
	struct db_metric *metrics;
	struct db_run *runs;
	size_t n;

	if (!db_runs(db, arena, &runs, &n) && n)
		(void)!db_metrics(db, runs[0].id, arena, &metrics, &n);
}

static enum zr_err ignore_row(void *arg, const struct db_sql_row *row)
{
	(void)arg, (void)row;
	return ZR_OK;
}

static void read_all(struct db *db)
{
	const struct db_sql_sink sink = { .row = ignore_row };
	struct zr_arena arena = { 0 };
	struct db_sql_result result;
	struct db_summary sum;
	struct db_env *env;
	uint32_t *hosts;
	size_t n;

	(void)!db_env_all(db, &arena, &env, &n);
	if (!db_hosts(db, &arena, &hosts, &n) && n)
		read_host(db, hosts[0], &arena);
	read_runs(db, &arena);
	(void)!db_summarise(db, &sum);
	zr_error_clear();
	(void)!db_sql_query(db, "SELECT kind, sum(slot), max(cgroup) FROM events GROUP BY 1", &sink,
			    &result);
	zr_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[100];
	struct db *db;

	snprintf(path, sizeof(path), "/dev/shm/zreel-open-fuzz-%ld.zr", (long)getpid());
	write_file(path, data, bytes);
	zr_error_clear();
	if (!db_open(path, DB_READ, &db)) {
		read_all(db);
		(void)!db_close(db);
	}
	zr_error_clear();
	unlink(path);
	return 0;
}
