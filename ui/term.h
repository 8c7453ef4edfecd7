/* SPDX-License-Identifier: MIT */
/*
 * The terminal: shows a grid and waits for keys. The only user of ncurses is term_ncurses.c.
 *
 * From open to close the terminal is in full-screen mode. Signals arrive only while ui_term_wait() waits,
 * so no draw is ever torn by one; stop signals raise the flag of stop.h and the wait returns.
 */
#ifndef UI_TERM_H
#define UI_TERM_H

#include <stdint.h>

#include "db/base/err.h"
#include "ui/grid.h"
#include "ui/keys.h"

struct ui_term;

/* ZR_UNSUPPORTED when stdin or stdout is no terminal or TERM names one that cannot place a cursor. Changes
 * nothing, so that a command can say so before it begins to work. */
enum zr_err ui_term_check(void);

/* Checks, and takes the terminal. */
enum zr_err ui_term_open(struct ui_term **out);

/* Restores the terminal; NULL is fine. */
void ui_term_close(struct ui_term *term);

void ui_term_size(const struct ui_term *term, int *w, int *h);

/* Whether colours tell roles apart (not with NO_COLOR or on a monochrome terminal). */
bool ui_term_is_mono(const struct ui_term *term);

void ui_term_show(struct ui_term *term, const struct ui_grid *grid);

enum ui_event { UI_EVENT_NONE, UI_EVENT_KEY, UI_EVENT_MOUSE, UI_EVENT_RESIZE, UI_EVENT_CLOSED };

struct ui_input {
	int key; /* enum ui_key, of UI_EVENT_KEY */
	struct ui_mouse mouse;
};

/* Waits for at most `timeout_ns` (negative: for ever). CLOSED: the input is at its end or a stop signal came. */
enum ui_event ui_term_wait(struct ui_term *term, int64_t timeout_ns, struct ui_input *input);

#endif
