/* SPDX-License-Identifier: MIT */
/* Lines or bytes of a file, plain or zstd-compressed; see input.h. */
#include "recorder/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { READ_BYTES = 128 << 10, MAGIC_BYTES = 4 };

static const unsigned char zstd_magic[MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

struct rec_input {
	const char *path;
	int fd;
	bool is_file; /* has a size, can be read at any place */
	uint64_t size, taken;
	bool (*go_on)(void *arg);
	void *go_on_arg;
	ZSTD_DStream *zstd; /* NULL: plain */
	size_t packed_at, packed_n;
	size_t at, n; /* of text */
	bool inside_frame;
	char packed[READ_BYTES];
	char text[READ_BYTES];
	char line[REC_LINE_MAX + 1];
};

/* What is there, at most `bytes`; *n = 0 at the end. */
static enum zr_err read_some(struct rec_input *input, void *to, size_t bytes, size_t *n)
{
	ssize_t got;

	*n = 0;
	for (;;) {
		got = read(input->fd, to, bytes);
		if (got >= 0)
			break;
		if (errno != EINTR)
			return zr_fail_errno(errno, "reading %s", input->path);
		if (input->go_on && !input->go_on(input->go_on_arg))
			return ZR_OK;
	}
	input->taken += (size_t)got;
	*n = (size_t)got;
	return ZR_OK;
}

static enum zr_err fill_packed(struct rec_input *input)
{
	input->packed_at = 0;
	return read_some(input, input->packed, sizeof(input->packed), &input->packed_n);
}

static enum zr_err unpack(struct rec_input *input)
{
	ZSTD_outBuffer out = { input->text, sizeof(input->text), 0 };

	while (!out.pos) {
		ZSTD_inBuffer in;
		size_t left;

		if (input->packed_at == input->packed_n) {
			enum zr_err err = fill_packed(input);

			if (err)
				return err;
		}
		in = (ZSTD_inBuffer){ input->packed, input->packed_n, input->packed_at };
		/* At the end of the input there may still be output waiting inside zstd. */
		left = ZSTD_decompressStream(input->zstd, &out, &in);
		if (ZSTD_isError(left))
			return zr_fail(ZR_CORRUPT, "unpacking %s: zstd says: %s; unpack it by hand",
				       input->path, ZSTD_getErrorName(left));
		if (!input->packed_n && !out.pos) {
			if (input->inside_frame)
				return zr_fail(ZR_CORRUPT,
					       "unpacking %s: the file ends inside a zstd frame",
					       input->path);
			break;
		}
		input->packed_at = in.pos;
		input->inside_frame = left != 0;
	}
	input->at = 0;
	input->n = out.pos;
	return ZR_OK;
}

static enum zr_err fill(struct rec_input *input)
{
	enum zr_err err;

	if (input->zstd)
		return unpack(input);
	err = input->packed_n ? ZR_OK : fill_packed(input);
	if (err)
		return err;
	memcpy(input->text, input->packed, input->packed_n);
	input->at = 0;
	input->n = input->packed_n;
	input->packed_n = 0;
	return ZR_OK;
}

/* The first bytes tell whether it is compressed; a pipe may give them one by one. */
static enum zr_err look_at_start(struct rec_input *input)
{
	enum zr_err err = ZR_OK;
	size_t n = 1;

	while (!err && n && input->packed_n < MAGIC_BYTES) {
		err = read_some(input, input->packed + input->packed_n,
				sizeof(input->packed) - input->packed_n, &n);
		input->packed_n += n;
	}
	if (err || input->packed_n < MAGIC_BYTES ||
	    memcmp(input->packed, zstd_magic, MAGIC_BYTES) != 0)
		return err;
	input->zstd = ZSTD_createDStream();
	return input->zstd ? ZR_OK : zr_fail(ZR_NOMEM, "no memory to unpack %s", input->path);
}

static enum zr_err look_at_file(struct rec_input *input)
{
	struct stat st;

	if (fstat(input->fd, &st) != 0)
		return zr_fail_errno(errno, "looking at %s", input->path);
	if (S_ISDIR(st.st_mode))
		return zr_fail(ZR_NOT_FOUND, "%s is a directory; name a file", input->path);
	input->is_file = S_ISREG(st.st_mode) && lseek(input->fd, 0, SEEK_CUR) == 0;
	input->size = input->is_file ? (uint64_t)st.st_size : 0;
	return ZR_OK;
}

enum zr_err rec_input_open(const char *path, struct rec_input **out)
{
	struct rec_input *input = calloc(1, sizeof(*input));
	bool is_stdin = strcmp(path, "-") == 0;
	enum zr_err err;

	if (!input)
		return zr_fail(ZR_NOMEM, "no memory to read %s", path);
	input->path = is_stdin ? "standard input" : path;
	input->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	err = input->fd >= 0 ? look_at_file(input) : zr_fail_errno(errno, "opening %s", path);
	if (!err)
		err = look_at_start(input);
	if (err) {
		rec_input_close(input);
		return err;
	}
	*out = input;
	return ZR_OK;
}

void rec_input_watch(struct rec_input *input, bool (*go_on)(void *arg), void *arg)
{
	input->go_on = go_on;
	input->go_on_arg = arg;
}

const char *rec_input_name(const struct rec_input *input)
{
	return input->path;
}

double rec_input_done(const struct rec_input *input)
{
	return input->size ? (double)input->taken / (double)input->size : -1;
}

int rec_input_seekable(const struct rec_input *input)
{
	return input->is_file && !input->zstd ? input->fd : -1;
}

enum zr_err rec_input_head(struct rec_input *input, const void **head, size_t *n)
{
	enum zr_err err = input->n ? ZR_OK : fill(input);
	size_t more = 1;

	/* Bytes that come one by one, from a pipe; a compressed input gives at least a block. */
	while (!err && !input->zstd && more && input->n < REC_HEAD_BYTES) {
		err = read_some(input, input->text + input->n, sizeof(input->text) - input->n,
				&more);
		input->n += more;
	}
	*head = input->text;
	*n = input->n < REC_HEAD_BYTES ? input->n : REC_HEAD_BYTES;
	return err;
}

enum zr_err rec_input_read(struct rec_input *input, void *to, size_t bytes, size_t *got)
{
	size_t n = 0;
	enum zr_err err = ZR_OK;

	while (!err && n < bytes) {
		size_t take = input->n - input->at;

		if (!take) {
			err = fill(input);
			if (err || !input->n)
				break;
			continue;
		}
		if (take > bytes - n)
			take = bytes - n;
		memcpy((char *)to + n, input->text + input->at, take);
		input->at += take;
		n += take;
	}
	*got = n;
	return err;
}

enum zr_err rec_input_next(struct rec_input *input, char **line)
{
	size_t n = 0;

	*line = NULL;
	for (;;) {
		const char *from, *end;
		size_t have, take;

		if (input->at == input->n) {
			enum zr_err err = fill(input);

			if (err)
				return err;
			if (!input->n) {
				if (!n)
					return ZR_OK;
				break;
			}
		}
		from = input->text + input->at;
		end = memchr(from, '\n', input->n - input->at);
		have = end ? (size_t)(end - from) : input->n - input->at;
		take = have < REC_LINE_MAX - n ? have : REC_LINE_MAX - n;
		memcpy(input->line + n, from, take);
		n += take;
		input->at += have + (end != NULL);
		if (end)
			break;
	}
	if (n && input->line[n - 1] == '\r')
		n--;
	input->line[n] = '\0';
	*line = input->line;
	return ZR_OK;
}

void rec_input_close(struct rec_input *input)
{
	if (!input)
		return;
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	ZSTD_freeDStream(input->zstd);
	free(input);
}
