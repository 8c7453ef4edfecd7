/* SPDX-License-Identifier: MIT */
/*
 * Dense ids: the first key seen becomes 1, the next 2, and so on; 0 means none. Open addressing over
 * (key, id) with linear probing, at most half full. Nothing is ever removed, so the memory is bounded by
 * `max` ids of 32 bytes.
 */
#ifndef RECORDER_IDS_H
#define RECORDER_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct rec_ids {
	struct rec_id_slot {
		uint64_t key;
		uint32_t id; /* 0 = empty */
	} *slots;
	uint32_t size; /* a power of two */
	uint32_t n;
	uint32_t max;
};

[[nodiscard]] bool rec_ids_init(struct rec_ids *ids, uint32_t max);
void rec_ids_fini(struct rec_ids *ids);

/* The id of a key, given out now if the key is new (*fresh). 0 when `max` are given out or memory is
 * short. */
uint32_t rec_ids_of(struct rec_ids *ids, uint64_t key, bool *fresh);

#endif
