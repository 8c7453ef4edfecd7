/* SPDX-License-Identifier: MIT */
/* The schedule of pacer.h. */
#include "replayer/pacer.h"

#include <sys/prctl.h>

#include "db/base/clock.h"

static uint64_t monotonic_ns(void *arg)
{
	(void)arg;
	return zr_monotonic_ns();
}

/* A signal ends it early, which is what a wait may do. */
static void sleep_until(void *arg, uint64_t until_ns)
{
	(void)arg;
	zr_sleep_until(until_ns);
}

void pacer_init(struct pacer *pacer, enum play_pace pace, double speed, const struct pacer_hooks *hooks)
{
	*pacer = (struct pacer){ .hooks = hooks ? *hooks : (struct pacer_hooks){ 0 } };
	if (!pacer->hooks.now_ns)
		pacer->hooks.now_ns = monotonic_ns;
	if (!pacer->hooks.wait)
		pacer->hooks.wait = sleep_until;
	if (pace == PLAY_RECORDED)
		pacer->speed = 1;
	else if (pace == PLAY_SCALED)
		pacer->speed = speed;
}

static uint64_t now_ns(const struct pacer *pacer)
{
	return pacer->hooks.now_ns(pacer->hooks.arg);
}

void pacer_start(struct pacer *pacer, uint64_t first_ns)
{
	pacer->first_ns = first_ns;
	pacer->start_ns = now_ns(pacer);
	pacer->last_due_ns = pacer->start_ns;
	pacer->started = true;
	/* The kernel lets sleeps end 50 us late to save wake-ups; that would be in every event. */
	prctl(PR_SET_TIMERSLACK, 1);
}

/* A crawl through a long trace may be due later than the clock can tell. */
static uint64_t scaled(uint64_t span_ns, double speed)
{
	double clock_span = (double)span_ns / speed;

	return clock_span < (double)(INT64_MAX / 2) ? (uint64_t)clock_span : INT64_MAX / 2;
}

uint64_t pacer_due_ns(const struct pacer *pacer, uint64_t time_ns)
{
	uint64_t span_ns = time_ns > pacer->first_ns ? time_ns - pacer->first_ns : 0;

	return pacer->start_ns + (pacer->speed == 1 ? span_ns : scaled(span_ns, pacer->speed));
}

static bool is_stopped(const struct pacer *pacer)
{
	return pacer->hooks.stopped && pacer->hooks.stopped(pacer->hooks.arg);
}

bool pacer_wait(struct pacer *pacer, uint64_t time_ns)
{
	uint64_t due, now;

	if (!pacer_is_timed(pacer))
		return true;
	if (!pacer->started)
		pacer_start(pacer, time_ns);
	due = pacer_due_ns(pacer, time_ns);
	for (now = now_ns(pacer); now < due; now = now_ns(pacer)) {
		if (is_stopped(pacer))
			return false;
		pacer->hooks.wait(pacer->hooks.arg,
				  due - now < PACER_PIECE_NS ? due : now + PACER_PIECE_NS);
	}
	pacer->last_due_ns = due;
	zr_hist_add(&pacer->late_ns, now - due);
	return true;
}

void pacer_end(struct pacer *pacer)
{
	uint64_t now;

	if (!pacer->started)
		return;
	prctl(PR_SET_TIMERSLACK, 0); /* the default again */
	now = now_ns(pacer);
	pacer->drift_ns = now > pacer->last_due_ns ? now - pacer->last_due_ns : 0;
}
