/* SPDX-License-Identifier: MIT */
/*
 * Virtual slots: the allocator by its promises, and a model under slots=vswap beside one without. The oracle
 * is an array: which page holds which disk slot.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/vswap.h"

enum { SLOTS = 1500, EVENTS = 30000 };

/* ---------------------------------------------------------------------------------------- allocator */

static struct vswap new_vswap(uint64_t slots)
{
	struct sim_machine machine = small_machine(slots);
	struct vswap vswap;

	assert_int_equal(vswap_init(&vswap, &machine), ZR_OK);
	return vswap;
}

static void slots_are_handed_out_upwards_and_all_of_them(void **state)
{
	struct vswap vswap = new_vswap(SLOTS);

	(void)state;
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(vswap_take(&vswap, 0, SLOTS - 1 - i), i);
	/* The only free one is found wherever the last was. */
	vswap_give(&vswap, 0, SLOTS - 1 - 700);
	assert_false(vswap_is_used(&vswap, 0, 700));
	assert_int_equal(vswap_take(&vswap, 0, SLOTS - 1 - 700), 700);
	vswap_fini(&vswap);
}

static void a_free_cluster_is_taken_before_a_hole(void **state)
{
	struct vswap vswap = new_vswap(4 * VSWAP_CLUSTER);

	(void)state;
	for (uint32_t i = 0; i < VSWAP_CLUSTER; i++)
		vswap_take(&vswap, 0, i);
	for (uint32_t i = 0; i < VSWAP_CLUSTER; i += 2)
		vswap_give(&vswap, 0, i);
	for (uint32_t i = 0; i < 3 * VSWAP_CLUSTER; i++)
		assert_int_equal(vswap_take(&vswap, 0, VSWAP_CLUSTER + i), VSWAP_CLUSTER + i);
	/* Now only holes are left: upwards again. */
	for (uint32_t i = 0; i < VSWAP_CLUSTER; i += 2)
		assert_int_equal(vswap_take(&vswap, 0, i), i);
	vswap_fini(&vswap);
}

static void random_takes_and_gives_never_share_a_slot(void **state)
{
	struct vswap vswap = new_vswap(SLOTS);
	int holder[SLOTS];
	bool has[SLOTS] = { false };
	uint64_t random = 3;

	(void)state;
	memset(holder, -1, sizeof(holder));
	for (int i = 0; i < EVENTS; i++) {
		uint32_t page = random_below(&random, SLOTS), slot;

		assert_int_equal(vswap_find(&vswap, 0, page, &slot), has[page]);
		if (has[page]) {
			assert_int_equal(holder[slot], page);
			holder[slot] = -1;
			vswap_give(&vswap, 0, page);
		} else {
			slot = vswap_take(&vswap, 0, page);
			assert_true(slot < SLOTS);
			assert_int_equal(holder[slot], -1);
			holder[slot] = (int)page;
		}
		has[page] = !has[page];
	}
	vswap_fini(&vswap);
}

/* -------------------------------------------------------------------------------------------- model */

enum mark { MARK_BEGIN, MARK_WRITE, MARK_END, MARK_READ };

struct row {
	enum mark mark;
	uint32_t page;
};

struct watch {
	struct sim_sink sink; /* first */
	struct row *rows;
	uint32_t n;
	bool virtual;
	int holder[SLOTS]; /* disk slot -> page */
	int slot_of[SLOTS]; /* page -> disk slot */
};

static void add(struct watch *watch, enum mark mark, uint32_t page)
{
	watch->rows[watch->n++] = (struct row){ mark, page };
}

static void on_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	(void)kind, (void)time_ns;
	add((struct watch *)sink, MARK_BEGIN, 0);
}

static void on_end(struct sim_sink *sink)
{
	add((struct watch *)sink, MARK_END, 0);
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct watch *watch = (struct watch *)sink;

	for (uint32_t i = 0; i < write->pages; i++) {
		uint32_t page = write->recorded_slot + i, slot = write->slot + i;
		int held = watch->holder[slot];

		add(watch, MARK_WRITE, page);
		if (!watch->virtual)
			assert_int_equal(page, slot);
		/* Who had it has given it up. */
		assert_true(held < 0 || held == (int)page || watch->slot_of[held] != (int)slot);
		watch->holder[slot] = (int)page;
		watch->slot_of[page] = (int)slot;
	}
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot, uint16_t memcg)
{
	struct watch *watch = (struct watch *)sink;

	(void)time_ns, (void)area, (void)memcg;
	assert_true(watch->holder[slot] >= 0);
	assert_int_equal(watch->slot_of[watch->holder[slot]], slot);
	add(watch, MARK_READ, (uint32_t)watch->holder[slot]);
}

static struct db_event random_row(uint64_t *random)
{
	uint32_t which = random_below(random, 100), slot = random_below(random, SLOTS - 8);
	struct db_event event = event_out(slot, (uint16_t)random_below(random, 2),
					  (uint16_t)(100 + random_below(random, 3500)));

	if (which < 4) {
		event = event_rejected(slot & ~7u, 1, DB_REASON_LARGE);
		event.order = 3;
	} else if (which >= 54 && which < 84) {
		event = event_in(slot, DB_IN_ZSWAP);
	} else if (which >= 84 && which < 94) {
		event = event_free(slot, (uint16_t)(1 + random_below(random, 8)));
	} else if (which >= 94) {
		event = event_scan((uint16_t)random_below(random, 2), random_below(random, 80));
	}
	return event;
}

/* Swapped out anew or freed, a page's data on the disk is good no more. */
static void give_up(struct watch *watch, const struct db_event *event)
{
	uint32_t n = event->kind == DB_OUT  ? 1u << event->order :
		     event->kind == DB_FREE ? event->len :
					      0;

	for (uint32_t i = 0; i < n; i++)
		watch->slot_of[event->slot + i] = -1;
}

static struct watch *watch_model(const char *text)
{
	struct sim_machine machine = small_machine(SLOTS);
	struct watch *watch = calloc(1, sizeof(*watch));
	struct sim_policy policy = policy_of(text);
	uint64_t random = 12;
	struct sim *sim;

	assert_non_null(watch);
	watch->sink = (struct sim_sink){
		.walk_begin = on_begin, .write = on_write, .walk_end = on_end, .read = on_read
	};
	watch->rows = calloc(20 * EVENTS, sizeof(*watch->rows));
	assert_non_null(watch->rows);
	memset(watch->holder, -1, sizeof(watch->holder));
	watch->virtual = policy.slots == SIM_SLOTS_VSWAP;
	assert_int_equal(sim_new(&policy, &machine, &watch->sink, &sim), ZR_OK);
	/* All slots known from the start: a refault of unknown history would be read from nowhere. */
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		struct db_event event = event_out(slot, slot % 2, 1500);

		feed_event(sim, &machine, &event);
	}
	for (int i = 0; i < EVENTS; i++) {
		struct db_event event = random_row(&random);

		if (event.kind == DB_IN && sim_slot_state(sim, 0, event.slot) == SIM_SLOT_FREE)
			continue;
		give_up(watch, &event);
		feed_event(sim, &machine, &event);
	}
	sim_flush(sim);
	sim_free(sim);
	return watch;
}

static void drop_watch(struct watch *watch)
{
	free(watch->rows);
	free(watch);
}

static void virtual_slots_change_where_pages_lie_and_nothing_else(void **state)
{
	static const char *const policies[][2] = {
		{ "batched+pool=400K", "batched+pool=400K+slots=vswap" },
		{ "sorted+pool=400K", "sorted+pool=400K+slots=vswap" },
		{ "batched+order=cluster+pool=1M", "batched+order=cluster+pool=1M+slots=vswap" },
	};

	(void)state;
	for (int p = 0; p < 3; p++) {
		struct watch *recorded = watch_model(policies[p][0]);
		struct watch *virtual = watch_model(policies[p][1]);
		uint32_t writes = 0, reads = 0, a = 0;

		/* A large folio may be scattered into several writes, but the pages are the same. */
		assert_int_equal(recorded->n, virtual->n);
		for (; a < recorded->n; a++) {
			assert_int_equal(recorded->rows[a].mark, virtual->rows[a].mark);
			assert_int_equal(recorded->rows[a].page, virtual->rows[a].page);
			writes += recorded->rows[a].mark == MARK_WRITE;
			reads += recorded->rows[a].mark == MARK_READ;
		}
		assert_true(writes > 5000 && reads > 1000);
		drop_watch(recorded);
		drop_watch(virtual);
	}
}

/* ------------------------------------------------------------------------------------------- orders */

/* Sorted: per walk the same pages as in LRU order, ascending. */
static void a_sorted_walk_writes_the_same_pages_upwards(void **state)
{
	struct watch *lru = watch_model("batched+pool=400K"), *sorted = watch_model("sorted+pool=400K");
	uint64_t sum[2] = { 0 };

	(void)state;
	assert_int_equal(lru->n, sorted->n);
	for (uint32_t i = 0; i < lru->n; i++) {
		assert_int_equal(lru->rows[i].mark, sorted->rows[i].mark);
		if (lru->rows[i].mark == MARK_WRITE) {
			sum[0] += (uint64_t)lru->rows[i].page * lru->rows[i].page;
			sum[1] += (uint64_t)sorted->rows[i].page * sorted->rows[i].page;
			if (sorted->rows[i - 1].mark == MARK_WRITE)
				assert_true(sorted->rows[i].page != sorted->rows[i - 1].page);
		} else {
			assert_int_equal(sum[0], sum[1]);
		}
	}
	drop_watch(lru);
	drop_watch(sorted);
}

struct pages {
	struct sim_sink sink; /* first */
	uint32_t slots[64], n;
};

static void note_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	(void)sink, (void)kind, (void)time_ns;
}

static void note_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct pages *pages = (struct pages *)sink;

	pages->slots[pages->n++] = write->slot;
}

static void note_end(struct sim_sink *sink)
{
	(void)sink;
}

/* Stores the slots in this order and scans `budget` of them; entries are taken at once. */
static struct pages scan_of(const char *text, const uint32_t *slots, uint32_t n, uint32_t budget)
{
	struct sim_machine machine = small_machine(64);
	struct sim_policy policy = policy_of(text);
	struct pages pages = { .sink = { .walk_begin = note_begin, .write = note_write,
					 .walk_end = note_end } };
	struct db_event event;
	struct sim *sim;

	assert_int_equal(sim_new(&policy, &machine, &pages.sink, &sim), ZR_OK);
	for (uint32_t i = 0; i < n; i++) {
		event = event_out(slots[i], slots[i] == 40, 1000);
		feed_event(sim, &machine, &event);
	}
	event = event_scan(0, budget);
	feed_event(sim, &machine, &event);
	sim_free(sim);
	return pages;
}

static void order_decides_what_a_walk_writes_and_how(void **state)
{
	/* Slot 40 is of another cgroup. */
	static const uint32_t stored[] = { 9, 38, 3, 10, 39, 63, 4, 40, 41 };
	static const struct {
		const char *policy;
		uint32_t written[5];
	} cases[] = {
		{ "batched+second_chance=off", { 9, 38, 3, 10, 39 } },
		{ "sorted+second_chance=off", { 3, 9, 10, 38, 39 } },
		{ "batched+order=cluster+second_chance=off", { 9, 10, 38, 39, 3 } },
	};

	(void)state;
	for (int c = 0; c < 3; c++) {
		struct pages pages = scan_of(cases[c].policy, stored, 9, 5);

		assert_int_equal(pages.n, 5);
		assert_memory_equal(pages.slots, cases[c].written, sizeof(cases[c].written));
	}
	/* A cluster ends with the area too. */
	assert_int_equal(scan_of("batched+order=cluster+second_chance=off", stored + 5, 1, 5).n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_handed_out_upwards_and_all_of_them),
		cmocka_unit_test(a_free_cluster_is_taken_before_a_hole),
		cmocka_unit_test(random_takes_and_gives_never_share_a_slot),
		cmocka_unit_test(virtual_slots_change_where_pages_lie_and_nothing_else),
		cmocka_unit_test(a_sorted_walk_writes_the_same_pages_upwards),
		cmocka_unit_test(order_decides_what_a_walk_writes_and_how),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
