/* SPDX-License-Identifier: MIT */
/*
 * Tests of the recorder's manners: triggers on a fake proc, names that are hidden, the flight recorder
 * against a plain list, requests that become swap-outs and refaults, clocks and file names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/anonym.h"
#include "recorder/block.h"
#include "recorder/flight.h"
#include "recorder/outlet.h"
#include "recorder/recorder.h"
#include "recorder/trigger.h"

#define SECOND_NS UINT64_C(1'000'000'000)

/* ---------------------------------------------------------------------------------------- triggers */

struct proc {
	char dir[64];
};

static struct proc open_proc(void)
{
	struct proc proc = { "/tmp/zreel-proc-XXXXXX" };
	char path[96];

	assert_non_null(mkdtemp(proc.dir));
	snprintf(path, sizeof(path), "%s/pressure", proc.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	return proc;
}

static void write_proc(const struct proc *proc, const char *name, const char *text)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", proc->dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void close_proc(const struct proc *proc)
{
	static const char *const names[] = { "pressure/io", "pressure/memory", "vmstat", "pressure", "" };
	char path[96];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc->dir, names[i]);
		(void)remove(path);
	}
	assert_int_not_equal(access(proc->dir, F_OK), 0);
}

static void write_pressure(const struct proc *proc, double some, double full)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "some avg10=%.2f avg60=1.00 avg300=0.50 total=1\nfull avg10=%.2f avg60=77.00 avg300=0.00 total=2\n",
		 some, full);
	write_proc(proc, "pressure/io", text);
}

static struct rec_trigger trigger_of(const char *text)
{
	struct rec_trigger trigger;

	assert_int_equal(rec_trigger_parse(text, &trigger), ZR_OK);
	return trigger;
}

static void pressure_trigger_fires_once_a_crossing([[maybe_unused]] void **state)
{
	struct proc proc = open_proc();
	struct rec_trigger trigger = trigger_of("psi.io.full>20");
	static const struct {
		double full;
		bool fires;
	} steps[] = { { 0, false }, { 20, false }, { 20.5, true }, { 99, false }, { 3, false }, { 21, true } };

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		write_pressure(&proc, 50, steps[i].full);
		assert_int_equal(rec_trigger_fires(&trigger, proc.dir, (i + 1) * SECOND_NS),
				 steps[i].fires);
	}
	close_proc(&proc);
}

static void trigger_reads_the_line_and_the_average_it_names([[maybe_unused]] void **state)
{
	struct proc proc = open_proc();
	struct rec_trigger some = trigger_of("psi.io.some>10"), minute = trigger_of("psi.io.full.avg60>76"),
			   below = trigger_of("psi.io.full<1"), other = trigger_of("psi.memory.full>0");

	write_pressure(&proc, 11, 0);
	assert_true(rec_trigger_fires(&some, proc.dir, SECOND_NS));
	assert_true(rec_trigger_fires(&minute, proc.dir, SECOND_NS));
	assert_true(rec_trigger_fires(&below, proc.dir, SECOND_NS));
	assert_false(rec_trigger_fires(&other, proc.dir, SECOND_NS)); /* no such file */
	close_proc(&proc);
}

/* 1000 pages in two seconds are 500 a second; a name that only begins alike is another counter. */
static void vmstat_trigger_takes_the_rate([[maybe_unused]] void **state)
{
	struct proc proc = open_proc();
	struct rec_trigger low = trigger_of("vmstat.pswpout>499"), high = trigger_of("vmstat.pswpout>501");

	write_proc(&proc, "vmstat", "pswpout_all 7\npswpin 9000\npswpout 5000\n");
	assert_false(rec_trigger_fires(&low, proc.dir, 10 * SECOND_NS));
	assert_false(rec_trigger_fires(&high, proc.dir, 10 * SECOND_NS));
	write_proc(&proc, "vmstat", "pswpout_all 900000\npswpin 9000\npswpout 6000\n");
	assert_true(rec_trigger_fires(&low, proc.dir, 12 * SECOND_NS));
	assert_false(rec_trigger_fires(&high, proc.dir, 12 * SECOND_NS));
	close_proc(&proc);
}

static void senseless_triggers_are_refused([[maybe_unused]] void **state)
{
	static const char *const texts[] = {
		"", ">", "psi.io.full", "psi.io.full>", "psi.io.full>x", "psi.io.full>20%", "psi.io>20",
		"psi.disk.full>20", "psi.io.most>20", "psi.io.full.avg11>2", "psi.io.full.avg10.x>2",
		"vmstat.>1", "meminfo.Dirty>5", "psi.io.full=20",
		"vmstat.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>1",
	};
	struct rec_trigger trigger;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(rec_trigger_parse(texts[i], &trigger), ZR_USAGE);
		assert_non_null(strstr(zr_error_text(), texts[i]));
		zr_error_clear();
	}
}

/* --------------------------------------------------------------------------------------- anonymous */

/* The reference vectors: key 00 01 .. 0f, messages 00 01 .. of each length. */
static void hash_agrees_with_the_published_vectors([[maybe_unused]] void **state)
{
	static const struct {
		size_t bytes;
		uint64_t hash;
	} vectors[] = {
		{ 0, 0x726fdb47dd0e0e31 }, { 1, 0x74f839c593dc67fd }, { 7, 0xab0200f58b01d137 },
		{ 8, 0x93f5f5799a932462 }, { 15, 0xa129ca6149be45e5 },
	};
	struct rec_anonym anonym = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } };
	unsigned char message[16];

	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (unsigned char)i;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		assert_int_equal(rec_anonym_hash(&anonym, message, vectors[i].bytes), vectors[i].hash);
}

static void hidden_path_keeps_its_shape_and_nothing_else([[maybe_unused]] void **state)
{
	struct rec_anonym anonym, other;
	char a[128], b[128], again[128];

	assert_int_equal(rec_anonym_init(&anonym), ZR_OK);
	assert_int_equal(rec_anonym_init(&other), ZR_OK);
	rec_anonym_path(&anonym, "/customer/job", a, sizeof(a));
	rec_anonym_path(&anonym, "/customer/other", b, sizeof(b));
	assert_int_equal(strlen(a), 26);
	assert_int_equal(a[0], '/');
	assert_int_equal(a[13], '/');
	assert_null(strstr(a, "customer"));
	assert_memory_equal(a, b, 14); /* the same parent */
	assert_memory_not_equal(a + 14, b + 14, 12);
	rec_anonym_path(&anonym, "/customer/job", again, sizeof(again));
	assert_string_equal(a, again);
	rec_anonym_path(&other, "/customer/job", again, sizeof(again));
	assert_string_not_equal(a, again);
	rec_anonym_path(&anonym, "/", a, sizeof(a));
	assert_string_equal(a, "/");
	rec_anonym_path(&anonym, "", a, sizeof(a));
	assert_string_equal(a, "");
	rec_anonym_path(&anonym, "/customer/job", a, 20);
	assert_true(strlen(a) < 20);
}

/* ----------------------------------------------------------------------------------------- flight */

static struct db_event random_event(uint64_t *time_ns)
{
	*time_ns += (uint64_t)rand() % 2'000'000;
	return (struct db_event){ .time_ns = *time_ns, .slot = (uint32_t)rand(), .kind = DB_FREE,
				  .area = 1, .len = (uint16_t)(rand() % 3), .task = (uint32_t)rand() % 50,
				  .memcg = (uint16_t)(rand() % 9) };
}

struct trace_file {
	char dir[64], path[96];
	struct rec_trace trace;
};

static struct trace_file open_trace(void)
{
	struct trace_file file = { .dir = "/tmp/zreel-flight-XXXXXX" };

	assert_non_null(mkdtemp(file.dir));
	snprintf(file.path, sizeof(file.path), "%s/t.zr", file.dir);
	assert_int_equal(rec_trace_open(file.path, &(struct rec_trace_how){ 0 }, &file.trace), ZR_OK);
	return file;
}

static void close_trace(const struct trace_file *file)
{
	assert_int_equal(unlink(file->path), 0);
	assert_int_equal(rmdir(file->dir), 0);
}

/* Holds the file against the last `n` of the list. */
static void assert_holds(const char *path, const struct db_event *events, size_t n)
{
	struct db_reader *reader;
	const struct db_batch *batch;
	struct db *db;
	size_t at = 0;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	while (db_reader_next(reader, &batch) == ZR_OK && batch)
		for (uint32_t i = 0; i < batch->n; i++, at++) {
			struct db_event event = db_batch_event(batch, i);

			assert_true(at < n);
			assert_memory_equal(&event, &events[at], sizeof(event));
		}
	assert_int_equal(at, n);
	db_reader_free(reader);
	assert_int_equal(db_close(db), ZR_OK);
}

static void write_and_check(struct rec_flight *flight, const struct db_event *events, size_t n)
{
	struct trace_file file = open_trace();

	assert_int_equal(rec_flight_write(flight, file.trace.db, file.trace.writer), ZR_OK);
	assert_int_equal(rec_trace_close(&file.trace, ZR_OK), ZR_OK);
	assert_holds(file.path, events, n);
	close_trace(&file);
}

enum { EVENTS = 50'000 };

/* Whatever is kept is the end of what was given, whole; written twice, twice the same. */
static void flight_keeps_the_span_and_no_chunk_more([[maybe_unused]] void **state)
{
	struct db_event *events = calloc(EVENTS, sizeof(*events));
	struct rec_flight *flight;
	uint64_t time_ns = 77, span_ns = 10 * SECOND_NS, kept;

	assert_non_null(events);
	srand(3);
	assert_int_equal(rec_flight_new(span_ns, UINT64_C(1) << 30, &flight), ZR_OK);
	for (size_t i = 0; i < EVENTS; i++) {
		events[i] = random_event(&time_ns);
		assert_int_equal(rec_flight_event(flight, &events[i]), ZR_OK);
	}
	kept = rec_flight_stats(flight).events;
	assert_true(kept < EVENTS);
	assert_true(events[EVENTS - kept].time_ns <= time_ns - span_ns); /* the whole span is there */
	assert_true(events[EVENTS - kept + 2 * REC_FLIGHT_CHUNK].time_ns > time_ns - span_ns);
	write_and_check(flight, events + EVENTS - kept, kept);
	write_and_check(flight, events + EVENTS - kept, kept);
	rec_flight_free(flight);
	free(events);
}

static void flight_never_holds_more_bytes_than_allowed([[maybe_unused]] void **state)
{
	struct db_event *events = calloc(EVENTS, sizeof(*events));
	struct rec_flight *flight;
	uint64_t time_ns = 1, most = 200'000;
	struct rec_flight_stats stats;

	assert_non_null(events);
	srand(4);
	assert_int_equal(rec_flight_new(UINT64_MAX, most, &flight), ZR_OK);
	for (size_t i = 0; i < EVENTS; i++) {
		events[i] = random_event(&time_ns);
		assert_int_equal(rec_flight_event(flight, &events[i]), ZR_OK);
		assert_true(rec_flight_stats(flight).bytes <= most);
	}
	stats = rec_flight_stats(flight);
	assert_true(stats.events > 0);
	assert_int_equal(stats.events + stats.dropped, EVENTS);
	write_and_check(flight, events + stats.dropped, stats.events);
	rec_flight_free(flight);
	free(events);
}

static void flight_writes_names_and_recent_samples([[maybe_unused]] void **state)
{
	struct trace_file file = open_trace();
	struct rec_flight *flight;
	struct zr_arena arena = { 0 };
	struct db_counter *counters;
	struct db_sample *samples;
	struct db_memcg *memcgs;
	struct db_task *tasks;
	struct db_area *areas;
	size_t n;

	assert_int_equal(rec_flight_new(10 * SECOND_NS, 1 << 20, &flight), ZR_OK);
	assert_int_equal(rec_flight_memcg(flight, &(struct db_memcg){ .id = 1, .cgroup_id = 5, .path = "/a" }),
			 ZR_OK);
	assert_int_equal(rec_flight_task(flight, &(struct db_task){ .id = 1, .tid = 9, .comm = "cc1" }), ZR_OK);
	assert_int_equal(rec_flight_area(flight, &(struct db_area){ .id = 1, .slots = 10, .path = "/dev/x" }),
			 ZR_OK);
	for (uint64_t second = 1; second <= 30; second++) {
		assert_int_equal(rec_flight_sample(flight, second * SECOND_NS, "vmstat", "pswpin", 1), ZR_OK);
		assert_int_equal(rec_flight_sample(flight, second * SECOND_NS, "vmstat", "pswpout",
						   (double)second),
				 ZR_OK);
	}
	assert_int_equal(rec_flight_write(flight, file.trace.db, file.trace.writer), ZR_OK);
	assert_int_equal(db_memcgs(file.trace.db, 0, &arena, &memcgs, &n), ZR_OK);
	assert_int_equal(n, 1);
	assert_string_equal(memcgs[0].path, "/a");
	assert_int_equal(db_tasks(file.trace.db, 0, &arena, &tasks, &n), ZR_OK);
	assert_string_equal(tasks[0].comm, "cc1");
	assert_int_equal(db_areas(file.trace.db, 0, &arena, &areas, &n), ZR_OK);
	assert_string_equal(areas[0].path, "/dev/x");
	assert_int_equal(db_counters(file.trace.db, 0, &arena, &counters, &n), ZR_OK);
	assert_int_equal(n, 2);
	assert_string_equal(counters[1].name, "pswpout");
	assert_int_equal(db_samples(file.trace.db, &counters[1], &arena, &samples, &n), ZR_OK);
	assert_int_equal(n, 11);
	assert_int_equal(samples[0].time_ns, 20 * SECOND_NS);
	assert_true(samples[10].value == 30);
	zr_arena_fini(&arena);
	rec_flight_free(flight);
	assert_int_equal(rec_trace_close(&file.trace, ZR_OK), ZR_OK);
	close_trace(&file);
}

/* ------------------------------------------------------------------------------------------ block */

struct told {
	struct db_event events[64];
	uint32_t n;
};

static enum zr_err keep(void *arg, const struct db_event *event)
{
	struct told *told = arg;

	assert_true(told->n < 64);
	told->events[told->n++] = *event;
	return ZR_OK;
}

static struct db_event request(enum db_io_op op, enum db_io_phase phase, uint32_t slot, uint32_t sectors)
{
	return (struct db_event){ .kind = DB_IO, .area = 1, .slot = slot, .len = (uint16_t)sectors,
				  .task = phase == DB_IO_ISSUE ? 7 : 0, .time_ns = slot,
				  .flags = (uint8_t)((unsigned)op | (unsigned)phase << DB_IO_PHASE_SHIFT) };
}

static void feed(struct rec_block *block, struct told *told, struct db_event event)
{
	assert_int_equal(rec_block_event(block, &event, keep, told), ZR_OK);
}

static void completed_write_is_a_swap_out_of_each_page([[maybe_unused]] void **state)
{
	struct rec_block block = { .zswap_off = true, .sectors_per_slot = 8 };
	struct told told = { 0 };

	feed(&block, &told, request(DB_IO_WRITE, DB_IO_ISSUE, 100, 24));
	assert_int_equal(told.n, 1);
	feed(&block, &told, request(DB_IO_WRITE, DB_IO_COMPLETE, 100, 24));
	assert_int_equal(told.n, 5); /* both requests, three pages */
	for (uint32_t i = 0; i < 3; i++) {
		const struct db_event *out = &told.events[2 + i];

		assert_int_equal(out->kind, DB_OUT);
		assert_int_equal(out->slot, 100 + i);
		assert_int_equal(out->task, 7);
		assert_string_equal(db_event_outcome(out), "rejected");
		assert_int_equal(db_flags_reason(out->flags), DB_REASON_OFF);
	}
}

static void completed_read_is_a_refault_from_disk([[maybe_unused]] void **state)
{
	struct rec_block block = { .sectors_per_slot = 8 };
	struct told told = { 0 };

	feed(&block, &told, request(DB_IO_READ, DB_IO_COMPLETE, 5, 8));
	assert_int_equal(told.n, 2);
	assert_int_equal(told.events[1].kind, DB_IN);
	assert_int_equal(told.events[1].slot, 5);
	assert_int_equal(told.events[1].task, 0); /* its issue was not seen */
	assert_string_equal(db_event_outcome(&told.events[1]), "disk");
}

/* With zswap on, nobody knows why a page went to disk. */
static void reason_is_not_guessed_while_zswap_is_on([[maybe_unused]] void **state)
{
	struct rec_block block = { .sectors_per_slot = 8 };
	struct told told = { 0 };

	feed(&block, &told, request(DB_IO_WRITE, DB_IO_COMPLETE, 5, 8));
	assert_int_equal(db_flags_reason(told.events[1].flags), DB_REASON_UNKNOWN);
}

static void discard_frees_merge_and_scraps_tell_nothing([[maybe_unused]] void **state)
{
	struct rec_block block = { .sectors_per_slot = 8 };
	struct told told = { 0 };

	feed(&block, &told, request(DB_IO_DISCARD, DB_IO_COMPLETE, 512, 4096));
	assert_int_equal(told.n, 2);
	assert_int_equal(told.events[1].kind, DB_FREE);
	assert_int_equal(db_free_slots(told.events[1].len), 512);
	feed(&block, &told, request(DB_IO_WRITE, DB_IO_MERGE, 1, 8));
	feed(&block, &told, request(DB_IO_WRITE, DB_IO_COMPLETE, 1, 4)); /* half a page */
	feed(&block, &told, (struct db_event){ .kind = DB_GAP, .flags = DB_GAP_RING });
	assert_int_equal(told.n, 5);
}

static bool begins(struct rec_block *block, uint64_t time_us, uint64_t shrinker, int node, uint8_t priority)
{
	return rec_block_begins_pass(block, &(struct rec_raw){ .type = REC_SLAB_START, .tid = 7,
							       .time_ns = time_us * 1000,
							       .swp = shrinker, .ret = node,
							       .order = priority });
}

static void shrinkers_of_one_pass_count_once([[maybe_unused]] void **state)
{
	struct rec_block *block = calloc(1, sizeof(*block));

	assert_non_null(block);
	assert_true(begins(block, 1000, 0xa, 0, 12));
	assert_false(begins(block, 1010, 0xb, 0, 12));
	assert_false(begins(block, 1020, 0xc, 0, 12));
	assert_true(begins(block, 1030, 0xa, 0, 12)); /* round again: the next memcg */
	assert_false(begins(block, 1040, 0xc, 0, 12));
	assert_true(begins(block, 1050, 0xb, 0, 11));
	assert_true(begins(block, 1060, 0xc, 1, 11));
	assert_false(begins(block, 1070, 0xd, 1, 11));
	assert_true(begins(block, 900'000, 0xe, 1, 11)); /* long after */
	assert_true(rec_block_begins_pass(block, &(struct rec_raw){ .type = REC_SLAB_START,
								    .tid = 8, .swp = 0xa,
								    .ret = 1, .order = 11 }));
	free(block);
}

/* ------------------------------------------------------------------------------------------ others */

static void files_of_a_flight_recorder_are_numbered([[maybe_unused]] void **state)
{
	static const struct {
		const char *output;
		uint32_t n;
		const char *expected;
	} rows[] = {
		{ "t.zr", 1, "t.zr" },	       { "t.zr", 2, "t.2.zr" }, { "/a.b/t", 3, "/a.b/t.3" },
		{ "a.b.zr", 10, "a.b.10.zr" },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rec_outlet_name(rows[i].output, rows[i].n, name, sizeof(name));
		assert_string_equal(name, rows[i].expected);
	}
}

static void clocks_that_count_no_nanoseconds_are_refused([[maybe_unused]] void **state)
{
	assert_int_equal(rec_clock_check("mono"), ZR_OK);
	assert_int_equal(rec_clock_check("global"), ZR_OK);
	assert_int_equal(rec_clock_check("counter"), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "mono"));
	zr_error_clear();
	assert_int_equal(rec_clock_check("x86-tsc"), ZR_USAGE);
	zr_error_clear();
}

/* A note is one line, whatever is in it; one that does not fit is left out whole. */
static void notes_stay_lines_and_stay_in_their_room([[maybe_unused]] void **state)
{
	struct rec_notes *notes = calloc(1, sizeof(*notes));
	char large[2000];
	size_t lines = 0;

	assert_non_null(notes);
	rec_note(notes, "key", "a\nb\tc");
	assert_string_equal(notes->text, "key\ta b c\n");
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		rec_note(notes, "k", "%s", large);
	assert_true(notes->n < sizeof(notes->text));
	assert_int_equal(strlen(notes->text), notes->n);
	assert_int_equal(notes->text[notes->n - 1], '\n');
	for (const char *at = notes->text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(notes->n, 10 + (lines - 1) * 2002);
	free(notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pressure_trigger_fires_once_a_crossing),
		cmocka_unit_test(trigger_reads_the_line_and_the_average_it_names),
		cmocka_unit_test(vmstat_trigger_takes_the_rate),
		cmocka_unit_test(senseless_triggers_are_refused),
		cmocka_unit_test(hash_agrees_with_the_published_vectors),
		cmocka_unit_test(hidden_path_keeps_its_shape_and_nothing_else),
		cmocka_unit_test(flight_keeps_the_span_and_no_chunk_more),
		cmocka_unit_test(flight_never_holds_more_bytes_than_allowed),
		cmocka_unit_test(flight_writes_names_and_recent_samples),
		cmocka_unit_test(completed_write_is_a_swap_out_of_each_page),
		cmocka_unit_test(completed_read_is_a_refault_from_disk),
		cmocka_unit_test(reason_is_not_guessed_while_zswap_is_on),
		cmocka_unit_test(discard_frees_merge_and_scraps_tell_nothing),
		cmocka_unit_test(shrinkers_of_one_pass_count_once),
		cmocka_unit_test(files_of_a_flight_recorder_are_numbered),
		cmocka_unit_test(clocks_that_count_no_nanoseconds_are_refused),
		cmocka_unit_test(notes_stay_lines_and_stay_in_their_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
