/* SPDX-License-Identifier: MIT */
/*
 * Parameters of generated workloads, and the table of workloads. See gen.c.
 */
#ifndef REPLAYER_GEN_H
#define REPLAYER_GEN_H

#include "replayer/replayer.h"

/* name, least, most, help */
#define GEN_PARAMS(X)                                                                              \
	X(seed, 0, UINT64_MAX, "of all that is random")                                            \
	X(pages, 64, 1 << 26, "that the tasks have between them")                                  \
	X(memory, 64, 1 << 26, "pages of memory that the busy cgroups have between them")          \
	X(tasks, 1, 4096, "that run at the same time")                                             \
	X(cpus, 1, 1024, "processors, each with a run of swap slots of its own")                   \
	X(memcgs, 1, 1024, "busy cgroups; tasks are dealt to them in turn")                        \
	X(idle_memcgs, 0, 4096, "further cgroups without a page in zswap")                         \
	X(touches, 1, UINT64_MAX / 2, "of pages, by all tasks together")                           \
	X(think_ns, 1, 1'000'000'000, "from one touch of a task to its next")                      \
	X(write_percent, 0, 100, "of the touches write")                                           \
	X(zero_percent, 0, 100, "of the pages are zero-filled")                                    \
	X(incompressible_percent, 0, 100, "of the pages do not compress")                          \
	X(len, 1, 4096, "bytes to which the other pages compress, in the mean")                    \
	X(len_spread, 0, 4096, "bytes by which they differ from it at most")                       \
	X(host_memory, 64, 1ull << 40, "pages of the whole machine, of which the pool has a part") \
	X(pool, 1, 100, "percent: max_pool_percent")                                               \
	X(accept, 0, 100, "percent: accept_threshold_percent")                                     \
	X(shrinker, 0, 1, "the memory-pressure shrinker")                                          \
	X(worker_lag_ns, 1, 1'000'000'000,                                                         \
	  "from a refused store to the background worker's start")                                 \
	X(worker_visit_ns, 0, 1'000'000'000,                                                       \
	  "that its visit takes which writes nothing, those to idle cgroups beside it")            \
	X(worker_write_ns, 0, 1'000'000'000, "that it takes to write a page back")                 \
	X(interval_ns, 1, 1'000'000'000, "july-1: from one new page to the next")                  \
	X(new_pages, 0, 1 << 26, "july-1: that come after the first reclaim")

struct gen_params {
#define X(name, least, most, help) uint64_t name;
	GEN_PARAMS(X)
#undef X
	const char *policy; /* of the zswap that the workload runs on */
};

struct gen_run;

struct gen_workload {
	struct play_word about;
	void (*run)(struct gen_run *run);
	struct gen_params params;
};

#endif
