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

/* A row of a table of words, for --help. */
struct play_word {
	const char *name, *help;
};

/* ------------------------------------------------------------------------------------------ policy */

/* Knobs; see DESIGN "Replaying". A value of SIM_RECORDED means: as the trace's environment has it. */
enum { SIM_RECORDED = -1 };

/* Whose decisions: DEMAND recomputes who is stored and written back, and when; WRITEBACKS keeps what was
 * recorded of that, and only the I/O that it causes is recomputed. */
enum sim_drive { SIM_DRIVE_DEMAND, SIM_DRIVE_WRITEBACKS };

/* In which order a walk writes: as it meets the entries; sorted by slot when it ends; or, after each entry,
 * the pages in the slots behind it as long as they are in the pool. */
enum sim_order { SIM_ORDER_LRU, SIM_ORDER_SORTED, SIM_ORDER_CLUSTER };

/* Which slot on the disk a page gets: the recorded one, or a virtual swap layer's choice at the write. */
enum sim_slots { SIM_SLOTS_RECORDED, SIM_SLOTS_VSWAP };

/* What becomes of folios that Linux did not store at all times: large ones (large=), pages that do not compress
 * (incompressible=). Or SIM_RECORDED: as each of them fared. */
enum sim_fate { SIM_REJECT, SIM_STORE };

/* Where zero-filled pages are known: by a map of the swap slots, or as entries of zswap without an object. */
enum sim_zero { SIM_ZERO_SWAP, SIM_ZERO_ZSWAP };

/* Who chooses what a full pool writes back: zswap's lists of entries, or the allocator its own oldest page (up to
 * Linux 6.4, with all that went with it: see evict.c). What the pool's pages are counted by. Whether a refault takes
 * the entry out of zswap or leaves it until the slot is freed. */
enum sim_evict { SIM_EVICT_LRU, SIM_EVICT_POOL };
enum sim_zpool { SIM_ZPOOL_ZSMALLOC, SIM_ZPOOL_ZBUD };
enum sim_load { SIM_LOAD_FREE, SIM_LOAD_KEEP };

enum sim_sched { SIM_SCHED_NONE, SIM_SCHED_MQ_DEADLINE };

/* A setting of one cgroup and, in effect, of those below it. */
struct sim_rule {
	enum { SIM_RULE_WB, SIM_RULE_ZSWAP_MAX } what;
	int64_t value;	 /* WB: 0 or 1; ZSWAP_MAX: bytes, or INT64_MAX */
	char cgroup[48]; /* path; "" = every one */
};

enum { SIM_RULES_MAX = 6 };

struct sim_policy {
	char text[512];		 /* as the user wrote it, e.g. "batched+pool=10%" */
	int32_t batch;		 /* folios in a swap I/O context of a walk: 1 = off, on = 32, N */
	int32_t direct_batch;	 /* the same for what tasks swap out past zswap, or SIM_RECORDED */
	bool plug;		 /* a block plug around each walk */
	int32_t walk,
		store_walk; /* scan budget of one shrink call (worker, store path), or SIM_RECORDED */
	bool shrink_enabled;	 /* may a full pool shrink (2019) */
	int32_t accept_percent;	 /* accept_threshold_percent, or SIM_RECORDED */
	int32_t pool_percent;	 /* max_pool_percent, or SIM_RECORDED */
	int64_t pool_bytes;	 /* instead of a percentage; 0 = unused */
	int64_t mem_bytes;	 /* memory of the machine; 0 = recorded */
	int32_t shrinker;	 /* the memory-pressure shrinker: 0, 1, or SIM_RECORDED */
	int32_t worker; /* pages a second that the background worker writes; 0 = at once; or SIM_RECORDED */
	bool second_chance;
	int32_t large, incompressible; /* enum sim_fate, or SIM_RECORDED */
	int32_t zero;		       /* enum sim_zero, or SIM_RECORDED */
	int32_t evict, zpool, load;    /* enums of these names, or SIM_RECORDED */
	int32_t compressor;	       /* as in lengths.h, or SIM_RECORDED */
	bool readahead;		       /* off: refaults that nobody asked for are left out */
	struct sim_rule
		rules[SIM_RULES_MAX]; /* later ones win; what none speaks of is as recorded */
	uint32_t n_rules;
	enum sim_sched sched;
	int32_t nomerges; /* the queue's setting: 0 all merges, 1 simple ones, 2 none */
	enum sim_order order;
	enum sim_slots slots;
	enum sim_drive drive; /* not a knob: an option of the replay, which sets it */
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

enum { SIM_POLICY_TEXT_MAX = 1024 };

/* All knobs with their values, in `text`, which SIM_POLICY_TEXT_MAX is enough for; always terminated. */
void sim_policy_to_text(const struct sim_policy *policy, char *text, size_t bytes);

/* ------------------------------------------------------------------------------------------- model */

/* How fast the background worker is: from being queued to its start, for a shrink call that writes nothing, and
 * for each page that one writes. All 0: it is done at once. */
struct sim_pace {
	uint64_t lag_ns, visit_ns, write_ns;
};

/* The pace at one time. */
struct sim_paced {
	uint64_t from_ns, to_ns; /* SIM_PACED_NS, or as long as one call that took longer */
	struct sim_pace pace;
};

/* One run: when it was queued, or could have begun, and how long it took to begin. */
struct sim_lag {
	uint64_t queued_ns, lag_ns;
};

#define SIM_PACED_NS 50'000'000ull

/* A stretch of time, both ends included. */
struct sim_span {
	uint64_t from_ns, to_ns;
};

/* What the events themselves tell of the recorded kernel; see learn.h. */
struct sim_learnt {
	struct sim_pace pace; /* on the whole, */
	const struct sim_paced *paced; /* and at the times at which there was a worker to learn from */
	uint32_t n_paced;
	const struct sim_lag *lags; /* of every run that was seen, ascending */
	uint32_t n_lags;
	uint64_t worker_visits, written_pages; /* from which it was learnt */
	bool has_reclaims, has_scans;	       /* any RECLAIM, any SCAN */
	const uint8_t *dropped; /* a bit for each IN: the page left memory unwritten; NULL = not looked for */
	uint64_t n_dropped;	/* bits */
	const uint8_t
		*no_writeback; /* by cgroup: its pages may not go to the disk; NULL = all may */
	bool knows_refusals;		       /* were the spans below looked for? */
	const struct sim_span *refusals;       /* in which the pool refused stores, ascending */
	uint32_t n_refusals;
};

/* What the model must know of the recorded machine; from the environment of the trace. */
struct sim_machine {
	uint32_t page_size;
	uint64_t mem_pages;
	int32_t max_pool_percent, accept_threshold_percent;
	uint32_t n_memcgs, n_areas; /* highest id + 1 */
	uint64_t area_slots[DB_AREA_MAX + 1];
	uint32_t kernel; /* 100 * major + minor of the release; 0 = not known */
	int32_t compressor; /* 1 + as in lengths.h; 0 = not known, or not there */
	bool zbud;	 /* its pool was of zbud (or z3fold, which is taken for it) */
	/* By the first pass over the events, in its arena. */
	struct sim_learnt learnt;
	const struct db_memcg *memcgs; /* the cgroups that have a path, ascending by id */
	uint32_t n_named;
};

/* Versions as in sim_machine.kernel: the first in which zswap evicts, not the allocator; in which a load takes the
 * entry out. */
enum { SIM_KERNEL_EVICTS = 605, SIM_KERNEL_EXCLUSIVE = 609 };

enum zr_err sim_machine_load(struct db *db, uint32_t host, struct sim_machine *out);

/* What is "recorded" in a policy and the machine knows (walks, contexts) becomes what it was. */
void sim_policy_settle(struct sim_policy *policy, const struct sim_machine *machine);

/* One written-back page, or one folio swapped out past zswap, as the I/O half sees it. */
struct sim_write {
	uint64_t time_ns;
	uint32_t slot;
	uint32_t pages; /* 1 << order; under slots=vswap any number from 1 */
	uint32_t task;	/* of a direct swap-out: whose it is */
	uint32_t recorded_slot; /* by which the trace knows the page; another one only under slots=vswap */
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
 * the walk that began last and is still open. Another task's swap-out ends such a walk too; a sink that keeps
 * the tasks apart goes by `task` and task_done instead, since each task has its own contexts and plug.
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
	/* May be NULL: what the task swapped out past zswap is one run no longer. */
	void (*task_done)(struct sim_sink *sink, uint32_t task);
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
	X(shrinker_scans) /* walks that the memory-pressure shrinker was asked for */              \
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

enum play_target { PLAY_NULL, PLAY_DEVICE, PLAY_MODEL, PLAY_KERNEL };

/* How time passes; see timing.h and pacer.h. PLAY_MODEL knows all of them, PLAY_DEVICE all but PLAY_CLOSED, PLAY_NULL
 * only PLAY_ASAP. */
enum play_pace { PLAY_ASAP, PLAY_RECORDED, PLAY_SCALED, PLAY_CLOSED };

/* "asap", "recorded", "closed", "scaled:2.5"; ZR_USAGE lists them. */
enum zr_err play_pace_parse(const char *text, enum play_pace *pace, double *speed);
void play_pace_to_text(enum play_pace pace, double speed, char *text, size_t bytes);

/* Device models: presets, NULL behind the last; their knobs, ended by a NULL name. */
const struct play_word *play_time_preset(uint32_t i);
const struct play_word *play_time_knobs(void);

struct play_figures {
	uint32_t policy, host; /* place in play_options.policies; id */
	struct sim_counters counters;
	struct play_io io;
};

/* Whether a replay on a device is counted in a control group of its own; AUTO: on block devices, where it can be. */
enum play_cgroup { PLAY_CGROUP_AUTO, PLAY_CGROUP_ON, PLAY_CGROUP_OFF };

/* How a replay on a real target is going. Totals are of this pass alone: one policy, one repetition. The pointers
 * are good during the call. */
struct play_live {
	uint32_t policy, host; /* place in play_options.policies; id */
	uint32_t rep, reps;    /* from 0; of so many */
	double done;	       /* part of the pass, 0..1 */
	bool ended;	       /* the pass is complete: these are its last figures, and all writes have finished */
	uint64_t elapsed_ns;   /* real time since the pass began */
	struct sim_state state;
	const struct sim_counters *counters;
	const struct play_io *io;      /* as planned */
	const struct zr_hist *read_ns; /* measured; of refaults */
	bool counted; /* the kernel's block statistics are there; else the next two are 0 */
	uint64_t write_requests, write_merges; /* by them, until now */
};

/* The writes of a disk by another account than its statistics. */
struct play_traced {
	uint64_t write_requests, write_merges;
};

struct play_options {
	const char *const *policies; /* texts */
	uint32_t n_policies;
	enum play_target target;
	const char *device;	   /* PLAY_DEVICE: a file or block device */
	bool this_host;		   /* PLAY_KERNEL: this machine is meant, though it is no virtual one */
	const char *yes_destroy;   /* a block device must be named a second time here */
	const char *time_model;	   /* PLAY_MODEL: a preset, or calibrated:FILE[#NAME], and knobs, as in
					    * "ssd+channels=4"; NULL = "ssd" */
	enum play_pace pace;
	double speed;		   /* PLAY_SCALED: so many times as fast as recorded */
	uint64_t device_bytes;	   /* a regular file is made this large; 0 = what the trace needs */
	const char *neighbour;	   /* PLAY_DEVICE: who else uses the drive, in neighbour.h's words; NULL = nobody.
				    * A calibrated time_model then is what iocost is told of the drive. */
	bool no_cpu;		   /* skip the real compression work */
	const char *corpus;	   /* PLAY_DEVICE: draw the pages from this file; NULL = make them up */
	enum play_cgroup cgroup;   /* PLAY_DEVICE */
	/* PLAY_DEVICE: counts until now, asked before and after each pass; the replay ends with ZR_CORRUPT if the
	 * statistics of the device say otherwise. NULL = not asked. */
	enum zr_err (*traced)(void *arg, struct play_traced *out);
	void *traced_arg;
	const char *note;	   /* begins the note of each run; NULL = none */
	uint32_t reps;		   /* 0 = 1 */
	bool warm_up;		   /* PLAY_DEVICE: before them a round that is not kept, as fast as it goes */
	enum sim_drive drive;
	uint32_t jobs;		   /* threads that share the policies on PLAY_NULL; 0 = 1 */
	/* Called a few times a second with the part done (0..1); returning false ends the replay early. */
	bool (*progress)(void *arg, double done);
	void *progress_arg;
	/* PLAY_DEVICE: called as often, from the same thread, and at the end of each complete pass; NULL = no. */
	void (*live)(void *arg, const struct play_live *live);
	void *live_arg;
	/* Told in a sentence what is about to be overwritten, before it is; may be NULL. */
	void (*say)(void *arg, const char *text);
	void *say_arg;
	/* PLAY_NULL: told the figures of each policy (by its place) and host when they are complete; NULL = no. */
	void (*figures)(void *arg, const struct play_figures *figures);
	void *figures_arg;
};

/*
 * Replays the trace under every policy and stores one run a policy (and host) in `results` (may be `trace`
 * itself if that was opened with DB_RESULTS; NULL: nothing is stored).
 *
 * A first pass over the events checks all ids, so that damage is told before anything is overwritten or
 * stored. Then the trace is decoded once for PLAY_NULL and shared by all policies; once a repetition and
 * policy for PLAY_DEVICE, where the policies take turns. PLAY_NULL is deterministic and is done once
 * whatever `reps` says. What ends early, by the user or by an error of the device, is stored as partial,
 * with the reason in the run's note: whole repetitions, or that one which ended early if it was the first.
 *
 * On PLAY_MODEL the I/O goes to a modelled device in virtual time, with iocost and I/O pressure; deterministic too.
 *
 * Figures: counts of the pool model are DB_MODELLED, and so are times on PLAY_MODEL; the I/O plan is DB_PLANNED, times on a device are
 * DB_MEASURED. On a block device write_requests, write_merges, pages_per_write_request and read_requests come from
 * the kernel's block statistics, and in a control group of its own write_bios and pages_per_write_bio from io.stat and
 * io_some_us, io_full_us from io.pressure (all DB_MEASURED); the plan's are beside them as ..._planned. The run's
 * target_detail is the path and the settings of the device, see device_env.h; its note says what could not be
 * measured, and whether somebody else wrote to the device.
 */
enum zr_err play_replay(struct db *trace, struct db *results, const struct play_options *options);

/* ------------------------------------------------------------------------------------------- drives */

/* What a drive does at one size, pattern and depth. */
struct play_drive_point {
	bool write, sequential;
	bool steady; /* else it still moved when its time was over */
	uint32_t bytes, depth;
	uint64_t ios; /* that were counted */
	double iops, latency_us;
};

enum { PLAY_DRIVE_POINTS = 64 };

/* A drive as it was measured. */
struct play_drive {
	char name[160], path[256];
	bool read_only, partial; /* writes were not measured; the measuring ended early */
	uint64_t range_bytes;	 /* that requests were spread over */
	int64_t created_realtime_ns;
	uint32_t n;
	struct play_drive_point points[PLAY_DRIVE_POINTS];
};

struct play_calibrate_options {
	const char *path;	 /* a file or block device; a folder, in which a scratch file is made and removed */
	const char *yes_destroy; /* as in play_options */
	const char *name;	 /* NULL = the device's model and serial, or the path of a file */
	bool read_only;		 /* nothing is written, and what is in use may be measured too */
	uint64_t duration_ns;	 /* of all of it, at most; 0 = a minute */
	uint64_t bytes;		 /* to spread requests over; 0 = 256 MiB, or as many as there are */
	bool (*progress)(void *arg, double done); /* as in play_options */
	void *progress_arg;
	void (*say)(void *arg, const char *text);
	void *say_arg;
};

/* Measures a drive, see calibrate.h. After an error, and when interrupted, what was measured is in *out. */
enum zr_err play_calibrate(const struct play_calibrate_options *options, struct play_drive *out);

/* A drive in a file (opened with DB_RESULTS): as a run without a trace, target `calibrate`; see drives.c. */
enum zr_err play_drive_store(struct db *db, const struct play_drive *drive);
/* The last one stored, of that name if it is not NULL. ZR_NO_DATA lists the names that there are. */
enum zr_err play_drive_load(struct db *db, const char *name, struct play_drive *out);

/* Parameters of iocost's linear model, by write: bytes a second, 4 KiB requests a second. */
struct play_iocost {
	uint64_t bps[2], seqiops[2], randiops[2];
};

/* From the measurements; 0 where there are none. */
struct play_iocost play_drive_iocost(const struct play_drive *drive);

/* What is written into io.cost.model behind the device's number. */
void play_iocost_to_text(const struct play_iocost *iocost, char *text, size_t bytes);

/* -------------------------------------------------------------------------------------------- generate */

/* The workloads that can be generated, NULL behind the last; their parameters, ended by a NULL name. */
const struct play_word *play_gen_workload(uint32_t i);
const struct play_word *play_gen_params(void);

struct play_gen_options {
	const char *workload;
	const char *const *settings; /* KEY=VALUE, over the workload's own parameters */
	uint32_t n_settings;
	double scale; /* of the sizes and of the length; 0 = 1 */
	bool (*progress)(void *arg, double done); /* as in play_options */
	void *progress_arg;
};

/*
 * Fills a new trace (DB_CREATE) with a generated workload: what a kernel's recorder would have seen of it, by gen.c's
 * account of one. The environment says that it was generated, and with which parameters. The same parameters give the
 * same events. Streamed. ZR_USAGE names the workload or the parameter that is not understood.
 */
enum zr_err play_gen(struct db *trace, const struct play_gen_options *options, uint64_t *events);

/* ----------------------------------------------------------------------------------------- explain */

/* Why a swap I/O context of a walk ended: name, what it says of the neighbour, the page in the slot behind the
 * last one written. In the order of precedence; see breaks.h. */
#define PLAY_BREAKS(X)                                                                             \
	X(boundary, "there is none: the swap area, or a virtual swap layer's run, ends")           \
	X(batch_limit, "it came next, but the I/O was full")                                       \
	X(scan_budget, "it would have come next, but the walk was over")                           \
	X(second_chance, "it came next, but was passed over since it was referenced")              \
	X(other_memcg, "it is in the pool, but belongs to another cgroup")                         \
	X(hole_refault, "it had been loaded back")                                                 \
	X(hole_free, "it had been freed")                                                          \
	X(hole_written, "an earlier walk had written it")                                          \
	X(hole_rejected, "it went past zswap")                                                     \
	X(hole_zero, "it is zero-filled and needs no I/O")                                         \
	X(hole_unused, "no page was ever seen there")                                              \
	X(restored, "it left the pool and was stored anew, so it is younger on the list")          \
	X(interleaved, "another task swapped out between the two")                                 \
	X(order, "the list held others between the two, or it before the last one")

enum play_break {
#define X(name, text) PLAY_BREAK_##name,
	PLAY_BREAKS(X)
#undef X
	PLAY_BREAK_COUNT,
};

const char *play_break_name(enum play_break cause);
const char *play_break_text(enum play_break cause);

/* Pages a request of written-back pages under what-ifs: name, what is asked. */
#define PLAY_CEILINGS(X)                                                                           \
	X(actual, "as the policy does it")                                                         \
	X(sorted_walk, "each walk sorted by slot")                                                 \
	X(sorted_32, "every 32 written-back pages sorted")                                         \
	X(sorted_64, "every 64 sorted")                                                            \
	X(sorted_128, "every 128 sorted")                                                          \
	X(sorted_256, "every 256 sorted")                                                          \
	X(vswap, "slots allocated at writeback (virtual swap)")

enum play_ceiling {
#define X(name, text) PLAY_CEILING_##name,
	PLAY_CEILINGS(X)
#undef X
	PLAY_CEILING_COUNT,
};

const char *play_ceiling_name(enum play_ceiling ceiling);
const char *play_ceiling_text(enum play_ceiling ceiling);

/* A pool that holds `bytes` of compressed pages would read `disk_refaults` pages from disk. */
struct play_curve_point {
	uint64_t bytes, disk_refaults;
};

enum { PLAY_CURVE_POINTS = 1024 };

struct play_explain {
	struct sim_policy policy;
	uint32_t host; /* of several, the one with the most events */
	uint32_t batch; /* pages in an I/O, for the ceilings: the policy's, or 32 if it has none */
	uint64_t pages, contexts, requests; /* of written-back pages alone */
	uint64_t breaks[PLAY_BREAK_COUNT];   /* sum: contexts */
	uint64_t ceiling_requests[PLAY_CEILING_COUNT]; /* that `pages` would take */
	struct sim_counters counters;
	struct zr_hist age_ns;	     /* of entries when they were written back, since they were stored */
	struct zr_hist inversion_ns; /* from the write to the read, of lru_inversions */
	uint64_t refusing_ns, span_ns; /* trace time in which the pool refused stores; all */
	struct play_curve_point curve[PLAY_CURVE_POINTS]; /* ascending; ends where more bytes save nothing */
	uint32_t n_curve;
	uint64_t curve_refaults; /* of pages that were out: what the rates of the curve refer to */
	double pool_bytes_per_byte; /* pool memory for a compressed byte, at the fullest */
};

/* Pages a request of a ceiling; 0 if nothing was written back. */
double play_explain_pages_per_request(const struct play_explain *explain, enum play_ceiling ceiling);

struct play_explain_options {
	const char *policy;
	bool (*progress)(void *arg, double done); /* as in play_options */
	void *progress_arg;
};

/* Two passes over the trace: a check, and the explanation. ZR_INTERRUPTED when progress says so. */
enum zr_err play_explain(struct db *trace, const struct play_explain_options *options,
			 struct play_explain *out);

/* ------------------------------------------------------------------------------------------- sweep */

/* "pool=5%,10%;batch=off,on": all combinations, each as a policy text that begins with `base`. The first knob
 * turns slowest. In the arena. ZR_BAD_POLICY names the knob or value that is not understood. */
enum zr_err play_grid(const char *base, const char *grid, struct zr_arena *arena, const char ***out,
		      uint32_t *n);

enum { PLAY_GRID_MAX = 1024 };

/* One combination and host. I/O is write_requests + read_requests. */
struct play_sweep_row {
	struct play_figures figures;
	bool pareto; /* no other row of the host has less of pool_pages_max or I/O and not more of the other */
};

/* Marks the Pareto front of memory against I/O, host by host. */
void play_mark_pareto(struct play_sweep_row *rows, size_t n);

uint64_t play_figures_requests(const struct play_figures *figures);

/* -------------------------------------------------------------------------------------------- race */

/*
 * Several policies in lock step over one trace, on the null target, for the dashboard. All lanes stand at the
 * same event, but for those that were added later and are still catching up. The events are read from the file
 * as they are needed; images of the lanes are kept on the way, so that going back is a short way on from one.
 * Of a trace with several hosts, the one with the most events is raced. Only kinds that a model acts on, and
 * gaps, count as events here.
 *
 * A race is not to be used by two threads at once, and neither is the trace while a race has it.
 */
struct play_race;

enum { PLAY_RACE_LANES = 6, PLAY_RACE_STEPS = 480 };

struct play_race_options {
	const char *const *policies;
	uint32_t n_policies;
	bool follow;	      /* the trace may still grow, see play_race_poll() */
	size_t image_bytes;   /* memory for images of the lanes; 0 = a sixth of the machine's, at most 4 GiB */
	uint64_t image_events; /* the least distance of two images; 0 = a sensible one */
};

enum zr_err play_race_new(struct db *trace, const struct play_race_options *options,
			  struct play_race **out);
void play_race_free(struct play_race *race);

/* Of the trace's, the one that is raced. */
uint32_t play_race_host(const struct play_race *race);

uint64_t play_race_first_ns(const struct play_race *race);
uint64_t play_race_last_ns(const struct play_race *race);

/* Where the race stands: all events before this time have been fed. Behind the last event, one more than it. */
uint64_t play_race_clock_ns(const struct play_race *race);
uint64_t play_race_end_ns(const struct play_race *race);

/* The number of events fed, and of all. */
uint64_t play_race_cursor(const struct play_race *race);
uint64_t play_race_events(const struct play_race *race);

/* Moves on to a time, but by at most about `budget` events (0 = no bound). *there: it stands at `until_ns`, or at
 * the end of the trace. */
enum zr_err play_race_advance(struct play_race *race, uint64_t until_ns, uint64_t budget, bool *there);

/* Stands where the image before `time_ns` was taken, if that is nearer than where it stands now; play_race_advance
 * does the rest of the way. */
void play_race_seek(struct play_race *race, uint64_t time_ns);

/* What to run to: the next event; the end of the next walk of the lane that writes; its worker's next wake-up; the
 * first store of PLAY_STORM in a row that it refuses; a burst, which is PLAY_BURST times the mean rate of swap-outs
 * in 100 ms. */
enum play_jump { PLAY_TO_EVENT, PLAY_TO_WALK, PLAY_TO_WAKEUP, PLAY_TO_STORM, PLAY_TO_BURST };

enum { PLAY_STORM = 32, PLAY_BURST = 4 };

/* Begins; then moves on by at most `budget` events. *there: it has come to it, or to the end of the trace. */
void play_race_jump(struct play_race *race, enum play_jump to, uint32_t lane);
enum zr_err play_race_jump_on(struct play_race *race, uint64_t budget, bool *there);

/* The time of the next gap at or after the clock; false if there is none. */
bool play_race_next_gap(const struct play_race *race, uint64_t *time_ns);

/* A followed trace: looks for events that were added. Ids that the lanes have no room for make *outgrown true: the
 * race is then to be made anew. */
enum zr_err play_race_poll(struct play_race *race, bool *outgrown);

/* ---- lanes: numbered from 0; adding and replacing gives one that still has to catch up ---- */

uint32_t play_race_lanes(const struct play_race *race);
enum zr_err play_race_add(struct play_race *race, const char *policy);
enum zr_err play_race_replace(struct play_race *race, uint32_t lane, const char *policy);
void play_race_remove(struct play_race *race, uint32_t lane); /* not the last one */

/* Lets lanes that are behind catch up by at most `budget` events each; *all: none is behind any more. */
enum zr_err play_race_catch_up(struct play_race *race, uint64_t budget, bool *all);

/* A lane as it is now. The pointers are good until the race is used again. */
struct play_lane {
	const struct sim_policy *policy;
	const struct sim_counters *counters;
	const struct play_io *io;
	struct sim_state state;
	bool joined;	/* else it is catching up, and this is what it is at */
	double caught_up; /* 0..1 */
	const struct zr_hist *request_pages; /* of planned write requests that have left */
	/* Of written-back pages alone, as in play_explain. */
	uint64_t pages, contexts, requests;
	const uint64_t *breaks; /* PLAY_BREAK_COUNT */
	uint64_t ceiling_requests[PLAY_CEILING_COUNT]; /* vswap is another lane's affair: 0 */
};

struct play_lane play_race_lane(const struct play_race *race, uint32_t lane);

/* Stores what a lane has done so far as a run; its note begins with `name`. It is marked partial unless the race
 * stands at the end. */
enum zr_err play_race_store(const struct play_race *race, uint32_t lane, const char *name, struct db *results);

/* ---- slots ---- */

struct play_slot {
	enum sim_slot state;
	bool writing;  /* in one of the writes of the lane's last walk that wrote */
	bool unknown;  /* what it holds has been there since before a gap, so it may be something else by now */
	uint16_t memcg, len;
	uint32_t run;	    /* on disk: number of the write request that it was in, 0 = none was */
	uint64_t since_ns; /* when the page went out; 0 = not known */
};

struct play_slot play_race_slot(const struct play_race *race, uint32_t lane, uint8_t area, uint32_t slot);

/* The slots that the trace touches, in clusters of 512, by area and slot. The last one of an area may be short. */
struct play_cluster {
	uint8_t area;
	uint32_t first, slots;
};

enum { PLAY_CLUSTER = 512 };

uint32_t play_race_clusters(const struct play_race *race);
/* At most `room` of them; returns how many. */
uint32_t play_race_read_clusters(const struct play_race *race, struct play_cluster *out, uint32_t room);

/* ---- over time: running totals at equal distances ---- */

struct play_lane_totals {
	uint64_t write_pages, write_requests, disk_refaults, rejected, written_back, walks, wakeups;
};

struct play_totals {
	uint64_t outs, ins, writebacks; /* recorded: swap-outs, refaults, pages written back */
	struct play_lane_totals lane[PLAY_RACE_LANES];
};

/* Totals at first + i * step for i < known (a lane: < its own known). What lies ahead of the clock stays known
 * after going back. The steps of a followed trace get wider as it grows. */
struct play_history {
	uint64_t first_ns, step_ns;
	uint32_t known, lane_known[PLAY_RACE_LANES];
	struct play_totals at[PLAY_RACE_STEPS + 1];
	bool gap[PLAY_RACE_STEPS]; /* events were lost in this step */
};

const struct play_history *play_race_history(const struct play_race *race);
struct play_totals play_race_totals(const struct play_race *race);

/* ---------------------------------------------------------------------------------------- timeline */

/*
 * The course of a trace and of policies over it, for pictures on paper: equal steps of trace time, and what
 * is in the slots when there is most to see. Of a trace with several hosts, the one with the most events.
 */
enum { PLAY_BINS = 240, PLAY_MAP_CELLS = 960, PLAY_SLOT_STATES = SIM_SLOT_UNKNOWN + 1 };

struct play_bin {
	uint64_t out_pages, in_pages, wb_pages; /* as recorded */
	uint64_t gaps, lost_events;
};

struct play_lane_bin {
	uint64_t write_pages, write_requests, disk_refaults, store_rejected; /* of this step */
	uint64_t pool_pages;						     /* at its end */
};

struct play_timeline_lane {
	struct sim_policy policy;
	struct sim_counters counters;
	struct play_io io;
	struct play_lane_bin bins[PLAY_BINS];
	struct zr_hist request_pages; /* of the write requests, direct swap-outs among them */
	uint32_t map[PLAY_MAP_CELLS][PLAY_SLOT_STATES]; /* slots in each state, at map_ns */
};

struct play_timeline {
	uint32_t host, n_lanes;
	uint64_t first_ns, last_ns;
	struct play_bin bins[PLAY_BINS];
	uint8_t map_area; /* the one of which the trace touches the widest span: slots [0, map_slots) */
	uint32_t map_slots;
	uint64_t map_ns; /* when the pool of the first lane held most pages, to within a tenth; else the end */
	struct play_timeline_lane lanes[PLAY_RACE_LANES];
};

/* Time of the border before a bin; of PLAY_BINS, the end. */
uint64_t play_timeline_border_ns(const struct play_timeline *timeline, uint32_t bin);

struct play_timeline_options {
	const char *const *policies; /* one to PLAY_RACE_LANES */
	uint32_t n_policies;
	bool (*progress)(void *arg, double done); /* as in play_options */
	void *progress_arg;
};

/* Two passes: a check, and one that all policies share. */
enum zr_err play_timeline(struct db *trace, const struct play_timeline_options *options,
			  struct play_timeline *out);

#endif
