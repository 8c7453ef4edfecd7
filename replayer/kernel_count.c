/* SPDX-License-Identifier: MIT */
/* The counts of kernel_count.h. */
#include "replayer/kernel_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/device_guard.h"

enum { PATH_BYTES = 256, SECTOR = 512 };

/* Two areas on one disk are one disk. */
static bool is_counted(const struct kernel_host *host, uint32_t swap)
{
	uint32_t disk[2], other[2];

	device_disk(host->swaps[swap].major, host->swaps[swap].minor, disk);
	for (uint32_t i = 0; i < swap; i++) {
		device_disk(host->swaps[i].major, host->swaps[i].minor, other);
		if (memcmp(disk, other, sizeof(disk)) == 0)
			return true;
	}
	return false;
}

static void count_disk(const struct kernel_host *host, const struct cgroup *cgroup, uint32_t swap,
		       struct measure *out)
{
	char prefix[32], *io = cgroup_peek(cgroup, "io.stat");
	uint32_t on[2];

	device_disk(host->swaps[swap].major, host->swaps[swap].minor, on);
	snprintf(prefix, sizeof(prefix), "disk%u.", swap);
	measure_block_file(out, prefix, on[0], on[1]);
	snprintf(prefix, sizeof(prefix), "io%u.", swap);
	measure_io_stat(out, prefix, io, on[0], on[1]);
	free(io);
}

void kernel_count(const struct kernel_host *host, const struct cgroup *cgroup, struct measure *out)
{
	char *pressure = cgroup_peek(cgroup, "io.pressure");

	measure_pairs_file(out, "", "/proc/vmstat");
	measure_directory(out, "zswap.", "/sys/kernel/debug/zswap");
	if (pressure)
		measure_pressure(out, "io.", pressure);
	free(pressure);
	for (uint32_t i = 0; i < host->n_swaps; i++)
		if (!is_counted(host, i))
			count_disk(host, cgroup, i, out);
}

/* --------------------------------------------------------------------------------------- metrics */

/* What was added to a counter; of disks ("disk%u.", "io%u."), to all of them. */
static bool added(const struct kernel_counted *c, const char *format, const char *name,
		  uint64_t *out)
{
	bool found = false;

	*out = 0;
	for (uint32_t i = 0; i < c->host->n_swaps; i++) {
		char full[MEASURE_NAME_BYTES], prefix[16];
		uint64_t n;

		if (format[0])
			snprintf(prefix, sizeof(prefix), "%s%u.", format, i);
		else
			prefix[0] = '\0';
		snprintf(full, sizeof(full), "%s%s", prefix, name);
		if (measure_difference(c->before, c->after, full, &n)) {
			*out += n;
			found = true;
		}
		if (!format[0])
			break;
	}
	return found;
}

static void add_one(struct metrics *metrics, const struct kernel_counted *c, const char *metric,
		    double value)
{
	metrics_put(metrics,
		    &(struct db_metric){
			    .rep = c->rep, .name = metric, .value = value, .figure = DB_MEASURED });
}

/* As they are. */
static const struct {
	const char *metric, *format, *name;
} plain[] = {
	{ "pswpin", "", "pswpin" },
	{ "pswpout", "", "pswpout" },
	{ "zswpin", "", "zswpin" },
	{ "zswpout", "", "zswpout" },
	{ "zswpwb", "", "zswpwb" },
	{ "swpin_zero", "", "swpin_zero" },
	{ "swpout_zero", "", "swpout_zero" },
	{ "store_succeeded", "", "zswpout" },
	{ "disk_refaults", "", "pswpin" },
	{ "write_pages", "", "pswpout" },
	{ "write_contexts", "", "nrswpout" },
	{ "read_contexts", "", "nrswpin" },
	{ "written_back_pages", "", "zswap.written_back_pages" },
	{ "pool_limit_hit", "", "zswap.pool_limit_hit" },
	{ "reject_alloc_fail", "", "zswap.reject_alloc_fail" },
	{ "reject_compress_fail", "", "zswap.reject_compress_fail" },
	{ "reject_compress_poor", "", "zswap.reject_compress_poor" },
	{ "reject_kmemcache_fail", "", "zswap.reject_kmemcache_fail" },
	{ "reject_reclaim_fail", "", "zswap.reject_reclaim_fail" },
	{ "write_requests", "disk", "write_requests" },
	{ "write_merges", "disk", "write_merges" },
	{ "read_requests", "disk", "read_requests" },
	{ "write_bios", "io", "wios" },
	{ "iocost_usage_us", "io", "cost.usage" },
	{ "iocost_wait_us", "io", "cost.wait" },
	{ "iocost_debt_us", "io", "cost.indebt" },
	{ "iocost_delay_us", "io", "cost.indelay" },
	{ "io_some_us", "", "io.some_us" },
	{ "io_full_us", "", "io.full_us" },
};

static void add_ratio(struct metrics *metrics, const struct kernel_counted *c, const char *metric,
		      uint64_t part, uint64_t whole)
{
	if (whole)
		add_one(metrics, c, metric, (double)part / (double)whole);
}

/* 6.1 has no zswpwb, only zswap's own count. */
static bool added_writebacks(const struct kernel_counted *c, uint64_t *out)
{
	return added(c, "", "zswpwb", out) || added(c, "", "zswap.written_back_pages", out);
}

/* Pages that go to the disk and are no writeback are stores that zswap refused. */
static void add_rejected(struct metrics *metrics, const struct kernel_counted *c)
{
	uint64_t stored, out, written_back;

	if (!added(c, "", "zswpout", &stored) || !added(c, "", "pswpout", &out) ||
	    !added_writebacks(c, &written_back) || out < written_back)
		return;
	add_one(metrics, c, "store_rejected", (double)(out - written_back));
	add_one(metrics, c, "zswap_store_calls", (double)(stored + out - written_back));
	add_ratio(metrics, c, "store_reject_rate", out - written_back, stored + out - written_back);
}

void kernel_count_metrics(struct metrics *metrics, const struct kernel_counted *c)
{
	uint64_t sectors, requests, pages, bios;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (added(c, plain[i].format, plain[i].name, &pages))
			add_one(metrics, c, plain[i].metric, (double)pages);
	add_rejected(metrics, c);
	if (added(c, "disk", "write_sectors", &sectors) &&
	    added(c, "disk", "write_requests", &requests))
		add_ratio(metrics, c, "pages_per_write_request", sectors * SECTOR / c->page_size,
			  requests);
	if (added(c, "", "pswpout", &pages) && added(c, "io", "wios", &bios))
		add_ratio(metrics, c, "pages_per_write_bio", pages, bios);
}
