/* SPDX-License-Identifier: MIT */
/*
 * The loop of dash_loop.h.
 *
 * A key is acted upon when it comes, and drawn at once; time passes in frames of a tenth of a
 * second. When nothing moves the loop waits without a timeout and takes no CPU.
 */
#include "ui/dash_loop.h"

#include "db/base/clock.h"
#include "ui/stop.h"
#include "ui/term.h"

/* The grid follows the terminal's size. */
static enum zr_err fit(struct ui_dash *dash, struct ui_grid *grid, const struct ui_term *term)
{
	int w, h;

	ui_term_size(term, &w, &h);
	if (!ui_grid_resize(grid, w, h))
		return zr_fail(ZR_NOMEM, "resizing the screen to %dx%d: out of memory", w, h);
	ui_dash_resize(dash, grid->w, grid->h);
	return ZR_OK;
}

static int64_t until(uint64_t due_ns)
{
	uint64_t now_ns = zr_monotonic_ns();

	return due_ns > now_ns ? (int64_t)(due_ns - now_ns) : 0;
}

static enum zr_err act(struct ui_dash *dash, struct ui_grid *grid, const struct ui_term *term,
		       enum ui_event event, const struct ui_input *input)
{
	if (event == UI_EVENT_RESIZE)
		return fit(dash, grid, term);
	if (event == UI_EVENT_KEY)
		ui_dash_key(dash, input->key);
	if (event == UI_EVENT_MOUSE)
		ui_dash_mouse(dash, &input->mouse);
	return ZR_OK;
}

static enum zr_err loop(struct ui_dash *dash, struct ui_term *term, struct ui_grid *grid)
{
	enum zr_err err = fit(dash, grid, term);
	uint64_t last_ns = zr_monotonic_ns();

	while (!err && !dash->quit) {
		bool busy = ui_dash_is_busy(dash);
		struct ui_input input = { 0 };
		enum ui_event event;
		uint64_t now_ns;

		ui_dash_draw(dash, grid);
		ui_term_show(term, grid);
		event = ui_term_wait(term, busy ? until(last_ns + UI_FRAME_NS) : -1, &input);
		if (event == UI_EVENT_CLOSED)
			return ZR_OK;
		err = act(dash, grid, term, event, &input);
		now_ns = zr_monotonic_ns();
		/* The time of a pause has not passed for the race, nor that of a stopped program.
		 */
		if (!busy || now_ns - last_ns > 5 * UI_FRAME_NS)
			last_ns = now_ns - UI_FRAME_NS;
		if (now_ns - last_ns < UI_FRAME_NS) {
			ui_dash_look(dash);
			continue;
		}
		ui_dash_frame(dash, now_ns - last_ns);
		last_ns = now_ns;
	}
	return err ? err : dash->err;
}

enum zr_err ui_dash_loop(struct ui_dash *dash)
{
	struct ui_grid grid = { .ascii = dash->ascii };
	struct ui_term *term;
	enum zr_err err = ui_term_open(&term);

	if (err)
		return err;
	grid.mono = dash->mono = ui_term_is_mono(term);
	err = ui_dash_start(dash);
	if (!err)
		err = loop(dash, term, &grid);
	ui_grid_fini(&grid);
	ui_term_close(term);
	return err;
}
