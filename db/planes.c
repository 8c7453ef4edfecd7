/* SPDX-License-Identifier: MIT */
/* Byte planes of columns; see planes.h. */
#include "db/planes.h"

#include <string.h>

#include "db/base/bytes.h"

uint8_t db_planes_in_use(struct db_column column)
{
	const uint8_t *values = column.values;
	uint64_t any[8] = { 0 };
	size_t bytes = (size_t)column.n * column.width, at = 0;
	uint8_t mask = 0;

	for (; at + sizeof(any) <= bytes; at += sizeof(any))
		for (unsigned j = 0; j < 8; j++)
			any[j] |= zr_get64(values + at + 8 * j);
	for (; at < bytes; at++)
		((uint8_t *)any)[at % 8] |= values[at];
	/* 8 is a multiple of every width, so a byte's place modulo the width is its plane. */
	for (unsigned byte = 0; byte < sizeof(any); byte++)
		if (((uint8_t *)any)[byte])
			mask |= (uint8_t)(1u << byte % column.width);
	return mask;
}

/* ------------------------------------------------------------------------- values of each width */

/* Splitting does whole steps, so up to a step of rows past n are rubbish. */
#define VALUES(bits)                                                                               \
	static void split##bits(const uint##bits##_t *restrict values, unsigned shift,             \
				uint8_t *restrict to, uint32_t n)                                  \
	{                                                                                          \
		for (uint32_t done = 0; done < n;                                                  \
		     done += DB_PLANES_STEP, values += DB_PLANES_STEP, to += DB_PLANES_STEP)       \
			for (uint32_t i = 0; i < DB_PLANES_STEP; i++)                              \
				to[i] = (uint8_t)(values[i] >> shift);                             \
	}
VALUES(8)
VALUES(16)
VALUES(32)
#undef VALUES

/* ---------------------------------------------------------------------------------- dispatching */

static void split_plane(struct db_column column, unsigned shift, uint8_t *to)
{
	switch (column.width) {
	case 1:
		split8(column.values, shift, to, column.n);
		break;
	case 2:
		split16(column.values, shift, to, column.n);
		break;
	default:
		split32(column.values, shift, to, column.n);
	}
}

uint8_t *db_planes_split(struct db_column column, uint8_t mask, uint8_t *to)
{
	for (unsigned p = 0; p < column.width; p++) {
		if (!(mask >> p & 1))
			continue;
		split_plane(column, 8 * p, to);
		to += column.n;
	}
	return to;
}
