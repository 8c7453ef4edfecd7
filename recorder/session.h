/* SPDX-License-Identifier: MIT */
/*
 * A recording on a machine of the caller's making: rec_record() is this on the running one. Its
 * tests script the source and the clock, and make the trees of proc and sysfs themselves.
 */
#ifndef RECORDER_SESSION_H
#define RECORDER_SESSION_H

#include "recorder/files.h"
#include "recorder/recorder.h"
#include "recorder/source.h"

struct rec_machine {
	struct rec_paths paths;
	const struct rec_source_ops *ops;     /* NULL: what the options and the kernel make of it */
	void (*wait)(void *arg, uint64_t ns); /* between two rounds */
	uint64_t (*clock_ns)(void *arg);
	void *arg;
};

enum zr_err rec_session_record(const struct rec_machine *machine, const struct rec_options *options,
			       struct rec_result *out);

#endif
