/* SPDX-License-Identifier: MIT */
/* iocost's files as plain files: what is written into them, and what stands there in the end. */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replayer/iocost_setup.h"

static const char was_qos[] = "8:0 enable=1 ctrl=user rpct=95.00 rlat=5000 wpct=95.00 wlat=5000 min=50.00 max=150.00";
static const char was_model[] = "8:0 ctrl=user model=linear rbps=1 rseqiops=2 rrandiops=3 wbps=4 wseqiops=5 wrandiops=6";
static const struct play_iocost measured = { { 10, 40 }, { 20, 50 }, { 30, 60 } };

struct fixture {
	char root[32], qos[64], model[64];
};

static void put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	fputs(text, out);
	fclose(out);
}

static void empty(const struct fixture *f)
{
	put(f->qos, "");
	put(f->model, "");
}

/* At its beginning: what was longer before stays behind it in a plain file. */
static void assert_begins(const char *path, const char *want)
{
	char text[2048] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	(void)!fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[strlen(want)] = '\0';
	assert_string_equal(text, want);
}

/* All of it. */
static void assert_is(const char *path, const char *want)
{
	struct stat st;

	assert_begins(path, want);
	assert_true(stat(path, &st) == 0 && st.st_size == (off_t)strlen(want));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->root, "/tmp/zreel-iocost-XXXXXX");
	if (!mkdtemp(f->root))
		return -1;
	snprintf(f->qos, sizeof(f->qos), "%s/io.cost.qos", f->root);
	snprintf(f->model, sizeof(f->model), "%s/io.cost.model", f->root);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlink(f->qos);
	unlink(f->model);
	rmdir(f->root);
	free(f);
	return 0;
}

static void fill(const struct fixture *f, const char *qos, const char *model)
{
	char text[600];

	/* Lines of other disks around it, one of which begins with the same digits. */
	snprintf(text, sizeof(text), "18:0 enable=1\n%s%s8:01 enable=1\n", qos, qos[0] ? "\n" : "");
	put(f->qos, text);
	snprintf(text, sizeof(text), "%s%s259:0 ctrl=auto model=linear\n", model, model[0] ? "\n" : "");
	put(f->model, text);
}

static void it_is_switched_on_and_put_back(void **state)
{
	const struct fixture *f = *state;
	struct iocost_setup_options options = { .root = f->root, .major = 8, .minor = 0, .model = &measured };
	struct iocost_setup setup;

	fill(f, was_qos, was_model);
	assert_int_equal(iocost_setup_begin(&options, &setup), ZR_OK);
	assert_begins(f->qos, "8:0 enable=1 ctrl=user min=100.00 max=100.00");
	assert_begins(f->model, "8:0 ctrl=user model=linear rbps=10 rseqiops=20 rrandiops=30 wbps=40 wseqiops=50 "
			       "wrandiops=60");
	empty(f);
	assert_int_equal(iocost_setup_end(&setup), ZR_OK);
	assert_begins(f->qos, was_qos);
	assert_begins(f->model, was_model);
	/* Once. */
	put(f->qos, "x");
	assert_int_equal(iocost_setup_end(&setup), ZR_OK);
	assert_begins(f->qos, "x");
}

static void a_disk_without_iocost_is_without_it_again(void **state)
{
	const struct fixture *f = *state;
	struct iocost_setup_options options = { .root = f->root, .major = 8, .minor = 0, .model = &measured };
	struct iocost_setup setup;

	fill(f, "", "");
	assert_int_equal(iocost_setup_begin(&options, &setup), ZR_OK);
	empty(f);
	assert_int_equal(iocost_setup_end(&setup), ZR_OK);
	assert_begins(f->qos, "8:0 enable=0 ctrl=auto");
	assert_begins(f->model, "8:0 ctrl=auto");
}

static void what_was_the_kernels_own_is_left_to_it_again(void **state)
{
	const struct fixture *f = *state;
	struct iocost_setup_options options = { .root = f->root, .major = 8, .minor = 0, .model = &measured };
	struct iocost_setup setup;

	fill(f, "8:0 enable=1 ctrl=auto rpct=95.00 rlat=5000 wpct=95.00 wlat=5000 min=50.00 max=150.00",
	     "8:0 ctrl=auto model=linear rbps=1 rseqiops=2 rrandiops=3 wbps=4 wseqiops=5 wrandiops=6");
	assert_int_equal(iocost_setup_begin(&options, &setup), ZR_OK);
	empty(f);
	assert_int_equal(iocost_setup_end(&setup), ZR_OK);
	assert_is(f->qos, "8:0 enable=1 ctrl=auto");
	assert_is(f->model, "8:0 ctrl=auto");
}

static void without_a_model_the_kernels_stays(void **state)
{
	const struct fixture *f = *state;
	struct iocost_setup_options options = { .root = f->root, .major = 8, .minor = 0 };
	struct iocost_setup setup;

	fill(f, was_qos, was_model);
	put(f->qos, "");
	assert_int_equal(iocost_setup_begin(&options, &setup), ZR_OK);
	assert_is(f->qos, "8:0 enable=1");
	assert_begins(f->model, was_model);
	put(f->model, "untouched");
	assert_int_equal(iocost_setup_end(&setup), ZR_OK);
	assert_begins(f->model, "untouched");
	assert_begins(f->qos, "8:0 enable=0");
}

static void a_kernel_without_iocost_is_named(void **state)
{
	const struct fixture *f = *state;
	struct iocost_setup_options options = { .root = f->root, .major = 8, .minor = 0 };
	struct iocost_setup setup;

	assert_int_equal(iocost_setup_begin(&options, &setup), ZR_UNSUPPORTED);
	assert_non_null(strstr(zr_error_text(), "no iocost"));
	zr_error_clear();
	assert_int_equal(iocost_setup_end(&setup), ZR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_switched_on_and_put_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_disk_without_iocost_is_without_it_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_the_kernels_own_is_left_to_it_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_model_the_kernels_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_kernel_without_iocost_is_named, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
