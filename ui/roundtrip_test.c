/* SPDX-License-Identifier: MIT */
/*
 * dump --format ftrace and import, one after the other, as a user would run them: what comes back is the
 * trace again, event for event, but for what db/export_ftrace.c says that text cannot carry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/commands.h"
#include "ui/test_trace.h"

#include <cmocka.h>

enum { EVENTS_MAX = TEST_EVENTS };

struct paths {
	char folder[64], trace[96], text[96], back[96];
};

static int make_folder(void **state)
{
	struct paths *paths = calloc(1, sizeof(*paths));

	*state = paths;
	if (!paths)
		return -1;
	strcpy(paths->folder, "/tmp/zreel-roundtrip-XXXXXX");
	if (!mkdtemp(paths->folder))
		return -1;
	snprintf(paths->trace, sizeof(paths->trace), "%s/trace.zr", paths->folder);
	snprintf(paths->text, sizeof(paths->text), "%s/text", paths->folder);
	snprintf(paths->back, sizeof(paths->back), "%s/back.zr", paths->folder);
	return 0;
}

static int remove_folder(void **state)
{
	struct paths *paths = *state;

	unlink(paths->trace);
	unlink(paths->text);
	unlink(paths->back);
	rmdir(paths->folder);
	free(paths);
	return 0;
}

static void run(const char *command, const char *option, const char *from, const char *to)
{
	const char *words[] = { "zreel", command, from, "-o", to, option, NULL };
	char *argv[7] = { NULL };
	int argc = 0;

	zr_error_clear();
	for (; words[argc]; argc++)
		assert_non_null(argv[argc] = strdup(words[argc]));
	assert_int_equal(ui_main(argc, argv), 0);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
}

static void make_trace(const char *path, const struct db_event *events, uint32_t n)
{
	struct db_writer *writer;
	struct db *db;

	assert_int_equal(db_open(path, DB_CREATE, &db), ZR_OK);
	for (uint32_t i = 1; i <= 3; i++) {
		struct db_memcg memcg = { .id = i, .cgroup_id = 900 + i, .path = "/x" };
		struct db_task task = { .id = i, .tid = 500 - i, .comm = "" };

		assert_int_equal(db_put_memcg(db, &memcg), ZR_OK);
		assert_int_equal(db_put_task(db, &task), ZR_OK);
	}
	for (uint32_t i = 1; i <= 2; i++) {
		struct db_area area = { .id = i, .type = 5 - i, .path = "/dev/x", .slots = 4096 };

		assert_int_equal(db_put_area(db, &area), ZR_OK);
	}
	assert_int_equal(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer), ZR_OK);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(db_writer_add(writer, &events[i]), ZR_OK);
	assert_int_equal(db_writer_free(writer), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
}

static uint32_t read_trace(const char *path, struct db_event *to)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	uint32_t n = 0;
	struct db *db;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	while (!db_reader_next(reader, &batch) && batch)
		for (uint32_t row = 0; row < batch->n; row++) {
			assert_true(n < EVENTS_MAX);
			to[n++] = db_batch_event(batch, row);
		}
	db_reader_free(reader);
	assert_int_equal(db_close(db), ZR_OK);
	return n;
}

static void assert_events(const struct db_event *got, const struct db_event *wanted, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(&got[i], &wanted[i], sizeof(*got)) != 0)
			fail_msg("event %u is %s at %llu ns, slot %u:%u, order %u, len %u, memcg %u, task %u, "
				 "flags 0x%x instead of %s at %llu ns, %u:%u, %u, %u, %u, %u, 0x%x",
				 i, db_kind_name(got[i].kind), (unsigned long long)got[i].time_ns,
				 got[i].area, got[i].slot, got[i].order, got[i].len, got[i].memcg,
				 got[i].task, got[i].flags, db_kind_name(wanted[i].kind),
				 (unsigned long long)wanted[i].time_ns, wanted[i].area, wanted[i].slot,
				 wanted[i].order, wanted[i].len, wanted[i].memcg, wanted[i].task,
				 wanted[i].flags);
}

/* Through the text and back. */
static void assert_comes_back_as(const struct paths *paths, const struct db_event *wanted,
				 uint32_t n_wanted)
{
	static struct db_event got[EVENTS_MAX];
	uint32_t n_got;

	run("dump", "--format=ftrace", paths->trace, paths->text);
	run("import", NULL, paths->text, paths->back);
	n_got = read_trace(paths->back, got);
	assert_events(got, wanted, n_got < n_wanted ? n_got : n_wanted);
	assert_int_equal(n_got, n_wanted);
}

#define REASON(what) (DB_REASON_##what << DB_F_REASON_SHIFT)
#define AT(t, k) .time_ns = 123456000000 + (t), .kind = DB_##k

static void every_kind_and_outcome_comes_back(void **state)
{
	const struct db_event events[] = {
		/* Ids that are met in another order than they were given. */
		{ AT(1, OUT), .area = 1, .slot = 64, .len = 700, .memcg = 3, .task = 3 },
		{ AT(1, OUT), .area = 1, .slot = 65, .len = 0, .memcg = 2, .task = 2 },
		{ AT(7, OUT), .area = 2, .slot = 8, .order = 2, .len = 11, .memcg = 1, .task = 1 },
		{ AT(7, OUT), .area = 2, .slot = 9, .order = 2, .len = 12, .memcg = 1, .task = 1,
		  .flags = DB_F_PART },
		{ AT(7, OUT), .area = 2, .slot = 10, .order = 2, .len = 0, .memcg = 1, .task = 1,
		  .flags = DB_F_PART },
		{ AT(7, OUT), .area = 2, .slot = 11, .order = 2, .len = 14, .memcg = 1, .task = 1,
		  .flags = DB_F_PART },
		{ AT(9, OUT), .area = 1, .slot = 70, .memcg = 1, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(LIMIT) },
		{ AT(9, OUT), .area = 1, .slot = 71, .memcg = 0, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(UNKNOWN) },
		{ AT(10, OUT), .area = 1, .slot = 72, .len = 0, .memcg = 1, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(COMPRESS) },
		{ AT(11, OUT), .area = 1, .slot = 73, .len = 3000, .memcg = 1, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(ALLOC) },
		{ AT(12, OUT), .area = 1, .slot = 80, .order = 4, .memcg = 1, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(LARGE) },
		{ AT(13, OUT), .area = 1, .slot = 74, .memcg = 1, .task = 1, .flags = DB_OUT_ZERO },
		{ AT(13, OUT), .area = 1, .slot = 76, .order = 1, .memcg = 1, .task = 1,
		  .flags = DB_OUT_ZERO },
		{ AT(14, OUT), .area = 1, .slot = 75, .memcg = 1, .task = 1,
		  .flags = DB_OUT_KEPT | REASON(LIMIT) },
		{ AT(20, IN), .area = 1, .slot = 64, .memcg = 3, .task = 1, .flags = DB_IN_ZSWAP },
		{ AT(21, IN), .area = 1, .slot = 70, .memcg = 1, .task = 2, .flags = DB_IN_DISK },
		{ AT(22, IN), .area = 1, .slot = 74, .memcg = 1, .task = 3, .flags = DB_IN_ZERO },
		{ AT(23, IN), .area = 1, .slot = 76, .memcg = 1, .task = 3,
		  .flags = DB_IN_ZERO | DB_F_READAHEAD },
		{ AT(23, IN), .area = 1, .slot = 65, .memcg = 2, .task = 3,
		  .flags = DB_IN_ZSWAP | DB_F_READAHEAD },
		{ AT(24, FREE), .area = 1, .slot = 64, .memcg = 3, .task = 1 },
		{ AT(24, FREE), .area = 2, .slot = 8, .len = 4, .memcg = 1, .task = 1 },
		{ AT(25, FREE), .area = 1, .slot = 1000, .task = 0 },
		{ AT(30, WB), .area = 1, .slot = 65, .len = 77, .memcg = 2, .task = 1 },
		{ AT(31, WB), .area = 1, .slot = 65, .len = 77, .memcg = 2, .task = 1,
		  .flags = DB_WB_EXISTS },
		{ AT(32, WB), .area = 1, .slot = 65, .len = 77, .memcg = 2, .task = 1,
		  .flags = DB_WB_NOMEM },
		{ AT(33, WB), .area = 1, .slot = 65, .len = 77, .memcg = 2, .task = 1,
		  .flags = DB_WB_FAILED },
		{ AT(40, RECLAIM), .slot = 0, .order = 12, .len = 1, .memcg = 3, .task = 1 },
		{ AT(41, RECLAIM), .slot = UINT32_MAX, .order = 1, .memcg = 2, .task = 2 },
		{ AT(42, SCAN), .slot = 128, .len = 5, .memcg = 2, .task = 2 },
		{ AT(43, SCAN), .slot = 128, .memcg = 3, .task = 2, .flags = 1 },
		{ AT(44, SCAN), .slot = 32, .memcg = 3, .task = 2, .flags = DB_F_UNKNOWN },
		{ AT(45, WORKER), .task = 3 },
		{ AT(46, WORKER), .task = 0 },
		{ AT(47, SHRINK), .memcg = 1, .task = 3 },
		{ AT(48, SHRINK), .memcg = 2, .task = 3, .flags = DB_SHRINK_AGAIN },
		{ AT(49, SHRINK), .memcg = 3, .task = 3, .flags = DB_SHRINK_EMPTY },
		{ AT(50, SHRINK), .memcg = 3, .task = 3, .flags = DB_F_UNKNOWN },
		{ AT(60, GAP), .slot = 57, .len = 3, .flags = DB_GAP_IMPORT },
		{ AT(61, GAP), .slot = 0, .len = UINT16_MAX, .flags = DB_GAP_IMPORT },
		/* Behind a gap: what is met first is unknown. */
		{ AT(62, IN), .area = 1, .slot = 65, .memcg = 2, .task = 1,
		  .flags = DB_IN_ZSWAP | DB_F_UNKNOWN },
		{ AT(63, FREE), .area = 1, .slot = 65, .memcg = 2, .task = 1 },
	};
	enum { N = sizeof(events) / sizeof(events[0]) };

	make_trace(((struct paths *)*state)->trace, events, N);
	assert_comes_back_as(*state, events, N);
}

static void what_text_cannot_carry_becomes_what_is_said(void **state)
{
	const struct db_event events[] = {
		{ AT(1, OUT), .area = 2, .slot = 64, .len = 700, .memcg = 1, .task = 1 },
		{ AT(2, OUT), .area = 1, .slot = 64, .memcg = 1, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(MEMCG_LIMIT) },
		{ AT(3, OUT), .area = 1, .slot = 66, .order = 1, .memcg = 1, .task = 1,
		  .flags = DB_OUT_REJECTED | REASON(LIMIT) },
		{ AT(4, IN), .area = 1, .slot = 64, .memcg = 1, .task = 1, .flags = DB_IN_ERROR },
		{ AT(5, WB), .area = 2, .slot = 64, .memcg = 1, .task = 1, .flags = DB_WB_ROTATED },
		{ AT(6, IO), .area = 2, .slot = 64, .len = 8, .flags = DB_IO_WRITE },
		{ AT(7, SAMPLE), .task = 0 },
		{ AT(8, FREE), .area = 2, .slot = 64, .task = 1 },
		{ AT(9, GAP), .slot = 5, .len = 1, .flags = DB_GAP_RING },
		{ AT(9, IN), .area = 1, .slot = 64, .memcg = 1, .task = 0 },
	};
	struct db_event wanted[] = { events[0], events[1], events[2], events[3],
				     events[4], events[7], events[8], events[9] };

	/* Areas count from the first that is met. */
	wanted[0].area = wanted[4].area = wanted[5].area = 1;
	wanted[1].area = wanted[2].area = wanted[3].area = wanted[7].area = 2;
	wanted[1].flags = DB_OUT_REJECTED | REASON(LIMIT);
	wanted[2].flags = DB_OUT_REJECTED | REASON(LARGE);
	wanted[3].flags = DB_IN_DISK;
	wanted[4].flags = DB_WB_FAILED;
	wanted[5].memcg = 1; /* the owner, from the swap-out */
	wanted[6].flags = DB_GAP_IMPORT;
	wanted[7].flags |= DB_F_UNKNOWN;
	wanted[7].task = 4; /* nobody is a task of its own */
	make_trace(((struct paths *)*state)->trace, events, 10);
	assert_comes_back_as(*state, wanted, 8);
}

static void a_trace_of_thousands_comes_back(void **state)
{
	const struct paths *paths = *state;
	static struct db_event wanted[TEST_EVENTS];
	static uint8_t held[TEST_SLOTS];
	static bool known[TEST_SLOTS], owned[TEST_SLOTS];
	bool any_gap = false;

	for (uint32_t i = 0; i < TEST_EVENTS; i++) {
		struct db_event *e = &wanted[i];

		*e = test_trace_event(i, held);
		if (e->kind == DB_GAP) {
			e->flags = DB_GAP_IMPORT;
			e->memcg = e->area = 0;
			e->task = 0;
			any_gap = true;
			memset(known, 0, sizeof(known));
		} else if (e->kind == DB_SCAN) {
			e->area = 0;
		} else {
			if (e->kind == DB_FREE)
				e->memcg = owned[e->slot];
			if (e->kind != DB_OUT && any_gap && !known[e->slot])
				e->flags |= DB_F_UNKNOWN;
			known[e->slot] = true;
			owned[e->slot] = e->kind != DB_FREE;
		}
	}
	assert_int_equal(test_trace_make(paths->trace, "6.12", TEST_EVENTS), ZR_OK);
	assert_comes_back_as(paths, wanted, TEST_EVENTS);
}

#define in_new_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_new_folder(every_kind_and_outcome_comes_back),
		in_new_folder(what_text_cannot_carry_becomes_what_is_said),
		in_new_folder(a_trace_of_thousands_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
