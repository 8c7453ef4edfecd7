/* SPDX-License-Identifier: MIT */
/*
 * The model: what zswap would have held, refused and written under a policy, event by event.
 *
 * It is driven by demand: the recorded swap-outs (OUT), refaults (IN), frees (FREE) and reclaim passes (RECLAIM,
 * or the scans that they led to: shrinker.c) are taken as given; who is stored or refused, written back and
 * when, and what a refault then finds, is computed anew. Recorded WB, WORKER and SHRINK are results and therefore
 * ignored, but for the pace of the worker that they teach (learn.h). RECLAIM also ends a run of direct
 * swap-outs. The other drive, by recorded writebacks, is in drive.c.
 *
 * A slot is, in the model,
 *
 *   FREE     not in use, or never seen
 *   ZSWAP    compressed in the pool, on its memcg's list
 *   DISK     written, by zswap or directly
 *   ZERO     known to be zero-filled; no bytes anywhere
 *   CACHED   allocated, but the only copy is in memory
 *
 * Under load=keep an IN leaves ZSWAP as it is, with a mark: there is a copy in memory, so the entry cannot be written
 * back (the kernel's EEXIST) until the page goes out again. A page that the recording dropped unwritten, as it
 * may with a copy in zswap, gets no mark if that can be told (learn.h).
 *
 *           OUT stored   OUT refused      OUT zero   IN                        FREE   walk
 *   FREE    ZSWAP        DISK (or CACHED  ZERO       as recorded, counted as   FREE   -
 *                        if it was KEPT)             unknown_refaults
 *   ZSWAP   ZSWAP (new)  "                "          CACHED, zswpin            FREE   DISK
 *   DISK    ZSWAP        "                "          DISK, pswpin              FREE   -
 *   ZERO    ZSWAP        "                "          ZERO, swpin_zero          FREE   -
 *   CACHED  ZSWAP        "                "          CACHED, cached_refaults   FREE   -
 *
 * A refault is served from where the *model* has the page. Where the recording had it elsewhere:
 *   - in zswap there, on disk here: a disk read. The recorded page was dirty after its load and so was
 *     stored again later; that OUT is taken as demand, though a clean page read from disk might have been
 *     dropped instead. Policies that write back more than the recording are charged with it.
 *   - on disk there, in zswap here: a load. The page is now dirty, with its only copy in memory; where the
 *     recording dropped the clean page and read it again, the swap-out that would have come between is not
 *     in the trace. That second IN finds CACHED: it is counted (cached_refaults), with no I/O and no guess.
 *   - a slot that was filled before the recording began, or whose history crosses a gap (DB_F_UNKNOWN), is
 *     unknown: its refault is counted (unknown_refaults) and moves nothing; then it is where the recording
 *     says. A refault that failed (DB_IN_ERROR) changes nothing.
 *
 * early_refaults count the first read of a written-back page within 1, 10, 60 s of its write (each contains
 * the one before). lru_inversions count the first read of any written page that finds an entry of its memcg
 * in the pool that is older than it: stored, or given its second chance, before the page itself last was;
 * "before" is the order of the LRU list (seq in lru.h), so the oldest entry decides and the test is O(1).
 *
 * Not modelled yet: NUMA nodes (one list a memcg), the cgroup tree (the worker's round is by dense id, 0
 * being the root), memory.zswap.max other than where the recording met it, the swap cache (a page that is
 * refaulted while its writeback is in flight is read from disk here), readahead (the recorded INs are it; those
 * that nobody asked for are left out under readahead=off, without the refaults that the others would then be).
 *
 * Memory: 16 bytes a slot of the swap areas, 12 a zspage, 16 a swapped-out slot on the lists, touched only
 * as far as used. Cost: one random access an event (the slot), and one to the zspage, both prefetched from
 * rows ahead.
 */
#include "replayer/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/lengths.h"
#include "replayer/pages.h"

enum { PREFETCH_SLOT = 24, PREFETCH_ZSPAGE = 12 };

/* ------------------------------------------------------------------------------------------- life */

static uint64_t part_of(uint64_t pages, int32_t percent)
{
	return pages * (uint32_t)percent / 100;
}

/* Up to Linux 6.4 the tests were strict and the threshold took its percentages the other way round. */
static void set_tests(struct sim *sim, uint64_t mem, int32_t pool, int32_t accept)
{
	sim->accept_pages = part_of(sim->limit_pages, accept);
	sim->full_at = sim->limit_pages;
	sim->accept_below = sim->accept_pages + 1;
	if (!sim->pool_evicts)
		return;
	sim->full_at++;
	sim->accept_below = mem ? part_of(part_of(mem, accept), pool) : sim->accept_pages;
	sim->accept_pages = sim->accept_below ? sim->accept_below - 1 : 0;
}

static enum zr_err set_limits(struct sim *sim)
{
	const struct sim_policy *policy = &sim->policy;
	uint64_t mem = policy->mem_bytes ? (uint64_t)policy->mem_bytes / sim->machine.page_size :
					   sim->machine.mem_pages;
	int32_t pool = policy->pool_percent == SIM_RECORDED ? sim->machine.max_pool_percent :
							      policy->pool_percent;
	int32_t accept = policy->accept_percent == SIM_RECORDED ?
				 sim->machine.accept_threshold_percent :
				 policy->accept_percent;

	if (policy->pool_bytes) {
		sim->limit_pages = (uint64_t)policy->pool_bytes / sim->machine.page_size;
	} else if (mem) {
		sim->limit_pages = part_of(mem, pool);
	} else {
		return zr_fail(
			ZR_NO_DATA,
			"policy '%s': the trace does not say how much memory the machine had, which is "
			"what the pool's limit is a part of; add mem=BYTES or pool=BYTES",
			policy->text);
	}
	set_tests(sim, policy->pool_bytes ? 0 : mem, pool, accept);
	sim->limits_recorded =
		sim->limit_pages == part_of(sim->machine.mem_pages, sim->machine.max_pool_percent) &&
		accept == sim->machine.accept_threshold_percent;
	return ZR_OK;
}

static enum zr_err place_areas(struct sim *sim)
{
	uint64_t slots = 0;

	for (uint32_t area = 0; area < sim->machine.n_areas; area++) {
		sim->area_base[area] = (uint32_t)slots;
		if (sim->machine.area_slots[area] > UINT32_MAX / 2 - slots)
			return zr_fail(ZR_LIMIT,
				       "swap area %u has %llu slots; a model has room for %u in all",
				       area, (unsigned long long)sim->machine.area_slots[area],
				       UINT32_MAX / 2);
		slots += sim->machine.area_slots[area];
	}
	sim->n_slots = (uint32_t)slots;
	return ZR_OK;
}

/* An object begins with its swap entry where the allocator evicts. */
static enum zr_err make_pool(struct sim *sim)
{
	enum { HEADER = 8 };
	uint32_t page_size = sim->machine.page_size;
	enum zr_err err;

	sim->len_max = UINT32_MAX;
	if (sim->policy.zpool == SIM_ZPOOL_ZSMALLOC)
		return zs_pool_init(&sim->pool, page_size,
				    sim->pool_evicts ? ZS_CHAIN_4 : ZS_CHAIN_8, sim->n_slots + 1);
	err = zbud_init(&sim->zbud, page_size, sim->pool_evicts ? HEADER : 0, sim->n_slots + 1);
	sim->len_max = zbud_len_max(&sim->zbud);
	return err;
}

static enum zr_err make_tables(struct sim *sim)
{
	void *slots, *memcgs;
	enum zr_err err;

	err = pages_new(sim->n_slots, sizeof(*sim->slots), "the swap slots", &slots);
	sim->slots = slots;
	if (err)
		return err;
	err = pages_new(sim->machine.n_memcgs, sizeof(*sim->memcgs), "the cgroups", &memcgs);
	sim->memcgs = memcgs;
	if (!err)
		err = sim_memcgs_init(sim);
	if (!err)
		err = lru_init(&sim->lru, sim->slots, sim->n_slots, sim->machine.n_memcgs);
	return err ? err : make_pool(sim);
}

static enum zr_err make_lengths(struct sim *sim)
{
	const struct sim_machine *machine = &sim->machine;
	int32_t to = sim->policy.compressor;

	if (to == SIM_RECORDED || to + 1 == machine->compressor)
		return ZR_OK;
	if (!machine->compressor)
		return zr_fail(ZR_NO_DATA,
			       "policy '%s': the trace does not say which compressor made its lengths, or "
			       "one that they cannot be translated from; leave out compressor=%s",
			       sim->policy.text, lengths_name(to));
	if (machine->page_size != LENGTHS_PAGE)
		return zr_fail(ZR_NO_DATA,
			       "policy '%s': lengths are known to be translated of pages of %d bytes, the "
			       "trace's have %u; leave out compressor=%s",
			       sim->policy.text, LENGTHS_PAGE, machine->page_size, lengths_name(to));
	sim->lengths = calloc(LENGTHS_PAGE + 1, sizeof(*sim->lengths));
	if (!sim->lengths)
		return zr_fail(ZR_NOMEM, "making a table of lengths for policy '%s': no memory",
			       sim->policy.text);
	lengths_map(machine->compressor - 1, to, sim->lengths);
	return ZR_OK;
}

/* Tables that only some policies need. */
static enum zr_err make_policy_tables(struct sim *sim)
{
	void *table;
	enum zr_err err = ZR_OK;

	err = make_lengths(sim);
	if (!err && sim->policy.slots == SIM_SLOTS_VSWAP)
		err = vswap_init(&sim->vswap, &sim->machine);
	if (!err && sim->policy.order == SIM_ORDER_SORTED) {
		err = pages_new(sim->n_slots, sizeof(*sim->sorted), "the sorted walks", &table);
		sim->sorted = table;
	}
	if (!err && sim->policy.drive == SIM_DRIVE_WRITEBACKS) {
		err = pages_new(sim->n_slots, sizeof(*sim->drive.next), "the open walks", &table);
		sim->drive.next = table;
	}
	return err;
}

enum zr_err sim_new(const struct sim_policy *policy, const struct sim_machine *machine,
		    struct sim_sink *sink, struct sim **out)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	enum zr_err err;

	*out = NULL;
	if (!sim)
		return zr_fail(ZR_NOMEM, "making a model for policy '%s': no memory", policy->text);
	sim->policy = *policy;
	sim->machine = *machine;
	sim->sink = sink;
	sim_policy_settle(&sim->policy, machine);
	sim->pool_evicts = sim->policy.evict == SIM_EVICT_POOL;
	sim->in_flags = DB_F_UNKNOWN | (sim->policy.readahead ? 0 : DB_F_READAHEAD);
	sim_worker_init(sim);
	err = set_limits(sim);
	if (!err)
		sim->own_scans = sim_shrinker_is_own(sim);
	if (!err)
		err = place_areas(sim);
	if (!err)
		err = make_tables(sim);
	if (!err)
		err = make_policy_tables(sim);
	if (sim->policy.drive == SIM_DRIVE_DEMAND && !sim->limits_memcgs)
		sim->plain_below = sim->len_max < sim->machine.page_size ? sim->len_max :
									   sim->machine.page_size - 1;
	/* A store has to look at what was in its slot, a load has to be counted, a length translated. */
	if (sim->pool_evicts || sim->policy.load == SIM_LOAD_KEEP || sim->lengths)
		sim->plain_below = 0;
	if (err) {
		sim_free(sim);
		return err;
	}
	*out = sim;
	return ZR_OK;
}

void sim_free(struct sim *sim)
{
	if (!sim)
		return;
	pages_free(sim->drive.next, sim->n_slots, sizeof(*sim->drive.next));
	pages_free(sim->sorted, sim->n_slots, sizeof(*sim->sorted));
	vswap_fini(&sim->vswap);
	free(sim->lengths);
	zs_pool_fini(&sim->pool);
	zbud_fini(&sim->zbud);
	lru_fini(&sim->lru);
	pages_free(sim->memcgs, sim->machine.n_memcgs, sizeof(*sim->memcgs));
	pages_free(sim->slots, sim->n_slots, sizeof(*sim->slots));
	free(sim);
}

/* ------------------------------------------------------------------------------------------ slots */

uint8_t sim_index_area(const struct sim *sim, uint32_t index)
{
	uint32_t area = sim->machine.n_areas - 1;

	while (area && index < sim->area_base[area])
		area--;
	return (uint8_t)area;
}

uint32_t sim_disk_slot(struct sim *sim, uint8_t area, uint32_t index)
{
	uint32_t slot = index - sim->area_base[area], disk_slot;

	if (!vswap_on(&sim->vswap))
		return slot;
	if (vswap_find(&sim->vswap, area, slot, &disk_slot))
		return disk_slot;
	return vswap_take(&sim->vswap, area, slot);
}

/* Takes the slot's entry out of the pool and off its list; the slot is then in `state`. */
static void drop_entry(struct sim *sim, uint32_t index, enum sim_slot state)
{
	struct slot *slot = &sim->slots[index];

	sim_pool_free(sim, slot);
	sim_charge(sim, slot->memcg, -(int64_t)slot->len);
	slot->state = state;
	lru_dropped(&sim->lru, slot->memcg);
}

static void give_disk_slot(struct sim *sim, uint32_t index)
{
	uint8_t area = sim_index_area(sim, index);

	vswap_give(&sim->vswap, area, index - sim->area_base[area]);
}

void sim_set_state(struct sim *sim, uint32_t index, enum sim_slot state)
{
	struct slot *slot = &sim->slots[index];

	if (slot->state == SIM_SLOT_ZSWAP)
		drop_entry(sim, index, state);
	else if (slot->state == SIM_SLOT_DISK && vswap_on(&sim->vswap))
		give_disk_slot(sim, index);
	slot->state = state;
	slot->fresh = slot->written_back = slot->in_zswap = slot->in_memory = 0;
}

void sim_set_on_disk(struct sim *sim, uint32_t index, bool written_back)
{
	struct slot *slot = &sim->slots[index];

	slot->state = SIM_SLOT_DISK;
	slot->data = sim->now_ns - sim->origin_ns;
	slot->fresh = 1;
	slot->written_back = written_back;
	slot->in_memory = 0;
}

/* ---------------------------------------------------------------------------------------- refaults */

static void count_first_read(struct sim *sim, const struct slot *slot)
{
	const uint64_t second = 1'000'000'000;
	uint64_t age = sim->now_ns - sim->origin_ns - slot->data;
	struct lru_ref oldest;

	if (slot->written_back) {
		sim->counters.early_refaults_1s += age <= 1 * second;
		sim->counters.early_refaults_10s += age <= 10 * second;
		sim->counters.early_refaults_60s += age <= 60 * second;
	}
	if (lru_peek(&sim->lru, slot->memcg, &oldest) && (int32_t)(oldest.seq - slot->seq) < 0)
		sim->counters.lru_inversions++;
}

static void read_disk(struct sim *sim, const struct db_event *event, struct slot *slot)
{
	if (slot->fresh)
		count_first_read(sim, slot);
	slot->fresh = slot->written_back = 0;
	sim->counters.pswpin++;
	sim->counters.disk_refaults++;
	sim->memcgs[event->memcg].disk_swapins++;
	if (sim->sink)
		sim->sink->read(sim->sink, event->time_ns, event->area,
				sim_disk_slot(sim, event->area,
					      sim_index(sim, event->area, event->slot)),
				event->memcg);
}

/* What a slot of unknown history is, once the recording has told where its page came from. */
static const uint8_t state_after_in[] = {
	[DB_IN_ZSWAP] = SIM_SLOT_CACHED,
	[DB_IN_DISK] = SIM_SLOT_DISK,
	[DB_IN_ZERO] = SIM_SLOT_ZERO,
};

static void in_unknown(struct sim *sim, const struct db_event *event, uint32_t index)
{
	sim->counters.unknown_refaults++;
	sim_set_state(sim, index, state_after_in[db_flags_outcome(event->flags)]);
}

/* Did the recording drop the page that this IN brought? It did so later, nobody knows when. */
static bool was_dropped(const struct sim *sim)
{
	const struct sim_learnt *learnt = &sim->machine.learnt;
	uint64_t in = sim->ins - 1;

	return learnt->dropped && in < learnt->n_dropped && learnt->dropped[in / 8] >> in % 8 & 1;
}

static void load(struct sim *sim, uint32_t index)
{
	sim->counters.zswpin++;
	if (sim->sink && sim->sink->load)
		sim->sink->load(sim->sink, sim->slots[index].len);
	if (sim->policy.load == SIM_LOAD_KEEP)
		sim->slots[index].in_memory = !was_dropped(sim);
	else
		drop_entry(sim, index, SIM_SLOT_CACHED);
}

void sim_end_direct(struct sim *sim)
{
	if (!sim->direct.open)
		return;
	sim->direct.open = false;
	if (sim->sink)
		sim->sink->walk_end(sim->sink);
}

static void forget_task(struct sim *sim, uint32_t at)
{
	uint32_t task = sim->direct.tasks[at];

	sim->direct.tasks[at] = sim->direct.tasks[--sim->direct.n];
	sim->sink->task_done(sim->sink, task);
}

void sim_task_writes(struct sim *sim, uint32_t task)
{
	if (!sim->sink || !sim->sink->task_done)
		return;
	for (uint32_t i = 0; i < sim->direct.n; i++)
		if (sim->direct.tasks[i] == task)
			return;
	if (sim->direct.n == SIM_DIRECT_TASKS)
		forget_task(sim, 0);
	sim->direct.tasks[sim->direct.n++] = task;
}

/* It has done something else than swap out. */
static void task_done(struct sim *sim, uint32_t task)
{
	if (sim->direct.open && sim->direct.task == task)
		sim_end_direct(sim);
	for (uint32_t i = 0; i < sim->direct.n; i++) {
		if (sim->direct.tasks[i] != task)
			continue;
		forget_task(sim, i);
		return;
	}
}

static void in(struct sim *sim, const struct db_event *event)
{
	uint32_t index = sim_index(sim, event->area, event->slot);
	struct slot *slot = &sim->slots[index];

	sim->ins++;
	if (event->flags & sim->in_flags & DB_F_READAHEAD)
		return;
	if (sim->drive.next)
		sim_drive_touch(sim, event, index, 1);
	if (sim->direct.open || sim->direct.n)
		task_done(sim, event->task);
	if (db_flags_outcome(event->flags) >= DB_IN_ERROR)
		return;
	if (event->flags & DB_F_UNKNOWN) {
		in_unknown(sim, event, index);
		return;
	}
	switch ((enum sim_slot)slot->state) {
	case SIM_SLOT_ZSWAP:
		load(sim, index);
		break;
	case SIM_SLOT_DISK:
		read_disk(sim, event, slot);
		break;
	case SIM_SLOT_ZERO:
		if (slot->in_zswap)
			sim->counters.zswpin++;
		else
			sim->counters.swpin_zero++;
		break;
	case SIM_SLOT_CACHED:
		sim->counters.cached_refaults++;
		break;
	case SIM_SLOT_FREE:
	case SIM_SLOT_UNKNOWN:
		in_unknown(sim, event, index);
		break;
	}
}

static void free_slots(struct sim *sim, const struct db_event *event)
{
	uint32_t index = sim_index(sim, event->area, event->slot);
	uint32_t n = db_free_slots(event->len);

	if (sim->drive.next)
		sim_drive_touch(sim, event, index, n);
	for (uint32_t i = 0; i < n; i++) {
		if (sim->slots[index + i].state == SIM_SLOT_FREE)
			continue;
		sim_set_state(sim, index + i, SIM_SLOT_FREE);
		sim->slots[index + i].len = 0;
		if (sim->sink && sim->sink->discard)
			sim->sink->discard(sim->sink, event->area, event->slot + i);
	}
}

/* ------------------------------------------------------------------------------------------ events */

void sim_flush(struct sim *sim)
{
	sim_drive_flush(sim);
	sim_end_direct(sim);
	while (sim->direct.n)
		forget_task(sim, 0);
}

static void reclaim(struct sim *sim, const struct db_event *event)
{
	if (sim->drive.next)
		sim_drive_begin(sim, event);
	task_done(sim, event->task);
	if (sim->own_scans)
		sim_shrinker_reclaim(sim, event);
}

static void scan(struct sim *sim, const struct db_event *event)
{
	if (sim->drive.next)
		sim_drive_begin(sim, event);
	else if (sim->policy.shrinker && !sim->own_scans)
		sim_shrinker_scan(sim, event);
}

/* What was recorded of the pool's own decisions is ignored under demand. */
static void recorded_shrink(struct sim *sim, const struct db_event *event)
{
	if (sim->drive.next)
		sim_drive_begin(sim, event);
}

static void recorded_writeback(struct sim *sim, const struct db_event *event)
{
	if (sim->drive.next)
		sim_drive_wb(sim, event);
}

static void (*const handlers[DB_KIND_COUNT])(struct sim *sim, const struct db_event *event) = {
	[DB_OUT] = sim_out,	       [DB_IN] = in,
	[DB_FREE] = free_slots,	       [DB_SCAN] = scan,
	[DB_RECLAIM] = reclaim,	       [DB_WB] = recorded_writeback,
	[DB_WORKER] = recorded_shrink, [DB_SHRINK] = recorded_shrink,
};

enum { SLOT_KINDS = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE };

/* Starts fetching the slots of the rows to come; and, nearer, their zspages, whose numbers must have
 * arrived by then. Forced inline: gcc takes a function that only prefetches for one without effect, and
 * drops its calls. */
static inline __attribute__((always_inline)) void prefetch(const struct sim *sim,
							   const struct db_batch *batch, uint32_t row)
{
	uint32_t far = row + PREFETCH_SLOT, near = row + PREFETCH_ZSPAGE;

	/* Rows without a slot of their own give an address that is nowhere, which does no harm. */
	if (far < batch->n)
		__builtin_prefetch(&sim->slots[sim_index(sim, batch->area[far], batch->slot[far])], 1);
	if (near < batch->n && SLOT_KINDS >> batch->kind[near] & 1) {
		const struct slot *slot =
			&sim->slots[sim_index(sim, batch->area[near], batch->slot[near])];

		/* Zspage 0 if it has none: a branch would be foreseen half the time. */
		__builtin_prefetch(
			&sim->pool.zspages[slot->data & -(uint64_t)(slot->state == SIM_SLOT_ZSWAP)],
			1);
	}
}

/* Most rows are of two sorts that need no more than the slot: a page that a pool which is not full takes, and one
 * that comes back from it. True if the row was one and is dealt with, as its handler would have (what
 * that gains: BENCH.md). */
static inline bool feed_plain(struct sim *sim, const struct db_batch *batch, uint32_t row)
{
	uint32_t index = sim->area_base[batch->area[row]] + batch->slot[row];

	/* A folio of one page, stored: all three are 0. */
	if (!(batch->kind[row] | batch->flags[row] | batch->order[row])) {
		if ((uint16_t)(batch->len[row] - 1) >= sim->plain_below || sim->full ||
		    sim_pool_counted(sim) >= sim->full_at)
			return false;
		sim_take_plain(sim, index, batch->memcg[row], batch->len[row]);
		return true;
	}
	if (batch->kind[row] != DB_IN || !sim->plain_below || sim->direct.open || sim->direct.n ||
	    batch->flags[row] & sim->in_flags ||
	    db_flags_outcome(batch->flags[row]) >= DB_IN_ERROR ||
	    sim->slots[index].state != SIM_SLOT_ZSWAP)
		return false;
	load(sim, index);
	return true;
}

static_assert(DB_OUT == 0 && DB_OUT_STORED == 0, "a plain store is a row of zeros");

void sim_feed(struct sim *sim, const struct db_batch *batch, uint32_t from, uint32_t to)
{
	if (from < to && !sim->started) {
		sim->started = true;
		sim->origin_ns = batch->time_ns[from];
	}
	for (uint32_t row = from; row < to; row++) {
		struct db_event event;

		prefetch(sim, batch, row);
		if (batch->time_ns[row] >= sim->worker.due_ns)
			sim_worker_advance(sim, batch->time_ns[row]);
		if (!handlers[batch->kind[row]])
			continue;
		sim->now_ns = batch->time_ns[row];
		if (feed_plain(sim, batch, row))
			continue;
		event = (struct db_event){ .time_ns = batch->time_ns[row],
					   .slot = batch->slot[row],
					   .task = batch->task[row],
					   .memcg = batch->memcg[row],
					   .len = batch->len[row],
					   .kind = batch->kind[row],
					   .area = batch->area[row],
					   .order = batch->order[row],
					   .flags = batch->flags[row] };
		handlers[event.kind](sim, &event);
	}
}

/* ------------------------------------------------------------------------------------------- state */

const struct sim_counters *sim_counters(const struct sim *sim)
{
	return &sim->counters;
}

struct sim_state sim_state(const struct sim *sim)
{
	return (struct sim_state){
		.time_ns = sim->now_ns,
		.pool_pages = sim_pool_pages(sim),
		.pool_limit_pages = sim->limit_pages,
		.accept_pages = sim->accept_pages,
		.entries = sim->pool.objects + sim->zbud.objects,
		.compressed_bytes = sim->compressed_bytes,
		.refusing = sim->full,
	};
}

enum sim_slot sim_slot_state(const struct sim *sim, uint8_t area, uint32_t slot)
{
	if (area >= sim->machine.n_areas || slot >= sim->machine.area_slots[area])
		return SIM_SLOT_UNKNOWN;
	return (enum sim_slot)sim->slots[sim_index(sim, area, slot)].state;
}

/* ------------------------------------------------------------------------------------------- images */

void sim_slot_regions(const struct sim *sim, const uint64_t *top_slots, const struct region *row,
		      struct regions *regions)
{
	for (uint32_t area = 0; row->at && area < sim->machine.n_areas; area++)
		regions_add(regions, (char *)row->at + sim->area_base[area] * row->bytes,
			    top_slots[area] * row->bytes);
}

/* `sorted` is empty between two rows. */
void sim_regions(struct sim *sim, const uint64_t *top_slots, struct regions *regions)
{
	regions_add(regions, sim, sizeof(*sim));
	regions_add(regions, sim->memcgs, sim->machine.n_memcgs * sizeof(*sim->memcgs));
	sim_slot_regions(sim, top_slots, &(struct region){ sim->slots, sizeof(*sim->slots) }, regions);
	sim_slot_regions(sim, top_slots, &(struct region){ sim->drive.next, sizeof(*sim->drive.next) },
			 regions);
	lru_regions(&sim->lru, regions);
	zs_pool_regions(&sim->pool, regions);
	zbud_regions(&sim->zbud, regions);
	vswap_regions(&sim->vswap, regions);
}
