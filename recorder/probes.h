/* SPDX-License-Identifier: MIT */
/*
 * Which functions of the kernel are probed, and what is read at each: a table, from which the running
 * kernel's symbols and types choose.
 */
#ifndef RECORDER_PROBES_H
#define RECORDER_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"
#include "recorder/btf.h"
#include "recorder/raw.h"

enum { REC_PROBES_MAX = 32, REC_PROBE_ARGS = 768 };

/* A probe as the kernel shall get it. */
struct rec_probe {
	const char *event;    /* its name in our group */
	const char *function;
	const char *filter;   /* in the kernel; NULL = none */
	enum rec_type type;
	bool at_return;
	bool vital;	      /* without it a recording makes no sense */
	const char *lost;     /* what is lost without it, otherwise */
	char args[REC_PROBE_ARGS]; /* "swp=+40($arg1):x64 ..." */
};

struct rec_probes {
	struct rec_probe probe[REC_PROBES_MAX];
	uint32_t n;
	uint32_t types; /* bits of enum rec_type */
	struct rec_layout layout;
	/* How returns are to be read; see struct rec_fold_options. */
	bool load_ret_is_errno, wb_ret_is_lru_status, stores_large;
	/* What could not be probed and is not vital: a sentence each. */
	char missing[2048];
};

/*
 * Chooses probes. `symbols` is a file of the form of /proc/kallsyms. ZR_UNSUPPORTED, naming each vital
 * function that is missing, how it may be hidden ("swap_writepage.isra.0"), and what is lost without it.
 */
enum zr_err rec_probes_choose(const char *symbols, const struct rec_btf *btf,
			      struct rec_probes *out);

#endif
