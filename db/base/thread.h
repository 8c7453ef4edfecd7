/* SPDX-License-Identifier: MIT */
/* Threads that work for another one: signals are for that one, so they are blocked here. */
#ifndef DB_BASE_THREAD_H
#define DB_BASE_THREAD_H

#include <pthread.h>

/* 0 or an errno. */
int zr_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
