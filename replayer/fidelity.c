/* SPDX-License-Identifier: MIT */
/*
 * The comparison of fidelity.h: one pass over the trace, which is fed to the model while the kernel's own results are
 * taken down.
 *
 * The longest common subsequence. For each page of the one list in turn, its places in the other, last one first; a
 * place either lengthens the longest chain that ends before it or makes an equally long one end earlier:
 *
 *   ends[i]   the first place in b at which a common subsequence of length i + 1 can end
 *
 * A page is written back a few times at most, so there are few pairs of equal places. Cost: pairs * log of the length,
 * 20 bytes a write.
 */
#include "replayer/fidelity.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/survey.h"

/* ------------------------------------------------------------------------------------------ writes */

static uint64_t page_of(uint8_t area, uint32_t slot)
{
	return (uint64_t)area << 32 | slot;
}

static enum zr_err note_write(struct fidelity_writes *writes, uint64_t page)
{
	if (writes->n == writes->room) {
		uint32_t room = writes->room ? 2 * writes->room : 1 << 16;
		uint64_t *pages = realloc(writes->pages, room * sizeof(*pages));

		if (!pages)
			return zr_fail(ZR_NOMEM, "listing written-back pages: no memory after %u",
				       writes->n);
		writes->pages = pages;
		writes->room = room;
	}
	writes->pages[writes->n++] = page;
	return ZR_OK;
}

/* The model's I/O half: only takes down what is written back. */
struct listener {
	struct sim_sink sink; /* first */
	struct fidelity_writes *writes;
	bool direct; /* of the walks that are open, the last one that began */
	enum zr_err err;
};

static void on_begin(struct sim_sink *sink, enum sim_walk kind, uint64_t time_ns)
{
	(void)time_ns;
	((struct listener *)sink)->direct = kind == SIM_WALK_DIRECT;
}

static void on_write(struct sim_sink *sink, const struct sim_write *write)
{
	struct listener *listener = (struct listener *)sink;

	if (!listener->direct && !listener->err)
		listener->err = note_write(listener->writes,
					   page_of(write->area, write->recorded_slot));
}

/* Only a direct run can be open around a walk. */
static void on_end(struct sim_sink *sink)
{
	((struct listener *)sink)->direct = true;
}

static void on_read(struct sim_sink *sink, uint64_t time_ns, uint8_t area, uint32_t slot,
		    uint16_t memcg)
{
	(void)sink, (void)time_ns, (void)area, (void)slot, (void)memcg;
}

/* ------------------------------------------------------------------------------------------ kernel */

static enum zr_err note_row(struct fidelity *out, const struct db_batch *batch, uint32_t row)
{
	unsigned outcome = db_flags_outcome(batch->flags[row]);

	switch (batch->kind[row]) {
	case DB_OUT:
		out->stored += outcome == DB_OUT_STORED;
		out->rejected += outcome == DB_OUT_REJECTED;
		break;
	case DB_IN:
		out->in_zswap += outcome == DB_IN_ZSWAP;
		out->in_disk += outcome == DB_IN_DISK;
		break;
	case DB_WORKER:
		out->wakeups++;
		break;
	case DB_SCAN:
		out->scans++;
		break;
	case DB_WB:
		if (outcome == DB_WB_WRITTEN)
			return note_write(&out->kernel,
					  page_of(batch->area[row], batch->slot[row]));
		break;
	}
	return ZR_OK;
}

static enum zr_err feed(struct db_reader *reader, uint32_t host, struct sim *sim,
			struct fidelity *out)
{
	const struct db_batch *batch;
	enum zr_err err;

	while (!(err = db_reader_next(reader, &batch)) && batch) {
		if (batch->host != host)
			continue;
		for (uint32_t row = 0; row < batch->n && !err; row++)
			err = note_row(out, batch, row);
		if (err)
			return err;
		sim_feed(sim, batch, 0, batch->n);
	}
	sim_flush(sim);
	return err;
}

static enum zr_err run(struct db *trace, const struct survey_host *host,
		       const struct sim_policy *policy, struct fidelity *out)
{
	struct listener listener = { .sink = { .walk_begin = on_begin,
					       .write = on_write,
					       .walk_end = on_end,
					       .read = on_read },
				     .writes = &out->model,
				     .direct = true };
	struct db_reader *reader;
	struct sim *sim;
	enum zr_err err = sim_new(policy, &host->machine, &listener.sink, &sim);

	if (err)
		return err;
	err = db_reader_new(trace, NULL, &reader);
	if (!err) {
		err = feed(reader, host->host, sim, out);
		db_reader_free(reader);
	}
	out->counters = *sim_counters(sim);
	sim_free(sim);
	return err ? err : listener.err;
}

enum zr_err fidelity_compare(struct db *trace, const char *policy_text, struct fidelity *out)
{
	struct zr_arena arena = { 0 };
	struct survey_host *hosts;
	struct sim_policy policy;
	enum zr_err err;
	size_t n;

	*out = (struct fidelity){ 0 };
	err = sim_policy_parse(policy_text, &policy);
	if (!err)
		err = survey_trace(trace, &arena, &hosts, &n);
	if (!err)
		err = run(trace, &hosts[0], &policy, out);
	zr_arena_fini(&arena);
	return err;
}

void fidelity_fini(struct fidelity *fidelity)
{
	free(fidelity->kernel.pages);
	free(fidelity->model.pages);
	*fidelity = (struct fidelity){ 0 };
}

/* ------------------------------------------------------------------------------------- subsequence */

struct place {
	uint64_t page;
	uint32_t at;
};

/* By page, and the places of one page from the last to the first. */
static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->page != right->page)
		return left->page < right->page ? -1 : 1;
	return (left->at < right->at) - (left->at > right->at);
}

static const struct place *first_place(const struct place *places, uint32_t n, uint64_t page)
{
	const struct place *end = places + n;

	while (n) {
		if (places[n / 2].page < page) {
			places += n / 2 + 1;
			n -= n / 2 + 1;
		} else {
			n /= 2;
		}
	}
	return places < end && places->page == page ? places : NULL;
}

/* Lets the longest chain that can come before the place end there. */
static void chain(uint32_t *ends, uint32_t *n, uint32_t place)
{
	uint32_t low = 0, high = *n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ends[middle] < place)
			low = middle + 1;
		else
			high = middle;
	}
	ends[low] = place;
	*n += low == *n;
}

enum zr_err fidelity_same_in_order(const struct fidelity_writes *a, const struct fidelity_writes *b,
				   uint32_t *out)
{
	struct place *places = calloc((size_t)b->n + 1, sizeof(*places));
	uint32_t *ends = calloc((size_t)b->n + 1, sizeof(*ends));

	*out = 0;
	if (!places || !ends) {
		free(places);
		free(ends);
		return zr_fail(ZR_NOMEM, "comparing the order of %u writes: no memory", b->n);
	}
	for (uint32_t i = 0; i < b->n; i++)
		places[i] = (struct place){ .page = b->pages[i], .at = i };
	qsort(places, b->n, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < a->n; i++) {
		const struct place *place = first_place(places, b->n, a->pages[i]);

		for (; place && place < places + b->n && place->page == a->pages[i]; place++)
			chain(ends, out, place->at);
	}
	free(places);
	free(ends);
	return ZR_OK;
}
