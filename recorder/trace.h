/* SPDX-License-Identifier: MIT */
/*
 * A trace file being filled: the sink of the fold that writes dense ids into the dictionaries and events
 * into the chunk writer. Shared by the live session and the importers.
 */
#ifndef RECORDER_TRACE_H
#define RECORDER_TRACE_H

#include "db/db.h"
#include "recorder/fold.h"

enum { REC_HOST = 0 }; /* a recording is of one host */

struct rec_trace_how {
	uint32_t time_unit_ns; /* as of db_writer_options */
	bool again;	       /* it can be made again: full chunks, synced at the end only */
};

struct rec_trace {
	struct db *db;
	struct db_writer *writer;
};

enum zr_err rec_trace_open(const char *path, const struct rec_trace_how *how, struct rec_trace *out);

/* The sink's functions that need nothing but the trace; `arg` must be a struct rec_trace. */
enum zr_err rec_trace_event(void *arg, const struct db_event *event);
enum zr_err rec_trace_memcg(void *arg, uint32_t id, uint64_t key);
enum zr_err rec_trace_task(void *arg, uint32_t id, uint32_t tid);
enum zr_err rec_trace_area(void *arg, uint32_t id, uint32_t type);

/* Flushes and closes; marks the trace complete if `err` is ZR_OK. Returns the first error, `err` included.
 * A file that holds nothing because the work failed at once is removed. */
enum zr_err rec_trace_close(struct rec_trace *trace, enum zr_err err);

#endif
