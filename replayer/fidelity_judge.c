/* SPDX-License-Identifier: MIT */
/*
 * Prints, as NAME=VALUE, what the model makes of a recording under a policy: its counters, the I/O that it plans, and
 * how its writebacks compare with those that were recorded. For replayer/fidelity.
 *
 *   fidelity_judge TRACE POLICY
 */
#include <stdio.h>

#include "replayer/fidelity.h"

static void print_figures(void *arg, const struct play_figures *figures)
{
	const struct play_io *io = &figures->io;

	(void)arg;
#define X(name) printf("%s=%llu\n", #name, (unsigned long long)figures->counters.name);
	SIM_COUNTERS(X)
#undef X
#define X(name) printf("%s=%llu\n", #name, (unsigned long long)io->name);
	PLAY_IO_COUNTERS(X)
#undef X
}

static enum zr_err print_replay(struct db *trace, const char *policy)
{
	struct play_options options = {
		.policies = &policy, .n_policies = 1, .target = PLAY_NULL, .figures = print_figures
	};

	return play_replay(trace, NULL, &options);
}

static enum zr_err print_comparison(struct db *trace, const char *policy)
{
	struct fidelity fidelity;
	uint32_t same;
	enum zr_err err = fidelity_compare(trace, policy, &fidelity);

	if (!err)
		err = fidelity_same_in_order(&fidelity.model, &fidelity.kernel, &same);
	if (!err) {
		printf("recorded_writebacks=%u\nsame_in_order=%u\n", fidelity.kernel.n, same);
		printf("recorded_wakeups=%llu\nrecorded_scans=%llu\n",
		       (unsigned long long)fidelity.wakeups, (unsigned long long)fidelity.scans);
	}
	fidelity_fini(&fidelity);
	return err;
}

int main(int argc, char **argv)
{
	enum zr_err err, closed;
	struct db *trace;

	if (argc != 3) {
		fputs("usage: fidelity_judge TRACE POLICY\n", stderr);
		return 2;
	}
	err = db_open(argv[1], DB_READ, &trace);
	if (!err) {
		err = print_replay(trace, argv[2]);
		if (!err)
			err = print_comparison(trace, argv[2]);
		closed = db_close(trace);
		err = err ? err : closed;
	}
	if (err)
		fprintf(stderr, "fidelity_judge: %s\n", zr_error_text());
	return err != ZR_OK;
}
