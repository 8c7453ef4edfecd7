/* SPDX-License-Identifier: MIT */
/*
 * Decoding a chunk; see chunk_format.h and chunk.c. Values are put together from their planes where
 * they are used, without joined columns in between; a plane that was left out is read from a plane
 * of zeros, so that no loop asks how many there are. Two passes: in the order of kinds, slots from
 * differences with all checks of a row; in the order of events, times and the rest.
 */
#include "db/chunk_codec.h"

#include <string.h>

struct decoder {
	struct db_codec *codec;
	const char *name;
	const uint8_t *chunk, *at, *end;
	struct db_batch *batch;
	uint8_t *end_of_planes;
	const uint8_t *planes[DB_CHUNK_COLUMNS][8]; /* of each column */
};

/* -------------------------------------------------------------------------------------- checking
 */

static bool zeros_are_zero(const uint8_t *chunk)
{
	uint8_t any = chunk[DB_CHUNK_AT_ZERO] | chunk[DB_CHUNK_AT_ZERO + 1];

	for (unsigned at = DB_CHUNK_AT_ZEROS; at < DB_CHUNK_AT_UNIT; at++)
		any |= chunk[at];
	return !any;
}

static enum zr_err check_counts(const struct decoder *dec)
{
	uint32_t n = zr_get32(dec->chunk + DB_CHUNK_AT_EVENTS);
	uint32_t unit_ns = zr_get32(dec->chunk + DB_CHUNK_AT_UNIT);

	if (n == 0 || n > DB_BATCH_EVENTS)
		return zr_fail(ZR_CORRUPT, "%s: claims %u events, 1 to %d are possible", dec->name,
			       n, DB_BATCH_EVENTS);
	if (unit_ns == 0 || unit_ns > DB_CHUNK_UNIT_MAX)
		return zr_fail(ZR_CORRUPT, "%s: has a time unit of %u ns, 1 to %d are possible",
			       dec->name, unit_ns, DB_CHUNK_UNIT_MAX);
	return ZR_OK;
}

static enum zr_err check_header(const struct decoder *dec)
{
	size_t bytes = (size_t)(dec->end - dec->chunk);
	unsigned version;

	if (bytes < DB_CHUNK_HEADER_BYTES)
		return zr_fail(ZR_CORRUPT, "%s: %zu bytes are too few for a chunk", dec->name,
			       bytes);
	if (zr_get32(dec->chunk + DB_CHUNK_AT_MAGIC) != DB_CHUNK_MAGIC)
		return zr_fail(ZR_CORRUPT, "%s: not a chunk of events", dec->name);
	if (zr_get32(dec->chunk + DB_CHUNK_AT_CRC) != db_chunk_crc(dec->chunk, bytes))
		return zr_fail(ZR_CORRUPT, "%s: the checksum of its %zu bytes does not match",
			       dec->name, bytes);
	version = zr_get16(dec->chunk + DB_CHUNK_AT_VERSION);
	if (version > DB_CHUNK_VERSION)
		return zr_fail(ZR_NEWER_VERSION,
			       "%s: chunk format %u; this zreel knows %d: update it", dec->name,
			       version, DB_CHUNK_VERSION);
	if (version == 0 || !zeros_are_zero(dec->chunk))
		return zr_fail(ZR_CORRUPT, "%s: not the header of chunk format %u", dec->name,
			       version);
	return check_counts(dec);
}

static uint8_t mask_of(const struct decoder *dec, unsigned column)
{
	return dec->chunk[DB_CHUNK_AT_MASKS + column];
}

/* Bytes that the planes of a group must have by their masks; a bit too many makes it an impossible
 * size. */
static size_t planes_bytes(const struct decoder *dec, unsigned group)
{
	size_t planes = 0;

	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++) {
		if (db_chunk_columns[c].group != group)
			continue;
		if (mask_of(dec, c) >> db_chunk_columns[c].width)
			return SIZE_MAX;
		planes += (unsigned)__builtin_popcount(mask_of(dec, c));
	}
	return planes * dec->batch->n;
}

static void find_planes(struct decoder *dec, unsigned group)
{
	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++) {
		if (db_chunk_columns[c].group != group)
			continue;
		for (unsigned p = 0; p < db_chunk_columns[c].width; p++) {
			bool there = mask_of(dec, c) >> p & 1;

			dec->planes[c][p] = there ? dec->end_of_planes : dec->codec->zeros;
			dec->end_of_planes += there ? dec->batch->n : 0;
		}
	}
}

static enum zr_err get_group(struct decoder *dec, unsigned group)
{
	const uint8_t *sizes = dec->chunk + DB_CHUNK_AT_GROUPS + group * DB_CHUNK_GROUP_BYTES;
	uint32_t raw = zr_get32(sizes), bytes = zr_get32(sizes + 4);
	size_t got = 0;

	if (raw != planes_bytes(dec, group) || bytes > (size_t)(dec->end - dec->at) ||
	    !raw != !bytes)
		return zr_fail(ZR_CORRUPT, "%s: column group %u has impossible sizes", dec->name,
			       group);
	if (raw)
		got = ZSTD_decompressDCtx(dec->codec->dctx, dec->end_of_planes, raw, dec->at,
					  bytes);
	if (ZSTD_isError(got))
		return zr_fail(ZR_CORRUPT, "%s: column group %u does not decompress: zstd: %s",
			       dec->name, group, ZSTD_getErrorName(got));
	if (got != raw)
		return zr_fail(ZR_CORRUPT, "%s: column group %u gives %zu bytes instead of %u",
			       dec->name, group, got, raw);
	find_planes(dec, group);
	dec->at += bytes;
	return ZR_OK;
}

static enum zr_err get_groups(struct decoder *dec)
{
	enum zr_err err = ZR_OK;

	for (unsigned group = 0; group < DB_CHUNK_GROUPS && !err; group++)
		err = get_group(dec, group);
	if (!err && dec->at != dec->end)
		err = zr_fail(ZR_CORRUPT, "%s: %zu bytes too many", dec->name,
			      (size_t)(dec->end - dec->at));
	return err;
}

/* ------------------------------------------------------------------------- in the order of kinds
 */

static enum zr_err get_kinds(const struct decoder *dec)
{
	memcpy(dec->batch->kind, dec->planes[COLUMN_KIND][0], dec->batch->n);
	return db_codec_rank(dec->codec, dec->batch) ? ZR_OK
						     : db_rows_check_kinds(dec->name, dec->batch);
}

/*
 * The rows of one kind: slots from differences, packed with the other columns of two bytes; the
 * span widened; false if some row is not valid. Each slot waits for the one before, so all the rest
 * is done in the shadow of that. Inlined with a constant for `cover`.
 */
static inline __attribute__((always_inline)) bool get_kind(struct decoder *dec, unsigned kind,
							   enum db_cover cover)
{
	const uint8_t *const *s = dec->planes[COLUMN_SLOT], *const *l = dec->planes[COLUMN_LEN];
	const uint8_t *const *m = dec->planes[COLUMN_MEMCG], *task = dec->planes[COLUMN_TASK][0];
	const uint8_t *order = dec->planes[COLUMN_ORDER][0], *flags = dec->planes[COLUMN_FLAGS][0];
	const uint8_t *valid = dec->codec->rows.valid[kind];
	const struct db_ahead ahead = db_aheads[kind];
	struct db_chunk_span *span = &dec->codec->span;
	uint64_t *packed = dec->codec->packed;
	uint32_t range[2] = { span->slot_min, span->slot_max }, end = dec->codec->starts[kind + 1];
	uint32_t next[DB_CHUNK_TASKS] = { 0 };
	uint64_t memcgs = 0;
	unsigned good = 1;

	for (uint32_t i = dec->codec->starts[kind]; i < end; i++) {
		uint32_t z = (uint32_t)(s[0][i] | s[1][i] << 8 | s[2][i] << 16) | (uint32_t)s[3][i]
											  << 24;
		uint32_t *expected = &next[task[i] % DB_CHUNK_TASKS];
		struct db_event e = { .slot = *expected + (uint32_t)zr_unzigzag32(z),
				      .len = (uint16_t)(l[0][i] | l[1][i] << 8),
				      .memcg = (uint16_t)(m[0][i] | m[1][i] << 8),
				      .order = order[i],
				      .flags = flags[i] };

		*expected = e.slot + db_slots_ahead(ahead, e.len);
		packed[i] = e.slot | (uint64_t)e.len << 32 | (uint64_t)e.memcg << 48;
		good &= valid[e.flags] & (cover != DB_COVER_OUT || e.order <= DB_ORDER_MAX);
		memcgs |= (uint64_t)1 << e.memcg % 64;
		db_cover_slots(range, cover, &e);
	}
	span->memcgs |= memcgs;
	span->slot_min = range[0];
	span->slot_max = range[1];
	return good;
}

static bool get_rows(struct decoder *dec)
{
	const uint32_t *starts = dec->codec->starts;
	bool good = true;

	dec->codec->span =
		(struct db_chunk_span){ .events = dec->batch->n, .slot_min = UINT32_MAX };
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++) {
		if (starts[kind] == starts[kind + 1])
			continue;
		dec->codec->span.kinds |= 1u << kind;
		switch (db_covers[kind]) {
		case DB_COVER_OUT:
			good &= get_kind(dec, kind, DB_COVER_OUT);
			break;
		case DB_COVER_FREE:
			good &= get_kind(dec, kind, DB_COVER_FREE);
			break;
		case DB_COVER_IO:
			good &= get_kind(dec, kind, DB_COVER_IO);
			break;
		case DB_COVER_ONE:
			good &= get_kind(dec, kind, DB_COVER_ONE);
			break;
		default:
			good &= get_kind(dec, kind, DB_COVER_NONE);
		}
	}
	return good;
}

/* ------------------------------------------------------------------------ in the order of events
 */

/* Times from differences, and what get_kind packed; false if times descend, as a sum that wraps
 * does. Differences of 2^32 units and more are `wide`. Inlined with a constant for it. */
static inline __attribute__((always_inline)) bool get_times(struct decoder *dec, bool wide)
{
	const uint8_t *const *p = dec->planes[COLUMN_TIME];
	const uint64_t *packed = dec->codec->packed;
	const uint16_t *rank = dec->codec->rank;
	const struct db_batch batch = *dec->batch;
	uint64_t unit_ns = zr_get32(dec->chunk + DB_CHUNK_AT_UNIT);
	uint64_t now = zr_get64(dec->chunk + DB_CHUNK_AT_FIRST_NS), last = now;
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
	dec->codec->span.first_ns = batch.time_ns[0];
	dec->codec->span.last_ns = now;
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
	const uint8_t *const *p = dec->planes[COLUMN_TASK];
	const uint16_t *rank = dec->codec->rank;
	uint32_t *to = dec->batch->task, n = dec->batch->n;

	if (mask_of(dec, COLUMN_TASK) == 1) {
		for (uint32_t i = 0; i < n; i++)
			to[i] = p[0][rank[i]];
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint32_t)(p[0][rank[i]] | p[1][rank[i]] << 8 | p[2][rank[i]] << 16) |
			(uint32_t)p[3][rank[i]] << 24;
}

static enum zr_err decode_rows(struct decoder *dec)
{
	enum zr_err err = get_kinds(dec);
	bool good;

	if (err)
		return err;
	good = get_rows(dec);
	good &= mask_of(dec, COLUMN_TIME) > 0x0f ? get_times(dec, true) : get_times(dec, false);
	get_bytes(dec, COLUMN_AREA, dec->batch->area);
	get_bytes(dec, COLUMN_ORDER, dec->batch->order);
	get_bytes(dec, COLUMN_FLAGS, dec->batch->flags);
	get_tasks(dec);
	return good ? ZR_OK : db_rows_check(&dec->codec->rows, dec->name, dec->batch);
}

enum zr_err db_chunk_decode(struct db_codec *codec, const char *name, const void *chunk,
			    size_t bytes, struct db_batch *batch)
{
	struct decoder dec = {
		.codec = codec,
		.name = name,
		.chunk = chunk,
		.at = (const uint8_t *)chunk + DB_CHUNK_HEADER_BYTES,
		.end = (const uint8_t *)chunk + bytes,
		.batch = batch,
		.end_of_planes = codec->planes,
	};
	enum zr_err err = check_header(&dec);

	batch->n = err ? 0 : zr_get32((const uint8_t *)chunk + DB_CHUNK_AT_EVENTS);
	if (!err)
		err = get_groups(&dec);
	if (!err)
		err = decode_rows(&dec);
	if (err)
		batch->n = 0;
	return err;
}
