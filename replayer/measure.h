/* SPDX-License-Identifier: MIT */
/*
 * Counters of the kernel, taken before and after: names with whole numbers, from the few shapes of text in which it
 * shows them.
 *
 *   measure_pairs      "pswpin 12"                /proc/vmstat, memory.stat
 *   measure_block      one line of 11..17 columns /sys/dev/block/MAJOR:MINOR/stat
 *   measure_io_stat    "8:0 rbytes=1 wios=2 ..."  io.stat of a control group, one device's line
 *   measure_pressure   "full avg10=... total=7"   io.pressure and its like
 *   measure_number     "12"                       one counter a file, as zswap's in debugfs
 *
 * What a kernel does not have is not there, and neither is a difference with it: a figure is never guessed.
 * Nothing here fails; memory that was short is told by measure_done().
 */
#ifndef REPLAYER_MEASURE_H
#define REPLAYER_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"

enum { MEASURE_NAME_BYTES = 64 };

struct measure_value {
	char name[MEASURE_NAME_BYTES];
	uint64_t value;
};

struct measure { /* zeroed = empty */
	struct measure_value *values;
	uint32_t n, room;
	bool no_memory;
};

/* ZR_NOMEM if a value found no room. */
enum zr_err measure_done(const struct measure *measure);
void measure_fini(struct measure *measure);

/* The readers of text. Names in the text, with `prefix` before them; what is not a whole number is left out. */
void measure_pairs(struct measure *measure, const char *prefix, const char *text);

/* Columns of a disk's statistics, in order: the names are `prefix` and one of these. Times in ms. */
#define MEASURE_BLOCK(X)                                                                           \
	X(read_requests)                                                                           \
	X(read_merges)                                                                             \
	X(read_sectors)                                                                            \
	X(read_ms)                                                                                 \
	X(write_requests)                                                                          \
	X(write_merges)                                                                            \
	X(write_sectors)                                                                           \
	X(write_ms)                                                                                \
	X(in_flight)                                                                               \
	X(busy_ms)                                                                                 \
	X(queue_ms)                                                                                \
	X(discard_requests)                                                                        \
	X(discard_merges)                                                                          \
	X(discard_sectors)                                                                         \
	X(discard_ms)                                                                              \
	X(flush_requests)                                                                          \
	X(flush_ms)

void measure_block(struct measure *measure, const char *prefix, const char *text);

/* Of one device: rbytes, wbytes, rios, wios, dbytes, dios, and cost.usage, cost.wait, cost.indebt, cost.indelay (us)
 * where iocost is on. A group that has done no I/O on the device has no line, which is all zeros: rbytes ... dios are
 * then there as 0, unless text is NULL. */
void measure_io_stat(struct measure *measure, const char *prefix, const char *text, uint32_t major,
		     uint32_t minor);

/* some_us and full_us. */
void measure_pressure(struct measure *measure, const char *prefix, const char *text);

void measure_number(struct measure *measure, const char *name, const char *text);

/* The same of files; one that cannot be read adds nothing. */
void measure_pairs_file(struct measure *measure, const char *prefix, const char *path);
void measure_block_file(struct measure *measure, const char *prefix, uint32_t major, uint32_t minor);
void measure_pressure_file(struct measure *measure, const char *prefix, const char *path);

/* Each file of a directory that holds one number, as /sys/kernel/debug/zswap. */
void measure_directory(struct measure *measure, const char *prefix, const char *path);

/* False if it is not there. */
bool measure_get(const struct measure *measure, const char *name, uint64_t *out);

/* What was added from before to after; false if it is not in both, or fell (counters that began anew). */
bool measure_difference(const struct measure *before, const struct measure *after, const char *name,
			uint64_t *out);

#endif
