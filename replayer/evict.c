/* SPDX-License-Identifier: MIT */
/*
 * evict=pool: the allocator writes back (Linux up to 6.4; the rules are 6.1's).
 *
 * A store that finds the pool over its limit queues the worker, and one run of it evicts one page of the pool: the
 * oldest, with all objects in it, however old these are. An object whose page is in memory as well (load=keep), or
 * may not go to the disk, cannot be written back; then the rest of the page stays too, the page becomes the youngest,
 * and the next oldest is tried, eight in all.
 *
 * The kernel adds up the pool's pages when an entry comes or goes, and by then the evicted page has not gone yet: until
 * the next store or free it still counts (sim->unseen). So one page over the limit makes it evict two.
 *
 * zsmalloc could not evict then: its pool only refuses.
 */
#include "replayer/model.h"

enum { PAGES_TRIED = 8 };

static bool is_writable(const struct sim *sim, uint32_t index)
{
	const struct slot *slot = &sim->slots[index];

	return !slot->in_memory && !sim->memcgs[slot->memcg].no_writeback;
}

static void write_objects(struct sim *sim, uint32_t page)
{
	uint32_t index;

	for (int which = 0; which < 2; which++) {
		if (!zbud_object(&sim->zbud, page, which, &index))
			continue;
		if (!is_writable(sim, index))
			return;
		sim_write_back(sim, index);
		sim_walk_write(sim, index);
	}
}

static void try_pages(struct sim *sim)
{
	for (int i = 0; i < PAGES_TRIED; i++) {
		uint32_t page = zbud_take_oldest(&sim->zbud);

		write_objects(sim, page);
		if (!zbud_put_back(&sim->zbud, page))
			continue;
		sim->unseen = 1;
		return;
	}
}

void sim_evict_page(struct sim *sim)
{
	if (!sim->zbud.pages)
		return;
	sim->counters.walks++;
	sim_walk_begin(sim, SIM_WALK_WORKER);
	try_pages(sim);
	sim_walk_end(sim);
}
