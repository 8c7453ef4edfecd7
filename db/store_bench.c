/* SPDX-License-Identifier: MIT */
/*
 * How small the events are, and how fast they are stored and read:
 *
 *   store_bench [-l LEVEL] [-u UNIT_NS] FILE.zr     the events of a recording
 *   store_bench [-l LEVEL] [-u UNIT_NS] EVENTS      that many of a synthetic mixture (seeded)
 *
 * Prints a row of the table of BENCH.md. Each batch is encoded and decoded by the codec and given
 * to a writer, whose file is then read back: one batch is in memory, whatever the number of events.
 * Encode and decode are CPU time of this thread, the best of three for each batch, since others
 * share the machine; write and read are time on the clock, through SQLite and the file system.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/chunk.h"

enum { REPEAT = 3, TASKS = 8, SLOTS = 1 << 18, CLUSTER = 512, SYNTHETIC = 1000000 };

struct mixture {
	uint64_t random, now_ns, left;
	uint32_t next_slot[TASKS]; /* each in a cluster of its own, as each CPU stores */
	struct db_event run;	   /* that is being added to, `run_left` times */
	uint64_t run_left;
};

/* Where events come from: a mixture, or a file. */
struct source {
	struct mixture mix;
	struct db *db;
	struct db_reader *reader;
	const struct db_batch *batch; /* of the reader, from `row` on not yet taken */
	uint32_t row;
};

struct bench {
	struct db_codec *codec;
	struct db_batch batch, back;
	struct db_writer *writer;
	uint64_t unit_ns, events, bytes;
	double encode_s, decode_s, write_s, read_s;
};

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---------------------------------------------------------------------------------- the mixture */

static uint64_t draw(struct mixture *mix, uint64_t below)
{
	mix->random ^= mix->random << 13;
	mix->random ^= mix->random >> 7;
	mix->random ^= mix->random << 17;
	return (mix->random >> 16) % below;
}

static struct db_event draw_out(struct mixture *mix)
{
	uint32_t task = (uint32_t)draw(mix, TASKS);

	if (mix->next_slot[task] % CLUSTER == 0)
		mix->next_slot[task] = (uint32_t)draw(mix, SLOTS / CLUSTER) * CLUSTER;
	return (struct db_event){ .kind = DB_OUT,
				  .task = task + 1,
				  .memcg = 1,
				  .slot = mix->next_slot[task]++,
				  .len = (uint16_t)(600 + draw(mix, 1800)) };
}

static struct db_event draw_in(struct mixture *mix)
{
	return (struct db_event){ .kind = DB_IN,
				  .task = (uint32_t)draw(mix, TASKS) + 1,
				  .memcg = 1,
				  .slot = (uint32_t)draw(mix, SLOTS),
				  .flags = draw(mix, 4) == 0 ? DB_IN_DISK : DB_IN_ZSWAP };
}

static struct db_event draw_run(struct mixture *mix, enum db_kind kind)
{
	mix->run_left = draw(mix, 4);
	mix->run = (struct db_event){ .kind = (uint8_t)kind,
				      .task = (uint32_t)draw(mix, TASKS) + 1,
				      .memcg = 1,
				      .slot = (uint32_t)draw(mix, SLOTS) };
	return mix->run;
}

/* Stores in slot order, refaults anywhere, runs of frees and writebacks: about the shares of a
 * small cgroup under pressure. */
static struct db_event draw_event(struct mixture *mix)
{
	uint64_t what = draw(mix, 10);

	if (mix->run_left) {
		mix->run_left--;
		mix->run.slot++;
		return mix->run;
	}
	if (what < 5)
		return draw_out(mix);
	if (what < 7)
		return draw_in(mix);
	return draw_run(mix, what < 9 ? DB_FREE : DB_WB);
}

static bool next_of_mixture(struct mixture *mix, struct db_event *event)
{
	if (!mix->left)
		return false;
	mix->left--;
	*event = draw_event(mix);
	mix->now_ns += 500 + draw(mix, 6000);
	event->time_ns = mix->now_ns;
	if (event->kind == DB_WB)
		event->len = (uint16_t)(600 + draw(mix, 1800));
	return true;
}

/* ----------------------------------------------------------------------------------- the source */

static enum zr_err next_of_file(struct source *source, struct db_event *event, bool *found)
{
	enum zr_err err = ZR_OK;

	if (!source->batch || source->row == source->batch->n) {
		err = db_reader_next(source->reader, &source->batch);
		source->row = 0;
	}
	*found = !err && source->batch;
	if (*found)
		*event = db_batch_event(source->batch, source->row++);
	return err;
}

static enum zr_err fill(struct bench *bench, struct source *source)
{
	enum zr_err err = ZR_OK;
	bool found = true;

	bench->batch.n = 0;
	while (!err && found && bench->batch.n < DB_BATCH_EVENTS) {
		struct db_event event;

		if (source->reader)
			err = next_of_file(source, &event, &found);
		else
			found = next_of_mixture(&source->mix, &event);
		if (err || !found)
			break;
		event.time_ns -= event.time_ns % bench->unit_ns;
		db_batch_add(&bench->batch, &event);
	}
	return err;
}

static enum zr_err open_source(struct source *source, const char *what)
{
	char *end;
	enum zr_err err;

	source->mix = (struct mixture){ .random = 88172645463325252, .now_ns = 1000000000 };
	source->mix.left = strtoull(what, &end, 10);
	if (!*end)
		return ZR_OK;
	err = db_open(what, DB_READ, &source->db);
	return err ? err : db_reader_new(source->db, NULL, &source->reader);
}

static void close_source(struct source *source)
{
	db_reader_free(source->reader);
	(void)!db_close(source->db);
}

/* ------------------------------------------------------------------------------------ measuring */

static enum zr_err measure_codec(struct bench *bench)
{
	double encode_s = 1e9, decode_s = 1e9;
	const uint8_t *chunk;
	size_t bytes = 0;
	enum zr_err err = ZR_OK;

	for (int i = 0; i < REPEAT && !err; i++) {
		double start = seconds(CLOCK_THREAD_CPUTIME_ID), middle, end;

		err = db_chunk_encode(bench->codec, &bench->batch, &chunk, &bytes);
		middle = seconds(CLOCK_THREAD_CPUTIME_ID);
		if (!err)
			err = db_chunk_decode(bench->codec, "chunk", chunk, bytes, &bench->back);
		end = seconds(CLOCK_THREAD_CPUTIME_ID);
		encode_s = middle - start < encode_s ? middle - start : encode_s;
		decode_s = end - middle < decode_s ? end - middle : decode_s;
	}
	bench->encode_s += encode_s;
	bench->decode_s += decode_s;
	bench->events += bench->batch.n;
	bench->bytes += bytes;
	return err;
}

static enum zr_err measure_writer(struct bench *bench)
{
	double start = seconds(CLOCK_MONOTONIC);
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; i < bench->batch.n && !err; i++) {
		struct db_event event = db_batch_event(&bench->batch, i);

		err = db_writer_add(bench->writer, &event);
	}
	bench->write_s += seconds(CLOCK_MONOTONIC) - start;
	return err;
}

static enum zr_err measure_batches(struct bench *bench, struct source *source)
{
	enum zr_err err;

	while (!(err = fill(bench, source)) && bench->batch.n && !err) {
		err = measure_codec(bench);
		if (!err)
			err = measure_writer(bench);
		if (err)
			break;
	}
	return err;
}

static enum zr_err measure_reader(struct bench *bench, const char *path)
{
	const struct db_batch *batch;
	struct db_reader *reader = NULL;
	double start = seconds(CLOCK_MONOTONIC);
	uint64_t events = 0;
	struct db *db;
	enum zr_err err = db_open(path, DB_READ, &db);

	if (err)
		return err;
	err = db_reader_new(db, NULL, &reader);
	while (!err && !(err = db_reader_next(reader, &batch)) && batch)
		events += batch->n;
	db_reader_free(reader);
	(void)!db_close(db);
	bench->read_s = seconds(CLOCK_MONOTONIC) - start;
	if (!err && events != bench->events)
		err = zr_fail(ZR_CORRUPT, "%llu events were written, %llu read",
			      (unsigned long long)bench->events, (unsigned long long)events);
	return err;
}

/* Chunks are full ones: what a recording of a busy host has, whatever the source's have. */
static enum zr_err measure_file(struct bench *bench, struct source *source, int level,
				const char *path)
{
	const struct db_writer_options options = { .zstd_level = level,
						   .flush_every_ns = UINT64_MAX };
	struct db *db;
	double start;
	enum zr_err closing, err = db_open(path, DB_CREATE, &db);

	if (err)
		return err;
	err = db_set_bulk(db);
	if (!err)
		err = db_writer_new(db, &options, &bench->writer);
	if (!err)
		err = measure_batches(bench, source);
	start = seconds(CLOCK_MONOTONIC);
	closing = db_writer_free(bench->writer);
	err = err ? err : closing;
	closing = db_close(db);
	bench->write_s += seconds(CLOCK_MONOTONIC) - start;
	return err ? err : closing;
}

static enum zr_err measure(struct bench *bench, struct source *source, int level)
{
	const char *base = getenv("TMPDIR");
	char folder[4000], path[4096];
	enum zr_err err;

	snprintf(folder, sizeof(folder), "%s/zreel-bench-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(folder))
		return zr_fail_errno(errno, "cannot make the folder %s", folder);
	snprintf(path, sizeof(path), "%s/bench.zr", folder);
	err = measure_file(bench, source, level, path);
	if (!err)
		err = measure_reader(bench, path);
	unlink(path);
	rmdir(folder);
	return err;
}

static void print_row(const struct bench *bench, const char *what, int level)
{
	double events = (double)bench->events;

	printf("| %s | %.0f | %s | %d | %.2f | %.1f | %.1f | %.1f | %.1f |\n", what, events,
	       bench->unit_ns == 1	? "ns"
	       : bench->unit_ns == 1000 ? "us"
					: "coarser",
	       level, (double)bench->bytes / events, 1e-6 * events / bench->encode_s,
	       1e-6 * events / bench->decode_s, 1e-6 * events / bench->write_s,
	       1e-6 * events / bench->read_s);
}

static enum zr_err run(struct bench *bench, const char *what, int level)
{
	struct zr_arena arena = { 0 };
	struct source source = { 0 };
	enum zr_err err = open_source(&source, what);

	if (!err)
		err = db_codec_new(level, &bench->codec);
	if (!err)
		err = db_batch_init(&bench->batch, &arena);
	if (!err)
		err = db_batch_init(&bench->back, &arena);
	if (!err)
		err = measure(bench, &source, level);
	if (!err && !bench->events)
		err = zr_fail(ZR_NO_DATA, "no events in %s", what);
	db_codec_free(bench->codec);
	close_source(&source);
	zr_arena_fini(&arena);
	return err;
}

int main(int argc, char **argv)
{
	struct bench bench = { .unit_ns = 1 };
	int level = 0, option;
	char what[4096];
	enum zr_err err;

	while ((option = getopt(argc, argv, "l:u:")) != -1) {
		if (option == 'l')
			level = atoi(optarg);
		else if (option == 'u' && atoi(optarg) > 0)
			bench.unit_ns = (uint64_t)atoi(optarg);
		else
			return ZR_CLASS_USAGE;
	}
	snprintf(what, sizeof(what), "%d", SYNTHETIC);
	err = run(&bench, optind < argc ? argv[optind] : what, level);
	if (err)
		fprintf(stderr, "store_bench: %s\n", zr_error_text());
	else
		print_row(&bench, optind < argc ? argv[optind] : what, level);
	return (int)zr_err_class(err);
}
