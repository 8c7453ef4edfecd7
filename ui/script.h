/* SPDX-License-Identifier: MIT */
/*
 * Keys as text, for screens without a terminal: `zreel ui FILE --script KEYS --dump`.
 *
 * A character is that key. <left> <right> <up> <down> <s-left> <s-right> <home> <end> <pgup> <pgdn> <tab> <enter>
 * <esc> <backspace> <clear> <space> <lt> are keys with a name; <click X,Y>, <wheel-up X,Y> and <wheel-down X,Y> are the
 * mouse's; <frame> or <frame N> lets N frames pass, <resize WxH> changes the size. After every key one frame passes; a
 * frame is always 100 ms, and what it starts is finished before the next step, so the screen does not depend on the
 * machine.
 */
#ifndef UI_SCRIPT_H
#define UI_SCRIPT_H

#include "ui/dash.h"

/* Plays the whole script; ZR_USAGE quotes the word that is not understood. */
enum zr_err ui_script_play(const char *script, struct ui_dash *dash, struct ui_grid *grid);

/* Lets the pilot, which must have no thread, do all there is to do, and takes its view. */
void ui_script_settle(struct ui_dash *dash);

/* "80x24"; false if it is not that. */
bool ui_parse_size(const char *text, int *w, int *h);

#endif
