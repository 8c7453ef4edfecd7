/* SPDX-License-Identifier: MIT */
/* From options to a selection; see select.h. */
#include "ui/select.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/quantity.h"
#include "ui/format.h"

/* A decimal up to `most` that ends where *text then points. */
static bool parse_number(const char **text, uint64_t most, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *out <= most;
}

static enum zr_err parse_moment(const char *option, const char *text, struct db_moment *out)
{
	const char *at = text + 1;

	if (!text)
		return ZR_OK;
	out->base = *text == '@' ? DB_MOMENT_CLOCK : DB_MOMENT_SINCE_START;
	if (*text == '@' ? parse_number(&at, INT64_MAX, &out->ns) && !*at
			 : zr_parse_span(text, &out->ns))
		return ZR_OK;
	return zr_fail(ZR_USAGE,
		       "--%s got '%s'; it takes a time such as 4s or 1500ms after the start of the "
		       "trace, or @ and nanoseconds of its clock",
		       option, text);
}

static enum zr_err parse_times(const struct ui_select *given, struct db_selection *out)
{
	enum zr_err err = parse_moment("from", given->from, &out->from);

	if (!err)
		err = parse_moment("to", given->to, &out->to);
	if (!err && out->to.base && out->to.ns <= out->from.ns &&
	    (out->to.base == out->from.base || !out->to.ns))
		err = zr_fail(ZR_USAGE, "--to must be later than --from");
	return err;
}

static enum zr_err parse_id(const char *option, const char *text, uint32_t most, uint32_t *out)
{
	const char *at = text;
	uint64_t value = 0;

	if (!parse_number(&at, most, &value) || *at)
		return zr_fail(ZR_USAGE, "--%s got '%s'; it takes a number from 0 to %u", option,
			       text, most);
	*out = (uint32_t)value;
	return ZR_OK;
}

static enum zr_err parse_slots(const char *text, struct db_selection *out)
{
	const char *at = text;
	uint64_t first = 0, last = 0;
	bool ok = parse_number(&at, UINT32_MAX, &first);

	last = first;
	if (ok && *at == '-') {
		at++;
		ok = parse_number(&at, UINT32_MAX, &last);
	}
	if (!ok || *at || last < first)
		return zr_fail(ZR_USAGE,
			       "--slots got '%s'; it takes a range such as 100-199, both included",
			       text);
	out->some_slots = true;
	out->slot_first = (uint32_t)first;
	out->slot_last = (uint32_t)last;
	return ZR_OK;
}

/* Adds the kinds of one "OUT,IN" to the mask. */
static enum zr_err add_kinds(const char *names, uint32_t *mask)
{
	while (*names) {
		size_t length = strcspn(names, ",");
		unsigned kind = 0;

		while (kind < DB_KIND_COUNT &&
		       (strlen(db_kind_name(kind)) != length ||
			strncasecmp(db_kind_name(kind), names, length) != 0))
			kind++;
		if (kind == DB_KIND_COUNT)
			return zr_fail(ZR_USAGE,
				       "--kind got '%.*s'; the kinds are OUT, IN, FREE, WB, "
				       "RECLAIM, SCAN, "
				       "WORKER, SHRINK, IO, SAMPLE and GAP",
				       (int)length, names);
		*mask |= 1u << kind;
		names += length + (names[length] == ',');
	}
	return ZR_OK;
}

uint32_t ui_time_unit_ns(int choice)
{
	static const uint32_t units[] = { 1, 1'000, 1'000'000 };

	return units[choice];
}

enum zr_err ui_select_parse(const struct ui_select *given, struct db_selection *out)
{
	enum zr_err err;

	*out = (struct db_selection){ .cgroups = given->cgroups.items,
				      .n_cgroups = given->cgroups.n,
				      .one_area = given->area,
				      .one_host = given->host };
	err = parse_times(given, out);
	if (!err && given->area)
		err = parse_id("area", given->area, DB_AREA_MAX, &out->area);
	if (!err && given->host)
		err = parse_id("host", given->host, UINT32_MAX, &out->host);
	if (!err && given->slots)
		err = parse_slots(given->slots, out);
	for (uint32_t i = 0; i < given->kinds.n && !err; i++)
		err = add_kinds(given->kinds.items[i], &out->kinds);
	return err;
}
