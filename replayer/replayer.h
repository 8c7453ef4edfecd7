/* SPDX-License-Identifier: MIT */
/*
 * The replayer: a model of the zswap pool that is fed with the events of a trace, and the targets that
 * its I/O goes to. The only header of replayer/ that other folders include.
 *
 *   events ──> sim (who is stored, rejected, written back, and when)
 *                └─> swap I/O (which bios: contexts, batches) ──> target (null: plan of requests; device: real)
 *
 * sim_*  is the model: deterministic, integers only, no I/O.
 * play_* drives one or more models over a trace, towards a target, and stores the results.
 */
#ifndef REPLAYER_REPLAYER_H
#define REPLAYER_REPLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

/* ------------------------------------------------------------------------------------------ policy */

/* Knobs; see DESIGN "Replaying". A value of SIM_RECORDED means: as the trace's environment has it. */
enum { SIM_RECORDED = -1 };

struct sim_policy {
	char text[128];		 /* as the user wrote it, e.g. "batched+pool=10%" */
	int32_t batch;		 /* folios in a swap I/O context of a walk: 1 = off, on = 32, N */
	bool plug;		 /* a block plug around each walk */
	int32_t walk, store_walk; /* scan budget of one shrink call: worker, store path */
	bool shrink_enabled;	 /* may a full pool shrink (2019) */
	int32_t accept_percent;	 /* accept_threshold_percent, or SIM_RECORDED */
	int32_t pool_percent;	 /* max_pool_percent, or SIM_RECORDED */
	int64_t pool_bytes;	 /* instead of a percentage; 0 = unused */
	int64_t mem_bytes;	 /* memory of the machine; 0 = recorded */
	int32_t shrinker;	 /* the memory-pressure shrinker: 0, 1, or SIM_RECORDED (scans as recorded) */
	bool second_chance;
};

struct sim_preset {
	const char *name, *knobs, *help;
};

/* The table of presets, ended by a NULL name. */
const struct sim_preset *sim_presets(void);

struct sim_knob_help {
	const char *name, *values, *help;
};

/* The table of knobs, ended by a NULL name; for --help. */
const struct sim_knob_help *sim_knobs(void);

/* Preset, then knobs, joined with '+': "plugged+pool=10%". ZR_BAD_POLICY names the word that is not
 * understood and lists what there is. */
enum zr_err sim_policy_parse(const char *text, struct sim_policy *out);

/* All knobs with their values, in `text`; always terminated. */
void sim_policy_to_text(const struct sim_policy *policy, char *text, size_t bytes);

/* ------------------------------------------------------------------------------------------- model */

/* What the model must know of the recorded machine; from the environment of the trace. */
struct sim_machine {
	uint32_t page_size;
	uint64_t mem_pages;
	int32_t max_pool_percent, accept_threshold_percent;
	uint32_t n_memcgs, n_areas; /* highest id + 1 */
	uint64_t area_slots[DB_AREA_MAX + 1];
};

enum zr_err sim_machine_load(struct db *db, uint32_t host, struct sim_machine *out);

/* One written-back page, or one folio swapped out past zswap, as the I/O half sees it. */
struct sim_write {
	uint64_t time_ns;
	uint32_t slot;
	uint32_t pages; /* 1 << order */
	uint16_t memcg;
	uint16_t len;	/* compressed bytes, 0 if it never was compressed */
	uint8_t area;
};

/*
 * Where the model's I/O goes. A walk is bracketed by begin and end; each write inside it is one folio in
 * the order in which the kernel would hand it to the block layer. How folios become bios and requests is
 * the target's affair (it was given the policy). Reads are refaults of slots that are on disk.
 * No function may fail: a target keeps its first error and tells it in the end.
 *
 * SIM_WALK_DIRECT is a run of folios that one task swaps out past zswap. Other walks may begin and end
 * inside it (the worker runs while the task reclaims on); nothing else nests. write and walk_end belong to
 * the walk that began last and is still open.
 */
enum sim_walk { SIM_WALK_SHRINKER, SIM_WALK_WORKER, SIM_WALK_STORE, SIM_WALK_DIRECT };

struct sim_sink {
	void (*walk_begin)(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns);
	void (*write)(struct sim_sink *sink, const struct sim_write *write);
	void (*walk_end)(struct sim_sink *sink);
	void (*read)(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		     uint16_t memcg);
	void (*discard)(struct sim_sink *sink, uint8_t area, uint32_t slot); /* the slot was freed */
	/* Work without I/O; may be NULL: a page was stored in zswap / came back from it. */
	void (*store)(struct sim_sink *sink, uint16_t len);
	void (*load)(struct sim_sink *sink, uint16_t len);
};

/* Counters of a model, named as the kernel or the studies name them; see DESIGN "Metrics". */
#define SIM_COUNTERS(X)                                                                            \
	X(zswap_store_calls)                                                                       \
	X(store_succeeded)                                                                         \
	X(store_rejected)                                                                          \
	X(pool_limit_hit)                                                                          \
	X(shrink_worker_wakeups)                                                                   \
	X(shrink_memcg_calls)                                                                      \
	X(written_back_pages)                                                                      \
	X(pswpout)                                                                                 \
	X(pswpin)                                                                                  \
	X(zswpout)                                                                                 \
	X(zswpin)                                                                                  \
	X(zswpwb)                                                                                  \
	X(swpout_zero)                                                                             \
	X(swpin_zero)                                                                              \
	X(disk_refaults)                                                                           \
	X(early_refaults_1s)                                                                       \
	X(early_refaults_10s)                                                                      \
	X(early_refaults_60s)                                                                      \
	X(lru_inversions)                                                                          \
	X(pool_pages_max)                                                                          \
	X(walks)                                                                                   \
	X(rotated)                                                                                 \
	X(unknown_refaults) /* a slot came back whose swap-out the trace does not have */          \
	X(cached_refaults)  /* a slot came back although its only copy was in memory */            \
	X(guessed_lengths)  /* a store whose compressed length the trace does not have */

struct sim_counters {
#define X(name) uint64_t name;
	SIM_COUNTERS(X)
#undef X
};

struct sim;

/* The model keeps copies of policy and machine; the sink must outlive it. NULL sink: no I/O half. */
enum zr_err sim_new(const struct sim_policy *policy, const struct sim_machine *machine,
		    struct sim_sink *sink, struct sim **out);
void sim_free(struct sim *sim);

/* Feeds rows [from, to) of a batch. Out-of-range ids were refused by sim_check_batch() before. */
void sim_feed(struct sim *sim, const struct db_batch *batch, uint32_t from, uint32_t to);

/* Ends the direct run that is still open at the end of the events, so that the sink has seen all. */
void sim_flush(struct sim *sim);

/* ZR_CORRUPT, naming the event, when ids of the batch lie outside what the machine has. */
enum zr_err sim_check_batch(const struct sim_machine *machine, const struct db_batch *batch);

const struct sim_counters *sim_counters(const struct sim *sim);

/* State at this instant, for the dashboard and for series. */
struct sim_state {
	uint64_t time_ns;
	uint64_t pool_pages, pool_limit_pages, accept_pages; /* accept: stores resume at or below it */
	uint64_t entries;				     /* pages in zswap */
	uint64_t compressed_bytes;
	bool refusing; /* the hysteresis is on: stores are refused until the pool has drained */
};

struct sim_state sim_state(const struct sim *sim);

enum sim_slot { SIM_SLOT_FREE, SIM_SLOT_ZSWAP, SIM_SLOT_DISK, SIM_SLOT_ZERO, SIM_SLOT_CACHED,
		SIM_SLOT_UNKNOWN };

/* What the model holds in a slot; CACHED: allocated, but its only copy is in memory. UNKNOWN is the answer
 * for a slot that the machine does not have. */
enum sim_slot sim_slot_state(const struct sim *sim, uint8_t area, uint32_t slot);

/* -------------------------------------------------------------------------------------- swap I/O */

/* What the I/O half did or planned. On a device the requests and merges are measured by the kernel. */
#define PLAY_IO_COUNTERS(X)                                                                        \
	X(write_contexts)                                                                          \
	X(write_bios)                                                                              \
	X(write_requests)                                                                          \
	X(write_merges)                                                                            \
	X(write_pages)                                                                             \
	X(read_requests)                                                                           \
	X(read_pages)

struct play_io {
#define X(name) uint64_t name;
	PLAY_IO_COUNTERS(X)
#undef X
};

/* ------------------------------------------------------------------------------------------ replay */

enum play_target { PLAY_NULL, PLAY_DEVICE };

struct play_options {
	const char *const *policies; /* texts */
	uint32_t n_policies;
	enum play_target target;
	const char *device;	   /* PLAY_DEVICE: a file or block device */
	const char *yes_destroy;   /* a block device must be named a second time here */
	uint64_t device_bytes;	   /* a regular file is made this large; 0 = what the trace needs */
	bool no_cpu;		   /* skip the real compression work */
	uint32_t reps;		   /* 0 = 1 */
	/* Called a few times a second with the part done (0..1); returning false ends the replay early. */
	bool (*progress)(void *arg, double done);
	void *progress_arg;
	/* Told in a sentence what is about to be overwritten, before it is; may be NULL. */
	void (*say)(void *arg, const char *text);
	void *say_arg;
};

/*
 * Replays the trace under every policy and stores one run a policy (and host) in `results` (may be `trace`
 * itself if that was opened with DB_RESULTS).
 *
 * A first pass over the events checks all ids, so that damage is told before anything is overwritten or
 * stored. Then the trace is decoded once for PLAY_NULL and shared by all policies; once a repetition and
 * policy for PLAY_DEVICE, where the policies take turns. PLAY_NULL is deterministic and is done once
 * whatever `reps` says. What ends early, by the user or by an error of the device, is stored as partial,
 * with the reason in the run's note.
 *
 * Figures: counts of the pool model are DB_MODELLED, the I/O plan is DB_PLANNED, times on a device are
 * DB_MEASURED. On a block device write_requests, write_merges and pages_per_write_request come from the
 * kernel's block statistics (DB_MEASURED) and the plan's are beside them as ..._planned.
 */
enum zr_err play_replay(struct db *trace, struct db *results, const struct play_options *options);

/* -------------------------------------------------------------------------------------------- race */

/*
 * Several policies in lock step over one trace, on the null target, for the dashboard. All lanes stand at
 * the same event. Going back replays from the start (an arena of decoded events is kept: 24 bytes each).
 * Of a trace with several hosts, the one with the most events is raced.
 */
struct play_race;

enum { PLAY_RACE_LANES = 6 };

enum zr_err play_race_new(struct db *trace, const char *const *policies, uint32_t n,
			  struct play_race **out);
void play_race_free(struct play_race *race);

uint32_t play_race_lanes(const struct play_race *race);
uint64_t play_race_first_ns(const struct play_race *race);
uint64_t play_race_last_ns(const struct play_race *race);

/* Advances to the first event at or after `until_ns`, but by at most `budget` events (0 = no bound).
 * True when `until_ns` was reached or the trace is at its end. */
bool play_race_advance(struct play_race *race, uint64_t until_ns, uint64_t budget);

/* To the next event / the end of the next walk that wrote something; false at the end of the trace. */
bool play_race_step(struct play_race *race);
bool play_race_step_walk(struct play_race *race);

/* Goes to a time, backwards too. */
enum zr_err play_race_seek(struct play_race *race, uint64_t time_ns);

/* The trace's cursor: time of the last event fed, its index and the number of all. */
uint64_t play_race_now_ns(const struct play_race *race);
uint64_t play_race_cursor(const struct play_race *race);
uint64_t play_race_events(const struct play_race *race);

struct play_lane {
	const struct sim_policy *policy;
	const struct sim_counters *counters;
	const struct play_io *io;
	struct sim_state state;
};

struct play_lane play_race_lane(const struct play_race *race, uint32_t lane);

/* What a lane holds in a slot, and whether it was in one of the writes of its last walk. */
enum sim_slot play_race_slot(const struct play_race *race, uint32_t lane, uint8_t area,
			     uint32_t slot, bool *being_written);

/* The span of slots that the trace touches, for the map; of the area in which it is widest. */
void play_race_slot_span(const struct play_race *race, uint8_t *area, uint32_t *lowest,
			 uint32_t *highest);

/* Counts of the recorded events up to the cursor (rates are differences of these). */
const uint64_t *play_race_kind_counts(const struct play_race *race);

/* Next GAP at or after the cursor: its time, or false. */
bool play_race_next_gap(const struct play_race *race, uint64_t *time_ns);

#endif
