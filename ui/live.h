/* SPDX-License-Identifier: MIT */
/*
 * A replay on a real target, watched: a thread replays (play_replay), notes what it is told on the way, and the
 * dashboard takes copies of that. The policies take turns, so at any time one lane runs and the others wait or are
 * done; what can be compared are the figures of whole passes, of which each lane has as many as there were
 * repetitions.
 *
 *   replaying thread ── struct play_live ──> ui_live_note() ──> view (under a lock) ── copy ──> dashboard
 *                    <── stop flag ─────────────────────────────────────────────────────────────┘
 *
 * Which target it is does not matter here; the options of the replay pass through.
 */
#ifndef UI_LIVE_H
#define UI_LIVE_H

#include "replayer/replayer.h"
#include "ui/stats.h"
#include "ui/verdict.h"

enum { UI_LATENCIES = 16 };

/* name, label, which is better, decimals */
#define UI_LIVE_FIGURES(X)                                                                         \
	X(PAGES_PER_REQUEST, "pages/write", UI_MORE, 2)                                            \
	X(REQUESTS, "requests", UI_LESS, 0)                                                        \
	X(RATE, "requests/s", UI_NEITHER, 0)                                                       \
	X(REFAULTS, "disk reads", UI_LESS, 0)                                                      \
	X(P50, "read p50 us", UI_LESS, 1)                                                          \
	X(P99, "read p99 us", UI_LESS, 1)                                                          \
	X(REJECTS, "rejects", UI_LESS, 0)                                                          \
	X(WAKEUPS, "wake-ups", UI_NEITHER, 0)                                                      \
	X(SECONDS, "seconds", UI_LESS, 2)

enum ui_live_figure {
#define X(name, label, better, decimals) UI_LIVE_##name,
	UI_LIVE_FIGURES(X)
#undef X
	UI_LIVE_FIGURE_COUNT,
};

enum ui_live_phase { UI_LIVE_WAITS, UI_LIVE_RUNS, UI_LIVE_DONE };

/* Mean and spread of values that come one by one (B. P. Welford, Technometrics 4, 1962). */
struct ui_running {
	double mean, squares;
	uint32_t n;
};

struct ui_live_lane {
	char policy[sizeof(((struct sim_policy *)0)->text)];
	enum ui_live_phase phase;
	uint32_t passes; /* that are complete */
	bool any;	 /* it has run, so what follows is there: of the pass that runs, or of the last one */
	double done;
	bool counted; /* requests are the kernel's count; else the plan's */
	struct sim_state state;
	double now[UI_LIVE_FIGURE_COUNT]; /* NaN: nothing to tell */
	struct ui_running whole[UI_LIVE_FIGURE_COUNT];
	uint64_t latencies[UI_LATENCIES]; /* reads that took less than 2^(i+1) us; the last has the rest */
};

struct ui_live_view {
	char target[128]; /* for the header */
	uint32_t n_lanes, reps, host;
	uint64_t page_size;
	struct ui_live_lane lanes[PLAY_RACE_LANES];
	bool warm_up;	    /* a round comes first that nothing is told of */
	bool over, stopped; /* the replay has ended; before its time, by the user */
	uint32_t said;	    /* serial of the message */
	char message[512];
	enum zr_err err; /* why it ended early; the message says it */
};

/* The empty lanes of a replay. */
void ui_live_view_init(struct ui_live_view *view, const struct play_options *how);

/* Of several hosts, the one that is being replayed has the lanes. */
void ui_live_note(struct ui_live_view *view, const struct play_live *live);

const char *ui_live_label(enum ui_live_figure figure);
int ui_live_decimals(enum ui_live_figure figure);

/* 'm' measured, 'p' planned, ' ' a count of the model. */
char ui_live_source(const struct ui_live_lane *lane, enum ui_live_figure figure);

struct ui_sample ui_live_sample(const struct ui_live_lane *lane, enum ui_live_figure figure);

/* Against lane 0, by Welch's test over the repetitions. */
enum ui_verdict ui_live_verdict(const struct ui_live_view *view, enum ui_live_figure figure, uint32_t lane);

/* What is going on, in a word or two. */
const char *ui_live_state(const struct ui_live_view *view);

/* Part of all passes, 0..1. */
double ui_live_done(const struct ui_live_view *view);

struct ui_live_setting {
	const char *path, *runs; /* the trace; where the results go */
	struct play_options how; /* but for the callbacks, which are set here */
};

struct ui_live;

/* Opens both files; keeps the texts of the setting as they are. */
enum zr_err ui_live_new(const struct ui_live_setting *setting, struct ui_live **out);

/* Replays in a thread; or here and now, to the end. */
enum zr_err ui_live_start(struct ui_live *live);
void ui_live_run(struct ui_live *live);

/* From any thread: the replay ends after what it has at hand. */
void ui_live_stop(struct ui_live *live);

void ui_live_look(struct ui_live *live, struct ui_live_view *out);

/* Stops, waits for the thread, closes the files; its result, and *stopped: whether it was ended by ui_live_stop().
 * NULL is fine. */
enum zr_err ui_live_free(struct ui_live *live, bool *stopped);

#endif
