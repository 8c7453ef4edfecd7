/* SPDX-License-Identifier: MIT */
/*
 * Raw records: what a probe saw, before entries and returns are paired.
 *
 * A source (the ring buffers of the running kernel, or a trace text) finds the named fields of an event
 * and hands them over as struct rec_fields; rec_raw_fill() makes of them one struct rec_raw, the only
 * shape that the fold knows. So all knowledge of field names lies in the two tables here.
 *
 *   type           swp       memcg   ret            len            order
 *   out store read slot      owner   -              -              of the folio     op: enum rec_how
 *   wb             slot      owner   -              compressed     -
 *   load write     slot      -       -              -              -
 *   fault free     slot      -       -              free: slots    -
 *   len            -         -       -              compressed     -
 *   scan           -         shrunk  nr_to_scan     -              -
 *   slab           -         shrunk  node           -              priority
 *   shrink         -         shrunk  -              -              -
 *   *_ret          -         -       return value   -              -       op: enum rec_how
 *   block_*        sector    -       -              sectors        -     op, dev too
 *   mm_shrink_...  shrinker  -       node           -              priority    (of kernels without probes)
 *   lost           -         -       -              events         -     order: enum db_gap
 *
 * `swp` is the kernel's swap entry: type in bits 58-62, offset below (the same in all kernels so far).
 * `memcg` is a key: the cgroup's kernfs id where the probe could walk to it, else the kernel's pointer.
 */
#ifndef RECORDER_RAW_H
#define RECORDER_RAW_H

#include <stdbool.h>
#include <stdint.h>

/* name, as the canonical events and the kernel's tracepoints call it */
#define REC_TYPES(X)                                                                               \
	X(OUT, "out")                                                                              \
	X(OUT_RET, "out_ret")                                                                      \
	X(STORE, "store")                                                                          \
	X(STORE_RET, "store_ret")                                                                  \
	X(LEN, "len")                                                                              \
	X(READ, "read")                                                                            \
	X(READ_RET, "read_ret")                                                                    \
	X(LOAD, "load")                                                                            \
	X(LOAD_RET, "load_ret")                                                                    \
	X(FAULT, "fault")                                                                          \
	X(FAULT_RET, "fault_ret")                                                                  \
	X(FREE, "free")                                                                            \
	X(WB, "wb")                                                                                \
	X(WB_RET, "wb_ret")                                                                        \
	X(WRITE, "write")                                                                          \
	X(SCAN, "scan")                                                                            \
	X(SCAN_RET, "scan_ret")                                                                    \
	X(SLAB, "slab")                                                                            \
	X(COUNT_RET, "count_ret")                                                                  \
	X(WORKER, "worker")                                                                        \
	X(SHRINK, "shrink")                                                                        \
	X(SHRINK_RET, "shrink_ret")                                                                \
	X(RQ_ISSUE, "block_rq_issue")                                                              \
	X(RQ_COMPLETE, "block_rq_complete")                                                        \
	X(RQ_MERGE, "block_rq_merge")                                                              \
	X(BACKMERGE, "block_bio_backmerge")                                                        \
	X(FRONTMERGE, "block_bio_frontmerge")                                                      \
	X(SLAB_START, "mm_shrink_slab_start")                                                      \
	X(LOST, "")                                                                                \
	X(SAMPLE, "")

enum rec_type {
#define X(id, name) REC_##id,
	REC_TYPES(X)
#undef X
	REC_TYPE_COUNT,
};

#define REC_FIELDS(X)                                                                              \
	X(SWP, "swp")                                                                              \
	X(FLAGS, "flags")   /* the folio's page flags: bit `head` says whether it is large */     \
	X(FLAGS1, "flags1") /* the word whose low byte is the order of a large folio */           \
	X(MEMCG, "memcg")                                                                          \
	X(CG, "cg")                                                                                \
	X(RET, "ret")                                                                              \
	X(LEN, "len")                                                                              \
	X(NR, "nr")                                                                                \
	X(NID, "nid")                                                                              \
	X(PRIO, "prio")                                                                            \
	X(DEV, "dev")                                                                              \
	X(SECTOR, "sector")                                                                        \
	X(SECTORS, "nr_sector")                                                                    \
	X(RWBS, "rwbs")                                                                            \
	X(SWP_TYPE, "swp_type")   /* type and offset of a swap entry, where it is in two */       \
	X(OFFSET, "offset")                                                                        \
	X(HEAD, "head")           /* the bit of `flags`, where the record says it itself */       \
	X(EVICTABLE, "evictable") /* the pool puts a swap entry in front of each object */        \
	X(HOW, "how")             /* enum rec_how */                                               \
	X(PRIORITY, "priority")   /* of mm_shrink_slab_start, and its shrinker */                 \
	X(SHR, "shr")

enum rec_field {
#define X(id, name) REC_FIELD_##id,
	REC_FIELDS(X)
#undef X
	REC_FIELD_COUNT,
};

/* The values found in one event; `present` has a bit a field. RWBS is an enum rec_op. */
struct rec_fields {
	uint32_t present;
	uint64_t value[REC_FIELD_COUNT];
};

/* What a printed probe says of the kernel that it was printed for, since a text cannot be asked. */
enum rec_how {
	REC_HOW_UNSAID,
	REC_HOW_BOOL,	  /* `ret` is a truth value */
	REC_HOW_ERRNO,	  /* `ret` is 0 for success or an error */
	REC_HOW_LRU,	  /* `ret` is a list_lru status */
	REC_HOW_NO_ZEROS, /* the kernel keeps no map of zero-filled pages: zswap or the disk has them */
};

enum rec_op { REC_OP_READ, REC_OP_WRITE, REC_OP_DISCARD, REC_OP_OTHER };

struct rec_raw {
	uint64_t time_ns;
	uint64_t swp;
	uint64_t memcg;
	int64_t ret;
	uint32_t len;
	uint32_t tid;
	uint32_t dev; /* kernel encoding: major << 20 | minor */
	uint16_t cpu;
	uint8_t type; /* enum rec_type */
	uint8_t order;
	uint8_t op; /* enum rec_op; enum rec_how */
};

/* How the kernel lays out what the fields FLAGS and FLAGS1 show. */
struct rec_layout {
	uint8_t head_bit;      /* of page flags; 6 since 6.6, 16 before */
	bool order_in_flags1;  /* low byte; otherwise orders are taken as 0 */
};

const char *rec_type_name(enum rec_type type);

/* The type or field of a name, or -1. */
int rec_type_of(const char *name, uint32_t bytes);
int rec_field_of(const char *name, uint32_t bytes);

/* What the block layer's letters say: the leading F is a preflush, not the operation. */
enum rec_op rec_op_of(const char *rwbs, uint32_t bytes);

/* Fields a record of this type cannot do without; bits 1 << enum rec_field. */
uint32_t rec_type_needs(enum rec_type type);

/* Makes a record; false if a needed field is missing. Time, cpu and tid are the caller's. */
bool rec_raw_fill(struct rec_raw *raw, enum rec_type type, const struct rec_fields *fields,
		  const struct rec_layout *layout);

enum { REC_SWP_TYPE_SHIFT = 58, REC_SWP_TYPES = 32 };

static inline uint32_t rec_swp_type(uint64_t swp)
{
	return (uint32_t)(swp >> REC_SWP_TYPE_SHIFT) % REC_SWP_TYPES;
}

static inline uint64_t rec_swp_offset(uint64_t swp)
{
	return swp & ((UINT64_C(1) << REC_SWP_TYPE_SHIFT) - 1);
}

#endif
