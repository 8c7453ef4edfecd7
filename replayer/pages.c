/* SPDX-License-Identifier: MIT */
/* Tables of pages.h: private anonymous mappings without a reservation of swap. */
#include "replayer/pages.h"

#include <errno.h>
#include <sys/mman.h>

/* Up to here tables are given huge pages: at 8 M slots the model runs 16 M events/s with them, 9 without (a
 * busy machine; at 1 M no difference). A larger one might be touched only here and there. */
enum { HUGE_MAX = 1 << 30 };

enum zr_err pages_new(size_t count, size_t size, const char *what, void **out)
{
	size_t bytes;
	void *pages;

	*out = NULL;
	if (__builtin_mul_overflow(count, size, &bytes))
		return zr_fail(ZR_NOMEM,
			       "making room for %s: %zu of %zu bytes are more than memory can be", what,
			       count, size);
	if (!bytes)
		return ZR_OK;
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		     -1, 0);
	if (pages == MAP_FAILED)
		return zr_fail_errno(errno, "making room for %s: %zu of %zu bytes of address space",
				     what, count, size);
	if (bytes <= HUGE_MAX)
		madvise(pages, bytes, MADV_HUGEPAGE);
	*out = pages;
	return ZR_OK;
}

void pages_free(void *pages, size_t count, size_t size)
{
	if (pages)
		munmap(pages, count * size);
}
