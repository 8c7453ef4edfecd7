/* SPDX-License-Identifier: MIT */
/* Threads without signals; see thread.h. */
#include "db/base/thread.h"

#include <signal.h>
#include <stddef.h>

int zr_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	errnum = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}
