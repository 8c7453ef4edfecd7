/* SPDX-License-Identifier: MIT */
/* Quantities as people write them: sizes and spans of time with their units. */
#ifndef ZR_BASE_QUANTITY_H
#define ZR_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* "64K", "10M", "1.5GiB" (powers of 1024); false if it is not such a thing or does not fit. */
bool zr_parse_bytes(const char *text, uint64_t *out);

/* "90" and "90s" (seconds), "1.5s", "200ms", "10us", "5ns", "2m", "1h". */
bool zr_parse_span(const char *text, uint64_t *out_ns);

#endif
