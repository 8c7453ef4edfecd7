/* SPDX-License-Identifier: MIT */
/* The fit of drive_fit.h. */
#include "replayer/drive_fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { PAGE = 4096, MOST_NS = 1'000'000'000, MOST_CHANNELS = 1000 };

/* ------------------------------------------------------------------------------------ least squares */

/* Gauss, with the pivot on the diagonal: the matrix is one of normal equations. Terms that the rows do not tell
 * apart get 0. */
static void solve_terms(double m[FIT_TERMS][FIT_TERMS + 1], const bool *used, double x[FIT_TERMS])
{
	bool done[FIT_TERMS] = { false };

	for (int p = 0; p < FIT_TERMS; p++) {
		double scale = m[p][p];

		if (!used[p] || scale < 1e-12)
			continue;
		done[p] = true;
		for (int c = 0; c <= FIT_TERMS; c++)
			m[p][c] /= scale;
		for (int r = 0; r < FIT_TERMS; r++) {
			double times = m[r][p];

			for (int c = 0; r != p && used[r] && c <= FIT_TERMS; c++)
				m[r][c] -= times * m[p][c];
		}
	}
	for (int p = 0; p < FIT_TERMS; p++)
		x[p] = done[p] ? m[p][FIT_TERMS] : 0;
}

/* In units of the typical row, so that pages and bases weigh alike. */
static void solve_used(const struct fit_row *rows, uint32_t n, const bool *used, double x[FIT_TERMS])
{
	double m[FIT_TERMS][FIT_TERMS + 1] = { { 0 } };

	for (uint32_t i = 0; i < n; i++)
		for (int r = 0; r < FIT_TERMS; r++) {
			double weight = rows[i].factor[r] / rows[i].is / rows[i].is;

			for (int c = 0; c < FIT_TERMS; c++)
				m[r][c] += used[r] && used[c] ? weight * rows[i].factor[c] * rows[0].is * rows[0].is :
								0;
			m[r][FIT_TERMS] += weight * rows[i].is * rows[0].is * rows[0].is;
		}
	solve_terms(m, used, x);
}

void fit_solve(const struct fit_row *rows, uint32_t n, double x[FIT_TERMS])
{
	bool used[FIT_TERMS] = { true, true, true };

	for (;;) {
		int worst = 0;

		solve_used(rows, n, used, x);
		for (int i = 1; i < FIT_TERMS; i++)
			worst = x[i] < x[worst] ? i : worst;
		if (x[worst] >= 0)
			return;
		used[worst] = false;
	}
}

/* -------------------------------------------------------------------------------------- measurements */

/* The highest rate of a size and pattern, over the depths; 0 = not measured. */
static double best_iops(const struct play_drive *drive, const struct play_drive_point *like)
{
	double best = 0;

	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];

		if (point->write == like->write && point->sequential == like->sequential &&
		    point->bytes == like->bytes && point->iops > best)
			best = point->iops;
	}
	return best;
}

static double idle_latency_ns(const struct play_drive *drive, bool write, uint32_t bytes)
{
	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];

		if (point->write == write && !point->sequential && point->bytes == bytes && point->depth == 1)
			return point->latency_us * 1000;
	}
	return 0;
}

/* How many random requests of a size are served at once when the drive has enough of them; 0 = not known. */
static double parallel(const struct play_drive *drive, bool write, uint32_t bytes)
{
	struct play_drive_point like = { .write = write, .bytes = bytes };

	return best_iops(drive, &like) * idle_latency_ns(drive, write, bytes) / 1e9;
}

static uint64_t fit_channels(const struct play_drive *drive)
{
	double fewest = MOST_CHANNELS;

	for (uint32_t i = 0; i < drive->n; i++) {
		double at_once = parallel(drive, drive->points[i].write, drive->points[i].bytes);

		fewest = at_once > 0 && at_once < fewest ? at_once : fewest;
	}
	/* Of two in truth, 1.98 may be measured. */
	return fewest < 1 ? 1 : (uint64_t)(fewest * 1.02);
}

static uint64_t whole(double ns)
{
	return ns < 0 ? 0 : ns > MOST_NS ? MOST_NS : (uint64_t)llround(ns);
}

/* ----------------------------------------------------------------------------------------- the drive */

struct line {
	double rand, seq, page, delay, delay_page;
};

static void fit_service(const struct play_drive *drive, bool write, uint64_t channels, struct line *line)
{
	struct fit_row rows[PLAY_DRIVE_POINTS];
	double x[FIT_TERMS];
	uint32_t n = 0;

	/* Each size once, by its point of depth 1. */
	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];
		double iops = best_iops(drive, point);

		if (point->write == write && point->depth == 1 && iops > 0)
			rows[n++] = (struct fit_row){ .factor = { point->bytes / (double)PAGE, !point->sequential,
								  point->sequential },
						      .is = (double)channels * 1e9 / iops };
	}
	fit_solve(rows, n, x);
	line->page = x[0];
	line->rand = x[1];
	line->seq = x[2];
}

static void fit_delay(const struct play_drive *drive, bool write, struct line *line)
{
	struct fit_row rows[PLAY_DRIVE_POINTS];
	double x[FIT_TERMS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];
		double pages = point->bytes / (double)PAGE;
		double rest = point->latency_us * 1000 - line->rand - pages * line->page;

		if (point->write == write && !point->sequential && point->depth == 1 && rest > 0)
			rows[n++] = (struct fit_row){ .factor = { pages, 1, 0 }, .is = rest };
	}
	if (!n)
		return;
	fit_solve(rows, n, x);
	line->delay_page = x[0];
	line->delay = x[1];
}

static struct line fit_direction(const struct play_drive *drive, bool write, uint64_t channels)
{
	struct line line = { 0 };

	fit_service(drive, write, channels, &line);
	fit_delay(drive, write, &line);
	return line;
}

static enum zr_err check(const struct play_drive *drive)
{
	if (drive->partial)
		return zr_fail(ZR_NO_DATA, "measuring the drive '%s' ended early; measure it again", drive->name);
	if (drive->read_only)
		return zr_fail(ZR_NO_DATA,
			       "of the drive '%s' only reads were measured; measure it without --read-only",
			       drive->name);
	for (int write = 0; write < 2; write++)
		if (!(parallel(drive, write, PAGE) > 0))
			return zr_fail(ZR_NO_DATA, "of the drive '%s' no random %s of 4 KiB were measured",
				       drive->name, write ? "writes" : "reads");
	return ZR_OK;
}

enum zr_err drive_fit(const struct play_drive *drive, struct time_params *params)
{
	struct play_iocost iocost = play_drive_iocost(drive);
	struct cost_model cost = iocost_coefficients(&iocost);
	struct line read, write;
	enum zr_err err = check(drive);

	if (err)
		return err;
	params->channels = fit_channels(drive);
	read = fit_direction(drive, false, params->channels);
	write = fit_direction(drive, true, params->channels);
	params->read_page_ns = whole(read.page);
	params->read_seq_ns = whole(read.seq);
	params->read_rand_ns = whole(read.rand);
	params->read_delay_ns = whole(read.delay);
	params->read_delay_page_ns = whole(read.delay_page);
	params->write_page_ns = whole(write.page);
	params->write_seq_ns = whole(write.seq);
	params->write_rand_ns = whole(write.rand);
	params->write_delay_ns = whole(write.delay);
	params->write_delay_page_ns = whole(write.delay_page);
	params->cost_read_page_ns = cost.page_ns[0];
	params->cost_read_seq_ns = cost.seq_ns[0];
	params->cost_read_rand_ns = cost.rand_ns[0];
	params->cost_write_page_ns = cost.page_ns[1];
	params->cost_write_seq_ns = cost.seq_ns[1];
	params->cost_write_rand_ns = cost.rand_ns[1];
	return ZR_OK;
}

/* ------------------------------------------------------------------------------------------- iocost */

struct play_iocost play_drive_iocost(const struct play_drive *drive)
{
	struct play_iocost iocost = { 0 };

	for (uint32_t i = 0; i < drive->n; i++) {
		const struct play_drive_point *point = &drive->points[i];
		uint64_t bps = (uint64_t)(point->iops * point->bytes), iops = (uint64_t)point->iops;
		uint64_t *page = point->sequential ? &iocost.seqiops[point->write] :
						     &iocost.randiops[point->write];

		if (point->sequential && bps > iocost.bps[point->write])
			iocost.bps[point->write] = bps;
		if (point->bytes == PAGE && iops > *page)
			*page = iops;
	}
	return iocost;
}

void play_iocost_to_text(const struct play_iocost *iocost, char *text, size_t bytes)
{
	snprintf(text, bytes,
		 "ctrl=user model=linear rbps=%" PRIu64 " rseqiops=%" PRIu64 " rrandiops=%" PRIu64
		 " wbps=%" PRIu64 " wseqiops=%" PRIu64 " wrandiops=%" PRIu64,
		 iocost->bps[0], iocost->seqiops[0], iocost->randiops[0], iocost->bps[1], iocost->seqiops[1],
		 iocost->randiops[1]);
}
