/* SPDX-License-Identifier: MIT */
/*
 * The reader: chunk after chunk, by host and time, and the sums over all of them.
 *
 * Each chunk is found by a statement of its own that goes on from the last one, so that a reader
 * holds no lock between two batches: it can take its time while the file is being recorded, and
 * sees what was flushed meanwhile. Chunks outside the filter are passed over by their rows; their
 * data is not touched. Memory: one decoded chunk (24 bytes x 65536) and the codec.
 *
 * A row is only a claim about its chunk. Both are compared, and so are the times of neighbouring
 * chunks: what leaves here ascends in time within a host.
 */
#include <stdio.h>
#include <stdlib.h>

#include "db/chunk.h"
#include "db/sql.h"

struct db_reader {
	struct db *db;
	struct zr_arena arena;
	struct db_batch batch;
	struct db_codec *codec;
	struct db_filter filter;    /* defaults filled in */
	int64_t host, first_ns, id; /* the chunk that was read last; -1 before */
	uint64_t last_ns;	    /* its last event */
};

/* A chunk's row, without its data. */
struct row {
	int64_t id, host;
	struct db_chunk_span span;
};

static void fill_filter(struct db_filter *filter)
{
	if (!filter->to_ns || filter->to_ns > INT64_MAX)
		filter->to_ns = INT64_MAX;
	if (filter->from_ns > INT64_MAX)
		filter->from_ns = INT64_MAX;
	if (!filter->kinds)
		filter->kinds = UINT32_MAX;
}

enum zr_err db_reader_new(struct db *db, const struct db_filter *filter, struct db_reader **out)
{
	struct db_reader *reader = calloc(1, sizeof(*reader));
	enum zr_err err;

	if (!reader)
		return zr_fail(ZR_NOMEM, "no memory to read %s", db->path);
	reader->db = db;
	reader->host = -1;
	reader->filter = filter ? *filter : (struct db_filter){ .host = -1 };
	fill_filter(&reader->filter);
	err = db_batch_init(&reader->batch, &reader->arena);
	if (!err)
		err = db_codec_new(0, &reader->codec);
	if (err) {
		db_reader_free(reader);
		return err;
	}
	*out = reader;
	return ZR_OK;
}

void db_reader_free(struct db_reader *reader)
{
	if (!reader)
		return;
	zr_arena_fini(&reader->arena);
	db_codec_free(reader->codec);
	free(reader);
}

static struct row get_row(sqlite3_stmt *stmt)
{
	return (struct row){
		.id = sqlite3_column_int64(stmt, 0),
		.host = sqlite3_column_int64(stmt, 1),
		.span = db_span_of_row(stmt, 2),
	};
}

static enum zr_err check_order(const struct db_reader *reader, const char *name,
			       const struct row *row)
{
	if (row->host == reader->host && row->span.first_ns < reader->last_ns)
		return zr_fail(ZR_CORRUPT,
			       "%s: begins at %llu ns, before the end of the chunk before it", name,
			       (unsigned long long)row->span.first_ns);
	return ZR_OK;
}

static enum zr_err decode_row(struct db_reader *reader, sqlite3_stmt *stmt)
{
	struct row row = get_row(stmt);
	/* In this order: the conversion to a blob comes before its length. */
	const void *data = sqlite3_column_blob(stmt, 9);
	size_t bytes = (size_t)sqlite3_column_bytes(stmt, 9);
	char name[512];
	enum zr_err err;

	snprintf(name, sizeof(name), "%s: chunk %lld", reader->db->path, (long long)row.id);
	err = db_chunk_decode(reader->codec, name, data, data ? bytes : 0, &reader->batch);
	if (!err)
		err = db_chunk_check_row(reader->codec, name, row.span);
	if (!err)
		err = check_order(reader, name, &row);
	reader->host = row.host;
	reader->first_ns = (int64_t)row.span.first_ns;
	reader->id = row.id;
	reader->last_ns = row.span.last_ns;
	reader->batch.host = (uint32_t)row.host;
	return err;
}

static enum zr_err add_hint(enum zr_err err)
{
	char text[1024];

	if (err != ZR_CORRUPT)
		return err;
	snprintf(text, sizeof(text), "%s", zr_error_text());
	zr_error_clear();
	return zr_fail(err, "%s" DB_DAMAGE_HINT, text);
}

/* The next chunk that may hold what is wanted, decoded; *found false at the end. */
static enum zr_err next_chunk(struct db_reader *reader, bool *found)
{
	const struct db_filter *filter = &reader->filter;
	sqlite3_stmt *stmt;
	enum zr_err err = db_sql_start(
		reader->db, DB_SQL_CHUNK_NEXT,
		(struct db_arg[]){ db_int(reader->host), db_int(reader->first_ns),
				   db_int(reader->id), db_int(filter->host < 0 ? 0 : filter->host),
				   db_int(filter->host < 0 ? UINT32_MAX : filter->host),
				   db_int((int64_t)filter->to_ns), db_int((int64_t)filter->from_ns),
				   db_int(filter->kinds) },
		&stmt);

	if (!err)
		err = db_sql_next(reader->db, DB_SQL_CHUNK_NEXT, found);
	if (err || !*found)
		return err;
	err = add_hint(decode_row(reader, stmt));
	db_sql_stop(reader->db, DB_SQL_CHUNK_NEXT);
	return err;
}

static void copy_row(struct db_batch *batch, uint32_t from, uint32_t to)
{
	batch->time_ns[to] = batch->time_ns[from];
	batch->slot[to] = batch->slot[from];
	batch->task[to] = batch->task[from];
	batch->memcg[to] = batch->memcg[from];
	batch->len[to] = batch->len[from];
	batch->kind[to] = batch->kind[from];
	batch->area[to] = batch->area[from];
	batch->order[to] = batch->order[from];
	batch->flags[to] = batch->flags[from];
}

/* Keeps the rows inside the filter. */
static void keep_wanted(struct db_batch *batch, const struct db_filter *filter)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < batch->n; i++) {
		uint64_t time_ns = batch->time_ns[i];

		copy_row(batch, i, kept);
		kept += time_ns >= filter->from_ns && time_ns < filter->to_ns &&
			(filter->kinds >> batch->kind[i] & 1);
	}
	batch->n = kept;
}

/* Whether every row of a chunk is wanted, so that none need be moved. */
static bool all_wanted(const struct db_batch *batch, const struct db_filter *filter)
{
	const uint32_t all_kinds = (1u << DB_KIND_COUNT) - 1;

	return batch->time_ns[0] >= filter->from_ns &&
	       batch->time_ns[batch->n - 1] < filter->to_ns &&
	       (filter->kinds & all_kinds) == all_kinds;
}

enum zr_err db_reader_next(struct db_reader *reader, const struct db_batch **out)
{
	bool found;
	enum zr_err err;

	*out = NULL;
	do {
		err = next_chunk(reader, &found);
		if (err || !found)
			return err;
		if (!all_wanted(&reader->batch, &reader->filter))
			keep_wanted(&reader->batch, &reader->filter);
	} while (!reader->batch.n);
	*out = &reader->batch;
	return ZR_OK;
}

/* ---------------------------------------------------------------------------------------- sums */

/* A large folio that was stored page by page is its head and its parts, a page each. */
static void sum_out(struct db_summary *sum, uint8_t order, uint8_t flags)
{
	uint64_t *outcome[] = {
		[DB_OUT_STORED] = &sum->stored,
		[DB_OUT_REJECTED] = &sum->rejected,
		[DB_OUT_ZERO] = &sum->zero,
		[DB_OUT_KEPT] = &sum->kept,
	};
	unsigned what = db_flags_outcome(flags);
	bool part = flags & DB_F_PART;

	*outcome[what] += part || what == DB_OUT_STORED ? 1 : (uint64_t)1 << order;
	sum->events[DB_OUT] -= part;
}

static void sum_in(struct db_summary *sum, uint8_t flags)
{
	uint64_t *outcome[] = {
		[DB_IN_ZSWAP] = &sum->in_zswap,
		[DB_IN_DISK] = &sum->in_disk,
		[DB_IN_ZERO] = &sum->in_zero,
		[DB_IN_ERROR] = &sum->in_error,
	};

	++*outcome[db_flags_outcome(flags)];
}

static void sum_batch(struct db_summary *sum, const struct db_batch *batch)
{
	for (uint32_t i = 0; i < batch->n; i++) {
		uint8_t kind = batch->kind[i], flags = batch->flags[i];

		sum->events[kind]++;
		if (kind == DB_OUT)
			sum_out(sum, batch->order[i], flags);
		else if (kind == DB_IN)
			sum_in(sum, flags);
		else if (kind == DB_WB)
			sum->written_back += db_flags_outcome(flags) == DB_WB_WRITTEN;
		else if (kind == DB_GAP)
			sum->lost_events += batch->slot[i];
	}
	sum->gaps = sum->events[DB_GAP];
}

/* Spans of hosts that come one after the other. */
struct spans {
	bool any;
	uint32_t host;
	uint64_t first_ns, last_ns; /* of this host */
};

static void sum_span(struct db_summary *sum, struct spans *now, const struct db_batch *batch)
{
	uint64_t first_ns = batch->time_ns[0], last_ns = batch->time_ns[batch->n - 1];

	if (!now->any || first_ns < sum->first_ns)
		sum->first_ns = first_ns;
	if (!now->any || last_ns > sum->last_ns)
		sum->last_ns = last_ns;
	if (!now->any || now->host != batch->host)
		*now = (struct spans){ true, batch->host, first_ns, first_ns };
	sum->span_ns += last_ns - now->last_ns;
	now->last_ns = last_ns;
}

static enum zr_err sum_events(struct db *db, struct db_summary *sum)
{
	struct spans now = { 0 };
	struct db_reader *reader;
	const struct db_batch *batch;
	enum zr_err err = db_reader_new(db, NULL, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		sum_span(sum, &now, batch);
		sum_batch(sum, batch);
	}
	db_reader_free(reader);
	return err;
}

static enum zr_err sum_rows(struct db *db, struct db_summary *sum)
{
	struct zr_arena arena = { 0 };
	sqlite3_stmt *stmt;
	uint32_t *hosts;
	size_t n_hosts;
	bool row;
	enum zr_err err = db_hosts(db, &arena, &hosts, &n_hosts);

	zr_arena_fini(&arena);
	sum->hosts = (uint32_t)n_hosts;
	if (!err)
		err = db_sql_start(db, DB_SQL_CHUNK_SUMS, NULL, &stmt);
	if (!err)
		err = db_sql_next(db, DB_SQL_CHUNK_SUMS, &row);
	if (err)
		return err;
	if (row) {
		sum->chunks = (uint64_t)sqlite3_column_int64(stmt, 0);
		sum->chunk_bytes = (uint64_t)sqlite3_column_int64(stmt, 1);
	}
	db_sql_stop(db, DB_SQL_CHUNK_SUMS);
	return ZR_OK;
}

enum zr_err db_summarise(struct db *db, struct db_summary *out)
{
	enum zr_err err;

	*out = (struct db_summary){ 0 };
	err = sum_events(db, out);
	return err ? err : sum_rows(db, out);
}
