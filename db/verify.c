/* SPDX-License-Identifier: MIT */
/*
 * Verify: a trace against itself.
 *
 *   SQLite's own check       pages, indexes
 *   the list of chunks       every row, by id
 *   each chunk               checksum and structure (the codec), its row, the end of the chunk
 * before each event               ids that are listed, slots that are on their area, parts behind
 * their folio
 *
 * Damage is a finding and not an error: a chunk that cannot be had is noted, and the next one is
 * read. At most one finding a chunk and check, with a count, so that a file that is wrong
 * everywhere says so in bounded space. Memory: the list of chunks (verify.h), one decoded chunk,
 * the ids of one host, and a byte for each swap slot in use; cost: the decoding, and one random
 * access an event to that byte.
 */
#include "db/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/edit_slots.h"
#include "db/span_row.h"

enum {
	CHUNKS_MAX = 4 << 20,	  /* 192 MiB of notes, for 274 milliards of events */
	UNREAD_IN_A_ROW_MAX = 64, /* ids that are tried one by one before a walk is given up */
	SQLITE_FINDINGS_MAX = 100,
	OUT_SEEN = 1,
};

/* The ids of the host whose chunks are being read. */
struct ids {
	int64_t host; /* -1 = none yet */
	bool listed;
	bool no_memcgs, no_tasks,
		no_areas; /* the table cannot be read: nothing is known of its ids */
	bool memcg[DB_MEMCG_MAX + 1];
	bool area[DB_AREA_MAX + 1];
	uint64_t slots[DB_AREA_MAX + 1]; /* 0 = size not known */
	struct db_task *tasks;
	size_t n_tasks;
	struct zr_arena arena;
};

struct verifier {
	struct db *db;
	const struct db_verify_options *options;
	struct db_verify_result *result;
	struct db_chunk_notes *notes;
	struct db_chunk_read read;
	struct zr_arena arena;
	struct ids ids;
	struct db_slot_map seen; /* OUT_SEEN */
	uint64_t last_ns;	 /* of the host's chunk before */
	struct db_folio folio;
	uint64_t counts[DB_CHECK_COUNT]; /* in the chunk being read */
	uint32_t slot_sectors;
};

static const struct {
	const char *name, *text;
} checks[] = {
#define X(id, name, text) [DB_CHECK_##id] = { name, text },
	DB_CHECKS(X)
#undef X
};

const char *db_check_name(enum db_check check)
{
	return (unsigned)check < DB_CHECK_COUNT ? checks[check].name : "?";
}

/* ------------------------------------------------------------------------------------- findings */

static void report(struct verifier *v, const struct db_finding *finding)
{
	v->result->findings[finding->check] += finding->count;
	v->result->damages += finding->count;
	if (v->options->finding)
		v->options->finding(v->options->arg, finding);
}

/* An error becomes a finding if it is about the file; others go on as they are. */
static enum zr_err report_error(struct verifier *v, enum db_check check, int64_t chunk,
				enum zr_err err)
{
	struct db_finding finding = { check, chunk, 1, zr_error_text() };

	if (!db_is_damage(err))
		return err;
	report(v, &finding);
	zr_error_clear();
	return ZR_OK;
}

static void report_counts(struct verifier *v, int64_t chunk)
{
	for (unsigned check = 0; check < DB_CHECK_COUNT; check++) {
		char text[512];
		struct db_finding finding = { (enum db_check)check, chunk, v->counts[check], text };

		if (!finding.count)
			continue;
		snprintf(text, sizeof(text), "%s: chunk %" PRId64 ": %s (%" PRIu64 ")", v->db->path,
			 chunk, checks[check].text, finding.count);
		report(v, &finding);
		v->counts[check] = 0;
	}
}

/* --------------------------------------------------------------------------- SQLite's own check */

static void report_sqlite(struct verifier *v, const char *said)
{
	static const char heading[] = "*** in database main ***\n";
	char text[512];
	struct db_finding finding = { DB_CHECK_SQLITE, -1, 1, text };

	if (strncmp(said, heading, strlen(heading)) == 0)
		said += strlen(heading);
	snprintf(text, sizeof(text), "%s: SQLite finds: %s", v->db->path, said);
	/* It tells several things in one text. */
	for (char *end = strchr(text, '\n'); end; end = strchr(end, '\n'))
		*end = ';';
	report(v, &finding);
}

static enum zr_err check_sqlite(struct verifier *v)
{
	struct db_cursor cursor;
	bool row = true;
	enum zr_err err = db_cursor_open(v->db, "check it", "PRAGMA integrity_check(100)", &cursor);

	static_assert(SQLITE_FINDINGS_MAX == 100, "the statement says 100");
	while (!err && row) {
		err = db_cursor_next(&cursor, &row);
		if (!err && row) {
			const char *said = (const char *)sqlite3_column_text(cursor.stmt, 0);

			if (said && strcmp(said, "ok") != 0)
				report_sqlite(v, said);
		}
	}
	db_cursor_close(&cursor);
	return report_error(v, DB_CHECK_SQLITE, -1, err);
}

/* --------------------------------------------------------------------------- the list of chunks */

static enum zr_err add_note(struct verifier *v, const struct db_chunk_note *note)
{
	struct db_chunk_notes *notes = v->notes;
	size_t room = notes->room ? notes->room * 2 : 256;
	struct db_chunk_note *items;

	if (notes->n == CHUNKS_MAX)
		return zr_fail(ZR_LIMIT, "%s: has more than %d chunks", v->db->path, CHUNKS_MAX);
	if (notes->n == notes->room) {
		items = realloc(notes->items, room * sizeof(*items));
		if (!items)
			return zr_fail(ZR_NOMEM, "no memory for a list of %zu chunks", room);
		notes->items = items;
		notes->room = room;
	}
	notes->items[notes->n++] = *note;
	return ZR_OK;
}

static struct db_chunk_note note_of_row(const struct db_cursor *cursor)
{
	int64_t events = sqlite3_column_int64(cursor->stmt, 4);

	return (struct db_chunk_note){
		.id = sqlite3_column_int64(cursor->stmt, 0),
		.host = sqlite3_column_int64(cursor->stmt, 1),
		.first_ns = (uint64_t)sqlite3_column_int64(cursor->stmt, 2),
		.last_ns = (uint64_t)sqlite3_column_int64(cursor->stmt, 3),
		.events = events > 0 && events <= DB_BATCH_EVENTS ? (uint32_t)events : 1,
	};
}

/* Host and time of a chunk from the index, which lies on other pages than the rows. */
static void ask_index(struct verifier *v, struct db_chunk_note *note)
{
	struct db_cursor cursor;
	bool row = false;
	enum zr_err err =
		db_cursor_open(v->db, "read the chunks",
			       "SELECT host, first_ns FROM chunk INDEXED BY chunk_by_time "
			       "WHERE +id = ?",
			       &cursor);

	if (!err)
		sqlite3_bind_int64(cursor.stmt, 1, note->id);
	if (!err)
		err = db_cursor_next(&cursor, &row);
	if (!err && row) {
		note->host = sqlite3_column_int64(cursor.stmt, 0);
		note->first_ns = note->last_ns = (uint64_t)sqlite3_column_int64(cursor.stmt, 1);
	}
	db_cursor_close(&cursor);
	if (err)
		zr_error_clear();
}

/* A row that cannot be read: if the index does not know better, it follows the one before it. */
static struct db_chunk_note note_unread(struct verifier *v, int64_t id)
{
	const struct db_chunk_notes *notes = v->notes;
	struct db_chunk_note note = { .id = id, .events = 1, .lost = true, .unread = true };

	if (notes->n) {
		note.host = notes->items[notes->n - 1].host;
		note.first_ns = note.last_ns = notes->items[notes->n - 1].last_ns;
	}
	ask_index(v, &note);
	return note;
}

static enum zr_err next_row(struct verifier *v, int64_t id, struct db_chunk_note *note, bool *row)
{
	struct db_cursor cursor;
	enum zr_err err = db_cursor_open(v->db, "read the chunks",
					 "SELECT id, host, first_ns, last_ns, events FROM chunk "
					 "NOT INDEXED WHERE id > ? ORDER BY id LIMIT 1",
					 &cursor);

	if (!err)
		sqlite3_bind_int64(cursor.stmt, 1, id);
	if (!err)
		err = db_cursor_next(&cursor, row);
	if (!err && *row)
		*note = note_of_row(&cursor);
	db_cursor_close(&cursor);
	return err;
}

/* The largest id there seems to be: ids are given out one after the other, and every chunk has a
 * row in the index too. -1 if not even that can be read. */
static int64_t last_id(struct verifier *v)
{
	static const char *const statements[] = {
		"SELECT max(id) FROM chunk NOT INDEXED",
		"SELECT max(id) FROM chunk INDEXED BY chunk_by_time",
	};
	int64_t last = -1;

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		struct db_cursor cursor;
		bool row = false;
		enum zr_err err = db_cursor_open(v->db, "read the chunks", statements[i], &cursor);

		if (!err)
			err = db_cursor_next(&cursor, &row);
		if (!err && row && sqlite3_column_int64(cursor.stmt, 0) > last)
			last = sqlite3_column_int64(cursor.stmt, 0);
		db_cursor_close(&cursor);
		if (err)
			zr_error_clear();
	}
	return last;
}

static enum zr_err note_lost_row(struct verifier *v, int64_t id, enum zr_err err)
{
	struct db_chunk_note note;

	err = report_error(v, DB_CHECK_UNREADABLE, id, err);
	if (err)
		return err;
	note = note_unread(v, id);
	return add_note(v, &note);
}

static enum zr_err list_chunks(struct verifier *v)
{
	int64_t id = INT64_MIN, last = last_id(v);
	unsigned unread = 0;
	bool row = true;

	while (row) {
		struct db_chunk_note note;
		enum zr_err err = next_row(v, id, &note, &row);

		/* In a damaged tree a search can end anywhere. */
		if (!err && row && note.id <= id)
			err = zr_fail(ZR_CORRUPT, "%s: the rows of the chunks are out of order",
				      v->db->path);
		if (!err && !row)
			break;
		if (!err) {
			unread = 0;
			id = note.id;
			err = add_note(v, &note);
		} else {
			/* Try the ids one by one until the damaged page is behind. */
			row = true;
			id = id < 0 ? 1 : id + 1;
			if (++unread > UNREAD_IN_A_ROW_MAX || id > last) {
				v->result->cut_short = id <= last || last < 0;
				v->result->complete &= !v->result->cut_short;
				return report_error(v, DB_CHECK_UNREADABLE, -1, err);
			}
			err = note_lost_row(v, id, err);
		}
		if (err)
			return err;
	}
	return ZR_OK;
}

static int compare_notes(const void *a, const void *b)
{
	const struct db_chunk_note *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void db_chunk_notes_sort(struct db_chunk_notes *notes)
{
	if (notes->n)
		qsort(notes->items, notes->n, sizeof(*notes->items), compare_notes);
}

/* -------------------------------------------------------------------------------- ids of a host */

static enum zr_err load_memcgs(struct verifier *v, uint32_t host)
{
	struct ids *ids = &v->ids;
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = db_memcgs(v->db, host, &ids->arena, &memcgs, &n);

	ids->no_memcgs = err;
	ids->memcg[0] = true;
	for (size_t i = 0; i < n; i++)
		ids->memcg[memcgs[i].id] = true;
	return report_error(v, DB_CHECK_SQLITE, -1, err);
}

static enum zr_err load_areas(struct verifier *v, uint32_t host)
{
	struct ids *ids = &v->ids;
	struct db_area *areas;
	size_t n;
	enum zr_err err = db_areas(v->db, host, &ids->arena, &areas, &n);

	ids->no_areas = err;
	ids->area[0] = true;
	for (size_t i = 0; i < n; i++) {
		ids->area[areas[i].id] = true;
		ids->slots[areas[i].id] = areas[i].slots;
	}
	return report_error(v, DB_CHECK_SQLITE, -1, err);
}

static enum zr_err load_tasks(struct verifier *v, uint32_t host)
{
	struct ids *ids = &v->ids;
	enum zr_err err = db_tasks(v->db, host, &ids->arena, &ids->tasks, &ids->n_tasks);

	ids->no_tasks = err;
	return report_error(v, DB_CHECK_SQLITE, -1, err);
}

static enum zr_err is_listed(struct verifier *v, int64_t host, bool *listed)
{
	struct zr_arena arena = { 0 };
	uint32_t *hosts;
	size_t n;
	enum zr_err err = db_hosts(v->db, &arena, &hosts, &n);

	*listed = err;
	for (size_t i = 0; i < n && !err; i++)
		*listed |= hosts[i] == host;
	zr_arena_fini(&arena);
	return report_error(v, DB_CHECK_SQLITE, -1, err);
}

/* Forgets what was remembered of slots and folios: another host, or a chunk is missing. */
static void forget_history(struct verifier *v)
{
	db_slot_map_fini(&v->seen);
	v->folio = (struct db_folio){ 0 };
}

static enum zr_err begin_host(struct verifier *v, int64_t host)
{
	uint32_t id = (uint32_t)host;
	enum zr_err err;

	zr_arena_fini(&v->ids.arena);
	v->ids = (struct ids){ .host = host };
	v->last_ns = 0;
	forget_history(v);
	err = is_listed(v, host, &v->ids.listed);
	if (!err)
		err = load_memcgs(v, id);
	if (!err)
		err = load_areas(v, id);
	if (!err)
		err = load_tasks(v, id);
	v->slot_sectors = db_slot_sectors(v->db, id);
	return err;
}

static int compare_task(const void *key, const void *item)
{
	uint32_t id = *(const uint32_t *)key, of_task = ((const struct db_task *)item)->id;

	return id < of_task ? -1 : id > of_task;
}

/* Ids are dense as a rule, so the place of one is known. */
bool db_task_listed(const struct db_task *tasks, size_t n, uint32_t id)
{
	if (!id || (id <= n && tasks[id - 1].id == id))
		return true;
	return n && bsearch(&id, tasks, n, sizeof(*tasks), compare_task);
}

/* --------------------------------------------------------------------------------------- events */

static void check_ids(struct verifier *v, const struct db_event *e, struct db_slot_range slots)
{
	const struct ids *ids = &v->ids;
	uint64_t end = (uint64_t)e->slot + slots.n, size = ids->slots[e->area];

	v->counts[DB_CHECK_MEMCG] += !ids->no_memcgs && !ids->memcg[e->memcg];
	v->counts[DB_CHECK_AREA] += !ids->no_areas && !ids->area[e->area];
	v->counts[DB_CHECK_TASK] +=
		!ids->no_tasks && !db_task_listed(ids->tasks, ids->n_tasks, e->task);
	/* A request may round up to the page behind the last one. */
	v->counts[DB_CHECK_SLOT] += slots.n && size && e->kind != DB_IO && end > size;
}

static bool continues(const struct db_folio *folio, const struct db_event *e)
{
	const struct db_event *head = &folio->head;

	/* What has no parts due may be any kind of event, whose order is no folio's. */
	return folio->parts_due && e->area == head->area && e->order == head->order &&
	       e->slot == head->slot + (1u << head->order) - folio->parts_due &&
	       e->time_ns == head->time_ns;
}

bool db_folio_next(struct db_folio *folio, const struct db_event *e, bool *cut_short)
{
	bool part = e->kind == DB_OUT && e->flags & DB_F_PART;
	bool stored = e->kind == DB_OUT && db_flags_outcome(e->flags) == DB_OUT_STORED;

	*cut_short = false;
	if (part && continues(folio, e)) {
		folio->parts_due--;
		return true;
	}
	*cut_short = folio->parts_due > 0;
	folio->parts_due = stored && !part ? (1u << e->order) - 1 : 0;
	folio->head = *e;
	return !part;
}

static void check_folio(struct verifier *v, const struct db_event *e)
{
	bool cut_short;

	v->counts[DB_CHECK_PART] += !db_folio_next(&v->folio, e, &cut_short);
	v->result->short_folios += cut_short;
}

/* Whether a slot's history makes sense; counted only, since it may have begun before the recording.
 */
static void check_history(struct verifier *v, const struct db_event *e, struct db_slot_range slots)
{
	bool seen = db_slot_flags_any(&v->seen, slots) & OUT_SEEN;

	v->result->frees_of_nothing += e->kind == DB_FREE && !seen;
	v->result->ins_of_nothing += e->kind == DB_IN && !seen;
	v->result->wbs_of_nothing += e->kind == DB_WB && !seen;
	/* Out of memory only makes the count larger. */
	if (e->kind == DB_OUT && !db_slot_flags_change(&v->seen, slots, 0, OUT_SEEN))
		return;
	if (e->kind == DB_FREE && !db_slot_flags_change(&v->seen, slots, OUT_SEEN, 0))
		return;
}

static void check_events(struct verifier *v)
{
	const struct db_batch *batch = &v->read.batch;

	for (uint32_t row = 0; row < batch->n; row++) {
		struct db_event e = db_batch_event(batch, row);
		struct db_slot_range slots = db_event_slots(&e, v->slot_sectors);

		check_ids(v, &e, slots);
		check_folio(v, &e);
		if (slots.n)
			check_history(v, &e, slots);
	}
	v->result->events += batch->n;
}

/* --------------------------------------------------------------------------------------- chunks */

static enum zr_err decode(struct db_chunk_read *read, sqlite3_stmt *stmt, int64_t id)
{
	/* In this order: the conversion to a blob comes before its length. */
	const void *data = sqlite3_column_blob(stmt, 8);
	size_t bytes = (size_t)sqlite3_column_bytes(stmt, 8);
	char name[512];

	snprintf(name, sizeof(name), "%s: chunk %" PRId64, read->db->path, id);
	return db_chunk_decode(read->codec, name, data, data ? bytes : 0, &read->batch);
}

enum zr_err db_chunk_read(struct db_chunk_read *read, int64_t id)
{
	struct db_cursor cursor;
	enum zr_err err =
		db_cursor_open(read->db, "read a chunk",
			       "SELECT host, " DB_SPAN_COLUMNS ", data FROM chunk NOT INDEXED WHERE id = ?",
			       &cursor);

	read->found = false;
	read->batch.n = 0;
	if (!err)
		sqlite3_bind_int64(cursor.stmt, 1, id);
	if (!err)
		err = db_cursor_next(&cursor, &read->found);
	if (!err && read->found) {
		read->host = sqlite3_column_int64(cursor.stmt, 0);
		read->claims = db_span_of_row(cursor.stmt, 1);
		err = decode(read, cursor.stmt, id);
	}
	db_cursor_close(&cursor);
	return err;
}

static bool claims_hold(const struct db_chunk_read *read)
{
	struct db_chunk_span is = db_codec_span(read->codec), said = read->claims;

	return is.first_ns == said.first_ns && is.last_ns == said.last_ns &&
	       is.events == said.events && is.kinds == said.kinds && is.slot_min == said.slot_min &&
	       is.slot_max == said.slot_max && is.memcgs == said.memcgs;
}

static void check_chunk(struct verifier *v, struct db_chunk_note *note)
{
	struct db_chunk_span is = db_codec_span(v->read.codec);

	v->counts[DB_CHECK_ROW] = !claims_hold(&v->read);
	v->counts[DB_CHECK_ORDER] = is.first_ns < v->last_ns;
	v->counts[DB_CHECK_HOST] = !v->ids.listed;
	note->first_ns = is.first_ns;
	note->last_ns = is.last_ns;
	note->events = is.events;
	if (is.last_ns > v->last_ns)
		v->last_ns = is.last_ns;
	check_events(v);
	report_counts(v, note->id);
}

static enum zr_err lose_chunk(struct verifier *v, struct db_chunk_note *note, enum zr_err err)
{
	note->lost = true;
	v->result->bad_chunks++;
	v->result->lost_events += note->events;
	/* What was swapped out in it is not known, so nothing can be said of what follows. */
	forget_history(v);
	return err ? report_error(v, DB_CHECK_CHUNK, note->id, err) : ZR_OK;
}

static enum zr_err visit(struct verifier *v, struct db_chunk_note *note)
{
	enum zr_err err = ZR_OK;

	v->result->chunks++;
	if (note->host != v->ids.host)
		err = begin_host(v, note->host);
	if (err || note->unread)
		return err ? err : lose_chunk(v, note, ZR_OK);
	err = db_chunk_read(&v->read, note->id);
	if (err || !v->read.found)
		return lose_chunk(v, note, err);
	check_chunk(v, note);
	return ZR_OK;
}

static enum zr_err visit_all(struct verifier *v)
{
	struct db_chunk_notes *notes = v->notes;
	enum zr_err err = ZR_OK;

	for (size_t i = 0; i < notes->n && !err; i++) {
		err = db_watch_ask(&v->options->watch, (double)i / (double)notes->n);
		if (!err)
			err = visit(v, &notes->items[i]);
	}
	v->result->short_folios += v->folio.parts_due > 0;
	db_chunk_notes_sort(notes);
	return err;
}

static enum zr_err run(struct verifier *v)
{
	enum zr_err err = db_batch_init(&v->read.batch, &v->arena);

	if (!err)
		err = db_codec_new(0, &v->read.codec);
	if (!err)
		err = check_sqlite(v);
	if (!err)
		err = list_chunks(v);
	db_chunk_notes_sort(v->notes);
	return err ? err : visit_all(v);
}

enum zr_err db_verify_notes(struct db *db, const struct db_verify_options *options,
			    struct db_verify_result *out, struct db_chunk_notes *notes)
{
	struct verifier *v = calloc(1, sizeof(*v));
	enum zr_err err;

	*notes = (struct db_chunk_notes){ 0 };
	*out = (struct db_verify_result){ .complete = db->complete };
	if (!v)
		return zr_fail(ZR_NOMEM, "no memory to verify %s", db->path);
	v->db = v->read.db = db;
	v->options = options;
	v->result = out;
	v->notes = notes;
	v->seen.item_bytes = 1;
	v->ids.host = -1;
	err = run(v);
	db_slot_map_fini(&v->seen);
	db_codec_free(v->read.codec);
	zr_arena_fini(&v->ids.arena);
	zr_arena_fini(&v->arena);
	free(v);
	return err;
}

enum zr_err db_verify(struct db *db, const struct db_verify_options *options,
		      struct db_verify_result *out)
{
	struct db_chunk_notes notes;
	enum zr_err err = db_verify_notes(db, options, out, &notes);

	free(notes.items);
	return err;
}
