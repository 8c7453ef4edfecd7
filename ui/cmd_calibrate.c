/* SPDX-License-Identifier: MIT */
/* zreel calibrate: measures a drive, for the target model and for iocost. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *output, *yes_destroy, *name;
	uint64_t duration_ns, size;
	bool read_only, json;
};

#define MEMBER(name) offsetof(struct values, name)

static const struct ui_option options[] = {
	{ "output", 'o', UI_TEXT, MEMBER(output), "DRIVES",
	  "keep the drive in this file, for --device-model calibrated:DRIVES" },
	{ "name", 0, UI_TEXT, MEMBER(name), "NAME", "under this name (the device's model and serial)" },
	{ "duration", 0, UI_SPAN, MEMBER(duration_ns), "TIME", "take no longer than this (60s)" },
	{ "size", 0, UI_BYTES, MEMBER(size), "BYTES", "spread the requests over so much of it (256M)" },
	{ "read-only", 0, UI_FLAG, MEMBER(read_only), NULL,
	  "write nothing and measure reads alone; what is in use may be measured too" },
	{ "yes-destroy", 0, UI_TEXT, MEMBER(yes_destroy), "DEV",
	  "name the block device again: what it holds is lost" },
	{ "json", 0, UI_FLAG, MEMBER(json), NULL, "print the figures as JSON" },
	{ 0 },
};

static void say(void *arg, const char *text)
{
	(void)arg;
	fputs("zreel calibrate: ", stderr);
	ui_put_clean(stderr, text);
	fputc('\n', stderr);
}

/* ------------------------------------------------------------------------------------------ table */

static const struct play_drive_point *find(const struct play_drive *drive, const struct play_drive_point *like,
					   bool write)
{
	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];

		if (point->write == write && point->sequential == like->sequential &&
		    point->bytes == like->bytes && point->depth == like->depth)
			return point;
	}
	return NULL;
}

static void print_point(const struct play_drive_point *point)
{
	if (!point) {
		printf(" %13s %9s %12s ", "-", "-", "-");
		return;
	}
	printf(" %12s%s %9s %12s ", ui_number(point->iops, 0).text, point->steady ? " " : "~",
	       ui_number(point->iops * point->bytes / (1024 * 1024), 1).text,
	       ui_number(point->latency_us, 1).text);
}

static void print_table(const struct play_drive *drive)
{
	bool moved = false;

	printf("%-10s %8s %5s %13s %9s %12s  %13s %9s %12s\n", "pattern", "size", "depth", "reads/s ", "MiB/s",
	       "latency (us)", "writes/s ", "MiB/s", "latency (us)");
	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];

		moved = moved || !point->steady;
		if (point->write && find(drive, point, false))
			continue;
		printf("%-10s %8s %5u", point->sequential ? "sequential" : "random", ui_bytes(point->bytes).text,
		       point->depth);
		print_point(find(drive, point, false));
		print_point(find(drive, point, true));
		putchar('\n');
	}
	if (moved)
		puts("\n~: it still moved when its time was over; --duration gives it more");
}

static void print_iocost(const struct play_drive *drive)
{
	struct play_iocost iocost = play_drive_iocost(drive);
	char text[256];

	if (drive->read_only || drive->partial)
		return;
	play_iocost_to_text(&iocost, text, sizeof(text));
	printf("\nFor io.cost.model, behind the device's MAJOR:MINOR:\n%s\n", text);
}

static void print_drive(const struct play_drive *drive, const char *output)
{
	ui_put_clean(stdout, drive->name);
	printf(": requests over %s\n\n", ui_bytes(drive->range_bytes).text);
	print_table(drive);
	print_iocost(drive);
	if (!output)
		return;
	printf("\nKept in ");
	ui_put_clean(stdout, output);
	if (!drive->read_only && !drive->partial) {
		printf("; replay on it: zreel replay TRACE --on model --device-model calibrated:");
		ui_put_clean(stdout, output);
	}
	putchar('\n');
}

/* ------------------------------------------------------------------------------------------- JSON */

static void json_point(struct ui_json *json, const struct play_drive_point *point)
{
	ui_json_object(json, NULL);
	ui_json_text(json, "direction", point->write ? "write" : "read");
	ui_json_text(json, "pattern", point->sequential ? "sequential" : "random");
	ui_json_count(json, "bytes", point->bytes);
	ui_json_count(json, "depth", point->depth);
	ui_json_number(json, "iops", point->iops);
	ui_json_number(json, "latency_us", point->latency_us);
	ui_json_count(json, "ios", point->ios);
	ui_json_bool(json, "steady", point->steady);
	ui_json_end_object(json);
}

static void json_iocost(struct ui_json *json, const struct play_drive *drive)
{
	struct play_iocost iocost = play_drive_iocost(drive);
	char text[256];

	play_iocost_to_text(&iocost, text, sizeof(text));
	ui_json_text(json, "io_cost_model", drive->read_only || drive->partial ? NULL : text);
}

static void print_json(const struct play_drive *drive)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "name", drive->name);
	ui_json_text(&json, "path", drive->path);
	ui_json_count(&json, "range_bytes", drive->range_bytes);
	ui_json_bool(&json, "read_only", drive->read_only);
	ui_json_bool(&json, "partial", drive->partial);
	json_iocost(&json, drive);
	ui_json_array(&json, "points");
	for (uint32_t i = 0; i < drive->n; i++)
		json_point(&json, &drive->points[i]);
	ui_json_end_array(&json);
	ui_json_end_object(&json);
}

/* ------------------------------------------------------------------------------------------- all */

static enum zr_err keep(struct db *db, const struct play_drive *drive)
{
	return db && drive->n ? play_drive_store(db, drive) : ZR_OK;
}

/* What came out is shown and kept, also of a measurement that ended early. */
static enum zr_err measure(const struct play_calibrate_options *how, struct db *db, const struct values *values)
{
	struct ui_progress *progress = how->progress_arg;
	struct play_drive drive;
	enum zr_err err, kept;

	ui_stop_catch();
	ui_progress_begin(progress, "measuring");
	err = play_calibrate(how, &drive);
	ui_progress_end(progress);
	if (!drive.n)
		return err;
	kept = keep(db, &drive);
	if (values->json)
		print_json(&drive);
	else
		print_drive(&drive, db ? values->output : NULL);
	return err ? err : kept;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct ui_progress progress;
	struct play_calibrate_options how = { .path = call->operands[0],
					      .yes_destroy = values->yes_destroy,
					      .name = values->name,
					      .read_only = values->read_only,
					      .duration_ns = values->duration_ns,
					      .bytes = values->size,
					      .progress = ui_progress_update,
					      .progress_arg = &progress,
					      .say = say };
	struct db *db = NULL;
	enum zr_err err, closed;

	if (values->output) {
		err = db_open(values->output, DB_RESULTS, &db);
		if (err)
			return err;
	}
	err = measure(&how, db, values);
	closed = db_close(db);
	return err ? err : closed;
}

const struct ui_command ui_cmd_calibrate = {
	.name = "calibrate",
	.summary = "measure a drive for the model and for iocost",
	.operands = "PATH",
	.about = "Measures what a drive does by size, depth and pattern, reads and writes, with io_uring and\n"
		 "O_DIRECT, each until it is steady. PATH is a block device, a file, or a folder in which a\n"
		 "scratch file is made and removed. What is measured can be kept and replayed on (replay --on\n"
		 "model), and the parameters of iocost's linear model are printed as the kernel takes them.",
	.example = "  zreel calibrate /var/tmp -o drives.zr\n"
		   "  zreel calibrate /dev/nvme0n1 --read-only\n"
		   "  zreel calibrate /dev/nvme1n1 --yes-destroy /dev/nvme1n1 --size 8G --duration 5m -o drives.zr\n"
		   "  zreel replay compile.zr --on model --device-model calibrated:drives.zr",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
