/* SPDX-License-Identifier: MIT */
/*
 * Encoding a chunk: the columns are sorted by kind, differences taken, planes cut and each group of
 * planes compressed into one zstd frame; see chunk_format.h and chunk.c.
 */
#include "db/chunk_codec.h"

#include <string.h>

enum {
	CUTS_MAX = 10 * (DB_KIND_COUNT + 1), /* planes of the widest group, kinds in each */
	BLOCK_BYTES_MIN = 1024,
};

struct encoder {
	struct db_codec *codec;
	const struct db_batch *batch;
	struct db_batch sorted; /* but the kinds, which stay in the order of the events */
	uint8_t *at;		/* where the next frame goes */
	unsigned n_cuts;
	uint32_t cuts[CUTS_MAX]; /* ends of blocks in codec->planes */
};

static struct encoder start(struct db_codec *codec, const struct db_batch *batch)
{
	struct db_batch_arrays *sorted = &codec->sorted;

	return (struct encoder){
		.codec = codec,
		.batch = batch,
		.at = codec->chunk + DB_CHUNK_HEADER_BYTES,
		.sorted = {
			.n = batch->n,
			.time_ns = sorted->time_ns,
			.slot = sorted->slot,
			.task = sorted->task,
			.memcg = sorted->memcg,
			.len = sorted->len,
			.kind = sorted->kind,
			.area = sorted->area,
			.order = sorted->order,
			.flags = sorted->flags,
		},
	};
}

static struct db_column column_of(const struct db_batch *batch, unsigned column)
{
	struct db_column c = { .width = db_chunk_columns[column].width, .n = batch->n };

	memcpy(&c.values, (const char *)batch + db_chunk_columns[column].offset, sizeof(c.values));
	return c;
}

/* --------------------------------------------------------------------------- the order of kinds */

static void sort_times(struct encoder *enc)
{
	const uint64_t *time_ns = enc->batch->time_ns;
	const uint16_t *rank = enc->codec->rank;

	enc->sorted.time_ns[rank[0]] = 0;
	for (uint32_t i = 1; i < enc->batch->n; i++)
		enc->sorted.time_ns[rank[i]] = time_ns[i] - time_ns[i - 1];
}

static void sort_columns(struct encoder *enc)
{
	memcpy(enc->sorted.kind, enc->batch->kind, enc->batch->n);
	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++)
		if (c != COLUMN_KIND && c != COLUMN_TIME)
			db_column_scatter(column_of(&enc->sorted, c),
					  column_of(enc->batch, c).values, enc->codec->rank);
	sort_times(enc);
}

static bool flags_and_orders_valid(const struct encoder *enc)
{
	const uint8_t *flags = enc->sorted.flags, *order = enc->sorted.order;
	const uint32_t *starts = enc->codec->starts;
	unsigned good = 1;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++) {
		const uint8_t *valid = enc->codec->rows.valid[kind];

		for (uint32_t i = starts[kind]; i < starts[kind + 1]; i++)
			good &= valid[flags[i]];
	}
	for (uint32_t i = starts[DB_OUT]; i < starts[DB_OUT + 1]; i++)
		good &= order[i] <= DB_ORDER_MAX;
	return good;
}

/* Slots to differences, one kind; widens the range of slots. */
static inline __attribute__((always_inline)) void slots_to_delta(struct encoder *enc, unsigned kind,
								 enum db_cover cover)
{
	const struct db_ahead ahead = db_aheads[kind];
	const struct db_batch sorted = enc->sorted;
	uint32_t range[2] = { enc->codec->span.slot_min, enc->codec->span.slot_max };
	uint32_t next[DB_CHUNK_TASKS] = { 0 };
	uint32_t end = enc->codec->starts[kind + 1];

	for (uint32_t i = enc->codec->starts[kind]; i < end; i++) {
		uint32_t *expected = &next[sorted.task[i] % DB_CHUNK_TASKS];
		struct db_event e = { .slot = sorted.slot[i],
				      .len = sorted.len[i],
				      .order = sorted.order[i],
				      .flags = sorted.flags[i] };

		db_cover_slots(range, cover, &e);
		sorted.slot[i] = zr_zigzag32((int32_t)(e.slot - *expected));
		*expected = e.slot + db_slots_ahead(ahead, e.len);
	}
	enc->codec->span.slot_min = range[0];
	enc->codec->span.slot_max = range[1];
}

static void all_slots_to_delta(struct encoder *enc)
{
	slots_to_delta(enc, DB_OUT, DB_COVER_OUT);
	slots_to_delta(enc, DB_FREE, DB_COVER_FREE);
	slots_to_delta(enc, DB_IO, DB_COVER_IO);
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++) {
		if (db_covers[kind] == DB_COVER_ONE)
			slots_to_delta(enc, kind, DB_COVER_ONE);
		else if (db_covers[kind] == DB_COVER_NONE)
			slots_to_delta(enc, kind, DB_COVER_NONE);
	}
}

static uint64_t memcgs_of(const struct db_batch *batch)
{
	uint64_t memcgs = 0;

	for (uint32_t i = 0; i < batch->n; i++)
		memcgs |= (uint64_t)1 << batch->memcg[i] % 64;
	return memcgs;
}

static void start_span(struct encoder *enc)
{
	const struct db_batch *batch = enc->batch;
	struct db_codec *codec = enc->codec;

	codec->span = (struct db_chunk_span){
		.first_ns = batch->time_ns[0],
		.last_ns = batch->time_ns[batch->n - 1],
		.events = batch->n,
		.slot_min = UINT32_MAX,
		.memcgs = memcgs_of(batch),
	};
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		if (codec->starts[kind] < codec->starts[kind + 1])
			codec->span.kinds |= 1u << kind;
}

/* ---------------------------------------------------------------------------------- time unit */

static bool all_divisible(const uint64_t *values, uint32_t n, uint64_t by)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i] % by)
			return false;
	return true;
}

/* The unit of the differences: recordings rounded to us or ms, and sources that know no more,
 * shrink by a byte an event or two. On others this ends at the first few events. */
static uint32_t unit_of(const struct db_batch *sorted)
{
	static const uint32_t units[] = { 1000000, 1000 };

	if (!db_planes_in_use(column_of(sorted, COLUMN_TIME)))
		return 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (all_divisible(sorted->time_ns, sorted->n, units[i]))
			return units[i];
	return 1;
}

static void divide_times(struct db_batch *sorted, uint32_t unit_ns)
{
	if (unit_ns == 1)
		return;
	for (uint32_t i = 0; i < sorted->n; i++)
		sorted->time_ns[i] /= unit_ns;
}

/* ---------------------------------------------------------------------------- blocks and frames */

/* Ends a block at a place in the planes, unless it would be a small one. */
static void cut(struct encoder *enc, size_t at)
{
	uint32_t last = enc->n_cuts ? enc->cuts[enc->n_cuts - 1] : 0;

	if (at >= last + BLOCK_BYTES_MIN)
		enc->cuts[enc->n_cuts++] = (uint32_t)at;
}

/* Blocks of zstd have statistics of their own: each plane, and each kind in it, begins one. */
static void cut_column(struct encoder *enc, unsigned column, size_t from, size_t to)
{
	for (; from < to; from += enc->batch->n) {
		for (unsigned kind = 1; kind < DB_KIND_COUNT && column != COLUMN_KIND; kind++)
			cut(enc, from + enc->codec->starts[kind]);
		cut(enc, from + enc->batch->n);
	}
}

/* The planes of a group's columns in codec->planes, their masks in the header; returns their bytes.
 */
static size_t put_planes(struct encoder *enc, unsigned group)
{
	struct db_codec *codec = enc->codec;
	uint8_t *masks = codec->chunk + DB_CHUNK_AT_MASKS, *at = codec->planes;

	enc->n_cuts = 0;
	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++) {
		struct db_column column = column_of(&enc->sorted, c);
		uint8_t *from = at;

		if (db_chunk_columns[c].group != group)
			continue;
		masks[c] = db_planes_in_use(column);
		at = db_planes_split(column, masks[c], at);
		cut_column(enc, c, (size_t)(from - codec->planes), (size_t)(at - codec->planes));
	}
	return (size_t)(at - codec->planes);
}

/* One frame of the planes, block after block; its bytes, or zstd's error. */
static size_t compress(struct encoder *enc, size_t raw)
{
	struct db_codec *codec = enc->codec;
	ZSTD_inBuffer in = { codec->planes, 0, 0 };
	ZSTD_outBuffer out = { enc->at, (size_t)(codec->chunk + DB_CHUNK_BYTES_MAX - enc->at), 0 };
	size_t left = ZSTD_CCtx_reset(codec->cctx, ZSTD_reset_session_only);

	if (!ZSTD_isError(left))
		left = ZSTD_CCtx_setPledgedSrcSize(codec->cctx, raw);
	for (unsigned i = 0; i < enc->n_cuts && !left; i++) {
		in.size = enc->cuts[i];
		left = ZSTD_compressStream2(codec->cctx, &out, &in, ZSTD_e_flush);
	}
	in.size = raw;
	if (!left)
		left = ZSTD_compressStream2(codec->cctx, &out, &in, ZSTD_e_end);
	assert(ZSTD_isError(left) || left == 0); /* DB_CHUNK_BYTES_MAX is room enough */
	return left ? left : out.pos;
}

static enum zr_err put_group(struct encoder *enc, unsigned group)
{
	struct db_codec *codec = enc->codec;
	uint8_t *sizes = codec->chunk + DB_CHUNK_AT_GROUPS + group * DB_CHUNK_GROUP_BYTES;
	size_t raw = put_planes(enc, group), bytes = raw ? compress(enc, raw) : 0;

	if (ZSTD_isError(bytes))
		return zr_fail(ZR_NOMEM, "cannot compress %u events: zstd: %s", enc->batch->n,
			       ZSTD_getErrorName(bytes));
	zr_put32(sizes, (uint32_t)raw);
	zr_put32(sizes + 4, (uint32_t)bytes);
	enc->at += bytes;
	return ZR_OK;
}

static void put_header(uint8_t *chunk, const struct db_batch *batch, uint32_t unit_ns)
{
	memset(chunk, 0, DB_CHUNK_HEADER_BYTES);
	zr_put32(chunk + DB_CHUNK_AT_MAGIC, DB_CHUNK_MAGIC);
	zr_put16(chunk + DB_CHUNK_AT_VERSION, DB_CHUNK_VERSION);
	zr_put32(chunk + DB_CHUNK_AT_EVENTS, batch->n);
	zr_put64(chunk + DB_CHUNK_AT_FIRST_NS, batch->time_ns[0]);
	zr_put32(chunk + DB_CHUNK_AT_UNIT, unit_ns);
}

enum zr_err db_chunk_encode(struct db_codec *codec, const struct db_batch *batch,
			    const uint8_t **chunk, size_t *bytes)
{
	struct encoder enc = start(codec, batch);
	static const char name[] = "cannot store events";
	enum zr_err err = ZR_OK;
	uint32_t unit_ns;

	assert(batch->n > 0 && batch->n <= DB_BATCH_EVENTS);
	if (!db_codec_rank(codec, batch))
		return db_rows_check_kinds(name, batch);
	sort_columns(&enc);
	if (!flags_and_orders_valid(&enc) || !db_rows_times_valid(batch))
		return db_rows_check(&codec->rows, name, batch);
	start_span(&enc);
	all_slots_to_delta(&enc);
	unit_ns = unit_of(&enc.sorted);
	divide_times(&enc.sorted, unit_ns);
	put_header(codec->chunk, batch, unit_ns);
	for (unsigned group = 0; group < DB_CHUNK_GROUPS && !err; group++)
		err = put_group(&enc, group);
	*chunk = codec->chunk;
	*bytes = (size_t)(enc.at - codec->chunk);
	zr_put32(codec->chunk + DB_CHUNK_AT_CRC, db_chunk_crc(codec->chunk, *bytes));
	return err;
}
