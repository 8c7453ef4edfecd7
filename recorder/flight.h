/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: the last minutes in memory, to be written when something has happened.
 *
 *   events ─> open chunk ─full─> columns of differences ─zstd─> ring of chunks, oldest dropped
 *   samples ─> ring of values          dictionaries: kept whole, they are bounded by the ids
 *
 * A chunk holds REC_FLIGHT_CHUNK events in 24 planes: byte i of each of the 24 bytes of an event, after the
 * time was replaced by its difference to the event before and the slot likewise: that takes about 5
 * bytes an event. Chunks are dropped when all they hold is older than the span, or when there is no room;
 * then less than the span is kept, and the trace begins later.
 */
#ifndef RECORDER_FLIGHT_H
#define RECORDER_FLIGHT_H

#include <stdint.h>

#include "db/db.h"

enum { REC_FLIGHT_CHUNK = 4096 };

struct rec_flight;

struct rec_flight_stats {
	uint64_t events, bytes; /* kept: encoded chunks */
	uint64_t dropped;	/* of the span, for want of room */
};

/* Keeps `span_ns`, in at most `most_bytes` of chunks and samples. */
enum zr_err rec_flight_new(uint64_t span_ns, uint64_t most_bytes, struct rec_flight **out);
void rec_flight_free(struct rec_flight *flight);

enum zr_err rec_flight_event(struct rec_flight *flight, const struct db_event *event);
enum zr_err rec_flight_memcg(struct rec_flight *flight, const struct db_memcg *memcg);
enum zr_err rec_flight_task(struct rec_flight *flight, const struct db_task *task);
enum zr_err rec_flight_area(struct rec_flight *flight, const struct db_area *area);
enum zr_err rec_flight_sample(struct rec_flight *flight, uint64_t time_ns, const char *source,
			      const char *name, double value);

struct rec_flight_stats rec_flight_stats(const struct rec_flight *flight);

/* Writes what is kept; it stays. */
enum zr_err rec_flight_write(struct rec_flight *flight, struct db *db, struct db_writer *writer);

#endif
