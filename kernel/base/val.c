#include "kernel/base/ascii.h"
#include "kernel/base/val_int.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAIN_MIN = -7,
    PLAIN_MAX = 20,
    EXPONENT_DIGITS_MAX = 17,
    FEW_DIGITS = 18 /* that any int64 can hold */
};

const struct val *val_find(const struct val *v, struct str key)
{
    if (v == NULL || v->kind != VAL_OBJECT) {
        return NULL;
    }
    for (size_t i = v->count; i > 0; i--) {
        if (str_eq(v->members[i - 1].key, key)) {
            return &v->members[i - 1].value;
        }
    }
    return NULL;
}

const struct val *val_path(const struct val *v, ...)
{
    va_list keys;
    va_start(keys, v);
    const char *key = va_arg(keys, const char *);
    while (v != NULL && key != NULL) {
        v = val_get(v, key);
        key = va_arg(keys, const char *);
    }
    va_end(keys);
    return v;
}

const struct val *val_item(const struct val *v, size_t i)
{
    return val_is(v, VAL_ARRAY) && i < v->count ? &v->items[i] : NULL;
}

bool val_is(const struct val *v, enum val_kind kind)
{
    return v != NULL && v->kind == kind;
}

struct str val_text(const struct val *v)
{
    return val_is(v, VAL_STRING) ? v->text : (struct str){NULL, 0};
}

/* Most numbers: a few digits and nothing else. */
static bool few_digits(struct str s, int64_t *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
        n = n * 10 + (s.p[i] - '0');
    }
    *out = n;
    return true;
}

bool val_int(const struct val *v, int64_t *out)
{
    if (!val_is(v, VAL_NUMBER)) {
        return false;
    }
    return (v->text.n <= FEW_DIGITS && few_digits(v->text, out)) ||
           (num_is_integer(v->text) && num_scaled(v->text, 0, out));
}

/* Merges the sorted runs [from, middle) and [middle, to) of `in` into `out`, keeping the order of
 * equal keys. */
static void merge(const struct member **in, const struct member **out, size_t from, size_t middle,
                  size_t to)
{
    size_t a = from, b = middle;
    for (size_t i = from; i < to; i++) {
        if (a < middle && (b == to || str_cmp(in[a]->key, in[b]->key) <= 0)) {
            out[i] = in[a++];
        } else {
            out[i] = in[b++];
        }
    }
}

/* A bottom-up merge sort between the two arrays; returns the one that holds the result. */
static const struct member **sort(const struct member **in, const struct member **spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = n - from < width ? n : from + width;
            size_t to = n - middle < width ? n : middle + width;
            merge(in, spare, from, middle, to);
        }
        const struct member **sorted = spare;
        spare = in;
        in = sorted;
    }
    return in;
}

const struct member **val_sorted(const struct val *object, size_t *n)
{
    const struct member **all = mem_alloc(2 * object->count * sizeof(const struct member *));
    for (size_t i = 0; i < object->count; i++) {
        all[i] = &object->members[i];
    }
    const struct member **sorted = sort(all, all + object->count, object->count);
    size_t kept = 0;
    for (size_t i = 0; i < object->count; i++) {
        if (i + 1 == object->count || !str_eq(sorted[i]->key, sorted[i + 1]->key)) {
            all[kept++] = sorted[i];
        }
    }
    *n = kept;
    return all;
}

static bool objects_equal(const struct val *a, const struct val *b)
{
    size_t n_a, n_b;
    const struct member **in_a = val_sorted(a, &n_a), **in_b = val_sorted(b, &n_b);
    bool equal = n_a == n_b;
    for (size_t i = 0; equal && i < n_a; i++) {
        equal = str_eq(in_a[i]->key, in_b[i]->key) && val_equal(&in_a[i]->value, &in_b[i]->value);
    }
    free(in_a);
    free(in_b);
    return equal;
}

static bool arrays_equal(const struct val *a, const struct val *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!val_equal(&a->items[i], &b->items[i])) {
            return false;
        }
    }
    return true;
}

bool val_equal(const struct val *a, const struct val *b)
{
    if (a == b || a == NULL || b == NULL) {
        return a == b;
    }
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case VAL_NULL: return true;
    case VAL_BOOL: return a->boolean == b->boolean;
    case VAL_NUMBER: return num_compare(a->text, b->text) == 0;
    case VAL_STRING: return str_eq(a->text, b->text);
    case VAL_ARRAY: return arrays_equal(a, b);
    case VAL_OBJECT: return objects_equal(a, b);
    }
    return false;
}

const char *val_kind_name(enum val_kind kind)
{
    switch (kind) {
    case VAL_NULL: return "null";
    case VAL_BOOL: return "a boolean";
    case VAL_NUMBER: return "a number";
    case VAL_STRING: return "a string";
    case VAL_ARRAY: return "a list";
    case VAL_OBJECT: return "a map";
    }
    return "a value";
}

struct val val_of_str(struct str s)
{
    return (struct val){.kind = VAL_STRING, .text = s};
}

/* A number taken apart without copying: ±0.d1d2d3… × 10^(point + exponent), d1 and dn not 0.
 * n = 0 is zero. Exponents that fit are in `point` already; one too long for that keeps its digits
 * in `exponent` (without leading zeros), and `exponent_negative`. */
struct parts {
    bool negative;
    bool exponent_negative;
    const char *digits; /* text from d1 on, perhaps with a dot in it */
    size_t dot;         /* how many digits stand before that dot */
    size_t n;
    int64_t point;
    struct str exponent;
};

static char digit_at(const struct parts *p, size_t i)
{
    return p->digits[i < p->dot ? i : i + 1];
}

static size_t digits_end(struct str s, size_t at)
{
    while (at < s.n && ascii_digit(s.p[at])) {
        at++;
    }
    return at;
}

static void take_exponent(struct str s, size_t at, struct parts *p)
{
    if (at < s.n && (s.p[at] == '+' || s.p[at] == '-')) {
        p->exponent_negative = s.p[at++] == '-';
    }
    size_t end = digits_end(s, at);
    while (at < end && s.p[at] == '0') {
        at++;
    }
    if (end - at > EXPONENT_DIGITS_MAX) {
        p->exponent = str_slice(s, at, end);
        return;
    }
    int64_t exponent = 0;
    for (; at < end; at++) {
        exponent = exponent * 10 + (s.p[at] - '0');
    }
    p->point += p->exponent_negative ? -exponent : exponent;
}

static struct parts take_apart(struct str s)
{
    struct parts p = {.dot = SIZE_MAX};
    size_t at = 0;
    if (at < s.n && (s.p[at] == '-' || s.p[at] == '+')) {
        p.negative = s.p[at++] == '-';
    }
    while (at < s.n && s.p[at] == '0') {
        at++;
    }
    size_t whole = at, whole_end = digits_end(s, at);
    size_t fraction = whole_end, end = whole_end;
    if (whole_end < s.n && s.p[whole_end] == '.') {
        fraction = whole_end + 1;
        end = digits_end(s, fraction);
    }
    if (whole_end > whole) {
        p.digits = s.p + whole;
        p.n = whole_end - whole + (end - fraction);
        p.dot = fraction > whole_end ? whole_end - whole : SIZE_MAX;
        p.point = (int64_t)(whole_end - whole);
    } else {
        size_t first = fraction;
        while (first < end && s.p[first] == '0') {
            first++;
        }
        p.digits = s.p == NULL ? NULL : s.p + first;
        p.n = end - first;
        p.point = -(int64_t)(first - fraction);
    }
    while (p.n > 0 && digit_at(&p, p.n - 1) == '0') {
        p.n--;
    }
    if (end < s.n && (s.p[end] == 'e' || s.p[end] == 'E')) {
        take_exponent(s, end + 1, &p);
    }
    return p;
}

static void add_digits(struct buf *out, const struct parts *p, size_t from, size_t to)
{
    if (from < p->dot && to > p->dot) {
        buf_add(out, (struct str){p->digits + from, p->dot - from});
        from = p->dot;
    }
    if (from < to) {
        buf_add(out, (struct str){p->digits + (from < p->dot ? from : from + 1), to - from});
    }
}

/* Appends exponent + by in decimal: the exponent has more digits than any length, so its sign
 * stays and only the digits change, by a carry or a borrow that runs to the front. */
static void add_long_exponent(struct buf *out, const struct parts *p, int64_t by)
{
    buf_char(out, p->exponent_negative ? '-' : '+');
    struct buf sum = {0};
    buf_char(&sum, '0'); /* room for a carry */
    buf_add(&sum, p->exponent);
    int64_t carry = p->exponent_negative ? -by : by;
    for (size_t i = sum.n; i > 0 && carry != 0; i--) {
        int64_t digit = (sum.p[i - 1] - '0') + carry % 10;
        carry /= 10;
        if (digit > 9) {
            digit -= 10;
            carry++;
        } else if (digit < 0) {
            digit += 10;
            carry--;
        }
        sum.p[i - 1] = (char)('0' + digit);
    }
    size_t from = 0;
    while (from + 1 < sum.n && sum.p[from] == '0') {
        from++;
    }
    buf_add(out, str_slice(buf_str(&sum), from, sum.n));
    buf_free(&sum);
}

/* Appends the exponent that stands beside `point`, with its sign: `point` itself where it holds all
 * of it. */
static void add_exponent(struct buf *out, const struct parts *p, int64_t point)
{
    if (p->exponent.n > 0) {
        add_long_exponent(out, p, point);
        return;
    }
    if (point >= 0) {
        buf_char(out, '+');
    }
    buf_int(out, point);
}

static void add_scientific(struct buf *out, const struct parts *p)
{
    add_digits(out, p, 0, 1);
    if (p->n > 1) {
        buf_char(out, '.');
        add_digits(out, p, 1, p->n);
    }
    buf_char(out, 'e');
    add_exponent(out, p, p->point - 1);
}

void num_canonical(struct buf *out, struct str number)
{
    struct parts p = take_apart(number);
    if (p.n == 0) {
        buf_char(out, '0');
        return;
    }
    if (p.negative) {
        buf_char(out, '-');
    }
    if (p.exponent.n > 0 || p.point - 1 < PLAIN_MIN || p.point - 1 > PLAIN_MAX) {
        add_scientific(out, &p);
        return;
    }
    size_t whole = p.point > 0 ? (size_t)p.point : 0;
    add_digits(out, &p, 0, whole < p.n ? whole : p.n);
    for (size_t i = p.n; i < whole; i++) {
        buf_char(out, '0');
    }
    if (whole == 0) {
        buf_char(out, '0');
    }
    if (whole < p.n) {
        buf_char(out, '.');
        for (int64_t i = p.point; i < 0; i++) {
            buf_char(out, '0');
        }
        add_digits(out, &p, whole, p.n);
    }
}

/* The order of point + exponent where at least one exponent is too long for arithmetic. */
static int compare_long(const struct parts *a, const struct parts *b)
{
    struct buf text_a = {0}, text_b = {0};
    add_exponent(&text_a, a, a->point);
    add_exponent(&text_b, b, b->point);
    bool down_a = text_a.p[0] == '-', down_b = text_b.p[0] == '-';
    int order = text_a.n != text_b.n ? (text_a.n < text_b.n ? -1 : 1)
                                     : str_cmp(buf_str(&text_a), buf_str(&text_b));
    buf_free(&text_a);
    buf_free(&text_b);
    if (down_a != down_b) {
        return down_a ? -1 : 1;
    }
    return down_a ? -order : order;
}

static int compare_sizes(const struct parts *a, const struct parts *b)
{
    int order = a->exponent.n > 0 || b->exponent.n > 0
                    ? compare_long(a, b)
                    : (a->point > b->point) - (a->point < b->point);
    if (order != 0) {
        return order;
    }
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        char x = digit_at(a, i), y = digit_at(b, i);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return (a->n > b->n) - (a->n < b->n);
}

int num_compare(struct str a, struct str b)
{
    if (str_eq(a, b)) {
        return 0;
    }
    struct parts x = take_apart(a), y = take_apart(b);
    int sign_x = x.n == 0 ? 0 : x.negative ? -1 : 1;
    int sign_y = y.n == 0 ? 0 : y.negative ? -1 : 1;
    if (sign_x != sign_y) {
        return sign_x < sign_y ? -1 : 1;
    }
    if (sign_x == 0) {
        return 0;
    }
    int order = compare_sizes(&x, &y);
    return sign_x < 0 ? -order : order;
}

bool num_is_integer(struct str number)
{
    struct parts p = take_apart(number);
    if (p.n == 0) {
        return true;
    }
    if (p.exponent.n > 0) {
        return !p.exponent_negative;
    }
    return p.point > 0 && (uint64_t)p.point >= p.n;
}

bool num_scaled(struct str number, int scale, int64_t *out)
{
    struct parts p = take_apart(number);
    int64_t point = p.exponent.n == 0 ? p.point + scale : p.exponent_negative ? -1 : INT64_MAX;
    if (p.n == 0 || point < 0) {
        *out = 0;
        return true;
    }
    if (point > 19) {
        return false;
    }
    uint64_t size = 0;
    for (size_t i = 0; i < (size_t)point; i++) {
        size = size * 10 + (i < p.n ? (uint64_t)(digit_at(&p, i) - '0') : 0);
    }
    if ((size_t)point < p.n && digit_at(&p, (size_t)point) >= '5') {
        size++;
    }
    if (size > (uint64_t)INT64_MAX + (p.negative ? 1 : 0)) {
        return false;
    }
    *out = !p.negative ? (int64_t)size : size == 0 ? 0 : -(int64_t)(size - 1) - 1;
    return true;
}
