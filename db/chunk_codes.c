/* SPDX-License-Identifier: MIT */
/* Tables of codes; see chunk_codes.h. */
#include "db/chunk_codes.h"

static struct db_code number(unsigned code, unsigned m)
{
	unsigned bits = code >> m ? (code >> m) - 1 : 0;
	uint32_t top = code >> m ? (1u << m) + code % (1u << m) : code;

	return (struct db_code){ .base = top << bits,
				 .mask = (uint32_t)((uint64_t)1 << bits) - 1,
				 .bits = (uint8_t)bits,
				 .list = DB_LISTS };
}

static struct db_code slot_number(unsigned code)
{
	struct db_code c;

	if (code >= DB_CODE_NEXT)
		return number(code - DB_CODE_NEXT, DB_SLOT_MANTISSA);
	c = number(code % DB_CODES_OF_LIST, DB_SLOT_MANTISSA);
	c.listed = UINT32_MAX;
	c.list = (uint8_t)(code / DB_CODES_OF_LIST);
	return c;
}

void db_codes_init(struct db_codes *codes)
{
	const struct db_code none = { .list = DB_LISTS };

	for (unsigned code = 0; code < 256; code++) {
		codes->time[code] = code < DB_CODE_TIME_64 ? number(code, DB_TIME_MANTISSA) : none;
		codes->slot[code] = code < DB_SLOT_CODES ? slot_number(code) : none;
		codes->len[code] = code < DB_LEN_CODES ? number(code, DB_LEN_MANTISSA) : none;
	}
	codes->time[DB_CODE_TIME_64] = (struct db_code){ .bits = 64, .list = DB_LISTS };
}
