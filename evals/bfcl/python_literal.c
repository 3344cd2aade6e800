/* Python's numbers and strings, read and written. */
#include <string.h>

#include "evals/bfcl/python_int.h"
#include "kernel/base/ascii.h"

enum { DIGITS_MAX = 4300, CODE_MAX = 0x10FFFF };

/* A number in base 2, 8 or 16 as decimal digits: base 10^9, the lowest first. */
static struct str to_decimal(struct bfcl_work *w, struct str digits, unsigned base)
{
    size_t n = 0;
    uint32_t *limbs = arena_array(w->arena, digits.n / 7 + 2, sizeof *limbs);
    for (size_t i = 0; i < digits.n; i++) {
        uint64_t carry = (uint64_t)ascii_hex(digits.p[i]);
        for (size_t k = 0; k < n; k++) {
            carry += (uint64_t)limbs[k] * base;
            limbs[k] = (uint32_t)(carry % 1000000000);
            carry /= 1000000000;
        }
        if (carry > 0) {
            limbs[n++] = (uint32_t)carry;
        }
    }
    struct buf out = {0};
    buf_fmt(&out, "%u", n == 0 ? 0 : limbs[n - 1]);
    for (size_t k = n; k-- > 1;) {
        buf_fmt(&out, "%09u", limbs[k - 1]);
    }
    struct str kept = arena_str(w->arena, buf_str(&out));
    buf_free(&out);
    return kept;
}

static struct str without_underscores(struct bfcl_work *w, struct str s)
{
    char *p = arena_alloc(w->arena, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_') {
            p[n++] = s.p[i];
        }
    }
    return (struct str){p, n};
}

static bool has_any(struct str s, const char *set)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr(set, s.p[i]) != NULL) {
            return true;
        }
    }
    return false;
}

bool py_number(struct bfcl_work *w, struct str text, struct bfcl_value *out)
{
    struct str s = without_underscores(w, text);
    char letter = s.n > 1 && s.p[0] == '0' ? s.p[1] : '\0';
    unsigned base = letter == 'x' || letter == 'X'   ? 16
                    : letter == 'o' || letter == 'O' ? 8
                    : letter == 'b' || letter == 'B' ? 2
                                                     : 10;
    *out = (struct bfcl_value){.type = BFCL_INT};
    if (s.n > DIGITS_MAX) {
        return false;
    }
    if (base != 10) {
        out->text = to_decimal(w, str_slice(s, 2, s.n), base);
        return true;
    }
    bool imaginary = s.p[s.n - 1] == 'j' || s.p[s.n - 1] == 'J';
    s.n -= imaginary ? 1 : 0;
    if (imaginary || has_any(s, ".eE")) {
        *out = (struct bfcl_value){.type = BFCL_FLOAT, .real = bfcl_double(s)};
    }
    if (imaginary) {
        struct buf repr = {0};
        bfcl_real_repr(&repr, out->real);
        struct str shown = buf_str(&repr);
        shown.n -= str_ends(shown, ".0") ? 2 : 0;
        *out = (struct bfcl_value){.type = BFCL_OTHER,
                                   .text = arena_printf(w->arena, "%.*sj", STR_FMT(shown))};
        buf_free(&repr);
        return true;
    }
    if (out->type == BFCL_INT) {
        out->text = bfcl_digits(w->arena, s);
        bool zero = str_is(out->text, "0");
        return zero || s.p[0] != '0'; /* 007 is none, 000 is 0 */
    }
    return true;
}

/* A code point; surrogates too, which Python's strings may hold. */
static void add_code(struct buf *out, uint32_t code)
{
    if (code >= 0xD800 && code < 0xE000) {
        buf_char(out, (char)0xED);
        buf_char(out, (char)(0x80 | ((code >> 6) & 0x3F)));
        buf_char(out, (char)(0x80 | (code & 0x3F)));
    } else {
        utf8_add(out, code);
    }
}

/* Exactly n hex digits at *at. */
static bool read_hex(struct str s, size_t *at, unsigned n, uint32_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < n; i++, (*at)++) {
        int digit = *at < s.n ? ascii_hex(s.p[*at]) : -1;
        if (digit < 0) {
            return false;
        }
        *out = *out * 16 + (uint32_t)digit;
    }
    return *out <= CODE_MAX;
}

/* A byte or a character by its number. */
static void add_number(struct buf *out, uint32_t code, bool bytes)
{
    if (bytes) {
        buf_char(out, (char)(unsigned char)code);
    } else {
        add_code(out, code);
    }
}

/* The escape whose backslash is before *at. */
static bool add_escape(struct str s, size_t *at, bool bytes, struct buf *out)
{
    static const char names[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    char c = s.p[(*at)++];
    uint32_t code = 0;
    const char *name = c == '\0' ? NULL : strchr(names, c);
    if (name != NULL) {
        buf_char(out, meanings[name - names]);
    } else if (c >= '0' && c <= '7') {
        code = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '7'; i++) {
            code = code * 8 + (uint32_t)(s.p[(*at)++] - '0');
        }
        add_number(out, code, bytes);
    } else if (c == 'x' || (!bytes && (c == 'u' || c == 'U'))) {
        if (!read_hex(s, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code)) {
            return false;
        }
        add_number(out, code, bytes);
    } else if (!bytes && c == 'N') {
        return false; /* the names of characters are not known here */
    } else if (c != '\n') {
        buf_char(out, '\\');
        buf_char(out, c);
    }
    return true;
}

/* A line break as Python reads it, in whichever way it is written. */
static bool at_break(struct str s, size_t *at)
{
    if (s.p[*at] == '\r') {
        *at += *at + 1 < s.n && s.p[*at + 1] == '\n' ? 2 : 1;
        return true;
    }
    return false;
}

/* Where the characters end that stand for themselves. */
static size_t plain_end(struct str s, size_t at, bool raw, bool bytes)
{
    while (at < s.n && s.p[at] != '\r' && (raw || s.p[at] != '\\') &&
           !(bytes && (unsigned char)s.p[at] >= 0x80)) {
        at++;
    }
    return at;
}

bool py_is_verbatim(struct str text)
{
    char quote = text.p[0];
    bool one = text.n < 6 || text.p[1] != quote; /* of three quotes at least six are there */
    return (quote == '"' || quote == '\'') && one && plain_end(text, 0, false, false) == text.n;
}

bool py_string(struct str text, struct buf *out, enum py_prefix *prefix)
{
    bool raw = false;
    size_t at = 0;
    *prefix = PY_PLAIN;
    for (; text.p[at] != '"' && text.p[at] != '\''; at++) {
        char c = text.p[at];
        raw = raw || c == 'r' || c == 'R';
        *prefix = c == 'b' || c == 'B' ? PY_BYTES : c == 'f' || c == 'F' ? PY_FORMAT : *prefix;
    }
    bool triple = text.n - at >= 6 && text.p[at + 1] == text.p[at] && text.p[at + 2] == text.p[at];
    size_t quotes = triple ? 3 : 1;
    struct str s = str_slice(text, at + quotes, text.n - quotes);
    for (at = 0;;) {
        size_t end = plain_end(s, at, raw, *prefix == PY_BYTES);
        buf_add(out, str_slice(s, at, end));
        at = end;
        if (at == s.n) {
            return true;
        }
        if (*prefix == PY_BYTES && (unsigned char)s.p[at] >= 0x80) {
            return false;
        }
        if (at_break(s, &at)) {
            buf_char(out, '\n');
            continue;
        }
        at++; /* behind a backslash */
        if (!at_break(s, &at) && !add_escape(s, &at, *prefix == PY_BYTES, out)) {
            return false;
        }
    }
}

static void add_hex(struct buf *out, uint32_t code)
{
    if (code < 0x100) {
        buf_fmt(out, "\\x%02x", code);
    } else if (code < 0x10000) {
        buf_fmt(out, "\\u%04x", code);
    } else {
        buf_fmt(out, "\\U%08x", code);
    }
}

/* One character of a string that is not plain ASCII. */
static void repr_character(struct bfcl_work *w, struct buf *out, struct str s, size_t *at)
{
    size_t from = *at;
    struct str found;
    unsigned char first = (unsigned char)s.p[from];
    if (first == 0xED && s.n - from >= 3 && (unsigned char)s.p[from + 1] >= 0xA0) {
        *at += 3; /* a surrogate */
        add_hex(out, (uint32_t)(0xD000 | ((s.p[from + 1] & 0x3F) << 6) | (s.p[from + 2] & 0x3F)));
        return;
    }
    uint32_t code = utf8_next(s, at);
    struct str character = str_slice(s, from, *at);
    if (bfcl_find(w, BFCL_RE_UNPRINTABLE, character, 0, &found)) {
        add_hex(out, code);
    } else {
        buf_add(out, character);
    }
}

void py_repr_string(struct bfcl_work *w, struct buf *out, struct str s, enum py_prefix prefix)
{
    bool single = s.n > 0 && memchr(s.p, '\'', s.n) != NULL;
    bool twofold = s.n > 0 && memchr(s.p, '"', s.n) != NULL;
    char quote = single && !twofold ? '"' : '\'';
    buf_addz(out, prefix == PY_BYTES ? "b" : "");
    buf_char(out, quote);
    for (size_t at = 0; at < s.n;) {
        unsigned char c = (unsigned char)s.p[at];
        if (c == (unsigned char)quote || c == '\\') {
            buf_char(out, '\\');
            buf_char(out, (char)c);
        } else if (c == '\n' || c == '\r' || c == '\t') {
            buf_addz(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        } else if (c < 0x20 || c == 0x7F || (c >= 0x80 && prefix == PY_BYTES)) {
            add_hex(out, c);
        } else if (c >= 0x80) {
            repr_character(w, out, s, &at);
            continue;
        } else {
            buf_char(out, (char)c);
        }
        at++;
    }
    buf_char(out, quote);
}

static void repr_items(struct bfcl_work *w, struct buf *out, const struct bfcl_value *v)
{
    bool tuple = v->type == BFCL_TUPLE;
    buf_char(out, tuple ? '(' : '[');
    for (size_t i = 0; i < v->n; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        bfcl_repr(w, out, &v->items[i]);
    }
    buf_addz(out, tuple && v->n == 1 ? "," : "");
    buf_char(out, tuple ? ')' : ']');
}

void bfcl_repr(struct bfcl_work *w, struct buf *out, const struct bfcl_value *v)
{
    switch (v->type) {
    case BFCL_NONE: buf_addz(out, "None"); return;
    case BFCL_BOOL: buf_addz(out, v->boolean ? "True" : "False"); return;
    case BFCL_INT:
    case BFCL_OTHER: buf_add(out, v->text); return;
    case BFCL_FLOAT: bfcl_real_repr(out, v->real); return;
    case BFCL_STR: py_repr_string(w, out, v->text, PY_PLAIN); return;
    case BFCL_LIST:
    case BFCL_TUPLE: repr_items(w, out, v); return;
    case BFCL_DICT: break;
    }
    buf_char(out, '{');
    for (size_t i = 0; i < v->n; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        bfcl_repr(w, out, &v->pairs[i].key);
        buf_addz(out, ": ");
        bfcl_repr(w, out, &v->pairs[i].value);
    }
    buf_char(out, '}');
}
