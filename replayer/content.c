/* SPDX-License-Identifier: MIT */
/* The pages of content.h. */
#include "replayer/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { PIECE = 64, LEVEL = 3, KEEP = 8 };

struct sample {
	unsigned char *page, *frame;
	size_t frame_bytes;
};

/* The pages of about one compressed length. */
struct step {
	struct sample samples[KEEP];
	uint32_t n, next, met; /* kept; next to serve; of the corpus, in all */
	uint32_t nearest;      /* of a corpus: the step that serves this one */
};

struct content {
	uint32_t page_size, n_steps;
	bool has_corpus;
	struct content_fit fit;
	uint64_t seed;
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
	unsigned char *scratch; /* of frame_max bytes */
	size_t frame_max;
	struct step *steps;
};

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
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

/* Keeps the page and its frame, which is in the scratch. */
static enum zr_err keep_sample(const struct content *content, struct sample *sample,
			       const unsigned char *page, size_t frame_bytes)
{
	unsigned char *frame = realloc(sample->frame, frame_bytes);

	if (frame)
		sample->frame = frame;
	if (!sample->page)
		sample->page = malloc(content->page_size);
	if (!frame || !sample->page)
		return zr_fail(ZR_NOMEM, "keeping a page to compress: no memory");
	memcpy(sample->page, page, content->page_size);
	memcpy(frame, content->scratch, frame_bytes);
	sample->frame_bytes = frame_bytes;
	return ZR_OK;
}

static enum zr_err make_sample(struct content *content, uint32_t len, struct step *step)
{
	unsigned char *page = malloc(content->page_size);
	uint32_t fresh = 0;
	size_t bytes;
	enum zr_err err;

	if (!page)
		return zr_fail(ZR_NOMEM, "making a page to compress: no memory");
	err = find_fresh(content, page, len, &fresh);
	if (!err)
		err = compressed_size(content, page, fresh, &bytes);
	if (!err)
		err = keep_sample(content, &step->samples[0], page, bytes);
	if (!err)
		step->n = 1;
	free(page);
	return err;
}

/* ---------------------------------------------------------------------------------------- corpus */

static uint32_t step_of(const struct content *content, size_t len)
{
	size_t bounded = len && len < content->page_size ? len : content->page_size;

	return (uint32_t)((bounded + CONTENT_STEP / 2) / CONTENT_STEP);
}

/* Each page of a step is kept with the same chance, however many there are. */
static enum zr_err offer_page(struct content *content, const unsigned char *page, uint64_t *random)
{
	struct step *step;
	uint64_t place;
	size_t bytes;
	enum zr_err err = compress(content, page, &bytes);

	if (err)
		return err;
	step = &content->steps[step_of(content, bytes)];
	place = step->met < KEEP ? step->met : next_random(random) % (step->met + 1);
	step->met++;
	if (place >= KEEP)
		return ZR_OK;
	if (place == step->n)
		step->n++;
	return keep_sample(content, &step->samples[place], page, bytes);
}

static enum zr_err read_pages(struct content *content, int fd, uint64_t pages, const char *path)
{
	uint64_t looked_at = pages < CONTENT_CORPUS_MAX ? pages : CONTENT_CORPUS_MAX;
	unsigned char *page = malloc(content->page_size);
	uint64_t random = content->seed;
	enum zr_err err = ZR_OK;

	if (!page)
		return zr_fail(ZR_NOMEM, "reading corpus '%s': no memory", path);
	for (uint64_t i = 0; i < looked_at && !err; i++) {
		off_t at = (off_t)(i * pages / looked_at * content->page_size);
		ssize_t got = pread(fd, page, content->page_size, at);

		if (got < 0)
			err = zr_fail_errno(errno, "reading corpus '%s' at byte %lld", path, (long long)at);
		else if ((size_t)got < content->page_size)
			err = zr_fail(ZR_IO, "reading corpus '%s' at byte %lld: it got shorter meanwhile",
				      path, (long long)at);
		else
			err = offer_page(content, page, &random);
	}
	free(page);
	return err;
}

/* From the left the last step with pages, from the right the next one: the nearer of the two. */
static void find_nearest(struct content *content)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < content->n_steps; i++) {
		if (content->steps[i].n)
			last = i;
		content->steps[i].nearest = last;
	}
	last = UINT32_MAX;
	for (uint32_t i = content->n_steps; i-- > 0;) {
		struct step *step = &content->steps[i];

		if (step->n)
			last = i;
		if (step->nearest == UINT32_MAX || (last != UINT32_MAX && last - i < i - step->nearest))
			step->nearest = last;
	}
}

static enum zr_err read_open_corpus(struct content *content, int fd, const char *path)
{
	struct stat st;
	uint64_t pages;
	enum zr_err err;

	if (fstat(fd, &st))
		return zr_fail_errno(errno, "looking at corpus '%s'", path);
	if (!S_ISREG(st.st_mode))
		return zr_fail(ZR_USAGE, "corpus '%s' is no regular file; name a file whose pages are like those "
					 "of the workload, such as a memory image",
			       path);
	pages = (uint64_t)st.st_size / content->page_size;
	if (pages < CONTENT_CORPUS_MIN)
		return zr_fail(ZR_USAGE,
			       "corpus '%s' has %llu whole pages of %u bytes; it takes %d at least, and some "
			       "thousands to match all lengths",
			       path, (unsigned long long)pages, content->page_size, CONTENT_CORPUS_MIN);
	err = read_pages(content, fd, pages, path);
	if (!err)
		find_nearest(content);
	return err;
}

/* Without O_NONBLOCK, opening a named pipe would wait for its writer. */
static enum zr_err read_corpus(struct content *content, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum zr_err err;

	if (fd < 0)
		return zr_fail_errno(errno, "opening corpus '%s'", path);
	content->has_corpus = true;
	err = read_open_corpus(content, fd, path);
	close(fd);
	return err;
}

/* ------------------------------------------------------------------------------------------ life */

static enum zr_err fill_new(struct content *content)
{
	content->frame_max = ZSTD_compressBound(content->page_size);
	content->steps = calloc(content->n_steps, sizeof(*content->steps));
	content->scratch = malloc(content->frame_max);
	content->compressor = ZSTD_createCCtx();
	content->decompressor = ZSTD_createDCtx();
	if (content->steps && content->scratch && content->compressor && content->decompressor)
		return ZR_OK;
	return zr_fail(ZR_NOMEM, "making pages to compress: no memory");
}

enum zr_err content_new(uint32_t page_size, uint64_t seed, const char *corpus, struct content **out)
{
	struct content *content = calloc(1, sizeof(*content));
	enum zr_err err;

	*out = NULL;
	if (!content)
		return zr_fail(ZR_NOMEM, "making pages to compress: no memory");
	content->page_size = page_size;
	content->n_steps = page_size / CONTENT_STEP + 1;
	content->seed = seed;
	err = fill_new(content);
	if (!err && corpus)
		err = read_corpus(content, corpus);
	if (err)
		content_free(content);
	else
		*out = content;
	return err;
}

void content_free(struct content *content)
{
	if (!content)
		return;
	for (uint32_t i = 0; content->steps && i < content->n_steps; i++) {
		for (uint32_t k = 0; k < KEEP; k++) {
			free(content->steps[i].samples[k].page);
			free(content->steps[i].samples[k].frame);
		}
	}
	free(content->steps);
	free(content->scratch);
	ZSTD_freeCCtx(content->compressor);
	ZSTD_freeDCtx(content->decompressor);
	free(content);
}

struct content_fit content_fit(const struct content *content)
{
	return content->fit;
}

/* ------------------------------------------------------------------------------------------ work */

static enum zr_err sample_of(struct content *content, uint32_t len, struct sample **out)
{
	uint32_t at = step_of(content, len);
	struct step *step = &content->steps[content->has_corpus ? content->steps[at].nearest : at];
	enum zr_err err = step->n ? ZR_OK : make_sample(content, at * CONTENT_STEP, step);
	size_t got;

	if (err)
		return err;
	*out = &step->samples[step->next];
	step->next = step->next + 1 < step->n ? step->next + 1 : 0;
	got = (*out)->frame_bytes;
	if (len) {
		content->fit.pages++;
		content->fit.off_bytes += got > len ? got - len : len - got;
	}
	return ZR_OK;
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
