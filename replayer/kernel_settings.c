/* SPDX-License-Identifier: MIT */
/* The settings of kernel_settings.h. */
#include "replayer/kernel_settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "db/base/text_file.h"

enum { PATH_BYTES = 512, VALUE_BYTES = 128, SETTINGS_MAX = 16 };

#define ZSWAP "/sys/module/zswap/parameters/"

static char *read_at(const char *root, const char *path)
{
	char full[PATH_BYTES];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return zr_text_read(full);
}

/* ------------------------------------------------------------------------------------------ host */

/* A word of the line "flags : ..." of /proc/cpuinfo; architectures without it cannot be told. */
static bool has_cpu_flag(const char *cpuinfo, const char *flag)
{
	const char *line = strstr(cpuinfo, "\nflags");
	size_t bytes = strlen(flag);

	if (!line)
		return false;
	for (const char *at = strstr(line, flag); at; at = strstr(at + bytes, flag))
		if (isspace((unsigned char)at[-1]) &&
		    (!at[bytes] || isspace((unsigned char)at[bytes])))
			return true;
	return false;
}

static enum zr_err check_leave(const char *root, const struct kernel_leave *leave)
{
	char *cpuinfo;
	bool virtual;

	if (!leave->superuser)
		return zr_fail(
			ZR_PERM,
			"replaying on the running kernel changes settings of zswap and makes a "
			"control group, which takes root; try sudo");
	if (leave->this_host)
		return ZR_OK;
	cpuinfo = read_at(root, "/proc/cpuinfo");
	virtual = cpuinfo && has_cpu_flag(cpuinfo, "hypervisor");
	free(cpuinfo);
	if (virtual)
		return ZR_OK;
	return zr_fail(ZR_UNSUPPORTED, "replaying on the running kernel swaps on this machine and "
				       "changes its zswap settings for "
				       "as long as it lasts, and this is not a virtual machine; "
				       "run it in one, or, if nobody else "
				       "needs this machine, say --i-mean-this-host");
}

static void note_swap(struct kernel_host *host, const char *path, uint64_t free_kib)
{
	struct kernel_swap *swap = &host->swaps[host->n_swaps];
	struct stat st;
	char full[PATH_BYTES];

	host->free_swap_bytes += free_kib << 10;
	if (host->n_swaps == KERNEL_SWAPS_MAX)
		return;
	snprintf(swap->path, sizeof(swap->path), "%s", path);
	snprintf(full, sizeof(full), "%s%s", host->root, path);
	if (!stat(full, &st)) {
		dev_t dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;

		swap->major = major(dev);
		swap->minor = minor(dev);
	}
	host->n_swaps++;
}

/* "Filename Type Size Used Priority", in KiB, one a line. */
static void read_swaps(struct kernel_host *host)
{
	char *text = read_at(host->root, "/proc/swaps"), path[256], type[32];
	char *rest = text ? strchr(text, '\n') : NULL;
	uint64_t size, used;

	for (; rest; rest = strchr(rest + 1, '\n'))
		if (sscanf(rest + 1, "%255s %31s %" SCNu64 " %" SCNu64, path, type, &size, &used) ==
		    4)
			note_swap(host, path, size > used ? size - used : 0);
	free(text);
}

/* A line "MemTotal:  1234 kB" of /proc/meminfo, in bytes; 0 if it is not there. */
static uint64_t memory_line(const char *meminfo, const char *name)
{
	const char *line = meminfo ? strstr(meminfo, name) : NULL;

	return line ? strtoull(line + strlen(name), NULL, 10) << 10 : 0;
}

static void read_memory(struct kernel_host *host)
{
	char *meminfo = read_at(host->root, "/proc/meminfo");
	char *release = read_at(host->root, "/proc/sys/kernel/osrelease");

	host->memory_bytes = memory_line(meminfo, "MemTotal:");
	host->free_memory_bytes = memory_line(meminfo, "MemAvailable:");
	if (release)
		snprintf(host->release, sizeof(host->release), "%.*s", (int)strcspn(release, "\n"),
			 release);
	free(meminfo);
	free(release);
}

enum zr_err kernel_host_check(const char *root, const struct kernel_leave *leave,
			      struct kernel_host *out)
{
	char *enabled;
	enum zr_err err = check_leave(root, leave);

	*out = (struct kernel_host){ .root = root };
	if (err)
		return err;
	enabled = read_at(root, ZSWAP "enabled");
	free(enabled);
	if (!enabled)
		return zr_fail(ZR_UNSUPPORTED,
			       "replaying on the running kernel: it has no zswap (no " ZSWAP
			       "enabled); boot one with CONFIG_ZSWAP");
	read_swaps(out);
	read_memory(out);
	if (!out->n_swaps)
		return zr_fail(ZR_UNSUPPORTED, "replaying on the running kernel: no swap is active "
					       "(/proc/swaps is empty); "
					       "switch one on first: mkswap, swapon");
	return ZR_OK;
}

/* ---------------------------------------------------------------------------------------- policy */

static bool is_setting(const char *word, size_t bytes)
{
	static const char *const names[] = {
		"pool", "mem", "accept", "shrinker", "wb", "zswap_max"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == bytes && strncmp(names[i], word, bytes) == 0)
			return true;
	return false;
}

enum zr_err kernel_policy_check(const char *text)
{
	static const char preset[] = "as-recorded";
	size_t bytes = strcspn(text, "+");

	if (bytes != strlen(preset) || strncmp(text, preset, bytes) != 0)
		return zr_fail(
			ZR_BAD_POLICY,
			"policy '%s' on the running kernel: '%.*s' says what a kernel does, and "
			"the running "
			"kernel decides that; boot one that has it. Here a policy begins with %s",
			text, (int)bytes, text, preset);
	for (const char *word = text + bytes; *word; word += bytes) {
		word++;
		bytes = strcspn(word, "+");
		if (!is_setting(word, strcspn(word, "=+")))
			return zr_fail(ZR_BAD_POLICY,
				       "policy '%s' on the running kernel: '%.*s': the running "
				       "kernel decides that; "
				       "boot one that has it. Its settings are pool, mem, accept, "
				       "shrinker, wb and "
				       "zswap_max",
				       text, (int)bytes, word);
		if (memchr(word, '@', bytes))
			return zr_fail(ZR_BAD_POLICY,
				       "policy '%s' on the running kernel: '%.*s': all pages of a "
				       "replay are in one "
				       "control group; leave out the @",
				       text, (int)bytes, word);
	}
	return ZR_OK;
}

uint32_t kernel_pool_percent(uint64_t limit_bytes, uint64_t memory_bytes, uint64_t *got_bytes)
{
	double part = memory_bytes ? (double)limit_bytes * 100 / (double)memory_bytes : 100;
	uint32_t percent = part >= 100 ? 100 : (uint32_t)(part + 0.5);

	if (!percent)
		percent = 1;
	*got_bytes = memory_bytes / 100 * percent;
	return percent;
}

/* -------------------------------------------------------------------------------------- settings */

struct setting {
	char path[PATH_BYTES], before[VALUE_BYTES];
};

struct kernel_settings {
	const char *root;
	uint32_t n;
	struct setting set[SETTINGS_MAX];
};

enum zr_err kernel_settings_new(const char *root, struct kernel_settings **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return zr_fail(ZR_NOMEM, "changing settings of the kernel: no memory");
	(*out)->root = root;
	return ZR_OK;
}

static bool is_kept(const struct kernel_settings *settings, const char *path)
{
	for (uint32_t i = 0; i < settings->n; i++)
		if (strcmp(settings->set[i].path, path) == 0)
			return true;
	return false;
}

/* A choice is shown as "a [b] c". */
static void keep(struct setting *setting, const char *path, const char *text)
{
	const char *chosen = strchr(text, '[');
	size_t bytes = chosen ? strcspn(++chosen, "]") : strcspn(text, "\n");

	snprintf(setting->path, sizeof(setting->path), "%s", path);
	snprintf(setting->before, sizeof(setting->before), "%.*s", (int)bytes,
		 chosen ? chosen : text);
}

static int write_at(const struct kernel_settings *settings, const char *path, const char *value)
{
	char full[PATH_BYTES];

	snprintf(full, sizeof(full), "%s%s", settings->root, path);
	return zr_text_write(full, value);
}

enum zr_err kernel_settings_set(struct kernel_settings *settings, const char *path,
				const char *value)
{
	char *text = read_at(settings->root, path);
	int errnum;

	if (!text)
		return zr_fail(ZR_UNSUPPORTED, "setting %s to '%s': the kernel does not have it",
			       path, value);
	if (!is_kept(settings, path) && settings->n < SETTINGS_MAX)
		keep(&settings->set[settings->n++], path, text);
	free(text);
	errnum = write_at(settings, path, value);
	return errnum ? zr_fail(ZR_UNSUPPORTED, "setting %s to '%s': %s", path, value,
				strerror(errnum))
		      : ZR_OK;
}

void kernel_settings_to_text(const struct kernel_settings *settings, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < settings->n && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s", i ? " " : "",
					 settings->set[i].path, settings->set[i].before);
}

enum zr_err kernel_settings_restore(struct kernel_settings *settings)
{
	enum zr_err err = ZR_OK;

	while (settings && settings->n) {
		const struct setting *setting = &settings->set[--settings->n];
		int errnum = write_at(settings, setting->path, setting->before);

		if (errnum && !err)
			err = zr_fail(ZR_IO, "setting %s back to '%s': %s", setting->path,
				      setting->before, strerror(errnum));
	}
	free(settings);
	return err;
}

/* ----------------------------------------------------------------------------------------- zswap */

static void say(const struct play_options *options, const char *text)
{
	if (options->say)
		options->say(options->say_arg, text);
}

/* What a kernel does not have is said and left. */
static void set_or_say(struct kernel_settings *settings, const char *path, const char *value,
		       const struct play_options *options)
{
	char text[PATH_BYTES + VALUE_BYTES];

	if (!kernel_settings_set(settings, path, value))
		return;
	snprintf(text, sizeof(text), "%s; left as it is", zr_error_text());
	zr_error_clear();
	say(options, text);
}

static void set_number(struct kernel_settings *settings, const char *path, int64_t value,
		       const struct play_options *options)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	set_or_say(settings, path, text, options);
}

static void set_limit(struct kernel_settings *settings, const struct kernel_host *host,
		      uint64_t limit_bytes, const struct play_options *options)
{
	uint64_t got, off;
	uint32_t percent = kernel_pool_percent(limit_bytes, host->memory_bytes, &got);
	char text[256];

	off = got > limit_bytes ? got - limit_bytes : limit_bytes - got;
	if (off > limit_bytes / 20) {
		snprintf(text, sizeof(text),
			 "the pool's limit shall be %" PRIu64
			 " KiB, and the nearest whole percentage of this "
			 "machine's memory, %u, makes %" PRIu64
			 " KiB; a machine with the recorded one's memory "
			 "comes nearer",
			 limit_bytes >> 10, percent, got >> 10);
		say(options, text);
	}
	set_number(settings, ZSWAP "max_pool_percent", percent, options);
}

enum zr_err kernel_settings_zswap(struct kernel_settings *settings, const struct kernel_host *host,
				  const struct kernel_zswap *zswap,
				  const struct play_options *options)
{
	if (zswap->compressor[0])
		set_or_say(settings, ZSWAP "compressor", zswap->compressor, options);
	set_limit(settings, host, zswap->limit_bytes, options);
	set_number(settings, ZSWAP "accept_threshold_percent", zswap->accept_percent, options);
	if (zswap->shrinker != SIM_RECORDED)
		set_or_say(settings, ZSWAP "shrinker_enabled", zswap->shrinker ? "Y" : "N",
			   options);
	set_number(settings, "/proc/sys/vm/page-cluster", 0, options);
	return kernel_settings_set(settings, ZSWAP "enabled", "Y");
}
