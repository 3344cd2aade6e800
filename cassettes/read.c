#include "cassettes/cassette_int.h"
#include "kernel/base/text.h"

enum { PREVIEW_CHARS = 100 };

const char *cassette_kind_name(enum interaction_kind kind)
{
    switch (kind) {
    case KIND_CHAT: return "chat_completions";
    case KIND_RESPONSES: return "responses";
    case KIND_MESSAGES: return "messages";
    case KIND_TOOL: return "tool";
    case KIND_HTTP: return "http";
    }
    return "http";
}

struct str cassette_tool_name(const struct interaction *it)
{
    size_t kind = it->decision ? sizeof "approval:" - 1 : sizeof "tool:" - 1;
    return str_slice(it->uri, kind, it->uri.n);
}

static enum interaction_kind kind_of(enum wire_format format)
{
    switch (format) {
    case WIRE_CHAT: return KIND_CHAT;
    case WIRE_RESPONSES: return KIND_RESPONSES;
    case WIRE_MESSAGES: return KIND_MESSAGES;
    }
    return KIND_HTTP;
}

/* Whether a body that nobody decodes is an event stream: its first field says so (WHATWG HTML,
 * server-sent events). */
static bool looks_streamed(struct str body)
{
    static const char *const fields[] = {"data:", "event:", "id:", "retry:", ":", NULL};
    struct str start = str_trim(str_slice(body, 0, 64));
    for (size_t i = 0; fields[i] != NULL; i++) {
        if (str_starts(start, fields[i])) {
            return true;
        }
    }
    return false;
}

static bool asks_the_same(const struct interaction *a, const struct interaction *b)
{
    return str_eq(a->method, b->method) &&
           str_eq(cassette_url_path(a->uri), cassette_url_path(b->uri));
}

/* "POST /v1/messages, GET /v1/models", each once. */
static void add_held(struct buf *out, const struct cassette *c)
{
    enum { SHOWN = 3 };
    const struct interaction *shown[SHOWN];
    struct arena *arena = arena_new();
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        size_t k = 0;
        while (k < n && !asks_the_same(shown[k], it)) {
            k++;
        }
        if (k == SHOWN) {
            buf_addz(out, ", …");
            break;
        }
        if (k == n) {
            shown[n++] = it;
            struct str text = arena_printf(arena, "%.*s %.*s", STR_FMT(it->method),
                                           STR_FMT(cassette_url_path(it->uri)));
            buf_addz(out, k == 0 ? "" : ", ");
            buf_add(out, text_preview(arena, text, PREVIEW_CHARS));
        }
    }
    arena_free(arena);
}

const struct interaction *cassette_session(const struct cassette *c, struct buf *why)
{
    enum wire_format format;
    for (size_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        if (str_is(it->method, "POST") && wire_of_url(it->uri, &format)) {
            return it;
        }
    }
    if (c->n == 0) {
        buf_fmt(why, "holds no %sinteraction", c->torn ? "complete " : "");
    } else {
        add_held(why, c);
        buf_addz(why, ": none is a request to a model");
    }
    buf_addz(why, ", so there is nothing to replay");
    return NULL;
}

struct reading cassette_reading_of(const struct interaction *it, struct arena *arena)
{
    struct reading r = {.it = it, .kind = KIND_HTTP};
    enum wire_format format;
    if (it->tool) {
        r.kind = KIND_TOOL;
        return r;
    }
    if (!wire_of_url(it->uri, &format)) {
        r.streamed = looks_streamed(it->body);
        return r;
    }
    r.kind = kind_of(format);
    r.decoder = wire_decoder_new(format, it->status, it->headers, it->n_headers);
    wire_decoder_feed(r.decoder, it->body);
    wire_decoder_end(r.decoder, it->ended, it->detail, &r.result);
    r.streamed = r.result.streamed;
    if (it->request_json != NULL) {
        r.n_tools = wire_offered_tools(format, it->request_json, arena, &r.tools);
        r.n_messages = wire_request_messages(format, it->request_json, arena, &r.messages);
    }
    return r;
}

void cassette_reading_free(struct reading *r)
{
    wire_decoder_free(r->decoder);
    r->decoder = NULL;
}

bool cassette_answered_alike(const struct interaction *a, const struct interaction *b)
{
    return a->status == b->status && a->ended == b->ended && str_eq(a->body, b->body);
}
