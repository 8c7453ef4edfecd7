/* SPDX-License-Identifier: MIT */
/* zreel replay: a trace under one or more policies; the results go into a file for `zreel compare`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/recorder.h"
#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/results.h"
#include "ui/stop.h"
#include "ui/study.h"
#include "ui/text.h"

struct values {
	struct ui_list policies;
	struct ui_target target;
	const char *runs, *yes_destroy, *corpus, *device_model, *pace, *neighbour, *study;
	uint32_t reps, jobs;
	int drive, cgroup;
	bool check_block;
	bool no_cpu, no_warm_up, this_host, list_policies, json;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "policy", 'p', UI_LIST, MEMBER(policies), "POLICY",
	  "a preset and knobs, as in batched+pool=10%; may be repeated" },
	{ "on", 0, UI_TARGET, MEMBER(target), "null|model|device PATH|kernel",
	  "where the I/O goes: planned only (null), a modelled device in virtual time, or really done" },
	{ "pace", 0, UI_TEXT, MEMBER(pace), "PACE",
	  "asap, recorded, scaled:X or closed (model: closed, kernel: recorded, else asap)" },
	{ "device-model", 0, UI_TEXT, MEMBER(device_model), "MODEL",
	  "a built-in device or calibrated:FILE[#NAME], and knobs: ssd+channels=4; model only (ssd)" },
	{ "neighbour", 0, UI_TEXT, MEMBER(neighbour), "WORDS",
	  "who else uses the device, as in 'randwrite bs=4k iodepth=32 weight=10x'" },
	{ "study", 0, UI_TEXT, MEMBER(study), "NAME",
	  "redo a study: batch, plug, memcg-batch or shrink-enabled; its policies, on model" },
	{ "runs", 'r', UI_TEXT, MEMBER(runs), "FILE",
	  "store the results there and leave the trace alone" },
	{ "reps", 'n', UI_COUNT, MEMBER(reps), "N", "repetitions on a device or kernel, for mean and spread (1)" },
	{ "no-warm-up", 0, UI_FLAG, MEMBER(no_warm_up), NULL,
	  "with --reps on a device, leave out the round that comes before them and is not kept" },
	{ "drive", 0, UI_CHOICE, MEMBER(drive), "demand|writebacks",
	  "recompute who is written back and when, or keep it as recorded (demand)" },
	{ "jobs", 'j', UI_COUNT, MEMBER(jobs), "N", "threads that share the policies on null and model (1)" },
	{ "yes-destroy", 0, UI_TEXT, MEMBER(yes_destroy), "DEV",
	  "name the block device again: what it holds is lost" },
	{ "i-mean-this-host", 0, UI_FLAG, MEMBER(this_host), NULL,
	  "on kernel: swap on this machine although it is no virtual one" },
	{ "no-cpu", 0, UI_FLAG, MEMBER(no_cpu), NULL, "do the I/O without the decompression work" },
	{ "corpus", 0, UI_TEXT, MEMBER(corpus), "FILE",
	  "draw the pages that a device run compresses from FILE, by recorded length" },
	{ "check-block", 0, UI_FLAG, MEMBER(check_block), NULL,
	  "hold a block device's statistics against its block tracepoints, after each pass" },
	{ "cgroup", 0, UI_CHOICE, MEMBER(cgroup), "auto|on|off",
	  "count bios and pressure in a control group of its own; auto: on block devices" },
	{ "policies", 0, UI_FLAG, MEMBER(list_policies), NULL, "list the presets and knobs, and end" },
	{ "json", 0, UI_FLAG, MEMBER(json), NULL, "print the results as JSON, as compare does" },
	{ 0 },
};

static const char *const default_policies[] = { "unbatched", "batched", "plugged" };
/* The running kernel has its own ways; only its settings can be chosen. */
static const char *const kernel_policies[] = { "as-recorded" };

static void list_device_models(void)
{
	const struct play_word *word;

	puts("\nDevice models (--device-model), which are models and no measurements:");
	for (uint32_t i = 0; (word = play_time_preset(i)); i++)
		printf("  %-14s %s\n", word->name, word->help);
	printf("  %-14s %s\n", "calibrated:FILE", "the last drive in FILE, or #NAME of it, as zreel calibrate measured it");
	puts("\nKnobs of a device model, appended with +:");
	for (word = play_time_knobs(); word->name; word++)
		printf("  %-20s %s\n", word->name, word->help);
}

static void list_policies(void)
{
	puts("Presets:");
	for (const struct sim_preset *p = sim_presets(); p->name; p++)
		printf("  %-14s %s\n  %-14s   = %s\n", p->name, p->help, "", p->knobs);
	puts("\nKnobs, appended with +:");
	for (const struct sim_knob_help *k = sim_knobs(); k->name; k++)
		printf("  %-16s %-22s %s\n", k->name, k->values, k->help);
	list_device_models();
}

/* A study is about time; else counts are what is asked for. */
static enum play_target target_of(const struct values *values)
{
	const char *kind = values->target.kind ? values->target.kind : values->study ? "model" : "null";

	if (values->target.device)
		return PLAY_DEVICE;
	if (strcmp(kind, "kernel") == 0)
		return PLAY_KERNEL;
	return strcmp(kind, "model") == 0 ? PLAY_MODEL : PLAY_NULL;
}

/* The policies that were asked for, a study's, or the default ones, all of them understood. */
static enum zr_err choose_policies(const struct values *values, const struct study *study,
				   struct ui_list *out)
{
	*out = values->policies;
	if (study && out->n)
		return zr_fail(ZR_USAGE, "--study %s has its own policies; leave out -p", study->name);
	if (study) {
		out->items = (const char **)study->policies;
		out->n = ui_study_policies(study);
	} else if (out->n == 0 && target_of(values) == PLAY_KERNEL) {
		out->items = (const char **)kernel_policies;
		out->n = 1;
	} else if (out->n == 0) {
		out->items = (const char **)default_policies;
		out->n = sizeof(default_policies) / sizeof(default_policies[0]);
	}
	for (uint32_t i = 0; i < out->n; i++) {
		struct sim_policy policy;
		enum zr_err err = sim_policy_parse(out->items[i], &policy);

		if (err)
			return err;
	}
	return ZR_OK;
}

static int64_t last_run(const struct ui_results *results)
{
	int64_t last = 0;

	for (uint32_t i = 0; i < results->n; i++)
		if (results->runs[i].run.id > last)
			last = results->runs[i].run.id;
	return last;
}

static void print_line(const struct ui_run *run)
{
	const struct ui_figure *pages = ui_run_figure(run, "pages_per_write_request");
	const struct ui_figure *requests = ui_run_figure(run, "write_requests");

	int pad = 24 - ui_text_width(run->run.policy, ui_locale_is_ascii());

	ui_put_clean(stdout, run->run.policy);
	printf("%*s", pad > 0 ? pad : 0, "");
	if (requests)
		printf(" %14s write requests (%s)", ui_number(requests->sample.mean, 0).text,
		       ui_figure_how_text(requests->how));
	if (pages)
		printf(", %s pages each", ui_number(pages->sample.mean, 2).text);
	puts(run->run.partial ? ", ended early" : "");
}

/* A path in a hint is typed back into a shell. */
static void put_quoted(const char *path)
{
	bool plain = path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				       "-_./+,:@%=")] == '\0';

	if (!plain)
		putchar('\'');
	ui_put_clean(stdout, path);
	if (!plain)
		putchar('\'');
}

static void print_runs(const struct ui_results *results, const char *path)
{
	for (uint32_t i = 0; i < results->n; i++)
		print_line(&results->runs[i]);
	printf("\n%u runs stored; see them side by side: zreel compare ", results->n);
	put_quoted(path);
	putchar('\n');
}

static void say(void *arg, const char *text)
{
	(void)arg;
	fputs("zreel replay: ", stderr);
	ui_put_clean(stderr, text);
	fputc('\n', stderr);
}

static enum zr_err read_pace(const struct values *values, struct play_options *how)
{
	how->pace = how->target == PLAY_MODEL  ? PLAY_CLOSED :
		    how->target == PLAY_KERNEL ? PLAY_RECORDED :
						 PLAY_ASAP;
	return values->pace ? play_pace_parse(values->pace, &how->pace, &how->speed) : ZR_OK;
}

static enum zr_err read_block_count(void *arg, struct play_traced *out)
{
	struct rec_block_writes writes;
	enum zr_err err = rec_block_count_read(arg, &writes);

	*out = (struct play_traced){ .write_requests = writes.requests, .write_merges = writes.merges };
	return err;
}

/* Counts as long as the replay takes. */
static enum zr_err begin_block_check(const struct values *values, struct play_options *how)
{
	struct rec_block_count *count;
	enum zr_err err;

	if (!values->check_block)
		return ZR_OK;
	if (how->target != PLAY_DEVICE)
		return zr_fail(ZR_USAGE, "--check-block is for --on device, where there are tracepoints to count");
	err = rec_block_count_open(how->device, &count);
	if (err)
		return err;
	how->traced = read_block_count;
	how->traced_arg = count;
	return ZR_OK;
}

/* What the workload was, if the trace was generated: in the arena, or NULL. */
static enum zr_err read_workload(struct db *trace, struct zr_arena *arena, const char **out)
{
	return db_env_get(trace, 0, "gen.workload", arena, out);
}

static enum zr_err replay_case(struct db *trace, struct db *results, const struct play_options *asked,
			       const struct study *study, const struct study_case *it)
{
	struct play_options how = *asked;
	char note[96], model[256];

	ui_study_note(study, it, note, sizeof(note));
	how.note = note;
	if (it->model[0]) {
		snprintf(model, sizeof(model), "%s%s", asked->time_model ? asked->time_model : "ssd",
			 it->model);
		how.time_model = model;
	}
	return play_replay(trace, results, &how);
}

/* A case that differs in what else goes on at the device can be redone on a modelled one only. */
static enum zr_err replay_study(struct db *trace, struct db *results, const struct play_options *asked,
				const struct study *study, const char *workload)
{
	enum zr_err err = ZR_OK;

	for (const struct study_case *it = study->cases; it->name && !err; it++)
		if (ui_study_wants(study, it, workload) &&
		    (!it->model[0] || asked->target == PLAY_MODEL))
			err = replay_case(trace, results, asked, study, it);
	return err;
}

static enum zr_err replay_all(struct db *trace, struct db *results, const struct play_options *asked,
			      const struct study *study, struct zr_arena *arena)
{
	const char *workload;
	enum zr_err err;

	if (!study)
		return play_replay(trace, results, asked);
	err = read_workload(trace, arena, &workload);
	return err ? err : replay_study(trace, results, asked, study, workload);
}

static enum zr_err show(const struct values *values, struct ui_results *made, const char *path,
			struct zr_arena *arena)
{
	ui_results_group(made, &(struct ui_grouping){ .all = true });
	if (values->json)
		ui_results_print_json(made, stdout);
	else
		print_runs(made, path);
	return values->study && !values->json ?
		       ui_studies_print(made, arena, ui_columns(STDOUT_FILENO, 120)) :
		       ZR_OK;
}

static enum zr_err replay(struct db *trace, struct db *results, const struct ui_call *call,
			  const struct ui_list *policies, const struct study *study)
{
	const struct values *values = call->values;
	struct ui_results before = { 0 }, made = { 0 };
	struct ui_progress progress;
	struct play_options how = {
		.policies = policies->items,
		.n_policies = policies->n,
		.target = target_of(values),
		.time_model = values->device_model,
		.neighbour = values->neighbour,
		.device = values->target.device,
		.yes_destroy = values->yes_destroy,
		.this_host = values->this_host,
		.no_cpu = values->no_cpu,
		.corpus = values->corpus,
		.cgroup = (enum play_cgroup)values->cgroup,
		.reps = values->reps,
		.warm_up = values->reps > 1 && !values->no_warm_up,
		.drive = values->drive ? SIM_DRIVE_WRITEBACKS : SIM_DRIVE_DEMAND,
		.jobs = values->jobs,
		.progress = ui_progress_update,
		.progress_arg = &progress,
		.say = say,
	};
	const volatile int *stop = ui_stop_catch();
	enum zr_err err = read_pace(values, &how);

	if (!err)
		err = ui_results_load(&before, results, 0, call->arena);
	if (!err)
		err = begin_block_check(values, &how);
	if (err)
		return err;
	ui_progress_begin(&progress, "replaying");
	err = replay_all(trace, results, &how, study, call->arena);
	ui_progress_end(&progress);
	rec_block_count_close(how.traced_arg);
	if (!err)
		err = ui_results_load(&made, results, last_run(&before), call->arena);
	if (!err)
		err = show(values, &made, db_path(results), call->arena);
	if (err)
		return err;
	if (*stop)
		return zr_fail(ZR_INTERRUPTED,
			       "interrupted; what was done is stored and marked as partial");
	return ZR_OK;
}

/* Without --runs the trace takes the results, and both handles are one. */
static enum zr_err open_and_replay(const struct ui_call *call, const struct ui_list *policies,
				   const struct study *study)
{
	const struct values *values = call->values;
	struct db *trace, *results = NULL;
	enum zr_err err = db_open(call->operands[0], values->runs ? DB_READ : DB_RESULTS, &trace);
	enum zr_err closed;

	if (err)
		return err;
	if (values->runs)
		err = db_open(values->runs, DB_RESULTS, &results);
	if (!err)
		err = replay(trace, results ? results : trace, call, policies, study);
	closed = db_close(results);
	if (!err)
		err = closed;
	closed = db_close(trace);
	return err ? err : closed;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	const struct study *study = NULL;
	struct ui_list policies;
	enum zr_err err = ZR_OK;

	if (values->list_policies) {
		list_policies();
		return ZR_OK;
	}
	if (call->n_operands == 0)
		return zr_fail(ZR_USAGE, "FILE is missing; usage: zreel replay [OPTION]... FILE");
	if (values->study)
		err = ui_study_find(values->study, &study);
	if (!err)
		err = choose_policies(values, study, &policies);
	if (err)
		return err;
	if (access(call->operands[0], F_OK) != 0)
		return zr_fail(ZR_NOT_FOUND, "opening %s: no such file", call->operands[0]);
	return open_and_replay(call, &policies, study);
}

const struct ui_command ui_cmd_replay = {
	.name = "replay",
	.summary = "run a trace under other policies",
	.operands = "FILE",
	.about =
		"Replays a trace through a model of the zswap pool under each policy, and stores the results\n"
		"in the trace, or in the file given with --runs. On the null target the I/O is planned and\n"
		"counted; on model it goes to a modelled device in virtual time; on a device (a file or a\n"
		"block device) it is done, and the kernel counts it; on kernel the running kernel's own swap is\n"
		"driven with the trace, as root, in a virtual machine (policies: as-recorded and settings, such\n"
		"as pool=10%). --study replays the policies of a published study and prints its table. Without\n"
		"-p: unbatched, batched, plugged; on kernel as-recorded.",
	.example =
		"  zreel replay compile.zr -p unbatched -p batched -p plugged\n"
		"  zreel replay compile.zr -p unbatched -p batched --on model --device-model ssd+channels=4\n"
		"  zreel replay kb.zr --study batch\n"
		"  zreel replay compile.zr -p batched+pool=10% --on device /tmp/swap.img --reps 5 --runs r.zr\n"
		"  zreel replay compile.zr --on kernel --reps 3 --runs kernel-a.zr",
	.options = options,
	.values_bytes = sizeof(struct values),
	.max_operands = 1,
	.run = run,
};
