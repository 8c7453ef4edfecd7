/* SPDX-License-Identifier: MIT */
/* The sums of learn.h. */
#include "replayer/learn.h"

#include <stdlib.h>
#include <string.h>

/* Doubles a table in the arena when it is full. */
static void *room_for_one(struct zr_arena *arena, void *old, uint32_t n, size_t size,
			  uint32_t *room)
{
	uint32_t wanted = *room ? 2 * *room : 16;
	void *new;

	if (n < *room)
		return old;
	new = zr_arena_array(arena, wanted, size);
	if (!new)
		return NULL;
	if (n)
		memcpy(new, old, n * size);
	*room = wanted;
	return new;
}

static enum zr_err no_room(uint32_t n)
{
	return zr_fail(ZR_NOMEM,
		       "learning from the recording how its worker ran: no memory after %u rows",
		       n);
}

/* ------------------------------------------------------------------------------------- refusals */

static enum zr_err keep_span(struct learn *learn, struct zr_arena *arena)
{
	struct learn_span *spans = room_for_one(arena, learn->spans, learn->n_spans, sizeof(*spans),
						&learn->span_room);

	if (!spans)
		return no_room(learn->n_spans);
	learn->spans = spans;
	spans[learn->n_spans++] = learn->run;
	return ZR_OK;
}

static enum zr_err end_run(struct learn *learn, struct zr_arena *arena)
{
	enum zr_err err = learn->run_length > LEARN_STRAY ? keep_span(learn, arena) : ZR_OK;

	learn->run_length = 0;
	learn->refused_ns = 0;
	learn->unexplained = false;
	return err;
}

/* --------------------------------------------------------------------------------------- worker */

static void add_up(struct learn_sums *sums, const struct learn_sums *more)
{
	sums->visit_ns += more->visit_ns;
	sums->visits += more->visits;
	sums->write_ns += more->write_ns;
	sums->written += more->written;
}

static enum zr_err add_window(struct learn *learn, uint64_t from_ns, uint64_t to_ns, struct zr_arena *arena)
{
	struct learn_window *windows = room_for_one(arena, learn->windows, learn->n_windows,
						    sizeof(*windows), &learn->window_room);

	if (!windows)
		return no_room(learn->n_windows);
	learn->windows = windows;
	windows[learn->n_windows++] = (struct learn_window){ .from_ns = from_ns, .to_ns = to_ns };
	return ZR_OK;
}

/* The window that such a time belongs to is the last one. A long time has one of its own, which ends the one before;
 * what begins after it has the rest of the ordinary one. */
static enum zr_err find_window(struct learn *learn, struct sim_span when, struct zr_arena *arena)
{
	uint64_t from_ns = when.from_ns / SIM_PACED_NS * SIM_PACED_NS;
	struct learn_window *last = learn->n_windows ? &learn->windows[learn->n_windows - 1] : NULL;
	uint64_t end_ns = last ? last->to_ns : 0;

	if (when.to_ns - when.from_ns > SIM_PACED_NS) {
		if (last && end_ns > when.from_ns)
			last->to_ns = when.from_ns;
		return add_window(learn, when.from_ns, when.to_ns, arena);
	}
	if (end_ns > when.from_ns)
		return ZR_OK;
	return add_window(learn, from_ns > end_ns ? from_ns : end_ns, from_ns + SIM_PACED_NS, arena);
}

/* Adds what began and ended at these times to the sums of the whole and of a window. */
static enum zr_err add_sums(struct learn *learn, struct sim_span when, const struct learn_sums *more,
			    struct zr_arena *arena)
{
	enum zr_err err = find_window(learn, when, arena);

	if (err)
		return err;
	add_up(&learn->windows[learn->n_windows - 1].sums, more);
	add_up(&learn->sums, more);
	return ZR_OK;
}

static enum zr_err add_lag(struct learn *learn, uint64_t queued_ns, struct zr_arena *arena)
{
	uint64_t ready_ns = queued_ns > learn->over_ns ? queued_ns : learn->over_ns;
	int64_t lag_ns = (int64_t)(learn->worker_ns - ready_ns);
	struct sim_lag *lags = room_for_one(arena, learn->lags, learn->n_lags, sizeof(*lags),
					    &learn->lag_room);

	if (!lags)
		return no_room(learn->n_lags);
	learn->lags = lags;
	lags[learn->n_lags++] = (struct sim_lag){ ready_ns, lag_ns > 0 ? (uint64_t)lag_ns : 0 };
	learn->lag_ns += lag_ns;
	return ZR_OK;
}

static enum zr_err note_worker(struct learn *learn, uint64_t time_ns, uint32_t task,
			       struct zr_arena *arena)
{
	enum zr_err err = ZR_OK;

	learn->over_ns = learn->shrink_ns;
	learn->worker_ns = time_ns;
	if (learn->refused_ns)
		err = add_lag(learn, learn->refused_ns, arena);
	learn->unexplained = !learn->refused_ns && learn->has_worker;
	learn->refused_ns = 0;
	learn->has_worker = true;
	learn->worker_task = task;
	learn->has_shrink = false;
	learn->wrote = 0;
	learn->run.worker = true;
	return err;
}

static enum zr_err note_shrink(struct learn *learn, uint64_t time_ns, uint32_t task,
			       struct zr_arena *arena)
{
	struct learn_sums sums = { 0 };
	enum zr_err err = ZR_OK;

	if (!learn->has_worker || task != learn->worker_task)
		return ZR_OK;
	if (learn->wrote)
		sums = (struct learn_sums){ .write_ns = time_ns - learn->shrink_ns,
					    .written = learn->wrote };
	else
		sums = (struct learn_sums){ .visit_ns = time_ns - learn->shrink_ns, .visits = 1 };
	if (learn->has_shrink)
		err = add_sums(learn, (struct sim_span){ learn->shrink_ns, time_ns }, &sums, arena);
	learn->wrote = 0;
	learn->has_shrink = true;
	learn->shrink_ns = time_ns;
	learn->run.worker = true;
	return err;
}

static void note_write(struct learn *learn, uint8_t flags, uint32_t task)
{
	learn->wrote += learn->has_worker && task == learn->worker_task &&
			db_flags_outcome(flags) == DB_WB_WRITTEN;
}

/* ----------------------------------------------------------------------------------------- rows */

static enum zr_err add_refusal(struct learn *learn, uint64_t time_ns, struct zr_arena *arena)
{
	bool explains = learn->unexplained && learn->run_length;

	if (!learn->run_length++)
		learn->run = (struct learn_span){ .span.from_ns = time_ns };
	learn->run.span.to_ns = time_ns;
	learn->unexplained = false;
	if (explains)
		return add_lag(learn, time_ns, arena);
	if (!learn->refused_ns || learn->pool_evicts)
		learn->refused_ns = time_ns;
	return ZR_OK;
}

static enum zr_err note_kept(struct learn *learn, uint16_t memcg, struct zr_arena *arena)
{
	if (!learn->no_writeback)
		learn->no_writeback = zr_arena_array(arena, learn->n_memcgs, 1);
	if (!learn->no_writeback)
		return no_room(learn->n_memcgs);
	learn->no_writeback[memcg] = 1;
	return ZR_OK;
}

static enum zr_err note_out(struct learn *learn, const struct db_batch *batch, uint32_t row,
			    struct zr_arena *arena)
{
	uint8_t flags = batch->flags[row];

	if (flags & DB_F_PART)
		return ZR_OK;
	if (db_flags_outcome(flags) == DB_OUT_STORED)
		return end_run(learn, arena);
	if (db_flags_outcome(flags) == DB_OUT_KEPT)
		return note_kept(learn, batch->memcg[row], arena);
	if (db_flags_outcome(flags) == DB_OUT_REJECTED && db_flags_reason(flags) == DB_REASON_LIMIT)
		return add_refusal(learn, batch->time_ns[row], arena);
	return ZR_OK;
}

/* --------------------------------------------------------------------------------- dropped pages */

static enum zr_err note_in(struct learn *learn, const struct db_batch *batch, uint32_t row,
			   struct zr_arena *arena)
{
	uint32_t *last_in = learn->last_in ? learn->last_in[batch->area[row]] : NULL, *last;

	if (!last_in || learn->n_ins == UINT32_MAX)
		return ZR_OK;
	if (learn->n_ins / 8 == learn->dropped_room) {
		uint32_t room = (uint32_t)learn->dropped_room;

		learn->dropped = room_for_one(arena, learn->dropped, room, 1, &room);
		if (!learn->dropped)
			return no_room((uint32_t)learn->n_ins);
		learn->dropped_room = room;
	}
	last = &last_in[batch->slot[row]];
	if (*last)
		learn->dropped[(*last - 1) / 8] |= (uint8_t)(1 << (*last - 1) % 8);
	*last = (uint32_t)++learn->n_ins;
	return ZR_OK;
}

/* The page went out, or the slot was freed. */
static void forget_in(struct learn *learn, const struct db_batch *batch, uint32_t row, uint32_t slots)
{
	uint32_t *last_in = learn->last_in ? learn->last_in[batch->area[row]] : NULL;

	for (uint32_t i = 0; last_in && i < slots; i++)
		last_in[batch->slot[row] + i] = 0;
}

enum zr_err learn_row(struct learn *learn, const struct db_batch *batch, uint32_t row,
		      struct zr_arena *arena)
{
	switch (batch->kind[row]) {
	case DB_OUT:
		forget_in(learn, batch, row,
			  batch->flags[row] & DB_F_PART ? 1 : 1u << batch->order[row]);
		return note_out(learn, batch, row, arena);
	case DB_IN:
		return note_in(learn, batch, row, arena);
	case DB_FREE:
		forget_in(learn, batch, row, db_free_slots(batch->len[row]));
		return ZR_OK;
	case DB_WORKER:
		return note_worker(learn, batch->time_ns[row], batch->task[row], arena);
	case DB_SHRINK:
		return note_shrink(learn, batch->time_ns[row], batch->task[row], arena);
	case DB_WB:
		note_write(learn, batch->flags[row], batch->task[row]);
		return ZR_OK;
	case DB_RECLAIM:
		learn->has_reclaims = true;
		return ZR_OK;
	case DB_SCAN:
		learn->has_scans = true;
		return ZR_OK;
	default:
		return ZR_OK;
	}
}

/* --------------------------------------------------------------------------------------- result */

static enum zr_err finish_refusals(struct learn *learn, struct zr_arena *arena,
				   struct sim_learnt *out)
{
	struct sim_span *spans;
	enum zr_err err = end_run(learn, arena);

	if (err)
		return err;
	spans = zr_arena_array(arena, learn->n_spans + 1, sizeof(*spans));
	if (!spans)
		return no_room(learn->n_spans);
	for (uint32_t i = 0; i < learn->n_spans; i++)
		if (learn->spans[i].worker || !learn->has_worker)
			spans[out->n_refusals++] = learn->spans[i].span;
	out->knows_refusals = true;
	out->refusals = spans;
	return ZR_OK;
}

/* The means; what there is none of is as in `otherwise`. */
static struct sim_pace pace_of(const struct learn_sums *sums, struct sim_pace otherwise)
{
	struct sim_pace pace = otherwise;

	if (sums->visits)
		pace.visit_ns = sums->visit_ns / sums->visits;
	if (sums->written)
		pace.write_ns = sums->write_ns / sums->written;
	return pace;
}

static int compare_lags(const void *a, const void *b)
{
	uint64_t left = ((const struct sim_lag *)a)->lag_ns, right = ((const struct sim_lag *)b)->lag_ns;

	return (left > right) - (left < right);
}

/* All of them; or what most are like, where none can be told from what came before it. */
static void finish_lags(struct learn *learn, struct sim_learnt *out)
{
	if (learn->pool_evicts && learn->n_lags) {
		qsort(learn->lags, learn->n_lags, sizeof(*learn->lags), compare_lags);
		out->pace.lag_ns = learn->lags[learn->n_lags / 2].lag_ns;
		return;
	}
	if (learn->lag_ns > 0) /* counted from the start of the last visit, of which nobody saw the end */
		out->pace.lag_ns = (uint64_t)learn->lag_ns / learn->n_lags;
	out->lags = learn->lags;
	out->n_lags = learn->n_lags;
}

static enum zr_err finish_pace(struct learn *learn, struct zr_arena *arena, struct sim_learnt *out)
{
	struct sim_paced *paced = zr_arena_array(arena, learn->n_windows + 1, sizeof(*paced));

	if (!paced)
		return no_room(learn->n_windows);
	finish_lags(learn, out);
	out->pace = pace_of(&learn->sums, out->pace);
	for (uint32_t i = 0; i < learn->n_windows; i++)
		paced[i] =
			(struct sim_paced){ .from_ns = learn->windows[i].from_ns,
					    .to_ns = learn->windows[i].to_ns,
					    .pace = pace_of(&learn->windows[i].sums, out->pace) };
	out->paced = paced;
	out->n_paced = learn->n_windows;
	out->worker_visits = learn->sums.visits;
	out->written_pages = learn->sums.written;
	return ZR_OK;
}

enum zr_err learn_finish(struct learn *learn, struct zr_arena *arena, struct sim_learnt *out)
{
	enum zr_err err;

	*out = (struct sim_learnt){ .has_reclaims = learn->has_reclaims,
				    .has_scans = learn->has_scans,
				    .no_writeback = learn->no_writeback,
				    .dropped = learn->dropped,
				    .n_dropped = learn->n_ins };
	err = finish_pace(learn, arena, out);
	return err ? err : finish_refusals(learn, arena, out);
}
