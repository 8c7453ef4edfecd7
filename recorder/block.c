/* SPDX-License-Identifier: MIT */
/* Swap-outs and refaults from requests; see block.h. */
#include "recorder/block.h"

#define PASS_NS UINT64_C(10'000'000) /* between two shrinkers of one pass */

static struct rec_block_issue *issue_of(struct rec_block *block, const struct db_event *event)
{
	uint32_t hash = (event->slot ^ (uint32_t)event->area << 24) * 0x9e3779b1u;

	return &block->issued[hash >> 20 & (REC_BLOCK_ISSUED - 1)];
}

static void note_issue(struct rec_block *block, const struct db_event *event)
{
	*issue_of(block, event) = (struct rec_block_issue){ .slot = event->slot,
							    .task = event->task,
							    .area = event->area };
}

static uint32_t task_of(struct rec_block *block, const struct db_event *event)
{
	const struct rec_block_issue *issue = issue_of(block, event);

	return issue->slot == event->slot && issue->area == event->area ? issue->task : 0;
}

/* A page of which only a part was written or read does not count: swap moves whole pages. */
static enum zr_err put_pages(const struct rec_block *block, struct db_event event, uint32_t sectors,
			     rec_event_fn *put, void *arg)
{
	enum zr_err err = ZR_OK;

	for (uint32_t n = sectors / block->sectors_per_slot; !err && n; n--) {
		err = put(arg, &event);
		event.slot++;
	}
	return err;
}

enum zr_err rec_block_event(struct rec_block *block, const struct db_event *event,
			    rec_event_fn *put, void *arg)
{
	static const uint8_t kinds[] = {
		[DB_IO_READ] = DB_IN, [DB_IO_WRITE] = DB_OUT, [DB_IO_DISCARD] = DB_FREE
	};
	unsigned op = event->flags & 3, phase = event->flags >> DB_IO_PHASE_SHIFT;
	struct db_event told = { .time_ns = event->time_ns,
				 .slot = event->slot,
				 .area = event->area };
	enum zr_err err = put(arg, event);

	if (err || event->kind != DB_IO || op > DB_IO_DISCARD)
		return err;
	if (phase == DB_IO_ISSUE)
		note_issue(block, event);
	if (phase != DB_IO_COMPLETE)
		return ZR_OK;
	told.kind = kinds[op];
	told.task = task_of(block, event);
	if (op == DB_IO_READ)
		told.flags = DB_IN_DISK;
	if (op == DB_IO_WRITE)
		told.flags = DB_OUT_REJECTED |
			     (block->zswap_off ? DB_REASON_OFF << DB_F_REASON_SHIFT : 0);
	if (op != DB_IO_DISCARD)
		return put_pages(block, told, event->len, put, arg);
	told.len = (uint16_t)(event->len / block->sectors_per_slot);
	return told.len ? put(arg, &told) : ZR_OK;
}

bool rec_block_begins_pass(struct rec_block *block, const struct rec_raw *raw)
{
	struct rec_raw *pass = &block->passes[raw->tid % REC_BLOCK_PASSES];
	bool goes_on = pass->type == raw->type && pass->tid == raw->tid && pass->ret == raw->ret &&
		       pass->order == raw->order && pass->swp != raw->swp &&
		       raw->time_ns - pass->time_ns < PASS_NS;

	if (goes_on)
		pass->time_ns = raw->time_ns;
	else
		*pass = *raw;
	return !goes_on;
}
