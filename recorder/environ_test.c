/* SPDX-License-Identifier: MIT */
/* Tests of what is read of the machine: files, mounts, cgroups, swap areas, settings, counters; from a tree
 * made here that looks like proc and sysfs. */
#include "recorder/environ.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/trace.h"

struct tree {
	char dir[64];
	struct rec_paths paths;
};

static struct tree open_tree(void)
{
	struct tree tree = { .dir = "/tmp/zreel-environ-XXXXXX" };

	assert_non_null(mkdtemp(tree.dir));
	snprintf(tree.paths.proc, sizeof(tree.paths.proc), "%s/proc", tree.dir);
	snprintf(tree.paths.sys, sizeof(tree.paths.sys), "%s/sys", tree.dir);
	snprintf(tree.paths.cgroup, sizeof(tree.paths.cgroup), "%s/cgroup", tree.dir);
	return tree;
}

static int remove_one(const char *path, [[maybe_unused]] const struct stat *st,
		      [[maybe_unused]] int type, [[maybe_unused]] struct FTW *ftw)
{
	return remove(path);
}

static void close_tree(const struct tree *tree)
{
	assert_int_equal(nftw(tree->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Makes the file and the directories above it. */
static void put(const struct tree *tree, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", tree->dir, name);
	for (char *slash = path + strlen(tree->dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static uint64_t inode(const struct tree *tree, const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", tree->dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* -------------------------------------------------------------------------------------------- files */

static void file_of_any_length_is_read_whole([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();

	for (size_t n = 0; n < 40'000; n = n * 2 + 1) {
		char *text = malloc(n + 1), *got;

		assert_non_null(text);
		memset(text, 'a', n);
		text[n] = '\0';
		put(&tree, "file", text);
		got = rec_file_readf("%s/file", tree.dir);
		assert_non_null(got);
		assert_string_equal(got, text);
		free(got);
		free(text);
	}
	assert_null(zr_text_read("/nowhere"));
	assert_int_equal(errno, ENOENT);
	close_tree(&tree);
}

static void numbers_are_found_by_whole_names([[maybe_unused]] void **state)
{
	static const char text[] = "entries: 7\noverrun: 12\ncommit overrun: 3\n  Tgid:\t42\npswpin 5\n"
				   "pswpin_more 6\n";

	assert_int_equal(rec_text_number(text, "overrun", -1), 12);
	assert_int_equal(rec_text_number(text, "commit overrun", -1), 3);
	assert_int_equal(rec_text_number(text, "Tgid", -1), 42);
	assert_int_equal(rec_text_number(text, "pswpin", -1), 5);
	assert_int_equal(rec_text_number(text, "pswp", -1), -1);
	assert_int_equal(rec_text_number(NULL, "pswp", -1), -1);
}

static void mounts_are_found_by_their_type([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();
	struct rec_paths paths = { 0 };
	char mounts[128];

	put(&tree, "mounts",
	    "proc /proc proc rw 0 0\nnone /sys/fs/cgroup cgroup rw,memory 0 0\n"
	    "cgroup2 /sys/fs/cgroup/with\\040space cgroup2 rw 0 0\n"
	    "tracefs /sys/kernel/tracing tracefs rw 0 0\n"
	    "tracefs /second tracefs rw 0 0\nbroken\n");
	snprintf(mounts, sizeof(mounts), "%s/mounts", tree.dir);
	assert_int_equal(rec_paths_find(mounts, &paths), ZR_OK);
	assert_string_equal(paths.tracefs, "/sys/kernel/tracing");
	assert_string_equal(paths.cgroup, "/sys/fs/cgroup/with space");
	assert_string_equal(paths.proc, "/proc");
	assert_int_equal(rec_paths_find("/nowhere", &paths), ZR_NOT_FOUND);
	zr_error_clear();
	close_tree(&tree);
}

/* ------------------------------------------------------------------------------------------- cgroups */

static void cgroups_are_known_by_inode([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();
	struct rec_cgroups *cgroups;

	put(&tree, "cgroup/job/cgroup.procs", "");
	put(&tree, "cgroup/a/世蓮.slice/cgroup.procs", "");
	assert_int_equal(rec_cgroups_open(tree.paths.cgroup, &cgroups), ZR_OK);
	assert_string_equal(rec_cgroups_path(cgroups, inode(&tree, "cgroup")), "/");
	assert_string_equal(rec_cgroups_path(cgroups, inode(&tree, "cgroup/job")), "/job");
	assert_string_equal(rec_cgroups_path(cgroups, inode(&tree, "cgroup/a/世蓮.slice")),
			    "/a/世蓮.slice");
	/* One that comes later is found when it is asked for; one that never was stays nameless. */
	put(&tree, "cgroup/late/cgroup.procs", "");
	assert_string_equal(rec_cgroups_path(cgroups, inode(&tree, "cgroup/late")), "/late");
	assert_string_equal(rec_cgroups_path(cgroups, UINT64_C(1) << 60), "");
	rec_cgroups_close(cgroups);
	close_tree(&tree);
}

static void watched_is_the_cgroup_and_what_lies_below([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();
	struct rec_cgroups *cgroups;
	char path[512];

	put(&tree, "cgroup/job/below/cgroup.procs", "");
	put(&tree, "cgroup/jobs/cgroup.procs", "");
	put(&tree, "cgroup/other/cgroup.procs", "");
	assert_int_equal(rec_cgroups_open(tree.paths.cgroup, &cgroups), ZR_OK);
	assert_true(rec_cgroups_watched(cgroups, inode(&tree, "cgroup/other")));
	snprintf(path, sizeof(path), "%s/cgroup/job/", tree.dir);
	assert_int_equal(rec_cgroups_watch(cgroups, path), ZR_OK);
	assert_true(rec_cgroups_watched(cgroups, inode(&tree, "cgroup/job")));
	assert_true(rec_cgroups_watched(cgroups, inode(&tree, "cgroup/job/below")));
	assert_false(rec_cgroups_watched(cgroups, inode(&tree, "cgroup/jobs")));
	assert_false(rec_cgroups_watched(cgroups, inode(&tree, "cgroup/other")));
	assert_false(rec_cgroups_watched(cgroups, inode(&tree, "cgroup")));
	assert_int_equal(rec_cgroups_watch(cgroups, "other"), ZR_OK);
	assert_true(rec_cgroups_watched(cgroups, inode(&tree, "cgroup/other")));
	assert_string_equal(rec_cgroups_watched_path(cgroups, 1), "/other");
	assert_int_equal(rec_cgroups_watch(cgroups, "nowhere"), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "nowhere"));
	zr_error_clear();
	rec_cgroups_close(cgroups);
	close_tree(&tree);
}

/* --------------------------------------------------------------------------------------- swap areas */

static void swap_areas_are_read_with_their_places([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();
	struct rec_swap swaps[REC_SWAPS_MAX];
	char text[1024], file[96];
	uint32_t n;

	snprintf(file, sizeof(file), "%s/swap file", tree.dir);
	put(&tree, "swap file", "");
	snprintf(text, sizeof(text),
		 "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
		 "%s/swap\\040file                         file\t\t4092\t\t0\t\t-2\n"
		 "/dev/null                               partition\t1048572\t12\t5\nnonsense\n",
		 tree.dir);
	put(&tree, "proc/swaps", text);
	/* /dev/null is 1:3; here it is the second partition of the disk 1:0. */
	put(&tree, "sys/disk/part/partition", "2\n");
	put(&tree, "sys/disk/part/start", "2048\n");
	put(&tree, "sys/disk/dev", "1:0\n");
	put(&tree, "sys/dev/block/unused", "");
	snprintf(text, sizeof(text), "%s/sys/disk/part", tree.dir);
	snprintf(file, sizeof(file), "%s/sys/dev/block/1:3", tree.dir);
	assert_int_equal(symlink(text, file), 0);
	assert_int_equal(rec_swaps_read(&tree.paths, swaps, &n), ZR_OK);
	assert_int_equal(n, 2);
	assert_true(swaps[0].row.is_file);
	assert_int_equal(swaps[0].row.slots, 1024);
	assert_int_equal(swaps[0].row.priority, -2);
	assert_int_equal(swaps[0].area.sectors_per_slot, 0); /* not linear on the disk */
	assert_non_null(strstr(swaps[0].path, "/swap file"));
	assert_string_equal(swaps[1].path, "/dev/null");
	assert_false(swaps[1].row.is_file);
	assert_int_equal(swaps[1].row.type, 1);
	assert_int_equal(swaps[1].area.slots, 262144);
	assert_int_equal(swaps[1].area.start_sector, 2048);
	assert_int_equal(swaps[1].area.part_dev, 1 << 20 | 3);
	assert_int_equal(swaps[1].area.disk_dev, 1 << 20);
	close_tree(&tree);
}

/* ----------------------------------------------------------------------------- settings and counters */

static struct db *open_db(const struct tree *tree)
{
	char path[128];
	struct db *db;

	snprintf(path, sizeof(path), "%s/t.zr", tree->dir);
	assert_int_equal(db_open(path, DB_CREATE, &db), ZR_OK);
	return db;
}

static void expect_env(struct db *db, const char *key, const char *value)
{
	struct zr_arena arena = { 0 };
	const char *got;

	assert_int_equal(db_env_get(db, REC_HOST, key, &arena, &got), ZR_OK);
	if (!got || strcmp(got, value) != 0)
		fail_msg("%s is %s, not %s", key, got ? got : "missing", value);
	zr_arena_fini(&arena);
}

static void settings_of_the_machine_are_stored([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();
	struct db *db = open_db(&tree);
	struct zr_arena arena = { 0 };
	const char *got;

	put(&tree, "proc/zoneinfo",
	    "Node 0, zone      DMA\n  pages free     3840\n        managed  3840\n"
	    "Node 0, zone   Normal\n        spanned  520000\n        managed  500884\n");
	put(&tree, "sys/module/zswap/parameters/max_pool_percent", "20\n");
	put(&tree, "sys/module/zswap/parameters/shrinker_enabled", "Y\n");
	put(&tree, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	put(&tree, "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "[never]\n");
	put(&tree, "sys/kernel/mm/lru_gen/enabled", "0x0007\n");
	put(&tree, "proc/sys/vm/page-cluster", "3\n");
	assert_int_equal(rec_managed_pages(tree.paths.proc), 504724);
	assert_int_equal(rec_environ_put(db, &tree.paths), ZR_OK);
	expect_env(db, DB_ENV_MEM_PAGES, "504724");
	expect_env(db, "zswap.max_pool_percent", "20");
	expect_env(db, "zswap.shrinker_enabled", "Y");
	expect_env(db, DB_ENV_THP, "always [madvise] never");
	expect_env(db, "thp.64kB", "[never]");
	expect_env(db, DB_ENV_MGLRU, "0x0007");
	expect_env(db, "vm.page_cluster", "3");
	assert_int_equal(db_env_get(db, REC_HOST, "vm.swappiness", &arena, &got), ZR_OK);
	assert_null(got); /* what is not there is left out, not guessed */
	zr_arena_fini(&arena);
	assert_int_equal(db_close(db), ZR_OK);
	close_tree(&tree);
}

static double sample_of(struct db *db, const char *source, const char *name)
{
	const struct db_counter counter = { .host = REC_HOST, .source = source, .name = name };
	struct zr_arena arena = { 0 };
	struct db_sample *samples;
	double value = -1;
	size_t n;

	assert_int_equal(db_samples(db, &counter, &arena, &samples, &n), ZR_OK);
	if (n == 1)
		value = samples[0].value;
	zr_arena_fini(&arena);
	return value;
}

static void counters_are_sampled_with_their_sources([[maybe_unused]] void **state)
{
	struct tree tree = open_tree();
	struct rec_cgroups *cgroups;
	struct db *db;

	put(&tree, "proc/vmstat", "nr_free_pages 1\npswpin 2\nzswpout 3\nzswpwb 4\nswpin_zero 5\n");
	put(&tree, "proc/pressure/io",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\nfull avg10=0.50 total=60\n");
	put(&tree, "sys/kernel/debug/zswap/pool_limit_hit", "8\n");
	put(&tree, "cgroup/job/memory.stat", "anon 9\nfile 10\nslab 11\nzswpwb 12\n");
	put(&tree, "cgroup/job/io.stat", "259:0 rbytes=13 wios=14 cost.wait=15\n");
	db = open_db(&tree);
	assert_int_equal(rec_cgroups_open(tree.paths.cgroup, &cgroups), ZR_OK);
	assert_int_equal(rec_cgroups_watch(cgroups, "job"), ZR_OK);
	assert_int_equal(rec_sample_put(db, &tree.paths, cgroups, 1000), ZR_OK);
	assert_true(sample_of(db, "vmstat", "pswpin") == 2);
	assert_true(sample_of(db, "vmstat", "zswpwb") == 4);
	assert_true(sample_of(db, "vmstat", "swpin_zero") == 5);
	assert_true(sample_of(db, "vmstat", "nr_free_pages") == -1);
	assert_true(sample_of(db, "psi.io", "some.total") == 70);
	assert_true(sample_of(db, "psi.io", "full.avg10") == 0.5);
	assert_true(sample_of(db, "zswap", "pool_limit_hit") == 8);
	assert_true(sample_of(db, "cgroup /job memory.stat", "anon") == 9);
	assert_true(sample_of(db, "cgroup /job memory.stat", "zswpwb") == 12);
	assert_true(sample_of(db, "cgroup /job memory.stat", "slab") == -1);
	assert_true(sample_of(db, "cgroup /job io.stat", "259:0.wios") == 14);
	assert_true(sample_of(db, "cgroup /job io.stat", "259:0.cost.wait") == 15);
	rec_cgroups_close(cgroups);
	assert_int_equal(db_close(db), ZR_OK);
	close_tree(&tree);
}

static struct rec_swap *some_swaps(const uint64_t *used, uint32_t n)
{
	struct rec_swap *swaps = calloc(n, sizeof(*swaps));

	assert_non_null(swaps);
	for (uint32_t i = 0; i < n; i++)
		swaps[i].used_kib = used[i];
	return swaps;
}

static void expect_types(const uint64_t *used, uint32_t n, uint32_t seen, const uint32_t *expected)
{
	struct rec_swap *swaps = some_swaps(used, n);
	uint32_t types[REC_SWAPS_MAX];

	assert_int_equal(rec_swaps_match(swaps, n, seen, types), expected != NULL);
	for (uint32_t i = 0; expected && i < n; i++)
		assert_int_equal(types[i], expected[i]);
	free(swaps);
}

static void types_seen_fall_to_the_areas_in_use([[maybe_unused]] void **state)
{
	static const uint64_t one[] = { 5 }, three[] = { 4, 0, 9 }, none[] = { 0, 0 };

	expect_types(one, 1, 1u << 3, (const uint32_t[]){ 3 });
	expect_types(three, 3, 1u << 1 | 1u << 4, (const uint32_t[]){ 1, 2, 4 });
	expect_types(three, 3, 1u << 0 | 1u << 2 | 1u << 5, (const uint32_t[]){ 0, 2, 5 });
	expect_types(none, 2, 1u << 30 | 1u << 31, (const uint32_t[]){ 30, 31 });
	/* Not as many, or no number left between: nothing is guessed. */
	expect_types(three, 3, 1u << 2, NULL);
	expect_types(three, 3, 1u << 1 | 1u << 2, NULL);
	expect_types(none, 2, 1u << 1, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_of_any_length_is_read_whole),
		cmocka_unit_test(numbers_are_found_by_whole_names),
		cmocka_unit_test(mounts_are_found_by_their_type),
		cmocka_unit_test(cgroups_are_known_by_inode),
		cmocka_unit_test(watched_is_the_cgroup_and_what_lies_below),
		cmocka_unit_test(swap_areas_are_read_with_their_places),
		cmocka_unit_test(settings_of_the_machine_are_stored),
		cmocka_unit_test(counters_are_sampled_with_their_sources),
		cmocka_unit_test(types_seen_fall_to_the_areas_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
