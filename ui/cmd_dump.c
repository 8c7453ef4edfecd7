/* SPDX-License-Identifier: MIT */
/*
 * zreel dump: the events of a trace, one a line. Streams: one batch is in memory.
 *
 * text: columns for people. csv: a header and the raw fields. json: one object a line.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/stop.h"

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

struct values {
	int format;
	uint64_t from_ns, to_ns;
	struct ui_list kinds;
};

static const struct ui_option options[] = {
	{ "format", 'f', UI_CHOICE, offsetof(struct values, format), "text|csv|json",
	  "how to print an event" },
	{ "from", 0, UI_SPAN, offsetof(struct values, from_ns), "TIME",
	  "from this time after the trace's start" },
	{ "to", 0, UI_SPAN, offsetof(struct values, to_ns), "TIME", "up to, but not at, this time" },
	{ "kind", 'k', UI_LIST, offsetof(struct values, kinds), "KIND[,KIND]",
	  "only these kinds of events" },
	{ 0 },
};

/* Names of the outcomes by kind, as the enums of db/event.h number them. */
static const char *const outcomes[DB_KIND_COUNT][8] = {
	[DB_OUT] = { "stored", "rejected", "zero", "kept" },
	[DB_IN] = { "zswap", "disk", "zero", "error" },
	[DB_WB] = { "written", "exists", "nomem", "rotated", "failed" },
	[DB_SCAN] = { "done", "stopped" },
	[DB_SHRINK] = { "ok", "again", "empty" },
	[DB_GAP] = { "ring", "probe", "reader", "import" },
};
static const char *const reasons[8] = { "unknown", "limit", "memcg-limit", "compress",
					"alloc",   "large", "off" };
static const char *const io_ops[4] = { "read", "write", "discard" };
static const char *const io_phases[8] = { "issue", "complete", "merge" };

/* An outcome in words; numbers that have no name keep their place as "?". */
static struct ui_small outcome_text(const struct db_event *event)
{
	struct ui_small out = { "" };
	const char *name = event->kind < DB_KIND_COUNT
				   ? outcomes[event->kind][db_flags_outcome(event->flags)]
				   : NULL;

	if (event->kind == DB_IO) {
		const char *op = io_ops[event->flags & 3];
		const char *phase = io_phases[event->flags >> DB_IO_PHASE_SHIFT & 7];

		snprintf(out.text, sizeof(out.text), "%s %s", op ? op : "?", phase ? phase : "?");
	} else if (event->kind == DB_OUT && db_flags_outcome(event->flags) == DB_OUT_REJECTED) {
		const char *reason = reasons[db_flags_reason(event->flags)];

		snprintf(out.text, sizeof(out.text), "rejected %s", reason ? reason : "?");
	} else if (event->kind < DB_KIND_COUNT && outcomes[event->kind][0]) {
		snprintf(out.text, sizeof(out.text), "%s", name ? name : "?");
	}
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

static void print_text(uint32_t host, uint64_t start_ns, const struct db_event *e)
{
	uint64_t since_ns = e->time_ns - start_ns;

	(void)host;
	printf("%6" PRIu64 ".%09" PRIu64 "  %-7s  %3u:%-10" PRIu32
	       "  order %-2u len %-5u memcg %-5u task %-6" PRIu32 "  %s %s\n",
	       since_ns / 1000000000, since_ns % 1000000000, kind_text(e->kind), e->area, e->slot,
	       e->order, e->len, e->memcg, e->task, outcome_text(e).text, mark_text(e));
}

static void print_csv(uint32_t host, uint64_t start_ns, const struct db_event *e)
{
	(void)start_ns;
	printf("%" PRIu32 ",%" PRIu64 ",%s,%u,%" PRIu32 ",%u,%u,%" PRIu32 ",%u,%u,%s\n", host, e->time_ns,
	       kind_text(e->kind), e->area, e->slot, e->order, e->memcg, e->task, e->len, e->flags,
	       outcome_text(e).text);
}

static void print_json(uint32_t host, uint64_t start_ns, const struct db_event *e)
{
	(void)start_ns;
	printf("{\"host\":%" PRIu32 ",\"time_ns\":%" PRIu64
	       ",\"kind\":\"%s\",\"area\":%u,\"slot\":%" PRIu32
	       ",\"order\":%u,\"memcg\":%u,\"task\":%" PRIu32
	       ",\"len\":%u,\"flags\":%u,\"outcome\":\"%s\"}\n",
	       host, e->time_ns, kind_text(e->kind), e->area, e->slot, e->order, e->memcg, e->task,
	       e->len, e->flags, outcome_text(e).text);
}

static void (*const printers[])(uint32_t, uint64_t, const struct db_event *) = {
	[FORMAT_TEXT] = print_text,
	[FORMAT_CSV] = print_csv,
	[FORMAT_JSON] = print_json,
};

/* Adds the kinds of one "OUT,IN" to the mask. */
static enum zr_err add_kinds(const char *names, uint32_t *mask)
{
	while (*names) {
		size_t length = strcspn(names, ",");
		unsigned kind = 0;

		while (kind < DB_KIND_COUNT && (strlen(db_kind_name(kind)) != length ||
						strncasecmp(db_kind_name(kind), names, length) != 0))
			kind++;
		if (kind == DB_KIND_COUNT)
			return zr_fail(
				ZR_USAGE,
				"--kind got '%.*s'; the kinds are OUT, IN, FREE, WB, RECLAIM, SCAN, "
				"WORKER, SHRINK, IO, SAMPLE and GAP",
				(int)length, names);
		*mask |= 1u << kind;
		names += length + (names[length] == ',');
	}
	return ZR_OK;
}

struct dump {
	struct db_reader *reader;
	const struct values *values;
	uint64_t start_ns, span_ns;
	struct ui_progress progress;
};

static enum zr_err print_all(struct dump *dump)
{
	const struct db_batch *batch;
	enum zr_err err;

	while (!(err = db_reader_next(dump->reader, &batch)) && batch) {
		for (uint32_t row = 0; row < batch->n; row++) {
			struct db_event event = db_batch_event(batch, row);

			printers[dump->values->format](batch->host, dump->start_ns, &event);
		}
		if (ferror(stdout))
			return ZR_OK; /* the caller's flush tells */
		if (batch->n && dump->span_ns && !isatty(STDOUT_FILENO))
			ui_progress_update(&dump->progress,
					   (double)(batch->time_ns[batch->n - 1] - dump->start_ns) /
						   (double)dump->span_ns);
	}
	return err;
}

static enum zr_err dump(struct db *db, const struct values *values)
{
	struct dump dump = { .values = values };
	struct db_filter filter = { .host = -1 };
	struct db_summary sum;
	enum zr_err err = db_summarise(db, &sum);

	for (uint32_t i = 0; i < values->kinds.n && !err; i++)
		err = add_kinds(values->kinds.items[i], &filter.kinds);
	if (err)
		return err;
	dump.start_ns = sum.first_ns;
	dump.span_ns = sum.last_ns - sum.first_ns;
	filter.from_ns = sum.first_ns + values->from_ns;
	filter.to_ns = values->to_ns ? sum.first_ns + values->to_ns : 0;
	err = db_reader_new(db, &filter, &dump.reader);
	if (err)
		return err;
	if (values->format == FORMAT_CSV)
		puts("host,time_ns,kind,area,slot,order,memcg,task,len,flags,outcome");
	ui_progress_begin(&dump.progress, "dumping");
	err = print_all(&dump);
	ui_progress_end(&dump.progress);
	db_reader_free(dump.reader);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct db *db;
	enum zr_err err, closed;

	if (values->to_ns && values->to_ns <= values->from_ns)
		return zr_fail(ZR_USAGE, "--to must be later than --from");
	err = db_open(call->operands[0], DB_READ, &db);
	if (err)
		return err;
	err = dump(db, values);
	closed = db_close(db);
	return err ? err : closed;
}

const struct ui_command ui_cmd_dump = {
	.name = "dump",
	.summary = "print the events of a trace",
	.operands = "FILE",
	.about =
		"Prints the events in the order of time, one a line. Times are seconds since the start of the\n"
		"trace in text, nanoseconds of the trace clock in csv and json (one object a line).\n"
		"Kinds: OUT IN FREE WB RECLAIM SCAN WORKER SHRINK IO SAMPLE GAP.",
	.example = "  zreel dump compile.zr --kind WB --from 2s --to 2.5s\n"
		   "  zreel dump compile.zr --format csv > compile.csv",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
