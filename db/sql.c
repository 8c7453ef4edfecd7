/* SPDX-License-Identifier: MIT */
/* SQLite's statements, transaction and errors; see sql.h. */
#include "db/sql.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	LIST_BYTES_MAX = 256 * 1024 * 1024,
	LIST_FIRST_ROOM = 16,
	STEPS_PER_ASK = 1000000,
	ROW_BYTES_MIN = 4,
	STEPS_PER_ROW = 32, /* of SQLite's machine, in the longest loop of ours */
	ASKS_MIN = 20,
};

static const struct {
	const char *doing, *sql;
} statements[] = {
#define X(name, doing, sql) [DB_SQL_##name] = { doing, sql },
	DB_STATEMENTS(X)
#undef X
};

/* -------------------------------------------------------------------------------------- errors */

#define NO_INDEX_HINT                                                                              \
	"; this file system cannot share the index of its log: copy the file and its -wal to a "   \
	"local disk"

/* Whole codes stand before the classes that they belong to. */
static const struct translation {
	int rc;
	enum zr_err err;
	const char *name, *hint;
} translations[] = {
	{ SQLITE_IOERR_SHMMAP, ZR_UNSUPPORTED, "SQLITE_IOERR_SHMMAP", NO_INDEX_HINT },
	{ SQLITE_IOERR_SHMOPEN, ZR_UNSUPPORTED, "SQLITE_IOERR_SHMOPEN", NO_INDEX_HINT },
	{ SQLITE_IOERR_SHMLOCK, ZR_UNSUPPORTED, "SQLITE_IOERR_SHMLOCK", NO_INDEX_HINT },
	{ SQLITE_BUSY, ZR_BUSY, "SQLITE_BUSY",
	  "; another process is writing to it: wait for it to end, or write to another file" },
	{ SQLITE_LOCKED, ZR_BUSY, "SQLITE_LOCKED", "; this process is using it elsewhere" },
	{ SQLITE_FULL, ZR_FULL, "SQLITE_FULL",
	  "; free some space: what was committed before is safe and can be read" },
	{ SQLITE_READONLY, ZR_PERM, "SQLITE_READONLY",
	  "; file or folder is read-only: copy the file (and its -wal or -journal) elsewhere" },
	{ SQLITE_PERM, ZR_PERM, "SQLITE_PERM", "" },
	{ SQLITE_AUTH, ZR_PERM, "SQLITE_AUTH", "" },
	{ SQLITE_CORRUPT, ZR_CORRUPT, "SQLITE_CORRUPT", DB_DAMAGE_HINT },
	{ SQLITE_NOTADB, ZR_NOT_A_TRACE, "SQLITE_NOTADB", "; it is not a zreel trace" },
	{ SQLITE_CANTOPEN, ZR_IO, "SQLITE_CANTOPEN",
	  "; check that the file and its folder can be read and, for writing, be written to" },
	{ SQLITE_IOERR, ZR_IO, "SQLITE_IOERR", "; the kernel log may say more about the disk" },
	{ SQLITE_NOLFS, ZR_FULL, "SQLITE_NOLFS", "; the file system takes no larger file" },
	{ SQLITE_PROTOCOL, ZR_BUSY, "SQLITE_PROTOCOL", "; too many processes use it at once" },
	{ SQLITE_NOMEM, ZR_NOMEM, "SQLITE_NOMEM", "" },
	{ SQLITE_TOOBIG, ZR_LIMIT, "SQLITE_TOOBIG",
	  "; a text or chunk is larger than the format allows" },
	{ SQLITE_INTERRUPT, ZR_INTERRUPTED, "SQLITE_INTERRUPT", "" },
};

static const struct translation *translate(int rc)
{
	static const struct translation other = { 0, ZR_DB, "", "" };

	for (size_t i = 0; i < sizeof(translations) / sizeof(translations[0]); i++)
		if (translations[i].rc == rc || translations[i].rc == (rc & 0xff))
			return &translations[i];
	return &other;
}

static bool is_full(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
}

/* SQLite knows a full disk by ENOSPC alone; a quota or a limit on files is left in its file
 * objects. */
static int errno_of_file(struct db *db, int which)
{
	sqlite3_file *file = NULL;
	int errnum = 0;

	if (sqlite3_file_control(db->sql, "main", which, &file) != SQLITE_OK || !file ||
	    !file->pMethods ||
	    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &errnum) != SQLITE_OK)
		return 0;
	return is_full(errnum) ? errnum : 0;
}

static int system_errno(struct db *db)
{
	int errnum = sqlite3_system_errno(db->sql);

	if (!errnum && db->sql)
		errnum = errno_of_file(db, SQLITE_FCNTL_FILE_POINTER);
	if (!errnum && db->sql)
		errnum = errno_of_file(db, SQLITE_FCNTL_JOURNAL_POINTER);
	return errnum;
}

/* What the system call below SQLite said, where that tells more than SQLite's own code. */
static enum zr_err refine(enum zr_err err, int errnum)
{
	if (err != ZR_IO)
		return err;
	if (is_full(errnum))
		return ZR_FULL;
	switch (errnum) {
	case EACCES:
	case EPERM:
	case EROFS:
		return ZR_PERM;
	case ENOENT:
	case ENOTDIR:
		return ZR_NOT_FOUND;
	default:
		return err;
	}
}

static enum zr_err fail_with(struct db *db, int rc, const char *doing, const struct translation *t)
{
	int errnum = t->err == ZR_IO ? system_errno(db) : 0;
	enum zr_err err = refine(t->err, errnum);
	const char *hint = err == ZR_FULL ? translate(SQLITE_FULL)->hint : t->hint;

	/* It is being saved already. */
	if (err == ZR_CORRUPT && db->salvage)
		hint = "";

	/* By itself SQLite rolls back only when it could not keep its promise. */
	if (db->writing && sqlite3_get_autocommit(db->sql)) {
		db->writing = false;
		db->failed = err;
	}
	return zr_fail(err, "%s: cannot %s: %s%s%s (%s %d)%s", db->path, doing,
		       db->sql ? sqlite3_errmsg(db->sql) : sqlite3_errstr(rc), errnum ? ": " : "",
		       errnum ? strerror(errnum) : "", t->name[0] ? t->name : "SQLite", rc, hint);
}

enum zr_err db_sql_fail(struct db *db, int rc, const char *doing)
{
	const struct translation *t = translate(rc);

	if ((rc & 0xff) == SQLITE_INTERRUPT && db->asks > db->asks_max)
		return zr_fail(ZR_CORRUPT,
			       "%s: cannot %s: the file is damaged: it claims to hold more rows "
			       "than fit into it",
			       db->path, doing);
	return fail_with(db, rc, doing, t);
}

/* --------------------------------------------------------------------------------------- guard */

static uint64_t asks_for_size(const struct db *db)
{
	struct stat st;
	uint64_t bytes = stat(db->path, &st) == 0 ? (uint64_t)st.st_size : 0;

	return bytes / ROW_BYTES_MIN * STEPS_PER_ROW / STEPS_PER_ASK + ASKS_MIN;
}

static int ask_guard(void *arg)
{
	struct db *db = arg;

	if (++db->asks <= db->asks_max)
		return 0;
	/* A recording grows while it is read. */
	db->asks_max = asks_for_size(db);
	return db->asks > db->asks_max;
}

void db_sql_guard(struct db *db)
{
	db->asks = 0;
	db->asks_max = asks_for_size(db);
	sqlite3_progress_handler(db->sql, STEPS_PER_ASK, ask_guard, db);
}

/* ---------------------------------------------------------------------------------- statements */

static int bind_one(sqlite3_stmt *stmt, int index, const struct db_arg *arg)
{
	switch (arg->type) {
	case DB_ARG_INT:
		return sqlite3_bind_int64(stmt, index, arg->integer);
	case DB_ARG_REAL:
		return sqlite3_bind_double(stmt, index, arg->real);
	case DB_ARG_TEXT:
		return sqlite3_bind_text(stmt, index, arg->pointer, -1, SQLITE_STATIC);
	case DB_ARG_BLOB:
		return sqlite3_bind_blob64(stmt, index, arg->pointer, (sqlite3_uint64)arg->integer,
					   SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

static int bind_all(sqlite3_stmt *stmt, const struct db_arg *args)
{
	int count = sqlite3_bind_parameter_count(stmt);
	int rc = SQLITE_OK;

	for (int i = 0; i < count && rc == SQLITE_OK; i++)
		rc = bind_one(stmt, i + 1, &args[i]);
	return rc;
}

enum zr_err db_sql_start(struct db *db, enum db_statement which, const struct db_arg *args,
			 sqlite3_stmt **out)
{
	sqlite3_stmt **stmt = &db->statements[which];
	int rc = SQLITE_OK;

	if (!*stmt)
		rc = sqlite3_prepare_v3(db->sql, statements[which].sql, -1,
					SQLITE_PREPARE_PERSISTENT, stmt, NULL);
	if (rc == SQLITE_OK)
		rc = bind_all(*stmt, args);
	if (rc != SQLITE_OK)
		return db_sql_fail(db, rc, statements[which].doing);
	db->asks = 0;
	*out = *stmt;
	return ZR_OK;
}

enum zr_err db_sql_next(struct db *db, enum db_statement which, bool *row)
{
	int rc = sqlite3_step(db->statements[which]);
	enum zr_err err = ZR_OK;

	*row = rc == SQLITE_ROW;
	if (*row)
		return ZR_OK;
	if (rc != SQLITE_DONE)
		err = db_sql_fail(db, rc, statements[which].doing);
	db_sql_stop(db, which);
	return err;
}

void db_sql_stop(struct db *db, enum db_statement which)
{
	/* Its result repeats that of the last step, which was looked at then. */
	sqlite3_reset(db->statements[which]);
	sqlite3_clear_bindings(db->statements[which]);
}

enum zr_err db_sql_run(struct db *db, enum db_statement which, const struct db_arg *args)
{
	sqlite3_stmt *stmt;
	bool row;
	enum zr_err err = db_sql_start(db, which, args, &stmt);

	if (!err)
		err = db_sql_next(db, which, &row);
	return err;
}

/* --------------------------------------------------------------------------------- transaction */

enum zr_err db_sql_begin(struct db *db)
{
	enum zr_err err;

	if (db->writing)
		return ZR_OK;
	if (db->mode == DB_READ)
		return zr_fail(ZR_PERM, "%s was opened for reading: nothing can be stored in it",
			       db->path);
	if (db->failed)
		return zr_fail(db->failed, "%s takes no more data since a write to it failed",
			       db->path);
	err = db_sql_run(db, DB_SQL_BEGIN, NULL);
	db->writing = !err;
	return err;
}

enum zr_err db_sql_commit(struct db *db)
{
	enum zr_err err;

	if (!db->writing)
		return db->failed ? zr_fail(db->failed, "%s: a write to it failed before", db->path)
				  : ZR_OK;
	err = db_sql_run(db, DB_SQL_COMMIT, NULL);
	if (err == ZR_BUSY)
		return err;
	if (err) {
		db_sql_rollback(db);
		db->failed = err;
	}
	db->writing = false;
	return err;
}

void db_sql_rollback(struct db *db)
{
	/* A rollback needs no space and reports the errors of the statements that it ends: known
	 * already. */
	if (!sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	db->writing = false;
	db->known_host = -1;
}

enum zr_err db_sql_begin_host(struct db *db, uint32_t host)
{
	enum zr_err err = db_sql_begin(db);

	if (err || db->known_host == (int64_t)host)
		return err;
	err = db_sql_run(db, DB_SQL_HOST_PUT, (struct db_arg[]){ db_int(host) });
	if (!err)
		db->known_host = host;
	return err;
}

/* --------------------------------------------------------------------------------------- lists */

static enum zr_err hold(struct db *db, struct db_list *list, size_t bytes)
{
	list->held += bytes;
	if (list->held <= LIST_BYTES_MAX)
		return ZR_OK;
	return zr_fail(ZR_LIMIT, "%s: a table holds more than %d MiB of texts and rows: damaged?",
		       db->path, LIST_BYTES_MAX >> 20);
}

static enum zr_err grow(struct db *db, struct db_list *list)
{
	size_t room = list->room ? list->room * 2 : LIST_FIRST_ROOM;
	enum zr_err err = hold(db, list, room * list->item_bytes);
	void *items;

	if (err)
		return err;
	items = zr_arena_array(list->arena, room, list->item_bytes);
	if (!items)
		return zr_fail(ZR_NOMEM, "%s: no memory for %zu rows", db->path, room);
	if (list->n)
		memcpy(items, list->items, list->n * list->item_bytes);
	list->items = items;
	list->room = room;
	return ZR_OK;
}

static enum zr_err add_item(struct db *db, struct db_list *list, sqlite3_stmt *row)
{
	enum zr_err err = list->n == list->room ? grow(db, list) : ZR_OK;

	if (err)
		return err;
	err = list->fill(db, list, row, (char *)list->items + list->n++ * list->item_bytes);
	/* What was read before a damaged row is whole. */
	list->n -= err != ZR_OK;
	return err;
}

enum zr_err db_list_read(struct db *db, enum db_statement which, const struct db_arg *args,
			 struct db_list *list)
{
	sqlite3_stmt *stmt;
	bool row = true;
	enum zr_err err = db_sql_start(db, which, args, &stmt);

	if (err)
		return err;
	while (!err && row) {
		err = db_sql_next(db, which, &row);
		if (!err && row)
			err = add_item(db, list, stmt);
	}
	db_sql_stop(db, which);
	return err;
}

enum zr_err db_list_text(struct db *db, struct db_list *list, sqlite3_stmt *row, int column,
			 const char **out)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	enum zr_err err = hold(db, list, text ? strlen(text) + 1 : 1);

	if (err)
		return err;
	*out = zr_arena_text(list->arena, text ? text : "");
	return *out ? ZR_OK : zr_fail(ZR_NOMEM, "%s: no memory for a text", db->path);
}
