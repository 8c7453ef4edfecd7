/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of perf.data. */
#include <stddef.h>
#include <stdint.h>

#include "recorder/import_fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	fuzz_import(data, bytes, REC_IMPORT_PERF_DATA);
	return 0;
}
