/* SPDX-License-Identifier: MIT */
/* What keys and the mouse do; one table for acting, for the help and for the footer. See dash.h. */
#include "ui/dash.h"

#include <stdio.h>
#include <string.h>

enum { ZOOM_MAX = 40, PAGE_ROWS = 10 };

static const uint64_t second = 1'000'000'000;

/* --------------------------------------------------------------------------------------- moving */

static void toggle_play(struct ui_dash *dash, int key)
{
	(void)key;
	dash->playing = !dash->playing;
	if (!dash->playing)
		ui_dash_order(dash, &(struct ui_order){ .kind = UI_ORDER_STOP });
	else if (!dash->view->follow && dash->view->clock_ns >= dash->view->end_ns)
		ui_dash_go(dash, dash->view->first_ns);
}

static void jump(struct ui_dash *dash, enum play_jump to)
{
	dash->playing = false;
	ui_dash_order(dash, &(struct ui_order){
				    .kind = UI_ORDER_JUMP, .jump = to, .lane = dash->selected });
}

static void jump_key(struct ui_dash *dash, int key)
{
	static const struct {
		int key;
		enum play_jump to;
	} jumps[] = { { '.', PLAY_TO_EVENT },
		      { 'w', PLAY_TO_WALK },
		      { 'k', PLAY_TO_WAKEUP },
		      { 'r', PLAY_TO_STORM },
		      { 'b', PLAY_TO_BURST } };

	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++)
		if (jumps[i].key == key)
			jump(dash, jumps[i].to);
}

static void next_gap(struct ui_dash *dash, int key)
{
	(void)key;
	dash->playing = false;
	ui_dash_order(dash, &(struct ui_order){ .kind = UI_ORDER_GAP });
}

static void one_second(struct ui_dash *dash, int key)
{
	(void)key;
	dash->playing = false;
	ui_dash_go(dash, dash->target_ns + second);
}

static void change_speed(struct ui_dash *dash, int key)
{
	bool faster = key == '+' || key == '=';

	if (faster && !ui_dash_is_fastest(dash))
		dash->speed++;
	else if (!faster && dash->speed > 0)
		dash->speed--;
}

static void full_speed(struct ui_dash *dash, int key)
{
	(void)key;
	ui_dash_set_speed(dash, 1e9);
	dash->playing = true;
}

static void seek_by(struct ui_dash *dash, int percent)
{
	const struct ui_view *view = dash->view;
	uint64_t span = view->end_ns - view->first_ns;
	uint64_t step = span / 100 * (uint64_t)(percent < 0 ? -percent : percent) + 1;
	uint64_t at = dash->target_ns > view->first_ns ? dash->target_ns - view->first_ns : 0;

	if (percent < 0)
		at = at > step ? at - step : 0;
	else
		at = at < span && span - at > step ? at + step : span;
	ui_dash_go(dash, view->first_ns + at);
}

static void seek_little(struct ui_dash *dash, int key)
{
	seek_by(dash, key == UI_KEY_LEFT || key == 'h' ? -1 : 1);
}

static void seek_far(struct ui_dash *dash, int key)
{
	seek_by(dash, key == UI_KEY_SHIFT_LEFT || key == 'H' ? -10 : 10);
}

static void seek_end(struct ui_dash *dash, int key)
{
	ui_dash_go(dash, key == UI_KEY_HOME ? dash->view->first_ns : dash->view->end_ns);
}

/* ------------------------------------------------------------------------------------ bookmarks */

static void toggle_bookmark(struct ui_dash *dash, int key)
{
	uint64_t now = dash->view->clock_ns;
	uint32_t i = 0;

	(void)key;
	while (i < dash->n_bookmarks && dash->bookmarks[i] < now)
		i++;
	if (i < dash->n_bookmarks && dash->bookmarks[i] == now) {
		dash->n_bookmarks--;
		memmove(&dash->bookmarks[i], &dash->bookmarks[i + 1],
			(dash->n_bookmarks - i) * sizeof(now));
		return;
	}
	if (dash->n_bookmarks == UI_BOOKMARKS) {
		ui_dash_say(dash, "there are %d bookmarks already", UI_BOOKMARKS);
		return;
	}
	memmove(&dash->bookmarks[i + 1], &dash->bookmarks[i],
		(dash->n_bookmarks - i) * sizeof(now));
	dash->bookmarks[i] = now;
	dash->n_bookmarks++;
}

static void to_bookmark(struct ui_dash *dash, int key)
{
	const uint64_t *found = NULL;

	for (uint32_t i = 0; i < dash->n_bookmarks; i++) {
		bool before = dash->bookmarks[i] < dash->target_ns;

		if (key == '[' && before)
			found = &dash->bookmarks[i];
		if (key == ']' && !found && dash->bookmarks[i] > dash->target_ns)
			found = &dash->bookmarks[i];
	}
	if (found)
		ui_dash_go(dash, *found);
}

/* ---------------------------------------------------------------------------------------- lanes */

static void next_lane(struct ui_dash *dash, int key)
{
	(void)key;
	if (ui_dash_lanes(dash))
		dash->selected = (dash->selected + 1) % ui_dash_lanes(dash);
}

static void pick_lane(struct ui_dash *dash, int key)
{
	uint32_t lane = (uint32_t)(key - '1');

	if (lane < ui_dash_lanes(dash))
		dash->selected = lane;
}

static const char *policy_text(const struct ui_dash *dash)
{
	return dash->view->lanes[dash->selected].policy.text;
}

static void edit_lane(struct ui_dash *dash, int key)
{
	(void)key;
	ui_prompt_open(dash, UI_PROMPT_EDIT, policy_text(dash));
}

static void add_lane(struct ui_dash *dash, int key)
{
	(void)key;
	ui_prompt_open(dash, UI_PROMPT_ADD, "");
}

static void clone_lane(struct ui_dash *dash, int key)
{
	struct ui_order order = { .kind = UI_ORDER_ADD };

	(void)key;
	snprintf(order.text, sizeof(order.text), "%s", policy_text(dash));
	ui_dash_order(dash, &order);
}

static void remove_lane(struct ui_dash *dash, int key)
{
	(void)key;
	ui_dash_order(dash, &(struct ui_order){ .kind = UI_ORDER_REMOVE, .lane = dash->selected });
}

static void open_prompt(struct ui_dash *dash, int key)
{
	char name[UI_PROMPT_MAX + 1] = "";

	switch (key) {
	case 'n':
		ui_prompt_open(dash, UI_PROMPT_STORE, policy_text(dash));
		return;
	case '/':
		ui_prompt_open(dash, UI_PROMPT_FIND, "slot ");
		return;
	case 's':
		ui_prompt_open(dash, UI_PROMPT_SCREEN, "zreel.svg");
		return;
	default:
		snprintf(name, sizeof(name), "%s.session", dash->title);
		ui_prompt_open(dash, key == 'W' ? UI_PROMPT_SAVE_SESSION : UI_PROMPT_LOAD_SESSION,
			       name);
	}
}

/* ----------------------------------------------------------------------------- panels and modes */

static void next_panel(struct ui_dash *dash, int key)
{
	unsigned step = key == 'v' ? 1 : UI_PANEL_COUNT - 1;

	dash->panel = (dash->panel + step) % UI_PANEL_COUNT;
}

static void enter_map(struct ui_dash *dash, int key)
{
	struct ui_layout layout = ui_layout_of(dash->w, dash->h, dash->panel);
	struct ui_rect rect;

	(void)key;
	if (!ui_layout_find(&layout, UI_PANEL_MAP, &rect))
		dash->panel = UI_PANEL_MAP;
	dash->mode = UI_MODE_MAP;
}

static void leave(struct ui_dash *dash, int key)
{
	(void)key;
	dash->mode = dash->mode == UI_MODE_LIST ? UI_MODE_MAP : UI_MODE_RACE;
}

static void toggle_help(struct ui_dash *dash, int key)
{
	(void)key;
	dash->mode = UI_MODE_HELP;
}

static void quit(struct ui_dash *dash, int key)
{
	(void)key;
	dash->quit = true;
}

/* ------------------------------------------------------------------------------------------ map */

static void move_cursor(struct ui_dash *dash, int64_t slots)
{
	uint64_t all = dash->view->map_all;

	if (slots < 0 && (uint64_t)-slots > dash->map_cursor)
		dash->map_cursor = 0;
	else
		dash->map_cursor += (uint64_t)slots;
	if (all && dash->map_cursor >= all)
		dash->map_cursor = all - 1;
}

static void move_on_map(struct ui_dash *dash, int key)
{
	struct ui_layout layout = ui_layout_of(dash->w, dash->h, dash->panel);
	struct ui_map_window map = ui_dash_map_window(dash);
	struct ui_rect rect = { 0 };
	int64_t spot, row;

	if (!map.spots || !ui_layout_find(&layout, UI_PANEL_MAP, &rect))
		return;
	spot = (int64_t)(map.slots / map.spots);
	spot = spot ? spot : 1;
	row = (int64_t)(map.slots * (uint64_t)rect.w * (map.halves ? 2 : 1) / map.spots);
	if (key == UI_KEY_LEFT || key == UI_KEY_RIGHT)
		move_cursor(dash, key == UI_KEY_LEFT ? -spot : spot);
	else if (key == UI_KEY_UP || key == UI_KEY_DOWN)
		move_cursor(dash, key == UI_KEY_UP ? -row : row);
	else if (key == UI_KEY_HOME)
		dash->map_cursor = 0;
	else
		move_cursor(dash, INT64_MAX / 2);
}

static void zoom(struct ui_dash *dash, int key)
{
	struct ui_map_window map = ui_dash_map_window(dash);

	if (key == '0')
		dash->zoom = 0;
	else if (key == '-')
		dash->zoom -= dash->zoom > 0;
	else if (!map.singles && dash->zoom < ZOOM_MAX)
		dash->zoom++;
}

static void list_slot(struct ui_dash *dash, int key)
{
	(void)key;
	dash->mode = UI_MODE_LIST;
	dash->list_row = 0;
	ui_dash_order(dash,
		      &(struct ui_order){ .kind = UI_ORDER_LIST, .time_ns = dash->map_cursor });
}

/* ----------------------------------------------------------------------------------------- list */

static void move_in_list(struct ui_dash *dash, int key)
{
	int n = (int)dash->view->list.n, row = dash->list_row;

	row += key == UI_KEY_UP	       ? -1
	       : key == UI_KEY_DOWN    ? 1
	       : key == UI_KEY_PAGE_UP ? -PAGE_ROWS
				       : PAGE_ROWS;
	dash->list_row = row < 0 || !n ? 0 : row < n ? row : n - 1;
}

/* Right behind the event, so that what it did is seen. */
static void go_to_row(struct ui_dash *dash, int key)
{
	const struct ui_list_view *list = &dash->view->list;

	(void)key;
	if (dash->list_row >= (int)list->n)
		return;
	dash->playing = false;
	ui_dash_go(dash, list->rows[dash->list_row].time_ns + 1);
}

/* ---------------------------------------------------------------------------------------- table */

enum {
	RACE = UI_MODE_RACE,
	MAP = UI_MODE_MAP,
	LIST = UI_MODE_LIST,
	MOVE = RACE | MAP,
	LIVE = UI_MODE_LIVE,
	ALL = RACE | MAP | LIST,
};

static const struct ui_key_row key_rows[] = {
	{ { ' ' }, "space", "play, pause", "play", ALL, toggle_play },
	{ { '.' }, ".", "one event on", "event", MOVE, jump_key },
	{ { 'w' }, "w", "next walk that writes", "walk", MOVE, jump_key },
	{ { ',' }, ",", "one second on", NULL, MOVE, one_second },
	{ { '+', '=', '-' }, "+ -", "faster, slower", "speed", RACE, change_speed },
	{ { '*' }, "*", "as fast as it goes", NULL, MOVE, full_speed },
	{ { UI_KEY_LEFT, UI_KEY_RIGHT, 'h', 'l' },
	  "left right",
	  "1% back, on (h l)",
	  NULL,
	  RACE,
	  seek_little },
	{ { UI_KEY_SHIFT_LEFT, UI_KEY_SHIFT_RIGHT, 'H', 'L' },
	  "shift + these",
	  "10% back, on (H L)",
	  NULL,
	  MOVE,
	  seek_far },
	{ { UI_KEY_HOME, UI_KEY_END }, "home end", "to start, to end", NULL, RACE, seek_end },
	{ { 'g' }, "g", "next gap: lost events", "gap", MOVE, next_gap },
	{ { 'r' }, "r", "next storm of rejects", NULL, MOVE, jump_key },
	{ { 'b' }, "b", "next burst of swap-outs", NULL, MOVE, jump_key },
	{ { 'k' }, "k", "next wake-up of worker", NULL, MOVE, jump_key },
	{ { 'm' }, "m", "set, drop a bookmark", NULL, MOVE, toggle_bookmark },
	{ { '[', ']' }, "[ ]", "bookmark before, after", NULL, MOVE, to_bookmark },
	{ { '/' }, "/", "search slot, cgroup, pid", "search", MOVE, open_prompt },
	{ { UI_KEY_TAB }, "tab", "next lane", "lane", MOVE | LIVE, next_lane },
	{ { '1', '2', '3', '4', '5', '6' }, "1 - 6", "pick a lane", NULL, MOVE | LIVE, pick_lane },
	{ { 'e' }, "e", "edit the lane's knobs", "edit", RACE, edit_lane },
	{ { 'a' }, "a", "add a lane", "add", RACE, add_lane },
	{ { 'c' }, "c", "clone the lane", NULL, RACE, clone_lane },
	{ { 'x' }, "x", "remove the lane", NULL, RACE, remove_lane },
	{ { 'n' }, "n", "store lane as a named run", NULL, RACE, open_prompt },
	{ { 'W', 'O' }, "W O", "store, load a session", NULL, RACE, open_prompt },
	{ { 'v', 'V' }, "v V", "other panels", "view", MOVE, next_panel },
	{ { 'f' }, "f", "move on the map", "map", RACE, enter_map },
	{ { UI_KEY_LEFT, UI_KEY_RIGHT, UI_KEY_UP, UI_KEY_DOWN, UI_KEY_HOME, UI_KEY_END },
	  "map: arrows",
	  "move the cursor",
	  NULL,
	  MAP,
	  move_on_map },
	{ { '+', '=', '-', '0' }, "map: + - 0", "zoom in, out, fit", "zoom", MAP, zoom },
	{ { UI_KEY_ENTER }, "map: enter", "events of the slot", "events", MAP, list_slot },
	{ { UI_KEY_UP, UI_KEY_DOWN, UI_KEY_PAGE_UP, UI_KEY_PAGE_DOWN },
	  "list: up down",
	  "choose an event",
	  "choose",
	  LIST,
	  move_in_list },
	{ { UI_KEY_ENTER }, "list: enter", "go to the event", "go", LIST, go_to_row },
	{ { UI_KEY_ESCAPE, 'f' }, "esc", "leave list, map", "back", MAP | LIST, leave },
	{ { 's' }, "s", "write the screen to file", NULL, ALL | LIVE, open_prompt },
	{ { '?' }, "?", "this help", "help", ALL | LIVE, toggle_help },
	{ { 'q' }, "q", "quit", "quit", ALL | LIVE | UI_MODE_HELP, quit },
	{ .shown = NULL },
};

const struct ui_key_row *ui_dash_keys(void)
{
	return key_rows;
}

static bool row_has(const struct ui_key_row *row, int key)
{
	for (size_t i = 0; i < sizeof(row->keys) / sizeof(row->keys[0]) && row->keys[i]; i++)
		if (row->keys[i] == key)
			return true;
	return false;
}

/* A replay that is really being done goes its own way. */
static void say_not_live(struct ui_dash *dash, int key)
{
	for (const struct ui_key_row *row = key_rows; row->shown; row++)
		if (row->modes & UI_MODE_RACE && row_has(row, key)) {
			ui_dash_say(dash, "%s (%s): not while it is being done on %s", row->shown,
				    row->help, dash->live_view.target);
			return;
		}
}

void ui_dash_key(struct ui_dash *dash, int key)
{
	if (key == '\r')
		key = UI_KEY_ENTER;
	if (dash->mode == UI_MODE_PROMPT) {
		ui_prompt_key(dash, key);
		return;
	}
	/* Any key but q closes the help, and does nothing else. */
	if (dash->mode == UI_MODE_HELP && key != 'q') {
		dash->mode = ui_dash_home(dash);
		return;
	}
	for (const struct ui_key_row *row = key_rows; row->shown; row++)
		if (row->modes & dash->mode && row_has(row, key)) {
			row->act(dash, key);
			return;
		}
	if (dash->mode == UI_MODE_LIVE)
		say_not_live(dash, key);
}

/* ---------------------------------------------------------------------------------------- mouse */

static void click_timeline(struct ui_dash *dash, const struct ui_layout *layout, int x)
{
	const struct ui_view *view = dash->view;
	int w = layout->timeline.w - 2, at = x - layout->timeline.x - 1;

	if (w < 2 || at < 0 || at >= w)
		return;
	ui_dash_go(dash, view->first_ns + (view->end_ns - view->first_ns) / (uint64_t)(w - 1) *
						  (uint64_t)at);
}

static void click_lane(struct ui_dash *dash, const struct ui_layout *layout,
		       const struct ui_mouse *mouse)
{
	int first, shown;

	if (!ui_dash_lanes(dash))
		return;
	ui_layout_lanes(layout, (int)ui_dash_lanes(dash), (int)dash->selected, &first, &shown);
	for (int i = 0; i < shown; i++)
		if (ui_rect_has(ui_layout_lane(layout, i, shown), mouse->x, mouse->y))
			dash->selected = (uint32_t)(first + i);
}

static void click_map(struct ui_dash *dash, struct ui_rect map, const struct ui_mouse *mouse)
{
	struct ui_rect spots = ui_layout_spots(map);
	struct ui_map_window window = ui_dash_map_window(dash);
	uint64_t at;

	dash->mode = UI_MODE_MAP;
	if (!window.spots || !ui_rect_has(spots, mouse->x, mouse->y))
		return;
	at = (uint64_t)(mouse->y - spots.y) * (window.halves ? 2 : 1) * (uint64_t)spots.w +
	     (uint64_t)(mouse->x - spots.x);
	if (at < window.spots)
		dash->map_cursor = window.at + window.slots * at / window.spots;
}

void ui_dash_mouse(struct ui_dash *dash, const struct ui_mouse *mouse)
{
	struct ui_layout layout = ui_layout_of(dash->w, dash->h, dash->panel);
	struct ui_rect map = { 0 };
	bool on_map;

	if (dash->live) {
		layout.lanes.h = dash->h - 2;
		if (!layout.too_small && mouse->kind == UI_MOUSE_PRESS && dash->mode == UI_MODE_LIVE)
			click_lane(dash, &layout, mouse);
		return;
	}
	on_map = !layout.too_small && ui_layout_find(&layout, UI_PANEL_MAP, &map) &&
		      ui_rect_has(map, mouse->x, mouse->y);

	if (layout.too_small || dash->mode == UI_MODE_PROMPT || dash->mode == UI_MODE_HELP ||
	    !dash->view->ready)
		return;
	if (mouse->kind != UI_MOUSE_PRESS) {
		int key = mouse->kind == UI_MOUSE_WHEEL_UP ? '+' : '-';

		if (on_map)
			zoom(dash, key);
		else
			seek_by(dash, key == '+' ? -1 : 1);
	} else if (ui_rect_has(layout.timeline, mouse->x, mouse->y)) {
		click_timeline(dash, &layout, mouse->x);
	} else if (ui_rect_has(layout.lanes, mouse->x, mouse->y)) {
		click_lane(dash, &layout, mouse);
	} else if (on_map) {
		click_map(dash, map, mouse);
	}
}
