/* SPDX-License-Identifier: MIT */
/*
 * The small tables of a trace: environment, cgroups, tasks, swap areas, samples, hosts. One put and
 * one list function each; see db.h for their contracts and schema.sql for the tables.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/sql.h"

/* --------------------------------------------------------------------------------- environment */

enum zr_err db_env_set(struct db *db, uint32_t host, const char *key, const char *value)
{
	enum zr_err err = db_sql_begin_host(db, host);

	if (err)
		return err;
	return db_sql_run(db, DB_SQL_ENV_SET,
			  (struct db_arg[]){ db_int(host), db_text(key), db_text(value) });
}

enum zr_err db_env_setf(struct db *db, uint32_t host, const char *key, const char *fmt, ...)
{
	enum zr_err err;
	va_list ap;
	char *value;
	int length;

	va_start(ap, fmt);
	length = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (length < 0)
		return zr_fail(ZR_NOMEM, "no memory for the setting %s", key);
	err = db_env_set(db, host, key, value);
	free(value);
	return err;
}

enum zr_err db_env_get(struct db *db, uint32_t host, const char *key, struct zr_arena *arena,
		       const char **out)
{
	struct db_list list = { .arena = arena };
	sqlite3_stmt *stmt;
	bool row;
	enum zr_err err = db_sql_start(db, DB_SQL_ENV_GET,
				       (struct db_arg[]){ db_int(host), db_text(key) }, &stmt);

	if (!err)
		err = db_sql_next(db, DB_SQL_ENV_GET, &row);
	if (err)
		return err;
	*out = NULL;
	if (row)
		err = db_list_text(db, &list, stmt, 0, out);
	db_sql_stop(db, DB_SQL_ENV_GET);
	return err;
}

int64_t db_env_int(struct db *db, uint32_t host, const char *key, int64_t otherwise)
{
	struct zr_arena arena = { 0 };
	const char *text = NULL;
	char *end;
	long long value;

	if (db_env_get(db, host, key, &arena, &text))
		zr_error_clear();
	if (text) {
		errno = 0;
		value = strtoll(text, &end, 10);
		if (end != text && !*end && !errno)
			otherwise = value;
	}
	zr_arena_fini(&arena);
	return otherwise;
}

static enum zr_err out_of_order(struct db *db, const char *what)
{
	return zr_fail(ZR_CORRUPT, "%s: its %s are out of order: the file is damaged", db->path, what);
}

static enum zr_err check_order(struct db *db, const struct db_env *env, bool first)
{
	if (first || env[-1].host < env->host ||
	    (env[-1].host == env->host && strcmp(env[-1].key, env->key) < 0))
		return ZR_OK;
	return out_of_order(db, "settings");
}

static enum zr_err fill_env(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_env *env = item;
	enum zr_err err;

	env->host = (uint32_t)sqlite3_column_int64(row, 0);
	err = db_list_text(db, list, row, 1, &env->key);
	if (!err)
		err = check_order(db, env, list->n == 1);
	return err ? err : db_list_text(db, list, row, 2, &env->value);
}

enum zr_err db_env_all(struct db *db, struct zr_arena *arena, struct db_env **out, size_t *n)
{
	struct db_list list = { .arena = arena, .item_bytes = sizeof(**out), .fill = fill_env };
	enum zr_err err = db_list_read(db, DB_SQL_ENV_ALL, NULL, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

/* --------------------------------------------------------------------------------------- hosts */

static enum zr_err fill_host(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	int64_t id = sqlite3_column_int64(row, 0);

	if (id < 0 || id > UINT32_MAX)
		return zr_fail(ZR_CORRUPT, "%s: %lld is no host id", db->path, (long long)id);
	if (id < list->next_id)
		return out_of_order(db, "hosts");
	list->next_id = id + 1;
	*(uint32_t *)item = (uint32_t)id;
	return ZR_OK;
}

enum zr_err db_hosts(struct db *db, struct zr_arena *arena, uint32_t **out, size_t *n)
{
	struct db_list list = { .arena = arena, .item_bytes = sizeof(**out), .fill = fill_host };
	enum zr_err err = db_list_read(db, DB_SQL_HOSTS, NULL, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

/* ------------------------------------------------------------------------------------- cgroups */

static const struct id_kind {
	const char *one, *many;
	uint32_t most;
} memcg_ids = { "cgroup", "cgroups", DB_MEMCG_MAX },
  task_ids = { "task", "tasks", UINT32_MAX },
  area_ids = { "swap area", "swap areas", DB_AREA_MAX };

/* The dense id in column 0. Readers size arrays by it, so that a table cannot hold more than the
 * format. */
static enum zr_err get_id(struct db *db, struct db_list *list, sqlite3_stmt *row, const struct id_kind *kind,
			  uint32_t *id)
{
	int64_t value = sqlite3_column_int64(row, 0);

	if (value < 0 || value > kind->most)
		return zr_fail(ZR_CORRUPT, "%s: a %s has the id %lld, 0 to %u are possible",
			       db->path, kind->one, (long long)value, kind->most);
	if (value < list->next_id)
		return out_of_order(db, kind->many);
	list->next_id = value + 1;
	*id = (uint32_t)value;
	return ZR_OK;
}

static enum zr_err check_id(struct db *db, const struct id_kind *kind, uint32_t id)
{
	return id <= kind->most ? ZR_OK
			  : zr_fail(ZR_LIMIT, "%s: %s id %u: a trace holds at most %u of a host",
				    db->path, kind->one, id, kind->most);
}

enum zr_err db_put_memcg(struct db *db, const struct db_memcg *memcg)
{
	enum zr_err err = check_id(db, &memcg_ids, memcg->id);

	if (!err)
		err = db_sql_begin_host(db, memcg->host);
	if (err)
		return err;
	return db_sql_run(db, DB_SQL_MEMCG_PUT,
			  (struct db_arg[]){ db_int(memcg->host), db_int(memcg->id),
					     db_int((int64_t)memcg->cgroup_id),
					     db_text(memcg->path) });
}

static enum zr_err fill_memcg(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_memcg *memcg = item;
	enum zr_err err = get_id(db, list, row, &memcg_ids, &memcg->id);

	memcg->host = (uint32_t)list->owner;
	memcg->cgroup_id = (uint64_t)sqlite3_column_int64(row, 1);
	return err ? err : db_list_text(db, list, row, 2, &memcg->path);
}

enum zr_err db_memcgs(struct db *db, uint32_t host, struct zr_arena *arena, struct db_memcg **out,
		      size_t *n)
{
	struct db_list list = {
		.arena = arena, .item_bytes = sizeof(**out), .owner = host, .fill = fill_memcg
	};
	enum zr_err err = db_list_read(db, DB_SQL_MEMCGS, (struct db_arg[]){ db_int(host) }, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

/* --------------------------------------------------------------------------------------- tasks */

enum zr_err db_put_task(struct db *db, const struct db_task *task)
{
	enum zr_err err = db_sql_begin_host(db, task->host);

	if (err)
		return err;
	return db_sql_run(db, DB_SQL_TASK_PUT,
			  (struct db_arg[]){ db_int(task->host), db_int(task->id),
					     db_int(task->tid), db_int(task->tgid),
					     db_text(task->comm) });
}

static enum zr_err fill_task(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_task *task = item;
	enum zr_err err = get_id(db, list, row, &task_ids, &task->id);

	task->host = (uint32_t)list->owner;
	task->tid = (uint32_t)sqlite3_column_int64(row, 1);
	task->tgid = (uint32_t)sqlite3_column_int64(row, 2);
	return err ? err : db_list_text(db, list, row, 3, &task->comm);
}

enum zr_err db_tasks(struct db *db, uint32_t host, struct zr_arena *arena, struct db_task **out,
		     size_t *n)
{
	struct db_list list = {
		.arena = arena, .item_bytes = sizeof(**out), .owner = host, .fill = fill_task
	};
	enum zr_err err = db_list_read(db, DB_SQL_TASKS, (struct db_arg[]){ db_int(host) }, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

/* ---------------------------------------------------------------------------------- swap areas */

enum zr_err db_put_area(struct db *db, const struct db_area *area)
{
	enum zr_err err = check_id(db, &area_ids, area->id);

	if (!err)
		err = db_sql_begin_host(db, area->host);
	if (err)
		return err;
	return db_sql_run(
		db, DB_SQL_AREA_PUT,
		(struct db_arg[]){ db_int(area->host), db_int(area->id), db_int(area->type),
				   db_text(area->path), db_int(area->is_file), db_int(area->major),
				   db_int(area->minor), db_int((int64_t)area->start_sector),
				   db_int((int64_t)area->slots), db_int(area->priority) });
}

static enum zr_err fill_area(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_area *area = item;
	enum zr_err err = get_id(db, list, row, &area_ids, &area->id);

	area->host = (uint32_t)list->owner;
	area->type = (uint32_t)sqlite3_column_int64(row, 1);
	area->is_file = sqlite3_column_int(row, 3) != 0;
	area->major = (uint32_t)sqlite3_column_int64(row, 4);
	area->minor = (uint32_t)sqlite3_column_int64(row, 5);
	area->start_sector = (uint64_t)sqlite3_column_int64(row, 6);
	area->slots = (uint64_t)sqlite3_column_int64(row, 7);
	area->priority = sqlite3_column_int(row, 8);
	return err ? err : db_list_text(db, list, row, 2, &area->path);
}

enum zr_err db_areas(struct db *db, uint32_t host, struct zr_arena *arena, struct db_area **out,
		     size_t *n)
{
	struct db_list list = {
		.arena = arena, .item_bytes = sizeof(**out), .owner = host, .fill = fill_area
	};
	enum zr_err err = db_list_read(db, DB_SQL_AREAS, (struct db_arg[]){ db_int(host) }, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

/* ------------------------------------------------------------------------------------- samples */

enum zr_err db_put_sample(struct db *db, uint32_t host, uint64_t time_ns, const char *source,
			  const char *name, double value)
{
	const struct db_arg counter[] = { db_int(host), db_text(source), db_text(name) };
	const struct db_arg sample[] = { db_int((int64_t)time_ns), db_real(value), counter[0],
					 counter[1], counter[2] };
	enum zr_err err = db_sql_begin_host(db, host);

	if (!err)
		err = db_sql_run(db, DB_SQL_SAMPLE_PUT, sample);
	/* Nothing inserted: the counter is new. */
	if (err || sqlite3_changes(db->sql))
		return err;
	err = db_sql_run(db, DB_SQL_COUNTER_PUT, counter);
	return err ? err : db_sql_run(db, DB_SQL_SAMPLE_PUT, sample);
}

static enum zr_err fill_sample(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_sample *sample = item;

	(void)db, (void)list;
	sample->time_ns = (uint64_t)sqlite3_column_int64(row, 0);
	sample->value = sqlite3_column_double(row, 1);
	return ZR_OK;
}

enum zr_err db_samples(struct db *db, const struct db_counter *counter, struct zr_arena *arena,
		       struct db_sample **out, size_t *n)
{
	struct db_list list = { .arena = arena,
				.item_bytes = sizeof(**out),
				.owner = counter->host,
				.fill = fill_sample };
	enum zr_err err =
		db_list_read(db, DB_SQL_SAMPLES,
			     (struct db_arg[]){ db_int(counter->host), db_text(counter->source),
						db_text(counter->name) },
			     &list);

	*out = list.items;
	*n = list.n;
	return err;
}

static enum zr_err fill_counter(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_counter *counter = item;
	enum zr_err err = db_list_text(db, list, row, 0, &counter->source);

	counter->host = (uint32_t)list->owner;
	return err ? err : db_list_text(db, list, row, 1, &counter->name);
}

enum zr_err db_counters(struct db *db, uint32_t host, struct zr_arena *arena,
			struct db_counter **out, size_t *n)
{
	struct db_list list = {
		.arena = arena, .item_bytes = sizeof(**out), .owner = host, .fill = fill_counter
	};
	enum zr_err err =
		db_list_read(db, DB_SQL_COUNTERS, (struct db_arg[]){ db_int(host) }, &list);

	*out = list.items;
	*n = list.n;
	return err;
}
