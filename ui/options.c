/* SPDX-License-Identifier: MIT */
/*
 * From a command's table of options: getopt_long's tables, the values, and the help; see options.h.
 *
 * getopt_long's own messages are off: it is asked to report (':' first), and the sentences are made here,
 * with the nearest option as a hint. A long option's number is its row plus LONG_BASE, so that rows
 * without a letter need none.
 */
#include "ui/options.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "db/base/quantity.h"
#include "ui/format.h"

enum { OPTIONS_MAX = 32, LONG_BASE = 256, WORD_MAX = 32 };

static const struct ui_option help_option = {
	.name = "help",
	.letter = 'h',
	.kind = UI_FLAG,
	.help = "show this help",
};

/* In the terms of getopt. */
static int takes_value(const struct ui_option *option)
{
	return option->kind == UI_FLAG	? no_argument :
	       option->kind == UI_MAYBE ? optional_argument :
					  required_argument;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The edit distance of two words of at most WORD_MAX letters, one row of the table at a time. */
static uint32_t distance(const char *a, const char *b)
{
	uint32_t row[WORD_MAX + 1], nb = (uint32_t)strlen(b);

	if (strlen(a) > WORD_MAX || nb > WORD_MAX)
		return WORD_MAX;
	for (uint32_t j = 0; j <= nb; j++)
		row[j] = j;
	for (uint32_t i = 0; a[i]; i++) {
		uint32_t diagonal = row[0];

		row[0] = i + 1;
		for (uint32_t j = 0; j < nb; j++) {
			uint32_t replaced = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = smaller(replaced, smaller(row[j], row[j + 1]) + 1);
		}
	}
	return row[nb];
}

const char *ui_nearest(const char *word, const char *const *words)
{
	const char *best = NULL;
	size_t length = strlen(word);
	uint32_t least = length < 4 ? 2 : 3;

	for (; *words; words++) {
		uint32_t d =
			length >= 2 && strncmp(word, *words, length) == 0 ? 0 : distance(word, *words);

		if (d < least) {
			least = d;
			best = *words;
		}
	}
	return best;
}

static enum zr_err unknown_option(const struct ui_command *command, const char *given)
{
	const char *words[OPTIONS_MAX + 2], *near;
	char name[WORD_MAX + 1];
	uint32_t n = 0;

	if (strncmp(given, "--", 2) != 0)
		return zr_fail(ZR_USAGE, "unknown option %s; `zreel %s --help` lists them", given,
			       command->name);
	for (const struct ui_option *o = command->options; o->name; o++)
		words[n++] = o->name;
	words[n++] = help_option.name;
	words[n] = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(given + 2, "="), given + 2);
	near = ui_nearest(name, words);
	if (near)
		return zr_fail(ZR_USAGE, "unknown option --%s; did you mean --%s?", name, near);
	return zr_fail(ZR_USAGE, "unknown option --%s; `zreel %s --help` lists them", name,
		       command->name);
}

static enum zr_err bad_value(const struct ui_option *option, const char *given, const char *wanted)
{
	return zr_fail(ZR_USAGE, "--%s got '%s'; it takes %s", option->name, given, wanted);
}

static enum zr_err add_to_list(const struct ui_call *call, struct ui_list *list, const char *item)
{
	const char **grown = zr_arena_array(call->arena, (size_t)list->n + 1, sizeof(*grown));

	if (!grown)
		return zr_fail(ZR_NOMEM, "reading the command line: out of memory");
	if (list->n)
		memcpy(grown, list->items, list->n * sizeof(*grown));
	grown[list->n] = item;
	list->items = grown;
	list->n++;
	return ZR_OK;
}

static enum zr_err set_choice(const struct ui_option *option, const char *given, int *out)
{
	const char *word = option->value;
	size_t length = strlen(given);

	for (int i = 0; word; i++) {
		const char *bar = strchr(word, '|');
		size_t size = bar ? (size_t)(bar - word) : strlen(word);

		if (size == length && strncmp(word, given, size) == 0) {
			*out = i;
			return ZR_OK;
		}
		word = bar ? bar + 1 : NULL;
	}
	return bad_value(option, given, option->value);
}

/* "device" takes its path from the next argument, which getopt_long has not looked at yet. */
static enum zr_err set_target(struct ui_target *target, const char *given, int argc, char **argv)
{
	*target = (struct ui_target){ .kind = given };
	if (strcmp(given, "null") == 0 || strcmp(given, "model") == 0 || strcmp(given, "kernel") == 0)
		return ZR_OK;
	if (strcmp(given, "device") != 0)
		return zr_fail(ZR_USAGE, "--on got '%s'; it takes `null`, `model`, `device PATH` or `kernel`", given);
	if (optind >= argc)
		return zr_fail(ZR_USAGE, "--on device needs the path of a file or block device");
	target->device = argv[optind++];
	return ZR_OK;
}

static enum zr_err set_number(const struct ui_option *option, const char *given, void *member)
{
	if (option->kind == UI_COUNT && !ui_parse_count(given, 1000000, member))
		return bad_value(option, given, "a number from 1 to 1000000");
	if (option->kind == UI_BYTES && !zr_parse_bytes(given, member))
		return bad_value(option, given, "a size such as 64K, 8M or 1.5G");
	if (option->kind == UI_SPAN && !zr_parse_span(given, member))
		return bad_value(option, given, "a time such as 90, 1.5s, 200ms or 2m");
	return ZR_OK;
}

static enum zr_err set_value(const struct ui_call *call, const struct ui_option *option, void *member,
			     int argc, char **argv)
{
	switch (option->kind) {
	case UI_FLAG:
		*(bool *)member = true;
		return ZR_OK;
	case UI_TEXT:
		*(const char **)member = optarg;
		return ZR_OK;
	case UI_MAYBE:
		*(const char **)member = optarg ? optarg : "";
		return ZR_OK;
	case UI_LIST:
		return add_to_list(call, member, optarg);
	case UI_CHOICE:
		return set_choice(option, optarg, member);
	case UI_TARGET:
		return set_target(member, optarg, argc, argv);
	default:
		return set_number(option, optarg, member);
	}
}

struct getopt_tables {
	struct option longs[OPTIONS_MAX + 2];
	char shorts[3 * OPTIONS_MAX + 8]; /* a letter and at most two colons each */
};

static void add_short(char *shorts, const struct ui_option *option)
{
	size_t used = strlen(shorts);

	if (!option->letter)
		return;
	shorts[used++] = option->letter;
	for (int colons = takes_value(option); colons > 0; colons--)
		shorts[used++] = ':';
	shorts[used] = '\0';
}

static void fill_tables(const struct ui_command *command, struct getopt_tables *tables)
{
	uint32_t n = 0;

	memset(tables, 0, sizeof(*tables));
	strcpy(tables->shorts, command->passes_command ? "+:h" : ":h");
	for (const struct ui_option *o = command->options; o->name; o++, n++) {
		assert(n < OPTIONS_MAX);
		tables->longs[n] = (struct option){ o->name, takes_value(o), NULL, LONG_BASE + (int)n };
		add_short(tables->shorts, o);
	}
	tables->longs[n] = (struct option){ help_option.name, no_argument, NULL, 'h' };
}

static const struct ui_option *option_of(const struct ui_command *command, int number)
{
	if (number >= LONG_BASE)
		return &command->options[number - LONG_BASE];
	for (const struct ui_option *o = command->options; o->name; o++)
		if (o->letter == number)
			return o;
	return NULL;
}

static enum zr_err check_operands(const struct ui_call *call)
{
	const struct ui_command *command = call->command;
	int n = (int)call->n_operands;

	if (n < command->min_operands)
		return zr_fail(ZR_USAGE, "%s is missing; usage: zreel %s [OPTION]... %s",
			       n ? "an operand" : command->operands, command->name, command->operands);
	if (command->max_operands >= 0 && n > command->max_operands)
		return zr_fail(ZR_USAGE, "'%s' is one argument too many; usage: zreel %s [OPTION]... %s",
			       call->operands[command->max_operands], command->name, command->operands);
	return ZR_OK;
}

/* What getopt_long stumbled over: `:` a value that is missing, `?` an option that is not there. */
static enum zr_err bad_option(const struct ui_command *command, int got, char **argv)
{
	const char *given = argv[optind - 1];
	char letter[3] = { '-', (char)optopt, '\0' };
	const struct ui_option *option = optopt ? option_of(command, optopt) : NULL;

	if (got == ':' && option)
		return zr_fail(ZR_USAGE, "--%s needs a value: %s", option->name, option->value);
	if (optopt >= LONG_BASE || (optopt == 'h' && strncmp(given, "--", 2) == 0))
		return zr_fail(ZR_USAGE, "%s: this option takes no value", given);
	return unknown_option(command, optopt ? letter : given);
}

enum zr_err ui_options_parse(struct ui_call *call, int argc, char **argv, void *values,
			     enum ui_parsed *out)
{
	const struct ui_command *command = call->command;
	struct getopt_tables tables;
	int got;

	fill_tables(command, &tables);
	*out = UI_PARSED_RUN;
	optind = 0; /* also makes getopt forget an earlier parse */
	opterr = 0;
	while ((got = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		const struct ui_option *option = option_of(command, got);
		enum zr_err err;

		if (got == 'h' && !option) {
			*out = UI_PARSED_HELP;
			return ZR_OK;
		}
		if (got == '?' || got == ':')
			return bad_option(command, got, argv);
		err = set_value(call, option, (char *)values + option->offset, argc, argv);
		if (err)
			return err;
	}
	call->values = values;
	call->operands = argv + optind;
	call->n_operands = (uint32_t)(argc - optind);
	return check_operands(call);
}

static void print_option(const struct ui_option *option, FILE *out)
{
	char left[64];
	const char *value = option->value ? option->value : "";

	if (option->letter)
		snprintf(left, sizeof(left), "-%c, --%s %s", option->letter, option->name, value);
	else
		snprintf(left, sizeof(left), "    --%s%s%s", option->name,
			 option->kind == UI_MAYBE ? "" : " ", value);
	if (strlen(left) > 26)
		fprintf(out, "  %s\n  %26s  %s\n", left, "", option->help);
	else
		fprintf(out, "  %-26s  %s\n", left, option->help);
}

void ui_options_help(const struct ui_command *command, FILE *out)
{
	fprintf(out, "Usage: zreel %s [OPTION]... %s\n\n%s\n\nOptions:\n", command->name,
		command->operands, command->about);
	for (const struct ui_option *o = command->options; o->name; o++)
		print_option(o, out);
	print_option(&help_option, out);
	fprintf(out, "\nExample:\n%s\n", command->example);
}
