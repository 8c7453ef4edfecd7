/* SPDX-License-Identifier: MIT */
/* See text_file.h. */
#include "db/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 8192, MOST_BYTES = 16 << 20 };

/* Reads to the end into a buffer that grows; NULL with errno. */
static char *read_to_end(int fd)
{
	size_t room = FIRST_BYTES, n = 0;
	char *text = malloc(room);

	while (text) {
		ssize_t got = read(fd, text + n, room - n - 1);
		char *more;

		if (got == 0) {
			text[n] = '\0';
			return text;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || room >= MOST_BYTES) {
			int err = got < 0 ? errno : EFBIG;

			free(text);
			errno = err;
			return NULL;
		}
		n += (size_t)got;
		if (room - n > 1)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (!more)
			free(text);
		text = more;
	}
	return NULL;
}

char *zr_text_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), errnum;
	char *text;

	if (fd < 0)
		return NULL;
	text = read_to_end(fd);
	errnum = errno;
	close(fd);
	errno = errnum;
	return text;
}

int zr_text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), errnum = 0;
	size_t bytes = strlen(text);
	ssize_t put;

	if (fd < 0)
		return errno;
	do
		put = write(fd, text, bytes);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		errnum = errno;
	else if ((size_t)put < bytes)
		errnum = EIO;
	close(fd);
	return errnum;
}
