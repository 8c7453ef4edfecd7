/* SPDX-License-Identifier: MIT */
/*
 * Replaying a trace under a list of policies; results go to the database.
 *
 *   survey ──> for each host: batch ──> lane A  lane B  lane C      null: all lanes share the decoded batch
 *                                      (model -> plan [-> device])  device: one lane a pass, policies in turn
 *
 * A lane is a model with its I/O plan. Lanes know nothing of each other, so what a lane computes depends
 * neither on which others run beside it nor on how many threads (crew.h) share the lanes of a null replay. On the
 * target model a lane is fed like on null, with a clock (timing.h) between its model and its plan.
 *
 * On a device a round is one pass of every policy in its turn, so that a machine that drifts hurts all alike;
 * the first round may be one to warm up, of which nothing is kept. A pass that keeps to the recording's time
 * waits for each event (pacer.h).
 */
#include "replayer/replayer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "db/base/clock.h"
#include "replayer/crew.h"
#include "replayer/device.h"
#include "replayer/device_env.h"
#include "replayer/kernel.h"
#include "replayer/pacer.h"
#include "replayer/results.h"
#include "replayer/survey.h"
#include "replayer/swapio.h"
#include "replayer/timing.h"

/* Rows fed before anybody looks whether to end: in a device pass each may be a walk of many writes. */
enum { SLICE = 256, DEVICE_SLICE = 16, PROGRESS_EVERY_NS = 50'000'000 };

enum { NOTE_BYTES = 2560 };

enum { WARM_UP = -1 }; /* instead of the number of a repetition */

struct lane {
	const struct sim_policy *policy; /* as given, and as the host's machine makes it */
	struct sim_policy settled;
	struct sim *sim;
	struct swapio swapio;
	struct timing *timing; /* PLAY_MODEL; has the plan then */
	struct timing_report timing_report;
	struct series series;
	struct metrics metrics;
	char odd[256]; /* in what the device's statistics differ from what was done; "" */
};

struct replay {
	struct db *trace, *results;
	const struct play_options *options;
	struct zr_arena arena;
	struct sim_policy *policies;
	struct survey_host *hosts;
	size_t n_hosts;
	uint64_t work, work_done; /* events to feed, over all lanes, passes and hosts */
	uint64_t last_progress_ns, last_live_ns;
	struct kernel *kernel;	 /* PLAY_KERNEL */
	struct timing_plan plan; /* PLAY_MODEL, of the host that is being replayed */
	char model_origin[320];  /* PLAY_MODEL: where the device comes from */
	bool stopped; /* by the user */
	/* PLAY_DEVICE */
	struct account_group group;
	struct beside beside;
	char detail[DEVICE_ENV_BYTES];
};

/* One repetition of one policy on a device. */
struct pass {
	struct replay *replay;
	struct device *device;
	const struct survey_host *host;
	struct lane *lane;
	int32_t rep;
	uint64_t start_ns, work_before; /* monotonic; work_done */
	struct play_traced traced_before;
	struct pacer pacer;
};

/* ----------------------------------------------------------------------------------------- lanes */

static void lane_settle(struct lane *lane, const struct sim_policy *policy,
			const struct sim_machine *machine)
{
	lane->policy = policy;
	lane->settled = *policy;
	sim_policy_settle(&lane->settled, machine);
}

static enum zr_err lane_init(struct lane *lane, const struct sim_policy *policy,
			     const struct sim_machine *machine, struct swapio_target *target)
{
	lane_settle(lane, policy, machine);
	swapio_init(&lane->swapio, &lane->settled, machine->page_size, target);
	if (!target)
		swapio_follow_tasks(&lane->swapio);
	return sim_new(&lane->settled, machine, &lane->swapio.sink, &lane->sim);
}

static enum zr_err lane_init_timed(struct lane *lane, const struct sim_policy *policy,
				   const struct sim_machine *machine, const struct timing_plan *plan)
{
	enum zr_err err;

	lane_settle(lane, policy, machine);
	err = timing_new(plan, machine, &lane->settled, &lane->timing);
	return err ? err :
		     sim_new(&lane->settled, machine, timing_sink(lane->timing), &lane->sim);
}

static const struct play_io *lane_io(const struct lane *lane)
{
	return lane->timing ? &timing_swapio(lane->timing)->io : &lane->swapio.io;
}

/* The figures that it has gathered stay. */
static void lane_stop(struct lane *lane)
{
	sim_free(lane->sim);
	lane->sim = NULL;
}

static void lane_fini(struct lane *lane)
{
	lane_stop(lane);
	timing_free(lane->timing);
	metrics_fini(&lane->metrics);
}

static uint32_t reps_of(const struct replay *replay)
{
	return replay->options->reps ? replay->options->reps : 1;
}

static uint64_t events_of(const struct replay *replay, const struct survey_host *host)
{
	bool demand = replay->options->drive == SIM_DRIVE_DEMAND;

	return host->events + (demand ? 0 : host->other_events);
}

static void report_progress(struct replay *replay)
{
	const struct play_options *options = replay->options;
	uint64_t now;

	if (!options->progress || replay->stopped || !replay->work)
		return;
	now = zr_monotonic_ns();
	if (now - replay->last_progress_ns < PROGRESS_EVERY_NS && replay->work_done < replay->work)
		return;
	replay->last_progress_ns = now;
	/* Who stops what is done already has stopped nothing. */
	if (!options->progress(options->progress_arg, (double)replay->work_done / (double)replay->work))
		replay->stopped = replay->work_done < replay->work;
}

static void lane_feed_rows(struct lane *lane, const struct db_batch *batch, uint32_t from, uint32_t to)
{
	if (!lane->timing) {
		sim_feed(lane->sim, batch, from, to);
		return;
	}
	for (uint32_t row = from; row < to; row++) {
		struct db_event event = db_batch_event(batch, row);

		timing_before(lane->timing, &event);
		sim_feed(lane->sim, batch, row, row + 1);
		timing_after(lane->timing);
	}
	timing_play(lane->timing);
}

static void lane_offer(struct lane *lane)
{
	struct sim_state state = sim_state(lane->sim);

	series_offer(&lane->series, &state, lane_io(lane));
}

static void lane_feed(struct lane *lane, const struct db_batch *batch)
{
	for (uint32_t from = 0; from < batch->n; from += SLICE) {
		lane_feed_rows(lane, batch, from, from + SLICE < batch->n ? from + SLICE : batch->n);
		lane_offer(lane);
	}
}

static void tell_live(const struct pass *pass, const struct device_report *report, bool ended)
{
	const struct replay *replay = pass->replay;
	const struct play_options *options = replay->options;
	const struct lane *lane = pass->lane;
	uint64_t work = events_of(replay, pass->host);
	struct play_live live = {
		.policy = (uint32_t)(lane->policy - replay->policies),
		.host = pass->host->host,
		.rep = (uint32_t)pass->rep,
		.reps = reps_of(replay),
		.done = work ? (double)(replay->work_done - pass->work_before) / (double)work : 1,
		.ended = ended,
		.elapsed_ns = zr_monotonic_ns() - pass->start_ns,
		.state = sim_state(lane->sim),
		.counters = sim_counters(lane->sim),
		.io = lane_io(lane),
		.read_ns = &report->read_ns,
		.counted = report->counted,
		.write_requests = report->write_requests,
		.write_merges = report->write_merges,
	};

	options->live(options->live_arg, &live);
}

static void offer_live(const struct pass *pass)
{
	struct replay *replay = pass->replay;
	struct device_report report;
	uint64_t now;

	if (!replay->options->live || pass->rep == WARM_UP)
		return;
	now = zr_monotonic_ns();
	if (now - replay->last_live_ns < PROGRESS_EVERY_NS)
		return;
	replay->last_live_ns = now;
	device_look(pass->device, &report);
	tell_live(pass, &report, false);
}

/* A device may fail, or the user stop, after any slice and during any wait. */
static bool pass_is_over(void *arg)
{
	struct pass *pass = arg;

	report_progress(pass->replay);
	offer_live(pass);
	return pass->replay->stopped || device_error(pass->device);
}

static void pass_wait(void *arg, uint64_t until_ns)
{
	device_wait(((struct pass *)arg)->device, until_ns);
}

static bool pass_feed_rows(struct pass *pass, const struct db_batch *batch, uint32_t from, uint32_t to)
{
	if (!pacer_is_timed(&pass->pacer)) {
		lane_feed_rows(pass->lane, batch, from, to);
		return true;
	}
	for (uint32_t row = from; row < to; row++) {
		if (!pacer_wait(&pass->pacer, batch->time_ns[row]))
			return false;
		lane_feed_rows(pass->lane, batch, row, row + 1);
	}
	return true;
}

/* False: it is over. */
static bool pass_feed(struct pass *pass, const struct db_batch *batch)
{
	for (uint32_t from = 0; from < batch->n; from += DEVICE_SLICE) {
		uint32_t to = from + DEVICE_SLICE < batch->n ? from + DEVICE_SLICE : batch->n;

		if (!pass_feed_rows(pass, batch, from, to))
			return false;
		lane_offer(pass->lane);
		pass->replay->work_done += to - from;
		if (pass_is_over(pass))
			return false;
	}
	return true;
}

static struct db_filter fed_events(const struct replay *replay, uint32_t host)
{
	bool demand = replay->options->drive == SIM_DRIVE_DEMAND;

	return (struct db_filter){ .kinds = demand ? SURVEY_DEMAND_KINDS : SURVEY_MODEL_KINDS,
				   .host = host };
}

static enum zr_err open_events(struct replay *replay, uint32_t host, struct db_reader **out)
{
	struct db_filter filter = fed_events(replay, host);

	return db_reader_new(replay->trace, &filter, out);
}

static enum zr_err feed_pass(struct pass *pass)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = open_events(pass->replay, pass->host->host, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch && pass_feed(pass, batch))
		;
	sim_flush(pass->lane->sim);
	pacer_end(&pass->pacer);
	db_reader_free(reader);
	return err;
}

/* What the threads of a null replay share: the batch, read-only, and each lane for one of them at a time. */
struct shared {
	struct replay *replay;
	struct lane *lanes;
	const struct db_batch *batch;
};

static void feed_shared(void *arg, uint32_t i)
{
	struct shared *shared = arg;

	lane_feed(&shared->lanes[i], shared->batch);
}

static enum zr_err feed_with_crew(struct replay *replay, struct db_reader *reader, struct crew *crew,
				  struct shared *shared)
{
	uint32_t n = replay->options->n_policies;
	enum zr_err err;

	while (!(err = db_reader_next(reader, &shared->batch)) && shared->batch) {
		crew_run(crew, n);
		replay->work_done += (uint64_t)shared->batch->n * n;
		report_progress(replay);
		if (replay->stopped)
			break;
	}
	for (uint32_t i = 0; i < n; i++)
		sim_flush(shared->lanes[i].sim);
	return err;
}

static enum zr_err feed_null_lanes(struct replay *replay, uint32_t host, struct lane *lanes)
{
	struct shared shared = { .replay = replay, .lanes = lanes };
	uint32_t n = replay->options->n_policies;
	uint32_t jobs = replay->options->jobs < n ? replay->options->jobs : n;
	struct db_reader *reader;
	struct crew *crew;
	enum zr_err err = open_events(replay, host, &reader);

	if (err)
		return err;
	err = crew_new(jobs, feed_shared, &shared, &crew);
	if (!err)
		err = feed_with_crew(replay, reader, crew, &shared);
	crew_free(crew);
	db_reader_free(reader);
	return err;
}

/* --------------------------------------------------------------------------------------- results */

/* Adds a sentence to the text, which has bytes in all. */
static void add_note(char *note, size_t bytes, const char *text)
{
	size_t used = strlen(note);

	if (text[0])
		snprintf(note + used, bytes - used, "%s%s", used ? "; " : "", text);
}

static void write_note(const struct replay *replay, const struct survey_host *host, const struct lane *lane,
		       const char *early_end, char note[NOTE_BYTES])
{
	const size_t bytes = NOTE_BYTES;
	char text[1024];

	snprintf(note, bytes, "%s", replay->options->note ? replay->options->note : "");
	if (host->gaps) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " gaps in the trace, %" PRIu64 " events lost", host->gaps, host->lost);
		add_note(note, bytes, text);
	}
	if (replay->options->corpus && !replay->options->no_cpu) {
		snprintf(text, sizeof(text), "pages from corpus %s", replay->options->corpus);
		add_note(note, bytes, text);
	}
	add_note(note, bytes, early_end);
	add_note(note, bytes, replay->beside.note);
	add_note(note, bytes, lane->odd);
	add_note(note, bytes, replay->group.why_not);
	if (replay->options->target != PLAY_MODEL)
		return;
	add_note(note, bytes, "device model, computed: ");
	snprintf(note + strlen(note), bytes - strlen(note), "%s: ", replay->model_origin);
	time_params_to_text(&replay->plan.params, text, sizeof(text));
	snprintf(note + strlen(note), bytes - strlen(note), "%s", text);
}

static const char default_model[] = "ssd";

static const char *const target_names[] = {
	[PLAY_NULL] = "null",
	[PLAY_DEVICE] = "device",
	[PLAY_MODEL] = "model",
	[PLAY_KERNEL] = "kernel",
};

/* What two runs must have in common to be comparable. */
static const char *target_detail(const struct replay *replay)
{
	const struct play_options *options = replay->options;

	if (replay->kernel)
		return kernel_detail(replay->kernel);
	if (options->target == PLAY_DEVICE)
		return replay->detail;
	if (options->target == PLAY_MODEL)
		return options->time_model ? options->time_model : default_model;
	return "";
}

/* `early_end`: why the run is partial, "" if it is not. */
static enum zr_err store_lane(struct replay *replay, const struct survey_host *host, struct lane *lane,
			      const char *early_end)
{
	const struct play_options *options = replay->options;
	int32_t reps = 0;
	char knobs[SIM_POLICY_TEXT_MAX], note[NOTE_BYTES], pace[32];
	struct db_run run;

	for (size_t i = 0; i < lane->metrics.n; i++)
		if (lane->metrics.rows[i].rep >= reps)
			reps = lane->metrics.rows[i].rep + 1;
	sim_policy_to_text(&lane->settled, knobs, sizeof(knobs));
	write_note(replay, host, lane, early_end, note);
	play_pace_to_text(options->pace, options->speed, pace, sizeof(pace));
	run = (struct db_run){ .policy = lane->policy->text,
			       .knobs = knobs,
			       .target = target_names[options->target],
			       .target_detail = target_detail(replay),
			       .drive = options->drive == SIM_DRIVE_DEMAND ? "demand" :
										     "writebacks",
			       .pace = pace,
			       .trace_id = db_trace_id(replay->trace),
			       .trace_path = db_path(replay->trace),
			       .host = host->host,
			       .created_realtime_ns = (int64_t)zr_clock_ns(CLOCK_REALTIME),
			       .reps = reps,
			       .partial = early_end[0] != '\0',
			       .note = note };
	return results_store(replay->results, &run, &lane->metrics, &lane->series);
}

static const char *stop_reason(const struct replay *replay)
{
	return replay->stopped ? "stopped by the user before the end of the trace" : "";
}

/* ------------------------------------------------------------------------------------------ null */

static enum zr_err finish_null_lane(struct replay *replay, const struct survey_host *host,
				    struct lane *lane)
{
	const struct play_options *options = replay->options;

	if (options->figures)
		options->figures(options->figures_arg,
				 &(struct play_figures){
					 .policy = (uint32_t)(lane->policy - replay->policies),
					 .host = host->host,
					 .counters = *sim_counters(lane->sim),
					 .io = *lane_io(lane) });
	if (!replay->results)
		return ZR_OK;
	metrics_add(&lane->metrics,
		    &(struct replay_figures){ .page_size = host->machine.page_size,
					      .counters = sim_counters(lane->sim),
					      .io = lane_io(lane),
					      .timing = lane->timing ? &lane->timing_report : NULL,
					      .pace = options->pace });
	return store_lane(replay, host, lane, stop_reason(replay));
}

static enum zr_err finish_timing(struct lane *lane)
{
	return lane->timing ? timing_finish(lane->timing, &lane->timing_report) : ZR_OK;
}

static enum zr_err replay_null(struct replay *replay, const struct survey_host *host,
			       struct lane *lanes)
{
	bool timed = replay->options->target == PLAY_MODEL;
	struct db_filter filter = fed_events(replay, host->host);
	uint32_t n = replay->options->n_policies;
	enum zr_err err = timed ? timing_survey(replay->trace, &filter, &replay->plan) : ZR_OK;

	for (uint32_t i = 0; i < n && !err; i++)
		err = timed ? lane_init_timed(&lanes[i], &replay->policies[i], &host->machine,
					      &replay->plan) :
			      lane_init(&lanes[i], &replay->policies[i], &host->machine, NULL);
	if (!err)
		err = feed_null_lanes(replay, host->host, lanes);
	for (uint32_t i = 0; i < n && !err; i++)
		err = finish_timing(&lanes[i]);
	for (uint32_t i = 0; i < n && !err; i++)
		err = finish_null_lane(replay, host, &lanes[i]);
	return err;
}

/* ---------------------------------------------------------------------------------------- device */

static void pace_pass(struct pass *pass)
{
	const struct play_options *options = pass->replay->options;
	const struct pacer_hooks hooks = { .wait = pass_wait, .stopped = pass_is_over, .arg = pass };

	pacer_init(&pass->pacer, pass->rep == WARM_UP ? PLAY_ASAP : options->pace, options->speed, &hooks);
}

static enum zr_err read_traced(const struct replay *replay, struct play_traced *out)
{
	const struct play_options *options = replay->options;

	*out = (struct play_traced){ 0 };
	return options->traced ? options->traced(options->traced_arg, out) : ZR_OK;
}

static enum zr_err begin_pass(struct pass *pass)
{
	struct lane *lane = pass->lane;
	enum zr_err err;

	pace_pass(pass);
	pass->work_before = pass->replay->work_done;
	err = read_traced(pass->replay, &pass->traced_before);
	if (err)
		return err;
	err = device_start(pass->device, pacer_is_timed(&pass->pacer) ? DEVICE_READS_OVERLAP :
									DEVICE_READS_WAIT);
	if (!err)
		err = lane_init(lane, lane->policy, &pass->host->machine, device_target(pass->device));
	lane->series = (struct series){ 0 };
	return err;
}

/* Whoever else writes to the device is in its statistics, and so in our figures: that is told at once. */
static void check_writes(struct pass *pass, const struct device_report *report)
{
	const struct play_options *options = pass->replay->options;
	const struct account_submitted submitted = { .writes = report->write_entries,
						     .bytes = report->bytes_written };
	char text[sizeof(pass->lane->odd)];

	account_check(report->account, &submitted, text, sizeof(text));
	if (!text[0])
		return;
	strcpy(pass->lane->odd, text);
	if (options->say)
		options->say(options->say_arg, text);
}

/* The disk's tracepoints against its statistics; those of a partition may be fewer. */
static enum zr_err check_traced(const struct pass *pass, const struct device_report *report)
{
	const struct play_traced *before = &pass->traced_before;
	const struct account *account = report->account;
	bool whole = account->major == account->disk_major && account->minor == account->disk_minor;
	struct play_traced now;
	uint64_t requests, merges;
	enum zr_err err = read_traced(pass->replay, &now);

	if (err || !pass->replay->options->traced || !report->counted)
		return err;
	requests = now.write_requests - before->write_requests;
	merges = now.write_merges - before->write_merges;
	metrics_add_traced(&pass->lane->metrics, pass->rep, requests, merges);
	if (whole ? requests == report->write_requests && merges == report->write_merges :
		    requests >= report->write_requests && merges >= report->write_merges)
		return ZR_OK;
	return zr_fail(ZR_CORRUPT,
		       "block tracepoints have %" PRIu64 " write requests and %" PRIu64
		       " merges of this pass, the statistics of the device %" PRIu64 " and %" PRIu64,
		       requests, merges, report->write_requests, report->write_merges);
}

static void keep_figures(struct pass *pass, const struct device_report *report,
			 const struct beside_figures *beside)
{
	struct lane *lane = pass->lane;

	metrics_add(&lane->metrics,
		    &(struct replay_figures){ .rep = pass->rep,
					      .page_size = pass->host->machine.page_size,
					      .counters = sim_counters(lane->sim),
					      .io = &lane->swapio.io,
					      .report = report,
					      .pacer = &pass->pacer,
					      .beside = beside,
					      .makespan_ns = zr_monotonic_ns() - pass->start_ns });
}

/* A pass that ended early says something of its policy only as long as no whole one does. */
static bool is_kept(const struct pass *pass, bool whole)
{
	return pass->rep != WARM_UP && (whole || !pass->lane->metrics.n);
}

static enum zr_err device_pass(struct pass *pass)
{
	struct replay *replay = pass->replay;
	struct beside_figures beside;
	struct device_report report;
	enum zr_err err = begin_pass(pass), device_err, beside_err;
	bool whole;

	if (err)
		return err;
	beside_pass_begin(&replay->beside);
	pass->start_ns = zr_monotonic_ns();
	err = feed_pass(pass);
	device_err = device_finish(pass->device, &report);
	beside_err = beside_pass_end(&replay->beside, &beside);
	device_err = device_err ? device_err : beside_err;
	whole = !err && !device_err && !replay->stopped;
	if (is_kept(pass, whole))
		keep_figures(pass, &report, &beside);
	if (pass->rep != WARM_UP && !err && !device_err) {
		check_writes(pass, &report);
		err = check_traced(pass, &report);
	}
	if (replay->options->live && pass->rep != WARM_UP && whole)
		tell_live(pass, &report, true);
	lane_stop(pass->lane);
	return err ? err : device_err;
}

static enum zr_err device_passes(struct replay *replay, const struct survey_host *host,
				 struct lane *lanes, struct device *device)
{
	struct pass pass = { .replay = replay, .device = device, .host = host };
	uint32_t n = replay->options->n_policies;
	int32_t reps = (int32_t)reps_of(replay);

	for (uint32_t i = 0; i < n; i++)
		lanes[i].policy = &replay->policies[i];
	for (pass.rep = replay->options->warm_up ? WARM_UP : 0; pass.rep < reps; pass.rep++) {
		for (uint32_t i = 0; i < n && !replay->stopped; i++) {
			enum zr_err err;

			pass.lane = &lanes[i];
			err = device_pass(&pass);
			if (err)
				return err;
		}
	}
	return ZR_OK;
}

/* The figures of what was done are kept whatever ended it (`err`, told already); policies that never came to run have
 * none. */
static enum zr_err store_passes(struct replay *replay, const struct survey_host *host, struct lane *lanes,
				enum zr_err err)
{
	enum zr_err store_err = ZR_OK;
	char early_end[1024];

	snprintf(early_end, sizeof(early_end), "%s", err ? zr_error_text() : stop_reason(replay));
	for (uint32_t i = 0; i < replay->options->n_policies && !store_err; i++)
		if (lanes[i].metrics.n)
			store_err = store_lane(replay, host, &lanes[i], early_end);
	return err ? err : store_err;
}

/* How far the writes may reach: a virtual swap layer goes wherever it likes in an area. */
static const uint64_t *device_slots(const struct replay *replay, const struct survey_host *host)
{
	for (uint32_t i = 0; i < replay->options->n_policies; i++)
		if (replay->policies[i].slots == SIM_SLOTS_VSWAP)
			return host->machine.area_slots;
	return host->top_slots;
}

static void describe_device(struct replay *replay, const struct device *device)
{
	const struct account_group *group = &replay->group;
	const struct device_env_places places = { .sys = "/sys",
						  .proc = "/proc",
						  .cgroup = group->top ? cgroup_root(group->top) : NULL };

	device_env_read(&places, replay->options->device, device_file(device), replay->detail);
	if (replay->options->no_cpu)
		device_env_add(replay->detail, "cpu", "off");
	if (replay->options->neighbour)
		device_env_add(replay->detail, "neighbour", replay->options->neighbour);
}

static enum zr_err begin_beside(struct replay *replay, struct device *device)
{
	const struct play_options *options = replay->options;
	const struct device_file *file = device_file(device);
	struct beside_options beside = { .words = options->neighbour,
					 .path = options->device,
					 .file = file,
					 .taken_bytes = device_taken_bytes(device),
					 .top = replay->group.top,
					 .own = replay->group.own };
	struct play_iocost iocost;
	uint32_t disk[2];
	enum zr_err err = ZR_OK;

	if (!options->neighbour)
		return ZR_OK;
	if (options->time_model) {
		err = time_params_iocost(options->time_model, &iocost);
		beside.iocost = &iocost;
	}
	device_disk(file->major, file->minor, disk);
	beside.disk_major = disk[0];
	beside.disk_minor = disk[1];
	device_share(device);
	return err ? err : beside_begin(&beside, &replay->beside);
}

/* In a control group of its own, if one is wanted. */
static enum zr_err account_passes(struct replay *replay, const struct survey_host *host, struct lane *lanes,
				  struct device *device)
{
	struct account_group *group = &replay->group;
	bool wants_group = device_file(device)->is_block || replay->options->neighbour;
	enum zr_err err = account_group_open(replay->options->cgroup, wants_group, group), closed, ended;

	if (err)
		return err;
	device_set_group(device, group->own);
	err = begin_beside(replay, device);
	describe_device(replay, device);
	if (!err)
		err = device_passes(replay, host, lanes, device);
	ended = beside_end(&replay->beside);
	device_set_group(device, NULL);
	closed = account_group_close(group);
	return err ? err : ended ? ended : closed;
}

static enum zr_err replay_device(struct replay *replay, const struct survey_host *host,
				 struct lane *lanes)
{
	const struct play_options *options = replay->options;
	struct device_options device_options = { .path = options->device,
						 .yes_destroy = options->yes_destroy,
						 .file_bytes = options->device_bytes,
						 .page_size = host->machine.page_size,
						 .n_areas = host->machine.n_areas,
						 .area_slots = device_slots(replay, host),
						 .no_cpu = options->no_cpu,
						 .corpus = options->corpus,
						 .say = options->say,
						 .say_arg = options->say_arg };
	struct device *device;
	enum zr_err err = device_open(&device_options, &device);

	if (err)
		return err;
	err = store_passes(replay, host, lanes, account_passes(replay, host, lanes, device));
	device_close(device);
	return err;
}

/* ---------------------------------------------------------------------------------------- kernel */

static bool go_on(void *arg, uint64_t events)
{
	struct replay *replay = arg;

	replay->work_done += events;
	report_progress(replay);
	return !replay->stopped;
}

static enum zr_err kernel_passes(struct replay *replay, const struct survey_host *host, struct lane *lanes)
{
	uint32_t n = replay->options->n_policies;
	uint32_t passes = n * reps_of(replay);
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < n; i++)
		lane_settle(&lanes[i], &replay->policies[i], &host->machine);
	for (uint32_t pass = 0; pass < passes && !err && !replay->stopped; pass++) {
		struct lane *lane = &lanes[pass % n];

		lane->series = (struct series){ 0 };
		err = kernel_play(replay->kernel, &(struct kernel_pass){ .trace = replay->trace,
									 .host = host,
									 .policy = lane->policy,
									 .rep = (int32_t)(pass / n),
									 .go_on = go_on,
									 .arg = replay,
									 .metrics = &lane->metrics,
									 .series = &lane->series });
	}
	return err;
}

static enum zr_err replay_kernel(struct replay *replay, const struct survey_host *host, struct lane *lanes)
{
	return store_passes(replay, host, lanes, kernel_passes(replay, host, lanes));
}

/* ------------------------------------------------------------------------------------------- all */

static enum zr_err parse_policies(struct replay *replay)
{
	const struct play_options *options = replay->options;
	enum zr_err err = ZR_OK;

	if (!options->n_policies)
		return zr_fail(ZR_USAGE, "replaying '%s': no policy is named; name one or more with -p",
			       db_path(replay->trace));
	if (options->target == PLAY_DEVICE && !options->device)
		return zr_fail(ZR_USAGE, "replaying '%s' on a device: no device or file is named",
			       db_path(replay->trace));
	replay->policies =
		zr_arena_array(&replay->arena, options->n_policies, sizeof(*replay->policies));
	if (!replay->policies)
		return zr_fail(ZR_NOMEM, "reading %u policies: no memory", options->n_policies);
	for (uint32_t i = 0; i < options->n_policies && !err; i++) {
		err = sim_policy_parse(options->policies[i], &replay->policies[i]);
		replay->policies[i].drive = options->drive;
	}
	return err;
}

static void size_up_work(struct replay *replay)
{
	const struct play_options *options = replay->options;
	uint64_t passes = options->n_policies;

	if (options->target == PLAY_DEVICE)
		passes *= reps_of(replay) + options->warm_up;
	if (options->target == PLAY_KERNEL)
		passes *= reps_of(replay);
	for (size_t i = 0; i < replay->n_hosts; i++)
		replay->work += events_of(replay, &replay->hosts[i]) * passes;
}

static enum zr_err replay_host(struct replay *replay, const struct survey_host *host)
{
	uint32_t n = replay->options->n_policies;
	struct lane *lanes = calloc(n, sizeof(*lanes));
	enum zr_err err;

	if (!lanes)
		return zr_fail(ZR_NOMEM, "replaying under %u policies: no memory", n);
	if (replay->kernel)
		err = replay_kernel(replay, host, lanes);
	else
		err = replay->options->target == PLAY_DEVICE ? replay_device(replay, host, lanes) :
							       replay_null(replay, host, lanes);
	for (uint32_t i = 0; i < n; i++)
		lane_fini(&lanes[i]);
	free(lanes);
	free(replay->plan.tasks);
	replay->plan.tasks = NULL;
	replay->plan.n_tasks = 0;
	return err;
}

/* What only some targets know. */
static enum zr_err read_target(struct replay *replay)
{
	const struct play_options *options = replay->options;
	const char *model = options->time_model ? options->time_model : default_model;
	enum zr_err err;

	if (options->target == PLAY_KERNEL && options->pace == PLAY_CLOSED)
		return zr_fail(ZR_USAGE, "on the running kernel a pace is asap, recorded or scaled:X, not closed");
	if (options->target == PLAY_NULL && options->pace != PLAY_ASAP)
		return zr_fail(ZR_UNSUPPORTED,
			       "on null there is no time to keep to, it goes as fast as it can (--pace "
			       "asap); the targets model, device and kernel keep to the recording's");
	if (options->target == PLAY_DEVICE && options->pace == PLAY_CLOSED)
		return zr_fail(ZR_UNSUPPORTED,
			       "only on the target model do tasks wait for their own refaults (--pace "
			       "closed); a device takes asap, recorded or scaled:X");
	if (options->target != PLAY_DEVICE && options->corpus)
		return zr_fail(ZR_USAGE, "a corpus ('%s') is for real pages: on a device only",
			       options->corpus);
	if (options->target != PLAY_DEVICE && options->neighbour)
		return zr_fail(ZR_USAGE, "a neighbour ('%s') is for a device only; on model, rival=WEIGHT of a device "
					 "model is one", options->neighbour);
	if (options->target != PLAY_MODEL && options->time_model && !options->neighbour)
		return zr_fail(ZR_USAGE, "a device model ('%s') is for the target model only", model);
	replay->plan.pace = options->pace;
	replay->plan.speed = options->speed;
	if (options->target != PLAY_MODEL)
		return ZR_OK;
	err = time_params_parse(model, &replay->plan.params);
	return err ? err :
		     time_params_origin(model, replay->model_origin, sizeof(replay->model_origin));
}

enum zr_err play_replay(struct db *trace, struct db *results, const struct play_options *options)
{
	struct replay replay = { .trace = trace, .results = results, .options = options };
	enum zr_err err = parse_policies(&replay);

	if (!err)
		err = read_target(&replay);
	if (!err && options->target == PLAY_KERNEL)
		err = kernel_open(options, &replay.kernel);
	if (!err)
		err = survey_trace(trace, &replay.arena, &replay.hosts, &replay.n_hosts);
	if (!err) {
		size_up_work(&replay);
		if (options->target == PLAY_DEVICE)
			report_progress(&replay); /* nothing is touched if the user has stopped it already */
	}
	for (size_t i = 0; i < replay.n_hosts && !err && !replay.stopped; i++)
		err = replay_host(&replay, &replay.hosts[i]);
	kernel_close(replay.kernel);
	zr_arena_fini(&replay.arena);
	return err;
}
