/* SPDX-License-Identifier: MIT */
/*
 * Tests that zreel-trace.5 is right: its example decodes to the events that it prints, it names
 * every table and column, file(1) understands its magic, and a second reader that was written from
 * it alone (second_reader.py) agrees with the list of events that was written.
 */
#include "db/test_help.h"

#include <ctype.h>
#include <sqlite3.h>

#include "db/chunk.h"
#include "db/versions.h"

enum { EXAMPLE_EVENTS_MAX = 20 };

struct fixture {
	void *folder;
	char *page;
	struct zr_arena arena;
};

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 17);

	assert_true(file && text);
	assert_true(fread(text, 1, (1 << 17) - 1, file) > 0);
	fclose(file);
	return text;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || test_folder(&f->folder))
		return -1;
	f->page = read_file("db/zreel-trace.5");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	void *folder = f->folder;

	free(f->page);
	zr_arena_fini(&f->arena);
	free(f);
	return test_remove_folder(&folder);
}

/* The lines between two marks of the page. */
static char *section(struct fixture *f, const char *name)
{
	char begin[40], end[40], *from, *to;

	snprintf(begin, sizeof(begin), ".\\\" BEGIN %s", name);
	snprintf(end, sizeof(end), ".\\\" END %s", name);
	from = strstr(f->page, begin);
	to = strstr(f->page, end);
	assert_true(from && to && from < to);
	from = strchr(from, '\n') + 1;
	return strndup(from, (size_t)(to - from));
}

/* Chunks of the same events, in the newest version and in version 1. */
static const char *const examples[] = { "example", "old example" };

enum { EXAMPLES = sizeof(examples) / sizeof(examples[0]) };

static size_t example_chunk(struct fixture *f, int example, uint8_t *chunk, size_t room)
{
	char *text = section(f, examples[example]), *save, *line = strtok_r(text, "\n", &save);
	size_t n = 0;

	for (; line; line = strtok_r(NULL, "\n", &save)) {
		char *at = line, *end;

		assert_int_equal(strtoul(line, &at, 16), n);
		for (;; at = end) {
			unsigned long byte = strtoul(at, &end, 16);

			if (end == at)
				break;
			assert_true(byte < 256 && n < room);
			chunk[n++] = (uint8_t)byte;
		}
	}
	free(text);
	return n;
}

static uint32_t example_events(struct fixture *f, struct db_event *events)
{
	char *text = section(f, "events"), *save, *line = strtok_r(text, "\n", &save);
	uint32_t n = 0;

	for (; line; line = strtok_r(NULL, "\n", &save), n++) {
		unsigned long long time_ns;
		unsigned area, slot, order, memcg, task, len, flags, kind = 0;
		char name[20];

		assert_true(n < EXAMPLE_EVENTS_MAX);
		assert_int_equal(sscanf(line, "%llu %19s %u %u %u %u %u %u %u", &time_ns, name,
					&area, &slot, &order, &memcg, &task, &len, &flags),
				 9);
		while (kind < DB_KIND_COUNT && strcmp(db_kind_name(kind), name))
			kind++;
		events[n] = (struct db_event){ time_ns,		slot,		task,
					       (uint16_t)memcg, (uint16_t)len,	(uint8_t)kind,
					       (uint8_t)area,	(uint8_t)order, (uint8_t)flags };
	}
	free(text);
	return n;
}

/* ------------------------------------------------------------------------------------- the page */

static void the_examples_decode_to_the_events_beside_them(void **state)
{
	struct fixture *f = *state;
	struct db_event events[EXAMPLE_EVENTS_MAX];
	struct db_chunk_span span;
	struct db_codec *codec;
	struct db_batch batch;
	uint8_t chunk[1000];
	char row[200];
	uint32_t n = example_events(f, events);

	assert_ok(db_batch_init(&batch, &f->arena));
	assert_ok(db_codec_new(0, &codec));
	for (int example = 0; example < EXAMPLES; example++) {
		size_t bytes = example_chunk(f, example, chunk, sizeof(chunk));

		assert_ok(db_chunk_decode(codec, "example", chunk, bytes, &batch));
		assert_int_equal(batch.n, n);
		for (uint32_t i = 0; i < n; i++)
			assert_same_event(db_batch_event(&batch, i), events[i]);
	}
	span = db_codec_span(codec);
	snprintf(row, sizeof(row),
		 "first_ns %llu, last_ns %llu, events %u, kinds %u, slot_min %u, slot_max %u, "
		 "memcgs %llu",
		 (unsigned long long)span.first_ns, (unsigned long long)span.last_ns, span.events,
		 span.kinds, span.slot_min, span.slot_max, (unsigned long long)span.memcgs);
	assert_non_null(strstr(f->page, row));
	db_codec_free(codec);
}

static void the_page_names_every_table_and_column(void **state)
{
	struct fixture *f = *state;
	unsigned columns = 0;
	sqlite3_stmt *stmt;
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(":memory:", &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, db_versions.list[0].schema, NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sql,
					    "SELECT t.name, c.name FROM sqlite_schema AS t, "
					    "pragma_table_info(t.name) AS c WHERE t.type = 'table'",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	for (; sqlite3_step(stmt) == SQLITE_ROW; columns++)
		for (int i = 0; i < 2; i++)
			if (!strstr(f->page, (const char *)sqlite3_column_text(stmt, i)))
				fail_msg("the page does not mention %s",
					 (const char *)sqlite3_column_text(stmt, i));
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
	assert_true(columns > 60);
}

/* ------------------------------------------------------------------------------ other programs */

static bool has_program(const char *name)
{
	char command[200];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	return system(command) == 0;
}

/* Skips, with the reason, unless the program is there; CI has installed it. */
static void need_program(const char *name)
{
	if (has_program(name))
		return;
	if (getenv("CI"))
		fail_msg("%s is not installed: .ci/setup test does that", name);
	print_message("skipped: %s is not installed\n", name);
	skip();
}

static void file_1_tells_a_trace_by_the_magic_of_the_page(void **state)
{
	struct fixture *f = *state;
	char *magic, command[1000], answer[500] = "";
	FILE *file, *out;

	need_program("file");
	magic = section(f, "magic");
	snprintf(command, sizeof(command), "%s/magic", (const char *)f->folder);
	file = fopen(command, "w");
	for (const char *c = magic; *c; c++)
		/* The page's \e is a backslash. */
		fputc(c[0] == '\\' && c[1] == 'e' ? (c++, '\\') : *c, file);
	fclose(file);
	free(magic);
	snprintf(command, sizeof(command), "file -m %s/magic db/golden/v1-two-hosts.zr",
		 (const char *)f->folder);
	out = popen(command, "r");
	assert_non_null(fgets(answer, sizeof(answer), out));
	assert_int_equal(pclose(out), 0);
	assert_non_null(strstr(answer, "zreel trace of swap and zswap traffic, version 1"));
}

/* A host's events as the second reader prints them. */
static void assert_line(FILE *out, uint32_t host, struct db_event e)
{
	char line[300] = "", wanted[300];

	snprintf(wanted, sizeof(wanted), "%u,%llu,%s,%u,%u,%u,%u,%u,%u,%u\n", host,
		 (unsigned long long)e.time_ns, db_kind_name(e.kind), e.area, e.slot, e.order,
		 e.memcg, e.task, e.len, e.flags);
	assert_non_null(fgets(line, sizeof(line), out));
	assert_string_equal(line, wanted);
}

static FILE *second_reader(const char *option, const char *path)
{
	char command[1000];

	snprintf(command, sizeof(command), "python3 db/second_reader.py %s '%s'", option, path);
	return popen(command, "r");
}

static void the_second_reader_reads_the_examples(void **state)
{
	struct fixture *f = *state;
	struct db_event events[EXAMPLE_EVENTS_MAX];
	uint32_t n = example_events(f, events);

	need_program("python3");
	for (int example = 0; example < EXAMPLES; example++) {
		uint8_t chunk[1000];
		size_t bytes = example_chunk(f, example, chunk, sizeof(chunk));
		char path[300];
		FILE *file, *out;

		snprintf(path, sizeof(path), "%s/chunk", (const char *)f->folder);
		file = fopen(path, "w");
		assert_int_equal(fwrite(chunk, 1, bytes, file), bytes);
		fclose(file);
		out = second_reader("--chunk", path);
		for (uint32_t i = 0; i < n; i++)
			assert_line(out, 0, events[i]);
		assert_int_equal(fgetc(out), EOF);
		assert_int_equal(pclose(out), 0);
	}
}

/* The first `most` events of a file, by both readers. */
static void assert_readers_agree(const char *path, uint64_t most)
{
	FILE *out = second_reader("", path);
	const struct db_batch *batch;
	struct db_reader *reader;
	struct db *db;

	assert_ok(db_open(path, DB_READ, &db));
	assert_ok(db_reader_new(db, NULL, &reader));
	for (;;) {
		assert_ok(db_reader_next(reader, &batch));
		if (!batch || !most)
			break;
		for (uint32_t i = 0; i < batch->n && most; i++, most--)
			assert_line(out, batch->host, db_batch_event(batch, i));
	}
	if (!batch)
		assert_int_equal(fgetc(out), EOF);
	/* One that was not heard to the end dies of it. */
	assert_int_equal(!pclose(out), !batch);
	db_reader_free(reader);
	assert_ok(db_close(db));
}

enum { SHIPPED_EVENTS = 20000 /* a second; all of them take a minute, and are for make test */ };

static void the_second_reader_agrees_on_golden_and_shipped_files(void **state)
{
	static const char *const paths[] = { "db/golden/v1-two-hosts.zr",
					     "db/golden/v1-chunks-of-2.zr", "traces/touch.zr",
					     "traces/compile.zr" };

	(void)state;
	need_program("python3");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_readers_agree(paths[i], test_thoroughness() ? UINT64_MAX : SHIPPED_EVENTS);
}

enum { GENERATED = 4000, GENERATED_HOSTS = 2 };

/* Chunks of many sizes, for each host; the second in microseconds. */
static void generate(const char *path, struct db_event events[][GENERATED], uint64_t seed)
{
	struct test_random random = { seed };
	struct db_writer *writer;
	struct db *db;

	assert_ok(db_open(path, DB_CREATE, &db));
	for (uint32_t host = 0; host < GENERATED_HOSTS; host++) {
		uint64_t now_ns = 0;

		assert_ok(
			db_writer_new(db,
				      &(struct db_writer_options){ .host = host,
								   .time_unit_ns = host ? 1000 : 1,
								   .zstd_level = host ? 7 : 0 },
				      &writer));
		for (uint32_t i = 0; i < GENERATED; i++) {
			struct db_event e = test_draw_event(&random, &now_ns);

			assert_ok(db_writer_add(writer, &e));
			if (test_draw(&random, 1 + i / 2) == 0)
				assert_ok(db_writer_flush(writer));
			e.time_ns -= host ? e.time_ns % 1000 : 0;
			events[host][i] = e;
		}
		assert_ok(db_writer_free(writer));
	}
	assert_ok(db_close(db));
}

static void the_second_reader_agrees_event_for_event(void **state)
{
	static struct db_event events[GENERATED_HOSTS][GENERATED];
	struct fixture *f = *state;
	char path[300];

	need_program("python3");
	for (uint64_t seed = 1; seed < 4; seed++) {
		FILE *out;

		snprintf(path, sizeof(path), "%s/%llu.zr", (const char *)f->folder,
			 (unsigned long long)seed);
		generate(path, events, seed);
		out = second_reader("", path);
		for (uint32_t host = 0; host < GENERATED_HOSTS; host++)
			for (uint32_t i = 0; i < GENERATED; i++)
				assert_line(out, host, events[host][i]);
		assert_int_equal(fgetc(out), EOF);
		assert_int_equal(pclose(out), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_examples_decode_to_the_events_beside_them),
		TEST(the_page_names_every_table_and_column),
		TEST(file_1_tells_a_trace_by_the_magic_of_the_page),
		TEST(the_second_reader_reads_the_examples),
		TEST(the_second_reader_agrees_event_for_event),
		TEST(the_second_reader_agrees_on_golden_and_shipped_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
