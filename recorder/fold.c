/* SPDX-License-Identifier: MIT */
/*
 * The fold; see fold.h.
 *
 * Layout: tasks by dense id (24 bytes each), of which only those inside a probed function own a stack; the
 * stacks lie in one array without holes, so that a gap can drop them all by walking it.
 *
 * Which frame may lie directly on which is a table (may_lie_on): a swap-out may happen inside a read (its
 * allocation reclaims) or a writeback, but never inside a swap-out. What an entry finds on top of the
 * stack and cannot lie on has lost its return.
 */
#include "recorder/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/ids.h"
#include "recorder/places.h"
#include "recorder/slots.h"

enum {
	DEPTH = 12, /* fault, read, out, shrink, wb and their like: nothing deeper was ever seen */
	MAX_STACKS = 16384,
	MAX_TASKS = 4 << 20, /* the kernel's own limit of pids */
	MAX_ORDER = 10,
	WRITEPAGE_ACTIVATE = 0x80000, /* the folio was kept; the kernel's AOP_WRITEPAGE_ACTIVATE */
	NO_PLACE = 0,
};

#define STALE_STACK_NS UINT64_C(30'000'000'000)

enum frame_kind { FRAME_OUT, FRAME_IN, FRAME_WB, FRAME_SCAN, FRAME_SHRINK, FRAME_FAULT, FRAME_KINDS };

/* What a frame has seen. */
enum {
	SAW_FAIL = 1,	  /* OUT: the store failed */
	SAW_STORE = 2,	  /* OUT: the store succeeded */
	SAW_FREE = 4,	  /* OUT: the slot was freed */
	SAW_WRITE = 8,	  /* OUT, WB: a write of this slot was begun */
	SAW_SHRINK = 16,  /* OUT: the store tried to shrink the memcg, in vain */
	SAW_LOAD = 32,	  /* IN: a load was begun */
	SAW_HIT = 64,	  /* IN: ... and was served */
	SAW_MISS = 128,	  /* IN: ... and was not */
	SAW_ERROR = 256,  /* IN: ... and failed */
	SHORT = 512,	  /* closes with store_ret or load_ret: there is no outer return */
	SAW_HOW = 1024,	  /* OUT, IN: the record says that this kernel has no map of zeros */
};

struct frame {
	uint64_t swp;
	uint64_t place; /* number + 1 of what was opened for it, or NO_PLACE */
	uint16_t *lens; /* of a large folio, for each page from the second on */
	uint32_t slot;
	uint32_t n_lens;
	uint16_t saw, memcg, len;
	uint8_t kind, area, order, readahead;
	int32_t err; /* OUT: what the failed store returned, where that is an errno */
};

struct stack {
	uint64_t last_ns;
	uint32_t task;
	uint32_t depth;
	struct frame frames[DEPTH];
};

struct task {
	uint64_t reclaim;  /* place of a RECLAIM that waits for its count, + 1 */
	uint32_t stack;	   /* index + 1 */
	uint16_t reclaim_memcg;
};

struct area {
	struct rec_area on;
	uint64_t slots_seen; /* highest slot of any record + 1 */
	uint8_t id;
};

struct rec_fold {
	struct rec_fold_options options;
	struct rec_fold_stats stats;
	struct rec_places places;
	struct rec_slots slots;
	struct rec_ids memcgs, tids;
	struct task *tasks; /* by id */
	uint32_t n_tasks;
	struct stack *stacks;
	uint32_t n_stacks, max_stacks;
	struct area areas[REC_SWP_TYPES]; /* by type; id 0 = never met */
	uint32_t n_areas;
	uint64_t now_ns;
	enum zr_err err;
	bool unwatched[DB_MEMCG_MAX + 1];
};

/* One record being worked on. */
struct step {
	struct rec_fold *fold;
	const struct rec_raw *raw;
	uint32_t task; /* id, 0 = none */
};

static enum zr_err count_event(void *arg, const struct db_event *event)
{
	struct rec_fold *fold = arg;

	fold->stats.events++;
	return fold->options.sink.event(fold->options.sink.arg, event);
}

/* ---------------------------------------------------------------------------------------------- life */

enum zr_err rec_fold_new(const struct rec_fold_options *options, struct rec_fold **out)
{
	struct rec_fold *fold = calloc(1, sizeof(*fold));

	if (!fold)
		return zr_fail(ZR_NOMEM, "no memory to pair entries and returns");
	fold->options = *options;
	fold->unwatched[0] = options->sink.watched;
	if (!rec_places_init(&fold->places, count_event, fold) ||
	    !rec_ids_init(&fold->memcgs, DB_MEMCG_MAX) || !rec_ids_init(&fold->tids, MAX_TASKS)) {
		rec_fold_free(fold);
		return zr_fail(ZR_NOMEM, "no memory to pair entries and returns");
	}
	*out = fold;
	return ZR_OK;
}

static void drop_frames(struct stack *stack)
{
	while (stack->depth)
		free(stack->frames[--stack->depth].lens);
}

void rec_fold_free(struct rec_fold *fold)
{
	if (!fold)
		return;
	for (uint32_t i = 0; i < fold->n_stacks; i++)
		drop_frames(&fold->stacks[i]);
	free(fold->stacks);
	free(fold->tasks);
	rec_ids_fini(&fold->memcgs);
	rec_ids_fini(&fold->tids);
	rec_slots_fini(&fold->slots);
	rec_places_fini(&fold->places);
	free(fold);
}

const struct rec_fold_stats *rec_fold_stats(const struct rec_fold *fold)
{
	return &fold->stats;
}

static void keep_error(struct rec_fold *fold, enum zr_err err)
{
	if (!fold->err)
		fold->err = err;
}

/* -------------------------------------------------------------------------------------- dense ids */

static uint16_t memcg_id(struct rec_fold *fold, uint64_t key)
{
	const struct rec_fold_sink *sink = &fold->options.sink;
	bool fresh;
	uint32_t id;

	if (!key)
		return 0;
	id = rec_ids_of(&fold->memcgs, key, &fresh);
	if (!id)
		fold->stats.ids_full++;
	if (fresh) {
		fold->unwatched[id] = sink->watched && !sink->watched(sink->arg, key);
		keep_error(fold, sink->memcg(sink->arg, id, key));
	}
	return (uint16_t)id;
}

static bool room_for_task(struct rec_fold *fold, uint32_t id)
{
	uint32_t n = fold->n_tasks ? fold->n_tasks * 2 : 256;
	struct task *tasks;

	if (id < fold->n_tasks)
		return true;
	tasks = realloc(fold->tasks, n * sizeof(*tasks));
	if (!tasks)
		return false;
	memset(tasks + fold->n_tasks, 0, (n - fold->n_tasks) * sizeof(*tasks));
	fold->tasks = tasks;
	fold->n_tasks = n;
	return true;
}

/* The idle task (0) is one per CPU under one number: it has no frames and no id. */
static uint32_t task_id(struct rec_fold *fold, uint32_t tid)
{
	const struct rec_fold_sink *sink = &fold->options.sink;
	bool fresh;
	uint32_t id;

	if (!tid)
		return 0;
	id = rec_ids_of(&fold->tids, tid, &fresh);
	if (!id || !room_for_task(fold, id)) {
		fold->stats.ids_full++;
		return 0;
	}
	if (fresh)
		keep_error(fold, sink->task(sink->arg, id, tid));
	return id;
}

static uint8_t new_area(struct rec_fold *fold, const struct rec_area *on)
{
	struct area *area = &fold->areas[on->type];

	if (fold->n_areas >= DB_AREA_MAX) {
		fold->stats.ids_full++;
		return 0;
	}
	*area = (struct area){ .on = *on, .id = (uint8_t)++fold->n_areas };
	return area->id;
}

/* An area that was met before anybody told of it. */
static bool is_untold(const struct area *area)
{
	return area->id && !area->on.slots;
}

enum zr_err rec_fold_area(struct rec_fold *fold, const struct rec_area *area, uint32_t *id)
{
	if (area->type >= REC_SWP_TYPES)
		return zr_fail(ZR_LIMIT, "swap type %u: the kernel has at most %d", area->type,
			       REC_SWP_TYPES);
	if (is_untold(&fold->areas[area->type])) {
		fold->areas[area->type].on = *area;
		*id = fold->areas[area->type].id;
		return ZR_OK;
	}
	*id = new_area(fold, area);
	if (!*id)
		return zr_fail(ZR_LIMIT, "more than %d swap areas came and went", DB_AREA_MAX);
	return ZR_OK;
}

void rec_fold_area_gone(struct rec_fold *fold, uint32_t type)
{
	if (type < REC_SWP_TYPES)
		fold->areas[type] = (struct area){ 0 };
}

void rec_fold_zswap(struct rec_fold *fold, bool on)
{
	fold->options.zswap_off = !on;
}

uint64_t rec_fold_slots_seen(const struct rec_fold *fold, uint32_t type, uint32_t *id)
{
	*id = fold->areas[type].id;
	return fold->areas[type].slots_seen;
}

static void see_slots(struct rec_fold *fold, uint32_t type, uint64_t end)
{
	if (end > fold->areas[type].slots_seen)
		fold->areas[type].slots_seen = end;
}

static uint8_t area_of(struct rec_fold *fold, uint32_t type)
{
	const struct rec_fold_sink *sink = &fold->options.sink;
	uint8_t id = fold->areas[type].id;

	if (id)
		return id;
	id = new_area(fold, &(struct rec_area){ .type = type });
	if (id)
		keep_error(fold, sink->area(sink->arg, id, type));
	return id;
}

/* Area and first slot of `n` slots from a swap entry on; area 0 when they have no place in a trace. */
static uint8_t place_of(struct rec_fold *fold, uint64_t swp, uint32_t n, uint32_t *slot)
{
	uint64_t end = rec_swp_offset(swp) + n;
	uint32_t type = rec_swp_type(swp);
	uint8_t id;

	if (end > UINT32_MAX) {
		fold->stats.wide_slots++;
		return 0;
	}
	*slot = (uint32_t)(end - n);
	id = area_of(fold, type);
	if (id)
		see_slots(fold, type, end);
	return id;
}

/* ------------------------------------------------------------------------------------------ events */

static void lose(struct rec_fold *fold, enum db_gap kind, uint16_t cpu, uint32_t events)
{
	rec_slots_gap(&fold->slots);
	rec_places_add(&fold->places,
		       &(struct db_event){ .time_ns = fold->now_ns, .kind = DB_GAP, .slot = events,
					   .len = cpu, .flags = (uint8_t)kind });
}

/* True, and counted, for an event of a memcg that nobody watches. */
static bool filtered(struct rec_fold *fold, uint16_t memcg)
{
	if (!fold->unwatched[memcg])
		return false;
	fold->stats.filtered++;
	return true;
}

/* Completes an event about a slot: its owner and whether its history is known. */
static void settle_slot(struct rec_fold *fold, struct db_event *event)
{
	if (!event->memcg)
		event->memcg = rec_slots_owner(&fold->slots, event->area, event->slot);
	if (!rec_slots_known(&fold->slots, event->area, event->slot))
		event->flags |= DB_F_UNKNOWN;
	rec_slots_set_known(&fold->slots, event->area, event->slot);
	rec_slots_set_owner(&fold->slots, event->area, event->slot,
			    event->kind == DB_FREE ? 0 : event->memcg);
}

static struct db_event event_of(const struct step *step, const struct frame *frame,
				enum db_kind kind, unsigned flags)
{
	return (struct db_event){ .time_ns = step->fold->now_ns, .kind = (uint8_t)kind,
				  .slot = frame->slot, .area = frame->area, .memcg = frame->memcg,
				  .len = frame->len, .task = step->task, .flags = (uint8_t)flags };
}

/* ------------------------------------------------------------------------------------------ frames */

static struct stack *stack_of(const struct step *step)
{
	uint32_t stack = step->fold->tasks[step->task].stack;

	return stack ? &step->fold->stacks[stack - 1] : NULL;
}

/* Takes a stack out of the array; the last one moves into its place. */
static void drop_stack(struct rec_fold *fold, struct stack *stack)
{
	struct stack *last = &fold->stacks[--fold->n_stacks];

	drop_frames(stack);
	fold->tasks[stack->task].stack = 0;
	if (stack == last)
		return;
	*stack = *last;
	fold->tasks[stack->task].stack = (uint32_t)(stack - fold->stacks) + 1;
}

/* Drops the stacks that nothing has moved for `age_ns`. */
static void drop_stale(struct rec_fold *fold, uint64_t age_ns)
{
	for (uint32_t i = fold->n_stacks; i-- > 0;) {
		struct stack *stack = &fold->stacks[i];

		if (fold->now_ns - stack->last_ns < age_ns)
			continue;
		fold->stats.missed_returns += stack->depth;
		drop_stack(fold, stack);
	}
}

static bool room_for_stack(struct rec_fold *fold)
{
	uint32_t n = fold->max_stacks ? fold->max_stacks * 2 : 64;
	struct stack *stacks;

	if (fold->n_stacks < fold->max_stacks)
		return true;
	if (n > MAX_STACKS) {
		drop_stale(fold, STALE_STACK_NS);
		if (fold->n_stacks == fold->max_stacks)
			drop_stale(fold, 0);
		return true;
	}
	stacks = realloc(fold->stacks, n * sizeof(*stacks));
	if (!stacks)
		return false;
	fold->stacks = stacks;
	fold->max_stacks = n;
	return true;
}

static struct stack *need_stack(const struct step *step)
{
	struct rec_fold *fold = step->fold;
	struct stack *stack = stack_of(step);

	if (stack)
		return stack;
	if (!room_for_stack(fold))
		return NULL;
	stack = &fold->stacks[fold->n_stacks++];
	stack->depth = 0;
	stack->task = step->task;
	fold->tasks[step->task].stack = fold->n_stacks;
	return stack;
}

/* The topmost frame of a kind, or NULL. */
static struct frame *find_frame(const struct step *step, enum frame_kind kind)
{
	struct stack *stack = stack_of(step);

	for (uint32_t i = stack ? stack->depth : 0; i-- > 0;)
		if (stack->frames[i].kind == kind)
			return &stack->frames[i];
	return NULL;
}

static struct frame *top_frame(const struct step *step)
{
	struct stack *stack = stack_of(step);

	return stack && stack->depth ? &stack->frames[stack->depth - 1] : NULL;
}

static void pop(const struct step *step)
{
	struct stack *stack = stack_of(step);

	free(stack->frames[--stack->depth].lens);
	if (!stack->depth)
		drop_stack(step->fold, stack);
}

/* Nothing in the frame tells what became of the slot: that is a small gap of its own. */
static void undecided(const struct step *step)
{
	step->fold->stats.undecided++;
	lose(step->fold, DB_GAP_PROBE, step->raw->cpu, 1);
}

/* Of the page that the allocator was asked for last. */
static uint16_t last_len(const struct frame *frame)
{
	return frame->n_lens > 1 && frame->lens && frame->n_lens <= 1u << frame->order
		       ? frame->lens[frame->n_lens - 1]
		       : frame->len;
}

/* An object that was too long was offered to the allocator, which refused it; or the compression failed,
 * which comes as a length beyond any. */
static bool failed_to_compress(uint16_t len)
{
	return len > 4096;
}

static enum db_reason reason_of_len(const struct frame *frame)
{
	return frame->err == -ENOSPC || failed_to_compress(last_len(frame)) ? DB_REASON_COMPRESS
									    : DB_REASON_ALLOC;
}

/* What an event may hold: 0 where there is no compressed page. */
static uint16_t event_len(uint16_t len)
{
	return failed_to_compress(len) ? 0 : len;
}

/* Why a store failed, as far as what happened inside it tells. A pool at its limit never gets as far as the
 * compression.
 * Kept folios are of a memcg without writeback, for which 7.3 refuses what does not compress, unseen. */
static enum db_reason reason_of(const struct rec_fold *fold, const struct frame *frame,
				enum db_out outcome)
{
	if (fold->options.zswap_off || frame->err == -ENODEV)
		return DB_REASON_OFF;
	if (frame->saw & SAW_STORE || !(frame->saw & SAW_FAIL))
		return DB_REASON_UNKNOWN;
	if (frame->n_lens)
		return reason_of_len(frame);
	if (frame->order && !fold->options.stores_large)
		return DB_REASON_LARGE;
	if (frame->err == -EINVAL)
		return DB_REASON_COMPRESS;
	if (frame->saw & SAW_SHRINK)
		return DB_REASON_MEMCG_LIMIT;
	return outcome == DB_OUT_KEPT && fold->options.stores_large ? DB_REASON_UNKNOWN
								     : DB_REASON_LIMIT;
}

static void emit_out(const struct step *step, const struct frame *frame, enum db_out outcome)
{
	struct rec_fold *fold = step->fold;
	struct db_event event = event_of(step, frame, DB_OUT, outcome);
	bool parts = outcome == DB_OUT_STORED && frame->order;

	for (uint32_t i = 0; i < 1u << frame->order; i++) {
		rec_slots_set_known(&fold->slots, frame->area, frame->slot + i);
		rec_slots_set_owner(&fold->slots, frame->area, frame->slot + i, frame->memcg);
	}
	if (filtered(fold, frame->memcg))
		return;
	event.order = frame->order;
	event.len = event_len(event.len);
	if (outcome == DB_OUT_REJECTED || outcome == DB_OUT_KEPT)
		event.flags |= (uint8_t)(reason_of(fold, frame, outcome) << DB_F_REASON_SHIFT);
	rec_places_add(&fold->places, &event);
	event.flags |= DB_F_PART;
	for (uint32_t i = 1; parts && i < 1u << frame->order; i++) {
		event.slot = frame->slot + i;
		event.len = frame->lens && i < frame->n_lens ? event_len(frame->lens[i]) : 0;
		rec_places_add(&fold->places, &event);
	}
}

/* Does the kernel keep zero-filled pages by a map of their slots? */
static bool has_zeros(const struct rec_fold *fold, const struct frame *frame)
{
	return !fold->options.no_zeros && !(frame->saw & SAW_HOW);
}

static void close_out(const struct step *step, const struct frame *frame, int64_t ret)
{
	if (!frame->area)
		return;
	if (frame->saw & SAW_FAIL)
		emit_out(step, frame,
			 ret == WRITEPAGE_ACTIVATE ? DB_OUT_KEPT : DB_OUT_REJECTED);
	else if (frame->saw & SAW_STORE ||
		 (frame->n_lens && step->fold->options.store_ret_of_failures))
		emit_out(step, frame, DB_OUT_STORED);
	else if (frame->saw & SAW_WRITE)
		emit_out(step, frame, DB_OUT_REJECTED);
	else if (!(frame->saw & SAW_FREE) && has_zeros(step->fold, frame))
		emit_out(step, frame, DB_OUT_ZERO);
}

static void emit_in(const struct step *step, const struct frame *frame, enum db_in outcome)
{
	struct rec_fold *fold = step->fold;
	struct db_event event = event_of(step, frame, DB_IN, outcome);
	struct db_event *placed = NULL;

	if (frame->readahead)
		event.flags |= DB_F_READAHEAD;
	settle_slot(fold, &event);
	if (filtered(fold, event.memcg)) {
		rec_places_void(&fold->places, frame->place - 1);
		return;
	}
	if (!frame->place) {
		rec_places_add(&fold->places, &event);
		return;
	}
	placed = rec_places_at(&fold->places, frame->place - 1);
	if (!placed) /* given up, so it has left as what it turned out to be */
		return;
	event.time_ns = placed->time_ns;
	*placed = event;
	rec_places_ready(&fold->places, frame->place - 1);
}

static void close_in(const struct step *step, const struct frame *frame)
{
	if (!frame->area)
		return;
	if (frame->saw & SAW_ERROR)
		emit_in(step, frame, DB_IN_ERROR);
	else if (frame->saw & (SAW_HIT | SAW_MISS))
		emit_in(step, frame, frame->saw & SAW_HIT ? DB_IN_ZSWAP : DB_IN_DISK);
	else
		emit_in(step, frame, has_zeros(step->fold, frame) ? DB_IN_ZERO : DB_IN_DISK);
}

static void emit_wb(const struct step *step, const struct frame *frame, enum db_wb outcome)
{
	struct db_event event = event_of(step, frame, DB_WB, outcome);

	if (!frame->area)
		return;
	settle_slot(step->fold, &event);
	if (!filtered(step->fold, event.memcg))
		rec_places_add(&step->fold->places, &event);
}

/* A frame whose return did not come. What it has seen may do; a frame that waits in a place is filled by
 * its default. */
static void close_missed(const struct step *step, const struct frame *frame)
{
	switch ((enum frame_kind)frame->kind) {
	case FRAME_OUT:
		if (frame->saw & (SAW_FAIL | SAW_STORE | SAW_FREE))
			close_out(step, frame, 0);
		else
			undecided(step);
		break;
	case FRAME_IN:
		if (frame->saw & (SAW_HIT | SAW_MISS | SAW_ERROR))
			close_in(step, frame);
		else
			undecided(step);
		break;
	case FRAME_WB:
		if (frame->saw & SAW_WRITE)
			emit_wb(step, frame, DB_WB_WRITTEN);
		else
			undecided(step);
		break;
	default:
		rec_places_ready(&step->fold->places, frame->place - 1);
		break;
	}
}

/* Closes the frames above `frame`: their returns cannot come any more. */
static void close_above(const struct step *step, const struct frame *frame)
{
	while (top_frame(step) != frame) {
		close_missed(step, top_frame(step));
		step->fold->stats.missed_returns++;
		pop(step);
	}
}

/* The frame that a return belongs to, now on top; NULL if there is none. */
static struct frame *returning(const struct step *step, enum frame_kind kind)
{
	struct frame *frame = find_frame(step, kind);

	if (frame)
		close_above(step, frame);
	else
		step->fold->stats.orphan_returns++;
	return frame;
}

#define ON(kind) (1u << FRAME_##kind)

/* Reclaim does not reclaim: so no swap-out or scan on a swap-out, which only reclaim begins. A worker's
 * writeback does reclaim. A writeback without a scan or shrink below it is of a source without these. */
static const unsigned may_lie_on[FRAME_KINDS] = {
	[FRAME_FAULT] = 0,
	[FRAME_IN] = ON(FAULT),
	[FRAME_OUT] = ON(FAULT) | ON(IN) | ON(WB),
	[FRAME_SCAN] = ON(FAULT) | ON(IN) | ON(WB),
	[FRAME_SHRINK] = ON(OUT),
	[FRAME_WB] = ON(FAULT) | ON(IN) | ON(OUT) | ON(SCAN) | ON(SHRINK),
};

static void close_impossible(const struct step *step, enum frame_kind kind)
{
	const struct frame *top;

	while ((top = top_frame(step)) && !(may_lie_on[kind] >> top->kind & 1)) {
		close_missed(step, top);
		step->fold->stats.missed_returns++;
		pop(step);
	}
}

static struct frame *push(const struct step *step, enum frame_kind kind)
{
	struct stack *stack;
	struct frame *frame;

	close_impossible(step, kind);
	stack = need_stack(step);
	if (!stack || stack->depth == DEPTH) {
		step->fold->stats.too_deep++;
		return NULL;
	}
	stack->last_ns = step->fold->now_ns;
	frame = &stack->frames[stack->depth++];
	*frame = (struct frame){ .kind = (uint8_t)kind, .swp = step->raw->swp,
				 .memcg = memcg_id(step->fold, step->raw->memcg) };
	return frame;
}

/* A frame about a slot. */
static struct frame *push_slot(const struct step *step, enum frame_kind kind)
{
	struct frame *frame = push(step, kind);

	if (!frame)
		return NULL;
	if (kind == FRAME_OUT && step->raw->order <= MAX_ORDER)
		frame->order = step->raw->order;
	if (kind != FRAME_WB && step->raw->op == REC_HOW_NO_ZEROS)
		frame->saw |= SAW_HOW;
	frame->area = place_of(step->fold, frame->swp, 1u << frame->order, &frame->slot);
	return frame;
}

static bool source_has(const struct rec_fold *fold, enum rec_type type)
{
	return fold->options.types >> type & 1;
}

/* ---------------------------------------------------------------------------------------- swap-out */

static void on_out(const struct step *step)
{
	push_slot(step, FRAME_OUT);
}

static void on_store(const struct step *step)
{
	struct frame *frame = find_frame(step, FRAME_OUT);

	if (frame && frame == top_frame(step) && frame->swp == step->raw->swp &&
	    !(frame->saw & SHORT))
		return;
	frame = push_slot(step, FRAME_OUT);
	if (frame)
		frame->saw |= SHORT;
}

/* The record may say how its return is meant; else the whole source does. */
static bool is_errno(const struct step *step, bool source_is)
{
	return step->raw->op == REC_HOW_UNSAID ? source_is : step->raw->op == REC_HOW_ERRNO;
}

static void on_store_ret(const struct step *step)
{
	struct frame *frame = returning(step, FRAME_OUT);
	bool has_err = is_errno(step, step->fold->options.store_ret_is_errno);

	if (!frame)
		return;
	frame->saw |= !step->raw->ret == has_err ? SAW_STORE : SAW_FAIL;
	if (has_err)
		frame->err = (int32_t)step->raw->ret;
	if (!(frame->saw & SHORT))
		return;
	close_out(step, frame, 0);
	pop(step);
}

static void on_out_ret(const struct step *step)
{
	struct frame *frame = returning(step, FRAME_OUT);

	if (!frame)
		return;
	close_out(step, frame, step->raw->ret);
	pop(step);
}

/* A page that failed to compress and is stored all the same, as it is (7.3), is one page with two lengths: the
 * allocator's counts. */
static void on_len(const struct step *step)
{
	struct frame *frame = find_frame(step, FRAME_OUT);
	uint16_t len = step->raw->len < UINT16_MAX ? (uint16_t)step->raw->len : UINT16_MAX;
	uint32_t n;

	if (!frame) /* somebody else's allocation, as of zram */
		return;
	if (frame->n_lens && failed_to_compress(last_len(frame)))
		frame->n_lens--;
	n = frame->n_lens++;
	if (n == 0)
		frame->len = len;
	if (n == 1 && !frame->lens)
		frame->lens = calloc(1u << frame->order, sizeof(*frame->lens));
	if (frame->lens && n < 1u << frame->order)
		frame->lens[n] = len;
}

/* A writeback whose entry did not name the slot writes the first that is written in it. */
static bool names_slot(const struct frame *frame)
{
	return frame->kind == FRAME_WB && !frame->area && !(frame->saw & SAW_WRITE);
}

static void on_write(const struct step *step)
{
	struct stack *stack = stack_of(step);
	struct frame *top = top_frame(step);

	if (top && names_slot(top)) {
		top->swp = step->raw->swp;
		top->area = place_of(step->fold, top->swp, 1, &top->slot);
	}
	for (uint32_t i = stack ? stack->depth : 0; i-- > 0;) {
		struct frame *frame = &stack->frames[i];

		if ((frame->kind == FRAME_OUT || frame->kind == FRAME_WB) &&
		    frame->swp == step->raw->swp) {
			frame->saw |= SAW_WRITE;
			return;
		}
	}
}

/* ----------------------------------------------------------------------------------------- swap-in */

static struct frame *push_in(const struct step *step)
{
	const struct frame *fault = find_frame(step, FRAME_FAULT);
	uint64_t wanted = fault ? fault->swp : step->raw->swp;
	struct frame *frame = push_slot(step, FRAME_IN);

	if (frame)
		frame->readahead = wanted != step->raw->swp;
	return frame;
}

static void on_read(const struct step *step)
{
	struct rec_fold *fold = step->fold;
	struct frame *frame = push_in(step);
	struct db_event event;

	if (!frame || source_has(fold, REC_READ_RET))
		return;
	frame->saw |= SHORT;
	if (!frame->area)
		return;
	event = event_of(step, frame, DB_IN, DB_IN_ZERO);
	frame->place = rec_places_open(&fold->places, &event, REC_PATIENT) + 1;
}

static void on_load(const struct step *step)
{
	struct frame *frame = top_frame(step);

	if (!frame || frame->kind != FRAME_IN || frame->swp != step->raw->swp) {
		frame = push_in(step);
		if (!frame)
			return;
		frame->saw |= SHORT;
	}
	frame->saw |= SAW_LOAD;
	rec_places_void(&step->fold->places, frame->place - 1);
	frame->place = NO_PLACE;
}

/* Kernels whose load fails for one reason only say so by -1. */
static uint16_t load_outcome(const struct step *step)
{
	int64_t ret = step->raw->ret;

	if (!is_errno(step, step->fold->options.load_ret_is_errno))
		return ret ? SAW_HIT : SAW_MISS;
	if (ret == 0)
		return SAW_HIT;
	return ret == -ENOENT || ret == -1 ? SAW_MISS : SAW_ERROR;
}

static void on_load_ret(const struct step *step)
{
	struct frame *frame = returning(step, FRAME_IN);

	if (!frame)
		return;
	rec_places_void(&step->fold->places, frame->place - 1);
	frame->place = NO_PLACE;
	frame->saw |= load_outcome(step);
	if (!(frame->saw & SHORT))
		return;
	close_in(step, frame);
	pop(step);
}

static void on_read_ret(const struct step *step)
{
	struct frame *frame;

	/* The first one of a text: its frame was closed by load_ret, as if there were none. */
	if (!source_has(step->fold, REC_READ_RET)) {
		step->fold->options.types |= 1u << REC_READ_RET;
		return;
	}
	frame = returning(step, FRAME_IN);
	if (!frame)
		return;
	close_in(step, frame);
	pop(step);
}

static void on_fault(const struct step *step)
{
	push(step, FRAME_FAULT);
}

static void on_fault_ret(const struct step *step)
{
	if (returning(step, FRAME_FAULT))
		pop(step);
}

/* ---------------------------------------------------------------------------- frees and writebacks */

static void see_free(const struct step *step)
{
	struct stack *stack = stack_of(step);

	for (uint32_t i = stack ? stack->depth : 0; i-- > 0;)
		if (stack->frames[i].kind == FRAME_OUT && stack->frames[i].swp == step->raw->swp)
			stack->frames[i].saw |= SAW_FREE;
}

static void on_free(const struct step *step)
{
	struct rec_fold *fold = step->fold;
	uint32_t n = step->raw->len ? step->raw->len : 1;
	struct db_event event = { .time_ns = fold->now_ns, .kind = DB_FREE, .task = step->task };

	if (n > UINT16_MAX)
		n = UINT16_MAX;
	event.area = place_of(fold, step->raw->swp, n, &event.slot);
	if (step->task)
		see_free(step);
	if (!event.area)
		return;
	event.len = (uint16_t)(n > 1 ? n : 0);
	/* The first slot speaks for all: a range is freed only of one folio. */
	settle_slot(fold, &event);
	for (uint32_t i = 1; i < n; i++) {
		rec_slots_set_known(&fold->slots, event.area, event.slot + i);
		rec_slots_set_owner(&fold->slots, event.area, event.slot + i, 0);
	}
	if (!filtered(fold, event.memcg))
		rec_places_add(&fold->places, &event);
}

static void on_wb(const struct step *step)
{
	struct frame *frame = push_slot(step, FRAME_WB);

	if (frame)
		frame->len = step->raw->len < UINT16_MAX ? (uint16_t)step->raw->len : UINT16_MAX;
}

/* Returns of a list_lru callback; the numbers are the kernel's enum lru_status. */
static enum db_wb wb_of_lru_status(int64_t ret)
{
	switch (ret) {
	case 0:
	case 1:
		return DB_WB_WRITTEN;
	case 2:
		return DB_WB_ROTATED;
	case 5:
		return DB_WB_EXISTS;
	default:
		return DB_WB_FAILED;
	}
}

static enum db_wb wb_of_errno(int64_t ret)
{
	switch (ret) {
	case 0:
		return DB_WB_WRITTEN;
	case -EEXIST:
		return DB_WB_EXISTS;
	case -ENOMEM:
		return DB_WB_NOMEM;
	default:
		return DB_WB_FAILED;
	}
}

/* Does this source show each write? */
static bool sees_writes(const struct rec_fold *fold)
{
	return source_has(fold, REC_WRITE);
}

static void on_wb_ret(const struct step *step)
{
	struct frame *frame = returning(step, FRAME_WB);
	bool is_lru = step->raw->op == REC_HOW_UNSAID ? step->fold->options.wb_ret_is_lru_status
						      : step->raw->op == REC_HOW_LRU;
	enum db_wb outcome;

	if (!frame)
		return;
	outcome = is_lru ? wb_of_lru_status(step->raw->ret) : wb_of_errno((int32_t)step->raw->ret);
	/* 6.1 also says "done" of an entry that was freed before it could be written. */
	if (outcome != DB_WB_WRITTEN || frame->saw & SAW_WRITE || !sees_writes(step->fold))
		emit_wb(step, frame, outcome);
	pop(step);
}

/* ------------------------------------------------------------------------------ shrinkers, reclaim */

static void open_place(const struct step *step, struct frame *frame, struct db_event event)
{
	if (!filtered(step->fold, frame->memcg))
		frame->place = rec_places_open(&step->fold->places, &event, REC_PATIENT) + 1;
}

static void on_scan(const struct step *step)
{
	struct frame *frame = push(step, FRAME_SCAN);
	struct db_event event;

	if (!frame)
		return;
	if (!frame->memcg)
		frame->memcg = step->fold->tasks[step->task].reclaim_memcg;
	event = event_of(step, frame, DB_SCAN, DB_F_UNKNOWN);
	event.slot = step->raw->ret < UINT32_MAX ? (uint32_t)step->raw->ret : UINT32_MAX;
	open_place(step, frame, event);
}

static void on_scan_ret(const struct step *step)
{
	struct frame *frame = returning(step, FRAME_SCAN);
	int64_t ret = step->raw->ret;
	struct db_event *event;

	if (!frame)
		return;
	event = rec_places_at(&step->fold->places, frame->place - 1);
	if (event) {
		event->flags = ret == -1;
		event->len = (uint16_t)(ret < 0 ? 0 : ret < UINT16_MAX ? ret : UINT16_MAX);
		rec_places_ready(&step->fold->places, frame->place - 1);
	}
	pop(step);
}

static void on_shrink(const struct step *step)
{
	struct frame *frame = push(step, FRAME_SHRINK);

	if (frame)
		open_place(step, frame, event_of(step, frame, DB_SHRINK, DB_F_UNKNOWN));
}

static void on_shrink_ret(const struct step *step)
{
	struct frame *frame = returning(step, FRAME_SHRINK);
	int32_t ret = (int32_t)step->raw->ret;
	struct db_event *event;

	if (!frame)
		return;
	event = rec_places_at(&step->fold->places, frame->place - 1);
	if (event) {
		event->flags = ret == 0	      ? DB_SHRINK_OK
			       : ret == -ENOENT ? DB_SHRINK_EMPTY
						: DB_SHRINK_AGAIN;
		rec_places_ready(&step->fold->places, frame->place - 1);
	}
	pop(step);
	frame = top_frame(step);
	if (ret && frame && frame->kind == FRAME_OUT)
		frame->saw |= SAW_SHRINK;
}

static void on_slab(const struct step *step)
{
	struct rec_fold *fold = step->fold;
	struct task *task = &fold->tasks[step->task];
	struct db_event event = { .time_ns = fold->now_ns, .kind = DB_RECLAIM, .task = step->task,
				  .memcg = memcg_id(fold, step->raw->memcg),
				  .len = (uint16_t)step->raw->ret, .order = step->raw->order };

	task->reclaim_memcg = event.memcg;
	if (!filtered(fold, event.memcg))
		task->reclaim = rec_places_open(&fold->places, &event, REC_BRIEF) + 1;
}

static void on_count_ret(const struct step *step)
{
	struct task *task = &step->fold->tasks[step->task];
	struct db_event *event = rec_places_at(&step->fold->places, task->reclaim - 1);
	uint64_t count = (uint64_t)step->raw->ret;

	/* SHRINK_EMPTY and SHRINK_STOP are ~0 - 1 and ~0. */
	if (task->reclaim && event && count < UINT64_MAX - 1)
		event->slot = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void on_worker(const struct step *step)
{
	rec_places_add(&step->fold->places,
		       &(struct db_event){ .time_ns = step->fold->now_ns, .kind = DB_WORKER,
					   .task = step->task });
}

/* -------------------------------------------------------------------------------------------- block */

/* The slot of a sector among a file's extents: the last that begins at or before it. */
static bool slot_of_extents(const struct rec_area *on, uint64_t sector, uint32_t *slot)
{
	const uint32_t per_slot = on->sectors_per_slot;
	uint32_t low = 0, high = on->n_extents;
	const struct rec_extent *extent;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (on->extents[middle].sector <= sector)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	extent = &on->extents[low - 1];
	*slot = extent->slot + (uint32_t)((sector - extent->sector) / per_slot);
	return (sector - extent->sector) / per_slot < extent->slots;
}

static bool slot_of(const struct rec_area *on, uint64_t sector, uint32_t *slot)
{
	uint64_t n;

	if (!on->sectors_per_slot || sector < on->start_sector)
		return false;
	if (on->n_extents)
		return slot_of_extents(on, sector, slot);
	n = (sector - on->start_sector) / on->sectors_per_slot;
	*slot = (uint32_t)n;
	return n < on->slots;
}

/* The area that holds a sector of a disk, and which slot it is there. */
static const struct area *area_at(const struct rec_fold *fold, const struct rec_raw *raw,
				  uint32_t *slot)
{
	for (uint32_t type = 0; type < REC_SWP_TYPES; type++) {
		const struct rec_area *on = &fold->areas[type].on;

		if (fold->areas[type].id && (raw->dev == on->disk_dev || raw->dev == on->part_dev) &&
		    slot_of(on, raw->swp, slot))
			return &fold->areas[type];
	}
	return NULL;
}

static const uint8_t io_phases[REC_TYPE_COUNT] = {
	[REC_RQ_ISSUE] = DB_IO_ISSUE,	 [REC_RQ_COMPLETE] = DB_IO_COMPLETE,
	[REC_RQ_MERGE] = DB_IO_MERGE,	 [REC_BACKMERGE] = DB_IO_MERGE,
	[REC_FRONTMERGE] = DB_IO_MERGE,
};

static void on_io(const struct step *step)
{
	struct rec_fold *fold = step->fold;
	const struct rec_raw *raw = step->raw;
	uint8_t phase = io_phases[raw->type];
	struct db_event event = { .time_ns = fold->now_ns, .kind = DB_IO };
	const struct area *area = area_at(fold, raw, &event.slot);

	if (!area || raw->op == REC_OP_OTHER) {
		fold->stats.foreign_io++;
		return;
	}
	event.area = area->id;
	event.len = raw->len < UINT16_MAX ? (uint16_t)raw->len : UINT16_MAX;
	event.flags = (uint8_t)(raw->op | phase << DB_IO_PHASE_SHIFT);
	/* A completion runs in whatever task was interrupted. */
	event.task = phase == DB_IO_COMPLETE ? 0 : step->task;
	rec_places_add(&fold->places, &event);
}

static_assert((int)REC_OP_READ == DB_IO_READ && (int)REC_OP_WRITE == DB_IO_WRITE &&
	      (int)REC_OP_DISCARD == DB_IO_DISCARD, "operations are stored as they are");

/* ---------------------------------------------------------------------------------- gaps, samples */

static void on_lost(const struct step *step)
{
	struct rec_fold *fold = step->fold;

	fold->stats.lost += step->raw->len;
	lose(fold, step->raw->order, step->raw->cpu, step->raw->len);
	while (fold->n_stacks) {
		struct stack *stack = &fold->stacks[fold->n_stacks - 1];

		for (uint32_t i = 0; i < stack->depth; i++) {
			const struct frame *frame = &stack->frames[i];

			if (frame->place && frame->kind == FRAME_IN)
				rec_places_void(&fold->places, frame->place - 1);
			else if (frame->place)
				rec_places_ready(&fold->places, frame->place - 1);
		}
		drop_stack(fold, stack);
	}
}

static void on_sample(const struct step *step)
{
	rec_places_add(&step->fold->places,
		       &(struct db_event){ .time_ns = step->fold->now_ns, .kind = DB_SAMPLE });
}

/* -------------------------------------------------------------------------------------------- steps */

/* PASSIVE records happen beside what the task does and say nothing about where it is. */
enum { NEEDS_TASK = 1, PASSIVE = 2 };

static const struct {
	void (*on)(const struct step *step);
	unsigned flags;
} handlers[REC_TYPE_COUNT] = {
	[REC_OUT] = { on_out, NEEDS_TASK },
	[REC_OUT_RET] = { on_out_ret, NEEDS_TASK },
	[REC_STORE] = { on_store, NEEDS_TASK },
	[REC_STORE_RET] = { on_store_ret, NEEDS_TASK },
	[REC_LEN] = { on_len, NEEDS_TASK },
	[REC_READ] = { on_read, NEEDS_TASK },
	[REC_READ_RET] = { on_read_ret, NEEDS_TASK },
	[REC_LOAD] = { on_load, NEEDS_TASK },
	[REC_LOAD_RET] = { on_load_ret, NEEDS_TASK },
	[REC_FAULT] = { on_fault, NEEDS_TASK },
	[REC_FAULT_RET] = { on_fault_ret, NEEDS_TASK },
	[REC_FREE] = { on_free, PASSIVE },
	[REC_WB] = { on_wb, NEEDS_TASK },
	[REC_WB_RET] = { on_wb_ret, NEEDS_TASK },
	[REC_WRITE] = { on_write, NEEDS_TASK },
	[REC_SCAN] = { on_scan, NEEDS_TASK },
	[REC_SCAN_RET] = { on_scan_ret, NEEDS_TASK },
	[REC_SLAB] = { on_slab, NEEDS_TASK },
	[REC_COUNT_RET] = { on_count_ret, NEEDS_TASK },
	[REC_WORKER] = { on_worker, 0 },
	[REC_SHRINK] = { on_shrink, NEEDS_TASK },
	[REC_SHRINK_RET] = { on_shrink_ret, NEEDS_TASK },
	[REC_RQ_ISSUE] = { on_io, PASSIVE },
	[REC_RQ_COMPLETE] = { on_io, PASSIVE },
	[REC_RQ_MERGE] = { on_io, PASSIVE },
	[REC_BACKMERGE] = { on_io, PASSIVE },
	[REC_FRONTMERGE] = { on_io, PASSIVE },
	[REC_LOST] = { on_lost, PASSIVE },
	[REC_SAMPLE] = { on_sample, PASSIVE },
	[REC_SLAB_START] = { on_slab, NEEDS_TASK },
};

/* A read that has not begun a load by the time its task does something else was of a zero-filled page. */
static void close_short_read(const struct step *step)
{
	const struct frame *frame = top_frame(step);

	if (!frame || frame->kind != FRAME_IN || !(frame->saw & SHORT) || frame->saw & SAW_LOAD ||
	    step->raw->type == REC_LOAD || step->raw->type == REC_LOAD_RET)
		return;
	close_in(step, frame);
	pop(step);
}

static void release_reclaim(const struct step *step)
{
	struct task *task = &step->fold->tasks[step->task];

	if (task->reclaim)
		rec_places_ready(&step->fold->places, task->reclaim - 1);
	task->reclaim = NO_PLACE;
}

static void apply(const struct step *step)
{
	unsigned flags = handlers[step->raw->type].flags;
	bool counts = step->raw->type == REC_COUNT_RET;

	if (!step->task) {
		if (flags & NEEDS_TASK)
			step->fold->stats.undecided++;
		else
			handlers[step->raw->type].on(step);
		return;
	}
	if (!(flags & PASSIVE)) {
		close_short_read(step);
		if (!counts)
			release_reclaim(step);
	}
	handlers[step->raw->type].on(step);
	if (counts)
		release_reclaim(step);
}

static enum zr_err first_error(const struct rec_fold *fold)
{
	return fold->err ? fold->err : fold->places.err;
}

enum zr_err rec_fold_add(struct rec_fold *fold, const struct rec_raw *raw)
{
	struct step step = { .fold = fold, .raw = raw, .task = task_id(fold, raw->tid) };

	fold->stats.raw++;
	if (raw->time_ns >= fold->now_ns)
		fold->now_ns = raw->time_ns;
	else
		fold->stats.late++;
	apply(&step);
	rec_places_drain(&fold->places, fold->now_ns);
	return first_error(fold);
}

enum zr_err rec_fold_advance(struct rec_fold *fold, uint64_t now_ns)
{
	rec_places_drain(&fold->places, now_ns > fold->now_ns ? now_ns : fold->now_ns);
	return first_error(fold);
}

/* Reads that no load followed are over; of all else the outcome is not on record. */
static void close_at_end(struct rec_fold *fold, struct stack *stack)
{
	struct rec_raw none = { 0 };
	struct step step = { .fold = fold, .raw = &none, .task = stack->task };
	const struct frame *top = &stack->frames[stack->depth - 1];

	if (top->kind == FRAME_IN && top->saw & SHORT && !(top->saw & SAW_LOAD))
		close_in(&step, top);
	else
		fold->stats.open_at_end += stack->depth;
	drop_stack(fold, stack);
}

enum zr_err rec_fold_finish(struct rec_fold *fold)
{
	while (fold->n_stacks)
		close_at_end(fold, &fold->stacks[fold->n_stacks - 1]);
	rec_places_flush(&fold->places);
	fold->stats.missed_returns += fold->places.given_up;
	return first_error(fold);
}
