/* SPDX-License-Identifier: MIT */
/*
 * Our corner of tracefs: a group of dynamic events and an instance (ring buffers) of our own, both named
 * zreel_PID, so that recorders do not disturb each other or anybody else's tracing.
 *
 * Everything is undone by rec_tracefs_close(). What a recorder left that was killed outright is removed by
 * the next one, or by rec_tracefs_recover(): both look for names whose process is dead. What is still in
 * use, whatever its name says, the kernel does not let go.
 */
#ifndef RECORDER_TRACEFS_H
#define RECORDER_TRACEFS_H

#include <stdint.h>

#include "db/base/err.h"
#include "recorder/probes.h"

struct rec_tracefs;

struct rec_tracefs_setup {
	const char *dir;     /* where tracefs is mounted */
	const char *clock;
	uint64_t ring_bytes; /* a CPU; 0: no instance is made, there are only dynamic events */
};

/* Makes the instance, with tracing off. */
enum zr_err rec_tracefs_open(const struct rec_tracefs_setup *setup, struct rec_tracefs **out);

/* Removes the instances and dynamic events of recorders that are dead; how many there were, and how many
 * of them could not be removed. Those of living ones stay. */
struct rec_leftovers {
	uint32_t instances, events, refused;
};

void rec_tracefs_recover(const char *dir, struct rec_leftovers *out);

/* Undoes everything; NULL is fine. */
void rec_tracefs_close(struct rec_tracefs *tracefs);

/* Defines a probe: an fprobe, or a kprobe where the kernel has no fprobes. */
enum zr_err rec_tracefs_define(struct rec_tracefs *tracefs, const struct rec_probe *probe);

/* Defines it with its filter; it has to be enabled. */
enum zr_err rec_tracefs_add_probe(struct rec_tracefs *tracefs, const struct rec_probe *probe);

/* All that were added, or one of them. The kernel patches its code once for all, or once for each. */
enum zr_err rec_tracefs_enable_probes(struct rec_tracefs *tracefs);
enum zr_err rec_tracefs_enable_probe(struct rec_tracefs *tracefs, const struct rec_probe *probe);

/* Enables one of the kernel's own events. */
enum zr_err rec_tracefs_add_event(struct rec_tracefs *tracefs, const char *system,
				  const char *event, const char *filter);

enum zr_err rec_tracefs_on(struct rec_tracefs *tracefs);
void rec_tracefs_off(struct rec_tracefs *tracefs);

/* The directory of the instance, and the group's name. */
const char *rec_tracefs_instance(const struct rec_tracefs *tracefs);
const char *rec_tracefs_group(const struct rec_tracefs *tracefs);

/* Times that the kernel hit one of our probes and could not run it; -1 where it does not count them (it
 * does for kprobes only). */
int64_t rec_tracefs_missed(const struct rec_tracefs *tracefs);

#endif
