/* SPDX-License-Identifier: MIT */
/* The histogram of hist.h. */
#include "db/base/hist.h"

#include <string.h>

void zr_hist_init(struct zr_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
}

uint32_t zr_hist_bucket(uint64_t value)
{
	uint32_t shift;

	if (value < ZR_HIST_LINEAR)
		return (uint32_t)value;
	shift = 63 - ZR_HIST_SUB_BITS - (uint32_t)__builtin_clzll(value);
	return (shift << ZR_HIST_SUB_BITS) + (uint32_t)(value >> shift);
}

void zr_hist_bounds(uint32_t bucket, uint64_t *low, uint64_t *high)
{
	uint32_t shift;

	if (bucket < ZR_HIST_LINEAR) {
		*low = *high = bucket;
		return;
	}
	shift = (bucket >> ZR_HIST_SUB_BITS) - 1;
	*low = (uint64_t)((bucket & ((1u << ZR_HIST_SUB_BITS) - 1)) | (1u << ZR_HIST_SUB_BITS)) << shift;
	*high = *low + (((uint64_t)1 << shift) - 1);
}

void zr_hist_add(struct zr_hist *hist, uint64_t value)
{
	if (!hist->count || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->count++;
	hist->sum += (double)value;
	hist->bucket[zr_hist_bucket(value)]++;
}

void zr_hist_merge(struct zr_hist *into, const struct zr_hist *from)
{
	if (!from->count)
		return;
	if (!into->count || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	for (uint32_t i = 0; i < ZR_HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t zr_hist_quantile(const struct zr_hist *hist, double part)
{
	double wanted = part * (double)hist->count;
	uint64_t below = 0, low, high, middle;

	if (!hist->count)
		return 0;
	for (uint32_t i = 0; i < ZR_HIST_BUCKETS; i++) {
		below += hist->bucket[i];
		if (!hist->bucket[i] || (double)below < wanted)
			continue;
		zr_hist_bounds(i, &low, &high);
		middle = low + (high - low) / 2;
		return middle < hist->min ? hist->min : middle > hist->max ? hist->max : middle;
	}
	return hist->max;
}

double zr_hist_mean(const struct zr_hist *hist)
{
	return hist->count ? hist->sum / (double)hist->count : 0;
}
