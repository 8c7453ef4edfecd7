/* SPDX-License-Identifier: MIT */
/*
 * The chunk codec: a batch of events to the bytes of chunk.data and back; the bytes are described
 * in chunk_format.h. Private to db/.
 */
#ifndef DB_CHUNK_H
#define DB_CHUNK_H

#include "db/db.h"

struct db_codec;

/* Working memory for one thread, 7.1 MiB, and zstd's state: 2 MiB at levels 0 and 3, 11 MiB at the
 * highest. `level` is zstd's, for the first group of columns; 0 is a setting of our own, see
 * chunk.c, which the second group always has. */
enum zr_err db_codec_new(int level, struct db_codec **out);
void db_codec_free(struct db_codec *codec);

/*
 * 1 to DB_BATCH_EVENTS events as a chunk, which stays the codec's and is valid until its next call.
 * The same events and level give the same bytes. ZR_CORRUPT, naming the event, when the batch is
 * not one that event.h allows (time that descends, unknown kind, flags or order).
 */
enum zr_err db_chunk_encode(struct db_codec *codec, const struct db_batch *batch,
			    const uint8_t **chunk, size_t *bytes);

/*
 * A chunk as events; `batch` has room for DB_BATCH_EVENTS. For any bytes at all the answer is a
 * batch that event.h allows or ZR_CORRUPT (ZR_NEWER_VERSION for a chunk of a later format); then
 * the batch is empty. `name` is what the chunk is called in messages.
 */
enum zr_err db_chunk_decode(struct db_codec *codec, const char *name, const void *chunk,
			    size_t bytes, struct db_batch *batch);

/* What a chunk's row says of its events. */
struct db_chunk_span {
	uint64_t first_ns, last_ns;
	uint32_t events, kinds;
	uint32_t slot_min, slot_max; /* min > max: no event has a slot */
	uint64_t memcgs;	     /* bits 1 << memcg % 64 */
};

/* That of the chunk which was encoded or decoded last, without an error. */
struct db_chunk_span db_codec_span(const struct db_codec *codec);

/* A row is only a claim about its chunk: ZR_CORRUPT unless it is the span of the one decoded last.
 */
enum zr_err db_chunk_check_row(const struct db_codec *codec, const char *name,
			       struct db_chunk_span claims);

#endif
