/* SPDX-License-Identifier: MIT */
/*
 * The dashboard: a race of several policies over one trace, watched and steered.
 *
 * This is the part without a terminal and without the race: keys and the mouse go in, frames pass, orders go to the
 * pilot (pilot.h), and the newest view is drawn into a grid. The clock is whoever calls ui_dash_frame(). A terminal
 * loop (cmd_ui.c) and a script (script.h) drive it in the same way; the script lets the pilot settle after each step.
 */
#ifndef UI_DASH_H
#define UI_DASH_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/grid.h"
#include "ui/keys.h"
#include "ui/layout.h"
#include "ui/live.h"
#include "ui/pilot.h"

enum {
	UI_FRAME_NS = 100'000'000, /* ten frames a second */
	UI_BOOKMARKS = 16,
	UI_PROMPT_MAX = 120,
	UI_WINDOW_STEPS = 12, /* of the history: what "last" means */
};

/* Which keys act: rows of the table of keys belong to some of these. */
enum ui_mode { UI_MODE_RACE = 1, UI_MODE_MAP = 2, UI_MODE_LIST = 4, UI_MODE_HELP = 8, UI_MODE_PROMPT = 16,
	       UI_MODE_LIVE = 32 };

enum ui_prompt { UI_PROMPT_EDIT, UI_PROMPT_ADD, UI_PROMPT_STORE, UI_PROMPT_FIND, UI_PROMPT_SCREEN,
		 UI_PROMPT_SAVE_SESSION, UI_PROMPT_LOAD_SESSION };

struct ui_dash {
	struct ui_pilot *pilot;
	const struct ui_view *view; /* the newest */
	struct ui_live *live; /* instead of both: what is shown is a replay on a real target */
	struct ui_live_view live_view;
	const char *title;	    /* the trace's path */
	bool ascii, mono;
	int w, h; /* of the screen */

	enum ui_mode mode;
	enum ui_panel panel; /* the chosen one */
	uint32_t selected;   /* lane */
	uint32_t speed;	     /* index, see ui_dash_speed() */
	uint64_t target_ns;  /* where seeks start from, so that several quick ones add up */
	bool playing, quit;

	uint32_t zoom; /* the map shows a 2^zoom-th of all */
	uint64_t map_cursor;
	int list_row; /* chosen */

	enum ui_prompt prompt;
	char typed[UI_PROMPT_MAX + 1];

	uint64_t bookmarks[UI_BOOKMARKS]; /* times, ascending */
	uint32_t n_bookmarks;

	uint32_t ordered, said, moved; /* serials seen */
	char message[256];
	bool is_error;
	int message_frames; /* for which it still stands */
	enum zr_err err;    /* ended the dashboard */
};

/* Takes texts as they are (the caller keeps them alive). Starts playing. */
enum zr_err ui_dash_init(struct ui_dash *dash, const struct ui_pilot_setting *setting);
enum zr_err ui_dash_init_live(struct ui_dash *dash, const struct ui_live_setting *setting);

void ui_dash_fini(struct ui_dash *dash);

/* Stops a live replay and gives its result; *stopped: before its end. */
enum zr_err ui_dash_end_live(struct ui_dash *dash, bool *stopped);

/* Lets the thread work. */
enum zr_err ui_dash_start(struct ui_dash *dash);

void ui_dash_resize(struct ui_dash *dash, int w, int h);
void ui_dash_key(struct ui_dash *dash, int key);
void ui_dash_mouse(struct ui_dash *dash, const struct ui_mouse *mouse);

/* Lets `elapsed_ns` of real time pass, and takes the newest view. */
void ui_dash_frame(struct ui_dash *dash, uint64_t elapsed_ns);

/* Takes the newest view without letting time pass. */
void ui_dash_look(struct ui_dash *dash);

/* Whether frames change anything. */
bool ui_dash_is_busy(const struct ui_dash *dash);
bool ui_dash_is_behind(const struct ui_dash *dash);

/* Trace seconds a second; the fastest is as fast as it goes. */
double ui_dash_speed(const struct ui_dash *dash);
bool ui_dash_is_fastest(const struct ui_dash *dash);

/* The table of keys, for the help; ended by a NULL `shown`. */
struct ui_key_row {
	int keys[6]; /* all do the same; unused ones are UI_KEY_NONE */
	const char *shown, *help;
	const char *hint; /* for the footer, NULL = not there */
	unsigned modes;
	void (*act)(struct ui_dash *dash, int key);
};

const struct ui_key_row *ui_dash_keys(void);

/* Draws everything (panels.c). */
void ui_dash_draw(const struct ui_dash *dash, struct ui_grid *grid);

/* ---- between dash.c, dash_keys.c, dash_prompt.c and session.c ---- */

enum ui_mode ui_dash_home(const struct ui_dash *dash); /* where no list, prompt or help is open */
uint32_t ui_dash_lanes(const struct ui_dash *dash);
void ui_dash_order(struct ui_dash *dash, const struct ui_order *order);
void ui_dash_go(struct ui_dash *dash, uint64_t time_ns);
void ui_dash_say(struct ui_dash *dash, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ui_dash_tell(struct ui_dash *dash); /* the error that zr_fail() keeps, and forgets it */
void ui_dash_set_speed(struct ui_dash *dash, double speed);

/* What the map shows: slots from place `at` on, and in how many spots, of which `halves` are two a cell. */
struct ui_map_window {
	uint64_t at, slots;
	uint32_t spots;
	bool halves, singles; /* singles: one slot a spot, one spot a cell */
};

struct ui_map_window ui_dash_map_window(const struct ui_dash *dash);

void ui_prompt_open(struct ui_dash *dash, enum ui_prompt prompt, const char *typed);
void ui_prompt_key(struct ui_dash *dash, int key);
const char *ui_prompt_title(enum ui_prompt prompt);

/* Writes the screen as it is; text, ANSI (.ans) or SVG (.svg) by the file's name. */
enum zr_err ui_dash_write(const struct ui_dash *dash, const char *path);

#endif
