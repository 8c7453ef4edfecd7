/* SPDX-License-Identifier: MIT */
/* Decoding a chunk of any version: its header and its frames; see chunk_format.h and chunk.c. */
#include "db/chunk_codec.h"

static enum zr_err (*const versions[DB_CHUNK_VERSION + 1])(struct db_decoder *) = {
	[1] = db_chunk_decode_1,
	[2] = db_chunk_decode_2,
};

static enum zr_err check_version(const struct db_decoder *dec, unsigned version)
{
	if (version > DB_CHUNK_VERSION)
		return zr_fail(ZR_NEWER_VERSION,
			       "%s: chunk format %u; this zreel knows %d: update it", dec->name,
			       version, DB_CHUNK_VERSION);
	if (version == 0 || zr_get16(dec->chunk + DB_CHUNK_AT_ZERO))
		return zr_fail(ZR_CORRUPT, "%s: not the header of chunk format %u", dec->name,
			       version);
	return ZR_OK;
}

static enum zr_err check_header(const struct db_decoder *dec)
{
	size_t bytes = (size_t)(dec->end - dec->chunk);
	enum zr_err err;
	uint32_t n;

	if (bytes < DB_CHUNK_HEADER_BYTES)
		return zr_fail(ZR_CORRUPT, "%s: %zu bytes are too few for a chunk", dec->name,
			       bytes);
	if (zr_get32(dec->chunk + DB_CHUNK_AT_MAGIC) != DB_CHUNK_MAGIC)
		return zr_fail(ZR_CORRUPT, "%s: not a chunk of events", dec->name);
	if (zr_get32(dec->chunk + DB_CHUNK_AT_CRC) != db_chunk_crc(dec->chunk, bytes))
		return zr_fail(ZR_CORRUPT, "%s: the checksum of its %zu bytes does not match",
			       dec->name, bytes);
	err = check_version(dec, zr_get16(dec->chunk + DB_CHUNK_AT_VERSION));
	n = zr_get32(dec->chunk + DB_CHUNK_AT_EVENTS);
	if (!err && (n == 0 || n > DB_BATCH_EVENTS))
		err = zr_fail(ZR_CORRUPT, "%s: claims %u events, 1 to %d are possible", dec->name,
			      n, DB_BATCH_EVENTS);
	return err;
}

enum zr_err db_chunk_check_unit(const struct db_decoder *dec, uint32_t unit_ns)
{
	if (unit_ns == 0 || unit_ns > DB_CHUNK_UNIT_MAX)
		return zr_fail(ZR_CORRUPT, "%s: has a time unit of %u ns, 1 to %d are possible",
			       dec->name, unit_ns, DB_CHUNK_UNIT_MAX);
	return ZR_OK;
}

enum zr_err db_chunk_get_frame(struct db_decoder *dec, unsigned group, size_t planes_bytes)
{
	const uint8_t *sizes = dec->chunk + DB_CHUNK_AT_GROUPS + group * DB_CHUNK_GROUP_BYTES;
	uint32_t raw = zr_get32(sizes), bytes = zr_get32(sizes + 4);
	size_t got = 0;

	if (raw != planes_bytes || bytes > (size_t)(dec->end - dec->at) || !raw != !bytes)
		return zr_fail(ZR_CORRUPT, "%s: column group %u has impossible sizes", dec->name,
			       group);
	if (raw)
		got = ZSTD_decompressDCtx(dec->codec->dctx, dec->end_of_planes, raw, dec->at,
					  bytes);
	if (ZSTD_isError(got))
		return zr_fail(ZR_CORRUPT, "%s: column group %u does not decompress: zstd: %s",
			       dec->name, group, ZSTD_getErrorName(got));
	if (got != raw)
		return zr_fail(ZR_CORRUPT, "%s: column group %u gives %zu bytes instead of %u",
			       dec->name, group, got, raw);
	dec->at += bytes;
	return ZR_OK;
}

enum zr_err db_chunk_decode(struct db_codec *codec, const char *name, const void *chunk,
			    size_t bytes, struct db_batch *batch)
{
	struct db_decoder dec = {
		.codec = codec,
		.name = name,
		.chunk = chunk,
		.end = (const uint8_t *)chunk + bytes,
		.batch = batch,
		.end_of_planes = codec->planes,
	};
	enum zr_err err = check_header(&dec);

	batch->n = err ? 0 : zr_get32(dec.chunk + DB_CHUNK_AT_EVENTS);
	if (!err)
		err = versions[zr_get16(dec.chunk + DB_CHUNK_AT_VERSION)](&dec);
	if (err)
		batch->n = 0;
	return err;
}
