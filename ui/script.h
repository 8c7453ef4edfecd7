/* SPDX-License-Identifier: MIT */
/*
 * Keys as text, for screens without a terminal: `zreel ui FILE --script KEYS --dump`.
 *
 * A character is that key. <left> <right> <s-left> <s-right> <home> <end> <tab> <space> <lt> are keys with
 * a name, <frame> or <frame N> lets N frames pass, <resize WxH> changes the size. After every key one frame
 * passes; a frame is always 100 ms, and what it starts is finished before the next step, so the screen does
 * not depend on the machine.
 */
#ifndef UI_SCRIPT_H
#define UI_SCRIPT_H

#include "ui/dash.h"

/* Plays the whole script; ZR_USAGE quotes the word that is not understood. */
enum zr_err ui_script_play(const char *script, struct ui_dash *dash, struct ui_grid *grid);

/* "80x24"; false if it is not that. */
bool ui_parse_size(const char *text, int *w, int *h);

#endif
