/* SPDX-License-Identifier: MIT */
/*
 * What encoding and decoding of chunks share: the codec's memory, the table of columns, and what
 * hangs on the kind of an event. Private to the codec (chunk*.c).
 */
#ifndef DB_CHUNK_CODEC_H
#define DB_CHUNK_CODEC_H

#include <zstd.h>

#include "db/base/bytes.h"
#include "db/chunk.h"
#include "db/chunk_codes.h"
#include "db/chunk_format.h"
#include "db/chunk_slots.h"
#include "db/planes.h"
#include "db/rows.h"
#include "db/types.h"

enum {
	DB_CHUNK_PLANES_MAX = 24 * DB_BATCH_EVENTS, /* all columns of version 1; of 2: 12 */
	DB_CHUNK_BITS_MAX = 14 * DB_BATCH_EVENTS,   /* 64 + 30 + 11 an event */
	/* zstd's bound, and room for the heads of its blocks */
	DB_CHUNK_BYTES_MAX = DB_CHUNK_HEADER_BYTES + 12 * DB_BATCH_EVENTS + DB_BATCH_EVENTS +
			     16 * 1024 + DB_CHUNK_BITS_MAX,
};

/* Version 2, in the order of the masks. */
enum db_chunk_column {
	COLUMN_TYPE,
	COLUMN_AREA,
	COLUMN_ORDER,
	COLUMN_MEMCG,
	COLUMN_TASK,
	COLUMN_TIME,
	COLUMN_SLOT,
	COLUMN_LEN,
};

/* The events in the order of types; arrays have room for whole steps (planes.h). */
struct db_sorted {
	uint32_t task[DB_BATCH_EVENTS];
	uint16_t memcg[DB_BATCH_EVENTS];
	uint8_t type[DB_BATCH_EVENTS]; /* in the order of the events */
	uint8_t area[DB_BATCH_EVENTS], order[DB_BATCH_EVENTS];
	uint8_t time[DB_BATCH_EVENTS], slot[DB_BATCH_EVENTS], len[DB_BATCH_EVENTS];
};

struct db_chunk_column_format {
	uint8_t group, width;
	uint32_t offset; /* in struct db_sorted */
};

extern const struct db_chunk_column_format db_chunk_columns[DB_CHUNK_COLUMNS];

struct db_codec {
	ZSTD_CCtx *cctx[DB_CHUNK_GROUPS];
	ZSTD_DCtx *dctx;
	struct db_rows rows;
	struct db_types types;
	struct db_codes codes;
	struct db_slot_rule rules[DB_TYPE_ROOM];
	struct db_chunk_span span;
	uint32_t starts[DB_TYPE_ROOM + 1]; /* of the types (version 1: kinds) in their order */
	struct db_slots slots;
	uint8_t planes[DB_CHUNK_PLANES_MAX + DB_PLANES_STEP];
	uint16_t rank[DB_BATCH_EVENTS]; /* decoding: of each event in the order of values */
	union {
		struct db_sorted sorted;
		uint64_t packed[DB_BATCH_EVENTS]; /* version 1: slot, len and memcg by kind */
	};
	uint8_t zeros[DB_BATCH_EVENTS]; /* decoding: any plane that was left out */
	uint8_t bits[DB_CHUNK_BITS_MAX + 8];
	uint8_t chunk[DB_CHUNK_BYTES_MAX];
};

/* Counts values and turns the counts into where each value begins in the order of values; false if
 * some are not below `limit`. */
bool db_codec_starts(struct db_codec *codec, const uint8_t *values, uint32_t n, unsigned limit);

/* Fills starts and rank; false as above. */
bool db_codec_rank(struct db_codec *codec, const uint8_t *values, uint32_t n, unsigned limit);

uint32_t db_chunk_crc(const uint8_t *chunk, size_t bytes);

/* A chunk whose checksum, version and count are known to be good. */
struct db_decoder {
	struct db_codec *codec;
	const char *name;
	const uint8_t *chunk, *at, *end; /* `at`: what is read next */
	struct db_batch *batch;
	uint8_t *end_of_planes;
};

enum zr_err db_chunk_check_unit(const struct db_decoder *dec, uint32_t unit_ns);

/* The frame at dec->at, whose sizes are in the header: its planes at dec->end_of_planes, which it
 * leaves to the caller to move on by. */
enum zr_err db_chunk_get_frame(struct db_decoder *dec, unsigned group, size_t planes_bytes);

enum zr_err db_chunk_decode_1(struct db_decoder *dec);
enum zr_err db_chunk_decode_2(struct db_decoder *dec);

/* Version 2: kinds of which there are events, as bits 1 << kind. */
uint32_t db_codec_kinds(const struct db_codec *codec, const uint32_t *starts);

/* Sets codec->span from a batch of valid events, of which all but large folios are in `range`. */
void db_codec_set_span(struct db_codec *codec, const struct db_batch *batch, uint32_t kinds,
		       struct db_range range);

#endif
