/* SPDX-License-Identifier: MIT */
/*
 * Records of many CPUs into one order of time: a queue a CPU, each sorted, and a heap over their heads.
 * Both kinds of ring buffers (ftrace's and perf's) end here.
 *
 * A queue has a bound. A reader that meets a full one stops reading that CPU for this round, and
 * says so with rec_merge_behind(): what is later than the last record that it took must wait, since
 * earlier ones may still lie in the kernel. Who reads then makes one more round. Nothing is dropped here: if
 * the consumer stays behind, the kernel's buffer overruns, and the kernel counts what was lost.
 *
 * Cost a record: one copy of 56 bytes into the queue, one out of it, log2(CPUs) comparisons; all in the
 * first cache levels while the bound is as small as REC_MERGE_MOST.
 */
#ifndef RECORDER_MERGE_H
#define RECORDER_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/raw.h"

struct rec_merge;

/* The bound for those who make as many rounds as it takes: 56 KiB of records a CPU. */
enum { REC_MERGE_MOST = 1024 };

/* `most` records wait at most for each CPU; 0 = no bound. NULL when memory is short. */
struct rec_merge *rec_merge_new(uint32_t cpus, uint32_t most);
void rec_merge_free(struct rec_merge *merge);

/* Before a round of reading: nothing is behind, and what waits moves to the front of its queue. */
void rec_merge_begin(struct rec_merge *merge);

/* The time of the last record of a CPU, which times never go below: moves it forward, returns it. */
uint64_t rec_merge_time(struct rec_merge *merge, uint32_t cpu, uint64_t time_ns);

/* Is there no room left for this CPU in this round? */
bool rec_merge_full(const struct rec_merge *merge, uint32_t cpu);

/* The reader stops here with this CPU; there may be more. */
void rec_merge_behind(struct rec_merge *merge, uint32_t cpu);

/* Takes a record at the CPU's time. Goes beyond the bound if the caller did not ask. False: no memory. */
[[nodiscard]] bool rec_merge_push(struct rec_merge *merge, uint32_t cpu, struct rec_raw *raw);

/* After a round of reading: records come out again. */
void rec_merge_end(struct rec_merge *merge);

/* The earliest record older than `until_ns` and not later than what is behind; false if there is none. */
bool rec_merge_next(struct rec_merge *merge, uint64_t until_ns, struct rec_raw *raw);

/* Up to which time, exclusive, everything has come out; at most `until_ns`. */
uint64_t rec_merge_reached(const struct rec_merge *merge, uint64_t until_ns);

#endif
