/* SPDX-License-Identifier: MIT */
/*
 * Tests of the way from ring buffers to records: formats that surprise, sub-buffers written here byte by
 * byte, and the merge against a plain sort.
 */
#include "recorder/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "db/base/bytes.h"
#include "db/event.h"

enum { PAGE_BYTES = 4096, FREE_ID = 1500, RET_ID = 1501 };

static const struct rec_layout layout = { .head_bit = 6, .order_in_flags1 = true };

/* ----------------------------------------------------------------------------------------- formats */

/* A format file as the kernel writes it. Offsets: type at 0, pid at `pid_at`, swp at `swp_at`. */
static void write_format(char *text, size_t bytes, const char *extra_common, int pid_at, int swp_at)
{
	snprintf(text, bytes,
		 "name: free\nID: %d\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "%s"
		 "\tfield:int common_pid;\toffset:%d;\tsize:4;\tsigned:1;\n"
		 "\n"
		 "\tfield:unsigned long __probe_ip;\toffset:%d;\tsize:8;\tsigned:0;\n"
		 "\tfield:u64 swp;\toffset:%d;\tsize:8;\tsigned:0;\n"
		 "\n"
		 "print fmt: \"(%%lx) swp=0x%%Lx\", REC->__probe_ip, REC->swp\n",
		 FREE_ID, extra_common, pid_at, pid_at + 4, swp_at);
}

static struct rec_decoder *decoder_of(const char *format)
{
	struct rec_decoder *decoder;

	assert_int_equal(rec_decoder_new(&layout, &decoder), ZR_OK);
	assert_int_equal(rec_decoder_add(decoder, "zreel_1", format, REC_FREE), ZR_OK);
	return decoder;
}

static void check_format(const char *format, uint32_t pid_at, uint32_t swp_at)
{
	struct rec_decoder *decoder = decoder_of(format);
	unsigned char data[64] = { 0 };
	struct rec_raw raw;

	memset(data, 0xee, sizeof(data));
	zr_put16(data, FREE_ID);
	zr_put32(data + pid_at, 4711);
	zr_put64(data + swp_at, 0x123456789a);
	assert_true(rec_decoder_event(decoder, data, swp_at + 8, &raw));
	assert_int_equal(raw.type, REC_FREE);
	assert_int_equal(raw.tid, 4711);
	assert_int_equal(raw.swp, 0x123456789a);
	assert_false(rec_decoder_event(decoder, data, swp_at + 7, &raw));
	assert_false(rec_decoder_event(decoder, data, 1, &raw));
	zr_put16(data, FREE_ID + 1);
	assert_false(rec_decoder_event(decoder, data, sizeof(data), &raw));
	rec_decoder_free(decoder);
}

static void plain_format_is_read([[maybe_unused]] void **state)
{
	char format[2048];

	write_format(format, sizeof(format), "", 4, 16);
	check_format(format, 4, 16);
}

static void real_time_kernels_shift_all_fields([[maybe_unused]] void **state)
{
	char format[2048];

	write_format(format, sizeof(format),
		     "\tfield:unsigned char common_migrate_disable;\toffset:4;\tsize:1;\tsigned:0;\n"
		     "\tfield:unsigned char common_preempt_lazy_count;\toffset:5;\tsize:1;\tsigned:0;\n",
		     8, 20);
	check_format(format, 8, 20);
}

static void hole_between_fields_is_no_matter([[maybe_unused]] void **state)
{
	char format[2048];

	write_format(format, sizeof(format), "", 6, 22); /* two bytes before the pid */
	check_format(format, 6, 22);
}

static void format_of_six_thousand_bytes_is_read_whole([[maybe_unused]] void **state)
{
	char format[8192];
	size_t n;

	write_format(format, sizeof(format), "", 4, 16);
	n = strlen(format) - 1;
	while (n < 6000)
		n += (size_t)snprintf(format + n, sizeof(format) - n, ", REC->swp");
	check_format(format, 4, 16);
}

static void format_without_the_needed_field_is_refused([[maybe_unused]] void **state)
{
	struct rec_decoder *decoder;
	char format[2048], *swp;

	write_format(format, sizeof(format), "", 4, 16);
	swp = strstr(format, "u64 swp");
	memcpy(swp, "u64 pws", 7);
	assert_int_equal(rec_decoder_new(&layout, &decoder), ZR_OK);
	assert_int_equal(rec_decoder_add(decoder, "zreel_1", format, REC_FREE), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), "free"));
	zr_error_clear();
	assert_int_equal(rec_decoder_add(decoder, "zreel_1", "no format at all", REC_FREE),
			 ZR_UNSUPPORTED);
	zr_error_clear();
	rec_decoder_free(decoder);
}

static void signed_and_narrow_fields_keep_their_value([[maybe_unused]] void **state)
{
	static const char format[] =
		"name: wb_ret\nID: 1501\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		"\n"
		"\tfield:s32 ret;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"ret=%d\", REC->ret\n";
	unsigned char data[12] = { 0 };
	struct rec_decoder *decoder;
	struct rec_raw raw;

	assert_int_equal(rec_decoder_new(&layout, &decoder), ZR_OK);
	assert_int_equal(rec_decoder_add(decoder, "zreel_1", format, REC_WB_RET), ZR_OK);
	zr_put16(data, RET_ID);
	zr_put32(data + 8, (uint32_t)-17);
	assert_true(rec_decoder_event(decoder, data, sizeof(data), &raw));
	assert_int_equal(raw.ret, -17);
	rec_decoder_free(decoder);
}

static void block_event_is_read_without_its_other_fields([[maybe_unused]] void **state)
{
	static const char format[] =
		"name: block_rq_issue\nID: 900\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		"\n"
		"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
		"\tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n"
		"\tfield:char comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
		"\tfield:__data_loc char[] cmd;\toffset:56;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"%d,%d\", REC->dev, REC->bytes\n";
	unsigned char data[60] = { 0 };
	struct rec_decoder *decoder;
	struct rec_raw raw;

	assert_int_equal(rec_decoder_new(&layout, &decoder), ZR_OK);
	assert_int_equal(rec_decoder_add(decoder, "block", format, REC_RQ_ISSUE), ZR_OK);
	zr_put16(data, 900);
	zr_put32(data + 8, 259 << 20);
	zr_put64(data + 16, UINT64_C(0x100000000));
	zr_put32(data + 24, 8);
	memcpy(data + 32, "WS", 2);
	assert_true(rec_decoder_event(decoder, data, sizeof(data), &raw));
	assert_int_equal(raw.dev, 259 << 20);
	assert_int_equal(raw.swp, UINT64_C(0x100000000));
	assert_int_equal(raw.len, 8);
	assert_int_equal(raw.op, REC_OP_WRITE);
	rec_decoder_free(decoder);
}

/* ------------------------------------------------------------------------------------- sub-buffers */

struct page {
	unsigned char bytes[PAGE_BYTES];
	size_t n; /* of events, behind the head */
};

enum { HEAD = 16, KIND_PADDING = 29, KIND_EXTEND = 30, KIND_STAMP = 31 };

static void begin(struct page *page, uint64_t time_ns)
{
	memset(page, 0, sizeof(*page));
	zr_put64(page->bytes, time_ns);
}

static void put_word(struct page *page, uint32_t word)
{
	assert_true(HEAD + page->n + 4 <= PAGE_BYTES);
	zr_put32(page->bytes + HEAD + page->n, word);
	page->n += 4;
	zr_put64(page->bytes + 8, page->n);
}

/* An event of type free: type and pid, the probe's address, the entry; 24 bytes. */
static void put_free(struct page *page, uint32_t delta, uint32_t tid, uint64_t swp)
{
	put_word(page, 24 / 4 | delta << 5);
	put_word(page, FREE_ID);
	put_word(page, tid);
	put_word(page, 0);
	put_word(page, 0);
	put_word(page, (uint32_t)swp);
	put_word(page, (uint32_t)(swp >> 32));
}

struct rig {
	struct rec_decoder *decoder;
	struct rec_ring *ring;
};

static struct rig open_rig(uint32_t cpus)
{
	struct rig rig;
	char format[2048];

	write_format(format, sizeof(format), "", 4, 16);
	rig.decoder = decoder_of(format);
	assert_int_equal(rec_ring_new(rig.decoder,
				      &(struct rec_ring_size){ .cpus = cpus, .page_bytes = PAGE_BYTES },
				      &rig.ring),
			 ZR_OK);
	return rig;
}

static void close_rig(const struct rig *rig)
{
	rec_ring_close(rig->ring);
	rec_decoder_free(rig->decoder);
}

static void give(const struct rig *rig, uint32_t cpu, struct page *page)
{
	uint64_t bytes;

	assert_int_equal(rec_ring_page(rig->ring, cpu, page->bytes, PAGE_BYTES), ZR_OK);
	assert_int_equal(rec_ring_drain(rig->ring, 0, &bytes), ZR_OK);
}

static struct rec_raw next(const struct rig *rig)
{
	struct rec_raw raw;

	assert_true(rec_ring_next(rig->ring, UINT64_MAX, &raw));
	return raw;
}

static void expect_end(const struct rig *rig)
{
	struct rec_raw raw;

	assert_false(rec_ring_next(rig->ring, UINT64_MAX, &raw));
}

static void events_of_a_page_carry_their_times([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(1);
	struct page page;
	struct rec_raw raw;

	begin(&page, 1'000'000);
	put_free(&page, 0, 7, 70);
	put_free(&page, 250, 8, 80);
	put_word(&page, KIND_EXTEND | 5 << 5); /* 2^27 * 3 + 5 later */
	put_word(&page, 3);
	put_free(&page, 1, 9, 90);
	put_word(&page, KIND_PADDING | 1 << 5);
	put_word(&page, 8); /* a discarded event: 8 bytes with its length */
	put_word(&page, 0);
	put_free(&page, 2, 10, 100);
	give(&rig, 0, &page);
	raw = next(&rig);
	assert_int_equal(raw.time_ns, 1'000'000);
	assert_int_equal(raw.tid, 7);
	assert_int_equal(raw.swp, 70);
	assert_int_equal(next(&rig).time_ns, 1'000'250);
	assert_int_equal(next(&rig).time_ns, 1'000'250 + UINT64_C(3) * (1 << 27) + 5 + 1);
	raw = next(&rig);
	assert_int_equal(raw.swp, 100);
	assert_int_equal(raw.time_ns, 1'000'250 + UINT64_C(3) * (1 << 27) + 5 + 4);
	expect_end(&rig);
	assert_int_equal(rec_ring_stats(rig.ring).damaged, 0);
	close_rig(&rig);
}

static void full_pages_one_after_the_other_are_all_taken([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(1);
	uint32_t per_page = (PAGE_BYTES - HEAD) / 28;

	for (uint32_t i = 0; i < 3; i++) {
		struct page page;

		begin(&page, 1000 * (i + 1));
		for (uint32_t j = 0; j < per_page; j++)
			put_free(&page, 1, 7, j);
		give(&rig, 0, &page);
	}
	for (uint32_t i = 0; i < 3 * per_page; i++)
		assert_int_equal(next(&rig).swp, i % per_page);
	expect_end(&rig);
	assert_int_equal(rec_ring_stats(rig.ring).damaged, 0);
	close_rig(&rig);
}

static void losses_become_records_before_the_page([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(2);
	struct page page;
	struct rec_raw raw;

	begin(&page, 5000);
	put_free(&page, 10, 7, 70);
	zr_put64(page.bytes + HEAD + page.n, 57); /* how many, behind the events */
	zr_put64(page.bytes + 8, page.n | UINT64_C(3) << 30);
	give(&rig, 1, &page);
	raw = next(&rig);
	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.len, 57);
	assert_int_equal(raw.cpu, 1);
	assert_int_equal(raw.order, DB_GAP_RING);
	assert_int_equal(raw.time_ns, 5010);
	assert_int_equal(next(&rig).type, REC_FREE);
	begin(&page, 6000); /* lost, but not how many */
	put_free(&page, 10, 7, 70);
	zr_put64(page.bytes + 8, page.n | UINT64_C(1) << 31);
	give(&rig, 1, &page);
	raw = next(&rig);
	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.len, 1);
	assert_int_equal(rec_ring_stats(rig.ring).lost, 58);
	close_rig(&rig);
}

/* As after any longer loss. The library's reader drops the number of losses then. */
static void losses_before_a_page_that_begins_with_a_jump_are_told([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(1);
	struct page page;
	struct rec_raw raw;

	begin(&page, 5000);
	put_word(&page, KIND_EXTEND | 0 << 5);
	put_word(&page, 1);
	put_free(&page, 10, 7, 70);
	zr_put64(page.bytes + HEAD + page.n, 57);
	zr_put64(page.bytes + 8, page.n | UINT64_C(3) << 30);
	give(&rig, 0, &page);
	raw = next(&rig);
	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.len, 57);
	assert_int_equal(raw.time_ns, 5010 + (1 << 27));
	close_rig(&rig);
}

static void damaged_pages_are_gaps_and_not_read_beyond([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(1);
	struct page page;
	struct rec_raw raw;

	begin(&page, 1000);
	put_free(&page, 0, 7, 70);
	zr_put64(page.bytes + 8, PAGE_BYTES); /* more than fits */
	give(&rig, 0, &page);
	raw = next(&rig);
	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.order, DB_GAP_READER);

	begin(&page, 2000);
	put_free(&page, 0, 7, 71);
	put_word(&page, 0); /* an event whose length is in the next word, and absurd */
	put_word(&page, 100'000);
	give(&rig, 0, &page);
	assert_int_equal(next(&rig).swp, 71);
	assert_int_equal(next(&rig).type, REC_LOST);
	expect_end(&rig);
	assert_int_equal(rec_ring_stats(rig.ring).damaged, 2);
	close_rig(&rig);
}

static void unknown_events_are_skipped_and_counted([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(1);
	struct page page;

	begin(&page, 1000);
	put_word(&page, 2);
	put_word(&page, FREE_ID + 9);
	put_word(&page, 7);
	put_free(&page, 0, 7, 70);
	give(&rig, 0, &page);
	assert_int_equal(next(&rig).swp, 70);
	expect_end(&rig);
	assert_int_equal(rec_ring_stats(rig.ring).skipped, 1);
	close_rig(&rig);
}

static void records_after_the_mark_wait([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(1);
	struct page page;
	struct rec_raw raw;
	uint64_t bytes;

	begin(&page, 1000);
	put_free(&page, 0, 7, 70);
	put_free(&page, 500, 7, 71);
	give(&rig, 0, &page);
	assert_true(rec_ring_next(rig.ring, 1200, &raw));
	assert_false(rec_ring_next(rig.ring, 1200, &raw));
	assert_int_equal(rec_ring_drain(rig.ring, 0, &bytes), ZR_OK);
	assert_true(rec_ring_next(rig.ring, 1501, &raw));
	assert_int_equal(raw.swp, 71);
	close_rig(&rig);
}

/* Several CPUs, several rounds, random times: out comes what a sort of all would give. */
static void merge_agrees_with_a_sort([[maybe_unused]] void **state)
{
	enum { CPUS = 5, ROUNDS = 40, EACH = 30 };
	struct rig rig = open_rig(CPUS);
	static uint64_t all[CPUS * ROUNDS * EACH];
	uint64_t clock[CPUS] = { 0 }, last = 0;
	uint32_t n = 0, got = 0;
	unsigned seed = 99;
	struct rec_raw raw;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t mark = UINT64_MAX;

		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			struct page page;

			begin(&page, clock[cpu]);
			for (uint32_t i = 0; i < EACH; i++) {
				uint32_t delta = (seed = seed * 1103515245u + 12345u) >> 20;

				clock[cpu] += delta;
				all[n] = clock[cpu];
				put_free(&page, delta, 1, n++);
			}
			give(&rig, cpu, &page);
			mark = clock[cpu] < mark ? clock[cpu] : mark;
		}
		while (rec_ring_next(rig.ring, round + 1 < ROUNDS ? mark : UINT64_MAX, &raw)) {
			assert_true(raw.time_ns >= last);
			assert_int_equal(raw.time_ns, all[raw.swp]);
			last = raw.time_ns;
			all[raw.swp] = UINT64_MAX; /* each only once */
			got++;
		}
	}
	assert_int_equal(got, n);
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_format_is_read),
		cmocka_unit_test(real_time_kernels_shift_all_fields),
		cmocka_unit_test(hole_between_fields_is_no_matter),
		cmocka_unit_test(format_of_six_thousand_bytes_is_read_whole),
		cmocka_unit_test(format_without_the_needed_field_is_refused),
		cmocka_unit_test(signed_and_narrow_fields_keep_their_value),
		cmocka_unit_test(block_event_is_read_without_its_other_fields),
		cmocka_unit_test(events_of_a_page_carry_their_times),
		cmocka_unit_test(full_pages_one_after_the_other_are_all_taken),
		cmocka_unit_test(losses_become_records_before_the_page),
		cmocka_unit_test(losses_before_a_page_that_begins_with_a_jump_are_told),
		cmocka_unit_test(damaged_pages_are_gaps_and_not_read_beyond),
		cmocka_unit_test(unknown_events_are_skipped_and_counted),
		cmocka_unit_test(records_after_the_mark_wait),
		cmocka_unit_test(merge_agrees_with_a_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
