/* SPDX-License-Identifier: MIT */
/* Scripted keys; see script.h. */
#include "ui/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 31, FRAMES_MAX = 100000 };

static const struct {
	const char *name;
	int key;
} names[] = {
	{ "left", UI_KEY_LEFT },	 { "right", UI_KEY_RIGHT },
	{ "s-left", UI_KEY_SHIFT_LEFT }, { "s-right", UI_KEY_SHIFT_RIGHT },
	{ "home", UI_KEY_HOME },	 { "end", UI_KEY_END },
	{ "tab", UI_KEY_TAB },		 { "space", ' ' },
	{ "esc", UI_KEY_ESCAPE },	 { "lt", '<' },
	{ "up", UI_KEY_UP },		 { "down", UI_KEY_DOWN },
	{ "pgup", UI_KEY_PAGE_UP },	 { "pgdn", UI_KEY_PAGE_DOWN },
	{ "enter", UI_KEY_ENTER },	 { "backspace", UI_KEY_BACKSPACE },
	{ "clear", UI_KEY_CLEAR },
};

bool ui_parse_size(const char *text, int *w, int *h)
{
	int used = 0;

	return sscanf(text, "%4dx%4d%n", w, h, &used) == 2 && text[used] == '\0' && *w >= 1 && *h >= 1 &&
	       *w <= UI_GRID_MAX && *h <= UI_GRID_MAX;
}

/* What the frame started is finished, and looked at. */
void ui_script_settle(struct ui_dash *dash)
{
	if (dash->live) {
		ui_dash_look(dash);
		return;
	}
	do {
		ui_pilot_settle(dash->pilot);
		ui_dash_look(dash);
	} while (ui_dash_is_behind(dash) && !dash->quit);
}

static void pass_frame(struct ui_dash *dash)
{
	ui_dash_frame(dash, UI_FRAME_NS);
	ui_script_settle(dash);
}

static void press(struct ui_dash *dash, int key)
{
	ui_dash_key(dash, key);
	ui_script_settle(dash);
	pass_frame(dash);
}

static enum zr_err resize(const char *size, struct ui_dash *dash, struct ui_grid *grid)
{
	int w, h;

	if (!ui_parse_size(size, &w, &h))
		return zr_fail(ZR_USAGE, "--script: <resize %s> wants a size such as 80x24", size);
	if (!ui_grid_resize(grid, w, h))
		return zr_fail(ZR_NOMEM, "resizing to %s: out of memory", size);
	ui_dash_resize(dash, w, h);
	ui_script_settle(dash);
	return ZR_OK;
}

static enum zr_err use_mouse(const char *word, struct ui_dash *dash)
{
	static const char *const kinds[] = { [UI_MOUSE_PRESS] = "click",
					     [UI_MOUSE_WHEEL_UP] = "wheel-up",
					     [UI_MOUSE_WHEEL_DOWN] = "wheel-down" };
	struct ui_mouse mouse;
	char kind[16];
	int used = 0;

	if (sscanf(word, "%15s %4d,%4d%n", kind, &mouse.x, &mouse.y, &used) != 3 || word[used])
		return zr_fail(ZR_USAGE, "--script: <%s> wants a column and a row, as in <click 3,5>", word);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kind, kinds[i]) == 0)
			mouse.kind = (enum ui_mouse_kind)i;
	ui_dash_mouse(dash, &mouse);
	ui_script_settle(dash);
	pass_frame(dash);
	return ZR_OK;
}

static enum zr_err play_word(const char *word, struct ui_dash *dash, struct ui_grid *grid)
{
	if (strncmp(word, "resize ", 7) == 0)
		return resize(word + 7, dash, grid);
	if (strncmp(word, "click ", 6) == 0 || strncmp(word, "wheel-", 6) == 0)
		return use_mouse(word, dash);
	if (strncmp(word, "frame", 5) == 0 && (word[5] == '\0' || word[5] == ' ')) {
		long n = word[5] ? strtol(word + 6, NULL, 10) : 1;

		if (n < 1 || n > FRAMES_MAX)
			return zr_fail(ZR_USAGE, "--script: <%s> wants a number from 1 to %d", word,
				       FRAMES_MAX);
		while (n-- > 0)
			pass_frame(dash);
		return ZR_OK;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, word) == 0) {
			press(dash, names[i].key);
			return ZR_OK;
		}
	return zr_fail(ZR_USAGE, "--script: <%s> is not a key; see zreel(1)", word);
}

enum zr_err ui_script_play(const char *script, struct ui_dash *dash, struct ui_grid *grid)
{
	while (*script && !dash->quit) {
		char word[WORD_MAX + 1];
		const char *end = *script == '<' ? strchr(script, '>') : NULL;
		enum zr_err err;

		if (*script != '<') {
			press(dash, (unsigned char)*script++);
			continue;
		}
		if (!end || end - script > WORD_MAX)
			return zr_fail(ZR_USAGE, "--script: no '>' ends '%.20s'", script);
		snprintf(word, sizeof(word), "%.*s", (int)(end - script - 1), script + 1);
		err = play_word(word, dash, grid);
		if (err)
			return err;
		script = end + 1;
	}
	return dash->err;
}
