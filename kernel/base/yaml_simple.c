/* The YAML that nearly all files are written in, read without libyaml, many times faster: maps and
 * lists by indentation, values on their key's line or as "|" blocks, flow collections and quoted
 * strings that end on their line, comments on lines of their own. Whatever else a text has in it
 * (anchors, tags, tabs, folded text, documents, nulls that are not written, mistakes) ends the
 * attempt: the text is then read from its start by libyaml (yaml_events.c), which says what is
 * wrong. So this reads a text as libyaml does, with the same places, or not at all; the tests
 * compare both. Source: YAML 1.2.2, chapters 6 to 8. */
#include "kernel/base/yaml_int.h"

#include "kernel/base/ascii.h"
#include "kernel/base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_BYTES_MAX = 1000 /* YAML allows 1,024 characters up to the colon */,
    PIECE_BYTES = 65536
};

/* What came of a text piece by piece, and is not read yet. */
struct pieces {
    bool (*read)(void *ctx, char *out, size_t n, size_t *got);
    void *ctx;
    char *bytes;
    size_t n, cap;
    size_t whole; /* so many of them are whole lines; the last line of all needs no end */
};

/* `at` stands in the line that begins at `start`; `indent` is of the line that next_line found
 * last: its spaces, -1 = the text is over. */
struct simple {
    struct load *load;
    struct pieces *more; /* where the text comes from, which then is some lines; NULL = it is all */
    struct str text;
    size_t at;
    size_t start;
    int64_t indent;
    uint32_t line;
    size_t counted; /* up to here the characters of the line are counted */
    uint32_t column;
    struct buf scratch;
};

static bool flow(struct simple *s);
static bool map(struct simple *s, int64_t indent);
static bool sequence(struct simple *s, int64_t indent);

static char peek(const struct simple *s, size_t ahead)
{
    return s->at + ahead < s->text.n ? s->text.p[s->at + ahead] : '\0';
}

static bool is_word(char c)
{
    return ascii_alnum(c) || c == '_';
}

/* Whether the character at i, which is not ASCII, is a control, a line break or a mark. */
static bool is_odd(struct str text, size_t i)
{
    struct str rest = str_slice(text, i, i + 3);
    bool control = str_starts(rest, "\xC2") && (unsigned char)rest.p[1] < 0xA0;
    return control || str_is(rest, "\xE2\x80\xA8") || str_is(rest, "\xE2\x80\xA9") ||
           str_is(rest, "\xEF\xBB\xBF") || str_is(rest, "\xEF\xBF\xBE") ||
           str_is(rest, "\xEF\xBF\xBF");
}

/* Whether it is ASCII without controls but line feeds; without branches, so that compilers take
 * many bytes at once. */
static bool is_plain_ascii(struct str text)
{
    unsigned odd = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        odd |= (unsigned)(c < 0x20) & (unsigned)(c != '\n');
        odd |= (unsigned)(c > 0x7E);
    }
    return odd == 0;
}

/* Whether only characters stand in the text that need no care anywhere. */
static bool is_plain_text(struct str text)
{
    if (is_plain_ascii(text)) {
        return true;
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c >= 0x20 && c < 0x7F) || c == '\n') {
            continue;
        }
        if (c < 0x80 || is_odd(text, i)) {
            return false;
        }
    }
    return true;
}

/* Behind the last line's end of the bytes from `from` on; 0 = there is none. */
static size_t lines_end(const struct pieces *p, size_t from)
{
    size_t end = p->n;
    while (end > from && p->bytes[end - 1] != '\n') {
        end--;
    }
    return end > from ? end : 0;
}

/* Puts the next lines in the place of those that were read. false: read failed. */
static bool read_lines(struct pieces *p)
{
    size_t got = 1;
    p->n -= p->whole;
    if (p->n > 0) {
        memmove(p->bytes, p->bytes + p->whole, p->n);
    }
    p->whole = 0;
    while (p->whole == 0 && got > 0) {
        if (p->cap - p->n < PIECE_BYTES) {
            p->cap = 2 * p->cap + PIECE_BYTES;
            p->bytes = mem_grow(p->bytes, p->cap);
        }
        if (!p->read(p->ctx, p->bytes + p->n, PIECE_BYTES, &got)) {
            return false;
        }
        p->n += got;
        p->whole = got > 0 ? lines_end(p, p->n - got) : p->n;
    }
    return true;
}

/* At a line's start: has that line in the text, where one is left. false: it cannot be read, or has
 * characters in it that need care. */
static bool have_line(struct simple *s)
{
    struct pieces *p = s->more;
    if (p == NULL || s->at < s->text.n) {
        return true;
    }
    if (!read_lines(p)) {
        return false;
    }
    s->text = (struct str){p->bytes, p->whole};
    s->at = 0;
    return utf8_invalid_at(s->text) == SIZE_MAX && is_plain_text(s->text);
}

static void begin_line(struct simple *s)
{
    s->start = s->at;
    s->counted = s->at;
    s->column = 1;
}

/* The column of `at`, which only grows within a line. */
static uint32_t column(struct simple *s)
{
    for (; s->counted < s->at; s->counted++) {
        s->column += ((unsigned char)s->text.p[s->counted] & 0xC0) != 0x80 ? 1 : 0;
    }
    return s->column;
}

static void skip_spaces(struct simple *s)
{
    while (peek(s, 0) == ' ') {
        s->at++;
    }
}

static void to_line_end(struct simple *s)
{
    const char *end = s->at < s->text.n ? memchr(s->text.p + s->at, '\n', s->text.n - s->at) : NULL;
    s->at = end == NULL ? s->text.n : (size_t)(end - s->text.p);
}

/* From a line's start to the first line that is neither blank nor a comment. false: a mark between
 * documents, or a directive; or a line that cannot be had. */
static bool find_line(struct simple *s)
{
    for (;;) {
        if (!have_line(s)) {
            return false;
        }
        begin_line(s);
        skip_spaces(s);
        char c = peek(s, 0);
        if (s->at == s->text.n) {
            s->indent = -1;
            return true;
        }
        if (c != '\n' && c != '#') {
            break;
        }
        to_line_end(s);
        s->at += s->at < s->text.n ? 1 : 0;
        s->line++;
    }
    struct str rest = str_slice(s->text, s->at, s->text.n);
    s->indent = (int64_t)(s->at - s->start);
    return s->indent > 0 ||
           !(rest.p[0] == '%' || str_starts(rest, "---") || str_starts(rest, "..."));
}

/* Behind a value only spaces may stand; then the next line. */
static bool next_line(struct simple *s)
{
    skip_spaces(s);
    if (s->at < s->text.n) {
        if (peek(s, 0) != '\n') {
            return false;
        }
        s->at++;
        s->line++;
    }
    return find_line(s);
}

/* ---- scalars ---- */

/* The closing quote of a string in single quotes, where two stand for one; SIZE_MAX = none. */
static size_t single_end(struct str text, size_t from)
{
    for (size_t i = from; i < text.n; i += 2) {
        const char *quote = memchr(text.p + i, '\'', text.n - i);
        if (quote == NULL) {
            break;
        }
        i = (size_t)(quote - text.p);
        if (i + 1 == text.n || text.p[i + 1] != '\'') {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Likewise of double quotes, where a backslash hides what follows it. */
static size_t double_end(struct str text, size_t from)
{
    for (size_t i = from; i < text.n; i++) {
        if (text.p[i] == '"') {
            return i;
        }
        i += text.p[i] == '\\' ? 1 : 0;
    }
    return SIZE_MAX;
}

/* The end of the quoted string that begins at `from`, behind its quote; 0 = not on this line. */
static size_t quoted_end(const struct simple *s, size_t from)
{
    size_t first = from + 1;
    size_t end = s->text.p[from] == '"' ? double_end(s->text, first) : single_end(s->text, first);
    bool good = end != SIZE_MAX && memchr(s->text.p + from, '\n', end - from) == NULL;
    return good ? end + 1 : 0;
}

/* Four hex digits of a character that is no surrogate. */
static bool add_unicode(struct buf *out, struct str digits)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t code = 0;
    if (digits.n != 4) {
        return false;
    }
    for (size_t i = 0; i < digits.n; i++) {
        char c = digits.p[i] >= 'A' && digits.p[i] <= 'F' ? (char)(digits.p[i] + 32) : digits.p[i];
        const char *at = memchr(hex, c, sizeof hex - 1);
        if (at == NULL) {
            return false;
        }
        code = code * 16 + (uint32_t)(at - hex);
    }
    if (code >= 0xD800 && code < 0xE000) {
        return false;
    }
    utf8_add(out, code);
    return true;
}

/* Text between double quotes, without its escapes. false: one that is rare. */
static bool unescape(struct buf *out, struct str text)
{
    static const char names[] = "\"\\/nrtbf", meanings[] = "\"\\/\n\r\t\b\f";
    for (size_t i = 0; i < text.n;) {
        const char *slash = memchr(text.p + i, '\\', text.n - i);
        size_t end = slash == NULL ? text.n : (size_t)(slash - text.p);
        buf_add(out, str_slice(text, i, end));
        if (slash == NULL) {
            return true;
        }
        char c = text.p[end + 1]; /* the closing quote at the least */
        const char *name = memchr(names, c, sizeof names - 1);
        i = end + 2;
        if (name != NULL) {
            buf_char(out, meanings[name - names]);
        } else if (c == 'u' && add_unicode(out, str_slice(text, i, i + 4))) {
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

/* Text between single quotes, where two stand for one. */
static void undouble(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n;) {
        const char *quote = memchr(text.p + i, '\'', text.n - i);
        size_t end = quote == NULL ? text.n : (size_t)(quote - text.p) + 1;
        buf_add(out, str_slice(text, i, end));
        i = end + 1;
    }
}

static bool quoted(struct simple *s)
{
    size_t end = quoted_end(s, s->at);
    if (end == 0) {
        return false;
    }
    char quote = s->text.p[s->at];
    struct str inside = str_slice(s->text, s->at + 1, end - 1);
    if (inside.n > 0 && memchr(inside.p, quote == '"' ? '\\' : quote, inside.n) != NULL) {
        buf_clear(&s->scratch);
        if (quote == '\'') {
            undouble(&s->scratch, inside);
        } else if (!unescape(&s->scratch, inside)) {
            return false;
        }
        inside = buf_str(&s->scratch);
    }
    uint32_t from = column(s);
    s->at = end;
    return yaml_scalar(s->load, inside, false, s->line, from) == 0;
}

/* Whether a scalar without quotes may begin here. */
static bool may_begin_plain(const struct simple *s)
{
    char c = peek(s, 0);
    return is_word(c) || (unsigned char)c >= 0x80 || c == '.' || c == '/' || c == '(' || c == '$' ||
           c == '<' || c == '+' || (c == '-' && is_word(peek(s, 1)));
}

/* A scalar without quotes up to `end`, less the spaces before it. */
static bool plain(struct simple *s, size_t end)
{
    struct str text = str_slice(s->text, s->at, end);
    while (text.n > 0 && text.p[text.n - 1] == ' ') {
        text.n--;
    }
    uint32_t from = column(s);
    s->at = end;
    return yaml_scalar(s->load, text, true, s->line, from) == 0;
}

static bool block_plain(struct simple *s)
{
    size_t from = s->at;
    if (!may_begin_plain(s)) {
        return false;
    }
    to_line_end(s);
    size_t end = s->at;
    s->at = from;
    for (size_t i = from; i < end; i++) {
        char c = s->text.p[i];
        char next = i + 1 < end ? s->text.p[i + 1] : ' ';
        if ((c == ':' && next == ' ') || (c == ' ' && next == '#')) {
            return false;
        }
    }
    return plain(s, end);
}

static bool flow_plain(struct simple *s)
{
    if (!may_begin_plain(s)) {
        return false;
    }
    for (size_t i = s->at; i < s->text.n; i++) {
        switch (s->text.p[i]) {
        case ',':
        case ']':
        case '}': return plain(s, i);
        case '[':
        case '{':
        case '?':
        case ':':
        case '#':
        case '\n': return false;
        default: break;
        }
    }
    return false;
}

/* "|" or "|-" and the lines that are indented more than `indent`. */
static bool literal(struct simple *s, int64_t indent)
{
    uint32_t line = s->line, from = column(s);
    bool strip = peek(s, 1) == '-';
    s->at += strip ? 2 : 1;
    if (peek(s, 0) != '\n') {
        return false;
    }
    s->at++;
    s->line++;
    size_t depth = 0, blanks = 0;
    bool good = have_line(s);
    while (peek(s, depth) == ' ') {
        depth++;
    }
    if (!good || (int64_t)depth <= indent || peek(s, depth) == '\n') {
        return false;
    }
    buf_clear(&s->scratch);
    for (;;) {
        size_t spaces = 0;
        if (!have_line(s)) {
            return false;
        }
        while (spaces < depth && peek(s, spaces) == ' ') {
            spaces++;
        }
        bool blank = peek(s, spaces) == '\n';
        if (s->at == s->text.n || (spaces < depth && !blank)) {
            break;
        }
        size_t first = s->at + spaces;
        to_line_end(s);
        if (s->at == s->text.n) {
            return false; /* the last line has no end */
        }
        for (; !blank && blanks > 0; blanks--) {
            buf_char(&s->scratch, '\n');
        }
        s->at++;
        s->line++;
        blanks += blank ? 1 : 0;
        buf_add(&s->scratch, blank ? STR("") : str_slice(s->text, first, s->at));
    }
    struct str text = buf_str(&s->scratch);
    text.n -= strip && text.n > 0 ? 1 : 0;
    return yaml_scalar(s->load, text, false, line, from) == 0 && find_line(s);
}

/* ---- maps and lists ---- */

/* The end of the key that begins here, which a colon follows with a space or a line's end; 0 =
 * there is none. */
static size_t key_end(const struct simple *s)
{
    char c = peek(s, 0);
    size_t end = s->at;
    if (c == '"' || c == '\'') {
        end = quoted_end(s, s->at);
    } else if (is_word(c)) {
        while (end < s->text.n && (is_word(s->text.p[end]) || s->text.p[end] == '-' ||
                                   s->text.p[end] == '.' || s->text.p[end] == '/')) {
            end++;
        }
    }
    bool colon = end > s->at && end < s->text.n && s->text.p[end] == ':';
    bool ends =
        colon && (end + 1 == s->text.n || s->text.p[end + 1] == ' ' || s->text.p[end + 1] == '\n');
    return ends && end - s->at <= KEY_BYTES_MAX ? end : 0;
}

/* A key and its colon. */
static bool key(struct simple *s)
{
    size_t end = key_end(s);
    bool in_quotes = peek(s, 0) == '"' || peek(s, 0) == '\'';
    if (end == 0 || !(in_quotes ? quoted(s) : plain(s, end))) {
        return false;
    }
    s->at++;
    return true;
}

static bool flow_value(struct simple *s)
{
    switch (peek(s, 0)) {
    case '{':
    case '[': return flow(s);
    case '"':
    case '\'': return quoted(s);
    default: return flow_plain(s);
    }
}

/* {…} or […]; its depth is limited by yaml_open. */
static bool flow(struct simple *s)
{
    bool is_map = peek(s, 0) == '{';
    char close = is_map ? '}' : ']';
    if (yaml_open(s->load, is_map ? VAL_OBJECT : VAL_ARRAY, s->line, column(s)) != 0) {
        return false;
    }
    s->at++;
    skip_spaces(s);
    bool more = peek(s, 0) != close;
    while (more) {
        if (is_map && !key(s)) {
            return false;
        }
        skip_spaces(s);
        if (!flow_value(s)) {
            return false;
        }
        skip_spaces(s);
        more = peek(s, 0) == ',';
        s->at += more ? 1 : 0;
        skip_spaces(s);
    }
    if (peek(s, 0) != close) {
        return false;
    }
    s->at++;
    return yaml_close(s->load) == 0;
}

/* A value that begins on its key's line, or behind a dash; the block around has `indent`. */
static bool value_here(struct simple *s, int64_t indent)
{
    switch (peek(s, 0)) {
    case '|': return literal(s, indent);
    case '{':
    case '[': return flow(s) && next_line(s);
    case '"':
    case '\'': return quoted(s) && next_line(s);
    default: return block_plain(s) && next_line(s);
    }
}

static bool at_dash(const struct simple *s)
{
    return peek(s, 0) == '-' && peek(s, 1) == ' ';
}

/* What stands behind a key of a map with `indent`. A list may stand as far left as its key. */
static bool value(struct simple *s, int64_t indent)
{
    skip_spaces(s);
    if (s->at < s->text.n && peek(s, 0) != '\n') {
        return value_here(s, indent);
    }
    if (!next_line(s)) {
        return false;
    }
    if (at_dash(s) && s->indent >= indent) {
        return sequence(s, s->indent);
    }
    return s->indent > indent && map(s, s->indent);
}

static bool map(struct simple *s, int64_t indent)
{
    if (yaml_open(s->load, VAL_OBJECT, s->line, column(s)) != 0) {
        return false;
    }
    do {
        if (!key(s) || !value(s, indent)) {
            return false;
        }
    } while (s->indent == indent);
    return s->indent < indent && yaml_close(s->load) == 0;
}

static bool sequence(struct simple *s, int64_t indent)
{
    if (yaml_open(s->load, VAL_ARRAY, s->line, column(s)) != 0) {
        return false;
    }
    while (s->indent == indent && at_dash(s)) {
        s->at++;
        skip_spaces(s);
        bool good = key_end(s) > 0 ? map(s, (int64_t)(s->at - s->start)) : value_here(s, indent);
        if (!good) {
            return false;
        }
    }
    return s->indent <= indent && yaml_close(s->load) == 0;
}

static bool document(struct simple *s)
{
    bool good =
        find_line(s) && s->indent >= 0 && (at_dash(s) ? sequence(s, s->indent) : map(s, s->indent));
    buf_free(&s->scratch);
    return good && s->indent < 0;
}

bool yaml_read_simple(struct load *load, struct str text)
{
    struct simple s = {.load = load, .text = text, .line = 1};
    return is_plain_text(text) && document(&s);
}

bool yaml_stream_simple(struct load *load,
                        bool (*read)(void *ctx, char *out, size_t n, size_t *got), void *ctx)
{
    struct pieces pieces = {.read = read, .ctx = ctx};
    struct simple s = {.load = load, .more = &pieces, .line = 1};
    bool good = document(&s);
    free(pieces.bytes);
    return good;
}
