/* SPDX-License-Identifier: MIT */
/*
 * The pool model against an oracle, and its corner cases one by one.
 *
 * The oracle keeps slots in an array, each LRU list in an array that is shifted, and iterates a list as the
 * kernel does: the next entry is noted before the present one moves. It shares with the model only the
 * zsmalloc accounting, which has an oracle of its own in zsmalloc_test.c; its zbud is the naive one.
 */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/lengths.h"
#include "replayer/model.h"
#include "replayer/test_zbud.h"

enum { LOG_MAX = 4096 };

/* ---------------------------------------------------------------------------------------- log sink */

enum mark { MARK_BEGIN, MARK_WRITE, MARK_END, MARK_READ, MARK_DISCARD, MARK_STORE, MARK_LOAD };

struct mark_row {
	enum mark mark;
	uint32_t kind, area, slot, pages, memcg, len;
	uint64_t time_ns;
};

struct log {
	struct sim_sink sink; /* first */
	uint32_t n;
	struct mark_row rows[LOG_MAX];
};

static void log_add(struct log *log, struct mark_row row)
{
	assert_true(log->n < LOG_MAX);
	log->rows[log->n++] = row;
}

static void log_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	log_add((struct log *)sink,
		(struct mark_row){ .mark = MARK_BEGIN, .kind = kind, .time_ns = time_ns });
}

static void log_write(struct sim_sink *sink, const struct sim_write *w)
{
	log_add((struct log *)sink, (struct mark_row){ .mark = MARK_WRITE,
						       .area = w->area,
						       .slot = w->slot,
						       .pages = w->pages,
						       .memcg = w->memcg,
						       .len = w->len,
						       .time_ns = w->time_ns });
}

static void log_end(struct sim_sink *sink)
{
	log_add((struct log *)sink, (struct mark_row){ .mark = MARK_END });
}

static void log_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		     uint16_t memcg)
{
	log_add((struct log *)sink, (struct mark_row){ .mark = MARK_READ,
						       .area = area,
						       .slot = slot,
						       .memcg = memcg,
						       .time_ns = time_ns });
}

static void log_discard(struct sim_sink *sink, uint8_t area, uint32_t slot)
{
	log_add((struct log *)sink,
		(struct mark_row){ .mark = MARK_DISCARD, .area = area, .slot = slot });
}

static void log_store(struct sim_sink *sink, uint16_t len)
{
	log_add((struct log *)sink, (struct mark_row){ .mark = MARK_STORE, .len = len });
}

static void log_load(struct sim_sink *sink, uint16_t len)
{
	log_add((struct log *)sink, (struct mark_row){ .mark = MARK_LOAD, .len = len });
}

static struct log *new_log(void)
{
	struct log *log = calloc(1, sizeof(*log));

	assert_non_null(log);
	log->sink = (struct sim_sink){ .walk_begin = log_begin,
				       .write = log_write,
				       .walk_end = log_end,
				       .read = log_read,
				       .discard = log_discard,
				       .store = log_store,
				       .load = log_load };
	return log;
}

/* ------------------------------------------------------------------------------------------ oracle */

enum { NO_MAX = -1, NO_PARENT = -1, RAW = 4096 };
enum { AREAS = 2, AREA_SLOTS = 96, SLOTS = AREAS * AREA_SLOTS, MEMCGS = 4, TASKS = 3 };

/* A policy, and what it says of cgroups 0 to 3, as the oracle needs it. The tree is 1 "/", 2 "/a", 3 "/a/b"; 0 has no name. */
struct o_case {
	const char *policy;
	bool no_wb[MEMCGS];
	int max_pages[MEMCGS]; /* of compressed bytes; 0 stands for none here */
};

static const int o_parents[MEMCGS] = { NO_PARENT, NO_PARENT, 1, 2 };

struct o_slot {
	bool in_zswap; /* zero-filled */
	enum sim_slot state;
	uint16_t memcg, len;
	bool referenced, fresh, written_back, in_memory;
	uint32_t zspage;
	int zbud_handle;
	uint64_t written_ns, born;
};

struct oracle {
	struct o_case said;
	struct sim_policy policy;
	struct log *log;
	struct sim_counters counters;
	struct o_slot slots[SLOTS];
	int lru[MEMCGS][SLOTS];
	int n[MEMCGS];
	uint16_t memcg_len[MEMCGS];
	struct zs_pool pool;
	struct naive_zbud *zbud; /* NULL: the pool is the other one */
	uint64_t limit, accept, bytes, born, objects;
	bool evicts, unseen; /* evict=pool; an evicted page that still counts */
	bool full;
	struct {
		bool queued, running, drained;
		uint64_t due; /* UINT64_MAX: nothing to do */
		int next_memcg, failures, candidates;
	} worker;
	struct sim_pace pace;
	uint64_t disk_swapins[MEMCGS], deferred[MEMCGS];
	bool direct_open;
	uint32_t direct_task;
	int part_first, part_next, parts_left;
	bool parts_stored;
	uint64_t now;
};

static int o_area(int slot)
{
	return slot / AREA_SLOTS;
}

static uint64_t o_pages(const struct oracle *o)
{
	return o->zbud ? naive_zbud_pages(o->zbud) : o->pool.pages;
}

static void o_unlist(struct oracle *o, int slot)
{
	int m = o->slots[slot].memcg, i = 0;

	while (o->lru[m][i] != slot)
		i++;
	memmove(&o->lru[m][i], &o->lru[m][i + 1], sizeof(int) * (size_t)(o->n[m] - i - 1));
	o->n[m]--;
}

static void o_list(struct oracle *o, int slot)
{
	int m = o->slots[slot].memcg;

	o->lru[m][o->n[m]++] = slot;
	o->slots[slot].born = ++o->born;
}

static void o_release(struct oracle *o, int slot)
{
	if (o->slots[slot].state == SIM_SLOT_ZSWAP) {
		o_unlist(o, slot);
		if (o->zbud)
			naive_zbud_free(o->zbud, o->slots[slot].zbud_handle);
		else
			zs_free(&o->pool, o->slots[slot].zspage);
		o->bytes -= o->slots[slot].len;
		o->objects--;
		o->unseen = false;
	}
	o->slots[slot].fresh = o->slots[slot].in_zswap = o->slots[slot].in_memory = false;
}

static void o_write_back(struct oracle *o, int slot)
{
	struct o_slot *s = &o->slots[slot];

	o_release(o, slot);
	s->state = SIM_SLOT_DISK;
	s->fresh = s->written_back = true;
	s->written_ns = o->now;
	o->counters.zswpwb++;
	o->counters.written_back_pages++;
	o->counters.pswpout++;
	log_add(o->log, (struct mark_row){ .mark = MARK_WRITE,
					   .area = (uint32_t)o_area(slot),
					   .slot = (uint32_t)(slot % AREA_SLOTS),
					   .pages = 1,
					   .memcg = s->memcg,
					   .len = s->len,
					   .time_ns = o->now });
}

/* The kernel's iteration: `next` is noted before the entry moves; a write starts over from the head. */
static int o_walk(struct oracle *o, int m, uint32_t budget, enum sim_walk kind)
{
	int written = 0, item, next, at;

	if (!budget || !o->n[m])
		return 0;
	o->counters.walks++;
	log_add(o->log, (struct mark_row){ .mark = MARK_BEGIN, .kind = kind, .time_ns = o->now });
restart:
	item = o->n[m] ? o->lru[m][0] : -1;
	while (item >= 0 && budget--) {
		for (at = 0; o->lru[m][at] != item; at++)
			;
		next = at + 1 < o->n[m] ? o->lru[m][at + 1] : -1;
		if (!o->slots[item].referenced && o->slots[item].in_memory) {
			o_unlist(o, item);
			o_list(o, item);
			if (kind == SIM_WALK_SHRINKER)
				break;
			goto restart;
		}
		if (!o->slots[item].referenced) {
			o_write_back(o, item);
			written++;
			goto restart;
		}
		o->slots[item].referenced = false;
		o->counters.rotated++;
		o_unlist(o, item);
		o_list(o, item);
		item = next;
	}
	log_add(o->log, (struct mark_row){ .mark = MARK_END });
	return written;
}

/* -1: nothing there; else pages written. */
static int o_shrink(struct oracle *o, int m, int budget, enum sim_walk kind)
{
	o->counters.shrink_memcg_calls++;
	return o->n[m] && !o->said.no_wb[m] ? o_walk(o, m, (uint32_t)budget, kind) : -1;
}

/* The allocator's oldest page, or one of the eight oldest. */
static void o_evict(struct oracle *o)
{
	if (!o->zbud || !naive_zbud_pages(o->zbud))
		return;
	o->counters.walks++;
	log_add(o->log, (struct mark_row){
				.mark = MARK_BEGIN, .kind = SIM_WALK_WORKER, .time_ns = o->now });
	for (int i = 0; i < 8; i++) {
		int page = naive_zbud_oldest(o->zbud);

		for (int which = 0; which < 2; which++) {
			int slot = (int)o->zbud->pages[page].slot[which];

			if (!o->zbud->pages[page].chunks[which])
				continue;
			if (o->slots[slot].in_memory || o->said.no_wb[o->slots[slot].memcg])
				break;
			o_write_back(o, slot);
		}
		naive_zbud_put_back(o->zbud, page);
		if (naive_is_free(o->zbud, page)) {
			o->unseen = true;
			break;
		}
	}
	log_add(o->log, (struct mark_row){ .mark = MARK_END });
}

/* One action of the worker, at its time. */
static void o_worker_act(struct oracle *o)
{
	int written;

	if (o->evicts) {
		o->counters.shrink_worker_wakeups++;
		o->worker.queued = false;
		o->worker.due = UINT64_MAX;
		o_evict(o);
		return;
	}
	if (o->worker.running &&
	    (o->worker.failures == 16 || o->worker.drained || o_pages(o) <= o->accept)) {
		o->worker.running = false;
		o->worker.due = o->worker.queued ? o->worker.due + o->pace.lag_ns : UINT64_MAX;
		return;
	}
	if (!o->worker.running) {
		o->counters.shrink_worker_wakeups++;
		o->worker.running = true;
		o->worker.queued = o->worker.drained = false;
		o->worker.failures = o->worker.candidates = 0;
	}
	if (o->worker.next_memcg == MEMCGS) {
		o->worker.failures += o->worker.candidates == 0;
		o->worker.candidates = o->worker.next_memcg = 0;
		return;
	}
	written = o_shrink(o, o->worker.next_memcg++, o->policy.walk, SIM_WALK_WORKER);
	o->worker.drained = o_pages(o) <= o->accept;
	if (written < 0)
		return;
	o->worker.candidates++;
	o->worker.failures += written == 0;
	o->worker.due += written ? (uint64_t)written * o->pace.write_ns : o->pace.visit_ns;
}

static void o_worker_until(struct oracle *o, uint64_t time)
{
	while (o->worker.due <= time) {
		o->now = o->worker.due;
		o_worker_act(o);
	}
	o->now = time;
}

/* What a reclaim pass asks of a memcg, from the kernel's formulas. */
static void o_reclaim(struct oracle *o, int m, unsigned priority)
{
	uint64_t entries = (uint64_t)o->n[m], swapins = o->disk_swapins[m], bytes = 0;
	uint64_t reprieve = swapins < entries ? swapins : entries;
	int64_t freeable, total, done = 0, before = (int64_t)o->deferred[m], left;

	if (!entries || o->said.no_wb[m])
		return;
	for (int i = 0; i < o->n[m]; i++)
		bytes += o->slots[o->lru[m][i]].len;
	o->disk_swapins[m] = swapins - reprieve;
	freeable = (int64_t)((entries - reprieve) * (bytes >> 12) / entries);
	if (!freeable)
		return;
	total = (before >> priority) + 4 * (freeable >> priority) / 2;
	if (total > 2 * freeable)
		total = 2 * freeable;
	while (total >= 128 || total >= freeable) {
		int64_t n = total < 128 ? total : 128;

		o->counters.shrinker_scans++;
		if (!o_walk(o, m, (uint32_t)n, SIM_WALK_SHRINKER))
			break;
		total -= n;
		done += n;
	}
	left = before + 4 * (freeable >> priority) / 2 - done;
	o->deferred[m] = (uint64_t)(left < 0 ? 0 : left > 2 * freeable ? 2 * freeable : left);
}

static bool o_limits_memcgs(const struct oracle *o)
{
	return o->said.max_pages[0] || o->said.max_pages[1] || o->said.max_pages[2] ||
	       o->said.max_pages[3];
}

static bool o_is_below(int m, int top)
{
	while (m != NO_PARENT && m != top)
		m = o_parents[m];
	return m == top;
}

/* Adds up the whole pool for each cgroup on the way up. */
static bool o_memcg_is_full(const struct oracle *o, int memcg)
{
	for (int m = memcg; m != NO_PARENT; m = o_parents[m]) {
		int bytes = 0;

		for (int i = 0; i < SLOTS; i++)
			if (o->slots[i].state == SIM_SLOT_ZSWAP && o_is_below(o->slots[i].memcg, m))
				bytes += o->slots[i].len;
		if (o->said.max_pages[m] && bytes / 4096 >= o->said.max_pages[m])
			return true;
	}
	return false;
}

static bool o_refuses_raw(const struct oracle *o, const struct db_event *e, unsigned reason)
{
	bool raw = reason == DB_REASON_COMPRESS || e->len == RAW;
	unsigned longest = o->zbud ? 62 * 64 - o->zbud->header : RAW;

	if ((raw ? RAW : e->len) > longest)
		return true;
	if (o->policy.incompressible == SIM_RECORDED)
		return reason == DB_REASON_COMPRESS;
	return raw && (o->policy.incompressible == SIM_REJECT || o->said.no_wb[e->memcg]);
}

static void o_reject(struct oracle *o)
{
	o->counters.store_rejected++;
	if (o->full && o->policy.shrink_enabled && !o->evicts)
		o->worker.queued = true;
}

static bool o_may_store(struct oracle *o, const struct db_event *e, int pages)
{
	unsigned outcome = e->flags & 7;
	unsigned reason =
		outcome == DB_OUT_STORED || outcome == DB_OUT_ZERO ? 0 : e->flags >> 3 & 7;
	bool ok = true, large = pages > 1 && o->policy.large == SIM_REJECT;

	if (reason == DB_REASON_OFF)
		return false;
	o->counters.zswap_store_calls++;
	if (reason == DB_REASON_LARGE && (pages == 1 || o->policy.large == SIM_RECORDED))
		large = true;
	if (large) {
		o->counters.store_rejected++;
		return false;
	}
	if (o_limits_memcgs(o) ? o_memcg_is_full(o, e->memcg) : reason == DB_REASON_MEMCG_LIMIT)
		ok = !o->evicts &&
		     o_shrink(o, e->memcg, o->policy.store_walk, SIM_WALK_STORE) > 0;
	if (ok) {
		uint64_t counted = o_pages(o) + o->unseen;

		if (o->evicts ? counted > o->limit : counted >= o->limit) {
			o->counters.pool_limit_hit++;
			o->full = true;
			if (o->evicts && o->policy.shrink_enabled)
				o->worker.queued = true;
		} else if (o->evicts ? counted < o->accept : counted <= o->accept) {
			o->full = false;
		}
		ok = !o->full && (outcome == DB_OUT_ZERO || !o_refuses_raw(o, e, reason));
	}
	if (ok)
		o->counters.store_succeeded++;
	else
		o_reject(o);
	return ok;
}

static void o_store(struct oracle *o, int slot, uint16_t memcg, uint16_t len)
{
	struct o_slot *s = &o->slots[slot];
	uint32_t zspage = 0;
	int handle = 0;

	if (len) {
		o->memcg_len[memcg] = len;
	} else {
		o->counters.guessed_lengths++;
		len = s->len ? s->len : o->memcg_len[memcg] ? o->memcg_len[memcg] : 2048;
	}
	if (o->zbud)
		handle = naive_zbud_alloc(o->zbud, len, (unsigned)slot);
	else
		zspage = zs_alloc(&o->pool, len);
	if (o_pages(o) > o->counters.pool_pages_max)
		o->counters.pool_pages_max = o_pages(o);
	o_release(o, slot);
	o->unseen = false;
	o->objects++;
	*s = (struct o_slot){ .state = SIM_SLOT_ZSWAP,
			      .memcg = memcg,
			      .len = len,
			      .referenced = o->policy.second_chance,
			      .zspage = zspage,
			      .zbud_handle = handle };
	o_list(o, slot);
	o->bytes += len;
	o->counters.zswpout++;
	log_add(o->log, (struct mark_row){ .mark = MARK_STORE, .len = len });
}

static void o_end_direct(struct oracle *o)
{
	if (o->direct_open)
		log_add(o->log, (struct mark_row){ .mark = MARK_END });
	o->direct_open = false;
}

static void o_refuse(struct oracle *o, const struct db_event *e, int slot, int pages)
{
	bool ruled = strstr(o->said.policy, "wb=") || o_limits_memcgs(o);
	bool kept = o->said.no_wb[e->memcg] || (!ruled && (e->flags & 7) == DB_OUT_KEPT);

	if (!kept) {
		if (o->direct_open && o->direct_task != e->task)
			o_end_direct(o);
		if (!o->direct_open)
			log_add(o->log, (struct mark_row){ .mark = MARK_BEGIN,
							   .kind = SIM_WALK_DIRECT,
							   .time_ns = o->now });
		o->direct_open = true;
		o->direct_task = e->task;
		o->counters.pswpout += (uint64_t)pages;
		log_add(o->log, (struct mark_row){ .mark = MARK_WRITE,
						   .area = e->area,
						   .slot = e->slot,
						   .pages = (uint32_t)pages,
						   .memcg = e->memcg,
						   .len = e->len,
						   .time_ns = o->now });
	}
	o->born++;
	for (int i = slot; i < slot + pages; i++) {
		struct o_slot *s = &o->slots[i];

		o_release(o, i);
		s->state = kept ? SIM_SLOT_CACHED : SIM_SLOT_DISK;
		if (kept)
			continue;
		s->memcg = e->memcg;
		s->written_ns = o->now;
		s->born = o->born;
		s->fresh = true;
		s->written_back = false;
	}
	if (o->worker.queued && o->worker.due == UINT64_MAX)
		o->worker.due = o->now + o->pace.lag_ns;
	o_worker_until(o, o->now);
}

static void o_out(struct oracle *o, const struct db_event *e)
{
	int slot = e->area * AREA_SLOTS + (int)e->slot;
	bool is_part = e->flags & DB_F_PART, stored;
	bool expected = is_part && o->parts_left && o->part_next == slot;
	int pages = is_part ? 1 : 1 << e->order;

	if (expected) {
		o->parts_left--;
		o->part_next++;
		if (!o->parts_stored)
			return;
	}
	for (int i = slot; o->evicts && i < slot + pages; i++) {
		bool was_zero = o->slots[i].in_zswap, was_stored = o->slots[i].state == SIM_SLOT_ZSWAP;

		o_release(o, i);
		if (was_zero || was_stored)
			o->slots[i].state = SIM_SLOT_FREE;
	}
	if ((e->flags & 7) == DB_OUT_ZERO) {
		bool in_zswap = o->policy.zero == SIM_ZERO_ZSWAP;

		if (in_zswap && !o_may_store(o, e, pages)) {
			o_refuse(o, e, slot, pages);
			return;
		}
		for (int i = slot; i < slot + pages; i++) {
			o_release(o, i);
			o->slots[i].state = SIM_SLOT_ZERO;
			o->slots[i].in_zswap = in_zswap;
		}
		*(in_zswap ? &o->counters.zswpout : &o->counters.swpout_zero) += (uint64_t)pages;
		return;
	}
	if (expected && o_refuses_raw(o, e, 0)) {
		struct db_event whole = *e;
		int before = slot - o->part_first;

		whole.slot -= (uint32_t)before;
		o->parts_stored = false;
		o->counters.zswpout -= (uint64_t)before;
		o->counters.store_succeeded--;
		o_reject(o);
		o_refuse(o, &whole, o->part_first, before + 1 + o->parts_left);
		return;
	}
	if (expected) {
		o_store(o, slot, e->memcg, e->len);
		return;
	}
	stored = o_may_store(o, e, pages);
	if (pages > 1) {
		o->part_first = slot;
		o->parts_left = (e->flags & 7) == DB_OUT_STORED ? pages - 1 : 0;
		o->part_next = slot + 1;
		o->parts_stored = stored;
	}
	if (!stored) {
		o_refuse(o, e, slot, pages);
		return;
	}
	o_store(o, slot, e->memcg,
		(e->flags & 7) != DB_OUT_STORED && (e->flags >> 3 & 7) == DB_REASON_COMPRESS
			? RAW
			: e->len);
	if (pages > 1 && !o->parts_left)
		for (int i = 1; i < pages; i++)
			o_store(o, slot + i, e->memcg, 0);
}

static void o_first_read(struct oracle *o, const struct o_slot *s)
{
	uint64_t age = o->now - s->written_ns;
	bool older = false;

	for (int i = 0; i < o->n[s->memcg]; i++)
		older |= o->slots[o->lru[s->memcg][i]].born < s->born;
	o->counters.lru_inversions += older;
	if (!s->written_back)
		return;
	o->counters.early_refaults_1s += age <= 1000000000ull;
	o->counters.early_refaults_10s += age <= 10000000000ull;
	o->counters.early_refaults_60s += age <= 60000000000ull;
}

static void o_in(struct oracle *o, const struct db_event *e)
{
	int slot = e->area * AREA_SLOTS + (int)e->slot;
	struct o_slot *s = &o->slots[slot];
	unsigned from = e->flags & 7;

	if (e->flags & DB_F_READAHEAD && !o->policy.readahead)
		return;
	if (o->direct_open && o->direct_task == e->task)
		o_end_direct(o);
	if (from == DB_IN_ERROR)
		return;
	if (e->flags & DB_F_UNKNOWN || s->state == SIM_SLOT_FREE) {
		o->counters.unknown_refaults++;
		o_release(o, slot);
		s->state = from == DB_IN_ZSWAP ? SIM_SLOT_CACHED :
			   from == DB_IN_DISK  ? SIM_SLOT_DISK :
						 SIM_SLOT_ZERO;
	} else if (s->state == SIM_SLOT_ZSWAP) {
		o->counters.zswpin++;
		log_add(o->log, (struct mark_row){ .mark = MARK_LOAD, .len = s->len });
		if (o->policy.load == SIM_LOAD_KEEP) {
			s->in_memory = true;
			return;
		}
		o_release(o, slot);
		s->state = SIM_SLOT_CACHED;
	} else if (s->state == SIM_SLOT_DISK) {
		if (s->fresh)
			o_first_read(o, s);
		s->fresh = false;
		o->counters.pswpin++;
		o->counters.disk_refaults++;
		o->disk_swapins[e->memcg]++;
		log_add(o->log, (struct mark_row){ .mark = MARK_READ,
						   .area = e->area,
						   .slot = e->slot,
						   .memcg = e->memcg,
						   .time_ns = o->now });
	} else if (s->state == SIM_SLOT_ZERO) {
		(*(s->in_zswap ? &o->counters.zswpin : &o->counters.swpin_zero))++;
	} else {
		o->counters.cached_refaults++;
	}
}

static void o_free(struct oracle *o, const struct db_event *e)
{
	int n = e->len ? e->len : 1;

	for (int i = 0; i < n; i++) {
		int slot = e->area * AREA_SLOTS + (int)e->slot + i;

		if (o->slots[slot].state == SIM_SLOT_FREE)
			continue;
		o_release(o, slot);
		o->slots[slot] = (struct o_slot){ .state = SIM_SLOT_FREE };
		log_add(o->log, (struct mark_row){ .mark = MARK_DISCARD,
						   .area = e->area,
						   .slot = e->slot + (uint32_t)i });
	}
}

static void o_event(struct oracle *o, const struct db_event *e)
{
	bool own_scans = o->policy.shrinker == 1;

	o_worker_until(o, e->time_ns);
	if (e->kind == DB_OUT)
		o_out(o, e);
	else if (e->kind == DB_IN)
		o_in(o, e);
	else if (e->kind == DB_FREE)
		o_free(o, e);
	if (e->kind == DB_RECLAIM && o->direct_open && o->direct_task == e->task)
		o_end_direct(o);
	if (e->kind == DB_RECLAIM && own_scans)
		o_reclaim(o, e->memcg, e->order);
	if (e->kind == DB_SCAN && o->policy.shrinker != 0 && !own_scans &&
	    !o->said.no_wb[e->memcg]) {
		o->counters.shrinker_scans++;
		o_walk(o, e->memcg, e->slot, SIM_WALK_SHRINKER);
	}
}

/* -------------------------------------------------------------------------------- model and oracle */

static void compare_logs(const struct log *model, const struct log *oracle)
{
	assert_int_equal(model->n, oracle->n);
	for (uint32_t i = 0; i < model->n; i++) {
		const struct mark_row *a = &model->rows[i], *b = &oracle->rows[i];

		assert_int_equal(a->mark, b->mark);
		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->area, b->area);
		assert_int_equal(a->slot, b->slot);
		assert_int_equal(a->pages, b->pages);
		assert_int_equal(a->memcg, b->memcg);
		assert_int_equal(a->len, b->len);
		assert_int_equal(a->time_ns, b->time_ns);
	}
}

static void compare_counters(const struct sim_counters *a, const struct sim_counters *b)
{
#define X(name) assert_int_equal(a->name, b->name);
	SIM_COUNTERS(X)
#undef X
}

static void compare_slots(const struct sim *sim, const struct oracle *o)
{
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(sim_slot_state(sim, (uint8_t)o_area(i), (uint32_t)(i % AREA_SLOTS)),
				 o->slots[i].state);
	for (uint16_t m = 0; m < MEMCGS; m++) {
		uint32_t list[SLOTS];

		assert_int_equal(lru_read(&sim->lru, m, list, SLOTS), o->n[m]);
		for (int i = 0; i < o->n[m]; i++)
			assert_int_equal(list[i], o->lru[m][i]);
	}
}

static void compare_state(const struct sim *sim, const struct oracle *o)
{
	struct sim_state state = sim_state(sim);

	assert_int_equal(state.pool_pages, o_pages(o));
	assert_int_equal(state.pool_limit_pages, o->limit);
	assert_int_equal(state.accept_pages, o->accept - (o->evicts && o->accept));
	assert_int_equal(state.entries, o->objects);
	assert_int_equal(state.compressed_bytes, o->bytes);
	assert_int_equal(state.refusing, o->full);
}

static struct db_event random_slot_event(uint64_t *random, uint8_t kind)
{
	return (struct db_event){ .kind = kind,
				  .area = (uint8_t)random_below(random, AREAS),
				  .slot = random_below(random, AREA_SLOTS),
				  .memcg = (uint16_t)random_below(random, MEMCGS),
				  .task = random_below(random, TASKS) };
}

static uint16_t random_length(uint64_t *random)
{
	if (random_below(random, 12) == 0)
		return RAW;
	return (uint16_t)(random_below(random, 8) ? 400 * (1 + random_below(random, 9)) :
						    1 + random_below(random, 4096));
}

static struct db_event random_out(uint64_t *random)
{
	struct db_event e = random_slot_event(random, DB_OUT);
	uint32_t which = random_below(random, 16);

	/* Slots often ascend, so that walks write neighbours. */
	e.len = random_length(random);
	e.flags = which < 11 ? DB_OUT_STORED :
		  which < 14 ? DB_OUT_REJECTED :
		  which < 15 ? DB_OUT_ZERO :
			       DB_OUT_KEPT;
	if (e.flags == DB_OUT_REJECTED || e.flags == DB_OUT_KEPT) {
		e.len = 0;
		e.flags |= (uint8_t)(random_below(random, 7) << DB_F_REASON_SHIFT);
	}
	if (random_below(random, 12) == 0) {
		e.order = (uint8_t)(1 + random_below(random, 3));
		e.slot &= ~((1u << e.order) - 1);
	}
	return e;
}

static struct db_event random_event(uint64_t *random)
{
	uint32_t which = random_below(random, 100);
	struct db_event e;

	if (which < 50)
		return random_out(random);
	if (which < 75) {
		e = random_slot_event(random, DB_IN);
		e.flags = (uint8_t)(random_below(random, 20) ? random_below(random, 3) : DB_IN_ERROR);
		if (random_below(random, 30) == 0)
			e.flags |= DB_F_UNKNOWN;
		if (random_below(random, 4) == 0)
			e.flags |= DB_F_READAHEAD;
		return e;
	}
	if (which < 85) {
		e = random_slot_event(random, DB_FREE);
		e.len = (uint16_t)random_below(random,
					       AREA_SLOTS - e.slot < 5 ? AREA_SLOTS - e.slot : 5);
		return e;
	}
	if (which < 92) {
		e = random_slot_event(random, DB_SCAN);
		e.slot = random_below(random, 3) ? random_below(random, 12) : random_below(random, 200);
		return e;
	}
	/* RECLAIM acts; the others must not. */
	e = random_slot_event(random, which < 96 ? DB_RECLAIM :
				      which < 98 ? DB_WORKER :
						   DB_SHRINK);
	if (e.kind == DB_RECLAIM)
		e.order = (uint8_t)(random_below(random, 2) ? random_below(random, 4) :
							      random_below(random, 13));
	return e;
}

struct pair {
	struct sim_machine machine;
	struct sim *sim;
	struct log *sim_log;
	struct oracle *oracle;
};

static const struct db_memcg oracle_memcgs[] = {
	{ .id = 1, .path = "/" },
	{ .id = 2, .path = "/a" },
	{ .id = 3, .path = "/a/b" },
};

static struct sim_machine oracle_machine(void)
{
	return (struct sim_machine){ .page_size = 4096,
				     .mem_pages = 300,
				     .max_pool_percent = 9,
				     .accept_threshold_percent = 70,
				     .n_memcgs = MEMCGS,
				     .n_areas = AREAS,
				     .area_slots = { AREA_SLOTS, AREA_SLOTS },
				     .memcgs = oracle_memcgs,
				     .n_named = 3 };
}

static struct pair new_pair(const struct o_case *said, struct sim_pace pace)
{
	struct sim_policy policy = policy_of(said->policy);
	struct pair pair = { .machine = oracle_machine(),
			     .sim_log = new_log(),
			     .oracle = calloc(1, sizeof(*pair.oracle)) };

	assert_non_null(pair.oracle);
	pair.machine.learnt = (struct sim_learnt){ .pace = pace, .has_reclaims = true };
	pair.oracle->said = *said;
	pair.oracle->pace = pace;
	pair.oracle->worker.due = UINT64_MAX;
	pair.oracle->policy = policy;
	pair.oracle->log = new_log();
	pair.oracle->limit = policy.pool_bytes ? (uint64_t)policy.pool_bytes / 4096 : 300 * 9 / 100;
	pair.oracle->accept = pair.oracle->limit *
			      (uint64_t)(policy.accept_percent < 0 ? 70 : policy.accept_percent) / 100;
	pair.oracle->evicts = policy.evict == SIM_EVICT_POOL;
	if (pair.oracle->evicts && !policy.pool_bytes)
		pair.oracle->accept =
			300ull * (uint64_t)(policy.accept_percent < 0 ? 70 : policy.accept_percent) / 100 *
			9 / 100;
	if (policy.zpool == SIM_ZPOOL_ZBUD) {
		pair.oracle->zbud = calloc(1, sizeof(*pair.oracle->zbud));
		assert_non_null(pair.oracle->zbud);
		pair.oracle->zbud->header = pair.oracle->evicts ? 8 : 0;
	}
	assert_int_equal(zs_pool_init(&pair.oracle->pool, 4096,
				      pair.oracle->evicts ? ZS_CHAIN_4 : ZS_CHAIN_8, SLOTS + 1),
			 ZR_OK);
	assert_int_equal(sim_new(&policy, &pair.machine, &pair.sim_log->sink, &pair.sim), ZR_OK);
	return pair;
}

static void free_pair(struct pair *pair)
{
	sim_free(pair->sim);
	zs_pool_fini(&pair->oracle->pool);
	free(pair->oracle->log);
	free(pair->oracle->zbud);
	free(pair->oracle);
	free(pair->sim_log);
}

static void pair_feed(struct pair *pair, const struct db_event *event)
{
	pair->sim_log->n = pair->oracle->log->n = 0;
	feed_event(pair->sim, &pair->machine, event);
	o_event(pair->oracle, event);
	compare_logs(pair->sim_log, pair->oracle->log);
	compare_counters(sim_counters(pair->sim), &pair->oracle->counters);
	compare_slots(pair->sim, pair->oracle);
	compare_state(pair->sim, pair->oracle);
}

/* The parts that follow the head of a stored large folio; now and then one is missing or zero. */
static void feed_parts(struct pair *pair, const struct db_event *head, uint64_t *random)
{
	for (uint32_t i = 1; i < 1u << head->order; i++) {
		struct db_event part = *head;

		part.slot += i;
		part.order = 0;
		part.len = random_length(random);
		part.flags =
			(uint8_t)(DB_F_PART | (random_below(random, 8) ? DB_OUT_STORED : DB_OUT_ZERO));
		if (random_below(random, 20))
			pair_feed(pair, &part);
	}
}

static void race_oracle(const struct o_case *said, struct sim_pace pace, uint64_t seed, int events)
{
	struct pair pair = new_pair(said, pace);
	uint64_t random = seed, now = 5'000'000'000;

	for (int i = 0; i < events; i++) {
		struct db_event event = random_event(&random);

		now += random_below(&random, 4) ? random_below(&random, 1000000) :
						  random_below(&random, 3'000'000'000);
		event.time_ns = now;
		pair_feed(&pair, &event);
		if (event.kind == DB_OUT && event.order && event.flags == DB_OUT_STORED)
			feed_parts(&pair, &event, &random);
	}
	free_pair(&pair);
}

static const struct o_case oracle_cases[] = {
	{ .policy = "unbatched" },
	{ .policy = "memcg-1" },
	{ .policy = "memcg-batch+accept=50" },
	{ .policy = "shrink-off" },
	{ .policy = "hysteresis" },
	{ .policy = "unbatched+second_chance=off" },
	{ .policy = "unbatched+shrinker=off" },
	{ .policy = "unbatched+shrinker=on" },
	{ .policy = "unbatched+shrinker=on+pool=1G+second_chance=off" },
	{ .policy = "unbatched+pool=20K+accept=100" },
	{ .policy = "unbatched+pool=64K+walk=3+store_walk=2+accept=0" },
	{ .policy = "unbatched+pool=4095" },
	{ .policy = "unbatched+pool=1G" },
	{ .policy = "linux-6.12" },
	{ .policy = "linux-7.3+pool=150K" },
	{ .policy = "linux-6.1" },
	{ .policy = "linux-6.1+accept=100" },
	{ .policy = "linux-6.1+accept=100+pool=60K" },
	{ .policy = "linux-6.1+pool=100K+zero=swap+incompressible=store" },
	{ .policy = "linux-6.1+accept=0+shrink_enabled=0" },
	{ .policy = "linux-6.1+zpool=zsmalloc+pool=80K" },
	{ .policy = "linux-6.1+accept=100+pool=50K+wb=off@/a", .no_wb = { [2] = true, [3] = true } },
	{ .policy = "linux-6.1+zswap_max=12K+pool=1G", .max_pages = { 3, 0, 3, 3 } },
	{ .policy = "unbatched+zpool=zbud+pool=150K" },
	{ .policy = "linux-6.12+load=keep+pool=100K" },
	{ .policy = "unbatched+load=keep+shrinker=on+second_chance=off+pool=120K" },
	{ .policy = "unbatched+readahead=off" },
	{ .policy = "unbatched+zero=zswap+incompressible=store" },
	{ .policy = "unbatched+incompressible=reject+pool=150K" },
	{ .policy = "unbatched+wb=off@/a", .no_wb = { [2] = true, [3] = true } },
	{ .policy = "unbatched+wb=off+wb=on@/a+shrinker=on+second_chance=off+pool=120K",
	  .no_wb = { true, true, true, true } }, /* the root's holds for all */
	{ .policy = "linux-7.3+wb=off@/a/b+zero=zswap", .no_wb = { [3] = true } },
	{ .policy = "unbatched+zswap_max=20K@/a+pool=1G", .max_pages = { [2] = 5 } },
	{ .policy = "memcg-1+zswap_max=12K+pool=1G",
	  .max_pages = { 3, 0, 3, 3 } }, /* the root has none */
	{ .policy = "unbatched+zswap_max=8K+zswap_max=max@/a/b+zswap_max=32K@/a+wb=off@/a/b",
	  .no_wb = { [3] = true },
	  .max_pages = { 2, 0, 8, 0 } },
};

static const struct sim_pace at_once = { 0 };

static void race_all_policies(struct sim_pace pace)
{
	for (size_t c = 0; c < sizeof(oracle_cases) / sizeof(oracle_cases[0]); c++)
		for (uint64_t seed = 1; seed <= 12; seed++)
			race_oracle(&oracle_cases[c], pace, seed * 7919 + c, 600);
}

static void model_agrees_with_the_oracle_on_random_traces(void **state)
{
	(void)state;
	race_all_policies(at_once);
}

/* Events are some 100 us or some seconds apart: runs are cut into at any place. */
static void model_agrees_with_the_oracle_when_the_worker_takes_time(void **state)
{
	(void)state;
	race_all_policies((struct sim_pace){ .lag_ns = 300'000, .visit_ns = 90'000, .write_ns = 400'000 });
	race_all_policies((struct sim_pace){ .visit_ns = 1'000, .write_ns = 20'000'000 });
	race_all_policies((struct sim_pace){ .lag_ns = 2'000'000'000 });
}

static void model_agrees_with_the_oracle_on_long_traces(void **state)
{
	(void)state;
	/* Long enough that lists outgrow their chunks and are compacted. */
	race_oracle(&(struct o_case){ .policy = "unbatched+pool=1G+shrinker=off" }, at_once, 99,
		    12000);
	race_oracle(&(struct o_case){ .policy = "memcg-1+pool=100K" }, at_once, 98, 12000);
	race_oracle(&(struct o_case){ .policy = "unbatched+pool=200K+shrinker=on" },
		    (struct sim_pace){ .lag_ns = 1000, .visit_ns = 1000, .write_ns = 90'000 }, 97,
		    12000);
}

/* ---------------------------------------------------------------------------------- corner cases */

struct bench {
	struct sim_machine machine;
	struct sim *sim;
	struct log *log;
};

static struct bench new_bench(const char *policy_text, uint64_t slots)
{
	struct sim_policy policy = policy_of(policy_text);
	struct bench bench = { .machine = small_machine(slots), .log = new_log() };

	assert_int_equal(sim_new(&policy, &bench.machine, &bench.log->sink, &bench.sim), ZR_OK);
	return bench;
}

static void free_bench(struct bench *bench)
{
	sim_free(bench->sim);
	free(bench->log);
}

static void feed(struct bench *bench, struct db_event event)
{
	feed_event(bench->sim, &bench->machine, &event);
}

static enum sim_slot slot_at(const struct bench *bench, uint32_t slot)
{
	return sim_slot_state(bench->sim, 0, slot);
}

/* Whole pages, one each: the pool's pages are its entries. */
static void store_pages(struct bench *bench, uint32_t from, uint32_t to)
{
	for (uint32_t slot = from; slot < to; slot++)
		feed(bench, event_out(slot, 1, 4096));
}

static void a_full_pool_refuses_until_it_has_drained_to_the_threshold(void **state)
{
	struct bench b = new_bench("hysteresis+pool=40K+accept=50", 64);
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	store_pages(&b, 0, 10);
	assert_false(sim_state(b.sim).refusing);
	store_pages(&b, 10, 11); /* at the limit, not above it: refused */
	assert_true(sim_state(b.sim).refusing);
	assert_int_equal(c->pool_limit_hit, 1);
	feed(&b, event_free(0, 4)); /* 6 pages: inside the band */
	store_pages(&b, 11, 13);
	assert_int_equal(c->store_rejected, 3);
	assert_int_equal(c->pool_limit_hit, 1); /* not counted inside the band */
	feed(&b, event_free(4, 1)); /* 5 pages: at the threshold, but only a store looks at it */
	assert_true(sim_state(b.sim).refusing);
	store_pages(&b, 13, 14);
	assert_int_equal(slot_at(&b, 13), SIM_SLOT_ZSWAP);
	assert_false(sim_state(b.sim).refusing);
	assert_int_equal(c->shrink_worker_wakeups, 0);
	free_bench(&b);
}

static void a_pool_that_never_was_full_takes_stores_above_the_threshold(void **state)
{
	struct bench b = new_bench("unbatched+pool=40K+accept=10", 64);

	(void)state;
	store_pages(&b, 0, 10);
	assert_int_equal(sim_counters(b.sim)->store_rejected, 0);
	free_bench(&b);
}

static void limit_and_threshold_truncate_twice(void **state)
{
	struct sim_policy policy = policy_of("unbatched");
	struct sim_machine machine = small_machine(64);
	struct sim *sim;

	(void)state;
	machine.mem_pages = 1999;
	machine.max_pool_percent = 7;	       /* 139.93 -> 139 */
	machine.accept_threshold_percent = 90; /* 125.1 -> 125; in one step 125.9 */
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_OK);
	assert_int_equal(sim_state(sim).pool_limit_pages, 139);
	assert_int_equal(sim_state(sim).accept_pages, 125);
	sim_free(sim);
}

static void shrink_off_takes_stores_again_just_below_the_limit(void **state)
{
	struct bench b = new_bench("shrink-off+pool=40K", 64);

	(void)state;
	store_pages(&b, 0, 11);
	assert_int_equal(sim_counters(b.sim)->store_rejected, 1);
	feed(&b, event_free(0, 1));
	store_pages(&b, 11, 12);
	assert_int_equal(sim_counters(b.sim)->store_rejected, 1);
	assert_int_equal(sim_counters(b.sim)->shrink_worker_wakeups, 0);
	free_bench(&b);
}

static struct bench new_paced_bench(const char *policy_text, struct sim_pace pace)
{
	struct sim_policy policy = policy_of(policy_text);
	struct bench bench = { .machine = small_machine(64), .log = new_log() };

	bench.machine.learnt.pace = pace;
	assert_int_equal(sim_new(&policy, &bench.machine, &bench.log->sink, &bench.sim), ZR_OK);
	return bench;
}

static void store_at(struct bench *bench, uint32_t slot, uint64_t time_ns)
{
	struct db_event event = event_out(slot, 1, 4096);

	event.time_ns = time_ns;
	feed(bench, event);
}

/* Ten pages fill the pool; it takes stores again at five. A page is written every 1000 ns, from 100 on. */
static void stores_are_refused_while_the_worker_drains(void **state)
{
	struct bench b = new_paced_bench("memcg-1+pool=40K+accept=50+second_chance=off",
					 (struct sim_pace){ .lag_ns = 100, .write_ns = 1000 });
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	store_pages(&b, 0, 10);
	store_at(&b, 20, 0);
	assert_int_equal(c->shrink_worker_wakeups, 0);
	store_at(&b, 21, 2099); /* two are written */
	assert_int_equal(c->written_back_pages, 2);
	store_at(&b, 22, 4099); /* four: six are left */
	assert_int_equal(c->written_back_pages, 4);
	assert_int_equal(c->store_rejected, 3);
	store_at(&b, 23, 4100); /* five */
	assert_int_equal(c->store_rejected, 3);
	assert_int_equal(slot_at(&b, 23), SIM_SLOT_ZSWAP);
	/* What was refused meanwhile has queued it once more: one page for the one that came. */
	store_at(&b, 24, 100000);
	assert_int_equal(c->shrink_worker_wakeups, 2);
	assert_int_equal(c->written_back_pages, 6);
	free_bench(&b);
}

/* Queued at 0 and at 7000. */
static void a_run_lags_as_the_recorded_one_that_was_queued_nearest_to_it(void **state)
{
	static const struct sim_lag lags[] = { { 10, 500 }, { 4000, 300 }, { 8000, 70 } };
	struct sim_policy policy = policy_of("memcg-1+pool=40K+accept=90+second_chance=off");
	struct bench b = { .machine = small_machine(64), .log = new_log() };
	const struct sim_counters *c;

	(void)state;
	b.machine.learnt.lags = lags;
	b.machine.learnt.n_lags = 3;
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	c = sim_counters(b.sim);
	store_pages(&b, 0, 10);
	store_at(&b, 20, 0);
	store_at(&b, 21, 499);
	assert_int_equal(c->shrink_worker_wakeups, 0);
	store_at(&b, 22, 500);
	assert_int_equal(c->shrink_worker_wakeups, 1);
	store_at(&b, 24, 7000);
	store_at(&b, 25, 7069);
	assert_int_equal(c->shrink_worker_wakeups, 1);
	store_at(&b, 26, 7070);
	assert_int_equal(c->shrink_worker_wakeups, 2);
	free_bench(&b);
}

/* As above, and the store that comes in brings the pool above its threshold while the last visit goes on. */
static void a_run_that_has_drained_the_pool_is_over_though_stores_come_in(void **state)
{
	struct bench b = new_paced_bench("memcg-1+pool=40K+accept=50+second_chance=off",
					 (struct sim_pace){ .lag_ns = 100, .write_ns = 1000 });
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	store_pages(&b, 0, 10);
	store_at(&b, 20, 0);
	store_at(&b, 23, 4100);
	assert_int_equal(slot_at(&b, 23), SIM_SLOT_ZSWAP);
	store_at(&b, 24, 100000);
	assert_int_equal(slot_at(&b, 24), SIM_SLOT_ZSWAP);
	assert_int_equal(c->written_back_pages, 5);
	assert_int_equal(c->shrink_worker_wakeups, 1);
	free_bench(&b);
}

/* The third page begins at 1100 and has 600 of its 1000 ns left when the worker slows down to a quarter. */
static void the_pace_of_a_visit_may_change_on_its_way(void **state)
{
	const struct sim_paced paced[] = {
		{ .to_ns = 1500, .pace = { .lag_ns = 100, .write_ns = 1000 } },
		{ .from_ns = 1500, .to_ns = UINT64_MAX, .pace = { .write_ns = 4000 } },
	};
	struct sim_policy policy = policy_of("memcg-1+pool=40K+accept=50+second_chance=off");
	struct bench b = { .machine = small_machine(64), .log = new_log() };

	(void)state;
	b.machine.learnt.paced = paced;
	b.machine.learnt.n_paced = 2;
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	store_pages(&b, 0, 10);
	store_at(&b, 20, 0);
	store_at(&b, 21, 3899);
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 2);
	store_at(&b, 22, 3920); /* 2400 after 1500, to a 256th of a page */
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 3);
	free_bench(&b);
}

static void writes_of_the_worker_carry_the_time_at_which_it_did_them(void **state)
{
	struct bench b = new_paced_bench("memcg-1+pool=40K+accept=50+second_chance=off",
					 (struct sim_pace){ .lag_ns = 100, .write_ns = 1000 });
	uint32_t at, n = 0;

	(void)state;
	store_pages(&b, 0, 10);
	store_at(&b, 20, 7);
	at = b.log->n;
	store_at(&b, 21, 1000000);
	for (uint32_t i = at; i < b.log->n; i++)
		if (b.log->rows[i].mark == MARK_WRITE && b.log->rows[i].slot < 10)
			assert_int_equal(b.log->rows[i].time_ns, 107 + 1000 * n++);
	assert_int_equal(n, 5);
	free_bench(&b);
}

static void the_knob_worker_says_how_fast_it_writes(void **state)
{
	struct bench b = new_paced_bench("memcg-1+pool=40K+accept=50+second_chance=off+worker=1000000",
					 (struct sim_pace){ .lag_ns = 100, .write_ns = 999'999 });

	(void)state;
	store_pages(&b, 0, 10);
	store_at(&b, 20, 0);
	store_at(&b, 21, 3100);
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 4);
	free_bench(&b);
	b = new_paced_bench("memcg-1+pool=40K+accept=50+second_chance=off+worker=now",
			    (struct sim_pace){ .lag_ns = 100, .write_ns = 999'999 });
	store_pages(&b, 0, 10);
	store_at(&b, 20, 0);
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 5);
	free_bench(&b);
}

/* Ten pages of the pool are its limit, the eleventh is over it. What the evicted page left is seen by the next store or
 * free only, so that store evicts another; and the third counts 10 pages, which is in the band. */
static void one_page_over_its_limit_zbud_evicts_two_and_then_refuses(void **state)
{
	struct bench b = new_bench("linux-6.1+pool=40K+accept=90", 64);
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	for (uint32_t slot = 0; slot < 11; slot++)
		feed(&b, event_out(slot, 1, 3000));
	assert_int_equal(c->store_rejected, 0);
	feed(&b, event_out(20, 1, 3000));
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_DISK);
	assert_int_equal(sim_state(b.sim).pool_pages, 10);
	feed(&b, event_out(21, 1, 3000));
	assert_int_equal(slot_at(&b, 1), SIM_SLOT_DISK);
	feed(&b, event_out(22, 1, 3000));
	feed(&b, event_out(23, 1, 3000));
	assert_int_equal(c->pool_limit_hit, 2);
	assert_int_equal(c->store_rejected, 4);
	assert_int_equal(c->written_back_pages, 2);
	assert_int_equal(sim_state(b.sim).pool_pages, 9);
	free_bench(&b);
}

static void an_entry_that_was_loaded_stays_and_cannot_be_evicted(void **state)
{
	struct bench b = new_bench("linux-6.1+pool=8K+accept=100", 64);
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	for (uint32_t slot = 0; slot < 3; slot++)
		feed(&b, event_out(slot, 1, 3000));
	feed(&b, event_in(0, DB_IN_ZSWAP));
	feed(&b, event_in(0, DB_IN_ZSWAP));
	assert_int_equal(c->zswpin, 2);
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_ZSWAP);
	feed(&b, event_out(20, 1, 3000)); /* over the limit: the next oldest goes */
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_ZSWAP);
	assert_int_equal(slot_at(&b, 1), SIM_SLOT_DISK);
	feed(&b, event_free(0, 1));
	assert_int_equal(sim_state(b.sim).entries, 1);
	free_bench(&b);
}

static void a_page_that_was_dropped_after_its_load_can_be_evicted(void **state)
{
	static const uint8_t dropped[] = { 1 }; /* the first IN */
	struct sim_policy policy = policy_of("linux-6.1+pool=8K+accept=100");
	struct bench b = { .machine = small_machine(64), .log = new_log() };

	(void)state;
	b.machine.learnt.dropped = dropped;
	b.machine.learnt.n_dropped = 2;
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	for (uint32_t slot = 0; slot < 3; slot++)
		feed(&b, event_out(slot, 1, 3000));
	feed(&b, event_in(0, DB_IN_ZSWAP));
	feed(&b, event_in(1, DB_IN_ZSWAP));
	feed(&b, event_out(20, 1, 3000));
	feed(&b, event_out(21, 1, 3000));
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_DISK);
	assert_int_equal(slot_at(&b, 1), SIM_SLOT_ZSWAP);
	free_bench(&b);
}

static void lengths_are_as_of_the_policys_compressor(void **state)
{
	struct sim_policy policy = policy_of("unbatched+compressor=lz4");
	struct bench b = { .machine = small_machine(64), .log = new_log() };
	uint16_t map[LENGTHS_PAGE + 1];

	(void)state;
	b.machine.compressor = 1 + lengths_compressor("zstd");
	lengths_map(lengths_compressor("zstd"), lengths_compressor("lz4"), map);
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	feed(&b, event_out(1, 1, 500));
	assert_true(map[500] > 600);
	assert_int_equal(sim_state(b.sim).compressed_bytes, map[500]);
	feed(&b, event_out(2, 1, 4000)); /* does not compress any more, and is stored as it is */
	assert_int_equal(sim_state(b.sim).compressed_bytes, map[500] + 4096);
	free_bench(&b);
}

static void lengths_of_an_unknown_compressor_are_not_translated(void **state)
{
	struct sim_policy policy = policy_of("unbatched+compressor=lz4");
	struct sim_machine machine = small_machine(64);
	struct sim *sim;

	(void)state;
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "which compressor"));
	zr_error_clear();
	machine.compressor = 1;
	machine.page_size = 65536;
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_NO_DATA);
	zr_error_clear();
}

static void zbud_takes_no_page_that_fills_it(void **state)
{
	struct bench b = new_bench("linux-6.1+pool=1M", 64);

	(void)state;
	feed(&b, event_out(1, 1, 3960));
	feed(&b, event_out(2, 1, 3961));
	assert_int_equal(slot_at(&b, 1), SIM_SLOT_ZSWAP);
	assert_int_equal(slot_at(&b, 2), SIM_SLOT_DISK);
	assert_int_equal(sim_counters(b.sim)->store_rejected, 1);
	free_bench(&b);
}

static void a_refusal_outside_the_recorded_ones_did_not_compress(void **state)
{
	struct bench b = { .machine = small_machine(64), .log = new_log() };
	static const struct sim_span spans[] = { { 10, 20 }, { 30, 40 } };
	static const uint64_t times[] = { 9, 10, 20, 21, 35, 41 };
	struct sim_policy policy = policy_of("unbatched");

	(void)state;
	b.machine.learnt = (struct sim_learnt){ .knows_refusals = true, .refusals = spans, .n_refusals = 2 };
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	for (uint32_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct db_event event = event_rejected(i, 1, DB_REASON_LIMIT);

		event.time_ns = times[i];
		feed(&b, event);
		assert_int_equal(slot_at(&b, i), i == 1 || i == 2 || i == 4 ? SIM_SLOT_ZSWAP :
									      SIM_SLOT_DISK);
	}
	free_bench(&b);
}

static struct db_event event_reclaim(uint16_t memcg, uint8_t priority)
{
	return (struct db_event){ .kind = DB_RECLAIM, .memcg = memcg, .order = priority };
}

/* 300 whole pages: F = 300. At priority 1, delta = 300: two walks of 128 and 44 put off. */
static void the_shrinker_walks_in_batches_and_puts_off_the_rest(void **state)
{
	struct bench b = { .machine = small_machine(512), .log = new_log() };
	struct sim_policy policy = policy_of("unbatched+shrinker=on+second_chance=off");
	const struct sim_counters *c;

	(void)state;
	b.machine.learnt.has_reclaims = true;
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	c = sim_counters(b.sim);
	store_pages(&b, 0, 300);
	feed(&b, event_reclaim(1, 12));
	assert_int_equal(c->shrinker_scans, 0);
	feed(&b, event_reclaim(1, 1));
	assert_int_equal(c->shrinker_scans, 2);
	assert_int_equal(c->written_back_pages, 256);
	assert_int_equal(b.sim->memcgs[1].deferred, 44);
	/* 44 are left: F = 44, total = 22 + 44 >= F, one walk over 66. */
	feed(&b, event_reclaim(1, 1));
	assert_int_equal(c->shrinker_scans, 3);
	assert_int_equal(c->written_back_pages, 300);
	free_bench(&b);
}

static void reads_from_disk_spare_as_many_entries_once(void **state)
{
	struct bench b = { .machine = small_machine(512), .log = new_log() };
	struct sim_policy policy = policy_of("unbatched+shrinker=on+second_chance=off");

	(void)state;
	b.machine.learnt.has_reclaims = true;
	assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
	store_pages(&b, 0, 260);
	feed(&b, event_reclaim(1, 1)); /* delta 260: two walks */
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 256);
	for (uint32_t slot = 0; slot < 4; slot++) {
		struct db_event event = event_in(slot, DB_IN_DISK);

		event.memcg = 1;
		feed(&b, event);
	}
	feed(&b, event_reclaim(1, 0)); /* four entries, all spared: F = 0 */
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 256);
	feed(&b, event_reclaim(1, 0));
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 260);
	free_bench(&b);
}

static void recorded_scans_hold_as_long_as_the_limits_do(void **state)
{
	static const struct {
		const char *policy;
		bool has_reclaims, has_scans;
		uint64_t scans; /* one SCAN; or from one RECLAIM of 300 entries at priority 1, two */
	} cases[] = {
		{ "unbatched", true, true, 1 },		     { "unbatched+pool=20%", true, true, 1 },
		{ "unbatched+pool=10%", true, true, 2 },     { "unbatched+accept=50", true, true, 2 },
		{ "unbatched+pool=10%", false, true, 1 },    { "unbatched+shrinker=on", true, false, 2 },
		{ "unbatched+shrinker=on", false, true, 1 }, { "unbatched+shrinker=off", true, true, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench b = { .machine = small_machine(512), .log = new_log() };
		struct sim_policy policy = policy_of(cases[i].policy);

		policy.second_chance = false;
		b.machine.learnt.has_reclaims = cases[i].has_reclaims;
		b.machine.learnt.has_scans = cases[i].has_scans;
		assert_int_equal(sim_new(&policy, &b.machine, &b.log->sink, &b.sim), ZR_OK);
		store_pages(&b, 0, 300);
		feed(&b, event_reclaim(1, 1));
		feed(&b, event_scan(1, 100));
		assert_int_equal(sim_counters(b.sim)->shrinker_scans, cases[i].scans);
		free_bench(&b);
	}
}

/* With 6.12's budget of one, the first 16 visits only clear bits, and the run ends. */
static void the_worker_of_a_fresh_pool_gives_up_after_16_failures(void **state)
{
	struct bench b = new_bench("memcg-1+pool=160K+accept=50", 64);
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	store_pages(&b, 0, 41);
	assert_int_equal(c->shrink_worker_wakeups, 1);
	assert_int_equal(c->written_back_pages, 0);
	assert_int_equal(c->rotated, 16);
	/* Memcg 0 is empty: a visit each round, free of charge. */
	assert_in_range(c->shrink_memcg_calls, 31, 33);
	free_bench(&b);
}

static void a_worker_with_a_large_budget_drains_to_the_threshold(void **state)
{
	struct bench b = new_bench("memcg-batch+pool=160K+accept=50", 64);
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	store_pages(&b, 0, 41);
	/* 40 entries: the first call clears 32 bits, the second 8 and then writes the rotated ones. */
	assert_int_equal(c->rotated, 40);
	assert_int_equal(c->written_back_pages, 24);
	assert_true(sim_state(b.sim).pool_pages <= 20);
	assert_true(sim_state(b.sim).refusing); /* until the next store */
	free_bench(&b);
}

static void a_short_list_is_rotated_and_written_in_one_walk(void **state)
{
	struct bench b = new_bench("unbatched", 64);

	(void)state;
	store_pages(&b, 0, 3);
	feed(&b, event_scan(1, 5));
	assert_int_equal(sim_counters(b.sim)->rotated, 3);
	assert_int_equal(sim_counters(b.sim)->written_back_pages, 2);
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_DISK);
	assert_int_equal(slot_at(&b, 1), SIM_SLOT_DISK);
	assert_int_equal(slot_at(&b, 2), SIM_SLOT_ZSWAP);
	free_bench(&b);
}

static void a_lone_referenced_entry_outlives_its_first_walk(void **state)
{
	struct bench b = new_bench("unbatched", 64);

	(void)state;
	store_pages(&b, 0, 1);
	feed(&b, event_scan(1, 128));
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_ZSWAP);
	feed(&b, event_scan(1, 128));
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_DISK);
	free_bench(&b);
}

static void a_refault_takes_the_entry_and_a_new_store_goes_to_the_tail(void **state)
{
	struct bench b = new_bench("unbatched+second_chance=off", 64);

	(void)state;
	store_pages(&b, 0, 3);
	feed(&b, event_in(0, DB_IN_ZSWAP));
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_CACHED);
	assert_int_equal(sim_state(b.sim).entries, 2);
	store_pages(&b, 0, 1);
	feed(&b, event_scan(1, 2)); /* 1 and 2 are older now */
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_ZSWAP);
	assert_int_equal(slot_at(&b, 1), SIM_SLOT_DISK);
	assert_int_equal(slot_at(&b, 2), SIM_SLOT_DISK);
	free_bench(&b);
}

/* Frees punch holes into zspages: three quarters of the objects gone, but not of the pages. */
static void out_of_order_frees_leave_pages_behind(void **state)
{
	struct bench b = new_bench("unbatched", 256);

	(void)state;
	for (uint32_t slot = 0; slot < 64; slot++)
		feed(&b, event_out(slot, 1, 1000)); /* 4 objects a page */
	assert_int_equal(sim_state(b.sim).pool_pages, 16);
	for (uint32_t slot = 0; slot < 64; slot++)
		if (slot % 4)
			feed(&b, event_free(slot, 1));
	assert_int_equal(sim_state(b.sim).pool_pages, 16);
	for (uint32_t slot = 64; slot < 112; slot++) /* and new ones fill them */
		feed(&b, event_out(slot, 1, 1000));
	assert_int_equal(sim_state(b.sim).pool_pages, 16);
	free_bench(&b);
}

static void zero_pages_take_no_pool_and_are_on_no_list(void **state)
{
	struct bench b = new_bench("unbatched", 64);
	const struct sim_counters *c = sim_counters(b.sim);
	uint32_t list[4];

	(void)state;
	for (uint32_t slot = 0; slot < 3; slot++) {
		struct db_event event = event_out(slot, 1, 0);

		event.flags = DB_OUT_ZERO;
		feed(&b, event);
	}
	assert_int_equal(c->swpout_zero, 3);
	assert_int_equal(c->zswap_store_calls, 0);
	assert_int_equal(c->zswpout + c->pswpout, 0);
	assert_int_equal(sim_state(b.sim).pool_pages, 0);
	assert_int_equal(lru_read(&b.sim->lru, 1, list, 4), 0);
	feed(&b, event_in(1, DB_IN_ZERO));
	assert_int_equal(c->swpin_zero, 1);
	free_bench(&b);
}

static void a_large_folio_may_lie_in_three_places(void **state)
{
	struct bench b = new_bench("unbatched+second_chance=off", 64);
	static const enum sim_slot want[16] = {
		[0 ... 2] = SIM_SLOT_ZSWAP, [3] = SIM_SLOT_CACHED, [4 ... 7] = SIM_SLOT_DISK,
		[8] = SIM_SLOT_ZSWAP,	    [9] = SIM_SLOT_ZERO,   [10 ... 15] = SIM_SLOT_ZSWAP,
	};

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		struct db_event event = event_out(16 + i, 1, i == 9 ? 0 : 1000);

		event.order = i ? 0 : 4;
		event.flags = (uint8_t)((i ? DB_F_PART : 0) | (i == 9 ? DB_OUT_ZERO : DB_OUT_STORED));
		feed(&b, event);
	}
	assert_int_equal(sim_counters(b.sim)->zswap_store_calls, 1);
	assert_int_equal(sim_counters(b.sim)->zswpout, 15);
	feed(&b, event_in(19, DB_IN_ZSWAP));
	for (uint32_t slot = 16; slot < 19; slot++) { /* newer than 20-23 now */
		feed(&b, event_in(slot, DB_IN_ZSWAP));
		feed(&b, event_out(slot, 1, 1000));
	}
	feed(&b, event_scan(1, 4));
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(slot_at(&b, 16 + i), want[i]);
	free_bench(&b);
}

static void a_refused_large_folio_goes_to_disk_in_one_write(void **state)
{
	struct bench b = new_bench("hysteresis+pool=4K", 64);
	struct db_event event;

	(void)state;
	store_pages(&b, 0, 1); /* full */
	event = event_out(16, 1, 1000);
	event.order = 4;
	feed(&b, event);
	for (uint32_t i = 1; i < 16; i++) {
		event = event_out(16 + i, 1, 1000);
		event.flags |= DB_F_PART;
		feed(&b, event);
	}
	sim_flush(b.sim);
	assert_int_equal(sim_counters(b.sim)->pswpout, 16);
	assert_int_equal(sim_counters(b.sim)->store_rejected, 1);
	assert_int_equal(b.log->rows[b.log->n - 2].mark, MARK_WRITE);
	assert_int_equal(b.log->rows[b.log->n - 2].pages, 16);
	assert_int_equal(b.log->rows[b.log->n - 1].mark, MARK_END);
	free_bench(&b);
}

static void direct_writes_of_one_task_make_one_run_around_the_worker(void **state)
{
	struct bench b = new_bench("unbatched+pool=40K+accept=90+second_chance=off", 64);
	static const enum mark want[] = { MARK_BEGIN, MARK_WRITE, MARK_BEGIN, MARK_WRITE,
					  MARK_END,   MARK_WRITE, MARK_END };
	uint32_t at;

	(void)state;
	store_pages(&b, 0, 10);
	at = b.log->n;
	store_pages(&b, 20, 21); /* refused, and the worker makes room */
	/* The policy walks 32 entries a call: all ten are written. Refuse the next by its length. */
	feed(&b, event_rejected(21, 1, DB_REASON_COMPRESS));
	sim_flush(b.sim);
	for (uint32_t i = 0, next = at; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(b.log->rows[next].mark, want[i]);
		while (next < b.log->n && b.log->rows[next].mark == want[i] && want[i] == MARK_WRITE)
			next++;
		next += want[i] != MARK_WRITE;
	}
	free_bench(&b);
}

static void an_early_refault_is_counted_once_in_every_span_that_holds_it(void **state)
{
	struct bench b = new_bench("unbatched+second_chance=off", 64);
	static const uint64_t delays[] = { 1'000'000'000, 1'000'000'001, 10'000'000'000,
					   60'000'000'001 };
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	store_pages(&b, 0, 4);
	feed(&b, event_scan(1, 4));
	for (uint32_t i = 0; i < 4; i++) {
		struct db_event event = event_in(i, DB_IN_DISK);

		event.time_ns = delays[i];
		feed(&b, event);
		feed(&b, event);
	}
	assert_int_equal(c->early_refaults_1s, 1);
	assert_int_equal(c->early_refaults_10s, 3);
	assert_int_equal(c->early_refaults_60s, 3);
	assert_int_equal(c->disk_refaults, 8);
	free_bench(&b);
}

static void a_refused_page_that_returns_before_older_ones_is_an_inversion(void **state)
{
	struct bench b = new_bench("hysteresis+pool=8K", 64);

	(void)state;
	store_pages(&b, 0, 3); /* 2 is refused while 0 and 1, which are colder, stay */
	feed(&b, event_in(2, DB_IN_DISK));
	assert_int_equal(sim_counters(b.sim)->lru_inversions, 1);
	feed(&b, event_free(0, 2));
	store_pages(&b, 4, 6);
	store_pages(&b, 3, 4); /* refused again, but then all older ones leave */
	feed(&b, event_free(4, 2));
	feed(&b, event_in(3, DB_IN_DISK));
	assert_int_equal(sim_counters(b.sim)->lru_inversions, 1);
	free_bench(&b);
}

static void an_unknown_length_is_the_slots_last_then_the_memcgs_last(void **state)
{
	struct bench b = new_bench("unbatched", 64);

	(void)state;
	feed(&b, event_rejected(0, 1, DB_REASON_LIMIT)); /* nothing known: half a page */
	assert_int_equal(sim_state(b.sim).compressed_bytes, 2048);
	feed(&b, event_out(1, 1, 700));
	feed(&b, event_out(2, 1, 900));
	feed(&b, event_rejected(3, 1, DB_REASON_LIMIT)); /* the memcg's: 900 */
	assert_int_equal(sim_state(b.sim).compressed_bytes, 2048 + 700 + 900 + 900);
	feed(&b, event_in(1, DB_IN_ZSWAP));
	feed(&b, event_rejected(1, 1, DB_REASON_LIMIT)); /* the slot's: 700 */
	assert_int_equal(sim_state(b.sim).compressed_bytes, 2048 + 700 + 900 + 900);
	assert_int_equal(sim_counters(b.sim)->guessed_lengths, 3);
	free_bench(&b);
}

static void the_store_path_shrinks_its_own_memcg_when_that_met_its_limit(void **state)
{
	struct bench b = new_bench("unbatched+store_walk=1", 64);

	(void)state;
	store_pages(&b, 0, 2);
	feed(&b, event_rejected(5, 1, DB_REASON_MEMCG_LIMIT)); /* clears a bit: rejected */
	feed(&b, event_rejected(6, 1, DB_REASON_MEMCG_LIMIT)); /* clears the other */
	assert_int_equal(sim_counters(b.sim)->store_rejected, 2);
	feed(&b, event_rejected(7, 1, DB_REASON_MEMCG_LIMIT)); /* writes one: goes ahead */
	assert_int_equal(slot_at(&b, 0), SIM_SLOT_DISK);
	assert_int_equal(slot_at(&b, 7), SIM_SLOT_ZSWAP);
	assert_int_equal(sim_counters(b.sim)->shrink_memcg_calls, 3);
	free_bench(&b);
}

static void a_refault_of_a_slot_from_before_the_trace_moves_nothing(void **state)
{
	struct bench b = new_bench("unbatched", 64);
	const struct sim_counters *c = sim_counters(b.sim);

	(void)state;
	feed(&b, event_in(1, DB_IN_DISK));
	feed(&b, event_in(2, DB_IN_ZSWAP));
	assert_int_equal(c->unknown_refaults, 2);
	assert_int_equal(c->pswpin + c->zswpin, 0);
	feed(&b, event_in(1, DB_IN_DISK)); /* now it is known to be there */
	feed(&b, event_in(2, DB_IN_DISK)); /* and this one can only be in memory */
	assert_int_equal(c->pswpin, 1);
	assert_int_equal(c->cached_refaults, 1);
	free_bench(&b);
}

static void feeding_in_slices_changes_nothing(void **state)
{
	static const uint32_t slices[] = { 1, 7, 1000 };
	struct sim_counters first;
	uint64_t first_pages = 0;

	(void)state;
	for (size_t s = 0; s < sizeof(slices) / sizeof(slices[0]); s++) {
		struct bench b = new_bench("memcg-batch+pool=64K", AREA_SLOTS);
		struct zr_arena arena = { 0 };
		struct db_batch batch;
		uint64_t random = 4242;

		assert_int_equal(db_batch_init(&batch, &arena), ZR_OK);
		for (int i = 0; i < 1000; i++) {
			struct db_event event = random_event(&random);

			event.area = 0;
			event.memcg &= 1;
			db_batch_add(&batch, &event);
		}
		for (uint32_t from = 0; from < batch.n; from += slices[s])
			sim_feed(b.sim, &batch, from,
				 from + slices[s] < batch.n ? from + slices[s] : batch.n);
		if (s == 0) {
			first = *sim_counters(b.sim);
			first_pages = sim_state(b.sim).pool_pages;
			assert_true(first.written_back_pages > 0);
		}
		compare_counters(sim_counters(b.sim), &first);
		assert_int_equal(sim_state(b.sim).pool_pages, first_pages);
		zr_arena_fini(&arena);
		free_bench(&b);
	}
}

/* ------------------------------------------------------------------------------------------- border */

static enum zr_err check_one(struct db_event e)
{
	struct sim_machine machine = small_machine(64);
	struct db_batch batch = { .n = 1,
				  .time_ns = &e.time_ns,
				  .slot = &e.slot,
				  .task = &e.task,
				  .memcg = &e.memcg,
				  .len = &e.len,
				  .kind = &e.kind,
				  .area = &e.area,
				  .order = &e.order,
				  .flags = &e.flags };
	enum zr_err err = sim_check_batch(&machine, &batch);

	assert_true((err == ZR_OK) == (zr_error_text()[0] == '\0'));
	zr_error_clear();
	return err;
}

static void ids_outside_the_machine_are_refused(void **state)
{
	struct db_event e = event_out(63, 1, 4096);

	(void)state;
	assert_int_equal(check_one(e), ZR_OK);
	e.slot = 64;
	assert_int_equal(check_one(e), ZR_CORRUPT);
	e = event_out(62, 1, 100);
	e.order = 2;
	assert_int_equal(check_one(e), ZR_CORRUPT);
	e.flags |= DB_F_PART; /* one page only */
	assert_int_equal(check_one(e), ZR_OK);
	e = event_out(0, 1, 100);
	e.order = 200;
	assert_int_equal(check_one(e), ZR_CORRUPT);
	assert_int_equal(check_one(event_out(0, 2, 100)), ZR_CORRUPT);
	assert_int_equal(check_one(event_out(0, 1, 4097)), ZR_CORRUPT);
	e = event_in(0, DB_IN_DISK);
	e.area = 1;
	assert_int_equal(check_one(e), ZR_CORRUPT);
	assert_int_equal(check_one(event_free(60, 5)), ZR_CORRUPT);
	assert_int_equal(check_one(event_free(60, 4)), ZR_OK);
	assert_int_equal(check_one(event_scan(1, UINT32_MAX)), ZR_OK);
	e = event_scan(1, 0);
	e.kind = DB_RECLAIM;
	e.order = 13;
	assert_int_equal(check_one(e), ZR_CORRUPT);
	e.order = 12;
	assert_int_equal(check_one(e), ZR_OK);
	e = event_scan(0, 0);
	e.kind = DB_KIND_COUNT;
	assert_int_equal(check_one(e), ZR_CORRUPT);
}

static void a_rule_for_a_cgroup_that_the_trace_lacks_is_refused(void **state)
{
	struct sim_machine machine = oracle_machine();
	struct sim_policy policy = policy_of("unbatched+wb=off@/nosuch");
	struct sim *sim;

	(void)state;
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_BAD_POLICY);
	assert_non_null(strstr(zr_error_text(), "'/nosuch'"));
	zr_error_clear();
}

static void a_machine_of_unknown_memory_needs_a_limit(void **state)
{
	struct sim_machine machine = small_machine(64);
	struct sim_policy policy = policy_of("unbatched");
	struct sim *sim;

	(void)state;
	machine.mem_pages = 0;
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_NO_DATA);
	assert_non_null(strstr(zr_error_text(), "mem=BYTES"));
	zr_error_clear();
	policy = policy_of("unbatched+mem=1M+pool=50%");
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_OK);
	assert_int_equal(sim_state(sim).pool_limit_pages, 128);
	sim_free(sim);
}

static void more_slots_than_an_index_can_name_are_refused(void **state)
{
	struct sim_machine machine = small_machine(64);
	struct sim_policy policy = policy_of("unbatched");
	struct sim *sim;

	(void)state;
	machine.area_slots[0] = UINT64_MAX;
	assert_int_equal(sim_new(&policy, &machine, NULL, &sim), ZR_LIMIT);
	zr_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(model_agrees_with_the_oracle_on_random_traces),
		cmocka_unit_test(model_agrees_with_the_oracle_when_the_worker_takes_time),
		cmocka_unit_test(model_agrees_with_the_oracle_on_long_traces),
		cmocka_unit_test(a_full_pool_refuses_until_it_has_drained_to_the_threshold),
		cmocka_unit_test(a_pool_that_never_was_full_takes_stores_above_the_threshold),
		cmocka_unit_test(limit_and_threshold_truncate_twice),
		cmocka_unit_test(shrink_off_takes_stores_again_just_below_the_limit),
		cmocka_unit_test(stores_are_refused_while_the_worker_drains),
		cmocka_unit_test(a_run_lags_as_the_recorded_one_that_was_queued_nearest_to_it),
		cmocka_unit_test(one_page_over_its_limit_zbud_evicts_two_and_then_refuses),
		cmocka_unit_test(an_entry_that_was_loaded_stays_and_cannot_be_evicted),
		cmocka_unit_test(a_page_that_was_dropped_after_its_load_can_be_evicted),
		cmocka_unit_test(zbud_takes_no_page_that_fills_it),
		cmocka_unit_test(lengths_are_as_of_the_policys_compressor),
		cmocka_unit_test(lengths_of_an_unknown_compressor_are_not_translated),
		cmocka_unit_test(a_run_that_has_drained_the_pool_is_over_though_stores_come_in),
		cmocka_unit_test(the_pace_of_a_visit_may_change_on_its_way),
		cmocka_unit_test(writes_of_the_worker_carry_the_time_at_which_it_did_them),
		cmocka_unit_test(the_knob_worker_says_how_fast_it_writes),
		cmocka_unit_test(a_refusal_outside_the_recorded_ones_did_not_compress),
		cmocka_unit_test(the_shrinker_walks_in_batches_and_puts_off_the_rest),
		cmocka_unit_test(reads_from_disk_spare_as_many_entries_once),
		cmocka_unit_test(recorded_scans_hold_as_long_as_the_limits_do),
		cmocka_unit_test(the_worker_of_a_fresh_pool_gives_up_after_16_failures),
		cmocka_unit_test(a_worker_with_a_large_budget_drains_to_the_threshold),
		cmocka_unit_test(a_short_list_is_rotated_and_written_in_one_walk),
		cmocka_unit_test(a_lone_referenced_entry_outlives_its_first_walk),
		cmocka_unit_test(a_refault_takes_the_entry_and_a_new_store_goes_to_the_tail),
		cmocka_unit_test(out_of_order_frees_leave_pages_behind),
		cmocka_unit_test(zero_pages_take_no_pool_and_are_on_no_list),
		cmocka_unit_test(a_large_folio_may_lie_in_three_places),
		cmocka_unit_test(a_refused_large_folio_goes_to_disk_in_one_write),
		cmocka_unit_test(direct_writes_of_one_task_make_one_run_around_the_worker),
		cmocka_unit_test(an_early_refault_is_counted_once_in_every_span_that_holds_it),
		cmocka_unit_test(a_refused_page_that_returns_before_older_ones_is_an_inversion),
		cmocka_unit_test(an_unknown_length_is_the_slots_last_then_the_memcgs_last),
		cmocka_unit_test(the_store_path_shrinks_its_own_memcg_when_that_met_its_limit),
		cmocka_unit_test(a_refault_of_a_slot_from_before_the_trace_moves_nothing),
		cmocka_unit_test(feeding_in_slices_changes_nothing),
		cmocka_unit_test(ids_outside_the_machine_are_refused),
		cmocka_unit_test(a_rule_for_a_cgroup_that_the_trace_lacks_is_refused),
		cmocka_unit_test(a_machine_of_unknown_memory_needs_a_limit),
		cmocka_unit_test(more_slots_than_an_index_can_name_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
