/* The model server: finds the session of a request, hands the request to what answers there, and
 * the answer to the client as it comes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fakellm/serve_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"

/* A request on its way through a session. */
struct hop {
    struct session *session;
    struct hop *next;
    struct hop **link;         /* what points here */
    struct exchange *exchange; /* NULL = the client is gone */
    struct http_call *call; /* NULL = it has ended in a hang, which lasts until the client goes */
    enum wire_format format;
    size_t n;     /* the request's number in its session */
    size_t entry; /* its place in the journal; SIZE_MAX = there was no room */
    bool head;
};

/* ---- answers of the server's own ---- */

static void answer(struct exchange *x, int status, const struct http_header *headers, size_t n,
                   struct str body)
{
    exchange_head(x, status, headers, n);
    exchange_body(x, body);
    exchange_end(x, HTTP_CLEAN);
}

void answer_json(struct exchange *x, int status, struct str body)
{
    const struct http_header type = {STR("Content-Type"), STR("application/json")};
    answer(x, status, &type, 1, body);
}

/* An error in the provider's own form, so that its SDK raises what it would. It is not to be tried
 * again: the same would come. */
static void answer_refusal(struct exchange *x, enum wire_format f, size_t n, int status,
                           struct str body)
{
    struct arena *arena = arena_new();
    struct http_header headers[HEADERS_OF_PROVIDER + 2];
    size_t n_headers = provider_headers(f, n, arena, headers);
    headers[n_headers++] = (struct http_header){STR("Content-Type"), STR("application/json")};
    headers[n_headers++] = (struct http_header){STR("x-should-retry"), STR("false")};
    answer(x, status, headers, n_headers, body);
    arena_free(arena);
}

static void answer_error(struct exchange *x, enum wire_format f, size_t n, int status,
                         struct str message)
{
    struct buf body = {0};
    wire_encode_error(f, status, message, &body);
    answer_refusal(x, f, n, status, buf_str(&body));
    buf_free(&body);
}

/* ---- the journal ---- */

static struct str keep(struct session *s, struct str text)
{
    s->journal_bytes += text.n;
    s->serve->journals_bytes += text.n;
    return arena_str(s->arena, text);
}

/* Returns the entry's place, SIZE_MAX when the journal is full. */
static size_t journal_add(struct session *s, const struct http_request *rq)
{
    s->requests++;
    size_t n = rq->method.n + rq->url.n + rq->body.n;
    if (s->n_journal >= JOURNAL_MAX || s->journal_bytes + n > JOURNAL_BYTES_MAX ||
        s->serve->journals_bytes + n > JOURNALS_BYTES_MAX) {
        return SIZE_MAX;
    }
    if (s->n_journal == s->cap_journal) {
        s->cap_journal = s->cap_journal == 0 ? 16 : s->cap_journal * 2;
        struct entry *more = arena_array(s->arena, s->cap_journal, sizeof *more);
        if (s->n_journal > 0) {
            memcpy(more, s->journal, s->n_journal * sizeof *more);
        }
        s->journal = more;
    }
    s->journal[s->n_journal] = (struct entry){.n = s->requests,
                                              .method = keep(s, rq->method),
                                              .path = keep(s, rq->url),
                                              .body = keep(s, rq->body),
                                              .open = true};
    return s->n_journal++;
}

static struct entry *entry_of(struct hop *h)
{
    return h->entry == SIZE_MAX ? NULL : &h->session->journal[h->entry];
}

/* ---- hops ---- */

static void hop_free(struct hop *h)
{
    *h->link = h->next;
    if (h->next != NULL) {
        h->next->link = h->link;
    }
    free(h);
}

static void note(struct session *s, size_t n, struct str text)
{
    struct buf line = {0};
    struct serve *v = s->serve;
    if (v->options.note != NULL) {
        buf_fmt(&line, "session %.*s, request %zu: ", STR_FMT(s->name), n);
        buf_add(&line, text);
        v->options.note(v->options.ctx, buf_str(&line));
        buf_free(&line);
    }
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    (void)reason;
    struct hop *h = ctx;
    struct entry *e = entry_of(h);
    h->head = true;
    if (e != NULL) {
        e->status = status;
    }
    if (h->exchange == NULL) {
        return;
    }
    struct arena *arena = arena_new();
    struct http_header *all = arena_array(arena, n + HEADERS_OF_PROVIDER, sizeof *all);
    n = source_headers(headers, n, all);
    if (h->session->fake != NULL) {
        n += provider_headers(h->format, h->n, arena, all + n);
    }
    exchange_head(h->exchange, status, all, n);
    arena_free(arena);
}

static void on_body(void *ctx, struct str piece)
{
    struct hop *h = ctx;
    if (h->exchange != NULL) {
        exchange_body(h->exchange, piece);
    }
}

/* A request that was refused is told in the provider's form; a broken answer breaks the connection.
 * What the script's provider would not take has been answered already. */
static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct hop *h = ctx;
    struct session *s = h->session;
    struct entry *e = entry_of(h);
    bool unknown = end == HTTP_MISS || end == HTTP_MISMATCH;
    bool refused = unknown || (end == HTTP_CLEAN && s->fake != NULL && detail.n > 0);
    s->refused += refused;
    if (e != NULL) {
        e->open = false;
        e->ended = end;
        e->refused = refused;
        e->message = keep(s, detail);
        e->status = unknown ? 400 : e->status;
    }
    if ((refused || (end != HTTP_CLEAN && s->fake == NULL)) && detail.n > 0) {
        note(s, h->n, detail);
    }
    if (h->exchange != NULL && end == HTTP_TIMEOUT && s->fake != NULL) {
        h->call = NULL;
        return;
    }
    if (h->exchange != NULL && unknown && !h->head) {
        answer_error(h->exchange, h->format, h->n, 400, detail);
    } else if (h->exchange != NULL) {
        exchange_end(h->exchange, end);
    }
    hop_free(h);
}

static void hop_stop(struct hop *h)
{
    struct entry *e = entry_of(h);
    if (e != NULL && h->call != NULL) {
        e->open = false;
        e->ended = HTTP_STOPPED;
    }
    if (h->call != NULL) {
        h->session->transport->ops->stop(h->session->transport, h->call);
    }
    hop_free(h);
}

static void on_gone(void *ctx, struct exchange *x)
{
    (void)ctx;
    struct hop *h = exchange_data(x);
    if (h != NULL) {
        hop_stop(h);
    }
}

/* A client that reads slower than its answer comes makes the upstream wait. */
static void on_full(void *ctx, struct exchange *x, bool full)
{
    (void)ctx;
    struct hop *h = exchange_data(x);
    if (h != NULL) {
        http_pause(h->session->transport, h->call, full);
    }
}

/* ---- sessions ---- */

static struct session **session_bucket(struct serve *v, struct str name)
{
    return &v->by_hash[hash64(0, name) % SESSION_BUCKETS];
}

static struct session *session_find(struct serve *v, struct str name)
{
    for (struct session *s = *session_bucket(v, name); s != NULL; s = s->same) {
        if (str_eq(s->name, name)) {
            return s;
        }
    }
    return NULL;
}

static void session_close(struct session *s)
{
    while (s->hops != NULL) {
        struct exchange *x = s->hops->exchange;
        hop_stop(s->hops);
        if (x != NULL) {
            exchange_end(x, HTTP_RESET);
        }
    }
    source_close(s);
    arena_free(s->arena);
    s->serve->journals_bytes -= s->journal_bytes;
    s->journal_bytes = 0;
    s->arena = NULL;
}

static int session_open(struct session *s, struct err *e)
{
    s->arena = arena_new();
    s->journal = NULL;
    s->n_journal = s->cap_journal = s->requests = s->refused = 0;
    return source_open(s, e);
}

int session_reset(struct session *s, struct err *e)
{
    session_close(s);
    return session_open(s, e);
}

static void session_free(struct session *s)
{
    session_close(s);
    buf_free(&s->report);
    free(s);
}

/* Opens a new session and keeps it, or frees it. ERR_LIMIT: there are too many. */
static int session_add(struct session *s, struct serve *v, struct str name, struct err *e)
{
    s->serve = v;
    s->name = arena_str(v->arena, name);
    int rc = v->n_sessions < v->options.sessions_max
                 ? session_open(s, e)
                 : err_set(e, ERR_LIMIT, "there are %zu sessions already", v->n_sessions);
    if (rc != 0) {
        session_free(s);
        return rc;
    }
    struct session **bucket = session_bucket(v, s->name);
    s->same = *bucket;
    *bucket = s;
    *v->last = s;
    v->last = &s->next;
    v->n_sessions++;
    return 0;
}

/* The session called `name`, made when it is new. Errors as session_add. */
static int session_get(struct serve *v, struct str name, struct session **out, struct err *e)
{
    *out = session_find(v, name);
    if (*out != NULL) {
        return 0;
    }
    struct session *s = mem_zero(sizeof *s);
    int rc = session_add(s, v, name, e);
    *out = rc == 0 ? s : NULL;
    return rc;
}

int serve_place(struct serve *v, const struct serve_placement *p, struct session **out,
                struct err *e)
{
    if (session_find(v, p->name) != NULL) {
        return err_set(e, ERR_EXISTS, "there is a session %.*s already", STR_FMT(p->name));
    }
    struct session *s = mem_zero(sizeof *s);
    s->placed = true;
    s->as_clients = true;
    s->fake = p->fake;
    s->transport = p->transport;
    s->sched = p->sched;
    s->told = p->refused;
    s->ctx = p->ctx;
    for (enum wire_format f = WIRE_CHAT; p->upstream != NULL && f <= WIRE_MESSAGES; f++) {
        s->base_url[f] = arena_str(v->arena, p->upstream[f]);
    }
    int rc = session_add(s, v, p->name, e);
    *out = rc == 0 ? s : NULL;
    return rc;
}

void serve_displace(struct session *s)
{
    struct serve *v = s->serve;
    struct session **link = session_bucket(v, s->name);
    while (*link != s) {
        link = &(*link)->same;
    }
    *link = s->same;
    for (link = &v->sessions; *link != s;) {
        link = &(*link)->next;
    }
    *link = s->next;
    v->last = s->next == NULL ? link : v->last;
    v->n_sessions--;
    session_free(s);
}

/* ---- where a request goes ---- */

struct route {
    struct str session;
    struct str path; /* from /v1 on, without the query */
    struct str url;  /* the same with it */
};

static bool session_name_ok(struct str name)
{
    return name.n <= SESSION_NAME_MAX && str_is_name(name, "_-.~") && name.p[0] != '.' &&
           name.p[0] != '~';
}

/* False when the session's name is no name. */
static bool route_of(const struct http_request *rq, struct route *out)
{
    struct str named = http_header_get(rq->headers, rq->n_headers, "x-assay-session");
    out->session = named.n > 0 ? named : STR("main");
    out->url = rq->url;
    if (str_starts(rq->url, "/s/")) {
        struct str rest = str_slice(rq->url, 3, rq->url.n);
        size_t slash = str_find(rest, STR("/"));
        out->session = str_slice(rest, 0, slash);
        out->url = str_slice(rest, slash, rest.n);
    }
    size_t query = str_find(out->url, STR("?"));
    out->path = str_slice(out->url, 0, query);
    return session_name_ok(out->session);
}

/* The format of the errors that a client of this request reads. */
static enum wire_format format_of(const struct http_request *rq, struct str path)
{
    enum wire_format f = WIRE_CHAT;
    if (!wire_of_url(path, &f) &&
        http_header_get(rq->headers, rq->n_headers, "anthropic-version").p != NULL) {
        f = WIRE_MESSAGES;
    }
    return f;
}

/* Compares in a time that tells nothing of where they differ. */
static bool same_secret(struct str a, struct str b)
{
    unsigned differ = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        differ |= (unsigned char)a.p[i] ^ (unsigned char)b.p[i];
    }
    return differ == 0;
}

static bool has_token(const struct serve *v, const struct http_request *rq)
{
    struct str token = v->options.token;
    struct str own = http_header_get(rq->headers, rq->n_headers, "x-assay-token");
    struct str key = http_header_get(rq->headers, rq->n_headers, "x-api-key");
    struct str bearer = http_header_get(rq->headers, rq->n_headers, "authorization");
    if (token.n == 0 || same_secret(own, token)) {
        return true;
    }
    if (v->options.source == SERVE_RECORD) {
        return false; /* the key there is the upstream's */
    }
    if (str_starts_nocase(bearer, "bearer ")) {
        bearer = str_trim(str_slice(bearer, 7, bearer.n));
    }
    return same_secret(key, token) || same_secret(bearer, token);
}

static void start_hop(struct session *s, struct exchange *x, const struct http_request *rq,
                      enum wire_format f)
{
    struct hop *h = mem_zero(sizeof *h);
    h->session = s;
    h->exchange = x;
    h->format = f;
    h->entry = journal_add(s, rq);
    h->n = s->requests;
    h->next = s->hops;
    h->link = &s->hops;
    if (h->next != NULL) {
        h->next->link = &h->next;
    }
    s->hops = h;
    exchange_set(x, h);
    struct http_sink sink = {.ctx = h, .head = on_head, .body = on_body, .end = on_end};
    sched_touch(s->sched);
    struct arena *arena = arena_new();
    struct http_request inner = source_request(s, rq, f, arena);
    h->call = s->transport->ops->start(s->transport, &inner, sink);
    arena_free(arena);
}

/* What does not come through the door is in the journal all the same. */
static void journal_refusal(struct session *s, const struct http_request *rq, int status,
                            struct str why)
{
    size_t at = journal_add(s, rq);
    s->refused++;
    if (at != SIZE_MAX) {
        struct entry *e = &s->journal[at];
        e->open = false;
        e->ended = HTTP_CLEAN;
        e->refused = true;
        e->status = status;
        e->message = keep(s, why);
    }
    note(s, s->requests, why);
}

static void turn_away(struct session *s, struct exchange *x, const struct http_request *rq,
                      enum wire_format f, const struct wire_refusal *r)
{
    struct buf body = {0};
    struct buf why = {0};
    buf_addz(&why, "the provider would refuse this request: ");
    buf_add(&why, r->message);
    journal_refusal(s, rq, r->status, buf_str(&why));
    wire_encode_refusal(f, r, &body);
    answer_refusal(x, f, s->requests, r->status, buf_str(&body));
    buf_free(&body);
    buf_free(&why);
}

static void answer_session(struct session *s, struct exchange *x, const struct http_request *rq,
                           struct str path, enum wire_format f)
{
    struct arena *arena = arena_new();
    struct wire_refusal refusal;
    if (s->fake != NULL && !facts_admit(s, rq, path, f, arena, &refusal)) {
        turn_away(s, x, rq, f, &refusal);
    } else if (!facts_request(s, x, rq, path)) {
        start_hop(s, x, rq, f);
    }
    arena_free(arena);
}

/* A session that there cannot be. */
static void refuse_session(struct serve *v, struct exchange *x, enum wire_format f,
                           struct str session, const struct err *e)
{
    int status = e->code == ERR_NOT_FOUND ? 404 : e->code == ERR_EXISTS ? 409 : 500;
    struct buf line = {0};
    char text[2048];
    if (v->options.note != NULL) {
        buf_fmt(&line, "session %.*s: %s", STR_FMT(session), err_text(e, text, sizeof text));
        v->options.note(v->options.ctx, buf_str(&line));
    }
    answer_error(x, f, 0, status, str_of(e->message));
    buf_free(&line);
    v->unserved++;
    if (v->options.source == SERVE_RECORD && v->rc == 0) { /* what should be recorded is not */
        v->rc = e->code;
        v->error = *e;
    }
}

static void on_request(void *ctx, struct exchange *x, const struct http_request *rq)
{
    struct serve *v = ctx;
    struct route r;
    struct session *s;
    struct err e = {0};
    bool named = route_of(rq, &r);
    enum wire_format f = format_of(rq, r.path);
    if (!has_token(v, rq)) {
        answer_error(x, f, 0, 401, STR("this server wants its token: send it as x-assay-token"));
    } else if (str_starts(rq->url, "/_assay/")) {
        size_t query = str_find(rq->url, STR("?"));
        admin_request(v, x, rq, str_slice(rq->url, 8, query));
    } else if (!named) {
        answer_error(x, f, 0, 400,
                     STR("a session's name is at most 128 letters, digits, and . _ - ~"));
    } else if (session_get(v, r.session, &s, &e) != 0) {
        refuse_session(v, x, f, r.session, &e);
    } else {
        struct http_request inner = *rq;
        inner.url = r.url;
        answer_session(s, x, &inner, r.path, f);
    }
}

/* A request that the server would not take in. */
static void on_refused(void *ctx, const struct http_request *rq, int status)
{
    struct serve *v = ctx;
    struct route r;
    struct buf why = {0};
    bool named = route_of(rq, &r);
    if (!has_token(v, rq)) {
        return;
    }
    if (status == 413) {
        buf_fmt(&why, "a request of more than the %zu MiB that one may have was refused",
                v->options.limits.body_bytes >> 20);
    } else {
        buf_addz(&why, "a request with more headers than one may have was refused");
    }
    struct session *s = named ? session_find(v, r.session) : NULL;
    struct http_request inner = *rq;
    inner.url = r.url;
    if (s == NULL) {
        v->unserved++;
    } else {
        journal_refusal(s, &inner, status, buf_str(&why));
    }
    if (s != NULL && s->told != NULL) {
        s->told(s->ctx, buf_str(&why));
    }
    buf_free(&why);
}

/* ---- the server's life ---- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static int listen_on(struct serve *v, struct err *e)
{
    struct server_options so = {
        .loop = v->options.loop,
        .address = v->options.address,
        .port = v->options.port,
        .limits = v->options.limits,
        .ctx = v,
        .request = on_request,
        .refused = on_refused,
        .gone = on_gone,
        .full = on_full,
    };
    int rc = server_new(&so, &v->server, e);
    if (rc == 0) {
        bool v6 = strchr(v->options.address, ':') != NULL;
        v->url = arena_printf(v->arena, v6 ? "http://[%s]:%u" : "http://%s:%u", v->options.address,
                              (unsigned)server_port(v->server));
    }
    return rc;
}

/* Whether a URL names this server, which would ask itself without end. */
static bool is_ours(const struct serve *v, struct str url)
{
    static const char *const loopback[] = {"127.", "localhost:", "[::1]:", "0.0.0.0:", "[::]:"};
    struct buf port = {0};
    struct str rest = str_slice(url, str_starts(url, "https://") ? 8 : 7, url.n);
    struct str host = str_slice(rest, 0, str_find(rest, STR("/")));
    struct str own = str_slice(v->url, 7, v->url.n);
    bool ours = str_eq(host, own);
    buf_fmt(&port, ":%u", (unsigned)server_port(v->server));
    buf_char(&port, '\0');
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
        ours = ours || (str_starts_nocase(host, loopback[i]) && str_ends(host, port.p));
    }
    buf_free(&port);
    return ours;
}

static int check_upstreams(const struct serve *v, struct err *e)
{
    for (enum wire_format f = WIRE_CHAT; f <= WIRE_MESSAGES; f++) {
        struct str upstream = v->options.upstream[f];
        if (v->options.source == SERVE_RECORD && is_ours(v, upstream)) {
            return err_set(e, ERR_USAGE,
                           "the upstream %.*s is this server itself: name the endpoint to record",
                           STR_FMT(upstream));
        }
    }
    return 0;
}

int serve_new(const struct serve_options *o, struct serve **out, struct err *e)
{
    if (!is_loopback(o->address) && o->token.n == 0) {
        return err_set(e, ERR_USAGE,
                       "listening on %s, beyond this machine, wants a token: --token-file FILE",
                       o->address);
    }
    struct serve *v = mem_zero(sizeof *v);
    v->arena = arena_new();
    v->last = &v->sessions;
    v->options = *o;
    v->options.address = arena_str(v->arena, str_of(o->address)).p;
    v->options.path = arena_str(v->arena, str_of(o->path)).p;
    v->options.token = arena_str(v->arena, o->token);
    for (enum wire_format f = WIRE_CHAT; f <= WIRE_MESSAGES; f++) {
        v->options.upstream[f] = arena_str(v->arena, o->upstream[f]);
    }
    int rc = sources_load(v, e);
    if (rc == 0) {
        rc = listen_on(v, e);
    }
    if (rc == 0) {
        rc = check_upstreams(v, e);
    }
    if (rc == 0) {
        *out = v;
        return 0;
    }
    int closed = serve_free(v, NULL);
    assert(closed == 0); /* nothing was recorded */
    (void)closed;
    return rc;
}

struct str serve_url(const struct serve *v)
{
    return v->url;
}

size_t serve_variables(const struct serve *v, struct str name, struct str no_proxy, bool keys,
                       struct arena *arena, struct child_variable *out)
{
    struct str url =
        name.n == 0 ? v->url : arena_printf(arena, "%.*s/s/%.*s", STR_FMT(v->url), STR_FMT(name));
    const char *root = arena_cstr(arena, url);
    const char *v1 = arena_printf(arena, "%s/v1", root).p;
    const char *direct = /* we are no further than this machine */
        arena_printf(arena, "%.*s%s127.0.0.1", STR_FMT(no_proxy), no_proxy.n > 0 ? "," : "").p;
    const char *key = "none-in-a-replay";
    const struct child_variable all[SERVE_VARIABLES] = {
        {"OPENAI_BASE_URL", v1, false},     {"OPENAI_API_BASE", v1, false},
        {"OPENAI_API_HOST", root, false},   {"ANTHROPIC_BASE_URL", root, false},
        {"ANTHROPIC_API_URL", root, false}, {"ASSAY_BASE_URL", root, false},
        {"NO_PROXY", direct, false},        {"no_proxy", direct, false},
        {"OPENAI_API_KEY", key, true},      {"ANTHROPIC_API_KEY", key, true},
    };
    memcpy(out, all, sizeof all);
    return keys ? SERVE_VARIABLES : SERVE_VARIABLES - 2;
}

void serve_stop(struct serve *v, void (*done)(void *arg), void *arg)
{
    server_stop(v->server, done, arg);
}

struct serve_report serve_report(struct serve *v)
{
    struct serve_report r = {.sessions = v->n_sessions, .requests = v->unserved};
    r.refused = v->options.source != SERVE_RECORD ? v->unserved : 0; /* there it is an error */
    buf_clear(&v->report);
    buf_clear(&v->drifts);
    for (struct session *s = v->sessions; s != NULL; s = s->next) {
        r.requests += s->requests;
        r.refused += s->refused;
        buf_addz(&v->report, v->report.n > 0 ? "\n" : "");
        size_t from = v->report.n;
        r.leftover += source_leftover(s, &v->report);
        v->report.n -= v->report.n == from && from > 0; /* nothing to say: no line */
        r.drifts += source_drifts(s, &v->drifts);
    }
    r.text = buf_str(&v->report);
    r.drift_text = buf_str(&v->drifts);
    return r;
}

int serve_free(struct serve *v, struct err *e)
{
    if (v == NULL) {
        return 0;
    }
    while (v->sessions != NULL) {
        struct session *s = v->sessions;
        v->sessions = s->next;
        session_free(s);
    }
    server_free(v->server);
    sources_free(v);
    int rc = v->rc;
    if (rc != 0 && e != NULL) {
        *e = v->error;
    }
    buf_free(&v->report);
    buf_free(&v->drifts);
    arena_free(v->arena);
    free(v);
    return rc;
}
