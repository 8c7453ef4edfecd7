/* SPDX-License-Identifier: MIT */
/*
 * Import of ftrace text: lines -> raw records -> fold -> trace file, in bounded memory whatever the length.
 *
 * What such a text cannot say stays unknown: cgroup ids and paths (it has kernel addresses, which are only
 * compared), the swap areas' places on their disks (so its block requests are skipped), the environment.
 */
#include <stdio.h>
#include <string.h>

#include "recorder/fold.h"
#include "recorder/input.h"
#include "recorder/recorder.h"
#include "recorder/text.h"
#include "recorder/trace.h"

/* Since 6.6; the canonical events `store` show both words. */
static const struct rec_layout text_layout = { .head_bit = 6, .order_in_flags1 = true };

struct import {
	struct rec_input *input;
	struct rec_trace trace;
	struct rec_fold *fold;
	struct rec_import_result *result;
	char first_line[256];
	uint64_t last_ns;
};

static void keep_line(char *to, size_t bytes, const char *line)
{
	if (!*to)
		snprintf(to, bytes, "%.*s", (int)bytes - 1, *line ? line : " ");
}

static enum zr_err take_line(struct import *import, const char *line)
{
	struct rec_import_result *result = import->result;
	struct rec_raw raw;

	result->lines++;
	keep_line(import->first_line, sizeof(import->first_line), line);
	switch (rec_text_parse(line, &text_layout, &raw)) {
	case REC_LINE_EVENT:
		if (raw.type == REC_LOST)
			raw.time_ns = import->last_ns;
		else
			result->raw_events++;
		import->last_ns = raw.time_ns;
		return rec_fold_add(import->fold, &raw);
	case REC_LINE_COMMENT:
		return ZR_OK;
	case REC_LINE_OTHER:
	case REC_LINE_UNKNOWN:
		break;
	}
	result->skipped++;
	keep_line(result->first_skipped, sizeof(result->first_skipped), line);
	return ZR_OK;
}

static enum zr_err take_all(struct import *import)
{
	for (;;) {
		char *line;
		enum zr_err err = rec_input_next(import->input, &line);

		if (!err && !line)
			return rec_fold_finish(import->fold);
		if (!err)
			err = take_line(import, line);
		if (err)
			return err;
	}
}

static enum zr_err check_result(const struct import *import, const char *path)
{
	const struct rec_import_result *result = import->result;
	const char *line = *result->first_skipped ? result->first_skipped : import->first_line;

	if (result->raw_events)
		return ZR_OK;
	if (!result->lines)
		return zr_fail(ZR_NO_DATA, "importing %s: it is empty", path);
	return zr_fail(ZR_BAD_TEXT,
		       "importing %s: none of its %llu lines is an event that is known here; the "
		       "first one is \"%s\". Expected is ftrace text with events such as "
		       "zreel:store and zreel:store_ret",
		       path, (unsigned long long)result->lines, line);
}

static enum zr_err put_environment(struct import *import, const char *path)
{
	struct db *db = import->trace.db;
	enum zr_err err = db_env_set(db, REC_HOST, DB_ENV_SOURCE, "import:ftrace-text");

	if (!err)
		err = db_env_set(db, REC_HOST, DB_ENV_CLOCK, "unknown");
	if (!err)
		err = db_env_set(db, REC_HOST, "import.file", path);
	return err;
}

static enum zr_err put_counts(struct import *import)
{
	const struct rec_fold_stats *stats = rec_fold_stats(import->fold);
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{ "import.lines", import->result->lines },
		{ "import.skipped_lines", import->result->skipped },
		{ "fold.missed_returns", stats->missed_returns },
		{ "fold.orphan_returns", stats->orphan_returns },
		{ "fold.open_at_end", stats->open_at_end },
		{ "fold.undecided", stats->undecided },
		{ "fold.late", stats->late },
		{ "fold.skipped_requests", stats->foreign_io },
		{ "fold.wide_slots", stats->wide_slots },
	};
	enum zr_err err = ZR_OK;

	for (size_t i = 0; !err && i < sizeof(rows) / sizeof(*rows); i++)
		err = db_env_setf(import->trace.db, REC_HOST, rows[i].key, "%llu",
				  (unsigned long long)rows[i].value);
	return err;
}

/* A text does not tell the size of a swap area: it is at least what its slots need. */
static enum zr_err put_sizes(struct import *import)
{
	enum zr_err err = ZR_OK;

	for (uint32_t type = 0; !err && type < REC_SWP_TYPES; type++) {
		struct db_area row = { .host = REC_HOST, .type = type, .path = "" };

		row.slots = rec_fold_slots_seen(import->fold, type, &row.id);
		if (row.slots)
			err = db_put_area(import->trace.db, &row);
	}
	return err;
}

static enum zr_err run(struct import *import, const char *path)
{
	const struct rec_fold_options options = {
		.sink = { .event = rec_trace_event, .memcg = rec_trace_memcg,
			  .task = rec_trace_task, .area = rec_trace_area, .arg = &import->trace },
	};
	enum zr_err err = rec_fold_new(&options, &import->fold);

	if (!err)
		err = put_environment(import, path);
	if (!err)
		err = take_all(import);
	if (!err)
		err = check_result(import, path);
	if (!err)
		err = put_sizes(import);
	if (!err)
		err = put_counts(import);
	return err;
}

enum zr_err rec_import(const char *input, const char *output, struct rec_import_result *out)
{
	struct import import = { .result = out };
	enum zr_err err;

	*out = (struct rec_import_result){ 0 };
	err = rec_input_open(input, &import.input);
	if (err)
		return err;
	err = rec_trace_open(output, &import.trace);
	if (!err) {
		err = run(&import, input);
		if (import.fold)
			out->events = rec_fold_stats(import.fold)->events;
		err = rec_trace_close(&import.trace, err);
	}
	rec_fold_free(import.fold);
	rec_input_close(import.input);
	return err;
}
