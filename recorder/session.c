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
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "recorder/btf.h"
#include "recorder/cgroups.h"
#include "recorder/command.h"
#include "recorder/environ.h"
#include "recorder/files.h"
#include "recorder/fold.h"
#include "recorder/outlet.h"
#include "recorder/pick.h"
#include "recorder/probes.h"
#include "recorder/recorder.h"
#include "recorder/session.h"
#include "recorder/tracefs.h"
#include "recorder/trigger.h"

#define SECOND_NS     UINT64_C(1'000'000'000)
#define SLACK_NS      UINT64_C(2'000'000) /* an event may be stamped and not yet be in the buffer */
#define WAIT_MIN_NS   UINT64_C(1'000'000)
#define WAIT_MAX_NS   UINT64_C(100'000'000)
#define DEFAULT_RING  (UINT64_C(8) << 20)
#define LEAST_RING    (UINT64_C(64) << 10)
#define DEFAULT_MEM   (UINT64_C(256) << 20)
#define BUSY_BYTES    (UINT64_C(256) << 10) /* a CPU and round: more means wait less */

struct session {
	const struct rec_machine *machine;
	const struct rec_options *options;
	struct rec_paths paths;
	struct rec_outlet outlet;
	struct rec_block block;
	struct rec_notes notes;
	struct rec_cgroups *cgroups;
	struct rec_btf *btf;
	struct rec_probes probes;
	struct rec_fold *fold;
	struct rec_picked from;
	char no_probes[1024]; /* why this kernel cannot be probed; "" = it can */
	int *cgroup_fds;
	uint32_t n_cgroup_fds;
	struct rec_command command;
	struct rec_swap swaps[REC_SWAPS_MAX]; /* by type; an empty path is a free number */
	bool types_lost; /* records name a type that no area of ours has */
	int swaps_fd; /* of the list, which says when it has changed; -1 = it does not */
	uint64_t start_ns, tick_ns, wait_ns;
	uint64_t done_ns; /* all records before it were folded */
	uint64_t told_lost; /* ring losses that are gaps already */
	int64_t told_missed;
	uint64_t probe_missed;
	uint64_t hits[REC_TYPE_COUNT];
	char cgroup_dir[4096];
	struct rec_trigger *triggers;
	int told_dump;	       /* *dump as it was acted upon */
	uint64_t look_ns;      /* when the triggers were last looked at */
	uint64_t dump_ns;      /* when one last fired */
	uint32_t dumps;
	uint64_t start_realtime_ns;
	double start_cpu_seconds;
};

static uint64_t now_ns(const struct session *session)
{
	return session->machine->clock_ns(session->machine->arg);
}

/* --------------------------------------------------------------------------------------- dictionaries */

static enum zr_err put_event(void *arg, const struct db_event *event)
{
	struct session *session = arg;

	return rec_outlet_event(&session->outlet, event);
}

static enum zr_err put_memcg(void *arg, uint32_t id, uint64_t key)
{
	struct session *session = arg;

	return rec_outlet_memcg(&session->outlet,
				&(struct db_memcg){ .host = REC_HOST, .id = id, .cgroup_id = key,
						    .path = rec_cgroups_path(session->cgroups,
									     key) });
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
	err = rec_outlet_task(&session->outlet, &task);
	free(status);
	return err;
}

static enum zr_err put_area(void *arg, uint32_t id, uint32_t type)
{
	struct session *session = arg;

	session->types_lost = true;
	return rec_outlet_area(&session->outlet, &session->paths,
			       &(struct rec_swap){ .row = { .host = REC_HOST, .id = id,
							    .type = type } });
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
	uint32_t id = 0;
	enum zr_err err;

	swap->area.type = swap->row.type = type;
	rec_swap_map(&session->paths, swap);
	err = rec_fold_area(session->fold, &swap->area, &id);
	swap->row.id = id;
	*ours = *swap;
	if (err)
		return err;
	ours->row.path = ours->path;
	return rec_outlet_area(&session->outlet, &session->paths, ours);
}

static void drop_area(struct session *session, uint32_t type)
{
	rec_fold_area_gone(session->fold, type);
	rec_swap_unmap(&session->swaps[type]);
	session->swaps[type].path[0] = '\0';
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
		if (session->swaps[type].path[0] &&
		    !find_swap(found, n, session->swaps[type].path))
			drop_area(session, type);
	for (uint32_t i = 0; !err && i < n; i++) {
		if (find_swap(session->swaps, REC_SWAPS_MAX, found[i].path))
			continue;
		*changed = true;
		err = add_area(session, &found[i], free_type(session));
	}
	return err;
}

/* The types that records have named, as bits; `lost` are those that no area of ours has. */
static uint32_t types_seen(const struct session *session, uint32_t *lost)
{
	uint32_t seen = 0, id;

	*lost = 0;
	for (uint32_t type = 0; type < REC_SWAPS_MAX; type++) {
		if (!rec_fold_slots_seen(session->fold, type, &id))
			continue;
		seen |= 1u << type;
		if (!session->swaps[type].path[0])
			*lost |= 1u << type;
	}
	return seen;
}

/* Areas that were switched off before we began leave numbers free below those of others, and the list does not
 * show it. What records name does, once each area in use was named. */
static enum zr_err settle_types(struct session *session)
{
	uint32_t n, lost, seen = types_seen(session, &lost), types[REC_SWAPS_MAX];
	struct rec_swap found[REC_SWAPS_MAX];
	enum zr_err err = rec_swaps_read(&session->paths, found, &n);

	session->types_lost = lost;
	if (err || !lost || !rec_swaps_match(found, n, seen, types))
		return err;
	for (uint32_t i = 0; i < n; i++) {
		struct rec_swap *told = find_swap(session->swaps, REC_SWAPS_MAX, found[i].path);

		if (told && told != &session->swaps[types[i]])
			drop_area(session, (uint32_t)(told - session->swaps));
	}
	for (uint32_t i = 0; !err && i < n; i++)
		if (!session->swaps[types[i]].path[0])
			err = add_area(session, &found[i], types[i]);
	session->types_lost = false;
	return err;
}

/* --------------------------------------------------------------------------------------- block requests */

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

	block_filter(session, filter, sizeof(filter));
	return session->from.ops->filter_block(session->from.source, filter);
}

/* ------------------------------------------------------------------------------------------- opening */

static enum zr_err find_kernel(struct session *session)
{
	if (session->paths.tracefs[0])
		return ZR_OK;
	return zr_fail(geteuid() ? ZR_PERM : ZR_UNSUPPORTED,
		       "recording: tracefs is not mounted; try: mount -t tracefs tracefs "
		       "/sys/kernel/tracing");
}

static enum zr_err find_probes(struct session *session)
{
	char path[512];
	enum zr_err err;

	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", session->paths.sys);
	err = rec_btf_open(path, &session->btf);
	snprintf(path, sizeof(path), "%s/kallsyms", session->paths.proc);
	return err ? err : rec_probes_choose(path, session->btf, &session->probes);
}

/* A kernel that cannot be probed still tells of its requests. */
static enum zr_err choose_probes(struct session *session)
{
	enum zr_err err;

	if (session->options->source == REC_SOURCE_BLOCK || session->machine->ops)
		return ZR_OK;
	err = find_probes(session);
	if (!err || err == ZR_NOMEM)
		return err;
	snprintf(session->no_probes, sizeof(session->no_probes), "%s", zr_error_text());
	session->probes = (struct rec_probes){ 0 };
	zr_error_clear();
	return ZR_OK;
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
		.store_ret_of_failures = session->probes.store_ret_of_failures,
		.store_ret_is_errno = session->probes.store_ret_is_errno,
		.load_ret_is_errno = session->probes.load_ret_is_errno,
		.no_zeros = session->probes.no_zeros,
		.zswap_off = !rec_zswap_is_on(&session->paths),
		.wb_ret_is_lru_status = session->probes.wb_ret_is_lru_status,
		.stores_large = session->probes.stores_large,
	};
	char path[512];
	bool changed;
	enum zr_err err;

	if (session->options->n_cgroups)
		options.sink.watched = watched;
	err = rec_fold_new(&options, &session->fold);
	/* Open before the list is read: what changes from now on will be told. */
	snprintf(path, sizeof(path), "%s/swaps", session->paths.proc);
	session->swaps_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!err)
		err = follow_areas(session, &changed);
	if (!err && !session->swaps[0].path[0])
		return zr_fail(ZR_UNSUPPORTED,
			       "recording: no swap area is switched on (%s/swaps is empty); see "
			       "swapon(8)",
			       session->paths.proc);
	return err;
}

static void note_command(struct session *session)
{
	char command[1024] = "";
	size_t n = 0;

	for (char *const *arg = session->options->command; arg && *arg && n < sizeof(command); arg++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, "%s%s", n ? " " : "", *arg);
	rec_note(&session->notes, DB_ENV_COMMAND, "%s", session->options->anonymize ? "" : command);
}

static bool zswap_is_off(const struct session *session)
{
	char value[8];

	return !rec_file_line(value, sizeof(value), "%s/module/zswap/parameters/enabled",
			      session->paths.sys) ||
	       value[0] != 'Y';
}

/* Which of the sources it is, and what that means. */
static void note_source(struct session *session)
{
	struct rec_notes *notes = &session->notes;

	rec_note(notes, DB_ENV_SOURCE, "%s",
		 session->from.block_only ? "block" : session->from.ops->name);
	if (session->options->own_tasks)
		rec_note(notes, "trace.tasks", "only what tasks of the watched cgroups did");
	if (!session->from.block_only) {
		if (session->probes.missing[0])
			rec_note(notes, "probe.missing", "%s", session->probes.missing);
		return;
	}
	session->block = (struct rec_block){
		.zswap_off = zswap_is_off(session),
		.sectors_per_slot = (uint32_t)sysconf(_SC_PAGESIZE) / 512,
	};
	session->outlet.block = &session->block;
	rec_note(notes, "block.complete", "%s",
		 session->block.zswap_off ? "Y" : "N: zswap is on, so this is the disk half only");
}

static const char *clock_of(const struct session *session)
{
	return session->options->clock ? session->options->clock : "mono";
}

static uint64_t most_memory(const struct session *session)
{
	return session->options->max_mem_bytes ? session->options->max_mem_bytes : DEFAULT_MEM;
}

/* A quarter of the memory for the kernel's rings, half for the flight recorder; the rest is for names, queues
 * and the store, which need less. */
static uint64_t ring_bytes(const struct session *session)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t room = most_memory(session) / 4 / (uint64_t)(cpus > 0 ? cpus : 1);

	if (session->options->ring_bytes)
		return session->options->ring_bytes;
	if (room > DEFAULT_RING)
		return DEFAULT_RING;
	return room > LEAST_RING ? room : LEAST_RING;
}

static enum zr_err open_cgroup_fds(struct session *session)
{
	uint32_t n = session->options->n_cgroups;
	char dir[4096];

	if (!session->options->own_tasks)
		return ZR_OK;
	if (!n || session->options->source != REC_SOURCE_PERF)
		return zr_fail(ZR_USAGE, "recording only the tasks of cgroups takes --cgroup and "
					 "--source perf");
	session->cgroup_fds = calloc(n, sizeof(*session->cgroup_fds));
	if (!session->cgroup_fds)
		return zr_fail(ZR_NOMEM, "no memory for the cgroups");
	for (uint32_t i = 0; i < n; i++) {
		rec_cgroups_directory(session->cgroups, i, dir, sizeof(dir));
		session->cgroup_fds[i] = open(dir, O_RDONLY | O_CLOEXEC);
		if (session->cgroup_fds[i] < 0)
			return zr_fail_errno(errno, "opening the cgroup %s", dir);
		session->n_cgroup_fds++;
	}
	return ZR_OK;
}

static enum zr_err open_source(struct session *session)
{
	char filter[2048];
	struct rec_source_setup setup = {
		.paths = &session->paths,
		.probes = &session->probes,
		.block_filter = filter,
		.clock = clock_of(session),
		.ring_bytes = ring_bytes(session),
		.notes = &session->notes,
		.arg = session->machine->arg,
	};
	enum zr_err err = open_cgroup_fds(session);

	if (err)
		return err;
	setup.cgroup_fds = session->cgroup_fds;
	setup.n_cgroups = session->n_cgroup_fds;
	block_filter(session, filter, sizeof(filter));
	session->from = (struct rec_picked){ .ops = session->machine->ops };
	if (session->from.ops)
		err = session->from.ops->open(&setup, &session->from.source);
	else
		err = rec_pick(session->options, &setup,
			       session->no_probes[0] ? session->no_probes : NULL, &session->from);
	if (err)
		return err;
	rec_note(&session->notes, DB_ENV_CLOCK, "%s", setup.clock);
	note_command(session);
	note_source(session);
	return ZR_OK;
}

/* A flight recorder makes its file when it is wanted; it says now if that will not do. */
static enum zr_err open_flight(struct session *session)
{
	const struct rec_options *options = session->options;
	enum zr_err err = ZR_OK;

	if (access(options->output, F_OK) == 0)
		return zr_fail(ZR_EXISTS, "%s is there already; choose another name",
			       options->output);
	session->triggers = calloc(options->n_triggers + 1, sizeof(*session->triggers));
	if (!session->triggers)
		return zr_fail(ZR_NOMEM, "no memory for the triggers");
	for (uint32_t i = 0; !err && i < options->n_triggers; i++)
		err = rec_trigger_parse(options->triggers[i], &session->triggers[i]);
	return err ? err
		   : rec_flight_new(options->flight_ns, most_memory(session) / 2,
				    &session->outlet.flight);
}

static enum zr_err open_outlet(struct session *session)
{
	const struct rec_options *options = session->options;
	enum zr_err err = ZR_OK;

	session->outlet.anonymize = options->anonymize;
	if (options->anonymize)
		err = rec_anonym_init(&session->outlet.anonym);
	if (err)
		return err;
	if (options->flight_ns)
		return open_flight(session);
	if (options->n_triggers)
		return zr_fail(ZR_USAGE, "a trigger is for the flight recorder: say --flight too");
	return rec_trace_open(options->output,
			      &(struct rec_trace_how){ .time_unit_ns = options->time_unit_ns },
			      &session->outlet.trace);
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
	enum zr_err err = rec_clock_check(clock_of(session));

	if (!err)
		err = find_kernel(session);
	if (!err)
		err = choose_probes(session);
	if (!err)
		err = open_cgroups(session);
	if (!err)
		err = open_outlet(session);
	if (!err)
		err = open_fold(session);
	if (!err)
		err = open_source(session);
	return err ? err : start_command(session);
}

static enum zr_err close_all(struct session *session, enum zr_err err)
{
	rec_command_end(&session->command);
	if (session->from.source)
		session->from.ops->close(session->from.source);
	rec_fold_free(session->fold);
	for (uint32_t type = 0; type < REC_SWAPS_MAX; type++)
		rec_swap_unmap(&session->swaps[type]);
	if (session->swaps_fd >= 0)
		close(session->swaps_fd);
	if (session->outlet.trace.db)
		err = rec_trace_close(&session->outlet.trace, err);
	rec_flight_free(session->outlet.flight);
	free(session->triggers);
	while (session->n_cgroup_fds)
		close(session->cgroup_fds[--session->n_cgroup_fds]);
	free(session->cgroup_fds);
	rec_cgroups_close(session->cgroups);
	rec_btf_close(session->btf);
	return err;
}

/* ------------------------------------------------------------------------------------------- recording */

static enum zr_err round_until(struct session *session, uint64_t mark_ns, uint64_t release_ns,
			       uint64_t *bytes)
{
	const struct rec_source_ops *ops = session->from.ops;
	struct rec_source *source = session->from.source;
	struct rec_raw raw;
	uint64_t some;
	enum zr_err err;

	*bytes = 0;
	do {
		err = ops->drain(source, mark_ns, &some);
		*bytes += some;
		while (!err && ops->next(source, release_ns, &raw)) {
			session->hits[raw.type]++;
			if (raw.type != REC_SLAB_START || rec_block_begins_pass(&session->block, &raw))
				err = rec_fold_add(session->fold, &raw);
		}
		session->done_ns = ops->reached(source, release_ns);
	} while (!err && session->done_ns < release_ns);
	session->told_lost = ops->stats(source).lost;
	return err;
}

static enum zr_err one_round(struct session *session, uint64_t *bytes)
{
	uint64_t mark_ns = session->from.ops->now_ns(session->from.source);
	uint64_t release_ns = mark_ns > SLACK_NS ? mark_ns - SLACK_NS : 0;
	enum zr_err err = round_until(session, mark_ns, release_ns, bytes);

	return err ? err : rec_fold_advance(session->fold, session->done_ns);
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
	int64_t missed = session->from.ops->missed(session->from.source);
	uint64_t fresh = missed > session->told_missed ? (uint64_t)(missed - session->told_missed) : 0;

	if (!fresh)
		return ZR_OK;
	session->told_missed = missed;
	session->probe_missed += fresh;
	return add_own(session, REC_LOST, DB_GAP_PROBE, fresh);
}

static uint64_t pool_bytes(const struct session *session)
{
	char *text = rec_file_readf("%s/meminfo", session->paths.proc);
	int64_t kib = rec_text_number(text, "Zswap", 0);

	free(text);
	return (uint64_t)kib * 1024;
}

static struct rec_status status_of(const struct session *session)
{
	const struct rec_fold_stats *stats = rec_fold_stats(session->fold);

	return (struct rec_status){
		.events = stats->events,
		.raw_events = session->from.ops->stats(session->from.source).events,
		.lost = stats->lost,
		.chunk_bytes = rec_outlet_bytes(&session->outlet),
		.elapsed_ns = now_ns(session) - session->start_ns,
		.pages_out = session->outlet.pages_out,
		.pages_in = session->outlet.pages_in,
		.pool_bytes = pool_bytes(session),
	};
}

/* Has an area been switched on or off since we last asked? */
static bool areas_changed(const struct session *session)
{
	struct pollfd list = { .fd = session->swaps_fd, .events = POLLPRI };

	return poll(&list, 1, 0) > 0 && list.revents & POLLPRI;
}

static enum zr_err take_areas(struct session *session)
{
	bool changed;
	enum zr_err err = follow_areas(session, &changed);

	return err || !changed ? err : filter_block_events(session);
}

/* The list has changed, so a type number may be used anew. All records before now are of the areas as they
 * were: those may leave first. */
static enum zr_err change_areas(struct session *session)
{
	uint64_t bytes;
	enum zr_err err;

	session->machine->wait(session->machine->arg, SLACK_NS);
	err = one_round(session, &bytes);
	return err ? err : take_areas(session);
}

/* Once a second. */
static enum zr_err tick(struct session *session)
{
	enum zr_err err = rec_outlet_sample(&session->outlet, &session->paths, session->cgroups,
					    session->done_ns);

	if (!err)
		err = add_own(session, REC_SAMPLE, 0, 0);
	if (!err)
		err = session->from.ops->follow(session->from.source);
	if (!err)
		err = look_at_misses(session);
	if (!err)
		err = take_areas(session);
	if (!err && session->types_lost)
		err = settle_types(session);
	rec_fold_zswap(session->fold, rec_zswap_is_on(&session->paths));
	if (!err)
		err = rec_outlet_flush(&session->outlet);
	if (!err && session->options->status) {
		struct rec_status status = status_of(session);

		session->options->status(session->options->status_arg, &status);
	}
	return err;
}

/* -------------------------------------------------------------------------------------- flight recorder */

/* A trigger fires at most once in half of the span; the user may ask as often as he likes. */
static bool is_wanted(struct session *session)
{
	const struct rec_options *options = session->options;
	uint64_t now = now_ns(session);
	bool fires = false;

	if (options->dump && *options->dump != session->told_dump) {
		session->told_dump = *options->dump;
		return true;
	}
	if (!options->n_triggers || now - session->look_ns < SECOND_NS)
		return false;
	session->look_ns = now;
	for (uint32_t i = 0; i < options->n_triggers; i++)
		fires |= rec_trigger_fires(&session->triggers[i], session->paths.proc, now);
	if (!fires || (session->dump_ns && now - session->dump_ns < options->flight_ns / 2))
		return false;
	session->dump_ns = now;
	return true;
}

static enum zr_err put_environment(struct session *session)
{
	enum zr_err err = rec_outlet_environ(&session->outlet, &session->paths);

	return err ? err : rec_outlet_notes(&session->outlet, &session->notes);
}

static enum zr_err put_queues(struct session *session)
{
	enum zr_err err = ZR_OK;

	for (uint32_t type = 0; !err && type < REC_SWAPS_MAX; type++)
		if (session->swaps[type].path[0])
			err = rec_swap_put_queue(session->outlet.trace.db, &session->paths,
						 &session->swaps[type], session->swaps[type].row.id);
	return err;
}

static enum zr_err write_flight(struct session *session, const char *path)
{
	struct rec_outlet *outlet = &session->outlet;
	const struct rec_trace_how how = { .time_unit_ns = session->options->time_unit_ns };
	enum zr_err err = rec_trace_open(path, &how, &outlet->trace);

	if (err)
		return err;
	err = put_environment(session);
	if (!err)
		err = put_queues(session);
	if (!err)
		err = rec_flight_write(outlet->flight, outlet->trace.db, outlet->trace.writer);
	return rec_trace_close(&outlet->trace, err);
}

/* A file that cannot be written does not end the recording: the next one may. */
static enum zr_err dump(struct session *session)
{
	const struct rec_options *options = session->options;
	char path[4096];
	enum zr_err err;

	rec_outlet_name(options->output, ++session->dumps, path, sizeof(path));
	err = write_flight(session, path);
	if (options->dumped)
		options->dumped(options->status_arg, path, err ? zr_error_text() : NULL);
	if (err)
		zr_error_clear();
	return ZR_OK;
}

/* -------------------------------------------------------------------------------------------- the loop */

static bool is_over(struct session *session)
{
	const struct rec_options *options = session->options;

	if (options->stop && *options->stop)
		return true;
	if (options->command && rec_command_over(&session->command))
		return true;
	if (options->duration_ns &&
	    now_ns(session) - session->start_ns >= options->duration_ns)
		return true;
	return options->max_bytes && !options->flight_ns &&
	       rec_outlet_bytes(&session->outlet) >= options->max_bytes;
}

/* Less while events pour in, more while nothing happens. A signal ends the wait. */
static void wait_a_little(struct session *session, uint64_t bytes)
{
	uint64_t busy = BUSY_BYTES * session->from.ops->cpus(session->from.source);

	if (bytes > busy)
		session->wait_ns /= 2;
	else if (bytes < busy / 4)
		session->wait_ns *= 2;
	if (session->wait_ns < WAIT_MIN_NS)
		session->wait_ns = WAIT_MIN_NS;
	if (session->wait_ns > WAIT_MAX_NS)
		session->wait_ns = WAIT_MAX_NS;
	session->machine->wait(session->machine->arg, session->wait_ns);
}

static enum zr_err record(struct session *session)
{
	enum zr_err err = ZR_OK;
	uint64_t bytes;

	while (!err && !is_over(session)) {
		bool changed = areas_changed(session);
		uint64_t since;

		err = one_round(session, &bytes);
		if (!err && changed)
			err = change_areas(session);
		since = now_ns(session) - session->tick_ns;
		if (!err && since >= SECOND_NS) {
			session->tick_ns += since - since % SECOND_NS;
			err = tick(session);
		}
		if (!err && session->outlet.flight && is_wanted(session))
			err = dump(session);
		if (!err)
			wait_a_little(session, bytes);
	}
	return err;
}

/* ---------------------------------------------------------------------------------------------- ending */

static void note_hits(struct session *session)
{
	for (enum rec_type type = 0; type < REC_LOST; type++) {
		char key[64];

		snprintf(key, sizeof(key), "probe.hits.%s", rec_type_name(type));
		if (session->hits[type])
			rec_note(&session->notes, key, "%llu",
				 (unsigned long long)session->hits[type]);
	}
}

static void note_counts(struct session *session)
{
	const struct rec_fold_stats *fold = rec_fold_stats(session->fold);
	struct rec_source_stats ring = session->from.ops->stats(session->from.source);
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

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		rec_note(&session->notes, rows[i].key, "%llu", (unsigned long long)rows[i].value);
}

static enum zr_err finish(struct session *session)
{
	const struct rec_source_ops *ops = session->from.ops;
	uint64_t bytes, lost;
	enum zr_err err;

	ops->off(session->from.source);
	err = round_until(session, UINT64_MAX - 1, UINT64_MAX, &bytes);
	session->done_ns = ops->now_ns(session->from.source);
	lost = ops->total_lost(session->from.source, &session->notes);
	/* Losses that no buffer told of: at the very end, or without a number. */
	if (!err && lost > session->told_lost)
		err = add_own(session, REC_LOST, DB_GAP_RING, lost - session->told_lost);
	if (!err)
		err = look_at_misses(session);
	if (!err)
		err = rec_fold_finish(session->fold);
	if (!err)
		err = rec_outlet_sample(&session->outlet, &session->paths, session->cgroups,
					session->done_ns);
	if (err || session->outlet.flight)
		return err;
	note_hits(session);
	note_counts(session);
	return rec_outlet_notes(&session->outlet, &session->notes);
}

static enum zr_err begin(struct session *session)
{
	enum zr_err err = ZR_OK;

	session->start_realtime_ns = zr_clock_ns(CLOCK_REALTIME);
	session->start_ns = session->tick_ns = now_ns(session);
	session->done_ns = session->from.ops->now_ns(session->from.source);
	session->wait_ns = WAIT_MIN_NS;
	rec_note(&session->notes, DB_ENV_START_REALTIME, "%llu",
		 (unsigned long long)session->start_realtime_ns);
	rec_note(&session->notes, "trace.start_ns", "%llu", (unsigned long long)session->done_ns);
	if (!session->outlet.flight)
		err = put_environment(session);
	if (!err)
		err = rec_outlet_sample(&session->outlet, &session->paths, session->cgroups,
					session->done_ns);
	if (!err)
		err = session->from.ops->on(session->from.source);
	if (!err && session->options->command)
		err = rec_command_go(&session->command);
	return err;
}

static double cpu_seconds(void)
{
	return (double)zr_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static void fill_result(const struct session *session, struct rec_result *out)
{
	const struct rec_fold_stats *stats = rec_fold_stats(session->fold);

	out->total = status_of(session);
	out->command_status = session->command.status;
	out->probe_missed = session->probe_missed + stats->missed_returns;
	out->ring_lost = stats->lost - session->probe_missed;
	out->source = session->from.block_only ? "block" : session->from.ops->name;
	out->dumps = session->dumps;
	out->cpu_seconds = cpu_seconds();
	out->start_cpu_seconds = session->start_cpu_seconds;
}

enum zr_err rec_session_record(const struct rec_machine *machine, const struct rec_options *options,
			       struct rec_result *out)
{
	struct session *session = calloc(1, sizeof(*session));
	enum zr_err err;

	*out = (struct rec_result){ 0 };
	if (!session)
		return zr_fail(ZR_NOMEM, "no memory for a recording");
	session->machine = machine;
	session->paths = machine->paths;
	session->options = options;
	session->command = (struct rec_command){ .go = -1, .failure = -1 };
	session->swaps_fd = -1;
	err = open_all(session);
	if (!err)
		err = begin(session);
	session->start_cpu_seconds = cpu_seconds();
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

/* A signal ends it. */
static void wait_ns([[maybe_unused]] void *arg, uint64_t ns)
{
	const struct timespec ts = { .tv_nsec = (long)ns };

	nanosleep(&ts, NULL);
}

static uint64_t clock_ns([[maybe_unused]] void *arg)
{
	return zr_clock_ns(CLOCK_MONOTONIC);
}

enum zr_err rec_record(const struct rec_options *options, struct rec_result *out)
{
	struct rec_machine machine = { .wait = wait_ns, .clock_ns = clock_ns };
	enum zr_err err = rec_paths_find("/proc/mounts", &machine.paths);

	*out = (struct rec_result){ 0 };
	return err ? err : rec_session_record(&machine, options, out);
}

double rec_cpu_per_million(const struct rec_result *result)
{
	double seconds = result->cpu_seconds - result->start_cpu_seconds;

	return result->total.raw_events ? seconds * 1e6 / (double)result->total.raw_events : 0;
}

double rec_bytes_per_event(const struct rec_result *result)
{
	return result->total.events ? (double)result->total.chunk_bytes / (double)result->total.events
				    : 0;
}

enum zr_err rec_recover(struct rec_recovered *out)
{
	struct rec_paths paths = { 0 };
	struct rec_leftovers left;
	enum zr_err err = rec_paths_find("/proc/mounts", &paths);

	*out = (struct rec_recovered){ 0 };
	if (err)
		return err;
	if (!paths.tracefs[0])
		return zr_fail(ZR_UNSUPPORTED, "recovering: tracefs is not mounted");
	if (faccessat(AT_FDCWD, paths.tracefs, W_OK, AT_EACCESS) < 0)
		return zr_fail_errno(errno, "recovering: writing to %s (it takes root)",
				     paths.tracefs);
	rec_tracefs_recover(paths.tracefs, &left);
	*out = (struct rec_recovered){ .instances = left.instances, .events = left.events,
				       .refused = left.refused };
	return ZR_OK;
}
