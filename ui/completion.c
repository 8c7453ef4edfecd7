/* SPDX-License-Identifier: MIT */
/* Completion; see completion.h. A candidate is a head that stays as it was typed, and a word from a table. */
#include "ui/completion.h"

#include <ctype.h>
#include <string.h>

#include "db/event.h"
#include "replayer/replayer.h"
#include "ui/metric.h"

enum { DIRECTIVE_NONE, DIRECTIVE_NOSPACE, DIRECTIVE_FILES };

static void put_directive(FILE *out, int directive)
{
	static const char *const texts[] = { "none", "nospace", "files" };

	fprintf(out, "%s\n", texts[directive]);
}

/* What is being completed: `typed` splits into a head that stays and the beginning of a word. */
struct place {
	FILE *out;
	const char *typed, *word;
};

static void offer_part(const struct place *place, const char *word, size_t length, const char *tail,
		       const char *help)
{
	size_t typed = strlen(place->word);

	if (typed > length || strncmp(word, place->word, typed) != 0)
		return;
	fprintf(place->out, "%.*s%.*s%s\t%s\n", (int)(place->word - place->typed), place->typed, (int)length, word,
		tail, help);
}

static void offer(const struct place *place, const char *word, const char *tail, const char *help)
{
	offer_part(place, word, strlen(word), tail, help);
}

/* The place behind the last of these separators. */
static struct place behind_last(struct place place, const char *separators)
{
	for (const char *c = place.word; *c; c++)
		if (strchr(separators, *c))
			place.word = c + 1;
	return place;
}

/* "on|off|N|BYTES[K|M|G]": the words that are meant literally, which have no capital letter. */
static void offer_choices(const struct place *place, const char *choices)
{
	while (*choices) {
		size_t length = strcspn(choices, "|"), word = strcspn(choices, "| []");
		bool literal = true;

		for (size_t i = 0; i < length; i++)
			literal = literal && !isupper((unsigned char)choices[i]);
		/* "device PATH" is a word and what follows it. */
		if (literal || (word < length && choices[word] == ' '))
			offer_part(place, choices, word, "", "");
		choices += length + (choices[length] == '|');
	}
}

static void offer_knob_value(const struct place *place, const char *knob, size_t length)
{
	for (const struct sim_knob_help *k = sim_knobs(); k->name; k++)
		if (strlen(k->name) == length && strncmp(k->name, knob, length) == 0)
			offer_choices(place, k->values);
}

/* KNOB or KNOB=VALUE; in a grid several values with commas between. */
static void offer_knob(const struct place *place, const char *separators)
{
	const char *equals = strchr(place->word, '=');
	struct place value = behind_last(*place, separators);

	if (equals) {
		offer_knob_value(&value, place->word, (size_t)(equals - place->word));
		return;
	}
	for (const struct sim_knob_help *k = sim_knobs(); k->name; k++)
		offer(place, k->name, "=", k->help);
}

static void complete_policy(const struct place *place)
{
	struct place last = behind_last(*place, "+");

	put_directive(place->out, DIRECTIVE_NOSPACE);
	if (last.word != place->word) {
		offer_knob(&last, "=");
		return;
	}
	for (const struct sim_preset *p = sim_presets(); p->name; p++)
		offer(place, p->name, "", p->help);
}

static void complete_grid(const struct place *place)
{
	struct place last = behind_last(*place, ";");

	put_directive(place->out, DIRECTIVE_NOSPACE);
	offer_knob(&last, "=,");
}

static void complete_metrics(const struct place *place)
{
	struct place last = behind_last(*place, ",");

	put_directive(place->out, DIRECTIVE_NONE);
	for (uint32_t i = 0; ui_metric_name(i); i++)
		offer(&last, ui_metric_name(i), "", "");
}

static void complete_kinds(const struct place *place)
{
	struct place last = behind_last(*place, ",");

	put_directive(place->out, DIRECTIVE_NONE);
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		offer(&last, db_kind_name(kind), "", "");
}

static void complete_files(const struct place *place)
{
	put_directive(place->out, DIRECTIVE_FILES);
}

/* By what the help calls the value. */
static const struct {
	const char *value;
	void (*complete)(const struct place *place);
} value_kinds[] = {
	{ "POLICY", complete_policy },	 { "GRID", complete_grid }, { "NAME[,NAME]", complete_metrics },
	{ "KIND[,KIND]", complete_kinds }, { "FILE", complete_files }, { "DEV", complete_files },
	{ "RULE", complete_files },
};

/* "[=text|svg]": a value only with the sign. */
static bool is_optional(const struct ui_option *option)
{
	return strncmp(option->value, "[=", 2) == 0;
}

static void complete_value(const struct ui_option *option, const struct place *place)
{
	for (size_t i = 0; i < sizeof(value_kinds) / sizeof(value_kinds[0]); i++)
		if (strcmp(option->value, value_kinds[i].value) == 0) {
			value_kinds[i].complete(place);
			return;
		}
	put_directive(place->out, DIRECTIVE_NONE);
	offer_choices(place, is_optional(option) ? option->value + 2 : option->value);
}

/* ------------------------------------------------------------------------------------- the whole line */

static const struct ui_option *long_option(const struct ui_command *command, const char *name, size_t length)
{
	for (const struct ui_option *o = command->options; o->name; o++)
		if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
			return o;
	return NULL;
}

static const struct ui_option *short_option(const struct ui_command *command, char letter)
{
	for (const struct ui_option *o = command->options; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

/* The option that takes the word behind this one as its value, or NULL. */
static const struct ui_option *awaiting(const struct ui_command *command, const char *word)
{
	const struct ui_option *option = NULL;

	if (strncmp(word, "--", 2) == 0)
		option = long_option(command, word + 2, strlen(word + 2));
	else if (word[0] == '-' && word[1])
		option = short_option(command, word[strlen(word) - 1]);
	return option && option->kind != UI_FLAG && !is_optional(option) ? option : NULL;
}

static void offer_options(const struct ui_command *command, const struct place *place)
{
	static const char dashes[] = "--";
	struct place name = *place;

	put_directive(place->out, DIRECTIVE_NONE);
	/* A single dash is completed to two. */
	if (strcmp(place->typed, "-") == 0)
		name = (struct place){ place->out, dashes, &dashes[2] };
	else if (strncmp(place->typed, "--", 2) == 0)
		name.word = place->typed + 2;
	else
		return;
	for (const struct ui_option *o = command->options; o->name; o++)
		offer(&name, o->name, "", o->help);
	offer(&name, "help", "", "show this help");
}

/* What has been typed up to the last word. */
struct line {
	const struct ui_option *option; /* whose value comes next */
	uint32_t operands;
	bool only_operands, path; /* path: of `--on device` */
};

static struct line read_line(const struct ui_command *command, char *const *words, uint32_t n)
{
	struct line line = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const char *word = words[i];

		if (line.option) {
			line.path = line.option->kind == UI_TARGET && strcmp(word, "device") == 0;
			line.option = NULL;
		} else if (line.path) {
			line.path = false;
		} else if (!line.only_operands && strcmp(word, "--") == 0) {
			line.only_operands = true;
		} else if (!line.only_operands && word[0] == '-' && word[1]) {
			line.option = awaiting(command, word);
			line.path = strcmp(word, "--on=device") == 0;
		} else {
			line.operands++;
			line.only_operands = line.only_operands || command->passes_command;
		}
	}
	return line;
}

static void complete_arguments(const struct ui_command *command, char *const *words, uint32_t n, FILE *out)
{
	struct line line = read_line(command, words, n - 1);
	const char *typed = words[n - 1], *equals = strchr(typed, '=');
	struct place place = { out, typed, typed };
	const struct ui_option *given = NULL;

	if (line.option) {
		complete_value(line.option, &place);
	} else if (line.path) {
		complete_files(&place);
	} else if (!line.only_operands && strncmp(typed, "--", 2) == 0 && equals) {
		given = long_option(command, typed + 2, (size_t)(equals - typed - 2));
		place.word = equals + 1;
		if (given && given->kind != UI_FLAG)
			complete_value(given, &place);
		else
			put_directive(out, DIRECTIVE_NONE);
	} else if (!line.only_operands && typed[0] == '-') {
		offer_options(command, &place);
	} else if (command->operand_words) {
		put_directive(out, DIRECTIVE_NONE);
		if (line.operands == 0)
			offer_choices(&place, command->operand_words);
	} else {
		put_directive(out, command->max_operands < 0 || line.operands < (uint32_t)command->max_operands ?
					   DIRECTIVE_FILES :
					   DIRECTIVE_NONE);
	}
}

static void offer_commands(const struct ui_command *const *commands, const char *typed, bool all, FILE *out)
{
	struct place place = { out, typed, typed };

	put_directive(out, DIRECTIVE_NONE);
	for (; *commands; commands++)
		offer(&place, (*commands)->name, "", (*commands)->summary);
	if (!all)
		return;
	offer(&place, "help", "", "tell more about a command");
	if (typed[0] != '-')
		return;
	offer(&place, "--help", "", "list the commands");
	offer(&place, "--version", "", "print the version");
}

void ui_complete(const struct ui_command *const *commands, char *const *words, uint32_t n, FILE *out)
{
	bool help = n == 2 && strcmp(words[0], "help") == 0;

	if (n < 2 || help) {
		offer_commands(commands, n ? words[n - 1] : "", !help, out);
		return;
	}
	while (*commands && strcmp((*commands)->name, words[0]) != 0)
		commands++;
	if (*commands)
		complete_arguments(*commands, words + 1, n - 1, out);
	else
		put_directive(out, DIRECTIVE_NONE);
}
