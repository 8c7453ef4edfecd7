/* SPDX-License-Identifier: MIT */
/*
 * zreel dump: the events of a trace, in a format for people or for another program. Streams: one or two
 * chunks are in memory.
 *
 * text: columns for people. csv: a header and the raw fields. json: one object a line. The others are
 * made by db/export: ftrace text, oracleGeneral records, a fio iolog.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/select.h"
#include "ui/stop.h"

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_FTRACE, FORMAT_ORACLE, FORMAT_FIO };

struct values {
	int format;
	const char *output;
	struct ui_select select;
};

static const struct ui_option options[] = {
	{ "format", 'f', UI_CHOICE, offsetof(struct values, format), "text|csv|json|ftrace|oracle|fio",
	  "how to print an event" },
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "write to this file, which must not exist, instead of standard output" },
	UI_SELECT_OPTIONS(values, select),
	UI_SELECT_KINDS(values, select),
	{ 0 },
};

/* An outcome in words, with what goes beside it; numbers that have no name keep their place as "?". */
static struct ui_small outcome_text(const struct db_event *event)
{
	struct ui_small out = { "" };
	const char *name = db_event_outcome(event), *more = NULL;
	bool has_more = false;

	if (event->kind == DB_IO) {
		more = db_event_phase(event);
		has_more = true;
	} else if (event->kind == DB_OUT && db_flags_outcome(event->flags) == DB_OUT_REJECTED) {
		more = db_event_reason(event);
		has_more = true;
	}
	if (has_more)
		snprintf(out.text, sizeof(out.text), "%s %s", name ? name : "?", more ? more : "?");
	else if (name)
		snprintf(out.text, sizeof(out.text), "%s", name);
	return out;
}

static const char *kind_text(uint8_t kind)
{
	return kind < DB_KIND_COUNT ? db_kind_name(kind) : "?";
}

static const char *mark_text(const struct db_event *event)
{
	if (event->flags & DB_F_UNKNOWN)
		return "unknown";
	if (event->kind == DB_IN && event->flags & DB_F_READAHEAD)
		return "readahead";
	return event->kind == DB_OUT && event->flags & DB_F_PART ? "part" : "";
}

/* An event and what is known beside it. */
struct row {
	uint32_t host;
	uint64_t start_ns; /* the host's first event */
	struct db_event event;
};

static void print_text(FILE *out, const struct row *row)
{
	const struct db_event *e = &row->event;
	uint64_t since_ns = e->time_ns - row->start_ns;

	fprintf(out,
		"%6" PRIu64 ".%09" PRIu64 "  %-7s  %3u:%-10" PRIu32
		"  order %-2u len %-5u memcg %-5u task %-6" PRIu32 "  %s %s\n",
		since_ns / 1000000000, since_ns % 1000000000, kind_text(e->kind), e->area, e->slot,
		e->order, e->len, e->memcg, e->task, outcome_text(e).text, mark_text(e));
}

static void print_csv(FILE *out, const struct row *row)
{
	const struct db_event *e = &row->event;

	fprintf(out, "%" PRIu32 ",%" PRIu64 ",%s,%u,%" PRIu32 ",%u,%u,%" PRIu32 ",%u,%u,%s\n", row->host,
		e->time_ns, kind_text(e->kind), e->area, e->slot, e->order, e->memcg, e->task, e->len,
		e->flags, outcome_text(e).text);
}

static void print_json(FILE *out, const struct row *row)
{
	const struct db_event *e = &row->event;

	fprintf(out,
		"{\"host\":%" PRIu32 ",\"time_ns\":%" PRIu64
		",\"kind\":\"%s\",\"area\":%u,\"slot\":%" PRIu32
		",\"order\":%u,\"memcg\":%u,\"task\":%" PRIu32
		",\"len\":%u,\"flags\":%u,\"outcome\":\"%s\"}\n",
		row->host, e->time_ns, kind_text(e->kind), e->area, e->slot, e->order, e->memcg,
		e->task, e->len, e->flags, outcome_text(e).text);
}

static void (*const printers[])(FILE *, const struct row *) = {
	[FORMAT_TEXT] = print_text,
	[FORMAT_CSV] = print_csv,
	[FORMAT_JSON] = print_json,
};

typedef enum zr_err export_fn(struct db *db, const struct db_selection *selection,
			      const struct db_watch *watch, FILE *out,
			      struct db_export_result *result);

static export_fn *const exports[] = {
	[FORMAT_FTRACE] = db_export_ftrace,
	[FORMAT_ORACLE] = db_export_oracle,
	[FORMAT_FIO] = db_export_fio,
};

struct dump {
	struct db *db;
	int format;
	struct db_selection selection;
	struct ui_progress progress;
	FILE *out;
};

static enum zr_err print_batches(struct dump *dump, struct db_selector *selector)
{
	const struct db_batch *batch;
	enum zr_err err;

	while (!(err = db_selector_next(selector, &batch)) && batch) {
		struct row row = { batch->host, db_selector_start_ns(selector), { 0 } };

		for (uint32_t i = 0; i < batch->n; i++) {
			row.event = db_batch_event(batch, i);
			printers[dump->format](dump->out, &row);
		}
		if (ferror(dump->out))
			return ZR_OK; /* whoever closes it tells */
	}
	return err;
}

static enum zr_err print_events(struct dump *dump, const struct db_watch *watch)
{
	struct db_selector *selector;
	enum zr_err err = db_selector_new(dump->db, &dump->selection, watch, &selector);

	if (err)
		return err;
	if (dump->format == FORMAT_CSV)
		fputs("host,time_ns,kind,area,slot,order,memcg,task,len,flags,outcome\n", dump->out);
	err = print_batches(dump, selector);
	db_selector_free(selector);
	return err;
}

/* Not an error, but nobody should take the export for more than it is. */
static void warn(const struct db_export_result *result)
{
	if (result->changed)
		fprintf(stderr, "zreel dump: %s events are not in this format as they are in the trace\n",
			ui_count(result->changed).text);
	if (result->dropped)
		fprintf(stderr, "zreel dump: %s events cannot be said in this format and are left out\n",
			ui_count(result->dropped).text);
}

static enum zr_err export(struct dump *dump, const struct db_watch *watch)
{
	struct db_export_result result;
	enum zr_err err =
		exports[dump->format](dump->db, &dump->selection, watch, dump->out, &result);

	ui_progress_end(&dump->progress);
	if (!err)
		warn(&result);
	return err;
}

static enum zr_err dump_all(struct dump *dump)
{
	const struct db_watch watch = { ui_progress_update, &dump->progress };
	enum zr_err err;

	ui_progress_begin(&dump->progress, "dumping");
	/* A bar would run into the lines. */
	dump->progress.on &= !isatty(fileno(dump->out));
	err = dump->format <= FORMAT_JSON ? print_events(dump, &watch) : export(dump, &watch);
	ui_progress_end(&dump->progress);
	return err;
}

/* To a new file, which goes away if it is not finished. */
static enum zr_err dump_to_file(struct dump *dump, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	enum zr_err err;

	if (fd < 0 && errno == EEXIST)
		return zr_fail(ZR_EXISTS, "%s is there already: remove it or choose another name", path);
	if (fd < 0)
		return zr_fail_errno(errno, "cannot create %s", path);
	ui_stop_catch();
	dump->out = fdopen(fd, "w");
	if (!dump->out) {
		close(fd);
		unlink(path);
		return zr_fail(ZR_NOMEM, "no memory to write %s", path);
	}
	err = dump_all(dump);
	if (!err && (fflush(dump->out) || ferror(dump->out)))
		err = zr_fail_errno(errno, "writing %s, which is removed", path);
	if (fclose(dump->out) && !err)
		err = zr_fail_errno(errno, "writing %s, which is removed", path);
	if (err)
		unlink(path);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct dump dump = { .format = values->format, .out = stdout };
	enum zr_err err = ui_select_parse(&values->select, &dump.selection), closed;

	if (!err)
		err = db_open(call->operands[0], DB_READ, &dump.db);
	if (err)
		return err;
	err = values->output ? dump_to_file(&dump, values->output) : dump_all(&dump);
	closed = db_close(dump.db);
	return err ? err : closed;
}

const struct ui_command ui_cmd_dump = {
	.name = "dump",
	.summary = "print or export the events of a trace",
	.operands = "FILE",
	.about =
		"Prints the events in the order of time, host by host. Times are seconds since the host's first\n"
		"event in text, nanoseconds of the trace's clock in csv and json (one object a line). ftrace is\n"
		"text that `zreel import` reads back; fio an iolog (version 3) of the requests; oracle records\n"
		"for cache simulators, see zreel(1). What these cannot carry is counted on standard error.\n"
		"Kinds: OUT IN FREE WB RECLAIM SCAN WORKER SHRINK IO SAMPLE GAP.",
	.example = "  zreel dump compile.zr --kind WB --from 2s --to 2.5s\n"
		   "  zreel dump compile.zr --format csv > compile.csv\n"
		   "  zreel dump compile.zr --format oracle -o compile.oracleGeneral",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
