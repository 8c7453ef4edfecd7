/* SPDX-License-Identifier: MIT */
/* The kernel's description of its types; see btf.h. */
#include "recorder/btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, MAX_NESTING = 8 };

struct rec_btf {
	struct btf *btf;
};

enum zr_err rec_btf_open(const char *path, struct rec_btf **out)
{
	struct rec_btf *btf = calloc(1, sizeof(*btf));
	libbpf_print_fn_t print;

	if (!btf)
		return zr_fail(ZR_NOMEM, "no memory for the kernel's types");
	print = libbpf_set_print(NULL); /* what it would print is in errno too */
	btf->btf = btf__parse(path, NULL);
	libbpf_set_print(print);
	if (!btf->btf) {
		int err = errno;

		free(btf);
		return zr_fail(err == EACCES || err == EPERM ? ZR_PERM : ZR_UNSUPPORTED,
			       "reading the kernel's type information %s: %s; the recorder needs a "
			       "kernel built with CONFIG_DEBUG_INFO_BTF",
			       path, strerror(err));
	}
	*out = btf;
	return ZR_OK;
}

void rec_btf_close(struct rec_btf *btf)
{
	if (!btf)
		return;
	btf__free(btf->btf);
	free(btf);
}

/* The type behind typedefs, const and the like. */
static const struct btf_type *bare(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

/* Finds a member by name, also inside unnamed members; its offset is added to *bits. */
static const struct btf_type *member(const struct btf *btf, const struct btf_type *in,
				     const char *name, uint32_t *bits, int nesting)
{
	const struct btf_member *members = btf_members(in);

	for (int i = 0; i < btf_vlen(in); i++) {
		const char *its_name = btf__name_by_offset(btf, members[i].name_off);
		const struct btf_type *type = bare(btf, members[i].type);
		uint32_t inner = *bits + btf_member_bit_offset(in, (uint32_t)i);

		if (!type)
			continue;
		if (strcmp(its_name, name) == 0) {
			*bits = inner;
			return type;
		}
		if (*its_name || !btf_is_composite(type) || nesting == 0)
			continue;
		type = member(btf, type, name, &inner, nesting - 1);
		if (type) {
			*bits = inner;
			return type;
		}
	}
	return NULL;
}

/* The next piece of a dotted path; NULL at the end. */
static const char *piece(const char *path, char name[NAME_BYTES])
{
	size_t n = strcspn(path, ".");

	if (!n || n >= NAME_BYTES)
		return NULL;
	memcpy(name, path, n);
	name[n] = '\0';
	return path + n + (path[n] == '.');
}

bool rec_btf_offset(const struct rec_btf *btf, const char *path, int32_t *bytes)
{
	const struct btf_type *type;
	char name[NAME_BYTES];
	uint32_t bits = 0;
	int32_t id;

	path = piece(path, name);
	id = path && btf ? btf__find_by_name_kind(btf->btf, name, BTF_KIND_STRUCT) : -1;
	if (id < 0)
		return false;
	type = btf__type_by_id(btf->btf, (uint32_t)id);
	while (*path) {
		path = piece(path, name);
		if (!path || !btf_is_composite(type))
			return false;
		type = member(btf->btf, type, name, &bits, MAX_NESTING);
		if (!type)
			return false;
	}
	*bytes = (int32_t)(bits / 8);
	return bits % 8 == 0;
}

static const struct btf_type *prototype(const struct rec_btf *btf, const char *function)
{
	int32_t id = btf ? btf__find_by_name_kind(btf->btf, function, BTF_KIND_FUNC) : -1;

	return id < 0 ? NULL
		      : btf__type_by_id(btf->btf, btf__type_by_id(btf->btf, (uint32_t)id)->type);
}

static bool points_to(const struct btf *btf, uint32_t id, const char *structure)
{
	const struct btf_type *type = bare(btf, id);

	if (!type || !btf_is_ptr(type))
		return false;
	type = bare(btf, type->type);
	return type && btf_is_struct(type) &&
	       strcmp(btf__name_by_offset(btf, type->name_off), structure) == 0;
}

int rec_btf_folio_argument(const struct rec_btf *btf, const char *function)
{
	const struct btf_type *type = prototype(btf, function);

	for (int i = 0; type && i < btf_vlen(type); i++) {
		uint32_t id = btf_params(type)[i].type;

		if (points_to(btf->btf, id, "folio") || points_to(btf->btf, id, "page"))
			return i + 1;
	}
	return 0;
}

bool rec_btf_returns_bool(const struct rec_btf *btf, const char *function)
{
	const struct btf_type *type = prototype(btf, function);

	type = type ? bare(btf->btf, type->type) : NULL;
	return type && btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_BOOL);
}

int64_t rec_btf_enumerator(const struct rec_btf *btf, const char *enumeration, const char *name)
{
	int32_t id = btf ? btf__find_by_name_kind(btf->btf, enumeration, BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf->btf, (uint32_t)id);

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(btf->btf, btf_enum(type)[i].name_off), name) == 0)
			return (uint32_t)btf_enum(type)[i].val;
	return -1;
}
