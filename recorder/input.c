/* SPDX-License-Identifier: MIT */
/* Lines of a file, plain or zstd-compressed; see input.h. */
#include "recorder/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { READ_BYTES = 128 << 10, MAGIC_BYTES = 4 };

static const unsigned char zstd_magic[MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

struct rec_input {
	const char *path;
	FILE *file;
	ZSTD_DStream *zstd; /* NULL: plain */
	size_t packed_at, packed_n;
	size_t at, n; /* of text */
	bool inside_frame;
	char packed[READ_BYTES];
	char text[READ_BYTES];
	char line[REC_LINE_MAX + 1];
};

static enum zr_err fill_packed(struct rec_input *input)
{
	input->packed_at = 0;
	input->packed_n = fread(input->packed, 1, sizeof(input->packed), input->file);
	if (ferror(input->file))
		return zr_fail_errno(errno, "reading %s", input->path);
	return ZR_OK;
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

/* The first bytes tell whether it is compressed. */
static enum zr_err look_at_start(struct rec_input *input)
{
	enum zr_err err = fill_packed(input);

	if (err || input->packed_n < MAGIC_BYTES ||
	    memcmp(input->packed, zstd_magic, MAGIC_BYTES) != 0)
		return err;
	input->zstd = ZSTD_createDStream();
	return input->zstd ? ZR_OK : zr_fail(ZR_NOMEM, "no memory to unpack %s", input->path);
}

enum zr_err rec_input_open(const char *path, struct rec_input **out)
{
	struct rec_input *input = calloc(1, sizeof(*input));
	bool is_stdin = strcmp(path, "-") == 0;
	enum zr_err err;

	if (!input)
		return zr_fail(ZR_NOMEM, "no memory to read %s", path);
	input->path = is_stdin ? "standard input" : path;
	input->file = is_stdin ? stdin : fopen(path, "rbe");
	err = input->file ? look_at_start(input) : zr_fail_errno(errno, "opening %s", path);
	if (err) {
		rec_input_close(input);
		return err;
	}
	*out = input;
	return ZR_OK;
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
	if (input->file && input->file != stdin)
		fclose(input->file);
	ZSTD_freeDStream(input->zstd);
	free(input);
}
