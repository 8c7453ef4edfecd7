/* SPDX-License-Identifier: MIT */
/* zreel sweep: all combinations of a grid of knobs over one trace, and which of them are worth having. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/table.h"
#include "ui/text.h"

struct values {
	const char *grid, *base, *runs;
	struct ui_list metrics;
	uint32_t jobs;
	bool json;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "grid", 'g', UI_TEXT, MEMBER(grid), "GRID",
	  "KNOB=VALUE,VALUE;KNOB=... as in pool=5%,10%;batch=off,on" },
	{ "policy", 'p', UI_TEXT, MEMBER(base), "POLICY", "what the grid's knobs are put over (unbatched)" },
	{ "jobs", 'j', UI_COUNT, MEMBER(jobs), "N", "threads that share the policies (one a CPU)" },
	{ "metric", 'm', UI_LIST, MEMBER(metrics), "NAME[,NAME]", "show these metrics; may be repeated" },
	{ "runs", 'r', UI_TEXT, MEMBER(runs), "FILE", "store a run a policy there, for zreel compare" },
	{ "json", 0, UI_FLAG, MEMBER(json), NULL, "print the figures as JSON" },
	{ 0 },
};

/* -------------------------------------------------------------------------------------- the metrics */

struct metric {
	const char *name;
	size_t offset; /* of the uint64_t in struct play_figures */
};

static const struct metric counted[] = {
#define X(name) { #name, offsetof(struct play_figures, counters) + offsetof(struct sim_counters, name) },
	SIM_COUNTERS(X)
#undef X
#define X(name) { #name, offsetof(struct play_figures, io) + offsetof(struct play_io, name) },
	PLAY_IO_COUNTERS(X)
#undef X
};

enum { N_COUNTED = sizeof(counted) / sizeof(counted[0]), METRICS_MAX = N_COUNTED + 3 };

static double counter(const struct play_figures *figures, const char *name)
{
	for (size_t i = 0; i < N_COUNTED; i++)
		if (strcmp(counted[i].name, name) == 0)
			return (double)*(const uint64_t *)((const char *)figures + counted[i].offset);
	return 0;
}

/* Those that are parts of others. */
static const struct ratio {
	const char *name, *part, *whole;
} ratios[] = {
	{ "pages_per_write_request", "write_pages", "write_requests" },
	{ "pages_per_write_bio", "write_pages", "write_bios" },
	{ "store_reject_rate", "store_rejected", "zswap_store_calls" },
};

enum { N_RATIOS = sizeof(ratios) / sizeof(ratios[0]) };

static const struct ratio *find_ratio(const char *name)
{
	for (size_t i = 0; i < N_RATIOS; i++)
		if (strcmp(ratios[i].name, name) == 0)
			return &ratios[i];
	return NULL;
}

static double value_of(const struct play_figures *figures, const char *name)
{
	const struct ratio *ratio = find_ratio(name);
	double whole = ratio ? counter(figures, ratio->whole) : 1;

	if (!ratio)
		return counter(figures, name);
	return whole > 0 ? counter(figures, ratio->part) / whole : 0;
}

static bool is_metric(const char *name)
{
	for (size_t i = 0; i < N_COUNTED; i++)
		if (strcmp(counted[i].name, name) == 0)
			return true;
	return find_ratio(name) != NULL;
}

static enum zr_err unknown_metric(const char *name)
{
	const char *names[METRICS_MAX + 1] = { NULL }, *near;
	size_t n = 0;

	for (size_t i = 0; i < N_COUNTED; i++)
		names[n++] = counted[i].name;
	for (size_t i = 0; i < N_RATIOS; i++)
		names[n++] = ratios[i].name;
	near = ui_nearest(name, names);
	return zr_fail(ZR_USAGE, "--metric got '%s', which no sweep computes%s%s%s", name,
		       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

struct columns {
	const char *names[METRICS_MAX];
	uint32_t n;
};

/* Adds the names of a comma-separated list, each once. */
static enum zr_err add_columns(struct columns *columns, const char *list, struct zr_arena *arena)
{
	char *copy = zr_arena_text(arena, list), *rest = copy;

	if (!copy)
		return zr_fail(ZR_NOMEM, "reading --metric: no memory");
	for (const char *name; (name = strsep(&rest, ","));) {
		bool there = false;

		if (!is_metric(name))
			return unknown_metric(name);
		for (uint32_t i = 0; i < columns->n; i++)
			there = there || strcmp(columns->names[i], name) == 0;
		if (!there)
			columns->names[columns->n++] = name;
	}
	return ZR_OK;
}

static enum zr_err choose_columns(const struct values *values, struct zr_arena *arena,
				  struct columns *out)
{
	enum zr_err err = ZR_OK;

	out->n = 0;
	if (!values->metrics.n)
		return add_columns(out, "pool_pages_max,write_requests,read_requests,pages_per_write_request,"
					"written_back_pages,disk_refaults,store_rejected", arena);
	for (uint32_t i = 0; i < values->metrics.n && !err; i++)
		err = add_columns(out, values->metrics.items[i], arena);
	return err;
}

/* ---------------------------------------------------------------------------------------- the sweep */

struct sweep {
	const char **policies;
	uint32_t n_policies;
	struct play_sweep_row *rows; /* host by host, in the order of the grid */
	size_t n, room;
	struct zr_arena *arena;
	bool no_memory;
};

static void take_figures(void *arg, const struct play_figures *figures)
{
	struct sweep *sweep = arg;

	if (sweep->n == sweep->room) {
		size_t room = sweep->room ? 2 * sweep->room : sweep->n_policies;
		struct play_sweep_row *rows = zr_arena_array(sweep->arena, room, sizeof(*rows));

		if (!rows) {
			sweep->no_memory = true;
			return;
		}
		if (sweep->n)
			memcpy(rows, sweep->rows, sweep->n * sizeof(*rows));
		sweep->rows = rows;
		sweep->room = room;
	}
	sweep->rows[sweep->n++].figures = *figures;
}

static uint32_t cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint32_t)n : 1;
}

static enum zr_err replay_grid(struct db *trace, struct db *results, const struct values *values,
			       struct sweep *sweep)
{
	const volatile int *stop = ui_stop_catch();
	struct ui_progress progress;
	struct play_options how = { .policies = sweep->policies,
				    .n_policies = sweep->n_policies,
				    .target = PLAY_NULL,
				    .jobs = values->jobs ? values->jobs : cpus(),
				    .progress = ui_progress_update,
				    .progress_arg = &progress,
				    .figures = take_figures,
				    .figures_arg = sweep };
	enum zr_err err;

	ui_progress_begin(&progress, "sweeping");
	err = play_replay(trace, results, &how);
	ui_progress_end(&progress);
	if (!err && sweep->no_memory)
		err = zr_fail(ZR_NOMEM, "keeping the figures of %u policies: no memory",
			      sweep->n_policies);
	if (!err && *stop)
		err = zr_fail(ZR_INTERRUPTED, "interrupted before the end of the trace%s",
			      results ? "; what was done is stored and marked as partial" : "");
	return err;
}

/* The results' file is opened first: nothing is computed that could not be kept. */
static enum zr_err open_and_sweep(const struct ui_call *call, struct sweep *sweep)
{
	const struct values *values = call->values;
	struct db *trace, *results = NULL;
	enum zr_err err = db_open(call->operands[0], DB_READ, &trace), closed;

	if (err)
		return err;
	if (values->runs)
		err = db_open(values->runs, DB_RESULTS, &results);
	if (!err)
		err = replay_grid(trace, results, values, sweep);
	closed = db_close(results);
	err = err ? err : closed;
	closed = db_close(trace);
	return err ? err : closed;
}

/* ------------------------------------------------------------------------------------------- output */

static void print_json(const struct sweep *sweep, const struct columns *columns)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "drive", "demand");
	ui_json_array(&json, "rows");
	for (size_t i = 0; i < sweep->n; i++) {
		const struct play_sweep_row *row = &sweep->rows[i];

		ui_json_object(&json, NULL);
		ui_json_text(&json, "policy", sweep->policies[row->figures.policy]);
		ui_json_count(&json, "host", row->figures.host);
		ui_json_bool(&json, "pareto", row->pareto);
		ui_json_count(&json, "io_requests", play_figures_requests(&row->figures));
		ui_json_object(&json, "metrics");
		for (uint32_t c = 0; c < columns->n; c++)
			ui_json_number(&json, columns->names[c],
				       value_of(&row->figures, columns->names[c]));
		ui_json_end_object(&json);
		ui_json_end_object(&json);
	}
	ui_json_end_array(&json);
	ui_json_array(&json, "pareto_front");
	for (size_t i = 0; i < sweep->n; i++)
		if (sweep->rows[i].pareto)
			ui_json_text(&json, NULL, sweep->policies[sweep->rows[i].figures.policy]);
	ui_json_end_array(&json);
	ui_json_end_object(&json);
}

static const char *cell_text(const struct play_figures *figures, const char *name, struct zr_arena *arena)
{
	int decimals = find_ratio(name) ? 2 : 0;

	return zr_arena_text(arena, ui_number(value_of(figures, name), decimals).text);
}

static enum zr_err fill_table(const struct sweep *sweep, const struct columns *columns,
			      struct zr_arena *arena, struct ui_table *table)
{
	/* A head row of its own, since heads span groups; the mark, the policy, then the metrics. */
	enum zr_err err = ui_table_init(table, arena, (uint32_t)sweep->n + 1, columns->n + 1,
					columns->n + 1);
	if (err)
		return err;
	table->cells[0] = "policy";
	for (uint32_t c = 0; c < columns->n; c++) {
		table->group[c + 1] = c + 1;
		table->cells[c + 1] = columns->names[c];
	}
	for (size_t i = 0; i < sweep->n; i++) {
		const char **row = &table->cells[(i + 1) * table->n_columns];
		const struct play_sweep_row *from = &sweep->rows[i];
		char name[160];

		snprintf(name, sizeof(name), "%s %s", from->pareto ? "*" : " ",
			 sweep->policies[from->figures.policy]);
		row[0] = zr_arena_text(arena, name);
		for (uint32_t c = 0; c < columns->n; c++)
			row[c + 1] = cell_text(&from->figures, columns->names[c], arena);
	}
	return ZR_OK;
}

static enum zr_err print_text(const struct sweep *sweep, const struct columns *columns,
			      struct zr_arena *arena)
{
	struct ui_table table;
	enum zr_err err = fill_table(sweep, columns, arena, &table);

	if (!err)
		err = ui_table_print(&table, arena, ui_columns(STDOUT_FILENO, 160), stdout);
	if (err)
		return err;
	puts("\nPareto front (*): no other policy has less of pool_pages_max or of write_requests +\n"
	     "read_requests without more of the other:");
	for (size_t i = 0; i < sweep->n; i++) {
		const struct play_figures *figures = &sweep->rows[i].figures;

		if (!sweep->rows[i].pareto)
			continue;
		printf("  %12s pages, %14s requests  ", ui_count(figures->counters.pool_pages_max).text,
		       ui_count(play_figures_requests(figures)).text);
		ui_put_clean(stdout, sweep->policies[figures->policy]);
		putchar('\n');
	}
	return ZR_OK;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct sweep sweep = { .arena = call->arena };
	struct columns columns;
	enum zr_err err;

	if (!values->grid)
		return zr_fail(ZR_USAGE, "--grid is missing; as in --grid 'pool=5%%,10%%;batch=off,on'");
	err = choose_columns(values, call->arena, &columns);
	if (!err)
		err = play_grid(values->base ? values->base : "unbatched", values->grid, call->arena,
				&sweep.policies, &sweep.n_policies);
	if (!err)
		err = open_and_sweep(call, &sweep);
	if (err)
		return err;
	play_mark_pareto(sweep.rows, sweep.n);
	if (!values->json)
		return print_text(&sweep, &columns, call->arena);
	print_json(&sweep, &columns);
	return ZR_OK;
}

const struct ui_command ui_cmd_sweep = {
	.name = "sweep",
	.summary = "try all combinations of knobs, and name the best",
	.operands = "FILE",
	.about =
		"Replays a trace, decoded once, under every combination of the grid's values, I/O planned; prints\n"
		"a table, and marks the policies that no other beats both in memory (pool_pages_max) and in I/O\n"
		"(write_requests + read_requests). The figures do not depend on the number of threads.",
	.example = "  zreel sweep compile.zr --grid 'pool=5%,10%,20%;batch=off,on;shrinker=on,off'\n"
		   "  zreel sweep compile.zr -g 'walk=1,32,128' -p batched -m write_requests,disk_refaults",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
