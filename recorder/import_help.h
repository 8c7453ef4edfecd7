/* SPDX-License-Identifier: MIT */
/* For tests of the importers: scratch files, imports, and what is in the trace afterwards. */
#ifndef RECORDER_IMPORT_HELP_H
#define RECORDER_IMPORT_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/recorder.h"

struct files {
	char dir[64], text[96], trace[96];
};

static inline void make_files(struct files *files)
{
	strcpy(files->dir, "/tmp/zreel-import-XXXXXX");
	assert_non_null(mkdtemp(files->dir));
	snprintf(files->text, sizeof(files->text), "%s/text", files->dir);
	snprintf(files->trace, sizeof(files->trace), "%s/trace.zr", files->dir);
}

static inline void remove_files(const struct files *files)
{
	unlink(files->text);
	unlink(files->trace);
	assert_int_equal(rmdir(files->dir), 0); /* nothing else may lie there */
}

static inline void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

/* A whole file in memory. */
static inline uint8_t *read_file(const char *path, size_t *n)
{
	FILE *file = fopen(path, "r");
	uint8_t *data = malloc(1 << 20);

	assert_non_null(file);
	assert_non_null(data);
	*n = fread(data, 1, 1 << 20, file);
	assert_true(*n < 1 << 20);
	fclose(file);
	return data;
}

static inline enum zr_err import_plain(const char *input, const char *output,
				       struct rec_import_result *result)
{
	const struct rec_import_options options = { .input = input, .output = output };

	return rec_import(&options, result);
}

static inline struct db_summary summary_of(const char *path)
{
	struct db_summary summary;
	struct db *db;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_true(db_is_complete(db));
	assert_int_equal(db_summarise(db, &summary), ZR_OK);
	assert_int_equal(db_close(db), ZR_OK);
	return summary;
}

/* The value of an environment key equals `wanted`; NULL = it is not there. */
static inline void check_env(const char *path, const char *key, const char *wanted)
{
	struct zr_arena arena = { 0 };
	const char *value;
	struct db *db;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(db_env_get(db, 0, key, &arena, &value), ZR_OK);
	if (wanted)
		assert_string_equal(value ? value : "(not there)", wanted);
	else
		assert_null(value);
	assert_int_equal(db_close(db), ZR_OK);
	zr_arena_fini(&arena);
}

/* All events in order; returns how many (at most `max`). */
static inline uint32_t events_of(const char *path, struct db_event *events, uint32_t max)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	struct db *db;
	uint32_t n = 0;

	assert_int_equal(db_open(path, DB_READ, &db), ZR_OK);
	assert_int_equal(db_reader_new(db, NULL, &reader), ZR_OK);
	for (;;) {
		assert_int_equal(db_reader_next(reader, &batch), ZR_OK);
		if (!batch)
			break;
		for (uint32_t i = 0; i < batch->n && n < max; i++)
			events[n++] = db_batch_event(batch, i);
	}
	db_reader_free(reader);
	assert_int_equal(db_close(db), ZR_OK);
	return n;
}

#endif
