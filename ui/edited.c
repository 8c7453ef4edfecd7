/* SPDX-License-Identifier: MIT */
/* The summary of a new trace; see edited.h. */
#include "ui/edited.h"

#include "ui/format.h"
#include "ui/json.h"
#include "ui/text.h"

static void print_json(const struct db_edit_result *result, const char *output)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", output);
	ui_json_count(&json, "files", result->files);
	ui_json_count(&json, "hosts", result->hosts);
	ui_json_count(&json, "events", result->events);
	ui_json_count(&json, "gaps", result->gaps);
	ui_json_count(&json, "lost_events", result->lost_events);
	ui_json_count(&json, "samples", result->samples);
	ui_json_count(&json, "runs", result->runs);
	ui_json_count(&json, "duplicates", result->duplicates);
	ui_json_end_object(&json);
}

/* "3 hosts"; one of a thing goes without saying if `always` is not set. */
static void print_part(uint64_t n, const char *what, bool always)
{
	if (n > 1 || always)
		printf(", %s %s%s", ui_count(n).text, what, n == 1 ? "" : "s");
}

static void print_text(const struct db_edit_result *result, const char *output)
{
	ui_put_clean(stdout, output);
	printf(": %s event%s", ui_count(result->events).text, result->events == 1 ? "" : "s");
	print_part(result->samples, "sample", true);
	print_part(result->runs, "stored run", result->runs > 0);
	print_part(result->hosts, "host", result->files > 1);
	print_part(result->files, "file", false);
	if (result->gaps)
		printf("; %s gap%s, in which %s events were lost", ui_count(result->gaps).text,
		       result->gaps == 1 ? "" : "s", ui_count(result->lost_events).text);
	if (result->duplicates)
		printf("; %s events that two traces had were taken once",
		       ui_count(result->duplicates).text);
	putchar('\n');
}

void ui_edited_print(const struct db_edit_result *result, const char *output, bool as_json)
{
	(as_json ? print_json : print_text)(result, output);
}
