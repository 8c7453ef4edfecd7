/* SPDX-License-Identifier: MIT */
/* The flag that Ctrl-C raises, and the progress bar that a long job shows on a terminal. */
#ifndef UI_STOP_H
#define UI_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* From now on SIGINT, SIGTERM and, unless it was ignored (nohup), SIGHUP raise the flag instead of ending the program; its
 * address. */
const volatile int *ui_stop_catch(void);

struct ui_progress {
	const char *what;  /* "replaying 3 policies" */
	bool on;	   /* stderr is a terminal */
	bool shown;	   /* something stands on the line */
	uint64_t began_ns; /* of the monotonic clock */
};

void ui_progress_begin(struct ui_progress *progress, const char *what);

/* A callback for long jobs: `arg` is the progress, `done` 0..1; draws after the first second. False when
 * the user wants an end. */
bool ui_progress_update(void *arg, double done);

/* Takes the bar off the screen. */
void ui_progress_end(struct ui_progress *progress);

/* Columns of the terminal on `fd`, `otherwise` if it is none. */
int ui_columns(int fd, int otherwise);

#endif
