/* SPDX-License-Identifier: MIT */
/*
 * Encoding a chunk, version 2: one pass sorts the columns by type and turns times, slots and
 * lengths into codes and bits; then planes are cut and each group of planes compressed into one
 * zstd frame; see chunk_format.h and chunk.c.
 */
#include "db/chunk_codec.h"

#include <string.h>

enum {
	/* columns of a group, types in each, and the planes of the widest */
	CUTS_MAX = 5 * DB_TYPE_COUNT + 12,
	BLOCK_BYTES_MIN = 1024,
	PREFETCH = 8, /* events */
};

struct encoder {
	struct db_codec *codec;
	const struct db_batch *batch;
	uint32_t unit_ns;
	uint8_t *at; /* where the next frame goes */
	uint8_t *end_of_bits;
	struct db_range range;
	uint32_t starts[DB_TYPE_COUNT + 1]; /* of the types, as they were before the pass */
	unsigned n_cuts;
	uint32_t cuts[CUTS_MAX]; /* ends of blocks in codec->planes */
};

/* Bits, the lowest first; whole bytes are at `to`, the rest, fewer than 8, in `held`. */
struct bit_writer {
	uint8_t *to;
	uint64_t held;
	unsigned n;
};

/* Up to 56 bits. */
static inline void put_bits(struct bit_writer *bits, uint64_t value, unsigned n)
{
	bits->held |= value << bits->n;
	bits->n += n;
	zr_put64(bits->to, bits->held);
	bits->to += bits->n >> 3;
	bits->held >>= bits->n & ~7u;
	bits->n &= 7;
}

/* ---------------------------------------------------------------------------------------- rows */

/* Types of the events; false if some are not allowed. */
static bool find_types(const struct encoder *enc)
{
	const struct db_batch *batch = enc->batch;
	const struct db_types *types = &enc->codec->types;
	uint8_t *type = enc->codec->sorted.type;
	unsigned bad = 0;

	for (uint32_t i = 0; i < batch->n; i++) {
		unsigned kind = batch->kind[i];

		bad |= kind >= DB_ROWS_KINDS;
		type[i] = types->of[kind % DB_ROWS_KINDS][batch->flags[i]];
		bad |= (kind == DB_OUT) & (batch->order[i] > DB_ORDER_MAX);
	}
	return db_codec_starts(enc->codec, type, batch->n, DB_TYPE_COUNT) && !bad;
}

/* ---------------------------------------------------------------------------------- time unit */

static bool all_divisible(const struct db_batch *batch, uint64_t by)
{
	for (uint32_t i = 1; i < batch->n; i++)
		if ((batch->time_ns[i] - batch->time_ns[i - 1]) % by)
			return false;
	return true;
}

/* The unit of the differences: recordings rounded to us or ms, and sources that know no more,
 * shrink by a byte an event or two. On others this ends at the first few events. */
static uint32_t unit_of(const struct db_batch *batch)
{
	static const uint32_t units[] = { 1000000, 1000 };

	if (batch->time_ns[0] == batch->time_ns[batch->n - 1])
		return 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (all_divisible(batch, units[i]))
			return units[i];
	return 1;
}

/* -------------------------------------------------------------------------------------- events */

/* Its bits go to the stream; the code is returned. */
static inline uint8_t put_time(struct bit_writer *bits, uint64_t ahead)
{
	unsigned n;

	if (__builtin_expect(ahead > UINT32_MAX, 0)) {
		put_bits(bits, (uint32_t)ahead, 32);
		put_bits(bits, ahead >> 32, 32);
		return DB_CODE_TIME_64;
	}
	n = db_code_bits((uint32_t)ahead, DB_TIME_MANTISSA);
	put_bits(bits, ahead & (((uint64_t)1 << n) - 1), n);
	return (uint8_t)db_code_of((uint32_t)ahead, DB_TIME_MANTISSA, n);
}

static inline uint8_t put_slot_len(struct bit_writer *bits, struct db_slot_code slot, uint32_t len,
				   uint8_t *len_code)
{
	unsigned n = db_code_bits(len, DB_LEN_MANTISSA);
	uint64_t low = slot.number & (((uint64_t)1 << slot.bits) - 1);

	low |= (uint64_t)(len & ((1u << n) - 1)) << slot.bits;
	put_bits(bits, low, slot.bits + n);
	*len_code = (uint8_t)db_code_of(len, DB_LEN_MANTISSA, n);
	return (uint8_t)slot.code;
}

static void put_events(struct encoder *enc)
{
	struct db_codec *codec = enc->codec;
	const struct db_batch batch = *enc->batch;
	struct db_sorted *sorted = &codec->sorted;
	struct bit_writer bits = { .to = codec->bits };
	uint64_t before = batch.time_ns[0];
	struct db_range range = { UINT32_MAX, 0 };
	uint32_t last_task = 1;

	for (uint32_t i = 0; i < batch.n; i++) {
		unsigned type = sorted->type[i];
		uint32_t at = codec->starts[type]++, task = batch.task[i], slot = batch.slot[i];
		const struct db_slot_rule *rule = &codec->rules[type];
		uint32_t slots = db_slots_ahead(rule, batch.len[i]);
		uint64_t ahead = batch.time_ns[i] - before;

		db_slots_prefetch(&codec->slots,
				  batch.slot[i + PREFETCH < batch.n ? i + PREFETCH : i]);
		struct db_slot_code code = db_slots_put(&codec->slots, rule, slot, task, slots);

		before = batch.time_ns[i];
		sorted->time[at] = put_time(&bits, enc->unit_ns > 1 ? ahead / enc->unit_ns : ahead);
		sorted->slot[at] = put_slot_len(&bits, code, batch.len[i], &sorted->len[at]);
		db_range_widen(&range, rule, slot, slots);
		sorted->task[at] = task == last_task ? 1 : task == 1 ? last_task : task;
		last_task = task ? task : last_task;
		sorted->memcg[at] = batch.memcg[i];
		sorted->area[at] = batch.area[i];
		sorted->order[at] = batch.order[i];
	}
	enc->range = range;
	enc->end_of_bits = bits.to + (bits.n > 0);
}

/* ---------------------------------------------------------------------------- blocks and frames */

static struct db_column column_of(const struct encoder *enc, unsigned column)
{
	return (struct db_column){ .values = (uint8_t *)&enc->codec->sorted +
					     db_chunk_columns[column].offset,
				   .width = db_chunk_columns[column].width,
				   .n = enc->batch->n };
}

/* Ends a block at a place in the planes, unless it would be a small one. */
static void cut(struct encoder *enc, size_t at)
{
	uint32_t last = enc->n_cuts ? enc->cuts[enc->n_cuts - 1] : 0;

	if (at >= last + BLOCK_BYTES_MIN)
		enc->cuts[enc->n_cuts++] = (uint32_t)at;
}

/* Blocks of zstd have statistics of their own: each plane, and each type in a column, begins one.
 */
static void cut_column(struct encoder *enc, unsigned column, size_t from, size_t to)
{
	for (; from < to; from += enc->batch->n) {
		for (unsigned type = 1; type < DB_TYPE_COUNT && column != COLUMN_TYPE; type++)
			cut(enc, from + enc->starts[type]);
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
		struct db_column column = column_of(enc, c);
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
static size_t compress(struct encoder *enc, ZSTD_CCtx *cctx, size_t raw)
{
	struct db_codec *codec = enc->codec;
	ZSTD_inBuffer in = { codec->planes, 0, 0 };
	ZSTD_outBuffer out = { enc->at, (size_t)(codec->chunk + DB_CHUNK_BYTES_MAX - enc->at), 0 };
	size_t left = ZSTD_CCtx_reset(cctx, ZSTD_reset_session_only);

	if (!ZSTD_isError(left))
		left = ZSTD_CCtx_setPledgedSrcSize(cctx, raw);
	for (unsigned i = 0; i < enc->n_cuts && !left; i++) {
		in.size = enc->cuts[i];
		left = ZSTD_compressStream2(cctx, &out, &in, ZSTD_e_flush);
	}
	in.size = raw;
	if (!left)
		left = ZSTD_compressStream2(cctx, &out, &in, ZSTD_e_end);
	assert(ZSTD_isError(left) || left == 0); /* DB_CHUNK_BYTES_MAX is room enough */
	return left ? left : out.pos;
}

static enum zr_err put_group(struct encoder *enc, unsigned group)
{
	struct db_codec *codec = enc->codec;
	uint8_t *sizes = codec->chunk + DB_CHUNK_AT_GROUPS + group * DB_CHUNK_GROUP_BYTES;
	size_t raw = put_planes(enc, group);
	size_t bytes = raw ? compress(enc, codec->cctx[group], raw) : 0;

	if (ZSTD_isError(bytes))
		return zr_fail(ZR_NOMEM, "cannot compress %u events: zstd: %s", enc->batch->n,
			       ZSTD_getErrorName(bytes));
	zr_put32(sizes, (uint32_t)raw);
	zr_put32(sizes + 4, (uint32_t)bytes);
	enc->at += bytes;
	return ZR_OK;
}

static void put_bits_section(struct encoder *enc)
{
	struct db_codec *codec = enc->codec;
	size_t bytes = (size_t)(enc->end_of_bits - codec->bits);

	memcpy(enc->at, codec->bits, bytes);
	enc->at += bytes;
	zr_put32(codec->chunk + DB_CHUNK_AT_BITS, (uint32_t)bytes);
}

static void put_header(struct encoder *enc)
{
	uint8_t *chunk = enc->codec->chunk;

	memset(chunk, 0, DB_CHUNK_HEADER_BYTES);
	zr_put32(chunk + DB_CHUNK_AT_MAGIC, DB_CHUNK_MAGIC);
	zr_put16(chunk + DB_CHUNK_AT_VERSION, DB_CHUNK_VERSION);
	zr_put32(chunk + DB_CHUNK_AT_EVENTS, enc->batch->n);
	zr_put64(chunk + DB_CHUNK_AT_FIRST_NS, enc->batch->time_ns[0]);
	zr_put32(chunk + DB_CHUNK_AT_UNIT, enc->unit_ns);
}

enum zr_err db_chunk_encode(struct db_codec *codec, const struct db_batch *batch,
			    const uint8_t **chunk, size_t *bytes)
{
	struct encoder enc = {
		.codec = codec,
		.batch = batch,
		.unit_ns = 1,
		.at = codec->chunk + DB_CHUNK_HEADER_BYTES,
	};
	enum zr_err err = ZR_OK;

	assert(batch->n > 0 && batch->n <= DB_BATCH_EVENTS);
	if (!find_types(&enc) || !db_rows_times_valid(batch))
		return db_rows_check(&codec->rows, "cannot store events", batch);
	memcpy(enc.starts, codec->starts, sizeof(enc.starts));
	enc.unit_ns = unit_of(batch);
	db_slots_reset(&codec->slots);
	put_events(&enc);
	put_header(&enc);
	for (unsigned group = 0; group < DB_CHUNK_GROUPS && !err; group++)
		err = put_group(&enc, group);
	put_bits_section(&enc);
	db_codec_set_span(codec, batch, db_codec_kinds(codec, enc.starts), enc.range);
	*chunk = codec->chunk;
	*bytes = (size_t)(enc.at - codec->chunk);
	zr_put32(codec->chunk + DB_CHUNK_AT_CRC, db_chunk_crc(codec->chunk, *bytes));
	return err;
}
