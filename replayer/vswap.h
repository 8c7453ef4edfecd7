/* SPDX-License-Identifier: MIT */
/*
 * A virtual swap layer: the slot that a trace knows a page by is virtual, and the page gets a slot on the
 * disk only when it is written there (policy slots=vswap).
 *
 * Slots are handed out in ascending runs: on from the last one inside its cluster of 512, then the next
 * cluster (upwards, round and round) that is wholly free, and when there is none the next single free slot
 * from where the last one was. That is the allocator of Linux 6.12 with one user. The disk area is the
 * virtual slot's own, and as large, so there is always a slot. A page keeps its disk slot while its data is
 * good there: until it is freed or swapped out anew, not merely read.
 *
 *   physical  u32 a virtual slot: disk slot + 1, 0 = none      used    byte a disk slot
 *   in_use    u16 a cluster: used slots in it
 *
 * Cost: 5 bytes a slot, touched where used; a byte scan inside the cluster, one over the clusters when a
 * cluster is full.
 */
#ifndef REPLAYER_VSWAP_H
#define REPLAYER_VSWAP_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/replayer.h"
#include "replayer/snapshot.h"

enum { VSWAP_CLUSTER = 512 };

struct vswap_area {
	uint32_t base, slots; /* first of its slots in the tables; how many */
	uint32_t first_cluster, clusters, free_clusters;
	uint32_t next, end; /* where the running cluster goes on and ends */
};

struct vswap {
	uint32_t n_slots, n_clusters;
	uint32_t *physical; /* NULL: not in use */
	uint8_t *used;
	uint16_t *in_use;
	struct vswap_area areas[DB_AREA_MAX + 1];
};

/* For areas whose sizes sum up to less than 2^31 slots. */
enum zr_err vswap_init(struct vswap *vswap, const struct sim_machine *machine);
void vswap_fini(struct vswap *vswap);

static inline bool vswap_on(const struct vswap *vswap)
{
	return vswap->physical != NULL;
}

/* A disk slot for the virtual slot, which has none. */
uint32_t vswap_take(struct vswap *vswap, uint8_t area, uint32_t slot);

/* Its disk slot is free again; does nothing if it has none. */
void vswap_give(struct vswap *vswap, uint8_t area, uint32_t slot);

/* The disk slot of a virtual one; false if it has none. */
bool vswap_find(const struct vswap *vswap, uint8_t area, uint32_t slot, uint32_t *out);

/* What the tables' state is in, but for the layer itself; nothing if it is not in use. */
void vswap_regions(const struct vswap *vswap, struct regions *regions);

/* Is there a page in the disk slot? */
bool vswap_is_used(const struct vswap *vswap, uint8_t area, uint32_t disk_slot);

#endif
