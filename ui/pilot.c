/* SPDX-License-Identifier: MIT */
/* The worker of pilot.h. */
#include "ui/pilot.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/thread.h"
#include "ui/format.h"

enum {
	SLICE_EVENTS = 60'000, /* events x lanes between two looks at the orders: some 20 ms */
	VIEWS = 3,
	FOLLOW_BEHIND = 64, /* rows of a list that lie behind the clock, at most */
};

static const uint64_t poll_ns = 500'000'000;

/* A search through the events, a chunk a slice. */
struct search {
	bool on, list; /* list: all events of a slot; else the next event, to go to */
	struct db_selector *selector;
	struct db_reader *reader; /* of pids */
	const char *cgroup[1];
	char text[128];
	uint32_t pid;
	uint8_t area;
	uint32_t slot;
};

struct queued {
	struct queued *next;
	struct ui_order order;
	uint32_t serial;
};

struct ui_pilot {
	struct ui_pilot_setting setting;
	struct zr_arena arena; /* of names; refilled when the trace has grown */
	struct db *trace;
	struct play_race *race;
	const char *kernel;
	uint64_t page_size;
	struct db_memcg *memcgs;
	struct db_task *tasks;
	size_t n_memcgs, n_tasks;
	struct ui_places places;

	uint64_t goal_ns, since_poll_ns;
	bool jumping;
	struct ui_ask ask;
	struct search search;
	struct ui_view *filling; /* what it has of its own goes from one view to the next */
	uint32_t executed;
	uint32_t said, moved;
	uint64_t map_cursor;
	char message[256];
	bool is_error;
	enum zr_err err;
	struct ui_list_view list;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t news;
	struct queued *first, **last;
	uint32_t ordered;
	struct ui_view *newest, *drawn;
	bool fresh; /* the newest has not been taken yet */
	bool threaded, quit;
	pthread_t thread;
	struct ui_view views[VIEWS];
};

/* --------------------------------------------------------------------------------------- saying */

__attribute__((format(printf, 2, 3))) static void say(struct ui_pilot *pilot, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pilot->message, sizeof(pilot->message), fmt, ap);
	va_end(ap);
	pilot->is_error = false;
	pilot->said++;
}

/* An order that failed is told, and the race goes on. */
static void tell(struct ui_pilot *pilot, enum zr_err err)
{
	if (!err)
		return;
	say(pilot, "%s", zr_error_text());
	pilot->is_error = true;
	zr_error_clear();
}

/* The race itself has failed. */
static void give_up(struct ui_pilot *pilot, enum zr_err err)
{
	tell(pilot, err);
	pilot->err = err;
}

/* --------------------------------------------------------------------------------------- set-up */

static enum zr_err read_names(struct ui_pilot *pilot)
{
	uint32_t host = play_race_host(pilot->race);
	enum zr_err err;

	zr_arena_fini(&pilot->arena);
	err = db_memcgs(pilot->trace, host, &pilot->arena, &pilot->memcgs, &pilot->n_memcgs);
	if (!err)
		err = db_tasks(pilot->trace, host, &pilot->arena, &pilot->tasks, &pilot->n_tasks);
	if (!err)
		err = db_env_get(pilot->trace, host, DB_ENV_KERNEL, &pilot->arena, &pilot->kernel);
	pilot->page_size = (uint64_t)db_env_int(pilot->trace, host, DB_ENV_PAGE_SIZE, 4096);
	return err ? err : ui_places_read(&pilot->places, pilot->race);
}

static enum zr_err make_race(struct ui_pilot *pilot, const char *const *policies, uint32_t n)
{
	const struct play_race_options options = { .policies = policies,
						   .n_policies = n,
						   .follow = pilot->setting.follow };
	enum zr_err err = play_race_new(pilot->trace, &options, &pilot->race);

	if (err)
		return err;
	if (pilot->goal_ns < play_race_clock_ns(pilot->race))
		pilot->goal_ns = play_race_clock_ns(pilot->race);
	return read_names(pilot);
}

/* A recording that has just begun: no file, no tables or no events yet. */
static bool is_early(enum zr_err err)
{
	return err == ZR_NO_DATA || err == ZR_NOT_FOUND || err == ZR_NOT_A_TRACE || err == ZR_BUSY;
}

static enum zr_err open_trace(struct ui_pilot *pilot)
{
	const struct ui_pilot_setting *setting = &pilot->setting;
	enum zr_err err = ZR_OK;

	if (!pilot->trace)
		err = db_open(setting->path, DB_READ, &pilot->trace);
	if (!err)
		err = make_race(pilot, setting->policies, setting->n_policies);
	if (!err)
		return ZR_OK;
	if (!setting->follow || !is_early(err))
		return err;
	zr_error_clear();
	if (pilot->trace && db_close(pilot->trace))
		zr_error_clear();
	pilot->trace = NULL;
	return ZR_OK;
}

enum zr_err ui_pilot_new(const struct ui_pilot_setting *setting, struct ui_pilot **out)
{
	struct ui_pilot *pilot = calloc(1, sizeof(*pilot));
	enum zr_err err;

	*out = NULL;
	if (!pilot)
		return zr_fail(ZR_NOMEM, "starting the dashboard: out of memory");
	pilot->setting = *setting;
	pilot->page_size = 4096;
	pilot->last = &pilot->first;
	pilot->filling = &pilot->views[0];
	pilot->newest = &pilot->views[1];
	pilot->drawn = &pilot->views[2];
	pthread_mutex_init(&pilot->lock, NULL);
	pthread_cond_init(&pilot->news, NULL);
	err = open_trace(pilot);
	if (err) {
		ui_pilot_free(pilot);
		return err;
	}
	ui_pilot_settle(pilot);
	*out = pilot;
	return ZR_OK;
}

static void end_search(struct search *search)
{
	db_selector_free(search->selector);
	db_reader_free(search->reader);
	*search = (struct search){ 0 };
}

static void end_thread(struct ui_pilot *pilot)
{
	if (!pilot->threaded)
		return;
	pthread_mutex_lock(&pilot->lock);
	pilot->quit = true;
	pthread_cond_signal(&pilot->news);
	pthread_mutex_unlock(&pilot->lock);
	pthread_join(pilot->thread, NULL);
}

void ui_pilot_free(struct ui_pilot *pilot)
{
	if (!pilot)
		return;
	end_thread(pilot);
	end_search(&pilot->search);
	play_race_free(pilot->race);
	ui_places_fini(&pilot->places);
	zr_arena_fini(&pilot->arena);
	/* It was only read; an error was told when it came. */
	if (pilot->trace && db_close(pilot->trace))
		zr_error_clear();
	while (pilot->first) {
		struct queued *next = pilot->first->next;

		free(pilot->first);
		pilot->first = next;
	}
	pthread_cond_destroy(&pilot->news);
	pthread_mutex_destroy(&pilot->lock);
	free(pilot);
}

/* ---------------------------------------------------------------------------------------- names */

static const struct db_memcg *find_memcg(const struct ui_pilot *pilot, uint32_t id)
{
	for (size_t i = 0; i < pilot->n_memcgs; i++)
		if (pilot->memcgs[i].id == id)
			return &pilot->memcgs[i];
	return NULL;
}

static void owner_text(const struct ui_pilot *pilot, uint16_t memcg, char *text, size_t bytes)
{
	const struct db_memcg *found = find_memcg(pilot, memcg);

	if (found && found->path[0])
		snprintf(text, bytes, "%s", found->path);
	else
		snprintf(text, bytes, memcg ? "cgroup #%u" : "unknown", memcg);
}

static uint32_t tid_of(const struct ui_pilot *pilot, uint32_t task)
{
	size_t low = 0, high = pilot->n_tasks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pilot->tasks[middle].id < task)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pilot->n_tasks && pilot->tasks[low].id == task ? pilot->tasks[low].tid : 0;
}

static bool is_pid(const struct ui_pilot *pilot, uint32_t task, uint32_t pid)
{
	for (size_t i = 0; i < pilot->n_tasks; i++)
		if (pilot->tasks[i].id == task)
			return pilot->tasks[i].tid == pid || pilot->tasks[i].tgid == pid;
	return false;
}

/* --------------------------------------------------------------------------------------- orders */

static void go(struct ui_pilot *pilot, uint64_t time_ns)
{
	pilot->jumping = false;
	pilot->goal_ns = time_ns;
	play_race_seek(pilot->race, time_ns);
}

static void order_tick(struct ui_pilot *pilot, const struct ui_order *order)
{
	uint64_t end_ns = play_race_end_ns(pilot->race);
	uint64_t clock_ns = play_race_clock_ns(pilot->race);

	if (pilot->jumping || clock_ns < pilot->goal_ns || clock_ns >= end_ns)
		return;
	pilot->goal_ns = order->time_ns < end_ns - clock_ns ? clock_ns + order->time_ns : end_ns;
}

static void rebuild(struct ui_pilot *pilot)
{
	char texts[PLAY_RACE_LANES][sizeof(((struct sim_policy *)0)->text)];
	const char *policies[PLAY_RACE_LANES];
	uint32_t n = play_race_lanes(pilot->race);

	for (uint32_t i = 0; i < n; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s",
			 play_race_lane(pilot->race, i).policy->text);
		policies[i] = texts[i];
	}
	end_search(&pilot->search);
	play_race_free(pilot->race);
	pilot->race = NULL;
	ui_places_fini(&pilot->places);
	give_up(pilot, make_race(pilot, policies, n));
}

static void order_poll(struct ui_pilot *pilot, const struct ui_order *order)
{
	bool outgrown = false, live;

	pilot->since_poll_ns += order->time_ns;
	if (!pilot->setting.follow || pilot->since_poll_ns < poll_ns)
		return;
	pilot->since_poll_ns = 0;
	if (!pilot->race) {
		give_up(pilot, open_trace(pilot));
		if (pilot->race)
			pilot->goal_ns = play_race_end_ns(pilot->race);
		return;
	}
	live = pilot->goal_ns >= play_race_end_ns(pilot->race);
	give_up(pilot, play_race_poll(pilot->race, &outgrown));
	if (outgrown)
		rebuild(pilot);
	else if (!pilot->err)
		give_up(pilot, read_names(pilot));
	if (pilot->race && live)
		pilot->goal_ns = play_race_end_ns(pilot->race);
}

static void order_go(struct ui_pilot *pilot, const struct ui_order *order)
{
	uint64_t first_ns = play_race_first_ns(pilot->race), end_ns = play_race_end_ns(pilot->race);
	uint64_t to = order->time_ns < first_ns ? first_ns : order->time_ns;

	go(pilot, to < end_ns ? to : end_ns);
}

static void order_stop(struct ui_pilot *pilot, const struct ui_order *order)
{
	(void)order;
	pilot->jumping = false;
	pilot->goal_ns = play_race_clock_ns(pilot->race);
	if (pilot->search.on)
		end_search(&pilot->search);
}

/* One nanosecond on, so that the gap is behind the cursor and the next order finds the next. */
static void order_gap(struct ui_pilot *pilot, const struct ui_order *order)
{
	uint64_t gap_ns;

	(void)order;
	if (play_race_next_gap(pilot->race, &gap_ns))
		go(pilot, gap_ns + 1);
	else
		say(pilot, "no gap from here on");
}

static bool has_lane(const struct ui_pilot *pilot, uint32_t lane)
{
	return lane < play_race_lanes(pilot->race);
}

static void order_jump(struct ui_pilot *pilot, const struct ui_order *order)
{
	if (!has_lane(pilot, order->lane))
		return;
	play_race_jump(pilot->race, order->jump, order->lane);
	pilot->jumping = true;
	pilot->goal_ns = play_race_clock_ns(pilot->race);
}

static void order_add(struct ui_pilot *pilot, const struct ui_order *order)
{
	tell(pilot, play_race_add(pilot->race, order->text));
}

static void order_replace(struct ui_pilot *pilot, const struct ui_order *order)
{
	if (has_lane(pilot, order->lane))
		tell(pilot, play_race_replace(pilot->race, order->lane, order->text));
}

static void order_remove(struct ui_pilot *pilot, const struct ui_order *order)
{
	if (!has_lane(pilot, order->lane))
		return;
	if (play_race_lanes(pilot->race) == 1) {
		say(pilot, "the last lane stays");
		return;
	}
	pilot->jumping = false;
	play_race_remove(pilot->race, order->lane);
}

static void order_store(struct ui_pilot *pilot, const struct ui_order *order)
{
	const char *path = pilot->setting.runs;
	struct db *results;
	enum zr_err err, closed;

	if (!has_lane(pilot, order->lane))
		return;
	err = db_open(path, DB_RESULTS, &results);
	if (!err) {
		err = play_race_store(pilot->race, order->lane, order->text, results);
		closed = db_close(results);
		err = err ? err : closed;
	}
	if (err)
		tell(pilot, err);
	else
		say(pilot, "lane %u is stored in %s", order->lane + 1, path);
}

/* ------------------------------------------------------------------------------------ searching */

static enum zr_err start_selector(struct ui_pilot *pilot, struct db_selection *selection)
{
	selection->one_host = true;
	selection->host = play_race_host(pilot->race);
	selection->kinds = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE | 1 << DB_WB;
	return db_selector_new(pilot->trace, selection, NULL, &pilot->search.selector);
}

static void order_list(struct ui_pilot *pilot, const struct ui_order *order)
{
	struct search *search = &pilot->search;
	struct db_selection selection = { .one_area = true, .some_slots = true };
	enum zr_err err;

	end_search(search);
	if (!ui_place_slot(&pilot->places, order->time_ns, &search->area, &search->slot))
		return;
	selection.area = search->area;
	selection.slot_first = selection.slot_last = search->slot;
	err = start_selector(pilot, &selection);
	search->on = !err;
	search->list = true;
	pilot->list = (struct ui_list_view){ .serial = pilot->list.serial + 1,
					     .area = search->area,
					     .slot = search->slot };
	tell(pilot, err);
}

static enum zr_err find_slot(struct ui_pilot *pilot, struct db_selection *selection,
			     const char *word)
{
	unsigned area = UINT32_MAX, slot;
	uint64_t place;

	if (strchr(word, ':') ? sscanf(word, "%u:%u", &area, &slot) != 2
			      : sscanf(word, "%u", &slot) != 1)
		return zr_fail(ZR_USAGE, "'%s' is not a slot: a number, or AREA:NUMBER", word);
	/* Of several areas, the first that has it. */
	for (uint32_t i = 0; area == UINT32_MAX && i <= DB_AREA_MAX; i++)
		if (ui_slot_place(&pilot->places, (uint8_t)i, slot, &place))
			area = i;
	if (area > DB_AREA_MAX || !ui_slot_place(&pilot->places, (uint8_t)area, slot, &place))
		return zr_fail(ZR_NO_DATA, "the trace has no events near slot %u", slot);
	selection->one_area = selection->some_slots = true;
	selection->area = area;
	selection->slot_first = selection->slot_last = slot;
	return start_selector(pilot, selection);
}

static enum zr_err find_pid(struct ui_pilot *pilot, uint64_t from_ns, const char *word)
{
	struct db_filter filter = { .from_ns = from_ns,
				    .kinds = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE | 1 << DB_WB,
				    .host = play_race_host(pilot->race) };

	if (!ui_parse_count(word, UINT32_MAX, &pilot->search.pid))
		return zr_fail(ZR_USAGE, "'%s' is not a process or thread id", word);
	return db_reader_new(pilot->trace, &filter, &pilot->search.reader);
}

static void order_find(struct ui_pilot *pilot, const struct ui_order *order)
{
	struct search *search = &pilot->search;
	uint64_t from_ns = play_race_clock_ns(pilot->race);
	struct db_selection selection = { .from = { DB_MOMENT_CLOCK, from_ns } };
	char kind[16], word[112];
	enum zr_err err;

	end_search(search);
	if (sscanf(order->text, "%15s %111s", kind, word) != 2)
		kind[0] = '\0';
	snprintf(search->text, sizeof(search->text), "%s", word);
	if (strcmp(kind, "slot") == 0) {
		err = find_slot(pilot, &selection, word);
	} else if (strcmp(kind, "cgroup") == 0) {
		search->cgroup[0] = search->text;
		selection.cgroups = search->cgroup;
		selection.n_cgroups = 1;
		err = start_selector(pilot, &selection);
	} else if (strcmp(kind, "pid") == 0) {
		err = find_pid(pilot, from_ns, word);
	} else {
		err = zr_fail(ZR_USAGE, "search for 'slot NUMBER', 'cgroup PATH' or 'pid NUMBER'");
	}
	search->on = !err;
	tell(pilot, err);
}

/* The list keeps the newest rows before the clock, and some behind it. */
static void add_row(struct ui_pilot *pilot, const struct db_event *event)
{
	struct ui_list_view *list = &pilot->list;
	bool is_behind = event->time_ns >= play_race_clock_ns(pilot->race);

	if (list->n == UI_LIST_ROWS && is_behind)
		return;
	if (list->n == UI_LIST_ROWS - (is_behind ? 0 : FOLLOW_BEHIND)) {
		list->n--;
		list->before++;
		memmove(list->rows, list->rows + 1, list->n * sizeof(list->rows[0]));
		memmove(list->owners, list->owners + 1, list->n * sizeof(list->owners[0]));
		memmove(list->tids, list->tids + 1, list->n * sizeof(list->tids[0]));
	}
	list->rows[list->n] = *event;
	owner_text(pilot, event->memcg, list->owners[list->n], sizeof(list->owners[0]));
	list->tids[list->n] = tid_of(pilot, event->task);
	list->n++;
}

static void found(struct ui_pilot *pilot, const struct db_event *event)
{
	uint64_t place;

	go(pilot, event->time_ns + 1);
	if (ui_slot_place(&pilot->places, event->area, event->slot, &place)) {
		pilot->map_cursor = place;
		pilot->moved++;
	}
	say(pilot, "%s of slot %u at %s", db_kind_name(event->kind), event->slot,
	    ui_clock(event->time_ns - play_race_first_ns(pilot->race)).text);
	end_search(&pilot->search);
}

/* True when the search is over. */
static bool search_batch(struct ui_pilot *pilot, const struct db_batch *batch)
{
	struct search *search = &pilot->search;

	for (uint32_t row = 0; row < batch->n; row++) {
		struct db_event event = db_batch_event(batch, row);

		if (search->list) {
			add_row(pilot, &event);
		} else if (!search->pid || is_pid(pilot, event.task, search->pid)) {
			found(pilot, &event);
			return true;
		}
	}
	return false;
}

static void search_on(struct ui_pilot *pilot)
{
	struct search *search = &pilot->search;
	const struct db_batch *batch;
	enum zr_err err = search->reader ? db_reader_next(search->reader, &batch)
					 : db_selector_next(search->selector, &batch);

	if (!err && batch) {
		search_batch(pilot, batch);
		return;
	}
	if (err)
		tell(pilot, err);
	else if (search->list)
		pilot->list.complete = true;
	else
		say(pilot, "not found from here to the end");
	end_search(search);
}

/* -------------------------------------------------------------------------------------- working */

static void order_ask(struct ui_pilot *pilot, const struct ui_order *order)
{
	pilot->ask = order->ask;
}

static void execute(struct ui_pilot *pilot, const struct ui_order *order)
{
	static const struct {
		void (*act)(struct ui_pilot *pilot, const struct ui_order *order);
		bool without_race;
	} acts[] = {
		[UI_ORDER_TICK] = { order_tick, false },
		[UI_ORDER_POLL] = { order_poll, true },
		[UI_ORDER_GO] = { order_go, false },
		[UI_ORDER_GAP] = { order_gap, false },
		[UI_ORDER_STOP] = { order_stop, false },
		[UI_ORDER_JUMP] = { order_jump, false },
		[UI_ORDER_ADD] = { order_add, false },
		[UI_ORDER_REPLACE] = { order_replace, false },
		[UI_ORDER_REMOVE] = { order_remove, false },
		[UI_ORDER_STORE] = { order_store, false },
		[UI_ORDER_LIST] = { order_list, false },
		[UI_ORDER_FIND] = { order_find, false },
		[UI_ORDER_ASK] = { order_ask, true },
	};

	if (!pilot->err && (pilot->race || acts[order->kind].without_race))
		acts[order->kind].act(pilot, order);
}

static struct queued *take_order(struct ui_pilot *pilot)
{
	struct queued *order;

	pthread_mutex_lock(&pilot->lock);
	order = pilot->first;
	if (order)
		pilot->first = order->next;
	if (!pilot->first)
		pilot->last = &pilot->first;
	pthread_mutex_unlock(&pilot->lock);
	return order;
}

static void execute_all(struct ui_pilot *pilot)
{
	struct queued *queued;

	while ((queued = take_order(pilot))) {
		execute(pilot, &queued->order);
		pilot->executed = queued->serial;
		free(queued);
	}
}

/* A slice of whatever there is to do; true if more is left. */
static bool move_on(struct ui_pilot *pilot)
{
	uint64_t budget = SLICE_EVENTS / play_race_lanes(pilot->race);
	bool there = true, all;
	enum zr_err err = ZR_OK;

	if (pilot->jumping) {
		err = play_race_jump_on(pilot->race, budget, &there);
		pilot->jumping = !there && !err;
		pilot->goal_ns = play_race_clock_ns(pilot->race);
	} else if (play_race_clock_ns(pilot->race) < pilot->goal_ns) {
		err = play_race_advance(pilot->race, pilot->goal_ns, budget, &there);
	}
	if (!err)
		err = play_race_catch_up(pilot->race, budget, &all);
	if (err) {
		give_up(pilot, err);
		return false;
	}
	if (pilot->search.on)
		search_on(pilot);
	return !there || !all || pilot->search.on ||
	       play_race_clock_ns(pilot->race) < pilot->goal_ns;
}

static void publish(struct ui_pilot *pilot, bool busy)
{
	struct ui_view *view = pilot->filling;

	view->ready = false;
	if (pilot->race) {
		ui_view_fill(view, pilot->race, &pilot->places, &pilot->ask);
		if (view->at_cursor.known)
			owner_text(pilot, view->at_cursor.it.memcg, view->at_cursor.owner,
				   sizeof(view->at_cursor.owner));
	}
	snprintf(view->kernel, sizeof(view->kernel), "%s", pilot->kernel ? pilot->kernel : "");
	snprintf(view->trace_id, sizeof(view->trace_id), "%s",
		 pilot->trace ? db_trace_id(pilot->trace) : "");
	view->page_size = pilot->page_size;
	view->follow = pilot->setting.follow;
	view->searching = pilot->search.on;
	view->goal_ns = pilot->goal_ns;
	view->busy = busy;
	view->executed = pilot->executed;
	view->list = pilot->list;
	view->said = pilot->said;
	memcpy(view->message, pilot->message, sizeof(view->message));
	view->is_error = pilot->is_error;
	view->moved = pilot->moved;
	view->map_cursor = pilot->map_cursor;
	view->err = pilot->err;
	pthread_mutex_lock(&pilot->lock);
	pilot->filling = pilot->newest;
	pilot->newest = view;
	pilot->fresh = true;
	pthread_mutex_unlock(&pilot->lock);
}

static bool is_fresh(struct ui_pilot *pilot)
{
	bool fresh;

	pthread_mutex_lock(&pilot->lock);
	fresh = pilot->fresh;
	pthread_mutex_unlock(&pilot->lock);
	return fresh;
}

/* A view is filled when the last one has been taken, and at the end of all work. */
static bool work(struct ui_pilot *pilot)
{
	bool busy;

	execute_all(pilot);
	busy = pilot->race && !pilot->err && move_on(pilot);
	if (!busy || !is_fresh(pilot))
		publish(pilot, busy);
	return busy;
}

void ui_pilot_settle(struct ui_pilot *pilot)
{
	while (work(pilot))
		;
}

static bool wait_for_orders(struct ui_pilot *pilot)
{
	bool quit;

	pthread_mutex_lock(&pilot->lock);
	while (!pilot->first && !pilot->quit)
		pthread_cond_wait(&pilot->news, &pilot->lock);
	quit = pilot->quit;
	pthread_mutex_unlock(&pilot->lock);
	return !quit;
}

static bool must_quit(struct ui_pilot *pilot)
{
	bool quit;

	pthread_mutex_lock(&pilot->lock);
	quit = pilot->quit;
	pthread_mutex_unlock(&pilot->lock);
	return quit;
}

static void *run(void *arg)
{
	struct ui_pilot *pilot = arg;

	while (wait_for_orders(pilot))
		while (work(pilot) && !must_quit(pilot))
			;
	return NULL;
}

enum zr_err ui_pilot_start(struct ui_pilot *pilot)
{
	int errnum = zr_thread_start(&pilot->thread, run, pilot);

	if (errnum)
		return zr_fail_errno(errnum, "starting the dashboard's worker");
	pilot->threaded = true;
	return ZR_OK;
}

uint32_t ui_pilot_order(struct ui_pilot *pilot, const struct ui_order *order)
{
	struct queued *queued = malloc(sizeof(*queued));
	uint32_t serial;

	pthread_mutex_lock(&pilot->lock);
	if (queued) {
		*queued = (struct queued){ NULL, *order, ++pilot->ordered };
		*pilot->last = queued;
		pilot->last = &queued->next;
		pthread_cond_signal(&pilot->news);
	}
	serial = pilot->ordered;
	pthread_mutex_unlock(&pilot->lock);
	return serial;
}

const struct ui_view *ui_pilot_view(struct ui_pilot *pilot)
{
	struct ui_view *view;

	pthread_mutex_lock(&pilot->lock);
	if (pilot->fresh) {
		view = pilot->newest;
		pilot->newest = pilot->drawn;
		pilot->drawn = view;
		pilot->fresh = false;
	}
	view = pilot->drawn;
	pthread_mutex_unlock(&pilot->lock);
	return view;
}
