/* SPDX-License-Identifier: MIT */
/* For fuzzers: bytes as a file of one format, imported whole; the trace is thrown away. */
#ifndef RECORDER_IMPORT_FUZZ_FILE_H
#define RECORDER_IMPORT_FUZZ_FILE_H

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/recorder.h"

static inline void fuzz_import(const void *data, size_t bytes, enum rec_import_format format)
{
	static const char *const areas[] = { "0:0:2097152" };
	char input[64], output[64];
	struct rec_import_result result;
	const struct rec_import_options options = { .input = input, .output = output, .format = format,
						    .areas = areas, .n_areas = 1 };
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		return;
	lseek(fd, 0, SEEK_SET);
	snprintf(input, sizeof(input), "/proc/self/fd/%d", fd);
	snprintf(output, sizeof(output), "/dev/shm/zreel-fuzz-%d.zr", (int)getpid());
	unlink(output);
	if (rec_import(&options, &result))
		assert(zr_error_text()[0]);
	zr_error_clear();
	unlink(output);
	close(fd);
}

#endif
