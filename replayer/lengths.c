/* SPDX-License-Identifier: MIT */
/*
 * The table of lengths.h: for each compressor the lengths that 0, 1/32, ... 32/32 of the pages do not exceed.
 *
 * By replayer/measure-lengths, 2026-12-01, on AMD EPYC, Debian 12: zstd 1.5.4, LZ4 1.9.4, LZO 2.10; 10,500 anonymous
 * pages that are not zero-filled, 1,500 each of Python objects with JSON, arrays of doubles and integers, SQLite in
 * memory, three times gcc, and Python syntax trees. By how much the total of a kind is off that the table of the other
 * kinds makes of it:
 *
 *   between levels of zstd                 0 to 5%; numbers 15 to 18% too small
 *   from zstd to lz4 or lzo                1 to 8%; database +13 to +19%, objects and JSON -13 to -16%
 *   from lz4 or lzo to zstd                1 to 14%; database -14 to -17%, objects and JSON +17 to +25%
 *   between lz4 and lzo                    0 to 6%
 */
#include "replayer/lengths.h"

#include <string.h>

enum { POINTS = 32 };

static const struct {
	const char *name;
	uint16_t at[POINTS + 1];
} table[] = {
	{ "zstd:1",
	  { 23, 171, 218, 264, 343, 368, 405, 466, 524, 547, 566, 603, 639, 677, 713, 765,
	    813, 852, 897, 927, 950, 992, 1080, 1207, 1364, 1644, 2100, 2124, 2236, 2608,
	    3954, 3969, 3980 } },
	{ "zstd",
	  { 23, 152, 208, 256, 332, 356, 391, 451, 502, 540, 561, 588, 621, 656, 692, 740,
	    783, 821, 861, 906, 934, 957, 1039, 1158, 1303, 1568, 2056, 2098, 2160, 2496,
	    3954, 3969, 3980 } },
	{ "zstd:9",
	  { 23, 128, 184, 238, 321, 348, 382, 427, 483, 523, 546, 562, 588, 621, 661, 704,
	    741, 786, 828, 861, 892, 927, 1006, 1122, 1270, 1523, 2029, 2069, 2161, 2445,
	    3954, 3969, 3980 } },
	{ "lz4",
	  { 31, 212, 355, 451, 559, 657, 756, 845, 924, 991, 1024, 1058, 1090, 1153, 1221,
	    1255, 1320, 1382, 1420, 1464, 1539, 1624, 1701, 1766, 1914, 2166, 2948, 2986,
	    3172, 3279, 4096, 4096, 4096 } },
	{ "lzo",
	  { 44, 216, 342, 431, 518, 641, 713, 783, 844, 892, 922, 948, 981, 1017, 1039,
	    1084, 1143, 1181, 1234, 1291, 1321, 1398, 1512, 1649, 1736, 2012, 2959, 3003,
	    3242, 3354, 4096, 4096, 4096 } },
};

enum { COMPRESSORS = sizeof(table) / sizeof(table[0]) };

int lengths_compressor(const char *name)
{
	if (strcmp(name, "zstd:3") == 0)
		name = "zstd";
	if (strcmp(name, "lzo-rle") == 0) /* differs in speed, and where zeros are in a row */
		name = "lzo";
	for (int c = 0; c < COMPRESSORS; c++)
		if (strcmp(table[c].name, name) == 0)
			return c;
	return -1;
}

const char *lengths_name(int compressor)
{
	return compressor >= 0 && compressor < COMPRESSORS ? table[compressor].name : NULL;
}

/* On the line from (x0, y0) to (x1, y1), rounded. */
static uint16_t between(uint32_t x, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1)
{
	return (uint16_t)(y0 + ((x - x0) * (y1 - y0) + (x1 - x0) / 2) / (x1 - x0));
}

/* A length that many pages have stands for the middle of them. */
static uint16_t translate(const uint16_t *from, const uint16_t *to, uint32_t n)
{
	int low = 0, high = POINTS;
	uint16_t out;

	while (low < POINTS && from[low] < n)
		low++;
	while (high > 0 && from[high] > n)
		high--;
	if (from[low] == n)
		return (uint16_t)((to[low] + to[high]) / 2);
	if (low == 0) {
		out = between(n, 0, 0, from[0], to[0]);
		return out ? out : 1;
	}
	return from[low] < n ? to[POINTS] : between(n, from[high], to[high], from[low], to[low]);
}

void lengths_map(int from, int to, uint16_t map[LENGTHS_PAGE + 1])
{
	map[0] = 0;
	for (uint32_t n = 1; n <= LENGTHS_PAGE; n++)
		map[n] = translate(table[from].at, table[to].at, n);
}
