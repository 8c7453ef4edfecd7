/* SPDX-License-Identifier: MIT */
/*
 * iocost: Linux's I/O controller by device time, for the cgroups of a trace (block/blk-iocost.c,
 * the same in 6.1 to 7.3).
 *
 *   io ──> cost ──(fits the budget)──────────────> issued
 *               ├─(does not, a swap write)───────> issued, and the cost is debt
 *               └─(does not, or waiters or debt)─> waits, first come first served
 *
 * Device time runs on the wall clock times vrate ("vnow"); a cgroup's vtime is the device time that
 * it has used, blown up by the inverse of its share. Budget is vnow - vtime. A cgroup that begins
 * has half a period of it, and none ever keeps more. The share is its weight among the active
 * cgroups; what a cgroup does not use it lends to the others
 * ("inuse"), and a cgroup in debt lends all.
 *
 * Debt is paid out of budget, by the timer of the period and whenever a waiter might go; until it
 * is paid all other I/O of the cgroup waits. Debt far above a period's worth (5 to 250 periods)
 * makes a delay of 250 us to 250 ms, which tasks of the cgroup sleep when they return to user
 * space; it is halved every second. When debtors have left the device half idle for 100 ms, debts
 * and delays are halved.
 *
 * vrate. Each period the controller looks at latencies and at the wait for a place in the device:
 * if it was too long vrate falls, if all was well and somebody was short of budget it rises, by 1
 * to 16% as the situation lasts.
 *
 * Differences to the kernel: cgroups are taken as siblings, whatever their tree; lending takes last
 * period's use and a quarter more instead of the kernel's distribution; time is in ns instead of
 * 2^-37 s, so costs round differently.
 *
 * What is told apart: usage (device time charged), wait (wall time with a waiter), indebt (wall
 * time with debt), indelay. They are the fields of a cgroup's io.stat; "debt" of the published
 * studies can only be indebt.
 *
 * Cost: a division or two an I/O, a pass over the groups that ever did I/O a period of 50 ms in
 * which anyone is active.
 */
#ifndef REPLAYER_IOCOST_H
#define REPLAYER_IOCOST_H

#include "replayer/devmodel.h"

enum iocost_verdict { IOCOST_ISSUE, IOCOST_DEBT, IOCOST_WAIT };

/* The caller's; queued in a cgroup until it is told to go. */
struct iocost_waiter {
	struct iocost_waiter *next;
	uint64_t cost;
};

/* Wall time in a state. */
struct iocost_span {
	bool on;
	uint64_t since_ns, total_ns;
};

struct iocost_group {
	uint64_t weight, inuse;
	bool seen, active, used; /* used: since the last period */
	uint64_t vtime, cursor, debt, usage_ns, period_usage_ns;
	uint64_t delay_ns, delay_at_ns;
	struct iocost_waiter *first, *last;
	struct iocost_span wait, indebt, indelay;
};

struct iocost {
	struct cost_model cost;
	uint64_t period_ns, latency_ns[2], miss_ppm, vrate_min, vrate_max;
	struct iocost_group *groups;
	uint32_t n_groups;
	uint32_t *seen;				   /* groups that have ever done I/O */
	uint32_t n_seen, n_waiting;		   /* waiting: groups with waiters */
	uint64_t weights, inuses;		   /* sums over the active groups */
	uint64_t vrate;				   /* ppm */
	uint64_t vnow, now_ns, next_period_ns;	   /* next: 0 = nobody is active */
	uint64_t met[2], missed[2], place_wait_ns; /* since the last period */
	int busy_level;
	uint64_t forgive_since_ns, forgive_usage_ns; /* since: 0 = nobody is in debt */
	/* Told of each waiter whose I/O may be issued now. */
	void (*go)(void *arg, struct iocost_waiter *waiter);
	void *arg;
};

/* Every group has params->weight; the last one has params->rival if that is not 0. */
enum zr_err iocost_init(struct iocost *ioc, const struct time_params *params,
			struct zr_arena *arena, uint32_t n_groups);

/* Charges an I/O. Without a waiter it is a swap write, which never waits. On IOCOST_WAIT the waiter
 * is queued, and go() is called for it later. */
enum iocost_verdict iocost_submit(struct iocost *ioc, uint32_t group, const struct timed_io *io,
				  struct iocost_waiter *waiter);

/* When something will happen by itself; UINT64_MAX = never. */
uint64_t iocost_next_ns(const struct iocost *ioc);

/* Time goes on to now_ns: not beyond iocost_next_ns(). */
void iocost_advance(struct iocost *ioc, uint64_t now_ns);

/* A request came back after so long; so long it waited for a place in the device. */
void iocost_done(struct iocost *ioc, bool write, uint64_t latency_ns);
void iocost_place_wait(struct iocost *ioc, uint64_t wait_ns);

/* What a task of the group would have to sleep now on its way to user space. */
uint64_t iocost_delay_ns(const struct iocost *ioc, uint32_t group);

/* Closes the spans. */
void iocost_finish(struct iocost *ioc);

#endif
