/* Any bytes as the body of an answer; what they come to is written in the same format, whole and
 * streamed, and as the history of a request. What was written once reads as it was written: a
 * second round changes nothing. */
#include <assert.h>

#include "kernel/base/json.h"
#include "kernel/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct wire_decoder *decode(enum wire_format f, struct str body, struct wire_result *out)
{
    struct wire_decoder *d = wire_decoder_new(f, 200, NULL, 0);
    wire_decoder_feed(d, body);
    wire_decoder_end(d, HTTP_CLEAN, STR(""), out);
    return d;
}

static void encode(enum wire_format f, const struct reply *r, bool stream, struct buf *out)
{
    struct wire_reply_options o = {.model = STR("m"),
                                   .id = STR("id"),
                                   .stream = stream,
                                   .include_usage = true,
                                   .piece_bytes = 3};
    struct err e;
    int rc = wire_encode_reply(f, r, &o, out, NULL, &e);
    assert(rc == 0);
}

/* The reply goes back as a request that is JSON. */
static void ask_again(enum wire_format f, const struct reply *r)
{
    struct message m = {.role = ROLE_ASSISTANT,
                        .content_null = r->content_null,
                        .content = r->content,
                        .reasoning = r->reasoning,
                        .parts = r->parts,
                        .calls = r->calls,
                        .n_calls = r->n_calls};
    struct llm_request rq = {.model = STR("m"), .messages = &m, .n_messages = 1, .max_tokens = -1};
    struct arena *arena = arena_new();
    struct buf body = {0};
    struct val *v = NULL;
    struct err e;
    int rc = wire_encode_request(f, &rq, &body, &e);
    assert(rc == 0);
    rc = json_parse(arena, NULL, buf_str(&body), &v, &e);
    assert(rc == 0);
    buf_free(&body);
    arena_free(arena);
}

/* Writes the reply, reads it, writes and reads it again. */
static void go_round(enum wire_format f, const struct reply *first, bool stream)
{
    struct buf bodies[3] = {{0}};
    struct wire_decoder *decoders[2];
    struct wire_result r[2];
    encode(f, first, stream, &bodies[0]);
    for (size_t i = 0; i < 2; i++) {
        decoders[i] = decode(f, buf_str(&bodies[i]), &r[i]);
        assert(r[i].ok);
        encode(f, &r[i].reply, stream, &bodies[i + 1]);
    }
    assert(str_eq(buf_str(&bodies[1]), buf_str(&bodies[2])));
    for (size_t i = 0; i < 3; i++) {
        buf_free(&bodies[i]);
    }
    wire_decoder_free(decoders[0]);
    wire_decoder_free(decoders[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum wire_format formats[] = {WIRE_CHAT, WIRE_RESPONSES, WIRE_MESSAGES};
    if (size == 0) {
        return 0;
    }
    enum wire_format f = formats[data[0] % 3];
    struct wire_result r;
    struct wire_decoder *d = decode(f, (struct str){(const char *)data + 1, size - 1}, &r);
    if (r.ok) {
        ask_again(f, &r.reply);
        go_round(f, &r.reply, false);
        go_round(f, &r.reply, true);
    }
    wire_decoder_free(d);
    return 0;
}
