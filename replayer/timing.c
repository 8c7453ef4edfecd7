/* SPDX-License-Identifier: MIT */
/* The virtual clock of timing.h. */
#include "replayer/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/survey.h"

enum { TASKS_MAX = 1 << 24, OPS_FIRST = 1024, NO_TASK = UINT32_MAX };

/* SPARED: a read that the recording waited for and that is not needed here. AHEAD: one that nobody
 * waits for. */
enum op_kind { OP_BEGIN, OP_END, OP_READ, OP_SPARED, OP_AHEAD, OP_WRITE };

/* What a task did, on its way to the clock. */
struct op {
	uint64_t base_ns;	   /* when, by the pace alone */
	uint64_t start_page;	   /* on the device */
	uint32_t pages, waited_ns; /* waited: in the recording, from base_ns on */
	uint32_t next;
	uint16_t memcg;
	uint8_t kind;
	bool merged, worker;
};

struct timed_task {
	uint32_t head, tail; /* op + 1 */
	uint32_t cpu, waits;
	int64_t lag_ns;
	uint64_t clock_ns, events_left;
	uint64_t direct_ns,
		held_ns; /* of its last direct write; of the first that the plan holds */
	bool seen, alive, blocked, due; /* due: its head is in the heap */
};

/* I/O that somebody waits for: a task's read, or a write of the rival. */
struct request {
	struct iocost_waiter waiter; /* first */
	struct request *next_free, *next_made;
	struct op op;
	uint32_t task; /* NO_TASK: nobody's; a write is the rival's */
	uint64_t asked_ns, issued_ns;
};

enum event_kind { EVENT_TASK, EVENT_WAKE, EVENT_REQUEST_DONE, EVENT_WRITE_DONE };

struct event {
	uint64_t time_ns, seq;
	enum event_kind kind;
	uint32_t task;
	uint64_t since_ns; /* WAKE: of the wait; WRITE_DONE: of the write */
	struct request *request;
};

struct timing {
	struct sim_sink sink;	     /* first: the sim's */
	struct swapio_target target; /* the plan's */
	struct swapio swapio;
	const struct timing_plan *plan;
	struct zr_arena arena;
	struct devmodel device;
	struct iocost iocost;
	struct psi psi;
	struct timing_report report;
	uint64_t area_pages[DB_AREA_MAX + 1]; /* where each area begins on the device */

	struct db_event now; /* the event that is being fed */
	enum sim_walk walk;
	bool bio_pending, read_asked; /* asked: by the event that is being fed */
	struct swapio_bio bio;
	uint64_t requests_before; /* of the plan, before that bio */
	uint64_t idle_read_ns;	  /* what the recorded waits are taken for */

	struct timed_task *tasks;
	int64_t *memcg_lag_ns; /* of the task that acted last */
	uint32_t cpus_dealt;
	struct op *ops; /* index + 1 is a link */
	uint32_t n_ops, op_room, free_op, waiting_ops;
	struct event *heap;
	size_t n_heap, heap_room;
	struct request *free_requests, *made;
	uint64_t requests_under_way, seq;
	uint64_t clock_ns, fed_ns, origin_ns,
		last_ns; /* fed: recorded time; last: of what tasks did */
	int64_t least_lag_ns;
	bool started, rival_started, finishing, no_memory;
};

/* -------------------------------------------------------------------------------------- pace */

static const char *const pace_names[] = {
	[PLAY_ASAP] = "asap",
	[PLAY_RECORDED] = "recorded",
	[PLAY_SCALED] = "scaled",
	[PLAY_CLOSED] = "closed",
};

enum { N_PACES = sizeof(pace_names) / sizeof(pace_names[0]) };

static bool is_speed(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0.001 && *out <= 1e6;
}

enum zr_err play_pace_parse(const char *text, enum play_pace *pace, double *speed)
{
	size_t name = strcspn(text, ":");

	*speed = 1;
	for (unsigned i = 0; i < N_PACES; i++) {
		*pace = (enum play_pace)i;
		if (strlen(pace_names[i]) != name || strncmp(pace_names[i], text, name) != 0)
			continue;
		if (i == PLAY_SCALED ? text[name] && is_speed(text + name + 1, speed) : !text[name])
			return ZR_OK;
	}
	return zr_fail(
		ZR_USAGE,
		"pace '%.40s': it is asap, recorded, closed, or scaled:X with X from 0.001 to 1e6",
		text);
}

void play_pace_to_text(enum play_pace pace, double speed, char *text, size_t bytes)
{
	if (pace == PLAY_SCALED)
		snprintf(text, bytes, "%s:%g", pace_names[pace], speed);
	else
		snprintf(text, bytes, "%s", pace_names[pace]);
}

/* ------------------------------------------------------------------------------------ survey */

static bool grow_tasks(struct timing_plan *plan, uint32_t id, uint32_t *room)
{
	uint32_t wanted = *room ? *room : 1024;
	struct timing_task_span *grown;

	while (wanted <= id)
		wanted *= 2;
	grown = realloc(plan->tasks, wanted * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + *room, 0, (wanted - *room) * sizeof(*grown));
	plan->tasks = grown;
	*room = wanted;
	return true;
}

/* Tasks whose number is beyond all reason are one task, 0. */
static uint32_t task_number(uint32_t id)
{
	return id < TASKS_MAX ? id : 0;
}

static enum zr_err note_tasks(struct timing_plan *plan, const struct db_batch *batch,
			      uint32_t *room)
{
	for (uint32_t row = 0; row < batch->n; row++) {
		uint32_t id = task_number(batch->task[row]);

		if (id >= *room && !grow_tasks(plan, id, room))
			return zr_fail(ZR_NOMEM, "noting %u tasks: no memory", id);
		if (id >= plan->n_tasks)
			plan->n_tasks = id + 1;
		plan->tasks[id].events++;
	}
	return ZR_OK;
}

enum zr_err timing_survey(struct db *trace, const struct db_filter *filter,
			  struct timing_plan *plan)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	uint32_t room = 0;
	int64_t cpus = db_env_int(trace, (uint32_t)filter->host, DB_ENV_CPUS, 1);
	enum zr_err err = db_reader_new(trace, filter, &reader);

	plan->cpus = cpus < 1 ? 1 : cpus > 4096 ? 4096 : (uint32_t)cpus;
	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		err = note_tasks(plan, batch, &room);
		if (err)
			break;
	}
	db_reader_free(reader);
	return err;
}

/* -------------------------------------------------------------------------------------- heap */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->seq < b->seq);
}

static void push(struct timing *timing, const struct event *event)
{
	size_t at = timing->n_heap;

	if (at == timing->heap_room) {
		size_t room = at ? 2 * at : OPS_FIRST;
		struct event *grown = realloc(timing->heap, room * sizeof(*grown));

		if (!grown) {
			timing->no_memory = true;
			return;
		}
		timing->heap = grown;
		timing->heap_room = room;
	}
	timing->n_heap++;
	timing->heap[at] = *event;
	timing->heap[at].seq = timing->seq++;
	while (at && is_before(&timing->heap[at], &timing->heap[(at - 1) / 2])) {
		struct event up = timing->heap[(at - 1) / 2];

		timing->heap[(at - 1) / 2] = timing->heap[at];
		timing->heap[at] = up;
		at = (at - 1) / 2;
	}
}

static struct event pop(struct timing *timing)
{
	struct event first = timing->heap[0], last = timing->heap[--timing->n_heap];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < timing->n_heap; at = child) {
		if (child + 1 < timing->n_heap &&
		    is_before(&timing->heap[child + 1], &timing->heap[child]))
			child++;
		if (!is_before(&timing->heap[child], &last))
			break;
		timing->heap[at] = timing->heap[child];
	}
	timing->heap[at] = last;
	return first;
}

/* --------------------------------------------------------------------------------- op queues */

/* Under the open paces a task does not wait for what it asked for. */
static bool is_open(const struct timing *timing)
{
	return timing->plan->pace == PLAY_RECORDED || timing->plan->pace == PLAY_SCALED;
}

static uint32_t new_op(struct timing *timing)
{
	uint32_t at = timing->free_op;

	if (at) {
		timing->free_op = timing->ops[at - 1].next;
		return at;
	}
	if (timing->n_ops == timing->op_room) {
		uint32_t room = timing->op_room ? 2 * timing->op_room : OPS_FIRST;
		struct op *grown = realloc(timing->ops, room * sizeof(*grown));

		if (!grown) {
			timing->no_memory = true;
			return 0;
		}
		timing->ops = grown;
		timing->op_room = room;
	}
	return ++timing->n_ops;
}

static uint64_t earlier(uint64_t time_ns, uint64_t by_ns)
{
	return time_ns > by_ns ? time_ns - by_ns : 0;
}

static uint64_t paced(const struct timing *timing, uint64_t time_ns)
{
	uint64_t since = earlier(time_ns, timing->origin_ns);

	switch (timing->plan->pace) {
	case PLAY_ASAP:
		return timing->origin_ns;
	case PLAY_SCALED:
		return timing->origin_ns + (uint64_t)((double)since / timing->plan->speed);
	default:
		return timing->origin_ns + since;
	}
}

/* Puts the task's head into the heap, unless it waits or is there. */
static void make_due(struct timing *timing, uint32_t id)
{
	struct timed_task *task = &timing->tasks[id];
	const struct op *op;
	int64_t at;

	if (!task->head || task->blocked || task->due)
		return;
	op = &timing->ops[task->head - 1];
	at = (int64_t)op->base_ns + task->lag_ns;
	if (at < (int64_t)task->clock_ns)
		at = (int64_t)task->clock_ns;
	if (at < (int64_t)timing->clock_ns) {
		timing->report.late += timing->plan->pace != PLAY_ASAP;
		at = (int64_t)timing->clock_ns;
	}
	task->due = true;
	push(timing, &(struct event){ .time_ns = (uint64_t)at, .kind = EVENT_TASK, .task = id });
}

static void add_op(struct timing *timing, uint32_t id, const struct op *op)
{
	struct timed_task *task = &timing->tasks[id];
	uint32_t at = new_op(timing);

	if (!at)
		return;
	timing->ops[at - 1] = *op;
	timing->ops[at - 1].base_ns = paced(timing, op->base_ns);
	timing->ops[at - 1].next = 0;
	*(task->tail ? &timing->ops[task->tail - 1].next : &task->head) = at;
	task->tail = at;
	timing->waiting_ops++;
	make_due(timing, id);
}

static struct op take_op(struct timing *timing, struct timed_task *task)
{
	uint32_t at = task->head;
	struct op op = timing->ops[at - 1];

	task->head = op.next;
	if (!task->head)
		task->tail = 0;
	timing->ops[at - 1].next = timing->free_op;
	timing->free_op = at;
	timing->waiting_ops--;
	return op;
}

/* ----------------------------------------------------------------------------------- waiting */

static void begin_wait(struct timing *timing, struct timed_task *task)
{
	task->blocked = !is_open(timing);
	if (!task->waits++)
		psi_change(&timing->psi, timing->clock_ns, task->cpu, task->alive ? -1 : 0, 1);
}

static void add_lag(struct timing *timing, struct timed_task *task, int64_t lag_ns)
{
	if (timing->plan->pace != PLAY_CLOSED)
		return;
	task->lag_ns += lag_ns;
	if (task->lag_ns < timing->least_lag_ns)
		timing->least_lag_ns = task->lag_ns;
}

/* A task that waited from `since_ns` on, which it had not done in the recording but for
 * `waited_ns`. */
static void end_wait(struct timing *timing, uint32_t id, uint64_t since_ns, uint64_t waited_ns)
{
	struct timed_task *task = &timing->tasks[id];

	if (!--task->waits)
		psi_change(&timing->psi, timing->clock_ns, task->cpu, task->alive ? 1 : 0, -1);
	timing->report.stall_ns += timing->clock_ns - since_ns;
	timing->last_ns = timing->clock_ns;
	if (is_open(timing))
		return;
	task->blocked = false;
	task->clock_ns = timing->clock_ns;
	add_lag(timing, task, (int64_t)(timing->clock_ns - since_ns) - (int64_t)waited_ns);
	make_due(timing, id);
}

static void sleep_until(struct timing *timing, uint32_t id, uint64_t until_ns)
{
	if (until_ns <= timing->clock_ns)
		return;
	begin_wait(timing, &timing->tasks[id]);
	push(timing, &(struct event){ .time_ns = until_ns,
				      .kind = EVENT_WAKE,
				      .task = id,
				      .since_ns = timing->clock_ns });
}

static uint64_t delay_end(const struct timing *timing, uint32_t memcg)
{
	return timing->clock_ns +
	       (timing->plan->params.iocost ? iocost_delay_ns(&timing->iocost, memcg) : 0);
}

/* ---------------------------------------------------------------------------------- requests */

static struct timed_io io_of(const struct op *op)
{
	return (struct timed_io){ .start_page = op->start_page,
				  .pages = op->pages,
				  .write = op->kind == OP_WRITE,
				  .merged = op->merged };
}

static void issue(struct timing *timing, struct request *request)
{
	struct timed_io io = io_of(&request->op);
	struct dev_times times = devmodel_submit(&timing->device, &io, timing->clock_ns);

	request->issued_ns = timing->clock_ns;
	iocost_place_wait(&timing->iocost, times.taken_ns - timing->clock_ns);
	push(timing, &(struct event){ .time_ns = times.done_ns,
				      .kind = EVENT_REQUEST_DONE,
				      .task = request->task,
				      .request = request });
}

static void on_go(void *arg, struct iocost_waiter *waiter)
{
	issue(arg, (struct request *)waiter);
}

static struct request *new_request(struct timing *timing)
{
	struct request *request = timing->free_requests;

	if (request) {
		timing->free_requests = request->next_free;
		return request;
	}
	request = calloc(1, sizeof(*request));
	if (!request) {
		timing->no_memory = true;
		return NULL;
	}
	request->next_made = timing->made;
	timing->made = request;
	return request;
}

static void ask(struct timing *timing, uint32_t task, const struct op *op)
{
	struct request *request = new_request(timing);
	struct timed_io io = io_of(op);

	if (!request)
		return;
	request->op = *op;
	request->task = task;
	request->asked_ns = timing->clock_ns;
	timing->requests_under_way++;
	if (!timing->plan->params.iocost ||
	    iocost_submit(&timing->iocost, op->memcg, &io, &request->waiter) == IOCOST_ISSUE)
		issue(timing, request);
}

/* Reads are the tasks'; the rival only writes. */
static void ask_for_rival(struct timing *timing)
{
	struct op op = { .kind = OP_WRITE,
			 .pages = 1,
			 .memcg = (uint16_t)(timing->iocost.n_groups - 1) };

	/* Far from wherever it was: a stride prime to the area that it covers. */
	op.start_page = (uint64_t)1 << 32 | (timing->seq * 2654435761u) >> 8 % 24 << 8;
	ask(timing, NO_TASK, &op);
}

static void request_done(struct timing *timing, struct request *request)
{
	struct op op = request->op;
	uint64_t asked = request->asked_ns, issued = request->issued_ns;
	uint32_t task = request->task;

	request->next_free = timing->free_requests;
	timing->free_requests = request;
	timing->requests_under_way--;
	iocost_done(&timing->iocost, op.kind == OP_WRITE, timing->clock_ns - issued);
	if (task == NO_TASK) {
		if (op.kind == OP_WRITE && (!timing->finishing || timing->waiting_ops))
			ask_for_rival(timing);
		return;
	}
	zr_hist_add(&timing->report.read_ns, timing->clock_ns - asked);
	end_wait(timing, task, asked, op.waited_ns);
	/* On the way back to user space. */
	sleep_until(timing, task, delay_end(timing, op.memcg));
}

/* ------------------------------------------------------------------------------------- tasks */

static void write_out(struct timing *timing, uint32_t id, const struct op *op)
{
	struct timed_io io = io_of(op);
	struct dev_times times;
	uint64_t until;

	if (timing->plan->params.iocost)
		(void)iocost_submit(&timing->iocost, op->memcg, &io, NULL);
	times = devmodel_submit(&timing->device, &io, timing->clock_ns);
	iocost_place_wait(&timing->iocost, times.taken_ns - timing->clock_ns);
	push(timing, &(struct event){ .time_ns = times.done_ns,
				      .kind = EVENT_WRITE_DONE,
				      .since_ns = timing->clock_ns });
	if (op->worker)
		return;
	until = delay_end(timing, op->memcg);
	sleep_until(timing, id, until > times.taken_ns ? until : times.taken_ns);
}

static void act(struct timing *timing, uint32_t id)
{
	struct timed_task *task = &timing->tasks[id];
	struct op op = take_op(timing, task);

	task->due = false;
	task->clock_ns = timing->clock_ns;
	timing->last_ns = timing->clock_ns;
	switch ((enum op_kind)op.kind) {
	case OP_BEGIN:
	case OP_END:
		task->alive = op.kind == OP_BEGIN;
		if (!task->waits)
			psi_change(&timing->psi, timing->clock_ns, task->cpu, task->alive ? 1 : -1,
				   0);
		break;
	case OP_READ:
		begin_wait(timing, task);
		ask(timing, id, &op);
		break;
	case OP_AHEAD:
		ask(timing, NO_TASK, &op);
		break;
	case OP_SPARED:
		add_lag(timing, task, -(int64_t)op.waited_ns);
		break;
	case OP_WRITE:
		write_out(timing, id, &op);
		break;
	}
	make_due(timing, id);
}

static void handle(struct timing *timing, const struct event *event)
{
	switch (event->kind) {
	case EVENT_TASK:
		act(timing, event->task);
		break;
	case EVENT_WAKE:
		end_wait(timing, event->task, event->since_ns, 0);
		break;
	case EVENT_REQUEST_DONE:
		request_done(timing, event->request);
		break;
	case EVENT_WRITE_DONE:
		iocost_done(&timing->iocost, true, event->time_ns - event->since_ns);
		zr_hist_add(&timing->report.write_ns, event->time_ns - event->since_ns);
		break;
	}
}

/* The next thing that happens, if it happens by then. */
static bool step(struct timing *timing, uint64_t horizon_ns)
{
	uint64_t next = timing->n_heap ? timing->heap[0].time_ns : UINT64_MAX;
	uint64_t control =
		timing->plan->params.iocost ? iocost_next_ns(&timing->iocost) : UINT64_MAX;
	struct event event;

	if ((next < control ? next : control) > horizon_ns ||
	    (next == UINT64_MAX && control == next))
		return false;
	timing->clock_ns = next < control ? next : control;
	iocost_advance(&timing->iocost, timing->clock_ns);
	if (next > control)
		return true;
	event = pop(timing);
	handle(timing, &event);
	return true;
}

/* ------------------------------------------------------------------------------- what is fed */

static void flush_bio(struct timing *timing)
{
	const struct swapio_bio *bio = &timing->bio;
	bool direct = bio->context == SWAPIO_DIRECT;
	uint32_t id = task_number(direct ? bio->task : timing->now.task);

	if (!timing->bio_pending)
		return;
	timing->bio_pending = false;
	add_op(timing, id,
	       &(struct op){ .kind = OP_WRITE,
			     .base_ns = direct ? timing->tasks[id].direct_ns : timing->now.time_ns,
			     .start_page = timing->area_pages[bio->area] + bio->slot,
			     .pages = bio->pages,
			     .memcg = bio->memcg,
			     .merged = timing->swapio.io.write_requests == timing->requests_before,
			     .worker = !direct && timing->walk == SIM_WALK_WORKER });
}

static struct timing *timing_of(struct swapio_target *target)
{
	return (struct timing *)((char *)target - offsetof(struct timing, target));
}

/* Whether it merged is known when the plan calls next. */
static bool on_bio(struct swapio_target *target, const struct swapio_bio *bio)
{
	struct timing *timing = timing_of(target);

	flush_bio(timing);
	timing->bio_pending = true;
	timing->bio = *bio;
	timing->requests_before = timing->swapio.io.write_requests;
	return false;
}

static void on_kick(struct swapio_target *target, enum swapio_context_id context)
{
	(void)context;
	flush_bio(timing_of(target));
}

static void on_target_read(struct swapio_target *target, uint8_t area, uint32_t slot)
{
	(void)target, (void)area, (void)slot;
}

static void on_walk_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct timing *timing = (struct timing *)sink;

	timing->walk = kind;
	timing->swapio.sink.walk_begin(&timing->swapio.sink, kind, time_ns);
}

/* What the plan holds of the task's direct writes. */
static uint32_t folios_held(const struct timing *timing, uint32_t task)
{
	for (uint32_t i = 0; i < SWAPIO_TASKS; i++)
		if (timing->swapio.tasks[i].open && timing->swapio.tasks[i].task == task)
			return timing->swapio.tasks[i].context.n;
	return 0;
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct timing *timing = (struct timing *)sink;
	struct timed_task *task = &timing->tasks[task_number(write->task)];

	timing->swapio.sink.write(&timing->swapio.sink, write);
	flush_bio(timing);
	if (timing->swapio.current->id != SWAPIO_DIRECT)
		return;
	task->direct_ns = write->time_ns;
	if (folios_held(timing, write->task) == 1)
		task->held_ns = write->time_ns;
}

static void on_task_done(struct sim_sink *sink, uint32_t task)
{
	struct timing *timing = (struct timing *)sink;

	timing->swapio.sink.task_done(&timing->swapio.sink, task);
	flush_bio(timing);
}

static void on_walk_end(struct sim_sink *sink)
{
	struct timing *timing = (struct timing *)sink;

	timing->swapio.sink.walk_end(&timing->swapio.sink);
	flush_bio(timing);
	timing->walk = SIM_WALK_DIRECT;
}

static uint64_t recorded_wait(const struct timing *timing)
{
	const struct db_event *event = &timing->now;
	bool waited = event->kind == DB_IN && !(event->flags & DB_F_READAHEAD) &&
		      db_flags_outcome(event->flags) == DB_IN_DISK;

	return waited ? timing->idle_read_ns : 0;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	struct timing *timing = (struct timing *)sink;
	bool ahead = timing->now.flags & DB_F_READAHEAD;
	uint64_t waited = recorded_wait(timing);

	timing->read_asked = true;
	timing->swapio.sink.read(&timing->swapio.sink, time_ns, area, slot, memcg);
	flush_bio(timing);
	add_op(timing, task_number(timing->now.task),
	       &(struct op){ .kind = ahead ? OP_AHEAD : OP_READ,
			     .base_ns = earlier(timing->now.time_ns, waited),
			     .waited_ns = (uint32_t)waited,
			     .start_page = timing->area_pages[area] + slot,
			     .pages = 1,
			     .memcg = memcg });
}

/* -------------------------------------------------------------------------------------- life */

static void place_areas(struct timing *timing, const struct sim_machine *machine)
{
	uint64_t at = 0;

	for (uint32_t area = 0; area < machine->n_areas; area++) {
		timing->area_pages[area] = at;
		at += machine->area_slots[area];
	}
}

static uint64_t idle_read_ns(const struct time_params *params)
{
	struct cost_model model = device_cost_model(params);
	uint64_t cursor = UINT64_MAX / 2;

	return cost_of(&model, &(struct timed_io){ .start_page = 0, .pages = 1 }, &cursor) +
	       params->read_delay_ns + params->read_delay_page_ns;
}

static enum zr_err make_parts(struct timing *timing, const struct sim_machine *machine)
{
	const struct time_params *params = &timing->plan->params;
	uint32_t groups = machine->n_memcgs + (params->rival ? 1 : 0);
	enum zr_err err = devmodel_init(&timing->device, params, &timing->arena);

	timing->tasks =
		zr_arena_array(&timing->arena, timing->plan->n_tasks + 1, sizeof(*timing->tasks));
	timing->memcg_lag_ns =
		zr_arena_array(&timing->arena, machine->n_memcgs, sizeof(*timing->memcg_lag_ns));
	if (!err && (!timing->tasks || !timing->memcg_lag_ns))
		err = zr_fail(ZR_NOMEM, "timing %u tasks: no memory", timing->plan->n_tasks);
	if (!err)
		err = iocost_init(&timing->iocost, params, &timing->arena, groups);
	timing->iocost.go = on_go;
	timing->iocost.arg = timing;
	for (uint32_t id = 0; id < timing->plan->n_tasks && !err; id++)
		timing->tasks[id].events_left = timing->plan->tasks[id].events;
	return err;
}

enum zr_err timing_new(const struct timing_plan *plan, const struct sim_machine *machine,
		       const struct sim_policy *policy, struct timing **out)
{
	struct timing *timing = calloc(1, sizeof(*timing));
	enum zr_err err;

	*out = NULL;
	if (!timing)
		return zr_fail(ZR_NOMEM, "timing policy '%s': no memory", policy->text);
	timing->plan = plan;
	timing->sink = (struct sim_sink){ .walk_begin = on_walk_begin,
					  .write = on_write,
					  .walk_end = on_walk_end,
					  .read = on_read,
					  .task_done = on_task_done };
	timing->target =
		(struct swapio_target){ .bio = on_bio, .kick = on_kick, .read = on_target_read };
	swapio_init(&timing->swapio, policy, machine->page_size, &timing->target);
	/* The kernel whose I/O is modelled has a block cgroup for each memcg. */
	timing->swapio.one_process = false;
	swapio_follow_tasks(&timing->swapio);
	timing->walk = SIM_WALK_DIRECT;
	timing->idle_read_ns = idle_read_ns(&plan->params);
	place_areas(timing, machine);
	err = make_parts(timing, machine);
	if (err) {
		timing_free(timing);
		return err;
	}
	*out = timing;
	return ZR_OK;
}

void timing_free(struct timing *timing)
{
	if (!timing)
		return;
	for (struct request *request = timing->made, *next; request; request = next) {
		next = request->next_made;
		free(request);
	}
	free(timing->ops);
	free(timing->heap);
	zr_arena_fini(&timing->arena);
	free(timing);
}

struct sim_sink *timing_sink(struct timing *timing)
{
	return &timing->sink;
}

const struct swapio *timing_swapio(const struct timing *timing)
{
	return &timing->swapio;
}

static void start(struct timing *timing, uint64_t time_ns)
{
	timing->started = true;
	/* Room for a wait before the first event. */
	timing->origin_ns = earlier(time_ns, timing->idle_read_ns);
	timing->clock_ns = timing->last_ns = timing->origin_ns;
	iocost_advance(&timing->iocost, timing->origin_ns);
	if (psi_init(&timing->psi, &timing->arena, timing->plan->cpus, timing->origin_ns)) {
		zr_error_clear();
		timing->no_memory = true;
	}
}

static void begin_task(struct timing *timing, uint32_t id, uint16_t memcg)
{
	struct timed_task *task = &timing->tasks[id];

	task->seen = true;
	task->cpu = timing->cpus_dealt++ % timing->plan->cpus;
	task->lag_ns = timing->memcg_lag_ns[memcg];
	add_op(timing, id,
	       &(struct op){ .kind = OP_BEGIN,
			     .base_ns = earlier(timing->now.time_ns, timing->idle_read_ns) });
}

void timing_before(struct timing *timing, const struct db_event *event)
{
	uint32_t id = task_number(event->task);

	timing->now = *event;
	timing->read_asked = false;
	if (!timing->started)
		start(timing, event->time_ns);
	if (!timing->tasks[id].seen)
		begin_task(timing, id, event->memcg);
}

void timing_after(struct timing *timing)
{
	uint32_t id = task_number(timing->now.task);
	struct timed_task *task = &timing->tasks[id];

	timing->fed_ns = timing->now.time_ns;
	timing->memcg_lag_ns[timing->now.memcg] = task->lag_ns;
	if (recorded_wait(timing) && !timing->read_asked)
		add_op(timing, id,
		       &(struct op){ .kind = OP_SPARED,
				     .base_ns = earlier(timing->now.time_ns, recorded_wait(timing)),
				     .waited_ns = (uint32_t)recorded_wait(timing) });
	if (!--task->events_left)
		add_op(timing, id, &(struct op){ .kind = OP_END, .base_ns = timing->now.time_ns });
	if (timing->plan->params.rival && !timing->rival_started) {
		timing->rival_started = true;
		for (uint64_t i = 0; i < timing->plan->params.rival_depth; i++)
			ask_for_rival(timing);
	}
	while (timing->plan->pace == PLAY_ASAP && task->head && step(timing, UINT64_MAX))
		;
}

/* A run of direct writes may stay open; its bios happen when they were written, so the clock waits
 * for them. */
static uint64_t final_ns(const struct timing *timing)
{
	uint64_t first = timing->fed_ns;

	for (uint32_t i = 0; i < SWAPIO_TASKS; i++) {
		const struct swapio_task *open = &timing->swapio.tasks[i];
		const struct timed_task *task = &timing->tasks[task_number(open->task)];

		if (open->open && open->context.n && task->held_ns < first)
			first = task->held_ns;
	}
	return first;
}

/* All that is to come begins at or behind this. */
static uint64_t horizon(const struct timing *timing)
{
	uint64_t first = earlier(final_ns(timing), timing->idle_read_ns);
	int64_t at = (int64_t)paced(timing, first) + timing->least_lag_ns;

	return at > (int64_t)timing->origin_ns ? (uint64_t)at - 1 : timing->origin_ns;
}

void timing_play(struct timing *timing)
{
	if (timing->plan->pace == PLAY_ASAP)
		return;
	while (step(timing, horizon(timing)))
		;
	while (timing->waiting_ops > TIMING_OPS_MAX && step(timing, UINT64_MAX))
		;
}

static void sum_groups(struct timing *timing)
{
	uint32_t n = timing->iocost.n_groups - (timing->plan->params.rival ? 1 : 0);

	iocost_finish(&timing->iocost);
	for (uint32_t i = 0; i < n; i++) {
		const struct iocost_group *group = &timing->iocost.groups[i];

		timing->report.iocost_debt_ns += group->indebt.total_ns;
		timing->report.iocost_wait_ns += group->wait.total_ns;
		timing->report.iocost_delay_ns += group->indelay.total_ns;
		timing->report.iocost_usage_ns += group->usage_ns;
	}
}

enum zr_err timing_finish(struct timing *timing, struct timing_report *report)
{
	timing->finishing = true;
	while ((timing->waiting_ops || timing->n_heap || timing->requests_under_way) &&
	       !timing->no_memory && step(timing, UINT64_MAX))
		;
	if (timing->started && !timing->no_memory)
		psi_finish(&timing->psi, timing->clock_ns);
	sum_groups(timing);
	timing->report.makespan_ns = timing->last_ns - timing->origin_ns;
	timing->report.drift_ns = (int64_t)timing->last_ns - (int64_t)paced(timing, timing->fed_ns);
	timing->report.io_some_ns = timing->psi.some_ns;
	timing->report.io_full_ns = timing->psi.full_ns;
	*report = timing->report;
	return timing->no_memory ? zr_fail(ZR_NOMEM, "timing %u I/Os: no memory", timing->n_ops)
				 : ZR_OK;
}
