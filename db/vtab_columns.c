/* SPDX-License-Identifier: MIT */
/* The columns of the events table; see vtab.h, and QUERIES.md for their use. */
#include "db/vtab.h"

const char db_vtab_declaration[] =
	"CREATE TABLE events ("
	"host INTEGER, time_ns INTEGER, kind TEXT, area INTEGER, slot INTEGER, pages INTEGER, "
	"order_ INTEGER, len INTEGER, count INTEGER, memcg INTEGER, cgroup TEXT, task INTEGER, "
	"outcome TEXT, reason TEXT, phase TEXT, part INTEGER, readahead INTEGER, unknown INTEGER, "
	"flags INTEGER, chunk INTEGER HIDDEN)";

/* A row in the hands of a column. */
struct cell {
	struct db_vtab_cursor *cursor;
	sqlite3_context *result;
	struct db_event event;
};

static int get_int(const struct cell *cell, int64_t value)
{
	sqlite3_result_int64(cell->result, value);
	return SQLITE_OK;
}

static int get_null(const struct cell *cell)
{
	sqlite3_result_null(cell->result);
	return SQLITE_OK;
}

static int get_text(const struct cell *cell, const char *text)
{
	if (!text)
		return get_null(cell);
	sqlite3_result_text(cell->result, text, -1, SQLITE_STATIC);
	return SQLITE_OK;
}

static int get_host(const struct cell *cell)
{
	return get_int(cell, cell->cursor->batch.host);
}

static int get_time(const struct cell *cell)
{
	return get_int(cell, (int64_t)cell->event.time_ns);
}

static int get_kind(const struct cell *cell)
{
	return get_text(cell, db_kind_name(cell->event.kind));
}

static int get_area(const struct cell *cell)
{
	return get_int(cell, cell->event.area);
}

/* Kinds without a slot have a number of something else in its place: that is `count`. */
static int get_slot(const struct cell *cell)
{
	return db_event_pages(&cell->event) ? get_int(cell, cell->event.slot) : get_null(cell);
}

static int get_pages(const struct cell *cell)
{
	uint32_t slots = db_event_pages(&cell->event);

	return slots ? get_int(cell, slots) : get_null(cell);
}

static int get_order(const struct cell *cell)
{
	return get_int(cell, cell->event.order);
}

static int get_len(const struct cell *cell)
{
	return get_int(cell, cell->event.len);
}

static int get_count(const struct cell *cell)
{
	return db_event_pages(&cell->event) ? get_null(cell) : get_int(cell, cell->event.slot);
}

static int get_memcg(const struct cell *cell)
{
	return get_int(cell, cell->event.memcg);
}

/* One look-up for each change of cgroup. */
static int get_cgroup(const struct cell *cell)
{
	struct db_vtab_cursor *cursor = cell->cursor;
	int64_t host = cursor->batch.host, memcg = cell->event.memcg;
	sqlite3 *sql = ((struct db_vtab *)cursor->base.pVtab)->sql;
	int rc = SQLITE_ROW;

	if (!cursor->paths &&
	    sqlite3_prepare_v2(sql, "SELECT path FROM main.memcg WHERE host = ? AND id = ?", -1,
			       &cursor->paths, NULL) != SQLITE_OK)
		return db_vtab_fail(cursor, sqlite3_errcode(sql), "look up a cgroup");
	if (host != cursor->path_host || memcg != cursor->path_memcg) {
		cursor->path_host = -1;
		sqlite3_reset(cursor->paths);
		sqlite3_bind_int64(cursor->paths, 1, host);
		sqlite3_bind_int64(cursor->paths, 2, memcg);
		rc = sqlite3_step(cursor->paths);
	}
	if (rc == SQLITE_DONE)
		return get_null(cell);
	if (rc != SQLITE_ROW)
		return db_vtab_fail(cursor, rc, "look up a cgroup");
	cursor->path_host = host;
	cursor->path_memcg = memcg;
	sqlite3_result_value(cell->result, sqlite3_column_value(cursor->paths, 0));
	return SQLITE_OK;
}

static int get_task(const struct cell *cell)
{
	return get_int(cell, cell->event.task);
}

static int get_outcome(const struct cell *cell)
{
	return get_text(cell, db_event_outcome(&cell->event));
}

static int get_reason(const struct cell *cell)
{
	return get_text(cell, db_event_reason(&cell->event));
}

static int get_phase(const struct cell *cell)
{
	return get_text(cell, db_event_phase(&cell->event));
}

static int get_part(const struct cell *cell)
{
	return get_int(cell, cell->event.kind == DB_OUT && cell->event.flags & DB_F_PART);
}

static int get_readahead(const struct cell *cell)
{
	return get_int(cell, cell->event.kind == DB_IN && cell->event.flags & DB_F_READAHEAD);
}

static int get_unknown(const struct cell *cell)
{
	return get_int(cell, !!(cell->event.flags & DB_F_UNKNOWN));
}

static int get_flags(const struct cell *cell)
{
	return get_int(cell, cell->event.flags);
}

static int get_chunk(const struct cell *cell)
{
	return get_int(cell, cell->cursor->chunk);
}

static int (*const getters[])(const struct cell *) = {
	[DB_VTAB_HOST] = get_host,	     [DB_VTAB_TIME] = get_time,
	[DB_VTAB_KIND] = get_kind,	     [DB_VTAB_AREA] = get_area,
	[DB_VTAB_SLOT] = get_slot,	     [DB_VTAB_PAGES] = get_pages,
	[DB_VTAB_ORDER] = get_order,	     [DB_VTAB_LEN] = get_len,
	[DB_VTAB_COUNT] = get_count,	     [DB_VTAB_MEMCG] = get_memcg,
	[DB_VTAB_CGROUP] = get_cgroup,	     [DB_VTAB_TASK] = get_task,
	[DB_VTAB_OUTCOME] = get_outcome,     [DB_VTAB_REASON] = get_reason,
	[DB_VTAB_PHASE] = get_phase,	     [DB_VTAB_PART] = get_part,
	[DB_VTAB_READAHEAD] = get_readahead, [DB_VTAB_UNKNOWN] = get_unknown,
	[DB_VTAB_FLAGS] = get_flags,	     [DB_VTAB_CHUNK] = get_chunk,
};

int db_vtab_get_column(struct db_vtab_cursor *cursor, sqlite3_context *result, int column)
{
	struct cell cell = { cursor, result, db_batch_event(&cursor->batch, cursor->row) };

	if (column < 0 || (size_t)column >= sizeof(getters) / sizeof(getters[0]))
		return SQLITE_MISUSE;
	return getters[column](&cell);
}
