/* SPDX-License-Identifier: MIT */
/* The plan of swapio.h. */
#include "replayer/swapio.h"

#include <string.h>

enum {
	PLUG_REQUESTS = 32,
	REQUEST_BYTES_MAX = 1280 * 1024,
	REQUEST_SEGMENTS_MAX = 128,
	SEGMENT_BYTES_MAX = 64 * 1024,
	PLUG_FLUSH_BYTES = 128 * 1024,
};

static struct swapio *swapio_of(struct sim_sink *sink)
{
	return (struct swapio *)sink;
}

static void kick(struct swapio *swapio, struct swapio_context *context)
{
	if (swapio->target)
		swapio->target->kick(swapio->target, context->id);
}

/* ------------------------------------------------------------------------------------------- plug */

static bool same_queue(const struct swapio *swapio, const struct swapio_request *request, uint8_t area)
{
	return swapio->one_process || request->area == area;
}

/* The one request that the bio is compared with, or NULL. */
static struct swapio_request *plug_candidate(const struct swapio *swapio, struct swapio_plug *plug,
					     uint8_t area)
{
	if (!plug->n || swapio->nomerges == 2)
		return NULL;
	if (same_queue(swapio, &plug->requests[plug->n - 1], area))
		return &plug->requests[plug->n - 1];
	for (uint32_t i = 0; i < plug->n; i++)
		if (same_queue(swapio, &plug->requests[i], area))
			return &plug->requests[i];
	return NULL;
}

static bool fits(const struct swapio *swapio, const struct swapio_request *request,
		 const struct swapio_request *bio)
{
	uint64_t pages = (uint64_t)(request->end - request->start) + (bio->end - bio->start);

	return pages * swapio->page_size <= REQUEST_BYTES_MAX &&
	       request->segments + bio->segments <= REQUEST_SEGMENTS_MAX;
}

static bool is_adjacent(const struct swapio *swapio, const struct swapio_request *request,
			const struct swapio_request *bio)
{
	return !request->no_merge && request->area == bio->area &&
	       (swapio->one_process || request->memcg == bio->memcg) &&
	       (request->end == bio->start || bio->end == request->start);
}

static void merge(struct swapio_request *request, const struct swapio_request *bio)
{
	if (request->end == bio->start)
		request->end = bio->end;
	else
		request->start = bio->start;
	request->segments += bio->segments;
}

static bool must_flush(const struct swapio *swapio, const struct swapio_plug *plug)
{
	uint32_t most = plug->several_queues ? SWAPIO_PLUG_MAX : PLUG_REQUESTS;
	const struct swapio_request *oldest = &plug->requests[0];

	return plug->n >= most ||
	       (plug->n && swapio->nomerges < 2 &&
		(uint64_t)(oldest->end - oldest->start) * swapio->page_size >= PLUG_FLUSH_BYTES);
}

static void request_leaves(struct swapio *swapio, const struct swapio_request *request)
{
	if (swapio->request_pages)
		zr_hist_add(swapio->request_pages, request->end - request->start);
	if (swapio->request_left)
		swapio->request_left(swapio->left_arg, request);
}

/* ------------------------------------------------------------------------------------- scheduler */

/* The request among the first `n` that ends where this one starts. */
static struct swapio_request *ends_before(struct swapio_request *requests, uint32_t n,
					  const struct swapio_request *request)
{
	for (uint32_t i = 0; i < n; i++)
		if (requests[i].area == request->area && requests[i].end == request->start)
			return &requests[i];
	return NULL;
}

static bool append(const struct swapio *swapio, struct swapio_request *to,
		   const struct swapio_request *request)
{
	if (!to || to->area != request->area || to->end != request->start ||
	    !fits(swapio, to, request))
		return false;
	to->end = request->end;
	to->segments += request->segments;
	return true;
}

/* mq-deadline: the requests of a plug as it takes them; those that stay are at the front. Returns how many. */
static uint32_t take_requests(struct swapio *swapio, struct swapio_plug *plug)
{
	struct swapio_request *requests = plug->requests, *last = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < plug->n; i++) {
		struct swapio_request *to, *from = &requests[i];

		if (append(swapio, last, from))
			continue;
		to = swapio->nomerges ? NULL : ends_before(requests, n, from);
		if (!append(swapio, to, from)) {
			requests[n] = *from;
			if (!last)
				last = &requests[n];
			n++;
			continue;
		}
		for (from = to; (to = ends_before(requests, n, from)) && append(swapio, to, from);
		     from = to)
			/* Leaves by being a request without pages, which nothing is next to. */
			*from = (struct swapio_request){ .start = UINT32_MAX, .end = UINT32_MAX };
		last = from;
	}
	return n;
}

static void flush_plug(struct swapio *swapio, struct swapio_plug *plug)
{
	bool scheduled = swapio->sched == SIM_SCHED_MQ_DEADLINE && swapio->nomerges < 2;
	uint32_t n = scheduled ? take_requests(swapio, plug) : plug->n, left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (plug->requests[i].start == UINT32_MAX)
			continue;
		request_leaves(swapio, &plug->requests[i]);
		left++;
	}
	swapio->io.write_requests -= plug->n - left;
	swapio->io.write_merges += plug->n - left;
	plug->n = 0;
}

/* ------------------------------------------------------------------------------------------- plug */

/* True: the plug's requests go to the device before the bio is added. */
static bool will_flush(const struct swapio *swapio, struct swapio_plug *plug,
		       const struct swapio_request *bio)
{
	const struct swapio_request *candidate = plug_candidate(swapio, plug, bio->area);

	return must_flush(swapio, plug) &&
	       !(candidate && is_adjacent(swapio, candidate, bio) && fits(swapio, candidate, bio));
}

static void plug_add(struct swapio *swapio, struct swapio_plug *plug, const struct swapio_request *bio)
{
	struct swapio_request *candidate = plug_candidate(swapio, plug, bio->area);

	if (candidate && is_adjacent(swapio, candidate, bio)) {
		if (fits(swapio, candidate, bio)) {
			merge(candidate, bio);
			swapio->io.write_merges++;
			return;
		}
		candidate->no_merge = true;
	}
	if (must_flush(swapio, plug))
		flush_plug(swapio, plug);
	if (plug->n && !same_queue(swapio, &plug->requests[plug->n - 1], bio->area))
		plug->several_queues = true;
	plug->requests[plug->n++] = *bio;
	swapio->io.write_requests++;
}

/* --------------------------------------------------------------------------------------- contexts */

static uint32_t segments_of(const struct swapio *swapio, const struct swapio_context *context,
			    uint32_t pages)
{
	uint32_t blocks = (uint32_t)((uint64_t)pages * swapio->page_size / SEGMENT_BYTES_MAX);

	if (context->id == SWAPIO_WALK || context->n + blocks > pages)
		return pages;
	return context->n + blocks;
}

static void send_bio(struct swapio *swapio, struct swapio_context *context,
		     const struct swapio_bio *bio)
{
	struct swapio_request request = { .start = bio->slot,
					  .end = bio->slot + bio->pages,
					  .segments = segments_of(swapio, context, bio->pages),
					  .memcg = bio->memcg,
					  .area = bio->area };

	/* A direct run may be long: it is sent on piecewise, where the block layer would dispatch it. */
	if (context->id == SWAPIO_DIRECT && will_flush(swapio, &context->plug, &request))
		kick(swapio, context);
	if (swapio->target && swapio->target->bio(swapio->target, bio))
		flush_plug(swapio, &context->plug);
	swapio->io.write_bios++;
	swapio->io.write_pages += bio->pages;
	if (context->plugged) {
		plug_add(swapio, &context->plug, &request);
		return;
	}
	swapio->io.write_requests++;
	request_leaves(swapio, &request);
	kick(swapio, context);
}

static uint32_t bio_pages_max(const struct swapio *swapio, const struct swapio_context *context)
{
	uint32_t most = REQUEST_BYTES_MAX / swapio->page_size;

	return context->id == SWAPIO_WALK && most > REQUEST_SEGMENTS_MAX ? REQUEST_SEGMENTS_MAX : most;
}

static void submit(struct swapio *swapio, struct swapio_context *context)
{
	const struct sim_write *first = &context->folios[0];
	uint32_t most = bio_pages_max(swapio, context), pages;

	if (!context->n)
		return;
	swapio->io.write_contexts++;
	for (uint32_t done = 0; done < context->pages; done += pages) {
		pages = context->pages - done < most ? context->pages - done : most;
		send_bio(swapio, context,
			 &(struct swapio_bio){ .context = context->id,
					       .slot = first->slot + done,
					       .pages = pages,
					       .task = first->task,
					       .memcg = first->memcg,
					       .area = first->area,
					       .folios = context->id == SWAPIO_WALK ? first + done :
										      NULL });
	}
	context->n = context->pages = 0;
}

static bool joins(const struct swapio_context *context, const struct sim_write *write)
{
	const struct sim_write *first = &context->folios[0];

	return first->area == write->area && first->memcg == write->memcg &&
	       first->slot + context->pages == write->slot;
}

/* Everything of the context is with the block layer after this. */
static void flush(struct swapio *swapio, struct swapio_context *context)
{
	submit(swapio, context);
	flush_plug(swapio, &context->plug);
	if (context->plugged)
		kick(swapio, context);
}

/* ------------------------------------------------------------------------------------ the sink side */

static void on_walk_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct swapio *swapio = swapio_of(sink);

	(void)time_ns;
	swapio->current = &swapio->contexts[kind == SIM_WALK_DIRECT ? SWAPIO_DIRECT : SWAPIO_WALK];
	swapio->current->plug.several_queues = false;
	swapio->current->plugged =
		swapio->policy_plug || kind == SIM_WALK_STORE || kind == SIM_WALK_DIRECT;
}

static struct swapio_task *find_task(struct swapio *swapio, uint32_t task)
{
	for (uint32_t i = 0; i < SWAPIO_TASKS; i++)
		if (swapio->tasks[i].open && swapio->tasks[i].task == task)
			return &swapio->tasks[i];
	return NULL;
}

static void close_task(struct swapio *swapio, struct swapio_task *task)
{
	flush(swapio, &task->context);
	task->context.plug.several_queues = false;
	task->open = false;
}

static struct swapio_task *open_task(struct swapio *swapio, uint32_t id)
{
	struct swapio_task *task = NULL;

	for (uint32_t i = 0; i < SWAPIO_TASKS && !task; i++)
		if (!swapio->tasks[i].open)
			task = &swapio->tasks[i];
	if (!task) {
		task = &swapio->tasks[swapio->next_task++ % SWAPIO_TASKS];
		close_task(swapio, task);
	}
	task->open = true;
	task->task = id;
	return task;
}

static struct swapio_context *context_of(struct swapio *swapio, const struct sim_write *write)
{
	struct swapio_task *task;

	if (swapio->current->id != SWAPIO_DIRECT || !swapio->sink.task_done)
		return swapio->current;
	task = find_task(swapio, write->task);
	return task ? &task->context : &open_task(swapio, write->task)->context;
}

static void on_task_done(struct sim_sink *sink, uint32_t id)
{
	struct swapio *swapio = swapio_of(sink);
	struct swapio_task *task = find_task(swapio, id);

	if (task)
		close_task(swapio, task);
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct swapio *swapio = swapio_of(sink);
	struct swapio_context *context = context_of(swapio, write);

	swapio->last = context;
	if (context->n && !joins(context, write))
		submit(swapio, context);
	context->folios[context->n++] = *write;
	context->pages += write->pages;
	if (context->n >= context->batch)
		submit(swapio, context);
}

static void on_walk_end(struct sim_sink *sink)
{
	struct swapio *swapio = swapio_of(sink);

	flush(swapio, swapio->current);
	/* What may still be open around it. */
	swapio->current = &swapio->contexts[SWAPIO_DIRECT];
}

static bool is_pending(const struct swapio_context *context, uint8_t area, uint32_t slot)
{
	const struct sim_write *first = &context->folios[0];

	if (context->n && first->area == area && slot >= first->slot &&
	    slot - first->slot < context->pages)
		return true;
	for (uint32_t i = 0; i < context->plug.n; i++) {
		const struct swapio_request *request = &context->plug.requests[i];

		if (request->area == area && slot >= request->start && slot < request->end)
			return true;
	}
	return false;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	struct swapio *swapio = swapio_of(sink);
	struct swapio_context *direct = &swapio->contexts[SWAPIO_DIRECT];

	(void)time_ns, (void)memcg;
	/* The page has left the swap cache, so its write is over: the run was longer than the task's. */
	if (is_pending(direct, area, slot))
		flush(swapio, direct);
	for (uint32_t i = 0; i < SWAPIO_TASKS; i++)
		if (swapio->tasks[i].open && is_pending(&swapio->tasks[i].context, area, slot))
			close_task(swapio, &swapio->tasks[i]);
	swapio->io.read_requests++;
	swapio->io.read_pages++;
	if (swapio->target)
		swapio->target->read(swapio->target, area, slot);
}

static void on_store(struct sim_sink *sink, uint16_t len)
{
	struct swapio_target *target = swapio_of(sink)->target;

	target->store(target, len);
}

static void on_load(struct sim_sink *sink, uint16_t len)
{
	struct swapio_target *target = swapio_of(sink)->target;

	target->load(target, len);
}

void swapio_init(struct swapio *swapio, const struct sim_policy *policy, uint32_t page_size,
		 struct swapio_target *target)
{
	memset(swapio, 0, sizeof(*swapio));
	swapio->sink = (struct sim_sink){ .walk_begin = on_walk_begin,
					  .write = on_write,
					  .walk_end = on_walk_end,
					  .read = on_read,
					  .store = target ? on_store : NULL,
					  .load = target ? on_load : NULL };
	swapio->target = target;
	swapio->one_process = target != NULL;
	swapio->page_size = page_size;
	swapio->policy_plug = policy->plug;
	swapio->sched = policy->sched;
	swapio->nomerges = policy->nomerges;
	swapio->contexts[SWAPIO_WALK].id = SWAPIO_WALK;
	swapio->contexts[SWAPIO_WALK].batch = (uint32_t)policy->batch;
	swapio->contexts[SWAPIO_DIRECT].id = SWAPIO_DIRECT;
	swapio->contexts[SWAPIO_DIRECT].batch = (uint32_t)policy->direct_batch;
}

void swapio_follow_tasks(struct swapio *swapio)
{
	swapio->sink.task_done = on_task_done;
	for (uint32_t i = 0; i < SWAPIO_TASKS; i++) {
		struct swapio_context *context = &swapio->tasks[i].context;

		context->id = SWAPIO_DIRECT;
		context->batch = swapio->contexts[SWAPIO_DIRECT].batch;
		context->plugged = true;
	}
}
