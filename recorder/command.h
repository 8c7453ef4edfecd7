/* SPDX-License-Identifier: MIT */
/*
 * The command that is recorded: started and held back until the probes are on, then let go inside its
 * cgroup.
 */
#ifndef RECORDER_COMMAND_H
#define RECORDER_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "db/base/err.h"

struct rec_command {
	pid_t pid; /* 0 = none, or over */
	int status; /* as from waitpid, when it is over */
	int go, failure; /* pipes to and from the child; -1 = closed */
	const char *name;
};

/* Forks a child that waits. `cgroup_dir` is the directory of the cgroup to run in, or NULL. The texts must
 * live until rec_command_go(). */
enum zr_err rec_command_start(char *const *argv, const char *cgroup_dir, struct rec_command *out);

/* Lets it run. ZR_CHILD if it could not enter the cgroup or could not be executed. */
enum zr_err rec_command_go(struct rec_command *command);

/* Is it over? Does not wait. */
bool rec_command_over(struct rec_command *command);

/* Asks it to end, and insists after two seconds; a command that is over or none is fine. */
void rec_command_end(struct rec_command *command);

#endif
