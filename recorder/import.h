/* SPDX-License-Identifier: MIT */
/*
 * What the readers of foreign recordings share: each turns its input into raw records and hands them over
 * here, where they meet the swap areas, the fold and the trace file.
 *
 *   input ──> reader (text, trace.dat, perf.data, blktrace) ──> rec_import_add ──> fold ──> trace
 */
#ifndef RECORDER_IMPORT_H
#define RECORDER_IMPORT_H

#include "recorder/block.h"
#include "recorder/fold.h"
#include "recorder/input.h"
#include "recorder/recorder.h"
#include "recorder/text.h"
#include "recorder/trace.h"

enum { REC_LEARN = 65536 }; /* records that are looked at before their meaning is decided */

/* A place of swap slots on a disk, as the user gave it. */
struct rec_import_area {
	uint32_t type, dev; /* dev 0 = any */
	uint64_t start_sector, sectors;
	bool open_end;
	uint64_t slots_seen;
};

/* How return values are to be read: what the source or the values themselves say. */
enum rec_answer { REC_NOT_SAID, REC_NO, REC_YES };

struct rec_import {
	const struct rec_import_options *options;
	struct rec_import_result *result;
	struct rec_dialect dialect;
	struct rec_input *input;
	struct rec_trace trace;
	struct rec_block block; /* --as swap */
	struct rec_fold *fold;	/* NULL while learning */
	struct rec_raw *early;	/* REC_LEARN of them */
	uint32_t n_early;
	enum rec_answer load_ret_is_errno;
	struct rec_import_area areas[REC_SWP_TYPES];
	uint32_t n_areas;
	uint32_t page_size;
	uint32_t release; /* 0x060c for 6.12; 0 = unknown */
	uint64_t last_ns;
	bool clock_told;
	bool counter_clock; /* a time without a fraction was seen */
	bool stop;
	char first_line[256];
};

/* Takes one record. A REC_LOST one whose time is 0 gets that of the record before it. */
enum zr_err rec_import_add(struct rec_import *import, const struct rec_raw *raw);

/* Counts what was left out; `text` shows the first. */
void rec_import_skip(struct rec_import *import, enum rec_skip why, const char *text);

/* To be called after every line or record: now and then asks the user; false = end with what there is. */
bool rec_import_go_on(struct rec_import *import, double done);

/* Asks now: a signal broke a wait for more input. `arg` is the import. */
bool rec_import_ask(void *arg);

/* What the input knows of its machine. `from` says who: "file", "option". An option outdoes the file. */
enum zr_err rec_import_env(struct rec_import *import, const char *key, const char *value,
			   const char *from);

/* The kernel's release ("6.12.9-amd64"): also decides how some fields are read. */
enum zr_err rec_import_kernel(struct rec_import *import, const char *release, const char *from);

/* The readers. Each reads import->input to its end. */
enum zr_err rec_import_text(struct rec_import *import);
enum zr_err rec_import_dat(struct rec_import *import);
enum zr_err rec_import_perf(struct rec_import *import);
enum zr_err rec_import_blk(struct rec_import *import);

/* A line as blkparse prints it: "259,0 1 42 0.000293438 280 D WS 918520 + 8 [name]". LACKS: a step that a
 * trace does not store. */
enum rec_line rec_blk_line(const char *line, struct rec_raw *raw);

#endif
