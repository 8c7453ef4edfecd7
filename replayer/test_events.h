/* SPDX-License-Identifier: MIT */
/* For tests: event batches by hand, and a seeded generator that is not the code under test's. */
#ifndef REPLAYER_TEST_EVENTS_H
#define REPLAYER_TEST_EVENTS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "replayer/replayer.h"

/* xorshift64* */
static inline uint32_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545f4914f6cdd1d >> 32);
}

static inline uint32_t random_below(uint64_t *state, uint32_t end)
{
	return random_next(state) % end;
}

static inline struct db_event event_out(uint32_t slot, uint16_t memcg, uint16_t len)
{
	return (struct db_event){
		.kind = DB_OUT, .slot = slot, .memcg = memcg, .len = len, .task = 1, .flags = DB_OUT_STORED
	};
}

/* A store that the recording rejected: no length is known. */
static inline struct db_event event_rejected(uint32_t slot, uint16_t memcg, enum db_reason reason)
{
	return (struct db_event){ .kind = DB_OUT,
				  .slot = slot,
				  .memcg = memcg,
				  .task = 1,
				  .flags = (uint8_t)(DB_OUT_REJECTED | reason << DB_F_REASON_SHIFT) };
}

static inline struct db_event event_in(uint32_t slot, enum db_in from)
{
	return (struct db_event){ .kind = DB_IN, .slot = slot, .task = 2, .flags = (uint8_t)from };
}

static inline struct db_event event_free(uint32_t slot, uint16_t n)
{
	return (struct db_event){ .kind = DB_FREE, .slot = slot, .len = n };
}

static inline struct db_event event_scan(uint16_t memcg, uint32_t nr_to_scan)
{
	return (struct db_event){ .kind = DB_SCAN, .slot = nr_to_scan, .memcg = memcg };
}

/* A machine with one area of `slots` and cgroups 0 and 1; pool=BYTES gives the limit. */
static inline struct sim_machine small_machine(uint64_t slots)
{
	return (struct sim_machine){ .page_size = 4096,
				     .mem_pages = 1 << 20,
				     .max_pool_percent = 20,
				     .accept_threshold_percent = 90,
				     .n_memcgs = 2,
				     .n_areas = 1,
				     .area_slots = { slots } };
}

static inline struct sim_policy policy_of(const char *text)
{
	struct sim_policy policy;

	assert_int_equal(sim_policy_parse(text, &policy), ZR_OK);
	return policy;
}

/* One event, checked and fed as a batch of one. */
static inline void feed_event(struct sim *sim, const struct sim_machine *machine,
			     const struct db_event *event)
{
	struct db_event e = *event;
	struct db_batch batch = { .n = 1,
				  .time_ns = &e.time_ns,
				  .slot = &e.slot,
				  .task = &e.task,
				  .memcg = &e.memcg,
				  .len = &e.len,
				  .kind = &e.kind,
				  .area = &e.area,
				  .order = &e.order,
				  .flags = &e.flags };

	assert_int_equal(sim_check_batch(machine, &batch), ZR_OK);
	sim_feed(sim, &batch, 0, 1);
}

#endif
