/* SPDX-License-Identifier: MIT */
/*
 * The table of studies of study.h. The figures are the authors' own:
 *
 *   batch, plug      October 2026, kernel build in a 600 MiB cgroup: mean and standard deviation.
 * The number of runs is taken to be six, which is what such a benchmark is run. memcg-batch July
 * 2026, two cases, single runs shrink-enabled   2019, usemem, single runs; the third policy is the
 * reviewer's proposal, which was not measured
 */
#include "ui/study.h"

#include <stdio.h>
#include <string.h>

#define OCTOBER(b0, s0, b1, s1, r0, t0, r1, t1, p0, q0, p1, q1)                                    \
	{ "build time (s)", "makespan_us", 1e6, STUDY_CHANGE, { { b0, s0 }, { b1, s1 } } },        \
		{ "write requests (k)",                                                            \
		  "write_requests",                                                                \
		  1e3,                                                                             \
		  STUDY_CHANGE,                                                                    \
		  { { r0, t0 }, { r1, t1 } } },                                                    \
	{                                                                                          \
		"pages per write request", "pages_per_write_request", 1, STUDY_VALUE,              \
		{                                                                                  \
			{ p0, q0 },                                                                \
			{                                                                          \
				p1, q1                                                             \
			}                                                                          \
		}                                                                                  \
	}

#define OCTOBER_IO(d0, e0, d1, e1, w0, x0, w1, x1, f0, g0, f1, g1)                                 \
	{ "iocost debt (s)", "iocost_debt_us", 1e6, STUDY_CHANGE, { { d0, e0 }, { d1, e1 } } },    \
		{ "iocost wait (s)",                                                               \
		  "iocost_wait_us",                                                                \
		  1e6,                                                                             \
		  STUDY_CHANGE,                                                                    \
		  { { w0, x0 }, { w1, x1 } } },                                                    \
	{                                                                                          \
		"IO full pressure (s)", "io_full_us", 1e6, STUDY_CHANGE,                           \
		{                                                                                  \
			{ f0, g0 },                                                                \
			{                                                                          \
				f1, g1                                                             \
			}                                                                          \
		}                                                                                  \
	}

#define COUNT(label, metric, a, b)                                                                 \
	{                                                                                          \
		label, metric, 1, STUDY_CHANGE,                                                    \
		{                                                                                  \
			{ a, 0 },                                                                  \
			{                                                                          \
				b, 0                                                               \
			}                                                                          \
		}                                                                                  \
	}

/* Ten times the weight that the recorded cgroups have. */
static const char writer[] = "+rival=1000";

static const struct study studies[] = {
	{ .name = "batch",
	  .text = "one I/O for consecutive slots (October 2026)",
	  .policies = { "unbatched", "batched" },
	  .labels = { "unbatched", "batched" },
	  .reps = 6,
	  .cases = { { .name = "alone",
		       .text = "kernel build alone",
		       .model = "",
		       .rows = { OCTOBER(1066, 9, 1061, 2, 748, 47, 596, 26, 1.07, 0.01, 1.30,
					 0.01),
				 OCTOBER_IO(15.0, 2.7, 12.1, 1.2, 7.5, 1.2, 7.2, 1.1, 19.0, 1.8,
					    18.2, 0.9) } },
		     { .name = "writer",
		       .text = "next to a random writer of ten times the weight",
		       .model = writer,
		       .rows = { OCTOBER(2269, 50, 2203, 62, 714, 31, 605, 24, 1.08, 0.00, 1.30,
					 0.02),
				 OCTOBER_IO(685, 25, 646, 26, 655, 26, 632, 23, 655, 31, 624,
					    30) } } } },
	{ .name = "plug",
	  .text = "plug the block layer around the walk (October 2026)",
	  .policies = { "batched", "plugged" },
	  .labels = { "unplugged", "plugged" },
	  .reps = 6,
	  .cases = { { .name = "alone",
		       .text = "kernel build alone",
		       .model = "",
		       .rows = { OCTOBER(1061, 2, 1057, 2, 622, 34, 579, 21, 1.30, 0.02, 1.36,
					 0.05),
				 OCTOBER_IO(14.0, 2.5, 11.0, 1.7, 7.7, 1.8, 7.1, 1.1, 18.3, 1.4,
					    17.5, 1.3) } },
		     { .name = "writer",
		       .text = "next to a random writer of ten times the weight",
		       .model = writer,
		       .rows = { OCTOBER(2188, 45, 2104, 75, 594, 21, 567, 24, 1.30, 0.01, 1.35,
					 0.02),
				 OCTOBER_IO(648, 22, 645, 29, 624, 23, 633, 29, 615, 31,
					    550, 44) } } } },
	{ .name = "memcg-batch",
	  .text = "several entries per shrink call (July 2026)",
	  .policies = { "memcg-1", "memcg-batch" },
	  .labels = { "baseline", "patched" },
	  .cases = { { .name = "case 1",
		       .text = "incompressible memory, then a page at a time",
		       .model = "",
		       .workload = "july-1",
		       .rows = { COUNT("shrink_worker wakeups", "shrink_worker_wakeups", 5363, 85),
				 COUNT("shrink_memcg calls", "shrink_memcg_calls", 11373201,
				       180928),
				 COUNT("written_back pages", "written_back_pages", 40212, 40236),
				 COUNT("zswap_store calls", "zswap_store_calls", 161190, 168741),
				 COUNT("store succeeded", "store_succeeded", 102743, 127644),
				 COUNT("store rejected", "store_rejected", 58447, 41097),
				 { "store reject rate (%)",
				   "store_reject_rate",
				   0.01,
				   STUDY_VALUE,
				   { { 36, 0 }, { 24, 0 } } },
				 COUNT("pool_limit_hit", "pool_limit_hit", 55826, 14062),
				 COUNT("pswpout", "pswpout", 98659, 81333),
				 COUNT("pswpin", "pswpin", 2, 1) } },
		     { .name = "case 2",
		       .text = "four tasks over 4 GiB in a cgroup of 1 GiB",
		       .model = "",
		       .workload = "july-2",
		       .rows = { COUNT("shrink_worker wakeups", "shrink_worker_wakeups", 5640, 987),
				 COUNT("shrink_memcg calls", "shrink_memcg_calls", 8481500,
				       2504818),
				 COUNT("written_back pages", "written_back_pages", 260, 768576),
				 COUNT("zswap_store calls", "zswap_store_calls", 2742756, 2301414),
				 COUNT("store succeeded", "store_succeeded", 934640, 1308686),
				 COUNT("store rejected", "store_rejected", 1808116, 992728),
				 { "store reject rate (%)",
				   "store_reject_rate",
				   0.01,
				   STUDY_VALUE,
				   { { 66, 0 }, { 43, 0 } } },
				 COUNT("pool_limit_hit", "pool_limit_hit", 1181310, 101593),
				 COUNT("pswpout", "pswpout", 1808376, 1761304),
				 COUNT("pswpin", "pswpin", 4288497, 3902658) } } } },
	{ .name = "shrink-enabled",
	  .text = "may a full pool shrink at all (2019)",
	  .policies = { "memcg-1+accept=100+worker=now", "shrink-off", "hysteresis" },
	  .labels = { "shrink on", "shrink off", "proposal" },
	  .cases = { { .name = "usemem",
		       .text = "usemem of 4000 MiB on a machine of 1 GiB",
		       .model = "",
		       .rows = { { "store (KB/s)",
				   "store_kb_per_s",
				   1,
				   STUDY_CHANGE,
				   { { 40091, 0 }, { 521425, 0 }, { -1, 0 } } },
				 { "store rejected",
				   "store_rejected",
				   1,
				   STUDY_CHANGE,
				   { { -1, 0 }, { -1, 0 }, { -1, 0 } } },
				 { "written_back pages",
				   "written_back_pages",
				   1,
				   STUDY_CHANGE,
				   { { -1, 0 }, { -1, 0 }, { -1, 0 } } },
				 { "disk refaults",
				   "disk_refaults",
				   1,
				   STUDY_CHANGE,
				   { { -1, 0 }, { -1, 0 }, { -1, 0 } } } } } } },
};

enum { N_STUDIES = sizeof(studies) / sizeof(studies[0]) };

const struct study *ui_study(uint32_t i)
{
	return i < N_STUDIES ? &studies[i] : NULL;
}

enum zr_err ui_study_find(const char *name, const struct study **out)
{
	char names[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < N_STUDIES; i++) {
		*out = &studies[i];
		if (strcmp(studies[i].name, name) == 0)
			return ZR_OK;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 i ? ", " : "", studies[i].name);
	}
	return zr_fail(ZR_USAGE, "--study got '%s'; there are: %s", name, names);
}

uint32_t ui_study_policies(const struct study *study)
{
	uint32_t n = 0;

	while (study->policies[n])
		n++;
	return n;
}

/* A trace that is of none of the study's workloads is compared with its first case. */
bool ui_study_wants(const struct study *study, const struct study_case *it, const char *workload)
{
	if (!it->workload)
		return true;
	for (const struct study_case *other = study->cases; other->name; other++)
		if (workload && other->workload && strcmp(other->workload, workload) == 0)
			return it == other;
	return it == study->cases;
}

void ui_study_note(const struct study *study, const struct study_case *it, char *text, size_t bytes)
{
	snprintf(text, bytes, "study %s, %s", study->name, it->name);
}
