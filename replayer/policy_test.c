/* SPDX-License-Identifier: MIT */
/* Policies: the words that are understood, what they mean, and what is said about the others. */
#include "replayer/test_events.h"

#include <stdio.h>
#include <string.h>

static const char *const policies_with_rules[] = {
	"unbatched+wb=off+wb=on@/a/b+zswap_max=3M@/a+zswap_max=max@/a/c",
	"linux-7.3+batch=7+sched=mq-deadline+nomerges=2+worker=now+zero=zswap",
	"linux-6.1+zpool=zsmalloc+readahead=off+compressor=zstd:9",
};

/* The text form, put over another preset, gives the policy again. */
static void check_text_form(const char *text)
{
	struct sim_policy policy = policy_of(text), other;
	char form[SIM_POLICY_TEXT_MAX], typed[sizeof(policy.text)], again[SIM_POLICY_TEXT_MAX];

	assert_string_equal(policy.text, text);
	policy.pool_percent = 17;
	policy.mem_bytes = 1 << 30;
	sim_policy_to_text(&policy, form, sizeof(form));
	assert_true(snprintf(typed, sizeof(typed), "shrink-off+%s", form) < (int)sizeof(typed));
	other = policy_of(typed);
	assert_int_equal(other.batch, policy.batch);
	assert_int_equal(other.walk, policy.walk);
	assert_int_equal(other.n_rules, policy.n_rules);
	sim_policy_to_text(&other, again, sizeof(again));
	assert_string_equal(again, form);
}

static void the_text_form_says_all_of_a_policy(void **state)
{
	(void)state;
	for (const struct sim_preset *preset = sim_presets(); preset->name; preset++)
		check_text_form(preset->name);
	for (size_t i = 0; i < sizeof(policies_with_rules) / sizeof(policies_with_rules[0]); i++)
		check_text_form(policies_with_rules[i]);
}

static void presets_mean_what_their_studies_say(void **state)
{
	struct sim_policy p;

	(void)state;
	p = policy_of("unbatched");
	assert_true(p.batch == 1 && !p.plug && p.shrink_enabled && p.second_chance && p.walk == 32);
	assert_true(p.accept_percent == SIM_RECORDED && p.pool_percent == SIM_RECORDED &&
		    p.shrinker == SIM_RECORDED && p.worker == SIM_RECORDED && !p.pool_bytes && !p.mem_bytes);
	p = policy_of("batched");
	assert_true(p.batch == 32 && !p.plug);
	p = policy_of("plug-only");
	assert_true(p.batch == 1 && p.plug);
	p = policy_of("plugged");
	assert_true(p.batch == 32 && p.plug);
	p = policy_of("memcg-1");
	assert_true(p.walk == 1 && p.store_walk == 1);
	p = policy_of("memcg-batch");
	assert_true(p.walk == 32 && p.store_walk == 32);
	p = policy_of("shrink-off");
	assert_true(!p.shrink_enabled && p.accept_percent == 100);
	p = policy_of("vswap");
	assert_true(p.batch == 32 && !p.plug && p.slots == SIM_SLOTS_VSWAP && p.order == SIM_ORDER_LRU);
	p = policy_of("sorted");
	assert_true(p.batch == 32 && p.order == SIM_ORDER_SORTED && p.slots == SIM_SLOTS_RECORDED);
	p = policy_of("linux-6.1");
	assert_true(p.evict == SIM_EVICT_POOL && p.zpool == SIM_ZPOOL_ZBUD &&
		    p.load == SIM_LOAD_KEEP && p.large == SIM_REJECT && p.zero == SIM_ZERO_ZSWAP &&
		    p.incompressible == SIM_REJECT && p.shrinker == 0 && p.batch == 1);
	p = policy_of("linux-6.12");
	assert_true(p.walk == 1 && p.store_walk == 1 && p.batch == 1 && p.large == SIM_REJECT &&
		    p.incompressible == SIM_REJECT && p.zero == SIM_ZERO_SWAP);
	p = policy_of("linux-7.3");
	assert_true(p.walk == 32 && p.store_walk == 32 && p.batch == 1 && p.large == SIM_STORE &&
		    p.incompressible == SIM_STORE && p.zero == SIM_ZERO_SWAP);
	p = policy_of("as-recorded");
	assert_true(p.walk == SIM_RECORDED && p.store_walk == SIM_RECORDED && p.batch == 1 &&
		    p.large == SIM_RECORDED && p.shrinker == SIM_RECORDED);
	p = policy_of("hysteresis");
	assert_true(!p.shrink_enabled && p.accept_percent == 90);
}

static void knobs_overwrite_from_left_to_right(void **state)
{
	struct sim_policy p = policy_of("batched+batch=8+batch=off+pool=10%+pool=3G+accept=50%+mem=2T");

	(void)state;
	assert_int_equal(p.batch, 1);
	assert_int_equal(p.pool_percent, SIM_RECORDED);
	assert_int_equal(p.pool_bytes, 3ll << 30);
	assert_int_equal(p.accept_percent, 50);
	assert_int_equal(p.mem_bytes, 2ll << 40);
	p = policy_of("unbatched+worker=now");
	assert_int_equal(p.worker, 0);
	p = policy_of("unbatched+worker=now+worker=25000");
	assert_int_equal(p.worker, 25000);
	p = policy_of("unbatched+worker=9+worker=recorded");
	assert_int_equal(p.worker, SIM_RECORDED);
	p = policy_of("plugged+pool=1G+pool=recorded+shrinker=off+shrinker=recorded+second_chance=off");
	assert_int_equal(p.pool_bytes, 0);
	assert_int_equal(p.shrinker, SIM_RECORDED);
	assert_false(p.second_chance);
}

static void what_is_left_to_the_recorded_kernel_is_as_in_it(void **state)
{
	static const struct {
		uint32_t kernel;
		int32_t walk, direct_batch, evict, load;
	} cases[] = { { 601, 1, 1, SIM_EVICT_POOL, SIM_LOAD_KEEP },
		      { 608, 1, 1, SIM_EVICT_LRU, SIM_LOAD_KEEP },
		      { 612, 1, 1, SIM_EVICT_LRU, SIM_LOAD_FREE },
		      { 702, 1, 1, SIM_EVICT_LRU, SIM_LOAD_FREE },
		      { 703, 32, 32, SIM_EVICT_LRU, SIM_LOAD_FREE },
		      { 0, 32, 32, SIM_EVICT_LRU, SIM_LOAD_FREE } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_machine machine = { .kernel = cases[i].kernel, .zbud = i & 1 };
		struct sim_policy p = policy_of("as-recorded+store_walk=5");

		sim_policy_settle(&p, &machine);
		assert_int_equal(p.walk, cases[i].walk);
		assert_int_equal(p.store_walk, 5);
		assert_int_equal(p.direct_batch, cases[i].direct_batch);
		assert_int_equal(p.evict, cases[i].evict);
		assert_int_equal(p.load, cases[i].load);
		assert_int_equal(p.zpool, i & 1 ? SIM_ZPOOL_ZBUD : SIM_ZPOOL_ZSMALLOC);
	}
}

static void bad_words_are_named_with_what_there_is(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "begins" },
		{ "nosuch", "'nosuch' is not a preset" },
		{ "batch=on", "is not a preset" },
		{ "batched+nosuch=1", "'nosuch' is not a knob" },
		{ "batched+", NULL },
		{ "batched+batch", "off|on|N" },
		{ "batched+batch=", "off|on|N" },
		{ "batched+batch=0", "off|on|N" },
		{ "batched+batch=257", "off|on|N" },
		{ "batched+batch=-1", "off|on|N" },
		{ "batched+batch=8x", "off|on|N" },
		{ "batched+plug=maybe", "off|on" },
		{ "batched+plug=recorded", "off|on" },
		{ "batched+walk=0", "knob 'walk'" },
		{ "batched+walk=99999999999999999999", "knob 'walk'" },
		{ "batched+accept=101", "PCT" },
		{ "batched+accept=-1", "PCT" },
		{ "batched+pool=101%", "PCT%" },
		{ "batched+pool=0", "PCT%" },
		{ "batched+pool=1Q", "PCT%" },
		{ "batched+pool=1KK", "PCT%" },
		{ "batched+pool=9000000000G", "PCT%" },
		{ "batched+compressor=zstd:4", "recorded|zstd" },
		{ "batched+readahead=maybe", "on|off" },
		{ "batched+zpool=z3fold", "zsmalloc|zbud" },
		{ "batched+sched=cfq", "none|mq-deadline" },
		{ "batched+nomerges=3", "0|1|2" },
		{ "batched+wb=off@job", "on|off[@CGROUP]" },
		{ "batched+wb=maybe@/job", "on|off[@CGROUP]" },
		{ "batched+zswap_max=1Q", "max[@CGROUP]" },
		{ "batched+wb=on+wb=on+wb=on+wb=on+wb=on+wb=on+wb=on", "more than 6 settings" },
		{ "batched+large=maybe", "reject|store" },
		{ "batched+slots=nosuch", "recorded|vswap" },
		{ "batched+order=recorded", "lru|sorted|cluster" },
		{ "batched+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "too long" },
	};
	struct sim_policy policy;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum zr_err err = sim_policy_parse(bad[i].text, &policy);

		assert_int_equal(err, bad[i].says ? ZR_BAD_POLICY : ZR_OK);
		if (bad[i].says && !strstr(zr_error_text(), bad[i].says))
			fail_msg("'%s' gives: %s", bad[i].text, zr_error_text());
		zr_error_clear();
	}
}

static void a_policy_that_is_too_long_is_refused(void **state)
{
	struct sim_policy policy;
	char text[sizeof(policy.text) + 1];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(sim_policy_parse(text, &policy), ZR_BAD_POLICY);
	zr_error_clear();
}

static void every_knob_of_the_table_is_understood(void **state)
{
	(void)state;
	for (const struct sim_knob_help *knob = sim_knobs(); knob->name; knob++) {
		struct sim_policy policy;
		char text[64];

		assert_true(knob->values[0] && knob->help[0]);
		snprintf(text, sizeof(text), "unbatched+%s=50%s", knob->name,
			 strcmp(knob->name, "pool") == 0 ? "%" : "");
		if (sim_policy_parse(text, &policy) != ZR_OK) {
			zr_error_clear(); /* a switch */
			snprintf(text, sizeof(text), "unbatched+%s=1", knob->name);
			if (sim_policy_parse(text, &policy) == ZR_OK)
				continue;
			zr_error_clear(); /* names: the first of them */
			snprintf(text, sizeof(text), "unbatched+%s=%.*s", knob->name,
				 (int)strcspn(knob->values, "|"), knob->values);
			assert_int_equal(sim_policy_parse(text, &policy), ZR_OK);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_form_says_all_of_a_policy),
		cmocka_unit_test(presets_mean_what_their_studies_say),
		cmocka_unit_test(knobs_overwrite_from_left_to_right),
		cmocka_unit_test(what_is_left_to_the_recorded_kernel_is_as_in_it),
		cmocka_unit_test(bad_words_are_named_with_what_there_is),
		cmocka_unit_test(a_policy_that_is_too_long_is_refused),
		cmocka_unit_test(every_knob_of_the_table_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
