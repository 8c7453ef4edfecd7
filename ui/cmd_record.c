/* SPDX-License-Identifier: MIT */
/* zreel record: from the running kernel into a trace, with a live status line on a terminal. */
#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *output;
	struct ui_list cgroups;
	uint64_t duration_ns, ring_bytes, max_bytes;
	bool with_comm, json;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, MEMBER(output), "FILE", "the trace to write; must not exist" },
	{ "cgroup", 'c', UI_LIST, MEMBER(cgroups), "PATH",
	  "watch this cgroup (several -c: several); CMD runs in the first" },
	{ "duration", 'd', UI_SPAN, MEMBER(duration_ns), "TIME", "stop after this time (90, 1.5s, 2m)" },
	{ "ring-size", 0, UI_BYTES, MEMBER(ring_bytes), "BYTES", "ring buffer of each CPU (8M)" },
	{ "max-size", 0, UI_BYTES, MEMBER(max_bytes), "BYTES", "stop when the file has grown to this" },
	{ "with-comm", 0, UI_FLAG, MEMBER(with_comm), NULL, "also record the names of tasks" },
	{ "json", 0, UI_FLAG, MEMBER(json), NULL, "print the totals as JSON" },
	{ 0 },
};

static void status_line(void *arg, const struct rec_status *status)
{
	bool *shown = arg;

	fprintf(stderr, "\rrecording %s  %s events  %s", ui_clock(status->elapsed_ns).text,
		ui_count(status->events).text, ui_bytes(status->chunk_bytes).text);
	if (status->lost)
		fprintf(stderr, "  LOST %s", ui_count(status->lost).text);
	fputs("  (Ctrl-C ends)\033[K", stderr);
	fflush(stderr);
	*shown = true;
}

static void print_json(const struct rec_result *result, const char *output)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", output);
	ui_json_count(&json, "events", result->total.events);
	ui_json_count(&json, "raw_events", result->total.raw_events);
	ui_json_count(&json, "lost_events", result->total.lost);
	ui_json_count(&json, "ring_lost", result->ring_lost);
	ui_json_count(&json, "probe_missed", result->probe_missed);
	ui_json_count(&json, "reader_lost", result->reader_lost);
	ui_json_count(&json, "chunk_bytes", result->total.chunk_bytes);
	ui_json_count(&json, "elapsed_ns", result->total.elapsed_ns);
	ui_json_number(&json, "cpu_seconds", result->cpu_seconds);
	ui_json_number(&json, "command_status", result->command_status);
	ui_json_end_object(&json);
}

static void print_text(const struct rec_result *result, const char *output)
{
	ui_put_clean(stdout, output);
	printf(": %s events in %s, %s; the recorder took %.2f s of CPU\n",
	       ui_count(result->total.events).text, ui_span(result->total.elapsed_ns).text,
	       ui_bytes(result->total.chunk_bytes).text, result->cpu_seconds);
	if (result->total.lost)
		printf("%s events were lost (ring buffer %s, probes %s, reader %s): a larger --ring-size "
		       "helps\n",
		       ui_count(result->total.lost).text, ui_count(result->ring_lost).text,
		       ui_count(result->probe_missed).text, ui_count(result->reader_lost).text);
}

/* The recording is good even if the command was not; its failure is told all the same. */
static enum zr_err judge_command(int status)
{
	if (WIFSIGNALED(status))
		return zr_fail(ZR_CHILD, "the command was ended by signal %d; the recording is complete",
			       WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return zr_fail(ZR_CHILD, "the command ended with status %d; the recording is complete",
			       WEXITSTATUS(status));
	return ZR_OK;
}

static enum zr_err record(const struct ui_call *call, struct rec_result *out)
{
	const struct values *values = call->values;
	bool shown = false;
	struct rec_options how = {
		.output = values->output,
		.cgroups = values->cgroups.items,
		.n_cgroups = values->cgroups.n,
		.command = call->n_operands ? call->operands : NULL,
		.duration_ns = values->duration_ns,
		.ring_bytes = values->ring_bytes,
		.max_bytes = values->max_bytes,
		.with_comm = values->with_comm,
		.status = isatty(STDERR_FILENO) ? status_line : NULL,
		.status_arg = &shown,
		.stop = ui_stop_catch(),
	};
	enum zr_err err = rec_record(&how, out);

	if (shown)
		fputs("\r\033[K", stderr);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct rec_result result = { 0 };
	enum zr_err err;

	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	err = record(call, &result);
	if (err)
		return err;
	if (values->json)
		print_json(&result, values->output);
	else
		print_text(&result, values->output);
	/* Ctrl-C reaches the command too: its death by it is what the user wanted. */
	return *ui_stop_catch() ? ZR_OK : judge_command(result.command_status);
}

const struct ui_command ui_cmd_record = {
	.name = "record",
	.summary = "record the swap traffic of this host",
	.operands = "[--] [CMD...]",
	.about =
		"Records swap-outs, refaults, frees and zswap writebacks of the running kernel through ftrace,\n"
		"until CMD ends, the duration is over, or Ctrl-C. Needs root and tracefs; everything that is\n"
		"changed in tracefs is undone on every way out.",
	.example = "  zreel record -o build.zr --cgroup /build -- make -j4\n"
		   "  zreel record -o minute.zr --duration 60",
	.options = options,
	.values_bytes = sizeof(struct values),
	.max_operands = -1,
	.passes_command = true,
	.run = run,
};
