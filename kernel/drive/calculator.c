/* expression = term {("+" | "-") term}
 * term       = factor {("*" | "/") factor}
 * factor     = ("+" | "-") factor | power
 * power      = atom ["**" factor]          so -2**2 = -4, 2**-1 = 0.5, 2**3**2 = 512
 * atom       = number | "(" expression ")" */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "kernel/base/ascii.h"
#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/val.h"
#include "kernel/drive/tools.h"

enum {
    CHARS_MAX = 1000,
    DEPTH_MAX = 64,
    EXPONENT_MAX = 10000,
    DIVISION_DIGITS = 28,
    WHAT_BYTES = 160
};

struct calc {
    struct str text;
    size_t at;
    int depth;
    bool failed;
    struct buf why;
};

static int parse_expression(struct calc *c, struct dec *out);
static int parse_factor(struct calc *c, struct dec *out);

/* Keeps the first failure: what is wrong (printf-style), at which character `at` stands, and what
 * to try. */
__attribute__((format(printf, 4, 5))) static int fail(struct calc *c, size_t at, const char *try,
                                                      const char *fmt, ...)
{
    if (!c->failed) {
        c->failed = true;
        char what[WHAT_BYTES];
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(what, sizeof what, fmt, args);
        va_end(args);
        assert(n > 0 && n < WHAT_BYTES);
        size_t place = utf8_count(str_slice(c->text, 0, at)) + 1;
        buf_fmt(&c->why, "%s at character %d%s", what, (int)place, try);
    }
    return ERR_INPUT;
}

/* Turns a failed decimal operation into a failure of the expression. */
static int checked(struct calc *c, size_t at, int rc, const char *what)
{
    return rc == 0 ? 0 : fail(c, at, "; use smaller numbers", "%s", what);
}

static char peek(struct calc *c)
{
    while (c->at < c->text.n && (c->text.p[c->at] == ' ' || c->text.p[c->at] == '\t' ||
                                 c->text.p[c->at] == '\n' || c->text.p[c->at] == '\r')) {
        c->at++;
    }
    return c->at < c->text.n ? c->text.p[c->at] : '\0';
}

static bool peek_power(struct calc *c)
{
    return peek(c) == '*' && c->at + 1 < c->text.n && c->text.p[c->at + 1] == '*';
}

/* Something stands at `at` that cannot stand there: says what to write instead, where it is a
 * common slip. */
static int unexpected(struct calc *c, const char *wanted)
{
    static const struct {
        const char *found;
        const char *try;
    } slips[] = {
        {"\xC3\x97", "; write * to multiply"},
        {"\xC2\xB7", "; write * to multiply"},
        {"\xC3\xB7", "; write / to divide"},
        {"\xE2\x88\x92", "; write - to subtract"},
        {"\xE2\x80\x93", "; write - to subtract"},
        {"^", "; write ** for a power"},
        {",", "; write numbers without thousands separators, with a decimal point"},
        {"%", "; write a percentage as a division by 100"},
        {"/", "; only / divides"},
        {"=", "; leave the equals sign out"},
        {"$", "; write numbers without currency"},
    };
    if (peek(c) == '\0' && c->at >= c->text.n) {
        return fail(c, c->at, "; complete it", "the expression ends, %s is missing", wanted);
    }
    struct str rest = str_slice(c->text, c->at, c->text.n);
    const char *try = "; allowed are numbers, + - * / ** and parentheses";
    for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
        if (str_starts(rest, slips[i].found)) {
            try = slips[i].try;
            break;
        }
    }
    struct str found = utf8_prefix(rest, 1);
    return fail(c, c->at, try, "expected %s, found \"%.*s\"", wanted, STR_FMT(found));
}

static bool is_digit(const struct calc *c, size_t at)
{
    return at < c->text.n && ascii_digit(c->text.p[at]);
}

static int parse_number(struct calc *c, struct dec *out)
{
    size_t from = c->at;
    while (is_digit(c, c->at)) {
        c->at++;
    }
    if (c->at < c->text.n && c->text.p[c->at] == '.') {
        c->at++;
        while (is_digit(c, c->at)) {
            c->at++;
        }
    }
    if (c->at < c->text.n && (c->text.p[c->at] | 0x20) == 'e') {
        size_t sign =
            c->at + 1 < c->text.n && (c->text.p[c->at + 1] == '-' || c->text.p[c->at + 1] == '+')
                ? 1
                : 0;
        if (is_digit(c, c->at + 1 + sign)) {
            c->at += 1 + sign;
            while (is_digit(c, c->at)) {
                c->at++;
            }
        }
    }
    int rc = dec_parse(str_slice(c->text, from, c->at), out);
    if (rc == ERR_LIMIT) {
        return fail(c, from, "; use smaller numbers", "a number is too large or too long");
    }
    return rc == 0 ? 0 : fail(c, from, "; write it like 42.4", "expected a number");
}

static int parse_atom(struct calc *c, struct dec *out)
{
    char next = peek(c);
    if (next == '(') {
        c->at++;
        int rc = parse_expression(c, out);
        if (rc != 0) {
            return rc;
        }
        if (peek(c) != ')') {
            return unexpected(c, "an operator or \")\"");
        }
        c->at++;
        return 0;
    }
    if (is_digit(c, c->at) || next == '.') {
        return parse_number(c, out);
    }
    return unexpected(c, "a number or \"(\"");
}

/* A whole exponent within the limit. */
static int read_exponent(struct calc *c, size_t at, const struct dec *d, int64_t *out)
{
    struct buf text = {0};
    dec_format(&text, d);
    bool whole = num_is_integer(buf_str(&text));
    bool fits = whole && num_scaled(buf_str(&text), 0, out) && *out <= EXPONENT_MAX &&
                *out >= -EXPONENT_MAX;
    buf_free(&text);
    if (!whole) {
        return fail(c, at, "; only whole exponents are exact",
                    "the exponent is not a whole number");
    }
    return fits ? 0 : fail(c, at, "; use a smaller one", "the exponent is beyond 10000");
}

/* out = base ** exponent by repeated squaring; exact, but for the division of a negative one. */
static int raise(struct calc *c, size_t at, struct dec *base, int64_t exponent, struct dec *out)
{
    static const char too_long[] = "the power needs too many digits";
    struct dec one;
    int rc = checked(c, at, dec_parse(STR("1"), &one), too_long);
    *out = one;
    uint64_t left = (uint64_t)(exponent < 0 ? -exponent : exponent);
    while (rc == 0 && left > 0) {
        if (left & 1) {
            rc = checked(c, at, dec_mul(out, base, out), too_long);
        }
        left >>= 1;
        if (rc == 0 && left > 0) {
            rc = checked(c, at, dec_mul(base, base, base), too_long);
        }
    }
    if (rc != 0 || exponent >= 0) {
        return rc;
    }
    if (out->n == 0) {
        return fail(c, at, "", "division by zero (a negative power of 0)");
    }
    return checked(c, at, dec_div(&one, out, DIVISION_DIGITS, out), too_long);
}

static int parse_power(struct calc *c, struct dec *out)
{
    int rc = parse_atom(c, out);
    if (rc != 0 || !peek_power(c)) {
        return rc;
    }
    size_t operator_at = c->at;
    c->at += 2;
    size_t exponent_at = c->at;
    struct dec power;
    rc = parse_factor(c, &power);
    int64_t exponent = 0;
    if (rc == 0) {
        rc = read_exponent(c, exponent_at, &power, &exponent);
    }
    if (rc == 0) {
        struct dec base = *out;
        rc = raise(c, operator_at, &base, exponent, out);
    }
    return rc;
}

static int parse_factor(struct calc *c, struct dec *out)
{
    if (++c->depth > DEPTH_MAX) {
        return fail(c, c->at, "; split the expression", "more than 64 levels of nesting");
    }
    char sign = peek(c);
    int rc;
    if (sign == '-' || sign == '+') {
        c->at++;
        rc = parse_factor(c, out);
        if (rc == 0 && sign == '-' && out->n > 0) {
            out->negative = !out->negative;
        }
    } else {
        rc = parse_power(c, out);
    }
    c->depth--;
    return rc;
}

static int parse_term(struct calc *c, struct dec *out)
{
    int rc = parse_factor(c, out);
    for (char op = peek(c); rc == 0 && (op == '*' || op == '/'); op = peek(c)) {
        size_t at = c->at++;
        struct dec right;
        rc = parse_factor(c, &right);
        if (rc != 0) {
            return rc;
        }
        if (op == '*') {
            rc = checked(c, at, dec_mul(out, &right, out), "the product needs too many digits");
        } else if (right.n == 0) {
            rc = fail(c, at, "", "division by zero");
        } else {
            rc = checked(c, at, dec_div(out, &right, DIVISION_DIGITS, out),
                         "the quotient is out of range");
        }
    }
    return rc;
}

static int parse_expression(struct calc *c, struct dec *out)
{
    int rc = parse_term(c, out);
    for (char op = peek(c); rc == 0 && (op == '+' || op == '-'); op = peek(c)) {
        size_t at = c->at++;
        struct dec right;
        rc = parse_term(c, &right);
        if (rc == 0) {
            rc = op == '+' ? dec_add(out, &right, out) : dec_sub(out, &right, out);
            rc = checked(c, at, rc, "the sum needs too many digits");
        }
    }
    return rc;
}

static int evaluate(struct calc *c, struct dec *out)
{
    if (utf8_count(c->text) > CHARS_MAX) {
        return fail(c, utf8_prefix(c->text, CHARS_MAX).n, "; split it",
                    "the expression is longer than 1000 characters and was cut");
    }
    int rc = parse_expression(c, out);
    if (rc == 0 && (peek(c) != '\0' || c->at < c->text.n)) {
        rc = unexpected(c, "an operator or the end");
    }
    return rc;
}

void calculator_answer(struct str expression, struct buf *out)
{
    struct calc c = {.text = expression};
    struct dec value;
    int rc = evaluate(&c, &value);
    buf_addz(out, rc == 0 ? "{\"ok\":true,\"expression\":" : "{\"ok\":false,\"expression\":");
    json_add_string(out, utf8_prefix(expression, CHARS_MAX));
    if (rc == 0) {
        buf_addz(out, ",\"value\":");
        dec_format(out, &value);
        buf_char(out, '}');
    } else {
        buf_addz(out, ",\"error\":{\"code\":\"BAD_EXPRESSION\",\"message\":");
        json_add_string(out, buf_str(&c.why));
        buf_addz(out, ",\"retryable\":true}}");
    }
    buf_free(&c.why);
}
