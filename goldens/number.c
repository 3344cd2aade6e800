#include "goldens/golden_int.h"
#include "kernel/base/ascii.h"
#include "kernel/base/dec.h"

#include <string.h>

enum { NUMBER_CHARS_MAX = 256 }; /* longer runs of digits are no number that a check is about */

static bool is_digit(struct str s, size_t at)
{
    return at < s.n && ascii_digit(s.p[at]);
}

static bool is_word(struct str s, size_t at)
{
    char c = s.p[at];
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ')';
}

static size_t digits_end(struct str s, size_t at)
{
    while (is_digit(s, at)) {
        at++;
    }
    return at;
}

/* The length of `mark` when it ends just before `at`, else 0. */
static size_t ends_with(struct str s, size_t at, const char *mark)
{
    size_t n = strlen(mark);
    return n <= at && memcmp(s.p + at - n, mark, n) == 0 ? n : 0;
}

static size_t any_before(struct str s, size_t at, const char *const *marks)
{
    for (; *marks != NULL; marks++) {
        size_t n = ends_with(s, at, *marks);
        if (n > 0) {
            return n;
        }
    }
    return 0;
}

/* Whether a minus sign stands before the number at `at`: one that follows a letter, digit or
 * bracket joins words or subtracts. */
static bool is_negative(struct str s, size_t at)
{
    static const char *const minus[] = {"-", "\u2212", "\uff0d", NULL};
    static const char *const currency[] = {"$", "\u20ac", "\u00a3", "\u00a5", "\uffe5", NULL};
    at -= any_before(s, at, currency);
    size_t sign = any_before(s, at, minus);
    return sign > 0 && (at == sign || !is_word(s, at - sign - 1));
}

/* Appends the digits from *at on without their thousands separators, and moves *at past them. */
static void take_integer(struct str s, size_t *at, struct buf *out)
{
    size_t end = digits_end(s, *at);
    size_t first = end - *at;
    buf_add(out, str_slice(s, *at, end));
    while (first <= 3 && end < s.n && s.p[end] == ',' && digits_end(s, end + 1) == end + 4) {
        buf_add(out, str_slice(s, end + 1, end + 4));
        end += 4;
    }
    *at = end;
}

static void take_fraction(struct str s, size_t *at, struct buf *out)
{
    if (*at < s.n && s.p[*at] == '.' && is_digit(s, *at + 1)) {
        size_t end = digits_end(s, *at + 1);
        buf_add(out, str_slice(s, *at, end));
        *at = end;
    }
    size_t e = *at;
    if (e < s.n && (s.p[e] == 'e' || s.p[e] == 'E')) {
        size_t digits = e + 1;
        digits += digits < s.n && (s.p[digits] == '-' || s.p[digits] == '+') ? 1 : 0;
        if (is_digit(s, digits)) {
            *at = digits_end(s, digits);
            buf_add(out, str_slice(s, e, *at));
        }
    }
}

static bool is_percent(struct str s, size_t at)
{
    static const char *const signs[] = {"%", " %", "\uff05", NULL};
    for (size_t i = 0; signs[i] != NULL; i++) {
        if (str_starts(str_slice(s, at, s.n), signs[i])) {
            return true;
        }
    }
    return false;
}

/* The number × 0.01 in the same notation. */
static void add_hundredth(struct buf *out, struct str number)
{
    struct dec value;
    struct dec hundredth;
    if (dec_parse(number, &value) == 0 && dec_parse(STR("0.01"), &hundredth) == 0 &&
        dec_mul(&value, &hundredth, &value) == 0) {
        dec_format(out, &value);
    }
}

bool golden_numbers(struct str text, bool (*found)(void *ctx, struct str number), void *ctx)
{
    bool done = false;
    for (size_t at = 0; at < text.n && !done;) {
        bool point =
            text.p[at] == '.' && is_digit(text, at + 1) && (at == 0 || !is_digit(text, at - 1));
        if (!point && !is_digit(text, at)) {
            at++;
            continue;
        }
        struct buf number = {0};
        buf_addz(&number, is_negative(text, at) ? "-" : "");
        if (point) {
            buf_char(&number, '0');
        } else {
            take_integer(text, &at, &number);
        }
        take_fraction(text, &at, &number);
        if (number.n <= NUMBER_CHARS_MAX) {
            done = found(ctx, buf_str(&number));
            if (!done && is_percent(text, at)) {
                struct buf part = {0};
                add_hundredth(&part, buf_str(&number));
                done = part.n > 0 && found(ctx, buf_str(&part));
                buf_free(&part);
            }
        }
        buf_free(&number);
    }
    return done;
}
