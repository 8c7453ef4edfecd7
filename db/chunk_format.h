/* SPDX-License-Identifier: MIT */
/*
 * The chunk: how up to 65536 events lie in chunk.data. zreel-trace.5 says the same at more length,
 * with an example of each version; it is normative. Version 2 is written, 1 and 2 are read.
 *
 * Everything is little-endian. Both versions begin alike:
 *
 *   offset  bytes
 *        0  4      magic, "ZRCK"
 *        4  4      CRC-32C of everything from offset 8 to the end
 *        8  2      version
 *       10  2      0
 *       12  4      n, the number of events, 1 to 65536
 *       16  8      time of the first event, ns
 *
 * ---- Version 2 ----
 *
 * A header of 56 bytes, two zstd frames (RFC 8878), each with its content size and without a
 * checksum or dictionary, and the bits. A group of which nothing is left to store has no frame (0
 * bytes).
 *
 *   offset  bytes
 *       24  2 * 8  for each group: bytes of its planes, bytes of its frame
 *       40  4      bytes of the bits
 *       44  4      time unit, 1 to 10^9 ns
 *       48  8      for each column: mask of the planes that are stored
 *       56         the frame of group 0, that of group 1, the bits
 *
 *   group  columns, in the order of masks and planes (width in bytes)
 *   0      type (1), area (1), order (1), memcg (2), task (4)
 *   1      time (1), slot (1), len (1)
 *
 * A column of width w is w planes of n bytes: plane p holds byte p (0 the lowest) of all its
 * values. A plane of zeros only is left out, and its bit p of the column's mask is 0; no other bit
 * may be set.
 *
 * A type is a pair of a kind and flags that event.h allows; they are numbered by kind, then flags.
 * The types stand in the order of the events, all other columns in the order of types: first the
 * values of the events of type 0, then those of type 1 and so on, each type's in the order of the
 * events.
 *
 * Group 1 holds codes: the upper part of a number, of which the lower part is plain bits. Those
 * hold nothing that zstd could find, so it is spared them: it sees one byte of a time instead of
 * four. The bits of all events stand in the order of the events, those of an event in the order
 * time, slot, len, from the lowest bit of the first byte up; the last byte is filled with zeros.
 * chunk_codes.h has the codes, chunk_slots.h what the number of a slot means.
 *
 * A task is stored relative to p, the last task before it that was not 0 (1 at the start): p as 1,
 * 1 as p, all others as themselves.
 *
 * Sizes on the shipped compile trace at level 3: version 1 5.10 bytes an event, version 2 4.39.
 *
 * ---- Version 1 ----
 *
 *   offset  bytes
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
 * Frames, columns and planes are as above, but the kinds stand in the order of the events and all
 * other columns in the order of kinds. The values of a column are those of the events but for time
 * the difference to the event before (of any kind) in time units, 0 for the first; modulo 2^64;
 *         times never descend
 *   slot  zigzag of the 32-bit difference (modulo 2^32) to the slot that is expected next: 0 for
 * the first event of a kind and task (modulo 64) in this chunk; after one with slot s, that kind
 * and task expect s + 1 for OUT, IN and WB, s + the slots freed for FREE, s + the pages of 4096
 * bytes that its sectors fill, rounded up, for IO, and s for all others where zigzag maps 0, -1, 1,
 * -2 to 0, 1, 2, 3.
 *
 * Kinds, flags and orders outside what db/event.h lists make a chunk invalid. A new kind or flag is
 * thus a new version of the chunk, and an old program refuses it by name instead of misreading it.
 */
#ifndef DB_CHUNK_FORMAT_H
#define DB_CHUNK_FORMAT_H

#include <assert.h>

enum {
	DB_CHUNK_MAGIC = 0x4b43525a,
	DB_CHUNK_VERSION = 2, /* the newest */

	DB_CHUNK_TASKS = 64, /* that have a sequence of their own */
	DB_CHUNK_UNIT_MAX = 1000000000,
	DB_CHUNK_GROUP_BYTES = 8,

	DB_CHUNK_AT_MAGIC = 0,
	DB_CHUNK_AT_CRC = 4,
	DB_CHUNK_AT_VERSION = 8, /* the CRC begins here */
	DB_CHUNK_AT_ZERO = 10,
	DB_CHUNK_AT_EVENTS = 12,
	DB_CHUNK_AT_FIRST_NS = 16,
	DB_CHUNK_AT_GROUPS = 24, /* and this and all before it is the same in all versions */

	DB_CHUNK_GROUPS = 2,
	DB_CHUNK_COLUMNS = 8,
	DB_CHUNK_AT_BITS = DB_CHUNK_AT_GROUPS + DB_CHUNK_GROUPS * DB_CHUNK_GROUP_BYTES,
	DB_CHUNK_AT_UNIT = 44,
	DB_CHUNK_AT_MASKS = 48,
	DB_CHUNK_HEADER_BYTES = 56,

	DB_CHUNK_1_GROUPS = 3,
	DB_CHUNK_1_COLUMNS = 9,
	DB_CHUNK_1_AT_MASKS = 48,
	DB_CHUNK_1_AT_ZEROS = 57,
	DB_CHUNK_1_AT_UNIT = 60,
	DB_CHUNK_1_HEADER_BYTES = 64,
};

static_assert(DB_CHUNK_AT_BITS == 40 && DB_CHUNK_AT_MASKS + DB_CHUNK_COLUMNS == 56,
	      "the header is laid out as above");

#endif
