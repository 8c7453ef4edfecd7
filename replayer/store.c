/* SPDX-License-Identifier: MIT */
/*
 * Swap-outs: which folios the pool takes, and where the others go (Linux 6.12 to 7.3).
 *
 * Every recorded swap-out is put before the model's own limit: at or above it the pool is full and stays
 * so until a later store finds it at or below the accept threshold. Only that decision is the model's; of
 * a recorded rejection
 *
 *   LIMIT, ALLOC, UNKNOWN  is tried again here; but a LIMIT at a time when the recorded pool cannot have been
 *                          full (learn.h) is a COMPRESS
 *   MEMCG_LIMIT            the cgroup's own limit was met: one shrink call over its list (store_walk), and
 *                          the store goes on if that wrote something
 *   COMPRESS               does not compress here either, but meets the limit first as in the kernel
 *   LARGE                  is refused before the limit is looked at and wakes no worker
 *   OFF                    there was no store: straight to disk
 *
 * A large folio that was stored page by page (PART events follow) is decided once: all its pages go to the
 * pool or the whole folio to disk. One that a limit rejected whole is tried with guessed lengths.
 *
 * A store that the recording rejected has no compressed length there: the slot's last one is taken, else
 * the memcg's last one, else half a page; each is counted in guessed_lengths.
 *
 * What the pool refuses is written at once by the task (a direct swap-out), or, where the recording shows
 * that the cgroup forbids that (KEPT), stays in memory. The worker that a rejection queued runs after that
 * write. Direct swap-outs of one task in a row make one run for the I/O half; another task's swap-out, or
 * the task's next RECLAIM or refault, ends it. That is an approximation: in the kernel each reclaiming task
 * has a context of its own, so two tasks whose direct writes interleave break each other's runs here.
 */
#include "replayer/model.h"

static bool is_rejected(const struct db_event *event)
{
	unsigned outcome = db_flags_outcome(event->flags);

	return outcome == DB_OUT_REJECTED || outcome == DB_OUT_KEPT;
}

/* Was it the recorded pool that refused? See learn.h. */
static bool was_refusing(struct sim *sim)
{
	const struct sim_learnt *learnt = &sim->machine.learnt;

	if (!learnt->knows_refusals)
		return true;
	while (sim->refusal < learnt->n_refusals &&
	       learnt->refusals[sim->refusal].to_ns < sim->now_ns)
		sim->refusal++;
	return sim->refusal < learnt->n_refusals &&
	       learnt->refusals[sim->refusal].from_ns <= sim->now_ns;
}

static enum db_reason reason_of(struct sim *sim, const struct db_event *event)
{
	enum db_reason reason = (enum db_reason)db_flags_reason(event->flags);

	if (!is_rejected(event))
		return DB_REASON_UNKNOWN;
	return reason == DB_REASON_LIMIT && !was_refusing(sim) ? DB_REASON_COMPRESS : reason;
}

/* The limit with hysteresis; looked at once a store, also by stores that then fail. */
static bool is_below_limit(struct sim *sim)
{
	if (sim->pool.pages >= sim->limit_pages) {
		sim->counters.pool_limit_hit++;
		sim->full = true;
	} else if (sim->full && sim->pool.pages <= sim->accept_pages) {
		sim->full = false;
	}
	return !sim->full;
}

static bool passes_memcg_limit(struct sim *sim, const struct db_event *event, enum db_reason reason)
{
	return reason != DB_REASON_MEMCG_LIMIT ||
	       sim_shrink_memcg(sim, event->memcg, (uint32_t)sim->policy.store_walk, SIM_WALK_STORE) ==
		       DB_SHRINK_OK;
}

static bool may_store(struct sim *sim, const struct db_event *event)
{
	enum db_reason reason = reason_of(sim, event);
	bool stored;

	if (reason == DB_REASON_OFF)
		return false;
	sim->counters.zswap_store_calls++;
	if (reason == DB_REASON_LARGE) {
		sim->counters.store_rejected++;
		return false;
	}
	if (sim->policy.drive == SIM_DRIVE_WRITEBACKS)
		stored = !is_rejected(event);
	else
		stored = passes_memcg_limit(sim, event, reason) && is_below_limit(sim) &&
			 reason != DB_REASON_COMPRESS;
	if (stored)
		sim->counters.store_succeeded++;
	else
		sim->counters.store_rejected++;
	if (!stored && sim->full && sim->policy.shrink_enabled)
		sim->worker.queued = true;
	return stored;
}

static uint16_t length_of(struct sim *sim, uint32_t index, uint16_t memcg, uint16_t recorded)
{
	if (recorded) {
		sim->memcgs[memcg].len = recorded;
		return recorded;
	}
	sim->counters.guessed_lengths++;
	if (sim->slots[index].len)
		return sim->slots[index].len;
	return sim->memcgs[memcg].len ? sim->memcgs[memcg].len : (uint16_t)(sim->machine.page_size / 2);
}

static void store_page(struct sim *sim, uint32_t index, uint16_t memcg, uint16_t recorded_len)
{
	struct slot *slot = &sim->slots[index];
	uint16_t len = length_of(sim, index, memcg, recorded_len);
	uint32_t zspage = zs_alloc(&sim->pool, len);

	if (sim->pool.pages > sim->counters.pool_pages_max)
		sim->counters.pool_pages_max = sim->pool.pages;
	sim_set_state(sim, index, SIM_SLOT_FREE);
	slot->data = zspage;
	slot->state = SIM_SLOT_ZSWAP;
	slot->referenced = sim->policy.second_chance;
	slot->len = len;
	slot->memcg = memcg;
	lru_append(&sim->lru, memcg, index);
	sim->compressed_bytes += len;
	sim->memcgs[memcg].bytes += len;
	sim->counters.zswpout++;
	if (sim->sink && sim->sink->store)
		sim->sink->store(sim->sink, len);
}

static void join_direct(struct sim *sim, uint32_t task)
{
	if (sim->direct.open && sim->direct.task != task)
		sim_end_direct(sim);
	if (sim->direct.open)
		return;
	sim->direct = (struct sim_direct){ .open = true, .task = task };
	if (sim->sink)
		sim->sink->walk_begin(sim->sink, SIM_WALK_DIRECT, sim->now_ns);
}

/* Pages that lie side by side on the disk as one write. */
static void tell_direct(struct sim *sim, const struct db_event *event, uint32_t first, uint32_t disk_slot,
			uint32_t pages)
{
	sim->sink->write(sim->sink, &(struct sim_write){ .time_ns = sim->now_ns,
							 .slot = disk_slot,
							 .pages = pages,
							 .recorded_slot = first,
							 .memcg = event->memcg,
							 .len = event->len,
							 .area = event->area });
}

/* A virtual swap layer may have to scatter a large folio. */
static void tell_direct_pieces(struct sim *sim, const struct db_event *event, uint32_t index,
			       uint32_t pages)
{
	uint32_t begin = 0, start = sim_disk_slot(sim, event->area, index);

	for (uint32_t i = 1; i < pages; i++) {
		uint32_t at = sim_disk_slot(sim, event->area, index + i);

		if (at == start + (i - begin))
			continue;
		tell_direct(sim, event, event->slot + begin, start, i - begin);
		begin = i;
		start = at;
	}
	tell_direct(sim, event, event->slot + begin, start, pages - begin);
}

static void write_direct(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t pages)
{
	join_direct(sim, event->task);
	sim->counters.pswpout += pages;
	for (uint32_t i = index; i < index + pages; i++) {
		sim_set_state(sim, i, SIM_SLOT_FREE);
		sim->slots[i].memcg = event->memcg;
		sim->slots[i].seq = sim->lru.lists[event->memcg].next_seq;
		sim_set_on_disk(sim, i, false);
	}
	if (sim->sink)
		tell_direct_pieces(sim, event, index, pages);
}

static void set_all(struct sim *sim, uint32_t index, uint32_t pages, enum sim_slot state)
{
	for (uint32_t i = index; i < index + pages; i++)
		sim_set_state(sim, i, state);
}

static void refuse(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t pages)
{
	if (db_flags_outcome(event->flags) == DB_OUT_KEPT)
		set_all(sim, index, pages, SIM_SLOT_CACHED);
	else
		write_direct(sim, event, index, pages);
	sim_worker_queue(sim);
}

static void out_zero(struct sim *sim, uint32_t index, uint32_t pages)
{
	set_all(sim, index, pages, SIM_SLOT_ZERO);
	sim->counters.swpout_zero += pages;
}

/* A folio, or the first page of one whose parts follow. */
static void out_folio(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t pages)
{
	bool parts_follow = pages > 1 && db_flags_outcome(event->flags) == DB_OUT_STORED;
	bool stored = may_store(sim, event);

	if (pages > 1)
		sim->folio = (struct sim_folio){ .next = index + 1,
						 .left = parts_follow ? pages - 1 : 0,
						 .stored = stored };
	if (!stored) {
		refuse(sim, event, index, pages);
		return;
	}
	store_page(sim, index, event->memcg, event->len);
	for (uint32_t i = 1; i < pages && !parts_follow; i++)
		store_page(sim, index + i, event->memcg, 0);
}

/* Is this the page of the large folio that comes next? One whose head is not in the trace is not, and
 * stands for itself. */
static bool take_part(struct sim_folio *folio, const struct db_event *event, uint32_t index)
{
	if (!(event->flags & DB_F_PART) || !folio->left || folio->next != index)
		return false;
	folio->next++;
	folio->left--;
	return true;
}

void sim_out(struct sim *sim, const struct db_event *event)
{
	uint32_t index = sim_index(sim, event->area, event->slot);
	uint32_t pages = event->flags & DB_F_PART ? 1 : 1u << event->order;
	bool part = take_part(&sim->folio, event, index);

	if (sim->drive.next)
		sim_drive_touch(sim, event, index, pages);
	if (part && !sim->folio.stored)
		return; /* went the way of the whole folio */
	if (db_flags_outcome(event->flags) == DB_OUT_ZERO)
		out_zero(sim, index, pages);
	else if (part)
		store_page(sim, index, event->memcg, event->len);
	else
		out_folio(sim, event, index, pages);
}
