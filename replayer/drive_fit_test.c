/* SPDX-License-Identifier: MIT */
/*
 * The fit, from drives whose truth is known: measurements are made by formula, and the fitted device then is driven
 * in a closed loop, request by request, and must do what was measured.
 */
#include "replayer/test_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/calibrate.h"
#include "replayer/drive_fit.h"

/* A drive with one server, and a way there and back; in us. */
struct truth {
	double base[2], page[2], seq[2], delay[2];
	double channels;
};

static void measure(const struct truth *truth, struct play_drive *drive)
{
	memset(drive, 0, sizeof(*drive));
	strcpy(drive->name, "a drive");
	drive->n = calibrate_list(0, false, drive->points);
	for (uint32_t i = 0; i < drive->n; i++) {
		struct play_drive_point *point = &drive->points[i];
		double pages = point->bytes / 4096.0;
		double service = pages * truth->page[point->write] +
				 (point->sequential ? truth->seq : truth->base)[point->write];
		double idle = service + truth->delay[point->write];

		point->latency_us = fmax(idle, point->depth * service / truth->channels);
		point->iops = point->depth / point->latency_us * 1e6;
		point->ios = 1000;
		point->steady = true;
	}
}

/* Mean latency in us of random requests, `depth` of them always under way. */
static double drive_closed_loop(const struct time_params *params, const struct play_drive_point *point)
{
	enum { N = 20000 };
	struct zr_arena arena = { 0 };
	struct devmodel dev;
	uint64_t done[128] = { 0 }, sum = 0, place = 1;

	assert_int_equal(devmodel_init(&dev, params, &arena), ZR_OK);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t first = 0;
		struct timed_io io = { .write = point->write, .pages = point->bytes / 4096 };
		struct dev_times times;

		for (uint32_t k = 1; k < point->depth; k++)
			first = done[k] < done[first] ? k : first;
		place = place * 6364136223846793005u + 1442695040888963407u;
		io.start_page = place >> 30;
		times = devmodel_submit(&dev, &io, done[first]);
		sum += times.done_ns - done[first];
		done[first] = times.done_ns;
	}
	zr_arena_fini(&arena);
	return (double)sum / N / 1000;
}

static void assert_near(double got, double wanted, double part)
{
	if (fabs(got - wanted) > part * fabs(wanted))
		fail_msg("got %g, wanted %g within %g%%", got, wanted, 100 * part);
}

static const struct truth truths[] = {
	/* A quick serial drive far away; a drive of eight channels; one whose writes land in a cache. */
	{ { 8, 10 }, { 1, 2 }, { 5, 6 }, { 60, 20 }, 1 },
	{ { 80, 200 }, { 8, 16 }, { 40, 100 }, { 0, 0 }, 8 },
	{ { 90, 12 }, { 2, 4 }, { 20, 12 }, { 10, 3 }, 1 },
};

static void fitted_device_does_what_was_measured(void **state)
{
	(void)state;
	for (size_t t = 0; t < sizeof(truths) / sizeof(truths[0]); t++) {
		struct time_params params;
		struct play_drive drive;

		measure(&truths[t], &drive);
		assert_int_equal(time_params_parse("ssd", &params), ZR_OK);
		assert_int_equal(drive_fit(&drive, &params), ZR_OK);
		for (uint32_t i = 0; i < drive.n; i++)
			if (!drive.points[i].sequential)
				assert_near(drive_closed_loop(&params, &drive.points[i]),
					    drive.points[i].latency_us, 0.02);
	}
}

static void channels_are_found_from_rate_and_idle_latency(void **state)
{
	static const uint64_t wanted[] = { 1, 8, 1 };

	(void)state;
	for (size_t t = 0; t < sizeof(truths) / sizeof(truths[0]); t++) {
		struct time_params params;
		struct play_drive drive;

		measure(&truths[t], &drive);
		assert_int_equal(time_params_parse("ssd", &params), ZR_OK);
		assert_int_equal(drive_fit(&drive, &params), ZR_OK);
		assert_int_equal(params.channels, wanted[t]);
		assert_near((double)params.read_rand_ns / (double)params.channels,
			    truths[t].base[0] * 1000 / truths[t].channels, 0.01);
		assert_near((double)params.write_page_ns / (double)params.channels,
			    truths[t].page[1] * 1000 / truths[t].channels, 0.01);
		assert_near((double)params.read_seq_ns / (double)params.channels,
			    truths[t].seq[0] * 1000 / truths[t].channels, 0.01);
	}
}

static void fit_keeps_terms_above_zero(void **state)
{
	/* A line that would cross the axis below 0. */
	static const struct fit_row rows[] = { { { 1, 1, 0 }, 1 }, { { 4, 1, 0 }, 8 }, { { 16, 1, 0 }, 40 } };
	double x[FIT_TERMS];

	(void)state;
	fit_solve(rows, 3, x);
	assert_true(x[0] > 0 && x[1] == 0 && x[2] == 0);
	/* By hand: sum(a/y) / sum((a/y)^2) of 1, 1/2, 2/5. */
	assert_near(x[0], 1.9 / 1.41, 1e-9);
}

static void half_measured_drives_are_refused(void **state)
{
	struct time_params params;
	struct play_drive drive;

	(void)state;
	measure(&truths[0], &drive);
	drive.partial = true;
	assert_int_equal(drive_fit(&drive, &params), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "ended early"));
	drive.partial = false;
	drive.read_only = true;
	zr_error_clear();
	assert_int_equal(drive_fit(&drive, &params), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "--read-only"));
	drive.read_only = false;
	drive.n = 0;
	zr_error_clear();
	assert_int_equal(drive_fit(&drive, &params), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "no random reads"));
	zr_error_clear();
}

/* ------------------------------------------------------------------------------------------- iocost */

static void coefficients_are_the_kernels(void **state)
{
	/* A page of 4096 bytes at 409,600,000 a second is 10 us; 20,000 sequential ones a second take 50 us each,
	 * 40 more; 16,000 random ones 62.5 us. Writes: 20 us; quicker than the bytes allow is no base at all. */
	const struct play_iocost given = { { 409'600'000, 204'800'000 }, { 20'000, 100'000 }, { 16'000, 25'000 } };
	struct cost_model cost = iocost_coefficients(&given);

	(void)state;
	assert_int_equal(cost.page_ns[0], 10'000);
	assert_int_equal(cost.seq_ns[0], 40'000);
	assert_int_equal(cost.rand_ns[0], 52'500);
	assert_int_equal(cost.page_ns[1], 20'000);
	assert_int_equal(cost.seq_ns[1], 0);
	assert_int_equal(cost.rand_ns[1], 20'000);
}

static void io_cost_model_is_written_as_the_kernel_takes_it(void **state)
{
	struct play_drive drive = { .n = 8,
				    .points = {
					    { .bytes = 4096, .depth = 1, .iops = 900.9 },
					    { .bytes = 4096, .depth = 32, .iops = 5000.5 },
					    { .bytes = 4096, .depth = 1, .sequential = true, .iops = 1000 },
					    { .bytes = 131072, .depth = 1, .sequential = true, .iops = 100 },
					    { .write = true, .bytes = 4096, .depth = 1, .iops = 3000 },
					    { .write = true, .bytes = 4096, .depth = 32, .iops = 2000 },
					    { .write = true, .bytes = 4096, .depth = 1, .sequential = true, .iops = 7000 },
					    /* Random ones say nothing of the bytes a second. */
					    { .write = true, .bytes = 131072, .depth = 1, .iops = 9e6 },
				    } };
	struct play_iocost iocost = play_drive_iocost(&drive);
	char text[256];

	(void)state;
	play_iocost_to_text(&iocost, text, sizeof(text));
	assert_string_equal(text, "ctrl=user model=linear rbps=13107200 rseqiops=1000 rrandiops=5000 "
				  "wbps=28672000 wseqiops=7000 wrandiops=3000");
}

/* --------------------------------------------------------------------------------------------- files */

static void drives_come_back_from_a_file(void **state)
{
	char path[] = "/tmp/zreel-drives-XXXXXX", text[100];
	struct play_drive drive, back;
	struct time_params direct, read;
	struct db *db;

	(void)state;
	close(mkstemp(path));
	unlink(path);
	measure(&truths[1], &drive);
	drive.range_bytes = 12345;
	assert_int_equal(db_open(path, DB_RESULTS, &db), ZR_OK);
	assert_int_equal(play_drive_load(db, NULL, &back), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "no measured drive"));
	zr_error_clear();
	assert_int_equal(play_drive_store(db, &drive), ZR_OK);
	strcpy(drive.name, "another");
	drive.points[0].latency_us *= 2;
	assert_int_equal(play_drive_store(db, &drive), ZR_OK);
	assert_int_equal(play_drive_load(db, "a drive", &back), ZR_OK);
	assert_true(back.n == drive.n && back.range_bytes == 12345 && !back.partial);
	assert_int_equal(play_drive_load(db, "nobody", &back), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "'a drive', 'another'"));
	zr_error_clear();
	assert_int_equal(play_drive_load(db, NULL, &back), ZR_OK);
	assert_string_equal(back.name, "another");
	assert_int_equal(db_close(db), ZR_OK);

	snprintf(text, sizeof(text), "calibrated:%s#another+iocost=0", path);
	assert_int_equal(time_params_parse(text, &read), ZR_OK);
	assert_int_equal(time_params_parse("ssd+iocost=0", &direct), ZR_OK);
	assert_int_equal(drive_fit(&drive, &direct), ZR_OK);
	assert_memory_equal(&read, &direct, sizeof(read));
	unlink(path);
}

static void impossible_figures_of_a_drive_are_refused(void **state)
{
	static const struct {
		const char *name;
		double value;
	} bad[] = {
		{ "rand_read_4096_0_iops", 1 },	   { "rand_read_0_1_iops", 1 },
		{ "rand_read_4096_1_iops", -1 },   { "rand_read_4096_1_iops", INFINITY },
		{ "rand_read_4096_1_iops", 1e300 }, { "nonsense", 1 },
	};
	char path[] = "/tmp/zreel-drives-XXXXXX";
	struct play_drive drive;

	(void)state;
	close(mkstemp(path));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct db_metric metric = { .name = bad[i].name, .value = bad[i].value };
		struct db_run run = { .target = "calibrate", .target_detail = "bad" };
		struct db *db;

		unlink(path);
		assert_int_equal(db_open(path, DB_RESULTS, &db), ZR_OK);
		assert_int_equal(db_run_add(db, &run, &metric, 1, NULL, 0), ZR_OK);
		assert_int_equal(play_drive_load(db, NULL, &drive), ZR_CORRUPT);
		zr_error_clear();
		assert_int_equal(db_close(db), ZR_OK);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fitted_device_does_what_was_measured),
		cmocka_unit_test(channels_are_found_from_rate_and_idle_latency),
		cmocka_unit_test(fit_keeps_terms_above_zero),
		cmocka_unit_test(half_measured_drives_are_refused),
		cmocka_unit_test(coefficients_are_the_kernels),
		cmocka_unit_test(io_cost_model_is_written_as_the_kernel_takes_it),
		cmocka_unit_test(drives_come_back_from_a_file),
		cmocka_unit_test(impossible_figures_of_a_drive_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
