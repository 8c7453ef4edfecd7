/* SPDX-License-Identifier: MIT */
/*
 * The selector: which events of a trace are in a selection (db.h says what the conditions mean).
 *
 * Host by host, a reader hands out chunks; where rows have to be looked at, those that are wanted
 * are copied to a batch of our own. With cgroups a slot has two bits: OWNED, a wanted cgroup owns
 * it now, and EVER, one does at some time. OWNED is kept up to date along the way, so such a host
 * is read from its beginning even if the selection begins later; EVER takes a pass of its own
 * before, only if the host has requests.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "db/edit.h"
#include "db/edit_slots.h"

enum { OWNED = 1, EVER = 2 };

struct db_selector {
	struct db *db;
	struct db_selection selection;
	const struct db_watch *watch;
	struct zr_arena arena;
	struct db_part *parts;
	size_t n_parts, next_part;
	const struct db_part *part; /* being read */
	struct db_reader *reader;   /* of it */
	struct db_batch batch;	    /* what is wanted, if not the reader's own */
	struct db_slot_map slots;
	uint32_t slot_sectors;
	uint64_t events_all, events_done;
	struct db_event head; /* the last folio that was met, and whether it was kept */
	bool has_head, head_kept;
	bool wanted_memcg[DB_MEMCG_MAX + 1]; /* of the part's host */
};

/* -------------------------------------------------------------------------------------- cgroups */

static bool is_id(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Whether `path` is `wanted` or below it; the leading slash of `wanted` may be missing. */
static bool path_within(const char *path, const char *wanted)
{
	size_t n;

	if (*path == '/')
		path++;
	if (*wanted == '/')
		wanted++;
	n = strlen(wanted);
	while (n && wanted[n - 1] == '/')
		n--;
	return !n || (!strncmp(path, wanted, n) && (!path[n] || path[n] == '/'));
}

static bool memcg_is(const struct db_memcg *memcg, const char *wanted)
{
	if (is_id(wanted))
		return memcg->id == strtoul(wanted, NULL, 10);
	/* A path that was never learnt is within nothing. */
	return *memcg->path && path_within(memcg->path, wanted);
}

/* Marks what of the host's cgroups `wanted` names; returns how many. */
static uint32_t mark_memcgs(bool *marks, const struct db_memcg *memcgs, size_t n,
			    const char *wanted)
{
	uint32_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!memcg_is(&memcgs[i], wanted))
			continue;
		marks[memcgs[i].id] = true;
		found++;
	}
	return found;
}

static enum zr_err mark_host(struct db_selector *s, uint32_t host, bool *found)
{
	struct zr_arena arena = { 0 };
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = db_memcgs(s->db, host, &arena, &memcgs, &n);

	memset(s->wanted_memcg, 0, sizeof(s->wanted_memcg));
	for (uint32_t i = 0; i < s->selection.n_cgroups && !err; i++)
		if (mark_memcgs(s->wanted_memcg, memcgs, n, s->selection.cgroups[i]))
			found[i] = true;
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err no_such_cgroup(struct db_selector *s, const char *wanted)
{
	struct db_memcg *memcgs = NULL;
	size_t n = 0;
	enum zr_err err =
		s->n_parts ? db_memcgs(s->db, s->parts[0].host, &s->arena, &memcgs, &n) : ZR_OK;

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		if (*memcgs[i].path)
			return zr_fail(ZR_NO_DATA,
				       "%s: holds no cgroup %s; it holds %zu, such as %s: "
				       "`zreel info --json` lists them",
				       s->db->path, wanted, n, memcgs[i].path);
	return zr_fail(ZR_NO_DATA,
		       "%s: holds no cgroup %s; it knows no paths: give an id from 1 to %zu",
		       s->db->path, wanted, n);
}

/* That each of the cgroups is on some host. */
static enum zr_err check_cgroups(struct db_selector *s)
{
	bool *found = zr_arena_array(&s->arena, s->selection.n_cgroups + 1, sizeof(*found));
	enum zr_err err = found ? ZR_OK : zr_fail(ZR_NOMEM, "no memory for a selection");

	for (size_t i = 0; i < s->n_parts && !err && s->selection.n_cgroups; i++)
		err = mark_host(s, s->parts[i].host, found);
	for (uint32_t i = 0; i < s->selection.n_cgroups && !err; i++)
		if (!found[i])
			err = no_such_cgroup(s, s->selection.cgroups[i]);
	return err;
}

static enum zr_err check_area(struct db_selector *s)
{
	uint32_t n_areas = 0, last = 0;
	enum zr_err err = ZR_OK;

	for (size_t i = 0; i < s->n_parts && !err; i++) {
		struct zr_arena arena = { 0 };
		struct db_area *areas;
		size_t n;
		bool found = false;

		err = db_areas(s->db, s->parts[i].host, &arena, &areas, &n);
		for (size_t j = 0; j < n && !err && !found; j++, n_areas++) {
			found = areas[j].id == s->selection.area;
			last = areas[j].id;
		}
		zr_arena_fini(&arena);
		if (found)
			return ZR_OK;
	}
	return err ? err
		   : zr_fail(ZR_NO_DATA, "%s: holds no swap area %u; it holds %u, up to number %u",
			     s->db->path, s->selection.area, n_areas, last);
}

/* ----------------------------------------------------------------------------------------- rows */

static bool by_slot(const struct db_selector *s, const struct db_event *e)
{
	const struct db_selection *want = &s->selection;
	struct db_slot_range range = db_event_slots(e, s->slot_sectors);

	if (!range.n)
		return true;
	if (want->one_area && e->area != want->area)
		return false;
	return !want->some_slots ||
	       (range.first <= want->slot_last && range.first + (range.n - 1) >= want->slot_first);
}

static bool by_cgroup(const struct db_selector *s, const struct db_event *e)
{
	struct db_slot_range range = db_event_slots(e, s->slot_sectors);

	switch (e->kind) {
	case DB_WORKER:
	case DB_SAMPLE:
		return true;
	case DB_IO:
		return db_slot_flags_any(&s->slots, range) & EVER;
	case DB_FREE:
	case DB_IN:
	case DB_WB:
		if (!e->memcg)
			return db_slot_flags_any(&s->slots, range) & OWNED;
		[[fallthrough]];
	default:
		return s->wanted_memcg[e->memcg];
	}
}

/* A part belongs to the folio before it. */
static bool is_of_head(const struct db_selector *s, const struct db_event *e)
{
	return s->has_head && e->area == s->head.area && e->slot > s->head.slot &&
	       e->slot - s->head.slot < (uint32_t)1 << s->head.order;
}

static bool wanted(struct db_selector *s, const struct db_event *e)
{
	const struct db_selection *want = &s->selection;
	bool keep = e->time_ns >= s->part->from_ns && e->time_ns < s->part->to_ns &&
		    (!want->kinds || want->kinds >> e->kind & 1);

	if (e->kind == DB_GAP)
		return keep;
	if (e->kind == DB_OUT && e->flags & DB_F_PART)
		return is_of_head(s, e) && s->head_kept;
	if (keep && (want->one_area || want->some_slots))
		keep = by_slot(s, e);
	if (keep && want->n_cgroups)
		keep = by_cgroup(s, e);
	if (e->kind == DB_OUT) {
		s->head = *e;
		s->has_head = true;
		s->head_kept = keep;
	}
	return keep;
}

/* The owner of the slots after an event. */
static enum zr_err learn_owner(struct db_selector *s, const struct db_event *e)
{
	struct db_slot_range range = db_event_slots(e, s->slot_sectors);
	bool owns = s->wanted_memcg[e->memcg];

	if (e->kind == DB_IO || !range.n || ((e->kind == DB_IN || e->kind == DB_WB) && !e->memcg))
		return ZR_OK;
	owns &= e->kind != DB_FREE;
	if (db_slot_flags_change(&s->slots, range, OWNED, owns ? OWNED : 0))
		return ZR_OK;
	return zr_fail(ZR_LIMIT, "%s: too many different swap slots to follow their owners",
		       s->db->path);
}

/* Moves the wanted rows of a chunk to our own batch. */
static enum zr_err pick_rows(struct db_selector *s, const struct db_batch *from)
{
	enum zr_err err = ZR_OK;

	s->batch.n = 0;
	s->batch.host = from->host;
	for (uint32_t row = 0; row < from->n && !err; row++) {
		struct db_event e = db_batch_event(from, row);

		if (wanted(s, &e))
			db_batch_add(&s->batch, &e);
		if (s->selection.n_cgroups)
			err = learn_owner(s, &e);
	}
	return err;
}

/* ---------------------------------------------------------------------------------------- hosts */

static enum zr_err mark_ever(struct db_selector *s, const struct db_batch *batch)
{
	for (uint32_t row = 0; row < batch->n; row++) {
		struct db_event e = db_batch_event(batch, row);

		if (s->wanted_memcg[e.memcg] &&
		    !db_slot_flags_change(&s->slots, db_event_slots(&e, s->slot_sectors), 0, EVER))
			return zr_fail(ZR_LIMIT, "%s: too many different swap slots", s->db->path);
	}
	return ZR_OK;
}

static enum zr_err find_ever_owned(struct db_selector *s)
{
	const struct db_filter filter = { .kinds = 1 << DB_OUT | 1 << DB_IN | 1 << DB_WB,
					  .host = s->part->host };
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = db_reader_new(s->db, &filter, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		err = db_watch_ask(s->watch, 0);
		if (!err)
			err = mark_ever(s, batch);
		if (err)
			break;
	}
	db_reader_free(reader);
	return err;
}

static enum zr_err begin_cgroups(struct db_selector *s)
{
	bool *found = zr_arena_array(&s->arena, s->selection.n_cgroups, sizeof(*found));
	enum zr_err err;

	if (!found)
		return zr_fail(ZR_NOMEM, "no memory for a selection");
	db_slot_map_fini(&s->slots);
	err = mark_host(s, s->part->host, found);
	return err || !s->part->has_requests ? err : find_ever_owned(s);
}

static enum zr_err begin_part(struct db_selector *s)
{
	struct db_filter filter = { .host = s->parts[s->next_part].host };
	enum zr_err err = ZR_OK;

	s->part = &s->parts[s->next_part++];
	s->slot_sectors = db_slot_sectors(s->db, s->part->host);
	s->has_head = false;
	filter.to_ns = s->part->to_ns;
	if (s->selection.n_cgroups) {
		err = begin_cgroups(s);
	} else {
		filter.from_ns = s->part->from_ns;
		filter.kinds = s->selection.kinds;
	}
	return err ? err : db_reader_new(s->db, &filter, &s->reader);
}

/* Passes over hosts of whose time nothing is wanted. */
static bool at_end(struct db_selector *s)
{
	while (s->next_part < s->n_parts &&
	       s->parts[s->next_part].to_ns <= s->parts[s->next_part].from_ns)
		s->next_part++;
	return s->next_part == s->n_parts;
}

static void end_part(struct db_selector *s)
{
	db_reader_free(s->reader);
	s->reader = NULL;
}

/* ------------------------------------------------------------------------------------ interface */

static enum zr_err init(struct db_selector *s)
{
	enum zr_err err = db_parts(s->db, &s->selection, &s->arena, &s->parts, &s->n_parts);

	for (size_t i = 0; i < s->n_parts && !err; i++)
		s->events_all += s->parts[i].events;
	if (!err)
		err = db_batch_init(&s->batch, &s->arena);
	if (!err)
		err = check_cgroups(s);
	if (!err && s->selection.one_area)
		err = check_area(s);
	return err;
}

enum zr_err db_selector_new(struct db *db, const struct db_selection *selection,
			    const struct db_watch *watch, struct db_selector **out)
{
	struct db_selector *s = calloc(1, sizeof(*s));
	enum zr_err err;

	if (!s)
		return zr_fail(ZR_NOMEM, "no memory to select events of %s", db->path);
	s->db = db;
	s->watch = watch;
	s->slots.item_bytes = 1;
	if (selection)
		s->selection = *selection;
	err = init(s);
	if (err)
		db_selector_free(s);
	else
		*out = s;
	return err;
}

void db_selector_free(struct db_selector *s)
{
	if (!s)
		return;
	db_reader_free(s->reader);
	db_slot_map_fini(&s->slots);
	zr_arena_fini(&s->arena);
	free(s);
}

uint64_t db_selector_start_ns(const struct db_selector *s)
{
	return s->part ? s->part->first_ns : 0;
}

/* Whether the reader's filter was all there is to ask. */
static bool takes_all_rows(const struct db_selector *s)
{
	const struct db_selection *want = &s->selection;

	return !want->one_area && !want->some_slots && !want->n_cgroups;
}

static enum zr_err take_batch(struct db_selector *s, const struct db_batch *batch,
			      const struct db_batch **out)
{
	enum zr_err err = ZR_OK;

	s->events_done += batch->n;
	if (takes_all_rows(s)) {
		*out = batch;
		return ZR_OK;
	}
	err = pick_rows(s, batch);
	if (!err && s->batch.n)
		*out = &s->batch;
	return err;
}

enum zr_err db_selector_next(struct db_selector *s, const struct db_batch **out)
{
	const struct db_batch *batch = NULL;
	enum zr_err err = ZR_OK;

	*out = NULL;
	while (!err && !*out) {
		if (!s->reader && at_end(s))
			return ZR_OK;
		err = s->reader ? ZR_OK : begin_part(s);
		if (!err)
			err = db_watch_ask(s->watch, s->events_all ? (double)s->events_done /
									     (double)s->events_all
								   : 0);
		if (!err)
			err = db_reader_next(s->reader, &batch);
		if (!err && batch)
			err = take_batch(s, batch, out);
		else
			end_part(s);
	}
	return err;
}
