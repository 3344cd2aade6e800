/* Exact decimal arithmetic, so that 42.4 - 38.2 is 4.2. */
#ifndef KERNEL_BASE_DEC_H
#define KERNEL_BASE_DEC_H

#include "kernel/base/err.h"
#include "kernel/base/str.h"

enum { DEC_DIGITS_MAX = 1024, DEC_EXP_MAX = 100000 };

/* value = (-1)^negative × digits × 10^exp; digits is a big integer, most significant first, one
 * decimal digit (0..9) a byte, without leading zeros; zero has n = 0. */
struct dec {
    bool negative;
    int32_t exp;
    uint32_t n;
    uint8_t digits[DEC_DIGITS_MAX];
};

/* Parses JSON's number grammar, also with a leading plus, ".5" and "5.". ERR_INPUT if it is no
 * number, ERR_LIMIT beyond DEC_DIGITS_MAX digits or |exp| over DEC_EXP_MAX. */
int dec_parse(struct str text, struct dec *out) MUST_CHECK;

/* Each: 0, or ERR_LIMIT when the exact result needs more than DEC_DIGITS_MAX digits or an exponent
 * beyond DEC_EXP_MAX; *out is then untouched. out may be a or b. Results have no trailing zeros. */
int dec_add(const struct dec *a, const struct dec *b, struct dec *out) MUST_CHECK;
int dec_sub(const struct dec *a, const struct dec *b, struct dec *out) MUST_CHECK;
int dec_mul(const struct dec *a, const struct dec *b, struct dec *out) MUST_CHECK;

/* Quotient rounded half to even to `precision` significant digits (exact when shorter), 1 to
 * DEC_DIGITS_MAX, clamped. ERR_INPUT when b is zero, ERR_LIMIT when the exponent is beyond
 * DEC_EXP_MAX; *out is then untouched. */
int dec_div(const struct dec *a, const struct dec *b, unsigned precision,
            struct dec *out) MUST_CHECK;

/* Whether a is a whole multiple of b, exact for any exponents. ERR_INPUT when b is zero. */
int dec_is_multiple(const struct dec *a, const struct dec *b, bool *out) MUST_CHECK;

/* Exact order: < 0, 0, > 0. */
int dec_cmp(const struct dec *a, const struct dec *b);

/* Appends the canonical number text (the form of num_canonical). */
void dec_format(struct buf *out, const struct dec *d);
#endif
