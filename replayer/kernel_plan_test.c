/* SPDX-License-Identifier: MIT */
/* What the running kernel is made to do, by hand-made events and against a naive account of random
 * ones. */
#include "replayer/kernel_plan.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/test_events.h"

enum { SLOTS = 64, OPS_MAX = 4096 };

struct fixture {
	uint64_t area_slots[DB_AREA_MAX + 1];
	struct kernel_plan *plan;
	struct kernel_op ops[OPS_MAX];
	uint32_t n;
	uint64_t now_ns;
};

static enum zr_err keep(void *arg, const struct kernel_op *op)
{
	struct fixture *f = arg;

	assert_true(f->n < OPS_MAX);
	assert_true(op->n > 0 && op->n <= KERNEL_GROUP);
	f->ops[f->n++] = *op;
	return ZR_OK;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->area_slots[0] = f->area_slots[2] = SLOTS;
	assert_int_equal(kernel_plan_new(&(struct kernel_plan_options){ .page_size = 4096,
									.area_slots = f->area_slots,
									.n_tasks = 200,
									.emit = keep,
									.arg = f },
					 &f->plan),
			 ZR_OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kernel_plan_free(f->plan);
	free(f);
	return 0;
}

/* A microsecond after the one before. */
static void feed(struct fixture *f, struct db_event event)
{
	event.time_ns = f->now_ns += 1000;
	assert_int_equal(kernel_plan_feed(f->plan, &event), ZR_OK);
}

static void flush(struct fixture *f)
{
	assert_int_equal(kernel_plan_flush(f->plan), ZR_OK);
}

static struct db_event of_task(struct db_event event, uint32_t task)
{
	event.task = task;
	return event;
}

static void a_reclaim_batch_goes_out_together(void **state)
{
	struct fixture *f = *state;

	for (uint32_t slot = 1; slot <= 5; slot++)
		feed(f, event_out(slot, 1, (uint16_t)(100 * slot)));
	flush(f);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->ops[0].verb, KERNEL_OUT);
	assert_int_equal(f->ops[0].n, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(f->ops[0].pages[i].page, i + 1);
		assert_int_equal(f->ops[0].pages[i].len, 100 * (i + 1));
		assert_int_equal(f->ops[0].pages[i].turn, 0);
	}
}

static void a_batch_ends_at_32_pages_after_5_ms_and_at_the_next_reclaim_pass(void **state)
{
	struct fixture *f = *state;

	for (uint32_t slot = 1; slot <= 33; slot++)
		feed(f, event_out(slot, 1, 100));
	f->now_ns += KERNEL_GROUP_NS;
	feed(f, event_out(34, 1, 100));
	feed(f, of_task((struct db_event){ .kind = DB_RECLAIM }, 1));
	feed(f, event_out(35, 1, 100));
	flush(f);
	assert_int_equal(f->n, 4);
	assert_int_equal(f->ops[0].n, 32);
	assert_int_equal(f->ops[1].n, 1);
	assert_int_equal(f->ops[2].n, 1);
	assert_int_equal(f->ops[3].n, 1);
}

static void tasks_reclaim_side_by_side(void **state)
{
	struct fixture *f = *state;

	for (uint32_t slot = 1; slot <= 8; slot++)
		feed(f, of_task(event_out(slot, 1, 100), 3 + slot % 2));
	flush(f);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->ops[0].n, 4);
	assert_int_equal(f->ops[1].n, 4);
	assert_int_not_equal(f->ops[0].worker, f->ops[1].worker);
}

static void more_tasks_than_workers_share_them(void **state)
{
	struct fixture *f = *state;
	bool used[KERNEL_WORKERS] = { 0 };
	uint32_t workers = 0;

	for (uint32_t task = 0; task < 150; task++)
		feed(f, of_task(event_out(1, 1, 100), task));
	flush(f);
	for (uint32_t i = 0; i < f->n; i++) {
		assert_true(f->ops[i].worker < KERNEL_WORKERS);
		workers += !used[f->ops[i].worker];
		used[f->ops[i].worker] = true;
	}
	assert_int_equal(workers, KERNEL_WORKERS);
	assert_int_equal(kernel_plan_workers(f->plan), KERNEL_WORKERS);
}

static void read_ahead_is_not_waited_for(void **state)
{
	struct fixture *f = *state;
	struct db_event ahead = event_in(2, DB_IN_DISK);

	ahead.flags |= DB_F_READAHEAD;
	feed(f, event_out(1, 1, 100));
	feed(f, event_out(2, 1, 100));
	feed(f, event_in(1, DB_IN_ZSWAP));
	feed(f, ahead);
	flush(f);
	assert_int_equal(f->n, 3);
	/* The other task's batch may still have grown. */
	assert_int_equal(f->ops[0].verb + f->ops[1].verb + f->ops[2].verb,
			 KERNEL_OUT + KERNEL_IN + KERNEL_AHEAD);
	assert_int_equal(kernel_plan_demand(f->plan).ins, 2);
}

static void what_was_never_out_cannot_come_back(void **state)
{
	struct fixture *f = *state;

	feed(f, event_in(7, DB_IN_DISK));
	feed(f, event_free(9, 3));
	flush(f);
	assert_int_equal(f->n, 0);
	assert_int_equal(kernel_plan_demand(f->plan).unknown, 1);
	assert_int_equal(kernel_plan_demand(f->plan).frees, 0);
}

static void a_rewritten_page_is_renewed_in_a_batch_of_its_own(void **state)
{
	struct fixture *f = *state;

	feed(f, event_out(7, 1, 100));
	feed(f, event_out(7, 1, 200));
	flush(f);
	assert_int_equal(f->n, 2);
	assert_false(f->ops[0].pages[0].renew);
	assert_true(f->ops[1].pages[0].renew);
	assert_int_equal(f->ops[1].pages[0].turn, 1);
}

static void lengths_are_the_recorded_or_the_last_known_or_the_mean(void **state)
{
	struct fixture *f = *state;
	struct db_event known[] = { event_out(1, 1, 1000), event_out(2, 1, 3000) };
	struct db_event zero = event_out(5, 1, 0);

	zero.flags = DB_OUT_ZERO;
	for (uint32_t i = 0; i < 2; i++)
		kernel_plan_survey(f->plan, &known[i]);
	assert_int_equal(kernel_plan_preload(f->plan, true), ZR_OK);
	assert_int_equal(kernel_plan_preload(f->plan, false), ZR_OK);
	feed(f, known[0]);
	feed(f, event_in(1, DB_IN_ZSWAP));
	feed(f, event_rejected(1, 1, DB_REASON_LIMIT));
	feed(f, event_rejected(3, 1, DB_REASON_LIMIT));
	feed(f, event_rejected(4, 1, DB_REASON_COMPRESS));
	feed(f, zero);
	flush(f);
	assert_int_equal(f->ops[0].pages[0].len, 1000);
	assert_int_equal(f->ops[0].pages[1].page, 1);
	assert_int_equal(f->ops[0].pages[1].len, 1000);
	assert_int_equal(f->ops[0].pages[2].len, 2000);
	assert_int_equal(f->ops[0].pages[3].len, 4096);
	assert_int_equal(f->ops[0].pages[4].len, 0);
}

static void a_large_folio_is_a_run_of_pages(void **state)
{
	struct fixture *f = *state;
	struct db_event whole = event_rejected(16, 1, DB_REASON_LARGE),
			stored = event_out(32, 1, 700);
	struct db_event part = event_out(33, 1, 900);

	whole.order = 4;
	stored.order = 1;
	part.flags |= DB_F_PART;
	feed(f, whole);
	feed(f, stored);
	feed(f, part);
	flush(f);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->ops[0].n, 18);
	assert_int_equal(f->ops[0].pages[15].page, 31);
	assert_int_equal(f->ops[0].pages[16].len, 700);
	assert_int_equal(f->ops[0].pages[17].len, 900);
	assert_false(f->ops[0].pages[17].renew);
}

static void what_stayed_in_memory_is_not_asked_for(void **state)
{
	struct fixture *f = *state;
	struct db_event kept = event_rejected(3, 1, DB_REASON_LIMIT),
			failed = event_in(3, DB_IN_ERROR);

	kept.flags = DB_OUT_KEPT;
	feed(f, kept);
	feed(f, failed);
	flush(f);
	assert_int_equal(f->n, 0);
	assert_int_equal(kernel_plan_demand(f->plan).kept, 1);
}

static void areas_lie_one_behind_the_other(void **state)
{
	struct fixture *f = *state;
	struct db_event second = event_out(7, 1, 100), outside = event_out(7, 1, 100);

	second.area = 2;
	outside.area = 1;
	feed(f, event_out(7, 1, 100));
	feed(f, second);
	feed(f, outside);
	flush(f);
	assert_int_equal(kernel_plan_pages(f->plan), 2 * SLOTS);
	assert_int_equal(f->ops[0].n, 2);
	assert_int_equal(f->ops[0].pages[0].page, 7);
	assert_int_equal(f->ops[0].pages[1].page, SLOTS + 7);
}

static void a_cut_begins_with_what_was_out(void **state)
{
	struct fixture *f = *state;
	struct db_event written = { .kind = DB_WB, .slot = 4, .len = 640, .flags = DB_WB_WRITTEN };
	struct db_event events[] = {
		event_in(2, DB_IN_ZSWAP), event_in(3, DB_IN_DISK), written,
		event_in(4, DB_IN_DISK),  event_out(5, 1, 100),	   event_in(5, DB_IN_DISK),
		event_free(2, 1)
	};
	uint32_t n = sizeof(events) / sizeof(events[0]);

	for (uint32_t i = 0; i < n; i++)
		kernel_plan_survey(f->plan, &events[i]);
	assert_int_equal(kernel_plan_size(f->plan).out_pages, 1);
	assert_int_equal(kernel_plan_size(f->plan).in_pages, 4);
	assert_int_equal(kernel_plan_preload(f->plan, true), ZR_OK);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->ops[0].n, 1);
	assert_int_equal(f->ops[0].pages[0].page, 3);
	assert_int_equal(kernel_plan_preload(f->plan, false), ZR_OK);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->ops[1].n, 2);
	assert_int_equal(f->ops[1].pages[0].page, 2);
	assert_int_equal(f->ops[1].pages[0].len, 100); /* the mean */
	assert_int_equal(f->ops[1].pages[1].page, 4);
	assert_int_equal(f->ops[1].pages[1].len, 640);
	for (uint32_t i = 0; i < n; i++)
		feed(f, events[i]);
	flush(f);
	assert_int_equal(kernel_plan_demand(f->plan).ins, 4);
	assert_int_equal(kernel_plan_demand(f->plan).unknown, 0);
	assert_int_equal(kernel_plan_demand(f->plan).written_back, 1);
}

static void areas_larger_than_any_mapping_are_refused(void **state)
{
	struct fixture *f = *state;
	struct kernel_plan *plan;

	f->area_slots[2] = (uint64_t)1 << 32;
	assert_int_equal(kernel_plan_new(&(struct kernel_plan_options){ .page_size = 4096,
									.area_slots = f->area_slots,
									.emit = keep },
					 &plan),
			 ZR_LIMIT);
	assert_null(plan);
	zr_error_clear();
}

static struct db_event random_event(uint64_t *seed)
{
	uint32_t slot = 1 + random_below(seed, 40), task = random_below(seed, 90);

	switch (random_below(seed, 4)) {
	case 0:
		return of_task(event_in(slot, DB_IN_ZSWAP), task);
	case 1:
		return of_task(event_free(slot, (uint16_t)random_below(seed, 4)), task);
	default:
		return of_task(event_out(slot, 1, 100), task);
	}
}

/* What a page went through, by an account of its own. */
struct naive {
	bool out, in;
	uint32_t turns;
};

static void naive_event(struct naive *pages, const struct db_event *event)
{
	uint32_t n = event->kind == DB_FREE ? db_free_slots(event->len) : 1;

	for (uint32_t slot = event->slot; slot < event->slot + n; slot++) {
		struct naive *page = &pages[slot];

		if (event->kind == DB_OUT)
			*page = (struct naive){ .out = true, .turns = page->turns + 1 };
		else if (!page->out && !page->in)
			continue;
		else
			*page = (struct naive){ .in = event->kind == DB_IN,
						.turns = page->turns + 1 };
	}
}

static void every_page_gets_all_its_turns_once_and_in_order_for_a_worker(void **state)
{
	struct fixture *f = *state;
	struct naive pages[SLOTS] = { 0 };
	uint32_t seen[SLOTS] = { 0 }, last[SLOTS][KERNEL_WORKERS];
	uint64_t seed = 7, turns_seen[SLOTS] = { 0 };

	memset(last, 0, sizeof(last));
	for (uint32_t i = 0; i < 1500; i++) {
		struct db_event event = random_event(&seed);

		naive_event(pages, &event);
		feed(f, event);
	}
	flush(f);
	for (uint32_t i = 0; i < f->n; i++)
		for (uint32_t k = 0; k < f->ops[i].n; k++) {
			const struct kernel_page *page = &f->ops[i].pages[k];
			uint32_t *before = &last[page->page][f->ops[i].worker];

			assert_true(page->turn + 1 >
				    *before); /* else a worker would wait for itself */
			*before = page->turn + 1;
			seen[page->page]++;
			turns_seen[page->page] += page->turn;
		}
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint64_t n = pages[slot].turns;

		assert_int_equal(seen[slot], n);
		assert_int_equal(turns_seen[slot], n ? n * (n - 1) / 2 : 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reclaim_batch_goes_out_together),
		TEST(a_batch_ends_at_32_pages_after_5_ms_and_at_the_next_reclaim_pass),
		TEST(tasks_reclaim_side_by_side),
		TEST(more_tasks_than_workers_share_them),
		TEST(read_ahead_is_not_waited_for),
		TEST(what_was_never_out_cannot_come_back),
		TEST(a_rewritten_page_is_renewed_in_a_batch_of_its_own),
		TEST(lengths_are_the_recorded_or_the_last_known_or_the_mean),
		TEST(a_large_folio_is_a_run_of_pages),
		TEST(what_stayed_in_memory_is_not_asked_for),
		TEST(areas_lie_one_behind_the_other),
		TEST(a_cut_begins_with_what_was_out),
		TEST(areas_larger_than_any_mapping_are_refused),
		TEST(every_page_gets_all_its_turns_once_and_in_order_for_a_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
