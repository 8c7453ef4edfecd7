/* SPDX-License-Identifier: MIT */
/* See account.h. */
#include "replayer/account.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/device_guard.h"

enum { SECTOR_BYTES = 512, IN_FLIGHT_TRIES = 10000 };

/* -------------------------------------------------------------------------------------------- group */

static void keep_reason(struct account_group *group, const char *what)
{
	snprintf(group->why_not, sizeof(group->why_not), "%s: %s", what, zr_error_text());
	zr_error_clear();
}

static enum zr_err move_in(struct account_group *group, const char *controllers)
{
	enum zr_err err = cgroup_make(&(struct cgroup_options){ .controllers = controllers }, &group->top);

	if (!err)
		err = cgroup_make_below(group->top, "replay", controllers, &group->own);
	if (!err)
		err = cgroup_put(group->own, 0);
	if (err) {
		(void)!cgroup_free(group->top);
		group->top = group->own = NULL;
	}
	return err;
}

/* As much as can be had: bios and pressure, pressure alone, nothing. */
static void move_in_somehow(struct account_group *group)
{
	group->counts_bios = move_in(group, "io") == ZR_OK;
	if (group->counts_bios)
		return;
	keep_reason(group, "bios are not measured");
	if (move_in(group, "") != ZR_OK)
		keep_reason(group, "bios and pressure are not measured");
}

enum zr_err account_group_open(enum play_cgroup use, bool is_block, struct account_group *out)
{
	enum zr_err err = ZR_OK;

	*out = (struct account_group){ 0 };
	if (use == PLAY_CGROUP_ON) {
		err = move_in(out, "io");
		out->counts_bios = !err;
	} else if (use == PLAY_CGROUP_AUTO && is_block) {
		move_in_somehow(out);
	}
	return err;
}

enum zr_err account_group_close(struct account_group *group)
{
	enum zr_err err = cgroup_free(group->top);

	group->top = group->own = NULL;
	return err;
}

/* ------------------------------------------------------------------------------------------ account */

void account_init(struct account *account, bool is_block, uint32_t major, uint32_t minor)
{
	uint32_t disk[2];

	device_disk(major, minor, disk);
	*account = (struct account){ .is_block = is_block,
				     .major = major,
				     .minor = minor,
				     .disk_major = disk[0],
				     .disk_minor = disk[1] };
}

void account_fini(struct account *account)
{
	measure_fini(&account->before);
	measure_fini(&account->counted);
}

/* The kernel counts a request a moment after it has told of its end, and takes it out of those in flight
 * after that. (A flush would be a barrier too, but is itself counted as a write on drives with a cache.) */
static void read_block(const struct account *account, struct measure *to)
{
	for (int tries = 0; tries < IN_FLIGHT_TRIES; tries++) {
		struct measure now = { 0 };
		uint64_t in_flight;
		bool busy;

		measure_block_file(&now, "block.", account->major, account->minor);
		busy = measure_get(&now, "block.in_flight", &in_flight) && in_flight;
		if (!busy || tries == IN_FLIGHT_TRIES - 1) {
			*to = now;
			return;
		}
		measure_fini(&now);
		sched_yield();
	}
}

static void read_all(const struct account *account, struct measure *to)
{
	char *text;

	*to = (struct measure){ 0 };
	if (account->is_block)
		read_block(account, to);
	if (!account->group)
		return;
	text = cgroup_peek(account->group, "io.stat");
	measure_io_stat(to, "io.", text, account->disk_major, account->disk_minor);
	free(text);
	text = cgroup_peek(account->group, "io.pressure");
	measure_pressure(to, "pressure.", text);
	free(text);
}

void account_begin(struct account *account)
{
	account_fini(account);
	read_all(account, &account->before);
}

/* iocost's times appear with a group's first I/O: they have begun at 0 then. */
static uint64_t value_before(const struct account *account, const char *name)
{
	uint64_t value;

	return measure_get(&account->before, name, &value) ? value : 0;
}

void account_end(struct account *account)
{
	struct measure after, *counted = &account->counted;
	uint32_t kept = 0;

	read_all(account, &after);
	measure_fini(counted);
	*counted = after;
	for (uint32_t i = 0; i < after.n; i++) {
		struct measure_value value = counted->values[i];
		uint64_t before = value_before(account, value.name);

		/* Counters that began anew say nothing. */
		if (value.value < before)
			continue;
		value.value -= before;
		counted->values[kept++] = value;
	}
	counted->n = kept;
}

void account_check(const struct account *account, const struct account_submitted *submitted, char *text,
		   size_t bytes)
{
	uint64_t sectors, requests, merges, ours = submitted->writes, seen;

	text[0] = '\0';
	if (!measure_get(&account->counted, "block.write_sectors", &sectors) ||
	    !measure_get(&account->counted, "block.write_requests", &requests) ||
	    !measure_get(&account->counted, "block.write_merges", &merges))
		return;
	/* A write that is too large for the device is split, which only the cgroup knows. */
	measure_get(&account->counted, "io.wios", &ours);
	seen = sectors * SECTOR_BYTES;
	if (seen == submitted->bytes)
		return;
	if (seen > submitted->bytes)
		snprintf(text, bytes,
			 "somebody else wrote to the device: %" PRIu64 " requests and %" PRIu64
			 " bytes more than this replay submitted are in its statistics",
			 requests + merges > ours ? requests + merges - ours : 1, seen - submitted->bytes);
	else
		snprintf(text, bytes,
			 "the device's statistics have %" PRIu64 " bytes of writes less than this replay submitted",
			 submitted->bytes - seen);
}
