/* SPDX-License-Identifier: MIT */
/*
 * perf.data files, read directly.
 *
 *   head -> attributes (what a sample holds, by event id) -> features (formats of events, kernel)
 * -> data `perf record -o -` writes all that as records of the stream, so it can be read from a
 * pipe
 *
 * Of the data only samples with raw bytes of our events matter, and losses. Packed records (perf
 * record -z) are one zstd stream over the file whose content is records again, which may be cut
 * anywhere.
 *
 * Order: import_sort.h. A file that ends in the middle of a record gives what it has, and a gap.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "db/base/bytes.h"
#include "recorder/import.h"
#include "recorder/import_event.h"
#include "recorder/import_perf_format.h"
#include "recorder/import_sort.h"

enum {
	ATTRS_MAX = 65536,
	IDS_MAX = 16 << 20,
	RECORD_MAX = 65536,
	FEATURE_MAX = 64 << 20,
	NAME_MAX_BYTES = 256,
};

struct attr {
	uint64_t sample_type, read_format;
	bool sample_id_all;
};

struct perf {
	struct rec_import *import;
	const char *path;
	struct rec_events *events;
	struct attr *attrs;
	uint32_t n_attrs, max_attrs;
	bool alike; /* all attributes are */
	struct id {
		uint64_t id;
		uint32_t attr;
	} * ids;
	uint32_t n_ids, max_ids;
	bool ids_sorted;
	struct rec_sort sort;
	ZSTD_DStream *zstd;
	uint8_t *rest; /* of packed records, what is not yet a whole one: RECORD_MAX */
	size_t n_rest;
	bool cut_off;
	uint64_t lost;	      /* as told where it happened */
	uint64_t lost_in_all; /* as told at the end; holds the former */
};

static enum zr_err corrupt(const struct perf *perf, const char *what)
{
	return zr_fail(ZR_CORRUPT, "importing %s: %s: the file is damaged", perf->path, what);
}

/* ----------------------------------------------------------------------------------- attributes */

static bool grow(void **array, uint32_t n, uint32_t *max, size_t bytes)
{
	uint32_t room = *max ? *max * 2 : 64;
	void *bigger;

	if (n < *max)
		return true;
	bigger = realloc(*array, room * bytes);
	if (!bigger)
		return false;
	*array = bigger;
	*max = room;
	return true;
}

static enum zr_err put_clock(struct perf *perf, const uint8_t *attr, size_t bytes)
{
	static const struct {
		int32_t id;
		const char *name;
	} clocks[] = { { CLOCK_MONOTONIC, "mono" },
		       { CLOCK_MONOTONIC_RAW, "mono_raw" },
		       { CLOCK_BOOTTIME, "boot" },
		       { CLOCK_TAI, "tai" },
		       { CLOCK_REALTIME, "realtime" } };
	const char *name = "perf";

	if (bytes >= PERF_ATTR_CLOCKID_END &&
	    zr_get64(attr + PERF_ATTR_FLAGS) >> PERF_ATTR_FLAG_USE_CLOCKID_BIT & 1)
		for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
			if (clocks[i].id == (int32_t)zr_get32(attr + PERF_ATTR_CLOCKID))
				name = clocks[i].name;
	return rec_import_env(perf->import, DB_ENV_CLOCK, name, "file");
}

static enum zr_err add_attr(struct perf *perf, const uint8_t *data, size_t bytes)
{
	struct attr attr;

	if (bytes < PERF_ATTR_MIN_BYTES)
		return corrupt(perf, "an attribute is too short");
	if (perf->n_attrs == ATTRS_MAX ||
	    !grow((void **)&perf->attrs, perf->n_attrs, &perf->max_attrs, sizeof(*perf->attrs)))
		return zr_fail(ZR_LIMIT, "importing %s: more than %u events", perf->path,
			       perf->n_attrs);
	attr = (struct attr){ .sample_type = zr_get64(data + PERF_ATTR_SAMPLE_TYPE),
			      .read_format = zr_get64(data + PERF_ATTR_READ_FORMAT),
			      .sample_id_all = zr_get64(data + PERF_ATTR_FLAGS) >>
						       PERF_ATTR_FLAG_SAMPLE_ID_ALL_BIT &
					       1 };
	if (perf->n_attrs)
		perf->alike &= attr.sample_type == perf->attrs[0].sample_type &&
			       attr.read_format == perf->attrs[0].read_format &&
			       attr.sample_id_all == perf->attrs[0].sample_id_all;
	perf->attrs[perf->n_attrs++] = attr;
	return perf->n_attrs == 1 ? put_clock(perf, data, bytes) : ZR_OK;
}

static enum zr_err add_id(struct perf *perf, uint64_t id)
{
	if (perf->n_ids == IDS_MAX ||
	    !grow((void **)&perf->ids, perf->n_ids, &perf->max_ids, sizeof(*perf->ids)))
		return zr_fail(ZR_LIMIT, "importing %s: more than %u event ids", perf->path,
			       perf->n_ids);
	perf->ids[perf->n_ids++] = (struct id){ id, perf->n_attrs - 1 };
	perf->ids_sorted = false;
	return ZR_OK;
}

static int by_id(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct attr *attr_of(struct perf *perf, uint64_t id)
{
	const struct id key = { .id = id }, *found;

	if (perf->alike)
		return perf->n_attrs ? perf->attrs : NULL;
	if (!perf->ids_sorted && perf->n_ids)
		qsort(perf->ids, perf->n_ids, sizeof(*perf->ids), by_id);
	perf->ids_sorted = true;
	found = perf->n_ids ? bsearch(&key, perf->ids, perf->n_ids, sizeof(key), by_id) : NULL;
	return found ? &perf->attrs[found->attr] : NULL;
}

/* ------------------------------------------------------------------------------ bytes in memory */

struct bytes {
	const uint8_t *at;
	size_t n;
	bool bad;
};

static const uint8_t *take(struct bytes *from, uint64_t n)
{
	const uint8_t *at = from->at;

	if (from->bad || n > from->n) {
		from->bad = true;
		return NULL;
	}
	from->at += n;
	from->n -= n;
	return at;
}

static uint64_t take64(struct bytes *from)
{
	const uint8_t *at = take(from, 8);

	return at ? zr_get64(at) : 0;
}

static uint32_t take32(struct bytes *from)
{
	const uint8_t *at = take(from, 4);

	return at ? zr_get32(at) : 0;
}

/* -------------------------------------------------------------------------------- event formats */

/* A terminated string; NULL if there is none. */
static const char *take_text(struct bytes *from)
{
	const uint8_t *end = from->n ? memchr(from->at, 0, from->n) : NULL;

	if (from->bad || !end) {
		from->bad = true;
		return NULL;
	}
	return (const char *)take(from, (uint64_t)(end - from->at) + 1);
}

static enum zr_err take_system(struct perf *perf, struct bytes *from)
{
	const char *system = take_text(from);
	uint32_t n = take32(from);
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < n && !from->bad; i++) {
		uint64_t bytes = take64(from);
		const char *format = (const char *)take(from, bytes);

		if (format)
			err = rec_events_add_format(perf->events, system, format, bytes);
	}
	return err;
}

/* The magic, a version and a byte order; then sized pieces, of which the formats by system are
 * ours. */
static enum zr_err take_tracing_data(struct perf *perf, const uint8_t *data, size_t bytes)
{
	struct bytes from = { data, bytes, false };
	const uint8_t *magic = take(&from, 10), *order;
	uint32_t n;
	enum zr_err err = ZR_OK;

	take_text(&from); /* version */
	order = take(&from, 2);
	take32(&from); /* page size */
	if (!order || memcmp(magic, "\x17\x08\x44tracing", 10) != 0 || order[0])
		return corrupt(perf, "its formats of events do not begin as they should");
	for (int i = 0; i < 2; i++) { /* header_page, header_event */
		take_text(&from);
		take(&from, take64(&from));
	}
	n = take32(&from); /* formats of ftrace's own events */
	for (uint32_t i = 0; i < n && !from.bad; i++)
		take(&from, take64(&from));
	n = take32(&from);
	for (uint32_t i = 0; !err && i < n && !from.bad; i++)
		err = take_system(perf, &from);
	if (!err && from.bad)
		return corrupt(perf, "its formats of events are cut off");
	return err;
}

static enum zr_err take_feature(struct perf *perf, uint32_t feature, const uint8_t *data,
				size_t bytes)
{
	struct bytes from = { data, bytes, false };
	char text[NAME_MAX_BYTES];
	const uint8_t *at;
	uint32_t n;

	if (feature == PERF_FEATURE_TRACING_DATA)
		return take_tracing_data(perf, data, bytes);
	if (feature != PERF_FEATURE_RELEASE)
		return ZR_OK;
	n = take32(&from);
	at = take(&from, n);
	if (!at)
		return ZR_OK;
	snprintf(text, sizeof(text), "%.*s", (int)(n < sizeof(text) ? n : sizeof(text) - 1),
		 (const char *)at);
	return rec_import_kernel(perf->import, text, "file");
}

/* -------------------------------------------------------------------------------------- samples */

/* READ: one value, or with GROUP several. */
static void skip_read(struct bytes *from, uint64_t format)
{
	uint64_t times = !!(format & PERF_READ_TIME_ENABLED) + !!(format & PERF_READ_TIME_RUNNING);
	uint64_t each = 1 + !!(format & PERF_READ_ID) + !!(format & PERF_READ_LOST);
	uint64_t n = 1;

	if (format & PERF_READ_GROUP) {
		n = take64(from);
		if (n > RECORD_MAX)
			from->bad = true;
	}
	if (!from->bad)
		take(from, 8 * (times + n * each));
}

struct sample {
	uint64_t time_ns;
	uint32_t tid, cpu;
	const uint8_t *raw;
	uint32_t raw_bytes;
};

static void take_sample_head(struct bytes *from, uint64_t type, struct sample *sample)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		take64(from);
	if (type & PERF_SAMPLE_IP)
		take64(from);
	if (type & PERF_SAMPLE_TID) {
		take32(from);
		sample->tid = take32(from);
	}
	if (type & PERF_SAMPLE_TIME)
		sample->time_ns = take64(from);
	if (type & PERF_SAMPLE_ADDR)
		take64(from);
	if (type & PERF_SAMPLE_ID)
		take64(from);
	if (type & PERF_SAMPLE_STREAM_ID)
		take64(from);
	if (type & PERF_SAMPLE_CPU)
		sample->cpu = (uint32_t)take64(from);
	if (type & PERF_SAMPLE_PERIOD)
		take64(from);
}

static bool take_sample(struct bytes *from, const struct attr *attr, struct sample *sample)
{
	uint64_t type = attr->sample_type;

	take_sample_head(from, type, sample);
	if (type & PERF_SAMPLE_READ)
		skip_read(from, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t n = take64(from);

		take(from, n < RECORD_MAX ? 8 * n : RECORD_MAX);
	}
	if (type & PERF_SAMPLE_RAW) {
		sample->raw_bytes = take32(from);
		sample->raw = take(from, sample->raw_bytes);
	}
	return !from->bad;
}

/* Where attributes differ, the event's id stands first (perf sees to that). */
static const struct attr *sample_attr(struct perf *perf, const uint8_t *body, size_t bytes)
{
	return attr_of(perf, bytes >= 8 ? zr_get64(body) : 0);
}

static enum zr_err on_sample(struct perf *perf, const uint8_t *body, size_t bytes)
{
	static const enum rec_skip why[] = { [REC_LINE_OTHER] = REC_SKIP_OTHER_EVENT,
					     [REC_LINE_LACKS] = REC_SKIP_LACKS_FIELD,
					     [REC_LINE_UNKNOWN] = REC_SKIP_UNKNOWN };
	const struct attr *attr = sample_attr(perf, body, bytes);
	struct bytes from = { body, bytes, false };
	struct sample sample = { 0 };
	struct rec_raw raw;
	enum rec_line found = REC_LINE_UNKNOWN;

	if (attr && take_sample(&from, attr, &sample))
		found = sample.raw ? rec_events_decode(perf->events, sample.raw, sample.raw_bytes,
						       &raw)
				   : REC_LINE_OTHER;
	if (found == REC_LINE_COMMENT)
		return ZR_OK;
	if (found != REC_LINE_EVENT) {
		rec_import_skip(perf->import, why[found], "a sample of perf");
		return ZR_OK;
	}
	raw.time_ns = sample.time_ns;
	raw.cpu = (uint16_t)sample.cpu;
	if (attr->sample_type & PERF_SAMPLE_TID)
		raw.tid = sample.tid;
	return rec_sort_add(&perf->sort, &raw);
}

/* The trailer that other records have: some of a sample's values, at the end. Its time, or the
 * latest known. */
static uint64_t trailer_time(struct perf *perf, const uint8_t *body, size_t bytes)
{
	const struct attr *attr = perf->n_attrs ? attr_of(perf, zr_get64(body + bytes - 8)) : NULL;
	static const uint64_t behind =
		PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	size_t after;

	if (!attr || !attr->sample_id_all || !(attr->sample_type & PERF_SAMPLE_TIME))
		return perf->sort.latest_ns;
	after = 8 * ((size_t)__builtin_popcountll(attr->sample_type & behind) + 1);
	return after <= bytes ? zr_get64(body + bytes - after) : perf->sort.latest_ns;
}

static enum zr_err on_lost(struct perf *perf, const uint8_t *body, size_t bytes)
{
	uint64_t lost = zr_get64(body + 8);

	perf->lost += lost;
	return rec_sort_add(
		&perf->sort,
		&(struct rec_raw){ .type = REC_LOST,
				   .order = DB_GAP_RING,
				   .cpu = UINT16_MAX,
				   .time_ns = trailer_time(perf, body, bytes),
				   .len = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX });
}

/* -------------------------------------------------------------------------------------- records */

static enum zr_err take_records(struct perf *perf, const uint8_t *data, size_t bytes, size_t *used);

/* *got: bytes that came out. There is always room for some, since a whole record leaves the buffer.
 */
static enum zr_err unpack_some(struct perf *perf, ZSTD_inBuffer *in, size_t *got)
{
	ZSTD_outBuffer out = { perf->rest, RECORD_MAX, perf->n_rest };
	size_t result = ZSTD_decompressStream(perf->zstd, &out, in), used;
	enum zr_err err;

	if (ZSTD_isError(result))
		return zr_fail(ZR_CORRUPT, "importing %s: unpacking records: zstd says: %s",
			       perf->path, ZSTD_getErrorName(result));
	*got = out.pos - perf->n_rest;
	err = take_records(perf, perf->rest, out.pos, &used);
	memmove(perf->rest, perf->rest + used, out.pos - used);
	perf->n_rest = out.pos - used;
	return err;
}

static enum zr_err on_packed(struct perf *perf, const uint8_t *body, uint64_t bytes)
{
	ZSTD_inBuffer in = { body, bytes, 0 };
	enum zr_err err = ZR_OK;

	if (!perf->zstd) {
		perf->zstd = ZSTD_createDStream();
		perf->rest = malloc(RECORD_MAX);
		if (!perf->zstd || !perf->rest)
			return zr_fail(ZR_NOMEM, "no memory to unpack %s", perf->path);
	}
	/* Once more after the input's end: zstd may hold output back. */
	for (size_t got = 1; !err && (in.pos < in.size || got);)
		err = unpack_some(perf, &in, &got);
	return err;
}

static enum zr_err on_record(struct perf *perf, const uint8_t *record, size_t bytes)
{
	const uint8_t *body = record + PERF_RECORD_HEAD_BYTES;
	size_t n = bytes - PERF_RECORD_HEAD_BYTES;

	switch (zr_get32(record)) {
	case PERF_RECORD_SAMPLE:
		return on_sample(perf, body, n);
	case PERF_RECORD_LOST:
		return n >= 16 ? on_lost(perf, body, n) : ZR_OK;
	case PERF_RECORD_LOST_SAMPLES:
		perf->lost_in_all += n >= 8 ? zr_get64(body) : 0;
		return ZR_OK;
	case PERF_RECORD_FINISHED_ROUND:
		return rec_sort_round(&perf->sort);
	default: /* processes, maps, and what only perf itself needs */
		return ZR_OK;
	}
}

/* Whole records of unpacked bytes; *used is how much that was. */
static enum zr_err take_records(struct perf *perf, const uint8_t *data, size_t bytes, size_t *used)
{
	enum zr_err err = ZR_OK;

	*used = 0;
	while (!err && bytes - *used >= PERF_RECORD_HEAD_BYTES) {
		size_t size = zr_get16(data + *used + 6);

		if (size < PERF_RECORD_HEAD_BYTES)
			return corrupt(perf, "a packed record is shorter than its head");
		if (size > bytes - *used)
			break;
		if (zr_get32(data + *used) == PERF_RECORD_COMPRESSED ||
		    zr_get32(data + *used) == PERF_RECORD_COMPRESSED2)
			return corrupt(perf, "a packed record is in a packed record");
		err = on_record(perf, data + *used, size);
		*used += size;
	}
	return err;
}

/* -------------------------------------------------------------------------- records of the file */

/* Where the data comes from: a part of a file, or all that a pipe gives. */
struct source {
	struct perf *perf;
	int fd; /* -1: the pipe */
	uint64_t at, end;
	bool over;
};

/* False, and `over`, at the end; false with cut_off if there is less than `bytes`. */
static enum zr_err read_data(struct source *source, void *to, size_t bytes, bool *whole)
{
	size_t got = 0;
	enum zr_err err = ZR_OK;

	if (source->fd < 0) {
		err = rec_input_read(source->perf->import->input, to, bytes, &got);
	} else {
		size_t want = source->end - source->at < bytes ? source->end - source->at : bytes;
		ssize_t n = pread(source->fd, to, want, (off_t)source->at);

		got = n > 0 ? (size_t)n : 0;
		source->at += got;
	}
	*whole = got == bytes;
	source->over = got == 0;
	if (!*whole && got)
		source->perf->cut_off = true;
	return err;
}

/* What follows a record without being part of it, in memory of its own; NULL if it is not there. */
static enum zr_err read_more(struct source *source, uint64_t bytes, uint8_t **out)
{
	bool whole = false;
	enum zr_err err;

	*out = NULL;
	if (bytes > FEATURE_MAX)
		return corrupt(source->perf, "a part is larger than 64 MiB");
	*out = malloc(bytes + 1);
	if (!*out)
		return zr_fail(ZR_NOMEM, "no memory for a part of %s", source->perf->path);
	err = read_data(source, *out, bytes, &whole);
	if (!err && !whole)
		err = corrupt(source->perf, "it ends inside its formats of events");
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}

static enum zr_err skip_data(struct source *source, uint64_t bytes)
{
	uint8_t scratch[4096];
	bool whole = true;
	enum zr_err err = ZR_OK;

	if (source->fd >= 0) {
		source->at = bytes < source->end - source->at ? source->at + bytes : source->end;
		return ZR_OK;
	}
	while (!err && bytes && whole) {
		size_t n = bytes < sizeof(scratch) ? bytes : sizeof(scratch);

		err = read_data(source, scratch, n, &whole);
		bytes -= n;
	}
	return err;
}

static enum zr_err on_header_attr(struct perf *perf, const uint8_t *body, size_t n)
{
	size_t size = n >= 8 ? zr_get32(body + 4) : 0;
	enum zr_err err;

	if (size > n)
		return corrupt(perf, "an attribute is longer than its record");
	err = add_attr(perf, body, size);
	for (size_t at = size; !err && n - at >= 8; at += 8)
		err = add_id(perf, zr_get64(body + at));
	return err;
}

static enum zr_err on_tracing_data(struct source *source, const uint8_t *body, size_t n)
{
	uint64_t bytes = n >= 4 ? zr_get32(body) : 0;
	uint8_t *data;
	enum zr_err err = read_more(source, (bytes + 7) / 8 * 8, &data);

	if (!err)
		err = take_tracing_data(source->perf, data, bytes);
	free(data);
	return err;
}

/* Records that packed ones cannot be: they are for whoever reads the file. */
static enum zr_err on_file_record(struct source *source, const uint8_t *record, size_t bytes)
{
	const uint8_t *body = record + PERF_RECORD_HEAD_BYTES;
	struct perf *perf = source->perf;
	size_t n = bytes - PERF_RECORD_HEAD_BYTES;

	switch (zr_get32(record)) {
	case PERF_RECORD_HEADER_ATTR:
		return on_header_attr(perf, body, n);
	case PERF_RECORD_HEADER_TRACING_DATA:
		return on_tracing_data(source, body, n);
	case PERF_RECORD_HEADER_FEATURE:
		if (n < 8 || zr_get64(body) > PERF_FEATURES)
			return ZR_OK;
		return take_feature(perf, (uint32_t)zr_get64(body), body + 8, n - 8);
	case PERF_RECORD_AUXTRACE:
		return n >= 8 ? skip_data(source, zr_get64(body)) : ZR_OK;
	case PERF_RECORD_COMPRESSED:
		return on_packed(perf, body, n);
	case PERF_RECORD_COMPRESSED2:
		if (n < 8 || zr_get64(body) > n - 8)
			return corrupt(perf, "a packed record is shorter than it says");
		return on_packed(perf, body + 8, zr_get64(body));
	default:
		return on_record(perf, record, bytes);
	}
}

static enum zr_err one_record(struct source *source, uint8_t *record)
{
	bool whole;
	size_t size;
	enum zr_err err = read_data(source, record, PERF_RECORD_HEAD_BYTES, &whole);

	if (err || !whole)
		return err;
	size = zr_get16(record + 6);
	if (size < PERF_RECORD_HEAD_BYTES)
		return corrupt(source->perf, "a record is shorter than its head");
	err = read_data(source, record + PERF_RECORD_HEAD_BYTES, size - PERF_RECORD_HEAD_BYTES,
			&whole);
	if (size == PERF_RECORD_HEAD_BYTES)
		source->over = false;
	else if (source->over)
		source->perf->cut_off = true;
	return err || !whole ? err : on_file_record(source, record, size);
}

static enum zr_err all_records(struct source *source)
{
	struct perf *perf = source->perf;
	uint64_t begin = source->at;
	uint8_t *record = malloc(RECORD_MAX);
	enum zr_err err = record ? ZR_OK : zr_fail(ZR_NOMEM, "no memory to read %s", perf->path);

	while (!err && !source->over && !perf->cut_off) {
		double done = source->end > begin
				      ? (double)(source->at - begin) / (double)(source->end - begin)
				      : -1;

		err = one_record(source, record);
		if (!err && !source->over && !rec_import_go_on(perf->import, done))
			break;
	}
	free(record);
	return err;
}

/* --------------------------------------------------------------------------------- a whole file */

struct section {
	uint64_t at, bytes;
};

static struct section section_at(const uint8_t *data)
{
	return (struct section){ zr_get64(data), zr_get64(data + 8) };
}

static enum zr_err read_at(struct perf *perf, int fd, uint64_t at, void *to, size_t bytes)
{
	if (at > INT64_MAX || pread(fd, to, bytes, (off_t)at) != (ssize_t)bytes)
		return corrupt(perf, "its head points behind its end");
	return ZR_OK;
}

static enum zr_err read_ids(struct perf *perf, int fd, struct section ids)
{
	uint8_t raw[8];
	enum zr_err err = ZR_OK;

	for (uint64_t i = 0; !err && i < ids.bytes / 8; i++) {
		err = read_at(perf, fd, ids.at + 8 * i, raw, sizeof(raw));
		if (!err)
			err = add_id(perf, zr_get64(raw));
	}
	return err;
}

static enum zr_err read_attrs(struct perf *perf, int fd, const uint8_t *head)
{
	struct section attrs = section_at(head + PERF_HEAD_ATTRS);
	uint64_t each = zr_get64(head + PERF_HEAD_ATTR_BYTES);
	uint8_t data[4096];
	enum zr_err err = ZR_OK;

	if (each < PERF_ATTR_MIN_BYTES + PERF_SECTION_BYTES || each > sizeof(data))
		return corrupt(perf, "the size of its attributes makes no sense");
	for (uint64_t i = 0; !err && i < attrs.bytes / each; i++) {
		err = read_at(perf, fd, attrs.at + i * each, data, each);
		if (!err)
			err = add_attr(perf, data, each - PERF_SECTION_BYTES);
		if (!err)
			err = read_ids(perf, fd, section_at(data + each - PERF_SECTION_BYTES));
	}
	return err;
}

static enum zr_err read_feature(struct perf *perf, int fd, uint32_t feature, struct section section)
{
	uint8_t *data;
	enum zr_err err;

	if (feature != PERF_FEATURE_TRACING_DATA && feature != PERF_FEATURE_RELEASE)
		return ZR_OK;
	if (section.bytes > FEATURE_MAX)
		return corrupt(perf, "a part is larger than 64 MiB");
	data = malloc(section.bytes + 1);
	if (!data)
		return zr_fail(ZR_NOMEM, "no memory for a part of %s", perf->path);
	err = read_at(perf, fd, section.at, data, section.bytes);
	if (!err)
		err = take_feature(perf, feature, data, section.bytes);
	free(data);
	return err;
}

static enum zr_err read_features(struct perf *perf, int fd, const uint8_t *head)
{
	struct section data = section_at(head + PERF_HEAD_DATA);
	uint64_t at = data.at + data.bytes;
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < PERF_FEATURES; i++) {
		uint8_t row[PERF_SECTION_BYTES];

		if (!(head[PERF_HEAD_FEATURES + i / 8] >> i % 8 & 1))
			continue;
		err = read_at(perf, fd, at, row, sizeof(row));
		at += sizeof(row);
		if (!err)
			err = read_feature(perf, fd, i, section_at(row));
	}
	return err;
}

static enum zr_err read_file(struct perf *perf, int fd)
{
	struct source source = { .perf = perf, .fd = fd };
	uint8_t head[PERF_HEAD_BYTES];
	struct section data;
	enum zr_err err = read_at(perf, fd, 0, head, sizeof(head));

	if (err)
		return err;
	data = section_at(head + PERF_HEAD_DATA);
	if (!data.bytes)
		return zr_fail(
			ZR_CORRUPT,
			"importing %s: its head says that there is no data: perf record was killed "
			"before it could finish the file",
			perf->path);
	err = read_attrs(perf, fd, head);
	if (!err)
		err = read_features(perf, fd, head);
	source.at = data.at;
	source.end = data.bytes > INT64_MAX - data.at ? INT64_MAX : data.at + data.bytes;
	return err ? err : all_records(&source);
}

static enum zr_err read_pipe(struct perf *perf)
{
	struct source source = { .perf = perf, .fd = -1 };
	uint8_t head[PERF_PIPE_HEAD_BYTES];
	bool whole;
	enum zr_err err = read_data(&source, head, sizeof(head), &whole);

	return err || !whole ? err : all_records(&source);
}

/* ------------------------------------------------------------------------------------ the whole */

static enum zr_err take_sorted(void *arg, const struct rec_raw *raw)
{
	struct perf *perf = arg;
	struct rec_import *import = perf->import;

	if (raw->type == REC_LOAD_RET && import->load_ret_is_errno == REC_NOT_SAID)
		import->load_ret_is_errno =
			rec_events_load_errno(perf->events) > 0 ? REC_YES : REC_NO;
	return rec_import_add(import, raw);
}

/* A ring that was full to the end never got to tell, but the sum of all rings has it. */
static enum zr_err add_untold_losses(struct perf *perf)
{
	uint64_t lost = perf->lost_in_all > perf->lost ? perf->lost_in_all - perf->lost : 0;

	if (!lost)
		return ZR_OK;
	return rec_import_add(
		perf->import,
		&(struct rec_raw){ .type = REC_LOST,
				   .order = DB_GAP_RING,
				   .cpu = UINT16_MAX,
				   .len = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX });
}

static enum zr_err finish(struct perf *perf)
{
	struct rec_import *import = perf->import;
	enum zr_err err = rec_sort_finish(&perf->sort);

	if (!err)
		err = add_untold_losses(perf);
	if (err || !(perf->cut_off || perf->n_rest))
		return err;
	snprintf(import->result->note, sizeof(import->result->note),
		 "the file ends in the middle of a record");
	return rec_import_add(import, &(struct rec_raw){ .type = REC_LOST,
							 .order = DB_GAP_IMPORT,
							 .cpu = UINT16_MAX,
							 .len = 1 });
}

/* Of another byte order, or of the time before 2010. */
static enum zr_err check_head(const struct perf *perf, const void *head, size_t n, bool *is_pipe)
{
	*is_pipe = n >= PERF_PIPE_HEAD_BYTES &&
		   zr_get64((const uint8_t *)head + 8) == PERF_PIPE_HEAD_BYTES;
	if (n >= PERF_PIPE_HEAD_BYTES && memcmp(head, "PERFILE2", 8) == 0)
		return ZR_OK;
	if (n >= 8 && memcmp(head, "2ELIFREP", 8) == 0)
		return zr_fail(ZR_UNSUPPORTED,
			       "importing %s: it is from a big-endian machine; try there: perf "
			       "script | zreel "
			       "import -",
			       perf->path);
	return zr_fail(ZR_UNSUPPORTED,
		       "importing %s: not perf.data of version 2; try: perf script -i FILE | zreel "
		       "import -",
		       perf->path);
}

static enum zr_err read_all(struct perf *perf)
{
	int fd = rec_input_seekable(perf->import->input);
	const void *head;
	bool is_pipe;
	size_t n;
	enum zr_err err = rec_input_head(perf->import->input, &head, &n);

	if (!err)
		err = check_head(perf, head, n, &is_pipe);
	if (!err)
		err = rec_events_new(&perf->import->dialect, &perf->events);
	if (err)
		return err;
	if (!is_pipe && fd < 0)
		return zr_fail(ZR_UNSUPPORTED,
			       "importing %s: this perf.data is read at several places, so it must "
			       "be a plain "
			       "file; only what `perf record -o -` writes can come through a pipe",
			       perf->path);
	return is_pipe ? read_pipe(perf) : read_file(perf, fd);
}

enum zr_err rec_import_perf(struct rec_import *import)
{
	struct perf perf = { .import = import,
			     .path = rec_input_name(import->input),
			     .alike = true,
			     .sort = { .fn = take_sorted, .arg = &perf } };
	enum zr_err err = read_all(&perf);

	if (!err)
		err = finish(&perf);
	rec_sort_fini(&perf.sort);
	rec_events_free(perf.events);
	ZSTD_freeDStream(perf.zstd);
	free(perf.rest);
	free(perf.ids);
	free(perf.attrs);
	return err;
}
