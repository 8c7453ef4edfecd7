/* SPDX-License-Identifier: MIT */
/*
 * The chunk codec of chunk.h; the bytes are described in chunk_format.h.
 *
 * Encoding (chunk_encode.c) sorts the columns by type, turns times, slots and lengths into codes
 * and bits, cuts the columns into planes and compresses each group of planes into one zstd frame.
 * Decoding (chunk_decode.c, chunk_decode_2.c) is the same backwards, in one pass over the events
 * without branches that depend on data. Version 1 is only read (chunk_decode_1.c).
 *
 * Decoding trusts nothing: sizes are checked before they are used, zstd writes into a buffer of a
 * fixed size, no read of bits, lists or tables can leave them, and types, orders and times are
 * checked before a batch leaves. Memory is allocated by db_codec_new, and by zstd at the first
 * chunk; the size of a chunk has no influence on it.
 */
#include "db/chunk_codec.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 4 };

const struct db_chunk_column_format db_chunk_columns[DB_CHUNK_COLUMNS] = {
	[COLUMN_TYPE] = { 0, 1, offsetof(struct db_sorted, type) },
	[COLUMN_AREA] = { 0, 1, offsetof(struct db_sorted, area) },
	[COLUMN_ORDER] = { 0, 1, offsetof(struct db_sorted, order) },
	[COLUMN_MEMCG] = { 0, 2, offsetof(struct db_sorted, memcg) },
	[COLUMN_TASK] = { 0, 4, offsetof(struct db_sorted, task) },
	[COLUMN_TIME] = { 1, 1, offsetof(struct db_sorted, time) },
	[COLUMN_SLOT] = { 1, 1, offsetof(struct db_sorted, slot) },
	[COLUMN_LEN] = { 1, 1, offsetof(struct db_sorted, len) },
};

/*
 * Counting and ranking go through LANES parts of the batch at once, since each step in a part has
 * to wait for the one before: one part took three times as long, a tenth of the decoder's time.
 */
struct lanes {
	uint32_t at[LANES][256];
};

static void count(const uint8_t *restrict values, uint32_t n, struct lanes *lanes)
{
	uint32_t part = n / LANES;

	for (uint32_t i = 0; i < part; i++) {
		lanes->at[0][values[i]]++;
		lanes->at[1][values[part + i]]++;
		lanes->at[2][values[2 * part + i]]++;
		lanes->at[3][values[3 * part + i]]++;
	}
	for (uint32_t i = LANES * part; i < n; i++)
		lanes->at[LANES - 1][values[i]]++;
}

/* From counts to where each value begins, and in it each part's. */
static bool start(struct db_codec *codec, struct lanes *lanes, uint32_t n, unsigned limit)
{
	uint32_t at = 0;

	for (unsigned value = 0; value < limit; value++) {
		codec->starts[value] = at;
		for (unsigned lane = 0; lane < LANES; lane++) {
			uint32_t here = lanes->at[lane][value];

			lanes->at[lane][value] = at;
			at += here;
		}
	}
	codec->starts[limit] = at;
	return at == n;
}

bool db_codec_starts(struct db_codec *codec, const uint8_t *values, uint32_t n, unsigned limit)
{
	struct lanes lanes = { 0 };

	count(values, n, &lanes);
	return start(codec, &lanes, n, limit);
}

bool db_codec_rank(struct db_codec *codec, const uint8_t *values, uint32_t n, unsigned limit)
{
	uint16_t *restrict rank = codec->rank;
	uint32_t part = n / LANES;
	struct lanes lanes = { 0 };

	count(values, n, &lanes);
	if (!start(codec, &lanes, n, limit))
		return false;
	for (uint32_t i = 0; i < part; i++) {
		rank[i] = (uint16_t)lanes.at[0][values[i]]++;
		rank[part + i] = (uint16_t)lanes.at[1][values[part + i]]++;
		rank[2 * part + i] = (uint16_t)lanes.at[2][values[2 * part + i]]++;
		rank[3 * part + i] = (uint16_t)lanes.at[3][values[3 * part + i]]++;
	}
	for (uint32_t i = LANES * part; i < n; i++)
		rank[i] = (uint16_t)lanes.at[LANES - 1][values[i]]++;
	return true;
}

uint32_t db_chunk_crc(const uint8_t *chunk, size_t bytes)
{
	return zr_crc32c(0, chunk + DB_CHUNK_AT_VERSION, bytes - DB_CHUNK_AT_VERSION);
}

/* ---------------------------------------------------------------------------------------- span */

/* OUTs of several pages: most batches have none. */
static void cover_folios(const struct db_batch *batch, struct db_range *range)
{
	static const struct db_slot_rule pages = { .first = 1 };

	for (uint32_t i = 0; i < batch->n; i++)
		if (batch->order[i] && batch->kind[i] == DB_OUT && !(batch->flags[i] & DB_F_PART))
			db_range_widen(range, &pages, batch->slot[i], 1u << batch->order[i]);
}

static uint64_t memcgs_of(const struct db_batch *batch)
{
	const uint16_t *memcg = batch->memcg;
	bool seen[64] = { false };
	uint64_t memcgs = 0;

	/* In many chunks they are all the same, which is seen much faster. */
	if (!memcmp(memcg, memcg + 1, (batch->n - 1) * sizeof(*memcg)))
		return 1ull << memcg[0] % 64;
	for (uint32_t i = 0; i < batch->n; i++)
		seen[memcg[i] % 64] = true;
	for (unsigned i = 0; i < 64; i++)
		memcgs |= (uint64_t)seen[i] << i;
	return memcgs;
}

void db_codec_set_span(struct db_codec *codec, const struct db_batch *batch, uint32_t kinds,
		       struct db_range range)
{
	if (db_planes_in_use((struct db_column){ batch->order, 1, batch->n }))
		cover_folios(batch, &range);
	codec->span =
		(struct db_chunk_span){ .first_ns = batch->time_ns[0],
					.last_ns = batch->time_ns[batch->n - 1],
					.events = batch->n,
					.kinds = kinds,
					.slot_min = (uint32_t)range.min,
					.slot_max = range.max < UINT32_MAX ? (uint32_t)range.max
									   : UINT32_MAX,
					.memcgs = memcgs_of(batch) };
}

uint32_t db_codec_kinds(const struct db_codec *codec, const uint32_t *starts)
{
	uint32_t kinds = 0;

	for (unsigned type = 0; type < DB_TYPE_COUNT; type++)
		kinds |= (uint32_t)(starts[type] < starts[type + 1]) << codec->types.kind[type];
	return kinds;
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

enum { NO_PAGES = 16 /* a shift that leaves nothing of a length */ };

static const struct db_slot_rule rules[DB_KIND_COUNT] = {
	[DB_OUT] = { .shift = NO_PAGES, .least = 1, .first = 1, .list = DB_LIST_OUT },
	[DB_IN] = { .shift = NO_PAGES, .least = 1, .first = 1, .list = DB_LIST_IN },
	[DB_FREE] = { .shift = 0, .least = 1, .first = 1, .list = DB_LISTS },
	[DB_WB] = { .shift = NO_PAGES, .least = 1, .first = 1, .list = DB_LISTS },
	[DB_RECLAIM] = { .shift = NO_PAGES, .list = DB_LISTS, .none = UINT32_MAX },
	[DB_SCAN] = { .shift = NO_PAGES, .list = DB_LISTS, .none = UINT32_MAX },
	[DB_WORKER] = { .shift = NO_PAGES, .list = DB_LISTS, .none = UINT32_MAX },
	[DB_SHRINK] = { .shift = NO_PAGES, .list = DB_LISTS, .none = UINT32_MAX },
	[DB_IO] = { .shift = DB_PAGE_SHIFT, .list = DB_LIST_IO },
	[DB_SAMPLE] = { .shift = NO_PAGES, .list = DB_LISTS, .none = UINT32_MAX },
	[DB_GAP] = { .shift = NO_PAGES, .list = DB_LISTS, .none = UINT32_MAX },
};

static struct db_slot_rule rule_of(uint8_t kind, uint8_t flags)
{
	struct db_slot_rule rule = rules[kind];

	rule.kind = kind;
	rule.flags = flags;
	rule.sequence = kind;
	if (kind == DB_IO && flags >> DB_IO_PHASE_SHIFT & 7) {
		rule.sequence = DB_KIND_COUNT;
		rule.list = DB_LISTS;
	}
	rule.grows = rule.list != DB_LISTS;
	return rule;
}

static void init_tables(struct db_codec *codec)
{
	db_rows_init(&codec->rows);
	db_types_init(&codec->types, &codec->rows);
	db_codes_init(&codec->codes);
	for (unsigned type = 0; type < DB_TYPE_COUNT; type++)
		codec->rules[type] = rule_of(codec->types.kind[type], codec->types.flags[type]);
}

enum zr_err db_codec_new(int level, struct db_codec **out)
{
	struct db_codec *codec = calloc(1, sizeof(*codec));
	bool ok = codec && (codec->cctx[0] = ZSTD_createCCtx()) &&
		  (codec->cctx[1] = ZSTD_createCCtx()) && (codec->dctx = ZSTD_createDCtx());

	if (!ok) {
		db_codec_free(codec);
		return zr_fail(ZR_NOMEM, "no memory for the event codec (%zu bytes)",
			       sizeof(*codec));
	}
	set_level(codec->cctx[0], level);
	set_level(codec->cctx[1], 0);
	init_tables(codec);
	*out = codec;
	return ZR_OK;
}

void db_codec_free(struct db_codec *codec)
{
	if (!codec)
		return;
	for (unsigned group = 0; group < DB_CHUNK_GROUPS; group++)
		ZSTD_freeCCtx(codec->cctx[group]);
	ZSTD_freeDCtx(codec->dctx);
	free(codec);
}
