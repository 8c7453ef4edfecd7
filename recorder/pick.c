/* SPDX-License-Identifier: MIT */
/* Which source a recording uses; see pick.h. */
#include "recorder/pick.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct way {
	enum rec_source_kind kind;
	const struct rec_source_ops *ops;
} ways[] = {
	{ REC_SOURCE_FTRACE, &rec_source_ftrace },
	{ REC_SOURCE_PERF, &rec_source_perf },
	{ REC_SOURCE_BLOCK, &rec_source_ftrace },
	{ REC_SOURCE_BLOCK, &rec_source_perf },
};

enum { N_WAYS = sizeof(ways) / sizeof(*ways) };

static const char *const kind_names[] = {
#define X(id, name) [REC_SOURCE_##id] = name,
	REC_SOURCES(X)
#undef X
};

static bool can_define(const struct rec_source_setup *setup)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/dynamic_events", setup->paths->tracefs);
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* Without the right to define probes, those that somebody else defined will do. */
static void choose_group(const struct rec_options *options, struct rec_source_setup *setup,
			 enum rec_source_kind kind)
{
	setup->events = kind == REC_SOURCE_PERF ? options->events : NULL;
	if (kind == REC_SOURCE_PERF && !setup->events && !can_define(setup) &&
	    rec_group_types(setup->paths->tracefs, REC_CANONICAL_GROUP))
		setup->events = REC_CANONICAL_GROUP;
}

static enum zr_err try_way(const struct rec_options *options, struct rec_source_setup setup,
			   const struct way *way, const char *no_probes, struct rec_picked *out)
{
	static const struct rec_probes none = { 0 };

	*out = (struct rec_picked){ .ops = way->ops, .block_only = way->kind == REC_SOURCE_BLOCK };
	setup.reclaim = out->block_only;
	if (out->block_only)
		setup.probes = &none;
	else if (no_probes)
		return zr_fail(ZR_UNSUPPORTED, "%s", no_probes);
	choose_group(options, &setup, way->kind);
	if (setup.events)
		rec_note(setup.notes, "probe.group", "%s", setup.events);
	return way->ops->open(&setup, &out->source);
}

static const char *way_name(const struct way *way)
{
	return way->kind == REC_SOURCE_BLOCK && way->ops == &rec_source_perf
		       ? "block through perf"
		       : kind_names[way->kind];
}

static bool is_worth_another(enum zr_err err)
{
	return zr_err_class(err) == ZR_CLASS_DENIED || err == ZR_NOT_FOUND || err == ZR_IO;
}

enum zr_err rec_pick(const struct rec_options *options, struct rec_source_setup *setup,
		     const char *no_probes, struct rec_picked *out)
{
	char tried[1024] = "";
	size_t n = 0;
	enum zr_err err = ZR_OK;

	if (options->events && options->source != REC_SOURCE_PERF)
		return zr_fail(ZR_USAGE, "events that exist already are for --source perf");
	for (uint32_t i = 0; i < N_WAYS; i++) {
		if (options->source != REC_SOURCE_AUTO && options->source != ways[i].kind)
			continue;
		zr_error_clear();
		err = try_way(options, *setup, &ways[i], no_probes, out);
		if (!err && n)
			rec_note(setup->notes, "source.tried", "%s", tried);
		if (!err || !is_worth_another(err))
			return err;
		n += (size_t)snprintf(tried + n, sizeof(tried) - n, "%s%s: %s", n ? "; " : "",
				      way_name(&ways[i]), zr_error_text());
		if (n >= sizeof(tried))
			n = sizeof(tried) - 1;
	}
	zr_error_clear();
	return zr_fail(err, "recording: no way to the kernel's events works here: %s", tried);
}
