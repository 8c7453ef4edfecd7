/* SPDX-License-Identifier: MIT */
/* What the fold remembers of each swap slot; see slots.h. */
#include "recorder/slots.h"

#include <stdlib.h>
#include <string.h>

struct rec_slot_block {
	uint32_t gaps;
	uint64_t known[REC_SLOT_BLOCK / 64];
	uint16_t owner[REC_SLOT_BLOCK];
};

void rec_slots_fini(struct rec_slots *slots)
{
	for (int area = 0; area < 256; area++) {
		for (uint32_t i = 0; i < slots->areas[area].n_blocks; i++)
			free(slots->areas[area].blocks[i]);
		free(slots->areas[area].blocks);
	}
	*slots = (struct rec_slots){ 0 };
}

void rec_slots_gap(struct rec_slots *slots)
{
	slots->gaps++;
}

static struct rec_slot_block *block_of(const struct rec_slots *slots, uint8_t area, uint32_t slot)
{
	const struct rec_slot_area *in = &slots->areas[area];
	uint32_t at = slot / REC_SLOT_BLOCK;

	return at < in->n_blocks ? in->blocks[at] : NULL;
}

static bool make_room(struct rec_slot_area *in, uint32_t at)
{
	uint32_t n = in->n_blocks ? in->n_blocks : 64;
	struct rec_slot_block **blocks;

	while (n <= at)
		n *= 2;
	blocks = realloc(in->blocks, n * sizeof(struct rec_slot_block *));
	if (!blocks)
		return false;
	memset(blocks + in->n_blocks, 0, (n - in->n_blocks) * sizeof(struct rec_slot_block *));
	in->blocks = blocks;
	in->n_blocks = n;
	return true;
}

static struct rec_slot_block *make_block(struct rec_slots *slots, uint8_t area, uint32_t slot)
{
	struct rec_slot_area *in = &slots->areas[area];
	uint32_t at = slot / REC_SLOT_BLOCK;

	if (slots->blocks >= REC_SLOT_BLOCKS || (at >= in->n_blocks && !make_room(in, at)))
		return NULL;
	in->blocks[at] = calloc(1, sizeof(struct rec_slot_block));
	if (in->blocks[at])
		slots->blocks++;
	return in->blocks[at];
}

static struct rec_slot_block *need_block(struct rec_slots *slots, uint8_t area, uint32_t slot)
{
	struct rec_slot_block *block = block_of(slots, area, slot);

	return block ? block : make_block(slots, area, slot);
}

bool rec_slots_known(struct rec_slots *slots, uint8_t area, uint32_t slot)
{
	const struct rec_slot_block *block = block_of(slots, area, slot);
	uint32_t at = slot % REC_SLOT_BLOCK;

	if (!slots->gaps)
		return true;
	return block && block->gaps == slots->gaps && (block->known[at / 64] >> at % 64 & 1);
}

void rec_slots_set_known(struct rec_slots *slots, uint8_t area, uint32_t slot)
{
	struct rec_slot_block *block;
	uint32_t at = slot % REC_SLOT_BLOCK;

	if (!slots->gaps) /* all are known */
		return;
	block = need_block(slots, area, slot);
	if (!block)
		return;
	if (block->gaps != slots->gaps) {
		memset(block->known, 0, sizeof(block->known));
		block->gaps = slots->gaps;
	}
	block->known[at / 64] |= UINT64_C(1) << at % 64;
}

uint16_t rec_slots_owner(const struct rec_slots *slots, uint8_t area, uint32_t slot)
{
	const struct rec_slot_block *block = block_of(slots, area, slot);

	return block ? block->owner[slot % REC_SLOT_BLOCK] : 0;
}

void rec_slots_set_owner(struct rec_slots *slots, uint8_t area, uint32_t slot, uint16_t owner)
{
	struct rec_slot_block *block = owner ? need_block(slots, area, slot)
					     : block_of(slots, area, slot);

	if (block)
		block->owner[slot % REC_SLOT_BLOCK] = owner;
}
