/* Reads HTTP archives, which browsers and proxies export (HAR 1.2,
 * http://www.softwareishard.com/blog/har-12-spec/), and takes recordings of others over as ours. */
#include "cassettes/cassette_int.h"
#include "cassettes/edit.h"
#include "kernel/base/base64.h"
#include "kernel/base/date.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

#include <inttypes.h>
#include <stdlib.h>

enum { DAY_MS = 24 * 3600 * 1000, NOT_A_TIME = -1 };

/* One archive being read. */
struct har {
    struct doc d;
    struct cassette *c;
    struct buf *left_out;
};

/* A number of milliseconds, whole; 0 where it is none or below. */
static int64_t milliseconds(const struct val *v)
{
    int64_t ms;
    bool good = val_is(v, VAL_NUMBER) && num_scaled(v->text, 0, &ms) && ms > 0 && ms < DAY_MS;
    return good ? ms : 0;
}

/* ---- entries ---- */

static int read_headers(struct har *h, const struct val *v, struct http_header **out, size_t *n,
                        struct err *e)
{
    const struct val *list = NULL;
    int rc = doc_list(h->d, v, "headers", DOC_OPTIONAL, &list, e);
    *out = arena_array(h->d.arena, list == NULL ? 0 : list->count, sizeof **out);
    for (size_t i = 0; list != NULL && i < list->count && rc == 0; i++) {
        struct http_header header = {0};
        rc = doc_str(h->d, &list->items[i], "name", DOC_REQUIRED, &header.name, e);
        if (rc == 0) {
            rc = doc_str(h->d, &list->items[i], "value", DOC_OPTIONAL, &header.value, e);
        }
        if (rc == 0 && !str_starts(header.name, ":")) { /* HTTP/2's own are no headers */
            (*out)[(*n)++] = header;
        }
    }
    return rc;
}

/* `text`, which `encoding` may say is base64. */
static int read_text(struct har *h, const struct val *v, struct str *out, struct err *e)
{
    struct str encoding = {0};
    int rc = doc_str(h->d, v, "text", DOC_OPTIONAL, out, e);
    if (rc == 0) {
        rc = doc_str(h->d, v, "encoding", DOC_OPTIONAL, &encoding, e);
    }
    if (rc != 0 || encoding.n == 0) {
        return rc;
    }
    struct buf bytes = {0};
    if (!str_is_nocase(encoding, "base64")) {
        rc = doc_fail(h->d, val_get(v, "encoding"), e, "expected base64, got \"%.*s\"",
                      STR_FMT(text_preview(h->d.arena, encoding, 40)));
    } else if (!base64_decode(*out, &bytes)) {
        rc = doc_fail(h->d, val_get(v, "text"), e, "the text is no base64");
    } else {
        *out = arena_str(h->d.arena, buf_str(&bytes));
    }
    buf_free(&bytes);
    return rc;
}

static int read_request(struct har *h, const struct val *v, struct interaction *it, struct err *e)
{
    const struct val *post = NULL;
    int rc = doc_str(h->d, v, "method", DOC_REQUIRED, &it->method, e);
    if (rc == 0) {
        rc = doc_str(h->d, v, "url", DOC_REQUIRED, &it->uri, e);
    }
    if (rc == 0 && !str_starts_nocase(it->uri, "http://") &&
        !str_starts_nocase(it->uri, "https://")) {
        return doc_fail(h->d, val_get(v, "url"), e, "its address is not HTTP: %.*s",
                        STR_FMT(text_preview(h->d.arena, it->uri, 60)));
    }
    if (rc == 0) {
        rc = read_headers(h, v, &it->request_headers, &it->n_request_headers, e);
    }
    if (rc == 0) {
        rc = doc_map(h->d, v, "postData", DOC_OPTIONAL, &post, e);
    }
    if (rc != 0 || post == NULL) {
        return rc;
    }
    const struct val *params = val_get(post, "params");
    if (val_text(val_get(post, "text")).n == 0 && val_is(params, VAL_ARRAY) && params->count > 0) {
        return doc_fail(h->d, post, e, "its body is given as form fields only, not as it was sent");
    }
    rc = read_text(h, post, &it->request_body, e);
    struct val *json = NULL;
    if (rc == 0 && json_parse(h->d.arena, NULL, it->request_body, &json, NULL) == 0) {
        it->request_json = json;
    }
    return rc;
}

static int read_response(struct har *h, const struct val *v, struct interaction *it, struct err *e)
{
    const struct val *content = NULL;
    int64_t status = 0;
    int64_t size = 0;
    int rc = doc_int(h->d, v, "status", DOC_REQUIRED, 0, 999, &status, e);
    it->status = (int)status;
    if (rc == 0 && (status == 0 || status == 101)) {
        return doc_fail(h->d, v, e,
                        status == 0 ? "no answer came" : "it is a web socket, not HTTP");
    }
    if (rc == 0) {
        rc = doc_str(h->d, v, "statusText", DOC_OPTIONAL, &it->reason, e);
    }
    if (rc == 0) {
        rc = read_headers(h, v, &it->headers, &it->n_headers, e);
    }
    if (rc == 0) {
        rc = doc_map(h->d, v, "content", DOC_OPTIONAL, &content, e);
    }
    if (rc == 0 && content != NULL) {
        rc = read_text(h, content, &it->body, e);
        if (rc == 0 && val_get(content, "text") == NULL &&
            val_int(val_get(content, "size"), &size) && size > 0) {
            return doc_fail(h->d, content, e,
                            "the archive does not hold its body of %lld bytes; export it with "
                            "content",
                            (long long)size);
        }
    }
    return rc == 0 ? cassette_undo_coding(it, h->d.arena, e) : rc;
}

/* From its own times: when it began, how long the first byte took, and all of it. */
static void read_timing(struct har *h, const struct val *v, struct interaction *it)
{
    static const char *const before[] = {"blocked", "dns", "connect", "send", "wait"};
    const struct val *timings = val_get(v, "timings");
    int64_t first = 0;
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        first += milliseconds(val_get(timings, before[i]));
    }
    if (!date_parse_iso(val_text(val_get(v, "startedDateTime")), &it->at_ms)) {
        it->at_ms = NOT_A_TIME;
    }
    it->took_ms = milliseconds(val_get(v, "time"));
    it->ended = HTTP_CLEAN;
    if (timings != NULL && it->body.n > 0) {
        it->chunks = arena_alloc(h->d.arena, sizeof *it->chunks);
        it->chunks[0] = (struct cassette_chunk){first, (int64_t)it->body.n};
        it->n_chunks = 1;
        it->took_ms = first > it->took_ms ? first : it->took_ms;
    }
}

static int read_entry(struct har *h, const struct val *v, struct interaction *it, struct err *e)
{
    const struct val *request = NULL;
    const struct val *response = NULL;
    int rc = doc_map(h->d, v, "request", DOC_REQUIRED, &request, e);
    if (rc == 0) {
        rc = doc_map(h->d, v, "response", DOC_REQUIRED, &response, e);
    }
    if (rc == 0) {
        rc = read_request(h, request, it, e);
    }
    if (rc == 0) {
        rc = read_response(h, response, it, e);
    }
    if (rc == 0) {
        read_timing(h, v, it);
    }
    return rc;
}

/* Times from the first interaction on. */
static void make_relative(struct cassette *c)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < c->n; i++) {
        int64_t at = c->items[i].at_ms;
        first = at != NOT_A_TIME && at < first ? at : first;
    }
    for (size_t i = 0; i < c->n; i++) {
        int64_t at = c->items[i].at_ms;
        bool near = at != NOT_A_TIME && at - first < (int64_t)366 * DAY_MS;
        c->items[i].at_ms = near ? at - first : -1;
    }
    if (first != INT64_MAX) {
        c->started_at = date_text(c->arena, first);
    }
}

static void read_entries(struct har *h, const struct val *entries)
{
    struct cassette *c = h->c;
    c->items = arena_array(c->arena, entries->count, sizeof *c->items);
    for (size_t i = 0; i < entries->count; i++) {
        struct err e;
        struct interaction it = {.n = (uint32_t)c->n + 1, .line = entries->items[i].line};
        if (read_entry(h, &entries->items[i], &it, &e) == 0) {
            c->items[c->n++] = it;
        } else {
            buf_fmt(h->left_out, "%s:%u:%u: entry %zu is left out: %s\n", c->path, (unsigned)e.line,
                    (unsigned)e.column, i + 1, e.message);
        }
    }
    make_relative(c);
}

/* Whether the text is an archive, which is then read. */
static bool read_har(const char *path, struct str text, struct cassette **out, struct buf *left_out)
{
    struct str start = str_trim(str_slice(text, 0, 64));
    struct arena *arena = arena_new();
    struct val *root = NULL;
    text = arena_str(arena, text); /* what is read points into it */
    bool bom = str_starts(start, "\xef\xbb\xbf");
    bool good = (bom || str_starts(start, "{")) &&
                json_parse(arena, path, text, &root, NULL) == 0 &&
                val_is(val_path(root, "log", "entries", NULL), VAL_ARRAY);
    if (!good) {
        arena_free(arena);
        return false;
    }
    struct cassette *c = mem_zero(sizeof *c);
    c->arena = arena;
    c->path = arena_cstr(arena, str_of(path));
    c->source = text;
    c->whole = text.n;
    struct har h = {{arena, c->path}, c, left_out};
    read_entries(&h, val_path(root, "log", "entries", NULL));
    *out = c;
    return true;
}

/* ---- taking over ---- */

/* A head as a recording of ours has it, which depends on nothing but the text. */
static void make_ours(struct cassette *c, struct str text)
{
    uint64_t hash = hash64(0, text);
    c->ours = true;
    c->encoder = WIRE_ENCODER_VERSION;
    c->run = arena_printf(c->arena, "%012" PRIx64, hash >> 16);
    c->seed = (hash & INT32_MAX) | 1;
}

int cassette_import_text(const char *path, struct str text, struct cassette **out,
                         struct buf *left_out, struct err *e)
{
    int rc = 0;
    if (!read_har(path, text, out, left_out)) {
        struct buf warning = {0};
        rc = cassette_parse(path, text, out, &warning, e);
        if (warning.n > 0) {
            buf_add(left_out, buf_str(&warning));
            buf_char(left_out, '\n');
        }
        buf_free(&warning);
    }
    if (rc == 0 && !(*out)->ours) {
        make_ours(*out, text);
    }
    return rc;
}

int cassette_import(const char *path, struct cassette **out, struct buf *left_out, struct err *e)
{
    struct arena *arena = arena_new();
    struct str text;
    int rc = file_read(arena, path, CASSETTE_BYTES_MAX, &text, e);
    if (rc == 0) {
        rc = cassette_import_text(path, text, out, left_out, e);
    }
    arena_free(arena);
    return rc;
}
