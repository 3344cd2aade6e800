/* Exact fractions for scores and their means. */
#ifndef EVALS_RATIO_INT_H
#define EVALS_RATIO_INT_H

#include "evals/eval.h"

/* a + b; both must have den > 0. Exact while the common denominator stays below 10^12, from then on
 * rounded to units of 10^-12. */
struct ratio ratio_plus(struct ratio a, struct ratio b);

/* a / n, n ≥ 1; the denominator of `a` times n must fit. */
struct ratio ratio_over(struct ratio a, int64_t n);
#endif
