/* SPDX-License-Identifier: MIT */
/*
 * Explanations against an oracle that keeps the whole history.
 *
 * The oracle writes down everything that happens to a slot, one record after the other, and a picture of all
 * slots at each write. When a context ends it searches that history from end to end: no ordinals, no marks,
 * no counters. Ceilings are counted over all pages of a window by looking for each page's predecessor.
 */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/model.h"
#include "replayer/survey.h"

enum { SLOTS = 96, EVENTS = 6000, MEMCGS = 3, TASKS = 4, RECORDS_MAX = 200000, WRITES_MAX = 100000 };

/* LEFT: the pool, by a load, a free or a swap-out anew. */
enum what { WHAT_STORE, WHAT_LEFT, WHAT_FREED, WHAT_DIRECT, WHAT_KEPT, WHAT_ZERO, WHAT_WRITTEN,
	    WHAT_UNKNOWN_IN };

struct record {
	enum what what;
	uint32_t slot, task, walk;
	uint16_t memcg;
};

struct picture {
	struct slot slots[SLOTS];
};

struct write {
	uint32_t slot, walk;
	uint16_t memcg;
};

struct history {
	struct sim_sink sink; /* first */
	struct sim *sim;
	const struct sim_machine *machine;
	struct sim_policy policy;
	struct record *records;
	struct write *writes;
	uint32_t n, n_writes, walk, context;
	const struct db_event *event; /* being fed */
	bool direct, shrinking;
	struct write last;
	struct picture before_walk, at_last;
	uint64_t breaks[PLAY_BREAK_COUNT];
};

/* ------------------------------------------------------------------------------------------- oracle */

static void note(struct history *h, struct record record)
{
	assert_true(h->n < RECORDS_MAX);
	h->records[h->n++] = record;
}

static void take_picture(const struct history *h, struct picture *picture)
{
	memcpy(picture->slots, h->sim->slots, sizeof(picture->slots));
}

/* The last record of a slot of these kinds before `end`, or -1. */
static int last_record(const struct history *h, uint32_t slot, uint32_t kinds, int end)
{
	for (int i = end - 1; i >= 0; i--)
		if (h->records[i].slot == slot && kinds >> h->records[i].what & 1)
			return i;
	return -1;
}

static bool oldest_of_list(const struct history *h, uint16_t memcg, uint32_t slot)
{
	uint32_t list[SLOTS], n = lru_read(&h->sim->lru, memcg, list, SLOTS);

	return n && list[0] == slot;
}

static bool left_and_came_back(const struct history *h, int store_a, int store_n, uint32_t n)
{
	const uint32_t gone = 1 << WHAT_LEFT | 1 << WHAT_WRITTEN;

	return last_record(h, n, gone, store_n) > store_a;
}

static bool others_between(const struct history *h, int store_a, int store_n)
{
	const struct record *a = &h->records[store_a];
	int others = 0;

	for (int i = store_a + 1; i < store_n; i++)
		if (h->records[i].what == WHAT_STORE) {
			if (h->records[i].task == a->task)
				return false;
			others++;
		}
	if (store_n < store_a || !others)
		return false;
	if (h->records[store_n].task == a->task)
		return h->records[store_n].memcg == a->memcg;
	for (int i = store_n + 1; i < (int)h->n; i++)
		if (h->records[i].what == WHAT_STORE && h->records[i].task == a->task)
			return true;
	return false; /* the task has not gone on */
}

static enum play_break pool_cause(const struct history *h, uint32_t n, bool over)
{
	const struct slot *now = &h->sim->slots[n];
	bool sorted = h->policy.order == SIM_ORDER_SORTED;
	const struct picture *then = sorted ? &h->before_walk : &h->at_last;
	int store_a = last_record(h, n - 1, 1 << WHAT_STORE, (int)h->n);
	int store_n = last_record(h, n, 1 << WHAT_STORE, (int)h->n);

	if (now->memcg != h->last.memcg)
		return PLAY_BREAK_other_memcg;
	if (h->policy.order == SIM_ORDER_CLUSTER)
		return PLAY_BREAK_scan_budget;
	if (then->slots[n].referenced && !now->referenced)
		return PLAY_BREAK_second_chance;
	if ((over || sorted) && oldest_of_list(h, now->memcg, n))
		return now->referenced ? PLAY_BREAK_second_chance : PLAY_BREAK_scan_budget;
	if (left_and_came_back(h, store_a, store_n, n))
		return PLAY_BREAK_restored;
	return others_between(h, store_a, store_n) ? PLAY_BREAK_interleaved : PLAY_BREAK_order;
}

static enum play_break hole_cause(const struct history *h, uint32_t n)
{
	int at = last_record(h, n, ~0u, (int)h->n);

	if (at < 0)
		return PLAY_BREAK_hole_unused;
	switch (h->records[at].what) {
	case WHAT_DIRECT:
	case WHAT_KEPT:
		return PLAY_BREAK_hole_rejected;
	case WHAT_ZERO:
		return PLAY_BREAK_hole_zero;
	case WHAT_FREED:
		return PLAY_BREAK_hole_free;
	case WHAT_WRITTEN:
		return h->records[at].walk == h->walk ? PLAY_BREAK_order : PLAY_BREAK_hole_written;
	case WHAT_LEFT:
	case WHAT_UNKNOWN_IN:
	case WHAT_STORE:
		break;
	}
	return PLAY_BREAK_hole_refault;
}

static void end_context(struct history *h, const struct sim_write *next)
{
	uint32_t n = h->last.slot + 1;
	enum play_break cause;

	h->context = 0;
	if (n == SLOTS)
		cause = PLAY_BREAK_boundary;
	else if (next && next->slot == n)
		cause = PLAY_BREAK_batch_limit;
	else if (h->sim->slots[n].state == SIM_SLOT_ZSWAP)
		cause = pool_cause(h, n, !next);
	else
		cause = hole_cause(h, n);
	h->breaks[cause]++;
}

static void on_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct history *h = (struct history *)sink;

	(void)time_ns;
	if (kind == SIM_WALK_DIRECT)
		return;
	h->shrinking = true;
	h->walk++;
	h->context = 0;
	take_picture(h, &h->before_walk);
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct history *h = (struct history *)sink;

	if (!h->shrinking) {
		for (uint32_t i = 0; i < write->pages; i++)
			note(h, (struct record){ .what = WHAT_DIRECT, .slot = write->slot + i });
		return;
	}
	/* The record comes first: in a descending walk the neighbour was written before. */
	note(h, (struct record){ .what = WHAT_WRITTEN, .slot = write->slot, .walk = h->walk });
	if (h->context && (h->context == (uint32_t)h->policy.batch || write->slot != h->last.slot + 1))
		end_context(h, write);
	h->context++;
	h->last = (struct write){ write->slot, h->walk, write->memcg };
	assert_true(h->n_writes < WRITES_MAX);
	h->writes[h->n_writes++] = h->last;
	take_picture(h, &h->at_last);
}

static void on_end(struct sim_sink *sink)
{
	struct history *h = (struct history *)sink;

	if (h->shrinking && h->context)
		end_context(h, NULL);
	h->shrinking = false;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot, uint16_t memcg)
{
	(void)sink, (void)time_ns, (void)area, (void)slot, (void)memcg;
}

static void before_row(struct history *h, const struct db_event *event)
{
	enum sim_slot state = sim_slot_state(h->sim, 0, event->slot);

	if (event->kind != DB_OUT && event->kind != DB_IN && event->kind != DB_FREE)
		return;
	if (state == SIM_SLOT_ZSWAP)
		note(h, (struct record){ .what = WHAT_LEFT, .slot = event->slot });
	if (event->kind == DB_FREE && state != SIM_SLOT_FREE)
		note(h, (struct record){ .what = WHAT_FREED, .slot = event->slot });
	if (event->kind == DB_IN && state == SIM_SLOT_FREE)
		note(h, (struct record){ .what = WHAT_UNKNOWN_IN, .slot = event->slot });
	if (event->kind == DB_OUT && h->machine->learnt.no_writeback &&
	    h->machine->learnt.no_writeback[event->memcg])
		note(h, (struct record){ .what = WHAT_KEPT, .slot = event->slot });
}

static void after_row(struct history *h, const struct db_event *event)
{
	enum sim_slot state = sim_slot_state(h->sim, 0, event->slot);
	struct record record = { .slot = event->slot, .task = event->task, .memcg = event->memcg };

	if (event->kind != DB_OUT || (state != SIM_SLOT_ZSWAP && state != SIM_SLOT_ZERO))
		return;
	record.what = state == SIM_SLOT_ZSWAP ? WHAT_STORE : WHAT_ZERO;
	note(h, record);
}

/* Slots of their own order, mostly runs by task; some of everything that makes a hole. */
static struct db_event random_row(uint64_t *random, uint32_t next[TASKS])
{
	uint32_t which = random_below(random, 100), task = random_below(random, TASKS);
	struct db_event event;

	if (which < 58) {
		next[task] = random_below(random, 6) ? next[task] + 1 : random_below(random, SLOTS);
		event = event_out(next[task] % SLOTS, (uint16_t)random_below(random, MEMCGS),
				  (uint16_t)(500 + random_below(random, 2500)));
		if (random_below(random, 3))
			event.memcg = (uint16_t)(task % MEMCGS);
		event.task = task;
	} else if (which < 62) {
		event = event_out(random_below(random, SLOTS), 1, 0);
		event.flags = (uint8_t)(which < 60 ? DB_OUT_ZERO :
					which < 61 ? DB_OUT_KEPT | DB_REASON_LIMIT << DB_F_REASON_SHIFT :
						     DB_OUT_REJECTED |
							     DB_REASON_COMPRESS << DB_F_REASON_SHIFT);
	} else if (which < 80) {
		event = event_in(random_below(random, SLOTS), DB_IN_ZSWAP);
	} else if (which < 88) {
		event = event_free(random_below(random, SLOTS), 1);
	} else {
		event = event_scan((uint16_t)random_below(random, MEMCGS), 1 + random_below(random, 24));
	}
	return event;
}

static struct db_event *random_rows(uint64_t seed)
{
	struct db_event *events = calloc(EVENTS, sizeof(*events));
	uint32_t next[TASKS] = { 0, 20, 40, 60 };

	assert_non_null(events);
	for (uint32_t i = 0; i < EVENTS; i++) {
		events[i] = random_row(&seed, next);
		events[i].time_ns = 1000 + 10 * (uint64_t)i;
	}
	return events;
}

static void ask_oracle(struct history *h, const char *policy, const struct sim_machine *machine,
		       const struct db_event *events)
{
	*h = (struct history){ .sink = { .walk_begin = on_begin,
					 .write = on_write,
					 .walk_end = on_end,
					 .read = on_read },
			       .machine = machine,
			       .policy = policy_of(policy) };
	h->records = calloc(RECORDS_MAX, sizeof(*h->records));
	h->writes = calloc(WRITES_MAX, sizeof(*h->writes));
	assert_true(h->records && h->writes);
	assert_int_equal(sim_new(&h->policy, machine, &h->sink, &h->sim), ZR_OK);
	for (uint32_t i = 0; i < EVENTS; i++) {
		sim_worker_advance(h->sim, events[i].time_ns);
		before_row(h, &events[i]);
		feed_event(h->sim, machine, &events[i]);
		after_row(h, &events[i]);
	}
}

static void dismiss_oracle(struct history *h)
{
	sim_free(h->sim);
	free(h->records);
	free(h->writes);
}

/* ------------------------------------------------------------------------------------- trace of it */

struct trace {
	char path[64];
	struct db *db;
	struct zr_arena arena;
};

static void write_trace(struct trace *trace, const struct db_event *events, uint32_t n)
{
	struct db_writer *writer;

	trace->arena = (struct zr_arena){ 0 };
	strcpy(trace->path, "/tmp/zreel-explain-XXXXXX");
	close(mkstemp(trace->path));
	unlink(trace->path);
	assert_int_equal(db_open(trace->path, DB_CREATE, &trace->db), ZR_OK);
	for (uint32_t i = 1; i < MEMCGS; i++)
		assert_int_equal(db_put_memcg(trace->db, &(struct db_memcg){ .id = i, .path = "/x" }),
				 ZR_OK);
	for (uint32_t i = 1; i < TASKS; i++)
		assert_int_equal(db_put_task(trace->db, &(struct db_task){ .id = i, .tid = i, .comm = "" }),
				 ZR_OK);
	assert_int_equal(db_put_area(trace->db, &(struct db_area){ .path = "/s", .slots = SLOTS }), ZR_OK);
	assert_int_equal(db_writer_new(trace->db, &(struct db_writer_options){ 0 }, &writer), ZR_OK);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(db_writer_add(writer, &events[i]), ZR_OK);
	assert_int_equal(db_writer_free(writer), ZR_OK);
	assert_int_equal(db_set_complete(trace->db), ZR_OK);
}

static void remove_trace(struct trace *trace)
{
	assert_int_equal(db_close(trace->db), ZR_OK);
	unlink(trace->path);
	zr_arena_fini(&trace->arena);
}

static struct play_explain *explain(struct trace *trace, const char *policy)
{
	struct play_explain *out = calloc(1, sizeof(*out));

	assert_non_null(out);
	assert_int_equal(
		play_explain(trace->db, &(struct play_explain_options){ .policy = policy }, out), ZR_OK);
	return out;
}

/* What the first pass says of the machine. */
static struct sim_machine trace_machine(struct trace *trace)
{
	struct survey_host *hosts;
	size_t n;

	assert_int_equal(survey_trace(trace->db, &trace->arena, &hosts, &n), ZR_OK);
	return hosts[0].machine;
}

/* ------------------------------------------------------------------------------------------- claims */

static const char *const explained[] = {
	"batched+pool=64K",
	"batched+pool=200K",
	"unbatched+pool=100K",
	"batched+batch=3+pool=100K+accept=50+walk=9",
	"batched+pool=60K+shrink_enabled=0",
	"batched+pool=100K+second_chance=off",
	"sorted+pool=100K",
	"sorted+pool=100K+batch=4",
	"batched+order=cluster+pool=100K",
};

enum { N_EXPLAINED = sizeof(explained) / sizeof(explained[0]) };

static void compare_breaks(const char *policy, const struct play_explain *out, const struct history *h)
{
	uint64_t sum = 0;

	for (int i = 0; i < PLAY_BREAK_COUNT; i++) {
		if (out->breaks[i] != h->breaks[i])
			fail_msg("%s: %s is %llu, the oracle says %llu", policy,
				 play_break_name((enum play_break)i), (unsigned long long)out->breaks[i],
				 (unsigned long long)h->breaks[i]);
		sum += out->breaks[i];
	}
	/* Contexts are counted by the I/O plan, which knows nothing of causes. */
	assert_int_equal(sum, out->contexts);
	assert_int_equal(out->pages, h->n_writes);
	assert_true(out->pages > 100);
}

static void every_break_has_the_cause_that_the_whole_history_gives(void **state)
{
	struct sim_machine machine;
	uint64_t seen[PLAY_BREAK_COUNT] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct db_event *events = random_rows(seed);
		struct trace trace;

		write_trace(&trace, events, EVENTS);
		machine = trace_machine(&trace);
		for (int p = 0; p < N_EXPLAINED; p++) {
			struct history h;
			struct play_explain *out = explain(&trace, explained[p]);

			ask_oracle(&h, explained[p], &machine, events);
			compare_breaks(explained[p], out, &h);
			for (int i = 0; i < PLAY_BREAK_COUNT; i++)
				seen[i] += out->breaks[i];
			dismiss_oracle(&h);
			free(out);
		}
		remove_trace(&trace);
		free(events);
	}
	/* The random traces reach every cause, or they would prove little of it. */
	for (int i = 0; i < PLAY_BREAK_COUNT; i++)
		if (!seen[i] && i != PLAY_BREAK_hole_unused)
			fail_msg("no break was caused by %s", play_break_name((enum play_break)i));
}

/* Requests of a window: pages without their predecessor in it begin runs; a run is cut every `batch`. */
static uint64_t runs_of(const struct write *writes, uint32_t n, uint32_t batch)
{
	uint64_t requests = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = 0, length = 1;
		bool more = true;

		while (at < n && !(writes[at].memcg == writes[i].memcg &&
				   writes[at].slot + 1 == writes[i].slot))
			at++;
		if (at < n)
			continue;
		while (more) {
			more = false;
			for (uint32_t k = 0; k < n; k++)
				more = more || (writes[k].memcg == writes[i].memcg &&
						writes[k].slot == writes[i].slot + length);
			length += more;
		}
		requests += (length + batch - 1) / batch;
	}
	return requests;
}

/* Windows in which a slot is written twice are no sets; there the sort has both side by side. */
static bool has_twins(const struct write *writes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (writes[i].slot == writes[k].slot && writes[i].memcg == writes[k].memcg)
				return true;
	return false;
}

static uint64_t requests_by_walk(const struct history *h, uint32_t batch)
{
	uint64_t requests = 0;

	for (uint32_t from = 0, to; from < h->n_writes; from = to) {
		for (to = from; to < h->n_writes && h->writes[to].walk == h->writes[from].walk; to++)
			;
		requests += runs_of(h->writes + from, to - from, batch);
	}
	return requests;
}

static void sorted_walks_are_as_long_as_brute_force_makes_them(void **state)
{
	struct sim_machine machine;
	struct db_event *events = random_rows(9);
	struct trace trace;

	(void)state;
	write_trace(&trace, events, EVENTS);
	machine = trace_machine(&trace);
	for (int p = 0; p < N_EXPLAINED; p++) {
		struct history h;
		struct play_explain *out = explain(&trace, explained[p]);

		ask_oracle(&h, explained[p], &machine, events);
		assert_int_equal(out->ceiling_requests[PLAY_CEILING_sorted_walk],
				 requests_by_walk(&h, out->batch));
		assert_int_equal(out->ceiling_requests[PLAY_CEILING_actual], out->requests);
		dismiss_oracle(&h);
		free(out);
	}
	remove_trace(&trace);
	free(events);
}

/* Slots go out once, in a shuffled order, so that every window is a set. */
static void sorted_windows_are_as_long_as_brute_force_makes_them(void **state)
{
	static const struct {
		enum play_ceiling ceiling;
		uint32_t pages;
	} windows[] = { { PLAY_CEILING_sorted_32, 32 }, { PLAY_CEILING_sorted_64, 64 } };
	struct sim_machine machine;
	struct db_event *events = calloc(EVENTS, sizeof(*events));
	struct play_explain *out;
	struct history h;
	struct trace trace;

	(void)state;
	assert_non_null(events);
	for (uint32_t i = 0; i < EVENTS; i++)
		events[i] = event_scan(0, 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		events[2 * i] = event_out(i * 37 % SLOTS, i % 5 == 0, 2000);
		events[2 * i + 1] = event_scan(i % 5 == 0, i % 7);
	}
	for (uint32_t i = 2 * SLOTS; i < 2 * SLOTS + 2; i++)
		events[i] = event_scan(i % 2, 4 * SLOTS);
	write_trace(&trace, events, EVENTS);
	machine = trace_machine(&trace);
	out = explain(&trace, "batched+pool=1M+batch=5");
	ask_oracle(&h, "batched+pool=1M+batch=5", &machine, events);
	assert_true(h.n_writes > 80);
	for (int w = 0; w < 2; w++) {
		uint64_t requests = 0;

		for (uint32_t from = 0; from < h.n_writes; from += windows[w].pages) {
			uint32_t n = h.n_writes - from;

			n = n < windows[w].pages ? n : windows[w].pages;
			assert_false(has_twins(h.writes + from, n));
			requests += runs_of(h.writes + from, n, 5);
		}
		assert_int_equal(out->ceiling_requests[windows[w].ceiling], requests);
	}
	dismiss_oracle(&h);
	free(out);
	remove_trace(&trace);
	free(events);
}

/* The vswap ceiling is what a replay under slots=vswap plans. */
static void take_io(void *arg, const struct play_figures *figures)
{
	*(struct play_figures *)arg = *figures;
}

static void the_virtual_ceiling_is_a_replay_of_its_own(void **state)
{
	const char *policy = "batched+pool=1M+slots=vswap"; /* nothing goes past zswap */
	struct play_figures figures = { 0 };
	struct play_options options = { .policies = &policy, .n_policies = 1, .figures = take_io,
					.figures_arg = &figures };
	struct db_event *events = random_rows(21);
	struct play_explain *out;
	struct trace trace;
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < EVENTS; i++)
		if (events[i].kind != DB_OUT || db_flags_outcome(events[i].flags) == DB_OUT_STORED)
			events[n++] = events[i];
	write_trace(&trace, events, n);
	assert_int_equal(play_replay(trace.db, NULL, &options), ZR_OK);
	out = explain(&trace, "batched+pool=1M");
	assert_true(figures.io.write_requests > 50);
	assert_int_equal(out->ceiling_requests[PLAY_CEILING_vswap], figures.io.write_requests);
	assert_true(figures.io.write_requests < out->requests);
	free(out);
	out = explain(&trace, policy);
	assert_int_equal(out->requests, figures.io.write_requests);
	free(out);
	remove_trace(&trace);
	free(events);
}

static void ages_inversions_and_refusals_are_told_in_trace_time(void **state)
{
	/* Pages of 3 slots fill a pool of 3 pages; the fourth is refused, and read back 70 us later, while
	 * older ones are in the pool; from the refusal to the next store taken 100 us pass. */
	struct db_event events[] = { event_out(0, 0, 4000), event_out(1, 0, 4000), event_out(2, 0, 4000),
				     event_out(3, 0, 4000), event_in(3, DB_IN_DISK), event_free(0, 1),
				     event_out(5, 0, 4000), event_scan(0, 9) };
	static const uint64_t times_us[] = { 1000, 1001, 1002, 1010, 1080, 1090, 1110, 1200 };
	struct play_explain *out;
	struct trace trace;

	(void)state;
	for (int i = 0; i < 8; i++)
		events[i].time_ns = 1000 * times_us[i];
	write_trace(&trace, events, 8);
	out = explain(&trace, "shrink-off+pool=12K");
	assert_int_equal(out->counters.lru_inversions, 1);
	assert_int_equal(out->inversion_ns.count, 1);
	assert_int_equal(out->inversion_ns.max, 70000);
	assert_int_equal(out->refusing_ns, 100000);
	assert_int_equal(out->span_ns, 200000);
	assert_int_equal(out->pages, 3);
	assert_int_equal(out->age_ns.count, 3);
	assert_int_equal(out->age_ns.min, 90000);
	assert_int_equal(out->age_ns.max, 199000);
	free(out);
	remove_trace(&trace);
}

static bool say_stop(void *arg, double done)
{
	(void)arg, (void)done;
	return false;
}

static void an_explanation_can_be_stopped_and_needs_a_policy(void **state)
{
	struct db_event *events = random_rows(3);
	struct play_explain *out = calloc(1, sizeof(*out));
	struct trace trace;

	(void)state;
	assert_non_null(out);
	write_trace(&trace, events, EVENTS);
	assert_int_equal(play_explain(trace.db,
				      &(struct play_explain_options){ .policy = "batched+pool=1M",
								      .progress = say_stop },
				      out),
			 ZR_INTERRUPTED);
	zr_error_clear();
	assert_int_equal(
		play_explain(trace.db, &(struct play_explain_options){ .policy = "nosuch" }, out),
		ZR_BAD_POLICY);
	zr_error_clear();
	free(out);
	remove_trace(&trace);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_break_has_the_cause_that_the_whole_history_gives),
		cmocka_unit_test(sorted_walks_are_as_long_as_brute_force_makes_them),
		cmocka_unit_test(sorted_windows_are_as_long_as_brute_force_makes_them),
		cmocka_unit_test(the_virtual_ceiling_is_a_replay_of_its_own),
		cmocka_unit_test(ages_inversions_and_refusals_are_told_in_trace_time),
		cmocka_unit_test(an_explanation_can_be_stopped_and_needs_a_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
