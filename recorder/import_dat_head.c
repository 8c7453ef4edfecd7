/* SPDX-License-Identifier: MIT */
/*
 * The head of a trace.dat file; see import_dat.h.
 *
 *   both  17 08 44 "tracing" version\0  byte order, size of a long (1 byte each)  page size (4)
 *   v6    header_page, header_event, formats, kallsyms, printk, comms (each with its size), CPUs
 * (4), "options  \0", options v7    compression\0 its version\0  place of the options (8); there:
 * section head (16), options
 *
 * An option is its number (2), size (4) and data. In v6 number 0 ends the list, in v7 its data is
 * the place of the next section, 0 = none.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "db/base/bytes.h"
#include "recorder/import_dat.h"

enum {
	MAGIC_BYTES = 10,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_LAST_KNOWN = 22,
	SECTIONS_MAX = 256, /* more are a loop */
	SECTION_BYTES = 16,
	SECTION_COMPRESSED = 1,
	OPTIONS_MAX = 16 << 20,
	SYSTEMS_MAX = 4096,
};

struct cursor {
	int fd;
	const char *path;
	uint64_t at;
	bool bad; /* the end was passed */
};

static void get(struct cursor *cursor, void *to, size_t bytes)
{
	ssize_t got = cursor->bad ? -1 : pread(cursor->fd, to, bytes, (off_t)cursor->at);

	if (got != (ssize_t)bytes) {
		cursor->bad = true;
		memset(to, 0, bytes);
	}
	cursor->at += bytes;
}

static uint32_t get32(struct cursor *cursor)
{
	uint8_t raw[4];

	get(cursor, raw, sizeof(raw));
	return zr_get32(raw);
}

static uint64_t get64(struct cursor *cursor)
{
	uint8_t raw[8];

	get(cursor, raw, sizeof(raw));
	return zr_get64(raw);
}

static void get_text(struct cursor *cursor, char *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		get(cursor, to + i, 1);
		if (!to[i])
			return;
	}
	cursor->bad = true;
	to[bytes - 1] = '\0';
}

static void skip(struct cursor *cursor, uint64_t bytes)
{
	if (bytes > INT64_MAX / 2 || cursor->at > INT64_MAX / 2)
		cursor->bad = true;
	else
		cursor->at += bytes;
}

/* -------------------------------------------------------------------------------------- options */

/* "local global [mono] boot" or just "mono". */
static void take_clock(struct rec_dat_head *head, const char *data, size_t bytes)
{
	const char *open = memchr(data, '[', bytes), *end = data + bytes;
	const char *start = open ? open + 1 : data;
	size_t n = 0;

	while (start + n < end && start[n] && !strchr("] \n", start[n]))
		n++;
	snprintf(head->clock, sizeof(head->clock), "%.*s", (int)(n < 31 ? n : 31), start);
}

/* "Linux host 6.12.9-amd64 #1 ...": the third word. */
static void take_uname(struct rec_dat_head *head, const char *data, size_t bytes)
{
	char text[256] = "", *save, *word;

	memcpy(text, data, bytes < sizeof(text) ? bytes : sizeof(text) - 1);
	word = strtok_r(text, " ", &save);
	for (int i = 0; word && i < 2; i++)
		word = strtok_r(NULL, " ", &save);
	snprintf(head->kernel, sizeof(head->kernel), "%s", word ? word : "");
}

static void note_unknown(struct rec_dat_head *head, uint32_t option)
{
	size_t n = strlen(head->unknown);

	snprintf(head->unknown + n, sizeof(head->unknown) - n, "%s%u", n ? ", " : "", option);
}

static void take_option(struct rec_dat_head *head, uint32_t option, const char *data, size_t bytes)
{
	if (option == OPTION_CLOCK)
		take_clock(head, data, bytes);
	else if (option == OPTION_UNAME)
		take_uname(head, data, bytes);
	else if (option > OPTION_LAST_KNOWN)
		note_unknown(head, option);
}

/* All options in the buffer; *next is the place of the next section. False if they make no sense.
 */
static bool take_options(struct rec_dat_head *head, const char *data, size_t bytes, uint64_t *next)
{
	size_t at = 0;

	*next = 0;
	while (bytes - at >= 2) {
		uint32_t option = zr_get16(data + at), size;

		if (!option && bytes - at < 6)
			return true;
		if (bytes - at < 6)
			return false;
		size = zr_get32(data + at + 2);
		if (!option) {
			if (size == 8 && bytes - at - 6 >= 8)
				*next = zr_get64(data + at + 6);
			return true;
		}
		at += 6;
		if (size > bytes - at)
			return false;
		take_option(head, option, data + at, size);
		at += size;
	}
	return true;
}

/* ------------------------------------------------------------------------------------ version 6 */

static void skip_formats(struct cursor *cursor)
{
	uint32_t n = get32(cursor);

	for (uint32_t i = 0; i < n && !cursor->bad; i++)
		skip(cursor, get64(cursor));
}

static void skip_header(struct cursor *cursor)
{
	char name[32];

	get_text(cursor, name, sizeof(name));
	skip(cursor, get64(cursor));
}

/* One option after the other, as their sum is not told. */
static void options_6(struct cursor *cursor, struct rec_dat_head *head)
{
	char data[512];
	uint8_t number[2];

	for (;;) {
		uint32_t size, keep;

		get(cursor, number, sizeof(number));
		if (cursor->bad || !zr_get16(number))
			return;
		size = get32(cursor);
		keep = size < sizeof(data) ? size : sizeof(data);
		get(cursor, data, keep);
		if (!cursor->bad)
			take_option(head, zr_get16(number), data, keep);
		skip(cursor, size - keep);
	}
}

static void read_6(struct cursor *cursor, struct rec_dat_head *head)
{
	char name[256];
	uint32_t systems;

	skip_header(cursor); /* header_page */
	skip_header(cursor); /* header_event */
	skip_formats(cursor);
	systems = get32(cursor);
	for (uint32_t i = 0; i < systems && i < SYSTEMS_MAX && !cursor->bad; i++) {
		get_text(cursor, name, sizeof(name));
		skip_formats(cursor);
	}
	skip(cursor, get32(cursor)); /* kallsyms */
	skip(cursor, get32(cursor)); /* printk */
	skip(cursor, get64(cursor)); /* comms */
	get32(cursor);		     /* CPUs */
	get(cursor, name, 10);
	if (!cursor->bad && memcmp(name, "options  ", 10) == 0)
		options_6(cursor, head);
}

/* ------------------------------------------------------------------------------------ version 7 */

static char *unpack(const char *packed, size_t bytes, size_t *n)
{
	char *text;

	if (bytes < 8 || zr_get32(packed) > bytes - 8 || zr_get32(packed + 4) > OPTIONS_MAX)
		return NULL;
	text = malloc(zr_get32(packed + 4) + 1);
	if (!text)
		return NULL;
	*n = ZSTD_decompress(text, zr_get32(packed + 4), packed + 8, zr_get32(packed));
	if (!ZSTD_isError(*n))
		return text;
	free(text);
	return NULL;
}

/* Options that are packed otherwise (zlib) are left to the library that reads the events. */
static void section_7(struct cursor *cursor, struct rec_dat_head *head, uint64_t *next)
{
	char section[SECTION_BYTES], *data, *plain = NULL;
	uint64_t size;
	size_t n;

	*next = 0;
	get(cursor, section, sizeof(section));
	size = zr_get64(section + 8);
	if (cursor->bad || zr_get16(section) || size > OPTIONS_MAX) {
		cursor->bad = true;
		return;
	}
	n = size;
	data = malloc(n + 1);
	if (data)
		get(cursor, data, n);
	if (data && zr_get16(section + 2) & SECTION_COMPRESSED) {
		plain = strcmp(head->compression, "zstd") == 0 ? unpack(data, n, &n) : NULL;
		free(data);
		data = plain;
	}
	if (data && !cursor->bad && !take_options(head, data, n, next))
		cursor->bad = true;
	free(data);
}

static void read_7(struct cursor *cursor, struct rec_dat_head *head)
{
	char version[64];
	uint64_t next;

	get_text(cursor, head->compression, sizeof(head->compression));
	get_text(cursor, version, sizeof(version));
	next = get64(cursor);
	for (int i = 0; next && i < SECTIONS_MAX && !cursor->bad; i++) {
		cursor->at = 0;
		skip(cursor, next);
		section_7(cursor, head, &next);
	}
}

enum zr_err rec_dat_head(int fd, const char *path, struct rec_dat_head *out)
{
	struct cursor cursor = { .fd = fd, .path = path, .at = MAGIC_BYTES };
	char version[16];
	uint8_t order[2];

	*out = (struct rec_dat_head){ 0 };
	get_text(&cursor, version, sizeof(version));
	get(&cursor, order, sizeof(order));
	out->page_size = get32(&cursor);
	if (cursor.bad)
		return zr_fail(ZR_CORRUPT, "importing %s: the file ends inside its first lines",
			       path);
	if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
		return zr_fail(
			ZR_UNSUPPORTED,
			"importing %s: trace.dat version \"%s\"; known are 6 and 7. Try: trace-cmd "
			"convert --file-version 7, or trace-cmd report | zreel import -",
			path, version);
	if (order[0])
		return zr_fail(ZR_UNSUPPORTED,
			       "importing %s: it is from a big-endian machine. Try: trace-cmd "
			       "report | zreel "
			       "import -",
			       path);
	out->version = (uint32_t)(version[0] - '0');
	if (out->version == 6)
		read_6(&cursor, out);
	else
		read_7(&cursor, out);
	if (cursor.bad)
		return zr_fail(ZR_CORRUPT,
			       "importing %s: its head makes no sense near byte %llu: the file is "
			       "cut off or "
			       "damaged",
			       path, (unsigned long long)cursor.at);
	return ZR_OK;
}
