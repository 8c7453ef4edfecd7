/* SPDX-License-Identifier: MIT */
/* The settings of a machine, which is a directory of ours. */
#include "replayer/kernel_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replayer/test_events.h"
#include "db/base/text_file.h"

#define ZSWAP "/sys/module/zswap/parameters/"

static const char *const files[][2] = {
	{ ZSWAP "enabled", "N\n" },
	{ ZSWAP "compressor", "lzo\n" },
	{ ZSWAP "max_pool_percent", "20\n" },
	{ ZSWAP "accept_threshold_percent", "90\n" },
	{ ZSWAP "shrinker_enabled", "N\n" },
	{ "/proc/sys/vm/page-cluster", "3\n" },
	{ "/proc/sys/kernel/osrelease", "7.3.4-test\n" },
	{ "/proc/meminfo",
	  "MemTotal:        1024000 kB\nMemFree: 1 kB\nMemAvailable:     512000 kB\n" },
	{ "/proc/swaps", "Filename Type Size Used Priority\n/dev/vdb partition 4096 1024 -2\n"
			 "/swap\\040file file 2048 0 -3\n" },
	{ "/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor vme\n\nprocessor : 1\n" },
};

enum { N_FILES = sizeof(files) / sizeof(files[0]) };

struct fixture {
	char root[64];
	char said[1024];
	struct play_options options;
};

static void make_directories(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
}

static void put(const struct fixture *f, const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", f->root, path);
	make_directories(full);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_file(const struct fixture *f, const char *path, const char *text)
{
	char full[256], *got;

	snprintf(full, sizeof(full), "%s%s", f->root, path);
	got = zr_text_read(full);
	assert_non_null(got);
	/* A file of ours keeps what lies behind a shorter text; a setting does not. */
	assert_memory_equal(got, text, strlen(text));
	free(got);
}

static void take(const struct fixture *f, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", f->root, path);
	assert_int_equal(unlink(full), 0);
}

static void hear(void *arg, const char *text)
{
	struct fixture *f = arg;

	strncat(f->said, text, sizeof(f->said) - strlen(f->said) - 1);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	snprintf(f->root, sizeof(f->root), "/tmp/zreel-settings.XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->options = (struct play_options){ .say = hear, .say_arg = f };
	for (int i = 0; i < N_FILES; i++)
		put(f, files[i][0], files[i][1]);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];
	int status;

	snprintf(command, sizeof(command), "rm -r %s", f->root);
	status = system(command);
	free(f);
	zr_error_clear();
	return status;
}

static const struct kernel_leave root_in_a_vm = { .superuser = true };

static void a_virtual_machine_with_swap_and_zswap_will_do(void **state)
{
	struct fixture *f = *state;
	struct kernel_host host;

	assert_int_equal(kernel_host_check(f->root, &root_in_a_vm, &host), ZR_OK);
	assert_int_equal(host.n_swaps, 2);
	assert_string_equal(host.swaps[0].path, "/dev/vdb");
	assert_int_equal(host.free_swap_bytes, (4096 - 1024 + 2048) << 10);
	assert_int_equal(host.memory_bytes, 1024000 << 10);
	assert_int_equal(host.free_memory_bytes, 512000 << 10);
	assert_string_equal(host.release, "7.3.4-test");
}

static void refuses(struct fixture *f, const struct kernel_leave *leave, enum zr_err err,
		    const char *word)
{
	struct kernel_host host;

	assert_int_equal(kernel_host_check(f->root, leave, &host), err);
	assert_int_equal(zr_err_class(err), ZR_CLASS_DENIED);
	assert_non_null(strstr(zr_error_text(), word));
	zr_error_clear();
}

static void refuses_a_host_that_is_no_virtual_machine_unless_it_is_meant(void **state)
{
	struct fixture *f = *state;
	struct kernel_leave meant = { .superuser = true, .this_host = true };
	struct kernel_host host;

	put(f, "/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor_like vme\n");
	refuses(f, &root_in_a_vm, ZR_UNSUPPORTED, "--i-mean-this-host");
	assert_int_equal(kernel_host_check(f->root, &meant, &host), ZR_OK);
}

static void refuses_without_root(void **state)
{
	struct kernel_leave plain = { .this_host = true };

	refuses(*state, &plain, ZR_PERM, "root");
}

static void refuses_without_zswap(void **state)
{
	take(*state, ZSWAP "enabled");
	refuses(*state, &root_in_a_vm, ZR_UNSUPPORTED, "zswap");
}

static void refuses_without_swap(void **state)
{
	put(*state, "/proc/swaps", "Filename Type Size Used Priority\n");
	refuses(*state, &root_in_a_vm, ZR_UNSUPPORTED, "swapon");
}

static void settings_are_put_back_last_first(void **state)
{
	struct fixture *f = *state;
	struct kernel_settings *settings;
	char text[256];

	put(f, "/sys/choice", "one [two] three\n");
	assert_int_equal(kernel_settings_new(f->root, &settings), ZR_OK);
	assert_int_equal(kernel_settings_set(settings, ZSWAP "max_pool_percent", "30"), ZR_OK);
	assert_int_equal(kernel_settings_set(settings, ZSWAP "max_pool_percent", "40"), ZR_OK);
	assert_int_equal(kernel_settings_set(settings, "/sys/choice", "three"), ZR_OK);
	assert_file(f, ZSWAP "max_pool_percent", "40");
	kernel_settings_to_text(settings, text, sizeof(text));
	assert_string_equal(text, ZSWAP "max_pool_percent=20 /sys/choice=two");
	assert_int_equal(kernel_settings_restore(settings), ZR_OK);
	assert_file(f, ZSWAP "max_pool_percent", "20");
	assert_file(f, "/sys/choice", "two");
}

static void a_setting_that_cannot_be_put_back_is_told_and_the_others_are(void **state)
{
	struct fixture *f = *state;
	struct kernel_settings *settings;

	assert_int_equal(kernel_settings_new(f->root, &settings), ZR_OK);
	assert_int_equal(kernel_settings_set(settings, ZSWAP "max_pool_percent", "30"), ZR_OK);
	assert_int_equal(kernel_settings_set(settings, ZSWAP "enabled", "Y"), ZR_OK);
	take(f, ZSWAP "enabled");
	assert_int_equal(kernel_settings_restore(settings), ZR_IO);
	assert_non_null(strstr(zr_error_text(), "enabled"));
	assert_file(f, ZSWAP "max_pool_percent", "20");
}

static void zswap_becomes_what_was_recorded(void **state)
{
	struct fixture *f = *state;
	struct kernel_zswap zswap = { .limit_bytes = 1024000 / 100 * 7 << 10,
				      .accept_percent = 80,
				      .shrinker = 1,
				      .compressor = "zst" };
	struct kernel_settings *settings;
	struct kernel_host host;

	assert_int_equal(kernel_host_check(f->root, &root_in_a_vm, &host), ZR_OK);
	assert_int_equal(kernel_settings_new(f->root, &settings), ZR_OK);
	assert_int_equal(kernel_settings_zswap(settings, &host, &zswap, &f->options), ZR_OK);
	assert_file(f, ZSWAP "max_pool_percent", "7");
	assert_file(f, ZSWAP "accept_threshold_percent", "80");
	assert_file(f, ZSWAP "shrinker_enabled", "Y");
	assert_file(f, ZSWAP "compressor", "zst");
	assert_file(f, ZSWAP "enabled", "Y");
	assert_file(f, "/proc/sys/vm/page-cluster", "0");
	assert_string_equal(f->said, "");
	assert_int_equal(kernel_settings_restore(settings), ZR_OK);
	for (int i = 0; i < 6; i++)
		assert_file(f, files[i][0], files[i][1][0] == 'l' ? "lzo" : files[i][1]);
}

static void a_knob_that_the_kernel_lacks_and_a_limit_that_is_far_off_are_said(void **state)
{
	struct fixture *f = *state;
	struct kernel_zswap zswap = { .limit_bytes = 15 << 20,
				      .accept_percent = 90,
				      .shrinker = 1 };
	struct kernel_settings *settings;
	struct kernel_host host;

	take(f, ZSWAP "shrinker_enabled");
	assert_int_equal(kernel_host_check(f->root, &root_in_a_vm, &host), ZR_OK);
	assert_int_equal(kernel_settings_new(f->root, &settings), ZR_OK);
	assert_int_equal(kernel_settings_zswap(settings, &host, &zswap, &f->options), ZR_OK);
	assert_file(f, ZSWAP "max_pool_percent", "2"); /* 20 MiB */
	assert_non_null(strstr(f->said, "shrinker_enabled"));
	assert_non_null(strstr(f->said, "nearest whole percentage"));
	assert_int_equal(kernel_settings_restore(settings), ZR_OK);
}

static void the_nearest_percentage_is_at_least_one_and_at_most_all(void **state)
{
	uint64_t got;

	(void)state;
	assert_int_equal(kernel_pool_percent(0, 1000, &got), 1);
	assert_int_equal(got, 10);
	assert_int_equal(kernel_pool_percent(64, 1000, &got), 6);
	assert_int_equal(kernel_pool_percent(66, 1000, &got), 7);
	assert_int_equal(kernel_pool_percent(5000, 1000, &got), 100);
	assert_int_equal(kernel_pool_percent(5, 0, &got), 100);
}

static void what_a_kernel_is_built_to_do_is_refused_by_name(void **state)
{
	static const char *const bad[][2] = {
		{ "batched", "batched" },
		{ "linux-7.3+pool=10%", "linux-7.3" },
		{ "as-recorded+pool=10%+plug=on", "plug=on" },
		{ "as-recorded+order=sorted", "order=sorted" },
		{ "as-recorded+wb=off@/job", "wb=off@/job" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(kernel_policy_check(bad[i][0]), ZR_BAD_POLICY);
		assert_non_null(strstr(zr_error_text(), bad[i][1]));
		zr_error_clear();
	}
	assert_int_equal(kernel_policy_check("as-recorded"), ZR_OK);
	assert_int_equal(kernel_policy_check(
				 "as-recorded+pool=5%+accept=50+shrinker=off+zswap_max=4M+wb=off"),
			 ZR_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_virtual_machine_with_swap_and_zswap_will_do),
		TEST(refuses_a_host_that_is_no_virtual_machine_unless_it_is_meant),
		TEST(refuses_without_root),
		TEST(refuses_without_zswap),
		TEST(refuses_without_swap),
		TEST(settings_are_put_back_last_first),
		TEST(a_setting_that_cannot_be_put_back_is_told_and_the_others_are),
		TEST(zswap_becomes_what_was_recorded),
		TEST(a_knob_that_the_kernel_lacks_and_a_limit_that_is_far_off_are_said),
		TEST(the_nearest_percentage_is_at_least_one_and_at_most_all),
		TEST(what_a_kernel_is_built_to_do_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
