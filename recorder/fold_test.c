/* SPDX-License-Identifier: MIT */
/*
 * Tests of the fold: hand-made records against events written down by hand, and random interleavings of
 * well-formed calls against a generator that knows what it made.
 */
#include "recorder/fold.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------- a sink */

enum { MAX_EVENTS = 200'000, MAX_IDS = 1024 };

struct sink {
	struct db_event *events;
	uint32_t n;
	uint64_t memcg_key[MAX_IDS];
	uint32_t tid[MAX_IDS];
	uint64_t watched_key; /* 0 = all */
	uint32_t fail_after;  /* events; 0 = never */
};

static enum zr_err take_event(void *arg, const struct db_event *event)
{
	struct sink *sink = arg;

	if (sink->fail_after && sink->n >= sink->fail_after)
		return zr_fail(ZR_FULL, "the test's sink is full");
	assert_true(sink->n < MAX_EVENTS);
	if (sink->n)
		assert_true(event->time_ns >= sink->events[sink->n - 1].time_ns);
	sink->events[sink->n++] = *event;
	return ZR_OK;
}

static enum zr_err take_memcg(void *arg, uint32_t id, uint64_t key)
{
	struct sink *sink = arg;

	if (id < MAX_IDS)
		sink->memcg_key[id] = key;
	return ZR_OK;
}

static enum zr_err take_task(void *arg, uint32_t id, uint32_t tid)
{
	struct sink *sink = arg;

	if (id < MAX_IDS)
		sink->tid[id] = tid;
	return ZR_OK;
}

static enum zr_err take_area([[maybe_unused]] void *arg, [[maybe_unused]] uint32_t id,
			     [[maybe_unused]] uint32_t type)
{
	return ZR_OK;
}

static bool is_watched(void *arg, uint64_t key)
{
	const struct sink *sink = arg;

	return key == sink->watched_key;
}

struct test {
	struct sink sink;
	struct rec_fold *fold;
	uint64_t now_ns;
};

/* What the recorder itself sees on a 6.12 kernel. */
static const uint32_t live_types = 1u << REC_OUT | 1u << REC_OUT_RET | 1u << REC_STORE_RET |
				   1u << REC_LEN | 1u << REC_READ | 1u << REC_READ_RET |
				   1u << REC_LOAD_RET | 1u << REC_WB | 1u << REC_WB_RET;

static void open_with(struct test *test, struct rec_fold_options options)
{
	test->sink.events = calloc(MAX_EVENTS, sizeof(*test->sink.events));
	assert_non_null(test->sink.events);
	options.sink = (struct rec_fold_sink){ .event = take_event, .memcg = take_memcg,
					       .task = take_task, .area = take_area,
					       .arg = &test->sink };
	if (test->sink.watched_key)
		options.sink.watched = is_watched;
	assert_int_equal(rec_fold_new(&options, &test->fold), ZR_OK);
}

static void open_live(struct test *test)
{
	open_with(test, (struct rec_fold_options){ .types = live_types,
						   .store_ret_of_failures = true });
}

static void open_text(struct test *test)
{
	open_with(test, (struct rec_fold_options){ 0 });
}

static void close_test(struct test *test)
{
	rec_fold_free(test->fold);
	free(test->sink.events);
}

/* A record a microsecond after the last one, of task 7 unless it says otherwise. */
static void feed(struct test *test, struct rec_raw raw)
{
	if (!raw.tid && raw.type != REC_LOST)
		raw.tid = 7;
	if (!raw.time_ns) {
		test->now_ns += 1000;
		raw.time_ns = test->now_ns;
	}
	assert_int_equal(rec_fold_add(test->fold, &raw), ZR_OK);
}

#define FEED(test, id, ...) feed(test, (struct rec_raw){ .type = REC_##id, ##__VA_ARGS__ })

/* "OUT 5 len=100 flags=0; ..." for comparing at a glance: what is not zero of order, memcg. */
static const char *as_text(const struct test *test)
{
	static char text[4096];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < test->sink.n && n + 128 < sizeof(text); i++) {
		const struct db_event *e = &test->sink.events[i];
		static const char *const names[] = {
#define X(name) #name,
			DB_KINDS(X)
#undef X
		};

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %u", n ? "; " : "",
				      names[e->kind], e->slot);
		if (e->order)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " order=%u", e->order);
		if (e->memcg)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " memcg=%u", e->memcg);
		if (e->len)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " len=%u", e->len);
		if (e->flags)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " flags=%#x", e->flags);
	}
	return text;
}

static void expect(struct test *test, const char *events)
{
	assert_int_equal(rec_fold_finish(test->fold), ZR_OK);
	assert_string_equal(as_text(test), events);
}

/* --------------------------------------------------------------------------------------- swap-outs */

static void stored_page_takes_its_length_and_the_time_of_return([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 5, .memcg = 900);
	FEED(&test, LEN, .len = 100);
	FEED(&test, OUT_RET);
	expect(&test, "OUT 5 memcg=1 len=100");
	assert_int_equal(test.sink.events[0].time_ns, 3000);
	assert_int_equal(test.sink.memcg_key[1], 900);
	assert_int_equal(test.sink.tid[test.sink.events[0].task], 7);
	close_test(&test);
}

static void rejected_page_tells_why([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 1); /* nothing inside the store: the limit */
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 2); /* longer than a page */
	FEED(&test, LEN, .len = 4200);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 3); /* an object that could not be had */
	FEED(&test, LEN, .len = 50);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 4); /* its cgroup was shrunk in vain */
	FEED(&test, SHRINK);
	FEED(&test, SHRINK_RET, .ret = -EAGAIN);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 16, .order = 4); /* not page by page on this kernel */
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	expect(&test, "OUT 1 flags=0x9; OUT 2 flags=0x19; OUT 3 len=50 flags=0x21; "
		      "SHRINK 0 flags=0x1; OUT 4 flags=0x11; OUT 16 order=4 flags=0x29");
	close_test(&test);
}

static void kept_page_is_told_from_a_written_one([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 1);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET, .ret = 0x80000);
	expect(&test, "OUT 1 flags=0xb");
	close_test(&test);
}

static void page_without_store_is_zero_filled([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 1);
	FEED(&test, OUT_RET);
	expect(&test, "OUT 1 flags=0x2");
	close_test(&test);
}

static void page_whose_slot_is_freed_inside_does_not_go_out([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 1);
	FEED(&test, FREE, .swp = 1);
	FEED(&test, OUT_RET);
	expect(&test, "FREE 1");
	close_test(&test);
}

/* As 6.1 does it: errnos, no map of zeros, and a writeback that does not name its slot. */
static void frontswap_kernel_is_told_by_its_errnos([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_with(&test, (struct rec_fold_options){ .types = live_types | 1u << REC_WRITE,
						    .store_ret_is_errno = true,
						    .load_ret_is_errno = true, .no_zeros = true });
	FEED(&test, OUT, .swp = 4);
	FEED(&test, STORE_RET, .ret = 0); /* one word all over: no object */
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 5);
	FEED(&test, LEN, .len = 4000);
	FEED(&test, STORE_RET, .ret = -ENOSPC);
	FEED(&test, WRITE, .swp = 5);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 6); /* freed inside */
	FEED(&test, OUT_RET);
	FEED(&test, READ, .swp = 7); /* not in zswap, so there is no load */
	FEED(&test, READ_RET);
	FEED(&test, READ, .swp = 4);
	FEED(&test, LOAD_RET, .ret = -1);
	FEED(&test, READ_RET);
	FEED(&test, WB, .swp = UINT64_C(0xffff888000000000)); /* not a slot */
	FEED(&test, WRITE, .swp = 9);
	FEED(&test, WB_RET, .ret = 0);
	FEED(&test, WB, .swp = 10); /* freed before it was written */
	FEED(&test, WB_RET, .ret = 0);
	expect(&test, "OUT 4; OUT 5 len=4000 flags=0x19; IN 7 flags=0x1; IN 4 flags=0x1; WB 9");
	close_test(&test);
}

static void large_folio_becomes_its_parts([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_with(&test, (struct rec_fold_options){ .types = live_types, .stores_large = true,
						    .store_ret_of_failures = true });
	FEED(&test, OUT, .swp = 8, .order = 2);
	for (uint32_t i = 0; i < 4; i++)
		FEED(&test, LEN, .len = 10 + i);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 16, .order = 2); /* fails at its second page: written whole */
	FEED(&test, LEN, .len = 20);
	FEED(&test, LEN, .len = 21);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	expect(&test, "OUT 8 order=2 len=10; OUT 9 order=2 len=11 flags=0x40; "
		      "OUT 10 order=2 len=12 flags=0x40; OUT 11 order=2 len=13 flags=0x40; "
		      "OUT 16 order=2 len=20 flags=0x21");
	close_test(&test);
}

/* Beyond any length: that is how the probe of the compression tells of a failure. */
static void page_that_does_not_compress_has_no_length([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_with(&test, (struct rec_fold_options){ .types = live_types, .stores_large = true,
						    .store_ret_of_failures = true });
	FEED(&test, OUT, .swp = 4); /* 6.12: refused */
	FEED(&test, LEN, .len = UINT32_MAX);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 5); /* 7.3: stored as it is */
	FEED(&test, LEN, .len = UINT32_MAX);
	FEED(&test, LEN, .len = 4096);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 8, .order = 1); /* and so is the second page of this one */
	FEED(&test, LEN, .len = 10);
	FEED(&test, LEN, .len = UINT32_MAX);
	FEED(&test, LEN, .len = 4096);
	FEED(&test, OUT_RET);
	expect(&test, "OUT 4 flags=0x19; OUT 5 len=4096; OUT 8 order=1 len=10; OUT 9 order=1 len=4096 flags=0x40");
	close_test(&test);
}

static void impossible_order_is_a_single_page([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 8, .order = 200);
	FEED(&test, LEN, .len = 10);
	FEED(&test, OUT_RET);
	expect(&test, "OUT 8 len=10");
	close_test(&test);
}

/* ----------------------------------------------------------------------------------------- swap-in */

static void refault_is_from_zswap_disk_or_zero([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	for (int64_t hit = 1; hit >= 0; hit--) {
		FEED(&test, READ, .swp = 4);
		FEED(&test, LOAD_RET, .ret = hit);
		FEED(&test, READ_RET);
	}
	FEED(&test, READ, .swp = 4);
	FEED(&test, READ_RET);
	expect(&test, "IN 4; IN 4 flags=0x1; IN 4 flags=0x2");
	close_test(&test);
}

static void load_result_of_newer_kernels_is_an_errno([[maybe_unused]] void **state)
{
	static const int64_t results[] = { 0, -ENOENT, -EIO };
	struct test test = { 0 };

	open_with(&test, (struct rec_fold_options){ .types = live_types,
						    .load_ret_is_errno = true });
	for (int i = 0; i < 3; i++) {
		FEED(&test, READ, .swp = 4);
		FEED(&test, LOAD_RET, .ret = results[i]);
		FEED(&test, READ_RET);
	}
	expect(&test, "IN 4; IN 4 flags=0x1; IN 4 flags=0x3");
	close_test(&test);
}

static void other_pages_of_a_fault_are_readahead([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, FAULT, .swp = 11);
	for (uint64_t slot = 10; slot < 13; slot++) {
		FEED(&test, READ, .swp = slot);
		FEED(&test, LOAD_RET, .ret = 1);
		FEED(&test, READ_RET);
	}
	FEED(&test, FAULT_RET);
	FEED(&test, READ, .swp = 40); /* not by a fault */
	FEED(&test, LOAD_RET, .ret = 1);
	FEED(&test, READ_RET);
	expect(&test, "IN 10 flags=0x40; IN 11; IN 12 flags=0x40; IN 40");
	close_test(&test);
}

/* --------------------------------------------------------------------------------- canonical events */

static void text_events_alone_give_the_same_outcomes([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_text(&test);
	FEED(&test, STORE, .swp = 1, .memcg = 0xff00);
	FEED(&test, LEN, .len = 77);
	FEED(&test, STORE_RET, .ret = 1);
	FEED(&test, STORE, .swp = 2, .memcg = 0xff00);
	FEED(&test, STORE_RET, .ret = 0);
	FEED(&test, WRITE, .swp = 2);
	FEED(&test, READ, .swp = 1); /* through zswap */
	FEED(&test, LOAD, .swp = 1);
	FEED(&test, LOAD_RET, .ret = 1);
	FEED(&test, READ, .swp = 3); /* zero-filled: the task goes on without a load */
	FEED(&test, READ, .swp = 2);
	FEED(&test, LOAD, .swp = 2);
	FEED(&test, LOAD_RET, .ret = 0);
	FEED(&test, READ, .swp = 3); /* zero-filled, the last thing of all */
	expect(&test, "OUT 1 memcg=1 len=77; OUT 2 memcg=1 flags=0x9; IN 1 memcg=1; IN 3 flags=0x2; "
		      "IN 2 memcg=1 flags=0x1; IN 3 flags=0x2");
	assert_int_equal(rec_fold_stats(test.fold)->missed_returns, 0);
	close_test(&test);
}

static void text_writeback_without_return_is_told_by_its_write([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_text(&test);
	FEED(&test, SLAB, .memcg = 0xff00, .order = 3, .ret = 1);
	FEED(&test, COUNT_RET, .ret = 500);
	FEED(&test, SCAN, .ret = 128);
	FEED(&test, WB, .swp = 1);
	FEED(&test, WRITE, .swp = 1);
	FEED(&test, WB, .swp = 2);
	FEED(&test, WB, .swp = 3);
	FEED(&test, WRITE, .swp = 3);
	FEED(&test, SCAN_RET, .ret = 2);
	expect(&test, "RECLAIM 500 order=3 memcg=1 len=1; SCAN 128 memcg=1 len=2; WB 1; "
		      "GAP 1 flags=0x1; WB 3 flags=0x80");
	close_test(&test);
}

/* ----------------------------------------------------------------------------- shrinkers and reclaim */

static void scan_stands_at_its_entry_before_what_it_did([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, SCAN, .ret = 128, .memcg = 5);
	FEED(&test, WB, .swp = 9, .len = 300, .memcg = 5);
	FEED(&test, WB_RET, .ret = 0);
	FEED(&test, FREE, .swp = 20, .tid = 8);
	FEED(&test, SCAN_RET, .ret = 1);
	FEED(&test, SCAN, .ret = 128, .memcg = 5);
	FEED(&test, SCAN_RET, .ret = -1);
	expect(&test, "SCAN 128 memcg=1 len=1; WB 9 memcg=1 len=300; FREE 20; "
		      "SCAN 128 memcg=1 flags=0x1");
	assert_int_equal(test.sink.events[0].time_ns, 1000);
	close_test(&test);
}

static void writeback_outcome_is_its_return([[maybe_unused]] void **state)
{
	static const int64_t errnos[] = { 0, -EEXIST, -ENOMEM, -EIO };
	static const int64_t statuses[] = { 1, 5, 2, 4 };
	struct test test = { 0 };

	open_live(&test);
	for (uint64_t i = 0; i < 4; i++) {
		FEED(&test, WB, .swp = i);
		FEED(&test, WB_RET, .ret = errnos[i]);
	}
	expect(&test, "WB 0; WB 1 flags=0x1; WB 2 flags=0x2; WB 3 flags=0x4");
	close_test(&test);

	test = (struct test){ 0 };
	open_with(&test, (struct rec_fold_options){ .types = live_types,
						    .wb_ret_is_lru_status = true });
	for (uint64_t i = 0; i < 4; i++) {
		FEED(&test, WB, .swp = i);
		FEED(&test, WB_RET, .ret = statuses[i]);
	}
	expect(&test, "WB 0; WB 1 flags=0x1; WB 2 flags=0x3; WB 3 flags=0x4");
	close_test(&test);
}

static void reclaim_takes_the_count_that_follows_it([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, SLAB, .memcg = 5, .order = 12);
	FEED(&test, FREE, .swp = 3); /* other shrinkers may free slots in between */
	FEED(&test, COUNT_RET, .ret = 42);
	FEED(&test, SLAB, .memcg = 5, .order = 11); /* its count is not taken: the next slab comes */
	FEED(&test, SLAB, .memcg = 5, .order = 10);
	FEED(&test, COUNT_RET, .ret = -2); /* SHRINK_EMPTY */
	FEED(&test, COUNT_RET, .ret = 7);  /* of nothing that is on record */
	expect(&test, "RECLAIM 42 order=12 memcg=1; FREE 3; RECLAIM 0 order=11 memcg=1; "
		      "RECLAIM 0 order=10 memcg=1");
	close_test(&test);
}

static void worker_recursing_into_reclaim_keeps_all_apart([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, WORKER);
	FEED(&test, SHRINK, .memcg = 5);
	FEED(&test, WB, .swp = 100, .len = 1, .memcg = 5);
	FEED(&test, OUT, .swp = 200, .memcg = 6); /* the page for it had to be reclaimed */
	FEED(&test, LEN, .len = 2);
	FEED(&test, SHRINK, .memcg = 6);
	FEED(&test, WB, .swp = 101, .len = 3, .memcg = 6);
	FEED(&test, WB_RET, .ret = 0);
	FEED(&test, SHRINK_RET, .ret = 0);
	FEED(&test, OUT_RET);
	FEED(&test, WB_RET, .ret = 0);
	FEED(&test, SHRINK_RET, .ret = -EAGAIN);
	expect(&test, "WORKER 0; SHRINK 0 memcg=1 flags=0x1; SHRINK 0 memcg=2; WB 101 memcg=2 len=3; "
		      "OUT 200 memcg=2 len=2; WB 100 memcg=1 len=1");
	assert_int_equal(rec_fold_stats(test.fold)->missed_returns, 0);
	close_test(&test);
}

/* ------------------------------------------------------------------------------ losses and migration */

static void task_that_moves_between_cpus_stays_one_task([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 5, .cpu = 0);
	FEED(&test, OUT, .swp = 6, .cpu = 1, .tid = 8);
	FEED(&test, LEN, .len = 60, .cpu = 1, .tid = 8);
	FEED(&test, LEN, .len = 50, .cpu = 1);
	FEED(&test, OUT_RET, .cpu = 0, .tid = 8);
	FEED(&test, OUT_RET, .cpu = 1);
	expect(&test, "OUT 6 len=60; OUT 5 len=50");
	close_test(&test);
}

static void missed_return_ends_with_the_next_entry([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 5);
	FEED(&test, LEN, .len = 50); /* stored or not: nobody knows */
	FEED(&test, OUT, .swp = 6);
	FEED(&test, STORE_RET, .ret = 0); /* rejected: that is known without the return */
	FEED(&test, READ, .swp = 7);
	FEED(&test, LOAD_RET, .ret = 1);
	FEED(&test, FAULT, .swp = 8);
	FEED(&test, FAULT_RET);
	expect(&test, "GAP 1 flags=0x1; OUT 6 flags=0x9; IN 7 flags=0x80");
	assert_int_equal(rec_fold_stats(test.fold)->missed_returns, 3);
	assert_int_equal(rec_fold_stats(test.fold)->undecided, 1);
	close_test(&test);
}

static void missed_return_inside_is_ended_by_the_outer_one([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, SCAN, .ret = 128);
	FEED(&test, WB, .swp = 1);
	FEED(&test, SCAN_RET, .ret = 1);
	FEED(&test, OUT_RET); /* began before the recording */
	expect(&test, "SCAN 128 len=1; GAP 1 flags=0x1");
	assert_int_equal(rec_fold_stats(test.fold)->missed_returns, 1);
	assert_int_equal(rec_fold_stats(test.fold)->orphan_returns, 1);
	close_test(&test);
}

static void gap_drops_open_calls_and_makes_slots_unknown([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, OUT, .swp = 1);
	FEED(&test, LEN, .len = 10);
	FEED(&test, OUT_RET);
	FEED(&test, OUT, .swp = 2); /* cut off */
	FEED(&test, SCAN, .ret = 128, .tid = 9);
	FEED(&test, LOST, .len = 57, .cpu = 1, .order = DB_GAP_RING);
	FEED(&test, OUT_RET);
	FEED(&test, SCAN_RET, .ret = 3, .tid = 9);
	FEED(&test, FREE, .swp = 1); /* stored before */
	FEED(&test, OUT, .swp = 1);
	FEED(&test, LEN, .len = 10);
	FEED(&test, OUT_RET);
	FEED(&test, FREE, .swp = 1); /* stored after: known again */
	FEED(&test, FREE, .swp = 900);
	expect(&test, "OUT 1 len=10; SCAN 128 flags=0x80; GAP 57 len=1; FREE 1 flags=0x80; "
		      "OUT 1 len=10; FREE 1; FREE 900 flags=0x80");
	assert_int_equal(rec_fold_stats(test.fold)->lost, 57);
	assert_int_equal(rec_fold_stats(test.fold)->orphan_returns, 2);
	close_test(&test);
}

static void what_one_gap_left_known_the_next_one_takes([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, LOST, .len = 1);
	FEED(&test, FREE, .swp = 1);
	FEED(&test, FREE, .swp = 1);
	FEED(&test, LOST, .len = 1);
	FEED(&test, FREE, .swp = 2); /* renews the notes of all slots around it */
	FEED(&test, FREE, .swp = 1);
	expect(&test, "GAP 1; FREE 1 flags=0x80; FREE 1; GAP 1; FREE 2 flags=0x80; FREE 1 flags=0x80");
	close_test(&test);
}

static void scan_without_end_does_not_hold_up_the_rest([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, SCAN, .ret = 128);
	FEED(&test, FREE, .swp = 1, .tid = 8);
	assert_int_equal(rec_fold_advance(test.fold, test.now_ns + 1'000'000), ZR_OK);
	assert_int_equal(test.sink.n, 0);
	assert_int_equal(rec_fold_advance(test.fold, test.now_ns + 60'000'000'000), ZR_OK);
	assert_int_equal(test.sink.n, 2);
	FEED(&test, SCAN_RET, .ret = 5); /* too late: nothing may be changed any more */
	expect(&test, "SCAN 128 flags=0x80; FREE 1");
	assert_int_equal(rec_fold_stats(test.fold)->missed_returns, 1);
	close_test(&test);
}

static void many_events_behind_an_open_scan_stay_bounded([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, SCAN, .ret = 128);
	for (uint32_t i = 0; i < 70'000; i++)
		FEED(&test, FREE, .swp = i, .tid = 8);
	assert_true(test.sink.n > 1);
	assert_int_equal(rec_fold_finish(test.fold), ZR_OK);
	assert_int_equal(test.sink.n, 70'001);
	assert_int_equal(test.sink.events[0].kind, DB_SCAN);
	close_test(&test);
}

static void dead_tasks_do_not_leak_stacks([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	for (uint32_t tid = 1; tid <= 40'000; tid++) /* each ends inside a call */
		FEED(&test, FAULT, .swp = tid, .tid = tid);
	assert_int_equal(rec_fold_finish(test.fold), ZR_OK);
	assert_true(rec_fold_stats(test.fold)->missed_returns >= 40'000 - 16'384);
	assert_true(rec_fold_stats(test.fold)->open_at_end <= 16'384);
	close_test(&test);
}

static void lone_reclaim_leaves_after_a_moment([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, SLAB, .memcg = 5, .order = 12);
	assert_int_equal(test.sink.n, 0);
	assert_int_equal(rec_fold_advance(test.fold, test.now_ns + 500'000'000), ZR_OK);
	assert_int_equal(test.sink.n, 1);
	FEED(&test, COUNT_RET, .ret = 9); /* too late */
	expect(&test, "RECLAIM 0 order=12 memcg=1");
	close_test(&test);
}

/* ------------------------------------------------------------------------------------ areas, filters */

static void same_offset_in_two_areas_is_two_slots([[maybe_unused]] void **state)
{
	struct test test = { 0 };
	uint32_t id;

	const struct rec_area area = { .type = 1, .slots = 1000 };

	open_live(&test);
	FEED(&test, FREE, .swp = 7);
	FEED(&test, FREE, .swp = UINT64_C(1) << 58 | 7);
	/* That was the area of which we are told only now. */
	assert_int_equal(rec_fold_area(test.fold, &area, &id), ZR_OK);
	assert_int_equal(id, 2);
	FEED(&test, FREE, .swp = UINT64_C(1) << 58 | 9);
	assert_int_equal(rec_fold_slots_seen(test.fold, 1, &id), 10);
	/* Another one is switched on under the number 1. */
	assert_int_equal(rec_fold_area(test.fold, &area, &id), ZR_OK);
	assert_int_equal(id, 3);
	FEED(&test, FREE, .swp = UINT64_C(1) << 58 | 7);
	expect(&test, "FREE 7; FREE 7; FREE 9; FREE 7");
	assert_int_equal(test.sink.events[0].area, 1);
	assert_int_equal(test.sink.events[1].area, 2);
	assert_int_equal(test.sink.events[2].area, 2);
	assert_int_equal(test.sink.events[3].area, 3);
	assert_int_equal(rec_fold_slots_seen(test.fold, 1, &id), 8);
	assert_int_equal(rec_fold_slots_seen(test.fold, 5, &id), 0);
	assert_int_equal(id, 0);
	close_test(&test);
}

static void slot_beyond_32_bits_is_counted_and_skipped([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, FREE, .swp = UINT64_C(1) << 32);
	FEED(&test, OUT, .swp = UINT64_C(1) << 40);
	FEED(&test, LEN, .len = 3);
	FEED(&test, OUT_RET);
	expect(&test, "");
	assert_int_equal(rec_fold_stats(test.fold)->wide_slots, 2);
	close_test(&test);
}

static void only_the_watched_cgroup_and_its_slots_are_kept([[maybe_unused]] void **state)
{
	struct test test = { .sink.watched_key = 50 };

	open_live(&test);
	for (uint64_t slot = 1; slot <= 2; slot++) {
		FEED(&test, OUT, .swp = slot, .memcg = slot == 1 ? 50 : 60);
		FEED(&test, LEN, .len = 9);
		FEED(&test, OUT_RET);
	}
	FEED(&test, SCAN, .ret = 128, .memcg = 60);
	FEED(&test, SCAN_RET, .ret = 3);
	FEED(&test, SLAB, .memcg = 60, .order = 2);
	FEED(&test, FREE, .swp = 1);
	FEED(&test, FREE, .swp = 2);
	FEED(&test, FREE, .swp = 1); /* freed already: nobody's */
	expect(&test, "OUT 1 memcg=1 len=9; FREE 1 memcg=1");
	assert_int_equal(rec_fold_stats(test.fold)->filtered, 5);
	close_test(&test);
}

static void requests_become_slots_of_the_area_they_fall_into([[maybe_unused]] void **state)
{
	const struct rec_area area = { .type = 0, .disk_dev = 100, .part_dev = 101,
				       .start_sector = 2048, .slots = 1000, .sectors_per_slot = 8 };
	struct test test = { 0 };
	uint32_t id;

	open_live(&test);
	assert_int_equal(rec_fold_area(test.fold, &area, &id), ZR_OK);
	FEED(&test, RQ_ISSUE, .dev = 100, .swp = 2048 + 80, .len = 16, .op = REC_OP_WRITE);
	FEED(&test, BACKMERGE, .dev = 101, .swp = 2048 + 96, .len = 8, .op = REC_OP_WRITE);
	FEED(&test, RQ_COMPLETE, .dev = 100, .swp = 2048 + 80, .len = 16, .op = REC_OP_WRITE);
	FEED(&test, RQ_ISSUE, .dev = 100, .swp = 2048 + 7, .len = 8, .op = REC_OP_READ);
	FEED(&test, RQ_ISSUE, .dev = 100, .swp = 2047, .len = 8, .op = REC_OP_WRITE);
	FEED(&test, RQ_ISSUE, .dev = 100, .swp = 2048 + 8000, .len = 8, .op = REC_OP_WRITE);
	FEED(&test, RQ_ISSUE, .dev = 102, .swp = 2048, .len = 8, .op = REC_OP_WRITE);
	FEED(&test, RQ_ISSUE, .dev = 100, .swp = 2048, .op = REC_OP_OTHER);
	expect(&test, "IO 10 len=16 flags=0x1; IO 12 len=8 flags=0x9; IO 10 len=16 flags=0x5; "
		      "IO 0 len=8");
	assert_int_equal(rec_fold_stats(test.fold)->foreign_io, 4);
	assert_int_equal(test.sink.events[2].task, 0);
	close_test(&test);
}

static void late_record_keeps_times_ascending([[maybe_unused]] void **state)
{
	struct test test = { 0 };

	open_live(&test);
	FEED(&test, FREE, .swp = 1, .time_ns = 5000);
	FEED(&test, FREE, .swp = 2, .time_ns = 20);
	FEED(&test, FREE, .swp = 3, .time_ns = 5001);
	expect(&test, "FREE 1; FREE 2; FREE 3");
	assert_int_equal(test.sink.events[1].time_ns, 5000);
	assert_int_equal(rec_fold_stats(test.fold)->late, 1);
	close_test(&test);
}

static void error_of_the_sink_comes_back([[maybe_unused]] void **state)
{
	struct test test = { .sink.fail_after = 1 };
	const struct rec_raw raw = { .type = REC_FREE, .tid = 7, .time_ns = 1 };

	open_live(&test);
	assert_int_equal(rec_fold_add(test.fold, &raw), ZR_OK);
	assert_int_equal(rec_fold_add(test.fold, &raw), ZR_FULL);
	assert_int_equal(rec_fold_finish(test.fold), ZR_FULL);
	zr_error_clear();
	close_test(&test);
}

/* -------------------------------------------------------------------- random calls, against their plan */

/*
 * The oracle makes calls of several tasks as trees, writing records and, from its own knowledge, the events
 * that they are. Records of a task have increasing "ticks"; the interleaving gives ticks their times.
 */
enum { TASKS = 5, CALLS = 400, SLOTS = 64, MAX_RECORDS = 20'000 };

struct planned {
	struct rec_raw raw;
	int event; /* of the plan, that belongs here; -1 = none */
	int entry; /* the event whose time this record sets; -1 = none */
};

struct plan {
	unsigned seed;
	struct planned records[MAX_RECORDS];
	int n;
	struct db_event events[MAX_RECORDS];
	int n_events;
};

static uint32_t pick(struct plan *plan, uint32_t n)
{
	plan->seed = plan->seed * 1103515245u + 12345u;
	return plan->seed >> 8 & 0xffff ? (plan->seed >> 8 & 0xffff) % n : 0;
}

static struct planned *record_of(struct plan *plan, enum rec_type type)
{
	struct planned *record = &plan->records[plan->n++];

	assert_true(plan->n < MAX_RECORDS);
	*record = (struct planned){ .raw.type = (uint8_t)type, .event = -1, .entry = -1 };
	return record;
}

static int event_of_plan(struct plan *plan, struct db_event event)
{
	plan->events[plan->n_events] = event;
	return plan->n_events++;
}

static void plan_wb(struct plan *plan, int depth);

/* Returns whether it failed. */
static bool plan_shrink(struct plan *plan, int depth)
{
	static const int64_t results[] = { 0, -EAGAIN, -ENOENT };
	uint32_t result = pick(plan, 3);
	struct planned *record = record_of(plan, REC_SHRINK);

	record->raw.memcg = 100;
	record->entry = event_of_plan(plan, (struct db_event){ .kind = DB_SHRINK, .memcg = 100,
							       .flags = (uint8_t)result });
	for (uint32_t i = pick(plan, 3); i > 0; i--)
		plan_wb(plan, depth - 1);
	record = record_of(plan, REC_SHRINK_RET);
	record->raw.ret = results[result];
	return results[result];
}

static void plan_out(struct plan *plan, int depth)
{
	uint32_t slot = pick(plan, SLOTS), outcome = pick(plan, 4), len = 1 + pick(plan, 4000);
	struct planned *record = record_of(plan, REC_OUT);
	struct db_event event = { .kind = DB_OUT, .slot = slot, .memcg = (uint16_t)(100 + slot % 3),
				  .flags = (uint8_t)outcome };

	record->raw.swp = slot;
	record->raw.memcg = event.memcg;
	if (depth > 0 && outcome != DB_OUT_ZERO && pick(plan, 4) == 0) {
		enum db_reason reason = plan_shrink(plan, depth - 1) ? DB_REASON_MEMCG_LIMIT
								     : DB_REASON_LIMIT;

		if (outcome != DB_OUT_STORED)
			event.flags |= (uint8_t)(reason << DB_F_REASON_SHIFT);
	} else if (outcome == DB_OUT_REJECTED || outcome == DB_OUT_KEPT) {
		event.flags |= DB_REASON_LIMIT << DB_F_REASON_SHIFT;
	}
	if (outcome == DB_OUT_STORED) {
		event.len = (uint16_t)len;
		record_of(plan, REC_LEN)->raw.len = len;
	}
	if (outcome == DB_OUT_REJECTED || outcome == DB_OUT_KEPT)
		record_of(plan, REC_STORE_RET);
	record = record_of(plan, REC_OUT_RET);
	record->raw.ret = outcome == DB_OUT_KEPT ? 0x80000 : 0;
	record->event = event_of_plan(plan, event);
}

static void plan_scan(struct plan *plan, int depth)
{
	bool stop = pick(plan, 2);
	struct planned *record = record_of(plan, REC_SCAN);
	uint32_t wrote = stop ? 0 : 1 + pick(plan, 100);

	record->raw.memcg = 101;
	record->raw.ret = 128;
	record->entry = event_of_plan(plan, (struct db_event){ .kind = DB_SCAN, .memcg = 101,
							       .slot = 128, .len = (uint16_t)wrote,
							       .flags = stop });
	for (uint32_t i = pick(plan, 4); i > 0; i--)
		plan_wb(plan, depth - 1);
	record_of(plan, REC_SCAN_RET)->raw.ret = stop ? -1 : (int64_t)wrote;
}

static void plan_reclaim(struct plan *plan, int depth)
{
	uint32_t prio = 1 + pick(plan, 12), count = pick(plan, 3) ? 1 + pick(plan, 999) : 0;
	struct planned *record;

	for (uint32_t i = pick(plan, 4); i > 0; i--)
		plan_out(plan, depth - 1);
	record = record_of(plan, REC_SLAB);
	record->raw.memcg = 102;
	record->raw.order = (uint8_t)prio;
	record->entry = event_of_plan(plan, (struct db_event){ .kind = DB_RECLAIM, .memcg = 102,
							       .order = (uint8_t)prio,
							       .slot = count });
	if (count)
		record_of(plan, REC_COUNT_RET)->raw.ret = count;
	if (pick(plan, 2))
		plan_scan(plan, depth - 1);
}

static void plan_wb(struct plan *plan, int depth)
{
	static const int64_t results[] = { 0, -EEXIST, -ENOMEM };
	uint32_t slot = pick(plan, SLOTS), result = pick(plan, 3), len = 1 + pick(plan, 3000);
	struct planned *record = record_of(plan, REC_WB);
	uint16_t memcg = (uint16_t)(100 + slot % 3);

	record->raw.swp = slot;
	record->raw.memcg = memcg;
	record->raw.len = len;
	if (depth > 0 && pick(plan, 5) == 0)
		plan_reclaim(plan, depth - 1);
	record = record_of(plan, REC_WB_RET);
	record->raw.ret = results[result];
	record->event = event_of_plan(plan, (struct db_event){ .kind = DB_WB, .slot = slot,
							       .memcg = memcg, .len = (uint16_t)len,
							       .flags = (uint8_t)result });
}

static void plan_in(struct plan *plan, bool readahead, uint32_t slot)
{
	uint32_t outcome = pick(plan, 3);
	struct planned *record = record_of(plan, REC_READ);

	record->raw.swp = slot;
	record->raw.memcg = 100 + slot % 3;
	if (pick(plan, 8) == 0)
		plan_reclaim(plan, 2);
	if (outcome != DB_IN_ZERO)
		record_of(plan, REC_LOAD_RET)->raw.ret = outcome == DB_IN_ZSWAP;
	record = record_of(plan, REC_READ_RET);
	record->event = event_of_plan(
		plan, (struct db_event){ .kind = DB_IN, .slot = slot,
					 .memcg = (uint16_t)(100 + slot % 3),
					 .flags = (uint8_t)(outcome | (readahead ? DB_F_READAHEAD : 0)) });
}

static void plan_fault(struct plan *plan)
{
	uint32_t slot = pick(plan, SLOTS), window = pick(plan, 3);

	record_of(plan, REC_FAULT)->raw.swp = slot;
	for (uint32_t i = 0; i <= window; i++)
		plan_in(plan, i != 0, slot + i);
	record_of(plan, REC_FAULT_RET);
}

static void plan_free(struct plan *plan)
{
	uint32_t slot = pick(plan, SLOTS);
	struct planned *record = record_of(plan, REC_FREE);

	record->raw.swp = slot;
	record->event = event_of_plan(plan, (struct db_event){ .kind = DB_FREE, .slot = slot });
}

static void plan_worker(struct plan *plan)
{
	struct planned *record = record_of(plan, REC_WORKER);

	record->event = event_of_plan(plan, (struct db_event){ .kind = DB_WORKER });
	for (uint32_t i = pick(plan, 3); i > 0; i--)
		plan_shrink(plan, 4);
}

static void plan_call(struct plan *plan)
{
	switch (pick(plan, 4)) {
	case 0:
		plan_worker(plan);
		break;
	case 1:
		plan_reclaim(plan, 4);
		break;
	case 2:
		plan_fault(plan);
		break;
	default:
		plan_free(plan);
		break;
	}
}

/* Where the planned events end up: at their own record's place, or at their entry's. */
struct expected {
	struct db_event event;
	uint64_t key; /* running number of the record that gives the place */
	uint32_t tid;
};

static int by_key(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void check_interleaving(unsigned seed)
{
	static struct plan plans[TASKS];
	static struct expected expected[TASKS * MAX_RECORDS];
	struct test test = { 0 };
	uint16_t owner[SLOTS + 8] = { 0 };
	int at[TASKS] = { 0 }, n = 0, left = TASKS;
	unsigned order = seed;
	uint64_t number = 0;

	open_with(&test, (struct rec_fold_options){
				 .types = live_types, .store_ret_of_failures = true });
	for (int t = 0; t < TASKS; t++) {
		plans[t].seed = seed * 31 + (unsigned)t;
		plans[t].n = plans[t].n_events = 0;
		for (int i = 0; i < CALLS / TASKS; i++)
			plan_call(&plans[t]);
	}
	while (left) {
		int t = (int)((order = order * 1664525u + 1013904223u) >> 16) % TASKS;
		const struct planned *record;
		struct rec_raw raw;
		int index;

		if (at[t] == plans[t].n)
			continue;
		record = &plans[t].records[at[t]++];
		left -= at[t] == plans[t].n;
		raw = record->raw;
		raw.time_ns = ++number * 10;
		raw.tid = (uint32_t)t + 1000;
		raw.cpu = (uint16_t)(order >> 8 & 3);
		assert_int_equal(rec_fold_add(test.fold, &raw), ZR_OK);
		index = record->event >= 0 ? record->event : record->entry;
		if (index < 0)
			continue;
		expected[n] = (struct expected){ .event = plans[t].events[index], .key = number,
						 .tid = raw.tid };
		if (record->event >= 0) {
			struct db_event *event = &expected[n].event;

			if (event->kind == DB_FREE)
				event->memcg = owner[event->slot];
			if (event->kind != DB_WORKER)
				owner[event->slot] = event->kind == DB_FREE ? 0 : event->memcg;
		}
		n++;
	}
	assert_int_equal(rec_fold_finish(test.fold), ZR_OK);
	qsort(expected, (size_t)n, sizeof(*expected), by_key);
	assert_int_equal(test.sink.n, n);
	for (int i = 0; i < n; i++) {
		struct db_event got = test.sink.events[i], want = expected[i].event;

		assert_int_equal(test.sink.tid[got.task], expected[i].tid);
		assert_int_equal(got.memcg ? test.sink.memcg_key[got.memcg] : 0, want.memcg);
		want.time_ns = expected[i].key * 10;
		want.task = got.task;
		want.memcg = got.memcg;
		want.area = want.kind == DB_OUT || want.kind == DB_IN || want.kind == DB_WB ||
			    want.kind == DB_FREE;
		assert_memory_equal(&got, &want, sizeof(got));
	}
	assert_int_equal(rec_fold_stats(test.fold)->missed_returns, 0);
	assert_int_equal(rec_fold_stats(test.fold)->orphan_returns, 0);
	close_test(&test);
}

static void random_interleavings_give_what_was_planned([[maybe_unused]] void **state)
{
	for (unsigned seed = 1; seed <= 60; seed++)
		check_interleaving(seed);
}

/* Whatever is fed, in whatever order: no crash, times ascend (the sink checks), nothing without bound. */
static void random_records_are_survived([[maybe_unused]] void **state)
{
	struct test test = { 0 };
	struct plan dice = { .seed = 4711 };

	open_text(&test);
	for (int i = 0; i < 100'000; i++) {
		struct rec_raw raw = { .type = (uint8_t)pick(&dice, REC_TYPE_COUNT),
				       .tid = pick(&dice, 20), .swp = pick(&dice, 50),
				       .memcg = pick(&dice, 4), .len = pick(&dice, 5),
				       .ret = (int64_t)pick(&dice, 4) - 2,
				       .order = (uint8_t)pick(&dice, 4),
				       .time_ns = 1 + (uint64_t)i };

		assert_int_equal(rec_fold_add(test.fold, &raw), ZR_OK);
	}
	assert_int_equal(rec_fold_finish(test.fold), ZR_OK);
	assert_true(test.sink.n > 1000);
	close_test(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_page_takes_its_length_and_the_time_of_return),
		cmocka_unit_test(rejected_page_tells_why),
		cmocka_unit_test(kept_page_is_told_from_a_written_one),
		cmocka_unit_test(page_without_store_is_zero_filled),
		cmocka_unit_test(page_whose_slot_is_freed_inside_does_not_go_out),
		cmocka_unit_test(frontswap_kernel_is_told_by_its_errnos),
		cmocka_unit_test(large_folio_becomes_its_parts),
		cmocka_unit_test(page_that_does_not_compress_has_no_length),
		cmocka_unit_test(impossible_order_is_a_single_page),
		cmocka_unit_test(refault_is_from_zswap_disk_or_zero),
		cmocka_unit_test(load_result_of_newer_kernels_is_an_errno),
		cmocka_unit_test(other_pages_of_a_fault_are_readahead),
		cmocka_unit_test(text_events_alone_give_the_same_outcomes),
		cmocka_unit_test(text_writeback_without_return_is_told_by_its_write),
		cmocka_unit_test(scan_stands_at_its_entry_before_what_it_did),
		cmocka_unit_test(writeback_outcome_is_its_return),
		cmocka_unit_test(reclaim_takes_the_count_that_follows_it),
		cmocka_unit_test(worker_recursing_into_reclaim_keeps_all_apart),
		cmocka_unit_test(task_that_moves_between_cpus_stays_one_task),
		cmocka_unit_test(missed_return_ends_with_the_next_entry),
		cmocka_unit_test(missed_return_inside_is_ended_by_the_outer_one),
		cmocka_unit_test(gap_drops_open_calls_and_makes_slots_unknown),
		cmocka_unit_test(what_one_gap_left_known_the_next_one_takes),
		cmocka_unit_test(scan_without_end_does_not_hold_up_the_rest),
		cmocka_unit_test(many_events_behind_an_open_scan_stay_bounded),
		cmocka_unit_test(dead_tasks_do_not_leak_stacks),
		cmocka_unit_test(lone_reclaim_leaves_after_a_moment),
		cmocka_unit_test(same_offset_in_two_areas_is_two_slots),
		cmocka_unit_test(slot_beyond_32_bits_is_counted_and_skipped),
		cmocka_unit_test(only_the_watched_cgroup_and_its_slots_are_kept),
		cmocka_unit_test(requests_become_slots_of_the_area_they_fall_into),
		cmocka_unit_test(late_record_keeps_times_ascending),
		cmocka_unit_test(error_of_the_sink_comes_back),
		cmocka_unit_test(random_interleavings_give_what_was_planned),
		cmocka_unit_test(random_records_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
