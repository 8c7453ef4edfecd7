/* SPDX-License-Identifier: MIT */
/* Names of events, batches of one's own; see event.h and db.h. */
#include "db/db.h"

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
