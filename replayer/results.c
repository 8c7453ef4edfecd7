/* SPDX-License-Identifier: MIT */
/* The metrics and series of results.h. */
#include "replayer/results.h"

#include <stdlib.h>

/* ---------------------------------------------------------------------------------------- series */

static void halve(struct series *series)
{
	for (uint32_t i = 0; i < SERIES_MAX / 2; i++)
		series->samples[i] = series->samples[2 * i + 1];
	series->n = SERIES_MAX / 2;
	series->step_ns *= 2;
}

void series_offer(struct series *series, const struct sim_state *state, const struct play_io *io)
{
	if (!series->step_ns)
		series->step_ns = 1;
	if (series->n && state->time_ns < series->next_ns)
		return;
	if (series->n == SERIES_MAX)
		halve(series);
	series->samples[series->n++] = (struct series_sample){ .time_ns = state->time_ns,
							       .pool_pages = state->pool_pages,
							       .write_pages = io->write_pages,
							       .write_requests = io->write_requests };
	series->next_ns = state->time_ns + series->step_ns;
}

static size_t pool_points(const struct series *series, struct db_point *points)
{
	for (uint32_t i = 0; i < series->n; i++)
		points[i] = (struct db_point){ .series = "pool_pages",
					       .time_ns = series->samples[i].time_ns,
					       .value = (double)series->samples[i].pool_pages };
	return series->n;
}

/* Of the requests since the sample before; a stretch without any has no point. */
static size_t request_points(const struct series *series, struct db_point *points)
{
	struct series_sample before = { 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < series->n; i++) {
		const struct series_sample *now = &series->samples[i];
		uint64_t requests = now->write_requests - before.write_requests;

		if (requests)
			points[n++] = (struct db_point){
				.series = "pages_per_write_request",
				.time_ns = now->time_ns,
				.value = (double)(now->write_pages - before.write_pages) /
					 (double)requests,
			};
		before = *now;
	}
	return n;
}

/* --------------------------------------------------------------------------------------- metrics */

static void add(struct metrics *metrics, int32_t rep, const char *name, double value,
		enum db_figure figure)
{
	if (metrics->n == metrics->room) {
		size_t room = metrics->room ? 2 * metrics->room : 64;
		struct db_metric *rows = realloc(metrics->rows, room * sizeof(*rows));

		if (!rows) {
			metrics->no_memory = true;
			return;
		}
		metrics->rows = rows;
		metrics->room = room;
	}
	metrics->rows[metrics->n++] =
		(struct db_metric){ .rep = rep, .name = name, .value = value, .figure = figure };
}

static void add_ratio(struct metrics *metrics, int32_t rep, const char *name, uint64_t part,
		      uint64_t whole, enum db_figure figure)
{
	if (whole)
		add(metrics, rep, name, (double)part / (double)whole, figure);
}

static void add_counters(struct metrics *metrics, const struct replay_figures *f)
{
#define X(name) add(metrics, f->rep, #name, (double)f->counters->name, DB_MODELLED);
	SIM_COUNTERS(X)
#undef X
	add_ratio(metrics, f->rep, "store_reject_rate", f->counters->store_rejected,
		  f->counters->zswap_store_calls, DB_MODELLED);
}

static bool was_counted(const struct replay_figures *f, const char *name, uint64_t *out)
{
	return f->report && f->report->account && measure_get(&f->report->account->counted, name, out);
}

static void add_plan(struct metrics *metrics, const struct replay_figures *f)
{
	bool counted = f->report && f->report->counted;
	bool bios_counted = was_counted(f, "io.wios", &(uint64_t){ 0 });
	const struct play_io *io = f->io;

	add(metrics, f->rep, "write_contexts", (double)io->write_contexts, DB_PLANNED);
	add(metrics, f->rep, bios_counted ? "write_bios_planned" : "write_bios", (double)io->write_bios,
	    DB_PLANNED);
	add(metrics, f->rep, "write_pages", (double)io->write_pages, DB_PLANNED);
	add(metrics, f->rep, counted ? "read_requests_planned" : "read_requests", (double)io->read_requests,
	    DB_PLANNED);
	add(metrics, f->rep, "read_pages", (double)io->read_pages, DB_PLANNED);
	add_ratio(metrics, f->rep, bios_counted ? "pages_per_write_bio_planned" : "pages_per_write_bio",
		  io->write_pages, io->write_bios, DB_PLANNED);
	add(metrics, f->rep, counted ? "write_requests_planned" : "write_requests",
	    (double)io->write_requests, DB_PLANNED);
	add(metrics, f->rep, counted ? "write_merges_planned" : "write_merges",
	    (double)io->write_merges, DB_PLANNED);
	add_ratio(metrics, f->rep,
		  counted ? "pages_per_write_request_planned" : "pages_per_write_request",
		  io->write_pages, io->write_requests, DB_PLANNED);
}

static const double ns_per_us = 1000;

/* Pages that left memory, over the time that it took. */
static void add_store_speed(struct metrics *metrics, const struct replay_figures *f, uint64_t makespan_ns,
			    enum db_figure figure)
{
	uint64_t out_pages = f->counters->zswpout + f->counters->pswpout - f->counters->zswpwb;

	if (makespan_ns)
		add(metrics, f->rep, "store_kb_per_s",
		    (double)out_pages * f->page_size / 1024 / ((double)makespan_ns / 1e9), figure);
}

void metrics_put_quantiles(struct metrics *metrics, int32_t rep, const struct metrics_quantiles *q,
			   enum db_figure figure)
{
	if (!q->ns->count)
		return;
	add(metrics, rep, q->p50, (double)zr_hist_quantile(q->ns, 0.50) / ns_per_us, figure);
	add(metrics, rep, q->p99, (double)zr_hist_quantile(q->ns, 0.99) / ns_per_us, figure);
}

static struct metrics_quantiles refaults(const struct zr_hist *read_ns)
{
	return (struct metrics_quantiles){ "disk_refault_p50_us", "disk_refault_p99_us", read_ns };
}

static void add_write_latency(struct metrics *metrics, int32_t rep, const struct zr_hist *write_ns,
			      enum db_figure figure)
{
	if (write_ns->count)
		add(metrics, rep, "write_latency_us", zr_hist_mean(write_ns) / ns_per_us, figure);
}

static void add_timing(struct metrics *metrics, const struct replay_figures *f)
{
	const struct timing_report *report = f->timing;
	const struct metrics_quantiles reads = refaults(&report->read_ns);
	const struct {
		const char *name;
		uint64_t ns;
	} times[] = {
		{ "makespan_us", report->makespan_ns },
		{ "stall_us", report->stall_ns },
		{ "iocost_debt_us", report->iocost_debt_ns },
		{ "iocost_wait_us", report->iocost_wait_ns },
		{ "iocost_usage_us", report->iocost_usage_ns },
		{ "iocost_delay_us", report->iocost_delay_ns },
		{ "io_full_us", report->io_full_ns },
		{ "io_some_us", report->io_some_ns },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		add(metrics, f->rep, times[i].name, (double)times[i].ns / ns_per_us, DB_MODELLED);
	if (f->pace == PLAY_RECORDED || f->pace == PLAY_SCALED)
		add(metrics, f->rep, "drift_us", (double)report->drift_ns / ns_per_us, DB_MODELLED);
	if (report->late)
		add(metrics, f->rep, "late_ios", (double)report->late, DB_MODELLED);
	add_store_speed(metrics, f, report->makespan_ns, DB_MODELLED);
	metrics_put_quantiles(metrics, f->rep, &reads, DB_MODELLED);
	add_write_latency(metrics, f->rep, &report->write_ns, DB_MODELLED);
}

/* Of events: how late they began; of the last, how late it was done. */
static void add_drift(struct metrics *metrics, const struct replay_figures *f)
{
	const struct metrics_quantiles late = { "drift_p50_us", "drift_p99_us", &f->pacer->late_ns };

	if (!pacer_is_timed(f->pacer))
		return;
	add(metrics, f->rep, "drift_us", (double)f->pacer->drift_ns / ns_per_us, DB_MEASURED);
	metrics_put_quantiles(metrics, f->rep, &late, DB_MEASURED);
}

/* What the kernel counted: the counter's name (measure.h), the metric's, and what makes one of the other. */
static const struct {
	const char *counter, *metric;
	double factor;
} counted_metrics[] = {
	{ "block.write_sectors", "write_sectors", 1 },
	{ "block.write_ms", "write_time_us", 1000 },
	{ "block.read_requests", "read_requests", 1 },
	{ "block.read_merges", "read_merges", 1 },
	{ "block.read_sectors", "read_sectors", 1 },
	{ "block.read_ms", "read_time_us", 1000 },
	{ "block.busy_ms", "device_busy_us", 1000 },
	{ "io.wios", "write_bios", 1 },
	{ "io.rios", "read_bios", 1 },
	{ "io.cost.usage", "iocost_usage_us", 1 },
	{ "io.cost.wait", "iocost_wait_us", 1 },
	{ "pressure.some_us", "io_some_us", 1 },
	{ "pressure.full_us", "io_full_us", 1 },
};

/* (No debt: writes of user space never make any.) */
static void add_counted(struct metrics *metrics, const struct replay_figures *f)
{
	uint64_t value;

	for (size_t i = 0; i < sizeof(counted_metrics) / sizeof(counted_metrics[0]); i++)
		if (was_counted(f, counted_metrics[i].counter, &value))
			add(metrics, f->rep, counted_metrics[i].metric,
			    (double)value * counted_metrics[i].factor, DB_MEASURED);
	if (was_counted(f, "io.wios", &value))
		add_ratio(metrics, f->rep, "pages_per_write_bio", f->io->write_pages, value, DB_MEASURED);
}

static void add_device(struct metrics *metrics, const struct replay_figures *f)
{
	const struct device_report *report = f->report;
	const struct metrics_quantiles reads = refaults(&report->read_ns);
	const struct metrics_quantiles writes = { "write_latency_p50_us", "write_latency_p99_us",
					  &report->write_ns };

	if (report->counted) {
		add(metrics, f->rep, "write_requests", (double)report->write_requests, DB_MEASURED);
		add(metrics, f->rep, "write_merges", (double)report->write_merges, DB_MEASURED);
		add_ratio(metrics, f->rep, "pages_per_write_request", f->io->write_pages,
			  report->write_requests, DB_MEASURED);
	}
	add_counted(metrics, f);
	add(metrics, f->rep, "makespan_us", (double)f->makespan_ns / ns_per_us, DB_MEASURED);
	add_store_speed(metrics, f, f->makespan_ns, DB_MEASURED);
	metrics_put_quantiles(metrics, f->rep, &reads, DB_MEASURED);
	add_write_latency(metrics, f->rep, &report->write_ns, DB_MEASURED);
	metrics_put_quantiles(metrics, f->rep, &writes, DB_MEASURED);
	add_drift(metrics, f);
	add_ratio(metrics, f->rep, "corpus_off_bytes", report->drawn_off_bytes, report->drawn_pages,
		  DB_MEASURED);
}

/* What somebody else got of the drive meanwhile. */
static void add_beside(struct metrics *metrics, const struct replay_figures *f)
{
	const struct beside_figures *beside = f->beside;

	add(metrics, f->rep, "neighbour_iops", beside->iops, DB_MEASURED);
	add(metrics, f->rep, "neighbour_bytes", (double)beside->bytes, DB_MEASURED);
	add(metrics, f->rep, "neighbour_latency_us", beside->latency_us, DB_MEASURED);
	if (beside->has_usage)
		add(metrics, f->rep, "neighbour_iocost_usage_us", (double)beside->usage_us, DB_MEASURED);
}

void metrics_add(struct metrics *metrics, const struct replay_figures *figures)
{
	add_counters(metrics, figures);
	add_plan(metrics, figures);
	if (figures->report)
		add_device(metrics, figures);
	if (figures->beside && figures->beside->there)
		add_beside(metrics, figures);
	if (figures->timing)
		add_timing(metrics, figures);
}

void metrics_put(struct metrics *metrics, const struct db_metric *metric)
{
	add(metrics, metric->rep, metric->name, metric->value, metric->figure);
}

void metrics_add_traced(struct metrics *metrics, int32_t rep, uint64_t requests, uint64_t merges)
{
	add(metrics, rep, "write_requests_traced", (double)requests, DB_MEASURED);
	add(metrics, rep, "write_merges_traced", (double)merges, DB_MEASURED);
}

void metrics_fini(struct metrics *metrics)
{
	free(metrics->rows);
	*metrics = (struct metrics){ 0 };
}

enum zr_err results_store(struct db *results, struct db_run *run, const struct metrics *metrics,
			  const struct series *series)
{
	struct db_point *points = calloc(2 * SERIES_MAX, sizeof(*points));
	enum zr_err err;
	size_t n;

	if (!points || metrics->no_memory) {
		free(points);
		return zr_fail(ZR_NOMEM, "storing the figures of policy '%s': no memory", run->policy);
	}
	n = pool_points(series, points);
	n += request_points(series, points + n);
	err = db_run_add(results, run, metrics->rows, metrics->n, points, n);
	free(points);
	return err;
}
