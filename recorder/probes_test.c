/* SPDX-License-Identifier: MIT */
/*
 * Tests of the choice of probes, and of the reading of types below it: kernels made up here, as a symbol
 * list and a BTF file each, with offsets that no real kernel has.
 */
#include "recorder/probes.h"

#include <bpf/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct rig {
	char dir[64], types[96], symbols[96];
	struct rec_btf *btf;
	struct rec_probes probes;
};

/* ---------------------------------------------------------------------------------- a kernel's types */

enum version { V6_12, V7_3 };

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
static int add_folio(struct btf *btf, int u64, int pointer)
{
	int inner = added(btf__add_struct(btf, NULL, 64)), all, folio;

	field(btf, "flags", u64, 8);
	field(btf, "memcg_data", pointer, 24);
	field(btf, "swap", u64, 48);
	all = added(btf__add_union(btf, NULL, 64));
	field(btf, "", inner, 0);
	folio = added(btf__add_struct(btf, "folio", 128));
	field(btf, "", all, 0);
	field(btf, "_flags_1", u64, 72);
	return folio;
}

static void add_structures(struct btf *btf, int u64, int pointer)
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
	folio = add_folio(btf, u64, other);
	page = added(btf__add_struct(btf, "page", 64));
	field(btf, "flags", u64, 0);
	to_folio = added(btf__add_ptr(btf, folio));
	to_const_page = added(btf__add_ptr(btf, added(btf__add_const(btf, page))));
	add_structures(btf, u64, other);
	if (version == V6_12) {
		function(btf, "swap_writepage", s32, (int[]){ to_const_page, other }, 2);
		function(btf, "swap_read_folio", 0, (int[]){ to_folio, other }, 2);
		function(btf, "zswap_load", boolean, (int[]){ to_folio }, 1);
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

static struct rig open_rig(enum version version)
{
	struct rig rig = { .dir = "/tmp/zreel-probes-XXXXXX" };

	assert_non_null(mkdtemp(rig.dir));
	snprintf(rig.types, sizeof(rig.types), "%s/btf", rig.dir);
	snprintf(rig.symbols, sizeof(rig.symbols), "%s/kallsyms", rig.dir);
	make_types(rig.types, version);
	assert_int_equal(rec_btf_open(rig.types, &rig.btf), ZR_OK);
	return rig;
}

static void close_rig(struct rig *rig)
{
	rec_btf_close(rig->btf);
	unlink(rig->types);
	unlink(rig->symbols);
	assert_int_equal(rmdir(rig->dir), 0);
}

/* ------------------------------------------------------------------------------------ symbol lists */

#define COMMON                                                                                     \
	"zswap_store zswap_load zswap_invalidate zs_malloc swap_read_folio swapin_readahead "      \
	"shrink_worker shrink_memcg shrink_memcg_cb zswap_shrinker_count zswap_shrinker_scan "     \
	"shrink_slab "

static const char kernel_6_12[] = COMMON "swap_writepage zswap_writeback_entry "
					 "swap_entry_range_free swap_writepage_fs";
static const char kernel_7_3[] = COMMON "swap_writeout swap_write_submit swap_entry_range_free";
static const char kernel_6_1[] = "zswap_frontswap_store zswap_frontswap_load swap_writepage "
				 "swap_readpage shrink_slab shrink_worker zpool_malloc";

static void write_symbols(const struct rig *rig, const char *names)
{
	char *copy = strdup(names), *save;
	FILE *file = fopen(rig->symbols, "w");

	assert_non_null(file);
	/* Data of the same name must not be taken for a function. */
	fprintf(file, "ffffffff82000000 d swapin_readahead_data\nffffffff82000000 D out\n");
	for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save))
		fprintf(file, "ffffffff81000000 %c %s%s\n", name[0] == 'z' ? 't' : 'T', name,
			strcmp(name, "zs_malloc") == 0 ? "\t[zsmalloc]" : "");
	assert_int_equal(fclose(file), 0);
	free(copy);
}

static enum zr_err choose(struct rig *rig, const char *names)
{
	write_symbols(rig, names);
	return rec_probes_choose(rig->symbols, rig->btf, &rig->probes);
}

static const struct rec_probe *probe(const struct rig *rig, const char *event)
{
	for (uint32_t i = 0; i < rig->probes.n; i++)
		if (strcmp(rig->probes.probe[i].event, event) == 0)
			return &rig->probes.probe[i];
	return NULL;
}

static void expect_probe(const struct rig *rig, const char *event, const char *on, const char *args)
{
	const struct rec_probe *found = probe(rig, event);

	if (!found)
		fail_msg("no probe %s", event);
	assert_string_equal(found->function, on);
	assert_string_equal(found->args, args);
}

static void expect_error(const char *word)
{
	if (!strstr(zr_error_text(), word))
		fail_msg("the message does not tell of %s: %s", word, zr_error_text());
}

/* -------------------------------------------------------------------------------------------- claims */

static void kernel_6_12_gets_its_probes_with_its_own_offsets([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);

	assert_int_equal(choose(&rig, kernel_6_12), ZR_OK);
	expect_probe(&rig, "out", "swap_writepage",
		     "swp=+48($arg1):x64 flags=+8($arg1):u32 flags1=+72($arg1):u8 "
		     "memcg=+24($arg1):x64 cg=+104(+400(+40(+24($arg1)))):u64");
	expect_probe(&rig, "load_ret", "zswap_load", "ret=$retval:u8");
	expect_probe(&rig, "wb", "zswap_writeback_entry",
		     "swp=$arg2:x64 len=+16($arg1):u32 memcg=+56($arg1):x64 "
		     "cg=+104(+400(+40(+24(+56($arg1))))):u64");
	expect_probe(&rig, "scan", "zswap_shrinker_scan",
		     "nr=+16($arg2):u64 memcg=+56($arg2):x64 "
		     "cg=+104(+400(+40(+56($arg2)))):u64");
	expect_probe(&rig, "free_large", "swap_entry_range_free", "swp=$arg2:x64 nr=$arg3:u32");
	assert_true(probe(&rig, "out_ret")->at_return);
	assert_string_equal(probe(&rig, "store_ret")->filter, "ret == 0");
	assert_int_equal(rig.probes.layout.head_bit, 11);
	assert_false(rig.probes.load_ret_is_errno);
	assert_false(rig.probes.wb_ret_is_lru_status);
	assert_false(rig.probes.stores_large);
	assert_string_equal(rig.probes.missing, "");
	close_rig(&rig);
}

static void kernel_7_3_gets_the_folio_where_its_functions_have_it([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V7_3);

	assert_int_equal(choose(&rig, kernel_7_3), ZR_OK);
	expect_probe(&rig, "out", "swap_writeout",
		     "swp=+48($arg2):x64 flags=+8($arg2):u32 flags1=+72($arg2):u8 "
		     "memcg=+24($arg2):x64 cg=+104(+400(+40(+24(+24($arg2))))):u64");
	expect_probe(&rig, "load_ret", "zswap_load", "ret=$retval:s32");
	expect_probe(&rig, "wb", "shrink_memcg_cb",
		     "swp=-32($arg1):x64 len=-24($arg1):u32 memcg=+16($arg1):x64 "
		     "cg=+104(+400(+40(+24(+16($arg1))))):u64");
	assert_null(probe(&rig, "free_large"));
	assert_true(rig.probes.load_ret_is_errno);
	assert_true(rig.probes.wb_ret_is_lru_status);
	assert_true(rig.probes.stores_large);
	assert_string_equal(rig.probes.missing, "");
	close_rig(&rig);
}

static void kernel_without_the_functions_is_told_what_and_why([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);

	assert_int_equal(choose(&rig, kernel_6_1), ZR_UNSUPPORTED);
	expect_error("zswap_store");
	expect_error("swap_read_folio");
	expect_error("refaults cannot be recorded");
	zr_error_clear();
	close_rig(&rig);
}

static void hidden_function_is_named_as_it_is_hidden([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);

	assert_int_equal(choose(&rig, COMMON "swap_writepage.isra.0 zswap_writeback_entry"),
			 ZR_UNSUPPORTED);
	expect_error("no swap_writepage (only swap_writepage.isra.0)");
	expect_error("no swap_writeout");
	expect_error("swap-outs cannot be recorded");
	zr_error_clear();
	close_rig(&rig);
}

static void missing_extra_costs_its_figures_only([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);

	assert_int_equal(choose(&rig, "zswap_store zswap_load zswap_invalidate zs_malloc "
				      "swap_read_folio swap_writepage shrink_memcg_cb.cold "
				      "zswap_shrinker_count zswap_shrinker_scan shrink_slab "
				      "shrink_memcg swapin_readahead swap_entry_range_free"),
			 ZR_OK);
	assert_null(probe(&rig, "wb"));
	assert_null(probe(&rig, "worker"));
	assert_non_null(strstr(rig.probes.missing, "no shrink_worker"));
	assert_non_null(strstr(rig.probes.missing, "shrink_worker_wakeups"));
	assert_non_null(strstr(rig.probes.missing, "only shrink_memcg_cb.cold"));
	assert_non_null(strstr(rig.probes.missing, "zswpwb"));
	close_rig(&rig);
}

static void type_without_the_member_is_told([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);
	int32_t bytes;

	/* The folio is not where 7.3's function is said to have it. */
	assert_int_equal(choose(&rig, kernel_7_3), ZR_UNSUPPORTED);
	expect_error("no swap_writeout as expected");
	zr_error_clear();
	assert_true(rec_btf_offset(rig.btf, "mem_cgroup.css.cgroup", &bytes));
	assert_int_equal(bytes, 40);
	assert_false(rec_btf_offset(rig.btf, "folio.nothing", &bytes));
	assert_false(rec_btf_offset(rig.btf, "nothing.swap", &bytes));
	assert_false(rec_btf_offset(rig.btf, "folio.swap.val", &bytes));
	assert_false(rec_btf_offset(rig.btf, "folio..swap", &bytes));
	assert_false(rec_btf_offset(rig.btf, "", &bytes));
	assert_int_equal(rec_btf_enumerator(rig.btf, "pageflags", "PG_nothing"), -1);
	assert_int_equal(rec_btf_folio_argument(rig.btf, "nothing"), 0);
	close_rig(&rig);
}

static void unreadable_files_are_named([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);
	struct rec_btf *btf;

	assert_int_equal(rec_probes_choose("/nowhere/kallsyms", rig.btf, &rig.probes),
			 ZR_NOT_FOUND);
	expect_error("/nowhere/kallsyms");
	zr_error_clear();
	assert_int_equal(rec_btf_open("/nowhere/btf", &btf), ZR_UNSUPPORTED);
	expect_error("/nowhere/btf");
	zr_error_clear();
	write_symbols(&rig, "not a BTF file");
	assert_int_equal(rec_btf_open(rig.symbols, &btf), ZR_UNSUPPORTED);
	zr_error_clear();
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_6_12_gets_its_probes_with_its_own_offsets),
		cmocka_unit_test(kernel_7_3_gets_the_folio_where_its_functions_have_it),
		cmocka_unit_test(kernel_without_the_functions_is_told_what_and_why),
		cmocka_unit_test(hidden_function_is_named_as_it_is_hidden),
		cmocka_unit_test(missing_extra_costs_its_figures_only),
		cmocka_unit_test(type_without_the_member_is_told),
		cmocka_unit_test(unreadable_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
