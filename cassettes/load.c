/* Reads cassettes: our own strictly, other programs' (vcrpy and its serializers) in every variant
 * they are found in. */
#include "cassettes/cassette_int.h"
#include "kernel/base/base64.h"
#include "kernel/base/date.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdlib.h>
#include <string.h>

/* No session lasts longer. */
#define TIME_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

enum { SHOWN_CHARS = 40 };

/* What one loading works with. */
struct loader {
    struct doc d;
    struct cassette *c;
    struct err *e;
};

static const char *const request_keys[] = {"method", "uri", "headers", "body", NULL};
static const char *const response_keys[] = {"status", "headers", "body", "assay", NULL};
static const char *const item_keys[] = {"request", "response", NULL};
static const char *const top_keys[] = {"version", "assay", "interactions", NULL};
static const char *const header_keys[] = {"format",      "encoder", "run",       "seed",
                                          "started_at",  "ignore",  "normalise", "after_requests",
                                          "after_calls", NULL};
static const char *const timing_keys[] = {"at_ms",  "took_ms", "ended", "detail",
                                          "chunks", "call_id", NULL};
static const char *const status_keys[] = {"code", "message", NULL};
static const char *const body_keys[] = {"string", "base64_string", "encoding", NULL};

/* Strict about keys in our own files only. */
static int check_keys(struct loader *l, const struct val *v, const char *what,
                      const char *const *keys)
{
    if (l->c->ours) {
        return doc_keys(l->d, v, what, keys, l->e);
    }
    if (!val_is(v, VAL_OBJECT)) {
        return doc_fail(l->d, v, l->e, "expected %s as a map, got %s", what,
                        v == NULL ? "nothing" : val_kind_name(v->kind));
    }
    return 0;
}

/* A string; in others' files also a number, a boolean or null, by its text. */
static int scalar_text(struct loader *l, const struct val *v, const char *what, struct str *out)
{
    if (val_is(v, VAL_STRING) || (!l->c->ours && val_is(v, VAL_NUMBER))) {
        *out = v->text;
        return 0;
    }
    if (!l->c->ours && (val_is(v, VAL_BOOL) || val_is(v, VAL_NULL))) {
        *out = v->kind == VAL_NULL ? STR("") : v->boolean ? STR("true") : STR("false");
        return 0;
    }
    return doc_fail(l->d, v, l->e, "expected %s as a string, got %s", what, val_kind_name(v->kind));
}

static struct str kept(struct loader *l, const struct buf *b)
{
    return arena_str(l->d.arena, buf_str(b));
}

/* A body that was stored as a value: its compact JSON text. */
static struct str json_text(struct loader *l, const struct val *v)
{
    struct buf b = {0};
    json_add(&b, v);
    struct str text = kept(l, &b);
    buf_free(&b);
    return text;
}

static bool is_body_map(const struct val *v)
{
    if (!val_is(v, VAL_OBJECT) || v->count == 0) {
        return false;
    }
    for (size_t i = 0; i < v->count; i++) {
        bool known = false;
        for (size_t k = 0; body_keys[k] != NULL; k++) {
            known = known || str_is(v->members[i].key, body_keys[k]);
        }
        if (!known) {
            return false;
        }
    }
    return val_get(v, "string") != NULL || val_get(v, "base64_string") != NULL;
}

static int base64_body(struct loader *l, const struct val *v, struct str *out)
{
    struct str text;
    int rc = scalar_text(l, v, "base64_string", &text);
    if (rc != 0) {
        return rc;
    }
    struct buf b = {0};
    if (base64_decode(text, &b)) {
        *out = kept(l, &b);
    } else {
        rc = doc_fail(l->d, v, l->e, "base64_string is no base64");
    }
    buf_free(&b);
    return rc;
}

/* What a file object of Python holds (!!python/object/new:_io.BytesIO: a state of the bytes, where
 * it stands in them, its attributes), or NULL. */
static const struct val *file_object(const struct val *v)
{
    const struct val *state = val_get(v, "state");
    const struct val *bytes = val_item(state, 0);
    return val_is(v, VAL_OBJECT) && v->count == 1 && val_is(bytes, VAL_STRING) ? bytes : NULL;
}

/* What an iterator of Python gives (!!python/object/apply:builtins.iter: one list of pieces), or
 * NULL. */
static const struct val *iterator(const struct val *v)
{
    const struct val *args = val_get(v, "args");
    const struct val *pieces = val_item(args, 0);
    bool good = val_is(v, VAL_OBJECT) && v->count == 1 && args != NULL && args->count == 1 &&
                val_is(pieces, VAL_ARRAY);
    for (size_t i = 0; good && i < pieces->count; i++) {
        good = val_is(&pieces->items[i], VAL_STRING);
    }
    return good ? pieces : NULL;
}

static struct str joined(struct loader *l, const struct val *pieces)
{
    struct buf b = {0};
    for (size_t i = 0; i < pieces->count; i++) {
        buf_add(&b, pieces->items[i].text);
    }
    struct str text = kept(l, &b);
    buf_free(&b);
    return text;
}

/* A body in any of its forms: string, !!binary, null, {string}, {base64_string}, a map or a list.
 */
static int read_body(struct loader *l, const struct val *v, struct str *out)
{
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    if (!l->c->ours && iterator(v) != NULL) {
        *out = joined(l, iterator(v));
        return 0;
    }
    if (!l->c->ours && file_object(v) != NULL) {
        v = file_object(v);
    }
    if (v->kind == VAL_OBJECT) {
        int rc = check_keys(l, v, "a body", body_keys);
        if (rc != 0) {
            return rc;
        }
    }
    if (is_body_map(v)) {
        const struct val *text = val_get(v, "string");
        if (text == NULL) {
            return base64_body(l, val_get(v, "base64_string"), out);
        }
        if (text->kind == VAL_NULL) {
            return 0;
        }
        if (text->kind != VAL_STRING) {
            return doc_fail(l->d, text, l->e, "expected the body's string as a string, got %s",
                            val_kind_name(text->kind));
        }
        *out = text->text;
        return 0;
    }
    switch (v->kind) {
    case VAL_STRING: *out = v->text; return 0;
    case VAL_ARRAY:
    case VAL_OBJECT: *out = v->count == 0 ? (struct str){0} : json_text(l, v); return 0;
    case VAL_NULL:
    case VAL_BOOL:
    case VAL_NUMBER: break;
    }
    return doc_fail(l->d, v, l->e, "expected a body as a string or a map, got %s",
                    val_kind_name(v->kind));
}

/* `parsed_body` where it stands, else `body` (or httpx's `content`). */
static int read_any_body(struct loader *l, const struct val *v, struct str *out,
                         const struct val **value)
{
    const struct val *body = val_get(v, "body");
    const struct val *parsed = val_get(v, "parsed_body");
    if (parsed != NULL && !l->c->ours && (body == NULL || body->kind == VAL_NULL)) {
        *out = json_text(l, parsed);
        *value = parsed;
        return 0;
    }
    if (body == NULL && !l->c->ours) {
        body = val_get(v, "content");
    }
    return read_body(l, body, out);
}

static int read_header(struct loader *l, struct str name, const struct val *v,
                       struct http_header *out)
{
    out->name = name;
    return scalar_text(l, v, "a header's value", &out->value);
}

/* Values of a header: one, or a list of them; each becomes a header of its own. */
static int read_header_map(struct loader *l, const struct val *headers, struct http_header **out,
                           size_t *n)
{
    int rc = 0;
    size_t count = 0;
    for (size_t i = 0; i < headers->count; i++) {
        const struct val *value = &headers->members[i].value;
        count += value->kind == VAL_ARRAY ? value->count : 1;
    }
    *out = arena_array(l->d.arena, count, sizeof **out);
    for (size_t i = 0; i < headers->count && rc == 0; i++) {
        const struct member *m = &headers->members[i];
        bool list = m->value.kind == VAL_ARRAY;
        for (size_t k = 0; k < (list ? m->value.count : 1) && rc == 0; k++) {
            rc = read_header(l, m->key, list ? &m->value.items[k] : &m->value, &(*out)[(*n)++]);
        }
    }
    return rc;
}

/* One of a list: a line "Name: value", or a pair. */
static int read_listed_header(struct loader *l, const struct val *v, struct http_header *out)
{
    size_t colon = str_find(val_text(v), STR(":"));
    if (val_is(v, VAL_STRING) && colon != SIZE_MAX && colon > 0) {
        out->name = str_slice(v->text, 0, colon);
        out->value = str_trim(str_slice(v->text, colon + 1, v->text.n));
        return 0;
    }
    if (val_is(v, VAL_ARRAY) && v->count == 2 && val_is(&v->items[0], VAL_STRING)) {
        return read_header(l, v->items[0].text, &v->items[1], out);
    }
    return doc_fail(l->d, v, l->e, "expected a header as \"Name: value\" or [name, value], got %s",
                    val_kind_name(v->kind));
}

/* The list of the oldest vcrpy: of lines, or of pairs, which may stand in a set of Python's. */
static int read_header_list(struct loader *l, const struct val *list, struct http_header **out,
                            size_t *n)
{
    const struct val *first = val_item(list, 0);
    const struct val *inner = val_item(first, 0);
    if (list->count == 1 && val_is(first, VAL_ARRAY) &&
        (inner == NULL || val_is(inner, VAL_ARRAY))) {
        list = first;
    }
    int rc = 0;
    *out = arena_array(l->d.arena, list->count, sizeof **out);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        rc = read_listed_header(l, &list->items[i], &(*out)[(*n)++]);
    }
    return rc;
}

static int read_headers(struct loader *l, const struct val *v, struct http_header **out, size_t *n)
{
    const struct val *headers = val_get(v, "headers");
    if (!l->c->ours && val_is(headers, VAL_ARRAY)) {
        return read_header_list(l, headers, out, n);
    }
    int rc = doc_map(l->d, v, "headers", DOC_OPTIONAL, &headers, l->e);
    return rc != 0 || !val_is(headers, VAL_OBJECT) ? rc : read_header_map(l, headers, out, n);
}

static int read_status(struct loader *l, const struct val *response, struct interaction *it)
{
    const struct val *status = val_get(response, "status");
    const struct val *holder = status;
    const char *key = "code";
    int64_t code = 0;
    int rc = 0;
    if (val_is(status, VAL_OBJECT)) {
        rc = check_keys(l, status, "a status", status_keys);
    } else {
        holder = response;
        key = status == NULL && !l->c->ours ? "status_code" : "status";
    }
    if (rc == 0) {
        rc = doc_int(l->d, holder, key, DOC_REQUIRED, 0, 999, &code, l->e);
    }
    it->status = (int)code;
    if (rc == 0 && val_is(status, VAL_OBJECT)) {
        rc = doc_str(l->d, status, "message", DOC_OPTIONAL, &it->reason, l->e);
    }
    return rc;
}

/* The address in the parts that the oldest vcrpy wrote. */
static int read_address_parts(struct loader *l, const struct val *v, struct str *out)
{
    struct str protocol = {0};
    struct str host = {0};
    struct str path = {0};
    int64_t port = 0;
    int rc = doc_str(l->d, v, "protocol", DOC_REQUIRED, &protocol, l->e);
    if (rc == 0) {
        rc = doc_str(l->d, v, "host", DOC_REQUIRED, &host, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "path", DOC_OPTIONAL, &path, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "port", DOC_OPTIONAL, 0, 65535, &port, l->e);
    }
    bool usual = port == 0 || (port == 80 && str_is(protocol, "http")) ||
                 (port == 443 && str_is(protocol, "https"));
    struct buf uri = {0};
    buf_add(&uri, protocol);
    buf_addz(&uri, "://");
    buf_add(&uri, host);
    if (!usual) {
        buf_fmt(&uri, ":%lld", (long long)port);
    }
    buf_add(&uri, path);
    *out = kept(l, &uri);
    buf_free(&uri);
    return rc;
}

static int read_uri(struct loader *l, const struct val *v, struct str *out)
{
    if (!l->c->ours && val_get(v, "uri") == NULL && val_get(v, "host") != NULL) {
        return read_address_parts(l, v, out);
    }
    return doc_str(l->d, v, "uri", DOC_REQUIRED, out, l->e);
}

/* Others write get for GET (betamax and Ruby's VCR). */
static struct str upper(struct loader *l, struct str s)
{
    char *p = arena_cstr(l->d.arena, s);
    for (size_t i = 0; i < s.n; i++) {
        p[i] = p[i] >= 'a' && p[i] <= 'z' ? (char)(p[i] - 'a' + 'A') : p[i];
    }
    return (struct str){p, s.n};
}

static int read_request(struct loader *l, const struct val *v, struct interaction *it)
{
    int rc = check_keys(l, v, "a request", request_keys);
    if (rc == 0) {
        rc = doc_str(l->d, v, "method", DOC_REQUIRED, &it->method, l->e);
    }
    if (rc == 0) {
        it->method = l->c->ours ? it->method : upper(l, it->method);
        rc = read_uri(l, v, &it->uri);
    }
    if (rc == 0) {
        rc = read_headers(l, v, &it->request_headers, &it->n_request_headers);
    }
    if (rc == 0) {
        rc = read_any_body(l, v, &it->request_body, &it->request_json);
    }
    if (rc == 0 && it->request_json == NULL && it->request_body.n > 0) {
        struct val *json = NULL;
        if (json_parse(l->d.arena, NULL, it->request_body, &json, NULL) == 0) {
            it->request_json = json;
        }
    }
    return rc;
}

static int read_chunks(struct loader *l, const struct val *timing, struct interaction *it)
{
    const struct val *list = NULL;
    int rc = doc_list(l->d, timing, "chunks", DOC_OPTIONAL, &list, l->e);
    if (rc != 0 || list == NULL) {
        return rc;
    }
    it->chunks = arena_array(l->d.arena, list->count, sizeof *it->chunks);
    it->n_chunks = list->count;
    int64_t last = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct val *pair = &list->items[i];
        struct cassette_chunk *chunk = &it->chunks[i];
        if (pair->kind != VAL_ARRAY || pair->count != 2 ||
            !val_int(&pair->items[0], &chunk->at_ms) || !val_int(&pair->items[1], &chunk->bytes) ||
            chunk->at_ms < last || chunk->at_ms > TIME_MAX_MS || chunk->bytes < 0 ||
            chunk->bytes > CASSETTE_BYTES_MAX) {
            return doc_fail(l->d, pair, l->e,
                            "expected a chunk as [milliseconds, bytes], not before the one ahead "
                            "of it, at most %lld ms and %d bytes",
                            (long long)TIME_MAX_MS, CASSETTE_BYTES_MAX);
        }
        last = chunk->at_ms;
    }
    return 0;
}

static int read_timing(struct loader *l, const struct val *response, struct interaction *it)
{
    const struct val *v = NULL;
    int rc = doc_map(l->d, response, "assay", DOC_OPTIONAL, &v, l->e);
    if (rc != 0 || v == NULL) {
        return rc;
    }
    struct str ended = STR("clean");
    rc = check_keys(l, v, "an interaction's `assay`", timing_keys);
    if (rc == 0) {
        rc = doc_int(l->d, v, "at_ms", DOC_OPTIONAL, 0, TIME_MAX_MS, &it->at_ms, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "took_ms", DOC_OPTIONAL, 0, TIME_MAX_MS, &it->took_ms, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "call_id", DOC_OPTIONAL, &it->call_id, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "detail", DOC_OPTIONAL, &it->detail, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "ended", DOC_OPTIONAL, &ended, l->e);
    }
    if (rc == 0 && (!http_end_of_name(ended, &it->ended) || it->ended == HTTP_MISS)) {
        return doc_fail(
            l->d, val_get(v, "ended"), l->e,
            "expected clean, reset, timeout, refused, stopped or mismatch, got \"%.*s\"",
            STR_FMT(text_preview(l->d.arena, ended, SHOWN_CHARS)));
    }
    return rc == 0 ? read_chunks(l, v, it) : rc;
}

/* A damaged body is told at its place. */
static int undo_coding(struct loader *l, const struct val *response, struct interaction *it)
{
    struct err why;
    int rc = cassette_undo_coding(it, l->d.arena, &why);
    if (rc != 0) {
        doc_fail(l->d, val_get(response, "body"), l->e, "%s", why.message);
        if (l->e != NULL) {
            l->e->code = rc;
        }
    }
    return rc;
}

static int read_response(struct loader *l, const struct val *v, struct interaction *it)
{
    const struct val *value = NULL;
    int rc = check_keys(l, v, "a response", response_keys);
    if (rc == 0) {
        rc = read_status(l, v, it);
    }
    if (rc == 0) {
        rc = read_headers(l, v, &it->headers, &it->n_headers);
    }
    if (rc == 0) {
        rc = read_any_body(l, v, &it->body, &value);
    }
    if (rc == 0) {
        rc = undo_coding(l, v, it);
    }
    return rc == 0 && l->c->ours ? read_timing(l, v, it) : rc;
}

static int read_item(struct loader *l, const struct val *v, struct interaction *it)
{
    const struct val *request = NULL;
    const struct val *response = NULL;
    it->line = v->line;
    it->at_ms = -1;
    int rc = check_keys(l, v, "an interaction", item_keys);
    if (rc == 0) {
        rc = doc_map(l->d, v, "request", DOC_REQUIRED, &request, l->e);
    }
    if (rc == 0) {
        rc = doc_map(l->d, v, "response", DOC_REQUIRED, &response, l->e);
    }
    if (rc == 0) {
        rc = read_request(l, request, it);
    }
    if (rc == 0) {
        rc = read_response(l, response, it);
    }
    it->decision = str_is(it->method, "ASK") && str_starts(it->uri, "approval:");
    it->tool = it->decision || (str_is(it->method, "CALL") && str_starts(it->uri, "tool:"));
    if (rc == 0 && it->decision && !str_is(it->body, "allow") && !str_is(it->body, "deny") &&
        !str_is(it->body, "always")) {
        return doc_fail(l->d, val_get(response, "body"), l->e,
                        "a decision is allow, deny or always, got \"%.*s\"",
                        STR_FMT(text_preview(l->d.arena, it->body, SHOWN_CHARS)));
    }
    return rc;
}

static int read_place(struct loader *l, const struct val *v)
{
    struct cassette_place *place = &l->c->place;
    int rc = doc_int(l->d, v, "after_requests", DOC_OPTIONAL, 0, INT32_MAX, &place->requests, l->e);
    return rc != 0
               ? rc
               : doc_int(l->d, v, "after_calls", DOC_OPTIONAL, 0, INT32_MAX, &place->calls, l->e);
}

/* A list of rules of the header. */
static int read_rules(struct loader *l, const struct val *header, const char *key,
                      enum cassette_rule_kind kind)
{
    struct str *texts = NULL;
    size_t n = 0;
    struct err why;
    int rc = doc_strings(l->d, header, key, "a rule", &texts, &n, l->e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (l->c->rules == NULL) {
            l->c->rules = cassette_rules_new();
        }
        if (cassette_rules_add(l->c->rules, kind, texts[i], &why) != 0) {
            rc = doc_fail(l->d, val_item(val_get(header, key), i), l->e, "%s", why.message);
        }
    }
    return rc;
}

static int read_assay_header(struct loader *l, const struct val *root)
{
    const struct val *v = NULL;
    int64_t seed = 0;
    int64_t format = 0;
    int rc = doc_version(l->d, root, l->e);
    if (rc == 0) {
        rc = doc_map(l->d, root, "assay", DOC_REQUIRED, &v, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "format", DOC_REQUIRED, 1, INT32_MAX, &format, l->e);
    }
    if (rc == 0 && format != CASSETTE_FORMAT) {
        return doc_fail(l->d, val_get(v, "format"), l->e,
                        "format %lld is newer than this assay reads (%d): update assay",
                        (long long)format, CASSETTE_FORMAT);
    }
    if (rc == 0) {
        rc = doc_keys(l->d, v, "the `assay` header", header_keys, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "encoder", DOC_REQUIRED, 1, INT32_MAX, &l->c->encoder, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "run", DOC_OPTIONAL, &l->c->run, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "seed", DOC_OPTIONAL, 0, INT64_MAX, &seed, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "started_at", DOC_OPTIONAL, &l->c->started_at, l->e);
    }
    if (rc == 0) {
        rc = read_place(l, v);
    }
    if (rc == 0) {
        rc = read_rules(l, v, "ignore", RULE_IGNORE);
    }
    if (rc == 0) {
        rc = read_rules(l, v, "normalise", RULE_NORMALISE);
    }
    int64_t started_ms;
    const struct str started = l->c->started_at;
    if (rc == 0 && started.p != NULL && !date_parse(started, &started_ms)) {
        return doc_fail(l->d, val_get(v, "started_at"), l->e,
                        "expected a time such as 2026-11-29T18:00:00.000Z, got \"%.*s\"",
                        STR_FMT(text_preview(l->d.arena, started, SHOWN_CHARS)));
    }
    l->c->seed = (uint64_t)seed;
    return rc;
}

/* Whether the text has a line at the left edge that begins with `word` before any of the
 * interactions. */
static bool has_top_key(struct str text, const char *word)
{
    while (text.n > 0 && !str_starts(text, "interactions:")) {
        if (str_starts(text, word)) {
            return true;
        }
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end == NULL ? text.n : (size_t)(end - text.p) + 1;
        text = str_slice(text, n, text.n);
    }
    return false;
}

/* Where a line (from 1) begins. */
static size_t line_start(struct str text, uint32_t line)
{
    size_t at = 0;
    for (uint32_t n = 1; n < line && at < text.n; n++) {
        const char *newline = memchr(text.p + at, '\n', text.n - at);
        at = newline == NULL ? text.n : (size_t)(newline - text.p) + 1;
    }
    return at;
}

/* Where the last line that begins with "- request:" stands, or SIZE_MAX. Inside bodies every line
 * is indented, so it can only be the start of an interaction. */
static size_t last_item_at(struct str text)
{
    const struct str mark = STR("- request:");
    for (size_t at = text.n; at-- > 0;) {
        if (text.p[at] == '-' && (at == 0 || text.p[at - 1] == '\n') && text.n - at >= mark.n &&
            memcmp(text.p + at, mark.p, mark.n) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* Whether a recorder finished the last interaction, whose text this is: it writes the response's
 * `assay` last, in a line of its own, further left than any body. */
static bool is_finished(struct str text)
{
    bool finished = false;
    for (size_t end = str_find(text, STR("\n")); end != SIZE_MAX && !finished;
         end = str_find(text, STR("\n"))) {
        struct str line = str_slice(text, 0, end);
        finished = str_starts(line, "    assay: {") && str_ends(line, "}");
        text = str_slice(text, end + 1, text.n);
    }
    return finished;
}

/* The last interaction, number n, begins in this line. */
static void warn_torn(struct cassette *c, size_t n, uint32_t line, const char *mend,
                      struct buf *warning)
{
    c->torn = true;
    c->torn_line = line;
    c->whole = line_start(c->source, line);
    if (warning != NULL) {
        buf_fmt(warning, "%s: the recording was cut off in interaction %zu, which is left out%s%s",
                c->path, n, n > 1 ? "; those before it are whole" : "", mend);
    }
}

static const struct val *timing_of(const struct val *item)
{
    return val_path(item, "response", "assay", NULL);
}

/* Whether a recorder wrote the file, not a hand: it gives times to each of the first n
 * interactions, which are finished, and before them says when it began. */
static bool is_recorded(const struct val *root, size_t n)
{
    const struct val *list = val_get(root, "interactions");
    for (size_t i = 0; i < n; i++) {
        if (timing_of(&list->items[i]) != NULL) {
            return true;
        }
    }
    return n == 0 && val_is(val_path(root, "assay", "run", NULL), VAL_STRING) &&
           val_is(val_path(root, "assay", "started_at", NULL), VAL_STRING);
}

static bool last_is_unfinished(const struct val *root, const struct val *list)
{
    return list->count > 0 && !val_is(timing_of(&list->items[list->count - 1]), VAL_OBJECT) &&
           is_recorded(root, list->count - 1);
}

/* What vcrpy wrote before its version 1: the interactions alone. */
static bool is_old_list(const struct val *root)
{
    return val_is(root, VAL_ARRAY) && root->count > 0 &&
           val_get(&root->items[0], "request") != NULL;
}

/* cut: the line in which a last interaction begins that could not be read; 0 = there is none. */
static int read_root(struct loader *l, const struct val *root, uint32_t cut, struct buf *warning)
{
    struct cassette *c = l->c;
    const struct val *list = NULL;
    const char *key = "interactions";
    struct val wrapped;
    struct member only;
    if (!c->ours && is_old_list(root)) {
        only = (struct member){STR("interactions"), root->line, root->column, *root};
        wrapped = (struct val){.kind = VAL_OBJECT, .line = 1, .count = 1, .members = &only};
        root = &wrapped;
    }
    if (!c->ours && val_get(root, key) == NULL && val_get(root, "http_interactions") != NULL) {
        key = "http_interactions";
    }
    if (val_path(root, "log", "entries", NULL) != NULL) {
        return doc_fail(l->d, root, l->e,
                        "is a HAR, no cassette; to make one of it: assay cassette import %s -o "
                        "OUT.yaml",
                        c->path);
    }
    if (!val_is(root, VAL_OBJECT) || (!c->ours && val_get(root, key) == NULL)) {
        return doc_fail(l->d, root, l->e,
                        "expected a cassette: a map with `version: 1` and `interactions`");
    }
    int rc = check_keys(l, root, "a cassette", top_keys);
    if (rc == 0 && c->ours) {
        rc = read_assay_header(l, root);
    } else if (rc == 0 && val_get(root, "version") != NULL) {
        rc = doc_version(l->d, root, l->e);
    }
    if (rc == 0) {
        rc = doc_list(l->d, root, key, DOC_OPTIONAL, &list, l->e);
    }
    if (rc != 0 || list == NULL) {
        if (rc == 0 && cut > 0) {
            warn_torn(c, 1, cut, "", warning);
        }
        return rc;
    }
    c->n = list->count;
    if (cut > 0) {
        warn_torn(c, c->n + 1, cut, "", warning);
    } else if (c->ours && last_is_unfinished(root, list)) {
        warn_torn(c, c->n, list->items[c->n - 1].line,
                  "; if it is whole, add `assay: {}` to its response", warning);
        c->n--;
    }
    c->items = arena_array(l->d.arena, c->n, sizeof *c->items);
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        c->items[i].n = (uint32_t)(i + 1);
        rc = read_item(l, &list->items[i], &c->items[i]);
    }
    return rc;
}

/* What is left of a recording that was killed while it wrote its last interaction. */
static bool parse_torn(struct cassette *c, struct str text, struct val **root, uint32_t *cut)
{
    size_t at = last_item_at(text);
    if (at == SIZE_MAX || is_finished(str_slice(text, at, text.n)) ||
        yaml_parse(c->arena, c->path, str_slice(text, 0, at), YAML_CORE, root, NULL) != 0) {
        return false;
    }
    uint32_t column;
    text_place(text, at, cut, &column);
    const struct val *list = val_get(*root, "interactions");
    return is_recorded(*root, val_is(list, VAL_ARRAY) ? list->count : 0);
}

static int parse_yaml(struct cassette *c, struct str text, struct val **root, uint32_t *cut,
                      struct err *e)
{
    c->ours = has_top_key(text, "assay:");
    int rc = yaml_parse(c->arena, c->path, text, c->ours ? YAML_CORE : YAML_PYYAML, root, e);
    if (rc == ERR_INPUT && c->ours && parse_torn(c, text, root, cut)) {
        return 0;
    }
    *cut = 0;
    if (rc == 0 && !c->ours && val_get(*root, "assay") != NULL) {
        c->ours = true;
        rc = yaml_parse(c->arena, c->path, text, YAML_CORE, root, e);
    }
    return rc;
}

int cassette_parse(const char *path, struct str text, struct cassette **out, struct buf *warning,
                   struct err *e)
{
    struct cassette *c = mem_zero(sizeof *c);
    c->arena = arena_new();
    c->path = arena_cstr(c->arena, str_of(path));
    struct val *root = NULL;
    uint32_t cut = 0;
    c->source = arena_str(c->arena, text);
    c->whole = c->source.n;
    int rc = parse_yaml(c, c->source, &root, &cut, e);
    if (rc == 0) {
        struct loader l = {{c->arena, c->path}, c, e};
        rc = read_root(&l, root, cut, warning);
    }
    if (rc != 0) {
        cassette_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

int cassette_load(const char *path, struct cassette **out, struct buf *warning, struct err *e)
{
    struct arena *arena = arena_new();
    struct str text;
    int rc = file_read(arena, path, CASSETTE_BYTES_MAX, &text, e);
    if (rc == 0) {
        rc = cassette_parse(path, text, out, warning, e);
    }
    arena_free(arena);
    return rc;
}

void cassette_free(struct cassette *c)
{
    if (c != NULL) {
        cassette_rules_free(c->rules);
        arena_free(c->arena);
        free(c);
    }
}
