#include "ci/testing/testing.h"
#include "evals/ratio.h"

#include <inttypes.h>
#include <stdio.h>

static void check_ratio(struct ratio r, const char *want)
{
    struct buf b = {0};
    ratio_add(&b, r);
    buf_char(&b, '\0');
    CHECK_TEXT(b.p, want);
    buf_free(&b);
}

static void six_decimals_half_up(void)
{
    static const struct {
        struct ratio r;
        const char *want;
    } cases[] = {
        {{0, 0}, "null"},
        {{0, 1}, "0.000000"},
        {{1, 1}, "1.000000"},
        {{1, 3}, "0.333333"},
        {{2, 3}, "0.666667"},
        {{1, 2000000}, "0.000001"},
        {{1, 128}, "0.007813"},
        {{999999, 1000000}, "0.999999"},
        {{19999999, 20000000}, "1.000000"},
        {{1, 2000001}, "0.000000"},
        {{7, 2}, "3.500000"},
        {{INT64_C(999999999999999999), INT64_C(1000000000000000000)}, "1.000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_ratio(cases[i].r, cases[i].want);
    }
}

/* Three thirds among 128 trials are one in 128, which ends in an exact half. */
static void means_are_exact(void)
{
    struct ratio sum = {0, 1};
    for (int i = 0; i < 3; i++) {
        sum = ratio_plus(sum, (struct ratio){1, 3});
    }
    check_ratio(ratio_over(sum, 128), "0.007813");
}

/* The reciprocals of 1 to 60 have a common denominator of 25 digits; H(60) = 4.679870412951738…
 * (OEIS A001008/A002805). */
static void huge_denominators_fall_back(void)
{
    struct ratio sum = {0, 1};
    for (int64_t d = 1; d <= 60; d++) {
        sum = ratio_plus(sum, (struct ratio){1, d});
    }
    check_ratio(sum, "4.679870");
}

static void money_keeps_every_digit(void)
{
    static const struct {
        int64_t nano;
        const char *currency, *want;
    } cases[] = {{0, "USD", "0.00 USD"},
                 {500000000, "CNY", "0.50 CNY"},
                 {125000, "USD", "0.000125 USD"},
                 {1, "", "0.000000001"},
                 {1234500000, "", "1.2345"},
                 {100000000000, NULL, "100.00"},
                 {INT64_MAX, NULL, "9223372036.854775807"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = {0};
        money_add(&b, cases[i].nano, str_of(cases[i].currency));
        buf_char(&b, '\0');
        CHECK_TEXT(b.p, cases[i].want);
        buf_free(&b);
    }
}

TESTS(ratio, {"ratio_has_six_decimals_half_up", six_decimals_half_up},
      {"ratio_means_are_exact", means_are_exact},
      {"ratio_rounds_sums_with_huge_denominators", huge_denominators_fall_back},
      {"money_keeps_every_digit", money_keeps_every_digit})
