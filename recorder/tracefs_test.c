/* SPDX-License-Identifier: MIT */
/*
 * Tests of our corner of tracefs, on a plain directory that looks like it: what is written, that leftovers
 * of dead recorders go and those of living ones stay, and that a failure leaves nothing behind. And of the
 * command that is recorded.
 */
#include "recorder/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/command.h"
#include "recorder/files.h"

struct tree {
	char dir[64], events[96];
};

static struct tree open_tree(const char *events)
{
	struct tree tree = { .dir = "/tmp/zreel-tracefs-XXXXXX" };
	char path[96];
	FILE *file;

	assert_non_null(mkdtemp(tree.dir));
	snprintf(path, sizeof(path), "%s/instances", tree.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(tree.events, sizeof(tree.events), "%s/dynamic_events", tree.dir);
	file = fopen(tree.events, "w");
	assert_non_null(file);
	fputs(events, file);
	assert_int_equal(fclose(file), 0);
	return tree;
}

static int remove_one(const char *path, [[maybe_unused]] const struct stat *st,
		      [[maybe_unused]] int type, [[maybe_unused]] struct FTW *ftw)
{
	return remove(path);
}

static void close_tree(const struct tree *tree)
{
	assert_int_equal(nftw(tree->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The number of a process that is no more. */
static int dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static bool has_instance(const struct tree *tree, int pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/instances/zreel_%d", tree->dir, pid);
	return access(path, F_OK) == 0;
}

static void make_instance(const struct tree *tree, int pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/instances/zreel_%d", tree->dir, pid);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void leftovers_of_the_dead_go_and_of_the_living_stay([[maybe_unused]] void **state)
{
	int dead = dead_pid(), living = getppid();
	struct rec_tracefs_setup setup = { .clock = "mono", .ring_bytes = 1 << 20 };
	struct rec_tracefs *tracefs;
	char events[512], removed[64], kept[64], *text;
	struct tree tree;

	snprintf(events, sizeof(events),
		 "f:zreel_%d/out swap_writepage swp=+40($arg1):x64\n"
		 "f:zreel_%d/out swap_writepage swp=+40($arg1):x64\n"
		 "p:somebody/else vfs_read\n",
		 dead, living);
	tree = open_tree(events);
	make_instance(&tree, dead);
	make_instance(&tree, living);
	/* A plain directory has no tracing_on, so opening fails; cleaning up comes first. */
	setup.dir = tree.dir;
	assert_int_equal(rec_tracefs_open(&setup, &tracefs), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "tracing_on"));
	zr_error_clear();
	assert_false(has_instance(&tree, dead));
	assert_true(has_instance(&tree, living));
	assert_false(has_instance(&tree, getpid()));
	text = zr_text_read(tree.events);
	assert_non_null(text);
	snprintf(removed, sizeof(removed), "-:zreel_%d/out", dead);
	snprintf(kept, sizeof(kept), "-:zreel_%d/out", living);
	assert_non_null(strstr(text, removed));
	assert_null(strstr(text, kept));
	assert_null(strstr(text, "-:somebody"));
	free(text);
	close_tree(&tree);
}

static void recovery_counts_what_it_removed([[maybe_unused]] void **state)
{
	int dead = dead_pid(), living = (int)getppid();
	struct rec_leftovers left;
	struct tree tree;
	char events[256];

	snprintf(events, sizeof(events),
		 "f:zreel_%d/out swap_writepage\nf:zreel_%d/len zs_malloc\nf:zreel_%d/out swap_writepage\n",
		 dead, dead, living);
	tree = open_tree(events);
	make_instance(&tree, dead);
	make_instance(&tree, living);
	rec_tracefs_recover(tree.dir, &left);
	assert_int_equal(left.instances, 1);
	/* In a plain directory an event goes on being listed, so it is met again; in the kernel it is gone. */
	assert_true(left.events >= 2);
	assert_int_equal(left.refused, 0);
	assert_false(has_instance(&tree, dead));
	assert_true(has_instance(&tree, living));
	close_tree(&tree);
}

static void events_alone_make_no_instance([[maybe_unused]] void **state)
{
	struct tree tree = open_tree("");
	const struct rec_tracefs_setup setup = { .dir = tree.dir };
	const struct rec_probe probe = { .event = "len", .function = "zs_malloc", .args = "len=$arg2:u32" };
	struct rec_tracefs *tracefs;
	char *text, expected[96];

	assert_int_equal(rec_tracefs_open(&setup, &tracefs), ZR_OK);
	assert_false(has_instance(&tree, getpid()));
	assert_int_equal(rec_tracefs_define(tracefs, &probe), ZR_OK);
	text = zr_text_read(tree.events);
	snprintf(expected, sizeof(expected), "f:zreel_%d/len zs_malloc len=$arg2:u32\n", (int)getpid());
	assert_string_equal(text, expected);
	free(text);
	rec_tracefs_close(tracefs);
	close_tree(&tree);
}

static void place_that_cannot_be_written_is_named([[maybe_unused]] void **state)
{
	const struct rec_tracefs_setup setup = { .dir = "/nowhere", .clock = "mono",
						 .ring_bytes = 1 << 20 };
	struct rec_tracefs *tracefs;

	assert_int_equal(rec_tracefs_open(&setup, &tracefs), ZR_NOT_FOUND);
	assert_non_null(strstr(zr_error_text(), "/nowhere/instances/zreel_"));
	zr_error_clear();
}

/* ------------------------------------------------------------------------------------------ command */

static void wait_for(struct rec_command *command)
{
	int status;

	if (!rec_command_over(command)) {
		assert_int_equal(waitpid(command->pid, &status, 0), command->pid);
		command->status = status;
		command->pid = 0;
	}
}

static void command_runs_only_when_it_is_let_go([[maybe_unused]] void **state)
{
	char mark[] = "/tmp/zreel-command-XXXXXX";
	char *argv[] = { "/bin/rm", mark, NULL };
	struct rec_command command;

	close(mkstemp(mark));
	assert_int_equal(rec_command_start(argv, NULL, &command), ZR_OK);
	assert_int_equal(access(mark, F_OK), 0);
	assert_int_equal(rec_command_go(&command), ZR_OK);
	wait_for(&command);
	assert_int_equal(command.status, 0);
	assert_true(rec_command_over(&command));
	assert_int_not_equal(access(mark, F_OK), 0);
}

static void command_that_does_not_exist_is_an_error([[maybe_unused]] void **state)
{
	char *argv[] = { "/nowhere/program", NULL };
	struct rec_command command;

	assert_int_equal(rec_command_start(argv, NULL, &command), ZR_OK);
	assert_int_equal(rec_command_go(&command), ZR_CHILD);
	assert_non_null(strstr(zr_error_text(), "/nowhere/program"));
	assert_non_null(strstr(zr_error_text(), strerror(ENOENT)));
	zr_error_clear();
	wait_for(&command);
}

static void command_enters_its_cgroup_or_does_not_run([[maybe_unused]] void **state)
{
	struct tree tree = open_tree("");
	char *argv[] = { "/bin/true", NULL }, path[128], *text;
	struct rec_command command;
	FILE *file;

	assert_int_equal(rec_command_start(argv, tree.dir, &command), ZR_OK);
	assert_int_equal(rec_command_go(&command), ZR_CHILD);
	assert_non_null(strstr(zr_error_text(), "cgroup"));
	zr_error_clear();
	wait_for(&command);

	snprintf(path, sizeof(path), "%s/cgroup.procs", tree.dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(rec_command_start(argv, tree.dir, &command), ZR_OK);
	assert_int_equal(rec_command_go(&command), ZR_OK);
	wait_for(&command);
	text = zr_text_read(path);
	assert_non_null(text);
	assert_string_equal(text, "0"); /* the kernel takes it for "me" */
	free(text);
	close_tree(&tree);
}

static void command_is_ended_with_the_recording([[maybe_unused]] void **state)
{
	char *argv[] = { "/bin/sleep", "1000", NULL };
	struct rec_command command;

	assert_int_equal(rec_command_start(argv, NULL, &command), ZR_OK);
	assert_int_equal(rec_command_go(&command), ZR_OK);
	assert_false(rec_command_over(&command));
	rec_command_end(&command);
	assert_true(WIFSIGNALED(command.status));

	/* One that was never let go ends by itself. */
	assert_int_equal(rec_command_start(argv, NULL, &command), ZR_OK);
	rec_command_end(&command);
	assert_true(rec_command_over(&command));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leftovers_of_the_dead_go_and_of_the_living_stay),
		cmocka_unit_test(recovery_counts_what_it_removed),
		cmocka_unit_test(events_alone_make_no_instance),
		cmocka_unit_test(place_that_cannot_be_written_is_named),
		cmocka_unit_test(command_runs_only_when_it_is_let_go),
		cmocka_unit_test(command_that_does_not_exist_is_an_error),
		cmocka_unit_test(command_enters_its_cgroup_or_does_not_run),
		cmocka_unit_test(command_is_ended_with_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
