/* SPDX-License-Identifier: MIT */
/* See block_count.h. */
#include "recorder/block_count.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "recorder/files.h"

enum { MERGES_FROM = 1 };

static const char *const events[] = { "block_rq_complete", "block_bio_backmerge", "block_bio_frontmerge",
				      "block_rq_merge" };

enum { EVENTS = sizeof(events) / sizeof(events[0]) };

struct rec_block_count {
	uint32_t n_cpus;
	int fds[]; /* by event, then by processor; -1 = that one is off line, or the kernel does not have the event */
};

void rec_block_count_filter(uint32_t major, uint32_t minor, char *text, size_t bytes)
{
	/* The end of a flush passes for a write without data. */
	snprintf(text, bytes, "dev == %u && nr_sector > 0 && rwbs ~ \"W*\"", major << 20 | minor);
}

/* ------------------------------------------------------------------------------------------ opening */

static enum zr_err refuse(int errnum, const char *event)
{
	if (errnum == EACCES || errnum == EPERM)
		return zr_fail(ZR_PERM,
			       "counting the tracepoint block:%s: %s; it takes root, or CAP_PERFMON and a readable "
			       "tracefs",
			       event, strerror(errnum));
	return zr_fail(ZR_UNSUPPORTED, "counting the tracepoint block:%s: %s", event, strerror(errnum));
}

/* A counter of an event on a processor, -1 where that is off line. */
static enum zr_err open_one(uint64_t id, const char *event, int cpu, const char *filter, int *out)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
					.size = sizeof(attr),
					.config = id,
					.sample_period = 0 };

	*out = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (*out < 0)
		return errno == ENODEV || errno == EINVAL ? ZR_OK : refuse(errno, event);
	return ioctl(*out, PERF_EVENT_IOC_SET_FILTER, filter) ? refuse(errno, event) : ZR_OK;
}

/* 0 if the kernel does not have it. */
static enum zr_err find_id(const struct rec_paths *paths, const char *event, uint64_t *out)
{
	char *text = rec_file_readf("%s/events/block/%s/id", paths->tracefs, event);
	int errnum = errno;

	*out = text ? strtoull(text, NULL, 10) : 0;
	free(text);
	return text || errnum == ENOENT ? ZR_OK : refuse(errnum, event);
}

static enum zr_err open_event(struct rec_block_count *count, uint32_t event, const struct rec_paths *paths,
			      const char *filter)
{
	uint64_t id;
	enum zr_err err = find_id(paths, events[event], &id);

	if (!err && !id && event < MERGES_FROM)
		return refuse(ENOENT, events[event]);
	for (uint32_t cpu = 0; cpu < count->n_cpus && id && !err; cpu++)
		err = open_one(id, events[event], (int)cpu, filter, &count->fds[event * count->n_cpus + cpu]);
	return err;
}

/* A partition's requests are its disk's. */
static void find_disk(const struct rec_paths *paths, uint32_t *disk_major, uint32_t *disk_minor)
{
	char text[32];
	unsigned major, minor;

	if (rec_file_line(text, sizeof(text), "%s/dev/block/%u:%u/partition", paths->sys, *disk_major,
			  *disk_minor) &&
	    rec_file_line(text, sizeof(text), "%s/dev/block/%u:%u/../dev", paths->sys, *disk_major,
			  *disk_minor) &&
	    sscanf(text, "%u:%u", &major, &minor) == 2) {
		*disk_major = major;
		*disk_minor = minor;
	}
}

static enum zr_err find_device(const char *path, const struct rec_paths *paths, char *filter, size_t bytes)
{
	uint32_t disk_major, disk_minor;
	struct stat st;

	if (stat(path, &st))
		return zr_fail_errno(errno, "looking at '%s'", path);
	if (!S_ISBLK(st.st_mode))
		return zr_fail(ZR_USAGE,
			       "counting the block tracepoints of '%s': it is not a block device, so its disk "
			       "may have writes of others",
			       path);
	disk_major = major(st.st_rdev);
	disk_minor = minor(st.st_rdev);
	find_disk(paths, &disk_major, &disk_minor);
	rec_block_count_filter(disk_major, disk_minor, filter, bytes);
	return ZR_OK;
}

static struct rec_block_count *new_count(uint32_t n_cpus)
{
	struct rec_block_count *count = malloc(sizeof(*count) + sizeof(int) * EVENTS * n_cpus);

	if (!count)
		return NULL;
	count->n_cpus = n_cpus;
	for (uint32_t i = 0; i < EVENTS * n_cpus; i++)
		count->fds[i] = -1;
	return count;
}

enum zr_err rec_block_count_open(const char *device, struct rec_block_count **out)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct rec_paths paths = { 0 };
	char filter[96];
	struct rec_block_count *count;
	enum zr_err err = rec_paths_find("/proc/mounts", &paths);

	*out = NULL;
	if (!err && !paths.tracefs[0])
		err = zr_fail(ZR_UNSUPPORTED, "counting block tracepoints: tracefs is not mounted");
	if (!err)
		err = find_device(device, &paths, filter, sizeof(filter));
	if (err)
		return err;
	count = new_count(n_cpus > 0 ? (uint32_t)n_cpus : 1);
	if (!count)
		return zr_fail(ZR_NOMEM, "counting block tracepoints: no memory");
	for (uint32_t event = 0; event < EVENTS && !err; event++)
		err = open_event(count, event, &paths, filter);
	if (err)
		rec_block_count_close(count);
	else
		*out = count;
	return err;
}

/* ------------------------------------------------------------------------------------------ reading */

static enum zr_err add_up(const struct rec_block_count *count, uint32_t event, uint64_t *sum)
{
	for (uint32_t cpu = 0; cpu < count->n_cpus; cpu++) {
		int fd = count->fds[event * count->n_cpus + cpu];
		uint64_t value;

		if (fd < 0)
			continue;
		if (read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
			return zr_fail_errno(errno ? errno : EIO, "reading the counter of block:%s", events[event]);
		*sum += value;
	}
	return ZR_OK;
}

enum zr_err rec_block_count_read(const struct rec_block_count *count, struct rec_block_writes *out)
{
	enum zr_err err = ZR_OK;

	*out = (struct rec_block_writes){ 0 };
	for (uint32_t event = 0; event < EVENTS && !err; event++)
		err = add_up(count, event, event < MERGES_FROM ? &out->requests : &out->merges);
	return err;
}

void rec_block_count_close(struct rec_block_count *count)
{
	if (!count)
		return;
	for (uint32_t i = 0; i < EVENTS * count->n_cpus; i++)
		if (count->fds[i] >= 0)
			close(count->fds[i]);
	free(count);
}
