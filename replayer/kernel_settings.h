/* SPDX-License-Identifier: MIT */
/*
 * The machine that a replay with --on kernel runs on: may it be used, what swaps does it have, and
 * its settings, which are changed for the time of the replay and then put back.
 *
 * A policy is for a kernel that is running already, so only what is a setting of it can be chosen:
 * pool, mem, accept, shrinker, wb, zswap_max. What a kernel is built to do (batch, plug, order ...)
 * is refused by name.
 *
 * The kernel's limit of the pool is a whole percentage of memory. The one that comes nearest to the
 * limit that is asked for is set, and it is said when that is not near.
 *
 * `root` is the directory under which /proc and /sys are looked for: "", or a directory of a test.
 */
#ifndef REPLAYER_KERNEL_SETTINGS_H
#define REPLAYER_KERNEL_SETTINGS_H

#include "replayer/replayer.h"

enum { KERNEL_SWAPS_MAX = 8 };

struct kernel_swap {
	char path[256];
	uint32_t major, minor; /* of the block device that holds it; 0, 0 = not known */
};

struct kernel_host {
	const char *root;
	uint32_t n_swaps;
	struct kernel_swap swaps[KERNEL_SWAPS_MAX];
	uint64_t free_swap_bytes, memory_bytes, free_memory_bytes;
	char release[96];
};

struct kernel_leave {
	bool superuser; /* is the caller root */
	bool this_host; /* the user means this machine, whatever it is */
};

/* Refuses, with what to do about it: ZR_PERM without root; ZR_UNSUPPORTED where this is no virtual
 * machine (and not meant), there is no zswap or no active swap. */
enum zr_err kernel_host_check(const char *root, const struct kernel_leave *leave,
			      struct kernel_host *out);

/* ZR_BAD_POLICY names the first word that no running kernel can be told. */
enum zr_err kernel_policy_check(const char *text);

/* The percentage of memory whose limit is nearest to the one that is wanted, 1..100, and what that
 * makes. */
uint32_t kernel_pool_percent(uint64_t limit_bytes, uint64_t memory_bytes, uint64_t *got_bytes);

struct kernel_settings;

enum zr_err kernel_settings_new(const char *root, struct kernel_settings **out);

/* Keeps the value that the file of /proc or /sys has, and writes another one. A file that the
 * kernel does not have, and a value that it refuses, are ZR_UNSUPPORTED. */
enum zr_err kernel_settings_set(struct kernel_settings *settings, const char *path,
				const char *value);

/* "max_pool_percent=20 enabled=N": what was changed, and what it was. */
void kernel_settings_to_text(const struct kernel_settings *settings, char *text, size_t bytes);

/* Puts all back, the last one first; the first thing that could not be is told, the rest is done
 * anyway. Frees. */
enum zr_err kernel_settings_restore(struct kernel_settings *settings);

/* What zswap shall be, of a policy over the machine that was recorded; compressor "" = as it is. */
struct kernel_zswap {
	uint64_t limit_bytes;
	int32_t accept_percent, shrinker; /* shrinker: 0, 1, or SIM_RECORDED = not known */
	char compressor[32];
};

/* Sets it, and vm.page-cluster=0, so that the kernel reads no pages ahead but those that the trace
 * has so. What it does not have is left as it is; `say` is told, and how far off a limit is. */
enum zr_err kernel_settings_zswap(struct kernel_settings *settings, const struct kernel_host *host,
				  const struct kernel_zswap *zswap,
				  const struct play_options *options);

#endif
