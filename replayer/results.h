/* SPDX-License-Identifier: MIT */
/*
 * What a replay leaves behind: metrics and series of a run, in the form that the database takes.
 *
 * A series is sampled in trace time. Neither the length of the trace nor the right step need be known: a
 * full table drops every second sample and doubles the step, so it ends with 200 to 400 of them. Samples
 * hold running sums; the differences are taken when the run is over.
 */
#ifndef REPLAYER_RESULTS_H
#define REPLAYER_RESULTS_H

#include "replayer/beside.h"
#include "replayer/device.h"
#include "replayer/pacer.h"
#include "replayer/replayer.h"
#include "replayer/timing.h"

enum { SERIES_MAX = 400 };

struct series_sample {
	uint64_t time_ns, pool_pages, write_pages, write_requests;
};

struct series {
	uint64_t step_ns, next_ns;
	uint32_t n;
	struct series_sample samples[SERIES_MAX];
};

/* Takes a sample if one is due. */
void series_offer(struct series *series, const struct sim_state *state, const struct play_io *io);

struct metrics {
	struct db_metric *rows;
	size_t n, room;
	bool no_memory; /* told when the run is stored */
};

/* One repetition. `report` is NULL on the null target; makespan_ns then is not looked at. */
struct replay_figures {
	int32_t rep;
	uint32_t page_size;
	const struct sim_counters *counters;
	const struct play_io *io;
	const struct device_report *report;
	const struct beside_figures *beside; /* NULL = nothing went on beside it */
	const struct timing_report *timing; /* NULL but on the target model */
	const struct pacer *pacer; /* of a device; its drift is told if it kept to a schedule */
	enum play_pace pace;
	uint64_t makespan_ns;
};

void metrics_add(struct metrics *metrics, const struct replay_figures *figures);

/* One more figure; the run's number is filled in when it is stored. */
void metrics_put(struct metrics *metrics, const struct db_metric *metric);

/* The median and the 99th percentile of times, in us; nothing of none. */
struct metrics_quantiles {
	const char *p50, *p99; /* names */
	const struct zr_hist *ns;
};

void metrics_put_quantiles(struct metrics *metrics, int32_t rep, const struct metrics_quantiles *quantiles,
			   enum db_figure figure);

/* The writes of a repetition as block tracepoints counted them. */
void metrics_add_traced(struct metrics *metrics, int32_t rep, uint64_t requests, uint64_t merges);

void metrics_fini(struct metrics *metrics);

/* Stores the run with its metrics and series. */
enum zr_err results_store(struct db *results, struct db_run *run, const struct metrics *metrics,
			  const struct series *series);

#endif
