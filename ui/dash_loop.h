/* SPDX-License-Identifier: MIT */
/* The dashboard on the terminal: draws, waits for keys, lets time pass. */
#ifndef UI_DASH_LOOP_H
#define UI_DASH_LOOP_H

#include "ui/dash.h"

/* Starts the pilot's thread and takes the terminal until the user quits or a stop signal comes. */
enum zr_err ui_dash_loop(struct ui_dash *dash);

#endif
