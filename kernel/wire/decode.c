/* The decoder of one answer: tells an event stream from a whole body, and a reply from a failure.
 */
#include <assert.h>
#include <stdlib.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/wire/wire_int.h"

/* What the body is. LOOK_OPEN: too little has come to tell. */
enum look { LOOK_OPEN, LOOK_STREAM, LOOK_WHOLE };

struct wire_decoder {
    enum wire_format format;
    int status;
    int64_t retry_after_ms;
    bool says_stream; /* by its content type */
    enum look look;
    size_t looked; /* bytes of body that are only white space */
    size_t total;
    struct arena *arena;
    struct buf body; /* all of it, unless it is a stream */
    struct sse sse;
    struct draft draft;
    bool delta_taken;
    bool shown; /* a delta was handed out */
};

struct codec {
    void (*event)(struct draft *d, const struct val *v);
    void (*body)(struct draft *d, const struct val *v);
};

static struct codec codec_of(enum wire_format f)
{
    switch (f) {
    case WIRE_CHAT: return (struct codec){chat_event, chat_body};
    case WIRE_RESPONSES: return (struct codec){responses_event, responses_body};
    case WIRE_MESSAGES: return (struct codec){messages_event, messages_body};
    }
    return (struct codec){chat_event, chat_body};
}

static bool status_ok(int status)
{
    return status >= 200 && status <= 299;
}

struct wire_decoder *wire_decoder_new(enum wire_format f, int status,
                                      const struct http_header *headers, size_t n_headers)
{
    struct wire_decoder *d = mem_zero(sizeof *d);
    struct str type = str_trim(http_header_get(headers, n_headers, "content-type"));
    d->format = f;
    d->status = status;
    d->retry_after_ms = quota_retry_after_ms(headers, n_headers);
    d->says_stream = str_starts_nocase(type, "text/event-stream");
    d->arena = arena_new();
    d->draft.arena = d->arena;
    d->draft.usage = USAGE_UNKNOWN;
    if (!status_ok(status)) {
        d->look = LOOK_WHOLE;
    }
    return d;
}

void wire_decoder_free(struct wire_decoder *d)
{
    if (d == NULL) {
        return;
    }
    draft_free(&d->draft);
    sse_free(&d->sse);
    buf_free(&d->body);
    arena_free(d->arena);
    free(d);
}

/* What a body is by its first characters (without white space and BOM). The look goes before the
 * content type, which servers get wrong. */
static enum look look_of(struct str head, bool says_stream)
{
    static const char *const fields[] = {"data", "event", "id", "retry"};
    if (head.p[0] == ':') {
        return LOOK_STREAM;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct str field = str_of(fields[i]);
        size_t n = head.n < field.n ? head.n : field.n;
        if (!str_eq(str_slice(head, 0, n), str_slice(field, 0, n))) {
            continue;
        }
        if (head.n <= field.n) {
            return LOOK_OPEN;
        }
        if (head.p[n] == ':' || head.p[n] == '\n' || head.p[n] == '\r') {
            return LOOK_STREAM;
        }
    }
    bool json = head.p[0] == '{' || head.p[0] == '[' || head.p[0] == '<';
    return says_stream && !json ? LOOK_STREAM : LOOK_WHOLE;
}

/* Decides what the body is as soon as its first characters tell. */
static void look(struct wire_decoder *d)
{
    struct str body = buf_str(&d->body);
    if (d->looked == 0 && body.n < 3 && body.n > 0 && body.p[0] == '\xEF') {
        return;
    }
    if (d->looked == 0 && str_starts(body, "\xEF\xBB\xBF")) {
        d->looked = 3;
    }
    while (d->looked < body.n && str_trim(str_slice(body, d->looked, d->looked + 1)).n == 0) {
        d->looked++;
    }
    if (d->looked < body.n) {
        d->look = look_of(str_slice(body, d->looked, body.n), d->says_stream);
    }
}

static void take_event(struct wire_decoder *d, struct sse_event event)
{
    struct draft *draft = &d->draft;
    struct str data = str_trim(event.data);
    if (draft->state == DRAFT_DONE || draft->state == DRAFT_FAILED || data.n == 0) {
        return;
    }
    if (str_is(data, "[DONE]")) {
        if (draft->state == DRAFT_OPEN) {
            draft_fmt(draft, FAIL_PROTOCOL, d->status,
                      "incomplete: the stream ended ([DONE]) without a finish reason");
        } else {
            draft->state = DRAFT_DONE;
        }
        return;
    }
    struct arena *arena = arena_new();
    struct val *v = NULL;
    if (json_parse(arena, NULL, data, &v, NULL) != 0) {
        struct str preview = text_preview(arena, data, WIRE_PREVIEW_CHARS);
        draft_fmt(draft, FAIL_PROTOCOL, d->status, "an event of the stream is no JSON: %.*s",
                  STR_FMT(preview));
    } else if (error_is(v) || str_is(event.name, "error")) {
        error_fail(draft, d->status, v, data);
    } else {
        codec_of(d->format).event(draft, v);
    }
    arena_free(arena);
}

static void take_stream(struct wire_decoder *d, struct str bytes)
{
    struct sse_event event;
    while (sse_next(&d->sse, &bytes, &event)) {
        take_event(d, event);
    }
}

/* The body turned out to be a stream: what was kept of it goes through the parser. */
static void begin_stream(struct wire_decoder *d)
{
    d->look = LOOK_STREAM;
    d->draft.streamed = true;
    take_stream(d, buf_str(&d->body));
    buf_free(&d->body);
}

static void take_bytes(struct wire_decoder *d, struct str bytes)
{
    if (d->look == LOOK_STREAM) {
        take_stream(d, bytes);
        return;
    }
    buf_add(&d->body, bytes);
    if (d->look == LOOK_OPEN) {
        look(d);
        if (d->look == LOOK_STREAM) {
            begin_stream(d);
        }
    }
}

void wire_decoder_feed(struct wire_decoder *d, struct str bytes)
{
    if (d->delta_taken) {
        buf_clear(&d->draft.delta);
        d->delta_taken = false;
    }
    struct str all = bytes;
    bytes = str_slice(all, 0, WIRE_BODY_BYTES_MAX - d->total);
    d->total += bytes.n;
    take_bytes(d, bytes);
    if (bytes.n < all.n) {
        draft_fmt(&d->draft, FAIL_PROTOCOL, d->status, "the answer is larger than %d MiB",
                  WIRE_BODY_BYTES_MAX >> 20);
    }
}

struct str wire_decoder_delta(struct wire_decoder *d)
{
    if (d->delta_taken || d->draft.delta.n == 0) {
        return STR("");
    }
    d->delta_taken = true;
    d->shown = true;
    return buf_str(&d->draft.delta);
}

/* The body is all there, and it is no stream. */
static void take_whole(struct wire_decoder *d)
{
    struct draft *draft = &d->draft;
    struct str body = buf_str(&d->body);
    struct str text = str_trim(body);
    struct val *v = NULL;
    struct err e;
    int rc = text.n == 0 ? ERR_INPUT : json_parse(d->arena, NULL, body, &v, &e);
    if (!status_ok(d->status)) {
        error_fail(draft, d->status, rc == 0 ? v : NULL, body);
    } else if (rc == 0 && error_is(v)) {
        error_fail(draft, d->status, v, body);
    } else if (rc == 0) {
        codec_of(d->format).body(draft, v);
    } else if (text.n == 0) {
        draft_fmt(draft, FAIL_PROTOCOL, d->status, "the answer is empty");
    } else if (text.p[0] == '<') {
        draft_fmt(draft, FAIL_PROTOCOL, d->status,
                  "answered HTML, not JSON: is the base URL right?");
    } else if (json_is_prefix(body)) {
        draft_fmt(draft, FAIL_PROTOCOL, d->status,
                  "the answer is cut: its JSON is incomplete after %zu bytes", body.n);
    } else {
        struct str preview = text_preview(d->arena, text, WIRE_PREVIEW_CHARS);
        draft_fmt(draft, FAIL_PROTOCOL, d->status, "the answer is no JSON (%s): %.*s", e.message,
                  STR_FMT(preview));
    }
}

/* Fails with `detail`, or where it is empty with `otherwise`. */
static void fail_end(struct wire_decoder *d, enum fail_class class, struct str detail,
                     const char *otherwise)
{
    draft_fail(&d->draft, class, d->status, detail.n > 0 ? detail : str_of(otherwise));
}

/* What the body came to, after a connection that stood. */
static void take_rest(struct wire_decoder *d)
{
    struct sse_event event;
    if (d->look == LOOK_OPEN && d->says_stream && d->total > 0) {
        begin_stream(d);
    }
    if (d->look != LOOK_STREAM) {
        return;
    }
    if (sse_end(&d->sse, &event)) {
        take_event(d, event);
    }
}

static void conclude(struct wire_decoder *d, enum http_end end, struct str detail)
{
    struct draft *draft = &d->draft;
    bool complete = d->look == LOOK_STREAM && draft->state == DRAFT_DONE;
    if (draft->state == DRAFT_FAILED || complete) {
        return;
    }
    if (d->status != 0 && !status_ok(d->status)) {
        take_whole(d);
        return;
    }
    switch (end) {
    case HTTP_RESET:
        fail_end(d, FAIL_CONNECT, detail, "the connection was reset before the answer's end");
        return;
    case HTTP_STOPPED: fail_end(d, FAIL_CONNECT, detail, "the answer was stopped"); return;
    case HTTP_TIMEOUT: fail_end(d, FAIL_TIMEOUT, detail, "no complete answer in time"); return;
    case HTTP_CLEAN:
    case HTTP_REFUSED:
    case HTTP_MISS:
    case HTTP_MISMATCH: break;
    }
    if (d->status == 0) {
        fail_end(d, FAIL_CONNECT, detail, "no answer came");
    } else if (d->look != LOOK_STREAM) {
        take_whole(d);
    } else if (draft->state == DRAFT_OPEN) {
        draft_fmt(draft, FAIL_PROTOCOL, d->status,
                  "incomplete: the stream ended without a finish reason");
    }
}

void wire_decoder_end(struct wire_decoder *d, enum http_end end, struct str detail,
                      struct wire_result *out)
{
    *out = (struct wire_result){.reply.usage = USAGE_UNKNOWN};
    if (d->delta_taken) {
        buf_clear(&d->draft.delta);
        d->delta_taken = false;
    }
    switch (end) {
    case HTTP_REFUSED: fail_end(d, FAIL_CONNECT, detail, "the connection was refused"); break;
    case HTTP_MISS:
        fail_end(d, FAIL_MISS, detail, "the cassette does not hold this request");
        break;
    case HTTP_MISMATCH:
        fail_end(d, FAIL_SCRIPT, detail, "the script expected another request");
        break;
    case HTTP_CLEAN:
    case HTTP_RESET:
    case HTTP_TIMEOUT:
    case HTTP_STOPPED:
        if (end == HTTP_CLEAN) { /* else the last event may be a part of one */
            take_rest(d);
        }
        conclude(d, end, detail);
        break;
    }
    draft_result(&d->draft, d->format, out);
    if (!out->ok) {
        if (out->failure.status == 0) {
            out->failure.status = d->status;
        }
        out->failure.retry_after_ms = d->retry_after_ms;
        out->failure.shown = d->shown;
    }
}
