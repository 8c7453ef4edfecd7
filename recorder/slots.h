/* SPDX-License-Identifier: MIT */
/*
 * What the fold remembers of each swap slot: the cgroup that owns it, and whether its history is known
 * since the last gap.
 *
 * Blocks of 16 Ki slots, made when a slot in them is first touched: owner (2 bytes a slot), a bitmap of
 * known slots, and the number of gaps up to which that bitmap holds. A gap makes everything unknown by
 * counting up; a block notices at its next use. At most REC_SLOT_BLOCKS blocks (142 MB, 256 GiB of swap); a
 * slot beyond them has no owner and is unknown after the first gap.
 */
#ifndef RECORDER_SLOTS_H
#define RECORDER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

enum { REC_SLOT_BLOCK = 16384, REC_SLOT_BLOCKS = 4096 };

struct rec_slot_block;

struct rec_slots {
	struct rec_slot_area {
		struct rec_slot_block **blocks;
		uint32_t n_blocks;
	} areas[256]; /* by dense area id */
	uint32_t blocks; /* made so far */
	uint32_t gaps;
};

/* An all-zero struct is ready to use. */
void rec_slots_fini(struct rec_slots *slots);

/* Every history crosses a gap from here on. */
void rec_slots_gap(struct rec_slots *slots);

/* Is everything that happened to the slot since its last swap-out on record? */
bool rec_slots_known(struct rec_slots *slots, uint8_t area, uint32_t slot);
void rec_slots_set_known(struct rec_slots *slots, uint8_t area, uint32_t slot);

/* 0 = nobody known. */
uint16_t rec_slots_owner(const struct rec_slots *slots, uint8_t area, uint32_t slot);
void rec_slots_set_owner(struct rec_slots *slots, uint8_t area, uint32_t slot, uint16_t owner);

#endif
