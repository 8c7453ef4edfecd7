/* SPDX-License-Identifier: MIT */
/* The JSON writer; see json.h. */
#include "ui/json.h"

#include <inttypes.h>
#include <math.h>

#include "ui/text.h"

void ui_json_init(struct ui_json *json, FILE *out)
{
	*json = (struct ui_json){ .out = out };
}

static void put_quoted_char(FILE *out, uint32_t code)
{
	char bytes[4];

	if (code == '"' || code == '\\')
		fprintf(out, "\\%c", (char)code);
	else if (code == '\n')
		fputs("\\n", out);
	else if (code == '\t')
		fputs("\\t", out);
	else if (ui_is_control(code))
		fprintf(out, "\\u%04" PRIx32, code);
	else
		fwrite(bytes, 1, ui_utf8_put(code, bytes), out);
}

void ui_json_quote(FILE *out, const char *text)
{
	uint32_t code;

	fputc('"', out);
	while ((code = ui_utf8_next(&text)))
		put_quoted_char(out, code);
	fputc('"', out);
}

static void new_line(struct ui_json *json)
{
	fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
}

static void begin_value(struct ui_json *json, const char *key)
{
	if (json->filled)
		fputc(',', json->out);
	if (json->depth)
		new_line(json);
	if (key) {
		ui_json_quote(json->out, key);
		fputs(": ", json->out);
	}
	json->filled = true;
}

static void open_nest(struct ui_json *json, const char *key, char bracket)
{
	begin_value(json, key);
	fputc(bracket, json->out);
	json->depth++;
	json->filled = false;
}

static void close_nest(struct ui_json *json, char bracket)
{
	json->depth--;
	if (json->filled)
		new_line(json);
	fputc(bracket, json->out);
	json->filled = true;
	if (json->depth == 0)
		fputc('\n', json->out);
}

void ui_json_object(struct ui_json *json, const char *key)
{
	open_nest(json, key, '{');
}

void ui_json_array(struct ui_json *json, const char *key)
{
	open_nest(json, key, '[');
}

void ui_json_end_object(struct ui_json *json)
{
	close_nest(json, '}');
}

void ui_json_end_array(struct ui_json *json)
{
	close_nest(json, ']');
}

void ui_json_text(struct ui_json *json, const char *key, const char *text)
{
	begin_value(json, key);
	if (text)
		ui_json_quote(json->out, text);
	else
		fputs("null", json->out);
}

void ui_json_count(struct ui_json *json, const char *key, uint64_t n)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRIu64, n);
}

void ui_json_number(struct ui_json *json, const char *key, double value)
{
	begin_value(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.15g", value);
	else
		fputs("null", json->out);
}

void ui_json_bool(struct ui_json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
}
