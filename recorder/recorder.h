/* SPDX-License-Identifier: MIT */
/*
 * The recorder: from a running kernel (or from somebody else's trace text) to a .zr file. The only header
 * of recorder/ that other folders include.
 *
 *   tracefs instance ──> per-CPU raw pages ──> merge by time ──> fold (entry/return pairs -> events) ──> db_writer
 *   text, trace.dat, perf.data, blktrace ──> importers ─────────────^
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/db.h"

struct rec_status;

/* How the kernel's events are got at; name for --source */
#define REC_SOURCES(X)                                                                             \
	X(AUTO, "auto")	    /* the first of the others that works */                               \
	X(FTRACE, "ftrace") /* an instance in tracefs */                                           \
	X(PERF, "perf")	    /* perf_event_open; needs no write access to tracefs if the probes exist */ \
	X(BLOCK, "block")   /* no probes: the requests of the swap device alone */

enum rec_source_kind {
#define X(id, name) REC_SOURCE_##id,
	REC_SOURCES(X)
#undef X
	REC_SOURCE_COUNT,
};

struct rec_options {
	const char *output; /* flight: of the first time that it is written; then NAME.2.zr ... */
	enum rec_source_kind source;
	const char *events; /* a group of dynamic events that exist already (perf); NULL = define our own */
	const char *clock;  /* NULL = mono */
	const char *const *cgroups; /* paths below the cgroup mount or absolute; the command runs in the first */
	uint32_t n_cgroups;
	char *const *command;	    /* NULL-terminated argv, or NULL */
	uint64_t duration_ns;	    /* 0 = until the command ends or a signal */
	uint64_t ring_bytes;	    /* per CPU; 0 = 8 MiB, less if max_mem_bytes has no room for it */
	uint64_t max_mem_bytes;	    /* rings, queues and the flight recorder together; 0 = 256 MiB */
	uint64_t max_bytes;	    /* of the file; 0 = no limit */
	uint32_t time_unit_ns;	    /* times are rounded down to a multiple; 0 = 1 */
	bool with_comm;
	bool anonymize; /* no host, command or file names; cgroup paths hashed with a random key */
	bool own_tasks; /* perf: only what tasks of the cgroups do, not what is done to them */
	/* Flight recorder: the last minutes stay in memory and are written when *dump grows (a signal
	 * handler counts it up) or a trigger fires; see trigger.h. 0 = off. */
	uint64_t flight_ns;
	const volatile int *dump;
	const char *const *triggers;
	uint32_t n_triggers;
	/* Told of each time that it was written; `error` NULL = well. NULL = nobody cares. */
	void (*dumped)(void *arg, const char *path, const char *error);
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
	uint64_t pages_out, pages_in; /* swapped out and back, so far */
	uint64_t pool_bytes;	      /* of zswap, now; 0 where it cannot be read */
};

struct rec_result {
	struct rec_status total;
	int command_status; /* as from waitpid; 0 if there was no command */
	uint64_t ring_lost, probe_missed, reader_lost;
	double cpu_seconds;	  /* of this process, from its start */
	double start_cpu_seconds; /* of it, until the recording began: most of it is the kernel's work on probes */
	const char *source; /* ftrace, perf, block */
	uint32_t dumps;	    /* flight: times that it was written */
};

/* Records until the command ends, the duration is over, or *stop. Everything that was changed in tracefs is
 * undone on every way out. ZR_PERM / ZR_UNSUPPORTED say what is missing. */
enum zr_err rec_record(const struct rec_options *options, struct rec_result *out);

/* Processor seconds a million events of the kernel, from the start of the recording to its end, and bytes an
 * event of the trace; 0 without events. */
double rec_cpu_per_million(const struct rec_result *result);
double rec_bytes_per_event(const struct rec_result *result);

/* What recorders left in tracefs that were killed outright; `refused` could not be removed. */
struct rec_recovered {
	uint32_t instances, events, refused;
};

/* Removes that, and nothing of recorders that live. */
enum zr_err rec_recover(struct rec_recovered *out);

/* What an import can be made of; name for --format */
#define REC_IMPORT_FORMATS(X)                                                                      \
	X(AUTO, "auto")	      /* told from the content */                                          \
	X(TEXT, "text")	      /* ftrace, trace-cmd report, perf script, blkparse: line by line */  \
	X(TRACE_DAT, "trace.dat")                                                                  \
	X(PERF_DATA, "perf.data")                                                                  \
	X(BLKTRACE, "blktrace")

enum rec_import_format {
#define X(id, name) REC_IMPORT_##id,
	REC_IMPORT_FORMATS(X)
#undef X
	REC_IMPORT_FORMAT_COUNT,
};

/* Why something of the input is not in the trace: name for scripts, text for people */
#define REC_SKIPS(X)                                                                               \
	X(UNKNOWN, "not_understood", "lines or records that were not understood")                  \
	X(OTHER_EVENT, "other_events", "events that are none of the canonical ones (see --map)")   \
	X(LACKS_FIELD, "missing_field", "events that lack a field that is needed (see --map)")      \
	X(NO_AREA, "outside_areas", "block requests outside every swap area (see --swap-area)")    \
	X(OTHER_IO, "other_requests", "block requests that neither read, write nor discard")       \
	X(OTHER_ACTION, "other_actions", "steps of a block request that a trace does not store")   \
	X(NOT_SWAP, "not_block", "events that are not block requests, because of --as swap")

enum rec_skip {
#define X(id, name, text) REC_SKIP_##id,
	REC_SKIPS(X)
#undef X
	REC_SKIP_COUNT,
};

struct rec_import_options {
	const char *input; /* a path, or "-" for standard input */
	const char *output;
	enum rec_import_format format;
	const char *const *maps; /* rules THEIRS=OURS[,FIELD=THEIRS]..., or files of them; see import_map.h */
	uint32_t n_maps;
	const char *const *areas; /* TYPE:START_SECTOR:SECTORS[:MAJOR,MINOR] */
	uint32_t n_areas;
	bool has_device_offset;	  /* area 0 begins at this sector and has no known end */
	uint64_t device_offset_sectors;
	bool as_swap;		  /* block requests are swap-outs and refaults; all else is skipped */
	uint64_t mem_bytes;	  /* the environment that the input may not carry; 0 or NULL = unknown */
	uint32_t page_size;	  /* 0 = 4096 */
	const char *kernel;
	uint32_t time_unit_ns; /* times are rounded down to a multiple; 0 = 1 */
	/* Called now and then: `done` 0..1, negative if not known, and the events so far. False ends the
	 * import with what it has. NULL = never. */
	bool (*progress)(void *arg, double done, uint64_t events);
	void *progress_arg;
};

struct rec_import_result {
	uint64_t lines; /* or records */
	uint64_t raw_events, events, lost;
	uint64_t late; /* earlier than one before them: taken at that one's time */
	uint64_t skipped, skips[REC_SKIP_COUNT];
	char first_skipped[256]; /* the first that was skipped, as text */
	char format[32];	 /* what the input was */
	char note[256];		 /* what the reader wants the user to know; "" = nothing */
	bool interrupted;
};

/* Makes a trace of somebody else's recording with the canonical events of DESIGN. An input in which nothing
 * is understood is an error that quotes its first line, and leaves no file. */
enum zr_err rec_import(const struct rec_import_options *options, struct rec_import_result *out);

/* ---- a disk's writes as block tracepoints see them, to check other counts by ---- */

struct rec_block_count;

struct rec_block_writes {
	uint64_t requests, merges; /* completed; bios and requests that were merged into one */
};

/* Begins to count, of the disk that a block device is, or is a part of. ZR_PERM, ZR_UNSUPPORTED say what is missing. */
enum zr_err rec_block_count_open(const char *device, struct rec_block_count **out);

/* Since then. */
enum zr_err rec_block_count_read(const struct rec_block_count *count, struct rec_block_writes *out);
void rec_block_count_close(struct rec_block_count *count); /* NULL is fine */

/* ---- doctor: what can be recorded here, and what would have to change ---- */

enum { REC_DOCTOR_EVENTS = 48, REC_DOCTOR_CHECKS = 12 };

struct rec_doctor_event {
	const char *event, *function;	/* function NULL: there is none to take */
	const char *form;		/* "fprobe", "kprobe return", "tracepoint" ... */
	bool ok, vital;
	const char *lost;		/* without it */
	char why[256];			/* not ok: what is missing */
};

struct rec_doctor_check {
	const char *name;
	bool ok;
	char found[320], advice[320];	/* advice "" = nothing to do */
};

struct rec_doctor {
	char kernel[96];
	struct rec_doctor_event events[REC_DOCTOR_EVENTS];
	struct rec_doctor_check checks[REC_DOCTOR_CHECKS];
	uint32_t n_events, n_checks;
	bool probes_work; /* everything vital can be probed, as far as can be seen from here */
	bool can_record;  /* ... and this process may do it */
};

/* Looks only; needs no rights, but sees more with them. NULL for a root means the usual place. */
struct rec_doctor_roots {
	const char *proc, *sys;
};

enum zr_err rec_doctor(const struct rec_doctor_roots *roots, struct rec_doctor *out);

/* The probes' definitions for tracefs, trace-cmd and perf, with the canonical names in the group `zreel`, and
 * how to use them. What is missing is told as a comment; ZR_UNSUPPORTED if it is vital. */
enum zr_err rec_doctor_print_probes(const struct rec_doctor_roots *roots, FILE *out);

/* ---- the options of a recording ----
 *
 * One table for `zreel record` and for zreel-record, which have a parser each: the second is made without the
 * user interface.
 */

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
