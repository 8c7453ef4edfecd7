/* SPDX-License-Identifier: MIT */
/* Swap areas on device mapper; see dm.h. */
#include "recorder/dm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_TARGETS = 65536, MAX_EXTENTS = 1 << 20, MAX_LEVELS = 8, MAX_ANSWER = 16 << 20 };

/* ------------------------------------------------------------------------------------------- the table */

/* "8:3 2048" of linear, "CIPHER KEY IV 8:3 2048 ..." of crypt: how many words stand before. */
static const struct way {
	const char *type;
	int words;
} ways[] = { { "linear", 0 }, { "crypt", 3 } };

static const struct way *way_of(const char *type)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strncmp(type, ways[i].type, DM_MAX_TYPE_NAME) == 0)
			return &ways[i];
	return NULL;
}

static bool take_place(const char *text, int words, struct rec_dm_target *target)
{
	unsigned major, minor;
	unsigned long long offset;

	for (; words; words--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	if (sscanf(text, "%4u:%7u %20llu", &major, &minor, &offset) != 3 || major > 0xfff ||
	    minor > 0xfffff)
		return false;
	target->dev = (uint32_t)major << 20 | minor;
	target->offset = offset;
	return true;
}

/* The target at *at, which is moved on to the next. */
static enum zr_err take_target(const char *answer, size_t bytes, size_t *at,
			       struct rec_dm_target *target)
{
	struct dm_target_spec spec;
	const char *text = answer + *at + sizeof(spec);
	const struct way *way;

	if (*at > bytes || bytes - *at <= sizeof(spec))
		return zr_fail(ZR_CORRUPT, "the table of a mapped device is cut off");
	memcpy(&spec, answer + *at, sizeof(spec));
	if (!memchr(text, 0, bytes - *at - sizeof(spec)))
		return zr_fail(ZR_CORRUPT, "the table of a mapped device is cut off");
	spec.target_type[DM_MAX_TYPE_NAME - 1] = '\0';
	way = way_of(spec.target_type);
	*target = (struct rec_dm_target){ .start = spec.sector_start, .sectors = spec.length };
	if (!way || !take_place(text, way->words, target))
		return zr_fail(ZR_UNSUPPORTED,
			       "a target of type %s does not say where it goes on (linear and crypt do)",
			       spec.target_type);
	*at = spec.next;
	return ZR_OK;
}

enum zr_err rec_dm_targets(const void *answer, size_t bytes, uint32_t count,
			   struct rec_dm_target **out)
{
	enum zr_err err = ZR_OK;
	size_t at = 0;

	*out = NULL;
	if (!count || count > MAX_TARGETS)
		return zr_fail(ZR_LIMIT, "the table of a mapped device has %u targets", count);
	*out = calloc(count, sizeof(**out));
	if (!*out)
		return zr_fail(ZR_NOMEM, "no memory for the table of a mapped device");
	for (uint32_t i = 0; !err && i < count; i++)
		err = take_target(answer, bytes, &at, &(*out)[i]);
	if (!err)
		return ZR_OK;
	free(*out);
	*out = NULL;
	return err;
}

/* -------------------------------------------------------------------------------------------- moving */

struct moving {
	const struct rec_dm_target *targets;
	uint32_t n, per_slot;
	struct rec_extents moved;
	uint32_t room, dev;
};

static const struct rec_dm_target *target_at(const struct moving *moving, uint64_t sector)
{
	for (uint32_t i = 0; i < moving->n; i++)
		if (sector >= moving->targets[i].start &&
		    sector - moving->targets[i].start < moving->targets[i].sectors)
			return &moving->targets[i];
	return NULL;
}

static enum zr_err keep(struct moving *moving, const struct rec_extent *extent, uint32_t dev)
{
	uint32_t room = moving->room ? moving->room * 2 : 64;
	struct rec_extent *list;

	if (moving->moved.n && dev != moving->dev)
		return zr_fail(ZR_UNSUPPORTED, "it lies on several disks");
	moving->dev = dev;
	if (moving->moved.n == MAX_EXTENTS)
		return zr_fail(ZR_LIMIT, "it lies in more than %d pieces", MAX_EXTENTS);
	if (moving->moved.n == moving->room) {
		list = realloc(moving->moved.list, room * sizeof(*list));
		if (!list)
			return zr_fail(ZR_NOMEM, "no memory for the pieces of a swap area");
		moving->moved.list = list;
		moving->room = room;
	}
	moving->moved.list[moving->moved.n++] = *extent;
	return ZR_OK;
}

/* Cut at the borders of targets. */
static enum zr_err move_one(struct moving *moving, struct rec_extent left)
{
	enum zr_err err = ZR_OK;

	while (!err && left.slots) {
		const struct rec_dm_target *target = target_at(moving, left.sector);
		struct rec_extent part = left;
		uint64_t in, fit;

		if (!target)
			return zr_fail(ZR_UNSUPPORTED, "no target holds its sector %llu",
				       (unsigned long long)left.sector);
		in = left.sector - target->start;
		fit = (target->sectors - in) / moving->per_slot;
		if (fit < left.slots && (target->sectors - in) % moving->per_slot)
			return zr_fail(ZR_UNSUPPORTED, "a border between targets cuts a slot");
		part.slots = fit < left.slots ? (uint32_t)fit : left.slots;
		part.sector = target->offset + in;
		err = keep(moving, &part, target->dev);
		left.slot += part.slots;
		left.slots -= part.slots;
		left.sector += (uint64_t)part.slots * moving->per_slot;
	}
	return err;
}

static int by_sector(const void *a, const void *b)
{
	const struct rec_extent *x = a, *y = b;

	return (x->sector > y->sector) - (x->sector < y->sector);
}

enum zr_err rec_dm_move(const struct rec_dm_target *targets, uint32_t n, uint32_t sectors_per_slot,
			struct rec_extents *extents, uint32_t *dev)
{
	struct moving moving = { .targets = targets, .n = n, .per_slot = sectors_per_slot };
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < extents->n; i++)
		err = move_one(&moving, extents->list[i]);
	if (err) {
		free(moving.moved.list);
		return err;
	}
	if (moving.moved.n)
		qsort(moving.moved.list, moving.moved.n, sizeof(*moving.moved.list), by_sector);
	free(extents->list);
	*extents = moving.moved;
	*dev = moving.dev;
	return ZR_OK;
}

/* -------------------------------------------------------------------------------------- the live kernel */

/* As user space writes a device to the kernel. */
static uint64_t encoded(uint32_t dev)
{
	uint64_t major = dev >> 20, minor = dev & 0xfffff;

	return (minor & 0xff) | major << 8 | (minor & ~UINT64_C(0xff)) << 12;
}

/* A crypt target's line has its key, which must not stay in memory. */
static void forget(struct dm_ioctl *answer, size_t bytes)
{
	if (answer)
		explicit_bzero(answer, bytes);
	free(answer);
}

/* The whole answer, its head included; to be forgotten. */
static enum zr_err ask(int control, uint32_t dev, size_t bytes, struct dm_ioctl **out)
{
	struct dm_ioctl *answer = calloc(1, bytes);
	int errnum;

	if (!answer)
		return zr_fail(ZR_NOMEM, "no memory for the table of a mapped device");
	answer->version[0] = DM_VERSION_MAJOR;
	answer->data_size = (uint32_t)bytes;
	answer->data_start = sizeof(*answer);
	answer->flags = DM_STATUS_TABLE_FLAG | DM_NOFLUSH_FLAG | DM_SECURE_DATA_FLAG;
	answer->dev = encoded(dev);
	*out = answer;
	if (ioctl(control, DM_TABLE_STATUS, answer) == 0)
		return ZR_OK;
	errnum = errno;
	forget(answer, bytes);
	*out = NULL;
	return zr_fail_errno(errnum, "asking for the table of the mapped device %u:%u", dev >> 20,
			     dev & 0xfffff);
}

static enum zr_err read_table(uint32_t dev, struct rec_dm_target **targets, uint32_t *n)
{
	int control = open("/dev/" DM_DIR "/" DM_CONTROL_NODE, O_RDWR | O_CLOEXEC);
	struct dm_ioctl *answer = NULL;
	size_t bytes = 65536;
	enum zr_err err;

	if (control < 0)
		return zr_fail_errno(errno,
				     "opening /dev/mapper/control (it takes CAP_SYS_ADMIN) for the "
				     "table of a mapped device");
	err = ask(control, dev, bytes, &answer);
	while (!err && answer->flags & DM_BUFFER_FULL_FLAG && bytes < MAX_ANSWER) {
		forget(answer, bytes);
		bytes *= 4;
		err = ask(control, dev, bytes, &answer);
	}
	close(control);
	if (!err && (answer->data_start > answer->data_size || answer->data_size > bytes))
		err = zr_fail(ZR_CORRUPT, "the table of a mapped device is cut off");
	if (!err) {
		*n = answer->target_count;
		err = rec_dm_targets((const char *)answer + answer->data_start,
				     answer->data_size - answer->data_start, *n, targets);
	}
	forget(answer, bytes);
	return err;
}

bool rec_dm_is(const struct rec_paths *paths, uint32_t dev)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/dev/block/%u:%u/dm", paths->sys, dev >> 20, dev & 0xfffff);
	return access(path, F_OK) == 0;
}

/* From a partition to its disk. */
static void leave_partition(const struct rec_paths *paths, struct rec_extents *extents, uint32_t *dev)
{
	unsigned major, minor;
	uint64_t start;
	char text[32];

	if (!rec_file_line(text, sizeof(text), "%s/dev/block/%u:%u/start", paths->sys, *dev >> 20,
			   *dev & 0xfffff))
		return;
	start = strtoull(text, NULL, 10);
	for (uint32_t i = 0; i < extents->n; i++)
		extents->list[i].sector += start;
	if (rec_file_line(text, sizeof(text), "%s/dev/block/%u:%u/../dev", paths->sys, *dev >> 20,
			  *dev & 0xfffff) &&
	    sscanf(text, "%4u:%7u", &major, &minor) == 2)
		*dev = (uint32_t)major << 20 | minor;
}

enum zr_err rec_dm_to_disk(const struct rec_paths *paths, uint32_t sectors_per_slot,
			   struct rec_extents *extents, uint32_t *dev)
{
	enum zr_err err = ZR_OK;

	for (int level = 0; !err && rec_dm_is(paths, *dev); level++) {
		struct rec_dm_target *targets = NULL;
		uint32_t n = 0;

		if (level == MAX_LEVELS)
			return zr_fail(ZR_LIMIT, "more than %d mapped devices lie over each other",
				       MAX_LEVELS);
		err = read_table(*dev, &targets, &n);
		if (!err)
			err = rec_dm_move(targets, n, sectors_per_slot, extents, dev);
		free(targets);
		if (!err)
			leave_partition(paths, extents, dev);
	}
	return err;
}
