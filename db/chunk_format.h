/* SPDX-License-Identifier: MIT */
/*
 * The chunk: how up to 65536 events lie in chunk.data, version 1. zreel-trace.5 says the same at more
 * length, with an example; the two are normative.
 *
 * Everything is little-endian. A chunk is a header of 64 bytes and three zstd frames (RFC 8878), one for
 * each group of columns, each with its content size and without a checksum or dictionary; a group of
 * which nothing is left to store has no frame (0 bytes).
 *
 *   offset  bytes
 *        0  4      magic, "ZRCK"
 *        4  4      CRC-32C of everything from offset 8 to the end
 *        8  2      version, 1
 *       10  2      0
 *       12  4      n, the number of events, 1 to 65536
 *       16  8      time of the first event, ns
 *       24  3 * 8  for each group: bytes of its planes, bytes of its frame
 *       48  9      for each column: mask of the planes that are stored
 *       57  3      0
 *       60  4      time unit, 1 to 10^9 ns
 *       64         the frames, one after the other, in the order of the groups
 *
 *   group  columns, in the order of masks and planes (width in bytes)
 *   0      kind (1), area (1), order (1), flags (1), memcg (2), task (4)
 *   1      time (8)
 *   2      slot (4), len (2)
 *
 * A column of width w is w planes of n bytes: plane p holds byte p (0 the lowest) of all its values. A plane
 * of zeros only is left out, and its bit p of the column's mask is 0; no other bit may be set.
 *
 * The kinds stand in the order of the events. All other columns stand in the order of kinds: first the
 * values of the events of kind 0, then those of kind 1 and so on, each kind's in the order of the events.
 * So a value is among its like, and what a kind does not have is one run of zeros.
 *
 * The values of a column are those of the events but for
 *   time  the difference to the event before (of any kind) in time units, 0 for the first; modulo 2^64;
 *         times never descend
 *   slot  zigzag of the 32-bit difference (modulo 2^32) to the slot that is expected next: 0 for the first
 *         event of a kind and task (modulo 64) in this chunk; after one with slot s, that kind and task
 *         expect s + 1 for OUT, IN and WB, s + the slots freed for FREE, s + the pages of 4096 bytes that its
 *         sectors fill, rounded up, for IO, and s for all others
 * where zigzag maps 0, -1, 1, -2 to 0, 1, 2, 3.
 *
 * Kinds, flags and orders outside what db/event.h lists make a chunk invalid. A new kind or flag is thus a
 * new version of the chunk, and an old program refuses it by name instead of misreading it.
 */
#ifndef DB_CHUNK_FORMAT_H
#define DB_CHUNK_FORMAT_H

#include <assert.h>

enum {
	DB_CHUNK_MAGIC = 0x4b43525a,
	DB_CHUNK_VERSION = 1,

	DB_CHUNK_GROUPS = 3,
	DB_CHUNK_COLUMNS = 9,
	DB_CHUNK_TASKS = 64, /* that have a sequence of their own */
	DB_CHUNK_UNIT_MAX = 1000000000,

	DB_CHUNK_AT_MAGIC = 0,
	DB_CHUNK_AT_CRC = 4,
	DB_CHUNK_AT_VERSION = 8, /* the CRC begins here */
	DB_CHUNK_AT_ZERO = 10,
	DB_CHUNK_AT_EVENTS = 12,
	DB_CHUNK_AT_FIRST_NS = 16,
	DB_CHUNK_AT_GROUPS = 24,
	DB_CHUNK_GROUP_BYTES = 8,
	DB_CHUNK_AT_MASKS = DB_CHUNK_AT_GROUPS + DB_CHUNK_GROUPS * DB_CHUNK_GROUP_BYTES,
	DB_CHUNK_AT_ZEROS = DB_CHUNK_AT_MASKS + DB_CHUNK_COLUMNS,
	DB_CHUNK_AT_UNIT = 60,
	DB_CHUNK_HEADER_BYTES = 64,
};

static_assert(DB_CHUNK_AT_MASKS == 48 && DB_CHUNK_AT_ZEROS == 57, "the header is laid out as above");

#endif
