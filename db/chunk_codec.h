/* SPDX-License-Identifier: MIT */
/*
 * What encoding and decoding of chunks share: the codec's memory, the table of columns, and what
 * hangs on the kind of an event. Private to the codec (chunk.c, chunk_encode.c, chunk_decode.c).
 */
#ifndef DB_CHUNK_CODEC_H
#define DB_CHUNK_CODEC_H

#include <zstd.h>

#include "db/base/bytes.h"
#include "db/chunk.h"
#include "db/chunk_format.h"
#include "db/planes.h"
#include "db/rows.h"

enum {
	DB_CHUNK_ROW_BYTES = 24,
	DB_CHUNK_PLANES_MAX = DB_CHUNK_ROW_BYTES * DB_BATCH_EVENTS,
	/* zstd's bound, and room for the heads of its blocks */
	DB_CHUNK_BYTES_MAX =
		DB_CHUNK_HEADER_BYTES + DB_CHUNK_PLANES_MAX + DB_CHUNK_PLANES_MAX / 128 + 16 * 1024,
	DB_CHUNK_PAGE_SHIFT = 3, /* sectors of 512 bytes to pages of 4096 */
};

/* In the order of the masks. */
enum db_chunk_column {
	COLUMN_KIND,
	COLUMN_AREA,
	COLUMN_ORDER,
	COLUMN_FLAGS,
	COLUMN_MEMCG,
	COLUMN_TASK,
	COLUMN_TIME,
	COLUMN_SLOT,
	COLUMN_LEN,
};

struct db_chunk_column_format {
	uint8_t group, width;
	uint16_t offset; /* of its array's address in struct db_batch */
};

extern const struct db_chunk_column_format db_chunk_columns[DB_CHUNK_COLUMNS];

struct db_codec {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	struct db_rows rows;
	struct db_chunk_span span;
	uint32_t starts[DB_KIND_COUNT + 1]; /* of the kinds in their order */
	uint16_t rank[DB_BATCH_EVENTS];	    /* of each event in that order */
	uint8_t planes[DB_CHUNK_PLANES_MAX + DB_PLANES_STEP];
	union {
		struct db_batch_arrays {
			uint64_t time_ns[DB_BATCH_EVENTS];
			uint32_t slot[DB_BATCH_EVENTS], task[DB_BATCH_EVENTS];
			uint16_t memcg[DB_BATCH_EVENTS], len[DB_BATCH_EVENTS];
			uint8_t kind[DB_BATCH_EVENTS], area[DB_BATCH_EVENTS];
			uint8_t order[DB_BATCH_EVENTS], flags[DB_BATCH_EVENTS];
		} sorted;			  /* encoding: the events by kind */
		uint64_t packed[DB_BATCH_EVENTS]; /* decoding: slot, len and memcg by kind */
	};
	uint8_t zeros[DB_BATCH_EVENTS]; /* decoding: any plane that was left out */
	uint8_t chunk[DB_CHUNK_BYTES_MAX];
};

/* Fills starts and rank; false if there are kinds that are not known. */
bool db_codec_rank(struct db_codec *codec, const struct db_batch *batch);

uint32_t db_chunk_crc(const uint8_t *chunk, size_t bytes);

/* ---------------------------------------------------------------------------- the next slot */

/*
 * The slot that follows the last one of the same kind and task. Slots are handed out in sequence,
 * but for each CPU from a cluster of its own, so two tasks that swap at once make two sequences;
 * the task stands for the CPU, which a trace does not have. On a recording of two tasks, 3.60 bytes
 * an event with one sequence a kind and 3.38 with one a task.
 */
struct db_ahead {
	uint16_t mask;
	uint8_t round, shift, least;
};

/* Slots from an event to the next of its sequence: (len & mask, rounded) >> shift, but at least
 * `least`. */
extern const struct db_ahead db_aheads[DB_KIND_COUNT];

static inline uint32_t db_slots_ahead(struct db_ahead a, uint32_t len)
{
	uint32_t slots = ((len & a.mask) + a.round) >> a.shift;

	return slots > a.least ? slots : a.least;
}

/* ------------------------------------------------------------------------ the slots of an event */

/* What an event's slots are: none, one, or more by some rule. */
enum db_cover { DB_COVER_NONE, DB_COVER_ONE, DB_COVER_OUT, DB_COVER_FREE, DB_COVER_IO };

extern const uint8_t db_covers[DB_KIND_COUNT];

/* Widens the range by an event. Inlined with a constant for `cover`. */
static inline __attribute__((always_inline)) void
db_cover_slots(uint32_t range[2], enum db_cover cover, const struct db_event *e)
{
	uint32_t beyond = 0, last;

	if (cover == DB_COVER_NONE)
		return;
	if (cover == DB_COVER_OUT)
		beyond = e->flags & DB_F_PART ? 0 : ((uint32_t)1 << e->order % 32) - 1;
	else if (cover == DB_COVER_FREE)
		beyond = db_free_slots(e->len) - 1;
	else if (cover == DB_COVER_IO)
		beyond = e->len >> DB_CHUNK_PAGE_SHIFT;
	last = e->slot + beyond;
	last = last < e->slot ? UINT32_MAX : last;
	range[0] = e->slot < range[0] ? e->slot : range[0];
	range[1] = last > range[1] ? last : range[1];
}

#endif
