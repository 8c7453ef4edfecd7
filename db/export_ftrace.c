/* SPDX-License-Identifier: MIT */
/*
 * Export as ftrace text: the records from which `zreel import` makes these events again, one for one.
 *
 * An event is what lies between the entry and the return of a function, so it becomes two lines or more,
 * all at the event's time:
 *
 *   OUT stored    store, len (of each page), store_ret 1     IN zswap, disk   load, load_ret 1, 0
 *       refused   store, [len,] store_ret 0                     zero          fault, read, fault_ret
 *       kept      out, [len,] store_ret 0, out_ret 0x80000       read-ahead    in a fault of another slot
 *       zero      out, out_ret                               WB               wb, write if it was, wb_ret
 *       refused,  out, write, out_ret                        FREE             free
 *       no reason                                            RECLAIM          slab, count_ret
 *   SCAN, SHRINK  scan, scan_ret; shrink, shrink_ret         WORKER           worker
 *   GAP           [LOST n EVENTS]                            IO               block_rq_*
 *
 * Ids are given out anew by an import, in the order in which it meets them. So the text begins with a
 * fault of every task and cgroup in the order of their ids: that makes no event, and the ids come out the
 * same. What it is of the rest that the text cannot carry:
 *
 *   everything   DB_F_UNKNOWN, and the owner of a FREE (and of an IN or WB where it is 0): an import works
 *                them out from the gaps and swap-outs that the text shows; comments carry the environment
 *   OUT          the reasons MEMCG_LIMIT and OFF, LIMIT of a large folio, and the length beside a reason
 *                that says there is none; orders above 10
 *   IN           a failed read (becomes one from disk); WB: ROTATED (becomes FAILED)
 *   area         its number is that of its first use; its type is kept. Two areas of one type become one
 *   task         0, nobody: becomes a task of its own; two tasks of one tid become two tids
 *   GAP          where the events were lost: becomes IMPORT
 *   IO           an import does not know where the area lies on its disk, so it skips requests
 *   SAMPLE       nothing
 *
 * Events with such a difference are counted as changed (but for the first line), those that have no text
 * as dropped.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/edit_slots.h"
#include "db/export.h"

enum {
	TID_OF_NOBODY = 4194304, /* the kernel's pids end below it */
	ORDER_MAX = 10,		 /* that an import takes */
	HEAD_FLAG = 0x40,	 /* of page flags: a large folio */
	KEPT_RETURN = 0x80000,
	TYPE_SHIFT = 58,
	TYPES = 32,
	PAGE_BYTES = 4096,	 /* a longer object is refused as not worth it */
	FILLERS_MAX = 65536,
	NO_TYPE = TYPES - 1,	 /* of areas that are not listed */
};

struct ftrace {
	struct db_export ex;
	struct zr_arena arena;
	uint32_t *tids; /* of task ids below n_tids, 0 = not listed */
	uint32_t n_tids, max_memcg;
	struct db_area areas[DB_AREA_MAX + 1];
	bool listed[DB_AREA_MAX + 1];
	uint32_t slot_sectors;
	bool began;
	uint32_t last_tid;
	struct db_event folio;	/* stored, whose parts are being written */
	uint32_t parts_due;
	bool in_folio;
};

/* ----------------------------------------------------------------------------------------- lines */

struct place {
	uint64_t time_ns;
	uint32_t tid;
};

static void line(struct ftrace *f, struct place at, const char *event, const char *fields)
{
	fprintf(f->ex.out, "            task-%-7" PRIu32 " [000] ..... %5" PRIu64 ".%09" PRIu64 ": %s: (0)%s\n",
		at.tid, at.time_ns / 1'000'000'000, at.time_ns % 1'000'000'000, event, fields);
	f->last_tid = at.tid;
	f->ex.result->records++;
}

/* The text of an event's fields. */
struct fields {
	char text[160];
};

static struct fields fields(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static struct fields fields(const char *fmt, ...)
{
	struct fields out;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out.text, sizeof(out.text), fmt, ap);
	va_end(ap);
	return out;
}

static void line_ret(struct ftrace *f, struct place at, const char *event, int64_t ret)
{
	line(f, at, event, fields(" ret=%" PRId64, ret).text);
}

static void line_len(struct ftrace *f, struct place at, uint32_t len)
{
	line(f, at, "len", fields(" len=%" PRIu32, len).text);
}

static uint32_t tid_of(const struct ftrace *f, uint32_t task)
{
	if (task < f->n_tids && f->tids[task])
		return f->tids[task];
	return TID_OF_NOBODY + task;
}

static struct place place_of(const struct ftrace *f, const struct db_event *e)
{
	return (struct place){ e->time_ns, tid_of(f, e->task) };
}

static uint64_t swp_at(const struct ftrace *f, uint8_t area, uint32_t slot)
{
	uint32_t type = f->listed[area] ? f->areas[area].type % TYPES : NO_TYPE;

	return (uint64_t)type << TYPE_SHIFT | slot;
}

/* Swap entry and owner, which most events show. */
static struct fields slot_fields(const struct ftrace *f, const struct db_event *e)
{
	return fields(" swp=0x%" PRIx64 " memcg=0x%x", swp_at(f, e->area, e->slot), e->memcg);
}

static struct fields folio_fields(const struct ftrace *f, const struct db_event *e)
{
	return fields(" swp=0x%" PRIx64 " flags=0x%x flags1=0x%x memcg=0x%x",
		      swp_at(f, e->area, e->slot), e->order ? HEAD_FLAG : 0, e->order, e->memcg);
}

/* ------------------------------------------------------------------------------------------- OUT */

/* Whether an import finds this reason again; a `len` line goes with it if the object got that far. */
static bool reason_is_kept(const struct db_event *e, bool *with_len)
{
	*with_len = false;
	switch (db_flags_reason(e->flags)) {
	case DB_REASON_COMPRESS:
		*with_len = true;
		return !e->len;
	case DB_REASON_ALLOC:
		*with_len = e->len <= PAGE_BYTES;
		return *with_len;
	case DB_REASON_LIMIT:
		return !e->order && !e->len;
	case DB_REASON_LARGE:
		return e->order && !e->len;
	default:
		return false;
	}
}

static void end_folio(struct ftrace *f)
{
	if (!f->in_folio)
		return;
	line_ret(f, place_of(f, &f->folio), "store_ret", 1);
	/* An import makes an event of every page. */
	f->ex.result->changed += f->parts_due > 0;
	f->in_folio = false;
	f->parts_due = 0;
}

static bool out_stored(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);

	line(f, at, "store", folio_fields(f, e).text);
	line_len(f, at, e->len);
	f->folio = *e;
	f->in_folio = true;
	f->parts_due = (1u << e->order) - 1;
	if (!f->parts_due)
		end_folio(f);
	return !db_flags_reason(e->flags);
}

static bool out_part(struct ftrace *f, const struct db_event *e)
{
	if (!f->in_folio || !f->parts_due) {
		f->ex.result->dropped++;
		return true;
	}
	line_len(f, place_of(f, e), e->len);
	if (!--f->parts_due)
		end_folio(f);
	return true;
}

/* Of a page that did not compress there is no length: text says so by one that no page has. */
static uint32_t refused_len(const struct db_event *e)
{
	return db_flags_reason(e->flags) == DB_REASON_COMPRESS ? PAGE_BYTES + 1 : e->len;
}

static bool out_refused_somehow(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);

	line(f, at, "out", folio_fields(f, e).text);
	line(f, at, "write", slot_fields(f, e).text);
	line_ret(f, at, "out_ret", 0);
	return !e->len;
}

static bool out_refused(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);
	bool kept, with_len;

	if (db_flags_reason(e->flags) == DB_REASON_UNKNOWN)
		return out_refused_somehow(f, e);
	kept = reason_is_kept(e, &with_len);
	line(f, at, "store", folio_fields(f, e).text);
	if (with_len)
		line_len(f, at, refused_len(e));
	line_ret(f, at, "store_ret", 0);
	return kept;
}

static bool out_kept(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);
	bool with_len, kept = reason_is_kept(e, &with_len);

	line(f, at, "out", folio_fields(f, e).text);
	if (with_len)
		line_len(f, at, refused_len(e));
	line_ret(f, at, "store_ret", 0);
	line_ret(f, at, "out_ret", KEPT_RETURN);
	return kept;
}

static bool out_zero(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);

	line(f, at, "out", folio_fields(f, e).text);
	line_ret(f, at, "out_ret", 0);
	return !e->len && !db_flags_reason(e->flags);
}

static bool put_out(struct ftrace *f, const struct db_event *e)
{
	static bool (*const outcomes[])(struct ftrace *, const struct db_event *) = {
		[DB_OUT_STORED] = out_stored,
		[DB_OUT_REJECTED] = out_refused,
		[DB_OUT_ZERO] = out_zero,
		[DB_OUT_KEPT] = out_kept,
	};
	struct db_event cut = *e;

	if (e->flags & DB_F_PART)
		return out_part(f, e);
	end_folio(f);
	if (cut.order > ORDER_MAX)
		cut.order = ORDER_MAX;
	return outcomes[db_flags_outcome(e->flags)](f, &cut) && cut.order == e->order;
}

/* ----------------------------------------------------------------------------- what slots undergo */

static bool put_in(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);
	unsigned outcome = db_flags_outcome(e->flags);
	bool fault = outcome == DB_IN_ZERO || e->flags & DB_F_READAHEAD;
	/* The page that was asked for is another than the one that was read ahead. */
	uint32_t asked = e->flags & DB_F_READAHEAD ? e->slot ^ 1 : e->slot;

	if (fault)
		line(f, at, "fault", fields(" swp=0x%" PRIx64, swp_at(f, e->area, asked)).text);
	if (outcome == DB_IN_ZERO) {
		line(f, at, "read", slot_fields(f, e).text);
	} else {
		line(f, at, "load", slot_fields(f, e).text);
		line_ret(f, at, "load_ret", outcome == DB_IN_ZSWAP);
	}
	if (fault)
		line(f, at, "fault_ret", "");
	return outcome != DB_IN_ERROR && !e->len && !e->order;
}

static bool put_free(struct ftrace *f, const struct db_event *e)
{
	struct place at = { e->time_ns, e->task ? tid_of(f, e->task) : 0 };
	uint64_t swp = swp_at(f, e->area, e->slot);

	if (e->len > 1)
		line(f, at, "free", fields(" swp=0x%" PRIx64 " nr=%u", swp, e->len).text);
	else
		line(f, at, "free", fields(" swp=0x%" PRIx64, swp).text);
	return !e->order;
}

static bool put_wb(struct ftrace *f, const struct db_event *e)
{
	static const int returns[] = { [DB_WB_WRITTEN] = 0,
				       [DB_WB_EXISTS] = -17,
				       [DB_WB_NOMEM] = -12,
				       [DB_WB_ROTATED] = -5,
				       [DB_WB_FAILED] = -5 };
	struct place at = place_of(f, e);

	line(f, at, "wb",
	     fields(" swp=0x%" PRIx64 " memcg=0x%x len=%u", swp_at(f, e->area, e->slot), e->memcg,
		    e->len)
		     .text);
	if (db_flags_outcome(e->flags) == DB_WB_WRITTEN)
		line(f, at, "write", fields(" swp=0x%" PRIx64, swp_at(f, e->area, e->slot)).text);
	line_ret(f, at, "wb_ret", returns[db_flags_outcome(e->flags)]);
	return db_flags_outcome(e->flags) != DB_WB_ROTATED && !e->order;
}

/* --------------------------------------------------------------------------- reclaim and shrinkers */

static bool put_reclaim(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);

	line(f, at, "slab", fields(" nid=%u memcg=0x%x prio=%u", e->len, e->memcg, e->order).text);
	line_ret(f, at, "count_ret", e->slot);
	return !e->area;
}

/* A return that never came: the next fault of the task tells the import so. */
static void put_no_return(struct ftrace *f, struct place at)
{
	line(f, at, "fault", " swp=0x0");
	line(f, at, "fault_ret", "");
}

static bool put_scan(struct ftrace *f, const struct db_event *e)
{
	struct place at = place_of(f, e);
	bool stopped = e->flags & 1, unknown = e->flags & DB_F_UNKNOWN;

	line(f, at, "scan", fields(" nr=%" PRIu32 " memcg=0x%x", e->slot, e->memcg).text);
	if (unknown)
		put_no_return(f, at);
	else
		line_ret(f, at, "scan_ret", stopped ? -1 : e->len);
	return !e->order && !e->area && !((stopped || unknown) && e->len) && !(unknown && stopped);
}

static bool put_shrink(struct ftrace *f, const struct db_event *e)
{
	static const int returns[] = { [DB_SHRINK_OK] = 0,
				       [DB_SHRINK_AGAIN] = -11,
				       [DB_SHRINK_EMPTY] = -2 };
	struct place at = place_of(f, e);
	bool unknown = e->flags & DB_F_UNKNOWN;

	line(f, at, "shrink", fields(" memcg=0x%x", e->memcg).text);
	if (unknown)
		put_no_return(f, at);
	else
		line_ret(f, at, "shrink_ret", returns[db_flags_outcome(e->flags)]);
	return !e->order && !e->area && !e->slot && !e->len &&
	       !(unknown && db_flags_outcome(e->flags));
}

static bool put_worker(struct ftrace *f, const struct db_event *e)
{
	struct place at = { e->time_ns, e->task ? tid_of(f, e->task) : 0 };

	line(f, at, "worker", "");
	return !e->order && !e->area && !e->slot && !e->len && !e->memcg;
}

/* ---------------------------------------------------------------------------------- gaps, requests */

static bool put_gap(struct ftrace *f, const struct db_event *e)
{
	struct place at = { e->time_ns, f->last_tid };

	/* A return without an entry makes no event; the loss is taken to be at the time before it. */
	line(f, at, "fault_ret", "");
	fprintf(f->ex.out, "CPU:%u [LOST %" PRIu32 " EVENTS]\n", e->len, e->slot);
	f->ex.result->records++;
	return db_flags_outcome(e->flags) == DB_GAP_IMPORT && !e->task && !e->memcg;
}

static bool put_io(struct ftrace *f, const struct db_event *e)
{
	static const char *const names[] = { [DB_IO_ISSUE] = "block_rq_issue",
					     [DB_IO_COMPLETE] = "block_rq_complete",
					     [DB_IO_MERGE] = "block_rq_merge" };
	static const char letters[] = "RWD";
	const struct db_area *area = &f->areas[e->area];
	struct place at = { e->time_ns, e->task ? tid_of(f, e->task) : 0 };
	unsigned phase = e->flags >> DB_IO_PHASE_SHIFT & 7;

	if (!f->listed[e->area] || area->is_file || !area->major) {
		f->ex.result->dropped++;
		return true;
	}
	fprintf(f->ex.out,
		"            task-%-7" PRIu32 " [000] ..... %5" PRIu64 ".%09" PRIu64
		": %s: %u,%u %c %u () %" PRIu64 " + %u [task]\n",
		at.tid, at.time_ns / 1'000'000'000, at.time_ns % 1'000'000'000, names[phase],
		area->major, area->minor, letters[e->flags & 3], 512u * e->len,
		area->start_sector + (uint64_t)e->slot * f->slot_sectors, e->len);
	f->ex.result->records++;
	return false;
}

static bool put_sample(struct ftrace *f, const struct db_event *e)
{
	(void)e;
	f->ex.result->dropped++;
	return true;
}

/* ---------------------------------------------------------------------------------------- the head */

/*
 * A text as a comment of one line, which may end on a screen: all but printable ASCII as \xNN, for what is
 * harmful among the rest (C1, marks of direction, broken UTF-8) takes a table that this layer has not.
 */
static void put_comment(struct ftrace *f, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c > '~' || c == '\\')
			fprintf(f->ex.out, "\\x%02x", c);
		else
			fputc(c, f->ex.out);
	}
}

static enum zr_err put_environment(struct ftrace *f)
{
	struct db_env *env;
	size_t n;
	enum zr_err err = db_env_all(f->ex.db, &f->arena, &env, &n);

	fputs("# tracer: nop\n#\n", f->ex.out);
	for (size_t i = 0; i < n && !err; i++) {
		if (env[i].host != f->ex.part.host)
			continue;
		fputs("# ", f->ex.out);
		put_comment(f, env[i].key);
		fputs(" = ", f->ex.out);
		put_comment(f, env[i].value);
		fputc('\n', f->ex.out);
	}
	return err;
}

static enum zr_err load_memcgs(struct ftrace *f)
{
	struct db_memcg *memcgs;
	size_t n;
	enum zr_err err = db_memcgs(f->ex.db, f->ex.part.host, &f->arena, &memcgs, &n);

	for (size_t i = 0; i < n && !err; i++) {
		f->max_memcg = memcgs[i].id;
		fprintf(f->ex.out, "# memcg 0x%x = ", memcgs[i].id);
		put_comment(f, *memcgs[i].path ? memcgs[i].path : "unknown");
		fputc('\n', f->ex.out);
	}
	return err;
}

static int compare_tid(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Of tasks with one tid only the first keeps it. */
static enum zr_err drop_twin_tids(struct ftrace *f, struct db_task *tasks, size_t n)
{
	uint32_t *used = zr_arena_array(&f->arena, n + 1, sizeof(*used));
	size_t n_used = 0;

	if (!used)
		return zr_fail(ZR_NOMEM, "no memory for %zu tasks", n);
	for (size_t i = 0; i < n; i++)
		used[i] = tasks[i].tid;
	qsort(used, n, sizeof(*used), compare_tid);
	/* Only the tids that are there twice stay. */
	for (size_t i = 1; i < n; i++)
		if (used[i] == used[i - 1])
			used[n_used++] = used[i];
	for (size_t i = 0; i < n; i++)
		if (n_used && bsearch(&tasks[i].tid, used, n_used, sizeof(*used), compare_tid))
			tasks[i].tid = 0;
	return ZR_OK;
}

static enum zr_err load_tasks(struct ftrace *f)
{
	struct db_task *tasks;
	size_t n;
	enum zr_err err = db_tasks(f->ex.db, f->ex.part.host, &f->arena, &tasks, &n);
	uint32_t last = !err && n ? tasks[n - 1].id : 0;

	if (!err)
		err = drop_twin_tids(f, tasks, n);
	/* Ids with wide holes cannot come out the same anyway. */
	f->n_tids = last <= n + FILLERS_MAX ? last + 1 : (uint32_t)n + FILLERS_MAX;
	f->tids = zr_arena_array(&f->arena, f->n_tids, sizeof(*f->tids));
	if (!err && !f->tids)
		err = zr_fail(ZR_NOMEM, "no memory for %zu tasks", n);
	for (size_t i = 0; i < n && !err; i++)
		if (tasks[i].id < f->n_tids)
			f->tids[tasks[i].id] = tasks[i].tid;
	return err;
}

static enum zr_err load_areas(struct ftrace *f)
{
	struct db_area *areas;
	size_t n;
	enum zr_err err = db_areas(f->ex.db, f->ex.part.host, &f->arena, &areas, &n);

	for (size_t i = 0; i < n && !err; i++) {
		f->areas[areas[i].id] = areas[i];
		f->listed[areas[i].id] = true;
		fprintf(f->ex.out, "# swap type %u = ", areas[i].type);
		put_comment(f, *areas[i].path ? areas[i].path : "unknown");
		fputc('\n', f->ex.out);
	}
	return err;
}

/* Makes an import give out the ids that these tasks and cgroups have. */
static void put_ids(struct ftrace *f, uint64_t time_ns)
{
	uint32_t tasks = f->n_tids ? f->n_tids - 1 : 0;
	uint32_t n = tasks > f->max_memcg ? tasks : f->max_memcg;

	for (uint32_t i = 1; i <= n; i++) {
		struct place at = { time_ns, tid_of(f, i <= tasks ? i : tasks) };

		line(f, at, "fault",
		     fields(" swp=0x0 memcg=0x%x", i <= f->max_memcg ? i : 0).text);
		line(f, at, "fault_ret", "");
	}
}

static enum zr_err load(struct ftrace *f)
{
	enum zr_err err = put_environment(f);

	if (!err)
		err = load_memcgs(f);
	if (!err)
		err = load_tasks(f);
	if (!err)
		err = load_areas(f);
	f->slot_sectors = db_slot_sectors(f->ex.db, f->ex.part.host);
	return err;
}

/* ----------------------------------------------------------------------------------------- events */

static bool (*const puts_of_kinds[DB_KIND_COUNT])(struct ftrace *, const struct db_event *) = {
	[DB_OUT] = put_out,	    [DB_IN] = put_in,	    [DB_FREE] = put_free,
	[DB_WB] = put_wb,	    [DB_RECLAIM] = put_reclaim, [DB_SCAN] = put_scan,
	[DB_WORKER] = put_worker, [DB_SHRINK] = put_shrink,	[DB_IO] = put_io,
	[DB_SAMPLE] = put_sample, [DB_GAP] = put_gap,
};

/* Kinds that an import drops when they are of nobody. */
enum {
	NEED_TASK = 1 << DB_OUT | 1 << DB_IN | 1 << DB_WB | 1 << DB_RECLAIM | 1 << DB_SCAN |
		    1 << DB_SHRINK,
};

static bool area_is_kept(const struct ftrace *f, const struct db_event *e)
{
	return !db_event_slots(e, f->slot_sectors).n || (e->area && f->listed[e->area]);
}

static enum zr_err take(void *arg, const struct db_event *e)
{
	struct ftrace *f = arg;
	bool part = e->kind == DB_OUT && e->flags & DB_F_PART;
	uint64_t dropped = f->ex.result->dropped;
	bool same = e->task || !(NEED_TASK >> e->kind & 1);

	if (!f->began)
		put_ids(f, e->time_ns);
	f->began = true;
	if (!part)
		end_folio(f);
	same &= puts_of_kinds[e->kind](f, e);
	same &= area_is_kept(f, e);
	f->ex.result->events++;
	f->ex.result->changed += !same && f->ex.result->dropped == dropped;
	return ZR_OK;
}

enum zr_err db_export_ftrace(struct db *db, const struct db_selection *selection,
			     const struct db_watch *watch, FILE *out, struct db_export_result *result)
{
	struct ftrace f = {
		.ex = { .db = db, .selection = *selection, .out = out, .result = result }
	};
	enum zr_err err = db_export_begin(&f.ex, 0, watch);

	if (!err)
		err = load(&f);
	if (!err)
		err = db_export_each(&f.ex, &f, take);
	if (!err)
		end_folio(&f);
	db_export_end(&f.ex);
	zr_arena_fini(&f.arena);
	return err;
}
