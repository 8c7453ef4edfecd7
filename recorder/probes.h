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

enum { REC_PROBES_MAX = 40, REC_PROBE_ARGS = 768, REC_PROBE_ACTIVE = 1024 };

/* A probe as the kernel shall get it. */
struct rec_probe {
	const char *event;    /* its name in our group */
	const char *function;
	const char *filter;   /* in the kernel; NULL = none */
	enum rec_type type;
	bool at_return;
	bool takes_active;    /* an fprobe of it says how many may be under way, as a kprobe always does */
	bool vital;	      /* without it a recording makes no sense */
	const char *lost;     /* what is lost without it, otherwise */
	char args[REC_PROBE_ARGS]; /* "swp=+40($arg1):x64 ..." */
};

/* An event that cannot be had. */
struct rec_probe_gap {
	const char *event;
	const char *lost; /* with it */
	bool vital;
	char why[256];	  /* "no swap_writepage (only swap_writepage.isra.0)" */
};

struct rec_probes {
	struct rec_probe probe[REC_PROBES_MAX];
	struct rec_probe_gap gaps[REC_PROBES_MAX];
	uint32_t n, n_gaps;
	uint32_t types; /* bits of enum rec_type */
	struct rec_layout layout;
	/* How returns are to be read; see struct rec_fold_options. */
	bool store_ret_is_errno, load_ret_is_errno, wb_ret_is_lru_status, stores_large;
	bool no_zeros, store_ret_of_failures;
	/* Which kinds of dynamic events the kernel has code for. */
	bool has_fprobes, has_kprobes;
	/* What could not be probed and is not vital: a sentence each. */
	char missing[2048];
};

/*
 * Chooses probes as far as it goes; what is missing is in the gaps. `symbols` is a file of the form of
 * /proc/kallsyms; `btf` NULL for a kernel without: then what needs offsets is missing. `plain` chooses for
 * recording with other tools: without filters, with events more and with constants that say what our own
 * recorder knows of the kernel (see raw.h).
 */
enum zr_err rec_probes_survey(const char *symbols, const struct rec_btf *btf, bool plain,
			      struct rec_probes *out);

/*
 * The same for our own recorder, which needs all that is vital: ZR_UNSUPPORTED, naming each vital function
 * that is missing, how it may be hidden ("swap_writepage.isra.0"), and what is lost without it.
 */
enum zr_err rec_probes_choose(const char *symbols, const struct rec_btf *btf,
			      struct rec_probes *out);

#endif
