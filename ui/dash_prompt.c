/* SPDX-License-Identifier: MIT */
/* The dashboard's one-line prompt, and what is done with what was typed. See dash.h. */
#include "ui/dash.h"

#include <stdio.h>
#include <string.h>

#include "ui/session.h"

void ui_prompt_open(struct ui_dash *dash, enum ui_prompt prompt, const char *typed)
{
	dash->mode = UI_MODE_PROMPT;
	dash->prompt = prompt;
	snprintf(dash->typed, sizeof(dash->typed), "%s", typed);
}

static void order_text(struct ui_dash *dash, enum ui_order_kind kind)
{
	struct ui_order order = { .kind = kind, .lane = dash->selected };

	snprintf(order.text, sizeof(order.text), "%s", dash->typed);
	ui_dash_order(dash, &order);
}

/* A policy that is not one is told at once, and can be mended. */
static bool is_policy(struct ui_dash *dash)
{
	struct sim_policy policy;

	if (!sim_policy_parse(dash->typed, &policy))
		return true;
	ui_dash_tell(dash);
	dash->mode = UI_MODE_PROMPT;
	return false;
}

static void done_edit(struct ui_dash *dash)
{
	if (is_policy(dash))
		order_text(dash, UI_ORDER_REPLACE);
}

static void done_add(struct ui_dash *dash)
{
	if (is_policy(dash))
		order_text(dash, UI_ORDER_ADD);
}

static void done_store(struct ui_dash *dash)
{
	order_text(dash, UI_ORDER_STORE);
}

static void done_find(struct ui_dash *dash)
{
	dash->playing = false;
	order_text(dash, UI_ORDER_FIND);
}

static void done_screen(struct ui_dash *dash)
{
	if (ui_dash_write(dash, dash->typed))
		ui_dash_tell(dash);
	else
		ui_dash_say(dash, "the screen is in %s", dash->typed);
}

static void done_save(struct ui_dash *dash)
{
	if (ui_session_save(dash, dash->typed))
		ui_dash_tell(dash);
	else
		ui_dash_say(dash, "the session is in %s", dash->typed);
}

static void done_load(struct ui_dash *dash)
{
	struct ui_session session;

	if (ui_session_read(dash->typed, &session) || ui_session_apply(dash, &session))
		ui_dash_tell(dash);
	else
		ui_dash_say(dash, "the session of %s", dash->typed);
}

static const struct {
	const char *title;
	void (*done)(struct ui_dash *dash);
} prompts[] = {
	[UI_PROMPT_EDIT] = { "policy", done_edit },
	[UI_PROMPT_ADD] = { "add policy", done_add },
	[UI_PROMPT_STORE] = { "store lane as", done_store },
	[UI_PROMPT_FIND] = { "find", done_find },
	[UI_PROMPT_SCREEN] = { "write screen to (.txt .ans .svg)", done_screen },
	[UI_PROMPT_SAVE_SESSION] = { "store session in", done_save },
	[UI_PROMPT_LOAD_SESSION] = { "load session", done_load },
};

const char *ui_prompt_title(enum ui_prompt prompt)
{
	return prompts[prompt].title;
}

/* A whole UTF-8 character. */
static void erase(char *typed)
{
	size_t n = strlen(typed);

	while (n && ((unsigned char)typed[--n] & 0xc0) == 0x80)
		;
	typed[n] = '\0';
}

void ui_prompt_key(struct ui_dash *dash, int key)
{
	size_t n = strlen(dash->typed);

	if (key == UI_KEY_ESCAPE) {
		dash->mode = ui_dash_home(dash);
	} else if (key == UI_KEY_ENTER) {
		dash->mode = ui_dash_home(dash);
		if (n)
			prompts[dash->prompt].done(dash);
	} else if (key == UI_KEY_BACKSPACE || key == '\b') {
		erase(dash->typed);
	} else if (key == UI_KEY_CLEAR) {
		dash->typed[0] = '\0';
	} else if (key >= ' ' && key < 256 && key != UI_KEY_BACKSPACE && n < UI_PROMPT_MAX) {
		dash->typed[n] = (char)key;
		dash->typed[n + 1] = '\0';
	}
}
