/* SPDX-License-Identifier: MIT */
/*
 * What the running kernel is made to do, from the events of a trace: the plan of a replay with --on
 * kernel. It acts on nothing, so it needs neither root nor a kernel; kernel_crew.h has it done.
 *
 *   OUT of a task, one after another ──> OUT  fill these pages and page them out together
 *   IN  asked for / read ahead       ──> IN   touch the page   /  AHEAD  have it read, do not wait
 *   FREE, one after another          ──> FREE give these pages back
 *   WB, RECLAIM, WORKER, SHRINK      ──> nothing: that is for the running kernel to decide
 *
 * A place: each slot of the recorded swap areas is one page of one large mapping, area by area, so
 * neighbours in swap are neighbours in memory, and a run of slots is paged out by one call, in the
 * order of the slots. Which slots the running kernel takes is its own affair.
 *
 * A group: the OUTs of one task up to its next other event, at most KERNEL_GROUP, in
 * KERNEL_GROUP_NS: a reclaim batch. A folio of many pages is a run of single ones, since the kernel
 * offers no way to ask for a folio of a given order.
 *
 * Order: tasks run side by side, but what is done to one page is done in the order of the trace.
 * For this each page has turns, counted from 0; an operation carries the turn of each of its pages,
 * and waits for those before it. The earliest operation that is not done never waits, so if all
 * that was planned is also handed over (kernel_plan_flush()) nothing stands still.
 *
 * A trace that was cut out of a longer one begins with pages that are out already. Those that come
 * back, or are written back, before they go out are found by kernel_plan_survey(), and paged out
 * before the start (kernel_plan_preload()), to the disk or to zswap as they lay. What never shows
 * in the events cannot be known: such a pool begins emptier.
 *
 * Memory: 7 bytes for each slot up to the highest that is used.
 */
#ifndef REPLAYER_KERNEL_PLAN_H
#define REPLAYER_KERNEL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

enum {
	KERNEL_GROUP = 32, /* pages, as in a batch of the kernel's reclaim */
	KERNEL_WORKERS = 64,
	KERNEL_GROUP_NS = 5'000'000,
};

enum kernel_verb { KERNEL_OUT, KERNEL_IN, KERNEL_AHEAD, KERNEL_FREE };

struct kernel_page {
	uint64_t page; /* of the mapping */
	uint32_t turn;
	uint16_t len; /* OUT: compressed bytes it shall have, 0 = zero-filled */
	bool renew;   /* OUT: it is out already, and was written anew without being read first */
};

struct kernel_op {
	uint64_t time_ns; /* of its first event */
	uint16_t worker, n;
	uint8_t verb; /* enum kernel_verb */
	struct kernel_page pages[KERNEL_GROUP];
};

/* Pages of events that were planned; unknown: came back without ever having gone out; kept: the
 * recorded kernel could not swap it out, and is not asked to again. */
struct kernel_demand {
	uint64_t outs, ins, frees, written_back, unknown, kept;
};

struct kernel_plan_options {
	uint32_t page_size;
	const uint64_t *area_slots; /* highest slot used + 1, of DB_AREA_MAX + 1 areas */
	uint32_t n_tasks;	    /* highest id + 1 */
	uint32_t max_workers;	    /* 0 = KERNEL_WORKERS; what more tasks there are share them */
	/* Takes an operation; its storage is the plan's. */
	enum zr_err (*emit)(void *arg, const struct kernel_op *op);
	void *arg;
};

struct kernel_plan;

/* ZR_LIMIT if the areas are larger than any memory map. */
enum zr_err kernel_plan_new(const struct kernel_plan_options *options, struct kernel_plan **out);
void kernel_plan_free(struct kernel_plan *plan);

/* First the whole trace through this one. */
void kernel_plan_survey(struct kernel_plan *plan, const struct db_event *event);

/* What must be out before the start, on disk (true, comes first) or in zswap, in the order of slots, at time 0, by
 * worker 0. Each is asked for once, after the survey and before the first event. */
enum zr_err kernel_plan_preload(struct kernel_plan *plan, bool on_disk);

/* Then once more, event by event. */
enum zr_err kernel_plan_feed(struct kernel_plan *plan, const struct db_event *event);

/* Hands over groups that could still grow. */
enum zr_err kernel_plan_flush(struct kernel_plan *plan);

/* Pages of the mapping. */
uint64_t kernel_plan_pages(const struct kernel_plan *plan);

/* Of the survey: the most pages that were out at one time, and in memory after they had been; and
 * for how many stores the trace tells a length, with their mean. */
struct kernel_size {
	uint64_t out_pages, in_pages, lengths;
	uint32_t mean_len;
};

struct kernel_size kernel_plan_size(const struct kernel_plan *plan);

/* Workers that have got something to do so far; of the events fed. */
uint32_t kernel_plan_workers(const struct kernel_plan *plan);
struct kernel_demand kernel_plan_demand(const struct kernel_plan *plan);

#endif
