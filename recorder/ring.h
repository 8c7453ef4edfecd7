/* SPDX-License-Identifier: MIT */
/*
 * From the kernel's ring buffers to raw records in time order.
 *
 *   per_cpu/cpuN/trace_pipe_raw ──> sub-buffers ──> events ──> records, a queue a CPU ──> merge by time
 *
 * A format says where the fields of an event lie; the offsets are taken from it once, none is assumed. An
 * event whose type is not known, or which is shorter than its format, is skipped and counted.
 *
 * Order: the clock is read before a round, all CPUs are drained up to that mark, and what is older than the
 * mark, less a little for events that were being written then, is final. Later ones wait for the next round.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"
#include "recorder/raw.h"

/* ---- decoding one event ---- */

struct rec_decoder;

enum zr_err rec_decoder_new(const struct rec_layout *layout, struct rec_decoder **out);
void rec_decoder_free(struct rec_decoder *decoder);

/* Reads a `format` file's text; events of this id become records of `type`. ZR_UNSUPPORTED, naming it, when
 * a needed field is missing. */
enum zr_err rec_decoder_add(struct rec_decoder *decoder, const char *system, const char *format,
			    enum rec_type type);

/* An event's bytes; false if it is not one of ours or is too short. Time and cpu are the caller's. */
bool rec_decoder_event(const struct rec_decoder *decoder, const void *data, size_t bytes,
		       struct rec_raw *raw);

/* ---- the buffers of an instance ---- */

struct rec_ring;

struct rec_ring_stats {
	uint64_t events;   /* read, ours or not */
	uint64_t lost;	   /* overrun by the kernel */
	uint64_t damaged;  /* sub-buffers that made no sense */
	uint64_t skipped;  /* events that were not decoded */
	uint64_t bytes;
};

/* Opens the CPUs' buffers of the instance at `instance_dir` for reading without waiting. The decoder must
 * outlive the ring. */
enum zr_err rec_ring_open(const char *instance_dir, const struct rec_decoder *decoder,
			  struct rec_ring **out);
void rec_ring_close(struct rec_ring *ring);

/* Reads what there is up to `mark_ns`, as far as it may wait here; *bytes is how much that was. While
 * rec_ring_reached() says that there is more, take what comes out and drain to the same mark again. */
enum zr_err rec_ring_drain(struct rec_ring *ring, uint64_t mark_ns, uint64_t *bytes);

/* The earliest record older than `until_ns`, taken out; false if there is none. */
bool rec_ring_next(struct rec_ring *ring, uint64_t until_ns, struct rec_raw *raw);

/* Up to which time, at most `until_ns`, all records have come out. */
uint64_t rec_ring_reached(const struct rec_ring *ring, uint64_t until_ns);

struct rec_ring_stats rec_ring_stats(const struct rec_ring *ring);
uint32_t rec_ring_cpus(const struct rec_ring *ring);

/* The number of the n-th CPU: they may have holes. */
uint32_t rec_ring_cpu(const struct rec_ring *ring, uint32_t index);

/* One sub-buffer of a CPU, as read from the kernel (page.h): its records go to the CPU's queue. Used by drain;
 * open here for tests. */
enum zr_err rec_ring_page(struct rec_ring *ring, uint32_t cpu_index, const void *data, size_t room);

/* A ring without files, fed by rec_ring_page(), whose records come out after the next drain; for tests. */
struct rec_ring_size {
	uint32_t cpus, most_waiting; /* records a CPU; 0 = no bound */
	size_t page_bytes;
};

enum zr_err rec_ring_new(const struct rec_decoder *decoder, const struct rec_ring_size *size,
			 struct rec_ring **out);

#endif
