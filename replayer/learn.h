/* SPDX-License-Identifier: MIT */
/*
 * What the events of a recording tell of the kernel that made it, gathered in the first pass over
 * them.
 *
 * The pace of the background worker, as means, so that the time of all its work comes out right:
 *
 *   OUT refused ─lag_ns─> WORKER ─> SHRINK ─> WB WB ──> SHRINK ─> SHRINK ─> ... ─lag_ns─> WORKER
 *                                      └─ write_ns a page ┘   └ visit_ns ┘
 *
 * A lag is counted from the first refusal since the WORKER before, or from the last SHRINK if that
 * came later. A refusal is seen when the store returns, which may be after the worker has started:
 * such lags are negative, and stay in the mean. Lags differ by orders of magnitude (a thread that the
 * scheduler lets wait until a task has used up its slice), and a mean of them starts every run at a wrong time: so
 * each is kept with the time at which it began. A pool that evicts by itself is not queued by every refusal, but by
 * some that nobody can tell: there a lag is counted from the last one, and the median stands for all. The other means are taken over the whole
 * recording and,
 * as a machine is busier at one time than at another, over each SIM_PACED_NS in which the worker
 * was seen; what was not seen in it is as on the whole. A call of 32 pages on a slow drive may take
 * longer than that: it has a time of its own.
 *
 * When the pool refused stores. A store that a full pool refuses and, up to Linux 6.12, one whose
 * page did not compress look alike in a recording: neither came to ask for memory. But a full pool
 * refuses all stores until it has drained, and queues the worker. So refusals are taken for the
 * pool's where more than LEARN_STRAY come in a row and, if the recording has any worker, it was at
 * work among them; the others did not compress.
 *
 * Pages that left memory unwritten. Where a load leaves the entry in zswap (Linux up to 6.8), the page may be dropped
 * later without a swap-out, and nothing is recorded of that. But a slot that comes back twice with neither a
 * swap-out nor a free in between was dropped in between.
 *
 * A cgroup of which a refused folio was kept in memory has writeback switched off.
 *
 * Cost: a few compares an event, 24 bytes a stretch of refusals, 16 a run of the worker and 64 a window with one; where
 * loads leave the entry 4 bytes a slot and a bit a refault.
 */
#ifndef REPLAYER_LEARN_H
#define REPLAYER_LEARN_H

#include "replayer/replayer.h"

enum { LEARN_STRAY = 3 };

struct learn_span {
	struct sim_span span;
	bool worker; /* was it at work then? */
};

/* Times and how many of each. */
struct learn_sums {
	uint64_t visit_ns, visits, write_ns, written;
};

struct learn_window {
	uint64_t from_ns, to_ns;
	struct learn_sums sums;
};

struct learn {
	uint32_t n_memcgs; /* these are set by the caller; */
	bool pool_evicts;  /* Linux up to 6.4; */
	uint32_t **last_in; /* by area and slot, all 0; NULL: loads take the entry, so none are looked for */
	uint8_t *dropped;
	uint64_t n_ins, dropped_room;
	uint8_t *no_writeback; /* by cgroup; NULL = none so far */
	bool has_reclaims, has_scans;
	uint32_t worker_task;
	bool has_worker, has_shrink; /* any WORKER; a SHRINK since the last of them */
	uint64_t shrink_ns;	     /* the last one's start */
	uint64_t worker_ns, over_ns; /* the last WORKER, and the last SHRINK before it */
	uint64_t refused_ns; /* the first refusal since that WORKER (pool_evicts: the last); 0 = none */
	struct sim_lag *lags;
	uint32_t n_lags, lag_room;
	int64_t lag_ns; /* their sum, with those that are negative */
	bool unexplained;	     /* no refusal was seen that queued it */
	uint64_t wrote;		     /* pages since then */
	struct learn_sums sums;
	struct learn_window *windows;
	uint32_t n_windows, window_room;

	struct learn_span run; /* of refusals, the one that goes on */
	uint64_t run_length;
	struct learn_span *spans;
	uint32_t n_spans, span_room;
};

/* A row of the model's kinds, in the order of the recording. ZR_NOMEM. */
enum zr_err learn_row(struct learn *learn, const struct db_batch *batch, uint32_t row,
		      struct zr_arena *arena);

/* What came out; the spans are in the arena. */
enum zr_err learn_finish(struct learn *learn, struct zr_arena *arena, struct sim_learnt *out);

#endif
