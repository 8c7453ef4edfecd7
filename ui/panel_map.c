/* SPDX-License-Identifier: MIT */
/*
 * The map of the slots that the trace touches, of the selected lane, and the list of a slot's
 * events.
 *
 * The map reads like a page: slots ascend to the right, then down. From afar a cell is two spots of
 * many slots, told apart by colour (or one, where there are no colours); with a slot a cell, pages
 * that one swap I/O wrote are joined to a line.
 */
#include <stdio.h>
#include <string.h>

#include "ui/panels.h"
#include "ui/text.h"

static const struct {
	enum ui_role role;
	enum ui_glyph glyph; /* where colours cannot tell; COUNT = the ASCII one */
	char ascii;
} looks[UI_SPOT_COUNT] = {
	[UI_SPOT_FREE] = { UI_ROLE_DIM, UI_GLYPH_DOT, '.' },
	[UI_SPOT_ZSWAP] = { UI_ROLE_ZSWAP, UI_GLYPH_COUNT, 'Z' },
	[UI_SPOT_ZSWAP_10S] = { UI_ROLE_ZSWAP_10S, UI_GLYPH_COUNT, 'z' },
	[UI_SPOT_ZSWAP_OLD] = { UI_ROLE_ZSWAP_OLD, UI_GLYPH_SHADE, 'o' },
	[UI_SPOT_DISK] = { UI_ROLE_DISK, UI_GLYPH_FULL, '#' },
	[UI_SPOT_WRITING] = { UI_ROLE_WRITING, UI_GLYPH_DIAMOND, '*' },
	[UI_SPOT_UNKNOWN] = { UI_ROLE_UNKNOWN, UI_GLYPH_COUNT, '?' },
	[UI_SPOT_ZERO] = { UI_ROLE_ZERO, UI_GLYPH_LOWER, '0' },
	[UI_SPOT_CACHED] = { UI_ROLE_CACHED, UI_GLYPH_UPPER, 'm' },
};

static enum ui_spot kind_of(uint8_t spot)
{
	unsigned kind = spot & UI_SPOT_KIND;

	return kind < UI_SPOT_COUNT ? (enum ui_spot)kind : UI_SPOT_FREE;
}

static struct ui_cell whole_cell(const struct ui_grid *grid, enum ui_spot spot)
{
	uint32_t code = grid->ascii || looks[spot].glyph == UI_GLYPH_COUNT
				? (uint32_t)looks[spot].ascii
				: ui_glyph(grid, looks[spot].glyph);

	return (struct ui_cell){ code, (uint8_t)looks[spot].role, 0 };
}

static struct ui_cell half_cell(const struct ui_grid *grid, enum ui_spot upper, enum ui_spot lower)
{
	if (upper == lower)
		return ui_glyph_cell(grid, upper == UI_SPOT_FREE ? UI_GLYPH_DOT : UI_GLYPH_FULL,
				     looks[upper].role);
	if (upper == UI_SPOT_FREE)
		return ui_glyph_cell(grid, UI_GLYPH_LOWER, looks[lower].role);
	return (struct ui_cell){ ui_glyph(grid, UI_GLYPH_UPPER), (uint8_t)looks[upper].role,
				 lower == UI_SPOT_FREE ? 0 : (uint8_t)looks[lower].role };
}

/* One slot: on disk, its place in its run. */
static struct ui_cell single_cell(const struct ui_grid *grid, const struct ui_view *view,
				  uint32_t i)
{
	enum ui_spot spot = kind_of(view->spots[i]);
	bool joins = view->spots[i] & UI_SPOT_JOINS;
	bool joined = i && view->spots[i - 1] & UI_SPOT_JOINS;

	if (spot != UI_SPOT_DISK && spot != UI_SPOT_WRITING)
		return whole_cell(grid, spot);
	return ui_glyph_cell(grid,
			     joins    ? UI_GLYPH_RUN
			     : joined ? UI_GLYPH_RUN_END
				      : UI_GLYPH_ALONE,
			     looks[spot].role);
}

static struct ui_cell cell_of(const struct ui_grid *grid, const struct ui_view *view,
			      const struct ui_map_window *window, struct ui_rect rect, int x, int y)
{
	uint32_t upper = (uint32_t)((window->halves ? 2 * y : y) * rect.w + x);
	uint32_t lower = upper + (uint32_t)rect.w;

	if (upper >= view->ask.spots)
		return (struct ui_cell){ ' ', UI_ROLE_NORMAL, 0 };
	if (window->singles)
		return single_cell(grid, view, upper);
	if (!window->halves)
		return whole_cell(grid, kind_of(view->spots[upper]));
	return half_cell(grid, kind_of(view->spots[upper]),
			 lower < view->ask.spots ? kind_of(view->spots[lower]) : UI_SPOT_FREE);
}

static void draw_spots(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
		       const struct ui_map_window *window)
{
	for (int y = 0; y < rect.h; y++)
		for (int x = 0; x < rect.w; x++)
			ui_grid_put(grid, rect.x + x, rect.y + y,
				    cell_of(grid, dash->view, window, rect, x, y));
}

/* A background where a colour can be one; else the cell itself is marked. */
static void draw_cursor(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash,
			const struct ui_map_window *window)
{
	uint64_t spot =
		window->slots ? (dash->map_cursor - window->at) * window->spots / window->slots : 0;
	int row = (int)(spot / (uint64_t)rect.w), y = window->halves ? row / 2 : row;

	if (dash->map_cursor < window->at || y >= rect.h)
		return;
	ui_grid_put(grid, rect.x + (int)(spot % (uint64_t)rect.w), rect.y + y,
		    (struct ui_cell){ 'X', UI_ROLE_SELECTED, 0 });
}

static void draw_legend(struct ui_grid *grid, struct ui_rect rect, bool halves)
{
	struct ui_pen pen = ui_pen_at(grid, rect, rect.h - 1);

	for (int i = 0; i < UI_SPOT_COUNT; i++) {
		struct ui_cell cell = whole_cell(grid, (enum ui_spot)i);
		const char *name = ui_spot_name((enum ui_spot)i);

		if (pen.x + 2 + (int)strlen(name) > pen.end)
			return;
		if (halves && i != UI_SPOT_FREE)
			cell.code = ui_glyph(grid, UI_GLYPH_FULL);
		ui_grid_put(grid, pen.x, pen.y, cell);
		pen.x++;
		ui_pen_printf(&pen, UI_ROLE_DIM, "%s ", name);
	}
}

static const char *state_text(const struct play_slot *slot)
{
	static const char *const texts[] = {
		[SIM_SLOT_FREE] = "free",
		[SIM_SLOT_ZSWAP] = "in zswap",
		[SIM_SLOT_DISK] = "on disk",
		[SIM_SLOT_ZERO] = "zero-filled",
		[SIM_SLOT_CACHED] = "in memory only",
		[SIM_SLOT_UNKNOWN] = "not a slot",
	};

	return texts[slot->state];
}

/* What is under the cursor. */
static void draw_slot(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	const struct ui_slot_view *at = &dash->view->at_cursor;
	struct ui_pen pen = ui_pen_at(grid, rect, rect.h - 2);

	if (dash->mode != UI_MODE_MAP || !at->known) {
		ui_pen_text(
			&pen, UI_ROLE_DIM,
			"f or a click puts a cursor on the map: who owns a slot, and its events");
		return;
	}
	ui_pen_printf(&pen, UI_ROLE_BOLD, "slot %u:%s ", at->area, ui_count(at->slot).text);
	ui_pen_text(&pen, UI_ROLE_NORMAL, state_text(&at->it));
	if (at->it.unknown)
		ui_pen_text(&pen, UI_ROLE_UNKNOWN, ", unknown since a gap");
	if (at->it.since_ns && dash->view->clock_ns >= at->it.since_ns)
		ui_pen_printf(&pen, UI_ROLE_NORMAL, ", out for %s",
			      ui_span(dash->view->clock_ns - at->it.since_ns).text);
	if (at->it.state != SIM_SLOT_FREE) {
		if (at->it.len)
			ui_pen_printf(&pen, UI_ROLE_DIM, ", %u B", at->it.len);
		ui_pen_text(&pen, UI_ROLE_DIM, ", ");
		ui_pen_text(&pen, UI_ROLE_DIM, at->owner);
	}
}

/* ----------------------------------------------------------------------------------------- list */

static void draw_row(struct ui_grid *grid, struct ui_rect rect, int row, const struct ui_dash *dash,
		     uint32_t i)
{
	const struct ui_list_view *list = &dash->view->list;
	const struct db_event *event = &list->rows[i];
	bool chosen = (int)i == dash->list_row;
	enum ui_role role = chosen				     ? UI_ROLE_SELECTED
			    : event->time_ns >= dash->view->clock_ns ? UI_ROLE_DIM
								     : UI_ROLE_NORMAL;
	struct ui_pen pen = ui_pen_at(grid, rect, row);
	const char *outcome = db_event_outcome(event);

	if (chosen)
		ui_grid_fill(grid, (struct ui_rect){ rect.x, rect.y + row, rect.w, 1 },
			     (struct ui_cell){ ' ', UI_ROLE_SELECTED, 0 });
	ui_pen_printf(&pen, role, "%14s  %-7s %-9s",
		      ui_clock(event->time_ns - dash->view->first_ns).text,
		      db_kind_name(event->kind), outcome ? outcome : "");
	if (event->kind == DB_OUT && event->len)
		ui_pen_printf(&pen, role, " %5u B", event->len);
	else
		ui_pen_text(&pen, role, "        ");
	if (list->tids[i])
		ui_pen_printf(&pen, role, "  tid %-7u ", list->tids[i]);
	ui_pen_text(&pen, role, " ");
	ui_pen_text(&pen, role, list->owners[i]);
}

static void draw_list(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	const struct ui_list_view *list = &dash->view->list;
	int rows = rect.h - 1;
	int first = ui_max(0, ui_min(dash->list_row - rows / 2, (int)list->n - rows));
	struct ui_pen pen;
	char title[64];

	snprintf(title, sizeof(title), "events of slot %u:%u", list->area, list->slot);
	pen = ui_panel_title(grid, rect, 0, title);
	ui_pen_printf(&pen, UI_ROLE_DIM, "%s%s ", ui_count(list->n + list->before).text,
		      list->complete ? "" : " so far");
	if (list->before)
		ui_pen_printf(&pen, UI_ROLE_DIM, "(%s earlier ones are not listed) ",
			      ui_count(list->before).text);
	for (int row = 0; row < rows && first + row < (int)list->n; row++)
		draw_row(grid, rect, row + 1, dash, (uint32_t)(first + row));
}

/* ---------------------------------------------------------------------------------------- panel */

void ui_panel_map(struct ui_grid *grid, struct ui_rect rect, const struct ui_dash *dash)
{
	struct ui_map_window window = ui_dash_map_window(dash);
	struct ui_rect spots = ui_layout_spots(rect);
	struct ui_pen pen;
	char title[64];

	if (dash->mode == UI_MODE_LIST) {
		draw_list(grid, rect, dash);
		return;
	}
	snprintf(title, sizeof(title), "slots of %u", dash->selected + 1);
	pen = ui_panel_title(grid, rect, 0, title);
	if (window.spots)
		ui_pen_printf(&pen, UI_ROLE_DIM, "%s of %s slots in use by the trace, %s a spot ",
			      ui_count(window.slots).text, ui_count(dash->view->map_all).text,
			      ui_number((double)window.slots / window.spots, window.singles ? 0 : 1)
				      .text);
	/* Right after a change of size the worker has not looked yet. */
	if (window.spots && dash->view->ask.spots == window.spots) {
		draw_spots(grid, spots, dash, &window);
		if (dash->mode == UI_MODE_MAP)
			draw_cursor(grid, spots, dash, &window);
	}
	draw_slot(grid, rect, dash);
	draw_legend(grid, rect, window.halves);
}
