/* SPDX-License-Identifier: MIT */
/* Numbers to text and back; see format.h. */
#include "ui/format.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Copies `digits` with a comma before every third digit counted from the decimal point. */
static struct ui_small grouped(const char *digits)
{
	struct ui_small out = { "" };
	size_t whole = strspn(digits, "0123456789"), used = 0;

	for (size_t i = 0; digits[i] && used + 2 < sizeof(out.text); i++) {
		if (i > 0 && i < whole && (whole - i) % 3 == 0)
			out.text[used++] = ',';
		out.text[used++] = digits[i];
	}
	return out;
}

struct ui_small ui_count(uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	return grouped(digits);
}

struct ui_small ui_number(double value, int decimals)
{
	char digits[40];
	struct ui_small out = { "-" };

	if (!isfinite(value))
		return out;
	/* Beyond 2^63 the digits say nothing any more. */
	if (fabs(value) > 9e18) {
		snprintf(out.text, sizeof(out.text), "%.3g", value);
		return out;
	}
	snprintf(digits, sizeof(digits), "%.*f", decimals, fabs(value));
	out = grouped(digits);
	if (value < 0 && strspn(digits, "0.") != strlen(digits)) {
		memmove(out.text + 1, out.text, sizeof(out.text) - 2);
		out.text[0] = '-';
	}
	return out;
}

/* Three significant digits: 1.23, 12.3, 123. */
static int three_digits(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

struct ui_small ui_bytes(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct ui_small out;
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1023.5 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(out.text, sizeof(out.text), "%.*f %s", unit ? three_digits(value) : 0, value,
		 units[unit]);
	return out;
}

struct ui_small ui_span(uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	struct ui_small out;
	uint64_t seconds = (ns + 500000000) / 1000000000;
	double value = (double)ns;
	int unit = 0;

	if (seconds >= 3600) {
		snprintf(out.text, sizeof(out.text), "%llu h %02llu min",
			 (unsigned long long)seconds / 3600, (unsigned long long)seconds / 60 % 60);
		return out;
	}
	if (seconds >= 100) {
		snprintf(out.text, sizeof(out.text), "%llu min %02llu s",
			 (unsigned long long)seconds / 60, (unsigned long long)seconds % 60);
		return out;
	}
	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	snprintf(out.text, sizeof(out.text), "%.*f %s", unit ? three_digits(value) : 0, value,
		 units[unit]);
	return out;
}

struct ui_small ui_clock(uint64_t ns)
{
	struct ui_small out;
	unsigned long long ms = ns / 1000000, s = ms / 1000;

	if (s >= 3600)
		snprintf(out.text, sizeof(out.text), "%llu:%02llu:%02llu.%03llu", s / 3600, s / 60 % 60,
			 s % 60, ms % 1000);
	else
		snprintf(out.text, sizeof(out.text), "%llu:%02llu.%03llu", s / 60, s % 60, ms % 1000);
	return out;
}

struct ui_small ui_change(double from, double to)
{
	struct ui_small out = { "-" };
	double percent = 100 * (to - from) / from;

	if (!isfinite(percent))
		return out;
	if (fabs(percent) < 0.05)
		percent = 0;
	if (fabs(percent) < 999.95)
		snprintf(out.text, sizeof(out.text), "%+.1f%%", percent);
	else
		snprintf(out.text, sizeof(out.text), "x%.3g", to / from);
	return out;
}

bool ui_parse_count(const char *text, uint32_t most, uint32_t *out)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value < 1 || value > most)
		return false;
	*out = (uint32_t)value;
	return true;
}
