/* SPDX-License-Identifier: MIT */
/* The arena of arena.h. */
#include "db/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 64 * 1024, LARGEST_BLOCK = 4 * 1024 * 1024 };

struct zr_arena_block {
	struct zr_arena_block *next;
	size_t pad; /* keeps the data behind it aligned to 16 bytes */
};

void zr_arena_init(struct zr_arena *arena)
{
	*arena = (struct zr_arena){ 0 };
}

void zr_arena_fini(struct zr_arena *arena)
{
	struct zr_arena_block *block = arena->blocks;

	while (block) {
		struct zr_arena_block *next = block->next;

		free(block);
		block = next;
	}
	zr_arena_init(arena);
}

static int add_block(struct zr_arena *arena, size_t bytes)
{
	size_t size = arena->size ? arena->size * 2 : FIRST_BLOCK;
	struct zr_arena_block *block;

	if (size > LARGEST_BLOCK)
		size = LARGEST_BLOCK;
	if (size < bytes)
		size = bytes;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		return -1;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->size = size;
	arena->used = 0;
	return 0;
}

void *zr_arena_alloc(struct zr_arena *arena, size_t bytes)
{
	char *data;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (arena->size - arena->used < bytes && add_block(arena, bytes))
		return NULL;
	data = (char *)(arena->blocks + 1) + arena->used;
	arena->used += bytes;
	return data;
}

void *zr_arena_array(struct zr_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return zr_arena_alloc(arena, bytes);
}

char *zr_arena_text(struct zr_arena *arena, const char *text)
{
	size_t bytes;
	char *copy;

	if (!text)
		return NULL;
	bytes = strlen(text) + 1;
	copy = zr_arena_alloc(arena, bytes);
	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}
