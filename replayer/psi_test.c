/* SPDX-License-Identifier: MIT */
/* Pressure, held against the definition: every millisecond of every processor is looked at. */
#include "replayer/test_events.h"

#include <string.h>

#include "replayer/psi.h"

enum { CPUS = 3, TICKS = 17'300, MS = 1'000'000, WINDOW = PSI_WINDOW_NS / MS };

struct look {
	uint8_t running, waiting;
};

static void pressure_is_that_of_every_millisecond(void **state)
{
	static struct look looks[TICKS][CPUS];
	struct look now[CPUS] = { 0 };
	uint64_t random = 3, some = 0, full = 0;
	struct zr_arena arena = { 0 };
	struct psi psi;

	(void)state;
	assert_int_equal(psi_init(&psi, &arena, CPUS, 0), ZR_OK);
	for (uint32_t t = 0; t < TICKS; t++) {
		/* Long calm times and busy ones. */
		uint32_t changes = t % 4000 < 1000 ? random_below(&random, 3)
						   : random_below(&random, 200) == 0;

		for (uint32_t i = 0; i < changes; i++) {
			uint32_t cpu = random_below(&random, CPUS);
			int running = (int)random_below(&random, 3) - now[cpu].running;
			int waiting = (int)random_below(&random, 3) - now[cpu].waiting;

			psi_change(&psi, (uint64_t)t * MS, cpu, running, waiting);
			now[cpu].running = (uint8_t)(now[cpu].running + running);
			now[cpu].waiting = (uint8_t)(now[cpu].waiting + waiting);
		}
		memcpy(looks[t], now, sizeof(now));
	}
	psi_finish(&psi, (uint64_t)TICKS * MS);
	for (uint32_t from = 0; from < TICKS; from += WINDOW) {
		uint64_t s[CPUS] = { 0 }, f[CPUS] = { 0 }, busy[CPUS] = { 0 }, all = 0;

		for (uint32_t t = from; t < from + WINDOW && t < TICKS; t++) {
			for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
				const struct look *look = &looks[t][cpu];

				s[cpu] += look->waiting > 0;
				f[cpu] += look->waiting && !look->running;
				busy[cpu] += look->waiting || look->running;
				all += look->waiting || look->running;
			}
		}
		for (uint32_t cpu = 0; cpu < CPUS && all; cpu++) {
			some += s[cpu] * MS * busy[cpu] / all;
			full += f[cpu] * MS * busy[cpu] / all;
		}
	}
	assert_true(full > 0 && full < some);
	assert_int_equal(psi.some_ns, some);
	assert_int_equal(psi.full_ns, full);
	zr_arena_fini(&arena);
}

static void one_waiting_task_is_full_beside_a_running_one_it_is_not(void **state)
{
	struct zr_arena arena = { 0 };
	struct psi psi;

	(void)state;
	assert_int_equal(psi_init(&psi, &arena, 1, 500), ZR_OK);
	psi_change(&psi, 1000, 0, 0, 1);
	psi_change(&psi, 3000, 0, 1, 0);
	psi_change(&psi, 4000, 0, -1, -1);
	psi_finish(&psi, 10'000'000'000);
	assert_int_equal(psi.some_ns, 3000);
	assert_int_equal(psi.full_ns, 2000);
	zr_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pressure_is_that_of_every_millisecond),
		cmocka_unit_test(one_waiting_task_is_full_beside_a_running_one_it_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
