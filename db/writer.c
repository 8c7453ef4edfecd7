/* SPDX-License-Identifier: MIT */
/*
 * The writer: gathers events in a batch and puts it as one chunk, in one transaction with all
 * dictionary rows put since the last flush. An event costs a copy of 24 bytes; everything else is
 * done once a chunk.
 *
 * Invariant: events are either in the batch or in a chunk row, committed or not, so that a flush
 * that met a busy file can be tried again and stores nothing twice.
 */
#include <stdlib.h>

#include "db/chunk.h"
#include "db/sql.h"

enum { FLUSH_EVERY_NS = 1000000000, TIME_UNIT_MAX = 1000000000 };

struct db_writer {
	struct db *db;
	struct zr_arena arena;
	struct db_batch batch;
	struct db_codec *codec;
	uint64_t flush_every_ns;
	uint64_t time_unit_ns;
	uint64_t last_ns; /* no event is earlier */
	struct db_writer_stats stats;
};

/* Where the host's events end so far; a second writer goes on from there. */
static enum zr_err load_last(struct db_writer *writer)
{
	struct db *db = writer->db;
	sqlite3_stmt *stmt;
	bool row;
	enum zr_err err = db_sql_start(db, DB_SQL_CHUNK_LAST,
				       (struct db_arg[]){ db_int(writer->batch.host) }, &stmt);

	if (!err)
		err = db_sql_next(db, DB_SQL_CHUNK_LAST, &row);
	if (err)
		return err;
	if (row)
		writer->last_ns = (uint64_t)sqlite3_column_int64(stmt, 0);
	db_sql_stop(db, DB_SQL_CHUNK_LAST);
	return ZR_OK;
}

/* Rounding to a finer unit would claim more than is known. */
static enum zr_err settle_unit(struct db_writer *writer, uint64_t wanted)
{
	int64_t had = db_env_int(writer->db, writer->batch.host, DB_ENV_TIME_UNIT, 1);

	writer->time_unit_ns = had >= 1 && had <= TIME_UNIT_MAX ? (uint64_t)had : 1;
	if (writer->time_unit_ns >= wanted)
		return ZR_OK;
	writer->time_unit_ns = wanted;
	return db_env_setf(writer->db, writer->batch.host, DB_ENV_TIME_UNIT, "%llu",
			   (unsigned long long)wanted);
}

static void free_writer(struct db_writer *writer)
{
	zr_arena_fini(&writer->arena);
	db_codec_free(writer->codec);
	free(writer);
}

enum zr_err db_writer_new(struct db *db, const struct db_writer_options *options,
			  struct db_writer **out)
{
	struct db_writer *writer = calloc(1, sizeof(*writer));
	enum zr_err err;

	if (!writer)
		return zr_fail(ZR_NOMEM, "no memory to write to %s", db->path);
	writer->db = db;
	writer->flush_every_ns = options->flush_every_ns ? options->flush_every_ns : FLUSH_EVERY_NS;
	err = db_batch_init(&writer->batch, &writer->arena);
	writer->batch.host = options->host;
	if (!err)
		err = db_codec_new(options->zstd_level, &writer->codec);
	if (!err)
		err = load_last(writer);
	if (!err)
		err = db_sql_begin_host(db, options->host);
	if (!err)
		err = settle_unit(writer, options->time_unit_ns);
	if (err) {
		free_writer(writer);
		return err;
	}
	*out = writer;
	return ZR_OK;
}

static enum zr_err put_chunk(struct db_writer *writer)
{
	const struct db_batch *batch = &writer->batch;
	struct db_chunk_span span;
	const uint8_t *chunk;
	size_t bytes;
	enum zr_err err = db_chunk_encode(writer->codec, batch, &chunk, &bytes);

	if (!err)
		err = db_sql_begin_host(writer->db, batch->host);
	if (err)
		return err;
	span = db_codec_span(writer->codec);
	err = db_sql_run(writer->db, DB_SQL_CHUNK_PUT,
			 (struct db_arg[]){ db_int(batch->host), db_int((int64_t)span.first_ns),
					    db_int((int64_t)span.last_ns), db_int(span.events),
					    db_int(span.kinds), db_int(span.slot_min),
					    db_int(span.slot_max), db_int((int64_t)span.memcgs),
					    db_blob(chunk, bytes) });
	if (err)
		return err;
	writer->stats.events += batch->n;
	writer->stats.chunks++;
	writer->stats.chunk_bytes += bytes;
	writer->batch.n = 0;
	return ZR_OK;
}

enum zr_err db_writer_flush(struct db_writer *writer)
{
	const struct db_batch *batch = &writer->batch;
	enum zr_err err = ZR_OK;

	if (batch->n && batch->time_ns[batch->n - 1] >= INT64_MAX)
		return zr_fail(ZR_LIMIT,
			       "%s: an event's time is %llu ns, the format ends at 2^63 - 2",
			       writer->db->path, (unsigned long long)batch->time_ns[batch->n - 1]);
	if (batch->n)
		err = put_chunk(writer);
	return err ? err : db_sql_commit(writer->db);
}

enum zr_err db_writer_add(struct db_writer *writer, const struct db_event *event)
{
	struct db_batch *batch = &writer->batch;
	struct db_event e = *event;
	enum zr_err err;

	if (writer->time_unit_ns > 1)
		e.time_ns -= e.time_ns % writer->time_unit_ns;
	if (e.time_ns < writer->last_ns) {
		e.time_ns = writer->last_ns;
		writer->stats.clamped_times++;
	}
	if (batch->n && (batch->n == DB_BATCH_EVENTS ||
			 e.time_ns - batch->time_ns[0] >= writer->flush_every_ns)) {
		err = db_writer_flush(writer);
		if (err)
			return err;
	}
	writer->last_ns = e.time_ns;
	db_batch_add(batch, &e);
	return ZR_OK;
}

struct db_writer_stats db_writer_stats(const struct db_writer *writer)
{
	return writer->stats;
}

enum zr_err db_writer_free(struct db_writer *writer)
{
	enum zr_err err;

	if (!writer)
		return ZR_OK;
	err = db_writer_flush(writer);
	free_writer(writer);
	return err;
}
