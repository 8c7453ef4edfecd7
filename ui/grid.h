/* SPDX-License-Identifier: MIT */
/*
 * A screen as a grid of cells in memory.
 *
 * Everything that the dashboard shows is drawn here first; a terminal (term.h) or a text dump (for tests
 * and `--dump`) then shows the grid. A cell holds a code point and two roles, foreground and background:
 * what a thing means, not what it looks like. Colours are the terminal's affair.
 *
 * Invariants: drawing outside the grid does nothing; a wide character takes two cells, of which the second
 * has code 0, and never half a one is left; no control character ever gets into a cell (ui_char_next() is
 * the only way in for texts, and ui_grid_put() for the dashboard's own glyphs).
 */
#ifndef UI_GRID_H
#define UI_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* name, letter in the dump of roles */
#define UI_ROLES(X)                                                                                      \
	X(NORMAL, '.')                                                                                   \
	X(DIM, 'd')                                                                                      \
	X(BOLD, 'b')                                                                                     \
	X(BAR, '=')                                                                                      \
	X(SELECTED, 's')                                                                                 \
	X(KEY, 'k')                                                                                      \
	X(GOOD, 'g')                                                                                     \
	X(WARN, 'w')                                                                                     \
	X(BAD, '!')                                                                                      \
	X(CHART, 'c')                                                                                    \
	X(CHART2, 'C')                                                                                   \
	X(CURSOR, '|')                                                                                   \
	X(ZSWAP, 'z')                                                                                    \
	X(ZSWAP_10S, 'y')                                                                                \
	X(ZSWAP_OLD, 'x')                                                                                \
	X(DISK, 'D')                                                                                     \
	X(WRITING, 'W')                                                                                  \
	X(ZERO, '0')                                                                                     \
	X(CACHED, 'm')                                                                                   \
	X(UNKNOWN, '?')

enum ui_role {
#define X(name, letter) UI_ROLE_##name,
	UI_ROLES(X)
#undef X
		UI_ROLE_COUNT,
};

struct ui_cell {
	uint32_t code;	    /* 0: the right half of a wide character */
	uint8_t role, back; /* back: NORMAL is the screen's own */
};

struct ui_rect {
	int x, y, w, h;
};

struct ui_grid {
	int w, h;
	bool ascii; /* only ASCII may be drawn */
	bool mono;  /* roles cannot be told apart by colour */
	struct ui_cell *cells;
};

enum { UI_GRID_MAX = 1000 }; /* of w and h */

/* Caller's storage, all zero before the first call. Keeps nothing of what was drawn. False: no memory. */
bool ui_grid_resize(struct ui_grid *grid, int w, int h);
void ui_grid_fini(struct ui_grid *grid);

void ui_grid_clear(struct ui_grid *grid);
struct ui_rect ui_grid_rect(const struct ui_grid *grid);

/* One glyph of the dashboard's own (never of foreign text), one cell wide. */
void ui_grid_put(struct ui_grid *grid, int x, int y, struct ui_cell cell);
void ui_grid_fill(struct ui_grid *grid, struct ui_rect rect, struct ui_cell cell);

/* A place to write at that moves to the right and stops at `end`. */
struct ui_pen {
	struct ui_grid *grid;
	int x, y, end;
	uint8_t back;
};

struct ui_pen ui_pen_at(struct ui_grid *grid, struct ui_rect rect, int row);

/* Writes any text; one that does not fit ends in an ellipsis. */
void ui_pen_text(struct ui_pen *pen, enum ui_role role, const char *text);
void ui_pen_printf(struct ui_pen *pen, enum ui_role role, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes so that the text ends at the pen's end; nothing if it would meet what was written before. */
void ui_pen_right(struct ui_pen *pen, enum ui_role role, const char *text);

/* Own glyphs with their stand-in where only ASCII may be drawn. */
enum ui_glyph {
	UI_GLYPH_FULL,
	UI_GLYPH_UPPER,
	UI_GLYPH_LOWER,
	UI_GLYPH_SHADE,
	UI_GLYPH_DOT,
	UI_GLYPH_LINE,
	UI_GLYPH_HEAVY,
	UI_GLYPH_TICK,
	UI_GLYPH_LEFT_END,
	UI_GLYPH_RIGHT_END,
	UI_GLYPH_KNOB,
	UI_GLYPH_PLAY,
	UI_GLYPH_PAUSE,
	UI_GLYPH_DIAMOND,
	UI_GLYPH_ELLIPSIS,
	UI_GLYPH_RUN,	  /* a written page with others behind it in its run */
	UI_GLYPH_RUN_END,
	UI_GLYPH_ALONE,	  /* a run of one page */
	UI_GLYPH_BOOKMARK,
	UI_GLYPH_COUNT,
};

uint32_t ui_glyph(const struct ui_grid *grid, enum ui_glyph glyph);

/* The grid as lines of text without trailing blanks; `roles`: followed by a plane of role letters (of the
 * background where there is one, in upper half of the letter's case unchanged). */
void ui_grid_print(const struct ui_grid *grid, bool roles, FILE *out);

/* The same with the terminal's own colours as escape sequences; with `mono` without colours. */
void ui_grid_print_ansi(const struct ui_grid *grid, FILE *out);

/* As a picture: an SVG that needs nothing from elsewhere. */
void ui_grid_print_svg(const struct ui_grid *grid, FILE *out);

#define UI_GRID_FORMATS(X) X(TEXT, "text", ".txt") X(ANSI, "ansi", ".ans") X(SVG, "svg", ".svg")

enum ui_grid_format {
#define X(name, word, suffix) UI_GRID_##name,
	UI_GRID_FORMATS(X)
#undef X
};

/* The format of that name ("" = text), or by the ending of a file's name (text, if it has none of these). */
bool ui_grid_format_parse(const char *word, enum ui_grid_format *out);
enum ui_grid_format ui_grid_format_of(const char *path);

void ui_grid_print_as(const struct ui_grid *grid, enum ui_grid_format format, FILE *out);

#endif
