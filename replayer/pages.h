/* SPDX-License-Identifier: MIT */
/*
 * Large zeroed tables whose pages the machine gives only when they are touched. The model sizes its
 * tables by what a trace could need and pays for what it does need; nothing ever has to grow while
 * events run.
 */
#ifndef REPLAYER_PAGES_H
#define REPLAYER_PAGES_H

#include <stddef.h>

#include "db/base/err.h"

/* `count` zeroed objects of `size` bytes; free with pages_free() and the same figures. */
enum zr_err pages_new(size_t count, size_t size, const char *what, void **out);
void pages_free(void *pages, size_t count, size_t size);

#endif
