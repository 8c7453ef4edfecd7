/* SPDX-License-Identifier: MIT */
/*
 * Codes: one byte that says the upper part of a number, and how many bits the rest has; chunk
 * version 2.
 *
 * With a mantissa of m bits, code c says the number c if c < 2^m, and else
 *
 *   ((2^m + c mod 2^m) << b) + the next b bits,   b = c / 2^m - 1
 *
 *   column  codes       number
 *   time    0 to 239    difference to the event before, in units; m = 3, up to 2^32 - 1
 *           240         the same as 64 bits
 *   slot    0 to 33     zigzag of a difference in the list of OUTs; m = 1
 *           34 to 67    the same, list of INs, code - 34
 *           68 to 101   the same, list of IOs, code - 68
 *           102 to 165  zigzag of the difference to the slot that is expected, code - 102; m = 1
 *   len     0 to 207    m = 4
 *
 * A mantissa of 2 or 4 for times gave the same size to 0.5%, one of 0 or 2 for slots to 0.2%.
 */
#ifndef DB_CHUNK_CODES_H
#define DB_CHUNK_CODES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	DB_LIST_OUT,
	DB_LIST_IN,
	DB_LIST_IO,
	DB_LISTS,

	DB_TIME_MANTISSA = 3,
	DB_SLOT_MANTISSA = 1,
	DB_LEN_MANTISSA = 4,

	DB_TIME_BITS_MAX = 28,
	DB_CODE_TIME_64 = 240,

	DB_CODES_OF_LIST = 34,
	DB_CODE_NEXT = DB_LISTS * DB_CODES_OF_LIST,
	DB_CODES_OF_NEXT = 64,
	DB_SLOT_CODES = DB_CODE_NEXT + DB_CODES_OF_NEXT,
	DB_LEN_CODES = 208,
	DB_TIME_CODES = DB_CODE_TIME_64 + 1,
};

/* What a code says: base + (the next `bits` bits). */
struct db_code {
	uint32_t base, mask;
	uint32_t listed; /* slot: all ones if in a list, else 0 */
	uint8_t bits;
	uint8_t list; /* slot: DB_LISTS if in none */
};

struct db_codes {
	struct db_code time[256], slot[256], len[256];
};

void db_codes_init(struct db_codes *codes);

/* Bits of v that its code does not say. Below 2^m, and from there to 2^(m + 1), there are none. */
static inline unsigned db_code_bits(uint32_t v, unsigned m)
{
	return 31 - (unsigned)__builtin_clz(v | 1u << m) - m;
}

static inline unsigned db_code_of(uint32_t v, unsigned m, unsigned bits)
{
	return (bits << m) + (v >> bits);
}

#endif
