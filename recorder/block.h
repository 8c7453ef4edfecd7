/* SPDX-License-Identifier: MIT */
/*
 * Swap-outs and refaults told from the requests of the swap device alone, for kernels that take no probes:
 *
 *   a write that completes    OUT, rejected: the page is on disk, one event a page
 *   a read that completes     IN from disk, one event a page
 *   a discard that completes  FREE of its slots
 *
 * With zswap off that is a complete trace but for the frees that no discard shows (a slot that is written
 * again was free in between). With zswap on it is the disk half. The completion counts, since each sector
 * completes once, whereas a request may be issued again; its task is that of the issue, which is kept in a
 * small table by first slot (a stale entry costs the task's name, nothing else).
 *
 * Passes of reclaim are told from the shrinkers that vmscan's mm_shrink_slab_start shows. A pass calls each
 * shrinker once, so that a new one begins when the first is called again, and with another node or priority, or
 * after a while. Passes in which no shrinker had anything do not show, nor does whose memory it was.
 */
#ifndef RECORDER_BLOCK_H
#define RECORDER_BLOCK_H

#include <stdbool.h>

#include "recorder/places.h"
#include "recorder/raw.h"

enum { REC_BLOCK_ISSUED = 4096, REC_BLOCK_PASSES = 256 };

struct rec_block {
	bool zswap_off;
	uint32_t sectors_per_slot;
	struct rec_block_issue {
		uint32_t slot, task;
		uint8_t area;
	} issued[REC_BLOCK_ISSUED];
	struct rec_raw passes[REC_BLOCK_PASSES]; /* by task: what it began with, and when it was last seen */
};

/* An event that the fold made of a request: passes it on to `put`, and what it tells behind it. */
enum zr_err rec_block_event(struct rec_block *block, const struct db_event *event,
			    rec_event_fn *put, void *arg);

/* Does a pass of reclaim begin with this REC_SLAB_START? */
bool rec_block_begins_pass(struct rec_block *block, const struct rec_raw *raw);

#endif
