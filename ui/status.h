/* SPDX-License-Identifier: MIT */
/* The line that shows on a terminal how a recording goes, drawn over itself about once a second. */
#ifndef UI_STATUS_H
#define UI_STATUS_H

#include <stdbool.h>
#include <stdio.h>

#include "recorder/recorder.h"

/* What is on the terminal, and what it was when it was drawn last: rates are of the time between. */
struct ui_status {
	FILE *out;
	bool on, shown; /* `out` is a terminal, else nothing is ever written; the line stands there */
	struct rec_status last;
};

struct ui_status ui_status_on(FILE *out);

/* A callback for rec_options: `arg` is the line. Never wider than the terminal. */
void ui_status_update(void *arg, const struct rec_status *status);

/* Takes the line off the terminal, so that others can be written. */
void ui_status_clear(struct ui_status *line);

#endif
