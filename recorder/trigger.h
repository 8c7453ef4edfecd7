/* SPDX-License-Identifier: MIT */
/*
 * Conditions on the machine's counters: 'psi.io.full>20', 'vmstat.pswpout>1000'.
 *
 *   psi.io|memory|cpu.some|full[.avg10|.avg60|.avg300]   percent of the time, as /proc/pressure has it
 *   vmstat.NAME                                          a second, of a counter in /proc/vmstat
 *
 * and > or < between it and a number. Looked at once a second. A trigger fires when its condition becomes
 * true, and again only after it was false in between.
 */
#ifndef RECORDER_TRIGGER_H
#define RECORDER_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"

struct rec_trigger {
	char file[32];	  /* below proc */
	char line[64];	  /* the line that begins so */
	char word[16];	  /* psi: avg10 ...; "" = the line's number is a counter */
	double limit;
	bool above;
	bool held;	  /* the condition was true last time */
	double last;	  /* of a counter */
	uint64_t last_ns; /* 0 = not read yet */
};

/* ZR_USAGE, quoting it, for text that is not such a condition. */
enum zr_err rec_trigger_parse(const char *text, struct rec_trigger *out);

/* Reads the counter; true if it fires now. One that cannot be read never fires. */
bool rec_trigger_fires(struct rec_trigger *trigger, const char *proc, uint64_t now_ns);

#endif
