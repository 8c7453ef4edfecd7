/* SPDX-License-Identifier: MIT */
/* The stack of curve.h. */
#include "replayer/curve.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/pages.h"

enum { FIRST_POSITIONS = 1024 };

/* LEFT: read again from the same place unless it is swapped out anew. DISK: never was in a pool. */
enum { NONE, STACK, LEFT, DISK };

/* -------------------------------------------------------------------------------------------- tree */

static void apply(struct curve_node *node, int64_t add, int64_t high)
{
	if (node->add + high > node->high)
		node->high = node->add + high;
	node->add += add;
}

static void push_down(struct curve *curve, uint32_t node)
{
	struct curve_node *at = &curve->nodes[node];

	apply(&curve->nodes[2 * node], at->add, at->high);
	apply(&curve->nodes[2 * node + 1], at->add, at->high);
	*at = (struct curve_node){ 0 };
}

/* Adds to all positions below `position`, and brings its own leaf up to date. */
static void add_below(struct curve *curve, uint32_t position, int64_t bytes)
{
	uint32_t node = 1;

	for (uint32_t half = curve->positions / 2; half; half /= 2) {
		push_down(curve, node);
		node *= 2;
		if (!(position & half))
			continue;
		apply(&curve->nodes[node], bytes, bytes);
		node++;
	}
}

static struct curve_node *leaf(struct curve *curve, uint32_t position)
{
	return &curve->nodes[curve->positions + position];
}

static bool make_tree(struct curve *curve, uint32_t positions)
{
	curve->nodes = calloc(2 * (size_t)positions, sizeof(*curve->nodes));
	curve->owners = calloc(positions, sizeof(*curve->owners));
	curve->positions = positions;
	curve->next = 0;
	return curve->nodes && curve->owners;
}

/* Renumbers what is in use. On failure the stack is empty and no_memory is set. */
static void renumber(struct curve *curve)
{
	struct curve_node *nodes = curve->nodes;
	uint32_t *owners = curve->owners;
	uint32_t used = curve->next, positions = curve->positions;
	uint32_t wanted = curve->live > positions / 2 ? 2 * positions : positions;

	for (uint32_t node = 1; node < positions; node++)
		push_down(curve, node);
	if (!make_tree(curve, wanted)) {
		curve->no_memory = true;
		used = 0;
	}
	for (uint32_t i = 0; i < used; i++) {
		if (!owners[i])
			continue;
		*leaf(curve, curve->next) = nodes[positions + i];
		curve->owners[curve->next] = owners[i];
		curve->slots[owners[i] - 1].position = curve->next++;
	}
	free(nodes);
	free(owners);
}

/* ------------------------------------------------------------------------------------------- stack */

static void push(struct curve *curve, uint32_t index)
{
	struct curve_slot *slot = &curve->slots[index];

	if (curve->next == curve->positions)
		renumber(curve);
	if (curve->no_memory)
		return;
	slot->state = STACK;
	slot->position = curve->next++;
	curve->owners[slot->position] = index + 1;
	curve->live++;
	add_below(curve, slot->position, slot->len);
	*leaf(curve, slot->position) = (struct curve_node){ slot->len, slot->len };
}

/* Takes the page off the stack, if it is there. */
static void leave(struct curve *curve, uint32_t index, uint8_t state)
{
	struct curve_slot *slot = &curve->slots[index];

	if (slot->state == STACK) {
		add_below(curve, slot->position, -(int64_t)slot->len);
		slot->distance = (uint64_t)leaf(curve, slot->position)->high;
		curve->owners[slot->position] = 0;
		curve->live--;
	}
	slot->state = state;
}

/* ------------------------------------------------------------------------------------------- events */

static uint16_t length_of(struct curve *curve, const struct db_event *event, uint32_t index,
			  uint32_t page)
{
	uint16_t *last = &curve->memcg_len[event->memcg];

	if (event->len && !page) {
		*last = event->len;
		return event->len;
	}
	if (curve->slots[index].len)
		return curve->slots[index].len;
	return *last ? *last : (uint16_t)(curve->machine.page_size / 2);
}

/* Would a pool without a limit take it? */
static bool is_storable(const struct db_event *event)
{
	unsigned outcome = db_flags_outcome(event->flags), reason = db_flags_reason(event->flags);

	return outcome == DB_OUT_STORED ||
	       ((outcome == DB_OUT_REJECTED || outcome == DB_OUT_KEPT) &&
		reason != DB_REASON_COMPRESS && reason != DB_REASON_LARGE && reason != DB_REASON_OFF);
}

static void out(struct curve *curve, const struct db_event *event, uint32_t index)
{
	bool parts_follow = db_flags_outcome(event->flags) == DB_OUT_STORED;
	uint32_t pages = event->flags & DB_F_PART || parts_follow ? 1 : 1u << event->order;
	bool rejected = db_flags_outcome(event->flags) == DB_OUT_REJECTED;

	for (uint32_t i = 0; i < pages; i++) {
		leave(curve, index + i, rejected ? DISK : NONE);
		if (!is_storable(event))
			continue;
		curve->slots[index + i].len = length_of(curve, event, index + i, i);
		push(curve, index + i);
	}
}

static void in(struct curve *curve, const struct db_event *event, uint32_t index)
{
	struct curve_slot *slot = &curve->slots[index];

	if (db_flags_outcome(event->flags) == DB_IN_ERROR || event->flags & DB_F_UNKNOWN)
		return;
	if (slot->state == STACK)
		leave(curve, index, LEFT);
	if (slot->state == LEFT)
		zr_hist_add(&curve->distances, slot->distance);
	else if (slot->state == DISK)
		curve->always++;
}

void curve_feed(struct curve *curve, const struct db_event *event)
{
	uint32_t index = curve->area_base[event->area] + event->slot;

	if (curve->no_memory)
		return;
	if (event->kind == DB_OUT)
		out(curve, event, index);
	else if (event->kind == DB_IN)
		in(curve, event, index);
	else if (event->kind == DB_FREE)
		for (uint32_t i = 0; i < db_free_slots(event->len); i++)
			leave(curve, index + i, NONE);
}

/* ------------------------------------------------------------------------------------- life, result */

enum zr_err curve_init(struct curve *curve, const struct sim_machine *machine)
{
	void *slots, *lengths;
	enum zr_err err;

	memset(curve, 0, sizeof(*curve));
	curve->machine = *machine;
	for (uint32_t area = 0; area < machine->n_areas; area++) {
		curve->area_base[area] = curve->n_slots;
		curve->n_slots += (uint32_t)machine->area_slots[area];
	}
	err = pages_new(curve->n_slots, sizeof(*curve->slots), "the slots of the curve", &slots);
	curve->slots = slots;
	if (err)
		return err;
	err = pages_new(machine->n_memcgs, sizeof(*curve->memcg_len), "the cgroups", &lengths);
	curve->memcg_len = lengths;
	if (!err && !make_tree(curve, FIRST_POSITIONS))
		err = zr_fail(ZR_NOMEM, "making room for the reuse distances: no memory");
	return err;
}

void curve_fini(struct curve *curve)
{
	pages_free(curve->slots, curve->n_slots, sizeof(*curve->slots));
	pages_free(curve->memcg_len, curve->machine.n_memcgs, sizeof(*curve->memcg_len));
	free(curve->nodes);
	free(curve->owners);
	memset(curve, 0, sizeof(*curve));
}

static_assert((int)PLAY_CURVE_POINTS > (int)ZR_HIST_BUCKETS, "a point a bucket, and one for no pool");

enum zr_err curve_finish(const struct curve *curve, struct play_explain *out)
{
	uint64_t left = curve->distances.count, low, high;

	if (curve->no_memory)
		return zr_fail(ZR_NOMEM, "measuring reuse distances of %u pages: no memory",
			       curve->positions);
	out->curve_refaults = left + curve->always;
	out->n_curve = 0;
	out->curve[out->n_curve++] = (struct play_curve_point){ 0, out->curve_refaults };
	/* A bucket's upper bound is a capacity that holds all of it and nothing of the next. */
	for (uint32_t bucket = 0; left; bucket++) {
		if (!curve->distances.bucket[bucket])
			continue;
		left -= curve->distances.bucket[bucket];
		zr_hist_bounds(bucket, &low, &high);
		out->curve[out->n_curve++] = (struct play_curve_point){ high, left + curve->always };
	}
	return ZR_OK;
}
