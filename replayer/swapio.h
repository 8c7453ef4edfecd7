/* SPDX-License-Identifier: MIT */
/*
 * Swap I/O: how the folios that the model writes become contexts, bios and requests (Linux 7.3 with the
 * October 2026 patches), and what of it reaches a target.
 *
 *   folio ──> context (adjacent folios join) ──> bio ──> plug (one-request merge rule) ──> request
 *                                                 └────> target: bio now, kick when they leave together
 *
 * Contexts. A folio joins the pending context when it is in the same swap area, its slot directly follows
 * the last one's, it belongs to the same memcg (which stands for the block cgroup), and the context holds
 * fewer than `batch` folios; else the pending context is submitted first. What is pending when the walk
 * ends is submitted. A context is one bio, cut where it is larger than a request can be.
 *
 * Plug. A bio is compared with one request of the plug only: the newest, if it is for the same queue, else
 * (in a plug that has seen several queues) the oldest of the bio's queue. It merges at either end if the
 * sectors are adjacent and the memcgs the same, within 1280 KiB and 128 segments (a request that met these
 * limits is not tried again). Otherwise it becomes a request of its own; before it is added the plug is
 * flushed if it holds 32 (several queues: 64) or if its oldest has 128 KiB. Without a plug every bio is a
 * request. nomerges=2 takes all of this merging away.
 *
 * Scheduler. "none" merges nothing that is issued at once. mq-deadline takes the requests of a flushed plug one by
 * one and lets each join the end of an earlier one of that flush, which may then join the end of another: so
 * neighbours meet that the plug saw out of order, as long as the lower one came first. The device is taken to be idle,
 * so nothing of earlier flushes is there any more. nomerges=1 leaves it one try, the request that merged last.
 *
 * What is plugged. Walks of the shrinker and the worker: as the policy says (knob plug). Direct swap-outs
 * and the store path's walk run inside the plug that reclaim itself holds, whatever the policy; direct
 * swap-outs have contexts of 32 folios in Linux 7.3, before that of one (knob direct_batch).
 *
 * Each task has a context and a plug of its own for its direct swap-outs, where the sink is told whose they are; on a
 * device they go through one, in the order of the events.
 *
 * Reads are one request each: the merging of a readahead window is not modelled.
 *
 * Cost: a few compares a folio; nothing is allocated.
 */
#ifndef REPLAYER_SWAPIO_H
#define REPLAYER_SWAPIO_H

#include "replayer/replayer.h"

enum swapio_context_id { SWAPIO_WALK, SWAPIO_DIRECT, SWAPIO_CONTEXTS };

struct swapio_bio {
	enum swapio_context_id context;
	uint32_t slot, pages;
	uint32_t task; /* of direct swap-outs: whose they are */
	uint16_t memcg;
	uint8_t area;
	const struct sim_write *folios; /* of a walk: one a page; NULL for direct swap-outs */
};

/*
 * Who carries the plan out. `bio` hands a bio over; `kick` says that all bios of the context since the last
 * kick go to the block layer together. A target that cannot hold a bio without sending earlier ones sends
 * them, and returns true from `bio`.
 */
struct swapio_target {
	bool (*bio)(struct swapio_target *target, const struct swapio_bio *bio);
	void (*kick)(struct swapio_target *target, enum swapio_context_id context);
	void (*read)(struct swapio_target *target, uint8_t area, uint32_t slot);
	void (*store)(struct swapio_target *target, uint16_t len);
	void (*load)(struct swapio_target *target, uint16_t len);
};

enum { SWAPIO_BATCH_MAX = 256, SWAPIO_PLUG_MAX = 64 };

struct swapio_request {
	uint32_t start, end; /* slots */
	uint32_t segments;
	uint16_t memcg;
	uint8_t area;
	bool no_merge;
};

struct swapio_plug {
	uint32_t n;
	bool several_queues;
	struct swapio_request requests[SWAPIO_PLUG_MAX];
};

struct swapio_context {
	enum swapio_context_id id;
	uint32_t batch;
	bool plugged;
	uint32_t n, pages; /* folios pending; their pages */
	struct sim_write folios[SWAPIO_BATCH_MAX];
	struct swapio_plug plug;
};

/* A task that swaps out past zswap. */
struct swapio_task {
	bool open;
	uint32_t task;
	struct swapio_context context;
};

enum { SWAPIO_TASKS = 8 };

struct swapio {
	struct sim_sink sink; /* first: the model's callbacks find the rest behind it */
	struct play_io io;
	struct swapio_target *target; /* NULL: the plan is only counted */
	uint32_t page_size;
	struct zr_hist *request_pages; /* told the pages of each write request as it leaves; NULL: nobody asks */
	/* Told each write request as it leaves, with `left_arg`; NULL: nobody asks. */
	void (*request_left)(void *arg, const struct swapio_request *request);
	void *left_arg;
	bool policy_plug;
	enum sim_sched sched;
	int32_t nomerges;
	bool one_process; /* the target writes to one device as one process: one queue, one cgroup */
	struct swapio_context contexts[SWAPIO_CONTEXTS];
	struct swapio_context *current;
	const struct swapio_context *last; /* what the last write went to */
	struct swapio_task tasks
		[SWAPIO_TASKS]; /* instead of the context of direct writes, if its sink's task_done is set */
	uint32_t next_task; /* whose place is taken when all are open */
};

/* `target` may be NULL; with one, all areas lie on one device. */
void swapio_init(struct swapio *swapio, const struct sim_policy *policy, uint32_t page_size,
		 struct swapio_target *target);

/* Keeps the direct writes of tasks apart. Who puts a sink of its own before this one must hand task_done on. */
void swapio_follow_tasks(struct swapio *swapio);

#endif
