/* SPDX-License-Identifier: MIT */
/* Lines of ftrace text; see text.h. */
#include "recorder/text.h"

#include <ctype.h>
#include <string.h>

#include "db/event.h"

static const char *skip_spaces(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

static const char *skip_word(const char *at)
{
	while (*at && *at != ' ' && *at != '\t')
		at++;
	return at;
}

/* A decimal number; NULL if there is none or it does not fit. */
static const char *number(const char *at, uint64_t *out)
{
	uint64_t value = 0;

	if (!isdigit((unsigned char)*at))
		return NULL;
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return NULL;
	*out = value;
	return at;
}

static const char *hex_number(const char *at, uint64_t *out)
{
	uint64_t value = 0;
	int digits = 0;

	for (; isxdigit((unsigned char)*at); at++, digits++)
		value = value << 4 |
			(uint64_t)(isdigit((unsigned char)*at) ? *at - '0'
							       : (*at | 0x20) - 'a' + 10);
	if (!digits || digits > 16)
		return NULL;
	*out = value;
	return at;
}

/* 0x1f, -12 or 12. */
static const char *any_number(const char *at, uint64_t *out)
{
	if (at[0] == '0' && at[1] == 'x')
		return hex_number(at + 2, out);
	if (*at != '-')
		return number(at, out);
	at = number(at + 1, out);
	if (at)
		*out = 0 - *out;
	return at;
}

/* "8.562497:" in seconds with a fraction, or the plain count of a counter clock. */
static const char *time_stamp(const char *at, uint64_t *time_ns)
{
	uint64_t seconds, fraction = 0;
	int digits = 0;

	at = number(at, &seconds);
	if (!at)
		return NULL;
	if (*at == ':') {
		*time_ns = seconds;
		return at + 1;
	}
	if (*at++ != '.')
		return NULL;
	for (; isdigit((unsigned char)*at) && digits < 9; at++, digits++)
		fraction = fraction * 10 + (uint64_t)(*at - '0');
	if (!digits || *at != ':' || seconds > UINT64_MAX / 1'000'000'000 - 1)
		return NULL;
	for (; digits < 9; digits++)
		fraction *= 10;
	*time_ns = seconds * 1'000'000'000 + fraction;
	return at + 1;
}

/* The pid before the CPU column, which begins at `bracket`: "-233 " or " 233 ", perhaps with "(
 * 233)" or
 * "(-----)" of the tgid between, or "233/233" as perf prints it. */
static bool pid_before(const char *line, const char *bracket, uint32_t *tid)
{
	const char *end = bracket, *start;
	uint64_t pid;

	while (end > line && end[-1] == ' ')
		end--;
	if (end > line && end[-1] == ')') {
		while (end > line && end[-1] != '(')
			end--;
		if (end > line)
			end--;
		while (end > line && end[-1] == ' ')
			end--;
	}
	for (start = end; start > line && isdigit((unsigned char)start[-1]);)
		start--;
	if (start == end || start == line || !strchr("- /", start[-1]) ||
	    number(start, &pid) != end || pid > UINT32_MAX)
		return false;
	*tid = (uint32_t)pid;
	return true;
}

/* After the CPU: flags, if any, and the time. */
static const char *time_after(const char *at, uint64_t *time_ns)
{
	const char *start = skip_spaces(at), *behind;

	if (start == at)
		return NULL;
	behind = time_stamp(start, time_ns);
	if (behind)
		return behind;
	at = skip_word(start);
	if (at - start > 10)
		return NULL;
	return time_stamp(skip_spaces(at), time_ns);
}

/* Finds the columns; returns what follows the time. */
static const char *columns(const char *line, struct rec_raw *raw)
{
	const char *bracket = line;

	while ((bracket = strchr(bracket, '['))) {
		uint64_t cpu;
		const char *at = number(skip_spaces(bracket + 1), &cpu);

		if (at && *at == ']' && cpu < UINT16_MAX && pid_before(line, bracket, &raw->tid)) {
			raw->cpu = (uint16_t)cpu;
			at = time_after(at + 1, &raw->time_ns);
			if (at)
				return at;
		}
		bracket++;
	}
	return NULL;
}

/* "event:" or "system:event:". */
static const char *event_name(const char *at, struct rec_name *system, struct rec_name *event)
{
	const char *start = skip_spaces(at), *end = skip_word(start), *colon;

	if (end == start || end[-1] != ':')
		return NULL;
	end--;
	for (colon = end; colon > start && colon[-1] != ':';)
		colon--;
	*event = (struct rec_name){ colon, (uint32_t)(end - colon) };
	*system = (struct rec_name){ start, colon > start ? (uint32_t)(colon - start - 1) : 0 };
	return end + 1;
}

/* All "name=value" words whose names are known. */
static void named_fields(const char *at, const struct rec_map_rule *rule, struct rec_fields *fields)
{
	for (at = skip_spaces(at); *at; at = skip_spaces(skip_word(at))) {
		const char *equals = at, *end = skip_word(at);
		int field;

		while (equals < end && *equals != '=')
			equals++;
		if (equals == end)
			continue;
		field = rec_map_field(rule, (struct rec_name){ at, (uint32_t)(equals - at) });
		if (field >= 0 && any_number(equals + 1, &fields->value[field]) == end)
			fields->present |= 1u << field;
	}
}

static void set(struct rec_fields *fields, enum rec_field field, uint64_t value)
{
	fields->present |= 1u << field;
	fields->value[field] = value;
}

/* The kernel's own print of block events: "259,0 WS 4096 () 123456 + 8 ..." : the request's place
 * is the only "number + number" of the line. */
static void block_fields(const char *at, struct rec_fields *fields)
{
	uint64_t major, minor, sector, sectors;
	const char *word;

	at = number(skip_spaces(at), &major);
	at = at && *at == ',' ? number(at + 1, &minor) : NULL;
	if (!at)
		return;
	set(fields, REC_FIELD_DEV, (major & 0xfff) << 20 | (minor & 0xfffff));
	word = skip_spaces(at);
	at = skip_word(word);
	set(fields, REC_FIELD_RWBS, rec_op_of(word, (uint32_t)(at - word)));
	for (at = skip_spaces(at); *at; at = skip_spaces(skip_word(at))) {
		const char *plus = number(at, &sector);

		if (!plus || strncmp(plus, " + ", 3) != 0 || !number(plus + 3, &sectors))
			continue;
		set(fields, REC_FIELD_SECTOR, sector);
		set(fields, REC_FIELD_SECTORS, sectors);
		return;
	}
}

static enum rec_line event_line(const char *at, const struct rec_dialect *dialect,
				struct rec_raw *raw)
{
	struct rec_fields fields = { 0 };
	const struct rec_map_rule *rule;
	struct rec_name system, event;
	struct rec_raw found;
	int type;

	at = event_name(at, &system, &event);
	if (!at)
		return REC_LINE_UNKNOWN;
	type = rec_map_type(&dialect->map, system, event, &rule);
	if (type < 0)
		return REC_LINE_OTHER;
	if (type >= REC_RQ_ISSUE && type <= REC_FRONTMERGE)
		block_fields(at, &fields);
	else
		named_fields(at, rule, &fields);
	if (!rec_raw_fill(&found, (enum rec_type)type, &fields, &dialect->layout))
		return REC_LINE_LACKS;
	if (found.len < rec_map_least(rule, event))
		return REC_LINE_COMMENT;
	found.time_ns = raw->time_ns;
	found.tid = raw->tid;
	found.cpu = raw->cpu;
	*raw = found;
	return REC_LINE_EVENT;
}

/* "CPU:1 [LOST 57 EVENTS]", or "[LOST EVENTS]" where the kernel does not know how many. */
static bool lost_line(const char *line, struct rec_raw *raw)
{
	uint64_t cpu, lost = 1;
	const char *at;

	if (strncmp(line, "CPU:", 4) != 0)
		return false;
	at = number(skip_spaces(line + 4), &cpu);
	if (!at || strncmp(skip_spaces(at), "[LOST", 5) != 0)
		return false;
	number(skip_spaces(skip_spaces(at) + 5), &lost);
	*raw = (struct rec_raw){ .type = REC_LOST, .cpu = (uint16_t)cpu, .order = DB_GAP_IMPORT };
	raw->len = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
	return true;
}

/* Headers: of ftrace "# ...", of its pipes "##### CPU 1 buffer started ####", of trace-cmd
 * "cpus=8". */
static bool comment(const char *line)
{
	return !*line || *line == '#' || strncmp(line, "cpus=", 5) == 0;
}

enum rec_line rec_text_parse(const char *line, const struct rec_dialect *dialect,
			     struct rec_raw *raw)
{
	const char *at;

	line = skip_spaces(line);
	if (comment(line))
		return REC_LINE_COMMENT;
	if (lost_line(line, raw))
		return REC_LINE_EVENT;
	*raw = (struct rec_raw){ 0 };
	at = columns(line, raw);
	return at ? event_line(at, dialect, raw) : REC_LINE_UNKNOWN;
}
