/* SPDX-License-Identifier: MIT */
/* The plan of kernel_plan.h. */
#include "replayer/kernel_plan.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NO_WORKER = UINT16_MAX };

/* 1 TiB of pages of 4 KiB: seven bytes for each are enough to ask for. */
static const uint64_t pages_max = (uint64_t)1 << 28;

/* What a page of the mapping holds. The survey ends with BEFORE_* for those that are out before the
 * start. */
enum state { UNSEEN, OUT, IN, FREED, BEFORE_ZSWAP, BEFORE_DISK, BEFORE_ZERO };

struct kernel_plan {
	struct kernel_plan_options options;
	uint64_t first_page[DB_AREA_MAX + 1], pages;
	uint8_t *states, *befores; /* by page: enum state; one of BEFORE_*, or UNSEEN */
	uint16_t *lens;		   /* the last known compressed length, 0 = none yet */
	uint32_t *turns;
	uint16_t *worker_of; /* by task */
	uint32_t n_workers;
	struct kernel_op groups[KERNEL_WORKERS]; /* n == 0: none is open */
	struct kernel_demand demand;
	/* of the survey */
	uint64_t out_now, in_now, len_sum;
	struct kernel_size size;
};

static enum zr_err lay_out(struct kernel_plan *plan)
{
	for (uint32_t area = 0; area <= DB_AREA_MAX; area++) {
		plan->first_page[area] = plan->pages;
		plan->pages += plan->options.area_slots[area];
	}
	if (plan->pages <= pages_max)
		return ZR_OK;
	return zr_fail(ZR_LIMIT,
		       "planning what the kernel shall do: the trace has slots up to %" PRIu64
		       ", the limit is %" PRIu64
		       "; cut out an area or a range of slots (zreel cut)",
		       plan->pages, pages_max);
}

static enum zr_err make_tables(struct kernel_plan *plan)
{
	uint32_t n_tasks = plan->options.n_tasks;

	plan->states = calloc(plan->pages + 1, 1);
	plan->befores = calloc(plan->pages + 1, 1);
	plan->lens = calloc(plan->pages + 1, sizeof(*plan->lens));
	plan->turns = calloc(plan->pages + 1, sizeof(*plan->turns));
	plan->worker_of = malloc((n_tasks + 1) * sizeof(*plan->worker_of));
	if (!plan->states || !plan->befores || !plan->lens || !plan->turns || !plan->worker_of)
		return zr_fail(ZR_NOMEM,
			       "planning what the kernel shall do: no memory for %" PRIu64 " slots",
			       plan->pages);
	for (uint32_t task = 0; task <= n_tasks; task++)
		plan->worker_of[task] = NO_WORKER;
	return ZR_OK;
}

enum zr_err kernel_plan_new(const struct kernel_plan_options *options, struct kernel_plan **out)
{
	struct kernel_plan *plan = calloc(1, sizeof(*plan));
	enum zr_err err;

	*out = NULL;
	if (!plan)
		return zr_fail(ZR_NOMEM, "planning what the kernel shall do: no memory");
	plan->options = *options;
	if (!plan->options.max_workers || plan->options.max_workers > KERNEL_WORKERS)
		plan->options.max_workers = KERNEL_WORKERS;
	err = lay_out(plan);
	if (!err)
		err = make_tables(plan);
	if (err)
		kernel_plan_free(plan);
	else
		*out = plan;
	return err;
}

void kernel_plan_free(struct kernel_plan *plan)
{
	if (!plan)
		return;
	free(plan->states);
	free(plan->befores);
	free(plan->lens);
	free(plan->turns);
	free(plan->worker_of);
	free(plan);
}

uint64_t kernel_plan_pages(const struct kernel_plan *plan)
{
	return plan->pages;
}

uint32_t kernel_plan_workers(const struct kernel_plan *plan)
{
	return plan->n_workers;
}

struct kernel_demand kernel_plan_demand(const struct kernel_plan *plan)
{
	return plan->demand;
}

struct kernel_size kernel_plan_size(const struct kernel_plan *plan)
{
	struct kernel_size size = plan->size;

	size.mean_len = size.lengths ? (uint32_t)(plan->len_sum / size.lengths) : 0;
	return size;
}

/* ---------------------------------------------------------------------------------------- events */

/* The slots of an event as pages of the mapping; those behind the end of the area are left out. Of
 * a folio that was stored page by page each page has an event of its own. */
struct span {
	uint64_t first;
	uint32_t n;
};

static struct span span_of(const struct kernel_plan *plan, const struct db_event *event)
{
	uint64_t slots = plan->options.area_slots[event->area];
	uint32_t n = 1;

	if (event->kind == DB_OUT && !(event->flags & DB_F_PART) &&
	    db_flags_outcome(event->flags) != DB_OUT_STORED)
		n = (uint32_t)1 << event->order;
	else if (event->kind == DB_FREE)
		n = db_free_slots(event->len);
	if (event->slot >= slots)
		return (struct span){ 0 };
	if (n > slots - event->slot)
		n = (uint32_t)(slots - event->slot);
	return (struct span){ plan->first_page[event->area] + event->slot, n };
}

/* Compressed length that an OUT tells of its first page, 0 if it tells none. */
static uint16_t told_len(const struct kernel_plan *plan, const struct db_event *event)
{
	if (db_flags_outcome(event->flags) == DB_OUT_REJECTED &&
	    db_flags_reason(event->flags) == DB_REASON_COMPRESS)
		return (uint16_t)(plan->options.page_size <= UINT16_MAX ? plan->options.page_size
									: UINT16_MAX);
	return event->len;
}

/* ---------------------------------------------------------------------------------------- survey */

static void move(struct kernel_plan *plan, uint64_t page, enum state to)
{
	uint8_t from = plan->states[page];

	plan->out_now += (to == OUT) - (from == OUT);
	plan->in_now += (to == IN) - (from == IN);
	plan->states[page] = (uint8_t)to;
	if (plan->out_now > plan->size.out_pages)
		plan->size.out_pages = plan->out_now;
	if (plan->in_now > plan->size.in_pages)
		plan->size.in_pages = plan->in_now;
}

/* The first that is heard of a page is that it comes back, or is written back: so it was out. */
static void note_before(struct kernel_plan *plan, uint64_t page, enum state where, uint16_t len)
{
	if (plan->states[page] != UNSEEN)
		return;
	plan->befores[page] = (uint8_t)where;
	plan->lens[page] = len;
	move(plan, page, OUT);
}

static void survey_in(struct kernel_plan *plan, uint64_t page, unsigned outcome)
{
	static const enum state where[] = {
		[DB_IN_ZSWAP] = BEFORE_ZSWAP, [DB_IN_DISK] = BEFORE_DISK, [DB_IN_ZERO] = BEFORE_ZERO
	};

	if (outcome >= DB_IN_ERROR)
		return;
	note_before(plan, page, where[outcome], 0);
	if (plan->states[page] == OUT)
		move(plan, page, IN);
}

static void survey_out(struct kernel_plan *plan, const struct db_event *event, struct span span)
{
	if (db_flags_outcome(event->flags) == DB_OUT_KEPT)
		return;
	if (db_flags_outcome(event->flags) == DB_OUT_STORED && event->len) {
		plan->size.lengths++;
		plan->len_sum += event->len;
	}
	for (uint32_t i = 0; i < span.n; i++)
		move(plan, span.first + i, OUT);
}

void kernel_plan_survey(struct kernel_plan *plan, const struct db_event *event)
{
	struct span span = span_of(plan, event);

	if (!span.n)
		return;
	switch (event->kind) {
	case DB_OUT:
		survey_out(plan, event, span);
		break;
	case DB_IN:
		survey_in(plan, span.first, db_flags_outcome(event->flags));
		break;
	case DB_WB:
		if (db_flags_outcome(event->flags) == DB_WB_WRITTEN)
			note_before(plan, span.first, BEFORE_ZSWAP, event->len);
		break;
	case DB_FREE:
		for (uint32_t i = 0; i < span.n; i++)
			move(plan, span.first + i, FREED);
		break;
	default:
		break;
	}
}

/* -------------------------------------------------------------------------------------- planning */

static enum zr_err close_group(struct kernel_plan *plan, struct kernel_op *group)
{
	enum zr_err err = group->n ? plan->options.emit(plan->options.arg, group) : ZR_OK;

	group->n = 0;
	return err;
}

enum zr_err kernel_plan_flush(struct kernel_plan *plan)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < plan->n_workers && !err; i++)
		err = close_group(plan, &plan->groups[i]);
	return err;
}

static uint16_t worker_of(struct kernel_plan *plan, uint32_t task)
{
	uint16_t *worker =
		&plan->worker_of[task < plan->options.n_tasks ? task : plan->options.n_tasks];

	if (*worker != NO_WORKER)
		return *worker;
	if (plan->n_workers < plan->options.max_workers)
		*worker = (uint16_t)plan->n_workers++;
	else
		*worker = (uint16_t)(task % plan->options.max_workers);
	return *worker;
}

static bool joins(const struct kernel_op *group, enum kernel_verb verb, uint64_t time_ns)
{
	return group->n && group->n < KERNEL_GROUP && group->verb == verb &&
	       (verb == KERNEL_OUT || verb == KERNEL_FREE) &&
	       time_ns - group->time_ns <= KERNEL_GROUP_NS;
}

/* Who shall do it, what, and when the trace has it. */
struct step {
	uint64_t time_ns;
	uint16_t worker;
	enum kernel_verb verb;
};

static enum zr_err add_page(struct kernel_plan *plan, const struct step *step,
			    struct kernel_page page)
{
	struct kernel_op *group = &plan->groups[step->worker];
	enum zr_err err = ZR_OK;

	if (!joins(group, step->verb, step->time_ns)) {
		err = close_group(plan, group);
		group->time_ns = step->time_ns;
		group->worker = step->worker;
		group->verb = (uint8_t)step->verb;
	}
	page.turn = plan->turns[page.page]++;
	group->pages[group->n++] = page;
	return err;
}

/* A page of which no length was ever told is an average one. */
static uint16_t wanted_len(const struct kernel_plan *plan, uint64_t page)
{
	uint32_t mean = kernel_plan_size(plan).mean_len;

	if (plan->lens[page])
		return plan->lens[page];
	return (uint16_t)(mean ? mean : plan->options.page_size / 2);
}

/* A page that goes out twice must not wait for its own group. */
static enum zr_err out_page(struct kernel_plan *plan, const struct step *step, uint64_t page,
			    bool zero)
{
	bool renew = plan->states[page] == OUT;
	enum zr_err err = renew ? close_group(plan, &plan->groups[step->worker]) : ZR_OK;

	plan->states[page] = OUT;
	if (err)
		return err;
	return add_page(plan, step,
			(struct kernel_page){ .page = page,
					      .len = zero ? 0 : wanted_len(plan, page),
					      .renew = renew });
}

static enum zr_err feed_out(struct kernel_plan *plan, const struct db_event *event,
			    const struct step *step, struct span span)
{
	uint16_t len = told_len(plan, event);
	bool zero = db_flags_outcome(event->flags) == DB_OUT_ZERO;
	enum zr_err err = ZR_OK;

	if (db_flags_outcome(event->flags) == DB_OUT_KEPT) {
		plan->demand.kept += span.n;
		return ZR_OK;
	}
	for (uint32_t i = 0; i < span.n && !err; i++) {
		if (len)
			plan->lens[span.first + i] = len;
		err = out_page(plan, step, span.first + i, zero);
	}
	plan->demand.outs += span.n;
	return err;
}

static enum zr_err feed_in(struct kernel_plan *plan, const struct step *step, uint64_t page)
{
	if (plan->states[page] != OUT && plan->states[page] != IN) {
		plan->demand.unknown++;
		return ZR_OK;
	}
	plan->states[page] = IN;
	plan->demand.ins++;
	return add_page(plan, step, (struct kernel_page){ .page = page });
}

static enum zr_err feed_free(struct kernel_plan *plan, const struct step *step, struct span span)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < span.n && !err; i++) {
		uint8_t *state = &plan->states[span.first + i];

		if (*state != OUT && *state != IN)
			continue;
		*state = FREED;
		plan->demand.frees++;
		err = add_page(plan, step, (struct kernel_page){ .page = span.first + i });
	}
	return err;
}

enum zr_err kernel_plan_feed(struct kernel_plan *plan, const struct db_event *event)
{
	struct span span = span_of(plan, event);
	struct step step = { .time_ns = event->time_ns };

	switch (event->kind) {
	case DB_OUT:
		step.verb = KERNEL_OUT;
		step.worker = worker_of(plan, event->task);
		return feed_out(plan, event, &step, span);
	case DB_IN:
		if (!span.n || db_flags_outcome(event->flags) >= DB_IN_ERROR)
			return ZR_OK;
		step.verb = event->flags & DB_F_READAHEAD ? KERNEL_AHEAD : KERNEL_IN;
		step.worker = worker_of(plan, event->task);
		return feed_in(plan, &step, span.first);
	case DB_FREE:
		step.verb = KERNEL_FREE;
		step.worker = worker_of(plan, event->task);
		return feed_free(plan, &step, span);
	case DB_WB:
		plan->demand.written_back += db_flags_outcome(event->flags) == DB_WB_WRITTEN;
		return ZR_OK;
	case DB_RECLAIM: /* ends the batch of who reclaims */
		return close_group(plan, &plan->groups[worker_of(plan, event->task)]);
	default:
		return ZR_OK;
	}
}

/* The survey has left its end in the states. */
static void begin_anew(struct kernel_plan *plan)
{
	for (uint64_t page = 0; page < plan->pages; page++)
		plan->states[page] = UNSEEN;
}

enum zr_err kernel_plan_preload(struct kernel_plan *plan, bool on_disk)
{
	struct step step = { .worker = 0, .verb = KERNEL_OUT };
	enum zr_err err = ZR_OK;

	if (on_disk)
		begin_anew(plan);
	for (uint64_t page = 0; page < plan->pages && !err; page++) {
		uint8_t before = plan->befores[page];

		if (before != UNSEEN && (before == BEFORE_DISK) == on_disk)
			err = out_page(plan, &step, page, before == BEFORE_ZERO);
	}
	return err ? err : close_group(plan, &plan->groups[0]);
}
