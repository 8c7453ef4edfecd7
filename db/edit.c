/* SPDX-License-Identifier: MIT */
/* Hosts of a file, the copying of its tables, and new files; see edit.h. */
#include "db/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -------------------------------------------------------------------------------------- cursors */

enum zr_err db_cursor_open(struct db *db, const char *doing, const char *sql, struct db_cursor *out)
{
	int rc;

	*out = (struct db_cursor){ .db = db, .doing = doing };
	rc = sqlite3_prepare_v2(db->sql, sql, -1, &out->stmt, NULL);
	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(db, rc, doing);
}

enum zr_err db_cursor_next(struct db_cursor *rows, bool *row)
{
	int rc = sqlite3_step(rows->stmt);

	*row = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ZR_OK
						     : db_sql_fail(rows->db, rc, rows->doing);
}

void db_cursor_close(struct db_cursor *rows)
{
	sqlite3_finalize(rows->stmt);
	rows->stmt = NULL;
}

static const char *text_at(const struct db_cursor *rows, int column)
{
	const char *text = (const char *)sqlite3_column_text(rows->stmt, column);

	return text ? text : "";
}

/* ---------------------------------------------------------------------------------------- parts */

static uint64_t moment_ns(struct db_moment moment, const struct db_part *part, uint64_t otherwise)
{
	uint64_t ns = moment.ns;

	if (moment.base == DB_MOMENT_NONE)
		return otherwise;
	if (moment.base == DB_MOMENT_SINCE_START && __builtin_add_overflow(ns, part->first_ns, &ns))
		return INT64_MAX;
	return ns < INT64_MAX ? ns : INT64_MAX;
}

static bool wanted_host(const struct db_selection *selection, uint32_t host)
{
	return !selection || !selection->one_host || selection->host == host;
}

static enum zr_err no_such_host(struct db *db, const struct db_selection *selection,
				const uint32_t *hosts, size_t n)
{
	return zr_fail(ZR_NO_DATA, "%s: holds no host %u, but %zu, from %u to %u", db->path,
		       selection->host, n, n ? hosts[0] : 0, n ? hosts[n - 1] : 0);
}

static enum zr_err list_parts(struct db *db, const struct db_selection *selection,
			      struct zr_arena *arena, struct db_part **out, size_t *n)
{
	uint32_t *hosts;
	size_t all;
	enum zr_err err = db_hosts(db, arena, &hosts, &all);

	if (err)
		return err;
	*n = 0;
	*out = zr_arena_array(arena, all + 1, sizeof(**out));
	if (!*out)
		return zr_fail(ZR_NOMEM, "%s: no memory for %zu hosts", db->path, all);
	for (size_t i = 0; i < all; i++)
		if (wanted_host(selection, hosts[i]))
			(*out)[(*n)++] = (struct db_part){ .host = hosts[i], .as = hosts[i] };
	return *n || !selection || !selection->one_host ? ZR_OK
							: no_such_host(db, selection, hosts, all);
}

static int compare_host(const void *key, const void *item)
{
	int64_t host = *(const int64_t *)key, of_part = ((const struct db_part *)item)->host;

	return host < of_part ? -1 : host > of_part;
}

/* The part of a host, NULL if it is not among them. */
static const struct db_part *part_of(const struct db_part *parts, size_t n, int64_t host)
{
	return bsearch(&host, parts, n, sizeof(*parts), compare_host);
}

static void fill_span(const struct db_cursor *rows, struct db_part *parts, size_t n)
{
	int64_t host = sqlite3_column_int64(rows->stmt, 0);
	struct db_part *part = (struct db_part *)part_of(parts, n, host);

	if (!part)
		return;
	part->first_ns = (uint64_t)sqlite3_column_int64(rows->stmt, 1);
	part->last_ns = (uint64_t)sqlite3_column_int64(rows->stmt, 2);
	part->events = (uint64_t)sqlite3_column_int64(rows->stmt, 3);
	part->has_requests = sqlite3_column_int64(rows->stmt, 4) != 0;
}

static enum zr_err fill_spans(struct db *db, struct db_part *parts, size_t n)
{
	static_assert(DB_IO == 8, "the mask below is 1 << DB_IO");
	struct db_cursor rows;
	bool row = true;
	enum zr_err err = db_cursor_open(db, "read the chunks",
					 "SELECT host, min(first_ns), max(last_ns), sum(events), "
					 "max(kinds & 256) FROM chunk GROUP BY host",
					 &rows);

	while (!err && row) {
		err = db_cursor_next(&rows, &row);
		if (!err && row)
			fill_span(&rows, parts, n);
	}
	db_cursor_close(&rows);
	return err;
}

enum zr_err db_parts(struct db *db, const struct db_selection *selection, struct zr_arena *arena,
		     struct db_part **out, size_t *n)
{
	static const struct db_selection all = { 0 };
	enum zr_err err = list_parts(db, selection, arena, out, n);

	if (!err)
		err = fill_spans(db, *out, *n);
	if (!selection)
		selection = &all;
	for (size_t i = 0; i < *n && !err; i++) {
		struct db_part *part = &(*out)[i];

		part->from_ns = moment_ns(selection->from, part, 0);
		part->to_ns = moment_ns(selection->to, part, INT64_MAX);
	}
	return err;
}

uint32_t db_slot_sectors(struct db *db, uint32_t host)
{
	int64_t page_size = db_env_int(db, host, DB_ENV_PAGE_SIZE, 4096);

	return page_size >= 512 && page_size <= 1 << 20 ? (uint32_t)(page_size / 512) : 8;
}

/* --------------------------------------------------------------------------------------- tables */

bool db_is_damage(enum zr_err err)
{
	return err && (zr_err_class(err) == ZR_CLASS_INPUT || err == ZR_DB || err == ZR_LIMIT ||
		       err == ZR_IO);
}

/* The error of a read, or none if it may be passed over. */
static enum zr_err of_read(const struct db_copy *copy, enum zr_err err)
{
	if (!copy->lenient || !db_is_damage(err))
		return err;
	zr_error_clear();
	return ZR_OK;
}

enum zr_err db_copy_env(const struct db_copy *copy)
{
	struct zr_arena arena = { 0 };
	struct db_env *env;
	size_t n;
	enum zr_err err = of_read(copy, db_env_all(copy->from, &arena, &env, &n));

	for (size_t i = 0; i < n && !err; i++) {
		const struct db_part *part = part_of(copy->parts, copy->n_parts, env[i].host);

		if (part)
			err = db_env_set(copy->to, part->as, env[i].key, env[i].value);
	}
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err copy_memcgs(const struct db_copy *copy, const struct db_part *part,
			       struct zr_arena *arena)
{
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = of_read(copy, db_memcgs(copy->from, part->host, arena, &memcgs, &n));

	for (size_t i = 0; i < n && !err; i++) {
		memcgs[i].host = part->as;
		err = db_put_memcg(copy->to, &memcgs[i]);
	}
	return err;
}

static enum zr_err copy_tasks(const struct db_copy *copy, const struct db_part *part,
			      struct zr_arena *arena)
{
	struct db_task *tasks;
	size_t n;
	enum zr_err err = of_read(copy, db_tasks(copy->from, part->host, arena, &tasks, &n));

	for (size_t i = 0; i < n && !err; i++) {
		tasks[i].host = part->as;
		err = db_put_task(copy->to, &tasks[i]);
	}
	return err;
}

static enum zr_err copy_areas(const struct db_copy *copy, const struct db_part *part,
			      struct zr_arena *arena)
{
	struct db_area *areas;
	size_t n;
	enum zr_err err = of_read(copy, db_areas(copy->from, part->host, arena, &areas, &n));

	for (size_t i = 0; i < n && !err; i++) {
		areas[i].host = part->as;
		err = db_put_area(copy->to, &areas[i]);
	}
	return err;
}

enum zr_err db_copy_ids(const struct db_copy *copy)
{
	enum zr_err err = ZR_OK;

	for (size_t i = 0; i < copy->n_parts && !err; i++) {
		struct zr_arena arena = { 0 };

		err = copy_memcgs(copy, &copy->parts[i], &arena);
		if (!err)
			err = copy_tasks(copy, &copy->parts[i], &arena);
		if (!err)
			err = copy_areas(copy, &copy->parts[i], &arena);
		zr_arena_fini(&arena);
	}
	return err;
}

static enum zr_err copy_sample(const struct db_copy *copy, const struct db_cursor *rows,
			       uint64_t *samples)
{
	const struct db_part *part =
		part_of(copy->parts, copy->n_parts, sqlite3_column_int64(rows->stmt, 0));
	uint64_t time_ns = (uint64_t)sqlite3_column_int64(rows->stmt, 3);

	if (!part || time_ns < part->from_ns || time_ns >= part->to_ns)
		return ZR_OK;
	++*samples;
	return db_put_sample(copy->to, part->as, time_ns, text_at(rows, 1), text_at(rows, 2),
			     sqlite3_column_double(rows->stmt, 4));
}

/* Pages that have one another for children make a table without an end. */
static enum zr_err check_rowid(struct db *db, const struct db_cursor *rows, int64_t *last)
{
	int64_t id = sqlite3_column_int64(rows->stmt, 5);

	if (id <= *last)
		return zr_fail(ZR_CORRUPT, "%s: its samples are out of order: the file is damaged",
			       db->path);
	*last = id;
	return ZR_OK;
}

/* Without a sort: the order in which they were taken is the order of the table. */
enum zr_err db_copy_samples(const struct db_copy *copy, uint64_t *samples)
{
	struct db_cursor rows;
	bool row = true;
	int64_t last = INT64_MIN;
	enum zr_err err = db_cursor_open(
		copy->from, "read the samples",
		"SELECT c.host, c.source, c.name, s.time_ns, s.value, s.rowid "
		"FROM sample s CROSS JOIN counter c ON c.id = s.counter ORDER BY s.rowid",
		&rows);

	while (!err && row) {
		err = db_cursor_next(&rows, &row);
		if (!err && row)
			err = check_rowid(copy->from, &rows, &last);
		row &= !err;
		err = of_read(copy, err);
		if (!err && row)
			err = copy_sample(copy, &rows, samples);
	}
	db_cursor_close(&rows);
	return err;
}

/* ----------------------------------------------------------------------------------------- runs */

enum { ARGS_MAX = 16 };

/* The columns of the row as arguments, of the types that they have; texts live as long as the row.
 */
static void row_args(const struct db_cursor *rows, int first, struct db_arg *args)
{
	int n = sqlite3_column_count(rows->stmt);

	for (int i = first; i < n && i - first < ARGS_MAX; i++) {
		switch (sqlite3_column_type(rows->stmt, i)) {
		case SQLITE_INTEGER:
			args[i - first] = db_int(sqlite3_column_int64(rows->stmt, i));
			break;
		case SQLITE_FLOAT:
			args[i - first] = db_real(sqlite3_column_double(rows->stmt, i));
			break;
		default:
			args[i - first] = db_text(text_at(rows, i));
		}
	}
}

struct child {
	const char *sql;
	enum db_statement put;
};

/* Rows of a run in another table, under its new number. */
static enum zr_err copy_children(const struct db_copy *copy, const struct child *child, int64_t run,
				 int64_t as)
{
	struct db_arg args[ARGS_MAX + 1] = { db_int(as) };
	struct db_cursor rows;
	bool row = true;
	enum zr_err err = db_cursor_open(copy->from, "read the results", child->sql, &rows);

	if (!err)
		sqlite3_bind_int64(rows.stmt, 1, run);
	while (!err && row) {
		err = of_read(copy, db_cursor_next(&rows, &row));
		if (err || !row)
			break;
		row_args(&rows, 0, args + 1);
		err = db_sql_run(copy->to, child->put, args);
	}
	db_cursor_close(&rows);
	return err;
}

static enum zr_err copy_run(const struct db_copy *copy, const struct db_cursor *rows)
{
	static const struct child children[] = {
		{ "SELECT rep, name, value, figure FROM metric WHERE run = ? ORDER BY name, rep",
		  DB_SQL_METRIC_PUT },
		{ "SELECT series, time_ns, seq, value FROM point WHERE run = ? "
		  "ORDER BY series, time_ns, seq",
		  DB_SQL_POINT_PUT },
	};
	struct db_arg args[ARGS_MAX];
	int64_t run = sqlite3_column_int64(rows->stmt, 0), as;
	enum zr_err err;

	row_args(rows, 1, args);
	err = db_sql_run(copy->to, DB_SQL_RUN_PUT, args);
	as = sqlite3_last_insert_rowid(copy->to->sql);
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]) && !err; i++)
		err = copy_children(copy, &children[i], run, as);
	return err;
}

enum zr_err db_copy_runs(const struct db_copy *copy, uint64_t *runs)
{
	struct db_cursor rows;
	bool row = true;
	enum zr_err err = db_sql_begin(copy->to);

	if (err)
		return err;
	err = db_cursor_open(
		copy->from, "read the runs",
		"SELECT id, policy, knobs, target, target_detail, drive, pace, trace_id, "
		"trace_path, host, created_realtime_ns, reps, partial, note "
		"FROM run ORDER BY id",
		&rows);
	while (!err && row) {
		err = of_read(copy, db_cursor_next(&rows, &row));
		if (err || !row)
			break;
		err = copy_run(copy, &rows);
		++*runs;
	}
	db_cursor_close(&rows);
	return err;
}

/* --------------------------------------------------------------------------------------- output */

enum zr_err db_output_open(const char *path, struct db_output *out)
{
	enum zr_err err;

	*out = (struct db_output){ 0 };
	err = db_open(path, DB_CREATE, &out->db);
	return err ? err : db_set_bulk(out->db);
}

enum zr_err db_output_host(struct db_output *output, uint32_t host)
{
	struct db_writer_options options = { .host = host,
					     .flush_every_ns = UINT64_MAX,
					     .time_unit_ns = output->time_unit_ns };
	enum zr_err err = db_writer_free(output->writer);

	output->writer = NULL;
	return err ? err : db_writer_new(output->db, &options, &output->writer);
}

enum zr_err db_output_add(struct db_output *output, const struct db_event *event,
			  struct db_edit_result *result)
{
	result->events++;
	if (event->kind == DB_GAP) {
		result->gaps++;
		result->lost_events += event->slot;
	}
	return db_writer_add(output->writer, event);
}

/* False if the trace itself is still there. */
static bool remove_trace(const char *path)
{
	static const char *const endings[] = { "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, endings[i]) < 0)
			continue;
		unlink(name);
		free(name);
	}
	return unlink(path) == 0 || errno == ENOENT;
}

/* The sentence of the error goes on: what it means for the new file. */
static enum zr_err fail_removed(enum zr_err err, const char *path, bool removed)
{
	char *text = strdup(zr_error_text());

	zr_error_clear();
	err = zr_fail(err, "%s; the unfinished %s %s", text ? text : zr_err_name(err), path,
		      removed ? "is removed" : "could not be removed");
	free(text);
	return err;
}

enum zr_err db_output_close(struct db_output *output, enum zr_err err, bool complete)
{
	enum zr_err freed = db_writer_free(output->writer), closed;
	char *path = output->db ? strdup(output->db->path) : NULL;

	if (!err)
		err = freed;
	if (!err && complete)
		err = db_set_complete(output->db);
	closed = db_close(output->db);
	if (!err)
		err = closed;
	if (err && path)
		err = fail_removed(err, path, remove_trace(path));
	free(path);
	*output = (struct db_output){ 0 };
	return err;
}

/* ------------------------------------------------------------------------------------- watching */

enum zr_err db_watch_ask(const struct db_watch *watch, double done)
{
	if (!watch || !watch->fn || watch->fn(watch->arg, done))
		return ZR_OK;
	return zr_fail(ZR_INTERRUPTED, "interrupted at %.0f%%", 100 * done);
}
