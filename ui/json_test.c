/* SPDX-License-Identifier: MIT */
/* The JSON writer, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/json.h"

static void a_document_is_nested_and_comma_separated(void **state)
{
	char *text = NULL;
	size_t size;
	struct ui_json json;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	ui_json_init(&json, out);
	ui_json_object(&json, NULL);
	ui_json_count(&json, "n", UINT64_MAX);
	ui_json_number(&json, "x", 1.5);
	ui_json_array(&json, "a");
	ui_json_text(&json, NULL, "one");
	ui_json_bool(&json, NULL, true);
	ui_json_end_array(&json);
	ui_json_object(&json, "empty");
	ui_json_end_object(&json);
	ui_json_number(&json, "nan", NAN);
	ui_json_text(&json, "none", NULL);
	ui_json_end_object(&json);
	fclose(out);
	assert_string_equal(text, "{\n  \"n\": 18446744073709551615,\n  \"x\": 1.5,\n  \"a\": [\n"
				  "    \"one\",\n    true\n  ],\n  \"empty\": {},\n  \"nan\": null,\n"
				  "  \"none\": null\n}\n");
	free(text);
}

static void hostile_text_stays_one_valid_string(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	ui_json_quote(out, "a\"b\\c\n\x1b[31m\xff\xc3\xa9\x7f\xe2\x80\xae");
	fclose(out);
	assert_string_equal(text, "\"a\\\"b\\\\c\\n\\u001b[31m\xef\xbf\xbd\xc3\xa9\\u007f\\u202e\"");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_nested_and_comma_separated),
		cmocka_unit_test(hostile_text_stays_one_valid_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
