/* SPDX-License-Identifier: MIT */
/* What the head of a trace.dat file says, read without the library that reads its events. */
#ifndef RECORDER_IMPORT_DAT_H
#define RECORDER_IMPORT_DAT_H

#include <stdint.h>

#include "db/base/err.h"

struct rec_dat_head {
	uint32_t version; /* 6 or 7 */
	uint32_t page_size;
	char compression[32]; /* "zstd", "none"; version 7 */
	char clock[32];	      /* "" = not said */
	char kernel[128];     /* release; "" = not said */
	char unknown[128];    /* "60, 61": options that are not known here; "" = none */
};

/* Reads it from a file that can be read at any place. ZR_UNSUPPORTED for another version or byte order, ZR_CORRUPT for
 * what makes no sense; both say what was found. `path` is for messages. */
enum zr_err rec_dat_head(int fd, const char *path, struct rec_dat_head *out);

#endif
