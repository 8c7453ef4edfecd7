/* SPDX-License-Identifier: MIT */
/*
 * The device, held against one that is played out nanosecond by nanosecond: requests stand in a
 * queue, some inside the device, some of those in service.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/devmodel.h"

enum { N = 400 };

struct naive {
	uint64_t submitted, cost, left, taken, done;
	bool inside, served, over;
};

static uint32_t count(const struct naive *all, bool served)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N; i++)
		n += all[i].inside && !all[i].over && (!served || all[i].served);
	return n;
}

static void play_tick(struct naive *all, uint64_t now, const struct time_params *params)
{
	for (uint32_t i = 0; i < N; i++) {
		if (all[i].served && !all[i].over && --all[i].left == 0) {
			all[i].over = true;
			all[i].done = now;
		}
	}
	/* In the order in which they were submitted. */
	for (uint32_t i = 0; i < N; i++) {
		if (all[i].submitted > now)
			break;
		if (!all[i].inside && count(all, false) < params->depth) {
			all[i].inside = true;
			all[i].taken = now;
		}
		if (all[i].inside && !all[i].served && count(all, true) < params->channels)
			all[i].served = true;
	}
}

static void requests_queue_as_in_a_played_device(void **state)
{
	static const char *const models[] = { "ssd+channels=1+depth=1", "ssd+channels=1+depth=4",
					      "ssd+channels=3+depth=4", "ssd+channels=4+depth=2",
					      "ssd+channels=8+depth=64" };

	(void)state;
	for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
		struct naive *all = calloc(N, sizeof(*all));
		struct zr_arena arena = { 0 };
		struct time_params params;
		struct devmodel dev;
		uint64_t random = 7 + m, now = 1, last = 0;

		assert_int_equal(time_params_parse(models[m], &params), ZR_OK);
		params.write_page_ns = 3;
		params.write_seq_ns = params.write_rand_ns = 2;
		assert_int_equal(devmodel_init(&dev, &params, &arena), ZR_OK);
		for (uint32_t i = 0; i < N; i++) {
			struct timed_io io = { .write = true,
					       .pages = 1 + random_below(&random, 5) };

			now += random_below(&random, 12);
			all[i].submitted = now;
			all[i].cost = all[i].left = 2 + 3 * (uint64_t)io.pages;
		}
		for (uint64_t t = 1; last < N && t < 100000; t++) {
			play_tick(all, t, &params);
			while (last < N && all[last].over)
				last++;
		}
		assert_int_equal(last, N);
		random = 7 + m;
		for (uint32_t i = 0; i < N; i++) {
			struct timed_io io = { .write = true,
					       .pages = 1 + random_below(&random, 5) };
			struct dev_times times = devmodel_submit(&dev, &io, all[i].submitted);

			(void)random_below(&random, 12);
			assert_int_equal(times.taken_ns, all[i].taken);
			assert_int_equal(times.done_ns, all[i].done);
		}
		zr_arena_fini(&arena);
		free(all);
	}
}

static void costs_are_base_and_pages(void **state)
{
	struct time_params params;
	struct cost_model model;
	uint64_t cursor = 0;

	(void)state;
	assert_int_equal(time_params_parse("ssd", &params), ZR_OK);
	model = device_cost_model(&params);
	/* The first one is sequential, whatever its place. */
	assert_int_equal(
		cost_of(&model, &(struct timed_io){ .start_page = 90000, .pages = 2 }, &cursor),
		103600 + 2 * 8380);
	assert_int_equal(cursor, 90002);
	assert_int_equal(
		cost_of(&model,
			&(struct timed_io){ .start_page = 90002 + 4096, .pages = 1, .write = true },
			&cursor),
		25200 + 9570);
	assert_int_equal(cost_of(&model,
				 &(struct timed_io){ .start_page = 1, .pages = 1, .write = true },
				 &cursor),
			 36010 + 9570);
	assert_int_equal(
		cost_of(&model,
			&(struct timed_io){
				.start_page = 2, .pages = 3, .write = true, .merged = true },
			&cursor),
		3 * 9570);
	assert_int_equal(
		cost_of(&model, &(struct timed_io){ .start_page = 5 + 4097, .pages = 1 }, &cursor),
		109000 + 8380);
}

static void models_are_presets_and_knobs(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{ "", "begins with ssd" },
		{ "floppy", "begins with ssd" },
		{ "ssd+nosuch=1", "is not a knob" },
		{ "ssd+depth=0", "from 1 to 65536" },
		{ "ssd+depth", "does not do" },
		{ "ssd+depth=4x", "does not do" },
		{ "ssd++depth=4", "is not a knob" },
		{ "ssd+depth=-1", "does not do" },
		{ "ssd+vrate_min=200+vrate_max=100", "vrate_min is above" },
	};
	struct time_params params;
	char text[2048];

	(void)state;
	assert_int_equal(time_params_parse("hdd+channels=7+rival=1000", &params), ZR_OK);
	assert_true(params.channels == 7 && params.rival == 1000 && params.read_rand_ns == 2679000);
	time_params_to_text(&params, text, sizeof(text));
	assert_non_null(strstr(text, "channels=7 "));
	assert_non_null(strstr(text, "cost_write_page_ns=23000 "));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		zr_error_clear();
		assert_int_equal(time_params_parse(bad[i].text, &params), ZR_USAGE);
		assert_non_null(strstr(zr_error_text(), bad[i].error));
	}
	zr_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_queue_as_in_a_played_device),
		cmocka_unit_test(costs_are_base_and_pages),
		cmocka_unit_test(models_are_presets_and_knobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
