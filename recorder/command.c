/* SPDX-License-Identifier: MIT */
/* The command that is recorded; see command.h. */
#include "recorder/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/files.h"

enum { PATH_BYTES = 4096, END_TRIES = 200, END_STEP_NS = 10'000'000, FAILED_STATUS = 127 };

/* What the child tells when it could not become the command. */
struct failure {
	int in_cgroup; /* else in exec */
	int errnum;
};

static _Noreturn void child_fails(int fd, int in_cgroup, int errnum)
{
	struct failure failure = { in_cgroup, errnum };

	(void)!write(fd, &failure, sizeof(failure));
	_exit(FAILED_STATUS);
}

static _Noreturn void be_child(char *const *argv, const char *cgroup_dir, int go, int failure)
{
	char path[PATH_BYTES], start;
	int err;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (read(go, &start, 1) != 1)
		_exit(FAILED_STATUS);
	if (cgroup_dir) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup_dir);
		err = rec_file_append(path, "0");
		if (err)
			child_fails(failure, 1, err);
	}
	execvp(argv[0], argv);
	child_fails(failure, 0, errno);
}

static void close_pipe(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

enum zr_err rec_command_start(char *const *argv, const char *cgroup_dir, struct rec_command *out)
{
	int go[2], failure[2];

	*out = (struct rec_command){ .go = -1, .failure = -1, .name = argv[0] };
	if (pipe2(go, O_CLOEXEC) < 0)
		return zr_fail_errno(errno, "making a pipe to the command");
	if (pipe2(failure, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return zr_fail_errno(errno, "making a pipe to the command");
	}
	out->pid = fork();
	if (out->pid == 0) {
		close(go[1]);
		close(failure[0]);
		be_child(argv, cgroup_dir, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	out->go = go[1];
	out->failure = failure[0];
	if (out->pid > 0)
		return ZR_OK;
	out->pid = 0;
	close_pipe(&out->go);
	close_pipe(&out->failure);
	return zr_fail_errno(errno, "starting a process for the command %s", argv[0]);
}

enum zr_err rec_command_go(struct rec_command *command)
{
	struct failure failure;
	ssize_t got;

	(void)!write(command->go, "g", 1);
	close_pipe(&command->go);
	do /* ends when exec closes the other side */
		got = read(command->failure, &failure, sizeof(failure));
	while (got < 0 && errno == EINTR);
	close_pipe(&command->failure);
	if (got != sizeof(failure))
		return ZR_OK;
	return zr_fail(ZR_CHILD, "running %s: %s: %s", command->name,
		       failure.in_cgroup ? "moving it into its cgroup" : "executing it",
		       strerror(failure.errnum));
}

bool rec_command_over(struct rec_command *command)
{
	pid_t got;

	if (!command->pid)
		return true;
	got = waitpid(command->pid, &command->status, WNOHANG);
	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	command->pid = 0;
	return true;
}

void rec_command_end(struct rec_command *command)
{
	const struct timespec step = { .tv_nsec = END_STEP_NS };

	close_pipe(&command->go);
	close_pipe(&command->failure);
	if (rec_command_over(command))
		return;
	kill(command->pid, SIGTERM);
	for (int tries = 0; tries < END_TRIES; tries++) {
		if (rec_command_over(command))
			return;
		nanosleep(&step, NULL);
	}
	kill(command->pid, SIGKILL);
	while (waitpid(command->pid, &command->status, 0) < 0 && errno == EINTR)
		;
	command->pid = 0;
}
