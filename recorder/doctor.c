/* SPDX-License-Identifier: MIT */
/*
 * What can be recorded on this host, and what would have to change for more.
 *
 * Only looks: at the kernel's symbols and types, at what is mounted, at settings. So it works without any
 * rights, and what it cannot see then it says. The events are chosen by the recorder's own table, so
 * that what is shown here is what a recording does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/btf.h"
#include "recorder/environ.h"
#include "recorder/files.h"
#include "recorder/probes.h"
#include "recorder/recorder.h"
#include "recorder/source.h"

struct look {
	struct rec_paths paths;
	struct rec_btf *btf; /* NULL: no_btf says why */
	char no_btf[256], no_symbols[256];
	struct rec_probes probes;
	struct rec_doctor *out;
};

/* --------------------------------------------------------------------------------------------- looking */

static void keep_error(char *text, size_t bytes)
{
	snprintf(text, bytes, "%s", zr_error_text());
	zr_error_clear();
}

static enum zr_err look_around(const struct rec_doctor_roots *roots, bool plain, struct look *look)
{
	char path[512];
	enum zr_err err;

	if (roots->proc)
		snprintf(look->paths.proc, sizeof(look->paths.proc), "%s", roots->proc);
	if (roots->sys)
		snprintf(look->paths.sys, sizeof(look->paths.sys), "%s", roots->sys);
	snprintf(path, sizeof(path), "%s/mounts", roots->proc ? roots->proc : "/proc");
	err = rec_paths_find(path, &look->paths);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", look->paths.sys);
	if (rec_btf_open(path, &look->btf))
		keep_error(look->no_btf, sizeof(look->no_btf));
	snprintf(path, sizeof(path), "%s/kallsyms", look->paths.proc);
	if (rec_probes_survey(path, look->btf, plain, &look->probes))
		keep_error(look->no_symbols, sizeof(look->no_symbols));
	return ZR_OK;
}

static const char *form_of(const struct rec_probes *probes, bool at_return)
{
	if (probes->has_fprobes)
		return at_return ? "fprobe return" : "fprobe";
	return at_return ? "kprobe return" : "kprobe";
}

static bool has_dynamic_events(const struct rec_probes *probes)
{
	return probes->has_fprobes || probes->has_kprobes;
}

/* ---------------------------------------------------------------------------------------------- events */

static struct rec_doctor_event *new_event(struct rec_doctor *out, const char *event)
{
	struct rec_doctor_event *fresh = &out->events[out->n_events++];

	*fresh = (struct rec_doctor_event){ .event = event, .lost = "" };
	return fresh;
}

static void add_probe(struct look *look, const struct rec_probe *probe)
{
	struct rec_doctor_event *event = new_event(look->out, probe->event);

	event->function = probe->function;
	event->form = form_of(&look->probes, probe->at_return);
	event->ok = has_dynamic_events(&look->probes);
	event->vital = probe->vital;
	event->lost = probe->lost;
	if (!event->ok)
		snprintf(event->why, sizeof(event->why), "this kernel has no dynamic events");
}

static void add_gap(struct look *look, const struct rec_probe_gap *gap)
{
	struct rec_doctor_event *event = new_event(look->out, gap->event);

	event->form = "none";
	event->vital = gap->vital;
	event->lost = gap->lost;
	snprintf(event->why, sizeof(event->why), "%s", gap->why);
}

/* The kernel's own events: whether they are there can be seen only where tracefs can be read. */
static void add_kernel_event(struct look *look, const char *system, enum rec_type type,
			     const char *lost)
{
	const char *name = rec_type_name(type);
	struct rec_doctor_event *event = new_event(look->out, name);
	char path[512];

	event->form = "tracepoint";
	event->lost = lost;
	snprintf(path, sizeof(path), "%s/events", look->paths.tracefs);
	event->ok = true;
	if (!look->paths.tracefs[0] || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return;
	snprintf(path, sizeof(path), "%s/events/%s/%s", look->paths.tracefs, system, name);
	event->ok = faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0;
	if (!event->ok)
		snprintf(event->why, sizeof(event->why), "no %.240s", path);
}

static void add_events(struct look *look)
{
	struct rec_doctor *out = look->out;

	out->probes_work = !look->no_symbols[0] && has_dynamic_events(&look->probes);
	for (uint32_t i = 0; i < look->probes.n; i++)
		add_probe(look, &look->probes.probe[i]);
	for (uint32_t i = 0; i < look->probes.n_gaps; i++) {
		add_gap(look, &look->probes.gaps[i]);
		out->probes_work = out->probes_work && !look->probes.gaps[i].vital;
	}
	for (uint32_t i = 0; i < REC_BLOCK_TYPES; i++)
		add_kernel_event(look, "block", rec_block_types[i],
				 "requests of the swap device are not recorded (IO)");
	add_kernel_event(look, "vmscan", REC_SLAB_START,
			 "passes of reclaim are not recorded by --source block (RECLAIM)");
}

static_assert(REC_PROBES_MAX + REC_BLOCK_TYPES + 1 <= REC_DOCTOR_EVENTS, "all events have room");

/* ---------------------------------------------------------------------------------------------- checks */

static struct rec_doctor_check *add_check(struct look *look, const char *name, bool ok)
{
	struct rec_doctor_check *check = &look->out->checks[look->out->n_checks++];

	*check = (struct rec_doctor_check){ .name = name, .ok = ok };
	return check;
}

static bool check_ok(const struct rec_doctor *doctor, const char *name)
{
	for (uint32_t i = 0; i < doctor->n_checks; i++)
		if (strcmp(doctor->checks[i].name, name) == 0)
			return doctor->checks[i].ok;
	return true; /* one that does not arise here */
}

__attribute__((format(printf, 2, 3))) static void found(struct rec_doctor_check *check,
							const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(check->found, sizeof(check->found), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void advise(struct rec_doctor_check *check,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(check->advice, sizeof(check->advice), fmt, ap);
	va_end(ap);
}

static void check_symbols(struct look *look)
{
	struct rec_doctor_check *check = add_check(look, "symbols", !look->no_symbols[0]);

	if (check->ok) {
		found(check, "%s/kallsyms can be read", look->paths.proc);
		return;
	}
	found(check, "%s", look->no_symbols);
	advise(check, "a kernel with CONFIG_KALLSYMS; without it only block requests can be recorded "
		      "(--source block)");
}

static void check_types(struct look *look)
{
	struct rec_doctor_check *check = add_check(look, "types", look->btf);

	if (check->ok) {
		found(check, "%s/kernel/btf/vmlinux can be read", look->paths.sys);
		return;
	}
	found(check, "%s", look->no_btf);
	advise(check, "a kernel with CONFIG_DEBUG_INFO_BTF; without it nobody knows where a folio has "
		      "its slot, and only block requests can be recorded (--source block)");
}

static void check_dynamic_events(struct look *look)
{
	const struct rec_probes *probes = &look->probes;
	struct rec_doctor_check *check =
		add_check(look, "dynamic events", has_dynamic_events(probes));

	if (!check->ok) {
		found(check, "the kernel has neither fprobe nor kprobe events");
		advise(check, "a kernel with CONFIG_FPROBE_EVENTS or CONFIG_KPROBE_EVENTS; without them "
			      "only block requests can be recorded (--source block)");
		return;
	}
	found(check, "%s%s%s", probes->has_fprobes ? "fprobes" : "",
	      probes->has_fprobes && probes->has_kprobes ? ", " : "",
	      probes->has_kprobes ? "kprobes" : "");
	if (!probes->has_fprobes)
		advise(check, "kprobes will be used: they cost more than fprobes (6.5 and later)");
}

/* "none [integrity] confidentiality" */
static void check_lockdown(struct look *look)
{
	char text[64];
	struct rec_doctor_check *check;

	if (!rec_file_line(text, sizeof(text), "%s/kernel/security/lockdown", look->paths.sys))
		return;
	check = add_check(look, "lockdown", !strstr(text, "[confidentiality]"));
	found(check, "%s", text);
	if (!check->ok)
		advise(check, "confidentiality forbids tracing: boot without it");
}

static void check_tracefs(struct look *look)
{
	const char *dir = look->paths.tracefs;
	struct rec_doctor_check *check = add_check(look, "tracefs", false);
	char path[512];

	snprintf(path, sizeof(path), "%s/dynamic_events", dir);
	if (!dir[0]) {
		found(check, "not mounted, or not to be seen from here");
		advise(check, "mount -t tracefs tracefs /sys/kernel/tracing");
	} else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) {
		found(check, "%s: %s", path, strerror(errno));
		advise(check, "record as root; or define the printed probes as root once, and record with "
			      "--source perf and CAP_PERFMON");
	} else {
		check->ok = true;
		found(check, "%s can be written", dir);
	}
}

static bool has_capability(const struct look *look, int capability)
{
	char *status = rec_file_readf("%s/self/status", look->paths.proc);
	const char *at = status ? strstr(status, "CapEff:") : NULL;
	uint64_t set = at ? strtoull(at + strlen("CapEff:"), NULL, 16) : 0;

	free(status);
	return set >> capability & 1;
}

/* All that a recording cannot do without, as somebody defined it. */
static bool has_canonical_events(const struct look *look)
{
	uint32_t there = rec_group_types(look->paths.tracefs, REC_CANONICAL_GROUP);

	for (uint32_t i = 0; i < look->probes.n; i++)
		if (look->probes.probe[i].vital && !(there >> look->probes.probe[i].type & 1))
			return false;
	return look->probes.n;
}

/* More than 2 is Debian's and its kin's: there CAP_PERFMON is not enough. */
static bool perf_is_allowed(const struct look *look, long paranoid)
{
	return paranoid < 0 || has_capability(look, CAP_SYS_ADMIN) ||
	       (paranoid <= 2 && has_capability(look, CAP_PERFMON));
}

static void check_perf(struct look *look)
{
	struct rec_doctor_check *check = add_check(look, "perf", false);
	bool there = has_canonical_events(look), allowed;
	char text[32];
	long paranoid;

	if (!rec_file_line(text, sizeof(text), "%s/sys/kernel/perf_event_paranoid", look->paths.proc)) {
		found(check, "this kernel has no perf events");
		return;
	}
	paranoid = strtol(text, NULL, 10);
	allowed = perf_is_allowed(look, paranoid);
	check->ok = allowed && (there || check_ok(look->out, "tracefs"));
	found(check, "kernel.perf_event_paranoid is %ld; this process may%s open events; the printed ones %s",
	      paranoid, allowed ? "" : " not", there ? "exist" : "do not exist");
	if (!allowed)
		advise(check, "for --source perf: CAP_PERFMON with a kernel.perf_event_paranoid of at most 2, or "
			      "CAP_SYS_ADMIN; and CAP_DAC_READ_SEARCH, or tracefs mounted so that it can be read");
	else if (!check->ok)
		advise(check, "have root define them, once: zreel doctor --print-probes");
}

static void check_swap(struct look *look)
{
	struct rec_swap *swaps = calloc(REC_SWAPS_MAX, sizeof(*swaps));
	struct rec_doctor_check *check;
	uint32_t n = 0, unmapped = 0;

	if (swaps && rec_swaps_read(&look->paths, swaps, &n))
		zr_error_clear();
	check = add_check(look, "swap", n);
	for (uint32_t i = 0; i < n; i++) {
		rec_swap_map(&look->paths, &swaps[i]);
		if (swaps[i].unmapped[0]) {
			unmapped++;
			advise(check, "its requests are not recorded: %.200s",
			       swaps[i].unmapped);
		}
		rec_swap_unmap(&swaps[i]);
	}
	found(check, "%u areas, %u of them without requests", n, unmapped);
	if (!n)
		advise(check, "switch one on: swapon(8)");
	free(swaps);
}

static void check_zswap(struct look *look)
{
	char value[16] = "";
	bool there = rec_file_line(value, sizeof(value), "%s/module/zswap/parameters/enabled",
				   look->paths.sys);
	struct rec_doctor_check *check = add_check(look, "zswap", value[0] == 'Y');

	found(check, "%s", check->ok ? "on" : there ? "off" : "not in this kernel");
	if (there && !check->ok)
		advise(check, "all swap-outs go to the disk until: echo Y >%s/module/zswap/parameters/"
			      "enabled", look->paths.sys);
}

static void check_cgroup(struct look *look)
{
	struct rec_doctor_check *check = add_check(look, "cgroup2", look->paths.cgroup[0]);

	found(check, "%s", check->ok ? look->paths.cgroup : "not mounted");
	if (!check->ok)
		advise(check, "--cgroup needs it: mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

static void (*const checks[])(struct look *look) = {
	check_symbols, check_types, check_dynamic_events, check_lockdown,
	check_tracefs, check_perf,  check_swap,		  check_zswap,	  check_cgroup,
};

enum { N_CHECKS = sizeof(checks) / sizeof(*checks) };

static_assert((int)N_CHECKS <= (int)REC_DOCTOR_CHECKS, "all checks have room");

enum zr_err rec_doctor(const struct rec_doctor_roots *roots, struct rec_doctor *out)
{
	struct look *look = calloc(1, sizeof(*look));
	enum zr_err err;

	*out = (struct rec_doctor){ 0 };
	if (!look)
		return zr_fail(ZR_NOMEM, "no memory to look at the kernel");
	look->out = out;
	err = look_around(roots, false, look);
	if (!err) {
		rec_file_line(out->kernel, sizeof(out->kernel), "%s/sys/kernel/osrelease",
			      look->paths.proc);
		add_events(look);
		for (uint32_t i = 0; i < N_CHECKS; i++)
			checks[i](look);
		out->can_record = out->probes_work &&
				  (check_ok(out, "tracefs") || check_ok(out, "perf")) &&
				  check_ok(out, "lockdown") && check_ok(out, "swap");
	}
	rec_btf_close(look->btf);
	free(look);
	return err;
}

/* -------------------------------------------------------------------------------------------- printing */

static void print_head(const char *kernel, FILE *out)
{
	fprintf(out,
		"# Probes of swap and zswap for kernel %s.\n"
		"# Define them (as root):\n"
		"#   zreel doctor --print-probes | grep -v '^#' | while read -r probe; do\n"
		"#     echo \"$probe\" >>/sys/kernel/tracing/dynamic_events; done\n"
		"# Record with one of:\n"
		"#   trace-cmd record -C mono -e zreel -e block:block_rq_issue -e block:block_rq_complete CMD\n"
		"#   perf record -a -k mono -e 'zreel:*' -e 'block:block_rq_*' CMD\n"
		"#   echo 1 >/sys/kernel/tracing/events/zreel/enable; cat /sys/kernel/tracing/trace_pipe\n"
		"# and make a trace of it: zreel import FILE -o FILE.zr\n",
		kernel);
}

/* "r1024:zreel/out_ret swap_writepage ret=...", or "f:zreel/out_ret swap_writeout%return ret=..." */
static void print_probe(const struct rec_probes *probes, const struct rec_probe *probe, FILE *out)
{
	bool fprobe = probes->has_fprobes;
	const char *letter = fprobe ? "f" : probe->at_return ? "r" : "p";
	char active[16] = "";

	if (fprobe ? probe->takes_active : probe->at_return)
		snprintf(active, sizeof(active), "%d", REC_PROBE_ACTIVE);
	fprintf(out, "%s%s:" REC_CANONICAL_GROUP "/%s %s%s%s%s\n", letter, active, probe->event,
		probe->function, probe->at_return && fprobe ? "%return" : "",
		probe->args[0] ? " " : "", probe->args);
}

static enum zr_err print_all(const struct look *look, FILE *out)
{
	const struct rec_probes *probes = &look->probes;
	const char *vital = NULL;
	char kernel[96] = "";

	rec_file_line(kernel, sizeof(kernel), "%s/sys/kernel/osrelease", look->paths.proc);
	print_head(kernel, out);
	for (uint32_t i = 0; i < probes->n; i++)
		print_probe(probes, &probes->probe[i], out);
	for (uint32_t i = 0; i < probes->n_gaps; i++) {
		fprintf(out, "# no %s: %s: %s\n", probes->gaps[i].event, probes->gaps[i].why,
			probes->gaps[i].lost);
		if (probes->gaps[i].vital)
			vital = probes->gaps[i].event;
	}
	if (look->no_symbols[0])
		return zr_fail(ZR_UNSUPPORTED, "choosing probes: %s", look->no_symbols);
	if (vital)
		return zr_fail(ZR_UNSUPPORTED,
			       "choosing probes: the event %s cannot be had on kernel %s; without it a "
			       "trace is not complete",
			       vital, kernel);
	if (!has_dynamic_events(probes))
		return zr_fail(ZR_UNSUPPORTED,
			       "kernel %s has neither fprobe nor kprobe events: it will not take these",
			       kernel);
	return ZR_OK;
}

enum zr_err rec_doctor_print_probes(const struct rec_doctor_roots *roots, FILE *out)
{
	struct look *look = calloc(1, sizeof(*look));
	enum zr_err err;

	if (!look)
		return zr_fail(ZR_NOMEM, "no memory to look at the kernel");
	err = look_around(roots, true, look);
	if (!err)
		err = print_all(look, out);
	rec_btf_close(look->btf);
	free(look);
	return err;
}
