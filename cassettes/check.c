/* Finds what would hinder a replay. */
#include "cassettes/check_int.h"
#include "kernel/base/text.h"

enum { CODING_CHARS = 40, WHY_CHARS = 400 };

void cassette_tell_at(struct checking *k, struct place place, enum finding_severity severity,
                      const char *code, struct str message)
{
    struct finding f = {k->c->path, place.line, place.column, severity, code, message};
    k->found(k->ctx, &f);
}

static void tell(struct checking *k, const struct interaction *it, enum finding_severity severity,
                 const char *code, struct str message)
{
    cassette_tell_at(k, (struct place){0, it == NULL ? 1 : it->line, 1}, severity, code, message);
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
        struct str message =
            arena_printf(k->arena,
                         "the recording was cut off in interaction %zu, which is left out; to drop "
                         "it: assay cassette repair %s",
                         c->n + 1, c->path);
        cassette_tell_at(k, (struct place){c->whole, c->torn_line, 1}, FINDING_WARNING, "torn",
                         message);
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
        } else if (!cassette_answered_alike(&c->items[first], it)) {
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
        cassette_place_item(&k, &c->items[i]);
        check_end(&k, &c->items[i]);
        check_chunks(&k, &c->items[i]);
        check_coding(&k, &c->items[i]);
        struct reading r = cassette_reading_of(&c->items[i], k.arena);
        check_reply(&k, &r);
        cassette_find_secrets(&k, &r);
        cassette_reading_free(&r);
    }
    check_duplicates(&k);
    arena_free(k.arena);
}

void cassette_check_secrets(const struct cassette *c,
                            void (*found)(void *ctx, const struct finding *f), void *ctx)
{
    struct checking k = {.c = c,
                         .found = found,
                         .ctx = ctx,
                         .arena = arena_new(),
                         .item = {0, 1, 1},
                         .secrets = SECRETS_ALL};
    for (size_t i = 0; i < c->n; i++) {
        cassette_place_item(&k, &c->items[i]);
        struct reading r = cassette_reading_of(&c->items[i], k.arena);
        cassette_find_secrets(&k, &r);
        cassette_reading_free(&r);
    }
    arena_free(k.arena);
}

/* Keeps the first. */
static void keep_secret(void *ctx, const struct finding *f)
{
    struct buf *why = ctx;
    size_t from = str_find(f->message, STR(": "));
    size_t end = str_find(f->message, STR(": revoke"));
    if (why->n == 0 && from != SIZE_MAX) {
        buf_add(why, str_slice(f->message, from + 2, end));
    }
}

bool cassette_says_secret(struct str interaction, struct buf *why)
{
    struct buf text = {0};
    struct cassette *c;
    cassette_add_head(&text, &(struct cassette_head){.seed = 0});
    buf_add(&text, interaction);
    if (cassette_parse("recording", buf_str(&text), &c, NULL, NULL) == 0) {
        cassette_check_secrets(c, keep_secret, why);
        cassette_free(c);
    }
    buf_free(&text);
    return why->n > 0;
}
