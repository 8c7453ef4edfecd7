/* SPDX-License-Identifier: MIT */
/*
 * What there is to see of a race at one instant, as a copy: the worker (pilot.h) fills it, the dashboard draws it,
 * and neither waits for the other. `ask` says which parts depend on what is on the screen.
 */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include "replayer/replayer.h"

enum { UI_MAP_SPOTS = 1 << 16, UI_LIST_ROWS = 256, UI_AGES = 12, UI_SIZES = 9, UI_PATH = 128 };

/* What a spot of the map shows. */
#define UI_SPOTS(X)                                                                                \
	X(FREE, "free")                                                                            \
	X(ZSWAP, "zswap")    /* stored less than a second ago */                                   \
	X(ZSWAP_10S, "1s")   /* ... than ten seconds */                                            \
	X(ZSWAP_OLD, "10s+")                                                                       \
	X(DISK, "disk")                                                                            \
	X(WRITING, "writing")                                                                      \
	X(UNKNOWN, "unknown")                                                                      \
	X(ZERO, "zero")                                                                            \
	X(CACHED, "mem")

enum ui_spot {
#define X(name, text) UI_SPOT_##name,
	UI_SPOTS(X)
#undef X
	UI_SPOT_COUNT,
	UI_SPOT_KIND = 0x0f,
	UI_SPOT_JOINS = 0x10, /* one slot a spot: the next one was written by the same swap I/O */
};

/* The map's slots are those of the clusters that the trace touches, one after the other, by place. */
struct ui_ask {
	uint32_t lane;
	uint64_t map_at, map_slots; /* the part that is shown */
	uint32_t spots;		    /* in so many spots */
	uint64_t map_cursor;
	bool ages; /* wanted */
};

struct ui_lane_view {
	struct sim_policy policy;
	struct sim_counters counters;
	struct play_io io;
	struct sim_state state;
	bool joined;
	double caught_up;
	uint64_t sizes[UI_SIZES]; /* write requests of up to 1, 2, 4 ... 128 pages, and of more */
	uint64_t breaks[PLAY_BREAK_COUNT], ceiling_requests[PLAY_CEILING_COUNT];
	uint64_t pages, contexts, requests;
};

struct ui_slot_view {
	bool known; /* else there is no slot there */
	uint8_t area;
	uint32_t slot;
	struct play_slot it;
	char owner[UI_PATH];
};

/* Entries in the pool by their age: bin i holds those that ui_age_name(i) says. */
struct ui_ages {
	uint64_t counts[UI_AGES];
	uint64_t entries; /* looked at; one in `stride` */
	uint32_t stride;
};

/* Events of a slot. */
struct ui_list_view {
	uint32_t serial; /* of the request, 0 = none yet */
	bool complete;
	uint8_t area;
	uint32_t slot, n;
	uint64_t before; /* earlier ones that did not fit */
	struct db_event rows[UI_LIST_ROWS];
	char owners[UI_LIST_ROWS][32];
	uint32_t tids[UI_LIST_ROWS];
};

struct ui_view {
	bool ready; /* there is a race; else `waiting` says why not */
	bool follow, searching;
	bool busy;	   /* on the way to the goal, or with lanes or a search */
	uint32_t executed; /* orders */
	char kernel[96], trace_id[40]; /* "" if not known */
	uint64_t page_size;
	uint64_t first_ns, last_ns, end_ns, clock_ns, goal_ns;
	uint64_t cursor, events;
	uint32_t n_lanes;
	struct ui_lane_view lanes[PLAY_RACE_LANES];
	struct play_totals now;
	struct play_history history;
	struct ui_ask ask; /* that was answered */
	uint64_t map_all;  /* slots of the whole map */
	uint8_t spots[UI_MAP_SPOTS];
	struct ui_slot_view at_cursor;
	struct ui_ages ages;
	struct ui_list_view list;
	uint32_t said; /* serial of the message */
	char message[256];
	bool is_error;
	uint32_t moved;	     /* serial: the worker wants the map's cursor elsewhere */
	uint64_t map_cursor;
	enum zr_err err; /* the race is over; the message says why */
};

const char *ui_age_name(uint32_t bin);
const char *ui_spot_name(enum ui_spot spot);

/* The map's place of a slot and back; the race's clusters as the worker keeps them. */
struct ui_places {
	struct play_cluster *clusters;
	uint64_t *starts; /* place of each one's first slot */
	uint32_t n;
	uint64_t slots; /* in all */
};

enum zr_err ui_places_read(struct ui_places *places, const struct play_race *race);
void ui_places_fini(struct ui_places *places);
bool ui_place_slot(const struct ui_places *places, uint64_t place, uint8_t *area, uint32_t *slot);
bool ui_slot_place(const struct ui_places *places, uint8_t area, uint32_t slot, uint64_t *place);

/* All but owners, list and messages. */
void ui_view_fill(struct ui_view *view, const struct play_race *race, const struct ui_places *places,
		  const struct ui_ask *ask);

#endif
