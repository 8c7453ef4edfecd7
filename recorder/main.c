/* SPDX-License-Identifier: MIT */
/* zreel-record: the recorder alone, for hosts where nothing else of zreel is wanted. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/recorder.h"

enum { MAX_CGROUPS = 64 };

/* Set by the signal handler. */
static volatile int stop;

static const char usage_text[] =
	"usage: zreel-record -o FILE [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"\n"
	"Records swap and zswap traffic of the running kernel into the trace FILE, until COMMAND ends,\n"
	"the duration is over, or a signal (Ctrl-C) comes. Needs root.\n"
	"\n"
	"  -o, --output FILE      the trace; must not exist yet\n"
	"  -g, --cgroup PATH      only this cgroup and those below it; may be repeated. COMMAND runs\n"
	"                         in the first\n"
	"  -d, --duration SECONDS ends after so long\n"
	"  -r, --ring SIZE        ring buffer of each CPU, with K, M or G (8M)\n"
	"      --max-size SIZE    ends when the trace has grown so large\n"
	"      --with-comm        records the names of tasks too\n"
	"  -i, --import FILE      reads ftrace text instead (- is standard input)\n"
	"  -q, --quiet            no summary\n"
	"  -h, --help             this\n"
	"\n"
	"example: zreel-record -o t.zr --cgroup /sys/fs/cgroup/job -- make -j4\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not permitted or not supported here.\n";

struct arguments {
	struct rec_options record;
	const char *cgroups[MAX_CGROUPS];
	const char *import;
	bool quiet, help;
};

static void on_signal(int number)
{
	stop = number;
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

enum { OPTION_MAX_SIZE = 256, OPTION_WITH_COMM };

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "cgroup", required_argument, NULL, 'g' },
	{ "duration", required_argument, NULL, 'd' },
	{ "ring", required_argument, NULL, 'r' },
	{ "max-size", required_argument, NULL, OPTION_MAX_SIZE },
	{ "with-comm", no_argument, NULL, OPTION_WITH_COMM },
	{ "import", required_argument, NULL, 'i' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static enum zr_err bad_value(const char *option, const char *value)
{
	return zr_fail(ZR_USAGE, "%s: \"%s\" is not understood; see --help", option, value);
}

static enum zr_err take_option(struct arguments *args, int option, const char *value)
{
	struct rec_options *record = &args->record;

	switch (option) {
	case 'o':
		record->output = value;
		return ZR_OK;
	case 'g':
		if (record->n_cgroups == MAX_CGROUPS)
			return zr_fail(ZR_USAGE, "--cgroup: at most %d times", MAX_CGROUPS);
		args->cgroups[record->n_cgroups++] = value;
		return ZR_OK;
	case 'd':
		return parse_seconds(value, &record->duration_ns) ? ZR_OK
								  : bad_value("--duration", value);
	case 'r':
		return parse_size(value, &record->ring_bytes) ? ZR_OK : bad_value("--ring", value);
	case OPTION_MAX_SIZE:
		return parse_size(value, &record->max_bytes) ? ZR_OK
							     : bad_value("--max-size", value);
	case OPTION_WITH_COMM:
		record->with_comm = true;
		return ZR_OK;
	case 'i':
		args->import = value;
		return ZR_OK;
	case 'q':
		args->quiet = true;
		return ZR_OK;
	case 'h':
		args->help = true;
		return ZR_OK;
	default:
		return zr_fail(ZR_USAGE, "see zreel-record --help");
	}
}

static enum zr_err parse(int argc, char **argv, struct arguments *args)
{
	int option;
	enum zr_err err = ZR_OK;

	args->record.cgroups = args->cgroups;
	while (!err && (option = getopt_long(argc, argv, "+o:g:d:r:i:qh", long_options, NULL)) != -1)
		err = take_option(args, option, optarg);
	if (err || args->help)
		return err;
	if (optind < argc)
		args->record.command = argv + optind;
	if (!args->record.output)
		return zr_fail(ZR_USAGE, "no output: say -o FILE; see --help");
	if (args->import && args->record.command)
		return zr_fail(ZR_USAGE, "an import runs no command");
	return ZR_OK;
}

static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int exit_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
}

static enum zr_err record(struct arguments *args)
{
	struct rec_result result;
	enum zr_err err;

	catch_signals();
	args->record.stop = &stop;
	err = rec_record(&args->record, &result);
	if (err || args->quiet)
		return err;
	fprintf(stderr,
		"%s: %llu events (%llu from the kernel), %llu lost, %llu bytes, %.1f s, %.2f s of "
		"processor time\n",
		args->record.output, (unsigned long long)result.total.events,
		(unsigned long long)result.total.raw_events, (unsigned long long)result.total.lost,
		(unsigned long long)result.total.chunk_bytes,
		(double)result.total.elapsed_ns / 1e9, result.cpu_seconds);
	if (args->record.command && !stop && exit_status(result.command_status))
		fprintf(stderr, "zreel-record: %s ended with status %d\n", args->record.command[0],
			exit_status(result.command_status));
	return ZR_OK;
}

static enum zr_err import(const struct arguments *args)
{
	struct rec_import_result result;
	enum zr_err err = rec_import(args->import, args->record.output, &result);

	if (err || args->quiet)
		return err;
	fprintf(stderr, "%s: %llu events of %llu lines, %llu lines not understood%s%s\n",
		args->record.output, (unsigned long long)result.events,
		(unsigned long long)result.lines, (unsigned long long)result.skipped,
		result.skipped ? ", the first: " : "", result.first_skipped);
	return ZR_OK;
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
		err = args.import ? import(&args) : record(&args);
	if (err)
		fprintf(stderr, "zreel-record: %s\n", zr_error_text());
	return zr_err_class(err);
}
