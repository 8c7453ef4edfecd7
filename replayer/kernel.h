/* SPDX-License-Identifier: MIT */
/*
 * Replaying on the running kernel: its own swap and zswap are driven with the demand of a trace,
 * and what it makes of that is counted by itself.
 *
 *   trace ──> kernel_plan ──> kernel_crew ──> kernel_memory ──> madvise, touches ──> the kernel
 *             what, by whom    when            on which page                            └─>
 * kernel_count
 *
 * Demanded as recorded: which pages go out together, which come back and when, which are freed, how
 * far they compress, the limit of the pool. Decided by the kernel: which stores succeed, what is
 * written back and when, which slots are taken, what is merged. That is what two kernels differ in.
 *
 * Not driven: the shrinker under memory pressure (RECLAIM, SCAN). It acts only in reclaim of a
 * whole cgroup, which would take other pages than the trace's, and no kernel lets one ask for the
 * one without the other. So pages that it wrote back in the recording stay in the pool here, unless
 * the pool meets its limit.
 *
 * For the time of a pass the process is in a control group of its own, without a limit, and
 * settings of zswap and vm.page-cluster are changed; both are undone however the pass ends, but by
 * SIGKILL.
 */
#ifndef REPLAYER_KERNEL_H
#define REPLAYER_KERNEL_H

#include "replayer/results.h"
#include "replayer/survey.h"

struct kernel;

/* May it be done here, under these policies? */
enum zr_err kernel_open(const struct play_options *options, struct kernel **out);
void kernel_close(struct kernel *kernel);

/* What two runs must have in common: "zswap; kernel=...; swap=...". */
const char *kernel_detail(const struct kernel *kernel);

struct kernel_pass {
	struct db *trace;
	const struct survey_host *host;
	const struct sim_policy *policy;
	int32_t rep;
	/* Asked a few times a second; events fed since the last time. False ends the pass. */
	bool (*go_on)(void *arg, uint64_t events);
	void *arg;
	struct metrics *metrics; /* takes what was counted, whatever the end */
	struct series *series;
};

enum zr_err kernel_play(struct kernel *kernel, const struct kernel_pass *pass);

#endif
