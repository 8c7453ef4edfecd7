/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of trace.dat: its head here, the library in its own process, which may die: that is an answer,
 * not a finding. So what the fuzzer does when this process dies must not be done by that one, which would leave a
 * crash-* file for each input that libtracecmd does not survive. */
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/import_fuzz_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void die_alone(void)
{
	__sanitizer_set_death_callback(NULL);
}

int LLVMFuzzerInitialize([[maybe_unused]] int *argc, [[maybe_unused]] char ***argv)
{
	return pthread_atfork(NULL, NULL, die_alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	fuzz_import(data, bytes, REC_IMPORT_TRACE_DAT);
	return 0;
}
