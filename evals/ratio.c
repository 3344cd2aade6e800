#include "evals/ratio.h"
#include "kernel/base/val.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define DEN_MAX INT64_C(1000000000000)

enum { MILLION = 1000000 };

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* num × 10^12 / den rounded half up, a digit at a time so that nothing overflows. */
static int64_t in_units(struct ratio r)
{
    uint64_t den = (uint64_t)r.den;
    uint64_t units = (uint64_t)r.num / den;
    uint64_t rest = (uint64_t)r.num % den;
    for (int i = 0; i < 12; i++) {
        rest *= 10;
        units = units * 10 + rest / den;
        rest %= den;
    }
    return (int64_t)(units + (rest >= den - rest ? 1 : 0));
}

struct ratio ratio_plus(struct ratio a, struct ratio b)
{
    assert(a.den > 0 && b.den > 0 && a.den <= DEN_MAX && b.den <= DEN_MAX);
    int64_t step = b.den / gcd(a.den, b.den);
    if (step > DEN_MAX / a.den) {
        return (struct ratio){in_units(a) + in_units(b), DEN_MAX};
    }
    int64_t den = a.den * step;
    return (struct ratio){a.num * step + b.num * (den / b.den), den};
}

struct ratio ratio_over(struct ratio a, int64_t n)
{
    assert(n >= 1 && a.den > 0 && n <= INT64_MAX / a.den);
    return (struct ratio){a.num, a.den * n};
}

void ratio_add(struct buf *out, struct ratio r)
{
    if (r.den == 0) {
        buf_addz(out, "null");
        return;
    }
    assert(r.num >= 0 && r.den > 0 && r.den <= DEN_MAX * MILLION);
    uint64_t den = (uint64_t)r.den;
    uint64_t whole = (uint64_t)r.num / den;
    uint64_t rest = (uint64_t)r.num % den;
    uint64_t millionths = 0;
    /* A million times a rest below 10^12 fits 64 bits, ten times any other. */
    uint64_t scale = r.den <= DEN_MAX ? MILLION : 10;
    for (uint64_t done = 1; done < MILLION; done *= scale) {
        rest *= scale;
        millionths = millionths * scale + rest / den;
        rest %= den;
    }
    millionths += rest >= den - rest ? 1 : 0;
    whole += millionths / MILLION;
    char digits[] = ".000000";
    for (size_t i = sizeof digits - 2; i > 0; i--, millionths /= 10) {
        digits[i] = (char)('0' + millionths % 10);
    }
    buf_int(out, (int64_t)whole);
    buf_addz(out, digits);
}

void money_add(struct buf *out, int64_t nano, struct str currency)
{
    char text[40];
    int n =
        snprintf(text, sizeof text, "%" PRId64 ".%09" PRId64, nano / 1000000000, nano % 1000000000);
    assert(nano >= 0 && n > 10 && n < (int)sizeof text);
    while (text[n - 1] == '0' && text[n - 3] != '.') { /* cents stay: 0.50 */
        n--;
    }
    buf_add(out, (struct str){text, (size_t)n});
    if (currency.n > 0) {
        buf_char(out, ' ');
        buf_add(out, currency);
    }
}
