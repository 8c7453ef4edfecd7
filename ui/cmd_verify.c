/* SPDX-License-Identifier: MIT */
/*
 * zreel verify: whether a trace is sound, and what of it can be saved.
 *
 * Findings are printed as they are met, but for the JSON, which is one document: there the first
 * FINDINGS_MAX are listed and the rest counted.
 */
#include <inttypes.h>
#include <string.h>

#include "db/db.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/text.h"

enum { FINDINGS_MAX = 1000 };

struct values {
	bool repair, json;
	const char *output;
};

static const struct ui_option options[] = {
	{ "repair", 0, UI_FLAG, offsetof(struct values, repair), NULL,
	  "write what is sound to another file, with gaps where something is lost" },
	{ "output", 'o', UI_TEXT, offsetof(struct values, output), "FILE",
	  "with --repair: the trace to write; must not exist" },
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the findings as JSON" },
	{ 0 },
};

struct verify {
	const struct values *values;
	struct ui_progress progress;
	struct ui_json json;
	uint64_t listed;
	char last[512];	   /* the finding that was printed last, and how many there were like it since */
	uint64_t the_same;
	struct db_verify_result found;
	struct db_edit_result saved;
};

static void end_findings(struct verify *verify)
{
	if (verify->the_same)
		printf("  and %s times more\n", ui_count(verify->the_same).text);
	verify->the_same = 0;
}

/* Page after page of a damaged file says the same. */
static void finding_text(void *arg, const struct db_finding *finding)
{
	struct verify *verify = arg;

	if (strncmp(verify->last, finding->text, sizeof(verify->last) - 1) == 0) {
		verify->the_same++;
		return;
	}
	ui_progress_end(&verify->progress);
	end_findings(verify);
	ui_put_clean(stdout, finding->text);
	putchar('\n');
	snprintf(verify->last, sizeof(verify->last), "%s", finding->text);
}

static void finding_json(void *arg, const struct db_finding *finding)
{
	struct verify *verify = arg;

	if (verify->listed++ >= FINDINGS_MAX)
		return;
	ui_json_object(&verify->json, NULL);
	ui_json_text(&verify->json, "check", db_check_name(finding->check));
	if (finding->chunk >= 0)
		ui_json_count(&verify->json, "chunk", (uint64_t)finding->chunk);
	ui_json_count(&verify->json, "count", finding->count);
	ui_json_text(&verify->json, "text", finding->text);
	ui_json_end_object(&verify->json);
}

static void print_json(struct verify *verify)
{
	const struct db_verify_result *found = &verify->found;
	struct ui_json *json = &verify->json;

	ui_json_object(json, "checks");
	for (unsigned check = 0; check < DB_CHECK_COUNT; check++)
		ui_json_count(json, db_check_name((enum db_check)check), found->findings[check]);
	ui_json_end_object(json);
	ui_json_bool(json, "sound", found->damages == 0);
	ui_json_bool(json, "complete", found->complete);
	ui_json_bool(json, "cut_short", found->cut_short);
	ui_json_count(json, "chunks", found->chunks);
	ui_json_count(json, "bad_chunks", found->bad_chunks);
	ui_json_count(json, "events", found->events);
	ui_json_count(json, "lost_events", found->lost_events);
	ui_json_count(json, "frees_of_nothing", found->frees_of_nothing);
	ui_json_count(json, "ins_of_nothing", found->ins_of_nothing);
	ui_json_count(json, "wbs_of_nothing", found->wbs_of_nothing);
	ui_json_count(json, "short_folios", found->short_folios);
	if (verify->values->repair) {
		ui_json_object(json, "repaired");
		ui_json_text(json, "output", verify->values->output);
		ui_json_count(json, "events", verify->saved.events);
		ui_json_count(json, "gaps", verify->saved.gaps);
		ui_json_end_object(json);
	}
}

static void print_odd(uint64_t n, const char *what)
{
	if (n)
		printf("  %s %s\n", ui_count(n).text, what);
}

static void print_text(const struct verify *verify, const char *path)
{
	const struct db_verify_result *found = &verify->found;

	ui_put_clean(stdout, path);
	printf(": %s; %s chunks, %s events; %s\n", found->damages ? "damaged" : "sound",
	       ui_count(found->chunks).text, ui_count(found->events).text,
	       found->cut_short	 ? "cut short"
	       : found->complete ? "complete"
				 : "not complete: still recording, or it ended abruptly");
	if (found->bad_chunks)
		printf("  %s chunks are lost, with %s%s events\n", ui_count(found->bad_chunks).text,
		       found->findings[DB_CHECK_UNREADABLE] ? "at least " : "",
		       ui_count(found->lost_events).text);
	if (found->cut_short)
		printf("  how many more were behind them cannot be told\n");
	print_odd(found->frees_of_nothing, "frees, "
					   "of slots that were filled before the recording");
	print_odd(found->ins_of_nothing, "refaults of such slots");
	print_odd(found->wbs_of_nothing, "writebacks of such slots");
	print_odd(found->short_folios, "large folios of which a part is missing");
	if (!verify->values->repair)
		return;
	ui_put_clean(stdout, verify->values->output);
	printf(": %s events, %s gaps\n", ui_count(verify->saved.events).text,
	       ui_count(verify->saved.gaps).text);
}

static enum zr_err check(struct db *db, struct verify *verify)
{
	const struct db_verify_options asked = {
		.finding = verify->values->json ? finding_json : finding_text,
		.arg = verify,
		.watch = { ui_progress_update, &verify->progress },
	};
	enum zr_err err;

	ui_progress_begin(&verify->progress, "verifying");
	err = verify->values->repair ? db_repair(db, verify->values->output, &asked, &verify->found,
						 &verify->saved)
				     : db_verify(db, &asked, &verify->found);
	ui_progress_end(&verify->progress);
	end_findings(verify);
	return err;
}

static void begin_json(struct verify *verify, const char *path)
{
	ui_json_init(&verify->json, stdout);
	ui_json_object(&verify->json, NULL);
	ui_json_text(&verify->json, "file", path);
	ui_json_array(&verify->json, "findings");
}

static enum zr_err verify_file(const struct values *values, const char *path)
{
	struct verify verify = { .values = values };
	struct db *db;
	enum zr_err err = db_open(path, DB_SALVAGE, &db), closed;

	if (err)
		return err;
	ui_stop_catch();
	if (values->json)
		begin_json(&verify, path);
	err = check(db, &verify);
	closed = db_close(db);
	if (!err)
		err = closed;
	if (values->json) {
		ui_json_end_array(&verify.json);
		if (!err)
			print_json(&verify);
		ui_json_end_object(&verify.json);
	} else if (!err) {
		print_text(&verify, path);
	}
	if (err || !verify.found.damages)
		return err;
	return values->repair
		       ? zr_fail(ZR_CORRUPT, "%s is damaged; what is sound of it is now in %s",
				 path, values->output)
		       : zr_fail(ZR_CORRUPT, "%s is damaged; --repair -o FILE saves what is sound",
				 path);
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;

	if (values->repair != (values->output != NULL))
		return zr_fail(ZR_USAGE, values->repair ? "say where to: --repair -o FILE"
							: "-o is for --repair");
	return verify_file(values, call->operands[0]);
}

const struct ui_command ui_cmd_verify = {
	.name = "verify",
	.summary = "check that a trace is sound, and save what is",
	.operands = "FILE",
	.about = "Checks the database, the checksum, order and index of each chunk, and that the "
		 "events refer to\n"
		 "cgroups, tasks, areas and slots that there are. Damage is printed, with the "
		 "chunk, and gives\n"
		 "status 3. With --repair all that is sound goes to another file, with a gap in "
		 "the place of what\n"
		 "is lost; FILE itself is never changed.",
	.example = "  zreel verify build.zr\n"
		   "  zreel verify broken.zr --repair -o saved.zr",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
