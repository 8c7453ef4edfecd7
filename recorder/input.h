/* SPDX-License-Identifier: MIT */
/*
 * Lines or bytes of a file or of stdin ("-"), plain or zstd-compressed, in bounded memory. A line longer
 * than REC_LINE_MAX is cut there; what is beyond is skipped. NUL bytes inside a line end it.
 */
#ifndef RECORDER_INPUT_H
#define RECORDER_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/err.h"

enum { REC_LINE_MAX = 8192, REC_HEAD_BYTES = 16 };

struct rec_input;

enum zr_err rec_input_open(const char *path, struct rec_input **out);

/* Asked when a signal breaks a wait for more input; false makes the input end there. */
void rec_input_watch(struct rec_input *input, bool (*go_on)(void *arg), void *arg);

/* For messages: the path, or "standard input". */
const char *rec_input_name(const struct rec_input *input);

/* How much of it was read, 0..1; negative when its size is not known. */
double rec_input_done(const struct rec_input *input);

/* Its descriptor if it can be read at any place (a plain file, not compressed), else -1. Positions are then
 * the user's business. */
int rec_input_seekable(const struct rec_input *input);

/* The first bytes, unpacked, without taking them; *n may be less than REC_HEAD_BYTES only if there are no
 * more. Only before the first line or byte was taken. */
enum zr_err rec_input_head(struct rec_input *input, const void **head, size_t *n);

/* `bytes` of it, fewer only at the end. */
enum zr_err rec_input_read(struct rec_input *input, void *to, size_t bytes, size_t *got);

/* The next line without its newline, NULL at the end. Valid until the next call. */
enum zr_err rec_input_next(struct rec_input *input, char **line);
void rec_input_close(struct rec_input *input);

#endif
