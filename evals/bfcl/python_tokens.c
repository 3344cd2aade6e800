/* Python's tokens, as far as expressions have them. */
#include <string.h>

#include "evals/bfcl/python_int.h"
#include "kernel/base/ascii.h"

static struct py_token bad(void)
{
    return (struct py_token){PY_BAD, {NULL, 0}};
}

static char char_at(const struct py_tokens *t, size_t at)
{
    return at < t->text.n ? t->text.p[at] : '\0';
}

static bool is_hex(char c)
{
    return ascii_hex(c) >= 0;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

static bool is_binary(char c)
{
    return c == '0' || c == '1';
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* A letter, a digit, _, or no ASCII: a bit each. */
static bool is_word(char c)
{
    static const uint64_t words[] = {0x03FF000000000000, 0x07FFFFFE87FFFFFE, UINT64_MAX,
                                     UINT64_MAX};
    unsigned char u = (unsigned char)c;
    return (words[u / 64] >> u % 64 & 1) != 0;
}

/* Skips what stands between tokens. true: a line ended outside of brackets. false and *broken: a
 * backslash that continues no line. */
static bool skip(struct py_tokens *t, bool *broken)
{
    *broken = false;
    while (t->at < t->text.n) {
        char c = t->text.p[t->at];
        if (c == '#') {
            while (t->at < t->text.n && char_at(t, t->at) != '\n' && char_at(t, t->at) != '\r') {
                t->at++;
            }
        } else if (c == '\\') {
            t->at += char_at(t, t->at + 1) == '\r' && char_at(t, t->at + 2) == '\n' ? 3 : 2;
            char end = char_at(t, t->at - 1);
            if ((end != '\n' && end != '\r') || t->at >= t->text.n) {
                *broken = true;
                return false;
            }
        } else if (c == '\n' || c == '\r') {
            t->at++;
            if (t->depth == 0) {
                return true;
            }
        } else if (c == ' ' || c == '\t' || c == '\f') {
            t->at++;
        } else {
            return false;
        }
    }
    return false;
}

static struct py_token take(struct py_tokens *t, enum py_token_kind kind, size_t end)
{
    struct py_token token = {kind, str_slice(t->text, t->at, end)};
    t->at = end;
    return token;
}

/* Digits with single underscores between them; 0 = there are none, or one stands wrong. */
static size_t digits_end(const struct py_tokens *t, size_t at, bool (*is)(char c))
{
    if (!is(char_at(t, at))) {
        return 0;
    }
    while (is(char_at(t, at)) || (char_at(t, at) == '_' && is(char_at(t, at + 1)))) {
        at++;
    }
    return char_at(t, at) == '_' ? 0 : at;
}

/* A number may touch these words: "1if x else y". */
static bool may_follow_number(const struct py_tokens *t, size_t at)
{
    static const char *const words[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
    struct str rest = str_slice(t->text, at, t->text.n);
    if (!is_word(char_at(t, at))) {
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (str_starts(rest, words[i])) {
            return true;
        }
    }
    return false;
}

/* Fraction, exponent and j behind a decimal number's whole part, which ends at `at`. */
static size_t fraction_end(const struct py_tokens *t, size_t at)
{
    if (char_at(t, at) == '.') {
        at++;
        if (ascii_digit(char_at(t, at))) {
            at = digits_end(t, at, ascii_digit);
        }
    }
    char c = char_at(t, at);
    if (at != 0 && (c == 'e' || c == 'E')) {
        size_t from = at + 1;
        from += char_at(t, from) == '+' || char_at(t, from) == '-' ? 1 : 0;
        if (ascii_digit(char_at(t, from))) {
            at = digits_end(t, from, ascii_digit);
        }
    }
    c = char_at(t, at);
    return at + (at != 0 && (c == 'j' || c == 'J') ? 1 : 0);
}

static struct py_token number(struct py_tokens *t)
{
    static bool (*const tests[])(char c) = {is_hex, is_octal, is_binary};
    static const char letters[] = "xobXOB";
    size_t at = t->at;
    const char *letter = char_at(t, at) == '0' && char_at(t, at + 1) != '\0'
                             ? strchr(letters, char_at(t, at + 1))
                             : NULL;
    size_t end;
    if (letter != NULL) {
        at += char_at(t, at + 2) == '_' ? 3 : 2;
        end = digits_end(t, at, tests[(letter - letters) % 3]);
    } else {
        end = at;
        if (ascii_digit(char_at(t, at))) {
            end = digits_end(t, at, ascii_digit);
        }
        end = end == 0 && ascii_digit(char_at(t, at)) ? 0 : fraction_end(t, end);
    }
    return end == 0 || !may_follow_number(t, end) ? bad() : take(t, PY_NUMBER, end);
}

/* A string that begins at t->at with `prefix` letters. */
static struct py_token string(struct py_tokens *t, size_t prefix)
{
    size_t at = t->at + prefix;
    char quote = t->text.p[at];
    bool triple = char_at(t, at + 1) == quote && char_at(t, at + 2) == quote;
    for (at += triple ? 3 : 1; at < t->text.n; at++) {
        char c = t->text.p[at];
        if (c == '\\') {
            at += char_at(t, at + 1) == '\r' && char_at(t, at + 2) == '\n' ? 2 : 1;
        } else if (c == quote && !triple) {
            return take(t, PY_STRING, at + 1);
        } else if (c == quote && char_at(t, at + 1) == quote && char_at(t, at + 2) == quote) {
            return take(t, PY_STRING, at + 3);
        } else if ((c == '\n' || c == '\r') && !triple) {
            break;
        }
    }
    return bad();
}

static bool may_begin_string(char c)
{
    switch (c) {
    case '"':
    case '\'':
    case 'r':
    case 'R':
    case 'u':
    case 'U':
    case 'b':
    case 'B':
    case 'f':
    case 'F': return true;
    default: return false;
    }
}

/* How many letters before a quote make a string's prefix; SIZE_MAX: there is no string here. */
static size_t prefix_length(const struct py_tokens *t)
{
    static const char *const prefixes[] = {"", "r", "u", "b", "f", "br", "rb", "fr", "rf"};
    size_t n = 0;
    while (n < 3 && char_at(t, t->at + n) != '"' && char_at(t, t->at + n) != '\'') {
        n++;
    }
    struct str letters = str_slice(t->text, t->at, t->at + n);
    for (size_t i = 0; n < 3 && i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (str_is_nocase(letters, prefixes[i])) {
            return n;
        }
    }
    return SIZE_MAX;
}

static struct py_token word(struct py_tokens *t)
{
    size_t end = t->at;
    unsigned char all = 0;
    while (end < t->text.n && is_word(t->text.p[end])) {
        all |= (unsigned char)t->text.p[end++];
    }
    struct py_token token = take(t, PY_WORD, end);
    bool good = all < 0x80 || bfcl_identifier(t->work, token.text, &token.text);
    return good ? token : bad();
}

static bool open_bracket(struct py_tokens *t, char close)
{
    if (t->depth == BFCL_BRACKETS_MAX) {
        return false;
    }
    t->open[t->depth++] = close;
    return true;
}

/* Opens or closes a bracket; false where it does not fit. */
static bool bracket(struct py_tokens *t, char c)
{
    switch (c) {
    case '(': return open_bracket(t, ')');
    case '[': return open_bracket(t, ']');
    case '{': return open_bracket(t, '}');
    case ')':
    case ']':
    case '}': return t->depth > 0 && t->open[--t->depth] == c;
    default: return true;
    }
}

/* How many characters the sign here has; 0 = there is none. */
static size_t sign_length(const struct py_tokens *t)
{
    static const char *const longer[] = {"...", "**=", "//=", ">>=", "<<=", "**", "//", "<<",
                                         ">>",  "<=",  ">=",  "==",  "!=",  ":=", "->", "+=",
                                         "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@="};
    char second = char_at(t, t->at + 1);
    struct str rest = str_slice(t->text, t->at, t->text.n);
    switch (rest.p[0]) {
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
    case ',': return 1; /* begins no longer one */
    default: break;
    }
    bool may_be_longer = second != '\0' && strchr(".*/<>=", second) != NULL;
    for (size_t i = 0; may_be_longer && i < sizeof longer / sizeof longer[0]; i++) {
        if (str_starts(rest, longer[i])) {
            return strlen(longer[i]);
        }
    }
    return strchr(":.+-*/%@&|^~<>=;", rest.p[0]) != NULL ? 1 : 0;
}

static struct py_token sign(struct py_tokens *t)
{
    size_t n = sign_length(t);
    return n > 0 && bracket(t, t->text.p[t->at]) ? take(t, PY_SIGN, t->at + n) : bad();
}

struct py_token py_next(struct py_tokens *t)
{
    bool broken = false;
    if (skip(t, &broken)) {
        return (struct py_token){PY_NEWLINE, {NULL, 0}};
    }
    if (broken) {
        return bad();
    }
    if (t->at >= t->text.n) {
        return t->depth > 0 ? bad() : (struct py_token){PY_END, {NULL, 0}};
    }
    char c = t->text.p[t->at];
    size_t prefix = may_begin_string(c) ? prefix_length(t) : SIZE_MAX;
    if (prefix != SIZE_MAX) {
        return string(t, prefix);
    }
    if (ascii_digit(c) || (c == '.' && ascii_digit(char_at(t, t->at + 1)))) {
        return number(t);
    }
    return is_word_start(c) ? word(t) : sign(t);
}
