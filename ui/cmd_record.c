/* SPDX-License-Identifier: MIT */
/* zreel record: from the running kernel into a trace, with a live status line on a terminal. */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/select.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *output, *events, *clock;
	int source, time_resolution;
	struct ui_list cgroups, triggers;
	uint64_t duration_ns, ring_bytes, max_bytes, max_mem_bytes, flight_ns;
	bool with_comm, anonymize, own_tasks, recover, json;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, MEMBER(output), "FILE", "the trace to write; must not exist" },
	{ "source", 's', UI_CHOICE, MEMBER(source), "auto|ftrace|perf|block",
	  "how to get at the kernel's events: the first that works, or a certain one" },
	{ "events", 0, UI_TEXT, MEMBER(events), "GROUP",
	  "perf: use the dynamic events of this group, which exist already" },
	{ "cgroup", 'c', UI_LIST, MEMBER(cgroups), "PATH",
	  "watch this cgroup (several -c: several); CMD runs in the first" },
	{ "own-tasks", 0, UI_FLAG, MEMBER(own_tasks), NULL,
	  "perf: only what tasks of these cgroups do themselves" },
	{ "duration", 'd', UI_SPAN, MEMBER(duration_ns), "TIME", "stop after this time (90, 1.5s, 2m)" },
	{ "ring-size", 0, UI_BYTES, MEMBER(ring_bytes), "BYTES", "ring buffer of each CPU (8M)" },
	UI_TIME_RESOLUTION(values, time_resolution),
	{ "max-size", 0, UI_BYTES, MEMBER(max_bytes), "BYTES", "stop when the file has grown to this" },
	{ "max-mem", 0, UI_BYTES, MEMBER(max_mem_bytes), "BYTES",
	  "memory of rings, queues and flight recorder together (256M)" },
	{ "clock", 0, UI_TEXT, MEMBER(clock), "NAME",
	  "trace clock: mono (default), boot, local, global, perf ..." },
	{ "flight", 0, UI_SPAN, MEMBER(flight_ns), "TIME",
	  "keep the last minutes in memory and write them on SIGUSR1" },
	{ "trigger", 0, UI_LIST, MEMBER(triggers), "COND",
	  "... or when this becomes true: 'psi.io.full>20', 'vmstat.pswpout>1000'" },
	{ "with-comm", 0, UI_FLAG, MEMBER(with_comm), NULL, "also record the names of tasks" },
	{ "anonymize", 0, UI_FLAG, MEMBER(anonymize), NULL,
	  "hide the names of cgroups, files, the host and CMD" },
	{ "recover", 0, UI_FLAG, MEMBER(recover), NULL,
	  "remove what killed recorders left in tracefs, and end" },
	{ "json", 0, UI_FLAG, MEMBER(json), NULL, "print the totals as JSON" },
	{ 0 },
};

/* Counted up by SIGUSR1. */
static volatile int dump_count;

static void count_dump([[maybe_unused]] int number)
{
	dump_count = dump_count + 1;
}

/* What is on the terminal, and what it was when it was drawn last: rates are of the time between. */
struct line {
	bool on, shown;
	struct rec_status last;
};

static double rate(uint64_t now, uint64_t before, uint64_t elapsed_ns)
{
	return elapsed_ns && now > before ? (double)(now - before) * 1e9 / (double)elapsed_ns : 0;
}

static void status_line(void *arg, const struct rec_status *status)
{
	struct line *line = arg;
	const struct rec_status *last = &line->last;
	uint64_t ns = status->elapsed_ns - last->elapsed_ns;

	fprintf(stderr, "\rrecording %s  %s events/s  out %s/s in %s/s  pool %s  %s written",
		ui_clock(status->elapsed_ns).text,
		ui_count((uint64_t)rate(status->raw_events, last->raw_events, ns)).text,
		ui_count((uint64_t)rate(status->pages_out, last->pages_out, ns)).text,
		ui_count((uint64_t)rate(status->pages_in, last->pages_in, ns)).text,
		ui_bytes(status->pool_bytes).text, ui_bytes(status->chunk_bytes).text);
	if (status->lost)
		fprintf(stderr, "  LOST %s", ui_count(status->lost).text);
	fputs("\033[K", stderr);
	fflush(stderr);
	line->shown = true;
	line->last = *status;
}

static void clear_line(struct line *line)
{
	if (line->shown)
		fputs("\r\033[K", stderr);
	line->shown = false;
}

static void tell_dump(void *arg, const char *path, const char *error)
{
	clear_line(arg);
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
	struct line line = { .on = isatty(STDERR_FILENO) };
	struct rec_options how = {
		.output = values->output,
		.source = (enum rec_source_kind)values->source,
		.events = values->events,
		.clock = values->clock,
		.cgroups = values->cgroups.items,
		.n_cgroups = values->cgroups.n,
		.command = call->n_operands ? call->operands : NULL,
		.duration_ns = values->duration_ns,
		.ring_bytes = values->ring_bytes,
		.max_bytes = values->max_bytes,
		.time_unit_ns = ui_time_unit_ns(values->time_resolution),
		.max_mem_bytes = values->max_mem_bytes,
		.with_comm = values->with_comm,
		.anonymize = values->anonymize,
		.own_tasks = values->own_tasks,
		.flight_ns = values->flight_ns,
		.triggers = values->triggers.items,
		.n_triggers = values->triggers.n,
		.dump = &dump_count,
		.dumped = tell_dump,
		.status = line.on ? status_line : NULL,
		.status_arg = &line,
		.stop = ui_stop_catch(),
	};
	enum zr_err err;

	catch_dumps();
	err = rec_record(&how, out);
	clear_line(&line);
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
