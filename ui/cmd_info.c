/* SPDX-License-Identifier: MIT */
/*
 * zreel info: what a trace holds, where it was taken, and whether it is whole; for a folder, the sums of the
 * traces in it, of which one is open at a time.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/table.h"
#include "ui/text.h"

struct values {
	bool json;
};

static const struct ui_option options[] = {
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print everything as JSON" },
	{ 0 },
};

/* All that is shown, read before the first line is printed: a damaged file prints only its error. */
struct facts {
	const char *path, *trace_id, *kernel;
	bool complete;
	uint64_t file_bytes;
	struct db_summary sum;
	struct db_env *env;
	struct db_run *runs;
	size_t n_env, n_runs;
};

/* The tables of one host. */
struct host_facts {
	uint32_t host;
	struct db_memcg *memcgs;
	struct db_task *tasks;
	struct db_area *areas;
	size_t n_memcgs, n_tasks, n_areas;
};

static const char *env_value(const struct facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->n_env; i++)
		if (strcmp(facts->env[i].key, key) == 0)
			return facts->env[i].value;
	return NULL;
}

/* Of a host's times. */
static uint64_t time_unit_ns(const struct facts *facts, uint32_t host)
{
	for (size_t i = 0; i < facts->n_env; i++)
		if (facts->env[i].host == host && strcmp(facts->env[i].key, DB_ENV_TIME_UNIT) == 0)
			return strtoull(facts->env[i].value, NULL, 10);
	return 1;
}

static enum zr_err read_facts(struct db *db, struct zr_arena *arena, struct facts *out)
{
	struct stat st;
	enum zr_err err;

	out->path = db_path(db);
	out->trace_id = db_trace_id(db);
	out->complete = db_is_complete(db);
	out->file_bytes = stat(out->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	err = db_summarise(db, &out->sum);
	if (!err)
		err = db_env_all(db, arena, &out->env, &out->n_env);
	if (!err)
		err = db_runs(db, arena, &out->runs, &out->n_runs);
	if (!err)
		out->kernel = env_value(out, DB_ENV_KERNEL);
	return err;
}

static enum zr_err read_host(struct db *db, uint32_t host, struct zr_arena *arena, struct host_facts *out)
{
	enum zr_err err = db_memcgs(db, host, arena, &out->memcgs, &out->n_memcgs);

	out->host = host;
	if (!err)
		err = db_tasks(db, host, arena, &out->tasks, &out->n_tasks);
	if (!err)
		err = db_areas(db, host, arena, &out->areas, &out->n_areas);
	return err;
}

/* ---------------------------------------------------------------------------------------------- JSON */

static void json_counts(struct ui_json *json, const struct db_summary *sum)
{
	ui_json_object(json, "events");
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		ui_json_count(json, db_kind_name(kind), sum->events[kind]);
	ui_json_end_object(json);
	ui_json_object(json, "outcomes");
	ui_json_count(json, "stored", sum->stored);
	ui_json_count(json, "rejected", sum->rejected);
	ui_json_count(json, "zero", sum->zero);
	ui_json_count(json, "kept", sum->kept);
	ui_json_count(json, "in_zswap", sum->in_zswap);
	ui_json_count(json, "in_disk", sum->in_disk);
	ui_json_count(json, "in_zero", sum->in_zero);
	ui_json_count(json, "in_error", sum->in_error);
	ui_json_count(json, "written_back", sum->written_back);
	ui_json_end_object(json);
	ui_json_count(json, "gaps", sum->gaps);
	ui_json_count(json, "lost_events", sum->lost_events);
	ui_json_count(json, "span_ns", sum->span_ns);
	ui_json_count(json, "first_ns", sum->first_ns);
	ui_json_count(json, "last_ns", sum->last_ns);
	ui_json_count(json, "chunks", sum->chunks);
	ui_json_count(json, "chunk_bytes", sum->chunk_bytes);
}

static void json_host(struct ui_json *json, const struct facts *facts, const struct host_facts *tables)
{
	ui_json_object(json, NULL);
	ui_json_count(json, "host", tables->host);
	ui_json_count(json, "time_unit_ns", time_unit_ns(facts, tables->host));
	ui_json_object(json, "environment");
	for (size_t i = 0; i < facts->n_env; i++)
		if (facts->env[i].host == tables->host)
			ui_json_text(json, facts->env[i].key, facts->env[i].value);
	ui_json_end_object(json);
	ui_json_array(json, "swap_areas");
	for (size_t i = 0; i < tables->n_areas; i++) {
		ui_json_object(json, NULL);
		ui_json_count(json, "id", tables->areas[i].id);
		ui_json_text(json, "path", tables->areas[i].path);
		ui_json_count(json, "slots", tables->areas[i].slots);
		ui_json_number(json, "priority", tables->areas[i].priority);
		ui_json_end_object(json);
	}
	ui_json_end_array(json);
	ui_json_array(json, "cgroups");
	for (size_t i = 0; i < tables->n_memcgs; i++)
		ui_json_text(json, NULL, tables->memcgs[i].path);
	ui_json_end_array(json);
	ui_json_count(json, "tasks", tables->n_tasks);
	ui_json_end_object(json);
}

static void json_head(struct ui_json *json, const struct facts *facts)
{
	ui_json_text(json, "file", facts->path);
	ui_json_text(json, "trace_id", facts->trace_id);
	ui_json_bool(json, "complete", facts->complete);
	ui_json_text(json, "kernel", facts->kernel);
	ui_json_count(json, "file_bytes", facts->file_bytes);
	ui_json_count(json, "runs", facts->n_runs);
}

/* ---------------------------------------------------------------------------------------------- text */

static void text_line(const char *name, const char *value)
{
	printf("%-12s ", name);
	ui_put_clean(stdout, value);
	putchar('\n');
}

static void text_head(const struct facts *facts)
{
	const struct db_summary *sum = &facts->sum;

	text_line("file", facts->path);
	text_line("trace", facts->trace_id);
	text_line("kernel", facts->kernel ? facts->kernel : "unknown");
	text_line("state",
		  facts->complete ? "complete" : "not complete: still recording, or it ended abruptly");
	printf("%-12s %s, of which events %s in %s chunks\n", "size", ui_bytes(facts->file_bytes).text,
	       ui_bytes(sum->chunk_bytes).text, ui_count(sum->chunks).text);
	printf("%-12s %s\n", "span", ui_span(sum->span_ns).text);
	if (sum->gaps)
		printf("%-12s %s, in which %s events were lost\n", "gaps", ui_count(sum->gaps).text,
		       ui_count(sum->lost_events).text);
	else
		printf("%-12s none\n", "gaps");
	printf("%-12s %zu stored replay runs\n", "results", facts->n_runs);
}

static void text_pair(const char *name, uint64_t n)
{
	printf("  %-13s %14s\n", name, ui_count(n).text);
}

static void text_counts(const struct db_summary *sum)
{
	puts("\nevents");
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		if (sum->events[kind])
			text_pair(db_kind_name(kind), sum->events[kind]);
	puts("\nswap-outs, pages");
	text_pair("stored", sum->stored);
	text_pair("rejected", sum->rejected);
	text_pair("zero", sum->zero);
	if (sum->kept)
		text_pair("kept", sum->kept);
	text_pair("written back", sum->written_back);
	puts("\nrefaults, pages");
	text_pair("from zswap", sum->in_zswap);
	text_pair("from disk", sum->in_disk);
	text_pair("zero", sum->in_zero);
	if (sum->in_error)
		text_pair("failed", sum->in_error);
}

enum { CGROUPS_SHOWN = 20 };

static void text_host(const struct facts *facts, const struct host_facts *tables)
{
	printf("\nhost %" PRIu32 ", times exact to %s\n", tables->host,
	       ui_span(time_unit_ns(facts, tables->host)).text);
	for (size_t i = 0; i < facts->n_env; i++) {
		if (facts->env[i].host != tables->host)
			continue;
		printf("  ");
		ui_put_clean(stdout, facts->env[i].key);
		printf(" = ");
		ui_put_clean(stdout, facts->env[i].value);
		putchar('\n');
	}
	for (size_t i = 0; i < tables->n_areas; i++) {
		printf("  swap area %" PRIu32 ": ", tables->areas[i].id);
		ui_put_clean(stdout, tables->areas[i].path[0] ? tables->areas[i].path : "(unknown)");
		printf(", %s slots, priority %" PRId32 "\n", ui_count(tables->areas[i].slots).text,
		       tables->areas[i].priority);
	}
	for (size_t i = 0; i < tables->n_memcgs && i < CGROUPS_SHOWN; i++) {
		printf("  cgroup ");
		ui_put_clean(stdout, tables->memcgs[i].path[0] ? tables->memcgs[i].path : "(unknown)");
		putchar('\n');
	}
	if (tables->n_memcgs > CGROUPS_SHOWN)
		printf("  and %zu more cgroups (--json lists all)\n", tables->n_memcgs - CGROUPS_SHOWN);
}

/* --------------------------------------------------------------------------------------------- command */

static enum zr_err read_hosts(struct db *db, struct zr_arena *arena, struct host_facts **out, size_t *n)
{
	uint32_t *ids;
	enum zr_err err = db_hosts(db, arena, &ids, n);

	if (err)
		return err;
	*out = zr_arena_array(arena, *n + 1, sizeof(**out));
	if (!*out)
		return zr_fail(ZR_NOMEM, "reading the tables of %zu hosts: out of memory", *n);
	for (size_t i = 0; i < *n && !err; i++)
		err = read_host(db, ids[i], arena, &(*out)[i]);
	return err;
}

static void print_json(const struct facts *facts, size_t n, const struct host_facts *hosts)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	json_head(&json, facts);
	json_counts(&json, &facts->sum);
	ui_json_array(&json, "hosts");
	for (size_t i = 0; i < n; i++)
		json_host(&json, facts, &hosts[i]);
	ui_json_end_array(&json);
	ui_json_end_object(&json);
}

static void print_text(const struct facts *facts, size_t n, const struct host_facts *hosts)
{
	text_head(facts);
	text_counts(&facts->sum);
	for (size_t i = 0; i < n; i++)
		text_host(facts, &hosts[i]);
}

static enum zr_err show(struct db *db, const struct ui_call *call)
{
	const struct values *values = call->values;
	struct facts facts = { 0 };
	struct host_facts *hosts;
	size_t n_hosts;
	enum zr_err err = read_facts(db, call->arena, &facts);

	if (!err)
		err = read_hosts(db, call->arena, &hosts, &n_hosts);
	if (err)
		return err;
	(values->json ? print_json : print_text)(&facts, n_hosts, hosts);
	return ZR_OK;
}

static enum zr_err show_file(const struct ui_call *call)
{
	struct db *db;
	enum zr_err err = db_open(call->operands[0], DB_READ, &db), closed;

	if (err)
		return err;
	err = show(db, call);
	closed = db_close(db);
	return err ? err : closed;
}

/* -------------------------------------------------------------------------------------------- folder */

/* A trace of a folder: its sums, or why they cannot be had. */
struct entry {
	const char *name;
	const char *error; /* NULL = none */
	const char *trace_id, *kernel;
	bool complete;
	uint64_t file_bytes;
	struct db_summary sum;
};

struct folder {
	const char *path;
	struct entry *entries; /* by name */
	size_t n, damaged;
	struct db_summary sum; /* of all that can be read */
	uint64_t file_bytes, incomplete;
	const char *kernel; /* if it is the same of all */
};

static int is_trace(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 3 && strcmp(entry->d_name + length - 3, ".zr") == 0;
}

/* The names in bytewise order, whatever the locale: the same table everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static enum zr_err list_folder(struct folder *folder, struct zr_arena *arena)
{
	struct dirent **names;
	int n = scandir(folder->path, &names, is_trace, by_name);
	enum zr_err err = ZR_OK;

	if (n < 0)
		return zr_fail_errno(errno, "cannot list %s", folder->path);
	folder->entries = zr_arena_array(arena, (size_t)n + 1, sizeof(*folder->entries));
	for (int i = 0; i < n; i++) {
		const char *name = zr_arena_text(arena, names[i]->d_name);

		free(names[i]);
		if (folder->entries && name)
			folder->entries[folder->n++].name = name;
	}
	free(names);
	if (folder->n != (size_t)n)
		err = zr_fail(ZR_NOMEM, "listing %s: out of memory", folder->path);
	if (!err && !n)
		err = zr_fail(ZR_NO_DATA, "%s: no trace (*.zr) is in this folder", folder->path);
	return err;
}

static enum zr_err read_entry(const char *path, struct zr_arena *arena, struct entry *entry)
{
	struct facts facts = { 0 };
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db), closed;

	if (err)
		return err;
	err = read_facts(db, arena, &facts);
	entry->trace_id = zr_arena_text(arena, facts.trace_id);
	entry->kernel = facts.kernel;
	entry->complete = facts.complete;
	entry->file_bytes = facts.file_bytes;
	entry->sum = facts.sum;
	closed = db_close(db);
	return err ? err : closed;
}

static void add_sums(struct db_summary *to, const struct db_summary *from)
{
	bool first = !to->chunks;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		to->events[kind] += from->events[kind];
	to->stored += from->stored;
	to->rejected += from->rejected;
	to->zero += from->zero;
	to->kept += from->kept;
	to->in_zswap += from->in_zswap;
	to->in_disk += from->in_disk;
	to->in_zero += from->in_zero;
	to->in_error += from->in_error;
	to->written_back += from->written_back;
	to->gaps += from->gaps;
	to->lost_events += from->lost_events;
	to->span_ns += from->span_ns;
	to->chunks += from->chunks;
	to->chunk_bytes += from->chunk_bytes;
	to->hosts += from->hosts;
	if (!from->chunks)
		return;
	if (first || from->first_ns < to->first_ns)
		to->first_ns = from->first_ns;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
}

static void add_entry(struct folder *folder, const struct entry *entry, bool first)
{
	if (first)
		folder->kernel = entry->kernel;
	else if (!entry->kernel || !folder->kernel || strcmp(entry->kernel, folder->kernel) != 0)
		folder->kernel = NULL;
	folder->file_bytes += entry->file_bytes;
	folder->incomplete += !entry->complete;
	add_sums(&folder->sum, &entry->sum);
}

/* A trace that cannot be read has a row too, and the others are summed all the same. */
static enum zr_err keep_error(struct folder *folder, struct entry *entry, struct zr_arena *arena,
			      enum zr_err err)
{
	if (zr_err_class(err) != ZR_CLASS_INPUT && err != ZR_PERM && err != ZR_BUSY)
		return err;
	entry->error = zr_arena_text(arena, zr_error_text());
	zr_error_clear();
	folder->damaged++;
	return entry->error ? ZR_OK : zr_fail(ZR_NOMEM, "reading %s: out of memory", folder->path);
}

static enum zr_err read_folder(struct folder *folder, struct zr_arena *arena)
{
	struct ui_progress progress;
	enum zr_err err = list_folder(folder, arena);
	bool first = true;

	ui_stop_catch();
	ui_progress_begin(&progress, "reading");
	for (size_t i = 0; i < folder->n && !err; i++) {
		struct entry *entry = &folder->entries[i];
		char *path;

		if (!ui_progress_update(&progress, (double)i / (double)folder->n))
			err = zr_fail(ZR_INTERRUPTED, "interrupted after %zu of %zu traces", i, folder->n);
		else if (asprintf(&path, "%s/%s", folder->path, entry->name) < 0)
			err = zr_fail(ZR_NOMEM, "reading %s: out of memory", folder->path);
		if (err)
			break;
		err = read_entry(path, arena, entry);
		free(path);
		if (!err) {
			add_entry(folder, entry, first);
			first = false;
		} else {
			err = keep_error(folder, entry, arena, err);
		}
	}
	ui_progress_end(&progress);
	return err;
}

static void json_entry(struct ui_json *json, const struct entry *entry)
{
	ui_json_object(json, NULL);
	ui_json_text(json, "file", entry->name);
	if (entry->error) {
		ui_json_text(json, "error", entry->error);
	} else {
		ui_json_text(json, "trace_id", entry->trace_id);
		ui_json_bool(json, "complete", entry->complete);
		ui_json_text(json, "kernel", entry->kernel);
		ui_json_count(json, "file_bytes", entry->file_bytes);
		ui_json_count(json, "n_hosts", entry->sum.hosts);
		json_counts(json, &entry->sum);
	}
	ui_json_end_object(json);
}

static void folder_json(const struct folder *folder)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "folder", folder->path);
	ui_json_bool(&json, "complete", !folder->incomplete && !folder->damaged);
	ui_json_text(&json, "kernel", folder->kernel);
	ui_json_count(&json, "file_bytes", folder->file_bytes);
	ui_json_count(&json, "damaged", folder->damaged);
	ui_json_count(&json, "n_hosts", folder->sum.hosts);
	json_counts(&json, &folder->sum);
	ui_json_array(&json, "files");
	for (size_t i = 0; i < folder->n; i++)
		json_entry(&json, &folder->entries[i]);
	ui_json_end_array(&json);
	ui_json_end_object(&json);
}

static uint64_t all_events(const struct db_summary *sum)
{
	uint64_t n = 0;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		n += sum->events[kind];
	return n;
}

enum { FOLDER_COLUMNS = 10 };

static const char *const folder_heads[FOLDER_COLUMNS] = { "trace", "hosts",	 "events", "OUT",
							  "IN",	   "WB", "gaps",   "lost",
							  "span",  "size" };

static bool fill_cells(struct zr_arena *arena, const struct db_summary *sum, uint64_t file_bytes,
		       const char **cells)
{
	const struct ui_small texts[FOLDER_COLUMNS] = {
		[1] = ui_count(sum->hosts),	       [2] = ui_count(all_events(sum)),
		[3] = ui_count(sum->events[DB_OUT]),   [4] = ui_count(sum->events[DB_IN]),
		[5] = ui_count(sum->events[DB_WB]),    [6] = ui_count(sum->gaps),
		[7] = ui_count(sum->lost_events),      [8] = ui_span(sum->span_ns),
		[9] = ui_bytes(file_bytes),
	};
	bool ok = true;

	for (unsigned c = 1; c < FOLDER_COLUMNS; c++)
		ok &= (cells[c] = zr_arena_text(arena, texts[c].text)) != NULL;
	return ok;
}

static enum zr_err folder_text(const struct folder *folder, struct zr_arena *arena)
{
	struct ui_table table;
	const char **cells;
	bool ok = true;
	enum zr_err err = ui_table_init(&table, arena, (uint32_t)folder->n + 1, FOLDER_COLUMNS,
					FOLDER_COLUMNS);

	if (err)
		return err;
	for (uint32_t c = 0; c < FOLDER_COLUMNS; c++) {
		table.group[c] = c;
		table.heads[c] = folder_heads[c];
	}
	for (size_t i = 0; i < folder->n; i++) {
		const struct entry *entry = &folder->entries[i];

		cells = &table.cells[i * FOLDER_COLUMNS];
		cells[0] = entry->name;
		if (entry->error)
			cells[2] = "damaged";
		else
			ok &= fill_cells(arena, &entry->sum, entry->file_bytes, cells);
	}
	cells = &table.cells[folder->n * FOLDER_COLUMNS];
	cells[0] = "all";
	ok &= fill_cells(arena, &folder->sum, folder->file_bytes, cells);
	if (!ok)
		return zr_fail(ZR_NOMEM, "laying out a table: out of memory");
	err = ui_table_print(&table, arena, ui_columns(STDOUT_FILENO, 120), stdout);
	if (!err && folder->incomplete)
		printf("\n%s traces are not complete: still recording, or they ended abruptly\n",
		       ui_count(folder->incomplete).text);
	return err;
}

static const char *first_error(const struct folder *folder)
{
	for (size_t i = 0; i < folder->n; i++)
		if (folder->entries[i].error)
			return folder->entries[i].error;
	return "";
}

static enum zr_err show_folder(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct folder folder = { .path = call->operands[0] };
	enum zr_err err = read_folder(&folder, call->arena);

	if (!err && values->json)
		folder_json(&folder);
	else if (!err)
		err = folder_text(&folder, call->arena);
	if (!err && folder.damaged)
		err = zr_fail(ZR_CORRUPT, "%zu of %zu traces cannot be read; the first: %s", folder.damaged,
			      folder.n, first_error(&folder));
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	struct stat st;

	if (stat(call->operands[0], &st) == 0 && S_ISDIR(st.st_mode))
		return show_folder(call);
	return show_file(call);
}

const struct ui_command ui_cmd_info = {
	.name = "info",
	.summary = "what a trace holds and where it was taken",
	.operands = "FILE",
	.about =
		"Shows the counts of a trace by kind of event and outcome, its gaps, span and size, the\n"
		"environment of the recorded host, and whether the recording is complete. For a folder, a\n"
		"row for each trace (*.zr) in it and their sum; status 3 if one of them cannot be read.",
	.example = "  zreel info compile.zr\n"
		   "  zreel info compile.zr --json\n"
		   "  zreel info fleet/",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
