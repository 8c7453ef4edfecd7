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

enum { BATCH_ON = 32, BATCH_MAX = 256, WALK_MAX = 1 << 20, WORKER_MAX = 1'000'000'000, WORD_BYTES = 64 };

static const struct sim_policy base = {
	.batch = 1,
	.walk = 32,
	.store_walk = 32,
	.shrink_enabled = true,
	.accept_percent = SIM_RECORDED,
	.pool_percent = SIM_RECORDED,
	.shrinker = SIM_RECORDED,
	.worker = SIM_RECORDED,
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
	{ NULL, NULL, NULL },
};

/* Words of the design that this version does not have; refused by name instead of "unknown". */
static const char *const later_presets[] = { "linux-6.1", "linux-6.12", "linux-7.3", "as-recorded",
					     NULL };
static const char *const later_knobs[] = { "sched", "nomerges",	 "compressor", "zero", "incompressible",
					   "wb",    "zswap_max", "readahead",  NULL };

static const char *const order_names[] = { "lru", "sorted", "cluster", NULL };
static const char *const slots_names[] = { "recorded", "vswap", NULL };

enum knob_id {
	KNOB_BATCH,
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
	KNOB_ORDER,
	KNOB_SLOTS,
};

/* In the order of the text form. */
static const struct sim_knob_help knobs[] = {
	[KNOB_BATCH] = { "batch", "off|on|N", "folios in one swap I/O of a walk; on = 32, off = 1" },
	[KNOB_PLUG] = { "plug", "off|on", "a block plug around each walk" },
	[KNOB_WALK] = { "walk", "N", "entries looked at in one shrink call of the background worker" },
	[KNOB_STORE_WALK] = { "store_walk", "N", "the same, when a store meets its cgroup's limit" },
	[KNOB_SHRINK_ENABLED] = { "shrink_enabled", "0|1",
				  "may a full pool shrink: 1 = the worker writes back, 0 = it only rejects" },
	[KNOB_ACCEPT] = { "accept", "PCT|recorded",
			  "a pool that was full takes stores again at this part of its limit" },
	[KNOB_POOL] = { "pool", "PCT%|BYTES[K|M|G]|recorded",
			"the pool's limit: part of memory, or bytes" },
	[KNOB_MEM] = { "mem", "BYTES[K|M|G]|recorded",
		       "memory of the machine, the basis of pool=PCT%" },
	[KNOB_SHRINKER] = { "shrinker", "on|off|recorded",
			    "the memory-pressure shrinker: recorded = its scans too, unless the limits differ" },
	[KNOB_WORKER] = { "worker", "recorded|now|N",
			  "pages a second that the background worker writes; now = all at once" },
	[KNOB_SECOND_CHANCE] = { "second_chance", "on|off",
				 "a new entry is passed over once before it is written back" },
	[KNOB_ORDER] = { "order", "lru|sorted|cluster",
			 "in which order a walk writes; cluster = with the neighbours in the pool" },
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
	case KNOB_WORKER:
		policy->worker = SIM_RECORDED;
		return true;
	case KNOB_SLOTS:
		policy->slots = SIM_SLOTS_RECORDED;
		return true;
	default:
		return false;
	}
}

static bool set_knob(enum knob_id knob, const char *value, struct sim_policy *policy)
{
	if (strcmp(value, "recorded") == 0)
		return set_recorded(knob, policy);
	switch (knob) {
	case KNOB_BATCH:
		return parse_batch(value, &policy->batch);
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

static bool is_among(const char *const *names, const char *word)
{
	for (; *names; names++)
		if (strcmp(*names, word) == 0)
			return true;
	return false;
}

static enum zr_err unknown_preset(const char *text, const char *word)
{
	char names[256];

	list_names(presets, sizeof(presets[0]), names, sizeof(names));
	if (is_among(later_presets, word))
		return zr_fail(ZR_BAD_POLICY,
			       "policy '%s': preset '%s' is not implemented yet; there are: %s", text,
			       word, names);
	return zr_fail(ZR_BAD_POLICY,
		       "policy '%s': '%s' is not a preset, with which a policy begins; there are: %s",
		       text, word, names);
}

static enum zr_err unknown_knob(const char *text, const char *name)
{
	char names[256];

	list_names(knobs, sizeof(knobs[0]), names, sizeof(names));
	if (is_among(later_knobs, name))
		return zr_fail(ZR_BAD_POLICY,
			       "policy '%s': knob '%s' is not implemented yet; there are: %s", text,
			       name, names);
	return zr_fail(ZR_BAD_POLICY, "policy '%s': '%s' is not a knob; there are: %s", text, name,
		       names);
}

static enum zr_err apply_knob(const char *text, char *word, struct sim_policy *policy)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	for (int i = 0; knobs[i].name; i++) {
		if (strcmp(knobs[i].name, word) != 0)
			continue;
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

void sim_policy_to_text(const struct sim_policy *policy, char *text, size_t bytes)
{
	char accept[16], pool[32], mem[32] = "recorded", worker[16] = "now";
	const char *shrinker = policy->shrinker == SIM_RECORDED ? "recorded" :
			       policy->shrinker			? "on" :
								  "off";

	recorded_or(accept, sizeof(accept), policy->accept_percent, "");
	if (policy->worker)
		recorded_or(worker, sizeof(worker), policy->worker, "");
	recorded_or(pool, sizeof(pool), policy->pool_percent, "%");
	if (policy->pool_bytes)
		snprintf(pool, sizeof(pool), "%lld", (long long)policy->pool_bytes);
	if (policy->mem_bytes)
		snprintf(mem, sizeof(mem), "%lld", (long long)policy->mem_bytes);
	snprintf(text, bytes,
		 "batch=%d+plug=%s+walk=%d+store_walk=%d+shrink_enabled=%d+accept=%s+pool=%s+mem=%s+"
		 "shrinker=%s+worker=%s+second_chance=%s+order=%s+slots=%s",
		 policy->batch, policy->plug ? "on" : "off", policy->walk, policy->store_walk,
		 policy->shrink_enabled, accept, pool, mem, shrinker, worker,
		 policy->second_chance ? "on" : "off", order_names[policy->order],
		 slots_names[policy->slots]);
}
