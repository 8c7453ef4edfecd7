/* SPDX-License-Identifier: MIT */
/*
 * Tests of a swap file's way to its disk. The oracle for slots is a walk over the file's bytes, page by page
 * on the disk, as it would be done by hand; requests are looked up through the fold, which is what for.
 */
#include "recorder/extents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, DEV = 1 << 20 };

static void expect_extent(const struct rec_extent *extent, uint64_t sector, uint32_t slot,
			  uint32_t slots)
{
	assert_int_equal(extent->sector, sector);
	assert_int_equal(extent->slot, slot);
	assert_int_equal(extent->slots, slots);
}

/* Slots 0-99 at block 1000, 100-149 at 50, 150- at 5000. */
static const struct rec_piece three[] = {
	{ 1000 * PAGE, 100 * PAGE }, { 50 * PAGE, 50 * PAGE }, { 5000 * PAGE, 100 * PAGE }
};

static void pieces_become_extents_by_sector([[maybe_unused]] void **state)
{
	const struct rec_geometry geometry = { .page_bytes = PAGE, .start_sector = 2048, .slots = 200 };
	struct rec_extent out[3];

	assert_int_equal(rec_extents_of_pieces(three, 3, &geometry, out), 3);
	expect_extent(&out[0], 2048 + 50 * 8, 100, 50);
	expect_extent(&out[1], 2048 + 1000 * 8, 0, 100);
	expect_extent(&out[2], 2048 + 5000 * 8, 150, 50); /* the area ends within it */
}

static void neighbours_are_one_extent([[maybe_unused]] void **state)
{
	const struct rec_geometry geometry = { .page_bytes = PAGE, .slots = 100 };
	const struct rec_piece pieces[] = { { 8 * PAGE, 2 * PAGE }, { 10 * PAGE, 3 * PAGE },
					    { 4 * PAGE, PAGE } };
	struct rec_extent out[3];

	assert_int_equal(rec_extents_of_pieces(pieces, 3, &geometry, out), 2);
	expect_extent(&out[0], 4 * 8, 5, 1);
	expect_extent(&out[1], 8 * 8, 0, 5);
}

/* Blocks of 1 KiB: only whole pages of the disk are slots. */
static void broken_pages_are_left_out([[maybe_unused]] void **state)
{
	const struct rec_geometry geometry = { .page_bytes = PAGE, .slots = 1000 };
	struct rec_piece pieces[40];
	struct rec_extent out[40];
	uint32_t slot = 0, n, seed = 12345;

	for (uint32_t i = 0; i < 40; i++) {
		seed = seed * 1103515245 + 12345;
		/* One block between pieces, so that they never touch. */
		pieces[i].disk = (i ? pieces[i - 1].disk + pieces[i - 1].bytes : 0) + 1024;
		pieces[i].bytes = 1024 * (1 + seed / 65536 % 20);
	}
	n = rec_extents_of_pieces(pieces, 40, &geometry, out);
	for (uint32_t i = 0, at = 0; i < 40; i++) {
		uint64_t page = 0;
		uint32_t found = 0;

		for (; page * PAGE < pieces[i].disk + pieces[i].bytes; page++) {
			if (page * PAGE < pieces[i].disk ||
			    (page + 1) * PAGE > pieces[i].disk + pieces[i].bytes)
				continue;
			if (!found++)
				expect_extent(&out[at], page * 8, slot, out[at].slots);
			slot++;
		}
		if (found)
			assert_int_equal(out[at++].slots, found);
		if (i == 39)
			assert_int_equal(at, n);
	}
}

/* ------------------------------------------------------------------------------------ through the fold */

struct seen {
	char text[512];
};

static enum zr_err take_event(void *arg, const struct db_event *event)
{
	struct seen *seen = arg;
	size_t n = strlen(seen->text);

	snprintf(seen->text + n, sizeof(seen->text) - n, "%s:%u:%u+%u ", db_kind_name(event->kind),
		 event->area, event->slot, event->len / 8);
	return ZR_OK;
}

static enum zr_err take_id([[maybe_unused]] void *arg, [[maybe_unused]] uint32_t id,
			   [[maybe_unused]] uint64_t key)
{
	return ZR_OK;
}

static enum zr_err take_number([[maybe_unused]] void *arg, [[maybe_unused]] uint32_t id,
			       [[maybe_unused]] uint32_t number)
{
	return ZR_OK;
}

static struct rec_fold *open_fold(struct seen *seen)
{
	const struct rec_fold_options options = {
		.sink = { .event = take_event, .memcg = take_id, .task = take_number,
			  .area = take_number, .arg = seen },
	};
	struct rec_fold *fold;

	*seen = (struct seen){ 0 };
	assert_int_equal(rec_fold_new(&options, &fold), ZR_OK);
	return fold;
}

static void request(struct rec_fold *fold, uint64_t sector, uint32_t pages)
{
	assert_int_equal(rec_fold_add(fold, &(struct rec_raw){ .type = REC_RQ_ISSUE, .dev = DEV,
							       .swp = sector, .len = pages * 8,
							       .tid = 1, .op = REC_OP_WRITE }),
			 ZR_OK);
}

/* Slots 95-104 of a file in pieces are two requests, far from each other on the disk. */
static void requests_of_a_file_in_pieces_find_their_slots([[maybe_unused]] void **state)
{
	const struct rec_geometry geometry = { .page_bytes = PAGE, .start_sector = 2048, .slots = 250 };
	struct rec_extent extents[3];
	struct rec_area area = { .disk_dev = DEV, .part_dev = DEV + 1, .start_sector = 2048,
				 .slots = 250, .sectors_per_slot = 8, .extents = extents };
	struct seen seen;
	struct rec_fold *fold = open_fold(&seen);
	uint32_t id;

	area.n_extents = rec_extents_of_pieces(three, 3, &geometry, extents);
	assert_int_equal(rec_fold_area(fold, &area, &id), ZR_OK);
	request(fold, 2048 + 1095 * 8, 5);
	request(fold, 2048 + 50 * 8, 5);
	request(fold, 2048 + 5099 * 8, 1);
	/* Of the same disk, and of nobody: between, before and behind the pieces. */
	request(fold, 2048 + 100 * 8, 1);
	request(fold, 2048 + 49 * 8, 1);
	request(fold, 2048 + 5100 * 8, 1);
	request(fold, 8, 1);
	assert_int_equal(rec_fold_finish(fold), ZR_OK);
	assert_string_equal(seen.text, "IO:1:95+5 IO:1:100+5 IO:1:249+1 ");
	assert_int_equal(rec_fold_stats(fold)->foreign_io, 4);
	rec_fold_free(fold);
}

static void out(struct rec_fold *fold, uint64_t type, uint64_t slot)
{
	assert_int_equal(rec_fold_add(fold, &(struct rec_raw){ .type = REC_FREE, .tid = 1,
							       .swp = type << 58 | slot }),
			 ZR_OK);
}

/* Type 1 is switched off, and another area gets its number; offset 7 is in use in both types. */
static void type_number_that_is_used_again_is_another_area([[maybe_unused]] void **state)
{
	struct rec_area area = { .slots = 100, .type = 0 };
	struct seen seen;
	struct rec_fold *fold = open_fold(&seen);
	uint32_t id;

	assert_int_equal(rec_fold_area(fold, &area, &id), ZR_OK);
	area.type = 1;
	assert_int_equal(rec_fold_area(fold, &area, &id), ZR_OK);
	assert_int_equal(id, 2);
	out(fold, 0, 7);
	out(fold, 1, 7);
	rec_fold_area_gone(fold, 1);
	out(fold, 1, 7); /* before anybody told of the new one */
	assert_int_equal(rec_fold_area(fold, &area, &id), ZR_OK);
	assert_int_equal(id, 3);
	out(fold, 1, 8);
	out(fold, 0, 8);
	assert_int_equal(rec_fold_finish(fold), ZR_OK);
	assert_string_equal(seen.text, "FREE:1:7+0 FREE:2:7+0 FREE:3:7+0 FREE:3:8+0 FREE:1:8+0 ");
	rec_fold_free(fold);
}

/* ------------------------------------------------------------------------------------------ real files */

static void file_that_cannot_be_mapped_is_named([[maybe_unused]] void **state)
{
	const struct rec_geometry geometry = { .page_bytes = PAGE, .slots = 1 };
	struct rec_extent *extents;
	uint32_t n;

	assert_int_equal(rec_extents_read("/nowhere/swap", &geometry, &extents, &n), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "/nowhere/swap"));
	zr_error_clear();
	/* proc has no disk. */
	assert_int_equal(rec_extents_read("/proc/version", &geometry, &extents, &n), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), "/proc/version"));
	assert_null(extents);
	zr_error_clear();
}

static void extents_are_told_as_text([[maybe_unused]] void **state)
{
	const struct rec_extent two[] = { { 400, 100, 50 }, { 8000, 0, 100 } };
	struct rec_extent *many = calloc(20000, sizeof(*many));
	char *text = rec_extents_text(two, 2);

	assert_non_null(many);
	assert_string_equal(text, "100+50@400,0+100@8000");
	free(text);
	text = rec_extents_text(many, 20000);
	assert_string_equal(text + strlen(text) - 9, "0+0@0,...");
	free(text);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_become_extents_by_sector),
		cmocka_unit_test(neighbours_are_one_extent),
		cmocka_unit_test(broken_pages_are_left_out),
		cmocka_unit_test(requests_of_a_file_in_pieces_find_their_slots),
		cmocka_unit_test(type_number_that_is_used_again_is_another_area),
		cmocka_unit_test(file_that_cannot_be_mapped_is_named),
		cmocka_unit_test(extents_are_told_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
