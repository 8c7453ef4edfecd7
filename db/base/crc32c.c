/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C by the SSE 4.2 instruction where the CPU has it, else by a constant table of 16 words, half a
 * byte at a time. Chunks are checksummed compressed (about 4 bytes an event), so this is far from hot.
 */
#include "db/base/bytes.h"

/* table[n]: n pushed through four steps of the reflected polynomial 0x82f63b78 */
static const uint32_t table[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t crc_by_table(uint32_t crc, const uint8_t *p, size_t bytes)
{
	while (bytes--) {
		crc ^= *p++;
		crc = table[crc & 15] ^ (crc >> 4);
		crc = table[crc & 15] ^ (crc >> 4);
	}
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_by_cpu(uint32_t crc, const uint8_t *p,
							     size_t bytes)
{
	uint64_t wide = crc;

	for (; bytes >= 8; bytes -= 8, p += 8)
		wide = __builtin_ia32_crc32di(wide, zr_get64(p));
	crc = (uint32_t)wide;
	while (bytes--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t zr_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	crc = ~crc;
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_by_cpu(crc, data, bytes);
#endif
	return ~crc_by_table(crc, data, bytes);
}
