/* SPDX-License-Identifier: MIT */
/*
 * The recorder: from a running kernel (or from somebody else's trace text) to a .zr file. The only header
 * of recorder/ that other folders include.
 *
 *   tracefs instance ──> per-CPU raw pages ──> merge by time ──> fold (entry/return pairs -> events) ──> db_writer
 *   ftrace text ───────> parser ───────────────────────────────────^
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

struct rec_status;

struct rec_options {
	const char *output;
	const char *const *cgroups; /* paths below the cgroup mount or absolute; the command runs in the first */
	uint32_t n_cgroups;
	char *const *command;	    /* NULL-terminated argv, or NULL */
	uint64_t duration_ns;	    /* 0 = until the command ends or a signal */
	uint64_t ring_bytes;	    /* per CPU; 0 = 8 MiB */
	uint64_t max_bytes;	    /* of the file; 0 = no limit */
	bool with_comm;
	/* Called about once a second; NULL = quiet. */
	void (*status)(void *arg, const struct rec_status *status);
	void *status_arg;
	const volatile int *stop; /* becomes non-zero when the user wants an end (signal handler) */
};

struct rec_status {
	uint64_t events;    /* written */
	uint64_t raw_events; /* read from the kernel, before folding */
	uint64_t lost;
	uint64_t chunk_bytes;
	uint64_t elapsed_ns;
};

struct rec_result {
	struct rec_status total;
	int command_status; /* as from waitpid; 0 if there was no command */
	uint64_t ring_lost, probe_missed, reader_lost;
	double cpu_seconds;
};

/* Records until the command ends, the duration is over, or *stop. Everything that was changed in tracefs is
 * undone on every way out. ZR_PERM / ZR_UNSUPPORTED say what is missing. */
enum zr_err rec_record(const struct rec_options *options, struct rec_result *out);

struct rec_import_result {
	uint64_t lines, raw_events, events, skipped;
	char first_skipped[256]; /* the first line that was not understood */
};

/* Imports ftrace text (`trace`, `trace_pipe`, `trace-cmd report`) with the canonical events of DESIGN.
 * `input` "-" = stdin. Text in which nothing is understood is an error that quotes its first line. */
enum zr_err rec_import(const char *input, const char *output, struct rec_import_result *out);

#endif
