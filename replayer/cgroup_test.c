/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h against an imitation of cgroupfs in memory, which knows its rules: a group that hands controllers down has
 * no processes (but for the root), one that has groups below it or processes in it cannot be removed, and what a
 * group may hand down is what its parent hands to it. Every call can be made to fail.
 */
#include "replayer/cgroup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GROUPS = 16, PROCESSES = 8, ROOT = 0 };

#define MOUNT "/mnt/cg roup"

struct group {
	bool there, read_only;
	char path[128]; /* below the mount; "" = the root */
	char subtree[64];
};

struct world {
	struct group groups[GROUPS];
	struct {
		long pid;
		int group;
	} processes[PROCESSES];
	int n_processes;
	const char *controllers, *own;
	int calls, fail_at; /* the call that fails; 0 = none */
	int fail_with;
	char last_write[128];
};

static const char mountinfo[] =
	"22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
	"30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	"31 1 0:27 / /mnt/cg\\040roup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static int find(const struct world *world, const char *path)
{
	size_t mount = strlen(MOUNT);

	if (strncmp(path, MOUNT, mount) != 0)
		return -1;
	for (int i = 0; i < GROUPS; i++)
		if (world->groups[i].there && strcmp(world->groups[i].path, path + mount) == 0)
			return i;
	return -1;
}

static int parent_of(const struct world *world, const char *path)
{
	char above[256];

	snprintf(above, sizeof(above), "%s", path);
	*strrchr(above, '/') = '\0';
	return find(world, above);
}

static bool has_processes(const struct world *world, int group)
{
	for (int i = 0; i < world->n_processes; i++)
		if (world->processes[i].group == group)
			return true;
	return false;
}

static bool has_groups(const struct world *world, int group)
{
	size_t length = strlen(world->groups[group].path);

	for (int i = 0; i < GROUPS; i++)
		if (world->groups[i].there && i != group &&
		    strncmp(world->groups[i].path, world->groups[group].path, length) == 0 &&
		    world->groups[i].path[length] == '/')
			return true;
	return false;
}

static bool fails_now(struct world *world)
{
	return ++world->calls == world->fail_at;
}

static int world_make(void *arg, const char *path)
{
	struct world *world = arg;
	int above = parent_of(world, path);

	if (fails_now(world))
		return world->fail_with;
	if (above < 0)
		return ENOENT;
	if (world->groups[above].read_only)
		return EACCES;
	if (find(world, path) >= 0)
		return EEXIST;
	for (int i = 0; i < GROUPS; i++) {
		if (world->groups[i].there)
			continue;
		world->groups[i] = (struct group){ .there = true };
		snprintf(world->groups[i].path, sizeof(world->groups[i].path), "%s", path + strlen(MOUNT));
		return 0;
	}
	return ENOSPC;
}

static int world_remove(void *arg, const char *path)
{
	struct world *world = arg;
	int group = find(world, path);

	if (fails_now(world))
		return world->fail_with;
	if (group < 0)
		return ENOENT;
	if (has_processes(world, group) || has_groups(world, group))
		return EBUSY;
	world->groups[group].there = false;
	return 0;
}

/* "+io" or "-io -memory". */
static int write_subtree(struct world *world, int group, const char *text)
{
	char *list = world->groups[group].subtree, copy[64], *save = NULL;

	if (group != ROOT && has_processes(world, group))
		return EBUSY;
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *found = strstr(list, word + 1);

		if (word[0] == '+' && !found)
			sprintf(list + strlen(list), "%s ", word + 1);
		if (word[0] == '-' && found)
			memmove(found, found + strlen(word), strlen(found + strlen(word)) + 1);
	}
	return 0;
}

static int write_processes(struct world *world, int group, const char *text)
{
	long pid = atol(text);

	if (group != ROOT && world->groups[group].subtree[0])
		return EBUSY;
	for (int i = 0; i < world->n_processes; i++) {
		if (world->processes[i].pid == (pid ? pid : getpid())) {
			world->processes[i].group = group;
			return 0;
		}
	}
	return ESRCH;
}

static int world_write(void *arg, const char *path, const char *text)
{
	struct world *world = arg;
	int group = parent_of(world, path);
	const char *file = strrchr(path, '/') + 1;

	if (fails_now(world))
		return world->fail_with;
	if (group < 0)
		return ENOENT;
	if (world->groups[group].read_only)
		return EACCES;
	if (strcmp(file, "cgroup.subtree_control") == 0)
		return write_subtree(world, group, text);
	if (strcmp(file, "cgroup.procs") == 0)
		return write_processes(world, group, text);
	if (strcmp(file, "memory.max") != 0)
		return ENOENT;
	snprintf(world->last_write, sizeof(world->last_write), "%s %s", path + strlen(MOUNT), text);
	return 0;
}

static char *text_of_group(const struct world *world, int group, const char *file)
{
	char text[256] = "";

	if (strcmp(file, "cgroup.controllers") == 0)
		return strdup(world->controllers);
	if (strcmp(file, "cgroup.subtree_control") == 0)
		return strdup(world->groups[group].subtree);
	if (strcmp(file, "cgroup.procs") != 0) {
		errno = ENOENT;
		return NULL;
	}
	for (int i = 0; i < world->n_processes; i++)
		if (world->processes[i].group == group)
			sprintf(text + strlen(text), "%ld\n", world->processes[i].pid);
	return strdup(text);
}

static char *world_read(void *arg, const char *path)
{
	struct world *world = arg;
	int group;

	if (fails_now(world)) {
		errno = world->fail_with;
		return NULL;
	}
	if (strcmp(path, "/proc/self/mountinfo") == 0)
		return strdup(mountinfo);
	if (strcmp(path, "/proc/self/cgroup") == 0)
		return strdup(world->own);
	group = parent_of(world, path);
	if (group >= 0)
		return text_of_group(world, group, strrchr(path, '/') + 1);
	errno = ENOENT;
	return NULL;
}

static void add_group(struct world *world, int i, const char *path, const char *subtree)
{
	world->groups[i].there = true;
	strcpy(world->groups[i].path, path);
	strcpy(world->groups[i].subtree, subtree);
}

/* A system as most are: users' sessions get memory, nobody gets io. */
static struct world new_world(void)
{
	struct world world = { .controllers = "cpuset cpu io memory pids\n",
			       .own = "1:name=systemd:/x\n0::/user/session\n" };

	add_group(&world, ROOT, "", "memory pids ");
	add_group(&world, 1, "/user", "memory ");
	add_group(&world, 2, "/user/session", "");
	world.processes[0].pid = getpid();
	world.processes[0].group = 2;
	world.n_processes = 1;
	return world;
}

static struct cgroup_calls calls_of(struct world *world)
{
	return (struct cgroup_calls){ .make = world_make,
				      .remove = world_remove,
				      .write = world_write,
				      .read = world_read,
				      .arg = world };
}

static enum zr_err make(const struct cgroup_calls *calls, const char *controllers, struct cgroup **out)
{
	return cgroup_make(&(struct cgroup_options){ .controllers = controllers, .calls = calls }, out);
}

static int count_groups(const struct world *world)
{
	int n = 0;

	for (int i = 0; i < GROUPS; i++)
		n += world->groups[i].there;
	return n;
}

static void assert_as_before(const struct world *world)
{
	assert_int_equal(count_groups(world), 3);
	assert_string_equal(world->groups[ROOT].subtree, "memory pids ");
	assert_string_equal(world->groups[1].subtree, "memory ");
	assert_int_equal(world->processes[0].group, 2);
}

/* ------------------------------------------------------------------------------------------- tests */

static void is_made_beside_us_where_the_controller_is_at_hand(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;
	char expected[128];

	(void)state;
	assert_int_equal(make(&calls, "memory", &cgroup), ZR_OK);
	snprintf(expected, sizeof(expected), MOUNT "/user/zreel-%ld", (long)getpid());
	assert_string_equal(cgroup_path(cgroup), expected);
	assert_string_equal(cgroup_root(cgroup), MOUNT);
	assert_int_equal(cgroup_free(cgroup), ZR_OK);
	assert_as_before(&world);
}

static void is_made_below_the_root_where_the_controller_must_be_switched_on(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;
	char expected[128];

	(void)state;
	assert_int_equal(make(&calls, "io memory", &cgroup), ZR_OK);
	snprintf(expected, sizeof(expected), MOUNT "/zreel-%ld", (long)getpid());
	assert_string_equal(cgroup_path(cgroup), expected);
	assert_string_equal(world.groups[ROOT].subtree, "memory pids io ");
	assert_int_equal(cgroup_free(cgroup), ZR_OK);
	assert_as_before(&world);
}

static void goes_up_where_it_may_not_make_one(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;
	char expected[128];

	(void)state;
	world.groups[1].read_only = true;
	assert_int_equal(make(&calls, "memory", &cgroup), ZR_OK);
	snprintf(expected, sizeof(expected), MOUNT "/zreel-%ld", (long)getpid());
	assert_string_equal(cgroup_path(cgroup), expected);
	assert_int_equal(cgroup_free(cgroup), ZR_OK);
}

static void a_name_in_use_gets_a_suffix(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *first, *second;

	(void)state;
	assert_int_equal(make(&calls, "memory", &first), ZR_OK);
	assert_int_equal(make(&calls, "memory", &second), ZR_OK);
	assert_string_not_equal(cgroup_path(first), cgroup_path(second));
	assert_int_equal(cgroup_free(first), ZR_OK);
	assert_int_equal(cgroup_free(second), ZR_OK);
	assert_as_before(&world);
}

static void takes_processes_in_and_lets_them_go_home(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;

	(void)state;
	world.processes[1].pid = 4711;
	world.processes[1].group = 1;
	world.n_processes = 2;
	assert_int_equal(make(&calls, "io", &cgroup), ZR_OK);
	assert_int_equal(cgroup_put(cgroup, 0), ZR_OK);
	assert_int_equal(cgroup_put(cgroup, 4711), ZR_OK);
	assert_int_equal(world.processes[0].group, 3);
	assert_int_equal(world.processes[1].group, 3);
	assert_int_equal(cgroup_leave(cgroup), ZR_OK);
	assert_int_equal(world.processes[0].group, 2);
	assert_int_equal(cgroup_free(cgroup), ZR_OK);
	assert_int_equal(world.processes[1].group, 2);
	assert_as_before(&world);
}

static void groups_below_go_with_it_in_any_order(void **state)
{
	(void)state;
	for (int order = 0; order < 3; order++) {
		struct world world = new_world();
		struct cgroup_calls calls = calls_of(&world);
		struct cgroup *cgroup, *a, *b, *c;

		assert_int_equal(make(&calls, "io", &cgroup), ZR_OK);
		assert_int_equal(cgroup_make_below(cgroup, "a", "io", &a), ZR_OK);
		assert_int_equal(cgroup_make_below(cgroup, "b", "io", &b), ZR_OK);
		assert_int_equal(cgroup_make_below(b, "c", "", &c), ZR_OK);
		assert_string_equal(strrchr(cgroup_path(c), 'b'), "b/c");
		assert_int_equal(cgroup_put(a, 0), ZR_OK);
		if (order == 1)
			assert_int_equal(cgroup_free(a), ZR_OK);
		if (order == 2)
			assert_int_equal(cgroup_free(b), ZR_OK);
		assert_int_equal(cgroup_free(cgroup), ZR_OK);
		assert_as_before(&world);
	}
}

static void control_files_are_written_and_read(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;
	char *text, expected[128];

	(void)state;
	assert_int_equal(make(&calls, "memory", &cgroup), ZR_OK);
	assert_int_equal(cgroup_write(cgroup, "memory.max", "64M"), ZR_OK);
	snprintf(expected, sizeof(expected), "/user/zreel-%ld/memory.max 64M", (long)getpid());
	assert_string_equal(world.last_write, expected);
	assert_int_equal(cgroup_read(cgroup, "cgroup.procs", &text), ZR_OK);
	assert_string_equal(text, "");
	free(text);
	assert_null(cgroup_peek(cgroup, "io.stat"));
	assert_int_equal(cgroup_read(cgroup, "io.stat", &text), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "io.stat"));
	zr_error_clear();
	assert_int_equal(cgroup_free(cgroup), ZR_OK);
}

static void what_is_missing_is_named(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;

	(void)state;
	world.controllers = "cpu memory\n";
	assert_int_equal(make(&calls, "memory io", &cgroup), ZR_UNSUPPORTED);
	assert_null(cgroup);
	assert_non_null(strstr(zr_error_text(), "'io'"));
	zr_error_clear();
	assert_as_before(&world);
}

static void a_v1_system_is_refused(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;

	(void)state;
	world.own = "4:memory:/x\n1:name=systemd:/y\n";
	assert_int_equal(make(&calls, "memory", &cgroup), ZR_UNSUPPORTED);
	zr_error_clear();
}

static void who_is_not_root_is_told_so(void **state)
{
	struct world world = new_world();
	struct cgroup_calls calls = calls_of(&world);
	struct cgroup *cgroup;

	(void)state;
	world.groups[ROOT].read_only = world.groups[1].read_only = true;
	assert_int_equal(make(&calls, "io", &cgroup), ZR_PERM);
	assert_int_equal(zr_err_class(ZR_PERM), ZR_CLASS_DENIED);
	assert_non_null(strstr(zr_error_text(), "root"));
	zr_error_clear();
}

/* A call that only looks for a better place may fail unheard; whatever fails, nothing is left but what that very call
 * was to take away, and that is told. */
static void any_failing_call_leaves_nothing_untold(void **state)
{
	bool reached = true;
	int at;

	(void)state;
	for (at = 1; reached; at++) {
		struct world world = new_world();
		struct cgroup_calls calls = calls_of(&world);
		struct cgroup *cgroup, *below = NULL;
		enum zr_err err, freed;

		world.fail_at = at;
		world.fail_with = EIO;
		err = make(&calls, "io memory", &cgroup);
		if (!err)
			err = cgroup_make_below(cgroup, "a", "io", &below);
		if (!err)
			err = cgroup_put(below, 0);
		freed = cgroup_free(cgroup);
		reached = world.calls >= at;
		if (err || freed)
			assert_string_not_equal(zr_error_text(), "");
		zr_error_clear();
		if (!freed && (!err || cgroup))
			assert_as_before(&world);
	}
	assert_true(at > 16);
}

static void mounts_and_own_groups_are_found_in_text(void **state)
{
	char path[64];

	(void)state;
	assert_true(cgroup_find_mount(mountinfo, path, sizeof(path)));
	assert_string_equal(path, MOUNT);
	assert_false(cgroup_find_mount(mountinfo, path, 4));
	assert_false(cgroup_find_mount("22 1 0:21 / /proc rw - proc proc rw\n", path, sizeof(path)));
	assert_false(cgroup_find_mount("", path, sizeof(path)));
	assert_true(cgroup_find_own("0::/\n", path, sizeof(path)));
	assert_string_equal(path, "/");
	assert_false(cgroup_find_own("10::/x\n", path, sizeof(path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_made_beside_us_where_the_controller_is_at_hand),
		cmocka_unit_test(is_made_below_the_root_where_the_controller_must_be_switched_on),
		cmocka_unit_test(goes_up_where_it_may_not_make_one),
		cmocka_unit_test(a_name_in_use_gets_a_suffix),
		cmocka_unit_test(takes_processes_in_and_lets_them_go_home),
		cmocka_unit_test(groups_below_go_with_it_in_any_order),
		cmocka_unit_test(control_files_are_written_and_read),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(a_v1_system_is_refused),
		cmocka_unit_test(who_is_not_root_is_told_so),
		cmocka_unit_test(any_failing_call_leaves_nothing_untold),
		cmocka_unit_test(mounts_and_own_groups_are_found_in_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
