/* SPDX-License-Identifier: MIT */
/*
 * The race of the dashboard: lanes in lock step over events that are kept in memory.
 *
 * The events are the decoded batches themselves, copied column by column (24 bytes an event), so a lane is
 * fed exactly as in a replay. Between the model and the plan of each lane sits a sink that also remembers
 * which slots the last writing walk wrote: a walk number a slot, 4 bytes, touched only where written.
 *
 * Cost: seeking forward is a replay of what lies between, backward one from the start.
 */
#include "replayer/replayer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/pages.h"
#include "replayer/survey.h"
#include "replayer/swapio.h"

enum { SLICE = 4096 };

struct race_lane {
	struct sim_sink sink; /* first */
	struct sim_policy policy;
	struct sim *sim;
	struct swapio swapio;
	const struct play_race *race;
	uint32_t *written; /* by slot: the walk that wrote it last */
	uint32_t walk;
	bool walk_wrote;
};

struct gap {
	uint64_t row, time_ns;
};

struct play_race {
	struct zr_arena arena;
	struct survey_host host;
	struct db_batch *batches;
	size_t n_batches, batch_room;
	struct gap *gaps;
	size_t n_gaps, gap_room;
	uint64_t events, first_ns, last_ns;

	size_t batch; /* the cursor: the next event to feed */
	uint32_t row;
	uint64_t cursor, now_ns;
	uint64_t kinds[DB_KIND_COUNT];

	uint32_t area_base[DB_AREA_MAX + 1], n_slots;
	uint64_t low_slots[DB_AREA_MAX + 1];
	uint32_t n_lanes;
	struct race_lane lanes[PLAY_RACE_LANES];
};

/* ------------------------------------------------------------------------------------- lane's sink */

static struct race_lane *lane_of(struct sim_sink *sink)
{
	return (struct race_lane *)sink;
}

static void on_walk_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct race_lane *lane = lane_of(sink);

	lane->walk_wrote = false;
	lane->swapio.sink.walk_begin(&lane->swapio.sink, kind, time_ns);
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct race_lane *lane = lane_of(sink);
	uint32_t first = lane->race->area_base[write->area] + write->recorded_slot;

	if (!lane->walk_wrote)
		lane->walk++;
	lane->walk_wrote = true;
	for (uint32_t i = 0; i < write->pages; i++)
		lane->written[first + i] = lane->walk;
	lane->swapio.sink.write(&lane->swapio.sink, write);
}

static void on_walk_end(struct sim_sink *sink)
{
	struct race_lane *lane = lane_of(sink);

	lane->swapio.sink.walk_end(&lane->swapio.sink);
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	struct race_lane *lane = lane_of(sink);

	lane->swapio.sink.read(&lane->swapio.sink, time_ns, area, slot, memcg);
}

/* ------------------------------------------------------------------------------------------ loading */

/* Doubles a table in the arena; the old one stays there, so all of them together take twice the last. */
static void *grow(struct zr_arena *arena, const void *old, size_t n, size_t size, size_t *room)
{
	size_t wanted = *room ? 2 * *room : 16;
	void *new = zr_arena_array(arena, wanted, size);

	if (new &&n)
		memcpy(new, old, n * size);
	if (new)
		*room = wanted;
	return new;
}

static const struct {
	size_t at, size; /* of the column's pointer in struct db_batch; of an element */
} columns[] = {
	{ offsetof(struct db_batch, time_ns), 8 }, { offsetof(struct db_batch, slot), 4 },
	{ offsetof(struct db_batch, task), 4 },	   { offsetof(struct db_batch, memcg), 2 },
	{ offsetof(struct db_batch, len), 2 },	   { offsetof(struct db_batch, kind), 1 },
	{ offsetof(struct db_batch, area), 1 },	   { offsetof(struct db_batch, order), 1 },
	{ offsetof(struct db_batch, flags), 1 },
};

static bool copy_batch(struct zr_arena *arena, const struct db_batch *from, struct db_batch *to)
{
	*to = (struct db_batch){ .n = from->n, .host = from->host };
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		void *copy = zr_arena_array(arena, from->n, columns[i].size);
		const void *column;

		if (!copy)
			return false;
		memcpy(&column, (const char *)from + columns[i].at, sizeof(column));
		memcpy(copy, column, from->n * columns[i].size);
		memcpy((char *)to + columns[i].at, &copy, sizeof(copy));
	}
	return true;
}

static bool note_gap(struct play_race *race, uint64_t row, uint64_t time_ns)
{
	if (race->n_gaps == race->gap_room) {
		struct gap *gaps =
			grow(&race->arena, race->gaps, race->n_gaps, sizeof(*gaps), &race->gap_room);

		if (!gaps)
			return false;
		race->gaps = gaps;
	}
	race->gaps[race->n_gaps++] = (struct gap){ row, time_ns };
	return true;
}

static bool note_rows(struct play_race *race, const struct db_batch *batch)
{
	const uint32_t with_slot = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE;

	for (uint32_t row = 0; row < batch->n; row++) {
		uint64_t *low = &race->low_slots[batch->area[row]];

		if (batch->kind[row] == DB_GAP &&
		    !note_gap(race, race->events + row, batch->time_ns[row]))
			return false;
		if (with_slot >> batch->kind[row] & 1 && batch->slot[row] < *low)
			*low = batch->slot[row];
	}
	return true;
}

static enum zr_err keep_batch(struct play_race *race, const struct db_batch *batch)
{
	enum zr_err err = sim_check_batch(&race->host.machine, batch);
	bool ok = true;

	if (err || !batch->n)
		return err;
	if (race->n_batches == race->batch_room) {
		struct db_batch *batches = grow(&race->arena, race->batches, race->n_batches,
						sizeof(*batches), &race->batch_room);

		ok = batches != NULL;
		race->batches = ok ? batches : race->batches;
	}
	if (!ok || !copy_batch(&race->arena, batch, &race->batches[race->n_batches]) ||
	    !note_rows(race, batch))
		return zr_fail(ZR_NOMEM,
			       "keeping the events of the trace in memory (24 bytes each): no more "
			       "after %llu events",
			       (unsigned long long)race->events);
	if (!race->n_batches)
		race->first_ns = batch->time_ns[0];
	race->last_ns = batch->time_ns[batch->n - 1];
	race->n_batches++;
	race->events += batch->n;
	return ZR_OK;
}

static enum zr_err keep_events(struct play_race *race, struct db *trace)
{
	struct db_filter filter = { .host = race->host.host };
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = db_reader_new(trace, &filter, &reader);

	if (err)
		return err;
	memset(race->low_slots, 0xff, sizeof(race->low_slots));
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		err = keep_batch(race, batch);
		if (err)
			break;
	}
	db_reader_free(reader);
	return err;
}

static enum zr_err choose_host(struct play_race *race, struct db *trace)
{
	struct survey_host *hosts;
	size_t n, best = 0;
	enum zr_err err = survey_trace(trace, &race->arena, &hosts, &n);

	if (err)
		return err;
	for (size_t i = 1; i < n; i++)
		if (hosts[i].events > hosts[best].events)
			best = i;
	race->host = hosts[best];
	for (uint32_t area = 0; area < race->host.machine.n_areas; area++) {
		/* Sums fit: sim_new() refuses more slots than that. */
		race->area_base[area] = race->n_slots;
		race->n_slots += (uint32_t)race->host.top_slots[area];
	}
	return ZR_OK;
}

/* -------------------------------------------------------------------------------------------- lanes */

static enum zr_err new_sims(struct play_race *race, struct sim **sims)
{
	enum zr_err err = ZR_OK;

	memset(sims, 0, PLAY_RACE_LANES * sizeof(*sims));
	for (uint32_t i = 0; i < race->n_lanes && !err; i++)
		err = sim_new(&race->lanes[i].policy, &race->host.machine, &race->lanes[i].sink,
			      &sims[i]);
	for (uint32_t i = 0; i < race->n_lanes && err; i++)
		sim_free(sims[i]);
	return err;
}

/* All lanes to the start; nothing changes on failure. */
static enum zr_err rewind_race(struct play_race *race)
{
	struct sim *sims[PLAY_RACE_LANES];
	enum zr_err err = new_sims(race, sims);

	if (err)
		return err;
	for (uint32_t i = 0; i < race->n_lanes; i++) {
		struct race_lane *lane = &race->lanes[i];

		sim_free(lane->sim);
		lane->sim = sims[i];
		swapio_init(&lane->swapio, &lane->policy, race->host.machine.page_size, NULL);
		/* Numbers go on, so what an earlier pass wrote is older than any walk to come. */
		lane->walk++;
		lane->walk_wrote = false;
	}
	race->batch = 0;
	race->row = 0;
	race->cursor = 0;
	race->now_ns = race->first_ns;
	memset(race->kinds, 0, sizeof(race->kinds));
	return ZR_OK;
}

static enum zr_err init_lane(struct play_race *race, struct race_lane *lane, const char *policy)
{
	void *written;
	enum zr_err err = sim_policy_parse(policy, &lane->policy);

	if (!err)
		err = pages_new(race->n_slots, sizeof(*lane->written), "the slot map", &written);
	if (err)
		return err;
	lane->written = written;
	lane->race = race;
	lane->sink = (struct sim_sink){
		.walk_begin = on_walk_begin, .write = on_write, .walk_end = on_walk_end, .read = on_read
	};
	return ZR_OK;
}

static enum zr_err fill_race(struct play_race *race, struct db *trace, const char *const *policies,
			     uint32_t n)
{
	enum zr_err err = choose_host(race, trace);

	if (!err)
		err = keep_events(race, trace);
	for (uint32_t i = 0; i < n && !err; i++) {
		race->n_lanes = i + 1;
		err = init_lane(race, &race->lanes[i], policies[i]);
	}
	return err ? err : rewind_race(race);
}

enum zr_err play_race_new(struct db *trace, const char *const *policies, uint32_t n,
			  struct play_race **out)
{
	struct play_race *race;
	enum zr_err err;

	*out = NULL;
	if (!n || n > PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "racing %u policies: name one to %d", n, PLAY_RACE_LANES);
	race = calloc(1, sizeof(*race));
	if (!race)
		return zr_fail(ZR_NOMEM, "racing %u policies: no memory", n);
	err = fill_race(race, trace, policies, n);
	if (err) {
		play_race_free(race);
		return err;
	}
	*out = race;
	return ZR_OK;
}

void play_race_free(struct play_race *race)
{
	if (!race)
		return;
	for (uint32_t i = 0; i < race->n_lanes; i++) {
		sim_free(race->lanes[i].sim);
		pages_free(race->lanes[i].written, race->n_slots, sizeof(*race->lanes[i].written));
	}
	zr_arena_fini(&race->arena);
	free(race);
}

/* --------------------------------------------------------------------------------------- advancing */

static bool at_end(const struct play_race *race)
{
	return race->batch == race->n_batches;
}

/* Feeds the rows up to `to` of the cursor's batch to all lanes. */
static void feed_rows(struct play_race *race, uint32_t to)
{
	const struct db_batch *batch = &race->batches[race->batch];

	for (uint32_t i = 0; i < race->n_lanes; i++)
		sim_feed(race->lanes[i].sim, batch, race->row, to);
	for (uint32_t row = race->row; row < to; row++)
		race->kinds[batch->kind[row]]++;
	race->now_ns = batch->time_ns[to - 1];
	race->cursor += to - race->row;
	race->row = to;
	if (to < batch->n)
		return;
	race->row = 0;
	race->batch++;
	for (uint32_t i = 0; i < race->n_lanes && at_end(race); i++)
		sim_flush(race->lanes[i].sim);
}

/* The first row of the cursor's batch, at or behind the cursor, whose time is at or after `until_ns`. */
static uint32_t row_at(const struct play_race *race, uint64_t until_ns)
{
	const struct db_batch *batch = &race->batches[race->batch];
	uint32_t low = race->row, high = batch->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (batch->time_ns[middle] < until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool play_race_advance(struct play_race *race, uint64_t until_ns, uint64_t budget)
{
	uint64_t left = budget ? budget : UINT64_MAX;

	while (!at_end(race)) {
		uint32_t to = row_at(race, until_ns);

		if (to == race->row)
			return true;
		if (!left)
			return false;
		if (to - race->row > left)
			to = race->row + (uint32_t)left;
		if (to - race->row > SLICE)
			to = race->row + SLICE;
		left -= to - race->row;
		feed_rows(race, to);
	}
	return true;
}

bool play_race_step(struct play_race *race)
{
	if (at_end(race))
		return false;
	feed_rows(race, race->row + 1);
	return true;
}

static uint64_t written_pages(const struct play_race *race)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < race->n_lanes; i++)
		pages += sim_counters(race->lanes[i].sim)->written_back_pages;
	return pages;
}

bool play_race_step_walk(struct play_race *race)
{
	uint64_t before = written_pages(race);

	while (play_race_step(race))
		if (written_pages(race) != before)
			return true;
	return false;
}

enum zr_err play_race_seek(struct play_race *race, uint64_t time_ns)
{
	enum zr_err err = ZR_OK;

	if (race->cursor && time_ns <= race->now_ns)
		err = rewind_race(race);
	if (!err)
		play_race_advance(race, time_ns, 0);
	return err;
}

/* ------------------------------------------------------------------------------------------- looking */

uint32_t play_race_lanes(const struct play_race *race)
{
	return race->n_lanes;
}

uint64_t play_race_first_ns(const struct play_race *race)
{
	return race->first_ns;
}

uint64_t play_race_last_ns(const struct play_race *race)
{
	return race->last_ns;
}

uint64_t play_race_now_ns(const struct play_race *race)
{
	return race->now_ns;
}

uint64_t play_race_cursor(const struct play_race *race)
{
	return race->cursor;
}

uint64_t play_race_events(const struct play_race *race)
{
	return race->events;
}

struct play_lane play_race_lane(const struct play_race *race, uint32_t lane)
{
	const struct race_lane *it = &race->lanes[lane];

	assert(lane < race->n_lanes);
	return (struct play_lane){ .policy = &it->policy,
				   .counters = sim_counters(it->sim),
				   .io = &it->swapio.io,
				   .state = sim_state(it->sim) };
}

enum sim_slot play_race_slot(const struct play_race *race, uint32_t lane, uint8_t area, uint32_t slot,
			     bool *being_written)
{
	const struct race_lane *it = &race->lanes[lane];
	bool touched = area < race->host.machine.n_areas && slot < race->host.top_slots[area];

	assert(lane < race->n_lanes);
	*being_written = touched && it->walk && it->written[race->area_base[area] + slot] == it->walk;
	return sim_slot_state(it->sim, area, slot);
}

void play_race_slot_span(const struct play_race *race, uint8_t *area, uint32_t *lowest,
			 uint32_t *highest)
{
	uint64_t widest = 0;

	*area = 0;
	*lowest = *highest = 0;
	for (uint32_t i = 0; i < race->host.machine.n_areas; i++) {
		uint64_t top = race->host.top_slots[i];

		if (!top || top - race->low_slots[i] <= widest)
			continue;
		widest = top - race->low_slots[i];
		*area = (uint8_t)i;
		*lowest = (uint32_t)race->low_slots[i];
		*highest = (uint32_t)(top - 1);
	}
}

const uint64_t *play_race_kind_counts(const struct play_race *race)
{
	return race->kinds;
}

bool play_race_next_gap(const struct play_race *race, uint64_t *time_ns)
{
	for (size_t i = 0; i < race->n_gaps; i++) {
		if (race->gaps[i].row < race->cursor)
			continue;
		*time_ns = race->gaps[i].time_ns;
		return true;
	}
	return false;
}
