/* SPDX-License-Identifier: MIT */
/* The replay of kernel.h. */
#include "replayer/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "replayer/cgroup.h"
#include "replayer/kernel_count.h"
#include "replayer/kernel_crew.h"
#include "replayer/kernel_memory.h"
#include "replayer/kernel_plan.h"
#include "replayer/kernel_settings.h"

/* The plan is ahead of the tasks by at most so many operations. */
enum { AHEAD = 8192, LOOK_EVERY = 64, LOOK_EVERY_NS = 200'000'000 };

enum {
	SURVEY_KINDS = 1 << DB_OUT | 1 << DB_IN | 1 << DB_FREE | 1 << DB_WB,
	PLAN_KINDS = SURVEY_KINDS | 1 << DB_RECLAIM,
};

struct kernel {
	const struct play_options *options;
	struct kernel_host host;
	char detail[512];
};

/* One pass. */
struct pass {
	struct kernel *kernel;
	const struct kernel_pass *given;
	struct kernel_zswap zswap;
	struct kernel_plan *plan;
	struct kernel_settings *settings;
	struct cgroup *cgroup;
	struct kernel_memory *memory;
	struct kernel_crew *crew;
	struct pacer pacer;
	uint64_t looked_ns, fed; /* events since the last look */
	uint64_t now_ns;	 /* of the trace, for the series */
	uint64_t pool_pages_max;
	uint64_t stored_bytes, stored_pages; /* in zswap, when there were most */
	bool stopped;
};

static void say(const struct kernel *kernel, const char *text)
{
	if (kernel->options->say)
		kernel->options->say(kernel->options->say_arg, text);
}

/* ------------------------------------------------------------------------------------------ open */

/* Two kernels see the memory of one machine as a few MiB more or less; that is no other condition.
 */
static void write_detail(struct kernel *kernel)
{
	const uint64_t step_mib = 64;
	uint64_t mib = kernel->host.memory_bytes >> 20;

	snprintf(kernel->detail, sizeof(kernel->detail),
		 "zswap; kernel=%s; swap=%s; memory=%" PRIu64 " MiB", kernel->host.release,
		 kernel->host.swaps[0].path, (mib + step_mib / 2) / step_mib * step_mib);
}

enum zr_err kernel_open(const struct play_options *options, struct kernel **out)
{
	const struct kernel_leave leave = { .superuser = geteuid() == 0,
					    .this_host = options->this_host };
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	enum zr_err err = ZR_OK;

	*out = NULL;
	if (!kernel)
		return zr_fail(ZR_NOMEM, "replaying on the running kernel: no memory");
	for (uint32_t i = 0; i < options->n_policies && !err; i++)
		err = kernel_policy_check(options->policies[i]);
	if (!err && options->drive != SIM_DRIVE_DEMAND)
		err = zr_fail(
			ZR_USAGE,
			"replaying on the running kernel: it decides itself what is written back "
			"and when; leave out --drive writebacks");
	if (!err)
		err = kernel_host_check("", &leave, &kernel->host);
	if (err) {
		free(kernel);
		return err;
	}
	kernel->options = options;
	write_detail(kernel);
	*out = kernel;
	return ZR_OK;
}

void kernel_close(struct kernel *kernel)
{
	free(kernel);
}

const char *kernel_detail(const struct kernel *kernel)
{
	return kernel->detail;
}

/* ---------------------------------------------------------------------------------------- demand */

static enum zr_err open_events(const struct pass *pass, uint32_t kinds, struct db_reader **out)
{
	struct db_filter filter = { .kinds = kinds, .host = pass->given->host->host };

	return db_reader_new(pass->given->trace, &filter, out);
}

static enum zr_err survey(struct pass *pass)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = open_events(pass, SURVEY_KINDS, &reader);

	if (err)
		return err;
	while (!(err = db_reader_next(reader, &batch)) && batch)
		for (uint32_t row = 0; row < batch->n; row++) {
			struct db_event event = db_batch_event(batch, row);

			kernel_plan_survey(pass->plan, &event);
		}
	db_reader_free(reader);
	return err;
}

/* What lies in zswap or on the disk at once must find room in the swap areas, and what comes back
 * in memory. */
static enum zr_err check_room(const struct pass *pass)
{
	const struct kernel_host *host = &pass->kernel->host;
	struct kernel_size size = kernel_plan_size(pass->plan);
	uint64_t page_size = pass->given->host->machine.page_size;

	if (size.out_pages * page_size > host->free_swap_bytes)
		return zr_fail(ZR_UNSUPPORTED,
			       "replaying on the running kernel: the trace has up to %" PRIu64
			       " MiB swapped out, the swap areas have %" PRIu64
			       " MiB free; add swap, or cut the trace",
			       size.out_pages * page_size >> 20, host->free_swap_bytes >> 20);
	if (size.in_pages * page_size > host->free_memory_bytes)
		return zr_fail(
			ZR_UNSUPPORTED,
			"replaying on the running kernel: of what was swapped out up to %" PRIu64
			" MiB are back in memory at once, and %" PRIu64
			" MiB are available; use a larger machine, or cut the trace",
			size.in_pages * page_size >> 20, host->free_memory_bytes >> 20);
	return ZR_OK;
}

static enum zr_err put(void *arg, const struct kernel_op *op)
{
	const struct pass *pass = arg;

	return kernel_crew_put(pass->crew, op);
}

static enum zr_err make_plan(struct pass *pass)
{
	const struct survey_host *host = pass->given->host;
	struct kernel_plan_options options = { .page_size = host->machine.page_size,
					       .area_slots = host->top_slots,
					       .emit = put,
					       .arg = pass };
	enum zr_err err = survey_count_tasks(pass->given->trace, host->host, &options.n_tasks);

	if (host->machine.page_size != (uint32_t)sysconf(_SC_PAGESIZE))
		return zr_fail(ZR_UNSUPPORTED,
			       "replaying on the running kernel: its pages have %ld bytes, those "
			       "of the trace %u",
			       sysconf(_SC_PAGESIZE), host->machine.page_size);
	if (!err)
		err = kernel_plan_new(&options, &pass->plan);
	if (!err)
		err = survey(pass);
	return err ? err : check_room(pass);
}

/* ------------------------------------------------------------------------------------ the machine */

static enum zr_err recorded_text(const struct pass *pass, const char *key, char *text, size_t bytes)
{
	struct zr_arena arena = { 0 };
	const char *value;
	enum zr_err err =
		db_env_get(pass->given->trace, pass->given->host->host, key, &arena, &value);

	if (!err)
		snprintf(text, bytes, "%s", value ? value : "");
	zr_arena_fini(&arena);
	return err;
}

/* Of a trace that does not say how much memory its machine had, percentages are of this one's. */
static uint64_t pool_limit(const struct pass *pass)
{
	const struct sim_policy *policy = pass->given->policy;
	const struct sim_machine *machine = &pass->given->host->machine;
	uint64_t memory = policy->mem_bytes ? (uint64_t)policy->mem_bytes
					    : machine->mem_pages * machine->page_size;
	int32_t percent = policy->pool_percent == SIM_RECORDED ? machine->max_pool_percent
							       : policy->pool_percent;

	if (policy->pool_bytes)
		return (uint64_t)policy->pool_bytes;
	if (!memory)
		memory = pass->kernel->host.memory_bytes;
	return memory / 100 * (uint64_t)percent;
}

static enum zr_err want_zswap(struct pass *pass)
{
	const struct sim_policy *policy = pass->given->policy;
	struct kernel_zswap *zswap = &pass->zswap;
	char shrinker[8];
	enum zr_err err = recorded_text(pass, DB_ENV_ZSWAP_PREFIX "compressor", zswap->compressor,
					sizeof(zswap->compressor));

	if (!err)
		err = recorded_text(pass, DB_ENV_ZSWAP_PREFIX "shrinker_enabled", shrinker,
				    sizeof(shrinker));
	if (err)
		return err;
	zswap->limit_bytes = pool_limit(pass);
	zswap->accept_percent = policy->accept_percent == SIM_RECORDED
					? pass->given->host->machine.accept_threshold_percent
					: policy->accept_percent;
	zswap->shrinker = policy->shrinker;
	if (zswap->shrinker == SIM_RECORDED && shrinker[0])
		zswap->shrinker = shrinker[0] == 'Y';
	return ZR_OK;
}

/* What a killed replay leaves is undone by hand, with these. */
static void say_settings(const struct pass *pass)
{
	char settings[1024], text[1536];

	kernel_settings_to_text(pass->settings, settings, sizeof(settings));
	snprintf(
		text, sizeof(text),
		"the kernel's settings before, which it gets back in the end: %s; control group %s",
		settings, cgroup_path(pass->cgroup));
	say(pass->kernel, text);
}

/* iocost's waits and debts are shown only if this is on; kernels without iocost do not have it. */
static enum zr_err set_debug_stats(struct pass *pass)
{
	enum zr_err err = kernel_settings_set(
		pass->settings, "/sys/module/blk_cgroup/parameters/blkcg_debug_stats", "Y");

	if (err)
		zr_error_clear();
	return ZR_OK;
}

static enum zr_err set_up(struct pass *pass)
{
	const struct cgroup_options options = { .name = "zreel-replay",
						.controllers = "memory io" };
	enum zr_err err = want_zswap(pass);

	if (!err)
		err = kernel_settings_new("", &pass->settings);
	if (!err)
		err = cgroup_make(&options, &pass->cgroup);
	if (!err)
		err = cgroup_put(pass->cgroup, 0);
	if (!err)
		err = kernel_settings_zswap(pass->settings, &pass->kernel->host, &pass->zswap,
					    pass->kernel->options);
	if (!err)
		err = set_debug_stats(pass);
	if (err)
		return err;
	say_settings(pass);
	return ZR_OK;
}

/* The first failure is kept; all is taken down whatever fails. */
static enum zr_err take_down(struct pass *pass, enum zr_err err)
{
	enum zr_err failed;

	kernel_crew_free(pass->crew);
	kernel_memory_free(pass->memory);
	failed = kernel_settings_restore(pass->settings);
	if (!err)
		err = failed;
	failed = cgroup_free(pass->cgroup);
	if (!err)
		err = failed;
	kernel_plan_free(pass->plan);
	return err;
}

/* --------------------------------------------------------------------------------------- looking */

static void note_pool(struct pass *pass, const struct measure *now)
{
	uint64_t bytes, pages, page_size = pass->given->host->machine.page_size;
	struct sim_state state = { .time_ns = pass->now_ns };

	if (measure_get(now, "zswap.pool_total_size", &bytes)) {
		state.pool_pages = bytes / page_size;
		series_offer(pass->given->series, &state, &(struct play_io){ 0 });
		if (state.pool_pages > pass->pool_pages_max)
			pass->pool_pages_max = state.pool_pages;
	}
	if (measure_get(now, "zswap", &bytes) && measure_get(now, "zswapped", &pages) &&
	    pages / page_size > pass->stored_pages) {
		pass->stored_pages = pages / page_size;
		pass->stored_bytes = bytes;
	}
}

static void look_at_pool(struct pass *pass)
{
	struct measure now = { 0 };
	char *stat = cgroup_peek(pass->cgroup, "memory.stat");

	measure_directory(&now, "zswap.", "/sys/kernel/debug/zswap");
	if (stat)
		measure_pairs(&now, "", stat);
	free(stat);
	note_pool(pass, &now);
	measure_fini(&now);
}

/* Is it to go on? */
static bool look(struct pass *pass)
{
	uint64_t now = zr_monotonic_ns();

	if (now - pass->looked_ns < LOOK_EVERY_NS)
		return !pass->stopped;
	pass->looked_ns = now;
	look_at_pool(pass);
	if (!pass->stopped && !pass->given->go_on(pass->given->arg, pass->fed)) {
		pass->stopped = true;
		kernel_crew_stop(pass->crew);
	}
	pass->fed = 0;
	return !pass->stopped;
}

/* Until at most so many operations are left. All that was planned is with the tasks first, so none
 * waits for ever. */
static enum zr_err drain(struct pass *pass, uint64_t left)
{
	enum zr_err err = kernel_plan_flush(pass->plan);

	while (!err && !kernel_crew_wait(pass->crew, left, LOOK_EVERY_NS)) {
		look(pass);
		err = kernel_crew_error(pass->crew);
	}
	return err ? err : kernel_crew_error(pass->crew);
}

/* --------------------------------------------------------------------------------------- playing */

static const char *rule_text(const struct sim_policy *policy, int what, char *text, size_t bytes)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		if ((int)policy->rules[i].what != what)
			continue;
		found = text;
		if (policy->rules[i].value == INT64_MAX)
			snprintf(text, bytes, "max");
		else
			snprintf(text, bytes, "%" PRId64, policy->rules[i].value);
	}
	return found;
}

/* Settings of the control group that the policy has: for the time after what was out before. */
static enum zr_err set_rules(struct pass *pass)
{
	char text[24];
	const char *limit = rule_text(pass->given->policy, SIM_RULE_ZSWAP_MAX, text, sizeof(text));
	enum zr_err err = limit ? cgroup_write(pass->cgroup, "memory.zswap.max", limit) : ZR_OK;
	const char *writeback = rule_text(pass->given->policy, SIM_RULE_WB, text, sizeof(text));

	if (!err && writeback)
		err = cgroup_write(pass->cgroup, "memory.zswap.writeback", writeback);
	return err;
}

/* A cgroup that may have nothing in zswap swaps to the disk. It must have nothing there yet, or 7.3
 * makes room by writing that back. */
static enum zr_err preload(struct pass *pass)
{
	enum zr_err err = cgroup_write(pass->cgroup, "memory.zswap.max", "0");

	if (!err)
		err = kernel_plan_preload(pass->plan, true);
	if (!err)
		err = drain(pass, 0);
	if (!err)
		err = cgroup_write(pass->cgroup, "memory.zswap.max", "max");
	if (!err)
		err = kernel_plan_preload(pass->plan, false);
	if (!err)
		err = drain(pass, 0);
	return err ? err : set_rules(pass);
}

static enum zr_err feed_batch(struct pass *pass, const struct db_batch *batch)
{
	enum zr_err err = ZR_OK;

	for (uint32_t row = 0; row < batch->n && !err; row++) {
		struct db_event event = db_batch_event(batch, row);

		pass->now_ns = event.time_ns;
		err = kernel_plan_feed(pass->plan, &event);
		pass->fed += (1u << event.kind & SURVEY_DEMAND_KINDS) != 0;
		if (err || row % LOOK_EVERY)
			continue;
		if (kernel_crew_queued(pass->crew) > AHEAD)
			err = drain(pass, AHEAD / 2);
		if (!look(pass))
			break;
	}
	return err;
}

static enum zr_err feed(struct pass *pass)
{
	const struct db_batch *batch;
	struct db_reader *reader;
	enum zr_err err = open_events(pass, PLAN_KINDS, &reader);

	if (err)
		return err;
	while (!pass->stopped && !(err = db_reader_next(reader, &batch)) && batch) {
		err = feed_batch(pass, batch);
		if (err)
			break;
	}
	db_reader_free(reader);
	return err ? err : drain(pass, 0);
}

static void start_pacer(struct pass *pass)
{
	const struct play_options *options = pass->kernel->options;

	pacer_init(&pass->pacer, options->pace, options->speed, NULL);
	pacer_start(&pass->pacer, pass->given->host->first_ns);
	kernel_crew_pace(pass->crew, &pass->pacer);
}

/* --------------------------------------------------------------------------------------- figures */

static void add(const struct pass *pass, const char *name, double value, enum db_figure figure)
{
	metrics_put(pass->given->metrics, &(struct db_metric){ .rep = pass->given->rep,
							       .name = name,
							       .value = value,
							       .figure = figure });
}

static void add_quantiles(const struct pass *pass, const char *p50, const char *p99,
			  const struct zr_hist *ns)
{
	metrics_put_quantiles(pass->given->metrics, pass->given->rep,
			      &(struct metrics_quantiles){ p50, p99, ns }, DB_MEASURED);
}

static void add_crew(struct pass *pass)
{
	struct kernel_crew_report report;

	kernel_crew_finish(pass->crew, &report);
	add_quantiles(pass, "disk_refault_p50_us", "disk_refault_p99_us", &report.disk_ns);
	add_quantiles(pass, "zswap_refault_p50_us", "zswap_refault_p99_us", &report.zswap_ns);
	add(pass, "cached_refaults", (double)report.memory_ns.count, DB_MEASURED);
	if (!pacer_is_timed(&pass->pacer))
		return;
	add(pass, "drift_us", (double)report.drift_ns / 1000, DB_MEASURED);
	add_quantiles(pass, "drift_p50_us", "drift_p99_us", &report.late_ns);
}

/* What was demanded, beside what the kernel made of it. */
static void add_demand(const struct pass *pass)
{
	struct kernel_demand demand = kernel_plan_demand(pass->plan);

	add(pass, "swap_outs_planned", (double)demand.outs, DB_PLANNED);
	add(pass, "refaults_planned", (double)demand.ins, DB_PLANNED);
	add(pass, "frees_planned", (double)demand.frees, DB_PLANNED);
	add(pass, "unknown_refaults", (double)demand.unknown, DB_PLANNED);
	add(pass, "tasks", kernel_plan_workers(pass->plan), DB_PLANNED);
}

/* Contents are made for zstd, so another compressor makes other lengths of them. */
static void add_lengths(const struct pass *pass)
{
	struct kernel_size size = kernel_plan_size(pass->plan);
	double mean, off;
	char text[160];

	if (pass->pool_pages_max)
		add(pass, "pool_pages_max", (double)pass->pool_pages_max, DB_MEASURED);
	if (!pass->stored_pages || !size.mean_len)
		return;
	mean = (double)pass->stored_bytes / (double)pass->stored_pages;
	add(pass, "compressed_page_bytes", mean, DB_MEASURED);
	off = mean / size.mean_len - 1;
	if (off > -0.1 && off < 0.1)
		return;
	snprintf(text, sizeof(text),
		 "a page in zswap took %.0f bytes, in the recording %u: the pool's pressure is not "
		 "the recorded one",
		 mean, size.mean_len);
	say(pass->kernel, text);
}

static enum zr_err measured(struct pass *pass, const struct measure *before, uint64_t began_ns)
{
	const struct kernel_host *host = &pass->kernel->host;
	struct measure after = { 0 };
	uint64_t makespan_ns = zr_monotonic_ns() - began_ns;
	enum zr_err err;

	kernel_count(host, pass->cgroup, &after);
	look_at_pool(pass);
	add(pass, "makespan_us", (double)makespan_ns / 1000, DB_MEASURED);
	add_crew(pass);
	add_demand(pass);
	add_lengths(pass);
	kernel_count_metrics(
		pass->given->metrics,
		&(struct kernel_counted){ .host = host,
					  .before = before,
					  .after = &after,
					  .page_size = pass->given->host->machine.page_size,
					  .rep = pass->given->rep });
	err = measure_done(&after);
	measure_fini(&after);
	return err;
}

static enum zr_err play(struct pass *pass)
{
	struct measure before = { 0 };
	uint64_t began_ns;
	enum zr_err err = preload(pass), told;

	if (err || pass->stopped)
		return err;
	say(pass->kernel, "what was out before the trace is out; the trace begins");
	kernel_count(&pass->kernel->host, pass->cgroup, &before);
	err = measure_done(&before);
	if (!err) {
		start_pacer(pass);
		began_ns = zr_monotonic_ns();
		err = feed(pass);
		told = measured(pass, &before, began_ns);
		err = err ? err : told;
	}
	measure_fini(&before);
	return err;
}

enum zr_err kernel_play(struct kernel *kernel, const struct kernel_pass *given)
{
	struct pass pass = { .kernel = kernel, .given = given };
	uint32_t page_size = given->host->machine.page_size;
	struct kernel_acts acts;
	enum zr_err err = make_plan(&pass);

	if (!err)
		err = set_up(&pass);
	if (!err)
		err = kernel_memory_new(kernel_plan_pages(pass.plan), page_size, &pass.memory);
	if (!err) {
		acts = kernel_memory_acts(pass.memory);
		err = kernel_crew_new(kernel_plan_pages(pass.plan), &acts, &pass.crew);
	}
	if (!err)
		err = play(&pass);
	return take_down(&pass, err);
}
