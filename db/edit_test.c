/* SPDX-License-Identifier: MIT */
/* Cutting and merging, against linear scans of the events in an array. */
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "db/edit_test_life.h"

static struct db_event got[LIFE_MAX * 2];

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* Nothing of the trace is left, its log included. */
static void assert_gone(const char *path)
{
	char name[4200];

	assert_false(is_there(path));
	snprintf(name, sizeof(name), "%s-wal", path);
	assert_false(is_there(name));
}

static enum zr_err cut_watched(const char *from, const char *to,
			       const struct db_selection *selection, const struct db_watch *watch,
			       struct db_edit_result *result)
{
	const struct db_cut_options options = { .selection = *selection, .output = to, .watch = *watch };
	struct db *db;
	enum zr_err err;

	assert_ok(db_open(from, DB_READ, &db));
	err = db_cut(db, &options, result);
	assert_ok(db_close(db));
	return err;
}

static enum zr_err cut(const char *from, const char *to, const struct db_selection *selection)
{
	struct db_edit_result result;

	return cut_watched(from, to, selection, &(struct db_watch){ 0 }, &result);
}

/* ---------------------------------------------------------------------------- the naive selection */

struct naive {
	const struct life *life;
	const struct db_selection *want;
	uint64_t from_ns, to_ns;
	bool memcg[LIFE_MEMCGS + 1];
	bool ever[LIFE_AREAS + 1][LIFE_SLOTS + 8];
	uint16_t owner[LIFE_AREAS + 1][LIFE_SLOTS + 8];
};

static uint32_t naive_pages(const struct db_event *e)
{
	if (e->kind == DB_OUT)
		return e->flags & DB_F_PART ? 1 : 1u << e->order;
	if (e->kind == DB_FREE)
		return e->len ? e->len : 1;
	if (e->kind == DB_IO)
		return e->len / 8; /* whole pages in a life */
	return e->kind == DB_IN || e->kind == DB_WB;
}

static void naive_find_ever(struct naive *naive)
{
	for (uint32_t i = 0; i < naive->life->n; i++) {
		const struct db_event *e = &naive->life->events[i];

		for (uint32_t j = 0; j < naive_pages(e); j++)
			if (e->memcg && naive->memcg[e->memcg])
				naive->ever[e->area][e->slot + j] = true;
	}
}

static bool naive_cgroup(const struct naive *naive, const struct db_event *e)
{
	bool any = false;

	if (e->kind == DB_WORKER || e->kind == DB_SAMPLE)
		return true;
	if (e->memcg)
		return naive->memcg[e->memcg];
	for (uint32_t j = 0; j < naive_pages(e); j++)
		any |= e->kind == DB_IO ? naive->ever[e->area][e->slot + j]
					: naive->memcg[naive->owner[e->area][e->slot + j]];
	return any;
}

static bool naive_slots(const struct naive *naive, const struct db_event *e)
{
	bool any = false;

	if (!naive_pages(e))
		return true;
	if (naive->want->one_area && e->area != naive->want->area)
		return false;
	for (uint32_t j = 0; j < naive_pages(e); j++)
		any |= e->slot + j >= naive->want->slot_first &&
		       e->slot + j <= naive->want->slot_last;
	return any || !naive->want->some_slots;
}

static bool naive_wants(const struct naive *naive, const struct db_event *e)
{
	if (e->time_ns < naive->from_ns || e->time_ns >= naive->to_ns)
		return false;
	if (e->kind == DB_GAP)
		return true;
	return naive_slots(naive, e) && (!naive->want->n_cgroups || naive_cgroup(naive, e));
}

static void naive_own(struct naive *naive, const struct db_event *e)
{
	for (uint32_t j = 0; j < naive_pages(e); j++) {
		if (e->kind == DB_OUT)
			naive->owner[e->area][e->slot + j] = e->memcg;
		if (e->kind == DB_FREE)
			naive->owner[e->area][e->slot + j] = 0;
	}
}

static uint32_t naive_select(struct naive *naive, struct db_event *to)
{
	bool head_wanted = false;
	uint32_t n = 0;

	naive_find_ever(naive);
	for (uint32_t i = 0; i < naive->life->n; i++) {
		const struct db_event *e = &naive->life->events[i];
		bool part = e->kind == DB_OUT && e->flags & DB_F_PART;
		bool wants = part ? head_wanted : naive_wants(naive, e);

		if (e->kind == DB_OUT && !part)
			head_wanted = wants;
		if (wants)
			to[n++] = *e;
		naive_own(naive, e);
	}
	return n;
}

/* Dice for each condition; `cgroup` is what is asked for, if it is. */
static struct db_selection draw_selection(struct life *life, struct naive *naive,
					  const char **cgroup)
{
	static const struct {
		const char *path;
		bool of[LIFE_MEMCGS + 1];
	} choices[] = { { "/a", { [1] = true, [2] = true } },
			{ "a/b/", { [2] = true } },
			{ "4", { [4] = true } },
			{ "/", { [1] = true, [2] = true, [3] = true, [4] = true } } };
	uint64_t first_ns = life->events[0].time_ns, last_ns = life->events[life->n - 1].time_ns;
	struct test_random *random = &life->random;
	struct db_selection want = { 0 };

	naive->from_ns = first_ns;
	naive->to_ns = last_ns + 1;
	if (test_draw(random, 2)) {
		naive->from_ns = first_ns + test_draw(random, last_ns - first_ns);
		want.from = (struct db_moment){ DB_MOMENT_SINCE_START, naive->from_ns - first_ns };
	}
	if (test_draw(random, 2)) {
		naive->to_ns = naive->from_ns + 1 + test_draw(random, last_ns - first_ns);
		want.to = (struct db_moment){ DB_MOMENT_CLOCK, naive->to_ns };
	}
	want.one_area = test_draw(random, 3) == 0;
	want.area = 1 + (uint32_t)test_draw(random, LIFE_AREAS);
	want.some_slots = test_draw(random, 3) == 0;
	want.slot_first = (uint32_t)test_draw(random, LIFE_SLOTS);
	want.slot_last = want.slot_first + (uint32_t)test_draw(random, 40);
	if (test_draw(random, 2)) {
		unsigned which = (unsigned)test_draw(random, 4);

		*cgroup = choices[which].path;
		memcpy(naive->memcg, choices[which].of, sizeof(naive->memcg));
		want.cgroups = cgroup;
		want.n_cgroups = 1;
	}
	return want;
}

static void cut_is_what_a_linear_scan_selects(void **state)
{
	static struct db_event wanted[LIFE_MAX];
	uint32_t whole = 0, empty = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct life *life = life_new(seed, 3000);
		struct naive naive = { .life = life };
		const char *cgroup, *from = in_folder(state, "from.zr"), *to = in_folder(state, "to.zr");
		struct db_selection want = draw_selection(life, &naive, &cgroup);
		uint32_t n;

		naive.want = &want;
		n = naive_select(&naive, wanted);
		life_make_file(life, from);
		if (!n) {
			assert_fails(cut(from, to, &want), ZR_NO_DATA, "no event is in");
			assert_gone(to);
			empty++;
		} else {
			assert_ok(cut(from, to, &want));
			assert_same_events(wanted, n, got, life_read(to, 0, got, LIFE_MAX));
			unlink(to);
		}
		whole += n == life->n;
		unlink(from);
		free(life);
	}
	/* The dice must have asked for something. */
	assert_true(whole < 10 && empty < 10);
}

/* --------------------------------------------------------------------------------------- cutting */

static void make_events(const char *path, const struct db_event *events, uint32_t n)
{
	static struct life life;

	life = (struct life){ .n = n };
	memcpy(life.events, events, n * sizeof(*events));
	life_make_file(&life, path);
}

static void cut_keeps_the_gap_in_its_time(void **state)
{
	const struct db_event events[] = {
		{ .time_ns = 1000000000, .kind = DB_OUT, .area = 1, .slot = 1, .memcg = 1 },
		{ .time_ns = 5500000000, .kind = DB_OUT, .area = 1, .slot = 2, .memcg = 4 },
		{ .time_ns = 6000000000, .kind = DB_GAP, .slot = 77, .len = 3, .flags = DB_GAP_RING },
		{ .time_ns = 6500000000, .kind = DB_IN, .area = 1, .slot = 1, .memcg = 1,
		  .flags = DB_F_UNKNOWN },
		{ .time_ns = 7000000000, .kind = DB_IN, .area = 1, .slot = 2, .memcg = 4 },
	};
	const char *cgroup = "/c";
	/* 4 s to 6 s after the first event, and nothing of its slots or cgroups is wanted. */
	struct db_selection want = { .from = { DB_MOMENT_SINCE_START, 4000000000 },
				     .to = { DB_MOMENT_SINCE_START, 6000000000 },
				     .one_area = true,
				     .area = 2,
				     .some_slots = true,
				     .slot_first = 9,
				     .slot_last = 9,
				     .cgroups = &cgroup,
				     .n_cgroups = 1 };
	const char *from = in_folder(state, "from.zr");

	make_events(from, events, 5);
	assert_ok(cut(from, in_folder(state, "gap.zr"), &want));
	assert_same_events(&events[2], 1, got, life_read(in_folder(state, "gap.zr"), 0, got, 9));
	want.one_area = want.some_slots = false;
	want.n_cgroups = 0;
	assert_ok(cut(from, in_folder(state, "all.zr"), &want));
	assert_same_events(&events[1], 3, got, life_read(in_folder(state, "all.zr"), 0, got, 9));
}

static void cut_by_cgroup_keeps_frees_of_its_slots(void **state)
{
	const struct db_event events[] = {
		{ .time_ns = 1, .kind = DB_OUT, .area = 1, .slot = 8, .memcg = 4, .order = 2,
		  .flags = DB_OUT_REJECTED },
		{ .time_ns = 2, .kind = DB_OUT, .area = 2, .slot = 8, .memcg = 1 },
		{ .time_ns = 3, .kind = DB_FREE, .area = 2, .slot = 8 },
		{ .time_ns = 4, .kind = DB_FREE, .area = 1, .slot = 9 },
		{ .time_ns = 5, .kind = DB_FREE, .area = 1, .slot = 9 }, /* nobody's now */
		{ .time_ns = 6, .kind = DB_FREE, .area = 1, .slot = 20, .memcg = 4 },
		{ .time_ns = 7, .kind = DB_OUT, .area = 1, .slot = 21, .memcg = 4 },
		{ .time_ns = 8, .kind = DB_FREE, .area = 1, .slot = 21, .memcg = 4 },
		{ .time_ns = 9, .kind = DB_FREE, .area = 1, .slot = 21 }, /* nobody's now */
	};
	const struct db_event wanted[] = { events[3], events[5], events[6], events[7] };
	const char *cgroup = "/c";
	/* The swap-out lies before the cut. */
	struct db_selection want = { .from = { DB_MOMENT_CLOCK, 2 }, .cgroups = &cgroup,
				     .n_cgroups = 1 };

	make_events(in_folder(state, "from.zr"), events, 9);
	assert_ok(cut(in_folder(state, "from.zr"), in_folder(state, "to.zr"), &want));
	assert_same_events(wanted, 4, got, life_read(in_folder(state, "to.zr"), 0, got, 9));
}

static void put_samples(const char *path)
{
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	for (uint32_t host = 0; host < 2; host++)
		for (uint64_t ns = 0; ns < 10; ns++) {
			assert_ok(db_put_sample(db, host, ns, "vmstat", "pswpin", 10. * host + (double)ns));
			assert_ok(db_put_sample(db, host, ns, "zswap", "stored", 0.5));
		}
	for (uint32_t host = 0; host < 2; host++) {
		struct life *life = life_new(5 + host, 200);

		life->host = host;
		for (uint32_t i = 0; i < life->n; i++)
			life->events[i].time_ns = i / 20;
		life_write(life, db);
		free(life);
	}
	assert_ok(db_set_complete(db));
	assert_ok(db_close(db));
}

static void cut_keeps_tables_and_the_samples_of_its_time(void **state)
{
	struct db_selection want = { .from = { DB_MOMENT_CLOCK, 2 }, .to = { DB_MOMENT_CLOCK, 5 },
				     .one_host = true, .host = 1 };
	const char *from = in_folder(state, "from.zr"), *to = in_folder(state, "to.zr"), *text;
	struct zr_arena arena = { 0 };
	struct db_memcg *memcgs;
	struct db_task *tasks;
	struct db_area *areas;
	struct db_sample *samples;
	struct db *db, *before;
	uint32_t *hosts;
	size_t n;

	put_samples(from);
	assert_ok(cut(from, to, &want));
	assert_ok(db_open(from, DB_READ, &before));
	assert_ok(db_open(to, DB_READ, &db));
	assert_true(db_is_complete(db));
	assert_string_not_equal(db_trace_id(db), db_trace_id(before));
	assert_ok(db_hosts(db, &arena, &hosts, &n));
	assert_int_equal(n, 1);
	assert_int_equal(hosts[0], 1);
	assert_ok(db_env_get(db, 1, DB_ENV_HOSTNAME, &arena, &text));
	assert_string_equal(text, "host-1");
	assert_ok(db_env_get(db, 1, "cut.trace_id", &arena, &text));
	assert_string_equal(text, db_trace_id(before));
	assert_int_equal(db_env_int(db, 1, "cut.from_ns", -1), 2);
	assert_ok(db_memcgs(db, 1, &arena, &memcgs, &n));
	assert_int_equal(n, LIFE_MEMCGS);
	assert_string_equal(memcgs[1].path, "/a/b");
	assert_int_equal(memcgs[1].cgroup_id, 101);
	assert_ok(db_tasks(db, 1, &arena, &tasks, &n));
	assert_int_equal(n, LIFE_TASKS);
	assert_int_equal(tasks[4].tid, 1005);
	assert_ok(db_areas(db, 1, &arena, &areas, &n));
	assert_int_equal(n, LIFE_AREAS);
	assert_string_equal(areas[1].path, "/swapfile");
	assert_ok(db_samples(db, &(struct db_counter){ 1, "vmstat", "pswpin" }, &arena, &samples, &n));
	assert_int_equal(n, 3);
	assert_int_equal(samples[0].time_ns, 2);
	assert_true(samples[2].value == 14);
	assert_ok(db_close(db));
	assert_ok(db_close(before));
	zr_arena_fini(&arena);
}

static bool no_more(void *arg, double done)
{
	(void)done;
	return --*(int *)arg > 0;
}

static void an_interrupted_cut_leaves_nothing(void **state)
{
	const char *from = in_folder(state, "from.zr"), *to = in_folder(state, "to.zr");
	struct life *life = life_new(3, 4000);
	struct db_edit_result result;
	struct db_selection all = { 0 };
	int left = 5;
	struct db_watch watch = { no_more, &left };

	life_make_file(life, from);
	assert_fails(cut_watched(from, to, &all, &watch, &result), ZR_INTERRUPTED, "is removed");
	assert_gone(to);
	/* It was asked only as often as it takes to end. */
	assert_int_equal(left, 0);
	free(life);
}

static void cut_refuses_what_is_not_there(void **state)
{
	const char *from = in_folder(state, "from.zr"), *to = in_folder(state, "to.zr");
	const char *cgroup = "/nosuch";
	struct life *life = life_new(3, 200);
	struct db_selection all = { 0 };

	life_make_file(life, from);
	assert_ok(cut(from, to, &all));
	assert_fails(cut(from, to, &all), ZR_EXISTS, "there already");
	assert_fails(cut(from, from, &all), ZR_EXISTS, "there already");
	assert_int_equal(life_read(from, 0, got, LIFE_MAX), life->n);
	unlink(to);
	assert_fails(cut(from, to, &(struct db_selection){ .one_area = true, .area = 9 }), ZR_NO_DATA,
		     "no swap area 9");
	assert_fails(cut(from, to, &(struct db_selection){ .one_host = true, .host = 9 }), ZR_NO_DATA,
		     "no host 9");
	assert_fails(cut(from, to, &(struct db_selection){ .cgroups = &cgroup, .n_cgroups = 1 }),
		     ZR_NO_DATA, "no cgroup /nosuch");
	assert_gone(to);
	free(life);
}

/* --------------------------------------------------------------------------------------- merging */

static enum zr_err merge(const char *const *inputs, uint32_t n, const char *output,
			 const struct db_merge_options *how, struct db_edit_result *result)
{
	struct db_merge_options options = how ? *how : (struct db_merge_options){ 0 };

	options.inputs = inputs;
	options.n_inputs = n;
	options.output = output;
	return db_merge(&options, result);
}

static void add_run(const char *path)
{
	struct db_metric metrics[] = { { .rep = 1, .name = "pswpin", .value = 2.5,
					 .figure = DB_PLANNED },
				       { .rep = 2, .name = "pswpin", .value = 3, .figure = DB_MEASURED } };
	struct db_point points[] = { { "pool", 10, 1 }, { "pool", 10, 2 }, { "pool", 20, 3 } };
	struct db_run run = { .policy = "batched", .knobs = "k", .target = "null", .target_detail = "",
			      .drive = "demand", .pace = "asap", .trace_id = "t", .trace_path = "p",
			      .host = 1, .reps = 2, .partial = true, .note = "n" };
	struct db *db;

	assert_ok(db_open(path, DB_RESULTS, &db));
	assert_ok(db_run_add(db, &run, metrics, 2, points, 3));
	assert_ok(db_close(db));
}

static void assert_run(struct db *db)
{
	struct zr_arena arena = { 0 };
	struct db_metric *metrics;
	struct db_point *points;
	struct db_run *runs;
	size_t n;

	assert_ok(db_runs(db, &arena, &runs, &n));
	assert_int_equal(n, 1);
	assert_string_equal(runs[0].policy, "batched");
	assert_string_equal(runs[0].note, "n");
	assert_int_equal(runs[0].host, 1);
	assert_true(runs[0].partial);
	assert_ok(db_metrics(db, runs[0].id, &arena, &metrics, &n));
	assert_int_equal(n, 2);
	assert_true(metrics[0].value == 2.5 && metrics[0].figure == DB_PLANNED);
	assert_true(metrics[1].value == 3 && metrics[1].figure == DB_MEASURED);
	assert_ok(db_points(db, runs[0].id, "pool", &arena, &points, &n));
	assert_int_equal(n, 3);
	assert_true(points[0].value == 1 && points[1].value == 2 && points[2].time_ns == 20);
	zr_arena_fini(&arena);
}

static void merge_keeps_every_host(void **state)
{
	const char *inputs[] = { in_folder(state, "one.zr"), in_folder(state, "two.zr") };
	const char *to = in_folder(state, "to.zr"), *text;
	struct life *life = life_new(8, 2500);
	struct zr_arena arena = { 0 };
	struct db_edit_result result;
	struct db_sample *samples;
	static struct db_event before[500];
	struct db *db;
	uint32_t n;
	size_t n_samples;

	life_make_file(life, inputs[0]);
	put_samples(inputs[1]);
	add_run(inputs[1]);
	assert_ok(merge(inputs, 2, to, NULL, &result));
	assert_int_equal(result.hosts, 3);
	assert_int_equal(result.files, 2);
	assert_int_equal(result.runs, 1);
	assert_int_equal(result.samples, 40);
	assert_same_events(life->events, life->n, got, life_read(to, 0, got, LIFE_MAX));
	n = life_read(inputs[1], 1, before, 500);
	assert_same_events(before, n, got, life_read(to, 2, got, LIFE_MAX));
	assert_ok(db_open(to, DB_READ, &db));
	assert_true(db_is_complete(db));
	assert_ok(db_env_get(db, 2, DB_ENV_HOSTNAME, &arena, &text));
	assert_string_equal(text, "host-1");
	assert_int_equal(db_env_int(db, 2, "merge.host", -1), 1);
	assert_ok(db_env_get(db, 0, "merge.file", &arena, &text));
	assert_string_equal(text, "one.zr");
	assert_ok(db_samples(db, &(struct db_counter){ 2, "vmstat", "pswpin" }, &arena, &samples,
			     &n_samples));
	assert_int_equal(n_samples, 10);
	assert_true(samples[9].value == 19);
	assert_run(db);
	assert_ok(db_close(db));
	zr_arena_fini(&arena);
	free(life);
}

static void merge_refuses_a_trace_that_comes_twice(void **state)
{
	const char *a = in_folder(state, "a.zr"), *b = in_folder(state, "b.zr");
	const char *ab = in_folder(state, "ab.zr");
	char to[4096];
	const char *twice[] = { a, b, a }, *inside[] = { ab, b }, *both[] = { a, b };
	struct db_merge_options force = { .force = true };
	struct db_edit_result result;

	snprintf(to, sizeof(to), "%s/to.zr", (const char *)*state);
	for (int i = 0; i < 2; i++) {
		struct life *life = life_new(20 + (uint64_t)i, 100);

		life_make_file(life, both[i]);
		free(life);
	}
	assert_fails(merge(twice, 3, to, NULL, &result), ZR_EXISTS, "a.zr holds too");
	assert_gone(to);
	assert_ok(merge(both, 2, ab, NULL, &result));
	/* Also when it is known only by where a merged trace came from. */
	assert_fails(merge(inside, 2, to, NULL, &result), ZR_EXISTS, "ab.zr holds too");
	assert_gone(to);
	assert_ok(merge(twice, 3, to, &force, &result));
	assert_int_equal(result.hosts, 3);
}

static void merge_of_a_bad_input_leaves_nothing(void **state)
{
	const char *inputs[] = { in_folder(state, "a.zr"), in_folder(state, "missing.zr") };
	struct life *life = life_new(20, 100);
	struct db_edit_result result;

	life_make_file(life, inputs[0]);
	assert_fails(merge(inputs, 2, in_folder(state, "to.zr"), NULL, &result), ZR_NOT_FOUND,
		     "missing.zr");
	assert_gone(in_folder(state, "to.zr"));
	free(life);
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	size_t n;

	assert_true(in && out);
	n = fread(bytes, 1, sizeof(bytes), in);
	assert_true(n > 0 && n < sizeof(bytes));
	assert_int_equal(fwrite(bytes, 1, n, out), n);
	assert_int_equal(fclose(in) + fclose(out), 0);
}

/* A copy of a trace under another name (32 digits of `number`). */
static void copy_trace(const char *from, const char *to, uint32_t number)
{
	char sql[128];
	sqlite3 *db;

	copy_file(from, to);
	snprintf(sql, sizeof(sql), "PRAGMA synchronous = OFF; UPDATE trace SET name = '%032x'", number);
	assert_int_equal(sqlite3_open(to, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_thousand_small_traces_become_one(void **state)
{
	enum { FILES = 1000 };
	static char paths[FILES][512];
	static const char *inputs[FILES];
	struct rlimit before, few;
	struct life *life = life_new(9, 60);
	struct db_edit_result result;
	const char *to = in_folder(state, "to.zr"), *one = in_folder(state, "one.zr");

	life_make_file(life, one);
	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/h%04u.zr", (const char *)*state, i);
		copy_trace(one, paths[i], i + 1);
		inputs[i] = paths[i];
	}
	/* Far fewer files may be open than there are. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 40, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_ok(merge(inputs, FILES, to, NULL, &result));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(result.hosts, FILES);
	assert_int_equal(result.events, FILES * life->n);
	assert_same_events(life->events, life->n, got, life_read(to, 999, got, LIFE_MAX));
	free(life);
}

/* ----------------------------------------------------------------------------- merging one host */

static const struct db_merge_options one_host = { .same_host = true };

/* Every time is that of one event or folio, so the order is one too. */
static void cuts_by_area_merge_to_the_trace(void **state)
{
	const char *whole = in_folder(state, "whole.zr"), *to = in_folder(state, "to.zr");
	const char *parts[] = { in_folder(state, "1.zr"), in_folder(state, "2.zr") };
	struct life *life = life_new(31, 4000);
	struct db_edit_result result;
	uint32_t slotless = 0;

	for (uint32_t i = 0; i < life->n; i++)
		slotless += !naive_pages(&life->events[i]);
	life_make_file(life, whole);
	for (uint32_t i = 0; i < 2; i++)
		assert_ok(cut(whole, parts[i],
			      &(struct db_selection){ .one_area = true, .area = i + 1 }));
	assert_ok(merge(parts, 2, to, &one_host, &result));
	assert_int_equal(result.duplicates, slotless);
	assert_same_events(life->events, life->n, got, life_read(to, 0, got, LIFE_MAX));
	free(life);
}

static void cuts_that_adjoin_merge_to_the_trace(void **state)
{
	const char *whole = in_folder(state, "whole.zr"), *to = in_folder(state, "to.zr");
	const char *parts[] = { in_folder(state, "1.zr"), in_folder(state, "2.zr") };
	struct life *life = life_new(32, 4000);
	struct db_moment middle = { DB_MOMENT_CLOCK, life->events[2000].time_ns };
	struct db_edit_result result;

	life_make_file(life, whole);
	assert_ok(cut(whole, parts[0], &(struct db_selection){ .to = middle }));
	assert_ok(cut(whole, parts[1], &(struct db_selection){ .from = middle }));
	assert_ok(merge(parts, 2, to, &one_host, &result));
	assert_same_events(life->events, life->n, got, life_read(to, 0, got, LIFE_MAX));
	free(life);
}

static void a_hole_between_two_recordings_is_a_gap(void **state)
{
	const struct db_event first[] = {
		{ .time_ns = 10, .kind = DB_OUT, .area = 1, .slot = 1, .memcg = 1, .task = 1 },
		{ .time_ns = 20, .kind = DB_OUT, .area = 1, .slot = 2, .memcg = 1, .task = 1 },
	};
	const struct db_event second[] = {
		{ .time_ns = 50, .kind = DB_OUT, .area = 1, .slot = 1, .memcg = 1, .task = 1 },
		{ .time_ns = 60, .kind = DB_IN, .area = 1, .slot = 1, .memcg = 1, .task = 1 },
		{ .time_ns = 70, .kind = DB_IN, .area = 1, .slot = 2, .memcg = 1, .task = 1 },
		{ .time_ns = 80, .kind = DB_FREE, .area = 1, .slot = 2, .task = 1 },
	};
	struct db_event wanted[] = {
		first[0],  first[1],
		{ .time_ns = 50, .kind = DB_GAP, .slot = 1, .len = UINT16_MAX, .flags = DB_GAP_IMPORT },
		second[0], second[1], second[2], second[3],
	};
	/* In the other order, since time counts and not the command line. */
	const char *parts[] = { in_folder(state, "2.zr"), in_folder(state, "1.zr") };
	struct db_edit_result result;

	wanted[5].flags |= DB_F_UNKNOWN;
	make_events(parts[0], second, 4);
	make_events(parts[1], first, 2);
	assert_ok(merge(parts, 2, in_folder(state, "to.zr"), &one_host, &result));
	assert_same_events(wanted, 7, got, life_read(in_folder(state, "to.zr"), 0, got, 10));
	assert_int_equal(result.gaps, 1);
}

static void unlike_hosts_are_not_woven(void **state)
{
	const char *parts[] = { in_folder(state, "1.zr"), in_folder(state, "2.zr") };
	const char *to = in_folder(state, "to.zr");
	struct db_merge_options force = { .same_host = true, .force = true };
	struct db_edit_result result;

	for (uint32_t i = 0; i < 2; i++) {
		struct life *life = life_new(40 + i, 300);

		life->host = i;
		life_make_file(life, parts[i]);
		free(life);
	}
	assert_fails(merge(parts, 2, to, &one_host, &result), ZR_USAGE, "not traces of one host");
	unlink(parts[1]);
	for (uint32_t i = 1; i < 2; i++) {
		struct life *life = life_new(41, 300);

		life_make_file(life, parts[i]);
		free(life);
	}
	assert_fails(merge(parts, 2, to, &one_host, &result), ZR_USAGE, "overlap in time");
	assert_gone(to);
	assert_ok(merge(parts, 2, to, &force, &result));
	assert_int_equal(result.hosts, 1);
}

static void ids_of_woven_traces_are_brought_together(void **state)
{
	/* The second recorder met the cgroups, tasks and areas in another order. */
	const struct db_event e[2] = {
		{ .time_ns = 10, .kind = DB_OUT, .area = 1, .slot = 1, .memcg = 2, .task = 1 },
		{ .time_ns = 20, .kind = DB_OUT, .area = 1, .slot = 1, .memcg = 1, .task = 1 },
	};
	const char *parts[] = { in_folder(state, "1.zr"), in_folder(state, "2.zr") };
	const char *paths[2][2] = { { "/x", "/y" }, { "/y", "/z" } };
	struct db_event wanted[] = { e[0], e[1] };
	struct zr_arena arena = { 0 };
	struct db_edit_result result;
	struct db_memcg *memcgs;
	struct db_area *areas;
	struct db *db;
	size_t n;

	for (uint32_t i = 0; i < 2; i++) {
		struct db_writer *writer;

		assert_ok(db_open(parts[i], DB_CREATE, &db));
		for (uint32_t j = 0; j < 2; j++)
			assert_ok(db_put_memcg(db, &(struct db_memcg){ 0, j + 1, 0, paths[i][j] }));
		assert_ok(db_put_task(db, &(struct db_task){ 0, 1, 70 + i, 70, "" }));
		assert_ok(db_put_area(db, &(struct db_area){ .id = 1, .type = i, .path = "/dev/x" }));
		assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
		assert_ok(db_writer_add(writer, &e[i]));
		assert_ok(db_writer_free(writer));
		assert_ok(db_close(db));
	}
	assert_ok(merge(parts, 2, in_folder(state, "to.zr"), &one_host, &result));
	/* /y keeps its number 2; the second area and task get new ones. */
	wanted[1].memcg = 2;
	wanted[1].area = 2;
	wanted[1].task = 2;
	assert_same_events(wanted, 2, got, life_read(in_folder(state, "to.zr"), 0, got, 10));
	assert_ok(db_open(in_folder(state, "to.zr"), DB_READ, &db));
	assert_false(db_is_complete(db));
	assert_ok(db_memcgs(db, 0, &arena, &memcgs, &n));
	assert_int_equal(n, 3);
	assert_string_equal(memcgs[1].path, "/y");
	assert_string_equal(memcgs[2].path, "/z");
	assert_ok(db_areas(db, 0, &arena, &areas, &n));
	assert_int_equal(n, 2);
	assert_int_equal(areas[1].type, 1);
	assert_ok(db_close(db));
	zr_arena_fini(&arena);
}

/* A trace of two events, at 1,000,777 ns and a second later. */
static void make_exact(const char *path, uint8_t area, uint32_t unit_ns)
{
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	assert_ok(db_put_area(db, &(struct db_area){ .id = area, .type = area, .path = "/dev/x" }));
	assert_ok(db_writer_new(db, &(struct db_writer_options){ .time_unit_ns = unit_ns }, &writer));
	for (uint64_t i = 0; i < 2; i++)
		assert_ok(db_writer_add(writer, &(struct db_event){ .time_ns = 1000777 + i * 1000000000,
								    .area = area, .slot = 1 }));
	assert_ok(db_writer_free(writer));
	assert_ok(db_close(db));
}

static void assert_exact_to(const char *path, uint32_t host, int64_t unit_ns)
{
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_int_equal(db_env_int(db, host, DB_ENV_TIME_UNIT, 1), unit_ns);
	assert_ok(db_close(db));
	for (uint32_t i = 0, n = life_read(path, host, got, 10); i < n; i++)
		assert_int_equal(got[i].time_ns,
				 (1000777 + (got[i].time_ns > 1001000) * UINT64_C(1000000000)) /
					 (uint64_t)unit_ns * (uint64_t)unit_ns);
}

static void cut_and_merge_keep_how_exact_times_are(void **state)
{
	const char *inputs[] = { in_folder(state, "ns.zr"), in_folder(state, "us.zr") };
	char to[4200];
	struct db_edit_result result;
	struct db_merge_options options = { .inputs = inputs, .n_inputs = 2, .output = to };
	struct db *db;

	make_exact(inputs[0], 1, 0);
	make_exact(inputs[1], 2, 1000);
	snprintf(to, sizeof(to), "%s/cut.zr", (char *)*state);
	assert_ok(cut(inputs[1], to, &(struct db_selection){ 0 }));
	assert_exact_to(to, 0, 1000);
	snprintf(to, sizeof(to), "%s/merged.zr", (char *)*state);
	assert_ok(db_merge(&options, &result));
	assert_exact_to(to, 0, 1);
	assert_exact_to(to, 1, 1000);
	snprintf(to, sizeof(to), "%s/coarse.zr", (char *)*state);
	options.time_unit_ns = 1000000;
	assert_ok(db_merge(&options, &result));
	assert_exact_to(to, 0, 1000000);
	assert_exact_to(to, 1, 1000000);
	snprintf(to, sizeof(to), "%s/coarse-cut.zr", (char *)*state);
	assert_ok(db_open(inputs[0], DB_READ, &db));
	assert_ok(db_cut(db, &(struct db_cut_options){ .output = to, .time_unit_ns = 1000 }, &result));
	assert_ok(db_close(db));
	assert_exact_to(to, 0, 1000);
}

/* Whichever comes first: the better one's times are not rounded. */
static void woven_times_are_as_exact_as_the_best(void **state)
{
	const char *inputs[] = { in_folder(state, "us.zr"), in_folder(state, "ns.zr") };
	const char *to = in_folder(state, "to.zr");
	struct db_edit_result result;

	make_exact(inputs[0], 1, 1000);
	make_exact(inputs[1], 2, 0);
	assert_ok(merge(inputs, 2, to, &one_host, &result));
	assert_int_equal(life_read(to, 0, got, 10), 4);
	assert_int_equal(got[0].time_ns, 1000000);
	assert_int_equal(got[1].time_ns, 1000777);
}

#define in_new_folder(test) cmocka_unit_test_setup_teardown(test, test_folder, test_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_new_folder(cut_is_what_a_linear_scan_selects),
		in_new_folder(cut_keeps_the_gap_in_its_time),
		in_new_folder(cut_by_cgroup_keeps_frees_of_its_slots),
		in_new_folder(cut_keeps_tables_and_the_samples_of_its_time),
		in_new_folder(an_interrupted_cut_leaves_nothing),
		in_new_folder(cut_refuses_what_is_not_there),
		in_new_folder(merge_keeps_every_host),
		in_new_folder(merge_refuses_a_trace_that_comes_twice),
		in_new_folder(merge_of_a_bad_input_leaves_nothing),
		in_new_folder(a_thousand_small_traces_become_one),
		in_new_folder(cuts_by_area_merge_to_the_trace),
		in_new_folder(cuts_that_adjoin_merge_to_the_trace),
		in_new_folder(a_hole_between_two_recordings_is_a_gap),
		in_new_folder(unlike_hosts_are_not_woven),
		in_new_folder(cut_and_merge_keep_how_exact_times_are),
		in_new_folder(woven_times_are_as_exact_as_the_best),
		in_new_folder(ids_of_woven_traces_are_brought_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
