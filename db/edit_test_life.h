/* SPDX-License-Identifier: MIT */
/*
 * Traces for the tests of the tools: the life of a few swap slots by dice, such as a kernel could have it
 * (what is freed was swapped out, a part follows its folio), held as an array beside the file that is made
 * of it, so that tests can compare the file with what a linear scan of the array says. Tests only.
 */
#ifndef DB_EDIT_TEST_LIFE_H
#define DB_EDIT_TEST_LIFE_H

#include "db/test_help.h"

enum { LIFE_AREAS = 2, LIFE_SLOTS = 256, LIFE_MEMCGS = 4, LIFE_TASKS = 5, LIFE_MAX = 6000 };

struct life {
	struct test_random random;
	uint32_t host;
	uint64_t now_ns;
	struct db_event events[LIFE_MAX];
	uint32_t n;
	bool held[LIFE_AREAS + 1][LIFE_SLOTS];
	uint8_t order[LIFE_AREAS + 1][LIFE_SLOTS]; /* of the folio that begins there */
	bool no_slotless;			   /* only events of slots */
};

static inline void life_add(struct life *life, struct db_event e)
{
	e.time_ns = life->now_ns;
	if (!e.task)
		e.task = 1 + (uint32_t)test_draw(&life->random, LIFE_TASKS);
	life->events[life->n++] = e;
}

static inline void life_out(struct life *life, uint8_t area, uint32_t slot)
{
	uint8_t order = test_draw(&life->random, 6) ? 0 : (uint8_t)(1 + test_draw(&life->random, 3));
	uint8_t outcome = (uint8_t)test_draw(&life->random, 4);
	struct db_event e = { .kind = DB_OUT, .area = area, .order = order,
			      .memcg = (uint16_t)(1 + test_draw(&life->random, LIFE_MEMCGS)),
			      .task = 1 + (uint32_t)test_draw(&life->random, LIFE_TASKS) };
	uint32_t pages = 1u << order;

	e.slot = slot & ~(pages - 1);
	e.flags = outcome;
	if (outcome == DB_OUT_STORED)
		e.len = (uint16_t)test_draw(&life->random, 4097);
	life_add(life, e);
	for (uint32_t i = 0; i < pages; i++) {
		life->held[area][e.slot + i] = true;
		life->order[area][e.slot + i] = 0;
	}
	life->order[area][e.slot] = order;
	e.flags |= DB_F_PART;
	for (uint32_t i = 1; i < pages && outcome == DB_OUT_STORED; i++) {
		e.slot++;
		e.len = (uint16_t)(1 + test_draw(&life->random, 4096));
		life_add(life, e);
	}
}

/* Something that happens to a slot that holds a page. */
static inline void life_use(struct life *life, uint8_t area, uint32_t slot)
{
	struct db_event e = { .area = area, .slot = slot };
	uint32_t pages = 1u << life->order[area][slot];

	switch (test_draw(&life->random, 4)) {
	case 0:
		e.kind = DB_IN;
		e.flags = (uint8_t)test_draw(&life->random, 4);
		break;
	case 1:
		e.kind = DB_WB;
		e.flags = (uint8_t)test_draw(&life->random, 5);
		break;
	case 2:
		e.kind = DB_IO;
		e.len = (uint16_t)(8 * (1 + test_draw(&life->random, 4)));
		e.flags = (uint8_t)(test_draw(&life->random, 3) |
				    test_draw(&life->random, 3) << DB_IO_PHASE_SHIFT);
		break;
	default:
		e.kind = DB_FREE;
		e.len = (uint16_t)(pages > 1 ? pages : 0);
		for (uint32_t i = 0; i < pages; i++)
			life->held[area][slot + i] = false;
	}
	life_add(life, e);
}

static inline void life_slotless(struct life *life)
{
	static const uint8_t kinds[] = { DB_RECLAIM, DB_SCAN, DB_WORKER, DB_SHRINK, DB_SAMPLE,
					 DB_GAP };
	struct db_event e = { .kind = kinds[test_draw(&life->random, sizeof(kinds))] };

	if (e.kind == DB_GAP) {
		e.slot = 1 + (uint32_t)test_draw(&life->random, 50);
		e.flags = DB_GAP_IMPORT;
	} else if (e.kind != DB_WORKER && e.kind != DB_SAMPLE) {
		e.memcg = (uint16_t)(1 + test_draw(&life->random, LIFE_MEMCGS));
	}
	life_add(life, e);
}

/* Events up to `n`, about 10 us apart. */
static inline void life_run(struct life *life, uint32_t n)
{
	while (life->n + 8 < n) {
		uint8_t area = (uint8_t)(1 + test_draw(&life->random, LIFE_AREAS));
		uint32_t slot = (uint32_t)test_draw(&life->random, LIFE_SLOTS);

		life->now_ns += 1 + test_draw(&life->random, 20000);
		if (!life->no_slotless && test_draw(&life->random, 8) == 0)
			life_slotless(life);
		else if (life->held[area][slot])
			life_use(life, area, slot);
		else
			life_out(life, area, slot);
	}
}

static inline void life_describe(const struct life *life, struct db *db)
{
	static const char *const paths[LIFE_MEMCGS] = { "/a", "/a/b", "/ab", "/c" };
	uint32_t host = life->host;

	assert_ok(db_env_set(db, host, DB_ENV_CLOCK, "mono"));
	assert_ok(db_env_setf(db, host, DB_ENV_HOSTNAME, "host-%u", host));
	assert_ok(db_env_set(db, host, DB_ENV_PAGE_SIZE, "4096"));
	for (uint32_t i = 0; i < LIFE_MEMCGS; i++)
		assert_ok(db_put_memcg(db, &(struct db_memcg){ host, i + 1, 100 + i, paths[i] }));
	for (uint32_t i = 1; i <= LIFE_TASKS; i++)
		assert_ok(db_put_task(db, &(struct db_task){ host, i, 1000 + i, 1000 + i, "" }));
	for (uint32_t i = 1; i <= LIFE_AREAS; i++)
		assert_ok(db_put_area(db, &(struct db_area){ .host = host,
							     .id = i,
							     .type = i - 1,
							     .path = i == 1 ? "/dev/vda" : "/swapfile",
							     .slots = LIFE_SLOTS }));
}

/* Writes a range of the events of a life as one host of an open trace, in chunks of about 100 events. */
static inline void life_write(const struct life *life, struct db *db)
{
	struct db_writer_options options = { .host = life->host, .flush_every_ns = 1000000 };
	struct db_writer *writer;

	life_describe(life, db);
	assert_ok(db_writer_new(db, &options, &writer));
	for (uint32_t i = 0; i < life->n; i++)
		assert_ok(db_writer_add(writer, &life->events[i]));
	assert_ok(db_writer_free(writer));
}

static inline void life_make_file(const struct life *life, const char *path)
{
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	life_write(life, db);
	assert_ok(db_set_complete(db));
	assert_ok(db_close(db));
}

/* A life of `n` events, on the heap: it is too large for a stack. */
static inline struct life *life_new(uint64_t seed, uint32_t n)
{
	struct life *life = calloc(1, sizeof(*life));

	assert_non_null(life);
	assert_true(n <= LIFE_MAX);
	life->random.state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	life->now_ns = 1000000000;
	life_run(life, n);
	return life;
}

/* All events of a host of a file. Returns how many; `to` has room for `room`. */
static inline uint32_t life_read(const char *path, uint32_t host, struct db_event *to,
				 uint32_t room)
{
	struct db_filter filter = { .host = host };
	const struct db_batch *batch;
	struct db_reader *reader;
	uint32_t n = 0;
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_reader_new(db, &filter, &reader));
	for (;;) {
		assert_ok(db_reader_next(reader, &batch));
		if (!batch)
			break;
		for (uint32_t row = 0; row < batch->n; row++) {
			assert_true(n < room);
			to[n++] = db_batch_event(batch, row);
		}
	}
	db_reader_free(reader);
	assert_ok(db_close(db));
	return n;
}

static inline void assert_same_events(const struct db_event *a, uint32_t n_a,
				      const struct db_event *b, uint32_t n_b)
{
	for (uint32_t i = 0; i < n_a && i < n_b; i++)
		assert_same_event(a[i], b[i]);
	assert_int_equal(n_a, n_b);
}

#endif
