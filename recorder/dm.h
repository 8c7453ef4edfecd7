/* SPDX-License-Identifier: MIT */
/*
 * Swap areas on device mapper (LVM, LUKS), whose requests are seen on the disk below only.
 *
 * A mapped device is a row of targets; linear and crypt ones say on which device they go on, and where. So the
 * extents of an area are cut at the targets' borders and moved, again and again until they lie on a disk. All
 * must lie on the same, since an area has one. The table is what holds when it is read: a device whose table
 * is changed under a live swap area (pvmove) is not followed.
 */
#ifndef RECORDER_DM_H
#define RECORDER_DM_H

#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"
#include "recorder/files.h"
#include "recorder/fold.h"

/* A part of a mapped device, in sectors of 512 bytes; dev in the kernel's encoding (major << 20 | minor). */
struct rec_dm_target {
	uint64_t start, sectors;
	uint32_t dev;
	uint64_t offset; /* on dev */
};

struct rec_extents {
	struct rec_extent *list; /* ascending by sector */
	uint32_t n;
};

/* The targets in what the kernel answers to DM_TABLE_STATUS, without its head; the caller frees *out.
 * ZR_UNSUPPORTED names a target that goes on in no way known here. */
enum zr_err rec_dm_targets(const void *answer, size_t bytes, uint32_t count,
			   struct rec_dm_target **out);

/* Moves extents of a mapped device to the device below, *dev. Borders must not cut a slot. */
enum zr_err rec_dm_move(const struct rec_dm_target *targets, uint32_t n, uint32_t sectors_per_slot,
			struct rec_extents *extents, uint32_t *dev);

/* Is it a mapped device? */
bool rec_dm_is(const struct rec_paths *paths, uint32_t dev);

/* Moves extents of a mapped device down to its disk, *dev. */
enum zr_err rec_dm_to_disk(const struct rec_paths *paths, uint32_t sectors_per_slot,
			   struct rec_extents *extents, uint32_t *dev);

#endif
