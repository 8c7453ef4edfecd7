/* SPDX-License-Identifier: MIT */
/*
 * Events in the kernel's binary form (trace.dat, perf.data), decoded by the formats that the file carries.
 *
 * Which events are ours, and where their fields lie, is found once; an event then costs a look-up by its
 * number and a load for each field.
 */
#ifndef RECORDER_IMPORT_EVENT_H
#define RECORDER_IMPORT_EVENT_H

#include <stddef.h>

#include "recorder/text.h"

struct tep_handle;
struct rec_events;

/* Without any event. The dialect must outlive it. */
enum zr_err rec_events_new(const struct rec_dialect *dialect, struct rec_events **out);
void rec_events_free(struct rec_events *events);

/* All events that `tep` knows. */
enum zr_err rec_events_add_tep(struct rec_events *events, struct tep_handle *tep);

/* One event, by the text of its format as the kernel shows it (not terminated). ZR_CORRUPT if that makes no
 * sense. */
enum zr_err rec_events_add_format(struct rec_events *events, const char *system, const char *format,
				  size_t bytes);

/* Is zswap_load's return value an errno there? It is if it is wider than a truth value. -1: no such event. */
int rec_events_load_errno(const struct rec_events *events);

/* An event with its common fields at the front. Fills *raw, and its tid from the common fields; time and cpu
 * are the caller's. EVENT, OTHER, LACKS, COMMENT for one that another event tells too, or UNKNOWN for one that
 * is too short. */
enum rec_line rec_events_decode(const struct rec_events *events, const void *data, size_t bytes,
				struct rec_raw *raw);

#endif
