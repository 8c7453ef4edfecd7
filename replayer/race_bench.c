/* SPDX-License-Identifier: MIT */
/*
 * What a race of three policies costs, and how long going to any time takes: `race_bench FILE`.
 *
 * Ten times in random order; the longest counts, since it is what a user waits for. `race_bench
 * --make FILE MILLIONS SLOTS` writes a trace to try it on: runs of swap-outs over an area of so
 * many slots, two of three come back after a while, the shrinker scans now and then.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replayer/race.h"

static const char *const policies[] = { "unbatched", "batched", "plugged" };

enum { LANES = sizeof(policies) / sizeof(policies[0]), SEEKS = 10 };

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Both clocks, since a busy machine makes the one on the wall too slow, and threads make the other
 * too fast. */
struct took {
	double wall, cpu;
};

static struct took since(struct took begin)
{
	return (struct took){ now_s(CLOCK_MONOTONIC) - begin.wall,
			      now_s(CLOCK_PROCESS_CPUTIME_ID) - begin.cpu };
}

static uint32_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545f4914f6cdd1d >> 32);
}

/* --------------------------------------------------------------------------------------- making */

static enum zr_err describe(struct db *db, uint32_t slots)
{
	struct db_area area = { .path = "/dev/swap", .slots = slots };
	struct db_memcg memcg = { .id = 1, .cgroup_id = 7, .path = "/job" };
	struct db_task task = { .id = 1, .tid = 100, .tgid = 100, .comm = "" };
	enum zr_err err = db_env_set(db, 0, DB_ENV_PAGE_SIZE, "4096");

	/* The pool holds about a quarter of what is swapped out. */
	if (!err)
		err = db_env_setf(db, 0, DB_ENV_MEM_PAGES, "%u", slots / 2);
	if (!err)
		err = db_env_set(db, 0, DB_ENV_ZSWAP_PREFIX "max_pool_percent", "20");
	if (!err)
		err = db_env_set(db, 0, DB_ENV_ZSWAP_PREFIX "accept_threshold_percent", "90");
	if (!err)
		err = db_put_area(db, &area);
	if (!err)
		err = db_put_memcg(db, &memcg);
	return err ? err : db_put_task(db, &task);
}

static struct db_event next_event(uint64_t i, uint32_t slots, uint8_t *held, uint64_t *seed)
{
	struct db_event e = { .time_ns = 1'000'000'000 + i * 20'000, .memcg = 1, .task = 1 };
	uint32_t any = 1 + random_next(seed) % (slots - 1);

	if (i % 2000 == 1999) {
		e.kind = DB_SCAN;
		e.slot = 128;
	} else if (held[any] && i % 3) {
		held[any] = 0;
		e.slot = any;
		e.kind = i % 3 == 1 ? DB_IN : DB_FREE;
	} else {
		e.slot = 1 + (uint32_t)((i / 16 * 1021 + i % 16) % (slots - 1));
		e.kind = DB_OUT;
		e.len = (uint16_t)(500 + random_next(seed) % 2000);
		held[e.slot] = 1;
	}
	return e;
}

static enum zr_err fill(struct db *db, uint64_t events, uint32_t slots)
{
	struct db_writer_options options = { .flush_every_ns = UINT64_MAX / 2 };
	uint8_t *held = calloc(slots, 1);
	struct db_writer *writer;
	enum zr_err err = db_writer_new(db, &options, &writer), freed;
	uint64_t seed = 1;

	for (uint64_t i = 0; held && !err && i < events; i++) {
		struct db_event event = next_event(i, slots, held, &seed);

		err = db_writer_add(writer, &event);
	}
	free(held);
	freed = db_writer_free(writer);
	return err ? err : freed;
}

static enum zr_err make(const char *path, uint64_t millions, uint32_t slots)
{
	struct db *db;
	enum zr_err err = db_open(path, DB_CREATE, &db), closed;

	if (err)
		return err;
	err = db_set_bulk(db);
	if (!err)
		err = describe(db, slots);
	if (!err)
		err = fill(db, millions * 1'000'000, slots);
	if (!err)
		err = db_set_complete(db);
	closed = db_close(db);
	return err ? err : closed;
}

/* ------------------------------------------------------------------------------------ measuring */

static enum zr_err go(struct play_race *race, uint64_t time_ns)
{
	bool there = false;
	enum zr_err err = ZR_OK;

	play_race_seek(race, time_ns);
	while (!there && !err)
		err = play_race_advance(race, time_ns, 20'000, &there);
	return err;
}

static enum zr_err seek_about(struct play_race *race)
{
	uint64_t first = play_race_first_ns(race), span = play_race_end_ns(race) - first, seed = 3;
	struct took most = { 0 }, sum = { 0 };

	for (int i = 0; i < SEEKS; i++) {
		struct took took = since((struct took){ 0 });
		enum zr_err err = go(race, first + span / 1000 * (random_next(&seed) % 1000));

		if (err)
			return err;
		took = since(took);
		sum.wall += took.wall;
		sum.cpu += took.cpu;
		most.wall = took.wall > most.wall ? took.wall : most.wall;
		most.cpu = took.cpu > most.cpu ? took.cpu : most.cpu;
	}
	printf("%d seeks to random times: %.3f s on average, %.3f s at most; of CPU %.3f s, %.3f "
	       "s\n",
	       SEEKS, sum.wall / SEEKS, most.wall, sum.cpu / SEEKS, most.cpu);
	return ZR_OK;
}

static enum zr_err measure_race(struct play_race *race, struct took opened)
{
	struct took took = since((struct took){ 0 });
	enum zr_err err;

	printf("%" PRIu64 " events, %d lanes; opened in %.3f s, of CPU %.3f s\n",
	       play_race_events(race), LANES, opened.wall, opened.cpu);
	err = go(race, play_race_end_ns(race));
	took = since(took);
	printf("to the end, with images: %.3f s, of CPU %.3f s (%.1f M events x lanes a second)\n",
	       took.wall, took.cpu, (double)play_race_events(race) * LANES / took.cpu / 1e6);
	printf("%zu images in %.0f MiB, %.0f events apart\n", race->n_images,
	       (double)race->image_bytes / (1 << 20),
	       (double)play_race_events(race) / (double)race->n_images);
	return err ? err : seek_about(race);
}

static enum zr_err measure(const char *path)
{
	const struct play_race_options options = { .policies = policies, .n_policies = LANES };
	struct took begin = since((struct took){ 0 });
	struct play_race *race;
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db), closed;

	if (err)
		return err;
	err = play_race_new(db, &options, &race);
	if (!err) {
		err = measure_race(race, since(begin));
		play_race_free(race);
	}
	closed = db_close(db);
	return err ? err : closed;
}

int main(int argc, char **argv)
{
	enum zr_err err;

	if (argc == 5 && strcmp(argv[1], "--make") == 0)
		err = make(argv[2], strtoull(argv[3], NULL, 10),
			   (uint32_t)strtoul(argv[4], NULL, 10));
	else
		err = argc == 2 ? measure(argv[1])
				: zr_fail(ZR_USAGE,
					  "usage: race_bench FILE, or --make FILE MILLIONS SLOTS");
	if (err)
		fprintf(stderr, "race_bench: %s\n", zr_error_text());
	return (int)zr_err_class(err);
}
