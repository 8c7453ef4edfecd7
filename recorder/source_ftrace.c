/* SPDX-License-Identifier: MIT */
/* Records through an instance of our own in tracefs; see source.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/clock.h"
#include "recorder/ring.h"
#include "recorder/source.h"
#include "recorder/tracefs.h"

struct rec_source {
	struct rec_tracefs *tracefs;
	struct rec_decoder *decoder;
	struct rec_ring *ring;
	int clock_id; /* -1: only the kernel can read it */
};

static enum zr_err decode(struct rec_source *source, const char *system, const char *event,
			  enum rec_type type)
{
	const char *dir = rec_tracefs_instance(source->tracefs);
	char *format = rec_file_readf("%s/events/%s/%s/format", dir, system, event);
	enum zr_err err;

	if (!format)
		return zr_fail_errno(errno, "reading the format of %s:%s", system, event);
	err = rec_decoder_add(source->decoder, system, format, type);
	free(format);
	return err;
}

/* A probe that is not vital may be missing. */
static enum zr_err allow(const struct rec_probe *probe, struct rec_notes *notes, enum zr_err err)
{
	char key[64];

	if (!err || probe->vital)
		return err;
	snprintf(key, sizeof(key), "probe.missing.%s", probe->event);
	rec_note(notes, key, "%s: %s", probe->lost, zr_error_text());
	zr_error_clear();
	return ZR_OK;
}

static enum zr_err add_probe(struct rec_source *source, const struct rec_probe *probe,
			     struct rec_notes *notes)
{
	enum zr_err err = rec_tracefs_add_probe(source->tracefs, probe);

	if (!err)
		err = decode(source, rec_tracefs_group(source->tracefs), probe->event, probe->type);
	return allow(probe, notes, err);
}

/* One by one only to find out which of them the kernel does not enable. */
static enum zr_err enable_probes(struct rec_source *source, const struct rec_source_setup *setup)
{
	enum zr_err err = ZR_OK;

	if (!setup->probes->n || !rec_tracefs_enable_probes(source->tracefs))
		return ZR_OK;
	zr_error_clear();
	for (uint32_t i = 0; !err && i < setup->probes->n; i++)
		err = allow(&setup->probes->probe[i], setup->notes,
			    rec_tracefs_enable_probe(source->tracefs, &setup->probes->probe[i]));
	return err;
}

static enum zr_err filter_block(struct rec_source *source, const char *filter)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < REC_BLOCK_TYPES; i++)
		err = rec_tracefs_add_event(source->tracefs, "block",
					    rec_type_name(rec_block_types[i]), filter);
	return err;
}

/* As of passes of reclaim, an event of the kernel's own that may be missing. */
static enum zr_err add_reclaim(struct rec_source *source, struct rec_notes *notes)
{
	const char *event = rec_type_name(REC_SLAB_START);
	enum zr_err err = rec_tracefs_add_event(source->tracefs, "vmscan", event, NULL);

	if (!err)
		err = decode(source, "vmscan", event, REC_SLAB_START);
	if (!err)
		return ZR_OK;
	rec_note(notes, "probe.missing.reclaim", "passes of reclaim are not recorded: %s",
		 zr_error_text());
	zr_error_clear();
	return ZR_OK;
}

static enum zr_err add_events(struct rec_source *source, const struct rec_source_setup *setup)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < setup->probes->n; i++)
		err = add_probe(source, &setup->probes->probe[i], setup->notes);
	if (!err && setup->reclaim)
		err = add_reclaim(source, setup->notes);
	if (!err)
		err = filter_block(source, setup->block_filter);
	for (uint32_t i = 0; !err && i < REC_BLOCK_TYPES; i++)
		err = decode(source, "block", rec_type_name(rec_block_types[i]),
			     rec_block_types[i]);
	return err ? err : enable_probes(source, setup);
}

static void close_source(struct rec_source *source)
{
	if (!source)
		return;
	rec_ring_close(source->ring);
	rec_tracefs_close(source->tracefs);
	rec_decoder_free(source->decoder);
	free(source);
}

static enum zr_err open_source(const struct rec_source_setup *setup, struct rec_source **out)
{
	struct rec_source *source = calloc(1, sizeof(*source));
	const struct rec_tracefs_setup tracefs = { .dir = setup->paths->tracefs,
						   .clock = setup->clock,
						   .ring_bytes = setup->ring_bytes };
	enum zr_err err;

	if (!source)
		return zr_fail(ZR_NOMEM, "no memory for a source of events");
	source->clock_id = rec_clock_id(setup->clock);
	err = rec_tracefs_open(&tracefs, &source->tracefs);
	if (!err)
		err = rec_decoder_new(&setup->probes->layout, &source->decoder);
	if (!err)
		err = add_events(source, setup);
	if (!err)
		err = rec_ring_open(rec_tracefs_instance(source->tracefs), source->decoder,
				    &source->ring);
	if (err) {
		close_source(source);
		return err;
	}
	*out = source;
	return ZR_OK;
}

/* The kernel gives every CPU that may ever come a buffer from the start. */
static enum zr_err follow([[maybe_unused]] struct rec_source *source)
{
	return ZR_OK;
}

static enum zr_err on(struct rec_source *source)
{
	return rec_tracefs_on(source->tracefs);
}

static void off(struct rec_source *source)
{
	rec_tracefs_off(source->tracefs);
}

/* "now ts: 123.456789", in the clock of the instance. */
static uint64_t kernel_now_ns(const struct rec_source *source)
{
	char *text = rec_file_readf("%s/per_cpu/cpu%u/stats", rec_tracefs_instance(source->tracefs),
				    rec_ring_cpu(source->ring, 0));
	const char *at = text ? strstr(text, "now ts:") : NULL;
	unsigned long long seconds, micros;
	uint64_t now = 0;

	if (at && sscanf(at, "now ts: %llu.%llu", &seconds, &micros) == 2)
		now = seconds * 1'000'000'000 + micros * 1'000;
	free(text);
	return now;
}

static uint64_t now_ns(struct rec_source *source)
{
	return source->clock_id >= 0 ? zr_clock_ns(source->clock_id) : kernel_now_ns(source);
}

static enum zr_err drain(struct rec_source *source, uint64_t mark_ns, uint64_t *bytes)
{
	return rec_ring_drain(source->ring, mark_ns, bytes);
}

static bool next(struct rec_source *source, uint64_t until_ns, struct rec_raw *raw)
{
	return rec_ring_next(source->ring, until_ns, raw);
}

static uint64_t reached(const struct rec_source *source, uint64_t until_ns)
{
	return rec_ring_reached(source->ring, until_ns);
}

static struct rec_source_stats stats(const struct rec_source *source)
{
	struct rec_ring_stats ring = rec_ring_stats(source->ring);

	return (struct rec_source_stats){ .events = ring.events,
					  .lost = ring.lost,
					  .damaged = ring.damaged,
					  .skipped = ring.skipped,
					  .bytes = ring.bytes };
}

static uint32_t cpus(const struct rec_source *source)
{
	return rec_ring_cpus(source->ring);
}

static int64_t missed(const struct rec_source *source)
{
	return rec_tracefs_missed(source->tracefs);
}

static uint64_t total_lost(struct rec_source *source, struct rec_notes *notes)
{
	const char *dir = rec_tracefs_instance(source->tracefs);
	uint64_t lost = 0;

	for (uint32_t i = 0; i < rec_ring_cpus(source->ring); i++) {
		uint32_t cpu = rec_ring_cpu(source->ring, i);
		char *text = rec_file_readf("%s/per_cpu/cpu%u/stats", dir, cpu), key[64];
		int64_t overrun = rec_text_number(text, "overrun", 0);
		int64_t dropped = rec_text_number(text, "dropped events", 0);

		free(text);
		lost += (uint64_t)(overrun + dropped);
		snprintf(key, sizeof(key), "ring.cpu%u.overrun", cpu);
		rec_note(notes, key, "%lld", (long long)overrun);
		snprintf(key, sizeof(key), "ring.cpu%u.dropped", cpu);
		rec_note(notes, key, "%lld", (long long)dropped);
	}
	return lost;
}

const struct rec_source_ops rec_source_ftrace = {
	.name = "ftrace",
	.open = open_source,
	.filter_block = filter_block,
	.follow = follow,
	.on = on,
	.off = off,
	.now_ns = now_ns,
	.drain = drain,
	.next = next,
	.reached = reached,
	.stats = stats,
	.cpus = cpus,
	.missed = missed,
	.total_lost = total_lost,
	.close = close_source,
};
