/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON: indented, always valid UTF-8, commas and nesting kept by the writer.
 *
 * Every value takes a key, NULL inside an array. A number that JSON cannot hold (NaN, infinity) is null.
 */
#ifndef UI_JSON_H
#define UI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ui_json {
	FILE *out;
	uint32_t depth;
	bool filled; /* the open object or array has a member already */
};

void ui_json_init(struct ui_json *json, FILE *out);

void ui_json_object(struct ui_json *json, const char *key);
void ui_json_array(struct ui_json *json, const char *key);

/* End the innermost object or array; the last one ends the document with a newline. */
void ui_json_end_object(struct ui_json *json);
void ui_json_end_array(struct ui_json *json);

/* NULL text is null; bytes that are not UTF-8 become U+FFFD. */
void ui_json_text(struct ui_json *json, const char *key, const char *text);
void ui_json_count(struct ui_json *json, const char *key, uint64_t n);
void ui_json_number(struct ui_json *json, const char *key, double value);
void ui_json_bool(struct ui_json *json, const char *key, bool value);

/* Just the string, quoted: for tools that write JSON line by line. */
void ui_json_quote(FILE *out, const char *text);

#endif
