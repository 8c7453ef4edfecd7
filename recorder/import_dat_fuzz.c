/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of trace.dat: its head here, the library in its own process, which may die. */
#include <stddef.h>
#include <stdint.h>

#include "recorder/import_fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	fuzz_import(data, bytes, REC_IMPORT_TRACE_DAT);
	return 0;
}
