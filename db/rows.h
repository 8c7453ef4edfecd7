/* SPDX-License-Identifier: MIT */
/*
 * Which events there can be, as event.h lists them: a table of 256 flags for each kind, so that the
 * check of a row is two lookups. Private to db/.
 */
#ifndef DB_ROWS_H
#define DB_ROWS_H

#include "db/db.h"

enum { DB_ROWS_KINDS = 16 }; /* room for unknown kinds, which have no valid flags */

static_assert((int)DB_KIND_COUNT <= DB_ROWS_KINDS, "the table has room for all kinds");

struct db_rows {
	uint8_t valid[DB_ROWS_KINDS][256];
};

void db_rows_init(struct db_rows *rows);

/* Both name the first row that is not what event.h allows, as ZR_CORRUPT with a sentence that
 * begins with `name`: by its kind alone, or by any column. */
enum zr_err db_rows_check_kinds(const char *name, const struct db_batch *batch);
enum zr_err db_rows_check(const struct db_rows *rows, const char *name,
			  const struct db_batch *batch);

bool db_rows_times_valid(const struct db_batch *batch);

#endif
