/* SPDX-License-Identifier: MIT */
/*
 * Where a live recording goes: into the trace file, or into the flight recorder until somebody wants it
 * written. With --anonymize names are replaced on the way. With the block source, what requests tell is
 * added to the events.
 */
#ifndef RECORDER_OUTLET_H
#define RECORDER_OUTLET_H

#include "recorder/anonym.h"
#include "recorder/block.h"
#include "recorder/environ.h"
#include "recorder/flight.h"
#include "recorder/source.h"
#include "recorder/trace.h"

struct rec_outlet {
	struct rec_trace trace; /* without a file while it goes into the flight recorder */
	struct rec_flight *flight;
	struct rec_block *block; /* NULL: events are what the fold made */
	bool anonymize;
	struct rec_anonym anonym;
	uint64_t pages_out, pages_in;
};

/* The fold's sink; `arg` is the outlet. */
enum zr_err rec_outlet_event(void *arg, const struct db_event *event);

enum zr_err rec_outlet_memcg(struct rec_outlet *outlet, const struct db_memcg *memcg);
enum zr_err rec_outlet_task(struct rec_outlet *outlet, const struct db_task *task);

/* An area, and the settings of its disk. */
enum zr_err rec_outlet_area(struct rec_outlet *outlet, const struct rec_paths *paths,
			    const struct rec_swap *swap);

enum zr_err rec_outlet_sample(struct rec_outlet *outlet, const struct rec_paths *paths,
			      const struct rec_cgroups *cgroups, uint64_t time_ns);

/* The machine's settings and the notes into the trace's environment; names hidden if they shall be. */
enum zr_err rec_outlet_environ(struct rec_outlet *outlet, const struct rec_paths *paths);
enum zr_err rec_outlet_notes(struct rec_outlet *outlet, const struct rec_notes *notes);

/* Commits what is pending, if there is a file. */
enum zr_err rec_outlet_flush(struct rec_outlet *outlet);

/* Bytes of chunks, in the file or in memory. */
uint64_t rec_outlet_bytes(const struct rec_outlet *outlet);

/* The name of the n-th file (from 1) of a flight recorder: "t.zr", "t.2.zr" ... */
void rec_outlet_name(const char *output, uint32_t n, char *text, size_t bytes);

#endif
