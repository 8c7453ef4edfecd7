/* SPDX-License-Identifier: MIT */
/* The kernel of gen_kernel.h. */
#include "replayer/gen_kernel.h"

#include <stdlib.h>

enum {
	RECLAIM_PAGES = 32,
	PRIORITY_FIRST = 12,
	SCAN_BATCH = 128,
	AREA = 0,
	MADE_FIRST = 256,
};

/* ------------------------------------------------------------------------------------ random */

/* splitmix64 (Vigna): one state, any seed. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t random_number(struct gen_kernel *kernel)
{
	return mix(kernel->random += 0x9e3779b97f4a7c15);
}

uint64_t gen_random_below(struct gen_kernel *kernel, uint64_t end)
{
	return end ? random_number(kernel) % end : 0;
}

/* What a page compresses to hangs on the page and the seed alone. */
static uint16_t length_of_page(const struct gen_params *params, uint32_t page)
{
	uint64_t dice = mix(params->seed * 0x2545f4914f6cdd1d + page), percent = dice % 100;
	int64_t spread = (int64_t)params->len_spread, len = (int64_t)params->len;

	if (percent < params->zero_percent)
		return 0;
	if (percent < params->zero_percent + params->incompressible_percent)
		return 4096;
	if (spread)
		len += (int64_t)(dice / 128 % (uint64_t)(2 * spread + 1)) - spread;
	return (uint16_t)(len < 1 ? 1 : len > 4096 ? 4096 : len);
}

/* ------------------------------------------------------------------------------------- lists */

static void unlink_page(struct gen_kernel *kernel, uint32_t at)
{
	struct gen_page *page = &kernel->pages[at];
	struct gen_cgroup *cgroup = &kernel->cgroups[page->memcg];

	*(page->prev ? &kernel->pages[page->prev - 1].next : &cgroup->head) = page->next;
	*(page->next ? &kernel->pages[page->next - 1].prev : &cgroup->tail) = page->prev;
	page->prev = page->next = 0;
	cgroup->resident--;
}

static void append_page(struct gen_kernel *kernel, uint32_t at)
{
	struct gen_page *page = &kernel->pages[at];
	struct gen_cgroup *cgroup = &kernel->cgroups[page->memcg];

	page->prev = cgroup->tail;
	*(cgroup->tail ? &kernel->pages[cgroup->tail - 1].next : &cgroup->head) = at + 1;
	cgroup->tail = at + 1;
	cgroup->resident++;
}

/* ------------------------------------------------------------------------------------ events */

static void keep(struct gen_kernel *kernel, enum zr_err err)
{
	if (!kernel->err)
		kernel->err = err;
}

static void record(struct gen_kernel *kernel, const struct db_event *event)
{
	kernel->events++;
	keep(kernel, db_writer_add(kernel->writer, event));
}

/* What zswap does while an event is fed is kept, and recorded beside the event. */
static struct db_event *make_event(struct gen_kernel *kernel, enum db_kind kind, uint64_t time_ns)
{
	struct db_event *event;

	if (kernel->n_made == kernel->made_room) {
		uint32_t room = kernel->made_room ? 2 * kernel->made_room : MADE_FIRST;
		struct db_event *grown = realloc(kernel->made, room * sizeof(*grown));

		if (!grown) {
			keep(kernel,
			     zr_fail(ZR_NOMEM, "generating: no memory for %u writebacks", room));
			return NULL;
		}
		kernel->made = grown;
		kernel->made_room = room;
	}
	event = &kernel->made[kernel->n_made++];
	*event = (struct db_event){ .time_ns = time_ns,
				    .kind = (uint8_t)kind,
				    .area = AREA,
				    .task = kernel->walk == SIM_WALK_WORKER ? GEN_WORKER_TASK : 0 };
	return event;
}

/* A visit of the worker; that it wakes up shows in the count. */
static void on_walk_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct gen_kernel *kernel = (struct gen_kernel *)sink;
	struct db_event *event;

	kernel->walk = kind;
	if (kind != SIM_WALK_WORKER)
		return;
	if (kernel->wakeups != sim_counters(kernel->sim)->shrink_worker_wakeups)
		make_event(kernel, DB_WORKER, time_ns);
	kernel->wakeups = sim_counters(kernel->sim)->shrink_worker_wakeups;
	kernel->shrink_at = kernel->n_made;
	event = make_event(kernel, DB_SHRINK, time_ns);
	if (!event)
		return;
	/* Where there are several, only a write tells which one was visited. */
	event->memcg = kernel->params->memcgs == 1;
	event->flags = DB_SHRINK_AGAIN;
}

static void note_visit(struct gen_kernel *kernel, uint16_t memcg)
{
	if (kernel->walk != SIM_WALK_WORKER || kernel->shrink_at >= kernel->n_made)
		return;
	kernel->made[kernel->shrink_at].memcg = memcg;
	kernel->made[kernel->shrink_at].flags = DB_SHRINK_OK;
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct gen_kernel *kernel = (struct gen_kernel *)sink;
	struct gen_cgroup *cgroup = &kernel->cgroups[write->memcg];
	struct db_event *event;

	if (kernel->walk == SIM_WALK_DIRECT)
		return;
	cgroup->entries--;
	cgroup->bytes -= write->len;
	note_visit(kernel, write->memcg);
	event = make_event(kernel, DB_WB, write->time_ns);
	if (!event)
		return;
	event->slot = write->recorded_slot;
	event->len = write->len;
	event->memcg = write->memcg;
	event->flags = DB_WB_WRITTEN;
}

/* A direct run may go on around the walk that has ended. */
static void on_walk_end(struct sim_sink *sink)
{
	((struct gen_kernel *)sink)->walk = SIM_WALK_DIRECT;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	(void)time_ns, (void)area, (void)slot;
	((struct gen_kernel *)sink)->cgroups[memcg].disk_reads++;
}

static void feed(struct gen_kernel *kernel, struct db_event *event)
{
	struct db_batch batch = { .n = 1,
				  .time_ns = &event->time_ns,
				  .slot = &event->slot,
				  .task = &event->task,
				  .memcg = &event->memcg,
				  .len = &event->len,
				  .kind = &event->kind,
				  .area = &event->area,
				  .order = &event->order,
				  .flags = &event->flags };

	if (kernel->last_ns < kernel->now_ns)
		kernel->last_ns = kernel->now_ns;
	event->time_ns = kernel->last_ns;
	kernel->n_made = 0;
	sim_feed(kernel->sim, &batch, 0, 1);
}

/* Those of the worker came before the event, with times of their own; the others are the event's
 * doing. */
static void record_made(struct gen_kernel *kernel, const struct gen_actor *actor, bool worker)
{
	for (uint32_t i = 0; i < kernel->n_made; i++) {
		struct db_event *made = &kernel->made[i];

		if ((made->task == GEN_WORKER_TASK) != worker)
			continue;
		if (!worker)
			made->task = actor->task;
		record(kernel, made);
	}
}

/* The event, once it has been fed, and what came with it. */
static void record_fed(struct gen_kernel *kernel, const struct gen_actor *actor,
		       const struct db_event *event)
{
	record_made(kernel, actor, true);
	record(kernel, event);
	record_made(kernel, actor, false);
}

static struct db_event event_of(const struct gen_actor *actor, enum db_kind kind, uint32_t slot)
{
	return (struct db_event){ .kind = (uint8_t)kind,
				  .slot = slot,
				  .task = actor->task,
				  .memcg = actor->memcg,
				  .area = AREA };
}

/* The page's entry, if it has one, has left zswap. */
static void forget_entry(struct gen_kernel *kernel, const struct gen_page *page)
{
	struct gen_cgroup *cgroup = &kernel->cgroups[page->memcg];

	cgroup->entries--;
	cgroup->bytes -= page->len;
}

static bool in_zswap(const struct gen_kernel *kernel, const struct gen_page *page)
{
	return sim_slot_state(kernel->sim, AREA, page->slot) == SIM_SLOT_ZSWAP;
}

static void give_slot(struct gen_kernel *kernel, const struct gen_actor *actor,
		      struct gen_page *page)
{
	struct db_event event = event_of(actor, DB_FREE, page->slot);

	event.memcg = page->memcg;
	if (in_zswap(kernel, page))
		forget_entry(kernel, page);
	feed(kernel, &event);
	record_fed(kernel, actor, &event);
	gen_slots_give(&kernel->slots, page->slot);
	page->slot = 0;
}

/* ---------------------------------------------------------------------------------- shrinker */

/* The scaled count of Linux's zswap shrinker; it consumes the disk reads. */
static uint64_t shrinker_count(struct gen_cgroup *cgroup)
{
	uint64_t reads =
		cgroup->disk_reads < cgroup->entries ? cgroup->disk_reads : cgroup->entries;

	cgroup->disk_reads -= reads;
	return cgroup->entries ? (cgroup->entries - reads) * (cgroup->bytes >> 12) / cgroup->entries
			       : 0;
}

/* One call with nr_to_scan; returns what it wrote. */
static uint64_t scan(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t nr_to_scan)
{
	struct db_event event = event_of(actor, DB_SCAN, nr_to_scan);
	uint64_t before = sim_counters(kernel->sim)->written_back_pages, written;

	feed(kernel, &event);
	written = sim_counters(kernel->sim)->written_back_pages - before;
	event.len = (uint16_t)written;
	event.flags = !written;
	record_fed(kernel, actor, &event);
	kernel->now_ns += written * GEN_WRITE_NS;
	return written;
}

static void shrink_slab(struct gen_kernel *kernel, const struct gen_actor *actor, uint8_t priority)
{
	struct gen_cgroup *cgroup = &kernel->cgroups[actor->memcg];
	uint64_t count = kernel->params->shrinker ? shrinker_count(cgroup) : 0;
	uint64_t delta = 2 * (count >> priority), most = 2 * count, nr, total, scanned = 0;
	struct db_event event = event_of(actor, DB_RECLAIM, (uint32_t)count);

	event.order = priority;
	feed(kernel, &event);
	record_fed(kernel, actor, &event);
	if (!count)
		return;
	nr = cgroup->deferred;
	total = (nr >> priority) + delta < most ? (nr >> priority) + delta : most;
	while (total >= SCAN_BATCH || (total && total >= count)) {
		uint32_t batch = total < SCAN_BATCH ? (uint32_t)total : SCAN_BATCH;

		if (!scan(kernel, actor, batch))
			break;
		scanned += batch;
		total -= batch;
	}
	nr = nr + delta > scanned ? nr + delta - scanned : 0;
	cgroup->deferred = nr < most ? nr : most;
}

/* ----------------------------------------------------------------------------------- reclaim */

static enum db_out outcome_of(const struct gen_kernel *kernel, const struct gen_page *page)
{
	if (!page->len)
		return DB_OUT_ZERO;
	return in_zswap(kernel, page) ? DB_OUT_STORED : DB_OUT_REJECTED;
}

/* The worker may write a page back at the very event that stores it. */
static bool was_stored(const struct gen_kernel *kernel, uint64_t stored_before)
{
	return sim_counters(kernel->sim)->store_succeeded != stored_before;
}

static void store(struct gen_kernel *kernel, const struct gen_actor *actor, struct gen_page *page)
{
	struct gen_cgroup *cgroup = &kernel->cgroups[page->memcg];
	struct db_event event = event_of(actor, DB_OUT, page->slot);
	uint64_t before = sim_counters(kernel->sim)->store_succeeded;

	event.memcg = page->memcg;
	event.len = page->len;
	event.flags = page->len ? DB_OUT_STORED : DB_OUT_ZERO;
	feed(kernel, &event);
	if (was_stored(kernel, before)) {
		cgroup->entries++;
		cgroup->bytes += page->len;
	} else if (outcome_of(kernel, page) == DB_OUT_REJECTED) {
		event.flags = DB_OUT_REJECTED | DB_REASON_LIMIT << DB_F_REASON_SHIFT;
		kernel->now_ns += GEN_WRITE_NS;
	}
	record_fed(kernel, actor, &event);
	kernel->now_ns += GEN_STORE_NS;
}

/* A clean page has its copy in its slot already. */
static void evict(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t at)
{
	struct gen_page *page = &kernel->pages[at];

	unlink_page(kernel, at);
	page->where = GEN_SWAPPED;
	page->touched = false;
	if (!page->dirty)
		return;
	if (!page->slot)
		page->slot = gen_slots_take(&kernel->slots, actor->cpu);
	page->dirty = false;
	store(kernel, actor, page);
}

/* Looks at `most` pages; returns how many it put out. */
static uint32_t shrink_list(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t most,
			    uint32_t wanted)
{
	struct gen_cgroup *cgroup = &kernel->cgroups[actor->memcg];
	uint32_t done = 0;

	for (uint32_t i = 0; i < most && done < wanted && cgroup->head; i++) {
		uint32_t at = cgroup->head - 1;

		if (!kernel->pages[at].touched) {
			evict(kernel, actor, at);
			done++;
			continue;
		}
		kernel->pages[at].touched = false;
		unlink_page(kernel, at);
		append_page(kernel, at);
	}
	return done;
}

static void reclaim(struct gen_kernel *kernel, const struct gen_actor *actor)
{
	struct gen_cgroup *cgroup = &kernel->cgroups[actor->memcg];
	uint32_t done = 0;

	for (int priority = PRIORITY_FIRST; priority >= 0 && done < RECLAIM_PAGES; priority--) {
		uint32_t most = cgroup->resident >> priority;

		done += shrink_list(kernel, actor, most ? most : 1, RECLAIM_PAGES - done);
		shrink_slab(kernel, actor, (uint8_t)priority);
	}
}

void gen_reclaim(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t pages)
{
	struct gen_cgroup *cgroup = &kernel->cgroups[actor->memcg];

	while (pages && cgroup->head && !kernel->err) {
		uint32_t wanted = pages < RECLAIM_PAGES ? pages : RECLAIM_PAGES;

		pages -= wanted;
		for (uint32_t i = 0; i < wanted && cgroup->head; i++)
			evict(kernel, actor, cgroup->head - 1);
		shrink_slab(kernel, actor, PRIORITY_FIRST);
	}
}

/* ----------------------------------------------------------------------------------- touches */

static void swap_in(struct gen_kernel *kernel, const struct gen_actor *actor, struct gen_page *page)
{
	struct db_event event = event_of(actor, DB_IN, page->slot);
	struct sim_counters before = *sim_counters(kernel->sim);
	const struct sim_counters *now = sim_counters(kernel->sim);

	event.memcg = page->memcg;
	feed(kernel, &event);
	event.flags = DB_IN_ZERO;
	if (now->zswpin != before.zswpin) {
		event.flags = DB_IN_ZSWAP;
		forget_entry(kernel, page);
		page->dirty = true;
		kernel->now_ns += GEN_LOAD_NS;
	} else if (now->pswpin != before.pswpin) {
		event.flags = DB_IN_DISK;
	}
	record_fed(kernel, actor, &event);
}

static void fault(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t at)
{
	struct gen_page *page = &kernel->pages[at];
	struct gen_cgroup *cgroup = &kernel->cgroups[actor->memcg];

	kernel->now_ns += GEN_FAULT_NS;
	while (cgroup->resident >= cgroup->room && !kernel->err)
		reclaim(kernel, actor);
	page->memcg = actor->memcg;
	if (page->where == GEN_NEW)
		page->dirty = true;
	else
		swap_in(kernel, actor, page);
	page->where = GEN_RESIDENT;
	append_page(kernel, at);
}

bool gen_must_read(const struct gen_kernel *kernel, uint32_t at)
{
	const struct gen_page *page = &kernel->pages[at];

	return page->where == GEN_SWAPPED &&
	       sim_slot_state(kernel->sim, AREA, page->slot) == SIM_SLOT_DISK;
}

void gen_touch(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t at, bool write)
{
	struct gen_page *page = &kernel->pages[at];

	if (kernel->err)
		return;
	if (page->where == GEN_RESIDENT)
		page->touched = true;
	else
		fault(kernel, actor, at);
	if (!write)
		return;
	page->dirty = true;
	if (page->slot)
		give_slot(kernel, actor, page);
}

void gen_forget(struct gen_kernel *kernel, const struct gen_actor *actor, uint32_t first,
		uint32_t n)
{
	for (uint32_t at = first; at < first + n && !kernel->err; at++) {
		struct gen_page *page = &kernel->pages[at];

		if (page->where == GEN_RESIDENT)
			unlink_page(kernel, at);
		if (page->slot)
			give_slot(kernel, actor, page);
		page->where = GEN_NEW;
		page->touched = page->dirty = false;
	}
}

void gen_set_length(struct gen_kernel *kernel, uint32_t page, uint16_t len)
{
	kernel->pages[page].len = len;
}

/* -------------------------------------------------------------------------------------- life */

static void describe_machine(struct gen_kernel *kernel)
{
	const struct gen_params *params = kernel->params;

	kernel->machine = (struct sim_machine){
		.page_size = 4096,
		.mem_pages = params->host_memory,
		.max_pool_percent = (int32_t)params->pool,
		.accept_threshold_percent = (int32_t)params->accept,
		.n_memcgs = (uint32_t)(1 + params->memcgs + params->idle_memcgs),
		.n_areas = 1,
		.area_slots = { kernel->slots.n_slots },
		.learnt = { .pace = { .lag_ns = params->worker_lag_ns,
				      .visit_ns = params->worker_visit_ns,
				      .write_ns = params->worker_write_ns } },
	};
}

static enum zr_err make_sim(struct gen_kernel *kernel)
{
	struct sim_policy policy;
	enum zr_err err = sim_policy_parse(kernel->params->policy, &policy);

	if (err)
		return err;
	kernel->sink = (struct sim_sink){ .walk_begin = on_walk_begin,
					  .write = on_write,
					  .walk_end = on_walk_end,
					  .read = on_read };
	describe_machine(kernel);
	return sim_new(&policy, &kernel->machine, &kernel->sink, &kernel->sim);
}

static enum zr_err make_tables(struct gen_kernel *kernel, struct zr_arena *arena)
{
	const struct gen_params *params = kernel->params;
	uint32_t n = (uint32_t)(params->pages + params->new_pages);

	kernel->pages = zr_arena_array(arena, n, sizeof(*kernel->pages));
	kernel->cgroups = zr_arena_array(arena, 1 + params->memcgs + params->idle_memcgs,
					 sizeof(*kernel->cgroups));
	if (!kernel->pages || !kernel->cgroups)
		return zr_fail(ZR_NOMEM, "generating a workload of %u pages: no memory", n);
	for (uint32_t i = 0; i < n; i++)
		kernel->pages[i].len = length_of_page(params, i);
	for (uint32_t i = 1; i <= params->memcgs; i++)
		kernel->cgroups[i].room = (uint32_t)(params->memory / params->memcgs);
	return gen_slots_init(&kernel->slots, arena, n + GEN_CLUSTER, (uint32_t)params->cpus);
}

enum zr_err gen_kernel_init(struct gen_kernel *kernel, const struct gen_params *params,
			    struct zr_arena *arena, struct db_writer *writer)
{
	enum zr_err err;

	*kernel = (struct gen_kernel){ .params = params,
				       .writer = writer,
				       .walk = SIM_WALK_DIRECT,
				       .now_ns = 1'000'000'000,
				       .random = params->seed };
	err = make_tables(kernel, arena);
	return err ? err : make_sim(kernel);
}

void gen_kernel_fini(struct gen_kernel *kernel)
{
	sim_free(kernel->sim);
	free(kernel->made);
}
