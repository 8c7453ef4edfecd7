/* SPDX-License-Identifier: MIT */
/*
 * The events in SQL: the virtual table `events`, one row an event, decoded chunk by chunk as a
 * query asks for them. Private to db/; used by `zreel sql` and by the loadable extension, so it
 * calls nothing but SQLite and the chunk codec.
 *
 * Conditions on host, time_ns, kind, slot and memcg pass over chunks by their rows; what is left is
 * filtered in the decoded batch, and SQLite looks at each row once more, so a condition that is
 * taken too widely here is only slower. A cursor holds one decoded chunk.
 *
 * Cost, one core: 8 to 20 M rows/s for an aggregate over one column, nearly all of it SQLite's own.
 */
#ifndef DB_VTAB_H
#define DB_VTAB_H

#include "db/chunk.h"
#include "db/sqlite_api.h"

/* What a query asks of chunks and rows; bounds are inclusive, masks are never 0 for "all". */
struct db_vtab_bounds {
	int64_t host_min, host_max;
	int64_t time_min, time_max;
	int64_t slot_min, slot_max;
	int64_t memcg_min, memcg_max;
	uint64_t memcgs; /* bits 1 << memcg % 64 */
	uint32_t kinds;
	bool slots_only; /* a condition on slots: only events that have one */
};

struct db_vtab {
	sqlite3_vtab base;
	sqlite3 *sql;
	uint64_t *chunks_decoded; /* of this connection */
};

struct db_vtab_cursor {
	sqlite3_vtab_cursor base;
	struct db_vtab_bounds bounds;
	sqlite3_stmt *chunks, *paths;
	struct zr_arena arena;
	struct db_batch batch;
	struct db_codec *codec;
	int64_t chunk;	  /* that is in the batch; -1 = none */
	uint64_t last_ns; /* the end of the chunk before */
	uint32_t row;
	bool end;
	int64_t path_host, path_memcg; /* of the row on which `paths` stands; -1 = none */
};

/* Adds the table, and the SQL function events_chunks_decoded(), to a connection, which owns the
 * counter behind that. SQLite's code. */
int db_vtab_register(sqlite3 *sql, const uint64_t **chunks_decoded);

/* ---------------------------------------------------------------------------------- its columns */

enum db_vtab_column {
	DB_VTAB_HOST,
	DB_VTAB_TIME,
	DB_VTAB_KIND,
	DB_VTAB_AREA,
	DB_VTAB_SLOT,
	DB_VTAB_PAGES,
	DB_VTAB_ORDER,
	DB_VTAB_LEN,
	DB_VTAB_COUNT,
	DB_VTAB_MEMCG,
	DB_VTAB_CGROUP,
	DB_VTAB_TASK,
	DB_VTAB_OUTCOME,
	DB_VTAB_REASON,
	DB_VTAB_PHASE,
	DB_VTAB_PART,
	DB_VTAB_READAHEAD,
	DB_VTAB_UNKNOWN,
	DB_VTAB_FLAGS,
	DB_VTAB_CHUNK,
};

/* The CREATE TABLE statement that declares them. */
extern const char db_vtab_declaration[];

/* Sets the result to a column of the cursor's row. SQLite's code. */
int db_vtab_get_column(struct db_vtab_cursor *cursor, sqlite3_context *result, int column);

/* Fails the cursor's table with a sentence of SQLite's or, with NULL, the one that zr_fail holds.
 */
int db_vtab_fail(struct db_vtab_cursor *cursor, int rc, const char *doing);

#endif
