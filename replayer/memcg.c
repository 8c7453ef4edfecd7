/* SPDX-License-Identifier: MIT */
/*
 * What a policy says of single cgroups: memory.zswap.max and memory.zswap.writeback (Linux 6.12 to 7.3).
 *
 * zswap_max is of compressed bytes, not of pool pages, and is asked of the storing memcg and all above it; the
 * shrink call that a full one leads to works on the storing memcg's own list (store.c). Writeback that is off in
 * a memcg is off in all below it: they are passed over by the worker and the shrinker, and what zswap refuses
 * of them stays in memory. Who is above whom follows from the paths.
 *
 * Cost: nothing where the policy has no zswap_max; else the depth of the tree a store, refault or free.
 */
#include "replayer/model.h"

#include <stdlib.h>
#include <string.h>

static int compare_paths(const void *a, const void *b)
{
	return strcmp((*(const struct db_memcg *const *)a)->path,
		      (*(const struct db_memcg *const *)b)->path);
}

static const struct db_memcg *find(const struct db_memcg *const *by_path, uint32_t n,
				   const char *path)
{
	const struct db_memcg key = { .path = path }, *wanted = &key;
	const struct db_memcg *const *found =
		bsearch(&wanted, by_path, n, sizeof(*by_path), compare_paths);

	return found ? *found : NULL;
}

/* The nearest cgroup above that the trace knows. */
static uint32_t parent_of(const struct db_memcg *const *by_path, uint32_t n, const char *path)
{
	const struct db_memcg *parent = NULL;
	char *above = strdup(path), *slash;

	while (above && !parent && (slash = strrchr(above, '/')) && strcmp(above, "/") != 0) {
		slash[slash == above] = '\0';
		parent = find(by_path, n, above);
	}
	free(above);
	return parent ? parent->id : SIM_NO_PARENT;
}

static enum zr_err set_parents(struct sim *sim)
{
	uint32_t n = sim->machine.n_named;
	const struct db_memcg **by_path = calloc(n + 1, sizeof(*by_path));

	if (!by_path)
		return zr_fail(ZR_NOMEM, "ordering %u cgroups: no memory", n);
	for (uint32_t i = 0; i < n; i++)
		by_path[i] = &sim->machine.memcgs[i];
	qsort(by_path, n, sizeof(*by_path), compare_paths);
	for (uint32_t i = 0; i < n; i++)
		sim->memcgs[by_path[i]->id].parent = parent_of(by_path, n, by_path[i]->path);
	free(by_path);
	return ZR_OK;
}

static bool is_root(const struct sim *sim, uint32_t id)
{
	for (uint32_t i = 0; i < sim->machine.n_named; i++)
		if (sim->machine.memcgs[i].id == id)
			return strcmp(sim->machine.memcgs[i].path, "/") == 0;
	return false;
}

static void set_one(struct sim *sim, const struct sim_rule *rule, uint32_t id)
{
	struct sim_memcg *memcg = &sim->memcgs[id];

	if (rule->what == SIM_RULE_WB)
		memcg->no_writeback = !rule->value;
	else if (!is_root(sim, id))
		memcg->max_pages = rule->value == INT64_MAX
					   ? UINT64_MAX
					   : (uint64_t)rule->value / sim->machine.page_size;
}

static enum zr_err apply(struct sim *sim, const struct sim_rule *rule)
{
	sim->limits_memcgs |= rule->what == SIM_RULE_ZSWAP_MAX;
	if (!rule->cgroup[0]) {
		for (uint32_t id = 0; id < sim->machine.n_memcgs; id++)
			set_one(sim, rule, id);
		return ZR_OK;
	}
	for (uint32_t i = 0; i < sim->machine.n_named; i++) {
		if (strcmp(sim->machine.memcgs[i].path, rule->cgroup) != 0)
			continue;
		set_one(sim, rule, sim->machine.memcgs[i].id);
		return ZR_OK;
	}
	return zr_fail(
		ZR_BAD_POLICY,
		"policy '%s': the trace has no cgroup '%s'; see which it has with: zreel info",
		sim->policy.text, rule->cgroup);
}

/* What is off above is off below. */
static void inherit(struct sim *sim)
{
	for (uint32_t id = 0; id < sim->machine.n_memcgs; id++) {
		bool off = false;

		for (uint32_t at = id; at != SIM_NO_PARENT && !off; at = sim->memcgs[at].parent)
			off = sim->memcgs[at].no_writeback;
		sim->memcgs[id].no_writeback = off;
	}
}

enum zr_err sim_memcgs_init(struct sim *sim)
{
	const uint8_t *no_writeback = sim->machine.learnt.no_writeback;
	enum zr_err err = ZR_OK;

	for (uint32_t id = 0; id < sim->machine.n_memcgs; id++) {
		sim->memcgs[id].parent = SIM_NO_PARENT;
		sim->memcgs[id].max_pages = UINT64_MAX;
		sim->memcgs[id].no_writeback = no_writeback && no_writeback[id];
	}
	if (!sim->policy.n_rules)
		return ZR_OK;
	err = set_parents(sim);
	for (uint32_t i = 0; i < sim->policy.n_rules && !err; i++)
		err = apply(sim, &sim->policy.rules[i]);
	inherit(sim);
	return err;
}

bool sim_memcg_may_store(const struct sim *sim, uint16_t memcg)
{
	for (uint32_t id = memcg; id != SIM_NO_PARENT; id = sim->memcgs[id].parent) {
		const struct sim_memcg *it = &sim->memcgs[id];

		if (it->max_pages != UINT64_MAX &&
		    it->tree_bytes / sim->machine.page_size >= it->max_pages)
			return false;
	}
	return true;
}
