/* SPDX-License-Identifier: MIT */
/*
 * A session: the lanes, the place and the bookmarks of a dashboard as a small text file, one thing a line:
 *
 *   zreel session 1
 *   trace PATH             trace-id HEX
 *   clock NS   speed X   selected N
 *   lane POLICY            up to six
 *   bookmark NS            up to sixteen
 */
#ifndef UI_SESSION_H
#define UI_SESSION_H

#include "ui/dash.h"

enum { UI_SESSION_LINE = 4096 };

struct ui_session {
	char trace[UI_SESSION_LINE], trace_id[40];
	uint64_t clock_ns;
	double speed;
	uint32_t selected;
	char lanes[PLAY_RACE_LANES][128];
	uint32_t n_lanes;
	uint64_t bookmarks[UI_BOOKMARKS];
	uint32_t n_bookmarks;
};

/* ZR_EXISTS if there is such a file and it is none of these. */
enum zr_err ui_session_save(const struct ui_dash *dash, const char *path);

/* ZR_BAD_TEXT quotes the line that is not understood; policies are checked. */
enum zr_err ui_session_read(const char *path, struct ui_session *out);

/* Makes the dashboard that of the session; of the same trace only. */
enum zr_err ui_session_apply(struct ui_dash *dash, const struct ui_session *session);

#endif
