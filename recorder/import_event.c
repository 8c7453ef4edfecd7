/* SPDX-License-Identifier: MIT */
/* Events in the kernel's binary form; see import_event.h. */
#include "recorder/import_event.h"

#include <event-parse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/bytes.h"

enum { IDS = 65536, COMMON_TYPE_BYTES = 2, PLANS_MAX = 1024, FIELD_MAX = 1 << 20 };

struct place {
	uint32_t offset, size;
	bool is_signed, there;
};

struct plan {
	enum rec_type type;
	uint32_t least_len; /* see rec_map_least() */
	struct place pid, field[REC_FIELD_COUNT];
};

struct rec_events {
	const struct rec_dialect *dialect;
	struct plan *plans;
	uint32_t n, room;
	int load_errno;
	uint16_t plan_of[IDS]; /* + 1; 0 = not ours */
};

/* An event as its source describes it. */
struct shape {
	const char *system, *name;
	int id;
	/* The place of a field; not there if it has none of that name. */
	struct place (*find)(const struct shape *shape, const char *name);
	struct tep_event *tep;
	const char *text, *end;
};

enum zr_err rec_events_new(const struct rec_dialect *dialect, struct rec_events **out)
{
	struct rec_events *events = calloc(1, sizeof(*events));

	if (!events)
		return zr_fail(ZR_NOMEM, "no memory for the formats of events");
	events->dialect = dialect;
	events->load_errno = -1;
	*out = events;
	return ZR_OK;
}

void rec_events_free(struct rec_events *events)
{
	if (!events)
		return;
	free(events->plans);
	free(events);
}

/* ---------------------------------------------------------------------------------------- plans */

static bool is_number(const struct place *place)
{
	return place->size == 1 || place->size == 2 || place->size == 4 || place->size == 8;
}

static struct place field_place(const struct shape *shape, const struct rec_map_rule *rule,
				enum rec_field field)
{
	struct place place = shape->find(shape, rec_map_field_name(rule, field));

	place.there = place.there && (field == REC_FIELD_RWBS || is_number(&place));
	return place;
}

static bool room_for_plan(struct rec_events *events)
{
	uint32_t room = events->room ? events->room * 2 : 64;
	struct plan *plans;

	if (events->n < events->room)
		return true;
	plans = room <= PLANS_MAX ? realloc(events->plans, room * sizeof(*plans)) : NULL;
	if (!plans)
		return false;
	events->plans = plans;
	events->room = room;
	return true;
}

static enum zr_err make_plan(struct rec_events *events, const struct shape *shape,
			     const struct rec_map_rule *rule, enum rec_type type)
{
	struct plan *plan;

	if (!room_for_plan(events))
		return zr_fail(ZR_NOMEM, "no room for the formats of more than %u events",
			       events->n);
	plan = &events->plans[events->n];
	*plan = (struct plan){ .type = type, .pid = shape->find(shape, "common_pid") };
	plan->least_len = rec_map_least(
		rule, (struct rec_name){ shape->name, (uint32_t)strlen(shape->name) });
	for (enum rec_field field = 0; field < REC_FIELD_COUNT; field++)
		plan->field[field] = field_place(shape, rule, field);
	if (type == REC_LOAD_RET && plan->field[REC_FIELD_RET].there)
		events->load_errno = plan->field[REC_FIELD_RET].size > 1;
	events->plan_of[shape->id] = (uint16_t)++events->n;
	return ZR_OK;
}

static enum zr_err add_shape(struct rec_events *events, const struct shape *shape)
{
	const struct rec_map_rule *rule;
	int type = rec_map_type(&events->dialect->map,
				(struct rec_name){ shape->system, (uint32_t)strlen(shape->system) },
				(struct rec_name){ shape->name, (uint32_t)strlen(shape->name) },
				&rule);

	if (type < 0 || shape->id < 0 || shape->id >= IDS || events->plan_of[shape->id])
		return ZR_OK;
	return make_plan(events, shape, rule, (enum rec_type)type);
}

/* ----------------------------------------------------------------------------- by libtraceevent */

static struct place find_in_tep(const struct shape *shape, const char *name)
{
	struct tep_format_field *field = tep_find_any_field(shape->tep, name);

	if (!field || field->offset < 0 || field->size <= 0 || field->offset > FIELD_MAX ||
	    field->size > FIELD_MAX)
		return (struct place){ 0 };
	return (struct place){ .offset = (uint32_t)field->offset,
			       .size = (uint32_t)field->size,
			       .is_signed = field->flags & TEP_FIELD_IS_SIGNED,
			       .there = true };
}

enum zr_err rec_events_add_tep(struct rec_events *events, struct tep_handle *tep)
{
	struct tep_event **all = tep_list_events(tep, TEP_EVENT_SORT_ID);
	enum zr_err err = ZR_OK;

	for (; !err && all && *all; all++)
		err = add_shape(events, &(struct shape){ .system = (*all)->system,
							 .name = (*all)->name,
							 .id = (*all)->id,
							 .find = find_in_tep,
							 .tep = *all });
	return err;
}

/* ------------------------------------------------------------------------- by the format's text */

/* The value of "key:value" in a line; false if it has none. */
static bool number_in(const char *line, const char *key, uint32_t *out)
{
	const char *at = strstr(line, key);
	char *end;
	unsigned long value;

	if (!at)
		return false;
	at += strlen(key);
	value = strtoul(at, &end, 10);
	*out = (uint32_t)value;
	return end != at && *at != '-' && value <= FIELD_MAX;
}

/* Is it "	field:unsigned long name[8];..."? */
static bool declares(const char *line, const char *name)
{
	const char *start = strstr(line, "field:"), *end = start ? strchr(start, ';') : NULL;
	size_t n = strlen(name);

	if (!end)
		return false;
	if (end[-1] == ']')
		while (end > start && *end != '[')
			end--;
	return (size_t)(end - start) > n && memcmp(end - n, name, n) == 0 &&
	       (end[-(ptrdiff_t)n - 1] == ' ' || end[-(ptrdiff_t)n - 1] == '*');
}

/* Copies the line at `at`; returns what is behind it, NULL at the end. */
static const char *take_line(const char *at, const char *end, char *line, size_t bytes)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	size_t n = (size_t)((newline ? newline : end) - at);

	if (at == end)
		return NULL;
	snprintf(line, bytes, "%.*s", (int)(n < bytes ? n : bytes - 1), at);
	return newline ? newline + 1 : end;
}

static struct place find_in_text(const struct shape *shape, const char *name)
{
	struct place place = { 0 };
	uint32_t is_signed = 0;
	char line[512];

	for (const char *at = shape->text; (at = take_line(at, shape->end, line, sizeof(line)));) {
		if (!declares(line, name) || !number_in(line, "offset:", &place.offset) ||
		    !number_in(line, "size:", &place.size) || !place.size)
			continue;
		number_in(line, "signed:", &is_signed);
		place.is_signed = is_signed;
		place.there = true;
		return place;
	}
	return (struct place){ 0 };
}

enum zr_err rec_events_add_format(struct rec_events *events, const char *system, const char *format,
				  size_t bytes)
{
	struct shape shape = {
		.system = system, .find = find_in_text, .text = format, .end = format + bytes
	};
	char line[512], name[128] = "";
	uint32_t id = UINT32_MAX;

	for (const char *at = format; (at = take_line(at, shape.end, line, sizeof(line)));) {
		if (strncmp(line, "name: ", 6) == 0)
			snprintf(name, sizeof(name), "%.127s", line + 6);
		else if (strncmp(line, "ID: ", 4) == 0 && number_in(line, "ID: ", &id))
			break;
	}
	if (!*name || id >= IDS)
		return zr_fail(ZR_CORRUPT, "the format of an event of %s has no name or no number",
			       system);
	shape.name = name;
	shape.id = (int)id;
	return add_shape(events, &shape);
}

/* ------------------------------------------------------------------------------------- decoding */

int rec_events_load_errno(const struct rec_events *events)
{
	return events->load_errno;
}

static uint64_t load(const struct place *place, const uint8_t *at)
{
	switch (place->size) {
	case 1:
		return place->is_signed ? (uint64_t)(int8_t)*at : *at;
	case 2:
		return place->is_signed ? (uint64_t)(int16_t)zr_get16(at) : zr_get16(at);
	case 4:
		return place->is_signed ? (uint64_t)(int32_t)zr_get32(at) : zr_get32(at);
	default:
		return zr_get64(at);
	}
}

static bool inside(const struct place *place, size_t bytes)
{
	return place->offset <= bytes && place->size <= bytes - place->offset;
}

static bool gather(const struct plan *plan, const uint8_t *data, size_t bytes,
		   struct rec_fields *fields)
{
	for (int i = 0; i < REC_FIELD_COUNT; i++) {
		const struct place *place = &plan->field[i];
		const uint8_t *at = data + place->offset;

		if (!place->there)
			continue;
		if (!inside(place, bytes))
			return false;
		fields->present |= 1u << i;
		fields->value[i] =
			i == REC_FIELD_RWBS
				? rec_op_of((const char *)at,
					    (uint32_t)strnlen((const char *)at, place->size))
				: load(place, at);
	}
	return true;
}

enum rec_line rec_events_decode(const struct rec_events *events, const void *data, size_t bytes,
				struct rec_raw *raw)
{
	struct rec_fields fields = { 0 };
	const struct plan *plan;
	uint16_t number;

	if (bytes < COMMON_TYPE_BYTES)
		return REC_LINE_UNKNOWN;
	number = events->plan_of[zr_get16(data)];
	if (!number)
		return REC_LINE_OTHER;
	plan = &events->plans[number - 1];
	if (!gather(plan, data, bytes, &fields))
		return REC_LINE_UNKNOWN;
	if (!rec_raw_fill(raw, plan->type, &fields, &events->dialect->layout))
		return REC_LINE_LACKS;
	if (raw->len < plan->least_len)
		return REC_LINE_COMMENT;
	if (plan->pid.there && plan->pid.size == 4 && inside(&plan->pid, bytes))
		raw->tid = zr_get32((const uint8_t *)data + plan->pid.offset);
	return REC_LINE_EVENT;
}
