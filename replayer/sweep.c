/* SPDX-License-Identifier: MIT */
/*
 * Sweeping a grid of knobs: from the text of the grid to policies, and from their figures to the Pareto
 * front. What lies between is play_replay() with many policies and jobs.
 */
#include "replayer/replayer.h"

#include <stdio.h>
#include <string.h>

enum { AXES_MAX = 16, VALUES_MAX = PLAY_GRID_MAX };

struct axis {
	const char *knob; /* with what follows it, "pool=" */
	int knob_chars;
	const char *values[VALUES_MAX];
	int chars[VALUES_MAX];
	uint32_t n;
};

static enum zr_err read_axis(const char *grid, const char *text, size_t chars, struct axis *axis)
{
	const char *end = text + chars, *equals = memchr(text, '=', chars);

	axis->n = 0;
	if (!equals || equals == text || equals + 1 == end)
		return zr_fail(ZR_USAGE,
			       "grid '%s': '%.*s' is not KNOB=VALUE,VALUE; as in pool=5%%,10%%;batch=off,on",
			       grid, (int)chars, text);
	axis->knob = text;
	axis->knob_chars = (int)(equals - text);
	for (const char *value = equals + 1; value <= end;) {
		const char *comma = memchr(value, ',', (size_t)(end - value));
		const char *stop = comma ? comma : end;

		if (axis->n == VALUES_MAX)
			return zr_fail(ZR_LIMIT, "grid '%s': more than %d values of a knob", grid,
				       VALUES_MAX);
		axis->values[axis->n] = value;
		axis->chars[axis->n++] = (int)(stop - value);
		value = stop + 1;
	}
	return ZR_OK;
}

static enum zr_err read_grid(const char *grid, struct zr_arena *arena, struct axis **axes, uint32_t *n,
			     uint32_t *policies)
{
	*n = 0;
	*policies = 1;
	*axes = zr_arena_array(arena, AXES_MAX, sizeof(**axes));
	if (!*axes)
		return zr_fail(ZR_NOMEM, "reading grid '%s': no memory", grid);
	for (const char *text = grid; *text;) {
		size_t chars = strcspn(text, ";");
		enum zr_err err;

		if (*n == AXES_MAX)
			return zr_fail(ZR_LIMIT, "grid '%s': more than %d knobs", grid, AXES_MAX);
		err = read_axis(grid, text, chars, &(*axes)[*n]);
		if (err)
			return err;
		if ((*axes)[*n].n > PLAY_GRID_MAX / *policies)
			return zr_fail(ZR_LIMIT, "grid '%s': more than %d policies", grid,
				       PLAY_GRID_MAX);
		*policies *= (*axes)[(*n)++].n;
		text += chars + (text[chars] == ';');
	}
	return *n ? ZR_OK : zr_fail(ZR_USAGE, "the grid is empty; as in pool=5%%,10%%;batch=off,on");
}

/* The policy at a place of the grid: the place's digits, the last axis turning fastest. */
static enum zr_err write_policy(const char *base, const struct axis *axes, uint32_t n, uint32_t place,
				struct zr_arena *arena, const char **out)
{
	char text[512];
	uint32_t below = 1;
	size_t used;
	struct sim_policy policy;
	enum zr_err err;

	for (uint32_t i = 0; i < n; i++)
		below *= axes[i].n;
	used = (size_t)snprintf(text, sizeof(text), "%s", base);
	for (uint32_t i = 0; i < n && used < sizeof(text); i++) {
		uint32_t at;

		below /= axes[i].n;
		at = place / below % axes[i].n;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "+%.*s=%.*s",
					 axes[i].knob_chars, axes[i].knob, axes[i].chars[at],
					 axes[i].values[at]);
	}
	err = sim_policy_parse(text, &policy);
	if (err)
		return err;
	*out = zr_arena_text(arena, text);
	return *out ? ZR_OK : zr_fail(ZR_NOMEM, "writing down policy '%s': no memory", text);
}

enum zr_err play_grid(const char *base, const char *grid, struct zr_arena *arena, const char ***out,
		      uint32_t *n)
{
	struct axis *axes;
	uint32_t n_axes;
	enum zr_err err = read_grid(grid, arena, &axes, &n_axes, n);

	if (err)
		return err;
	*out = zr_arena_array(arena, *n, sizeof(**out));
	if (!*out)
		return zr_fail(ZR_NOMEM, "writing down %u policies: no memory", *n);
	for (uint32_t i = 0; i < *n && !err; i++)
		err = write_policy(base, axes, n_axes, i, arena, &(*out)[i]);
	return err;
}

/* ------------------------------------------------------------------------------------ Pareto front */

uint64_t play_figures_requests(const struct play_figures *figures)
{
	return figures->io.write_requests + figures->io.read_requests;
}

/* `a` is nowhere worse than `b` and somewhere better. */
static bool beats(const struct play_figures *a, const struct play_figures *b)
{
	uint64_t memory_a = a->counters.pool_pages_max, memory_b = b->counters.pool_pages_max;
	uint64_t io_a = play_figures_requests(a), io_b = play_figures_requests(b);

	return a->host == b->host && memory_a <= memory_b && io_a <= io_b &&
	       (memory_a < memory_b || io_a < io_b);
}

void play_mark_pareto(struct play_sweep_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		rows[i].pareto = true;
		for (size_t j = 0; j < n && rows[i].pareto; j++)
			rows[i].pareto = !beats(&rows[j].figures, &rows[i].figures);
	}
}
