/* SPDX-License-Identifier: MIT */
/*
 * The memory-pressure shrinker: how much each reclaim pass asks of a memcg's entries (Linux 6.12
 * to 7.3).
 *
 * A recording whose kernel had it on holds the scans themselves (SCAN). They are taken as they are
 * as long as the pool's limits are the recorded ones. Where they would not have been the same
 * (other limits; or the recording had it off and the policy has it on) they are computed from the
 * passes (RECLAIM: memcg, priority), which do not hang on zswap so directly:
 *
 *   count   d = min(entries, pages read from disk since the last count)         a reprieve, used up
 * by counting F = (entries - d) * pages of compressed bytes / entries             what could be
 * freed, in pages pass    delta = 2 * (F >> priority);  nr = what earlier passes put off total =
 * min((nr >> priority) + delta, 2 * F) while total >= 128 or total >= F: a walk over min(128,
 * total) entries, total less by these; a walk that wrote nothing ends it and was not done put off:
 * nr + delta - done, within 0 and 2 * F
 *
 * So nothing is scanned before F is 64 << priority (32 << priority when much was put off), and then
 * in walks of 128. F counts pages, walks count entries; the kernel mixes them, and so does this.
 *
 * Not modelled: more than one NUMA node (the node of a RECLAIM is not looked at), the count of a
 * memcg with children (the kernel's ratio is over the subtree), passes that may not do I/O (a
 * recording does not tell).
 */
#include "replayer/model.h"

enum { SHRINK_BATCH = 128 }; /* of Linux */

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool sim_shrinker_is_own(const struct sim *sim)
{
	const struct sim_machine *machine = &sim->machine;

	if (!machine->learnt.has_reclaims || sim->policy.shrinker == 0)
		return false;
	if (sim->policy.shrinker != SIM_RECORDED)
		return true;
	return machine->learnt.has_scans && !sim->limits_recorded;
}

static uint64_t count(struct sim *sim, uint16_t id)
{
	struct sim_memcg *memcg = &sim->memcgs[id];
	uint64_t entries = sim->lru.lists[id].live;
	uint64_t reprieve = min(entries, memcg->disk_swapins);

	if (!entries || memcg->no_writeback)
		return 0;
	memcg->disk_swapins -= reprieve;
	return (entries - reprieve) * (memcg->bytes / sim->machine.page_size) / entries;
}

static uint64_t scan(struct sim *sim, uint16_t memcg, uint64_t total, uint64_t freeable)
{
	uint64_t done = 0;

	while (total - done >= SHRINK_BATCH || total - done >= freeable) {
		uint32_t n = (uint32_t)min(SHRINK_BATCH, total - done);

		sim->counters.shrinker_scans++;
		if (!sim_walk(sim, memcg, n, SIM_WALK_SHRINKER))
			break;
		done += n;
	}
	return done;
}

void sim_shrinker_reclaim(struct sim *sim, const struct db_event *event)
{
	struct sim_memcg *memcg = &sim->memcgs[event->memcg];
	uint64_t freeable = count(sim, event->memcg);
	uint64_t put_off = memcg->deferred, delta, done;

	if (!freeable)
		return;
	delta = 2 * (freeable >> event->order);
	done = scan(sim, event->memcg, min((put_off >> event->order) + delta, 2 * freeable),
		    freeable);
	memcg->deferred = min(put_off + delta - min(done, put_off + delta), 2 * freeable);
}

void sim_shrinker_scan(struct sim *sim, const struct db_event *event)
{
	if (sim->memcgs[event->memcg].no_writeback)
		return;
	sim->counters.shrinker_scans++;
	sim_walk(sim, event->memcg, event->slot, SIM_WALK_SHRINKER);
}
