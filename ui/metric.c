/* SPDX-License-Identifier: MIT */
/* The table of metrics; see metric.h. The names are those of the kernel and of the published studies. */
#include "ui/metric.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum ui_better better;
} metrics[] = {
	{ "makespan_us", UI_LESS_IS_BETTER },
	{ "stall_us", UI_LESS_IS_BETTER },
	{ "write_contexts", UI_LESS_IS_BETTER },
	{ "write_bios", UI_LESS_IS_BETTER },
	{ "write_bios_planned", UI_LESS_IS_BETTER },
	{ "write_requests", UI_LESS_IS_BETTER },
	{ "write_requests_planned", UI_LESS_IS_BETTER },
	{ "write_requests_traced", UI_LESS_IS_BETTER },
	{ "write_merges", UI_NEITHER },
	{ "write_merges_planned", UI_NEITHER },
	{ "write_merges_traced", UI_NEITHER },
	{ "write_pages", UI_LESS_IS_BETTER },
	{ "write_sectors", UI_LESS_IS_BETTER },
	{ "write_time_us", UI_LESS_IS_BETTER },
	{ "pages_per_write_bio", UI_MORE_IS_BETTER },
	{ "pages_per_write_bio_planned", UI_MORE_IS_BETTER },
	{ "pages_per_write_request", UI_MORE_IS_BETTER },
	{ "pages_per_write_request_planned", UI_MORE_IS_BETTER },
	{ "read_bios", UI_LESS_IS_BETTER },
	{ "read_requests", UI_LESS_IS_BETTER },
	{ "read_requests_planned", UI_LESS_IS_BETTER },
	{ "read_merges", UI_NEITHER },
	{ "read_sectors", UI_LESS_IS_BETTER },
	{ "read_time_us", UI_LESS_IS_BETTER },
	{ "read_pages", UI_LESS_IS_BETTER },
	{ "device_busy_us", UI_LESS_IS_BETTER },
	{ "iocost_debt_us", UI_LESS_IS_BETTER },
	{ "iocost_wait_us", UI_LESS_IS_BETTER },
	{ "iocost_usage_us", UI_LESS_IS_BETTER },
	{ "iocost_delay_us", UI_LESS_IS_BETTER },
	{ "io_full_us", UI_LESS_IS_BETTER },
	{ "io_some_us", UI_LESS_IS_BETTER },
	{ "neighbour_iops", UI_NEITHER },
	{ "neighbour_bytes", UI_NEITHER },
	{ "neighbour_latency_us", UI_NEITHER },
	{ "neighbour_iocost_usage_us", UI_NEITHER },
	{ "shrink_worker_wakeups", UI_LESS_IS_BETTER },
	{ "shrink_memcg_calls", UI_LESS_IS_BETTER },
	{ "written_back_pages", UI_NEITHER },
	{ "zswap_store_calls", UI_NEITHER },
	{ "store_succeeded", UI_MORE_IS_BETTER },
	{ "store_rejected", UI_LESS_IS_BETTER },
	{ "store_reject_rate", UI_LESS_IS_BETTER },
	{ "pool_limit_hit", UI_LESS_IS_BETTER },
	{ "pswpout", UI_LESS_IS_BETTER },
	{ "pswpin", UI_LESS_IS_BETTER },
	{ "zswpout", UI_NEITHER },
	{ "zswpin", UI_NEITHER },
	{ "zswpwb", UI_NEITHER },
	{ "disk_refaults", UI_LESS_IS_BETTER },
	{ "disk_refault_p50_us", UI_LESS_IS_BETTER },
	{ "disk_refault_p99_us", UI_LESS_IS_BETTER },
	{ "write_latency_us", UI_LESS_IS_BETTER },
	{ "write_latency_p50_us", UI_LESS_IS_BETTER },
	{ "write_latency_p99_us", UI_LESS_IS_BETTER },
	{ "lru_inversions", UI_LESS_IS_BETTER },
	{ "early_refaults_1s", UI_LESS_IS_BETTER },
	{ "early_refaults_10s", UI_LESS_IS_BETTER },
	{ "early_refaults_60s", UI_LESS_IS_BETTER },
	{ "pool_pages_max", UI_NEITHER },
	{ "store_kb_per_s", UI_MORE_IS_BETTER },
	{ "drift_us", UI_LESS_IS_BETTER },
	{ "drift_p50_us", UI_LESS_IS_BETTER },
	{ "drift_p99_us", UI_LESS_IS_BETTER },
	{ "corpus_off_bytes", UI_NEITHER },
};

enum { N_METRICS = sizeof(metrics) / sizeof(metrics[0]) };

uint32_t ui_metric_rank(const char *name)
{
	uint32_t i = 0;

	while (i < N_METRICS && strcmp(metrics[i].name, name) != 0)
		i++;
	return i;
}

const char *ui_metric_name(uint32_t rank)
{
	return rank < N_METRICS ? metrics[rank].name : NULL;
}

enum ui_better ui_metric_better(const char *name)
{
	uint32_t rank = ui_metric_rank(name);

	return rank < N_METRICS ? metrics[rank].better : UI_NEITHER;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* The label is the metric's name in words, without `cut` letters of unit suffix, and the unit shown. */
static void set_label(struct ui_metric_scale *scale, const char *name, size_t cut, const char *unit)
{
	int length = (int)(strlen(name) - cut);

	snprintf(scale->label, sizeof(scale->label), "%.*s%s%s%s", length > 40 ? 40 : length, name,
		 unit ? " (" : "", unit ? unit : "", unit ? ")" : "");
	for (char *c = scale->label; *c; c++)
		if (*c == '_')
			*c = ' ';
}

struct ui_metric_scale ui_metric_scale(const char *name, double largest, bool whole)
{
	struct ui_metric_scale scale = { .divisor = 1, .decimals = whole ? 0 : largest < 100 ? 2 : 1 };

	if (ends_with(name, "_us")) {
		scale.divisor = largest >= 1e6 ? 1e6 : largest >= 1e3 ? 1e3 : 1;
		scale.decimals = largest / scale.divisor < 100 ? 2 : 1;
		set_label(&scale, name, 3, largest >= 1e6 ? "s" : largest >= 1e3 ? "ms" : "us");
	} else if (ends_with(name, "_kb_per_s")) {
		set_label(&scale, name, 9, "KB/s");
	} else if (ends_with(name, "_rate")) {
		scale.divisor = 0.01;
		scale.decimals = 1;
		set_label(&scale, name, 0, "%");
	} else {
		set_label(&scale, name, 0, NULL);
	}
	/* Ratios keep two places, whole or not: 1.00 next to 1.30. */
	if (strncmp(name, "pages_per_", 10) == 0)
		scale.decimals = 2;
	return scale;
}
