/* SPDX-License-Identifier: MIT */
/* Places in the output; see places.h. */
#include "recorder/places.h"

#include <assert.h>
#include <stdlib.h>

enum place_state { PLACE_READY, PLACE_VOID, PLACE_OPEN };

struct rec_place {
	struct db_event event;
	uint8_t state, patience;
};

static const uint64_t patience_ns[] = {
	[REC_PATIENT] = UINT64_C(30'000'000'000),
	[REC_BRIEF] = UINT64_C(200'000'000),
};

bool rec_places_init(struct rec_places *places, rec_event_fn *fn, void *arg)
{
	*places = (struct rec_places){ .fn = fn, .arg = arg };
	places->ring = calloc(REC_PLACES, sizeof(*places->ring));
	return places->ring;
}

void rec_places_fini(struct rec_places *places)
{
	free(places->ring);
	places->ring = NULL;
}

static struct rec_place *place(struct rec_places *places, uint64_t number)
{
	return &places->ring[number % REC_PLACES];
}

static void leave(struct rec_places *places)
{
	struct rec_place *head = place(places, places->head++);

	if (head->state == PLACE_OPEN && head->patience == REC_PATIENT)
		places->given_up++;
	if (head->state != PLACE_VOID && !places->err)
		places->err = places->fn(places->arg, &head->event);
}

static void drain_ready(struct rec_places *places)
{
	while (places->head < places->tail && place(places, places->head)->state != PLACE_OPEN)
		leave(places);
}

static struct rec_place *take(struct rec_places *places, const struct db_event *event)
{
	struct rec_place *taken;

	if (places->tail - places->head == REC_PLACES) {
		leave(places);
		drain_ready(places);
	}
	taken = place(places, places->tail++);
	taken->event = *event;
	return taken;
}

void rec_places_add(struct rec_places *places, const struct db_event *event)
{
	if (places->head < places->tail)
		take(places, event)->state = PLACE_READY;
	else if (!places->err) /* nothing waits: the ring's memory stays untouched */
		places->err = places->fn(places->arg, event);
}

uint64_t rec_places_open(struct rec_places *places, const struct db_event *event,
			 enum rec_patience patience)
{
	struct rec_place *taken = take(places, event);

	taken->state = PLACE_OPEN;
	taken->patience = (uint8_t)patience;
	return places->tail - 1;
}

struct db_event *rec_places_at(struct rec_places *places, uint64_t number)
{
	struct rec_place *at = place(places, number);

	if (number < places->head || number >= places->tail || at->state != PLACE_OPEN)
		return NULL;
	return &at->event;
}

static void settle(struct rec_places *places, uint64_t number, enum place_state state)
{
	if (rec_places_at(places, number))
		place(places, number)->state = (uint8_t)state;
}

void rec_places_ready(struct rec_places *places, uint64_t number)
{
	settle(places, number, PLACE_READY);
}

void rec_places_void(struct rec_places *places, uint64_t number)
{
	settle(places, number, PLACE_VOID);
}

void rec_places_drain(struct rec_places *places, uint64_t now_ns)
{
	drain_ready(places);
	while (places->head < places->tail) {
		const struct rec_place *head = place(places, places->head);

		if (now_ns < head->event.time_ns ||
		    now_ns - head->event.time_ns < patience_ns[head->patience])
			return;
		leave(places);
		drain_ready(places);
	}
}

void rec_places_flush(struct rec_places *places)
{
	while (places->head < places->tail)
		leave(places);
}
