/* SPDX-License-Identifier: MIT */
/* Options that several commands for traces have: what part of a trace, and how exact its times are. */
#ifndef UI_SELECT_H
#define UI_SELECT_H

#include "db/db.h"
#include "ui/options.h"

struct ui_select {
	const char *from, *to, *area, *host, *slots;
	struct ui_list kinds, cgroups;
};

/* Rows for a command's table; `member` is the struct ui_select in its struct of values. */
#define UI_SELECT_OPTIONS(values, member)                                                          \
	{ "from", 0, UI_TEXT, offsetof(struct values, member.from), "TIME",                        \
	  "from this time after the start (4s, 1500ms), or @NS of the trace's clock" },            \
	{ "to", 0, UI_TEXT, offsetof(struct values, member.to), "TIME",                            \
	  "up to, but not at, this time" },                                                        \
	{ "cgroup", 'c', UI_LIST, offsetof(struct values, member.cgroups), "PATH",                 \
	  "only of this cgroup and those below it; may be repeated" },                             \
	{ "area", 'a', UI_TEXT, offsetof(struct values, member.area), "N",                         \
	  "only of this swap area, by its number in `zreel info`" },                               \
	{ "slots", 's', UI_TEXT, offsetof(struct values, member.slots), "A-B",                     \
	  "only of these swap slots" },                                                            \
	{ "host", 0, UI_TEXT, offsetof(struct values, member.host), "N",                           \
	  "only of this host of a merged trace" }

#define UI_SELECT_KINDS(values, member)                                                            \
	{ "kind", 'k', UI_LIST, offsetof(struct values, member.kinds), "KIND[,KIND]",              \
	  "only these kinds of events" }

/* Of a trace that is written; the member is an int. */
#define UI_TIME_RESOLUTION(values, member)                                                         \
	{ "time-resolution", 0, UI_CHOICE, offsetof(struct values, member), "ns|us|ms",            \
	  "round its times down to this: us makes it smaller" }

uint32_t ui_time_unit_ns(int choice);

/* The options as a selection, which borrows the lists. ZR_USAGE names the option that is wrong. */
enum zr_err ui_select_parse(const struct ui_select *given, struct db_selection *out);

#endif
