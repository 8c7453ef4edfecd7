/* SPDX-License-Identifier: MIT */
/* Timelines: bins sum up to what a replay of its own counts, and each event is in the bin of its time. */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 512, EVENTS = 9000, STEP_NS = 1013, GAP_AT = 4000, ORIGIN_NS = 77 };

static const char *const policies[] = { "unbatched+pool=300K", "plugged+pool=300K", "shrink-off+pool=100K+shrinker=off" };

enum { N_POLICIES = sizeof(policies) / sizeof(policies[0]) };

struct fixture {
	char path[64];
	struct db *trace;
	struct db_event events[EVENTS];
	struct play_timeline timeline;
};

/* Mostly pages, now and then a large folio of four with its parts, a writeback, and one gap. */
static void make_events(struct db_event *events)
{
	uint64_t random = 8;
	uint32_t part = 0;

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct db_event *e = &events[i];

		if (part) {
			*e = event_out(e[-1].slot + 1, 1, 900);
			e->flags |= DB_F_PART;
			part--;
		} else if (i == GAP_AT) {
			*e = (struct db_event){ .kind = DB_GAP, .slot = 17 };
		} else if (i % 16 == 0) {
			*e = event_scan(1, 20);
		} else if (i % 97 == 1) {
			*e = event_out(random_below(&random, SLOTS / 4) * 4, 1, 900);
			e->order = 2;
			part = 3;
		} else if (i % 53 == 7) {
			*e = (struct db_event){ .kind = DB_WB, .slot = random_below(&random, SLOTS),
						.flags = i % 2 ? DB_WB_WRITTEN : DB_WB_EXISTS };
		} else if (i % 3) {
			*e = event_out(random_below(&random, SLOTS), 1, 2000);
		} else {
			*e = event_in(random_below(&random, SLOTS), DB_IN_ZSWAP);
		}
		e->time_ns = ORIGIN_NS + (uint64_t)i * STEP_NS;
	}
}

static struct fixture *new_fixture(void)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct db_writer *writer;

	assert_non_null(f);
	strcpy(f->path, "/tmp/zreel-timeline-XXXXXX");
	close(mkstemp(f->path));
	unlink(f->path);
	assert_int_equal(db_open(f->path, DB_CREATE, &f->trace), ZR_OK);
	assert_int_equal(db_put_memcg(f->trace, &(struct db_memcg){ .id = 1, .path = "/job" }), ZR_OK);
	assert_int_equal(db_put_area(f->trace, &(struct db_area){ .path = "/s", .slots = SLOTS }), ZR_OK);
	assert_int_equal(db_writer_new(f->trace, &(struct db_writer_options){ 0 }, &writer), ZR_OK);
	make_events(f->events);
	for (uint32_t i = 0; i < EVENTS; i++)
		assert_int_equal(db_writer_add(writer, &f->events[i]), ZR_OK);
	assert_int_equal(db_writer_free(writer), ZR_OK);
	assert_int_equal(db_set_complete(f->trace), ZR_OK);
	return f;
}

static void free_fixture(struct fixture *f)
{
	assert_int_equal(db_close(f->trace), ZR_OK);
	unlink(f->path);
	free(f);
}

static void follow(struct fixture *f)
{
	struct play_timeline_options options = { .policies = policies, .n_policies = N_POLICIES };

	assert_int_equal(play_timeline(f->trace, &options, &f->timeline), ZR_OK);
}

static void take(void *arg, const struct play_figures *figures)
{
	struct play_figures *all = arg;

	all[figures->policy] = *figures;
}

static void bins_sum_up_to_a_replay(void **state)
{
	struct fixture *f = new_fixture();
	struct play_figures figures[N_POLICIES] = { 0 };
	struct play_options options = { .policies = policies, .n_policies = N_POLICIES,
					.figures = take, .figures_arg = figures };

	(void)state;
	follow(f);
	assert_int_equal(play_replay(f->trace, NULL, &options), ZR_OK);
	for (int lane = 0; lane < N_POLICIES; lane++) {
		const struct play_timeline_lane *it = &f->timeline.lanes[lane];
		struct play_lane_bin sum = { 0 };

		for (int bin = 0; bin < PLAY_BINS; bin++) {
			sum.write_pages += it->bins[bin].write_pages;
			sum.write_requests += it->bins[bin].write_requests;
			sum.disk_refaults += it->bins[bin].disk_refaults;
			sum.store_rejected += it->bins[bin].store_rejected;
		}
		assert_memory_equal(&it->counters, &figures[lane].counters, sizeof(it->counters));
		assert_memory_equal(&it->io, &figures[lane].io, sizeof(it->io));
		assert_int_equal(sum.write_pages, it->io.write_pages);
		assert_int_equal(sum.write_requests, it->io.write_requests);
		assert_int_equal(sum.disk_refaults, it->counters.disk_refaults);
		assert_int_equal(sum.store_rejected, it->counters.store_rejected);
		assert_true(sum.write_pages > 0 && sum.disk_refaults > 0);
	}
	assert_true(f->timeline.lanes[2].counters.store_rejected > 0);
	free_fixture(f);
}

static void each_event_is_in_the_bin_of_its_time(void **state)
{
	struct fixture *f = new_fixture();
	uint64_t span = (uint64_t)(EVENTS - 1) * STEP_NS;
	struct play_bin bins[PLAY_BINS] = { 0 };

	(void)state;
	follow(f);
	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct db_event *e = &f->events[i];
		uint32_t bin = 0;

		/* The last border at or before it; borders as fractions of the span. */
		while (bin < PLAY_BINS - 1 && (uint64_t)i * STEP_NS >= span * (bin + 1) / PLAY_BINS)
			bin++;
		bins[bin].out_pages += e->kind == DB_OUT && !(e->flags & DB_F_PART) ? 1u << e->order : 0;
		bins[bin].in_pages += e->kind == DB_IN;
		bins[bin].wb_pages += e->kind == DB_WB && e->flags == DB_WB_WRITTEN;
		bins[bin].gaps += e->kind == DB_GAP;
		bins[bin].lost_events += e->kind == DB_GAP ? 17 : 0;
	}
	assert_memory_equal(f->timeline.bins, bins, sizeof(bins));
	assert_int_equal(f->timeline.first_ns, ORIGIN_NS);
	assert_int_equal(play_timeline_border_ns(&f->timeline, PLAY_BINS), ORIGIN_NS + span);
	free_fixture(f);
}

static void request_sizes_sum_up_to_the_pages_written(void **state)
{
	struct fixture *f = new_fixture();

	(void)state;
	follow(f);
	for (int lane = 0; lane < N_POLICIES; lane++) {
		const struct play_timeline_lane *it = &f->timeline.lanes[lane];

		assert_int_equal(it->request_pages.count, it->io.write_requests);
		assert_true(it->request_pages.sum == (double)it->io.write_pages);
	}
	free_fixture(f);
}

static void the_map_has_each_slot_once(void **state)
{
	struct fixture *f = new_fixture();

	(void)state;
	follow(f);
	assert_int_equal(f->timeline.map_slots, SLOTS);
	for (int lane = 0; lane < N_POLICIES; lane++) {
		uint32_t slots[PLAY_SLOT_STATES] = { 0 }, all = 0;

		for (int cell = 0; cell < PLAY_MAP_CELLS; cell++)
			for (int s = 0; s < PLAY_SLOT_STATES; s++)
				slots[s] += f->timeline.lanes[lane].map[cell][s];
		for (int s = 0; s < PLAY_SLOT_STATES; s++)
			all += slots[s];
		assert_int_equal(all, SLOTS);
		assert_in_range(slots[SIM_SLOT_ZSWAP], 1, SLOTS - 1);
	}
	free_fixture(f);
}

/* A pool with pages in it, then everything freed: the map is of the time before. */
static void the_map_is_of_a_time_with_something_to_see(void **state)
{
	struct fixture *f = new_fixture();
	char path[80];
	struct db_writer *writer;
	struct play_timeline_options options = { .policies = policies, .n_policies = 1 };
	uint32_t in_zswap = 0;
	struct db *trace;

	(void)state;
	snprintf(path, sizeof(path), "%s-2", f->path);
	assert_int_equal(db_open(path, DB_CREATE, &trace), ZR_OK);
	assert_int_equal(db_put_area(trace, &(struct db_area){ .path = "/s", .slots = SLOTS }), ZR_OK);
	assert_int_equal(db_writer_new(trace, &(struct db_writer_options){ 0 }, &writer), ZR_OK);
	for (uint32_t i = 0; i < 120; i++) {
		struct db_event e = i < 60 ? event_out(i, 0, 900) : event_free(i - 60, 1);

		e.time_ns = (uint64_t)i * 1000000;
		assert_int_equal(db_writer_add(writer, &e), ZR_OK);
	}
	assert_int_equal(db_writer_free(writer), ZR_OK);
	assert_int_equal(play_timeline(trace, &options, &f->timeline), ZR_OK);
	for (int cell = 0; cell < PLAY_MAP_CELLS; cell++)
		in_zswap += f->timeline.lanes[0].map[cell][SIM_SLOT_ZSWAP];
	assert_in_range(in_zswap, 54, 60); /* all, to within a tenth */
	assert_in_range(f->timeline.map_ns, 53000000, 61000000);
	assert_int_equal(f->timeline.lanes[0].bins[PLAY_BINS - 1].pool_pages, 0);
	assert_int_equal(db_close(trace), ZR_OK);
	unlink(path);
	free_fixture(f);
}

static bool stop_at_once(void *arg, double done)
{
	(void)arg, (void)done;
	return false;
}

static void wrong_calls_are_refused(void **state)
{
	static const char *const unknown[] = { "batched+pool=300K", "nosuch" };
	struct fixture *f = new_fixture();
	struct play_timeline_options options = { .policies = unknown, .n_policies = 2 };

	(void)state;
	assert_int_equal(play_timeline(f->trace, &options, &f->timeline), ZR_BAD_POLICY);
	zr_error_clear();
	options.n_policies = 0;
	assert_int_equal(play_timeline(f->trace, &options, &f->timeline), ZR_USAGE);
	zr_error_clear();
	options.n_policies = PLAY_RACE_LANES + 1;
	assert_int_equal(play_timeline(f->trace, &options, &f->timeline), ZR_USAGE);
	zr_error_clear();
	options.n_policies = 1;
	options.progress = stop_at_once;
	assert_int_equal(play_timeline(f->trace, &options, &f->timeline), ZR_INTERRUPTED);
	zr_error_clear();
	free_fixture(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_sum_up_to_a_replay),
		cmocka_unit_test(each_event_is_in_the_bin_of_its_time),
		cmocka_unit_test(request_sizes_sum_up_to_the_pages_written),
		cmocka_unit_test(the_map_has_each_slot_once),
		cmocka_unit_test(the_map_is_of_a_time_with_something_to_see),
		cmocka_unit_test(wrong_calls_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
