/* SPDX-License-Identifier: MIT */
/*
 * The statistics against printed tables, closed forms and a slow integral: t quantiles as in any
 * statistics textbook; I_x(a, b) for whole a, b is a binomial sum; t with 1 degree of freedom is Cauchy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "ui/stats.h"

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("got %.12g, wanted %.12g", got, wanted);
}

static void mean_and_stddev_of_known_values(void **state)
{
	const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct ui_sample s = ui_sample_of(values, 8);

	(void)state;
	assert_near(s.mean, 5, 0);
	assert_near(s.stddev, sqrt(32.0 / 7), 1e-15);
	s = ui_sample_of(values, 1);
	assert_near(s.mean, 2, 0);
	assert_near(s.stddev, 0, 0);
	assert_true(isnan(ui_sample_of(values, 0).mean));
}

static double binomial_sum(int a, int b, double x)
{
	int n = a + b - 1;
	double sum = 0;

	for (int k = a; k <= n; k++) {
		double choose = 1;

		for (int i = 0; i < k; i++)
			choose = choose * (n - i) / (i + 1);
		sum += choose * pow(x, k) * pow(1 - x, n - k);
	}
	return sum;
}

static void incomplete_beta_is_the_binomial_sum_for_whole_parameters(void **state)
{
	(void)state;
	for (int a = 1; a <= 12; a++)
		for (int b = 1; b <= 12; b++)
			for (double x = 0.05; x < 1; x += 0.05)
				assert_near(ui_incomplete_beta(a, b, x), binomial_sum(a, b, x), 1e-12);
	assert_near(ui_incomplete_beta(3, 4, 0), 0, 0);
	assert_near(ui_incomplete_beta(3, 4, 1), 1, 0);
}

static void t_tail_matches_the_printed_table(void **state)
{
	static const struct {
		double freedom, t, p;
	} table[] = {
		{ 2, 4.3027, 0.05 },  { 4, 2.7764, 0.05 },  { 5, 4.0321, 0.01 },  { 10, 2.2281, 0.05 },
		{ 10, 1.8125, 0.10 }, { 20, 2.8453, 0.01 }, { 30, 2.0423, 0.05 }, { 120, 1.9799, 0.05 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_near(ui_t_two_sided(table[i].t, table[i].freedom), table[i].p, 2e-5);
		assert_near(ui_t_two_sided(-table[i].t, table[i].freedom), table[i].p, 2e-5);
	}
}

static void t_with_one_degree_is_cauchy(void **state)
{
	(void)state;
	for (double t = 0; t < 1000; t = t * 1.5 + 0.1)
		assert_near(ui_t_two_sided(t, 1), 1 - 2 / M_PI * atan(t), 1e-12);
}

/* The tail as a sum of small rectangles under the density, for a fractional number of degrees. */
static double slow_tail(double t, double v)
{
	double c = exp(lgamma((v + 1) / 2) - lgamma(v / 2)) / sqrt(v * M_PI), sum = 0;
	const double h = 1e-4;

	for (double x = h / 2; x < t; x += h)
		sum += c * pow(1 + x * x / v, -(v + 1) / 2) * h;
	return 1 - 2 * sum;
}

static void t_tail_matches_a_numeric_integral(void **state)
{
	(void)state;
	assert_near(ui_t_two_sided(1.5, 3.7), slow_tail(1.5, 3.7), 1e-6);
	assert_near(ui_t_two_sided(2.9, 7.25), slow_tail(2.9, 7.25), 1e-6);
}

/* The published studies: 748 +- 47 against 596 +- 26 is a difference, 624 +- 23 against 633 +- 29 is not. */
static void welch_tells_the_published_difference_from_the_published_noise(void **state)
{
	struct ui_sample unbatched = { 748, 47, 6 }, batched = { 596, 26, 6 };
	struct ui_sample wait = { 624, 23, 6 }, plugged_wait = { 633, 29, 6 };

	(void)state;
	assert_true(ui_welch_p(&unbatched, &batched) < 0.001);
	assert_true(ui_welch_p(&wait, &plugged_wait) > 0.5);
}

/* Hand computation: variances 1 and 4 over n = 4 and 9: t = 2 / sqrt(1/4 + 4/9) = 2.4000,
 * freedom = (25/36)^2 / ((1/16)/3 + (16/81)/8) = 10.595. */
static void welch_uses_the_fractional_degrees_of_freedom(void **state)
{
	struct ui_sample a = { 12, 1, 4 }, b = { 10, 2, 9 };

	(void)state;
	assert_near(ui_welch_p(&a, &b), slow_tail(2.4, 10.5951), 1e-5);
}

static void welch_needs_two_of_each_and_takes_no_spread_literally(void **state)
{
	struct ui_sample one = { 5, 0, 1 }, five = { 5, 0, 3 }, six = { 6, 0, 3 };

	(void)state;
	assert_true(isnan(ui_welch_p(&one, &five)));
	assert_true(isnan(ui_welch_p(&five, &one)));
	assert_near(ui_welch_p(&five, &five), 1, 0);
	assert_near(ui_welch_p(&five, &six), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean_and_stddev_of_known_values),
		cmocka_unit_test(incomplete_beta_is_the_binomial_sum_for_whole_parameters),
		cmocka_unit_test(t_tail_matches_the_printed_table),
		cmocka_unit_test(t_with_one_degree_is_cauchy),
		cmocka_unit_test(t_tail_matches_a_numeric_integral),
		cmocka_unit_test(welch_tells_the_published_difference_from_the_published_noise),
		cmocka_unit_test(welch_uses_the_fractional_degrees_of_freedom),
		cmocka_unit_test(welch_needs_two_of_each_and_takes_no_spread_literally),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
