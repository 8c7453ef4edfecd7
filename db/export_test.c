/* SPDX-License-Identifier: MIT */
/* Exports to cache simulators and fio, read back by readers of the test's own. (ftrace text is read back by
 * the importer, in ui/roundtrip_test.c: it lies above db.) */
#include <inttypes.h>

#include "db/edit_test_life.h"

typedef enum zr_err export_fn(struct db *db, const struct db_selection *selection,
			      const struct db_watch *watch, FILE *out,
			      struct db_export_result *result);

static enum zr_err export(export_fn *fn, const char *path, FILE *out, struct db_export_result *result)
{
	struct db_selection all = { 0 };
	struct db *db;
	enum zr_err err;

	assert_ok(db_open(path, DB_READ, &db));
	err = fn(db, &all, NULL, out, result);
	assert_ok(db_close(db));
	return err;
}

static void make_events(const char *path, const struct db_event *events, uint32_t n)
{
	static struct life life;

	life = (struct life){ .n = n };
	memcpy(life.events, events, n * sizeof(*events));
	life_make_file(&life, path);
}

/* ---------------------------------------------------------------------------------------- oracle */

struct record {
	uint32_t seconds;
	uint64_t object;
	uint32_t bytes;
	int64_t next;
};

static uint64_t little(const uint8_t *from, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

static uint32_t read_records(FILE *file, struct record *to, uint32_t room)
{
	uint8_t bytes[24];
	uint32_t n = 0;

	rewind(file);
	while (fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes)) {
		assert_true(n < room);
		to[n++] = (struct record){ (uint32_t)little(bytes, 4), little(bytes + 4, 8),
					   (uint32_t)little(bytes + 12, 4),
					   (int64_t)little(bytes + 16, 8) };
	}
	assert_true(feof(file));
	return n;
}

/* The accesses of a life, by the book: one for each page, and the next one found by looking. */
static uint32_t naive_records(const struct life *life, struct record *to)
{
	static uint32_t size[LIFE_AREAS + 1][LIFE_SLOTS];
	uint32_t n = 0;

	memset(size, 0, sizeof(size));
	for (uint32_t i = 0; i < life->n; i++) {
		const struct db_event *e = &life->events[i];
		uint32_t pages = 1, outcome = e->flags & 7;

		if (e->kind != DB_OUT && e->kind != DB_IN)
			continue;
		if ((e->kind == DB_OUT && outcome == DB_OUT_KEPT) ||
		    (e->kind == DB_IN && outcome == DB_IN_ERROR))
			continue;
		if (e->kind == DB_OUT && outcome != DB_OUT_STORED)
			pages = 1u << e->order;
		for (uint32_t j = 0; j < pages; j++) {
			uint32_t *bytes = &size[e->area][e->slot + j];

			if (e->kind == DB_OUT)
				*bytes = outcome == DB_OUT_ZERO			   ? 1
					 : outcome == DB_OUT_STORED && e->len ? e->len
									   : 4096;
			to[n++] = (struct record){
				(uint32_t)((e->time_ns - life->events[0].time_ns) / 1000000000),
				(uint64_t)e->area << 32 | (e->slot + j), *bytes ? *bytes : 4096, -1
			};
		}
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n && to[i].next < 0; j++)
			if (to[j].object == to[i].object)
				to[i].next = j;
	return n;
}

static void oracle_records_are_those_of_a_linear_scan(void **state)
{
	static struct record wanted[LIFE_MAX * 2], got[LIFE_MAX * 2];

	for (uint64_t seed = 1; seed <= 4; seed++) {
		const char *path = in_folder(state, "t.zr");
		struct life *life = life_new(seed, 4000);
		struct db_export_result result;
		FILE *out = tmpfile();
		uint32_t n;

		/* So that seconds matter. */
		for (uint32_t i = 0; i < life->n; i++)
			life->events[i].time_ns *= 300;
		life_make_file(life, path);
		assert_non_null(out);
		assert_ok(export(db_export_oracle, path, out, &result));
		n = naive_records(life, wanted);
		assert_int_equal(read_records(out, got, LIFE_MAX * 2), n);
		assert_int_equal(result.records, n);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(got[i].seconds, wanted[i].seconds);
			assert_true(got[i].object == wanted[i].object);
			assert_int_equal(got[i].bytes, wanted[i].bytes);
			assert_int_equal(got[i].next, wanted[i].next);
		}
		fclose(out);
		unlink(path);
		free(life);
	}
}

static void zero_filled_pages_do_not_vanish(void **state)
{
	const struct db_event events[] = {
		{ .time_ns = 1, .kind = DB_OUT, .area = 1, .slot = 7, .flags = DB_OUT_ZERO },
		{ .time_ns = 2, .kind = DB_OUT, .area = 1, .slot = 8, .flags = DB_OUT_ZERO },
		{ .time_ns = 3, .kind = DB_OUT, .area = 1, .slot = 16, .flags = DB_OUT_ZERO,
		  .order = 1 },
		{ .time_ns = 4, .kind = DB_IN, .area = 1, .slot = 8, .flags = DB_IN_ZERO },
	};
	struct db_export_result result;
	struct record got[8];
	FILE *out = tmpfile();

	assert_non_null(out);
	make_events(in_folder(state, "t.zr"), events, 4);
	assert_ok(export(db_export_oracle, in_folder(state, "t.zr"), out, &result));
	assert_int_equal(read_records(out, got, 8), 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(got[i].bytes, 1);
	assert_int_equal(got[1].next, 4);
	assert_int_equal(got[3].object, UINT64_C(1) << 32 | 17);
	fclose(out);
}

/* More records than are held in memory, with a next access that lies far behind. */
static void far_accesses_are_patched_in_the_file(void **state)
{
	enum { N = 70000 };
	static struct record got[2 * N];
	const char *path = in_folder(state, "t.zr");
	struct db_export_result result;
	struct db_writer *writer;
	FILE *out = tmpfile();
	struct db *db;

	assert_non_null(out);
	assert_ok(db_open(path, DB_CREATE, &db));
	assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
	for (uint32_t i = 0; i < 2 * N; i++)
		assert_ok(db_writer_add(writer, &(struct db_event){
							.time_ns = i, .kind = i < N ? DB_OUT : DB_IN,
							.area = 1, .slot = i % N, .len = i < N ? 100 : 0 }));
	assert_ok(db_writer_free(writer));
	assert_ok(db_close(db));
	/* In the middle of a file that has something before it. */
	fputs("head", out);
	assert_ok(export(db_export_oracle, path, out, &result));
	assert_int_equal(ftell(out), 4 + 24 * 2 * N);
	assert_int_equal(fseek(out, 4, SEEK_SET), 0);
	for (uint32_t i = 0; i < 2 * N; i++) {
		uint8_t bytes[24];

		assert_int_equal(fread(bytes, 1, 24, out), 24);
		got[i].next = (int64_t)little(bytes + 16, 8);
		assert_int_equal(got[i].next, i < N ? (int64_t)i + N : -1);
	}
	fclose(out);
}

static void oracle_needs_a_file(void **state)
{
	struct db_export_result result;
	struct life *life = life_new(1, 100);
	FILE *pipe = popen("cat > /dev/null", "w");

	assert_non_null(pipe);
	life_make_file(life, in_folder(state, "t.zr"));
	assert_fails(export(db_export_oracle, in_folder(state, "t.zr"), pipe, &result), ZR_USAGE,
		     "must be written to a file");
	pclose(pipe);
	free(life);
}

/* ------------------------------------------------------------------------------------------- fio */

static void fio_gets_the_requests_that_were_issued(void **state)
{
	enum { ISSUE = DB_IO_ISSUE << DB_IO_PHASE_SHIFT, DONE = DB_IO_COMPLETE << DB_IO_PHASE_SHIFT };
	const struct db_event events[] = {
		{ .time_ns = 1000, .kind = DB_OUT, .area = 1, .slot = 7 },
		{ .time_ns = 5000, .kind = DB_IO, .area = 1, .slot = 7, .len = 8,
		  .flags = DB_IO_WRITE | ISSUE },
		{ .time_ns = 9000, .kind = DB_IO, .area = 1, .slot = 7, .len = 8,
		  .flags = DB_IO_WRITE | DONE },
		{ .time_ns = 1005000, .kind = DB_IO, .area = 2, .slot = 3, .len = 16,
		  .flags = DB_IO_READ | ISSUE },
		{ .time_ns = 1006999, .kind = DB_IO, .area = 1, .slot = 0x10000000, .len = 24,
		  .flags = DB_IO_DISCARD | ISSUE },
		{ .time_ns = 1007000, .kind = DB_IO, .area = 1, .slot = 1, .len = 0,
		  .flags = DB_IO_WRITE | ISSUE },
		{ .time_ns = 1008000, .kind = DB_GAP, .slot = 4 },
	};
	static const char wanted[] = "fio version 3 iolog\n"
				     "0 swap-area-1 add\n"
				     "0 swap-area-1 open\n"
				     "0 swap-area-1 write 28672 4096\n"
				     "1000 swap-area-2 add\n"
				     "1000 swap-area-2 open\n"
				     "1000 swap-area-2 read 12288 8192\n"
				     "1001 swap-area-1 trim 1099511627776 12288\n"
				     "1001 swap-area-1 close\n"
				     "1001 swap-area-2 close\n";
	struct db_export_result result;
	char text[1024] = "";
	FILE *out = tmpfile();

	assert_non_null(out);
	make_events(in_folder(state, "t.zr"), events, 7);
	assert_ok(export(db_export_fio, in_folder(state, "t.zr"), out, &result));
	rewind(out);
	assert_true(fread(text, 1, sizeof(text) - 1, out) > 0);
	assert_string_equal(text, wanted);
	assert_int_equal(result.records, 3);
	/* The request without data, and the gap. */
	assert_int_equal(result.dropped, 2);
	fclose(out);
}

static void a_trace_without_requests_is_no_iolog(void **state)
{
	const struct db_event event = { .time_ns = 1, .kind = DB_OUT, .area = 1, .slot = 7 };
	struct db_export_result result;
	FILE *out = tmpfile();

	assert_non_null(out);
	make_events(in_folder(state, "t.zr"), &event, 1);
	assert_fails(export(db_export_fio, in_folder(state, "t.zr"), out, &result), ZR_NO_DATA,
		     "no request was issued");
	fclose(out);
}

/* ------------------------------------------------------------------------------------------- all */

static void an_export_is_of_one_host(void **state)
{
	static export_fn *const exports[] = { db_export_ftrace, db_export_fio, db_export_oracle };
	const char *path = in_folder(state, "t.zr");
	struct db_selection one = { .one_host = true, .host = 1 };
	struct db_export_result result;
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	for (uint32_t host = 0; host < 2; host++) {
		struct life *life = life_new(host + 1, 500);

		life->host = host;
		life_write(life, db);
		free(life);
	}
	assert_ok(db_close(db));
	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++) {
		FILE *out = tmpfile();

		assert_non_null(out);
		assert_fails(export(exports[i], path, out, &result), ZR_USAGE, "--host");
		assert_ok(db_open(path, DB_READ, &db));
		assert_ok(exports[i](db, &one, NULL, out, &result));
		assert_ok(db_close(db));
		assert_true(result.records > 0);
		fclose(out);
	}
}

static void a_full_disk_is_told(void **state)
{
	static export_fn *const exports[] = { db_export_ftrace, db_export_fio };
	struct life *life = life_new(1, 5000);
	struct db_export_result result;

	life_make_file(life, in_folder(state, "t.zr"));
	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++) {
		FILE *full = fopen("/dev/full", "w");

		assert_non_null(full);
		setvbuf(full, NULL, _IONBF, 0);
		assert_fails(export(exports[i], in_folder(state, "t.zr"), full, &result), ZR_FULL,
			     "writing the export");
		fclose(full);
	}
	free(life);
}

#define in_new_folder(test) cmocka_unit_test_setup_teardown(test, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_new_folder(oracle_records_are_those_of_a_linear_scan),
		in_new_folder(zero_filled_pages_do_not_vanish),
		in_new_folder(far_accesses_are_patched_in_the_file),
		in_new_folder(oracle_needs_a_file),
		in_new_folder(fio_gets_the_requests_that_were_issued),
		in_new_folder(a_trace_without_requests_is_no_iolog),
		in_new_folder(an_export_is_of_one_host),
		in_new_folder(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
