/* SPDX-License-Identifier: MIT */
/*
 * Tests of perf rings, written here byte by byte, and of the merge's bound: what one queue must not take
 * waits, and nothing comes out of order for it.
 */
#include "recorder/perf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "db/base/bytes.h"
#include "db/event.h"

enum { EVENT_ID = 1500, EVENT_BYTES = 24, CIRCLE = 4096, SAMPLE_BYTES = 8 + 8 + 8 + 8 + 4 + 28 };

static const char format[] = "name: free\nID: 1500\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "\tfield:u64 swp;\toffset:16;\tsize:8;\tsigned:0;\n"
			     "\n"
			     "print fmt: \"swp=0x%Lx\", REC->swp\n";

struct rig {
	struct rec_decoder *decoder;
	struct rec_perf_reader *reader;
	unsigned char data[CIRCLE];
	struct rec_perf_circle circle;
};

static struct rig *open_rig(uint32_t cpus, uint32_t most)
{
	static const struct rec_layout layout = { .head_bit = 6 };
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(rec_decoder_new(&layout, &rig->decoder), ZR_OK);
	assert_int_equal(rec_decoder_add(rig->decoder, "zreel_1", format, REC_FREE), ZR_OK);
	rig->reader = calloc(1, sizeof(*rig->reader));
	assert_non_null(rig->reader);
	rig->reader->decoder = rig->decoder;
	rig->reader->merge = rec_merge_new(cpus, most);
	assert_non_null(rig->reader->merge);
	rig->circle = (struct rec_perf_circle){ .data = rig->data, .bytes = CIRCLE };
	return rig;
}

static void close_rig(struct rig *rig)
{
	rec_merge_free(rig->reader->merge);
	rec_decoder_free(rig->decoder);
	free(rig->reader);
	free(rig);
}

/* The kernel's side: bytes at the head, around the end of the circle. */
static void put_bytes(struct rig *rig, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rig->data[rig->circle.head++ % CIRCLE] = ((const unsigned char *)bytes)[i];
}

static void put_sample(struct rig *rig, uint64_t time_ns, uint32_t tid, uint64_t swp)
{
	unsigned char record[SAMPLE_BYTES] = { 0 };
	const struct perf_event_header head = { .type = PERF_RECORD_SAMPLE, .size = SAMPLE_BYTES };

	memcpy(record, &head, sizeof(head));
	zr_put32(record + 8, 99);
	zr_put32(record + 12, tid);
	zr_put64(record + 16, time_ns);
	zr_put32(record + 32, EVENT_BYTES + 4);
	zr_put16(record + 36, EVENT_ID);
	zr_put64(record + 52, swp);
	put_bytes(rig, record, sizeof(record));
}

static void put_lost(struct rig *rig, uint64_t time_ns, uint64_t lost)
{
	unsigned char record[48] = { 0 };
	const struct perf_event_header head = { .type = PERF_RECORD_LOST, .size = sizeof(record) };

	memcpy(record, &head, sizeof(head));
	zr_put64(record + 16, lost);
	zr_put64(record + 32, time_ns);
	put_bytes(rig, record, sizeof(record));
}

static void take(struct rig *rig)
{
	rec_merge_begin(rig->reader->merge);
	assert_int_equal(rec_perf_take(rig->reader, &rig->circle, UINT64_MAX - 1), ZR_OK);
	rec_merge_end(rig->reader->merge);
}

static struct rec_raw next(struct rig *rig)
{
	struct rec_raw raw;

	assert_true(rec_merge_next(rig->reader->merge, UINT64_MAX, &raw));
	return raw;
}

static void assert_empty(struct rig *rig)
{
	struct rec_raw raw;

	assert_false(rec_merge_next(rig->reader->merge, UINT64_MAX, &raw));
	assert_int_equal(rig->circle.tail, rig->circle.head);
}

static void sample_becomes_a_record([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);
	struct rec_raw raw;

	put_sample(rig, 1000, 4711, 0x123456789a);
	take(rig);
	raw = next(rig);
	assert_int_equal(raw.type, REC_FREE);
	assert_int_equal(raw.time_ns, 1000);
	assert_int_equal(raw.tid, 4711);
	assert_int_equal(raw.swp, 0x123456789a);
	assert_empty(rig);
	close_rig(rig);
}

/* 60 bytes do not divide 4096, so every place at the end of the circle is met. */
static void records_wrap_around_the_end([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);

	for (uint64_t i = 1; i <= 2000; i++) {
		put_sample(rig, i, 1, i * 7);
		take(rig);
		assert_int_equal(next(rig).swp, i * 7);
	}
	assert_empty(rig);
	assert_int_equal(rig->reader->stats.damaged, 0);
	assert_int_equal(rig->reader->stats.events, 2000);
	close_rig(rig);
}

static void lost_record_is_a_gap_in_its_place([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);
	struct rec_raw raw;

	put_sample(rig, 10, 1, 1);
	put_lost(rig, 20, 57);
	put_sample(rig, 30, 1, 2);
	take(rig);
	assert_int_equal(next(rig).swp, 1);
	raw = next(rig);
	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.len, 57);
	assert_int_equal(raw.order, DB_GAP_RING);
	assert_int_equal(raw.time_ns, 20);
	assert_int_equal(next(rig).swp, 2);
	assert_empty(rig);
	assert_int_equal(rig->reader->stats.lost, 57);
	close_rig(rig);
}

static void cpu_that_was_not_watched_is_a_gap([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);
	struct rec_raw raw;

	assert_true(rec_perf_unwatched(rig->reader, 0, 500));
	put_sample(rig, 700, 42, 9);
	take(rig);
	assert_true(rec_merge_next(rig->reader->merge, UINT64_MAX, &raw));
	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.time_ns, 500);
	assert_int_equal(raw.order, DB_GAP_READER);
	assert_int_equal(raw.len, 1);
	assert_true(rec_merge_next(rig->reader->merge, UINT64_MAX, &raw));
	assert_int_equal(raw.type, REC_FREE);
	assert_int_equal(rig->reader->stats.lost, 0); /* the kernel lost nothing */
	close_rig(rig);
}

/* Sizes of 0, less than a head, more than there is; and a head that ran away. */
static void damaged_circle_costs_one_gap_and_ends([[maybe_unused]] void **state)
{
	static const uint16_t sizes[] = { 0, 7, 4000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct rig *rig = open_rig(1, 0);
		const struct perf_event_header head = { .type = PERF_RECORD_SAMPLE,
							.size = sizes[i] };

		put_bytes(rig, &head, sizeof(head));
		put_sample(rig, 10, 1, 1);
		take(rig);
		assert_int_equal(next(rig).type, REC_LOST);
		assert_empty(rig);
		assert_int_equal(rig->reader->stats.damaged, 1);
		close_rig(rig);
	}
}

static void head_beyond_the_circle_is_damage([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);

	rig->circle.head = CIRCLE + 8;
	take(rig);
	assert_int_equal(next(rig).order, DB_GAP_READER);
	assert_empty(rig);
	close_rig(rig);
}

/* A sample whose raw size says more than the record has; one of another event. */
static void senseless_samples_are_skipped_and_counted([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);

	put_sample(rig, 10, 1, 1);
	zr_put32(rig->data + 32, UINT32_MAX);
	put_sample(rig, 20, 1, 2);
	zr_put16(rig->data + SAMPLE_BYTES + 36, EVENT_ID + 1);
	put_sample(rig, 30, 1, 3);
	take(rig);
	assert_int_equal(next(rig).swp, 3);
	assert_empty(rig);
	assert_int_equal(rig->reader->stats.skipped, 2);
	close_rig(rig);
}

static void other_records_are_passed_over([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);
	const struct perf_event_header throttle = { .type = PERF_RECORD_THROTTLE, .size = 8 };

	put_bytes(rig, &throttle, sizeof(throttle));
	put_sample(rig, 10, 1, 1);
	take(rig);
	assert_int_equal(next(rig).swp, 1);
	assert_empty(rig);
	close_rig(rig);
}

static void reading_stops_at_the_mark([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(1, 0);

	for (uint64_t i = 1; i <= 5; i++)
		put_sample(rig, i * 10, 1, i);
	rec_merge_begin(rig->reader->merge);
	assert_int_equal(rec_perf_take(rig->reader, &rig->circle, 25), ZR_OK);
	rec_merge_end(rig->reader->merge);
	assert_int_equal(rig->circle.tail, 3 * SAMPLE_BYTES); /* the one past the mark ends it */
	close_rig(rig);
}

/* ------------------------------------------------------------------------------------------- bound */

/* CPU 0 has 10 records and room for 4; CPU 1 has one, late. The late one must wait for all ten. */
static void full_queue_holds_back_what_is_later([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig(2, 4);
	struct rec_merge *merge = rig->reader->merge;
	struct rec_raw late = { .type = REC_FREE, .swp = 999 }, raw;
	uint64_t expected = 1;

	for (uint64_t i = 1; i <= 10; i++)
		put_sample(rig, i * 10, 1, i);
	for (int round = 0; round < 4; round++) {
		rec_merge_begin(merge);
		assert_int_equal(rec_perf_take(rig->reader, &rig->circle, UINT64_MAX - 1), ZR_OK);
		if (round == 0) {
			rec_merge_time(merge, 1, 95);
			assert_true(rec_merge_push(merge, 1, &late));
		}
		rec_merge_end(merge);
		if (round == 0)
			assert_int_equal(rec_merge_reached(merge, 1000), 40);
		while (rec_merge_next(merge, 1000, &raw)) {
			assert_int_equal(raw.swp, expected == 10 ? 999 : expected == 11 ? 10 : expected);
			expected++;
		}
	}
	assert_int_equal(expected, 12);
	assert_int_equal(rec_merge_reached(merge, 1000), 1000);
	assert_int_equal(rig->reader->stats.lost, 0);
	close_rig(rig);
}

/* Random times on several CPUs, random rounds: what comes out is the sorted whole, whatever the bound. */
static void bounded_merge_agrees_with_a_sort([[maybe_unused]] void **state)
{
	enum { CPUS = 4, EACH = 500 };
	static uint64_t times[CPUS][EACH];

	srand(5);
	for (uint32_t most = 1; most <= 64; most *= 4) {
		struct rec_merge *merge = rec_merge_new(CPUS, most);
		uint32_t taken[CPUS] = { 0 }, out = 0;
		uint64_t last = 0;
		struct rec_raw raw;

		assert_non_null(merge);
		for (uint32_t cpu = 0; cpu < CPUS; cpu++)
			for (uint32_t i = 0; i < EACH; i++)
				times[cpu][i] = (i ? times[cpu][i - 1] : 0) + (uint64_t)rand() % 100;
		while (out < CPUS * EACH) {
			uint32_t before = out;

			rec_merge_begin(merge);
			for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
				while (taken[cpu] < EACH && !rec_merge_full(merge, cpu)) {
					raw = (struct rec_raw){ .cpu = (uint16_t)cpu };
					rec_merge_time(merge, cpu, times[cpu][taken[cpu]++]);
					assert_true(rec_merge_push(merge, cpu, &raw));
				}
				if (taken[cpu] < EACH)
					rec_merge_behind(merge, cpu);
			}
			rec_merge_end(merge);
			for (; rec_merge_next(merge, UINT64_MAX, &raw); out++) {
				assert_true(raw.time_ns >= last);
				last = raw.time_ns;
			}
			assert_true(out > before); /* never stuck */
		}
		rec_merge_free(merge);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_becomes_a_record),
		cmocka_unit_test(records_wrap_around_the_end),
		cmocka_unit_test(lost_record_is_a_gap_in_its_place),
		cmocka_unit_test(cpu_that_was_not_watched_is_a_gap),
		cmocka_unit_test(damaged_circle_costs_one_gap_and_ends),
		cmocka_unit_test(head_beyond_the_circle_is_damage),
		cmocka_unit_test(senseless_samples_are_skipped_and_counted),
		cmocka_unit_test(other_records_are_passed_over),
		cmocka_unit_test(reading_stops_at_the_mark),
		cmocka_unit_test(full_queue_holds_back_what_is_later),
		cmocka_unit_test(bounded_merge_agrees_with_a_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
