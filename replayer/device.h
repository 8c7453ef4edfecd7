/* SPDX-License-Identifier: MIT */
/*
 * The device target: the plan of swapio.h carried out with io_uring and O_DIRECT on a block device or a
 * regular file.
 *
 * Every bio is one write of adjacent slots from a buffer that was registered with the ring. Bios wait in
 * the context's queue until the plan kicks it; then all of them leave in one io_uring_enter, for which the
 * kernel plugs the queue itself. It does so only for more than two entries, so two writes that the plan has
 * inside a plug are sent with a no-op as the third.
 *
 * A page that zswap writes back is really decompressed into the buffer; a store really compresses a page;
 * see content.h. Every written page begins with its slot and a generation that rises with each write of the
 * slot; a refault reads the page back and compares them. Where nothing else says when the next event is due, the
 * replay waits for the refault, as a task would; where a schedule says it (device_wait), refaults overlap as the
 * recorded tasks' did, up to 64 of them.
 *
 *   offset  0            one page that marks a file as zreel's own (block devices: left alone)
 *           page size    slot 0 of area 0 ... of area 1 ...: each at (1 + slots before it) pages
 *
 * Order: a bio waits until earlier reads and writes of its slots have finished, a read likewise. Buffers and
 * operations of writes are rings: 1024 pages and 512 operations, reused in order of issue.
 *
 * A latency is from the call that submits to the completion as it is seen here: completions are looked for with
 * each page that is (de)compressed, and at each kick, so that it is late by that work at most.
 *
 * No more is in flight than the disk has tags for (nr_requests, nr_tags), some left free, since a tag is given back a
 * moment after its request has ended. One plug with more requests than that is beyond help: some are then sent on by
 * threads of io_uring, without a plug.
 *
 * The first failure is kept and everything after it is skipped; device_error() tells it.
 */
#ifndef REPLAYER_DEVICE_H
#define REPLAYER_DEVICE_H

#include "replayer/account.h"
#include "replayer/device_guard.h"
#include "replayer/swapio.h"

struct device_options {
	const char *path;
	const char *yes_destroy;   /* the path again, where it is needed */
	uint64_t file_bytes;	   /* a regular file is made this large; 0 = what the slots need */
	uint32_t page_size, n_areas;
	const uint64_t *area_slots;
	uint32_t depth; /* writes in flight at most; 0 = as many as there are operations */
	bool no_cpu;
	const char *corpus; /* the pages come from this file, see content.h; NULL = they are made up */
	void (*say)(void *arg, const char *text); /* told what is about to be overwritten; may be NULL */
	void *say_arg;
};

struct device_report {
	uint64_t enters;	/* io_uring_enter calls that submitted writes */
	uint64_t write_entries; /* writes in them */
	uint64_t bytes_written;
	uint64_t early_kicks; /* times that a bio could not wait for its context's kick */
	uint64_t reads, verified; /* refaults; those whose content was known and compared */
	uint64_t drawn_pages, drawn_off_bytes; /* from a corpus; how far their lengths were from the recorded */
	struct zr_hist read_ns, write_ns; /* latencies of one read, of one write */
	bool counted; /* the kernel's block statistics were there; else the next two are 0 */
	uint64_t write_requests, write_merges;
	const struct account *account; /* all that the kernel counted, until the next pass; NULL before the end */
};

struct device;

/* Refuses whatever could hold something of value; see device_guard.h. */
enum zr_err device_open(const struct device_options *options, struct device **out);

/* The target to give to swapio_init(). */
struct swapio_target *device_target(struct device *device);

/* What was opened. */
const struct device_file *device_file(const struct device *device);

/* The control group that this process is in, to be counted too; NULL = none. */
void device_set_group(struct device *device, const struct cgroup *group);

/* The first failure so far, ZR_OK if none; its sentence is in zr_error_text(). */
enum zr_err device_error(const struct device *device);

/* Who refaults waits for the read; or reads overlap with all that comes next. */
enum device_reads { DEVICE_READS_WAIT, DEVICE_READS_OVERLAP };

/* How many of the target's bytes, from its start, are the replay's own. */
uint64_t device_taken_bytes(const struct device *device);

/* Somebody else is meant to use the device, too: its statistics are not ours, and are not looked at. */
void device_share(struct device *device);

/* Starts a pass: statistics and report from zero, nothing of what earlier passes wrote is expected. */
enum zr_err device_start(struct device *device, enum device_reads reads);

/* Waits until the monotonic clock shows `until_ns`, serving completions; returns early with each of them. */
void device_wait(struct device *device, uint64_t until_ns);

/* The report as it is now; what is in flight is not in it. */
void device_look(const struct device *device, struct device_report *out);

/* Waits for all that is in flight and fills the report, also after an error. */
enum zr_err device_finish(struct device *device, struct device_report *out);

/* Removes the file if device_open() made it; NULL is fine. */
void device_close(struct device *device);

#endif
