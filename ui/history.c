/* SPDX-License-Identifier: MIT */
/* Running totals at equal distances of trace time; see history.h. */
#include "ui/history.h"

#include <math.h>

void ui_history_init(struct ui_history *history, uint64_t first_ns, uint64_t last_ns)
{
	*history = (struct ui_history){ .first_ns = first_ns, .last_ns = last_ns, .known = 1 };
	history->at[0].time_ns = first_ns;
}

uint64_t ui_history_border_ns(const struct ui_history *history, uint32_t border)
{
	uint64_t span = history->last_ns - history->first_ns;

	/* Divided first, so that a span of years does not overflow. */
	return history->first_ns + span / UI_HISTORY_STEPS * border +
	       span % UI_HISTORY_STEPS * border / UI_HISTORY_STEPS;
}

struct ui_totals ui_totals_now(const struct play_race *race, uint64_t time_ns)
{
	const uint64_t *kinds = play_race_kind_counts(race);
	struct ui_totals out = { .time_ns = time_ns, .outs = kinds[DB_OUT], .ins = kinds[DB_IN] };

	for (uint32_t i = 0; i < play_race_lanes(race); i++) {
		struct play_lane lane = play_race_lane(race, i);

		out.lane[i] = (struct ui_lane_totals){
			.write_pages = lane.io->write_pages,
			.write_requests = lane.io->write_requests,
			.disk_refaults = lane.counters->disk_refaults,
		};
	}
	return out;
}

void ui_history_keep(struct ui_history *history, uint32_t border, const struct ui_totals *totals)
{
	history->at[border] = *totals;
	if (border >= history->known)
		history->known = border + 1;
}

static double rate_per_s(uint64_t from, uint64_t to, uint64_t span_ns)
{
	return span_ns ? (double)(to - from) * 1e9 / (double)span_ns : NAN;
}

double ui_totals_between(const struct ui_totals *from, const struct ui_totals *to, enum ui_curve curve,
			 uint32_t lane)
{
	const struct ui_lane_totals *a = &from->lane[lane], *b = &to->lane[lane];
	uint64_t span_ns = to->time_ns - from->time_ns;

	if (curve == UI_CURVE_OUT_RATE)
		return rate_per_s(from->outs, to->outs, span_ns);
	if (curve == UI_CURVE_IN_RATE)
		return rate_per_s(from->ins, to->ins, span_ns);
	if (b->write_requests == a->write_requests)
		return NAN;
	return (double)(b->write_pages - a->write_pages) /
	       (double)(b->write_requests - a->write_requests);
}

void ui_history_curve(const struct ui_history *history, enum ui_curve curve, uint32_t lane,
		      double *values, int n)
{
	for (int x = 0; x < n; x++) {
		uint32_t from = (uint32_t)(UI_HISTORY_STEPS * x / n);
		uint32_t to = (uint32_t)(UI_HISTORY_STEPS * (x + 1) / n);

		/* Wider than the steps: neighbouring columns show the same step. */
		if (to == from)
			to++;
		if (to >= history->known)
			to = history->known - 1;
		values[x] = to > from
				    ? ui_totals_between(&history->at[from], &history->at[to], curve, lane)
				    : NAN;
	}
}
