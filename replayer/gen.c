/* SPDX-License-Identifier: MIT */
/*
 * Generated workloads: the published ones, and plain ones, as traces of any size.
 *
 *   workload (which page is touched next) ──> kernel (gen_kernel.h) ──> events ──> trace
 *
 * A workload is a row of a table: its parameters and the function that runs it. The tasks of most
 * of them take turns on one clock: the task whose time it is touches a page and then thinks. What
 * is known of the published workloads is what their authors wrote down; how their pages compress,
 * and in which order a compiler touches its memory, is not, and is a parameter here. So directions
 * and ratios can be expected to come out, and absolute numbers cannot.
 *
 * The environment of the trace holds every parameter (gen.*), so that a trace says how to make it
 * again. Events depend on the parameters and on nothing else.
 *
 * Cost: the kernel's tables, made once; a trace is written as it is made. A turn is a look at every
 * task's clock.
 */
#include "replayer/gen.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/gen_kernel.h"

enum { PROGRESS_EVERY = 65536 };

/* A place for tasks that follow each other: pages of its own, and how far the present task has
 * come. */
struct gen_lane {
	struct gen_actor actor;
	uint32_t first, n;
	uint32_t at;		  /* page that is touched next, from `first` */
	bool waiting;		  /* for that page to come from the disk */
	uint64_t clock_ns, turns; /* turns: of the present task */
	uint32_t size, allocated; /* kernel-build */
};

struct gen_run {
	struct gen_kernel kernel;
	const struct gen_params *params;
	const struct play_gen_options *options;
	struct gen_lane *lanes;
	uint64_t done; /* touches */
	uint32_t last_task;
};

/* True: go on. */
static bool report(struct gen_run *run, uint64_t all)
{
	const struct play_gen_options *options = run->options;

	if (run->kernel.err)
		return false;
	if (++run->done % PROGRESS_EVERY || !options->progress ||
	    options->progress(options->progress_arg, (double)run->done / (double)all))
		return true;
	run->kernel.err =
		zr_fail(ZR_INTERRUPTED, "generating '%s': interrupted", options->workload);
	return false;
}

/* ---------------------------------------------------------------------------------- patterns */

static uint32_t next_uniform(struct gen_run *run, struct gen_lane *lane)
{
	return (uint32_t)gen_random_below(&run->kernel, lane->n);
}

static uint32_t next_sequential(struct gen_run *run, struct gen_lane *lane)
{
	(void)run;
	return (uint32_t)(lane->turns % lane->n);
}

/* A compiler: its memory grows; most touches go to what is new, some to what is oldest, a few
 * anywhere. */
static void begin_job(struct gen_run *run, struct gen_lane *lane)
{
	lane->size = lane->n / 4 + (uint32_t)gen_random_below(&run->kernel, lane->n - lane->n / 4);
	if (!lane->size)
		lane->size = 1;
	lane->allocated = 0;
	lane->turns = 0;
}

static void end_job(struct gen_run *run, struct gen_lane *lane)
{
	run->kernel.now_ns = lane->clock_ns;
	gen_forget(&run->kernel, &lane->actor, lane->first, lane->n);
	lane->clock_ns = run->kernel.now_ns;
	lane->actor.task = ++run->last_task;
	begin_job(run, lane);
}

static uint32_t next_build(struct gen_run *run, struct gen_lane *lane)
{
	enum { TURNS_A_PAGE = 16, GROW_EVERY = 8 };
	struct gen_kernel *kernel = &run->kernel;
	uint64_t dice;

	if (!lane->size)
		begin_job(run, lane);
	if (lane->turns >= (uint64_t)lane->size * TURNS_A_PAGE)
		end_job(run, lane);
	if (!lane->allocated || (lane->turns % GROW_EVERY == 0 && lane->allocated < lane->size))
		return lane->allocated++;
	dice = gen_random_below(kernel, 100);
	if (dice < 60)
		return lane->allocated - 1 -
		       (uint32_t)gen_random_below(kernel, lane->allocated / 8 + 1);
	if (dice < 85)
		return (uint32_t)gen_random_below(kernel, lane->allocated / 16 + 1);
	return (uint32_t)gen_random_below(kernel, lane->allocated);
}

/* ------------------------------------------------------------------------------------- lanes */

typedef uint32_t next_page(struct gen_run *run, struct gen_lane *lane);

static void place_lanes(struct gen_run *run)
{
	const struct gen_params *params = run->params;
	uint32_t share = (uint32_t)(params->pages / params->tasks);

	for (uint32_t i = 0; i < params->tasks; i++)
		run->lanes[i] = (struct gen_lane){
			.actor = { .task = ++run->last_task,
				   .cpu = i % (uint32_t)params->cpus,
				   .memcg = (uint16_t)(1 + i % params->memcgs) },
			.first = i * share,
			.n = share,
			.clock_ns = run->kernel.now_ns + i,
		};
}

static struct gen_lane *lane_in_turn(const struct gen_run *run)
{
	struct gen_lane *first = &run->lanes[0];

	for (uint32_t i = 1; i < run->params->tasks; i++)
		if (run->lanes[i].clock_ns < first->clock_ns)
			first = &run->lanes[i];
	return first;
}

static bool is_write(struct gen_run *run)
{
	return gen_random_below(&run->kernel, 100) < run->params->write_percent;
}

static void take_turn(struct gen_run *run, struct gen_lane *lane, next_page *next)
{
	struct gen_kernel *kernel = &run->kernel;

	if (!lane->waiting) {
		lane->at = next(run, lane);
		lane->turns++;
		lane->waiting = gen_must_read(kernel, lane->first + lane->at);
		if (lane->waiting) {
			lane->clock_ns += GEN_DISK_READ_NS;
			return;
		}
	}
	lane->waiting = false;
	kernel->now_ns = lane->clock_ns;
	gen_touch(kernel, &lane->actor, lane->first + lane->at, is_write(run));
	lane->clock_ns = kernel->now_ns + run->params->think_ns;
}

static void run_lanes(struct gen_run *run, next_page *next)
{
	uint64_t touches = run->params->touches;

	place_lanes(run);
	while (run->done < touches) {
		struct gen_lane *lane = lane_in_turn(run);

		take_turn(run, lane, next);
		if (!lane->waiting && !report(run, touches))
			return;
	}
	for (uint32_t i = 0; i < run->params->tasks; i++) {
		run->kernel.now_ns = run->lanes[i].clock_ns;
		gen_forget(&run->kernel, &run->lanes[i].actor, run->lanes[i].first,
			   run->lanes[i].n);
	}
}

/* --------------------------------------------------------------------------------- workloads */

static void run_uniform(struct gen_run *run)
{
	run_lanes(run, next_uniform);
}

static void run_sequential(struct gen_run *run)
{
	run_lanes(run, next_sequential);
}

static void run_build(struct gen_run *run)
{
	run_lanes(run, next_build);
}

/* A page that is touched is swapped out at once; it holds four random bytes, the rest is zero. */
static void add_new_pages(struct gen_run *run, struct gen_lane *lane, uint64_t all)
{
	enum { LENGTH = 40 };
	uint32_t end = (uint32_t)(run->params->pages + run->params->new_pages);

	for (uint32_t page = (uint32_t)run->params->pages; page < end; page++) {
		uint64_t begin = run->kernel.now_ns;

		gen_set_length(&run->kernel, page, LENGTH);
		gen_touch(&run->kernel, &lane->actor, page, true);
		gen_reclaim(&run->kernel, &lane->actor, 1);
		if (!report(run, all))
			return;
		if (run->kernel.now_ns < begin + run->params->interval_ns)
			run->kernel.now_ns = begin + run->params->interval_ns;
	}
}

/* Memory is filled, swapped out as a whole, and then a page at a time follows. */
static void run_july_1(struct gen_run *run)
{
	uint64_t all = run->params->pages + run->params->new_pages;
	struct gen_lane *lane = &run->lanes[0];

	place_lanes(run);
	for (uint32_t page = 0; page < run->params->pages; page++) {
		gen_touch(&run->kernel, &lane->actor, page, true);
		if (!report(run, all))
			return;
	}
	gen_reclaim(&run->kernel, &lane->actor, (uint32_t)run->params->pages);
	add_new_pages(run, lane, all);
}

/* Sizes are those that the studies name; see traces/GENERATED.md for where each number is from. */
static const struct gen_workload workloads[] = {
	{ { "kernel-build",
	    "compilers one after the other in a cgroup too small for them, the shrinker on" },
	  run_build,
	  { .seed = 1,
	    .pages = 422400,
	    .memory = 153600,
	    .tasks = 4,
	    .cpus = 4,
	    .memcgs = 1,
	    .touches = 200'000'000,
	    .think_ns = 16'000,
	    .write_percent = 40,
	    .zero_percent = 3,
	    .incompressible_percent = 2,
	    .len = 1300,
	    .len_spread = 700,
	    .host_memory = 8388608,
	    .pool = 20,
	    .accept = 90,
	    .shrinker = 1,
	    .worker_lag_ns = 50'000,
	    .worker_visit_ns = 10'000,
	    .worker_write_ns = 123'000,
	    .interval_ns = 1,
	    .policy = "unbatched" } },
	{ { "july-1", "case 1 of the July 2026 study: incompressible memory swapped out at once, "
		      "then a page at a time" },
	  run_july_1,
	  { .seed = 1,
	    .pages = 131072,
	    .memory = 196608,
	    .tasks = 1,
	    .cpus = 1,
	    .memcgs = 1,
	    .idle_memcgs = 132,
	    .touches = 1,
	    .think_ns = 1,
	    .write_percent = 100,
	    .incompressible_percent = 100,
	    .len = 4096,
	    .host_memory = 8388608,
	    .pool = 1,
	    .accept = 50,
	    .worker_lag_ns = 50'000,
	    .worker_visit_ns = 520'000,
	    .worker_write_ns = 123'000,
	    .interval_ns = 4'000'000,
	    .new_pages = 30118,
	    .policy = "memcg-1" } },
	{ { "july-2", "case 2 of it: four tasks sweep over 4 GiB in a cgroup of 1 GiB" },
	  run_sequential,
	  { .seed = 1,
	    .pages = 1048576,
	    .memory = 262144,
	    .tasks = 4,
	    .cpus = 4,
	    .memcgs = 1,
	    .idle_memcgs = 132,
	    .touches = 3'000'000,
	    .think_ns = 60'000,
	    .write_percent = 100,
	    .len = 1200,
	    .len_spread = 400,
	    .host_memory = 8388608,
	    .pool = 1,
	    .accept = 50,
	    .worker_lag_ns = 50'000,
	    .worker_visit_ns = 1'330'000,
	    .worker_write_ns = 123'000,
	    .interval_ns = 1,
	    .policy = "memcg-1" } },
	{ { "usemem", "the 2019 study: one task touches 4000 MiB once on a machine of 1 GiB" },
	  run_sequential,
	  { .seed = 1,
	    .pages = 1024000,
	    .memory = 240000,
	    .tasks = 1,
	    .cpus = 1,
	    .memcgs = 1,
	    .touches = 1'024'000,
	    .think_ns = 1'000,
	    .write_percent = 100,
	    .len = 1200,
	    .len_spread = 400,
	    .host_memory = 250000,
	    .pool = 20,
	    .accept = 100,
	    .worker_lag_ns = 50'000,
	    .worker_visit_ns = 10'000,
	    .worker_write_ns = 123'000,
	    .interval_ns = 1,
	    .policy = "unbatched" } },
	{ { "uniform", "tasks that touch any of their pages with the same chance" },
	  run_uniform,
	  { .seed = 1,
	    .pages = 100000,
	    .memory = 60000,
	    .tasks = 2,
	    .cpus = 2,
	    .memcgs = 1,
	    .touches = 1'000'000,
	    .think_ns = 2'000,
	    .write_percent = 50,
	    .len = 1200,
	    .len_spread = 800,
	    .host_memory = 100000,
	    .pool = 10,
	    .accept = 90,
	    .shrinker = 1,
	    .worker_lag_ns = 50'000,
	    .worker_visit_ns = 10'000,
	    .worker_write_ns = 123'000,
	    .interval_ns = 1,
	    .policy = "unbatched" } },
	{ { "sequential", "tasks that sweep over their pages in order, again and again" },
	  run_sequential,
	  { .seed = 1,
	    .pages = 100000,
	    .memory = 60000,
	    .tasks = 2,
	    .cpus = 2,
	    .memcgs = 1,
	    .touches = 1'000'000,
	    .think_ns = 2'000,
	    .write_percent = 50,
	    .len = 1200,
	    .len_spread = 800,
	    .host_memory = 100000,
	    .pool = 10,
	    .accept = 90,
	    .shrinker = 1,
	    .worker_lag_ns = 50'000,
	    .worker_visit_ns = 10'000,
	    .worker_write_ns = 123'000,
	    .interval_ns = 1,
	    .policy = "unbatched" } },
};

enum { N_WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

/* -------------------------------------------------------------------------------- parameters */

static const struct gen_param {
	const char *name;
	uint64_t least, most;
	size_t offset;
} param_rows[] = {
#define X(name, least, most, help) { #name, least, most, offsetof(struct gen_params, name) },
	GEN_PARAMS(X)
#undef X
};

static const struct play_word param_help[] = {
#define X(name, least, most, help) { #name, help },
	GEN_PARAMS(X)
#undef X
		{ "policy", "of the zswap that it runs on; decides what is recorded as stored, "
			    "written back, on disk" },
	{ NULL, NULL },
};

enum { N_PARAMS = sizeof(param_rows) / sizeof(param_rows[0]) };

const struct play_word *play_gen_workload(uint32_t i)
{
	return i < N_WORKLOADS ? &workloads[i].about : NULL;
}

const struct play_word *play_gen_params(void)
{
	return param_help;
}

static uint64_t *value_of(struct gen_params *params, const struct gen_param *row)
{
	return (uint64_t *)((char *)params + row->offset);
}

static enum zr_err unknown_param(const char *key, size_t bytes)
{
	char names[512] = "";
	size_t used = 0;

	for (const struct play_word *row = param_help; row->name && used < sizeof(names); row++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", row->name);
	return zr_fail(ZR_USAGE, "'%.*s' is not a parameter of a workload; there are: %s",
		       (int)(bytes < 40 ? bytes : 40), key, names);
}

static enum zr_err set_number(struct gen_params *params, const struct gen_param *row,
			      const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < row->least || value > row->most)
		return zr_fail(ZR_USAGE,
			       "parameter %s got '%.40s'; it takes a number from %" PRIu64
			       " to %" PRIu64,
			       row->name, text, row->least, row->most);
	*value_of(params, row) = value;
	return ZR_OK;
}

static enum zr_err set_param(struct gen_params *params, const char *setting)
{
	size_t bytes = strcspn(setting, "=");

	if (!setting[bytes])
		return zr_fail(ZR_USAGE, "'%.60s' is not KEY=VALUE, as in pages=100000", setting);
	if (bytes == strlen("policy") && strncmp(setting, "policy", bytes) == 0) {
		params->policy = setting + bytes + 1;
		return ZR_OK;
	}
	for (size_t i = 0; i < N_PARAMS; i++)
		if (strlen(param_rows[i].name) == bytes &&
		    strncmp(param_rows[i].name, setting, bytes) == 0)
			return set_number(params, &param_rows[i], setting + bytes + 1);
	return unknown_param(setting, bytes);
}

/* Sizes and the length; what is left of a size must still make a workload. */
static enum zr_err scale_params(struct gen_params *params, double scale)
{
	uint64_t *const scaled[] = { &params->pages, &params->memory, &params->touches,
				     &params->host_memory, &params->new_pages };

	if (scale == 0)
		return ZR_OK;
	if (!(scale >= 0.0001 && scale <= 1000))
		return zr_fail(ZR_USAGE, "the scale is %g; it must be from 0.0001 to 1000", scale);
	for (size_t i = 0; i < sizeof(scaled) / sizeof(scaled[0]); i++)
		if (*scaled[i] > 1)
			*scaled[i] = (uint64_t)fmax(1, (double)*scaled[i] * scale);
	return ZR_OK;
}

static enum zr_err check_params(const struct gen_params *params)
{
	for (size_t i = 0; i < N_PARAMS; i++) {
		const struct gen_param *row = &param_rows[i];
		uint64_t value = *(const uint64_t *)((const char *)params + row->offset);

		if (value < row->least || value > row->most)
			return zr_fail(ZR_USAGE,
				       "at this scale %s would be %" PRIu64
				       "; it must be from %" PRIu64 " to %" PRIu64,
				       row->name, value, row->least, row->most);
	}
	if (params->pages / params->tasks < 4 || params->memory / params->memcgs < 64)
		return zr_fail(ZR_USAGE,
			       "%" PRIu64 " pages for %" PRIu64 " tasks, %" PRIu64
			       " pages of memory for %" PRIu64
			       " cgroups: a task needs 4 pages, a cgroup 64",
			       params->pages, params->tasks, params->memory, params->memcgs);
	if (params->zero_percent + params->incompressible_percent > 100)
		return zr_fail(ZR_USAGE,
			       "zero_percent and incompressible_percent are over 100 together");
	return ZR_OK;
}

static const struct gen_workload *find_workload(const char *name)
{
	for (size_t i = 0; i < N_WORKLOADS; i++)
		if (strcmp(workloads[i].about.name, name) == 0)
			return &workloads[i];
	return NULL;
}

static enum zr_err unknown_workload(const char *name)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < N_WORKLOADS && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", workloads[i].about.name);
	return zr_fail(ZR_USAGE, "'%.60s' is not a workload; there are: %s", name, names);
}

static enum zr_err read_params(const struct play_gen_options *options,
			       const struct gen_workload **workload, struct gen_params *params)
{
	enum zr_err err;

	*workload = find_workload(options->workload);
	if (!*workload)
		return unknown_workload(options->workload);
	*params = (*workload)->params;
	err = scale_params(params, options->scale);
	for (uint32_t i = 0; i < options->n_settings && !err; i++)
		err = set_param(params, options->settings[i]);
	return err ? err : check_params(params);
}

/* ------------------------------------------------------------------------------- environment */

static enum zr_err write_params(struct db *db, const struct gen_workload *workload,
				const struct gen_params *params)
{
	enum zr_err err = db_env_set(db, 0, "gen.workload", workload->about.name);

	if (!err)
		err = db_env_set(db, 0, "gen.policy", params->policy);
	for (size_t i = 0; i < N_PARAMS && !err; i++) {
		char key[64];

		snprintf(key, sizeof(key), "gen.%s", param_rows[i].name);
		err = db_env_setf(db, 0, key, "%" PRIu64,
				  *(const uint64_t *)((const char *)params + param_rows[i].offset));
	}
	return err;
}

static enum zr_err write_settings(struct db *db, const struct gen_params *params)
{
	enum zr_err err = db_env_set(db, 0, DB_ENV_KERNEL, "generated, no kernel");

	if (!err)
		err = db_env_set(db, 0, DB_ENV_SOURCE, "gen");
	if (!err)
		err = db_env_set(db, 0, DB_ENV_CLOCK, "virtual");
	if (!err)
		err = db_env_set(db, 0, DB_ENV_PAGE_SIZE, "4096");
	if (!err)
		err = db_env_setf(db, 0, DB_ENV_CPUS, "%" PRIu64, params->cpus);
	if (!err)
		err = db_env_setf(db, 0, DB_ENV_MEM_PAGES, "%" PRIu64, params->host_memory);
	if (!err)
		err = db_env_set(db, 0, DB_ENV_ZSWAP_PREFIX "enabled", "Y");
	if (!err)
		err = db_env_setf(db, 0, DB_ENV_ZSWAP_PREFIX "max_pool_percent", "%" PRIu64,
				  params->pool);
	if (!err)
		err = db_env_setf(db, 0, DB_ENV_ZSWAP_PREFIX "accept_threshold_percent", "%" PRIu64,
				  params->accept);
	if (!err)
		err = db_env_set(db, 0, DB_ENV_ZSWAP_PREFIX "shrinker_enabled",
				 params->shrinker ? "Y" : "N");
	return err;
}

static enum zr_err write_memcgs(struct db *db, const struct gen_params *params)
{
	struct db_memcg memcg = { .id = 0, .cgroup_id = 1, .path = "/" };
	enum zr_err err = db_put_memcg(db, &memcg);

	for (uint32_t id = 1; id <= params->memcgs + params->idle_memcgs && !err; id++) {
		char path[32];

		snprintf(path, sizeof(path), "/%s-%u", id <= params->memcgs ? "job" : "idle", id);
		memcg = (struct db_memcg){ .id = id, .cgroup_id = id + 1, .path = path };
		err = db_put_memcg(db, &memcg);
	}
	return err;
}

static enum zr_err write_tasks(struct db *db, uint32_t last)
{
	enum zr_err err = ZR_OK;

	for (uint32_t id = 1; id <= last && !err; id++) {
		struct db_task task = { .id = id, .tid = id, .tgid = id, .comm = "" };

		err = db_put_task(db, &task);
	}
	return err;
}

static enum zr_err write_area(struct db *db, const struct gen_kernel *kernel)
{
	struct db_area area = {
		.id = 0, .path = "generated", .slots = kernel->slots.n_slots, .priority = -1
	};

	return db_put_area(db, &area);
}

/* --------------------------------------------------------------------------------------- all */

static enum zr_err run_workload(struct db *db, struct gen_run *run,
				const struct gen_workload *workload, struct db_writer *writer)
{
	struct zr_arena arena = { 0 };
	enum zr_err err;

	run->lanes = zr_arena_array(&arena, run->params->tasks, sizeof(*run->lanes));
	err = run->lanes ? gen_kernel_init(&run->kernel, run->params, &arena, writer)
			 : zr_fail(ZR_NOMEM, "generating %" PRIu64 " tasks: no memory",
				   run->params->tasks);
	if (!err)
		err = write_area(db, &run->kernel);
	if (!err) {
		workload->run(run);
		err = run->kernel.err;
	}
	if (!err)
		err = write_tasks(db, run->last_task);
	gen_kernel_fini(&run->kernel);
	zr_arena_fini(&arena);
	return err;
}

enum zr_err play_gen(struct db *trace, const struct play_gen_options *options, uint64_t *events)
{
	const struct gen_workload *workload;
	struct gen_params params;
	struct gen_run run = { .params = &params,
			       .options = options,
			       .last_task = GEN_WORKER_TASK };
	struct db_writer *writer;
	enum zr_err err = read_params(options, &workload, &params), freed;

	*events = 0;
	if (!err)
		err = write_settings(trace, &params);
	if (!err)
		err = write_params(trace, workload, &params);
	if (!err)
		err = write_memcgs(trace, &params);
	if (!err)
		err = db_writer_new(trace, &(struct db_writer_options){ .host = 0 }, &writer);
	if (err)
		return err;
	err = run_workload(trace, &run, workload, writer);
	*events = run.kernel.events;
	freed = db_writer_free(writer);
	err = err ? err : freed;
	return err ? err : db_set_complete(trace);
}
