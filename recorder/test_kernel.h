/* SPDX-License-Identifier: MIT */
/*
 * For tests: kernels made up, as a symbol list and a BTF file each, with offsets that no real kernel has.
 * To be included after cmocka.h.
 */
#ifndef RECORDER_TEST_KERNEL_H
#define RECORDER_TEST_KERNEL_H

#include <bpf/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------- a kernel's types */

enum version { V6_1, V6_12, V7_3 };

static int added(int id)
{
	assert_true(id > 0);
	return id;
}

static void field(struct btf *btf, const char *name, int type, uint32_t bytes)
{
	assert_int_equal(btf__add_field(btf, name, type, bytes * 8, 0), 0);
}

static void function(struct btf *btf, const char *name, int ret, const int *arguments, int n)
{
	int prototype = added(btf__add_func_proto(btf, ret));

	for (int i = 0; i < n; i++)
		assert_int_equal(btf__add_func_param(btf, "", arguments[i]), 0);
	added(btf__add_func(btf, name, BTF_FUNC_STATIC, prototype));
}

/* folio { struct { flags; union { struct { _flags_1 at 72 } inner; }; memcg_data; swap } } with the members
 * behind unnamed structures, as in the kernel. */
static int add_folio(struct btf *btf, enum version version, int u64, int pointer)
{
	int inner = added(btf__add_struct(btf, NULL, 64)), all, folio;

	field(btf, "flags", u64, 8);
	field(btf, "memcg_data", pointer, 24);
	if (version != V6_1)
		field(btf, "swap", u64, 48);
	all = added(btf__add_union(btf, NULL, 64));
	field(btf, "", inner, 0);
	folio = added(btf__add_struct(btf, "folio", 128));
	field(btf, "", all, 0);
	field(btf, "_flags_1", u64, 72);
	if (version == V6_1)
		field(btf, "_folio_order", u64, 88);
	return folio;
}

static void add_structures(struct btf *btf, enum version version, int u64, int s32, int pointer)
{
	int css = added(btf__add_struct(btf, "cgroup_subsys_state", 16));

	field(btf, "cgroup", pointer, 8);
	added(btf__add_struct(btf, "mem_cgroup", 64));
	field(btf, "css", css, 32);
	added(btf__add_struct(btf, "cgroup", 512));
	field(btf, "kn", pointer, 400);
	added(btf__add_struct(btf, "kernfs_node", 128));
	field(btf, "id", u64, 104);
	added(btf__add_struct(btf, "obj_cgroup", 32));
	field(btf, "memcg", pointer, 24);
	added(btf__add_struct(btf, "zswap_entry", 64));
	field(btf, "swpentry", u64, 8);
	field(btf, "length", u64, 16);
	field(btf, "objcg", pointer, 56);
	field(btf, "lru", u64, 40);
	added(btf__add_struct(btf, "shrink_control", 64));
	field(btf, "nr_to_scan", u64, 16);
	field(btf, "memcg", pointer, 56);
	added(btf__add_struct(btf, "swap_info_struct", 64));
	field(btf, "type", u64, 56);
	if (version == V6_1) {
		added(btf__add_struct(btf, "zpool", 64));
		field(btf, "evictable", u64, 24);
	}
	added(btf__add_struct(btf, "fprobe", 64));
	if (version == V6_12)
		field(btf, "nr_maxactive", s32, 16);
	added(btf__add_enum(btf, "vm_event_item", 4));
	assert_int_equal(btf__add_enum_value(btf, "PSWPIN", 1), 0);
	if (version != V6_1)
		assert_int_equal(btf__add_enum_value(btf, "SWPOUT_ZERO", 2), 0);
	added(btf__add_enum(btf, "pageflags", 4));
	assert_int_equal(btf__add_enum_value(btf, "PG_locked", 0), 0);
	assert_int_equal(btf__add_enum_value(btf, "PG_head", 11), 0);
}

static void make_types(const char *path, enum version version)
{
	struct btf *btf = btf__new_empty();
	int u64, boolean, s32, folio, page, to_folio, to_const_page, other;
	const void *data;
	uint32_t bytes;
	FILE *file;

	assert_non_null(btf);
	u64 = added(btf__add_int(btf, "unsigned long", 8, 0));
	boolean = added(btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL));
	s32 = added(btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	other = added(btf__add_ptr(btf, u64));
	folio = add_folio(btf, version, u64, other);
	page = added(btf__add_struct(btf, "page", 64));
	field(btf, "flags", u64, 0);
	field(btf, "private", u64, 48);
	to_folio = added(btf__add_ptr(btf, folio));
	to_const_page = added(btf__add_ptr(btf, added(btf__add_const(btf, page))));
	add_structures(btf, version, u64, s32, other);
	if (version == V6_1) {
		function(btf, "swap_writepage", s32, (int[]){ to_const_page, other }, 2);
		function(btf, "swap_readpage", s32, (int[]){ to_const_page, boolean }, 2);
		function(btf, "__swap_writepage", s32, (int[]){ to_const_page, other }, 2);
		function(btf, "zswap_frontswap_store", s32, (int[]){ s32, u64, to_const_page }, 3);
		function(btf, "zswap_frontswap_load", s32, (int[]){ s32, u64, to_const_page }, 3);
	} else if (version == V6_12) {
		function(btf, "swap_writepage", s32, (int[]){ to_const_page, other }, 2);
		function(btf, "swap_read_folio", 0, (int[]){ to_folio, other }, 2);
		function(btf, "zswap_load", boolean, (int[]){ to_folio }, 1);
		function(btf, "zswap_store", boolean, (int[]){ to_folio }, 1);
		function(btf, "__swap_writepage", s32, (int[]){ to_folio, other }, 2);
	} else {
		function(btf, "swap_writeout", s32, (int[]){ other, to_folio }, 2);
		function(btf, "swap_read_folio", 0, (int[]){ other, to_folio }, 2);
		function(btf, "zswap_load", s32, (int[]){ to_folio }, 1);
	}
	data = btf__raw_data(btf, &bytes);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
	btf__free(btf);
}

/* ------------------------------------------------------------------------------------ symbol lists */

#define COMMON                                                                                     \
	"zswap_store zswap_load zswap_invalidate zs_malloc swap_read_folio swapin_readahead "      \
	"shrink_worker shrink_memcg shrink_memcg_cb zswap_shrinker_count zswap_shrinker_scan "     \
	"shrink_slab scomp_acomp_compress "

#define FUNCTIONS_6_12                                                                             \
	COMMON "swap_writepage zswap_writeback_entry swap_entry_range_free swap_writepage_fs"
#define FUNCTIONS_7_3 COMMON "swap_writeout swap_write_submit swap_entry_range_free"
#define FUNCTIONS_6_1                                                                              \
	"zswap_frontswap_store zswap_frontswap_load swap_writepage swap_readpage shrink_slab "     \
	"shrink_worker zpool_malloc zpool_shrink swap_range_free zswap_writeback_entry "           \
	"swapin_readahead zs_malloc __swap_writepage trace_kprobe_create"

/* A symbol list with these functions, one word each. */
static void make_symbols(const char *path, const char *names)
{
	char *copy = strdup(names), *save;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	/* Data of the same name must not be taken for a function. */
	fprintf(file, "ffffffff82000000 d swapin_readahead_data\nffffffff82000000 D out\n");
	for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save))
		fprintf(file, "ffffffff81000000 %c %s%s\n", name[0] == 'z' ? 't' : 'T', name,
			strcmp(name, "zs_malloc") == 0 ? "\t[zsmalloc]" : "");
	assert_int_equal(fclose(file), 0);
	free(copy);
}

#endif
