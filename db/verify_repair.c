/* SPDX-License-Identifier: MIT */
/*
 * Repair: what verify found sound, as a new trace.
 *
 * Chunks are written in the order of time. In the place of one that is lost, or that begins before
 * the end of the one before it, stands a GAP with its number of events; its time is that of the
 * lost chunk's row, brought between the events on both sides, since a damaged row may say anything.
 * Parts of a folio whose head is lost become a GAP too, and so do events of slots beyond their area. The first event of each slot behind such a
 * gap is marked DB_F_UNKNOWN. Ids without a row in a dictionary get an empty one, so that every id
 * is listed again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/edit_slots.h"
#include "db/verify.h"

struct repairer {
	struct db *db;
	struct db_output output;
	const struct db_verify_options *options;
	struct db_edit_result *result;
	struct db_chunk_notes *notes;
	struct db_chunk_read read;
	struct zr_arena arena;
	struct db_part *parts;
	size_t n_parts;
	int64_t host;	     /* being written, -1 = none */
	uint64_t last_ns;    /* of what was written of it */
	size_t lost_from;    /* first of the notes whose gaps are not written yet */
	uint32_t lost_here;  /* the same for single events: parts without a folio, slots beyond an area */
	uint64_t lost_chunks, lost_events;
	struct db_folio folio;
	struct db_unknowns unknowns;
	bool memcg[DB_MEMCG_MAX + 1], area[DB_AREA_MAX + 1]; /* that have a row */
	uint64_t slots[DB_AREA_MAX + 1]; /* of areas; 0 = not known */
	struct db_task *tasks;
	size_t n_tasks;
	uint32_t last_added_task;
	struct zr_arena ids; /* of the host */
};

/* ---------------------------------------------------------------------------------------- hosts */

static bool is_host(int64_t host)
{
	return host >= 0 && host <= UINT32_MAX;
}

/* A chunk of an impossible host is lost, and its gap goes to the first host there is. */
static void settle_hosts(struct repairer *r)
{
	struct db_chunk_notes *notes = r->notes;
	int64_t first = 0;

	for (size_t i = notes->n; i-- > 0;)
		if (is_host(notes->items[i].host))
			first = notes->items[i].host;
	for (size_t i = 0; i < notes->n; i++) {
		if (is_host(notes->items[i].host))
			continue;
		notes->items[i].host = first;
		notes->items[i].lost = true;
	}
	db_chunk_notes_sort(notes);
}

static int compare_parts(const void *a, const void *b)
{
	uint32_t x = ((const struct db_part *)a)->host, y = ((const struct db_part *)b)->host;

	return x < y ? -1 : x > y;
}

static void add_part(struct repairer *r, uint32_t host)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].host == host)
			return;
	r->parts[r->n_parts++] = (struct db_part){ .host = host, .as = host, .to_ns = INT64_MAX };
}

/* The hosts that are listed, as far as the list can be read, and those of the chunks. */
static enum zr_err find_parts(struct repairer *r)
{
	uint32_t *hosts;
	size_t n, of_notes = 0;
	enum zr_err err = db_hosts(r->db, &r->arena, &hosts, &n);

	if (err && !db_is_damage(err))
		return err;
	zr_error_clear();
	for (size_t i = 0; i < r->notes->n; i++)
		of_notes += !i || r->notes->items[i].host != r->notes->items[i - 1].host;
	r->parts = zr_arena_array(&r->arena, n + of_notes + 1, sizeof(*r->parts));
	if (!r->parts)
		return zr_fail(ZR_NOMEM, "no memory for %zu hosts", n + of_notes);
	for (size_t i = 0; i < n; i++)
		r->parts[r->n_parts++] =
			(struct db_part){ .host = hosts[i], .as = hosts[i], .to_ns = INT64_MAX };
	for (size_t i = 0; i < r->notes->n; i++)
		if (!i || r->notes->items[i].host != r->notes->items[i - 1].host)
			add_part(r, (uint32_t)r->notes->items[i].host);
	qsort(r->parts, r->n_parts, sizeof(*r->parts), compare_parts);
	return ZR_OK;
}

static enum zr_err copy_tables(struct repairer *r)
{
	struct db_copy copy = { r->db, r->output.db, r->parts, r->n_parts, true };
	enum zr_err err = db_copy_env(&copy);

	if (!err)
		err = db_copy_ids(&copy);
	if (!err)
		err = db_copy_samples(&copy, &r->result->samples);
	return err ? err : db_copy_runs(&copy, &r->result->runs);
}

/* ---------------------------------------------------------------------------- ids without a row */

/* What the new file lists, for that is what could be copied. */
static enum zr_err load_ids(struct repairer *r, uint32_t host)
{
	struct db_memcg *memcgs = NULL;
	struct db_area *areas = NULL;
	size_t n_memcgs = 0, n_areas = 0;
	enum zr_err err = db_memcgs(r->output.db, host, &r->ids, &memcgs, &n_memcgs);

	if (!err)
		err = db_areas(r->output.db, host, &r->ids, &areas, &n_areas);
	if (!err)
		err = db_tasks(r->output.db, host, &r->ids, &r->tasks, &r->n_tasks);
	memset(r->memcg, 0, sizeof(r->memcg));
	memset(r->area, 0, sizeof(r->area));
	memset(r->slots, 0, sizeof(r->slots));
	r->memcg[0] = r->area[0] = true;
	r->last_added_task = 0;
	for (size_t i = 0; i < n_memcgs; i++)
		r->memcg[memcgs[i].id] = true;
	for (size_t i = 0; i < n_areas; i++) {
		r->area[areas[i].id] = true;
		r->slots[areas[i].id] = areas[i].slots;
	}
	return err;
}

static enum zr_err add_memcg(struct repairer *r, uint32_t id)
{
	r->memcg[id] = true;
	return db_put_memcg(r->output.db,
			    &(struct db_memcg){ .host = (uint32_t)r->host, .id = id, .path = "" });
}

static enum zr_err add_area(struct repairer *r, uint32_t id)
{
	r->area[id] = true;
	return db_put_area(r->output.db,
			   &(struct db_area){ .host = (uint32_t)r->host, .id = id, .path = "" });
}

/* The last one is remembered; of another it does no harm to be put twice. */
static enum zr_err add_task(struct repairer *r, uint32_t id)
{
	if (id == r->last_added_task)
		return ZR_OK;
	r->last_added_task = id;
	return db_put_task(r->output.db,
			   &(struct db_task){ .host = (uint32_t)r->host, .id = id, .comm = "" });
}

static enum zr_err list_ids(struct repairer *r, const struct db_event *e)
{
	enum zr_err err = r->memcg[e->memcg] ? ZR_OK : add_memcg(r, e->memcg);

	if (!err && !r->area[e->area])
		err = add_area(r, e->area);
	if (!err && !db_task_listed(r->tasks, r->n_tasks, e->task))
		err = add_task(r, e->task);
	return err;
}

/* --------------------------------------------------------------------------------------- events */

static enum zr_err put(struct repairer *r, const struct db_event *event)
{
	r->last_ns = event->time_ns;
	return db_output_add(&r->output, event, r->result);
}

static enum zr_err put_gap(struct repairer *r, uint64_t time_ns, uint32_t events)
{
	struct db_event gap = { .time_ns = time_ns,
				.kind = DB_GAP,
				.slot = events,
				.len = UINT16_MAX,
				.flags = DB_GAP_IMPORT };

	r->folio = (struct db_folio){ 0 };
	r->lost_events += events;
	db_unknowns_gap(&r->unknowns);
	return put(r, &gap);
}

static enum zr_err put_lost_here(struct repairer *r, uint64_t time_ns)
{
	uint32_t parts = r->lost_here;

	r->lost_here = 0;
	return parts ? put_gap(r, time_ns, parts) : ZR_OK;
}

/* Either the event or the area is wrong, and who would say which? Requests are not measured so: verify does
 * not either. */
static bool is_beyond(const struct repairer *r, const struct db_event *e)
{
	uint64_t size = r->slots[e->area];

	return size && e->kind != DB_IO && db_event_slots(e, 1).n &&
	       (uint64_t)e->slot + db_event_slots(e, 1).n > size;
}

static enum zr_err take(struct repairer *r, struct db_event e)
{
	bool cut_short;
	enum zr_err err = ZR_OK;

	if (is_beyond(r, &e) || !db_folio_next(&r->folio, &e, &cut_short)) {
		r->lost_here++;
		return ZR_OK;
	}
	if (r->lost_here) {
		err = put_lost_here(r, e.time_ns);
		/* The gap has ended the folio that this event begins. */
		db_folio_next(&r->folio, &e, &cut_short);
	}
	db_unknowns_mark(&r->unknowns, &e);
	if (!err)
		err = list_ids(r, &e);
	return err ? err : put(r, &e);
}

static enum zr_err take_batch(struct repairer *r, const struct db_batch *batch)
{
	enum zr_err err = ZR_OK;

	for (uint32_t row = 0; row < batch->n && !err; row++)
		err = take(r, db_batch_event(batch, row));
	return err;
}

/* ----------------------------------------------------------------------------------------- gaps */

static uint64_t clamp(uint64_t ns, uint64_t low, uint64_t high)
{
	return ns < low ? low : ns > high ? high : ns;
}

/* Gaps for the lost chunks up to `end`, not later than `next_ns`. */
static enum zr_err put_gaps(struct repairer *r, size_t end, uint64_t next_ns)
{
	enum zr_err err = put_lost_here(r, clamp(r->last_ns, 0, next_ns));

	for (size_t i = r->lost_from; i < end && !err; i++) {
		const struct db_chunk_note *note = &r->notes->items[i];

		err = put_gap(r, clamp(note->first_ns, r->last_ns, next_ns), note->events);
		r->lost_chunks++;
	}
	r->lost_from = end;
	return err;
}

/* Behind the last sound chunk the rows' times are all there is; a wild one must not become the end
 * of the trace. */
static uint64_t end_of_host(const struct repairer *r)
{
	bool any_sound = false;

	for (size_t i = r->lost_from; i-- > 0 && r->notes->items[i].host == r->host;)
		any_sound |= !r->notes->items[i].lost;
	return any_sound ? r->last_ns : INT64_MAX - 1;
}

static enum zr_err put_origin(struct repairer *r)
{
	const struct {
		const char *key;
		uint64_t value;
	} counts[] = { { "repair.lost_chunks", r->lost_chunks },
		       { "repair.lost_events", r->lost_events } };
	uint32_t host = (uint32_t)r->host;
	enum zr_err err = db_env_set(r->output.db, host, "repair.trace_id", r->db->trace_id);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !err; i++)
		err = db_env_setf(r->output.db, host, counts[i].key, "%" PRIu64, counts[i].value);
	return err;
}

static enum zr_err end_host(struct repairer *r, size_t end)
{
	enum zr_err err;

	if (r->host < 0)
		return ZR_OK;
	err = put_gaps(r, end, end_of_host(r));
	return err ? err : put_origin(r);
}

static enum zr_err begin_host(struct repairer *r, size_t at)
{
	enum zr_err err = end_host(r, at);

	if (err)
		return err;
	r->host = r->notes->items[at].host;
	r->lost_from = at;
	r->last_ns = r->lost_chunks = r->lost_events = 0;
	r->folio = (struct db_folio){ 0 };
	db_unknowns_fini(&r->unknowns);
	r->unknowns = (struct db_unknowns){ 0 };
	zr_arena_fini(&r->ids);
	err = db_output_host(&r->output, (uint32_t)r->host);
	return err ? err : load_ids(r, (uint32_t)r->host);
}

/* --------------------------------------------------------------------------------------- chunks */

static enum zr_err copy_chunk(struct repairer *r, size_t at)
{
	struct db_chunk_note *note = &r->notes->items[at];
	enum zr_err err;

	/* What overlaps the chunk before cannot be put in order without inventing times. */
	if (!note->lost && note->first_ns < r->last_ns)
		note->lost = true;
	if (note->lost)
		return ZR_OK;
	err = db_chunk_read(&r->read, note->id);
	if (!err)
		err = put_gaps(r, at, note->first_ns);
	r->lost_from = at + 1;
	return err ? err : take_batch(r, &r->read.batch);
}

static enum zr_err copy_chunks(struct repairer *r)
{
	struct db_chunk_notes *notes = r->notes;
	enum zr_err err = ZR_OK;

	for (size_t i = 0; i < notes->n && !err; i++) {
		err = db_watch_ask(&r->options->watch, (double)i / (double)notes->n);
		if (!err && notes->items[i].host != r->host)
			err = begin_host(r, i);
		if (!err)
			err = copy_chunk(r, i);
	}
	return err ? err : end_host(r, notes->n);
}

static enum zr_err copy_all(struct repairer *r)
{
	enum zr_err err = db_batch_init(&r->read.batch, &r->arena);

	if (!err)
		err = db_codec_new(0, &r->read.codec);
	if (err)
		return err;
	settle_hosts(r);
	err = find_parts(r);
	if (!err)
		err = copy_tables(r);
	r->result->hosts = (uint32_t)r->n_parts;
	return err ? err : copy_chunks(r);
}

static enum zr_err repair(struct db *db, const char *path, struct repairer *r, bool complete)
{
	enum zr_err err = db_output_open(path, &r->output);

	r->db = r->read.db = db;
	r->host = -1;
	if (!err)
		err = copy_all(r);
	err = db_output_close(&r->output, err, complete);
	db_unknowns_fini(&r->unknowns);
	db_codec_free(r->read.codec);
	zr_arena_fini(&r->ids);
	zr_arena_fini(&r->arena);
	return err;
}

enum zr_err db_repair(struct db *db, const char *path, const struct db_verify_options *options,
		      struct db_verify_result *found, struct db_edit_result *out)
{
	struct db_chunk_notes notes = { 0 };
	struct repairer *r = calloc(1, sizeof(*r));
	enum zr_err err = r ? ZR_OK : zr_fail(ZR_NOMEM, "no memory to repair %s", db->path);

	*out = (struct db_edit_result){ .files = 1 };
	if (!err)
		err = db_verify_notes(db, options, found, &notes);
	if (!err) {
		r->options = options;
		r->result = out;
		r->notes = &notes;
		err = repair(db, path, r, found->complete);
	}
	free(notes.items);
	free(r);
	return err;
}
