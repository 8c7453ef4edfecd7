/* SPDX-License-Identifier: MIT */
/* The records of a perf ring; see perf.h. */
#include "recorder/perf.h"

#include <string.h>

#include "db/base/bytes.h"
#include "db/event.h"

enum {
	HEAD_BYTES = sizeof(struct perf_event_header),
	TID_AT = HEAD_BYTES + 4,
	TIME_AT = HEAD_BYTES + 8,
	RAW_SIZE_AT = HEAD_BYTES + 24,
	RAW_AT = RAW_SIZE_AT + 4,
	LOST_AT = HEAD_BYTES + 8,
	LOST_TIME_AT = HEAD_BYTES + 24,
	LOST_BYTES = LOST_TIME_AT + 8,
};

static bool push_lost(struct rec_perf_reader *reader, uint32_t cpu, enum db_gap kind, uint64_t n)
{
	struct rec_raw raw = { .type = REC_LOST,
			       .cpu = (uint16_t)cpu,
			       .order = (uint8_t)kind,
			       .len = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX };

	reader->stats.lost += n;
	return rec_merge_push(reader->merge, cpu, &raw);
}

static bool take_sample(struct rec_perf_reader *reader, uint32_t cpu, const unsigned char *record,
			size_t bytes)
{
	struct rec_raw raw;
	uint32_t size;

	reader->stats.events++;
	if (bytes < RAW_AT) {
		reader->stats.skipped++;
		return true;
	}
	rec_merge_time(reader->merge, cpu, zr_get64(record + TIME_AT));
	size = zr_get32(record + RAW_SIZE_AT);
	if (size > bytes - RAW_AT ||
	    !rec_decoder_event(reader->decoder, record + RAW_AT, size, &raw)) {
		reader->stats.skipped++;
		return true;
	}
	raw.tid = zr_get32(record + TID_AT);
	raw.cpu = (uint16_t)cpu;
	return rec_merge_push(reader->merge, cpu, &raw);
}

static bool take_lost(struct rec_perf_reader *reader, uint32_t cpu, const unsigned char *record,
		      size_t bytes)
{
	if (bytes < LOST_BYTES)
		return true;
	rec_merge_time(reader->merge, cpu, zr_get64(record + LOST_TIME_AT));
	return push_lost(reader, cpu, DB_GAP_RING, zr_get64(record + LOST_AT));
}

/* `bytes` at the tail in one piece: where they lie, or put together. */
static const unsigned char *piece(struct rec_perf_reader *reader,
				  const struct rec_perf_circle *circle, size_t bytes)
{
	uint64_t at = circle->tail & (circle->bytes - 1), first = circle->bytes - at;

	if (bytes <= first)
		return circle->data + at;
	memcpy(reader->whole, circle->data + at, first);
	memcpy(reader->whole + first, circle->data, bytes - first);
	return reader->whole;
}

static bool take_record(struct rec_perf_reader *reader, struct rec_perf_circle *circle)
{
	uint64_t left = circle->head - circle->tail;
	struct perf_event_header head;
	const unsigned char *record;

	if (left >= HEAD_BYTES)
		memcpy(&head, piece(reader, circle, HEAD_BYTES), HEAD_BYTES);
	if (left < HEAD_BYTES || head.size < HEAD_BYTES || head.size > left) {
		circle->tail = circle->head;
		reader->stats.damaged++;
		return push_lost(reader, circle->cpu, DB_GAP_READER, 1);
	}
	record = piece(reader, circle, head.size);
	circle->tail += head.size;
	reader->stats.bytes += head.size;
	if (head.type == PERF_RECORD_SAMPLE)
		return take_sample(reader, circle->cpu, record, head.size);
	return head.type != PERF_RECORD_LOST || take_lost(reader, circle->cpu, record, head.size);
}

enum zr_err rec_perf_take(struct rec_perf_reader *reader, struct rec_perf_circle *circle,
			  uint64_t mark_ns)
{
	/* More than the circle holds cannot be: then nothing in it can be trusted. */
	if (circle->head - circle->tail > circle->bytes) {
		circle->tail = circle->head;
		reader->stats.damaged++;
		return push_lost(reader, circle->cpu, DB_GAP_READER, 1)
			       ? ZR_OK
			       : zr_fail(ZR_NOMEM, "no memory for the events of CPU %u",
					 circle->cpu);
	}
	while (circle->tail != circle->head &&
	       rec_merge_time(reader->merge, circle->cpu, 0) <= mark_ns) {
		if (rec_merge_full(reader->merge, circle->cpu)) {
			rec_merge_behind(reader->merge, circle->cpu);
			break;
		}
		if (!take_record(reader, circle))
			return zr_fail(ZR_NOMEM, "no memory for the events of CPU %u", circle->cpu);
	}
	return ZR_OK;
}

bool rec_perf_unwatched(struct rec_perf_reader *reader, uint32_t cpu, uint64_t time_ns)
{
	struct rec_raw raw = { .type = REC_LOST, .cpu = (uint16_t)cpu, .order = DB_GAP_READER, .len = 1 };

	rec_merge_time(reader->merge, cpu, time_ns);
	return rec_merge_push(reader->merge, cpu, &raw);
}
