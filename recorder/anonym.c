/* SPDX-License-Identifier: MIT */
/* Names that tell nothing; see anonym.h. */
#include "recorder/anonym.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "db/base/bytes.h"

enum zr_err rec_anonym_init(struct rec_anonym *anonym)
{
	if (getrandom(anonym->key, sizeof(anonym->key), 0) == sizeof(anonym->key))
		return ZR_OK;
	return zr_fail_errno(errno, "getting random bytes to hide names with");
}

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void take_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
}

uint64_t rec_anonym_hash(const struct rec_anonym *anonym, const void *data, size_t bytes)
{
	const unsigned char *at = data, *end = at + bytes / 8 * 8;
	uint64_t k0 = anonym->key[0], k1 = anonym->key[1], last = (uint64_t)bytes << 56;
	/* "somepseudorandomlygeneratedbytes" */
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
			  k1 ^ 0x7465646279746573 };

	for (; at < end; at += 8)
		take_word(v, zr_get64(at));
	for (size_t i = 0; i < bytes % 8; i++)
		last |= (uint64_t)end[i] << 8 * i;
	take_word(v, last);
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void rec_anonym_path(const struct rec_anonym *anonym, const char *path, char *text, size_t bytes)
{
	size_t n = 0;

	text[0] = '\0';
	while (*path && n < bytes) {
		size_t part = strcspn(path, "/");

		if (part)
			n += (size_t)snprintf(
				text + n, bytes - n, "%012llx",
				(unsigned long long)rec_anonym_hash(anonym, path, part) >> 16);
		path += part;
		if (*path == '/' && n < bytes)
			n += (size_t)snprintf(text + n, bytes - n, "/");
		path += *path == '/';
	}
}
