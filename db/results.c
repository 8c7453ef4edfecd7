/* SPDX-License-Identifier: MIT */
/*
 * Results of replays as plain rows, which any SQLite client can read: a run, its metrics (one
 * figure for each repetition) and its series. A run is stored whole or not at all.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "db/sql.h"

static const char *const figures[] = {
	[DB_MEASURED] = "measured",
	[DB_PLANNED] = "planned",
	[DB_MODELLED] = "modelled",
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

/* ------------------------------------------------------------------------------------- storing */

static enum zr_err put_run(struct db *db, struct db_run *run)
{
	enum zr_err err = db_sql_run(
		db, DB_SQL_RUN_PUT,
		(struct db_arg[]){ db_text(run->policy), db_text(run->knobs), db_text(run->target),
				   db_text(run->target_detail), db_text(run->drive),
				   db_text(run->pace), db_text(run->trace_id),
				   db_text(run->trace_path), db_int(run->host),
				   db_int(run->created_realtime_ns), db_int(run->reps),
				   db_int(run->partial), db_text(run->note) });

	if (!err)
		run->id = sqlite3_last_insert_rowid(db->sql);
	return err;
}

static enum zr_err put_metric(struct db *db, int64_t run, const struct db_metric *metric)
{
	assert((unsigned)metric->figure < FIGURES);
	/* SQLite would take it for NULL. */
	if (isnan(metric->value))
		return zr_fail(ZR_DB, "%s: metric %s is not a number, so the run is not stored",
			       db->path, metric->name);
	return db_sql_run(db, DB_SQL_METRIC_PUT,
			  (struct db_arg[]){ db_int(run), db_int(metric->rep),
					     db_text(metric->name), db_real(metric->value),
					     db_text(figures[metric->figure]) });
}

static enum zr_err put_point(struct db *db, int64_t run, const struct db_point *point, size_t seq)
{
	return db_sql_run(db, DB_SQL_POINT_PUT,
			  (struct db_arg[]){ db_int(run), db_text(point->series),
					     db_int((int64_t)point->time_ns), db_int((int64_t)seq),
					     db_real(point->value) });
}

enum zr_err db_run_add(struct db *db, struct db_run *run, const struct db_metric *metrics,
		       size_t n_metrics, const struct db_point *points, size_t n_points)
{
	/* What others have put is committed first, so that a failure here takes nothing of theirs
	 * along. */
	enum zr_err err = db_sql_commit(db);

	if (!err)
		err = db_sql_begin(db);
	if (!err)
		err = put_run(db, run);
	for (size_t i = 0; i < n_metrics && !err; i++)
		err = put_metric(db, run->id, &metrics[i]);
	for (size_t i = 0; i < n_points && !err; i++)
		err = put_point(db, run->id, &points[i], i);
	if (!err)
		err = db_sql_commit(db);
	if (err)
		db_sql_rollback(db);
	return err;
}

/* ------------------------------------------------------------------------------------- reading */

static enum zr_err fill_run(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_run *run = item;
	const struct {
		int column;
		const char **text;
	} texts[] = {
		{ 1, &run->policy },	    { 2, &run->knobs },	     { 3, &run->target },
		{ 4, &run->target_detail }, { 5, &run->drive },	     { 6, &run->pace },
		{ 7, &run->trace_id },	    { 8, &run->trace_path }, { 13, &run->note },
	};
	enum zr_err err = ZR_OK;

	run->id = sqlite3_column_int64(row, 0);
	run->host = (uint32_t)sqlite3_column_int64(row, 9);
	run->created_realtime_ns = sqlite3_column_int64(row, 10);
	run->reps = sqlite3_column_int(row, 11);
	run->partial = sqlite3_column_int(row, 12) != 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		err = db_list_text(db, list, row, texts[i].column, texts[i].text);
	return err;
}

enum zr_err db_runs(struct db *db, struct zr_arena *arena, struct db_run **out, size_t *n)
{
	struct db_list list = { .arena = arena, .item_bytes = sizeof(**out), .fill = fill_run };
	enum zr_err err = db_list_read(db, DB_SQL_RUNS, NULL, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

static enum zr_err figure_from_text(struct db *db, const char *text, enum db_figure *out)
{
	for (unsigned i = 0; i < FIGURES; i++) {
		if (text && !strcmp(text, figures[i])) {
			*out = (enum db_figure)i;
			return ZR_OK;
		}
	}
	/* Never guess: a planned figure must not pass for a measured one. */
	return zr_fail(ZR_CORRUPT,
		       "%s: a metric's figure is neither measured, planned nor modelled", db->path);
}

static enum zr_err fill_metric(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_metric *metric = item;
	enum zr_err err = db_list_text(db, list, row, 1, &metric->name);

	metric->run = list->owner;
	metric->rep = sqlite3_column_int(row, 0);
	metric->value = sqlite3_column_double(row, 2);
	return err ? err
		   : figure_from_text(db, (const char *)sqlite3_column_text(row, 3),
				      &metric->figure);
}

enum zr_err db_metrics(struct db *db, int64_t run, struct zr_arena *arena, struct db_metric **out,
		       size_t *n)
{
	struct db_list list = {
		.arena = arena, .item_bytes = sizeof(**out), .owner = run, .fill = fill_metric
	};
	enum zr_err err = db_list_read(db, DB_SQL_METRICS, (struct db_arg[]){ db_int(run) }, &list);

	*out = list.items;
	*n = list.n;
	return err;
}

static enum zr_err fill_point(struct db *db, struct db_list *list, sqlite3_stmt *row, void *item)
{
	struct db_point *point = item;

	(void)db, (void)list;
	point->time_ns = (uint64_t)sqlite3_column_int64(row, 0);
	point->value = sqlite3_column_double(row, 1);
	return ZR_OK;
}

enum zr_err db_points(struct db *db, int64_t run, const char *series, struct zr_arena *arena,
		      struct db_point **out, size_t *n)
{
	const struct db_arg args[] = { db_int(run), db_text(series) };
	struct db_list list = {
		.arena = arena, .item_bytes = sizeof(**out), .owner = run, .fill = fill_point
	};
	char *name = zr_arena_text(arena, series);
	enum zr_err err = db_list_read(db, DB_SQL_POINTS, args, &list);

	if (!err && !name)
		err = zr_fail(ZR_NOMEM, "%s: no memory for a series", db->path);
	*out = list.items;
	*n = list.n;
	for (size_t i = 0; i < list.n; i++)
		(*out)[i].series = name;
	return err;
}
