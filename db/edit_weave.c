/* SPDX-License-Identifier: MIT */
/*
 * Merging traces of one host: their events woven into one line of time.
 *
 * First every input is read once, alone: it must be of the same host, clock and page size, and
 * which swap areas its events are about decides whether it may overlap another in time. Then the
 * tables: rows that say the same become one, under the number that the first one had where that is
 * free. Last the weave: an input is open from the time of its first event to that of its last, so a
 * thousand recordings in a row need one at a time; ACTIVE_MAX may overlap.
 *
 * What two inputs have both (both recorded the whole host's reclaim, say, but each its own area) is
 * an event that is equal in every field and time: it is taken as often as the input has it that has
 * it most often. Events of swap slots are never taken for duplicates: inputs that overlap share no
 * area.
 *
 * When an area is met again after the input that had it has ended, something may have happened
 * between: a GAP stands there, and slots that were not met since are marked unknown. Not so between
 * two cuts of one trace that adjoin.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/edit_merge.h"
#include "db/edit_slots.h"

enum { ACTIVE_MAX = 16, TWINS_MAX = 1024, KEY_BYTES = 8192, NO_SOURCE = UINT32_MAX };

struct source {
	uint32_t input; /* number among the options' inputs */
	uint32_t host;
	uint64_t first_ns, last_ns;
	bool any;			 /* has events */
	bool uses[DB_AREA_MAX + 1];	 /* areas, by their number in the new file */
	char origin[33];		 /* the trace it was cut from, or its own name */
	uint64_t cut_from_ns, cut_to_ns; /* 0: not cut there */
};

/* A number of a source and its number in the new file. */
struct task_pair {
	uint32_t from, to;
};

/* A source that is open. */
struct active {
	const struct source *source;
	struct db *db;
	struct db_reader *reader;
	const struct db_batch *batch;
	uint32_t row;
	struct zr_arena arena;
	uint16_t memcg[DB_MEMCG_MAX + 1];
	uint8_t area[DB_AREA_MAX + 1];
	struct task_pair *tasks;
	size_t n_tasks;
	struct db_event event; /* its next one, in the new file's ids */
};

/* An event of the current time that others may have too: how often it was written, and met by each.
 */
struct twin {
	struct db_event event;
	uint32_t written;
	uint32_t met[ACTIVE_MAX];
};

struct weave {
	struct db_merge *merge;
	struct source *sources; /* by first_ns */
	uint32_t n_sources, next_source;
	struct active *active[ACTIVE_MAX];
	struct db_names names; /* what rows say -> number in the new file */
	struct db_names taken; /* numbers that are given out */
	uint32_t next_free[3]; /* of memcgs, tasks, areas */
	struct twin *twins;
	uint32_t n_twins;
	uint32_t
		ended[DB_AREA_MAX + 1]; /* the last source with events of the area that has ended */
	struct db_unknowns unknowns;
	uint32_t time_unit_ns; /* the finest of the inputs */
	struct zr_arena arena;
};

static const char *path_of(const struct weave *w, const struct source *source)
{
	return w->merge->options->inputs[source->input];
}

/* ------------------------------------------------------------------------------------------ ids */

enum id_kind { ID_MEMCG, ID_TASK, ID_AREA };

static const struct {
	const char *name;
	uint32_t most;
} id_kinds[] = {
	[ID_MEMCG] = { "cgroup", DB_MEMCG_MAX },
	[ID_TASK] = { "task", UINT32_MAX },
	[ID_AREA] = { "swap area", DB_AREA_MAX },
};

static enum zr_err try_id(struct weave *w, enum id_kind kind, uint32_t id, bool *fresh)
{
	char text[32];
	uint32_t value;

	snprintf(text, sizeof(text), "%d %u", kind, id);
	return db_names_get(&w->taken, text, 0, fresh, &value);
}

/* A number that is not given out: `own` if possible. */
static enum zr_err free_id(struct weave *w, enum id_kind kind, uint32_t own, uint32_t *out)
{
	bool fresh = false;
	enum zr_err err = own ? try_id(w, kind, own, &fresh) : ZR_OK;

	*out = own;
	while (!err && !fresh) {
		if (w->next_free[kind] == id_kinds[kind].most)
			return zr_fail(ZR_LIMIT, "together they have more than %u %ss",
				       id_kinds[kind].most, id_kinds[kind].name);
		*out = ++w->next_free[kind];
		err = try_id(w, kind, *out, &fresh);
	}
	return err;
}

/* The number in the new file of what `text` says. */
static enum zr_err unify(struct weave *w, enum id_kind kind, const char *text, uint32_t own,
			 uint32_t *out)
{
	const uint32_t *known = db_names_find(&w->names, text);
	bool fresh;
	enum zr_err err;

	if (known) {
		*out = *known;
		return ZR_OK;
	}
	err = free_id(w, kind, own, out);
	return err ? err : db_names_get(&w->names, text, *out, &fresh, out);
}

/* Rows that say nothing of what they stand for are only equal within one recording. */
static enum zr_err memcg_id(struct weave *w, const struct source *source,
			    const struct db_memcg *memcg, uint32_t *out)
{
	char text[KEY_BYTES];

	if (!memcg->cgroup_id && !*memcg->path)
		snprintf(text, sizeof(text), "m? %s %u", source->origin, memcg->id);
	else
		snprintf(text, sizeof(text), "m %" PRIu64 " %s", memcg->cgroup_id, memcg->path);
	return unify(w, ID_MEMCG, text, memcg->id, out);
}

static enum zr_err task_id(struct weave *w, const struct source *source, const struct db_task *task,
			   uint32_t *out)
{
	char text[KEY_BYTES];

	if (!task->tid)
		snprintf(text, sizeof(text), "t? %s %u", source->origin, task->id);
	else
		snprintf(text, sizeof(text), "t %u %u %s", task->tid, task->tgid, task->comm);
	return unify(w, ID_TASK, text, task->id, out);
}

static enum zr_err area_id(struct weave *w, const struct db_area *area, uint32_t *out)
{
	char text[KEY_BYTES];

	snprintf(text, sizeof(text), "a %u %d %u:%u %" PRIu64 " %" PRIu64 " %s", area->type,
		 area->is_file, area->major, area->minor, area->start_sector, area->slots,
		 area->path);
	return unify(w, ID_AREA, text, area->id, out);
}

/* --------------------------------------------------------------------------- reading the inputs */

static enum zr_err check_same(struct weave *w, struct db *db, uint32_t host, const char *key)
{
	struct zr_arena arena = { 0 };
	const char *value;
	uint32_t first;
	bool fresh;
	char text[KEY_BYTES], any[64];
	enum zr_err err = db_env_get(db, host, key, &arena, &value);

	if (!err && value) {
		snprintf(any, sizeof(any), "= %s", key);
		snprintf(text, sizeof(text), "= %s %s", key, value);
		err = db_names_get(&w->names, any, 0, &fresh, &first);
		if (!err && !fresh && !db_names_find(&w->names, text))
			err = zr_fail(
				ZR_USAGE,
				"%s: its %s is %s, that of another input is not: these are not "
				"traces of one host (leave out --same-host)",
				db->path, key, value);
		if (!err)
			err = db_names_get(&w->names, text, 0, &fresh, &first);
	}
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err check_identity(struct weave *w, struct db *db, uint32_t host)
{
	static const char *const keys[] = { DB_ENV_HOSTNAME, DB_ENV_CLOCK, DB_ENV_PAGE_SIZE };
	enum zr_err err = ZR_OK;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !err; i++)
		err = check_same(w, db, host, keys[i]);
	return err;
}

static enum zr_err read_origin(struct db *db, struct source *source)
{
	struct zr_arena arena = { 0 };
	const char *origin;
	enum zr_err err = db_env_get(db, source->host, "cut.trace_id", &arena, &origin);

	if (!err)
		snprintf(source->origin, sizeof(source->origin), "%s",
			 origin ? origin : db->trace_id);
	source->cut_from_ns = (uint64_t)db_env_int(db, source->host, "cut.from_ns", 0);
	source->cut_to_ns = (uint64_t)db_env_int(db, source->host, "cut.to_ns", 0);
	zr_arena_fini(&arena);
	return err;
}

/* Numbers of a source's areas in the new file; gives them out to areas that are new. */
static enum zr_err map_areas(struct weave *w, struct db *db, uint32_t host, uint8_t *map)
{
	struct zr_arena arena = { 0 };
	struct db_area *areas;
	size_t n;
	enum zr_err err = db_areas(db, host, &arena, &areas, &n);

	for (size_t i = 0; i < n && !err; i++) {
		uint32_t id;

		err = area_id(w, &areas[i], &id);
		map[areas[i].id] = (uint8_t)(err ? 0 : id);
	}
	zr_arena_fini(&arena);
	return err;
}

/* Which areas its events are about. */
static enum zr_err read_uses(struct weave *w, struct db *db, struct source *source)
{
	uint8_t map[DB_AREA_MAX + 1] = { 0 };
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = map_areas(w, db, source->host, map);

	if (!err)
		err = db_reader_new(db, NULL, &reader);
	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		err = db_watch_ask(&w->merge->options->watch, 0);
		if (err)
			break;
		for (uint32_t row = 0; row < batch->n; row++) {
			struct db_event e = db_batch_event(batch, row);

			if (db_event_slots(&e, 0).n)
				source->uses[map[e.area]] = true;
		}
	}
	db_reader_free(reader);
	return err;
}

/* Inputs may differ in how exact their times are: nothing of the better one is lost. */
static void note_unit(struct weave *w, struct db *db, uint32_t host)
{
	int64_t unit = db_env_int(db, host, DB_ENV_TIME_UNIT, 1);

	if (unit < 1 || unit > UINT32_MAX)
		unit = 1;
	if (!w->time_unit_ns || (uint32_t)unit < w->time_unit_ns)
		w->time_unit_ns = (uint32_t)unit;
}

static enum zr_err scan_open(struct weave *w, struct db *db, struct source *source)
{
	struct db_part *parts;
	struct zr_arena arena = { 0 };
	size_t n;
	enum zr_err err = db_merge_claim(w->merge, db, source->input);

	if (!err)
		err = db_parts(db, NULL, &arena, &parts, &n);
	if (!err && n != 1)
		err = zr_fail(ZR_USAGE,
			      "%s: holds %zu hosts; --same-host takes traces of one host each "
			      "(`zreel cut --host N` makes such)",
			      db->path, n);
	if (!err) {
		source->host = parts[0].host;
		source->first_ns = parts[0].first_ns;
		source->last_ns = parts[0].last_ns;
		source->any = parts[0].events > 0;
		err = check_identity(w, db, source->host);
	}
	if (!err)
		err = read_origin(db, source);
	if (!err) {
		note_unit(w, db, source->host);
		err = read_uses(w, db, source);
	}
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err scan(struct weave *w, uint32_t input)
{
	struct source *source = &w->sources[input];
	struct db *db = NULL;
	enum zr_err err, closed;

	source->input = input;
	err = db_open(path_of(w, source), DB_READ, &db);
	if (!err)
		err = scan_open(w, db, source);
	if (db)
		w->merge->complete &= db->complete;
	closed = db_close(db);
	w->merge->result->files++;
	return err ? err : closed;
}

static int compare_sources(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->input < y->input ? -1 : 1;
}

static enum zr_err check_pair(struct weave *w, const struct source *a, const struct source *b)
{
	for (unsigned area = 0; area <= DB_AREA_MAX; area++)
		if (a->any && b->any && a->uses[area] && b->uses[area])
			return zr_fail(ZR_USAGE,
				       "%s and %s overlap in time and both have events of one swap "
				       "area, which would then count twice; --force takes both",
				       path_of(w, a), path_of(w, b));
	return ZR_OK;
}

static enum zr_err check_overlaps(struct weave *w)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < w->n_sources && !err; i++)
		for (uint32_t j = i + 1; j < w->n_sources && !err; j++) {
			if (w->sources[j].first_ns >= w->sources[i].last_ns)
				break;
			err = check_pair(w, &w->sources[i], &w->sources[j]);
		}
	return err;
}

/* --------------------------------------------------------------------------------------- tables */

static enum zr_err put_memcgs(struct weave *w, struct db *db, const struct source *source)
{
	struct zr_arena arena = { 0 };
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = db_memcgs(db, source->host, &arena, &memcgs, &n);

	for (size_t i = 0; i < n && !err; i++) {
		err = memcg_id(w, source, &memcgs[i], &memcgs[i].id);
		memcgs[i].host = 0;
		if (!err)
			err = db_put_memcg(w->merge->output.db, &memcgs[i]);
	}
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err put_tasks(struct weave *w, struct db *db, const struct source *source)
{
	struct zr_arena arena = { 0 };
	struct db_task *tasks;
	size_t n;
	enum zr_err err = db_tasks(db, source->host, &arena, &tasks, &n);

	for (size_t i = 0; i < n && !err; i++) {
		err = task_id(w, source, &tasks[i], &tasks[i].id);
		tasks[i].host = 0;
		if (!err)
			err = db_put_task(w->merge->output.db, &tasks[i]);
	}
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err put_areas(struct weave *w, struct db *db, const struct source *source)
{
	struct zr_arena arena = { 0 };
	struct db_area *areas;
	size_t n;
	enum zr_err err = db_areas(db, source->host, &arena, &areas, &n);

	for (size_t i = 0; i < n && !err; i++) {
		err = area_id(w, &areas[i], &areas[i].id);
		areas[i].host = 0;
		if (!err)
			err = db_put_area(w->merge->output.db, &areas[i]);
	}
	zr_arena_fini(&arena);
	return err;
}

/* The first input that has a setting decides: later ones were made of the same host. */
static enum zr_err put_env(struct weave *w, struct db *db)
{
	struct zr_arena arena = { 0 };
	struct db_env *env;
	size_t n;
	enum zr_err err = db_env_all(db, &arena, &env, &n);

	for (size_t i = 0; i < n && !err; i++) {
		char text[KEY_BYTES];
		uint32_t value;
		bool fresh;

		snprintf(text, sizeof(text), "e %s", env[i].key);
		err = db_names_get(&w->names, text, 0, &fresh, &value);
		/* Of a cut of it the new trace is no cut. */
		if (!err && fresh && strncmp(env[i].key, "cut.", 4) != 0 &&
		    strcmp(env[i].key, DB_ENV_TIME_UNIT) != 0)
			err = db_env_set(w->merge->output.db, 0, env[i].key, env[i].value);
	}
	zr_arena_fini(&arena);
	return err;
}

/* A counter's samples of an input that begin after those of the inputs before it. */
static enum zr_err put_samples(struct weave *w, struct db *db, const struct db_counter *counter)
{
	struct zr_arena arena = { 0 };
	struct db_sample *samples, *had;
	size_t n, n_had;
	struct db_counter in_new = *counter;
	enum zr_err err = db_samples(db, counter, &arena, &samples, &n);
	uint64_t from_ns = 0;

	in_new.host = 0;
	if (!err)
		err = db_samples(w->merge->output.db, &in_new, &arena, &had, &n_had);
	if (!err && n_had)
		from_ns = had[n_had - 1].time_ns + 1;
	for (size_t i = 0; i < n && !err; i++) {
		if (samples[i].time_ns < from_ns)
			continue;
		w->merge->result->samples++;
		err = db_put_sample(w->merge->output.db, 0, samples[i].time_ns, counter->source,
				    counter->name, samples[i].value);
	}
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err put_all_samples(struct weave *w, struct db *db, const struct source *source)
{
	struct zr_arena arena = { 0 };
	struct db_counter *counters;
	size_t n;
	enum zr_err err = db_counters(db, source->host, &arena, &counters, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = put_samples(w, db, &counters[i]);
	zr_arena_fini(&arena);
	return err;
}

static enum zr_err put_tables(struct weave *w, const struct source *source)
{
	struct db *db = NULL;
	struct db_copy copy = { .to = w->merge->output.db };
	enum zr_err err = db_open(path_of(w, source), DB_READ, &db), closed;

	copy.from = db;
	if (!err)
		err = put_env(w, db);
	if (!err)
		err = put_memcgs(w, db, source);
	if (!err)
		err = put_tasks(w, db, source);
	if (!err)
		err = put_areas(w, db, source);
	if (!err)
		err = put_all_samples(w, db, source);
	if (!err)
		err = db_copy_runs(&copy, &w->merge->result->runs);
	closed = db_close(db);
	return err ? err : closed;
}

/* --------------------------------------------------------------------------------- open sources */

static enum zr_err map_memcgs(struct weave *w, struct active *a)
{
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = db_memcgs(a->db, a->source->host, &a->arena, &memcgs, &n);

	for (size_t i = 0; i < n && !err; i++) {
		uint32_t id;

		err = memcg_id(w, a->source, &memcgs[i], &id);
		a->memcg[memcgs[i].id] = (uint16_t)(err ? 0 : id);
	}
	return err;
}

static enum zr_err map_tasks(struct weave *w, struct active *a)
{
	struct db_task *tasks;
	enum zr_err err = db_tasks(a->db, a->source->host, &a->arena, &tasks, &a->n_tasks);

	if (err)
		return err;
	a->tasks = zr_arena_array(&a->arena, a->n_tasks + 1, sizeof(*a->tasks));
	if (!a->tasks)
		return zr_fail(ZR_NOMEM, "%s: no memory for %zu tasks", a->db->path, a->n_tasks);
	for (size_t i = 0; i < a->n_tasks && !err; i++) {
		a->tasks[i].from = tasks[i].id;
		err = task_id(w, a->source, &tasks[i], &a->tasks[i].to);
	}
	return err;
}

static int compare_pair(const void *key, const void *item)
{
	uint32_t id = *(const uint32_t *)key, of_pair = ((const struct task_pair *)item)->from;

	return id < of_pair ? -1 : id > of_pair;
}

/* 0 for a task that the source does not list. */
static uint32_t mapped_task(const struct active *a, uint32_t id)
{
	const struct task_pair *pair;

	if (id && id <= a->n_tasks && a->tasks[id - 1].from == id)
		return a->tasks[id - 1].to;
	pair = a->n_tasks ? bsearch(&id, a->tasks, a->n_tasks, sizeof(*pair), compare_pair) : NULL;
	return pair ? pair->to : 0;
}

/* Sets a->event; a->batch is NULL at the end. */
static enum zr_err step(struct active *a)
{
	enum zr_err err = ZR_OK;

	a->row++;
	if (!a->batch || a->row == a->batch->n) {
		a->row = 0;
		err = db_reader_next(a->reader, &a->batch);
	}
	if (err || !a->batch)
		return err;
	a->event = db_batch_event(a->batch, a->row);
	a->event.memcg = a->memcg[a->event.memcg];
	a->event.area = a->area[a->event.area];
	a->event.task = mapped_task(a, a->event.task);
	return ZR_OK;
}

static enum zr_err close_active(struct active *a)
{
	enum zr_err err;

	if (!a)
		return ZR_OK;
	db_reader_free(a->reader);
	err = db_close(a->db);
	zr_arena_fini(&a->arena);
	free(a);
	return err;
}

static enum zr_err open_active(struct weave *w, struct active *a)
{
	enum zr_err err = db_open(path_of(w, a->source), DB_READ, &a->db);

	if (!err)
		err = map_memcgs(w, a);
	if (!err)
		err = map_tasks(w, a);
	if (!err)
		err = map_areas(w, a->db, a->source->host, a->area);
	if (!err)
		err = db_reader_new(a->db, NULL, &a->reader);
	return err ? err : step(a);
}

/* ------------------------------------------------------------------------------------ the weave */

static enum zr_err put(struct weave *w, const struct db_event *event)
{
	return db_output_add(&w->merge->output, event, w->merge->result);
}

static bool adjoin(const struct source *before, const struct source *after)
{
	return before->cut_to_ns && before->cut_to_ns == after->cut_from_ns &&
	       !strcmp(before->origin, after->origin);
}

/* Whether an area of a source that begins was watched before, but not up to now. */
static bool area_was_left(const struct weave *w, const struct source *source)
{
	for (unsigned area = 0; area <= DB_AREA_MAX; area++)
		if (source->uses[area] && w->ended[area] != NO_SOURCE &&
		    !adjoin(&w->sources[w->ended[area]], source))
			return true;
	return false;
}

static enum zr_err put_gap(struct weave *w, uint64_t time_ns)
{
	struct db_event gap = { .time_ns = time_ns,
				.kind = DB_GAP,
				.slot = 1,
				.len = UINT16_MAX,
				.flags = DB_GAP_IMPORT };

	db_unknowns_gap(&w->unknowns);
	return put(w, &gap);
}

static enum zr_err begin_source(struct weave *w)
{
	const struct source *source = &w->sources[w->next_source++];
	uint32_t at = 0;
	enum zr_err err;

	if (!source->any)
		return ZR_OK;
	while (at < ACTIVE_MAX && w->active[at])
		at++;
	if (at == ACTIVE_MAX)
		return zr_fail(
			ZR_LIMIT,
			"%s: at its beginning %d other inputs have not ended; merge in steps",
			path_of(w, source), ACTIVE_MAX);
	w->active[at] = calloc(1, sizeof(*w->active[at]));
	if (!w->active[at])
		return zr_fail(ZR_NOMEM, "no memory to read %s", path_of(w, source));
	w->active[at]->source = source;
	err = area_was_left(w, source) ? put_gap(w, source->first_ns) : ZR_OK;
	return err ? err : open_active(w, w->active[at]);
}

static enum zr_err end_source(struct weave *w, uint32_t at)
{
	const struct source *source = w->active[at]->source;
	enum zr_err err = close_active(w->active[at]);

	w->active[at] = NULL;
	for (unsigned area = 0; area <= DB_AREA_MAX; area++)
		if (source->uses[area])
			w->ended[area] = (uint32_t)(source - w->sources);
	return err;
}

/* Of events at one time a gap comes last: an importer puts it at the time of the event before it.
 */
static bool comes_before(const struct db_event *a, const struct db_event *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->kind != DB_GAP && b->kind == DB_GAP;
}

/* The open source with the earliest event, ACTIVE_MAX if none is open. */
static uint32_t earliest(const struct weave *w)
{
	uint32_t best = ACTIVE_MAX;

	for (uint32_t i = 0; i < ACTIVE_MAX; i++)
		if (w->active[i] && (best == ACTIVE_MAX ||
				     comes_before(&w->active[i]->event, &w->active[best]->event)))
			best = i;
	return best;
}

static struct twin *find_twin(struct weave *w, const struct db_event *event)
{
	struct twin *twin;

	if (w->n_twins && w->twins[0].event.time_ns != event->time_ns)
		w->n_twins = 0;
	for (uint32_t i = 0; i < w->n_twins; i++)
		if (!memcmp(&w->twins[i].event, event, sizeof(*event)))
			return &w->twins[i];
	if (w->n_twins == TWINS_MAX)
		return NULL;
	twin = &w->twins[w->n_twins++];
	*twin = (struct twin){ .event = *event };
	return twin;
}

/* Whether another source has this event, and had it written already. */
static bool is_duplicate(struct weave *w, uint32_t at, const struct db_event *event)
{
	struct twin *twin = db_event_slots(event, 0).n ? NULL : find_twin(w, event);

	if (!twin)
		return false;
	if (++twin->met[at] <= twin->written) {
		w->merge->result->duplicates++;
		return true;
	}
	twin->written++;
	return false;
}

static enum zr_err take(struct weave *w, uint32_t at)
{
	struct active *a = w->active[at];
	struct db_event event = a->event;
	enum zr_err err = ZR_OK;

	if (!is_duplicate(w, at, &event)) {
		db_unknowns_mark(&w->unknowns, &event);
		err = put(w, &event);
	}
	if (!err)
		err = step(a);
	return err || a->batch ? err : end_source(w, at);
}

static enum zr_err weave_events(struct weave *w)
{
	struct db_output *output = &w->merge->output;
	uint64_t taken = 0;
	enum zr_err err;

	if (output->time_unit_ns < w->time_unit_ns)
		output->time_unit_ns = w->time_unit_ns;
	err = db_output_host(output, 0);
	while (!err) {
		uint32_t at = earliest(w);
		bool begins = w->next_source < w->n_sources &&
			      (at == ACTIVE_MAX ||
			       w->sources[w->next_source].first_ns <= w->active[at]->event.time_ns);

		if (!begins && at == ACTIVE_MAX)
			return ZR_OK;
		err = begins ? begin_source(w) : take(w, at);
		if (!err && ++taken % DB_BATCH_EVENTS == 0)
			err = db_watch_ask(&w->merge->options->watch,
					   (double)w->next_source / (w->n_sources + 1));
	}
	return err;
}

/* ---------------------------------------------------------------------------------------- whole */

static enum zr_err init(struct weave *w)
{
	uint32_t n = w->merge->options->n_inputs;

	for (unsigned area = 0; area <= DB_AREA_MAX; area++)
		w->ended[area] = NO_SOURCE;
	w->unknowns = (struct db_unknowns){ 0 };
	w->sources = zr_arena_array(&w->arena, n + 1, sizeof(*w->sources));
	w->twins = zr_arena_array(&w->arena, TWINS_MAX, sizeof(*w->twins));
	w->n_sources = n;
	return w->sources && w->twins ? ZR_OK : zr_fail(ZR_NOMEM, "no memory for %u inputs", n);
}

static enum zr_err weave(struct weave *w)
{
	enum zr_err err = init(w);

	for (uint32_t i = 0; i < w->n_sources && !err; i++)
		err = scan(w, i);
	if (err)
		return err;
	qsort(w->sources, w->n_sources, sizeof(*w->sources), compare_sources);
	if (!w->merge->options->force)
		err = check_overlaps(w);
	for (uint32_t i = 0; i < w->n_sources && !err; i++)
		err = put_tables(w, &w->sources[i]);
	return err ? err : weave_events(w);
}

enum zr_err db_merge_same_host(struct db_merge *merge)
{
	struct weave *w = calloc(1, sizeof(*w));
	enum zr_err err;

	if (!w)
		return zr_fail(ZR_NOMEM, "no memory to merge");
	w->merge = merge;
	err = weave(w);
	for (uint32_t i = 0; i < ACTIVE_MAX; i++) {
		enum zr_err closed = close_active(w->active[i]);

		if (!err)
			err = closed;
	}
	merge->result->hosts = 1;
	db_names_fini(&w->names);
	db_names_fini(&w->taken);
	db_unknowns_fini(&w->unknowns);
	zr_arena_fini(&w->arena);
	free(w);
	return err;
}
