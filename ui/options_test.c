/* SPDX-License-Identifier: MIT */
/* Parsing and help from one table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/options.h"

struct values {
	bool flag;
	const char *text;
	struct ui_list list;
	int choice;
	uint32_t count;
	uint64_t bytes, span;
	struct ui_target target;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "flag", 'f', UI_FLAG, MEMBER(flag), NULL, "a flag" },
	{ "text", 't', UI_TEXT, MEMBER(text), "TEXT", "a text" },
	{ "policy", 'p', UI_LIST, MEMBER(list), "POLICY", "a list" },
	{ "format", 0, UI_CHOICE, MEMBER(choice), "text|csv|json", "a choice" },
	{ "reps", 'n', UI_COUNT, MEMBER(count), "N", "a count" },
	{ "size", 0, UI_BYTES, MEMBER(bytes), "BYTES", "a size" },
	{ "for", 0, UI_SPAN, MEMBER(span), "TIME", "a span" },
	{ "on", 0, UI_TARGET, MEMBER(target), "null|device PATH", "a target" },
	{ 0 },
};

static struct ui_command command = {
	.name = "try",
	.operands = "FILE...",
	.about = "About.",
	.example = "  zreel try x",
	.options = options,
	.values_bytes = sizeof(struct values),
	.max_operands = -1,
};

struct fixture {
	struct zr_arena arena;
	struct ui_call call;
	struct values values;
	enum ui_parsed parsed;
};

/* Splits the line at blanks and parses it. */
static enum zr_err parse(struct fixture *f, const char *line)
{
	static char words[512];
	static char *argv[32];
	int argc = 0;

	zr_error_clear();
	zr_arena_fini(&f->arena);
	memset(f, 0, sizeof(*f));
	f->call = (struct ui_call){ .command = &command, .arena = &f->arena };
	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return ui_options_parse(&f->call, argc, argv, &f->values, &f->parsed);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	command.passes_command = false;
	command.min_operands = 0;
	command.max_operands = -1;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	zr_arena_fini(&f->arena);
	free(f);
	return 0;
}

static void every_kind_of_option_reaches_its_member(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		parse(f,
		      "try a -f -t hello --policy=x b -p y --format csv --reps 3 --size 2K --for 5ms c"),
		0);
	assert_true(f->values.flag);
	assert_string_equal(f->values.text, "hello");
	assert_int_equal(f->values.list.n, 2);
	assert_string_equal(f->values.list.items[0], "x");
	assert_string_equal(f->values.list.items[1], "y");
	assert_int_equal(f->values.choice, 1);
	assert_int_equal(f->values.count, 3);
	assert_int_equal(f->values.bytes, 2048);
	assert_int_equal(f->values.span, 5000000);
	assert_int_equal(f->call.n_operands, 3);
	assert_string_equal(f->call.operands[0], "a");
	assert_string_equal(f->call.operands[1], "b");
	assert_string_equal(f->call.operands[2], "c");
}

static void a_device_takes_its_path_from_the_next_word(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(parse(f, "try a --on device /dev/x b -f"), 0);
	assert_string_equal(f->values.target.device, "/dev/x");
	assert_true(f->values.flag);
	assert_int_equal(f->call.n_operands, 2);
	assert_string_equal(f->call.operands[0], "a");
	assert_string_equal(f->call.operands[1], "b");
	assert_int_equal(parse(f, "try --on null a"), 0);
	assert_null(f->values.target.device);
	assert_int_equal(f->call.n_operands, 1);
	assert_int_equal(parse(f, "try --on device"), ZR_USAGE);
	assert_int_equal(parse(f, "try --on tape"), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "tape"));
}

static void a_wrong_option_names_the_near_one(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(parse(f, "try --polcy x"), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "did you mean --policy"));
	assert_int_equal(parse(f, "try --qqqqqqqq=3"), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "--qqqqqqqq;"));
	assert_null(strstr(zr_error_text(), "did you mean"));
	assert_int_equal(parse(f, "try -x"), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "-x"));
}

static void missing_and_wrong_values_are_told(void **state)
{
	static const struct {
		const char *line, *word;
	} wrong[] = {
		{ "try --text", "--text" },	 { "try -p", "--policy" },
		{ "try --reps 0", "'0'" },	 { "try --size 1Q", "'1Q'" },
		{ "try --for soon", "'soon'" },	 { "try --format xml", "'xml'" },
		{ "try --format tex", "'tex'" }, { "try --flag=1", "--flag" },
		{ "try --help=1", "--help" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(*state, wrong[i].line), ZR_USAGE);
		assert_non_null(strstr(zr_error_text(), wrong[i].word));
	}
}

static void operands_are_counted(void **state)
{
	struct fixture *f = *state;

	command.min_operands = command.max_operands = 1;
	assert_int_equal(parse(f, "try"), ZR_USAGE);
	assert_int_equal(parse(f, "try a"), 0);
	assert_int_equal(parse(f, "try a bb"), ZR_USAGE);
	assert_non_null(strstr(zr_error_text(), "'bb'"));
}

static void options_of_a_passed_command_are_left_alone(void **state)
{
	struct fixture *f = *state;

	command.passes_command = true;
	assert_int_equal(parse(f, "try -f make -t -j4"), 0);
	assert_true(f->values.flag);
	assert_null(f->values.text);
	assert_int_equal(f->call.n_operands, 3);
	assert_string_equal(f->call.operands[0], "make");
	assert_int_equal(parse(f, "try -- -f"), 0);
	assert_false(f->values.flag);
	assert_string_equal(f->call.operands[0], "-f");
}

static void help_shows_every_option_of_the_table(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(parse(f, "try --help --text"), 0);
	assert_int_equal(f->parsed, UI_PARSED_HELP);
	ui_options_help(&command, out);
	fclose(out);
	for (const struct ui_option *o = options; o->name; o++) {
		char wanted[40];

		snprintf(wanted, sizeof(wanted), "--%s", o->name);
		assert_non_null(strstr(text, wanted));
		assert_non_null(strstr(text, o->help));
	}
	assert_non_null(strstr(text, "zreel try x"));
	free(text);
}

static void the_nearest_word_is_near(void **state)
{
	static const char *const words[] = { "record", "replay", "compare", "ui", NULL };

	(void)state;
	assert_string_equal(ui_nearest("replya", words), "replay");
	assert_string_equal(ui_nearest("comp", words), "compare");
	assert_string_equal(ui_nearest("rcord", words), "record");
	assert_null(ui_nearest("zzzzzz", words));
	assert_null(ui_nearest("", words));
	assert_null(ui_nearest("a_word_that_is_a_good_deal_longer_than_any_command_could_be", words));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_of_option_reaches_its_member),
		TEST(a_device_takes_its_path_from_the_next_word),
		TEST(a_wrong_option_names_the_near_one),
		TEST(missing_and_wrong_values_are_told),
		TEST(operands_are_counted),
		TEST(options_of_a_passed_command_are_left_alone),
		TEST(help_shows_every_option_of_the_table),
		TEST(the_nearest_word_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
