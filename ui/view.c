/* SPDX-License-Identifier: MIT */
/* Filling the view of view.h. */
#include "ui/view.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAP_PROBES = 8, /* slots looked at for one spot of the map */
	AGE_PROBES = 1 << 15,
};

static const struct {
	uint64_t ns;
	const char *name;
} ages[UI_AGES] = {
	{ 1'000'000, "< 1 ms" },	 { 10'000'000, "< 10 ms" },
	{ 100'000'000, "< 100 ms" },	 { 500'000'000, "< 500 ms" },
	{ 1'000'000'000, "< 1 s" },	 { 2'000'000'000, "< 2 s" },
	{ 5'000'000'000, "< 5 s" },	 { 10'000'000'000, "< 10 s" },
	{ 30'000'000'000, "< 30 s" },	 { 60'000'000'000, "< 1 min" },
	{ 600'000'000'000, "< 10 min" }, { UINT64_MAX, "older" },
};

const char *ui_age_name(uint32_t bin)
{
	return ages[bin].name;
}

const char *ui_spot_name(enum ui_spot spot)
{
	static const char *const names[] = {
#define X(name, text) text,
		UI_SPOTS(X)
#undef X
	};

	return names[spot];
}

/* --------------------------------------------------------------------------------------- places */

static void sum_up(struct ui_places *places)
{
	for (uint32_t i = 0; i < places->n; i++) {
		places->starts[i] = places->slots;
		places->slots += places->clusters[i].slots;
	}
}

enum zr_err ui_places_read(struct ui_places *places, const struct play_race *race)
{
	uint32_t n = play_race_clusters(race);

	if (n == places->n && places->clusters)
		return ZR_OK;
	ui_places_fini(places);
	places->clusters = calloc((size_t)n + 1, sizeof(*places->clusters));
	places->starts = calloc((size_t)n + 1, sizeof(*places->starts));
	if (!places->clusters || !places->starts) {
		ui_places_fini(places);
		return zr_fail(ZR_NOMEM, "making the map of the slots: no memory");
	}
	places->n = play_race_read_clusters(race, places->clusters, n);
	sum_up(places);
	return ZR_OK;
}

void ui_places_fini(struct ui_places *places)
{
	free(places->clusters);
	free(places->starts);
	*places = (struct ui_places){ 0 };
}

bool ui_place_slot(const struct ui_places *places, uint64_t place, uint8_t *area, uint32_t *slot)
{
	uint32_t low = 0, high = places->n;

	if (place >= places->slots)
		return false;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (places->starts[middle] <= place)
			low = middle;
		else
			high = middle;
	}
	*area = places->clusters[low].area;
	*slot = places->clusters[low].first + (uint32_t)(place - places->starts[low]);
	return true;
}

bool ui_slot_place(const struct ui_places *places, uint8_t area, uint32_t slot, uint64_t *place)
{
	for (uint32_t i = 0; i < places->n; i++) {
		const struct play_cluster *it = &places->clusters[i];

		if (it->area != area || slot < it->first || slot - it->first >= it->slots)
			continue;
		*place = places->starts[i] + (slot - it->first);
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------------ map */

static const uint64_t second = 1'000'000'000;

struct mapper {
	const struct play_race *race;
	const struct ui_places *places;
	const struct ui_ask *ask;
	uint64_t clock_ns;
};

static enum ui_spot spot_of_slot(const struct mapper *mapper, const struct play_slot *slot)
{
	static const uint8_t spots[] = {
		[SIM_SLOT_FREE] = UI_SPOT_FREE,	    [SIM_SLOT_ZSWAP] = UI_SPOT_ZSWAP,
		[SIM_SLOT_DISK] = UI_SPOT_DISK,	    [SIM_SLOT_ZERO] = UI_SPOT_ZERO,
		[SIM_SLOT_CACHED] = UI_SPOT_CACHED, [SIM_SLOT_UNKNOWN] = UI_SPOT_UNKNOWN,
	};
	uint64_t age = mapper->clock_ns > slot->since_ns ? mapper->clock_ns - slot->since_ns : 0;

	if (slot->writing)
		return UI_SPOT_WRITING;
	if (slot->unknown)
		return UI_SPOT_UNKNOWN;
	if (slot->state == SIM_SLOT_ZSWAP && age >= second)
		return age < 10 * second ? UI_SPOT_ZSWAP_10S : UI_SPOT_ZSWAP_OLD;
	return (enum ui_spot)spots[slot->state];
}

static bool slot_at(const struct mapper *mapper, uint64_t place, struct play_slot *out)
{
	uint8_t area;
	uint32_t slot;

	if (!ui_place_slot(mapper->places, place, &area, &slot))
		return false;
	*out = play_race_slot(mapper->race, mapper->ask->lane, area, slot);
	return true;
}

/* One slot, and whether it was written together with the one behind it. */
static uint8_t single_spot(const struct mapper *mapper, uint64_t place)
{
	struct play_slot slot, next;
	uint8_t spot;

	if (!slot_at(mapper, place, &slot))
		return UI_SPOT_FREE;
	spot = (uint8_t)spot_of_slot(mapper, &slot);
	if (slot.run && slot_at(mapper, place + 1, &next) && next.run == slot.run)
		spot |= UI_SPOT_JOINS;
	return spot;
}

/* What the slots of [from, to) hold most. One that is being written beats all; free ones count only
 * when hardly any other is there, or a sparsely used area would look empty. */
static uint8_t spot_of_range(const struct mapper *mapper, uint64_t from, uint64_t to)
{
	uint64_t stride = (to - from + MAP_PROBES - 1) / MAP_PROBES;
	int counts[UI_SPOT_COUNT] = { 0 }, probes = 0;
	enum ui_spot best = UI_SPOT_ZSWAP;

	for (uint64_t at = from; at < to; at += stride) {
		struct play_slot slot;

		if (!slot_at(mapper, at, &slot))
			break;
		counts[spot_of_slot(mapper, &slot)]++;
		probes++;
	}
	if (counts[UI_SPOT_WRITING])
		return UI_SPOT_WRITING;
	for (int i = UI_SPOT_ZSWAP; i < UI_SPOT_COUNT; i++)
		if (counts[i] > counts[best])
			best = (enum ui_spot)i;
	return (uint8_t)(probes - counts[UI_SPOT_FREE] > probes / 8 ? best : UI_SPOT_FREE);
}

static void fill_map(struct ui_view *view, const struct mapper *mapper)
{
	const struct ui_ask *ask = mapper->ask;

	for (uint32_t i = 0; i < ask->spots; i++) {
		uint64_t from = ask->map_at + ask->map_slots * i / ask->spots;
		uint64_t to = ask->map_at + ask->map_slots * (i + 1) / ask->spots;

		view->spots[i] = to - from <= 1 ? single_spot(mapper, from)
						: spot_of_range(mapper, from, to);
	}
}

static void fill_cursor(struct ui_view *view, const struct mapper *mapper)
{
	struct ui_slot_view *out = &view->at_cursor;

	out->known = ui_place_slot(mapper->places, mapper->ask->map_cursor, &out->area, &out->slot);
	if (out->known)
		out->it = play_race_slot(mapper->race, mapper->ask->lane, out->area, out->slot);
}

static void fill_ages(struct ui_view *view, const struct mapper *mapper)
{
	struct ui_ages *out = &view->ages;

	*out = (struct ui_ages){ .stride = (uint32_t)(mapper->places->slots / AGE_PROBES + 1) };
	for (uint64_t place = 0; place < mapper->places->slots; place += out->stride) {
		struct play_slot slot;
		uint32_t bin = 0;

		if (!slot_at(mapper, place, &slot) || slot.state != SIM_SLOT_ZSWAP)
			continue;
		while (bin < UI_AGES - 1 && mapper->clock_ns >= slot.since_ns + ages[bin].ns)
			bin++;
		out->counts[bin]++;
		out->entries++;
	}
}

/* ---------------------------------------------------------------------------------------- lanes */

/* A bucket counts where it begins: those of 32 pages and more are wider than one. */
static void fill_sizes(struct ui_lane_view *out, const struct zr_hist *pages)
{
	memset(out->sizes, 0, sizeof(out->sizes));
	for (uint32_t bucket = 0; pages->count && bucket <= zr_hist_bucket(pages->max); bucket++) {
		uint64_t low, high;
		int size = 0;

		zr_hist_bounds(bucket, &low, &high);
		while (size < UI_SIZES - 1 && (uint64_t)1 << size < low)
			size++;
		out->sizes[size] += pages->bucket[bucket];
	}
}

static void fill_lane(struct ui_lane_view *out, const struct play_lane *lane)
{
	out->policy = *lane->policy;
	out->counters = *lane->counters;
	out->io = *lane->io;
	out->state = lane->state;
	out->joined = lane->joined;
	out->caught_up = lane->caught_up;
	out->pages = lane->pages;
	out->contexts = lane->contexts;
	out->requests = lane->requests;
	fill_sizes(out, lane->request_pages);
	memcpy(out->breaks, lane->breaks, sizeof(out->breaks));
	memcpy(out->ceiling_requests, lane->ceiling_requests, sizeof(out->ceiling_requests));
}

void ui_view_fill(struct ui_view *view, const struct play_race *race,
		  const struct ui_places *places, const struct ui_ask *ask)
{
	struct mapper mapper = { race, places, &view->ask, play_race_clock_ns(race) };

	view->ready = true;
	view->ask = *ask;
	view->first_ns = play_race_first_ns(race);
	view->last_ns = play_race_last_ns(race);
	view->end_ns = play_race_end_ns(race);
	view->clock_ns = play_race_clock_ns(race);
	view->cursor = play_race_cursor(race);
	view->events = play_race_events(race);
	view->n_lanes = play_race_lanes(race);
	if (view->ask.lane >= view->n_lanes)
		view->ask.lane = view->n_lanes - 1;
	if (view->ask.spots > UI_MAP_SPOTS)
		view->ask.spots = UI_MAP_SPOTS;
	for (uint32_t i = 0; i < view->n_lanes; i++) {
		struct play_lane lane = play_race_lane(race, i);

		fill_lane(&view->lanes[i], &lane);
	}
	view->now = play_race_totals(race);
	view->history = *play_race_history(race);
	view->map_all = places->slots;
	fill_map(view, &mapper);
	fill_cursor(view, &mapper);
	if (ask->ages)
		fill_ages(view, &mapper);
}
