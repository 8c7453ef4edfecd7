/* SPDX-License-Identifier: MIT */
/*
 * The pilot has the race and the trace: it takes orders, works on them in slices, and publishes views. It does so in
 * a thread of its own, so that keys are answered however much six lanes have to do; or, for screens without a
 * terminal, in ui_pilot_settle(), with the same result every time.
 *
 *   dashboard ── orders (a queue) ──> pilot: execute, advance, catch up, search
 *             <── view (three of them: the one being filled, the newest, the one being drawn)
 *
 * The race follows `goal`, a point in trace time: playing moves it on, going somewhere sets it.
 */
#ifndef UI_PILOT_H
#define UI_PILOT_H

#include "ui/view.h"

struct ui_pilot;

struct ui_pilot_setting {
	const char *path; /* of the trace */
	const char *runs; /* where lanes are stored */
	const char *const *policies;
	uint32_t n_policies;
	bool follow;
};

enum ui_order_kind {
	UI_ORDER_TICK,	  /* time_ns of trace time to play on */
	UI_ORDER_POLL,	  /* time_ns of real time have passed: look whether a followed trace has grown */
	UI_ORDER_GO,	  /* to time_ns */
	UI_ORDER_STOP,	  /* stay where the race is; give up a jump or a search */
	UI_ORDER_GAP,	  /* to behind the next gap */
	UI_ORDER_JUMP,	  /* `jump`, for the lane */
	UI_ORDER_ADD,	  /* a lane with policy `text` */
	UI_ORDER_REPLACE, /* the lane */
	UI_ORDER_REMOVE,
	UI_ORDER_STORE, /* the lane as a run called `text` */
	UI_ORDER_LIST,	/* the events of the slot at place time_ns of the map */
	UI_ORDER_FIND,	/* the next event of what `text` says: "slot 12", "cgroup /a", "pid 7" */
	UI_ORDER_ASK,
};

struct ui_order {
	enum ui_order_kind kind;
	uint64_t time_ns;
	uint32_t lane;
	enum play_jump jump;
	struct ui_ask ask;
	char text[128];
};

/* Opens the trace. A followed one may still be without events; then the view says what it waits for. */
enum zr_err ui_pilot_new(const struct ui_pilot_setting *setting, struct ui_pilot **out);
void ui_pilot_free(struct ui_pilot *pilot); /* ends the thread; NULL is fine */

/* From now on a thread works. */
enum zr_err ui_pilot_start(struct ui_pilot *pilot);

/* Queues an order; its number is in the view's `executed` when it has been carried out. */
uint32_t ui_pilot_order(struct ui_pilot *pilot, const struct ui_order *order);

/* Without a thread: works until nothing is left to do. */
void ui_pilot_settle(struct ui_pilot *pilot);

/* The newest view; good until the next call. */
const struct ui_view *ui_pilot_view(struct ui_pilot *pilot);

#endif
