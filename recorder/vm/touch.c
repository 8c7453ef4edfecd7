/*
 * touch - the random-touch workload: a few processes, each touching the pages of a working set at random.
 *
 * What it is for: swap traffic whose make-up is chosen and known. Run it in a cgroup smaller than all the working sets
 * together. Everything but the kernel's timing follows from the seed: which page is touched when, whether it is read or
 * written, and what lies in it.
 *
 * The idea: each process maps --size MiB and fills it, then picks a page again and again. A hot part at the start of the
 * map (--hot-size of it) gets --hot-share of the picks, the cold rest gets the others; a pick touches --run consecutive
 * pages. A page is one of three kinds, decided by a hash of its number and the seed: zero, incompressible, or mixed. A
 * mixed page is random bytes followed by one repeated word, so it compresses to about its random part, which varies evenly
 * between 0 and twice --random, page by page. A write changes one word and keeps the kind.
 *
 * Frees: every --free-every picks, --free-pages consecutive pages are given back to the kernel (MADV_DONTNEED), swap slots
 * included; when picked again they are filled afresh. --generations splits the job: each process exits after its part,
 * which frees all its slots at once, and the next one starts over with an empty map.
 *
 * Invariant: the second word of a page that is not a zero page holds its number mixed with the seed. Each touch checks it;
 * a mismatch means that the swap path lost or swapped a page, and the program fails.
 *
 * Reclaim: every --reclaim-every picks the process asks for --reclaim MiB of its own cgroup (memory.reclaim), as the agents
 * do that keep the memory of jobs small, but at a point of the work instead of the clock.
 *
 * A page of a live map costs one bit here (filled or not); nothing else grows with the working set.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	WORDS = PAGE / 8,
	MAX_PROCESSES = 64,
	FIXED_WORDS = 2,	/* a counter of writes, and the check word */
};

struct options {
	uint64_t processes;
	uint64_t size_mib;
	uint64_t touches;	/* of all processes together; 0: until the time is up */
	uint64_t seconds;	/* 0: until the touches are done */
	uint64_t hot_share;	/* the following are percent */
	uint64_t hot_size;
	uint64_t write;
	uint64_t random;
	uint64_t zero;
	uint64_t incompressible;
	uint64_t run;
	uint64_t free_every;	/* 0: never */
	uint64_t free_pages;
	uint64_t reclaim_every;	/* 0: never */
	uint64_t reclaim_mib;
	uint64_t generations;
	uint64_t seed;
};

/* What the processes report: in a shared map, one of these for each. */
struct tally {
	uint64_t touches;
	uint64_t fills;
	uint64_t freed;
	uint64_t errors;
};

struct job {
	const struct options *opt;
	struct tally *tally;
	uint64_t pages;
	uint64_t hot_pages;
	uint64_t *map;		/* pages * WORDS */
	uint8_t *filled;	/* one bit a page */
	uint64_t key;		/* the seed of this process's pages */
	uint64_t rng;
	int reclaim;		/* memory.reclaim of the own cgroup; -1: not wanted */
};

/* A finaliser with good avalanche: (x ^ x >> 30) * odd, twice over. It makes a hash of a counter. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

/* Even enough for our ranges: the high half scaled, without a division. */
static uint64_t below(uint64_t *state, uint64_t limit)
{
	return ((next(state) >> 32) * limit) >> 32;
}

static bool percent(uint64_t *state, uint64_t share)
{
	return below(state, 100) < share;
}

static uint64_t check_word(const struct job *job, uint64_t page)
{
	return mix(job->key ^ page) | 1;
}

/* How many words of a page are random: 0 for a zero page, all but the fixed ones for an incompressible page. */
static uint64_t random_words(const struct job *job, uint64_t page, bool *zero)
{
	uint64_t h = mix(job->key + page * 3);
	uint64_t kind = h % 100;
	uint64_t most = WORDS - FIXED_WORDS;
	uint64_t words;

	*zero = kind < job->opt->zero;
	if (*zero)
		return 0;
	if (kind < job->opt->zero + job->opt->incompressible)
		return most;
	words = ((h >> 32) % (2 * job->opt->random + 1)) * most / 100;
	return words < most ? words : most;
}

static void fill(struct job *job, uint64_t page)
{
	uint64_t *words = job->map + page * WORDS;
	uint64_t state = check_word(job, page);
	uint64_t random, pattern;
	bool zero;

	random = random_words(job, page, &zero);
	if (zero) {
		memset(words, 0, PAGE);
		return;
	}
	words[0] = 1;
	words[1] = state;
	pattern = (state >> 8 & 0xff) * 0x0101010101010101;
	for (uint64_t i = FIXED_WORDS; i < FIXED_WORDS + random; i++)
		words[i] = next(&state);
	for (uint64_t i = FIXED_WORDS + random; i < WORDS; i++)
		words[i] = pattern;
}

static void touch(struct job *job, uint64_t page)
{
	volatile uint64_t *words = job->map + page * WORDS;
	uint8_t bit = (uint8_t)(1 << (page & 7));

	job->tally->touches++;
	if (!(job->filled[page >> 3] & bit)) {
		fill(job, page);
		job->filled[page >> 3] |= bit;
		job->tally->fills++;
		return;
	}
	/* A zero page has no check word, so that it stays all zero. */
	if (words[1] != 0 && words[1] != check_word(job, page))
		job->tally->errors++;
	if (percent(&job->rng, job->opt->write))
		words[0] = words[1] == 0 ? 0 : words[0] + 1;
}

static void give_back(struct job *job)
{
	uint64_t count = job->opt->free_pages < job->pages ? job->opt->free_pages : job->pages;
	uint64_t first = below(&job->rng, job->pages - count + 1);

	if (madvise(job->map + first * WORDS, count * PAGE, MADV_DONTNEED) < 0) {
		fprintf(stderr, "touch: giving back %" PRIu64 " pages: %s\n", count, strerror(errno));
		job->tally->errors++;
		return;
	}
	for (uint64_t page = first; page < first + count; page++)
		job->filled[page >> 3] &= (uint8_t)~(1 << (page & 7));
	job->tally->freed += count;
}

/* The own cgroup's memory.reclaim, or -1. In cgroup v2 the one line of /proc/self/cgroup is "0::" and the path. */
static int open_reclaim(void)
{
	char path[512], group[384] = "";
	FILE *file = fopen("/proc/self/cgroup", "re");
	int found = file ? fscanf(file, "0::%383s", group) : 0;
	int fd = -1;

	if (file)
		fclose(file);
	if (found == 1) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.reclaim", group);
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0)
		fprintf(stderr, "touch: --reclaim-every: memory.reclaim of the cgroup '%s' cannot be written (%s); run it in a \
cgroup of version 2 other than the root\n",
			group, strerror(errno));
	return fd;
}

/* That the kernel cannot take all of it (EAGAIN) is as good. */
static void ask_for_reclaim(struct job *job)
{
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%" PRIu64 "M", job->opt->reclaim_mib);

	if (write(job->reclaim, text, (size_t)bytes) < 0 && errno != EAGAIN && errno != EINTR) {
		fprintf(stderr, "touch: asking for a reclaim of %s: %s\n", text, strerror(errno));
		job->tally->errors++;
	}
}

static uint64_t pick(struct job *job)
{
	if (job->hot_pages && percent(&job->rng, job->opt->hot_share))
		return below(&job->rng, job->hot_pages);
	return job->hot_pages + below(&job->rng, job->pages - job->hot_pages);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/*
 * One generation of one process. Touches until its share is done or the time is up, whichever comes first.
 * Returns false if the map could not be made.
 */
static bool work(const struct options *opt, struct tally *tally, uint64_t process, uint64_t generation)
{
	struct job job = {.opt = opt, .tally = tally, .reclaim = -1};
	uint64_t share = opt->touches / opt->processes / opt->generations;
	double deadline = now_s() + (double)opt->seconds / (double)opt->generations;

	job.pages = opt->size_mib * (1048576 / PAGE);
	job.hot_pages = job.pages * opt->hot_size / 100;
	job.key = mix(opt->seed + process * 1000 + generation);
	job.rng = mix(job.key) | 1;
	job.map = mmap(NULL, job.pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	job.filled = calloc(job.pages / 8 + 1, 1);
	if (job.map == MAP_FAILED || !job.filled) {
		fprintf(stderr, "touch: mapping %" PRIu64 " MiB: %s; try a smaller --size\n", opt->size_mib, strerror(errno));
		free(job.filled);
		return false;
	}
	if (opt->reclaim_every && (job.reclaim = open_reclaim()) < 0) {
		munmap(job.map, job.pages * PAGE);
		free(job.filled);
		return false;
	}

	/* The whole working set first, in order, as a program does that reads its data in. */
	for (uint64_t page = 0; page < job.pages; page++)
		touch(&job, page);
	for (uint64_t picks = 1, done = job.pages; opt->touches == 0 || done < share; picks++, done += opt->run) {
		uint64_t page = pick(&job);

		for (uint64_t i = 0; i < opt->run && page + i < job.pages; i++)
			touch(&job, page + i);
		if (opt->free_every && picks % opt->free_every == 0)
			give_back(&job);
		if (opt->reclaim_every && picks % opt->reclaim_every == 0)
			ask_for_reclaim(&job);
		if (opt->seconds && picks % 64 == 0 && now_s() >= deadline)
			break;
	}
	if (job.reclaim >= 0)
		close(job.reclaim);
	munmap(job.map, job.pages * PAGE);
	free(job.filled);
	return true;
}

/* Runs all generations of one process, each in a child of its own, one after the other. */
static int run_process(const struct options *opt, struct tally *tally, uint64_t process)
{
	for (uint64_t generation = 0; generation < opt->generations; generation++) {
		pid_t pid = fork();
		int status;

		if (pid < 0) {
			fprintf(stderr, "touch: starting process %" PRIu64 ": %s\n", process, strerror(errno));
			return 1;
		}
		if (pid == 0)
			_exit(work(opt, tally, process, generation) ? 0 : 1);
		if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
			fprintf(stderr, "touch: process %" PRIu64 " did not end well (%s %d)\n", process,
				WIFSIGNALED(status) ? "killed by signal" : "exit status",
				WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			return 1;
		}
	}
	return 0;
}

static int run_all(const struct options *opt)
{
	size_t bytes = opt->processes * sizeof(struct tally);
	struct tally *tallies = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tally sum = {0};
	double start = now_s();
	int failed = 0;

	if (tallies == MAP_FAILED) {
		fprintf(stderr, "touch: mapping %zu bytes for the counts: %s\n", bytes, strerror(errno));
		return 1;
	}
	for (uint64_t process = 0; process < opt->processes; process++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(run_process(opt, &tallies[process], process));
		if (pid < 0) {
			fprintf(stderr, "touch: starting process %" PRIu64 ": %s\n", process, strerror(errno));
			failed = 1;
		}
	}
	for (int status; wait(&status) > 0;)
		failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	for (uint64_t process = 0; process < opt->processes; process++) {
		sum.touches += tallies[process].touches;
		sum.fills += tallies[process].fills;
		sum.freed += tallies[process].freed;
		sum.errors += tallies[process].errors;
	}
	printf("touches=%" PRIu64 "\nfills=%" PRIu64 "\nfreed_pages=%" PRIu64 "\nerrors=%" PRIu64 "\nseconds=%.2f\n",
	       sum.touches, sum.fills, sum.freed, sum.errors, now_s() - start);
	if (sum.errors)
		fprintf(stderr, "touch: %" PRIu64 " touches found a page that is not what was written there\n", sum.errors);
	munmap(tallies, bytes);
	return failed || sum.errors;
}

/* One row an option: getopt's table, the checks and --help are all made from it. */
struct option_row {
	const char *name;
	size_t offset;
	uint64_t preset;
	uint64_t least;
	uint64_t most;
	const char *help;
};

#define FIELD(member) offsetof(struct options, member)

static const struct option_row rows[] = {
	{"processes", FIELD(processes), 2, 1, MAX_PROCESSES, "processes, each with a working set of its own"},
	{"size", FIELD(size_mib), 96, 1, 1048576, "MiB of one working set"},
	{"touches", FIELD(touches), 200000, 0, UINT64_MAX, "pages touched, all processes together; 0: --seconds decides"},
	{"seconds", FIELD(seconds), 0, 0, 1000000, "end after so long even if touches are left; 0: no limit"},
	{"hot-share", FIELD(hot_share), 80, 0, 100, "% of the picks that go to the hot part"},
	{"hot-size", FIELD(hot_size), 20, 0, 99, "% of the working set that is hot"},
	{"write", FIELD(write), 50, 0, 100, "% of the touches that write"},
	{"random", FIELD(random), 35, 0, 100, "mean % of random bytes in a mixed page; it compresses to about that"},
	{"zero", FIELD(zero), 0, 0, 100, "% of the pages that are all zero"},
	{"incompressible", FIELD(incompressible), 0, 0, 100, "% of the pages that are all random"},
	{"run", FIELD(run), 1, 1, 512, "consecutive pages touched by one pick"},
	{"free-every", FIELD(free_every), 0, 0, UINT64_MAX, "picks between two frees of a part; 0: never"},
	{"free-pages", FIELD(free_pages), 64, 1, 1048576, "consecutive pages freed at a time"},
	{"reclaim-every", FIELD(reclaim_every), 0, 0, UINT64_MAX, "picks between two requests for reclaim; 0: never"},
	{"reclaim", FIELD(reclaim_mib), 8, 1, 1048576, "MiB of the own cgroup asked for at a time (memory.reclaim)"},
	{"generations", FIELD(generations), 1, 1, 1000, "each process exits and is replaced, so many in a row"},
	{"seed", FIELD(seed), 1, 0, UINT64_MAX, "of all that is random"},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static uint64_t *field(struct options *opt, const struct option_row *row)
{
	return (uint64_t *)(void *)((char *)opt + row->offset);
}

static void print_help(void)
{
	puts("usage: touch [OPTION]...\n"
	     "Touches the pages of a few working sets at random, as a workload for swap.\n");
	for (size_t i = 0; i < ROWS; i++)
		printf("  --%-16s N  %s (%" PRIu64 ")\n", rows[i].name, rows[i].help, rows[i].preset);
	puts("\nexample: touch --processes 2 --size 96 --touches 300000 --hot-share 80 --random 35 --zero 3\n"
	     "exit status: 0 done, 1 failed or a page had changed, 2 wrong usage");
}

static bool parse_number(const struct option_row *row, const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || *value < row->least || *value > row->most) {
		fprintf(stderr, "touch: --%s takes a number from %" PRIu64 " to %" PRIu64 ", got '%s'\n", row->name, row->least,
			row->most, text);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct option table[ROWS + 2] = {0};
	struct options opt;
	int row;

	for (size_t i = 0; i < ROWS; i++) {
		table[i] = (struct option){.name = rows[i].name, .has_arg = required_argument, .val = (int)i};
		*field(&opt, &rows[i]) = rows[i].preset;
	}
	table[ROWS] = (struct option){.name = "help", .has_arg = no_argument, .val = ROWS};
	while ((row = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (row == ROWS) {
			print_help();
			return 0;
		}
		if (row == '?' || !parse_number(&rows[row], optarg, field(&opt, &rows[row])))
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr, "touch: unexpected argument '%s'; see --help\n", argv[optind]);
		return 2;
	}
	if (opt.touches == 0 && opt.seconds == 0) {
		fprintf(stderr, "touch: --touches 0 needs --seconds, or it would never end\n");
		return 2;
	}
	if (opt.zero + opt.incompressible > 100) {
		fprintf(stderr, "touch: --zero %" PRIu64 " and --incompressible %" PRIu64 " are more than 100%% together\n",
			opt.zero, opt.incompressible);
		return 2;
	}
	return run_all(&opt);
}
