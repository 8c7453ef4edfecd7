/* SPDX-License-Identifier: MIT */
/* zreel compare: stored runs side by side, in the shape of the published studies. */
#include <string.h>
#include <unistd.h>

#include "ui/commands.h"
#include "ui/results.h"
#include "ui/stop.h"

struct values {
	const char *baseline;
	bool all, unlike, zeros, json;
};

static const struct ui_option options[] = {
	{ "baseline", 'b', UI_TEXT, offsetof(struct values, baseline), "POLICY",
	  "compare against this policy (the first)" },
	{ "all", 'a', UI_FLAG, offsetof(struct values, all), NULL,
	  "show every run, not only the latest of a policy" },
	{ "unlike", 'u', UI_FLAG, offsetof(struct values, unlike), NULL,
	  "put runs on unlike devices, kernels, targets or paces into one table, too" },
	{ "zeros", 0, UI_FLAG, offsetof(struct values, zeros), NULL,
	  "also show metrics that are 0 everywhere" },
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the figures as JSON" },
	{ 0 },
};

static enum zr_err load(struct ui_results *results, const char *path, struct zr_arena *arena)
{
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db), closed;

	if (err)
		return err;
	err = ui_results_load(results, db, 0, arena);
	closed = db_close(db);
	return err ? err : closed;
}

static enum zr_err check_baseline(const struct ui_results *results, const char *baseline)
{
	for (uint32_t i = 0; i < results->n; i++)
		if (strcmp(results->runs[i].run.policy, baseline) == 0)
			return ZR_OK;
	return zr_fail(ZR_USAGE, "--baseline got '%s', and there is no run of that policy", baseline);
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct ui_results results = { 0 };
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < call->n_operands && !err; i++)
		err = load(&results, call->operands[i], call->arena);
	if (!err && results.n == 0)
		err = zr_fail(ZR_NO_DATA,
			      "%s holds no replay runs yet; `zreel replay TRACE --runs %s` makes some",
			      call->operands[0], call->operands[0]);
	if (!err && values->baseline)
		err = check_baseline(&results, values->baseline);
	if (err)
		return err;
	ui_results_group(&results, &(struct ui_grouping){ .all = values->all,
							  .unlike = values->unlike,
							  .baseline = values->baseline });
	if (!values->json)
		return ui_results_print_text(&results, call->arena, ui_columns(STDOUT_FILENO, 100),
					     values->zeros);
	ui_results_print_json(&results, stdout);
	return ZR_OK;
}

const struct ui_command ui_cmd_compare = {
	.name = "compare",
	.summary = "put the results of replays side by side",
	.operands = "FILE...",
	.about =
		"Prints stored replay runs as tables: one row a metric, one column a policy, mean and standard\n"
		"deviation over the repetitions, change against the first policy, and a verdict (Welch's t\n"
		"test, 5% level) where both have at least two repetitions. Runs on different traces, or on\n"
		"devices or kernels in another condition, get tables of their own, and what differs is named;\n"
		"--unlike puts them side by side all the same. Every row says whether its figure was measured,\n"
		"planned or computed. Runs of replay --study are printed as the study's own tables too.",
	.example = "  zreel replay compile.zr -p unbatched -p batched --runs runs.zr\n"
		   "  zreel compare runs.zr\n"
		   "  zreel compare kernel-a.zr kernel-b.zr --unlike\n"
		   "  zreel compare runs.zr --json",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
