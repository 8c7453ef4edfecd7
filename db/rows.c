/* SPDX-License-Identifier: MIT */
/* Which events there can be; see rows.h. */
#include "db/rows.h"

/* Outcomes that each kind can have: bit 1 << value of the flags' bits 0-2. */
static const uint8_t outcomes[DB_KIND_COUNT] = {
	[DB_OUT] = (2 << DB_OUT_KEPT) - 1,
	[DB_IN] = (2 << DB_IN_ERROR) - 1,
	[DB_FREE] = 1,
	[DB_WB] = (2 << DB_WB_FAILED) - 1,
	[DB_RECLAIM] = 1,
	[DB_SCAN] = 3,
	[DB_WORKER] = 1,
	[DB_SHRINK] = (2 << DB_SHRINK_EMPTY) - 1,
	[DB_IO] = 0xff, /* other fields lie there */
	[DB_SAMPLE] = 1,
	[DB_GAP] = (2 << DB_GAP_IMPORT) - 1,
};

static bool io_flags_valid(unsigned flags)
{
	unsigned op = flags & 3, phase = flags >> DB_IO_PHASE_SHIFT & 7;

	return op <= DB_IO_DISCARD && phase <= DB_IO_MERGE && !(flags & 0x60);
}

static bool flags_valid(unsigned kind, unsigned flags)
{
	unsigned rest = flags & ~(DB_F_OUTCOME | DB_F_UNKNOWN);

	if (kind == DB_IO)
		return io_flags_valid(flags);
	if (!(outcomes[kind] >> (flags & DB_F_OUTCOME) & 1))
		return false;
	if (kind == DB_OUT)
		return db_flags_reason((uint8_t)flags) <= DB_REASON_OFF;
	if (kind == DB_IN)
		return !(rest & ~DB_F_READAHEAD);
	return !rest;
}

void db_rows_init(struct db_rows *rows)
{
	*rows = (struct db_rows){ 0 };
	for (unsigned kind = 0; kind < DB_KIND_COUNT; kind++)
		for (unsigned flags = 0; flags < 256; flags++)
			rows->valid[kind][flags] = flags_valid(kind, flags);
}

enum zr_err db_rows_check_kinds(const char *name, const struct db_batch *batch)
{
	uint32_t row = 0;

	while (row < batch->n && batch->kind[row] < DB_KIND_COUNT)
		row++;
	if (row == batch->n)
		return ZR_OK;
	return zr_fail(ZR_CORRUPT, "%s: event %u is none that is known: kind %u", name, row,
		       batch->kind[row]);
}

bool db_rows_times_valid(const struct db_batch *batch)
{
	bool bad = false;

	for (uint32_t i = 1; i < batch->n; i++)
		bad |= batch->time_ns[i] < batch->time_ns[i - 1];
	return !bad;
}

static bool row_valid(const struct db_rows *rows, const struct db_batch *batch, uint32_t row)
{
	unsigned kind = batch->kind[row];

	return kind < DB_ROWS_KINDS && rows->valid[kind][batch->flags[row]] &&
	       (kind != DB_OUT || batch->order[row] <= DB_ORDER_MAX) &&
	       (row == 0 || batch->time_ns[row - 1] <= batch->time_ns[row]);
}

static enum zr_err fail_row(const char *name, const struct db_batch *batch, uint32_t row)
{
	struct db_event e = db_batch_event(batch, row);

	if (row && e.time_ns < batch->time_ns[row - 1])
		return zr_fail(ZR_CORRUPT, "%s: time descends at event %u: %llu after %llu ns",
			       name, row, (unsigned long long)e.time_ns,
			       (unsigned long long)batch->time_ns[row - 1]);
	return zr_fail(ZR_CORRUPT,
		       "%s: event %u is none that is known: kind %u, flags 0x%02x, order %u", name,
		       row, e.kind, e.flags, e.order);
}

enum zr_err db_rows_check(const struct db_rows *rows, const char *name,
			  const struct db_batch *batch)
{
	for (uint32_t row = 0; row < batch->n; row++)
		if (!row_valid(rows, batch, row))
			return fail_row(name, batch, row);
	return ZR_OK;
}
