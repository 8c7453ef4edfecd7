/* SPDX-License-Identifier: MIT */
/* Where the slots of a swap file lie on its disk; see extents.h. */
#include "recorder/extents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BATCH = 256, MAX_PIECES = 1 << 20, MAX_IN_TEXT = 10000, SECTOR = 512 };

/* ------------------------------------------------------------------------------------------ numbering */

static int by_sector(const void *a, const void *b)
{
	const struct rec_extent *x = a, *y = b;

	return (x->sector > y->sector) - (x->sector < y->sector);
}

/* The whole pages of a piece; false if there are none. */
static bool whole_pages(const struct rec_piece *piece, uint32_t page, uint64_t *first,
			uint64_t *pages)
{
	uint64_t end = (piece->disk + piece->bytes) / page;

	*first = (piece->disk + page - 1) / page;
	*pages = end > *first ? end - *first : 0;
	return *pages;
}

uint32_t rec_extents_of_pieces(const struct rec_piece *pieces, uint32_t n,
			       const struct rec_geometry *geometry, struct rec_extent *out)
{
	uint64_t slot = 0, first, pages;
	uint32_t n_out = 0;

	for (uint32_t i = 0; i < n && slot < geometry->slots;) {
		struct rec_piece whole = pieces[i++];

		for (; i < n && pieces[i].disk == whole.disk + whole.bytes; i++)
			whole.bytes += pieces[i].bytes;
		if (!whole_pages(&whole, geometry->page_bytes, &first, &pages))
			continue;
		if (pages > geometry->slots - slot)
			pages = geometry->slots - slot;
		out[n_out++] = (struct rec_extent){
			.slot = (uint32_t)slot, .slots = (uint32_t)pages,
			.sector = geometry->start_sector + first * (geometry->page_bytes / SECTOR),
		};
		slot += pages;
	}
	qsort(out, n_out, sizeof(*out), by_sector);
	return n_out;
}

/* ------------------------------------------------------------------------------------------- the file */

struct reading {
	const char *path;
	int fd;
	struct rec_piece *pieces;
	uint32_t n, room;
	uint64_t from; /* in the file: what comes next */
	bool last;
};

static enum zr_err keep(struct reading *reading, const struct fiemap_extent *extent)
{
	const uint32_t odd = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
			     FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_INLINE;
	struct rec_piece *pieces;

	if (extent->fe_flags & odd)
		return zr_fail(ZR_UNSUPPORTED,
			       "mapping the swap file %s to its disk: what it has at %llu is not on "
			       "the disk as it is (flags %#x)",
			       reading->path, (unsigned long long)extent->fe_logical,
			       extent->fe_flags);
	if (reading->n == MAX_PIECES)
		return zr_fail(ZR_LIMIT, "mapping the swap file %s to its disk: it has more than %d pieces",
			       reading->path, MAX_PIECES);
	if (reading->n == reading->room) {
		reading->room = reading->room ? reading->room * 2 : BATCH;
		pieces = realloc(reading->pieces, reading->room * sizeof(*pieces));
		if (!pieces)
			return zr_fail(ZR_NOMEM, "no memory for the pieces of a swap file");
		reading->pieces = pieces;
	}
	reading->pieces[reading->n++] = (struct rec_piece){ .disk = extent->fe_physical,
							    .bytes = extent->fe_length };
	reading->from = extent->fe_logical + extent->fe_length;
	reading->last = extent->fe_flags & FIEMAP_EXTENT_LAST;
	return ZR_OK;
}

static enum zr_err read_batch(struct reading *reading, struct fiemap *map)
{
	enum zr_err err = ZR_OK;

	*map = (struct fiemap){ .fm_start = reading->from, .fm_length = UINT64_MAX - reading->from,
				.fm_extent_count = BATCH };
	if (ioctl(reading->fd, FS_IOC_FIEMAP, map) < 0)
		return zr_fail(ZR_UNSUPPORTED,
			       "mapping the swap file %s to its disk: its file system does not tell (%s)",
			       reading->path, strerror(errno));
	if (!map->fm_mapped_extents)
		reading->last = true;
	for (uint32_t i = 0; !err && i < map->fm_mapped_extents; i++)
		err = keep(reading, &map->fm_extents[i]);
	return err;
}

static enum zr_err read_pieces(struct reading *reading)
{
	struct fiemap *map = malloc(sizeof(*map) + BATCH * sizeof(map->fm_extents[0]));
	enum zr_err err = ZR_OK;

	if (!map)
		return zr_fail(ZR_NOMEM, "no memory for the pieces of a swap file");
	while (!err && !reading->last)
		err = read_batch(reading, map);
	free(map);
	return err;
}

enum zr_err rec_extents_read(const char *path, const struct rec_geometry *geometry,
			     struct rec_extent **out, uint32_t *n)
{
	struct reading reading = { .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	enum zr_err err;

	*out = NULL;
	*n = 0;
	if (reading.fd < 0)
		return zr_fail_errno(errno, "mapping the swap file %s to its disk", path);
	err = read_pieces(&reading);
	if (!err)
		*out = calloc(reading.n ? reading.n : 1, sizeof(**out));
	if (!err && !*out)
		err = zr_fail(ZR_NOMEM, "no memory for the pieces of a swap file");
	if (!err)
		*n = rec_extents_of_pieces(reading.pieces, reading.n, geometry, *out);
	free(reading.pieces);
	close(reading.fd);
	return err;
}

char *rec_extents_text(const struct rec_extent *extents, uint32_t n)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < n && i < MAX_IN_TEXT; i++)
		fprintf(out, "%s%u+%u@%llu", i ? "," : "", extents[i].slot, extents[i].slots,
			(unsigned long long)extents[i].sector);
	if (n > MAX_IN_TEXT)
		fputs(",...", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
