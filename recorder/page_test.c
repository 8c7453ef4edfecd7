/* SPDX-License-Identifier: MIT */
/*
 * Tests of the sub-buffer reader: random pages against libtraceevent's own reader, stamps of clocks
 * that count from 1970, and pages that end inside anything.
 */
#include "recorder/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/kbuffer.h>

#include <cmocka.h>

enum { PAGE_BYTES = 4096, SPARE = 64, PADDING = 29, EXTEND = 30, STAMP = 31 };

struct sample {
	unsigned char bytes[PAGE_BYTES + SPARE]; /* the library reads a word before it looks */
	size_t n;
	unsigned seed;
};

static uint32_t random_below(struct sample *sample, uint32_t n)
{
	sample->seed = sample->seed * 1103515245u + 12345u;
	return (sample->seed >> 8) % n;
}

static void put_word(struct sample *sample, uint32_t word)
{
	zr_put32(sample->bytes + REC_PAGE_HEAD_BYTES + sample->n, word);
	sample->n += 4;
}

static void put_random_event(struct sample *sample)
{
	uint32_t kind = random_below(sample, 32), since = random_below(sample, 1 << 20) + 1, words;

	put_word(sample, kind | since << 5);
	if (kind >= EXTEND) {
		put_word(sample, random_below(sample, 1 << 20));
		return;
	}
	words = kind && kind < PADDING ? kind : random_below(sample, 30);
	if (!kind || kind == PADDING)
		put_word(sample, (words + 1) * 4);
	for (uint32_t i = 0; i < words; i++)
		put_word(sample, random_below(sample, 1 << 24));
}

static void make_page(struct sample *sample)
{
	uint64_t time_ns = UINT64_C(1) << (20 + random_below(sample, 35));

	memset(sample->bytes, 0, sizeof(sample->bytes));
	sample->n = 0;
	while (sample->n < PAGE_BYTES - REC_PAGE_HEAD_BYTES - 200)
		put_random_event(sample);
	zr_put64(sample->bytes, time_ns);
	zr_put64(sample->bytes + 8, sample->n);
}

static void assert_read_alike(struct sample *sample, struct kbuffer *library)
{
	unsigned long long time_ns;
	struct rec_page page = { 0 };
	struct rec_page_event event;
	const unsigned char *data;
	uint32_t n = 0;

	assert_int_equal(kbuffer_load_subbuffer(library, sample->bytes), 0);
	assert_true(rec_page_open(&page, sample->bytes, PAGE_BYTES));
	data = kbuffer_read_event(library, &time_ns);
	for (; data; data = kbuffer_next_event(library, &time_ns), n++) {
		assert_true(rec_page_next(&page, &event));
		assert_ptr_equal(event.data, data);
		assert_int_equal(event.bytes, kbuffer_event_size(library));
		assert_int_equal(page.time_ns, time_ns);
	}
	assert_false(rec_page_next(&page, &event));
	assert_false(page.damaged);
	assert_true(n > 20);
}

static void random_pages_read_as_the_library_reads_them([[maybe_unused]] void **state)
{
	struct kbuffer *library = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	struct sample *sample = calloc(1, sizeof(*sample));

	assert_non_null(library);
	assert_non_null(sample);
	sample->seed = 7;
	for (uint32_t i = 0; i < 3000; i++) {
		make_page(sample);
		assert_read_alike(sample, library);
	}
	kbuffer_free(library);
	free(sample);
}

/* 2026 in nanoseconds needs bit 60. */
static void stamps_keep_the_highest_bits_of_the_time_before([[maybe_unused]] void **state)
{
	uint64_t now_ns = UINT64_C(1'790'000'000'000'000'000), unit = UINT64_C(1) << 59;

	assert_int_equal(rec_page_stamp((now_ns + 5) % unit, now_ns), now_ns + 5);
	assert_int_equal(rec_page_stamp(1, 3 * unit - 1), 3 * unit + 1); /* they roll over */
	assert_int_equal(rec_page_stamp(70, 100), 70);
}

/* Whatever is cut off: what comes before is read, nothing behind it is touched (the page is as long
 * as it says, so that a sanitizer would see), and the cut is told unless it is between two events.
 */
static void page_cut_anywhere_is_read_up_to_the_cut([[maybe_unused]] void **state)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	struct rec_page_event event;
	struct rec_page page = { 0 };

	assert_non_null(sample);
	sample->seed = 9;
	make_page(sample);
	for (size_t n = 0; n <= sample->n; n++) {
		unsigned char *cut = malloc(REC_PAGE_HEAD_BYTES + n);

		assert_non_null(cut);
		memcpy(cut, sample->bytes, REC_PAGE_HEAD_BYTES + n);
		zr_put64(cut + 8, n);
		assert_true(rec_page_open(&page, cut, REC_PAGE_HEAD_BYTES + n));
		while (rec_page_next(&page, &event))
			assert_true(event.data + event.bytes <= cut + REC_PAGE_HEAD_BYTES + n);
		assert_int_equal(page.damaged, page.at != page.end);
		free(cut);
	}
	free(sample);
}

static void head_that_says_more_than_there_is_is_refused([[maybe_unused]] void **state)
{
	unsigned char bytes[64] = { 0 };
	struct rec_page page = { 0 };

	for (size_t room = 0; room < REC_PAGE_HEAD_BYTES; room++)
		assert_false(rec_page_open(&page, bytes, room));
	zr_put64(bytes + 8, 49);
	assert_false(rec_page_open(&page, bytes, sizeof(bytes)));
	zr_put64(bytes + 8, 48);
	assert_true(rec_page_open(&page, bytes, sizeof(bytes)));
	zr_put64(bytes + 8, 41 | UINT64_C(3) << 30); /* no room for the number of lost events */
	assert_false(rec_page_open(&page, bytes, sizeof(bytes)));
	zr_put64(bytes + 8, 40 | UINT64_C(3) << 30);
	assert_true(rec_page_open(&page, bytes, sizeof(bytes)));
	assert_int_equal(page.lost, 1); /* it says none, and there were some */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_pages_read_as_the_library_reads_them),
		cmocka_unit_test(stamps_keep_the_highest_bits_of_the_time_before),
		cmocka_unit_test(page_cut_anywhere_is_read_up_to_the_cut),
		cmocka_unit_test(head_that_says_more_than_there_is_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
