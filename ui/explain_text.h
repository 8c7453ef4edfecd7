/* SPDX-License-Identifier: MIT */
/* What an explanation says in words, the same on a terminal, in JSON and on paper. */
#ifndef UI_EXPLAIN_TEXT_H
#define UI_EXPLAIN_TEXT_H

#include "replayer/replayer.h"

enum { UI_SENTENCES = 3, UI_SENTENCE_BYTES = 320 };

struct ui_sentences {
	char text[UI_SENTENCES][UI_SENTENCE_BYTES];
	uint32_t n;
};

/* Why requests are as short as they are, and what would make them longer. */
void ui_explain_say(const struct play_explain *explain, struct ui_sentences *out);

/* All causes, the commonest first. */
void ui_explain_order(const struct play_explain *explain, enum play_break causes[PLAY_BREAK_COUNT]);

/* 0 of nothing. */
double ui_percent(uint64_t part, uint64_t whole);

#endif
