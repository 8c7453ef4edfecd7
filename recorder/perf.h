/* SPDX-License-Identifier: MIT */
/*
 * The records of a perf ring: a circle of bytes in which the kernel moves `head` on and we `tail`.
 *
 *   SAMPLE  head(8) pid(4) tid(4) time(8) cpu(8) size(4) raw...        raw: an event as in ftrace's buffers
 *   LOST    head(8) id(8) lost(8) pid(4) tid(4) time(8) cpu(8)
 *
 * as the sample type REC_PERF_SAMPLE asks for them. Other records are passed over. A record is whole in the
 * circle or wraps around its end; then it is put together in a buffer first.
 */
#ifndef RECORDER_PERF_H
#define RECORDER_PERF_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/merge.h"
#include "recorder/ring.h"
#include "recorder/source.h"

enum {
	REC_PERF_SAMPLE = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
	REC_PERF_RECORD_MAX = 65536, /* bytes: the size of a record is a 16-bit number */
};

struct rec_perf_reader {
	const struct rec_decoder *decoder;
	struct rec_merge *merge;
	struct rec_source_stats stats;
	unsigned char whole[REC_PERF_RECORD_MAX];
};

/* A CPU's circle; `bytes` is a power of two. */
struct rec_perf_circle {
	const unsigned char *data;
	uint64_t bytes, head, tail;
	uint32_t cpu; /* its queue in the merge, and its number */
};

/* Takes records until the circle is empty, the time is past `mark_ns`, or the queue is full, and moves
 * `tail` on. A record whose size makes no sense ends the circle: what is left counts as one lost event. */
enum zr_err rec_perf_take(struct rec_perf_reader *reader, struct rec_perf_circle *circle,
			  uint64_t mark_ns);

/* A CPU that came while the recording runs was not watched until `time_ns`: a gap, of one event since nobody knows
 * how many. False: no memory. */
bool rec_perf_unwatched(struct rec_perf_reader *reader, uint32_t cpu, uint64_t time_ns);

#endif
