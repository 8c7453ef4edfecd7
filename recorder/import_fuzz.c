/* SPDX-License-Identifier: MIT */
/* Fuzzes what stands between a foreign text and the trace: lines, fields, and the pairing of whatever order
 * of records comes out of them. Times of events must ascend. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recorder/fold.h"
#include "recorder/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static enum zr_err take_event(void *arg, const struct db_event *event)
{
	uint64_t *last = arg;

	assert(event->time_ns >= *last);
	assert(event->kind < DB_KIND_COUNT);
	*last = event->time_ns;
	return ZR_OK;
}

static enum zr_err take_key([[maybe_unused]] void *arg, [[maybe_unused]] uint32_t id,
			    [[maybe_unused]] uint64_t key)
{
	return ZR_OK;
}

static enum zr_err take_id([[maybe_unused]] void *arg, [[maybe_unused]] uint32_t id,
			   [[maybe_unused]] uint32_t number)
{
	return ZR_OK;
}

static void take_line(struct rec_fold *fold, const char *start, size_t n)
{
	static const struct rec_dialect dialect = { .layout = { .head_bit = 6, .order_in_flags1 = true } };
	char line[512];
	struct rec_raw raw;

	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	memcpy(line, start, n);
	line[n] = '\0';
	if (rec_text_parse(line, &dialect, &raw) == REC_LINE_EVENT && rec_fold_add(fold, &raw))
		assert(!"the sink never fails");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint64_t last = 0;
	const struct rec_fold_options options = {
		.sink = { .event = take_event, .memcg = take_key, .task = take_id, .area = take_id,
			  .arg = &last },
	};
	const char *at = (const char *)data, *end = at + bytes;
	struct rec_fold *fold;

	if (rec_fold_new(&options, &fold))
		return 0;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);

		take_line(fold, at, n);
		at += n + 1;
	}
	if (rec_fold_finish(fold))
		assert(!"the sink never fails");
	rec_fold_free(fold);
	return 0;
}
