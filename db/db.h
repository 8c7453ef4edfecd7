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
};

enum zr_err db_open(const char *path, enum db_mode mode, struct db **out);

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
	int zstd_level;		 /* 0 = 1: as small as 3 and encodes 1.5 to 2 times as fast */
	uint64_t flush_every_ns; /* of trace time: a chunk is cut when it spans more; 0 = 1 s */
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

#endif
