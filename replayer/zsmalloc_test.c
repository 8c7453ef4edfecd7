/* SPDX-License-Identifier: MIT */
/*
 * zsmalloc accounting against the published class tables of a 4 KiB machine and against a naive model: a
 * plain array of zspages, searched from one end to the other.
 */
#include "replayer/test_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/zsmalloc.h"

/* Largest payload : pages / objects of a zspage, Linux 6.12 and 7.3, chains of up to 8 pages. */
static const char table[] =
	"24:1/128 40:3/256 56:1/64 72:5/256 88:3/128 104:7/256 120:1/32 136:7/199 152:5/128 168:4/93 "
	"184:3/64 200:3/59 216:7/128 232:1/17 248:1/16 264:1/15 280:5/71 296:7/94 312:5/64 328:6/73 "
	"344:8/93 360:8/89 376:3/32 392:5/51 408:6/59 424:7/66 440:7/64 456:5/44 472:2/17 488:4/33 504:1/8 "
	"520:4/31 536:2/15 552:7/51 568:1/7 584:8/55 600:7/47 616:2/13 632:5/32 648:5/31 664:1/6 680:8/47 "
	"696:5/29 712:3/17 728:2/11 744:7/38 760:3/16 776:5/26 808:1/5 824:8/39 840:5/24 856:7/33 872:8/37 "
	"888:7/32 904:7/31 920:5/22 936:3/13 952:4/17 968:6/25 984:8/33 1016:1/4 1048:8/31 1064:5/19 "
	"1080:4/15 1096:3/11 1112:8/29 1128:5/18 1160:2/7 1176:7/24 1192:5/17 1208:3/10 1224:7/23 1240:4/13 "
	"1272:5/16 1288:7/22 1352:1/3 1416:8/23 1432:6/17 1448:5/14 1480:4/11 1496:7/19 1528:3/8 1544:8/21 "
	"1560:5/13 1576:7/18 1624:2/5 1672:7/17 1688:5/12 1704:8/19 1736:3/7 1784:7/16 1800:4/9 1848:5/11 "
	"1880:6/13 1896:7/15 1912:8/17 2040:1/2 2168:8/15 2184:7/13 2216:6/11 2264:5/9 2328:4/7 2376:7/12 "
	"2440:3/5 2504:8/13 2552:5/8 2584:7/11 2712:2/3 2856:7/10 2904:5/7 2968:8/11 3064:3/4 3176:7/9 "
	"3256:4/5 3400:5/6 3496:6/7 3576:7/8 3624:8/9 4096:1/1";

/* The same, Linux 6.1, chains of up to 4 pages. */
static const char table_of_4[] =
	"24:1/128 40:3/256 56:1/64 72:1/51 88:3/128 104:2/73 120:1/32 136:3/85 152:2/51 168:4/93 184:3/64 "
	"200:2/39 216:4/73 232:1/17 248:1/16 264:1/15 280:1/14 296:3/40 312:4/51 328:1/12 344:2/23 360:1/11 "
	"376:3/32 392:1/10 408:4/39 424:3/28 440:1/9 456:4/35 472:2/17 488:4/33 504:1/8 520:4/31 536:2/15 "
	"552:4/29 568:1/7 584:4/27 600:3/20 616:2/13 632:3/19 664:1/6 696:4/23 712:3/17 728:2/11 760:3/16 "
	"808:1/5 840:4/19 856:3/14 888:2/9 936:3/13 952:4/17 1016:1/4 1080:4/15 1096:3/11 1160:2/7 1208:3/10 "
	"1240:4/13 1352:1/3 1480:4/11 1528:3/8 1624:2/5 1736:3/7 1800:4/9 2040:1/2 2328:4/7 2440:3/5 2712:2/3 "
	"3064:3/4 3256:4/5 4096:1/1";

struct row {
	unsigned payload, pages, objects;
};

enum { ROWS = 119, ROWS_OF_4 = 69 };

static int rows_of(enum zs_chain chain)
{
	return chain == ZS_CHAIN_4 ? ROWS_OF_4 : ROWS;
}

static void read_table(struct row rows[ROWS], enum zs_chain chain)
{
	const char *at = chain == ZS_CHAIN_4 ? table_of_4 : table;

	for (int i = 0; i < rows_of(chain); i++) {
		int used;

		assert_int_equal(sscanf(at, "%u:%u/%u%n", &rows[i].payload, &rows[i].pages,
					&rows[i].objects, &used),
				 3);
		at += used;
	}
	assert_int_equal(*at, '\0');
}

static const struct row *row_for(const struct row rows[ROWS], unsigned len)
{
	int i = 0;

	while (rows[i].payload < len)
		i++;
	return &rows[i];
}

static struct zs_pool *new_pool(uint32_t page_size, enum zs_chain chain, uint32_t objects)
{
	struct zs_pool *pool = calloc(1, sizeof(*pool));

	assert_non_null(pool);
	assert_int_equal(zs_pool_init(pool, page_size, chain, objects), ZR_OK);
	return pool;
}

static void free_pool(struct zs_pool *pool)
{
	zs_pool_fini(pool);
	free(pool);
}

static void check_classes(enum zs_chain chain)
{
	struct zs_pool *pool = new_pool(4096, chain, 1);
	const struct zs_class *before = NULL;
	struct row rows[ROWS];
	int n = 0;

	read_table(rows, chain);
	for (unsigned len = 1; len <= 4096; len++) {
		const struct zs_class *class = zs_class_of(pool, len);

		assert_int_equal(class->pages, row_for(rows, len)->pages);
		assert_int_equal(class->objects, row_for(rows, len)->objects);
		n += class != before;
		before = class;
	}
	assert_int_equal(n, rows_of(chain));
	free_pool(pool);
}

static void every_payload_has_the_class_of_the_table(void **state)
{
	(void)state;
	check_classes(ZS_CHAIN_8);
	check_classes(ZS_CHAIN_4);
}

static void a_64_kib_machine_packs_every_payload(void **state)
{
	struct zs_pool *pool = new_pool(65536, ZS_CHAIN_8, 1);

	(void)state;
	for (unsigned len = 1; len <= 65535; len += 7) {
		const struct zs_class *class = zs_class_of(pool, len);
		/* A payload that leaves no room for the handle has a page, or two of three, to itself. */
		unsigned size = len + 8 <= 65536 - 256 ? len + 8 : len;

		assert_true(class->objects * size <= class->pages * 65536);
		assert_in_range(class->pages, 1, 8);
	}
	free_pool(pool);
}

static void fill_each_class(enum zs_chain chain)
{
	struct row rows[ROWS];

	read_table(rows, chain);
	for (int i = 0; i < rows_of(chain); i++) {
		struct zs_pool *pool = new_pool(4096, chain, 1000);

		for (unsigned n = 1; n <= 600; n++) {
			zs_alloc(pool, rows[i].payload);
			assert_int_equal(pool->pages,
					 (n + rows[i].objects - 1) / rows[i].objects * rows[i].pages);
		}
		free_pool(pool);
	}
}

static void a_fresh_fill_takes_whole_zspages(void **state)
{
	(void)state;
	fill_each_class(ZS_CHAIN_8);
	fill_each_class(ZS_CHAIN_4);
}

/* ------------------------------------------------------------------------------------ naive model */

enum { OBJECTS = 3000 };

struct naive_zspage {
	const struct row *class;
	unsigned in_use;
	int group;
	uint64_t joined; /* when it came to its group */
};

struct naive {
	enum zs_chain chain;
	struct row rows[ROWS];
	struct naive_zspage zspages[OBJECTS];
	uint64_t clock;
};

/* 0 for 0%, 1 for under 10%, ... 10 for under 100%, 11 for 100%. Of 6.1: 0, up to 75%, under 100%, 100%. */
static int naive_group(const struct naive *naive, const struct naive_zspage *zspage)
{
	unsigned objects = zspage->class->objects;

	if (zspage->in_use == 0)
		return 0;
	if (zspage->in_use == objects)
		return 11;
	if (naive->chain == ZS_CHAIN_4)
		return zspage->in_use > objects * 3 / 4 ? 2 : 1;
	for (int tenth = 1; tenth < 10; tenth++)
		if (zspage->in_use * 10 < (unsigned)tenth * objects)
			return tenth;
	return 10;
}

/* The one that came last of those in the same group. */
static struct naive_zspage *naive_head(struct naive *naive, const struct naive_zspage *zspage)
{
	struct naive_zspage *head = NULL;

	for (int i = 0; i < OBJECTS; i++) {
		struct naive_zspage *z = &naive->zspages[i];

		if (z != zspage && z->in_use && z->class == zspage->class && z->group == zspage->group &&
		    (!head || z->joined > head->joined))
			head = z;
	}
	return head;
}

static void naive_move(struct naive *naive, struct naive_zspage *zspage)
{
	struct naive_zspage *head;

	if (zspage->group == naive_group(naive, zspage))
		return;
	zspage->group = naive_group(naive, zspage);
	zspage->joined = ++naive->clock;
	if (naive->chain == ZS_CHAIN_8)
		return;
	head = naive_head(naive, zspage); /* which stays in front of one that is emptier */
	if (head && zspage->in_use < head->in_use)
		head->joined = ++naive->clock;
}

static int naive_alloc(struct naive *naive, unsigned len)
{
	const struct row *class = row_for(naive->rows, len);
	int best = -1;

	for (int i = 0; i < OBJECTS; i++) {
		const struct naive_zspage *z = &naive->zspages[i],
					  *b = &naive->zspages[best < 0 ? 0 : best];

		if (!z->in_use || z->class != class || z->in_use == class->objects)
			continue;
		if (best < 0 || z->group > b->group || (z->group == b->group && z->joined > b->joined))
			best = i;
	}
	if (best < 0) {
		for (best = 0; naive->zspages[best].in_use; best++)
			;
		naive->zspages[best] = (struct naive_zspage){ .class = class };
	}
	naive->zspages[best].in_use++;
	naive_move(naive, &naive->zspages[best]);
	return best;
}

static void naive_free(struct naive *naive, int zspage)
{
	naive->zspages[zspage].in_use--;
	naive_move(naive, &naive->zspages[zspage]);
}

static uint64_t naive_pages(const struct naive *naive)
{
	uint64_t pages = 0;

	for (int i = 0; i < OBJECTS; i++)
		if (naive->zspages[i].in_use)
			pages += naive->zspages[i].class->pages;
	return pages;
}

struct object {
	uint32_t real;
	int naive;
};

static void remove_random(struct zs_pool *pool, struct naive *naive, struct object *live, uint32_t *n,
			  uint64_t *random)
{
	uint32_t i = random_below(random, *n);

	zs_free(pool, live[i].real);
	naive_free(naive, live[i].naive);
	live[i] = live[--*n];
}

static void race_naive_model(enum zs_chain chain)
{
	struct naive *naive = calloc(1, sizeof(*naive));
	struct object *live = calloc(OBJECTS, sizeof(*live));
	uint32_t n = 0;
	uint64_t random = 12345;

	assert_true(naive && live);
	naive->chain = chain;
	read_table(naive->rows, chain);
	struct zs_pool *pool = new_pool(4096, chain, OBJECTS);
	for (int i = 0; i < 12000; i++) {
		/* Waves: mostly filling, then mostly draining. */
		uint32_t fill = i / 1500 % 2 ? 35 : 65;

		if (n < OBJECTS && (n == 0 || random_below(&random, 100) < fill)) {
			/* Few classes, so that they are shared; now and then any. */
			unsigned len = random_below(&random, 4) ? 300 + 400 * random_below(&random, 9) :
								  1 + random_below(&random, 4096);

			live[n++] = (struct object){ zs_alloc(pool, len), naive_alloc(naive, len) };
		} else {
			remove_random(pool, naive, live, &n, &random);
		}
		assert_int_equal(pool->pages, naive_pages(naive));
		assert_int_equal(pool->objects, n);
	}
	while (n)
		remove_random(pool, naive, live, &n, &random);
	assert_int_equal(pool->pages, 0);
	free_pool(pool);
	free(naive);
	free(live);
}

static void pages_agree_with_the_naive_model_after_random_frees(void **state)
{
	(void)state;
	race_naive_model(ZS_CHAIN_8);
	race_naive_model(ZS_CHAIN_4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_payload_has_the_class_of_the_table),
		cmocka_unit_test(a_64_kib_machine_packs_every_payload),
		cmocka_unit_test(a_fresh_fill_takes_whole_zspages),
		cmocka_unit_test(pages_agree_with_the_naive_model_after_random_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
