/* SPDX-License-Identifier: MIT */
/* Tests of the import of ftrace text: single lines, and whole texts into trace files. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zstd.h>

#include "recorder/import_help.h"
#include "recorder/input.h"
#include "recorder/text.h"

static const struct rec_dialect dialect = { .layout = { .head_bit = 6, .order_in_flags1 = true } };

/* ------------------------------------------------------------------------------------------ one line */

static struct rec_raw parsed(const char *line)
{
	struct rec_raw raw;

	if (rec_text_parse(line, &dialect, &raw) != REC_LINE_EVENT)
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

/* As of a kernel before 6.6, where flags1 has an order only because the printed probe put it there. */
static void printed_probe_says_where_its_order_is([[maybe_unused]] void **state)
{
	static const struct rec_dialect old = { .layout = { .head_bit = 16 } };
	struct rec_raw raw;

	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: out: swp=1 flags=0x10000 flags1=0x9", &old, &raw),
			 REC_LINE_EVENT);
	assert_int_equal(raw.order, 0);
	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: out: swp=1 flags=0x10000 flags1=0x9 head=16", &old,
					&raw),
			 REC_LINE_EVENT);
	assert_int_equal(raw.order, 9);
}

static void lines_that_are_no_events_are_told_apart([[maybe_unused]] void **state)
{
	static const char *const comments[] = { "", "   ", "# tracer: nop", "cpus=8",
						"##### CPU 1 buffer started ####" };
	static const char *const unknown[] = {
		"hello", "hog-2 [000]", "hog-2 [000] free: swp=1", "hog-2 [x] 8.5: free: swp=1",
		"hog-99999999999 [000] 8.5: free: swp=1", "[000] 8.5: free: swp=1", "CPU:x [LOST 1 EVENTS]",
		"hog-2 [000] 99999999999999999999.5: free: swp=1",
		"hog-2 [000] 18446744073.9: free: swp=1", "hog-2 [70000] 8.5: free: swp=1",
	};
	static const char *const lacking[] = {
		"hog-2 [000] 8.5: free: swp=", "hog-2 [000] 8.5: free: swp=0x12345678901234567",
		"hog-2 [000] 8.5: free: swp=18446744073709551616", "hog-2 [000] 8.5: store_ret:",
		"hog-2 [000] 8.5: block_rq_issue: 8,0 W 4096 () nothing",
	};
	struct rec_raw raw;

	for (size_t i = 0; i < sizeof(comments) / sizeof(*comments); i++)
		assert_int_equal(rec_text_parse(comments[i], &dialect, &raw), REC_LINE_COMMENT);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_int_equal(rec_text_parse(unknown[i], &dialect, &raw), REC_LINE_UNKNOWN);
	for (size_t i = 0; i < sizeof(lacking) / sizeof(*lacking); i++)
		assert_int_equal(rec_text_parse(lacking[i], &dialect, &raw), REC_LINE_LACKS);
	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: sched_switch: prev=1", &dialect, &raw),
			 REC_LINE_OTHER);
	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: free_large: swp=1 nr=1", &dialect, &raw),
			 REC_LINE_COMMENT);
	assert_int_equal(parsed("hog-2 [000] 8.5: free_large: swp=1 nr=16").len, 16);
	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: len_none: len=0", &dialect, &raw),
			 REC_LINE_COMMENT);
	raw = parsed("hog-2 [000] 8.5: len_none: len=4294967268");
	assert_int_equal(raw.type, REC_LEN);
	assert_int_equal(raw.len, UINT32_MAX - 27);
	assert_int_equal(rec_text_parse("hog-2 [000] 8.5: kmem:free: swp=1", &dialect, &raw),
			 REC_LINE_OTHER);
}

/* --------------------------------------------------------------------------------------- whole texts */

/* The counts of testdata/README, which were not made with this code. */
static void check_real_capture(const char *input)
{
	struct rec_import_result result;
	struct db_summary summary;
	struct files files;

	make_files(&files);
	assert_int_equal(import_plain(input, files.trace, &result), ZR_OK);
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
	assert_int_equal(import_plain(capture, files.trace, &result), ZR_OK);
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
	assert_int_equal(import_plain(files.text, files.trace, &result), ZR_OK);
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
	assert_int_equal(import_plain(files.text, files.trace, &result), ZR_CORRUPT);
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
	err = import_plain(files.text, files.trace, result);
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
	assert_int_equal(import_plain(files.text, files.trace, &result), ZR_NOT_FOUND);
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
	assert_int_equal(import_plain(capture, files.trace, &result), ZR_EXISTS);
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
	assert_int_equal(import_plain(files.text, files.trace, &result), ZR_OK);
	summary = summary_of(files.trace);
	assert_int_equal(summary.gaps, 1);
	assert_int_equal(summary.lost_events, 57);
	remove_files(&files);
}

/* Backwards, a jump, and thirty days: nothing is dropped, times ascend, and what had to be moved is counted. */
static void times_that_jump_are_taken_in_the_order_of_lines([[maybe_unused]] void **state)
{
	static const char text[] = "a-1 [000] 20: free: swp=1\n"
				   "a-1 [000] 1000001: free: swp=2\n"
				   "a-1 [000] 1: free: swp=3\n"
				   "a-1 [000] 2: free: swp=4\n"
				   "a-1 [000] 1000002: free: swp=5\n"
				   "a-1 [000] 2592000.0: free: swp=6\n";
	static const uint64_t times[] = { 20, 1000001, 1000001, 1000001, 1000002,
					  2'592'000'000'000'000 };
	struct rec_import_result result;
	struct db_event events[8];
	struct files files;

	make_files(&files);
	write_file(files.text, text, sizeof(text) - 1);
	assert_int_equal(import_plain(files.text, files.trace, &result), ZR_OK);
	assert_int_equal(result.late, 2);
	assert_int_equal(events_of(files.trace, events, 8), 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(events[i].slot, i + 1);
		assert_int_equal(events[i].time_ns, times[i]);
	}
	remove_files(&files);
}

/* -------------------------------------------------------------------------------- meanings and options */

static enum zr_err import_with(struct rec_import_options options, const char *text,
			       const struct files *files, struct rec_import_result *result)
{
	options.input = files->text;
	options.output = files->trace;
	write_file(files->text, text, strlen(text));
	return rec_import(&options, result);
}

/* One load that is served, one that is not, as kernels with a truth value and with an errno say it. */
static void return_values_are_read_as_their_kernel_means_them([[maybe_unused]] void **state)
{
	static const struct {
		const char *served, *missed, *kernel;
	} kernels[] = { { "1", "0", NULL }, { "0", "-2", NULL }, { "1", "0", "6.12.9" },
			{ "0", "-2", "7.3.4-amd64" } };

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		struct rec_import_result result;
		struct db_summary summary;
		struct files files;
		char text[512];

		snprintf(text, sizeof(text),
			 "a-1 [000] 1.0: load: swp=1\na-1 [000] 1.1: load_ret: ret=%s\n"
			 "a-1 [000] 1.2: load: swp=2\na-1 [000] 1.3: load_ret: ret=%s\n"
			 "a-1 [000] 1.4: load: swp=3\na-1 [000] 1.5: load_ret: ret=%s\n",
			 kernels[i].served, kernels[i].missed, kernels[i].served);
		make_files(&files);
		assert_int_equal(import_with((struct rec_import_options){ .kernel = kernels[i].kernel },
					     text, &files, &result),
				 ZR_OK);
		summary = summary_of(files.trace);
		assert_int_equal(summary.in_zswap, 2);
		assert_int_equal(summary.in_disk, 1);
		check_env(files.trace, DB_ENV_KERNEL, kernels[i].kernel);
		remove_files(&files);
	}
}

/* When all that is there is zeros, only the kernel tells: all served, or none. */
static void return_values_that_do_not_tell_follow_the_kernel([[maybe_unused]] void **state)
{
	static const char text[] = "a-1 [000] 1.0: load: swp=1\na-1 [000] 1.1: load_ret: ret=0\n";
	struct rec_import_result result;
	struct files files;

	make_files(&files);
	assert_int_equal(import_with((struct rec_import_options){ .kernel = "7.3" }, text, &files,
				     &result),
			 ZR_OK);
	assert_int_equal(summary_of(files.trace).in_zswap, 1);
	unlink(files.trace);
	assert_int_equal(import_with((struct rec_import_options){ .kernel = "6.12" }, text, &files,
				     &result),
			 ZR_OK);
	assert_int_equal(summary_of(files.trace).in_disk, 1);
	remove_files(&files);
}

static void events_and_fields_of_other_names_are_mapped([[maybe_unused]] void **state)
{
	static const char text[] = "a-1 [000] 1.0: probe:my_store: entry=0x7 swp=0x99 owner=0x5\n"
				   "a-1 [000] 1.1: my_ret: ok=1\n"
				   "a-1 [000] 1.2: other:my_ret: ok=1\n";
	static const char *const maps[] = { "probe:my_store=zreel:store,swp=entry,memcg=owner",
					    "mine:my_ret=store_ret,ret=ok" };
	struct rec_import_result result;
	struct db_event events[4];
	struct files files;

	make_files(&files);
	assert_int_equal(import_with((struct rec_import_options){ .maps = maps, .n_maps = 2 }, text,
				     &files, &result),
			 ZR_OK);
	assert_int_equal(events_of(files.trace, events, 4), 1);
	assert_int_equal(events[0].kind, DB_OUT);
	assert_int_equal(events[0].slot, 7);
	assert_int_equal(events[0].memcg, 1);
	assert_int_equal(db_flags_outcome(events[0].flags), DB_OUT_STORED);
	assert_int_equal(result.skips[REC_SKIP_OTHER_EVENT], 1);
	remove_files(&files);
}

static void mappings_come_from_a_file_too([[maybe_unused]] void **state)
{
	static const char rules[] = "# ours\n\n  gone=zreel:free,swp=e # the slot\n";
	struct rec_import_result result;
	struct files files;
	char path[128];
	const char *const maps[] = { path };

	make_files(&files);
	snprintf(path, sizeof(path), "%s/rules", files.dir);
	write_file(path, rules, sizeof(rules) - 1);
	assert_int_equal(import_with((struct rec_import_options){ .maps = maps, .n_maps = 1 },
				     "a-1 [000] 1.0: gone: e=3\n", &files, &result),
			 ZR_OK);
	assert_int_equal(result.events, 1);
	unlink(path);
	remove_files(&files);
}

static void options_that_make_no_sense_are_named([[maybe_unused]] void **state)
{
	static const struct {
		const char *map, *area;
		uint32_t page_size;
		const char *says;
	} bad[] = {
		{ "a=zreel:nothing", NULL, 0, "nothing" },
		{ "a=store,swq=e", NULL, 0, "swq=e" },
		{ "a=store,swp=", NULL, 0, "swp=" },
		{ "=store", NULL, 0, "no name" },
		{ "/nonexistent/rules", NULL, 0, "/nonexistent/rules" },
		{ NULL, "0:1", 0, "0:1" },
		{ NULL, "32:0:8", 0, "32:0:8" },
		{ NULL, "0:0:0", 0, "0:0:0" },
		{ NULL, "0:-1:8", 0, "0:-1:8" },
		{ NULL, "0:1:8:9", 0, "0:1:8:9" },
		{ NULL, "0:1:8x", 0, "0:1:8x" },
		{ NULL, NULL, 4097, "4097" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct rec_import_result result;
		struct files files;
		const struct rec_import_options options = {
			.maps = &bad[i].map, .n_maps = bad[i].map != NULL,
			.areas = &bad[i].area, .n_areas = bad[i].area != NULL,
			.page_size = bad[i].page_size,
		};
		enum zr_err err;

		make_files(&files);
		err = import_with(options, "a-1 [000] 1.0: free: swp=3\n", &files, &result);
		if (!bad[i].map || strchr(bad[i].map, '='))
			assert_int_equal(err, ZR_USAGE);
		else
			assert_int_equal(err, ZR_NOT_FOUND);
		if (!strstr(zr_error_text(), bad[i].says))
			fail_msg("\"%s\" does not name %s", zr_error_text(), bad[i].says);
		zr_error_clear();
		remove_files(&files);
	}
}

static void environment_comes_from_options_and_says_so([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct files files;

	make_files(&files);
	assert_int_equal(import_with((struct rec_import_options){ .mem_bytes = 1 << 30,
								  .page_size = 16384 },
				     "a-1 [000] 77: free: swp=3\n", &files, &result),
			 ZR_OK);
	check_env(files.trace, DB_ENV_MEM_PAGES, "65536");
	check_env(files.trace, DB_ENV_PAGE_SIZE, "16384");
	check_env(files.trace, "import.from.page_size", "option");
	check_env(files.trace, DB_ENV_SOURCE, "import:ftrace-text");
	check_env(files.trace, DB_ENV_CLOCK, "counter");
	check_env(files.trace, DB_ENV_KERNEL, NULL);
	check_env(files.trace, "import.file", files.text);
	remove_files(&files);
}

/* ---------------------------------------------------------------------------------------------- block */

static const char requests[] =
	"a-7 [000] 1.0: block_rq_issue: 259,0 W 8192 () 2064 + 16 none,0,0 [a]\n"
	"a-7 [000] 1.1: block_rq_complete: 259,0 W () 2064 + 16 none,0,0 [0]\n"
	"a-0 [000] 1.2: block_rq_complete: 259,0 RA () 2072 + 8 none,0,0 [0]\n"
	"a-7 [000] 1.3: block_rq_issue: 259,0 W 4096 () 2040 + 8 none,0,0 [a]\n"
	"a-7 [000] 1.4: block_rq_issue: 8,0 W 4096 () 2064 + 8 none,0,0 [a]\n"
	"a-7 [000] 1.5: block_rq_issue: 259,0 N 0 () 2064 + 0 none,0,0 [a]\n";

static void requests_get_the_slots_of_their_area([[maybe_unused]] void **state)
{
	static const char *const areas[] = { "3:2048:160:259,0" };
	struct rec_import_result result;
	struct db_event events[8];
	struct files files;
	struct db *db;
	struct db_area *area;
	struct zr_arena arena = { 0 };
	size_t n;

	make_files(&files);
	assert_int_equal(import_with((struct rec_import_options){ .areas = areas, .n_areas = 1 },
				     requests, &files, &result),
			 ZR_OK);
	assert_int_equal(result.skips[REC_SKIP_NO_AREA], 2);
	assert_int_equal(result.skips[REC_SKIP_OTHER_IO], 1);
	assert_int_equal(events_of(files.trace, events, 8), 3);
	assert_int_equal(events[0].kind, DB_IO);
	assert_int_equal(events[0].slot, 2);
	assert_int_equal(events[0].len, 16);
	assert_int_equal(events[2].slot, 3);
	assert_int_equal(db_open(files.trace, DB_READ, &db), ZR_OK);
	assert_int_equal(db_areas(db, 0, &arena, &area, &n), ZR_OK);
	assert_int_equal(n, 1);
	assert_int_equal(area->type, 3);
	assert_int_equal(area->slots, 20);
	assert_int_equal(area->start_sector, 2048);
	assert_int_equal(area->major, 259);
	assert_int_equal(db_close(db), ZR_OK);
	zr_arena_fini(&arena);
	remove_files(&files);
}

/* Two written slots and one read one; the trace's slots end at the highest used. */
static void requests_as_swap_are_swap_outs_and_refaults([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct db_summary summary;
	struct files files;
	struct rec_import_options options = { .has_device_offset = true,
					      .device_offset_sectors = 2048, .as_swap = true };
	char text[sizeof(requests) + 64];

	strcpy(text, requests);
	strcat(text, "a-7 [000] 1.6: free: swp=1\n");
	make_files(&files);
	assert_int_equal(import_with(options, text, &files, &result), ZR_OK);
	summary = summary_of(files.trace);
	assert_int_equal(summary.rejected, 2);
	assert_int_equal(summary.in_disk, 1);
	assert_int_equal(summary.events[DB_FREE], 0);
	assert_int_equal(result.skips[REC_SKIP_NOT_SWAP], 1);
	remove_files(&files);
}

static void requests_without_an_area_are_an_error_that_asks_for_one([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct files files;

	make_files(&files);
	assert_int_equal(import_with((struct rec_import_options){ 0 }, requests, &files, &result),
			 ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "--swap-area"));
	zr_error_clear();
	assert_int_equal(import_with((struct rec_import_options){ .as_swap = true }, requests, &files,
				     &result),
			 ZR_USAGE);
	zr_error_clear();
	remove_files(&files);
}

/* -------------------------------------------------------------------------------------- long and ended */

struct feed {
	int fd;
	uint32_t lines;
};

/* Swap-outs and refaults of one task over a ring of slots. */
static void *feed_lines(void *arg)
{
	const struct feed *feed = arg;
	FILE *out = fdopen(feed->fd, "w");

	for (uint32_t i = 0; i < feed->lines; i++)
		fprintf(out, "hog-7 [000] ..... %u.%06u: free: swp=0x%x\n", i / 100'000,
			i % 100'000 * 10, i % 50'000);
	fclose(out);
	return NULL;
}

static uint64_t import_from_pipe(uint32_t lines, struct rec_import_options options,
				 struct rec_import_result *result)
{
	struct files files;
	struct feed feed = { .lines = lines };
	pthread_t thread;
	int ends[2], saved = dup(STDIN_FILENO);
	enum zr_err err;

	make_files(&files);
	assert_int_equal(pipe(ends), 0);
	feed.fd = ends[1];
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(pthread_create(&thread, NULL, feed_lines, &feed), 0);
	options.input = "-";
	options.output = files.trace;
	err = rec_import(&options, result);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO); /* the feeder's pipe breaks */
	close(saved);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(err, ZR_OK);
	lines = (uint32_t)summary_of(files.trace).events[DB_FREE];
	remove_files(&files);
	return lines;
}

static long peak_kib(uint32_t lines)
{
	struct rec_import_result result;
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(import_from_pipe(lines, (struct rec_import_options){ 0 }, &result) != lines);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_int_equal(status, 0);
	return usage.ru_maxrss;
}

/* Six times the text costs no more memory, but for the slack of the allocator. */
static void long_texts_from_a_pipe_take_flat_memory([[maybe_unused]] void **state)
{
	long some = peak_kib(200'000), many = peak_kib(1'200'000);

	print_message("peak memory: %ld KiB for 200,000 lines, %ld KiB for 1,200,000\n", some, many);
	assert_true(many < some + some / 4);
}

static bool stop_at_20000([[maybe_unused]] void *arg, double done, uint64_t events)
{
	assert_true(done < 0); /* nobody knows a pipe's length */
	return events < 20'000;
}

static void an_import_that_is_stopped_keeps_what_it_has([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	uint64_t kept;

	signal(SIGPIPE, SIG_IGN);
	kept = import_from_pipe(400'000, (struct rec_import_options){ .progress = stop_at_20000 },
				&result);
	assert_true(result.interrupted);
	assert_true(kept >= 20'000 && kept < 400'000);
	assert_int_equal(result.events, kept);
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
		cmocka_unit_test(printed_probe_says_where_its_order_is),
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
		cmocka_unit_test(return_values_are_read_as_their_kernel_means_them),
		cmocka_unit_test(return_values_that_do_not_tell_follow_the_kernel),
		cmocka_unit_test(events_and_fields_of_other_names_are_mapped),
		cmocka_unit_test(mappings_come_from_a_file_too),
		cmocka_unit_test(options_that_make_no_sense_are_named),
		cmocka_unit_test(environment_comes_from_options_and_says_so),
		cmocka_unit_test(requests_get_the_slots_of_their_area),
		cmocka_unit_test(requests_as_swap_are_swap_outs_and_refaults),
		cmocka_unit_test(requests_without_an_area_are_an_error_that_asks_for_one),
		cmocka_unit_test(long_texts_from_a_pipe_take_flat_memory),
		cmocka_unit_test(an_import_that_is_stopped_keeps_what_it_has),
		cmocka_unit_test(overlong_lines_are_cut_and_the_next_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
