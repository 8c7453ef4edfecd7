/* SPDX-License-Identifier: MIT */
/*
 * A modelled device out of a measured drive.
 *
 * What a drive does a second when it has enough to do tells how long a request keeps one of its channels:
 * service(pages) = base + pages * page, which is `channels` / rate. What a request takes on an idle drive is more
 * than that: the rest is delay, in which it keeps no channel (the way there and back, the interrupt).
 *
 *	latency at depth d  =  service + delay			as long as d requests do not fill the channels
 *			    =  d * service / channels		from there on
 *
 * Rate and idle latency fix service / channels and service + delay, not channels: many slow ones behave like few
 * quick ones with a delay. So the channels are as many as every measured size allows, and reads and writes alike:
 * the least rate x idle latency of random requests, rounded down. Were it more, large requests on an idle drive
 * would be slower than they were found to be.
 *
 * base and page are fitted over the sizes, for random and sequential requests at once (they share page), by the
 * least squares of relative errors, none of them below 0. The delay likewise, by size.
 *
 * iocost's idea of the drive has the kernel's formulas (block/blk-iocost.c, calc_lcoefs): a page costs 4096 / bps, a
 * base what 4 KiB requests take beyond that.
 */
#ifndef REPLAYER_DRIVE_FIT_H
#define REPLAYER_DRIVE_FIT_H

#include "replayer/devmodel.h"
#include "replayer/replayer.h"

enum { FIT_TERMS = 3 };

/* One equation: the sum of factor[i] * x[i] shall be `is`, which is above 0. */
struct fit_row {
	double factor[FIT_TERMS], is;
};

/* The x, none below 0, with the least sum of squared relative errors. */
void fit_solve(const struct fit_row *rows, uint32_t n, double x[FIT_TERMS]);

/* Sets service, delay, channels and iocost's costs; the rest stays. ZR_NO_DATA when the drive was not wholly
 * measured. */
enum zr_err drive_fit(const struct play_drive *drive, struct time_params *params);

#endif
