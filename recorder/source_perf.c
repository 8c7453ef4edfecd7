/* SPDX-License-Identifier: MIT */
/*
 * Records through perf_event_open; see source.h.
 *
 * Each CPU has a dummy event that owns the ring, and one event for each probe and each block event,
 * whose records go to that ring. With cgroups, one for each of them too. A perf event's filter
 * cannot be changed, so the block events are closed and opened anew when the swap areas change.
 *
 * A CPU that goes away takes its events with it, and they do not come back with it: what is online
 * is looked at once a second, and whether the time of each CPU's dummy event goes on (a call to that
 * CPU). What happened on it before we looked is a gap.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "recorder/perf.h"
#include "recorder/source.h"
#include "recorder/tracefs.h"

enum { MAX_CPUS = 8192, SPARE_FDS = 256, LEAST_RING = 128 << 10, LIST_BYTES = 4096 };

struct event {
	uint64_t id;
	const char *name, *filter;
	enum rec_type type;
};

struct cpu {
	bool on;    /* its ring is open, or was to be */
	bool ready; /* its events are too */
	int ring_fd;
	struct perf_event_mmap_page *ring; /* NULL: it went away before it could be mapped */
	size_t ring_bytes;
	uint64_t enabled_ns; /* of the dummy event, when we last looked */
	int *fds; /* of the probes, then of the block events; n_cgroups() of each */
};

struct rec_source {
	struct rec_tracefs *tracefs; /* NULL: the events were there already */
	struct rec_decoder *decoder;
	struct rec_perf_reader *reader;
	struct rec_merge *merge;
	struct cpu *cpus; /* by number */
	uint32_t n_cpus, n_on;
	struct event events[REC_PROBES_MAX + 1 + REC_BLOCK_TYPES]; /* the block events at the end */
	uint32_t n_events, n_probes;
	const int *cgroup_fds;
	uint32_t n_cgroups; /* 0 = all tasks */
	char block_filter[2048];
	size_t ring_bytes, page_bytes; /* of the rings to come */
	uint64_t lost_before; /* of events that are closed */
	int clock_id;
	bool running;
	char sys[256];
};

/* ---------------------------------------------------------------------------------- perf events */

static struct perf_event_attr attr_of(const struct rec_source *source)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = REC_PERF_SAMPLE,
		.sample_period = 1,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(source->ring_bytes / 4),
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = source->clock_id,
		.read_format = PERF_FORMAT_LOST,
	};
}

static int perf_open(struct perf_event_attr *attr, int cgroup_fd, int cpu)
{
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0);
	int fd = (int)syscall(SYS_perf_event_open, attr, cgroup_fd, cpu, -1, flags);

	/* Kernels before 6.0 do not count losses an event. */
	if (fd < 0 && errno == EINVAL && attr->read_format) {
		attr->read_format = 0;
		fd = (int)syscall(SYS_perf_event_open, attr, cgroup_fd, cpu, -1, flags);
	}
	return fd;
}

static enum zr_err refused(int errnum, const char *event, int cpu)
{
	if (errnum == EACCES || errnum == EPERM)
		return zr_fail(ZR_PERM,
			       "opening the perf event %s: not permitted; it takes CAP_PERFMON and a "
			       "sysctl kernel.perf_event_paranoid of at most 2, or CAP_SYS_ADMIN",
			       event);
	return zr_fail_errno(errnum, "opening the perf event %s on CPU %d", event, cpu);
}

/* Events of each kind and CPU. */
static uint32_t n_cgroups(const struct rec_source *source)
{
	return source->n_cgroups ? source->n_cgroups : 1;
}

/* Not recording yet. */
static enum zr_err open_event(struct rec_source *source, const struct event *event, int cpu,
			      int *fds)
{
	struct perf_event_attr attr = attr_of(source);

	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = event->id;
	for (uint32_t i = 0; i < n_cgroups(source); i++) {
		fds[i] = perf_open(&attr, source->n_cgroups ? source->cgroup_fds[i] : -1, cpu);
		if (fds[i] < 0)
			return refused(errno, event->name, cpu);
		if (event->filter && ioctl(fds[i], PERF_EVENT_IOC_SET_FILTER, event->filter) < 0)
			return zr_fail_errno(errno, "filtering the perf event %s by \"%s\"",
					     event->name, event->filter);
		if (ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, source->cpus[cpu].ring_fd) < 0)
			return zr_fail_errno(errno,
					     "joining the perf event %s to the ring of CPU %d",
					     event->name, cpu);
	}
	return ZR_OK;
}

static int *fds_of(const struct rec_source *source, struct cpu *cpu, uint32_t event)
{
	return cpu->fds + (size_t)event * n_cgroups(source);
}

static uint32_t n_fds(const struct rec_source *source)
{
	return (source->n_probes + REC_BLOCK_TYPES) * n_cgroups(source);
}

/* What it lost is read before it is gone. */
static uint64_t lost_of(int fd)
{
	uint64_t value[2];

	return fd >= 0 && read(fd, value, sizeof(value)) == sizeof(value) ? value[1] : 0;
}

static void switch_fds(const int *fds, uint32_t n, unsigned long request)
{
	for (uint32_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			ioctl(fds[i], request, 0);
}

static void close_fds(struct rec_source *source, int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		source->lost_before += lost_of(fds[i]);
		close(fds[i]);
		fds[i] = -1;
	}
}

/* ----------------------------------------------------------------------------------------- CPUs */

static void close_cpu(struct rec_source *source, struct cpu *cpu)
{
	if (!cpu->on)
		return;
	close_fds(source, cpu->fds, n_fds(source));
	if (cpu->ring)
		munmap(cpu->ring, source->page_bytes + cpu->ring_bytes);
	if (cpu->ring_fd >= 0)
		close(cpu->ring_fd);
	free(cpu->fds);
	*cpu = (struct cpu){ 0 };
	source->n_on--;
}

static enum zr_err open_ring(struct rec_source *source, uint32_t number)
{
	struct perf_event_attr attr = attr_of(source);
	struct cpu *cpu = &source->cpus[number];
	void *map;

	*cpu = (struct cpu){ .on = true,
			     .ring_fd = -1,
			     .ring_bytes = source->ring_bytes,
			     .fds = malloc(n_fds(source) * sizeof(*cpu->fds)) };
	source->n_on++;
	if (!cpu->fds)
		return zr_fail(ZR_NOMEM, "no memory for the perf events");
	memset(cpu->fds, -1, n_fds(source) * sizeof(*cpu->fds));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	cpu->ring_fd = perf_open(&attr, -1, (int)number);
	if (cpu->ring_fd < 0)
		return refused(errno, "dummy", (int)number);
	map = mmap(NULL, source->page_bytes + cpu->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		   cpu->ring_fd, 0);
	if (map == MAP_FAILED)
		return zr_fail_errno(errno,
				     "mapping a perf ring of %zu bytes for CPU %u (without "
				     "CAP_IPC_LOCK, see sysctl kernel.perf_event_mlock_kb)",
				     cpu->ring_bytes, number);
	cpu->ring = map;
	return ZR_OK;
}

/* Is a number in "0-3,8"? */
static bool listed(const char *list, uint32_t number)
{
	char *at = (char *)list;

	while (*at >= '0' && *at <= '9') {
		unsigned long first = strtoul(at, &at, 10), last = first;

		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		if (number >= first && number <= last)
			return true;
		at += *at == ',';
	}
	return false;
}

static void read_online(const struct rec_source *source, char list[LIST_BYTES])
{
	rec_file_line(list, LIST_BYTES, "%s/devices/system/cpu/online", source->sys);
}

/* An error about a CPU that is not there any more is none: the next look will find it gone. */
static enum zr_err unless_gone(const struct rec_source *source, uint32_t number, enum zr_err err)
{
	char online[LIST_BYTES];

	if (!err)
		return ZR_OK;
	read_online(source, online);
	if (listed(online, number))
		return err;
	zr_error_clear();
	return ZR_OK;
}

/* For all CPUs that have come. Those without CAP_IPC_LOCK may map little: that is shared evenly. */
static enum zr_err open_rings(struct rec_source *source, const char *online)
{
	for (;;) {
		enum zr_err err = ZR_OK;

		for (uint32_t i = 0; !err && i < source->n_cpus; i++)
			if (!source->cpus[i].on && listed(online, i))
				err = unless_gone(source, i, open_ring(source, i));
		if (err != ZR_PERM || source->ring_bytes <= LEAST_RING)
			return err;
		zr_error_clear();
		for (uint32_t i = 0; i < source->n_cpus; i++)
			if (!source->cpus[i].ready)
				close_cpu(source, &source->cpus[i]);
		source->ring_bytes /= 2;
	}
}

static enum zr_err open_events(struct rec_source *source, uint32_t number)
{
	struct cpu *cpu = &source->cpus[number];
	enum zr_err err = ZR_OK;

	if (source->running &&
	    !rec_perf_unwatched(source->reader, number, zr_clock_ns(source->clock_id)))
		return zr_fail(ZR_NOMEM, "no memory for the events of CPU %u", number);
	for (uint32_t i = 0; !err && cpu->ring && i < source->n_events; i++) {
		err = open_event(source, &source->events[i], (int)number, fds_of(source, cpu, i));
		if (!err && source->running)
			switch_fds(fds_of(source, cpu, i), n_cgroups(source), PERF_EVENT_IOC_ENABLE);
	}
	cpu->ready = true;
	return unless_gone(source, number, err);
}

static enum zr_err read_ring(struct rec_source *source, uint32_t number, uint64_t mark_ns);

/* What a CPU that went away left is read, then its events are closed. */
static enum zr_err leave_cpu(struct rec_source *source, uint32_t number)
{
	enum zr_err err = read_ring(source, number, UINT64_MAX);

	close_cpu(source, &source->cpus[number]);
	return err;
}

/* Events of a CPU that went away and came back between two looks are dead: their time stands still. */
static bool is_dead(struct cpu *cpu)
{
	uint64_t before = cpu->enabled_ns, value[2];

	if (read(cpu->ring_fd, value, sizeof(value)) != sizeof(value))
		return true;
	cpu->enabled_ns = value[1];
	return before && before == value[1];
}

static enum zr_err follow(struct rec_source *source)
{
	char online[LIST_BYTES];
	enum zr_err err = ZR_OK;

	read_online(source, online);
	for (uint32_t i = 0; !err && i < source->n_cpus; i++)
		if (source->cpus[i].on && (!listed(online, i) || is_dead(&source->cpus[i])))
			err = leave_cpu(source, i);
	if (!err)
		err = open_rings(source, online);
	for (uint32_t i = 0; !err && i < source->n_cpus; i++)
		if (source->cpus[i].on && !source->cpus[i].ready)
			err = open_events(source, i);
	return err;
}

/* ----------------------------------------------------------------------------------- the events */

static enum zr_err add_event(struct rec_source *source, const char *tracefs, const char *system,
			     struct event event)
{
	char *format = rec_file_readf("%s/events/%s/%s/format", tracefs, system, event.name);
	char id[32];
	enum zr_err err;

	if (!format)
		return zr_fail_errno(errno, "reading the format of %s:%s", system, event.name);
	err = rec_decoder_add(source->decoder, system, format, event.type);
	free(format);
	if (err)
		return err;
	if (!rec_file_line(id, sizeof(id), "%s/events/%s/%s/id", tracefs, system, event.name))
		return zr_fail_errno(errno, "reading the id of %s:%s", system, event.name);
	event.id = strtoull(id, NULL, 10);
	source->events[source->n_events++] = event;
	return ZR_OK;
}

static enum zr_err add_probe(struct rec_source *source, const struct rec_source_setup *setup,
			     const struct rec_probe *probe)
{
	const char *group = setup->events ? setup->events : rec_tracefs_group(source->tracefs);
	enum zr_err err = setup->events ? ZR_OK : rec_tracefs_define(source->tracefs, probe);
	char key[64];

	if (!err)
		err = add_event(source, setup->paths->tracefs, group,
				(struct event){ .name = probe->event,
						.filter = probe->filter,
						.type = probe->type });
	if (!err || probe->vital)
		return err;
	snprintf(key, sizeof(key), "probe.missing.%s", probe->event);
	rec_note(setup->notes, key, "%s: %s", probe->lost, zr_error_text());
	zr_error_clear();
	return ZR_OK;
}

/* As of passes of reclaim, an event of the kernel's own that may be missing. */
static void add_reclaim(struct rec_source *source, const struct rec_source_setup *setup)
{
	if (!add_event(source, setup->paths->tracefs, "vmscan",
		       (struct event){ .name = rec_type_name(REC_SLAB_START), .type = REC_SLAB_START }))
		return;
	rec_note(setup->notes, "probe.missing.reclaim", "passes of reclaim are not recorded: %s",
		 zr_error_text());
	zr_error_clear();
}

static enum zr_err add_events(struct rec_source *source, const struct rec_source_setup *setup)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < setup->probes->n; i++)
		err = add_probe(source, setup, &setup->probes->probe[i]);
	if (!err && setup->reclaim)
		add_reclaim(source, setup);
	source->n_probes = source->n_events;
	snprintf(source->block_filter, sizeof(source->block_filter), "%s", setup->block_filter);
	for (uint32_t i = 0; !err && i < REC_BLOCK_TYPES; i++)
		err = add_event(source, setup->paths->tracefs, "block",
				(struct event){ .name = rec_type_name(rec_block_types[i]),
						.filter = source->block_filter,
						.type = rec_block_types[i] });
	return err;
}

/* The new one is ready before the old one is stopped, so that next to nothing passes between them. */
static enum zr_err replace_event(struct rec_source *source, const struct event *event,
				 uint32_t number, int *fds)
{
	uint32_t n = n_cgroups(source);
	int *fresh = malloc(n * sizeof(*fresh));
	enum zr_err err;

	if (!fresh)
		return zr_fail(ZR_NOMEM, "no memory for the perf events");
	memset(fresh, -1, n * sizeof(*fresh));
	err = open_event(source, event, (int)number, fresh);
	if (!err) {
		switch_fds(fds, n, PERF_EVENT_IOC_DISABLE);
		if (source->running)
			switch_fds(fresh, n, PERF_EVENT_IOC_ENABLE);
		close_fds(source, fds, n);
		memcpy(fds, fresh, n * sizeof(*fresh));
	} else {
		close_fds(source, fresh, n);
	}
	free(fresh);
	return unless_gone(source, number, err);
}

static enum zr_err filter_block(struct rec_source *source, const char *filter)
{
	enum zr_err err = ZR_OK;

	snprintf(source->block_filter, sizeof(source->block_filter), "%s", filter);
	for (uint32_t i = 0; !err && i < source->n_cpus; i++) {
		struct cpu *cpu = &source->cpus[i];

		for (uint32_t j = source->n_probes; !err && cpu->ring && j < source->n_events; j++)
			err = replace_event(source, &source->events[j], i, fds_of(source, cpu, j));
	}
	return err;
}

/* ----------------------------------------------------------------------------------------- life */

static void close_source(struct rec_source *source)
{
	if (!source)
		return;
	for (uint32_t i = 0; source->cpus && i < source->n_cpus; i++)
		close_cpu(source, &source->cpus[i]);
	free(source->cpus);
	rec_tracefs_close(source->tracefs);
	rec_decoder_free(source->decoder);
	rec_merge_free(source->merge);
	free(source->reader);
	free(source);
}

/* As many descriptors as it takes, if they are allowed. */
static void raise_limit(const struct rec_source *source)
{
	uint64_t need = (uint64_t)source->n_cpus * (n_fds(source) + 1) + SPARE_FDS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static size_t power_of_two(uint64_t bytes)
{
	size_t power = LEAST_RING;

	while (power * 2 <= bytes && power < (size_t)1 << 30)
		power *= 2;
	return power;
}

static enum zr_err make_room(struct rec_source *source)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	source->n_cpus = cpus < 1 ? 1 : cpus > MAX_CPUS ? MAX_CPUS : (uint32_t)cpus;
	source->cpus = calloc(source->n_cpus, sizeof(*source->cpus));
	source->merge = rec_merge_new(source->n_cpus, REC_MERGE_MOST);
	source->reader = malloc(sizeof(*source->reader));
	if (!source->cpus || !source->merge || !source->reader)
		return zr_fail(ZR_NOMEM, "no memory for the perf rings");
	source->reader->decoder = source->decoder;
	source->reader->merge = source->merge;
	source->reader->stats = (struct rec_source_stats){ 0 };
	return ZR_OK;
}

static enum zr_err open_all(struct rec_source *source, const struct rec_source_setup *setup)
{
	const struct rec_tracefs_setup tracefs = { .dir = setup->paths->tracefs };
	enum zr_err err = ZR_OK;

	/* Of tracepoints, which may be hit in an NMI, perf reads no other. */
	if (source->clock_id != CLOCK_MONOTONIC && source->clock_id != CLOCK_MONOTONIC_RAW)
		return zr_fail(ZR_USAGE, "trace clock %s: perf takes only mono and mono_raw",
			       setup->clock);
	if (setup->probes->n && !setup->events)
		err = rec_tracefs_open(&tracefs, &source->tracefs);
	if (!err)
		err = rec_decoder_new(&setup->probes->layout, &source->decoder);
	if (!err)
		err = make_room(source);
	if (!err)
		err = add_events(source, setup);
	if (err)
		return err;
	raise_limit(source);
	err = follow(source);
	if (!err && source->ring_bytes < power_of_two(setup->ring_bytes))
		rec_note(setup->notes, "ring.bytes",
			 "%zu (no more may be mapped without "
			 "CAP_IPC_LOCK; see sysctl kernel.perf_event_mlock_kb)",
			 source->ring_bytes);
	return err;
}

static enum zr_err open_source(const struct rec_source_setup *setup, struct rec_source **out)
{
	struct rec_source *source = calloc(1, sizeof(*source));
	enum zr_err err;

	if (!source)
		return zr_fail(ZR_NOMEM, "no memory for a source of events");
	source->clock_id = rec_clock_id(setup->clock);
	source->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	source->ring_bytes = power_of_two(setup->ring_bytes);
	source->cgroup_fds = setup->cgroup_fds;
	source->n_cgroups = setup->n_cgroups;
	snprintf(source->sys, sizeof(source->sys), "%s", setup->paths->sys);
	err = open_all(source, setup);
	if (err) {
		close_source(source);
		return err;
	}
	*out = source;
	return ZR_OK;
}

static void switch_all(struct rec_source *source, unsigned long request)
{
	for (uint32_t i = 0; i < source->n_cpus; i++)
		if (source->cpus[i].on)
			switch_fds(source->cpus[i].fds, n_fds(source), request);
}

static enum zr_err on(struct rec_source *source)
{
	switch_all(source, PERF_EVENT_IOC_ENABLE);
	source->running = true;
	return ZR_OK;
}

static void off(struct rec_source *source)
{
	switch_all(source, PERF_EVENT_IOC_DISABLE);
	source->running = false;
}

/* -------------------------------------------------------------------------------------- reading */

static uint64_t now_ns(struct rec_source *source)
{
	return zr_clock_ns(source->clock_id);
}

static enum zr_err read_ring(struct rec_source *source, uint32_t number, uint64_t mark_ns)
{
	struct cpu *cpu = &source->cpus[number];
	struct rec_perf_circle circle;
	enum zr_err err;

	if (!cpu->ring)
		return ZR_OK;
	circle = (struct rec_perf_circle){
		.data = (unsigned char *)cpu->ring + source->page_bytes,
		.bytes = cpu->ring_bytes,
		.head = __atomic_load_n(&cpu->ring->data_head, __ATOMIC_ACQUIRE),
		.tail = cpu->ring->data_tail,
		.cpu = number,
	};
	err = rec_perf_take(source->reader, &circle, mark_ns);
	__atomic_store_n(&cpu->ring->data_tail, circle.tail, __ATOMIC_RELEASE);
	return err;
}

static enum zr_err drain(struct rec_source *source, uint64_t mark_ns, uint64_t *bytes)
{
	uint64_t before = source->reader->stats.bytes;
	enum zr_err err = ZR_OK;

	rec_merge_begin(source->merge);
	for (uint32_t i = 0; !err && i < source->n_cpus; i++)
		if (source->cpus[i].on)
			err = read_ring(source, i, mark_ns);
	rec_merge_end(source->merge);
	*bytes = source->reader->stats.bytes - before;
	return err;
}

static bool next(struct rec_source *source, uint64_t until_ns, struct rec_raw *raw)
{
	return rec_merge_next(source->merge, until_ns, raw);
}

static uint64_t reached(const struct rec_source *source, uint64_t until_ns)
{
	return rec_merge_reached(source->merge, until_ns);
}

static struct rec_source_stats stats(const struct rec_source *source)
{
	return source->reader->stats;
}

static uint32_t cpus(const struct rec_source *source)
{
	return source->n_on;
}

static int64_t missed(const struct rec_source *source)
{
	return source->tracefs ? rec_tracefs_missed(source->tracefs) : -1;
}

static uint64_t total_lost(struct rec_source *source, struct rec_notes *notes)
{
	uint64_t lost = source->lost_before;

	for (uint32_t i = 0; i < source->n_cpus; i++)
		for (uint32_t j = 0; source->cpus[i].on && j < n_fds(source); j++)
			lost += lost_of(source->cpus[i].fds[j]);
	rec_note(notes, "ring.overrun", "%llu", (unsigned long long)lost);
	return lost;
}

const struct rec_source_ops rec_source_perf = {
	.name = "perf",
	.open = open_source,
	.filter_block = filter_block,
	.follow = follow,
	.on = on,
	.off = off,
	.now_ns = now_ns,
	.drain = drain,
	.next = next,
	.reached = reached,
	.stats = stats,
	.cpus = cpus,
	.missed = missed,
	.total_lost = total_lost,
	.close = close_source,
};
