/* Names of the formats, and the entry points that choose one. */
#include "kernel/wire/wire.h"

#include "kernel/base/ascii.h"
#include "kernel/wire/wire_int.h"

const char *wire_provider(enum wire_format f)
{
    switch (f) {
    case WIRE_CHAT: return "openai";
    case WIRE_RESPONSES: return "responses";
    case WIRE_MESSAGES: return "anthropic";
    }
    return "unknown";
}

bool wire_of_provider(struct str name, enum wire_format *out)
{
    static const enum wire_format all[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (str_is(name, wire_provider(all[i]))) {
            *out = all[i];
            return true;
        }
    }
    return false;
}

bool wire_of_url(struct str url, enum wire_format *out)
{
    size_t n = 0;
    while (n < url.n && url.p[n] != '?' && url.p[n] != '#') {
        n++;
    }
    struct str path = str_slice(url, 0, n);
    if (str_ends(path, "/chat/completions")) {
        *out = WIRE_CHAT;
    } else if (str_ends(path, "/responses")) {
        *out = WIRE_RESPONSES;
    } else if (str_ends(path, "/v1/messages")) {
        *out = WIRE_MESSAGES;
    } else {
        return false;
    }
    return true;
}

size_t wire_version_at(struct str path)
{
    for (size_t at = 0; at + 2 < path.n; at++) {
        if (path.p[at] == '/' && path.p[at + 1] == 'v' && ascii_digit(path.p[at + 2])) {
            return at;
        }
    }
    return SIZE_MAX;
}

const char *wire_path(enum wire_format f)
{
    switch (f) {
    case WIRE_CHAT: return "chat/completions";
    case WIRE_RESPONSES: return "responses";
    case WIRE_MESSAGES: return "messages";
    }
    return "";
}

int wire_encode_request(enum wire_format f, const struct llm_request *rq, struct buf *out,
                        struct err *e)
{
    switch (f) {
    case WIRE_CHAT: chat_encode(rq, out); break;
    case WIRE_RESPONSES: responses_encode(rq, out); break;
    case WIRE_MESSAGES: messages_encode(rq, out); break;
    }
    if (out->truncated) {
        return err_set(e, ERR_LIMIT, "the request to the model does not fit into its buffer");
    }
    return 0;
}
