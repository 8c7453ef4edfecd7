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
 */
#ifndef REPLAYER_CONTENT_H
#define REPLAYER_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "db/base/err.h"

enum { CONTENT_STEP = 16, CONTENT_TOLERANCE = 32 };

struct content;

enum zr_err content_new(uint32_t page_size, uint64_t seed, struct content **out);
void content_free(struct content *content);

/* Decompresses the page of that compressed length (0 = as for a whole page) into `page`. */
enum zr_err content_decompress(struct content *content, uint32_t len, void *page);

/* Compresses the page of that length into a buffer that nobody reads; `*out` is the length achieved. */
enum zr_err content_compress(struct content *content, uint32_t len, size_t *out);

#endif
