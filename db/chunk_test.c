/* SPDX-License-Identifier: MIT */
/* Tests of the chunk codec. Beside round trips, a second decoder written from the text of
 * chunk_format.h. Chunks of version 1, which nobody writes any more, are those of a golden file. */
#include "db/test_help.h"

#include <sqlite3.h>
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
	AT_BITS = 40,
	AT_UNIT = 44,
	AT_MASKS = 48,
	HEADER = 56,
	AT_UNIT_1 = 60,
	HEADER_1 = 64,
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

/* The longest chunk of the golden file of version 1, in memory of our own. */
static uint8_t *old_chunk(size_t *bytes)
{
	uint8_t *copy;
	sqlite3 *sql;
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_open("db/golden/v1-two-hosts.zr", &sql), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sql,
					    "SELECT data FROM chunk ORDER BY length(data) DESC", -1,
					    &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	*bytes = (size_t)sqlite3_column_bytes(stmt, 0);
	copy = malloc(*bytes + 1);
	memcpy(copy, sqlite3_column_blob(stmt, 0), *bytes);
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
	assert_int_equal(copy[AT_VERSION], 1);
	return copy;
}

/* A chunk of each version. */
static uint8_t *any_chunk(struct fixture *f, int version, size_t *bytes)
{
	if (version == 1)
		return old_chunk(bytes);
	fill_random(&f->batch, 9, 300);
	return encode(f, bytes);
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
	/* Times and lengths cost what they cost. */
	memset(f->batch.time_ns, 0, sizeof(*f->batch.time_ns) * f->batch.n);
	memset(f->batch.len, 0, sizeof(*f->batch.len) * f->batch.n);
	free(encode(f, &bytes));
	/* Which task comes next is one bit of chance an event pair; anything near a byte has lost
	 * the sequences. */
	assert_in_range(bytes, 1, DB_BATCH_EVENTS / 2);
}

/* The text of chunk_format.h as a program: plain, slow, for valid chunks. */
enum { TYPE, AREA, ORDER, MEMCG, TASK, TIME, SLOT, LEN };

struct by_the_text {
	uint64_t values[8][DB_BATCH_EVENTS];
	const uint8_t *bits;
	uint64_t bit;
	uint32_t lists[3][DB_BATCH_EVENTS], lengths[3], places[DB_KIND_COUNT + 1][3];
	uint32_t next[DB_KIND_COUNT + 1][64];
};

static void columns_by_the_text(struct by_the_text *t, const uint8_t *chunk)
{
	static const struct {
		int group, width;
	} columns[8] = { { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 2 },
			 { 0, 4 }, { 1, 1 }, { 1, 1 }, { 1, 1 } };
	static uint8_t planes[9 * DB_BATCH_EVENTS];
	uint32_t n = zr_get32(chunk + AT_EVENTS);
	const uint8_t *frame = chunk + HEADER, *plane = planes;

	for (int c = 0; c < 8; c++) {
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
					t->values[c][i] |= (uint64_t)*plane++ << 8 * p;
	}
	t->bits = frame;
}

static uint64_t number_by_the_text(struct by_the_text *t, uint64_t code, unsigned m)
{
	uint64_t low = 0, top = ((uint64_t)1 << m) + code % ((uint64_t)1 << m);

	if (code < (uint64_t)1 << m)
		return code;
	for (unsigned i = 0; i < (code >> m) - 1; i++, t->bit++)
		low |= (uint64_t)(t->bits[t->bit / 8] >> t->bit % 8 & 1) << i;
	return (top << ((code >> m) - 1)) + low;
}

static uint32_t slot_by_the_text(struct by_the_text *t, struct db_event e, uint64_t code,
				 uint32_t z)
{
	uint32_t d = z % 2 ? (uint32_t) - (int32_t)(z / 2) - 1 : z / 2, slot;
	int row = e.kind == DB_IO && e.flags >> 2 & 7 ? DB_KIND_COUNT : e.kind;

	if (code < 102) {
		slot = t->lists[code / 34][t->places[row][code / 34] += d];
		t->places[row][code / 34]++;
	} else {
		slot = t->next[row][e.task % 64] + d;
		t->next[row][e.task % 64] = slot;
		if (e.kind == DB_OUT || e.kind == DB_IN || e.kind == DB_WB)
			t->next[row][e.task % 64] = slot + 1;
		if (e.kind == DB_FREE)
			t->next[row][e.task % 64] = slot + (e.len ? e.len : 1u);
		if (e.kind == DB_IO)
			t->next[row][e.task % 64] = slot + e.len / 8u;
	}
	if (e.kind == DB_OUT || e.kind == DB_IN || row == DB_IO) {
		int list = e.kind == DB_OUT ? 0 : e.kind == DB_IN ? 1 : 2;

		t->lists[list][t->lengths[list]++] = slot;
	}
	return slot;
}

/* Kind and flags of a type: the nth pair that the encoder takes. */
static void types_by_trying(struct fixture *f, uint8_t types[][2], unsigned *n)
{
	const uint8_t *chunk;
	size_t bytes;

	*n = 0;
	for (unsigned both = 0; both < DB_KIND_COUNT * 256; both++) {
		f->back.n = 0;
		db_batch_add(&f->back, &(struct db_event){ .kind = (uint8_t)(both / 256),
							   .flags = (uint8_t)both });
		if (db_chunk_encode(f->codec, &f->back, &chunk, &bytes))
			continue;
		types[*n][0] = (uint8_t)(both / 256);
		types[(*n)++][1] = (uint8_t)both;
	}
	zr_error_clear();
}

/* Decodes to f->back. */
static void decode_by_the_text(struct fixture *f, const uint8_t *chunk)
{
	static struct by_the_text t;
	uint8_t types[256][2];
	uint32_t n = zr_get32(chunk + AT_EVENTS), last_task = 1;
	uint64_t now_ns = zr_get64(chunk + AT_TIME);
	unsigned n_types;

	types_by_trying(f, types, &n_types);
	assert_int_equal(n_types, 182);
	memset(&t, 0, sizeof(t));
	columns_by_the_text(&t, chunk);
	f->back.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t type = t.values[TYPE][i], slot_code, z, ahead;
		struct db_event e = { .kind = types[type][0], .flags = types[type][1] };
		uint32_t at = 0;

		/* Its place: after all events of lesser types, and those of its own before it. */
		for (uint32_t j = 0; j < n; j++)
			at += t.values[TYPE][j] < type || (t.values[TYPE][j] == type && j < i);
		assert_true(t.values[TIME][at] < 240);
		ahead = number_by_the_text(&t, t.values[TIME][at], 3);
		now_ns += ahead * zr_get32(chunk + AT_UNIT);
		slot_code = t.values[SLOT][at];
		z = number_by_the_text(&t, slot_code < 102 ? slot_code % 34 : slot_code - 102, 1);
		e.time_ns = now_ns;
		e.len = (uint16_t)number_by_the_text(&t, t.values[LEN][at], 4);
		e.task = (uint32_t)t.values[TASK][at];
		e.task = e.task == 1 ? last_task : e.task == last_task ? 1 : e.task;
		last_task = e.task ? e.task : last_task;
		e.slot = slot_by_the_text(&t, e, slot_code, (uint32_t)z);
		e.memcg = (uint16_t)t.values[MEMCG][at];
		e.area = (uint8_t)t.values[AREA][at];
		e.order = (uint8_t)t.values[ORDER][at];
		db_batch_add(&f->back, &e);
	}
	assert_int_equal((t.bit + 7) / 8, zr_get32(chunk + AT_BITS));
}

static void a_decoder_written_from_the_text_reads_the_same(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	for (int i = 0; i < 2; i++) {
		if (i)
			fill_structured(&f->batch, 3000);
		else
			fill_random(&f->batch, 42, 3000);
		chunk = encode(f, &bytes);
		assert_memory_equal(chunk, "ZRCK", 4);
		decode_by_the_text(f, chunk);
		assert_same_batch(&f->batch, &f->back);
		free(chunk);
	}
}

/* Pages that leave come back in about the same order, and leave again where they were. */
static void a_queue_of_pages_that_come_and_go_costs_little(void **state)
{
	enum { PAGES = 10000 };
	static uint32_t slots[PAGES];
	struct fixture *f = *state;
	struct test_random random = { 31 };
	size_t bytes;

	for (uint32_t i = 0; i < PAGES; i++)
		slots[i] = (uint32_t)test_draw(&random, 1 << 30);
	for (uint32_t i = 0; i < 6 * PAGES; i++) {
		struct db_event e = { .time_ns = i * 1000,
				      .kind = i / PAGES % 2 ? DB_IN : DB_OUT,
				      .task = 1 + i % 3,
				      .slot = slots[i % PAGES] };

		db_batch_add(&f->batch, &e);
	}
	free(encode(f, &bytes));
	/* The first time each slot takes 5 bytes, and later none. */
	assert_in_range(bytes, 1, 6 * PAGES);
	assert_round_trip(f);
}

static void times_of_a_coarse_clock_are_stored_in_its_unit(void **state)
{
	static const uint32_t units[] = { 1, 1000, 1000000 };
	struct fixture *f = *state;
	size_t bytes, bytes_of_first = 0;
	uint8_t *chunk;

	for (int i = 0; i < 3; i++) {
		struct test_random random = { 12 };
		/* The first event's time is no multiple, and need not be. */
		uint64_t now_ns = 123456789;

		f->batch.n = 0;
		while (f->batch.n < 3000) {
			now_ns += (1 + test_draw(&random, 100)) * units[i];
			db_batch_add(&f->batch, &(struct db_event){ .time_ns = now_ns });
		}
		chunk = encode(f, &bytes);
		assert_int_equal(zr_get32(chunk + AT_UNIT), units[i]);
		/* The same differences in the same bytes, whatever the unit. */
		bytes_of_first = i ? bytes_of_first : bytes;
		assert_int_equal(bytes, bytes_of_first);
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

	for (int version = 1; version <= 2; version++) {
		chunk = any_chunk(f, version, &bytes);
		for (size_t cut = 0; cut < bytes; cut++) {
			/* Memory of exactly this size, so that a sanitizer sees a read past it. */
			uint8_t *piece = malloc(cut + 1);

			memcpy(piece + 1, chunk, cut);
			assert_fails(db_chunk_decode(f->codec, "c", piece + 1, cut, &f->back),
				     ZR_CORRUPT, "c: ");
			assert_int_equal(f->back.n, 0);
			if (cut > AT_CRC + 4) {
				mend(piece + 1, cut);
				assert_fails(
					db_chunk_decode(f->codec, "c", piece + 1, cut, &f->back),
					ZR_CORRUPT, "c: ");
			}
			free(piece);
		}
		free(chunk);
	}
}

static void decode_detects_every_flipped_bit(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	for (int version = 1; version <= 2; version++) {
		chunk = any_chunk(f, version, &bytes);
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
}

static void decode_rejects_bytes_at_the_end(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	for (int version = 1; version <= 2; version++) {
		chunk = any_chunk(f, version, &bytes);
		chunk[bytes] = 0;
		mend(chunk, bytes + 1);
		assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes + 1, &f->back), ZR_CORRUPT,
			     version == 1 ? "1 bytes too many" : "bytes of bits");
		if (version == 2) {
			zr_put32(chunk + AT_BITS, zr_get32(chunk + AT_BITS) + 1);
			mend(chunk, bytes + 1);
			assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes + 1, &f->back),
				     ZR_CORRUPT, "its codes need");
		}
		free(chunk);
	}
}

static void decode_refuses_a_newer_format_by_name(void **state)
{
	struct fixture *f = *state;
	size_t bytes;
	uint8_t *chunk;

	fill_random(&f->batch, 9, 100);
	chunk = encode(f, &bytes);
	zr_put16(chunk + AT_VERSION, 3);
	mend(chunk, bytes);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_NEWER_VERSION,
		     "chunk format 3");
	zr_put16(chunk + AT_VERSION, 0);
	mend(chunk, bytes);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "chunk format 0");
	free(chunk);
}

struct lie {
	int at, width;
	uint64_t value;
};

/* Each of n lies makes the chunk invalid, and nothing else does. */
static void assert_lies_are_found(struct fixture *f, int version, const struct lie *lies, size_t n)
{
	uint8_t header[HEADER_1];
	size_t bytes;
	uint8_t *chunk = any_chunk(f, version, &bytes);

	memcpy(header, chunk, HEADER_1);
	for (size_t i = 0; i < n; i++) {
		memcpy(chunk + lies[i].at, &lies[i].value, (size_t)lies[i].width);
		mend(chunk, bytes);
		assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
			     "c: ");
		assert_int_equal(f->back.n, 0);
		memcpy(chunk, header, HEADER_1);
	}
	assert_ok(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back));
	free(chunk);
}

/* A header that lies, with a right checksum. */
static void decode_rejects_lies_of_the_header(void **state)
{
	static const struct lie lies[] = {
		{ 10, 2, 1 },
		{ AT_EVENTS, 4, 0 },
		{ AT_EVENTS, 4, 65537 },
		{ AT_EVENTS, 4, 299 },
		{ AT_EVENTS, 4, 301 },
		{ AT_EVENTS, 4, UINT32_MAX },
		{ AT_TIME, 8, UINT64_MAX },
		{ AT_GROUPS, 4, 0 },
		{ AT_GROUPS, 4, UINT32_MAX },
		{ AT_GROUPS + 4, 4, 0 },
		{ AT_GROUPS + 4, 4, UINT32_MAX },
		{ AT_GROUPS + 12, 4, 1 },
		{ AT_BITS, 4, 0 },
		{ AT_BITS, 4, 1 },
		{ AT_BITS, 4, UINT32_MAX },
		{ AT_UNIT, 4, 0 },
		{ AT_UNIT, 4, 1000000001 },
		{ AT_MASKS, 1, 0 },
		{ AT_MASKS, 1, 3 },
		{ AT_MASKS + 3, 1, 0x83 },
		{ AT_MASKS + 4, 1, 0x1f },
		{ AT_MASKS + 5, 1, 0 },
		{ AT_MASKS + 7, 1, 0xff },
	};
	static const struct lie lies_1[] = {
		{ 10, 2, 1 },
		{ AT_EVENTS, 4, 0 },
		{ AT_EVENTS, 4, 65537 },
		{ AT_EVENTS, 4, 1 },
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
		{ AT_UNIT_1, 4, 0 },
		{ AT_UNIT_1, 4, 1000000001 },
	};

	assert_lies_are_found(*state, 2, lies, sizeof(lies) / sizeof(lies[0]));
	assert_lies_are_found(*state, 1, lies_1, sizeof(lies_1) / sizeof(lies_1[0]));
}

/* A chunk of version 1 of one event whose planes of group 0 are what is given. */
static size_t craft_1(uint8_t *chunk, size_t room, uint8_t kind, uint8_t order, uint8_t flags)
{
	const uint8_t planes[] = { kind, order, flags };
	size_t frame = ZSTD_compress(chunk + HEADER_1, room - HEADER_1, planes, sizeof(planes), 1);

	memset(chunk, 0, HEADER_1);
	memcpy(chunk, "ZRCK", 4);
	zr_put16(chunk + AT_VERSION, 1);
	zr_put32(chunk + AT_EVENTS, 1);
	zr_put32(chunk + AT_GROUPS, sizeof(planes));
	zr_put32(chunk + AT_GROUPS + 4, (uint32_t)frame);
	chunk[AT_MASKS] = chunk[AT_MASKS + 2] = chunk[AT_MASKS + 3] = 1;
	zr_put32(chunk + AT_UNIT_1, 1);
	mend(chunk, HEADER_1 + frame);
	return HEADER_1 + frame;
}

static void version_1_rejects_events_that_no_kernel_makes(void **state)
{
	struct fixture *f = *state;
	uint8_t chunk[200];
	size_t bytes = craft_1(chunk, sizeof(chunk), DB_WB, 9, DB_WB_FAILED);

	assert_ok(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back));
	assert_int_equal(f->back.kind[0], DB_WB);
	bytes = craft_1(chunk, sizeof(chunk), DB_KIND_COUNT, 0, 0);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT, "kind 11");
	bytes = craft_1(chunk, sizeof(chunk), 200, 0, 0);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "kind 200");
	bytes = craft_1(chunk, sizeof(chunk), DB_OUT, 33, 0);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "order 33");
	bytes = craft_1(chunk, sizeof(chunk), DB_IN, 0, 7);
	assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back), ZR_CORRUPT,
		     "flags 0x07");
}

struct crafted {
	uint8_t type, order, time, slot, len;
	uint8_t bits; /* bytes, all zero but the last, which is `last` */
	uint8_t last;
	const char *error; /* NULL: valid */
};

static size_t craft(uint8_t *chunk, size_t room, struct crafted c)
{
	const uint8_t planes[2][3] = { { c.type, c.order }, { c.time, c.slot, c.len } };
	uint8_t *at = chunk + HEADER;

	memset(chunk, 0, room);
	memcpy(chunk, "ZRCK", 4);
	zr_put16(chunk + AT_VERSION, 2);
	zr_put32(chunk + AT_EVENTS, 1);
	for (int group = 0; group < 2; group++) {
		uint32_t size = group ? 3 : 2;
		size_t frame =
			ZSTD_compress(at, room - (size_t)(at - chunk), planes[group], size, 1);

		zr_put32(chunk + AT_GROUPS + 8 * group, size);
		zr_put32(chunk + AT_GROUPS + 8 * group + 4, (uint32_t)frame);
		at += frame;
	}
	memset(at, 0, c.bits + 1u);
	if (c.bits)
		at[c.bits - 1] = c.last;
	zr_put32(chunk + AT_BITS, c.bits);
	zr_put32(chunk + AT_UNIT, 1);
	memcpy(chunk + AT_MASKS, (const uint8_t[]){ 1, 0, 1, 0, 0, 1, 1, 1 }, 8);
	at += c.bits;
	mend(chunk, (size_t)(at - chunk));
	return (size_t)(at - chunk);
}

static void decode_rejects_codes_and_events_that_are_none(void **state)
{
	static const struct crafted all[] = {
		{ 0, 16, 0, 102, 0, 0, 0, NULL },
		{ 181, 255, 239, 165, 207, 9, 0x1f, NULL },
		{ 181, 255, 239, 165, 207, 9, 0x20, "its codes need 69 bits" },
		{ 181, 255, 239, 165, 207, 8, 0, "its codes need 69 bits" },
		{ 181, 255, 239, 165, 207, 10, 0, "its codes need 69 bits" },
		{ 0, 0, 240, 102, 0, 8, 0, NULL },
		{ 182, 0, 0, 102, 0, 0, 0, "type 182" },
		{ 255, 0, 0, 102, 0, 0, 0, "type 255" },
		{ 0, 17, 0, 102, 0, 0, 0, "order 17" },
		{ 0, 0, 241, 102, 0, 0, 0, "a code is none" },
		{ 0, 0, 255, 102, 0, 0, 0, "a code is none" },
		{ 0, 0, 0, 166, 0, 0, 0, "a code is none" },
		{ 0, 0, 0, 255, 0, 0, 0, "a code is none" },
		{ 0, 0, 0, 102, 208, 0, 0, "a code is none" },
		{ 0, 0, 0, 102, 255, 0, 0, "a code is none" },
		/* Nothing is in the lists before the first event. */
		{ 0, 0, 0, 0, 0, 0, 0, "in no list" },
		{ 0, 0, 0, 1, 0, 0, 0, "in no list" },
		{ 112, 0, 0, 34, 0, 0, 0, "in no list" },
		{ 154, 0, 0, 101, 0, 2, 0, "in no list" },
	};
	struct fixture *f = *state;
	uint8_t chunk[200];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t bytes = craft(chunk, sizeof(chunk), all[i]);

		if (all[i].error)
			assert_fails(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back),
				     ZR_CORRUPT, all[i].error);
		else
			assert_ok(db_chunk_decode(f->codec, "c", chunk, bytes, &f->back));
	}
}

/* Whatever decodes is a batch that can be encoded again. */
static void any_damage_with_a_right_checksum_gives_an_error_or_a_valid_batch(void **state)
{
	struct fixture *f = *state;
	struct test_random random = { 77 };

	for (int version = 1; version <= 2; version++) {
		unsigned valid = 0, invalid = 0;
		const uint8_t *again;
		size_t bytes, bytes_again;
		uint8_t *chunk = any_chunk(f, version, &bytes), *broken = malloc(bytes);

		for (int i = 0; i < 10000; i++) {
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
		TEST(a_queue_of_pages_that_come_and_go_costs_little),
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
		TEST(version_1_rejects_events_that_no_kernel_makes),
		TEST(decode_rejects_codes_and_events_that_are_none),
		TEST(any_damage_with_a_right_checksum_gives_an_error_or_a_valid_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
