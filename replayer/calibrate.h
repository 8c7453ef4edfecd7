/* SPDX-License-Identifier: MIT */
/*
 * Measuring a drive: how many requests of a size, a pattern and a depth it does a second, and how long one
 * takes. The figures are those of play_drive in replayer.h; drives.h keeps them, drive_fit.h makes a modelled
 * device of them.
 *
 *   random       4 KiB     at 1, 2, 4 ... 128 requests at once
 *   random       larger    at 1 and at 32: to 128 KiB, and what a request may have at most (to 1 MiB)
 *   sequential   all sizes at 1 and at 32
 *
 * all of it for reads, then for writes. As soon as a request is done the next one is given: a closed loop, so that
 * depth = rate x latency can be held against what came out. Sequential requests are given one at a time, since the
 * kernel would merge what is given at once.
 *
 * A figure is taken when it is steady, not after a fixed time: a point is measured in windows, the first of which
 * is thrown away, and ends when the last CALIBRATE_STEADY of them are within CALIBRATE_SPREAD percent of each
 * other. At latest it ends with its part of the whole time; then the second half of its windows counts, and the
 * point says that it was not steady.
 *
 * Writes stay behind the first MiB, of which a scratch file needs the first page for its mark. What is measured
 * was written first, once, in order; as far as a quarter of the time reaches.
 */
#ifndef REPLAYER_CALIBRATE_H
#define REPLAYER_CALIBRATE_H

#include "replayer/replayer.h"

enum { CALIBRATE_STEADY = 3, CALIBRATE_SPREAD = 5, CALIBRATE_WINDOWS = 12, CALIBRATE_FEWEST = 16 };

struct calibrate_window {
	uint64_t ios, ns, latency_ns; /* latency: sum */
};

/* Whether the last windows of n agree (the first never counts, and each has CALIBRATE_FEWEST requests). */
bool calibrate_is_steady(const struct calibrate_window *windows, uint32_t n);

/* Rate and latency of the windows that count. */
void calibrate_sum_up(const struct calibrate_window *windows, uint32_t n, struct play_drive_point *point);

/* The points to be measured, largest request `max_bytes`; returns how many (at most PLAY_DRIVE_POINTS). */
uint32_t calibrate_list(uint32_t max_bytes, bool read_only, struct play_drive_point *points);

#endif
