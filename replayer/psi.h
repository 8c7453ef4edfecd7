/* SPDX-License-Identifier: MIT */
/*
 * I/O pressure: for how long some task, and for how long every task, waited for I/O.
 *
 * As in Linux, the state is each processor's: SOME while a task of it waits, FULL while one waits
 * and none of it runs. The processors' times are averaged over windows of 2 s, weighted by how long
 * each was not idle in the window:
 *
 *   full = sum over processors of full * nonidle / sum of nonidle
 *
 * A task is on one processor. It runs from its first to its last event in the trace, but for the
 * time in which it waits: a task that sleeps for another reason is taken for running, so FULL is a
 * lower bound.
 *
 * Cost: a few additions a change of state.
 */
#ifndef REPLAYER_PSI_H
#define REPLAYER_PSI_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/err.h"

struct psi_cpu {
	uint32_t running, waiting;
	uint64_t since_ns;
	uint64_t some_ns, full_ns, nonidle_ns; /* in this window */
};

struct psi {
	struct psi_cpu *cpus;
	uint32_t n_cpus;
	uint64_t window_end_ns;
	uint64_t some_ns, full_ns; /* of all windows that are over */
};

enum { PSI_WINDOW_NS = 2'000'000'000 };

enum zr_err psi_init(struct psi *psi, struct zr_arena *arena, uint32_t cpus, uint64_t start_ns);

/* So many tasks of the processor more (or less) run and wait from now on. Times ascend. */
void psi_change(struct psi *psi, uint64_t now_ns, uint32_t cpu, int running, int waiting);

/* Closes the last window; then some_ns and full_ns are complete. */
void psi_finish(struct psi *psi, uint64_t now_ns);

#endif
