/* SPDX-License-Identifier: MIT */
/*
 * The memory that a replay on the running kernel swaps: one private mapping with a page for each
 * recorded slot (kernel_plan.h), and the acts on it (kernel_crew.h).
 *
 *   out        writes contents of the wanted compressibility, then process_madvise(MADV_PAGEOUT)
 * over all pages of the group, a run of neighbours at a time touch      reads a byte of the page
 *   ahead      MADV_WILLNEED: the kernel reads the page into the swap cache and nobody waits
 *   give_back  MADV_DONTNEED: the page is gone, and with it the slot
 *
 * A page that was written to the disk stays in the swap cache until reclaim drops it, and while it
 * is there a touch reads nothing. On the recorded machine reclaim had dropped it, else there would
 * be no refault in the trace. Here nothing presses, so a touch first looks whether its page is in
 * memory (mincore), and if so has it dropped: it is clean, and MADV_PAGEOUT of a clean page costs
 * no I/O. One that is still being written cannot be dropped; its touch counts as met in memory.
 *
 * A page that came back is written to before it goes out again, since a clean one would be dropped
 * where the trace has a store.
 *
 * Contents are those of content.h, made for zstd level 3; other compressors find other lengths, so
 * the replay says what the kernel's came to. A zero-filled page is all zeros. What a touch met is
 * told by the thread's own accounts: no major fault, memory; a major fault without a sleep, zswap;
 * one with a sleep, the disk.
 *
 * Pages are single (MADV_NOHUGEPAGE).
 */
#ifndef REPLAYER_KERNEL_MEMORY_H
#define REPLAYER_KERNEL_MEMORY_H

#include "replayer/kernel_crew.h"

struct kernel_memory;

enum zr_err kernel_memory_new(uint64_t pages, uint32_t page_size, struct kernel_memory **out);
void kernel_memory_free(struct kernel_memory *memory);

struct kernel_acts kernel_memory_acts(struct kernel_memory *memory);

#endif
