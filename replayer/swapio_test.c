/* SPDX-License-Identifier: MIT */
/*
 * The I/O plan: hand-made walks with the counts that the rules give, and random walks against an oracle
 * that works on the whole list of bios of a plug instead of step by step.
 */
#include "replayer/test_events.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/swapio.h"

static struct swapio *new_plan(const char *policy_text)
{
	struct swapio *swapio = calloc(1, sizeof(*swapio));
	struct sim_policy policy = policy_of(policy_text);

	assert_non_null(swapio);
	swapio_init(swapio, &policy, 4096, NULL);
	return swapio;
}

static void begin(struct swapio *swapio, enum sim_walk kind)
{
	swapio->sink.walk_begin(&swapio->sink, kind, 0);
}

static void end(struct swapio *swapio)
{
	swapio->sink.walk_end(&swapio->sink);
}

static void write_folio(struct swapio *swapio, struct sim_write write)
{
	write.pages = write.pages ? write.pages : 1;
	swapio->sink.write(&swapio->sink, &write);
}

/* One walk over these slots, ended by -1. */
static struct play_io plan(const char *policy, enum sim_walk kind, const int *slots)
{
	struct swapio *swapio = new_plan(policy);
	struct play_io io;

	begin(swapio, kind);
	for (; *slots >= 0; slots++)
		write_folio(swapio, (struct sim_write){ .slot = (uint32_t)*slots });
	end(swapio);
	io = swapio->io;
	free(swapio);
	return io;
}

#define EXPECT(io, contexts, bios, requests, merges)                                                   \
	do {                                                                                           \
		assert_int_equal((io).write_contexts, contexts);                                       \
		assert_int_equal((io).write_bios, bios);                                               \
		assert_int_equal((io).write_requests, requests);                                       \
		assert_int_equal((io).write_merges, merges);                                           \
	} while (0)

static void adjacent_folios_join_only_when_batched(void **state)
{
	static const int run[] = { 10, 11, 12, 14, 15, 13, -1 };

	(void)state;
	EXPECT(plan("unbatched", SIM_WALK_SHRINKER, run), 6, 6, 6, 0);
	EXPECT(plan("batched", SIM_WALK_SHRINKER, run), 3, 3, 3, 0);
}

static void a_plug_merges_at_both_ends_of_the_newest_request_only(void **state)
{
	static const int back[] = { 10, 11, 12, -1 }, front[] = { 12, 11, 10, -1 };
	static const int apart[] = { 10, 20, 11, 21, -1 }, swapped[] = { 2, 1, 4, 3, 6, 5, -1 };

	(void)state;
	EXPECT(plan("plug-only", SIM_WALK_WORKER, back), 3, 3, 1, 2);
	EXPECT(plan("plug-only", SIM_WALK_WORKER, front), 3, 3, 1, 2);
	EXPECT(plan("plug-only", SIM_WALK_WORKER, apart), 4, 4, 4, 0);
	EXPECT(plan("plug-only", SIM_WALK_WORKER, swapped), 6, 6, 3, 3);
	EXPECT(plan("plugged", SIM_WALK_WORKER, front), 3, 3, 1, 2);
}

static void a_context_holds_no_more_than_its_batch(void **state)
{
	int run[101];

	(void)state;
	for (int i = 0; i < 100; i++)
		run[i] = 500 + i;
	run[100] = -1;
	EXPECT(plan("batched", SIM_WALK_SHRINKER, run), 4, 4, 4, 0);
	EXPECT(plan("batched+batch=7", SIM_WALK_SHRINKER, run), 15, 15, 15, 0);
	/* 128 KiB in the oldest request flushes the plug, but first the merge is tried. */
	EXPECT(plan("plugged", SIM_WALK_SHRINKER, run), 4, 4, 1, 3);
}

static void the_histogram_is_told_each_request_as_it_leaves(void **state)
{
	static const int slots[] = { 10, 11, 12, 14, 13, 20 };
	struct swapio *swapio = new_plan("plugged");
	struct zr_hist *sizes = calloc(1, sizeof(*sizes));

	(void)state;
	assert_non_null(sizes);
	swapio->request_pages = sizes;
	begin(swapio, SIM_WALK_WORKER);
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		write_folio(swapio, (struct sim_write){ .slot = (uint32_t)slots[i] });
	assert_int_equal(sizes->count, 0); /* all are in the plug */
	end(swapio);
	/* 10-12, then 14 with 13 merged at its front, then 20. */
	assert_int_equal(sizes->count, 3);
	assert_int_equal(sizes->bucket[1], 1);
	assert_int_equal(sizes->bucket[2], 1);
	assert_int_equal(sizes->bucket[3], 1);
	free(sizes);
	free(swapio);
}

static void another_memcg_or_area_breaks_the_run(void **state)
{
	struct swapio *swapio = new_plan("plugged");

	(void)state;
	begin(swapio, SIM_WALK_SHRINKER);
	write_folio(swapio, (struct sim_write){ .slot = 1, .memcg = 1 });
	write_folio(swapio, (struct sim_write){ .slot = 2, .memcg = 2 });
	write_folio(swapio, (struct sim_write){ .slot = 3, .memcg = 2, .area = 1 });
	end(swapio);
	EXPECT(swapio->io, 3, 3, 3, 0);
	free(swapio);
}

static void nothing_joins_across_walks(void **state)
{
	struct swapio *swapio = new_plan("plugged");

	(void)state;
	for (uint32_t slot = 0; slot < 4; slot++) {
		begin(swapio, SIM_WALK_SHRINKER);
		write_folio(swapio, (struct sim_write){ .slot = slot });
		end(swapio);
	}
	EXPECT(swapio->io, 4, 4, 4, 0);
	free(swapio);
}

/* Over one queue a flush changes no count, since what it sends is no longer the newest anyway. Over two, an
 * old request of the bio's queue can be merged with as long as it is there. */
static void a_plug_over_two_queues_is_flushed_at_64_requests(void **state)
{
	struct swapio *swapio = new_plan("plug-only");

	(void)state;
	begin(swapio, SIM_WALK_SHRINKER);
	write_folio(swapio, (struct sim_write){ .slot = 10 });
	for (uint32_t i = 0; i < 63; i++)
		write_folio(swapio, (struct sim_write){ .slot = 100 + 2 * i, .area = 1 });
	write_folio(swapio, (struct sim_write){ .slot = 11 }); /* merged before the plug is looked at */
	write_folio(swapio, (struct sim_write){ .slot = 900, .area = 1 }); /* flushes */
	write_folio(swapio, (struct sim_write){ .slot = 12 });
	end(swapio);
	EXPECT(swapio->io, 67, 67, 66, 1);
	free(swapio);
}

static void a_plug_is_flushed_when_its_oldest_request_has_128_kib(void **state)
{
	static const uint32_t first_pages[] = { 31, 32 }, merges[] = { 31, 31 }, requests[] = { 2, 3 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct swapio *swapio = new_plan("plug-only");

		begin(swapio, SIM_WALK_SHRINKER);
		for (uint32_t slot = 0; slot < first_pages[i]; slot++)
			write_folio(swapio, (struct sim_write){ .slot = slot });
		write_folio(swapio, (struct sim_write){ .slot = 500, .area = 1 });
		write_folio(swapio, (struct sim_write){ .slot = first_pages[i] });
		end(swapio);
		EXPECT(swapio->io, first_pages[i] + 2, first_pages[i] + 2, requests[i], merges[i]);
		free(swapio);
	}
}

/* Area 0 grows to 100 pages; 32 more do not fit; after that not even one is tried. */
static void a_request_that_met_its_limit_is_not_tried_again(void **state)
{
	struct swapio *swapio = new_plan("plugged");

	(void)state;
	begin(swapio, SIM_WALK_SHRINKER);
	write_folio(swapio, (struct sim_write){ .slot = 1, .area = 1 });
	for (uint32_t slot = 10; slot < 110; slot++)
		write_folio(swapio, (struct sim_write){ .slot = slot });
	write_folio(swapio, (struct sim_write){ .slot = 300, .area = 1 });
	for (uint32_t slot = 110; slot < 142; slot++)
		write_folio(swapio, (struct sim_write){ .slot = slot });
	write_folio(swapio, (struct sim_write){ .slot = 400, .area = 1 });
	write_folio(swapio, (struct sim_write){ .slot = 9 });
	end(swapio);
	EXPECT(swapio->io, 9, 9, 6, 3);
	free(swapio);
}

static void a_merged_request_stays_within_128_segments(void **state)
{
	int run[201];

	(void)state;
	for (int i = 0; i < 200; i++)
		run[i] = i;
	run[200] = -1;
	EXPECT(plan("plug-only", SIM_WALK_SHRINKER, run), 200, 200, 2, 198);
}

static void a_folio_larger_than_a_request_is_cut(void **state)
{
	struct swapio *swapio = new_plan("unbatched");

	(void)state;
	begin(swapio, SIM_WALK_DIRECT);
	write_folio(swapio, (struct sim_write){ .slot = 512, .pages = 512 });
	end(swapio);
	EXPECT(swapio->io, 1, 2, 2, 0); /* 1280 KiB and 768 KiB */
	assert_int_equal(swapio->io.write_pages, 512);
	free(swapio);
}

static void direct_and_store_path_writes_are_plugged_whatever_the_policy(void **state)
{
	static const int down[] = { 9, 8, 7, -1 }, up[] = { 7, 8, 9, -1 };

	(void)state;
	EXPECT(plan("unbatched", SIM_WALK_DIRECT, up), 1, 1, 1, 0);
	EXPECT(plan("unbatched", SIM_WALK_DIRECT, down), 3, 3, 1, 2);
	EXPECT(plan("unbatched", SIM_WALK_STORE, up), 3, 3, 1, 2);
}

static void a_walk_inside_a_direct_run_leaves_the_run_alone(void **state)
{
	struct swapio *swapio = new_plan("unbatched");

	(void)state;
	begin(swapio, SIM_WALK_DIRECT);
	write_folio(swapio, (struct sim_write){ .slot = 1 });
	begin(swapio, SIM_WALK_WORKER);
	write_folio(swapio, (struct sim_write){ .slot = 50 });
	write_folio(swapio, (struct sim_write){ .slot = 51 });
	end(swapio);
	write_folio(swapio, (struct sim_write){ .slot = 2 });
	end(swapio);
	EXPECT(swapio->io, 3, 3, 3, 0);
	free(swapio);
}

static void a_read_of_a_pending_slot_ends_the_run(void **state)
{
	struct swapio *swapio = new_plan("unbatched");

	(void)state;
	begin(swapio, SIM_WALK_DIRECT);
	write_folio(swapio, (struct sim_write){ .slot = 1 });
	swapio->sink.read(&swapio->sink, 0, 0, 77, 0);
	write_folio(swapio, (struct sim_write){ .slot = 2 });
	swapio->sink.read(&swapio->sink, 0, 0, 2, 0);
	write_folio(swapio, (struct sim_write){ .slot = 3 });
	end(swapio);
	EXPECT(swapio->io, 2, 2, 2, 0);
	assert_int_equal(swapio->io.read_requests, 2);
	assert_int_equal(swapio->io.read_pages, 2);
	free(swapio);
}

static void mq_deadline_lets_the_requests_of_a_plug_meet(void **state)
{
	static const int apart[] = { 10, 20, 11, 21, -1 }, chain[] = { 10, 12, 11, -1 };
	static const int downward[] = { 30, 20, 31, 19, -1 };

	(void)state;
	EXPECT(plan("plug-only+sched=mq-deadline", SIM_WALK_WORKER, apart), 4, 4, 2, 2);
	/* 12 stays alone: what it could be put behind comes after it. */
	EXPECT(plan("plug-only+sched=mq-deadline", SIM_WALK_WORKER, chain), 3, 3, 1, 2);
	EXPECT(plan("plug-only+sched=mq-deadline", SIM_WALK_WORKER, downward), 4, 4, 3, 1);
	/* Without a plug each is on the device before the next comes. */
	EXPECT(plan("unbatched+sched=mq-deadline", SIM_WALK_WORKER, apart), 4, 4, 4, 0);
}

static void nomerges_takes_the_merging_away_in_two_steps(void **state)
{
	static const int run[] = { 10, 11, 12, -1 }, apart[] = { 10, 20, 11, 21, -1 };

	(void)state;
	EXPECT(plan("plug-only+nomerges=1", SIM_WALK_WORKER, run), 3, 3, 1, 2);
	EXPECT(plan("plug-only+nomerges=2", SIM_WALK_WORKER, run), 3, 3, 3, 0);
	/* The one try is with the request that was there first: 10 takes 11, nobody 21. */
	EXPECT(plan("plug-only+nomerges=1+sched=mq-deadline", SIM_WALK_WORKER, apart), 4, 4, 3, 1);
	EXPECT(plan("plug-only+nomerges=2+sched=mq-deadline", SIM_WALK_WORKER, apart), 4, 4, 4, 0);
	EXPECT(plan("plugged+nomerges=2", SIM_WALK_WORKER, run), 1, 1, 1,
	       0); /* no merge: one I/O */
}

enum { PLUG = 30 };

/* Requests of one page each; requests[i] is the place of the one that i has joined, or i. From the rules, by
 * following each page to the request that it ended up in. */
static int deadline_oracle(const int *slots, int n)
{
	int first[PLUG], last[PLUG], left = 0, newest = -1;

	for (int i = 0; i < n; i++) {
		int at = i;

		first[i] = last[i] = slots[i];
		if (newest >= 0 && last[newest] + 1 == slots[i]) {
			last[newest]++;
			first[i] = -9; /* gone */
			continue;
		}
		for (int found = 0; found >= 0;) {
			found = -1;
			for (int j = 0; j <= i && found < 0; j++)
				if (j != at && first[j] >= 0 && last[j] + 1 == first[at])
					found = j;
			if (found < 0)
				break;
			last[found] = last[at];
			first[at] = -9;
			at = newest = found;
		}
		if (newest < 0)
			newest = i;
	}
	for (int i = 0; i < n; i++)
		left += first[i] >= 0;
	return left;
}

static void mq_deadline_agrees_with_the_oracle_on_shuffled_slots(void **state)
{
	uint64_t random = 31337;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		int slots[PLUG + 1], n = 0, left;
		struct play_io io;

		for (int slot = 2; n < PLUG; slot += 1 + (random_below(&random, 4) == 0))
			slots[n++] = 10 * slot; /* never adjacent for the plug */
		for (int i = n - 1; i > 0; i--) {
			int j = (int)random_below(&random, (uint32_t)i + 1), slot = slots[i];

			slots[i] = slots[j];
			slots[j] = slot;
		}
		for (int i = 0; i < n; i++)
			slots[i] /= 10;
		for (int i = 1; i < n; i++) /* what the plug would merge by itself is thinned out */
			if (slots[i] == slots[i - 1] + 1 || slots[i] == slots[i - 1] - 1)
				slots[i] = 1000 + 3 * i;
		slots[n] = -1;
		left = deadline_oracle(slots, n);
		io = plan("plug-only+sched=mq-deadline", SIM_WALK_WORKER, slots);
		assert_int_equal(io.write_bios, n);
		assert_int_equal(io.write_requests, left);
		assert_int_equal(io.write_merges, n - left);
	}
}

static void tasks_that_take_turns_keep_their_runs(void **state)
{
	struct swapio *swapio = new_plan("unbatched");

	(void)state;
	swapio_follow_tasks(swapio);
	for (uint32_t i = 0; i < 6; i++) {
		begin(swapio, SIM_WALK_DIRECT);
		write_folio(swapio, (struct sim_write){ .slot = (i & 1 ? 100 : 10) + i / 2,
							.task = i & 1 });
		end(swapio);
	}
	assert_int_equal(swapio->io.write_contexts, 0);
	swapio->sink.task_done(&swapio->sink, 0);
	EXPECT(swapio->io, 1, 1, 1, 0);
	swapio->sink.task_done(&swapio->sink, 1);
	EXPECT(swapio->io, 2, 2, 2, 0);
	swapio->sink.task_done(&swapio->sink, 7); /* has none */
	EXPECT(swapio->io, 2, 2, 2, 0);
	free(swapio);
}

static void more_tasks_than_there_is_room_for_lose_their_runs_only(void **state)
{
	struct swapio *swapio = new_plan("unbatched+direct_batch=off");

	(void)state;
	swapio_follow_tasks(swapio);
	for (uint32_t task = 0; task < 3 * SWAPIO_TASKS; task++) {
		begin(swapio, SIM_WALK_DIRECT);
		write_folio(swapio, (struct sim_write){ .slot = 10 * task, .task = task });
		write_folio(swapio, (struct sim_write){ .slot = 10 * task + 1, .task = task });
		end(swapio);
	}
	for (uint32_t task = 0; task < 3 * SWAPIO_TASKS; task++)
		swapio->sink.task_done(&swapio->sink, task);
	EXPECT(swapio->io, 6 * SWAPIO_TASKS, 6 * SWAPIO_TASKS, 3 * SWAPIO_TASKS, 3 * SWAPIO_TASKS);
	free(swapio);
}

static void a_plug_over_two_queues_looks_for_the_oldest_of_the_bios_queue(void **state)
{
	struct swapio *swapio = new_plan("plug-only");

	(void)state;
	begin(swapio, SIM_WALK_SHRINKER);
	write_folio(swapio, (struct sim_write){ .slot = 10, .area = 0 });
	write_folio(swapio, (struct sim_write){ .slot = 20, .area = 1 });
	write_folio(swapio, (struct sim_write){ .slot = 11, .area = 0 }); /* with slot 10 */
	write_folio(swapio, (struct sim_write){ .slot = 30, .area = 0 }); /* a third request */
	write_folio(swapio,
		    (struct sim_write){ .slot = 31, .area = 0 }); /* the newest is its queue's */
	write_folio(swapio, (struct sim_write){ .slot = 21, .area = 1 }); /* with slot 20 */
	write_folio(swapio, (struct sim_write){ .slot = 40, .area = 1 });
	write_folio(swapio,
		    (struct sim_write){ .slot = 32, .area = 0 }); /* oldest of area 0 ends at 12 */
	end(swapio);
	EXPECT(swapio->io, 8, 8, 5, 3);
	free(swapio);
}

/* ------------------------------------------------------------------------------------------ oracle */

enum { WALK_MAX = 160 };

struct o_bio {
	uint32_t start, pages, segments;
	int memcg;
};

/* Contexts by looking at neighbours: folio i begins one unless it follows folio i - 1 within the batch. */
static uint32_t o_bios(const struct sim_write *folios, uint32_t n, uint32_t batch, struct o_bio *bios)
{
	uint32_t n_bios = 0, in_context = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool joins = i && in_context < batch && folios[i].slot == folios[i - 1].slot + 1 &&
			     folios[i].memcg == folios[i - 1].memcg;

		if (!joins) {
			bios[n_bios++] =
				(struct o_bio){ .start = folios[i].slot, .memcg = folios[i].memcg };
			in_context = 0;
		}
		bios[n_bios - 1].pages++;
		bios[n_bios - 1].segments++;
		in_context++;
	}
	return n_bios;
}

/* Requests of a plug over the list of bios; `held` are those since the last flush. */
static uint32_t o_requests(const struct o_bio *bios, uint32_t n)
{
	struct o_bio requests[WALK_MAX];
	bool closed[WALK_MAX] = { false };
	uint32_t n_requests = 0, held_from = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct o_bio *last = n_requests > held_from ? &requests[n_requests - 1] : NULL;
		bool touches = last && last->memcg == bios[i].memcg && !closed[n_requests - 1] &&
			       (last->start + last->pages == bios[i].start ||
				bios[i].start + bios[i].pages == last->start);

		if (touches && last->segments + bios[i].segments <= 128 &&
		    last->pages + bios[i].pages <= 320) {
			last->start = last->start < bios[i].start ? last->start : bios[i].start;
			last->pages += bios[i].pages;
			last->segments += bios[i].segments;
			continue;
		}
		if (touches)
			closed[n_requests - 1] = true;
		if (n_requests - held_from == 32 || (last && requests[held_from].pages >= 32))
			held_from = n_requests;
		requests[n_requests++] = bios[i];
	}
	return n_requests;
}

static uint32_t random_walk(uint64_t *random, struct sim_write *folios)
{
	uint32_t n = 1 + random_below(random, WALK_MAX - 1), slot = 1000,
		 run = 3 + random_below(random, 40);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t what = random_below(random, run);

		/* Mostly runs up, some down, jumps, other memcgs. */
		slot = what == 0 ? 100 + random_below(random, 3000) : what == 1 ? slot - 1 : slot + 1;
		folios[i] = (struct sim_write){ .slot = slot,
						.pages = 1,
						.memcg = (uint16_t)(random_below(random, 60) == 0) };
	}
	return n;
}

static void plan_agrees_with_the_oracle_on_random_walks(void **state)
{
	static const char *const policies[] = { "unbatched", "batched",		"plug-only",
						"plugged",   "plugged+batch=5", "batched+batch=100" };
	static const uint32_t batches[] = { 1, 32, 1, 32, 5, 100 };
	uint64_t random = 77;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t p = (size_t)round % 6;
		struct swapio *swapio = new_plan(policies[p]);
		struct sim_write folios[WALK_MAX];
		struct o_bio bios[WALK_MAX];
		uint32_t n = random_walk(&random, folios);
		uint32_t n_bios = o_bios(folios, n, batches[p], bios);
		uint32_t n_requests = strstr(policies[p], "plug") ? o_requests(bios, n_bios) : n_bios;

		begin(swapio, SIM_WALK_SHRINKER);
		for (uint32_t i = 0; i < n; i++)
			write_folio(swapio, folios[i]);
		end(swapio);
		EXPECT(swapio->io, n_bios, n_bios, n_requests, n_bios - n_requests);
		assert_int_equal(swapio->io.write_pages, n);
		free(swapio);
	}
}

/* ------------------------------------------------------------------------------------------ target */

struct recorder {
	struct swapio_target target; /* first */
	uint32_t bios, kicks, pages, most_at_once, since_kick;
	bool refuses; /* sends early before every bio */
};

static bool on_bio(struct swapio_target *target, const struct swapio_bio *bio)
{
	struct recorder *recorder = (struct recorder *)target;

	for (uint32_t i = 0; bio->folios && i < bio->pages; i++)
		assert_int_equal(bio->folios[i].slot, bio->slot + i);
	recorder->bios++;
	recorder->pages += bio->pages;
	recorder->since_kick++;
	return recorder->refuses;
}

static void on_kick(struct swapio_target *target, enum swapio_context_id context)
{
	struct recorder *recorder = (struct recorder *)target;

	(void)context;
	if (recorder->since_kick > recorder->most_at_once)
		recorder->most_at_once = recorder->since_kick;
	recorder->kicks++;
	recorder->since_kick = 0;
}

static struct recorder carry_out(const char *policy_text, bool refuses, struct play_io *io)
{
	struct recorder recorder = { .target = { .bio = on_bio, .kick = on_kick }, .refuses = refuses };
	struct sim_policy policy = policy_of(policy_text);
	struct swapio *swapio = new_plan(policy_text);

	swapio_init(swapio, &policy, 4096, &recorder.target);
	for (int walk = 0; walk < 2; walk++) {
		begin(swapio, SIM_WALK_SHRINKER);
		for (uint32_t i = 0; i < 10; i++)
			write_folio(swapio, (struct sim_write){ .slot = 100 + i + i / 5 });
		end(swapio);
	}
	*io = swapio->io;
	free(swapio);
	return recorder;
}

static void a_target_gets_each_bio_and_a_kick_where_they_leave(void **state)
{
	static const struct {
		const char *policy;
		uint32_t bios, kicks, at_once;
	} want[] = { { "unbatched", 20, 20, 1 },
		     { "batched", 4, 4, 1 },
		     { "plug-only", 20, 2, 10 },
		     { "plugged", 4, 2, 2 } };
	struct play_io io;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct recorder got = carry_out(want[i].policy, false, &io);

		assert_int_equal(got.bios, want[i].bios);
		assert_int_equal(got.kicks, want[i].kicks);
		assert_int_equal(got.most_at_once, want[i].at_once);
		assert_int_equal(got.pages, 20);
		assert_int_equal(io.write_bios, got.bios);
	}
}

/* A long direct run does not wait for its end: each flush of reclaim's plug sends what it holds. */
static void a_long_direct_run_is_sent_at_each_flush_of_the_plug(void **state)
{
	struct recorder recorder = { .target = { .bio = on_bio, .kick = on_kick } };
	struct sim_policy policy = policy_of("unbatched");
	struct swapio *swapio = new_plan("unbatched");

	(void)state;
	swapio_init(swapio, &policy, 4096, &recorder.target);
	begin(swapio, SIM_WALK_DIRECT);
	for (uint32_t i = 0; i < 100; i++)
		write_folio(swapio, (struct sim_write){ .slot = 2 * i });
	end(swapio);
	assert_int_equal(recorder.bios, 100);
	assert_int_equal(recorder.most_at_once, 32);
	assert_int_equal(recorder.kicks, 4);
	free(swapio);
}

static void bios_that_a_target_sends_early_are_not_merged_with(void **state)
{
	struct play_io io;

	(void)state;
	carry_out("plug-only", true, &io);
	assert_int_equal(io.write_requests, 20);
	assert_int_equal(io.write_merges, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjacent_folios_join_only_when_batched),
		cmocka_unit_test(a_plug_merges_at_both_ends_of_the_newest_request_only),
		cmocka_unit_test(a_context_holds_no_more_than_its_batch),
		cmocka_unit_test(the_histogram_is_told_each_request_as_it_leaves),
		cmocka_unit_test(another_memcg_or_area_breaks_the_run),
		cmocka_unit_test(nothing_joins_across_walks),
		cmocka_unit_test(a_plug_over_two_queues_is_flushed_at_64_requests),
		cmocka_unit_test(a_plug_is_flushed_when_its_oldest_request_has_128_kib),
		cmocka_unit_test(a_request_that_met_its_limit_is_not_tried_again),
		cmocka_unit_test(a_merged_request_stays_within_128_segments),
		cmocka_unit_test(a_folio_larger_than_a_request_is_cut),
		cmocka_unit_test(direct_and_store_path_writes_are_plugged_whatever_the_policy),
		cmocka_unit_test(a_walk_inside_a_direct_run_leaves_the_run_alone),
		cmocka_unit_test(a_read_of_a_pending_slot_ends_the_run),
		cmocka_unit_test(mq_deadline_lets_the_requests_of_a_plug_meet),
		cmocka_unit_test(nomerges_takes_the_merging_away_in_two_steps),
		cmocka_unit_test(mq_deadline_agrees_with_the_oracle_on_shuffled_slots),
		cmocka_unit_test(tasks_that_take_turns_keep_their_runs),
		cmocka_unit_test(more_tasks_than_there_is_room_for_lose_their_runs_only),
		cmocka_unit_test(a_plug_over_two_queues_looks_for_the_oldest_of_the_bios_queue),
		cmocka_unit_test(plan_agrees_with_the_oracle_on_random_walks),
		cmocka_unit_test(a_target_gets_each_bio_and_a_kick_where_they_leave),
		cmocka_unit_test(a_long_direct_run_is_sent_at_each_flush_of_the_plug),
		cmocka_unit_test(bios_that_a_target_sends_early_are_not_merged_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
