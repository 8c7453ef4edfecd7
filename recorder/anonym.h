/* SPDX-License-Identifier: MIT */
/*
 * Names that tell nothing: each part of a path becomes 12 hex digits, the same part always the same digits
 * within one recording, so that the tree keeps its shape. The key is random and forgotten with the
 * recording; the function is SipHash-2-4 (Aumasson and Bernstein 2012), so that guessing a name does
 * not help without it.
 */
#ifndef RECORDER_ANONYM_H
#define RECORDER_ANONYM_H

#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"

struct rec_anonym {
	uint64_t key[2];
};

enum zr_err rec_anonym_init(struct rec_anonym *anonym);

/* "/a/b" to "/0123456789ab/ba9876543210"; cut where the room ends. */
void rec_anonym_path(const struct rec_anonym *anonym, const char *path, char *text, size_t bytes);

/* SipHash-2-4 of the bytes; here for tests. */
uint64_t rec_anonym_hash(const struct rec_anonym *anonym, const void *data, size_t bytes);

#endif
