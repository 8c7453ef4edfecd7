/* SPDX-License-Identifier: MIT */
/* Where a live recording goes; see outlet.h. */
#include "recorder/outlet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static enum zr_err put_event(void *arg, const struct db_event *event)
{
	struct rec_outlet *outlet = arg;

	if (event->kind == DB_OUT && !(event->flags & DB_F_PART))
		outlet->pages_out += db_event_pages(event);
	outlet->pages_in += event->kind == DB_IN;
	return outlet->flight ? rec_flight_event(outlet->flight, event)
			      : rec_trace_event(&outlet->trace, event);
}

enum zr_err rec_outlet_event(void *arg, const struct db_event *event)
{
	struct rec_outlet *outlet = arg;

	return outlet->block ? rec_block_event(outlet->block, event, put_event, outlet)
			     : put_event(outlet, event);
}

/* The text itself, or what stands for it, in `hidden`. */
static const char *shown(const struct rec_outlet *outlet, const char *path, char hidden[PATH_BYTES])
{
	if (!outlet->anonymize)
		return path;
	rec_anonym_path(&outlet->anonym, path, hidden, PATH_BYTES);
	return hidden;
}

enum zr_err rec_outlet_memcg(struct rec_outlet *outlet, const struct db_memcg *memcg)
{
	struct db_memcg row = *memcg;
	char hidden[PATH_BYTES];

	row.path = shown(outlet, memcg->path, hidden);
	return outlet->flight ? rec_flight_memcg(outlet->flight, &row)
			      : db_put_memcg(outlet->trace.db, &row);
}

enum zr_err rec_outlet_task(struct rec_outlet *outlet, const struct db_task *task)
{
	return outlet->flight ? rec_flight_task(outlet->flight, task)
			      : db_put_task(outlet->trace.db, task);
}

/* "/dev/sda2" says nothing of its owner; names of volumes and files may. */
static bool is_plain_device(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 && !strchr(path + 5, '/');
}

enum zr_err rec_outlet_area(struct rec_outlet *outlet, const struct rec_paths *paths,
			    const struct rec_swap *swap)
{
	struct db_area row = swap->row;
	char hidden[PATH_BYTES];
	enum zr_err err;

	if (!is_plain_device(swap->path))
		row.path = shown(outlet, swap->path, hidden);
	else
		row.path = swap->path;
	if (outlet->flight)
		return rec_flight_area(outlet->flight, &row);
	err = db_put_area(outlet->trace.db, &row);
	return err ? err : rec_swap_put_queue(outlet->trace.db, paths, swap, row.id);
}

/* "cgroup PATH FILE" */
static const char *shown_source(const struct rec_outlet *outlet, const char *source,
				char text[PATH_BYTES + 64])
{
	const char *path = source + strlen("cgroup "), *file = strrchr(source, ' ');
	char given[PATH_BYTES], hidden[PATH_BYTES];

	if (!outlet->anonymize || strncmp(source, "cgroup ", 7) != 0 || file < path)
		return source;
	snprintf(given, sizeof(given), "%.*s", (int)(file - path), path);
	snprintf(text, PATH_BYTES + 64, "cgroup %s%s", shown(outlet, given, hidden), file);
	return text;
}

static enum zr_err put_sample(void *arg, uint64_t time_ns, const char *source, const char *name,
			      double value)
{
	struct rec_outlet *outlet = arg;
	char text[PATH_BYTES + 64];

	source = shown_source(outlet, source, text);
	return outlet->flight
		       ? rec_flight_sample(outlet->flight, time_ns, source, name, value)
		       : db_put_sample(outlet->trace.db, REC_HOST, time_ns, source, name, value);
}

enum zr_err rec_outlet_sample(struct rec_outlet *outlet, const struct rec_paths *paths,
			      const struct rec_cgroups *cgroups, uint64_t time_ns)
{
	const struct rec_sample_sink sink = { .put = put_sample, .arg = outlet };

	return rec_sample_take(&sink, paths, cgroups, time_ns);
}

enum zr_err rec_outlet_environ(struct rec_outlet *outlet, const struct rec_paths *paths)
{
	enum zr_err err = rec_environ_put(outlet->trace.db, paths);

	if (err || !outlet->anonymize)
		return err;
	return db_env_set(outlet->trace.db, REC_HOST, DB_ENV_HOSTNAME, "");
}

enum zr_err rec_outlet_notes(struct rec_outlet *outlet, const struct rec_notes *notes)
{
	char *text = strdup(notes->text), *at = text, *line;
	enum zr_err err = text ? ZR_OK : zr_fail(ZR_NOMEM, "no memory for the environment");

	while (!err && (line = rec_next_line(&at))) {
		char *value = strchr(line, '\t');

		*value++ = '\0';
		err = db_env_set(outlet->trace.db, REC_HOST, line, value);
	}
	free(text);
	return err;
}

enum zr_err rec_outlet_flush(struct rec_outlet *outlet)
{
	return outlet->trace.writer ? db_writer_flush(outlet->trace.writer) : ZR_OK;
}

uint64_t rec_outlet_bytes(const struct rec_outlet *outlet)
{
	if (outlet->flight)
		return rec_flight_stats(outlet->flight).bytes;
	return outlet->trace.writer ? db_writer_stats(outlet->trace.writer).chunk_bytes : 0;
}

void rec_outlet_name(const char *output, uint32_t n, char *text, size_t bytes)
{
	const char *name = strrchr(output, '/'), *dot = strrchr(name ? name : output, '.');
	int stem = (int)(dot ? (size_t)(dot - output) : strlen(output));

	if (n < 2)
		snprintf(text, bytes, "%s", output);
	else
		snprintf(text, bytes, "%.*s.%u%s", stem, output, n, dot ? dot : "");
}
