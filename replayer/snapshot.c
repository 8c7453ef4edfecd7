/* SPDX-License-Identifier: MIT */
/* The images of snapshot.h. */
#include "replayer/snapshot.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, FIRST_ROOM = 32 };

struct block {
	uint32_t users;
	char bytes[BLOCK];
};

struct image {
	struct region region;
	size_t first; /* of its blocks in the snapshot's */
};

struct snapshot {
	size_t n_images, n_blocks;
	struct image *images;
	struct block **blocks;
};

void regions_add(struct regions *regions, void *at, size_t bytes)
{
	if (regions->no_memory)
		return;
	if (regions->n == regions->room) {
		size_t room = regions->room ? 2 * regions->room : FIRST_ROOM;
		struct region *list = realloc(regions->list, room * sizeof(*list));

		regions->no_memory = !list;
		if (!list)
			return;
		regions->list = list;
		regions->room = room;
	}
	regions->list[regions->n++] = (struct region){ at, bytes };
}

void regions_fini(struct regions *regions)
{
	free(regions->list);
	*regions = (struct regions){ 0 };
}

static size_t blocks_of(const struct region *region)
{
	return (region->bytes + BLOCK - 1) / BLOCK;
}

static size_t block_bytes(const struct region *region, size_t i)
{
	size_t left = region->bytes - i * BLOCK;

	return left < BLOCK ? left : BLOCK;
}

static struct snapshot *allocate(const struct regions *regions)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->images = calloc(regions->n + 1, sizeof(*snapshot->images));
	for (size_t i = 0; snapshot->images && i < regions->n; i++) {
		snapshot->images[i] = (struct image){ regions->list[i], snapshot->n_blocks };
		snapshot->n_blocks += blocks_of(&regions->list[i]);
	}
	snapshot->n_images = regions->n;
	snapshot->blocks = calloc(snapshot->n_blocks + 1, sizeof(struct block *));
	if (snapshot->images && snapshot->blocks)
		return snapshot;
	snapshot_free(snapshot);
	return NULL;
}

static bool is_zero(const char *bytes, size_t n)
{
	return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* The block of another snapshot in the same region, or NULL. */
static struct block *block_of(const struct snapshot *other, size_t image, const struct region *region, size_t i)
{
	const struct image *it;

	if (!other || image >= other->n_images)
		return NULL;
	it = &other->images[image];
	if (i >= blocks_of(&it->region) || block_bytes(&it->region, i) < block_bytes(region, i))
		return NULL;
	return other->blocks[it->first + i];
}

static bool share(const char *from, size_t bytes, struct block *block, struct block **out)
{
	if (!block || memcmp(block->bytes, from, bytes) != 0)
		return false;
	block->users++;
	*out = block;
	return true;
}

static bool copy_block(const char *from, size_t bytes, struct block **out)
{
	struct block *block;

	block = malloc(sizeof(*block));
	if (!block)
		return false;
	block->users = 1;
	memcpy(block->bytes, from, bytes);
	*out = block;
	return true;
}

static bool copy_region(struct snapshot *snapshot, size_t image, const struct snapshot_kin *kin)
{
	const struct region *region = &snapshot->images[image].region;

	for (size_t i = 0; i < blocks_of(region); i++) {
		const char *from = (const char *)region->at + i * BLOCK;
		size_t bytes = block_bytes(region, i);
		struct block **out = &snapshot->blocks[snapshot->images[image].first + i];

		if (!is_zero(from, bytes) &&
		    !share(from, bytes, block_of(kin->before, image, region, i), out) &&
		    !share(from, bytes, block_of(kin->twin, image, region, i), out) &&
		    !copy_block(from, bytes, out))
			return false;
	}
	return true;
}

enum zr_err snapshot_take(const struct regions *regions, struct snapshot_kin kin, struct snapshot **out)
{
	struct snapshot *snapshot = regions->no_memory ? NULL : allocate(regions);
	bool ok = snapshot != NULL;

	*out = NULL;
	for (size_t i = 0; ok && i < snapshot->n_images; i++)
		ok = copy_region(snapshot, i, &kin);
	if (!ok) {
		snapshot_free(snapshot);
		return zr_fail(ZR_NOMEM, "keeping an image of the model to go back to: no memory");
	}
	*out = snapshot;
	return ZR_OK;
}

/* Memory that never was touched stays so. */
static void restore_block(char *to, size_t bytes, const struct block *block)
{
	if (block)
		memcpy(to, block->bytes, bytes);
	else if (!is_zero(to, bytes))
		memset(to, 0, bytes);
}

/* Each image on its own: the regions are known before the first byte is put back. */
void snapshot_restore(const struct snapshot *snapshot, const struct regions *now)
{
	for (size_t image = 0; image < snapshot->n_images; image++) {
		const struct image *it = &snapshot->images[image];
		char *at = it->region.at;

		for (size_t i = 0; i < blocks_of(&it->region); i++)
			restore_block(at + i * BLOCK, block_bytes(&it->region, i),
				      snapshot->blocks[it->first + i]);
		assert(image < now->n && now->list[image].at == at);
		if (now->list[image].bytes > it->region.bytes)
			restore_block(at + it->region.bytes,
				      now->list[image].bytes - it->region.bytes, NULL);
	}
}

size_t snapshot_bytes(const struct snapshot *snapshot)
{
	size_t bytes = sizeof(*snapshot) + snapshot->n_images * sizeof(struct image) +
		       snapshot->n_blocks * sizeof(struct block *);

	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i] && snapshot->blocks[i]->users == 1)
			bytes += sizeof(struct block);
	return bytes;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; snapshot->blocks && i < snapshot->n_blocks; i++) {
		struct block *block = snapshot->blocks[i];

		if (block && --block->users == 0)
			free(block);
	}
	free(snapshot->blocks);
	free(snapshot->images);
	free(snapshot);
}
