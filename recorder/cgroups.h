/* SPDX-License-Identifier: MIT */
/*
 * The cgroups of the machine by their kernfs id, which is the inode number of the cgroup's directory.
 *
 * The tree is scanned at the start, and again when an id comes up that it did not have. A cgroup that is
 * gone keeps its last path; one that came and went between two scans never has any.
 */
#ifndef RECORDER_CGROUPS_H
#define RECORDER_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"

struct rec_cgroups;

/* `mount` is where the cgroup2 tree is mounted; "" gives a set without cgroups. */
enum zr_err rec_cgroups_open(const char *mount, struct rec_cgroups **out);
void rec_cgroups_close(struct rec_cgroups *cgroups);

/* Watches a cgroup and all below it. `path` is absolute, as from the shell, or below the mount. */
enum zr_err rec_cgroups_watch(struct rec_cgroups *cgroups, const char *path);

/* Is this cgroup watched? True for all while nothing is. */
bool rec_cgroups_watched(struct rec_cgroups *cgroups, uint64_t id);

/* The path below the mount, "/" for the root, "" if it is not known. Valid until the set is closed. */
const char *rec_cgroups_path(struct rec_cgroups *cgroups, uint64_t id);

uint32_t rec_cgroups_n_watched(const struct rec_cgroups *cgroups);

/* The path below the mount of the n-th watched cgroup, and its directory. */
const char *rec_cgroups_watched_path(const struct rec_cgroups *cgroups, uint32_t n);
void rec_cgroups_directory(const struct rec_cgroups *cgroups, uint32_t n, char *text, size_t bytes);

#endif
