/* SPDX-License-Identifier: MIT */
/* Types of events; see types.h. */
#include "db/types.h"

#include <string.h>

void db_types_init(struct db_types *types, const struct db_rows *rows)
{
	unsigned n = 0;

	memset(types, 0, sizeof(*types));
	memset(types->of, DB_TYPE_NONE, sizeof(types->of));
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++) {
		for (unsigned flags = 0; flags < 256; flags++) {
			if (!rows->valid[kind][flags])
				continue;
			types->of[kind][flags] = (uint8_t)n;
			types->kind[n] = (uint8_t)kind;
			types->flags[n++] = (uint8_t)flags;
		}
	}
	assert(n == DB_TYPE_COUNT);
}
