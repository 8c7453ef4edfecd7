/* SPDX-License-Identifier: MIT */
/* The allocator of vswap.h. */
#include "replayer/vswap.h"

#include <assert.h>
#include <string.h>

#include "replayer/pages.h"

enum { NO_SLOT = UINT32_MAX };

enum zr_err vswap_init(struct vswap *vswap, const struct sim_machine *machine)
{
	void *physical, *used, *in_use;
	enum zr_err err;

	memset(vswap, 0, sizeof(*vswap));
	for (uint32_t i = 0; i < machine->n_areas; i++) {
		struct vswap_area *area = &vswap->areas[i];

		area->base = vswap->n_slots;
		area->slots = (uint32_t)machine->area_slots[i];
		area->first_cluster = vswap->n_clusters;
		area->clusters = area->slots / VSWAP_CLUSTER + (area->slots % VSWAP_CLUSTER != 0);
		area->free_clusters = area->clusters;
		vswap->n_slots += area->slots;
		vswap->n_clusters += area->clusters;
	}
	err = pages_new(vswap->n_slots, sizeof(*vswap->physical), "the virtual slots", &physical);
	vswap->physical = physical;
	if (!err)
		err = pages_new(vswap->n_slots, sizeof(*vswap->used), "the disk slots", &used);
	if (err)
		return err;
	vswap->used = used;
	err = pages_new(vswap->n_clusters, sizeof(*vswap->in_use), "the swap clusters", &in_use);
	vswap->in_use = in_use;
	return err;
}

void vswap_fini(struct vswap *vswap)
{
	pages_free(vswap->physical, vswap->n_slots, sizeof(*vswap->physical));
	pages_free(vswap->used, vswap->n_slots, sizeof(*vswap->used));
	pages_free(vswap->in_use, vswap->n_clusters, sizeof(*vswap->in_use));
	memset(vswap, 0, sizeof(*vswap));
}

static uint32_t first_free(const struct vswap *vswap, const struct vswap_area *area, uint32_t from,
			   uint32_t to)
{
	const uint8_t *slots = vswap->used + area->base;
	const uint8_t *found = from < to ? memchr(slots + from, 0, to - from) : NULL;

	return found ? (uint32_t)(found - slots) : NO_SLOT;
}

static uint32_t cluster_end(const struct vswap_area *area, uint32_t slot)
{
	uint32_t end = (slot / VSWAP_CLUSTER + 1) * VSWAP_CLUSTER;

	return end < area->slots ? end : area->slots;
}

/* The next cluster upwards, the running one last, that holds nothing. There is one. */
static uint32_t free_cluster(const struct vswap *vswap, const struct vswap_area *area)
{
	uint32_t at = area->end ? (area->end - 1) / VSWAP_CLUSTER : area->clusters - 1;

	do {
		at = at + 1 < area->clusters ? at + 1 : 0;
	} while (vswap->in_use[area->first_cluster + at]);
	return at * VSWAP_CLUSTER;
}

/* The running cluster is full behind `next`: another place to go on. */
static uint32_t move_on(const struct vswap *vswap, struct vswap_area *area)
{
	uint32_t slot;

	if (area->free_clusters) {
		slot = free_cluster(vswap, area);
	} else {
		slot = first_free(vswap, area, area->next, area->slots);
		if (slot == NO_SLOT)
			slot = first_free(vswap, area, 0, area->next);
	}
	assert(slot != NO_SLOT);
	area->end = cluster_end(area, slot);
	return slot;
}

uint32_t vswap_take(struct vswap *vswap, uint8_t area_id, uint32_t virtual_slot)
{
	struct vswap_area *area = &vswap->areas[area_id];
	uint32_t slot = first_free(vswap, area, area->next, area->end);

	if (slot == NO_SLOT)
		slot = move_on(vswap, area);
	area->next = slot + 1;
	vswap->used[area->base + slot] = 1;
	if (!vswap->in_use[area->first_cluster + slot / VSWAP_CLUSTER]++)
		area->free_clusters--;
	vswap->physical[area->base + virtual_slot] = slot + 1;
	return slot;
}

void vswap_give(struct vswap *vswap, uint8_t area_id, uint32_t virtual_slot)
{
	struct vswap_area *area = &vswap->areas[area_id];
	uint32_t *physical = &vswap->physical[area->base + virtual_slot];
	uint32_t slot = *physical - 1;

	if (!*physical)
		return;
	*physical = 0;
	vswap->used[area->base + slot] = 0;
	if (!--vswap->in_use[area->first_cluster + slot / VSWAP_CLUSTER])
		area->free_clusters++;
}

bool vswap_find(const struct vswap *vswap, uint8_t area_id, uint32_t virtual_slot, uint32_t *out)
{
	uint32_t physical = vswap->physical[vswap->areas[area_id].base + virtual_slot];

	*out = physical - 1;
	return physical != 0;
}

bool vswap_is_used(const struct vswap *vswap, uint8_t area_id, uint32_t disk_slot)
{
	return vswap->used[vswap->areas[area_id].base + disk_slot];
}

void vswap_regions(const struct vswap *vswap, struct regions *regions)
{
	if (!vswap_on(vswap))
		return;
	regions_add(regions, vswap->physical, vswap->n_slots * sizeof(*vswap->physical));
	regions_add(regions, vswap->used, vswap->n_slots * sizeof(*vswap->used));
	regions_add(regions, vswap->in_use, vswap->n_clusters * sizeof(*vswap->in_use));
}
