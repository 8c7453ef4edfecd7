/* SPDX-License-Identifier: MIT */
/*
 * The table of subcommands, the help over all of them, and the way from an error to an exit status.
 *
 * A command returns an error and never prints it; here it becomes `zreel COMMAND: sentence` on stderr and
 * the status of its class (0 done, 1 failed, 2 usage, 3 input, 4 denied). Output that could not be
 * written (a full disk behind a redirection) is an error too.
 */
#include "ui/commands.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text.h"

static const struct ui_command *const commands[] = {
	&ui_cmd_record, &ui_cmd_import, &ui_cmd_info,	&ui_cmd_dump,	&ui_cmd_cut,	&ui_cmd_merge,
	&ui_cmd_verify, &ui_cmd_sql,	&ui_cmd_replay, &ui_cmd_compare, &ui_cmd_explain, &ui_cmd_sweep,
	&ui_cmd_calibrate, &ui_cmd_gen,	&ui_cmd_ui,	&ui_cmd_top,	&ui_cmd_report,	&ui_cmd_doctor, &ui_cmd_completion,
	NULL,
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) - 1 };

const struct ui_command *const *ui_command_table(void)
{
	return commands;
}

static const struct ui_command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static void print_help(FILE *out)
{
	fputs("Usage: zreel COMMAND [OPTION]... [ARGUMENT]...\n\n"
	      "Records the swap and zswap traffic of a Linux host, replays it under other policies, and\n"
	      "shows what they would have changed.\n\nCommands:\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n`zreel COMMAND --help` tells more, with an example. `zreel --version` prints the version.\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not permitted or not\n"
	      "supported here.\n",
	      out);
}

static int report(const char *command, enum zr_err err)
{
	const char *text = zr_error_text();

	fputs("zreel", stderr);
	if (command)
		fprintf(stderr, " %s", command);
	fputs(": ", stderr);
	ui_put_clean(stderr, text[0] ? text : zr_err_name(err));
	fputc('\n', stderr);
	return (int)zr_err_class(err);
}

static enum zr_err unknown_command(const char *name)
{
	const char *words[N_COMMANDS + 1] = { NULL }, *near;

	for (size_t i = 0; i < N_COMMANDS; i++)
		words[i] = commands[i]->name;
	near = ui_nearest(name, words);
	if (near)
		return zr_fail(ZR_USAGE, "there is no command '%s'; did you mean `zreel %s`?", name,
			       near);
	return zr_fail(ZR_USAGE, "there is no command '%s'; `zreel --help` lists them", name);
}

/* Buffered output meets a full disk only here. */
static enum zr_err flush_output(enum zr_err err)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return err;
	if (err)
		return err;
	return zr_fail_errno(errno, "writing to standard output");
}

static enum zr_err run_parsed(struct ui_call *call, int argc, char **argv, void *values)
{
	enum ui_parsed parsed;
	enum zr_err err = ui_options_parse(call, argc, argv, values, &parsed);

	if (err)
		return err;
	if (parsed == UI_PARSED_RUN)
		return call->command->run(call);
	ui_options_help(call->command, stdout);
	return ZR_OK;
}

static enum zr_err run_command(const struct ui_command *command, int argc, char **argv)
{
	struct zr_arena arena;
	struct ui_call call = { .command = command, .arena = &arena };
	enum zr_err err;
	void *values;

	zr_arena_init(&arena);
	values = zr_arena_alloc(&arena, command->values_bytes);
	if (values)
		err = run_parsed(&call, argc, argv, values);
	else
		err = zr_fail(ZR_NOMEM, "starting: out of memory");
	zr_arena_fini(&arena);
	return flush_output(err);
}

static enum zr_err help_on(const char *name)
{
	const struct ui_command *command = find(name);

	if (!command)
		return unknown_command(name);
	ui_options_help(command, stdout);
	return flush_output(ZR_OK);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* What stands in the place of a command but is none. */
static enum zr_err run_word(const char *word, const char *next)
{
	if (strcmp(word, "help") == 0 && next)
		return help_on(next);
	if (strcmp(word, "help") == 0 || is_one_of(word, "--help", "-h"))
		print_help(stdout);
	else if (is_one_of(word, "--version", "-V"))
		puts("zreel " UI_VERSION);
	else if (word[0] == '-')
		return zr_fail(ZR_USAGE, "unknown option %s; `zreel --help` lists the commands", word);
	else
		return unknown_command(word);
	return flush_output(ZR_OK);
}

int ui_main(int argc, char **argv)
{
	const struct ui_command *command;
	enum zr_err err;

	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		print_help(stderr);
		return ZR_CLASS_USAGE;
	}
	command = find(argv[1]);
	if (command)
		err = run_command(command, argc - 1, argv + 1);
	else
		err = run_word(argv[1], argv[2]);
	return err ? report(command ? command->name : NULL, err) : 0;
}
