/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of blktrace's binary files. */
#include <stddef.h>
#include <stdint.h>

#include "recorder/import_fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	fuzz_import(data, bytes, REC_IMPORT_BLKTRACE);
	return 0;
}
