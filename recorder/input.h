/* SPDX-License-Identifier: MIT */
/*
 * Lines of a file or of stdin ("-"), plain or zstd-compressed, in bounded memory. A line longer than
 * REC_LINE_MAX is cut there; what is beyond is skipped. NUL bytes inside a line end it.
 */
#ifndef RECORDER_INPUT_H
#define RECORDER_INPUT_H

#include "db/base/err.h"

enum { REC_LINE_MAX = 8192 };

struct rec_input;

enum zr_err rec_input_open(const char *path, struct rec_input **out);

/* The next line without its newline, NULL at the end. Valid until the next call. */
enum zr_err rec_input_next(struct rec_input *input, char **line);
void rec_input_close(struct rec_input *input);

#endif
