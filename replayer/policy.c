/* SPDX-License-Identifier: MIT */
/*
 * Policies: knobs and presets as tables, and their text form.
 *
 * A policy is a preset, then knobs, joined with '+'; each sets fields of struct sim_policy from left to
 * right, so a later word wins. A preset is itself such a list of knobs over the base policy, which is the
 * kernel before the patches that the studies are about (Linux 7.3: every entry that zswap writes back is
 * an I/O of its own, no plug, up to 32 entries a shrink call, the referenced bit gives a second chance).
 */
#include "replayer/replayer.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/lengths.h"

enum { BATCH_ON = 32, BATCH_MAX = 256, WALK_MAX = 1 << 20, WORKER_MAX = 1'000'000'000, WORD_BYTES = 64 };

static const struct sim_policy base = {
	.batch = 1,
	.direct_batch = BATCH_ON,
	.walk = 32,
	.store_walk = 32,
	.shrink_enabled = true,
	.accept_percent = SIM_RECORDED,
	.pool_percent = SIM_RECORDED,
	.shrinker = SIM_RECORDED,
	.worker = SIM_RECORDED,
	.large = SIM_RECORDED,
	.incompressible = SIM_RECORDED,
	.zero = SIM_RECORDED,
	.compressor = SIM_RECORDED,
	.readahead = true,
	.second_chance = true,
};

static const struct sim_preset presets[] = {
	{ "unbatched", "", "each written-back page is an I/O of its own (Linux up to 7.3)" },
	{ "batched", "batch=on", "a written-back page joins the I/O whose last slot it follows" },
	{ "plug-only", "plug=on", "no joining, but a block plug around each walk" },
	{ "plugged", "batch=on+plug=on", "batched, and a block plug around each walk" },
	{ "memcg-1", "walk=1+store_walk=1",
	  "one entry a shrink call (Linux up to 7.2): the baseline of the July 2026 study" },
	{ "memcg-batch", "walk=32+store_walk=32",
	  "up to 32 entries a shrink call, as merged in Linux 7.3" },
	{ "shrink-off", "shrink_enabled=0+accept=100",
	  "a full pool only rejects, and takes stores again as soon as it is below its limit" },
	{ "hysteresis", "shrink_enabled=0+accept=90",
	  "a full pool does not shrink, and rejects everything until it has drained to 90%" },
	{ "vswap", "batch=on+slots=vswap",
	  "batched, and the disk slot is chosen at the write, as a virtual swap layer would" },
	{ "sorted", "batch=on+order=sorted",
	  "batched, and each walk writes its pages in the order of their slots (no kernel does)" },
	{ "linux-6.1",
	  "direct_batch=off+evict=pool+zpool=zbud+load=keep+large=reject+incompressible=reject+"
	  "zero=zswap+shrinker=off+second_chance=off",
	  "zbud evicts its oldest page, one each time a store finds the pool over its limit" },
	{ "linux-6.12",
	  "direct_batch=off+walk=1+store_walk=1+large=reject+incompressible=reject+zero=swap",
	  "one entry a shrink call; large folios and pages that do not compress go to the disk" },
	{ "linux-7.3",
	  "direct_batch=on+walk=32+store_walk=32+large=store+incompressible=store+zero=swap",
	  "up to 32 entries a shrink call; large folios page by page, any page is stored" },
	{ "as-recorded",
	  "direct_batch=recorded+walk=recorded+store_walk=recorded+evict=recorded+zpool=recorded+"
	  "load=recorded",
	  "the kernel that made the recording, with its settings" },
	{ NULL, NULL, NULL },
};

/* Of what differs between kernels and a policy may leave to the recorded one. An unknown kernel is taken for
 * the last. */
static const struct {
	uint32_t before; /* 100 * major + minor */
	int32_t walk, direct_batch;
	enum sim_evict evict;
	enum sim_load load;
} kernels[] = {
	{ SIM_KERNEL_EVICTS, 1, 1, SIM_EVICT_POOL, SIM_LOAD_KEEP },
	{ SIM_KERNEL_EXCLUSIVE, 1, 1, SIM_EVICT_LRU, SIM_LOAD_KEEP },
	{ 703, 1, 1, SIM_EVICT_LRU, SIM_LOAD_FREE },
	{ UINT32_MAX, BATCH_ON, BATCH_ON, SIM_EVICT_LRU, SIM_LOAD_FREE },
};

void sim_policy_settle(struct sim_policy *policy, const struct sim_machine *machine)
{
	uint32_t version = machine->kernel ? machine->kernel : UINT32_MAX - 1;
	int k = 0;

	while (version >= kernels[k].before)
		k++;
	if (policy->walk == SIM_RECORDED)
		policy->walk = kernels[k].walk;
	if (policy->store_walk == SIM_RECORDED)
		policy->store_walk = kernels[k].walk;
	if (policy->direct_batch == SIM_RECORDED)
		policy->direct_batch = kernels[k].direct_batch;
	if (policy->evict == SIM_RECORDED)
		policy->evict = kernels[k].evict;
	if (policy->load == SIM_RECORDED)
		policy->load = kernels[k].load;
	if (policy->zpool == SIM_RECORDED)
		policy->zpool = machine->zbud ? SIM_ZPOOL_ZBUD : SIM_ZPOOL_ZSMALLOC;
	if (policy->drive == SIM_DRIVE_DEMAND)
		return;
	/* What does not matter under recorded writebacks. */
	policy->large = policy->incompressible = policy->zero = SIM_RECORDED;
	policy->n_rules = 0;
	policy->readahead = true;
	policy->compressor = SIM_RECORDED;
}

static const char *const order_names[] = { "lru", "sorted", "cluster", NULL };
static const char *const slots_names[] = { "recorded", "vswap", NULL };
static const char *const fate_names[] = { "reject", "store", NULL };
static const char *const zero_names[] = { "swap", "zswap", NULL };
static const char *const evict_names[] = { "lru", "pool", NULL };
static const char *const zpool_names[] = { "zsmalloc", "zbud", NULL };
static const char *const load_names[] = { "free", "keep", NULL };
static const char *const sched_names[] = { "none", "mq-deadline", NULL };

enum knob_id {
	KNOB_BATCH,
	KNOB_DIRECT_BATCH,
	KNOB_PLUG,
	KNOB_WALK,
	KNOB_STORE_WALK,
	KNOB_SHRINK_ENABLED,
	KNOB_ACCEPT,
	KNOB_POOL,
	KNOB_MEM,
	KNOB_SHRINKER,
	KNOB_WORKER,
	KNOB_SECOND_CHANCE,
	KNOB_LARGE,
	KNOB_INCOMPRESSIBLE,
	KNOB_ZERO,
	KNOB_EVICT,
	KNOB_ZPOOL,
	KNOB_LOAD,
	KNOB_READAHEAD,
	KNOB_COMPRESSOR,
	KNOB_WB,
	KNOB_ZSWAP_MAX,
	KNOB_SCHED,
	KNOB_NOMERGES,
	KNOB_ORDER,
	KNOB_SLOTS,
};

/* In the order of the text form. */
static const struct sim_knob_help knobs[] = {
	[KNOB_BATCH] = { "batch", "off|on|N",
			 "folios in one swap I/O of a walk; on = 32, off = 1" },
	[KNOB_DIRECT_BATCH] = { "direct_batch", "off|on|N|recorded",
				"the same for what a task swaps out past zswap" },
	[KNOB_PLUG] = { "plug", "off|on", "a block plug around each walk" },
	[KNOB_WALK] = { "walk", "N|recorded",
			"entries looked at in one shrink call of the background worker" },
	[KNOB_STORE_WALK] = { "store_walk", "N|recorded",
			      "the same, when a store meets its cgroup's limit" },
	[KNOB_SHRINK_ENABLED] = { "shrink_enabled", "0|1",
				  "may a full pool shrink: 1 = the worker writes back, 0 = it only "
				  "rejects" },
	[KNOB_ACCEPT] = { "accept", "PCT|recorded",
			  "a pool that was full takes stores again at this part of its limit" },
	[KNOB_POOL] = { "pool", "PCT%|BYTES[K|M|G]|recorded",
			"the pool's limit: part of memory, or bytes" },
	[KNOB_MEM] = { "mem", "BYTES[K|M|G]|recorded",
		       "memory of the machine, the basis of pool=PCT%" },
	[KNOB_SHRINKER] = { "shrinker", "on|off|recorded",
			    "the memory-pressure shrinker: recorded = its scans too, unless the "
			    "limits differ" },
	[KNOB_WORKER] = { "worker", "recorded|now|N",
			  "pages a second that the background worker writes; now = all at once" },
	[KNOB_SECOND_CHANCE] = { "second_chance", "on|off",
				 "a new entry is passed over once before it is written back" },
	[KNOB_LARGE] = { "large", "reject|store|recorded",
			 "large folios: go to the disk whole, or are stored page by page" },
	[KNOB_INCOMPRESSIBLE] = { "incompressible", "reject|store|recorded",
				  "pages that do not compress: go to the disk, or are stored as "
				  "they are" },
	[KNOB_ZERO] = { "zero", "swap|zswap|recorded",
			"zero-filled pages: known by a map of the slots, or stored in zswap" },
	[KNOB_EVICT] = { "evict", "lru|pool|recorded",
			 "who writes back: zswap its oldest entries, or the allocator its oldest page "
			 "(Linux up to 6.4)" },
	[KNOB_ZPOOL] = { "zpool", "zsmalloc|zbud|recorded",
			 "the allocator, by which the pool's pages are counted" },
	[KNOB_LOAD] = { "load", "free|keep|recorded",
			"an entry that is loaded: is gone from zswap, or stays until its slot is freed" },
	[KNOB_READAHEAD] = { "readahead", "on|off",
			     "refaults of pages that nobody asked for: as recorded, or left out" },
	[KNOB_COMPRESSOR] = { "compressor", "recorded|zstd[:1|:3|:9]|lz4|lzo",
			      "lengths as another compressor would make them: an estimate, by a table "
			      "of real pages" },
	[KNOB_WB] = { "wb", "on|off[@CGROUP]",
		      "may pages of the cgroup (of all) and those below it go to the disk" },
	[KNOB_ZSWAP_MAX] = { "zswap_max", "BYTES[K|M|G]|max[@CGROUP]",
			     "compressed bytes that the cgroup (each one) may have in zswap" },
	[KNOB_SCHED] = { "sched", "none|mq-deadline",
			 "the I/O scheduler: what it merges of a plug" },
	[KNOB_NOMERGES] = { "nomerges", "0|1|2",
			    "the queue's setting: all merges, simple ones, none" },
	[KNOB_ORDER] = { "order", "lru|sorted|cluster",
			 "in which order a walk writes; cluster = with the neighbours in the "
			 "pool" },
	[KNOB_SLOTS] = { "slots", "recorded|vswap",
			 "the disk slot of a page: as recorded, or chosen at the write" },
	{ NULL, NULL, NULL },
};

const struct sim_preset *sim_presets(void)
{
	return presets;
}

const struct sim_knob_help *sim_knobs(void)
{
	return knobs;
}

/* A decimal number of at most `max` with nothing but `*end` behind it. */
static bool parse_number(const char *text, uint64_t max, const char **end, uint64_t *out)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &stop, 10);
	*end = stop;
	return !errno && *out <= max;
}

static bool parse_count(const char *text, int32_t min, int32_t max, int32_t *out)
{
	const char *end;
	uint64_t n;

	if (!parse_number(text, (uint64_t)max, &end, &n) || *end || n < (uint64_t)min)
		return false;
	*out = (int32_t)n;
	return true;
}

static bool parse_switch(const char *text, bool *out)
{
	*out = strcmp(text, "on") == 0 || strcmp(text, "1") == 0;
	return *out || strcmp(text, "off") == 0 || strcmp(text, "0") == 0;
}

/* The place of the word in a table. */
static bool parse_name(const char *text, const char *const *names, int *out)
{
	for (*out = 0; names[*out]; ++*out)
		if (strcmp(names[*out], text) == 0)
			return true;
	return false;
}

static bool parse_order(const char *text, enum sim_order *out)
{
	int at;
	bool known = parse_name(text, order_names, &at);

	*out = known ? (enum sim_order)at : SIM_ORDER_LRU;
	return known;
}

static bool parse_slots(const char *text, enum sim_slots *out)
{
	int at;
	bool known = parse_name(text, slots_names, &at);

	*out = known ? (enum sim_slots)at : SIM_SLOTS_RECORDED;
	return known;
}

static bool parse_choice(const char *text, const char *const *names, int32_t *out)
{
	int at;
	bool known = parse_name(text, names, &at);

	*out = at;
	return known;
}

static bool parse_sched(const char *text, enum sim_sched *out)
{
	int at;
	bool known = parse_name(text, sched_names, &at);

	*out = known ? (enum sim_sched)at : SIM_SCHED_NONE;
	return known;
}

static bool parse_percent(const char *text, int32_t *out)
{
	const char *end;
	uint64_t n;

	if (!parse_number(text, 100, &end, &n) || (*end && strcmp(end, "%") != 0))
		return false;
	*out = (int32_t)n;
	return true;
}

static bool parse_bytes(const char *text, int64_t *out)
{
	static const char units[] = "KMGT";
	const char *end, *unit;
	uint64_t n;
	unsigned shift = 0;

	if (!parse_number(text, INT64_MAX, &end, &n) || !n)
		return false;
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1])
			return false;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (n > (uint64_t)INT64_MAX >> shift)
		return false;
	*out = (int64_t)(n << shift);
	return true;
}

static bool parse_batch(const char *text, int32_t *out)
{
	bool on;

	if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
		return parse_count(text, 1, BATCH_MAX, out);
	if (!parse_switch(text, &on))
		return false;
	*out = on ? BATCH_ON : 1;
	return true;
}

static bool parse_pool(const char *text, struct sim_policy *policy)
{
	int32_t percent = SIM_RECORDED;
	int64_t bytes = 0;

	if (strchr(text, '%') ? !parse_percent(text, &percent) : !parse_bytes(text, &bytes))
		return false;
	policy->pool_percent = percent;
	policy->pool_bytes = bytes;
	return true;
}

static bool parse_shrinker(const char *text, int32_t *out)
{
	bool on;

	if (!parse_switch(text, &on))
		return false;
	*out = on;
	return true;
}

static bool parse_worker(const char *text, int32_t *out)
{
	*out = 0;
	return strcmp(text, "now") == 0 || parse_count(text, 1, WORKER_MAX, out);
}

/* VALUE or VALUE@CGROUP, which goes behind the rules there are. */
static bool parse_rule(char *text, struct sim_rule rule, struct sim_policy *policy)
{
	char *cgroup = strchr(text, '@');
	bool on = false;

	if (cgroup)
		*cgroup++ = '\0';
	if (cgroup && (*cgroup != '/' || strlen(cgroup) >= sizeof(rule.cgroup)))
		return false;
	if (rule.what == SIM_RULE_WB ? !parse_switch(text, &on)
				     : strcmp(text, "max") != 0 && !parse_bytes(text, &rule.value))
		return false;
	if (rule.what == SIM_RULE_WB)
		rule.value = on;
	if (cgroup)
		snprintf(rule.cgroup, sizeof(rule.cgroup), "%s", cgroup);
	policy->rules[policy->n_rules++] = rule;
	return true;
}

/* The value "recorded", where a knob has it. */
static bool set_recorded(enum knob_id knob, struct sim_policy *policy)
{
	switch (knob) {
	case KNOB_ACCEPT:
		policy->accept_percent = SIM_RECORDED;
		return true;
	case KNOB_POOL:
		policy->pool_percent = SIM_RECORDED;
		policy->pool_bytes = 0;
		return true;
	case KNOB_MEM:
		policy->mem_bytes = 0;
		return true;
	case KNOB_SHRINKER:
		policy->shrinker = SIM_RECORDED;
		return true;
	case KNOB_DIRECT_BATCH:
		policy->direct_batch = SIM_RECORDED;
		return true;
	case KNOB_WALK:
		policy->walk = SIM_RECORDED;
		return true;
	case KNOB_STORE_WALK:
		policy->store_walk = SIM_RECORDED;
		return true;
	case KNOB_WORKER:
		policy->worker = SIM_RECORDED;
		return true;
	case KNOB_LARGE:
		policy->large = SIM_RECORDED;
		return true;
	case KNOB_INCOMPRESSIBLE:
		policy->incompressible = SIM_RECORDED;
		return true;
	case KNOB_ZERO:
		policy->zero = SIM_RECORDED;
		return true;
	case KNOB_EVICT:
		policy->evict = SIM_RECORDED;
		return true;
	case KNOB_ZPOOL:
		policy->zpool = SIM_RECORDED;
		return true;
	case KNOB_LOAD:
		policy->load = SIM_RECORDED;
		return true;
	case KNOB_COMPRESSOR:
		policy->compressor = SIM_RECORDED;
		return true;
	case KNOB_SLOTS:
		policy->slots = SIM_SLOTS_RECORDED;
		return true;
	default:
		return false;
	}
}

static bool set_knob(enum knob_id knob, char *value, struct sim_policy *policy)
{
	if (strcmp(value, "recorded") == 0)
		return set_recorded(knob, policy);
	switch (knob) {
	case KNOB_BATCH:
		return parse_batch(value, &policy->batch);
	case KNOB_DIRECT_BATCH:
		return parse_batch(value, &policy->direct_batch);
	case KNOB_PLUG:
		return parse_switch(value, &policy->plug);
	case KNOB_WALK:
		return parse_count(value, 1, WALK_MAX, &policy->walk);
	case KNOB_STORE_WALK:
		return parse_count(value, 1, WALK_MAX, &policy->store_walk);
	case KNOB_SHRINK_ENABLED:
		return parse_switch(value, &policy->shrink_enabled);
	case KNOB_ACCEPT:
		return parse_percent(value, &policy->accept_percent);
	case KNOB_POOL:
		return parse_pool(value, policy);
	case KNOB_MEM:
		return parse_bytes(value, &policy->mem_bytes);
	case KNOB_SHRINKER:
		return parse_shrinker(value, &policy->shrinker);
	case KNOB_WORKER:
		return parse_worker(value, &policy->worker);
	case KNOB_SECOND_CHANCE:
		return parse_switch(value, &policy->second_chance);
	case KNOB_LARGE:
		return parse_choice(value, fate_names, &policy->large);
	case KNOB_INCOMPRESSIBLE:
		return parse_choice(value, fate_names, &policy->incompressible);
	case KNOB_ZERO:
		return parse_choice(value, zero_names, &policy->zero);
	case KNOB_EVICT:
		return parse_choice(value, evict_names, &policy->evict);
	case KNOB_ZPOOL:
		return parse_choice(value, zpool_names, &policy->zpool);
	case KNOB_LOAD:
		return parse_choice(value, load_names, &policy->load);
	case KNOB_READAHEAD:
		return parse_switch(value, &policy->readahead);
	case KNOB_COMPRESSOR:
		policy->compressor = lengths_compressor(value);
		return policy->compressor >= 0;
	case KNOB_WB:
		return parse_rule(value, (struct sim_rule){ .what = SIM_RULE_WB }, policy);
	case KNOB_ZSWAP_MAX:
		return parse_rule(
			value, (struct sim_rule){ .what = SIM_RULE_ZSWAP_MAX, .value = INT64_MAX },
			policy);
	case KNOB_SCHED:
		return parse_sched(value, &policy->sched);
	case KNOB_NOMERGES:
		return parse_count(value, 0, 2, &policy->nomerges);
	case KNOB_ORDER:
		return parse_order(value, &policy->order);
	case KNOB_SLOTS:
		return parse_slots(value, &policy->slots);
	}
	return false;
}

/* Names of a table of which a name is the first member, with ", " between. */
static void list_names(const void *table, size_t stride, char *text, size_t bytes)
{
	const char *name;
	size_t used = 0;

	text[0] = '\0';
	for (const char *row = table; (name = *(const char *const *)row); row += stride)
		if (used < bytes)
			used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
						 name);
}

static enum zr_err unknown_preset(const char *text, const char *word)
{
	char names[384];

	list_names(presets, sizeof(presets[0]), names, sizeof(names));
	return zr_fail(ZR_BAD_POLICY,
		       "policy '%s': '%s' is not a preset, with which a policy begins; there are: %s",
		       text, word, names);
}

static enum zr_err unknown_knob(const char *text, const char *name)
{
	char names[384];

	list_names(knobs, sizeof(knobs[0]), names, sizeof(names));
	return zr_fail(ZR_BAD_POLICY, "policy '%s': '%s' is not a knob; there are: %s", text, name,
		       names);
}

static bool has_room_for(const struct sim_policy *policy, int knob)
{
	return policy->n_rules < SIM_RULES_MAX || (knob != KNOB_WB && knob != KNOB_ZSWAP_MAX);
}

static enum zr_err apply_knob(const char *text, char *word, struct sim_policy *policy)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	for (int i = 0; knobs[i].name; i++) {
		if (strcmp(knobs[i].name, word) != 0)
			continue;
		if (!has_room_for(policy, i))
			return zr_fail(ZR_BAD_POLICY,
				       "policy '%s': more than %d settings of wb and zswap_max",
				       text, SIM_RULES_MAX);
		if (value && set_knob((enum knob_id)i, value, policy))
			return ZR_OK;
		return zr_fail(ZR_BAD_POLICY, "policy '%s': knob '%s' has the value '%s'; it takes %s",
			       text, word, value ? value : "", knobs[i].values);
	}
	return unknown_knob(text, word);
}

/* Copies the next '+'-separated word and moves on; false at the end. */
static bool next_word(const char **rest, char word[WORD_BYTES], bool *too_long)
{
	size_t bytes = strcspn(*rest, "+");

	if (!**rest)
		return false;
	*too_long = bytes >= WORD_BYTES;
	snprintf(word, WORD_BYTES, "%.*s", (int)(bytes < WORD_BYTES ? bytes : WORD_BYTES - 1), *rest);
	*rest += bytes;
	if (**rest)
		++*rest;
	return true;
}

static enum zr_err apply_knobs(const char *text, const char *rest, struct sim_policy *policy)
{
	char word[WORD_BYTES];
	bool too_long;
	enum zr_err err;

	while (next_word(&rest, word, &too_long)) {
		if (too_long)
			return zr_fail(ZR_BAD_POLICY, "policy '%s': the word '%s...' is too long", text,
				       word);
		err = apply_knob(text, word, policy);
		if (err)
			return err;
	}
	return ZR_OK;
}

enum zr_err sim_policy_parse(const char *text, struct sim_policy *out)
{
	const char *rest = text;
	char word[WORD_BYTES];
	bool too_long = false;
	enum zr_err err;

	*out = base;
	if (strlen(text) >= sizeof(out->text))
		return zr_fail(ZR_BAD_POLICY, "policy '%.40s...' has %zu characters, the limit is %zu",
			       text, strlen(text), sizeof(out->text) - 1);
	snprintf(out->text, sizeof(out->text), "%s", text);
	if (!next_word(&rest, word, &too_long))
		return unknown_preset(text, "");
	for (const struct sim_preset *preset = presets; preset->name; preset++) {
		if (strcmp(preset->name, word) != 0)
			continue;
		err = apply_knobs(text, preset->knobs, out);
		return err ? err : apply_knobs(text, rest, out);
	}
	return unknown_preset(text, word);
}

static void recorded_or(char *text, size_t bytes, int32_t value, const char *unit)
{
	if (value == SIM_RECORDED)
		snprintf(text, bytes, "recorded");
	else
		snprintf(text, bytes, "%d%s", value, unit);
}

static void choice_or(char *text, size_t bytes, int32_t value, const char *const *names)
{
	snprintf(text, bytes, "%s", value == SIM_RECORDED ? "recorded" : names[value]);
}

/* "+wb=off@/job" and so on. */
static void rules_to_text(const struct sim_policy *policy, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < policy->n_rules && used < bytes; i++) {
		const struct sim_rule *rule = &policy->rules[i];
		char value[24] = "max";

		if (rule->what == SIM_RULE_WB)
			snprintf(value, sizeof(value), "%s", rule->value ? "on" : "off");
		else if (rule->value != INT64_MAX)
			snprintf(value, sizeof(value), "%lld", (long long)rule->value);
		used += (size_t)snprintf(text + used, bytes - used, "+%s=%s%s%s",
					 rule->what == SIM_RULE_WB ? "wb" : "zswap_max", value,
					 rule->cgroup[0] ? "@" : "", rule->cgroup);
	}
}

static void limits_to_text(const struct sim_policy *policy, char *text, size_t bytes)
{
	char accept[16], pool[32], mem[32] = "recorded";

	recorded_or(accept, sizeof(accept), policy->accept_percent, "");
	recorded_or(pool, sizeof(pool), policy->pool_percent, "%");
	if (policy->pool_bytes)
		snprintf(pool, sizeof(pool), "%lld", (long long)policy->pool_bytes);
	if (policy->mem_bytes)
		snprintf(mem, sizeof(mem), "%lld", (long long)policy->mem_bytes);
	snprintf(text, bytes, "accept=%s+pool=%s+mem=%s", accept, pool, mem);
}

static void shrinking_to_text(const struct sim_policy *policy, char *text, size_t bytes)
{
	char walk[16], store_walk[16], worker[16] = "now";
	const char *shrinker = policy->shrinker == SIM_RECORDED ? "recorded"
			       : policy->shrinker		? "on"
								: "off";

	recorded_or(walk, sizeof(walk), policy->walk, "");
	recorded_or(store_walk, sizeof(store_walk), policy->store_walk, "");
	if (policy->worker)
		recorded_or(worker, sizeof(worker), policy->worker, "");
	snprintf(text, bytes,
		 "walk=%s+store_walk=%s+shrink_enabled=%d+shrinker=%s+worker=%s+second_chance=%s",
		 walk, store_walk, policy->shrink_enabled, shrinker, worker,
		 policy->second_chance ? "on" : "off");
}

static void intake_to_text(const struct sim_policy *policy, char *text, size_t bytes)
{
	char large[16], incompressible[16], zero[16], evict[16], zpool[16], load[16];

	choice_or(large, sizeof(large), policy->large, fate_names);
	choice_or(incompressible, sizeof(incompressible), policy->incompressible, fate_names);
	choice_or(zero, sizeof(zero), policy->zero, zero_names);
	choice_or(evict, sizeof(evict), policy->evict, evict_names);
	choice_or(zpool, sizeof(zpool), policy->zpool, zpool_names);
	choice_or(load, sizeof(load), policy->load, load_names);
	snprintf(text, bytes,
		 "large=%s+incompressible=%s+zero=%s+evict=%s+zpool=%s+load=%s+readahead=%s+compressor=%s",
		 large, incompressible, zero, evict, zpool, load, policy->readahead ? "on" : "off",
		 policy->compressor == SIM_RECORDED ? "recorded" : lengths_name(policy->compressor));
}

void sim_policy_to_text(const struct sim_policy *policy, char *text, size_t bytes)
{
	char direct[16], limits[96], shrinking[160], intake[192], rules[512];

	limits_to_text(policy, limits, sizeof(limits));
	shrinking_to_text(policy, shrinking, sizeof(shrinking));
	intake_to_text(policy, intake, sizeof(intake));
	rules_to_text(policy, rules, sizeof(rules));
	recorded_or(direct, sizeof(direct), policy->direct_batch, "");
	snprintf(text, bytes,
		 "batch=%d+direct_batch=%s+plug=%s+%s+%s+%s%s+sched=%s+nomerges=%d+order=%s+slots=%"
		 "s",
		 policy->batch, direct, policy->plug ? "on" : "off", shrinking, limits, intake,
		 rules, sched_names[policy->sched], policy->nomerges, order_names[policy->order],
		 slots_names[policy->slots]);
}
