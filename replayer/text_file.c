/* SPDX-License-Identifier: MIT */
/* See text_file.h. */
#include "replayer/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096, MOST = 16 << 20 };

/* Makes room for another piece behind the first `used` bytes. */
static char *grow(char *text, size_t used)
{
	char *grown = used > MOST ? NULL : realloc(text, used + PIECE + 1);

	if (used > MOST)
		errno = EFBIG;
	if (!grown)
		free(text);
	return grown;
}

static char *read_all(int fd)
{
	char *text = NULL;
	size_t used = 0;
	ssize_t got;

	do {
		text = grow(text, used);
		if (!text)
			return NULL;
		got = read(fd, text + used, PIECE);
		if (got > 0)
			used += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	if (got < 0) {
		free(text);
		return NULL;
	}
	text[used] = '\0';
	return text;
}

char *text_file_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), errnum;
	char *text;

	if (fd < 0)
		return NULL;
	text = read_all(fd);
	errnum = errno;
	close(fd);
	errno = errnum;
	return text;
}

int text_file_write(const char *path, const char *text)
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
