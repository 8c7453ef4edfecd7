/* SPDX-License-Identifier: MIT */
/*
 * The dashboard: a race of several policies over one trace, watched and steered.
 *
 * This is the part without a terminal. Keys go in, frames pass, a grid is drawn; the clock is whoever calls
 * ui_dash_frame(). A terminal loop (cmd_ui.c) and a script (script.h) drive it in the same way.
 *
 * The race follows `goal_ns`, a point in trace time: playing moves it on with the frames, seeking sets it.
 * A frame feeds at most UI_FRAME_EVENTS events over all lanes, so that keys are answered however far away
 * the goal is. Going back starts the race anew and catches up in the same way.
 */
#ifndef UI_DASH_H
#define UI_DASH_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/replayer.h"
#include "ui/grid.h"
#include "ui/history.h"

enum {
	UI_FRAME_NS = 100'000'000, /* ten frames a second */
	UI_FRAME_EVENTS = 240'000, /* events x lanes: well below a frame's time on one core */
};

/* Keys are ASCII codes or one of these. */
enum ui_key {
	UI_KEY_NONE = 0,
	UI_KEY_TAB = '\t',
	UI_KEY_ESCAPE = 27,
	UI_KEY_LEFT = 256,
	UI_KEY_RIGHT,
	UI_KEY_SHIFT_LEFT,
	UI_KEY_SHIFT_RIGHT,
	UI_KEY_HOME,
	UI_KEY_END,
};

struct ui_dash {
	struct play_race *race;
	const char *title, *kernel;
	uint64_t page_size;
	struct ui_history history;
	bool gap_at[UI_HISTORY_STEPS]; /* a gap lies in this step */
	uint64_t clock_ns, goal_ns;    /* trace time: where the race stands, where it goes */
	uint32_t next_border;	       /* of the history, ahead of the clock */
	uint32_t selected;	       /* lane */
	uint32_t speed;		       /* index, see ui_dash_speed() */
	bool playing, help, quit;
	enum zr_err err; /* ended the dashboard */
};

/* Takes texts as they are (the caller keeps them alive). Starts playing. */
enum zr_err ui_dash_init(struct ui_dash *dash, struct db *trace, const char *const *policies, uint32_t n,
			 struct zr_arena *arena);
void ui_dash_fini(struct ui_dash *dash);

void ui_dash_key(struct ui_dash *dash, int key);

/* Lets `elapsed_ns` of real time pass. */
void ui_dash_frame(struct ui_dash *dash, uint64_t elapsed_ns);

/* Whether frames change anything: playing, or on the way to the goal. */
bool ui_dash_is_busy(const struct ui_dash *dash);
bool ui_dash_is_behind(const struct ui_dash *dash);

/* Trace seconds a second. */
double ui_dash_speed(const struct ui_dash *dash);

/* The table of keys, for the help; ended by a NULL `shown`. */
struct ui_key_row {
	int keys[4]; /* all do the same; unused ones are UI_KEY_NONE */
	const char *shown, *help;
	void (*act)(struct ui_dash *dash, int key);
};

const struct ui_key_row *ui_dash_keys(void);

/* Draws everything (panels.c). */
void ui_dash_draw(const struct ui_dash *dash, struct ui_grid *grid);

#endif
