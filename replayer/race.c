/* SPDX-License-Identifier: MIT */
/*
 * The race of the dashboard: lanes in lock step over the events of a trace.
 *
 *   file ──> feed (reader, where it stands) ──> joined lanes        images, totals at the borders
 * of the history └─> a feed of its own ──> a lane that catches up           images at the same
 * places
 *
 * Where something stands is a time T: all events before T have been fed. An image is taken only at
 * such a place, between two events of different times, so that a reader with the filter "from T"
 * goes on from there exactly. (A step may stop between events of one time; no image is taken
 * there.) Image 0 is the start.
 *
 * Going to a time takes the nearest image before it and the way on from there, at most the distance
 * of two images. The distance is such that taking them costs a small part of the feeding, and that
 * images as large as those so far will fit into their memory up to the end of the trace. Should they
 * outgrow it, every second one is dropped and the distance doubles, so the way back gets longer and
 * memory stays bounded. Events are decoded when they are fed, a chunk at a time, and not
 * kept.
 */
#include "replayer/race.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SLICE = 4096,
	CREW_ROWS = 512, /* fewer are fed before other threads are awake */
	FIRST_IMAGE_EVENTS = 1 << 18,
	IMAGE_BYTES_AN_EVENT = 256, /* bytes to look at for an image are worth one event to feed */
	FOLLOW_TASKS = 4096,	    /* room for those to come */
	BURST_NS = 100'000'000,
	BURST_LEAST = 64, /* swap-outs, in whatever time */
};

/* ---------------------------------------------------------------------------------------- feeds */

static void feed_close(struct feed *feed)
{
	db_reader_free(feed->reader);
	feed->reader = NULL;
	feed->batch = NULL;
	feed->row = 0;
	feed->ended = false;
}

static enum zr_err open_reader(struct play_race *race, struct feed *feed)
{
	struct db_filter filter = { .from_ns = feed->from_ns,
				    .kinds = SURVEY_MODEL_KINDS | 1 << DB_GAP,
				    .host = race->host.host };

	return db_reader_new(race->trace, &filter, &feed->reader);
}

/* Makes batch and row those of the next event, or `ended` true. */
static enum zr_err feed_peek(struct play_race *race, struct feed *feed)
{
	enum zr_err err = ZR_OK;

	if (feed->ended || (feed->batch && feed->row < feed->batch->n))
		return ZR_OK;
	if (!feed->reader)
		err = open_reader(race, feed);
	if (!err)
		err = db_reader_next(feed->reader, &feed->batch);
	feed->row = 0;
	feed->ended = !err && !feed->batch;
	if (!err && feed->batch)
		err = sim_check_batch(&race->host.machine, feed->batch);
	return err;
}

static uint64_t feed_time(const struct feed *feed)
{
	return feed->batch->time_ns[feed->row];
}

/* The first row at or behind the feed's whose time is at or after `until_ns`. */
static uint32_t row_at(const struct feed *feed, uint64_t until_ns)
{
	uint32_t low = feed->row, high = feed->batch->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (feed->batch->time_ns[middle] < until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void count_rows(struct feed *feed, uint32_t to)
{
	const struct db_batch *batch = feed->batch;

	for (uint32_t row = feed->row; row < to; row++) {
		feed->kinds[batch->kind[row]]++;
		feed->writebacks += batch->kind[row] == DB_WB &&
				    db_flags_outcome(batch->flags[row]) == DB_WB_WRITTEN;
	}
	feed->cursor += to - feed->row;
	feed->last_ns = batch->time_ns[to - 1];
	feed->row = to;
}

/* --------------------------------------------------------------------------------------- images */

static void free_image(struct race_image *image)
{
	for (uint32_t i = 0; i < PLAY_RACE_LANES; i++)
		snapshot_free(image->lanes[i]);
	*image = (struct race_image){ 0 };
}

static void drop_snapshot(struct play_race *race, struct snapshot **snapshot)
{
	if (*snapshot)
		race->image_bytes -= snapshot_bytes(*snapshot);
	snapshot_free(*snapshot);
	*snapshot = NULL;
}

/* Every second one but the first, until the rest fits. */
static void thin_images(struct play_race *race)
{
	while (race->image_bytes > race->image_bytes_max && race->n_images > 2) {
		size_t kept = 1;

		for (size_t i = 1; i < race->n_images; i++) {
			for (uint32_t lane = 0; i % 2 && lane < PLAY_RACE_LANES; lane++)
				drop_snapshot(race, &race->images[i].lanes[lane]);
			if (i % 2 == 0)
				race->images[kept++] = race->images[i];
		}
		race->n_images = kept;
		race->image_events *= 2;
	}
}

/* Of the lanes that have an image there, the nearest before this one, or any. */
static const struct snapshot *twin_of(const struct race_image *image, uint32_t lane)
{
	const struct snapshot *twin = NULL;

	for (uint32_t i = 0; i < PLAY_RACE_LANES; i++)
		if (i != lane && image->lanes[i] && (i < lane || !twin))
			twin = image->lanes[i];
	return twin;
}

/* The image of a lane at a place of the list. Shares with the one before there, and with another lane's. */
static enum zr_err take_lane(struct play_race *race, size_t at, uint32_t lane)
{
	struct regions regions = { 0 };
	struct snapshot_kin kin = { .before = at ? race->images[at - 1].lanes[lane] : NULL,
				    .twin = twin_of(&race->images[at], lane) };
	struct snapshot **out = &race->images[at].lanes[lane];
	enum zr_err err;

	lane_regions(race->lanes[lane].lane, race->host.top_slots, &regions);
	for (size_t i = 0; i < regions.n; i++)
		race->looked_at += regions.list[i].bytes;
	err = snapshot_take(&regions, kin, out);
	regions_fini(&regions);
	if (!err)
		race->image_bytes += snapshot_bytes(*out);
	return err;
}

static bool make_room(struct play_race *race)
{
	size_t room = race->image_room ? 2 * race->image_room : 64;
	struct race_image *images;

	if (race->n_images < race->image_room)
		return true;
	images = realloc(race->images, room * sizeof(*images));
	if (!images)
		return false;
	race->images = images;
	race->image_room = room;
	return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* At which the images of the whole trace fill seven eighths of their memory. */
static uint64_t fitting_distance(const struct play_race *race)
{
	double each = (double)race->image_bytes / (double)(race->n_images - 1);

	return (uint64_t)((double)play_race_events(race) * each / ((double)race->image_bytes_max * 7 / 8));
}

/* At the end of the list: the race stands behind all images, before an event at `time_ns`. */
static enum zr_err take_image(struct play_race *race, uint64_t time_ns)
{
	const struct feed *feed = &race->feed;
	enum zr_err err = ZR_OK;
	uint64_t cost;

	if (!make_room(race))
		return zr_fail(ZR_NOMEM, "keeping images of the race to go back to: no memory");
	race->images[race->n_images] = (struct race_image){ .time_ns = time_ns,
							    .cursor = feed->cursor,
							    .last_ns = feed->last_ns,
							    .next_border = feed->next_border,
							    .writebacks = feed->writebacks };
	memcpy(race->images[race->n_images].kinds, feed->kinds, sizeof(feed->kinds));
	race->looked_at = 0;
	for (uint32_t i = 0; i < race->n_lanes && !err; i++)
		if (!race->lanes[i].behind)
			err = take_lane(race, race->n_images, i);
	race->n_images++;
	cost = race->looked_at / IMAGE_BYTES_AN_EVENT;
	thin_images(race);
	race->next_image = feed->cursor + larger(cost, race->image_events);
	if (race->n_images > 1)
		race->next_image = larger(race->next_image, feed->cursor + fitting_distance(race));
	return err;
}

/* The joined lanes at the end of the list, or the lane that catches up at a place that it has no
 * image of. */
static enum zr_err take_if_due(struct play_race *race, struct feed *feed)
{
	uint64_t time_ns = feed_time(feed);

	if (feed == &race->feed) {
		const struct race_image *last = &race->images[race->n_images - 1];

		if (feed->cursor < race->next_image || feed->cursor <= last->cursor ||
		    time_ns == feed->last_ns)
			return ZR_OK;
		return take_image(race, time_ns);
	}
	for (size_t i = 0; i < race->n_images; i++)
		if (race->images[i].cursor == feed->cursor && !race->images[i].lanes[feed->lane])
			return take_lane(race, i, feed->lane);
	return ZR_OK;
}

/* Where the way of a lane that catches up is interrupted for an image. */
static uint64_t next_image_of(const struct play_race *race, const struct feed *feed)
{
	for (size_t i = 0; feed != &race->feed && i < race->n_images; i++)
		if (race->images[i].cursor > feed->cursor)
			return race->images[i].cursor;
	return UINT64_MAX;
}

static void restore_lane(struct play_race *race, uint32_t lane, const struct race_image *image)
{
	struct regions now = { 0 };

	lane_regions(race->lanes[lane].lane, race->host.top_slots, &now);
	snapshot_restore(image->lanes[lane], &now);
	regions_fini(&now);
}

static void restore_feed(struct feed *feed, const struct race_image *image)
{
	feed_close(feed);
	feed->from_ns = image->time_ns;
	feed->cursor = image->cursor;
	feed->last_ns = image->last_ns;
	feed->next_border = image->next_border;
	feed->writebacks = image->writebacks;
	feed->flushed = false;
	memcpy(feed->kinds, image->kinds, sizeof(feed->kinds));
}

/* -------------------------------------------------------------------------------------- history */

static uint64_t border_ns(const struct play_race *race, uint32_t border)
{
	return race->history.first_ns + race->history.step_ns * border;
}

static uint32_t step_of(const struct play_race *race, uint64_t time_ns)
{
	const struct play_history *h = &race->history;
	uint64_t step = time_ns > h->first_ns ? (time_ns - h->first_ns) / h->step_ns : 0;

	return step < PLAY_RACE_STEPS ? (uint32_t)step : PLAY_RACE_STEPS - 1;
}

static void keep_border(struct play_race *race, const struct feed *feed, uint32_t border)
{
	struct play_totals *at = &race->history.at[border];

	for (uint32_t i = 0; i < race->n_lanes; i++) {
		if (race->lanes[i].behind ? &race->lanes[i].feed != feed : feed != &race->feed)
			continue;
		at->lane[i] = lane_totals(race->lanes[i].lane);
		if (border >= race->history.lane_known[i])
			race->history.lane_known[i] = border + 1;
	}
	if (feed != &race->feed)
		return;
	at->outs = feed->kinds[DB_OUT];
	at->ins = feed->kinds[DB_IN];
	at->writebacks = feed->writebacks;
	if (border >= race->history.known)
		race->history.known = border + 1;
}

/* The borders up to a time, before which all has been fed. */
static void keep_borders(struct play_race *race, struct feed *feed, uint64_t until_ns)
{
	while (feed->next_border <= PLAY_RACE_STEPS &&
	       border_ns(race, feed->next_border) <= until_ns)
		keep_border(race, feed, feed->next_border++);
}

static uint32_t half(uint32_t n)
{
	return (n + 1) / 2;
}

/* A followed trace has outgrown the history: steps of twice the width. */
static void widen_history(struct play_race *race)
{
	struct play_history *h = &race->history;

	for (uint32_t i = 0; i <= PLAY_RACE_STEPS / 2; i++)
		h->at[i] = h->at[2 * i];
	for (uint32_t i = 0; i < PLAY_RACE_STEPS; i++)
		h->gap[i] = i < PLAY_RACE_STEPS / 2 && (h->gap[2 * i] || h->gap[2 * i + 1]);
	h->step_ns *= 2;
	h->known = half(h->known);
	race->feed.next_border = half(race->feed.next_border);
	for (uint32_t i = 0; i < race->n_lanes; i++) {
		h->lane_known[i] = half(h->lane_known[i]);
		race->lanes[i].feed.next_border = half(race->lanes[i].feed.next_border);
	}
	for (size_t i = 0; i < race->n_images; i++)
		race->images[i].next_border = half(race->images[i].next_border);
}

/* -------------------------------------------------------------------------------------- running */

struct leg {
	uint64_t until_ns, until_cursor, budget;
};

/* A piece of the crew's work: no lane knows of another. */
static void feed_lane(void *arg, uint32_t i)
{
	struct play_race *race = arg;

	for (uint32_t row = race->work.from; row < race->work.to; row++)
		lane_feed(race->work.lanes[i], race->work.batch, row);
}

static void feed_rows(struct play_race *race, struct feed *feed, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < race->n_lanes; i++)
		if (race->lanes[i].behind ? &race->lanes[i].feed == feed : feed == &race->feed)
			race->work.lanes[n++] = race->lanes[i].lane;
	race->work.batch = feed->batch;
	race->work.from = feed->row;
	race->work.to = to;
	if (race->crew && n > 1 && to - feed->row >= CREW_ROWS)
		crew_run(race->crew, n);
	else
		for (uint32_t i = 0; i < n; i++)
			feed_lane(race, i);
	count_rows(feed, to);
}

/* At the end of the events: what is open is closed, and the rest of the history is as now. */
static void flush(struct play_race *race, struct feed *feed, uint64_t until_ns)
{
	if (race->follow) {
		keep_borders(race, feed,
			     until_ns < race->host.last_ns ? until_ns : race->host.last_ns);
		return;
	}
	for (uint32_t i = 0; i < race->n_lanes && !feed->flushed; i++)
		if (race->lanes[i].behind ? &race->lanes[i].feed == feed : feed == &race->feed)
			sim_flush(race->lanes[i].lane->sim);
	feed->flushed = true;
	keep_borders(race, feed, UINT64_MAX);
}

static uint32_t rows_of_leg(const struct play_race *race, const struct feed *feed,
			    const struct leg *leg, uint64_t left)
{
	uint64_t most = next_image_of(race, feed) - feed->cursor, until_ns = leg->until_ns;
	uint32_t to;

	if (feed->next_border <= PLAY_RACE_STEPS && border_ns(race, feed->next_border) < until_ns)
		until_ns = border_ns(race, feed->next_border);
	to = row_at(feed, until_ns);
	if (leg->until_cursor - feed->cursor < most)
		most = leg->until_cursor - feed->cursor;
	most = most < left ? most : left;
	most = most < SLICE ? most : SLICE;
	return to - feed->row < most ? to : feed->row + (uint32_t)most;
}

static enum zr_err run(struct play_race *race, struct feed *feed, const struct leg *leg,
		       bool *there)
{
	uint64_t left = leg->budget ? leg->budget : UINT64_MAX;

	*there = true;
	for (;;) {
		enum zr_err err = feed_peek(race, feed);
		uint32_t to;

		if (err)
			return err;
		if (feed->ended) {
			flush(race, feed, leg->until_ns);
			return ZR_OK;
		}
		keep_borders(race, feed,
			     leg->until_ns < feed_time(feed) ? leg->until_ns : feed_time(feed));
		err = take_if_due(race, feed);
		if (err || feed_time(feed) >= leg->until_ns || feed->cursor >= leg->until_cursor)
			return err;
		*there = left > 0;
		if (!left)
			return ZR_OK;
		to = rows_of_leg(race, feed, leg, left);
		left -= to - feed->row;
		feed_rows(race, feed, to);
	}
}

enum zr_err play_race_advance(struct play_race *race, uint64_t until_ns, uint64_t budget,
			      bool *there)
{
	struct leg leg = { until_ns, UINT64_MAX, budget };
	enum zr_err err = run(race, &race->feed, &leg, there);
	uint64_t now_ns = *there ? until_ns : race->feed.last_ns;

	if (!err && now_ns > race->clock_ns)
		race->clock_ns = now_ns;
	return err;
}

/* The last image at or before a time that all joined lanes have. */
static const struct race_image *image_before(const struct play_race *race, uint64_t time_ns)
{
	size_t i = race->n_images;

	while (i-- > 1) {
		bool whole = race->images[i].time_ns <= time_ns;

		for (uint32_t lane = 0; lane < race->n_lanes; lane++)
			whole = whole && (race->lanes[lane].behind || race->images[i].lanes[lane]);
		if (whole)
			return &race->images[i];
	}
	return &race->images[0];
}

void play_race_seek(struct play_race *race, uint64_t time_ns)
{
	const struct race_image *image = image_before(race, time_ns);
	bool is_past = race->feed.cursor && time_ns <= race->feed.last_ns;

	if (!is_past && time_ns >= race->clock_ns && image->cursor <= race->feed.cursor)
		return;
	if (!is_past && image->cursor <= race->feed.cursor) {
		race->clock_ns = time_ns; /* nothing happened since */
		return;
	}
	for (uint32_t lane = 0; lane < race->n_lanes; lane++)
		if (!race->lanes[lane].behind)
			restore_lane(race, lane, image);
	restore_feed(&race->feed, image);
	race->clock_ns =
		image->time_ns > race->host.first_ns ? image->time_ns : race->host.first_ns;
}

/* -------------------------------------------------------------------------------------- jumping */

void play_race_jump(struct play_race *race, enum play_jump to, uint32_t lane)
{
	race->watch = (struct watch){ .to = to, .lane = lane };
}

/* Whether a burst begins with this swap-out: not while one lasts. */
static bool begins_burst(struct play_race *race, uint64_t time_ns)
{
	const struct survey_host *host = &race->host;
	struct watch *watch = &race->watch;
	double span = (double)(host->last_ns - host->first_ns) + 1;
	double most = PLAY_BURST * (double)host->outs / span * BURST_NS;

	if (time_ns - watch->since_ns >= BURST_NS) {
		watch->armed = watch->outs < most;
		watch->since_ns = time_ns;
		watch->outs = 0;
	}
	watch->outs++;
	if (!watch->armed || watch->outs < most || watch->outs < BURST_LEAST)
		return false;
	watch->armed = false;
	return true;
}

static bool is_storm(struct watch *watch, const struct sim_counters *before,
		     const struct sim_counters *now)
{
	if (now->store_succeeded != before->store_succeeded)
		watch->streak = 0;
	else if (now->store_rejected != before->store_rejected)
		watch->streak++;
	/* Where it began is not known: the first streak may be the end of an older one. */
	if (now->store_succeeded != before->store_succeeded)
		watch->armed = true;
	return watch->armed && watch->streak == PLAY_STORM &&
	       now->store_rejected != before->store_rejected;
}

/* Feeds one row to all lanes; whether the race has come to what it was sent to. */
static bool step(struct play_race *race)
{
	struct feed *feed = &race->feed;
	const struct sim_counters *now = sim_counters(race->lanes[race->watch.lane].lane->sim);
	struct sim_counters before = *now;
	uint8_t kind = feed->batch->kind[feed->row];
	uint64_t time_ns = feed_time(feed);

	feed_rows(race, feed, feed->row + 1);
	switch (race->watch.to) {
	case PLAY_TO_EVENT:
		return true;
	case PLAY_TO_WALK:
		return now->written_back_pages != before.written_back_pages;
	case PLAY_TO_WAKEUP:
		return now->shrink_worker_wakeups != before.shrink_worker_wakeups;
	case PLAY_TO_STORM:
		return is_storm(&race->watch, &before, now);
	case PLAY_TO_BURST:
		return kind == DB_OUT && begins_burst(race, time_ns);
	}
	return true;
}

enum zr_err play_race_jump_on(struct play_race *race, uint64_t budget, bool *there)
{
	struct feed *feed = &race->feed;

	*there = false;
	while (budget-- && !*there) {
		enum zr_err err = feed_peek(race, feed);

		if (!err && feed->ended)
			return play_race_advance(race, play_race_end_ns(race), 0, there);
		if (!err) {
			keep_borders(race, feed, feed_time(feed));
			err = take_if_due(race, feed);
		}
		if (err)
			return err;
		*there = step(race);
		if (feed->last_ns > race->clock_ns)
			race->clock_ns = feed->last_ns;
	}
	return ZR_OK;
}

bool play_race_next_gap(const struct play_race *race, uint64_t *time_ns)
{
	for (size_t i = 0; i < race->n_gaps; i++) {
		if (race->gaps[i] < race->clock_ns)
			continue;
		*time_ns = race->gaps[i];
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------------------------------- lanes */

static enum zr_err make_lane(struct play_race *race, const char *policy, struct lane **out)
{
	const struct lane_setting setting = { .machine = &race->host.machine,
					      .top_slots = race->host.top_slots,
					      .n_tasks = race->n_tasks };

	return lane_new(policy, &setting, out);
}

/* A lane at its start, behind the others unless they stand there too. */
static enum zr_err enter(struct play_race *race, uint32_t i, struct lane *lane)
{
	struct race_lane *it = &race->lanes[i];

	*it = (struct race_lane){ .lane = lane,
				  .behind = race->feed.cursor > 0,
				  .feed = { .lane = i, .next_border = 1 } };
	race->history.lane_known[i] = 1;
	race->history.at[0].lane[i] = (struct play_lane_totals){ 0 };
	return race->n_images ? take_lane(race, 0, i) : ZR_OK;
}

static void forget(struct play_race *race, uint32_t i)
{
	feed_close(&race->lanes[i].feed);
	lane_free(race->lanes[i].lane);
	race->lanes[i].lane = NULL;
	for (size_t image = 0; image < race->n_images; image++)
		drop_snapshot(race, &race->images[image].lanes[i]);
}

enum zr_err play_race_add(struct play_race *race, const char *policy)
{
	struct lane *lane;
	enum zr_err err;

	if (race->n_lanes == PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "there are %d lanes already; remove one first",
			       PLAY_RACE_LANES);
	err = make_lane(race, policy, &lane);
	return err ? err : enter(race, race->n_lanes++, lane);
}

enum zr_err play_race_replace(struct play_race *race, uint32_t i, const char *policy)
{
	struct lane *lane;
	enum zr_err err = make_lane(race, policy, &lane);

	if (err)
		return err;
	forget(race, i);
	return enter(race, i, lane);
}

void play_race_remove(struct play_race *race, uint32_t i)
{
	uint32_t after = race->n_lanes - i - 1;
	struct play_history *h = &race->history;

	assert(race->n_lanes > 1);
	forget(race, i);
	memmove(&race->lanes[i], &race->lanes[i + 1], after * sizeof(race->lanes[0]));
	memmove(&h->lane_known[i], &h->lane_known[i + 1], after * sizeof(h->lane_known[0]));
	for (uint32_t border = 0; border <= PLAY_RACE_STEPS; border++)
		memmove(&h->at[border].lane[i], &h->at[border].lane[i + 1],
			after * sizeof(h->at[0].lane[0]));
	for (size_t image = 0; image < race->n_images; image++) {
		struct snapshot **lanes = race->images[image].lanes;

		memmove(&lanes[i], &lanes[i + 1], after * sizeof(*lanes));
		lanes[race->n_lanes - 1] = NULL;
	}
	race->n_lanes--;
	race->lanes[race->n_lanes] = (struct race_lane){ 0 };
	for (; i < race->n_lanes; i++)
		race->lanes[i].feed.lane = i;
	race->watch.lane = 0;
}

/* The race has gone back behind the lane: it follows, from an image of its own. */
static void fall_back(struct play_race *race, uint32_t i)
{
	size_t image = race->n_images - 1;

	while (image &&
	       (race->images[image].cursor > race->feed.cursor || !race->images[image].lanes[i]))
		image--;
	restore_lane(race, i, &race->images[image]);
	restore_feed(&race->lanes[i].feed, &race->images[image]);
}

static enum zr_err catch_up(struct play_race *race, uint32_t i, uint64_t budget)
{
	struct race_lane *it = &race->lanes[i];
	struct leg leg = { UINT64_MAX, race->feed.cursor, budget };
	bool there;
	enum zr_err err;

	if (it->feed.cursor > race->feed.cursor)
		fall_back(race, i);
	err = run(race, &it->feed, &leg, &there);
	if (err || !there || it->feed.cursor != race->feed.cursor)
		return err;
	/* What the race did at the end it does now; borders that it has passed the lane has too. */
	if (race->feed.flushed && !it->feed.flushed)
		flush(race, &it->feed, UINT64_MAX);
	while (it->feed.next_border < race->feed.next_border)
		keep_border(race, &it->feed, it->feed.next_border++);
	feed_close(&it->feed);
	it->behind = false;
	return ZR_OK;
}

enum zr_err play_race_catch_up(struct play_race *race, uint64_t budget, bool *all)
{
	enum zr_err err = ZR_OK;

	*all = true;
	for (uint32_t i = 0; i < race->n_lanes && !err; i++) {
		if (race->lanes[i].behind)
			err = catch_up(race, i, budget);
		*all = *all && !race->lanes[i].behind;
	}
	return err;
}

/* --------------------------------------------------------------------------------------- set-up */

static bool note_gap(struct play_race *race, uint64_t time_ns)
{
	if (race->n_gaps == race->gap_room) {
		size_t room = race->gap_room ? 2 * race->gap_room : 64;
		uint64_t *gaps = realloc(race->gaps, room * sizeof(*gaps));

		if (!gaps)
			return false;
		race->gaps = gaps;
		race->gap_room = room;
	}
	race->gaps[race->n_gaps++] = time_ns;
	race->history.gap[step_of(race, time_ns)] = true;
	return true;
}

static enum zr_err note_gaps(struct play_race *race, const struct db_batch *batch)
{
	for (uint32_t row = 0; row < batch->n; row++)
		if (batch->kind[row] == DB_GAP && !note_gap(race, batch->time_ns[row]))
			return zr_fail(ZR_NOMEM, "keeping the gaps of the trace: no memory");
	return ZR_OK;
}

static enum zr_err find_gaps(struct play_race *race)
{
	struct db_filter filter = { .kinds = 1u << DB_GAP, .host = race->host.host };
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = db_reader_new(race->trace, &filter, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch) {
		err = note_gaps(race, batch);
		if (err)
			break;
	}
	db_reader_free(reader);
	return err;
}

static enum zr_err choose_host(struct play_race *race)
{
	struct survey_host *hosts;
	size_t n, best = 0;
	enum zr_err err = survey_trace(race->trace, &race->arena, &hosts, &n);

	if (err)
		return err;
	for (size_t i = 1; i < n; i++)
		if (hosts[i].events > hosts[best].events)
			best = i;
	race->host = hosts[best];
	return survey_count_tasks(race->trace, race->host.host, &race->n_tasks);
}

static void start_history(struct play_race *race)
{
	const struct survey_host *host = &race->host;

	race->history.first_ns = host->first_ns;
	race->history.step_ns = (host->last_ns - host->first_ns) / PLAY_RACE_STEPS + 1;
	race->history.known = 1;
	race->clock_ns = host->first_ns;
	race->feed.next_border = 1;
}

static size_t default_image_bytes(void)
{
	const size_t most = (size_t)4 << 30;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t part = pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 6 : most;

	return part < most ? part : most;
}

/* The scout reads all again, so that it stands exactly where the events end now. No room is made
 * for cgroups to come: the worker's round would count its calls for them. */
static enum zr_err start_following(struct play_race *race)
{
	struct db_filter filter = { .kinds = SURVEY_MODEL_KINDS | 1 << DB_GAP,
				    .host = race->host.host };
	bool outgrown;
	enum zr_err err = db_reader_new(race->trace, &filter, &race->scout);

	race->n_tasks += FOLLOW_TASKS;
	race->host.events = race->host.other_events = race->host.gaps = race->host.lost = 0;
	race->host.outs = 0;
	return err ? err : play_race_poll(race, &outgrown);
}

static enum zr_err start_crew(struct play_race *race)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t threads =
		cpus < PLAY_RACE_LANES ? (uint32_t)(cpus > 1 ? cpus : 1) : PLAY_RACE_LANES;

	return threads > 1 ? crew_new(threads, feed_lane, race, &race->crew) : ZR_OK;
}

static enum zr_err fill_race(struct play_race *race, const struct play_race_options *options)
{
	enum zr_err err = choose_host(race);

	if (!err)
		err = start_crew(race);
	if (err)
		return err;
	start_history(race);
	err = race->follow ? start_following(race) : find_gaps(race);
	for (uint32_t i = 0; i < options->n_policies && !err; i++)
		err = play_race_add(race, options->policies[i]);
	return err ? err : take_image(race, 0);
}

enum zr_err play_race_new(struct db *trace, const struct play_race_options *options,
			  struct play_race **out)
{
	struct play_race *race;
	enum zr_err err;

	*out = NULL;
	if (!options->n_policies || options->n_policies > PLAY_RACE_LANES)
		return zr_fail(ZR_USAGE, "racing %u policies: name one to %d", options->n_policies,
			       PLAY_RACE_LANES);
	race = calloc(1, sizeof(*race));
	if (!race)
		return zr_fail(ZR_NOMEM, "racing %u policies: no memory", options->n_policies);
	race->trace = trace;
	race->follow = options->follow;
	race->image_bytes_max = options->image_bytes ? options->image_bytes : default_image_bytes();
	race->image_events = options->image_events ? options->image_events : FIRST_IMAGE_EVENTS;
	err = fill_race(race, options);
	if (err) {
		play_race_free(race);
		return err;
	}
	*out = race;
	return ZR_OK;
}

void play_race_free(struct play_race *race)
{
	if (!race)
		return;
	crew_free(race->crew);
	for (size_t i = 0; i < race->n_images; i++)
		free_image(&race->images[i]);
	for (uint32_t i = 0; i < race->n_lanes; i++) {
		feed_close(&race->lanes[i].feed);
		lane_free(race->lanes[i].lane);
	}
	feed_close(&race->feed);
	db_reader_free(race->scout);
	free(race->images);
	free(race->gaps);
	zr_arena_fini(&race->arena);
	free(race);
}

static bool takes(const struct play_race *race, const struct db_batch *batch)
{
	if (!sim_check_batch(&race->host.machine, batch))
		return true;
	zr_error_clear();
	return false;
}

enum zr_err play_race_poll(struct play_race *race, bool *outgrown)
{
	const struct db_batch *batch;
	enum zr_err err;

	*outgrown = false;
	while (!(err = db_reader_next(race->scout, &batch)) && batch) {
		*outgrown = !takes(race, batch);
		if (*outgrown)
			return ZR_OK;
		err = survey_note(&race->host, batch, &race->arena);
		while (!err && race->host.last_ns >= border_ns(race, PLAY_RACE_STEPS))
			widen_history(race);
		if (!err)
			err = note_gaps(race, batch);
		if (err)
			return err;
		race->feed.ended = false;
	}
	return err;
}
