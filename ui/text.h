/* SPDX-License-Identifier: MIT */
/*
 * Text that others chose (cgroup paths, file names, commands) on its way to a terminal.
 *
 * Such a text may hold anything: escape sequences, broken UTF-8, right-to-left marks, wide characters.
 * All of it passes through ui_char_next(), which yields one visible character after the other with its
 * width in cells: what could move the cursor, change a colour or reorder the line becomes U+FFFD (`?` in
 * ASCII), what has no width of its own is left out.
 */
#ifndef UI_TEXT_H
#define UI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { UI_REPLACEMENT = 0xfffd };

struct ui_char {
	uint32_t code; /* 0 at the end of the text */
	int width;     /* cells: 1 or 2 */
};

/* The next code point of UTF-8, U+FFFD for every byte that is not part of one; 0 at the end. */
uint32_t ui_utf8_next(const char **text);

/* The bytes of a code point (1 to 4); returns how many. */
size_t ui_utf8_put(uint32_t code, char bytes[4]);

/* C0, DEL, C1, and the characters that set the direction of the text around them. */
bool ui_is_control(uint32_t code);

/* The next character that may be shown. `ascii`: everything else becomes `?`. */
struct ui_char ui_char_next(const char **text, bool ascii);

/* Cells that the whole text takes. */
int ui_text_width(const char *text, bool ascii);

/* Writes a text so that it is harmless on a terminal. */
void ui_put_clean(FILE *out, const char *text);

/* True when the locale of the process (LC_CTYPE, as set) is not UTF-8. */
bool ui_locale_is_ascii(void);

#endif
