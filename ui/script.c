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
};

bool ui_parse_size(const char *text, int *w, int *h)
{
	int used = 0;

	return sscanf(text, "%4dx%4d%n", w, h, &used) == 2 && text[used] == '\0' && *w >= 1 && *h >= 1 &&
	       *w <= UI_GRID_MAX && *h <= UI_GRID_MAX;
}

/* A frame, and as many more without time as the race needs to reach its goal. */
static void settle(struct ui_dash *dash, uint64_t elapsed_ns)
{
	ui_dash_frame(dash, elapsed_ns);
	while (ui_dash_is_behind(dash) && !dash->quit)
		ui_dash_frame(dash, 0);
}

static void press(struct ui_dash *dash, int key)
{
	ui_dash_key(dash, key);
	settle(dash, UI_FRAME_NS);
}

static enum zr_err resize(const char *size, struct ui_grid *grid)
{
	int w, h;

	if (!ui_parse_size(size, &w, &h))
		return zr_fail(ZR_USAGE, "--script: <resize %s> wants a size such as 80x24", size);
	return ui_grid_resize(grid, w, h) ? ZR_OK
					  : zr_fail(ZR_NOMEM, "resizing to %s: out of memory", size);
}

static enum zr_err play_word(const char *word, struct ui_dash *dash, struct ui_grid *grid)
{
	if (strncmp(word, "resize ", 7) == 0)
		return resize(word + 7, grid);
	if (strncmp(word, "frame", 5) == 0 && (word[5] == '\0' || word[5] == ' ')) {
		long n = word[5] ? strtol(word + 6, NULL, 10) : 1;

		if (n < 1 || n > FRAMES_MAX)
			return zr_fail(ZR_USAGE, "--script: <%s> wants a number from 1 to %d", word,
				       FRAMES_MAX);
		while (n-- > 0)
			settle(dash, UI_FRAME_NS);
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
