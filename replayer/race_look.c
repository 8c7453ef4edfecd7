/* SPDX-License-Identifier: MIT */
/* What there is to see of a race: clock, lanes, slots, and a lane as a run in the results. */
#include "replayer/race.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "db/base/clock.h"
#include "replayer/results.h"

uint32_t play_race_host(const struct play_race *race)
{
	return race->host.host;
}

uint64_t play_race_first_ns(const struct play_race *race)
{
	return race->host.first_ns;
}

uint64_t play_race_last_ns(const struct play_race *race)
{
	return race->host.last_ns;
}

uint64_t play_race_clock_ns(const struct play_race *race)
{
	return race->clock_ns;
}

uint64_t play_race_end_ns(const struct play_race *race)
{
	return race->host.last_ns + (race->host.last_ns < UINT64_MAX);
}

uint64_t play_race_cursor(const struct play_race *race)
{
	return race->feed.cursor;
}

uint64_t play_race_events(const struct play_race *race)
{
	return race->host.events + race->host.other_events + race->host.gaps;
}

uint32_t play_race_lanes(const struct play_race *race)
{
	return race->n_lanes;
}

struct play_lane play_race_lane(const struct play_race *race, uint32_t lane)
{
	const struct race_lane *it = &race->lanes[lane];
	struct play_lane out;

	assert(lane < race->n_lanes);
	out = lane_look(it->lane);
	out.joined = !it->behind;
	out.caught_up = it->behind && race->feed.cursor
				? (double)it->feed.cursor / (double)race->feed.cursor
				: 1;
	return out;
}

const struct play_history *play_race_history(const struct play_race *race)
{
	return &race->history;
}

struct play_totals play_race_totals(const struct play_race *race)
{
	struct play_totals out = { .outs = race->feed.kinds[DB_OUT],
				   .ins = race->feed.kinds[DB_IN],
				   .writebacks = race->feed.writebacks };

	for (uint32_t i = 0; i < race->n_lanes; i++)
		out.lane[i] = lane_totals(race->lanes[i].lane);
	return out;
}

/* ---------------------------------------------------------------------------------------- slots */

static uint64_t gap_before(const struct play_race *race)
{
	size_t low = 0, high = race->n_gaps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (race->gaps[middle] < race->clock_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? race->gaps[low - 1] : 0;
}

struct play_slot play_race_slot(const struct play_race *race, uint32_t lane, uint8_t area,
				uint32_t slot)
{
	const struct lane *it = race->lanes[lane].lane;
	const struct sim_machine *machine = &race->host.machine;

	assert(lane < race->n_lanes);
	if (area >= machine->n_areas || slot >= machine->area_slots[area])
		return (struct play_slot){ .state = SIM_SLOT_UNKNOWN };
	return lane_slot(it, sim_index(it->sim, area, slot), gap_before(race));
}

static bool is_touched(const struct survey_host *host, uint32_t area, uint32_t cluster)
{
	return host->clusters[area] && host->clusters[area][cluster / 8] >> cluster % 8 & 1;
}

static uint32_t area_clusters(const struct survey_host *host, uint32_t area)
{
	return (uint32_t)((host->top_slots[area] + PLAY_CLUSTER - 1) / PLAY_CLUSTER);
}

static struct play_cluster cluster_at(const struct survey_host *host, uint32_t area,
				      uint32_t cluster)
{
	uint64_t first = (uint64_t)cluster * PLAY_CLUSTER;
	uint64_t left = host->machine.area_slots[area] - first;

	return (struct play_cluster){ .area = (uint8_t)area,
				      .first = (uint32_t)first,
				      .slots =
					      left < PLAY_CLUSTER ? (uint32_t)left : PLAY_CLUSTER };
}

uint32_t play_race_read_clusters(const struct play_race *race, struct play_cluster *out,
				 uint32_t room)
{
	const struct survey_host *host = &race->host;
	uint32_t n = 0;

	for (uint32_t area = 0; area < host->machine.n_areas; area++)
		for (uint32_t i = 0; i < area_clusters(host, area); i++) {
			if (!is_touched(host, area, i))
				continue;
			if (n < room)
				out[n] = cluster_at(host, area, i);
			n++;
		}
	return room && n > room ? room : n;
}

uint32_t play_race_clusters(const struct play_race *race)
{
	return play_race_read_clusters(race, NULL, 0);
}

/* ------------------------------------------------------------------------------------------ run */

static void write_note(const struct play_race *race, const char *name, char *note, size_t bytes)
{
	bool whole = race->clock_ns > race->host.last_ns;

	snprintf(note, bytes, "%s%s%s", name, race->n_gaps ? "; the trace has gaps" : "",
		 whole ? "" : "; stored before the end of the trace");
}

enum zr_err play_race_store(const struct play_race *race, uint32_t lane, const char *name,
			    struct db *results)
{
	const struct lane *it = race->lanes[lane].lane;
	struct metrics metrics = { 0 };
	struct series series = { 0 };
	char knobs[256], note[512];
	struct db_run run;
	enum zr_err err;

	sim_policy_to_text(&it->policy, knobs, sizeof(knobs));
	write_note(race, name, note, sizeof(note));
	run = (struct db_run){ .policy = it->policy.text,
			       .knobs = knobs,
			       .target = "null",
			       .target_detail = "",
			       .drive = "demand",
			       .pace = "asap",
			       .trace_id = db_trace_id(race->trace),
			       .trace_path = db_path(race->trace),
			       .host = race->host.host,
			       .created_realtime_ns = (int64_t)zr_clock_ns(CLOCK_REALTIME),
			       .reps = 1,
			       .partial = race->clock_ns <= race->host.last_ns,
			       .note = note };
	metrics_add(&metrics, &(struct replay_figures){ .page_size = race->host.machine.page_size,
							.counters = sim_counters(it->sim),
							.io = &it->swapio.io });
	err = results_store(results, &run, &metrics, &series);
	metrics_fini(&metrics);
	return err;
}
