/* SPDX-License-Identifier: MIT */
/*
 * Tests of the importers of other tools' files, on real files of a stock kernel (see testdata/README). The
 * oracle is what trace-cmd, perf and blkparse print of the same file: counted by hand, or imported as text.
 */
#include <sys/stat.h>
#include <zstd.h>

#include "db/base/bytes.h"
#include "recorder/import_help.h"
#include "recorder/import_perf_format.h"
#include "recorder/import_sort.h"

#define DATA "recorder/testdata/"

enum { FILE_MAX = 1 << 20, EVENTS_MAX = 4096 };

/* A packed test file, unpacked. */
static size_t unpack(const char *name, uint8_t *to)
{
	size_t n;
	uint8_t *packed = read_file(name, &n);

	n = ZSTD_decompress(to, FILE_MAX, packed, n);
	assert_false(ZSTD_isError(n));
	free(packed);
	return n;
}

static const char *const block_area[] = { "0:0:2097152" };

static enum zr_err import_file(const struct files *files, struct rec_import_result *result)
{
	const struct rec_import_options options = { .input = files->text, .output = files->trace,
						    .areas = block_area, .n_areas = 1 };

	return rec_import(&options, result);
}

/* Imports the bytes of a file; the caller removes the files. */
static enum zr_err import_bytes(const void *data, size_t n, struct files *files,
				struct rec_import_result *result)
{
	make_files(files);
	write_file(files->text, data, n);
	return import_file(files, result);
}

static enum zr_err import_packed(const char *name, struct files *files,
				 struct rec_import_result *result)
{
	uint8_t *data = malloc(FILE_MAX);
	size_t n;
	enum zr_err err;

	assert_non_null(data);
	n = unpack(name, data);
	err = import_bytes(data, n, files, result);
	free(data);
	return err;
}

/* ---------------------------------------------------------------------------------- against the tools */

/* What `trace-cmd report` and `perf script` print of each file, counted with grep and awk. */
static const struct known {
	const char *name, *format;
	uint32_t stored, rejected, in_zswap, freed, reclaims, io, len_sum;
} known[] = {
	{ DATA "trace-v6.dat.zst", "trace.dat-v6", 240, 2, 14, 247, 15, 4, 339293 },
	{ DATA "trace-v7-none.dat.zst", "trace.dat-v7", 241, 2, 12, 248, 14, 4, 346765 },
	{ DATA "trace-v7-zstd.dat.zst", "trace.dat-v7", 531, 11, 15, 559, 29, 22, 770686 },
	{ DATA "perf.data.zst", "perf.data", 240, 2, 14, 247, 14, 4, 339598 },
	{ DATA "perf-packed.data.zst", "perf.data", 240, 2, 12, 247, 14, 4, 343110 },
	{ DATA "perf-pipe.data.zst", "perf.data", 241, 2, 10, 248, 14, 4, 349529 },
};

static uint64_t sum_of_lengths(const char *path)
{
	struct db_event *events = malloc(EVENTS_MAX * sizeof(*events));
	uint32_t n = events_of(path, events, EVENTS_MAX);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		if (events[i].kind == DB_OUT)
			sum += events[i].len;
	free(events);
	return sum;
}

static void real_files_give_what_their_own_tools_count([[maybe_unused]] void **state)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct rec_import_result result;
		struct db_summary summary;
		struct files files;

		print_message("%s\n", known[i].name);
		assert_int_equal(import_packed(known[i].name, &files, &result), ZR_OK);
		assert_string_equal(result.format, known[i].format);
		assert_int_equal(result.skipped, 0);
		assert_int_equal(result.late, 0);
		summary = summary_of(files.trace);
		assert_int_equal(summary.stored, known[i].stored);
		assert_int_equal(summary.rejected, known[i].rejected);
		assert_int_equal(summary.in_zswap, known[i].in_zswap);
		assert_int_equal(summary.in_disk + summary.in_zero + summary.in_error, 0);
		assert_int_equal(summary.events[DB_FREE], known[i].freed);
		assert_int_equal(summary.events[DB_RECLAIM], known[i].reclaims);
		assert_int_equal(summary.events[DB_IO], known[i].io);
		assert_int_equal(summary.gaps, 0);
		assert_int_equal(sum_of_lengths(files.trace), known[i].len_sum);
		check_env(files.trace, DB_ENV_CLOCK, "mono");
		remove_files(&files);
	}
}

/* The binary file and what its own tool prints of it, with times in ns, are one trace. */
static void check_same_events(const char *binary, const char *text)
{
	static struct db_event of_binary[EVENTS_MAX], of_text[EVENTS_MAX];
	struct rec_import_result result;
	struct files files;
	uint32_t n;

	assert_int_equal(import_packed(binary, &files, &result), ZR_OK);
	n = events_of(files.trace, of_binary, EVENTS_MAX);
	remove_files(&files);
	assert_int_equal(import_packed(text, &files, &result), ZR_OK);
	assert_int_equal(events_of(files.trace, of_text, EVENTS_MAX), n);
	remove_files(&files);
	assert_true(n > 500);
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(&of_binary[i], &of_text[i], sizeof(of_text[i]));
}

static void trace_dat_and_its_report_are_the_same_trace([[maybe_unused]] void **state)
{
	check_same_events(DATA "trace-v6.dat.zst", DATA "trace-cmd-report.txt.zst");
}

static void perf_data_and_its_script_are_the_same_trace([[maybe_unused]] void **state)
{
	check_same_events(DATA "perf.data.zst", DATA "perf-script.txt.zst");
}

static void kernel_and_page_size_come_from_the_file([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct files files;

	assert_int_equal(import_packed(DATA "trace-v6.dat.zst", &files, &result), ZR_OK);
	check_env(files.trace, DB_ENV_KERNEL, "6.12.118+deb13-amd64");
	check_env(files.trace, "import.from.kernel.release", "file");
	check_env(files.trace, DB_ENV_PAGE_SIZE, "4096");
	check_env(files.trace, DB_ENV_SOURCE, "import:trace.dat-v6");
	remove_files(&files);
	assert_int_equal(import_packed(DATA "perf.data.zst", &files, &result), ZR_OK);
	check_env(files.trace, DB_ENV_KERNEL, "6.12.118+deb13-amd64");
	remove_files(&files);
}

/* perf report says 884 lost of 1839: 157 where they happened, the rest in its sum at the end. */
static void losses_of_perf_are_gaps_and_not_counted_twice([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct db_summary summary;
	struct files files;

	assert_int_equal(import_packed(DATA "perf-lost.data.zst", &files, &result), ZR_OK);
	assert_int_equal(result.raw_events, 955);
	assert_int_equal(result.lost, 884);
	summary = summary_of(files.trace);
	assert_true(summary.gaps >= 10);
	assert_true(summary.lost_events >= 884);
	remove_files(&files);
}

/* ------------------------------------------------------------------------------------------ trace.dat */

/* The ring buffer marks a page before which events were lost; here by hand, in the second page of a CPU. */
static void missed_events_of_trace_dat_are_gaps([[maybe_unused]] void **state)
{
	enum { PAGE = 4096, COMMIT = 8, MISSED_EVENTS = 1u << 31 };
	uint8_t *data = malloc(FILE_MAX);
	struct rec_import_result result;
	struct files files;
	size_t n, at;

	assert_non_null(data);
	n = unpack(DATA "trace-v6.dat.zst", data);
	at = n - 2 * PAGE;
	zr_put32(data + at + COMMIT, zr_get32(data + at + COMMIT) | MISSED_EVENTS);
	assert_int_equal(import_bytes(data, n, &files, &result), ZR_OK);
	assert_int_equal(result.lost, 1);
	assert_true(summary_of(files.trace).gaps >= 1);
	remove_files(&files);
	free(data);
}

/* Finds bytes in a file; the place behind them. */
static uint8_t *behind(uint8_t *data, size_t n, const char *mark, size_t bytes)
{
	uint8_t *at = memmem(data, n, mark, bytes);

	assert_non_null(at);
	return at + bytes;
}

/* Option 60 in place of the first one (DATE or the like): named, and all else is read. */
static void unknown_options_of_trace_dat_are_named([[maybe_unused]] void **state)
{
	uint8_t *data = malloc(FILE_MAX);
	struct rec_import_result result;
	struct files files;
	size_t n;

	assert_non_null(data);
	n = unpack(DATA "trace-v6.dat.zst", data);
	zr_put16(behind(data, n, "options  ", 10), 60);
	assert_int_equal(import_bytes(data, n, &files, &result), ZR_OK);
	assert_non_null(strstr(result.note, "60"));
	assert_int_equal(result.raw_events, 1044);
	remove_files(&files);
	free(data);
}

static void check_refused(const uint8_t *data, size_t n, enum zr_err wanted, const char *says)
{
	struct rec_import_result result;
	struct files files;

	assert_int_equal(import_bytes(data, n, &files, &result), wanted);
	if (!strstr(zr_error_text(), says))
		fail_msg("\"%s\" does not say \"%s\"", zr_error_text(), says);
	zr_error_clear();
	remove_files(&files);
}

static void other_versions_and_byte_orders_of_trace_dat_are_refused([[maybe_unused]] void **state)
{
	uint8_t *data = malloc(FILE_MAX);
	size_t n;

	assert_non_null(data);
	n = unpack(DATA "trace-v6.dat.zst", data);
	data[10] = '8';
	check_refused(data, n, ZR_UNSUPPORTED, "version \"8\"");
	memset(data + 10, 0, 1);
	check_refused(data, n, ZR_UNSUPPORTED, "version \"\"");
	data[10] = '6';
	data[12] = 1;
	check_refused(data, n, ZR_UNSUPPORTED, "big-endian");
	free(data);
}

/* Cut anywhere: an error or what was there until then, never a crash or an endless loop. */
static void check_cuts(const char *name)
{
	uint8_t *data = malloc(FILE_MAX);
	size_t n;

	assert_non_null(data);
	n = unpack(name, data);
	for (size_t cut = 0; cut < n; cut += n / 7) {
		struct rec_import_result result;
		struct files files;
		enum zr_err err = import_bytes(data, cut, &files, &result);

		if (err) {
			assert_int_equal(zr_err_class(err), ZR_CLASS_INPUT);
			assert_true(strlen(zr_error_text()) > 20);
			unlink(files.trace); /* what came before the damage may have been kept */
		}
		zr_error_clear();
		remove_files(&files);
	}
	free(data);
}

static void cut_off_files_are_errors_or_partial([[maybe_unused]] void **state)
{
	check_cuts(DATA "trace-v6.dat.zst");
	check_cuts(DATA "trace-v7-zstd.dat.zst");
	check_cuts(DATA "perf.data.zst");
	check_cuts(DATA "perf-packed.data.zst");
	check_cuts(DATA "perf-pipe.data.zst");
}

/* Its positions matter, so it cannot come packed (nor through a pipe). */
static void files_that_need_seeking_are_refused_when_they_cannot([[maybe_unused]] void **state)
{
	static const char *const names[] = { DATA "trace-v6.dat.zst", DATA "perf.data.zst" };

	for (size_t i = 0; i < 2; i++) {
		struct rec_import_result result;
		struct files files;

		make_files(&files);
		assert_int_equal(import_plain(names[i], files.trace, &result), ZR_UNSUPPORTED);
		assert_non_null(strstr(zr_error_text(), "plain file"));
		zr_error_clear();
		remove_files(&files);
	}
}

/* --------------------------------------------------------------------------------------------- perf */

static void perf_pipe_output_can_come_packed([[maybe_unused]] void **state)
{
	struct rec_import_result result;
	struct files files;

	make_files(&files);
	assert_int_equal(import_plain(DATA "perf-pipe.data.zst", files.trace, &result), ZR_OK);
	assert_int_equal(result.raw_events, 1039);
	remove_files(&files);
}

/* The place of the first record of a type in a file's data. */
static uint8_t *record_of(uint8_t *data, uint32_t type)
{
	uint8_t *at = data + zr_get64(data + PERF_HEAD_DATA);
	uint8_t *end = at + zr_get64(data + PERF_HEAD_DATA + 8);

	for (; at < end; at += zr_get16(at + 6))
		if (zr_get32(at) == type)
			return at;
	fail();
	return NULL;
}

static void damaged_perf_files_are_refused_by_name([[maybe_unused]] void **state)
{
	uint8_t *data = malloc(FILE_MAX), *record;
	size_t n;

	assert_non_null(data);
	n = unpack(DATA "perf.data.zst", data);
	check_refused((const uint8_t *)"2ELIFREP\0\0\0\0\0\0\0\0", 16, ZR_UNSUPPORTED, "big-endian");
	check_refused((const uint8_t *)"PERFFILE\0\0\0\0\0\0\0\0", 16, ZR_UNSUPPORTED, "version 2");
	record = record_of(data, PERF_RECORD_SAMPLE);
	zr_put16(record + 6, 4);
	check_refused(data, n, ZR_CORRUPT, "shorter than its head");
	n = unpack(DATA "perf.data.zst", data);
	zr_put64(data + PERF_HEAD_DATA + 8, 0);
	check_refused(data, n, ZR_CORRUPT, "killed");
	n = unpack(DATA "perf-packed.data.zst", data);
	record = record_of(data, PERF_RECORD_COMPRESSED);
	memset(record + PERF_RECORD_HEAD_BYTES, 0x55, 64);
	check_refused(data, n, ZR_CORRUPT, "zstd");
	free(data);
}

/* The newer form of a packed record: its payload's size before it, padding behind. Built from a file of the
 * older form, whose records move to where they fit. */
static void both_forms_of_packed_records_are_read([[maybe_unused]] void **state)
{
	uint8_t *data = malloc(FILE_MAX), *out = malloc(FILE_MAX), *at, *end, *to;
	struct rec_import_result result;
	struct files files;
	size_t n, tail;

	assert_non_null(data);
	assert_non_null(out);
	n = unpack(DATA "perf-packed.data.zst", data);
	at = data + zr_get64(data + PERF_HEAD_DATA);
	end = at + zr_get64(data + PERF_HEAD_DATA + 8);
	memcpy(out, data, (size_t)(at - data));
	to = out + (at - data);
	for (size_t size; at < end; at += size) {
		size_t payload, padded;

		size = zr_get16(at + 6);
		if (zr_get32(at) != PERF_RECORD_COMPRESSED || size > 60'000) {
			memcpy(to, at, size);
			to += size;
			continue;
		}
		payload = size - PERF_RECORD_HEAD_BYTES;
		padded = (payload + 7) / 8 * 8;
		memset(to, 0, 16 + padded);
		zr_put32(to, PERF_RECORD_COMPRESSED2);
		zr_put16(to + 6, (uint16_t)(16 + padded));
		zr_put64(to + 8, payload);
		memcpy(to + 16, at + PERF_RECORD_HEAD_BYTES, payload);
		to += 16 + padded;
	}
	/* The table of features points at places that have moved on. */
	tail = n - (size_t)(end - data);
	memcpy(to, end, tail);
	zr_put64(out + PERF_HEAD_DATA + 8, (uint64_t)(to - out) - zr_get64(out + PERF_HEAD_DATA));
	for (uint32_t i = 0, row = 0; i < PERF_FEATURES; i++)
		if (out[PERF_HEAD_FEATURES + i / 8] >> i % 8 & 1) {
			uint8_t *place = to + PERF_SECTION_BYTES * row++;

			zr_put64(place, zr_get64(place) + (uint64_t)(to - out) - (uint64_t)(end - data));
		}
	assert_int_equal(import_bytes(out, (size_t)(to - out) + tail, &files, &result), ZR_OK);
	assert_int_equal(result.raw_events, 1041);
	assert_int_equal(summary_of(files.trace).stored, 240);
	remove_files(&files);
	free(out);
	free(data);
}

/* ------------------------------------------------------------------------------------------- sorting */

struct sorted {
	uint64_t last_ns, numbers_at_last;
	uint32_t n;
};

static enum zr_err check_order(void *arg, const struct rec_raw *raw)
{
	struct sorted *sorted = arg;

	assert_true(raw->time_ns >= sorted->last_ns);
	if (raw->time_ns == sorted->last_ns) /* equal times keep their order, which `swp` has */
		assert_true(raw->swp > sorted->numbers_at_last);
	sorted->last_ns = raw->time_ns;
	sorted->numbers_at_last = raw->swp;
	sorted->n++;
	return ZR_OK;
}

/* Rounds of several CPUs, each in order within itself, as perf writes them. */
static void rounds_come_out_in_order_of_time([[maybe_unused]] void **state)
{
	enum { ROUNDS = 50, CPUS = 4, EACH = 20 };
	struct sorted sorted = { 0 };
	struct rec_sort sort = { .fn = check_order, .arg = &sorted };
	uint32_t seed = 1, n = 0, most = 0;

	for (uint32_t i = 0; i < ROUNDS * CPUS; i++) {
		uint64_t time_ns = 1 + i / CPUS * 1000;

		for (int j = 0; j < EACH; j++) {
			seed = seed * 1664525 + 1013904223;
			time_ns += seed >> 24 & 31;
			assert_int_equal(rec_sort_add(&sort, &(struct rec_raw){ .time_ns = time_ns,
										.swp = ++n }),
					 ZR_OK);
		}
		if (i % CPUS == CPUS - 1)
			assert_int_equal(rec_sort_round(&sort), ZR_OK);
		most = sort.n > most ? sort.n : most;
	}
	assert_true(most <= 2 * CPUS * EACH); /* what waits is two rounds, not the file */
	assert_int_equal(rec_sort_finish(&sort), ZR_OK);
	assert_int_equal(sorted.n, n);
	rec_sort_fini(&sort);
}

/* ------------------------------------------------------------------------------------------- blktrace */

/* blkparse: 11 writes of 8 sectors issued and completed, and 36 other steps. */
static void check_blk(const char *input)
{
	const struct rec_import_options options = { .input = input, .areas = block_area, .n_areas = 1,
						    .as_swap = true };
	struct rec_import_options with = options;
	struct rec_import_result result;
	struct db_summary summary;
	struct files files;

	make_files(&files);
	with.output = files.trace;
	assert_int_equal(rec_import(&with, &result), ZR_OK);
	assert_int_equal(result.raw_events, 22);
	assert_int_equal(result.skips[REC_SKIP_OTHER_ACTION], 36);
	assert_int_equal(result.late, 0);
	summary = summary_of(files.trace);
	assert_int_equal(summary.events[DB_IO], 22);
	assert_int_equal(summary.rejected, 11);
	remove_files(&files);
}

static void blktrace_files_of_all_cpus_are_read([[maybe_unused]] void **state)
{
	check_blk(DATA "blk.blktrace.0");
	check_blk(DATA "blk.blktrace.1");
}

static void text_of_blkparse_gives_the_same([[maybe_unused]] void **state)
{
	check_blk(DATA "blkparse.txt");
}

/* Every number turned round, as a machine of the other byte order writes it. */
static void blktrace_of_the_other_byte_order_is_turned_round([[maybe_unused]] void **state)
{
	static const struct {
		size_t at, bytes;
	} numbers[] = { { 0, 4 }, { 4, 4 }, { 8, 8 }, { 16, 8 }, { 24, 4 }, { 28, 4 },
			{ 32, 4 }, { 36, 4 }, { 40, 4 }, { 44, 2 }, { 46, 2 } };
	struct rec_import_result result;
	struct files files;
	size_t n, next;
	uint8_t *data = read_file(DATA "blk.blktrace.1", &n);

	for (size_t at = 0; at < n; at = next) {
		next = at + 48 + zr_get16(data + at + 46);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			for (size_t j = 0; j < numbers[i].bytes / 2; j++) {
				uint8_t *a = data + at + numbers[i].at + j;
				uint8_t *b = data + at + numbers[i].at + numbers[i].bytes - 1 - j;
				uint8_t byte = *a;

				*a = *b;
				*b = byte;
			}
	}
	assert_int_equal(import_bytes(data, n, &files, &result), ZR_OK);
	remove_files(&files);
	assert_true(result.raw_events > 10 && result.raw_events <= 22);
	data[3] = 9; /* the version, at the far end now */
	check_refused(data, n, ZR_BAD_TEXT, "nothing"); /* no magic that is known */
	free(data);
}

static void damaged_blktrace_is_refused([[maybe_unused]] void **state)
{
	size_t n;
	uint8_t *data = read_file(DATA "blk.blktrace.1", &n);

	data[48 + zr_get16(data + 46)] = 6;
	check_refused(data, n, ZR_UNSUPPORTED, "version 6");
	data[48 + zr_get16(data + 46) + 1] = 6;
	check_refused(data, n, ZR_CORRUPT, "damaged");
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_files_give_what_their_own_tools_count),
		cmocka_unit_test(trace_dat_and_its_report_are_the_same_trace),
		cmocka_unit_test(perf_data_and_its_script_are_the_same_trace),
		cmocka_unit_test(kernel_and_page_size_come_from_the_file),
		cmocka_unit_test(losses_of_perf_are_gaps_and_not_counted_twice),
		cmocka_unit_test(missed_events_of_trace_dat_are_gaps),
		cmocka_unit_test(unknown_options_of_trace_dat_are_named),
		cmocka_unit_test(other_versions_and_byte_orders_of_trace_dat_are_refused),
		cmocka_unit_test(cut_off_files_are_errors_or_partial),
		cmocka_unit_test(files_that_need_seeking_are_refused_when_they_cannot),
		cmocka_unit_test(perf_pipe_output_can_come_packed),
		cmocka_unit_test(damaged_perf_files_are_refused_by_name),
		cmocka_unit_test(both_forms_of_packed_records_are_read),
		cmocka_unit_test(rounds_come_out_in_order_of_time),
		cmocka_unit_test(blktrace_files_of_all_cpus_are_read),
		cmocka_unit_test(text_of_blkparse_gives_the_same),
		cmocka_unit_test(blktrace_of_the_other_byte_order_is_turned_round),
		cmocka_unit_test(damaged_blktrace_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
