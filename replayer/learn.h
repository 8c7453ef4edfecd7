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
 * such lags are negative, and stay in the mean. The means are taken over the whole recording and,
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
 * A cgroup of which a refused folio was kept in memory has writeback switched off.
 *
 * Cost: a few compares an event, 24 bytes a stretch of refusals and 64 a window with a worker.
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
	uint64_t visit_ns, visits, write_ns, written, lags;
	int64_t lag_ns;
};

struct learn_window {
	uint64_t from_ns, to_ns;
	struct learn_sums sums;
};

struct learn {
	uint32_t n_memcgs;     /* set by the caller */
	uint8_t *no_writeback; /* by cgroup; NULL = none so far */
	bool has_reclaims, has_scans;
	uint32_t worker_task;
	bool has_worker, has_shrink; /* any WORKER; a SHRINK since the last of them */
	uint64_t shrink_ns;	     /* the last one's start */
	uint64_t worker_ns, over_ns; /* the last WORKER, and the last SHRINK before it */
	uint64_t refused_ns;	     /* the first refusal since that WORKER; 0 = none */
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
