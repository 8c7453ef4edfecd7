/* SPDX-License-Identifier: MIT */
/* zreel cut: a part of a trace as a trace of its own. */
#include "db/db.h"
#include "ui/commands.h"
#include "ui/edited.h"
#include "ui/select.h"
#include "ui/stop.h"

struct values {
	const char *output;
	struct ui_select select;
	int time_resolution;
	bool json;
};

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "the trace to write; must not exist" },
	UI_SELECT_OPTIONS(values, select),
	UI_TIME_RESOLUTION(values, time_resolution),
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the counts as JSON" },
	{ 0 },
};

static enum zr_err cut(const char *path, struct db_cut_options *how, struct db_edit_result *result)
{
	struct ui_progress progress;
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db), closed;

	if (err)
		return err;
	ui_stop_catch();
	ui_progress_begin(&progress, "cutting");
	how->watch = (struct db_watch){ ui_progress_update, &progress };
	err = db_cut(db, how, result);
	ui_progress_end(&progress);
	closed = db_close(db);
	return err ? err : closed;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct db_edit_result result;
	struct db_cut_options how = {
		.output = values->output,
		.time_unit_ns = ui_time_unit_ns(values->time_resolution),
	};
	enum zr_err err;

	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	err = ui_select_parse(&values->select, &how.selection);
	if (!err)
		err = cut(call->operands[0], &how, &result);
	if (err)
		return err;
	ui_edited_print(&result, values->output, values->json);
	return ZR_OK;
}

const struct ui_command ui_cmd_cut = {
	.name = "cut",
	.summary = "a part of a trace as a trace of its own",
	.operands = "FILE",
	.about = "Writes the events of a span of time, of cgroups, of a swap area or of a range of "
		 "slots to a\n"
		 "new trace, with all ids, the environment and the samples of that time. Gaps in "
		 "that time stay,\n"
		 "whatever else is asked for. Times count from each host's first event. A --cgroup "
		 "is a path or\n"
		 "the number of the cgroup. Stored results stay behind: they are about the whole "
		 "trace.\n"
		 "Without any of it everything stays: --time-resolution us alone makes a trace smaller.",
	.example = "  zreel cut build.zr -o middle.zr --from 4s --to 6s\n"
		   "  zreel cut fleet.zr -o web.zr --cgroup /system.slice/web.service",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
