/* SPDX-License-Identifier: MIT */
/* The inside of a race: what race.c (running) and race_look.c (looking) share. See race.c. */
#ifndef REPLAYER_RACE_H
#define REPLAYER_RACE_H

#include "replayer/crew.h"
#include "replayer/race_lane.h"
#include "replayer/snapshot.h"
#include "replayer/survey.h"

/* Where lanes stand, and what has been fed to them. */
struct feed {
	struct db_reader *reader;    /* NULL: to be opened at from_ns */
	const struct db_batch *batch; /* the next event is row `row` of it; NULL or at its end: of the next */
	uint32_t row;
	uint64_t from_ns, cursor;
	uint64_t last_ns; /* of the last event fed */
	uint64_t kinds[DB_KIND_COUNT], writebacks;
	uint32_t next_border; /* of the history */
	uint32_t lane;	      /* of a lane that catches up */
	bool ended, flushed;
};

struct race_lane {
	struct lane *lane;
	bool behind;	  /* catching up, with a feed of its own */
	struct feed feed;
};

/* Where the race once stood. */
struct race_image {
	uint64_t time_ns, cursor, last_ns;
	uint64_t kinds[DB_KIND_COUNT], writebacks;
	uint32_t next_border;
	struct snapshot *lanes[PLAY_RACE_LANES]; /* NULL: that lane was not there */
};

struct watch {
	enum play_jump to;
	uint32_t lane, streak;
	uint64_t since_ns, outs;
	bool armed;
};

struct play_race {
	struct db *trace;
	bool follow;
	struct zr_arena arena; /* of the survey */
	struct survey_host host;
	uint32_t n_tasks;
	struct db_reader *scout; /* of a followed trace: how far it goes */

	struct feed feed; /* of the lanes that have joined */
	uint64_t clock_ns;
	uint32_t n_lanes;
	struct race_lane lanes[PLAY_RACE_LANES];
	struct watch watch;
	struct crew *crew; /* NULL on a machine with one CPU */
	struct {
		const struct db_batch *batch;
		uint32_t from, to;
		struct lane *lanes[PLAY_RACE_LANES];
	} work; /* of the crew: a lane a piece */

	struct race_image *images; /* by cursor */
	size_t n_images, image_room;
	size_t image_bytes, image_bytes_max, looked_at;
	uint64_t image_events, next_image; /* least distance; cursor from which on one is due */

	uint64_t *gaps; /* times */
	size_t n_gaps, gap_room;
	struct play_history history;
};

#endif
