/* SPDX-License-Identifier: MIT */
/* A clock of the system in nanoseconds. */
#ifndef DB_BASE_CLOCK_H
#define DB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t zr_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1'000'000'000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t zr_monotonic_ns(void)
{
	return zr_clock_ns(CLOCK_MONOTONIC);
}

#endif
