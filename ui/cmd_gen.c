/* SPDX-License-Identifier: MIT */
/* zreel gen: a workload as a trace, made by arithmetic. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *output, *scale;
	bool list, json;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, MEMBER(output), "FILE", "the trace to write; must not exist" },
	{ "scale", 's', UI_TEXT, MEMBER(scale), "X",
	  "sizes and length as a part or a multiple of the workload's own (1)" },
	{ "list", 'l', UI_FLAG, MEMBER(list), NULL,
	  "list the workloads and their parameters, and end" },
	{ "json", 0, UI_FLAG, MEMBER(json), NULL, "print the counts as JSON" },
	{ 0 },
};

static void list_workloads(void)
{
	const struct play_word *workload;

	puts("Workloads:");
	for (uint32_t i = 0; (workload = play_gen_workload(i)); i++)
		printf("  %-21s %s\n", workload->name, workload->help);
	puts("\nParameters, as KEY=VALUE behind the workload:");
	for (const struct play_word *param = play_gen_params(); param->name; param++)
		printf("  %-21s %s\n", param->name, param->help);
}

static enum zr_err read_scale(const char *text, double *out)
{
	char *end;

	*out = 1;
	if (!text)
		return ZR_OK;
	errno = 0;
	*out = strtod(text, &end);
	if (end == text || *end || errno || !(*out > 0))
		return zr_fail(ZR_USAGE, "--scale got '%s'; it takes a number above 0, as in 0.1",
			       text);
	return ZR_OK;
}

static void print_result(const struct values *values, const char *workload, uint64_t events)
{
	struct ui_json json;

	if (!values->json) {
		ui_put_clean(stdout, values->output);
		printf(": %s, %s events\n", workload, ui_count(events).text);
		return;
	}
	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", values->output);
	ui_json_text(&json, "workload", workload);
	ui_json_count(&json, "events", events);
	ui_json_end_object(&json);
}

/* A trace that did not come to its end is no trace of the workload. */
static enum zr_err generate(const struct values *values, const struct play_gen_options *how)
{
	uint64_t events = 0;
	struct db *db;
	enum zr_err err = db_open(values->output, DB_CREATE, &db), closed;

	if (err)
		return err;
	err = db_set_bulk(db);
	if (!err)
		err = play_gen(db, how, &events);
	closed = db_close(db);
	err = err ? err : closed;
	if (err)
		unlink(values->output);
	else
		print_result(values, how->workload, events);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct ui_progress progress;
	struct play_gen_options how = { .progress = ui_progress_update, .progress_arg = &progress };
	enum zr_err err;

	if (values->list) {
		list_workloads();
		return ZR_OK;
	}
	if (!call->n_operands)
		return zr_fail(ZR_USAGE, "WORKLOAD is missing; `zreel gen --list` lists them");
	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	err = read_scale(values->scale, &how.scale);
	if (err)
		return err;
	how.workload = call->operands[0];
	how.settings = (const char *const *)call->operands + 1;
	how.n_settings = call->n_operands - 1;
	ui_stop_catch();
	ui_progress_begin(&progress, "generating");
	err = generate(values, &how);
	ui_progress_end(&progress);
	return err;
}

const struct ui_command ui_cmd_gen = {
	.name = "gen",
	.summary = "make the trace of a published workload",
	.operands = "WORKLOAD [KEY=VALUE]...",
	.about = "Makes a trace of a workload that runs on a small model of memory, reclaim and "
		 "zswap: the\n"
		 "published ones at any scale, and plain ones. The trace says that it was "
		 "generated, and with\n"
		 "which parameters; the same parameters give the same events. Expect the published "
		 "directions\n"
		 "and ratios of it, not another machine's absolute numbers.",
	.example = "  zreel gen --list\n"
		   "  zreel gen july-1 -o july.zr --scale 0.1\n"
		   "  zreel gen kernel-build -o kb.zr --scale 0.1 tasks=8 seed=7",
	.options = options,
	.values_bytes = sizeof(struct values),
	.max_operands = -1,
	.run = run,
};
