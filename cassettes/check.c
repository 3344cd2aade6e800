/* Finds what would hinder a replay, and secrets that were written down. */
#include "cassettes/cassette_int.h"

struct checking {
    const struct cassette *c;
    void (*found)(void *ctx, const struct finding *f);
    void *ctx;
    struct arena *arena;
};

static void tell(struct checking *k, const struct interaction *it, const char *severity,
                 const char *code, struct str message)
{
    uint32_t line = it == NULL ? 1 : it->line;
    struct finding f = {k->c->path, line, 1, severity, code, message};
    k->found(k->ctx, &f);
}

static void check_file(struct checking *k)
{
    const struct cassette *c = k->c;
    if (c->torn) {
        struct str message = arena_printf(k->arena,
                                          "the recording was cut off behind interaction %zu: the "
                                          "unfinished one is left out",
                                          c->n);
        tell(k, c->n > 0 ? &c->items[c->n - 1] : NULL, "warning", "torn", message);
    }
    if (c->ours && c->encoder > WIRE_ENCODER_VERSION) {
        struct str message = arena_printf(k->arena,
                                          "recorded with encoder %lld, this assay has %d: its "
                                          "requests may not match; update assay",
                                          (long long)c->encoder, WIRE_ENCODER_VERSION);
        tell(k, NULL, "warning", "encoder_newer", message);
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
        tell(k, it, "error", "bad_chunks", message);
    }
}

static void check_coding(struct checking *k, const struct interaction *it)
{
    struct str coding = http_header_get(it->headers, it->n_headers, "content-encoding");
    if (coding.n > 0) {
        struct str message = arena_printf(k->arena,
                                          "interaction %u: the body is coded (%.*s), which assay "
                                          "does not decode",
                                          it->n, STR_FMT(str_slice(coding, 0, 40)));
        tell(k, it, "warning", "unknown_encoding", message);
    }
}

static void check_reply(struct checking *k, const struct interaction *it)
{
    struct reading r = reading_of(it, k->arena);
    bool answered = it->ended == HTTP_CLEAN && it->status >= 200 && it->status < 300;
    if (r.decoder != NULL && answered && !r.result.ok && r.result.failure.class == FAIL_PROTOCOL) {
        struct str why = str_slice(r.result.failure.message, 0, 400);
        struct str message = arena_printf(k->arena, "interaction %u: the body is no reply: %.*s",
                                          it->n, STR_FMT(why));
        tell(k, it, "error", "undecodable_reply", message);
    }
    reading_free(&r);
}

static void tell_credential(struct checking *k, const struct interaction *it, const char *severity,
                            const char *what, const char *where)
{
    struct str message =
        arena_printf(k->arena, "interaction %u: %s in %s: take it out (assay cassette redact %s)",
                     it->n, what, where, k->c->path);
    tell(k, it, severity, "credential", message);
}

static void check_text(struct checking *k, const struct interaction *it, struct str text,
                       const char *where)
{
    size_t at, n;
    const char *what;
    if (credential_find(text, 0, &at, &n, &what)) {
        tell_credential(k, it, "error", what, where);
    }
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
                tell_credential(k, it, "warning", names[m], "the headers");
            }
        }
    }
}

static void check_credentials(struct checking *k, const struct interaction *it)
{
    struct buf url = {0};
    if (redact_url(it->uri, &url)) {
        tell_credential(k, it, "error", "a secret", "the uri");
    }
    buf_free(&url);
    check_text(k, it, it->request_body, "the request's body");
    check_text(k, it, it->body, "the response's body");
    check_headers(k, it, it->request_headers, it->n_request_headers);
    check_headers(k, it, it->headers, it->n_headers);
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
    struct index *x = index_new(k->arena, (uint32_t)c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        bool good = it->ended == HTTP_CLEAN && it->status >= 200 && it->status < 300;
        if (!good) {
            continue;
        }
        struct key key = key_of_request(it->method, it->uri, it->request_body, it->request_json);
        uint32_t first = index_first(x, key);
        if (first == INDEX_NONE) {
            index_add(x, key, i);
        } else if (!answered_alike(&c->items[first], it)) {
            struct str message = arena_printf(k->arena,
                                              "interaction %u: the same request as interaction %u "
                                              "with another answer: they are served in this order",
                                              it->n, c->items[first].n);
            tell(k, it, "warning", "ambiguous_duplicate", message);
        }
    }
}

void cassette_check(const struct cassette *c, void (*found)(void *ctx, const struct finding *f),
                    void *ctx)
{
    struct checking k = {c, found, ctx, arena_new()};
    check_file(&k);
    for (size_t i = 0; i < c->n; i++) {
        check_chunks(&k, &c->items[i]);
        check_coding(&k, &c->items[i]);
        check_reply(&k, &c->items[i]);
        check_credentials(&k, &c->items[i]);
    }
    check_duplicates(&k);
    arena_free(k.arena);
}
