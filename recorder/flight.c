/* SPDX-License-Identifier: MIT */
/* The flight recorder; see flight.h. */
#include "recorder/flight.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
	EVENT_BYTES = sizeof(struct db_event),
	PLAIN_BYTES = REC_FLIGHT_CHUNK * EVENT_BYTES,
	LEVEL = 1,
	SAMPLE_BYTES = 24,
};

struct chunk {
	uint64_t first_ns, last_ns;
	void *data;
	uint32_t bytes, n;
};

struct sample {
	uint64_t time_ns;
	double value;
	uint32_t counter; /* index */
};

struct counter {
	char *source, *name;
};

/* A ring that grows: items [head, n) of an array, closed up when half of it is behind. */
struct list {
	void *items;
	size_t head, n, room;
};

struct rec_flight {
	uint64_t span_ns, most_bytes;
	struct db_event open[REC_FLIGHT_CHUNK];
	uint32_t n_open;
	struct list chunks, samples, counters, memcgs, tasks, areas;
	struct rec_flight_stats stats;
	uint64_t sample_bytes;
	unsigned char *plain, *packed;
	ZSTD_CCtx *zstd;
};

/* ---------------------------------------------------------------------------------------- lists */

static void *add(struct list *list, size_t size)
{
	char *items;

	if (list->head > list->n / 2) {
		list->n -= list->head;
		memmove(list->items, (char *)list->items + list->head * size, list->n * size);
		list->head = 0;
	}
	if (list->n == list->room) {
		size_t room = list->room ? list->room * 2 : 64;

		items = realloc(list->items, room * size);
		if (!items)
			return NULL;
		list->items = items;
		list->room = room;
	}
	return (char *)list->items + list->n++ * size;
}

static enum zr_err no_memory(void)
{
	return zr_fail(ZR_NOMEM, "no memory to keep the last minutes in");
}

/* ----------------------------------------------------------------------------------------- life */

enum zr_err rec_flight_new(uint64_t span_ns, uint64_t most_bytes, struct rec_flight **out)
{
	struct rec_flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return no_memory();
	flight->span_ns = span_ns;
	flight->most_bytes = most_bytes;
	flight->plain = malloc(PLAIN_BYTES);
	flight->packed = malloc(ZSTD_compressBound(PLAIN_BYTES));
	flight->zstd = ZSTD_createCCtx();
	if (!flight->plain || !flight->packed || !flight->zstd) {
		rec_flight_free(flight);
		return no_memory();
	}
	*out = flight;
	return ZR_OK;
}

static void drop_oldest_chunk(struct rec_flight *flight)
{
	struct chunk *chunk = (struct chunk *)flight->chunks.items + flight->chunks.head++;

	flight->stats.bytes -= chunk->bytes;
	flight->stats.events -= chunk->n;
	free(chunk->data);
}

void rec_flight_free(struct rec_flight *flight)
{
	if (!flight)
		return;
	while (flight->chunks.head < flight->chunks.n)
		drop_oldest_chunk(flight);
	for (size_t i = 0; i < flight->counters.n; i++) {
		free(((struct counter *)flight->counters.items)[i].source);
		free(((struct counter *)flight->counters.items)[i].name);
	}
	for (size_t i = 0; i < flight->memcgs.n; i++)
		free((char *)((struct db_memcg *)flight->memcgs.items)[i].path);
	for (size_t i = 0; i < flight->tasks.n; i++)
		free((char *)((struct db_task *)flight->tasks.items)[i].comm);
	for (size_t i = 0; i < flight->areas.n; i++)
		free((char *)((struct db_area *)flight->areas.items)[i].path);
	free(flight->chunks.items);
	free(flight->samples.items);
	free(flight->counters.items);
	free(flight->memcgs.items);
	free(flight->tasks.items);
	free(flight->areas.items);
	free(flight->plain);
	free(flight->packed);
	ZSTD_freeCCtx(flight->zstd);
	free(flight);
}

/* --------------------------------------------------------------------------------------- chunks */

/* Differences of time and slot; both wrap, so that decoding is exact whatever comes. */
static void to_differences(struct db_event *events, uint32_t n)
{
	for (uint32_t i = n; i-- > 1;) {
		events[i].time_ns -= events[i - 1].time_ns;
		events[i].slot -= events[i - 1].slot;
	}
}

static void from_differences(struct db_event *events, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		events[i].time_ns += events[i - 1].time_ns;
		events[i].slot += events[i - 1].slot;
	}
}

static void to_planes(const struct db_event *events, uint32_t n, unsigned char *planes)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t byte = 0; byte < EVENT_BYTES; byte++)
			planes[byte * n + i] = ((const unsigned char *)&events[i])[byte];
}

static void from_planes(const unsigned char *planes, uint32_t n, struct db_event *events)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t byte = 0; byte < EVENT_BYTES; byte++)
			((unsigned char *)&events[i])[byte] = planes[byte * n + i];
}

static void drop_old(struct rec_flight *flight, uint64_t now_ns)
{
	struct chunk *chunks = flight->chunks.items;
	uint64_t from_ns = now_ns > flight->span_ns ? now_ns - flight->span_ns : 0;

	while (flight->chunks.head < flight->chunks.n &&
	       chunks[flight->chunks.head].last_ns < from_ns)
		drop_oldest_chunk(flight);
	while (flight->chunks.head < flight->chunks.n &&
	       flight->stats.bytes + flight->sample_bytes > flight->most_bytes) {
		flight->stats.dropped += chunks[flight->chunks.head].n;
		drop_oldest_chunk(flight);
	}
}

static enum zr_err close_chunk(struct rec_flight *flight)
{
	struct chunk chunk = { .first_ns = flight->open[0].time_ns, .n = flight->n_open };
	struct chunk *kept;
	size_t bytes;

	if (!flight->n_open)
		return ZR_OK;
	chunk.last_ns = flight->open[chunk.n - 1].time_ns;
	flight->n_open = 0;
	to_differences(flight->open, chunk.n);
	to_planes(flight->open, chunk.n, flight->plain);
	bytes = ZSTD_compressCCtx(flight->zstd, flight->packed, ZSTD_compressBound(PLAIN_BYTES),
				  flight->plain, chunk.n * EVENT_BYTES, LEVEL);
	if (ZSTD_isError(bytes))
		return no_memory();
	chunk.bytes = (uint32_t)bytes;
	chunk.data = malloc(bytes);
	kept = chunk.data ? add(&flight->chunks, sizeof(chunk)) : NULL;
	if (!kept) {
		free(chunk.data);
		return no_memory();
	}
	memcpy(chunk.data, flight->packed, bytes);
	*kept = chunk;
	flight->stats.bytes += bytes;
	flight->stats.events += chunk.n;
	drop_old(flight, chunk.last_ns);
	return ZR_OK;
}

enum zr_err rec_flight_event(struct rec_flight *flight, const struct db_event *event)
{
	flight->open[flight->n_open++] = *event;
	return flight->n_open < REC_FLIGHT_CHUNK ? ZR_OK : close_chunk(flight);
}

/* --------------------------------------------------------------------- dictionaries and samples */

enum zr_err rec_flight_memcg(struct rec_flight *flight, const struct db_memcg *memcg)
{
	struct db_memcg *row = add(&flight->memcgs, sizeof(*row));

	if (!row)
		return no_memory();
	*row = *memcg;
	row->path = strdup(memcg->path);
	return row->path ? ZR_OK : no_memory();
}

enum zr_err rec_flight_task(struct rec_flight *flight, const struct db_task *task)
{
	struct db_task *row = add(&flight->tasks, sizeof(*row));

	if (!row)
		return no_memory();
	*row = *task;
	row->comm = strdup(task->comm);
	return row->comm ? ZR_OK : no_memory();
}

enum zr_err rec_flight_area(struct rec_flight *flight, const struct db_area *area)
{
	struct db_area *row = add(&flight->areas, sizeof(*row));

	if (!row)
		return no_memory();
	*row = *area;
	row->path = strdup(area->path);
	return row->path ? ZR_OK : no_memory();
}

/* Samples come in the same order every second, so the counter behind the last one is tried first.
 */
static bool find_counter(const struct rec_flight *flight, const char *source, const char *name,
			 uint32_t *out)
{
	const struct counter *counters = flight->counters.items;
	size_t n = flight->counters.n, first = 0;

	if (flight->samples.n > flight->samples.head)
		first = ((struct sample *)flight->samples.items)[flight->samples.n - 1].counter + 1;
	for (size_t i = 0; i < n; i++) {
		const struct counter *counter = &counters[(first + i) % n];

		if (strcmp(counter->name, name) == 0 && strcmp(counter->source, source) == 0) {
			*out = (uint32_t)((first + i) % n);
			return true;
		}
	}
	return false;
}

static bool add_counter(struct rec_flight *flight, const char *source, const char *name,
			uint32_t *out)
{
	struct counter *counter = add(&flight->counters, sizeof(*counter));

	if (!counter)
		return false;
	*out = (uint32_t)flight->counters.n - 1;
	counter->source = strdup(source);
	counter->name = strdup(name);
	return counter->source && counter->name;
}

static void drop_old_samples(struct rec_flight *flight, uint64_t now_ns)
{
	const struct sample *samples = flight->samples.items;
	uint64_t from_ns = now_ns > flight->span_ns ? now_ns - flight->span_ns : 0;

	while (flight->samples.head < flight->samples.n &&
	       (samples[flight->samples.head].time_ns < from_ns ||
		flight->sample_bytes > flight->most_bytes / 2)) {
		flight->samples.head++;
		flight->sample_bytes -= SAMPLE_BYTES;
	}
}

enum zr_err rec_flight_sample(struct rec_flight *flight, uint64_t time_ns, const char *source,
			      const char *name, double value)
{
	struct sample sample = { .time_ns = time_ns, .value = value }, *kept;

	if (!find_counter(flight, source, name, &sample.counter) &&
	    !add_counter(flight, source, name, &sample.counter))
		return no_memory();
	kept = add(&flight->samples, sizeof(sample));
	if (!kept)
		return no_memory();
	*kept = sample;
	flight->sample_bytes += SAMPLE_BYTES;
	drop_old_samples(flight, time_ns);
	return ZR_OK;
}

struct rec_flight_stats rec_flight_stats(const struct rec_flight *flight)
{
	struct rec_flight_stats stats = flight->stats;

	stats.events += flight->n_open;
	return stats;
}

/* -------------------------------------------------------------------------------------- writing */

static enum zr_err write_dictionaries(const struct rec_flight *flight, struct db *db)
{
	enum zr_err err = ZR_OK;

	for (size_t i = 0; !err && i < flight->areas.n; i++)
		err = db_put_area(db, (struct db_area *)flight->areas.items + i);
	for (size_t i = 0; !err && i < flight->memcgs.n; i++)
		err = db_put_memcg(db, (struct db_memcg *)flight->memcgs.items + i);
	for (size_t i = 0; !err && i < flight->tasks.n; i++)
		err = db_put_task(db, (struct db_task *)flight->tasks.items + i);
	return err;
}

static enum zr_err write_samples(const struct rec_flight *flight, struct db *db, uint32_t host)
{
	enum zr_err err = ZR_OK;

	for (size_t i = flight->samples.head; !err && i < flight->samples.n; i++) {
		const struct sample *sample = (struct sample *)flight->samples.items + i;
		const struct counter *counter =
			(struct counter *)flight->counters.items + sample->counter;

		err = db_put_sample(db, host, sample->time_ns, counter->source, counter->name,
				    sample->value);
	}
	return err;
}

static enum zr_err write_chunk(struct rec_flight *flight, const struct chunk *chunk,
			       struct db_event *events, struct db_writer *writer)
{
	size_t bytes = ZSTD_decompress(flight->plain, PLAIN_BYTES, chunk->data, chunk->bytes);
	enum zr_err err = ZR_OK;

	if (ZSTD_isError(bytes) || bytes != chunk->n * EVENT_BYTES)
		return no_memory();
	from_planes(flight->plain, chunk->n, events);
	from_differences(events, chunk->n);
	for (uint32_t i = 0; !err && i < chunk->n; i++)
		err = db_writer_add(writer, &events[i]);
	return err;
}

enum zr_err rec_flight_write(struct rec_flight *flight, struct db *db, struct db_writer *writer)
{
	struct db_event *events = malloc(REC_FLIGHT_CHUNK * sizeof(*events));
	enum zr_err err = events ? close_chunk(flight) : no_memory();

	if (!err)
		err = write_dictionaries(flight, db);
	if (!err)
		err = write_samples(flight, db, 0);
	for (size_t i = flight->chunks.head; !err && i < flight->chunks.n; i++)
		err = write_chunk(flight, (struct chunk *)flight->chunks.items + i, events, writer);
	free(events);
	return err;
}
