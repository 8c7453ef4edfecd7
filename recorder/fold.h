/* SPDX-License-Identifier: MIT */
/*
 * The fold: raw records in time order go in, events of the trace come out.
 *
 * Entry and return of a probed function are two records; between them lies all that the same task did
 * inside. A stack of frames a task pairs them. Frames nest: a writeback allocates a page, which may
 * reclaim, which may swap out. What a frame has seen when it closes decides the outcome:
 *
 *   OUT   out/store .. out_ret/store_ret     stored: a store succeeded; rejected: it failed, or there was
 *                                            none and yet a write; zero-filled: neither; no event if the
 *                                            slot was freed inside
 *   IN    read/load .. read_ret/load_ret     zswap or disk, as load_ret says; zero-filled without a load,
 *                                            or on the disk where the kernel has no map of zeros
 *   WB    wb .. wb_ret                       by the return value; 6.1 names the slot by the write inside
 *   SCAN  SHRINK                             the same, but at the time of their entry
 *   RECLAIM                                  slab, with the count of the count_ret that follows
 *
 * The same code takes the recorder's own events (out, out_ret, read_ret ...) and the fewer canonical ones
 * of an imported text: a function whose return was never seen closes by what is there instead.
 *
 * A return that never comes (the probe was missed, the record lost) is noticed when the task enters a
 * function that cannot nest there: such frames are closed and counted. A gap drops all frames.
 *
 * Cost: one hash look-up for the task and one for the memcg a record.
 */
#ifndef RECORDER_FOLD_H
#define RECORDER_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"
#include "db/event.h"
#include "recorder/raw.h"

struct rec_fold;

/* Where things go. The functions return an error of the store; the first ends all. */
struct rec_fold_sink {
	enum zr_err (*event)(void *arg, const struct db_event *event);
	/* A new dense id, told before the first event that uses it. */
	enum zr_err (*memcg)(void *arg, uint32_t id, uint64_t key);
	enum zr_err (*task)(void *arg, uint32_t id, uint32_t tid);
	enum zr_err (*area)(void *arg, uint32_t id, uint32_t type);
	/* Asked once a memcg; NULL = all are watched. Events of others are dropped and counted. */
	bool (*watched)(void *arg, uint64_t key);
	void *arg;
};

struct rec_fold_options {
	struct rec_fold_sink sink;
	uint32_t types;		    /* bits of enum rec_type: what the source will deliver; 0 = not known */
	bool store_ret_of_failures; /* store_ret is recorded for failed stores only */
	bool store_ret_is_errno;    /* store_ret 0 = stored; otherwise a truth value */
	bool load_ret_is_errno;	    /* load_ret 0 = served, -ENOENT = on disk; otherwise a truth value */
	bool no_zeros;		    /* no map of zero-filled pages: without a load, a page is on the disk */
	bool zswap_off;		    /* as of the beginning; see rec_fold_zswap() */
	bool wb_ret_is_lru_status;  /* wb_ret is a list_lru status; otherwise an errno */
	bool stores_large;	    /* the kernel stores large folios page by page */
};

struct rec_fold_stats {
	uint64_t events, raw;
	uint64_t lost;		   /* as told by `lost` records */
	uint64_t filtered;	   /* of memcgs that are not watched */
	uint64_t missed_returns;   /* frames that were closed without their return */
	uint64_t orphan_returns;   /* returns without an entry: the recording began inside */
	uint64_t open_at_end;
	uint64_t wide_slots;	   /* beyond 32 bits, skipped */
	uint64_t late;		   /* came after a later one; taken at that one's time */
	uint64_t ids_full;	   /* memcgs, tasks or areas beyond the format's limits: taken as unknown */
	uint64_t foreign_io;	   /* requests outside every swap area */
	uint64_t undecided;	   /* the probes that would tell the outcome were not there */
	uint64_t too_deep;	   /* frames beyond the stack's depth */
};

enum zr_err rec_fold_new(const struct rec_fold_options *options, struct rec_fold **out);
void rec_fold_free(struct rec_fold *fold);

/* The swap area of a type number from now on: its place on the disk (for requests) and its size. Gives it
 * a fresh dense id, also if the type was in use before (another area was switched on in its stead); but an
 * area of which records came before it was told of keeps the id that it got then. */
struct rec_extent {
	uint64_t sector;
	uint32_t slot, slots;
};

struct rec_area {
	uint32_t type;
	uint32_t disk_dev, part_dev; /* kernel encoding; requests carry the disk, bios the partition */
	uint64_t start_sector;
	uint64_t slots;
	uint32_t sectors_per_slot; /* 0: nobody knows where on the disk its slots lie */
	/* Of a file: where its pieces lie on the disk, ascending by sector. Without any the slots follow each
	 * other. The fold keeps the pointer until the area is gone. */
	const struct rec_extent *extents;
	uint32_t n_extents;
};

enum zr_err rec_fold_area(struct rec_fold *fold, const struct rec_area *area, uint32_t *id);

/* The area of a type was switched off: what comes of that type from now on is of another one. */
void rec_fold_area_gone(struct rec_fold *fold, uint32_t type);

/* zswap was switched on or off: the reason of the stores that fail from now on. */
void rec_fold_zswap(struct rec_fold *fold, bool on);

/* The highest slot that records named in the area of a type, + 1, and its id; 0 and 0 if there is none. What
 * is known of the size of an area when nobody tells. */
uint64_t rec_fold_slots_seen(const struct rec_fold *fold, uint32_t type, uint32_t *id);

/* Returns the first error of the sink. */
enum zr_err rec_fold_add(struct rec_fold *fold, const struct rec_raw *raw);

/* All records up to this time were added: what waits for others may leave. */
enum zr_err rec_fold_advance(struct rec_fold *fold, uint64_t now_ns);

/* No more records: everything leaves. */
enum zr_err rec_fold_finish(struct rec_fold *fold);

const struct rec_fold_stats *rec_fold_stats(const struct rec_fold *fold);

#endif
