/* SPDX-License-Identifier: MIT */
/* The test of verdict.h. */
#include "ui/verdict.h"

#include <math.h>

static const struct {
	const char *label;
	enum ui_better better;
	int decimals;
} figures[UI_FIGURE_COUNT] = {
#define X(name, label, better, decimals) { label, better, decimals },
	UI_FIGURES(X)
#undef X
};

const char *ui_figure_label(enum ui_figure figure)
{
	return figures[figure].label;
}

int ui_figure_decimals(enum ui_figure figure)
{
	return figures[figure].decimals;
}

static uint64_t counted(const struct play_lane_totals *from, const struct play_lane_totals *to,
			enum ui_figure figure)
{
	switch (figure) {
	case UI_FIGURE_WRITES:
		return to->write_requests - from->write_requests;
	case UI_FIGURE_REFAULTS:
		return to->disk_refaults - from->disk_refaults;
	case UI_FIGURE_REJECTS:
		return to->rejected - from->rejected;
	case UI_FIGURE_WALKS:
		return to->walks - from->walks;
	case UI_FIGURE_WAKEUPS:
		return to->wakeups - from->wakeups;
	case UI_FIGURE_PAGES_PER_REQUEST:
	case UI_FIGURE_COUNT:
		break;
	}
	return 0;
}

double ui_figure_between(const struct play_lane_totals *from, const struct play_lane_totals *to,
			 uint64_t span_ns, enum ui_figure figure)
{
	uint64_t requests = to->write_requests - from->write_requests;

	if (figure == UI_FIGURE_PAGES_PER_REQUEST)
		return requests ? (double)(to->write_pages - from->write_pages) / (double)requests
				: NAN;
	return span_ns ? (double)counted(from, to, figure) * 1e9 / (double)span_ns : NAN;
}

uint32_t ui_steps_done(const struct ui_view *view)
{
	const struct play_history *h = &view->history;
	uint64_t since_ns = view->clock_ns > h->first_ns ? view->clock_ns - h->first_ns : 0;
	uint64_t steps = h->step_ns ? since_ns / h->step_ns : 0;

	return steps < PLAY_RACE_STEPS ? (uint32_t)steps : PLAY_RACE_STEPS;
}

static struct ui_sample sample(const struct ui_view *view, enum ui_figure figure, uint32_t lane,
			       uint32_t steps)
{
	const struct play_history *h = &view->history;
	double values[PLAY_RACE_STEPS];
	uint32_t done = ui_steps_done(view), n = 0;

	if (done >= h->lane_known[lane])
		done = h->lane_known[lane] ? h->lane_known[lane] - 1 : 0;
	for (uint32_t i = steps && done > steps ? done - steps : 0; i < done; i++) {
		double value = ui_figure_between(&h->at[i].lane[lane], &h->at[i + 1].lane[lane],
						 h->step_ns, figure);

		if (!isnan(value))
			values[n++] = value;
	}
	return ui_sample_of(values, n);
}

enum ui_verdict ui_verdict_between(const struct ui_sample *base, const struct ui_sample *it, enum ui_better better)
{
	if (better == UI_NEITHER || !(ui_welch_p(base, it) < UI_LEVEL))
		return UI_NO_VERDICT;
	return (it->mean > base->mean) == (better == UI_MORE) ? UI_BETTER : UI_WORSE;
}

enum ui_verdict ui_verdict_of(const struct ui_view *view, enum ui_figure figure, uint32_t lane,
			      uint32_t steps)
{
	struct ui_sample base, it;

	if (!lane || figures[figure].better == UI_NEITHER || !view->lanes[lane].joined ||
	    !view->lanes[0].joined)
		return UI_NO_VERDICT;
	base = sample(view, figure, 0, steps);
	it = sample(view, figure, lane, steps);
	if (base.n < UI_VERDICT_STEPS || it.n < UI_VERDICT_STEPS)
		return UI_NO_VERDICT;
	return ui_verdict_between(&base, &it, figures[figure].better);
}
