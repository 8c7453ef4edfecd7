/* SPDX-License-Identifier: MIT */
/* The accounts of psi.h. */
#include "replayer/psi.h"

enum zr_err psi_init(struct psi *psi, struct zr_arena *arena, uint32_t cpus, uint64_t start_ns)
{
	*psi = (struct psi){ .n_cpus = cpus, .window_end_ns = start_ns + PSI_WINDOW_NS };
	psi->cpus = zr_arena_array(arena, cpus, sizeof(*psi->cpus));
	if (!psi->cpus)
		return zr_fail(ZR_NOMEM, "keeping the pressure of %u processors: no memory", cpus);
	for (uint32_t i = 0; i < cpus; i++)
		psi->cpus[i].since_ns = start_ns;
	return ZR_OK;
}

static void account(struct psi_cpu *cpu, uint64_t now_ns)
{
	uint64_t passed = now_ns - cpu->since_ns;

	cpu->since_ns = now_ns;
	if (cpu->waiting)
		cpu->some_ns += passed;
	if (cpu->waiting && !cpu->running)
		cpu->full_ns += passed;
	if (cpu->waiting || cpu->running)
		cpu->nonidle_ns += passed;
}

static uint64_t weighted(uint64_t part, uint64_t weight, uint64_t sum)
{
	return (uint64_t)((unsigned __int128)part * weight / sum);
}

static void close_window(struct psi *psi, uint64_t end_ns)
{
	uint64_t nonidle = 0;

	for (uint32_t i = 0; i < psi->n_cpus; i++) {
		account(&psi->cpus[i], end_ns);
		nonidle += psi->cpus[i].nonidle_ns;
	}
	for (uint32_t i = 0; i < psi->n_cpus; i++) {
		struct psi_cpu *cpu = &psi->cpus[i];

		if (nonidle) {
			psi->some_ns += weighted(cpu->some_ns, cpu->nonidle_ns, nonidle);
			psi->full_ns += weighted(cpu->full_ns, cpu->nonidle_ns, nonidle);
		}
		cpu->some_ns = cpu->full_ns = cpu->nonidle_ns = 0;
	}
}

/* A long time without a change is one window: in it nothing changes the weights. */
static void pass_windows(struct psi *psi, uint64_t now_ns)
{
	if (now_ns < psi->window_end_ns)
		return;
	close_window(psi, psi->window_end_ns);
	if (now_ns >= psi->window_end_ns + PSI_WINDOW_NS) {
		uint64_t whole = (now_ns - psi->window_end_ns) / PSI_WINDOW_NS * PSI_WINDOW_NS;

		psi->window_end_ns += whole;
		close_window(psi, psi->window_end_ns);
	}
	psi->window_end_ns += PSI_WINDOW_NS;
}

void psi_change(struct psi *psi, uint64_t now_ns, uint32_t cpu, int running, int waiting)
{
	struct psi_cpu *it = &psi->cpus[cpu];

	pass_windows(psi, now_ns);
	account(it, now_ns);
	it->running = (uint32_t)((int)it->running + running);
	it->waiting = (uint32_t)((int)it->waiting + waiting);
}

void psi_finish(struct psi *psi, uint64_t now_ns)
{
	pass_windows(psi, now_ns);
	close_window(psi, now_ns);
}
