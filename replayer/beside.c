/* SPDX-License-Identifier: MIT */
/* See beside.h. */
#include "replayer/beside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1024 * 1024 };

/* ------------------------------------------------------------------------------------- where it writes */

struct range {
	int fd;
	uint64_t from, bytes;
};

static uint64_t whole_mib(uint64_t bytes)
{
	return bytes / MIB * MIB;
}

static enum zr_err behind_slots(const struct beside_options *options, struct range *out)
{
	uint64_t from = whole_mib(options->taken_bytes + MIB - 1);
	uint64_t left = options->file->bytes > from ? whole_mib(options->file->bytes - from) : 0;

	*out = (struct range){ .fd = options->file->fd, .from = from,
			       .bytes = left < BESIDE_MOST ? left : BESIDE_MOST };
	return ZR_OK;
}

/* So that the file system has its blocks, and reads find something. */
static enum zr_err write_once(const struct beside *beside)
{
	enum zr_err err = ZR_OK;
	void *block;

	if (posix_memalign(&block, 4096, MIB))
		return zr_fail(ZR_NOMEM, "making '%s': no memory", beside->scratch_path);
	device_mark(block, MIB);
	for (uint64_t at = 0; at < MIB + BESIDE_FILE && !err; at += MIB) {
		ssize_t wrote = pwrite(beside->scratch.fd, block, MIB, (off_t)at);

		if (wrote != MIB)
			err = zr_fail_errno(wrote < 0 ? errno : ENOSPC, "writing the neighbour's file '%s'",
					    beside->scratch_path);
	}
	free(block);
	return err;
}

static enum zr_err beside_file(const struct beside_options *options, struct beside *beside, struct range *out)
{
	enum zr_err err;

	if (snprintf(beside->scratch_path, sizeof(beside->scratch_path), "%s.neighbour", options->path) >=
	    (int)sizeof(beside->scratch_path))
		return zr_fail(ZR_USAGE, "'%.60s...' is too long a name for a neighbour beside it", options->path);
	err = device_file_open(beside->scratch_path, NULL, &beside->scratch);
	if (!err)
		err = write_once(beside);
	*out = (struct range){ .fd = beside->scratch.fd, .from = MIB, .bytes = BESIDE_FILE };
	return err;
}

/* --------------------------------------------------------------------------------------------- weights */

static void keep_reason(struct beside *beside)
{
	snprintf(beside->note, sizeof(beside->note), "the neighbour has no weight: %s", zr_error_text());
	zr_error_clear();
}

static enum zr_err make_group(struct beside *beside, const struct beside_options *options)
{
	if (!options->top)
		return zr_fail(ZR_UNSUPPORTED, "there is no control group for it");
	return cgroup_make_below(options->top, "neighbour", "io", &beside->group);
}

static enum zr_err switch_on(struct beside *beside, const struct beside_options *options)
{
	const struct iocost_setup_options setup = { .root = cgroup_root(options->top),
						    .major = options->disk_major,
						    .minor = options->disk_minor,
						    .model = options->iocost };

	return iocost_setup_begin(&setup, &beside->iocost);
}

static enum zr_err set_weights(struct beside *beside, const struct beside_options *options, uint32_t weight)
{
	char text[32];
	enum zr_err err;

	snprintf(text, sizeof(text), "default %d", NEIGHBOUR_OUR_WEIGHT);
	err = cgroup_write(options->own, "io.weight", text);
	snprintf(text, sizeof(text), "default %u", weight);
	return err ? err : cgroup_write(beside->group, "io.weight", text);
}

/* As much of it as can be had. */
static void weigh(struct beside *beside, const struct beside_options *options, uint32_t weight)
{
	enum zr_err err = make_group(beside, options);

	if (!err)
		err = switch_on(beside, options);
	if (!err)
		err = set_weights(beside, options, weight);
	if (err)
		keep_reason(beside);
}

/* ------------------------------------------------------------------------------------------------ life */

enum zr_err beside_begin(const struct beside_options *options, struct beside *out)
{
	struct neighbour_options how = { .path = options->path };
	struct neighbour_words words;
	struct range range = { .fd = -1 };
	enum zr_err err;

	*out = (struct beside){ .scratch = { .fd = -1 },
				.disk_major = options->disk_major,
				.disk_minor = options->disk_minor };
	err = neighbour_parse(options->words, &words);
	if (!err)
		err = options->file->is_block ? behind_slots(options, &range) :
						beside_file(options, out, &range);
	if (err)
		return err;
	weigh(out, options, words.weight);
	how.words = &words;
	how.fd = range.fd;
	how.from = range.from;
	how.bytes = range.bytes;
	how.group = out->group;
	return neighbour_start(&how, &out->neighbour);
}

static void read_stat(const struct beside *beside, struct measure *out)
{
	char *text = beside->group ? cgroup_peek(beside->group, "io.stat") : NULL;

	measure_io_stat(out, "", text, beside->disk_major, beside->disk_minor);
	free(text);
}

void beside_pass_begin(struct beside *beside)
{
	if (!beside->neighbour)
		return;
	measure_fini(&beside->stat_before);
	read_stat(beside, &beside->stat_before);
	beside->before = neighbour_look(beside->neighbour);
}

enum zr_err beside_pass_end(struct beside *beside, struct beside_figures *out)
{
	const struct neighbour_counts *before = &beside->before;
	struct neighbour_counts now;
	struct measure stat = { 0 };
	uint64_t ios, usage_before = 0;

	*out = (struct beside_figures){ 0 };
	if (!beside->neighbour)
		return ZR_OK;
	now = neighbour_look(beside->neighbour);
	read_stat(beside, &stat);
	ios = now.ios - before->ios;
	out->there = true;
	out->bytes = now.bytes - before->bytes;
	out->iops = now.time_ns > before->time_ns ?
			    (double)ios / ((double)(now.time_ns - before->time_ns) / 1e9) :
			    0;
	out->latency_us = ios ? (double)(now.latency_ns - before->latency_ns) / (double)ios / 1000 : 0;
	/* A group that has done nothing yet has no such figure. */
	(void)measure_get(&beside->stat_before, "cost.usage", &usage_before);
	out->has_usage = measure_get(&stat, "cost.usage", &out->usage_us);
	out->usage_us -= out->has_usage ? usage_before : 0;
	measure_fini(&stat);
	return neighbour_check(beside->neighbour);
}

enum zr_err beside_end(struct beside *beside)
{
	enum zr_err err, group_err;

	neighbour_stop(beside->neighbour);
	beside->neighbour = NULL;
	err = iocost_setup_end(&beside->iocost);
	group_err = cgroup_free(beside->group);
	beside->group = NULL;
	measure_fini(&beside->stat_before);
	if (beside->scratch_path[0] && beside->scratch.fd >= 0) {
		close(beside->scratch.fd);
		if (beside->scratch.created)
			unlink(beside->scratch_path);
	}
	beside->scratch_path[0] = '\0';
	return err ? err : group_err;
}
