/* SPDX-License-Identifier: MIT */
/*
 * A histogram of unsigned values with a bounded relative error, for latencies and sizes.
 *
 * Values below 32 have a bucket each; above, every power of two is cut into 16 equal buckets, so a
 * bucket is at most 1/16 of its value wide and a percentile is off by at most 3.2% (half a bucket).
 * 976 buckets of 8 bytes cover all of 64 bits: adding is two shifts and an increment, merging is a sum.
 */
#ifndef ZR_BASE_HIST_H
#define ZR_BASE_HIST_H

#include <stdint.h>

enum {
	ZR_HIST_SUB_BITS = 4,
	ZR_HIST_LINEAR = 2 << ZR_HIST_SUB_BITS,
	ZR_HIST_BUCKETS = ZR_HIST_LINEAR + (63 - ZR_HIST_SUB_BITS) * (1 << ZR_HIST_SUB_BITS),
};

struct zr_hist {
	uint64_t count, min, max;
	double sum;
	uint64_t bucket[ZR_HIST_BUCKETS];
};

/* Caller's storage; an all-zero histogram is empty and ready. */
void zr_hist_init(struct zr_hist *hist);
void zr_hist_add(struct zr_hist *hist, uint64_t value);
void zr_hist_merge(struct zr_hist *into, const struct zr_hist *from);

/* The value below which `part` (0..1) of the values lie: middle of its bucket, clamped to min and max;
 * 0 when empty. */
uint64_t zr_hist_quantile(const struct zr_hist *hist, double part);

/* The mean, 0 when empty. */
double zr_hist_mean(const struct zr_hist *hist);

/* Bucket of a value and its bounds [low, high], both inclusive; for drawing. */
uint32_t zr_hist_bucket(uint64_t value);
void zr_hist_bounds(uint32_t bucket, uint64_t *low, uint64_t *high);

#endif
