/* SPDX-License-Identifier: MIT */
/*
 * Where the slots of a swap file lie on its disk.
 *
 * The kernel numbers a swap file's slots over its pieces as it finds them: pieces that follow each other on
 * the disk are one; of each, what is not a whole, aligned page on the disk is left out. So slots are a
 * file's pages one by one only where its blocks are pages. (As of 6.1, 6.12 and 7.3: the swap activation of
 * iomap, which ext4 and xfs use.)
 */
#ifndef RECORDER_EXTENTS_H
#define RECORDER_EXTENTS_H

#include <stdint.h>

#include "db/base/err.h"
#include "recorder/fold.h"

/* A piece of a file on the file system's device, in the file's order. */
struct rec_piece {
	uint64_t disk, bytes;
};

struct rec_geometry {
	uint32_t page_bytes;
	uint64_t start_sector; /* of the file system's device on its disk */
	uint64_t slots;	       /* that the area has: what lies behind is not used */
};

/* Extents of the slots, ascending by sector, into `out`, which has room for n; returns how many. */
uint32_t rec_extents_of_pieces(const struct rec_piece *pieces, uint32_t n,
			       const struct rec_geometry *geometry, struct rec_extent *out);

/* The same of a file, as the file system tells; the caller frees *out. ZR_UNSUPPORTED if it does not tell. */
enum zr_err rec_extents_read(const char *path, const struct rec_geometry *geometry,
			     struct rec_extent **out, uint32_t *n);

/* "SLOT+SLOTS@SECTOR,...", at most 10000 of them; the caller frees it. NULL: no memory. */
char *rec_extents_text(const struct rec_extent *extents, uint32_t n);

#endif
