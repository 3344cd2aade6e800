#include "kernel/wire/tests/rendering.h"

#include <stdio.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"

enum { BRIEF_BYTES = 200 };

/* Appends a text; a long one as its size and its hash (FNV-1a, 64 bits). */
static void add_shown(struct buf *out, struct str text, bool brief, bool quoted)
{
    if (!brief || text.n <= BRIEF_BYTES) {
        if (quoted) {
            json_add_string(out, text);
        } else {
            buf_add(out, text);
        }
        return;
    }
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < text.n; i++) {
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(1099511628211);
    }
    buf_fmt(out, "%zu bytes %016llx", text.n, (unsigned long long)hash);
}

static void add_arguments(struct buf *out, bool canonical, struct str arguments, bool brief)
{
    struct arena *arena = arena_new();
    struct val *v = NULL;
    struct buf text = {0};
    if (canonical && json_parse(arena, NULL, arguments, &v, NULL) == 0) {
        json_add_canonical(&text, v);
    } else {
        buf_add(&text, arguments);
    }
    add_shown(out, buf_str(&text), brief, false);
    buf_free(&text);
    arena_free(arena);
}

static void add_call(struct buf *out, const char *kind, bool canonical, struct tool_call call,
                     bool brief)
{
    buf_fmt(out, "%s %.*s %.*s ", kind, STR_FMT(call.id), STR_FMT(call.name));
    add_arguments(out, canonical, call.arguments, brief);
    buf_char(out, '\n');
}

static void add_count(struct buf *out, const char *name, int64_t count)
{
    if (count >= 0) {
        buf_fmt(out, " %s=%lld", name, (long long)count);
    }
}

static void add_usage(struct buf *out, const struct usage *u)
{
    buf_addz(out, "usage");
    add_count(out, "input", u->input);
    add_count(out, "cached", u->cached);
    add_count(out, "cache_write", u->cache_write);
    add_count(out, "output", u->output);
    add_count(out, "reasoning", u->reasoning);
    buf_char(out, '\n');
}

static void add_reply(struct buf *out, enum wire_format f, const struct wire_result *r, bool brief)
{
    const struct reply *reply = &r->reply;
    buf_addz(out, r->streamed ? "streamed\ntext " : "text ");
    if (reply->content_null) {
        buf_addz(out, "null");
    } else {
        add_shown(out, reply->content, brief, true);
    }
    buf_char(out, '\n');
    if (reply->reasoning.p != NULL) {
        buf_addz(out, "reasoning ");
        add_shown(out, reply->reasoning, brief, true);
        buf_char(out, '\n');
    }
    if (reply->parts.p != NULL) {
        buf_addz(out, "parts ");
        add_shown(out, reply->parts, brief, false);
        buf_char(out, '\n');
    }
    for (size_t i = 0; i < reply->n_calls; i++) {
        add_call(out, "call", f == WIRE_MESSAGES, reply->calls[i], brief);
    }
    for (size_t i = 0; i < r->n_server_calls; i++) {
        struct wire_server_call *call = &r->server_calls[i];
        add_call(out, "server", true, (struct tool_call){call->id, call->name, call->arguments},
                 brief);
    }
    buf_fmt(out, "stop %s %.*s\n", stop_name(reply->stop), STR_FMT(reply->stop_raw));
    add_usage(out, &reply->usage);
}

static size_t next_size(enum split split, struct rng *rng, size_t left)
{
    size_t size = left;
    switch (split) {
    case SPLIT_WHOLE: break;
    case SPLIT_BYTES: size = 1; break;
    case SPLIT_RANDOM: size = 1 + (size_t)rng_below(rng, 40); break;
    }
    return size < left ? size : left;
}

void rendering_add(struct buf *out, enum wire_format f, const struct wire_result *r, bool brief)
{
    if (r->ok) {
        add_reply(out, f, r, brief);
        return;
    }
    buf_fmt(out, "failure %s %d ", fail_name(r->failure.class), r->failure.status);
    buf_add(out, r->failure.message);
    buf_char(out, '\n');
    if (r->failure.retry_after_ms >= 0) {
        buf_fmt(out, "retry_after_ms %lld\n", (long long)r->failure.retry_after_ms);
    }
}

void rendering_of(const struct answer *a, enum split split, struct buf *out, struct buf *deltas)
{
    struct wire_decoder *d = wire_decoder_new(a->format, a->status, a->headers, a->n_headers);
    struct rng rng = rng_seeded(7);
    struct buf unused = {0};
    struct wire_result r;
    struct buf *said = deltas == NULL ? &unused : deltas;
    for (size_t at = 0, size; at < a->body.n; at += size) {
        size = next_size(split, &rng, a->body.n - at);
        wire_decoder_feed(d, str_slice(a->body, at, at + size));
        buf_add(said, wire_decoder_delta(d));
    }
    wire_decoder_end(d, a->end, a->detail, &r);
    buf_add(said, wire_decoder_delta(d));
    rendering_add(out, a->format, &r, a->brief);
    buf_free(&unused);
    wire_decoder_free(d);
}

bool rendering_line(struct str *text, struct str *line)
{
    if (text->n == 0) {
        return false;
    }
    size_t end = str_find(*text, STR("\n"));
    *line = str_slice(*text, 0, end);
    *text = str_slice(*text, end == SIZE_MAX ? text->n : end + 1, text->n);
    return true;
}

void rendering_file(const char *relative, struct buf *out)
{
    char path[1024];
    char piece[4096];
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/%s", SOURCE_DIR, relative);
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) {
        buf_add(out, (struct str){piece, n});
    }
    CU_ASSERT_EQUAL(fclose(f), 0);
}
