/* SPDX-License-Identifier: MIT */
/*
 * Lines of ftrace text, as `trace`, `trace_pipe`, `trace-cmd report` and `perf script` print them:
 *
 *   comm-pid [(tgid)] [cpu] [flags] time: [system:]event: [(place)] name=value ...
 *   CPU:1 [LOST 57 EVENTS]
 *
 * The columns move: 4, 5 or 8 flags or none, with or without tgid. And a comm may hold anything, also
 * spaces and brackets. So the anchor is the first "[number]" that has a pid before it and a time behind it.
 */
#ifndef RECORDER_TEXT_H
#define RECORDER_TEXT_H

#include <stdint.h>

#include "recorder/import_map.h"
#include "recorder/raw.h"

enum rec_line {
	REC_LINE_EVENT,   /* one of ours: *raw is filled */
	REC_LINE_OTHER,	  /* an event, but not one of ours */
	REC_LINE_LACKS,	  /* one of ours without a field that is needed */
	REC_LINE_COMMENT, /* a header, an empty line */
	REC_LINE_UNKNOWN,
};

/* What a source's names and words mean. */
struct rec_dialect {
	struct rec_layout layout;
	struct rec_map map;
};

/* `line` has no newline and is terminated. Time, tid and cpu are filled too; a LOST line has time 0. */
enum rec_line rec_text_parse(const char *line, const struct rec_dialect *dialect,
			     struct rec_raw *raw);

#endif
