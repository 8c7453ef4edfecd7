/* SPDX-License-Identifier: MIT */
/* The measurements of calibrate.h. */
#include "replayer/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <liburing.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "replayer/device_guard.h"

enum {
	KIB = 1024,
	MIB = 1024 * KIB,
	DEEPEST = 128,
	DEEP = 32,
	PLAIN_MAX_BYTES = 128 * KIB,
	BUFFER_BYTES = DEEP * MIB, /* DEEPEST of the smallest are less */
	DEFAULT_RANGE = 256 * MIB,
	WINDOW_LEAST_NS = 20'000'000,
};

static const uint64_t default_duration_ns = 60'000'000'000;

struct request {
	uint64_t began_ns;
	uint32_t place; /* of its buffer */
};

struct bench {
	const struct play_calibrate_options *options;
	struct device_file file;
	char path[PATH_MAX];
	struct io_uring ring;
	bool have_ring;
	unsigned char *buffer;
	uint64_t base, range; /* bytes: what is read and written */
	uint64_t random, next; /* next: of a sequential point */
	struct request requests[DEEPEST];
	uint32_t in_flight;
	uint64_t began_ns, duration_ns;
	enum zr_err err;
};

/* ------------------------------------------------------------------------------- what is measured */

static uint32_t sizes_of(uint32_t max_bytes, uint32_t sizes[5])
{
	static const uint32_t plain[] = { 4 * KIB, 16 * KIB, 64 * KIB, 128 * KIB };

	memcpy(sizes, plain, sizeof(plain));
	sizes[4] = max_bytes < MIB ? max_bytes / (4 * KIB) * (4 * KIB) : MIB;
	return sizes[4] > PLAIN_MAX_BYTES ? 5 : 4;
}

uint32_t calibrate_list(uint32_t max_bytes, bool read_only, struct play_drive_point *points)
{
	uint32_t sizes[5], n_sizes = sizes_of(max_bytes, sizes), n = 0;

	for (int write = 0; write <= !read_only; write++) {
		for (uint32_t depth = 1; depth <= DEEPEST; depth *= 2)
			points[n++] = (struct play_drive_point){ .write = write, .bytes = sizes[0],
								 .depth = depth };
		for (uint32_t i = 1; i < n_sizes; i++)
			for (uint32_t depth = 1; depth <= DEEP; depth *= DEEP)
				points[n++] = (struct play_drive_point){ .write = write,
									 .bytes = sizes[i],
									 .depth = depth };
		for (uint32_t i = 0; i < n_sizes; i++)
			for (uint32_t depth = 1; depth <= DEEP; depth *= DEEP)
				points[n++] = (struct play_drive_point){ .write = write,
									 .sequential = true,
									 .bytes = sizes[i],
									 .depth = depth };
	}
	return n;
}

/* ---------------------------------------------------------------------------------------- windows */

static double rate_of(const struct calibrate_window *window)
{
	return window->ns ? (double)window->ios / ((double)window->ns / 1e9) : 0;
}

bool calibrate_is_steady(const struct calibrate_window *windows, uint32_t n)
{
	double least = 0, most = 0;

	if (n < 1 + CALIBRATE_STEADY)
		return false;
	for (uint32_t i = n - CALIBRATE_STEADY; i < n; i++) {
		double rate = rate_of(&windows[i]);

		if (windows[i].ios < CALIBRATE_FEWEST)
			return false;
		least = i == n - CALIBRATE_STEADY || rate < least ? rate : least;
		most = rate > most ? rate : most;
	}
	return most - least <= most * CALIBRATE_SPREAD / 100;
}

void calibrate_sum_up(const struct calibrate_window *windows, uint32_t n, struct play_drive_point *point)
{
	struct calibrate_window sum = { 0 };

	point->steady = calibrate_is_steady(windows, n);
	for (uint32_t i = point->steady ? n - CALIBRATE_STEADY : n / 2; i < n; i++) {
		sum.ios += windows[i].ios;
		sum.ns += windows[i].ns;
		sum.latency_ns += windows[i].latency_ns;
	}
	point->ios = sum.ios;
	point->iops = rate_of(&sum);
	point->latency_us = sum.ios ? (double)sum.latency_ns / (double)sum.ios / 1000 : 0;
}

/* --------------------------------------------------------------------------------------- requests */

static uint64_t next_random(struct bench *bench)
{
	bench->random ^= bench->random << 13;
	bench->random ^= bench->random >> 7;
	bench->random ^= bench->random << 17;
	return bench->random;
}

static uint64_t next_offset(struct bench *bench, const struct play_drive_point *point)
{
	uint64_t places = bench->range / point->bytes;
	uint64_t place = point->sequential ? bench->next++ % places : next_random(bench) % places;

	return bench->base + place * point->bytes;
}

static const char *doing(const struct play_drive_point *point)
{
	return point->write ? "writing to" : "reading from";
}

static void submit(struct bench *bench, uint32_t entries)
{
	while (entries && !bench->err) {
		int ret = io_uring_submit(&bench->ring);

		if (ret == -EINTR || ret == -EAGAIN || ret == -EBUSY)
			continue;
		if (ret <= 0) {
			bench->err = zr_fail_errno(ret ? -ret : EIO, "giving '%s' %u requests",
						   bench->path, entries);
			return;
		}
		bench->in_flight += (uint32_t)ret;
		entries -= (uint32_t)ret;
	}
}

static void prepare(struct bench *bench, const struct play_drive_point *point, struct request *request)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&bench->ring);
	void *buffer = bench->buffer + (size_t)request->place * point->bytes;
	uint64_t offset = next_offset(bench, point);

	if (point->write)
		io_uring_prep_write(sqe, 0, buffer, point->bytes, offset);
	else
		io_uring_prep_read(sqe, 0, buffer, point->bytes, offset);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, request);
	request->began_ns = zr_monotonic_ns();
}

static void check_result(struct bench *bench, const struct play_drive_point *point, int32_t result)
{
	if (bench->err || result == (int32_t)point->bytes)
		return;
	if (result < 0)
		bench->err = zr_fail_errno(-result, "%s '%s', %u bytes at a time", doing(point), bench->path,
					   point->bytes);
	else
		bench->err = zr_fail(ZR_FULL, "%s '%s': only %d of %u bytes went through", doing(point),
				     bench->path, result, point->bytes);
}

/* One completion into the window; its request, or NULL after an error. */
static struct request *take(struct bench *bench, const struct play_drive_point *point,
			    struct calibrate_window *window, bool wait)
{
	struct io_uring_cqe *cqe;
	struct request *request;
	int ret;

	do
		ret = wait ? io_uring_wait_cqe(&bench->ring, &cqe) : io_uring_peek_cqe(&bench->ring, &cqe);
	while (ret == -EINTR);
	if (ret < 0) {
		if (wait && !bench->err)
			bench->err = zr_fail_errno(-ret, "waiting for I/O on '%s'", bench->path);
		if (wait)
			bench->in_flight = 0;
		return NULL;
	}
	request = io_uring_cqe_get_data(cqe);
	check_result(bench, point, cqe->res);
	io_uring_cqe_seen(&bench->ring, cqe);
	bench->in_flight--;
	window->ios++;
	window->latency_ns += zr_monotonic_ns() - request->began_ns;
	return request;
}

/* Keeps `depth` requests going until the window's time is over. */
static void run_window(struct bench *bench, const struct play_drive_point *point,
		       struct calibrate_window *window, uint64_t until_ns)
{
	uint64_t began = zr_monotonic_ns(), now = began;

	while (!bench->err && (now < until_ns || !window->ios)) {
		struct request *request = take(bench, point, window, true);
		uint32_t given = 0;

		for (; request && !bench->err; request = take(bench, point, window, false)) {
			prepare(bench, point, request);
			given++;
			if (point->sequential) {
				submit(bench, given);
				given = 0;
			}
		}
		submit(bench, given);
		now = zr_monotonic_ns();
	}
	window->ns = now - began;
}

static void drain(struct bench *bench, const struct play_drive_point *point)
{
	struct calibrate_window unused = { 0 };

	while (bench->in_flight)
		take(bench, point, &unused, true);
}

static bool go_on(struct bench *bench)
{
	const struct play_calibrate_options *options = bench->options;
	double done = (double)(zr_monotonic_ns() - bench->began_ns) / (double)bench->duration_ns;

	if (bench->err || !options->progress || options->progress(options->progress_arg, done < 1 ? done : 1))
		return !bench->err;
	bench->err = zr_fail(ZR_INTERRUPTED, "interrupted while measuring '%s'", bench->path);
	return false;
}

static void measure(struct bench *bench, struct play_drive_point *point, uint64_t budget_ns)
{
	struct calibrate_window windows[CALIBRATE_WINDOWS] = { 0 };
	uint64_t step = budget_ns / CALIBRATE_WINDOWS, until = zr_monotonic_ns();
	uint32_t n = 0;

	step = step > WINDOW_LEAST_NS ? step : WINDOW_LEAST_NS;
	bench->next = 0;
	for (uint32_t i = 0; i < point->depth && !bench->err; i++) {
		bench->requests[i].place = i;
		prepare(bench, point, &bench->requests[i]);
		submit(bench, 1);
	}
	while (n < CALIBRATE_WINDOWS && !calibrate_is_steady(windows, n) && go_on(bench)) {
		until += step;
		run_window(bench, point, &windows[n++], until);
	}
	drain(bench, point);
	if (!bench->err)
		calibrate_sum_up(windows, n, point);
}

/* ------------------------------------------------------------------------------------------ setting up */

static enum zr_err open_to_read(struct bench *bench)
{
	struct device_file *file = &bench->file;
	struct stat st;

	file->fd = open(bench->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (file->fd < 0)
		return errno == EINVAL ? zr_fail(ZR_UNSUPPORTED,
						 "opening '%s': its file system does not do O_DIRECT, without "
						 "which memory would be measured; choose a file on a disk",
						 bench->path) :
					 zr_fail_errno(errno, "opening '%s' for direct reading", bench->path);
	if (fstat(file->fd, &st))
		return zr_fail_errno(errno, "looking at '%s'", bench->path);
	file->bytes = (uint64_t)st.st_size;
	if (!S_ISBLK(st.st_mode))
		return S_ISREG(st.st_mode) ?
			       ZR_OK :
			       zr_fail(ZR_UNSUPPORTED, "'%s' is neither a block device nor a regular file",
				       bench->path);
	device_file_describe(&st, file);
	return ioctl(file->fd, BLKGETSIZE64, &file->bytes) ?
		       zr_fail_errno(errno, "asking for the size of '%s'", bench->path) :
		       ZR_OK;
}

/* In a folder, a scratch file of our own. */
static enum zr_err choose_path(struct bench *bench)
{
	const char *path = bench->options->path;
	bool folder, fits;
	struct stat st;

	folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (folder && bench->options->read_only)
		return zr_fail(ZR_USAGE, "'%s' is a folder, and a scratch file would have to be written; name a "
					 "file or a block device for --read-only", path);
	fits = snprintf(bench->path, sizeof(bench->path), "%s%s", path,
			folder ? "/zreel-calibrate.scratch" : "") < (int)sizeof(bench->path);
	return fits ? ZR_OK : zr_fail(ZR_USAGE, "the name '%.60s...' is too long", path);
}

static enum zr_err open_file(struct bench *bench)
{
	const struct play_calibrate_options *options = bench->options;
	/* In a folder, --yes-destroy names nothing. */
	const char *twice = strcmp(bench->path, options->path) == 0 ? options->yes_destroy : NULL;

	return options->read_only ? open_to_read(bench) : device_file_open(bench->path, twice, &bench->file);
}

/* Which bytes: behind the mark if we write, all if we only read; whole MiBs. */
static enum zr_err choose_range(struct bench *bench)
{
	const struct play_calibrate_options *options = bench->options;
	uint64_t wanted = options->bytes ? options->bytes / MIB * MIB : DEFAULT_RANGE;
	uint64_t there = bench->file.bytes;

	bench->base = options->read_only ? 0 : MIB;
	if (!options->read_only && !bench->file.is_block) {
		there = bench->base + wanted;
		if (ftruncate(bench->file.fd, (off_t)there))
			return zr_fail_errno(errno, "making '%s' %llu bytes large", bench->path,
					     (unsigned long long)there);
	}
	there = there > bench->base ? (there - bench->base) / MIB * MIB : 0;
	bench->range = wanted && wanted < there ? wanted : there;
	if (!bench->range)
		return zr_fail(ZR_NO_DATA, "'%s' is %llu bytes large; measuring takes at least %llu",
			       bench->path, (unsigned long long)bench->file.bytes,
			       (unsigned long long)bench->base + MIB);
	return ZR_OK;
}

static void fill_buffer(struct bench *bench)
{
	uint64_t *words = (uint64_t *)bench->buffer;

	/* Nothing that a drive could compress or find again. */
	for (size_t i = 0; i < BUFFER_BYTES / sizeof(*words); i++)
		words[i] = next_random(bench);
}

static enum zr_err make_ring(struct bench *bench)
{
	int ret = io_uring_queue_init(DEEPEST, &bench->ring, 0);

	if (ret == -ENOSYS || ret == -EPERM)
		return zr_fail(ZR_UNSUPPORTED, "setting up io_uring: the kernel refuses it here (%s)",
			       strerror(-ret));
	if (ret < 0)
		return zr_fail_errno(-ret, "setting up io_uring with %d entries", DEEPEST);
	bench->have_ring = true;
	ret = io_uring_register_files(&bench->ring, &bench->file.fd, 1);
	return ret < 0 ? zr_fail_errno(-ret, "registering '%s' with io_uring", bench->path) : ZR_OK;
}

static enum zr_err make_buffer(struct bench *bench)
{
	void *buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED)
		return zr_fail_errno(errno, "making %d bytes of I/O buffers", BUFFER_BYTES);
	bench->buffer = buffer;
	fill_buffer(bench);
	return ZR_OK;
}

static void say_what_will_happen(const struct bench *bench)
{
	const struct play_calibrate_options *options = bench->options;
	char text[PATH_MAX + 256];

	if (!options->say)
		return;
	snprintf(text, sizeof(text), "%s %s%s: %s%s%llu bytes from byte %llu on",
		 options->read_only   ? "reading" :
		 bench->file.created  ? "making scratch file" :
					"overwriting",
		 bench->file.is_block ? "block device " : "", bench->path, bench->file.model,
		 bench->file.model[0] ? ", " : "", (unsigned long long)bench->range,
		 (unsigned long long)bench->base);
	options->say(options->say_arg, text);
}

static enum zr_err mark_file(struct bench *bench)
{
	if (bench->file.is_block || bench->options->read_only)
		return ZR_OK;
	device_mark(bench->buffer, 4 * KIB);
	if (pwrite(bench->file.fd, bench->buffer, 4 * KIB, 0) != 4 * KIB)
		return zr_fail_errno(errno, "writing the first page of '%s'", bench->path);
	fill_buffer(bench);
	return ZR_OK;
}

static enum zr_err set_up(struct bench *bench)
{
	enum zr_err err = choose_path(bench);

	if (!err)
		err = open_file(bench);
	if (!err)
		err = make_buffer(bench);
	if (!err)
		err = make_ring(bench);
	if (err)
		return err;
	err = choose_range(bench);
	if (err)
		return err;
	say_what_will_happen(bench);
	return mark_file(bench);
}

static void take_down(struct bench *bench)
{
	if (bench->have_ring)
		io_uring_queue_exit(&bench->ring);
	if (bench->buffer)
		munmap(bench->buffer, BUFFER_BYTES);
	if (bench->file.fd < 0)
		return;
	close(bench->file.fd);
	if (bench->file.created)
		unlink(bench->path);
}

/* ----------------------------------------------------------------------------------------------- all */

/* Blocks that were never written cost a drive and a file system less, or more, than others. */
static void write_once(struct bench *bench)
{
	uint64_t until = bench->began_ns + bench->duration_ns / 4, done = 0;

	while (done < bench->range && (!done || zr_monotonic_ns() < until) && go_on(bench)) {
		ssize_t wrote = pwrite(bench->file.fd, bench->buffer, MIB, (off_t)(bench->base + done));

		if (wrote != MIB)
			bench->err = wrote < 0 ? zr_fail_errno(errno, "writing '%s' once", bench->path) :
						 zr_fail(ZR_FULL, "writing '%s' once: %zd of %d bytes went through",
							 bench->path, wrote, MIB);
		else
			done += MIB;
	}
	bench->range = done;
}

static void fill_drive(const struct bench *bench, struct play_drive *drive)
{
	const struct play_calibrate_options *options = bench->options;

	drive->created_realtime_ns = (int64_t)zr_clock_ns(CLOCK_REALTIME);
	drive->read_only = options->read_only;
	drive->range_bytes = bench->range;
	snprintf(drive->name, sizeof(drive->name), "%s",
		 options->name	      ? options->name :
		 bench->file.is_block ? bench->file.model :
					options->path);
	snprintf(drive->path, sizeof(drive->path), "%s", options->path);
}

/* 0 where nobody tells. */
static uint64_t largest_request(const struct device_file *file)
{
	char kib[32] = "";

	if (file->is_block)
		device_attribute(file, "queue/max_sectors_kb", kib, sizeof(kib));
	return strtoull(kib, NULL, 10) * KIB;
}

static void measure_all(struct bench *bench, struct play_drive *drive)
{
	uint64_t max_bytes = largest_request(&bench->file);
	struct play_drive_point points[PLAY_DRIVE_POINTS];
	uint32_t n = calibrate_list(max_bytes < MIB ? (uint32_t)max_bytes : MIB, drive->read_only, points);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t used = zr_monotonic_ns() - bench->began_ns;
		uint64_t left = used < bench->duration_ns ? bench->duration_ns - used : 0;

		measure(bench, &points[i], left / (n - i));
		if (bench->err)
			return;
		drive->points[drive->n++] = points[i];
	}
}

enum zr_err play_calibrate(const struct play_calibrate_options *options, struct play_drive *out)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	enum zr_err err;

	memset(out, 0, sizeof(*out));
	if (!bench)
		return zr_fail(ZR_NOMEM, "measuring '%s': no memory", options->path);
	bench->options = options;
	bench->file.fd = -1;
	bench->random = 88172645463325252;
	bench->duration_ns = options->duration_ns ? options->duration_ns : default_duration_ns;
	bench->began_ns = zr_monotonic_ns();
	err = set_up(bench);
	if (!err && !options->read_only)
		write_once(bench);
	if (!err) {
		fill_drive(bench, out);
		if (!bench->err)
			measure_all(bench, out);
		err = bench->err;
	}
	out->partial = err != ZR_OK;
	take_down(bench);
	free(bench);
	return err;
}
