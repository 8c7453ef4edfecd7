/* SPDX-License-Identifier: MIT */
/* Tests of the import of ftrace text: single lines, and whole texts into trace files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "recorder/input.h"
#include "recorder/recorder.h"
#include "recorder/text.h"

static const struct rec_layout layout = { .head_bit = 6, .order_in_flags1 = true };

/* ------------------------------------------------------------------------------------------ one line */

static struct rec_raw parsed(const char *line)
{
	struct rec_raw raw;

	if (rec_text_parse(line, &layout, &raw) != REC_LINE_EVENT)
		fail_msg("not taken for an event: %s", line);
	return raw;
}

/* Every way in which the columns were seen to move; all say the same. */
static void columns_are_found_wherever_they_are([[maybe_unused]] void **state)
{
	static const char *const lines[] = {
		"  hog-233     [001] ...1.     8.570002: free: (zswap_invalidate+0x4/0x50) swp=0x4000",
		"  hog-233     [001] ....     8.570002: free: (zswap_invalidate+0x4/0x50) swp=0x4000",
		"  hog-233     [001] d..2.1.. 8.570002: free: (zswap_invalidate+0x4/0x50) swp=0x4000",
		"  hog-233     [001]     8.570002: free: (zswap_invalidate+0x4/0x50) swp=0x4000",
		"  hog-233   (    233) [001] ...1.  8.570002: free: swp=0x4000",
		"  hog-233   (-------) [001]  8.570002: free: swp=0x4000",
		"  a b[1]: x-233 [001] ..... 8.570002: free: swp=0x4000",
		"  kworker/0:1-[2]-233 [001] ..... 8.570002: free: swp=0x4000",
		"  x [5] 1.5: y-233 [001] ..... 8.570002: free: swp=0x4000",
		"hog-233 [001] 8.570002000: free:  (ffffffff81000000) swp=16384",
		"hog   233 [001]  8.570002: zreel:free: (ffffffff81000000) swp=0x4000",
		"hog   233/233 [001]  8.570002: zreel:free: (ffffffff81000000) swp=0x4000 nr=0x0",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct rec_raw raw = parsed(lines[i]);

		assert_int_equal(raw.type, REC_FREE);
		assert_int_equal(raw.swp, 0x4000);
		assert_int_equal(raw.tid, 233);
		assert_int_equal(raw.cpu, 1);
		assert_int_equal(raw.time_ns, 8'570'002'000);
	}
}

static void counter_clocks_are_taken_as_they_are([[maybe_unused]] void **state)
{
	assert_int_equal(parsed("hog-233 [001] ..... 12345678: free: swp=0x1").time_ns, 12345678);
}

static void fields_are_read_by_name([[maybe_unused]] void **state)
{
	struct rec_raw raw = parsed("hog-2 [000] ...1. 8.5: store: (zswap_store+0x4/0x980) "
				    "swp=0x8000 flags=0x40 flags1=0xfffff09 memcg=0xff4a536a02af3000");

	assert_int_equal(raw.type, REC_STORE);
	assert_int_equal(raw.order, 9);
	assert_true(raw.memcg == 0xff4a536a02af3000);
	raw = parsed("hog-2 [000] 8.5: store: swp=0x8000 flags=0x0 flags1=0x9 memcg=0x1");
	assert_int_equal(raw.order, 0); /* not a large folio: the word is something else */
	raw = parsed("hog-2 [000] 8.5: scan_ret: (a <- b) ret=-1");
	assert_int_equal(raw.ret, -1);
	raw = parsed("hog-2 [000] 8.5: slab: nid=1 memcg=0x5 prio=12");
	assert_int_equal(raw.ret, 1);
	assert_int_equal(raw.order, 12);
}

static void block_events_are_read_as_the_kernel_prints_them([[maybe_unused]] void **state)
{
	struct rec_raw raw = parsed("hog-2 [000] d.... 8.5: block_rq_issue: 259,2 WS 8192 () "
				    "123456 + 16 none,0,0 [hog]");

	assert_int_equal(raw.type, REC_RQ_ISSUE);
	assert_int_equal(raw.dev, 259 << 20 | 2);
	assert_int_equal(raw.op, REC_OP_WRITE);
	assert_int_equal(raw.swp, 123456);
	assert_int_equal(raw.len, 16);
	raw = parsed("<idle>-0 [000] 8.5: block_rq_complete: 8,0 FWS () 64 + 8 none,0,0 [0]");
	assert_int_equal(raw.type, REC_RQ_COMPLETE);
	assert_int_equal(raw.op, REC_OP_WRITE);
	raw = parsed("hog-2 [000] 8.5: block_bio_backmerge: 8,0 R 64 + 8 [4 + 4]");
	assert_int_equal(raw.op, REC_OP_READ);
	assert_int_equal(raw.swp, 64);
}

static void lost_lines_are_gaps([[maybe_unused]] void **state)
{
	struct rec_raw raw = parsed("CPU:1 [LOST 57 EVENTS]");

	assert_int_equal(raw.type, REC_LOST);
	assert_int_equal(raw.cpu, 1);
	assert_int_equal(raw.len, 57);
	assert_int_equal(parsed("CPU:3 [LOST EVENTS]").len, 1);
	assert_int_equal(parsed("CPU:3 [LOST 99999999999 EVENTS]").len, UINT32_MAX);
}

static void lines_that_are_no_events_are_told_apart([[maybe_unused]] void **state)
{
	static const char *const comments[] = { "", "   ", "# tracer: nop", "cpus=8",
						"##### CPU 1 buffer started ####" };
	static const char *const unknown[] = {
		"hello", "hog-2 [000]", "hog-2 [000] free: swp=1", "hog-2 [x] 8.5: free: swp=1",
		"hog-2 [000] 8.5: free: swp=",	     "hog-2 [000] 8.5: free: swp=0x12345678901234567",
		"hog-2 [000] 8.5: free: swp=18446744073709551616", "hog-2 [000] 8.5: store_ret:",
		"hog-99999999999 [000] 8.5: free: swp=1", "[000] 8.5: free: swp=1", "CPU:x [LOST 1 EVENTS]",
		"hog-2 [000] 99999999999999999999.5: free: swp=1",
		"hog-2 [000] 18446744073.9: free: swp=1", "hog-2 [70000] 8.5: free: swp=1",
		"hog-2 [000] 8.5: block_rq_issue: 8,0 W 4096 () nothing",
	};
	struct rec_raw raw;

	for (size_t i = 0; i < sizeof(comments) / sizeof(*comments); i++)
		assert_int_equal(rec_text_parse(comments[i], &layout, &raw), REC_LINE_COMMENT);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_int_equal(rec_text_parse(unknown[i], &layout, &raw), REC_LINE_UNKNOWN);
	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: sched_switch: prev=1", &layout, &raw),
			 REC_LINE_OTHER);
}

/* --------------------------------------------------------------------------------------- whole texts */

struct files {
	char dir[64], text[96], trace[96];
};

static void make_files(struct files *files)
{
	strcpy(files->dir, "/tmp/zreel-import-XXXXXX");
	assert_non_null(mkdtemp(files->dir));
	snprintf(files->text, sizeof(files->text), "%s/text", files->dir);
	snprintf(files->trace, sizeof(files->trace), "%s/trace.zr", files->dir);
}

static void remove_files(const struct files *files)
{
	unlink(files->text);
	unlink(files->trace);
	assert_int_equal(rmdir(files->dir), 0); /* nothing else may lie there */
}

static void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

static struct db_summary summary_of(const char *path)
{
	struct db_summary summary;
	struct db *db;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_true(db_is_complete(db));
	assert_int_equal(db_summarise(db, &summary), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
	return summary;
}

/* The counts of testdata/README, which were not made with this code. */
static void check_real_capture(const char *input)
{
	struct rec_import_result result;
	struct db_summary summary;
	struct files files;

	make_files(&files);
	assert_int_equal(rec_import(input, files.trace, &result), ZR_OK);
	assert_int_equal(result.lines, 554);
	assert_int_equal(result.raw_events, 542);
	assert_int_equal(result.skipped, 0);
	summary = summary_of(files.trace);
	assert_int_equal(summary.stored, 108);
	assert_int_equal(summary.events[DB_OUT], 108);
	assert_int_equal(summary.in_zswap, 56);
	assert_int_equal(summary.in_zero, 1);
	assert_int_equal(summary.events[DB_IN], 57);
	assert_int_equal(summary.events[DB_FREE], 17);
	assert_int_equal(summary.events[DB_SCAN], 4);
	assert_int_equal(summary.events[DB_RECLAIM], 12);
	assert_int_equal(summary.gaps, 0);
	remove_files(&files);
}

static const char capture[] = "recorder/testdata/linux-6.12.ftrace.txt";

static void real_capture_gives_its_known_counts([[maybe_unused]] void **state)
{
	check_real_capture(capture);
}

static void lengths_of_a_real_capture_add_up([[maybe_unused]] void **state)
{
	const struct db_filter filter = { .kinds = 1u << DB_OUT, .host = -1 };
	struct rec_import_result result;
	const struct db_batch *batch;
	struct db_reader *reader;
	struct files files;
	struct db *db;
	uint64_t bytes = 0;

	make_files(&files);
	assert_int_equal(rec_import(capture, files.trace, &result), ZR_OK);
	assert_int_equal(db_open(files.trace, DB_READ, &db), ZR_OK);
	assert_int_equal(db_reader_new(db, &filter, &reader), ZR_OK);
	for (;;) {
		assert_int_equal(db_reader_next(reader, &batch), ZR_OK);
		if (!batch)
			break;
		for (uint32_t i = 0; i < batch->n; i++)
			bytes += batch->len[i];
	}
	db_reader_free(reader);
	assert_int_equal(db_close(db), ZR_OK);
	assert_int_equal(bytes, 179'928);
	remove_files(&files);
}

static void area_of_a_text_is_as_large_as_its_slots([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct zr_arena arena = { 0 };
	struct db_area *areas;
	struct files files;
	struct db *db;
	size_t n;

	make_files(&files);
	write_file(files.text, "a-1 [0] 1.0: free: swp=0x123\na-1 [0] 1.1: free: swp=0x40\n", 57);
	assert_int_equal(rec_import(files.text, files.trace, &result), ZR_OK);
	assert_int_equal(db_open(files.trace, DB_READ, &db), ZR_OK);
	assert_int_equal(db_areas(db, 0, &arena, &areas, &n), ZR_OK);
	assert_int_equal(n, 1);
	assert_int_equal(areas[0].slots, 0x124);
	zr_arena_fini(&arena);
	assert_int_equal(db_close(db), ZR_OK);
	remove_files(&files);
}

static void compressed_text_is_unpacked([[maybe_unused]] void **state)
{
	static char text[128 << 10], packed[128 << 10];
	FILE *file = fopen(capture, "r");
	struct rec_import_result result;
	struct files files;
	size_t n;

	assert_non_null(file);
	n = fread(text, 1, sizeof(text), file);
	fclose(file);
	n = ZSTD_compress(packed, sizeof(packed), text, n, 3);
	assert_false(ZSTD_isError(n));
	make_files(&files);
	write_file(files.text, packed, n);
	check_real_capture(files.text);

	write_file(files.text, packed, n / 2); /* cut off */
	assert_int_equal(rec_import(files.text, files.trace, &result), ZR_CORRUPT);
	assert_non_null(strstr(zr_error_text(), "zstd"));
	zr_error_clear();
	unlink(files.trace); /* what was read before the cut may have been kept */
	remove_files(&files);
}

static enum zr_err import_text(const char *text, struct rec_import_result *result)
{
	struct files files;
	enum zr_err err;

	make_files(&files);
	write_file(files.text, text, strlen(text));
	err = rec_import(files.text, files.trace, result);
	remove_files(&files); /* fails the test if a failed import leaves a trace behind */
	return err;
}

static void text_without_any_event_is_an_error_that_quotes_it([[maybe_unused]] void **state)
{
	struct rec_import_result result;

	assert_int_equal(import_text("# tracer: nop\n#\nwhat is this\nnext\n", &result),
			 ZR_BAD_TEXT);
	assert_non_null(strstr(zr_error_text(), "what is this"));
	zr_error_clear();
	assert_int_equal(result.skipped, 2);
	assert_int_equal(import_text("# tracer: nop\n#\n", &result), ZR_BAD_TEXT);
	assert_non_null(strstr(zr_error_text(), "# tracer: nop"));
	zr_error_clear();
	assert_int_equal(import_text("", &result), ZR_NO_DATA);
	zr_error_clear();
	assert_int_equal(import_text("CPU:1 [LOST 57 EVENTS]\n", &result), ZR_BAD_TEXT);
	zr_error_clear();
}

static void missing_input_is_named_and_leaves_nothing([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct files files;

	make_files(&files);
	assert_int_equal(rec_import(files.text, files.trace, &result), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), files.text));
	zr_error_clear();
	remove_files(&files);
}

static void existing_trace_is_not_overwritten([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct files files;
	char text[8] = "";
	FILE *file;

	make_files(&files);
	write_file(files.trace, "mine", 4);
	assert_int_equal(rec_import(capture, files.trace, &result), ZR_EXISTS);
	zr_error_clear();
	file = fopen(files.trace, "r");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 4);
	fclose(file);
	assert_string_equal(text, "mine");
	remove_files(&files);
}

static void skipped_lines_are_counted_and_the_first_is_kept([[maybe_unused]] void **state)
{
	struct rec_import_result result;

	assert_int_equal(import_text("a-1 [000] 1.0: free: swp=1\n"
				     "a-1 [000] 1.1: sched_switch: x\n"
				     "\x1b[31mnoise\r\n"
				     "a-1 [000] 1.2: free: swp=2",
				     &result),
			 ZR_OK);
	assert_int_equal(result.raw_events, 2);
	assert_int_equal(result.events, 2);
	assert_int_equal(result.skipped, 2);
	assert_string_equal(result.first_skipped, "a-1 [000] 1.1: sched_switch: x");
}

static void losses_in_a_text_become_gaps([[maybe_unused]] void **state)
{
	static const char text[] = "a-1 [000] 1.0: free: swp=1\n"
				   "CPU:1 [LOST 57 EVENTS]\n"
				   "a-1 [001] 1.1: free: swp=1\n";
	struct rec_import_result result;
	struct db_summary summary;
	struct files files;

	make_files(&files);
	write_file(files.text, text, sizeof(text) - 1);
	assert_int_equal(rec_import(files.text, files.trace, &result), ZR_OK);
	summary = summary_of(files.trace);
	assert_int_equal(summary.gaps, 1);
	assert_int_equal(summary.lost_events, 57);
	remove_files(&files);
}

/* Backwards, a jump, and thirty days. */
static void times_that_jump_are_taken_in_the_order_of_lines([[maybe_unused]] void **state)
{
	struct rec_import_result result;

	assert_int_equal(import_text("a-1 [000] 20: free: swp=1\n"
				     "a-1 [000] 1000001: free: swp=2\n"
				     "a-1 [000] 1: free: swp=3\n"
				     "a-1 [000] 2: free: swp=4\n"
				     "a-1 [000] 1000002: free: swp=5\n"
				     "a-1 [000] 2592000.0: free: swp=6\n",
				     &result),
			 ZR_OK);
	assert_int_equal(result.events, 6);
}

/* ---------------------------------------------------------------------------------------------- lines */

static void overlong_lines_are_cut_and_the_next_is_whole([[maybe_unused]] void **state)
{
	size_t n = 300'000;
	char *text = malloc(n + 16), *line;
	struct rec_input *input;
	struct files files;

	assert_non_null(text);
	memset(text, 'x', n);
	strcpy(text + n, "\nnext\n\nlast");
	make_files(&files);
	write_file(files.text, text, strlen(text));
	assert_int_equal(rec_input_open(files.text, &input), ZR_OK);
	assert_int_equal(rec_input_next(input, &line), ZR_OK);
	assert_int_equal(strlen(line), REC_LINE_MAX);
	assert_int_equal(rec_input_next(input, &line), ZR_OK);
	assert_string_equal(line, "next");
	assert_int_equal(rec_input_next(input, &line), ZR_OK);
	assert_string_equal(line, "");
	assert_int_equal(rec_input_next(input, &line), ZR_OK);
	assert_string_equal(line, "last");
	assert_int_equal(rec_input_next(input, &line), ZR_OK);
	assert_null(line);
	rec_input_close(input);
	remove_files(&files);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_found_wherever_they_are),
		cmocka_unit_test(counter_clocks_are_taken_as_they_are),
		cmocka_unit_test(fields_are_read_by_name),
		cmocka_unit_test(block_events_are_read_as_the_kernel_prints_them),
		cmocka_unit_test(lost_lines_are_gaps),
		cmocka_unit_test(lines_that_are_no_events_are_told_apart),
		cmocka_unit_test(real_capture_gives_its_known_counts),
		cmocka_unit_test(lengths_of_a_real_capture_add_up),
		cmocka_unit_test(area_of_a_text_is_as_large_as_its_slots),
		cmocka_unit_test(compressed_text_is_unpacked),
		cmocka_unit_test(text_without_any_event_is_an_error_that_quotes_it),
		cmocka_unit_test(missing_input_is_named_and_leaves_nothing),
		cmocka_unit_test(existing_trace_is_not_overwritten),
		cmocka_unit_test(skipped_lines_are_counted_and_the_first_is_kept),
		cmocka_unit_test(losses_in_a_text_become_gaps),
		cmocka_unit_test(times_that_jump_are_taken_in_the_order_of_lines),
		cmocka_unit_test(overlong_lines_are_cut_and_the_next_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
