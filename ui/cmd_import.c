/* SPDX-License-Identifier: MIT */
/* zreel import: from somebody else's trace text to a .zr file. */
#include <inttypes.h>

#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/text.h"

struct values {
	const char *output;
	bool json;
};

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "the trace to write; must not exist" },
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the counts as JSON" },
	{ 0 },
};

static void print_json(const struct rec_import_result *result, const char *output)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", output);
	ui_json_count(&json, "lines", result->lines);
	ui_json_count(&json, "raw_events", result->raw_events);
	ui_json_count(&json, "events", result->events);
	ui_json_count(&json, "skipped", result->skipped);
	ui_json_text(&json, "first_skipped", result->skipped ? result->first_skipped : NULL);
	ui_json_end_object(&json);
}

static void print_text(const struct rec_import_result *result, const char *output)
{
	ui_put_clean(stdout, output);
	printf(": %s events from %s lines (%s probe events)\n", ui_count(result->events).text,
	       ui_count(result->lines).text, ui_count(result->raw_events).text);
	if (!result->skipped)
		return;
	printf("%s lines were not understood and skipped; the first:\n  ",
	       ui_count(result->skipped).text);
	ui_put_clean(stdout, result->first_skipped);
	putchar('\n');
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct rec_import_result result = { 0 };
	enum zr_err err;

	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	err = rec_import(call->operands[0], values->output, &result);
	if (err)
		return err;
	if (values->json)
		print_json(&result, values->output);
	else
		print_text(&result, values->output);
	return ZR_OK;
}

const struct ui_command ui_cmd_import = {
	.name = "import",
	.summary = "turn ftrace text into a trace",
	.operands = "INPUT",
	.about =
		"Reads ftrace text (tracefs `trace` or `trace_pipe`, `trace-cmd report`) that holds the\n"
		"canonical zreel events and writes a trace. INPUT - is standard input.",
	.example = "  zreel import capture.txt -o capture.zr\n"
		   "  zstd -dc capture.txt.zst | zreel import - -o capture.zr",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
