/* SPDX-License-Identifier: MIT */
/*
 * SQL of the user on a trace. The file may be a stranger's and the statement the user's own: so it
 * can read everything and change nothing. An authorizer refuses all but queries, the connection is
 * deaf to what the file's schema carries (open.c), and `events` is ours even if the file has such a
 * table.
 */
#include <string.h>

#include "db/sql.h"
#include "db/vtab.h"

enum {
	STEPS_PER_ASK = 100000, /* of SQLite's machine, between two looks at the watch */
	COLUMNS_MAX = 2000,	/* SQLite's own limit */
};

/* What statements of users may need beyond those of our own (open.c). */
static const struct {
	int limit, most;
} limits[] = {
	{ SQLITE_LIMIT_EXPR_DEPTH, 1000 },
	{ SQLITE_LIMIT_COMPOUND_SELECT, 500 },
	{ SQLITE_LIMIT_FUNCTION_ARG, 100 },
	{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50000 },
};

enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

struct query {
	struct db *db;
	const struct db_sql_sink *sink;
	struct db_sql_result *result;
	sqlite3_stmt *stmt;
	int limits_before[LIMITS];
};

static bool pragma_reads(const char *name)
{
	static const char *const names[] = { "table_info",  "table_xinfo",    "table_list",
					     "index_list",  "index_info",     "function_list",
					     "module_list", "compile_options" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!sqlite3_stricmp(name, names[i]))
			return true;
	return false;
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *schema,
		     const char *trigger)
{
	(void)arg, (void)b, (void)schema, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		return pragma_reads(a) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int ask_watch(void *arg)
{
	const struct db_watch *watch = &((const struct db_sql_sink *)arg)->watch;

	return !watch->fn(watch->arg, 0);
}

/* ------------------------------------------------------------------------------- the connection */

/* A table of the file would be taken before ours. */
static enum zr_err refuse_false_events(struct db *db)
{
	sqlite3_stmt *stmt = NULL;
	enum zr_err err = ZR_OK;
	int rc = sqlite3_prepare_v2(db->sql,
				    "SELECT 1 FROM sqlite_schema WHERE lower(name) = 'events'", -1,
				    &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		err = zr_fail(ZR_CORRUPT,
			      "%s: holds a table `events` of its own, made by another program: "
			      "drop it",
			      db->path);
	else if (rc != SQLITE_DONE)
		err = db_sql_fail(db, rc, "read its tables");
	sqlite3_finalize(stmt);
	return err;
}

static enum zr_err add_events(struct db *db)
{
	enum zr_err err = refuse_false_events(db);
	int rc = SQLITE_OK;

	if (err)
		return err;
	if (!db->chunks_decoded)
		rc = db_vtab_register(db->sql, &db->chunks_decoded);
	/* Its first mention declares it, which the authorizer would refuse. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->sql, "SELECT 1 FROM events LIMIT 0", NULL, NULL, NULL);
	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(db, rc, "add the table of its events");
}

static void open_up(struct query *q)
{
	sqlite3 *sql = q->db->sql;

	for (size_t i = 0; i < LIMITS; i++)
		q->limits_before[i] = sqlite3_limit(sql, limits[i].limit, limits[i].most);
	sqlite3_set_authorizer(sql, authorize, NULL);
	/* How long a query takes is the user's affair: instead of the guard, the watch. */
	sqlite3_progress_handler(sql, STEPS_PER_ASK, q->sink->watch.fn ? ask_watch : NULL,
				 (void *)q->sink);
}

static void shut_again(struct query *q)
{
	sqlite3 *sql = q->db->sql;

	sqlite3_set_authorizer(sql, NULL, NULL);
	db_sql_guard(q->db);
	for (size_t i = 0; i < LIMITS; i++)
		sqlite3_limit(sql, limits[i].limit, q->limits_before[i]);
}

/* ------------------------------------------------------------------------------------ the query */

/* SQLITE_ERROR is the statement's fault; everything else is told as of the file. */
static enum zr_err fail(struct query *q, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_ERROR:
		return zr_fail(ZR_USAGE, "SQL: %s", sqlite3_errmsg(q->db->sql));
	case SQLITE_AUTH:
		return zr_fail(ZR_PERM, "SQL: %s: only queries are run, nothing is changed",
			       sqlite3_errmsg(q->db->sql));
	default:
		return db_sql_fail(q->db, rc, "run the query");
	}
}

static struct db_sql_value value_of(sqlite3_stmt *stmt, int column)
{
	struct db_sql_value value = { .type = DB_SQL_NULL };

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		value.type = DB_SQL_INT;
		value.integer = sqlite3_column_int64(stmt, column);
		break;
	case SQLITE_FLOAT:
		value.type = DB_SQL_REAL;
		value.real = sqlite3_column_double(stmt, column);
		break;
	case SQLITE_TEXT:
		value.type = DB_SQL_TEXT;
		value.data = sqlite3_column_text(stmt, column);
		value.bytes = (size_t)sqlite3_column_bytes(stmt, column);
		break;
	case SQLITE_BLOB:
		value.type = DB_SQL_BLOB;
		value.data = sqlite3_column_blob(stmt, column);
		value.bytes = (size_t)sqlite3_column_bytes(stmt, column);
		break;
	}
	return value;
}

struct row_room {
	const char **names;
	struct db_sql_value *values;
	int n;
};

static enum zr_err make_room(struct query *q, struct zr_arena *arena, struct row_room *room)
{
	room->n = sqlite3_column_count(q->stmt);
	room->names = zr_arena_array(arena, (size_t)room->n + 1, sizeof(*room->names));
	room->values = zr_arena_array(arena, (size_t)room->n + 1, sizeof(*room->values));
	if (!room->names || !room->values)
		return zr_fail(ZR_NOMEM, "no memory for a row of %d columns", room->n);
	for (int i = 0; i < room->n; i++) {
		room->names[i] = sqlite3_column_name(q->stmt, i);
		if (!room->names[i])
			return zr_fail(ZR_NOMEM, "no memory for a row of %d columns", room->n);
	}
	return ZR_OK;
}

static enum zr_err give_row(struct query *q, const struct row_room *room)
{
	const struct db_sql_row row = { room->n, room->names, room->values };

	for (int i = 0; i < room->n; i++)
		room->values[i] = value_of(q->stmt, i);
	q->result->rows++;
	return q->sink->row(q->sink->arg, &row);
}

static enum zr_err give_rows(struct query *q, const struct row_room *room)
{
	enum zr_err err = ZR_OK;
	int rc = SQLITE_ROW;

	if (q->sink->head)
		err = q->sink->head(q->sink->arg, room->n, room->names);
	while (!err && (rc = sqlite3_step(q->stmt)) == SQLITE_ROW)
		err = give_row(q, room);
	if (!err && rc != SQLITE_DONE)
		err = fail(q, rc);
	return err;
}

static enum zr_err run(struct query *q, const char *text)
{
	struct zr_arena arena = { 0 };
	struct row_room room;
	enum zr_err err;
	int rc = sqlite3_prepare_v2(q->db->sql, text, -1, &q->stmt, &q->result->rest);

	if (rc != SQLITE_OK)
		return fail(q, rc);
	if (!q->stmt)
		return ZR_OK;
	err = make_room(q, &arena, &room);
	if (!err)
		err = give_rows(q, &room);
	zr_arena_fini(&arena);
	return err;
}

enum zr_err db_sql_query(struct db *db, const char *text, const struct db_sql_sink *sink,
			 struct db_sql_result *out)
{
	struct query q = { .db = db, .sink = sink, .result = out };
	enum zr_err err = add_events(db);
	uint64_t decoded_before;

	*out = (struct db_sql_result){ .rest = "" };
	if (err)
		return err;
	decoded_before = *db->chunks_decoded;
	open_up(&q);
	err = run(&q, text);
	sqlite3_finalize(q.stmt);
	shut_again(&q);
	out->chunks_decoded = *db->chunks_decoded - decoded_before;
	return err;
}

bool db_sql_is_complete(const char *text)
{
	return sqlite3_complete(text);
}
