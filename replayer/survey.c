/* SPDX-License-Identifier: MIT */
/* The pass of survey.h. */
#include "replayer/survey.h"

static void note_slot(struct survey_host *host, const struct db_batch *batch, uint32_t row)
{
	uint64_t end = batch->slot[row];
	uint64_t *top = &host->top_slots[batch->area[row]];

	switch (batch->kind[row]) {
	case DB_OUT:
		end += batch->flags[row] & DB_F_PART ? 1 : (uint64_t)1 << batch->order[row];
		break;
	case DB_FREE:
		end += db_free_slots(batch->len[row]);
		break;
	case DB_IN:
	case DB_WB:
		end += 1;
		break;
	default:
		return;
	}
	if (end > *top)
		*top = end;
}

static enum zr_err note_batch(struct survey_host *host, const struct db_batch *batch,
			      struct zr_arena *arena)
{
	for (uint32_t row = 0; row < batch->n; row++) {
		enum zr_err err = learn_row(&host->learn, batch, row, arena);

		if (err)
			return err;
		if (batch->kind[row] == DB_GAP) {
			host->gaps++;
			host->lost += batch->slot[row];
			continue;
		}
		note_slot(host, batch, row);
		if (!host->events && !host->other_events)
			host->first_ns = batch->time_ns[row];
		if (SURVEY_DEMAND_KINDS >> batch->kind[row] & 1)
			host->events++;
		else
			host->other_events++;
		host->last_ns = batch->time_ns[row];
	}
	return ZR_OK;
}

static enum zr_err read_events(struct survey_host *host, struct db_reader *reader, struct zr_arena *arena)
{
	const struct db_batch *batch;
	enum zr_err err;

	while (!(err = db_reader_next(reader, &batch)) && batch) {
		err = sim_check_batch(&host->machine, batch);
		if (!err)
			err = note_batch(host, batch, arena);
		if (err)
			return err;
	}
	return err ? err : learn_finish(&host->learn, arena, &host->machine.learnt);
}

/* An area whose size the trace does not say, as in imports of text, is as large as its events need. */
static enum zr_err read_and_size(struct survey_host *host, struct db_reader *reader,
				 struct zr_arena *arena)
{
	struct sim_machine *machine = &host->machine;
	bool unsized[DB_AREA_MAX + 1];
	enum zr_err err;

	for (uint32_t area = 0; area <= DB_AREA_MAX; area++) {
		unsized[area] = area < machine->n_areas && !machine->area_slots[area];
		if (unsized[area])
			machine->area_slots[area] = (uint64_t)UINT32_MAX + 1;
	}
	err = read_events(host, reader, arena);
	for (uint32_t area = 0; area <= DB_AREA_MAX; area++)
		if (unsized[area])
			machine->area_slots[area] = host->top_slots[area];
	return err;
}

static enum zr_err survey_host(struct db *trace, struct survey_host *host, struct zr_arena *arena)
{
	struct db_filter filter = { .kinds = SURVEY_MODEL_KINDS | 1 << DB_GAP, .host = host->host };
	struct db_reader *reader;
	enum zr_err err = sim_machine_load(trace, host->host, &host->machine);

	if (!err)
		err = db_reader_new(trace, &filter, &reader);
	if (err)
		return err;
	err = read_and_size(host, reader, arena);
	db_reader_free(reader);
	return err;
}

enum zr_err survey_trace(struct db *trace, struct zr_arena *arena, struct survey_host **out, size_t *n)
{
	uint32_t *ids;
	size_t n_ids;
	enum zr_err err = db_hosts(trace, arena, &ids, &n_ids);

	*n = 0;
	*out = err ? NULL : zr_arena_array(arena, n_ids + 1, sizeof(**out));
	if (!err && !*out)
		err = zr_fail(ZR_NOMEM, "reading '%s': no memory for %zu hosts", db_path(trace), n_ids);
	for (size_t i = 0; !err && i < n_ids; i++) {
		(*out)[*n].host = ids[i];
		err = survey_host(trace, &(*out)[*n], arena);
		/* A host without events (results only) leaves its place to the next. */
		if (!err && (*out)[*n].events)
			++*n;
		else if (!err)
			(*out)[*n] = (struct survey_host){ 0 };
	}
	if (!err && !*n)
		err = zr_fail(ZR_NO_DATA,
			      "'%s' holds no swap-outs, refaults or frees that could drive a replay; "
			      "see what it holds with: zreel info %s",
			      db_path(trace), db_path(trace));
	return err;
}
