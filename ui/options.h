/* SPDX-License-Identifier: MIT */
/*
 * Commands and their options: one const table each, from which both the parser and the help come.
 *
 * A command describes its options as rows of struct ui_option; a row names the member of the command's
 * own struct of values (by offset) that it fills. An all-zero struct means "nothing given", so a default
 * is what a command makes of zero.
 */
#ifndef UI_OPTIONS_H
#define UI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/arena.h"
#include "db/base/err.h"

enum ui_option_kind {
	UI_FLAG,   /* bool */
	UI_TEXT,   /* const char * */
	UI_MAYBE,  /* const char *: "" when the option stands without a value, which would follow a '=' */
	UI_LIST,   /* struct ui_list: may be given several times */
	UI_CHOICE, /* int: place of the word in the row's `value` "a|b|c" */
	UI_COUNT,  /* uint32_t, from 1 */
	UI_BYTES,  /* uint64_t */
	UI_SPAN,   /* uint64_t, nanoseconds */
	UI_TARGET, /* struct ui_target: "null", "model", or "device" and a path in the next argument */
};

struct ui_option {
	const char *name; /* long name; NULL ends a table */
	char letter;	  /* short name, 0 = none */
	enum ui_option_kind kind;
	size_t offset;	   /* of the member in the command's struct of values */
	const char *value; /* what the help calls the value */
	const char *help;
};

struct ui_list {
	const char **items;
	uint32_t n;
};

struct ui_target {
	const char *kind; /* NULL = not given */
	const char *device;
};

struct ui_call;

struct ui_command {
	const char *name, *summary;
	const char *operands; /* as in the usage line, "FILE..." */
	const char *operand_words; /* for completion: the first operand is one of "a|b|c", not a file; or NULL */
	const char *about;    /* a paragraph for --help */
	const char *example;  /* lines for --help, each a whole command */
	const struct ui_option *options;
	size_t values_bytes;
	int min_operands, max_operands; /* -1 = any number */
	bool passes_command; /* operands are somebody else's command line: no option is looked for in it */
	enum zr_err (*run)(const struct ui_call *call);
};

/* What a command's run() gets. */
struct ui_call {
	const struct ui_command *command;
	const void *values; /* the command's own struct */
	char **operands;    /* NULL-terminated */
	uint32_t n_operands;
	struct zr_arena *arena; /* lives until run() has returned */
};

enum ui_parsed { UI_PARSED_RUN, UI_PARSED_HELP };

/* Parses argv[1..]; argv[0] is the command's name. `values` is zeroed memory of values_bytes. Fills
 * values, operands and n_operands; ZR_USAGE says what is wrong and which option is near. */
enum zr_err ui_options_parse(struct ui_call *call, int argc, char **argv, void *values,
			     enum ui_parsed *out);

void ui_options_help(const struct ui_command *command, FILE *out);

/* Of NULL-terminated `words` the one nearest to `word`, NULL if none is near. */
const char *ui_nearest(const char *word, const char *const *words);

#endif
