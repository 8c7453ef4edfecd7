/* SPDX-License-Identifier: MIT */
/* Completion against the tables, over a command of each kind of option. What shells make of it: ui/e2e/install.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/completion.h"
#include "ui/metric.h"

static char *answer_of(const struct ui_command *const *commands, const char *line)
{
	char copy[200], *words[20], *text = NULL;
	uint32_t n = 1;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_true(strlen(line) < sizeof(copy));
	strcpy(copy, line);
	words[0] = copy;
	for (char *c = copy; *c; c++)
		if (*c == ' ') {
			*c = '\0';
			words[n++] = c + 1;
		}
	ui_complete(commands, words, n, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The answer to a line, whose words are separated by single spaces; a space at its end begins an empty word. */
static char *answer(const char *line)
{
	return answer_of(ui_command_table(), line);
}

/* The directive, and the candidates without what they mean. */
static void expect(const char *line, const char *wanted)
{
	char *text = answer(line), *to = text;
	bool skip = false;

	for (const char *c = text; *c; c++) {
		skip = (skip || *c == '\t') && *c != '\n';
		if (!skip)
			*to++ = *c == '\n' ? ' ' : *c;
	}
	*to = '\0';
	assert_string_equal(text, wanted);
	free(text);
}

static void commands_come_first(void **state)
{
	(void)state;
	expect("rec", "none record ");
	expect("help swe", "none sweep ");
	expect("he", "none help ");
	expect("--v", "none --version ");
	expect("nosuch ", "none ");
	expect("help replay ", "none ");
}

static void options_are_those_of_the_command(void **state)
{
	(void)state;
	expect("doctor -", "none --json --print-probes --help ");
	expect("compare --ba", "none --baseline ");
	expect("compare x.zr --z", "none --zeros ");
	expect("replay --nosuch=", "none ");
	expect("replay --json=", "none ");
}

static void every_option_and_command_is_offered(void **state)
{
	char *commands = answer("");

	(void)state;
	for (const struct ui_command *const *c = ui_command_table(); *c; c++) {
		char line[64], wanted[80], *text;

		snprintf(wanted, sizeof(wanted), "\n%s\t%s\n", (*c)->name, (*c)->summary);
		assert_non_null(strstr(commands, wanted));
		snprintf(line, sizeof(line), "%s --", (*c)->name);
		text = answer(line);
		for (const struct ui_option *o = (*c)->options; o->name; o++) {
			snprintf(wanted, sizeof(wanted), "\n--%s\t", o->name);
			assert_non_null(strstr(text, wanted));
		}
		free(text);
	}
	free(commands);
}

static void choices_are_the_words_of_the_table(void **state)
{
	(void)state;
	expect("replay --drive ", "none demand writebacks ");
	expect("replay --drive=w", "none --drive=writebacks ");
	expect("dump -f c", "none csv ");
	expect("dump --format ft", "none ftrace ");
	expect("completion f", "none fish ");
	expect("completion fish ", "none ");
}

static void a_value_that_may_be_left_out_needs_its_sign(void **state)
{
	static const struct ui_option options[] = { { "dump", 0, UI_TEXT, 0, "[=text|svg]", "" }, { 0 } };
	static const struct ui_command try = { .name = "try", .options = options, .max_operands = 1 };
	static const struct ui_command *const table[] = { &try, NULL };
	static const char *const lines[][2] = { { "try --dump ", "files\n" },
						{ "try --dump=", "none\n--dump=text\t\n--dump=svg\t\n" } };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *text = answer_of(table, lines[i][0]);

		assert_string_equal(text, lines[i][1]);
		free(text);
	}
}

static void a_target_has_a_path(void **state)
{
	(void)state;
	expect("replay --on d", "none device ");
	expect("replay --on device ", "files ");
	expect("replay --on device x -p hyst", "nospace hysteresis ");
}

static void policies_are_presets_then_knobs(void **state)
{
	(void)state;
	expect("replay -p hy", "nospace hysteresis ");
	expect("replay --policy=hy", "nospace --policy=hysteresis ");
	expect("ui -p batched+plu", "nospace batched+plug= ");
	expect("explain -p batched+pool=5%+plug=", "nospace batched+pool=5%+plug=off batched+pool=5%+plug=on ");
	expect("replay -p batched+batch=o", "nospace batched+batch=off batched+batch=on ");
	expect("replay -p batched+pool=", "nospace batched+pool=recorded ");
	expect("replay -p batched+walk=", "nospace batched+walk=recorded ");
	expect("replay -p batched+nosuch=", "nospace ");
}

static void grids_are_knobs_with_lists(void **state)
{
	(void)state;
	expect("sweep -g pool=5%,10%;slo", "nospace pool=5%,10%;slots= ");
	expect("sweep -g slots=recorded,v", "nospace slots=recorded,vswap ");
}

static void lists_go_on_behind_the_comma(void **state)
{
	(void)state;
	expect("dump -k OUT,WO", "none OUT,WORKER ");
	expect("sweep -m pool_pages_max,disk_refault_p9", "none pool_pages_max,disk_refault_p99_us ");
}

static void files_are_asked_for_where_they_belong(void **state)
{
	(void)state;
	expect("info ", "files ");
	expect("info x.zr ", "none ");
	expect("compare x.zr y", "files ");
	expect("replay --runs ", "files ");
	expect("replay --runs=x", "files ");
	expect("doctor ", "none ");
	expect("replay -p batched ", "files ");
}

/* What a recorded command takes is not ours to know. */
static void a_foreign_command_line_gets_files(void **state)
{
	(void)state;
	expect("record make --js", "files ");
	expect("record -- ma", "files ");
	expect("record --js", "none --json ");
	expect("replay -- -", "files ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_come_first),
		cmocka_unit_test(options_are_those_of_the_command),
		cmocka_unit_test(every_option_and_command_is_offered),
		cmocka_unit_test(choices_are_the_words_of_the_table),
		cmocka_unit_test(a_value_that_may_be_left_out_needs_its_sign),
		cmocka_unit_test(a_target_has_a_path),
		cmocka_unit_test(policies_are_presets_then_knobs),
		cmocka_unit_test(grids_are_knobs_with_lists),
		cmocka_unit_test(lists_go_on_behind_the_comma),
		cmocka_unit_test(files_are_asked_for_where_they_belong),
		cmocka_unit_test(a_foreign_command_line_gets_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
