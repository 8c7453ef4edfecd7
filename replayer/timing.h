/* SPDX-License-Identifier: MIT */
/*
 * The target `model`: what a replay would take on a modelled device, in virtual time.
 *
 *   sim ──> timing (sink) ──> plan (swapio.h) ──> timing (target) ──> queue of its task ──> iocost
 * ──> device notes who, when                       bios, reads
 *
 * The pool model is fed in the trace's order and decides on what it decides on any target; here the
 * I/O that results is put on a clock. Each task has a queue of what it did: reads, on which it
 * waits, and writes, on which it does not. The heads of the queues and what the device and iocost
 * have to do are events in a heap; the earliest is next.
 *
 * Pace. A task's recorded times are its own work and its waits. Under `closed` the work stays and
 * the waits are computed: an event happens at its recorded time plus the task's lag, which grows
 * (or shrinks below zero) by every wait that is longer (shorter) than the recorded one. A recorded
 * wait is not in the trace; a refault that came from disk there is taken to have waited as long as
 * the idle device needs for a page. A task that appears later begins with the lag of the task of
 * its cgroup that acted last, since that is who it was waiting for. Under `recorded` everything
 * happens at its recorded time, waits or not; `scaled:X` is the same X times as fast; under `asap`
 * no task does any work: each waits for its own refaults only, and events begin in the trace's
 * order.
 *
 * Nobody waits for a page that was read ahead; it only keeps the device busy.
 *
 * A page whose write is under way is read like any other. A bio that merged in a plug pays for its
 * pages and not for a request; what mq-deadline merges of a flushed plug comes after iocost has
 * charged, and saves the device nothing here. Each task's direct writes have a context and a plug
 * of their own, and happen when they were written.
 *
 * Order. What a task will do later in the trace cannot happen before its recorded time plus its
 * lag, so events up to (time fed) + (least lag) are final and are played; the rest waits. Memory:
 * 32 bytes for each I/O that waits, at most TIMING_OPS_MAX of them; from then on the earliest are
 * played regardless, at the clock's time (`late` counts them).
 */
#ifndef REPLAYER_TIMING_H
#define REPLAYER_TIMING_H

#include "replayer/devmodel.h"
#include "replayer/iocost.h"
#include "replayer/psi.h"
#include "replayer/replayer.h"
#include "replayer/swapio.h"

enum { TIMING_OPS_MAX = 1 << 24 };

/* How many events of a task there are to come: with the last one it is gone. */
struct timing_task_span {
	uint64_t events;
};

struct timing_plan {
	struct time_params params;
	enum play_pace pace;
	double speed; /* PLAY_SCALED */
	uint32_t cpus;
	struct timing_task_span *tasks; /* by id */
	uint32_t n_tasks;
};

/* A pass over the events that will be fed, for tasks and processors; plan->tasks is the caller's to
 * free. */
enum zr_err timing_survey(struct db *trace, const struct db_filter *filter,
			  struct timing_plan *plan);

/* What came out; wall times in ns of the virtual clock. */
struct timing_report {
	uint64_t makespan_ns, stall_ns, io_some_ns, io_full_ns;
	uint64_t iocost_debt_ns, iocost_wait_ns, iocost_usage_ns, iocost_delay_ns;
	int64_t drift_ns; /* under recorded and scaled: the end, less the end that the pace wanted
			   */
	uint64_t late;
	struct zr_hist read_ns, write_ns; /* write: the cgroups' writes, from the submission on */
};

struct timing;

/* The plan must outlive it. */
enum zr_err timing_new(const struct timing_plan *plan, const struct sim_machine *machine,
		       const struct sim_policy *policy, struct timing **out);
void timing_free(struct timing *timing);

/* What the sim is given as its sink; its plan. */
struct sim_sink *timing_sink(struct timing *timing);
const struct swapio *timing_swapio(const struct timing *timing);

/* Before and after the sim was fed the event. */
void timing_before(struct timing *timing, const struct db_event *event);
void timing_after(struct timing *timing);

/* Plays what is final. */
void timing_play(struct timing *timing);

/* Plays all. ZR_NOMEM if not all of it could be kept. */
enum zr_err timing_finish(struct timing *timing, struct timing_report *report);

#endif
