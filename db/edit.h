/* SPDX-License-Identifier: MIT */
/*
 * What the tools that turn traces into traces share: the parts of a file (its hosts, with their spans of
 * time), the copying of everything but events, and the new file that goes away when the job fails. Private
 * to db/.
 */
#ifndef DB_EDIT_H
#define DB_EDIT_H

#include "db/db.h"
#include "db/sql.h"

/* ----------------------------------------------------------------------------------------- cursors */

/* A statement of a tool's own, run once; db_cursor_next gives *row false at the end. Close it always. */
struct db_cursor {
	struct db *db;
	sqlite3_stmt *stmt;
	const char *doing; /* "cannot ..." */
};

enum zr_err db_cursor_open(struct db *db, const char *doing, const char *sql, struct db_cursor *out);
enum zr_err db_cursor_next(struct db_cursor *rows, bool *row);
void db_cursor_close(struct db_cursor *rows);

/* ---------------------------------------------------------------------------------------- parts */

/* A host of a file, and which of its time is wanted. */
struct db_part {
	uint32_t host;
	uint32_t as;	     /* its number in the new file */
	uint64_t first_ns, last_ns; /* of its events; both 0 if there are none */
	uint64_t from_ns, to_ns;    /* [from, to) */
	uint64_t events;
	bool has_requests; /* some of them are IO */
};

/* The hosts of a selection, ascending; ZR_NO_DATA if a wanted host is not there. */
enum zr_err db_parts(struct db *db, const struct db_selection *selection, struct zr_arena *arena,
		     struct db_part **out, size_t *n);

uint32_t db_slot_sectors(struct db *db, uint32_t host);

/* --------------------------------------------------------------------------------------- tables */

/* Copies rows of these hosts (under the numbers `as`). What cannot be read for damage ends the table's
 * copy: with `lenient` that is no error. */
struct db_copy {
	struct db *from, *to;
	const struct db_part *parts;
	size_t n_parts;
	bool lenient;
};

enum zr_err db_copy_env(const struct db_copy *copy);
enum zr_err db_copy_ids(const struct db_copy *copy); /* cgroups, tasks, areas */
enum zr_err db_copy_samples(const struct db_copy *copy, uint64_t *samples); /* in [from, to) */
enum zr_err db_copy_runs(const struct db_copy *copy, uint64_t *runs);

/* True for errors that say something about the file's bytes, not about this machine or the user. */
bool db_is_damage(enum zr_err err);

/* --------------------------------------------------------------------------------------- output */

struct db_output {
	struct db *db;
	struct db_writer *writer; /* of the host that is being written, or NULL */
	uint32_t time_unit_ns;	  /* 0 = as it is */
};

/* A new trace of full chunks that is synced at its end: it can be made again. */
enum zr_err db_output_open(const char *path, struct db_output *out);

/* Ends the writer of the host before, and begins one. */
enum zr_err db_output_host(struct db_output *output, uint32_t host);

enum zr_err db_output_add(struct db_output *output, const struct db_event *event,
			  struct db_edit_result *result);

/* Closes; on an error, `err` or one of its own, removes the file and says so. */
enum zr_err db_output_close(struct db_output *output, enum zr_err err, bool complete);

/* -------------------------------------------------------------------------------------- watching */

enum zr_err db_watch_ask(const struct db_watch *watch, double done);

#endif
