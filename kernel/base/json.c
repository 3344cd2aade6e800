#include "kernel/base/json.h"
#include "kernel/base/ascii.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/text.h"
#include "kernel/base/val_int.h"

enum { FOUND_CHARS_MAX = 20, STACK_MEMBERS_FIRST = 48 };

/* CUT: the text ended where more was needed; WRONG: no continuation can make it valid. */
enum failure { FAILURE_NONE, FAILURE_WRONG, FAILURE_CUT };

struct parser {
    struct arena *arena;
    const char *file;
    struct err *e;
    struct str text; /* without a byte order mark */
    size_t at;
    uint32_t line;
    size_t line_start; /* the byte where the line begins */
    size_t followers;  /* bytes since then that continue a UTF-8 character */
    unsigned depth;
    size_t values;
    enum failure failure;
    const struct val_items *items; /* NULL = everything belongs into the tree */
    bool handing;                  /* the value that comes next is their list, if it is one */
    /* Items and members of the containers that are still open, the innermost last: at first in a
     * small room of the caller. What is being read stands there already, and moves as it grows. */
    char *stack;
    char *grown; /* the stack, where it is in memory of its own; NULL = not yet */
    size_t stack_n;
    size_t stack_cap;
};

static int fail(struct parser *p, int code, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int parse_value(struct parser *p, const char *expected, size_t place) MUST_CHECK;

static int fail(struct parser *p, int code, size_t at, const char *fmt, ...)
{
    p->failure = p->failure == FAILURE_NONE ? FAILURE_WRONG : p->failure;
    if (p->e != NULL) {
        uint32_t line, column;
        va_list args;
        text_place(p->text, at, &line, &column);
        va_start(args, fmt);
        err_vat(p->e, code, p->file, line, column, fmt, args);
        va_end(args);
    }
    return code;
}

static bool at_end(const struct parser *p)
{
    return p->at >= p->text.n;
}

/* The byte at the cursor; NUL at the end, which no rule of the grammar accepts. */
static char peek(const struct parser *p)
{
    return p->at < p->text.n ? p->text.p[p->at] : '\0';
}

static bool is_word(char c)
{
    return ascii_alnum(c) || c == '_';
}

/* Says in `out` what stands at the cursor: a word, one character, or a byte that cannot be shown.
 */
static void describe(const struct parser *p, char *out, size_t size)
{
    unsigned char c = (unsigned char)peek(p);
    size_t end = p->at;
    while (end < p->text.n && end - p->at < FOUND_CHARS_MAX && is_word(p->text.p[end])) {
        end++;
    }
    if (end == p->at && !at_end(p)) {
        utf8_next(p->text, &end);
    }
    int n = 0;
    if (at_end(p)) {
        n = snprintf(out, size, "the end of the text");
    } else if (c == '"') {
        n = snprintf(out, size, "a '\"'");
    } else if (c < 0x20 || c == 0x7F || (c >= 0x80 && end - p->at == 1)) {
        n = snprintf(out, size, "the byte 0x%02X", c);
    } else {
        n = snprintf(out, size, "\"%.*s\"", (int)(end - p->at), p->text.p + p->at);
    }
    if (n < 0) {
        out[0] = '\0';
    }
}

static bool after_comma(const struct parser *p)
{
    struct str before = str_trim(str_slice(p->text, 0, p->at));
    return str_ends(before, ",");
}

/* What people often mean by what stands at the cursor; "" when there is nothing to advise. */
static const char *advice(const struct parser *p)
{
    switch (peek(p)) {
    case '\'': return " (JSON strings take double quotes)";
    case '/':
    case '#': return " (JSON has no comments)";
    case '+':
    case '.': return " (a JSON number begins with a digit or '-')";
    case 'N':
    case 'I': return " (JSON has no NaN, Infinity or None; write null)";
    case 'T':
    case 'F': return " (JSON writes true and false)";
    case ']':
    case '}': return after_comma(p) ? " (a comma may not end a list or a map)" : "";
    default: return "";
    }
}

static int unexpected(struct parser *p, const char *expected, const char *hint)
{
    char found[64];
    describe(p, found, sizeof found);
    if (at_end(p)) {
        p->failure = FAILURE_CUT;
    }
    return fail(p, ERR_INPUT, p->at, "expected %s, found %s%s", expected, found, hint);
}

/* Moves behind white space and returns what stands there, as peek. */
static char skip_space(struct parser *p)
{
    char c = peek(p);
    for (; c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t'); c = peek(p)) {
        p->at++;
        if (c == '\n') {
            p->line++;
            p->line_start = p->at;
            p->followers = 0;
        }
    }
    return c;
}

static uint32_t column_here(const struct parser *p)
{
    return (uint32_t)(p->at - p->line_start - p->followers + 1);
}

/* Room for an item or a member on top of the stack; returns its place. */
static size_t push(struct parser *p, size_t size)
{
    if (p->stack_cap - p->stack_n < size) {
        p->stack_cap *= 2;
        char *grown = mem_grow(p->grown, p->stack_cap);
        if (p->grown == NULL) {
            memcpy(grown, p->stack, p->stack_n);
        }
        p->stack = p->grown = grown;
    }
    p->stack_n += size;
    return p->stack_n - size;
}

/* What stands at a place, valid until the next push. */
static void *at_place(const struct parser *p, size_t place)
{
    return p->stack + place;
}

/* Moves everything above `base` into the arena. */
static void *pop(struct parser *p, size_t base)
{
    size_t n = p->stack_n - base;
    void *kept = arena_room(p->arena, n);
    memcpy(kept, p->stack + base, n);
    p->stack_n = base;
    return kept;
}

/* Eight bytes as a number, the first one lowest; compilers make one load of it. */
static uint64_t eight_bytes(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

/* The high bit of each of eight bytes that is a quote, a backslash, a control or not ASCII. A
 * borrow can only add hits above a real one, so the lowest is real. */
static uint64_t special_bytes(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
    return ((word - ones * 0x20) | (quote - ones) | (backslash - ones) | word) & highs;
}

/* Where the plain characters of a string end. */
static size_t plain_end(struct str s, size_t at)
{
    for (; s.n - at >= 8; at += 8) {
        uint64_t special = special_bytes(eight_bytes(s.p + at));
        if (special != 0) {
            return at + (size_t)__builtin_ctzll(special) / 8;
        }
    }
    for (; at < s.n; at++) {
        unsigned char c = (unsigned char)s.p[at];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') {
            break;
        }
    }
    return at;
}

static int unfinished(struct parser *p, size_t open)
{
    p->failure = FAILURE_CUT;
    return fail(p, ERR_INPUT, open,
                "unfinished string: it begins here, expected '\"' before the "
                "end of the text");
}

/* What a letter behind a backslash stands for; NUL = it is none, or it is u. */
static char escaped(char letter)
{
    switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
    }
}

/* Checks the escape at the cursor and moves past it. */
static int check_escape(struct parser *p, size_t open)
{
    size_t from = p->at++;
    if (at_end(p)) {
        return unfinished(p, open);
    }
    char c = p->text.p[p->at++];
    if (c != 'u') {
        if (escaped(c) != '\0') {
            return 0;
        }
        p->at--;
        char found[64];
        describe(p, found, sizeof found);
        return fail(p, ERR_INPUT, from,
                    "found %s after a backslash, expected one of \" \\ / b f n r t u (write \\\\ "
                    "for a backslash)",
                    found);
    }
    for (unsigned i = 0; i < 4; i++, p->at++) {
        if (at_end(p)) {
            return unfinished(p, open);
        }
        if (ascii_hex(p->text.p[p->at]) < 0) {
            return fail(p, ERR_INPUT, from, "expected four hex digits after \\u");
        }
    }
    return 0;
}

/* Whether more bytes could make the bytes from the cursor to the end one valid character. */
static bool is_cut_character(const struct parser *p)
{
    char bytes[4];
    size_t left = p->text.n - p->at;
    if (left >= sizeof bytes) {
        return false;
    }
    /* Where the second byte's range is narrow, its lower or its upper end is in it. */
    for (unsigned fill = 0; fill < 2; fill++) {
        memset(bytes, fill == 0 ? 0x80 : 0xBF, sizeof bytes);
        memcpy(bytes, p->text.p + p->at, left);
        size_t end = 0;
        utf8_next((struct str){bytes, sizeof bytes}, &end);
        if (end > left) {
            return true;
        }
    }
    return false;
}

/* Moves past one character that is not ASCII. */
static int check_character(struct parser *p)
{
    size_t from = p->at;
    utf8_next(p->text, &p->at);
    if (p->at - from == 1) {
        p->at = from;
        if (is_cut_character(p)) {
            p->failure = FAILURE_CUT;
        }
        return fail(p, ERR_INPUT, from,
                    "byte 0x%02X in a string is not UTF-8; save the text as UTF-8",
                    (unsigned char)p->text.p[from]);
    }
    p->followers += p->at - from - 1;
    return 0;
}

static int bad_control(struct parser *p)
{
    unsigned char c = (unsigned char)peek(p);
    if (c == '\n' || c == '\r') {
        return fail(p, ERR_INPUT, p->at, "found a line break in a string, expected '\"' or \\n");
    }
    return fail(p, ERR_INPUT, p->at,
                "found the control character 0x%02X in a string, expected it written as \\u%04x", c,
                c);
}

static unsigned hex4(const char *p)
{
    return (unsigned)(ascii_hex(p[0]) << 12 | ascii_hex(p[1]) << 8 | ascii_hex(p[2]) << 4 |
                      ascii_hex(p[3]));
}

unsigned json_decode_escape(struct str raw, size_t *at, char *out)
{
    char c = raw.p[*at + 1];
    *at += 2;
    if (c != 'u') {
        out[0] = escaped(c);
        return 1;
    }
    uint32_t code = hex4(raw.p + *at);
    *at += 4;
    if (code >= 0xD800 && code < 0xDC00 && raw.n - *at >= 6 && raw.p[*at] == '\\' &&
        raw.p[*at + 1] == 'u') {
        uint32_t low = hex4(raw.p + *at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            *at += 6;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    char bytes[4];
    unsigned n = utf8_put(code, bytes);
    memcpy(out, bytes, n);
    return n;
}

static struct str unescape(struct arena *arena, struct str raw)
{
    char *text = arena_room(arena, raw.n);
    size_t n = 0;
    for (size_t at = 0; at < raw.n;) {
        const char *escape = memchr(raw.p + at, '\\', raw.n - at);
        size_t run = escape == NULL ? raw.n - at : (size_t)(escape - raw.p) - at;
        memcpy(text + n, raw.p + at, run);
        n += run;
        at += run;
        if (escape != NULL) {
            n += json_decode_escape(raw, &at, text + n);
        }
    }
    return (struct str){text, n};
}

/* The rest of a string from behind its first plain characters on. */
static int parse_special(struct parser *p, size_t open, struct str *out)
{
    bool has_escapes = false;
    for (;; p->at = plain_end(p->text, p->at)) {
        if (at_end(p)) {
            return unfinished(p, open);
        }
        unsigned char c = (unsigned char)p->text.p[p->at];
        int rc = 0;
        if (c == '"') {
            break;
        }
        if (c == '\\') {
            has_escapes = true;
            rc = check_escape(p, open);
        } else if (c >= 0x80) {
            rc = check_character(p);
        } else {
            rc = bad_control(p);
        }
        if (rc != 0) {
            return rc;
        }
    }
    struct str inside = {p->text.p + open + 1, p->at - open - 1};
    *out = has_escapes ? unescape(p->arena, inside) : inside;
    p->at++;
    return 0;
}

/* The string at the cursor, quotes taken off and escapes decoded. */
static int parse_string(struct parser *p, struct str *out)
{
    size_t open = p->at;
    p->at = plain_end(p->text, open + 1);
    if (peek(p) != '"') {
        return parse_special(p, open, out);
    }
    *out = (struct str){p->text.p + open + 1, p->at - open - 1};
    p->at++;
    return 0;
}

static bool at_digit(const struct parser *p)
{
    char c = peek(p);
    return c >= '0' && c <= '9';
}

static int parse_digits(struct parser *p, const char *expected)
{
    if (!at_digit(p)) {
        return unexpected(p, expected, "");
    }
    while (at_digit(p)) {
        p->at++;
    }
    return 0;
}

static int parse_number(struct parser *p)
{
    size_t from = p->at;
    if (peek(p) == '-') {
        p->at++;
    }
    char first = peek(p);
    size_t digits = p->at;
    int rc = parse_digits(p, "a digit after '-'");
    if (rc == 0 && first == '0' && p->at - digits > 1) {
        return fail(p, ERR_INPUT, from, "a number may not begin with 0");
    }
    if (rc == 0 && peek(p) == '.') {
        p->at++;
        rc = parse_digits(p, "a digit after '.'");
    }
    if (rc == 0 && (peek(p) == 'e' || peek(p) == 'E')) {
        p->at++;
        if (peek(p) == '+' || peek(p) == '-') {
            p->at++;
        }
        rc = parse_digits(p, "a digit in the exponent");
    }
    return rc;
}

static int not_word(struct parser *p, const char *word)
{
    char found[64];
    describe(p, found, sizeof found);
    size_t left = p->text.n - p->at;
    if (left < strlen(word) && memcmp(p->text.p + p->at, word, left) == 0) {
        p->failure = FAILURE_CUT;
    }
    return fail(p, ERR_INPUT, p->at, "expected %s, found %s", word, found);
}

/* Inline: the length of the word is then known. */
static inline int parse_word(struct parser *p, const char *word)
{
    if (!str_starts(str_slice(p->text, p->at, p->text.n), word)) {
        return not_word(p, word);
    }
    p->at += strlen(word);
    return 0;
}

/* The items of one list may have an arena each, for as long as they are looked at. */
static int hand_item(struct parser *p, const char *expected, size_t i)
{
    struct arena *document = p->arena;
    size_t place = push(p, sizeof(struct val));
    p->arena = arena_new();
    int rc = parse_value(p, expected, place);
    if (rc == 0) {
        p->items->item(p->items->ctx, i, at_place(p, place), false);
    }
    p->stack_n = place;
    arena_free(p->arena);
    p->arena = document;
    return rc;
}

/* Into *out the number of items, and them. */
static int parse_array(struct parser *p, struct val *out)
{
    bool handed = p->handing && p->depth == 2;
    size_t base = p->stack_n;
    const char *expected = "a value or ']'";
    p->at++;
    if (skip_space(p) == ']') {
        p->at++;
        return 0;
    }
    for (;;) {
        int rc = handed ? hand_item(p, expected, out->count)
                        : parse_value(p, expected, push(p, sizeof(struct val)));
        if (rc != 0) {
            return rc;
        }
        out->count++;
        char next = skip_space(p);
        if (next == ']') {
            break;
        }
        if (next != ',') {
            return unexpected(p, "',' or ']' after a value", "");
        }
        p->at++;
        skip_space(p);
        expected = "a value after ','";
    }
    p->at++;
    out->items = handed ? NULL : pop(p, base);
    return 0;
}

/* A key, its colon and its value. */
static int parse_member(struct parser *p, const char *expected, size_t place)
{
    struct member *m = at_place(p, place);
    if (peek(p) != '"') {
        return unexpected(p, expected, advice(p));
    }
    m->line = p->line;
    m->column = column_here(p);
    int rc = parse_string(p, &m->key);
    if (rc != 0) {
        return rc;
    }
    if (skip_space(p) != ':') {
        return unexpected(p, "':' after a key", "");
    }
    p->at++;
    skip_space(p);
    p->handing = p->items != NULL && p->depth == 1 && str_is(m->key, p->items->key);
    rc = parse_value(p, "a value after ':'", place + offsetof(struct member, value));
    p->handing = false;
    return rc;
}

/* Into *out the number of members, and them. */
static int parse_object(struct parser *p, struct val *out)
{
    size_t base = p->stack_n;
    const char *expected = "a key in double quotes or '}'";
    p->at++;
    if (skip_space(p) == '}') {
        p->at++;
        return 0;
    }
    for (;;) {
        int rc = parse_member(p, expected, push(p, sizeof(struct member)));
        if (rc != 0) {
            return rc;
        }
        out->count++;
        char next = skip_space(p);
        if (next == '}') {
            break;
        }
        if (next != ',') {
            return unexpected(p, "',' or '}' after a value", "");
        }
        p->at++;
        skip_space(p);
        expected = "a key in double quotes after ','";
    }
    p->at++;
    out->members = pop(p, base);
    return 0;
}

static int parse_container(struct parser *p, size_t place)
{
    struct val found = {.kind = peek(p) == '[' ? VAL_ARRAY : VAL_OBJECT};
    if (p->depth == JSON_DEPTH_MAX) {
        return fail(p, ERR_LIMIT, p->at, "lists and maps are nested more than %d deep",
                    JSON_DEPTH_MAX);
    }
    p->depth++;
    int rc = found.kind == VAL_ARRAY ? parse_array(p, &found) : parse_object(p, &found);
    p->depth--;
    struct val *out = at_place(p, place);
    out->kind = found.kind;
    out->count = found.count;
    out->items = found.items;
    return rc;
}

/* The value at the cursor (white space skipped before), into a place on the stack. */
static int parse_value(struct parser *p, const char *expected, size_t place)
{
    struct val *out = at_place(p, place);
    size_t from = p->at;
    int rc = 0;
    *out = (struct val){.line = p->line, .column = column_here(p)};
    if (++p->values > JSON_VALUES_MAX) {
        return fail(p, ERR_LIMIT, from, "more than %d values in one text", JSON_VALUES_MAX);
    }
    switch (peek(p)) {
    case '"':
        out->kind = VAL_STRING;
        rc = parse_string(p, &out->text);
        break;
    case '[':
    case '{':
        rc = parse_container(p, place);
        out = at_place(p, place);
        break;
    case 't':
    case 'f':
        out->kind = VAL_BOOL;
        out->boolean = peek(p) == 't';
        rc = out->boolean ? parse_word(p, "true") : parse_word(p, "false");
        break;
    case 'n':
        out->kind = VAL_NULL;
        rc = parse_word(p, "null");
        break;
    default:
        if (peek(p) != '-' && !at_digit(p)) {
            return unexpected(p, expected, advice(p));
        }
        out->kind = VAL_NUMBER;
        rc = parse_number(p);
        out->text = str_slice(p->text, from, p->at);
        break;
    }
    out->raw = (struct str){p->text.p + from, p->at - from};
    return rc;
}

static int parse_text(struct parser *p, struct val **out)
{
    if (str_starts(p->text, "\xEF\xBB\xBF")) {
        p->text = str_slice(p->text, 3, p->text.n);
    }
    skip_space(p);
    int rc = parse_value(p, "a value", push(p, sizeof **out));
    if (rc != 0) {
        return rc;
    }
    skip_space(p);
    if (!at_end(p)) {
        return unexpected(p, "the end of the text after the value", "");
    }
    *out = pop(p, 0);
    return 0;
}

int json_parse(struct arena *arena, const char *file, struct str text, struct val **out,
               struct err *e)
{
    return json_parse_items(arena, file, text, NULL, out, e);
}

int json_parse_items(struct arena *arena, const char *file, struct str text,
                     const struct val_items *items, struct val **out, struct err *e)
{
    struct member first[STACK_MEMBERS_FIRST];
    struct parser p = {.arena = arena,
                       .file = file,
                       .e = e,
                       .text = text,
                       .line = 1,
                       .items = items,
                       .stack = (char *)first,
                       .stack_cap = sizeof first};
    int rc = parse_text(&p, out);
    free(p.grown);
    return rc;
}

bool json_is_prefix(struct str text)
{
    if (text.n < 3 && (text.n == 0 || memcmp(text.p, "\xEF\xBB\xBF", text.n) == 0)) {
        return true;
    }
    struct arena *arena = arena_new();
    struct member first[STACK_MEMBERS_FIRST];
    struct parser p = {
        .arena = arena, .text = text, .line = 1, .stack = (char *)first, .stack_cap = sizeof first};
    struct val *ignored;
    int rc = parse_text(&p, &ignored);
    free(p.grown);
    arena_free(arena);
    return rc != 0 && p.failure == FAILURE_CUT;
}

static void add_special(struct buf *out, unsigned char c)
{
    switch (c) {
    case '"': buf_addz(out, "\\\""); return;
    case '\\': buf_addz(out, "\\\\"); return;
    case '\b': buf_addz(out, "\\b"); return;
    case '\f': buf_addz(out, "\\f"); return;
    case '\n': buf_addz(out, "\\n"); return;
    case '\r': buf_addz(out, "\\r"); return;
    case '\t': buf_addz(out, "\\t"); return;
    default: buf_fmt(out, "\\u%04x", c); return;
    }
}

/* How bytes that are not UTF-8 are written: as U+FFFD, or each apart (as Python's surrogateescape,
 * which no valid text has) so that different bytes stay different. */
enum bad_bytes { BAD_REPLACED, BAD_KEPT_APART };

static void add_string(struct buf *out, struct str s, enum bad_bytes bad)
{
    buf_char(out, '"');
    size_t from = 0, at = 0;
    while ((at = plain_end(s, at)) < s.n) {
        unsigned char c = (unsigned char)s.p[at];
        size_t next = at;
        utf8_next(s, &next);
        if (next - at > 1) {
            at = next;
            continue;
        }
        buf_add(out, str_slice(s, from, at));
        if (c < 0x80) {
            add_special(out, c);
        } else if (bad == BAD_REPLACED) {
            utf8_add(out, 0xFFFD);
        } else {
            buf_fmt(out, "\\udc%02x", c);
        }
        at = next;
        from = at;
    }
    buf_add(out, str_slice(s, from, s.n));
    buf_char(out, '"');
}

void json_add_string(struct buf *out, struct str s)
{
    add_string(out, s, BAD_REPLACED);
}

enum style { STYLE_COMPACT, STYLE_SPACED, STYLE_CANONICAL };

static void add_value(struct buf *out, const struct val *v, enum style style);

static void add_text(struct buf *out, struct str s, enum style style)
{
    add_string(out, s, style == STYLE_CANONICAL ? BAD_KEPT_APART : BAD_REPLACED);
}

static void add_comma(struct buf *out, size_t i, enum style style)
{
    if (i > 0) {
        buf_addz(out, style == STYLE_SPACED ? ", " : ",");
    }
}

static void add_member(struct buf *out, const struct member *m, enum style style)
{
    add_text(out, m->key, style);
    buf_addz(out, style == STYLE_SPACED ? ": " : ":");
    add_value(out, &m->value, style);
}

static void add_array(struct buf *out, const struct val *v, enum style style)
{
    buf_char(out, '[');
    for (size_t i = 0; i < v->count; i++) {
        add_comma(out, i, style);
        add_value(out, &v->items[i], style);
    }
    buf_char(out, ']');
}

static void add_object(struct buf *out, const struct val *v, enum style style)
{
    size_t n = v->count;
    const struct member **sorted = style == STYLE_CANONICAL ? val_sorted(v, &n) : NULL;
    buf_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        add_comma(out, i, style);
        add_member(out, sorted != NULL ? sorted[i] : &v->members[i], style);
    }
    buf_char(out, '}');
    free(sorted);
}

static void add_value(struct buf *out, const struct val *v, enum style style)
{
    switch (v->kind) {
    case VAL_NULL: buf_addz(out, "null"); return;
    case VAL_BOOL: buf_addz(out, v->boolean ? "true" : "false"); return;
    case VAL_NUMBER:
        if (style == STYLE_CANONICAL) {
            num_canonical(out, v->text);
        } else {
            buf_add(out, v->text);
        }
        return;
    case VAL_STRING: add_text(out, v->text, style); return;
    case VAL_ARRAY: add_array(out, v, style); return;
    case VAL_OBJECT: add_object(out, v, style); return;
    }
}

void json_add(struct buf *out, const struct val *v)
{
    add_value(out, v, STYLE_COMPACT);
}

void json_add_spaced(struct buf *out, const struct val *v)
{
    add_value(out, v, STYLE_SPACED);
}

void json_add_canonical(struct buf *out, const struct val *v)
{
    add_value(out, v, STYLE_CANONICAL);
}

/* A member's value in the pretty form: a non-empty list an item a line, anything else spaced. */
static void add_pretty_member(struct buf *out, const struct member *m)
{
    json_add_string(out, m->key);
    buf_addz(out, ": ");
    if (m->value.kind != VAL_ARRAY || m->value.count == 0) {
        json_add_spaced(out, &m->value);
        return;
    }
    buf_addz(out, "[\n");
    for (size_t i = 0; i < m->value.count; i++) {
        buf_addz(out, i == 0 ? "    " : ",\n    ");
        json_add_spaced(out, &m->value.items[i]);
    }
    buf_addz(out, "\n  ]");
}

void json_add_pretty(struct buf *out, const struct val *v)
{
    if (v->kind != VAL_OBJECT || v->count == 0) {
        json_add_spaced(out, v);
        return;
    }
    buf_addz(out, "{\n");
    for (size_t i = 0; i < v->count; i++) {
        buf_addz(out, i == 0 ? "  " : ",\n  ");
        add_pretty_member(out, &v->members[i]);
    }
    buf_addz(out, "\n}");
}
