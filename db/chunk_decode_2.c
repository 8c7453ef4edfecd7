/* SPDX-License-Identifier: MIT */
/*
 * Decoding chunk version 2; see chunk_format.h and chunk.c. A few passes over the events, each of
 * so few columns that the processor's registers hold its state: one pass over all took twice as
 * long. None has branches that depend on data. A plane that was left out is read from a plane of
 * zeros, so that no loop asks how many there are. What is wrong is only noted, and looked for at
 * the end.
 */
#include "db/chunk_codec.h"

#include <string.h>

struct bits {
	const uint8_t *from; /* has room for what DB_BATCH_EVENTS of any codes can need */
	uint64_t at, bytes;  /* the next bit; bytes that there are */
};

struct columns {
	const uint8_t *type, *area, *order, *memcg, *task, *time, *slot, *len; /* first planes */
};

static uint8_t mask_of(const struct db_decoder *dec, unsigned column)
{
	return dec->chunk[DB_CHUNK_AT_MASKS + column];
}

/* -------------------------------------------------------------------------------------- planes */

/* Bytes that the planes of a group must have by their masks; a bit too many makes it an impossible
 * size. */
static size_t planes_bytes(const struct db_decoder *dec, unsigned group)
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

/* The planes of a column, or zeros. */
static const uint8_t *first_plane(struct db_decoder *dec, unsigned column)
{
	const uint8_t *first = mask_of(dec, column) ? dec->end_of_planes : dec->codec->zeros;

	dec->end_of_planes +=
		(size_t)dec->batch->n * (unsigned)__builtin_popcount(mask_of(dec, column));
	return first;
}

static enum zr_err get_columns(struct db_decoder *dec, struct columns *columns)
{
	enum zr_err err = db_chunk_get_frame(dec, 0, planes_bytes(dec, 0));

	if (err)
		return err;
	columns->type = first_plane(dec, COLUMN_TYPE);
	columns->area = first_plane(dec, COLUMN_AREA);
	columns->order = first_plane(dec, COLUMN_ORDER);
	columns->memcg = first_plane(dec, COLUMN_MEMCG);
	columns->task = first_plane(dec, COLUMN_TASK);
	err = db_chunk_get_frame(dec, 1, planes_bytes(dec, 1));
	columns->time = first_plane(dec, COLUMN_TIME);
	columns->slot = first_plane(dec, COLUMN_SLOT);
	columns->len = first_plane(dec, COLUMN_LEN);
	return err;
}

/* ---------------------------------------------------------------------------------------- bits */

static enum zr_err get_bits(struct db_decoder *dec, struct bits *bits)
{
	size_t bytes = (size_t)(dec->end - dec->at);
	uint32_t claim = zr_get32(dec->chunk + DB_CHUNK_AT_BITS);

	if (claim != bytes || bytes > DB_CHUNK_BITS_MAX)
		return zr_fail(ZR_CORRUPT, "%s: %zu bytes of bits, its header says %u", dec->name,
			       bytes, claim);
	memcpy(dec->codec->bits, dec->at, bytes);
	*bits = (struct bits){ .from = dec->codec->bits, .bytes = bytes };
	return ZR_OK;
}

/* At least 57 bits from here on; behind the end they are rubbish. */
static inline uint64_t peek(const struct bits *bits)
{
	return zr_get64(bits->from + (bits->at >> 3)) >> (bits->at & 7);
}

static uint64_t peek_64(struct bits bits)
{
	uint64_t low = (uint32_t)peek(&bits);

	bits.at += 32;
	return low | peek(&bits) << 32;
}

static enum zr_err check_end(const struct db_decoder *dec, const struct bits *bits)
{
	if ((bits->at + 7) >> 3 != bits->bytes ||
	    (bits->at & 7 && bits->from[bits->bytes - 1] >> (bits->at & 7)))
		return zr_fail(ZR_CORRUPT, "%s: its codes need %llu bits, there are %llu bytes",
			       dec->name, (unsigned long long)bits->at,
			       (unsigned long long)bits->bytes);
	return ZR_OK;
}

/* -------------------------------------------------------------------------------------- events */

/* Times, lengths, and of the slots the differences and, where kinds will be, the ways in which they
 * are said; false if times descend. */
static bool get_times(struct db_decoder *dec, const struct columns *columns, struct bits *stream)
{
	const uint8_t *time_codes = columns->time, *slot_codes = columns->slot;
	const uint8_t *len_codes = columns->len;
	const struct db_codes *codes = &dec->codec->codes;
	const uint16_t *rank = dec->codec->rank;
	const struct db_batch batch = *dec->batch;
	uint64_t unit_ns = zr_get32(dec->chunk + DB_CHUNK_AT_UNIT);
	uint64_t now = zr_get64(dec->chunk + DB_CHUNK_AT_FIRST_NS), before = now;
	struct bits bits = *stream;
	unsigned bad = 0;

	for (uint32_t i = 0; i < batch.n; i++) {
		uint32_t at = rank[i];
		const struct db_code *time = &codes->time[time_codes[at]];
		const struct db_code *slot = &codes->slot[slot_codes[at]];
		const struct db_code *len = &codes->len[len_codes[at]];
		uint64_t ahead = time->base + (peek(&bits) & time->mask), rest;

		if (__builtin_expect(time->bits == 64, 0))
			ahead = peek_64(bits);
		bits.at += time->bits;
		rest = peek(&bits);
		bits.at += slot->bits + len->bits;
		now += ahead * unit_ns;
		bad |= now < before;
		before = now;
		batch.time_ns[i] = now;
		batch.kind[i] = slot->list;
		batch.slot[i] = (uint32_t)zr_unzigzag32(slot->base + ((uint32_t)rest & slot->mask));
		batch.len[i] = (uint16_t)(len->base + ((uint32_t)(rest >> slot->bits) & len->mask));
	}
	*stream = bits;
	return !bad;
}

/* None is `limit` or more. As many as can be in whole steps, which compilers vectorise. */
static bool all_below(const uint8_t *codes, uint32_t n, unsigned limit)
{
	uint8_t bad = 0;

	for (; n >= DB_PLANES_STEP; n -= DB_PLANES_STEP, codes += DB_PLANES_STEP)
		for (uint32_t i = 0; i < DB_PLANES_STEP; i++)
			bad |= codes[i] >= limit;
	for (uint32_t i = 0; i < n; i++)
		bad |= codes[i] >= limit;
	return !bad;
}

static bool codes_valid(const struct columns *columns, uint32_t n)
{
	return all_below(columns->time, n, DB_TIME_CODES) &&
	       all_below(columns->slot, n, DB_SLOT_CODES) &&
	       all_below(columns->len, n, DB_LEN_CODES);
}

static void join_tasks(const struct db_decoder *dec, const uint8_t *planes)
{
	const uint16_t *rank = dec->codec->rank;
	uint32_t *to = dec->batch->task, n = dec->batch->n;

	memset(to, 0, n * sizeof(*to));
	for (unsigned p = 0; p < sizeof(*to); p++) {
		if (!(mask_of(dec, COLUMN_TASK) >> p & 1))
			continue;
		for (uint32_t i = 0; i < n; i++)
			to[i] |= (uint32_t)planes[rank[i]] << 8 * p;
		planes += n;
	}
}

static void get_wide_memcgs(const struct db_decoder *dec, const struct columns *columns)
{
	const uint8_t *low = columns->memcg, *high = columns->memcg;
	const uint16_t *rank = dec->codec->rank;

	if (mask_of(dec, COLUMN_MEMCG) & 1)
		high += dec->batch->n;
	else
		low = dec->codec->zeros;
	for (uint32_t i = 0; i < dec->batch->n; i++)
		dec->batch->memcg[i] = (uint16_t)(low[rank[i]] | high[rank[i]] << 8);
}

/* A task from what is stored; *last is the one before it that was not 0. What the next event waits
 * for is one comparison and two moves. */
static inline uint32_t task_of(uint32_t stored, uint32_t *last)
{
	uint32_t before = *last, other = stored == before ? 1 : stored;

	*last = stored <= 1 ? before : other;
	return stored == 1 ? before : other;
}

static void get_wide_tasks(const struct db_decoder *dec, const uint8_t *planes)
{
	uint32_t *to = dec->batch->task, n = dec->batch->n, last = 1;

	join_tasks(dec, planes);
	for (uint32_t i = 0; i < n; i++)
		to[i] = task_of(to[i], &last);
}

/* Most hosts have fewer than 256 tasks that swap, and cgroups. In one pass, since tasks wait for
 * one another. */
static void get_ids(const struct db_decoder *dec, const struct columns *columns)
{
	const uint8_t *tasks = columns->task, *memcgs = columns->memcg;
	const uint8_t *areas = columns->area, *orders = columns->order;
	const uint16_t *rank = dec->codec->rank;
	const struct db_batch batch = *dec->batch;
	uint32_t last = 1;

	for (uint32_t i = 0; i < batch.n; i++) {
		uint32_t at = rank[i];

		batch.task[i] = task_of(tasks[at], &last);
		batch.memcg[i] = memcgs[at];
		batch.area[i] = areas[at];
		batch.order[i] = orders[at];
	}
	if (mask_of(dec, COLUMN_TASK) > 1)
		get_wide_tasks(dec, tasks);
	if (mask_of(dec, COLUMN_MEMCG) > 1)
		get_wide_memcgs(dec, columns);
}

/* Kinds, flags and slots; false if some place is in no list. */
static bool get_slots(struct db_decoder *dec, const struct columns *columns, struct db_range *range)
{
	struct db_range covered = { UINT32_MAX, 0 };
	const struct db_slot_rule *rules = dec->codec->rules;
	struct db_slots *slots = &dec->codec->slots;
	const struct db_batch batch = *dec->batch;
	const uint8_t *types = columns->type;
	uint32_t bad = 0;

	db_slots_reset(slots);
	for (uint32_t i = 0; i < batch.n; i++) {
		const struct db_slot_rule *rule = &rules[types[i]];
		unsigned way = batch.kind[i];
		uint32_t ahead = db_slots_ahead(rule, batch.len[i]);
		uint32_t *cell = db_slots_cell(slots, rule, way, batch.task[i]);
		uint32_t slot = db_slots_get(slots, way, cell, batch.slot[i], ahead, &bad);

		batch.slot[i] = slot;
		db_slots_add(slots, rule, slot);
		db_range_widen(&covered, rule, slot, ahead);
		batch.kind[i] = rule->kind;
		batch.flags[i] = rule->flags;
	}
	*range = covered;
	return !bad;
}

static enum zr_err rank_types(struct db_decoder *dec, const uint8_t *type)
{
	uint32_t row = 0;

	if (db_codec_rank(dec->codec, type, dec->batch->n, DB_TYPE_COUNT))
		return ZR_OK;
	while (type[row] < DB_TYPE_COUNT)
		row++;
	return zr_fail(ZR_CORRUPT, "%s: event %u is none that is known: type %u", dec->name, row,
		       type[row]);
}

/* OUTs are the first in the order of types. */
static bool orders_valid(const struct db_codec *codec, const uint8_t *order)
{
	uint32_t outs = codec->starts[codec->types.of[DB_IN][0]];
	unsigned bad = 0;

	for (uint32_t i = 0; i < outs; i++)
		bad |= order[i] > DB_ORDER_MAX;
	return !bad;
}

static enum zr_err decode_events(struct db_decoder *dec, const struct columns *columns,
				 struct bits *bits)
{
	enum zr_err err = rank_types(dec, columns->type);
	struct db_range range;
	bool good, listed;

	if (err)
		return err;
	if (!codes_valid(columns, dec->batch->n))
		return zr_fail(ZR_CORRUPT, "%s: a code is none", dec->name);
	good = orders_valid(dec->codec, columns->order);
	good &= get_times(dec, columns, bits);
	get_ids(dec, columns);
	listed = get_slots(dec, columns, &range);
	err = check_end(dec, bits);
	if (!err && !good)
		err = db_rows_check(&dec->codec->rows, dec->name, dec->batch);
	if (!err && !(good && listed))
		err = zr_fail(ZR_CORRUPT, "%s: a slot is in no list", dec->name);
	if (!err)
		db_codec_set_span(dec->codec, dec->batch,
				  db_codec_kinds(dec->codec, dec->codec->starts), range);
	return err;
}

enum zr_err db_chunk_decode_2(struct db_decoder *dec)
{
	struct columns columns = { 0 };
	struct bits bits = { 0 };
	enum zr_err err = db_chunk_check_unit(dec, zr_get32(dec->chunk + DB_CHUNK_AT_UNIT));

	dec->at = dec->chunk + DB_CHUNK_HEADER_BYTES;
	if (!err)
		err = get_columns(dec, &columns);
	if (!err)
		err = get_bits(dec, &bits);
	if (!err)
		err = decode_events(dec, &columns, &bits);
	return err;
}
