/* SPDX-License-Identifier: MIT */
/* zreel record: from the running kernel into a trace, with a live status line on a terminal. */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/status.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	REC_ARGUMENT_MEMBERS(struct ui_list);
};

static const struct ui_option options[] = {
#define X(kind, letter, name, member, value, help)                                                 \
	{ name, letter, UI_##kind, offsetof(struct values, member), value, help },
	REC_ARGUMENTS(X)
#undef X
	{ 0 },
};

/* Counted up by SIGUSR1. */
static volatile int dump_count;

static void count_dump([[maybe_unused]] int number)
{
	dump_count = dump_count + 1;
}

static void tell_dump(void *arg, const char *path, const char *error)
{
	ui_status_clear(arg);
	ui_put_clean(stderr, path);
	if (error)
		fprintf(stderr, " was not written: %s\n", error);
	else
		fputs(": written\n", stderr);
}

static void print_json(const struct rec_result *result, const char *output)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", output);
	ui_json_text(&json, "source", result->source);
	ui_json_count(&json, "events", result->total.events);
	ui_json_count(&json, "raw_events", result->total.raw_events);
	ui_json_count(&json, "lost_events", result->total.lost);
	ui_json_count(&json, "ring_lost", result->ring_lost);
	ui_json_count(&json, "probe_missed", result->probe_missed);
	ui_json_count(&json, "reader_lost", result->reader_lost);
	ui_json_count(&json, "chunk_bytes", result->total.chunk_bytes);
	ui_json_count(&json, "elapsed_ns", result->total.elapsed_ns);
	ui_json_number(&json, "cpu_seconds", result->cpu_seconds);
	ui_json_number(&json, "start_cpu_seconds", result->start_cpu_seconds);
	ui_json_number(&json, "cpu_seconds_per_million_events", rec_cpu_per_million(result));
	ui_json_number(&json, "bytes_per_event", rec_bytes_per_event(result));
	ui_json_count(&json, "dumps", result->dumps);
	ui_json_number(&json, "command_status", result->command_status);
	ui_json_end_object(&json);
}

static void print_text(const struct rec_result *result, const char *output)
{
	ui_put_clean(stdout, output);
	printf(": %s events through %s in %s, %s; the recorder took %.2f s of CPU\n",
	       ui_count(result->total.events).text, result->source, ui_span(result->total.elapsed_ns).text,
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

static void catch_dumps(void)
{
	const struct sigaction action = { .sa_handler = count_dump };

	sigaction(SIGUSR1, &action, NULL);
}

static enum zr_err record(const struct ui_call *call, struct rec_result *out)
{
	const struct values *values = call->values;
	struct ui_status line = ui_status_on(stderr);
	struct rec_options how = {
		REC_ARGUMENT_OPTIONS(values),
		.command = call->n_operands ? call->operands : NULL,
		.dump = &dump_count,
		.dumped = tell_dump,
		.status = line.on ? ui_status_update : NULL,
		.status_arg = &line,
		.stop = ui_stop_catch(),
	};
	enum zr_err err;

	catch_dumps();
	err = rec_record(&how, out);
	ui_status_clear(&line);
	return err;
}

static enum zr_err recover(void)
{
	struct rec_recovered found;
	enum zr_err err = rec_recover(&found);

	if (!err)
		printf("removed %u instances and %u events of recorders that were killed; %u could not "
		       "be removed\n",
		       found.instances, found.events, found.refused);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct rec_result result = { 0 };
	enum zr_err err;

	if (values->recover)
		return recover();
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
		"Records swap-outs, refaults, frees and zswap writebacks of the running kernel, until CMD ends,\n"
		"the duration is over, or Ctrl-C. Source ftrace needs root; perf needs CAP_PERFMON if the\n"
		"probes exist already (doctor --print-probes); block does without probes: requests of the swap\n"
		"device, which is all with zswap off and the disk half with it on. Everything that is changed\n"
		"in tracefs is undone on every way out; --recover undoes it after a kill -9.",
	.example = "  zreel record -o build.zr --cgroup /build -- make -j4\n"
		   "  zreel record -o minute.zr --duration 60\n"
		   "  zreel record -o stall.zr --flight 10m --trigger 'psi.io.full>20'",
	.options = options,
	.values_bytes = sizeof(struct values),
	.max_operands = -1,
	.passes_command = true,
	.run = run,
};
