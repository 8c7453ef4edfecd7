/* SPDX-License-Identifier: MIT */
/* Dense ids; see ids.h. */
#include "recorder/ids.h"

#include <stdlib.h>

enum { FIRST_SIZE = 256 };

bool rec_ids_init(struct rec_ids *ids, uint32_t max)
{
	*ids = (struct rec_ids){ .size = FIRST_SIZE, .max = max };
	ids->slots = calloc(FIRST_SIZE, sizeof(*ids->slots));
	return ids->slots;
}

void rec_ids_fini(struct rec_ids *ids)
{
	free(ids->slots);
	ids->slots = NULL;
}

/* The slot of a key, or the empty one where it would go. */
static struct rec_id_slot *slot_of(struct rec_id_slot *slots, uint32_t size, uint64_t key)
{
	/* Fibonacci hashing: thread ids and kernfs ids are small and dense, pointers aligned. */
	uint32_t at = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (size - 1);

	while (slots[at].id && slots[at].key != key)
		at = (at + 1) & (size - 1);
	return &slots[at];
}

static bool grow(struct rec_ids *ids)
{
	uint32_t size = ids->size * 2;
	struct rec_id_slot *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < ids->size; i++)
		if (ids->slots[i].id)
			*slot_of(slots, size, ids->slots[i].key) = ids->slots[i];
	free(ids->slots);
	ids->slots = slots;
	ids->size = size;
	return true;
}

uint32_t rec_ids_of(struct rec_ids *ids, uint64_t key, bool *fresh)
{
	struct rec_id_slot *slot = slot_of(ids->slots, ids->size, key);

	*fresh = false;
	if (slot->id)
		return slot->id;
	if (ids->n >= ids->max)
		return 0;
	if (ids->n >= ids->size / 2) {
		if (!grow(ids))
			return 0;
		slot = slot_of(ids->slots, ids->size, key);
	}
	*slot = (struct rec_id_slot){ .key = key, .id = ++ids->n };
	*fresh = true;
	return slot->id;
}
