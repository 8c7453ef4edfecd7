/* SPDX-License-Identifier: MIT */
/*
 * Import: somebody else's recording -> raw records -> fold -> trace file, in bounded memory
 * whatever the length.
 *
 * Which return value means what depends on the kernel, and most inputs do not name it. So the first
 * REC_LEARN records are held back; what is among them (a return value of 1, a negative one)
 * decides, and then all streams.
 *
 * What an input cannot say stays unknown: cgroup ids and paths (it has kernel addresses, which are
 * only compared), and the environment but for the user's options. Block requests are placed by
 * --swap-area.
 */
#include "recorder/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SECTOR_BYTES = 512,
	ASK_EVERY = 4096, /* lines or records between two looks at the user */
	RELEASE_ERRNO_LOAD =
		0x0612, /* 6.18: zswap_load returns 0 or an errno; until 6.12 a truth value */
	RELEASE_BOOL_LOAD = 0x060c,
	RELEASE_HEAD_6 = 0x0606, /* 6.6: the head flag moved from bit 16 to bit 6 */
	RELEASE_STORES_LARGE = 0x060d,
};

/* ------------------------------------------------------------------------------ the fold's sink */

static enum zr_err put_event(void *arg, const struct db_event *event)
{
	struct rec_import *import = arg;

	if (import->options->as_swap)
		return rec_block_event(&import->block, event, rec_trace_event, &import->trace);
	return rec_trace_event(&import->trace, event);
}

static enum zr_err put_memcg(void *arg, uint32_t id, uint64_t key)
{
	struct rec_import *import = arg;

	return rec_trace_memcg(&import->trace, id, key);
}

static enum zr_err put_task(void *arg, uint32_t id, uint32_t tid)
{
	struct rec_import *import = arg;

	return rec_trace_task(&import->trace, id, tid);
}

static enum zr_err put_area(void *arg, uint32_t id, uint32_t type)
{
	struct rec_import *import = arg;

	return rec_trace_area(&import->trace, id, type);
}

/* ------------------------------------------------------------------------------------- learning */

struct lesson {
	uint32_t types;
	bool load_true, load_negative, wb_lru, store_true;
};

static void look_at(struct lesson *lesson, const struct rec_raw *raw)
{
	lesson->types |= 1u << raw->type;
	switch (raw->type) {
	case REC_LOAD_RET:
		lesson->load_true |= raw->ret > 0;
		lesson->load_negative |= raw->ret < 0;
		break;
	case REC_WB_RET:
		lesson->wb_lru |= raw->ret > 0;
		break;
	case REC_STORE_RET:
		lesson->store_true |= raw->ret != 0;
		break;
	default:
		break;
	}
}

static bool load_ret_is_errno(const struct rec_import *import, const struct lesson *lesson)
{
	if (import->load_ret_is_errno != REC_NOT_SAID)
		return import->load_ret_is_errno == REC_YES;
	if (lesson->load_true || lesson->load_negative)
		return lesson->load_negative;
	return import->release >= RELEASE_ERRNO_LOAD;
}

static struct rec_fold_options learn(struct rec_import *import)
{
	struct lesson lesson = { 0 };
	bool errno_load;

	for (uint32_t i = 0; i < import->n_early; i++)
		look_at(&lesson, &import->early[i]);
	errno_load = load_ret_is_errno(import, &lesson);
	return (struct rec_fold_options){
		.sink = { .event = put_event,
			  .memcg = put_memcg,
			  .task = put_task,
			  .area = put_area,
			  .arg = import },
		.types = lesson.types,
		.store_ret_of_failures = lesson.types >> REC_OUT_RET & 1 && !lesson.store_true,
		.load_ret_is_errno = errno_load,
		.wb_ret_is_lru_status = lesson.wb_lru,
		.stores_large = errno_load || import->release >= RELEASE_STORES_LARGE,
	};
}

static uint64_t area_slots(const struct rec_import *import, const struct rec_import_area *area)
{
	return area->open_end ? UINT32_MAX : area->sectors / (import->page_size / SECTOR_BYTES);
}

static enum zr_err tell_areas(struct rec_import *import)
{
	enum zr_err err = ZR_OK;

	for (uint32_t i = 0; !err && i < import->n_areas; i++) {
		const struct rec_import_area *area = &import->areas[i];
		uint32_t id;

		err = rec_fold_area(
			import->fold,
			&(struct rec_area){ .type = area->type,
					    .disk_dev = area->dev,
					    .part_dev = area->dev,
					    .start_sector = area->start_sector,
					    .slots = area_slots(import, area),
					    .sectors_per_slot = import->page_size / SECTOR_BYTES },
			&id);
	}
	return err;
}

/* Ends the learning: what was held back goes on its way. */
static enum zr_err begin_fold(struct rec_import *import)
{
	const struct rec_fold_options options = learn(import);
	enum zr_err err = rec_fold_new(&options, &import->fold);

	if (!err)
		err = tell_areas(import);
	for (uint32_t i = 0; !err && i < import->n_early; i++)
		err = rec_fold_add(import->fold, &import->early[i]);
	import->n_early = 0;
	return err;
}

static enum zr_err push(struct rec_import *import, const struct rec_raw *raw)
{
	if (import->fold)
		return rec_fold_add(import->fold, raw);
	import->early[import->n_early++] = *raw;
	return import->n_early == REC_LEARN ? begin_fold(import) : ZR_OK;
}

/* ---------------------------------------------------------------------------------------- block */

static struct rec_import_area *area_of(struct rec_import *import, const struct rec_raw *raw)
{
	for (uint32_t i = 0; i < import->n_areas; i++) {
		struct rec_import_area *area = &import->areas[i];

		if ((!area->dev || area->dev == raw->dev) && raw->swp >= area->start_sector &&
		    (area->open_end || raw->swp - area->start_sector < area->sectors))
			return area;
	}
	return NULL;
}

static enum zr_err add_block(struct rec_import *import, const struct rec_raw *raw)
{
	struct rec_import_area *area = area_of(import, raw);
	uint32_t per_slot = import->page_size / SECTOR_BYTES;
	struct rec_raw io = *raw;
	uint64_t end;

	if (raw->op == REC_OP_OTHER || !area) {
		rec_import_skip(import, area ? REC_SKIP_OTHER_IO : REC_SKIP_NO_AREA,
				rec_type_name(raw->type));
		return ZR_OK;
	}
	end = (raw->swp - area->start_sector + raw->len + per_slot - 1) / per_slot;
	if (end > UINT32_MAX) {
		rec_import_skip(import, REC_SKIP_NO_AREA, rec_type_name(raw->type));
		return ZR_OK;
	}
	if (end > area->slots_seen)
		area->slots_seen = end;
	io.dev = area->dev;
	return push(import, &io);
}

/* ---------------------------------------------------------------------------- what readers call */

static bool is_block(unsigned type)
{
	return type >= REC_RQ_ISSUE && type <= REC_FRONTMERGE;
}

enum zr_err rec_import_add(struct rec_import *import, const struct rec_raw *raw)
{
	struct rec_raw lost = *raw;

	if (raw->type == REC_LOST) {
		if (!lost.time_ns)
			lost.time_ns = import->last_ns;
		import->result->lost += raw->len;
		return push(import, &lost);
	}
	import->last_ns = raw->time_ns;
	import->result->raw_events++;
	if (is_block(raw->type))
		return add_block(import, raw);
	if (import->options->as_swap) {
		rec_import_skip(import, REC_SKIP_NOT_SWAP, rec_type_name(raw->type));
		return ZR_OK;
	}
	return push(import, raw);
}

static void keep_line(char *to, size_t bytes, const char *line)
{
	if (!*to)
		snprintf(to, bytes, "%.*s", (int)bytes - 1, *line ? line : " ");
}

void rec_import_skip(struct rec_import *import, enum rec_skip why, const char *text)
{
	struct rec_import_result *result = import->result;

	result->skipped++;
	result->skips[why]++;
	keep_line(result->first_skipped, sizeof(result->first_skipped), text);
}

static void ask(struct rec_import *import, double done)
{
	const struct rec_import_options *options = import->options;
	uint64_t events = import->fold ? rec_fold_stats(import->fold)->events : 0;

	if (options->progress && !options->progress(options->progress_arg, done, events))
		import->stop = true;
}

bool rec_import_go_on(struct rec_import *import, double done)
{
	if (++import->result->lines % ASK_EVERY == 0)
		ask(import, done);
	return !import->stop;
}

bool rec_import_ask(void *arg)
{
	struct rec_import *import = arg;

	ask(import, rec_input_done(import->input));
	return !import->stop;
}

enum zr_err rec_import_env(struct rec_import *import, const char *key, const char *value,
			   const char *from)
{
	char origin[96];
	enum zr_err err = db_env_set(import->trace.db, REC_HOST, key, value);

	import->clock_told |= strcmp(key, DB_ENV_CLOCK) == 0;
	snprintf(origin, sizeof(origin), "import.from.%s", key);
	return err ? err : db_env_set(import->trace.db, REC_HOST, origin, from);
}

static uint32_t release_of(const char *text)
{
	unsigned major, minor;

	if (sscanf(text, "%3u.%3u", &major, &minor) != 2 || major > 255 || minor > 255)
		return 0;
	return major << 8 | minor;
}

enum zr_err rec_import_kernel(struct rec_import *import, const char *release, const char *from)
{
	const char *option = import->options->kernel;

	if (option && strcmp(from, "option") != 0)
		return ZR_OK;
	import->release = release_of(release);
	if (import->release && import->release < RELEASE_HEAD_6)
		import->dialect.layout = (struct rec_layout){ .head_bit = 16 };
	if (import->release && import->release <= RELEASE_BOOL_LOAD &&
	    import->release >= RELEASE_HEAD_6)
		import->load_ret_is_errno = REC_NO;
	return rec_import_env(import, DB_ENV_KERNEL, release, from);
}

/* ----------------------------------------------------------------------------------------- text */

static bool is_number_clock(const char *line)
{
	const char *colon = strstr(line, ": ");

	while (colon && colon > line && colon[-1] >= '0' && colon[-1] <= '9')
		colon--;
	return colon && colon > line && colon[-1] == ' ';
}

static void name_format(struct rec_import *import, const char *name)
{
	if (!import->result->format[0])
		snprintf(import->result->format, sizeof(import->result->format), "%s", name);
}

static enum zr_err take_line(struct rec_import *import, const char *line)
{
	static const enum rec_skip why[] = { [REC_LINE_OTHER] = REC_SKIP_OTHER_EVENT,
					     [REC_LINE_LACKS] = REC_SKIP_LACKS_FIELD,
					     [REC_LINE_UNKNOWN] = REC_SKIP_UNKNOWN };
	const char *format = "ftrace-text";
	struct rec_raw raw;
	enum rec_line found;

	keep_line(import->first_line, sizeof(import->first_line), line);
	found = rec_text_parse(line, &import->dialect, &raw);
	if (found == REC_LINE_UNKNOWN) {
		found = rec_blk_line(line, &raw);
		format = "blkparse-text";
		if (found == REC_LINE_LACKS) {
			rec_import_skip(import, REC_SKIP_OTHER_ACTION, line);
			return ZR_OK;
		}
	}
	if (found == REC_LINE_COMMENT)
		return ZR_OK;
	if (found != REC_LINE_EVENT) {
		rec_import_skip(import, why[found], line);
		return ZR_OK;
	}
	if (!import->result->format[0])
		import->counter_clock = is_number_clock(line);
	name_format(import, format);
	return rec_import_add(import, &raw);
}

enum zr_err rec_import_text(struct rec_import *import)
{
	for (;;) {
		char *line;
		enum zr_err err = rec_input_next(import->input, &line);

		if (!err && line)
			err = take_line(import, line);
		if (err || !line || !rec_import_go_on(import, rec_input_done(import->input)))
			return err;
	}
}

/* -------------------------------------------------------------------------------------- options */

static enum zr_err bad_area(const char *text)
{
	return zr_fail(
		ZR_USAGE,
		"swap area \"%s\": expected TYPE:START_SECTOR:SECTORS[:MAJOR,MINOR], with a type "
		"below %d, such as 0:2048:4194304",
		text, REC_SWP_TYPES);
}

static enum zr_err add_area(struct rec_import *import, const struct rec_import_area *area,
			    const char *text)
{
	if (import->n_areas == REC_SWP_TYPES)
		return zr_fail(ZR_USAGE, "more than %d swap areas", REC_SWP_TYPES);
	for (uint32_t i = 0; i < import->n_areas; i++)
		if (import->areas[i].type == area->type)
			return zr_fail(ZR_USAGE, "swap area \"%s\": type %u is given twice", text,
				       area->type);
	import->areas[import->n_areas++] = *area;
	return ZR_OK;
}

static enum zr_err parse_area(struct rec_import *import, const char *text)
{
	unsigned type, major = 0, minor = 0;
	uint64_t start, sectors;
	int end = 0, with_dev = 0;

	if (sscanf(text, "%2u:%18" SCNu64 ":%18" SCNu64 "%n:%4u,%7u%n", &type, &start, &sectors,
		   &end, &major, &minor, &with_dev) < 3 ||
	    text[with_dev ? with_dev : end] || type >= REC_SWP_TYPES || !sectors || major > 0xfff ||
	    minor > 0xfffff || strpbrk(text, "-+ "))
		return bad_area(text);
	return add_area(import,
			&(struct rec_import_area){ .type = type,
						   .dev = major << 20 | minor,
						   .start_sector = start,
						   .sectors = sectors },
			text);
}

static enum zr_err take_options(struct rec_import *import)
{
	const struct rec_import_options *options = import->options;
	enum zr_err err = ZR_OK;

	import->page_size = options->page_size ? options->page_size : 4096;
	import->block.sectors_per_slot = import->page_size / SECTOR_BYTES;
	if (import->page_size < SECTOR_BYTES || import->page_size > 65536 ||
	    import->page_size & (import->page_size - 1))
		return zr_fail(ZR_USAGE, "page size %u: not a power of two from 512 to 65536",
			       options->page_size);
	for (uint32_t i = 0; !err && i < options->n_maps; i++)
		err = rec_map_add(&import->dialect.map, options->maps[i]);
	for (uint32_t i = 0; !err && i < options->n_areas; i++)
		err = parse_area(import, options->areas[i]);
	if (!err && options->has_device_offset)
		err = add_area(
			import,
			&(struct rec_import_area){ .start_sector = options->device_offset_sectors,
						   .open_end = true },
			"--device-offset");
	if (!err && options->as_swap && !import->n_areas)
		return zr_fail(ZR_USAGE, "--as swap: say where the swap area lies: --swap-area "
					 "TYPE:START_SECTOR:SECTORS or --device-offset SECTORS");
	return err;
}

/* -------------------------------------------------------------------------------------- the end */

/* What the user has to say when block requests are all there is, and none has a place. */
static enum zr_err nothing_placed(const struct rec_import *import, const char *path)
{
	return zr_fail(
		ZR_NO_DATA,
		"importing %s: it has %llu block requests, none of which lies in a swap area that "
		"is "
		"known; say where it is: --swap-area TYPE:START_SECTOR:SECTORS or --device-offset "
		"SECTORS",
		path, (unsigned long long)import->result->skips[REC_SKIP_NO_AREA]);
}

static enum zr_err check_result(const struct rec_import *import)
{
	const struct rec_import_result *result = import->result;
	const char *path = rec_input_name(import->input);
	const char *line = *result->first_skipped ? result->first_skipped : import->first_line;

	if (result->raw_events && result->raw_events == result->skips[REC_SKIP_NO_AREA])
		return nothing_placed(import, path);
	if (result->raw_events)
		return ZR_OK;
	if (import->stop)
		return zr_fail(ZR_INTERRUPTED, "importing %s: interrupted before the first event",
			       path);
	if (!result->lines)
		return zr_fail(ZR_NO_DATA, "importing %s: it is empty", path);
	return zr_fail(ZR_BAD_TEXT,
		       "importing %s: nothing in its %llu lines or records is an event that is "
		       "known here; "
		       "the first one is \"%s\". Expected are events such as zreel:store and "
		       "zreel:store_ret, or a --map for those that are called differently",
		       path, (unsigned long long)result->lines, line);
}

static enum zr_err put_options(struct rec_import *import)
{
	const struct rec_import_options *options = import->options;
	char text[32];
	enum zr_err err = db_env_set(import->trace.db, REC_HOST, "import.file",
				     rec_input_name(import->input));

	if (!err && options->kernel)
		err = rec_import_kernel(import, options->kernel, "option");
	snprintf(text, sizeof(text), "%u", import->page_size);
	if (!err && options->page_size)
		err = rec_import_env(import, DB_ENV_PAGE_SIZE, text, "option");
	snprintf(text, sizeof(text), "%llu",
		 (unsigned long long)(options->mem_bytes / import->page_size));
	if (!err && options->mem_bytes)
		err = rec_import_env(import, DB_ENV_MEM_PAGES, text, "option");
	return err;
}

static enum zr_err put_skips(struct rec_import *import)
{
	static const char *const names[] = {
#define X(id, name, text) [REC_SKIP_##id] = "import.skipped." name,
		REC_SKIPS(X)
#undef X
	};
	enum zr_err err = ZR_OK;

	for (size_t i = 0; !err && i < REC_SKIP_COUNT; i++)
		if (import->result->skips[i])
			err = db_env_setf(import->trace.db, REC_HOST, names[i], "%llu",
					  (unsigned long long)import->result->skips[i]);
	return err;
}

static enum zr_err put_counts(struct rec_import *import)
{
	const struct rec_fold_stats *stats = rec_fold_stats(import->fold);
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{ "import.lines", import->result->lines },
		{ "import.skipped_lines", import->result->skipped },
		{ "fold.missed_returns", stats->missed_returns },
		{ "fold.orphan_returns", stats->orphan_returns },
		{ "fold.open_at_end", stats->open_at_end },
		{ "fold.undecided", stats->undecided },
		{ "fold.late", stats->late },
		{ "fold.skipped_requests", stats->foreign_io },
		{ "fold.wide_slots", stats->wide_slots },
	};
	enum zr_err err = put_skips(import);

	for (size_t i = 0; !err && i < sizeof(rows) / sizeof(*rows); i++)
		err = db_env_setf(import->trace.db, REC_HOST, rows[i].key, "%llu",
				  (unsigned long long)rows[i].value);
	return err;
}

static enum zr_err put_origin(struct rec_import *import)
{
	struct db *db = import->trace.db;
	enum zr_err err =
		db_env_setf(db, REC_HOST, DB_ENV_SOURCE, "import:%s", import->result->format);

	if (!err && !import->clock_told)
		err = db_env_set(db, REC_HOST, DB_ENV_CLOCK,
				 import->counter_clock ? "counter" : "unknown");
	if (!err && import->stop)
		err = db_env_set(db, REC_HOST, "import.interrupted", "Y");
	if (!err && import->result->note[0])
		err = db_env_set(db, REC_HOST, "import.note", import->result->note);
	return err;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static const struct rec_import_area *told_area(const struct rec_import *import, uint32_t type)
{
	for (uint32_t i = 0; i < import->n_areas; i++)
		if (import->areas[i].type == type)
			return &import->areas[i];
	return NULL;
}

/* How large a swap area is nobody tells but an option: it is at least what its slots need. */
static enum zr_err put_areas(struct rec_import *import)
{
	enum zr_err err = ZR_OK;

	for (uint32_t type = 0; !err && type < REC_SWP_TYPES; type++) {
		const struct rec_import_area *told = told_area(import, type);
		struct db_area row = { .host = REC_HOST, .type = type, .path = "" };

		row.slots = rec_fold_slots_seen(import->fold, type, &row.id);
		if (told) {
			row.start_sector = told->start_sector;
			row.major = told->dev >> 20;
			row.minor = told->dev & 0xfffff;
			row.slots = larger(row.slots, told->open_end ? told->slots_seen
								     : area_slots(import, told));
		}
		if (row.id && row.slots)
			err = db_put_area(import->trace.db, &row);
	}
	return err;
}

static enum zr_err finish(struct rec_import *import)
{
	enum zr_err err = check_result(import);

	if (!err && !import->fold)
		err = begin_fold(import);
	if (!err)
		err = rec_fold_finish(import->fold);
	if (!err)
		err = put_areas(import);
	if (!err)
		err = put_origin(import);
	if (!err)
		err = put_counts(import);
	return err ? err : db_writer_flush(import->trace.writer);
}

/* -------------------------------------------------------------------------------------- formats */

static const struct format {
	const char *name;
	const char *magic;
	size_t magic_bytes;
	enum zr_err (*read)(struct rec_import *import);
} formats[REC_IMPORT_FORMAT_COUNT] = {
	[REC_IMPORT_TEXT] = { "text", NULL, 0, rec_import_text },
	[REC_IMPORT_TRACE_DAT] = { "trace.dat", "\x17\x08\x44tracing", 10, rec_import_dat },
	[REC_IMPORT_PERF_DATA] = { "perf.data", "PERFILE2", 8, rec_import_perf },
	[REC_IMPORT_BLKTRACE] = { "blktrace", "\x07\x74\x61\x65", 4, rec_import_blk },
};

/* The same as a machine of the other byte order writes it, or an older form. */
static const struct {
	const char *magic;
	size_t bytes;
	enum rec_import_format format;
} other_magics[] = {
	{ "2ELIFREP", 8, REC_IMPORT_PERF_DATA },
	{ "PERFFILE", 8, REC_IMPORT_PERF_DATA },
	{ "\x65\x61\x74\x07", 4, REC_IMPORT_BLKTRACE },
};

static bool begins(const void *head, size_t n, const char *magic, size_t bytes)
{
	return n >= bytes && memcmp(head, magic, bytes) == 0;
}

static enum rec_import_format detect(const void *head, size_t n)
{
	for (size_t i = 0; i < REC_IMPORT_FORMAT_COUNT; i++)
		if (formats[i].magic && begins(head, n, formats[i].magic, formats[i].magic_bytes))
			return (enum rec_import_format)i;
	for (size_t i = 0; i < sizeof(other_magics) / sizeof(*other_magics); i++)
		if (begins(head, n, other_magics[i].magic, other_magics[i].bytes))
			return other_magics[i].format;
	return REC_IMPORT_TEXT;
}

static enum zr_err read_input(struct rec_import *import)
{
	enum rec_import_format format = import->options->format;
	const void *head;
	size_t n;
	enum zr_err err = rec_input_head(import->input, &head, &n);

	if (err)
		return err;
	if (format == REC_IMPORT_AUTO)
		format = detect(head, n);
	if (format != REC_IMPORT_TEXT)
		name_format(import, formats[format].name);
	return formats[format].read(import);
}

static enum zr_err run(struct rec_import *import)
{
	enum zr_err err = put_options(import);

	if (!err)
		err = read_input(import);
	return err ? err : finish(import);
}

static enum zr_err open_all(struct rec_import *import)
{
	struct rec_trace_how how = { .time_unit_ns = import->options->time_unit_ns };
	enum zr_err err = take_options(import);

	if (err)
		return err;
	import->early = malloc(REC_LEARN * sizeof(*import->early));
	if (!import->early)
		return zr_fail(ZR_NOMEM, "no memory to import %s", import->options->input);
	err = rec_input_open(import->options->input, &import->input);
	if (err)
		return err;
	rec_input_watch(import->input, rec_import_ask, import);
	/* What came through a pipe cannot be had again, and may be a live recording. */
	how.again = rec_input_done(import->input) >= 0;
	return rec_trace_open(import->options->output, &how, &import->trace);
}

enum zr_err rec_import(const struct rec_import_options *options, struct rec_import_result *out)
{
	struct rec_import import = { .options = options,
				     .result = out,
				     .dialect.layout = { .head_bit = 6, .order_in_flags1 = true } };
	enum zr_err err;

	*out = (struct rec_import_result){ 0 };
	err = open_all(&import);
	if (!err) {
		err = run(&import);
		if (import.fold) {
			out->events = db_writer_stats(import.trace.writer).events;
			out->late = rec_fold_stats(import.fold)->late;
		}
		out->interrupted = import.stop;
		err = rec_trace_close(&import.trace, err);
	}
	rec_fold_free(import.fold);
	rec_map_fini(&import.dialect.map);
	rec_input_close(import.input);
	free(import.early);
	return err;
}
