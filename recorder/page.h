/* SPDX-License-Identifier: MIT */
/*
 * The events of one sub-buffer, as the kernel's ring buffer lays them out and `trace_pipe_raw`
 *hands it over.
 *
 *	offset  0  u64  time of the page
 *	        8  u64  bytes of events behind the head (27 bits); bit 31: events were lost before
 *them; bit 30: how many is told by a u64 behind the events 16       events, each on a multiple of
 *4:
 *
 *	u32 kind (5 bits), time since the last (27 bits)
 *	      1..28   4 x kind bytes of data follow
 *	      0       a u32 follows: the bytes of data + 4
 *	      29      padding; without a time the rest of the page is void, else a u32 follows: the
 *bytes behind it and itself, that were taken back 30      a u32 follows: upper bits of the time
 *that passes 31      a u32 follows: upper bits of the time that it is; the highest 5 of 64 are as
 *before
 *
 * Nothing is read beyond the bytes that were given: what does not fit is damage, and ends the page.
 * The tests hold this against libtraceevent's own reader.
 *
 * Cost: no call and a branch or two an event, where the library, which serves any byte order and
 *word size, makes four calls.
 */
#ifndef RECORDER_PAGE_H
#define RECORDER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/base/bytes.h"

enum { REC_PAGE_HEAD_BYTES = 16 };

struct rec_page {
	const unsigned char *at, *end;
	uint64_t time_ns; /* of the event that came last */
	uint64_t lost;	  /* events before this page; at least 1 if there were any */
	bool damaged;
};

struct rec_page_event {
	const unsigned char *data;
	uint32_t bytes;
};

/* False when the head makes no sense. */
[[nodiscard]] static inline bool rec_page_open(struct rec_page *page, const void *data, size_t room)
{
	enum { BYTES = (1 << 27) - 1, LOST = 31, LOST_STORED = 30 };
	const unsigned char *head = data;
	uint64_t word;
	size_t bytes;

	if (room < REC_PAGE_HEAD_BYTES)
		return false;
	word = zr_get64(head + 8);
	bytes = word & BYTES;
	if (bytes > room - REC_PAGE_HEAD_BYTES)
		return false;
	*page = (struct rec_page){ .at = head + REC_PAGE_HEAD_BYTES,
				   .end = head + REC_PAGE_HEAD_BYTES + bytes,
				   .time_ns = zr_get64(head),
				   .lost = word >> LOST & 1 };
	if (!(word >> LOST_STORED & page->lost))
		return true;
	if (room - REC_PAGE_HEAD_BYTES - bytes < sizeof(uint64_t))
		return false;
	page->lost = zr_get64(page->end);
	page->lost += !page->lost;
	return true;
}

/* Bits 59 and above do not fit into a stamp: they are those of the time before, or one more. */
static inline uint64_t rec_page_stamp(uint64_t stamp, uint64_t before_ns)
{
	const uint64_t unit = UINT64_C(1) << 59;

	if (before_ns >= unit)
		stamp |= before_ns & ~(unit - 1);
	return before_ns >= unit && stamp < before_ns ? stamp + unit : stamp;
}

/* The next event; false at the end, or where damage begins. */
[[nodiscard]] static inline bool rec_page_next(struct rec_page *page, struct rec_page_event *out)
{
	enum { WORD = 4, LENGTH_FOLLOWS = 0, PADDING = 29, EXTEND = 30, TIME_BITS = 27 };

	while (page->end - page->at >= WORD) {
		uint32_t head = zr_get32(page->at), kind = head & 31, since = head >> 5, word;
		size_t left = (size_t)(page->end - page->at) - WORD;

		page->at += WORD;
		if (kind - 1 < PADDING - 1) {
			*out = (struct rec_page_event){ page->at, kind * WORD };
			if (out->bytes > left)
				break;
			page->at += out->bytes;
			page->time_ns += since;
			return true;
		}
		if (kind == PADDING && !since)
			return false;
		if (left < WORD)
			break;
		word = zr_get32(page->at);
		if (kind == EXTEND) {
			page->at += WORD;
			page->time_ns += since + ((uint64_t)word << TIME_BITS);
			continue;
		}
		if (kind > EXTEND) {
			page->at += WORD;
			page->time_ns = rec_page_stamp(since + ((uint64_t)word << TIME_BITS),
						       page->time_ns);
			continue;
		}
		/* Data or padding with its length in the word. */
		if (word < WORD || word > left)
			break;
		*out = (struct rec_page_event){ page->at + WORD, word - WORD };
		page->at += (word + WORD - 1) / WORD * WORD;
		if (page->at > page->end)
			page->at = page->end;
		page->time_ns += since;
		if (kind == LENGTH_FOLLOWS)
			return true;
	}
	page->damaged = page->at != page->end;
	return false;
}

#endif
