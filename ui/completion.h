/* SPDX-License-Identifier: MIT */
/*
 * What may come next on a command line, from the same tables that parse it.
 *
 * The shells' scripts (ui/completion.bash, .zsh, .fish) hold no word of ours: they call
 * `zreel completion words WORD...` and show what it answers, so they never lag behind. The answer is lines: the
 * first is one of
 *
 *   none      only what follows
 *   nospace   the same, and more may be typed behind it without a space
 *   files     names of files, too
 *
 * and each other line a candidate for the whole last word, then a tab and what it means.
 */
#ifndef UI_COMPLETION_H
#define UI_COMPLETION_H

#include <stdint.h>
#include <stdio.h>

#include "ui/options.h"

/* `words` are those behind the program's name; the last of them, which may be "", is being typed. The table of
 * commands ends with NULL. */
void ui_complete(const struct ui_command *const *commands, char *const *words, uint32_t n, FILE *out);

#endif
