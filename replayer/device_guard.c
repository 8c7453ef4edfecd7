/* SPDX-License-Identifier: MIT */
/* The refusals of device_guard.h. */
#include "replayer/device_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "db/base/text_file.h"

static const char mark[] = "zreel scratch file: may be overwritten\n";

void device_mark(void *page, size_t bytes)
{
	memset(page, 0, bytes);
	memcpy(page, mark, sizeof(mark));
}

bool device_is_marked(const void *page, size_t bytes)
{
	return bytes >= sizeof(mark) && memcmp(page, mark, sizeof(mark)) == 0;
}

/* ------------------------------------------------------------------------------------- signatures */

struct signature {
	const char *name;
	uint32_t offset, bytes;
	const char *magic;
};

static const struct signature signatures[] = {
	{ "an ext2, ext3 or ext4 file system", 1024 + 56, 2, "\x53\xef" },
	{ "an XFS file system", 0, 4, "XFSB" },
	{ "a btrfs file system", 65536 + 64, 8, "_BHRfS_M" },
	{ "an F2FS file system", 1024, 4, "\x10\x20\xf5\xf2" },
	{ "an EROFS file system", 1024, 4, "\xe2\xe1\xf5\xe0" },
	{ "a squashfs image", 0, 4, "hsqs" },
	{ "an ISO 9660 file system", 32769, 5, "CD001" },
	{ "a bcachefs or bcache member", 4096 + 24, 4, "\xc6\x85\x73\xf6" },
	{ "swap space", 4096 - 10, 10, "SWAPSPACE2" },
	{ "swap space", 16384 - 10, 10, "SWAPSPACE2" },
	{ "swap space", 65536 - 10, 10, "SWAPSPACE2" },
	{ "a suspended system", 4096 - 10, 9, "S1SUSPEND" },
	{ "an LVM physical volume", 0, 8, "LABELONE" },
	{ "an LVM physical volume", 512, 8, "LABELONE" },
	{ "an LVM physical volume", 1024, 8, "LABELONE" },
	{ "an LVM physical volume", 1536, 8, "LABELONE" },
	{ "a LUKS volume", 0, 6, "LUKS\xba\xbe" },
	{ "a RAID member", 4096, 4, "\xfc\x4e\x2b\xa9" },
	{ "a RAID member", 0, 4, "\xfc\x4e\x2b\xa9" },
	{ "a GUID partition table", 512, 8, "EFI PART" },
	{ "a GUID partition table", 4096, 8, "EFI PART" },
	{ "a partition table or boot sector", 510, 2, "\x55\xaa" },
};

const char *device_signature(const void *start, size_t bytes)
{
	const unsigned char *data = start;

	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		const struct signature *s = &signatures[i];

		if (s->offset + s->bytes <= bytes && memcmp(data + s->offset, s->magic, s->bytes) == 0)
			return s->name;
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------ in use */

bool device_is_mounted(const char *mountinfo, uint32_t major, uint32_t minor)
{
	while (*mountinfo) {
		unsigned line_major, line_minor;

		if (sscanf(mountinfo, "%*u %*u %u:%u", &line_major, &line_minor) == 2 &&
		    line_major == major && line_minor == minor)
			return true;
		mountinfo += strcspn(mountinfo, "\n");
		mountinfo += *mountinfo == '\n';
	}
	return false;
}

/* The next character of a name in a kernel table, in which blanks are octal escapes. */
static char next_char(const char **at)
{
	unsigned value;
	char c = *(*at)++;

	if (c != '\\' || sscanf(*at, "%3o", &value) != 1)
		return c;
	*at += 3;
	return (char)value;
}

static bool names_path(const char *line, const char *path)
{
	for (; *path; path++)
		if (*line == '\0' || *line == '\n' || next_char(&line) != *path)
			return false;
	return *line == ' ' || *line == '\t';
}

bool device_is_swap(const char *swaps, const char *path)
{
	while (*swaps) {
		if (names_path(swaps, path))
			return true;
		swaps += strcspn(swaps, "\n");
		swaps += *swaps == '\n';
	}
	return false;
}

/* "" if there is none; free it. NULL: no memory. */
static char *read_text(const char *path)
{
	char *text = zr_text_read(path);

	return text ? text : strdup("");
}

static enum zr_err refuse_if_in_use(const char *path, const struct device_file *file)
{
	char *mountinfo = read_text("/proc/self/mountinfo"), *swaps = read_text("/proc/swaps");
	char *real = realpath(path, NULL);
	enum zr_err err = ZR_OK;

	if (!mountinfo || !swaps || !real)
		err = zr_fail_errno(errno, "finding out whether '%s' is in use", path);
	else if (file->is_block && device_is_mounted(mountinfo, file->major, file->minor))
		err = zr_fail(ZR_BUSY, "'%s' is mounted; it will not be overwritten", path);
	else if (device_is_swap(swaps, real))
		err = zr_fail(ZR_BUSY, "'%s' is swap space in use; it will not be overwritten", path);
	free(mountinfo);
	free(swaps);
	free(real);
	return err;
}

/* ---------------------------------------------------------------------------------------- opening */

static bool named_twice(const char *path, const char *yes_destroy)
{
	return yes_destroy && strcmp(path, yes_destroy) == 0;
}

static enum zr_err open_direct(const char *path, int flags, struct device_file *out)
{
	out->fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC | flags, 0600);
	if (out->fd >= 0)
		return ZR_OK;
	if (errno == EINVAL)
		return zr_fail(
			ZR_UNSUPPORTED,
			"opening '%s': its file system does not do O_DIRECT, without which nothing "
			"would reach the device; choose a file on a disk",
			path);
	if (errno == EBUSY)
		return zr_fail(
			ZR_BUSY,
			"'%s' is in use: a file system, a RAID, LVM or another program holds it; "
			"it will not be overwritten",
			path);
	return zr_fail_errno(errno, "opening '%s' for direct reading and writing", path);
}

/* The first bytes of the file into a zeroed buffer; free it. */
static enum zr_err read_start(const char *path, const struct device_file *file, unsigned char **out)
{
	void *buffer;
	ssize_t got;

	*out = NULL;
	if (posix_memalign(&buffer, 4096, DEVICE_SIGNATURE_BYTES))
		return zr_fail(ZR_NOMEM, "looking at '%s': no memory", path);
	memset(buffer, 0, DEVICE_SIGNATURE_BYTES);
	got = pread(file->fd, buffer, DEVICE_SIGNATURE_BYTES, 0);
	if (got < 0) {
		free(buffer);
		return zr_fail_errno(errno, "reading the start of '%s' to see what it holds", path);
	}
	*out = buffer;
	return ZR_OK;
}

void device_attribute(const struct device_file *file, const char *name, char *out, size_t bytes)
{
	static const char *const places[] = { "", "../" };

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !out[0]; i++) {
		char path[PATH_MAX];
		char *text;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s%s", file->major, file->minor, places[i],
			 name);
		text = read_text(path);
		snprintf(out, bytes, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
		free(text);
		/* The kernel fills up what a drive says of itself. */
		for (size_t n = strlen(out); n && out[n - 1] == ' '; n--)
			out[n - 1] = '\0';
	}
}

void device_disk(uint32_t major_number, uint32_t minor_number, uint32_t disk[2])
{
	char path[96], *text;
	unsigned found[2];

	disk[0] = major_number;
	disk[1] = minor_number;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major_number, minor_number);
	text = zr_text_read(path);
	free(text);
	if (!text)
		return;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major_number, minor_number);
	text = zr_text_read(path);
	if (text && sscanf(text, "%u:%u", &found[0], &found[1]) == 2) {
		disk[0] = found[0];
		disk[1] = found[1];
	}
	free(text);
}

uint32_t device_tags(const struct device_file *file)
{
	static const char *const limits[] = { "queue/nr_requests", "mq/0/nr_tags" };
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char text[32];
		unsigned long tags;

		device_attribute(file, limits[i], text, sizeof(text));
		tags = strtoul(text, NULL, 10);
		if (tags && tags < least)
			least = (uint32_t)tags;
	}
	/* Some are still held by requests that have ended for their owner. */
	return least == UINT32_MAX ? least : least - least / 8;
}

void device_file_describe(const struct stat *st, struct device_file *file)
{
	char model[64], serial[48];

	file->is_block = true;
	file->major = major(st->st_rdev);
	file->minor = minor(st->st_rdev);
	device_attribute(file, "device/model", model, sizeof(model));
	device_attribute(file, "device/serial", serial, sizeof(serial));
	snprintf(file->model, sizeof(file->model), "%s%s%s", model[0] ? model : "unknown model",
		 serial[0] ? ", serial " : "", serial);
}

static enum zr_err check_block(const char *path, struct device_file *out)
{
	unsigned char *start;
	const char *found;
	enum zr_err err;

	if (ioctl(out->fd, BLKGETSIZE64, &out->bytes))
		return zr_fail_errno(errno, "asking for the size of '%s'", path);
	err = read_start(path, out, &start);
	if (err)
		return err;
	found = device_signature(start, DEVICE_SIGNATURE_BYTES);
	free(start);
	if (found)
		return zr_fail(
			ZR_BUSY,
			"'%s' (%s, %llu bytes) holds %s and will not be overwritten; if nobody needs "
			"that any more, remove it first (wipefs -a)",
			path, out->model, (unsigned long long)out->bytes, found);
	return ZR_OK;
}

static enum zr_err open_block(const char *path, const char *yes_destroy, const struct stat *st,
			      struct device_file *out)
{
	enum zr_err err;

	device_file_describe(st, out);
	if (!named_twice(path, yes_destroy))
		return zr_fail(
			ZR_USAGE,
			"'%s' (%s) is a block device and all that is on it would be overwritten; if "
			"that is meant, add --yes-destroy %s",
			path, out->model, path);
	err = refuse_if_in_use(path, out);
	if (!err)
		err = open_direct(path, O_EXCL, out);
	return err ? err : check_block(path, out);
}

static enum zr_err check_file(const char *path, const char *yes_destroy, struct device_file *out)
{
	unsigned char *start;
	bool ours;
	enum zr_err err;

	if (named_twice(path, yes_destroy))
		return ZR_OK;
	err = read_start(path, out, &start);
	if (err)
		return err;
	ours = device_is_marked(start, DEVICE_SIGNATURE_BYTES);
	free(start);
	if (ours)
		return ZR_OK;
	return zr_fail(
		ZR_EXISTS,
		"'%s' exists and was not made by zreel; name a file that does not exist, or, if this "
		"one may be overwritten, add --yes-destroy %s",
		path, path);
}

static enum zr_err open_file(const char *path, const char *yes_destroy, const struct stat *st,
			     struct device_file *out)
{
	enum zr_err err;

	out->major = major(st->st_dev);
	out->minor = minor(st->st_dev);
	if (!S_ISREG(st->st_mode))
		return zr_fail(ZR_UNSUPPORTED, "'%s' is neither a block device nor a regular file",
			       path);
	out->bytes = (uint64_t)st->st_size;
	err = refuse_if_in_use(path, out);
	if (!err)
		err = open_direct(path, 0, out);
	return err ? err : check_file(path, yes_destroy, out);
}

/* A name in /dev that is not there is no place for a file, but for the shared memory in it. */
static bool is_device_name(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
}

static enum zr_err make_file(const char *path, struct device_file *out)
{
	struct stat st;
	enum zr_err err;

	if (is_device_name(path))
		return zr_fail(ZR_NOT_FOUND, "there is no device '%s'; see lsblk for those that there are", path);
	err = open_direct(path, O_CREAT | O_EXCL, out);

	out->created = !err;
	if (!err && fstat(out->fd, &st) == 0) {
		out->major = major(st.st_dev);
		out->minor = minor(st.st_dev);
	}
	return err;
}

enum zr_err device_file_open(const char *path, const char *yes_destroy, struct device_file *out)
{
	struct stat st;
	enum zr_err err;

	memset(out, 0, sizeof(*out));
	out->fd = -1;
	if (stat(path, &st) == 0) {
		err = S_ISBLK(st.st_mode) ? open_block(path, yes_destroy, &st, out) :
					    open_file(path, yes_destroy, &st, out);
	} else if (errno == ENOENT) {
		err = make_file(path, out);
	} else {
		err = zr_fail_errno(errno, "looking at '%s'", path);
	}
	if (err && out->fd >= 0) {
		close(out->fd);
		out->fd = -1;
	}
	return err;
}
