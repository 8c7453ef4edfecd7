/* SPDX-License-Identifier: MIT */
/* zreel-record: the recorder alone, without importers, for hosts where nothing else of zreel is
 * wanted. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/recorder.h"

enum { MAX_CGROUPS = 64, MAX_TRIGGERS = 16 };

/* Set by the signal handler. */
static volatile int stop;

/* Counted up by it: the user wants the flight recorder written. */
static volatile int dump;

static const char usage_text[] =
	"usage: zreel-record -o FILE [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"\n"
	"Records swap and zswap traffic of the running kernel into the trace FILE, until COMMAND "
	"ends,\n"
	"the duration is over, or a signal (Ctrl-C) comes. Needs root, or CAP_PERFMON where the "
	"probes\n"
	"exist already.\n"
	"\n"
	"  -o, --output FILE      the trace; must not exist yet\n"
	"  -s, --source SOURCE    auto, ftrace, perf, block (auto)\n"
	"      --events GROUP     perf: dynamic events that exist already\n"
	"  -g, --cgroup PATH      only this cgroup and those below it; may be repeated. COMMAND "
	"runs\n"
	"                         in the first\n"
	"      --own-tasks        perf: only what tasks of these cgroups do themselves\n"
	"  -d, --duration SECONDS ends after so long\n"
	"  -r, --ring SIZE        ring buffer of each CPU, with K, M or G (8M)\n"
	"      --clock NAME       trace clock (mono)\n"
	"      --time-resolution UNIT  times in ns, us or ms (ns); us saves a byte an event\n"
	"      --max-size SIZE    ends when the trace has grown so large\n"
	"      --max-mem SIZE     of rings, queues and flight recorder together (256M)\n"
	"      --flight SECONDS   keeps the last SECONDS in memory and writes them on SIGUSR1\n"
	"      --trigger COND     ... or when COND becomes true: 'psi.io.full>20', "
	"'vmstat.pswpout>1000'\n"
	"      --with-comm        records the names of tasks too\n"
	"      --anonymize        hides names of cgroups, files, the host and COMMAND\n"
	"      --recover          removes what killed recorders left in tracefs, and ends\n"
	"      --json             the totals as JSON, on standard output\n"
	"  -q, --quiet            no summary\n"
	"  -h, --help             this\n"
	"\n"
	"example: zreel-record -o t.zr --cgroup /sys/fs/cgroup/job -- make -j4\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not permitted or not "
	"supported here.\n";

struct arguments {
	struct rec_options record;
	const char *cgroups[MAX_CGROUPS], *triggers[MAX_TRIGGERS];
	bool quiet, help, json, recover;
};

static void on_signal(int number)
{
	stop = number;
}

static void on_user_signal([[maybe_unused]] int number)
{
	dump = dump + 1;
}

static bool parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno || end == text || *text == '-')
		return false;
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (!*end)
		return true;
	if (!unit || end[1])
		return false;
	return !__builtin_mul_overflow(*out, UINT64_C(1) << 10 * (unit - units + 1), out);
}

static bool parse_seconds(const char *text, uint64_t *out)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > 1e9)
		return false;
	*out = (uint64_t)(seconds * 1e9);
	return true;
}

enum {
	OPTION_MAX_SIZE = 256,
	OPTION_MAX_MEM,
	OPTION_WITH_COMM,
	OPTION_ANONYMIZE,
	OPTION_EVENTS,
	OPTION_OWN_TASKS,
	OPTION_CLOCK,
	OPTION_FLIGHT,
	OPTION_TRIGGER,
	OPTION_RECOVER,
	OPTION_JSON,
	OPTION_TIME_RESOLUTION,
};

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "cgroup", required_argument, NULL, 'g' },
	{ "duration", required_argument, NULL, 'd' },
	{ "ring", required_argument, NULL, 'r' },
	{ "source", required_argument, NULL, 's' },
	{ "events", required_argument, NULL, OPTION_EVENTS },
	{ "own-tasks", no_argument, NULL, OPTION_OWN_TASKS },
	{ "clock", required_argument, NULL, OPTION_CLOCK },
	{ "time-resolution", required_argument, NULL, OPTION_TIME_RESOLUTION },
	{ "max-size", required_argument, NULL, OPTION_MAX_SIZE },
	{ "max-mem", required_argument, NULL, OPTION_MAX_MEM },
	{ "flight", required_argument, NULL, OPTION_FLIGHT },
	{ "trigger", required_argument, NULL, OPTION_TRIGGER },
	{ "with-comm", no_argument, NULL, OPTION_WITH_COMM },
	{ "anonymize", no_argument, NULL, OPTION_ANONYMIZE },
	{ "recover", no_argument, NULL, OPTION_RECOVER },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static enum zr_err bad_value(const char *option, const char *value)
{
	return zr_fail(ZR_USAGE, "%s: \"%s\" is not understood; see --help", option, value);
}

static enum zr_err take_size(const char *option, const char *value, uint64_t *out)
{
	return parse_size(value, out) ? ZR_OK : bad_value(option, value);
}

static enum zr_err take_seconds(const char *option, const char *value, uint64_t *out)
{
	return parse_seconds(value, out) ? ZR_OK : bad_value(option, value);
}

static enum zr_err take_unit(const char *value, uint32_t *out)
{
	static const char *const names[] = { "ns", "us", "ms" };

	*out = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++, *out *= 1000)
		if (!strcmp(value, names[i]))
			return ZR_OK;
	return zr_fail(ZR_USAGE, "--time-resolution: \"%s\" is none of ns, us, ms", value);
}

static enum zr_err take_text(struct arguments *args, int option, const char *value)
{
	struct rec_options *record = &args->record;

	switch (option) {
	case 'o':
		record->output = value;
		return ZR_OK;
	case 's':
		return rec_source_parse(value, &record->source);
	case OPTION_EVENTS:
		record->events = value;
		return ZR_OK;
	case OPTION_CLOCK:
		record->clock = value;
		return ZR_OK;
	case OPTION_TIME_RESOLUTION:
		return take_unit(value, &record->time_unit_ns);
	case 'g':
		if (record->n_cgroups == MAX_CGROUPS)
			return zr_fail(ZR_USAGE, "--cgroup: at most %d times", MAX_CGROUPS);
		args->cgroups[record->n_cgroups++] = value;
		return ZR_OK;
	case OPTION_TRIGGER:
		if (record->n_triggers == MAX_TRIGGERS)
			return zr_fail(ZR_USAGE, "--trigger: at most %d times", MAX_TRIGGERS);
		args->triggers[record->n_triggers++] = value;
		return ZR_OK;
	default:
		return zr_fail(ZR_USAGE, "see zreel-record --help");
	}
}

static bool *flag_of(struct arguments *args, int option)
{
	switch (option) {
	case OPTION_WITH_COMM:
		return &args->record.with_comm;
	case OPTION_ANONYMIZE:
		return &args->record.anonymize;
	case OPTION_OWN_TASKS:
		return &args->record.own_tasks;
	case OPTION_RECOVER:
		return &args->recover;
	case OPTION_JSON:
		return &args->json;
	case 'q':
		return &args->quiet;
	case 'h':
		return &args->help;
	default:
		return NULL;
	}
}

static enum zr_err take_option(struct arguments *args, int option, const char *value)
{
	struct rec_options *record = &args->record;
	bool *flag = flag_of(args, option);

	if (flag) {
		*flag = true;
		return ZR_OK;
	}
	switch (option) {
	case 'd':
		return take_seconds("--duration", value, &record->duration_ns);
	case OPTION_FLIGHT:
		return take_seconds("--flight", value, &record->flight_ns);
	case 'r':
		return take_size("--ring", value, &record->ring_bytes);
	case OPTION_MAX_SIZE:
		return take_size("--max-size", value, &record->max_bytes);
	case OPTION_MAX_MEM:
		return take_size("--max-mem", value, &record->max_mem_bytes);
	default:
		return take_text(args, option, value);
	}
}

static enum zr_err parse(int argc, char **argv, struct arguments *args)
{
	int option;
	enum zr_err err = ZR_OK;

	args->record.cgroups = args->cgroups;
	args->record.triggers = args->triggers;
	while (!err &&
	       (option = getopt_long(argc, argv, "+o:s:g:d:r:qh", long_options, NULL)) != -1)
		err = take_option(args, option, optarg);
	if (err || args->help || args->recover)
		return err;
	if (optind < argc)
		args->record.command = argv + optind;
	if (!args->record.output)
		return zr_fail(ZR_USAGE, "no output: say -o FILE; see --help");
	return ZR_OK;
}

static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const struct sigaction user = { .sa_handler = on_user_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGUSR1, &user, NULL);
}

static int exit_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
}

static void on_dump([[maybe_unused]] void *arg, const char *path, const char *error)
{
	fprintf(stderr, error ? "zreel-record: %s was not written: %s\n" : "%s: written\n", path,
		error);
}

static void print_json(const struct rec_result *result)
{
	printf("{\"source\": \"%s\", \"events\": %llu, \"raw_events\": %llu, \"lost_events\": "
	       "%llu, "
	       "\"ring_lost\": %llu, \"probe_missed\": %llu, \"chunk_bytes\": %llu, "
	       "\"elapsed_ns\": %llu, \"cpu_seconds\": %.3f, \"start_cpu_seconds\": %.3f, "
	       "\"cpu_seconds_per_million_events\": %.4f, \"bytes_per_event\": %.3f, "
	       "\"dumps\": %u}\n",
	       result->source, (unsigned long long)result->total.events,
	       (unsigned long long)result->total.raw_events, (unsigned long long)result->total.lost,
	       (unsigned long long)result->ring_lost, (unsigned long long)result->probe_missed,
	       (unsigned long long)result->total.chunk_bytes,
	       (unsigned long long)result->total.elapsed_ns, result->cpu_seconds,
	       result->start_cpu_seconds, rec_cpu_per_million(result), rec_bytes_per_event(result),
	       result->dumps);
}

static void print_summary(const struct arguments *args, const struct rec_result *result)
{
	fprintf(stderr,
		"%s: %s, %llu events (%llu from the kernel), %llu lost, %llu bytes, %.1f s, %.2f s "
		"of "
		"processor time\n",
		args->record.output, result->source, (unsigned long long)result->total.events,
		(unsigned long long)result->total.raw_events,
		(unsigned long long)result->total.lost,
		(unsigned long long)result->total.chunk_bytes,
		(double)result->total.elapsed_ns / 1e9, result->cpu_seconds);
	if (args->record.command && !stop && exit_status(result->command_status))
		fprintf(stderr, "zreel-record: %s ended with status %d\n", args->record.command[0],
			exit_status(result->command_status));
}

static enum zr_err record(struct arguments *args)
{
	struct rec_result result;
	enum zr_err err;

	catch_signals();
	args->record.stop = &stop;
	args->record.dump = &dump;
	args->record.dumped = args->quiet ? NULL : on_dump;
	err = rec_record(&args->record, &result);
	if (err)
		return err;
	if (args->json)
		print_json(&result);
	else if (!args->quiet)
		print_summary(args, &result);
	return ZR_OK;
}

static enum zr_err recover(void)
{
	struct rec_recovered found;
	enum zr_err err = rec_recover(&found);

	if (!err)
		printf("removed %u instances and %u events of recorders that were killed; %u could "
		       "not "
		       "be removed\n",
		       found.instances, found.events, found.refused);
	return err;
}

int main(int argc, char **argv)
{
	struct arguments args = { 0 };
	enum zr_err err = parse(argc, argv, &args);

	if (!err && args.help) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (!err)
		err = args.recover ? recover() : record(&args);
	if (err)
		fprintf(stderr, "zreel-record: %s\n", zr_error_text());
	return zr_err_class(err);
}
