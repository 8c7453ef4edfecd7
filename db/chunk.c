/* SPDX-License-Identifier: MIT */
/*
 * The chunk codec of chunk.h; the bytes are described in chunk_format.h.
 *
 * The columns of a batch are turned into planes in a buffer (differences first, then byte by byte),
 * and each group of planes is one zstd frame. Decoding is the same backwards. Loops run over one
 * column or two without a branch that depends on data. Planes are joined in steps of STEP rows, for
 * compilers vectorise a loop of a fixed length at -O2; that is why a batch's arrays have room for
 * whole steps.
 *
 * Decoding trusts nothing: sizes are checked before they are used, zstd writes into a buffer of a
 * fixed size, and the events are checked row by row at the end, by a table of 256 flags for each
 * kind. All memory is allocated by db_codec_new.
 *
 * Cost, one core of an EPYC, chunk_bench: on its mixture 4.9 bytes an event, 28 M events/s to
 * encode and 74 M to decode; on a recording (71,000 events of two tasks) 3.4 bytes, of which the
 * time takes 2.1, 35 M and 65 M. Half of that is zstd, so the level matters: 3 is no smaller (5.0
 * and 3.4 bytes) and encodes 14 and 24 M events/s; -1 is a tenth larger. Predicting a FREE from the
 * last IN, or having one sequence for each kind instead of each task, was larger too.
 */
#include "db/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "db/base/bytes.h"
#include "db/chunk_format.h"

enum {
	DEFAULT_LEVEL = 1,
	STEP = 64,
	GROUP_ROW_BYTES_MAX = 10, /* group 1 */
	PLANES_MAX = GROUP_ROW_BYTES_MAX * DB_BATCH_EVENTS,
	CHUNK_MAX =
		DB_CHUNK_HEADER_BYTES + DB_CHUNK_GROUPS * (PLANES_MAX + PLANES_MAX / 128 + 1024),
	PAGE_SECTORS_SHIFT = 3, /* 512 to 4096 bytes */
	KINDS_ROOM = 16,
};

static_assert(DB_BATCH_EVENTS % STEP == 0, "arrays have room for whole steps");
static_assert((int)DB_KIND_COUNT <= KINDS_ROOM, "the table of valid flags has room for all kinds");

struct db_codec {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	uint8_t valid[KINDS_ROOM][256]; /* flags that a kind can have; none for unknown kinds */
	uint64_t time_delta[DB_BATCH_EVENTS];
	uint32_t slot_delta[DB_BATCH_EVENTS];
	uint8_t planes[PLANES_MAX + STEP];
	uint8_t chunk[CHUNK_MAX];
};

/* ---------------------------------------------------------------------------- which events are */

/* Outcomes that each kind can have: bit 1 << value of the flags' bits 0-2. */
static const uint8_t outcomes[DB_KIND_COUNT] = {
	[DB_OUT] = (2 << DB_OUT_KEPT) - 1,
	[DB_IN] = (2 << DB_IN_ERROR) - 1,
	[DB_FREE] = 1,
	[DB_WB] = (2 << DB_WB_FAILED) - 1,
	[DB_RECLAIM] = 1,
	[DB_SCAN] = 3,
	[DB_WORKER] = 1,
	[DB_SHRINK] = (2 << DB_SHRINK_EMPTY) - 1,
	[DB_IO] = 0xff, /* other fields lie there */
	[DB_SAMPLE] = 1,
	[DB_GAP] = (2 << DB_GAP_IMPORT) - 1,
};

static bool io_flags_valid(unsigned flags)
{
	unsigned op = flags & 3, phase = flags >> DB_IO_PHASE_SHIFT & 7;

	return op <= DB_IO_DISCARD && phase <= DB_IO_MERGE && !(flags & 0x60);
}

static bool flags_valid(unsigned kind, unsigned flags)
{
	unsigned rest = flags & ~(DB_F_OUTCOME | DB_F_UNKNOWN);

	if (kind == DB_IO)
		return io_flags_valid(flags);
	if (!(outcomes[kind] >> (flags & DB_F_OUTCOME) & 1))
		return false;
	if (kind == DB_OUT)
		return db_flags_reason((uint8_t)flags) <= DB_REASON_OFF;
	if (kind == DB_IN)
		return !(rest & ~DB_F_READAHEAD);
	return !rest;
}

static void fill_valid(struct db_codec *codec)
{
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		for (unsigned flags = 0; flags < 256; flags++)
			codec->valid[kind][flags] = flags_valid(kind, flags);
}

static bool row_valid(const struct db_codec *codec, const struct db_batch *batch, uint32_t row)
{
	unsigned kind = batch->kind[row];

	return kind < KINDS_ROOM && codec->valid[kind][batch->flags[row]] &&
	       (kind != DB_OUT || batch->order[row] <= DB_ORDER_MAX) &&
	       (row == 0 || batch->time_ns[row - 1] <= batch->time_ns[row]);
}

static bool kinds_valid(const struct db_batch *batch)
{
	uint8_t bad = 0;

	for (uint32_t i = 0; i < batch->n; i++)
		bad |= batch->kind[i] >= DB_KIND_COUNT;
	return !bad;
}

static bool times_valid(const struct db_batch *batch)
{
	bool bad = false;

	for (uint32_t i = 1; i < batch->n; i++)
		bad |= batch->time_ns[i] < batch->time_ns[i - 1];
	return !bad;
}

/* Of rows whose kinds are valid. */
static bool flags_and_orders_valid(const struct db_codec *codec, const struct db_batch *batch)
{
	unsigned good = 1;

	for (uint32_t i = 0; i < batch->n; i++)
		good &= codec->valid[batch->kind[i]][batch->flags[i]] &
			((batch->kind[i] != DB_OUT) | (batch->order[i] <= DB_ORDER_MAX));
	return good;
}

static enum zr_err fail_row(const char *name, const struct db_batch *batch, uint32_t row)
{
	struct db_event e = db_batch_event(batch, row);

	if (row && e.time_ns < batch->time_ns[row - 1])
		return zr_fail(ZR_CORRUPT, "%s: time descends at event %u: %llu after %llu ns",
			       name, row, (unsigned long long)e.time_ns,
			       (unsigned long long)batch->time_ns[row - 1]);
	return zr_fail(ZR_CORRUPT,
		       "%s: event %u is none that is known: kind %u, flags 0x%02x, order %u", name,
		       row, e.kind, e.flags, e.order);
}

/* Whether all rows are what event.h allows; names the first that is not. */
static enum zr_err check_rows(const struct db_codec *codec, const char *name,
			      const struct db_batch *batch)
{
	uint32_t row = 0;

	if (kinds_valid(batch) && times_valid(batch) && flags_and_orders_valid(codec, batch))
		return ZR_OK;
	while (row_valid(codec, batch, row))
		row++;
	return fail_row(name, batch, row);
}

/* --------------------------------------------------------------------------------- the columns */

struct column {
	uint8_t group, width;
	uint16_t offset; /* of its array's address in struct db_batch */
};

static const struct column columns[DB_CHUNK_COLUMNS] = {
	{ 0, 8, offsetof(struct db_batch, time_ns) }, { 1, 1, offsetof(struct db_batch, kind) },
	{ 1, 1, offsetof(struct db_batch, area) },    { 1, 1, offsetof(struct db_batch, order) },
	{ 1, 1, offsetof(struct db_batch, flags) },   { 1, 2, offsetof(struct db_batch, memcg) },
	{ 1, 4, offsetof(struct db_batch, task) },    { 2, 4, offsetof(struct db_batch, slot) },
	{ 2, 2, offsetof(struct db_batch, len) },
};

enum { COLUMN_TIME = 0, COLUMN_SLOT = 7 };

static void *column_array(const struct db_batch *batch, unsigned column)
{
	void *array;

	memcpy(&array, (const char *)batch + columns[column].offset, sizeof(array));
	return array;
}

/* --------------------------------------------------------------------------------- differences */

/*
 * The slot that follows the last one of the same kind and task. Slots are handed out in sequence,
 * but for each CPU from a cluster of its own, so two tasks that swap at once make two sequences;
 * the task stands for the CPU, which a trace does not have. On a recording of two tasks: 3.60 bytes
 * an event with one sequence a kind, 3.38 with one a task.
 */
struct predictor {
	uint32_t next[DB_KIND_COUNT][DB_CHUNK_TASKS];
};

static inline uint32_t *predicted(struct predictor *p, const struct db_batch *batch, uint32_t row)
{
	return &p->next[batch->kind[row]][batch->task[row] % DB_CHUNK_TASKS];
}

/* Slots from an event to the next of its sequence: (len & mask, rounded) >> shift, but at least
 * `least`. Free of branches, since kinds alternate at random. */
struct ahead {
	uint16_t mask;
	uint8_t round, shift, least;
};

static const struct ahead aheads[DB_KIND_COUNT] = {
	[DB_OUT] = { .least = 1 },
	[DB_IN] = { .least = 1 },
	[DB_FREE] = { .mask = UINT16_MAX, .least = 1 },
	[DB_WB] = { .least = 1 },
	[DB_IO] = { UINT16_MAX, (1 << PAGE_SECTORS_SHIFT) - 1, PAGE_SECTORS_SHIFT, 0 },
};

static inline uint32_t slots_ahead(unsigned kind, uint32_t len)
{
	const struct ahead *a = &aheads[kind];
	uint32_t slots = ((len & a->mask) + a->round) >> a->shift;

	return slots > a->least ? slots : a->least;
}

static void slots_to_delta(const struct db_batch *batch, uint32_t *restrict delta)
{
	struct predictor p = { 0 };

	for (uint32_t i = 0; i < batch->n; i++) {
		uint32_t *next = predicted(&p, batch, i), slot = batch->slot[i];

		delta[i] = zr_zigzag32((int32_t)(slot - *next));
		*next = slot + slots_ahead(batch->kind[i], batch->len[i]);
	}
}

/* In place. The kinds were checked before. */
static void slots_from_delta(struct db_batch *batch)
{
	struct predictor p = { 0 };

	for (uint32_t i = 0; i < batch->n; i++) {
		uint32_t *next = predicted(&p, batch, i);
		uint32_t slot = *next + (uint32_t)zr_unzigzag32(batch->slot[i]);

		batch->slot[i] = slot;
		*next = slot + slots_ahead(batch->kind[i], batch->len[i]);
	}
}

static void times_to_delta(const struct db_batch *batch, uint64_t *restrict delta)
{
	delta[0] = 0;
	for (uint32_t i = 1; i < batch->n; i++)
		delta[i] = batch->time_ns[i] - batch->time_ns[i - 1];
}

/* In place. A sum that wraps shows as a time that descends. */
static void times_from_delta(struct db_batch *batch, uint64_t first_ns)
{
	uint64_t now = first_ns;

	for (uint32_t i = 0; i < batch->n; i++) {
		now += batch->time_ns[i];
		batch->time_ns[i] = now;
	}
}

/* -------------------------------------------------------------------------------------- planes */

static uint8_t planes_in_use(const uint8_t *values, unsigned width, uint32_t n)
{
	uint64_t any[8] = { 0 };
	size_t bytes = (size_t)n * width, at = 0;
	uint8_t mask = 0;

	for (; at + sizeof(any) <= bytes; at += sizeof(any))
		for (unsigned j = 0; j < 8; j++)
			any[j] |= zr_get64(values + at + 8 * j);
	for (; at < bytes; at++)
		((uint8_t *)any)[at % 8] |= values[at];
	/* 8 is a multiple of every width, so a byte's place modulo the width is its plane. */
	for (unsigned byte = 0; byte < sizeof(any); byte++)
		if (((uint8_t *)any)[byte])
			mask |= (uint8_t)(1u << byte % width);
	return mask;
}

static uint8_t *split_plane(const uint8_t *restrict values, unsigned width, uint32_t n,
			    uint8_t *restrict to)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = values[(size_t)i * width];
	return to + n;
}

/* The planes of a column at `to`; returns their end. */
static uint8_t *split(const void *values, unsigned width, uint32_t n, uint8_t mask, uint8_t *to)
{
	for (unsigned p = 0; p < width; p++)
		if (mask >> p & 1)
			to = split_plane((const uint8_t *)values + p, width, n, to);
	return to;
}

/*
 * Puts one plane into the values: the first over what was there, a further one beside it. Whole
 * steps, so up to STEP - 1 rows past n get rubbish.
 */
#define JOIN(bits)                                                                                 \
	static void join##bits(uint##bits##_t *restrict values, unsigned shift, bool first,        \
			       const uint8_t *restrict from, uint32_t n)                           \
	{                                                                                          \
		uint##bits##_t keep = first ? 0 : (uint##bits##_t) ~(uint##bits##_t)0;             \
                                                                                                   \
		for (uint32_t done = 0; done < n; done += STEP, values += STEP, from += STEP)      \
			for (uint32_t i = 0; i < STEP; i++)                                        \
				values[i] = (uint##bits##_t)(                                      \
					(values[i] & keep) |                                       \
					(uint##bits##_t)((uint##bits##_t)from[i] << shift));       \
	}
JOIN(16)
JOIN(32)
JOIN(64)
#undef JOIN

struct plane {
	const uint8_t *from;
	unsigned shift;
	bool first;
};

static void join(void *values, unsigned width, struct plane plane, uint32_t n)
{
	switch (width) {
	case 1:
		memcpy(values, plane.from, n);
		break;
	case 2:
		join16(values, plane.shift, plane.first, plane.from, n);
		break;
	case 4:
		join32(values, plane.shift, plane.first, plane.from, n);
		break;
	default:
		join64(values, plane.shift, plane.first, plane.from, n);
	}
}

/* The values of a column from its planes; returns the end of these. */
static const uint8_t *join_all(void *values, unsigned width, uint8_t mask, const uint8_t *from,
			       uint32_t n)
{
	const uint8_t *start = from;

	if (!mask)
		memset(values, 0, (size_t)n * width);
	for (unsigned p = 0; p < width; p++) {
		if (!(mask >> p & 1))
			continue;
		join(values, width, (struct plane){ from, 8 * p, from == start }, n);
		from += n;
	}
	return from;
}

/* ------------------------------------------------------------------------------------ encoding */

struct encoder {
	struct db_codec *codec;
	const struct db_batch *batch;
	uint8_t *at; /* where the next frame goes */
};

static const void *column_values(const struct encoder *enc, unsigned column)
{
	if (column == COLUMN_TIME)
		return enc->codec->time_delta;
	if (column == COLUMN_SLOT)
		return enc->codec->slot_delta;
	return column_array(enc->batch, column);
}

/* The planes of a group's columns in codec->planes, their masks in the header; returns their bytes.
 */
static size_t put_planes(const struct encoder *enc, unsigned group)
{
	uint8_t *masks = enc->codec->chunk + DB_CHUNK_AT_MASKS, *to = enc->codec->planes;

	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++) {
		const void *values = column_values(enc, c);

		if (columns[c].group != group)
			continue;
		masks[c] = planes_in_use(values, columns[c].width, enc->batch->n);
		to = split(values, columns[c].width, enc->batch->n, masks[c], to);
	}
	return (size_t)(to - enc->codec->planes);
}

static enum zr_err put_group(struct encoder *enc, unsigned group)
{
	struct db_codec *codec = enc->codec;
	uint8_t *sizes = codec->chunk + DB_CHUNK_AT_GROUPS + group * DB_CHUNK_GROUP_BYTES;
	size_t room = (size_t)(codec->chunk + CHUNK_MAX - enc->at);
	size_t raw = put_planes(enc, group), bytes = 0;

	if (raw)
		bytes = ZSTD_compress2(codec->cctx, enc->at, room, codec->planes, raw);
	if (ZSTD_isError(bytes))
		return zr_fail(ZR_NOMEM, "cannot compress %u events: zstd: %s", enc->batch->n,
			       ZSTD_getErrorName(bytes));
	zr_put32(sizes, (uint32_t)raw);
	zr_put32(sizes + 4, (uint32_t)bytes);
	enc->at += bytes;
	return ZR_OK;
}

static void put_header(uint8_t *chunk, const struct db_batch *batch)
{
	memset(chunk, 0, DB_CHUNK_HEADER_BYTES);
	zr_put32(chunk + DB_CHUNK_AT_MAGIC, DB_CHUNK_MAGIC);
	zr_put16(chunk + DB_CHUNK_AT_VERSION, DB_CHUNK_VERSION);
	zr_put32(chunk + DB_CHUNK_AT_EVENTS, batch->n);
	zr_put64(chunk + DB_CHUNK_AT_FIRST_NS, batch->time_ns[0]);
}

static uint32_t chunk_crc(const uint8_t *chunk, size_t bytes)
{
	return zr_crc32c(0, chunk + DB_CHUNK_AT_VERSION, bytes - DB_CHUNK_AT_VERSION);
}

enum zr_err db_chunk_encode(struct db_codec *codec, const struct db_batch *batch,
			    const uint8_t **chunk, size_t *bytes)
{
	struct encoder enc = { codec, batch, codec->chunk + DB_CHUNK_HEADER_BYTES };
	enum zr_err err;

	assert(batch->n > 0 && batch->n <= DB_BATCH_EVENTS);
	err = check_rows(codec, "cannot store events", batch);
	if (err)
		return err;
	put_header(codec->chunk, batch);
	times_to_delta(batch, codec->time_delta);
	slots_to_delta(batch, codec->slot_delta);
	for (unsigned group = 0; group < DB_CHUNK_GROUPS && !err; group++)
		err = put_group(&enc, group);
	*chunk = codec->chunk;
	*bytes = (size_t)(enc.at - codec->chunk);
	zr_put32(codec->chunk + DB_CHUNK_AT_CRC, chunk_crc(codec->chunk, *bytes));
	return err;
}

/* ------------------------------------------------------------------------------------ decoding */

struct decoder {
	struct db_codec *codec;
	const char *name;
	const uint8_t *chunk, *at, *end;
	struct db_batch *batch;
};

static bool zeros_are_zero(const uint8_t *chunk)
{
	uint8_t any = chunk[DB_CHUNK_AT_ZERO] | chunk[DB_CHUNK_AT_ZERO + 1];

	for (unsigned at = DB_CHUNK_AT_ZEROS; at < DB_CHUNK_HEADER_BYTES; at++)
		any |= chunk[at];
	return !any;
}

static enum zr_err check_header(const struct decoder *dec)
{
	size_t bytes = (size_t)(dec->end - dec->chunk);
	uint32_t n;

	if (bytes < DB_CHUNK_HEADER_BYTES)
		return zr_fail(ZR_CORRUPT, "%s: %zu bytes are too few for a chunk", dec->name,
			       bytes);
	if (zr_get32(dec->chunk + DB_CHUNK_AT_MAGIC) != DB_CHUNK_MAGIC)
		return zr_fail(ZR_CORRUPT, "%s: not a chunk of events", dec->name);
	if (zr_get32(dec->chunk + DB_CHUNK_AT_CRC) != chunk_crc(dec->chunk, bytes))
		return zr_fail(ZR_CORRUPT, "%s: the checksum of its %zu bytes does not match",
			       dec->name, bytes);
	if (zr_get16(dec->chunk + DB_CHUNK_AT_VERSION) > DB_CHUNK_VERSION)
		return zr_fail(ZR_NEWER_VERSION,
			       "%s: chunk format %u; this zreel knows %d: update it", dec->name,
			       zr_get16(dec->chunk + DB_CHUNK_AT_VERSION), DB_CHUNK_VERSION);
	if (zr_get16(dec->chunk + DB_CHUNK_AT_VERSION) == 0 || !zeros_are_zero(dec->chunk))
		return zr_fail(ZR_CORRUPT, "%s: not the header of chunk format %u", dec->name,
			       zr_get16(dec->chunk + DB_CHUNK_AT_VERSION));
	n = zr_get32(dec->chunk + DB_CHUNK_AT_EVENTS);
	if (n == 0 || n > DB_BATCH_EVENTS)
		return zr_fail(ZR_CORRUPT, "%s: claims %u events, 1 to %d are possible", dec->name,
			       n, DB_BATCH_EVENTS);
	return ZR_OK;
}

/* Bytes that the planes of a group must have by their masks; a bit too many makes it an impossible
 * size. */
static size_t planes_bytes(const struct decoder *dec, unsigned group)
{
	const uint8_t *masks = dec->chunk + DB_CHUNK_AT_MASKS;
	size_t planes = 0;

	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++) {
		if (columns[c].group != group)
			continue;
		if (masks[c] >> columns[c].width)
			return SIZE_MAX;
		planes += (unsigned)__builtin_popcount(masks[c]);
	}
	return planes * dec->batch->n;
}

static void get_planes(const struct decoder *dec, unsigned group)
{
	const uint8_t *masks = dec->chunk + DB_CHUNK_AT_MASKS, *from = dec->codec->planes;

	for (unsigned c = 0; c < DB_CHUNK_COLUMNS; c++)
		if (columns[c].group == group)
			from = join_all(column_array(dec->batch, c), columns[c].width, masks[c],
					from, dec->batch->n);
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
		got = ZSTD_decompressDCtx(dec->codec->dctx, dec->codec->planes, PLANES_MAX, dec->at,
					  bytes);
	if (ZSTD_isError(got))
		return zr_fail(ZR_CORRUPT, "%s: column group %u does not decompress: zstd: %s",
			       dec->name, group, ZSTD_getErrorName(got));
	if (got != raw)
		return zr_fail(ZR_CORRUPT, "%s: column group %u gives %zu bytes instead of %u",
			       dec->name, group, got, raw);
	get_planes(dec, group);
	dec->at += bytes;
	return ZR_OK;
}

static enum zr_err decode_rows(struct decoder *dec)
{
	struct db_batch *batch = dec->batch;

	/* Slots need kinds that can be looked up; the check of all rows then names the first one
	 * that cannot. */
	times_from_delta(batch, zr_get64(dec->chunk + DB_CHUNK_AT_FIRST_NS));
	if (kinds_valid(batch))
		slots_from_delta(batch);
	return check_rows(dec->codec, dec->name, batch);
}

enum zr_err db_chunk_decode(struct db_codec *codec, const char *name, const void *chunk,
			    size_t bytes, struct db_batch *batch)
{
	struct decoder dec = { codec,
			       name,
			       chunk,
			       (const uint8_t *)chunk + DB_CHUNK_HEADER_BYTES,
			       (const uint8_t *)chunk + bytes,
			       batch };
	enum zr_err err = check_header(&dec);

	batch->n = err ? 0 : zr_get32((const uint8_t *)chunk + DB_CHUNK_AT_EVENTS);
	for (unsigned group = 0; group < DB_CHUNK_GROUPS && !err; group++)
		err = get_group(&dec, group);
	if (!err && dec.at != dec.end)
		err = zr_fail(ZR_CORRUPT, "%s: %zu bytes too many", name,
			      (size_t)(dec.end - dec.at));
	if (!err)
		err = decode_rows(&dec);
	if (err)
		batch->n = 0;
	return err;
}

/* ---------------------------------------------------------------------------------------- span */

/* Slots that an event covers from its slot on; 0 if its `slot` is none. */
static uint32_t slots_covered(const struct db_batch *batch, uint32_t row)
{
	switch (batch->kind[row]) {
	case DB_OUT:
		return batch->flags[row] & DB_F_PART ? 1 : (uint32_t)1 << batch->order[row];
	case DB_FREE:
		return db_free_slots(batch->len[row]);
	case DB_IO:
		return (batch->len[row] >> PAGE_SECTORS_SHIFT) + 1;
	case DB_IN:
	case DB_WB:
		return 1;
	default:
		return 0;
	}
}

static void cover(struct db_chunk_span *span, uint32_t first, uint32_t slots)
{
	uint32_t last = first + slots - 1;

	if (last < first)
		last = UINT32_MAX;
	if (first < span->slot_min)
		span->slot_min = first;
	if (last > span->slot_max)
		span->slot_max = last;
}

struct db_chunk_span db_chunk_span(const struct db_batch *batch)
{
	struct db_chunk_span span = {
		.first_ns = batch->n ? batch->time_ns[0] : 0,
		.last_ns = batch->n ? batch->time_ns[batch->n - 1] : 0,
		.events = batch->n,
		.slot_min = UINT32_MAX,
	};

	for (uint32_t i = 0; i < batch->n; i++) {
		uint32_t slots = slots_covered(batch, i);

		span.kinds |= 1u << batch->kind[i];
		if (slots)
			cover(&span, batch->slot[i], slots);
	}
	return span;
}

/* --------------------------------------------------------------------------------------- codec */

enum zr_err db_codec_new(int level, struct db_codec **out)
{
	struct db_codec *codec = calloc(1, sizeof(*codec));
	bool ok = codec && (codec->cctx = ZSTD_createCCtx()) && (codec->dctx = ZSTD_createDCtx());

	if (!ok) {
		db_codec_free(codec);
		return zr_fail(ZR_NOMEM, "no memory for the event codec (%zu bytes)",
			       sizeof(*codec));
	}
	/* A level out of range is clamped by zstd itself, so this cannot fail. */
	ZSTD_CCtx_setParameter(codec->cctx, ZSTD_c_compressionLevel, level ? level : DEFAULT_LEVEL);
	fill_valid(codec);
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
