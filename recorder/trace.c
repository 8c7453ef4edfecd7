/* SPDX-License-Identifier: MIT */
/* A trace file being filled; see trace.h. */
#include "recorder/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum zr_err rec_trace_open(const char *path, const struct rec_trace_how *how, struct rec_trace *out)
{
	const struct db_writer_options options = {
		.host = REC_HOST,
		.time_unit_ns = how->time_unit_ns,
		.flush_every_ns = how->again ? UINT64_MAX : 0,
	};
	enum zr_err err;

	*out = (struct rec_trace){ 0 };
	err = db_open(path, DB_CREATE, &out->db);
	if (!err && how->again)
		err = db_set_bulk(out->db);
	if (!err)
		err = db_writer_new(out->db, &options, &out->writer);
	return err ? rec_trace_close(out, err) : ZR_OK;
}

enum zr_err rec_trace_event(void *arg, const struct db_event *event)
{
	struct rec_trace *trace = arg;

	return db_writer_add(trace->writer, event);
}

/* The key may be a kernel address, which does not belong into a file: the live session, which knows that
 * it is a cgroup's id, has a function of its own. */
enum zr_err rec_trace_memcg(void *arg, uint32_t id, [[maybe_unused]] uint64_t key)
{
	struct rec_trace *trace = arg;

	return db_put_memcg(trace->db, &(struct db_memcg){ .host = REC_HOST, .id = id, .path = "" });
}

enum zr_err rec_trace_task(void *arg, uint32_t id, uint32_t tid)
{
	struct rec_trace *trace = arg;

	return db_put_task(trace->db, &(struct db_task){ .host = REC_HOST, .id = id, .tid = tid,
							 .comm = "" });
}

enum zr_err rec_trace_area(void *arg, uint32_t id, uint32_t type)
{
	struct rec_trace *trace = arg;

	return db_put_area(trace->db, &(struct db_area){ .host = REC_HOST, .id = id, .type = type,
							 .path = "" });
}

static void remove_files(const char *path)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
	char name[4096];

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t n = strlen(path) + strlen(endings[i]);

		if (n >= sizeof(name))
			return;
		strcpy(name, path);
		strcat(name, endings[i]);
		unlink(name);
	}
}

enum zr_err rec_trace_close(struct rec_trace *trace, enum zr_err err)
{
	char *path = trace->db ? strdup(db_path(trace->db)) : NULL;
	bool empty = !trace->writer || !db_writer_stats(trace->writer).events;
	enum zr_err close_err = db_writer_free(trace->writer);

	if (!err)
		err = close_err;
	if (!err)
		err = db_set_complete(trace->db);
	close_err = db_close(trace->db);
	if (err && empty && path)
		remove_files(path);
	free(path);
	*trace = (struct rec_trace){ 0 };
	return err ? err : close_err;
}
