/* SPDX-License-Identifier: MIT */
/*
 * What a device was like when it was replayed on: the text that a run keeps as its target_detail, and by which two
 * runs are alike or not.
 *
 *   PATH; key=value; key=value ...
 *
 *   kernel          release
 *   model, bytes    of the disk; the size of the device itself. (Never the serial number: results are shown around.)
 *   fs, mount       of a file: type of its file system and the mount options
 *   scheduler, nomerges, wbt_us, rotational, write_cache, nr_requests, max_sectors_kb, max_segments,
 *   logical_block_size, physical_block_size
 *                   the disk's queue, as in sysfs; of a file on a disk, that disk's
 *   iocost_qos, iocost_model
 *                   the disk's lines of io.cost.qos and io.cost.model, where iocost knows the disk
 *
 * What the kernel does not tell is left out. "; " and control characters inside of a value are written as '?'.
 */
#ifndef REPLAYER_DEVICE_ENV_H
#define REPLAYER_DEVICE_ENV_H

#include "replayer/device_guard.h"

enum { DEVICE_ENV_BYTES = 2048 };

/* Where the kernel tells: "/sys", "/proc", and the root of the cgroup v2 hierarchy or NULL. */
struct device_env_places {
	const char *sys, *proc, *cgroup;
};

/* The whole text; `text` has DEVICE_ENV_BYTES. */
void device_env_read(const struct device_env_places *places, const char *path, const struct device_file *file,
		     char *text);

/* Adds a setting of the replay itself that makes runs unlike. */
void device_env_add(char *text, const char *key, const char *value);

#endif
