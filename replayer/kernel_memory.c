/* SPDX-License-Identifier: MIT */
/* The memory of kernel_memory.h. */
#include "replayer/kernel_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "db/base/clock.h"
#include "replayer/content.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

enum { SEED = 1 };

struct kernel_memory {
	char *base;
	uint64_t pages;
	uint32_t page_size, n_contents;
	char *contents; /* a page for each step of content.h */
	int self;	/* pidfd, for process_madvise; -1 = the kernel has none */
};

static char *address(const struct kernel_memory *memory, uint64_t page)
{
	return memory->base + page * memory->page_size;
}

/* ------------------------------------------------------------------------------------------ acts */

static const char *content_of(const struct kernel_memory *memory, uint16_t len)
{
	uint32_t step = (len + CONTENT_STEP / 2u) / CONTENT_STEP;

	if (step >= memory->n_contents)
		step = memory->n_contents - 1;
	return memory->contents + (size_t)step * memory->page_size;
}

static enum zr_err refused(int errnum, const char *what)
{
	return zr_fail_errno(errnum, "replaying on the running kernel: %s was refused", what);
}

static enum zr_err fill(const struct kernel_memory *memory, const struct kernel_page *page)
{
	char *to = address(memory, page->page);

	if (page->renew && madvise(to, memory->page_size, MADV_DONTNEED))
		return refused(errno, "madvise(MADV_DONTNEED)");
	if (page->len)
		memcpy(to, content_of(memory, page->len), memory->page_size);
	else
		memset(to, 0, memory->page_size);
	return ZR_OK;
}

/* Neighbours become one range; returns how many there are. */
static int runs_of(const struct kernel_memory *memory, const struct kernel_page *pages, uint32_t n,
		   struct iovec runs[KERNEL_GROUP])
{
	int n_runs = 0;

	for (uint32_t i = 0; i < n; i++) {
		char *at = address(memory, pages[i].page);

		if (n_runs && (char *)runs[n_runs - 1].iov_base + runs[n_runs - 1].iov_len == at)
			runs[n_runs - 1].iov_len += memory->page_size;
		else
			runs[n_runs++] = (struct iovec){ at, memory->page_size };
	}
	return n_runs;
}

static enum zr_err advise(const struct iovec *runs, int n, int advice, const char *what)
{
	for (int i = 0; i < n; i++)
		if (madvise(runs[i].iov_base, runs[i].iov_len, advice))
			return refused(errno, what);
	return ZR_OK;
}

static enum zr_err out(void *arg, const struct kernel_page *pages, uint32_t n)
{
	const struct kernel_memory *memory = arg;
	struct iovec runs[KERNEL_GROUP];
	enum zr_err err = ZR_OK;
	int n_runs;

	for (uint32_t i = 0; i < n && !err; i++)
		err = fill(memory, &pages[i]);
	if (err)
		return err;
	n_runs = runs_of(memory, pages, n, runs);
	/* What is left undone, by whatever it stumbled on, is asked for run by run. */
	if (memory->self >= 0 && n_runs > 1 &&
	    syscall(SYS_process_madvise, memory->self, runs, n_runs, MADV_PAGEOUT, 0) ==
		    (long)n * memory->page_size)
		return ZR_OK;
	return advise(runs, n_runs, MADV_PAGEOUT, "madvise(MADV_PAGEOUT)");
}

static enum zr_err give_back(void *arg, const struct kernel_page *pages, uint32_t n)
{
	struct iovec runs[KERNEL_GROUP];
	int n_runs = runs_of(arg, pages, n, runs);

	return advise(runs, n_runs, MADV_DONTNEED, "madvise(MADV_DONTNEED)");
}

static void read_byte(const char *at)
{
	(void)*(volatile const char *)at;
}

static bool is_in_memory(const struct kernel_memory *memory, char *at)
{
	unsigned char there = 0;

	return !mincore(at, memory->page_size, &there) && there & 1;
}

/* Only what is mapped can be paged out, so it is mapped first, which costs no I/O. */
static enum zr_err drop(const struct kernel_memory *memory, char *at)
{
	read_byte(at);
	return madvise(at, memory->page_size, MADV_PAGEOUT)
		       ? refused(errno, "madvise(MADV_PAGEOUT)")
		       : ZR_OK;
}

static enum zr_err touch(void *arg, uint64_t page, struct kernel_touch *met)
{
	const struct kernel_memory *memory = arg;
	char *at = address(memory, page);
	struct rusage before, after;
	uint64_t begin;
	enum zr_err err = is_in_memory(memory, at) ? drop(memory, at) : ZR_OK;

	if (err)
		return err;
	getrusage(RUSAGE_THREAD, &before);
	begin = zr_monotonic_ns();
	read_byte(at);
	met->ns = zr_monotonic_ns() - begin;
	getrusage(RUSAGE_THREAD, &after);
	if (after.ru_majflt == before.ru_majflt)
		met->from = KERNEL_FROM_MEMORY;
	else
		met->from =
			after.ru_nvcsw == before.ru_nvcsw ? KERNEL_FROM_ZSWAP : KERNEL_FROM_DISK;
	return ZR_OK;
}

static enum zr_err ahead(void *arg, uint64_t page)
{
	const struct kernel_memory *memory = arg;
	char *at = address(memory, page);
	enum zr_err err = is_in_memory(memory, at) ? drop(memory, at) : ZR_OK;

	if (err)
		return err;
	return madvise(at, memory->page_size, MADV_WILLNEED)
		       ? refused(errno, "madvise(MADV_WILLNEED)")
		       : ZR_OK;
}

struct kernel_acts kernel_memory_acts(struct kernel_memory *memory)
{
	return (struct kernel_acts){
		.out = out, .touch = touch, .ahead = ahead, .give_back = give_back, .arg = memory
	};
}

/* ---------------------------------------------------------------------------------------- making */

/* Before the start, so that making a page is not part of a measured time. */
static enum zr_err make_contents(struct kernel_memory *memory)
{
	struct content *content;
	enum zr_err err = content_new(memory->page_size, SEED, NULL, &content);

	if (err)
		return err;
	memory->n_contents = memory->page_size / CONTENT_STEP + 1;
	memory->contents = calloc(memory->n_contents, memory->page_size);
	if (!memory->contents)
		err = zr_fail(ZR_NOMEM, "making pages to swap out: no memory");
	for (uint32_t i = 1; i < memory->n_contents && !err; i++)
		err = content_decompress(content, i * CONTENT_STEP,
					 memory->contents + (size_t)i * memory->page_size);
	content_free(content);
	return err;
}

static enum zr_err map(struct kernel_memory *memory)
{
	size_t bytes = (memory->pages + 1) * memory->page_size;
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return zr_fail_errno(errno, "mapping %zu MiB to swap out", bytes >> 20);
	memory->base = base;
	/* A kernel without huge pages refuses, and makes none. */
	madvise(base, bytes, MADV_NOHUGEPAGE);
	return ZR_OK;
}

enum zr_err kernel_memory_new(uint64_t pages, uint32_t page_size, struct kernel_memory **out_memory)
{
	struct kernel_memory *memory = calloc(1, sizeof(*memory));
	enum zr_err err;

	*out_memory = NULL;
	if (!memory)
		return zr_fail(ZR_NOMEM, "making memory to swap out: no memory");
	memory->pages = pages;
	memory->page_size = page_size;
	memory->self = -1;
	err = make_contents(memory);
	if (!err)
		err = map(memory);
	if (err) {
		kernel_memory_free(memory);
		return err;
	}
	memory->self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	*out_memory = memory;
	return ZR_OK;
}

void kernel_memory_free(struct kernel_memory *memory)
{
	if (!memory)
		return;
	if (memory->base)
		munmap(memory->base, (memory->pages + 1) * memory->page_size);
	if (memory->self >= 0)
		close(memory->self);
	free(memory->contents);
	free(memory);
}
