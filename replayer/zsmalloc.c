/* SPDX-License-Identifier: MIT */
/* The accounting of zsmalloc.h. */
#include "replayer/zsmalloc.h"

#include <assert.h>
#include <string.h>

#include "replayer/pages.h"

enum { SMALLEST = 32, HANDLE = 8 };

static_assert(sizeof(struct zs_page) == 12, "a zspage is 12 bytes");

static uint32_t class_index(const struct zs_pool *pool, uint32_t len)
{
	uint32_t size = len + HANDLE, index;

	if (size <= SMALLEST)
		return 0;
	index = (size - SMALLEST + (1u << pool->class_shift) - 1) >> pool->class_shift;
	return index < ZS_CLASSES ? index : ZS_CLASSES - 1;
}

static uint16_t zspage_pages_of_4(uint32_t page_size, uint32_t size)
{
	uint32_t most = 0;
	uint16_t best = 1;

	for (uint16_t k = 1; k <= ZS_CHAIN_4; k++) {
		uint64_t bytes = k * page_size;
		uint32_t used = (uint32_t)((bytes - bytes % size) * 100 / bytes);

		if (used > most) {
			most = used;
			best = k;
		}
	}
	return best;
}

static uint16_t zspage_pages(uint32_t page_size, uint32_t size)
{
	uint32_t least = UINT32_MAX;
	uint16_t best = 1;

	if ((size & (size - 1)) == 0)
		return 1;
	for (uint16_t k = 1; k <= ZS_CHAIN_8; k++) {
		uint32_t waste = k * page_size % size;

		if (waste < least) {
			least = waste;
			best = k;
		}
	}
	return best;
}

static void make_classes(struct zs_pool *pool)
{
	for (int i = ZS_CLASSES - 1; i >= 0; i--) {
		struct zs_class *class = &pool->classes[i];
		const struct zs_class *larger = NULL;
		uint32_t size = SMALLEST + ((uint32_t)i << pool->class_shift);

		class->size = size < pool->page_size ? size : pool->page_size;
		class->pages = pool->chain == ZS_CHAIN_4 ?
				       zspage_pages_of_4(pool->page_size, class->size) :
				       zspage_pages(pool->page_size, class->size);
		class->objects = (uint16_t)(class->pages * pool->page_size / class->size);
		pool->merged[i] = (uint8_t)i;
		if (i < ZS_CLASSES - 1)
			larger = &pool->classes[pool->merged[i + 1]];
		if (larger && larger->pages == class->pages && larger->objects == class->objects)
			pool->merged[i] = pool->merged[i + 1];
	}
}

static uint8_t group_by_use(const struct zs_pool *pool, const struct zs_class *class, uint32_t in_use)
{
	if (in_use == class->objects)
		return ZS_GROUP_FULL;
	if (pool->chain == ZS_CHAIN_4)
		return in_use ? 1 + (in_use > 3u * class->objects / 4) : 0;
	return in_use ? (uint8_t)(100 * in_use / class->objects / 10 + 1) : 0;
}

static enum zr_err make_groups(struct zs_pool *pool)
{
	void *groups;
	enum zr_err err;

	for (int i = 0; i < ZS_CLASSES; i++) {
		pool->classes[i].first_group = pool->n_groups;
		pool->n_groups += pool->classes[i].objects + 1u;
	}
	err = pages_new(pool->n_groups, sizeof(*pool->groups), "the pool's groups", &groups);
	if (err)
		return err;
	pool->groups = groups;
	for (int i = 0; i < ZS_CLASSES; i++)
		for (uint32_t n = 0; n <= pool->classes[i].objects; n++)
			pool->groups[pool->classes[i].first_group + n] =
				group_by_use(pool, &pool->classes[i], n);
	return ZR_OK;
}

enum zr_err zs_pool_init(struct zs_pool *pool, uint32_t page_size, enum zs_chain chain,
			 uint32_t objects_max)
{
	void *zspages;
	enum zr_err err;

	memset(pool, 0, sizeof(*pool));
	pool->page_size = page_size;
	pool->chain = chain;
	pool->class_shift = (uint32_t)__builtin_ctz(page_size / 256);
	pool->capacity = objects_max + 1;
	pool->used = 1;
	err = pages_new(pool->capacity, sizeof(struct zs_page), "the pool's zspages", &zspages);
	if (err)
		return err;
	pool->zspages = zspages;
	make_classes(pool);
	return make_groups(pool);
}

void zs_pool_fini(struct zs_pool *pool)
{
	pages_free(pool->zspages, pool->capacity, sizeof(struct zs_page));
	pages_free(pool->groups, pool->n_groups, sizeof(*pool->groups));
	pool->zspages = NULL;
	pool->groups = NULL;
}

const struct zs_class *zs_class_of(const struct zs_pool *pool, uint32_t len)
{
	return &pool->classes[pool->merged[class_index(pool, len)]];
}

static uint8_t group_of(const struct zs_pool *pool, const struct zs_class *class, uint32_t in_use)
{
	return pool->groups[class->first_group + in_use];
}

static void unlink_zspage(struct zs_pool *pool, struct zs_class *class, uint32_t id)
{
	struct zs_page *zspage = &pool->zspages[id];

	if (zspage->prev)
		pool->zspages[zspage->prev].next = zspage->next;
	else
		class->head[zspage->group] = zspage->next;
	if (zspage->next)
		pool->zspages[zspage->next].prev = zspage->prev;
	if (!class->head[zspage->group])
		class->with_room &= ~(1u << zspage->group);
}

static void link_zspage(struct zs_pool *pool, struct zs_class *class, uint32_t id)
{
	struct zs_page *zspage = &pool->zspages[id];
	uint32_t head = class->head[zspage->group], next = head;

	zspage->prev = 0;
	if (pool->chain == ZS_CHAIN_4 && head && zspage->in_use < pool->zspages[head].in_use) {
		zspage->prev = head;
		next = pool->zspages[head].next;
		pool->zspages[head].next = id;
	} else {
		class->head[zspage->group] = id;
	}
	zspage->next = next;
	if (next)
		pool->zspages[next].prev = id;
	class->with_room |= (1u << zspage->group) & ~(1u << ZS_GROUP_FULL);
}

static void regroup(struct zs_pool *pool, struct zs_class *class, uint32_t id)
{
	struct zs_page *zspage = &pool->zspages[id];
	uint8_t group = group_of(pool, class, zspage->in_use);

	if (group == zspage->group)
		return;
	unlink_zspage(pool, class, id);
	zspage->group = group;
	link_zspage(pool, class, id);
}

static uint32_t new_zspage(struct zs_pool *pool, uint8_t class_id)
{
	struct zs_class *class = &pool->classes[class_id];
	uint32_t id = pool->free;
	struct zs_page *zspage;

	if (id) {
		pool->free = pool->zspages[id].next;
	} else {
		assert(pool->used < pool->capacity);
		id = pool->used++;
	}
	zspage = &pool->zspages[id];
	zspage->in_use = 1;
	zspage->class = class_id;
	zspage->group = group_of(pool, class, 1);
	link_zspage(pool, class, id);
	pool->pages += class->pages;
	return id;
}

uint32_t zs_alloc(struct zs_pool *pool, uint32_t len)
{
	uint8_t class_id = pool->merged[class_index(pool, len)];
	struct zs_class *class = &pool->classes[class_id];

	pool->objects++;
	if (class->with_room) {
		uint32_t id = class->head[31 - __builtin_clz(class->with_room)];

		pool->zspages[id].in_use++;
		regroup(pool, class, id);
		return id;
	}
	return new_zspage(pool, class_id);
}

void zs_free(struct zs_pool *pool, uint32_t id)
{
	struct zs_page *zspage = &pool->zspages[id];
	struct zs_class *class = &pool->classes[zspage->class];

	pool->objects--;
	if (--zspage->in_use) {
		regroup(pool, class, id);
		return;
	}
	unlink_zspage(pool, class, id);
	pool->pages -= class->pages;
	zspage->next = pool->free;
	pool->free = id;
}

/* A record is filled when it is used for the first time. */
void zs_pool_regions(const struct zs_pool *pool, struct regions *regions)
{
	regions_add(regions, pool->zspages, pool->used * sizeof(*pool->zspages));
}
