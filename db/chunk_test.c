/* SPDX-License-Identifier: MIT */
/* Tests of the chunk codec. Beside round trips, a second decoder written from the text of
 * chunk_format.h. */
#include "db/test_help.h"

#include <zstd.h>

#include "db/base/bytes.h"
#include "db/chunk.h"

/* Offsets as chunk_format.h's text has them. */
enum {
	AT_CRC = 4,
	AT_VERSION = 8,
	AT_EVENTS = 12,
	AT_TIME = 16,
	AT_GROUPS = 24,
	AT_MASKS = 48,
	AT_UNIT = 60,
	HEADER = 64
};

struct fixture {
	struct zr_arena arena;
	struct db_codec *codec;
	struct db_batch batch, back;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	zr_error_clear();
	return !f || db_codec_new(0, &f->codec) || db_batch_init(&f->batch, &f->arena) ||
	       db_batch_init(&f->back, &f->arena);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	db_codec_free(f->codec);
	zr_arena_fini(&f->arena);
	free(f);
	return 0;
}

static void fill_random(struct db_batch *batch, uint64_t seed, uint32_t n)
{
	struct test_random random = { seed };
	uint64_t now_ns = test_draw(&random, (uint64_t)1 << 50);

	batch->n = 0;
	while (batch->n < n) {
		struct db_event e = test_draw_event(&random, &now_ns);

		db_batch_add(batch, &e);
	}
}

/* Two tasks that store and two that free, each in a sequence of its own. */
static void fill_structured(struct db_batch *batch, uint32_t n)
{
	struct test_random random = { 5 };
	uint32_t next[2] = { 0, 1000000 };

	batch->n = 0;
	while (batch->n < n) {
		uint32_t task = (uint32_t)test_draw(&random, 2);
		struct db_event out = { .time_ns = batch->n * 3000,
					.kind = DB_OUT,
					.slot = next[task]++,
					.task = task,
					.memcg = 1,
					.len = 1200 };
		struct db_event free_event = { .time_ns = out.time_ns + 100,
					       .kind = DB_FREE,
					       .slot = out.slot * 4,
					       .task = 3 + task,
					       .len = 4 };

		db_batch_add(batch, &out);
		if (batch->n < n)
			db_batch_add(batch, &free_event);
	}
}

/* The chunk of a batch in memory of our own. */
static uint8_t *encode(struct fixture *f, size_t *bytes)
{
	const uint8_t *chunk;
	uint8_t *copy;

	assert_ok(db_chunk_encode(f->codec, &f->batch, &chunk, bytes));
	copy = malloc(*bytes + 1);
	memcpy(copy, chunk, *bytes);
	return copy;
}

static void assert_round_trip(struct fixture *f)
{
	size_t bytes;
	uint8_t *chunk = encode(f, &bytes);

	assert_ok(db_chunk_decode(f->codec, "chunk", chunk, bytes, &f->back));
	assert_same_batch(&f->batch, &f->back);
	free(chunk);
}

/* Makes a changed chunk's checksum right again, so that what lies behind it is tried. */
static void mend(uint8_t *chunk, size_t bytes)
{
	zr_put32(chunk + AT_CRC, zr_crc32c(0, chunk + AT_VERSION, bytes - AT_VERSION));
}

/* -------------------------------------------------------------------------------------- honest */

static void any_events_come_back_as_they_were(void **state)
{
	static const uint32_t sizes[] = {
		1, 2, 3, 63, 64, 65, 1000, 4097, DB_BATCH_EVENTS - 1, DB_BATCH_EVENTS
	};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill_random(&f->batch, 100 + i, sizes[i]);
		assert_round_trip(f);
	}
	fill_structured(&f->batch, DB_BATCH_EVENTS);
	assert_round_trip(f);
}

static void extreme_values_come_back_as_they_were(void **state)
{
	struct fixture *f = *state;
	struct db_event least = { 0 };
	struct db_event most = { UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT16_MAX,  UINT16_MAX,
				 DB_FREE,    UINT8_MAX,	 UINT8_MAX,  DB_F_UNKNOWN };

	db_batch_add(&f->batch, &least);
	db_batch_add(&f->batch, &most);
	most.slot = 0;
	db_batch_add(&f->batch, &most);
	most.slot = INT32_MAX;
	db_batch_add(&f->batch, &most);
	assert_round_trip(f);
}

static void the_same_events_give_the_same_bytes(void **state)
{
	struct fixture *f = *state;
	struct db_codec *other;
	const uint8_t *chunk;
	size_t bytes, again;
	uint8_t *first;

	fill_random(&f->batch, 1, 5000);
	first = encode(f, &bytes);
	/* Neither what the codec did before nor which codec it is may show. */
	fill_random(&f->batch, 2, DB_BATCH_EVENTS);
	free(encode(f, &again));
	fill_random(&f->batch, 1, 5000);
	assert_ok(db_codec_new(0, &other));
	assert_ok(db_chunk_encode(f->codec, &f->batch, &chunk, &again));
	assert_int_equal(bytes, again);
	assert_memory_equal(first, chunk, bytes);
	assert_ok(db_chunk_encode(other, &f->batch, &chunk, &again));
	assert_int_equal(bytes, again);
	assert_memory_equal(first, chunk, bytes);
	db_codec_free(other);
	free(first);
}

static void two_sequences_at_once_cost_little(void **state)
{
	struct fixture *f = *state;
	size_t bytes;

	fill_structured(&f->batch, DB_BATCH_EVENTS);
	free(encode(f, &bytes));
	/* Which task comes next is one bit of chance an event pair; anything near a byte has lost
	 * the sequences. */
	assert_in_range(bytes, 1, DB_BATCH_EVENTS / 2);
}

/* The text of chunk_format.h as a program: plain, slow, for valid chunks. */
static struct db_event decode_by_the_text(const uint8_t *chunk, uint32_t wanted)
{
	enum { KIND, AREA, ORDER, FLAGS, MEMCG, TASK, TIME, SLOT, LEN };
	static const struct {
		int group, width;
	} columns[9] = { { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 2 },
			 { 0, 4 }, { 1, 8 }, { 2, 4 }, { 2, 2 } };
	static uint64_t values[9][DB_BATCH_EVENTS];
	static uint32_t next[DB_KIND_COUNT][64];
	static uint8_t planes[10 * DB_BATCH_EVENTS];
	uint32_t n = zr_get32(chunk + AT_EVENTS), unit_ns = zr_get32(chunk + AT_UNIT);
	const uint8_t *frame = chunk + HEADER, *plane = planes;
	uint64_t now_ns = zr_get64(chunk + AT_TIME);

	memset(values, 0, sizeof(values));
	memset(next, 0, sizeof(next));
	for (int c = 0; c < 9; c++) {
		const uint8_t *sizes = chunk + AT_GROUPS + 8 * columns[c].group;

		if (c == 0 || columns[c].group != columns[c - 1].group) {
			size_t got =
				ZSTD_decompress(planes, sizeof(planes), frame, zr_get32(sizes + 4));

			assert_int_equal(zr_get32(sizes + 4) ? got : 0, zr_get32(sizes));
			frame += zr_get32(sizes + 4);
			plane = planes;
		}
		for (int p = 0; p < columns[c].width; p++)
			if (chunk[AT_MASKS + c] & 1 << p)
				for (uint32_t i = 0; i < n; i++)
					values[c][i] |= (uint64_t)*plane++ << 8 * p;
	}
	for (uint32_t i = 0;; i++) {
		unsigned kind = (unsigned)values[KIND][i];
		uint32_t at = 0, *expected, z, slot, len;

		/* Its place: after all events of lesser kinds, and those of its own before it. */
		for (uint32_t j = 0; j < n; j++)
			at += values[KIND][j] < kind || (values[KIND][j] == kind && j < i);
		expected = &next[kind][values[TASK][at] % 64];
		z = (uint32_t)values[SLOT][at];
		slot = *expected + (z % 2 ? (uint32_t) - (int32_t)(z / 2) - 1 : z / 2);
		len = (uint32_t)values[LEN][at];
		now_ns += values[TIME][at] * unit_ns;
		*expected = slot;
		if (kind == DB_OUT || kind == DB_IN || kind == DB_WB)
			*expected = slot + 1;
		if (kind == DB_FREE)
			*expected = slot + (len ? len : 1);
		if (kind == DB_IO)
			*expected = slot + (len + 7) / 8;
		if (i == wanted)
			return (struct db_event){ now_ns,
						  slot,
						  (uint32_t)values[TASK][at],
						  (uint16_t)values[MEMCG][at],
						  (uint16_t)len,
						  (uint8_t)kind,
						  (uint8_t)values[AREA][at],
						  (uint8_t)values[ORDER][at],
						  (uint8_t)values[FLAGS][at] };
	}
}

static void a_decoder_written_from_the_text_reads_the_same(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	fill_random(&f->batch, 42, 700);
	chunk = encode(f, &bytes);
	assert_memory_equal(chunk, "ZRCK", 4);
	for (uint32_t i = 0; i < f->batch.n; i += 23)
		assert_same_event(decode_by_the_text(chunk, i), db_batch_event(&f->batch, i));
	free(chunk);
	fill_structured(&f->batch, 5000);
	chunk = encode(f, &bytes);
	for (uint32_t i = 0; i < f->batch.n; i += 499)
		assert_same_event(decode_by_the_text(chunk, i), db_batch_event(&f->batch, i));
	free(chunk);
}

static void times_of_a_coarse_clock_are_stored_in_its_unit(void **state)
{
	static const uint32_t units[] = { 1, 1000, 1000000 };
	struct fixture *f = *state;
	struct test_random random = { 12 };
	size_t bytes;
	uint8_t *chunk;

	for (int i = 0; i < 3; i++) {
		/* The first event's time is no multiple, and need not be. */
		uint64_t now_ns = 123456789;

		f->batch.n = 0;
		while (f->batch.n < 3000) {
			now_ns += (1 + test_draw(&random, 100)) * units[i];
			db_batch_add(&f->batch, &(struct db_event){ .time_ns = now_ns });
		}
		chunk = encode(f, &bytes);
		assert_int_equal(zr_get32(chunk + AT_UNIT), units[i]);
		/* 3000 differences below 256: one plane each, whatever the unit. */
		assert_int_equal(chunk[AT_MASKS + 6], 1);
		free(chunk);
		assert_round_trip(f);
		f->batch.time_ns[2999]++;
		assert_round_trip(f);
	}
}

/* A set of slots, kinds and cgroups that grows event by event. */
static void the_span_agrees_with_a_loop_over_the_events(void **state)
{
	struct fixture *f = *state;
	struct db_chunk_span span;
	size_t bytes;

	for (uint64_t seed = 1; seed < 40; seed++) {
		struct db_chunk_span want = { .slot_min = UINT32_MAX };

		fill_random(&f->batch, seed, (uint32_t)seed * 2);
		for (uint32_t i = 0; i < f->batch.n; i++) {
			struct db_event e = db_batch_event(&f->batch, i);
			uint64_t slots = 0, last;

			if (e.kind == DB_OUT)
				slots = e.flags & DB_F_PART ? 1 : UINT64_C(1) << e.order;
			else if (e.kind == DB_FREE)
				slots = e.len ? e.len : 1;
			else if (e.kind == DB_IO)
				slots = e.len / 8 + 1;
			else if (e.kind == DB_IN || e.kind == DB_WB)
				slots = 1;
			want.kinds |= 1u << e.kind;
			want.memcgs |= UINT64_C(1) << e.memcg % 64;
			if (!slots)
				continue;
			last = e.slot + slots - 1;
			last = last > UINT32_MAX ? UINT32_MAX : last;
			want.slot_min = e.slot < want.slot_min ? e.slot : want.slot_min;
			want.slot_max = last > want.slot_max ? (uint32_t)last : want.slot_max;
		}
		want.first_ns = f->batch.time_ns[0];
		want.last_ns = f->batch.time_ns[f->batch.n - 1];
		want.events = f->batch.n;
		free(encode(f, &bytes));
		span = db_codec_span(f->codec);
		assert_memory_equal(&span, &want, sizeof(span));
		assert_round_trip(f);
		span = db_codec_span(f->codec);
		assert_memory_equal(&span, &want, sizeof(span));
	}
}

static void events_without_slots_have_an_empty_slot_range(void **state)
{
	struct fixture *f = *state;
	size_t bytes;

	db_batch_add(&f->batch, &(struct db_event){ .kind = DB_SCAN, .slot = 7 });
	free(encode(f, &bytes));
	assert_true(db_codec_span(f->codec).slot_min > db_codec_span(f->codec).slot_max);
}

/* ------------------------------------------------------------------------------ invalid events */

static void encode_names_the_event_that_is_not_allowed(void **state)
{
	struct fixture *f = *state;
	const uint8_t *chunk;
	size_t bytes;

	fill_structured(&f->batch, 100);
	f->batch.kind[40] = DB_KIND_COUNT;
	assert_fails(db_chunk_encode(f->codec, &f->batch, &chunk, &bytes), ZR_CORRUPT, "event 40");
	fill_structured(&f->batch, 100);
	f->batch.kind[40] = 255;
	assert_fails(db_chunk_encode(f->codec, &f->batch, &chunk, &bytes), ZR_CORRUPT, "kind 255");
	fill_structured(&f->batch, 100);
	f->batch.flags[98] = DB_OUT_KEPT + 1;
	assert_fails(db_chunk_encode(f->codec, &f->batch, &chunk, &bytes), ZR_CORRUPT, "event 98");
	fill_structured(&f->batch, 100);
	f->batch.order[0] = DB_ORDER_MAX + 1;
	assert_fails(db_chunk_encode(f->codec, &f->batch, &chunk, &bytes), ZR_CORRUPT, "order 17");
	fill_structured(&f->batch, 100);
	f->batch.time_ns[50] = 1;
	assert_fails(db_chunk_encode(f->codec, &f->batch, &chunk, &bytes), ZR_CORRUPT,
		     "descends at event 50");
}

/* Every pair of kind and flags, against a list written by hand from event.h. */
static void flags_are_allowed_as_event_h_lists_them(void **state)
{
	static const struct {
		uint8_t kind, outcomes, further; /* highest outcome; further bits besides UNKNOWN */
	} rules[] = {
		{ DB_OUT, 3, 0x78 },  { DB_IN, 3, 0x40 }, { DB_FREE, 0, 0 },   { DB_WB, 4, 0 },
		{ DB_RECLAIM, 0, 0 }, { DB_SCAN, 1, 0 },  { DB_WORKER, 0, 0 }, { DB_SHRINK, 2, 0 },
		{ DB_SAMPLE, 0, 0 },  { DB_GAP, 3, 0 },
	};
	struct fixture *f = *state;
	const uint8_t *chunk;
	size_t bytes;

	f->batch.n = 1;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		for (unsigned flags = 0; flags < 256; flags++) {
			bool allowed =
				(flags & 7) <= rules[i].outcomes &&
				!(flags & 0x78 & ~rules[i].further) &&
				(rules[i].kind != DB_OUT || (flags >> 3 & 7) <= DB_REASON_OFF);

			f->batch.kind[0] = rules[i].kind;
			f->batch.flags[0] = (uint8_t)flags;
			assert_int_equal(!db_chunk_encode(f->codec, &f->batch, &chunk, &bytes),
					 allowed);
		}
	}
	f->batch.kind[0] = DB_IO;
	for (unsigned flags = 0; flags < 256; flags++) {
		bool allowed = (flags & 3) <= 2 && (flags >> 2 & 7) <= 2 && !(flags & 0x60);

		f->batch.flags[0] = (uint8_t)flags;
		assert_int_equal(!db_chunk_encode(f->codec, &f->batch, &chunk, &bytes), allowed);
	}
}

/* ------------------------------------------------------------------------------- damaged bytes */

static void decode_rejects_every_truncation(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	fill_random(&f->batch, 8, 300);
	chunk = encode(f, &bytes);
	for (size_t cut = 0; cut < bytes; cut++) {
		/* Memory of exactly this size, so that a sanitizer sees a read past it. */
		uint8_t *piece = malloc(cut + 1);

		memcpy(piece + 1, chunk, cut);
		assert_fails(db_chunk_decode(f->codec, "c", piece + 1, cut, &f->back), ZR_CORRUPT,
			     "c: ");
		assert_int_equal(f->back.n, 0);
		if (cut >= HEADER) {
			mend(piece + 1, cut);
			assert_fails(db_chunk_decode(f->codec, "c", piece + 1, cut, &f->back),
				     ZR_CORRUPT, "c: ");
		}
		free(piece);
	}
	free(chunk);
}

static void decode_detects_every_flipped_bit(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	fill_random(&f->batch, 9, 100);
	chunk = encode(f, &bytes);
	for (size_t at = 0; at < bytes; at++) {
		for (int bit = 0; bit < 8; bit++) {
			chunk[at] ^= (uint8_t)(1 << bit);
			assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back),
				     ZR_CORRUPT, "c: ");
			chunk[at] ^= (uint8_t)(1 << bit);
		}
	}
	free(chunk);
}

static void decode_rejects_bytes_at_the_end(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	fill_random(&f->batch, 9, 100);
	chunk = encode(f, &bytes);
	chunk[bytes] = 0;
	mend(chunk, bytes + 1);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes + 1, &f->back), ZR_CORRUPT,
		     "1 bytes too many");
	free(chunk);
}

static void decode_refuses_a_newer_format_by_name(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	fill_random(&f->batch, 9, 100);
	chunk = encode(f, &bytes);
	zr_put16(chunk + AT_VERSION, 2);
	mend(chunk, bytes);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_NEWER_VERSION,
		     "chunk format 2");
	zr_put16(chunk + AT_VERSION, 0);
	mend(chunk, bytes);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "chunk format 0");
	free(chunk);
}

/* A header that lies, with a right checksum. */
static void decode_rejects_lies_of_the_header(void **state)
{
	static const struct {
		int at, width;
		uint64_t value;
	} lies[] = {
		{ 10, 2, 1 },
		{ AT_EVENTS, 4, 0 },
		{ AT_EVENTS, 4, 65537 },
		{ AT_EVENTS, 4, 99 },
		{ AT_EVENTS, 4, 101 },
		{ AT_EVENTS, 4, UINT32_MAX },
		{ AT_TIME, 8, UINT64_MAX },
		{ AT_GROUPS, 4, 0 },
		{ AT_GROUPS, 4, UINT32_MAX },
		{ AT_GROUPS + 4, 4, 0 },
		{ AT_GROUPS + 4, 4, UINT32_MAX },
		{ AT_GROUPS + 12, 4, 1 },
		{ AT_GROUPS + 20, 4, 1 },
		{ AT_MASKS, 1, 0 },
		{ AT_MASKS, 1, 3 },
		{ AT_MASKS + 4, 1, 0x83 },
		{ AT_MASKS + 5, 1, 0x1f },
		{ AT_MASKS + 6, 1, 0 },
		{ AT_MASKS + 7, 1, 0xff },
		{ 57, 1, 1 },
		{ 59, 1, 1 },
		{ AT_UNIT, 4, 0 },
		{ AT_UNIT, 4, 1000000001 },
	};
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk, header[HEADER];

	fill_random(&f->batch, 9, 100);
	chunk = encode(f, &bytes);
	memcpy(header, chunk, HEADER);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		memcpy(chunk + lies[i].at, &lies[i].value, (size_t)lies[i].width);
		mend(chunk, bytes);
		assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
			     "c: ");
		assert_int_equal(f->back.n, 0);
		memcpy(chunk, header, HEADER);
	}
	assert_ok(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back));
	free(chunk);
}

/* A chunk of one event whose planes of group 0 are what is given. */
static size_t craft(uint8_t *chunk, size_t room, uint8_t kind, uint8_t order, uint8_t flags)
{
	const uint8_t planes[] = { kind, order, flags };
	size_t frame = ZSTD_compress(chunk + HEADER, room - HEADER, planes, sizeof(planes), 1);

	memset(chunk, 0, HEADER);
	memcpy(chunk, "ZRCK", 4);
	zr_put16(chunk + AT_VERSION, 1);
	zr_put32(chunk + AT_EVENTS, 1);
	zr_put32(chunk + AT_GROUPS, sizeof(planes));
	zr_put32(chunk + AT_GROUPS + 4, (uint32_t)frame);
	chunk[AT_MASKS] = chunk[AT_MASKS + 2] = chunk[AT_MASKS + 3] = 1;
	zr_put32(chunk + AT_UNIT, 1);
	mend(chunk, HEADER + frame);
	return HEADER + frame;
}

static void decode_rejects_events_that_no_kernel_makes(void **state)
{
	struct fixture *f = *state;
	uint8_t chunk[200];
	size_t bytes = craft(chunk, sizeof(chunk), DB_WB, 9, DB_WB_FAILED);

	assert_ok(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back));
	assert_int_equal(f->back.kind[0], DB_WB);
	bytes = craft(chunk, sizeof(chunk), DB_KIND_COUNT, 0, 0);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT, "kind 11");
	bytes = craft(chunk, sizeof(chunk), 200, 0, 0);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "kind 200");
	bytes = craft(chunk, sizeof(chunk), DB_OUT, 33, 0);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "order 33");
	bytes = craft(chunk, sizeof(chunk), DB_IN, 0, 7);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "flags 0x07");
}

/* Whatever decodes is a batch that can be encoded again. */
static void any_damage_with_a_right_checksum_gives_an_error_or_a_valid_batch(void **state)
{
	struct fixture *f = *state;
	struct test_random random = { 77 };
	unsigned valid = 0, invalid = 0;
	const uint8_t *again;
	size_t bytes, bytes_again;
	uint8_t *chunk, *broken;

	fill_random(&f->batch, 10, 200);
	chunk = encode(f, &bytes);
	broken = malloc(bytes);
	for (int i = 0; i < 20000; i++) {
		memcpy(broken, chunk, bytes);
		for (uint64_t j = test_draw(&random, 3) + 1; j > 0; j--)
			broken[AT_VERSION + test_draw(&random, bytes - AT_VERSION)] =
				(uint8_t)test_draw(&random, 256);
		mend(broken, bytes);
		if (db_chunk_decode(f->codec, "c", broken, bytes, &f->back)) {
			zr_error_clear();
			invalid++;
			continue;
		}
		valid++;
		assert_ok(db_chunk_encode(f->codec, &f->back, &again, &bytes_again));
	}
	/* Both happen, or this tries nothing. */
	assert_true(valid > 0 && invalid > 0);
	free(broken);
	free(chunk);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_events_come_back_as_they_were),
		TEST(extreme_values_come_back_as_they_were),
		TEST(the_same_events_give_the_same_bytes),
		TEST(two_sequences_at_once_cost_little),
		TEST(a_decoder_written_from_the_text_reads_the_same),
		TEST(times_of_a_coarse_clock_are_stored_in_its_unit),
		TEST(the_span_agrees_with_a_loop_over_the_events),
		TEST(events_without_slots_have_an_empty_slot_range),
		TEST(encode_names_the_event_that_is_not_allowed),
		TEST(flags_are_allowed_as_event_h_lists_them),
		TEST(decode_rejects_every_truncation),
		TEST(decode_detects_every_flipped_bit),
		TEST(decode_rejects_bytes_at_the_end),
		TEST(decode_refuses_a_newer_format_by_name),
		TEST(decode_rejects_lies_of_the_header),
		TEST(decode_rejects_events_that_no_kernel_makes),
		TEST(any_damage_with_a_right_checksum_gives_an_error_or_a_valid_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
