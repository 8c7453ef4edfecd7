/* SPDX-License-Identifier: MIT */
/* Small text files; see files.h. */
#include "recorder/files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

char *rec_file_readf(const char *fmt, ...)
{
	char path[PATH_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return zr_text_read(path);
}

bool rec_file_line(char *text, size_t bytes, const char *fmt, ...)
{
	char path[PATH_BYTES], *whole;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	whole = zr_text_read(path);
	snprintf(text, bytes, "%.*s", whole ? (int)strcspn(whole, "\n") : 0, whole ? whole : "");
	free(whole);
	return whole;
}

int rec_file_append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_APPEND), err = 0;
	size_t n = strlen(text);
	ssize_t put;

	if (fd < 0)
		return errno;
	do
		put = write(fd, text, n);
	while (put < 0 && errno == EINTR);
	if (put != (ssize_t)n)
		err = put < 0 ? errno : EIO;
	if (close(fd) && !err)
		err = errno;
	return err;
}

char *rec_next_line(char **at)
{
	char *line = *at, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	if (end) {
		*end = '\0';
		*at = end + 1;
	} else {
		*at = line + strlen(line);
	}
	return line;
}

int64_t rec_text_number(const char *text, const char *name, int64_t otherwise)
{
	size_t n = strlen(name);

	while (text && *text) {
		const char *end = strchr(text, '\n');

		text += strspn(text, " \t");
		if (strncmp(text, name, n) == 0 && text[n] && strchr(" :\t", text[n]))
			return strtoll(text + n + strspn(text + n, " :\t"), NULL, 10);
		text = end ? end + 1 : NULL;
	}
	return otherwise;
}

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

void rec_unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		if (text[0] == '\\' && octal(text[1]) && octal(text[2]) && octal(text[3])) {
			*to = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

static void take_mount(struct rec_paths *paths, char *line)
{
	char *save, *where, *type;

	strtok_r(line, " ", &save);
	where = strtok_r(NULL, " ", &save);
	type = strtok_r(NULL, " ", &save);
	if (!type || strlen(where) >= sizeof(paths->cgroup))
		return;
	rec_unescape(where);
	if (strcmp(type, "tracefs") == 0 && !paths->tracefs[0])
		strcpy(paths->tracefs, where);
	else if (strcmp(type, "cgroup2") == 0 && !paths->cgroup[0])
		strcpy(paths->cgroup, where);
}

enum zr_err rec_paths_find(const char *mounts, struct rec_paths *paths)
{
	char *text = zr_text_read(mounts), *at = text, *line;

	if (!text)
		return zr_fail_errno(errno, "reading the mount table %s", mounts);
	if (!paths->proc[0])
		strcpy(paths->proc, "/proc");
	if (!paths->sys[0])
		strcpy(paths->sys, "/sys");
	while ((line = rec_next_line(&at)))
		take_mount(paths, line);
	free(text);
	return ZR_OK;
}
