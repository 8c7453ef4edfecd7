/* SPDX-License-Identifier: MIT */
/*
 * The events table; see vtab.h.
 *
 * xBestIndex writes the conditions that it can use as pairs of letters, a column and an operator,
 * one for each argument of xFilter ("t>k=": time_ns above the first, kind equal to the second).
 * xFilter makes bounds of them and starts a statement over the chunks that may hold such events.
 */
#include "db/vtab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/bytes.h"
#include "db/span_row.h"

enum { TERMS_MAX = 16 };

int db_vtab_fail(struct db_vtab_cursor *cursor, int rc, const char *doing)
{
	struct db_vtab *table = (struct db_vtab *)cursor->base.pVtab;

	sqlite3_free(table->base.zErrMsg);
	table->base.zErrMsg =
		doing ? sqlite3_mprintf("events: cannot %s: %s: is this a zreel trace?", doing,
					sqlite3_errmsg(table->sql))
		      : sqlite3_mprintf("events: %s", zr_error_text());
	zr_error_clear();
	return rc;
}

/* ------------------------------------------------------------------------------------- planning */

/* Columns whose conditions are used, their letter, and by how much one of them narrows a query
 * down. */
static const struct term {
	int column;
	char letter;
	bool ranges;
	double equal, range;
} terms[] = {
	{ DB_VTAB_HOST, 'h', true, 0.3, 0.5 }, { DB_VTAB_TIME, 't', true, 0.001, 0.3 },
	{ DB_VTAB_KIND, 'k', false, 0.3, 1 },  { DB_VTAB_SLOT, 's', true, 0.05, 0.5 },
	{ DB_VTAB_MEMCG, 'm', false, 0.3, 1 },
};

static const struct term *find_term(int column)
{
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (terms[i].column == column)
			return &terms[i];
	return NULL;
}

/* '=', '<', '>' or 0 for an operator that is of no use. */
static char letter_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return '>';
	default:
		return 0;
	}
}

/* Events leave by host and time: whether that is the order that is asked for. */
static bool is_ordered(const sqlite3_index_info *info, bool one_host)
{
	static const int by[] = { DB_VTAB_HOST, DB_VTAB_TIME };
	int skip = one_host && info->nOrderBy > 0 && info->aOrderBy[0].iColumn == DB_VTAB_TIME;

	if (info->nOrderBy < 1 || info->nOrderBy + skip > 2)
		return false;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].desc || info->aOrderBy[i].iColumn != by[i + skip])
			return false;
	return true;
}

static bool is_usable(sqlite3_index_info *info, int i, const struct term *term, char op)
{
	if (!info->aConstraint[i].usable || !term || !op || (op != '=' && !term->ranges))
		return false;
	/* kind = 'out' COLLATE NOCASE is not ours to answer. */
	return term->letter != 'k' || !strcmp(sqlite3_vtab_collation(info, i), "BINARY");
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	char *plan = sqlite3_mprintf("%*s", 2 * TERMS_MAX, "");
	double part = 1;
	bool one_host = false;
	int n = 0;

	(void)base;
	if (!plan)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint && n < TERMS_MAX; i++) {
		const struct term *term = find_term(info->aConstraint[i].iColumn);
		char op = letter_of(info->aConstraint[i].op);

		if (!is_usable(info, i, term, op))
			continue;
		plan[2 * n] = term->letter;
		plan[2 * n + 1] = op;
		info->aConstraintUsage[i].argvIndex = ++n;
		part *= op == '=' ? term->equal : term->range;
		one_host |= op == '=' && term->letter == 'h';
	}
	plan[2 * n] = '\0';
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = is_ordered(info, one_host);
	info->estimatedCost = 1e8 * part + 1e4;
	info->estimatedRows = (sqlite3_int64)(1e8 * part) + 1;
	return SQLITE_OK;
}

/* --------------------------------------------------------------------------------------- bounds */

static const struct db_vtab_bounds all = {
	.host_max = UINT32_MAX,
	.time_min = 0,
	.time_max = INT64_MAX,
	.slot_min = INT64_MIN,
	.slot_max = INT64_MAX,
	.memcg_max = UINT16_MAX,
	.memcgs = UINT64_MAX,
	.kinds = UINT32_MAX,
};

/* The integers that a value allows; false if that cannot be told (a text, a blob, NULL). */
static bool range_of(sqlite3_value *value, char op, int64_t range[2])
{
	int type = sqlite3_value_type(value);
	double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;

	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(fabs(real) < 9e18))
		return false;
	range[0] = range[1] = sqlite3_value_int64(value);
	if (type == SQLITE_FLOAT) {
		range[0] = (int64_t)floor(real);
		range[1] = (int64_t)ceil(real);
	}
	if (op == '<')
		range[0] = INT64_MIN;
	if (op == '>')
		range[1] = INT64_MAX;
	return true;
}

static void narrow(int64_t *min, int64_t *max, const int64_t range[2])
{
	if (range[0] > *min)
		*min = range[0];
	if (range[1] < *max)
		*max = range[1];
}

static uint32_t kinds_of(sqlite3_value *value)
{
	const char *name = (const char *)sqlite3_value_text(value);
	uint32_t kinds = 0;

	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		if (name && !strcmp(db_kind_name(kind), name))
			kinds |= 1u << kind;
	return kinds;
}

static void take_term(struct db_vtab_bounds *bounds, const char term[2], sqlite3_value *value)
{
	int64_t range[2];

	if (term[0] == 'k') {
		bounds->kinds &= kinds_of(value);
		return;
	}
	if (!range_of(value, term[1], range))
		return;
	if (term[0] == 'h')
		narrow(&bounds->host_min, &bounds->host_max, range);
	if (term[0] == 't')
		narrow(&bounds->time_min, &bounds->time_max, range);
	if (term[0] == 's') {
		bounds->slots_only = true;
		narrow(&bounds->slot_min, &bounds->slot_max, range);
	}
	if (term[0] == 'm')
		narrow(&bounds->memcg_min, &bounds->memcg_max, range);
}

static struct db_vtab_bounds bounds_of(const char *plan, int n, sqlite3_value **values)
{
	struct db_vtab_bounds bounds = all;

	for (int i = 0; i < n; i++)
		take_term(&bounds, plan + 2 * i, values[i]);
	if (bounds.memcg_min == bounds.memcg_max)
		bounds.memcgs = (uint64_t)1 << (uint64_t)bounds.memcg_min % 64;
	return bounds;
}

/* --------------------------------------------------------------------------------------- chunks */

/* The chunks that may hold what is asked for. `slot_min` of a chunk is a lower bound for its
 * events' slots, and slot_max an upper one. */
static const char chunks_statement[] =
	"SELECT id, host, " DB_SPAN_COLUMNS ", data "
	"FROM main.chunk WHERE host BETWEEN ?1 AND ?2 AND last_ns >= ?3 AND first_ns <= ?4 "
	"AND (NOT ?5 OR (slot_max >= ?6 AND slot_min <= ?7 AND slot_min <= slot_max)) "
	"AND memcgs & ?8 AND kinds & ?9 ORDER BY host, first_ns, id";

static int start_chunks(struct db_vtab_cursor *cursor)
{
	const struct db_vtab_bounds *b = &cursor->bounds;
	const int64_t values[] = { b->host_min, b->host_max,	    b->time_min,
				   b->time_max, b->slots_only,	    b->slot_min,
				   b->slot_max, (int64_t)b->memcgs, b->kinds };
	sqlite3 *sql = ((struct db_vtab *)cursor->base.pVtab)->sql;
	int rc = SQLITE_OK;

	if (!cursor->chunks)
		rc = sqlite3_prepare_v2(sql, chunks_statement, -1, &cursor->chunks, NULL);
	if (rc != SQLITE_OK)
		return db_vtab_fail(cursor, rc, "read its chunks");
	sqlite3_reset(cursor->chunks);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && rc == SQLITE_OK; i++)
		rc = sqlite3_bind_int64(cursor->chunks, (int)i + 1, values[i]);
	return rc;
}

static int rc_of(enum zr_err err)
{
	return err == ZR_NOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
}

static int decode(struct db_vtab_cursor *cursor)
{
	struct db_vtab *table = (struct db_vtab *)cursor->base.pVtab;
	const void *data = sqlite3_column_blob(cursor->chunks, 9);
	size_t bytes = (size_t)sqlite3_column_bytes(cursor->chunks, 9);
	int64_t id = sqlite3_column_int64(cursor->chunks, 0);
	char name[40];
	enum zr_err err;

	/* A join comes back to the same chunk again and again. */
	if (id == cursor->chunk)
		return SQLITE_OK;
	sqlite3_snprintf(sizeof(name), name, "chunk %lld", id);
	cursor->chunk = -1;
	cursor->path_host = -1;
	err = db_chunk_decode(cursor->codec, name, data, data ? bytes : 0, &cursor->batch);
	if (!err)
		err = db_chunk_check_row(cursor->codec, name, db_span_of_row(cursor->chunks, 2));
	if (err)
		return db_vtab_fail(cursor, rc_of(err), NULL);
	cursor->chunk = id;
	++*table->chunks_decoded;
	return SQLITE_OK;
}

/* The order of chunks is promised to SQLite (is_ordered), so it is not taken on trust. */
static int check_order(struct db_vtab_cursor *cursor)
{
	uint32_t host = (uint32_t)sqlite3_column_int64(cursor->chunks, 1);
	uint64_t first_ns = cursor->batch.time_ns[0];

	if (host == cursor->batch.host && first_ns < cursor->last_ns) {
		(void)!zr_fail(
			ZR_CORRUPT,
			"chunk %lld: begins at %llu ns, before the end of the chunk before it",
			(long long)cursor->chunk, (unsigned long long)first_ns);
		return db_vtab_fail(cursor, SQLITE_CORRUPT_VTAB, NULL);
	}
	cursor->batch.host = host;
	cursor->last_ns = cursor->batch.time_ns[cursor->batch.n - 1];
	return SQLITE_OK;
}

static int next_chunk(struct db_vtab_cursor *cursor)
{
	int rc = sqlite3_step(cursor->chunks);

	cursor->row = 0;
	if (rc == SQLITE_ROW) {
		rc = decode(cursor);
		return rc == SQLITE_OK ? check_order(cursor) : rc;
	}
	cursor->end = true;
	return rc == SQLITE_DONE ? SQLITE_OK : db_vtab_fail(cursor, rc, "read its chunks");
}

/* ----------------------------------------------------------------------------------------- rows */

static bool is_wanted(const struct db_vtab_cursor *cursor)
{
	const struct db_vtab_bounds *b = &cursor->bounds;
	const struct db_batch *batch = &cursor->batch;
	uint32_t i = cursor->row;
	int64_t time_ns = (int64_t)batch->time_ns[i], slot = batch->slot[i];

	return time_ns >= b->time_min && time_ns <= b->time_max && b->kinds >> batch->kind[i] & 1 &&
	       batch->memcg[i] >= b->memcg_min && batch->memcg[i] <= b->memcg_max &&
	       (!b->slots_only || (slot >= b->slot_min && slot <= b->slot_max));
}

/* Goes on to the first wanted row at or after the cursor. */
static int seek(struct db_vtab_cursor *cursor)
{
	int rc = SQLITE_OK;

	while (!cursor->end && rc == SQLITE_OK) {
		for (; cursor->row < cursor->batch.n; cursor->row++)
			if (is_wanted(cursor))
				return SQLITE_OK;
		rc = next_chunk(cursor);
	}
	return rc;
}

/* -------------------------------------------------------------------------------------- methods */

static int connect(sqlite3 *sql, void *chunks_decoded, int argc, const char *const *argv,
		   sqlite3_vtab **out, char **error)
{
	struct db_vtab *table;
	int rc = sqlite3_declare_vtab(sql, db_vtab_declaration);

	(void)argc, (void)argv, (void)error;
	if (rc != SQLITE_OK)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct db_vtab){ .sql = sql, .chunks_decoded = chunks_decoded };
	*out = &table->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct db_vtab_cursor *cursor = (struct db_vtab_cursor *)base;

	sqlite3_finalize(cursor->chunks);
	sqlite3_finalize(cursor->paths);
	db_codec_free(cursor->codec);
	zr_arena_fini(&cursor->arena);
	free(cursor);
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct db_vtab_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->base.pVtab = table;
	cursor->chunk = cursor->path_host = -1;
	if (db_batch_init(&cursor->batch, &cursor->arena) || db_codec_new(0, &cursor->codec)) {
		zr_error_clear();
		close_cursor(&cursor->base);
		return SQLITE_NOMEM;
	}
	*out = &cursor->base;
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int n,
		  sqlite3_value **values)
{
	struct db_vtab_cursor *cursor = (struct db_vtab_cursor *)base;
	int rc;

	(void)number;
	cursor->bounds = bounds_of(plan, n, values);
	cursor->end = false;
	cursor->last_ns = 0;
	rc = start_chunks(cursor);
	if (rc == SQLITE_OK)
		rc = next_chunk(cursor);
	return rc == SQLITE_OK ? seek(cursor) : rc;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct db_vtab_cursor *cursor = (struct db_vtab_cursor *)base;

	cursor->row++;
	return seek(cursor);
}

static int is_end(sqlite3_vtab_cursor *base)
{
	return ((struct db_vtab_cursor *)base)->end;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
	return db_vtab_get_column((struct db_vtab_cursor *)base, result, column);
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	const struct db_vtab_cursor *cursor = (struct db_vtab_cursor *)base;

	*rowid = (sqlite3_int64)((uint64_t)cursor->chunk * DB_BATCH_EVENTS + cursor->row);
	return SQLITE_OK;
}

/* Without xCreate it is there by its name alone, and nothing has to be stored in the file. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = is_end,
	.xColumn = get_column,
	.xRowid = get_rowid,
};

static void get_decoded(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const uint64_t *count = sqlite3_user_data(result);

	(void)argc, (void)argv;
	sqlite3_result_int64(result, (sqlite3_int64)*count);
}

int db_vtab_register(sqlite3 *sql, const uint64_t **chunks_decoded)
{
	uint64_t *count = sqlite3_malloc(sizeof(*count));
	int rc;

	if (!count)
		return SQLITE_NOMEM;
	*count = 0;
	/* When this fails, it frees the counter itself. */
	rc = sqlite3_create_module_v2(sql, "events", &module, count, sqlite3_free);
	if (rc != SQLITE_OK)
		return rc;
	*chunks_decoded = count;
	return sqlite3_create_function_v2(sql, "events_chunks_decoded", 0,
					  SQLITE_UTF8 | SQLITE_DIRECTONLY, count, get_decoded, NULL,
					  NULL, NULL);
}
