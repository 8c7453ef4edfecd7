/* SPDX-License-Identifier: MIT */
/* zreel info: what a trace holds, where it was taken, and whether it is whole. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "db/db.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
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
	printf("\nhost %" PRIu32 "\n", tables->host);
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

static enum zr_err run(const struct ui_call *call)
{
	struct db *db;
	enum zr_err err = db_open(call->operands[0], DB_READ, &db), closed;

	if (err)
		return err;
	err = show(db, call);
	closed = db_close(db);
	return err ? err : closed;
}

const struct ui_command ui_cmd_info = {
	.name = "info",
	.summary = "what a trace holds and where it was taken",
	.operands = "FILE",
	.about =
		"Shows the counts of a trace by kind of event and outcome, its gaps, span and size, the\n"
		"environment of the recorded host, and whether the recording is complete.",
	.example = "  zreel info compile.zr\n"
		   "  zreel info compile.zr --json",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
