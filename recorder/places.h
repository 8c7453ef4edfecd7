/* SPDX-License-Identifier: MIT */
/*
 * Places in the output: events leave in the order in which their places were taken, though some are
 * filled later than others (a scan is known at its return, but belongs at its entry).
 *
 *        head                                tail
 *   ... | ready | open | ready | void | open |        a ring of REC_PLACES
 *
 * Events leave at the head while it is not open. An open head is given up, as it stands, when the ring is
 * full or when the time in the trace has gone on by its patience: nobody waits for a return that was
 * missed. A place is named by a running number, so that whoever comes late to fill one that is gone
 * notices.
 */
#ifndef RECORDER_PLACES_H
#define RECORDER_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"
#include "db/event.h"

enum { REC_PLACES = 65536 };

enum rec_patience {
	REC_PATIENT, /* a scan may really take long: it waits for I/O */
	REC_BRIEF,   /* filled by the next event of the same task, if at all */
};

/* Takes an event that leaves. */
typedef enum zr_err rec_event_fn(void *arg, const struct db_event *event);

struct rec_places {
	struct rec_place *ring;
	uint64_t head, tail;
	rec_event_fn *fn;
	void *arg;
	enum zr_err err;   /* the first that `fn` returned; nothing leaves afterwards */
	uint64_t given_up; /* places of REC_PATIENT that were never filled */
};

[[nodiscard]] bool rec_places_init(struct rec_places *places, rec_event_fn *fn, void *arg);
void rec_places_fini(struct rec_places *places);

/* A place that is ready at once. */
void rec_places_add(struct rec_places *places, const struct db_event *event);

/* Takes a place; `event` is what leaves if nobody fills it. Returns its number. */
uint64_t rec_places_open(struct rec_places *places, const struct db_event *event,
			 enum rec_patience patience);

/* The event of an open place, to be completed, or NULL if the place is gone; then ready or void it. */
struct db_event *rec_places_at(struct rec_places *places, uint64_t number);
void rec_places_ready(struct rec_places *places, uint64_t number);
void rec_places_void(struct rec_places *places, uint64_t number);

/* Lets go what is ready; `now_ns` is the time that the trace has reached. */
void rec_places_drain(struct rec_places *places, uint64_t now_ns);

/* Lets all go, filled or not. */
void rec_places_flush(struct rec_places *places);

#endif
