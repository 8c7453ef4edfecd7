/* SPDX-License-Identifier: MIT */
/* What a row of the table chunk says of the chunk's events. Private to db/; also for the loadable extension. */
#ifndef DB_SPAN_ROW_H
#define DB_SPAN_ROW_H

#include "db/chunk.h"
#include "db/sqlite_api.h"

/* For a SELECT, in the order in which db_span_of_row takes them. */
#define DB_SPAN_COLUMNS "first_ns, last_ns, events, kinds, slot_min, slot_max, memcgs"

/* Of the statement's row, from this column on. */
static inline struct db_chunk_span db_span_of_row(sqlite3_stmt *stmt, int column)
{
	return (struct db_chunk_span){
		.first_ns = (uint64_t)sqlite3_column_int64(stmt, column),
		.last_ns = (uint64_t)sqlite3_column_int64(stmt, column + 1),
		.events = (uint32_t)sqlite3_column_int64(stmt, column + 2),
		.kinds = (uint32_t)sqlite3_column_int64(stmt, column + 3),
		.slot_min = (uint32_t)sqlite3_column_int64(stmt, column + 4),
		.slot_max = (uint32_t)sqlite3_column_int64(stmt, column + 5),
		.memcgs = (uint64_t)sqlite3_column_int64(stmt, column + 6),
	};
}

#endif
