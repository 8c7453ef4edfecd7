/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a chunk. The input is tried as it is and with its checksum made right, since else
 * hardly any would be looked at further; what decodes must encode and decode to the same events.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/bytes.h"
#include "db/chunk.h"
#include "db/chunk_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct fuzz {
	struct zr_arena arena;
	struct db_codec *codec;
	struct db_batch batch, again;
};

static struct fuzz *make_fuzz(void)
{
	struct fuzz *fuzz = calloc(1, sizeof(*fuzz));

	if (!fuzz || db_codec_new(0, &fuzz->codec) || db_batch_init(&fuzz->batch, &fuzz->arena) ||
	    db_batch_init(&fuzz->again, &fuzz->arena))
		abort();
	return fuzz;
}

static bool same(const struct db_batch *a, const struct db_batch *b)
{
	size_t n = a->n;

	return a->n == b->n && !memcmp(a->time_ns, b->time_ns, n * 8) &&
	       !memcmp(a->slot, b->slot, n * 4) && !memcmp(a->task, b->task, n * 4) &&
	       !memcmp(a->memcg, b->memcg, n * 2) && !memcmp(a->len, b->len, n * 2) &&
	       !memcmp(a->kind, b->kind, n) && !memcmp(a->area, b->area, n) &&
	       !memcmp(a->order, b->order, n) && !memcmp(a->flags, b->flags, n);
}

static void try(struct fuzz *fuzz, const uint8_t *data, size_t bytes)
{
	const uint8_t *chunk;

	zr_error_clear();
	if (db_chunk_decode(fuzz->codec, "chunk", data, bytes, &fuzz->batch))
		return;
	if (db_chunk_encode(fuzz->codec, &fuzz->batch, &chunk, &bytes) ||
	    db_chunk_decode(fuzz->codec, "chunk", chunk, bytes, &fuzz->again) ||
	    !same(&fuzz->batch, &fuzz->again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz *fuzz;
	uint8_t *mended;

	if (!fuzz)
		fuzz = make_fuzz();
	try(fuzz, data, bytes);
	if (bytes < DB_CHUNK_HEADER_BYTES)
		return 0;
	mended = malloc(bytes);
	if (!mended)
		abort();
	memcpy(mended, data, bytes);
	zr_put32(mended + DB_CHUNK_AT_CRC,
		 zr_crc32c(0, mended + DB_CHUNK_AT_VERSION, bytes - DB_CHUNK_AT_VERSION));
	try(fuzz, mended, bytes);
	free(mended);
	return 0;
}
