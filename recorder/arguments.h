/* SPDX-License-Identifier: MIT */
/*
 * The options of a recording: one table for `zreel record` and for zreel-record, which have a parser each (the
 * second is made without the user interface).
 */
#ifndef RECORDER_ARGUMENTS_H
#define RECORDER_ARGUMENTS_H

#include "recorder/recorder.h"

/* kind, letter, name, member, what the help calls its value, help. Kinds are FLAG bool, TEXT const char *, LIST
 * of the parser's own type, CHOICE int, BYTES and SPAN uint64_t. A choice is the place of the word. */
#define REC_ARGUMENTS(X)                                                                           \
	X(TEXT, 'o', "output", output, "FILE", "the trace to write; must not exist")               \
	X(CHOICE, 's', "source", source, "auto|ftrace|perf|block",                                 \
	  "how to get at the kernel's events: the first that works, or a certain one")             \
	X(TEXT, 0, "events", events, "GROUP",                                                      \
	  "perf: use the dynamic events of this group, which exist already")                       \
	X(LIST, 'c', "cgroup", cgroups, "PATH",                                                    \
	  "watch this cgroup (several -c: several); CMD runs in the first")                        \
	X(FLAG, 0, "own-tasks", own_tasks, NULL,                                                   \
	  "perf: only what tasks of these cgroups do themselves")                                  \
	X(SPAN, 'd', "duration", duration_ns, "TIME", "stop after this time (90, 1.5s, 2m)")       \
	X(BYTES, 0, "ring-size", ring_bytes, "BYTES", "ring buffer of each CPU (8M)")              \
	X(CHOICE, 0, "time-resolution", time_resolution, "ns|us|ms",                               \
	  "round its times down to this: us makes it smaller")                                     \
	X(BYTES, 0, "max-size", max_bytes, "BYTES", "stop when the file has grown to this")        \
	X(BYTES, 0, "max-mem", max_mem_bytes, "BYTES",                                             \
	  "memory of rings, queues and flight recorder together (256M)")                           \
	X(TEXT, 0, "clock", clock, "NAME",                                                         \
	  "trace clock: mono (default), boot, local, global, perf ...")                            \
	X(SPAN, 0, "flight", flight_ns, "TIME",                                                    \
	  "keep the last minutes in memory and write them on SIGUSR1")                             \
	X(LIST, 0, "trigger", triggers, "COND",                                                    \
	  "... or when this becomes true: 'psi.io.full>20', 'vmstat.pswpout>1000'")                \
	X(FLAG, 0, "with-comm", with_comm, NULL, "also record the names of tasks")                 \
	X(FLAG, 0, "anonymize", anonymize, NULL,                                                   \
	  "hide the names of cgroups, files, the host and CMD")                                    \
	X(FLAG, 0, "recover", recover, NULL,                                                       \
	  "remove what killed recorders left in tracefs, and end")                                 \
	X(FLAG, 0, "json", json, NULL, "print the totals as JSON")

/* The members of a struct of their values; `list` has `items` and `n`. */
#define REC_ARGUMENT_MEMBERS(list)                                                                 \
	const char *output, *events, *clock;                                                       \
	int source, time_resolution;                                                               \
	list cgroups, triggers;                                                                    \
	uint64_t duration_ns, ring_bytes, max_bytes, max_mem_bytes, flight_ns;                     \
	bool own_tasks, with_comm, anonymize, recover, json

/* What they ask for, as initialisers of a struct rec_options; it borrows the lists. */
#define REC_ARGUMENT_OPTIONS(values)                                                               \
	.output = (values)->output, .source = (enum rec_source_kind)(values)->source,              \
	.events = (values)->events, .clock = (values)->clock, .cgroups = (values)->cgroups.items,  \
	.n_cgroups = (values)->cgroups.n, .triggers = (values)->triggers.items,                    \
	.n_triggers = (values)->triggers.n, .duration_ns = (values)->duration_ns,                  \
	.ring_bytes = (values)->ring_bytes, .max_bytes = (values)->max_bytes,                      \
	.max_mem_bytes = (values)->max_mem_bytes, .flight_ns = (values)->flight_ns,                \
	.time_unit_ns = rec_argument_unit_ns((values)->time_resolution),                           \
	.own_tasks = (values)->own_tasks, .with_comm = (values)->with_comm,                        \
	.anonymize = (values)->anonymize

static inline uint32_t rec_argument_unit_ns(int choice)
{
	return choice == 0 ? 1 : choice == 1 ? 1000 : 1'000'000;
}

#endif
