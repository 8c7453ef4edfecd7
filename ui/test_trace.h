/* SPDX-License-Identifier: MIT */
/*
 * A small trace for tests of the dashboard: made by arithmetic, the same on every machine.
 *
 * 20,000 events over 20 s on 4,096 slots. Folios leave in runs of ascending slots, a third comes back, a
 * sixth is freed; every 400 events the shrinker is asked to scan 128 entries; at 8 s and 15 s a gap.
 * The pool's limit is 300 pages, so that it fills and pages are written back.
 */
#ifndef UI_TEST_TRACE_H
#define UI_TEST_TRACE_H

#include "db/db.h"

enum { TEST_EVENTS = 20000, TEST_SLOTS = 4096, TEST_STEP_NS = 1000000 };

static struct db_event test_trace_event(uint32_t i, uint8_t *held)
{
	struct db_event e = {
		.time_ns = 5000000000 + (uint64_t)i * TEST_STEP_NS, .memcg = 1, .task = 1, .area = 1
	};
	uint32_t mixed = (i * 2654435761u) >> 16, slot = 1 + mixed % (TEST_SLOTS - 1);

	if (i == 8000 || i == 15000) {
		e.kind = DB_GAP;
		e.slot = 17;
		e.flags = DB_GAP_RING;
	} else if (i % 400 == 399) {
		e.kind = DB_SCAN;
		e.slot = 128;
	} else if (i % 6 >= 3 && held[slot]) {
		/* What lies there comes back or is freed, whichever its number says. */
		held[slot] = 0;
		e.kind = i % 6 == 5 ? DB_FREE : DB_IN;
		e.slot = slot;
	} else {
		e.slot = 1 + (i / 16 * 37 + i % 16) % (TEST_SLOTS - 1);
		e.kind = held[e.slot] ? DB_IN : DB_OUT;
		e.len = e.kind == DB_OUT ? (uint16_t)(600 + mixed % 1500) : 0;
		held[e.slot] = e.kind == DB_OUT;
	}
	return e;
}

static enum zr_err test_trace_fill(struct db *db, uint32_t events)
{
	static uint8_t held[TEST_SLOTS];
	struct db_writer_options options = { 0 };
	struct db_writer *writer;
	enum zr_err err = db_writer_new(db, &options, &writer), freed;

	if (err)
		return err;
	for (uint32_t i = 0; i < TEST_SLOTS; i++)
		held[i] = 0;
	for (uint32_t i = 0; i < events && !err; i++) {
		struct db_event event = test_trace_event(i, held);

		err = db_writer_add(writer, &event);
	}
	freed = db_writer_free(writer);
	return err ? err : freed;
}

static enum zr_err test_trace_describe(struct db *db, const char *kernel)
{
	static const char *const env[][2] = {
		{ DB_ENV_PAGE_SIZE, "4096" },
		{ DB_ENV_MEM_PAGES, "1500" },
		{ DB_ENV_CLOCK, "mono" },
		{ DB_ENV_ZSWAP_PREFIX "max_pool_percent", "20" },
		{ DB_ENV_ZSWAP_PREFIX "accept_threshold_percent", "90" },
	};
	struct db_area area = { .id = 1, .path = "/dev/vda", .slots = TEST_SLOTS, .priority = -2 };
	struct db_memcg memcg = { .id = 1, .cgroup_id = 77, .path = "/job" };
	struct db_task task = { .id = 1, .tid = 100, .tgid = 100, .comm = "" };
	enum zr_err err = db_env_set(db, 0, DB_ENV_KERNEL, kernel);

	for (size_t i = 0; i < sizeof(env) / sizeof(env[0]) && !err; i++)
		err = db_env_set(db, 0, env[i][0], env[i][1]);
	if (!err)
		err = db_put_area(db, &area);
	if (!err)
		err = db_put_memcg(db, &memcg);
	return err ? err : db_put_task(db, &task);
}

/* Makes the file with the first `events` of the TEST_EVENTS; `kernel` goes into the environment. */
static enum zr_err test_trace_make(const char *path, const char *kernel, uint32_t events)
{
	struct db *db;
	enum zr_err err = db_open(path, DB_CREATE, &db), closed;

	if (err)
		return err;
	err = test_trace_describe(db, kernel);
	if (!err)
		err = test_trace_fill(db, events);
	if (!err)
		err = db_set_complete(db);
	closed = db_close(db);
	return err ? err : closed;
}

#endif
