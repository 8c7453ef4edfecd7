/* SPDX-License-Identifier: MIT */
/*
 * The threads that do what kernel_plan.h has planned: one for each worker, each with a queue of its
 * own, in the order in which the operations were handed over, none before its time has come
 * (pacer.h).
 *
 *   kernel_crew_put() ──> queue of worker 0 ──> thread: its time, its pages' turns, its act
 *                         queue of worker 1 ──> ...
 *
 * What is done to one page stays in the order of its turns across the threads: done[page] counts
 * them. Waiting for a turn is a short sleep in a loop, since it is rare: between two uses of a page
 * lies most of the pool.
 *
 * The acts are functions that a test puts its own in place of. The first one that fails, or
 * kernel_crew_stop(), ends it all: what is still queued is not done.
 *
 * Memory: 4 bytes a page of the mapping, 16 bytes for each queued page; the caller bounds the
 * queues with kernel_crew_queued().
 */
#ifndef REPLAYER_KERNEL_CREW_H
#define REPLAYER_KERNEL_CREW_H

#include "replayer/kernel_plan.h"
#include "replayer/pacer.h"

/* What a touch met: the page was in memory (in the swap cache), came back without sleeping, or
 * after a sleep. */
enum kernel_from { KERNEL_FROM_MEMORY, KERNEL_FROM_ZSWAP, KERNEL_FROM_DISK };

struct kernel_touch {
	enum kernel_from from;
	uint64_t ns;
};

/* Called by several threads at once. */
struct kernel_acts {
	enum zr_err (*out)(void *arg, const struct kernel_page *pages, uint32_t n);
	enum zr_err (*touch)(void *arg, uint64_t page, struct kernel_touch *met);
	enum zr_err (*ahead)(void *arg, uint64_t page);
	enum zr_err (*give_back)(void *arg, const struct kernel_page *pages, uint32_t n);
	void *arg;
};

/* Touches by what they met, with their times; how late operations began, and by how much the worker
 * that was latest with its last one was late when that was done. */
struct kernel_crew_report {
	struct zr_hist memory_ns, zswap_ns, disk_ns, late_ns;
	uint64_t drift_ns;
};

struct kernel_crew;

enum zr_err kernel_crew_new(uint64_t pages, const struct kernel_acts *acts,
			    struct kernel_crew **out);

/* From now on operations keep to this schedule, which has been started; `pacer` is copied. Before,
 * they are done at once. The crew is idle. */
void kernel_crew_pace(struct kernel_crew *crew, const struct pacer *pacer);

/* Takes a copy. Starts the worker's thread if this is its first. */
enum zr_err kernel_crew_put(struct kernel_crew *crew, const struct kernel_op *op);

/* Operations that are queued or being done. */
uint64_t kernel_crew_queued(struct kernel_crew *crew);

/* Waits until at most so many operations are left, or `timeout_ns` is over. True: so it is. */
bool kernel_crew_wait(struct kernel_crew *crew, uint64_t left, uint64_t timeout_ns);

/* What an act failed with. The sentence is this thread's then. */
enum zr_err kernel_crew_error(struct kernel_crew *crew);

/* Nothing that is queued is begun any more. */
void kernel_crew_stop(struct kernel_crew *crew);

/* Ends the threads, and adds up. */
void kernel_crew_finish(struct kernel_crew *crew, struct kernel_crew_report *report);
void kernel_crew_free(struct kernel_crew *crew);

#endif
