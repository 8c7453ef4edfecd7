/* SPDX-License-Identifier: MIT */
/* zreel import: from somebody else's recording to a .zr file. */
#include <stdlib.h>
#include <string.h>

#include "db/base/clock.h"
#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/select.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *output, *device_offset, *kernel;
	struct ui_list maps, areas;
	uint64_t mem_bytes, page_bytes;
	int format, as, time_resolution;
	bool json;
};

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "the trace to write; must not exist" },
	{ "format", 0, UI_CHOICE, offsetof(struct values, format),
	  "auto|text|trace.dat|perf.data|blktrace", "what INPUT is; auto looks at its first bytes" },
	{ "map", 0, UI_LIST, offsetof(struct values, maps), "RULE",
	  "an event that is called differently: THEIRS=zreel:OURS[,field=theirs]...; or a file of such rules" },
	{ "swap-area", 0, UI_LIST, offsetof(struct values, areas), "TYPE:START:SECTORS",
	  "where the swap area of a type number lies on its disk, in sectors of 512 bytes; a device may "
	  "follow as :MAJOR,MINOR" },
	{ "device-offset", 0, UI_TEXT, offsetof(struct values, device_offset), "SECTORS",
	  "the one swap area begins at this sector of the disk" },
	{ "as", 0, UI_CHOICE, offsetof(struct values, as), "events|swap",
	  "swap: writes are swap-outs and reads are refaults, as with zswap off; all but block requests "
	  "is skipped" },
	{ "mem", 0, UI_BYTES, offsetof(struct values, mem_bytes), "BYTES",
	  "memory of the recorded machine, if INPUT does not say it" },
	{ "page-size", 0, UI_BYTES, offsetof(struct values, page_bytes), "BYTES",
	  "its page size (4096)" },
	{ "kernel", 0, UI_TEXT, offsetof(struct values, kernel), "RELEASE",
	  "its kernel, such as 6.12: decides how page flags and return values are read" },
	UI_TIME_RESOLUTION(values, time_resolution),
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the counts as JSON" },
	{ 0 },
};

static const struct {
	const char *name, *text;
} skips[REC_SKIP_COUNT] = {
#define X(id, name, text) [REC_SKIP_##id] = { name, text },
	REC_SKIPS(X)
#undef X
};

static void print_json(const struct rec_import_result *result, const char *output)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "output", output);
	ui_json_text(&json, "format", result->format);
	ui_json_count(&json, "lines", result->lines);
	ui_json_count(&json, "raw_events", result->raw_events);
	ui_json_count(&json, "events", result->events);
	ui_json_count(&json, "lost", result->lost);
	ui_json_count(&json, "late", result->late);
	ui_json_count(&json, "skipped", result->skipped);
	ui_json_object(&json, "skipped_by_reason");
	for (size_t i = 0; i < REC_SKIP_COUNT; i++)
		if (result->skips[i])
			ui_json_count(&json, skips[i].name, result->skips[i]);
	ui_json_end_object(&json);
	ui_json_text(&json, "first_skipped", result->skipped ? result->first_skipped : NULL);
	ui_json_text(&json, "note", result->note[0] ? result->note : NULL);
	ui_json_bool(&json, "interrupted", result->interrupted);
	ui_json_end_object(&json);
}

static void print_skips(const struct rec_import_result *result)
{
	for (size_t i = 0; i < REC_SKIP_COUNT; i++)
		if (result->skips[i])
			printf("  skipped %s %s\n", ui_count(result->skips[i]).text, skips[i].text);
	if (!result->skipped)
		return;
	fputs("  the first of them: ", stdout);
	ui_put_clean(stdout, result->first_skipped);
	putchar('\n');
}

static void print_text(const struct rec_import_result *result, const char *output)
{
	ui_put_clean(stdout, output);
	printf(": %s events from %s lines or records of %s (%s probe events)\n",
	       ui_count(result->events).text, ui_count(result->lines).text, result->format,
	       ui_count(result->raw_events).text);
	print_skips(result);
	if (result->lost)
		printf("  %s events were lost while it was recorded\n", ui_count(result->lost).text);
	if (result->late)
		printf("  %s were earlier than the one before them and took its time\n",
		       ui_count(result->late).text);
	if (!result->note[0])
		return;
	fputs("  ", stdout);
	ui_put_clean(stdout, result->note);
	putchar('\n');
}

struct watch {
	struct ui_progress bar;
	const volatile int *stop;
	uint64_t shown_ns;
};

/* What comes through a pipe has no known end: then the events are shown. */
static bool watch_import(void *arg, double done, uint64_t events)
{
	struct watch *watch = arg;
	uint64_t now_ns = zr_monotonic_ns();

	if (done >= 0)
		return ui_progress_update(&watch->bar, done);
	if (watch->bar.on && now_ns - watch->bar.began_ns > 1'000'000'000 &&
	    now_ns - watch->shown_ns > 200'000'000) {
		fprintf(stderr, "\r%s: %s events\033[K", watch->bar.what, ui_count(events).text);
		fflush(stderr);
		watch->bar.shown = true;
		watch->shown_ns = now_ns;
	}
	return !*watch->stop;
}

static enum zr_err take_offset(const char *text, struct rec_import_options *out)
{
	char *end;

	if (!text)
		return ZR_OK;
	out->device_offset_sectors = strtoull(text, &end, 10);
	if (!*text || *end || text[strspn(text, "0123456789")] || strlen(text) > 18)
		return zr_fail(ZR_USAGE, "--device-offset %s: expected a number of sectors", text);
	out->has_device_offset = true;
	return ZR_OK;
}

static enum zr_err make_options(const struct ui_call *call, struct rec_import_options *out)
{
	const struct values *values = call->values;

	if (!values->output)
		return zr_fail(ZR_USAGE, "say where to: -o FILE");
	if (values->page_bytes > UINT32_MAX)
		return zr_fail(ZR_USAGE, "--page-size: larger than any page");
	*out = (struct rec_import_options){
		.input = call->operands[0],
		.output = values->output,
		.format = (enum rec_import_format)values->format,
		.maps = values->maps.items,
		.n_maps = values->maps.n,
		.areas = values->areas.items,
		.n_areas = values->areas.n,
		.as_swap = values->as == 1,
		.mem_bytes = values->mem_bytes,
		.page_size = (uint32_t)values->page_bytes,
		.kernel = values->kernel,
		.time_unit_ns = ui_time_unit_ns(values->time_resolution),
	};
	return take_offset(values->device_offset, out);
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct rec_import_options import;
	struct rec_import_result result = { 0 };
	struct watch watch = { 0 };
	enum zr_err err = make_options(call, &import);

	if (err)
		return err;
	watch.stop = ui_stop_catch();
	ui_progress_begin(&watch.bar, "importing");
	import.progress = watch_import;
	import.progress_arg = &watch;
	err = rec_import(&import, &result);
	ui_progress_end(&watch.bar);
	if (err)
		return err;
	if (values->json)
		print_json(&result, values->output);
	else
		print_text(&result, values->output);
	if (result.interrupted)
		return zr_fail(ZR_INTERRUPTED, "interrupted: %s holds what was read until then",
			       values->output);
	return ZR_OK;
}

const struct ui_command ui_cmd_import = {
	.name = "import",
	.summary = "turn a recording of other tools into a trace",
	.operands = "INPUT",
	.about =
		"Reads a recording that holds the canonical zreel events and writes a trace: ftrace text\n"
		"(tracefs `trace` or `trace_pipe`, `trace-cmd report`, `perf script`), trace.dat of\n"
		"trace-cmd, perf.data, and for the disk half blktrace's files or `blkparse` text.\n"
		"INPUT - is standard input; what is packed with zstd is unpacked.\n"
		"\n"
		"Events with names of their own are taken with --map: `probe:my_store` with the swap entry\n"
		"in a field `entry` is --map 'probe:my_store=zreel:store,swp=entry'.\n"
		"\n"
		"Block requests become slots by --swap-area (see /proc/swaps and the partition's `start` in\n"
		"/sys/class/block) or, with a single area, by --device-offset; 0 is a whole disk.",
	.example = "  zreel import capture.txt -o capture.zr\n"
		   "  cat /sys/kernel/tracing/trace_pipe | zreel import - -o live.zr\n"
		   "  zreel import trace.dat --map 'my_store=zreel:store,swp=entry' -o trace.zr\n"
		   "  zreel import sda.blktrace.0 --swap-area 0:2048:4194304 --as swap -o disk.zr",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
