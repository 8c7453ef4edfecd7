/* SPDX-License-Identifier: MIT */
/*
 * An arena: memory that belongs to one run and is freed whole.
 *
 * Blocks grow by doubling (64 KiB to 4 MiB); a request larger than a block gets one of its own. The
 * memory is zeroed. There is no free of a single piece. Cost: 16 bytes a block, no header a piece.
 */
#ifndef ZR_BASE_ARENA_H
#define ZR_BASE_ARENA_H

#include <stddef.h>

struct zr_arena_block;

struct zr_arena {
	struct zr_arena_block *blocks; /* newest first */
	size_t used, size;	       /* bytes of the newest block */
};

/* Caller's storage; an all-zero arena is ready to use too. */
void zr_arena_init(struct zr_arena *arena);
void zr_arena_fini(struct zr_arena *arena);

/* Zeroed memory, aligned to 16 bytes; NULL when the machine has no more. */
[[nodiscard]] void *zr_arena_alloc(struct zr_arena *arena, size_t bytes);

/* `count` objects of `size` bytes; NULL on overflow too. */
[[nodiscard]] void *zr_arena_array(struct zr_arena *arena, size_t count, size_t size);

/* A copy of the text; NULL for NULL. */
[[nodiscard]] char *zr_arena_text(struct zr_arena *arena, const char *text);

#endif
