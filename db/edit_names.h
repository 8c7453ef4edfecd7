/* SPDX-License-Identifier: MIT */
/*
 * Names to numbers: a hash table from texts to 32-bit values, for what two traces have in common. Open
 * addressing, at most half full; texts are kept in an arena of its own. Private to db/.
 */
#ifndef DB_EDIT_NAMES_H
#define DB_EDIT_NAMES_H

#include "db/db.h"

struct db_names {
	struct db_name {
		const char *text; /* NULL = empty */
		uint32_t value;
	} *slots;
	uint32_t size; /* a power of two, or 0 */
	uint32_t n;
	struct zr_arena arena;
};

void db_names_fini(struct db_names *names);

/* The value of a text; if it is new it gets `value`, and *fresh is true. */
enum zr_err db_names_get(struct db_names *names, const char *text, uint32_t value, bool *fresh,
			 uint32_t *out);

/* The value of a text that is there, else NULL. */
const uint32_t *db_names_find(const struct db_names *names, const char *text);

#endif
