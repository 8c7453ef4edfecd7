/* SPDX-License-Identifier: MIT */
/*
 * A recording session: from the options to a complete trace file.
 *
 *   open everything, tracing still off  ->  command held back  ->  tracing on  ->  let go
 *   round: note the clock, drain the buffers up to it, fold what is older than it by SLACK
 *   each second: a sample of counters, a look at the swap areas, a flush of the writer
 *   tracing off  ->  last round  ->  counts into the environment  ->  close everything
 *
 * Whatever goes wrong, close_all() undoes what was done, in reverse. The wait between rounds adapts: short
 * while events pour in, at most 100 ms, so that a lone event is in the file within about a second.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "recorder/btf.h"
#include "recorder/cgroups.h"
#include "recorder/command.h"
#include "recorder/environ.h"
#include "recorder/files.h"
#include "recorder/fold.h"
#include "recorder/probes.h"
#include "recorder/recorder.h"
#include "recorder/ring.h"
#include "recorder/trace.h"
#include "recorder/tracefs.h"

#define SECOND_NS     UINT64_C(1'000'000'000)
#define SLACK_NS      UINT64_C(2'000'000) /* an event may be stamped and not yet be in the buffer */
#define WAIT_MIN_NS   UINT64_C(1'000'000)
#define WAIT_MAX_NS   UINT64_C(100'000'000)
#define DEFAULT_RING  (UINT64_C(8) << 20)
#define BUSY_BYTES    (UINT64_C(256) << 10) /* a CPU and round: more means wait less */

struct session {
	const struct rec_options *options;
	struct rec_paths paths;
	struct rec_trace trace;
	struct rec_cgroups *cgroups;
	struct rec_btf *btf;
	struct rec_probes probes;
	struct rec_fold *fold;
	struct rec_tracefs *tracefs;
	struct rec_decoder *decoder;
	struct rec_ring *ring;
	struct rec_command command;
	struct rec_swap swaps[REC_SWAPS_MAX]; /* by type; an empty path is a free number */
	uint64_t start_ns, tick_ns, wait_ns;
	uint64_t done_ns; /* all records before it were folded */
	uint64_t told_lost; /* ring losses that are gaps already */
	int64_t told_missed;
	uint64_t probe_missed;
	uint64_t hits[REC_TYPE_COUNT];
	char cgroup_dir[4096];
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* --------------------------------------------------------------------------------------- dictionaries */

static enum zr_err put_event(void *arg, const struct db_event *event)
{
	struct session *session = arg;

	return rec_trace_event(&session->trace, event);
}

static enum zr_err put_memcg(void *arg, uint32_t id, uint64_t key)
{
	struct session *session = arg;

	return db_put_memcg(session->trace.db,
			    &(struct db_memcg){ .host = REC_HOST, .id = id, .cgroup_id = key,
						.path = rec_cgroups_path(session->cgroups, key) });
}

/* The task may be gone by now; then all that is known is its number. */
static enum zr_err put_task(void *arg, uint32_t id, uint32_t tid)
{
	struct session *session = arg;
	struct db_task task = { .host = REC_HOST, .id = id, .tid = tid, .comm = "" };
	char *status = rec_file_readf("%s/%u/status", session->paths.proc, tid), comm[64] = "";
	enum zr_err err;

	task.tgid = (uint32_t)rec_text_number(status, "Tgid", 0);
	if (session->options->with_comm)
		rec_file_line(comm, sizeof(comm), "%s/%u/comm", session->paths.proc, tid);
	task.comm = comm;
	err = db_put_task(session->trace.db, &task);
	free(status);
	return err;
}

static enum zr_err put_area(void *arg, uint32_t id, uint32_t type)
{
	struct session *session = arg;

	return rec_trace_area(&session->trace, id, type);
}

static bool watched(void *arg, uint64_t key)
{
	struct session *session = arg;

	return rec_cgroups_watched(session->cgroups, key);
}

/* ----------------------------------------------------------------------------------------- swap areas */

static enum zr_err add_area(struct session *session, struct rec_swap *swap, uint32_t type)
{
	struct rec_swap *ours = &session->swaps[type];
	uint32_t id;
	enum zr_err err;

	swap->area.type = swap->row.type = type;
	err = rec_fold_area(session->fold, &swap->area, &id);
	if (err)
		return err;
	swap->row.id = id;
	*ours = *swap;
	ours->row.path = ours->path;
	err = db_put_area(session->trace.db, &ours->row);
	return err ? err : rec_swap_put_queue(session->trace.db, &session->paths, ours, id);
}

static struct rec_swap *find_swap(struct rec_swap *swaps, uint32_t n, const char *path)
{
	for (uint32_t i = 0; i < n; i++)
		if (swaps[i].path[0] && strcmp(swaps[i].path, path) == 0)
			return &swaps[i];
	return NULL;
}

static uint32_t free_type(const struct session *session)
{
	uint32_t type = 0;

	while (type < REC_SWAPS_MAX - 1 && session->swaps[type].path[0])
		type++;
	return type;
}

/* The list does not show type numbers. But a new area gets the lowest free one, so they can be followed. */
static enum zr_err follow_areas(struct session *session, bool *changed)
{
	struct rec_swap found[REC_SWAPS_MAX];
	uint32_t n;
	enum zr_err err = rec_swaps_read(&session->paths, found, &n);

	*changed = false;
	for (uint32_t type = 0; !err && type < REC_SWAPS_MAX; type++)
		if (!find_swap(found, n, session->swaps[type].path))
			session->swaps[type].path[0] = '\0';
	for (uint32_t i = 0; !err && i < n; i++) {
		if (find_swap(session->swaps, REC_SWAPS_MAX, found[i].path))
			continue;
		*changed = true;
		err = add_area(session, &found[i], free_type(session));
	}
	return err;
}

/* ---------------------------------------------------------------------------------------------- probes */

static enum zr_err decode_event(struct session *session, const char *system, const char *event,
				enum rec_type type)
{
	const char *dir = rec_tracefs_instance(session->tracefs);
	char *format = rec_file_readf("%s/events/%s/%s/format", dir, system, event);
	enum zr_err err;

	if (!format)
		return zr_fail_errno(errno, "reading the format of %s:%s", system, event);
	err = rec_decoder_add(session->decoder, system, format, type);
	free(format);
	return err;
}

static enum zr_err note_missing(struct session *session, const char *event, const char *lost)
{
	char key[64];
	enum zr_err err;

	snprintf(key, sizeof(key), "probe.missing.%s", event);
	err = db_env_setf(session->trace.db, REC_HOST, key, "%s: %s", lost, zr_error_text());
	return err;
}

static enum zr_err add_probe(struct session *session, const struct rec_probe *probe)
{
	enum zr_err err = rec_tracefs_add_probe(session->tracefs, probe);

	if (!err)
		err = decode_event(session, rec_tracefs_group(session->tracefs), probe->event,
				   probe->type);
	if (!err || probe->vital)
		return err;
	err = note_missing(session, probe->event, probe->lost);
	if (!err)
		zr_error_clear();
	return err;
}

static enum zr_err add_probes(struct session *session)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < session->probes.n; i++)
		err = add_probe(session, &session->probes.probe[i]);
	return err;
}

static const enum rec_type block_types[] = { REC_RQ_ISSUE, REC_RQ_COMPLETE, REC_RQ_MERGE,
					     REC_BACKMERGE, REC_FRONTMERGE };

/* "dev == 271581184 || dev == ..." over the disks and partitions of all areas. */
static void block_filter(const struct session *session, char *text, size_t bytes)
{
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t type = 0; type < REC_SWAPS_MAX && n + 64 < bytes; type++) {
		const struct rec_swap *swap = &session->swaps[type];

		if (!swap->path[0])
			continue;
		n += (size_t)snprintf(text + n, bytes - n, "%sdev == %u", n ? " || " : "",
				      swap->area.disk_dev);
		if (swap->area.part_dev != swap->area.disk_dev)
			n += (size_t)snprintf(text + n, bytes - n, " || dev == %u",
					      swap->area.part_dev);
	}
}

static enum zr_err filter_block_events(struct session *session)
{
	char filter[2048];
	enum zr_err err = ZR_OK;

	block_filter(session, filter, sizeof(filter));
	for (size_t i = 0; !err && i < sizeof(block_types) / sizeof(*block_types); i++)
		err = rec_tracefs_add_event(session->tracefs, "block",
					    rec_type_name(block_types[i]), filter);
	return err;
}

static enum zr_err add_block_events(struct session *session)
{
	enum zr_err err = filter_block_events(session);

	for (size_t i = 0; !err && i < sizeof(block_types) / sizeof(*block_types); i++)
		err = decode_event(session, "block", rec_type_name(block_types[i]), block_types[i]);
	return err;
}

/* ------------------------------------------------------------------------------------------- opening */

static enum zr_err find_kernel(struct session *session)
{
	char path[512];
	enum zr_err err = rec_paths_find("/proc/mounts", &session->paths);

	if (err)
		return err;
	if (!session->paths.tracefs[0])
		return zr_fail(geteuid() ? ZR_PERM : ZR_UNSUPPORTED,
			       "recording: tracefs is not mounted; try: mount -t tracefs tracefs "
			       "/sys/kernel/tracing");
	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", session->paths.sys);
	err = rec_btf_open(path, &session->btf);
	snprintf(path, sizeof(path), "%s/kallsyms", session->paths.proc);
	return err ? err : rec_probes_choose(path, session->btf, &session->probes);
}

static enum zr_err open_cgroups(struct session *session)
{
	enum zr_err err = rec_cgroups_open(session->paths.cgroup, &session->cgroups);

	for (uint32_t i = 0; !err && i < session->options->n_cgroups; i++)
		err = rec_cgroups_watch(session->cgroups, session->options->cgroups[i]);
	return err;
}

static enum zr_err open_fold(struct session *session)
{
	struct rec_fold_options options = {
		.sink = { .event = put_event, .memcg = put_memcg, .task = put_task,
			  .area = put_area, .arg = session },
		.types = session->probes.types,
		.store_ret_of_failures = true,
		.load_ret_is_errno = session->probes.load_ret_is_errno,
		.wb_ret_is_lru_status = session->probes.wb_ret_is_lru_status,
		.stores_large = session->probes.stores_large,
	};
	bool changed;
	enum zr_err err;

	if (session->options->n_cgroups)
		options.sink.watched = watched;
	err = rec_fold_new(&options, &session->fold);
	if (!err)
		err = follow_areas(session, &changed);
	if (!err && !session->swaps[0].path[0])
		return zr_fail(ZR_UNSUPPORTED,
			       "recording: no swap area is switched on (%s/swaps is empty); see "
			       "swapon(8)",
			       session->paths.proc);
	return err;
}

static enum zr_err put_environment(struct session *session)
{
	struct db *db = session->trace.db;
	char command[1024] = "";
	size_t n = 0;
	enum zr_err err = rec_environ_put(db, &session->paths);

	for (char *const *arg = session->options->command; arg && *arg && n < sizeof(command); arg++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, "%s%s", n ? " " : "", *arg);
	if (!err)
		err = db_env_set(db, REC_HOST, DB_ENV_COMMAND, command);
	if (!err)
		err = db_env_set(db, REC_HOST, DB_ENV_CLOCK, "mono");
	if (!err)
		err = db_env_set(db, REC_HOST, DB_ENV_SOURCE, "ftrace");
	if (!err && session->probes.missing[0])
		err = db_env_set(db, REC_HOST, "probe.missing", session->probes.missing);
	return err;
}

static enum zr_err open_tracing(struct session *session)
{
	uint64_t bytes = session->options->ring_bytes;
	enum zr_err err = rec_tracefs_open(session->paths.tracefs, bytes ? bytes : DEFAULT_RING,
					   &session->tracefs);

	if (!err)
		err = rec_decoder_new(&session->probes.layout, &session->decoder);
	if (!err)
		err = add_probes(session);
	if (!err)
		err = add_block_events(session);
	return err ? err
		   : rec_ring_open(rec_tracefs_instance(session->tracefs), session->decoder,
				   &session->ring);
}

static enum zr_err start_command(struct session *session)
{
	const char *dir = NULL;

	if (!session->options->command)
		return ZR_OK;
	if (session->options->n_cgroups) {
		rec_cgroups_directory(session->cgroups, 0, session->cgroup_dir,
				      sizeof(session->cgroup_dir));
		dir = session->cgroup_dir;
	}
	return rec_command_start(session->options->command, dir, &session->command);
}

static enum zr_err open_all(struct session *session)
{
	enum zr_err err = find_kernel(session);

	if (!err)
		err = open_cgroups(session);
	if (!err)
		err = rec_trace_open(session->options->output, &session->trace);
	if (!err)
		err = open_fold(session);
	if (!err)
		err = put_environment(session);
	if (!err)
		err = open_tracing(session);
	return err ? err : start_command(session);
}

static enum zr_err close_all(struct session *session, enum zr_err err)
{
	rec_command_end(&session->command);
	rec_ring_close(session->ring);
	rec_tracefs_close(session->tracefs);
	rec_decoder_free(session->decoder);
	rec_fold_free(session->fold);
	if (session->trace.db)
		err = rec_trace_close(&session->trace, err);
	rec_cgroups_close(session->cgroups);
	rec_btf_close(session->btf);
	return err;
}

/* ------------------------------------------------------------------------------------------- recording */

static enum zr_err round_until(struct session *session, uint64_t mark_ns, uint64_t release_ns,
			       uint64_t *bytes)
{
	struct rec_raw raw;
	enum zr_err err = rec_ring_drain(session->ring, mark_ns, bytes);

	while (!err && rec_ring_next(session->ring, release_ns, &raw)) {
		session->hits[raw.type]++;
		err = rec_fold_add(session->fold, &raw);
	}
	session->done_ns = release_ns;
	session->told_lost = rec_ring_stats(session->ring).lost;
	return err;
}

static enum zr_err one_round(struct session *session, uint64_t *bytes)
{
	uint64_t mark_ns = now_ns(CLOCK_MONOTONIC), release_ns = mark_ns - SLACK_NS;
	enum zr_err err = round_until(session, mark_ns, release_ns, bytes);

	return err ? err : rec_fold_advance(session->fold, release_ns);
}

/* A record of our own, in line with the kernel's. */
static enum zr_err add_own(struct session *session, enum rec_type type, enum db_gap gap,
			   uint64_t lost)
{
	struct rec_raw raw = { .type = (uint8_t)type, .cpu = UINT16_MAX, .order = (uint8_t)gap,
			       .time_ns = session->done_ns,
			       .len = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX };

	return rec_fold_add(session->fold, &raw);
}

/* Probes that the kernel could not run since we last asked. */
static enum zr_err look_at_misses(struct session *session)
{
	int64_t missed = rec_tracefs_missed(session->tracefs);
	uint64_t fresh = missed > session->told_missed ? (uint64_t)(missed - session->told_missed) : 0;

	if (!fresh)
		return ZR_OK;
	session->told_missed = missed;
	session->probe_missed += fresh;
	return add_own(session, REC_LOST, DB_GAP_PROBE, fresh);
}

static struct rec_status status_of(const struct session *session)
{
	const struct rec_fold_stats *stats = rec_fold_stats(session->fold);

	return (struct rec_status){
		.events = stats->events,
		.raw_events = rec_ring_stats(session->ring).events,
		.lost = stats->lost,
		.chunk_bytes = db_writer_stats(session->trace.writer).chunk_bytes,
		.elapsed_ns = now_ns(CLOCK_MONOTONIC) - session->start_ns,
	};
}

/* Once a second. */
static enum zr_err tick(struct session *session)
{
	bool changed = false;
	enum zr_err err = rec_sample_put(session->trace.db, &session->paths, session->cgroups,
					 session->done_ns);

	if (!err)
		err = add_own(session, REC_SAMPLE, 0, 0);
	if (!err)
		err = look_at_misses(session);
	if (!err)
		err = follow_areas(session, &changed);
	if (!err && changed)
		err = filter_block_events(session);
	if (!err)
		err = db_writer_flush(session->trace.writer);
	if (!err && session->options->status) {
		struct rec_status status = status_of(session);

		session->options->status(session->options->status_arg, &status);
	}
	return err;
}

static bool is_over(struct session *session)
{
	const struct rec_options *options = session->options;

	if (options->stop && *options->stop)
		return true;
	if (options->command && rec_command_over(&session->command))
		return true;
	if (options->duration_ns &&
	    now_ns(CLOCK_MONOTONIC) - session->start_ns >= options->duration_ns)
		return true;
	return options->max_bytes &&
	       db_writer_stats(session->trace.writer).chunk_bytes >= options->max_bytes;
}

/* Less while events pour in, more while nothing happens. A signal ends the wait. */
static void wait_a_little(struct session *session, uint64_t bytes)
{
	uint64_t busy = BUSY_BYTES * rec_ring_cpus(session->ring);
	struct timespec ts = { 0 };

	if (bytes > busy)
		session->wait_ns /= 2;
	else if (bytes < busy / 4)
		session->wait_ns *= 2;
	if (session->wait_ns < WAIT_MIN_NS)
		session->wait_ns = WAIT_MIN_NS;
	if (session->wait_ns > WAIT_MAX_NS)
		session->wait_ns = WAIT_MAX_NS;
	ts.tv_nsec = (long)session->wait_ns;
	nanosleep(&ts, NULL);
}

static enum zr_err record(struct session *session)
{
	enum zr_err err = ZR_OK;
	uint64_t bytes;

	while (!err && !is_over(session)) {
		uint64_t since;

		err = one_round(session, &bytes);
		since = now_ns(CLOCK_MONOTONIC) - session->tick_ns;
		if (!err && since >= SECOND_NS) {
			session->tick_ns += since - since % SECOND_NS;
			err = tick(session);
		}
		if (!err)
			wait_a_little(session, bytes);
	}
	return err;
}

/* ---------------------------------------------------------------------------------------------- ending */

/* What the kernel says of each buffer; the sum of what it overwrote or dropped. */
static enum zr_err put_ring_stats(struct session *session, uint64_t *lost)
{
	const char *dir = rec_tracefs_instance(session->tracefs);
	enum zr_err err = ZR_OK;

	*lost = 0;
	for (uint32_t i = 0; !err && i < rec_ring_cpus(session->ring); i++) {
		char *text = rec_file_readf("%s/per_cpu/cpu%u/stats", dir, i), key[64];
		int64_t overrun = rec_text_number(text, "overrun", 0);
		int64_t dropped = rec_text_number(text, "dropped events", 0);

		free(text);
		*lost += (uint64_t)(overrun + dropped);
		snprintf(key, sizeof(key), "ring.cpu%u.overrun", i);
		err = db_env_setf(session->trace.db, REC_HOST, key, "%lld", (long long)overrun);
		snprintf(key, sizeof(key), "ring.cpu%u.dropped", i);
		if (!err)
			err = db_env_setf(session->trace.db, REC_HOST, key, "%lld",
					  (long long)dropped);
	}
	return err;
}

static enum zr_err put_hits(const struct session *session)
{
	enum zr_err err = ZR_OK;

	for (enum rec_type type = 0; !err && type < REC_LOST; type++) {
		char key[64];

		snprintf(key, sizeof(key), "probe.hits.%s", rec_type_name(type));
		if (session->hits[type])
			err = db_env_setf(session->trace.db, REC_HOST, key, "%llu",
					  (unsigned long long)session->hits[type]);
	}
	return err;
}

static enum zr_err put_counts(const struct session *session)
{
	const struct rec_fold_stats *fold = rec_fold_stats(session->fold);
	struct rec_ring_stats ring = rec_ring_stats(session->ring);
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{ "ring.events", ring.events },
		{ "ring.lost", ring.lost },
		{ "ring.damaged", ring.damaged },
		{ "ring.skipped", ring.skipped },
		{ "probe.missed", session->probe_missed },
		{ "fold.raw", fold->raw },
		{ "fold.filtered", fold->filtered },
		{ "fold.missed_returns", fold->missed_returns },
		{ "fold.orphan_returns", fold->orphan_returns },
		{ "fold.open_at_end", fold->open_at_end },
		{ "fold.undecided", fold->undecided },
		{ "fold.late", fold->late },
		{ "fold.ids_full", fold->ids_full },
		{ "fold.too_deep", fold->too_deep },
		{ "fold.wide_slots", fold->wide_slots },
		{ "fold.foreign_requests", fold->foreign_io },
	};
	enum zr_err err = ZR_OK;

	for (size_t i = 0; !err && i < sizeof(rows) / sizeof(*rows); i++)
		err = db_env_setf(session->trace.db, REC_HOST, rows[i].key, "%llu",
				  (unsigned long long)rows[i].value);
	return err;
}

static enum zr_err finish(struct session *session)
{
	uint64_t bytes, lost;
	enum zr_err err;

	rec_tracefs_off(session->tracefs);
	err = round_until(session, UINT64_MAX - 1, UINT64_MAX, &bytes);
	session->done_ns = now_ns(CLOCK_MONOTONIC);
	if (!err)
		err = put_ring_stats(session, &lost);
	/* Losses that no sub-buffer told of: at the very end, or without a number. */
	if (!err && lost > session->told_lost)
		err = add_own(session, REC_LOST, DB_GAP_RING, lost - session->told_lost);
	if (!err)
		err = look_at_misses(session);
	if (!err)
		err = rec_fold_finish(session->fold);
	if (!err)
		err = rec_sample_put(session->trace.db, &session->paths, session->cgroups,
				     session->done_ns);
	if (!err)
		err = put_hits(session);
	return err ? err : put_counts(session);
}

static enum zr_err begin(struct session *session)
{
	enum zr_err err;

	err = db_env_setf(session->trace.db, REC_HOST, DB_ENV_START_REALTIME, "%llu",
			  (unsigned long long)now_ns(CLOCK_REALTIME));
	session->start_ns = session->tick_ns = now_ns(CLOCK_MONOTONIC);
	session->wait_ns = WAIT_MIN_NS;
	if (!err)
		err = db_env_setf(session->trace.db, REC_HOST, "trace.start_ns", "%llu",
				  (unsigned long long)session->start_ns);
	if (!err)
		err = rec_sample_put(session->trace.db, &session->paths, session->cgroups,
				     session->start_ns);
	if (!err)
		err = rec_tracefs_on(session->tracefs);
	if (!err && session->options->command)
		err = rec_command_go(&session->command);
	return err;
}

static void fill_result(const struct session *session, struct rec_result *out)
{
	const struct rec_fold_stats *stats = rec_fold_stats(session->fold);
	struct rusage usage;

	out->total = status_of(session);
	out->command_status = session->command.status;
	out->probe_missed = session->probe_missed + stats->missed_returns;
	out->ring_lost = stats->lost - session->probe_missed;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		out->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
				   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

enum zr_err rec_record(const struct rec_options *options, struct rec_result *out)
{
	struct session *session = calloc(1, sizeof(*session));
	enum zr_err err;

	*out = (struct rec_result){ 0 };
	if (!session)
		return zr_fail(ZR_NOMEM, "no memory for a recording");
	session->options = options;
	session->command = (struct rec_command){ .go = -1, .failure = -1 };
	err = open_all(session);
	if (!err)
		err = begin(session);
	if (!err)
		err = record(session);
	if (!err)
		err = finish(session);
	if (!err) {
		rec_command_end(&session->command);
		fill_result(session, out);
	}
	err = close_all(session, err);
	free(session);
	return err;
}
