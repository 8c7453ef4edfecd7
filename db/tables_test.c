/* SPDX-License-Identifier: MIT */
/* Tests of the small tables and of results: what is put comes back, whatever the names are. */
#include "db/test_help.h"

#include <math.h>

#include "db/sql.h"

/* Names that attack SQL, a screen, or a length. */
static const char *const names[] = {
	"/世蓮.slice",
	"'); DROP TABLE run;--",
	"\x1b[31m red",
	"\"; DELETE FROM memcg",
	"?1",
	"%s%n",
	"",
	"/\xff\xc3\x28",
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

struct fixture {
	char *folder;
	char path[256];
	struct zr_arena arena;
	struct db *db;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	void *folder;

	if (!f || test_folder(&folder))
		return -1;
	f->folder = folder;
	snprintf(f->path, sizeof(f->path), "%s/t.zr", f->folder);
	*state = f;
	return db_open(f->path, DB_CREATE, &f->db) != ZR_OK;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	void *folder = f->folder;

	(void)!db_close(f->db);
	zr_arena_fini(&f->arena);
	free(f);
	return test_remove_folder(&folder);
}

static void reopen(struct fixture *f)
{
	assert_ok(db_close(f->db));
	f->db = NULL;
	assert_ok(db_open(f->path, DB_RESULTS, &f->db));
}

static void run_sql(struct fixture *f, const char *statements)
{
	sqlite3 *sql;

	assert_ok(db_close(f->db));
	f->db = NULL;
	assert_int_equal(sqlite3_open(f->path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, statements, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
	assert_ok(db_open(f->path, DB_RESULTS, &f->db));
}

/* --------------------------------------------------------------------------------- environment */

static void settings_are_kept_by_host_and_replaced(void **state)
{
	struct fixture *f = *state;
	const char *value;
	struct db_env *env;
	size_t n;

	assert_ok(db_env_set(f->db, 0, DB_ENV_KERNEL, "6.12"));
	assert_ok(db_env_set(f->db, 7, DB_ENV_KERNEL, "7.3"));
	assert_ok(db_env_set(f->db, 0, DB_ENV_KERNEL, "6.1"));
	assert_ok(db_env_setf(f->db, 0, DB_ENV_CPUS, "%d", 8));
	reopen(f);
	assert_ok(db_env_get(f->db, 0, DB_ENV_KERNEL, &f->arena, &value));
	assert_string_equal(value, "6.1");
	assert_ok(db_env_get(f->db, 7, DB_ENV_KERNEL, &f->arena, &value));
	assert_string_equal(value, "7.3");
	assert_ok(db_env_get(f->db, 7, DB_ENV_CPUS, &f->arena, &value));
	assert_null(value);
	assert_ok(db_env_all(f->db, &f->arena, &env, &n));
	assert_int_equal(n, 3);
	assert_string_equal(env[0].key, DB_ENV_CPUS);
	assert_string_equal(env[0].value, "8");
	assert_string_equal(env[1].key, DB_ENV_KERNEL);
	assert_true(env[2].host == 7 && !strcmp(env[2].value, "7.3"));
}

static void a_setting_that_is_no_number_gives_the_default(void **state)
{
	static const char *const no_numbers[] = { "",	 "Y",	"12x",
						  "x12", "1 2", "99999999999999999999" };
	struct fixture *f = *state;

	assert_int_equal(db_env_int(f->db, 0, "k", -3), -3);
	for (size_t i = 0; i < sizeof(no_numbers) / sizeof(no_numbers[0]); i++) {
		assert_ok(db_env_set(f->db, 0, "k", no_numbers[i]));
		assert_int_equal(db_env_int(f->db, 0, "k", -3), -3);
	}
	assert_ok(db_env_set(f->db, 0, "k", "-20"));
	assert_int_equal(db_env_int(f->db, 0, "k", -3), -20);
	assert_ok(db_env_setf(f->db, 0, "k", "%lld", (long long)INT64_MAX));
	assert_true(db_env_int(f->db, 0, "k", -3) == INT64_MAX);
	assert_string_equal(zr_error_text(), "");
}

/* -------------------------------------------------------------------------------- dictionaries */

static void cgroups_come_back_by_id_whatever_their_names(void **state)
{
	struct fixture *f = *state;
	struct db_memcg *memcgs;
	char longest[4097];
	size_t n;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (uint32_t i = NAMES; i > 0; i--)
		assert_ok(db_put_memcg(f->db,
				       &(struct db_memcg){ 2, i, UINT64_MAX - i, names[i - 1] }));
	assert_ok(db_put_memcg(f->db, &(struct db_memcg){ 2, DB_MEMCG_MAX, 1, longest }));
	assert_ok(db_put_memcg(f->db, &(struct db_memcg){ 3, 1, 1, "of another host" }));
	reopen(f);
	assert_ok(db_memcgs(f->db, 2, &f->arena, &memcgs, &n));
	assert_int_equal(n, NAMES + 1);
	for (uint32_t i = 0; i < NAMES; i++) {
		assert_true(memcgs[i].host == 2 && memcgs[i].id == i + 1);
		assert_true(memcgs[i].cgroup_id == UINT64_MAX - i - 1);
		assert_string_equal(memcgs[i].path, names[i]);
	}
	assert_string_equal(memcgs[NAMES].path, longest);
	assert_ok(db_memcgs(f->db, 4, &f->arena, &memcgs, &n));
	assert_int_equal(n, 0);
}

static void a_cgroup_that_is_put_again_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct db_memcg *memcgs;
	size_t n;

	assert_ok(db_put_memcg(f->db, &(struct db_memcg){ 0, 1, 5, NULL }));
	assert_ok(db_put_memcg(f->db, &(struct db_memcg){ 0, 1, 5, "/learnt/later" }));
	assert_ok(db_memcgs(f->db, 0, &f->arena, &memcgs, &n));
	assert_int_equal(n, 1);
	assert_string_equal(memcgs[0].path, "/learnt/later");
}

static void tasks_come_back_by_id(void **state)
{
	struct fixture *f = *state;
	struct db_task *tasks;
	size_t n;

	for (uint32_t i = 0; i < NAMES; i++)
		assert_ok(db_put_task(
			f->db, &(struct db_task){ 0, i * 1000, UINT32_MAX - i, i, names[i] }));
	assert_ok(db_put_task(f->db, &(struct db_task){ 0, UINT32_MAX, 1, 0, NULL }));
	reopen(f);
	assert_ok(db_tasks(f->db, 0, &f->arena, &tasks, &n));
	assert_int_equal(n, NAMES + 1);
	for (uint32_t i = 0; i < NAMES; i++) {
		assert_true(tasks[i].id == i * 1000 && tasks[i].tid == UINT32_MAX - i &&
			    tasks[i].tgid == i);
		assert_string_equal(tasks[i].comm, names[i]);
	}
	assert_int_equal(tasks[NAMES].id, UINT32_MAX);
	assert_string_equal(tasks[NAMES].comm, "");
}

static void swap_areas_come_back_with_all_they_have(void **state)
{
	struct fixture *f = *state;
	struct db_area a = {
		1, 0, 0, "/dev/nvme0n1p3", false, 259, 3, UINT64_C(1) << 40, UINT64_C(1) << 33, -2
	};
	struct db_area b = { 1, 255, 31, "/swap (deleted)", true, 8, 1048575, 0, 100, 32767 };
	struct db_area *areas;
	size_t n;

	assert_ok(db_put_area(f->db, &b));
	assert_ok(db_put_area(f->db, &a));
	reopen(f);
	assert_ok(db_areas(f->db, 1, &f->arena, &areas, &n));
	assert_int_equal(n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct db_area *want = i ? &b : &a, *got = &areas[i];

		assert_string_equal(got->path, want->path);
		assert_true(got->host == want->host && got->id == want->id &&
			    got->type == want->type);
		assert_true(got->is_file == want->is_file && got->major == want->major &&
			    got->minor == want->minor);
		assert_true(got->start_sector == want->start_sector && got->slots == want->slots);
		assert_int_equal(got->priority, want->priority);
	}
}

static void ids_that_no_array_is_made_for_are_refused(void **state)
{
	struct fixture *f = *state;
	struct db_memcg *memcgs;
	struct db_area *areas;
	uint32_t *hosts;
	size_t n;

	assert_fails(db_put_memcg(f->db, &(struct db_memcg){ .id = DB_MEMCG_MAX + 1 }), ZR_LIMIT,
		     "at most 65535");
	assert_fails(db_put_area(f->db, &(struct db_area){ .id = DB_AREA_MAX + 1 }), ZR_LIMIT,
		     "at most 255");
	run_sql(f, "INSERT INTO memcg VALUES (0, 4000000000, 1, 'x'); INSERT INTO area VALUES (0, "
		   "-1, 0, '', 0, 0, 0, 0, 0, 0)");
	assert_fails(db_memcgs(f->db, 0, &f->arena, &memcgs, &n), ZR_CORRUPT, "id 4000000000");
	assert_fails(db_areas(f->db, 0, &f->arena, &areas, &n), ZR_CORRUPT, "id -1");
	run_sql(f, "INSERT INTO host VALUES (-1)");
	assert_fails(db_hosts(f->db, &f->arena, &hosts, &n), ZR_CORRUPT, "-1 is no host id");
}

static void values_of_a_wrong_type_are_read_without_harm(void **state)
{
	struct fixture *f = *state;
	struct db_task *tasks;
	struct db_area *areas;
	size_t n;

	run_sql(f, "INSERT INTO task VALUES (0, 1, 'text', x'ff', 7.5);"
		   "INSERT INTO area VALUES (0, 1, 1e300, x'00ff', 'yes', '', '', -1, "
		   "9223372036854775807, 1e300)");
	assert_ok(db_tasks(f->db, 0, &f->arena, &tasks, &n));
	assert_string_equal(tasks[0].comm, "7.5");
	assert_int_equal(tasks[0].tid, 0);
	assert_ok(db_areas(f->db, 0, &f->arena, &areas, &n));
	assert_string_equal(areas[0].path, "");
}

static void a_table_that_claims_too_much_is_refused(void **state)
{
	struct fixture *f = *state;
	struct db_env *env;
	size_t n;

	run_sql(f, "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 90) "
		   "INSERT INTO env SELECT 0, n, printf('%.*c', 3000000, 'x') FROM i");
	assert_fails(db_env_all(f->db, &f->arena, &env, &n), ZR_LIMIT, "more than 256 MiB");
}

static void hosts_are_those_of_which_something_was_put(void **state)
{
	struct fixture *f = *state;
	struct db_writer *writer;
	uint32_t *hosts;
	size_t n;

	assert_ok(db_hosts(f->db, &f->arena, &hosts, &n));
	assert_int_equal(n, 0);
	assert_ok(db_env_set(f->db, 9, "k", "v"));
	assert_ok(db_put_task(f->db, &(struct db_task){ .host = 4 }));
	assert_ok(db_put_memcg(f->db, &(struct db_memcg){ .host = 9 }));
	assert_ok(db_writer_new(f->db, &(struct db_writer_options){ .host = UINT32_MAX }, &writer));
	assert_ok(db_writer_free(writer));
	reopen(f);
	assert_ok(db_hosts(f->db, &f->arena, &hosts, &n));
	assert_int_equal(n, 3);
	assert_true(hosts[0] == 4 && hosts[1] == 9 && hosts[2] == UINT32_MAX);
}

static void samples_come_back_by_counter_and_time(void **state)
{
	struct fixture *f = *state;
	struct db_counter *counters;
	struct db_sample *samples;
	size_t n;

	for (uint64_t second = 3; second > 0; second--) {
		assert_ok(db_put_sample(f->db, 0, second, "vmstat", "pswpin", (double)second / 2));
		assert_ok(db_put_sample(f->db, 0, second, "vmstat", "pswpout", 1));
		assert_ok(db_put_sample(f->db, 1, second, "cgroup '); DROP TABLE run;-- io.stat",
					"wbytes", -1));
	}
	reopen(f);
	assert_ok(db_counters(f->db, 0, &f->arena, &counters, &n));
	assert_int_equal(n, 2);
	assert_string_equal(counters[0].source, "vmstat");
	assert_string_equal(counters[0].name, "pswpin");
	assert_ok(db_samples(f->db, &counters[0], &f->arena, &samples, &n));
	assert_int_equal(n, 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_true(samples[i].time_ns == i + 1 && samples[i].value == (double)(i + 1) / 2);
	assert_ok(db_counters(f->db, 1, &f->arena, &counters, &n));
	assert_int_equal(n, 1);
	assert_ok(db_samples(f->db, &counters[0], &f->arena, &samples, &n));
	assert_int_equal(n, 3);
}

/* ------------------------------------------------------------------------------------- results */

static struct db_run a_run(const char *policy)
{
	return (struct db_run){
		.policy = policy,
		.knobs = "batch=32 plug=on",
		.target = "device",
		.target_detail = "/dev/nvme0n1",
		.drive = "demand",
		.pace = "asap",
		.trace_id = "0123456789abcdef0123456789abcdef",
		.trace_path = names[1],
		.host = 3,
		.created_realtime_ns = 1790000000000000000,
		.reps = 2,
		.partial = true,
		.note = names[2],
	};
}

static void a_run_comes_back_with_metrics_and_series(void **state)
{
	static const struct db_metric metrics[] = {
		{ .rep = 1, .name = "write_requests", .value = 596e3, .figure = DB_MEASURED },
		{ .rep = 0, .name = "write_requests", .value = 595e3, .figure = DB_MEASURED },
		{ .rep = 0,
		  .name = "pages_per_write_request",
		  .value = 1.0 / 3,
		  .figure = DB_PLANNED },
		{ .rep = 0, .name = "'); DROP TABLE run;--", .value = -0.0, .figure = DB_MODELLED },
	};
	static const struct db_point points[] = {
		{ "pool_pages", 20, 2 },
		{ "pool_pages", 10, 1 },
		{ "pool_pages", 20, 3 },
		{ "other", 5, 9 },
	};
	struct fixture *f = *state;
	struct db_run first = a_run("batched+pool=10%"), second = a_run(names[1]), *runs;
	struct db_metric *m;
	struct db_point *p;
	size_t n;

	assert_ok(db_run_add(f->db, &first, metrics, 4, points, 4));
	assert_ok(db_run_add(f->db, &second, NULL, 0, NULL, 0));
	assert_true(first.id > 0 && second.id > first.id);
	reopen(f);
	assert_ok(db_runs(f->db, &f->arena, &runs, &n));
	assert_int_equal(n, 2);
	assert_true(runs[0].id == first.id && runs[1].id == second.id);
	assert_string_equal(runs[0].policy, "batched+pool=10%");
	assert_string_equal(runs[1].policy, names[1]);
	assert_string_equal(runs[0].knobs, first.knobs);
	assert_string_equal(runs[0].target, first.target);
	assert_string_equal(runs[0].target_detail, first.target_detail);
	assert_string_equal(runs[0].drive, first.drive);
	assert_string_equal(runs[0].pace, first.pace);
	assert_string_equal(runs[0].trace_id, first.trace_id);
	assert_string_equal(runs[0].trace_path, first.trace_path);
	assert_string_equal(runs[0].note, first.note);
	assert_true(runs[0].host == 3 && runs[0].reps == 2 && runs[0].partial);
	assert_true(runs[0].created_realtime_ns == first.created_realtime_ns);
	assert_ok(db_metrics(f->db, first.id, &f->arena, &m, &n));
	assert_int_equal(n, 4);
	assert_true(!strcmp(m[0].name, metrics[3].name) && m[0].figure == DB_MODELLED &&
		    m[0].value == 0);
	assert_true(!strcmp(m[1].name, metrics[2].name) && m[1].figure == DB_PLANNED &&
		    m[1].value == 1.0 / 3);
	assert_true(m[2].rep == 0 && m[2].value == 595e3 && m[2].run == first.id &&
		    m[2].figure == DB_MEASURED);
	assert_true(m[3].rep == 1 && m[3].value == 596e3);
	assert_ok(db_points(f->db, first.id, "pool_pages", &f->arena, &p, &n));
	assert_int_equal(n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(p[i].value == (double)(i + 1) && !strcmp(p[i].series, "pool_pages"));
	assert_ok(db_metrics(f->db, second.id, &f->arena, &m, &n));
	assert_int_equal(n, 0);
}

static void a_run_is_stored_whole_or_not_at_all(void **state)
{
	static const struct db_metric twice[] = { { .name = "a", .value = 1 },
						  { .name = "a", .value = 2 } };
	static const struct db_metric good = { .name = "a", .value = INFINITY };
	const struct db_metric nan = { .name = "store_kb_per_s", .value = NAN };
	struct fixture *f = *state;
	struct db_run run = a_run("x"), *runs;
	const char *value;
	size_t n;

	assert_ok(db_env_set(f->db, 0, "k", "put before"));
	assert_fails(db_run_add(f->db, &run, twice, 2, NULL, 0), ZR_DB, "store a metric");
	assert_fails(db_run_add(f->db, &run, &nan, 1, NULL, 0), ZR_DB,
		     "store_kb_per_s is not a number");
	assert_ok(db_runs(f->db, &f->arena, &runs, &n));
	assert_int_equal(n, 0);
	/* Neither is what was put before lost, nor what comes after refused. */
	assert_ok(db_run_add(f->db, &run, &good, 1, NULL, 0));
	reopen(f);
	assert_ok(db_env_get(f->db, 0, "k", &f->arena, &value));
	assert_string_equal(value, "put before");
	assert_ok(db_runs(f->db, &f->arena, &runs, &n));
	assert_int_equal(n, 1);
}

static void a_figure_of_unknown_kind_is_not_guessed(void **state)
{
	struct fixture *f = *state;
	struct db_metric *metrics;
	size_t n;

	run_sql(f, "INSERT INTO metric VALUES (1, 'write_requests', 0, 1.0, 'imagined')");
	assert_fails(db_metrics(f->db, 1, &f->arena, &metrics, &n), ZR_CORRUPT,
		     "neither measured, planned nor modelled");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(settings_are_kept_by_host_and_replaced),
		TEST(a_setting_that_is_no_number_gives_the_default),
		TEST(cgroups_come_back_by_id_whatever_their_names),
		TEST(a_cgroup_that_is_put_again_is_replaced),
		TEST(tasks_come_back_by_id),
		TEST(swap_areas_come_back_with_all_they_have),
		TEST(ids_that_no_array_is_made_for_are_refused),
		TEST(values_of_a_wrong_type_are_read_without_harm),
		TEST(a_table_that_claims_too_much_is_refused),
		TEST(hosts_are_those_of_which_something_was_put),
		TEST(samples_come_back_by_counter_and_time),
		TEST(a_run_comes_back_with_metrics_and_series),
		TEST(a_run_is_stored_whole_or_not_at_all),
		TEST(a_figure_of_unknown_kind_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
