/* SPDX-License-Identifier: MIT */
/*
 * What roles look like: one of the terminal's own eight colours and attributes. Colours differ in blue against
 * yellow, not in red against green alone, and no meaning is in a colour only: shapes, words or signs say it too.
 */
#ifndef UI_LOOKS_H
#define UI_LOOKS_H

#include "ui/grid.h"

enum { UI_LOOK_BOLD = 1, UI_LOOK_DIM = 2, UI_LOOK_REVERSE = 4 };

struct ui_look {
	uint8_t colour;	   /* 1-7 in the order of ANSI: red, green, yellow, blue, magenta, cyan, white; 0 = its own */
	uint8_t how, mono; /* attributes; where there are no colours */
};

extern const struct ui_look ui_looks[UI_ROLE_COUNT];

#endif
