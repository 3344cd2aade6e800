#include "kernel/base/text.h"
#include "kernel/base/ascii.h"

#include <stdlib.h>
#include <string.h>

enum { REPLACEMENT = 0xFFFD, SLIP_MAX = 3 };

/* Length of the well-formed character at p (RFC 3629, section 4), or 0. */
static unsigned sequence(const unsigned char *p, size_t left)
{
    unsigned need = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (need <= 1) {
        return need;
    }
    if (p[0] > 0xF4 || left < need) {
        return 0;
    }
    unsigned char low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high) {
        return 0;
    }
    for (unsigned i = 2; i < need; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return need;
}

/* Where the run of ASCII that begins at `at` ends. */
static size_t ascii_end(struct str s, size_t at)
{
    while (s.n - at >= 8) {
        uint64_t word;
        memcpy(&word, s.p + at, 8);
        if ((word & 0x8080808080808080u) != 0) {
            break;
        }
        at += 8;
    }
    while (at < s.n && (unsigned char)s.p[at] < 0x80) {
        at++;
    }
    return at;
}

size_t utf8_invalid_at(struct str s)
{
    size_t at = ascii_end(s, 0);
    while (at < s.n) {
        unsigned n = sequence((const unsigned char *)s.p + at, s.n - at);
        if (n == 0) {
            return at;
        }
        at += n;
        if (at < s.n && (unsigned char)s.p[at] < 0x80) {
            at = ascii_end(s, at);
        }
    }
    return SIZE_MAX;
}

uint32_t utf8_next(struct str s, size_t *at)
{
    const unsigned char *p = (const unsigned char *)s.p + *at;
    unsigned n = sequence(p, s.n - *at);
    if (n <= 1) {
        *at += 1;
        return n == 1 ? p[0] : REPLACEMENT;
    }
    uint32_t code = p[0] & (0xFFu >> (n + 1));
    for (unsigned i = 1; i < n; i++) {
        code = code << 6 | (p[i] & 0x3Fu);
    }
    *at += n;
    return code;
}

unsigned utf8_put(uint32_t code, char out[4])
{
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        code = REPLACEMENT;
    }
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

void utf8_add(struct buf *out, uint32_t code)
{
    char bytes[4];
    unsigned n = utf8_put(code, bytes);
    buf_add(out, (struct str){bytes, n});
}

/* Where the character after `chars` more characters begins; the end of s when there are fewer.
 * *left gets how many were missing. */
static size_t skip_chars(struct str s, size_t chars, size_t *left)
{
    size_t at = 0;
    while (chars > 0 && at < s.n) {
        if ((unsigned char)s.p[at] < 0x80) {
            size_t run = ascii_end(str_slice(s, 0, s.n - at > chars ? at + chars : s.n), at) - at;
            at += run;
            chars -= run;
        } else {
            unsigned n = sequence((const unsigned char *)s.p + at, s.n - at);
            at += n == 0 ? 1 : n;
            chars--;
        }
    }
    *left = chars;
    return at;
}

size_t utf8_count(struct str s)
{
    size_t left;
    skip_chars(s, SIZE_MAX, &left);
    return SIZE_MAX - left;
}

struct str utf8_prefix(struct str s, size_t max_chars)
{
    size_t left;
    return str_slice(s, 0, skip_chars(s, max_chars, &left));
}

struct str utf8_suffix(struct str s, size_t max_chars)
{
    size_t total = utf8_count(s);
    if (total <= max_chars) {
        return s;
    }
    size_t left;
    return str_slice(s, skip_chars(s, total - max_chars, &left), s.n);
}

struct str utf8_whole(struct str s)
{
    size_t at = s.n;
    while (at > 0 && s.n - at < 3 && ((unsigned char)s.p[at - 1] & 0xC0) == 0x80) {
        at--;
    }
    bool leads = at > 0 && (unsigned char)s.p[at - 1] >= 0xC0;
    bool cut = leads && sequence((const unsigned char *)s.p + at - 1, s.n - at + 1) == 0;
    return str_slice(s, 0, cut ? at - 1 : s.n);
}

void text_place(struct str s, size_t at, uint32_t *line, uint32_t *column)
{
    struct str before = str_slice(s, 0, at);
    size_t start = 0;
    *line = 1;
    while (start < before.n) {
        const char *feed = memchr(before.p + start, '\n', before.n - start);
        if (feed == NULL) {
            break;
        }
        start = (size_t)(feed - before.p) + 1;
        *line += 1;
    }
    *column = (uint32_t)utf8_count(str_slice(before, start, before.n)) + 1;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

struct rows {
    const unsigned *before, *last, *row;
};

/* The distance between the first i bytes of a (i > 0) and the first j of b, from the cells around.
 */
static unsigned cell(struct str a, struct str b, size_t i, size_t j, struct rows r)
{
    if (j == 0) {
        return (unsigned)i;
    }
    unsigned best = r.last[j - 1] + (a.p[i - 1] == b.p[j - 1] ? 0 : 1);
    best = least(best, least(r.last[j], r.row[j - 1]) + 1);
    if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1]) {
        best = least(best, r.before[j - 2] + 1);
    }
    return best;
}

/* The optimal string alignment distance, computed only in the band of cells that can stay within
 * `max`: cells outside count as max + 1. rows: three rows of b.n + 1 cells. */
static unsigned band_distance(struct str a, struct str b, unsigned max, unsigned *rows)
{
    unsigned *before = rows, *last = rows + b.n + 1, *row = rows + 2 * (b.n + 1);
    for (size_t j = 0; j < 3 * (b.n + 1); j++) {
        rows[j] = max + 1;
    }
    for (size_t j = 0; j <= b.n && j <= max; j++) {
        last[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        size_t from = i > max ? i - max : 0, to = b.n < i + max ? b.n : i + max;
        if (from > 0) {
            row[from - 1] = max + 1;
        }
        if (to < b.n) {
            row[to + 1] = max + 1;
        }
        for (size_t j = from; j <= to; j++) {
            row[j] = least(cell(a, b, i, j, (struct rows){before, last, row}), max + 1);
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b.n];
}

unsigned text_distance(struct str a, struct str b, unsigned max)
{
    size_t longer = a.n > b.n ? a.n : b.n, shorter = a.n > b.n ? b.n : a.n;
    if (longer - shorter > max) {
        return max + 1;
    }
    if (max > longer) {
        max = (unsigned)longer;
    }
    unsigned *rows = mem_alloc(3 * (b.n + 1) * sizeof *rows);
    unsigned distance = band_distance(a, b, max, rows);
    free(rows);
    return distance;
}

/* The next byte that is no mark between words, as a small letter; 0 at the end. */
static char next_letter(struct str s, size_t *at)
{
    while (*at < s.n && (s.p[*at] == '_' || s.p[*at] == '-' || s.p[*at] == ' ')) {
        *at += 1;
    }
    return *at < s.n ? ascii_lower(s.p[(*at)++]) : '\0';
}

/* Whether they differ in nothing but capitals and the marks between words: oneOf, one_of. */
static bool same_letters(struct str a, struct str b)
{
    size_t i = 0, j = 0;
    char x, y;
    do {
        x = next_letter(a, &i);
        y = next_letter(b, &j);
    } while (x == y && x != '\0');
    return x == y && i == a.n && j == b.n;
}

const char *text_closest(struct str word, const char *const *names, size_t n)
{
    const char *alike = NULL;
    for (size_t i = 0; i < n && word.n > 0; i++) {
        if (str_is(word, names[i])) {
            return names[i];
        }
        alike = alike == NULL && same_letters(word, str_of(names[i])) ? names[i] : alike;
    }
    if (alike != NULL) {
        return alike;
    }
    unsigned limit = word.n < 3 ? 1 : word.n / 3 > SLIP_MAX ? SLIP_MAX : (unsigned)(word.n / 3);
    const char *closest = NULL;
    for (size_t i = 0; i < n; i++) {
        struct str name = str_of(names[i]);
        unsigned distance = text_distance(word, name, limit);
        /* A word in which everything differs is no slip of the name. */
        if (distance <= limit && (distance == 0 || (distance < name.n && distance < word.n))) {
            closest = names[i];
            if (distance == 0) {
                break;
            }
            limit = distance - 1;
        }
    }
    return closest;
}

struct str text_truncate(struct arena *arena, struct str s, size_t max_chars, bool *truncated)
{
    size_t total = max_chars == 0 ? 0 : utf8_count(s);
    *truncated = total > max_chars;
    if (!*truncated) {
        return s;
    }
    size_t tail = max_chars / 3;
    struct buf out = {0};
    buf_add(&out, utf8_prefix(s, max_chars - tail));
    buf_fmt(&out, "\n… [truncated: %zu characters in all, %zu shown] …\n", total, max_chars);
    buf_add(&out, utf8_suffix(s, tail));
    struct str kept = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return kept;
}

bool text_is_control(uint32_t code)
{
    bool c0_or_c1 = code < 0x20 || (code >= 0x7F && code < 0xA0);
    bool separator = code == 0x2028 || code == 0x2029;
    bool turns = code == 0x061C || code == 0x200E || code == 0x200F ||
                 (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return c0_or_c1 || separator || turns;
}

void text_add_plain(struct buf *out, struct str s)
{
    for (size_t at = 0; at < s.n;) {
        uint32_t code = utf8_next(s, &at);
        bool kept = code == '\n' || code == '\t' || !text_is_control(code);
        utf8_add(out, kept ? code : ' ');
    }
}

struct str text_preview(struct arena *arena, struct str s, size_t max_chars)
{
    struct str shown = utf8_prefix(s, max_chars);
    struct buf out = {0};
    for (size_t at = 0; at < shown.n;) {
        uint32_t code = utf8_next(shown, &at);
        utf8_add(&out, text_is_control(code) ? ' ' : code);
    }
    if (shown.n < s.n) {
        buf_addz(&out, "…");
    }
    struct str line = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return line;
}

void text_add_word(struct buf *out, struct str word)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
    bool plain = word.n > 0;
    for (size_t i = 0; i < word.n; i++) {
        plain = plain && word.p[i] != '\0' && strchr(safe, word.p[i]) != NULL;
    }
    if (plain) {
        buf_add(out, word);
        return;
    }
    buf_char(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'') {
            buf_addz(out, "'\\''");
        } else {
            buf_char(out, word.p[i]);
        }
    }
    buf_char(out, '\'');
}
