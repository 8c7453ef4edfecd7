/* SPDX-License-Identifier: MIT */
/*
 * The background worker that drains a pool which has refused a store (Linux 6.12 to 7.3).
 *
 * A run visits the memcgs round robin, by dense id and going on where the last run stopped, one
 * shrink call each, until the pool is at or below the accept threshold. A memcg without entries is
 * passed over (but its call is counted); a call that wrote nothing is a failure, a whole round
 * without candidates too; the sixteenth failure of a run ends it. Under evict=pool a run is one page of the pool
 * (evict.c).
 *
 * Time. In the kernel it is a thread of its own: while it drains, tasks go on and their stores are
 * refused until one of them finds the pool at the threshold. So it has a pace here, learnt from the
 * recording (learn.h) or given by the policy (knob worker), and does at each event what it would
 * have done by then:
 *
 *   store refused ──> visit ──> visit ──> ... over ──lag──> visit ──> ...
 *                     a visit: write_ns a page written, else visit_ns
 *
 * The lag is that of the recorded run which was queued last by then, since lags differ by orders of magnitude and their
 * mean is right for none. Between two runs lies at least the lag, which is also when it begins if a store was refused
 * meanwhile. A visit takes effect as it begins and the next comes when its time is over, so with a
 * budget of 32 entries the pool is up to 32 pages ahead of the kernel's; the stores that this lets in
 * early do not keep the run going. Visits to memcgs without entries take no time. With a pace of 0 a run is over before the next event.
 *
 * Cost: one compare an event while nothing is due.
 */
#include "replayer/model.h"

enum {
	FAILURES_MAX = 16, /* MAX_RECLAIM_RETRIES of Linux */
	PARTS = 256,	   /* of the work of a visit, where the pace changes */
};

void sim_worker_init(struct sim *sim)
{
	sim->worker = (struct sim_worker){ .due_ns = UINT64_MAX };
}

/* What the recording has of the time, or of its whole; and until when. The times never go back. */
static struct sim_paced learnt_pace(struct sim *sim, uint64_t time_ns)
{
	const struct sim_learnt *learnt = &sim->machine.learnt;
	uint32_t *at = &sim->worker.paced;

	while (*at < learnt->n_paced && learnt->paced[*at].to_ns <= time_ns)
		++*at;
	if (*at < learnt->n_paced && learnt->paced[*at].from_ns <= time_ns)
		return learnt->paced[*at];
	return (struct sim_paced){ .to_ns = *at < learnt->n_paced ? learnt->paced[*at].from_ns :
								    UINT64_MAX,
				   .pace = learnt->pace };
}

static struct sim_paced pace_at(struct sim *sim, uint64_t time_ns)
{
	const uint64_t second = 1'000'000'000;
	struct sim_paced paced = { .to_ns = UINT64_MAX };

	if (!sim->policy.worker)
		return paced;
	paced = learnt_pace(sim, time_ns);
	if (sim->policy.worker != SIM_RECORDED)
		paced.pace.write_ns = second / (uint32_t)sim->policy.worker;
	return paced;
}

/* `later`: the first of the recorded runs that was queued after that time. */
static uint64_t nearest_lag(const struct sim_learnt *learnt, uint32_t later, uint64_t time_ns)
{
	const struct sim_lag *lag = &learnt->lags[later];

	if (!later)
		return lag->lag_ns;
	if (later == learnt->n_lags || time_ns - lag[-1].queued_ns <= lag->queued_ns - time_ns)
		lag--;
	return lag->lag_ns;
}

/* A run that is queued now. */
static uint64_t start_of_run(struct sim *sim, uint64_t now_ns)
{
	const struct sim_learnt *learnt = &sim->machine.learnt;
	uint32_t *at = &sim->worker.lag;

	while (*at < learnt->n_lags && learnt->lags[*at].queued_ns <= now_ns)
		++*at;
	if (sim->policy.worker && learnt->n_lags)
		return now_ns + nearest_lag(learnt, *at, now_ns);
	return now_ns + pace_at(sim, now_ns).pace.lag_ns;
}

/* When a visit is over that begins then. Over its time the pace may change. */
static uint64_t end_of_visit(struct sim *sim, uint64_t begin_ns, uint64_t written)
{
	uint64_t left = (written ? written : 1) * PARTS;

	for (;;) {
		struct sim_paced paced = pace_at(sim, begin_ns);
		uint64_t each_ns = written ? paced.pace.write_ns : paced.pace.visit_ns;
		uint64_t room_ns = paced.to_ns - begin_ns;

		if (left * each_ns / PARTS <= room_ns)
			return begin_ns + left * each_ns / PARTS;
		left -= room_ns * PARTS / each_ns;
		begin_ns = paced.to_ns;
	}
}

void sim_worker_queue(struct sim *sim)
{
	struct sim_worker *worker = &sim->worker;

	if (!worker->queued)
		return;
	if (!worker->running && worker->due_ns == UINT64_MAX)
		worker->due_ns = start_of_run(sim, sim->now_ns);
	sim_worker_advance(sim, sim->now_ns);
}

static void begin_run(struct sim *sim)
{
	sim->worker.queued = false;
	sim->worker.running = true;
	sim->worker.drained = false;
	sim->worker.failures = sim->worker.candidates = 0;
	sim->counters.shrink_worker_wakeups++;
}

static void end_run(struct sim *sim)
{
	struct sim_worker *worker = &sim->worker;

	worker->running = false;
	worker->due_ns = worker->queued ? start_of_run(sim, worker->due_ns) : UINT64_MAX;
}

static bool is_drained(const struct sim *sim)
{
	return sim_pool_pages(sim) <= sim->accept_pages;
}

static void visit(struct sim *sim)
{
	struct sim_worker *worker = &sim->worker;
	uint64_t written = sim->counters.written_back_pages;
	enum db_shrink result = sim_shrink_memcg(sim, (uint16_t)worker->next_memcg++,
						 (uint32_t)sim->policy.walk, SIM_WALK_WORKER);

	worker->drained = is_drained(sim);
	if (result == DB_SHRINK_EMPTY)
		return;
	written = sim->counters.written_back_pages - written;
	worker->candidates++;
	worker->failures += result == DB_SHRINK_AGAIN;
	worker->due_ns = end_of_visit(sim, worker->due_ns, written);
}

static void end_round(struct sim_worker *worker)
{
	worker->next_memcg = 0;
	worker->failures += !worker->candidates;
	worker->candidates = 0;
}

static void step(struct sim *sim)
{
	struct sim_worker *worker = &sim->worker;

	if (sim->pool_evicts) {
		begin_run(sim);
		sim_evict_page(sim);
		end_run(sim);
		return;
	}
	if (!worker->running) {
		begin_run(sim);
	} else if (worker->failures == FAILURES_MAX || worker->drained || is_drained(sim)) {
		end_run(sim);
		return;
	}
	if (worker->next_memcg == sim->machine.n_memcgs)
		end_round(worker);
	else
		visit(sim);
}

void sim_worker_advance(struct sim *sim, uint64_t now_ns)
{
	uint64_t then_ns = sim->now_ns;

	while (sim->worker.due_ns <= now_ns) {
		sim->now_ns = sim->worker.due_ns;
		step(sim);
	}
	sim->now_ns = then_ns;
}
