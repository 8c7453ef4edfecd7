/* SPDX-License-Identifier: MIT */
/* zreel-record: the recorder alone, without importers and user interface, for hosts where nothing
 * else of zreel is wanted. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/base/quantity.h"
#include "recorder/recorder.h"

/* Set by the signal handler. */
static volatile int stop;

/* Counted up by it: the user wants the flight recorder written. */
static volatile int dump;

struct list {
	const char *items[64];
	uint32_t n;
};

struct values {
	REC_ARGUMENT_MEMBERS(struct list);
	bool quiet, help;
};

enum kind { KIND_FLAG, KIND_TEXT, KIND_LIST, KIND_CHOICE, KIND_BYTES, KIND_SPAN };

static const struct row {
	enum kind kind;
	char letter;
	const char *name;
	size_t offset;
	const char *value, *help;
} rows[] = {
#define X(kind, letter, name, member, value, help)                                                 \
	{ KIND_##kind, letter, name, offsetof(struct values, member), value, help },
	REC_ARGUMENTS(X) X(FLAG, 'q', "quiet", quiet, NULL, "no summary, no status line")
		X(FLAG, 'h', "help", help, NULL, "this")
#undef X
};

enum { N_ROWS = sizeof(rows) / sizeof(*rows), FIRST_CODE = 256 };

static const char usage_text[] = "usage: zreel-record -o FILE [OPTION]... [--] [CMD...]\n"
				 "\n"
				 "Records swap and zswap traffic of the running kernel into the "
				 "trace FILE, until CMD ends, the duration is\n"
				 "over, or a signal (Ctrl-C) comes. Source ftrace takes root; perf "
				 "takes CAP_PERFMON where the probes exist\n"
				 "already; block takes no probes.\n"
				 "\n";

static const char example_text[] =
	"\n"
	"example: zreel-record -o t.zr --cgroup /sys/fs/cgroup/job -- make -j4\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not permitted or not "
	"supported here.\n";

static void print_help(void)
{
	fputs(usage_text, stdout);
	for (uint32_t i = 0; i < N_ROWS; i++) {
		char left[64];
		int n = snprintf(left, sizeof(left), rows[i].letter ? "-%c, " : "    ",
				 rows[i].letter);

		snprintf(left + n, sizeof(left) - (size_t)n, "--%s %s", rows[i].name,
			 rows[i].value ? rows[i].value : "");
		printf("  %-38s %s\n", left, rows[i].help);
	}
	fputs(example_text, stdout);
}

static bool take_word(struct list *list, const char *value)
{
	if (list->n == sizeof(list->items) / sizeof(*list->items))
		return false;
	list->items[list->n++] = value;
	return true;
}

/* The place of a word in "auto|ftrace|..." */
static bool take_choice(const char *words, const char *value, int *out)
{
	size_t n = strlen(value);

	for (*out = 0; words; ++*out, words = strchr(words, '|'), words = words ? words + 1 : NULL)
		if (n && strncmp(words, value, n) == 0 && (!words[n] || words[n] == '|'))
			return true;
	return false;
}

static bool take_value(const struct row *row, const char *value, void *member)
{
	switch (row->kind) {
	case KIND_FLAG:
		*(bool *)member = true;
		return true;
	case KIND_TEXT:
		*(const char **)member = value;
		return true;
	case KIND_LIST:
		return take_word(member, value);
	case KIND_CHOICE:
		return take_choice(row->value, value, member);
	case KIND_BYTES:
		return zr_parse_bytes(value, member);
	case KIND_SPAN:
		return zr_parse_span(value, member);
	}
	return false;
}

static const struct row *row_of(int code)
{
	for (uint32_t i = 0; i < N_ROWS; i++)
		if (code == (int)i + FIRST_CODE || (code < FIRST_CODE && code == rows[i].letter))
			return &rows[i];
	return NULL;
}

static enum zr_err take_option(struct values *values, int code, const char *value)
{
	const struct row *row = row_of(code);

	if (!row) /* getopt has said what is wrong */
		return zr_fail(ZR_USAGE, "see zreel-record --help");
	if (take_value(row, value, (char *)values + row->offset))
		return ZR_OK;
	return zr_fail(ZR_USAGE, "--%s: \"%s\" is not taken for %s; see --help", row->name, value,
		       row->value);
}

static enum zr_err parse(int argc, char **argv, struct values *values)
{
	struct option longs[N_ROWS + 1] = { 0 };
	char letters[2 * N_ROWS + 2] = "+";
	enum zr_err err = ZR_OK;
	size_t n = 1;
	int code;

	for (int i = 0; i < N_ROWS; i++) {
		bool takes = rows[i].kind != KIND_FLAG;

		longs[i] = (struct option){ rows[i].name, takes, NULL, FIRST_CODE + i };
		if (!rows[i].letter)
			continue;
		letters[n++] = rows[i].letter;
		if (takes)
			letters[n++] = ':';
	}
	while (!err && (code = getopt_long(argc, argv, letters, longs, NULL)) != -1)
		err = take_option(values, code, optarg);
	if (!err && !values->help && !values->recover && !values->output)
		return zr_fail(ZR_USAGE, "no output: say -o FILE; see --help");
	return err;
}

static void on_signal(int number)
{
	stop = number;
}

static void on_user_signal([[maybe_unused]] int number)
{
	dump = dump + 1;
}

static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const struct sigaction user = { .sa_handler = on_user_signal };
	struct sigaction hangup;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* Under nohup the end of the terminal is to end nothing. */
	sigaction(SIGHUP, NULL, &hangup);
	if (hangup.sa_handler != SIG_IGN)
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

static void print_summary(const struct rec_options *options, const struct rec_result *result)
{
	fprintf(stderr,
		"%s: %s, %llu events (%llu from the kernel), %llu lost, %llu bytes, %.1f s, %.2f s "
		"of "
		"processor time\n",
		options->output, result->source, (unsigned long long)result->total.events,
		(unsigned long long)result->total.raw_events,
		(unsigned long long)result->total.lost,
		(unsigned long long)result->total.chunk_bytes,
		(double)result->total.elapsed_ns / 1e9, result->cpu_seconds);
	if (options->command && !stop && exit_status(result->command_status))
		fprintf(stderr, "zreel-record: %s ended with status %d\n", options->command[0],
			exit_status(result->command_status));
}

/* Rates are of the whole time so far: there is one number to remember less. */
static void on_status([[maybe_unused]] void *arg, const struct rec_status *status)
{
	double seconds = (double)status->elapsed_ns / 1e9;

	fprintf(stderr,
		"\rrecording %.0f s  %.0f events/s  out %.0f/s in %.0f/s  pool %llu MiB  %llu KiB "
		"written",
		seconds, (double)status->raw_events / seconds, (double)status->pages_out / seconds,
		(double)status->pages_in / seconds, (unsigned long long)status->pool_bytes >> 20,
		(unsigned long long)status->chunk_bytes >> 10);
	if (status->lost)
		fprintf(stderr, "  LOST %llu", (unsigned long long)status->lost);
	fputs("\033[K", stderr);
}

static enum zr_err record(const struct values *values, char *const *command)
{
	bool live = !values->quiet && isatty(STDERR_FILENO);
	const struct rec_options options = {
		REC_ARGUMENT_OPTIONS(values),
		.command = *command ? command : NULL,
		.stop = &stop,
		.dump = &dump,
		.dumped = values->quiet ? NULL : on_dump,
		.status = live ? on_status : NULL,
	};
	struct rec_result result;
	enum zr_err err;

	catch_signals();
	err = rec_record(&options, &result);
	if (live)
		fputs("\r\033[K", stderr);
	if (err)
		return err;
	if (values->json)
		print_json(&result);
	else if (!values->quiet)
		print_summary(&options, &result);
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
	struct values values = { 0 };
	enum zr_err err = parse(argc, argv, &values);

	if (!err && values.help) {
		print_help();
		return 0;
	}
	if (!err)
		err = values.recover ? recover() : record(&values, argv + optind);
	if (err)
		fprintf(stderr, "zreel-record: %s\n", zr_error_text());
	return zr_err_class(err);
}
