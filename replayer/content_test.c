/* SPDX-License-Identifier: MIT */
/* Pages of a wanted compressibility, held against zstd itself. */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "replayer/content.h"

static struct content *new_content(uint64_t seed)
{
	struct content *content;

	assert_int_equal(content_new(4096, seed, &content), ZR_OK);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_compress_to_about_the_wanted_length),
		cmocka_unit_test(every_length_of_an_event_is_served),
		cmocka_unit_test(the_same_seed_makes_the_same_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
