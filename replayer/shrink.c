/* SPDX-License-Identifier: MIT */
/*
 * Writing entries out of the pool: the LRU walk and the background worker (Linux 6.12 to 7.3).
 *
 * The walk starts at the oldest entry and looks at no more than its budget. An entry with the referenced
 * bit loses it and goes to the tail, the second chance; one without is written back. The list is live: in
 * a walk longer than the list, entries that were passed over come round again and are written. One corner
 * of the kernel's iteration is kept: a referenced entry that is alone on its list ends the walk, since the
 * iteration has looked past it before it moves.
 *
 * The worker visits the memcgs round robin, by dense id and going on where the last run stopped, one
 * shrink call each, until the pool is at or below the accept threshold. A memcg without entries is passed
 * over (but its call is counted); a call that wrote nothing is a failure, a whole round without candidates
 * too; the sixteenth failure of a run ends it.
 *
 * When it runs: to its end, right after the event whose failed store queued it, at that event's time. The
 * kernel's runs in a thread of its own, so stores that were rejected while it drained are rejected here
 * only if a run ends early.
 */
#include "replayer/model.h"

enum { WORKER_FAILURES_MAX = 16 }; /* MAX_RECLAIM_RETRIES of Linux */

static void write_back(struct sim *sim, uint32_t index)
{
	struct slot *slot = &sim->slots[index];
	uint8_t area = sim_index_area(sim, index);

	zs_free(&sim->pool, (uint32_t)slot->data);
	sim->compressed_bytes -= slot->len;
	sim_set_on_disk(sim, index, true);
	sim->counters.zswpwb++;
	sim->counters.written_back_pages++;
	sim->counters.pswpout++;
	if (!sim->sink)
		return;
	sim->sink->write(sim->sink, &(struct sim_write){ .time_ns = sim->now_ns,
							 .slot = index - sim->area_base[area],
							 .pages = 1,
							 .memcg = slot->memcg,
							 .len = slot->len,
							 .area = area });
}

/* True when the walk may go on. */
static bool pass_over(struct sim *sim, uint16_t memcg, uint32_t index)
{
	bool alone = sim->lru.lists[memcg].live == 0;

	sim->slots[index].referenced = 0;
	lru_append(&sim->lru, memcg, index);
	sim->counters.rotated++;
	return !alone;
}

uint32_t sim_walk(struct sim *sim, uint16_t memcg, uint32_t budget, enum sim_walk kind)
{
	uint32_t written = 0, index;

	if (!budget || !sim->lru.lists[memcg].live)
		return 0;
	sim->counters.walks++;
	if (sim->sink)
		sim->sink->walk_begin(sim->sink, kind, sim->now_ns);
	while (budget-- && lru_pop(&sim->lru, memcg, &index)) {
		if (sim->slots[index].referenced) {
			if (!pass_over(sim, memcg, index))
				break;
		} else {
			write_back(sim, index);
			written++;
		}
	}
	if (sim->sink)
		sim->sink->walk_end(sim->sink);
	return written;
}

enum db_shrink sim_shrink_memcg(struct sim *sim, uint16_t memcg, uint32_t budget, enum sim_walk kind)
{
	sim->counters.shrink_memcg_calls++;
	if (!sim->lru.lists[memcg].live)
		return DB_SHRINK_EMPTY;
	return sim_walk(sim, memcg, budget, kind) ? DB_SHRINK_OK : DB_SHRINK_AGAIN;
}

void sim_run_worker(struct sim *sim)
{
	uint32_t failures = 0, candidates = 0;

	sim->counters.shrink_worker_wakeups++;
	do {
		enum db_shrink result;

		if (sim->next_memcg == sim->machine.n_memcgs) {
			sim->next_memcg = 0;
			if (!candidates && ++failures == WORKER_FAILURES_MAX)
				break;
			candidates = 0;
			continue;
		}
		result = sim_shrink_memcg(sim, (uint16_t)sim->next_memcg++, (uint32_t)sim->policy.walk,
					  SIM_WALK_WORKER);
		if (result == DB_SHRINK_EMPTY)
			continue;
		candidates++;
		if (result == DB_SHRINK_AGAIN && ++failures == WORKER_FAILURES_MAX)
			break;
	} while (sim->pool.pages > sim->accept_pages);
}
