/* SPDX-License-Identifier: MIT */
/*
 * The model beside the kernel that made a recording: which pages each wrote back, in which order, and how far the two
 * orders are the same. For the tests and for `make fidelity`.
 */
#ifndef REPLAYER_FIDELITY_H
#define REPLAYER_FIDELITY_H

#include "replayer/replayer.h"

/* Pages in the order in which they were written back; a page is its area and recorded slot. */
struct fidelity_writes {
	uint64_t *pages;
	uint32_t n, room;
};

struct fidelity {
	struct fidelity_writes kernel, model;
	uint64_t stored, rejected, in_zswap, in_disk, wakeups, scans; /* by the kernel */
	struct sim_counters counters;				       /* of the model */
};

/* Of the host with the lowest id. ZR_NO_DATA, ZR_BAD_POLICY, ZR_NOMEM, and what reading the trace may say. Whatever
 * comes back, fidelity_fini() is to be called. */
enum zr_err fidelity_compare(struct db *trace, const char *policy, struct fidelity *out);
void fidelity_fini(struct fidelity *fidelity);

/* The length of the longest common subsequence. ZR_NOMEM. */
enum zr_err fidelity_same_in_order(const struct fidelity_writes *a, const struct fidelity_writes *b,
				   uint32_t *out);

#endif
