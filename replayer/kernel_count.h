/* SPDX-License-Identifier: MIT */
/*
 * What the kernel counts of a replay on it: taken before and after, and made into metrics.
 *
 *   /proc/vmstat                pages in and out of swap and zswap; nrswpout, contexts, where the
 * kernel has it /sys/kernel/debug/zswap     rejects by reason, limit hits, pages written back
 *   statistics of the disks     requests after merging, merges, sectors; of everybody who uses the
 * disk io.stat of our cgroup       bios before merging, and iocost's times io.pressure of our
 * cgroup   some and full
 *
 * All figures are DB_MEASURED. A figure that this kernel does not have is left out.
 */
#ifndef REPLAYER_KERNEL_COUNT_H
#define REPLAYER_KERNEL_COUNT_H

#include "replayer/cgroup.h"
#include "replayer/kernel_settings.h"
#include "replayer/measure.h"
#include "replayer/results.h"

/* Adds all that can be read to an empty measure. */
void kernel_count(const struct kernel_host *host, const struct cgroup *cgroup, struct measure *out);

struct kernel_counted {
	const struct kernel_host *host;
	const struct measure *before, *after;
	uint32_t page_size;
	int32_t rep;
};

void kernel_count_metrics(struct metrics *metrics, const struct kernel_counted *counted);

#endif
