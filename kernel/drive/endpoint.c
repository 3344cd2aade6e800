/* A call's way: start encodes the request and hands it to the transport; head makes a decoder; body
 * feeds it and hands on what text came; end asks it what the answer was. A request that cannot be
 * sent is failed from the scheduler's next turn. */
#include "kernel/drive/endpoint.h"

#include "kernel/base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_HEADERS = 3, SEEN_CHARS_MAX = 120 };

struct endpoint {
    struct llm llm;
    struct arena *arena;
    struct transport *transport;
    struct endpoint_options o; /* its texts in arena */
    struct str url;
    struct str key; /* in arena; n 0 = none */
    struct http_header *headers;
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
    struct buf seen;  /* of the answer's headers, what helps where it failed */
};

static struct endpoint *endpoint_of(struct llm *m)
{
    return (struct endpoint *)m; /* its first member */
}

static void call_free(struct llm_call *c)
{
    wire_decoder_free(c->decoder);
    buf_free(&c->plain);
    buf_free(&c->seen);
    free(c);
}

/* ---- the answer ---- */

/* The name that the provider knows the request by, and where a redirect leads: without its query,
 * which may hold a key. */
static void keep_seen(struct llm_call *c, int status, const struct http_header *headers, size_t n)
{
    static const char *const names[] = {"x-request-id", "request-id", "apim-request-id", "cf-ray"};
    struct str location = http_header_get(headers, n, "location");
    if (status >= 300 && status < 400 && location.n > 0) {
        location = str_slice(location, 0, str_find(location, STR("?")));
        buf_addz(&c->seen, "to ");
        buf_add(&c->seen, utf8_prefix(location, SEEN_CHARS_MAX));
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct str id = http_header_get(headers, n, names[i]);
        if (id.n > 0) {
            buf_fmt(&c->seen, "%s%s ", c->seen.n > 0 ? "; " : "", names[i]);
            buf_add(&c->seen, utf8_prefix(id, SEEN_CHARS_MAX));
            return;
        }
    }
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n_headers)
{
    struct llm_call *c = ctx;
    (void)reason;
    assert(c->decoder == NULL);
    keep_seen(c, status, headers, n_headers);
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

static void add_key_advice(const struct endpoint *ep, struct buf *out)
{
    buf_addz(out, "is the API key right?");
    if (ep->o.key_from.n > 0) {
        buf_addz(out, ep->key.n > 0 ? " It is from " : " ");
        buf_add(out, ep->o.key_from);
        buf_addz(out, ep->key.n > 0 ? "" : " is not set");
    }
}

/* A URL without its scheme, or all of what has none. */
static struct str behind_scheme(struct str url)
{
    size_t scheme = str_find(url, STR("://"));
    return scheme == SIZE_MAX ? url : str_slice(url, scheme + 3, url.n);
}

/* The URL without user, password and query. */
static void add_address(const struct endpoint *ep, struct buf *out)
{
    struct str url = str_slice(ep->url, 0, str_find(ep->url, STR("?")));
    struct str rest = behind_scheme(url);
    struct str host = str_slice(rest, 0, str_find(rest, STR("/")));
    size_t at = str_find(host, STR("@"));
    buf_add(out, str_slice(url, 0, url.n - rest.n));
    buf_add(out, str_slice(rest, at == SIZE_MAX ? 0 : at + 1, rest.n));
}

/* What to look at first where this failure came. */
static void add_advice(const struct endpoint *ep, const struct failure *f, struct buf *out)
{
    int status = f->status;
    if (status == 401 || status == 403) {
        add_key_advice(ep, out);
    } else if (status == 404 || status == 405) {
        buf_addz(out, "are the base URL and the name of the model right? Asked ");
        add_address(ep, out);
    } else if (status == 413) {
        buf_addz(out, "the request is too large; --context-tokens makes it smaller");
    } else if (status == 429 && f->class == FAIL_REQUEST) {
        buf_addz(out, "the account's quota is used up; no waiting helps");
    } else if (status == 429) {
        buf_addz(out, "the endpoint wants fewer requests; try again later, or with --rpm, --tpm or "
                      "--max-in-flight");
    } else if (status >= 500) {
        buf_addz(out, "the endpoint is in trouble; try again later");
    } else if (status >= 300 && status < 400) {
        buf_addz(out, "it sends elsewhere, where the key does not go; is the base URL right?");
    } else if (status >= 200 && status < 300) {
        buf_addz(out, "asked ");
        add_address(ep, out);
    }
}

/* Tells the note of a call that has ended: empty when there is nothing to add to the failure. */
static void tell_note(const struct llm_call *c, enum http_end end, struct str detail,
                      const struct wire_result *result)
{
    const struct endpoint *ep = c->endpoint;
    bool broke = end == HTTP_REFUSED || end == HTTP_TIMEOUT || end == HTTP_RESET;
    struct buf note = {0};
    struct buf plain = {0};
    if (ep->o.note == NULL) {
        return;
    }
    if (broke) {
        buf_add(&note, detail);
    } else if (!result->ok) {
        add_advice(ep, &result->failure, &note);
    }
    if (!result->ok && c->seen.n > 0) {
        buf_addz(&note, note.n > 0 ? "; " : "");
        buf_add(&note, buf_str(&c->seen));
    }
    ep->o.note(ep->o.note_ctx, without_key(ep, buf_str(&note), &plain));
    buf_free(&note);
    buf_free(&plain);
}

static int64_t tokens_of(const struct usage *u)
{
    return u->input < 0 || u->output < 0 ? -1 : u->input + u->output;
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
    tell_note(c, end, detail, &result);
    if (result.ok) {
        if (c->endpoint->o.used != NULL) {
            c->endpoint->o.used(c->endpoint->o.used_ctx, tokens_of(&result.reply.usage));
        }
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

const char *endpoint_provider_url(enum wire_format f)
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
    return str_find(behind_scheme(base), STR("/")) != SIZE_MAX;
}

bool endpoint_is_azure(struct str base_url)
{
    static const char *const domains[] = {".openai.azure.com", ".cognitiveservices.azure.com",
                                          ".services.ai.azure.com", ".openai.azure.us",
                                          ".api.cognitive.microsoft.com"};
    struct str host = behind_scheme(base_url);
    host = str_slice(host, 0, str_find(host, STR("/")));
    host = str_slice(host, 0, str_find(host, STR("?")));
    host = str_slice(host, 0, str_find(host, STR(":")));
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        size_t n = strlen(domains[i]);
        if (host.n > n && str_is_nocase(str_slice(host, host.n - n, host.n), domains[i])) {
            return true;
        }
    }
    return false;
}

/* What goes between a base and the format's path. Anthropic's SDKs add v1/messages to every base,
 * so bases such as https://api.deepseek.com/anthropic are made for that. */
static const char *middle_path(enum wire_format f, struct str base)
{
    bool azure = endpoint_is_azure(base);
    if (f == WIRE_MESSAGES) {
        return has_path(base) ? (str_ends(base, "/v1") ? "/" : "/v1/")
               : azure        ? "/anthropic/v1/"
                              : "/v1/";
    }
    return has_path(base) ? "/" : azure ? "/openai/v1/" : "/v1/";
}

/* base/wire_path, with /v1 between where middle_path says so. A query stays behind the path; a base
 * that names the whole path already is taken as it is. */
static struct str full_url(struct arena *arena, enum wire_format f, struct str base_url)
{
    struct str base = base_url.n > 0 ? str_trim(base_url) : str_of(endpoint_provider_url(f));
    struct str path = str_of(wire_path(f));
    base = str_slice(base, 0, str_find(base, STR("#")));
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
        buf_addz(&url, middle_path(f, base));
        buf_add(&url, path);
    }
    buf_add(&url, query);
    struct str out = arena_str(arena, buf_str(&url));
    buf_free(&url);
    return out;
}

/* Adds a header of ours unless the options bring one of that name. */
static void add_header(struct endpoint *ep, const char *name, struct str value)
{
    if (http_header_get(ep->o.headers, ep->o.n_headers, name).p == NULL) {
        ep->headers[ep->n_headers++] = (struct http_header){str_of(name), value};
    }
}

static void add_key(struct endpoint *ep)
{
    struct buf value = {0};
    if (ep->key.n == 0) {
        return;
    }
    if (ep->o.format == WIRE_MESSAGES) {
        add_header(ep, "x-api-key", ep->key);
    } else if (endpoint_is_azure(ep->url)) {
        add_header(ep, "api-key", ep->key);
    } else {
        buf_addz(&value, "Bearer ");
        buf_add(&value, ep->key);
        add_header(ep, "Authorization", arena_str(ep->arena, buf_str(&value)));
        buf_free(&value);
    }
}

static void add_headers(struct endpoint *ep)
{
    const struct endpoint_options *o = &ep->o;
    ep->headers = arena_array(ep->arena, OWN_HEADERS + o->n_headers, sizeof *ep->headers);
    add_header(ep, "Content-Type", STR("application/json"));
    add_key(ep);
    if (o->format == WIRE_MESSAGES) {
        add_header(ep, "anthropic-version", STR("2023-06-01"));
    }
    for (size_t i = 0; i < o->n_headers; i++) {
        ep->headers[ep->n_headers++] = (struct http_header){
            arena_str(ep->arena, o->headers[i].name), arena_str(ep->arena, o->headers[i].value)};
    }
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
    ep->o.key_from = arena_str(ep->arena, o->key_from);
    ep->url = full_url(ep->arena, o->format, o->base_url);
    /* a file's newline would break the header */
    ep->key = arena_str(ep->arena, str_trim(o->api_key));
    add_headers(ep);
    ep->o.headers = NULL; /* the caller's again */
    ep->o.n_headers = 0;
    return &ep->llm;
}
