/* Expected figures: SciPy 1.17.1 and statsmodels 0.14 (binomtest, proportion_ci, fisher_exact,
 * OLS with cov_type="cluster", multipletests), and worked examples as named. */
#include "ci/testing/testing.h"
#include "evals/stats.h"

#include <math.h>
#include <stdio.h>

static void near(double got, double want, double within)
{
    if (fabs(got - want) > within) {
        printf("got %.12g, want %.12g\n", got, want);
        CU_FAIL("not near");
    } else {
        CU_PASS("near");
    }
}

/* The first four are Newcombe's (1998), table I: 0.2553 to 0.3662, 0.0624 to 0.1605, 0 to 0.1611,
 * 0.0061 to 0.1718. */
static void wilson(void)
{
    static const struct {
        int64_t passed, n;
        double low, high;
    } cases[] = {{81, 263, 0.2552885198782742, 0.36620957698280004},
                 {15, 148, 0.06238639953073629, 0.16048724172330803},
                 {0, 20, 0, 0.16112515805281935},
                 {1, 29, 0.006113214292762667, 0.17175521879320282},
                 {29, 29, 0.8830302015002592, 1},
                 {38, 40, 0.8349612263085903, 0.9861793326138516},
                 {500, 1000, 0.4690696003681042, 0.5309303996318958},
                 {99999, 100000, 0.9999433529034095, 0.9999982347522695}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct interval v = stats_wilson(cases[i].passed, cases[i].n);
        CU_ASSERT(v.known);
        near(v.low, cases[i].low, 1e-12);
        near(v.high, cases[i].high, 1e-12);
    }
    CU_ASSERT_FALSE(stats_wilson(0, 0).known);
}

static void clustered(void)
{
    static const struct cluster four[] = {{2, 3}, {0, 3}, {3, 3}, {2, 3}};
    static const struct cluster uneven[] = {{3, 1}, {12, 2}, {17, 3}, {6, 1}, {17, 2}};
    static const struct cluster single[] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}};
    near(stats_mean(four, 4), 7.0 / 12, 1e-15);
    near(stats_clustered_error(four, 4), 0.20971762320196535, 1e-12);
    near(stats_mean(uneven, 5), 6.111111111111111, 1e-12);
    near(stats_clustered_error(uneven, 5), 0.7280287842416305, 1e-12);
    near(stats_clustered_error(single, 5), 2.727636339397171, 1e-12); /* scipy.stats.sem */
    CU_ASSERT(stats_clustered_error(single, 1) < 0);
}

/* The errors by OLS with cov_type="cluster" and the factor G/(G-1), the intervals by
 * proportion_confint(p * n, n, method="wilson") with n as stats.h says: 5.526, 17.286 (all passed
 * or none: 22²/28), 12.814, 6 (no task differs: as if independent), 40 (39 by the error, one trial
 * a task) and 11.644. */
static void clustered_rates(void)
{
    static const struct cluster four[] = {{2, 3}, {0, 3}, {3, 3}, {2, 3}};
    static const struct cluster ten[] = {{5, 5}, {4, 5}, {5, 5}, {5, 5}, {3, 5},
                                         {5, 5}, {5, 5}, {0, 5}, {5, 5}, {5, 5}};
    static const struct cluster even[] = {{1, 2}, {1, 2}, {1, 2}};
    static const struct cluster uneven[] = {{40, 40}, {0, 1}, {1, 1}, {0, 1}};
    static struct cluster good[20], bad[20], single[40];
    for (size_t i = 0; i < 40; i++) {
        single[i] = (struct cluster){i < 38 ? 1 : 0, 1};
    }
    for (size_t i = 0; i < 20; i++) {
        good[i] = i == 0 ? (struct cluster){3, 3} : (struct cluster){1, 1};
        bad[i] = (struct cluster){0, i == 0 ? 3 : 1};
    }
    const struct {
        const struct cluster *c;
        size_t n;
        double low, high;
    } cases[] = {{four, 4, 0.23161075832550654, 0.8667106328167649},
                 {good, 20, 0.8181744996670229, 1},
                 {bad, 20, 0, 0.1818255003329771},
                 {ten, 10, 0.5688387366805099, 0.9543201253701716},
                 {even, 3, 0.18761630648265054, 0.8123836935173494},
                 {single, 40, 0.8349612263085903, 0.9861793326138516},
                 {uneven, 4, 0.6871814935727037, 0.9947999555978214},
                 {four, 1, 0.0941860151055801, 0.9746637563534989}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct interval v = stats_clustered(cases[i].c, cases[i].n);
        CU_ASSERT(v.known);
        near(v.low, cases[i].low, 1e-12);
        near(v.high, cases[i].high, 1e-12);
    }
    CU_ASSERT_FALSE(stats_clustered(NULL, 0).known);
}

/* Where no task changed: proportion_confint(0, n, method="wilson"), both ways. Half of the tasks
 * one up and half one down: the bootstrap's, 0 ± 1.96 × 1/√100 or so. */
static void paired(void)
{
    static struct cluster none[200], one[200], half[100], all[10];
    for (size_t i = 0; i < 200; i++) {
        none[i] = (struct cluster){0, 1};
        one[i] = (struct cluster){i == 0 ? -1 : 0, 1};
        half[i % 100] = (struct cluster){i % 2 == 0 ? 1 : -1, 1};
        all[i % 10] = (struct cluster){-1, 1};
    }
    struct interval v = stats_paired(none, 200, 1);
    near(v.low, -0.01884532637726658, 1e-12);
    near(v.high, 0.01884532637726658, 1e-12);
    v = stats_paired(none, 2, 1);
    near(v.high, 0.657619772493347, 1e-12);
    v = stats_paired(one, 200, 1); /* Tango's is -0.0278 to 0.0139 */
    near(v.low, -0.005 - 0.01884532637726658 * 0.995, 1e-12);
    near(v.high, -0.005 + 0.01884532637726658 * 1.005, 1e-12);
    v = stats_paired(half, 100, 1);
    near(v.low, -0.196, 0.03);
    near(v.high, 0.196, 0.03);
    v = stats_paired(all, 10, 1);
    near(v.low, -1, 0);
    near(v.high, -1 + 2 * 0.2775327998628892, 1e-12);
    CU_ASSERT_FALSE(stats_paired(NULL, 0, 1).known);
}

/* scipy.stats.bootstrap(method="percentile", n_resamples=100000) gives 8.833333 to 16.416667. Of
 * two values 0 and 1 a resample's mean is 0 and 1 a quarter of the time each, so both ends are in
 * every interval. */
static void bootstrap(void)
{
    static const struct cluster times[] = {{12, 1}, {7, 1},  {9, 1},  {30, 1}, {5, 1},  {11, 1},
                                           {8, 1},  {14, 1}, {21, 1}, {6, 1},  {10, 1}, {13, 1}};
    static const struct cluster two[] = {{0, 1}, {1, 1}};
    static const struct cluster same[] = {{6, 3}, {4, 2}, {2, 1}};
    struct interval v = stats_bootstrap(times, 12, 1);
    near(v.low, 8.833333, 0.25);
    near(v.high, 16.416667, 0.4);
    struct interval again = stats_bootstrap(times, 12, 1);
    CU_ASSERT(v.low == again.low && v.high == again.high);
    v = stats_bootstrap(two, 2, 7);
    CU_ASSERT(v.low == 0 && v.high == 1);
    CU_ASSERT_FALSE(stats_bootstrap(same, 3, 7).known); /* each cluster has the mean 2 */
    CU_ASSERT_FALSE(stats_bootstrap(times, 1, 7).known);
    CU_ASSERT_FALSE(stats_bootstrap(NULL, 0, 7).known);
}

/* By binomial coefficients of Python's math.comb. */
static void passes(void)
{
    static const struct {
        int64_t n, c, k;
        double at, hat;
    } cases[] = {{200, 50, 10, 0.9479063705959571, 4.5754203369316737e-07},
                 {5, 2, 1, 0.4, 0.4},
                 {5, 2, 3, 0.9, 0},
                 {10, 3, 5, 0.9166666666666666, 0},
                 {3, 3, 3, 1, 1},
                 {4, 0, 2, 0, 0},
                 {100, 99, 2, 1, 0.98}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        near(stats_pass_at(cases[i].n, cases[i].c, cases[i].k), cases[i].at, 1e-12);
        near(stats_pass_hat(cases[i].n, cases[i].c, cases[i].k), cases[i].hat, 1e-12);
    }
}

/* 150 and 86 are the changed pairs of Agresti's approval ratings (table 11.1). */
static void mcnemar(void)
{
    static const struct {
        int64_t worse, better;
        double one, two;
    } cases[] = {{2, 0, 0.25, 0.5},
                 {5, 0, 0.03125, 0.0625},
                 {10, 3, 0.046142578125, 0.09228515625},
                 {3, 3, 0.65625, 1},
                 {0, 0, 1, 1},
                 {0, 1, 1, 1},
                 {86, 150, 0.9999896457855217, 3.7159361395713866e-05},
                 {150, 86, 1.8579680697856933e-05, 3.7159361395713866e-05},
                 {25, 5, 0.00016245711594820025, 0.0003249142318964005},
                 {1200, 1000, 1.0908513203957097e-05, 2.1817026407914194e-05}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        near(stats_mcnemar(cases[i].worse, cases[i].better), cases[i].one, 1e-12);
        near(stats_mcnemar_two_sided(cases[i].worse, cases[i].better), cases[i].two, 1e-12);
    }
    near(stats_mcnemar(50000, 50000), 0.5, 0.01); /* nothing underflows */
}

/* The first is Fisher's tea taster: 3 of 4 cups right, p = 17/70. */
static void fisher(void)
{
    static const struct {
        int64_t a, n_a, c, n_b;
        double p;
    } cases[] = {{3, 4, 1, 4, 17.0 / 70},
                 {10, 10, 1, 10, 5.953798523457966e-05},
                 {3, 3, 0, 3, 0.05},
                 {3, 3, 1, 3, 0.2},
                 {90, 100, 80, 100, 0.03671379486068818},
                 {900, 1000, 850, 1000, 0.0004475437693453447},
                 {5, 10, 5, 10, 0.6718591006516703},
                 {0, 5, 0, 5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        near(stats_fisher(cases[i].a, cases[i].n_a, cases[i].c, cases[i].n_b), cases[i].p, 1e-12);
    }
}

static void holm(void)
{
    double four[4], five[5];
    stats_holm((const double[]){0.01, 0.04, 0.03, 0.005}, 4, four);
    static const double want4[] = {0.03, 0.06, 0.06, 0.02};
    stats_holm((const double[]){0.2, 0.01, 0.5, 0.01, 0.9}, 5, five);
    static const double want5[] = {0.6, 0.05, 1, 0.05, 1};
    for (size_t i = 0; i < 4; i++) {
        near(four[i], want4[i], 1e-12);
    }
    for (size_t i = 0; i < 5; i++) {
        near(five[i], want5[i], 1e-12);
    }
}

/* The list of Wikipedia's "Percentile", nearest rank: 15 20 35 40 50. */
static void percentile(void)
{
    static const int64_t list[] = {15, 20, 35, 40, 50};
    CU_ASSERT_EQUAL(stats_percentile(list, 5, 5), 15);
    CU_ASSERT_EQUAL(stats_percentile(list, 5, 30), 20);
    CU_ASSERT_EQUAL(stats_percentile(list, 5, 40), 20);
    CU_ASSERT_EQUAL(stats_percentile(list, 5, 50), 35);
    CU_ASSERT_EQUAL(stats_percentile(list, 5, 100), 50);
    CU_ASSERT_EQUAL(stats_percentile(list, 0, 50), -1);
}

/* The formula with scipy.stats.norm.ppf: 121.54, 245.20, 44.23, 3089.19, 66.57. */
static void needed(void)
{
    CU_ASSERT_EQUAL(stats_needed(0.05, 0.05), 122);
    CU_ASSERT_EQUAL(stats_needed(0.1, 0.05), 246);
    CU_ASSERT_EQUAL(stats_needed(0.3, 0.2), 45);
    CU_ASSERT_EQUAL(stats_needed(0.2, 0.02), 3090);
    CU_ASSERT_EQUAL(stats_needed(0.25, 0.15), 67);
    CU_ASSERT_EQUAL(stats_needed(0, 0.05), 122); /* as if the drop were all that changes */
}

static void printing(void)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0.000000"},
                 {1, "1.000000"},
                 {0.5, "0.500000"},
                 {-0.25, "-0.250000"},
                 {1e-9, "0.000000"},
                 {-1e-9, "0.000000"},
                 {2.0 / 3, "0.666667"},
                 {12.3456785, "12.345679"},
                 {123456789, "123456789.000000"},
                 {-1e15, "-1000000000000000.000000"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = {0};
        stats_add(&b, cases[i].v);
        buf_char(&b, '\0');
        CHECK_TEXT(b.p, cases[i].text);
        buf_free(&b);
    }
}

TESTS(stats, {"stats_wilson_is_newcombes_and_scipys", wilson},
      {"stats_clustered_errors_are_those_of_statsmodels", clustered},
      {"stats_clustered_rates_are_wilsons_of_the_effective_size", clustered_rates},
      {"stats_paired_is_never_of_no_width", paired},
      {"stats_bootstrap_draws_whole_clusters_by_a_seed", bootstrap},
      {"stats_pass_at_k_and_pass_hat_k_count_combinations", passes},
      {"stats_mcnemar_is_exact", mcnemar}, {"stats_fisher_is_exact", fisher},
      {"stats_holm_steps_down", holm}, {"stats_percentiles_are_nearest_rank", percentile},
      {"stats_needed_is_connors_sample_size", needed}, {"stats_print_six_decimals", printing})
