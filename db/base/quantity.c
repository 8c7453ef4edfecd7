/* SPDX-License-Identifier: MIT */
/* Quantities as people write them; see quantity.h. */
#include "db/base/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	double factor;
};

/* A non-negative decimal and one of the units of the table, whose first entry has the empty name.
 */
static bool parse_with_unit(const char *text, const struct unit *units, uint64_t *out)
{
	char *end;
	double value;

	if (!isdigit((unsigned char)text[0]) || strpbrk(text, "xXpP"))
		return false;
	errno = 0;
	value = strtod(text, &end);
	for (; units->name; units++) {
		if (strcasecmp(units->name, end) != 0)
			continue;
		value *= units->factor;
		if (errno || !(value < 9.2e18))
			return false;
		*out = (uint64_t)(value + 0.5);
		return true;
	}
	return false;
}

bool zr_parse_bytes(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{ "", 1 },	 { "b", 1 },	    { "k", 0x1p10 }, { "kib", 0x1p10 },
		{ "m", 0x1p20 }, { "mib", 0x1p20 }, { "g", 0x1p30 }, { "gib", 0x1p30 },
		{ "t", 0x1p40 }, { "tib", 0x1p40 }, { NULL, 0 },
	};

	return parse_with_unit(text, units, out);
}

bool zr_parse_span(const char *text, uint64_t *out_ns)
{
	static const struct unit units[] = {
		{ "", 1e9 },   { "ns", 1 },	{ "us", 1e3 },	 { "ms", 1e6 }, { "s", 1e9 },
		{ "m", 6e10 }, { "min", 6e10 }, { "h", 3.6e12 }, { NULL, 0 },
	};

	return parse_with_unit(text, units, out_ns);
}
