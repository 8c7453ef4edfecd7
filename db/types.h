/* SPDX-License-Identifier: MIT */
/*
 * Types of events: the pairs of kind and flags that event.h allows, numbered by kind, then flags.
 * One byte says both, what is not allowed has no number, and events of one type are most like one
 * another. Private to db/.
 */
#ifndef DB_TYPES_H
#define DB_TYPES_H

#include "db/rows.h"

enum { DB_TYPE_COUNT = 182, DB_TYPE_NONE = 255, DB_TYPE_ROOM = 256 };

struct db_types {
	uint8_t of[DB_ROWS_KINDS][256]; /* DB_TYPE_NONE: not allowed */
	uint8_t kind[DB_TYPE_ROOM], flags[DB_TYPE_ROOM];
};

void db_types_init(struct db_types *types, const struct db_rows *rows);

#endif
