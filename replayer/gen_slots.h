/* SPDX-License-Identifier: MIT */
/*
 * The swap slot allocator of generated traces: clusters of 512 slots, and a next slot for each
 * processor, after Linux 7.3.
 *
 *   processor ──> cluster, next offset ──(cluster's end)──> oldest partly freed cluster ──> free
 * cluster
 *
 * A processor takes ascending slots of its cluster. At the end of the cluster it goes to the
 * cluster that has been partly free for longest, and only then to one that is free altogether:
 * holes are filled before new ground is broken. A cluster that was given out is on no list until a
 * slot of it is freed. When no list has anything, any free slot will do.
 *
 * Cost: a byte a slot, 12 bytes a cluster; a slot is found in the cluster at hand nearly always.
 */
#ifndef REPLAYER_GEN_SLOTS_H
#define REPLAYER_GEN_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/err.h"

enum { GEN_CLUSTER = 512 };

enum gen_list_id { GEN_FREE, GEN_PARTLY, GEN_LISTS, GEN_NO_LIST = GEN_LISTS };

struct gen_cluster {
	uint32_t prev, next; /* cluster + 1, 0 = none */
	uint16_t used;
	uint8_t list;
};

struct gen_slots {
	uint8_t *used;
	struct gen_cluster *clusters;
	uint32_t n_slots, n_clusters, n_cpus;
	uint32_t
		*next; /* by processor; a multiple of GEN_CLUSTER: its cluster has come to an end */
	uint32_t head[GEN_LISTS], tail[GEN_LISTS];
};

/* At least `slots` slots besides slot 0, the header. In the arena. */
enum zr_err gen_slots_init(struct gen_slots *slots, struct zr_arena *arena, uint32_t n,
			   uint32_t cpus);

/* A slot; there must be one. */
uint32_t gen_slots_take(struct gen_slots *slots, uint32_t cpu);
void gen_slots_give(struct gen_slots *slots, uint32_t slot);

#endif
