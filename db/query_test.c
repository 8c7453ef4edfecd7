/* SPDX-License-Identifier: MIT */
/*
 * Tests of SQL on a trace: the events table against the list of events that was written, what is
 * refused, and how many chunks a query decodes.
 */
#include "db/test_help.h"

#include <sqlite3.h>

enum { EVENTS = 20000, HOSTS = 2 };

struct fixture {
	void *folder;
	char path[256];
	struct db_event *events[HOSTS];
	struct db *db;
};

/* Two hosts, chunks of 30 ms of trace time (about 900 events). */
static void write_events(struct fixture *f)
{
	struct test_random random = { 31 };
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_open(f->path, DB_CREATE, &db));
	assert_ok(db_put_memcg(db, &(struct db_memcg){ .host = 0, .id = 3, .path = "/a/世蓮" }));
	for (uint32_t host = 0; host < HOSTS; host++) {
		uint64_t now_ns = 1000;

		assert_ok(db_writer_new(
			db, &(struct db_writer_options){ .host = host, .flush_every_ns = 30000000 },
			&writer));
		for (uint32_t i = 0; i < EVENTS; i++) {
			struct db_event e = test_draw_event(&random, &now_ns);

			/* Slots and cgroups move on with time, so that chunks differ in them. */
			e.slot = i / 8 * 16 + e.slot % 4;
			e.memcg = (uint16_t)(i / 2000 + (e.memcg & 1));
			e.order &= 3;
			e.len &= 15;
			f->events[host][i] = e;
			assert_ok(db_writer_add(writer, &e));
		}
		assert_ok(db_writer_free(writer));
	}
	assert_ok(db_close(db));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || test_folder(&f->folder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/t.zr", (const char *)f->folder);
	for (int host = 0; host < HOSTS; host++)
		f->events[host] = calloc(EVENTS, sizeof(struct db_event));
	*state = f;
	write_events(f);
	return db_open(f->path, DB_READ, &f->db) != ZR_OK;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	void *folder = f->folder;

	(void)!db_close(f->db);
	for (int host = 0; host < HOSTS; host++)
		free(f->events[host]);
	free(f);
	return test_remove_folder(&folder);
}

/* ------------------------------------------------------------------------------------- queries */

struct answer {
	char text[4096]; /* columns with |, rows with ; */
	struct db_sql_result result;
};

static void append(struct answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct answer *answer, const char *format, ...)
{
	size_t used = strlen(answer->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(answer->text + used, sizeof(answer->text) - used, format, ap);
	va_end(ap);
}

static enum zr_err take_row(void *arg, const struct db_sql_row *row)
{
	for (int i = 0; i < row->n; i++) {
		const struct db_sql_value *v = &row->values[i];

		if (v->type == DB_SQL_INT)
			append(arg, "%lld", (long long)v->integer);
		else if (v->type == DB_SQL_REAL)
			append(arg, "%g", v->real);
		else if (v->type == DB_SQL_TEXT)
			append(arg, "%s", (const char *)v->data);
		append(arg, "%s", i + 1 < row->n ? "|" : ";");
	}
	return ZR_OK;
}

static enum zr_err ask(struct fixture *f, const char *text, struct answer *answer)
{
	const struct db_sql_sink sink = { .row = take_row, .arg = answer };

	answer->text[0] = '\0';
	return db_sql_query(f->db, text, &sink, &answer->result);
}

#define assert_answer(f, text_, wanted)                                                            \
	do {                                                                                       \
		struct answer answer_;                                                             \
		assert_ok(ask(f, text_, &answer_));                                                \
		assert_string_equal(answer_.text, wanted);                                         \
	} while (0)

/* ------------------------------------------------------------------------------------ the table */

static void every_field_of_every_event_is_there(void **state)
{
	struct fixture *f = *state;
	uint64_t sums[8] = { 0 };
	char wanted[400];

	for (int host = 0; host < HOSTS; host++) {
		for (int i = 0; i < EVENTS; i++) {
			const struct db_event *e = &f->events[host][i];
			bool slot = e->kind <= DB_WB || e->kind == DB_IO;

			sums[0] += e->time_ns;
			sums[1] += e->task;
			sums[2] += e->memcg;
			sums[3] += e->area;
			sums[4] += (uint64_t)e->order * e->len;
			sums[5] += e->flags;
			sums[6] += slot ? e->slot : 0;
			sums[7] += slot ? 0 : e->slot;
		}
	}
	snprintf(wanted, sizeof(wanted), "%d|%llu|%llu|%llu|%llu|%llu|%llu|%llu|%llu;",
		 EVENTS * HOSTS, (unsigned long long)sums[0], (unsigned long long)sums[1],
		 (unsigned long long)sums[2], (unsigned long long)sums[3],
		 (unsigned long long)sums[4], (unsigned long long)sums[5],
		 (unsigned long long)sums[6], (unsigned long long)sums[7]);
	assert_answer(f,
		      "SELECT count(*), sum(time_ns), sum(task), sum(memcg), sum(area), "
		      "sum(order_ * len), sum(flags), sum(slot), sum(count) FROM events",
		      wanted);
}

/* The words of the tools, spelled out once more here. */
static void fields_are_told_in_words(void **state)
{
	static const struct {
		struct db_event event;
		const char *words; /* kind|outcome|reason|phase|pages|part|readahead|unknown */
	} cases[] = {
		{ { .kind = DB_OUT, .order = 2 }, "OUT|stored|||4|0|0|0;" },
		{ { .kind = DB_OUT, .order = 2, .flags = 0x40 }, "OUT|stored|||1|1|0|0;" },
		{ { .kind = DB_OUT, .flags = DB_OUT_REJECTED | DB_REASON_MEMCG_LIMIT << 3 },
		  "OUT|rejected|memcg-limit||1|0|0|0;" },
		{ { .kind = DB_IN, .flags = DB_IN_DISK | 0xc0 }, "IN|disk|||1|0|1|1;" },
		{ { .kind = DB_FREE, .len = 9 }, "FREE||||9|0|0|0;" },
		{ { .kind = DB_WB, .flags = DB_WB_ROTATED }, "WB|rotated|||1|0|0|0;" },
		{ { .kind = DB_RECLAIM }, "RECLAIM|||||0|0|0;" },
		{ { .kind = DB_SCAN, .flags = 1 }, "SCAN|stopped||||0|0|0;" },
		{ { .kind = DB_SHRINK, .flags = DB_SHRINK_EMPTY }, "SHRINK|empty||||0|0|0;" },
		{ { .kind = DB_IO, .len = 17, .flags = DB_IO_WRITE | DB_IO_MERGE << 2 },
		  "IO|write||merge|3|0|0|0;" },
		{ { .kind = DB_GAP, .flags = DB_GAP_READER }, "GAP|reader||||0|0|0;" },
	};
	struct fixture *f = *state;
	char wanted[1000] = "";
	struct db_writer *writer;
	struct answer answer;
	struct db *db;

	assert_ok(db_close(f->db));
	assert_int_equal(unlink(f->path), 0);
	assert_ok(db_open(f->path, DB_CREATE, &db));
	assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(db_writer_add(writer, &cases[i].event));
		strcat(wanted, cases[i].words);
	}
	assert_ok(db_writer_free(writer));
	assert_ok(db_close(db));
	assert_ok(db_open(f->path, DB_READ, &f->db));
	assert_ok(ask(f,
		      "SELECT kind, outcome, reason, phase, pages, part, readahead, unknown "
		      "FROM events",
		      &answer));
	assert_string_equal(answer.text, wanted);
}

static void a_cgroup_has_its_path_or_none(void **state)
{
	struct fixture *f = *state;

	assert_answer(f,
		      "SELECT DISTINCT host, memcg, cgroup FROM events WHERE memcg IN (3, 4) ORDER "
		      "BY 1, 2",
		      "0|3|/a/世蓮;0|4|;1|3|;1|4|;");
}

/* ----------------------------------------------------------------------------------- conditions */

struct condition {
	int64_t host, from, to, slot_from, slot_to, memcg; /* -1 = none */
	int kind;
};

static bool holds(const struct condition *c, int host, const struct db_event *e)
{
	bool slot = e->kind <= DB_WB || e->kind == DB_IO;

	return (c->host < 0 || c->host == host) &&
	       (c->from < 0 || (int64_t)e->time_ns >= c->from) &&
	       (c->to < 0 || (int64_t)e->time_ns < c->to) &&
	       (c->slot_from < 0 || (slot && e->slot > c->slot_from)) &&
	       (c->slot_to < 0 || (slot && e->slot <= c->slot_to)) &&
	       (c->memcg < 0 || e->memcg == c->memcg) && (c->kind < 0 || e->kind == c->kind);
}

static void write_condition(const struct condition *c, char *text, size_t room)
{
	int used = snprintf(text, room, "SELECT count(*), total(time_ns) FROM events WHERE 1");

	if (c->host >= 0)
		used += snprintf(text + used, room - (size_t)used, " AND host = %lld",
				 (long long)c->host);
	if (c->from >= 0)
		used += snprintf(text + used, room - (size_t)used, " AND time_ns >= %lld",
				 (long long)c->from);
	if (c->to >= 0)
		used += snprintf(text + used, room - (size_t)used, " AND %lld > time_ns",
				 (long long)c->to);
	if (c->slot_from >= 0)
		used += snprintf(text + used, room - (size_t)used, " AND slot > %lld.0",
				 (long long)c->slot_from);
	if (c->slot_to >= 0)
		used += snprintf(text + used, room - (size_t)used, " AND slot <= %lld",
				 (long long)c->slot_to);
	if (c->memcg >= 0)
		used += snprintf(text + used, room - (size_t)used, " AND memcg = %lld",
				 (long long)c->memcg);
	if (c->kind >= 0)
		snprintf(text + used, room - (size_t)used, " AND kind = '%s'",
			 db_kind_name((unsigned)c->kind));
}

static int64_t maybe(struct test_random *random, uint64_t below)
{
	return test_draw(random, 2) ? (int64_t)test_draw(random, below) : -1;
}

static void conditions_select_what_a_loop_selects(void **state)
{
	struct fixture *f = *state;
	struct test_random random = { 8 };
	uint64_t last_ns = f->events[0][EVENTS - 1].time_ns, matched = 0;
	char text[600], wanted[100];
	struct answer answer;

	for (int n = 0; n < 200; n++) {
		struct condition c = {
			maybe(&random, HOSTS + 1),	   maybe(&random, last_ns),
			maybe(&random, last_ns),	   maybe(&random, EVENTS * 2),
			maybe(&random, EVENTS * 2),	   maybe(&random, 11),
			(int)maybe(&random, DB_KIND_COUNT)
		};
		uint64_t count = 0;
		double total = 0;

		for (int host = 0; host < HOSTS; host++) {
			for (int i = 0; i < EVENTS; i++) {
				if (!holds(&c, host, &f->events[host][i]))
					continue;
				count++;
				total += (double)f->events[host][i].time_ns;
			}
		}
		write_condition(&c, text, sizeof(text));
		snprintf(wanted, sizeof(wanted), "%llu|%g;", (unsigned long long)count, total);
		assert_ok(ask(f, text, &answer));
		if (strcmp(answer.text, wanted))
			fail_msg("%s: %s instead of %s", text, answer.text, wanted);
		matched += count;
	}
	assert_true(matched > 10000);
}

/* "@" stands before columns: replaced by "+", a condition is not handed to the table. */
static void replace_mark(const char *condition, const char *by, char *text, size_t room)
{
	size_t used = (size_t)snprintf(text, room, "SELECT count(*) FROM events WHERE ");

	for (; *condition && used + 2 < room; condition++) {
		if (*condition != '@')
			text[used++] = *condition;
		else if (*by)
			text[used++] = *by;
	}
	text[used] = '\0';
}

static void odd_conditions_lose_no_rows(void **state)
{
	static const char *const conditions[] = {
		"@slot BETWEEN 99.5 AND 200.5",
		"@kind = 'out' COLLATE NOCASE",
		"@kind IN ('OUT', 'IN', 'nonsense')",
		"@memcg IN (1, 2, 300000)",
		"@slot IS NULL",
		"@time_ns = NULL",
		"@slot > 1e300",
		"@slot < 9e18",
		"@kind = 0",
		"@memcg = 2.5",
		"@memcg = 2.0",
		"@slot = 101 OR @slot = 102",
		"@kind <> 'IO' AND NOT @slot > 300",
		"@host > -1 AND @memcg < 2",
		"@time_ns < -1",
		"@time_ns > 9223372036854775807",
		"@kind = 'OUT' AND @kind = 'IN'",
		"@slot = x'00'",
		"@memcg = -62",
		"@host = 4294967297",
	};
	struct answer with, without;
	struct fixture *f = *state;
	unsigned some = 0;
	char text[300];

	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		replace_mark(conditions[i], "", text, sizeof(text));
		assert_ok(ask(f, text, &with));
		replace_mark(conditions[i], "+", text, sizeof(text));
		assert_ok(ask(f, text, &without));
		if (strcmp(with.text, without.text))
			fail_msg("%s: %s, without push-down %s", text, with.text, without.text);
		some += strcmp(with.text, "0;") != 0;
	}
	assert_true(some >= 9);
}

static int64_t number(struct fixture *f, const char *text)
{
	struct answer answer;

	assert_ok(ask(f, text, &answer));
	return atoll(answer.text);
}

static void chunks_outside_a_condition_are_not_decoded(void **state)
{
	static const struct {
		const char *events, *chunks;
	} cases[] = {
		{ "1", "1" },
		{ "host = 1", "host = 1" },
		{ "host = 7", "0" },
		{ "time_ns > 200000000 AND time_ns <= 250000000",
		  "last_ns >= 200000000 AND first_ns <= 250000000" },
		{ "slot = 20000", "slot_min <= 20000 AND slot_max >= 20000" },
		{ "kind = 'GAP' AND host = 0", "kinds & 1024 AND host = 0" },
		{ "memcg = 5", "memcgs & 32" },
		{ "kind = 'NONE'", "0" },
		{ "time_ns = 7 AND slot = 9 AND host = 0 AND memcg = 3",
		  "first_ns <= 7 AND last_ns >= 7 AND slot_min <= 9 AND slot_max >= 9 AND memcgs & "
		  "8 "
		  "AND host = 0" },
	};
	struct fixture *f = *state;
	int64_t all = number(f, "SELECT count(*) FROM chunk");
	struct answer answer;
	char text[300];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t wanted;

		snprintf(text, sizeof(text), "SELECT count(*) FROM chunk WHERE %s",
			 cases[i].chunks);
		wanted = number(f, text);
		assert_true(wanted < all || i == 0);
		snprintf(text, sizeof(text), "SELECT count(*) FROM events WHERE %s",
			 cases[i].events);
		assert_ok(ask(f, text, &answer));
		assert_int_equal(answer.result.chunks_decoded, wanted);
	}
	assert_true(number(f, "SELECT events_chunks_decoded()") > all);
}

static void the_order_of_time_needs_no_sorting(void **state)
{
	static const struct {
		const char *by;
		bool sorted;
	} cases[] = {
		{ "ORDER BY host, time_ns", true },
		{ "WHERE host = 1 ORDER BY time_ns", true },
		{ "ORDER BY host", true },
		{ "ORDER BY time_ns", false },
		{ "ORDER BY host, time_ns DESC", false },
		{ "WHERE host = 1 ORDER BY time_ns, slot", false },
		{ "WHERE host < 1 ORDER BY time_ns", false },
	};
	struct fixture *f = *state;
	struct answer answer;
	char text[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN SELECT slot FROM events %s",
			 cases[i].by);
		assert_ok(ask(f, text, &answer));
		assert_int_equal(!strstr(answer.text, "TEMP B-TREE"), cases[i].sorted);
	}
	assert_answer(f,
		      "SELECT count(*) FROM (SELECT time_ns < lag(time_ns) OVER () AS back FROM "
		      "events WHERE host = 1 ORDER BY time_ns) WHERE back",
		      "0;");
}

static void a_join_of_events_with_events_is_that_of_two_loops(void **state)
{
	struct fixture *f = *state;
	int64_t pairs = 0, first = number(f, "SELECT events FROM chunk WHERE id = 1");

	for (int64_t i = 0; i < first; i++)
		for (int j = 0; j < EVENTS; j++)
			pairs += f->events[0][i].kind == DB_OUT && f->events[0][j].kind == DB_IN &&
				 f->events[0][i].slot == f->events[0][j].slot;
	assert_true(pairs > 0);
	assert_int_equal(number(f, "SELECT count(*) FROM events AS o CROSS JOIN events AS i "
				   "ON i.slot = o.slot AND i.kind = 'IN' AND i.host = 0 "
				   "WHERE o.host = 0 AND o.kind = 'OUT' AND o.chunk = 1"),
			 pairs);
}

/* -------------------------------------------------------------------------------- other queries */

static void any_table_can_be_asked_and_values_keep_their_type(void **state)
{
	struct fixture *f = *state;

	assert_answer(f, "SELECT 1, 2.5, 'x', NULL, path FROM memcg; SELECT 2",
		      "1|2.5|x||/a/世蓮;");
	assert_answer(f, "VALUES (1), (2)", "1;2;");
	assert_answer(f,
		      "WITH RECURSIVE n(x) AS (VALUES (1) UNION SELECT x + 1 FROM n WHERE x < 3) "
		      "SELECT x FROM n",
		      "1;2;3;");
	assert_answer(f, "  -- nothing\n ; ", "");
	assert_answer(f, "", "");
}

static void statements_come_one_after_the_other(void **state)
{
	const char *text = "SELECT 1; SELECT 2 ;-- end";
	struct fixture *f = *state;
	struct answer answer;

	assert_ok(ask(f, text, &answer));
	assert_string_equal(answer.text, "1;");
	assert_ok(ask(f, answer.result.rest, &answer));
	assert_string_equal(answer.text, "2;");
	assert_ok(ask(f, answer.result.rest, &answer));
	assert_string_equal(answer.text, "");
	assert_string_equal(answer.result.rest, "");
	assert_true(db_sql_is_complete("SELECT 1;"));
	assert_false(db_sql_is_complete("SELECT 1"));
	assert_false(db_sql_is_complete("SELECT ';"));
}

static void a_wrong_statement_is_told_as_such(void **state)
{
	struct fixture *f = *state;
	struct answer answer;

	assert_fails(ask(f, "SELEC 1", &answer), ZR_USAGE, "SQL: near \"SELEC\": syntax error");
	assert_fails(ask(f, "SELECT nix FROM events", &answer), ZR_USAGE, "no such column: nix");
	assert_fails(ask(f, "SELECT abs(-9223372036854775808)", &answer), ZR_USAGE, "overflow");
	assert_answer(f, "SELECT 1", "1;");
}

static void nothing_but_queries_is_run(void **state)
{
	static const char *const others[] = {
		"DELETE FROM chunk",
		"UPDATE trace SET complete = 1",
		"INSERT INTO run SELECT * FROM run",
		"DROP TABLE chunk",
		"CREATE TEMP TABLE t (a)",
		"CREATE TABLE t (a)",
		"CREATE TEMP VIEW v AS SELECT 1",
		"ATTACH '/etc/passwd' AS p",
		"PRAGMA journal_mode = DELETE",
		"PRAGMA writable_schema = ON",
		"BEGIN",
		"VACUUM INTO '/tmp/zreel-never'",
		"SELECT load_extension('x')",
		"REINDEX",
		"ANALYZE",
		"DETACH main",
		"SAVEPOINT a",
		"DELETE FROM events",
		"INSERT INTO events (slot) VALUES (1)",
		"DROP TABLE events",
	};
	struct fixture *f = *state;
	struct answer answer;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		enum zr_err err;

		/* In a file that could be written to, too. */
		assert_ok(db_close(f->db));
		assert_ok(db_open(f->path, i % 2 ? DB_READ : DB_RESULTS, &f->db));
		err = ask(f, others[i], &answer);
		if (err != ZR_PERM && err != ZR_USAGE)
			fail_msg("%s: %s", others[i], zr_err_name(err));
		zr_error_clear();
	}
	assert_int_equal(number(f, "SELECT count(*) FROM events"), EVENTS * HOSTS);
	/* What was forbidden to the user is not forbidden to us afterwards. */
	assert_ok(db_close(f->db));
	assert_ok(db_open(f->path, DB_RESULTS, &f->db));
	assert_int_equal(number(f, "SELECT count(*) FROM run"), 0);
	assert_ok(db_run_add(f->db, &(struct db_run){ .policy = "batched" }, NULL, 0, NULL, 0));
	assert_int_equal(number(f, "SELECT count(*) FROM run"), 1);
}

static bool stop_at_once(void *arg, double done)
{
	(void)arg, (void)done;
	return false;
}

static void an_endless_query_can_be_interrupted(void **state)
{
	struct fixture *f = *state;
	struct answer answer = { 0 };
	const struct db_sql_sink sink = { .row = take_row,
					  .arg = &answer,
					  .watch = { stop_at_once, NULL } };

	assert_fails(
		db_sql_query(f->db,
			     "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) "
			     "SELECT max(x) FROM n",
			     &sink, &answer.result),
		ZR_INTERRUPTED, "interrupted");
	assert_answer(f, "SELECT 1", "1;");
}

static enum zr_err refuse_row(void *arg, const struct db_sql_row *row)
{
	(void)arg, (void)row;
	return zr_fail(ZR_IO, "no room for more rows");
}

static void an_error_of_the_sink_ends_the_query(void **state)
{
	struct fixture *f = *state;
	struct db_sql_result result;

	assert_fails(db_sql_query(f->db, "SELECT * FROM events",
				  &(struct db_sql_sink){ .row = refuse_row }, &result),
		     ZR_IO, "no room");
	assert_int_equal(result.rows, 1);
}

/* ------------------------------------------------------------------------ the page of queries */

/* A trace small enough to answer the page's queries by hand. */
static void write_small(struct fixture *f)
{
	static const struct db_event events[] = {
		{ 1000000, .kind = DB_OUT, .slot = 16, .len = 300, .memcg = 1, .task = 1 },
		{ 1000100, .kind = DB_OUT, .slot = 40, .len = 300, .memcg = 1, .task = 2 },
		{ 1000200, .kind = DB_OUT, .slot = 17, .len = 100, .memcg = 1, .task = 1 },
		{ 1000300, .kind = DB_OUT, .slot = 18, .len = 600, .memcg = 1, .task = 1 },
		{ 3000000, .kind = DB_IN, .slot = 17, .memcg = 1 },
		{ 3000100, .kind = DB_WB, .slot = 16, .len = 300, .memcg = 1 },
		{ 3000200, .kind = DB_WB, .slot = 18, .len = 600, .memcg = 1 },
		{ 3000300, .kind = DB_IO, .slot = 16, .len = 24, .flags = DB_IO_WRITE },
		{ 4000000, .kind = DB_IN, .slot = 18, .memcg = 1, .flags = DB_IN_DISK },
		{ 4000100,
		  .kind = DB_OUT,
		  .slot = 17,
		  .order = 2,
		  .memcg = 1,
		  .flags = DB_OUT_REJECTED | DB_REASON_LARGE << DB_F_REASON_SHIFT },
		{ 4000200, .kind = DB_IN, .slot = 17, .memcg = 1, .flags = DB_IN_DISK },
		{ 4000300, .kind = DB_SCAN, .slot = 128, .len = 2, .memcg = 1, .flags = 1 },
		{ 4000400, .kind = DB_GAP, .slot = 55, .len = 1, .flags = DB_GAP_PROBE },
		{ 20000000000, .kind = DB_IN, .slot = 16, .memcg = 1, .flags = DB_IN_DISK },
	};
	struct db_metric metric = { .name = "pswpout", .value = 3, .figure = DB_PLANNED };
	struct db_run run = { .policy = "batched" };
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_close(f->db));
	assert_int_equal(unlink(f->path), 0);
	assert_ok(db_open(f->path, DB_CREATE, &db));
	assert_ok(db_put_memcg(db, &(struct db_memcg){ .id = 1, .path = "/job" }));
	assert_ok(db_put_task(db, &(struct db_task){ .id = 1, .tid = 7, .comm = "cc1" }));
	assert_ok(db_writer_new(db, &(struct db_writer_options){ 0 }, &writer));
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_ok(db_writer_add(writer, &events[i]));
	assert_ok(db_writer_free(writer));
	assert_ok(db_run_add(db, &run, &metric, 1, NULL, 0));
	assert_ok(db_close(db));
	assert_ok(db_open(f->path, DB_READ, &f->db));
}

static const struct {
	const char *heading, *answer;
} page[] = {
	{ "What is in it", "0|OUT|rejected|1|4;0|OUT|stored|4|4;0|IN|disk|3|3;0|IN|zswap|1|1;"
			   "0|WB|written|2|2;0|SCAN|stopped|1|;0|IO|write|1|3;0|GAP|probe|1|;" },
	{ "Swap-outs and refaults by second", "0|0|5|3|2;0|20|0|1|0;" },
	{ "The hottest slots", "0|0|17|2;0|0|16|1;0|0|18|1;" },
	/* 17: one out between (18). 18: none. 17 again: none. 16: four. */
	{ "Refault distance", "0|2;1|1;4|1;" },
	/* Stored 16 40 17 18: 17 and 18 in a row. Written 16, 18. */
	{ "Contiguity at store time", "OUT|4|1.33333;WB|2|1;" },
	{ "The same, were each task alone", "OUT|2;WB|1;" },
	{ "Written back too early", "1;" },
	{ "Who swaps", "0|/job|5|4|2;" },
	{ "Why pages were rejected", "large|1|4;" },
	{ "How well pages compress", "0|1;256|2;512|1;" },
	{ "Pages in a request", "write|1|3;" },
	{ "How much of what the shrinker scans", "0|1|128|2|1;" },
	{ "One millisecond", "1000000|OUT|16|stored|1|cc1;1000100|OUT|40|stored|2|;"
			     "1000200|OUT|17|stored|1|cc1;1000300|OUT|18|stored|1|cc1;" },
	{ "The life of one slot", "1000200|OUT|stored|100|/job;3000000|IN|zswap|0|/job;"
				  "4000100|OUT|rejected|0|/job;4000200|IN|disk|0|/job;" },
	{ "What was lost", "0|probe|1|55;" },
	{ "Runs that were replayed", "batched|pswpout|3|1|planned;" },
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Rows without an ORDER BY may come in any order. */
static void sort_rows(char *text)
{
	char *copy = strdup(text), *rows[100], *save;
	size_t n = 0;

	for (char *row = strtok_r(copy, ";", &save); row && n < 100; row = strtok_r(NULL, ";", &save))
		rows[n++] = row;
	qsort(rows, n, sizeof(rows[0]), by_text);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		strcat(strcat(text, rows[i]), ";");
	free(copy);
}

static void every_query_of_the_page_gives_what_was_worked_out_by_hand(void **state)
{
	static char text[20000];
	struct fixture *f = *state;
	FILE *file = fopen("db/QUERIES.md", "r");
	char *at = text, wanted[1000];
	struct answer answer;
	size_t n = 0;

	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) < sizeof(text) - 1);
	fclose(file);
	write_small(f);
	while ((at = strstr(at, "\n## ")) != NULL) {
		char *sql = strstr(at, "```sql\n"), *end = sql ? strstr(sql + 7, "```") : NULL;

		assert_non_null(end);
		*end = '\0';
		assert_true(n < sizeof(page) / sizeof(page[0]));
		assert_memory_equal(at + 4, page[n].heading, strlen(page[n].heading));
		assert_ok(ask(f, sql + 7, &answer));
		assert_true(db_sql_is_complete(sql + 7));
		strcpy(wanted, page[n++].answer);
		sort_rows(wanted);
		sort_rows(answer.text);
		assert_string_equal(answer.text, wanted);
		at = end + 1;
	}
	assert_int_equal(n, sizeof(page) / sizeof(page[0]));
}

/* ------------------------------------------------------------------------------------ bad files */

static void run_sql(struct fixture *f, const char *statements)
{
	sqlite3 *sql;

	assert_ok(db_close(f->db));
	assert_int_equal(sqlite3_open(f->path, &sql), SQLITE_OK);
	if (sqlite3_exec(sql, statements, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", statements, sqlite3_errmsg(sql));
	sqlite3_close(sql);
	assert_ok(db_open(f->path, DB_READ, &f->db));
}

static void a_damaged_chunk_is_named(void **state)
{
	struct fixture *f = *state;
	struct answer answer;

	run_sql(f, "UPDATE chunk SET data = substr(data, 1, 1000) WHERE id = 3");
	assert_fails(ask(f, "SELECT count(*) FROM events", &answer), ZR_CORRUPT,
		     "events: chunk 3: the checksum");
	run_sql(f, "DELETE FROM chunk WHERE id = 3; UPDATE chunk SET kinds = 2047 WHERE id = 2; "
		   "UPDATE chunk SET kinds = 1 WHERE id = 2");
	assert_fails(ask(f, "SELECT count(*) FROM events", &answer), ZR_CORRUPT,
		     "chunk 2: its row does not describe");
	run_sql(f, "DELETE FROM chunk WHERE id = 2; UPDATE chunk SET host = 0 WHERE host = 1");
	assert_fails(ask(f, "SELECT count(*) FROM events", &answer), ZR_CORRUPT,
		     "before the end of the chunk before");
}

static void a_table_that_poses_as_the_events_is_refused(void **state)
{
	struct fixture *f = *state;
	struct answer answer;

	run_sql(f, "CREATE TABLE Events (host, time_ns)");
	assert_fails(ask(f, "SELECT * FROM events", &answer), ZR_CORRUPT,
		     "a table `events` of its own");
	run_sql(f, "DROP TABLE Events; CREATE VIEW v AS SELECT * FROM memcg");
	assert_fails(ask(f, "SELECT * FROM v", &answer), ZR_USAGE, "v");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_field_of_every_event_is_there),
		TEST(fields_are_told_in_words),
		TEST(a_cgroup_has_its_path_or_none),
		TEST(conditions_select_what_a_loop_selects),
		TEST(odd_conditions_lose_no_rows),
		TEST(chunks_outside_a_condition_are_not_decoded),
		TEST(the_order_of_time_needs_no_sorting),
		TEST(a_join_of_events_with_events_is_that_of_two_loops),
		TEST(any_table_can_be_asked_and_values_keep_their_type),
		TEST(statements_come_one_after_the_other),
		TEST(a_wrong_statement_is_told_as_such),
		TEST(nothing_but_queries_is_run),
		TEST(an_endless_query_can_be_interrupted),
		TEST(an_error_of_the_sink_ends_the_query),
		TEST(every_query_of_the_page_gives_what_was_worked_out_by_hand),
		TEST(a_damaged_chunk_is_named),
		TEST(a_table_that_poses_as_the_events_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
