/* SPDX-License-Identifier: MIT */
/*
 * --drive writebacks: the recorded writebacks (WB) are taken as they are, and only the I/O that they cause is
 * made anew. Swap-outs end as recorded too; the pool's limit, the recorded scans and the worker decide
 * nothing. What a refault finds follows from that.
 *
 * A walk is what one task wrote back without doing anything else of the trace in between: its next SCAN,
 * SHRINK, WORKER, RECLAIM, OUT or IN ends it. Tasks write back side by side, but a sink takes one walk
 * after the other, so a walk is gathered and handed over when it ends, or when one of its pages comes back
 * or is freed.
 *
 *   open walks   up to 16, by task: list of slots through drive_next (index + 1 of the next; LAST = none)
 *
 * A walk of the kind that its task last began: SCAN = the shrinker, SHRINK = the worker if the last WORKER was
 * of this task, else the store path. Cost: 4 bytes a slot, touched where written back.
 */
#include "replayer/model.h"

#include <string.h>

enum { LAST = UINT32_MAX };

static struct sim_open_walk *find_walk(struct sim *sim, uint32_t task)
{
	for (uint32_t i = 0; i < sim->drive.n; i++)
		if (sim->drive.walks[i].task == task)
			return &sim->drive.walks[i];
	return NULL;
}

static void hand_over(struct sim *sim, const struct sim_open_walk *walk)
{
	uint32_t next;

	if (!walk->head)
		return;
	sim->counters.walks++;
	sim_walk_begin(sim, walk->kind);
	for (uint32_t link = walk->head; link != LAST; link = next) {
		next = sim->drive.next[link - 1];
		sim->drive.next[link - 1] = 0;
		sim_walk_write(sim, link - 1);
	}
	sim_walk_end(sim);
}

static void close_walk(struct sim *sim, struct sim_open_walk *walk)
{
	struct sim_open_walk closed = *walk;
	size_t behind = (size_t)(sim->drive.walks + sim->drive.n - (walk + 1));

	memmove(walk, walk + 1, behind * sizeof(*walk));
	sim->drive.n--;
	hand_over(sim, &closed);
}

static struct sim_open_walk *open_walk(struct sim *sim, uint32_t task, enum sim_walk kind)
{
	struct sim_open_walk *walk;

	if (sim->drive.n == SIM_OPEN_WALKS)
		close_walk(sim, &sim->drive.walks[0]);
	walk = &sim->drive.walks[sim->drive.n++];
	*walk = (struct sim_open_walk){ .task = task, .kind = kind };
	return walk;
}

void sim_drive_flush(struct sim *sim)
{
	while (sim->drive.n)
		close_walk(sim, &sim->drive.walks[0]);
}

static void end_walk_of(struct sim *sim, uint32_t task)
{
	struct sim_open_walk *walk = find_walk(sim, task);

	if (walk)
		close_walk(sim, walk);
}

void sim_drive_begin(struct sim *sim, const struct db_event *event)
{
	enum sim_walk kind = SIM_WALK_SHRINKER;

	end_walk_of(sim, event->task);
	if (event->kind == DB_WORKER) {
		sim->drive.worker = event->task;
		sim->counters.shrink_worker_wakeups++;
		return;
	}
	if (event->kind == DB_SHRINK) {
		kind = event->task == sim->drive.worker ? SIM_WALK_WORKER : SIM_WALK_STORE;
		sim->counters.shrink_memcg_calls++;
	}
	open_walk(sim, event->task, kind);
}

void sim_drive_touch(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t slots)
{
	if (event->kind != DB_FREE)
		end_walk_of(sim, event->task);
	for (uint32_t i = index; i < index + slots; i++)
		if (sim->drive.next[i])
			sim_drive_flush(sim);
}

static void gather(struct sim *sim, struct sim_open_walk *walk, uint32_t index)
{
	if (walk->head)
		sim->drive.next[walk->tail - 1] = index + 1;
	else
		walk->head = index + 1;
	walk->tail = index + 1;
	sim->drive.next[index] = LAST;
}

void sim_drive_wb(struct sim *sim, const struct db_event *event)
{
	uint32_t index = sim_index(sim, event->area, event->slot);
	struct sim_open_walk *walk;

	if (db_flags_outcome(event->flags) != DB_WB_WRITTEN)
		return;
	if (sim->drive.next[index])
		sim_drive_flush(sim);
	walk = find_walk(sim, event->task);
	if (!walk)
		walk = open_walk(sim, event->task, SIM_WALK_SHRINKER);
	/* A page that was in the pool before the trace began has no entry. */
	if (sim->slots[index].state != SIM_SLOT_ZSWAP) {
		sim->slots[index].memcg = event->memcg;
		sim->slots[index].len = event->len;
	}
	sim_write_back(sim, index);
	gather(sim, walk, index);
}
