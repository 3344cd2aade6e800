/* Numbers as Python has them: whole ones of any size, and doubles read and written without loss. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/ascii.h"

/* A double is decided by at most 767 digits and what follows them being zero or not. */
enum { DIGITS_MAX = 800, LIMBS = 320, POINT_MAX = 310, POINT_MIN = -330, INT_DIGITS_MAX = 4300 };

/* digits × 10^exp, digits without leading and trailing zeros. */
struct decimal {
    bool negative;
    int64_t exp;
    size_t n;
    uint8_t digits[DIGITS_MAX + 1];
};

static void add_digit(struct decimal *d, char c, bool *more)
{
    if (d->n < DIGITS_MAX) {
        if (d->n > 0 || c != '0') {
            d->digits[d->n++] = (uint8_t)(c - '0');
        }
    } else {
        d->exp++;
        *more = *more || c != '0';
    }
}

static int64_t read_exponent(struct str s, size_t at)
{
    bool negative = at < s.n && s.p[at] == '-';
    int64_t e = 0;
    at += at < s.n && (s.p[at] == '-' || s.p[at] == '+') ? 1 : 0;
    for (; at < s.n && ascii_digit(s.p[at]); at++) {
        e = e < 1000000000 ? e * 10 + (s.p[at] - '0') : e;
    }
    return negative ? -e : e;
}

static void read_decimal(struct str s, struct decimal *d)
{
    bool more = false;
    size_t at = 0;
    d->n = 0;
    d->exp = 0;
    d->negative = s.n > 0 && s.p[0] == '-';
    at += s.n > 0 && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;
    for (; at < s.n && ascii_digit(s.p[at]); at++) {
        add_digit(d, s.p[at], &more);
    }
    if (at < s.n && s.p[at] == '.') {
        for (at++; at < s.n && ascii_digit(s.p[at]); at++) {
            add_digit(d, s.p[at], &more);
            d->exp--;
        }
    }
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        d->exp += read_exponent(s, at + 1);
    }
    if (more) { /* a digit that stands for all that are left out */
        d->digits[d->n++] = 1;
        d->exp--;
    }
    while (d->n > 0 && d->digits[d->n - 1] == 0) {
        d->n--;
        d->exp++;
    }
}

/* A whole number of 32-bit limbs, the lowest first. */
struct big {
    size_t n;
    uint32_t limb[LIMBS];
};

static void big_mul_add(struct big *b, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (size_t i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry > 0) {
        assert(b->n < LIMBS);
        b->limb[b->n++] = (uint32_t)carry;
    }
}

static size_t big_bits(const struct big *b)
{
    size_t bits = 32 * b->n;
    for (uint32_t mask = UINT32_C(1) << 31; b->n > 0 && (b->limb[b->n - 1] & mask) == 0;
         mask >>= 1) {
        bits--;
    }
    return bits;
}

static void big_shift(struct big *b, size_t bits)
{
    size_t limbs = bits / 32;
    if (limbs > 0 && b->n > 0) {
        assert(b->n + limbs < LIMBS);
        memmove(b->limb + limbs, b->limb, b->n * sizeof b->limb[0]);
        memset(b->limb, 0, limbs * sizeof b->limb[0]);
        b->n += limbs;
    }
    if (bits % 32 > 0) {
        big_mul_add(b, UINT32_C(1) << (bits % 32), 0);
    }
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    for (size_t i = a->n; i-- > 0;) {
        if (a->limb[i] != b->limb[i]) {
            return a->limb[i] < b->limb[i] ? -1 : 1;
        }
    }
    return 0;
}

/* a -= b, a ≥ b */
static void big_subtract(struct big *a, const struct big *b)
{
    uint32_t borrow = 0;
    for (size_t i = 0; i < a->n; i++) {
        uint64_t take = (uint64_t)(i < b->n ? b->limb[i] : 0) + borrow;
        borrow = a->limb[i] < take ? 1 : 0;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->n > 0 && a->limb[a->n - 1] == 0) {
        a->n--;
    }
}

static void big_of_decimal(const struct decimal *d, struct big *num, struct big *den)
{
    num->n = 0;
    den->n = 0;
    big_mul_add(den, 1, 1);
    for (size_t i = 0; i < d->n; i++) {
        big_mul_add(num, 10, d->digits[i]);
    }
    for (int64_t i = 0; i < d->exp; i++) {
        big_mul_add(num, 10, 0);
    }
    for (int64_t i = 0; i > d->exp; i--) {
        big_mul_add(den, 10, 0);
    }
}

/* num / den rounded to a double, half to even: long division in base 2. */
static double big_divide(struct big *num, struct big *den)
{
    int shift = (int)big_bits(num) - (int)big_bits(den);
    big_shift(shift > 0 ? den : num, (size_t)(shift > 0 ? shift : -shift));
    if (big_compare(num, den) < 0) { /* now 1 ≤ num / den < 2 */
        big_mul_add(num, 2, 0);
        shift--;
    }
    int bits = shift >= -1022 ? 53 : 53 - (-1022 - shift); /* fewer below the normal ones */
    if (bits < 0) {
        return 0.0;
    }
    uint64_t q = 0;
    for (int i = 0; i < bits; i++) {
        bool one = big_compare(num, den) >= 0;
        if (one) {
            big_subtract(num, den);
        }
        big_mul_add(num, 2, 0);
        q = 2 * q + (one ? 1 : 0);
    }
    int rest = big_compare(num, den);
    q += rest > 0 || (rest == 0 && q % 2 == 1) ? 1 : 0;
    return ldexp((double)q, shift - bits + 1);
}

/* The numbers that people write: both parts are exact doubles, so that one operation rounds once.
 */
static bool exact_parts(const struct decimal *d, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->n > 15 || d->exp > 22 || d->exp < -22) {
        return false;
    }
    uint64_t m = 0;
    for (size_t i = 0; i < d->n; i++) {
        m = m * 10 + d->digits[i];
    }
    *out = d->exp >= 0 ? (double)m * tens[d->exp] : (double)m / tens[-d->exp];
    return true;
}

double bfcl_double(struct str number)
{
    struct decimal d;
    struct big num, den;
    double out;
    read_decimal(number, &d);
    if (d.n == 0 || (int64_t)d.n + d.exp < POINT_MIN) {
        out = 0.0;
    } else if ((int64_t)d.n + d.exp > POINT_MAX) {
        out = INFINITY;
    } else if (!exact_parts(&d, &out)) {
        big_of_decimal(&d, &num, &den);
        out = big_divide(&num, &den);
    }
    return d.negative ? -out : out;
}

struct str bfcl_digits(struct arena *arena, struct str number)
{
    bool negative = number.n > 0 && number.p[0] == '-';
    size_t at = number.n > 0 && (number.p[0] == '-' || number.p[0] == '+') ? 1 : 0;
    size_t first = at;
    while (at + 1 < number.n && number.p[at] == '0') {
        at++;
    }
    struct str digits = str_slice(number, at, number.n);
    if (!negative || str_is(digits, "0")) {
        return digits;
    }
    if (at == first) {
        return number;
    }
    return arena_printf(arena, "-%.*s", STR_FMT(digits));
}

bool bfcl_int_is_double(struct str digits, double d)
{
    char text[400];
    if (!isfinite(d) || floor(d) != d) {
        return false;
    }
    int n = snprintf(text, sizeof text, "%.0f", d == 0.0 ? 0.0 : d);
    assert(n > 0 && n < (int)sizeof text);
    return str_eq(digits, (struct str){text, (size_t)n});
}

/* The digits and the exponent of the first one: d = ±D.DDD × 10^exp, the fewest digits that give d
 * again. Returns their number. */
static size_t shortest(double d, char digits[20], int *exp)
{
    size_t n = 0;
    for (int precision = d < 1e-300 ? 1 : 15; precision <= 17; precision++) {
        char text[40];
        int length = snprintf(text, sizeof text, "%.*e", precision - 1, d);
        assert(length > 0 && length < (int)sizeof text);
        struct str s = {text, (size_t)length};
        size_t e = str_find(s, STR("e"));
        *exp = (int)read_exponent(s, e + 1);
        n = 0;
        for (size_t i = 0; i < e; i++) {
            if (ascii_digit(text[i])) {
                digits[n++] = text[i];
            }
        }
        if (bfcl_double(s) == d) {
            break;
        }
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    return n;
}

void bfcl_real_repr(struct buf *out, double d)
{
    char digits[20];
    int exp = 0;
    if (isnan(d)) {
        buf_addz(out, "nan");
        return;
    }
    buf_addz(out, signbit(d) ? "-" : "");
    if (isinf(d)) {
        buf_addz(out, "inf");
        return;
    }
    size_t n = shortest(fabs(d), digits, &exp);
    if (exp < -4 || exp >= 16) {
        buf_char(out, digits[0]);
        buf_addz(out, n > 1 ? "." : "");
        buf_add(out, (struct str){digits + 1, n - 1});
        buf_fmt(out, "e%c%02d", exp < 0 ? '-' : '+', exp < 0 ? -exp : exp);
        return;
    }
    for (int i = exp < 0 ? exp : 0; i < (int)n || i <= exp + 1; i++) {
        if (i == exp + 1) {
            buf_char(out, '.');
        }
        buf_char(out, i >= 0 && i < (int)n ? digits[i] : '0');
    }
}

/* White space as Python strips it, of ASCII. */
static struct str strip(struct str s)
{
    while (s.n > 0 && strchr(" \t\n\r\v\f\x1c\x1d\x1e\x1f", s.p[0]) != NULL && s.p[0] != '\0') {
        s = str_slice(s, 1, s.n);
    }
    while (s.n > 0 && strchr(" \t\n\r\v\f\x1c\x1d\x1e\x1f", s.p[s.n - 1]) != NULL &&
           s.p[s.n - 1] != '\0') {
        s.n--;
    }
    return s;
}

/* s without the underscores between digits, in arena; false where one stands elsewhere. */
static bool without_underscores(struct arena *arena, struct str s, struct str *out)
{
    if (memchr(s.p, '_', s.n) == NULL) {
        *out = s;
        return true;
    }
    char *p = arena_alloc(arena, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_') {
            p[n++] = s.p[i];
        } else if (i == 0 || i + 1 == s.n || !ascii_digit(s.p[i - 1]) || !ascii_digit(s.p[i + 1])) {
            return false;
        }
    }
    *out = (struct str){p, n};
    return true;
}

static size_t digits_from(struct str s, size_t at)
{
    while (at < s.n && ascii_digit(s.p[at])) {
        at++;
    }
    return at;
}

bool bfcl_parse_int(struct arena *arena, struct str s, struct bfcl_value *out)
{
    s = strip(s);
    if (s.n == 0 || !without_underscores(arena, s, &s)) {
        return false;
    }
    size_t from = s.p[0] == '-' || s.p[0] == '+' ? 1 : 0;
    if (from == s.n || digits_from(s, from) != s.n || s.n - from > INT_DIGITS_MAX) {
        return false;
    }
    *out = (struct bfcl_value){.type = BFCL_INT, .text = bfcl_digits(arena, s)};
    return true;
}

static bool is_float(struct str s)
{
    size_t from = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;
    size_t at = digits_from(s, from);
    size_t digits = at - from;
    if (at < s.n && s.p[at] == '.') {
        size_t end = digits_from(s, at + 1);
        digits += end - at - 1;
        at = end;
    }
    if (digits == 0) {
        return false;
    }
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        at++;
        at += at < s.n && (s.p[at] == '-' || s.p[at] == '+') ? 1 : 0;
        size_t end = digits_from(s, at);
        if (end == at) {
            return false;
        }
        at = end;
    }
    return at == s.n;
}

bool bfcl_parse_float(struct arena *arena, struct str s, struct bfcl_value *out)
{
    s = strip(s);
    if (s.n == 0 || !without_underscores(arena, s, &s)) {
        return false;
    }
    bool negative = s.p[0] == '-';
    struct str word = str_slice(s, negative || s.p[0] == '+' ? 1 : 0, s.n);
    *out = (struct bfcl_value){.type = BFCL_FLOAT};
    if (str_is_nocase(word, "inf") || str_is_nocase(word, "infinity")) {
        out->real = negative ? -INFINITY : INFINITY;
        return true;
    }
    if (str_is_nocase(word, "nan")) {
        out->real = NAN;
        return true;
    }
    if (!is_float(s)) {
        return false;
    }
    out->real = bfcl_double(s);
    return true;
}
