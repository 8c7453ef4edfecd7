/* SPDX-License-Identifier: MIT */
/* The lanes of race_lane.h. */
#include "replayer/race_lane.h"

#include <stdlib.h>

#include "replayer/pages.h"

enum {
	CEILING_BATCH = 32, /* what sorted pages are joined to where the policy joins none */
	PREFETCH_ROWS = 16,
};

static struct lane *lane_of(struct sim_sink *sink)
{
	return (struct lane *)sink;
}

static void on_walk_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct lane *lane = lane_of(sink);

	lane->in_walk = kind != SIM_WALK_DIRECT;
	lane->before = lane->swapio.io;
	lane->first_run = lane->run + 1;
	if (lane->in_walk)
		breaks_walk_begin(&lane->breaks);
	lane->swapio.sink.walk_begin(&lane->swapio.sink, kind, time_ns);
}

/* A page that joined others has their number; contexts of several tasks may grow side by side. */
static uint32_t run_of_write(struct lane *lane)
{
	const struct swapio_context *context = lane->swapio.last;
	uint32_t n = context->n ? context->n : context->batch;
	const struct sim_write *before = &context->folios[n > 1 ? n - 2 : 0];

	if (n <= 1)
		return ++lane->run;
	return lane->runs[sim_index(lane->sim, before->area, before->recorded_slot)];
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct lane *lane = lane_of(sink);
	uint32_t first = sim_index(lane->sim, write->area, write->recorded_slot), run;

	if (lane->in_walk) {
		breaks_write(&lane->breaks, write);
		ceilings_write(&lane->ceilings, write);
	}
	lane->swapio.sink.write(&lane->swapio.sink, write);
	run = run_of_write(lane);
	for (uint32_t i = 0; i < write->pages; i++)
		lane->runs[first + i] = run;
	lane->writing_run = lane->first_run;
}

/* What lies in one request from here on is one run. */
static void on_request_left(void *arg, const struct swapio_request *request)
{
	struct lane *lane = arg;
	uint32_t first;

	if (lane->policy.slots == SIM_SLOTS_VSWAP)
		return;
	first = sim_index(lane->sim, request->area, request->start);
	lane->run++;
	for (uint32_t i = 0; i < request->end - request->start; i++)
		lane->runs[first + i] = lane->run;
}

static void on_walk_end(struct sim_sink *sink)
{
	struct lane *lane = lane_of(sink);

	lane->swapio.sink.walk_end(&lane->swapio.sink);
	if (!lane->in_walk)
		return;
	lane->in_walk = false; /* a direct run around it goes on */
	lane->contexts += lane->swapio.io.write_contexts - lane->before.write_contexts;
	lane->requests += lane->swapio.io.write_requests - lane->before.write_requests;
	breaks_walk_end(&lane->breaks);
	ceilings_walk_end(&lane->ceilings);
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	struct lane *lane = lane_of(sink);

	lane->swapio.sink.read(&lane->swapio.sink, time_ns, area, slot, memcg);
}

static void on_task_done(struct sim_sink *sink, uint32_t task)
{
	struct lane *lane = lane_of(sink);

	lane->swapio.sink.task_done(&lane->swapio.sink, task);
}

static enum zr_err lane_init(struct lane *lane, const struct lane_setting *setting)
{
	uint32_t batch = lane->policy.batch > 1 ? (uint32_t)lane->policy.batch : CEILING_BATCH;
	void *runs;
	enum zr_err err;

	lane->sink = (struct sim_sink){
		.walk_begin = on_walk_begin, .write = on_write, .walk_end = on_walk_end, .read = on_read,
		.task_done = on_task_done
	};
	sim_policy_settle(&lane->policy, setting->machine);
	swapio_init(&lane->swapio, &lane->policy, setting->machine->page_size, NULL);
	swapio_follow_tasks(&lane->swapio);
	lane->swapio.request_pages = &lane->request_pages;
	lane->swapio.request_left = on_request_left;
	lane->swapio.left_arg = lane;
	err = sim_new(&lane->policy, setting->machine, &lane->sink, &lane->sim);
	if (!err)
		err = breaks_init(&lane->breaks, lane->sim, setting->n_tasks);
	if (!err)
		err = ceilings_init(&lane->ceilings, batch, lane->sim->n_slots);
	if (!err) {
		err = pages_new(lane->sim->n_slots, sizeof(*lane->runs), "the runs of slots",
				&runs);
		lane->runs = err ? NULL : runs;
	}
	return err;
}

enum zr_err lane_new(const char *policy, const struct lane_setting *setting, struct lane **out)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	enum zr_err err;

	*out = NULL;
	if (!lane)
		return zr_fail(ZR_NOMEM, "making a lane for policy '%s': no memory", policy);
	err = sim_policy_parse(policy, &lane->policy);
	if (!err)
		err = lane_init(lane, setting);
	if (err) {
		lane_free(lane);
		return err;
	}
	*out = lane;
	return ZR_OK;
}

void lane_free(struct lane *lane)
{
	if (!lane)
		return;
	if (lane->sim)
		pages_free(lane->runs, lane->sim->n_slots, sizeof(*lane->runs));
	ceilings_fini(&lane->ceilings);
	breaks_fini(&lane->breaks);
	sim_free(lane->sim);
	free(lane);
}

/* The model fetches its slots ahead; this is the other table that every row touches at random. */
static inline __attribute__((always_inline)) void
prefetch(const struct lane *lane, const struct db_batch *batch, uint32_t row)
{
	const uint32_t kinds = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE;

	if (row < batch->n && kinds >> batch->kind[row] & 1)
		__builtin_prefetch(&lane->breaks.pages[sim_index(lane->sim, batch->area[row],
								 batch->slot[row])],
				   1);
}

void lane_feed(struct lane *lane, const struct db_batch *batch, uint32_t row)
{
	struct db_event event = db_batch_event(batch, row);

	prefetch(lane, batch, row + PREFETCH_ROWS);

	breaks_will_feed(&lane->breaks, &event);
	sim_feed(lane->sim, batch, row, row + 1);
	breaks_fed(&lane->breaks, &event);
}

void lane_regions(struct lane *lane, const uint64_t *top_slots, struct regions *regions)
{
	regions_add(regions, lane, sizeof(*lane));
	sim_regions(lane->sim, top_slots, regions);
	breaks_regions(&lane->breaks, top_slots, regions);
	ceilings_regions(&lane->ceilings, regions);
	sim_slot_regions(lane->sim, top_slots, &(struct region){ lane->runs, sizeof(*lane->runs) },
			 regions);
}

struct play_lane lane_look(const struct lane *lane)
{
	struct play_lane out = { .policy = &lane->policy,
				 .counters = sim_counters(lane->sim),
				 .io = &lane->swapio.io,
				 .state = sim_state(lane->sim),
				 .request_pages = &lane->request_pages,
				 .pages = lane->breaks.written,
				 .contexts = lane->contexts,
				 .requests = lane->requests,
				 .breaks = lane->breaks.counts };

	ceilings_now(&lane->ceilings, out.ceiling_requests);
	out.ceiling_requests[PLAY_CEILING_actual] = lane->requests;
	return out;
}

/* When the page went out: its store is in the history, a direct write is with the slot. */
static uint64_t since_ns(const struct lane *lane, uint32_t index)
{
	const struct slot *slot = &lane->sim->slots[index];

	if (slot->state == SIM_SLOT_ZSWAP || (slot->state == SIM_SLOT_DISK && slot->written_back))
		return lane->breaks.pages[index].stored_ns;
	if (slot->state == SIM_SLOT_DISK && slot->data)
		return slot->data + lane->sim->origin_ns;
	return 0;
}

struct play_slot lane_slot(const struct lane *lane, uint32_t index, uint64_t gap_ns)
{
	const struct slot *slot = &lane->sim->slots[index];
	struct play_slot out = { .state = (enum sim_slot)slot->state,
				 .memcg = slot->memcg,
				 .len = slot->len,
				 .since_ns = since_ns(lane, index) };

	if (slot->state == SIM_SLOT_DISK) {
		out.run = lane->runs[index];
		out.writing = out.run && out.run >= lane->writing_run;
	}
	out.unknown = out.since_ns && out.since_ns < gap_ns;
	return out;
}

struct play_lane_totals lane_totals(const struct lane *lane)
{
	const struct sim_counters *counters = sim_counters(lane->sim);

	return (struct play_lane_totals){ .write_pages = lane->swapio.io.write_pages,
					  .write_requests = lane->swapio.io.write_requests,
					  .disk_refaults = counters->disk_refaults,
					  .rejected = counters->store_rejected,
					  .written_back = counters->written_back_pages,
					  .walks = counters->walks,
					  .wakeups = counters->shrink_worker_wakeups };
}
