/* SPDX-License-Identifier: MIT */
/*
 * Puts records in order of time, when a later one may only be so late: a binary heap with a limit. perf
 * writes the rings of the CPUs one after the other and marks each round; what came up to the end of the
 * round before last is final.
 *
 * Equal times keep the order in which they came. Cost: 64 bytes a waiting record, at most REC_SORT_MAX; a full
 * heap gives up its earliest.
 */
#ifndef RECORDER_IMPORT_SORT_H
#define RECORDER_IMPORT_SORT_H

#include "db/base/err.h"
#include "recorder/raw.h"

enum { REC_SORT_MAX = 1 << 20 };

struct rec_sort {
	struct rec_sort_item {
		struct rec_raw raw;
		uint64_t number;
	} *items;
	uint32_t n, room;
	uint64_t number;	 /* of the next to come */
	uint64_t latest_ns;	 /* of all that came */
	uint64_t final_ns;	 /* `latest_ns` at the end of the last round */
	enum zr_err (*fn)(void *arg, const struct rec_raw *raw);
	void *arg;
};

/* The caller fills `fn` and `arg`; the rest is zero. */
void rec_sort_fini(struct rec_sort *sort);
enum zr_err rec_sort_add(struct rec_sort *sort, const struct rec_raw *raw);

/* The end of a round: lets go what cannot be overtaken any more. */
enum zr_err rec_sort_round(struct rec_sort *sort);

/* Lets all go. */
enum zr_err rec_sort_finish(struct rec_sort *sort);

#endif
