/* SPDX-License-Identifier: MIT */
/*
 * Swap-outs: which folios the pool takes, and where the others go (Linux 6.12 to 7.3).
 *
 * Under evict=pool what the slot held before leaves first, whatever becomes of the store; the limit's tests are
 * strict; a full cgroup refuses without shrinking; and only a store that finds the pool over its limit, not one that
 * is refused until it has drained, queues the worker (Linux 6.1).
 *
 * Every recorded swap-out is put before the model's own limit: at or above it the pool is full and stays
 * so until a later store finds it at or below the accept threshold. Only that decision is the model's; of
 * a recorded rejection
 *
 *   LIMIT, ALLOC, UNKNOWN  is tried again here; but a LIMIT at a time when the recorded pool cannot have been
 *                          full (learn.h) is a COMPRESS
 *   MEMCG_LIMIT            the cgroup's own limit was met: one shrink call over its list (store_walk), and
 *                          the store goes on if that wrote something. A policy with a zswap_max asks its own
 *                          limits instead
 *   COMPRESS               does not compress here either, but meets the limit first as in the kernel;
 *                          incompressible=store stores it as it is, a page long
 *   LARGE                  is refused before the limit is looked at and wakes no worker; large=store tries it
 *   OFF                    there was no store: straight to disk
 *
 * A large folio that was stored page by page (PART events follow) is decided once: all its pages go to the
 * pool or the whole folio to disk; it also does when one of its pages turns out to be refused (incompressible=
 * reject). One that a limit rejected whole is tried with guessed lengths.
 *
 * Zero-filled pages never come here in Linux 6.12 to 7.3; zero=zswap, as before, puts them before the limits and
 * makes them entries without an object, which no walk meets.
 *
 * A store that the recording rejected has no compressed length there: the slot's last one is taken, else
 * the memcg's last one, else half a page; each is counted in guessed_lengths.
 *
 * What the pool refuses is written at once by the task (a direct swap-out), or, where the cgroup
 * forbids that (wb=off, or KEPT in the recording), stays in memory. The worker that a rejection queued runs after that
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
	uint64_t pages = sim_pool_counted(sim);

	if (pages >= sim->full_at) {
		sim->counters.pool_limit_hit++;
		sim->full = true;
		sim->worker.queued |= sim->pool_evicts && sim->policy.shrink_enabled;
	} else if (sim->full && pages < sim->accept_below) {
		sim->full = false;
	}
	return !sim->full;
}

static bool is_over_memcg_limit(const struct sim *sim, const struct db_event *event,
				enum db_reason reason)
{
	return sim->limits_memcgs ? !sim_memcg_may_store(sim, event->memcg)
				  : reason == DB_REASON_MEMCG_LIMIT;
}

static bool passes_memcg_limit(struct sim *sim, const struct db_event *event, enum db_reason reason)
{
	if (!is_over_memcg_limit(sim, event, reason))
		return true;
	return !sim->pool_evicts &&
	       sim_shrink_memcg(sim, event->memcg, (uint32_t)sim->policy.store_walk,
				SIM_WALK_STORE) == DB_SHRINK_OK;
}

static bool is_too_large(const struct sim *sim, uint32_t pages, enum db_reason reason)
{
	if (sim->policy.large == SIM_RECORDED || pages == 1)
		return reason == DB_REASON_LARGE;
	return sim->policy.large == SIM_REJECT;
}

/* Does the page not compress, and is it not stored as it is either? Without writeback it would only cost. */
static bool is_incompressible(const struct sim *sim, const struct db_event *event,
			      enum db_reason reason)
{
	bool zero = db_flags_outcome(event->flags) == DB_OUT_ZERO;
	bool raw = reason == DB_REASON_COMPRESS || (!zero && event->len >= sim->machine.page_size);

	if (!zero && (raw ? sim->machine.page_size : event->len) > sim->len_max)
		return true;
	if (!raw || sim->policy.incompressible == SIM_RECORDED)
		return reason == DB_REASON_COMPRESS;
	return sim->policy.incompressible == SIM_REJECT || sim->memcgs[event->memcg].no_writeback;
}

/* A refusal wakes the worker of a pool that is full, whatever it was refused for. */
static void count_refusal(struct sim *sim)
{
	sim->counters.store_rejected++;
	sim->worker.queued |= sim->full && sim->policy.shrink_enabled && !sim->pool_evicts;
}

static bool may_store(struct sim *sim, const struct db_event *event, uint32_t pages,
		      enum db_reason reason)
{
	bool stored;

	if (reason == DB_REASON_OFF)
		return false;
	sim->counters.zswap_store_calls++;
	if (is_too_large(sim, pages, reason)) {
		sim->counters.store_rejected++;
		return false;
	}
	if (sim->policy.drive == SIM_DRIVE_WRITEBACKS)
		stored = !is_rejected(event);
	else
		stored = passes_memcg_limit(sim, event, reason) && is_below_limit(sim) &&
			 !is_incompressible(sim, event, reason);
	if (stored)
		sim->counters.store_succeeded++;
	else
		count_refusal(sim);
	return stored;
}

/* Of a page that is stored as it is. */
static uint16_t raw_length(const struct sim *sim)
{
	return sim->machine.page_size > UINT16_MAX ? UINT16_MAX : (uint16_t)sim->machine.page_size;
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

static uint64_t alloc_object(struct sim *sim, uint16_t len, uint32_t index)
{
	sim->unseen = 0;
	if (!sim->zbud.records)
		return zs_alloc(&sim->pool, len);
	return zbud_alloc(&sim->zbud, len < sim->len_max ? len : sim->len_max, index);
}

static void put_in_pool(struct sim *sim, uint32_t index, uint16_t memcg, uint16_t len)
{
	struct slot *slot = &sim->slots[index];
	uint64_t object = alloc_object(sim, len, index), pages = sim_pool_pages(sim);

	if (pages > sim->counters.pool_pages_max)
		sim->counters.pool_pages_max = pages;
	if (slot->state == SIM_SLOT_ZSWAP || slot->state == SIM_SLOT_DISK)
		sim_set_state(sim, index, SIM_SLOT_FREE);
	*slot = (struct slot){ .data = object,
			       .state = SIM_SLOT_ZSWAP,
			       .referenced = sim->policy.second_chance,
			       .len = len,
			       .memcg = memcg };
	lru_append(&sim->lru, memcg, index);
	sim_charge(sim, memcg, len);
	sim->counters.zswpout++;
	if (sim->sink && sim->sink->store)
		sim->sink->store(sim->sink, len);
}

static void store_page(struct sim *sim, uint32_t index, uint16_t memcg, uint16_t recorded_len)
{
	put_in_pool(sim, index, memcg, length_of(sim, index, memcg, recorded_len));
}

void sim_take_plain(struct sim *sim, uint32_t index, uint16_t memcg, uint16_t len)
{
	sim->counters.zswap_store_calls++;
	sim->counters.store_succeeded++;
	sim->memcgs[memcg].len = len;
	put_in_pool(sim, index, memcg, len);
}

static void join_direct(struct sim *sim, uint32_t task)
{
	sim_task_writes(sim, task);
	if (sim->direct.open && sim->direct.task != task)
		sim_end_direct(sim);
	if (sim->direct.open)
		return;
	sim->direct.open = true;
	sim->direct.task = task;
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
							 .task = event->task,
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

bool sim_is_kept(const struct sim *sim, const struct db_event *event)
{
	bool recorded = db_flags_outcome(event->flags) == DB_OUT_KEPT;

	if (sim->policy.drive == SIM_DRIVE_WRITEBACKS)
		return recorded;
	return sim->memcgs[event->memcg].no_writeback || (recorded && !sim->policy.n_rules);
}

static void refuse(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t pages)
{
	if (sim_is_kept(sim, event))
		set_all(sim, index, pages, SIM_SLOT_CACHED);
	else
		write_direct(sim, event, index, pages);
	sim_worker_queue(sim);
}

/* A folio, or the first page of one whose parts follow. */
static void out_folio(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t pages)
{
	bool parts_follow = pages > 1 && db_flags_outcome(event->flags) == DB_OUT_STORED;
	enum db_reason reason = reason_of(sim, event);
	bool stored = may_store(sim, event, pages, reason);
	uint16_t len = reason == DB_REASON_COMPRESS ? raw_length(sim) : event->len;

	if (pages > 1)
		sim->folio = (struct sim_folio){ .first = index,
						 .next = index + 1,
						 .left = parts_follow ? pages - 1 : 0,
						 .stored = stored };
	if (!stored) {
		refuse(sim, event, index, pages);
		return;
	}
	store_page(sim, index, event->memcg, len);
	for (uint32_t i = 1; i < pages && !parts_follow; i++)
		store_page(sim, index + i, event->memcg, 0);
}

/* A page of a large folio is not stored, so none is: what was goes out of the pool again, and the whole folio
 * to the disk. */
static void fail_folio(struct sim *sim, const struct db_event *part, uint32_t index)
{
	struct sim_folio *folio = &sim->folio;
	uint32_t before = index - folio->first;
	struct db_event whole = *part;

	whole.slot -= before;
	folio->stored = false;
	sim->counters.zswpout -= before;
	sim->counters.store_succeeded--;
	count_refusal(sim);
	refuse(sim, &whole, folio->first, before + 1 + folio->left);
}

static void out_part(struct sim *sim, const struct db_event *event, uint32_t index)
{
	if (sim->policy.drive == SIM_DRIVE_DEMAND &&
	    is_incompressible(sim, event, DB_REASON_UNKNOWN))
		fail_folio(sim, event, index);
	else
		store_page(sim, index, event->memcg, event->len);
}

/* Up to Linux 6.11 a same-filled page is an entry without an object, on no list. */
static bool is_zero(const struct sim *sim, const struct db_event *event)
{
	unsigned outcome = db_flags_outcome(event->flags);

	return outcome == DB_OUT_ZERO ||
	       (outcome == DB_OUT_STORED && !event->len && !event->order && sim->machine.kernel &&
		sim->machine.kernel < 612);
}

static bool zswap_has_zeros(const struct sim *sim, const struct db_event *event)
{
	if (sim->policy.zero == SIM_RECORDED)
		return db_flags_outcome(event->flags) != DB_OUT_ZERO;
	return sim->policy.zero == SIM_ZERO_ZSWAP;
}

static void out_zero(struct sim *sim, const struct db_event *event, uint32_t index, uint32_t pages)
{
	bool in_zswap = zswap_has_zeros(sim, event);

	if (in_zswap && !may_store(sim, event, pages, DB_REASON_UNKNOWN)) {
		refuse(sim, event, index, pages);
		return;
	}
	set_all(sim, index, pages, SIM_SLOT_ZERO);
	if (!in_zswap) {
		sim->counters.swpout_zero += pages;
		return;
	}
	sim->counters.zswpout += pages;
	for (uint32_t i = index; i < index + pages; i++)
		sim->slots[i].in_zswap = 1;
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

/* evict=pool: before the store is even tried. */
static void drop_old(struct sim *sim, uint32_t index, uint32_t pages)
{
	for (uint32_t i = index; i < index + pages; i++)
		if (sim->slots[i].state == SIM_SLOT_ZSWAP || sim->slots[i].in_zswap)
			sim_set_state(sim, i, SIM_SLOT_FREE);
}

void sim_out(struct sim *sim, const struct db_event *recorded)
{
	uint32_t index = sim_index(sim, recorded->area, recorded->slot);
	uint32_t pages = recorded->flags & DB_F_PART ? 1 : 1u << recorded->order;
	bool part = take_part(&sim->folio, recorded, index);
	struct db_event translated = *recorded, *event = &translated;

	if (sim->lengths)
		translated.len = sim->lengths[recorded->len];

	if (sim->drive.next)
		sim_drive_touch(sim, event, index, pages);
	if (sim->pool_evicts && (!part || sim->folio.stored))
		drop_old(sim, index, pages);
	if (part && !sim->folio.stored)
		return; /* went the way of the whole folio */
	if (is_zero(sim, event))
		out_zero(sim, event, index, pages);
	else if (part)
		out_part(sim, event, index);
	else
		out_folio(sim, event, index, pages);
}
