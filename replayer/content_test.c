/* SPDX-License-Identifier: MIT */
/* Pages of a wanted compressibility, held against zstd itself. */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "replayer/content.h"

static struct content *new_content(uint64_t seed)
{
	struct content *content;

	assert_int_equal(content_new(4096, seed, NULL, &content), ZR_OK);
	return content;
}

/* From the shortest that zstd can make of a page to what random bytes give. */
static void pages_compress_to_about_the_wanted_length(void **state)
{
	struct content *content = new_content(1);

	(void)state;
	for (uint32_t len = 96; len <= 4096; len += 50) {
		unsigned char page[4096], frame[8192];
		long tolerance = len > 4096 - 128 ? 2 * CONTENT_TOLERANCE : CONTENT_TOLERANCE;
		size_t by_zstd, told;

		assert_int_equal(content_decompress(content, len, page), ZR_OK);
		assert_int_equal(content_compress(content, len, &told), ZR_OK);
		by_zstd = ZSTD_compress(frame, sizeof(frame), page, sizeof(page), 3);
		assert_int_equal(told, by_zstd);
		if (labs((long)by_zstd - (long)len) > tolerance + CONTENT_STEP / 2)
			fail_msg("wanted %u bytes, zstd makes %zu", len, by_zstd);
	}
	content_free(content);
}

static void every_length_of_an_event_is_served(void **state)
{
	struct content *content = new_content(1);
	unsigned char page[4096];
	size_t got;

	(void)state;
	for (uint32_t len = 0; len <= 5000; len += len < 200 || len > 4000 ? 1 : 97) {
		assert_int_equal(content_decompress(content, len, page), ZR_OK);
		assert_int_equal(content_compress(content, len, &got), ZR_OK);
	}
	content_free(content);
}

static void the_same_seed_makes_the_same_pages(void **state)
{
	unsigned char page[3][4096];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct content *content = new_content(i < 2 ? 5 : 6);

		assert_int_equal(content_decompress(content, 1500, page[i]), ZR_OK);
		content_free(content);
	}
	assert_memory_equal(page[0], page[1], 4096);
	assert_true(memcmp(page[0], page[2], 4096) != 0);
}

/* ---------------------------------------------------------------------------------------- corpus */

enum { PAGE = 4096 };

/* A file whose page i begins with random_bytes(i) random bytes; the rest is zero. */
struct corpus {
	char path[64];
	unsigned char *pages;
	uint32_t n;
};

static struct corpus new_corpus(uint32_t n, uint32_t (*random_bytes)(uint32_t i), uint32_t tail)
{
	struct corpus corpus = { .path = "/tmp/zreel-corpus-XXXXXX", .n = n };
	int fd = mkstemp(corpus.path);
	uint64_t random = 9;

	assert_true(fd >= 0);
	corpus.pages = calloc(n + 1, PAGE);
	assert_non_null(corpus.pages);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t at = 0; at < random_bytes(i); at++)
			corpus.pages[i * PAGE + at] = (unsigned char)random_next(&random);
	assert_int_equal(write(fd, corpus.pages, (size_t)n * PAGE + tail), n * PAGE + tail);
	close(fd);
	return corpus;
}

static void free_corpus(struct corpus *corpus)
{
	unlink(corpus->path);
	free(corpus->pages);
}

static int64_t place_in(const struct corpus *corpus, const unsigned char *page)
{
	for (uint32_t i = 0; i < corpus->n; i++)
		if (memcmp(corpus->pages + (size_t)i * PAGE, page, PAGE) == 0)
			return i;
	return -1;
}

static uint32_t rising(uint32_t i)
{
	return i * 8;
}

/* The nearest that a search through the whole corpus finds, to within a step on either side. */
static void pages_of_a_corpus_are_those_nearest_in_length(void **state)
{
	struct corpus corpus = new_corpus(500, rising, 17);
	unsigned char page[PAGE], frame[2 * PAGE];
	uint64_t pages = 0, off = 0;
	struct content *content;

	(void)state;
	assert_int_equal(content_new(PAGE, 1, corpus.path, &content), ZR_OK);
	for (uint32_t len = 1; len <= PAGE; len += 91) {
		size_t nearest = SIZE_MAX, got;

		assert_int_equal(content_decompress(content, len, page), ZR_OK);
		assert_true(place_in(&corpus, page) >= 0);
		got = ZSTD_compress(frame, sizeof(frame), page, PAGE, 3);
		for (uint32_t i = 0; i < corpus.n; i++) {
			size_t is = ZSTD_compress(frame, sizeof(frame), corpus.pages + (size_t)i * PAGE,
						  PAGE, 3);
			size_t distance = is > len ? is - len : len - is;

			nearest = distance < nearest ? distance : nearest;
		}
		pages++;
		off += got > len ? got - len : len - got;
		assert_true((got > len ? got - len : len - got) <= nearest + 2 * CONTENT_STEP);
		assert_int_equal(content_fit(content).pages, pages);
		assert_int_equal(content_fit(content).off_bytes, off);
	}
	content_free(content);
	free_corpus(&corpus);
}

static uint32_t all_of_it(uint32_t i)
{
	(void)i;
	return 1000;
}

/* Of 640 pages of one length eight are kept, not the first eight; the same ones with the same seed. */
static void several_pages_of_a_length_take_turns(void **state)
{
	struct corpus corpus = new_corpus(640, all_of_it, 0);
	int64_t places[2][16];

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct content *content;
		unsigned char page[PAGE];
		size_t got;

		assert_int_equal(content_new(PAGE, 3, corpus.path, &content), ZR_OK);
		for (int i = 0; i < 16; i++) {
			assert_int_equal(content_decompress(content, 3000, page), ZR_OK);
			places[round][i] = place_in(&corpus, page);
		}
		assert_int_equal(content_compress(content, 3000, &got), ZR_OK);
		assert_in_range(got, 1000, 1100);
		content_free(content);
	}
	assert_memory_equal(places[0], places[1], sizeof(places[0]));
	for (int i = 0; i < 8; i++) {
		assert_int_equal(places[0][i], places[0][i + 8]);
		for (int k = 0; k < i; k++)
			assert_true(places[0][i] != places[0][k]);
	}
	for (int i = 0; i < 8; i++)
		if (places[0][i] >= 320) {
			free_corpus(&corpus);
			return;
		}
	fail_msg("all pages are of the first half of the corpus");
}

static void a_corpus_that_cannot_be_one_is_refused(void **state)
{
	struct corpus corpus = new_corpus(CONTENT_CORPUS_MIN - 1, rising, PAGE - 1);
	struct content *content;
	char pipe_path[96];

	(void)state;
	assert_int_equal(content_new(PAGE, 1, corpus.path, &content), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "63 whole pages"));
	assert_null(content);
	zr_error_clear();
	assert_int_equal(truncate(corpus.path, 0), 0);
	assert_int_equal(content_new(PAGE, 1, corpus.path, &content), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "0 whole pages"));
	zr_error_clear();
	assert_int_equal(content_new(PAGE, 1, "/", &content), ZR_USAGE);
	zr_error_clear();
	snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", corpus.path);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	assert_int_equal(content_new(PAGE, 1, pipe_path, &content), ZR_USAGE);
	zr_error_clear();
	unlink(pipe_path);
	assert_int_equal(content_new(PAGE, 1, pipe_path, &content), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "opening corpus"));
	zr_error_clear();
	free_corpus(&corpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_compress_to_about_the_wanted_length),
		cmocka_unit_test(every_length_of_an_event_is_served),
		cmocka_unit_test(the_same_seed_makes_the_same_pages),
		cmocka_unit_test(pages_of_a_corpus_are_those_nearest_in_length),
		cmocka_unit_test(several_pages_of_a_length_take_turns),
		cmocka_unit_test(a_corpus_that_cannot_be_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
