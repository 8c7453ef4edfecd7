/* SPDX-License-Identifier: MIT */
/*
 * A grid on an ncurses screen; see term.h.
 *
 * ncurses compares with what the terminal shows and sends the difference, so every frame hands over all
 * cells. Roles become attributes and colours here (looks.h). A colour pair is foreground x background of eight
 * colours each (0 being the terminal's own), 64 in all, which every colour terminal has.
 */
#include "ui/term.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#include "ui/looks.h"
#include "ui/stop.h"
#include "ui/text.h"

struct ui_term {
	SCREEN *screen;
	bool mono;
	const volatile int *stop;
	sigset_t before; /* signal mask outside */
};

enum { COLOURS = 8, ESCAPE_DELAY_MS = 25 };

/* --------------------------------------------------------------------------------------- open and close */

enum zr_err ui_term_check(void)
{
	const char *name = getenv("TERM");
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return zr_fail(ZR_UNSUPPORTED,
			       "the dashboard needs a terminal on standard input and output; "
			       "--dump prints a screen as text without one");
	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return zr_fail(ZR_UNSUPPORTED,
			       "the terminal type TERM=%s is not known here; TERM=xterm often works",
			       name ? name : "");
	if (!cursor_address) {
		del_curterm(cur_term);
		return zr_fail(
			ZR_UNSUPPORTED,
			"a terminal of type TERM=%s cannot place the cursor; --dump prints a screen as text",
			name ? name : "");
	}
	del_curterm(cur_term);
	return ZR_OK;
}

/* Blocked but while waiting: see term.h. */
static void block_signals(struct ui_term *term)
{
	static const int blocked[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
		sigaddset(&set, blocked[i]);
	sigprocmask(SIG_BLOCK, &set, &term->before);
}

static void set_up_colours(struct ui_term *term)
{
	const char *no_colour = getenv("NO_COLOR");

	term->mono = (no_colour && no_colour[0]) || !has_colors();
	if (term->mono)
		return;
	start_color();
	use_default_colors();
	if (COLOR_PAIRS < COLOURS * COLOURS) {
		term->mono = true;
		return;
	}
	for (short fg = 0; fg < COLOURS; fg++)
		for (short bg = 0; bg < COLOURS; bg++)
			if (fg || bg)
				init_pair((short)(fg * COLOURS + bg), fg ? fg : -1, bg ? bg : -1);
}

static void set_up_keys(void)
{
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	set_escdelay(ESCAPE_DELAY_MS);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	/* Presses at once: nobody clicks twice here. */
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
}

enum zr_err ui_term_open(struct ui_term **out)
{
	enum zr_err err = ui_term_check();
	struct ui_term *term;

	*out = NULL;
	if (err)
		return err;
	term = calloc(1, sizeof(*term));
	if (!term)
		return zr_fail(ZR_NOMEM, "opening the terminal: out of memory");
	/* Before ncurses, which leaves alone the signals that somebody handles already. */
	term->stop = ui_stop_catch();
	term->screen = newterm(NULL, stdout, stdin);
	if (!term->screen) {
		free(term);
		return zr_fail(ZR_UNSUPPORTED, "ncurses cannot use this terminal");
	}
	set_up_keys();
	set_up_colours(term);
	block_signals(term);
	*out = term;
	return ZR_OK;
}

void ui_term_close(struct ui_term *term)
{
	if (!term)
		return;
	endwin();
	delscreen(term->screen);
	sigprocmask(SIG_SETMASK, &term->before, NULL);
	free(term);
}

void ui_term_size(const struct ui_term *term, int *w, int *h)
{
	(void)term;
	getmaxyx(stdscr, *h, *w);
}

bool ui_term_is_mono(const struct ui_term *term)
{
	return term->mono;
}

/* ------------------------------------------------------------------------------------------------- show */

static attr_t attributes_of(unsigned how)
{
	return (how & UI_LOOK_BOLD ? A_BOLD : 0) | (how & UI_LOOK_DIM ? A_DIM : 0) |
	       (how & UI_LOOK_REVERSE ? A_REVERSE : 0);
}

static void put_cell(const struct ui_term *term, int x, int y, const struct ui_cell *cell)
{
	const struct ui_look *look = &ui_looks[cell->role];
	wchar_t text[2] = { (wchar_t)cell->code, 0 };
	attr_t attributes = attributes_of(term->mono ? look->mono : look->how);
	short pair = term->mono ? 0 : (short)(look->colour * COLOURS + ui_looks[cell->back].colour);
	cchar_t c;

	if (setcchar(&c, text, attributes, pair, NULL) == OK)
		mvadd_wch(y, x, &c);
}

void ui_term_show(struct ui_term *term, const struct ui_grid *grid)
{
	int w, h;

	ui_term_size(term, &w, &h);
	for (int y = 0; y < grid->h && y < h; y++)
		for (int x = 0; x < grid->w && x < w; x++) {
			const struct ui_cell *cell =
				&grid->cells[(size_t)y * (size_t)grid->w + (size_t)x];

			if (cell->code)
				put_cell(term, x, y, cell);
		}
	refresh();
}

/* ------------------------------------------------------------------------------------------------- wait */

static int key_of(int got)
{
	static const struct {
		int from, to;
	} keys[] = {
		{ KEY_LEFT, UI_KEY_LEFT },	  { KEY_RIGHT, UI_KEY_RIGHT },
		{ KEY_SLEFT, UI_KEY_SHIFT_LEFT }, { KEY_SRIGHT, UI_KEY_SHIFT_RIGHT },
		{ KEY_HOME, UI_KEY_HOME },	  { KEY_END, UI_KEY_END },
		{ KEY_UP, UI_KEY_UP },		  { KEY_DOWN, UI_KEY_DOWN },
		{ KEY_PPAGE, UI_KEY_PAGE_UP },	  { KEY_NPAGE, UI_KEY_PAGE_DOWN },
		{ KEY_BACKSPACE, UI_KEY_BACKSPACE }, { KEY_ENTER, UI_KEY_ENTER },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].from == got)
			return keys[i].to;
	return got < 256 ? got : UI_KEY_NONE;
}

static bool input_is_at_end(void)
{
	int waiting = 0;

	return ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting == 0;
}

static enum ui_event read_mouse(struct ui_mouse *mouse)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return UI_EVENT_NONE;
	*mouse = (struct ui_mouse){ .x = event.x, .y = event.y };
	if (event.bstate & BUTTON4_PRESSED)
		mouse->kind = UI_MOUSE_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		mouse->kind = UI_MOUSE_WHEEL_DOWN;
	else if (event.bstate & BUTTON1_PRESSED)
		mouse->kind = UI_MOUSE_PRESS;
	else
		return UI_EVENT_NONE;
	return UI_EVENT_MOUSE;
}

/* What ncurses has read already, or can read without waiting. */
static enum ui_event read_input(struct ui_input *input)
{
	int got = getch();

	if (got == ERR)
		return UI_EVENT_NONE;
	if (got == KEY_RESIZE)
		return UI_EVENT_RESIZE;
	if (got == KEY_MOUSE)
		return read_mouse(&input->mouse);
	input->key = key_of(got);
	return UI_EVENT_KEY;
}

enum ui_event ui_term_wait(struct ui_term *term, int64_t timeout_ns, struct ui_input *input)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec timeout = { timeout_ns / 1000000000, timeout_ns % 1000000000 };
	enum ui_event event = read_input(input);
	int ready;

	if (event != UI_EVENT_NONE)
		return event;
	ready = ppoll(&in, 1, timeout_ns < 0 ? NULL : &timeout, &term->before);
	if (*term->stop)
		return UI_EVENT_CLOSED;
	event = read_input(input);
	if (event == UI_EVENT_NONE && ready > 0 && (!(in.revents & POLLIN) || input_is_at_end()))
		return UI_EVENT_CLOSED;
	return event;
}
