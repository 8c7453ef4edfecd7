/* SPDX-License-Identifier: MIT */
/*
 * Tests of swap areas on device mapper. Tables are written here as the kernel answers them. The oracle for moved
 * extents follows each slot's sector through the table by itself, without extents.
 */
#include "recorder/dm.h"

#include <linux/dm-ioctl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PER_SLOT = 8, SDA = 8 << 20, SDB = SDA | 16 };

/* ------------------------------------------------------------------------------------------- tables */

struct answer {
	char data[4096];
	size_t n;
	uint32_t count;
};

/* Parameters are padded to 8 bytes, and `next` counts from the start. */
static void add_line(struct answer *answer, uint64_t start, uint64_t sectors, const char *type,
		     const char *parameters)
{
	struct dm_target_spec spec = { .sector_start = start, .length = sectors };
	size_t bytes = (sizeof(spec) + strlen(parameters) + 1 + 7) / 8 * 8;

	assert_true(answer->n + bytes <= sizeof(answer->data));
	strcpy(spec.target_type, type);
	spec.next = (uint32_t)(answer->n + bytes);
	memcpy(answer->data + answer->n, &spec, sizeof(spec));
	strcpy(answer->data + answer->n + sizeof(spec), parameters);
	answer->n += bytes;
	answer->count++;
}

static void linear_and_crypt_say_where_they_go_on([[maybe_unused]] void **state)
{
	struct answer answer = { 0 };
	struct rec_dm_target *targets;

	add_line(&answer, 0, 8192, "linear", "8:3 2048");
	add_line(&answer, 8192, 4096, "linear", "253:17 40960");
	add_line(&answer, 12288, 800, "crypt", "aes-xts-plain64 :64:logon:x 0 8:3 32768 1 allow_discards");
	assert_int_equal(rec_dm_targets(answer.data, answer.n, answer.count, &targets), ZR_OK);
	assert_int_equal(targets[0].dev, 8 << 20 | 3);
	assert_int_equal(targets[0].offset, 2048);
	assert_int_equal(targets[1].start, 8192);
	assert_int_equal(targets[1].sectors, 4096);
	assert_int_equal(targets[1].dev, 253 << 20 | 17);
	assert_int_equal(targets[2].dev, 8 << 20 | 3);
	assert_int_equal(targets[2].offset, 32768);
	free(targets);
}

static void other_targets_are_refused_by_name([[maybe_unused]] void **state)
{
	struct answer answer = { 0 };
	struct rec_dm_target *targets;

	add_line(&answer, 0, 8192, "thin", "253:2 1");
	assert_int_equal(rec_dm_targets(answer.data, answer.n, 1, &targets), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), "thin"));
	assert_null(targets);
	zr_error_clear();
}

static void cut_off_and_senseless_tables_are_refused([[maybe_unused]] void **state)
{
	struct answer answer = { 0 };
	struct rec_dm_target *targets;
	struct dm_target_spec spec;

	add_line(&answer, 0, 8192, "linear", "8:3 2048");
	add_line(&answer, 8192, 8192, "linear", "8:3 20480");
	for (size_t n = 0; n < answer.n; n++) {
		char *copy = malloc(n + 1); /* so that a reader beyond the end is caught */

		assert_non_null(copy);
		memcpy(copy, answer.data, n);
		if (!rec_dm_targets(copy, n, 2, &targets))
			free(targets); /* only padding was cut off */
		free(copy);
		zr_error_clear();
	}
	memcpy(&spec, answer.data, sizeof(spec));
	spec.next = UINT32_MAX;
	memcpy(answer.data, &spec, sizeof(spec));
	assert_int_equal(rec_dm_targets(answer.data, answer.n, 2, &targets), ZR_CORRUPT);
	zr_error_clear();
	assert_int_equal(rec_dm_targets(answer.data, answer.n, 0, &targets), ZR_LIMIT);
	zr_error_clear();
	strcpy(answer.data + sizeof(spec), "8 2048");
	assert_int_equal(rec_dm_targets(answer.data, answer.n, 1, &targets), ZR_UNSUPPORTED);
	zr_error_clear();
}

/* ------------------------------------------------------------------------------------------- moving */

/* Each slot's sector, as a table of all; 0 where there is none. */
static void list_slots(const struct rec_extents *extents, uint64_t *sectors, uint32_t n)
{
	memset(sectors, 0, n * sizeof(*sectors));
	for (uint32_t i = 0; i < extents->n; i++)
		for (uint32_t j = 0; j < extents->list[i].slots; j++) {
			assert_true(extents->list[i].slot + j < n);
			sectors[extents->list[i].slot + j] = extents->list[i].sector + j * PER_SLOT;
		}
}

static uint64_t followed(const struct rec_dm_target *targets, uint32_t n, uint64_t sector)
{
	for (uint32_t i = 0; i < n; i++)
		if (sector >= targets[i].start && sector < targets[i].start + targets[i].sectors)
			return sector - targets[i].start + targets[i].offset;
	fail_msg("no target");
	return 0;
}

static struct rec_extents extents_of(const struct rec_extent *list, uint32_t n)
{
	struct rec_extents extents = { .list = calloc(n, sizeof(*list)), .n = n };

	assert_non_null(extents.list);
	memcpy(extents.list, list, n * sizeof(*list));
	return extents;
}

static void each_slot_goes_where_its_sector_goes([[maybe_unused]] void **state)
{
	/* The second lies before the first on the disk. */
	static const struct rec_dm_target targets[] = { { 0, 1600, SDA, 50000 },
							{ 1600, 800, SDA, 7 },
							{ 2400, 8000, SDA, 90000 } };
	/* Two pieces of a file, the later slots first. */
	static const struct rec_extent pieces[] = { { 80, 300, 250 }, { 2480, 0, 300 } };
	struct rec_extents extents = extents_of(pieces, 2);
	uint64_t before[550], after[550];
	uint32_t dev;

	list_slots(&extents, before, 550);
	assert_int_equal(rec_dm_move(targets, 3, PER_SLOT, &extents, &dev), ZR_OK);
	assert_int_equal(dev, SDA);
	list_slots(&extents, after, 550);
	for (uint32_t i = 0; i < 550; i++)
		assert_int_equal(after[i], followed(targets, 3, before[i]));
	for (uint32_t i = 1; i < extents.n; i++)
		assert_true(extents.list[i - 1].sector < extents.list[i].sector);
	free(extents.list);
}

static void expect_refusal(const struct rec_dm_target *targets, uint32_t n, const char *why)
{
	static const struct rec_extent whole = { .slots = 200 };
	struct rec_extents extents = extents_of(&whole, 1);
	uint32_t dev;

	assert_int_equal(rec_dm_move(targets, n, PER_SLOT, &extents, &dev), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), why));
	zr_error_clear();
	assert_int_equal(extents.n, 1); /* left as it was */
	free(extents.list);
}

static void what_one_area_cannot_be_is_refused([[maybe_unused]] void **state)
{
	static const struct rec_dm_target spread[] = { { 0, 800, SDA, 0 }, { 800, 800, SDB, 0 } };
	static const struct rec_dm_target cut[] = { { 0, 804, SDA, 0 }, { 804, 796, SDA, 9000 } };
	static const struct rec_dm_target small[] = { { 0, 800, SDA, 0 } };

	expect_refusal(spread, 2, "several disks");
	expect_refusal(cut, 2, "cuts a slot");
	expect_refusal(small, 1, "no target");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_and_crypt_say_where_they_go_on),
		cmocka_unit_test(other_targets_are_refused_by_name),
		cmocka_unit_test(cut_off_and_senseless_tables_are_refused),
		cmocka_unit_test(each_slot_goes_where_its_sector_goes),
		cmocka_unit_test(what_one_area_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
