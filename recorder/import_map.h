/* SPDX-License-Identifier: MIT */
/*
 * Events that somebody named differently: rules that say which canonical event theirs is.
 *
 *   their_event=zreel:store,swp=entry,memcg=css
 *   sys:their_event=zreel:free
 *
 * Left of the first '=' is their event, with or without its system; right of it ours, and then for each
 * field whose name differs ours=theirs. A field that is not named keeps its canonical name. The text of a
 * rule file is one rule a line, '#' begins a comment. Several rules may lead to one canonical event.
 */
#ifndef RECORDER_IMPORT_MAP_H
#define RECORDER_IMPORT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/err.h"
#include "recorder/raw.h"

enum { REC_MAP_RULES = 64, REC_MAP_NAME = 64 };

struct rec_map_rule {
	char system[REC_MAP_NAME]; /* "" = any */
	char event[REC_MAP_NAME];
	enum rec_type type;
	char field[REC_FIELD_COUNT][REC_MAP_NAME]; /* theirs; "" = as ours */
};

/* An all-zero struct has no rules. */
struct rec_map {
	struct rec_map_rule *rules;
	uint32_t n;
};

/* Adds one rule, or the rules of a file if `text` has no '=' and names one. ZR_USAGE says what is wrong. */
enum zr_err rec_map_add(struct rec_map *map, const char *text);
void rec_map_fini(struct rec_map *map);

/* A name that need not be terminated. */
struct rec_name {
	const char *text;
	uint32_t bytes;
};

/*
 * Which of our events is theirs? -1: none. A rule comes first; else the canonical names hold, of a system
 * zreel* or block, or of any if the source does not tell systems (an empty name). *rule is NULL without one.
 */
int rec_map_type(const struct rec_map *map, struct rec_name system, struct rec_name event,
		 const struct rec_map_rule **rule);

/* The least `len` of a record with which it counts, 0 for most: printed probes come without the filters of our
 * own. free_large sees folios of any size, but those of one page pass zreel:free as well; len_none sees each
 * compression, but only those that failed (len is not 0) do not pass zreel:len. `rule` is that of
 * rec_map_type(). */
uint32_t rec_map_least(const struct rec_map_rule *rule, struct rec_name event);

/* Which of our fields is theirs? -1: none. `rule` NULL = the canonical names. */
int rec_map_field(const struct rec_map_rule *rule, struct rec_name name);

/* What a field of ours is called there. */
const char *rec_map_field_name(const struct rec_map_rule *rule, enum rec_field field);

#endif
