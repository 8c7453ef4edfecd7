/* SPDX-License-Identifier: MIT */
/* The pages of content.h. */
#include "replayer/content.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { PIECE = 64, LEVEL = 3 };

struct sample {
	unsigned char *page; /* NULL = not made yet */
	unsigned char *frame;
	size_t frame_bytes;
};

struct content {
	uint32_t page_size, n_samples;
	uint64_t seed;
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
	unsigned char *scratch; /* of frame_max bytes */
	size_t frame_max;
	struct sample *samples;
};

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

enum zr_err content_new(uint32_t page_size, uint64_t seed, struct content **out)
{
	struct content *content = calloc(1, sizeof(*content));

	*out = content;
	if (content) {
		content->page_size = page_size;
		content->n_samples = page_size / CONTENT_STEP + 1;
		content->seed = seed;
		content->frame_max = ZSTD_compressBound(page_size);
		content->samples = calloc(content->n_samples, sizeof(*content->samples));
		content->scratch = malloc(content->frame_max);
		content->compressor = ZSTD_createCCtx();
		content->decompressor = ZSTD_createDCtx();
	}
	if (content && content->samples && content->scratch && content->compressor &&
	    content->decompressor)
		return ZR_OK;
	content_free(content);
	*out = NULL;
	return zr_fail(ZR_NOMEM, "making pages to compress: no memory");
}

void content_free(struct content *content)
{
	if (!content)
		return;
	for (uint32_t i = 0; content->samples && i < content->n_samples; i++) {
		free(content->samples[i].page);
		free(content->samples[i].frame);
	}
	free(content->samples);
	free(content->scratch);
	ZSTD_freeCCtx(content->compressor);
	ZSTD_freeDCtx(content->decompressor);
	free(content);
}

static void fill_random(unsigned char *to, size_t bytes, uint64_t *state)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = next_random(state);

		memcpy(to + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
	}
}

/* A page with `fresh` bytes that occur nowhere before them; the rest are copies of earlier pieces. */
static void make_page(unsigned char *page, uint32_t page_size, uint32_t fresh, uint64_t seed)
{
	uint64_t state = seed;
	uint32_t done = 0;

	memset(page, 0, page_size);
	for (uint32_t at = 0; at < page_size; at += PIECE) {
		/* Fresh pieces lie evenly among the copies. */
		uint64_t due = (uint64_t)fresh * (at + PIECE) / page_size;
		uint32_t take = due >= done + PIECE || at + PIECE == page_size ? fresh - done : 0;

		if (take > PIECE)
			take = PIECE;
		if (at && take < PIECE)
			memcpy(page + at, page + next_random(&state) % (at / PIECE) * PIECE, PIECE);
		fill_random(page + at, take, &state);
		done += take;
	}
}

static enum zr_err compress(struct content *content, const unsigned char *page, size_t *out)
{
	*out = ZSTD_compressCCtx(content->compressor, content->scratch, content->frame_max, page,
				 content->page_size, LEVEL);
	if (ZSTD_isError(*out))
		return zr_fail(ZR_IO, "compressing a page of %u bytes: %s", content->page_size,
			       ZSTD_getErrorName(*out));
	return ZR_OK;
}

static enum zr_err compressed_size(struct content *content, unsigned char *page, uint32_t fresh,
				   size_t *out)
{
	make_page(page, content->page_size, fresh, content->seed);
	return compress(content, page, out);
}

/* The share of fresh bytes whose frame is nearest to `want`. The size grows with it, but for steps of a few
 * bytes, so bisection ends next to the best. */
static enum zr_err find_fresh(struct content *content, unsigned char *page, size_t want, uint32_t *out)
{
	uint32_t low = 0, high = content->page_size;
	size_t nearest = SIZE_MAX;
	enum zr_err err;

	while (low <= high && nearest) {
		uint32_t middle = low + (high - low) / 2;
		size_t got, off;

		err = compressed_size(content, page, middle, &got);
		if (err)
			return err;
		off = got > want ? got - want : want - got;
		if (off < nearest) {
			nearest = off;
			*out = middle;
		}
		if (got < want)
			low = middle + 1;
		else if (middle)
			high = middle - 1;
		else
			break;
	}
	return ZR_OK;
}

static enum zr_err make_sample(struct content *content, uint32_t len, struct sample *sample)
{
	uint32_t fresh = 0;
	enum zr_err err;

	if (!sample->page)
		sample->page = malloc(content->page_size);
	if (!sample->page)
		return zr_fail(ZR_NOMEM, "making a page to compress: no memory");
	err = find_fresh(content, sample->page, len, &fresh);
	if (!err)
		err = compressed_size(content, sample->page, fresh, &sample->frame_bytes);
	if (err)
		return err;
	sample->frame = malloc(sample->frame_bytes);
	if (!sample->frame)
		return zr_fail(ZR_NOMEM, "making a page to compress: no memory");
	memcpy(sample->frame, content->scratch, sample->frame_bytes);
	return ZR_OK;
}

static enum zr_err sample_of(struct content *content, uint32_t len, struct sample **out)
{
	uint32_t step =
		((len && len < content->page_size ? len : content->page_size) + CONTENT_STEP / 2) /
		CONTENT_STEP;

	*out = &content->samples[step];
	return (*out)->frame ? ZR_OK : make_sample(content, step * CONTENT_STEP, *out);
}

enum zr_err content_decompress(struct content *content, uint32_t len, void *page)
{
	struct sample *sample;
	enum zr_err err = sample_of(content, len, &sample);
	size_t got;

	if (err)
		return err;
	got = ZSTD_decompressDCtx(content->decompressor, page, content->page_size, sample->frame,
				  sample->frame_bytes);
	if (ZSTD_isError(got) || got != content->page_size)
		return zr_fail(ZR_IO, "decompressing a page of %u bytes: %s", content->page_size,
			       ZSTD_isError(got) ? ZSTD_getErrorName(got) : "another size came out");
	return ZR_OK;
}

enum zr_err content_compress(struct content *content, uint32_t len, size_t *out)
{
	struct sample *sample;
	enum zr_err err = sample_of(content, len, &sample);

	return err ? err : compress(content, sample->page, out);
}
