#include "kernel/base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/arena.h"
#include "kernel/base/ascii.h"

enum { BUF_BYTES_MAX = 1 << 30, BUF_BYTES_FIRST = 256, INT64_CHARS_MAX = 20 };

bool str_ends(struct str a, const char *suffix)
{
    size_t n = strlen(suffix);
    return a.n >= n && (n == 0 || memcmp(a.p + a.n - n, suffix, n) == 0);
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n == 0 ? 0 : memcmp(a.p, b.p, n);
    if (c != 0) {
        return c;
    }
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

int str_cmp_nocase(struct str a, struct str b)
{
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        int diff = (unsigned char)ascii_lower(a.p[i]) - (unsigned char)ascii_lower(b.p[i]);
        if (diff != 0) {
            return diff;
        }
    }
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

bool str_is_nocase(struct str a, const char *z)
{
    struct str b = str_of(z);
    return a.n == b.n && str_cmp_nocase(a, b) == 0;
}

bool str_is_one_of_nocase(struct str a, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (str_is_nocase(a, *words)) {
            return true;
        }
    }
    return false;
}

bool str_starts_nocase(struct str a, const char *prefix)
{
    return str_is_nocase(str_slice(a, 0, strlen(prefix)), prefix);
}

int str_index(struct str s, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++) {
        /* The first character tells most apart before the length of a word is counted. */
        if ((s.n == 0 || s.p[0] == words[i][0]) && str_is(s, words[i])) {
            return i;
        }
    }
    return -1;
}

bool str_is_name(struct str s, const char *others)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!ascii_alnum(c) && (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return s.n > 0;
}

size_t str_find(struct str s, struct str needle)
{
    if (needle.n == 0) {
        return 0;
    }
    size_t at = 0;
    char last = needle.p[needle.n - 1];
    while (needle.n <= s.n - at) {
        const char *hit = memchr(s.p + at, needle.p[0], s.n - at - needle.n + 1);
        if (hit == NULL) {
            return SIZE_MAX;
        }
        if (hit[needle.n - 1] == last && memcmp(hit, needle.p, needle.n) == 0) {
            return (size_t)(hit - s.p);
        }
        at = (size_t)(hit - s.p) + 1;
    }
    return SIZE_MAX;
}

struct str str_cut(struct str *rest, char at)
{
    const char *hit = rest->n == 0 ? NULL : memchr(rest->p, at, rest->n);
    size_t n = hit == NULL ? rest->n : (size_t)(hit - rest->p);
    struct str part = {rest->p, n};
    *rest = hit == NULL ? (struct str){NULL, 0} : (struct str){hit + 1, rest->n - n - 1};
    return part;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.n > 0 && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

void buf_free(struct buf *b)
{
    free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->truncated = false;
}

/* Makes room for `extra` bytes and a NUL. False when the cap forbids it. */
static bool reserve(struct buf *b, size_t extra)
{
    size_t max = b->max == 0 ? BUF_BYTES_MAX : b->max;
    if (b->truncated || extra > max || b->n > max - extra) {
        b->truncated = true;
        return false;
    }
    size_t need = b->n + extra + 1;
    if (need > b->cap) {
        size_t cap = b->cap == 0 ? BUF_BYTES_FIRST : b->cap;
        while (cap < need) {
            cap *= 2;
        }
        cap = cap > max + 1 ? max + 1 : cap;
        b->p = mem_grow(b->p, cap);
        b->cap = cap;
    }
    return true;
}

void buf_add_more(struct buf *b, struct str s)
{
    if (s.n > 0 && reserve(b, s.n)) {
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
    }
}

void buf_int(struct buf *b, int64_t v)
{
    char digits[INT64_CHARS_MAX];
    size_t at = sizeof digits;
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (v < 0) {
        digits[--at] = '-';
    }
    buf_add(b, (struct str){digits + at, sizeof digits - at});
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
    char first[256];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(first, sizeof first, fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof first) {
        buf_add(b, (struct str){first, (size_t)n});
    } else if (n > 0 && reserve(b, (size_t)n)) {
        if (vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again) == n) {
            b->n += (size_t)n;
        }
    }
    va_end(again);
}

struct str buf_str(const struct buf *b)
{
    return (struct str){b->p, b->n};
}
