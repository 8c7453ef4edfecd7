/* SPDX-License-Identifier: MIT */
/*
 * Speed of the model: events a second of CPU time of one policy, plan included. Usage:
 *
 *   model_bench [TRACE]                   the synthetic stream over 1 M and 8 M slots, decoding not included; then
 *                                         a trace, with it
 *   model_bench THOUSANDS [MILLIONS [POLICY]]   slots, events; the synthetic stream
 *
 * The stream: random slots; what is out comes back, what is in goes out; every 4096 events a scan of 128,
 * every 50th event a free. Lengths as a page that compresses to 300-3600 bytes. The batches are made
 * beforehand and fed round and round, so that making them costs nothing while the clock runs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "replayer/survey.h"
#include "replayer/swapio.h"

enum { BATCHES = 64, MEMCGS = 8 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct db_event make_event(uint64_t *random, uint64_t i, uint32_t slots, unsigned char *out)
{
	uint64_t word = next_random(random);
	uint32_t slot = (uint32_t)((word >> 32) * slots >> 32);
	struct db_event event = { .time_ns = i * 1000,
				  .slot = slot,
				  .memcg = (uint16_t)(slot % MEMCGS) };

	if (i % 4096 == 0) {
		event.kind = DB_SCAN;
		event.slot = 128;
	} else if (word % 50 == 0) {
		event.kind = DB_FREE;
		out[slot] = 0;
	} else if (out[slot]) {
		event.kind = DB_IN;
		out[slot] = 0;
	} else {
		event.kind = DB_OUT;
		event.len = (uint16_t)(300 + word % 3300);
		out[slot] = 1;
	}
	return event;
}

static struct db_batch *make_batches(struct zr_arena *arena, uint32_t slots, unsigned char *out)
{
	struct db_batch *batches = zr_arena_array(arena, BATCHES, sizeof(*batches));
	uint64_t random = 88172645463325252, i = 0;

	for (int b = 0; batches && b < BATCHES; b++) {
		if (db_batch_init(&batches[b], arena))
			return NULL;
		while (batches[b].n < DB_BATCH_EVENTS) {
			struct db_event event = make_event(&random, i++, slots, out);

			db_batch_add(&batches[b], &event);
		}
	}
	return batches;
}

/* All slots out, in order, so that the pool is full of live entries before the clock starts. */
static void fill(struct sim *sim, struct db_batch *batch, uint32_t slots, unsigned char *out)
{
	for (uint32_t slot = 0; slot < slots; slot++) {
		struct db_event event = { .kind = DB_OUT,
					  .slot = slot,
					  .len = (uint16_t)(300 + slot % 3300),
					  .memcg = (uint16_t)(slot % MEMCGS) };

		db_batch_add(batch, &event);
		out[slot] = 1;
		if (batch->n == DB_BATCH_EVENTS || slot + 1 == slots) {
			sim_feed(sim, batch, 0, batch->n);
			batch->n = 0;
		}
	}
}

static int report(const char *what)
{
	fprintf(stderr, "model_bench: %s: %s\n", what, zr_error_text());
	return 1;
}

static int bench_stream(uint32_t slots, uint64_t events, const struct sim_policy *policy)
{
	struct sim_machine machine = { .page_size = 4096, .mem_pages = (uint64_t)slots * 10,
				       .max_pool_percent = 50, .accept_threshold_percent = 90,
				       .n_memcgs = MEMCGS, .n_areas = 1, .area_slots = { slots } };
	struct zr_arena arena = { 0 };
	unsigned char *out = calloc(slots, 1);
	struct swapio *swapio = calloc(1, sizeof(*swapio));
	struct db_batch *batches, first;
	struct sim *sim;
	uint64_t done = 0;
	double start, seconds;

	if (!out || !swapio)
		return report("setting up");
	swapio_init(swapio, policy, machine.page_size, NULL);
	if (sim_new(policy, &machine, &swapio->sink, &sim) || db_batch_init(&first, &arena))
		return report("setting up");
	fill(sim, &first, slots, out);
	batches = make_batches(&arena, slots, out);
	if (!batches)
		return report("making the events");
	start = now_s();
	for (int b = 0; done < events; b = (b + 1) % BATCHES) {
		sim_feed(sim, &batches[b], 0, batches[b].n);
		done += batches[b].n;
	}
	seconds = now_s() - start;
	printf("%u slots, %llu in the pool, %.1f M events in %.3f s: %.1f M/s\n", slots,
	       (unsigned long long)sim_state(sim).entries, (double)done / 1e6, seconds,
	       (double)done / 1e6 / seconds);
	sim_free(sim);
	zr_arena_fini(&arena);
	free(swapio);
	free(out);
	return 0;
}

/* All events of the model's kinds, decoded and fed to one policy; checked and learnt from before the clock runs. */
static int bench_pass(struct db *db, const char *path, const struct sim_policy *policy)
{
	struct db_filter filter = { .kinds = SURVEY_DEMAND_KINDS };
	struct swapio *swapio = calloc(1, sizeof(*swapio));
	struct zr_arena arena = { 0 };
	struct survey_host *hosts;
	const struct db_batch *batch;
	struct db_reader *reader;
	struct sim *sim;
	uint64_t events = 0;
	double start, seconds;
	size_t n;

	if (!swapio || survey_trace(db, &arena, &hosts, &n))
		return report(path);
	filter.host = hosts[0].host;
	swapio_init(swapio, policy, hosts[0].machine.page_size, NULL);
	if (sim_new(policy, &hosts[0].machine, &swapio->sink, &sim) ||
	    db_reader_new(db, &filter, &reader))
		return report(path);
	start = now_s();
	while (!db_reader_next(reader, &batch) && batch) {
		sim_feed(sim, batch, 0, batch->n);
		events += batch->n;
	}
	seconds = now_s() - start;
	printf("%s: %.2f M events decoded and fed in %.3f s: %.1f M/s\n", path, (double)events / 1e6,
	       seconds, (double)events / 1e6 / seconds);
	db_reader_free(reader);
	sim_free(sim);
	zr_arena_fini(&arena);
	free(swapio);
	return 0;
}

/* A whole replay as `zreel replay` does it: the checking pass, then decoding and the model. */
static int bench_replay(struct db *db, const char *path, const char *policy)
{
	struct play_options options = { .policies = &policy, .n_policies = 1 };
	double start = now_s();

	if (play_replay(db, NULL, &options))
		return report(path);
	printf("%s: replayed, with the pass that checks and learns, in %.3f s\n", path, now_s() - start);
	return 0;
}

static int bench_trace(const char *path, const struct sim_policy *policy)
{
	struct db *db;

	if (db_open(path, DB_READ, &db) || bench_pass(db, path, policy) ||
	    bench_replay(db, path, policy->text))
		return report(path);
	return db_close(db) ? report(path) : 0;
}

int main(int argc, char **argv)
{
	char *end = NULL;
	unsigned long thousands = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
	bool sized = thousands && *end == '\0';
	struct sim_policy policy;
	int status;

	if (sim_policy_parse(sized && argc > 3 ? argv[3] : "unbatched", &policy))
		return report("reading the policy");
	if (sized)
		return bench_stream(1000 * (uint32_t)thousands,
				    1000000 * (argc > 2 ? strtoull(argv[2], NULL, 10) : 40), &policy);
	status = bench_stream(1000 * 1000, 40 * 1000000, &policy);
	if (!status)
		status = bench_stream(8 * 1000 * 1000, 40 * 1000000, &policy);
	if (!status && argc > 1)
		status = bench_trace(argv[1], &policy);
	return status;
}
