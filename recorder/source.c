/* SPDX-License-Identifier: MIT */
/* What all sources share; see source.h. */
#include "recorder/source.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const enum rec_type rec_block_types[REC_BLOCK_TYPES] = {
	REC_RQ_ISSUE, REC_RQ_COMPLETE, REC_RQ_MERGE, REC_BACKMERGE, REC_FRONTMERGE,
};

void rec_note(struct rec_notes *notes, const char *key, const char *fmt, ...)
{
	char value[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	for (char *at = value; *at; at++)
		if (*at == '\n' || *at == '\t')
			*at = ' ';
	n = snprintf(notes->text + notes->n, sizeof(notes->text) - notes->n, "%s\t%s\n", key, value);
	if (n > 0 && (size_t)n < sizeof(notes->text) - notes->n)
		notes->n += (size_t)n;
	else
		notes->text[notes->n] = '\0';
}

/* The names are the kernel's (trace_clock). "x86-tsc" and "counter" do not count nanoseconds. */
static const struct {
	const char *name;
	int id;
} clocks[] = {
	{ "mono", CLOCK_MONOTONIC }, { "mono_raw", CLOCK_MONOTONIC_RAW },
	{ "boot", CLOCK_BOOTTIME },  { "tai", CLOCK_TAI },
	{ "local", -1 },	     { "global", -1 },
	{ "perf", -1 },		     { "uptime", -1 },
};

enum { N_CLOCKS = sizeof(clocks) / sizeof(*clocks) };

int rec_clock_id(const char *name)
{
	for (uint32_t i = 0; i < N_CLOCKS; i++)
		if (strcmp(clocks[i].name, name) == 0)
			return clocks[i].id;
	return -1;
}

enum zr_err rec_clock_check(const char *name)
{
	char list[128] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < N_CLOCKS; i++) {
		if (strcmp(clocks[i].name, name) == 0)
			return ZR_OK;
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      clocks[i].name);
	}
	return zr_fail(ZR_USAGE,
		       "trace clock \"%s\": a trace needs one that counts nanoseconds: %s", name, list);
}

uint32_t rec_group_types(const char *tracefs_dir, const char *group)
{
	uint32_t types = 0;
	char path[1024];

	for (uint32_t type = 0; type < REC_RQ_ISSUE; type++) {
		snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs_dir, group,
			 rec_type_name(type));
		/* Not access(), which leaves capabilities out of account. */
		if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
			types |= 1u << type;
	}
	return types;
}
