/* Strings as the checker compares them, and as Python shows and names them. */
#include <string.h>

#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/text.h"

enum { CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2, CAPITAL_I_DOT = 0x130, MARK_DOT = 0x307 };

static bool is_dropped(char c)
{
    switch (c) {
    case ' ':
    case ',':
    case '.':
    case '/':
    case '-':
    case '_':
    case '*':
    case '^': return true;
    default: return false;
    }
}

/* str.lower() of text that is not only ASCII. */
static struct str lower(struct bfcl_work *w, struct str s)
{
    struct buf out = {0};
    struct str sigma = {NULL, 0};
    bool more =
        str_find(s, STR("\xCE\xA3")) != SIZE_MAX && bfcl_find(w, BFCL_RE_SIGMA, s, 0, &sigma);
    for (size_t at = 0; at < s.n;) {
        size_t from = at;
        uint32_t code = utf8_next(s, &at);
        if (more && s.p + from == sigma.p) {
            utf8_add(&out, FINAL_SIGMA);
            more = bfcl_find(w, BFCL_RE_SIGMA, s, at, &sigma);
        } else if (code == CAPITAL_I_DOT) {
            utf8_add(&out, 'i');
            utf8_add(&out, MARK_DOT);
        } else if (code < 0x80) {
            buf_char(&out, (char)code); /* already lower */
        } else {
            utf8_add(&out, bfcl_lower_of(code));
        }
    }
    struct str kept = arena_str(w->arena, buf_str(&out));
    buf_free(&out);
    return kept;
}

struct str bfcl_plain(struct bfcl_work *w, struct str s)
{
    bool ascii = true;
    bool same = true;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        ascii = ascii && (unsigned char)c < 0x80;
        same = same && !is_dropped(c) && !(c >= 'A' && c <= 'Z') && c != '\'';
    }
    if (ascii && same) {
        return s;
    }
    char *p = arena_alloc(w->arena, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!is_dropped(c)) {
            p[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '\'' ? '"' : c;
        }
    }
    struct str plain = {p, n};
    return ascii ? plain : lower(w, plain);
}

/* NFKC as far as it goes: full-width forms and marks after their letters. */
static struct str composed(struct bfcl_work *w, struct str s)
{
    struct buf out = {0};
    uint32_t last = 0;
    size_t last_at = 0;
    for (size_t at = 0; at < s.n;) {
        uint32_t code = utf8_next(s, &at);
        if (code >= 0xFF01 && code <= 0xFF5E) {
            code -= 0xFEE0;
        }
        uint32_t whole = last == 0 ? 0 : bfcl_compose(last, code);
        if (whole != 0) {
            out.n = last_at;
            code = whole;
        }
        last = code;
        last_at = out.n;
        utf8_add(&out, code);
    }
    struct str kept = arena_str(w->arena, buf_str(&out));
    buf_free(&out);
    return kept;
}

bool bfcl_identifier(struct bfcl_work *w, struct str s, struct str *out)
{
    bool ascii = true;
    for (size_t i = 0; i < s.n; i++) {
        ascii = ascii && (unsigned char)s.p[i] < 0x80;
    }
    *out = s;
    if (ascii) {
        return true;
    }
    struct str found;
    *out = composed(w, s);
    return bfcl_find(w, BFCL_RE_IDENTIFIER, *out, 0, &found);
}
