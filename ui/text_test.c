/* SPDX-License-Identifier: MIT */
/* What foreign text may become on a screen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text.h"

static void utf8_is_read_and_written_back_unchanged(void **state)
{
	(void)state;
	for (uint32_t code = 1; code <= 0x10ffff; code++) {
		char bytes[5] = "";
		const char *text = bytes;

		if (code == 0xd800)
			code = 0xe000;
		bytes[ui_utf8_put(code, bytes)] = '\0';
		assert_int_equal(ui_utf8_next(&text), code);
		assert_int_equal(*text, '\0');
	}
}

/* Each of these is one malformed piece; reading it ends, and yields only replacements. */
static void broken_utf8_becomes_replacements(void **state)
{
	static const char *const broken[] = {
		"\x80",		"\xc0\xaf",	    "\xc3",	"\xe2\x82",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff\xfe", "\xe0\x80\x80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		const char *text = broken[i];
		uint32_t code;
		size_t n = 0;

		while ((code = ui_utf8_next(&text))) {
			assert_int_equal(code, UI_REPLACEMENT);
			n++;
		}
		assert_in_range(n, 1, strlen(broken[i]));
	}
}

static void no_control_character_is_ever_visible(void **state)
{
	(void)state;
	for (uint32_t code = 1; code < 0x3000; code++) {
		char bytes[5] = "";
		const char *text = bytes;
		struct ui_char c;

		bytes[ui_utf8_put(code, bytes)] = '\0';
		c = ui_char_next(&text, false);
		assert_false(c.code && (c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0)));
		assert_false(c.code >= 0x202a && c.code <= 0x202e);
		assert_true(c.code == 0 || c.width == 1 || c.width == 2);
	}
}

static void ascii_keeps_only_printable_ascii(void **state)
{
	const char *text = "a\x1b[31m\xe4\xb8\x96z";
	char got[16] = "";
	struct ui_char c;
	size_t n = 0;

	(void)state;
	while ((c = ui_char_next(&text, true)).code)
		got[n++] = (char)c.code;
	assert_string_equal(got, "a?[31m?z");
}

static void wide_characters_take_two_cells(void **state)
{
	(void)state;
	assert_int_equal(ui_text_width("\xe4\xb8\x96\xe8\x93\xae.slice", false), 2 * 2 + 6);
	/* e and a combining acute accent */
	assert_int_equal(ui_text_width("e\xcc\x81", false), 1);
}

static void clean_output_holds_no_escape(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	ui_put_clean(out, "x\x1b]0;title\x07y\nz\xc2\x9b");
	fclose(out);
	for (size_t i = 0; i < size; i++)
		assert_false((unsigned char)text[i] < 0x20);
	assert_null(strstr(text, "\xc2\x9b"));
	assert_non_null(strstr(text, "]0;title"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_is_read_and_written_back_unchanged),
		cmocka_unit_test(broken_utf8_becomes_replacements),
		cmocka_unit_test(no_control_character_is_ever_visible),
		cmocka_unit_test(ascii_keeps_only_printable_ascii),
		cmocka_unit_test(wide_characters_take_two_cells),
		cmocka_unit_test(clean_output_holds_no_escape),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
