/* SPDX-License-Identifier: MIT */
/*
 * What stands before a device that is about to be overwritten.
 *
 * A block device is opened only if it is named twice, is not mounted, not swapped on, not in use by the
 * kernel or anybody with an exclusive claim (O_EXCL), and carries no signature that is known here. An
 * existing regular file is opened only if zreel made it or it is named twice, and never while it is swapped
 * on. A file that is not there is made, marked as zreel's, and removed by device_close(); but never in /dev, where it
 * would be a device's name mistyped.
 */
#ifndef REPLAYER_DEVICE_GUARD_H
#define REPLAYER_DEVICE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "db/base/err.h"

struct device_file {
	int fd; /* O_RDWR | O_DIRECT */
	bool is_block, created;
	uint32_t major, minor; /* of the block device, or of what holds the file */
	uint64_t bytes;	       /* size found */
	char model[128];       /* model and serial, where the kernel tells */
};

/* Bytes that device_signature() wants to see. */
enum { DEVICE_SIGNATURE_BYTES = 68 * 1024 };

/* Marks the first page of a file as zreel's, and recognises it. */
void device_mark(void *page, size_t bytes);
bool device_is_marked(const void *page, size_t bytes);

/* The name of what the first bytes of a device hold, or NULL: file systems, swap, volume managers,
 * encryption, partition tables. */
const char *device_signature(const void *start, size_t bytes);

/* Is `device` (MAJOR:MINOR) or `path` named in text of the form of /proc/self/mountinfo, /proc/swaps? */
bool device_is_mounted(const char *mountinfo, uint32_t major, uint32_t minor);
bool device_is_swap(const char *swaps, const char *path);

/* What a block device is, without opening it: all but fd and bytes. */
void device_file_describe(const struct stat *st, struct device_file *out);

/* A file in the disk's folder of sysfs, "queue/scheduler"; a partition's folder lies in it. Without its newline and the
 * blanks that fill it up; "" if there is none. */
void device_attribute(const struct device_file *file, const char *name, char *out, size_t bytes);

/* The disk of a partition, major and minor; anything else is its own. */
void device_disk(uint32_t major_number, uint32_t minor_number, uint32_t disk[2]);

/* How many requests the disk below takes at once without making anybody wait; UINT32_MAX if the kernel does not tell. */
uint32_t device_tags(const struct device_file *file);

enum zr_err device_file_open(const char *path, const char *yes_destroy, struct device_file *out);

#endif
