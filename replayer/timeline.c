/* SPDX-License-Identifier: MIT */
/*
 * The course of several policies over a trace, in one pass.
 *
 * The trace's span is cut into PLAY_BINS equal steps. A batch is fed to all lanes piece by piece, each piece
 * within one step; whenever a step ends, each lane's running totals are kept, and a bin is the difference of
 * two. Hence the bins of a counter sum up to the counter, whatever the step. What was recorded is counted
 * row by row beside it, gaps among it: a gap outside the span belongs to the first or last step.
 *
 * Cost: the lanes' models; 0.5 MB of bins, histograms and maps; a slot of the map's area is looked at once.
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
	uint64_t low_slots[DB_AREA_MAX + 1];
	struct line lines[PLAY_RACE_LANES];
};

uint64_t play_timeline_border_ns(const struct play_timeline *timeline, uint32_t bin)
{
	uint64_t span = timeline->last_ns - timeline->first_ns;

	/* Divided first, so that a span of years does not overflow. */
	return timeline->first_ns + span / PLAY_BINS * bin + span % PLAY_BINS * bin / PLAY_BINS;
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
}

static void note_row(struct walker *it, const struct db_batch *batch, uint32_t row)
{
	struct play_bin *bin = &it->out->bins[it->bin];
	uint64_t *low = &it->low_slots[batch->area[row]];

	switch (batch->kind[row]) {
	case DB_OUT:
		/* The parts of a large folio are counted with it. */
		if (!(batch->flags[row] & DB_F_PART))
			bin->out_pages += (uint64_t)1 << batch->order[row];
		if (batch->slot[row] < *low)
			*low = batch->slot[row];
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
	return err;
}

/* ---------------------------------------------------------------------------------------------- map */

static void choose_span(struct walker *it)
{
	struct play_timeline *out = it->out;

	for (uint32_t area = 0; area < it->host->machine.n_areas; area++) {
		uint64_t low = it->low_slots[area], top = it->host->top_slots[area];

		if (low >= top || top - low <= (uint64_t)out->map_high - out->map_low)
			continue;
		out->map_area = (uint8_t)area;
		out->map_low = (uint32_t)low;
		out->map_high = (uint32_t)(top > UINT32_MAX ? UINT32_MAX : top);
	}
}

static void draw_map(const struct play_timeline *timeline, const struct sim *sim,
		     struct play_timeline_lane *lane)
{
	uint64_t slots = timeline->map_high - timeline->map_low;

	for (uint64_t i = 0; i < slots; i++) {
		enum sim_slot state =
			sim_slot_state(sim, timeline->map_area, timeline->map_low + (uint32_t)i);

		lane->map[i * PLAY_MAP_CELLS / slots][state]++;
	}
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
		swapio_init(&line->swapio, &lane->policy, it->host->machine.page_size, NULL);
		line->swapio.request_pages = &lane->request_pages;
		err = sim_new(&lane->policy, &it->host->machine, &line->swapio.sink, &line->sim);
	}
	return err;
}

static void close_lines(struct walker *it)
{
	for (uint32_t i = 0; i < it->out->n_lanes; i++) {
		struct play_timeline_lane *lane = &it->out->lanes[i];

		draw_map(it->out, it->lines[i].sim, lane);
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
	memset(it->low_slots, 0xff, sizeof(it->low_slots));
	err = open_lines(it, options);
	if (!err)
		err = take_events(it, trace, options);
	if (!err) {
		choose_span(it);
		close_lines(it);
	}
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
