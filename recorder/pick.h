/* SPDX-License-Identifier: MIT */
/*
 * Which source a recording uses: the ways to get at the kernel's events in the order in which they are
 * tried, and why those before the one that was taken did not do.
 *
 *   ftrace   probes through an instance: complete, and nothing else is disturbed
 *   perf     probes through perf events: the same events
 *   block    no probes: requests only, through either of the two
 */
#ifndef RECORDER_PICK_H
#define RECORDER_PICK_H

#include "recorder/recorder.h"
#include "recorder/source.h"

struct rec_picked {
	const struct rec_source_ops *ops;
	struct rec_source *source;
	bool block_only;
};

/* `setup` is complete but for `events` and, for block, without probes. `no_probes` is why this kernel
 * cannot be probed, NULL if it can. Notes what was tried in vain. */
enum zr_err rec_pick(const struct rec_options *options, struct rec_source_setup *setup,
		     const char *no_probes, struct rec_picked *out);

#endif
