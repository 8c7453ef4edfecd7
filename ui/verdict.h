/* SPDX-License-Identifier: MIT */
/*
 * The figures of a lane, and whether one differs from the base lane's beyond noise.
 *
 * The lanes are deterministic, so there is no spread between repetitions. What there is, is the spread from one
 * stretch of the trace to the next: the history is cut into equal steps, each step gives one value of the figure a
 * lane, and Welch's test (stats.h, level 5%) asks whether the two lanes' values have different means. So a
 * difference counts only if it is large against how much the figure moves by itself; lanes without enough steps, or
 * equal ones, are never told apart.
 */
#ifndef UI_VERDICT_H
#define UI_VERDICT_H

#include "ui/stats.h"
#include "ui/view.h"

#define UI_FIGURES(X)                                                                              \
	X(PAGES_PER_REQUEST, "pages/request", UI_MORE, 2)                                          \
	X(WRITES, "writes/s", UI_LESS, 0)                                                          \
	X(REFAULTS, "disk refault/s", UI_LESS, 0)                                                    \
	X(REJECTS, "rejects/s", UI_LESS, 0)                                                        \
	X(WALKS, "walks/s", UI_NEITHER, 1)                                                         \
	X(WAKEUPS, "wake-ups/s", UI_NEITHER, 1)

enum ui_figure {
#define X(name, label, better, decimals) UI_FIGURE_##name,
	UI_FIGURES(X)
#undef X
	UI_FIGURE_COUNT,
};

enum ui_better { UI_NEITHER, UI_MORE, UI_LESS };
enum ui_verdict { UI_NO_VERDICT, UI_BETTER, UI_WORSE };

enum { UI_VERDICT_STEPS = 4 }; /* the least */

const char *ui_figure_label(enum ui_figure figure);
int ui_figure_decimals(enum ui_figure figure);

/* Of a lane between two totals that lie `span_ns` apart; NaN where there is nothing to show. */
double ui_figure_between(const struct play_lane_totals *from, const struct play_lane_totals *to, uint64_t span_ns,
			 enum ui_figure figure);

/* Of two samples, by Welch's test; no verdict also where neither direction is better. */
enum ui_verdict ui_verdict_between(const struct ui_sample *base, const struct ui_sample *it, enum ui_better better);

/* Over the last `steps` whole steps before the clock (0 = all). */
enum ui_verdict ui_verdict_of(const struct ui_view *view, enum ui_figure figure, uint32_t lane, uint32_t steps);

/* Whole steps before the clock. */
uint32_t ui_steps_done(const struct ui_view *view);

#endif
