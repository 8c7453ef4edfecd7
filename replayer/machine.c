/* SPDX-License-Identifier: MIT */
/*
 * The recorded machine as the model needs it, and the border check of event batches: behind it the model
 * indexes its arrays without looking.
 */
#include "replayer/replayer.h"

#include <stdio.h>
#include <string.h>

#include "replayer/lengths.h"

/* The kernel's defaults, for traces that do not say. */
enum { DEFAULT_POOL_PERCENT = 20, DEFAULT_ACCEPT_PERCENT = 90 };

enum { PRIORITY_MAX = 12 }; /* at which reclaim begins, DEF_PRIORITY of Linux */

static enum zr_err check_percent(struct db *db, uint32_t host, const char *key, int32_t otherwise,
				 int32_t *out)
{
	int64_t value = db_env_int(db, host, key, otherwise);

	if (value < 0 || value > 100)
		return zr_fail(ZR_CORRUPT, "%s, host %u: %s is %lld, not a percentage", db_path(db),
			       host, key, (long long)value);
	*out = (int32_t)value;
	return ZR_OK;
}

static enum zr_err load_settings(struct db *db, uint32_t host, struct sim_machine *out)
{
	int64_t page_size = db_env_int(db, host, DB_ENV_PAGE_SIZE, 4096);
	int64_t mem_pages = db_env_int(db, host, DB_ENV_MEM_PAGES, 0);
	enum zr_err err;

	if (page_size < 4096 || page_size > 65536 || (page_size & (page_size - 1)))
		return zr_fail(ZR_CORRUPT,
			       "%s, host %u: the page size is %lld, not a power of two from 4096 "
			       "to 65536",
			       db_path(db), host, (long long)page_size);
	if (mem_pages < 0 || mem_pages > INT64_MAX / 100)
		return zr_fail(ZR_CORRUPT, "%s, host %u: the memory is %lld pages", db_path(db), host,
			       (long long)mem_pages);
	out->page_size = (uint32_t)page_size;
	out->mem_pages = (uint64_t)mem_pages;
	err = check_percent(db, host, DB_ENV_ZSWAP_PREFIX "max_pool_percent", DEFAULT_POOL_PERCENT,
			    &out->max_pool_percent);
	return err ? err :
		     check_percent(db, host, DB_ENV_ZSWAP_PREFIX "accept_threshold_percent",
				   DEFAULT_ACCEPT_PERCENT, &out->accept_threshold_percent);
}

/* "6.12.118+deb13-amd64" is 612. */
static enum zr_err load_kernel(struct db *db, uint32_t host, struct zr_arena *arena, uint32_t *out)
{
	const char *release;
	unsigned major, minor;
	enum zr_err err = db_env_get(db, host, DB_ENV_KERNEL, arena, &release);

	if (!err && release && sscanf(release, "%4u.%2u", &major, &minor) == 2)
		*out = 100 * major + minor;
	return err;
}

static enum zr_err load_ids(struct db *db, uint32_t host, struct zr_arena *arena,
			    struct sim_machine *out)
{
	struct db_memcg *memcgs;
	struct db_area *areas;
	size_t n_memcgs, n_areas;
	enum zr_err err;

	err = db_memcgs(db, host, arena, &memcgs, &n_memcgs);
	if (!err)
		err = db_areas(db, host, arena, &areas, &n_areas);
	if (err)
		return err;
	if (n_memcgs && memcgs[n_memcgs - 1].id > DB_MEMCG_MAX)
		return zr_fail(ZR_CORRUPT, "%s, host %u: the highest cgroup is %u, the limit is %d",
			       db_path(db), host, memcgs[n_memcgs - 1].id, DB_MEMCG_MAX);
	if (n_areas && areas[n_areas - 1].id > DB_AREA_MAX)
		return zr_fail(ZR_CORRUPT, "%s, host %u: the highest swap area is %u, the limit is %d",
			       db_path(db), host, areas[n_areas - 1].id, DB_AREA_MAX);
	out->n_memcgs = n_memcgs ? memcgs[n_memcgs - 1].id + 1 : 1;
	out->n_areas = n_areas ? areas[n_areas - 1].id + 1 : 0;
	for (size_t i = 0; i < n_areas; i++)
		out->area_slots[areas[i].id] = areas[i].slots;
	return ZR_OK;
}

static enum zr_err load_compressor(struct db *db, uint32_t host, struct zr_arena *arena, int32_t *out)
{
	const char *name;
	enum zr_err err = db_env_get(db, host, DB_ENV_ZSWAP_PREFIX "compressor", arena, &name);

	if (!err && name)
		*out = 1 + lengths_compressor(name);
	return err;
}

/* What a trace does not say was the kernel's default, which was zbud as long as the allocator evicted. */
static enum zr_err load_zpool(struct db *db, uint32_t host, struct zr_arena *arena,
			      struct sim_machine *out)
{
	const char *zpool;
	enum zr_err err = db_env_get(db, host, DB_ENV_ZSWAP_PREFIX "zpool", arena, &zpool);

	if (!err && zpool)
		out->zbud = strcmp(zpool, "zbud") == 0 || strcmp(zpool, "z3fold") == 0;
	else if (!err)
		out->zbud = out->kernel && out->kernel < SIM_KERNEL_EVICTS;
	return err;
}

enum zr_err sim_machine_load(struct db *db, uint32_t host, struct sim_machine *out)
{
	struct zr_arena arena = { 0 };
	enum zr_err err;

	memset(out, 0, sizeof(*out));
	err = load_settings(db, host, out);
	if (!err)
		err = load_kernel(db, host, &arena, &out->kernel);
	if (!err)
		err = load_zpool(db, host, &arena, out);
	if (!err)
		err = load_compressor(db, host, &arena, &out->compressor);
	if (!err)
		err = load_ids(db, host, &arena, out);
	zr_arena_fini(&arena);
	return err;
}

/* Slots that a row covers; 0 for kinds that name none. */
static uint64_t slots_of(const struct db_batch *batch, uint32_t row)
{
	switch (batch->kind[row]) {
	case DB_OUT:
		return batch->flags[row] & DB_F_PART ? 1 : (uint64_t)1 << batch->order[row];
	case DB_FREE:
		return db_free_slots(batch->len[row]);
	case DB_IN:
	case DB_WB:
		return 1;
	default:
		return 0;
	}
}

static enum zr_err bad_row(const struct db_batch *batch, uint32_t row, const char *what, uint64_t value,
			   uint64_t end)
{
	return zr_fail(ZR_CORRUPT,
		       "event %u of a batch of host %u, %s at %llu ns: %s is %llu, but must be "
		       "below %llu",
		       row, batch->host, db_kind_name(batch->kind[row]),
		       (unsigned long long)batch->time_ns[row], what, (unsigned long long)value,
		       (unsigned long long)end);
}

static enum zr_err check_slots(const struct sim_machine *machine, const struct db_batch *batch,
			       uint32_t row)
{
	uint8_t area = batch->area[row];
	uint64_t end;

	if (batch->kind[row] == DB_OUT && batch->order[row] > DB_ORDER_MAX)
		return bad_row(batch, row, "the folio order", batch->order[row], DB_ORDER_MAX + 1);
	if (batch->kind[row] == DB_OUT && batch->len[row] > machine->page_size)
		return bad_row(batch, row, "the compressed length", batch->len[row],
			       (uint64_t)machine->page_size + 1);
	if (batch->kind[row] == DB_RECLAIM && batch->order[row] > PRIORITY_MAX)
		return bad_row(batch, row, "the priority", batch->order[row], PRIORITY_MAX + 1);
	end = slots_of(batch, row);
	if (!end)
		return ZR_OK;
	if (area >= machine->n_areas)
		return bad_row(batch, row, "the swap area", area, machine->n_areas);
	end += batch->slot[row];
	if (end > machine->area_slots[area])
		return bad_row(batch, row, "the last slot", end - 1, machine->area_slots[area]);
	return ZR_OK;
}

enum zr_err sim_check_batch(const struct sim_machine *machine, const struct db_batch *batch)
{
	enum zr_err err;

	for (uint32_t row = 0; row < batch->n; row++) {
		if (batch->kind[row] >= DB_KIND_COUNT)
			return zr_fail(ZR_CORRUPT,
				       "event %u of a batch of host %u: there is no kind %u", row,
				       batch->host, batch->kind[row]);
		if (batch->memcg[row] >= machine->n_memcgs)
			return bad_row(batch, row, "the cgroup", batch->memcg[row], machine->n_memcgs);
		err = check_slots(machine, batch, row);
		if (err)
			return err;
	}
	return ZR_OK;
}
