/* SPDX-License-Identifier: MIT */
/*
 * Measured drives in a file. A drive is a run without a trace: target `calibrate`, target_detail the drive's
 * name, trace_path the path that was measured. Each point has metrics
 *
 *	PATTERN_DIRECTION_BYTES_DEPTH_iops | _latency_us | _ios | _steady		as in rand_write_4096_32_iops
 *
 * and the run range_bytes and read_only, so that any SQLite client can read what a drive did. No table of its own,
 * hence no new version of the format.
 */
#include "replayer/replayer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char target[] = "calibrate";

enum { FIGURES = 4, NAME_BYTES = 64, LONGEST = 64 * 1024 * 1024, DEEPEST = 65536 };

static const char *const figures[FIGURES] = { "iops", "latency_us", "ios", "steady" };

static const char *pattern(const struct play_drive_point *point)
{
	return point->sequential ? "seq" : "rand";
}

static const char *direction(const struct play_drive_point *point)
{
	return point->write ? "write" : "read";
}

/* ----------------------------------------------------------------------------------------- storing */

struct rows {
	struct db_metric metrics[PLAY_DRIVE_POINTS * FIGURES + 2];
	char names[PLAY_DRIVE_POINTS * FIGURES][NAME_BYTES];
	size_t n;
};

static void add_point(struct rows *rows, const struct play_drive_point *point)
{
	const double values[FIGURES] = { point->iops, point->latency_us, (double)point->ios,
					 point->steady };

	for (int i = 0; i < FIGURES; i++) {
		char *name = rows->names[rows->n];

		snprintf(name, NAME_BYTES, "%s_%s_%u_%u_%s", pattern(point), direction(point), point->bytes,
			 point->depth, figures[i]);
		rows->metrics[rows->n++] =
			(struct db_metric){ .name = name, .value = values[i], .figure = DB_MEASURED };
	}
}

enum zr_err play_drive_store(struct db *db, const struct play_drive *drive)
{
	struct db_run run = { .policy = "",
			      .knobs = "",
			      .target = target,
			      .target_detail = drive->name,
			      .drive = "",
			      .pace = "asap",
			      .trace_id = "",
			      .trace_path = drive->path,
			      .created_realtime_ns = drive->created_realtime_ns,
			      .reps = 1,
			      .partial = drive->partial,
			      .note = "" };
	struct rows rows;

	rows.n = 0;
	for (uint32_t i = 0; i < drive->n; i++)
		add_point(&rows, &drive->points[i]);
	rows.metrics[rows.n++] = (struct db_metric){ .name = "range_bytes",
						     .value = (double)drive->range_bytes,
						     .figure = DB_MEASURED };
	rows.metrics[rows.n++] = (struct db_metric){ .name = "read_only", .value = drive->read_only,
						     .figure = DB_MEASURED };
	return db_run_add(db, &run, rows.metrics, rows.n, NULL, 0);
}

/* ----------------------------------------------------------------------------------------- loading */

static struct play_drive_point *find_point(struct play_drive *drive, const struct play_drive_point *key)
{
	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];

		if (point->write == key->write && point->sequential == key->sequential &&
		    point->bytes == key->bytes && point->depth == key->depth)
			return &drive->points[i];
	}
	if (drive->n == PLAY_DRIVE_POINTS)
		return NULL;
	drive->points[drive->n] = *key;
	return &drive->points[drive->n++];
}

/* False: no figure of a point, or an impossible one. */
static bool take_metric(struct play_drive *drive, const struct db_metric *metric)
{
	char pattern_word[8], direction_word[8], figure[16];
	struct play_drive_point key = { 0 }, *point;

	if (sscanf(metric->name, "%7[a-z]_%7[a-z]_%u_%u_%15s", pattern_word, direction_word, &key.bytes,
		   &key.depth, figure) != 5 ||
	    !key.bytes || key.bytes > LONGEST || !key.depth || key.depth > DEEPEST)
		return false;
	key.sequential = strcmp(pattern_word, "seq") == 0;
	key.write = strcmp(direction_word, "write") == 0;
	if (!isfinite(metric->value) || metric->value < 0 || metric->value > 1e15)
		return false;
	point = find_point(drive, &key);
	if (!point)
		return false;
	if (strcmp(figure, "iops") == 0)
		point->iops = metric->value;
	else if (strcmp(figure, "latency_us") == 0)
		point->latency_us = metric->value;
	else if (strcmp(figure, "ios") == 0)
		point->ios = (uint64_t)metric->value;
	else
		point->steady = metric->value != 0;
	return true;
}

static enum zr_err fill(struct db *db, const struct db_run *run, struct zr_arena *arena,
			struct play_drive *out)
{
	struct db_metric *metrics;
	size_t n;
	enum zr_err err = db_metrics(db, run->id, arena, &metrics, &n);

	if (err)
		return err;
	*out = (struct play_drive){ .partial = run->partial,
				    .created_realtime_ns = run->created_realtime_ns };
	snprintf(out->name, sizeof(out->name), "%s", run->target_detail);
	snprintf(out->path, sizeof(out->path), "%s", run->trace_path);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(metrics[i].name, "range_bytes") == 0 && metrics[i].value >= 0 &&
		    metrics[i].value < 0x1p63)
			out->range_bytes = (uint64_t)metrics[i].value;
		else if (strcmp(metrics[i].name, "read_only") == 0)
			out->read_only = metrics[i].value != 0;
		else if (!take_metric(out, &metrics[i]))
			return zr_fail(ZR_CORRUPT, "%s: the drive '%s' has the figure %.60s, %g, which no drive can have",
				       db_path(db), out->name, metrics[i].name, metrics[i].value);
	}
	return ZR_OK;
}

static enum zr_err no_such_drive(struct db *db, const char *name, const struct db_run *runs, size_t n)
{
	char list[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof(list); i++)
		if (strcmp(runs[i].target, target) == 0)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%.100s'", used ? ", " : "",
						 runs[i].target_detail);
	if (!used)
		return zr_fail(ZR_NO_DATA, "%s holds no measured drive; `zreel calibrate PATH -o %s` measures one",
			       db_path(db), db_path(db));
	return zr_fail(ZR_NO_DATA, "%s holds no drive '%s', but %s", db_path(db), name, list);
}

enum zr_err play_drive_load(struct db *db, const char *name, struct play_drive *out)
{
	const struct db_run *found = NULL;
	struct zr_arena arena = { 0 };
	struct db_run *runs;
	size_t n;
	enum zr_err err = db_runs(db, &arena, &runs, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (strcmp(runs[i].target, target) == 0 &&
		    (!name || strcmp(runs[i].target_detail, name) == 0))
			found = &runs[i];
	if (!err)
		err = found ? fill(db, found, &arena, out) : no_such_drive(db, name, runs, n);
	zr_arena_fini(&arena);
	return err;
}
