/* SPDX-License-Identifier: MIT */
/* zreel merge: many traces in one. */
#include "db/db.h"
#include "ui/commands.h"
#include "ui/edited.h"
#include "ui/select.h"
#include "ui/stop.h"

struct values {
	const char *output;
	bool same_host, force, json;
	int time_resolution;
};

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "the trace to write; must not exist" },
	{ "same-host", 0, UI_FLAG, offsetof(struct values, same_host), NULL,
	  "all are of one host and clock: weave them into one" },
	{ "force", 0, UI_FLAG, offsetof(struct values, force), NULL,
	  "take what another of the traces holds too" },
	UI_TIME_RESOLUTION(values, time_resolution),
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the counts as JSON" },
	{ 0 },
};

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct ui_progress progress;
	struct db_merge_options merge = {
		.inputs = (const char *const *)call->operands,
		.n_inputs = call->n_operands,
		.output = values->output,
		.same_host = values->same_host,
		.force = values->force,
		.time_unit_ns = ui_time_unit_ns(values->time_resolution),
		.watch = { ui_progress_update, &progress },
	};
	struct db_edit_result result;
	enum zr_err err;

	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	ui_stop_catch();
	ui_progress_begin(&progress, "merging");
	err = db_merge(&merge, &result);
	ui_progress_end(&progress);
	if (err)
		return err;
	ui_edited_print(&result, values->output, values->json);
	return ZR_OK;
}

const struct ui_command ui_cmd_merge = {
	.name = "merge",
	.summary = "many traces in one",
	.operands = "FILE...",
	.about = "Writes the hosts of all traces to a new one, numbered from 0, each with its own "
		 "clock, ids,\n"
		 "environment, samples and results. A trace that comes along twice, also inside of "
		 "another, is\n"
		 "refused. With --same-host the traces are parts of one host's story, by area or "
		 "by time:\n"
		 "their events are put in order, and what lies between two recordings of an area "
		 "is a gap.",
	.example = "  zreel merge host-*.zr -o fleet.zr\n"
		   "  zreel merge --same-host area1.zr area2.zr -o both.zr",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
