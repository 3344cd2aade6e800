/* Exact fractions, for scores and their means; and how they and money are written. */
#ifndef EVALS_RATIO_H
#define EVALS_RATIO_H

#include "kernel/base/str.h"

/* A ratio as an exact fraction; den 0 = null. */
struct ratio {
    int64_t num;
    int64_t den;
};

/* a + b; both must have den > 0. Exact while the common denominator stays below 10^12, from then on
 * rounded to units of 10^-12. */
struct ratio ratio_plus(struct ratio a, struct ratio b);

/* a / n, n ≥ 1; the denominator of `a` times n must fit. */
struct ratio ratio_over(struct ratio a, int64_t n);

/* Appends a ratio with 6 decimals, rounded half up, or null. num ≥ 0, den ≤ 10^18. */
void ratio_add(struct buf *out, struct ratio r);

/* Appends an amount of nano-units (≥ 0) as a decimal with at least two places, and its currency (n
 * 0 = unknown): "0.50 USD", "0.000125 CNY". */
void money_add(struct buf *out, int64_t nano, struct str currency);
#endif
