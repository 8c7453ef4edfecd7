/* SPDX-License-Identifier: MIT */
/*
 * Merging: the hosts of many traces in one file; see db.h.
 *
 * One input is open at a time, and nothing is kept of it but its name, so the number of inputs is
 * bounded by the disk. Every host keeps its own clock, ids and tables: only its number changes.
 * That a host came along before is known by the trace in which it was recorded, also through files
 * that are merges.
 */
#include "db/edit_merge.h"

#include <inttypes.h>
#include <string.h>

enum { ORIGIN_BYTES = 64 };

/* -------------------------------------------------------------------------------------- origins */

/* A host's own: the trace and number under which it was recorded. */
static enum zr_err origin_of(struct db *db, uint32_t host, struct zr_arena *arena,
			     const char **trace_id, int64_t *number)
{
	enum zr_err err = db_env_get(db, host, "merge.trace_id", arena, trace_id);

	*number = *trace_id ? db_env_int(db, host, "merge.host", host) : host;
	if (!*trace_id)
		*trace_id = db->trace_id;
	return err;
}

static enum zr_err claim_host(struct db_merge *merge, struct db *db, uint32_t host, uint32_t input)
{
	struct zr_arena arena = { 0 };
	char key[ORIGIN_BYTES];
	const char *trace_id;
	int64_t number;
	uint32_t other;
	bool fresh;
	enum zr_err err = origin_of(db, host, &arena, &trace_id, &number);

	if (!err) {
		snprintf(key, sizeof(key), "%.32s %" PRId64, trace_id, number);
		err = db_names_get(&merge->origins, key, input, &fresh, &other);
	}
	if (!err && !fresh && !merge->options->force)
		err = zr_fail(ZR_EXISTS,
			      "%s: holds host %" PRId64
			      " of trace %.32s, which %s holds too; --force "
			      "takes both",
			      db->path, number, trace_id, merge->options->inputs[other]);
	zr_arena_fini(&arena);
	return err;
}

enum zr_err db_merge_claim(struct db_merge *merge, struct db *db, uint32_t input)
{
	struct zr_arena arena = { 0 };
	uint32_t *hosts;
	size_t n;
	enum zr_err err = db_hosts(db, &arena, &hosts, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = claim_host(merge, db, hosts[i], input);
	zr_arena_fini(&arena);
	return err;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The environment that says where a host of the new file came from. */
static enum zr_err put_origin(struct db_merge *merge, struct db *db, const struct db_part *part)
{
	struct zr_arena arena = { 0 };
	struct db *to = merge->output.db;
	const char *trace_id;
	int64_t number;
	enum zr_err err = origin_of(db, part->host, &arena, &trace_id, &number);

	if (!err)
		err = db_env_set(to, part->as, "merge.trace_id", trace_id);
	if (!err)
		err = db_env_setf(to, part->as, "merge.host", "%" PRId64, number);
	if (!err)
		err = db_env_set(to, part->as, "merge.file", base_name(db->path));
	zr_arena_fini(&arena);
	return err;
}

/* --------------------------------------------------------------------------------------- inputs */

static enum zr_err copy_batch(struct db_merge *merge, const struct db_batch *batch)
{
	enum zr_err err = ZR_OK;

	for (uint32_t row = 0; row < batch->n && !err; row++) {
		struct db_event event = db_batch_event(batch, row);

		err = db_output_add(&merge->output, &event, merge->result);
	}
	return err;
}

static enum zr_err copy_host(struct db_merge *merge, struct db *db, const struct db_part *part)
{
	const struct db_filter filter = { .host = part->host };
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = db_reader_new(db, &filter, &reader);

	if (err)
		return err;
	err = db_output_host(&merge->output, part->as);
	while (!err && !(err = db_reader_next(reader, &batch)) && batch) {
		err = db_watch_ask(&merge->options->watch, merge->done);
		if (!err)
			err = copy_batch(merge, batch);
	}
	db_reader_free(reader);
	return err;
}

static enum zr_err copy_input(struct db_merge *merge, struct db *db, struct db_part *parts,
			      size_t n)
{
	struct db_copy copy = { db, merge->output.db, parts, n, false };
	enum zr_err err;

	for (size_t i = 0; i < n; i++)
		parts[i].as = merge->result->hosts++;
	err = db_copy_env(&copy);
	for (size_t i = 0; i < n && !err; i++)
		err = put_origin(merge, db, &parts[i]);
	if (!err)
		err = db_copy_ids(&copy);
	if (!err)
		err = db_copy_samples(&copy, &merge->result->samples);
	if (!err)
		err = db_copy_runs(&copy, &merge->result->runs);
	for (size_t i = 0; i < n && !err; i++)
		err = copy_host(merge, db, &parts[i]);
	return err;
}

static enum zr_err add_input(struct db_merge *merge, uint32_t input)
{
	struct zr_arena arena = { 0 };
	struct db_part *parts;
	struct db *db = NULL;
	size_t n;
	enum zr_err err = db_open(merge->options->inputs[input], DB_READ, &db), closed;

	if (!err)
		err = db_merge_claim(merge, db, input);
	if (!err)
		err = db_parts(db, NULL, &arena, &parts, &n);
	if (!err)
		err = copy_input(merge, db, parts, n);
	if (db)
		merge->complete &= db->complete;
	closed = db_close(db);
	zr_arena_fini(&arena);
	merge->result->files++;
	return err ? err : closed;
}

static enum zr_err add_inputs(struct db_merge *merge)
{
	const struct db_merge_options *options = merge->options;
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < options->n_inputs && !err; i++) {
		merge->done = (double)i / options->n_inputs;
		err = add_input(merge, i);
	}
	return err;
}

enum zr_err db_merge(const struct db_merge_options *options, struct db_edit_result *out)
{
	struct db_merge merge = { .options = options, .result = out, .complete = true };
	enum zr_err err;

	*out = (struct db_edit_result){ 0 };
	err = db_output_open(options->output, &merge.output);
	merge.output.time_unit_ns = options->time_unit_ns;
	if (!err)
		err = options->same_host ? db_merge_same_host(&merge) : add_inputs(&merge);
	err = db_output_close(&merge.output, err, merge.complete);
	db_names_fini(&merge.origins);
	return err;
}
