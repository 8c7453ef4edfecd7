/* SPDX-License-Identifier: MIT */
/* Conditions on the machine's counters; see trigger.h. */
#include "recorder/trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/files.h"

static const char *const resources[] = { "io", "memory", "cpu" };
static const char *const kinds[] = { "some", "full" };
static const char *const averages[] = { "avg10", "avg60", "avg300" };

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

#define ONE_OF(word, words) is_one_of(word, words, sizeof(words) / sizeof(*(words)))

/* psi.RESOURCE.KIND[.AVERAGE] */
static bool parse_psi(char *name, struct rec_trigger *out)
{
	char *save, *resource = strtok_r(name, ".", &save), *kind = strtok_r(NULL, ".", &save);
	const char *given = strtok_r(NULL, ".", &save), *average = given ? given : averages[0];

	if (!kind || strtok_r(NULL, ".", &save) || !ONE_OF(resource, resources) ||
	    !ONE_OF(kind, kinds) || !ONE_OF(average, averages))
		return false;
	snprintf(out->file, sizeof(out->file), "pressure/%s", resource);
	snprintf(out->line, sizeof(out->line), "%s ", kind);
	snprintf(out->word, sizeof(out->word), "%s=", average);
	return true;
}

static bool parse_vmstat(const char *name, struct rec_trigger *out)
{
	int n = snprintf(out->line, sizeof(out->line), "%s ", name);

	snprintf(out->file, sizeof(out->file), "vmstat");
	return *name && n < (int)sizeof(out->line);
}

static bool parse_name(char *name, struct rec_trigger *out)
{
	if (strncmp(name, "psi.", 4) == 0)
		return parse_psi(name + 4, out);
	return strncmp(name, "vmstat.", 7) == 0 && parse_vmstat(name + 7, out);
}

enum zr_err rec_trigger_parse(const char *text, struct rec_trigger *out)
{
	size_t n = strcspn(text, "<>");
	char name[96], *end = NULL;

	*out = (struct rec_trigger){ .above = text[n] == '>' };
	snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : 0, text);
	if (text[n])
		out->limit = strtod(text + n + 1, &end);
	if (end && end != text + n + 1 && !*end && parse_name(name, out))
		return ZR_OK;
	return zr_fail(ZR_USAGE,
		       "trigger \"%s\": not understood; say for example psi.io.full>20 (percent of the "
		       "last 10 s), psi.memory.some.avg60>5, vmstat.pswpout>1000 (a second)",
		       text);
}

static const char *find_line(const char *text, const char *start)
{
	size_t n = strlen(start);

	while (text && strncmp(text, start, n) != 0) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text ? text + n : NULL;
}

static bool read_value(const struct rec_trigger *trigger, const char *proc, double *out)
{
	char *text = rec_file_readf("%s/%s", proc, trigger->file);
	const char *at = find_line(text, trigger->line);

	if (at && trigger->word[0]) {
		at = strstr(at, trigger->word);
		at = at ? at + strlen(trigger->word) : NULL;
	}
	if (at)
		*out = strtod(at, NULL);
	free(text);
	return at;
}

/* A counter becomes its growth a second. False while there is nothing to compare it with. */
static bool to_rate(struct rec_trigger *trigger, uint64_t now_ns, double *value)
{
	double grown = *value - trigger->last, seconds = (double)(now_ns - trigger->last_ns) / 1e9;
	bool known = trigger->last_ns && now_ns > trigger->last_ns;

	trigger->last = *value;
	trigger->last_ns = now_ns;
	*value = known ? grown / seconds : 0;
	return known;
}

bool rec_trigger_fires(struct rec_trigger *trigger, const char *proc, uint64_t now_ns)
{
	bool held = trigger->held;
	double value;

	if (!read_value(trigger, proc, &value))
		return false;
	if (!trigger->word[0] && !to_rate(trigger, now_ns, &value))
		return false;
	trigger->held = trigger->above ? value > trigger->limit : value < trigger->limit;
	return trigger->held && !held;
}
