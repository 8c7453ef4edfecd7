/* SPDX-License-Identifier: MIT */
/*
 * Tests of the choice of probes, and of the reading of types below it: kernels made up here, as a symbol
 * list and a BTF file each, with offsets that no real kernel has.
 */
#include "recorder/probes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/test_kernel.h"

struct rig {
	char dir[64], types[96], symbols[96];
	struct rec_btf *btf;
	struct rec_probes probes;
};

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


static enum zr_err choose(struct rig *rig, const char *names)
{
	make_symbols(rig->symbols, names);
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

	assert_int_equal(choose(&rig, FUNCTIONS_6_12), ZR_OK);
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

	assert_int_equal(choose(&rig, FUNCTIONS_7_3), ZR_OK);
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

static void kernel_6_1_gets_its_own_functions_and_meanings([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_1);

	assert_int_equal(choose(&rig, FUNCTIONS_6_1), ZR_OK);
	expect_probe(&rig, "out", "swap_writepage",
		     "swp=+48($arg1):x64 flags=+8($arg1):u32 flags1=+88($arg1):u8 "
		     "memcg=+24($arg1):x64 cg=+104(+400(+40(+24($arg1)))):u64");
	expect_probe(&rig, "store_ret", "zswap_frontswap_store", "ret=$retval:s32");
	assert_null(probe(&rig, "store_ret")->filter);
	expect_probe(&rig, "load_ret", "zswap_frontswap_load", "ret=$retval:s32");
	expect_probe(&rig, "len", "zpool_malloc", "len=$arg2:u32 evictable=+24($arg1):u8");
	expect_probe(&rig, "free", "swap_range_free",
		     "swp_type=+56($arg1):u8 offset=$arg2:u64 nr=$arg3:u32");
	expect_probe(&rig, "wb", "zswap_writeback_entry", "swp=+0($arg2):x64");
	expect_probe(&rig, "write", "__swap_writepage", "swp=+48($arg1):x64");
	expect_probe(&rig, "read", "swap_readpage", probe(&rig, "out")->args);
	assert_true(rig.probes.store_ret_is_errno && rig.probes.load_ret_is_errno);
	assert_true(rig.probes.no_zeros);
	assert_false(rig.probes.store_ret_of_failures);
	assert_false(rig.probes.wb_ret_is_lru_status);
	assert_true(rig.probes.has_kprobes);
	assert_false(rig.probes.has_fprobes);
	/* It has no dynamic shrinker, so nothing of that is missing. */
	assert_string_equal(rig.probes.missing, "");
	close_rig(&rig);
}

static void kernel_between_has_stores_without_objects([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_1);

	/* No frontswap any more, and no map of zeros yet. */
	make_symbols(rig.symbols, "zswap_store");
	assert_int_equal(rec_probes_survey(rig.symbols, rig.btf, false, &rig.probes), ZR_OK);
	expect_probe(&rig, "store_ret", "zswap_store", "ret=$retval:u8");
	assert_null(probe(&rig, "store_ret")->filter);
	assert_false(rig.probes.store_ret_is_errno);
	assert_true(rig.probes.no_zeros);
	close_rig(&rig);
}

static const struct rec_probe_gap *gap(const struct rig *rig, const char *event)
{
	for (uint32_t i = 0; i < rig->probes.n_gaps; i++)
		if (strcmp(rig->probes.gaps[i].event, event) == 0)
			return &rig->probes.gaps[i];
	return NULL;
}

static void printed_probes_say_what_the_recorder_knows([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V7_3);

	make_symbols(rig.symbols, FUNCTIONS_7_3);
	assert_int_equal(rec_probes_survey(rig.symbols, rig.btf, true, &rig.probes), ZR_OK);
	expect_probe(&rig, "store_ret", "zswap_store", "ret=$retval:u8 how=\\1:u8");
	expect_probe(&rig, "load_ret", "zswap_load", "ret=$retval:s32 how=\\2:u8");
	expect_probe(&rig, "wb_ret", "shrink_memcg_cb", "ret=$retval:s32 how=\\3:u8");
	expect_probe(&rig, "load", "zswap_load", "swp=+48($arg1):x64");
	assert_non_null(strstr(probe(&rig, "out")->args, " head=\\11:u8"));
	/* A definition cannot carry a filter; an import knows what ours would have left out. */
	for (uint32_t i = 0; i < rig.probes.n; i++)
		assert_null(rig.probes.probe[i].filter);
	expect_probe(&rig, "len_none", "scomp_acomp_compress", "len=$retval:u32");
	close_rig(&rig);
}

static void kernel_without_types_keeps_what_needs_none([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);

	make_symbols(rig.symbols, FUNCTIONS_6_12);
	assert_int_equal(rec_probes_survey(rig.symbols, NULL, false, &rig.probes), ZR_OK);
	assert_null(probe(&rig, "out"));
	expect_probe(&rig, "free", "zswap_invalidate", "swp=$arg1:x64");
	assert_true(gap(&rig, "out")->vital);
	assert_non_null(strstr(gap(&rig, "out")->why, "without BTF"));
	assert_false(gap(&rig, "wb")->vital);
	close_rig(&rig);
}

static void kernel_without_the_functions_is_told_what_and_why([[maybe_unused]] void **state)
{
	struct rig rig = open_rig(V6_12);

	assert_int_equal(choose(&rig, "swap_writepage shrink_slab"), ZR_UNSUPPORTED);
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
				      "shrink_memcg swapin_readahead swap_entry_range_free "
				      "scomp_acomp_compress"),
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
	assert_int_equal(choose(&rig, FUNCTIONS_7_3), ZR_UNSUPPORTED);
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
	make_symbols(rig.symbols, "not a BTF file");
	assert_int_equal(rec_btf_open(rig.symbols, &btf), ZR_UNSUPPORTED);
	zr_error_clear();
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_6_12_gets_its_probes_with_its_own_offsets),
		cmocka_unit_test(kernel_7_3_gets_the_folio_where_its_functions_have_it),
		cmocka_unit_test(kernel_6_1_gets_its_own_functions_and_meanings),
		cmocka_unit_test(kernel_between_has_stores_without_objects),
		cmocka_unit_test(printed_probes_say_what_the_recorder_knows),
		cmocka_unit_test(kernel_without_types_keeps_what_needs_none),
		cmocka_unit_test(kernel_without_the_functions_is_told_what_and_why),
		cmocka_unit_test(hidden_function_is_named_as_it_is_hidden),
		cmocka_unit_test(missing_extra_costs_its_figures_only),
		cmocka_unit_test(type_without_the_member_is_told),
		cmocka_unit_test(unreadable_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
