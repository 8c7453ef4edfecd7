/* SPDX-License-Identifier: MIT */
/*
 * zreel explain: why write requests are as short as they are, and what would make them longer; what the
 * pool's choices cost in refaults, and how large it would have to be.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/replayer.h"
#include "ui/commands.h"
#include "ui/explain_text.h"
#include "ui/format.h"
#include "ui/json.h"
#include "ui/stop.h"
#include "ui/text.h"

struct values {
	const char *policy;
	bool json;
};

static const struct ui_option options[] = {
	{ "policy", 'p', UI_TEXT, offsetof(struct values, policy), "POLICY",
	  "a preset and knobs, as in batched+pool=10% (batched)" },
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print the figures as JSON" },
	{ 0 },
};

/* -------------------------------------------------------------------------------------------- JSON */

static const struct {
	const char *name;
	double part;
} quantiles[] = { { "p10", 0.1 }, { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };

enum { N_QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]) };

static void json_hist(struct ui_json *json, const char *key, const struct zr_hist *hist)
{
	char name[24];

	ui_json_object(json, key);
	ui_json_count(json, "count", hist->count);
	for (int i = 0; i < N_QUANTILES; i++) {
		snprintf(name, sizeof(name), "%s_ns", quantiles[i].name);
		ui_json_count(json, name, zr_hist_quantile(hist, quantiles[i].part));
	}
	ui_json_count(json, "max_ns", hist->max);
	ui_json_end_object(json);
}

static void json_curve(struct ui_json *json, const struct play_explain *explain)
{
	ui_json_array(json, "pool_size_curve");
	for (uint32_t i = 0; i < explain->n_curve; i++) {
		const struct play_curve_point *point = &explain->curve[i];

		ui_json_object(json, NULL);
		ui_json_count(json, "compressed_bytes", point->bytes);
		ui_json_number(json, "pool_bytes", (double)point->bytes * explain->pool_bytes_per_byte);
		ui_json_count(json, "disk_refaults", point->disk_refaults);
		ui_json_end_object(json);
	}
	ui_json_end_array(json);
	ui_json_count(json, "pool_size_curve_refaults", explain->curve_refaults);
}

static void json_requests(struct ui_json *json, const struct play_explain *explain)
{
	ui_json_count(json, "pages", explain->pages);
	ui_json_count(json, "contexts", explain->contexts);
	ui_json_count(json, "requests", explain->requests);
	ui_json_object(json, "breaks");
	for (int i = 0; i < PLAY_BREAK_COUNT; i++)
		ui_json_count(json, play_break_name((enum play_break)i), explain->breaks[i]);
	ui_json_end_object(json);
	ui_json_object(json, "ceilings");
	for (int i = 0; i < PLAY_CEILING_COUNT; i++)
		ui_json_number(json, play_ceiling_name((enum play_ceiling)i),
			       play_explain_pages_per_request(explain, (enum play_ceiling)i));
	ui_json_end_object(json);
	ui_json_count(json, "ceiling_batch", explain->batch);
}

static void json_pool(struct ui_json *json, const struct play_explain *explain)
{
	const struct sim_counters *counters = &explain->counters;

	ui_json_count(json, "disk_refaults", counters->disk_refaults);
	ui_json_count(json, "lru_inversions", counters->lru_inversions);
	json_hist(json, "lru_inversion_after", &explain->inversion_ns);
	ui_json_count(json, "early_refaults_1s", counters->early_refaults_1s);
	ui_json_count(json, "early_refaults_10s", counters->early_refaults_10s);
	ui_json_count(json, "early_refaults_60s", counters->early_refaults_60s);
	json_hist(json, "age_at_writeback", &explain->age_ns);
	ui_json_count(json, "store_rejected", counters->store_rejected);
	ui_json_count(json, "refusing_ns", explain->refusing_ns);
	ui_json_count(json, "span_ns", explain->span_ns);
}

static void print_json(const struct play_explain *explain, const struct ui_sentences *sentences)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "policy", explain->policy.text);
	ui_json_text(&json, "drive", "demand");
	ui_json_count(&json, "host", explain->host);
	json_requests(&json, explain);
	json_pool(&json, explain);
	json_curve(&json, explain);
	ui_json_array(&json, "summary");
	for (uint32_t i = 0; i < sentences->n; i++)
		ui_json_text(&json, NULL, sentences->text[i]);
	ui_json_end_array(&json);
	ui_json_end_object(&json);
}

/* -------------------------------------------------------------------------------------------- text */

static void print_breaks(const struct play_explain *explain)
{
	enum play_break causes[PLAY_BREAK_COUNT];

	ui_explain_order(explain, causes);
	printf("\nWhy each I/O ended, by the page in the slot behind its last one:\n");
	for (int i = 0; i < PLAY_BREAK_COUNT && explain->breaks[causes[i]]; i++)
		printf("  %-14s %12s %6.1f%%  %s\n", play_break_name(causes[i]),
		       ui_count(explain->breaks[causes[i]]).text,
		       ui_percent(explain->breaks[causes[i]], explain->contexts),
		       play_break_text(causes[i]));
	printf("  %-14s %12s %6.1f%%\n", "all", ui_count(explain->contexts).text, 100.0);
}

static void print_ceilings(const struct play_explain *explain)
{
	printf("\nPages a write request (I/Os of up to %u pages):\n", explain->batch);
	for (int i = 0; i < PLAY_CEILING_COUNT; i++)
		printf("  %-14s %12.2f  %s\n", play_ceiling_name((enum play_ceiling)i),
		       play_explain_pages_per_request(explain, (enum play_ceiling)i),
		       play_ceiling_text((enum play_ceiling)i));
}

static void print_hist(const char *what, const struct zr_hist *hist)
{
	printf("  %-44s", what);
	for (int i = 0; i < N_QUANTILES; i++)
		printf(" %s %s%s", quantiles[i].name,
		       ui_span(zr_hist_quantile(hist, quantiles[i].part)).text,
		       i + 1 < N_QUANTILES ? "," : "\n");
}

static void print_pool(const struct play_explain *explain)
{
	const struct sim_counters *counters = &explain->counters;

	puts("\nThe pool's choices:");
	printf("  %-44s %s\n", "disk refaults", ui_count(counters->disk_refaults).text);
	printf("  %-44s %s\n", "LRU inversions (older pages were in the pool)",
	       ui_count(counters->lru_inversions).text);
	if (explain->inversion_ns.count)
		print_hist("  read back after", &explain->inversion_ns);
	printf("  %-44s %s, %s, %s\n", "written-back pages read within 1, 10, 60 s",
	       ui_count(counters->early_refaults_1s).text, ui_count(counters->early_refaults_10s).text,
	       ui_count(counters->early_refaults_60s).text);
	if (explain->age_ns.count)
		print_hist("age of entries at writeback", &explain->age_ns);
	printf("  %-44s %s of %s (%.1f%%)\n", "time spent refusing stores",
	       ui_span(explain->refusing_ns).text, ui_span(explain->span_ns).text,
	       ui_percent(explain->refusing_ns, explain->span_ns));
}

/* The smallest pool whose refaults come from disk at no more than this rate. */
static const struct play_curve_point *pool_for(const struct play_explain *explain, double rate_percent)
{
	for (uint32_t i = 0; i < explain->n_curve; i++)
		if (ui_percent(explain->curve[i].disk_refaults, explain->curve_refaults) <= rate_percent)
			return &explain->curve[i];
	return NULL;
}

static void print_curve(const struct play_explain *explain)
{
	static const double rates[] = { 75, 50, 25, 10, 5, 2, 1, 0 };

	if (!explain->curve_refaults)
		return;
	printf("\nPool size for a rate of refaults from disk (of %s; idealised LRU, see zreel(1)):\n",
	       ui_count(explain->curve_refaults).text);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const struct play_curve_point *point = pool_for(explain, rates[i]);

		if (!point)
			break;
		printf("  %3.0f%% %14s compressed, about %s of pool\n", rates[i],
		       ui_bytes(point->bytes).text,
		       ui_bytes((uint64_t)((double)point->bytes * explain->pool_bytes_per_byte)).text);
	}
}

static void print_text(const struct play_explain *explain, const struct ui_sentences *sentences)
{
	fputs("Policy ", stdout);
	ui_put_clean(stdout, explain->policy.text);
	printf(", decisions recomputed from the recorded demand.\n%s pages written back in %s I/Os, %s write "
	       "requests (planned).\n",
	       ui_count(explain->pages).text, ui_count(explain->contexts).text,
	       ui_count(explain->requests).text);
	if (explain->pages) {
		print_breaks(explain);
		print_ceilings(explain);
	}
	print_pool(explain);
	print_curve(explain);
	putchar('\n');
	for (uint32_t i = 0; i < sentences->n; i++)
		puts(sentences->text[i]);
}

/* --------------------------------------------------------------------------------------------- run */

static enum zr_err explain_trace(struct db *trace, const struct values *values, struct play_explain *out)
{
	struct ui_progress progress;
	struct play_explain_options how = { .policy = values->policy ? values->policy : "batched",
					    .progress = ui_progress_update,
					    .progress_arg = &progress };
	enum zr_err err;

	ui_stop_catch();
	ui_progress_begin(&progress, "explaining");
	err = play_explain(trace, &how, out);
	ui_progress_end(&progress);
	return err;
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	struct play_explain *explain = zr_arena_alloc(call->arena, sizeof(*explain));
	struct ui_sentences sentences;
	struct db *trace;
	enum zr_err err, closed;

	if (!explain)
		return zr_fail(ZR_NOMEM, "explaining %s: no memory", call->operands[0]);
	err = db_open(call->operands[0], DB_READ, &trace);
	if (err)
		return err;
	err = explain_trace(trace, values, explain);
	closed = db_close(trace);
	if (err || closed)
		return err ? err : closed;
	ui_explain_say(explain, &sentences);
	if (values->json)
		print_json(explain, &sentences);
	else
		print_text(explain, &sentences);
	return ZR_OK;
}

const struct ui_command ui_cmd_explain = {
	.name = "explain",
	.summary = "say why write requests are short, and what would help",
	.operands = "FILE",
	.about =
		"Replays a trace under one policy and gives every end of a swap I/O one cause; computes how long\n"
		"requests would be if writes were sorted or slots chosen at writeback; and shows what the pool's\n"
		"choices cost: inversions, early refaults, ages, refused stores, and the pool size that a rate of\n"
		"disk refaults needs.",
	.example = "  zreel explain compile.zr\n"
		   "  zreel explain compile.zr -p batched+pool=10% --json",
	.options = options,
	.values_bytes = sizeof(struct values),
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
