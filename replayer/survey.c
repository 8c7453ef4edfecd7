/* SPDX-License-Identifier: MIT */
/* The pass of survey.h. */
#include "replayer/survey.h"

#include "replayer/pages.h"

static bool touch(struct survey_host *host, uint8_t area, uint64_t first, uint64_t end,
		  struct zr_arena *arena)
{
	uint8_t **clusters = &host->clusters[area];

	if (!*clusters) {
		*clusters = zr_arena_array(arena, SURVEY_CLUSTERS / 8, 1);
		if (!*clusters)
			return false;
	}
	if (end > (uint64_t)SURVEY_CLUSTERS * PLAY_CLUSTER)
		end = (uint64_t)SURVEY_CLUSTERS * PLAY_CLUSTER;
	for (uint64_t i = first / PLAY_CLUSTER; i * PLAY_CLUSTER < end; i++)
		(*clusters)[i / 8] |= (uint8_t)(1 << i % 8);
	if (end > host->top_slots[area])
		host->top_slots[area] = end;
	return true;
}

static bool note_slot(struct survey_host *host, const struct db_batch *batch, uint32_t row,
		      struct zr_arena *arena)
{
	uint64_t first = batch->slot[row], pages;

	switch (batch->kind[row]) {
	case DB_OUT:
		pages = batch->flags[row] & DB_F_PART ? 1 : (uint64_t)1 << batch->order[row];
		host->outs++;
		break;
	case DB_FREE:
		pages = db_free_slots(batch->len[row]);
		break;
	case DB_IN:
	case DB_WB:
		pages = 1;
		break;
	default:
		return true;
	}
	return touch(host, batch->area[row], first, first + pages, arena);
}

enum zr_err survey_note(struct survey_host *host, const struct db_batch *batch, struct zr_arena *arena)
{
	for (uint32_t row = 0; row < batch->n; row++) {
		if (batch->kind[row] == DB_GAP) {
			host->gaps++;
			host->lost += batch->slot[row];
			continue;
		}
		if (!note_slot(host, batch, row, arena))
			return zr_fail(ZR_NOMEM, "noting which swap slots the trace touches: no memory");
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
		for (uint32_t row = 0; row < batch->n && !err; row++)
			err = learn_row(&host->learn, batch, row, arena);
		if (!err)
			err = survey_note(host, batch, arena);
		if (err)
			return err;
	}
	return err ? err : learn_finish(&host->learn, arena, &host->machine.learnt);
}

static void free_last_in(struct learn *learn, const struct sim_machine *machine)
{
	for (uint32_t area = 0; learn->last_in && area < machine->n_areas; area++)
		pages_free(learn->last_in[area], machine->area_slots[area], sizeof(uint32_t));
	learn->last_in = NULL;
}

/* Tables for learn.h by slot, of the areas whose size is known; none for a kernel whose loads take the entry. */
static enum zr_err make_last_in(struct learn *learn, const struct sim_machine *machine,
				struct zr_arena *arena)
{
	enum zr_err err = ZR_OK;
	void *table;

	learn->pool_evicts = machine->kernel && machine->kernel < SIM_KERNEL_EVICTS;
	if (!machine->kernel || machine->kernel >= SIM_KERNEL_EXCLUSIVE)
		return ZR_OK;
	learn->last_in = zr_arena_array(arena, DB_AREA_MAX + 1, sizeof(*learn->last_in));
	if (!learn->last_in)
		return zr_fail(ZR_NOMEM, "noting which pages were dropped: no memory");
	for (uint32_t area = 0; area < machine->n_areas && !err; area++) {
		err = pages_new(machine->area_slots[area], sizeof(uint32_t),
				"the last refault of each slot", &table);
		learn->last_in[area] = table;
	}
	return err;
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

static enum zr_err name_memcgs(struct db *trace, struct survey_host *host, struct zr_arena *arena)
{
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = db_memcgs(trace, host->host, arena, &memcgs, &n);

	if (err)
		return err;
	host->machine.memcgs = memcgs;
	host->machine.n_named = (uint32_t)n;
	return ZR_OK;
}

static enum zr_err survey_host(struct db *trace, struct survey_host *host, struct zr_arena *arena)
{
	struct db_filter filter = { .kinds = SURVEY_MODEL_KINDS | 1 << DB_GAP, .host = host->host };
	struct db_reader *reader;
	enum zr_err err = sim_machine_load(trace, host->host, &host->machine);

	if (!err)
		err = name_memcgs(trace, host, arena);
	if (!err)
		err = db_reader_new(trace, &filter, &reader);
	if (err)
		return err;
	host->learn.n_memcgs = host->machine.n_memcgs;
	err = make_last_in(&host->learn, &host->machine, arena);
	if (!err)
		err = read_and_size(host, reader, arena);
	free_last_in(&host->learn, &host->machine);
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

enum zr_err survey_count_tasks(struct db *trace, uint32_t host, uint32_t *n_tasks)
{
	struct zr_arena arena = { 0 };
	struct db_task *tasks;
	size_t n;
	enum zr_err err = db_tasks(trace, host, &arena, &tasks, &n);

	*n_tasks = !err && n && tasks[n - 1].id < UINT32_MAX ? tasks[n - 1].id + 1 : 1;
	zr_arena_fini(&arena);
	return err;
}
