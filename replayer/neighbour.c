/* SPDX-License-Identifier: MIT */
/* See neighbour.h. */
#include "replayer/neighbour.h"

#include <errno.h>
#include <liburing.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"

enum {
	PAGE = 4096,
	MOST_BLOCK = 1024 * 1024,
	MOST_DEPTH = 256,
	MOST_WEIGHT = 10000,
	LOOK_EVERY_NS = 50'000'000, /* for the word to stop */
};


/* ------------------------------------------------------------------------------------------- words */

struct word {
	const char *text;
	size_t bytes;
};

/* The next word of *at, which moves behind it; bytes 0 at the end. */
static struct word next_word(const char **at)
{
	struct word word;

	*at += strspn(*at, " ,");
	word = (struct word){ *at, strcspn(*at, " ,") };
	*at += word.bytes;
	return word;
}

static enum zr_err bad_word(const struct word *word, const char *what)
{
	return zr_fail(ZR_USAGE, "--neighbour: '%.*s' does not do; %s", (int)(word->bytes < 60 ? word->bytes : 60),
		       word->text, what);
}

static bool set_pattern(const struct word *word, struct neighbour_words *out)
{
	static const struct {
		const char *name;
		bool write, sequential;
	} patterns[] = { { "randwrite", true, false }, { "write", true, true }, { "randread", false, false },
			 { "read", false, true } };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (strlen(patterns[i].name) != word->bytes ||
		    strncmp(patterns[i].name, word->text, word->bytes) != 0)
			continue;
		out->write = patterns[i].write;
		out->sequential = patterns[i].sequential;
		return true;
	}
	return false;
}

/* Digits, and one of the letters in `units` (k, m, g are powers of 1024, x is 1). False if it is not that. */
static bool read_number(const struct word *word, size_t from, const char *units, double *out)
{
	static const struct {
		char letter;
		double times;
	} scales[] = { { 'k', 0x1p10 }, { 'm', 0x1p20 }, { 'g', 0x1p30 }, { 'x', 1 } };
	char text[32], *end;

	if (word->bytes <= from || word->bytes - from >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(word->bytes - from), word->text + from);
	if (text[strspn(text, "0123456789.")] && strspn(text, "0123456789.") + 1 != strlen(text))
		return false;
	*out = strtod(text, &end);
	if (end == text)
		return false;
	for (size_t i = 0; *end && i < sizeof(scales) / sizeof(scales[0]); i++) {
		if ((*end | 0x20) != scales[i].letter || !strchr(units, scales[i].letter))
			continue;
		*out *= scales[i].times;
		return true;
	}
	return !*end;
}

static enum zr_err set_word(const struct word *word, struct neighbour_words *out)
{
	static const struct {
		const char *name, *units, *what;
		double least, most;
	} words[] = {
		{ "bs=", "kmg", "a block is 4k to 1m, in steps of 4k", PAGE, MOST_BLOCK },
		{ "iodepth=", "", "the depth is 1 to 256", 1, MOST_DEPTH },
		{ "weight=", "x", "the weight is ours times 0.01x to 100x", 0.01, 100 },
		{ "rate=", "kmg", "the rate is in bytes a second, as in 20m, and at least 4k", PAGE, 0x1p50 },
	};
	size_t i = 0;
	double value;

	while (i < 4 && strncmp(words[i].name, word->text, strlen(words[i].name)) != 0)
		i++;
	if (i == 4)
		return bad_word(word, "it takes a pattern (randwrite, write, randread, read), bs=, iodepth=, weight= "
				      "and rate=");
	if (!read_number(word, strlen(words[i].name), words[i].units, &value) || value < words[i].least ||
	    value > words[i].most || (i == 0 && (uint64_t)value % PAGE))
		return bad_word(word, words[i].what);
	if (i == 0)
		out->block_bytes = (uint32_t)value;
	else if (i == 1)
		out->depth = (uint32_t)value;
	else if (i == 2)
		out->weight = (uint32_t)(value * NEIGHBOUR_OUR_WEIGHT + 0.5);
	else
		out->rate = (uint64_t)value;
	return ZR_OK;
}

enum zr_err neighbour_parse(const char *text, struct neighbour_words *out)
{
	struct word word = next_word(&text);
	enum zr_err err = ZR_OK;

	*out = (struct neighbour_words){ .block_bytes = PAGE, .depth = 32, .weight = NEIGHBOUR_OUR_WEIGHT };
	if (!set_pattern(&word, out))
		return bad_word(&word, "it begins with randwrite, write, randread or read");
	for (word = next_word(&text); word.bytes && !err; word = next_word(&text))
		err = set_word(&word, out);
	return err;
}

/* ---------------------------------------------------------------------------------- the other process */

struct shared {
	uint64_t ios, bytes, latency_ns; /* the neighbour's to write */
	int32_t failed;			 /* errno */
	int32_t stop;			 /* ours to write */
};

struct request {
	uint64_t began_ns;
	uint32_t buffer;
	bool under_way;
};

struct worker {
	const struct neighbour_options *options;
	struct shared *shared;
	struct io_uring ring;
	unsigned char *buffers;
	struct request requests[MOST_DEPTH];
	uint64_t random, next, began_ns, given_bytes;
};

struct neighbour {
	struct shared *shared;
	pid_t pid;
	const char *path;
	bool write;
};

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static uint64_t next_offset(struct worker *worker)
{
	const struct neighbour_options *options = worker->options;
	uint64_t places = options->bytes / options->words->block_bytes;
	uint64_t place = options->words->sequential ? worker->next++ : next_random(worker);

	return options->from + place % places * options->words->block_bytes;
}

/* When the next request may go; 0 = at once. */
static uint64_t due_ns(const struct worker *worker)
{
	uint64_t rate = worker->options->words->rate;

	return rate ? worker->began_ns + (uint64_t)((double)worker->given_bytes / (double)rate * 1e9) : 0;
}

static int give(struct worker *worker, struct request *request)
{
	const struct neighbour_words *words = worker->options->words;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&worker->ring);
	void *buffer = worker->buffers + (size_t)request->buffer * words->block_bytes;
	int ret;

	if (words->write)
		io_uring_prep_write(sqe, worker->options->fd, buffer, words->block_bytes, next_offset(worker));
	else
		io_uring_prep_read(sqe, worker->options->fd, buffer, words->block_bytes, next_offset(worker));
	io_uring_sqe_set_data(sqe, request);
	request->began_ns = zr_monotonic_ns();
	request->under_way = true;
	worker->given_bytes += words->block_bytes;
	/* One at a time: what is given at once, the kernel merges. */
	do
		ret = io_uring_submit(&worker->ring);
	while (ret == -EINTR || ret == -EAGAIN || ret == -EBUSY);
	return ret < 0 ? ret : 0;
}

static int give_what_is_due(struct worker *worker)
{
	int ret = 0;

	for (uint32_t i = 0; i < worker->options->words->depth && !ret; i++)
		if (!worker->requests[i].under_way && zr_monotonic_ns() >= due_ns(worker))
			ret = give(worker, &worker->requests[i]);
	return ret;
}

static int take_one(struct worker *worker, struct io_uring_cqe *cqe)
{
	struct request *request = io_uring_cqe_get_data(cqe);
	struct shared *shared = worker->shared;
	uint32_t bytes = worker->options->words->block_bytes;
	int result = cqe->res;

	io_uring_cqe_seen(&worker->ring, cqe);
	request->under_way = false;
	if (result != (int)bytes)
		return result < 0 ? result : -ENOSPC;
	__atomic_add_fetch(&shared->ios, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shared->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shared->latency_ns, zr_monotonic_ns() - request->began_ns, __ATOMIC_RELAXED);
	return 0;
}

/* A completion, or the time for another request, or for a look at the word to stop. */
static int wait_some(struct worker *worker)
{
	uint64_t now = zr_monotonic_ns(), due = due_ns(worker), wait = LOOK_EVERY_NS;
	struct __kernel_timespec left;
	struct io_uring_cqe *cqe;
	int ret;

	if (due > now && due - now < wait)
		wait = due - now;
	left = (struct __kernel_timespec){ .tv_nsec = (long long)wait };
	ret = io_uring_wait_cqe_timeout(&worker->ring, &cqe, &left);
	if (ret == -ETIME || ret == -EINTR || ret == -EAGAIN)
		return 0;
	return ret < 0 ? ret : take_one(worker, cqe);
}

static int set_up_worker(struct worker *worker)
{
	size_t bytes = (size_t)worker->options->words->depth * worker->options->words->block_bytes;
	void *buffers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffers == MAP_FAILED)
		return -errno;
	worker->buffers = buffers;
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)buffers)[i] = next_random(worker);
	for (uint32_t i = 0; i < worker->options->words->depth; i++)
		worker->requests[i].buffer = i;
	return io_uring_queue_init(MOST_DEPTH, &worker->ring, 0);
}

static int work(struct worker *worker)
{
	int ret = set_up_worker(worker);

	worker->began_ns = zr_monotonic_ns();
	while (!ret && !__atomic_load_n(&worker->shared->stop, __ATOMIC_ACQUIRE)) {
		ret = give_what_is_due(worker);
		if (!ret)
			ret = wait_some(worker);
	}
	return ret;
}

/* The other process from its beginning to its end. Nothing here may return into the caller's program. */
static _Noreturn void be_neighbour(const struct neighbour_options *options, struct shared *shared, int start)
{
	struct worker worker = { .options = options, .shared = shared, .random = 88172645463325252 };
	char word;
	int ret;

	/* Ctrl-C is for the one who made us: it tells us to stop. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (read(start, &word, 1) != 1)
		_exit(0);
	ret = work(&worker);
	if (ret)
		__atomic_store_n(&shared->failed, -ret, __ATOMIC_RELEASE);
	_exit(ret ? 1 : 0);
}

/* ---------------------------------------------------------------------------------------- this process */

static enum zr_err fork_neighbour(struct neighbour *neighbour, const struct neighbour_options *options,
				  int start[2])
{
	struct shared *shared = neighbour->shared;
	pid_t parent = getpid();

	neighbour->pid = fork();
	if (neighbour->pid < 0) {
		neighbour->pid = 0;
		return zr_fail_errno(errno, "starting the neighbour's process");
	}
	if (neighbour->pid)
		return ZR_OK;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close(start[1]);
	free(neighbour);
	be_neighbour(options, shared, start[0]);
}

static enum zr_err start_it(struct neighbour *neighbour, const struct neighbour_options *options)
{
	int start[2];
	enum zr_err err;

	if (pipe(start))
		return zr_fail_errno(errno, "starting the neighbour's process");
	err = fork_neighbour(neighbour, options, start);
	if (!err && options->group)
		err = cgroup_put(options->group, neighbour->pid);
	if (!err && write(start[1], "", 1) != 1)
		err = zr_fail_errno(errno, "telling the neighbour to begin");
	close(start[0]);
	close(start[1]);
	return err;
}

enum zr_err neighbour_start(const struct neighbour_options *options, struct neighbour **out)
{
	struct neighbour *neighbour = calloc(1, sizeof(*neighbour));
	void *shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum zr_err err;

	*out = NULL;
	if (!neighbour || shared == MAP_FAILED) {
		free(neighbour);
		return zr_fail(ZR_NOMEM, "starting a neighbour: no memory");
	}
	neighbour->shared = shared;
	neighbour->path = options->path;
	neighbour->write = options->words->write;
	err = options->bytes < NEIGHBOUR_RANGE_LEAST ?
		      zr_fail(ZR_FULL,
			      "'%s' has %llu bytes left for the neighbour behind the swap slots; it needs %d",
			      options->path, (unsigned long long)options->bytes, NEIGHBOUR_RANGE_LEAST) :
		      start_it(neighbour, options);
	if (err) {
		neighbour_stop(neighbour);
		return err;
	}
	*out = neighbour;
	return ZR_OK;
}

struct neighbour_counts neighbour_look(const struct neighbour *neighbour)
{
	const struct shared *shared = neighbour->shared;

	return (struct neighbour_counts){ .time_ns = zr_monotonic_ns(),
					  .ios = __atomic_load_n(&shared->ios, __ATOMIC_RELAXED),
					  .bytes = __atomic_load_n(&shared->bytes, __ATOMIC_RELAXED),
					  .latency_ns = __atomic_load_n(&shared->latency_ns, __ATOMIC_RELAXED) };
}

enum zr_err neighbour_check(const struct neighbour *neighbour)
{
	int failed = __atomic_load_n(&neighbour->shared->failed, __ATOMIC_ACQUIRE);

	return failed ? zr_fail_errno(failed, "the neighbour's %s '%s'",
				      neighbour->write ? "writing to" : "reading from", neighbour->path) :
			ZR_OK;
}

void neighbour_stop(struct neighbour *neighbour)
{
	if (!neighbour)
		return;
	__atomic_store_n(&neighbour->shared->stop, 1, __ATOMIC_RELEASE);
	while (neighbour->pid && waitpid(neighbour->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(neighbour->shared, sizeof(*neighbour->shared));
	free(neighbour);
}
