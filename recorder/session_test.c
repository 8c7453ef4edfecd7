/* SPDX-License-Identifier: MIT */
/*
 * Tests of a recording's manners, from the options to the file: the source is a script, the clock
 * stands still but for the session's own waits, and proc and the cgroups are a tree made here.
 *
 * The load: each STEP_NS a page of the next slot is stored in zswap (two raw records), by the tasks
 * and cgroups in turn.
 */
#include "recorder/session.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND_NS UINT64_C(1'000'000'000)
#define STEP_NS	  UINT64_C(1'000'000)
#define START_NS  (5 * SECOND_NS)

enum { TASKS = 3, CGROUPS = 3, FIRST_TID = 70 };

struct rec_source {
	struct rig *rig;
};

struct rig {
	char dir[64];
	struct rec_machine machine;
	struct rec_options options;
	struct rec_result result;
	char output[96];
	uint64_t clock_ns, page; /* of the load: next to come */
	bool is_return;
	uint64_t cgroups[CGROUPS];
	uint64_t ring_bytes;		   /* that the session asked for */
	uint32_t most, taken;	     /* records that come out of one drain; 0 = all */
	uint64_t lone_at_ns;		   /* the load is one page, at this time; 0 = it is not */
	uint64_t seen_at_ns;		   /* when that was in the file */
	uint64_t lost_at_ns, missed_at_ns; /* 0 = never */
	uint64_t fail_at_ns;
	uint64_t alarm_at_ns; /* vmstat's pswpout jumps */
	uint64_t dump_at_ns;
	volatile int dump;
	uint32_t statuses, dumps, failed_dumps;
	struct rec_status last;
};

/* ---------------------------------------------------------------------------------- the machine */

static void put(const struct rig *rig, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	for (char *slash = path + strlen(rig->dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, [[maybe_unused]] const struct stat *st,
		      [[maybe_unused]] int type, [[maybe_unused]] struct FTW *ftw)
{
	return remove(path);
}

static uint64_t outs_so_far(const struct rig *rig)
{
	struct db_summary summary = { 0 };
	struct db *db;

	assert_int_equal(db_open(rig->output, DB_READ, &db), ZR_OK);
	assert_int_equal(db_summarise(db, &summary), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
	return summary.events[DB_OUT];
}

static void wait_ns(void *arg, uint64_t ns)
{
	struct rig *rig = arg;

	rig->clock_ns += ns;
	if (rig->lone_at_ns && rig->clock_ns > rig->lone_at_ns && !rig->seen_at_ns &&
	    outs_so_far(rig))
		rig->seen_at_ns = rig->clock_ns;
	if (rig->alarm_at_ns && rig->clock_ns >= rig->alarm_at_ns)
		put(rig, "proc/vmstat", "pswpin 0\npswpout 999999\n");
	if (rig->dump_at_ns && rig->clock_ns >= rig->dump_at_ns) {
		rig->dump_at_ns = 0;
		rig->dump = 1;
	}
}

static uint64_t clock_ns(void *arg)
{
	const struct rig *rig = arg;

	return rig->clock_ns;
}

static enum zr_err open_source(const struct rec_source_setup *setup, struct rec_source **out)
{
	*out = malloc(sizeof(**out));
	assert_non_null(*out);
	(*out)->rig = setup->arg;
	(*out)->rig->ring_bytes = setup->ring_bytes;
	return ZR_OK;
}

static enum zr_err filter_block([[maybe_unused]] struct rec_source *source,
				[[maybe_unused]] const char *filter)
{
	return ZR_OK;
}

static enum zr_err do_nothing([[maybe_unused]] struct rec_source *source)
{
	return ZR_OK;
}

static void off([[maybe_unused]] struct rec_source *source)
{
}

static uint64_t source_now_ns(struct rec_source *source)
{
	return source->rig->clock_ns;
}

static enum zr_err drain(struct rec_source *source, [[maybe_unused]] uint64_t mark_ns,
			 uint64_t *bytes)
{
	struct rig *rig = source->rig;

	*bytes = 0;
	rig->taken = 0;
	if (rig->fail_at_ns && rig->clock_ns >= rig->fail_at_ns)
		return zr_fail(ZR_IO, "the buffer broke");
	return ZR_OK;
}

static bool next(struct rec_source *source, uint64_t until_ns, struct rec_raw *raw)
{
	struct rig *rig = source->rig;
	uint64_t time_ns = rig->lone_at_ns ? rig->lone_at_ns : START_NS + rig->page * STEP_NS;

	if ((rig->lone_at_ns && rig->page) || (rig->most && rig->taken == rig->most))
		return false;
	if (time_ns >= until_ns || time_ns > rig->clock_ns)
		return false;
	rig->taken++;
	*raw = (struct rec_raw){ .time_ns = time_ns,
				 .tid = FIRST_TID + (uint32_t)(rig->page % TASKS) };
	if (rig->lost_at_ns && time_ns >= rig->lost_at_ns) {
		rig->lost_at_ns = 0;
		raw->type = REC_LOST;
		raw->len = 41;
		return true;
	}
	raw->type = rig->is_return ? REC_STORE_RET : REC_STORE;
	raw->swp = rig->page;
	raw->ret = 1;
	raw->memcg = rig->cgroups[rig->page % CGROUPS];
	rig->page += rig->is_return;
	rig->is_return = !rig->is_return;
	return true;
}

static uint64_t reached(const struct rec_source *source, uint64_t until_ns)
{
	const struct rig *rig = source->rig;
	uint64_t next_ns = START_NS + rig->page * STEP_NS;

	return rig->most && rig->taken == rig->most && next_ns < until_ns ? next_ns : until_ns;
}

static struct rec_source_stats stats(const struct rec_source *source)
{
	return (struct rec_source_stats){ .events = source->rig->page * 2 };
}

static uint32_t cpus([[maybe_unused]] const struct rec_source *source)
{
	return 1;
}

static int64_t missed(const struct rec_source *source)
{
	const struct rig *rig = source->rig;

	return rig->missed_at_ns && rig->clock_ns >= rig->missed_at_ns ? 7 : 0;
}

static uint64_t total_lost([[maybe_unused]] struct rec_source *source,
			   [[maybe_unused]] struct rec_notes *notes)
{
	return 0;
}

static void close_source(struct rec_source *source)
{
	free(source);
}

static const struct rec_source_ops ops = {
	.name = "script",
	.open = open_source,
	.filter_block = filter_block,
	.follow = do_nothing,
	.on = do_nothing,
	.off = off,
	.now_ns = source_now_ns,
	.drain = drain,
	.next = next,
	.reached = reached,
	.stats = stats,
	.cpus = cpus,
	.missed = missed,
	.total_lost = total_lost,
	.close = close_source,
};

static uint64_t make_cgroup(const struct rig *rig, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "cgroup/%s/cgroup.procs", name);
	put(rig, path, "");
	snprintf(path, sizeof(path), "%s/cgroup/%s", rig->dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void on_status(void *arg, const struct rec_status *status)
{
	struct rig *rig = arg;

	assert_true(status->events >= rig->last.events);
	rig->statuses++;
	rig->last = *status;
}

static void on_dump(void *arg, [[maybe_unused]] const char *path, const char *error)
{
	struct rig *rig = arg;

	if (error)
		rig->failed_dumps++;
	else
		rig->dumps++;
}

static struct rig *open_rig(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const char *tmp = getenv("TMPDIR");
	char name[64];

	assert_non_null(rig);
	snprintf(rig->dir, sizeof(rig->dir), "%.40s/zreel-session-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(rig->output, sizeof(rig->output), "%s/t.zr", rig->dir);
	rig->clock_ns = START_NS;
	rig->machine = (struct rec_machine){
		.ops = &ops, .wait = wait_ns, .clock_ns = clock_ns, .arg = rig
	};
	snprintf(rig->machine.paths.proc, sizeof(rig->machine.paths.proc), "%s/proc", rig->dir);
	snprintf(rig->machine.paths.sys, sizeof(rig->machine.paths.sys), "%s/sys", rig->dir);
	snprintf(rig->machine.paths.cgroup, sizeof(rig->machine.paths.cgroup), "%s/cgroup",
		 rig->dir);
	strcpy(rig->machine.paths.tracefs, "/nowhere");
	put(rig, "proc/swaps",
	    "Filename Type Size Used Priority\n/dev/mapper/customer-swap partition 4194304 0 -2\n");
	put(rig, "proc/vmstat", "pswpin 0\npswpout 0\n");
	for (int i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), "proc/%d/status", FIRST_TID + i);
		put(rig, name, "Tgid:\t70\n");
		snprintf(name, sizeof(name), "proc/%d/comm", FIRST_TID + i);
		put(rig, name, "payroll\n");
	}
	rig->cgroups[0] = make_cgroup(rig, "customer-a");
	rig->cgroups[1] = make_cgroup(rig, "customer-b");
	rig->cgroups[2] = make_cgroup(rig, "others");
	rig->options = (struct rec_options){ .output = rig->output,
					     .duration_ns = 10 * SECOND_NS,
					     .dump = &rig->dump,
					     .dumped = on_dump,
					     .status = on_status,
					     .status_arg = rig };
	return rig;
}

static void close_rig(struct rig *rig)
{
	assert_int_equal(nftw(rig->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(rig);
}

static void record(struct rig *rig)
{
	assert_int_equal(rec_session_record(&rig->machine, &rig->options, &rig->result), ZR_OK);
}

static void record_again(struct rig *rig)
{
	rig->page = 0;
	rig->clock_ns = START_NS;
	rig->last = (struct rec_status){ 0 };
	record(rig);
}

/* ------------------------------------------------------------------------------------- the file */

struct counts {
	uint64_t outs, gaps, lost;
	uint64_t outs_of[CGROUPS + 1]; /* by memcg id */
};

static struct counts count(const char *path)
{
	struct counts counts = { 0 };
	const struct db_batch *batch;
	struct db_reader *reader;
	struct db *db;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	while (db_reader_next(reader, &batch) == ZR_OK && batch)
		for (uint32_t i = 0; i < batch->n; i++) {
			struct db_event event = db_batch_event(batch, i);

			counts.outs += event.kind == DB_OUT;
			if (event.kind == DB_OUT && event.memcg <= CGROUPS)
				counts.outs_of[event.memcg]++;
			counts.gaps += event.kind == DB_GAP;
			counts.lost += event.kind == DB_GAP ? event.slot : 0;
		}
	db_reader_free(reader);
	assert_int_equal(db_close(db), ZR_OK);
	return counts;
}

static bool holds(const char *path, const char *word)
{
	struct stat st;
	FILE *file = fopen(path, "r");
	char *bytes;
	bool found;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
	fclose(file);
	found = memmem(bytes, (size_t)st.st_size, word, strlen(word));
	free(bytes);
	return found;
}

/* ------------------------------------------------------------------------------------ the tests */

static void recording_ends_after_its_duration_with_all_before_it([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();
	struct counts counts;

	record(rig);
	assert_in_range(rig->clock_ns, START_NS + 10 * SECOND_NS,
			START_NS + 10 * SECOND_NS + SECOND_NS / 5);
	counts = count(rig->output);
	assert_int_equal(counts.outs, (rig->clock_ns - START_NS) / STEP_NS + 1);
	assert_int_equal(rig->result.total.events,
			 counts.outs + 9); /* a sample a second, but for the last */
	assert_int_equal(rig->result.total.pages_out, counts.outs);
	close_rig(rig);
}

/* One event, then silence: readers see it within a second, but for the wait between two rounds. */
static void lone_event_is_in_the_file_within_a_second([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();

	rig->lone_at_ns = START_NS + 4 * SECOND_NS + SECOND_NS / 20;
	record(rig);
	assert_in_range(rig->seen_at_ns, rig->lone_at_ns,
			rig->lone_at_ns + SECOND_NS + SECOND_NS / 5);
	close_rig(rig);
}

static void rings_of_all_cpus_take_a_quarter_of_the_memory([[maybe_unused]] void **state)
{
	uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct rig *rig = open_rig();

	rig->options.max_mem_bytes = processors << 20;
	record(rig);
	assert_int_equal(rig->ring_bytes, 256 << 10);
	close_rig(rig);
}

/* A queue holds little: what comes in a tenth of a second takes many drains, and none of it is left for the
 * next round. */
static void round_goes_on_until_it_has_caught_up([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();

	rig->most = 7;
	record(rig);
	assert_int_equal(count(rig->output).outs, (rig->clock_ns - START_NS) / STEP_NS + 1);
	assert_in_range(rig->last.events, 8900, 9300);
	close_rig(rig);
}

static void file_is_for_its_owner_only([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();
	mode_t before = umask(0);
	struct stat st;

	record(rig);
	umask(before);
	assert_int_equal(stat(rig->output, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close_rig(rig);
}

static void names_of_tasks_are_left_out_unless_asked_for([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();

	record(rig);
	assert_false(holds(rig->output, "payroll"));
	assert_int_equal(unlink(rig->output), 0);
	rig->options.with_comm = true;
	record_again(rig);
	assert_true(holds(rig->output, "payroll"));
	close_rig(rig);
}

static void anonymous_file_holds_no_name([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();
	char host[65] = "";

	record(rig);
	assert_true(holds(rig->output, "customer-a"));
	assert_true(holds(rig->output, "customer-swap"));
	assert_int_equal(unlink(rig->output), 0);
	rig->options.anonymize = true;
	record_again(rig);
	assert_false(holds(rig->output, "customer"));
	assert_false(holds(rig->output, "others"));
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_true(strlen(host) < 3 || !holds(rig->output, host));
	close_rig(rig);
}

static void only_the_named_cgroups_are_stored([[maybe_unused]] void **state)
{
	static const char *const names[] = { "customer-a", "/customer-b" };
	struct rig *rig = open_rig();
	struct counts counts;

	rig->options.cgroups = names;
	rig->options.n_cgroups = 2;
	record(rig);
	counts = count(rig->output);
	assert_int_equal(counts.outs_of[1], (rig->page + 2) / 3);
	assert_int_equal(counts.outs_of[2], (rig->page + 1) / 3);
	assert_int_equal(counts.outs, counts.outs_of[1] + counts.outs_of[2]);
	close_rig(rig);
}

static void cgroup_that_is_not_there_is_refused_by_name([[maybe_unused]] void **state)
{
	static const char *const names[] = { "customer-z" };
	struct rig *rig = open_rig();

	rig->options.cgroups = names;
	rig->options.n_cgroups = 1;
	assert_int_not_equal(rec_session_record(&rig->machine, &rig->options, &rig->result), ZR_OK);
	assert_non_null(strstr(zr_error_text(), "customer-z"));
	zr_error_clear();
	assert_int_not_equal(access(rig->output, F_OK), 0);
	close_rig(rig);
}

static void recording_ends_when_the_file_has_grown_to_its_size([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();
	struct stat st;

	rig->options.duration_ns = 10'000 * SECOND_NS;
	rig->options.max_bytes = 20'000;
	record(rig);
	assert_in_range(rig->result.total.chunk_bytes, 20'000, 30'000);
	assert_true(rig->clock_ns < START_NS + 1000 * SECOND_NS);
	assert_int_equal(stat(rig->output, &st), 0);
	assert_int_equal(count(rig->output).outs, rig->page);
	close_rig(rig);
}

static void status_comes_once_a_second([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();

	record(rig);
	assert_int_equal(rig->statuses, 9);
	assert_in_range(rig->last.elapsed_ns, 9 * SECOND_NS, 10 * SECOND_NS);
	assert_in_range(rig->last.pages_out, 8900, 9300);
	assert_in_range(rig->last.raw_events, 2 * 8900, 2 * 9300);
	assert_int_equal(rig->last.lost, 0);
	close_rig(rig);
}

static void losses_are_gaps_in_the_file_and_sums_in_the_result([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();
	struct counts counts;

	rig->lost_at_ns = START_NS + 3 * SECOND_NS;
	rig->missed_at_ns = START_NS + 5 * SECOND_NS;
	record(rig);
	assert_int_equal(rig->result.ring_lost, 41);
	assert_int_equal(rig->result.probe_missed, 7);
	assert_int_equal(rig->result.total.lost, 48);
	assert_int_equal(rig->last.lost, 48);
	counts = count(rig->output);
	assert_int_equal(counts.gaps, 2);
	assert_int_equal(counts.lost, 48);
	close_rig(rig);
}

/* What had been stored can be read, and the file says that it is not complete. */
static void source_that_breaks_leaves_what_was_stored([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();
	struct db *db;

	rig->fail_at_ns = START_NS + 5 * SECOND_NS;
	assert_int_equal(rec_session_record(&rig->machine, &rig->options, &rig->result), ZR_IO);
	assert_non_null(strstr(zr_error_text(), "the buffer broke"));
	zr_error_clear();
	assert_in_range(count(rig->output).outs, 3900, 5100);
	assert_int_equal(db_open(rig->output, DB_READ, &db), ZR_OK);
	assert_false(db_is_complete(db));
	assert_int_equal(db_close(db), ZR_OK);
	close_rig(rig);
}

static void figures_of_cost_are_of_the_recording([[maybe_unused]] void **state)
{
	struct rec_result result = {
		.cpu_seconds = 3,
		.start_cpu_seconds = 1,
		.total = { .raw_events = 500'000, .events = 250'000, .chunk_bytes = 1'000'000 }
	};

	assert_true(rec_cpu_per_million(&result) == 4);
	assert_true(rec_bytes_per_event(&result) == 4);
	result.total = (struct rec_status){ 0 };
	assert_true(rec_cpu_per_million(&result) == 0);
	assert_true(rec_bytes_per_event(&result) == 0);
}

/* Told once by hand and once by a trigger, of a span of 100 s: two files, each with what came
 * before it. */
static void flight_recorder_writes_when_told_and_when_a_trigger_fires([[maybe_unused]] void **state)
{
	static const char *const triggers[] = { "vmstat.pswpout>1000" };
	struct rig *rig = open_rig();
	char second[128];

	rig->options.flight_ns = 100 * SECOND_NS;
	rig->options.triggers = triggers;
	rig->options.n_triggers = 1;
	rig->dump_at_ns = START_NS + 3 * SECOND_NS;
	rig->alarm_at_ns = START_NS + 6 * SECOND_NS;
	record(rig);
	assert_int_equal(rig->dumps, 2);
	assert_int_equal(rig->failed_dumps, 0);
	assert_int_equal(rig->result.dumps, 2);
	snprintf(second, sizeof(second), "%s/t.2.zr", rig->dir);
	assert_in_range(count(rig->output).outs, 2900, 3200);
	assert_in_range(count(second).outs, 5900, 7300);
	close_rig(rig);
}

static void flight_recorder_outlives_a_file_that_cannot_be_written([[maybe_unused]] void **state)
{
	static const char *const triggers[] = { "vmstat.pswpout>1000" };
	struct rig *rig = open_rig();

	rig->options.flight_ns = 100 * SECOND_NS;
	rig->options.triggers = triggers;
	rig->options.n_triggers = 1;
	rig->dump_at_ns = START_NS + 3 * SECOND_NS;
	rig->alarm_at_ns = START_NS + 6 * SECOND_NS;
	put(rig, "t.2.zr", "somebody else's");
	record(rig);
	assert_int_equal(rig->dumps, 1);
	assert_int_equal(rig->failed_dumps, 1);
	assert_in_range(rig->clock_ns, START_NS + 10 * SECOND_NS, START_NS + 11 * SECOND_NS);
	close_rig(rig);
}

static void flight_recorder_that_nobody_asks_leaves_no_file([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();

	rig->options.flight_ns = 100 * SECOND_NS;
	record(rig);
	assert_int_not_equal(access(rig->output, F_OK), 0);
	close_rig(rig);
}

static void file_that_is_there_is_not_overwritten([[maybe_unused]] void **state)
{
	struct rig *rig = open_rig();

	put(rig, "t.zr", "somebody else's");
	assert_int_equal(rec_session_record(&rig->machine, &rig->options, &rig->result), ZR_EXISTS);
	zr_error_clear();
	assert_true(holds(rig->output, "somebody else's"));
	close_rig(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recording_ends_after_its_duration_with_all_before_it),
		cmocka_unit_test(lone_event_is_in_the_file_within_a_second),
		cmocka_unit_test(rings_of_all_cpus_take_a_quarter_of_the_memory),
		cmocka_unit_test(round_goes_on_until_it_has_caught_up),
		cmocka_unit_test(file_is_for_its_owner_only),
		cmocka_unit_test(names_of_tasks_are_left_out_unless_asked_for),
		cmocka_unit_test(anonymous_file_holds_no_name),
		cmocka_unit_test(only_the_named_cgroups_are_stored),
		cmocka_unit_test(cgroup_that_is_not_there_is_refused_by_name),
		cmocka_unit_test(recording_ends_when_the_file_has_grown_to_its_size),
		cmocka_unit_test(status_comes_once_a_second),
		cmocka_unit_test(losses_are_gaps_in_the_file_and_sums_in_the_result),
		cmocka_unit_test(source_that_breaks_leaves_what_was_stored),
		cmocka_unit_test(figures_of_cost_are_of_the_recording),
		cmocka_unit_test(flight_recorder_writes_when_told_and_when_a_trigger_fires),
		cmocka_unit_test(flight_recorder_outlives_a_file_that_cannot_be_written),
		cmocka_unit_test(flight_recorder_that_nobody_asks_leaves_no_file),
		cmocka_unit_test(file_that_is_there_is_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
