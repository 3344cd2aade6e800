/* Tells the secrets that a recording holds, each with its place, its part and its kind; never the
 * secret itself. */
#include "cassettes/check_int.h"
#include "kernel/base/text.h"

#include <string.h>

/* Never more of one interaction. */
enum { TOLD_MAX = 100 };

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

void cassette_place_item(struct checking *k, const struct interaction *it)
{
    k->item = line_at(k->c->source, k->item, it->line);
    k->secret = (struct place){0, 0, 0};
}

/* ---- secrets ---- */

static void tell_secret(struct checking *k, const struct interaction *it, struct place place,
                        enum finding_severity severity, const char *what, const char *where)
{
    struct str message =
        arena_printf(k->arena,
                     "interaction %u: %s in %s: revoke it, and take it out: assay cassette redact "
                     "--in-place %s",
                     it->n, what, where, k->c->path);
    if (place.at > 0) {
        k->secret = place;
    }
    cassette_tell_at(k, place, k->secrets == SECRETS_ALL ? FINDING_ERROR : severity, "credential",
                     message);
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

/* Tells the first of the parts, or all; whether there is one. Pieces that go on are one with the
 * part before them. */
static bool tell_parts(struct checking *k, const struct interaction *it, struct str body,
                       const struct buf *parts, const char *where)
{
    size_t n;
    size_t told = 0;
    size_t most = k->secrets == SECRETS_ALL ? TOLD_MAX : 1;
    const struct redacted *list = cassette_parts(parts, &n);
    for (size_t i = 0; i < n && told < most; i++) {
        if (list[i].hidden != REDACTED_REST) {
            tell_secret(k, it, place_of_part(k, it, body, &list[i]), FINDING_ERROR, list[i].what,
                        where);
            told++;
        }
    }
    return n > 0;
}

static void check_request_body(struct checking *k, const struct interaction *it)
{
    struct buf parts = {0};
    cassette_find_in_text(it->request_body, &parts);
    tell_parts(k, it, it->request_body, &parts, "the request's body");
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
    bool told = tell_parts(k, it, it->body, &parts, "the response's body");
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

/* What others write where they took a secret out. */
static bool is_placeholder(struct str value)
{
    static const char *const words[] = {"redacted", "filtered", "scrubbed", "sanitized",
                                        "removed",  "hidden",   "omitted",  "***"};
    struct str start = str_slice(value, 0, 100);
    for (size_t at = 0; at < start.n; at++) {
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            if (str_starts_nocase(str_slice(start, at, start.n), words[i])) {
                return true;
            }
        }
    }
    return value.n == 0;
}

/* Why a header holds a secret: by its shape, or by its name; NULL when it holds none. */
static const char *secret_of_header(const struct http_header *h, enum finding_severity *severity)
{
    static const char *const names[] = {"authorization",  "proxy-authorization",
                                        "x-api-key",      "api-key",
                                        "x-goog-api-key", "ocp-apim-subscription-key",
                                        "x-auth-token",   "x-amz-security-token",
                                        "cookie",         "set-cookie"};
    size_t at;
    size_t n;
    const char *what = NULL;
    bool shape = cassette_find_credential(h->value, 0, &at, &n, &what);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_is_nocase(h->name, names[i]) && !is_placeholder(h->value)) {
            *severity = FINDING_WARNING;
            return shape ? what : names[i];
        }
    }
    *severity = FINDING_ERROR;
    return shape ? what : NULL;
}

static void check_headers(struct checking *k, const struct interaction *it,
                          const struct http_header *headers, size_t n, const char *where)
{
    for (size_t i = 0; i < n; i++) {
        enum finding_severity severity;
        const char *what = secret_of_header(&headers[i], &severity);
        if (what != NULL) {
            tell_credential(k, it, severity, what, where, headers[i].value);
        }
    }
}

/* In the order of our files, in which place_of looks for them first. */
void cassette_find_secrets(struct checking *k, const struct reading *r)
{
    const struct interaction *it = r->it;
    struct buf url = {0};
    if (cassette_redact_url(it->uri, &url)) {
        tell_credential(k, it, FINDING_ERROR, "a secret", "the uri", it->uri);
    }
    buf_free(&url);
    check_headers(k, it, it->request_headers, it->n_request_headers, "the request's headers");
    check_request_body(k, it);
    check_headers(k, it, it->headers, it->n_headers, "the response's headers");
    check_response_body(k, r);
}
