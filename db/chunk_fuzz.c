/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a chunk, and any bytes as events. As a chunk the input is tried as it is and mended:
 * with the checksum, and the size of the bits, made right, since else hardly any would be looked at
 * further. As events it is records of struct db_event, made such as event.h allows. What decodes,
 * and all events, must encode and decode to the same events.
 *
 * traces/seeds/chunk_fuzz has small chunks of each version. In those named raw the frames are made
 * of zstd's raw blocks: there a byte changed is a byte of a plane changed, while a change in a
 * compressed block seldom leaves something that decompresses.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/bytes.h"
#include "db/chunk.h"
#include "db/chunk_format.h"
#include "db/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct fuzz {
	struct zr_arena arena;
	struct db_codec *codec;
	struct db_types types;
	struct db_batch batch, again;
};

static struct fuzz *make_fuzz(void)
{
	struct fuzz *fuzz = calloc(1, sizeof(*fuzz));
	struct db_rows rows;

	if (!fuzz || db_codec_new(0, &fuzz->codec) || db_batch_init(&fuzz->batch, &fuzz->arena) ||
	    db_batch_init(&fuzz->again, &fuzz->arena))
		abort();
	db_rows_init(&rows);
	db_types_init(&fuzz->types, &rows);
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

/* What went in must come out. */
static void check_again(struct fuzz *fuzz)
{
	const uint8_t *chunk;
	size_t bytes;

	if (db_chunk_encode(fuzz->codec, &fuzz->batch, &chunk, &bytes) ||
	    db_chunk_decode(fuzz->codec, "chunk", chunk, bytes, &fuzz->again) ||
	    !same(&fuzz->batch, &fuzz->again))
		abort();
}

static void try_chunk(struct fuzz *fuzz, const uint8_t *data, size_t bytes)
{
	zr_error_clear();
	if (!db_chunk_decode(fuzz->codec, "chunk", data, bytes, &fuzz->batch))
		check_again(fuzz);
}

static void mend(uint8_t *chunk, size_t bytes)
{
	uint64_t others = DB_CHUNK_HEADER_BYTES;

	for (unsigned group = 0; group < DB_CHUNK_GROUPS; group++)
		others += zr_get32(chunk + DB_CHUNK_AT_GROUPS + group * DB_CHUNK_GROUP_BYTES + 4);
	if (zr_get16(chunk + DB_CHUNK_AT_VERSION) == 2 && others <= bytes)
		zr_put32(chunk + DB_CHUNK_AT_BITS, (uint32_t)(bytes - others));
	zr_put32(chunk + DB_CHUNK_AT_CRC,
		 zr_crc32c(0, chunk + DB_CHUNK_AT_VERSION, bytes - DB_CHUNK_AT_VERSION));
}

static void try_mended(struct fuzz *fuzz, const uint8_t *data, size_t bytes)
{
	uint8_t *mended = malloc(bytes);

	if (!mended)
		abort();
	memcpy(mended, data, bytes);
	mend(mended, bytes);
	try_chunk(fuzz, mended, bytes);
	free(mended);
}

/* Times are read as differences; where they would wrap, they stand still. */
static void try_events(struct fuzz *fuzz, const uint8_t *data, size_t bytes)
{
	struct db_event event;
	uint64_t now = 0;

	zr_error_clear();
	fuzz->batch.n = 0;
	for (; bytes >= sizeof(event); data += sizeof(event), bytes -= sizeof(event)) {
		unsigned type;

		if (fuzz->batch.n == DB_BATCH_EVENTS)
			break;
		memcpy(&event, data, sizeof(event));
		type = event.flags % DB_TYPE_COUNT;
		now += now + event.time_ns < now ? 0 : event.time_ns;
		event.time_ns = now;
		event.kind = fuzz->types.kind[type];
		event.flags = fuzz->types.flags[type];
		event.order %= DB_ORDER_MAX + 1;
		db_batch_add(&fuzz->batch, &event);
	}
	if (fuzz->batch.n)
		check_again(fuzz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz *fuzz;

	if (!fuzz)
		fuzz = make_fuzz();
	try_chunk(fuzz, data, bytes);
	if (bytes >= DB_CHUNK_HEADER_BYTES)
		try_mended(fuzz, data, bytes);
	try_events(fuzz, data, bytes);
	return 0;
}
