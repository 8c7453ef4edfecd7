/* SPDX-License-Identifier: MIT */
/*
 * Events: what a trace is made of, and the one shape in which events travel.
 *
 * An event is 24 bytes as a record (struct db_event: importers and the recorder make these one by one)
 * and a row over nine columns as a batch (struct db_batch: what the reader decodes, once, and what every
 * policy and every tool then shares read-only). The meaning of `slot`, `order`, `len` and `flags` hangs
 * on the kind:
 *
 *   kind     slot            order     len                    flags, bits 0-2      memcg     task
 *   OUT      first slot      of folio  bytes compressed, of   enum db_out;         owner     reclaimer
 *                                      the page at `slot`     bits 3-5 db_reason
 *   IN       slot            0         0                      enum db_in           owner     faulting
 *   FREE     first slot      0         slots freed, 0 = 1     -                    0 or own. freeing
 *   WB       slot            0         bytes compressed       enum db_wb           owner     shrinking
 *   RECLAIM  shrinker count  priority  node id                -                    reclaimed reclaimer
 *   SCAN     nr_to_scan      0         entries written        bit 0: SHRINK_STOP   shrunk    reclaimer
 *   WORKER   0               0         0                      -                    0         worker
 *   SHRINK   0               0         0                      enum db_shrink       shrunk    caller
 *   IO       first slot      0         sectors of 512 bytes   0-1 db_io_op,        0         issuer
 *                                                             2-4 db_io_phase
 *   SAMPLE   0               0         0                      -                    0         0
 *   GAP      events lost     0         CPU, 0xffff = any      enum db_gap          0         0
 *
 * `order` is log2 of the folio's pages for OUT. A large folio that was stored page by page is its OUT
 * (order k, length of the first page) followed by 2^k - 1 OUT events with DB_F_PART, one for each further
 * page, in slot order; a PART event is not a folio of its own. A large folio written whole is one OUT.
 *
 * `area` is the dense id of the swap area (db_area); `memcg` and `task` are dense ids of their tables,
 * 0 = unknown or none. All ids belong to the batch's host: a merged file holds several hosts, each with
 * its own tables, and a batch is always of one host.
 *
 * Times are nanoseconds of the host's trace clock (its name is in the environment), ascending within a
 * host. SCAN, SHRINK, WORKER and RECLAIM carry the time of their entry, since the model acts then; OUT,
 * IN and WB the time of their return, when the pool has changed.
 *
 * DB_F_UNKNOWN marks a slot whose history crosses a gap.
 */
#ifndef DB_EVENT_H
#define DB_EVENT_H

#include <assert.h>
#include <stdint.h>

#define DB_KINDS(X)                                                                                \
	X(OUT)                                                                                     \
	X(IN)                                                                                      \
	X(FREE)                                                                                    \
	X(WB)                                                                                      \
	X(RECLAIM)                                                                                 \
	X(SCAN)                                                                                    \
	X(WORKER)                                                                                  \
	X(SHRINK)                                                                                  \
	X(IO)                                                                                      \
	X(SAMPLE)                                                                                  \
	X(GAP)

enum db_kind {
#define X(name) DB_##name,
	DB_KINDS(X)
#undef X
	DB_KIND_COUNT,
};

enum {
	DB_F_OUTCOME = 0x07, /* mask of the outcome */
	DB_F_REASON = 0x38,  /* mask of the reason, OUT */
	DB_F_REASON_SHIFT = 3,
	DB_F_PART = 0x40,      /* OUT: a further page of the large folio before it */
	DB_F_READAHEAD = 0x40, /* IN: not the page that was asked for */
	DB_F_UNKNOWN = 0x80,   /* the slot's history crosses a gap */
};

/* OUT: what became of the folio. KEPT: zswap refused and memory.zswap.writeback forbids the disk. */
enum db_out { DB_OUT_STORED, DB_OUT_REJECTED, DB_OUT_ZERO, DB_OUT_KEPT };

/* OUT rejected: why, where the kernel shows it. */
enum db_reason {
	DB_REASON_UNKNOWN,
	DB_REASON_LIMIT,       /* the pool is full, or not yet below the accept threshold */
	DB_REASON_MEMCG_LIMIT, /* memory.zswap.max */
	DB_REASON_COMPRESS,    /* did not compress, or poorly */
	DB_REASON_ALLOC,       /* no memory for the object */
	DB_REASON_LARGE,       /* a large folio on a kernel that does not store them */
	DB_REASON_OFF,	       /* zswap is off */
};

enum db_in { DB_IN_ZSWAP, DB_IN_DISK, DB_IN_ZERO, DB_IN_ERROR };
enum db_wb { DB_WB_WRITTEN, DB_WB_EXISTS, DB_WB_NOMEM, DB_WB_ROTATED, DB_WB_FAILED };
enum db_shrink { DB_SHRINK_OK, DB_SHRINK_AGAIN, DB_SHRINK_EMPTY };
enum db_io_op { DB_IO_READ, DB_IO_WRITE, DB_IO_DISCARD };
enum db_io_phase { DB_IO_ISSUE, DB_IO_COMPLETE, DB_IO_MERGE };
enum { DB_IO_PHASE_SHIFT = 2 };

/* GAP: where the events were lost. RING: the ring buffer overran. PROBE: the kernel could not run a probe.
 * READER: the consumer fell behind and dropped. IMPORT: the source said so, or could not be read. */
enum db_gap { DB_GAP_RING, DB_GAP_PROBE, DB_GAP_READER, DB_GAP_IMPORT };

struct db_event {
	uint64_t time_ns;
	uint32_t slot;
	uint32_t task;
	uint16_t memcg;
	uint16_t len;
	uint8_t kind; /* enum db_kind */
	uint8_t area;
	uint8_t order;
	uint8_t flags;
};

static_assert(sizeof(struct db_event) == 24, "an event is 24 bytes in memory");

enum {
	DB_BATCH_EVENTS = 65536,
	DB_MEMCG_MAX = UINT16_MAX, /* most cgroups of one host in one trace */
	DB_AREA_MAX = UINT8_MAX,   /* most swap areas of one host in one trace */
	DB_ORDER_MAX = 16,	   /* largest folio, log2 of its pages */
};

/* `n` events as columns; all arrays have room for DB_BATCH_EVENTS. Owned by whoever made it; a batch
 * handed out by a reader is valid until its next call and must not be written to. */
struct db_batch {
	uint32_t n;
	uint32_t host;
	uint64_t *time_ns;
	uint32_t *slot;
	uint32_t *task;
	uint16_t *memcg;
	uint16_t *len;
	uint8_t *kind;
	uint8_t *area;
	uint8_t *order;
	uint8_t *flags;
};

static inline unsigned db_flags_outcome(uint8_t flags)
{
	return flags & DB_F_OUTCOME;
}

static inline unsigned db_flags_reason(uint8_t flags)
{
	return (flags & DB_F_REASON) >> DB_F_REASON_SHIFT;
}

/* Slots that a FREE covers. */
static inline uint32_t db_free_slots(uint16_t len)
{
	return len ? len : 1;
}

const char *db_kind_name(unsigned kind);

#endif
