/* SPDX-License-Identifier: MIT */
/*
 * Little-endian integers in byte arrays, and the zigzag map. On-disk layouts are read and written
 * through these, never by casting a struct. All compile to single moves on x86-64 and arm64.
 */
#ifndef ZR_BASE_BYTES_H
#define ZR_BASE_BYTES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian hosts need byte swaps here");

static inline uint16_t zr_get16(const void *from)
{
	uint16_t v;

	memcpy(&v, from, sizeof(v));
	return v;
}

static inline uint32_t zr_get32(const void *from)
{
	uint32_t v;

	memcpy(&v, from, sizeof(v));
	return v;
}

static inline uint64_t zr_get64(const void *from)
{
	uint64_t v;

	memcpy(&v, from, sizeof(v));
	return v;
}

static inline void zr_put16(void *to, uint16_t v)
{
	memcpy(to, &v, sizeof(v));
}

static inline void zr_put32(void *to, uint32_t v)
{
	memcpy(to, &v, sizeof(v));
}

static inline void zr_put64(void *to, uint64_t v)
{
	memcpy(to, &v, sizeof(v));
}

/* Zigzag: small magnitudes of either sign become small unsigned numbers: 0 -1 1 -2 -> 0 1 2 3. */
static inline uint32_t zr_zigzag32(int32_t v)
{
	return ((uint32_t)v << 1) ^ (uint32_t)(v >> 31);
}

static inline int32_t zr_unzigzag32(uint32_t v)
{
	return (int32_t)((v >> 1) ^ -(v & 1));
}

static inline uint64_t zr_zigzag64(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t zr_unzigzag64(uint64_t v)
{
	return (int64_t)((v >> 1) ^ -(v & 1));
}

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes` bytes; start with crc = 0, chain results. */
uint32_t zr_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
