/* Writes cassettes: the layout of cassettes/README.md, in a form that PyYAML and we read as the
 * same bytes. */
#include "cassettes/cassette_int.h"
#include "kernel/base/ascii.h"
#include "kernel/base/base64.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/endpoint.h"

#include <stdlib.h>
#include <string.h>

enum { BASE64_LINE_BYTES = 57 }; /* gives 76 characters */

/* How a text can be written. */
enum text_form {
    TEXT_LINE,    /* one line of printable characters: single quotes */
    TEXT_LINES,   /* several: a literal block keeps every byte */
    TEXT_ESCAPED, /* UTF-8 with characters that YAML changes or refuses: double quotes */
    TEXT_BYTES    /* no UTF-8: !!binary */
};

static enum text_form form_of(struct str s)
{
    if (utf8_invalid_at(s) != SIZE_MAX) {
        return TEXT_BYTES;
    }
    bool lines = false;
    bool visible = false;
    for (size_t at = 0; at < s.n;) {
        uint32_t code = utf8_next(s, &at);
        if (code == '\n') {
            lines = true;
        } else if (!yaml_is_printable(code)) {
            return TEXT_ESCAPED;
        } else {
            visible = visible || (code != ' ' && code != '\t');
        }
    }
    /* A block of nothing but white space is read differently by different readers. */
    return !lines ? TEXT_LINE : visible ? TEXT_LINES : TEXT_ESCAPED;
}

static void add_double(struct buf *out, struct str s)
{
    buf_char(out, '"');
    for (size_t at = 0; at < s.n;) {
        size_t from = at;
        uint32_t code = utf8_next(s, &at);
        switch (code) {
        case '"': buf_addz(out, "\\\""); break;
        case '\\': buf_addz(out, "\\\\"); break;
        case '\n': buf_addz(out, "\\n"); break;
        case '\r': buf_addz(out, "\\r"); break;
        case '\t': buf_addz(out, "\\t"); break;
        default:
            if (yaml_is_printable(code)) {
                buf_add(out, str_slice(s, from, at));
            } else {
                buf_fmt(out, code < 0x100 ? "\\x%02X" : "\\u%04X", (unsigned)code);
            }
        }
    }
    buf_char(out, '"');
}

static void add_single(struct buf *out, struct str s)
{
    buf_char(out, '\'');
    while (s.n > 0) {
        const char *quote = memchr(s.p, '\'', s.n);
        size_t n = quote == NULL ? s.n : (size_t)(quote - s.p);
        buf_add(out, str_slice(s, 0, n));
        if (quote != NULL) {
            buf_addz(out, "''");
            n++;
        }
        s = str_slice(s, n, s.n);
    }
    buf_char(out, '\'');
}

/* Any bytes as a scalar on one line. */
static void add_flow(struct buf *out, struct str s)
{
    switch (form_of(s)) {
    case TEXT_LINE: add_single(out, s); break;
    case TEXT_LINES:
    case TEXT_ESCAPED: add_double(out, s); break;
    case TEXT_BYTES:
        buf_addz(out, "!!binary \"");
        base64_add(out, s);
        buf_char(out, '"');
        break;
    }
}

/* Any bytes in double quotes if that can be. */
static void add_quoted(struct buf *out, struct str s)
{
    if (form_of(s) == TEXT_BYTES) {
        add_flow(out, s);
    } else {
        add_double(out, s);
    }
}

static bool is_word_char(char c)
{
    return ascii_alnum(c) || (c != '\0' && strchr("_./+-", c) != NULL);
}

/* Words that YAML 1.1 or 1.2 takes for something else than a string. */
static bool is_reserved(struct str s)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n",  NULL};
    return str_is_one_of_nocase(s, words);
}

/* Hexadecimal ids that begin with a digit and cannot be a number: b and e alone could make one. */
static bool is_hex_id(struct str s)
{
    bool sure = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!ascii_digit(c) && !(c >= 'a' && c <= 'f')) {
            return false;
        }
        sure = sure || c == 'a' || c == 'c' || c == 'd' || c == 'f';
    }
    return sure;
}

/* Whether s is a string without quotes in every context and by both sets of rules. */
static bool is_plain(struct str s)
{
    if (s.n == 0 || s.n > 200 || is_reserved(s)) {
        return false;
    }
    if (!ascii_letter(s.p[0])) {
        return is_hex_id(s);
    }
    for (size_t i = 1; i < s.n; i++) {
        bool space = s.p[i] == ' ' && s.p[i - 1] != ' ' && i + 1 < s.n;
        if (!is_word_char(s.p[i]) && !space) {
            return false;
        }
    }
    return true;
}

static void add_word(struct buf *out, struct str s)
{
    if (is_plain(s)) {
        buf_add(out, s);
    } else {
        add_flow(out, s);
    }
}

/* A URL stands without quotes when it has only a URL's characters. */
static void add_url(struct buf *out, struct str s)
{
    bool plain = s.n > 0 && s.n < 1000 && ascii_letter(s.p[0]) && s.p[s.n - 1] != ':' &&
                 str_find(s, STR("://")) != SIZE_MAX;
    for (size_t i = 0; i < s.n && plain; i++) {
        plain = is_word_char(s.p[i]) || (s.p[i] != '\0' && strchr(":?&=~%@!$()*;,#[]", s.p[i]));
    }
    if (plain) {
        buf_add(out, s);
    } else {
        add_quoted(out, s);
    }
}

/* A literal block behind "key: ", its lines indented by `indent`, ending with a newline. The parent
 * stands 2 further left. s has visible characters. */
static void add_literal(struct buf *out, struct str s, unsigned indent)
{
    size_t end = s.n;
    while (s.p[end - 1] == '\n') {
        end--;
    }
    buf_char(out, '|');
    if (strchr(" \t\n", s.p[0]) != NULL) {
        buf_char(out, '2');
    }
    buf_addz(out, s.n == end ? "-\n" : s.n == end + 1 ? "\n" : "+\n");
    for (size_t at = 0; at < s.n;) {
        const char *newline = memchr(s.p + at, '\n', s.n - at);
        size_t stop = newline == NULL ? s.n : (size_t)(newline - s.p);
        if (stop > at) {
            buf_fmt(out, "%*s", (int)indent, "");
            buf_add(out, str_slice(s, at, stop));
        }
        buf_char(out, '\n');
        at = stop + 1;
    }
}

static void add_base64_lines(struct buf *out, struct str bytes, unsigned indent)
{
    for (size_t i = 0; i < bytes.n; i += BASE64_LINE_BYTES) {
        buf_fmt(out, "%*s", (int)indent, "");
        base64_add(out, str_slice(bytes, i, i + BASE64_LINE_BYTES));
        buf_char(out, '\n');
    }
}

/* A scalar behind "key: " of a block map, with the newline. */
static void add_block(struct buf *out, struct str s, unsigned indent)
{
    switch (form_of(s)) {
    case TEXT_LINE:
    case TEXT_ESCAPED:
        add_flow(out, s);
        buf_char(out, '\n');
        break;
    case TEXT_LINES: add_literal(out, s, indent); break;
    case TEXT_BYTES:
        buf_addz(out, "!!binary |\n");
        add_base64_lines(out, s, indent);
        break;
    }
}

/* A request's body as it is stored: pretty JSON with a newline where it is a JSON object or list.
 */
static void stored_request(const struct interaction *it, struct buf *out)
{
    struct arena *arena = arena_new();
    const struct val *json = it->request_json;
    struct val *parsed = NULL;
    if (json == NULL && json_parse(arena, NULL, it->request_body, &parsed, NULL) == 0) {
        json = parsed;
    }
    if (!val_is(json, VAL_OBJECT) && !val_is(json, VAL_ARRAY)) {
        cassette_redact_text(it->request_body, out);
    } else {
        struct buf pretty = {0};
        struct buf printable = {0};
        json_add_pretty(&pretty, json);
        yaml_add_json(&printable, buf_str(&pretty));
        cassette_redact_json(buf_str(&printable), out);
        buf_char(out, '\n');
        buf_free(&pretty);
        buf_free(&printable);
    }
    arena_free(arena);
}

static bool keeps_request_header(struct str name)
{
    static const char *const names[] = {"content-type", "accept", NULL};
    return str_is_one_of_nocase(name, names);
}

/* Date only beside Retry-After, which may be a date that is read against it. */
static bool keeps_header(const struct interaction *it, struct str name)
{
    static const char *const names[] = {
        "content-type", "content-encoding",     "retry-after",    "retry-after-ms", "x-request-id",
        "request-id",   "openai-processing-ms", "x-should-retry", "location",       NULL};
    if (str_is_nocase(name, "date")) {
        return http_header_get(it->headers, it->n_headers, "retry-after").p != NULL;
    }
    return str_is_one_of_nocase(name, names) || str_starts_nocase(name, "x-ratelimit-") ||
           str_starts_nocase(name, "anthropic-ratelimit-");
}

static void add_header_values(struct buf *out, const struct http_header *headers, size_t n,
                              size_t first)
{
    struct buf plain = {0};
    const char *comma = "";
    bool url = str_is_nocase(headers[first].name, "location"); /* may be signed */
    buf_char(out, '[');
    for (size_t i = first; i < n; i++) {
        if (str_cmp(headers[i].name, headers[first].name) == 0) {
            buf_clear(&plain);
            (void)(url ? cassette_redact_url : cassette_redact_text)(headers[i].value, &plain);
            buf_addz(out, comma);
            add_word(out, buf_str(&plain));
            comma = ", ";
        }
    }
    buf_char(out, ']');
    buf_free(&plain);
}

static bool is_first(const struct http_header *headers, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (str_eq(headers[k].name, headers[i].name)) {
            return false;
        }
    }
    return true;
}

/* {Name: [value, …], …} of the headers that may be kept, with the newline. */
static void add_headers(struct buf *out, const struct interaction *it, bool request)
{
    const struct http_header *headers = request ? it->request_headers : it->headers;
    size_t n = request ? it->n_request_headers : it->n_headers;
    const char *comma = "";
    buf_addz(out, "headers: {");
    for (size_t i = 0; i < n; i++) {
        struct str name = headers[i].name;
        bool keep = request ? keeps_request_header(name) : keeps_header(it, name);
        if (keep && is_first(headers, i)) {
            buf_addz(out, comma);
            add_word(out, name);
            buf_addz(out, ": ");
            add_header_values(out, headers, n, i);
            comma = ", ";
        }
    }
    buf_addz(out, "}\n");
}

static void add_request(struct buf *out, const struct interaction *it)
{
    struct buf body = {0};
    struct buf uri = {0};
    cassette_redact_url(it->uri, &uri);
    if (it->tool) {
        cassette_redact_text(it->request_body, &body);
        buf_fmt(out, "- request: {method: %s, uri: ", it->decision ? "ASK" : "CALL");
        add_quoted(out, buf_str(&uri));
        buf_addz(out, ", headers: {}, body: ");
        add_flow(out, buf_str(&body));
        buf_addz(out, "}\n");
    } else {
        stored_request(it, &body);
        buf_addz(out, "- request:\n    method: ");
        add_word(out, it->method);
        buf_addz(out, "\n    uri: ");
        add_url(out, buf_str(&uri));
        buf_addz(out, "\n    ");
        add_headers(out, it, true);
        buf_addz(out, "    body: ");
        add_block(out, buf_str(&body), 6);
    }
    buf_free(&body);
    buf_free(&uri);
}

/* Where a byte at `at` of the old text stands in the redacted one; inside a part: behind it. `next`
 * and `shift` carry on from the boundary before. */
static int64_t moved(int64_t at, const struct redacted *parts, size_t n, size_t *next,
                     int64_t *shift)
{
    int64_t extra = 0;
    while (*next < n && (int64_t)parts[*next].at < at) {
        int64_t end = (int64_t)(parts[*next].at + parts[*next].n);
        extra = end > at ? end - at : 0;
        *shift += (int64_t)cassette_redacted_bytes(&parts[*next]) - (int64_t)parts[*next].n;
        (*next)++;
    }
    return at + extra + *shift;
}

void cassette_move_chunks(const struct cassette_chunk *in, size_t n_chunks, const struct buf *parts,
                          struct cassette_chunk *out)
{
    size_t n;
    const struct redacted *list = cassette_parts(parts, &n);
    size_t next = 0;
    int64_t shift = 0;
    int64_t at = 0;
    int64_t last = 0;
    for (size_t i = 0; i < n_chunks; i++) {
        at += in[i].bytes;
        int64_t here = moved(at, list, n, &next, &shift);
        here = here < last ? last : here;
        out[i] = (struct cassette_chunk){in[i].at_ms, here - last};
        last = here;
    }
}

/* The pieces of a body, as they are after its redaction. */
static void add_chunks(struct buf *out, const struct interaction *it, const struct buf *parts)
{
    struct cassette_chunk *chunks = mem_alloc(it->n_chunks * sizeof *chunks);
    cassette_move_chunks(it->chunks, it->n_chunks, parts, chunks);
    buf_addz(out, ", chunks: [");
    for (size_t i = 0; i < it->n_chunks; i++) {
        buf_fmt(out, "%s[%lld, %lld]", i == 0 ? "" : ", ", (long long)chunks[i].at_ms,
                (long long)chunks[i].bytes);
    }
    buf_char(out, ']');
    free(chunks);
}

static bool is_error(const struct interaction *it)
{
    struct str start = str_trim(str_slice(it->body, 0, 100));
    return it->ended != HTTP_CLEAN || it->status < 200 || it->status >= 300 ||
           (str_starts(start, "{") && str_starts(str_trim(str_slice(start, 1, 100)), "\"error\""));
}

/* The API key that the request carried, where its answer is an error, which may quote it; n 0 =
 * else. Good answers come back in later requests, so they are hidden by shape alone, as requests
 * are. */
static struct str quotable_key(const struct interaction *it)
{
    static const char *const names[] = {"authorization", "x-api-key", "api-key"};
    struct str key = {NULL, 0};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && key.n == 0; i++) {
        key = http_header_get(it->request_headers, it->n_request_headers, names[i]);
    }
    if (str_starts_nocase(key, "bearer ")) {
        key = str_slice(key, sizeof "bearer " - 1, key.n);
    }
    return is_error(it) && key.n >= ENDPOINT_KEY_BYTES_MIN ? key : (struct str){NULL, 0};
}

static void add_timing(struct buf *out, const struct interaction *it, const struct buf *parts)
{
    buf_addz(out, "    assay: {");
    if (it->at_ms >= 0) {
        buf_fmt(out, "at_ms: %lld, ", (long long)it->at_ms);
    }
    buf_fmt(out, "took_ms: %lld", (long long)it->took_ms);
    if (!it->tool || it->ended != HTTP_CLEAN) {
        buf_fmt(out, ", ended: %s", http_end_name(it->ended));
    }
    if (it->detail.n > 0) {
        struct buf detail = {0};
        cassette_redact_detail(it->detail, quotable_key(it), &detail);
        buf_addz(out, ", detail: ");
        add_flow(out, buf_str(&detail));
        buf_free(&detail);
    }
    if (it->n_chunks > 0) {
        add_chunks(out, it, parts);
    }
    if (it->tool) {
        buf_addz(out, ", call_id: ");
        add_word(out, it->call_id);
    }
    buf_addz(out, "}\n");
}

/* timed: with the line that tells its times. */
static void add_interaction(struct buf *out, const struct interaction *it, bool timed)
{
    struct buf body = {0};
    struct buf parts = {0};
    add_request(out, it);
    cassette_redact_answer(it, quotable_key(it), &body, &parts);
    buf_fmt(out, "  response:\n    status: {code: %d", it->status);
    if (it->status != 0) {
        buf_addz(out, ", message: ");
        add_word(out, it->reason);
    }
    buf_addz(out, "}\n    ");
    add_headers(out, it, false);
    enum text_form form = form_of(buf_str(&body));
    if (form == TEXT_LINES || form == TEXT_BYTES) {
        buf_addz(out, "    body:\n      string: ");
        add_block(out, buf_str(&body), 8);
    } else {
        buf_addz(out, "    body: {string: ");
        add_flow(out, buf_str(&body));
        buf_addz(out, "}\n");
    }
    if (timed) {
        add_timing(out, it, &parts);
    }
    buf_free(&body);
    buf_free(&parts);
}

/* "ignore" or "normalise": the rules of one kind as a list, with a comma before it. */
static void add_rules(struct buf *out, const char *key, enum cassette_rule_kind kind,
                      const struct rules *rules)
{
    bool any = false;
    for (size_t i = 0; i < cassette_rules_count(rules); i++) {
        enum cassette_rule_kind its;
        struct str text = cassette_rules_text(rules, i, &its);
        if (its == kind) {
            buf_fmt(out, any ? ", " : ", %s: [", key);
            add_quoted(out, text);
            any = true;
        }
    }
    buf_addz(out, any ? "]" : "");
}

void cassette_add_interaction(struct buf *out, const struct interaction *it)
{
    add_interaction(out, it, true);
}

void cassette_add_head(struct buf *out, const struct cassette_head *head)
{
    buf_fmt(out, "version: 1\nassay: {format: %d, encoder: %d", CASSETTE_FORMAT,
            WIRE_ENCODER_VERSION);
    if (head->run.n > 0) {
        buf_addz(out, ", run: ");
        add_word(out, head->run);
    }
    if (head->seed != 0) {
        buf_fmt(out, ", seed: %llu", (unsigned long long)head->seed);
    }
    if (head->started_at.n > 0) {
        buf_addz(out, ", started_at: ");
        add_quoted(out, head->started_at);
    }
    if (head->place.requests > 0 || head->place.calls > 0) {
        buf_fmt(out, ", after_requests: %lld, after_calls: %lld", (long long)head->place.requests,
                (long long)head->place.calls);
    }
    add_rules(out, "ignore", RULE_IGNORE, head->rules);
    add_rules(out, "normalise", RULE_NORMALISE, head->rules);
    buf_addz(out, "}\ninteractions:\n");
}

void cassette_write(const struct cassette *c, struct buf *out)
{
    if (c->ours) {
        const struct cassette_head head = {c->run, c->seed, c->started_at, c->place, c->rules};
        cassette_add_head(out, &head);
    } else {
        buf_addz(out, c->n == 0 ? "version: 1\ninteractions: []\n" : "version: 1\ninteractions:\n");
    }
    for (size_t i = 0; i < c->n; i++) {
        add_interaction(out, &c->items[i], c->ours);
    }
}
