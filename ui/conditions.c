/* SPDX-License-Identifier: MIT */
/* See conditions.h. */
#include "ui/conditions.h"

#include <string.h>

#include "ui/text.h"

enum { FIXED = 6, VALUES_SHOWN = 4 };

static const char *text_or(const char *text, const char *otherwise)
{
	return text && text[0] ? text : otherwise;
}

static void set(struct ui_condition *out, const char *key, const char *value)
{
	snprintf(out->key, sizeof(out->key), "%.63s", key);
	snprintf(out->value, sizeof(out->value), "%s", value);
}

/* The piece of a place in target_detail; false behind the last. */
static bool piece_at(const struct db_run *run, uint32_t place, char *piece, size_t bytes)
{
	const char *at = run->target_detail ? run->target_detail : "", *end;

	for (; place; place--) {
		at = strstr(at, "; ");
		if (!at)
			return false;
		at += 2;
	}
	end = strstr(at, "; ");
	snprintf(piece, bytes, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
	return true;
}

void ui_target_name(const struct db_run *run, char *text)
{
	piece_at(run, 0, text, UI_CONDITION_BYTES);
}

static bool setting_at(const struct db_run *run, uint32_t place, struct ui_condition *out)
{
	char piece[UI_CONDITION_BYTES], *value;

	if (!piece_at(run, place + 1, piece, sizeof(piece)))
		return false;
	value = strchr(piece, '=');
	if (value)
		*value++ = '\0';
	set(out, piece, value ? value : "");
	return true;
}

bool ui_condition_at(const struct db_run *run, uint32_t place, struct ui_condition *out)
{
	char text[UI_CONDITION_BYTES];

	switch (place) {
	case 0:
		/* Two traces may have one path, and one trace two. */
		snprintf(text, sizeof(text), "%.460s %.32s", text_or(run->trace_path, "?"),
			 text_or(run->trace_id, ""));
		set(out, "trace", text);
		return true;
	case 1:
		snprintf(text, sizeof(text), "%u", run->host);
		set(out, "host", text);
		return true;
	case 2:
		set(out, "target", text_or(run->target, ""));
		return true;
	case 3:
		ui_target_name(run, text);
		set(out, strcmp(text_or(run->target, ""), "device") == 0 ? "path" : "target detail", text);
		return true;
	case 4:
		set(out, "drive", text_or(run->drive, ""));
		return true;
	case 5:
		set(out, "pace", text_or(run->pace, "asap"));
		return true;
	default:
		return setting_at(run, place - FIXED, out);
	}
}

void ui_put_settings(FILE *out, const struct db_run *run)
{
	struct ui_condition setting;

	for (uint32_t i = 0; setting_at(run, i, &setting); i++) {
		fputs(i ? ", " : "", out);
		ui_put_clean(out, setting.key);
		fputc(' ', out);
		ui_put_clean(out, setting.value);
	}
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

bool ui_runs_same_input(const struct db_run *a, const struct db_run *b)
{
	return same_text(a->trace_id, b->trace_id) && a->host == b->host && same_text(a->drive, b->drive);
}

bool ui_runs_alike(const struct db_run *a, const struct db_run *b)
{
	return ui_runs_same_input(a, b) && same_text(a->target, b->target) &&
	       same_text(a->target_detail, b->target_detail) && same_text(a->pace, b->pace);
}

uint32_t ui_unlike_runs(const struct db_run *const *runs, uint32_t n, const struct db_run **to)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = 0;

		while (j < kept && !ui_runs_alike(to[j], runs[i]))
			j++;
		if (j == kept)
			to[kept++] = runs[i];
	}
	return kept;
}

/* -------------------------------------------------------------------------------------- differences */

/* The value of a key; false, and "not known", if the run has no such condition. */
static bool value_of(const struct db_run *run, const char *key, struct ui_condition *out)
{
	for (uint32_t i = 0; ui_condition_at(run, i, out); i++)
		if (strcmp(out->key, key) == 0)
			return true;
	set(out, key, "not known");
	return false;
}

/* One trace is the same one under any path. */
static bool same_value(const struct db_run *a, const struct db_run *b, const char *key)
{
	struct ui_condition one, other;

	if (strcmp(key, "trace") == 0)
		return same_text(a->trace_id, b->trace_id);
	value_of(a, key, &one);
	value_of(b, key, &other);
	return strcmp(one.value, other.value) == 0;
}

/* Whether the condition is one of runs on this target at all: a model has no I/O scheduler that could differ. */
static bool concerns(const struct db_run *const *runs, uint32_t n, uint32_t run, const char *key)
{
	struct ui_condition condition;

	for (uint32_t i = 0; i < n; i++)
		if (same_text(runs[i]->target, runs[run]->target) && value_of(runs[i], key, &condition))
			return true;
	return false;
}

/* Whether the run is concerned and its value of the key is not that of any run before it. */
static bool new_value(const struct db_run *const *runs, uint32_t n, uint32_t run, const char *key)
{
	if (!concerns(runs, n, run, key))
		return false;
	for (uint32_t i = 0; i < run; i++)
		if (concerns(runs, n, i, key) && same_value(runs[i], runs[run], key))
			return false;
	return true;
}

static bool differs(const struct db_run *const *runs, uint32_t n, const char *key)
{
	uint32_t values = 0;

	for (uint32_t i = 0; i < n && values < 2; i++)
		values += new_value(runs, n, i, key);
	return values > 1;
}

/* Whether an earlier run has the key: then it was looked at already. */
static bool seen_before(const struct db_run *const *runs, uint32_t run, const char *key)
{
	struct ui_condition condition;

	for (uint32_t i = 0; i < run; i++)
		for (uint32_t c = 0; ui_condition_at(runs[i], c, &condition); c++)
			if (strcmp(condition.key, key) == 0)
				return true;
	return false;
}

/* Runs on all the differing conditions, once each. */
struct difference {
	uint32_t run, place;
	struct ui_condition condition;
};

static bool next_difference(const struct db_run *const *runs, uint32_t n, struct difference *at)
{
	for (; at->run < n; at->run++, at->place = 0) {
		while (ui_condition_at(runs[at->run], at->place++, &at->condition))
			if (!seen_before(runs, at->run, at->condition.key) &&
			    differs(runs, n, at->condition.key))
				return true;
	}
	return false;
}

static void put_values(FILE *out, const struct db_run *const *runs, uint32_t n, const char *key)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct ui_condition condition;

		if (!new_value(runs, n, i, key))
			continue;
		if (shown++ == VALUES_SHOWN) {
			fputs(" | ...", out);
			return;
		}
		value_of(runs[i], key, &condition);
		fputs(shown > 1 ? " | " : "", out);
		ui_put_clean(out, condition.value);
	}
}

uint32_t ui_put_differences(FILE *out, const struct db_run *const *runs, uint32_t n)
{
	struct difference at = { 0 };
	uint32_t found = 0;

	while (next_difference(runs, n, &at)) {
		fputs(found++ ? ", " : "", out);
		ui_put_clean(out, at.condition.key);
		fputs(" (", out);
		put_values(out, runs, n, at.condition.key);
		fputc(')', out);
	}
	return found;
}

void ui_json_differences(struct ui_json *json, const char *key, const struct db_run *const *runs, uint32_t n)
{
	struct difference at = { 0 };

	ui_json_array(json, key);
	while (next_difference(runs, n, &at)) {
		ui_json_object(json, NULL);
		ui_json_text(json, "condition", at.condition.key);
		ui_json_array(json, "values");
		for (uint32_t i = 0; i < n; i++) {
			struct ui_condition condition;

			value_of(runs[i], at.condition.key, &condition);
			if (new_value(runs, n, i, at.condition.key))
				ui_json_text(json, NULL, condition.value);
		}
		ui_json_end_array(json);
		ui_json_end_object(json);
	}
	ui_json_end_array(json);
}

void ui_json_settings(struct ui_json *json, const char *key, const struct db_run *run)
{
	struct ui_condition setting;

	ui_json_object(json, key);
	for (uint32_t i = 0; setting_at(run, i, &setting); i++)
		ui_json_text(json, setting.key, setting.value);
	ui_json_end_object(json);
}
