/* SPDX-License-Identifier: MIT */
/* Cutting: a selection of a trace as a trace of its own; see db.h. Streams chunk by chunk. */
#include <inttypes.h>
#include <string.h>

#include "db/edit.h"

static enum zr_err copy_batch(struct db_output *output, const struct db_batch *batch,
			      struct db_edit_result *result)
{
	enum zr_err err = ZR_OK;

	for (uint32_t row = 0; row < batch->n && !err; row++) {
		struct db_event event = db_batch_event(batch, row);

		err = db_output_add(output, &event, result);
	}
	return err;
}

static enum zr_err copy_events(struct db_selector *selector, struct db_output *output,
			       struct db_edit_result *result)
{
	const struct db_batch *batch;
	int64_t host = -1;
	enum zr_err err;

	while (!(err = db_selector_next(selector, &batch)) && batch) {
		if (batch->host != host)
			err = db_output_host(output, batch->host);
		host = batch->host;
		if (!err)
			err = copy_batch(output, batch, result);
		if (err)
			return err;
	}
	return err;
}

static enum zr_err put_cgroup(struct db *to, uint32_t host, uint32_t number, const char *cgroup)
{
	char key[32];

	snprintf(key, sizeof(key), "cut.cgroup.%u", number);
	return db_env_set(to, host, key, cgroup);
}

/* Where it was cut from, in the environment of each host. */
static enum zr_err put_origin(const struct db_copy *copy, const struct db_selection *selection)
{
	enum zr_err err = ZR_OK;

	for (size_t i = 0; i < copy->n_parts && !err; i++) {
		const struct db_part *part = &copy->parts[i];

		err = db_env_set(copy->to, part->as, "cut.trace_id", copy->from->trace_id);
		if (!err && selection->from.base)
			err = db_env_setf(copy->to, part->as, "cut.from_ns", "%" PRIu64,
					  part->from_ns);
		if (!err && selection->to.base)
			err = db_env_setf(copy->to, part->as, "cut.to_ns", "%" PRIu64, part->to_ns);
		if (!err && selection->one_area)
			err = db_env_setf(copy->to, part->as, "cut.area", "%u", selection->area);
		if (!err && selection->some_slots)
			err = db_env_setf(copy->to, part->as, "cut.slots", "%u-%u",
					  selection->slot_first, selection->slot_last);
		for (uint32_t j = 0; j < selection->n_cgroups && !err; j++)
			err = put_cgroup(copy->to, part->as, j, selection->cgroups[j]);
	}
	return err;
}

static enum zr_err copy_tables(const struct db_copy *copy, const struct db_selection *selection,
			       struct db_edit_result *result)
{
	enum zr_err err = db_copy_env(copy);

	if (!err)
		err = put_origin(copy, selection);
	if (!err)
		err = db_copy_ids(copy);
	return err ? err : db_copy_samples(copy, &result->samples);
}

static enum zr_err nothing_selected(struct db *db, const struct db_part *parts, size_t n)
{
	const struct db_part *part = n ? &parts[0] : NULL;
	double seconds = part ? (double)(part->last_ns - part->first_ns) / 1e9 : 0;

	return zr_fail(ZR_NO_DATA,
		       "%s: no event is in this selection; host %u has %" PRIu64
		       " events in %.3f s",
		       db->path, part ? part->host : 0, part ? part->events : 0, seconds);
}

static enum zr_err cut_into(const struct db_copy *copy, const struct db_cut_options *options,
			    struct db_output *output, struct db_edit_result *result)
{
	const struct db_selection *selection = &options->selection;
	struct db_selector *selector = NULL;
	enum zr_err err = db_selector_new(copy->from, selection, &options->watch, &selector);

	if (!err)
		err = copy_tables(copy, selection, result);
	if (!err)
		err = copy_events(selector, output, result);
	if (!err && !result->events)
		err = nothing_selected(copy->from, copy->parts, copy->n_parts);
	db_selector_free(selector);
	return err;
}

enum zr_err db_cut(struct db *db, const struct db_cut_options *options, struct db_edit_result *out)
{
	struct zr_arena arena = { 0 };
	struct db_output output = { 0 };
	struct db_copy copy = { .from = db };
	struct db_part *parts = NULL;
	enum zr_err err = db_parts(db, &options->selection, &arena, &parts, &copy.n_parts);

	*out = (struct db_edit_result){ .files = 1 };
	if (!err)
		err = db_output_open(options->output, &output);
	output.time_unit_ns = options->time_unit_ns;
	copy.to = output.db;
	copy.parts = parts;
	if (!err)
		err = cut_into(&copy, options, &output, out);
	out->hosts = (uint32_t)copy.n_parts;
	err = db_output_close(&output, err, db->complete);
	zr_arena_fini(&arena);
	return err;
}
