/* Finds what would hinder a replay, and secrets that were written down. */
#include "cassettes/cassette_int.h"
#include "kernel/base/text.h"

#include <string.h>

enum { CODING_CHARS = 40, WHY_CHARS = 400 };

/* A place in the file. */
struct place {
    size_t at;
    uint32_t line;
    uint32_t column;
};

struct checking {
    const struct cassette *c;
    void (*found)(void *ctx, const struct finding *f);
    void *ctx;
    struct arena *arena;
    struct place item;   /* where the interaction at hand begins; moves forward only */
    struct place secret; /* the last secret found in it */
};

static void tell_at(struct checking *k, struct place place, enum finding_severity severity,
                    const char *code, struct str message)
{
    struct finding f = {k->c->path, place.line, place.column, severity, code, message};
    k->found(k->ctx, &f);
}

static void tell(struct checking *k, const struct interaction *it, enum finding_severity severity,
                 const char *code, struct str message)
{
    tell_at(k, (struct place){0, it == NULL ? 1 : it->line, 1}, severity, code, message);
}

/* ---- places ---- */

/* The start of the next line; the end of the file behind the last one. */
static struct place next_line(struct str source, struct place p)
{
    const char *newline = p.at < source.n ? memchr(source.p + p.at, '\n', source.n - p.at) : NULL;
    size_t at = newline == NULL ? source.n : (size_t)(newline - source.p) + 1;
    return (struct place){at, p.line + 1, 1};
}

static struct place line_at(struct str source, struct place from, uint32_t line)
{
    while (from.line < line && from.at < source.n) {
        from = next_line(source, from);
    }
    return from;
}

/* Where the file says `needle` in this interaction, behind the last secret found in it. A text that
 * the file writes otherwise (base64) is told at the interaction. */
static struct place place_of(struct checking *k, const struct interaction *it, struct str needle)
{
    struct str source = k->c->source;
    struct place none = {0, it->line, 1};
    if (k->item.line != it->line || needle.n == 0) { /* an alias: not in the order of the file */
        return none;
    }
    size_t end = source.n;
    if (it->n < k->c->n && k->c->items[it->n].line > it->line) {
        end = line_at(source, k->item, k->c->items[it->n].line).at;
    }
    struct place p = k->secret.at > k->item.at ? k->secret : k->item;
    size_t from = p.at > k->item.at ? p.at + 1 : p.at;
    size_t at = str_find(str_slice(source, from, end), needle);
    if (at == SIZE_MAX && from > p.at) {
        p = k->item;
        from = p.at;
        at = str_find(str_slice(source, from, end), needle);
    }
    if (at == SIZE_MAX) {
        return none;
    }
    at += from;
    for (struct place next = next_line(source, p); next.at <= at; next = next_line(source, p)) {
        p = next;
    }
    p.column += (uint32_t)(at - p.at);
    p.at = at;
    return p;
}

/* ---- the file ---- */

static void check_header(struct checking *k)
{
    const struct cassette *c = k->c;
    if (c->ours && (c->run.n == 0 || c->seed == 0 || c->started_at.n == 0)) {
        struct str message =
            arena_printf(k->arena,
                         "the `assay` header names no%s%s%s: a replay makes it up, so its log is "
                         "not the recorded one",
                         c->run.n == 0 ? " run" : "", c->seed == 0 ? " seed" : "",
                         c->started_at.n == 0 ? " started_at" : "");
        tell(k, NULL, FINDING_WARNING, "incomplete_header", message);
    }
}

static void check_file(struct checking *k)
{
    const struct cassette *c = k->c;
    if (c->torn) {
        struct str message = arena_printf(k->arena,
                                          "the recording was cut off in interaction %zu, which is "
                                          "left out",
                                          c->n + 1);
        tell(k, c->n > 0 ? &c->items[c->n - 1] : NULL, FINDING_WARNING, "torn", message);
    }
    if (c->ours && c->encoder > WIRE_ENCODER_VERSION) {
        struct str message = arena_printf(k->arena,
                                          "recorded with encoder %lld, this assay has %d: its "
                                          "requests may not match; update assay",
                                          (long long)c->encoder, WIRE_ENCODER_VERSION);
        tell(k, NULL, FINDING_WARNING, "encoder_newer", message);
    }
    check_header(k);
    struct buf why = {0};
    if (cassette_session(c, &why) == NULL) {
        tell(k, NULL, FINDING_WARNING, "not_replayable", arena_str(k->arena, buf_str(&why)));
    }
    buf_free(&why);
}

/* ---- its interactions ---- */

static void check_end(struct checking *k, const struct interaction *it)
{
    bool cut = it->ended == HTTP_STOPPED || it->ended == HTTP_REFUSED;
    if (cut || it->status == 0) {
        struct str message = arena_printf(k->arena, "interaction %u ends without an answer (%s)",
                                          it->n, cut ? http_end_name(it->ended) : "status 0");
        tell(k, it, FINDING_WARNING, "no_answer", message);
    }
}

static void check_chunks(struct checking *k, const struct interaction *it)
{
    int64_t sum = 0;
    for (size_t i = 0; i < it->n_chunks; i++) {
        sum += it->chunks[i].bytes;
    }
    if (it->n_chunks > 0 && sum != (int64_t)it->body.n) {
        struct str message = arena_printf(k->arena,
                                          "interaction %u: its chunks add up to %lld bytes, the "
                                          "body has %zu",
                                          it->n, (long long)sum, it->body.n);
        tell(k, it, FINDING_ERROR, "bad_chunks", message);
    }
    int64_t last_ms = it->n_chunks > 0 ? it->chunks[it->n_chunks - 1].at_ms : 0;
    if (last_ms > it->took_ms) {
        struct str message = arena_printf(k->arena,
                                          "interaction %u: its last chunk comes at %lld ms, but "
                                          "the end at %lld ms",
                                          it->n, (long long)last_ms, (long long)it->took_ms);
        tell(k, it, FINDING_ERROR, "bad_chunks", message);
    }
}

static void check_coding(struct checking *k, const struct interaction *it)
{
    struct str coding = http_header_get(it->headers, it->n_headers, "content-encoding");
    if (coding.n > 0) {
        struct str message =
            arena_printf(k->arena,
                         "interaction %u: the body is coded (%.*s), which assay "
                         "does not decode",
                         it->n, STR_FMT(text_preview(k->arena, coding, CODING_CHARS)));
        tell(k, it, FINDING_WARNING, "unknown_encoding", message);
    }
}

static void check_reply(struct checking *k, const struct reading *r)
{
    const struct interaction *it = r->it;
    bool answered = it->ended == HTTP_CLEAN && it->status >= 200 && it->status < 300;
    if (r->decoder != NULL && answered && !r->result.ok &&
        r->result.failure.class == FAIL_PROTOCOL) {
        struct str why = text_preview(k->arena, r->result.failure.message, WHY_CHARS);
        struct str message = arena_printf(k->arena, "interaction %u: the body is no reply: %.*s",
                                          it->n, STR_FMT(why));
        tell(k, it, FINDING_ERROR, "undecodable_reply", message);
    }
}

static void tell_secret(struct checking *k, const struct interaction *it, struct place place,
                        enum finding_severity severity, const char *what, const char *where)
{
    struct str message = arena_printf(
        k->arena, "interaction %u: %s in %s: take it out by hand or record anew, and revoke it",
        it->n, what, where);
    if (place.at > 0) {
        k->secret = place;
    }
    tell_at(k, place, severity, "credential", message);
}

/* secret: as it stands in the file. */
static void tell_credential(struct checking *k, const struct interaction *it,
                            enum finding_severity severity, const char *what, const char *where,
                            struct str secret)
{
    tell_secret(k, it, place_of(k, it, secret), severity, what, where);
}

/* Where the file says the part [at, at + n) of a body: by its line, since a piece alone may be a
 * single letter, else by itself. */
static struct place place_of_part(struct checking *k, const struct interaction *it, struct str body,
                                  const struct redacted *part)
{
    size_t from = part->at;
    while (from > 0 && body.p[from - 1] != '\n') {
        from--;
    }
    const char *newline = memchr(body.p + part->at, '\n', part->n);
    size_t end = newline == NULL ? part->at + part->n : (size_t)(newline - body.p);
    struct place place = place_of(k, it, str_slice(body, from, end));
    if (place.at == 0) {
        return place_of(k, it, str_slice(body, part->at, end));
    }
    place.at += part->at - from;
    place.column += (uint32_t)(part->at - from);
    return place;
}

/* Tells the first of the parts; whether there is one. */
static bool tell_part(struct checking *k, const struct interaction *it, struct str body,
                      const struct buf *parts, const char *where)
{
    size_t n;
    const struct redacted *list = cassette_parts(parts, &n);
    if (n > 0) {
        tell_secret(k, it, place_of_part(k, it, body, &list[0]), FINDING_ERROR, list[0].what,
                    where);
    }
    return n > 0;
}

static void check_request_body(struct checking *k, const struct interaction *it)
{
    struct buf parts = {0};
    cassette_find_in_text(it->request_body, &parts);
    tell_part(k, it, it->request_body, &parts, "the request's body");
    buf_free(&parts);
}

/* A text of the reply that holds a secret although no body does: it lies in several blocks. */
static bool check_said(struct checking *k, const struct interaction *it, struct str text,
                       const char *where)
{
    struct buf parts = {0};
    size_t n;
    cassette_find_in_text(text, &parts);
    const struct redacted *list = cassette_parts(&parts, &n);
    if (n > 0) {
        tell_secret(k, it, (struct place){0, it->line, 1}, FINDING_ERROR, list[0].what, where);
    }
    buf_free(&parts);
    return n > 0;
}

static void check_response_body(struct checking *k, const struct reading *r)
{
    const struct interaction *it = r->it;
    struct buf parts = {0};
    cassette_find_in_answer(it, &parts);
    bool told = tell_part(k, it, it->body, &parts, "the response's body");
    if (r->decoder != NULL && r->result.ok && !told) {
        const struct reply *reply = &r->result.reply;
        told = check_said(k, it, reply->content, "the reply's text") ||
               check_said(k, it, reply->reasoning, "the reply's reasoning");
        for (size_t i = 0; i < reply->n_calls && !told; i++) {
            told = check_said(k, it, reply->calls[i].arguments, "a call's arguments");
        }
    }
    buf_free(&parts);
}

static void check_headers(struct checking *k, const struct interaction *it,
                          const struct http_header *headers, size_t n)
{
    static const char *const names[] = {"authorization", "x-api-key",  "api-key", "x-goog-api-key",
                                        "cookie",        "set-cookie", NULL};
    for (size_t i = 0; i < n; i++) {
        for (size_t m = 0; names[m] != NULL; m++) {
            if (str_is_nocase(headers[i].name, names[m]) && headers[i].value.n > 0 &&
                !str_is(headers[i].value, REDACTED_TEXT)) {
                tell_credential(k, it, FINDING_WARNING, names[m], "the headers", headers[i].value);
            }
        }
    }
}

/* In the order of our files, in which place_of looks for them first. */
static void check_credentials(struct checking *k, const struct reading *r)
{
    const struct interaction *it = r->it;
    struct buf url = {0};
    k->secret = (struct place){0, 0, 0};
    if (cassette_redact_url(it->uri, &url)) {
        tell_credential(k, it, FINDING_ERROR, "a secret", "the uri", it->uri);
    }
    buf_free(&url);
    check_headers(k, it, it->request_headers, it->n_request_headers);
    check_request_body(k, it);
    check_headers(k, it, it->headers, it->n_headers);
    check_response_body(k, r);
}

static bool answered_alike(const struct interaction *a, const struct interaction *b)
{
    return a->status == b->status && a->ended == b->ended && str_eq(a->body, b->body);
}

/* Equal requests with different good answers: which of them comes depends on the order of asking.
 * A failure before a good answer is a retry. */
static void check_duplicates(struct checking *k)
{
    const struct cassette *c = k->c;
    struct index *x = cassette_index_new(k->arena, (uint32_t)c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        bool good = it->ended == HTTP_CLEAN && it->status >= 200 && it->status < 300;
        if (!good) {
            continue;
        }
        struct key key =
            cassette_key_of_request(it->method, it->uri, it->request_body, it->request_json);
        uint32_t first = cassette_index_first(x, key);
        if (first == INDEX_NONE) {
            cassette_index_add(x, key, i);
        } else if (!answered_alike(&c->items[first], it)) {
            struct str message = arena_printf(k->arena,
                                              "interaction %u: the same request as interaction %u "
                                              "with another answer: they are served in this order",
                                              it->n, c->items[first].n);
            tell(k, it, FINDING_WARNING, "ambiguous_duplicate", message);
        }
    }
}

void cassette_check(const struct cassette *c, void (*found)(void *ctx, const struct finding *f),
                    void *ctx)
{
    struct checking k = {
        .c = c, .found = found, .ctx = ctx, .arena = arena_new(), .item = {0, 1, 1}};
    check_file(&k);
    for (size_t i = 0; i < c->n; i++) {
        k.item = line_at(c->source, k.item, c->items[i].line);
        check_end(&k, &c->items[i]);
        check_chunks(&k, &c->items[i]);
        check_coding(&k, &c->items[i]);
        struct reading r = cassette_reading_of(&c->items[i], k.arena);
        check_reply(&k, &r);
        check_credentials(&k, &r);
        cassette_reading_free(&r);
    }
    check_duplicates(&k);
    arena_free(k.arena);
}
