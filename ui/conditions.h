/* SPDX-License-Identifier: MIT */
/*
 * The conditions under which a run was made, as keys and values: trace, host, target, drive, pace, and what the run
 * keeps in target_detail, "PATH; key=value; ..." (a path, or a device model; then the settings of the device). They
 * say which runs are alike, and in what others differ.
 */
#ifndef UI_CONDITIONS_H
#define UI_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/db.h"
#include "ui/json.h"

enum { UI_CONDITION_BYTES = 512 };

struct ui_condition {
	char key[64], value[UI_CONDITION_BYTES];
};

/* The condition of a place, false behind the last. */
bool ui_condition_at(const struct db_run *run, uint32_t place, struct ui_condition *out);

/* The path or the model alone, without what follows it; `text` has UI_CONDITION_BYTES. */
void ui_target_name(const struct db_run *run, char *text);

/* The settings behind it, "scheduler none, nomerges 0", cleaned for a screen; nothing if there are none. */
void ui_put_settings(FILE *out, const struct db_run *run);

/* What a table of runs in `unlike` company must not mix in any case: trace, host and drive. */
bool ui_runs_same_input(const struct db_run *a, const struct db_run *b);

/* All conditions are the same. */
bool ui_runs_alike(const struct db_run *a, const struct db_run *b);

/* One of each set of runs that are alike, in their order, into `to`, which has room for n; returns how many. */
uint32_t ui_unlike_runs(const struct db_run *const *runs, uint32_t n, const struct db_run **to);

/* "kernel (6.12 | 7.3), scheduler (none | mq-deadline)": the conditions in which the runs differ, in one line and
 * cleaned for a screen. Returns how many they are. Effort grows with the square of n: give it ui_unlike_runs(). */
uint32_t ui_put_differences(FILE *out, const struct db_run *const *runs, uint32_t n);

/* The same as an array of {"condition": ..., "values": [...]} under `key`. */
void ui_json_differences(struct ui_json *json, const char *key, const struct db_run *const *runs, uint32_t n);

/* The settings as an object under `key`. */
void ui_json_settings(struct ui_json *json, const char *key, const struct db_run *run);

#endif
