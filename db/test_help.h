/* SPDX-License-Identifier: MIT */
/*
 * What the tests of db/ share: a folder that goes away, seeded random numbers, random events that
 * event.h allows, batches compared. Included by tests only.
 */
#ifndef DB_TEST_HELP_H
#define DB_TEST_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ftw.h>
#include <unistd.h>

#include "db/db.h"

#include <cmocka.h>

/* Success, or the sentence of the error. */
#define assert_ok(call)                                                                            \
	do {                                                                                       \
		enum zr_err err_ = (call);                                                         \
		if (err_)                                                                          \
			fail_msg("%s: %s: %s", #call, zr_err_name(err_), zr_error_text());         \
	} while (0)

/* The error, told in a sentence that holds `words`; forgets it. */
#define assert_fails(call, wanted, words)                                                          \
	do {                                                                                       \
		enum zr_err err_ = (call);                                                         \
		if (err_ != (wanted))                                                              \
			fail_msg("%s: %s instead of %s: %s", #call, zr_err_name(err_),             \
				 zr_err_name(wanted), zr_error_text());                            \
		if (!strstr(zr_error_text(), (words)))                                             \
			fail_msg("%s: \"%s\" does not say \"%s\"", #call, zr_error_text(),         \
				 (words));                                                         \
		zr_error_clear();                                                                  \
	} while (0)

/* How much is asked of tests that could go on for long: 0 a sample (make check), 1 more (make test), 2 all of it
 * (make test-more). */
static inline int test_thoroughness(void)
{
	const char *level = getenv("ZREEL_THOROUGH");

	return level ? atoi(level) : 0;
}

/* -------------------------------------------------------------------------------------- folder */

/* A new folder's path, in the test's state. */
static inline int test_folder(void **state)
{
	const char *base = getenv("TMPDIR");
	char *path;

	zr_error_clear();
	if (asprintf(&path, "%s/zreel-test-XXXXXX", base ? base : "/tmp") < 0)
		return -1;
	*state = path;
	return mkdtemp(path) ? 0 : -1;
}

static inline int test_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static inline int test_remove_folder(void **state)
{
	int status = nftw(*state, test_remove_one, 16, FTW_DEPTH | FTW_PHYS);

	free(*state);
	return status;
}

/* Path of a file in the test's folder. Valid for the next few calls. */
static inline const char *in_folder(void **state, const char *name)
{
	static char paths[4][4096];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", (const char *)*state, name);
	return path;
}

/* -------------------------------------------------------------------------------------- random */

struct test_random {
	uint64_t state; /* not 0 */
};

static inline uint64_t test_draw(struct test_random *random, uint64_t below)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (random->state >> 11) % below;
}

static inline uint8_t test_draw_flags(struct test_random *random, unsigned kind)
{
	static const uint8_t outcomes[DB_KIND_COUNT] = {
		[DB_OUT] = 4,	  [DB_IN] = 4,	   [DB_FREE] = 1,   [DB_WB] = 5,
		[DB_RECLAIM] = 1, [DB_SCAN] = 2,   [DB_WORKER] = 1, [DB_SHRINK] = 3,
		[DB_IO] = 3,	  [DB_SAMPLE] = 1, [DB_GAP] = 4,
	};
	unsigned flags = (unsigned)test_draw(random, outcomes[kind]);

	if (kind == DB_OUT)
		flags |= (unsigned)test_draw(random, DB_REASON_OFF + 1) << DB_F_REASON_SHIFT;
	if (kind == DB_IO)
		flags |= (unsigned)test_draw(random, 3) << DB_IO_PHASE_SHIFT;
	if ((kind == DB_OUT || kind == DB_IN) && test_draw(random, 4) == 0)
		flags |= 0x40;
	if (test_draw(random, 16) == 0)
		flags |= DB_F_UNKNOWN;
	return (uint8_t)flags;
}

/* Any event that event.h allows, at or after *now_ns. */
static inline struct db_event test_draw_event(struct test_random *random, uint64_t *now_ns)
{
	uint8_t kind = (uint8_t)test_draw(random, DB_KIND_COUNT);

	*now_ns += test_draw(random, 3) ? test_draw(random, 100000) : 0;
	return (struct db_event){
		.time_ns = *now_ns,
		.kind = kind,
		.slot = (uint32_t)test_draw(random,
					    test_draw(random, 2) ? 1000 : (uint64_t)1 << 32),
		.task = (uint32_t)test_draw(random, test_draw(random, 2) ? 8 : (uint64_t)1 << 32),
		.memcg = (uint16_t)test_draw(random, 65536),
		.len = (uint16_t)test_draw(random, 65536),
		.area = (uint8_t)test_draw(random, 256),
		.order = (uint8_t)(kind == DB_OUT ? test_draw(random, DB_ORDER_MAX + 1)
						  : test_draw(random, 256)),
		.flags = test_draw_flags(random, kind),
	};
}

static inline void assert_same_event(struct db_event a, struct db_event b)
{
	assert_true(a.time_ns == b.time_ns);
	assert_int_equal(a.slot, b.slot);
	assert_int_equal(a.task, b.task);
	assert_int_equal(a.memcg, b.memcg);
	assert_int_equal(a.len, b.len);
	assert_int_equal(a.kind, b.kind);
	assert_int_equal(a.area, b.area);
	assert_int_equal(a.order, b.order);
	assert_int_equal(a.flags, b.flags);
}

static inline void assert_same_batch(const struct db_batch *a, const struct db_batch *b)
{
	assert_int_equal(a->n, b->n);
	for (uint32_t i = 0; i < a->n; i++)
		assert_same_event(db_batch_event(a, i), db_batch_event(b, i));
}

#endif
