#include <string.h>

#include "kernel/base/ascii.h"
#include "kernel/base/yaml_int.h"

enum { BIG_DIGITS_MAX = 400 }; /* YAML_RADIX_CHARS_MAX hex digits need 362 */

/* A whole number, least significant decimal digit first. */
struct big {
    uint8_t digits[BIG_DIGITS_MAX];
    size_t n;
};

static void big_push(struct big *b, unsigned times, unsigned plus)
{
    unsigned carry = plus;
    for (size_t i = 0; i < b->n || carry > 0; i++) {
        if (i == b->n) {
            b->digits[b->n++] = 0;
        }
        carry += b->digits[i] * times;
        b->digits[i] = (uint8_t)(carry % 10);
        carry /= 10;
    }
}

static void big_write(struct buf *out, const struct big *b)
{
    if (b->n == 0) {
        buf_char(out, '0');
    }
    for (size_t i = b->n; i > 0; i--) {
        buf_char(out, (char)('0' + b->digits[i - 1]));
    }
}

/* The first place from `at` on whose character is not in `set`. */
static size_t span(struct str s, size_t at, const char *set)
{
    while (at < s.n && s.p[at] != '\0' && strchr(set, s.p[at]) != NULL) {
        at++;
    }
    return at;
}

/* The digits of a number in base 2 to 16, underscores between allowed. */
static enum yaml_plain radix(struct buf *out, bool negative, struct str digits, unsigned base)
{
    struct big b = {.n = 0};
    size_t seen = 0;
    if (digits.n > YAML_RADIX_CHARS_MAX) {
        return PLAIN_TOO_LONG;
    }
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] != '_') {
            big_push(&b, base, (unsigned)ascii_hex(digits.p[i]));
            seen++;
        }
    }
    if (seen == 0) {
        return PLAIN_STRING;
    }
    if (negative && b.n > 0) {
        buf_char(out, '-');
    }
    big_write(out, &b);
    return PLAIN_INT;
}

static void add_digits(struct buf *out, struct str digits)
{
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] != '_') {
            buf_char(out, digits.p[i]);
        }
    }
}

/* Sign, whole part, fraction and exponent (with its e) as a JSON number. */
static void decimal(struct buf *out, bool negative, struct str whole, struct str fraction,
                    struct str exponent)
{
    size_t zeros = span(whole, 0, "0_");
    whole = str_slice(whole, zeros, whole.n);
    if (negative) {
        buf_char(out, '-');
    }
    size_t before = out->n;
    add_digits(out, whole);
    if (out->n == before) {
        buf_char(out, '0');
    }
    size_t point = out->n;
    buf_char(out, '.');
    add_digits(out, fraction);
    if (out->n == point + 1) {
        out->n = point;
    }
    buf_add(out, exponent);
}

/* Where an exponent that begins at `at` ends; `at` itself where there is none. */
static size_t exponent_end(struct str s, size_t at, bool sign_needed)
{
    if (at >= s.n || (s.p[at] != 'e' && s.p[at] != 'E')) {
        return at;
    }
    size_t digits = at + 1;
    if (digits < s.n && (s.p[digits] == '+' || s.p[digits] == '-')) {
        digits++;
    } else if (sign_needed) {
        return at;
    }
    size_t end = span(s, digits, "0123456789");
    return end == digits ? at : end;
}

static bool not_finite(struct str s, size_t sign)
{
    static const char *const inf[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nan[] = {".nan", ".NaN", ".NAN", NULL};
    return str_index(str_slice(s, sign, s.n), inf) >= 0 || str_index(s, nan) >= 0;
}

static enum yaml_plain core_number(struct str s, struct buf *out)
{
    if (str_starts(s, "0o") || str_starts(s, "0x")) {
        bool octal = s.p[1] == 'o';
        size_t end = span(s, 2, octal ? "01234567" : "0123456789abcdefABCDEF");
        bool all = end == s.n && s.n > 2;
        return all ? radix(out, false, str_slice(s, 2, end), octal ? 8 : 16) : PLAIN_STRING;
    }
    size_t sign = s.p[0] == '-' || s.p[0] == '+';
    if (not_finite(s, sign)) {
        return PLAIN_NOT_FINITE;
    }
    size_t whole = span(s, sign, "0123456789");
    size_t fraction = whole;
    size_t digits = whole - sign;
    if (whole < s.n && s.p[whole] == '.') {
        fraction = span(s, whole + 1, "0123456789");
        digits += fraction - whole - 1;
    }
    size_t end = exponent_end(s, fraction, false);
    if (digits == 0 || end != s.n) {
        return PLAIN_STRING;
    }
    decimal(out, s.p[0] == '-', str_slice(s, sign, whole), str_slice(s, whole + 1, fraction),
            str_slice(s, fraction, end));
    return fraction == whole && end == fraction ? PLAIN_INT : PLAIN_FLOAT;
}

/* The end of base 60 places (":59", ":5") that begin at `at`; `at` where there are none. */
static size_t sixty_end(struct str s, size_t at)
{
    while (at + 1 < s.n && s.p[at] == ':' && ascii_digit(s.p[at + 1])) {
        bool two = at + 2 < s.n && ascii_digit(s.p[at + 2]);
        if (two && s.p[at + 1] > '5') {
            return at;
        }
        at += two ? 3 : 2;
    }
    return at;
}

/* "1:30:05" and, with a fraction, "1:30.5". */
static enum yaml_plain sixty(struct buf *out, bool negative, struct str places, struct str fraction)
{
    struct big b = {.n = 0};
    if (places.n > YAML_RADIX_CHARS_MAX) {
        return PLAIN_TOO_LONG;
    }
    size_t at = span(places, 0, "0123456789_");
    for (size_t i = 0; i < at; i++) {
        if (places.p[i] != '_') {
            big_push(&b, 10, (unsigned)ascii_hex(places.p[i]));
        }
    }
    while (at < places.n) {
        unsigned place = 0;
        for (at++; at < places.n && places.p[at] != ':'; at++) {
            place = place * 10 + (unsigned)ascii_hex(places.p[at]);
        }
        big_push(&b, 60, place);
    }
    struct buf whole = {.n = 0};
    big_write(&whole, &b);
    decimal(out, negative, buf_str(&whole), fraction, STR(""));
    buf_free(&whole);
    return PLAIN_INT;
}

static enum yaml_plain pyyaml_float(struct str s, size_t sign, struct buf *out)
{
    size_t whole = sign;
    if (whole < s.n && ascii_digit(s.p[whole])) {
        whole = span(s, whole, "0123456789_");
    }
    size_t places = whole > sign ? sixty_end(s, whole) : whole;
    if (places >= s.n || s.p[places] != '.') {
        return PLAIN_STRING;
    }
    size_t fraction = span(s, places + 1, "0123456789_");
    if (whole == sign && (sign > 0 || s.n < 2 || !ascii_digit(s.p[1]))) {
        return PLAIN_STRING; /* ".5" has no sign and a digit after its point */
    }
    size_t end = places == whole ? exponent_end(s, fraction, true) : fraction;
    if (end != s.n) {
        return PLAIN_STRING;
    }
    struct str digits = str_slice(s, places + 1, fraction);
    if (places > whole) {
        enum yaml_plain p = sixty(out, s.p[0] == '-', str_slice(s, sign, places), digits);
        return p == PLAIN_INT ? PLAIN_FLOAT : p;
    }
    decimal(out, s.p[0] == '-', str_slice(s, sign, whole), digits, str_slice(s, fraction, end));
    return PLAIN_FLOAT;
}

static enum yaml_plain pyyaml_int(struct str s, size_t sign, struct buf *out)
{
    bool negative = s.p[0] == '-';
    struct str rest = str_slice(s, sign, s.n);
    if (rest.n == 0 || !ascii_digit(rest.p[0])) {
        return PLAIN_STRING;
    }
    if (rest.p[0] != '0') {
        size_t whole = span(rest, 0, "0123456789_");
        size_t end = sixty_end(rest, whole);
        if (end != rest.n) {
            return PLAIN_STRING;
        }
        if (end > whole) {
            return sixty(out, negative, rest, STR(""));
        }
        decimal(out, negative, rest, STR(""), STR(""));
        return PLAIN_INT;
    }
    static const struct {
        const char *prefix;
        const char *digits;
        unsigned base;
    } forms[] = {{"0b", "01_", 2}, {"0x", "0123456789abcdefABCDEF_", 16}, {"0", "01234567_", 8}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t from = strlen(forms[i].prefix);
        if (rest.n > from && str_starts(rest, forms[i].prefix) &&
            span(rest, from, forms[i].digits) == rest.n) {
            struct str digits = str_slice(rest, i == 2 ? 0 : from, rest.n);
            return radix(out, negative, digits, forms[i].base);
        }
    }
    return rest.n == 1 ? radix(out, negative, rest, 10) : PLAIN_STRING;
}

static enum yaml_plain pyyaml_number(struct str s, struct buf *out)
{
    size_t sign = s.p[0] == '-' || s.p[0] == '+';
    if (not_finite(s, sign)) {
        return PLAIN_NOT_FINITE;
    }
    enum yaml_plain p = pyyaml_float(s, sign, out);
    return p != PLAIN_STRING ? p : pyyaml_int(s, sign, out);
}

enum yaml_plain yaml_resolve(enum yaml_rules rules, struct str text, struct buf *number)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const truths[] = {"true", "True", "TRUE", "yes", "Yes",
                                         "YES",  "on",   "On",   "ON",  NULL};
    static const char *const lies[] = {"false", "False", "FALSE", "no",  "No",
                                       "NO",    "off",   "Off",   "OFF", NULL};
    enum { CORE_WORDS = 3 };
    if (text.n > 0 && strchr("~nNtTyYoOfF+-.0123456789", text.p[0]) == NULL) {
        return PLAIN_STRING; /* nothing else begins so */
    }
    if (str_index(text, nulls) >= 0) {
        return PLAIN_NULL;
    }
    if (ascii_digit(text.p[0]) || strchr("+-.", text.p[0]) != NULL) {
        return rules == YAML_CORE ? core_number(text, number) : pyyaml_number(text, number);
    }
    size_t words = rules == YAML_CORE ? CORE_WORDS : sizeof truths / sizeof truths[0] - 1;
    for (size_t i = 0; i < words; i++) {
        if (str_is(text, truths[i])) {
            return PLAIN_TRUE;
        }
        if (str_is(text, lies[i])) {
            return PLAIN_FALSE;
        }
    }
    return PLAIN_STRING;
}
