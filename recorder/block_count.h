/* SPDX-License-Identifier: MIT */
/*
 * The writes of one disk, counted by the kernel's block tracepoints: a second account beside the disk's statistics.
 *
 * The events are perf counters with a filter, one for each tracepoint and processor: nothing is recorded, nothing can
 * overflow, and nothing is left behind however this process ends.
 *
 *   block_rq_complete                                              a write request that was done
 *   block_bio_backmerge, block_bio_frontmerge, block_rq_merge     what was merged into another before
 */
#ifndef RECORDER_BLOCK_COUNT_H
#define RECORDER_BLOCK_COUNT_H

#include <stdint.h>

#include "recorder/recorder.h"

/* As the kernel writes it into the events: dev == MAJOR << 20 | MINOR. */
void rec_block_count_filter(uint32_t major, uint32_t minor, char *text, size_t bytes);

#endif
