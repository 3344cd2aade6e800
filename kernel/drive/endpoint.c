/* A call's way: start encodes the request and hands it to the transport; head makes a decoder; body
 * feeds it and hands on what text came; end asks it what the answer was. A request that cannot be
 * sent is failed from the scheduler's next turn. */
#include "kernel/drive/endpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct endpoint {
    struct llm llm;
    struct arena *arena;
    struct transport *transport;
    struct endpoint_options o; /* its texts in arena */
    struct str url;
    struct str key; /* in arena; n 0 = none */
    struct http_header headers[3];
    size_t n_headers;
};

enum call_state {
    CALL_OPEN,
    CALL_HANDING_ON, /* inside the sink's delta */
    CALL_STOPPED     /* stopped there: freed when delta has returned */
};

struct llm_call {
    enum call_state state;
    struct endpoint *endpoint;
    struct llm_sink sink;
    struct http_call *http;       /* NULL = it could not be sent */
    struct wire_decoder *decoder; /* NULL until the head has come */
    struct timer *failing;        /* set where http is NULL */
    struct failure failure;
    struct err why;
    struct buf plain; /* the failure's message where it held the key */
};

static struct endpoint *endpoint_of(struct llm *m)
{
    return (struct endpoint *)m; /* its first member */
}

static void call_free(struct llm_call *c)
{
    wire_decoder_free(c->decoder);
    buf_free(&c->plain);
    free(c);
}

/* ---- the answer ---- */

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n_headers)
{
    struct llm_call *c = ctx;
    (void)reason;
    assert(c->decoder == NULL);
    c->decoder = wire_decoder_new(c->endpoint->o.format, status, headers, n_headers);
}

static void on_body(void *ctx, struct str piece)
{
    struct llm_call *c = ctx;
    wire_decoder_feed(c->decoder, piece);
    struct str text = wire_decoder_delta(c->decoder);
    if (text.n == 0) {
        return;
    }
    c->state = CALL_HANDING_ON;
    c->failure.shown = true;
    c->sink.delta(c->sink.ctx, text);
    if (c->state == CALL_STOPPED) {
        call_free(c);
        return;
    }
    c->state = CALL_OPEN;
}

/* What the failure says. A transport's own words differ between a recording and its replay, so they
 * stand in it only where they come from a cassette or a script. */
static struct str end_text(enum http_end end, struct str detail)
{
    switch (end) {
    case HTTP_REFUSED:
        return STR("no connection to the endpoint: is the server running, and is the base URL "
                   "right?");
    case HTTP_TIMEOUT:
        return STR("no complete answer in time: the endpoint hangs or is overloaded; try again "
                   "later");
    case HTTP_RESET:
        return STR("the endpoint closed the connection before its answer was complete; its own log "
                   "may say why");
    case HTTP_MISS:
    case HTTP_MISMATCH: return detail;
    case HTTP_CLEAN:
    case HTTP_STOPPED: break;
    }
    return (struct str){NULL, 0};
}

/* Text with the API key replaced, in *out where it held the key; endpoints quote it in their
 * errors, and what they say is logged. A cassette has the same word in its place. */
static struct str without_key(const struct endpoint *ep, struct str text, struct buf *out)
{
    size_t at = ep->key.n < ENDPOINT_KEY_BYTES_MIN ? SIZE_MAX : str_find(text, ep->key);
    if (at == SIZE_MAX) {
        return text;
    }
    while (at != SIZE_MAX) {
        buf_add(out, str_slice(text, 0, at));
        buf_addz(out, "REDACTED");
        text = str_slice(text, at + ep->key.n, text.n);
        at = str_find(text, ep->key);
    }
    buf_add(out, text);
    return buf_str(out);
}

/* What to look at first when this status came. */
static const char *status_advice(int status)
{
    switch (status) {
    case 401:
    case 403: return "is the API key right?";
    case 404:
    case 405: return "are the base URL and the name of the model right?";
    case 429: return "the endpoint wants fewer requests; try again later, or with fewer at once";
    default: break;
    }
    return status >= 500                   ? "the endpoint is in trouble; try again later"
           : status >= 300 && status < 400 ? "it sends elsewhere; is the base URL right?"
                                           : "";
}

/* Tells the note of a call that has ended: empty when there is nothing to add to the failure. */
static void tell_note(const struct endpoint *ep, enum http_end end, struct str detail,
                      const struct wire_result *result)
{
    bool broke = end == HTTP_REFUSED || end == HTTP_TIMEOUT || end == HTTP_RESET;
    struct buf note = {0};
    struct buf plain = {0};
    if (ep->o.note == NULL) {
        return;
    }
    int status = result->ok ? 0 : result->failure.status;
    if (broke) {
        buf_add(&note, detail);
    } else if (status >= 300) {
        buf_addz(&note, status_advice(status));
    }
    ep->o.note(ep->o.note_ctx, without_key(ep, buf_str(&note), &plain));
    buf_free(&note);
    buf_free(&plain);
}

/* The sink's end may free the endpoint with all around it, so c alone is touched after it. */
static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct llm_call *c = ctx;
    struct wire_result result;
    c->http = NULL;
    if (c->decoder == NULL) {
        c->decoder = wire_decoder_new(c->endpoint->o.format, 0, NULL, 0);
    }
    wire_decoder_end(c->decoder, end, end_text(end, detail), &result);
    tell_note(c->endpoint, end, detail, &result);
    if (result.ok) {
        c->sink.end(c->sink.ctx, &result.reply, NULL);
    } else {
        struct failure *f = &result.failure;
        f->shown = c->failure.shown;
        f->message = without_key(c->endpoint, f->message, &c->plain);
        c->sink.end(c->sink.ctx, NULL, f);
    }
    call_free(c);
}

/* ---- the request ---- */

static void on_failing(void *arg)
{
    struct llm_call *c = arg;
    c->failing = NULL;
    c->sink.end(c->sink.ctx, NULL, &c->failure);
    call_free(c);
}

static void fail_later(struct llm_call *c, enum fail_class class)
{
    c->failure =
        (struct failure){.class = class, .retry_after_ms = -1, .message = str_of(c->why.message)};
    c->failing = sched_post(c->endpoint->o.sched, 0, 0, on_failing, c);
}

static struct llm_call *endpoint_start(struct llm *m, const struct llm_request *rq,
                                       struct llm_sink sink)
{
    struct endpoint *ep = endpoint_of(m);
    struct llm_call *c = mem_zero(sizeof *c);
    c->endpoint = ep;
    c->sink = sink;
    if (history_check(rq->messages, rq->n_messages, &c->why) != 0) {
        fail_later(c, FAIL_HISTORY);
        return c;
    }
    struct buf body = {0};
    if (wire_encode_request(ep->o.format, rq, &body, &c->why) != 0) {
        fail_later(c, FAIL_REQUEST);
    } else {
        struct http_request http = {.method = STR("POST"),
                                    .url = ep->url,
                                    .headers = ep->headers,
                                    .n_headers = ep->n_headers,
                                    .body = buf_str(&body)};
        struct http_sink http_sink = {.ctx = c, .head = on_head, .body = on_body, .end = on_end};
        c->http = ep->transport->ops->start(ep->transport, &http, http_sink);
    }
    buf_free(&body);
    return c;
}

static void endpoint_stop(struct llm *m, struct llm_call *c)
{
    struct endpoint *ep = endpoint_of(m);
    if (c->http != NULL) {
        ep->transport->ops->stop(ep->transport, c->http);
        c->http = NULL;
    }
    switch (c->state) {
    case CALL_OPEN:
        sched_cancel(ep->o.sched, c->failing);
        call_free(c);
        return;
    case CALL_HANDING_ON: c->state = CALL_STOPPED; return;
    case CALL_STOPPED: assert(!"stopped twice"); return;
    }
}

static void endpoint_free(struct llm *m)
{
    struct endpoint *ep = endpoint_of(m);
    arena_free(ep->arena);
    free(ep);
}

/* ---- the address ---- */

const char *endpoint_key_variable(enum wire_format f)
{
    return f == WIRE_MESSAGES ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
}

const char *endpoint_url_variable(enum wire_format f)
{
    return f == WIRE_MESSAGES ? "ANTHROPIC_BASE_URL" : "OPENAI_BASE_URL";
}

static const char *provider_url(enum wire_format f)
{
    switch (f) {
    case WIRE_CHAT:
    case WIRE_RESPONSES: return "https://api.openai.com/v1";
    case WIRE_MESSAGES: return "https://api.anthropic.com/v1";
    }
    return "";
}

static bool has_path(struct str base)
{
    size_t scheme = str_find(base, STR("://"));
    struct str rest = scheme == SIZE_MAX ? base : str_slice(base, scheme + 3, base.n);
    return str_find(rest, STR("/")) != SIZE_MAX;
}

/* base/wire_path, with /v1 between where base is only a host. A query stays behind the path; a base
 * that names the whole path already is taken as it is. */
static struct str full_url(struct arena *arena, enum wire_format f, struct str base_url)
{
    struct str base = base_url.n > 0 ? str_trim(base_url) : str_of(provider_url(f));
    struct str path = str_of(wire_path(f));
    size_t at = str_find(base, STR("?"));
    struct str query = str_slice(base, at, base.n);
    base = str_slice(base, 0, at);
    while (str_ends(base, "/")) {
        base.n--;
    }
    struct buf url = {0};
    buf_add(&url, base);
    size_t tail = base.n > path.n ? base.n - path.n : 0;
    bool whole = tail > 0 && base.p[tail - 1] == '/' && str_eq(str_slice(base, tail, base.n), path);
    if (!whole) {
        buf_addz(&url, has_path(base) ? "/" : "/v1/");
        buf_add(&url, path);
    }
    buf_add(&url, query);
    struct str out = arena_str(arena, buf_str(&url));
    buf_free(&url);
    return out;
}

static void add_header(struct endpoint *ep, struct str name, struct str value)
{
    ep->headers[ep->n_headers++] = (struct http_header){name, value};
}

/* The headers of every request. Sources: "Authentication" of the OpenAI and the Anthropic API
 * reference, "Versions" of the latter. */
static void add_headers(struct endpoint *ep)
{
    add_header(ep, STR("Content-Type"), STR("application/json"));
    if (ep->o.format == WIRE_MESSAGES) {
        add_header(ep, STR("anthropic-version"), STR("2023-06-01"));
    }
    if (ep->key.n == 0) {
        return;
    }
    if (ep->o.format == WIRE_MESSAGES) {
        add_header(ep, STR("x-api-key"), ep->key);
        return;
    }
    struct buf value = {0};
    buf_addz(&value, "Bearer ");
    buf_add(&value, ep->key);
    add_header(ep, STR("Authorization"), arena_str(ep->arena, buf_str(&value)));
    buf_free(&value);
}

struct llm *llm_endpoint(struct transport *transport, const struct endpoint_options *o)
{
    static const struct llm_ops ops = {endpoint_start, endpoint_stop, endpoint_free};
    assert(transport != NULL && o->sched != NULL);
    struct endpoint *ep = mem_zero(sizeof *ep);
    ep->llm.ops = &ops;
    ep->arena = arena_new();
    ep->transport = transport;
    ep->o = *o;
    ep->url = full_url(ep->arena, o->format, o->base_url);
    /* a file's newline would break the header */
    ep->key = arena_str(ep->arena, str_trim(o->api_key));
    add_headers(ep);
    return &ep->llm;
}
