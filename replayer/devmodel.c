/* SPDX-License-Identifier: MIT */
/* The device and the parameters of devmodel.h. */
#include "replayer/devmodel.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replayer/drive_fit.h"
#include "replayer/replayer.h"

enum { RANDOM_PAGES = 4096 }; /* 16 MiB: farther than that from the last request is random */

/* -------------------------------------------------------------------------------- parameters */

#define CLASS(rp, rs, rr, wp, ws, wr)                                                              \
	.read_page_ns = (rp), .read_seq_ns = (rs), .read_rand_ns = (rr), .write_page_ns = (wp),    \
	.write_seq_ns = (ws), .write_rand_ns = (wr), .cost_read_page_ns = (rp),                    \
	.cost_read_seq_ns = (rs), .cost_read_rand_ns = (rr), .cost_write_page_ns = (wp),           \
	.cost_write_seq_ns = (ws), .cost_write_rand_ns = (wr)

#define COMMON                                                                                     \
	.channels = 1, .depth = 256, .iocost = 1, .latency_percent = 95, .vrate_min = 1,           \
	.vrate_max = 10000, .weight = 100, .rival_depth = 32

static const struct {
	struct play_word about;
	struct time_params params;
} presets[] = {
	{ { "ssd", "an ordinary SSD, as iocost takes a device for that nobody has measured" },
	  { CLASS(8380, 103600, 109000, 9570, 25200, 36010), .read_latency_us = 25000,
	    .write_latency_us = 25000, COMMON } },
	{ { "ssd-fast", "a fast SSD" },
	  { CLASS(1320, 60, 0, 2350, 0, 0), .read_latency_us = 5000, .write_latency_us = 5000,
	    COMMON } },
	{ { "ssd-qd1", "an SSD that serves one request at a time" },
	  { CLASS(16660, 0, 127300, 28980, 690, 8340), .read_latency_us = 25000,
	    .write_latency_us = 25000, COMMON } },
	{ { "hdd", "a rotating disk" },
	  { CLASS(23540, 440, 2679000, 23000, 420, 2622000), .read_latency_us = 250000,
	    .write_latency_us = 250000, COMMON } },
};

static const struct knob {
	const char *name;
	uint64_t least, most;
	size_t offset;
} knobs[] = {
#define X(name, least, most, help) { #name, least, most, offsetof(struct time_params, name) },
	TIME_KNOBS(X)
#undef X
};

static const struct play_word knob_help[] = {
#define X(name, least, most, help) { #name, help },
	TIME_KNOBS(X)
#undef X
		{ NULL, NULL },
};

enum {
	N_PRESETS = sizeof(presets) / sizeof(presets[0]),
	N_KNOBS = sizeof(knobs) / sizeof(knobs[0])
};

const struct play_word *play_time_preset(uint32_t i)
{
	return i < N_PRESETS ? &presets[i].about : NULL;
}

const struct play_word *play_time_knobs(void)
{
	return knob_help;
}

static enum zr_err set_knob(struct time_params *params, const char *text, const char *word,
			    size_t bytes)
{
	size_t name = strcspn(word, "=");

	for (size_t i = 0; i < N_KNOBS; i++) {
		uint64_t value;
		char *end;

		if (strlen(knobs[i].name) != name || strncmp(knobs[i].name, word, name) != 0)
			continue;
		errno = 0;
		value = strtoull(word + name + 1, &end, 10);
		if (word[name] != '=' || word[name + 1] < '0' || word[name + 1] > '9' ||
		    end != word + bytes || errno || value < knobs[i].least || value > knobs[i].most)
			return zr_fail(
				ZR_USAGE,
				"device model '%s': %.*s does not do; %s takes a number from "
				"%" PRIu64 " to %" PRIu64,
				text, (int)bytes, word, knobs[i].name, knobs[i].least,
				knobs[i].most);
		memcpy((char *)params + knobs[i].offset, &value, sizeof(value));
		return ZR_OK;
	}
	return zr_fail(
		ZR_USAGE,
		"device model '%s': '%.*s' is not a knob; `zreel replay --policies` lists them",
		text, (int)bytes, word);
}

static bool set_preset(struct time_params *params, const char *word, size_t bytes)
{
	for (size_t i = 0; i < N_PRESETS; i++) {
		if (strlen(presets[i].about.name) != bytes ||
		    strncmp(presets[i].about.name, word, bytes) != 0)
			continue;
		*params = presets[i].params;
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------- measured drives */

static const char calibrated[] = "calibrated:";

static bool is_calibrated(const char *text)
{
	return strncmp(text, calibrated, strlen(calibrated)) == 0;
}

/* The drive that a text begins with. */
static enum zr_err load_drive(const char *text, struct play_drive *drive)
{
	size_t skip = strlen(calibrated), bytes = strcspn(text, "+") - skip;
	char *path = strndup(text + skip, bytes), *name;
	struct db *db;
	enum zr_err err;

	if (!path)
		return zr_fail(ZR_NOMEM, "device model '%.60s': no memory", text);
	name = strchr(path, '#');
	if (name)
		*name++ = '\0';
	err = path[0] ? db_open(path, DB_READ, &db) :
			zr_fail(ZR_USAGE, "device model '%s': name the file, as in calibrated:drives.zr", text);
	if (!err) {
		err = play_drive_load(db, name, drive);
		(void)db_close(db);
	}
	free(path);
	return err;
}

/* What was not measured is an ordinary SSD's. */
static enum zr_err set_drive(const char *text, struct time_params *out)
{
	struct play_drive drive;
	enum zr_err err = load_drive(text, &drive);

	*out = presets[0].params;
	return err ? err : drive_fit(&drive, out);
}

static enum zr_err set_device(const char *text, size_t bytes, struct time_params *out)
{
	if (is_calibrated(text))
		return set_drive(text, out);
	if (set_preset(out, text, bytes))
		return ZR_OK;
	return zr_fail(ZR_USAGE,
		       "device model '%.60s': it begins with ssd, ssd-fast, ssd-qd1, hdd, or "
		       "calibrated:FILE (see zreel calibrate)",
		       text);
}

enum zr_err time_params_parse(const char *text, struct time_params *out)
{
	size_t bytes = strcspn(text, "+");
	enum zr_err err = set_device(text, bytes, out);

	for (const char *word = text + bytes; *word && !err; word += bytes) {
		word++;
		bytes = strcspn(word, "+");
		err = set_knob(out, text, word, bytes);
	}
	if (!err && out->vrate_min > out->vrate_max)
		err = zr_fail(ZR_USAGE, "device model '%s': vrate_min is above vrate_max", text);
	return err;
}

enum zr_err time_params_iocost(const char *text, struct play_iocost *out)
{
	struct play_drive drive;
	enum zr_err err;

	if (!is_calibrated(text))
		return zr_fail(ZR_USAGE,
			       "device model '%s': beside a neighbour, a device takes calibrated:FILE alone, for "
			       "iocost",
			       text);
	err = load_drive(text, &drive);
	if (!err)
		*out = play_drive_iocost(&drive);
	return err;
}

enum zr_err time_params_origin(const char *text, char *out, size_t bytes)
{
	size_t name = strcspn(text, "+");
	struct play_drive drive;
	char date[32];
	time_t when;
	struct tm tm;
	enum zr_err err;

	for (size_t i = 0; i < N_PRESETS && !is_calibrated(text); i++)
		if (strlen(presets[i].about.name) == name && !strncmp(presets[i].about.name, text, name))
			snprintf(out, bytes, "built-in drive %s (%s), not measured", presets[i].about.name,
				 presets[i].about.help);
	if (!is_calibrated(text))
		return ZR_OK;
	err = load_drive(text, &drive);
	if (err)
		return err;
	when = (time_t)(drive.created_realtime_ns / 1'000'000'000);
	strftime(date, sizeof(date), "%F", gmtime_r(&when, &tm));
	snprintf(out, bytes, "drive '%s', as fitted to the calibration of %s", drive.name, date);
	return ZR_OK;
}

void time_params_to_text(const struct time_params *params, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < N_KNOBS && used < bytes; i++) {
		uint64_t value;

		memcpy(&value, (const char *)params + knobs[i].offset, sizeof(value));
		used += (size_t)snprintf(text + used, bytes - used, "%s%s=%" PRIu64, i ? " " : "",
					 knobs[i].name, value);
	}
}

/* ------------------------------------------------------------------------------------- costs */

struct cost_model device_cost_model(const struct time_params *params)
{
	return (struct cost_model){
		.page_ns = { params->read_page_ns, params->write_page_ns },
		.seq_ns = { params->read_seq_ns, params->write_seq_ns },
		.rand_ns = { params->read_rand_ns, params->write_rand_ns },
	};
}

struct cost_model iocost_cost_model(const struct time_params *params)
{
	return (struct cost_model){
		.page_ns = { params->cost_read_page_ns, params->cost_write_page_ns },
		.seq_ns = { params->cost_read_seq_ns, params->cost_write_seq_ns },
		.rand_ns = { params->cost_read_rand_ns, params->cost_write_rand_ns },
	};
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct cost_model iocost_coefficients(const struct play_iocost *iocost)
{
	const uint64_t second_ns = 1'000'000'000;
	struct cost_model cost = { 0 };

	for (int write = 0; write < 2; write++) {
		uint64_t pages = divide_up(iocost->bps[write], 4096);

		if (pages)
			cost.page_ns[write] = divide_up(second_ns, pages);
		if (iocost->seqiops[write])
			cost.seq_ns[write] = above(divide_up(second_ns, iocost->seqiops[write]),
						   cost.page_ns[write]);
		if (iocost->randiops[write])
			cost.rand_ns[write] = above(divide_up(second_ns, iocost->randiops[write]),
						    cost.page_ns[write]);
	}
	return cost;
}

uint64_t cost_of(const struct cost_model *model, const struct timed_io *io, uint64_t *cursor)
{
	uint64_t from = *cursor;
	uint64_t distance = io->start_page > from ? io->start_page - from : from - io->start_page;
	/* Who has no past is sequential. */
	bool random = from && distance > RANDOM_PAGES;
	uint64_t base = random ? model->rand_ns[io->write] : model->seq_ns[io->write];

	*cursor = io->start_page + io->pages;
	return (io->merged ? 0 : base) + io->pages * model->page_ns[io->write];
}

/* ------------------------------------------------------------------------------------ device */

enum zr_err devmodel_init(struct devmodel *dev, const struct time_params *params,
			  struct zr_arena *arena)
{
	*dev = (struct devmodel){ .cost = device_cost_model(params),
				  .n_channels = (uint32_t)params->channels,
				  .depth = (uint32_t)params->depth,
				  .delay_ns = { params->read_delay_ns, params->write_delay_ns },
				  .delay_page_ns = { params->read_delay_page_ns,
						     params->write_delay_page_ns } };
	dev->channels = zr_arena_array(arena, dev->n_channels, sizeof(*dev->channels));
	dev->places = zr_arena_array(arena, dev->depth, sizeof(*dev->places));
	if (!dev->channels || !dev->places)
		return zr_fail(ZR_NOMEM, "making a device of depth %u: no memory", dev->depth);
	return ZR_OK;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The earliest of a heap's times is `time_ns` from now on. */
static void replace_first(uint64_t *heap, uint32_t n, uint64_t time_ns)
{
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= time_ns)
			break;
		heap[at] = heap[child];
	}
	heap[at] = time_ns;
}

struct dev_times devmodel_submit(struct devmodel *dev, const struct timed_io *io, uint64_t now_ns)
{
	struct dev_times times = { .taken_ns = later(now_ns, dev->places[0]) };

	times.done_ns =
		later(times.taken_ns, dev->channels[0]) + cost_of(&dev->cost, io, &dev->cursor);
	replace_first(dev->channels, dev->n_channels, times.done_ns);
	times.done_ns += dev->delay_ns[io->write] + io->pages * dev->delay_page_ns[io->write];
	replace_first(dev->places, dev->depth, times.done_ns);
	return times;
}
