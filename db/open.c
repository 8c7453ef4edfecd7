/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing a trace file.
 *
 * Writing: a new file is made with mode 0600 and O_EXCL, its tables in one transaction with a
 * rollback journal, so that from then on its header tells what it is. A recording then uses a
 * write-ahead log where it can (a reader never waits for the recorder, nor the recorder for a
 * reader) and a rollback journal where it cannot: on network file systems, and wherever the log's index
 * cannot be mapped, which is tried before the header says that there is a log, since SQLite then has no way
 * back. Each flush is synced: a
 * recorder that is killed and a machine that loses power lose what was not flushed, no more.
 * Closing folds the log back into the one file, unless a reader has it
 * open: then that reader, or the next writer, does.
 *
 * Reading: the file may be a stranger's, so before anything is asked of it the connection is made
 * deaf to what a schema can carry: triggers, views and functions do not run, values and statements
 * have bounds, and every table and index that we use must be declared exactly as in schema.sql. A
 * reader never changes the file, with one exception: where a recorder with a rollback journal was
 * killed, SQLite has to roll that back before anybody can read. Readers need no write access: a log
 * in a read-only folder is used as it is, and a file without one is opened as immutable.
 *
 * We never open the file ourselves once SQLite may have it: closing any descriptor of a file drops
 * all POSIX locks that the process holds on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "db/sql.h"
#include "db/versions.h"

enum {
	APPLICATION_ID = 0x7a72656c,
	BUSY_MS = 5000,
	BUSY_AT_CLOSE_MS = 100,
	VALUE_BYTES_MAX = 4 * 1024 * 1024,
	SCHEMA_TEXT_MAX = 256 * 1024,
	LOG_INDEX_BYTES = 32768, /* of a page of it */
};

static const struct db_version list[] = {
	{ .schema =
#include "db/schema.sql.h"
	},
};

const struct db_versions db_versions = { list, sizeof(list) / sizeof(list[0]) };

/* A trace that is being opened. */
struct opening {
	struct db *db;
	const struct db_versions *versions;
	int version; /* of the file */
};

static const struct db_version *newest(const struct opening *op)
{
	return &op->versions->list[op->versions->newest - 1];
}

/* ---------------------------------------------------------------------------------- connecting */

/* Characters that can stand in the path of a URI as they are. */
static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("/._-~", c));
}

/* A path as a URI, so that a path of any characters is a path and never an option or ":memory:". */
static char *path_to_uri(const char *path, const char *query)
{
	static const char hex[] = "0123456789abcdef";
	const char *start = path[0] == '/' ? "file://" : "file:./";
	char *uri = malloc(strlen(start) + 3 * strlen(path) + strlen(query) + 1), *at = uri;

	if (!uri)
		return NULL;
	at = stpcpy(at, start);
	for (; *path; path++) {
		if (plain(*path)) {
			*at++ = *path;
			continue;
		}
		*at++ = '%';
		*at++ = hex[(unsigned char)*path >> 4];
		*at++ = hex[*path & 15];
	}
	strcpy(at, query);
	return uri;
}

static const struct {
	int option, on;
} switches[] = {
	{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
	{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
	{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
	{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
	{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
};

static const struct {
	int limit, most;
} limits[] = {
	{ SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX },  { SQLITE_LIMIT_SQL_LENGTH, SCHEMA_TEXT_MAX },
	{ SQLITE_LIMIT_EXPR_DEPTH, 50 },	   { SQLITE_LIMIT_COMPOUND_SELECT, 8 },
	{ SQLITE_LIMIT_FUNCTION_ARG, 16 },	   { SQLITE_LIMIT_ATTACHED, 0 },
	{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100 }, { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
	{ SQLITE_LIMIT_WORKER_THREADS, 0 },
};

static int harden(sqlite3 *sql)
{
	int rc = sqlite3_extended_result_codes(sql, 1);

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(sql, switches[i].option, switches[i].on, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(sql, limits[i].limit, limits[i].most);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(sql, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(sql, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL,
				  NULL, NULL);
	return rc;
}

/* Otherwise SQLite refuses a file that is shorter than it says. The connection cannot write, so the
 * schema stays what it is, and it is still compared with ours. */
static int take_damage(sqlite3 *sql)
{
	int rc = sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(sql, "PRAGMA writable_schema = ON", NULL, NULL, NULL);
	return rc;
}

static void disconnect(struct db *db)
{
	for (unsigned i = 0; i < DB_SQL_COUNT; i++) {
		sqlite3_finalize(db->statements[i]);
		db->statements[i] = NULL;
	}
	sqlite3_close_v2(db->sql);
	db->sql = NULL;
}

/* Connects and reads the file's header, which is the first thing that touches it; SQLite's code in
 * *rc. */
static enum zr_err connect_as(struct db *db, int flags, const char *query, int *rc)
{
	char *uri = path_to_uri(db->path, query);

	if (!uri)
		return zr_fail(ZR_NOMEM, "no memory to open %s", db->path);
	disconnect(db);
	*rc = sqlite3_open_v2(uri, &db->sql, flags | SQLITE_OPEN_URI, NULL);
	free(uri);
	if (*rc == SQLITE_OK)
		*rc = harden(db->sql);
	if (db->sql)
		db_sql_guard(db);
	if (*rc == SQLITE_OK && db->salvage)
		*rc = take_damage(db->sql);
	if (*rc == SQLITE_OK)
		*rc = sqlite3_exec(db->sql, "PRAGMA application_id", NULL, NULL, NULL);
	return ZR_OK;
}

static bool has_log(const struct db *db)
{
	struct stat st;
	char *log;
	bool yes = true;

	if (asprintf(&log, "%s-wal", db->path) >= 0) {
		yes = stat(log, &st) == 0 && st.st_size > 0;
		free(log);
	}
	return yes;
}

/* Not for want of a right alone: a log cannot be read where its index cannot be shared in memory. */
static bool is_denied(int rc)
{
	return (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY ||
	       rc == SQLITE_IOERR_SHMMAP || rc == SQLITE_IOERR_SHMOPEN || rc == SQLITE_IOERR_SHMLOCK;
}

static enum zr_err connect_reader(struct db *db)
{
	int rc;
	enum zr_err err = connect_as(db, SQLITE_OPEN_READONLY, "", &rc);

	if (err)
		return err;
	if (rc == SQLITE_READONLY_ROLLBACK)
		err = connect_as(db, SQLITE_OPEN_READWRITE, "", &rc);
	else if (is_denied(rc) && !has_log(db))
		err = connect_as(db, SQLITE_OPEN_READONLY, "?immutable=1", &rc);
	if (err || rc == SQLITE_OK)
		return err;
	if (is_denied(rc) && has_log(db) && access(db->path, R_OK) == 0)
		return zr_fail(ZR_PERM,
			       "%s: the recording goes on or ended early, and its log (%s-wal) can "
			       "only be read in a writable folder of a local disk: copy both files "
			       "to one",
			       db->path, db->path);
	return db_sql_fail(db, rc, "read it");
}

static enum zr_err connect_writer(struct db *db)
{
	int rc;
	enum zr_err err = connect_as(db, SQLITE_OPEN_READWRITE, "", &rc);

	if (err)
		return err;
	if ((rc & 0xff) == SQLITE_READONLY ||
	    (rc == SQLITE_OK && sqlite3_db_readonly(db->sql, "main")))
		return zr_fail(ZR_PERM,
			       "%s: no permission to write to it or its folder: store results in "
			       "a file of your own (--runs FILE)",
			       db->path);
	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(db, rc, "open it for writing");
}

/* ------------------------------------------------------------------------------- is it a trace */

static enum zr_err get_number(struct db *db, enum db_statement which, int64_t *out)
{
	sqlite3_stmt *stmt;
	bool row = false;
	enum zr_err err = db_sql_start(db, which, NULL, &stmt);

	if (!err)
		err = db_sql_next(db, which, &row);
	if (err)
		return err;
	*out = row ? sqlite3_column_int64(stmt, 0) : 0;
	db_sql_stop(db, which);
	return ZR_OK;
}

static enum zr_err check_version(struct opening *op)
{
	struct db *db = op->db;
	int64_t id, version;
	enum zr_err err = get_number(db, DB_SQL_APPLICATION_ID, &id);

	if (!err)
		err = get_number(db, DB_SQL_USER_VERSION, &version);
	if (err)
		return err;
	if (id != APPLICATION_ID)
		return zr_fail(
			ZR_NOT_A_TRACE,
			"%s: not a zreel trace (SQLite application id 0x%08x, expected 0x%08x)",
			db->path, (unsigned)id, APPLICATION_ID);
	if (version > op->versions->newest)
		return zr_fail(
			ZR_NEWER_VERSION,
			"%s: has format version %lld, this zreel knows up to %d: update zreel",
			db->path, (long long)version, op->versions->newest);
	if (version < 1)
		return zr_fail(ZR_CORRUPT, "%s: has the impossible format version %lld", db->path,
			       (long long)version);
	op->version = (int)version;
	return ZR_OK;
}

/* Whether the file declares an object exactly as `want` does. */
static enum zr_err check_object(struct db *db, sqlite3_stmt *want)
{
	const char *type = (const char *)sqlite3_column_text(want, 0);
	const char *name = (const char *)sqlite3_column_text(want, 1);
	const char *sql = (const char *)sqlite3_column_text(want, 2), *found = NULL;
	sqlite3_stmt *stmt;
	bool row, same;
	enum zr_err err = db_sql_start(db, DB_SQL_SCHEMA_GET,
				       (struct db_arg[]){ db_text(type), db_text(name) }, &stmt);

	if (!err)
		err = db_sql_next(db, DB_SQL_SCHEMA_GET, &row);
	if (err)
		return err;
	if (row)
		found = (const char *)sqlite3_column_text(stmt, 0);
	same = found && sql && !strcmp(found, sql);
	db_sql_stop(db, DB_SQL_SCHEMA_GET);
	return same ? ZR_OK
		    : zr_fail(ZR_CORRUPT,
			      "%s: its %s %s is %s: made or altered by another program?", db->path,
			      type, name, found ? "not declared as zreel does" : "missing");
}

/* The schema's own text says what is expected: it is run in memory and compared object by object.
 */
static enum zr_err check_schema(struct db *db, const struct db_version *version)
{
	sqlite3 *mine = NULL;
	sqlite3_stmt *want = NULL;
	enum zr_err err = ZR_OK;
	int rc = sqlite3_open(":memory:", &mine);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(mine, version->schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			mine, "SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL", -1,
			&want, NULL);
	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(want)) == SQLITE_ROW) {
		err = check_object(db, want);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		err = zr_fail(ZR_DB, "cannot build the tables of a trace in memory: %s",
			      sqlite3_errmsg(mine));
	sqlite3_finalize(want);
	sqlite3_close(mine);
	return err;
}

static enum zr_err load_name(struct db *db)
{
	sqlite3_stmt *stmt;
	const char *name = NULL;
	bool row = false;
	enum zr_err err = db_sql_start(db, DB_SQL_TRACE_GET, NULL, &stmt);

	if (!err)
		err = db_sql_next(db, DB_SQL_TRACE_GET, &row);
	if (err)
		return err;
	if (row)
		name = (const char *)sqlite3_column_text(stmt, 0);
	if (name && strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32) {
		memcpy(db->trace_id, name, sizeof(db->trace_id));
		db->complete = sqlite3_column_int(stmt, 1) != 0;
	}
	db_sql_stop(db, DB_SQL_TRACE_GET);
	return db->trace_id[0] ? ZR_OK : zr_fail(ZR_CORRUPT, "%s: the trace has no name", db->path);
}

/* ------------------------------------------------------------------------------ older versions */

/* All steps or none; the transaction is open. */
static enum zr_err change(struct opening *op)
{
	char number[60];
	int rc = SQLITE_OK;

	for (int v = op->version; v < op->versions->newest && rc == SQLITE_OK; v++)
		rc = sqlite3_exec(op->db->sql, op->versions->list[v - 1].change, NULL, NULL, NULL);
	snprintf(number, sizeof(number), "PRAGMA user_version = %d", op->versions->newest);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(op->db->sql, number, NULL, NULL, NULL);
	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(op->db, rc, "bring its version forward");
}

static enum zr_err bring_forward(struct opening *op)
{
	struct db *db = op->db;
	enum zr_err err = db_sql_begin(db);

	if (!err)
		err = change(op);
	if (!err)
		err = check_schema(db, newest(op));
	if (!err)
		err = db_sql_commit(db);
	if (err)
		db_sql_rollback(db);
	return err;
}

static enum zr_err show_as_newest(struct opening *op)
{
	int rc = sqlite3_exec(op->db->sql, op->versions->list[op->version - 1].views, NULL, NULL,
			      NULL);

	return rc == SQLITE_OK ? ZR_OK
			       : db_sql_fail(op->db, rc, "show it as of the newest version");
}

static enum zr_err check_trace(struct opening *op)
{
	enum zr_err err = check_version(op);

	if (!err)
		err = check_schema(op->db, &op->versions->list[op->version - 1]);
	if (!err && op->version < op->versions->newest)
		err = op->db->mode == DB_READ ? show_as_newest(op) : bring_forward(op);
	if (!err)
		err = load_name(op->db);
	return err;
}

/* ------------------------------------------------------------------------------ making a trace */

/* Network and host-shared file systems: their locks and shared mappings do not hold a log together.
 */
static bool log_is_safe(const char *path)
{
	static const unsigned long shared[] = {
		0x6969,	    /* nfs */
		0xff534d42, /* cifs */
		0xfe534d42, /* smb3 */
		0x517b,	    /* smb */
		0x01021997, /* 9p */
		0x65735546, /* fuse, virtiofs */
		0x00c36400, /* ceph */
		0x5346414f, /* afs */
		0x6b414653, /* kafs */
		0x01161970, /* gfs2 */
		0x7461636f, /* ocfs2 */
		0x0bd00bd0, /* lustre */
	};
	struct statfs fs;

	if (statfs(path, &fs))
		return false;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (((unsigned long)fs.f_type & 0xffffffff) == shared[i])
			return false;
	return true;
}

/* Whether the index of a log can be shared in memory here; SQLite's own calls are asked. */
static bool log_has_index(struct db *db)
{
	sqlite3_file *file = NULL;
	void volatile *page = NULL;
	int rc = sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc != SQLITE_OK || !file || !file->pMethods || file->pMethods->iVersion < 2)
		return false;
	rc = file->pMethods->xShmMap(file, 0, LOG_INDEX_BYTES, 1, &page);
	file->pMethods->xShmUnmap(file, 1);
	return rc == SQLITE_OK && page;
}

static enum zr_err create_file(struct db *db)
{
	int fd = open(db->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return zr_fail(ZR_EXISTS, "%s is there already: remove it or choose another name",
			       db->path);
	if (fd < 0)
		return zr_fail_errno(errno, "cannot create %s", db->path);
	db->created = true;
	close(fd);
	return ZR_OK;
}

static enum zr_err create_tables(const struct opening *op)
{
	int rc = sqlite3_exec(op->db->sql, newest(op)->schema, NULL, NULL, NULL);

	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(op->db, rc, "create its tables");
}

/* The journal stays a rollback journal where a log is refused: that is no error. */
static enum zr_err set_journal(struct db *db)
{
	int rc;

	if (db->mode == DB_CREATE && log_is_safe(db->path) && log_has_index(db))
		sqlite3_exec(db->sql, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	rc = sqlite3_exec(db->sql, "PRAGMA synchronous = EXTRA", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->sql, "PRAGMA journal_size_limit = 4194304", NULL, NULL, NULL);
	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(db, rc, "set its journal");
}

enum zr_err db_set_bulk(struct db *db)
{
	int rc = sqlite3_exec(db->sql, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);

	return rc == SQLITE_OK ? ZR_OK : db_sql_fail(db, rc, "write in bulk to it");
}

static enum zr_err create_trace(const struct opening *op)
{
	struct db *db = op->db;
	enum zr_err err = create_file(db);

	if (!err)
		err = connect_writer(db);
	if (!err)
		err = create_tables(op);
	/* A file for results is not a recording that could end early. */
	if (!err && db->mode == DB_RESULTS)
		err = db_set_complete(db);
	return err;
}

/* ------------------------------------------------------------------------------- the interface */

/* What SQLite would not notice, block on, or take for something else. */
static enum zr_err check_path(const struct db *db, bool *there)
{
	struct stat st;

	*there = stat(db->path, &st) == 0;
	if (!*there && (errno != ENOENT || db->mode == DB_READ))
		return zr_fail_errno(errno, "cannot open %s", db->path);
	if (*there && !S_ISREG(st.st_mode))
		return zr_fail(ZR_NOT_A_TRACE, "%s is a %s, not a zreel trace", db->path,
			       S_ISDIR(st.st_mode) ? "folder" : "special file");
	return ZR_OK;
}

static enum zr_err open_path(struct opening *op)
{
	struct db *db = op->db;
	bool there = false;
	enum zr_err err = db->mode == DB_CREATE ? ZR_OK : check_path(db, &there);

	if (err)
		return err;
	if (!there)
		err = create_trace(op);
	else
		err = db->mode == DB_READ ? connect_reader(db) : connect_writer(db);
	if (!err)
		err = check_trace(op);
	if (!err && db->mode != DB_READ)
		err = set_journal(db);
	return err;
}

static void free_db(struct db *db)
{
	disconnect(db);
	free(db->path);
	free(db);
}

enum zr_err db_open_as(const struct db_versions *versions, const char *path, enum db_mode mode,
		       struct db **out)
{
	struct db *db = calloc(1, sizeof(*db));
	struct opening op = { .db = db, .versions = versions };
	enum zr_err err;

	if (!db || !(db->path = strdup(path))) {
		free(db);
		return zr_fail(ZR_NOMEM, "no memory to open %s", path);
	}
	db->salvage = mode == DB_SALVAGE;
	db->mode = db->salvage ? DB_READ : mode;
	db->known_host = -1;
	err = open_path(&op);
	if (err) {
		if (db->created)
			unlink(path);
		free_db(db);
		return err;
	}
	*out = db;
	return ZR_OK;
}

enum zr_err db_open(const char *path, enum db_mode mode, struct db **out)
{
	return db_open_as(&db_versions, path, mode, out);
}

/* One file again. That it stays two while somebody reads is no loss. */
static enum zr_err fold_log(struct db *db)
{
	int rc;

	sqlite3_busy_timeout(db->sql, BUSY_AT_CLOSE_MS);
	rc = sqlite3_exec(db->sql, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
		return ZR_OK;
	return db_sql_fail(db, rc, "fold its log (the -wal file, keep it) into one file");
}

enum zr_err db_close(struct db *db)
{
	enum zr_err err;

	if (!db)
		return ZR_OK;
	err = db_sql_commit(db);
	if (err)
		db_sql_rollback(db);
	if (!err && db->mode == DB_CREATE)
		err = fold_log(db);
	free_db(db);
	return err;
}

const char *db_path(const struct db *db)
{
	return db->path;
}

const char *db_trace_id(const struct db *db)
{
	return db->trace_id;
}

bool db_is_complete(const struct db *db)
{
	return db->complete;
}

enum zr_err db_set_complete(struct db *db)
{
	enum zr_err err = db_sql_begin(db);

	if (!err)
		err = db_sql_run(db, DB_SQL_TRACE_COMPLETE, NULL);
	if (!err)
		err = db_sql_commit(db);
	if (!err)
		db->complete = true;
	return err;
}
