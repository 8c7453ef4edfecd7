/* SPDX-License-Identifier: MIT */
/* The controller of iocost.h. */
#include "replayer/iocost.h"

#include <string.h>

enum {
	PPM = 1'000'000,
	SHARE = 65536,
	FORGIVE_NS = 100'000'000,
	DELAY_MIN_NS = 250'000,
	DELAY_MAX_NS = 250'000'000,
	DELAY_OVER_MIN = 500,	/* percent of a period that debt must exceed, */
	DELAY_OVER_MAX = 25000, /* and from which the delay is greatest */
	PLACE_WAIT_PERCENT = 5,
	WELL_PERCENT = 75, /* of a limit: below that all is well */
	LEVEL_MAX = 1000,
	NS_PER_S = 1'000'000'000,
};

enum zr_err iocost_init(struct iocost *ioc, const struct time_params *params,
			struct zr_arena *arena, uint32_t n_groups)
{
	uint64_t ppm = params->latency_percent * (PPM / 100);
	uint64_t longest = params->read_latency_us > params->write_latency_us
				   ? params->read_latency_us
				   : params->write_latency_us;
	uint64_t multiple = (PPM - ppm) / 50000 > 2 ? (PPM - ppm) / 50000 : 2;

	*ioc = (struct iocost){ .cost = iocost_cost_model(params),
				.latency_ns = { params->read_latency_us * 1000,
						params->write_latency_us * 1000 },
				.miss_ppm = PPM - ppm,
				.vrate_min = params->vrate_min * (PPM / 100),
				.vrate_max = params->vrate_max * (PPM / 100),
				.vrate = PPM,
				.n_groups = n_groups };
	ioc->period_ns = longest * multiple * 1000;
	if (ioc->period_ns < 1'000'000)
		ioc->period_ns = 1'000'000;
	if (ioc->period_ns > NS_PER_S)
		ioc->period_ns = NS_PER_S;
	if (ioc->vrate < ioc->vrate_min)
		ioc->vrate = ioc->vrate_min;
	if (ioc->vrate > ioc->vrate_max)
		ioc->vrate = ioc->vrate_max;
	ioc->groups = zr_arena_array(arena, n_groups, sizeof(*ioc->groups));
	ioc->seen = zr_arena_array(arena, n_groups, sizeof(*ioc->seen));
	if (!ioc->groups || !ioc->seen)
		return zr_fail(ZR_NOMEM, "controlling the I/O of %u cgroups: no memory", n_groups);
	for (uint32_t i = 0; i < n_groups; i++)
		ioc->groups[i].weight = ioc->groups[i].inuse = params->weight;
	if (params->rival && n_groups)
		ioc->groups[n_groups - 1].weight = ioc->groups[n_groups - 1].inuse = params->rival;
	return ZR_OK;
}

/* ------------------------------------------------------------------------------------ shares */

/* floor or ceiling of a * b / c without overflow between. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)((unsigned __int128)a * b / c);
}

static uint64_t scale_up(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)(((unsigned __int128)a * b + c - 1) / c);
}

static void set_inuse(struct iocost *ioc, struct iocost_group *group, uint64_t inuse)
{
	if (group->active)
		ioc->inuses += inuse - group->inuse;
	group->inuse = inuse;
}

static void set_active(struct iocost *ioc, struct iocost_group *group, bool active)
{
	set_inuse(ioc, group, group->weight);
	ioc->weights += (active ? group->weight : 0) - (group->active ? group->weight : 0);
	ioc->inuses += (active ? group->inuse : 0) - (group->active ? group->inuse : 0);
	group->active = active;
}

/* Of 65536; of an active group. */
static uint64_t share_of(const struct iocost *ioc, const struct iocost_group *group, bool inuse)
{
	uint64_t share = inuse ? scale(group->inuse, SHARE, ioc->inuses)
			       : scale(group->weight, SHARE, ioc->weights);

	return share ? share : 1;
}

static uint64_t to_vtime(const struct iocost *ioc, const struct iocost_group *group, uint64_t cost,
			 bool inuse)
{
	return scale_up(cost, SHARE, share_of(ioc, group, inuse));
}

/* A period in device time, as fast as it now runs. */
static uint64_t period_v(const struct iocost *ioc)
{
	return scale(ioc->period_ns, ioc->vrate, PPM);
}

static int64_t budget_of(const struct iocost *ioc, const struct iocost_group *group)
{
	return (int64_t)(ioc->vnow - group->vtime);
}

static void set_span(struct iocost_span *span, bool on, uint64_t now_ns)
{
	if (span->on && !on)
		span->total_ns += now_ns - span->since_ns;
	if (!span->on && on)
		span->since_ns = now_ns;
	span->on = on;
}

static uint64_t delay_now(const struct iocost *ioc, const struct iocost_group *group)
{
	uint64_t halvings = (ioc->now_ns - group->delay_at_ns) / NS_PER_S;

	return halvings < 64 ? group->delay_ns >> halvings : 0;
}

static void note_spans(struct iocost *ioc, struct iocost_group *group)
{
	set_span(&group->wait, group->first != NULL, ioc->now_ns);
	set_span(&group->indebt, group->debt != 0, ioc->now_ns);
	set_span(&group->indelay, delay_now(ioc, group) != 0, ioc->now_ns);
}

/* -------------------------------------------------------------------------------------- debt */

static uint64_t delay_wanted(const struct iocost *ioc, const struct iocost_group *group)
{
	int64_t over = (int64_t)to_vtime(ioc, group, group->debt, false) - budget_of(ioc, group);
	uint64_t percent = over > 0 ? scale((uint64_t)over, 100, period_v(ioc)) : 0;

	if (percent <= DELAY_OVER_MIN)
		return 0;
	if (percent >= DELAY_OVER_MAX)
		return DELAY_MAX_NS;
	return DELAY_MIN_NS + scale(DELAY_MAX_NS - DELAY_MIN_NS, percent - DELAY_OVER_MIN,
				    DELAY_OVER_MAX - DELAY_OVER_MIN);
}

static void set_delay(struct iocost *ioc, struct iocost_group *group)
{
	uint64_t wanted = delay_wanted(ioc, group);

	if (wanted > delay_now(ioc, group)) {
		group->delay_ns = wanted;
		group->delay_at_ns = ioc->now_ns;
	}
}

static void incur_debt(struct iocost *ioc, struct iocost_group *group, uint64_t cost)
{
	if (!ioc->forgive_since_ns)
		ioc->forgive_since_ns = ioc->now_ns;
	group->debt += cost;
	set_inuse(ioc, group, 1);
	set_delay(ioc, group);
	note_spans(ioc, group);
}

static void pay_debt(struct iocost *ioc, struct iocost_group *group)
{
	int64_t budget = budget_of(ioc, group);
	uint64_t affordable, paid;

	if (!group->debt || budget <= 0)
		return;
	affordable = scale((uint64_t)budget, share_of(ioc, group, false), SHARE);
	paid = group->debt < affordable ? group->debt : affordable;
	group->vtime += to_vtime(ioc, group, paid, false);
	group->debt -= paid;
	if (!group->debt)
		set_inuse(ioc, group, group->weight);
}

/* Pays, and lets go whom the rest of the budget serves. */
static void kick(struct iocost *ioc, struct iocost_group *group)
{
	pay_debt(ioc, group);
	while (group->first && !group->debt) {
		struct iocost_waiter *waiter = group->first;
		uint64_t cost = to_vtime(ioc, group, waiter->cost, true);

		if (budget_of(ioc, group) < (int64_t)cost)
			break;
		group->vtime += cost;
		group->first = waiter->next;
		if (!group->first) {
			group->last = NULL;
			ioc->n_waiting--;
		}
		ioc->go(ioc->arg, waiter);
	}
	note_spans(ioc, group);
}

static void halve_debts(struct iocost *ioc, uint64_t times)
{
	for (uint32_t i = 0; i < ioc->n_seen; i++) {
		struct iocost_group *group = &ioc->groups[ioc->seen[i]];

		group->debt = times < 64 ? group->debt >> times : 0;
		group->delay_ns = times < 64 ? group->delay_ns >> times : 0;
		if (!group->debt)
			set_inuse(ioc, group, group->weight);
	}
}

static bool anyone_in_debt(const struct iocost *ioc)
{
	for (uint32_t i = 0; i < ioc->n_seen; i++) {
		const struct iocost_group *group = &ioc->groups[ioc->seen[i]];

		if (group->debt || delay_now(ioc, group))
			return true;
	}
	return false;
}

static void forgive(struct iocost *ioc, uint64_t usage_ns)
{
	uint64_t passed, device;

	if (!anyone_in_debt(ioc)) {
		ioc->forgive_since_ns = ioc->forgive_usage_ns = 0;
		return;
	}
	device = scale(ioc->period_ns, ioc->vrate, PPM);
	ioc->forgive_usage_ns += ioc->busy_level > 0 && usage_ns < device ? device : usage_ns;
	passed = ioc->now_ns - ioc->forgive_since_ns;
	if (passed < FORGIVE_NS)
		return;
	if (ioc->forgive_usage_ns <= scale(passed, ioc->vrate, PPM) / 2)
		halve_debts(ioc, passed / FORGIVE_NS);
	ioc->forgive_since_ns = ioc->now_ns;
	ioc->forgive_usage_ns = 0;
}

/* ------------------------------------------------------------------------------------ period */

/* What a group needs of its share: last period's use and a quarter more. Who is short lends
 * nothing, who is in debt everything. */
static void lend(struct iocost *ioc, struct iocost_group *group)
{
	uint64_t owned = scale(period_v(ioc), share_of(ioc, group, false), SHARE);
	uint64_t needed = group->period_usage_ns + group->period_usage_ns / 4,
		 inuse = group->weight;

	if (group->debt)
		inuse = 1;
	else if (!group->first && needed < owned && budget_of(ioc, group) >= 0)
		inuse = scale_up(group->weight, needed, owned);
	set_inuse(ioc, group, inuse ? inuse : 1);
}

static void pass_group(struct iocost *ioc, struct iocost_group *group)
{
	int64_t half = (int64_t)(period_v(ioc) / 2);

	kick(ioc, group);
	if (!group->used && !group->debt && !group->first) {
		set_active(ioc, group, false);
		return;
	}
	if (budget_of(ioc, group) > half)
		group->vtime = ioc->vnow - (uint64_t)half;
	lend(ioc, group);
	group->used = false;
}

/* Steps of 0, 1, 2, 4, 8 and 16% as the level rises. */
static uint64_t step_percent(int level)
{
	int size = level < 0 ? -level : level;

	if (size < 4)
		return 0;
	return size >= 36 ? 16 : 1u << (size - 4) / 8;
}

static bool over(const struct iocost *ioc, bool write, uint64_t percent)
{
	uint64_t all = ioc->met[write] + ioc->missed[write];

	return all && ioc->missed[write] * PPM / all > ioc->miss_ppm * percent / 100;
}

static void judge_device(struct iocost *ioc, bool short_of_budget)
{
	uint64_t wait_percent = ioc->place_wait_ns * 100 / ioc->period_ns;

	if (wait_percent > PLACE_WAIT_PERCENT || over(ioc, false, 100) || over(ioc, true, 100))
		ioc->busy_level = (ioc->busy_level > 0 ? ioc->busy_level : 0) + 1;
	else if (wait_percent * 100 <= PLACE_WAIT_PERCENT * WELL_PERCENT &&
		 !over(ioc, false, WELL_PERCENT) && !over(ioc, true, WELL_PERCENT) &&
		 short_of_budget)
		ioc->busy_level = (ioc->busy_level < 0 ? ioc->busy_level : 0) - 1;
	else
		ioc->busy_level = 0;
	if (ioc->busy_level > LEVEL_MAX)
		ioc->busy_level = LEVEL_MAX;
	if (ioc->busy_level < -LEVEL_MAX)
		ioc->busy_level = -LEVEL_MAX;
	memset(ioc->met, 0, sizeof(ioc->met));
	memset(ioc->missed, 0, sizeof(ioc->missed));
	ioc->place_wait_ns = 0;
}

static void adjust_vrate(struct iocost *ioc)
{
	uint64_t step = step_percent(ioc->busy_level);
	uint64_t vrate = scale(ioc->vrate, ioc->busy_level > 0 ? 100 - step : 100 + step, 100);

	ioc->vrate = vrate < ioc->vrate_min   ? ioc->vrate_min
		     : vrate > ioc->vrate_max ? ioc->vrate_max
					      : vrate;
}

static void end_period(struct iocost *ioc)
{
	uint64_t usage = 0;
	bool active = false, is_short = false;

	for (uint32_t i = 0; i < ioc->n_seen; i++) {
		struct iocost_group *group = &ioc->groups[ioc->seen[i]];

		if (!group->active)
			continue;
		is_short = is_short || group->first || group->debt;
		usage += group->period_usage_ns;
		pass_group(ioc, group);
		group->period_usage_ns = 0;
		active = active || group->active;
	}
	judge_device(ioc, is_short);
	adjust_vrate(ioc);
	forgive(ioc, usage);
	for (uint32_t i = 0; i < ioc->n_seen; i++)
		note_spans(ioc, &ioc->groups[ioc->seen[i]]);
	ioc->next_period_ns = active ? ioc->now_ns + ioc->period_ns : 0;
}

/* -------------------------------------------------------------------------------------- time */

/* When the group's first waiter can go, if nothing changes. */
static uint64_t kick_ns(const struct iocost *ioc, const struct iocost_group *group)
{
	uint64_t needed = to_vtime(ioc, group, group->first->cost, true) +
			  to_vtime(ioc, group, group->debt, false);
	int64_t missing = (int64_t)needed - budget_of(ioc, group);

	return ioc->now_ns + (missing > 0 ? scale_up((uint64_t)missing, PPM, ioc->vrate) : 0);
}

uint64_t iocost_next_ns(const struct iocost *ioc)
{
	uint64_t next = ioc->next_period_ns ? ioc->next_period_ns : UINT64_MAX;

	for (uint32_t i = 0; i < ioc->n_seen && ioc->n_waiting; i++) {
		const struct iocost_group *group = &ioc->groups[ioc->seen[i]];
		uint64_t at = group->first ? kick_ns(ioc, group) : UINT64_MAX;

		/* Never at once: rounding may leave a waiter a nanosecond short. */
		if (at == ioc->now_ns)
			at++;
		if (at < next)
			next = at;
	}
	return next;
}

void iocost_advance(struct iocost *ioc, uint64_t now_ns)
{
	if (now_ns > ioc->now_ns) {
		ioc->vnow += scale(now_ns - ioc->now_ns, ioc->vrate, PPM);
		ioc->now_ns = now_ns;
	}
	for (uint32_t i = 0; i < ioc->n_seen && ioc->n_waiting; i++) {
		struct iocost_group *group = &ioc->groups[ioc->seen[i]];

		if (group->first && kick_ns(ioc, group) <= ioc->now_ns)
			kick(ioc, group);
	}
	if (ioc->next_period_ns && ioc->now_ns >= ioc->next_period_ns)
		end_period(ioc);
}

static void activate(struct iocost *ioc, uint32_t at)
{
	struct iocost_group *group = &ioc->groups[at];

	group->used = true;
	if (group->active)
		return;
	if (!group->seen)
		ioc->seen[ioc->n_seen++] = at;
	group->seen = true;
	set_active(ioc, group, true);
	group->vtime = ioc->vnow - period_v(ioc) / 2;
	if (!ioc->next_period_ns)
		ioc->next_period_ns = ioc->now_ns + ioc->period_ns;
}

static void enqueue(struct iocost *ioc, struct iocost_group *group, struct iocost_waiter *waiter,
		    uint64_t cost)
{
	if (!group->first)
		ioc->n_waiting++;
	*waiter = (struct iocost_waiter){ .cost = cost };
	*(group->last ? &group->last->next : &group->first) = waiter;
	group->last = waiter;
}

enum iocost_verdict iocost_submit(struct iocost *ioc, uint32_t at, const struct timed_io *io,
				  struct iocost_waiter *waiter)
{
	struct iocost_group *group = &ioc->groups[at];
	uint64_t cost = cost_of(&ioc->cost, io, &group->cursor), vcost;

	activate(ioc, at);
	group->usage_ns += cost;
	group->period_usage_ns += cost;
	/* Who would wait looks first whether the debt can be paid by now. */
	if (waiter && !group->first)
		pay_debt(ioc, group);
	vcost = to_vtime(ioc, group, cost, true);
	if (!group->first && !group->debt && (int64_t)vcost <= budget_of(ioc, group)) {
		group->vtime += vcost;
		note_spans(ioc, group);
		return IOCOST_ISSUE;
	}
	if (!waiter) {
		incur_debt(ioc, group, cost);
		return IOCOST_DEBT;
	}
	enqueue(ioc, group, waiter, cost);
	note_spans(ioc, group);
	return IOCOST_WAIT;
}

void iocost_done(struct iocost *ioc, bool write, uint64_t latency_ns)
{
	if (latency_ns <= ioc->latency_ns[write])
		ioc->met[write]++;
	else
		ioc->missed[write]++;
}

void iocost_place_wait(struct iocost *ioc, uint64_t wait_ns)
{
	ioc->place_wait_ns += wait_ns;
}

uint64_t iocost_delay_ns(const struct iocost *ioc, uint32_t group)
{
	return delay_now(ioc, &ioc->groups[group]);
}

void iocost_finish(struct iocost *ioc)
{
	for (uint32_t i = 0; i < ioc->n_groups; i++) {
		set_span(&ioc->groups[i].wait, false, ioc->now_ns);
		set_span(&ioc->groups[i].indebt, false, ioc->now_ns);
		set_span(&ioc->groups[i].indelay, false, ioc->now_ns);
	}
}
