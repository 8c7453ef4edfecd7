/* SPDX-License-Identifier: MIT */
/*
 * blktrace: its binary files and the text of blkparse.
 *
 * A binary file is a row of records, 48 bytes and then a payload:
 *
 *   0 magic 65 61 74 and version 07   4 sequence   8 time ns   16 sector   24 bytes   28 action
 *   32 pid   36 device (major << 20 | minor)   40 cpu   44 error (2)   46 payload bytes (2)
 *
 * The action's low half is what happened, the high half a set of marks (read, write, discard ...).
 * There is a file for each CPU, NAME.blktrace.N; of one that is called so all its sisters are read
 * too and merged by time. A machine of the other byte order shows in the magic; its numbers are
 * turned round.
 *
 * Of a request a trace keeps issue, completion and merges. The rest (queued, plugged, remapped ...)
 * is counted.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/bytes.h"
#include "recorder/import.h"

enum {
	RECORD_BYTES = 48,
	MAGIC = 0x65617400,
	VERSION = 7,
	FILES_MAX = 4096,
	ACTION_BACKMERGE = 2,
	ACTION_FRONTMERGE = 3,
	ACTION_ISSUE = 7,
	ACTION_COMPLETE = 8,
	MARK_WRITE = 1 << 1,
	MARK_NOTIFY = 1 << 10,
	MARK_DISCARD = 1 << 13,
	MARK_PASSTHROUGH = 1 << 9,
};

/* -------------------------------------------------------------------------------------- records */

/* One file and the record that is next in it. */
struct stream {
	struct rec_input *input;
	bool ours, swapped, over;
	uint8_t next[RECORD_BYTES];
	uint64_t time_ns;
};

static uint16_t get16(const struct stream *stream, size_t at)
{
	uint16_t v = zr_get16(stream->next + at);

	return stream->swapped ? __builtin_bswap16(v) : v;
}

static uint32_t get32(const struct stream *stream, size_t at)
{
	uint32_t v = zr_get32(stream->next + at);

	return stream->swapped ? __builtin_bswap32(v) : v;
}

static uint64_t get64(const struct stream *stream, size_t at)
{
	uint64_t v = zr_get64(stream->next + at);

	return stream->swapped ? __builtin_bswap64(v) : v;
}

static enum zr_err check_magic(struct stream *stream)
{
	uint32_t magic = zr_get32(stream->next), turned = __builtin_bswap32(magic);
	const char *path = rec_input_name(stream->input);

	stream->swapped = (magic & 0xffffff00) != MAGIC;
	if (stream->swapped && (turned & 0xffffff00) != MAGIC)
		return zr_fail(ZR_CORRUPT,
			       "importing %s: a blktrace record begins with %08x instead of %08x: "
			       "the file is "
			       "damaged",
			       path, magic, MAGIC | VERSION);
	magic = stream->swapped ? turned : magic;
	if ((magic & 0xff) != VERSION)
		return zr_fail(ZR_UNSUPPORTED,
			       "importing %s: blktrace format version %u; known is %d", path,
			       magic & 0xff, VERSION);
	return ZR_OK;
}

/* Reads the next record; a last one that is cut off counts as the end. */
static enum zr_err advance(struct rec_import *import, struct stream *stream)
{
	size_t got;
	enum zr_err err = rec_input_read(stream->input, stream->next, RECORD_BYTES, &got);

	if (!err && got < RECORD_BYTES) {
		stream->over = true;
		if (got)
			rec_import_skip(import, REC_SKIP_UNKNOWN, "a record that is cut off");
		return ZR_OK;
	}
	if (!err)
		err = check_magic(stream);
	if (!err)
		stream->time_ns = get64(stream, 8);
	return err;
}

static enum zr_err skip_payload(struct rec_import *import, struct stream *stream)
{
	uint8_t payload[512];
	size_t left = get16(stream, 46), got = 1;
	enum zr_err err = ZR_OK;

	while (!err && left && got) {
		err = rec_input_read(stream->input, payload,
				     left < sizeof(payload) ? left : sizeof(payload), &got);
		left -= got;
	}
	if (!err && left)
		rec_import_skip(import, REC_SKIP_UNKNOWN, "a record that is cut off");
	return err;
}

static enum rec_op op_of(uint32_t marks)
{
	if (marks & MARK_PASSTHROUGH)
		return REC_OP_OTHER;
	if (marks & MARK_DISCARD)
		return REC_OP_DISCARD;
	return marks & MARK_WRITE ? REC_OP_WRITE : REC_OP_READ;
}

static enum rec_type type_of(uint32_t action)
{
	switch (action) {
	case ACTION_BACKMERGE:
		return REC_BACKMERGE;
	case ACTION_FRONTMERGE:
		return REC_FRONTMERGE;
	case ACTION_ISSUE:
		return REC_RQ_ISSUE;
	case ACTION_COMPLETE:
		return REC_RQ_COMPLETE;
	default:
		return REC_TYPE_COUNT;
	}
}

static enum zr_err take_record(struct rec_import *import, const struct stream *stream)
{
	uint32_t action = get32(stream, 28), bytes = get32(stream, 24);
	uint32_t marks = action >> 16;
	struct rec_raw raw = { .time_ns = stream->time_ns,
			       .tid = get32(stream, 32),
			       .dev = get32(stream, 36),
			       .cpu = (uint16_t)get32(stream, 40),
			       .swp = get64(stream, 16),
			       .len = bytes / 512,
			       .op = (uint8_t)op_of(marks) };
	enum rec_type type = type_of(action & 0xffff);

	if (marks & MARK_NOTIFY)
		return ZR_OK;
	if (type == REC_TYPE_COUNT || !raw.len) {
		rec_import_skip(import, REC_SKIP_OTHER_ACTION, "a blktrace record of another step");
		return ZR_OK;
	}
	raw.type = (uint8_t)type;
	return rec_import_add(import, &raw);
}

/* -------------------------------------------------------------------------------------- merging */

static struct stream *earliest(struct stream *streams, uint32_t n)
{
	struct stream *first = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (!streams[i].over && (!first || streams[i].time_ns < first->time_ns))
			first = &streams[i];
	return first;
}

static enum zr_err merge(struct rec_import *import, struct stream *streams, uint32_t n)
{
	struct stream *stream;
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < n; i++)
		err = advance(import, &streams[i]);
	while (!err && (stream = earliest(streams, n))) {
		err = take_record(import, stream);
		if (!err)
			err = skip_payload(import, stream);
		if (!err)
			err = advance(import, stream);
		if (!rec_import_go_on(import, rec_input_done(stream->input)))
			break;
	}
	return err;
}

/* Where the number of "NAME.blktrace.0" begins, or NULL. */
static const char *cpu_number(const char *path)
{
	static const char mark[] = ".blktrace.";
	const char *at = strstr(path, mark), *number = at ? at + sizeof(mark) - 1 : NULL;

	if (!number || !*number || number[strspn(number, "0123456789")])
		return NULL;
	return number;
}

static enum zr_err open_sisters(struct rec_import *import, struct stream *streams, char *names[],
				uint32_t *n)
{
	const char *path = import->options->input, *number = cpu_number(path);
	enum zr_err err = ZR_OK;

	for (uint32_t cpu = 0; !err && number && cpu < FILES_MAX && *n < FILES_MAX; cpu++) {
		char *name;

		if (asprintf(&name, "%.*s%u", (int)(number - path), path, cpu) < 0)
			return zr_fail(ZR_NOMEM, "no memory to import %s", path);
		if (strcmp(name, path) == 0 || access(name, R_OK) != 0) {
			free(name);
			continue;
		}
		names[*n] = name;
		err = rec_input_open(name, &streams[*n].input);
		streams[*n].ours = true;
		++*n;
	}
	return err;
}

enum zr_err rec_import_blk(struct rec_import *import)
{
	struct stream *streams = calloc(FILES_MAX, sizeof(*streams));
	char **names = calloc(FILES_MAX, sizeof(*names));
	uint32_t n = 1;
	enum zr_err err;

	if (!streams || !names) {
		free(streams);
		free(names);
		return zr_fail(ZR_NOMEM, "no memory to import %s", import->options->input);
	}
	streams[0].input = import->input;
	err = open_sisters(import, streams, names, &n);
	if (!err)
		err = merge(import, streams, n);
	for (uint32_t i = 1; i < n; i++) {
		rec_input_close(streams[i].input);
		free(names[i]);
	}
	free(names);
	free(streams);
	return err;
}

/* ------------------------------------------------------------------------------ blkparse's text */

static enum rec_type type_of_letter(const char *word)
{
	switch (word[1] ? '\0' : word[0]) {
	case 'M':
		return REC_BACKMERGE;
	case 'F':
		return REC_FRONTMERGE;
	case 'D':
		return REC_RQ_ISSUE;
	case 'C':
		return REC_RQ_COMPLETE;
	default:
		return REC_TYPE_COUNT;
	}
}

static bool digits(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return n;
}

/* "0.000293438" in ns. */
static bool read_time(const char *text, uint64_t *time_ns)
{
	const char *dot = strchr(text, '.');
	unsigned long long seconds, fraction;

	if (!dot || !digits(text, (size_t)(dot - text)) || dot - text > 9 || !digits(dot + 1, 9) ||
	    strlen(dot + 1) != 9)
		return false;
	seconds = strtoull(text, NULL, 10);
	fraction = strtoull(dot + 1, NULL, 10);
	*time_ns = seconds * 1'000'000'000 + fraction;
	return true;
}

enum rec_line rec_blk_line(const char *line, struct rec_raw *raw)
{
	unsigned major, minor, cpu, pid, sequence;
	char time[32], action[4], rwbs[16];
	unsigned long long sector;
	unsigned sectors;
	enum rec_type type;
	int n = 0;

	if (sscanf(line, " %4u,%7u %5u %10u %31s %10u %3s %15s%n", &major, &minor, &cpu, &sequence,
		   time, &pid, action, rwbs, &n) != 8 ||
	    !isspace((unsigned char)line[n]))
		return REC_LINE_UNKNOWN;
	*raw = (struct rec_raw){ .cpu = (uint16_t)cpu,
				 .tid = pid,
				 .dev = (major & 0xfff) << 20 | (minor & 0xfffff),
				 .op = (uint8_t)rec_op_of(rwbs, (uint32_t)strlen(rwbs)) };
	if (!read_time(time, &raw->time_ns))
		return REC_LINE_UNKNOWN;
	type = type_of_letter(action);
	if (type == REC_TYPE_COUNT || sscanf(line + n, " %18llu + %9u", &sector, &sectors) != 2)
		return REC_LINE_LACKS;
	raw->type = (uint8_t)type;
	raw->swp = sector;
	raw->len = sectors;
	return REC_LINE_EVENT;
}
