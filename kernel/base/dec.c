#include "kernel/base/dec.h"

#include <stdio.h>
#include <string.h>

#include "kernel/base/ascii.h"
#include "kernel/base/val.h"

enum {
    WIDE_DIGITS = 2 * DEC_DIGITS_MAX + 2, /* a product, or a sum with its carry */
    EXP_CLAMP = 100 * DEC_EXP_MAX         /* where reading an exponent stops growing */
};

/* A result before it is trimmed and checked against the limits. */
struct wide {
    int64_t exp;
    size_t n;
    uint8_t digits[WIDE_DIGITS];
};

/* Takes leading and trailing zeros off `w` and stores it. */
static int settle(struct wide *w, bool negative, struct dec *out)
{
    size_t from = 0;
    while (w->n > 0 && w->digits[w->n - 1] == 0) {
        w->n--;
        w->exp++;
    }
    while (from < w->n && w->digits[from] == 0) {
        from++;
    }
    size_t n = w->n - from;
    if (n == 0) {
        *out = (struct dec){0};
        return 0;
    }
    if (n > DEC_DIGITS_MAX || w->exp > DEC_EXP_MAX || w->exp < -DEC_EXP_MAX) {
        return ERR_LIMIT;
    }
    out->negative = negative;
    out->exp = (int32_t)w->exp;
    out->n = (uint32_t)n;
    memcpy(out->digits, w->digits + from, n);
    return 0;
}

/* d without trailing zeros. */
static struct dec trimmed(const struct dec *d)
{
    struct dec t = *d;
    while (t.n > 0 && t.digits[t.n - 1] == 0) {
        t.n--;
        t.exp++;
    }
    if (t.n == 0) {
        t.exp = 0;
        t.negative = false;
    }
    return t;
}

static bool is_digit(struct str s, size_t at)
{
    return at < s.n && ascii_digit(s.p[at]);
}

/* Reads an exponent at *at, clamped; false when there is no digit. */
static bool read_exponent(struct str s, size_t *at, int64_t *exp)
{
    bool negative = *at < s.n && s.p[*at] == '-';
    if (negative || (*at < s.n && s.p[*at] == '+')) {
        *at += 1;
    }
    if (!is_digit(s, *at)) {
        return false;
    }
    int64_t size = 0;
    for (; is_digit(s, *at); *at += 1) {
        size = size > EXP_CLAMP ? size : size * 10 + (s.p[*at] - '0');
    }
    *exp = negative ? -size : size;
    return true;
}

/* Adds one digit of the text. Zeros that may turn out to be trailing are only counted. */
static bool take_digit(struct wide *w, size_t *zeros, char c)
{
    if (c == '0') {
        *zeros += w->n > 0 ? 1 : 0;
        return true;
    }
    if (*zeros >= DEC_DIGITS_MAX || w->n + *zeros >= DEC_DIGITS_MAX) {
        return false;
    }
    memset(w->digits + w->n, 0, *zeros);
    w->n += *zeros;
    *zeros = 0;
    w->digits[w->n++] = (uint8_t)(c - '0');
    return true;
}

int dec_parse(struct str text, struct dec *out)
{
    struct wide w;
    w.n = 0;
    size_t at = 0, zeros = 0;
    bool negative = text.n > 0 && text.p[0] == '-', fits = true;
    if (negative || (text.n > 0 && text.p[0] == '+')) {
        at++;
    }
    size_t whole = at;
    for (; is_digit(text, at); at++) {
        fits = take_digit(&w, &zeros, text.p[at]) && fits;
    }
    size_t n_whole = at - whole, n_fraction = 0;
    if (n_whole > 1 && text.p[whole] == '0') {
        return ERR_INPUT;
    }
    if (at < text.n && text.p[at] == '.') {
        for (at++; is_digit(text, at); at++, n_fraction++) {
            fits = take_digit(&w, &zeros, text.p[at]) && fits;
        }
    }
    int64_t exp = 0;
    bool valid = n_whole + n_fraction > 0;
    if (valid && at < text.n && (text.p[at] == 'e' || text.p[at] == 'E')) {
        at++;
        valid = read_exponent(text, &at, &exp);
    }
    if (!valid || at != text.n) {
        return ERR_INPUT;
    }
    w.exp = exp - (int64_t)n_fraction + (int64_t)zeros;
    return fits ? settle(&w, negative, out) : ERR_LIMIT;
}

/* The digit of d that counts 10^place. */
static unsigned digit_of(const struct dec *d, int64_t place)
{
    int64_t i = (int64_t)d->exp + d->n - 1 - place;
    return i >= 0 && i < d->n ? d->digits[i] : 0;
}

static int compare_sizes(const struct dec *a, const struct dec *b)
{
    if (a->n == 0 || b->n == 0) {
        return (a->n > 0) - (b->n > 0);
    }
    int64_t top_a = (int64_t)a->exp + a->n, top_b = (int64_t)b->exp + b->n;
    if (top_a != top_b) {
        return top_a < top_b ? -1 : 1;
    }
    for (size_t i = 0; i < a->n || i < b->n; i++) {
        unsigned x = i < a->n ? a->digits[i] : 0, y = i < b->n ? b->digits[i] : 0;
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

int dec_cmp(const struct dec *a, const struct dec *b)
{
    int sign_a = a->n == 0 ? 0 : a->negative ? -1 : 1;
    int sign_b = b->n == 0 ? 0 : b->negative ? -1 : 1;
    if (sign_a != sign_b) {
        return sign_a < sign_b ? -1 : 1;
    }
    return sign_a < 0 ? -compare_sizes(a, b) : compare_sizes(a, b);
}

/* |a| + |b| (plus) or |a| - |b| with |a| >= |b|, both without trailing zeros. */
static int combine(const struct dec *a, const struct dec *b, bool plus, bool negative,
                   struct dec *out)
{
    int64_t low = a->exp < b->exp ? a->exp : b->exp;
    int64_t top_a = (int64_t)a->exp + a->n, top_b = (int64_t)b->exp + b->n;
    int64_t span = (top_a > top_b ? top_a : top_b) - low;
    /* The lowest digit stays, and a borrow takes at most one digit from the top, unless both tops
     * are level: then the span is no longer than one of the two. */
    if (span > DEC_DIGITS_MAX + 1) {
        return ERR_LIMIT;
    }
    struct wide w;
    w.exp = low;
    w.n = (size_t)span + 1;
    int carry = 0;
    for (int64_t i = 0; i <= span; i++) {
        int x = (int)digit_of(a, low + i), y = (int)digit_of(b, low + i);
        int sum = plus ? x + y + carry : x - y + carry + 10;
        carry = plus ? sum / 10 : sum / 10 - 1;
        w.digits[w.n - 1 - (size_t)i] = (uint8_t)(sum % 10);
    }
    return settle(&w, negative, out);
}

/* a + b, with b's sign turned where `minus`. */
static int add(const struct dec *a, const struct dec *b, bool minus, struct dec *out)
{
    struct dec x = trimmed(a), y = trimmed(b);
    y.negative = y.negative != minus;
    if (x.n == 0 || y.n == 0) {
        *out = x.n == 0 ? y : x;
        out->negative = out->negative && out->n > 0;
        return 0;
    }
    if (x.negative == y.negative) {
        return combine(&x, &y, true, x.negative, out);
    }
    return compare_sizes(&x, &y) >= 0 ? combine(&x, &y, false, x.negative, out)
                                      : combine(&y, &x, false, y.negative, out);
}

int dec_add(const struct dec *a, const struct dec *b, struct dec *out)
{
    return add(a, b, false, out);
}

int dec_sub(const struct dec *a, const struct dec *b, struct dec *out)
{
    return add(a, b, true, out);
}

int dec_mul(const struct dec *a, const struct dec *b, struct dec *out)
{
    uint32_t sums[2 * DEC_DIGITS_MAX] = {0};
    for (size_t i = 0; i < a->n; i++) {
        for (size_t j = 0; j < b->n; j++) {
            sums[i + j + 1] += (uint32_t)a->digits[i] * b->digits[j];
        }
    }
    struct wide w;
    w.exp = (int64_t)a->exp + b->exp;
    w.n = (size_t)a->n + b->n;
    uint32_t carry = 0;
    for (size_t i = w.n; i > 0; i--) {
        uint32_t sum = sums[i - 1] + carry;
        w.digits[i - 1] = (uint8_t)(sum % 10);
        carry = sum / 10;
    }
    return settle(&w, a->negative != b->negative, out);
}

/* The remainder of a long division: always less than the divisor, n digits, the first always 0. */
struct remainder {
    const struct dec *divisor;
    size_t n;
    uint8_t digits[DEC_DIGITS_MAX + 1];
};

static void remainder_start(struct remainder *r, const struct dec *divisor)
{
    r->divisor = divisor;
    r->n = (size_t)divisor->n + 1;
    memset(r->digits, 0, r->n);
}

static bool remainder_is_zero(const struct remainder *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->digits[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Brings the next digit down; returns the digit of the quotient. */
static uint8_t remainder_step(struct remainder *r, uint8_t digit)
{
    const uint8_t *by = r->divisor->digits;
    memmove(r->digits, r->digits + 1, r->n - 1);
    r->digits[r->n - 1] = digit;
    uint8_t quotient = 0;
    while (r->digits[0] > 0 || memcmp(r->digits + 1, by, r->n - 1) >= 0) {
        int borrow = 0;
        for (size_t i = r->n - 1; i > 0; i--) {
            int left = r->digits[i] - by[i - 1] - borrow;
            borrow = left < 0 ? 1 : 0;
            r->digits[i] = (uint8_t)(left + 10 * borrow);
        }
        r->digits[0] = (uint8_t)(r->digits[0] - borrow);
        quotient++;
    }
    return quotient;
}

/* Rounds half to even to at most `precision` digits; `more`: something that is not zero follows
 * after the last digit. w has no leading zeros, and room for none is needed: a carry out of the top
 * leaves a single 1. */
static void round_wide(struct wide *w, size_t precision, bool more)
{
    if (w->n <= precision) {
        return;
    }
    for (size_t i = precision + 1; i < w->n; i++) {
        more = more || w->digits[i] != 0;
    }
    unsigned next = w->digits[precision];
    bool odd = w->digits[precision - 1] % 2 == 1;
    w->exp += (int64_t)(w->n - precision);
    w->n = precision;
    if (next < 5 || (next == 5 && !more && !odd)) {
        return;
    }
    size_t at = precision;
    while (at > 0 && w->digits[at - 1] == 9) {
        w->digits[--at] = 0;
    }
    if (at > 0) {
        w->digits[at - 1]++;
    } else {
        w->digits[0] = 1;
        w->exp += (int64_t)precision;
        w->n = 1;
    }
}

static unsigned clamp_precision(unsigned precision)
{
    return precision < 1 ? 1 : precision > DEC_DIGITS_MAX ? DEC_DIGITS_MAX : precision;
}

int dec_div(const struct dec *a, const struct dec *b, unsigned precision, struct dec *out)
{
    struct dec x = trimmed(a), y = trimmed(b);
    if (y.n == 0) {
        return ERR_INPUT;
    }
    precision = clamp_precision(precision);
    struct remainder rest;
    remainder_start(&rest, &y);
    struct wide w;
    w.n = 0;
    int64_t taken = 0;
    while (w.n <= precision && (taken < x.n || !remainder_is_zero(&rest))) {
        uint8_t digit = remainder_step(&rest, taken < x.n ? x.digits[taken] : 0);
        taken++;
        if (w.n > 0 || digit > 0) {
            w.digits[w.n++] = digit;
        }
    }
    /* x has no trailing zeros, so digits that were not taken are not all zero. */
    bool more = taken < x.n || !remainder_is_zero(&rest);
    w.exp = (int64_t)x.exp - y.exp + (int64_t)x.n - taken;
    round_wide(&w, precision, more);
    return settle(&w, x.negative != y.negative, out);
}

int dec_is_multiple(const struct dec *a, const struct dec *b, bool *out)
{
    struct dec x = trimmed(a), y = trimmed(b);
    if (y.n == 0) {
        return ERR_INPUT;
    }
    if (x.n == 0) {
        *out = true;
        return 0;
    }
    /* Without its trailing zeros x is no multiple of 10, so of no 10^n either. */
    if (x.exp < y.exp) {
        *out = false;
        return 0;
    }
    struct remainder rest;
    remainder_start(&rest, &y);
    for (size_t i = 0; i < x.n; i++) {
        remainder_step(&rest, x.digits[i]);
    }
    /* Each zero brought down can only take a factor 2 and a 5 off what is missing, and the divisor
     * has fewer than 4 of either a digit: after that many zeros nothing changes any more. */
    int64_t zeros = (int64_t)x.exp - y.exp, useful = 4 * (int64_t)y.n;
    for (int64_t i = 0; i < zeros && i < useful && !remainder_is_zero(&rest); i++) {
        remainder_step(&rest, 0);
    }
    *out = remainder_is_zero(&rest);
    return 0;
}

void dec_format(struct buf *out, const struct dec *d)
{
    char text[DEC_DIGITS_MAX + 32];
    size_t n = 0;
    if (d->negative) {
        text[n++] = '-';
    }
    for (size_t i = 0; i < d->n; i++) {
        text[n++] = (char)('0' + d->digits[i]);
    }
    if (d->n == 0) {
        text[n++] = '0';
    }
    int written = snprintf(text + n, sizeof text - n, "e%d", (int)d->exp);
    n += written < 0 ? 0 : (size_t)written;
    num_canonical(out, (struct str){text, n});
}
