/* SPDX-License-Identifier: MIT */
/* What comes from a keyboard and a mouse, whatever the terminal calls it. */
#ifndef UI_KEYS_H
#define UI_KEYS_H

/* Keys are ASCII codes or one of these. */
enum ui_key {
	UI_KEY_NONE = 0,
	UI_KEY_TAB = '\t',
	UI_KEY_ENTER = '\n',
	UI_KEY_CLEAR = 21, /* Ctrl-U */
	UI_KEY_ESCAPE = 27,
	UI_KEY_BACKSPACE = 127,
	UI_KEY_LEFT = 256,
	UI_KEY_RIGHT,
	UI_KEY_UP,
	UI_KEY_DOWN,
	UI_KEY_SHIFT_LEFT,
	UI_KEY_SHIFT_RIGHT,
	UI_KEY_HOME,
	UI_KEY_END,
	UI_KEY_PAGE_UP,
	UI_KEY_PAGE_DOWN,
};

enum ui_mouse_kind { UI_MOUSE_PRESS, UI_MOUSE_WHEEL_UP, UI_MOUSE_WHEEL_DOWN };

struct ui_mouse {
	enum ui_mouse_kind kind;
	int x, y;
};

#endif
