/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a whole file: opened, all of its tables and events read, asked in SQL, verified, and what is
 * sound of it saved. traces/corrupt and db/golden are good seeds. A file system in memory saves the disk; SQLite
 * wants a path.
 *
 * Random bytes are refused at the door. So three mutations of four know how a database is laid out: they change
 * the file's header, the header and the cells of a b-tree page, or move whole pages.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed);

enum { FILE_HEADER = 100, PAGE_SIZE_AT = 16, PAGE_HEADER = 12, PAGE_MIN = 512 };

/* ------------------------------------------------------------------------------------- mutations */

static uint32_t draw(uint32_t *state, size_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)(*state >> 8) * below) >> 24);
}

/* A byte's own neighbours and extremes are worth more than any value. */
static uint8_t odd_byte(uint32_t *state, uint8_t was)
{
	const uint8_t values[] = { 0,	 1,	0x7f,	0x80, 0xff, (uint8_t)(was + 1), (uint8_t)(was - 1),
				   was ^ 1, 0x0d, 0x0a, 0x05, 0x02, (uint8_t)draw(state, 256) };

	return values[draw(state, sizeof(values))];
}

/* Fields of the file's header: sizes, counts, free pages, schema and text encodings. */
static void change_header(uint8_t *data, uint32_t *state)
{
	uint8_t *at = data + PAGE_SIZE_AT + draw(state, FILE_HEADER - PAGE_SIZE_AT);

	*at = odd_byte(state, *at);
}

/* Kind, number of cells, where they lie, the right child; or the start of a cell: sizes as varints, page numbers. */
static void change_page(uint8_t *page, size_t page_bytes, bool first, uint32_t *state)
{
	size_t header = first ? FILE_HEADER : 0, at;
	size_t cells = (size_t)page[header + 3] << 8 | page[header + 4];
	size_t pointer = header + PAGE_HEADER - 4 + 2 * draw(state, cells + 2);

	at = header + draw(state, PAGE_HEADER);
	if (draw(state, 4) && pointer + 2 <= page_bytes) {
		size_t cell = (size_t)page[pointer] << 8 | page[pointer + 1];

		at = draw(state, 4) ? cell + draw(state, 24) : pointer + draw(state, 2);
	}
	if (at < page_bytes)
		page[at] = odd_byte(state, page[at]);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	uint32_t state = seed * 2654435761u + 1;
	size_t page_bytes, pages;

	if (bytes < PAGE_MIN || !draw(&state, 4))
		return LLVMFuzzerMutate(data, bytes, room);
	page_bytes = (size_t)data[PAGE_SIZE_AT] << 8 | data[PAGE_SIZE_AT + 1];
	if (page_bytes < PAGE_MIN || page_bytes > bytes)
		page_bytes = PAGE_MIN;
	pages = bytes / page_bytes;
	for (unsigned n = 1 + draw(&state, 4); n; n--) {
		size_t page = draw(&state, pages), other = draw(&state, pages);

		switch (draw(&state, 8)) {
		case 0:
			change_header(data, &state);
			break;
		case 1:
			memmove(data + page * page_bytes, data + other * page_bytes, page_bytes);
			break;
		default:
			change_page(data + page * page_bytes, page_bytes, !page, &state);
		}
	}
	return draw(&state, 16) ? bytes : page_bytes * (1 + draw(&state, pages));
}

/* --------------------------------------------------------------------------------------- reading */

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

/* The reader of damaged files shares little with that of sound ones. What it saves must be sound. */
static void save(const char *path)
{
	const struct db_verify_options options = { 0 };
	struct db_verify_result found, again;
	struct db_edit_result saved;
	char to[120];
	struct db *db;

	snprintf(to, sizeof(to), "%s.saved", path);
	if (db_open(path, DB_SALVAGE, &db))
		return;
	if (!db_repair(db, to, &options, &found, &saved)) {
		struct db *sound;

		if (db_open(to, DB_READ, &sound) || db_verify(sound, &options, &again) || again.damages) {
			fprintf(stderr, "what was saved is not sound: %s\n", zr_error_text());
			abort();
		}
		(void)!db_close(sound);
		unlink(to);
	}
	(void)!db_close(db);
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
	save(path);
	zr_error_clear();
	unlink(path);
	return 0;
}
