/* SPDX-License-Identifier: MIT */
/*
 * Explaining a replay: one pass that feeds, row by row,
 *
 *   events ──> model of the policy ──> plan        contexts and requests of the walks alone
 *          │         └──────────────> breaks.h     a cause for each context that ended
 *          │         └──────────────> ceilings.h   what sorting would make of the same pages
 *          ├─> model with slots=vswap ──> plan     what slots allocated at writeback would
 *          └─> curve.h                             pool size against disk refaults
 *
 * Direct swap-outs take part in the models but are not written-back pages, so they are in none of the counts.
 * Cost: two models, 32 bytes a slot for the breaks and 20 for the curve beside theirs.
 */
#include "replayer/replayer.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/breaks.h"
#include "replayer/ceilings.h"
#include "replayer/curve.h"
#include "replayer/model.h"
#include "replayer/survey.h"
#include "replayer/swapio.h"

enum { CEILING_BATCH = 32 }; /* what sorted pages are joined to where the policy joins none */

/* A model with its plan, of which the walks' part is kept. */
struct side {
	struct sim_sink sink; /* first */
	struct sim_policy policy;
	struct sim *sim;
	struct swapio swapio;
	struct explainer *watcher; /* NULL: only the counts are wanted */
	struct play_io before;	   /* the walk */
	bool in_walk;		   /* not a direct run */
	uint64_t contexts, requests;
};

struct explainer {
	struct side policy, vswap;
	struct breaks breaks;
	struct ceilings ceilings;
	struct curve curve;
	struct play_explain *out;
	uint64_t fullest_bytes;
};

/* ------------------------------------------------------------------------------------------- names */

const char *play_break_name(enum play_break cause)
{
	static const char *const names[] = {
#define X(name, text) #name,
		PLAY_BREAKS(X)
#undef X
	};

	return names[cause];
}

const char *play_break_text(enum play_break cause)
{
	static const char *const texts[] = {
#define X(name, text) text,
		PLAY_BREAKS(X)
#undef X
	};

	return texts[cause];
}

const char *play_ceiling_name(enum play_ceiling ceiling)
{
	static const char *const names[] = {
#define X(name, text) #name,
		PLAY_CEILINGS(X)
#undef X
	};

	return names[ceiling];
}

const char *play_ceiling_text(enum play_ceiling ceiling)
{
	static const char *const texts[] = {
#define X(name, text) text,
		PLAY_CEILINGS(X)
#undef X
	};

	return texts[ceiling];
}

double play_explain_pages_per_request(const struct play_explain *explain, enum play_ceiling ceiling)
{
	uint64_t requests = explain->ceiling_requests[ceiling];

	return requests ? (double)explain->pages / (double)requests : 0;
}

/* -------------------------------------------------------------------------------------------- sides */

static struct side *side_of(struct sim_sink *sink)
{
	return (struct side *)sink;
}

static void on_walk_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct side *side = side_of(sink);

	side->in_walk = kind != SIM_WALK_DIRECT;
	side->before = side->swapio.io;
	if (side->in_walk && side->watcher)
		breaks_walk_begin(&side->watcher->breaks);
	side->swapio.sink.walk_begin(&side->swapio.sink, kind, time_ns);
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct side *side = side_of(sink);

	if (side->in_walk && side->watcher) {
		breaks_write(&side->watcher->breaks, write);
		ceilings_write(&side->watcher->ceilings, write);
	}
	side->swapio.sink.write(&side->swapio.sink, write);
}

static void on_walk_end(struct sim_sink *sink)
{
	struct side *side = side_of(sink);

	side->swapio.sink.walk_end(&side->swapio.sink);
	if (!side->in_walk)
		return;
	side->in_walk = false; /* a direct run around it goes on */
	side->contexts += side->swapio.io.write_contexts - side->before.write_contexts;
	side->requests += side->swapio.io.write_requests - side->before.write_requests;
	if (!side->watcher)
		return;
	breaks_walk_end(&side->watcher->breaks);
	ceilings_walk_end(&side->watcher->ceilings);
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	struct side *side = side_of(sink);

	side->swapio.sink.read(&side->swapio.sink, time_ns, area, slot, memcg);
}

static enum zr_err side_init(struct side *side, const struct sim_machine *machine)
{
	side->sink = (struct sim_sink){
		.walk_begin = on_walk_begin, .write = on_write, .walk_end = on_walk_end, .read = on_read
	};
	sim_policy_settle(&side->policy, machine);
	swapio_init(&side->swapio, &side->policy, machine->page_size, NULL);
	return sim_new(&side->policy, machine, &side->sink, &side->sim);
}

/* --------------------------------------------------------------------------------------------- pass */

/* The page that an IN is about to read from disk: when it was written. */
static uint64_t written_ns(const struct sim *sim, const struct db_event *event)
{
	return sim->slots[sim_index(sim, event->area, event->slot)].data + sim->origin_ns;
}

static void note_fill(struct explainer *it)
{
	const struct sim *sim = it->policy.sim;

	if (sim->compressed_bytes <= it->fullest_bytes)
		return;
	it->fullest_bytes = sim->compressed_bytes;
	it->out->pool_bytes_per_byte = (double)(sim_pool_pages(sim) * sim->machine.page_size) /
				       (double)sim->compressed_bytes;
}

static void explain_row(struct explainer *it, const struct db_batch *batch, uint32_t row)
{
	const struct sim *sim = it->policy.sim;
	struct db_event event = db_batch_event(batch, row);
	uint64_t inversions = sim->counters.lru_inversions;
	uint64_t written = event.kind == DB_IN ? written_ns(sim, &event) : 0;

	if (sim->full)
		it->out->refusing_ns += event.time_ns - sim->now_ns;
	/* What the worker has done by now comes before what the event changes. */
	sim_worker_advance(it->policy.sim, event.time_ns);
	breaks_will_feed(&it->breaks, &event);
	sim_feed(it->policy.sim, batch, row, row + 1);
	breaks_fed(&it->breaks, &event);
	curve_feed(&it->curve, &event);
	if (sim->counters.lru_inversions != inversions)
		zr_hist_add(&it->out->inversion_ns, event.time_ns - written);
	note_fill(it);
}

static enum zr_err explain_events(struct explainer *it, struct db *trace,
				  const struct survey_host *host,
				  const struct play_explain_options *options)
{
	struct db_filter filter = { .kinds = SURVEY_DEMAND_KINDS, .host = host->host };
	const struct db_batch *batch;
	struct db_reader *reader;
	uint64_t done = 0;
	enum zr_err err = db_reader_new(trace, &filter, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		for (uint32_t row = 0; row < batch->n; row++)
			explain_row(it, batch, row);
		sim_feed(it->vswap.sim, batch, 0, batch->n);
		done += batch->n;
		if (options->progress &&
		    !options->progress(options->progress_arg, (double)done / (double)host->events)) {
			err = zr_fail(ZR_INTERRUPTED, "explaining '%s': stopped by the user",
				      db_path(trace));
			break;
		}
	}
	sim_flush(it->policy.sim);
	sim_flush(it->vswap.sim);
	db_reader_free(reader);
	return err;
}

/* ------------------------------------------------------------------------------------------ results */

static enum zr_err fill_out(struct explainer *it, const struct survey_host *host)
{
	struct play_explain *out = it->out;

	out->host = host->host;
	out->span_ns = host->last_ns - host->first_ns;
	out->counters = *sim_counters(it->policy.sim);
	out->pages = it->breaks.written;
	out->contexts = it->policy.contexts;
	out->requests = it->policy.requests;
	memcpy(out->breaks, it->breaks.counts, sizeof(out->breaks));
	out->age_ns = it->breaks.age_ns;
	ceilings_finish(&it->ceilings, out->ceiling_requests);
	out->ceiling_requests[PLAY_CEILING_actual] = it->policy.requests;
	out->ceiling_requests[PLAY_CEILING_vswap] = it->vswap.requests;
	return curve_finish(&it->curve, out);
}

static void choose_policies(struct explainer *it, const struct sim_policy *policy)
{
	it->policy.policy = it->vswap.policy = *policy;
	it->policy.watcher = it;
	it->out->policy = *policy;
	it->out->batch = policy->batch > 1 ? (uint32_t)policy->batch : CEILING_BATCH;
	it->vswap.policy.batch = (int32_t)it->out->batch;
	it->vswap.policy.slots = SIM_SLOTS_VSWAP;
}

static enum zr_err explainer_init(struct explainer *it, struct db *trace, const struct survey_host *host)
{
	uint32_t n_tasks;
	enum zr_err err = survey_count_tasks(trace, host->host, &n_tasks);

	if (!err)
		err = side_init(&it->policy, &host->machine);
	if (!err)
		err = side_init(&it->vswap, &host->machine);
	if (!err)
		err = breaks_init(&it->breaks, it->policy.sim, n_tasks);
	if (!err)
		err = ceilings_init(&it->ceilings, it->out->batch, it->policy.sim->n_slots);
	return err ? err : curve_init(&it->curve, &host->machine);
}

static void explainer_fini(struct explainer *it)
{
	curve_fini(&it->curve);
	ceilings_fini(&it->ceilings);
	breaks_fini(&it->breaks);
	sim_free(it->policy.sim);
	sim_free(it->vswap.sim);
}

static enum zr_err explain_host(struct db *trace, const struct survey_host *host,
				const struct play_explain_options *options,
				const struct sim_policy *policy, struct play_explain *out)
{
	struct explainer *it = calloc(1, sizeof(*it));
	enum zr_err err;

	if (!it)
		return zr_fail(ZR_NOMEM, "explaining '%s': no memory", db_path(trace));
	it->out = out;
	choose_policies(it, policy);
	err = explainer_init(it, trace, host);
	if (!err)
		err = explain_events(it, trace, host, options);
	if (!err)
		err = fill_out(it, host);
	explainer_fini(it);
	free(it);
	return err;
}

enum zr_err play_explain(struct db *trace, const struct play_explain_options *options,
			 struct play_explain *out)
{
	struct zr_arena arena = { 0 };
	struct survey_host *hosts;
	struct sim_policy policy;
	size_t n, best = 0;
	enum zr_err err = sim_policy_parse(options->policy, &policy);

	memset(out, 0, sizeof(*out));
	if (!err)
		err = survey_trace(trace, &arena, &hosts, &n);
	for (size_t i = 1; !err && i < n; i++)
		if (hosts[i].events > hosts[best].events)
			best = i;
	if (!err)
		err = explain_host(trace, &hosts[best], options, &policy, out);
	zr_arena_fini(&arena);
	return err;
}
