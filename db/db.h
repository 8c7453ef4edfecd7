/* SPDX-License-Identifier: MIT */
/*
 * The trace file (.zr): one SQLite file that holds events in compressed column chunks, what they refer
 * to (cgroups, tasks, swap areas), the environment in which they were taken, and results of replays.
 *
 * This is the only header of db/ that other folders include (with db/event.h for the events). A file may
 * hold several hosts; every id below belongs to a host. Nothing here stores page contents.
 *
 * Errors: every function returns enum zr_err; the sentence for the user is in zr_error_text(). Bad files
 * give ZR_NOT_A_TRACE, ZR_NEWER_VERSION or ZR_CORRUPT, a missing one ZR_NOT_FOUND, and so on.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/arena.h"
#include "db/base/err.h"
#include "db/base/hist.h"
#include "db/event.h"

/* ---------------------------------------------------------------------------------------- the file */

struct db;

enum db_mode {
	DB_READ,    /* events and results; the file is not changed */
	DB_RESULTS, /* like DB_READ, and runs can be added; creates a file without events if there is none */
	DB_CREATE,  /* a new trace; ZR_EXISTS if the file is there already */
	DB_SALVAGE, /* like DB_READ, and a file that was cut short is opened too; for db_verify, db_repair */
};

enum zr_err db_open(const char *path, enum db_mode mode, struct db **out);

/*
 * Each commit of a new trace is synced, since a recording must survive a loss of power. What can be made
 * again (an import, a cut, a merge) need not pay for that: called right after db_open, this leaves it to
 * the end. A process that is killed loses nothing either way.
 */
enum zr_err db_set_bulk(struct db *db);

/* Commits what is pending and closes; NULL is fine. Returns the first error of that, and one that lost data
 * before. Readers and writers are freed first. */
enum zr_err db_close(struct db *db);

const char *db_path(const struct db *db);

/* The random 32-hex-digit name of the trace: runs remember on which trace they were made. */
const char *db_trace_id(const struct db *db);

/* False while a recording is in progress or if it ended abruptly. The recorder says when it is complete. */
bool db_is_complete(const struct db *db);
enum zr_err db_set_complete(struct db *db);

/* ------------------------------------------------------------------------------------- environment */

/* Keys of the environment, values as text. Percentages and counts are plain integers, booleans Y or N. */
#define DB_ENV_HOSTNAME		"host.name"
#define DB_ENV_KERNEL		"kernel.release"
#define DB_ENV_ARCH		"kernel.arch"
#define DB_ENV_PAGE_SIZE	"page_size"
#define DB_ENV_CPUS		"cpus"
#define DB_ENV_MEM_PAGES	"mem.total_pages" /* managed pages: the basis of max_pool_percent */
#define DB_ENV_CLOCK		"trace.clock"
#define DB_ENV_SOURCE		"trace.source" /* ftrace, perf, block, import:... */
#define DB_ENV_START_REALTIME	"trace.start_realtime_ns"
#define DB_ENV_COMMAND		"trace.command"
#define DB_ENV_TIME_UNIT	"trace.time_unit_ns" /* of the host's times, all multiples of it; written by the writer */
#define DB_ENV_ZSWAP_PREFIX	"zswap." /* + parameter: zswap.max_pool_percent, zswap.enabled ... */
#define DB_ENV_THP		"thp.enabled"
#define DB_ENV_MGLRU		"mglru.enabled"
#define DB_ENV_QUEUE_PREFIX	"queue." /* + area id + "." + setting: queue.1.scheduler ... */

enum zr_err db_env_set(struct db *db, uint32_t host, const char *key, const char *value);
enum zr_err db_env_setf(struct db *db, uint32_t host, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The value in the arena, or NULL if the key is not there. */
enum zr_err db_env_get(struct db *db, uint32_t host, const char *key, struct zr_arena *arena,
		       const char **out);

/* The value as an integer, or `otherwise` if the key is not there or is not a number. */
int64_t db_env_int(struct db *db, uint32_t host, const char *key, int64_t otherwise);

struct db_env {
	uint32_t host;
	const char *key, *value;
};

/* All of it, by host and key. */
enum zr_err db_env_all(struct db *db, struct zr_arena *arena, struct db_env **out, size_t *n);

/* ------------------------------------------------------------------------------------ dictionaries */

/* Ids of the hosts of which the file holds anything, ascending, in the arena. */
enum zr_err db_hosts(struct db *db, struct zr_arena *arena, uint32_t **out, size_t *n);

struct db_memcg {
	uint32_t host, id;
	uint64_t cgroup_id; /* kernfs id: the inode number of the cgroup's folder */
	const char *path;   /* below the cgroup mount, "/" for the root; "" when it was never learnt */
};

struct db_task {
	uint32_t host, id;
	uint32_t tid, tgid; /* tgid 0: not learnt */
	const char *comm;   /* "" unless recorded with --with-comm */
};

struct db_area {
	uint32_t host, id;
	uint32_t type;	       /* the kernel's swap type number */
	const char *path;      /* device or file */
	bool is_file;
	uint32_t major, minor; /* of the block device that holds it */
	uint64_t start_sector; /* of a partition on its disk; 0 for a whole disk */
	uint64_t slots;	       /* size in pages, header included */
	int32_t priority;
};

/* Insert or replace by (host, id). */
enum zr_err db_put_memcg(struct db *db, const struct db_memcg *memcg);
enum zr_err db_put_task(struct db *db, const struct db_task *task);
enum zr_err db_put_area(struct db *db, const struct db_area *area);

/* All of a host, ascending by id, in the arena. */
enum zr_err db_memcgs(struct db *db, uint32_t host, struct zr_arena *arena, struct db_memcg **out,
		      size_t *n);
enum zr_err db_tasks(struct db *db, uint32_t host, struct zr_arena *arena, struct db_task **out,
		     size_t *n);
enum zr_err db_areas(struct db *db, uint32_t host, struct zr_arena *arena, struct db_area **out,
		     size_t *n);

/* One counter reading of the once-a-second samples: source is "vmstat", "zswap", "psi.io" or
 * "cgroup PATH FILE". */
enum zr_err db_put_sample(struct db *db, uint32_t host, uint64_t time_ns, const char *source,
			  const char *name, double value);

struct db_counter {
	uint32_t host;
	const char *source, *name;
};

struct db_sample {
	uint64_t time_ns;
	double value;
};

/* Counters of a host by source and name; samples of a counter by time. */
enum zr_err db_counters(struct db *db, uint32_t host, struct zr_arena *arena,
			struct db_counter **out, size_t *n);
enum zr_err db_samples(struct db *db, const struct db_counter *counter, struct zr_arena *arena,
		       struct db_sample **out, size_t *n);

/* ------------------------------------------------------------------------------------------ writer */

struct db_writer;

struct db_writer_options {
	uint32_t host;
	int zstd_level;		 /* 0 = a setting of our own: as small as 3, and faster; see chunk.c */
	uint64_t flush_every_ns; /* of trace time: a chunk is cut when it spans more; 0 = 1 s. UINT64_MAX:
				  * only full ones, for what can be made again */
	/* Times are rounded down to a multiple; 0 = 1. 1000 saves a byte an event. Kept in the environment
	 * (DB_ENV_TIME_UNIT); what a host has coarser already stays so. */
	uint32_t time_unit_ns;
};

/* One writer a host at a time. */
enum zr_err db_writer_new(struct db *db, const struct db_writer_options *options,
			  struct db_writer **out);

/* Appends; times must ascend (an event earlier than the last is taken at the last one's time and counted
 * in db_writer_stats). A full or too long chunk is encoded and committed. */
enum zr_err db_writer_add(struct db_writer *writer, const struct db_event *event);

/* Encodes what is pending as a chunk (however short) and commits: after it the events are safe. */
enum zr_err db_writer_flush(struct db_writer *writer);

struct db_writer_stats {
	uint64_t events, chunks, chunk_bytes, clamped_times;
};

struct db_writer_stats db_writer_stats(const struct db_writer *writer);

/* Flushes and frees; NULL is fine. */
enum zr_err db_writer_free(struct db_writer *writer);

/* ------------------------------------------------------------------------------------------ reader */

struct db_filter {
	uint64_t from_ns, to_ns; /* [from, to); to 0 = the end */
	uint32_t kinds;		 /* bits 1 << enum db_kind; 0 = all */
	int64_t host;		 /* -1 = all */
};

struct db_reader;

/* `filter` NULL = all. Chunks outside the filter are skipped by the index; batches hold only events
 * inside it. Order: by time within a host. The reader holds one chunk and one batch in memory. */
enum zr_err db_reader_new(struct db *db, const struct db_filter *filter, struct db_reader **out);

/* The next batch, NULL at the end. Valid until the next call. */
enum zr_err db_reader_next(struct db_reader *reader, const struct db_batch **out);

void db_reader_free(struct db_reader *reader);

/* A batch of one's own, for generators and tests: arrays in the arena. */
enum zr_err db_batch_init(struct db_batch *batch, struct zr_arena *arena);

/* One row as a record and a record as a new row (n < DB_BATCH_EVENTS). */
struct db_event db_batch_event(const struct db_batch *batch, uint32_t row);
void db_batch_add(struct db_batch *batch, const struct db_event *event);

/* Fields of an event in the words of the tools (`stored`, `zswap`, `written`, `read` ...), NULL if its
 * kind has none; the pages
 * (slots) that it is about, 0 if its kind has none. */
const char *db_event_outcome(const struct db_event *event);
const char *db_event_reason(const struct db_event *event);
const char *db_event_phase(const struct db_event *event); /* of an IO */
uint32_t db_event_pages(const struct db_event *event);

/* The sums of a trace that `info` shows; one decoding pass. */
struct db_summary {
	uint64_t events[DB_KIND_COUNT];
	uint64_t stored, rejected, zero, kept;		 /* OUT, pages */
	uint64_t in_zswap, in_disk, in_zero, in_error;	 /* IN, pages */
	uint64_t written_back;				 /* WB that were written */
	uint64_t gaps, lost_events;
	uint64_t first_ns, last_ns, span_ns; /* span: sum over hosts of last - first */
	uint64_t chunks, chunk_bytes;
	uint32_t hosts;
};

enum zr_err db_summarise(struct db *db, struct db_summary *out);

/* ----------------------------------------------------------------------------------------- results */

/* How a figure came to be: the kernel counted it; the I/O plan was counted without doing it; or the
 * device model computed it. Model figures are never shown as measured ones. */
enum db_figure { DB_MEASURED, DB_PLANNED, DB_MODELLED };

struct db_run {
	int64_t id;	      /* filled by db_run_add */
	const char *policy;   /* as the user wrote it */
	const char *knobs;    /* fully expanded */
	const char *target;   /* null, model, device, kernel */
	const char *target_detail; /* path, device model, scheduler ... or "" */
	const char *drive;    /* demand, writebacks */
	const char *pace;
	const char *trace_id, *trace_path;
	uint32_t host;
	int64_t created_realtime_ns;
	int32_t reps;
	bool partial; /* ended early: figures are of what was done */
	const char *note;
};

struct db_metric {
	int64_t run;
	int32_t rep;
	const char *name;
	double value;
	enum db_figure figure;
};

struct db_point {
	const char *series;
	uint64_t time_ns;
	double value;
};

/* A run with all it has, in one transaction. Fills run->id. */
enum zr_err db_run_add(struct db *db, struct db_run *run, const struct db_metric *metrics,
		       size_t n_metrics, const struct db_point *points, size_t n_points);

/* All runs, oldest first; metrics of a run by name and rep; points of a series by time. */
enum zr_err db_runs(struct db *db, struct zr_arena *arena, struct db_run **out, size_t *n);
enum zr_err db_metrics(struct db *db, int64_t run, struct zr_arena *arena, struct db_metric **out,
		       size_t *n);
enum zr_err db_points(struct db *db, int64_t run, const char *series, struct zr_arena *arena,
		      struct db_point **out, size_t *n);

/* ------------------------------------------------------------------------------------------- tools */

/* How a long job tells how far it is (0..1) and asks whether to go on: false ends it with
 * ZR_INTERRUPTED. A NULL fn is never asked. */
struct db_watch {
	bool (*fn)(void *arg, double done);
	void *arg;
};

/* A time as people give it: nothing, since the first event of the host, or of the host's trace clock. */
struct db_moment {
	enum { DB_MOMENT_NONE, DB_MOMENT_SINCE_START, DB_MOMENT_CLOCK } base;
	uint64_t ns;
};

/*
 * A part of a trace. What is zero does not restrict. The conditions hold for events that have the thing in
 * question: an area or a range of slots asks OUT, IN, FREE, WB and IO only; a cgroup, with all below it,
 * asks all but WORKER, SAMPLE and GAP. Three events know their cgroup by the slot: a FREE (and an IN or WB
 * without an owner) is of the cgroup that owned the slot, an IO of each that owned a slot of it at any time,
 * so that a request is kept whole or not at all. A folio is kept with all its parts or not at all. A GAP is
 * kept by every condition but `kinds`.
 */
struct db_selection {
	struct db_moment from, to; /* [from, to) */
	uint32_t kinds;		   /* bits 1 << enum db_kind */
	bool one_host, one_area, some_slots;
	uint32_t host, area;
	uint32_t slot_first, slot_last; /* both inclusive */
	const char *const *cgroups;	/* paths, or ids as decimal numbers */
	uint32_t n_cgroups;
};

struct db_selector;

/* The selection's events, host by host, by time. ZR_NO_DATA names what of it the trace does not have. What
 * is passed must outlive the selector. Memory: two chunks, and with cgroups a byte for each slot in use. */
enum zr_err db_selector_new(struct db *db, const struct db_selection *selection,
			    const struct db_watch *watch, struct db_selector **out);
/* The next batch, never empty, NULL at the end. Valid until the next call. */
enum zr_err db_selector_next(struct db_selector *selector, const struct db_batch **out);
/* The time of the first event that the host of the last batch has in the file, selected or not. */
uint64_t db_selector_start_ns(const struct db_selector *selector);
void db_selector_free(struct db_selector *selector);

/*
 * The functions below that write a trace make a new file (ZR_EXISTS if there is one) and remove it when
 * they fail or are interrupted; the sentence of the error says so. The new trace has a name of its own.
 */

struct db_edit_result {
	uint64_t events, gaps, lost_events; /* in the new file */
	uint64_t samples, runs;
	uint64_t duplicates; /* merge of one host: events that two inputs had */
	uint32_t files, hosts;
};

struct db_cut_options {
	struct db_selection selection;
	const char *output;
	uint32_t time_unit_ns; /* times of the new trace are rounded down to it; 0 = as they are */
	struct db_watch watch;
};

/* The selection as a trace of its own: all dictionaries (ids stay what they are), the environment, the
 * samples of the time span. Runs are results about another trace and stay behind. */
enum zr_err db_cut(struct db *db, const struct db_cut_options *options, struct db_edit_result *out);

struct db_merge_options {
	const char *const *inputs;
	uint32_t n_inputs;
	const char *output;
	bool same_host; /* all inputs are of one host and clock: one host comes out */
	bool force;	/* take a trace that another input holds too */
	uint32_t time_unit_ns; /* as of a cut */
	struct db_watch watch;
};

/*
 * All that the inputs hold as one trace, one input open at a time. Every host of every input becomes a host
 * of its own, numbered from 0 in the order of the inputs; its environment gets merge.trace_id, merge.host
 * and merge.file, which say where it came from. Runs keep the trace_id and host on which they were made.
 *
 * same_host: the inputs' events are woven by time, equal cgroups, tasks and areas become one, and what two
 * inputs have both is taken once. Where an area is met again after the input that had it has ended, a GAP
 * (IMPORT, 1 event) says that something may be missing. Refused when the inputs' host name, clock or page
 * size differ, or when two that overlap in time have events of one area (unless forced).
 */
enum zr_err db_merge(const struct db_merge_options *options, struct db_edit_result *out);

/* name, what it means */
#define DB_CHECKS(X)                                                                               \
	X(SQLITE, "sqlite", "the database itself is damaged")                                      \
	X(UNREADABLE, "unreadable", "a chunk cannot be read")                                      \
	X(CHUNK, "chunk", "the events of a chunk are damaged")                                     \
	X(ROW, "row", "a chunk's row does not describe its events")                                \
	X(ORDER, "order", "a chunk begins before the end of the one before it")                    \
	X(HOST, "host", "a chunk is of a host that is not listed")                                 \
	X(AREA, "area", "events of a swap area that is not listed")                                \
	X(MEMCG, "memcg", "events of a cgroup that is not listed")                                 \
	X(TASK, "task", "events of a task that is not listed")                                     \
	X(SLOT, "slot", "events of slots beyond the end of their swap area")                       \
	X(PART, "part", "parts of a large folio without their folio")

enum db_check {
#define X(id, name, text) DB_CHECK_##id,
	DB_CHECKS(X)
#undef X
	DB_CHECK_COUNT,
};

const char *db_check_name(enum db_check check);

struct db_finding {
	enum db_check check;
	int64_t chunk;	/* id of its row; -1 = none */
	uint64_t count; /* events of that chunk that are concerned, or 1 */
	const char *text;
};

struct db_verify_options {
	void (*finding)(void *arg, const struct db_finding *finding); /* NULL = only counted */
	void *arg;
	struct db_watch watch;
};

struct db_verify_result {
	uint64_t chunks, bad_chunks, events; /* events: of chunks that can be read */
	uint64_t lost_events;		     /* by the rows of those that cannot; at least 1 each */
	uint64_t findings[DB_CHECK_COUNT];
	uint64_t damages; /* sum of the findings; 0 = sound */
	/* No damage, since a recording begins somewhere: a FREE, IN or WB of a slot of which no OUT was seen,
	 * a large stored folio with fewer parts than its order says. */
	uint64_t frees_of_nothing, ins_of_nothing, wbs_of_nothing, short_folios;
	bool cut_short; /* the list of chunks ends in damage: more is lost than the counts say */
	bool complete;	/* not if it is cut short, however its recording ended */
};

/* Reads all of a trace and checks it against itself; damage is reported and counted, not an error. */
enum zr_err db_verify(struct db *db, const struct db_verify_options *options,
		      struct db_verify_result *out);

/* db_verify, and then a new trace of all that is sound: in place of each chunk that is lost stands a GAP
 * (IMPORT) with its number of events, or 1 if that is not known; ids without a row get an empty one. Of a
 * trace that is cut short it is not complete. */
enum zr_err db_repair(struct db *db, const char *output, const struct db_verify_options *options,
		      struct db_verify_result *found, struct db_edit_result *out);

struct db_export_result {
	uint64_t records; /* lines or records written */
	uint64_t events;  /* that they stand for */
	uint64_t changed; /* events that the format cannot carry exactly */
	uint64_t dropped; /* events that it cannot carry at all */
};

/*
 * The selection in a format of others; see export.h for what each can carry. All three hold one host:
 * ZR_USAGE if the selection has several. ftrace: text with the canonical events. fio: an iolog, version 3,
 * of the requests as they were issued. oracle: records of 24 bytes for cache simulators; `out` must be a
 * file that can be written anywhere (not a pipe).
 */
enum zr_err db_export_ftrace(struct db *db, const struct db_selection *selection,
			     const struct db_watch *watch, FILE *out, struct db_export_result *result);
enum zr_err db_export_fio(struct db *db, const struct db_selection *selection,
			  const struct db_watch *watch, FILE *out, struct db_export_result *result);
enum zr_err db_export_oracle(struct db *db, const struct db_selection *selection,
			     const struct db_watch *watch, FILE *out, struct db_export_result *result);

/* --------------------------------------------------------------------------------------------- SQL */

struct db_sql_value {
	enum { DB_SQL_NULL, DB_SQL_INT, DB_SQL_REAL, DB_SQL_TEXT, DB_SQL_BLOB } type;
	int64_t integer;
	double real;
	const void *data; /* of a text (ends with 0) or a blob */
	size_t bytes;
};

struct db_sql_row {
	int n;
	const char *const *names; /* of the columns */
	const struct db_sql_value *values;
};

/* What takes the rows; they are valid for the call. An error ends the query and is returned. */
struct db_sql_sink {
	enum zr_err (*head)(void *arg, int n, const char *const *names); /* once, first; NULL is fine */
	enum zr_err (*row)(void *arg, const struct db_sql_row *row);
	void *arg;
	struct db_watch watch; /* asked now and then; `done` is always 0 */
};

struct db_sql_result {
	uint64_t rows;
	uint64_t chunks_decoded; /* for the table `events` */
	const char *rest;	 /* of the text, after the statement: "" if there was one only */
};

/*
 * Runs the first statement of a text: queries only, on all tables of the file and on `events`, which has
 * one row for each event (see db/QUERIES.md). An empty text (white space, comments) is no error and has
 * no rows. ZR_USAGE when SQLite does not understand it, ZR_PERM when it is not a query.
 */
enum zr_err db_sql_query(struct db *db, const char *text, const struct db_sql_sink *sink,
			 struct db_sql_result *out);

/* Whether a text ends with a whole statement: what an interactive shell asks before it runs one. */
bool db_sql_is_complete(const char *text);

#endif
