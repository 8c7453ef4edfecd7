/* SPDX-License-Identifier: MIT */
/*
 * Images of a model's state, to go back to.
 *
 * A structure names the memory that its state is in as regions; an image is a copy of what they held, put back
 * to the very same places. So nothing has to be relocated, and pointers inside the regions stay good as long as
 * nothing that they point to moves (the model's tables never do). What a region's structure never reads before
 * it writes it (a table behind its high-water mark) need not be named.
 *
 *   image ── region 0: address, bytes ── block, block, NULL, block      4 KiB each; NULL = all zero
 *         └─ region 1: ...                  └── shared with the image before, where nothing has changed; or with
 *                                               that of a twin, a structure of the same kind that holds the same
 *
 * Blocks are counted and shared, so an image costs what changed since the one before it, and of twins that fare
 * alike (policies that differ in their I/O alone have the same pool) only one. Cost: one read of the
 * regions and of the images before and beside it, a copy of what differs; putting back is a copy.
 */
#ifndef REPLAYER_SNAPSHOT_H
#define REPLAYER_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/err.h"

struct region {
	void *at;
	size_t bytes;
};

/* Caller's storage, all zero before the first use. */
struct regions {
	struct region *list;
	size_t n, room;
	bool no_memory; /* told when an image is taken */
};

void regions_add(struct regions *regions, void *at, size_t bytes);
void regions_fini(struct regions *regions);

struct snapshot;

/* Images with which blocks are shared: of the same structure, and of one with the same regions in the same order,
 * elsewhere. Either may be NULL. */
struct snapshot_kin {
	const struct snapshot *before, *twin;
};

enum zr_err snapshot_take(const struct regions *regions, struct snapshot_kin kin, struct snapshot **out);

/* Puts the bytes back. `now`: the structure's regions as they are, the same ones in the same order; where one has
 * grown, the rest of it becomes zero. */
void snapshot_restore(const struct snapshot *snapshot, const struct regions *now);

/* Bytes that would be freed with it: its blocks that no other image shares. */
size_t snapshot_bytes(const struct snapshot *snapshot);

/* NULL is fine. */
void snapshot_free(struct snapshot *snapshot);

#endif
