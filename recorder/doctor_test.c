/* SPDX-License-Identifier: MIT */
/* Tests of the doctor: hosts made up in a directory, with a kernel of test_kernel.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/recorder.h"
#include "recorder/test_kernel.h"

struct host {
	char dir[64], proc[96], sys[96];
	struct rec_doctor_roots roots;
	struct rec_doctor doctor;
};

static const char *path_of(const struct host *host, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", host->dir, name);
	return path;
}

static void make_file(const struct host *host, const char *name, const char *text)
{
	FILE *file;
	char *path = strdup(path_of(host, name));

	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	free(path);
}

static struct host *open_host(enum version version, const char *functions)
{
	struct host *host = calloc(1, sizeof(*host));
	char mounts[256];

	assert_non_null(host);
	strcpy(host->dir, "/tmp/zreel-doctor-XXXXXX");
	assert_non_null(mkdtemp(host->dir));
	snprintf(host->proc, sizeof(host->proc), "%s/proc", host->dir);
	snprintf(host->sys, sizeof(host->sys), "%s/sys", host->dir);
	host->roots = (struct rec_doctor_roots){ host->proc, host->sys };
	snprintf(mounts, sizeof(mounts), "tracefs %s/tracing tracefs rw 0 0\n", host->dir);
	make_file(host, "proc/mounts", mounts);
	make_file(host, "proc/swaps", "Filename Type Size Used Priority\n"
				      "/dev/nowhere1 partition 1020 0 -2\n");
	make_file(host, "proc/sys/kernel/osrelease", "9.9.9-made-up\n");
	make_file(host, "proc/kallsyms", "");
	make_file(host, "sys/kernel/btf/vmlinux", "");
	make_file(host, "sys/module/zswap/parameters/enabled", "Y\n");
	make_file(host, "tracing/dynamic_events", "");
	make_types(path_of(host, "sys/kernel/btf/vmlinux"), version);
	make_symbols(path_of(host, "proc/kallsyms"), functions);
	return host;
}

static void close_host(struct host *host)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", host->dir);
	assert_int_equal(system(command), 0);
	free(host);
}

static const struct rec_doctor_event *event(const struct host *host, const char *name)
{
	for (uint32_t i = 0; i < host->doctor.n_events; i++)
		if (strcmp(host->doctor.events[i].event, name) == 0)
			return &host->doctor.events[i];
	fail_msg("no event %s", name);
	return NULL;
}

static const struct rec_doctor_check *check(const struct host *host, const char *name)
{
	for (uint32_t i = 0; i < host->doctor.n_checks; i++)
		if (strcmp(host->doctor.checks[i].name, name) == 0)
			return &host->doctor.checks[i];
	fail_msg("no check %s", name);
	return NULL;
}

/* -------------------------------------------------------------------------------------------- claims */

static void whole_host_can_record([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_12, FUNCTIONS_6_12 " trace_fprobe_create trace_kprobe_create");

	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_string_equal(host->doctor.kernel, "9.9.9-made-up");
	assert_true(host->doctor.probes_work && host->doctor.can_record);
	assert_true(event(host, "out")->ok);
	assert_string_equal(event(host, "out")->function, "swap_writepage");
	assert_string_equal(event(host, "out")->form, "fprobe");
	assert_string_equal(event(host, "out_ret")->form, "fprobe return");
	assert_string_equal(event(host, "block_rq_issue")->form, "tracepoint");
	for (uint32_t i = 0; i < host->doctor.n_events; i++)
		assert_true(host->doctor.events[i].ok);
	close_host(host);
}

static void kernel_without_fprobes_gets_kprobes([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_1, FUNCTIONS_6_1);

	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_true(host->doctor.can_record);
	assert_string_equal(event(host, "store_ret")->form, "kprobe return");
	assert_string_equal(event(host, "store_ret")->function, "zswap_frontswap_store");
	close_host(host);
}

/* CONFIG_KPROBES off: the functions are there, and yet nothing can be probed. */
static void kernel_without_dynamic_events_cannot([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_12, FUNCTIONS_6_12);

	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_false(host->doctor.probes_work);
	assert_false(check(host, "dynamic events")->ok);
	assert_non_null(strstr(check(host, "dynamic events")->advice, "--source block"));
	assert_false(event(host, "out")->ok);
	close_host(host);
}

static void host_without_types_is_told_what_it_cannot([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_12, FUNCTIONS_6_12 " trace_kprobe_create");

	assert_int_equal(unlink(path_of(host, "sys/kernel/btf/vmlinux")), 0);
	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_false(check(host, "types")->ok);
	assert_non_null(strstr(check(host, "types")->advice, "CONFIG_DEBUG_INFO_BTF"));
	assert_false(event(host, "out")->ok);
	assert_true(event(host, "free")->ok);
	assert_false(host->doctor.can_record);
	close_host(host);
}

static void hidden_function_costs_its_figures([[maybe_unused]] void **state)
{
	struct host *host = open_host(V7_3, "swap_writeout swap_write_submit zswap_store zswap_load "
					    "zswap_invalidate zs_malloc swap_read_folio "
					    "swapin_readahead shrink_memcg_cb.isra.0 "
					    "trace_fprobe_create");

	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_true(host->doctor.can_record);
	assert_false(event(host, "wb")->ok);
	assert_false(event(host, "wb")->vital);
	assert_null(event(host, "wb")->function);
	assert_non_null(strstr(event(host, "wb")->why, "only shrink_memcg_cb.isra.0"));
	assert_non_null(strstr(event(host, "wb")->lost, "zswpwb"));
	close_host(host);
}

static void what_is_in_the_way_is_told([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_12, FUNCTIONS_6_12 " trace_fprobe_create");

	make_file(host, "proc/swaps", "Filename Type Size Used Priority\n");
	make_file(host, "sys/module/zswap/parameters/enabled", "N\n");
	make_file(host, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	make_file(host, "proc/mounts", "");
	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_true(host->doctor.probes_work);
	assert_false(host->doctor.can_record);
	assert_false(check(host, "swap")->ok);
	assert_false(check(host, "zswap")->ok);
	assert_false(check(host, "lockdown")->ok);
	assert_false(check(host, "tracefs")->ok);
	assert_non_null(strstr(check(host, "tracefs")->advice, "mount -t tracefs"));
	close_host(host);
}

/* CapEff of a process with CAP_PERFMON and CAP_DAC_READ_SEARCH alone. */
#define FEW_CAPABILITIES "Name:\tx\nCapEff:\t0000004000000004\n"

static void perf_will_do_where_tracefs_cannot_be_written([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_12, FUNCTIONS_6_12 " trace_fprobe_create");
	char name[64];

	/* Not dynamic_events, so that nobody can write it. */
	assert_int_equal(unlink(path_of(host, "tracing/dynamic_events")), 0);
	make_file(host, "proc/self/status", FEW_CAPABILITIES);
	make_file(host, "proc/sys/kernel/perf_event_paranoid", "2\n");
	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_false(host->doctor.can_record);
	assert_false(check(host, "perf")->ok);
	assert_non_null(strstr(check(host, "perf")->advice, "--print-probes"));
	for (uint32_t i = 0; i < host->doctor.n_events; i++) {
		snprintf(name, sizeof(name), "tracing/events/zreel/%s/id", host->doctor.events[i].event);
		make_file(host, name, "1\n");
	}
	make_file(host, "tracing/events/block/block_rq_issue/id", "2\n");
	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_true(check(host, "perf")->ok);
	assert_true(host->doctor.can_record);
	/* Debian's default. */
	make_file(host, "proc/sys/kernel/perf_event_paranoid", "3\n");
	assert_int_equal(rec_doctor(&host->roots, &host->doctor), ZR_OK);
	assert_false(host->doctor.can_record);
	assert_non_null(strstr(check(host, "perf")->advice, "at most 2"));
	close_host(host);
}

static char *printed(const struct host *host, enum zr_err expected)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(rec_doctor_print_probes(&host->roots, out), expected);
	zr_error_clear();
	assert_int_equal(fclose(out), 0);
	return text;
}

static void printed_probes_have_the_canonical_names([[maybe_unused]] void **state)
{
	static const char *const names[] = { "store",	 "store_ret", "len",	  "load",  "load_ret",
					     "read",	 "free",      "wb",	  "write", "scan",
					     "scan_ret", "count_ret", "slab",	  "worker", "shrink",
					     "free_large", "len_none" };
	struct host *host = open_host(V6_12, FUNCTIONS_6_12 " __swap_writepage trace_fprobe_create");
	char *text = printed(host, ZR_OK), line[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(line, sizeof(line), ":zreel/%s ", names[i]);
		if (!strstr(text, line))
			fail_msg("no probe %s in:\n%s", names[i], text);
	}
	assert_non_null(strstr(text, "\nf:zreel/free zswap_invalidate swp=$arg1:x64\n"));
	assert_non_null(strstr(text, "\nf1024:zreel/store_ret zswap_store%return ret=$retval:u8"));
	free(text);
	close_host(host);
}

/* Its kernel refuses a number of returns under way. */
static void fprobes_of_7_3_are_printed_without_a_number([[maybe_unused]] void **state)
{
	struct host *host = open_host(V7_3, FUNCTIONS_7_3 " trace_fprobe_create");
	char *text = printed(host, ZR_OK);

	assert_non_null(strstr(text, "\nf:zreel/store_ret zswap_store%return ret=$retval:u8"));
	assert_null(strstr(text, "f1024"));
	free(text);
	close_host(host);
}

static void kprobes_are_printed_as_kprobes([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_1, FUNCTIONS_6_1);
	char *text = printed(host, ZR_OK);

	assert_non_null(strstr(text, "\np:zreel/free swap_range_free swp_type="));
	assert_non_null(strstr(text, "\nr1024:zreel/out_ret swap_writepage ret=$retval:s32"));
	free(text);
	close_host(host);
}

static void printing_without_what_is_vital_fails_and_says_so([[maybe_unused]] void **state)
{
	struct host *host = open_host(V6_12, "zswap_store trace_fprobe_create");
	char *text = printed(host, ZR_UNSUPPORTED);

	assert_non_null(strstr(text, "# no free: no zswap_invalidate"));
	free(text);
	close_host(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_host_can_record),
		cmocka_unit_test(kernel_without_fprobes_gets_kprobes),
		cmocka_unit_test(kernel_without_dynamic_events_cannot),
		cmocka_unit_test(host_without_types_is_told_what_it_cannot),
		cmocka_unit_test(hidden_function_costs_its_figures),
		cmocka_unit_test(what_is_in_the_way_is_told),
		cmocka_unit_test(perf_will_do_where_tracefs_cannot_be_written),
		cmocka_unit_test(printed_probes_have_the_canonical_names),
		cmocka_unit_test(fprobes_of_7_3_are_printed_without_a_number),
		cmocka_unit_test(kprobes_are_printed_as_kprobes),
		cmocka_unit_test(printing_without_what_is_vital_fails_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
