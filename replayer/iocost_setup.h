/* SPDX-License-Identifier: MIT */
/*
 * Linux's iocost controller, switched on for a disk for the time of a run and put back to what it was.
 *
 * Two files at the root of the cgroup hierarchy hold a line for each disk that iocost knows: io.cost.qos
 * ("8:0 enable=1 ctrl=auto rpct=95.00 ...") and io.cost.model ("8:0 ctrl=user model=linear rbps=..."). Both take
 * back what they print, so the line found is what is written in the end. But a figure written into either makes it
 * the user's (ctrl=user), so of a line with ctrl=auto nothing behind that is; those figures are the kernel's own.
 * Where there was no line, the controller is switched off and its model left to the kernel again.
 *
 * A measured model is taken at its word: the rate at which iocost lets time pass for the disk (vrate) is held at 100%.
 * Left to itself it rises for as long as anybody wants more, up to a hundredfold, and what is not scarce is not shared
 * out by weight.
 *
 * A run that is killed (SIGKILL) leaves iocost on: a line "MAJOR:MINOR enable=0" into io.cost.qos switches it off.
 */
#ifndef REPLAYER_IOCOST_SETUP_H
#define REPLAYER_IOCOST_SETUP_H

#include "replayer/replayer.h"

enum { IOCOST_LINE_BYTES = 512 };

struct iocost_setup {
	char qos_file[512], model_file[512]; /* "" = it need not be put back */
	char qos[IOCOST_LINE_BYTES], model[IOCOST_LINE_BYTES]; /* what to write in the end */
};

struct iocost_setup_options {
	const char *root;		/* of the cgroup hierarchy */
	uint32_t major, minor;		/* a whole disk */
	const struct play_iocost *model; /* NULL = the kernel's own idea of the disk */
};

/* ZR_UNSUPPORTED where the kernel has no iocost. After an error nothing is changed. */
enum zr_err iocost_setup_begin(const struct iocost_setup_options *options, struct iocost_setup *out);

/* Of one that was begun, or is zeroed. */
enum zr_err iocost_setup_end(struct iocost_setup *setup);

#endif
