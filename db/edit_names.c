/* SPDX-License-Identifier: MIT */
/* Names to numbers; see edit_names.h. */
#include "db/edit_names.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 };

void db_names_fini(struct db_names *names)
{
	free(names->slots);
	zr_arena_fini(&names->arena);
	*names = (struct db_names){ 0 };
}

/* FNV-1a, 64 bits: offset basis and prime as its authors give them. */
static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* The slot that holds the text, or the empty one where it belongs. */
static struct db_name *find(const struct db_names *names, const char *text)
{
	uint32_t at = (uint32_t)hash(text) & (names->size - 1);

	while (names->slots[at].text && strcmp(names->slots[at].text, text) != 0)
		at = (at + 1) & (names->size - 1);
	return &names->slots[at];
}

static bool grow(struct db_names *names)
{
	struct db_names larger = { .size = names->size ? names->size * 2 : FIRST_SIZE };

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < names->size; i++)
		if (names->slots[i].text)
			*find(&larger, names->slots[i].text) = names->slots[i];
	free(names->slots);
	names->slots = larger.slots;
	names->size = larger.size;
	return true;
}

enum zr_err db_names_get(struct db_names *names, const char *text, uint32_t value, bool *fresh,
			 uint32_t *out)
{
	struct db_name *name;

	if (names->n >= names->size / 2 && !grow(names))
		return zr_fail(ZR_NOMEM, "no memory for %u names", names->n);
	name = find(names, text);
	*fresh = !name->text;
	if (*fresh) {
		name->text = zr_arena_text(&names->arena, text);
		if (!name->text)
			return zr_fail(ZR_NOMEM, "no memory for %u names", names->n);
		name->value = value;
		names->n++;
	}
	*out = name->value;
	return ZR_OK;
}

const uint32_t *db_names_find(const struct db_names *names, const char *text)
{
	const struct db_name *name = names->size ? find(names, text) : NULL;

	return name && name->text ? &name->value : NULL;
}
