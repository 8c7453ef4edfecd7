/* SPDX-License-Identifier: MIT */
/*
 * What verify finds out about the chunks of a file and repair goes by. Private to db/.
 *
 * A list of all chunks, 48 bytes each, found by their ids one after the other, so that a damaged page of the
 * table costs the rows on it and no more. It is in the order of (host, first_ns, id): verify sorts it by
 * what the rows say, and once more by what the events say where a row was wrong.
 */
#ifndef DB_VERIFY_H
#define DB_VERIFY_H

#include "db/chunk.h"
#include "db/edit.h"

struct db_chunk_note {
	int64_t id, host;
	uint64_t first_ns, last_ns;
	uint32_t events; /* of one that is lost: what its row says, 1 if that is not known */
	bool lost;	 /* its events cannot be had */
	bool unread;	 /* not even its row can be read */
};

struct db_chunk_notes {
	struct db_chunk_note *items;
	size_t n, room;
};

/* db_verify that keeps its notes; the caller frees notes->items. */
enum zr_err db_verify_notes(struct db *db, const struct db_verify_options *options,
			    struct db_verify_result *out, struct db_chunk_notes *notes);

void db_chunk_notes_sort(struct db_chunk_notes *notes);

/* Whether an id is 0 or among the tasks, which ascend by id. */
bool db_task_listed(const struct db_task *tasks, size_t n, uint32_t id);

/* Reads and decodes one chunk: `found` false when there is no such row. *span is what its row claims. */
struct db_chunk_read {
	struct db *db;
	struct db_codec *codec;
	struct db_batch batch;
	bool found;
	int64_t host;
	struct db_chunk_span claims;
};

/* The folio whose parts may follow. */
struct db_folio {
	struct db_event head;
	uint32_t parts_due;
};

/* Goes on by one event: false for a part that belongs to no folio before it. *cut_short: the folio before
 * lacks parts. */
bool db_folio_next(struct db_folio *folio, const struct db_event *e, bool *cut_short);

enum zr_err db_chunk_read(struct db_chunk_read *read, int64_t id);

#endif
