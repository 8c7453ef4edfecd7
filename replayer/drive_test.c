/* SPDX-License-Identifier: MIT */
/*
 * The drive by recorded writebacks. Its oracle is the model under demand: what that decides is written down
 * as a kernel's recording would have it, and that recording, replayed by its writebacks, must give the same
 * walks, page by page, and the same I/O.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/swapio.h"

enum { SLOTS = 256, EVENTS = 8000, ROWS_MAX = 200000, SHRINKING_TASK = 9, WORKER_TASK = 8 };

struct row {
	char mark; /* b w e, and r for a read */
	uint32_t slot;
	enum sim_walk kind;
};

struct record {
	struct sim_sink sink; /* first */
	struct swapio swapio;
	bool direct;
	struct row *rows;
	uint32_t n;
};

static void add(struct record *record, struct row row)
{
	assert_true(record->n < ROWS_MAX);
	record->rows[record->n++] = row;
}

static void on_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	struct record *record = (struct record *)sink;

	record->direct = kind == SIM_WALK_DIRECT;
	record->swapio.sink.walk_begin(&record->swapio.sink, kind, time_ns);
	if (!record->direct)
		add(record, (struct row){ 'b', 0, kind });
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct record *record = (struct record *)sink;

	record->swapio.sink.write(&record->swapio.sink, write);
	if (!record->direct)
		add(record, (struct row){ .mark = 'w', .slot = write->slot });
}

static void on_end(struct sim_sink *sink)
{
	struct record *record = (struct record *)sink;

	record->swapio.sink.walk_end(&record->swapio.sink);
	record->direct = true;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot, uint16_t memcg)
{
	struct record *record = (struct record *)sink;

	record->swapio.sink.read(&record->swapio.sink, time_ns, area, slot, memcg);
}

static struct record *new_record(const struct sim_policy *policy)
{
	struct record *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	record->rows = calloc(ROWS_MAX, sizeof(*record->rows));
	assert_non_null(record->rows);
	record->sink = (struct sim_sink){
		.walk_begin = on_begin, .write = on_write, .walk_end = on_end, .read = on_read
	};
	record->direct = true;
	swapio_init(&record->swapio, policy, 4096, NULL);
	return record;
}

static void free_record(struct record *record)
{
	free(record->rows);
	free(record);
}

static struct db_event random_row(uint64_t *random)
{
	uint32_t which = random_below(random, 100), slot = random_below(random, SLOTS - 4);
	struct db_event event = event_out(slot, (uint16_t)random_below(random, 2),
					  (uint16_t)(500 + random_below(random, 3000)));

	event.task = 1 + random_below(random, 2);
	if (which >= 50 && which < 85)
		event = event_in(slot, DB_IN_ZSWAP);
	else if (which >= 85 && which < 92)
		event = event_free(slot, (uint16_t)(1 + random_below(random, 4)));
	else if (which >= 92)
		event = event_scan((uint16_t)random_below(random, 2), random_below(random, 50));
	return event;
}

struct recording {
	struct db_event *events;
	uint32_t n;
};

static void write_down(struct recording *recording, struct db_event event)
{
	assert_true(recording->n < ROWS_MAX);
	recording->events[recording->n++] = event;
}

/* The event as the kernel's probes would have it, then what it set off. */
static void write_down_row(struct recording *recording, const struct sim *sim, struct db_event event,
			   const struct record *record, uint32_t from)
{
	uint32_t task = event.kind == DB_SCAN ? SHRINKING_TASK : WORKER_TASK;

	if (event.kind == DB_OUT && sim_slot_state(sim, 0, event.slot) != SIM_SLOT_ZSWAP)
		event.flags = DB_OUT_REJECTED | DB_REASON_LIMIT << DB_F_REASON_SHIFT;
	if (event.kind == DB_SCAN)
		event.task = SHRINKING_TASK;
	write_down(recording, event);
	if (event.kind == DB_OUT && from < record->n)
		write_down(recording, (struct db_event){ .kind = DB_WORKER, .task = WORKER_TASK });
	for (uint32_t i = from; i < record->n; i++) {
		if (record->rows[i].mark == 'b' && event.kind == DB_OUT)
			write_down(recording, (struct db_event){ .kind = DB_SHRINK, .task = WORKER_TASK });
		if (record->rows[i].mark == 'w')
			write_down(recording, (struct db_event){ .kind = DB_WB,
								 .slot = record->rows[i].slot,
								 .task = task,
								 .flags = DB_WB_WRITTEN });
	}
	/* The task goes on to the next memcg, which ends its walk: both sides then tell walks in one order. */
	if (from < record->n)
		write_down(recording, (struct db_event){ .kind = DB_RECLAIM, .task = task });
}

/* Walks that wrote nothing leave no WB, so they are not in a recording. */
static uint32_t without_empty_walks(struct row *rows, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (rows[i].mark != 'b' || (i + 1 < n && rows[i + 1].mark == 'w'))
			rows[kept++] = rows[i];
	return kept;
}

static void compare(struct record *demand, struct record *driven)
{
	demand->n = without_empty_walks(demand->rows, demand->n);
	assert_int_equal(driven->n, demand->n);
	for (uint32_t i = 0; i < driven->n; i++) {
		assert_int_equal(driven->rows[i].mark, demand->rows[i].mark);
		assert_int_equal(driven->rows[i].slot, demand->rows[i].slot);
		assert_int_equal(driven->rows[i].kind, demand->rows[i].kind);
	}
	assert_memory_equal(&driven->swapio.io, &demand->swapio.io, sizeof(driven->swapio.io));
}

static void record_and_replay(const char *text, uint64_t seed)
{
	struct sim_machine machine = small_machine(SLOTS);
	struct sim_policy policy = policy_of(text);
	struct record *demand = new_record(&policy), *driven = new_record(&policy);
	struct recording recording = { calloc(ROWS_MAX, sizeof(struct db_event)), 0 };
	struct sim_counters counted;
	struct sim *sim;

	assert_non_null(recording.events);
	assert_int_equal(sim_new(&policy, &machine, &demand->sink, &sim), ZR_OK);
	for (int i = 0; i < EVENTS; i++) {
		struct db_event event = random_row(&seed);
		uint32_t from = demand->n;

		event.time_ns = (uint64_t)i;
		feed_event(sim, &machine, &event);
		write_down_row(&recording, sim, event, demand, from);
	}
	sim_flush(sim);
	counted = *sim_counters(sim);
	sim_free(sim);

	/* Limits and scans have nothing to say here: a pool of one page would refuse everything. */
	policy.drive = SIM_DRIVE_WRITEBACKS;
	policy.pool_bytes = 4096;
	assert_int_equal(sim_new(&policy, &machine, &driven->sink, &sim), ZR_OK);
	for (uint32_t i = 0; i < recording.n; i++)
		feed_event(sim, &machine, &recording.events[i]);
	sim_flush(sim);
	compare(demand, driven);
	assert_true(counted.written_back_pages > 500);
	assert_int_equal(sim_counters(sim)->written_back_pages, counted.written_back_pages);
	assert_int_equal(sim_counters(sim)->disk_refaults, counted.disk_refaults);
	assert_int_equal(sim_counters(sim)->zswpin, counted.zswpin);
	assert_int_equal(sim_counters(sim)->store_rejected, counted.store_rejected);
	sim_free(sim);
	free_record(demand);
	free_record(driven);
	free(recording.events);
}

static void a_recording_of_the_model_gives_the_same_walks_and_requests(void **state)
{
	static const char *const policies[] = { "batched+pool=300K", "plugged+pool=300K",
						"unbatched+pool=100K", "batched+pool=300K+accept=40+walk=7" };

	(void)state;
	for (int p = 0; p < 4; p++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			record_and_replay(policies[p], seed);
}

/* ------------------------------------------------------------------------------------- side by side */

static struct db_event wb(uint32_t slot, uint32_t task, enum db_wb outcome)
{
	return (struct db_event){ .kind = DB_WB, .slot = slot, .task = task, .flags = (uint8_t)outcome };
}

static struct db_event by(struct db_event event, uint32_t task)
{
	event.task = task;
	return event;
}

static void expect_rows(const struct db_event *events, uint32_t n, const char *marks,
			const uint32_t *slots, const char *text)
{
	struct sim_machine machine = small_machine(SLOTS);
	struct sim_policy policy = policy_of(text);
	struct record *record;
	uint32_t written = 0;
	struct sim *sim;

	policy.drive = SIM_DRIVE_WRITEBACKS;
	record = new_record(&policy);
	assert_int_equal(sim_new(&policy, &machine, &record->sink, &sim), ZR_OK);
	for (uint32_t i = 0; i < n; i++)
		feed_event(sim, &machine, &events[i]);
	sim_flush(sim);
	assert_int_equal(record->n, strlen(marks));
	for (uint32_t i = 0; i < record->n; i++) {
		assert_int_equal(record->rows[i].mark, marks[i]);
		if (marks[i] == 'w')
			assert_int_equal(record->rows[i].slot, slots[written++]);
	}
	sim_free(sim);
	free_record(record);
}

static void walks_side_by_side_are_told_one_after_the_other(void **state)
{
	const struct db_event events[] = {
		event_out(1, 0, 500), event_out(2, 0, 500), event_out(10, 0, 500), event_out(11, 0, 500),
		event_out(12, 0, 500),
		by(event_scan(0, 4), 5), by(event_scan(0, 4), 6),
		wb(10, 6, DB_WB_WRITTEN), wb(1, 5, DB_WB_WRITTEN), wb(11, 6, DB_WB_WRITTEN),
		wb(12, 6, DB_WB_EXISTS), wb(2, 5, DB_WB_WRITTEN),
	};
	static const uint32_t slots[] = { 1, 2, 10, 11 };

	(void)state;
	expect_rows(events, 12, "bwwbww", slots, "batched+pool=1M");
}

/* A page that comes back, or whose walker goes on to something else, ends the walks. */
static void a_walk_is_over_when_its_pages_or_its_task_move_on(void **state)
{
	const struct db_event events[] = {
		event_out(1, 0, 500), event_out(2, 0, 500), event_out(3, 0, 500), event_out(4, 0, 500),
		wb(1, 5, DB_WB_WRITTEN), event_in(1, DB_IN_DISK), wb(2, 5, DB_WB_WRITTEN),
		by(event_out(7, 0, 500), 5), wb(3, 5, DB_WB_WRITTEN), event_free(3, 1),
		wb(4, 5, DB_WB_WRITTEN),
	};
	static const uint32_t slots[] = { 1, 2, 3, 4 };

	(void)state;
	expect_rows(events, 11, "bwbwbwbw", slots, "batched+pool=1M");
}

static void more_walkers_than_places_lose_nothing(void **state)
{
	struct db_event events[120];
	uint32_t slots[40], n = 0;
	char marks[81];

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		events[n++] = event_out(2 * i, 0, 500);
	for (uint32_t i = 0; i < 40; i++) {
		events[n++] = wb(2 * i, 100 + i, DB_WB_WRITTEN);
		slots[i] = 2 * i;
		memcpy(marks + 2 * (size_t)i, "bw", 3);
	}
	expect_rows(events, n, marks, slots, "batched+pool=1M");
}

static void a_writeback_of_what_was_never_stored_is_still_a_write(void **state)
{
	const struct db_event events[] = { wb(5, 1, DB_WB_WRITTEN), wb(6, 1, DB_WB_WRITTEN) };
	static const uint32_t slots[] = { 5, 6 };

	(void)state;
	expect_rows(events, 2, "bww", slots, "batched+pool=1M");
}

static void recorded_walks_can_be_sorted(void **state)
{
	const struct db_event events[] = { event_out(9, 0, 500),     event_out(3, 0, 500),
					   event_out(4, 0, 500),     by(event_scan(0, 3), 1),
					   wb(9, 1, DB_WB_WRITTEN), wb(4, 1, DB_WB_WRITTEN),
					   wb(3, 1, DB_WB_WRITTEN) };
	static const uint32_t sorted[] = { 3, 4, 9 };

	(void)state;
	expect_rows(events, 7, "bwww", sorted, "sorted+pool=1M");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_of_the_model_gives_the_same_walks_and_requests),
		cmocka_unit_test(walks_side_by_side_are_told_one_after_the_other),
		cmocka_unit_test(a_walk_is_over_when_its_pages_or_its_task_move_on),
		cmocka_unit_test(more_walkers_than_places_lose_nothing),
		cmocka_unit_test(a_writeback_of_what_was_never_stored_is_still_a_write),
		cmocka_unit_test(recorded_walks_can_be_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
