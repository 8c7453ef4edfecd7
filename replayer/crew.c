/* SPDX-License-Identifier: MIT */
/* The threads of crew.h. */
#include "replayer/crew.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "db/base/thread.h"

struct crew {
	void (*work)(void *arg, uint32_t i);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t begun, ended;
	uint64_t round;
	uint32_t n, next;  /* pieces of the round; the next to take */
	uint32_t pending;  /* taken or not, but not done */
	bool over;
	uint32_t n_threads; /* besides the caller */
	pthread_t threads[CREW_MAX];
};

/* Takes pieces until there are none left. Called and returns with the lock held. */
static void take_pieces(struct crew *crew)
{
	while (crew->next < crew->n) {
		uint32_t i = crew->next++;

		pthread_mutex_unlock(&crew->lock);
		crew->work(crew->arg, i);
		pthread_mutex_lock(&crew->lock);
		if (!--crew->pending)
			pthread_cond_signal(&crew->ended);
	}
}

static void *thread_main(void *arg)
{
	struct crew *crew = arg;
	uint64_t seen = 0;

	pthread_mutex_lock(&crew->lock);
	while (!crew->over) {
		if (crew->round == seen) {
			pthread_cond_wait(&crew->begun, &crew->lock);
			continue;
		}
		seen = crew->round;
		take_pieces(crew);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

void crew_run(struct crew *crew, uint32_t n)
{
	pthread_mutex_lock(&crew->lock);
	crew->n = crew->pending = n;
	crew->next = 0;
	crew->round++;
	pthread_cond_broadcast(&crew->begun);
	take_pieces(crew);
	while (crew->pending)
		pthread_cond_wait(&crew->ended, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

enum zr_err crew_new(uint32_t threads, void (*work)(void *arg, uint32_t i), void *arg,
		     struct crew **out)
{
	struct crew *crew = calloc(1, sizeof(*crew));

	*out = crew;
	if (!crew)
		return zr_fail(ZR_NOMEM, "starting %u threads: no memory", threads);
	crew->work = work;
	crew->arg = arg;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->begun, NULL);
	pthread_cond_init(&crew->ended, NULL);
	while (crew->n_threads + 1 < threads && crew->n_threads < CREW_MAX) {
		int failed = zr_thread_start(&crew->threads[crew->n_threads], thread_main, crew);

		if (failed) {
			uint32_t made = crew->n_threads + 1;

			crew_free(crew);
			*out = NULL;
			return zr_fail_errno(failed, "starting thread %u of %u", made + 1, threads);
		}
		crew->n_threads++;
	}
	return ZR_OK;
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->over = true;
	pthread_cond_broadcast(&crew->begun);
	pthread_mutex_unlock(&crew->lock);
	for (uint32_t i = 0; i < crew->n_threads; i++)
		pthread_join(crew->threads[i], NULL);
	pthread_cond_destroy(&crew->ended);
	pthread_cond_destroy(&crew->begun);
	pthread_mutex_destroy(&crew->lock);
	free(crew);
}
