/* SPDX-License-Identifier: MIT */
/* Names of events, batches of one's own; see event.h and db.h. */
#include "db/db.h"

enum { SECTORS_PER_SLOT = 8 }; /* of 512 bytes, slots of 4096 */

const char *db_kind_name(unsigned kind)
{
	static const char *const names[] = {
#define X(name) [DB_##name] = #name,
		DB_KINDS(X)
#undef X
	};

	return kind < DB_KIND_COUNT ? names[kind] : "?";
}

enum zr_err db_batch_init(struct db_batch *batch, struct zr_arena *arena)
{
	*batch = (struct db_batch){
		.time_ns = zr_arena_array(arena, DB_BATCH_EVENTS, sizeof(*batch->time_ns)),
		.slot = zr_arena_array(arena, DB_BATCH_EVENTS, sizeof(*batch->slot)),
		.task = zr_arena_array(arena, DB_BATCH_EVENTS, sizeof(*batch->task)),
		.memcg = zr_arena_array(arena, DB_BATCH_EVENTS, sizeof(*batch->memcg)),
		.len = zr_arena_array(arena, DB_BATCH_EVENTS, sizeof(*batch->len)),
		.kind = zr_arena_array(arena, DB_BATCH_EVENTS, 1),
		.area = zr_arena_array(arena, DB_BATCH_EVENTS, 1),
		.order = zr_arena_array(arena, DB_BATCH_EVENTS, 1),
		.flags = zr_arena_array(arena, DB_BATCH_EVENTS, 1),
	};
	if (!batch->time_ns || !batch->slot || !batch->task || !batch->memcg || !batch->len ||
	    !batch->kind || !batch->area || !batch->order || !batch->flags)
		return zr_fail(ZR_NOMEM, "no memory for a batch of %d events", DB_BATCH_EVENTS);
	return ZR_OK;
}

struct db_event db_batch_event(const struct db_batch *batch, uint32_t row)
{
	return (struct db_event){
		.time_ns = batch->time_ns[row],
		.slot = batch->slot[row],
		.task = batch->task[row],
		.memcg = batch->memcg[row],
		.len = batch->len[row],
		.kind = batch->kind[row],
		.area = batch->area[row],
		.order = batch->order[row],
		.flags = batch->flags[row],
	};
}

void db_batch_add(struct db_batch *batch, const struct db_event *event)
{
	uint32_t row = batch->n++;

	assert(row < DB_BATCH_EVENTS);
	batch->time_ns[row] = event->time_ns;
	batch->slot[row] = event->slot;
	batch->task[row] = event->task;
	batch->memcg[row] = event->memcg;
	batch->len[row] = event->len;
	batch->kind[row] = event->kind;
	batch->area[row] = event->area;
	batch->order[row] = event->order;
	batch->flags[row] = event->flags;
}

/* ------------------------------------------------------------------------------ fields in words */

/* Outcomes by kind, as the enums of event.h number them. */
static const char *const outcomes[DB_KIND_COUNT][8] = {
	[DB_OUT] = { "stored", "rejected", "zero", "kept" },
	[DB_IN] = { "zswap", "disk", "zero", "error" },
	[DB_WB] = { "written", "exists", "nomem", "rotated", "failed" },
	[DB_SCAN] = { "done", "stopped" },
	[DB_SHRINK] = { "ok", "again", "empty" },
	[DB_GAP] = { "ring", "probe", "reader", "import" },
};
static const char *const reasons[8] = { "unknown", "limit", "memcg-limit", "compress",
					"alloc",   "large", "off" };
static const char *const io_ops[4] = { "read", "write", "discard" };
static const char *const io_phases[8] = { "issue", "complete", "merge" };

const char *db_event_outcome(const struct db_event *event)
{
	if (event->kind == DB_IO)
		return io_ops[event->flags & 3];
	return event->kind < DB_KIND_COUNT ? outcomes[event->kind][db_flags_outcome(event->flags)]
					   : NULL;
}

const char *db_event_reason(const struct db_event *event)
{
	bool rejected = event->kind == DB_OUT && db_flags_outcome(event->flags) == DB_OUT_REJECTED;

	return rejected ? reasons[db_flags_reason(event->flags)] : NULL;
}

const char *db_event_phase(const struct db_event *event)
{
	return event->kind == DB_IO ? io_phases[event->flags >> DB_IO_PHASE_SHIFT & 7] : NULL;
}

uint32_t db_event_pages(const struct db_event *event)
{
	switch (event->kind) {
	case DB_OUT:
		return event->flags & DB_F_PART ? 1 : (uint32_t)1 << event->order % 32;
	case DB_FREE:
		return db_free_slots(event->len);
	case DB_IO:
		return event->len > SECTORS_PER_SLOT
			       ? (event->len + SECTORS_PER_SLOT - 1u) / SECTORS_PER_SLOT
			       : 1;
	case DB_IN:
	case DB_WB:
		return 1;
	default:
		return 0;
	}
}
