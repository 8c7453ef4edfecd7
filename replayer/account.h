/* SPDX-License-Identifier: MIT */
/*
 * What the kernel counted while a device was replayed on, pass by pass.
 *
 *   the device's statistics     requests after merging, merges, sectors, times; of a block device, where nobody
 *                               else writes. A file shares its disk, so there they are not looked at.
 *   io.stat of our own cgroup   bios before merging, bytes, and iocost's times; of the disk below the target
 *   io.pressure of that cgroup  some and full
 *
 * The cgroup is made by account_group_open() and this process lives in its child `replay` until it is closed, so
 * that a rival can have a child of its own beside it. Figures bear the names of measure.h behind "block.", "io."
 * and "pressure."; one that the kernel does not have is not among them.
 */
#ifndef REPLAYER_ACCOUNT_H
#define REPLAYER_ACCOUNT_H

#include "replayer/cgroup.h"
#include "replayer/measure.h"
#include "replayer/replayer.h"

struct account_group {
	struct cgroup *top, *own; /* NULL = none */
	bool counts_bios;	  /* the io controller could be had */
	char why_not[512];	  /* why there is none, or not all; "" */
};

/* PLAY_CGROUP_AUTO makes one for block devices and notes in why_not what cannot be had; PLAY_CGROUP_ON fails then. */
enum zr_err account_group_open(enum play_cgroup use, bool is_block, struct account_group *out);

/* This process goes back to where it was. */
enum zr_err account_group_close(struct account_group *group);

struct account {
	bool is_block;
	uint32_t major, minor;		 /* of the block device; of what holds the file */
	uint32_t disk_major, disk_minor; /* the disk of a partition; else the same */
	const struct cgroup *group;	 /* NULL = none */
	struct measure before, counted;
};

/* Looks up the disk; the group stays the caller's. */
void account_init(struct account *account, bool is_block, uint32_t major, uint32_t minor);
void account_fini(struct account *account);

/* What lies between the two is in `counted`, until the next begin. */
void account_begin(struct account *account);
void account_end(struct account *account);

/* What was really handed to the kernel. */
struct account_submitted {
	uint64_t writes, bytes; /* calls, which become one bio or more each */
};

/* A sentence in `text` if the device saw writes that were not ours, or fewer than ours; "" if not, or if that is
 * not known. */
void account_check(const struct account *account, const struct account_submitted *submitted, char *text,
		   size_t bytes);

#endif
