/* SPDX-License-Identifier: MIT */
/* The allocator of gen_slots.h. */
#include "replayer/gen_slots.h"

static void unlink_cluster(struct gen_slots *slots, uint32_t at)
{
	struct gen_cluster *cluster = &slots->clusters[at];

	if (cluster->list == GEN_NO_LIST)
		return;
	*(cluster->prev ? &slots->clusters[cluster->prev - 1].next : &slots->head[cluster->list]) =
		cluster->next;
	*(cluster->next ? &slots->clusters[cluster->next - 1].prev : &slots->tail[cluster->list]) =
		cluster->prev;
	cluster->prev = cluster->next = 0;
	cluster->list = GEN_NO_LIST;
}

static void append_cluster(struct gen_slots *slots, uint32_t at, enum gen_list_id list)
{
	struct gen_cluster *cluster = &slots->clusters[at];

	unlink_cluster(slots, at);
	cluster->list = (uint8_t)list;
	cluster->prev = slots->tail[list];
	*(cluster->prev ? &slots->clusters[cluster->prev - 1].next : &slots->head[list]) = at + 1;
	slots->tail[list] = at + 1;
}

enum zr_err gen_slots_init(struct gen_slots *slots, struct zr_arena *arena, uint32_t n,
			   uint32_t cpus)
{
	*slots = (struct gen_slots){ .n_clusters = n / GEN_CLUSTER + 1, .n_cpus = cpus };
	slots->n_slots = slots->n_clusters * GEN_CLUSTER;
	slots->used = zr_arena_array(arena, slots->n_slots, sizeof(*slots->used));
	slots->clusters = zr_arena_array(arena, slots->n_clusters, sizeof(*slots->clusters));
	slots->next = zr_arena_array(arena, cpus, sizeof(*slots->next));
	if (!slots->used || !slots->clusters || !slots->next)
		return zr_fail(ZR_NOMEM, "making a swap area of %u slots: no memory",
			       slots->n_slots);
	for (uint32_t i = 0; i < slots->n_clusters; i++)
		slots->clusters[i].list = GEN_NO_LIST;
	/* The header makes the first cluster a partly used one. */
	slots->used[0] = 1;
	slots->clusters[0].used = 1;
	append_cluster(slots, 0, GEN_PARTLY);
	for (uint32_t i = 1; i < slots->n_clusters; i++)
		append_cluster(slots, i, GEN_FREE);
	return ZR_OK;
}

static uint32_t take(struct gen_slots *slots, uint32_t cpu, uint32_t slot)
{
	slots->used[slot] = 1;
	slots->clusters[slot / GEN_CLUSTER].used++;
	slots->next[cpu] = slot + 1;
	return slot;
}

/* The first free slot at or behind `from` in its cluster; 0 = none. */
static uint32_t find_in_cluster(const struct gen_slots *slots, uint32_t from)
{
	uint32_t end = (from / GEN_CLUSTER + 1) * GEN_CLUSTER;

	for (; from < end; from++)
		if (!slots->used[from])
			return from;
	return 0;
}

static uint32_t find_on_lists(struct gen_slots *slots)
{
	static const enum gen_list_id order[] = { GEN_PARTLY, GEN_FREE };

	for (unsigned i = 0; i < GEN_LISTS; i++) {
		while (slots->head[order[i]]) {
			uint32_t at = slots->head[order[i]] - 1, slot;

			unlink_cluster(slots, at);
			slot = find_in_cluster(slots, at * GEN_CLUSTER);
			if (slot)
				return slot;
		}
	}
	return 0;
}

uint32_t gen_slots_take(struct gen_slots *slots, uint32_t cpu)
{
	uint32_t slot = 0;

	if (slots->next[cpu] % GEN_CLUSTER)
		slot = find_in_cluster(slots, slots->next[cpu]);
	if (!slot)
		slot = find_on_lists(slots);
	/* What is left lies in clusters that other processors were given. */
	for (uint32_t i = 0; !slot && i < slots->n_clusters; i++)
		slot = find_in_cluster(slots, i * GEN_CLUSTER);
	return take(slots, cpu, slot);
}

void gen_slots_give(struct gen_slots *slots, uint32_t slot)
{
	uint32_t at = slot / GEN_CLUSTER;

	slots->used[slot] = 0;
	slots->clusters[at].used--;
	append_cluster(slots, at, slots->clusters[at].used ? GEN_PARTLY : GEN_FREE);
}
