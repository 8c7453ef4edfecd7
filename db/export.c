/* SPDX-License-Identifier: MIT */
/* Exports to fio and to cache simulators; see export.h. */
#include "db/export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/bytes.h"
#include "db/edit_slots.h"

/* ---------------------------------------------------------------------------------- what all do */

static enum zr_err pick_host(struct db_export *ex)
{
	struct zr_arena arena = { 0 };
	struct db_part *parts;
	size_t n, with_events = 0;
	enum zr_err err = db_parts(ex->db, &ex->selection, &arena, &parts, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (with_events && !parts[i].events)
			continue;
		with_events += parts[i].events > 0;
		ex->part = parts[i];
	}
	if (!err && with_events > 1)
		err = zr_fail(
			ZR_USAGE,
			"%s: holds events of %zu hosts, and this format has room for one: choose "
			"it with --host",
			ex->db->path, with_events);
	zr_arena_fini(&arena);
	ex->selection.one_host = true;
	ex->selection.host = ex->part.host;
	return err;
}

enum zr_err db_export_begin(struct db_export *ex, uint32_t kinds, const struct db_watch *watch)
{
	uint32_t *asked = &ex->selection.kinds;
	enum zr_err err;

	*ex->result = (struct db_export_result){ 0 };
	if (kinds && *asked && !(*asked & kinds))
		return zr_fail(ZR_USAGE, "this format has no events of these kinds");
	if (kinds)
		*asked = *asked ? *asked & kinds : kinds;
	err = pick_host(ex);
	return err ? err : db_selector_new(ex->db, &ex->selection, watch, &ex->selector);
}

void db_export_end(struct db_export *ex)
{
	db_selector_free(ex->selector);
	ex->selector = NULL;
}

enum zr_err db_export_each(struct db_export *ex, void *arg,
			   enum zr_err (*take)(void *arg, const struct db_event *event))
{
	const struct db_batch *batch;
	enum zr_err err;

	while (!(err = db_selector_next(ex->selector, &batch)) && batch) {
		for (uint32_t row = 0; row < batch->n && !err; row++) {
			struct db_event event = db_batch_event(batch, row);

			err = take(arg, &event);
		}
		if (err)
			return err;
		if (ferror(ex->out))
			return zr_fail_errno(errno, "writing the export of %s", ex->db->path);
	}
	return err;
}

static uint32_t page_bytes(struct db_export *ex)
{
	return 512 * db_slot_sectors(ex->db, ex->part.host);
}

/* ------------------------------------------------------------------------------------------ fio */

struct fio {
	struct db_export ex;
	uint32_t page_bytes;
	bool any;
	uint64_t first_ns, last_us;
	bool open[DB_AREA_MAX + 1];
};

static void fio_open_area(struct fio *fio, uint8_t area)
{
	if (fio->open[area])
		return;
	fio->open[area] = true;
	fprintf(fio->ex.out, "%" PRIu64 " swap-area-%u add\n%" PRIu64 " swap-area-%u open\n",
		fio->last_us, area, fio->last_us, area);
}

static void fio_request(struct fio *fio, const struct db_event *e)
{
	static const char *const actions[] = {
		[DB_IO_READ] = "read", [DB_IO_WRITE] = "write", [DB_IO_DISCARD] = "trim"
	};

	if (!fio->any)
		fio->first_ns = e->time_ns;
	fio->any = true;
	fio->last_us = (e->time_ns - fio->first_ns) / 1000;
	fio_open_area(fio, e->area);
	fprintf(fio->ex.out, "%" PRIu64 " swap-area-%u %s %" PRIu64 " %u\n", fio->last_us, e->area,
		actions[e->flags & 3], (uint64_t)e->slot * fio->page_bytes, 512u * e->len);
	fio->ex.result->records++;
}

static enum zr_err fio_take(void *arg, const struct db_event *e)
{
	struct fio *fio = arg;
	bool issued = e->kind == DB_IO && (e->flags >> DB_IO_PHASE_SHIFT & 7) == DB_IO_ISSUE;

	fio->ex.result->events += issued;
	if (issued && e->len)
		fio_request(fio, e);
	else
		fio->ex.result->dropped += issued || e->kind == DB_GAP;
	return ZR_OK;
}

static void fio_close_areas(struct fio *fio)
{
	for (unsigned area = 0; area <= DB_AREA_MAX; area++)
		if (fio->open[area])
			fprintf(fio->ex.out, "%" PRIu64 " swap-area-%u close\n", fio->last_us,
				area);
}

enum zr_err db_export_fio(struct db *db, const struct db_selection *selection,
			  const struct db_watch *watch, FILE *out, struct db_export_result *result)
{
	struct fio fio = {
		.ex = { .db = db, .selection = *selection, .out = out, .result = result }
	};
	enum zr_err err = db_export_begin(&fio.ex, 1 << DB_IO | 1 << DB_GAP, watch);

	if (!err) {
		fio.page_bytes = page_bytes(&fio.ex);
		fputs("fio version 3 iolog\n", out);
		err = db_export_each(&fio.ex, &fio, fio_take);
	}
	if (!err && !result->records)
		err = zr_fail(
			ZR_NO_DATA,
			"%s: no request was issued in this selection (was it recorded without "
			"block events?)",
			db->path);
	if (!err)
		fio_close_areas(&fio);
	db_export_end(&fio.ex);
	return err;
}

/* --------------------------------------------------------------------------------------- oracle */

/*
 * The number of the next access is known only when it comes: the record before is then patched, in
 * the window of the last WINDOW records in memory or in the file. Of each slot two numbers are
 * kept.
 */
enum { RECORD_BYTES = 24, AT_NEXT = 16, WINDOW = 65536, HOST_MAX = (1 << 24) - 1 };

struct last_access {
	uint64_t record; /* its number + 1, 0 = none */
	uint32_t bytes;	 /* of the last OUT, 0 = none */
};

struct oracle {
	struct db_export ex;
	struct db_slot_map slots; /* struct last_access */
	uint32_t page_bytes;
	int fd;
	off_t base;	  /* of the first record in the file */
	uint64_t flushed; /* records that are in the file */
	uint64_t n;
	uint8_t *window;
};

static enum zr_err write_at(struct oracle *o, const void *data, size_t bytes, off_t at)
{
	const char *from = data;

	while (bytes) {
		ssize_t done = pwrite(o->fd, from, bytes, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return zr_fail_errno(errno, "writing the export of %s", o->ex.db->path);
		from += done;
		at += done;
		bytes -= (size_t)done;
	}
	return ZR_OK;
}

static off_t place_of(const struct oracle *o, uint64_t record)
{
	return o->base + (off_t)(record * RECORD_BYTES);
}

static enum zr_err flush_window(struct oracle *o)
{
	enum zr_err err =
		write_at(o, o->window, (o->n - o->flushed) * RECORD_BYTES, place_of(o, o->flushed));

	o->flushed = o->n;
	return err;
}

static enum zr_err patch_next(struct oracle *o, uint64_t record, uint64_t next)
{
	uint8_t bytes[8];

	zr_put64(bytes, next);
	if (record < o->flushed)
		return write_at(o, bytes, sizeof(bytes), place_of(o, record) + AT_NEXT);
	memcpy(o->window + (record - o->flushed) * RECORD_BYTES + AT_NEXT, bytes, sizeof(bytes));
	return ZR_OK;
}

static uint32_t seconds_of(const struct oracle *o, const struct db_event *e)
{
	uint64_t seconds = (e->time_ns - o->ex.part.first_ns) / 1'000'000'000;

	return seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
}

static enum zr_err put_record(struct oracle *o, const struct db_event *e, uint32_t slot,
			      uint32_t bytes)
{
	enum zr_err err = o->n - o->flushed == WINDOW ? flush_window(o) : ZR_OK;
	uint8_t *record = o->window + (o->n - o->flushed) * RECORD_BYTES;

	zr_put32(record, seconds_of(o, e));
	zr_put64(record + 4, (uint64_t)o->ex.part.host << 40 | (uint64_t)e->area << 32 | slot);
	zr_put32(record + 12, bytes);
	zr_put64(record + AT_NEXT, UINT64_MAX);
	o->n++;
	o->ex.result->records++;
	return err;
}

/* Bytes that an OUT puts into its slot; 0 = it is none. */
static uint32_t out_bytes(const struct oracle *o, const struct db_event *e)
{
	switch (db_flags_outcome(e->flags)) {
	case DB_OUT_STORED:
		return e->len ? e->len : o->page_bytes;
	case DB_OUT_ZERO:
		return 1;
	case DB_OUT_REJECTED:
		return o->page_bytes;
	default:
		return 0;
	}
}

static enum zr_err access_slot(struct oracle *o, const struct db_event *e, uint32_t slot,
			       uint32_t out)
{
	struct last_access *last = db_slot_map_need(&o->slots, e->area, slot);
	enum zr_err err = ZR_OK;

	if (!last)
		return zr_fail(ZR_LIMIT, "%s: too many different swap slots (memory for %zu MiB)",
			       o->ex.db->path, DB_SLOT_MAP_BYTES >> 20);
	if (last->record)
		err = patch_next(o, last->record - 1, o->n);
	if (out)
		last->bytes = out;
	last->record = o->n + 1;
	if (err)
		return err;
	return put_record(o, e, slot, last->bytes ? last->bytes : o->page_bytes);
}

/* Pages that an OUT event stands for: those of a folio stored page by page have events of their
 * own. */
static uint32_t out_pages(const struct db_event *e)
{
	struct db_slot_range range = db_event_slots(e, 0);

	return db_flags_outcome(e->flags) == DB_OUT_STORED ? 1 : range.n;
}

static enum zr_err oracle_take(void *arg, const struct db_event *e)
{
	struct oracle *o = arg;
	uint32_t bytes = e->kind == DB_OUT ? out_bytes(o, e) : 0;
	uint32_t pages = bytes ? out_pages(e) : 0;
	enum zr_err err = ZR_OK;

	o->ex.result->dropped += e->kind == DB_GAP;
	if (e->kind == DB_IN && db_flags_outcome(e->flags) != DB_IN_ERROR)
		pages = 1;
	o->ex.result->events += pages > 0;
	for (uint32_t i = 0; i < pages && !err; i++)
		err = access_slot(o, e, e->slot + i, bytes);
	return err;
}

static enum zr_err check_output(struct oracle *o)
{
	int flags = fcntl(o->fd, F_GETFL);

	o->base = lseek(o->fd, 0, SEEK_CUR);
	if (o->base < 0 || flags < 0 || flags & O_APPEND)
		return zr_fail(ZR_USAGE, "this format must be written to a file, not to a pipe, a "
					 "terminal or the end of another (-o FILE)");
	if (o->ex.part.host > HOST_MAX)
		return zr_fail(ZR_LIMIT, "host %u: the format has room for numbers up to %d",
			       o->ex.part.host, HOST_MAX);
	return ZR_OK;
}

static enum zr_err oracle_run(struct oracle *o, const struct db_watch *watch)
{
	enum zr_err err = db_export_begin(&o->ex, 1 << DB_OUT | 1 << DB_IN | 1 << DB_GAP, watch);

	if (!err)
		err = check_output(o);
	if (err)
		return err;
	o->page_bytes = page_bytes(&o->ex);
	err = db_export_each(&o->ex, o, oracle_take);
	if (!err)
		err = flush_window(o);
	if (!err && !o->n)
		err = zr_fail(ZR_NO_DATA, "%s: no swap-out and no refault in this selection",
			      o->ex.db->path);
	if (!err && lseek(o->fd, place_of(o, o->n), SEEK_SET) < 0)
		err = zr_fail_errno(errno, "writing the export of %s", o->ex.db->path);
	return err;
}

enum zr_err db_export_oracle(struct db *db, const struct db_selection *selection,
			     const struct db_watch *watch, FILE *out,
			     struct db_export_result *result)
{
	struct oracle o = {
		.ex = { .db = db, .selection = *selection, .out = out, .result = result },
		.slots.item_bytes = sizeof(struct last_access),
		.fd = fileno(out)
	};
	enum zr_err err;

	fflush(out);
	o.window = malloc((size_t)WINDOW * RECORD_BYTES);
	err = o.window ? oracle_run(&o, watch) : zr_fail(ZR_NOMEM, "no memory for the export");
	db_export_end(&o.ex);
	db_slot_map_fini(&o.slots);
	free(o.window);
	return err;
}
