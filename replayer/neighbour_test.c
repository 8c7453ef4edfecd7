/* SPDX-License-Identifier: MIT */
/* What a neighbour is asked for in words, and what it does to a file. */
#include "replayer/test_events.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/neighbour.h"

enum { MIB = 1024 * 1024, RANGE = NEIGHBOUR_RANGE_LEAST };

static void words_are_understood(void **state)
{
	static const struct {
		const char *text;
		struct neighbour_words want;
	} cases[] = {
		{ "randwrite", { true, false, 4096, 32, 100, 0 } },
		{ "randwrite bs=4k iodepth=32 weight=10x", { true, false, 4096, 32, 1000, 0 } },
		{ "  read,iodepth=1 , bs=128K", { false, true, 131072, 1, 100, 0 } },
		{ "write weight=0.5x rate=1.5m", { true, true, 4096, 32, 50, 1572864 } },
		{ "randread weight=3 rate=8192 bs=1m", { false, false, MIB, 32, 300, 8192 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct neighbour_words *want = &cases[i].want;
		struct neighbour_words got;

		assert_int_equal(neighbour_parse(cases[i].text, &got), ZR_OK);
		assert_true(got.write == want->write && got.sequential == want->sequential &&
			    got.block_bytes == want->block_bytes && got.depth == want->depth &&
			    got.weight == want->weight && got.rate == want->rate);
	}
}

static void words_that_do_not_do_are_named(void **state)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{ "", "begins with" },
		{ "bs=4k", "'bs=4k'" },
		{ "randwriter", "'randwriter'" },
		{ "randwrite bs=4000", "'bs=4000'" },
		{ "randwrite bs=", "'bs='" },
		{ "randwrite bs=2g", "'bs=2g'" },
		{ "randwrite iodepth=0", "'iodepth=0'" },
		{ "randwrite iodepth=1k", "'iodepth=1k'" },
		{ "randwrite iodepth=-1", "'iodepth=-1'" },
		{ "randwrite weight=1000x", "'weight=1000x'" },
		{ "randwrite weight=nan", "'weight=nan'" },
		{ "randwrite weight=1e1", "'weight=1e1'" },
		{ "randwrite rate=1", "'rate=1'" },
		{ "randwrite bs=4kk", "'bs=4kk'" },
		{ "randwrite runtime=10", "'runtime=10'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct neighbour_words got;

		assert_int_equal(neighbour_parse(cases[i].text, &got), ZR_USAGE);
		if (!strstr(zr_error_text(), cases[i].named))
			fail_msg("of '%s': %s", cases[i].text, zr_error_text());
		zr_error_clear();
	}
}

/* ---------------------------------------------------------------------------------------- at work */

struct fixture {
	char path[40];
	int fd;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	/* Memory would refuse direct I/O. */
	strcpy(f->path, "/var/tmp/zreel-XXXXXX");
	close(mkstemp(f->path));
	f->fd = open(f->path, O_RDWR | O_DIRECT);
	*state = f;
	return f->fd < 0 || ftruncate(f->fd, RANGE + 2 * MIB);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	unlink(f->path);
	free(f);
	return 0;
}

static struct neighbour *start(const struct fixture *f, const struct neighbour_words *words)
{
	struct neighbour_options options = {
		.words = words, .path = f->path, .fd = f->fd, .from = MIB, .bytes = RANGE
	};
	struct neighbour *neighbour;

	assert_int_equal(neighbour_start(&options, &neighbour), ZR_OK);
	return neighbour;
}

/* Until it has done so many; false if it fails instead. */
static bool wait_for(const struct neighbour *neighbour, uint64_t ios)
{
	while (neighbour_look(neighbour).ios < ios) {
		enum zr_err err = neighbour_check(neighbour);

		if (err == ZR_PERM || err == ZR_UNSUPPORTED) {
			print_message("skipped: %s\n", zr_error_text());
			zr_error_clear();
			return false;
		}
		assert_int_equal(err, ZR_OK);
		sched_yield();
	}
	return true;
}

static bool is_zero(int fd, off_t from, size_t bytes)
{
	char *data = NULL;
	bool zero = true;

	assert_int_equal(posix_memalign((void **)&data, 4096, bytes), 0);
	assert_int_equal(pread(fd, data, bytes, from), bytes);
	for (size_t i = 0; i < bytes && zero; i++)
		zero = data[i] == 0;
	free(data);
	return zero;
}

static void it_writes_in_its_range_alone(void **state)
{
	static const char *const texts[] = { "randwrite bs=64k iodepth=8", "write bs=64k iodepth=3" };
	const struct fixture *f = *state;

	for (size_t i = 0; i < 2; i++) {
		struct neighbour_words words;
		struct neighbour *neighbour;
		struct neighbour_counts counts;
		bool done;

		assert_int_equal(neighbour_parse(texts[i], &words), ZR_OK);
		neighbour = start(f, &words);
		/* Sequential: around its end. */
		done = wait_for(neighbour, RANGE / 65536 + 10);
		counts = neighbour_look(neighbour);
		neighbour_stop(neighbour);
		if (!done)
			skip();
		assert_true(counts.latency_ns > 0 && counts.bytes >= counts.ios * 65536);
		assert_true(is_zero(f->fd, 0, MIB));
		assert_true(is_zero(f->fd, MIB + RANGE, MIB));
		assert_false(is_zero(f->fd, MIB, RANGE));
	}
}

static void a_reader_writes_nothing(void **state)
{
	const struct fixture *f = *state;
	struct neighbour_words words;
	struct neighbour *neighbour;
	bool done;

	assert_int_equal(neighbour_parse("randread", &words), ZR_OK);
	neighbour = start(f, &words);
	done = wait_for(neighbour, 100);
	neighbour_stop(neighbour);
	if (!done)
		skip();
	assert_true(is_zero(f->fd, 0, RANGE + 2 * MIB));
}

static void it_keeps_to_its_rate(void **state)
{
	const struct fixture *f = *state;
	struct neighbour_words words;
	struct neighbour_counts first, last;
	struct neighbour *neighbour;
	bool done;

	assert_int_equal(neighbour_parse("randwrite iodepth=16 rate=400k", &words), ZR_OK);
	neighbour = start(f, &words);
	done = wait_for(neighbour, 1);
	first = neighbour_look(neighbour);
	done = done && wait_for(neighbour, 41);
	last = neighbour_look(neighbour);
	neighbour_stop(neighbour);
	if (!done)
		skip();
	/* 100 requests a second at most; less those that the first look came late for. */
	assert_true(last.time_ns - first.time_ns > (last.ios - first.ios - 5) * 10'000'000);
}

static void a_failing_file_is_told(void **state)
{
	const struct fixture *f = *state;
	struct neighbour_words words;
	struct neighbour *neighbour;
	struct fixture read_only = *f;
	enum zr_err err;

	read_only.fd = open(f->path, O_RDONLY | O_DIRECT);
	assert_int_equal(neighbour_parse("randwrite", &words), ZR_OK);
	neighbour = start(&read_only, &words);
	while (!(err = neighbour_check(neighbour)))
		sched_yield();
	assert_non_null(strstr(zr_error_text(), "the neighbour's writing to"));
	zr_error_clear();
	assert_int_equal(neighbour_look(neighbour).ios, 0);
	neighbour_stop(neighbour);
	close(read_only.fd);
}

static void a_small_range_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct neighbour_words words;
	struct neighbour_options options = {
		.words = &words, .path = f->path, .fd = f->fd, .from = MIB, .bytes = RANGE - 4096
	};
	struct neighbour *neighbour;

	assert_int_equal(neighbour_parse("randwrite", &words), ZR_OK);
	assert_int_equal(neighbour_start(&options, &neighbour), ZR_FULL);
	zr_error_clear();
	neighbour_stop(neighbour);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_understood),
		cmocka_unit_test(words_that_do_not_do_are_named),
		cmocka_unit_test_setup_teardown(it_writes_in_its_range_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reader_writes_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_keeps_to_its_rate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_failing_file_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_small_range_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
