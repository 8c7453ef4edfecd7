/* SPDX-License-Identifier: MIT */
/*
 * A control group (v2) of our own for the time of a run, so that what the run does is counted apart from what
 * else goes on, and can be limited and weighted.
 *
 * Where it is made: the nearest group above this process that hands the wanted controllers to its children
 * already and lets us make one; if there is none, below the root of the hierarchy, where the controllers are
 * switched on, and off again in the end. (No group that has processes may hand controllers down, but for the
 * root, so it cannot be made below this process's own.)
 *
 *   /sys/fs/cgroup/ ... /above/            cgroup.subtree_control has what is wanted
 *                          ├── ours/       this process, before
 *                          └── zreel-PID/  cgroup_make()
 *                                ├── a/    cgroup_make_below(), say one for each of two rivals
 *                                └── b/
 *
 * Taking down never waits for the caller's order: cgroup_free() moves processes that are still in the group, or in
 * groups below it, to where this process came from, and removes what was made. What a killed process left is an empty
 * directory, which the administrator may remove with rmdir.
 *
 * Threads of a process stay together: the controllers io and memory know no others.
 */
#ifndef REPLAYER_CGROUP_H
#define REPLAYER_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "db/base/err.h"

/* How the file system is reached; tests put one of their own here. Errnos, 0 if done; read: NULL with errno. */
struct cgroup_calls {
	int (*make)(void *arg, const char *path);
	int (*remove)(void *arg, const char *path);
	int (*write)(void *arg, const char *path, const char *text);
	char *(*read)(void *arg, const char *path);
	void *arg;
};

struct cgroup_options {
	const char *name;	 /* of the group, before "-PID"; NULL = "zreel" */
	const char *controllers; /* all of them are needed: "io", "memory io" */
	const struct cgroup_calls *calls; /* NULL = the kernel's */
};

struct cgroup;

/* ZR_UNSUPPORTED where the hierarchy or a controller is missing, ZR_PERM where it may not be had. */
enum zr_err cgroup_make(const struct cgroup_options *options, struct cgroup **out);

/* A group below one that has no processes; `controllers` as above, or "". Freed before its parent, or with it. */
enum zr_err cgroup_make_below(struct cgroup *parent, const char *name, const char *controllers,
			      struct cgroup **out);

/* Its directory. */
const char *cgroup_path(const struct cgroup *cgroup);

/* Moves a process into it; 0 = this one. */
enum zr_err cgroup_put(struct cgroup *cgroup, pid_t pid);

/* Moves this process to where it was before cgroup_make(). */
enum zr_err cgroup_leave(struct cgroup *cgroup);

/* A control file. The text is the caller's to free. */
enum zr_err cgroup_write(const struct cgroup *cgroup, const char *file, const char *text);
enum zr_err cgroup_read(const struct cgroup *cgroup, const char *file, char **out);

/* The same without an error: NULL if the kernel does not have the file. */
char *cgroup_peek(const struct cgroup *cgroup, const char *file);

/* The directory of the root of the hierarchy, where io.cost.model and its like are. */
const char *cgroup_root(const struct cgroup *cgroup);

/* Takes down, with all below; the first thing that could not be is told, the rest is done anyway. NULL is fine. */
enum zr_err cgroup_free(struct cgroup *cgroup);

/* In text of the form of /proc/self/mountinfo: where the v2 hierarchy is mounted. False: nowhere. */
bool cgroup_find_mount(const char *mountinfo, char *path, size_t bytes);

/* In text of the form of /proc/self/cgroup: the v2 group, from the root ("/" itself). False: none. */
bool cgroup_find_own(const char *text, char *path, size_t bytes);

#endif
