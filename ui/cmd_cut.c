/* SPDX-License-Identifier: MIT */
/* zreel cut: a part of a trace as a trace of its own. */
#include "db/db.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/select.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *output;
	struct ui_select select;
	bool json;
};

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "the trace to write; must not exist" },
	UI_SELECT_OPTIONS(values, select),
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the counts as JSON" },
	{ 0 },
};

static void print_json(const struct db_edit_result *result, const char *output)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", output);
	ui_json_count(&json, "hosts", result->hosts);
	ui_json_count(&json, "events", result->events);
	ui_json_count(&json, "gaps", result->gaps);
	ui_json_count(&json, "lost_events", result->lost_events);
	ui_json_count(&json, "samples", result->samples);
	ui_json_end_object(&json);
}

static void print_text(const struct db_edit_result *result, const char *output)
{
	ui_put_clean(stdout, output);
	printf(": %s events, %s samples", ui_count(result->events).text,
	       ui_count(result->samples).text);
	if (result->gaps)
		printf("; %s gaps, in which %s events were lost", ui_count(result->gaps).text,
		       ui_count(result->lost_events).text);
	putchar('\n');
}

static enum zr_err cut(const char *path, const struct db_selection *selection, const char *output,
		       struct db_edit_result *result)
{
	struct ui_progress progress;
	const struct db_watch watch = { ui_progress_update, &progress };
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db), closed;

	if (err)
		return err;
	ui_stop_catch();
	ui_progress_begin(&progress, "cutting");
	err = db_cut(db, selection, output, &watch, result);
	ui_progress_end(&progress);
	closed = db_close(db);
	return err ? err : closed;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct db_edit_result result;
	struct db_selection selection;
	enum zr_err err;

	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	err = ui_select_parse(&values->select, &selection);
	if (!err)
		err = cut(call->operands[0], &selection, values->output, &result);
	if (err)
		return err;
	(values->json ? print_json : print_text)(&result, values->output);
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
		 "trace.",
	.example = "  zreel cut build.zr -o middle.zr --from 4s --to 6s\n"
		   "  zreel cut fleet.zr -o web.zr --cgroup /system.slice/web.service",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
