/* SPDX-License-Identifier: MIT */
/*
 * Writing entries out of the pool: the LRU walk (Linux 6.12 to 7.3).
 *
 * The walk starts at the oldest entry and looks at no more than its budget. An entry with the referenced
 * bit loses it and goes to the tail, the second chance; one without is written back. The list is live: in
 * a walk longer than the list, entries that were passed over come round again and are written. One corner
 * of the kernel's iteration is kept: a referenced entry that is alone on its list ends the walk, since the
 * iteration has looked past it before it moves. An entry whose page is in memory too (load=keep) cannot be written
 * back and goes to the tail; it ends a walk of the shrinker.
 *
 * order=sorted tells the sink the pages of a walk when it is over, in the order of their slots. order=cluster
 * goes on, after each entry written, with the pages in the slots behind it as long as they are in the pool
 * and of the memcg, referenced or not; they are charged to the budget. No kernel does either.
 */
#include "replayer/model.h"

#include <stdlib.h>

static void count_write_back(struct sim *sim, uint32_t index)
{
	sim_set_on_disk(sim, index, true);
	sim->counters.zswpwb++;
	sim->counters.written_back_pages++;
	sim->counters.pswpout++;
}

void sim_write_back(struct sim *sim, uint32_t index)
{
	sim_set_state(sim, index, SIM_SLOT_DISK);
	count_write_back(sim, index);
}

static void tell_write(struct sim *sim, uint32_t index)
{
	const struct slot *slot = &sim->slots[index];
	uint8_t area = sim_index_area(sim, index);

	sim->sink->write(sim->sink,
			 &(struct sim_write){ .time_ns = sim->now_ns,
					      .slot = sim_disk_slot(sim, area, index),
					      .pages = 1,
					      .recorded_slot = index - sim->area_base[area],
					      .memcg = slot->memcg,
					      .len = slot->len,
					      .area = area });
}

void sim_walk_begin(struct sim *sim, enum sim_walk kind)
{
	if (sim->sink)
		sim->sink->walk_begin(sim->sink, kind, sim->now_ns);
}

void sim_walk_write(struct sim *sim, uint32_t index)
{
	if (!sim->sink)
		return;
	if (sim->sorted)
		sim->sorted[sim->n_sorted++] = index;
	else
		tell_write(sim, index);
}

static int compare_indices(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

void sim_walk_end(struct sim *sim)
{
	if (!sim->sink)
		return;
	if (sim->n_sorted)
		qsort(sim->sorted, sim->n_sorted, sizeof(*sim->sorted), compare_indices);
	for (uint32_t i = 0; i < sim->n_sorted; i++)
		tell_write(sim, sim->sorted[i]);
	sim->n_sorted = 0;
	sim->sink->walk_end(sim->sink);
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

/* An entry that has left its list already. */
static void write_popped(struct sim *sim, uint32_t index)
{
	struct slot *slot = &sim->slots[index];

	sim_pool_free(sim, slot);
	sim_charge(sim, slot->memcg, -(int64_t)slot->len);
	count_write_back(sim, index);
	sim_walk_write(sim, index);
}

static bool is_entry_of(const struct sim *sim, uint16_t memcg, uint32_t index)
{
	const struct slot *slot = &sim->slots[index];

	return slot->state == SIM_SLOT_ZSWAP && slot->memcg == memcg && !slot->in_memory;
}

/* order=cluster: what follows the slot in the pool, at most `most` pages; returns how many. */
static uint32_t write_neighbours(struct sim *sim, uint16_t memcg, uint32_t index, uint32_t most)
{
	uint8_t area = sim_index_area(sim, index);
	uint64_t end = sim->area_base[area] + sim->machine.area_slots[area];
	uint32_t n = 0;

	while (n < most && index + 1 + n < end && is_entry_of(sim, memcg, index + 1 + n)) {
		sim_write_back(sim, index + 1 + n);
		sim_walk_write(sim, index + 1 + n);
		n++;
	}
	return n;
}

uint32_t sim_walk(struct sim *sim, uint16_t memcg, uint32_t budget, enum sim_walk kind)
{
	bool cluster = sim->policy.order == SIM_ORDER_CLUSTER;
	uint32_t written = 0, index;

	if (!budget || !sim->lru.lists[memcg].live)
		return 0;
	sim->counters.walks++;
	sim->walk_seq = sim->lru.lists[memcg].next_seq;
	sim_walk_begin(sim, kind);
	while (budget && lru_pop(&sim->lru, memcg, &index)) {
		uint32_t neighbours;

		budget--;
		if (sim->slots[index].referenced) {
			if (!pass_over(sim, memcg, index))
				break;
			continue;
		}
		if (sim->slots[index].in_memory) {
			lru_append(&sim->lru, memcg, index);
			if (kind == SIM_WALK_SHRINKER)
				break;
			continue;
		}
		write_popped(sim, index);
		neighbours = cluster ? write_neighbours(sim, memcg, index, budget) : 0;
		budget -= neighbours;
		written += 1 + neighbours;
	}
	sim_walk_end(sim);
	return written;
}

enum db_shrink sim_shrink_memcg(struct sim *sim, uint16_t memcg, uint32_t budget, enum sim_walk kind)
{
	sim->counters.shrink_memcg_calls++;
	if (!sim->lru.lists[memcg].live || sim->memcgs[memcg].no_writeback)
		return DB_SHRINK_EMPTY;
	return sim_walk(sim, memcg, budget, kind) ? DB_SHRINK_OK : DB_SHRINK_AGAIN;
}
