/* SPDX-License-Identifier: MIT */
/* See measure.h. */
#include "replayer/measure.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/text_file.h"

enum { LINE_BYTES = 4096, PATH_BYTES = 1024 };

enum zr_err measure_done(const struct measure *measure)
{
	return measure->no_memory ? zr_fail(ZR_NOMEM, "reading the kernel's counters: no memory") : ZR_OK;
}

void measure_fini(struct measure *measure)
{
	free(measure->values);
	*measure = (struct measure){ 0 };
}

static bool make_room(struct measure *measure)
{
	uint32_t room = measure->room ? 2 * measure->room : 64;
	struct measure_value *values;

	if (measure->n < measure->room)
		return true;
	values = realloc(measure->values, room * sizeof(*values));
	if (!values) {
		measure->no_memory = true;
		return false;
	}
	measure->values = values;
	measure->room = room;
	return true;
}

static void add(struct measure *measure, const char *prefix, const char *name, uint64_t value)
{
	struct measure_value *to;

	if (!make_room(measure))
		return;
	to = &measure->values[measure->n];
	if (snprintf(to->name, sizeof(to->name), "%s%s", prefix, name) >= (int)sizeof(to->name))
		return; /* a name that nobody can ask for */
	to->value = value;
	measure->n++;
}

/* A whole number and nothing else but blanks. */
static bool read_whole(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return !errno && end[strspn(end, " \t\n")] == '\0';
}

/* The next piece of a text up to one of `ends`; false at the end of the text. */
static bool next_piece(const char **at, const char *ends, char *piece, size_t bytes)
{
	size_t length;

	*at += strspn(*at, ends);
	length = strcspn(*at, ends);
	if (!length)
		return false;
	snprintf(piece, bytes, "%.*s", (int)length, *at);
	*at += length;
	return true;
}

/* -------------------------------------------------------------------------------------------- texts */

void measure_pairs(struct measure *measure, const char *prefix, const char *text)
{
	char line[LINE_BYTES];

	while (text && next_piece(&text, "\n", line, sizeof(line))) {
		char *value = strchr(line, ' ');
		uint64_t number;

		if (!value)
			continue;
		*value++ = '\0';
		if (read_whole(value, &number))
			add(measure, prefix, line, number);
	}
}

void measure_block(struct measure *measure, const char *prefix, const char *text)
{
	static const char *const names[] = {
#define X(name) #name,
		MEASURE_BLOCK(X)
#undef X
	};
	char word[32];
	uint64_t number;

	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!next_piece(&text, " \n", word, sizeof(word)) || !read_whole(word, &number))
			return;
		add(measure, prefix, names[i], number);
	}
}

static void add_assignments(struct measure *measure, const char *prefix, const char *line)
{
	char word[96];

	while (next_piece(&line, " \n", word, sizeof(word))) {
		char *value = strchr(word, '=');
		uint64_t number;

		if (!value)
			continue;
		*value++ = '\0';
		if (read_whole(value, &number))
			add(measure, prefix, word, number);
	}
}

void measure_io_stat(struct measure *measure, const char *prefix, const char *text, uint32_t major,
		     uint32_t minor)
{
	static const char none[] = "rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0";
	char line[LINE_BYTES];
	bool there = text != NULL;

	while (text && next_piece(&text, "\n", line, sizeof(line))) {
		unsigned found_major, found_minor;

		if (sscanf(line, "%u:%u ", &found_major, &found_minor) != 2 || found_major != major ||
		    found_minor != minor)
			continue;
		/* Some kernels write a device's numbers alone when there is nothing to say of it. */
		add_assignments(measure, prefix, strchr(line, '=') ? line : none);
		return;
	}
	if (there)
		add_assignments(measure, prefix, none);
}

void measure_pressure(struct measure *measure, const char *prefix, const char *text)
{
	char line[LINE_BYTES], kind[16];

	while (text && next_piece(&text, "\n", line, sizeof(line))) {
		const char *total = strstr(line, " total=");
		uint64_t number;

		if (!total || sscanf(line, "%8s", kind) != 1 || !read_whole(total + 7, &number))
			continue;
		strcat(kind, "_us");
		add(measure, prefix, kind, number);
	}
}

void measure_number(struct measure *measure, const char *name, const char *text)
{
	uint64_t number;

	if (text && read_whole(text, &number))
		add(measure, "", name, number);
}

/* -------------------------------------------------------------------------------------------- files */

void measure_pairs_file(struct measure *measure, const char *prefix, const char *path)
{
	char *text = zr_text_read(path);

	measure_pairs(measure, prefix, text);
	free(text);
}

void measure_block_file(struct measure *measure, const char *prefix, uint32_t major, uint32_t minor)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/sys/dev/block/%" PRIu32 ":%" PRIu32 "/stat", major, minor);
	text = zr_text_read(path);
	measure_block(measure, prefix, text);
	free(text);
}

void measure_pressure_file(struct measure *measure, const char *prefix, const char *path)
{
	char *text = zr_text_read(path);

	measure_pressure(measure, prefix, text);
	free(text);
}

void measure_directory(struct measure *measure, const char *prefix, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char file[PATH_BYTES], name[MEASURE_NAME_BYTES], *text;

		if (entry->d_name[0] == '.' ||
		    snprintf(name, sizeof(name), "%s%s", prefix, entry->d_name) >= (int)sizeof(name) ||
		    snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) >= (int)sizeof(file))
			continue;
		text = zr_text_read(file);
		measure_number(measure, name, text);
		free(text);
	}
	if (dir)
		closedir(dir);
}

/* ------------------------------------------------------------------------------------------ looking */

bool measure_get(const struct measure *measure, const char *name, uint64_t *out)
{
	for (uint32_t i = 0; i < measure->n; i++) {
		if (strcmp(measure->values[i].name, name) == 0) {
			*out = measure->values[i].value;
			return true;
		}
	}
	return false;
}

bool measure_difference(const struct measure *before, const struct measure *after, const char *name,
			uint64_t *out)
{
	uint64_t from, to;

	if (!measure_get(before, name, &from) || !measure_get(after, name, &to) || to < from)
		return false;
	*out = to - from;
	return true;
}
