/* SPDX-License-Identifier: MIT */
/*
 * Columns as byte planes: loops of encoding a chunk, free of branches that depend on data. Private
 * to db/.
 *
 * Planes are split in steps of DB_PLANES_STEP rows, since compilers vectorise a loop of a fixed
 * length at -O2. So arrays of values and planes have room for whole steps.
 */
#ifndef DB_PLANES_H
#define DB_PLANES_H

#include "db/db.h"

enum { DB_PLANES_STEP = 64 };

static_assert(DB_BATCH_EVENTS % DB_PLANES_STEP == 0, "arrays have room for whole steps");

/* `n` values of `width` bytes: 1, 2 or 4. */
struct db_column {
	void *values;
	unsigned width;
	uint32_t n;
};

/* Bit p: some value has byte p. */
uint8_t db_planes_in_use(struct db_column column);

/* The planes of the mask, one after the other, at `to`; returns their end. */
uint8_t *db_planes_split(struct db_column column, uint8_t mask, uint8_t *to);

#endif
