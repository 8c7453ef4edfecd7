/* SPDX-License-Identifier: MIT */
/* Means and Welch's test; formulas and sources in stats.h. */
#include "ui/stats.h"

#include <math.h>

struct ui_sample ui_sample_of(const double *values, uint32_t n)
{
	struct ui_sample out = { .n = n };
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	out.mean = n ? sum / n : NAN;
	for (uint32_t i = 0; i < n; i++)
		squares += (values[i] - out.mean) * (values[i] - out.mean);
	out.stddev = n > 1 ? sqrt(squares / (n - 1)) : 0;
	return out;
}

/* One step of Lentz's evaluation of a continued fraction: folds in the coefficient `c`. */
static double lentz_step(double c, double *upper, double *lower)
{
	const double tiny = 1e-300;

	*lower = 1 + c * *lower;
	*upper = 1 + c / *upper;
	if (fabs(*lower) < tiny)
		*lower = tiny;
	if (fabs(*upper) < tiny)
		*upper = tiny;
	*lower = 1 / *lower;
	return *upper * *lower;
}

/* The fraction of A&S 26.5.8; converges in tens of steps for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double upper = 1, lower = 0, value = 1;

	for (int m = 0; m < 500; m++) {
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2));
		double change;

		value *= lentz_step(odd, &upper, &lower);
		change = lentz_step(even, &upper, &lower);
		value *= change;
		if (fabs(change - 1) < 1e-15)
			break;
	}
	return 1 / value;
}

double ui_incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ui_t_two_sided(double t, double freedom)
{
	return ui_incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double ui_welch_p(const struct ui_sample *a, const struct ui_sample *b)
{
	double va, vb, t, freedom;

	if (a->n < 2 || b->n < 2)
		return NAN;
	va = a->stddev * a->stddev / a->n;
	vb = b->stddev * b->stddev / b->n;
	/* No spread at all: deterministic runs differ or they do not. */
	if (va + vb == 0)
		return a->mean == b->mean ? 1 : 0;
	t = (a->mean - b->mean) / sqrt(va + vb);
	freedom = (va + vb) * (va + vb) / (va * va / (a->n - 1) + vb * vb / (b->n - 1));
	return ui_t_two_sided(t, freedom);
}
