/* SPDX-License-Identifier: MIT */
/*
 * The chunk codec of chunk.h; the bytes are described in chunk_format.h.
 *
 * Encoding sorts the columns by kind, takes differences, cuts them into planes and compresses each
 * group of planes into one zstd frame. Decoding is the same backwards. `rank` is what connects the
 * two orders: the place of each event in the order of kinds. Whatever hangs on the kind (the next
 * slot, the flags that are allowed, the slots that an event covers) is done in the order of kinds,
 * where it is a plain loop for each kind.
 *
 * Decoding trusts nothing: sizes are checked before they are used, zstd writes into a buffer of a
 * fixed size, and kinds, flags, orders and times are checked before a batch leaves. Memory is
 * allocated by db_codec_new, and by zstd at the first chunk; the size of a chunk has no influence
 * on it.
 */
#include "db/chunk_codec.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 4 };

const struct db_chunk_column_format db_chunk_columns[DB_CHUNK_COLUMNS] = {
	[COLUMN_KIND] = { 0, 1, offsetof(struct db_batch, kind) },
	[COLUMN_AREA] = { 0, 1, offsetof(struct db_batch, area) },
	[COLUMN_ORDER] = { 0, 1, offsetof(struct db_batch, order) },
	[COLUMN_FLAGS] = { 0, 1, offsetof(struct db_batch, flags) },
	[COLUMN_MEMCG] = { 0, 2, offsetof(struct db_batch, memcg) },
	[COLUMN_TASK] = { 0, 4, offsetof(struct db_batch, task) },
	[COLUMN_TIME] = { 1, 8, offsetof(struct db_batch, time_ns) },
	[COLUMN_SLOT] = { 2, 4, offsetof(struct db_batch, slot) },
	[COLUMN_LEN] = { 2, 2, offsetof(struct db_batch, len) },
};

const struct db_ahead db_aheads[DB_KIND_COUNT] = {
	[DB_OUT] = { .least = 1 },
	[DB_IN] = { .least = 1 },
	[DB_FREE] = { .mask = UINT16_MAX, .least = 1 },
	[DB_WB] = { .least = 1 },
	[DB_IO] = { UINT16_MAX, (1 << DB_CHUNK_PAGE_SHIFT) - 1, DB_CHUNK_PAGE_SHIFT, 0 },
};

const uint8_t db_covers[DB_KIND_COUNT] = {
	[DB_OUT] = DB_COVER_OUT, [DB_IN] = DB_COVER_ONE, [DB_FREE] = DB_COVER_FREE,
	[DB_WB] = DB_COVER_ONE,	 [DB_IO] = DB_COVER_IO,
};

/* ---------------------------------------------------------------------------- the order of kinds
 */

/*
 * Counting and ranking go through LANES parts of the batch at once, since each step in a part has
 * to wait for the one before: one part took three times as long, a tenth of the decoder's time.
 */
struct lanes {
	uint32_t next[LANES][256];
};

static void count_kinds(const struct db_batch *batch, struct lanes *lanes)
{
	const uint8_t *restrict kind = batch->kind;
	uint32_t part = batch->n / LANES;

	for (uint32_t i = 0; i < part; i++) {
		lanes->next[0][kind[i]]++;
		lanes->next[1][kind[part + i]]++;
		lanes->next[2][kind[2 * part + i]]++;
		lanes->next[3][kind[3 * part + i]]++;
	}
	for (uint32_t i = LANES * part; i < batch->n; i++)
		lanes->next[LANES - 1][kind[i]]++;
}

/* From counts to where each kind begins in the order of kinds, and in it each part's. */
static void start_kinds(struct db_codec *codec, struct lanes *lanes)
{
	uint32_t at = 0;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++) {
		codec->starts[kind] = at;
		for (unsigned lane = 0; lane < LANES; lane++) {
			uint32_t count = lanes->next[lane][kind];

			lanes->next[lane][kind] = at;
			at += count;
		}
	}
	codec->starts[DB_KIND_COUNT] = at;
}

bool db_codec_rank(struct db_codec *codec, const struct db_batch *batch)
{
	const uint8_t *restrict kind = batch->kind;
	uint16_t *restrict rank = codec->rank;
	uint32_t part = batch->n / LANES;
	struct lanes lanes = { 0 };

	count_kinds(batch, &lanes);
	start_kinds(codec, &lanes);
	if (codec->starts[DB_KIND_COUNT] != batch->n)
		return false;
	for (uint32_t i = 0; i < part; i++) {
		rank[i] = (uint16_t)lanes.next[0][kind[i]]++;
		rank[part + i] = (uint16_t)lanes.next[1][kind[part + i]]++;
		rank[2 * part + i] = (uint16_t)lanes.next[2][kind[2 * part + i]]++;
		rank[3 * part + i] = (uint16_t)lanes.next[3][kind[3 * part + i]]++;
	}
	for (uint32_t i = LANES * part; i < batch->n; i++)
		rank[i] = (uint16_t)lanes.next[LANES - 1][kind[i]]++;
	return true;
}

uint32_t db_chunk_crc(const uint8_t *chunk, size_t bytes)
{
	return zr_crc32c(0, chunk + DB_CHUNK_AT_VERSION, bytes - DB_CHUNK_AT_VERSION);
}

struct db_chunk_span db_codec_span(const struct db_codec *codec)
{
	return codec->span;
}

enum zr_err db_chunk_check_row(const struct db_codec *codec, const char *name,
			       struct db_chunk_span claims)
{
	struct db_chunk_span is = codec->span;

	if (is.first_ns != claims.first_ns || is.last_ns != claims.last_ns ||
	    is.events != claims.events || is.kinds != claims.kinds ||
	    is.slot_min != claims.slot_min || is.slot_max != claims.slot_max ||
	    is.memcgs != claims.memcgs)
		return zr_fail(
			ZR_CORRUPT,
			"%s: its row does not describe its events (%u events, %llu to %llu ns)",
			name, is.events, (unsigned long long)is.first_ns,
			(unsigned long long)is.last_ns);
	return ZR_OK;
}

/* --------------------------------------------------------------------------------------- codec */

/*
 * Level 0: zstd's fastest strategy with a table of matches that stays in the first-level cache, and
 * no matches shorter than 6 bytes. Planes have long repeats or none.
 */
static const struct {
	ZSTD_cParameter parameter;
	int value;
} fast[] = {
	{ ZSTD_c_compressionLevel, 1 },
	{ ZSTD_c_strategy, ZSTD_fast },
	{ ZSTD_c_hashLog, 12 },
	{ ZSTD_c_minMatch, 6 },
};

/* Levels out of range are clamped by zstd itself, and `fast` is within its bounds: none can fail.
 */
static void set_level(ZSTD_CCtx *cctx, int level)
{
	if (level)
		ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, level);
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]) && !level; i++)
		ZSTD_CCtx_setParameter(cctx, fast[i].parameter, fast[i].value);
}

enum zr_err db_codec_new(int level, struct db_codec **out)
{
	struct db_codec *codec = calloc(1, sizeof(*codec));
	bool ok = codec && (codec->cctx = ZSTD_createCCtx()) && (codec->dctx = ZSTD_createDCtx());

	if (!ok) {
		db_codec_free(codec);
		return zr_fail(ZR_NOMEM, "no memory for the event codec (%zu bytes)",
			       sizeof(*codec));
	}
	set_level(codec->cctx, level);
	db_rows_init(&codec->rows);
	*out = codec;
	return ZR_OK;
}

void db_codec_free(struct db_codec *codec)
{
	if (!codec)
		return;
	ZSTD_freeCCtx(codec->cctx);
	ZSTD_freeDCtx(codec->dctx);
	free(codec);
}
