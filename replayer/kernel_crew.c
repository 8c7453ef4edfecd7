/* SPDX-License-Identifier: MIT */
/* The threads of kernel_crew.h. */
#include "replayer/kernel_crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "db/base/thread.h"

enum { TURN_YIELDS = 50, TURN_NAP_NS = 50'000 };

struct item {
	struct item *next;
	uint64_t time_ns;
	uint16_t n;
	uint8_t verb;
	struct kernel_page pages[];
};

struct worker {
	struct kernel_crew *crew;
	pthread_t thread;
	bool running;
	pthread_cond_t filled;
	struct item *first, **last;
	struct pacer pacer;
	struct kernel_crew_report report;
};

struct kernel_crew {
	struct kernel_acts acts;
	pthread_mutex_t lock; /* of all queues, counts and the error */
	pthread_cond_t drained;
	uint64_t queued, wake_at; /* the waiter is woken when so few are left */
	_Atomic bool stopped;
	bool over;
	enum zr_err err;
	char error_text[512];
	_Atomic uint32_t *done; /* turns of each page */
	struct worker workers[KERNEL_WORKERS];
};

/* ------------------------------------------------------------------------------------ the thread */

static void fail(struct kernel_crew *crew, enum zr_err err)
{
	pthread_mutex_lock(&crew->lock);
	if (!crew->err) {
		crew->err = err;
		snprintf(crew->error_text, sizeof(crew->error_text), "%s", zr_error_text());
	}
	pthread_mutex_unlock(&crew->lock);
	zr_error_clear();
	kernel_crew_stop(crew);
}

/* False: stopped before it came. */
static bool wait_for_turn(struct kernel_crew *crew, const struct kernel_page *page)
{
	static const struct timespec nap = { .tv_nsec = TURN_NAP_NS };
	_Atomic uint32_t *done = &crew->done[page->page];

	for (uint32_t tries = 0; atomic_load(done) != page->turn; tries++) {
		if (atomic_load(&crew->stopped))
			return false;
		if (tries < TURN_YIELDS)
			sched_yield();
		else
			clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
	return true;
}

static enum zr_err touch(struct worker *worker, uint64_t page)
{
	struct kernel_touch met = { 0 };
	struct kernel_crew_report *report = &worker->report;
	enum zr_err err = worker->crew->acts.touch(worker->crew->acts.arg, page, &met);

	if (err)
		return err;
	zr_hist_add(met.from == KERNEL_FROM_DISK    ? &report->disk_ns
		    : met.from == KERNEL_FROM_ZSWAP ? &report->zswap_ns
						    : &report->memory_ns,
		    met.ns);
	return ZR_OK;
}

static enum zr_err act(struct worker *worker, const struct item *item)
{
	const struct kernel_acts *acts = &worker->crew->acts;

	switch ((enum kernel_verb)item->verb) {
	case KERNEL_OUT:
		return acts->out(acts->arg, item->pages, item->n);
	case KERNEL_IN:
		return touch(worker, item->pages[0].page);
	case KERNEL_AHEAD:
		return acts->ahead(acts->arg, item->pages[0].page);
	case KERNEL_FREE:
		return acts->give_back(acts->arg, item->pages, item->n);
	}
	return ZR_OK;
}

static bool is_stopped(void *arg)
{
	struct kernel_crew *crew = arg;

	return atomic_load(&crew->stopped);
}

static void do_item(struct worker *worker, const struct item *item)
{
	struct kernel_crew *crew = worker->crew;
	enum zr_err err;

	if (worker->pacer.started && !pacer_wait(&worker->pacer, item->time_ns))
		return;
	for (uint16_t i = 0; i < item->n; i++)
		if (!wait_for_turn(crew, &item->pages[i]))
			return;
	if (atomic_load(&crew->stopped))
		return;
	err = act(worker, item);
	if (err)
		fail(crew, err);
	for (uint16_t i = 0; i < item->n; i++)
		atomic_store(&crew->done[item->pages[i].page], item->pages[i].turn + 1);
	if (pacer_is_timed(&worker->pacer))
		pacer_end(&worker->pacer);
}

/* NULL: it is over. Called and returns with the lock held. */
static struct item *take(struct worker *worker)
{
	struct kernel_crew *crew = worker->crew;
	struct item *item;

	while (!worker->first && !crew->over)
		pthread_cond_wait(&worker->filled, &crew->lock);
	item = worker->first;
	if (!item)
		return NULL;
	worker->first = item->next;
	if (!worker->first)
		worker->last = &worker->first;
	return item;
}

static void *thread_main(void *arg)
{
	struct worker *worker = arg;
	struct kernel_crew *crew = worker->crew;
	struct item *item;

	pthread_mutex_lock(&crew->lock);
	while ((item = take(worker))) {
		pthread_mutex_unlock(&crew->lock);
		do_item(worker, item);
		free(item);
		pthread_mutex_lock(&crew->lock);
		if (--crew->queued <= crew->wake_at)
			pthread_cond_signal(&crew->drained);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

static enum zr_err start(struct worker *worker)
{
	int errnum = zr_thread_start(&worker->thread, thread_main, worker);

	if (errnum)
		return zr_fail_errno(errnum, "starting a thread for a task of the trace");
	worker->running = true;
	return ZR_OK;
}

/* ------------------------------------------------------------------------------------ the caller */

/* The condition that is waited for with a time limit goes by the monotonic clock. */
static void init_waiting(struct kernel_crew *crew)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&crew->drained, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&crew->lock, NULL);
}

enum zr_err kernel_crew_new(uint64_t pages, const struct kernel_acts *acts,
			    struct kernel_crew **out)
{
	struct kernel_crew *crew = calloc(1, sizeof(*crew));

	*out = NULL;
	if (crew)
		crew->done = calloc(pages + 1, sizeof(*crew->done));
	if (!crew || !crew->done) {
		free(crew);
		return zr_fail(ZR_NOMEM, "making the tasks of a replay on the kernel: no memory");
	}
	crew->acts = *acts;
	init_waiting(crew);
	for (uint32_t i = 0; i < KERNEL_WORKERS; i++) {
		crew->workers[i].crew = crew;
		crew->workers[i].last = &crew->workers[i].first;
		pthread_cond_init(&crew->workers[i].filled, NULL);
	}
	*out = crew;
	return ZR_OK;
}

/* The threads look at their pacers when they take an item, which comes through the lock. */
void kernel_crew_pace(struct kernel_crew *crew, const struct pacer *pacer)
{
	pthread_mutex_lock(&crew->lock);
	for (uint32_t i = 0; i < KERNEL_WORKERS; i++) {
		crew->workers[i].pacer = *pacer;
		crew->workers[i].pacer.hooks.stopped = is_stopped;
		crew->workers[i].pacer.hooks.arg = crew;
	}
	pthread_mutex_unlock(&crew->lock);
}

enum zr_err kernel_crew_put(struct kernel_crew *crew, const struct kernel_op *op)
{
	struct worker *worker = &crew->workers[op->worker];
	struct item *item = malloc(sizeof(*item) + op->n * sizeof(item->pages[0]));

	if (!item)
		return zr_fail(ZR_NOMEM,
			       "queueing work for a task of a replay on the kernel: no memory");
	item->next = NULL;
	item->time_ns = op->time_ns;
	item->n = op->n;
	item->verb = op->verb;
	memcpy(item->pages, op->pages, op->n * sizeof(item->pages[0]));
	pthread_mutex_lock(&crew->lock);
	*worker->last = item;
	worker->last = &item->next;
	crew->queued++;
	pthread_cond_signal(&worker->filled);
	pthread_mutex_unlock(&crew->lock);
	return worker->running ? ZR_OK : start(worker);
}

uint64_t kernel_crew_queued(struct kernel_crew *crew)
{
	uint64_t queued;

	pthread_mutex_lock(&crew->lock);
	queued = crew->queued;
	pthread_mutex_unlock(&crew->lock);
	return queued;
}

static struct timespec from_now(uint64_t ns)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	ns += (uint64_t)at.tv_nsec;
	at.tv_sec += (time_t)(ns / 1'000'000'000);
	at.tv_nsec = (long)(ns % 1'000'000'000);
	return at;
}

bool kernel_crew_wait(struct kernel_crew *crew, uint64_t left, uint64_t timeout_ns)
{
	struct timespec until = from_now(timeout_ns);
	bool there;

	pthread_mutex_lock(&crew->lock);
	crew->wake_at = left;
	while (crew->queued > left)
		if (pthread_cond_timedwait(&crew->drained, &crew->lock, &until))
			break;
	there = crew->queued <= left;
	pthread_mutex_unlock(&crew->lock);
	return there;
}

enum zr_err kernel_crew_error(struct kernel_crew *crew)
{
	enum zr_err err;

	pthread_mutex_lock(&crew->lock);
	err = crew->err;
	pthread_mutex_unlock(&crew->lock);
	return err ? zr_fail(err, "%s", crew->error_text) : ZR_OK;
}

void kernel_crew_stop(struct kernel_crew *crew)
{
	atomic_store(&crew->stopped, true);
}

static void end_threads(struct kernel_crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->over = true;
	for (uint32_t i = 0; i < KERNEL_WORKERS; i++)
		pthread_cond_signal(&crew->workers[i].filled);
	pthread_mutex_unlock(&crew->lock);
	for (uint32_t i = 0; i < KERNEL_WORKERS; i++) {
		if (crew->workers[i].running)
			pthread_join(crew->workers[i].thread, NULL);
		crew->workers[i].running = false;
	}
}

/* What was queued for a thread that could not be started. */
static void drop_items(struct worker *worker)
{
	struct item *item;

	while ((item = worker->first)) {
		worker->first = item->next;
		free(item);
	}
}

void kernel_crew_finish(struct kernel_crew *crew, struct kernel_crew_report *report)
{
	end_threads(crew);
	*report = (struct kernel_crew_report){ 0 };
	for (uint32_t i = 0; i < KERNEL_WORKERS; i++) {
		struct worker *worker = &crew->workers[i];

		zr_hist_merge(&report->memory_ns, &worker->report.memory_ns);
		zr_hist_merge(&report->zswap_ns, &worker->report.zswap_ns);
		zr_hist_merge(&report->disk_ns, &worker->report.disk_ns);
		zr_hist_merge(&report->late_ns, &worker->pacer.late_ns);
		if (worker->pacer.drift_ns > report->drift_ns)
			report->drift_ns = worker->pacer.drift_ns;
	}
}

void kernel_crew_free(struct kernel_crew *crew)
{
	if (!crew)
		return;
	kernel_crew_stop(crew);
	end_threads(crew);
	for (uint32_t i = 0; i < KERNEL_WORKERS; i++) {
		drop_items(&crew->workers[i]);
		pthread_cond_destroy(&crew->workers[i].filled);
	}
	pthread_cond_destroy(&crew->drained);
	pthread_mutex_destroy(&crew->lock);
	free(crew->done);
	free(crew);
}
