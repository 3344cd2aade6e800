/* Tools that an HTTP server answers. */
#include <stdlib.h>
#include <string.h>

#include "kernel/base/ascii.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/tools_int.h"

enum {
    URL_BYTES_MAX = 8192,
    HEADERS_MAX = 64,
    FETCH_BYTES_MAX = 1 << 20, /* of an answer */
    PREVIEW_CHARS = 200
};

/* ---- loading ---- */

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

static int check_url(struct doc d, const struct val *at, struct str url, struct err *e)
{
    size_t scheme = str_starts_nocase(url, "http://")    ? 7
                    : str_starts_nocase(url, "https://") ? 8
                                                         : 0;
    bool good = scheme > 0 && url.n > scheme && url.n <= URL_BYTES_MAX;
    for (size_t i = 0; good && i < url.n; i++) {
        good = !is_control(url.p[i]) && url.p[i] != ' ' && url.p[i] != '#';
    }
    size_t host = 0;
    while (good && scheme + host < url.n && strchr("/?", url.p[scheme + host]) == NULL) {
        host++;
    }
    if (!good || host == 0) {
        return doc_fail(d, at, e,
                        "an HTTP tool's `url` is http://HOST/PATH or https://HOST/PATH, at most %d "
                        "bytes, without blanks and without a fragment (#)",
                        URL_BYTES_MAX);
    }
    if (str_find(str_slice(url, scheme, scheme + host), STR("@")) != SIZE_MAX) {
        return doc_fail(d, at, e,
                        "a `url` may hold no user and password; write a header: "
                        "`headers: {Authorization: \"Basic ${NAME}\"}`");
    }
    return 0;
}

/* The next `${NAME}` in value from *at: its name, with *at moved behind it and the text before it
 * in *before. False where there is none: *before is the rest. A name is empty where it is not well
 * formed. */
static bool next_variable(struct str value, size_t *at, struct str *before, struct str *name)
{
    struct str rest = str_slice(value, *at, value.n);
    size_t begin = str_find(rest, STR("${"));
    *before = str_slice(rest, 0, begin);
    if (begin == SIZE_MAX) {
        *at = value.n;
        return false;
    }
    struct str inside = str_slice(rest, begin + 2, rest.n);
    size_t end = str_find(inside, STR("}"));
    *name = end == SIZE_MAX ? STR("") : str_slice(inside, 0, end);
    if (!str_is_name(*name, "_") || ascii_digit(name->p[0])) {
        *name = STR("");
    }
    *at += begin + 2 + (end == SIZE_MAX ? inside.n : end + 1);
    return true;
}

static int read_header(struct doc d, const struct member *m, struct http_tool_header *out,
                       struct err *e)
{
    const struct val *at = &m->value;
    if (!str_is_name(m->key, "!#$%&'*+-.^_`|~")) {
        return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                      "\"%.*s\" is not the name of a header", STR_FMT(m->key));
    }
    if (str_is_nocase(m->key, "Content-Length") || str_is_nocase(m->key, "Transfer-Encoding")) {
        return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                      "the header %.*s follows from the call; leave it out", STR_FMT(m->key));
    }
    if (at->kind != VAL_STRING) {
        return doc_fail(d, at, e, "a header's value is a string, found %s; put it in quotes",
                        val_kind_name(at->kind));
    }
    for (size_t i = 0; i < at->text.n; i++) {
        if (is_control(at->text.p[i])) {
            return doc_fail(d, at, e, "a header's value is one line without control characters");
        }
    }
    size_t place = 0;
    struct str before, name;
    while (next_variable(at->text, &place, &before, &name)) {
        if (name.n == 0) {
            return doc_fail(d, at, e,
                            "a variable of the environment is written ${NAME}, with letters, "
                            "digits and \"_\"");
        }
    }
    *out = (struct http_tool_header){m->key, at->text, at};
    return 0;
}

static int read_headers(struct doc d, const struct val *map, struct arena *arena,
                        struct http_tool *out, struct err *e)
{
    if (map->count > HEADERS_MAX) {
        return doc_fail(d, map, e, "more than %d headers", HEADERS_MAX);
    }
    out->headers = arena_array(arena, map->count + 1, sizeof *out->headers);
    for (size_t i = 0; i < map->count; i++) {
        struct http_tool_header *h = &out->headers[i];
        int rc = read_header(d, &map->members[i], h, e);
        if (rc != 0) {
            return rc;
        }
        for (size_t j = 0; j < i; j++) {
            if (str_cmp_nocase(out->headers[j].name, h->name) == 0) {
                return err_at(e, ERR_INPUT, d.file, map->members[i].line, map->members[i].column,
                              "the header %.*s is given twice", STR_FMT(h->name));
            }
        }
        out->n_headers = i + 1;
    }
    return 0;
}

int http_tool_read(struct doc d, const struct val *v, struct arena *arena, struct http_tool *out,
                   struct err *e)
{
    static const char *const keys[] = {"method", "url", "headers", NULL};
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", NULL};
    const struct val *headers = NULL;
    int method = 1;
    int rc = doc_keys(d, v, "an HTTP tool", keys, e);
    if (rc == 0) {
        rc = doc_enum(d, v, "method", methods, &method, e);
    }
    if (rc == 0) {
        rc = doc_str(d, v, "url", DOC_REQUIRED, &out->url, e);
    }
    if (rc == 0) {
        rc = check_url(d, val_get(v, "url"), out->url, e);
    }
    if (rc == 0) {
        rc = doc_map(d, v, "headers", DOC_OPTIONAL, &headers, e);
    }
    out->method = str_of(methods[method]);
    return rc == 0 && headers != NULL ? read_headers(d, headers, arena, out, e) : rc;
}

static const char *variable(struct arena *arena, struct str name)
{
    return getenv(arena_cstr(arena, name));
}

struct str http_tool_missing(const struct http_tool *t, struct arena *arena, const struct val **at)
{
    for (size_t i = 0; i < t->n_headers; i++) {
        size_t place = 0;
        struct str before, name;
        while (next_variable(t->headers[i].value, &place, &before, &name)) {
            if (variable(arena, name) == NULL) {
                *at = t->headers[i].at;
                return arena_printf(
                    arena, "the header %.*s needs %.*s of the environment, which is not set",
                    STR_FMT(t->headers[i].name), STR_FMT(name));
            }
        }
    }
    return (struct str){0};
}

/* ---- a call ---- */

struct fetch {
    struct fetch_options options;
    struct arena *arena;
    struct transport *transport;
    struct http_call *call;
    int status;
    struct str reason;
    struct buf body;
    struct str *secrets; /* what came from the environment into headers */
    size_t n_secrets;
    size_t cap_secrets;
};

static void fetch_free(struct fetch *f)
{
    if (f->transport != NULL) {
        f->transport->ops->free(f->transport);
    }
    buf_free(&f->body);
    arena_free(f->arena);
    free(f);
}

static void keep_secret(struct fetch *f, struct str secret)
{
    if (secret.n < ENDPOINT_KEY_BYTES_MIN) {
        return;
    }
    if (f->n_secrets == f->cap_secrets) {
        f->cap_secrets = f->cap_secrets == 0 ? 8 : f->cap_secrets * 2;
        struct str *bigger = arena_array(f->arena, f->cap_secrets, sizeof *bigger);
        for (size_t i = 0; i < f->n_secrets; i++) {
            bigger[i] = f->secrets[i];
        }
        f->secrets = bigger;
    }
    f->secrets[f->n_secrets++] = secret;
}

/* A server may send back what it was sent: that ends in logs and recordings. */
static struct str hide_secrets(struct fetch *f, struct str text)
{
    for (size_t i = 0; i < f->n_secrets; i++) {
        struct str secret = f->secrets[i];
        size_t at = str_find(text, secret);
        if (at == SIZE_MAX) {
            continue;
        }
        struct buf out = {0};
        for (; at != SIZE_MAX; at = str_find(text, secret)) {
            buf_add(&out, str_slice(text, 0, at));
            buf_addz(&out, "REDACTED");
            text = str_slice(text, at + secret.n, text.n);
        }
        buf_add(&out, text);
        text = arena_str(f->arena, buf_str(&out));
        buf_free(&out);
    }
    return text;
}

static void finish(struct fetch *f, const struct tool_output *output)
{
    f->options.done(f->options.ctx, output);
    fetch_free(f);
}

/* The address without its query, which is long and may hold a key. */
static struct str shown_url(const struct fetch *f)
{
    struct str url = f->options.tool->url;
    return str_slice(url, 0, str_find(url, STR("?")));
}

static bool may_work_later(int status)
{
    return status == 408 || status == 429 || status >= 500;
}

static struct tool_output answer(struct fetch *f)
{
    struct str body = hide_secrets(f, buf_str(&f->body));
    if (f->status >= 200 && f->status <= 299) {
        return (struct tool_output){.ok = true, .content = body};
    }
    struct str preview = text_preview(f->arena, str_trim(body), PREVIEW_CHARS);
    struct str reason = text_preview(f->arena, hide_secrets(f, f->reason), PREVIEW_CHARS);
    struct tool_output out = {.code = STR("TOOL_ERROR"), .retryable = may_work_later(f->status)};
    out.message = arena_printf(f->arena, "the server answered %d%s%.*s%s%.*s", f->status,
                               reason.n > 0 ? " " : "", STR_FMT(reason), preview.n > 0 ? ": " : "",
                               STR_FMT(preview));
    return out;
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n_headers)
{
    struct fetch *f = ctx;
    (void)headers;
    (void)n_headers;
    f->status = status;
    f->reason = arena_str(f->arena, reason);
}

static void on_body(void *ctx, struct str piece)
{
    struct fetch *f = ctx;
    if (piece.n <= FETCH_BYTES_MAX - f->body.n) {
        buf_add(&f->body, piece);
        return;
    }
    f->transport->ops->stop(f->transport, f->call);
    struct tool_output out = {.code = STR("TOOL_ERROR"), .hint = STR("ask for less")};
    out.message =
        arena_printf(f->arena, "the server answered with more than %d bytes", FETCH_BYTES_MAX);
    finish(f, &out);
}

/* Under a virtual clock the message is the same in each run; the transport's own words hold times.
 */
static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct fetch *f = ctx;
    struct str url = shown_url(f);
    struct str why = f->options.limit_ms > 0
                         ? STR("")
                         : text_preview(f->arena, hide_secrets(f, detail), PREVIEW_CHARS);
    const char *colon = why.n > 0 ? ": " : "";
    struct tool_output out = {.code = STR("TOOL_ERROR"), .retryable = true};
    switch (end) {
    case HTTP_CLEAN: out = answer(f); break;
    case HTTP_TIMEOUT:
        out.code = STR("TIMEOUT");
        out.message = arena_printf(f->arena, "%.*s did not answer in time%s%.*s", STR_FMT(url),
                                   colon, STR_FMT(why));
        break;
    case HTTP_REFUSED:
        out.message = arena_printf(f->arena, "cannot connect to %.*s%s%.*s", STR_FMT(url), colon,
                                   STR_FMT(why));
        break;
    case HTTP_RESET:
    case HTTP_STOPPED:
    case HTTP_MISS:
    case HTTP_MISMATCH:
        out.message = arena_printf(f->arena, "the connection to %.*s broke%s%.*s", STR_FMT(url),
                                   colon, STR_FMT(why));
        break;
    }
    finish(f, &out);
}

/* RFC 3986, 2.3: everything but the unreserved characters is encoded. */
static void add_encoded(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (str_is_name(str_slice(s, i, i + 1), "-._~")) {
            buf_char(out, s.p[i]);
        } else {
            buf_fmt(out, "%%%02X", (unsigned)(unsigned char)s.p[i]);
        }
    }
}

/* Appends the arguments as a query; null is left out. The name of the first argument that is a list
 * or a map is returned, which have no form there; else NULL. */
static const struct str *add_query(struct buf *url, const struct val *args)
{
    char before = str_find(buf_str(url), STR("?")) == SIZE_MAX ? '?' : '&';
    for (size_t i = 0; i < args->count; i++) {
        const struct val *v = &args->members[i].value;
        if (v->kind == VAL_ARRAY || v->kind == VAL_OBJECT) {
            return &args->members[i].key;
        }
        if (v->kind == VAL_NULL) {
            continue;
        }
        buf_char(url, before);
        before = '&';
        add_encoded(url, args->members[i].key);
        buf_char(url, '=');
        add_encoded(url, v->kind == VAL_BOOL ? str_of(v->boolean ? "true" : "false") : v->text);
    }
    return NULL;
}

/* A header's value with its variables filled in; false where one is missing or bad, with the
 * reason. */
static bool fill_header(struct fetch *f, const struct http_tool_header *h, struct str *out,
                        struct str *why)
{
    struct buf value = {0};
    struct str before, name;
    size_t at = 0;
    bool more = true;
    *why = (struct str){0};
    while (more && why->n == 0) {
        more = next_variable(h->value, &at, &before, &name);
        buf_add(&value, before);
        const char *found = more ? variable(f->arena, name) : NULL;
        struct str secret = str_trim(str_of(found));
        keep_secret(f, arena_str(f->arena, secret));
        buf_add(&value, secret);
        if (more && found == NULL) {
            *why = arena_printf(f->arena,
                                "the header %.*s needs %.*s of the environment, which is not set",
                                STR_FMT(h->name), STR_FMT(name));
        }
        for (size_t i = 0; i < secret.n && why->n == 0; i++) {
            if (is_control(secret.p[i])) {
                *why = arena_printf(f->arena,
                                    "%.*s of the environment holds a character that the header "
                                    "%.*s cannot hold",
                                    STR_FMT(name), STR_FMT(h->name));
            }
        }
    }
    *out = arena_str(f->arena, buf_str(&value));
    buf_free(&value);
    return why->n == 0;
}

static bool names_header(const struct http_tool *t, const char *name)
{
    for (size_t i = 0; i < t->n_headers; i++) {
        if (str_is_nocase(t->headers[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* The headers of the tool, then those that it leaves to us; false as fill_header. */
static bool fill_headers(struct fetch *f, struct http_request *rq, struct str *why)
{
    const struct http_tool *t = f->options.tool;
    bool get = str_is(t->method, "GET");
    struct http_header *headers = arena_array(f->arena, t->n_headers + 2, sizeof *headers);
    size_t n = 0;
    for (; n < t->n_headers; n++) {
        headers[n].name = t->headers[n].name;
        if (!fill_header(f, &t->headers[n], &headers[n].value, why)) {
            return false;
        }
    }
    if (!get && !names_header(t, "Content-Type")) {
        headers[n++] = (struct http_header){STR("Content-Type"), STR("application/json")};
    }
    if (!get && f->options.request_id.n > 0 && !names_header(t, "Idempotency-Key")) {
        headers[n++] = (struct http_header){STR("Idempotency-Key"), f->options.request_id};
    }
    rq->headers = headers;
    rq->n_headers = n;
    return true;
}

/* A connection of its own settings for each call, as each tool has its own limit; the sockets are
 * the loop's. */
static void send_call(struct fetch *f, const struct http_request *rq)
{
    const struct fetch_options *o = &f->options;
    struct transport_limits limits = {.connect_ms = o->limit_ms, .total_ms = o->limit_ms};
    struct http_sink sink = {f, on_head, on_body, on_end};
    f->transport = transport_curl(o->loop, o->sched, limits);
    f->call = f->transport->ops->start(f->transport, rq, sink);
}

struct fetch *fetch_start(const struct fetch_options *o, struct arena *arena,
                          struct tool_output *output)
{
    struct fetch *f = mem_zero(sizeof *f);
    f->options = *o;
    f->arena = arena_new();
    struct http_request rq = {.method = o->tool->method};
    struct buf url = {0};
    buf_add(&url, o->tool->url);
    const struct str *odd = NULL;
    if (str_is(o->tool->method, "GET")) {
        odd = add_query(&url, o->args);
    } else {
        rq.body = o->arguments;
    }
    rq.url = buf_str(&url);
    struct str why = {0};
    if (odd != NULL) {
        why = arena_printf(arena,
                           "the argument %.*s is a list or a map; this tool is called by GET, "
                           "which takes texts, numbers and booleans",
                           STR_FMT(*odd));
    } else if (fill_headers(f, &rq, &why)) {
        send_call(f, &rq);
    }
    buf_free(&url);
    if (f->call == NULL) {
        *output = (struct tool_output){.code = STR("TOOL_ERROR"), .message = arena_str(arena, why)};
        fetch_free(f);
        return NULL;
    }
    return f;
}

void fetch_stop(struct fetch *f)
{
    f->transport->ops->stop(f->transport, f->call);
    fetch_free(f);
}
