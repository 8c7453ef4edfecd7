/* SPDX-License-Identifier: MIT */
/*
 * A crew: threads that do many independent pieces of work at once, again and again. Which thread does which
 * piece is left to chance, so a piece must touch nothing that another one does.
 *
 * Work is announced by a new round number under a lock; pieces are then taken from one counter. The caller
 * works along and returns when all pieces of the round are done. Cost: one wake-up a thread and round.
 */
#ifndef REPLAYER_CREW_H
#define REPLAYER_CREW_H

#include <stdint.h>

#include "db/base/err.h"

enum { CREW_MAX = 256 };

struct crew;

/* `threads` in all, the caller being one of them; `work` does piece `i` of a round. */
enum zr_err crew_new(uint32_t threads, void (*work)(void *arg, uint32_t i), void *arg,
		     struct crew **out);

/* Does pieces 0..n-1. */
void crew_run(struct crew *crew, uint32_t n);

/* NULL is fine. */
void crew_free(struct crew *crew);

#endif
