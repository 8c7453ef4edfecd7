/* SPDX-License-Identifier: MIT */
/* The replay and its view of live.h. */
#include "ui/live.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/thread.h"

struct ui_live {
	struct ui_live_setting setting;
	struct db *trace, *results;
	bool threaded;
	pthread_t thread;

	pthread_mutex_t lock; /* of all below */
	struct ui_live_view view;
	bool stop;
};

/* -------------------------------------------------------------------------------------- figures */

static const struct {
	const char *label;
	enum ui_better better;
	int decimals;
} figures[UI_LIVE_FIGURE_COUNT] = {
#define X(name, label, better, decimals) { label, better, decimals },
	UI_LIVE_FIGURES(X)
#undef X
};

const char *ui_live_label(enum ui_live_figure figure)
{
	return figures[figure].label;
}

int ui_live_decimals(enum ui_live_figure figure)
{
	return figures[figure].decimals;
}

char ui_live_source(const struct ui_live_lane *lane, enum ui_live_figure figure)
{
	switch (figure) {
	case UI_LIVE_PAGES_PER_REQUEST:
	case UI_LIVE_REQUESTS:
	case UI_LIVE_RATE:
		return lane->counted ? 'm' : 'p';
	case UI_LIVE_P50:
	case UI_LIVE_P99:
	case UI_LIVE_SECONDS:
		return 'm';
	case UI_LIVE_REFAULTS:
	case UI_LIVE_REJECTS:
	case UI_LIVE_WAKEUPS:
	case UI_LIVE_FIGURE_COUNT:
		break;
	}
	return ' ';
}

static void add(struct ui_running *running, double value)
{
	double before = value - running->mean;

	if (isnan(value))
		return;
	running->mean += before / ++running->n;
	running->squares += before * (value - running->mean);
}

struct ui_sample ui_live_sample(const struct ui_live_lane *lane, enum ui_live_figure figure)
{
	const struct ui_running *it = &lane->whole[figure];

	return (struct ui_sample){ .mean = it->n ? it->mean : NAN,
				   .stddev = it->n > 1 ? sqrt(it->squares / (it->n - 1)) : 0,
				   .n = it->n };
}

enum ui_verdict ui_live_verdict(const struct ui_live_view *view, enum ui_live_figure figure, uint32_t lane)
{
	struct ui_sample base = ui_live_sample(&view->lanes[0], figure);
	struct ui_sample it = ui_live_sample(&view->lanes[lane], figure);

	return lane ? ui_verdict_between(&base, &it, figures[figure].better) : UI_NO_VERDICT;
}

/* ----------------------------------------------------------------------------------------- view */

static void clear_lanes(struct ui_live_view *view)
{
	for (uint32_t i = 0; i < view->n_lanes; i++) {
		struct ui_live_lane *lane = &view->lanes[i];
		char policy[sizeof(lane->policy)];

		memcpy(policy, lane->policy, sizeof(policy));
		*lane = (struct ui_live_lane){ 0 };
		memcpy(lane->policy, policy, sizeof(policy));
	}
}

void ui_live_view_init(struct ui_live_view *view, const struct play_options *how)
{
	*view = (struct ui_live_view){ .n_lanes = how->n_policies,
				       .reps = how->reps ? how->reps : 1,
				       .page_size = 4096,
				       .warm_up = how->warm_up };
	if (view->n_lanes > PLAY_RACE_LANES)
		view->n_lanes = PLAY_RACE_LANES;
	for (uint32_t i = 0; i < view->n_lanes; i++)
		snprintf(view->lanes[i].policy, sizeof(view->lanes[i].policy), "%s", how->policies[i]);
	snprintf(view->target, sizeof(view->target), "%s", how->device ? how->device : "");
}

static double per(double n, double of)
{
	return of > 0 ? n / of : NAN;
}

static void read_figures(struct ui_live_lane *lane, const struct play_live *live)
{
	const struct zr_hist *reads = live->read_ns;
	double requests = (double)(live->counted ? live->write_requests : live->io->write_requests);
	double seconds = (double)live->elapsed_ns / 1e9;

	lane->now[UI_LIVE_PAGES_PER_REQUEST] = per((double)live->io->write_pages, requests);
	lane->now[UI_LIVE_REQUESTS] = requests;
	lane->now[UI_LIVE_RATE] = per(requests, seconds);
	lane->now[UI_LIVE_REFAULTS] = (double)live->counters->disk_refaults;
	lane->now[UI_LIVE_P50] = reads->count ? (double)zr_hist_quantile(reads, 0.5) / 1e3 : NAN;
	lane->now[UI_LIVE_P99] = reads->count ? (double)zr_hist_quantile(reads, 0.99) / 1e3 : NAN;
	lane->now[UI_LIVE_REJECTS] = (double)live->counters->store_rejected;
	lane->now[UI_LIVE_WAKEUPS] = (double)live->counters->shrink_worker_wakeups;
	lane->now[UI_LIVE_SECONDS] = seconds;
}

/* A bucket counts where it begins. */
static void read_latencies(struct ui_live_lane *lane, const struct zr_hist *reads)
{
	memset(lane->latencies, 0, sizeof(lane->latencies));
	for (uint32_t bucket = 0; reads->count && bucket <= zr_hist_bucket(reads->max); bucket++) {
		uint64_t low, high;
		uint32_t i = 0;

		zr_hist_bounds(bucket, &low, &high);
		while (i < UI_LATENCIES - 1 && low >= (uint64_t)2000 << i)
			i++;
		lane->latencies[i] += reads->bucket[bucket];
	}
}

static void end_pass(struct ui_live_lane *lane, uint32_t reps)
{
	lane->passes++;
	lane->phase = lane->passes >= reps ? UI_LIVE_DONE : UI_LIVE_WAITS;
	for (int i = 0; i < UI_LIVE_FIGURE_COUNT; i++)
		add(&lane->whole[i], lane->now[i]);
}

void ui_live_note(struct ui_live_view *view, const struct play_live *live)
{
	struct ui_live_lane *lane;

	if (live->policy >= view->n_lanes)
		return;
	if (view->host != live->host)
		clear_lanes(view);
	view->host = live->host;
	lane = &view->lanes[live->policy];
	lane->phase = UI_LIVE_RUNS;
	lane->any = true;
	lane->done = live->done;
	lane->counted = live->counted;
	lane->state = live->state;
	read_figures(lane, live);
	read_latencies(lane, live->read_ns);
	if (live->ended)
		end_pass(lane, view->reps);
}

static bool has_begun(const struct ui_live_view *view)
{
	for (uint32_t i = 0; i < view->n_lanes; i++)
		if (view->lanes[i].any)
			return true;
	return false;
}

const char *ui_live_state(const struct ui_live_view *view)
{
	if (view->err)
		return "failed";
	if (view->over)
		return view->stopped ? "stopped" : "done";
	return view->warm_up && !has_begun(view) ? "warming up" : "replaying";
}

double ui_live_done(const struct ui_live_view *view)
{
	double done = 0;

	for (uint32_t i = 0; i < view->n_lanes; i++)
		done += view->lanes[i].passes +
			(view->lanes[i].phase == UI_LIVE_RUNS ? view->lanes[i].done : 0);
	return per(done, (double)view->n_lanes * view->reps);
}

/* --------------------------------------------------------------------------------------- replay */

static void say(struct ui_live *live, const char *text)
{
	snprintf(live->view.message, sizeof(live->view.message), "%s", text);
	live->view.said++;
}

static bool on_progress(void *arg, double done)
{
	struct ui_live *live = arg;
	bool stop;

	(void)done;
	pthread_mutex_lock(&live->lock);
	stop = live->stop;
	pthread_mutex_unlock(&live->lock);
	return !stop;
}

static void on_live(void *arg, const struct play_live *news)
{
	struct ui_live *live = arg;
	uint64_t page_size =
		(uint64_t)db_env_int(live->trace, news->host, DB_ENV_PAGE_SIZE, 4096);

	pthread_mutex_lock(&live->lock);
	ui_live_note(&live->view, news);
	live->view.page_size = page_size;
	pthread_mutex_unlock(&live->lock);
}

static void on_say(void *arg, const char *text)
{
	struct ui_live *live = arg;

	pthread_mutex_lock(&live->lock);
	say(live, text);
	pthread_mutex_unlock(&live->lock);
}

static void end_view(struct ui_live *live, enum zr_err err)
{
	struct ui_live_view *view = &live->view;
	char text[sizeof(view->message)];

	view->over = true;
	view->err = err;
	view->stopped = !err && live->stop && ui_live_done(view) < 1;
	for (uint32_t i = 0; i < view->n_lanes; i++)
		if (view->lanes[i].phase == UI_LIVE_RUNS)
			view->lanes[i].phase = UI_LIVE_WAITS;
	if (err)
		snprintf(text, sizeof(text), "%s", zr_error_text());
	else
		snprintf(text, sizeof(text), "%s; the runs are in %s",
			 view->stopped ? "stopped" : "done", live->setting.runs);
	say(live, text);
}

void ui_live_run(struct ui_live *live)
{
	struct play_options how = live->setting.how;
	enum zr_err err;

	how.progress = on_progress;
	how.live = on_live;
	how.say = on_say;
	how.progress_arg = how.live_arg = how.say_arg = live;
	err = play_replay(live->trace, live->results, &how);
	pthread_mutex_lock(&live->lock);
	end_view(live, err);
	pthread_mutex_unlock(&live->lock);
	zr_error_clear();
}

static void *run(void *arg)
{
	ui_live_run(arg);
	return NULL;
}

enum zr_err ui_live_start(struct ui_live *live)
{
	int errnum = zr_thread_start(&live->thread, run, live);

	if (errnum)
		return zr_fail_errno(errnum, "starting the replay's thread");
	live->threaded = true;
	return ZR_OK;
}

void ui_live_stop(struct ui_live *live)
{
	pthread_mutex_lock(&live->lock);
	live->stop = true;
	pthread_mutex_unlock(&live->lock);
}

void ui_live_look(struct ui_live *live, struct ui_live_view *out)
{
	pthread_mutex_lock(&live->lock);
	*out = live->view;
	pthread_mutex_unlock(&live->lock);
}

enum zr_err ui_live_new(const struct ui_live_setting *setting, struct ui_live **out)
{
	struct ui_live *live = calloc(1, sizeof(*live));
	enum zr_err err;

	*out = NULL;
	if (!live)
		return zr_fail(ZR_NOMEM, "starting the replay: out of memory");
	live->setting = *setting;
	pthread_mutex_init(&live->lock, NULL);
	ui_live_view_init(&live->view, &setting->how);
	err = db_open(setting->path, DB_READ, &live->trace);
	if (!err)
		err = db_open(setting->runs, DB_RESULTS, &live->results);
	if (err) {
		enum zr_err kept = ui_live_free(live, NULL);

		return kept ? kept : err;
	}
	*out = live;
	return ZR_OK;
}

/* The error of the replay is told again for this thread. */
enum zr_err ui_live_free(struct ui_live *live, bool *stopped)
{
	enum zr_err err, closed;

	if (!live)
		return ZR_OK;
	if (live->threaded) {
		ui_live_stop(live);
		pthread_join(live->thread, NULL);
	}
	err = live->view.err ? zr_fail(live->view.err, "%s", live->view.message) : ZR_OK;
	if (stopped)
		*stopped = live->view.stopped;
	closed = live->results ? db_close(live->results) : ZR_OK;
	err = err ? err : closed;
	closed = live->trace ? db_close(live->trace) : ZR_OK;
	pthread_mutex_destroy(&live->lock);
	free(live);
	return err ? err : closed;
}
