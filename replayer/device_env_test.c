/* SPDX-License-Identifier: MIT */
/* What device_env.h reads from folders that imitate sysfs, procfs and cgroupfs. */
#include "replayer/device_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	char root[64], sys[96], proc[96], cgroup[96];
	struct device_env_places places;
};

/* Makes the folders above, too. */
static void put(const struct world *world, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", world->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	strcpy(world->root, "/tmp/zreel-env.XXXXXX");
	assert_non_null(mkdtemp(world->root));
	snprintf(world->sys, sizeof(world->sys), "%s/sys", world->root);
	snprintf(world->proc, sizeof(world->proc), "%s/proc", world->root);
	snprintf(world->cgroup, sizeof(world->cgroup), "%s/cgroup", world->root);
	world->places = (struct device_env_places){ world->sys, world->proc, world->cgroup };
	put(world, "sys/dev/block/259:0/dev", "259:0\n");
	put(world, "sys/dev/block/259:0/device/model", "QEMU NVMe Ctrl                          \n");
	put(world, "sys/dev/block/259:0/device/serial", "SECRET4711\n");
	put(world, "sys/dev/block/259:0/queue/scheduler", "none [mq-deadline] kyber\n");
	put(world, "sys/dev/block/259:0/queue/nomerges", "2\n");
	put(world, "sys/dev/block/259:0/queue/wbt_lat_usec", "2000\n");
	put(world, "sys/dev/block/259:0/queue/write_cache", "write back\n");
	put(world, "proc/self/mountinfo",
	    "22 1 0:21 / /proc rw - proc proc rw\n"
	    "30 1 259:0 / /old rw - ext3 /dev/x rw\n"
	    "31 1 259:0 / /home rw,noatime shared:4 master:2 - ext4 /dev/x rw,errors=remount-ro\n");
	put(world, "cgroup/io.cost.qos", "8:0 enable=0\n259:0 enable=1 ctrl=user rpct=95.00\n");
	put(world, "cgroup/io.cost.model", "259:01 ctrl=auto\n");
	*state = world;
	return 0;
}

static int remove_world(void **state)
{
	struct world *world = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", world->root);
	assert_int_equal(system(command), 0);
	free(world);
	return 0;
}

static void has(const char *text, const char *piece)
{
	if (!strstr(text, piece))
		fail_msg("'%s' is not in '%s'", piece, text);
}

static void a_disk_is_its_settings(void **state)
{
	const struct world *world = *state;
	struct device_file file = { .is_block = true, .major = 259, .minor = 0, .bytes = 12345 };
	char text[DEVICE_ENV_BYTES];
	struct utsname name;

	device_env_read(&world->places, "/dev/nvme0n1", &file, text);
	assert_int_equal(strncmp(text, "/dev/nvme0n1; kernel=", 21), 0);
	assert_int_equal(uname(&name), 0);
	has(text, name.release);
	has(text, "; model=QEMU NVMe Ctrl; bytes=12345; scheduler=mq-deadline; nomerges=2; wbt_us=2000; "
		  "write_cache=write back; iocost_qos=enable=1 ctrl=user rpct=95.00");
	assert_null(strstr(text, "iocost_model"));
	assert_null(strstr(text, "rotational"));
	assert_null(strstr(text, "fs="));
}

static void the_serial_number_stays_at_home(void **state)
{
	const struct world *world = *state;
	struct device_file file = { .is_block = true, .major = 259, .model = "M, serial SECRET4711" };
	char text[DEVICE_ENV_BYTES];

	device_env_read(&world->places, "/dev/nvme0n1", &file, text);
	assert_null(strstr(text, "SECRET"));
}

static void a_partition_has_its_disk_s_queue(void **state)
{
	const struct world *world = *state;
	struct device_file file = { .is_block = true, .major = 259, .minor = 1, .bytes = 77 };
	char text[DEVICE_ENV_BYTES], from[128], to[128];

	/* As in sysfs: the link leads to a folder in the disk's. */
	put(world, "sys/dev/block/259:0/nvme0n1p1/partition", "1\n");
	snprintf(from, sizeof(from), "%s/dev/block/259:0/nvme0n1p1", world->sys);
	snprintf(to, sizeof(to), "%s/dev/block/259:1", world->sys);
	assert_int_equal(symlink(from, to), 0);
	device_env_read(&world->places, "/dev/nvme0n1p1", &file, text);
	has(text, "; bytes=77; scheduler=mq-deadline; ");
	has(text, "; iocost_qos=enable=1 ");
}

static void a_file_is_its_file_system(void **state)
{
	const struct world *world = *state;
	struct device_file file = { .major = 259, .minor = 0, .bytes = 12345 };
	char text[DEVICE_ENV_BYTES];

	device_env_read(&world->places, "/home/swap.img", &file, text);
	has(text, "; fs=ext4; mount=rw,noatime; scheduler=mq-deadline; ");
	assert_null(strstr(text, "bytes="));
}

static void what_the_kernel_does_not_tell_is_left_out(void **state)
{
	const struct device_env_places nowhere = { "/nonexistent", "/nonexistent", NULL };
	struct device_file file = { .major = 7, .minor = 7 };
	char text[DEVICE_ENV_BYTES], expected[DEVICE_ENV_BYTES];
	struct utsname name;

	(void)state;
	assert_int_equal(uname(&name), 0);
	device_env_read(&nowhere, "f", &file, text);
	snprintf(expected, sizeof(expected), "f; kernel=%s", name.release);
	assert_string_equal(text, expected);
}

static void a_hostile_name_makes_no_setting(void **state)
{
	const struct world *world = *state;
	struct device_file file = { .is_block = true, .major = 259 };
	char text[DEVICE_ENV_BYTES];

	device_env_read(&world->places, "/tmp/a; scheduler=none\x1b[31m", &file, text);
	assert_int_equal(strncmp(text, "/tmp/a? scheduler=none?[31m; kernel=", 36), 0);
}

static void what_does_not_fit_is_left_out_whole(void **state)
{
	char text[DEVICE_ENV_BYTES] = "path", value[DEVICE_ENV_BYTES];

	(void)state;
	memset(value, 'v', sizeof(value));
	value[DEVICE_ENV_BYTES - 12] = '\0';
	device_env_add(text, "key", value); /* 4 + 2 + 4 + 2036 = 2046 and the end */
	assert_int_equal(strlen(text), DEVICE_ENV_BYTES - 2);
	device_env_add(text, "k", "");
	device_env_add(text, "k", "v");
	assert_int_equal(strlen(text), DEVICE_ENV_BYTES - 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, remove_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_disk_is_its_settings),
		TEST(the_serial_number_stays_at_home),
		TEST(a_partition_has_its_disk_s_queue),
		TEST(a_file_is_its_file_system),
		TEST(what_the_kernel_does_not_tell_is_left_out),
		TEST(a_hostile_name_makes_no_setting),
		TEST(what_does_not_fit_is_left_out_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
