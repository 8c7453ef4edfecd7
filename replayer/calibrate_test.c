/* SPDX-License-Identifier: MIT */
/* When a figure is steady, what counts of it, and what becomes of files that are measured. */
#include "replayer/test_events.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replayer/calibrate.h"

enum { SECOND = 1'000'000'000 };

static void windows_are_steady_when_the_last_agree(void **state)
{
	struct calibrate_window w[] = {
		{ 900, SECOND, 0 }, { 100, SECOND, 0 }, { 100, SECOND, 0 }, { 104, SECOND, 0 }, { 120, SECOND, 0 },
	};

	(void)state;
	assert_false(calibrate_is_steady(w, 3)); /* the first never counts */
	assert_true(calibrate_is_steady(w, 4));
	assert_false(calibrate_is_steady(w, 5));
	w[3].ios = 107;
	assert_false(calibrate_is_steady(w, 4));
	/* Rates, not counts: half as many in half the time. */
	w[3] = (struct calibrate_window){ 50, SECOND / 2, 0 };
	assert_true(calibrate_is_steady(w, 4));
	/* Too few to tell. */
	for (int i = 0; i < 4; i++)
		w[i] = (struct calibrate_window){ CALIBRATE_FEWEST - 1, SECOND, 0 };
	assert_false(calibrate_is_steady(w, 4));
}

static void steady_windows_count_else_the_second_half(void **state)
{
	struct calibrate_window w[] = {
		{ 900, SECOND, 1 }, { 100, SECOND, 1'000'000 }, { 100, SECOND, 2'000'000 }, { 100, SECOND, 3'000'000 },
	};
	struct play_drive_point point = { 0 };

	(void)state;
	calibrate_sum_up(w, 4, &point);
	assert_true(point.steady && point.ios == 300 && point.iops == 100 && point.latency_us == 20);
	w[2].ios = 300;
	calibrate_sum_up(w, 4, &point);
	assert_true(!point.steady && point.ios == 400 && point.iops == 200 && point.latency_us == 12.5);
}

static void every_point_is_measured_once(void **state)
{
	static const struct {
		uint32_t max;
		bool read_only;
		uint32_t n;
	} cases[] = { { 0, false, 44 }, { 0, true, 22 }, { 1024 * 1024, false, 52 }, { 131072, true, 22 } };

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct play_drive_point p[PLAY_DRIVE_POINTS];
		uint32_t n = calibrate_list(cases[c].max, cases[c].read_only, p);

		assert_int_equal(n, cases[c].n);
		for (uint32_t i = 0; i < n; i++) {
			assert_true(p[i].bytes >= 4096 && p[i].depth >= 1 && p[i].depth <= 128);
			for (uint32_t j = 0; j < i; j++)
				assert_false(p[i].write == p[j].write && p[i].sequential == p[j].sequential &&
					     p[i].bytes == p[j].bytes && p[i].depth == p[j].depth);
		}
	}
}

/* ---------------------------------------------------------------------------------------- on a file */

struct fixture {
	char folder[32], path[64], scratch[64];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	/* Memory would refuse direct I/O. */
	strcpy(f->folder, "/var/tmp/zreel-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/file", f->folder);
	snprintf(f->scratch, sizeof(f->scratch), "%s/zreel-calibrate.scratch", f->folder);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	unlink(f->scratch);
	rmdir(f->folder);
	free(f);
	return 0;
}

/* Where no direct I/O or no io_uring is to be had. */
static void skip_if_unsupported(enum zr_err err)
{
	if (err != ZR_UNSUPPORTED)
		return;
	print_message("skipped: %s\n", zr_error_text());
	zr_error_clear();
	skip();
}

static void a_folder_gets_a_scratch_file_and_loses_it(void **state)
{
	struct fixture *f = *state;
	struct play_calibrate_options options = { .path = f->folder, .bytes = 4 << 20, .duration_ns = SECOND };
	struct play_drive drive;
	enum zr_err err = play_calibrate(&options, &drive);

	skip_if_unsupported(err);
	assert_int_equal(err, ZR_OK);
	assert_int_equal(drive.n, 44);
	/* As far as it came to be written in a quarter of the time. */
	assert_true(drive.range_bytes >= 1 << 20 && drive.range_bytes <= 4 << 20);
	for (uint32_t i = 0; i < drive.n; i++) {
		const struct play_drive_point *p = &drive.points[i];

		assert_true(p->ios > 0 && p->iops > 0 && p->latency_us > 0);
	}
	assert_int_equal(access(f->scratch, F_OK), -1);
}

struct stopper {
	int left;
	const char *scratch;
	bool seen;
};

static bool stop_soon(void *arg, double done)
{
	struct stopper *stopper = arg;

	(void)done;
	stopper->seen = stopper->seen || access(stopper->scratch, F_OK) == 0;
	return stopper->left-- > 0;
}

static void interrupted_it_leaves_nothing_and_says_partial(void **state)
{
	struct fixture *f = *state;
	struct stopper stopper = { .left = 20, .scratch = f->scratch };
	struct play_calibrate_options options = { .path = f->folder,
						  .bytes = 4 << 20,
						  .duration_ns = SECOND,
						  .progress = stop_soon,
						  .progress_arg = &stopper };
	struct play_drive drive;
	enum zr_err err = play_calibrate(&options, &drive);

	skip_if_unsupported(err);
	assert_int_equal(err, ZR_INTERRUPTED);
	zr_error_clear();
	assert_true(drive.partial && drive.n > 0 && drive.n < 44);
	assert_true(stopper.seen);
	assert_int_equal(access(f->scratch, F_OK), -1);
}

static void make_file(const struct fixture *f, size_t bytes)
{
	int fd = open(f->path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	void *data = malloc(bytes);

	memset(data, 'x', bytes);
	assert_true(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	close(fd);
	free(data);
}

static void a_strangers_file_is_not_overwritten(void **state)
{
	struct fixture *f = *state;
	struct play_calibrate_options options = { .path = f->path, .duration_ns = SECOND };
	struct play_drive drive;
	enum zr_err err;

	make_file(f, 8 << 20);
	err = play_calibrate(&options, &drive);
	skip_if_unsupported(err);
	assert_int_equal(err, ZR_EXISTS);
	zr_error_clear();
	assert_int_equal(drive.n, 0);
}

static void reading_only_leaves_every_byte(void **state)
{
	struct fixture *f = *state;
	struct play_calibrate_options options = { .path = f->path, .read_only = true, .duration_ns = SECOND };
	struct play_drive drive;
	struct stat st;
	enum zr_err err;
	char c = 'x';
	int fd;

	make_file(f, 8 << 20);
	err = play_calibrate(&options, &drive);
	skip_if_unsupported(err);
	assert_int_equal(err, ZR_OK);
	assert_int_equal(drive.n, 22);
	fd = open(f->path, O_RDONLY);
	assert_true(fstat(fd, &st) == 0 && st.st_size == 8 << 20);
	for (off_t at = 0; at < st.st_size && c == 'x'; at += 512)
		assert_int_equal(pread(fd, &c, 1, at), 1);
	close(fd);
	assert_int_equal(c, 'x');
}

static void too_small_a_file_is_said_to_be(void **state)
{
	struct fixture *f = *state;
	struct play_calibrate_options options = { .path = f->path, .read_only = true, .duration_ns = SECOND };
	struct play_drive drive;
	enum zr_err err;

	make_file(f, 4096);
	err = play_calibrate(&options, &drive);
	skip_if_unsupported(err);
	assert_int_equal(err, ZR_NO_DATA);
	zr_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_steady_when_the_last_agree),
		cmocka_unit_test(steady_windows_count_else_the_second_half),
		cmocka_unit_test(every_point_is_measured_once),
		cmocka_unit_test_setup_teardown(a_folder_gets_a_scratch_file_and_loses_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(interrupted_it_leaves_nothing_and_says_partial, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_strangers_file_is_not_overwritten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reading_only_leaves_every_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_small_a_file_is_said_to_be, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
