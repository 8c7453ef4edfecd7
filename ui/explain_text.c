/* SPDX-License-Identifier: MIT */
/* The sentences of explain_text.h. */
#include "ui/explain_text.h"

#include <stdarg.h>
#include <stdio.h>

double ui_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* By insertion, so that equals keep the order of their precedence. */
void ui_explain_order(const struct play_explain *explain, enum play_break causes[PLAY_BREAK_COUNT])
{
	for (int i = 0; i < PLAY_BREAK_COUNT; i++) {
		int k = i;

		for (; k > 0 && explain->breaks[causes[k - 1]] < explain->breaks[i]; k--)
			causes[k] = causes[k - 1];
		causes[k] = (enum play_break)i;
	}
}

static void __attribute__((format(printf, 2, 3))) add_sentence(struct ui_sentences *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(out->text[out->n++], UI_SENTENCE_BYTES, fmt, args);
	va_end(args);
}

static void say_virtual(const struct play_explain *explain, struct ui_sentences *out)
{
	double now = play_explain_pages_per_request(explain, PLAY_CEILING_actual);
	double then = play_explain_pages_per_request(explain, PLAY_CEILING_vswap);
	double saved = 100 * (1 - now / then);

	if (saved < 0.05)
		add_sentence(out, "A virtual swap layer, which chooses slots at writeback, would save no write "
				  "requests here: %.2f pages each, as now %.2f.", then, now);
	else
		add_sentence(out, "A virtual swap layer, which chooses slots at writeback, would lift requests "
				  "from %.2f to %.2f pages and save %.1f%% of them.", now, then, saved);
}

void ui_explain_say(const struct play_explain *explain, struct ui_sentences *out)
{
	uint64_t holes = explain->breaks[PLAY_BREAK_hole_refault] + explain->breaks[PLAY_BREAK_hole_free];
	enum play_break causes[PLAY_BREAK_COUNT];

	out->n = 0;
	if (!explain->pages) {
		add_sentence(out, "Nothing is written back under this policy, so there are no write requests "
				  "to explain.");
		return;
	}
	ui_explain_order(explain, causes);
	add_sentence(out, "The commonest cause, of %.1f%% of the breaks, is %s (of the page in the slot behind "
			  "the last one written: %s).",
		     ui_percent(explain->breaks[causes[0]], explain->contexts), play_break_name(causes[0]),
		     play_break_text(causes[0]));
	say_virtual(explain, out);
	add_sentence(out, "Holes that refaults and frees have punched make %.1f%% of the breaks; sorting each "
			  "walk by slot would give %.2f pages a request, sorting every 256 pages %.2f.",
		     ui_percent(holes, explain->contexts),
		     play_explain_pages_per_request(explain, PLAY_CEILING_sorted_walk),
		     play_explain_pages_per_request(explain, PLAY_CEILING_sorted_256));
}
