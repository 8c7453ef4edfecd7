/* SPDX-License-Identifier: MIT */
/* Fuzzes the reading of sub-buffers: any bytes may stand where the kernel writes its own. Records must come
 * out with ascending times. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { PAGE_BYTES = 4096 };

static const char format[] = "name: free\nID: 1500\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:u64 swp;\toffset:8;\tsize:8;\tsigned:0;\n\n"
			     "print fmt: \"swp=0x%Lx\", REC->swp\n";

static void give_page(struct rec_ring *ring, const uint8_t *data, size_t bytes)
{
	unsigned char *page = calloc(1, PAGE_BYTES);
	uint64_t drained;

	if (!page)
		return;
	memcpy(page, data, bytes < PAGE_BYTES ? bytes : PAGE_BYTES);
	if (rec_ring_page(ring, bytes & 1, page, PAGE_BYTES) || rec_ring_drain(ring, 0, &drained))
		assert(!"nothing of a page is an error");
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct rec_layout layout = { .head_bit = 6 };
	struct rec_decoder *decoder;
	struct rec_ring *ring;
	struct rec_raw raw;
	uint64_t last = 0;

	if (rec_decoder_new(&layout, &decoder))
		return 0;
	if (rec_decoder_add(decoder, "zreel_1", format, REC_FREE) ||
	    rec_ring_new(decoder, &(struct rec_ring_size){ .cpus = 2, .page_bytes = PAGE_BYTES }, &ring))
		assert(!"the format is good");
	give_page(ring, data, bytes);
	if (bytes > PAGE_BYTES)
		give_page(ring, data + PAGE_BYTES, bytes - PAGE_BYTES);
	while (rec_ring_next(ring, UINT64_MAX, &raw)) {
		assert(raw.time_ns >= last);
		last = raw.time_ns;
	}
	rec_ring_close(ring);
	rec_decoder_free(decoder);
	return 0;
}
