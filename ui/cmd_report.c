/* SPDX-License-Identifier: MIT */
/*
 * zreel report: a trace, its runs and why they are as they are, as one page of HTML.
 *
 * The runs come from where a comparison would take them: those stored in --runs FILE or in the trace; those of
 * policies named with -p are made now, in a results file of their own that is removed. The page is laid out
 * in memory and appears under its name only when it is whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/report.h"
#include "ui/stop.h"

struct values {
	struct ui_list policies;
	const char *output, *runs;
};

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "the page to write; - for standard output" },
	{ "policy", 'p', UI_LIST, offsetof(struct values, policies), "POLICY",
	  "replay this policy for the report; may be repeated" },
	{ "runs", 'r', UI_TEXT, offsetof(struct values, runs), "FILE",
	  "take the runs that are stored there" },
	{ 0 },
};

static const char *const default_policies[] = { "unbatched", "batched", "plugged" };

struct job {
	const struct ui_call *call;
	const struct values *values;
	struct db *trace;
	struct ui_report report;
	const char *policies[PLAY_RACE_LANES]; /* of the charts */
	uint32_t n_policies;
};

static enum zr_err no_memory(const struct job *job)
{
	return zr_fail(ZR_NOMEM, "reporting on %s: out of memory", job->call->operands[0]);
}

/* ---------------------------------------------------------------------------------------------- runs */

static enum zr_err replay(struct job *job, struct db *results, const struct ui_list *policies)
{
	struct ui_progress progress;
	struct play_options how = { .policies = policies->items,
				    .n_policies = policies->n,
				    .progress = ui_progress_update,
				    .progress_arg = &progress };
	enum zr_err err;

	ui_progress_begin(&progress, "replaying");
	err = play_replay(job->trace, results, &how);
	ui_progress_end(&progress);
	if (!err && *ui_stop_catch())
		err = zr_fail(ZR_INTERRUPTED, "interrupted while replaying; no report was written");
	return err ? err : ui_results_load(&job->report.results, results, 0, job->call->arena);
}

static enum zr_err replay_into(struct job *job, const char *path, const struct ui_list *policies)
{
	struct db *results;
	enum zr_err err = db_open(path, DB_RESULTS, &results), closed;

	if (err)
		return err;
	err = replay(job, results, policies);
	closed = db_close(results);
	return err ? err : closed;
}

static enum zr_err replay_now(struct job *job, const struct ui_list *policies)
{
	const char *folder = getenv("TMPDIR");
	char *path = NULL, *file = NULL;
	enum zr_err err;

	if (asprintf(&path, "%s/zreel-report-XXXXXX", folder && folder[0] ? folder : "/tmp") < 0)
		return no_memory(job);
	if (!mkdtemp(path))
		err = zr_fail_errno(errno, "making a folder for the results, %s", path);
	else if (asprintf(&file, "%s/runs.zr", path) < 0)
		err = no_memory(job);
	else
		err = replay_into(job, file, policies);
	if (file)
		unlink(file);
	rmdir(path);
	free(file);
	free(path);
	return err;
}

static enum zr_err load_runs_file(struct job *job)
{
	struct db *db;
	enum zr_err err = db_open(job->values->runs, DB_READ, &db), closed;

	if (err)
		return err;
	err = ui_results_load(&job->report.results, db, 0, job->call->arena);
	closed = db_close(db);
	return err ? err : closed;
}

/* Of runs on other traces nothing on this page could be compared with. */
static void drop_other_traces(struct job *job)
{
	struct ui_results *results = &job->report.results;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < results->n; i++)
		if (strcmp(results->runs[i].run.trace_id, job->report.trace_id) == 0)
			results->runs[kept++] = results->runs[i];
	job->report.other_runs = results->n - kept;
	results->n = kept;
}

static enum zr_err load_stored(struct job *job)
{
	struct ui_list defaults = { .items = (const char **)default_policies,
				    .n = sizeof(default_policies) / sizeof(default_policies[0]) };
	enum zr_err err;

	if (job->values->runs)
		err = load_runs_file(job);
	else
		err = ui_results_load(&job->report.results, job->trace, 0, job->call->arena);
	if (err)
		return err;
	drop_other_traces(job);
	if (job->report.results.n || job->values->policies.n)
		return ZR_OK;
	if (job->values->runs)
		return zr_fail(ZR_NO_DATA, "%s holds no runs on %s; `zreel replay %s --runs %s` makes some",
			       job->values->runs, job->call->operands[0], job->call->operands[0],
			       job->values->runs);
	return replay_now(job, &defaults);
}

static enum zr_err load_runs(struct job *job)
{
	const struct ui_list *policies = &job->values->policies;
	enum zr_err err = ZR_OK;

	/* Without --runs, what is stored in the trace is shown only if no policy is named. */
	if (!policies->n || job->values->runs)
		err = load_stored(job);
	if (!err && policies->n)
		err = replay_now(job, policies);
	if (!err)
		ui_results_group(&job->report.results, &(struct ui_grouping){ 0 });
	return err;
}

/* -------------------------------------------------------------------------------------------- charts */

static bool has_policy(const struct job *job, const char *policy)
{
	for (uint32_t i = 0; i < job->n_policies; i++)
		if (strcmp(job->policies[i], policy) == 0)
			return true;
	return false;
}

/* A stored run may be of a zreel that knew other knobs: it has its figures, but no chart. */
static bool is_understood(const char *policy)
{
	struct sim_policy parsed;
	bool ok = sim_policy_parse(policy, &parsed) == ZR_OK;

	if (!ok)
		zr_error_clear();
	return ok;
}

static enum zr_err choose_policies(struct job *job)
{
	const struct ui_results *results = &job->report.results;

	for (uint32_t i = 0; i < results->n; i++) {
		const char *policy = results->runs[i].run.policy;

		if (!results->runs[i].shown || has_policy(job, policy))
			continue;
		if (job->n_policies < PLAY_RACE_LANES && is_understood(policy))
			job->policies[job->n_policies++] = policy;
		else
			job->report.uncharted++;
	}
	if (!job->n_policies)
		return zr_fail(ZR_BAD_POLICY, "none of the stored runs has a policy that this zreel knows; name some "
					      "with -p");
	return ZR_OK;
}

static enum zr_err follow(struct job *job)
{
	struct play_timeline *timeline = zr_arena_alloc(job->call->arena, sizeof(*timeline));
	struct ui_progress progress;
	struct play_timeline_options how = { .policies = job->policies,
					     .n_policies = job->n_policies,
					     .progress = ui_progress_update,
					     .progress_arg = &progress };
	enum zr_err err;

	if (!timeline)
		return no_memory(job);
	ui_progress_begin(&progress, "following");
	err = play_timeline(job->trace, &how, timeline);
	ui_progress_end(&progress);
	job->report.timeline = timeline;
	return err;
}

static enum zr_err explain(struct job *job)
{
	const struct play_explain **explains =
		zr_arena_array(job->call->arena, job->n_policies, sizeof(*explains));
	struct ui_progress progress;
	struct play_explain_options how = { .progress = ui_progress_update, .progress_arg = &progress };
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < job->n_policies && !err; i++) {
		struct play_explain *one = zr_arena_alloc(job->call->arena, sizeof(*one));

		if (!one || !explains)
			return no_memory(job);
		how.policy = job->policies[i];
		ui_progress_begin(&progress, "explaining");
		err = play_explain(job->trace, &how, one);
		ui_progress_end(&progress);
		explains[i] = one;
	}
	job->report.explains = explains;
	return err;
}

static enum zr_err describe(struct job *job)
{
	struct ui_report *report = &job->report;
	struct zr_arena *arena = job->call->arena;
	uint32_t host = report->timeline->host;
	enum zr_err err = db_summarise(job->trace, &report->sum);

	if (!err)
		err = db_env_all(job->trace, arena, &report->env, &report->n_env);
	if (!err)
		err = db_areas(job->trace, host, arena, &report->areas, &report->n_areas);
	return err ? err : db_memcgs(job->trace, host, arena, &report->memcgs, &report->n_memcgs);
}

/* -------------------------------------------------------------------------------------------- output */

/* A trace, or anything else that is no page, is not overwritten by a slip of the hand. */
static enum zr_err check_output(const char *path)
{
	static const char begin[] = "<!DOCTYPE html>";
	char head[sizeof(begin)] = "";
	struct stat st;
	FILE *file;
	size_t n;

	if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return ZR_OK;
	file = fopen(path, "r");
	if (!file)
		return zr_fail_errno(errno, "looking at %s before it is replaced", path);
	n = fread(head, 1, sizeof(begin) - 1, file);
	fclose(file);
	if (n == sizeof(begin) - 1 && memcmp(head, begin, n) == 0)
		return ZR_OK;
	return zr_fail(ZR_EXISTS, "%s is there already and is not a page; name another file with -o", path);
}

static enum zr_err write_file(const char *path, const char *text, size_t bytes)
{
	char *part = NULL;
	enum zr_err err = ZR_OK;
	FILE *file;

	if (asprintf(&part, "%s.part", path) < 0)
		return zr_fail(ZR_NOMEM, "writing %s: out of memory", path);
	file = fopen(part, "w");
	if (!file)
		err = zr_fail_errno(errno, "making %s", part);
	else if (fwrite(text, 1, bytes, file) != bytes || fflush(file) != 0)
		err = zr_fail_errno(errno, "writing %s", part);
	if (file && fclose(file) != 0 && !err)
		err = zr_fail_errno(errno, "writing %s", part);
	if (!err && rename(part, path) != 0)
		err = zr_fail_errno(errno, "renaming %s to %s", part, path);
	if (err && file)
		unlink(part);
	free(part);
	return err;
}

static enum zr_err write_page(struct job *job)
{
	const char *path = job->values->output;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	enum zr_err err;

	if (!out)
		return no_memory(job);
	err = ui_report_write(&job->report, job->call->arena, out);
	if (fclose(out) != 0 && !err)
		err = no_memory(job);
	if (!err && strcmp(path, "-") == 0)
		fwrite(text, 1, bytes, stdout);
	else if (!err)
		err = write_file(path, text, bytes);
	free(text);
	return err;
}

/* ----------------------------------------------------------------------------------------------- run */

static enum zr_err report_on(struct job *job)
{
	const char *path = job->call->operands[0], *slash = strrchr(path, '/');
	enum zr_err err;

	job->report.name = slash ? slash + 1 : path;
	job->report.trace_id = db_trace_id(job->trace);
	job->report.complete = db_is_complete(job->trace);
	err = load_runs(job);
	if (!err)
		err = choose_policies(job);
	if (!err)
		err = follow(job);
	if (!err)
		err = explain(job);
	if (!err)
		err = describe(job);
	return err ? err : write_page(job);
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct job *job = zr_arena_alloc(call->arena, sizeof(*job));
	enum zr_err err, closed;

	if (!values->output)
		return zr_fail(ZR_USAGE, "-o FILE is missing: the page to write, or - for standard output");
	if (!job)
		return zr_fail(ZR_NOMEM, "reporting on %s: out of memory", call->operands[0]);
	*job = (struct job){ .call = call, .values = values };
	ui_stop_catch();
	err = check_output(values->output);
	if (!err)
		err = db_open(call->operands[0], DB_READ, &job->trace);
	if (err)
		return err;
	err = report_on(job);
	closed = db_close(job->trace);
	return err ? err : closed;
}

const struct ui_command ui_cmd_report = {
	.name = "report",
	.summary = "write a trace, its runs and why they differ as one HTML page",
	.operands = "FILE",
	.about =
		"Writes one page that needs nothing else, neither network nor script: where the trace was taken,\n"
		"the comparison of its runs, charts of its course and of what each policy makes of it, what\n"
		"explain says of each, and how sure one can be. The same input gives the same bytes.\n"
		"The runs are those of -p, replayed now (planned I/O), and those stored in --runs FILE; without\n"
		"both those stored in the trace; and if there are none, unbatched, batched and plugged.",
	.example = "  zreel report compile.zr -o compile.html\n"
		   "  zreel report compile.zr -p batched -p batched+pool=10% -o pool.html",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
