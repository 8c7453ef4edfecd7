/* SPDX-License-Identifier: MIT */
/*
 * SQLite as db/ uses it: the open file, its statements, its one transaction, and SQLite's errors in our
 * own terms. Private to db/.
 *
 * Statements are a table, prepared at their first use and kept until db_close; arguments are bound from an
 * array of db_arg, whose length is the number of '?' in the statement. A text never becomes part of a
 * statement.
 *
 * Writes gather in one transaction that the first of them opens and db_sql_commit() ends, so that a chunk
 * is never on disk without the rows that it refers to. When SQLite rolls back by itself (disk full, I/O
 * error), what was pending is gone: the file is marked as failed and takes no more writes.
 */
#ifndef DB_SQL_H
#define DB_SQL_H

#include <sqlite3.h>

#include "db/db.h"
#include "db/span_row.h"

/* Behind what is said of a damaged trace. */
#define DB_DAMAGE_HINT "; the file is damaged: `zreel verify FILE --repair -o OUT` saves what is sound"

/* name, "cannot ...", statement */
#define DB_STATEMENTS(X)                                                                           \
	X(BEGIN, "start writing", "BEGIN IMMEDIATE")                                               \
	X(COMMIT, "commit", "COMMIT")                                                              \
	X(APPLICATION_ID, "read its header", "PRAGMA application_id")                              \
	X(USER_VERSION, "read its version", "PRAGMA user_version")                                 \
	X(SCHEMA_GET, "read its tables", "SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?") \
	X(TRACE_GET, "read its name", "SELECT name, complete FROM trace WHERE id = 1")             \
	X(TRACE_COMPLETE, "mark it complete", "UPDATE trace SET complete = 1 WHERE id = 1")        \
	X(HOST_PUT, "store a host", "INSERT OR IGNORE INTO host (id) VALUES (?)")                  \
	X(HOSTS, "read the hosts", "SELECT id FROM host ORDER BY id")                              \
	X(ENV_SET, "store a setting",                                                              \
	  "INSERT OR REPLACE INTO env (host, key, value) VALUES (?, ?, ?)")                        \
	X(ENV_GET, "read a setting", "SELECT value FROM env WHERE host = ? AND key = ?")           \
	X(ENV_ALL, "read the settings", "SELECT host, key, value FROM env ORDER BY host, key")     \
	X(MEMCG_PUT, "store a cgroup",                                                             \
	  "INSERT OR REPLACE INTO memcg (host, id, cgroup_id, path) VALUES (?, ?, ?, ?)")          \
	X(MEMCGS, "read the cgroups",                                                              \
	  "SELECT id, cgroup_id, path FROM memcg WHERE host = ? ORDER BY id")                      \
	X(TASK_PUT, "store a task",                                                                \
	  "INSERT OR REPLACE INTO task (host, id, tid, tgid, comm) VALUES (?, ?, ?, ?, ?)")        \
	X(TASKS, "read the tasks",                                                                 \
	  "SELECT id, tid, tgid, comm FROM task WHERE host = ? ORDER BY id")                       \
	X(AREA_PUT, "store a swap area",                                                           \
	  "INSERT OR REPLACE INTO area (host, id, type, path, is_file, major, minor, "             \
	  "start_sector, slots, priority) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                  \
	X(AREAS, "read the swap areas",                                                            \
	  "SELECT id, type, path, is_file, major, minor, start_sector, slots, priority "           \
	  "FROM area WHERE host = ? ORDER BY id")                                                  \
	X(COUNTER_PUT, "store a counter",                                                          \
	  "INSERT INTO counter (host, source, name) VALUES (?, ?, ?)")                             \
	X(COUNTERS, "read the counters",                                                           \
	  "SELECT source, name FROM counter WHERE host = ? ORDER BY source, name")                 \
	X(SAMPLE_PUT, "store a sample",                                                            \
	  "INSERT INTO sample (time_ns, counter, value) "                                          \
	  "SELECT ?, id, ? FROM counter WHERE host = ? AND source = ? AND name = ?")               \
	X(SAMPLES, "read the samples",                                                             \
	  "SELECT time_ns, value FROM sample WHERE counter = (SELECT id FROM counter "             \
	  "WHERE host = ? AND source = ? AND name = ?) ORDER BY time_ns, rowid")                   \
	X(CHUNK_PUT, "store events",                                                               \
	  "INSERT INTO chunk (host, first_ns, last_ns, events, kinds, slot_min, slot_max, memcgs, " \
	  "data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")                                                       \
	X(CHUNK_LAST, "read the chunks",                                                           \
	  "SELECT last_ns FROM chunk WHERE host = ? ORDER BY first_ns DESC, id DESC LIMIT 1")      \
	X(CHUNK_NEXT, "read events",                                                               \
	  "SELECT id, host, " DB_SPAN_COLUMNS ", data "                                            \
	  "FROM chunk WHERE (host, first_ns, id) > (?, ?, ?) AND host BETWEEN ? AND ? "            \
	  "AND first_ns < ? AND last_ns >= ? AND kinds & ? ORDER BY host, first_ns, id LIMIT 1")   \
	X(CHUNK_SUMS, "read the chunks", "SELECT count(*), total(length(data)) FROM chunk")        \
	X(RUN_PUT, "store a run",                                                                  \
	  "INSERT INTO run (policy, knobs, target, target_detail, drive, pace, trace_id, "         \
	  "trace_path, host, created_realtime_ns, reps, partial, note) "                           \
	  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                        \
	X(METRIC_PUT, "store a metric",                                                            \
	  "INSERT INTO metric (run, rep, name, value, figure) VALUES (?, ?, ?, ?, ?)")             \
	X(POINT_PUT, "store a series",                                                             \
	  "INSERT INTO point (run, series, time_ns, seq, value) VALUES (?, ?, ?, ?, ?)")           \
	X(RUNS, "read the runs",                                                                   \
	  "SELECT id, policy, knobs, target, target_detail, drive, pace, trace_id, trace_path, "   \
	  "host, created_realtime_ns, reps, partial, note FROM run ORDER BY id")                   \
	X(METRICS, "read the metrics",                                                             \
	  "SELECT rep, name, value, figure FROM metric WHERE run = ? ORDER BY name, rep")          \
	X(POINTS, "read a series",                                                                 \
	  "SELECT time_ns, value FROM point WHERE run = ? AND series = ? ORDER BY time_ns, seq")

enum db_statement {
#define X(name, doing, sql) DB_SQL_##name,
	DB_STATEMENTS(X)
#undef X
	DB_SQL_COUNT,
};

struct db {
	sqlite3 *sql;
	char *path;
	enum db_mode mode;
	bool created;	    /* by this db_open */
	bool complete;
	bool salvage; /* read what can be read of a damaged file */
	bool writing;	    /* a transaction is open */
	enum zr_err failed; /* why no more is written */
	const uint64_t *chunks_decoded; /* by the table `events`; NULL = it was not added */
	uint64_t asks, asks_max; /* of the guard, by the running statement; see db_sql_guard */
	int64_t known_host; /* its row in `host` is there; -1 = none */
	char trace_id[33];
	sqlite3_stmt *statements[DB_SQL_COUNT];
};

struct db_arg {
	enum { DB_ARG_INT, DB_ARG_REAL, DB_ARG_TEXT, DB_ARG_BLOB } type;
	int64_t integer; /* of a blob: its bytes */
	double real;
	const void *pointer;
};

static inline struct db_arg db_int(int64_t value)
{
	return (struct db_arg){ .type = DB_ARG_INT, .integer = value };
}

static inline struct db_arg db_real(double value)
{
	return (struct db_arg){ .type = DB_ARG_REAL, .real = value };
}

/* NULL is stored as "". */
static inline struct db_arg db_text(const char *value)
{
	return (struct db_arg){ .type = DB_ARG_TEXT, .pointer = value ? value : "" };
}

static inline struct db_arg db_blob(const void *value, size_t bytes)
{
	return (struct db_arg){ .type = DB_ARG_BLOB, .pointer = value, .integer = (int64_t)bytes };
}

/* Keeps a sentence that says what could not be done, SQLite's own words, and what to try. */
enum zr_err db_sql_fail(struct db *db, int rc, const char *doing);

/*
 * From here on a statement may take as many steps as rows that fill the file could need, and no more: pages
 * of a hostile file can point to one another so that a few of them hold more rows than anybody could read.
 */
void db_sql_guard(struct db *db);

/* Runs a statement of the table that gives no rows. `args` NULL = it takes none. */
enum zr_err db_sql_run(struct db *db, enum db_statement which, const struct db_arg *args);

/*
 * Reads rows: start binds, next steps (*row false at the end), stop must follow when the loop is left
 * before the end. One use of a statement at a time.
 */
enum zr_err db_sql_start(struct db *db, enum db_statement which, const struct db_arg *args,
			 sqlite3_stmt **out);
enum zr_err db_sql_next(struct db *db, enum db_statement which, bool *row);
void db_sql_stop(struct db *db, enum db_statement which);

/* Opens the transaction if it is not open; ZR_PERM on a file that was opened for reading. */
enum zr_err db_sql_begin(struct db *db);
/* Commits if it is open. After ZR_BUSY it still is, and the commit can be tried again. */
enum zr_err db_sql_commit(struct db *db);
void db_sql_rollback(struct db *db);

/* db_sql_begin, and a row in `host`. */
enum zr_err db_sql_begin_host(struct db *db, uint32_t host);

/*
 * Rows that are read into an array in an arena, with a bound on what a file can make us hold: rows of a
 * damaged file can claim the same megabyte many times over.
 */
struct db_list {
	struct zr_arena *arena;
	size_t item_bytes;
	int64_t owner; /* the host or run whose rows these are; for `fill` */
	enum zr_err (*fill)(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item);
	void *items;
	size_t n, room;
	int64_t next_id; /* at least, of the next row */
	size_t held; /* bytes of items and texts */
};

/* Reads all rows: `fill` turns each into an item that was zeroed. */
enum zr_err db_list_read(struct db *db, enum db_statement which, const struct db_arg *args,
			 struct db_list *list);

/* A column as text in the arena, "" for NULL. */
enum zr_err db_list_text(struct db *db, struct db_list *list, sqlite3_stmt *row, int column,
			 const char **out);

#endif
