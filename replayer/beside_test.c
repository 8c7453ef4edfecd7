/* SPDX-License-Identifier: MIT */
/* What goes on beside a replay on a file: where it writes, what it says that it cannot have, and what it leaves. */
#include "replayer/test_events.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/beside.h"

struct fixture {
	char folder[32], path[64], scratch[80];
	struct device_file file;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	/* Memory would refuse direct I/O. */
	strcpy(f->folder, "/var/tmp/zreel-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/target", f->folder);
	snprintf(f->scratch, sizeof(f->scratch), "%s.neighbour", f->path);
	f->file.fd = open(f->path, O_CREAT | O_RDWR | O_DIRECT, 0600);
	*state = f;
	return f->file.fd < 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->file.fd);
	unlink(f->path);
	unlink(f->scratch);
	rmdir(f->folder);
	free(f);
	return 0;
}

static struct beside_options options_of(const struct fixture *f, const char *words)
{
	return (struct beside_options){ .words = words, .path = f->path, .file = &f->file };
}

static void a_file_has_its_neighbour_in_another(void **state)
{
	const struct fixture *f = *state;
	struct beside_options options = options_of(f, "randwrite bs=64k iodepth=4");
	struct beside_figures figures;
	struct beside beside;
	enum zr_err err = beside_begin(&options, &beside);

	assert_int_equal(err, ZR_OK);
	assert_int_equal(access(f->scratch, F_OK), 0);
	assert_non_null(strstr(beside.note, "no weight: there is no control group"));
	beside_pass_begin(&beside);
	do {
		err = beside_pass_end(&beside, &figures);
		sched_yield();
	} while (!err && figures.bytes < 100 * 65536);
	if (err == ZR_PERM || err == ZR_UNSUPPORTED) {
		zr_error_clear();
		assert_int_equal(beside_end(&beside), ZR_OK);
		skip();
	}
	assert_int_equal(err, ZR_OK);
	assert_true(figures.there && figures.iops > 0 && figures.latency_us > 0 && !figures.has_usage);
	/* What it did before a pass is not in it. */
	beside_pass_begin(&beside);
	assert_true(beside.before.bytes >= 100 * 65536);
	assert_int_equal(beside_end(&beside), ZR_OK);
	assert_int_equal(access(f->scratch, F_OK), -1);
	assert_int_equal(access(f->path, F_OK), 0);
}

static void a_device_without_room_behind_the_slots_is_refused(void **state)
{
	struct fixture *f = *state;
	struct beside_options options = options_of(f, "randwrite");
	struct beside beside;

	f->file.is_block = true;
	f->file.bytes = 100 * 1024 * 1024;
	options.taken_bytes = 90 * 1024 * 1024;
	assert_int_equal(beside_begin(&options, &beside), ZR_FULL);
	assert_non_null(strstr(zr_error_text(), "10485760 bytes left"));
	zr_error_clear();
	assert_int_equal(beside_end(&beside), ZR_OK);
}

static void bad_words_leave_nothing(void **state)
{
	const struct fixture *f = *state;
	struct beside_options options = options_of(f, "fio");
	struct beside beside;

	assert_int_equal(beside_begin(&options, &beside), ZR_USAGE);
	zr_error_clear();
	assert_int_equal(beside_end(&beside), ZR_OK);
	assert_int_equal(access(f->scratch, F_OK), -1);
}

static void nothing_beside_is_no_figure(void **state)
{
	struct beside_figures figures;
	struct beside beside = { 0 };

	(void)state;
	beside_pass_begin(&beside);
	assert_int_equal(beside_pass_end(&beside, &figures), ZR_OK);
	assert_false(figures.there);
	assert_int_equal(beside_end(&beside), ZR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_has_its_neighbour_in_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_device_without_room_behind_the_slots_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_words_leave_nothing, set_up, tear_down),
		cmocka_unit_test(nothing_beside_is_no_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
