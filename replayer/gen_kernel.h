/* SPDX-License-Identifier: MIT */
/*
 * The kernel that generated workloads run on: memory, reclaim, swap slots and zswap, as far as a
 * trace shows them.
 *
 *   touch ──(not in memory)──> IN ──> memory ──(cgroup's part is full)──> reclaim ──> OUT
 *                                                                            └──> RECLAIM, SCAN, WB
 *
 * Memory. Each busy cgroup has an equal part. Its pages stand in one list; reclaim looks at the
 * head: a page that was touched since loses its mark and goes to the tail, another is swapped out.
 * A reclaim wants 32 pages. It looks at (list >> priority) pages a round, with priority 12 first
 * and one less each round, and calls the shrinker at the end of every round: that is Linux's memcg
 * reclaim.
 *
 * Slots. A page keeps its slot while it is in memory and clean; a write gives the slot up (FREE). A
 * page that zswap gave back is dirty and is stored again at its slot; a clean page that came from
 * disk is dropped for free.
 *
 * zswap is the replayer's own model under one policy, fed with the events as they are made: it says
 * what was refused, written back, and where a refault finds its page. The shrinker's arithmetic
 * (how many entries to scan) is here, since a trace's SCAN is the kernel's demand: count = entries,
 * less one for each disk read since the last count, scaled by the compression; delta = 2 * (count
 * >> priority); work below 128 entries is deferred.
 *
 * The background worker takes its time, which are parameters: so it is recorded at work (WORKER,
 * SHRINK, WB), and a replay learns its pace from that as from a real recording.
 *
 * Time is made of a few costs, given below; they set the order and the density of events and claim
 * no more.
 *
 * Cost: 24 bytes a page, one a slot; and the model.
 */
#ifndef REPLAYER_GEN_KERNEL_H
#define REPLAYER_GEN_KERNEL_H

#include "replayer/gen.h"
#include "replayer/gen_slots.h"

enum {
	GEN_STORE_NS = 5'000,	    /* compress and store a page */
	GEN_LOAD_NS = 3'000,	    /* fault it in from the pool */
	GEN_DISK_READ_NS = 120'000, /* fault it in from the disk */
	GEN_WRITE_NS = 2'000,	    /* submit a page that the pool refused */
	GEN_FAULT_NS = 500,	    /* a new, zero-filled or already free page */
};

enum { GEN_WORKER_TASK = 1 }; /* the first id of a task; the others follow */

enum gen_where { GEN_NEW, GEN_RESIDENT, GEN_SWAPPED };

struct gen_page {
	uint32_t prev, next; /* in its cgroup's list, page + 1 */
	uint32_t slot;	     /* 0 = none */
	uint16_t len;	     /* what it compresses to; 0 = zero-filled */
	uint16_t memcg;
	uint8_t where;
	bool touched, dirty;
};

/* A cgroup: its memory and what of it is in zswap. */
struct gen_cgroup {
	uint32_t head, tail, resident, room;
	uint64_t entries, bytes, disk_reads, deferred;
};

/* Who acts. */
struct gen_actor {
	uint32_t task, cpu;
	uint16_t memcg;
};

struct gen_kernel {
	struct sim_sink sink; /* first */
	const struct gen_params *params;
	struct db_writer *writer;
	struct sim *sim;
	struct sim_machine machine;
	struct gen_slots slots;
	struct gen_page *pages;
	struct gen_cgroup *cgroups;
	struct db_event *made;		       /* what zswap did while the event was fed */
	uint32_t n_made, made_room, shrink_at; /* at: the worker's visit that goes on, in `made` */
	uint64_t wakeups;		       /* that were recorded */
	enum sim_walk walk;
	uint64_t now_ns;  /* of the one who acts */
	uint64_t last_ns; /* of the last event: a trace's times ascend */
	uint64_t random, events;
	enum zr_err err; /* the first one; later events are not made */
};

enum zr_err gen_kernel_init(struct gen_kernel *kernel, const struct gen_params *params,
			    struct zr_arena *arena, struct db_writer *writer);
void gen_kernel_fini(struct gen_kernel *kernel);

uint64_t gen_random_below(struct gen_kernel *kernel, uint64_t end);

/* A touch would have to wait for the disk: GEN_DISK_READ_NS, which are the caller's to let pass
 * before it. */
bool gen_must_read(const struct gen_kernel *kernel, uint32_t page);

/* The page is touched, and faulted in first if need be. */
void gen_touch(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t page, bool write);

/* memory.reclaim: swaps out `pages` pages of the actor's cgroup, marked ones too. */
void gen_reclaim(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t pages);

/* The pages [first, first + n) cease to exist. */
void gen_forget(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t first,
		uint32_t n);

/* One of the pages is new and compresses to this, whatever the parameters say. */
void gen_set_length(struct gen_kernel *kernel, uint32_t page, uint16_t len);

#endif
