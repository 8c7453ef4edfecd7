/* SPDX-License-Identifier: MIT */
/*
 * What a page that one compressor made so long would be under another: compressor=.
 *
 * A trace has lengths, no contents, so this is an estimate. The same pages were compressed by all of them
 * (measure-lengths), and a length is translated by its rank: what is longer than a third of the pages under the one
 * is longer than a third under the other. Between 33 quantiles of each goes a straight line.
 *
 * How good it is: measure-lengths leaves out one kind of data, makes the table of the other kinds and translates the
 * lengths of that one. The totals are then off as lengths.c says; a single page is off by more. Between levels of
 * zstd it is good, between families it tells a rough factor, which is still nearer than none at all: LZ4's lengths
 * are 1.1 to 1.9 times zstd's.
 */
#ifndef REPLAYER_LENGTHS_H
#define REPLAYER_LENGTHS_H

#include <stdint.h>

enum { LENGTHS_PAGE = 4096 }; /* pages of this size were measured */

/* Its number, by the kernel's name or with a level ("zstd:9"; "zstd" is level 3); -1 = was not measured. */
int lengths_compressor(const char *name);

/* NULL behind the last. */
const char *lengths_name(int compressor);

/* `map[n]`: n bytes of the one under the other, 1 to LENGTHS_PAGE; map[0] is 0. */
void lengths_map(int from, int to, uint16_t map[LENGTHS_PAGE + 1]);

#endif
