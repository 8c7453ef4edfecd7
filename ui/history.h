/* SPDX-License-Identifier: MIT */
/*
 * What the dashboard remembers of a race, so that it can draw curves over time.
 *
 * The trace's span is cut into UI_HISTORY_STEPS equal steps. Each time the race passes a border between
 * two, the running totals are kept; a curve is the differences of totals. Totals at a border do not depend
 * on how the race got there, so after going back the curve ahead of the cursor stays valid. 260 bytes a
 * border, whatever the length of the trace.
 */
#ifndef UI_HISTORY_H
#define UI_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/replayer.h"

enum { UI_HISTORY_STEPS = 480 };

struct ui_lane_totals {
	uint64_t write_pages, write_requests, disk_refaults;
};

struct ui_totals {
	uint64_t time_ns;
	uint64_t outs, ins;
	struct ui_lane_totals lane[PLAY_RACE_LANES];
};

struct ui_history {
	uint64_t first_ns, last_ns;
	uint32_t known; /* borders 0..known-1 have their totals */
	struct ui_totals at[UI_HISTORY_STEPS + 1];
};

void ui_history_init(struct ui_history *history, uint64_t first_ns, uint64_t last_ns);

/* Time of a border, from 0 to UI_HISTORY_STEPS. */
uint64_t ui_history_border_ns(const struct ui_history *history, uint32_t border);

/* The race's totals now. */
struct ui_totals ui_totals_now(const struct play_race *race, uint64_t time_ns);

/* Keeps the totals of a border that the race has just reached. */
void ui_history_keep(struct ui_history *history, uint32_t border, const struct ui_totals *totals);

/* What a curve shows of two totals; NaN where there is nothing to show. */
enum ui_curve { UI_CURVE_PAGES_PER_REQUEST, UI_CURVE_OUT_RATE, UI_CURVE_IN_RATE };

double ui_totals_between(const struct ui_totals *from, const struct ui_totals *to, enum ui_curve curve,
			 uint32_t lane);

/* The curve in `n` columns over the whole span. */
void ui_history_curve(const struct ui_history *history, enum ui_curve curve, uint32_t lane,
		      double *values, int n);

#endif
