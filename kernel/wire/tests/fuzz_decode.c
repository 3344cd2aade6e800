/* Any bytes as the body of an answer: the first byte chooses format, status and end. What it comes
 * to does not depend on how the bytes are cut; a reply keeps the promises of wire.h. */
#include <assert.h>

#include "kernel/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reply(const struct reply *r)
{
    assert(!r->content_null || r->content.n == 0);
    assert(r->stop != STOP_TOOL_USE || r->n_calls > 0);
    for (size_t i = 0; i < r->n_calls; i++) {
        assert(r->calls[i].id.n > 0);
        for (size_t k = 0; k < i; k++) {
            assert(!str_eq(r->calls[i].id, r->calls[k].id));
        }
    }
}

static void add_reply(struct buf *out, const struct wire_result *r)
{
    buf_fmt(out, "%d %s %zu %zu|", r->streamed, stop_name(r->reply.stop), r->reply.n_calls,
            r->n_server_calls);
    buf_add(out, r->reply.content);
    buf_add(out, r->reply.reasoning);
    buf_add(out, r->reply.stop_raw);
    for (size_t i = 0; i < r->reply.n_calls; i++) {
        buf_add(out, r->reply.calls[i].id);
        buf_add(out, r->reply.calls[i].name);
        buf_add(out, r->reply.calls[i].arguments);
    }
    buf_fmt(out, "|%lld %lld", (long long)r->reply.usage.input, (long long)r->reply.usage.output);
}

static void decode(uint8_t choice, struct str body, size_t step, struct buf *out)
{
    static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES, WIRE_CHAT};
    static const int statuses[] = {200, 200, 200, 429};
    static const enum http_end ends[] = {HTTP_CLEAN, HTTP_CLEAN, HTTP_RESET, HTTP_TIMEOUT};
    struct http_header type = {STR("content-type"), STR("text/event-stream")};
    struct wire_decoder *d = wire_decoder_new(formats[choice & 3], statuses[(choice >> 2) & 3],
                                              &type, (choice >> 6) & 1);
    struct wire_result r;
    for (size_t at = 0; at < body.n; at += step) {
        wire_decoder_feed(d, str_slice(body, at, at + step));
    }
    wire_decoder_end(d, ends[(choice >> 4) & 3], STR(""), &r);
    if (r.ok) {
        check_reply(&r.reply);
        add_reply(out, &r);
    } else {
        buf_fmt(out, "%s %d ", fail_name(r.failure.class), r.failure.status);
        buf_add(out, r.failure.message);
    }
    wire_decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct str body = {(const char *)data + 1, size - 1};
    struct buf whole = {0};
    struct buf cut = {0};
    decode(data[0], body, size, &whole);
    decode(data[0], body, 1, &cut);
    assert(str_eq(buf_str(&whole), buf_str(&cut)));
    buf_free(&whole);
    buf_free(&cut);
    return 0;
}
