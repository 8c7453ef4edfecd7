/* SPDX-License-Identifier: MIT */
/*
 * Pages of a wanted compressibility: the real work of a replay on a device.
 *
 * A trace holds compressed lengths, no contents. For each length a page is made up whose zstd frame (level
 * 3, the kernel's default) is about that long: 64-byte pieces, some fresh from a seeded generator, the
 * others copies of earlier pieces, so that compressor and decompressor find real matches. The share of
 * fresh bytes is found by bisection. Lengths are served in steps of 16 bytes, and the frame of a step's page
 * is within CONTENT_TOLERANCE bytes of it (measured: at most 29); in the last 1/32 of a page, where zstd
 * prefers to store the page as it is, within twice that. So a page costs the CPU about what the recorded
 * one cost.
 *
 * Made on first use and kept: a page and its frame for each of the page_size / 16 + 1 steps at most. Same
 * seed, same pages.
 *
 * Or the pages are drawn from a corpus, a file of the user's: its pages are compressed once, and of each step up to
 * eight are kept, chosen evenly by a seeded draw; of a file of more than 65536 pages as many are looked at, at equal
 * distances. A length is served by the nearest step that has pages, in turn, and content_fit() tells how near that
 * was. Memory: at most 16 bytes for each byte of a page and step, 16 MiB for pages of 4 KiB.
 */
#ifndef REPLAYER_CONTENT_H
#define REPLAYER_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"

enum { CONTENT_STEP = 16, CONTENT_TOLERANCE = 32, CONTENT_CORPUS_MIN = 64, CONTENT_CORPUS_MAX = 65536 };

struct content;

/* `corpus` may be NULL; it must be a regular file of CONTENT_CORPUS_MIN pages or more. */
enum zr_err content_new(uint32_t page_size, uint64_t seed, const char *corpus, struct content **out);
void content_free(struct content *content);

/* Pages that were asked for, of known length, and by how many bytes in all their frames missed the length. */
struct content_fit {
	uint64_t pages, off_bytes;
};

struct content_fit content_fit(const struct content *content);

/* Decompresses the page of that compressed length (0 = as for a whole page) into `page`. */
enum zr_err content_decompress(struct content *content, uint32_t len, void *page);

/* Compresses the page of that length into a buffer that nobody reads; `*out` is the length achieved. */
enum zr_err content_compress(struct content *content, uint32_t len, size_t *out);

#endif
