/* SPDX-License-Identifier: MIT */
/*
 * How fast the chunk codec is, and how small its chunks are:
 *
 *   chunk_bench             over a synthetic mixture of events (seeded, the same everywhere)
 *   chunk_bench FILE.zr     over the events of a recording
 *
 * Every batch is encoded and decoded REPEAT times; the figures are CPU time of this thread.
 */
#include <stdio.h>
#include <time.h>

#include "db/chunk.h"

enum { REPEAT = 20, SYNTHETIC_BATCHES = 8, TASKS = 8, SLOTS = 1 << 18, CLUSTER = 512 };

struct bench {
	struct db_codec *codec;
	struct db_batch back;
	uint64_t events, bytes;
	double encode_s, decode_s;
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum zr_err measure(struct bench *bench, const struct db_batch *batch)
{
	const uint8_t *chunk;
	size_t bytes;
	double start = cpu_seconds(), middle;
	enum zr_err err = ZR_OK;

	for (int i = 0; i < REPEAT && !err; i++)
		err = db_chunk_encode(bench->codec, batch, &chunk, &bytes);
	middle = cpu_seconds();
	for (int i = 0; i < REPEAT && !err; i++)
		err = db_chunk_decode(bench->codec, "chunk", chunk, bytes, &bench->back);
	if (err)
		return err;
	bench->encode_s += middle - start;
	bench->decode_s += cpu_seconds() - middle;
	bench->events += batch->n;
	bench->bytes += bytes;
	return ZR_OK;
}

/* --------------------------------------------------------------------------------- the mixture */

struct mixture {
	uint64_t random, now_ns;
	uint32_t next_slot[TASKS]; /* each in a cluster of its own, as each CPU stores */
};

static uint64_t draw(struct mixture *mix, uint64_t below)
{
	mix->random ^= mix->random << 13;
	mix->random ^= mix->random >> 7;
	mix->random ^= mix->random << 17;
	return (mix->random >> 16) % below;
}

static struct db_event event_of(struct mixture *mix, enum db_kind kind, uint64_t task)
{
	mix->now_ns += 500 + draw(mix, 6000);
	return (struct db_event){
		.time_ns = mix->now_ns,
		.kind = (uint8_t)kind,
		.memcg = 1,
		.task = (uint32_t)task + 1,
	};
}

static void add_out(struct mixture *mix, struct db_batch *batch)
{
	uint64_t task = draw(mix, TASKS);
	struct db_event e = event_of(mix, DB_OUT, task);

	if (mix->next_slot[task] % CLUSTER == 0)
		mix->next_slot[task] = (uint32_t)draw(mix, SLOTS / CLUSTER) * CLUSTER;
	e.slot = mix->next_slot[task]++;
	e.len = (uint16_t)(600 + draw(mix, 1800));
	db_batch_add(batch, &e);
}

static void add_in(struct mixture *mix, struct db_batch *batch)
{
	uint64_t task = draw(mix, TASKS);
	struct db_event e = event_of(mix, DB_IN, task);

	e.slot = (uint32_t)draw(mix, SLOTS);
	e.flags = (uint8_t)(draw(mix, 4) == 0 ? DB_IN_DISK : DB_IN_ZSWAP);
	db_batch_add(batch, &e);
}

static void add_run(struct mixture *mix, struct db_batch *batch, enum db_kind kind)
{
	uint32_t slot = (uint32_t)draw(mix, SLOTS);
	uint64_t task = draw(mix, TASKS);

	for (uint64_t i = 0, run = 1 + draw(mix, 4); i < run; i++) {
		struct db_event e = event_of(mix, kind, task);

		e.slot = slot++;
		e.len = kind == DB_WB ? (uint16_t)(600 + draw(mix, 1800)) : 0;
		db_batch_add(batch, &e);
	}
}

/* Stores in slot order, refaults anywhere, runs of frees and writebacks: about the shares of a
 * small cgroup under pressure. */
static void mix_some(struct mixture *mix, struct db_batch *batch)
{
	uint64_t what = draw(mix, 10);

	if (what < 5)
		add_out(mix, batch);
	else if (what < 7)
		add_in(mix, batch);
	else
		add_run(mix, batch, what < 9 ? DB_FREE : DB_WB);
}

static enum zr_err bench_synthetic(struct bench *bench, struct db_batch *batch)
{
	struct mixture mix = { .random = 88172645463325252, .now_ns = 1000000000 };
	enum zr_err err = ZR_OK;

	for (int i = 0; i < SYNTHETIC_BATCHES && !err; i++) {
		batch->n = 0;
		while (batch->n + 4 <= DB_BATCH_EVENTS)
			mix_some(&mix, batch);
		err = measure(bench, batch);
	}
	return err;
}

static enum zr_err bench_file(struct bench *bench, const char *path)
{
	const struct db_batch *batch;
	struct db_reader *reader = NULL;
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db);

	if (err)
		return err;
	err = db_reader_new(db, NULL, &reader);
	while (!err && !(err = db_reader_next(reader, &batch)) && batch)
		err = measure(bench, batch);
	db_reader_free(reader);
	return db_close(db) ? ZR_DB : err;
}

int main(int argc, char **argv)
{
	struct zr_arena arena = { 0 };
	struct bench bench = { 0 };
	struct db_batch batch;
	enum zr_err err = db_codec_new(0, &bench.codec);

	if (!err)
		err = db_batch_init(&batch, &arena);
	if (!err)
		err = db_batch_init(&bench.back, &arena);
	if (!err)
		err = argc > 1 ? bench_file(&bench, argv[1]) : bench_synthetic(&bench, &batch);
	if (err || !bench.events)
		fprintf(stderr, "chunk_bench: %s\n", err ? zr_error_text() : "no events");
	else
		printf("%llu events: encode %.1f M/s, decode %.1f M/s, %.2f bytes/event\n",
		       (unsigned long long)bench.events,
		       1e-6 * REPEAT * (double)bench.events / bench.encode_s,
		       1e-6 * REPEAT * (double)bench.events / bench.decode_s,
		       (double)bench.bytes / (double)bench.events);
	db_codec_free(bench.codec);
	zr_arena_fini(&arena);
	return err ? zr_err_class(err) : bench.events ? 0 : 1;
}
