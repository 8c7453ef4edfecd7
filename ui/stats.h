/* SPDX-License-Identifier: MIT */
/*
 * The little statistics that a comparison needs: mean, sample standard deviation, and Welch's t test,
 * which asks whether two means differ although the spreads and the numbers of repetitions do.
 *
 * B. L. Welch, "The generalization of Student's problem when several different population variances are
 * involved", Biometrika 34 (1947). The tail of the t distribution with v degrees of freedom is the
 * regularised incomplete beta function I_x(v/2, 1/2) at x = v / (v + t^2) (Abramowitz and Stegun,
 * 26.7.1), computed as a continued fraction (26.5.8).
 */
#ifndef UI_STATS_H
#define UI_STATS_H

#include <stdint.h>

/* The level of every verdict that zreel prints. */
#define UI_LEVEL 0.05

struct ui_sample {
	double mean, stddev; /* stddev with n - 1; 0 when n is 1 */
	uint32_t n;
};

struct ui_sample ui_sample_of(const double *values, uint32_t n);

/* I_x(a, b) for a, b > 0 and x in [0, 1]. */
double ui_incomplete_beta(double a, double b, double x);

/* The chance of |T| >= |t| with `freedom` degrees of freedom. */
double ui_t_two_sided(double t, double freedom);

/* The two-sided p value of "the means are the same"; NaN when either side has fewer than two values. */
double ui_welch_p(const struct ui_sample *a, const struct ui_sample *b);

#endif
