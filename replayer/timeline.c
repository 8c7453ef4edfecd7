/* SPDX-License-Identifier: MIT */
/*
 * The course of several policies over a trace, in one pass.
 *
 * The trace's span is cut into PLAY_BINS equal steps. A batch is fed to all lanes piece by piece, each piece
 * within one step; whenever a step ends, each lane's running totals are kept, and a bin is the difference of
 * two. Hence the bins of a counter sum up to the counter, whatever the step. What was recorded is counted
 * row by row beside it, gaps among it: a gap outside the span belongs to the first or last step.
 *
 * The map of the slots is taken anew whenever a step ends with a tenth more pages in the first lane's pool
 * than at the last one: a workload that has ended has freed everything, so the end would show nothing.
 *
 * Cost: the lanes' models; 0.5 MB of bins, histograms and maps; every slot of the map's area is looked at
 * a few dozen times at most.
 */
#include "replayer/replayer.h"

#include <string.h>

#include "replayer/survey.h"
#include "replayer/swapio.h"

struct line {
	struct sim *sim;
	struct swapio swapio;
	struct sim_counters counters; /* at the last border */
	struct play_io io;
};

struct walker {
	struct play_timeline *out;
	const struct survey_host *host;
	uint32_t bin; /* the step that is under way */
	uint64_t map_entries; /* of the first lane, when the map was taken */
	struct line lines[PLAY_RACE_LANES];
};

uint64_t play_timeline_border_ns(const struct play_timeline *timeline, uint32_t bin)
{
	uint64_t span = timeline->last_ns - timeline->first_ns;

	/* Divided first, so that a span of years does not overflow. */
	return timeline->first_ns + span / PLAY_BINS * bin + span % PLAY_BINS * bin / PLAY_BINS;
}

/* ---------------------------------------------------------------------------------------------- map */

static void choose_area(struct play_timeline *out, const struct survey_host *host)
{
	for (uint32_t area = 0; area < host->machine.n_areas; area++) {
		uint64_t top = host->top_slots[area];

		if (top <= out->map_slots)
			continue;
		out->map_area = (uint8_t)area;
		out->map_slots = (uint32_t)(top > UINT32_MAX ? UINT32_MAX : top);
	}
}

static void draw_map(const struct play_timeline *timeline, const struct sim *sim,
		     struct play_timeline_lane *lane)
{
	memset(lane->map, 0, sizeof(lane->map));
	for (uint32_t slot = 0; slot < timeline->map_slots; slot++)
		lane->map[(uint64_t)slot * PLAY_MAP_CELLS / timeline->map_slots]
			 [sim_slot_state(sim, timeline->map_area, slot)]++;
}

static void draw_maps(struct walker *it, uint64_t now_ns)
{
	it->map_entries = sim_state(it->lines[0].sim).entries;
	it->out->map_ns = now_ns;
	for (uint32_t i = 0; i < it->out->n_lanes; i++)
		draw_map(it->out, it->lines[i].sim, &it->out->lanes[i]);
}

/* -------------------------------------------------------------------------------------------- steps */

static void end_step_of(struct line *line, struct play_lane_bin *bin)
{
	const struct sim_counters *now = sim_counters(line->sim);
	const struct play_io *io = &line->swapio.io;

	*bin = (struct play_lane_bin){
		.write_pages = io->write_pages - line->io.write_pages,
		.write_requests = io->write_requests - line->io.write_requests,
		.disk_refaults = now->disk_refaults - line->counters.disk_refaults,
		.store_rejected = now->store_rejected - line->counters.store_rejected,
		.pool_pages = sim_state(line->sim).pool_pages,
	};
	line->counters = *now;
	line->io = *io;
}

static void end_step(struct walker *it)
{
	for (uint32_t i = 0; i < it->out->n_lanes; i++)
		end_step_of(&it->lines[i], &it->out->lanes[i].bins[it->bin]);
	it->bin++;
	if (sim_state(it->lines[0].sim).entries > it->map_entries + it->map_entries / 10)
		draw_maps(it, play_timeline_border_ns(it->out, it->bin));
}

static void note_row(struct walker *it, const struct db_batch *batch, uint32_t row)
{
	struct play_bin *bin = &it->out->bins[it->bin];

	switch (batch->kind[row]) {
	case DB_OUT:
		/* The parts of a large folio are counted with it. */
		if (!(batch->flags[row] & DB_F_PART))
			bin->out_pages += (uint64_t)1 << batch->order[row];
		break;
	case DB_IN:
		bin->in_pages++;
		break;
	case DB_WB:
		bin->wb_pages += db_flags_outcome(batch->flags[row]) == DB_WB_WRITTEN;
		break;
	case DB_GAP:
		bin->gaps++;
		bin->lost_events += batch->slot[row];
		break;
	default:
		break;
	}
}

/* The first row from `row` on that lies behind the step that is under way. */
static uint32_t step_end(const struct walker *it, const struct db_batch *batch, uint32_t row)
{
	uint64_t border = play_timeline_border_ns(it->out, it->bin + 1);

	if (it->bin == PLAY_BINS - 1)
		return batch->n;
	while (row < batch->n && batch->time_ns[row] < border)
		row++;
	return row;
}

static void take_batch(struct walker *it, const struct db_batch *batch)
{
	for (uint32_t row = 0; row < batch->n;) {
		uint32_t end = step_end(it, batch, row);

		for (uint32_t i = 0; i < it->out->n_lanes && end > row; i++)
			sim_feed(it->lines[i].sim, batch, row, end);
		for (; row < end; row++)
			note_row(it, batch, row);
		if (row < batch->n)
			end_step(it);
	}
}

static enum zr_err take_events(struct walker *it, struct db *trace,
			       const struct play_timeline_options *options)
{
	struct db_filter filter = { .kinds = SURVEY_MODEL_KINDS | 1 << DB_GAP, .host = it->host->host };
	double all = (double)(it->host->events + it->host->other_events + it->host->gaps);
	const struct db_batch *batch;
	struct db_reader *reader;
	uint64_t done = 0;
	enum zr_err err = db_reader_new(trace, &filter, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		take_batch(it, batch);
		done += batch->n;
		if (options->progress && !options->progress(options->progress_arg, (double)done / all)) {
			err = zr_fail(ZR_INTERRUPTED, "following '%s': stopped by the user", db_path(trace));
			break;
		}
	}
	db_reader_free(reader);
	for (uint32_t i = 0; i < it->out->n_lanes; i++)
		sim_flush(it->lines[i].sim);
	while (it->bin < PLAY_BINS)
		end_step(it);
	if (!it->map_entries)
		draw_maps(it, it->out->last_ns);
	return err;
}

/* --------------------------------------------------------------------------------------------- pass */

static enum zr_err open_lines(struct walker *it, const struct play_timeline_options *options)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < options->n_policies && !err; i++) {
		struct play_timeline_lane *lane = &it->out->lanes[i];
		struct line *line = &it->lines[i];

		err = sim_policy_parse(options->policies[i], &lane->policy);
		if (err)
			break;
		sim_policy_settle(&lane->policy, &it->host->machine);
		swapio_init(&line->swapio, &lane->policy, it->host->machine.page_size, NULL);
		swapio_follow_tasks(&line->swapio);
		line->swapio.request_pages = &lane->request_pages;
		err = sim_new(&lane->policy, &it->host->machine, &line->swapio.sink, &line->sim);
	}
	return err;
}

static void close_lines(struct walker *it)
{
	for (uint32_t i = 0; i < it->out->n_lanes; i++) {
		struct play_timeline_lane *lane = &it->out->lanes[i];

		lane->counters = *sim_counters(it->lines[i].sim);
		lane->io = it->lines[i].swapio.io;
	}
}

static enum zr_err follow_host(struct walker *it, struct db *trace,
			       const struct play_timeline_options *options)
{
	struct play_timeline *out = it->out;
	enum zr_err err;

	out->host = it->host->host;
	out->n_lanes = options->n_policies;
	out->first_ns = it->host->first_ns;
	out->last_ns = it->host->last_ns;
	choose_area(out, it->host);
	err = open_lines(it, options);
	if (!err)
		err = take_events(it, trace, options);
	if (!err)
		close_lines(it);
	for (uint32_t i = 0; i < PLAY_RACE_LANES; i++)
		sim_free(it->lines[i].sim);
	return err;
}

enum zr_err play_timeline(struct db *trace, const struct play_timeline_options *options,
			  struct play_timeline *out)
{
	struct zr_arena arena = { 0 };
	struct survey_host *hosts;
	struct walker *it;
	size_t n, best = 0;
	enum zr_err err;

	memset(out, 0, sizeof(*out));
	if (!options->n_policies || options->n_policies > PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "following %u policies: name one to %d", options->n_policies,
			       PLAY_RACE_LANES);
	err = survey_trace(trace, &arena, &hosts, &n);
	it = err ? NULL : zr_arena_alloc(&arena, sizeof(*it));
	if (!err && !it)
		err = zr_fail(ZR_NOMEM, "following '%s': no memory", db_path(trace));
	for (size_t i = 1; !err && i < n; i++)
		if (hosts[i].events > hosts[best].events)
			best = i;
	if (!err) {
		it->out = out;
		it->host = &hosts[best];
		err = follow_host(it, trace, options);
	}
	zr_arena_fini(&arena);
	return err;
}
