/* SPDX-License-Identifier: MIT */
/* Events that somebody named differently; see import_map.h. */
#include "recorder/import_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_BYTES = 1024 };

static const char *field_name(enum rec_field field)
{
	static const char *const names[] = {
#define X(id, name) [REC_FIELD_##id] = name,
		REC_FIELDS(X)
#undef X
	};

	return names[field];
}

static bool keep(char *to, const char *from, size_t bytes)
{
	if (!bytes || bytes >= REC_MAP_NAME)
		return false;
	memcpy(to, from, bytes);
	to[bytes] = '\0';
	return true;
}

/* "system:event" or "event". */
static bool parse_theirs(struct rec_map_rule *rule, char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return keep(rule->event, text, strlen(text));
	return keep(rule->system, text, (size_t)(colon - text)) &&
	       keep(rule->event, colon + 1, strlen(colon + 1));
}

static bool parse_ours(struct rec_map_rule *rule, const char *text)
{
	const char *colon = strrchr(text, ':');
	const char *name = colon ? colon + 1 : text;
	int type = rec_type_of(name, (uint32_t)strlen(name));

	if (type >= 0)
		rule->type = (enum rec_type)type;
	return type >= 0;
}

static bool parse_field(struct rec_map_rule *rule, const char *text)
{
	const char *equals = strchr(text, '=');
	int field = equals ? rec_field_of(text, (uint32_t)(equals - text)) : -1;

	return field >= 0 && keep(rule->field[field], equals + 1, strlen(equals + 1));
}

static enum zr_err parse_rule(struct rec_map_rule *rule, const char *text)
{
	char copy[RULE_BYTES], *equals, *save, *word;

	if (strlen(text) >= sizeof(copy))
		return zr_fail(ZR_USAGE, "mapping \"%.40s...\": longer than %d bytes", text,
			       RULE_BYTES);
	strcpy(copy, text);
	equals = strchr(copy, '=');
	if (!equals)
		return zr_fail(ZR_USAGE,
			       "mapping \"%s\": expected THEIRS=zreel:OURS[,field=theirs]", text);
	*equals = '\0';
	if (!parse_theirs(rule, copy))
		return zr_fail(ZR_USAGE, "mapping \"%s\": \"%s\" is no name of an event", text,
			       copy);
	word = strtok_r(equals + 1, ",", &save);
	if (!word || !parse_ours(rule, word))
		return zr_fail(
			ZR_USAGE,
			"mapping \"%s\": \"%s\" is none of the canonical events (zreel:store, "
			"zreel:load ...)",
			text, word ? word : "");
	while ((word = strtok_r(NULL, ",", &save)))
		if (!parse_field(rule, word))
			return zr_fail(
				ZR_USAGE,
				"mapping \"%s\": \"%s\" is not FIELD=THEIRS with one of the fields "
				"swp, flags, flags1, memcg, cg, ret, len, nr, nid, prio",
				text, word);
	return ZR_OK;
}

static enum zr_err add_rule(struct rec_map *map, const char *text)
{
	struct rec_map_rule *rules;
	enum zr_err err;

	if (map->n == REC_MAP_RULES)
		return zr_fail(ZR_USAGE, "more than %d mappings", REC_MAP_RULES);
	rules = realloc(map->rules, (map->n + 1) * sizeof(*rules));
	if (!rules)
		return zr_fail(ZR_NOMEM, "no memory for mappings");
	map->rules = rules;
	rules[map->n] = (struct rec_map_rule){ 0 };
	err = parse_rule(&rules[map->n], text);
	map->n += !err;
	return err;
}

static enum zr_err add_file(struct rec_map *map, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[RULE_BYTES];
	enum zr_err err = ZR_OK;

	if (!file)
		return zr_fail_errno(errno, "reading mappings (no \"=\" in it, so a file) from %s",
				     path);
	while (!err && fgets(line, sizeof(line), file)) {
		char *text = line + strspn(line, " \t");

		text[strcspn(text, "#\r\n \t")] = '\0';
		if (*text)
			err = add_rule(map, text);
	}
	fclose(file);
	return err;
}

enum zr_err rec_map_add(struct rec_map *map, const char *text)
{
	return strchr(text, '=') ? add_rule(map, text) : add_file(map, text);
}

void rec_map_fini(struct rec_map *map)
{
	free(map->rules);
	*map = (struct rec_map){ 0 };
}

static bool same(const char *ours, struct rec_name name)
{
	return strncmp(ours, name.text, name.bytes) == 0 && !ours[name.bytes];
}

static bool is_block(enum rec_type type)
{
	return type >= REC_RQ_ISSUE && type <= REC_FRONTMERGE;
}

static bool in_our_system(struct rec_name system, enum rec_type type)
{
	if (!system.bytes)
		return true;
	if (is_block(type))
		return same("block", system);
	return system.bytes >= 5 && memcmp(system.text, "zreel", 5) == 0;
}

/* Canonical events that are a second way to see what another shows. */
static const struct second {
	const char *event;
	enum rec_type type;
	uint32_t least;
} seconds[] = {
	{ "free_large", REC_FREE, 2 },
	{ "len_none", REC_LEN, 1 },
};

static const struct second *second_of(struct rec_name event)
{
	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++)
		if (same(seconds[i].event, event))
			return &seconds[i];
	return NULL;
}

int rec_map_type(const struct rec_map *map, struct rec_name system, struct rec_name event,
		 const struct rec_map_rule **rule)
{
	const struct second *second = second_of(event);
	int type;

	for (uint32_t i = 0; i < map->n; i++) {
		*rule = &map->rules[i];
		if (same((*rule)->event, event) &&
		    (!(*rule)->system[0] || !system.bytes || same((*rule)->system, system)))
			return (int)(*rule)->type;
	}
	*rule = NULL;
	type = second ? (int)second->type : rec_type_of(event.text, event.bytes);
	/* For our own recorder only, which knows when a pass begins. */
	if (type == REC_SLAB_START)
		return -1;
	return type >= 0 && in_our_system(system, (enum rec_type)type) ? type : -1;
}

uint32_t rec_map_least(const struct rec_map_rule *rule, struct rec_name event)
{
	const struct second *second = rule ? NULL : second_of(event);

	return second ? second->least : 0;
}

int rec_map_field(const struct rec_map_rule *rule, struct rec_name name)
{
	int field;

	for (field = 0; rule && field < REC_FIELD_COUNT; field++)
		if (rule->field[field][0] && same(rule->field[field], name))
			return field;
	field = rec_field_of(name.text, name.bytes);
	/* A canonical name that a rule gave to another of their fields is somebody else's. */
	return rule && field >= 0 && rule->field[field][0] ? -1 : field;
}

const char *rec_map_field_name(const struct rec_map_rule *rule, enum rec_field field)
{
	return rule && rule->field[field][0] ? rule->field[field] : field_name(field);
}
