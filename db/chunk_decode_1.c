/* SPDX-License-Identifier: MIT */
/*
 * Decoding chunk version 1; see chunk_format.h and chunk.c. Values are put together from their
 * planes where they are used, without joined columns in between; a plane that was left out is read
 * from a plane of zeros, so that no loop asks how many there are. Two passes: in the order of
 * kinds, slots from differences with all checks of a row; in the order of events, times and the
 * rest.
 */
#include "db/chunk_codec.h"

#include <string.h>

/* In the order of the masks. */
enum column {
	KIND,
	AREA,
	ORDER,
	FLAGS,
	MEMCG,
	TASK,
	TIME,
	SLOT,
	LEN,
};

static const struct {
	uint8_t group, width;
} formats[DB_CHUNK_1_COLUMNS] = {
	[KIND] = { 0, 1 },  [AREA] = { 0, 1 },	[ORDER] = { 0, 1 },
	[FLAGS] = { 0, 1 }, [MEMCG] = { 0, 2 }, [TASK] = { 0, 4 },
	[TIME] = { 1, 8 },  [SLOT] = { 2, 4 },	[LEN] = { 2, 2 },
};

struct decoder {
	struct db_decoder *base;
	struct db_codec *codec;
	struct db_batch *batch;
	const uint8_t *planes[DB_CHUNK_1_COLUMNS][8]; /* of each column */
	struct db_range range;
};

/* -------------------------------------------------------------------------------------- planes */

static bool zeros_are_zero(const uint8_t *chunk)
{
	uint8_t any = 0;

	for (unsigned at = DB_CHUNK_1_AT_ZEROS; at < DB_CHUNK_1_AT_UNIT; at++)
		any |= chunk[at];
	return !any;
}

static enum zr_err check_header(const struct db_decoder *dec)
{
	if (dec->end - dec->chunk < DB_CHUNK_1_HEADER_BYTES)
		return zr_fail(ZR_CORRUPT, "%s: %zu bytes are too few for a chunk", dec->name,
			       (size_t)(dec->end - dec->chunk));
	if (!zeros_are_zero(dec->chunk))
		return zr_fail(ZR_CORRUPT, "%s: not the header of chunk format 1", dec->name);
	return db_chunk_check_unit(dec, zr_get32(dec->chunk + DB_CHUNK_1_AT_UNIT));
}

static uint8_t mask_of(const struct decoder *dec, unsigned column)
{
	return dec->base->chunk[DB_CHUNK_1_AT_MASKS + column];
}

/* Bytes that the planes of a group must have by their masks; a bit too many makes it an impossible
 * size. */
static size_t planes_bytes(const struct decoder *dec, unsigned group)
{
	size_t planes = 0;

	for (unsigned c = 0; c < DB_CHUNK_1_COLUMNS; c++) {
		if (formats[c].group != group)
			continue;
		if (mask_of(dec, c) >> formats[c].width)
			return SIZE_MAX;
		planes += (unsigned)__builtin_popcount(mask_of(dec, c));
	}
	return planes * dec->batch->n;
}

static void find_planes(struct decoder *dec, unsigned group)
{
	for (unsigned c = 0; c < DB_CHUNK_1_COLUMNS; c++) {
		if (formats[c].group != group)
			continue;
		for (unsigned p = 0; p < formats[c].width; p++) {
			bool there = mask_of(dec, c) >> p & 1;

			dec->planes[c][p] = there ? dec->base->end_of_planes : dec->codec->zeros;
			dec->base->end_of_planes += there ? dec->batch->n : 0;
		}
	}
}

static enum zr_err get_groups(struct decoder *dec)
{
	enum zr_err err = ZR_OK;

	for (unsigned group = 0; group < DB_CHUNK_1_GROUPS && !err; group++) {
		err = db_chunk_get_frame(dec->base, group, planes_bytes(dec, group));
		find_planes(dec, group);
	}
	if (!err && dec->base->at != dec->base->end)
		err = zr_fail(ZR_CORRUPT, "%s: %zu bytes too many", dec->base->name,
			      (size_t)(dec->base->end - dec->base->at));
	return err;
}

/* ------------------------------------------------------------------------ the order of kinds */

static enum zr_err get_kinds(const struct decoder *dec)
{
	struct db_batch *batch = dec->batch;

	memcpy(batch->kind, dec->planes[KIND][0], batch->n);
	if (!db_codec_rank(dec->codec, batch->kind, batch->n, DB_KIND_COUNT))
		return db_rows_check_kinds(dec->base->name, batch);
	return ZR_OK;
}

/* Pages that are not filled count here, other than in version 2. */
static uint32_t ahead_of(unsigned kind, const struct db_slot_rule *rule, uint32_t len)
{
	if (kind == DB_IO)
		return (len + (1u << DB_PAGE_SHIFT) - 1) >> DB_PAGE_SHIFT;
	return db_slots_ahead(rule, len);
}

/* The rows of one kind: slots from differences, packed with the other columns of two bytes; false
 * if some row is not valid. */
static bool get_kind(struct decoder *dec, unsigned kind)
{
	const uint8_t *const *s = dec->planes[SLOT], *const *l = dec->planes[LEN];
	const uint8_t *const *m = dec->planes[MEMCG], *task = dec->planes[TASK][0];
	const uint8_t *order = dec->planes[ORDER][0], *flags = dec->planes[FLAGS][0];
	const uint8_t *valid = dec->codec->rows.valid[kind];
	const struct db_slot_rule *rule = &dec->codec->rules[dec->codec->types.of[kind][0]];
	uint64_t *packed = dec->codec->packed;
	uint32_t end = dec->codec->starts[kind + 1];
	uint32_t next[DB_CHUNK_TASKS] = { 0 };
	unsigned good = 1;

	for (uint32_t i = dec->codec->starts[kind]; i < end; i++) {
		uint32_t z = (uint32_t)(s[0][i] | s[1][i] << 8 | s[2][i] << 16) | (uint32_t)s[3][i]
											  << 24;
		uint32_t *expected = &next[task[i] % DB_CHUNK_TASKS];
		uint32_t slot = *expected + (uint32_t)zr_unzigzag32(z);
		uint16_t len = (uint16_t)(l[0][i] | l[1][i] << 8);
		uint16_t memcg = (uint16_t)(m[0][i] | m[1][i] << 8);

		*expected = slot + ahead_of(kind, rule, len);
		db_range_widen(&dec->range, rule, slot, db_slots_ahead(rule, len));
		packed[i] = slot | (uint64_t)len << 32 | (uint64_t)memcg << 48;
		good &= valid[flags[i]] & (kind != DB_OUT || order[i] <= DB_ORDER_MAX);
	}
	return good;
}

static bool get_rows(struct decoder *dec)
{
	bool good = true;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		good &= get_kind(dec, kind);
	return good;
}

/* ----------------------------------------------------------------------- in the order of events */

/* Times from differences, and what get_kind packed; false if times descend, as a sum that wraps
 * does. Differences of 2^32 units and more are `wide`. Inlined with a constant for it. */
static inline __attribute__((always_inline)) bool get_times(struct decoder *dec, bool wide)
{
	const uint8_t *const *p = dec->planes[TIME];
	const uint64_t *packed = dec->codec->packed;
	const uint16_t *rank = dec->codec->rank;
	const struct db_batch batch = *dec->batch;
	uint64_t unit_ns = zr_get32(dec->base->chunk + DB_CHUNK_1_AT_UNIT);
	uint64_t now = zr_get64(dec->base->chunk + DB_CHUNK_AT_FIRST_NS), last = now;
	bool good = true;

	for (uint32_t i = 0; i < batch.n; i++) {
		uint32_t at = rank[i];
		uint64_t row = packed[at];
		uint64_t delta = (uint32_t)(p[0][at] | p[1][at] << 8 | p[2][at] << 16) |
				 (uint32_t)p[3][at] << 24;

		for (unsigned high = 4; high < 8 && wide; high++)
			delta |= (uint64_t)p[high][at] << 8 * high;
		now += delta * unit_ns;
		good &= now >= last;
		batch.time_ns[i] = last = now;
		batch.slot[i] = (uint32_t)row;
		batch.len[i] = (uint16_t)(row >> 32);
		batch.memcg[i] = (uint16_t)(row >> 48);
	}
	return good;
}

static void get_bytes(const struct decoder *dec, unsigned column, uint8_t *restrict to)
{
	const uint8_t *restrict from = dec->planes[column][0];
	const uint16_t *rank = dec->codec->rank;

	if (!mask_of(dec, column)) {
		memset(to, 0, dec->batch->n);
		return;
	}
	for (uint32_t i = 0; i < dec->batch->n; i++)
		to[i] = from[rank[i]];
}

/* Most hosts have fewer than 256 tasks that swap. */
static void get_tasks(const struct decoder *dec)
{
	const uint8_t *const *p = dec->planes[TASK];
	const uint16_t *rank = dec->codec->rank;
	uint32_t *to = dec->batch->task, n = dec->batch->n;

	if (mask_of(dec, TASK) == 1) {
		for (uint32_t i = 0; i < n; i++)
			to[i] = p[0][rank[i]];
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint32_t)(p[0][rank[i]] | p[1][rank[i]] << 8 | p[2][rank[i]] << 16) |
			(uint32_t)p[3][rank[i]] << 24;
}

static uint32_t kinds_of(const struct db_codec *codec)
{
	uint32_t kinds = 0;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		kinds |= (uint32_t)(codec->starts[kind] < codec->starts[kind + 1]) << kind;
	return kinds;
}

static enum zr_err decode_rows(struct decoder *dec)
{
	enum zr_err err = get_kinds(dec);
	bool good;

	if (err)
		return err;
	good = get_rows(dec);
	good &= mask_of(dec, TIME) > 0x0f ? get_times(dec, true) : get_times(dec, false);
	get_bytes(dec, AREA, dec->batch->area);
	get_bytes(dec, ORDER, dec->batch->order);
	get_bytes(dec, FLAGS, dec->batch->flags);
	get_tasks(dec);
	if (!good)
		return db_rows_check(&dec->codec->rows, dec->base->name, dec->batch);
	db_codec_set_span(dec->codec, dec->batch, kinds_of(dec->codec), dec->range);
	return ZR_OK;
}

enum zr_err db_chunk_decode_1(struct db_decoder *base)
{
	struct decoder dec = {
		.base = base, .codec = base->codec, .batch = base->batch, .range = { UINT32_MAX, 0 }
	};
	enum zr_err err = check_header(base);

	base->at = base->chunk + DB_CHUNK_1_HEADER_BYTES;
	if (!err)
		err = get_groups(&dec);
	if (!err)
		err = decode_rows(&dec);
	return err;
}
