#include "cassettes/cassette_int.h"

const char *kind_name(enum interaction_kind kind)
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

struct str tool_name(const struct interaction *it)
{
    return str_slice(it->uri, sizeof "tool:" - 1, it->uri.n);
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

struct reading reading_of(const struct interaction *it, struct arena *arena)
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

void reading_free(struct reading *r)
{
    wire_decoder_free(r->decoder);
    r->decoder = NULL;
}
