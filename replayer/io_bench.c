/* SPDX-License-Identifier: MIT */
/*
 * 4 KiB random writes through the device target: io_bench FILE WRITES DEPTH. Prints writes a second.
 *
 * Bios are handed over as the plan hands them over, each kicked by itself; without compression, so that what is measured
 * is the engine. The file must be there, with at least as many pages as the first of the two below, and is overwritten.
 * For replayer/bench-io, which runs fio in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "replayer/device.h"

enum { PAGE = 4096, SLOTS_MIN = 1024 };

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* xorshift64* */
static uint32_t random_below(uint64_t *state, uint32_t end)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)((*state * 0x2545f4914f6cdd1d >> 32) * end >> 32);
}

static double write_randomly(struct device *device, uint32_t slots, uint64_t writes)
{
	struct swapio_target *target = device_target(device);
	uint64_t random = (uint64_t)time(NULL) | 1;
	double start = now_s();

	for (uint64_t i = 0; i < writes && !device_error(device); i++) {
		struct swapio_bio bio = { .context = SWAPIO_WALK, .pages = 1 };

		bio.slot = random_below(&random, slots);
		target->bio(target, &bio);
		target->kick(target, SWAPIO_WALK);
	}
	return (double)writes / (now_s() - start);
}

static enum zr_err bench(const struct device_options *options, uint64_t writes, double *per_s)
{
	struct device_report *report = calloc(1, sizeof(*report));
	struct device *device = NULL;
	enum zr_err err = report ? device_open(options, &device) :
				   zr_fail(ZR_NOMEM, "keeping the report: no memory");

	if (!err)
		err = device_start(device, DEVICE_READS_WAIT);
	if (!err) {
		*per_s = write_randomly(device, (uint32_t)options->area_slots[0], writes);
		err = device_finish(device, report);
	}
	device_close(device);
	free(report);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t writes = argc == 4 ? strtoull(argv[2], NULL, 10) : 0, slots;
	uint32_t depth = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	struct stat st;
	double per_s;

	if (!writes || !depth) {
		fputs("usage: io_bench FILE WRITES DEPTH\n", stderr);
		return 2;
	}
	if (stat(argv[1], &st) || st.st_size < SLOTS_MIN * PAGE) {
		fprintf(stderr, "io_bench: '%s' is no file of %d pages or more\n", argv[1], SLOTS_MIN);
		return 1;
	}
	slots = (uint64_t)st.st_size / PAGE - 1;
	if (bench(&(struct device_options){ .path = argv[1],
					    .yes_destroy = argv[1],
					    .page_size = PAGE,
					    .n_areas = 1,
					    .area_slots = &slots,
					    .depth = depth,
					    .no_cpu = true },
		  writes, &per_s)) {
		fprintf(stderr, "io_bench: %s\n", zr_error_text());
		return 1;
	}
	printf("%.0f\n", per_s);
	return 0;
}
