/* SPDX-License-Identifier: MIT */
/* The system's clocks in nanoseconds. */
#ifndef DB_BASE_CLOCK_H
#define DB_BASE_CLOCK_H

#include <stddef.h>
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

/* By the monotonic clock; a signal ends it early. */
static inline void zr_sleep_until(uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / 1'000'000'000),
					.tv_nsec = (long)(until_ns % 1'000'000'000) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

#endif
