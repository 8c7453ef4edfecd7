/* SPDX-License-Identifier: MIT */
/*
 * zreel sql: queries on a trace, of its tables and of its events.
 *
 * With a statement it is run; without, statements are read from standard input, with a prompt on a
 * terminal, where a mistake is told and the next one awaited. Tables are laid out by their first
 * WIDTH_ROWS rows, which are held; all further rows are printed as they come, so the memory does
 * not depend on the number of rows.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "ui/commands.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/text.h"

enum { WIDTH_ROWS = 1000, WIDTH_MAX = 60, STATEMENT_MAX = 1 << 20 };

struct values {
	bool json, csv;
};

static const struct ui_option options[] = {
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print an array of objects" },
	{ "csv", 0, UI_FLAG, offsetof(struct values, csv), NULL, "print comma-separated values" },
	{ 0 },
};

/* A query being printed. */
struct print {
	const struct values *values;
	struct ui_json json;
	struct zr_arena arena; /* of this query */
	int n;		       /* columns */
	const char **names;    /* copies: those of the query end with it */
	int *widths;
	bool *left;	    /* texts stand at the left */
	const char **cells; /* of the rows that are held */
	uint32_t held;
	bool laid_out;
	bool ascii;
	struct ui_progress progress;
};

/* --------------------------------------------------------------------------------------- values */

static const char *text_of(struct print *print, const struct db_sql_value *value)
{
	char number[64];

	switch (value->type) {
	case DB_SQL_INT:
		snprintf(number, sizeof(number), "%" PRId64, value->integer);
		break;
	case DB_SQL_REAL:
		snprintf(number, sizeof(number), "%.15g", value->real);
		break;
	case DB_SQL_TEXT:
		return zr_arena_text(&print->arena, value->data ? value->data : "");
	case DB_SQL_BLOB:
		snprintf(number, sizeof(number), "(%zu bytes)", value->bytes);
		break;
	default:
		return print->values->csv ? "" : "NULL";
	}
	return zr_arena_text(&print->arena, number);
}

static enum zr_err no_memory(void)
{
	return zr_fail(ZR_NOMEM, "printing the rows: out of memory");
}

/* --------------------------------------------------------------------------------------- tables */

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static void print_cell(const struct print *print, int column, const char *text)
{
	int missing = print->widths[column] - ui_text_width(text, print->ascii);
	bool last = column == print->n - 1;

	if (column)
		fputs("  ", stdout);
	if (!print->left[column])
		printf("%*s", missing > 0 ? missing : 0, "");
	ui_put_clean(stdout, text);
	if (print->left[column] && !last)
		printf("%*s", missing > 0 ? missing : 0, "");
	if (last)
		putchar('\n');
}

static void print_head(const struct print *print)
{
	for (int i = 0; i < print->n; i++)
		print_cell(print, i, print->names[i]);
	for (int i = 0; i < print->n; i++) {
		if (i)
			fputs("  ", stdout);
		for (int j = 0; j < print->widths[i]; j++)
			putchar('-');
	}
	putchar('\n');
}

static void measure(struct print *print, int column)
{
	int width = ui_text_width(print->names[column], print->ascii);

	for (uint32_t row = 0; row < print->held; row++) {
		const char *cell = print->cells[(size_t)row * (size_t)print->n + (size_t)column];
		int of_cell = ui_text_width(cell, print->ascii);

		width = of_cell > width ? of_cell : width;
	}
	print->widths[column] = smaller(width, WIDTH_MAX);
}

/* Prints what is held, now that the widths are known; from here on rows are not held. */
static void lay_out(struct print *print)
{
	if (print->laid_out || !print->n)
		return;
	for (int i = 0; i < print->n; i++)
		measure(print, i);
	print_head(print);
	for (uint32_t row = 0; row < print->held; row++)
		for (int i = 0; i < print->n; i++)
			print_cell(print, i,
				   print->cells[(size_t)row * (size_t)print->n + (size_t)i]);
	print->laid_out = true;
}

static enum zr_err table_head(struct print *print, const char *const *names)
{
	size_t n = (size_t)print->n;

	print->names = zr_arena_array(&print->arena, n + 1, sizeof(*print->names));
	for (size_t i = 0; i < n && print->names; i++)
		if (!(print->names[i] = zr_arena_text(&print->arena, names[i])))
			return no_memory();
	print->widths = zr_arena_array(&print->arena, n + 1, sizeof(*print->widths));
	print->left = zr_arena_array(&print->arena, n + 1, sizeof(*print->left));
	print->cells = zr_arena_array(&print->arena, n * WIDTH_ROWS + 1, sizeof(*print->cells));
	return print->names && print->widths && print->left && print->cells ? ZR_OK : no_memory();
}

static enum zr_err hold_row(struct print *print, const struct db_sql_row *row)
{
	for (int i = 0; i < row->n; i++) {
		const char *text = text_of(print, &row->values[i]);

		if (!text)
			return no_memory();
		print->cells[(size_t)print->held * (size_t)row->n + (size_t)i] = text;
		print->left[i] |= row->values[i].type == DB_SQL_TEXT;
	}
	if (++print->held == WIDTH_ROWS)
		lay_out(print);
	return ZR_OK;
}

static enum zr_err table_row(struct print *print, const struct db_sql_row *row)
{
	struct zr_arena held = print->arena;
	enum zr_err err = ZR_OK;

	if (!print->laid_out)
		return hold_row(print, row);
	/* Texts of a row that is only passing through have an arena that ends with it. */
	print->arena = (struct zr_arena){ 0 };
	for (int i = 0; i < row->n && !err; i++) {
		const char *text = text_of(print, &row->values[i]);

		if (text)
			print_cell(print, i, text);
		else
			err = no_memory();
	}
	zr_arena_fini(&print->arena);
	print->arena = held;
	return err;
}

/* ------------------------------------------------------------------------------------ CSV, JSON */

static void put_csv(const char *text, bool last)
{
	/* Bytes as they are are for programs. */
	if (isatty(STDOUT_FILENO)) {
		ui_put_clean(stdout, text);
	} else if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, stdout);
	} else {
		putchar('"');
		for (; *text; text++) {
			if (*text == '"')
				putchar('"');
			putchar(*text);
		}
		putchar('"');
	}
	putchar(last ? '\n' : ',');
}

static enum zr_err csv_row(struct print *print, const struct db_sql_row *row)
{
	enum zr_err err = ZR_OK;

	for (int i = 0; i < row->n && !err; i++) {
		const char *text = text_of(print, &row->values[i]);

		if (text)
			put_csv(text, i == row->n - 1);
		else
			err = no_memory();
	}
	zr_arena_fini(&print->arena);
	return err;
}

static enum zr_err json_value(struct print *print, const char *name,
			      const struct db_sql_value *value)
{
	const char *text;

	switch (value->type) {
	case DB_SQL_INT:
		if (value->integer >= 0)
			ui_json_count(&print->json, name, (uint64_t)value->integer);
		else
			ui_json_number(&print->json, name, (double)value->integer);
		return ZR_OK;
	case DB_SQL_REAL:
		ui_json_number(&print->json, name, value->real);
		return ZR_OK;
	case DB_SQL_NULL:
		ui_json_text(&print->json, name, NULL);
		return ZR_OK;
	default:
		text = text_of(print, value);
		ui_json_text(&print->json, name, text);
		return text ? ZR_OK : no_memory();
	}
}

static enum zr_err json_row(struct print *print, const struct db_sql_row *row)
{
	enum zr_err err = ZR_OK;

	ui_json_object(&print->json, NULL);
	for (int i = 0; i < row->n && !err; i++)
		err = json_value(print, row->names[i], &row->values[i]);
	ui_json_end_object(&print->json);
	zr_arena_fini(&print->arena);
	return err;
}

/* -------------------------------------------------------------------------------------- queries */

static enum zr_err take_head(void *arg, int n, const char *const *names)
{
	struct print *print = arg;

	print->n = n;
	/* A statement of white space has no columns, and is none to print. */
	if (!n)
		return ZR_OK;
	if (print->values->json) {
		ui_json_init(&print->json, stdout);
		ui_json_array(&print->json, NULL);
	} else if (print->values->csv) {
		for (int i = 0; i < n; i++)
			put_csv(names[i], i == n - 1);
	} else {
		return table_head(print, names);
	}
	return ZR_OK;
}

static enum zr_err take_row(void *arg, const struct db_sql_row *row)
{
	struct print *print = arg;

	ui_progress_end(&print->progress);
	if (ferror(stdout))
		return zr_fail_errno(errno, "writing to standard output");
	if (print->values->json)
		return json_row(print, row);
	return print->values->csv ? csv_row(print, row) : table_row(print, row);
}

static bool keep_on(void *arg, double done)
{
	struct print *print = arg;

	return ui_progress_update(&print->progress, done);
}

/* One statement; *rest is what follows it. */
static enum zr_err run_one(struct db *db, const struct values *values, const char *text,
			   const char **rest)
{
	struct print print = { .values = values, .ascii = ui_locale_is_ascii() };
	const struct db_sql_sink sink = { take_head, take_row, &print, { keep_on, &print } };
	struct db_sql_result result = { .rest = "" };
	enum zr_err err;

	ui_progress_begin(&print.progress, "querying");
	/* How far a query is nobody knows. */
	print.progress.on = false;
	err = db_sql_query(db, text, &sink, &result);
	*rest = result.rest;
	if (print.n && values->json)
		ui_json_end_array(&print.json);
	else if (!err && !values->csv && !values->json)
		lay_out(&print);
	zr_arena_fini(&print.arena);
	return err;
}

static enum zr_err run_text(struct db *db, const struct values *values, const char *text)
{
	enum zr_err err = ZR_OK;

	while (!err && *text)
		err = run_one(db, values, text, &text);
	return err;
}

/* ---------------------------------------------------------------------------------- interactive */

struct shell {
	struct db *db;
	const struct values *values;
	bool terminal;
	bool quit;
	char *text; /* the statement so far */
	size_t n;
};

static void print_help(void)
{
	puts("Statements end with a semicolon. The table `events` has a row for each event.\n"
	     ".tables  the tables      .schema [TABLE]    how they are declared\n"
	     ".help    this            .quit  or Ctrl-D   ends");
}

/* A declaration as it stands in the file, line by line: it may be a stranger's. */
static enum zr_err put_declaration(void *arg, const struct db_sql_row *row)
{
	struct zr_arena *arena = arg;
	char *at = zr_arena_text(arena, row->values[0].type == DB_SQL_TEXT ? row->values[0].data : "");

	while (at && *at) {
		char *end = strchrnul(at, '\n'), *next = *end ? end + 1 : end;

		*end = '\0';
		for (; *at == '\t'; at++)
			fputs("    ", stdout);
		ui_put_clean(stdout, at);
		putchar('\n');
		at = next;
	}
	return at ? ZR_OK : no_memory();
}

/* A row of table_info: name and type are its second and third column. */
static enum zr_err put_column(void *arg, const struct db_sql_row *row)
{
	bool *any = arg;

	printf("%s\n    %s %s", *any ? "," : "CREATE TABLE events (", (const char *)row->values[1].data,
	       (const char *)row->values[2].data);
	*any = true;
	return ZR_OK;
}

/* It is in no file. */
static enum zr_err print_events_schema(struct shell *shell)
{
	bool any = false;
	const struct db_sql_sink sink = { .row = put_column, .arg = &any };
	struct db_sql_result result;
	enum zr_err err = db_sql_query(shell->db, "PRAGMA table_info(events)", &sink, &result);

	if (!err)
		puts("\n);");
	return err;
}

/* How all tables are declared, or the one of this name. */
static enum zr_err print_schema(struct shell *shell, const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	int length = (int)strspn(name, letters);
	struct zr_arena arena = { 0 };
	const struct db_sql_sink sink = { .row = put_declaration, .arg = &arena };
	struct db_sql_result result = { 0 };
	bool events = !length || (length == 6 && strncasecmp(name, "events", 6) == 0);
	char text[400];
	enum zr_err err;

	if (length > 64 || name[length + (int)strspn(name + length, " \t\r\n")])
		return zr_fail(ZR_USAGE, ".schema takes the name of a table; .tables lists them");
	snprintf(text, sizeof(text),
		 "SELECT sql || ';' FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%%' "
		 "AND '%.*s' IN ('', name) ORDER BY name",
		 length, name);
	err = db_sql_query(shell->db, text, &sink, &result);
	zr_arena_fini(&arena);
	if (!err && events)
		err = print_events_schema(shell);
	if (!err && !events && !result.rows)
		err = zr_fail(ZR_USAGE, "there is no table %.*s; .tables lists them", length, name);
	return err;
}

static enum zr_err dot_command(struct shell *shell, const char *line)
{
	size_t length = strcspn(line, " \t\r\n");

	if (strncmp(line, ".tables", length) == 0 && length > 1)
		return run_text(
			shell->db, shell->values,
			"SELECT name AS \"table\" FROM sqlite_schema WHERE type = 'table' AND "
			"name NOT LIKE 'sqlite%' UNION SELECT 'events' ORDER BY 1");
	if (strncmp(line, ".schema", length) == 0 && length > 1)
		return print_schema(shell, line + length + strspn(line + length, " \t\r\n"));
	if (strncmp(line, ".help", length) == 0 && length > 1)
		print_help();
	else if ((strncmp(line, ".quit", length) == 0 || strncmp(line, ".exit", length) == 0) &&
		 length > 1)
		shell->quit = true;
	else
		return zr_fail(ZR_USAGE, "%.*s is no command here; .help lists them", (int)length,
			       line);
	return ZR_OK;
}

static enum zr_err add_line(struct shell *shell, const char *line, size_t bytes)
{
	char *text;

	if (shell->n + bytes > STATEMENT_MAX)
		return zr_fail(ZR_USAGE, "a statement of more than %d KiB", STATEMENT_MAX >> 10);
	text = realloc(shell->text, shell->n + bytes + 1);
	if (!text)
		return zr_fail(ZR_NOMEM, "reading a statement: out of memory");
	memcpy(text + shell->n, line, bytes);
	shell->text = text;
	shell->n += bytes;
	text[shell->n] = '\0';
	return ZR_OK;
}

static enum zr_err run_pending(struct shell *shell)
{
	enum zr_err err = shell->n ? run_text(shell->db, shell->values, shell->text) : ZR_OK;

	shell->n = 0;
	return err;
}

static enum zr_err take_line(struct shell *shell, const char *line, size_t bytes)
{
	enum zr_err err;

	if (!shell->n && line[strspn(line, " \t\r\n")] == '\0')
		return ZR_OK;
	if (!shell->n && *line == '.')
		return dot_command(shell, line);
	err = add_line(shell, line, bytes);
	return err || !db_sql_is_complete(shell->text) ? err : run_pending(shell);
}

/* On a terminal a mistake ends its statement and nothing else. */
static enum zr_err forgive(struct shell *shell, enum zr_err err)
{
	if (!err || !shell->terminal || err == ZR_INTERRUPTED || err == ZR_NOMEM)
		return err;
	fflush(stdout);
	ui_put_clean(stderr, zr_error_text());
	fputc('\n', stderr);
	zr_error_clear();
	shell->n = 0;
	return ZR_OK;
}

static void prompt(const struct shell *shell)
{
	if (!shell->terminal)
		return;
	fputs(shell->n ? "   ...> " : "zreel> ", stdout);
	fflush(stdout);
}

static enum zr_err run_shell(struct db *db, const struct values *values)
{
	struct shell shell = { .db = db,
			       .values = values,
			       .terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) };
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	enum zr_err err = ZR_OK;

	prompt(&shell);
	while (!err && !shell.quit && (bytes = getline(&line, &room, stdin)) > 0) {
		err = forgive(&shell, take_line(&shell, line, (size_t)bytes));
		if (!err && !shell.quit)
			prompt(&shell);
	}
	/* The last one may lack its semicolon. */
	if (!err && !shell.quit)
		err = forgive(&shell, run_pending(&shell));
	free(line);
	free(shell.text);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct db *db;
	enum zr_err err, closed;

	if (values->json && values->csv)
		return zr_fail(ZR_USAGE, "--json and --csv exclude each other");
	err = db_open(call->operands[0], DB_READ, &db);
	if (err)
		return err;
	ui_stop_catch();
	err = call->n_operands > 1 ? run_text(db, values, call->operands[1])
				   : run_shell(db, values);
	closed = db_close(db);
	return err ? err : closed;
}

const struct ui_command ui_cmd_sql = {
	.name = "sql",
	.summary = "query a trace in SQL",
	.operands = "FILE [STATEMENT]",
	.about = "Runs queries on the tables of a trace and on `events`, which has one row for "
		 "each event.\n"
		 "Nothing is ever changed. Without a STATEMENT, statements are read from standard "
		 "input; .help\n"
		 "there tells more.",
	.example = "  zreel sql build.zr 'SELECT kind, count(*) FROM events GROUP BY kind'\n"
		   "  zreel sql build.zr --csv 'SELECT * FROM env' > env.csv",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 2,
	.run = run,
};
