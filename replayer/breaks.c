/* SPDX-License-Identifier: MIT */
/* The causes of breaks.h. */
#include "replayer/breaks.h"

#include <string.h>

#include "replayer/pages.h"

enum zr_err breaks_init(struct breaks *breaks, const struct sim *sim, uint32_t n_tasks)
{
	void *pages, *tasks;
	enum zr_err err;

	memset(breaks, 0, sizeof(*breaks));
	breaks->sim = sim;
	breaks->batch = (uint32_t)sim->policy.batch;
	breaks->n_tasks = n_tasks ? n_tasks : 1;
	err = pages_new(sim->n_slots, sizeof(*breaks->pages), "the history of the slots", &pages);
	breaks->pages = pages;
	if (err)
		return err;
	err = pages_new(breaks->n_tasks, sizeof(*breaks->tasks), "the tasks", &tasks);
	breaks->tasks = tasks;
	return err;
}

void breaks_fini(struct breaks *breaks)
{
	if (breaks->sim)
		pages_free(breaks->pages, breaks->sim->n_slots, sizeof(*breaks->pages));
	pages_free(breaks->tasks, breaks->n_tasks, sizeof(*breaks->tasks));
	memset(breaks, 0, sizeof(*breaks));
}

/* ----------------------------------------------------------------------------------------- history */

static uint32_t slots_of(const struct db_event *event)
{
	if (event->kind == DB_FREE)
		return db_free_slots(event->len);
	return event->kind == DB_OUT && !(event->flags & DB_F_PART) ? 1u << event->order : 1;
}

static bool names_slots(const struct db_event *event)
{
	return event->kind == DB_OUT || event->kind == DB_IN || event->kind == DB_FREE;
}

/* A folio that may not go to disk is known as such already when the worker runs because of it. */
static void note_leaving(struct breaks *breaks, const struct db_event *event, uint32_t index)
{
	/* A refault of what went out before the trace began, or in a gap. */
	if (event->kind == DB_IN && breaks->sim->slots[index].state == SIM_SLOT_FREE)
		breaks->pages[index].seen = BREAK_SEEN_STORED;
	if (breaks->sim->slots[index].state == SIM_SLOT_ZSWAP)
		breaks->pages[index].left = breaks->ordinal;
	if (event->kind == DB_OUT && sim_is_kept(breaks->sim, event))
		breaks->pages[index].seen = BREAK_SEEN_KEPT;
}

void breaks_will_feed(struct breaks *breaks, const struct db_event *event)
{
	uint32_t index = sim_index(breaks->sim, event->area, event->slot);

	if (!names_slots(event) ||
	    (event->kind == DB_IN && db_flags_outcome(event->flags) == DB_IN_ERROR))
		return;
	for (uint32_t i = index; i < index + slots_of(event); i++)
		note_leaving(breaks, event, i);
}

static void note_store(struct breaks *breaks, const struct db_event *event, uint32_t index)
{
	struct break_page *page = &breaks->pages[index];
	struct break_task *task = &breaks->tasks[event->task < breaks->n_tasks ? event->task : 0];
	struct break_page *before = task->stored ? &breaks->pages[task->index] : NULL;
	uint32_t ordinal = ++breaks->ordinal;

	if (before && before->stored == task->stored)
		before->span_end = task->memcg == event->memcg ? ordinal : ordinal - 1;
	*task = (struct break_task){ index, ordinal, event->memcg };
	page->stored = page->span_end = ordinal;
	page->stored_ns = event->time_ns;
}

static void note_out(struct breaks *breaks, const struct db_event *event, uint32_t index)
{
	static const uint8_t seen_as[] = {
		[SIM_SLOT_ZSWAP] = BREAK_SEEN_STORED, [SIM_SLOT_DISK] = BREAK_SEEN_DIRECT,
		[SIM_SLOT_ZERO] = BREAK_SEEN_ZERO,    [SIM_SLOT_CACHED] = BREAK_SEEN_KEPT,
		[SIM_SLOT_UNKNOWN] = BREAK_SEEN_NOT,
	};
	enum sim_slot state = (enum sim_slot)breaks->sim->slots[index].state;

	breaks->pages[index].seen = seen_as[state];
	if (state == SIM_SLOT_ZSWAP)
		note_store(breaks, event, index);
}

void breaks_fed(struct breaks *breaks, const struct db_event *event)
{
	uint32_t index = sim_index(breaks->sim, event->area, event->slot);
	bool whole = db_flags_outcome(event->flags) != DB_OUT_STORED;

	if (event->kind != DB_OUT)
		return;
	/* Of a large folio that is stored, the other pages have rows of their own. */
	note_out(breaks, event, index);
	for (uint32_t i = 1; whole && i < slots_of(event); i++)
		note_out(breaks, event, index + i);
}

/* ------------------------------------------------------------------------------------------ causes */

static bool is_next_on_list(const struct breaks *breaks, uint32_t index)
{
	const struct lru *lru = &breaks->sim->lru;
	uint32_t first;

	return lru_read(lru, breaks->memcg, &first, 1) && first == index;
}

/* Was the entry put on the list's tail after A was written? Within a walk only second chances do that. */
static bool was_passed_over(const struct breaks *breaks, const struct slot *neighbour)
{
	return (int32_t)(neighbour->seq - breaks->mark) >= 0;
}

static enum play_break cause_on_list(const struct breaks *breaks, uint32_t a, uint32_t n)
{
	const struct break_page *page = &breaks->pages[a], *neighbour = &breaks->pages[n];

	if ((int32_t)(neighbour->left - page->stored) >= 0 && neighbour->left)
		return PLAY_BREAK_restored;
	if ((int32_t)(neighbour->stored - page->stored) > 1 &&
	    (int32_t)(neighbour->stored - page->span_end) <= 0)
		return PLAY_BREAK_interleaved;
	return PLAY_BREAK_order;
}

static enum play_break cause_in_pool(const struct breaks *breaks, uint32_t a, uint32_t n, bool walk_over)
{
	const struct slot *neighbour = &breaks->sim->slots[n];

	if (neighbour->memcg != breaks->memcg)
		return PLAY_BREAK_other_memcg;
	if (breaks->sim->policy.order == SIM_ORDER_CLUSTER)
		return PLAY_BREAK_scan_budget;
	if (was_passed_over(breaks, neighbour))
		return PLAY_BREAK_second_chance;
	if (walk_over && is_next_on_list(breaks, n))
		return neighbour->referenced ? PLAY_BREAK_second_chance : PLAY_BREAK_scan_budget;
	return cause_on_list(breaks, a, n);
}

static enum play_break cause_on_disk(const struct breaks *breaks, uint32_t n)
{
	const struct slot *neighbour = &breaks->sim->slots[n];
	bool direct = neighbour->fresh ? !neighbour->written_back :
					 breaks->pages[n].seen == BREAK_SEEN_DIRECT;

	if (direct)
		return PLAY_BREAK_hole_rejected;
	return breaks->pages[n].walk == breaks->walk ? PLAY_BREAK_order : PLAY_BREAK_hole_written;
}

static enum play_break cause_by_state(const struct breaks *breaks, uint32_t a, bool walk_over)
{
	uint32_t n = a + 1;

	switch ((enum sim_slot)breaks->sim->slots[n].state) {
	case SIM_SLOT_ZSWAP:
		return cause_in_pool(breaks, a, n, walk_over);
	case SIM_SLOT_DISK:
		return cause_on_disk(breaks, n);
	case SIM_SLOT_CACHED:
		return breaks->pages[n].seen == BREAK_SEEN_KEPT ? PLAY_BREAK_hole_rejected :
								 PLAY_BREAK_hole_refault;
	case SIM_SLOT_ZERO:
		return PLAY_BREAK_hole_zero;
	case SIM_SLOT_FREE:
	case SIM_SLOT_UNKNOWN:
		break;
	}
	return breaks->pages[n].seen ? PLAY_BREAK_hole_free : PLAY_BREAK_hole_unused;
}

static enum play_break cause_on_virtual(const struct breaks *breaks, bool walk_over)
{
	const struct sim_write *last = &breaks->last;

	if (vswap_is_used(&breaks->sim->vswap, last->area, last->slot + 1))
		return PLAY_BREAK_hole_written;
	return walk_over ? PLAY_BREAK_scan_budget : PLAY_BREAK_boundary;
}

/* `next` is the write after A, NULL when the walk is over. */
static enum play_break cause_of(const struct breaks *breaks, const struct sim_write *next)
{
	const struct sim *sim = breaks->sim;
	const struct sim_write *last = &breaks->last;
	uint32_t a = sim_index(sim, last->area, last->recorded_slot);

	if (last->slot + 1 == sim->machine.area_slots[last->area])
		return PLAY_BREAK_boundary;
	if (next && next->area == last->area && next->slot == last->slot + 1)
		return PLAY_BREAK_batch_limit;
	if (vswap_on(&sim->vswap))
		return cause_on_virtual(breaks, !next);
	return cause_by_state(breaks, a, !next || sim->policy.order == SIM_ORDER_SORTED);
}

/* ------------------------------------------------------------------------------------------- walks */

/* What is appended from now on was passed over after this write; a sorted walk has passed over all that it
 * did before it tells its first write, so there it is from the walk's begin on. */
static uint32_t mark_list(const struct breaks *breaks, uint16_t memcg)
{
	return breaks->sim->policy.order == SIM_ORDER_SORTED ?
		       breaks->sim->walk_seq :
		       breaks->sim->lru.lists[memcg].next_seq;
}

void breaks_walk_begin(struct breaks *breaks)
{
	breaks->walk++;
	breaks->open = false;
}

static void end_context(struct breaks *breaks, const struct sim_write *next)
{
	breaks->counts[cause_of(breaks, next)]++;
	breaks->contexts++;
	breaks->context_pages = 0;
}

static bool joins(const struct breaks *breaks, const struct sim_write *write)
{
	return breaks->context_pages < breaks->batch && breaks->last.area == write->area &&
	       breaks->last.slot + 1 == write->slot;
}

void breaks_write(struct breaks *breaks, const struct sim_write *write)
{
	uint32_t index = sim_index(breaks->sim, write->area, write->recorded_slot);

	breaks->pages[index].walk = breaks->walk;
	breaks->pages[index].left = breaks->ordinal;
	if (breaks->open && !joins(breaks, write))
		end_context(breaks, write);
	breaks->memcg = write->memcg;
	breaks->open = true;
	breaks->last = *write;
	breaks->context_pages++;
	breaks->mark = mark_list(breaks, write->memcg);
	breaks->written++;
	if (breaks->pages[index].stored)
		zr_hist_add(&breaks->age_ns, write->time_ns - breaks->pages[index].stored_ns);
}

void breaks_walk_end(struct breaks *breaks)
{
	if (breaks->open)
		end_context(breaks, NULL);
	breaks->open = false;
}

void breaks_regions(const struct breaks *breaks, const uint64_t *top_slots, struct regions *regions)
{
	regions_add(regions, breaks->tasks, breaks->n_tasks * sizeof(*breaks->tasks));
	sim_slot_regions(breaks->sim, top_slots,
			 &(struct region){ breaks->pages, sizeof(*breaks->pages) }, regions);
}
